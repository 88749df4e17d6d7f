"""Where numbers end: NaN, infinities, zeros of both signs, overflow, division by zero, out of range."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from plausim import fuse

from .random_steps import reference, same

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # some fall back, and say so

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 1e-30, 3e38, -3e38, np.inf, -np.inf, np.nan, 7.3, -7.3]
UNARY = """sign abs floor ceil round trunc sqrt square cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin
    arccos arctan sinh cosh tanh arcsinh arccosh arctanh isnan isinf isfinite signbit"""
BINARY = "maximum minimum arctan2 power copysign hypot logaddexp fmod remainder less equal not_equal nextafter"
FLOATS = {  # functions of one float
    **{name: getattr(jnp, name) for name in UNARY.split()},
    "rsqrt": lax.rsqrt,
    "logistic": lax.logistic,
    "erf": lax.erf,
    "erfc": lax.erfc,
    "round half to even": lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN),
    "round half away": lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO),
    "integer_pow -2": lambda x: lax.integer_pow(x, -2),
    "integer_pow 3": lambda x: lax.integer_pow(x, 3),
    "to int32": lambda x: x.astype(jnp.int32),
    "to uint8": lambda x: x.astype(jnp.uint8),
    "to int64": lambda x: x.astype(jnp.int64),
    "to bool": lambda x: x.astype(bool),
    "clip": lambda x: jnp.clip(x, -1.0, 2.0),
    "relu": jax.nn.relu,
    "softplus": jax.nn.softplus,
    "nan_to_num": jnp.nan_to_num,
    "one over": lambda x: 1.0 / x,
    "argmax with NaN": lambda x: jnp.argmax(jnp.stack([x, 1.0 - x, x * 2.0])),
    "sort with NaN": lambda x: jnp.sort(jnp.stack([x, 1.0 - x, -x])),
    "cummax": lambda x: lax.cummax(jnp.stack([x, 1.0 - x, -x])),
    "max of many": lambda x: jnp.max(jnp.stack([x, 1.0 - x, -x])),
    "min of many": lambda x: jnp.min(jnp.stack([1.0 - x, x, -x])),
}
ANGLES = [x for x in SPECIAL if not 1e15 < abs(x) < np.inf]  # beyond, float neighbours are turns apart
ORDINARY = [x for x in SPECIAL if 1e-6 < abs(x) < 1e6]
CANCELLED = {  # what docs/fuse.md says is simplified as if numbers were ordinary ones, that is finite and not 0
    "times zero": (lambda x: x * 0.0, 0.0),
    "minus itself": (lambda x: x - x, 0.0),
    "over itself": (lambda x: x / x, 1.0),
    "product over factor": (lambda x: (x * 3.0 * x) / x, None),
    "quotient times divisor": (lambda x: x * (2.5 / x), 2.5),
    "norm": (lambda x: jnp.linalg.norm(jnp.stack([x, 0.0 * x])), None),
    "dot with zeros": (lambda x: jnp.dot(jnp.stack([x, x]), jnp.array([0.0, 1.0], x.dtype)), None),
}
ALGEBRA = {  # of one float: what a computer must not simplify as if it were a real number
    "plus zero": lambda x: x + 0.0,
    "minus one over minus": lambda x: -(1.0 / -x),
    "zero minus": lambda x: 0.0 - x,
    "what a sum lost": lambda x: ((0.1 + x) - x) - 0.1,
}
PAIRS = {  # of two floats
    **{name: getattr(jnp, name) for name in BINARY.split()},
    "rem": lax.rem,
    "divide": lambda x, y: x / y,
    "select": lambda x, y: jnp.where(x > y, x, y),
    "not less": lambda x, y: ~(x < y),
    "clamp": lambda x, y: lax.clamp(-x, y, x),
}
INTEGERS = {  # of two integers
    "div": lax.div,
    "rem": lax.rem,
    "floor divide": lambda a, b: a // b,
    "modulo": lambda a, b: a % b,
    "shift left": lax.shift_left,
    "shift right": lax.shift_right_arithmetic,
    "shift right logical": lax.shift_right_logical,
    "add": lambda a, b: a + b,
    "multiply": lambda a, b: a * b,
    "abs": lambda a, b: jnp.abs(a),
    "negative": lambda a, b: -a,
    "less": lambda a, b: a < b,
    "count bits": lambda a, b: lax.population_count(a),
    "leading zeros": lambda a, b: lax.clz(a),
    "to float": lambda a, b: a.astype(jnp.float32),
    "to int8": lambda a, b: a.astype(jnp.int8),
    "to uint32": lambda a, b: a.astype(jnp.uint32),
    "power": lambda a, b: lax.integer_pow(a, 5),
    "max": jnp.maximum,
}
INDEXED = {  # of an array and an index that may be out of range
    "get": lambda a, i: a[i],
    "get pair": lambda a, i: a[jnp.stack([i, i + 1])],
    "get, filled": lambda a, i: a.at[i].get(mode="fill", fill_value=-1.0),
    "get, clipped": lambda a, i: a.at[i].get(mode="clip"),
    "take": lambda a, i: jnp.take(a, i),
    "set": lambda a, i: a.at[i].set(9.0),
    "set, clipped": lambda a, i: a.at[i].set(9.0, mode="clip"),
    "add to all": lambda a, i: a.at[:].add(a[i]),
    "add twice": lambda a, i: a.at[jnp.stack([i, i])].add(1.5),
    "multiply": lambda a, i: a.at[i].multiply(3.0),
    "max": lambda a, i: a.at[i].max(1.5),
    "dynamic_slice": lambda a, i: lax.dynamic_slice(a, (i,), (2,)),
    "dynamic_update_slice": lambda a, i: lax.dynamic_update_slice(a, -a[:2], (i,)),
    "switch": lambda a, i: lax.switch(i, [lambda a: a, lambda a: -a, lambda a: 2.0 * a], a),
    "one_hot": lambda a, i: jax.nn.one_hot(i, 4, dtype=a.dtype),
    "roll": lambda a, i: jnp.roll(a, i),
}


def same_to_the_last_bits(function, xs):
    """Each row of xs through one step: NaN, infinities and integers the same, floats to the last five bits.

    (XLA's own cbrt and erfc are no better in float32.)
    """

    def run(scan, xs):
        return scan(lambda _, x: ((), function(*x)), (), xs)[1]

    expected, actual = np.asarray(reference(run, xs)), np.asarray(jax.jit(partial(run, fuse.scan))(xs))
    assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
    if expected.dtype.kind != "f":
        np.testing.assert_array_equal(actual, expected)
        return
    rtol = 32 * np.finfo(expected.dtype).eps
    tiny = np.finfo(expected.dtype).tiny  # subnormals may be flushed
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=tiny)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("function", FLOATS.values(), ids=FLOATS.keys())
def test_special_floats(function, dtype):
    turns = function in (jnp.sin, jnp.cos, jnp.tan)
    same_to_the_last_bits(function, (np.array(ANGLES if turns else SPECIAL, dtype),))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("function", [jnp.sin, jnp.cos])
def test_angles_beyond_reason_stay_bounded(function, dtype):
    def run(scan, xs):
        return scan(lambda _, x: ((), function(x)), (), xs)[1]

    out = jax.jit(partial(run, fuse.scan))(np.array([1e16, -1e25, 3e38], dtype))
    assert np.all(np.abs(out) <= 1.0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("function, answer", CANCELLED.values(), ids=CANCELLED.keys())
def test_what_cancels_for_ordinary_numbers(function, answer, dtype):
    def run(scan, xs):
        return scan(lambda _, x: ((), function(x)), (), xs)[1]

    same_to_the_last_bits(function, (np.array(ORDINARY, dtype),))
    if answer is not None:  # and what is given where lax.scan gives NaN
        beyond = jax.jit(partial(run, fuse.scan))(np.array([0.0, np.inf, np.nan], dtype))
        np.testing.assert_array_equal(beyond, np.full(3, answer, dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("function", ALGEBRA.values(), ids=ALGEBRA.keys())
def test_algebra_of_special_floats(function, dtype):
    same_to_the_last_bits(function, (np.array(SPECIAL, dtype),))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("function", UNARY.split())
def test_sign_of_zero(function, dtype):
    def run(scan, xs):
        return scan(lambda _, x: ((), getattr(jnp, function)(x)), (), xs)[1]

    zeros = np.array([0.0, -0.0], dtype)
    expected, actual = reference(run, zeros), jax.jit(partial(run, fuse.scan))(zeros)
    np.testing.assert_array_equal(np.signbit(actual), np.signbit(expected))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("function", PAIRS.values(), ids=PAIRS.keys())
def test_pairs_of_special_floats(function, dtype):
    numbers = np.array(SPECIAL, dtype)
    pairs = [np.repeat(numbers, len(numbers)), np.tile(numbers, len(numbers))]
    same_to_the_last_bits(function, tuple(pairs))


@pytest.mark.parametrize("dtype", ["int32", "int64", "int8", "uint8", "uint32"])
@pytest.mark.parametrize("function", INTEGERS.values(), ids=INTEGERS.keys())
def test_integers(function, dtype):
    limits = np.iinfo(dtype)
    numbers = np.array([0, 1, 2, 3, 7, 31, 100, limits.max, limits.max - 1, limits.min, limits.min + 1], dtype)
    numbers = np.concatenate([numbers, -numbers[1:7]])  # unsigned: from the top
    same_to_the_last_bits(function, (np.repeat(numbers, len(numbers)), np.tile(numbers, len(numbers))))


@pytest.mark.parametrize("function", INDEXED.values(), ids=INDEXED.keys())
def test_index_out_of_range(function):
    indices = np.array([0, 1, 2, 3, 4, 5, 100, -1, -2, -3, -4, -5, -100], np.int32)
    same_to_the_last_bits(function, (np.tile(np.array([1.0, 2.0, 3.0, 4.0]), (len(indices), 1)), indices))


KINKS = {  # gradients where there is more than one answer, or none: JAX's
    "abs at 0": (jnp.abs, 0.0),
    "max, a tie": (lambda x: jnp.maximum(x, 0.0), 0.0),
    "max of a tie": (lambda x: jnp.max(jnp.stack([x, x, 0.5 * x])), 0.0),
    "clip at the limit": (lambda x: jnp.clip(x, -1.0, 1.0), 1.0),
    "relu at 0": (jax.nn.relu, 0.0),
    "sqrt at 0": (jnp.sqrt, 0.0),
    "sqrt below 0, not taken": (lambda x: jnp.where(x > 0, jnp.sqrt(x), 0.0), -1.0),
    "safe sqrt": (lambda x: jnp.where(x > 0, jnp.sqrt(jnp.where(x > 0, x, 1.0)), 0.0), -1.0),
    "norm of 0": (lambda x: jnp.linalg.norm(jnp.stack([x, x])), 0.0),
    "power 1.5 of 0": (lambda x: x**1.5, 0.0),
    "floor": (jnp.floor, 0.5),
    "sign": (jnp.sign, 0.5),
    "log of 0": (jnp.log, 0.0),
    "arccos at 1": (jnp.arccos, 1.0),
    "arcsin at 1": (jnp.arcsin, 1.0),
    "sinc at 0": (jnp.sinc, 0.0),
    "softplus, large": (jax.nn.softplus, 1000.0),
    "logaddexp of -inf": (lambda x: jnp.logaddexp(x, -jnp.inf), -np.inf),
    "cumprod with a zero": (lambda x: jnp.sum(jnp.cumprod(jnp.stack([x, x + 1.0, x]))), 0.0),
    "prod with two zeros": (lambda x: jnp.prod(jnp.stack([x, x, x + 2.0])), 0.0),
    "NaN": (jnp.sin, np.nan),
    "infinity": (jnp.tanh, np.inf),
    "rem": (lambda x: lax.rem(x, x.dtype.type(0.5)), 1.25),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("function, at", KINKS.values(), ids=KINKS.keys())
def test_gradient_at_kinks(function, at, dtype):
    def run(scan, start):
        def step(carry, _):
            total, at = carry
            return (total + function(at), at), None

        return scan(step, (jnp.zeros_like(start), start), None, 2)[0][0]

    start = jnp.asarray(at, dtype)
    for transform in (jax.value_and_grad, jax.jacfwd):
        same(lambda scan, start, transform=transform: transform(partial(run, scan))(start), start)


def test_overflow_of_a_diverging_rollout():
    def run(scan, start):
        return scan(lambda c, _: (c * c, c), start, None, length=12)

    starts = jnp.linspace(-3.0, 3.0, 21, dtype="float32")

    def function(scan, starts):
        return run(scan, starts), jax.vmap(jax.grad(lambda start: run(scan, start)[0]))(starts)

    same(function, starts)


INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
ON_INTEGERS = {
    "div": lax.div, "rem": lax.rem, "or": lax.bitwise_or, "and": lax.bitwise_and, "xor": lax.bitwise_xor,
    "left": lax.shift_left, "right": lax.shift_right_logical, "right with sign": lax.shift_right_arithmetic,
}  # fmt: skip


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("operation", ON_INTEGERS.values(), ids=ON_INTEGERS.keys())
def test_integers_known_and_computed(operation, dtype):
    """What is folded while the step is compiled, and what the kernel computes: one answer."""
    info = np.iinfo(dtype)
    values = [np.array(v).astype(dtype)[()] for v in (0, 1, 3, 7, info.max, info.max - 5, info.min, info.min + 1, -1)]
    pairs = [(a, b) for a in values for b in values]

    def known(c, x):
        return c, jnp.stack([operation(lax.full((), a), lax.full((), b)) for a, b in pairs])

    def computed(c, x):
        return c, operation(*x)

    given = tuple(jnp.array(p) for p in zip(*pairs, strict=True))
    expected = jax.jit(lax.scan, static_argnums=0)(computed, 0, given)[1]
    np.testing.assert_array_equal(fuse.scan(computed, 0, given)[1], expected)
    np.testing.assert_array_equal(fuse.scan(known, 0, None, 1)[1][0], expected)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_or_of_many(dtype):
    values = jnp.array([[1, 2, 4], [3, 64, 0]], dtype)
    same(lambda scan: scan(lambda c, x: (c | x[0], lax.reduce_or(x, (0,))), values[0, 0], values))


KINKS = {  # of three floats; the derivative where they are equal
    "abs of minus": lambda x, y, z: jnp.abs(-x),
    "abs of a difference, met the other way round": lambda x, y, z: 3.0 * (y - x) + jnp.abs(x - y),
    "clamp": lax.clamp,
}


@pytest.mark.parametrize("function", KINKS.values(), ids=KINKS.keys())
def test_gradient_where_arguments_are_equal(function):
    for at in ((0.0, 0.0, 1.0), (1.0, 1.0, 2.0), (0.0, 1.0, 1.0), (0.0, 1.0, 2.0), (2.0, 1.0, 3.0), (0.0, 5.0, 2.0)):

        def loss(scan, *xyz):
            return scan(lambda c, _: (c + function(*xyz), None), 0.0, None, 2)[0]

        expected, found = (jax.grad(partial(loss, scan), (0, 1, 2))(*at) for scan in (lax.scan, fuse.scan))
        np.testing.assert_array_equal(found, expected)


MATRICES = {
    "positive definite": [[2.0, 1.0], [1.0, 2.0]],
    "indefinite": [[1.0, 2.0], [2.0, 1.0]],
    "singular": [[1.0, 1.0], [1.0, 1.0]],
    "a row of zeros": [[0.0, 1.0, 2.0], [0.0, 0.0, 0.0], [0.0, 3.0, 4.0]],
}


@pytest.mark.parametrize("matrix", MATRICES.values(), ids=MATRICES.keys())
def test_matrices_that_have_no_factors(matrix):
    """NaN where LAPACK gives NaN: code asks for it."""

    def step(c, _):
        return c, (jnp.linalg.cholesky(c), lax.linalg.lu(c), jnp.linalg.solve(c, jnp.ones(len(c))))

    same(lambda scan: scan(step, jnp.array(matrix), None, 1)[1])


@pytest.mark.parametrize("factor", [1e30, 1e-30])
def test_known_factors_do_not_overflow(factor):
    """Two factors become one only where nothing is lost; XLA itself multiplies 1e30 by 1e30."""
    k, x = np.float32(factor), np.float32(1 / factor)
    assert fuse.scan(lambda c, _: (k * (k * c), None), x, None, 1)[0] == k


@pytest.mark.parametrize("places", [[0, 1, 1], [5, 5, 5], [-1, -1, -1], [-5, 1, 7]])
def test_what_is_read_from_beyond_the_end_has_no_slope(places):
    """JAX reads the nearest number there, and does not differentiate by it."""

    def run(scan, s):
        def step(carry, _):
            s, at = carry
            return carry, s[at]

        return scan(step, (s, jnp.array(places)), None, length=2)[1] * jnp.array([[1.0, 10.0, 100.0]])

    s = jnp.array([0.3, 0.79])
    for function in (lambda scan: run(scan, s), lambda scan: jax.grad(lambda s: jnp.sum(run(scan, s)))(s)):
        np.testing.assert_allclose(function(fuse.scan), function(jax.lax.scan), rtol=1e-12)
