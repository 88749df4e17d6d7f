"""How many operations one step and its adjoint take: CasADi's SX graphs, and what `fuse` makes of the same step.

    python -m benchmarks.operations

The mechanisms' code runs here on arrays of SX symbols instead of numbers. The adjoint is the whole vector-Jacobian
product: from a state, parameters and the cotangent of the next state to the cotangents of state and parameters, the
step's own intermediate values included.
"""

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.fused import Operations, fused_operations
from benchmarks.mechanisms import MECHANISMS, Mechanism
from benchmarks.native import Unavailable, optional

casadi = optional("casadi")
TRIGONOMETRIC = ("OP_SIN", "OP_COS")
FREE = ("OP_INPUT", "OP_OUTPUT", "OP_CONST")  # moves, not arithmetic


def binary(act: Callable) -> Callable:
    """An operator of Symbol; arrays are left to NumPy, which comes back with their elements."""

    def method(self: "Symbol", other):
        if isinstance(other, np.ndarray):
            return NotImplemented
        return Symbol(act(self.expression, expression_of(other)))

    return method


class Symbol:
    """An SX scalar that NumPy takes for a number: SX itself looks like a matrix to it."""

    dtype = np.dtype(object)

    def __init__(self, expression):
        self.expression = expression

    __add__ = binary(lambda a, b: a + b)
    __radd__ = binary(lambda a, b: b + a)
    __sub__ = binary(lambda a, b: a - b)
    __rsub__ = binary(lambda a, b: b - a)
    __mul__ = binary(lambda a, b: a * b)
    __rmul__ = binary(lambda a, b: b * a)
    __truediv__ = binary(lambda a, b: a / b)
    __rtruediv__ = binary(lambda a, b: b / a)

    def __neg__(self):
        return Symbol(-self.expression)

    def sin(self):
        return Symbol(casadi.sin(self.expression))

    def cos(self):
        return Symbol(casadi.cos(self.expression))


def expression_of(value):
    return value.expression if isinstance(value, Symbol) else casadi.SX(float(value))


def symbols(name: str, count: int) -> tuple[Any, np.ndarray]:
    """A column of SX symbols, and the same as an array of Symbol."""
    column = casadi.SX.sym(name, count)
    return column, np.array([Symbol(column[i]) for i in range(count)], dtype=object)


def count(function: Any) -> Operations:
    """The instructions of an SX function by kind."""
    kinds = {getattr(casadi, name): name for name in dir(casadi) if name.startswith("OP_")}
    names = [kinds[function.instruction_id(i)] for i in range(function.n_instructions())]
    trigonometric = sum(name in TRIGONOMETRIC for name in names)
    return Operations(sum(name not in FREE for name in names) - trigonometric, trigonometric)


def casadi_operations(mechanism: Mechanism) -> tuple[Operations, Operations]:
    """Of the step and of its adjoint, common subexpressions taken out."""
    if casadi is None:
        raise Unavailable("casadi is not installed")
    state, state_array = symbols("state", len(mechanism.start))
    theta, theta_array = symbols("theta", len(mechanism.nominal))
    pairs = [symbols(f"input{i}", len(value)) for i, value in enumerate(mechanism.inputs)]
    moved = mechanism.step(state_array, theta_array, *(array for _, array in pairs))
    moved = casadi.vertcat(*(expression_of(entry) for entry in moved))
    cotangent = casadi.SX.sym("cotangent", moved.shape[0])
    adjoint = casadi.jtimes(moved, casadi.vertcat(state, theta), cotangent, True)
    arguments = [state, theta, *(column for column, _ in pairs)]
    forward = casadi.Function("forward", arguments, casadi.cse([moved]))
    reverse = casadi.Function("reverse", [*arguments, cotangent], casadi.cse([adjoint]))
    return count(forward), count(reverse)


def main(only: Annotated[list[str] | None, typer.Option(help="mechanisms, by name")] = None) -> None:
    """Print the table of counts: arithmetic + trigonometric."""
    table = Table("mechanism", "CasADi forward", "CasADi adjoint", "fuse forward", "fuse adjoint")
    for mechanism in MECHANISMS.values():
        if only and mechanism.name not in only:
            continue
        cells = []
        for counts in (casadi_operations, fused_operations):
            try:
                cells += [str(operations) for operations in counts(mechanism)]
            except Unavailable as reason:
                cells += [str(reason), ""]
        table.add_row(mechanism.name, *cells)
    Console().print(table)


if __name__ == "__main__":
    typer.run(main)
