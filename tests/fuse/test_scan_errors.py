"""Bad input: the exception that `lax.scan` raises, and a message that says no less."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from plausim import fuse

from .random_steps import types_unchecked

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # a step that falls back says so


def keep(c, x):
    return c, x


START = np.float32(0.5)
BAD = {  # a call that must fail, and what the message must name
    "dtype of the carry changes": (
        lambda scan: scan(lambda state, x: (state.astype(int), None), jnp.asarray(START), None, 2),
        "state float32 int64 carry",
    ),
    "dtype of one part changes": (
        lambda scan: scan(lambda c, x: ({"a": c["a"], "b": c["b"] > 0}, None), {"a": START, "b": START}, None, 2),
        "b float32 bool carry",
    ),
    "float64 where float32 came in": (
        lambda scan: scan(lambda c, x: (c.astype("float64"), None), jnp.asarray(START), None, 2),
        "float32 float64",
    ),
    "two parts that do not promote together": (
        lambda scan: scan(lambda c, _: ((c[0] + c[1], c[1] * np.float32(1.0)), None), (0.0, 0), None, 3),
        "float32 float64",
    ),
    "shape of the carry changes": (
        lambda scan: scan(lambda c, x: (jnp.stack([c, c]), None), START, None, 2),
        r"float32\[\] float32\[2\]",
    ),
    "shape grows": (lambda scan: scan(lambda c, x: (jnp.append(c, x), None), np.ones(2), np.ones(3)), r"\[2\] \[3\]"),
    "carry becomes a pair": (lambda scan: scan(lambda c, x: ((c, c), None), START, None, 2), "structure tuple"),
    "carry becomes None": (lambda scan: scan(lambda c, x: (None, None), START, None, 2), "structure None"),
    "a key is missing": (
        lambda scan: scan(lambda c, x: ({"a": c["a"]}, None), {"a": START, "b": START}, None, 2),
        "structure b",
    ),
    "tuple becomes list": (lambda scan: scan(lambda c, x: (list(c), None), (START,), None, 2), "structure tuple list"),
    "xs of different lengths": (lambda scan: scan(keep, START, (np.ones(2), np.ones(3))), "2 3"),
    "length disagrees with xs": (lambda scan: scan(keep, START, np.ones(2), 3), "length 3 2"),
    "traced length": (lambda scan: jax.jit(lambda n: scan(keep, START, None, n))(3), "length concrete"),
    "neither xs nor length": (lambda scan: scan(keep, START, None), "length"),
    "xs without a leading axis": (lambda scan: scan(keep, START, 1.0), "leading axis 1.0"),
    "xs a list of numbers": (lambda scan: scan(keep, START, [1.0, 2.0]), "leading axis 1.0 2.0"),
    "xs an array without axes": (lambda scan: scan(keep, START, jnp.ones(())), ""),
    "init a string": (lambda scan: scan(keep, "start", None, 2), "start"),
    "init an object": (lambda scan: scan(keep, object(), None, 2), "object"),
    "init holds an object": (lambda scan: scan(keep, {"a": object()}, None, 2), "object"),
    "xs a string": (lambda scan: scan(keep, START, "text"), "text"),
    "xs an array of objects": (lambda scan: scan(keep, START, np.array([object()])), "object"),
    "y a string": (lambda scan: scan(lambda c, x: (c, "y"), START, None, 2), "str"),
    "y an object": (lambda scan: scan(lambda c, x: (c, object()), START, None, 2), "object"),
    "step gives one thing": (lambda scan: scan(lambda c, x: c, START, None, 2), "pair"),
    "step gives three things": (lambda scan: scan(lambda c, x: (c, c, c), START, None, 2), "pair"),
    "step gives nothing": (lambda scan: scan(lambda c, x: None, START, None, 2), "pair"),
    "step takes one argument": (lambda scan: scan(lambda c: (c, None), START, None, 2), "argument"),
    "step is not a function": (lambda scan: scan(3, START, None, 2), "callable"),
    "step fails": (lambda scan: scan(lambda c, x: 1 / 0, START, None, 2), "division"),
    "step asks for the value": (lambda scan: scan(lambda c, x: (float(c), None), START, None, 2), "concrete|Concrete"),
    "step branches on the value": (lambda scan: scan(lambda c, x: (c if c > 0 else -c, None), START, None, 2), "bool"),
    "shapes that do not fit": (lambda scan: scan(lambda c, x: (c + x, None), np.ones(2), np.ones((4, 3))), "2 3"),
    "too few arguments": (lambda scan: scan(keep), "init"),
    "length is text": (lambda scan: scan(keep, START, None, "three"), "three"),
    "axis that is not there": (lambda scan: jax.vmap(lambda a: scan(keep, a, None, 2), in_axes=1)(np.ones(2)), ""),
    "integer start differentiated": (lambda scan: jax.grad(lambda a: scan(keep, a, None, 2)[0])(1), "int"),
    "gradient of an array": (lambda scan: jax.grad(lambda a: scan(keep, a, None, 2)[0])(np.ones(2)), "scalar"),
}


def complaint(scan, call):
    with types_unchecked(), pytest.raises(Exception) as caught:
        call(scan)
    return caught.value


@pytest.mark.parametrize("call, words", BAD.values(), ids=BAD.keys())
@pytest.mark.parametrize("in_jit", [False, True], ids=["", "jit"])
def test_the_same_exception(call, words, in_jit):
    def wrapped(scan):
        return jax.jit(lambda: call(scan))() if in_jit else call(scan)

    expected, actual = complaint(lax.scan, wrapped), complaint(fuse.scan, wrapped)
    assert type(actual) is type(expected)
    for word in words.split():
        assert re.search(word, str(actual)), f"{word!r} is not in: {actual}"


def test_an_exception_of_the_step_comes_out_as_it_is():
    class Mine(Exception):
        pass

    def step(c, x):
        raise Mine("what I said")

    with pytest.raises(Mine, match="what I said"):
        fuse.scan(step, 0.0, None, length=3)


def test_a_failed_call_leaves_nothing_behind():
    def step(c, x):
        return c + x, c

    with pytest.raises(ValueError):
        fuse.scan(step, 0.0, (np.ones(2), np.ones(3)))
    np.testing.assert_array_equal(fuse.scan(step, 0.0, np.ones(2))[1], [0.0, 1.0])


def test_a_leaked_tracer_is_found():
    leaked = []

    def step(c, x):
        leaked.append(c)
        return c, None

    fuse.scan(step, jnp.asarray(0.5), None, length=2)
    with pytest.raises(jax.errors.UnexpectedTracerError):
        jnp.add(leaked[0], 1)


def test_no_forward_mode_through_custom_vjp():
    @jax.custom_vjp
    def f(a):
        return a

    f.defvjp(lambda a: (a, None), lambda _, g: (g,))

    def slope(scan):
        return jax.jvp(lambda a: scan(lambda c, _: (f(c), None), a, None, length=2)[0], (0.5,), (1.0,))

    assert type(complaint(fuse.scan, slope)) is type(complaint(lax.scan, slope))
