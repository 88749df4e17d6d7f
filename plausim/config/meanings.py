"""What each key of a config means: a line for every one, for docs/configuration.md and for the configs that
`plausim init` writes. The settings of the samplers' methods are described where they are: by their functions.
"""

import inspect
import re
from collections.abc import Callable
from typing import Any

TABLES = {
    "model": "The robot. Short: `model = \"arm.xml\"`.",
    "recording": "A recording; one `[[recording]]` for each.",
    "columns": "Which columns of the recordings are what, and what is made of them.",
    "parameters": "What is in doubt: by path, limits. Short: `\"link2.mass\" = [0.05, 0.5]`. "
    "`plausim parameters MODEL` lists all paths.",
    "noise": "How far measurements stray: of each channel the standard deviation. Short: `angle1 = 0.01`. "
    "With low and high instead, it is inferred too.",
    "likelihood": "How a simulation is compared with a recording.",
    "sampler": "How the posterior is found.",
    "output": "Where the result goes.",
}  # fmt: skip

KEYS = {
    "model.file": "MJCF or URDF file, or the name of a model that comes along",
    "model.timestep": "seconds in a step, instead of the file's own",
    "model.integrator": "instead of the file's own",
    "model.ignore": "groups of elements that are dropped where they cannot be simulated, such as `tendon`",
    "model.set": "numbers of the model by path, in place of the file's own",
    "recording.file": ".csv, .npz or .parquet, with named columns",
    "recording.name": "what it is called; the file's name, if not said",
    "recording.time": "the column of the time in seconds; `time` or `t`, if not said",
    "recording.rate": "rows a second, if there is no such column",
    "recording.seconds": "the part to take, from and to, by the recording's own time",
    "recording.steps": "the part to take, from and to, in steps of the model from the start",
    "columns.sensors": "for each channel of the model its column, or `false` if it was not measured; a channel that is "
    "not named is in the column of its own name",
    "columns.controls": "for each actuator its column, or a number that it was held at",
    "columns.unwrap": "channels that are angles which jump by full turns",
    "columns.missing": "what to do about empty cells: `mask` counts them as not measured",
    "columns.velocities": "`savgol`: velocities of joints without a column are slopes of the positions, by the filter "
    "of Savitzky and Golay",
    "columns.smooth": "of that filter, the window in rows and the order",
    "columns.states": "where shooting may start: `given` by the sensors of joints and by columns `joint:NAME` and "
    "`jointvel:NAME`, or `estimated` from all sensors",
    "columns.guess": "a state near the first, where several would show the same",
    "columns.resample": "between rows, at the model's steps",
    "columns.gap": "seconds between rows over which nothing is interpolated; 2.5 usual intervals, if not said",
    "parameters.low": "the lower limit, in the number's own unit",
    "parameters.high": "the upper limit",
    "parameters.log": "whether the scale is logarithmic: for what is in doubt by orders of magnitude",
    "parameters.tied": "paths of further numbers that always have the same value",
    "parameters.prior": "`{ mean = 0.1, sd = 0.02 }`: a normal density, beside the limits",
    "noise.sd": "the standard deviation, in the channel's unit",
    "noise.low": "if it is to be inferred: the lower limit",
    "noise.high": "the upper one",
    "likelihood.shooting": "`multiple`: short windows whose start states are inferred too, `single`: one rollout",
    "likelihood.windows": "into how many windows each recording is cut; they divide its steps",
    "likelihood.defect": "how gaps between windows are measured: as they are, or the paper's squared norm",
    "likelihood.defect_sigma": "the standard deviation that the squared one is divided by",
    "likelihood.combine": "`product`: one machine made all recordings, `sum`: each may be another",
    "likelihood.student": "degrees of freedom of a Student density, where outliers are to be expected, such as 4",
    "likelihood.first": "the first state: `given` by the recording, or `inferred`",
    "sampler.method": "the method of inference",
    "sampler.particles": "how many simulations move at once; of bayessim, draws",
    "sampler.iterations": "how many steps they take; of bayessim, epochs",
    "sampler.draws": "how many draws the posterior has; as many as particles, if not said",
    "sampler.seed": "of all random numbers",
    "output.directory": "the run's folder; `runs/` and the config's name, if not said",
}  # fmt: skip


def of_settings(method: Callable[..., Any]) -> dict[str, str]:
    """What the arguments of a method's function mean, by its docstring."""
    text = inspect.cleandoc(method.__doc__ or "").partition("Args:\n")[2].partition("\n\n")[0]
    found = re.findall(r"^    (\w+): (.*(?:\n {8,}.*)*)", text, re.MULTILINE)
    return {name: " ".join(meaning.split()).rstrip(".") for name, meaning in found}
