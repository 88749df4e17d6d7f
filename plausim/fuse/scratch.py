"""Scratch memory: where the vectors of a block of lanes stand, and loading and storing them."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from .folding import DTYPES
from .ir import Writer

ALIGN = 64


class Buffer(NamedTuple):
    """An operand or result: `count` numbers of a lane (and step), standing at `first` in the port it belongs to."""

    role: str  # const init x carry_cotangent y_cotangent; carry y const_share init_share x_share
    first: int
    count: int
    kind: str
    uniform: bool = False  # the same for all lanes of a vector


class Sizes(NamedTuple):
    """Bytes of scratch: what is always there, of a segment's start, of a step on the tape."""

    fixed: int
    segment: int
    step: int


def bytes_of(kind: str) -> int:
    return np.dtype(DTYPES[kind]).itemsize


def rounded(size: int) -> int:
    """The next multiple of the alignment."""
    return -(-size // ALIGN) * ALIGN


@dataclass
class Memory:
    """Where each vector stands in scratch."""

    lanes: int
    top: int
    slots: dict[tuple[str, int], int] = field(default_factory=dict)
    regions: dict[tuple[str, int], int] = field(default_factory=dict)

    def region(self, name: str, first: int, kinds: list[str]) -> None:
        """Consecutive vectors for the numbers `first`, `first` + 1, ... of a port."""
        self.regions[name, first] = self.top
        for i, kind in enumerate(kinds):
            self.slots[name, first + i] = self.top
            self.top += self.lanes * bytes_of(kind)
        self.top = rounded(self.top)


def load(w: Writer, kind: str, base: str, offset: int | str) -> str:
    place = w.value(f"getelementptr i8, ptr {base}, i64 {offset}")
    stored = "i8" if kind == "i1" else kind
    value = w.value(f"load {w.vector(stored)}, ptr {place}, align {min(ALIGN, w.lanes * bytes_of(stored))}")
    return w.compare("icmp ne", "i8", value, w.splat("i8", 0)) if kind == "i1" else value


def store(w: Writer, kind: str, value: str, base: str, offset: int | str) -> None:
    if kind == "i1":
        value, kind = w.convert("zext", "i1", "i8", value), "i8"
    place = w.value(f"getelementptr i8, ptr {base}, i64 {offset}")
    w.line(f"store {w.vector(kind)} {value}, ptr {place}, align {min(ALIGN, w.lanes * bytes_of(kind))}")
