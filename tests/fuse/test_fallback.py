"""What cannot be fused runs as `lax.scan`: the same numbers, and one warning that says why, where and what to do."""

import inspect
import os
import subprocess
import sys
import warnings
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import io_callback

from plausim import fuse
from plausim.fuse import FallbackWarning, graph

from .random_steps import agree, reference

quiet = pytest.mark.filterwarnings("ignore::UserWarning")


def newton():
    """A loop that ends when it has converged."""

    def step(c, x):
        root = lax.while_loop(lambda r: jnp.abs(r * r - 2.0) > 1e-6, lambda r: 0.5 * (r + 2.0 / r), 1.0 + x)  # here
        return 0.5 * jnp.sin(c) + root.astype(c.dtype), c

    return step


def called_back():
    def step(c, x):
        looked_up = jax.pure_callback(np.sin, jax.ShapeDtypeStruct((), x.dtype), x, vmap_method="sequential")  # here
        return 0.5 * jnp.sin(c) + looked_up, c

    return step


def fourier():
    def step(c, x):
        spectrum = jnp.fft.rfft(c * jnp.arange(1.0, 9.0))  # here
        return 0.1 * jnp.abs(spectrum[1]) + x, c

    return step


def complex_numbers():
    def step(c, x):
        turned = lax.complex(c, x) * (0.6 + 0.8j)  # here
        return jnp.real(turned), jnp.imag(turned)

    return step


def enormous():
    def step(c, x):
        grown = jnp.sin(c + jnp.linspace(0, 1, 300))
        c = jnp.mean(jnp.sin(grown[:, None] * grown[None, :]) @ jnp.outer(grown, grown)) / 300  # here
        return c + x, c

    return step


UNFUSABLE = {  # the step, what the warning calls the reason, whether it has a gradient
    "while_loop": (newton, "while", False),
    "pure_callback": (called_back, "callback", False),
    "fft": (fourier, "fft", True),
    "complex": (complex_numbers, "complex", True),
    "too large": (enormous, "large|limit|operations", True),
}
EVERY = pytest.mark.parametrize(("make", "reason", "smooth"), UNFUSABLE.values(), ids=UNFUSABLE.keys())
START, XS = 0.5, np.linspace(0.1, 0.9, 4)


@pytest.fixture(autouse=True)
def _sooner_too_large(monkeypatch):
    """What is too large is so at a twentieth of the limit: here each operation is type-checked, which takes long."""
    monkeypatch.setattr(graph, "MOST_NODES", 10_000)


def values_and_gradients(make, smooth, scan, start, xs):
    def run(start, xs):
        return scan(make(), start, xs)

    slopes = jax.grad(lambda *a: jnp.sum(run(*a)[1]), argnums=(0, 1))(start, xs) if smooth else ()
    lanes = jax.vmap(run, in_axes=(0, None))(jnp.stack([start, 2 * start, -start]), xs)
    return run(start, xs), slopes, lanes


def warnings_of(function, *arguments):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function(*arguments)
    return [w for w in caught if issubclass(w.category, FallbackWarning)]


@quiet
@EVERY
def test_numbers_are_those_of_lax_scan(make, reason, smooth):
    function = partial(values_and_gradients, make, smooth)
    start = jnp.asarray(START)
    expected = reference(function, start, XS)
    agree(jax.jit(partial(function, fuse.scan))(start, XS), expected)
    agree(function(fuse.scan, start, XS), expected)


@EVERY
def test_one_warning_names_reason_place_and_remedy(make, reason, smooth):
    (warned,) = warnings_of(lambda: fuse.scan(fresh(make), START, XS))
    text = str(warned.message)
    assert any(word in text for word in reason.split("|")), text
    assert Path(__file__).name in text
    lines, first = inspect.getsourcelines(make)
    (marked,) = [first + n for n, line in enumerate(lines) if line.endswith("# here\n")]
    if make is not enormous:  # no single line is to blame
        assert f":{marked}" in text, text
    assert "lax.scan" in text
    assert len(text.split(";")) > 1 or len(text.split(". ")) > 1, "says what to do"


def fresh(make):
    """The same step with a warning that nobody has seen: its code gets a name of its own."""
    fresh.count = getattr(fresh, "count", 0) + 1
    step = make()
    step.__code__ = step.__code__.replace(co_name=f"step_{fresh.count}", co_qualname=f"step_{fresh.count}")
    return step


@EVERY
def test_a_second_call_does_not_warn_again(make, reason, smooth):
    step = fresh(make)

    def run():
        fuse.scan(step, START, XS)
        jax.jit(lambda a: fuse.scan(step, a, XS))(START)
        fuse.scan(step, START, XS[:2])

    assert len(warnings_of(run)) == 1


def test_another_step_warns_for_itself():
    def one(c, _):
        return jnp.real(jnp.fft.fft(jnp.stack([c, c])))[0], None

    def two(c, _):
        return jnp.real(jnp.fft.fft(jnp.stack([c, 2 * c])))[0], None

    assert len(warnings_of(lambda: fuse.scan(one, START, None, length=2))) == 1
    assert len(warnings_of(lambda: fuse.scan(two, START, None, length=2))) == 1


def test_the_warning_points_at_the_call(tmp_path):
    """In a process of its own: the checks of types that tests switch on stand between caller and callee."""
    script = tmp_path / "user.py"
    script.write_text(
        "import jax.numpy as jnp\n"
        "from plausim import fuse\n"
        "def step(c, x):\n"
        "    return jnp.real(jnp.fft.fft(jnp.stack([c, x])))[0], None\n"
        "fuse.scan(step, 0.5, jnp.ones(3))\n"
    )
    path = os.pathsep.join(filter(None, [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, str(script)]
    ran = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=True)
    assert f"{script}:5: FallbackWarning" in ran.stderr
    assert f"{script}:4" in ran.stderr


def test_the_warning_can_be_an_error():
    assert issubclass(FallbackWarning, UserWarning)
    with warnings.catch_warnings():
        warnings.simplefilter("error", FallbackWarning)
        with pytest.raises(FallbackWarning, match=r"lax\.scan"):
            fuse.scan(fresh(fourier), START, XS)


def test_what_can_be_fused_does_not_warn():
    def run():
        jax.vmap(jax.grad(lambda a: fuse.scan(lambda c, x: (jnp.sin(c) + x, c), a, XS)[0]))(jnp.ones(3))

    assert warnings_of(run) == []


@quiet
def test_prints_and_callbacks_happen_at_every_step(capfd):
    seen = []

    def step(c, x):
        io_callback(lambda x: seen.append(float(x)), None, x, ordered=True)
        jax.debug.print("at {x:.2f}", x=x)
        jax.debug.callback(lambda c: None, c)
        return c + x, None

    run = jax.jit(lambda a: fuse.scan(step, a, XS)[0])
    np.testing.assert_allclose(run(START), START + XS.sum())
    jax.effects_barrier()
    np.testing.assert_allclose(seen, XS)
    assert capfd.readouterr().out.count("at 0.") == len(XS)


@quiet
def test_collectives_over_a_named_axis():
    def function(scan, starts):
        def run(start):
            def step(c, _):
                return 0.5 * c + 0.3 * lax.pmean(jnp.sin(c), "lane"), lax.axis_index("lane")

            return scan(step, start, None, length=4)

        slopes = jax.grad(lambda a: jnp.sum(jax.vmap(run, axis_name="lane")(a)[0]))(starts)
        return jax.vmap(run, axis_name="lane")(starts), slopes

    starts = jnp.linspace(-1.0, 1.0, 5)
    agree(function(fuse.scan, starts), reference(function, starts))


@quiet
def test_mutable_arrays_in_the_step():
    def run(scan):
        total = jax.new_ref(jnp.zeros(()))

        def step(c, x):
            total[...] += x
            return c + total[...], None

        return scan(step, jnp.zeros(()), XS)[0], total[...]

    agree(run(fuse.scan), run(lax.scan))


@quiet
def test_a_custom_derivative_that_calls_back():
    @jax.custom_vjp
    def looked_up(a):
        return jnp.sin(a)

    def backward(a, ct):
        return (jax.pure_callback(np.cos, jax.ShapeDtypeStruct((), a.dtype), a, vmap_method="sequential") * ct,)

    looked_up.defvjp(lambda a: (jnp.sin(a), a), backward)

    def function(scan, start):
        run = jax.value_and_grad(lambda a: scan(lambda c, x: (looked_up(c) + x, c), a, XS)[0])
        return run(start), jax.vmap(run)(jnp.stack([start, 2 * start]))

    start = jnp.asarray(START, float)
    agree(function(fuse.scan, start), reference(function, start))


def test_explain_a_step_that_fuses():
    def step(c, x):
        zero = jnp.zeros((3, 3))
        return jnp.sin(c) + zero @ c + x, jnp.sum(c)

    text = str(fuse.explain(step, jnp.ones(3), XS))
    assert any(character.isdigit() for character in text)
    for words in ("operation", "before|simplif", "after|simplif", "register", "s"):
        assert any(word in text for word in words.split("|")), f"{words!r} is not in: {text}"


@EVERY
def test_explain_a_step_that_does_not_fuse(make, reason, smooth):
    text = str(fuse.explain(make(), START, XS))
    assert any(word in text for word in reason.split("|")), text
    assert Path(__file__).name in text


def test_explain_takes_what_scan_takes():
    def step(c, _):
        return {"a": jnp.sin(c["a"])}, None

    assert str(fuse.explain(step, {"a": 0.5}, None, length=5))
    with pytest.raises(ValueError, match="length"):
        fuse.explain(step, {"a": 0.5}, None)
