"""What is wrong with a config: one line for each thing, with its key, its value and what is allowed; all at once."""

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeGuard, get_args

from pydantic import BaseModel, ValidationError

LONG = 60  # letters of a value that are shown
EXAMPLES = {
    "model": 'model = "arm.xml"',
    "recording": '[[recording]] and below it file = "log.csv"',
    "parameters": '[parameters] and below it "link2.mass" = [0.05, 0.5]',
    "noise": "[noise] and below it angle1 = 0.01",
    "file": 'file = "log.csv"',
    "low": "low = 0.05",
    "high": "high = 0.5",
    "mean": "mean = 0.1",
    "sd": "sd = 0.01",
}
WORDS = {
    "Input should be": "should be", "Value error, ": "", "dictionary": "table", "tuple": "list", "valid ": "",
    "a integer": "an integer", " or instance of ": ", ",
}  # fmt: skip

Loc = tuple[int | str, ...]


def raised(where: str, problems: Sequence[str]) -> ValueError:
    """The error that says all of them."""
    if len(problems) == 1:
        return ValueError(f"{where}: {problems[0]}")
    return ValueError("\n".join([f"{where} has {len(problems)} errors:", *(f"  - {p}" for p in problems)]))


def told(error: ValidationError, given: Mapping[str, Any], schema: type[BaseModel]) -> list[str]:
    """The lines for what pydantic found."""
    return [_line(e["type"], e["loc"], e["msg"], given, schema) for e in error.errors()]


def _line(kind: str, loc: Loc, message: str, given: Any, schema: type[BaseModel]) -> str:
    if kind == "missing" and isinstance(loc[-1], str):
        last = str(loc[-1])
        return f"{key(loc)} is missing; write {EXAMPLES.get(last, f'{last} = ...')}"
    if kind == "extra_forbidden":
        return f"{key(loc)}: there is no such key; {closest(str(loc[-1]), keys_at(schema, loc[:-1]))}"
    place, value = _standing(loc, given)
    if kind == "too_short" and len(place) == 1:
        return f"{key(place)} is empty; write {EXAMPLES[str(place[0])]}"
    if kind in ("missing", "too_long"):
        message = f"should have {loc[-1] + 1 if isinstance(loc[-1], int) else 'no more than 2'} numbers"
    for word, other in WORDS.items():
        message = message.replace(word, other)
    if kind in ("model_type", "model_attributes_type"):
        message = f"should be a table {{ {', '.join(keys_at(schema, place))} }}"
    return f"{key(place)} = {shown(value)}: {message}" if place else message


def _standing(loc: Loc, given: Any) -> tuple[Loc, Any]:
    """As much of a place as the file has: `noise.angle1`, where `noise.angle1.sd` was made of it."""
    for i, step in enumerate(loc):
        try:
            given = given[step]
        except (KeyError, IndexError, TypeError):
            return loc[:i], given
    alone = len(loc) == 3 and loc[0] == "noise" and loc[2] == "sd"
    return (loc[:-1] if alone else loc), given


def key(loc: Loc) -> str:
    """As TOML writes it; recordings are counted from 1."""
    found = ""
    for step in loc:
        if isinstance(step, int):
            found += f" {step + 1}" if found == "recording" else f"[{step}]"
        else:
            quoted = step if step.replace("_", "").replace("-", "").isalnum() else f'"{step}"'
            found += f".{quoted}" if found else quoted
    return found


def shown(value: Any) -> str:
    """A value as TOML writes it, shortened where it is long."""
    if isinstance(value, dict):
        text = "{ " + ", ".join(f"{k} = {shown(v)}" for k, v in value.items()) + " }"
    elif isinstance(value, list | tuple):
        text = f"[{', '.join(shown(v) for v in value)}]"
    else:
        text = json.dumps(value) if isinstance(value, str | bool) else str(value)
    return text if len(text) <= LONG else f"{text[: LONG - 4]} ..."


def keys_at(schema: type[BaseModel], loc: Loc) -> list[str]:
    """The keys that a table may have; in lists and tables by name, the number and the name change nothing."""
    for step in loc:
        if step in schema.model_fields:
            annotation = schema.model_fields[str(step)].annotation
            schema = next((a for a in (annotation, *get_args(annotation)) if _is_table(a)), schema)
    return list(schema.model_fields)


def _is_table(annotation: Any) -> TypeGuard[type[BaseModel]]:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def closest(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, n=2, cutoff=0.6)
    listed = f"there are {', '.join(known)}" if known else "there are none"
    return f"did you mean {' or '.join(near)}? ({listed})" if near else listed


class Problems(list[str]):
    """What is wrong, collected on the way."""

    @contextmanager
    def at(self, place: str) -> Iterator[None]:
        """An error in here is one of the problems, and the way goes on."""
        try:
            yield
        except (ValueError, OSError) as error:
            self.append(f"{place}: {error}")
