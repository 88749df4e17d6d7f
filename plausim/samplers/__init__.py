"""The methods of inference, one file each, all behind one protocol; `SAMPLERS` has every one of them."""

from collections.abc import Callable

from .bayessim import bayessim
from .cem import cem
from .csvgd import csvgd
from .emcee import emcee
from .nuts import nuts
from .protocol import Method, Sampler
from .sgld import sgld
from .svgd import svgd

SAMPLERS: dict[str, Callable[..., Method]] = {
    "svgd": svgd, "csvgd": csvgd, "emcee": emcee, "cem": cem, "sgld": sgld, "nuts": nuts,
    "bayessim": bayessim,
}  # fmt: skip

__all__ = ["SAMPLERS", "Method", "Sampler", "bayessim", "cem", "csvgd", "emcee", "nuts", "sgld", "svgd"]
