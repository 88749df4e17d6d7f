"""How batch axes become lanes: which axis runs through a vector, and where each lane's numbers stand.

Every operand carries a mask: along which lane axes it differs. Along the others all lanes read the same memory,
so a recording shared by all particles is there once.
"""

from collections.abc import Sequence
from typing import NamedTuple

Mask = tuple[bool, ...]


class Layout(NamedTuple):
    inner: int  # lanes along the axis that fills vectors
    outer: tuple[int, ...]  # sizes of the other axes
    order: tuple[int, ...]  # the merged axes in this order: outer ones, then the inner one
    merged: tuple[tuple[int, ...], ...]  # for each merged axis, the lane axes it is made of

    def strides(self, mask: Mask, sizes: Sequence[int], item: int) -> list[int]:
        """Bytes from lane to lane of an operand: along the inner axis, then along each outer one."""
        steps, step = [0] * len(sizes), item
        for axis in reversed(range(len(sizes))):
            if mask[axis]:
                steps[axis] = step
                step *= sizes[axis]
        along = [steps[group[-1]] if group else 0 for group in (self.merged[m] for m in self.order)]
        return [along[-1], *along[:-1]]


def arrange(sizes: Sequence[int], masks: Sequence[Mask], by_step: Sequence[Mask], lanes: int) -> Layout:
    """Merge axes along which all operands agree; run vectors along the axis that wastes least.

    `by_step` are the masks of operands read at every step: reading them costs more when lanes differ.
    """
    merged: list[tuple[int, ...]] = []
    for axis in range(len(sizes)):
        if merged and all(m[axis] == m[merged[-1][-1]] for m in masks):
            merged[-1] = (*merged[-1], axis)
        else:
            merged.append((axis,))
    if not merged:
        return Layout(1, (), (0,), ((),))
    counts = []
    for group in merged:
        count = 1
        for axis in group:
            count *= sizes[axis]
        counts.append(count)

    def cost(m: int) -> float:
        vectors = -(-counts[m] // lanes)
        for other, count in enumerate(counts):
            vectors *= count if other != m else 1
        return vectors * (1 + 0.2 * sum(mask[merged[m][-1]] for mask in by_step))

    inner = min(range(len(merged)), key=lambda m: (cost(m), -m))
    order = (*(m for m in range(len(merged)) if m != inner), inner)
    return Layout(counts[inner], tuple(counts[m] for m in order[:-1]), order, tuple(merged))
