"""What to keep of the way forward for the way back, and what to compute again: the cheapest choice, by a minimum cut.

A value that the way back reads is kept, at the cost of storing and loading it, or computed again, at the cost of its
operation and of having its operands. Computing v again saves `KEEP` - cost(v) and commits to its operands, each of
which costs `KEEP` unless it is computed again itself: a project selection, whose optimum is a minimum cut.
"""

import hashlib
from collections.abc import Iterable, Mapping

import numpy as np

from . import cache
from .graph import Graph, operands

# Vector instructions of what is not one instruction; a sine with its cosine is 24. Products and sums merge in part.
COSTS = {
    "tan": 22, "exp": 17, "exp2": 19, "expm1": 18, "log": 28, "log1p": 36, "tanh": 21, "logistic": 21, "pow": 97,
    "atan": 18, "atan2": 27, "sin": 12, "cos": 12, "div": 8, "sqrt": 8, "rsqrt": 16, "rem": 50, "idiv": 50,
    **dict.fromkeys(("asin", "acos", "sinh", "cosh", "asinh", "acosh", "atanh", "cbrt", "erf", "erfc", "lgamma"), 100),
}  # fmt: skip
KEEP = 6  # by measurement: a store, a load, and the cache they take


def cost(g: Graph, node: int, varying: set[int]) -> int:
    """Of computing a node from its operands. A divisor that is known before the loop is inverted there."""
    op, _, args = g.nodes[node]
    return 1 if op == "div" and args[1] not in varying else COSTS.get(op, 1)


def choose(g: Graph, read: Iterable[int], varying: set[int], carried: set[int], same: Mapping[int, int]) -> set[int]:
    """The nodes to keep, of those that differ from step to step, so that all of `read` can be had.

    `carried` enter the step and cannot be computed in it; `same` names nodes that come with another one for nothing.
    """
    read = {same.get(n, n) for n in read if n in varying or n in carried}
    nodes, stack = set(), list(read)
    while stack:
        node = stack.pop()
        if node not in nodes:
            nodes.add(node)
            if node not in carried:
                stack.extend(same.get(a, a) for a in operands(g.nodes[node]) if a in varying or a in carried)
    # sides of the cut: with the source, a value is available (1) or computed again (2)
    place = {n: i for i, n in enumerate(sorted(nodes))}
    count = len(place)
    source, sink = 2 * count, 2 * count + 1
    edges: dict[tuple[int, int], int] = {}
    never = 1 << 24
    for node, i in place.items():
        edges[i, sink] = 0 if node in read else KEEP
        gain = 0 if node in carried else KEEP - cost(g, node, varying)
        if gain > 0:
            edges[source, count + i] = gain
            edges[count + i, i] = never
            for a in operands(g.nodes[node]):
                a = same.get(a, a)
                if a in place:
                    edges[count + i, place[a]] = never
    again = _source_side(edges, source, sink, 2 * count + 2) if any(a == source for a, _ in edges) else set()
    needed_now, stack, kept = set(), list(read), set()
    while stack:
        node = stack.pop()
        if node in needed_now:
            continue
        needed_now.add(node)
        if node in carried or count + place[node] not in again:
            kept.add(node)
        else:
            stack.extend(b for b in (same.get(a, a) for a in operands(g.nodes[node])) if b in place)
    return kept


def _source_side(edges: Mapping[tuple[int, int], int], source: int, sink: int, size: int) -> set[int]:
    """The vertices on the source's side of a minimum cut; kept on disk, as importing SciPy takes long."""
    problem = repr((sorted(edges.items()), source, sink, size))
    key = f"cut_{hashlib.sha256(problem.encode()).hexdigest()[:40]}"
    found = cache.load(key)
    if found is None:
        found = np.array(sorted(_minimum_cut(edges, source, sink, size)), np.int64).tobytes()
        cache.store(key, found)
    return set(np.frombuffer(found, np.int64).tolist())


def _minimum_cut(edges: Mapping[tuple[int, int], int], source: int, sink: int, size: int) -> list[int]:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow

    rows, columns = np.array(list(edges)).T
    capacity = csr_array((np.array(list(edges.values()), np.int32), (rows, columns)), shape=(size, size))
    residual = capacity - maximum_flow(capacity, source, sink).flow
    residual.data = np.where(residual.data > 0, 1, 0).astype(np.int32)
    residual.eliminate_zeros()
    return breadth_first_order(residual, source, return_predecessors=False).tolist()
