"""Arrays of nodes: an array of numbers is an integer array that says where in the graph each number is."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from .folding import KINDS
from .graph import Graph
from .unfusable import Unfusable

Array = np.ndarray  # of node positions


def kind_of(aval: Any) -> str:
    """The kind of number in an array of this type; what JAX has for the tangent of an integer counts as a bool."""
    if aval.dtype == jax.dtypes.float0:
        return "i1"
    kind = KINDS.get(np.dtype(aval.dtype)) if not jax.dtypes.issubdtype(aval.dtype, jax.dtypes.extended) else None
    if kind is None:
        raise Unfusable(f"numbers of type {aval.dtype}", advice="use float32, float64, integers or bools")
    return kind


def constants(graph: Graph, values: Any) -> Array:
    """Known numbers as nodes."""
    values = np.asarray(values)
    if values.dtype == jax.dtypes.float0:
        values = np.zeros(values.shape, bool)
    kind = KINDS.get(values.dtype)
    if kind is None:
        raise Unfusable(f"numbers of type {values.dtype}", advice="use float32, float64, integers or bools")
    flat = [graph.const(kind, v) for v in values.ravel().tolist()]
    return np.array(flat, np.int32).reshape(values.shape)


def known(graph: Graph, array: Array) -> np.ndarray | None:
    """The numbers of an array of constants; None when one of them is not known."""
    values = [graph.value(n) for n in array.ravel().tolist()]
    return None if any(v is None for v in values) else np.array(values).reshape(array.shape)


def each(function: Callable[..., int], first: Array, *more: Array) -> Array:
    """A function of single nodes, over arrays of them."""
    arrays = tuple(np.broadcast_arrays(first, *more)) if more else (first,)
    flat = [function(*nodes) for nodes in zip(*(a.ravel().tolist() for a in arrays), strict=True)]
    return np.array(flat, np.int32).reshape(arrays[0].shape)
