"""What a first config may assume of a model and a recording: which column is which, how noisy it is, how many windows
it divides into, and which numbers of the model are in doubt.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from jaxtyping import Bool, Float

from plausim.mechanics.model import Model
from plausim.parameters import NOT_BELOW_0
from plausim.paths import Path
from plausim.recordings import Recording, Table, channels
from plausim.recordings.record import blocks
from plausim.recordings.tables import TIMES

POSITION = ("", "position", "pos", "angle", "q")  # how columns call where a joint is, beside its name
VELOCITY = ("velocity", "vel", "rate", "speed", "dq", "qd", "qvel")
CLOCKS = ("timestamp", "stamp", "seconds", "sec", "secs", "times")
WINDOWS = 10
SHORTEST = 5  # steps of a window
ACTIVE = 12  # numbers in doubt at first: more than a recording can usually tell
ORDER = 4  # of the differences that show noise: smooth motion leaves little in them
FLOOR = 0.01  # of a channel's spread: no simulation is closer to a real machine


def same(one: str, other: str) -> bool:
    """Whether two names are one, but for case and punctuation."""
    bare = lambda name: re.sub(r"[^a-z0-9]", "", name.lower())  # noqa: E731
    return bare(one) == bare(other) != ""


def called(model: Model) -> dict[str, list[str]]:
    """For each channel, what its column may be called: the channel's own name first."""
    found = {channel: [channel] for channel in channels(model)}
    for sensor, place in blocks(model):
        joint = model.joints.name[sensor.element] if sensor.kind in ("jointpos", "jointvel") else None
        for also in {"jointpos": POSITION, "jointvel": VELOCITY}.get(sensor.kind, ()) if joint else ():
            found[channels(model)[place.start]] += [f"{joint}{also}", f"{also}{joint}"]
    return found


def matched(wanted: Mapping[str, Sequence[str]], there: Sequence[str]) -> dict[str, str]:
    """For each name the column that has it; none, where two columns might be meant."""
    found: dict[str, str] = {}
    tests: list[Callable[[str, str], bool]] = [str.__eq__, same]
    for test in tests:
        for rank in range(max(map(len, wanted.values()), default=0)):
            for name, names in wanted.items():
                free = [c for c in there if c not in found.values() and rank < len(names) and test(names[rank], c)]
                if name not in found and len(free) == 1:
                    found[name] = free[0]
    return found


def clock(there: Iterable[str]) -> str | None:
    """The column of the time, if it is not simply called so."""
    there = list(there)
    if any(name in TIMES for name in there):
        return None
    near = [c for c in there if any(same(c, name) for name in (*TIMES, *CLOCKS)) or c.lower().startswith("time")]
    return near[0] if near else None


def wrapped(model: Model, table: Table, columns: Mapping[str, str]) -> list[str]:
    """The channels of hinges whose angles jump by full turns."""
    found = []
    for sensor, place in blocks(model):
        channel = channels(model)[place.start]
        if sensor.kind == "jointpos" and model.joints.kind[sensor.element] == "hinge" and channel in columns:
            jumps = np.abs(np.diff(table.columns[columns[channel]]))
            if np.any(np.abs(jumps - 2.0 * np.pi) < 1.0):
                found.append(channel)
    return found


def noise(recording: Recording) -> dict[str, float]:
    """For each channel that was measured, how much its samples jump: but for noise, a motion is smooth."""
    columns = zip(recording.channels, recording.observed.T, recording.known.T, strict=True)
    return {name: rounded(jitter(values, known)) for name, values, known in columns if known.any()}


def jitter(values: Float[np.ndarray, " samples"], known: Bool[np.ndarray, " samples"]) -> float:
    """From the differences of a high order, whose variance is that of the noise times a binomial coefficient."""
    measured = values[known]
    floor = FLOOR * float(np.std(measured)) or FLOOR
    if len(measured) <= ORDER:
        return floor
    differences = np.diff(measured, n=ORDER)
    usual = float(np.median(np.abs(differences))) / 0.6745  # of a normal density; a few kinks change little
    return max(usual / np.sqrt(70.0), floor)  # 70: 8 over 4


def rounded(value: float) -> float:
    return float(f"{value:.2g}")


def windows(steps: int) -> tuple[int, int]:
    """How many windows, and how many of the steps they are made of: as near to 10 as a divisor is."""
    fitting = [w for w in range(1, steps + 1) if steps % w == 0 and steps // w >= SHORTEST]
    near = min(fitting, key=lambda w: abs(w - WINDOWS), default=1)
    if near >= WINDOWS // 2 or steps < WINDOWS * SHORTEST:
        return near, steps
    return WINDOWS, steps - steps % WINDOWS


def in_doubt(known: Mapping[str, Path], model: Model) -> list[str]:
    """A sensible beginning: masses, dampings and frictions that are there."""
    fields = ("mass", "damping", "frictionloss", "friction")
    present = {n: n.rpartition(".")[2] for n, p in known.items() if p.kind != "world" and float(p.read(model)) > 0.0}
    ranked = sorted((n for n, f in present.items() if f in fields), key=lambda n: fields.index(present[n]))
    return ranked[:ACTIVE]


def sensible(path: Path, model: Model) -> bool:
    """Whether anyone would begin with it: not with the ten numbers of `cholesky`, with products of inertia that are 0,
    or with the step.
    """
    product = path.name.rpartition(".")[2] in ("xy", "xz", "yz") and ".inertia." in path.name
    return path.ten is None and path.name != "timestep" and not (product and float(path.read(model)) == 0.0)


def limits(path: Path, model: Model) -> tuple[float, float, bool]:
    """About the present value, and whether they are on a logarithmic scale."""
    value, field = float(path.read(model)), path.name.rpartition(".")[2]
    if value == 0.0:
        never = any(field in fields for fields in NOT_BELOW_0.values())
        return (0.0 if never else -0.1), 0.1, False
    if field in ("damping", "frictionloss", "stiffness", "armature") and value > 0:
        return value / 10.0, value * 10.0, True
    return min(value / 2.0, value * 2.0), max(value / 2.0, value * 2.0), False
