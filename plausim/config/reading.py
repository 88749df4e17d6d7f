"""From the text of a config to `schema.Config`, or to an error that lists all that is wrong in it.

What may be written shortly is written out first: `model = "arm.xml"`, limits as [low, high], a noise level as a number,
and paths without quotes, `link2.mass = [0.05, 0.5]`, which TOML reads as tables in tables.
"""

import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from .problems import raised, told
from .schema import METHOD, Config, Level, Limits, config_for


def read(path: str | os.PathLike) -> Config:
    """The config in a file, whose paths are still as they stand there."""
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"there is no config {file}; `plausim init MODEL DATA` writes one to start from.")
    try:
        written = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} is not a text file in UTF-8 (byte {error.start}); save it as such.") from None
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{file} is not TOML: {error}.") from None
    return parse(written, str(file))


def parse(written: Mapping[str, Any], where: str) -> Config:
    """The config in tables that were read from `where`."""
    given, twice = written_out(written)
    schema = config_for(method_of(given))
    try:
        found = schema.model_validate(given)
    except ValidationError as error:
        raise raised(where, [*twice, *told(error, given, schema)]) from None
    if twice:
        raise raised(where, twice)
    return found


def method_of(given: Mapping[str, Any]) -> str:
    sampler = given.get("sampler")
    return str(sampler.get("method", METHOD)) if isinstance(sampler, dict) else METHOD


def written_out(written: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """All that is short written out, and what is given twice."""
    given, twice = dict(written), []

    def flatten(holder: dict[str, Any], key: str, fields: Iterable[str] = (), lone: bool = True) -> None:
        if isinstance(holder.get(key), dict):
            found: dict[str, Any] = {}
            for name, value in flat(holder[key], frozenset(fields), lone):
                if name in found:
                    twice.append(f"{key}.{name} is given twice, with quotes and without; give it once.")
                found[name] = value
            holder[key] = found

    if isinstance(given.get("model"), str):
        given["model"] = {"file": given["model"]}
    if isinstance(given.get("recording"), dict):
        given["recording"] = [given["recording"]]
    for table in ("model", "columns"):
        if isinstance(given.get(table), dict):
            given[table] = dict(given[table])
            for key in ("set",) if table == "model" else ("sensors", "controls"):
                flatten(given[table], key)
    flatten(given, "parameters", Limits.model_fields, lone=False)
    flatten(given, "noise", Level.model_fields)
    for table in ("parameters", "noise"):
        if isinstance(given.get(table), dict):
            given[table] = {name: _ends(value, table) for name, value in given[table].items()}
    return given, twice


def flat(table: Mapping[str, Any], fields: frozenset[str], lone: bool) -> Iterator[tuple[str, Any]]:
    """Tables in tables as one, its keys joined by points.

    A table that has some of `fields` is a value itself; so is one without further tables in it, if no `lone` number
    or text may be a value.
    """
    for key, value in table.items():
        plain = isinstance(value, dict) and not any(isinstance(v, dict | list) for v in value.values())
        if not isinstance(value, dict) or not value or fields & value.keys() or (plain and not lone):
            yield key, value
        else:
            yield from ((f"{key}.{rest}", inner) for rest, inner in flat(value, fields, lone))


def _ends(value: Any, table: str) -> Any:
    """A pair are limits, a number is a noise level."""
    if isinstance(value, list) and len(value) == 2:
        return {"low": value[0], "high": value[1]}
    if table == "noise" and not isinstance(value, dict | list):
        return {"sd": value}
    return value
