"""What a config may say: every table and key, its type, its limits and its default.

`Model`, `Recording`, `Columns`, ... are the tables of the file. The keys of [sampler] beside the common ones are those
of the method that it names: the arguments of that method's function are their names, types and defaults.
"""

import inspect
import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    create_model,
    field_validator,
    model_validator,
)

from plausim.mechanics.integrators import INTEGRATORS
from plausim.samplers import SAMPLERS
from plausim.shooting.targets import COMBINE, DEFECTS

METHOD = "csvgd"
LISTED = {"unwrap", "tied", "ignore"}  # keys of which one name may stand without brackets


def one_of(*known: str) -> AfterValidator:
    return AfterValidator(partial(_among, known))


def _among(known: tuple[str, ...], given: str) -> str:
    if given not in known:
        raise ValueError(f"may be {' or '.join(map(json.dumps, known))}")
    return given


def _column(given: Any) -> Any:
    if not (isinstance(given, str) or given is False):
        raise ValueError("should be the name of a column, or false if it was not measured")
    return given


def _control(given: Any) -> Any:
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        raise ValueError("should be the name of a column, or a number that it was held at")
    return given


Positive = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(ge=1)]
Numbers = dict[str, float]


class Part(BaseModel):
    """A table: no other keys, no number for a text or the other way round, no infinities."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _lists(cls, given: Any, info: Any) -> Any:
        """TOML has lists only; and a list of one name may be the name."""
        annotation = cls.model_fields[info.field_name].annotation
        if isinstance(given, list) and tuple in (get_origin(annotation), *map(get_origin, get_args(annotation))):
            return tuple(given)
        return (given,) if info.field_name in LISTED and isinstance(given, str) else given


class Model(Part):
    file: str
    timestep: Positive | None = None
    integrator: Annotated[str, one_of(*INTEGRATORS)] | None = None
    ignore: tuple[str, ...] = ()
    set: Numbers = {}


class Recording(Part):
    file: str
    name: str | None = None
    time: str | None = None
    rate: Positive | None = None
    seconds: tuple[float, float] | None = None
    steps: tuple[int, int] | None = None

    @model_validator(mode="after")
    def _time_or_rate(self) -> "Recording":
        if self.time is not None and self.rate is not None:
            raise ValueError("has both time and rate; give the column of the time, or rows a second")
        for name, ends in (("seconds", self.seconds), ("steps", self.steps)):
            if ends is not None and not ends[0] < ends[1]:
                raise ValueError(f"{name} goes from {ends[0]:g} to {ends[1]:g}; give the earlier one first")
        return self


class Columns(Part):
    sensors: dict[str, Annotated[Any, BeforeValidator(_column)]] = {}
    controls: dict[str, Annotated[Any, BeforeValidator(_control)]] = {}
    unwrap: tuple[str, ...] = ()
    missing: Annotated[str, one_of("error", "mask")] = "error"
    velocities: Annotated[str, one_of("given", "savgol")] = "given"
    smooth: tuple[Count, Count] = (15, 4)
    states: Annotated[str, one_of("given", "estimated")] = "given"
    guess: tuple[float, ...] | None = None
    resample: Annotated[str, one_of("linear", "cubic")] = "linear"
    gap: Positive | None = None


class Prior(Part):
    mean: float
    sd: Positive


class Limits(Part):
    low: float
    high: float
    log: bool = False
    tied: tuple[str, ...] = ()
    prior: Prior | None = None

    @model_validator(mode="after")
    def _in_order(self) -> "Limits":
        if self.low >= self.high:
            raise ValueError(f"goes from {self.low:g} to {self.high:g}; low must be below high")
        if self.log and self.low <= 0:
            raise ValueError(f"is on a logarithmic scale from {self.low:g}; low must be above 0 then")
        return self


class Level(Part):
    """The noise of a channel: known (sd), or to be found between two ends."""

    sd: Positive | None = None
    low: Positive | None = None
    high: Positive | None = None

    @model_validator(mode="after")
    def _either(self) -> "Level":
        if (self.sd is None) == (self.low is None) or (self.low is None) != (self.high is None):
            raise ValueError("should be a number, or both low and high if it is to be found")
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise ValueError(f"goes from {self.low:g} to {self.high:g}; low must be below high")
        return self


class Likelihood(Part):
    shooting: Annotated[str, one_of("multiple", "single")] = "multiple"
    windows: Count = 10
    defect: Annotated[str, one_of(*DEFECTS)] = "gap"
    defect_sigma: Positive = 1e-2
    combine: Annotated[str, one_of(*COMBINE)] = "product"
    student: Positive | None = None
    first: Annotated[str, one_of("given", "inferred")] = "given"

    @model_validator(mode="after")
    def _windows_of_multiple(self) -> "Likelihood":
        of_multiple = sorted({"windows", "defect", "defect_sigma"} & self.model_fields_set)
        if self.shooting == "single" and of_multiple:
            raise ValueError(f"has {' and '.join(of_multiple)}, which single shooting knows not; take that out")
        return self


class Sampler(Part):
    method: Annotated[str, one_of(*SAMPLERS)] = METHOD
    particles: Count = 100
    iterations: Count = 2000
    draws: Count | None = None
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0

    @model_validator(mode="after")
    def _accepted(self) -> "Sampler":
        """What the method itself has to say of its settings."""
        SAMPLERS[self.method](**self.settings)
        return self

    @property
    def settings(self) -> dict[str, Any]:
        return {name: value for name, value in self if name not in Sampler.model_fields}


class Output(Part):
    directory: str | None = None


class Config(Part):
    model: Model
    recording: Annotated[list[Recording], Field(min_length=1)]
    columns: Columns = Columns()
    parameters: Annotated[dict[str, Limits], Field(min_length=1)]
    noise: Annotated[dict[str, Level], Field(min_length=1)]
    likelihood: Likelihood = Likelihood()
    sampler: Sampler
    output: Output = Output()


def config_for(method: str) -> type[Config]:
    """The schema where [sampler] takes the settings of a method; of one that is not there, any."""
    if method in SAMPLERS:
        sampler: Any = create_model("Sampler", __base__=Sampler, **settings_of(SAMPLERS[method]))
    else:
        sampler = type("Sampler", (Sampler,), {"model_config": ConfigDict(extra="ignore")})
    defaults: Any = {"sampler": (sampler, Field(default_factory=sampler))}
    return create_model("Config", __base__=Config, **defaults)


def settings_of(method: Callable[..., Any]) -> Mapping[str, Any]:
    """The arguments of a method's function, as fields."""
    hints = get_type_hints(method)
    return {
        name: (hints[name], ... if argument.default is inspect.Parameter.empty else argument.default)
        for name, argument in inspect.signature(method).parameters.items()
    }
