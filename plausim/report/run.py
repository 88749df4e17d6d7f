"""All figures of a run, out of its posterior."""

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from plausim.report.convergence import Series, draw_convergence
from plausim.report.density import draw_density
from plausim.report.pairs import draw_pairs
from plausim.report.sheet import draw_sheet
from plausim.report.style import label
from plausim.results import Posterior, Predictions

MOST_PAIRS = 8  # parameters whose pairs are drawn
MOST_RECORDINGS = 4
MOST_CHANNELS = 6
NUMBERS = {  # of each iteration, what is drawn
    "logdensity": "log-likelihood, mean",
    "best": "log-likelihood, best",
    "gap": "gaps between windows (rms)",
    "outside": "beyond the limits",
    "bandwidth": "bandwidth",
    "lost": "lost particles",
}


def draw_run(posterior: Posterior, channel_units: Mapping[str, str] = MappingProxyType({})) -> Figure:
    """A sheet: pairs, predictions over each recording, the numbers of the iterations, the parameters on the way."""
    pictures = {"What the parameters may be": pairs(posterior)}
    seen = posterior.predictions
    if seen is not None:
        for i, name in enumerate(seen.recordings[:MOST_RECORDINGS]):
            pictures[f"Predicted motion: {name}"] = prediction(seen, i, channel_units)
    pictures["Over the iterations"] = convergence(posterior)
    pictures["Parameters on their way: mean and range"] = trail(posterior)
    return draw_sheet(list(pictures.values()), list(pictures))


def pairs(posterior: Posterior) -> Figure:
    first = slice(MOST_PAIRS)
    return draw_pairs(
        posterior.values[:, first],
        posterior.names[first],
        posterior.units[first],
        posterior.limits[first],
        prior=posterior.trail[0][:, first] if len(posterior.trail) else None,
    )


def prediction(seen: Predictions, recording: int, channel_units: Mapping[str, str]) -> Figure:
    """Channels that were measured."""
    shown = [c for c in range(len(seen.channels)) if seen.known[recording, :, c].any()][:MOST_CHANNELS]
    return draw_density(
        seen.time,
        {"": seen.predicted[:, recording][..., shown]},
        seen.observed[recording][:, shown],
        [seen.channels[c] for c in shown],
        [channel_units.get(seen.channels[c], "") for c in shown],
        seen.known[recording][:, shown],
    )


def convergence(posterior: Posterior) -> Figure:
    method = str(posterior.attributes.get("method", ""))
    there = {name: posterior.history[name] for name in NUMBERS if np.any(posterior.history.get(name, 0.0))}
    return draw_convergence(
        [
            Series(method, NUMBERS[name], np.arange(1.0, len(values) + 1), drawable(name, values))
            for name, values in there.items()
        ]
    )


def drawable(name: str, values: Float[np.ndarray, " iterations"]) -> Float[np.ndarray, " iterations"]:
    """A scale over decades has no 0: where nothing is beyond the limits, there is a gap."""
    return np.where(values > 0, values, np.nan) if name == "outside" else values


def trail(posterior: Posterior) -> Figure:
    method, at = str(posterior.attributes.get("method", "")), np.array(posterior.stages, float)
    titles = [label(*pair) for pair in zip(posterior.names, posterior.units, strict=True)]
    return draw_convergence(
        [Series(method, title, at, posterior.trail[..., i].T) for i, title in enumerate(titles[:MOST_PAIRS])]
    )
