"""The pages about runs: every command of the quickstart runs, every key of a config is described as it is."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from plausim import config
from plausim.config import describing, meanings, schema
from plausim.config.reading import parse
from plausim.samplers import SAMPLERS

DOCS = Path(__file__).parents[2] / "docs"


def test_the_tables_of_the_configuration_are_those_of_the_schema() -> None:
    page = (DOCS / "configuration.md").read_text()
    assert describing.renewed(page) == page, "run: python -m plausim.config.describing docs/configuration.md"


def test_every_key_is_described() -> None:
    keys = {f"{part}.{key}" for part, fields in describing.PARTS.items() for key in fields.model_fields}
    assert set(meanings.KEYS) == keys
    assert set(meanings.TABLES) == set(schema.Config.model_fields) == set(describing.PARTS)
    for name, method in SAMPLERS.items():
        assert set(meanings.of_settings(method)) == set(schema.settings_of(method)), name


def test_the_example_of_the_configuration_is_a_config() -> None:
    import tomllib

    (example,) = re.findall(r"```toml\n(.*?)```", (DOCS / "configuration.md").read_text(), re.DOTALL)
    assert parse(tomllib.loads(example), "example").noise["rate"].high == 1.0


@pytest.mark.slow
def test_the_quickstart_as_a_new_user_types_it(tmp_path: Path) -> None:
    """Files are saved, commands run and lines edited in the order of the page."""
    said, previous = {}, ""
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for language, block in re.findall(r"```(\w+)\n(.*?)```", (DOCS / "quickstart.md").read_text(), re.DOTALL):
        match language:
            case "xml":
                (tmp_path / "pendulum.xml").write_text(block)
            case "toml":
                file = tmp_path / "config.toml"
                file.write_text(edited(file.read_text(), block.strip()))
            case "text":
                assert_said(previous, block)
            case _:
                program = ["bash", "-euc"] if language == "sh" else [sys.executable, "-c"]
                run = subprocess.run([*program, block], cwd=tmp_path, env=environment, capture_output=True, text=True)
                assert run.returncode == 0, (block, run.stdout, run.stderr)
                said[block], previous = run.stdout, run.stdout
    low, high = config.open_run(tmp_path / "runs" / "config").limits[2]
    assert (low, high) == pytest.approx((-0.6, -0.2))
    masses = [float(line.split()[0]) for text in said.values() for line in text.splitlines() if " kg, damping " in line]
    assert len(masses) == 20 and max(masses) - min(masses) > 0.5


def edited(text: str, line: str) -> str:
    """The line of the same key, taken in."""
    changed, count = re.subn(rf"^# {re.escape(line.split(' = ')[0])} = .*$", line, text, flags=re.MULTILINE)
    assert count == 1
    return changed


def assert_said(output: str, promised: str) -> None:
    """Every line was said, its numbers to about a tenth: they differ a little from machine to machine."""
    words = lambda line: re.split(r"[\s,]+", line.strip())  # noqa: E731
    lines = [words(line) for line in output.splitlines()]
    for line in promised.splitlines():
        assert not line or any(alike(words(line), other) for other in lines), (line, output)


def alike(promised: list[str], said: list[str]) -> bool:
    def same(one: str, other: str) -> bool:
        try:
            return float(one) == pytest.approx(float(other), rel=0.1)
        except ValueError:
            return one == other or other.startswith(one)

    return len(promised) == len(said) and all(map(same, promised, said))
