"""What a user sees at the command line, on the good path and on the bad ones."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import plausim
from plausim.cli import app


def plausim_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "plausim", *arguments], capture_output=True, text=True)


def test_version() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert (result.exit_code, result.output.strip()) == (0, f"plausim {plausim.__version__}")


def test_demo_in_a_fresh_process(tmp_path: Path) -> None:
    run = plausim_command("demo", "--out", str(tmp_path / "new" / "folder"), "--particles", "4", "--steps", "40")
    assert run.returncode == 0, run.stderr
    assert "best fit" in run.stdout
    assert "not yet a posterior" in run.stdout
    figure = tmp_path / "new" / "folder" / "link-lengths.png"
    assert str(figure) in run.stdout
    assert figure.exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--particles", "0"], "greater than or equal to 2"),
        (["--particles", "many"], "valid integer"),
        (["--steps", "1"], "greater than or equal to 20"),
        (["--seed", "-1"], "greater than or equal to 0"),
        (["--out", __file__], "name a folder that you may write to"),
        (["--out", "/proc/nowhere"], "cannot write to /proc/nowhere"),
    ],
)
def test_bad_input_stops_with_what_to_do(arguments: list[str], says: str) -> None:
    result = CliRunner(env={"COLUMNS": "1000"}).invoke(app, ["demo", *arguments])
    assert result.exit_code == 2
    assert says in " ".join(result.output.split())
    assert "Traceback" not in result.output
