"""`plausim init`, `run` and `resume`: from a model and a recording to a posterior in a folder."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .answers import answer
from .robots import Ignore, Source
from .saying import double_precision, say, stoppable, told
from .watching import Note, heard, watched

if TYPE_CHECKING:
    from plausim.config import Setup
    from plausim.results import Posterior

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a run.")]
Seed = Annotated[int | None, typer.Option(min=0, max=2**32 - 1, help="Instead of the config's.")]


def init(
    model: Source,
    data: Annotated[list[str], typer.Argument(metavar="DATA", help="Recordings: .csv, .npz or .parquet files.")],
    out: Annotated[Path, typer.Option(help="The config to write.")] = Path("config.toml"),
    force: Annotated[bool, typer.Option("--force", help="Write over a config that is there.")] = False,
    ignore: Ignore = None,
) -> None:
    """Write a config to start from: for a model, and recordings of the real thing."""
    from plausim.config import load, starting

    with told(ignorable=True):
        if out.exists() and not force:
            raise ValueError(f"{out} is there already; name another file with --out, or write over it with --force.")
        if not out.parent.is_dir():
            raise ValueError(f"there is no folder {out.parent} for {out.name}; make it first: mkdir -p {out.parent}")
        found = starting(model, data, out, ignore or ())
        _write(found.text, out)
    print(f"wrote {out}")
    todo = found.todo or _problems(lambda: load(out))
    if todo:
        print("\n".join(["to be filled in, or looked at:", *(f"  - {what}" for what in todo)]))
    print(f"next: look it over, and `plausim run {out}`")


def _write(text: str, file: Path) -> None:
    """Whole or not at all: a config that is there stays till then."""
    from plausim.writing import replacing

    try:
        with replacing(file) as temporary:
            temporary.write_text(text)
    except OSError as error:
        raise OSError(f"cannot write {file} ({error.strerror or error}); name another file with --out.") from None


def _problems(load: Callable[[], object]) -> list[str]:
    """What stands in the way of running a config."""
    try:
        with heard(lambda line: None):
            load()
    except (ValueError, OSError) as error:
        return str(error).split("\n  - ")
    return []


def run(
    config: Annotated[Path, typer.Argument(metavar="CONFIG", help="What to infer: `plausim init` writes one.")],
    out: Annotated[Path | None, typer.Option(help="The run's folder, instead of the config's.")] = None,
    seed: Seed = None,
) -> None:
    """Infer what a config says; a run that was stopped goes on."""
    from plausim.config import claim, finished, load

    with told(), heard(lambda line: None):
        setup = load(config, out, seed)
        ended = finished(setup.directory)
        with claim(setup, config) as note:
            _go(setup, note, ended)


def resume(directory: Folder) -> None:
    """Go on with a run that was stopped."""
    from plausim.config import finished, journal, reopen

    with told(), heard(lambda line: None):
        setup = reopen(directory)
        with journal(directory) as note:
            _go(setup, note, finished(directory))


def _go(setup: "Setup", note: Note, ended: bool) -> None:
    """The inference, unless it has ended already; its figures, and its answer."""
    from plausim import config

    folder = setup.directory
    with stoppable(f"stopped at once; `plausim resume {folder}` goes on from the last checkpoint."):
        if ended:
            say(f"{folder} has ended already; this is what it found.")
        else:
            _noted(setup, note)
        posterior = config.open_run(folder)
        figures = folder / config.FIGURES
        if not (ended and figures.is_file()):
            _draw(posterior, setup.units, figures, note)
        answer(posterior, folder)


def _noted(setup: "Setup", note: Note) -> None:
    """The inference; why it ended early is in the log."""
    try:
        with heard(note):
            _infer(setup, note)
    except KeyboardInterrupt as stopped:
        note(str(stopped))
        raise
    except Exception as error:
        note(f"error: {error}")
        raise


def _infer(setup: "Setup", note: Note) -> None:
    from plausim.config import fingerprint
    from plausim.run import infer

    double_precision()
    s = setup.config.sampler
    note(f"{s.method}: {setup.particles:,} particles, {setup.iterations:,} iterations, seed {setup.seed}")
    say(f"{s.method} with {setup.particles:,} particles and {setup.iterations:,} iterations, into {setup.directory}")
    with watched(note) as tell:
        infer(
            setup.target, setup.method, particles=setup.particles, iterations=setup.iterations, draws=setup.draws,
            seed=setup.seed, directory=setup.directory, progress=tell, fingerprint=fingerprint(setup),
        )  # fmt: skip
    note("the result is written")


def _draw(posterior: "Posterior", units: Mapping[str, str], file: Path, note: Note) -> None:
    """A figure that cannot be drawn is no reason to lose the answer: it is said."""
    from plausim.report.run import draw_run
    from plausim.writing import replacing

    try:
        sheet = draw_run(posterior, units)
        with replacing(file) as temporary:
            sheet.savefig(temporary, format="png")
    except (OSError, ValueError) as error:
        text = f"the figures could not be drawn ({error}); `plausim resume {file.parent}` draws them again."
        note(text)
        say(f"warning: {text}")
