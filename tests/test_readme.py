"""The README and the pages tell the truth: code prints what its comments say, and links lead somewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def blocks(language: str, page: str = README) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


def tutorial(page: str, first: str, after: str) -> str:
    """The code between two headings of a page, as one program."""
    text = (ROOT / "docs" / page).read_text()
    return "".join(blocks("python", text[text.index(first) : text.index(after)]))


PROGRAMS = {
    "README": blocks("python")[0],
    "fuse": tutorial("fuse.md", "### One simulation", "### explain"),
    "models": tutorial("models.md", "## In Python", "## Models that come along"),
    "recordings": tutorial("recordings.md", "# Recordings", "## Files"),
    "metrics": tutorial("metrics.md", "## Example", "## KNN-KL"),
    "targets": tutorial("targets.md", "# Targets", "## Likelihood"),
    "samplers": tutorial("samplers.md", "# Samplers", "## SVGD"),
}


@pytest.mark.parametrize("code", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_python_prints_what_its_comments_say(code: str, tmp_path: Path) -> None:
    promised = re.findall(r"^print\(.*\)  # (.*)$", code, re.MULTILINE)
    assert promised
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == promised


def test_two_commands_do_all_the_set_up() -> None:
    commands = [line for block in blocks("sh") for line in block.splitlines() if line]
    assert len(commands) == 2
    assert commands[0].endswith("plausim study synthetic-pendulum")
    assert "pytest" in commands[1].split(" && ")[-1]


def test_links_to_files_lead_to_files() -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    for page in pages:
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name} links to {target}, which is not there"
