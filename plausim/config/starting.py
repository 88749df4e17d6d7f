"""A config to start from, out of a model and its recordings: what matches is filled in, what does not is said."""

import json
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from plausim import mechanics
from plausim.mechanics.model import Model
from plausim.paths import Path as Number
from plausim.paths import paths
from plausim.recordings import channels
from plausim.recordings.tables import listed
from plausim.samplers import SAMPLERS

from . import guessing, schema
from .building import read_model
from .looking import Seen, look
from .meanings import KEYS, of_settings
from .problems import Problems, raised
from .reading import parse

LONG = 150  # numbers of a model, from which on only the usual ones are listed
USUAL = {"mass", "damping", "frictionloss", "friction", "armature", "com", "inertia", "kp", "kv", "gear", "stiffness"}
JUMPS = "a guess: how much samples jump, at least 1 % of their spread"
COLUMN = 40  # where comments begin


class Start(NamedTuple):
    text: str  # of the config
    todo: list[str]  # what only the user knows


def starting(
    model: str, data: Sequence[str | os.PathLike], out: str | os.PathLike = "config.toml", ignore: Sequence[str] = ()
) -> Start:
    """A commented config for a model and its recordings, in text.

    Args:
        model: an MJCF or URDF file, or the name of a model that comes along.
        data: the files of the recordings, with the same columns.
        out: where the config is going to be: paths in it are relative to that.
        ignore: groups of the model's elements that are dropped.

    Example:
        >>> import numpy as np, tempfile
        >>> from plausim.config.starting import starting
        >>> motion = np.linspace([0, 1, 0], [0.2, 0, -5], 41)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     np.savetxt(f"{folder}/log.csv", motion, "%g", ",", header="time,angle,rate", comments="")
        ...     starting("pendulum", [f"{folder}/log.csv"]).todo
        ['columns.controls: log.csv has no columns for motor; taken as 0']

    """
    if not data:
        raise ValueError("there is no recording; name at least one file.")
    base, builtin = Path(out).absolute().parent, model in mechanics.ROBOTS and not Path(model).exists()
    within = lambda file: os.path.relpath(Path(file).absolute(), base)  # noqa: E731
    problems = Problems()
    given = schema.Model(file=model, ignore=tuple(ignore))
    robot = read_model(given, problems)
    for file in data:
        if not Path(file).is_file():
            problems.append(f"there is no recording {file}")
    if problems or robot is None:
        raise raised("no config was written", problems)
    seen = look(robot, Path(data[0]))
    sections = [
        _head(Path(out).name), _model(model if builtin else within(model), ignore, robot),
        *(_recording(within(file), seen, i == 0) for i, file in enumerate(data)), _columns(robot, seen),
        _parameters(robot, model), _noise(robot, seen), _likelihood(seen), _sampler(), _output(Path(out).stem),
    ]  # fmt: skip
    text = "\n\n".join("\n".join(section) for section in sections) + "\n"
    parse(tomllib.loads(text), str(out))
    return Start(text, seen.todo)


# ---- the sections of the file


def line(key: str, value: str, comment: str = "", active: bool = True) -> str:
    written = f"{'' if active else '# '}{key} = {value}"
    return f"{written:<{COLUMN}} # {comment}" if comment else written


def name(key: str) -> str:
    return key if key.replace("_", "").isalnum() and key.isascii() else json.dumps(key)


def number(value: float) -> str:
    found = f"{value:.4g}"
    return found if any(c in found for c in ".en") else f"{found}.0"


def _head(file: str) -> list[str]:
    return [
        "# What is to be inferred, from what, and how; `plausim run " + file + "` does it.",
        "# Paths are relative to this file. Lines that begin with # are not read: they are defaults and suggestions.",
    ]


def _model(file: str, ignore: Sequence[str], model: Model) -> list[str]:
    found = ["[model]", line("file", json.dumps(file))]
    if ignore:
        found.append(line("ignore", json.dumps(list(ignore)), KEYS["model.ignore"]))
    return [
        *found,
        line("timestep", number(float(model.timestep)), KEYS["model.timestep"], active=False),
        line("integrator", json.dumps(model.integrator), KEYS["model.integrator"], active=False),
    ]


def _recording(file: str, seen: Seen, first: bool) -> list[str]:
    found = ["[[recording]]", line("file", json.dumps(file))]
    if seen.time:
        found.append(line("time", json.dumps(seen.time), KEYS["recording.time"]))
    if seen.rate:
        found.append(line("rate", number(seen.rate), "FILL IN: rows a second; the file has no column of the time"))
    if seen.recording is None:
        return found
    steps = seen.recording.steps
    kept = guessing.windows(steps)[1]
    if kept < steps:
        found.append(line("steps", f"[0, {kept}]", f"of {steps}, as many as windows divide"))
    elif first:
        found.append(line("steps", f"[0, {steps}]", KEYS["recording.steps"], active=False))
    return found


def _columns(model: Model, seen: Seen) -> list[str]:
    c = seen.columns
    found = ["[columns]"]
    if c.missing == "mask":
        found.append(line("missing", '"mask"', "some cells are empty: they count as not measured"))
    if c.velocities == "savgol":
        found.append(line("velocities", '"savgol"', "velocities without a column are slopes of the positions"))
        found.append(line("smooth", str(list(c.smooth)), KEYS["columns.smooth"], active=False))
    if c.unwrap:
        found.append(line("unwrap", json.dumps(list(c.unwrap)), KEYS["columns.unwrap"]))
    found += ["", f"[columns.sensors] # the file has {listed(seen.names, 30)}"]
    for channel in channels(model):
        if channel in c.sensors:
            column = c.sensors[channel]
            comment = "" if column else "FILL IN: the name of its column, if it was measured"
            found.append(line(name(channel), json.dumps(column), comment))
    if model.actuators.name:
        found += ["", "[columns.controls]"]
        for actuator in model.actuators.name:
            column = c.controls[actuator]
            comment = "" if isinstance(column, str) else "FILL IN: its column, or the number that it was held at"
            found.append(line(name(actuator), json.dumps(column), comment))
    return found


def _parameters(model: Model, source: str) -> list[str]:
    known = paths(model)
    active = guessing.in_doubt(known, model) or [next(iter(known))]
    fitting = {n: p for n, p in known.items() if n in active or guessing.sensible(p, model)}
    few = len(fitting) <= LONG
    shown = {n: p for n, p in fitting.items() if few or n in active or USUAL & {*n.split(".")}}
    found = ["[parameters] # limits of what is in doubt; behind them, what the model has now",
             *(_limits(known[n], model, True) for n in active), "# further ones, to be taken in:"]  # fmt: skip
    found += [_limits(p, model, False) for n, p in shown.items() if n not in active]
    return [*found, f"# `plausim parameters {source}` lists {len(known) - len(shown)} more"]


def _limits(path: Number, model: Model, active: bool) -> str:
    low, high, log = guessing.limits(path, model)
    ends = f"[{number(low)}, {number(high)}]"
    value = f"{{ low = {number(low)}, high = {number(high)}, log = true }}" if log else ends
    return line(json.dumps(path.name), value, f"{float(path.read(model)):.4g} {path.unit}".rstrip(), active)


def _noise(model: Model, seen: Seen) -> list[str]:
    found = ["[noise] # of each channel the standard deviation; or { low = ..., high = ... } to infer it too"]
    unseen = {c for c, column in seen.columns.sensors.items() if not column}
    levels: Mapping[str, float] = {} if seen.recording is None else guessing.noise(seen.recording)
    for channel in channels(model):
        if channel in levels:
            found.append(
                line(
                    name(channel),
                    number(levels[channel]),
                    "a guess: how much samples jump, at least 1 % of their spread",
                )
            )
        else:
            some = len(unseen) < len(channels(model))
            found.append(line(name(channel), "0.01", "FILL IN", active=not (some and channel in unseen)))
    return found


def _likelihood(seen: Seen) -> list[str]:
    steps = None if seen.recording is None else seen.recording.steps
    count, kept = guessing.windows(steps) if steps else (guessing.WINDOWS, 0)
    comment = f"of {kept // count} steps each" if steps else "FILL IN: they must divide the recording's steps"
    plain = schema.Likelihood()
    return [
        "[likelihood]",
        line("shooting", json.dumps(plain.shooting), KEYS["likelihood.shooting"]),
        line("windows", str(count), comment),
        *(line(k, json.dumps(getattr(plain, k)), KEYS[f"likelihood.{k}"], active=False) for k in ("combine", "first")),
        line("student", "4.0", KEYS["likelihood.student"], active=False),
    ]


def _sampler() -> list[str]:
    return [
        "[sampler]",
        line("method", json.dumps(schema.METHOD), f"one of {', '.join(SAMPLERS)}"),
        *_sampler_numbers(),
        *_settings(),
    ]


def _sampler_numbers() -> Iterator[str]:
    plain = schema.Sampler()
    for key in ("particles", "iterations", "seed"):
        yield line(key, json.dumps(getattr(plain, key)), KEYS[f"sampler.{key}"])


def _settings() -> Iterator[str]:
    method = SAMPLERS[schema.METHOD]
    meanings = of_settings(method)
    for key, (_, default) in schema.settings_of(method).items():
        yield line(key, json.dumps(default), meanings.get(key, ""), active=False)


def _output(stem: str) -> list[str]:
    return ["[output]", line("directory", json.dumps(f"runs/{stem}"), KEYS["output.directory"], active=False)]
