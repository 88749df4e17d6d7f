"""What `fuse.explain` says of the mechanisms, as counts of operations: the one place here that reads its report."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from benchmarks.mechanisms import Mechanism
from benchmarks.native import Unavailable
from plausim import fuse


class Operations(NamedTuple):
    """Of one step."""

    arithmetic: int
    trigonometric: int

    @property
    def total(self) -> int:
        return self.arithmetic + self.trigonometric

    def __str__(self) -> str:
        return f"{self.arithmetic:,} + {self.trigonometric}"


def fused_operations(mechanism: Mechanism) -> tuple[Operations, Operations]:
    """Of one step and of its adjoint, float32, after simplification."""
    explain = getattr(fuse, "explain", None)
    if explain is None:
        raise Unavailable("no fuse.explain yet")
    theta, start, *inputs = (
        jnp.asarray(v, np.float32) for v in (mechanism.nominal, mechanism.start, *mechanism.inputs)
    )
    report = explain(lambda state, _: (mechanism.step(state, theta, *inputs), None), start, None)
    return Operations(*report.forward), Operations(*report.adjoint)
