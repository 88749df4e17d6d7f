"""The tables of docs/configuration.md, out of the schema, so that they cannot go stale. To write them anew:

python -m plausim.config.describing docs/configuration.md
"""

import json
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, get_args, get_origin

from annotated_types import Ge, Gt, Lt
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from plausim.samplers import SAMPLERS

from . import schema
from .meanings import KEYS, TABLES, of_settings

PARTS: dict[str, type[BaseModel]] = {
    "model": schema.Model, "recording": schema.Recording, "columns": schema.Columns, "parameters": schema.Limits,
    "noise": schema.Level, "likelihood": schema.Likelihood, "sampler": schema.Sampler, "output": schema.Output,
}  # fmt: skip
WORDS = {str: "text", float: "number", int: "whole number", bool: "true or false", dict: "table", tuple: "list"}
SPECIAL = {
    "columns.sensors": "table of texts or `false`",
    "columns.controls": "table of texts or numbers",
    "parameters.prior": "table",
}
HEAD = ["| key | what | if not said | meaning |", "|---|---|---|---|"]


def tables() -> dict[str, str]:
    """Markdown for each table of a config, and for the settings of all methods of inference."""
    found = {part: "\n".join([TABLES[part], "", *HEAD, *_rows(part, fields)]) for part, fields in PARTS.items()}
    methods = ("\n".join([f'Of `method = "{name}"`:', "", *HEAD, *_settings(name)]) for name in SAMPLERS)
    return found | {"methods": "\n\n".join(methods)}


def _rows(part: str, fields: type[BaseModel]) -> Iterator[str]:
    for key, field in fields.model_fields.items():
        place = f"{part}.{key}"
        what = SPECIAL.get(place) or kind(field.annotation, field.metadata)
        yield f"| `{key}` | {what} | {_default(field)} | {KEYS[place]} |"


def _settings(method: str) -> Iterator[str]:
    meanings = of_settings(SAMPLERS[method])
    for key, (annotation, default) in schema.settings_of(SAMPLERS[method]).items():
        yield f"| `{key}` | {kind(annotation, [])} | {_written(default)} | {meanings[key]} |"


def kind(annotation: Any, constraints: list[Any]) -> str:
    """In words, what may stand there."""
    inner = [a for a in get_args(annotation) if a is not type(None)]
    if hasattr(annotation, "__metadata__"):
        return kind(inner[0], [*annotation.__metadata__, *constraints])
    if type(None) in get_args(annotation):
        return kind(inner[0], constraints)
    for constraint in constraints:
        choices = getattr(constraint, "func", None)
        if isinstance(choices, partial):
            return " or ".join(f"`{json.dumps(choice)}`" for choice in choices.args[0])
        if hasattr(constraint, "metadata"):  # pydantic's Field, with constraints in it
            constraints = [*constraints, *constraint.metadata]
    if get_origin(annotation) is tuple:
        return "list" if Ellipsis in inner else f"list of {len(inner)}"
    word = WORDS.get(get_origin(annotation) or annotation, "table")
    return word + "".join(_bound(c) for c in constraints)


def _bound(constraint: Any) -> str:
    match constraint:
        case Gt():
            return f" above {constraint.gt}"
        case Ge():
            return f" from {constraint.ge}"
        case Lt():
            return ", below 2^32" if constraint.lt == 2**32 else f", below {constraint.lt}"
        case _:
            return ""


def _default(field: FieldInfo) -> str:
    return "must be said" if field.default is PydanticUndefined else _written(field.default)


def _written(value: Any) -> str:
    return "" if value is None or value in ((), {}) else f"`{json.dumps(value)}`"


def renewed(page: str) -> str:
    """A page with its tables as they should be."""
    for name, table in tables().items():
        begin, found, rest = page.partition(f"<!-- {name} -->\n")
        _, end, rest = rest.partition("<!-- -->")
        if not (found and end):
            raise ValueError(f"the page has no place for the table {name}; write <!-- {name} --> and below it <!-- -->")
        page = f"{begin}{found}\n{table}\n\n{end}{rest}"
    return page


if __name__ == "__main__":
    file = Path(sys.argv[1])
    file.write_text(renewed(file.read_text()))
