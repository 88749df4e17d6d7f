"""`plausim show` and `plausim models`: what a run found."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from .saying import console, double_precision, told

if TYPE_CHECKING:
    from plausim.results import Posterior

CROWDED = 0.25  # of the draws: so many at a limit mean that the limit is the answer
NEAR = 0.01  # of the limits' distance: what is at one


def show(directory: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a run.")]) -> None:
    """Print what a run found: the parameters, how well they fit, and where the files are."""
    from plausim.config import open_run

    with told():
        answer(open_run(directory), directory)


def models(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a run that has ended.")],
    count: Annotated[int, typer.Option("-n", "--count", min=1, max=100_000, help="How many.")] = 20,
    out: Annotated[Path | None, typer.Option(help="Folder for them; DIR/models, if not said.")] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Of the draw.")] = 0,
) -> None:
    """Draw simulators from the posterior, and save them as MJCF files."""
    from plausim.config import open_run

    folder = out or directory / "models"
    double_precision()
    with told():
        posterior = open_run(directory)
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise ValueError(f"{folder} is there and not empty; name a new folder with --out.")
        posterior.models(count, folder, seed)
    print(f"{count} models: {folder}")


def answer(posterior: "Posterior", folder: Path) -> None:
    """The posterior in a table, what it is worth, and the files."""
    found = table(posterior)
    if console.measure(found, options=console.options.update(max_width=10_000)).maximum <= console.width:
        console.print(found)
    else:
        for line in listed(posterior):
            console.print(line, soft_wrap=True, markup=False)
    for line in (*worth(posterior), *complaints(posterior), *files(folder)):
        console.print(line, soft_wrap=True, markup=False)


def table(posterior: "Posterior") -> Table:
    best = posterior.best()
    found = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("parameter", "mean", "sd", "5 %", "median", "95 %", "best", "limits", "unit"):
        found.add_column(column, justify="left" if column in ("parameter", "unit") else "right", no_wrap=True)
    for row in posterior.summary():
        numbers = [row[c] for c in ("mean", "sd", "5 %", "median", "95 %")]
        ends = f"{row['lower limit']:.4g} to {row['upper limit']:.4g}"
        found.add_row(row["parameter"], *(f"{x:.4g}" for x in (*numbers, best[row["parameter"]])), ends, row["unit"])
    return found


def listed(posterior: "Posterior") -> Iterator[str]:
    """What the table says, for a terminal that is too narrow for it."""
    best = posterior.best()
    for row in posterior.summary():
        name = row["parameter"]
        yield f"{name}: {row['mean']:.4g} \N{PLUS-MINUS SIGN} {row['sd']:.4g} {row['unit']}".rstrip()
        yield f"  90 % from {row['5 %']:.4g} to {row['95 %']:.4g}, median {row['median']:.4g}, best {best[name]:.4g}"
        yield f"  limits {row['lower limit']:.4g} to {row['upper limit']:.4g}"


def worth(posterior: "Posterior") -> Iterator[str]:
    """How the draws came about, and how well they fit."""
    import numpy as np

    about = posterior.attributes
    pace = f" in {about['seconds']:.1f} s" if "seconds" in about else ""
    yield (
        f"{about.get('method', '?')}: {about.get('particles', len(posterior.values)):,} particles, "
        f"{about.get('iterations', 0):,} iterations{pace}, seed {about.get('seed', '?')}"
    )
    yield f"log-likelihood: mean {np.mean(posterior.logdensity):,.1f}, best {np.max(posterior.logdensity):,.1f}"
    if np.any(posterior.gaps):
        yield (
            f"gaps between windows, of the states' spread: median {np.median(posterior.gaps):.1e}, "
            f"largest {np.max(posterior.gaps):.1e}"
        )
    if posterior.predictions is not None:
        yield f"misfit of whole simulations (rms): {', '.join(misfits(posterior))}"


def misfits(posterior: "Posterior") -> Iterator[str]:
    """Of each channel, how far a simulation from the first state typically strays from the recordings."""
    import numpy as np

    seen = posterior.predictions
    assert seen is not None
    for c, channel in enumerate(seen.channels):
        known = seen.known[..., c]
        if known.any():
            away = (seen.predicted[..., c] - seen.observed[..., c])[:, known]
            yield f"{channel} {np.median(np.sqrt(np.mean(away**2, axis=1))):.3g}"


def complaints(posterior: "Posterior") -> Iterator[str]:
    """What a careful reader would want to know before using the numbers."""
    import numpy as np

    low, high = posterior.limits.T
    for i, name in enumerate(posterior.names):
        for end, which in ((low[i], "lower"), (high[i], "upper")):
            share = np.mean(np.abs(posterior.values[:, i] - end) <= NEAR * (high[i] - low[i]))
            if share >= CROWDED:
                yield f"note: {share:.0%} of the draws of {name} are at its {which} limit, {end:.4g}; is it right?"
    lost = posterior.history.get("lost")
    if lost is not None and lost.sum():
        yield f"note: {lost.sum():,.0f} times a particle was lost where the simulation is not finite, and set anew"
    if not np.all(np.isfinite(posterior.logdensity)):
        yield f"note: the log-likelihood of {np.sum(~np.isfinite(posterior.logdensity))} draws is not finite"


def files(folder: Path) -> Iterator[str]:
    from plausim.config import FIGURES
    from plausim.run import FILE

    for what, name in (("posterior", FILE), ("figures", FIGURES)):
        if (folder / name).is_file():
            yield f"{what}: {folder / name}"
