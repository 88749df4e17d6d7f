"""The page about models: its commands say what it shows, its tables hold what there is."""

import re
from pathlib import Path

from typer.testing import CliRunner

from plausim.cli import app
from plausim.mechanics import ROBOTS, load
from plausim.mechanics.integrators import INTEGRATORS
from plausim.mechanics.sensors import SENSORS
from plausim.paths import FIELDS, paths

PAGE = (Path(__file__).parents[2] / "docs" / "models.md").read_text()


def test_the_commands_say_what_the_page_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks, output = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL), ""
    for language, block in blocks:
        if language == "xml":
            Path("striker.xml").write_text(block)
        if language == "sh":
            result = CliRunner().invoke(app, block.split()[1:])
            assert result.exit_code == 0, result.output
            output = result.output
        if language == "text":
            assert [line.rstrip() for line in output.splitlines()] == block.splitlines()
    assert Path("motion.png").stat().st_size > 10_000
    assert "head.friction" in paths(load("striker.xml"))


def test_everything_there_is_is_on_the_page():
    fields = {field for kind in FIELDS.values() for field in kind} - {"bias"}
    for name in (*ROBOTS, *INTEGRATORS, *(set(SENSORS) - {"framepoints"})):
        assert f"`{name}`" in PAGE, name
    for field in (*fields, "kp", "kv", "logcholesky", "gravity", "timestep"):
        assert re.search(rf"`[\w.]*\b{field}\b", PAGE), field
