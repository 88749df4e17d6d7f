"""From a config to what is to be run. What can be wrong only with the model or the data is found here, all at once."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from plausim import mechanics, recordings
from plausim.mechanics.model import Model
from plausim.parameters import Parameters, Values, choose, impossible, margins, parameter
from plausim.paths import changed, find, paths
from plausim.recordings import Recording, channels
from plausim.recordings.record import units
from plausim.samplers import SAMPLERS, Method
from plausim.shooting import Range, multiple, single
from plausim.systems import system
from plausim.target import Target

from . import schema
from .columns import as_written, fitting, needed
from .problems import Problems, key, raised


@dataclass(frozen=True)
class Setup:
    """A run that may begin: the arguments of `plausim.infer`, and the config that they come from."""

    target: Target
    method: Method
    particles: int
    iterations: int
    draws: int | None
    seed: int
    directory: Path
    config: schema.Config  # with whole paths
    hashes: dict[str, str]  # of the files that it depends on
    units: dict[str, str]  # of the model's channels


def absolute(config: schema.Config, file: Path) -> schema.Config:
    """The config of a file with whole paths: those in it are relative to where the file is."""
    base = file.absolute().parent
    builtin = config.model.file in mechanics.ROBOTS and not (base / config.model.file).exists()
    whole = lambda path: str((base / Path(path).expanduser()).resolve())  # noqa: E731
    return config.model_copy(
        update={
            "model": config.model if builtin else config.model.model_copy(update={"file": whole(config.model.file)}),
            "recording": [
                r.model_copy(update={"file": whole(r.file), "name": name})
                for r, name in zip(config.recording, _names(config.recording), strict=True)
            ],
            "output": schema.Output(directory=whole(config.output.directory or f"runs/{file.stem}")),
        }
    )


def _names(given: Sequence[schema.Recording]) -> list[str]:
    """Each recording is called as its file, unless it has a name; two of one file are counted."""
    names = [r.name or Path(r.file).name for r in given]
    return [f"{n} ({names[:i].count(n) + 1})" if names[:i].count(n) else n for i, n in enumerate(names)]


def build(config: schema.Config, where: str) -> Setup:
    """Read the files, and make the target; what is wrong with any of them is one error."""
    problems = Problems()
    for i, r in enumerate(config.recording):
        if not Path(r.file).is_file():
            problems.append(f"recording {i + 1}.file: there is no file {r.file}")
    model = read_model(config.model, problems)
    if model is None:
        raise raised(where, problems)
    with jax.enable_x64(True):
        chosen = choose_all(config, model, problems)
        noise = levels(config, model, problems)
        measured = read_recordings(config, model, problems)
        s = config.sampler
        method = SAMPLERS[s.method](**s.settings)
        if not problems and chosen is not None:
            with problems.at("likelihood"):
                target = make_target(config, chosen, measured, noise)
                with problems.at("sampler.method"):
                    method.make(target, s.iterations)  # it may not know what to do with such a target
    if problems:
        raise raised(where, problems)
    return Setup(
        target, method, s.particles, s.iterations, s.draws, s.seed, Path(str(config.output.directory)), config,
        hashes(config), dict(zip(channels(model), units(model), strict=True)),
    )  # fmt: skip


def read_model(given: schema.Model, problems: Problems) -> Model | None:
    """The robot, with the changes that the config makes to it."""
    found = None
    with problems.at("model.file"):
        if given.file in mechanics.ROBOTS:
            found = mechanics.robot(given.file)
        elif not Path(given.file).is_file():
            raise ValueError(f"there is no file {given.file}; models that come along are {', '.join(mechanics.ROBOTS)}")
        else:
            found = mechanics.load(given.file, ignore=given.ignore)
    if found is None:
        return None
    known = paths(found)
    for path, value in given.set.items():
        with problems.at(key(("model", "set", path))):
            find(known, path)
            found = changed(found, {path: value})
    if given.timestep is not None:
        found = replace(found, timestep=np.array(given.timestep))
    if given.set and (wrong := impossible(found)):
        problems.append(f"model.set: such a robot cannot exist: {'; '.join(wrong)}")
    if given.integrator is not None:
        found = replace(found, integrator=given.integrator)
    if not found.sensors:
        problems.append(
            f"model.file: {given.file} has no sensors, so nothing of it can be compared with a recording; add some to "
            'it, such as <sensor><jointpos name="angle" joint="elbow"/></sensor>'
        )
    return found


def choose_all(config: schema.Config, model: Model, problems: Problems) -> Parameters | None:
    """The numbers in doubt."""
    known, before = paths(model), len(problems)
    for name, limits in config.parameters.items():
        for path in (name, *limits.tied):
            with problems.at(key(("parameters", name))):
                path = find(known, path).name
                below = [end for end in (limits.low, limits.high) if _below_zero(model, path, end)]
                if below:
                    raise ValueError(f"{path} = {below[0]:g} is within the limits, but it cannot be below 0")
    if len(problems) == before:
        with problems.at("parameters"):
            return choose(
                model, [parameter(n, p.low, p.high, *p.tied, log=p.log) for n, p in config.parameters.items()]
            )
    return None


def _below_zero(model: Model, path: str, value: float) -> bool:
    """Whether the number itself must not be negative, and would be."""
    return value < 0 and path in margins(model) and float(margins(changed(model, {path: value}))[path]) < 0


def levels(config: schema.Config, model: Model, problems: Problems) -> dict[str, float | Range]:
    """The noise of every channel; one that was not measured takes part in nothing, and may lack it."""
    own = channels(model)
    for name in config.noise:
        if name not in own:
            with problems.at(key(("noise", name))):
                raise ValueError(f"the model has no such channel; {recordings.tables.advice(name, own)}")
    unseen = [c for c in own if config.columns.sensors.get(c) is False]
    missing = [c for c in own if c not in config.noise and c not in unseen]
    if missing:
        problems.append(
            f"noise: there is none for {', '.join(missing)}; give each channel its standard deviation, or low and high"
        )
    found: dict[str, float | Range] = dict.fromkeys(unseen, 1.0)
    for name, level in config.noise.items():
        known = level.sd is not None
        found[name] = float(level.sd or 0) if known else Range(float(level.low or 0), float(level.high or 0))
    return found


def read_recordings(config: schema.Config, model: Model, problems: Problems) -> list[Recording]:
    """All recordings, if nothing is wrong with any of them."""
    if not fitting(config.columns, model, problems):
        return []
    found = []
    for i, r in enumerate(config.recording):
        if Path(r.file).is_file():
            with problems.at(f"recording {i + 1}"), as_written():
                found.append(read_recording(r, config.columns, model))
    if len(found) == len(config.recording):
        _divide(config, found, problems)
    return found


def read_recording(given: schema.Recording, columns: schema.Columns, model: Model) -> Recording:
    table = recordings.read(
        given.file, needed(given, columns, model), time=given.time, rate=given.rate, missing=columns.missing
    )
    if given.seconds is not None:
        table = recordings.between(table, *given.seconds)
    found = recordings.recording(
        model,
        table,
        sensors={channel: column or None for channel, column in columns.sensors.items()},
        controls=columns.controls,
        unwrap=columns.unwrap,
        velocities=columns.velocities,
        smooth=columns.smooth,
        start=columns.states,
        guess=None if columns.guess is None else np.array(columns.guess),
        how=columns.resample,
        gap=columns.gap,
        name=given.name,
    )
    return found if given.steps is None else recordings.cut(found, *given.steps)


def _divide(config: schema.Config, found: Sequence[Recording], problems: Problems) -> None:
    """Recordings are of one length, which the windows divide."""
    lengths = {r.name: r.steps for r in found}
    steps = min(lengths.values())
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name}: {count}" for name, count in lengths.items())
        problems.append(
            f"recording: they differ in length (steps of {listed}); write steps = [0, {steps}] below each [[recording]]"
        )
    windows = config.likelihood.windows
    if config.likelihood.shooting == "multiple" and steps % windows:
        near = sorted((d for d in range(1, steps + 1) if steps % d == 0), key=lambda d: abs(d - windows))[:3]
        other = f", or write steps = [0, {steps - steps % windows}] below each [[recording]]" if windows < steps else ""
        problems.append(
            f"likelihood.windows = {windows}: {steps} steps do not divide into that many; take one of "
            f"{', '.join(map(str, sorted(near)))}{other}"
        )


def make_target(
    config: schema.Config, chosen: Parameters, measured: Sequence[Recording], noise: dict[str, float | Range]
) -> Target:
    likelihood = config.likelihood
    common: dict[str, Any] = {
        "combine": likelihood.combine, "student": likelihood.student, "first": likelihood.first,
        "prior": prior(list(config.parameters.values())),
    }  # fmt: skip
    if likelihood.shooting == "single":
        return single(system(chosen), measured, noise, **common)
    common |= {"windows": likelihood.windows, "defect": likelihood.defect, "defect_sigma": likelihood.defect_sigma}
    return multiple(system(chosen), measured, noise, **common)


def prior(limits: Sequence[schema.Limits]) -> Callable[[Values], jax.Array] | None:
    """Normal densities of those parameters that have a mean and a standard deviation.

    Where the sampler's scale is logarithmic, the density of the logarithm is that of the value, times the value.
    """
    rows = [i for i, p in enumerate(limits) if p.prior is not None]
    if not rows:
        return None
    means, sds = np.array([(p.prior.mean, p.prior.sd) for p in limits if p.prior is not None]).T
    logs = [i for i in rows if limits[i].log]

    def logdensity(values: Values) -> jax.Array:
        mean, sd = jnp.asarray(means, values.dtype), jnp.asarray(sds, values.dtype)
        away = (values[np.array(rows)] - mean) / sd
        normal = -0.5 * jnp.sum(away * away) - jnp.sum(jnp.log(sd)) - 0.5 * len(rows) * float(np.log(2.0 * np.pi))
        return normal + (jnp.sum(jnp.log(values[np.array(logs)])) if logs else jnp.zeros_like(normal))

    return logdensity


def hashes(config: schema.Config) -> dict[str, str]:
    """SHA-256 of the files that a run's numbers depend on."""
    files = {"model": config.model.file} | {f"recording {i + 1}": r.file for i, r in enumerate(config.recording)}
    return {what: digest(file) for what, file in files.items() if Path(file).is_file()}


def digest(file: str | Path) -> str:
    with open(file, "rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
