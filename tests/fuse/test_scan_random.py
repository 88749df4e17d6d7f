"""Whatever the step and the transformations around it: the numbers of `lax.scan`."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from jax import lax

from plausim import fuse

from .random_steps import (
    FUSIBLE,
    MAY_FALL_BACK,
    NO_FORWARD_MODE,
    NO_REVERSE_MODE,
    OPERATIONS,
    QUICK_TO_COMPILE,
    TOLERANCE,
    Leaf,
    agree,
    distance,
    nested,
    program_of,
    programs,
    templates,
)

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # some steps fall back, and say so

DTYPES = st.sampled_from([np.float64, np.float32])
QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}
FEW = settings(max_examples=6, derandomize=True, **QUIET)
MANY = settings(max_examples=300, print_blob=True, **QUIET)


def is_float(leaf) -> bool:
    return jnp.issubdtype(leaf.dtype, jnp.floating)


def of_floats(run, arguments):
    """`run` as a function of its float leaves alone that gives the float leaves alone; and those leaves."""
    leaves, tree = jax.tree.flatten(arguments)
    varied = [n for n, leaf in enumerate(leaves) if is_float(leaf)]

    def function(*floats):
        filled = list(leaves)
        for n, value in zip(varied, floats, strict=True):
            filled[n] = value
        return [leaf for leaf in jax.tree.leaves(run(*jax.tree.unflatten(tree, filled))) if is_float(leaf)]

    return function, tuple(leaves[n] for n in varied)


def waves(tree):
    """Numbers of no special kind, in the shapes of the tree."""
    return jax.tree.map(lambda leaf: jnp.cos(jnp.arange(leaf.size, dtype=leaf.dtype) + 0.3).reshape(leaf.shape), tree)


def same(build, program, arguments, ill_conditioned=reject):
    """`build(run, *arguments)` agrees for both scans, wherever rounding errors in the arguments do not grow."""
    tolerance = TOLERANCE[np.dtype(program.dtype).name]
    reference = jax.jit(partial(build, partial(program.run, lax.scan)), compiler_options=QUICK_TO_COMPILE)
    expected = reference(*arguments)
    nudge = 4 * float(np.finfo(program.dtype).eps)
    nudged = jax.tree.map(lambda leaf: leaf * (1 + nudge) if is_float(leaf) else leaf, arguments)
    try:
        well_conditioned = distance(reference(*nudged), expected) < tolerance / 4
    except AssertionError:  # an integer or a branch hangs on the last bit
        well_conditioned = False
    if not well_conditioned:
        ill_conditioned()
    agree(jax.jit(partial(build, partial(program.run, fuse.scan)))(*arguments), expected, tolerance)
    return expected


def values(run, *arguments):
    return run(*arguments)


def vjp(run, *arguments):
    function, floats = of_floats(run, arguments)
    out, pull = jax.vjp(function, *floats)
    return out, pull(waves(out))


def jvp(run, *arguments):
    function, floats = of_floats(run, arguments)
    return jax.jvp(function, floats, waves(floats))


def jacfwd(run, *arguments):
    function, floats = of_floats(run, arguments)
    return jax.jacfwd(function, argnums=tuple(range(len(floats))))(*floats)


def check_values(program):
    expected = same(values, program, program.arguments())
    agree(program.run(fuse.scan, *program.arguments()), expected, TOLERANCE[np.dtype(program.dtype).name])


PLAIN = {  # what is checked, and the families that cannot do it
    "values": (check_values, ()),
    "vjp": (lambda program: same(vjp, program, program.arguments()), NO_REVERSE_MODE),
    "jvp": (lambda program: same(jvp, program, program.arguments()), NO_FORWARD_MODE),
    "jacfwd": (lambda program: same(jacfwd, program, program.arguments()), NO_FORWARD_MODE),
}


@pytest.mark.parametrize("name", PLAIN)
@FEW
@given(data=st.data())
def test_few(name, data):
    check_plain(name, data)


@pytest.mark.slow
@pytest.mark.parametrize("name", PLAIN)
@MANY
@given(data=st.data())
def test_many(name, data):
    check_plain(name, data)


def check_plain(name, data):
    check, impossible = PLAIN[name]
    families = tuple(family for family in (*FUSIBLE, *NO_FORWARD_MODE) if family not in impossible)
    check(data.draw(DTYPES.flatmap(lambda dtype: programs(dtype, families))))


@pytest.mark.slow
@pytest.mark.parametrize("name", PLAIN)
@settings(MANY, max_examples=50)
@given(data=st.data())
def test_with_operations_that_may_fall_back(name, data):
    check, impossible = PLAIN[name]
    families = tuple(family for family in OPERATIONS if family not in impossible)
    check(data.draw(DTYPES.flatmap(lambda dtype: programs(dtype, families))))


def mapped(function, levels):
    for level in levels:
        function = jax.vmap(function, level.in_axes, level.out_axis, axis_size=level.size)
    return function


def with_lanes(program, levels):
    """The arguments, with the mapped axes in place."""
    number = iter(range(100))

    def batched(leaf):
        n, shape = next(number), list(leaf.shape)
        for level in levels:
            if level.in_axes[n] is not None:
                shape.insert(level.in_axes[n], level.size)
        return Leaf(tuple(shape), leaf.dtype)

    return program.arguments(batched)


def by_leaf(run, arguments):
    """`run` as a function of flat leaves."""
    tree = jax.tree.structure(arguments)
    return lambda *leaves: run(*jax.tree.unflatten(tree, leaves))


def vmap(levels, run, *arguments):
    return mapped(by_leaf(run, arguments), levels)(*jax.tree.leaves(arguments))


def vmap_of_vjp(levels, run, *arguments):
    def one(*leaves):
        return vjp(by_leaf(run, arguments), *leaves)

    return mapped(one, levels)(*jax.tree.leaves(arguments))


def vjp_of_vmap(levels, run, *arguments):
    return vjp(mapped(by_leaf(run, arguments), levels), *jax.tree.leaves(arguments))


def vmap_of_jvp(levels, run, *arguments):
    def one(*leaves):
        return jvp(by_leaf(run, arguments), *leaves)

    return mapped(one, levels)(*jax.tree.leaves(arguments))


NESTED = {
    "vmap": (vmap, ()),
    "vmap of vjp": (vmap_of_vjp, NO_REVERSE_MODE),
    "vjp of vmap": (vjp_of_vmap, NO_REVERSE_MODE),
    "vmap of jvp": (vmap_of_jvp, NO_FORWARD_MODE),
}


@pytest.mark.parametrize("name", NESTED)
@settings(FEW, max_examples=4)
@given(data=st.data())
def test_few_in_lanes(name, data):
    check_in_lanes(name, data)


@pytest.mark.slow
@pytest.mark.parametrize("name", NESTED)
@MANY
@given(data=st.data())
def test_many_in_lanes(name, data):
    check_in_lanes(name, data)


def check_in_lanes(name, data):
    build, impossible = NESTED[name]
    families = tuple(family for family in (*FUSIBLE, *NO_FORWARD_MODE) if family not in impossible)
    program, levels = data.draw(DTYPES.flatmap(lambda dtype: nested(dtype, families)))
    same(partial(build, levels), program, with_lanes(program, levels))


ALONE = [(family, template) for family in OPERATIONS for template in templates(family)]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize(("family", "template"), ALONE, ids=[template for _, template in ALONE])
def test_each_operation_alone(family, template, dtype):
    check_operations(family, [template], dtype)


@pytest.mark.parametrize("family", [family for family in OPERATIONS if family not in MAY_FALL_BACK])
def test_each_family(family):
    check_operations(family, templates(family), np.float32)


def check_operations(family, operations, dtype):
    program = program_of(operations, dtype)
    build = values if family in NO_REVERSE_MODE else vjp
    same(build, program, program.arguments(), ill_conditioned=lambda: pytest.fail("the program is ill-conditioned"))
