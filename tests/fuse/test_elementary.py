"""The elementary functions against mpmath (f64) and against NumPy in float64 (f32), and their special values."""

import ctypes
from functools import cache

import llvmlite.binding as llvm
import mpmath
import numpy as np
import pytest

from plausim.fuse.elementary import ELEMENTARY, sincos
from plausim.fuse.ir import Writer, scalar_type

KINDS = {"f32": np.float32, "f64": np.float64}
LANES = {"f32": 16, "f64": 8}
FUNCTIONS = ELEMENTARY | {
    "sincos": lambda w, kind, x: sincos(w, kind, x)[0],
    "cossin": lambda w, k, x: sincos(w, k, x)[1],
}
BINARY = ("pow", "atan2")
NUMPY = {"sincos": np.sin, "cossin": np.cos, "pow": np.power, "atan": np.arctan, "atan2": np.arctan2, "asin": np.arcsin}
NUMPY |= {"acos": np.arccos, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh}
NUMPY |= {"rsqrt": lambda x: 1 / np.sqrt(x), "logistic": lambda x: np.exp(np.minimum(x, 0)) / (1 + np.exp(-np.abs(x)))}
MPMATH = {"sincos": mpmath.sin, "cossin": mpmath.cos, "pow": mpmath.power, "exp2": lambda x: mpmath.power(2, x)}
MPMATH |= {"rsqrt": lambda x: 1 / mpmath.sqrt(x), "logistic": lambda x: 1 / (1 + mpmath.exp(-x))}

ENDS = {"exp": (88, 709), "exp2": (127, 1023), "expm1": (88, 709), "logistic": (87, 708)}  # f32, f64
POSITIVE = ("log", "sqrt", "rsqrt")


@cache
def kernel(name, kind, lanes):
    """The function on whole arrays, as a ctypes call: (count, in, [in,] out), count a multiple of lanes."""
    w = Writer(lanes)
    scalar, vector, size = scalar_type(kind), w.vector(kind), np.dtype(KINDS[kind]).itemsize
    inputs = ["%a", "%b"][: 1 + (name in BINARY)]
    places = [w.value(f"getelementptr {scalar}, ptr {p}, i64 %i") for p in (*inputs, "%out")]
    loaded = [w.value(f"load {vector}, ptr {p}, align {size}") for p in places[:-1]]
    w.line(f"store {vector} {FUNCTIONS[name](w, kind, *loaded)}, ptr {places[-1]}, align {size}")
    text = "\n".join(
        [
            *w.declared.values(),
            f"define void @kernel(i64 %n, {', '.join('ptr ' + p for p in (*inputs, '%out'))}) {{",
            "entry:\n  br label %loop\nloop:\n  %i = phi i64 [0, %entry], [%next, %loop]",
            *w.lines,
            f"  %next = add i64 %i, {lanes}\n  %more = icmp slt i64 %next, %n",
            "  br i1 %more, label %loop, label %end\nend:\n  ret void\n}",
        ]
    )
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(text)
    module.verify()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2
    )
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    pointers = [ctypes.c_void_p] * (len(inputs) + 1)
    return ctypes.CFUNCTYPE(None, ctypes.c_int64, *pointers)(engine.get_function_address("kernel")), engine


def evaluate(name, kind, *arguments, lanes=None):
    lanes = lanes or LANES[kind]
    call, _ = kernel(name, kind, lanes)
    count = len(arguments[0])
    padded = [np.resize(np.asarray(a, KINDS[kind]), -(-count // lanes) * lanes) for a in arguments]
    out = np.empty_like(padded[0])
    call(len(out), *(a.ctypes.data for a in padded), out.ctypes.data)
    return out[:count]


def numpy_function(name):
    return NUMPY[name] if name in NUMPY else getattr(np, name)


def truth(name, kind, *arguments):
    """The true value as a sum of two numbers of double precision."""
    if kind == "f32":
        with np.errstate(all="ignore"):
            high = numpy_function(name)(*(np.float64(a) for a in arguments))
        return high, np.zeros_like(high)
    with mpmath.workprec(200):
        function = MPMATH.get(name) or getattr(mpmath, name)
        values = [
            function(*map(mpmath.mpf, numbers)) for numbers in zip(*map(np.ndarray.tolist, arguments), strict=True)
        ]
        high = [float(v) for v in values]
        return np.array(high), np.array([float(v - h) for v, h in zip(values, high, strict=True)])


def ulps(got, kind, high, low):
    with np.errstate(over="ignore"):
        spacing = np.spacing(np.abs(high).astype(KINDS[kind])).astype(np.float64)
    return np.abs((got.astype(np.float64) - high) - low) / spacing


def angles(rng, limit, count):
    """Dense, log-spaced, and as near to multiples of pi / 2 as numbers come."""
    near = np.rint(rng.uniform(-limit, limit, count) / (np.pi / 2)) * (np.pi / 2)
    few = np.arange(-200, 201) * (np.pi / 2)
    logs = 10 ** rng.uniform(-30, np.log10(limit), count)
    return np.concatenate([rng.uniform(-4, 4, count), rng.uniform(-limit, limit, count), near, few, logs, -logs])


def samples(name, kind):
    rng = np.random.default_rng(0)
    count, narrow = (200_000, 0) if kind == "f32" else (700, 1)
    both = 10 ** rng.uniform(-36, (37, 300)[narrow], count)
    signed = np.concatenate([both, -both, rng.normal(size=count), rng.uniform(-30, 30, count)])
    if name in ("sin", "cos", "tan", "sincos", "cossin"):
        return [angles(rng, 1e4, count)]
    if name in ENDS:
        end = ENDS[name][narrow]
        small = 10 ** rng.uniform(-30, 0, count)
        return [np.concatenate([rng.uniform(-end, end, count), rng.normal(size=count), small, -small])]
    if name in POSITIVE:
        return [np.concatenate([both, np.exp(rng.normal(size=count)), 1 + 1e-3 * rng.normal(size=count)])]
    if name == "log1p":
        small = 10 ** rng.uniform(-30, -0.01, count)
        return [np.concatenate([both, small, -small, rng.uniform(-0.99, 3, 2 * count)])]
    if name == "pow":
        base = np.concatenate([both, np.exp(rng.normal(size=count)), 1 + 1e-3 * rng.normal(size=count)])
        end = (87, 707)[narrow]
        steep = rng.uniform(-end, end, base.size) / np.maximum(np.abs(np.log(base)), 1e-4)
        return [np.concatenate([base, base]), np.concatenate([steep, np.clip(rng.normal(size=base.size), -0.9, 0.9)])]
    if name == "atan2":
        return [rng.permutation(signed), rng.permutation(signed)]
    return [signed]


MEASURED = ("sin", "cos", "sincos", "cossin", "tan", "atan", "atan2", "exp", "exp2", "expm1", "tanh", "logistic")
MEASURED += ("log", "log1p", "sqrt", "rsqrt", "pow")


def largest_error(name, kind):
    arguments = [np.asarray(a, KINDS[kind]) for a in samples(name, kind)]
    error = ulps(evaluate(name, kind, *arguments), kind, *truth(name, kind, *arguments))
    return error.max(), [a[error.argmax()] for a in arguments]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MEASURED)
def test_within_four_ulp(name, kind):
    error, where = largest_error(name, kind)
    assert error < 4, where


SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    -2.0,
    3.0,
    -3.0,
    2.5,
    -2.5,
    np.inf,
    -np.inf,
    np.nan,
    1e9,
    -1e9,
    1e30,
    -1e30,
]
SPECIAL_BY_KIND = {
    kind: [*SPECIAL, *(s * n for n in limits for s in (1, -1))]
    for kind, limits in {
        "f32": [float(np.float32(n)) for n in (1e-45, 1e-39, 1.2e-38, 3.4e38, 16777215, 1e-8)],
        "f64": [5e-324, 1e-309, 2.3e-308, 1.7e308, 9007199254740991.0, 1e-17],
    }.items()
}


def assert_same(name, kind, arguments, tolerance):
    """Equal with the sign of zero, NaN where NaN; finite numbers within `tolerance` ulp."""
    got = evaluate(name, kind, *arguments)
    with np.errstate(all="ignore"):
        wide = numpy_function(name)(*(np.float64(a) for a in arguments))
        expected = wide.astype(KINDS[kind])
    for *numbers, g, e, t in zip(*arguments, got, expected, wide, strict=True):
        note = f"{name}{tuple(map(float, numbers))} gave {g!r}, not {e!r}"
        if not np.isfinite(e) or e == 0 or not np.isfinite(g):
            assert np.array_equal(g, e, equal_nan=True), note
            assert np.isnan(e) or np.signbit(g) == np.signbit(e), note
        else:
            assert ulps(np.array(g), kind, np.array(t), 0.0) <= tolerance, note


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [name for name in MEASURED if name not in BINARY])
def test_special_values(name, kind):
    values = np.array(SPECIAL_BY_KIND[kind], KINDS[kind])
    if numpy_function(name) in (np.sin, np.cos, np.tan):
        values = values[~(np.abs(values) > 1e10) | np.isinf(values)]
        values = values[~(np.abs(values) > 1e6) | np.isinf(values)] if kind == "f32" else values
    assert_same(name, kind, [values], 4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", BINARY)
def test_special_pairs(name, kind):
    values = np.array(SPECIAL_BY_KIND[kind], KINDS[kind])
    x, y = (grid.ravel() for grid in np.meshgrid(values, values))
    assert_same(name, kind, [x, y], 4)


@pytest.mark.parametrize("kind", KINDS)
def test_results_between_the_smallest_normal_and_zero(kind):
    bottom = {"f32": (-104, -87), "f64": (-746, -708)}[kind]
    x = np.linspace(*bottom, 500).astype(KINDS[kind])
    assert_same("exp", kind, [x], 2)
    assert_same("exp2", kind, [(x * KINDS[kind](1 / np.log(2)))], 2)
    assert_same("logistic", kind, [x], 4)
    assert_same("pow", kind, [np.full_like(x, 0.75), x / KINDS[kind](np.log(0.75))], 2)


@pytest.mark.parametrize("kind", KINDS)
def test_exact_where_the_answer_is(kind):
    n = np.arange(-120.0, 120.0)
    assert np.all(evaluate("exp2", kind, n) == 2.0**n)
    assert np.all(evaluate("pow", kind, np.full_like(n, 2.0), n) == 2.0**n)
    assert np.all(evaluate("pow", kind, n, np.full_like(n, 3.0)) == n**3)
    zero = np.zeros(4)
    for name in ("cos", "cossin", "exp"):
        assert np.all(evaluate(name, kind, zero) == 1.0)


@pytest.mark.parametrize(("kind", "limit", "error"), [("f32", 1e6, 3e-7), ("f64", 3e14, 4e-16)])
@pytest.mark.parametrize("name", ["sin", "cos", "sincos", "cossin"])
def test_large_angles_stay_accurate_and_larger_ones_bounded(name, kind, limit, error):
    x = np.random.default_rng(1).uniform(-limit, limit, 2000).astype(KINDS[kind])
    high, low = truth(name, kind, x)
    assert np.abs((evaluate(name, kind, x) - high) - low).max() < error
    beyond = np.geomspace(limit, float(np.finfo(KINDS[kind]).max) / 2, 2000).astype(KINDS[kind])
    assert np.all(np.abs(evaluate(name, kind, beyond)) <= 1)


@pytest.mark.parametrize("lanes", [8, 16, 32])
@pytest.mark.parametrize("kind", KINDS)
def test_lanes_do_not_change_a_bit(kind, lanes):
    x = np.linspace(0.01, 20, 96)
    for name in ("sincos", "exp", "log"):
        assert np.array_equal(evaluate(name, kind, x, lanes=lanes), evaluate(name, kind, x, lanes=4))
    assert np.array_equal(evaluate("pow", kind, x, x[::-1], lanes=lanes), evaluate("pow", kind, x, x[::-1], lanes=4))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", sorted(set(ELEMENTARY) - set(MEASURED)))
def test_the_rest_is_libm(name, kind):
    x = np.linspace(1.05, 3.0, 37) if name == "acosh" else np.linspace(0.05, 0.9, 37)
    function = getattr(mpmath, "loggamma" if name == "lgamma" else name)
    expected = [float(function(v)) for v in x.astype(KINDS[kind]).tolist()]
    np.testing.assert_allclose(evaluate(name, kind, x), expected, rtol=1e-6 if kind == "f32" else 1e-14)
