"""A jaxpr becomes a graph of operations on single numbers.

An array is an integer array of node positions, so a primitive that only moves numbers is run by NumPy on these
positions. Calls are entered, loops with a known number of turns are unrolled, branches become selects.
What has no rule raises `Unfusable`, which names the primitive and the line of the user's code it came from.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import numpy as np
from jax.extend import core as jex

from .folding import DTYPES, is_float
from .graph import Graph
from .indexing import reads_beyond
from .nodes import Array, constants, each
from .rules import RULES
from .unfusable import Unfusable

SHARED_BY_TIES = frozenset({"reduce_max", "reduce_min"})  # JAX divides the cotangent among all that are largest
MOST_TURNS = 10_000  # of an inner loop


def scalarise(graph: Graph, closed: Any, arguments: Sequence[Array], markers: bool = True) -> list[Array]:
    """The outputs of a closed jaxpr as nodes. With `markers`, the graph keeps where derivatives take another way."""
    consts = [constants(graph, c) for c in closed.consts]
    return _run(graph, closed.jaxpr, consts, arguments, markers)


def _run(graph: Graph, jaxpr: Any, consts: Sequence[Array], arguments: Sequence[Array], markers: bool) -> list[Array]:
    values: dict[Any, Array] = dict(zip(jaxpr.constvars, consts, strict=True))
    values.update(zip(jaxpr.invars, arguments, strict=True))

    def read(variable: Any) -> Array:
        return constants(graph, _number(variable)) if isinstance(variable, jex.Literal) else values[variable]

    for eqn in jaxpr.eqns:
        try:
            outputs = _equation(graph, eqn, [read(v) for v in eqn.invars], markers)
        except Unfusable as problem:
            raise problem.located(eqn) from None
        values.update(zip(eqn.outvars, outputs, strict=True))
    return [read(v) for v in jaxpr.outvars]


def _number(literal: Any) -> np.ndarray:
    return np.asarray(literal.val, literal.aval.dtype)


def _equation(graph: Graph, eqn: Any, inputs: list[Array], markers: bool) -> list[Array]:
    name = eqn.primitive.name
    if name in CONTROL:
        return CONTROL[name](graph, eqn, inputs, markers)
    rule = RULES.get(name)
    if rule is None:
        raise Unfusable(f"the primitive {name}")
    outputs = rule(graph, eqn, *inputs)
    outputs = outputs if isinstance(outputs, list) else [outputs]
    shared = name in SHARED_BY_TIES and any(v.aval.size > 1 for v in eqn.invars)
    if markers and (shared or (name == "gather" and reads_beyond(graph, eqn, inputs[1]))):
        return with_own_derivative(
            graph, lambda *a: eqn.primitive.bind(*a, **eqn.params), [v.aval for v in eqn.invars], inputs, outputs
        )
    return outputs


# ---- calls


def _inner(params: dict[str, Any]) -> Any:
    """The closed jaxpr that a call runs."""
    inner = next(params[k] for k in ("jaxpr", "call_jaxpr", "fun_jaxpr") if k in params)
    return inner if hasattr(inner, "consts") else jex.ClosedJaxpr(inner, [])


def _call(graph: Graph, eqn: Any, inputs: list[Array], markers: bool) -> list[Array]:
    return scalarise(graph, _inner(eqn.params), inputs, markers)


def _custom(graph: Graph, eqn: Any, inputs: list[Array], markers: bool) -> list[Array]:
    """A function whose derivative was given by its author: JAX itself says how cotangents pass."""
    outputs = scalarise(graph, _inner(eqn.params), inputs, markers)
    if not markers:
        return outputs

    def function(*arguments):
        return eqn.primitive.bind(*arguments, **eqn.primitive.get_bind_params(eqn.params))

    return with_own_derivative(graph, function, [v.aval for v in eqn.invars], inputs, outputs)


def with_own_derivative(
    graph: Graph, function: Callable, avals: list, inputs: list[Array], outputs: list[Array]
) -> list[Array]:
    """Mark `outputs = function(*inputs)`: their cotangents go to the inputs as `jax.vjp(function)` says."""
    floating = [i for i, a in enumerate(avals) if jax.numpy.issubdtype(a.dtype, jax.numpy.floating)]
    returned = [i for i, o in enumerate(outputs) if o.size and is_float(graph.nodes[o.flat[0]].kind)]
    if not returned:
        return outputs

    def pull(arguments, cotangents):
        def of_floats(*floats):
            full = list(arguments)
            for i, value in zip(floating, floats, strict=True):
                full[i] = value
            results = function(*full)
            results = results if isinstance(results, (list, tuple)) else [results]
            return [results[i] for i in returned]

        return jax.vjp(of_floats, *(arguments[i] for i in floating))[1](cotangents)

    def pullback(cotangents: list[int]) -> list[int]:
        splits = np.cumsum([outputs[i].size for i in returned])[:-1]
        parts = np.split(np.array(cotangents, np.int32), splits)
        shaped = [part.reshape(outputs[i].shape) for part, i in zip(parts, returned, strict=True)]
        types = [jax.ShapeDtypeStruct(o.shape, _dtype(graph, o)) for o in shaped]
        closed = jax.make_jaxpr(pull)([_type(a) for a in avals], types)
        results = scalarise(graph, closed, [*inputs, *shaped], markers=False)
        return [n for r in results for n in r.ravel().tolist()]

    flat = [n for i in returned for n in outputs[i].ravel().tolist()]
    sources = [n for i in floating for n in inputs[i].ravel().tolist()]
    wrapped = iter(graph.custom(flat, sources, pullback))
    results = list(outputs)
    for i in returned:
        results[i] = np.array([next(wrapped) for _ in range(outputs[i].size)], np.int32).reshape(outputs[i].shape)
    return results


def _dtype(graph: Graph, array: Array) -> Any:
    return DTYPES[graph.nodes[array.flat[0]].kind]


def _expanded(graph: Graph, eqn: Any, inputs: list[Array], markers: bool) -> list[Array]:
    """A primitive that JAX (from 0.12 on) keeps whole until it compiles; it brings what it does and its derivative."""
    avals = [v.aval for v in eqn.invars]
    whole = partial(eqn.primitive.bind, **eqn.params)
    closed = jax.make_jaxpr(partial(eqn.primitive.to_lojax, **eqn.params))(*map(_type, avals))
    outputs = scalarise(graph, closed, inputs, markers=False)
    return with_own_derivative(graph, whole, avals, inputs, outputs) if markers else outputs


def _type(aval: Any) -> Any:
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype)


def _linear_solve(graph: Graph, eqn: Any, inputs: list[Array], markers: bool) -> list[Array]:
    """Run the solver that was given; its derivative solves the transposed system, as JAX says."""
    lengths, jaxprs = eqn.params["const_lengths"], eqn.params["jaxprs"]
    before = lengths.matvec + lengths.vecmat
    total = sum(lengths)
    outputs = scalarise(graph, jaxprs.solve, [*inputs[before : before + lengths.solve], *inputs[total:]], markers)
    if not markers:
        return outputs
    return with_own_derivative(
        graph, lambda *a: eqn.primitive.bind(*a, **eqn.params), [v.aval for v in eqn.invars], inputs, outputs
    )


def _reference(graph: Graph, eqn: Any, inputs: list[Array], markers: bool) -> list[Array]:
    """A fused scan inside a step: entered as the plain scan that it stands for."""
    closed = jax.make_jaxpr(eqn.primitive.reference(**eqn.params))(*(_type(v.aval) for v in eqn.invars))
    return scalarise(graph, closed, inputs, markers)


# ---- loops and branches


def _sizes(p: dict[str, Any]) -> tuple[int, int]:
    """How many of a scan's operands are constants, and how many are carried."""
    if "ft_in" in p:  # from JAX 0.12 on
        consts, carry, _ = map(len, p["ft_in"].unpack())
        return consts, carry
    return p["num_consts"], p["num_carry"]


def _scan(graph: Graph, eqn: Any, inputs: list[Array], markers: bool) -> list[Array]:
    p, (of_consts, of_carry) = eqn.params, _sizes(eqn.params)
    consts, carry, xs = inputs[:of_consts], inputs[of_consts:][:of_carry], inputs[of_consts + of_carry :]
    if p["length"] > MOST_TURNS:
        raise Unfusable(f"an inner loop of {p['length']} turns", advice=f"at most {MOST_TURNS} are unrolled")
    rows: list[list[Array]] = []
    for t in reversed(range(p["length"])) if p["reverse"] else range(p["length"]):
        outputs = scalarise(graph, p["jaxpr"], [*consts, *carry, *(x[t, ...] for x in xs)], markers)
        carry, row = outputs[:of_carry], outputs[of_carry:]
        rows.append(row)
    rows = rows[::-1] if p["reverse"] else rows
    shapes = [v.aval.shape for v in eqn.outvars[of_carry:]]
    ys = [np.stack([r[i] for r in rows]) if rows else np.zeros(s, np.int32) for i, s in enumerate(shapes)]
    return [*carry, *ys]


def _while(graph: Graph, eqn: Any, inputs: list[Array], markers: bool) -> list[Array]:
    p = eqn.params
    tests, bodies = p["cond_nconsts"], p["body_nconsts"]
    carry = inputs[tests + bodies :]
    for _ in range(MOST_TURNS):
        (goes_on,) = scalarise(graph, p["cond_jaxpr"], [*inputs[:tests], *carry], markers)
        value = graph.value(int(goes_on))
        if value is None:
            raise Unfusable(
                "a while_loop that runs until a computed condition holds", advice="give it a fixed number of turns"
            )
        if not value:
            return carry
        carry = scalarise(graph, p["body_jaxpr"], [*inputs[tests : tests + bodies], *carry], markers)
    raise Unfusable(f"an inner loop of more than {MOST_TURNS} turns")


def _cond(graph: Graph, eqn: Any, inputs: list[Array], markers: bool) -> list[Array]:
    index, arguments = int(inputs[0]), inputs[1:]
    branches = eqn.params["branches"]
    kind = graph.nodes[index].kind
    value = graph.value(index)
    if value is not None:
        return scalarise(graph, branches[min(max(int(value), 0), len(branches) - 1)], arguments, markers)
    results: list[Array] = []
    for i, branch in reversed(list(enumerate(branches))):
        if kind == "i1":
            taken = index if i else graph.apply("not", index)
        else:  # beyond the ends, the first and the last branch are taken
            edge = "le" if i == 0 else "ge" if i == len(branches) - 1 else "eq"
            taken = graph.apply(edge, index, graph.const(kind, i))
        gated = [each(lambda n, c=taken: graph.gate(n, c), a) if markers else a for a in arguments]
        outputs = scalarise(graph, branch, gated, markers)
        results = (
            [each(lambda y, n, c=taken: graph.select(c, y, n), o, r) for o, r in zip(outputs, results, strict=True)]
            if results
            else outputs
        )
    return results


CONTROL: dict[str, Callable[[Graph, Any, list[Array], bool], list[Array]]] = {
    **dict.fromkeys(("jit", "pjit", "closed_call", "core_call", "checkpoint", "remat", "remat2"), _call),
    **dict.fromkeys(("eval_jaxpr", "program_order", "xla_metadata_call"), _call),
    **dict.fromkeys(("custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr"), _custom),
    **dict.fromkeys(("fused_rollout", "fused_tangent", "fused_adjoint"), _reference),
    "custom_linear_solve": _linear_solve,
    "call_hi_primitive": _expanded,
    "scan": _scan,
    "while": _while,
    "cond": _cond,
}
