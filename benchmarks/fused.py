"""What `fuse.explain` says of the mechanisms, as counts of operations: the one place here that reads its report."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from benchmarks.mechanisms import Mechanism
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
    """Of one step and its adjoint, float32, after simplification; parameters and inputs are variables, as in CasADi."""
    given = [jnp.asarray(v, np.float32) for v in (mechanism.start, mechanism.nominal, *mechanism.inputs)]

    def step(carry, _):
        state, theta, *inputs = carry
        return [mechanism.step(state, theta, *inputs), theta, *inputs], None

    report = fuse.explain(step, given, None, length=1)
    return Operations(*report.forward), Operations(*report.adjoint)
