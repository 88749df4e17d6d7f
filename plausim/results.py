"""What a run found: draws from the posterior, and how the sampler came to them; on disk, one file.

The file is netCDF in ArviZ's schema (`posterior`, `posterior_predictive`, `observed_data`, `sample_stats`), with two
groups of our own: `history`, a number for each iteration, and `trail`, the parameters on the way.
`xarray.open_datatree(file, engine="h5netcdf")` opens it, for ArviZ to go on with; so does `read`.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float

from plausim.writing import replacing

if TYPE_CHECKING:
    import xarray

SCHEMA = 1  # of the file: raised when what an older plausim wrote can no longer be read
QUANTILES = (0.05, 0.5, 0.95)


@dataclass(frozen=True)
class Predictions:
    """What the draws say would have been measured, beside what was."""

    recordings: tuple[str, ...]
    channels: tuple[str, ...]
    time: Float[np.ndarray, " steps"]  # s
    observed: Float[np.ndarray, "recordings steps channels"]
    known: Bool[np.ndarray, "recordings steps channels"]
    predicted: Float[np.ndarray, "draws recordings steps channels"]


@dataclass(frozen=True)
class Posterior:
    """Draws of the parameters, in their units."""

    names: tuple[str, ...]
    units: tuple[str, ...]
    limits: Float[np.ndarray, "parameters 2"]
    values: Float[np.ndarray, "draws parameters"]
    logdensity: Float[np.ndarray, " draws"]
    gaps: Float[np.ndarray, " draws"]  # the largest of each draw, where there are constraints
    history: dict[str, np.ndarray]  # a number for each iteration
    trail: Float[np.ndarray, "stages particles parameters"]  # the parameters on the way
    stages: tuple[int, ...]  # the iterations of the trail
    predictions: Predictions | None
    attributes: dict[str, Any] = field(default_factory=dict)  # sampler, settings, seed, versions, seconds
    model: Callable[[Any], Any] | None = field(default=None, repr=False, compare=False)

    def summary(self) -> list[dict[str, Any]]:
        """Each parameter's mean, standard deviation, median and 90 % interval."""
        low, middle, high = np.quantile(self.values, QUANTILES, axis=0)
        return [
            {"parameter": name, "unit": unit, "mean": float(np.mean(column)), "sd": float(np.std(column)),
             "5 %": float(low[i]), "median": float(middle[i]), "95 %": float(high[i]),
             "lower limit": float(self.limits[i, 0]), "upper limit": float(self.limits[i, 1])}
            for i, (name, unit, column) in enumerate(zip(self.names, self.units, self.values.T, strict=True))
        ]  # fmt: skip

    def best(self) -> dict[str, float]:
        """The draw with the highest density: one answer, where only one is wanted."""
        row = self.values[int(np.nanargmax(self.logdensity))]
        return dict(zip(self.names, row.tolist(), strict=True))

    def models(self, count: int, folder: str | os.PathLike | None = None, seed: int = 0) -> list[Any]:
        """So many simulators drawn from the posterior; with a folder, saved there as MJCF files, one for each."""
        if self.model is None:
            raise ValueError("this posterior is of no model of ours: there is nothing to make simulators from.")
        if count < 1:
            raise ValueError(f"{count} models were asked for; ask for at least 1.")
        import jax.numpy as jnp

        rng = np.random.default_rng(seed)
        rows = rng.choice(len(self.values), count, replace=count > len(self.values))
        models = [self.model(jnp.asarray(self.values[row])) for row in rows]
        if folder is not None:
            from plausim.mechanics import save

            place = Path(folder)
            place.mkdir(parents=True, exist_ok=True)
            for i, model in enumerate(models):
                save(model, place / f"model{i:0{len(str(count - 1))}d}.xml")
        return models


def as_tree(posterior: Posterior) -> "xarray.DataTree":
    """All of it in ArviZ's schema."""
    import xarray

    draws = {"chain": [0], "draw": np.arange(len(posterior.values))}
    groups = {
        "posterior": xarray.Dataset(
            {name: (("chain", "draw"), column[None], {"units": unit, "limits": limits.tolist()})
             for name, unit, limits, column in zip(posterior.names, posterior.units, posterior.limits,
                                                   posterior.values.T, strict=True)}, draws),
        "sample_stats": xarray.Dataset(
            {"lp": (("chain", "draw"), posterior.logdensity[None]), "gap": (("chain", "draw"), posterior.gaps[None])},
            draws),
        "history": xarray.Dataset({name: ("iteration", numbers) for name, numbers in posterior.history.items()}),
        "trail": xarray.Dataset(
            {"values": (("stage", "particle", "parameter"), posterior.trail)},
            {"stage": list(posterior.stages), "parameter": list(posterior.names)}),
    }  # fmt: skip
    seen = posterior.predictions
    if seen is not None:
        axes = {"recording": list(seen.recordings), "time": seen.time, "channel": list(seen.channels)}
        dims = ("recording", "time", "channel")
        observed = np.where(seen.known, seen.observed, np.nan)
        groups["posterior_predictive"] = xarray.Dataset(
            {"motion": (("chain", "draw", *dims), seen.predicted[None])}, {**draws, **axes}
        )
        groups["observed_data"] = xarray.Dataset({"motion": (dims, observed)}, axes)
    tree = xarray.DataTree.from_dict(groups)
    tree.attrs = {"plausim_schema": SCHEMA} | {k: _plain(v) for k, v in posterior.attributes.items()}
    return tree


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | float | str) else str(value)


def write(posterior: Posterior, path: str | os.PathLike) -> None:
    """Into one netCDF file, which is there whole or not at all."""
    whole = as_tree(posterior).to_netcdf(None, engine="h5netcdf")  # in memory: HDF5 itself crashes on a full disk
    with replacing(path) as temporary:
        temporary.write_bytes(whole)


def read(path: str | os.PathLike) -> Posterior:
    """The posterior in a file that `write` made; `models` needs the run's folder, see `plausim.config.load`."""
    import xarray

    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"there is no result {file}; the run may not have ended: `plausim resume` goes on.")
    try:
        with xarray.open_datatree(file, engine="h5netcdf") as tree:
            tree.load()
            groups = {name: node.to_dataset() for name, node in tree.children.items()}
    except (OSError, KeyError, RuntimeError, ValueError) as error:
        raise ValueError(
            f"{file} cannot be read ({error}); delete it, and `plausim resume {file.parent}` writes it again."
        ) from None
    schema = tree.attrs.get("plausim_schema")
    if schema != SCHEMA:
        raise ValueError(f"{file} has schema {schema}, this plausim reads {SCHEMA}; run the inference again.")
    posterior, stats, trail = groups["posterior"], groups["sample_stats"], groups["trail"]
    names = tuple(str(n) for n in trail["parameter"].values)
    return Posterior(
        names=names,
        units=tuple(posterior[n].attrs["units"] for n in names),
        limits=np.array([posterior[n].attrs["limits"] for n in names]).reshape(-1, 2),
        values=np.array([posterior[n].values[0] for n in names]).reshape(len(names), -1).T,
        logdensity=stats["lp"].values[0],
        gaps=stats["gap"].values[0],
        history={str(name): column.values for name, column in groups["history"].data_vars.items()},
        trail=trail["values"].values,
        stages=tuple(int(s) for s in trail["stage"].values),
        predictions=_predictions(groups),
        attributes={str(k): v for k, v in tree.attrs.items() if k != "plausim_schema"},
    )


def _predictions(groups: "dict[str, xarray.Dataset]") -> Predictions | None:
    if "observed_data" not in groups:
        return None
    observed = groups["observed_data"]["motion"]
    return Predictions(
        recordings=tuple(str(r) for r in observed["recording"].values),
        channels=tuple(str(c) for c in observed["channel"].values),
        time=observed["time"].values,
        observed=np.nan_to_num(observed.values),
        known=~np.isnan(observed.values),
        predicted=groups["posterior_predictive"]["motion"].values[0],
    )
