"""The hand-written double pendulum of `closed_form.c`, compiled and called on NumPy arrays."""

import ctypes
from collections.abc import Callable

import numpy as np

from benchmarks import native
from benchmarks.mechanisms import PENDULUM_TIMESTEP

LANE_WIDTHS = (16, 32, 64)
NUMBER_TYPES = {np.dtype(np.float32): ("float", ctypes.c_float), np.dtype(np.float64): ("double", ctypes.c_double)}


def address(array: np.ndarray | None) -> ctypes.c_void_p:
    return ctypes.c_void_p(None if array is None else array.ctypes.data)


def closed_form(width: int, threads: int, gradient: bool, dtype=np.float32) -> Callable:
    """(start, theta (lanes, 11), reference (steps, 4)) -> (loss (lanes,), its gradient (lanes, 11) or None)."""
    name, c_type = NUMBER_TYPES[np.dtype(dtype)]
    rollouts = native.load("closed_form.c", f"-DREAL={name}", f"-DLANES={width}").rollouts

    def run(start: np.ndarray, theta: np.ndarray, reference: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        start, theta, reference = (np.ascontiguousarray(array, dtype) for array in (start, theta, reference))
        loss, slope = np.empty(len(theta), dtype), np.empty_like(theta) if gradient else None
        sizes = ctypes.c_long(len(theta)), ctypes.c_int(len(reference)), c_type(PENDULUM_TIMESTEP)
        arrays = (address(array) for array in (start, theta, reference, loss, slope))
        if rollouts(*sizes, *arrays, ctypes.c_int(threads)):
            raise MemoryError(f"no memory for the tapes of {threads} threads")
        return loss, slope

    return run
