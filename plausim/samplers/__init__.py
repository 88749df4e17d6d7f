"""The methods of inference, one file each, all behind one protocol; `SAMPLERS` has every one of them."""

from collections.abc import Callable

from .csvgd import csvgd
from .protocol import Method, Sampler
from .svgd import svgd

SAMPLERS: dict[str, Callable[..., Method]] = {"svgd": svgd, "csvgd": csvgd}

__all__ = ["SAMPLERS", "Method", "Sampler", "csvgd", "svgd"]
