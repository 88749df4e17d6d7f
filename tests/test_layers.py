"""Imports point up the list only, and what is heavy is imported when it is used."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "plausim"

# From what knows nothing of the rest to what may know everything. Entries of one line are of one level.
LAYERS = [
    {"fuse"},
    {"writing"},
    {"mechanics"},
    {"paths"},
    {"parameters"},
    {"recordings"},
    {"rollout"},
    {"systems"},
    {"target"},
    {"shooting"},
    {"samplers"},
    {"metrics"},
    {"scores"},
    {"diagnose"},
    {"results"},
    {"checkpoints"},
    {"run"},
    {"config"},
    {"report"},
    {"studies"},
    {"commands"},
    {"cli"},
    {"__main__"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
HEAVY = {
    "jax", "llvmlite", "scipy", "matplotlib", "mpmath", "mujoco", "blackjax", "casadi", "numpy", "cuda", "pandas",
    "xarray", "sklearn",
}  # fmt: skip


def layer(path: Path) -> str:
    """The part of the package that a file belongs to: plausim/fuse/call.py is of fuse."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """Each part of plausim that a file imports, with the line: at the top, in a function, relative or not."""
    package = ["plausim", *path.relative_to(PACKAGE).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Import():
                names = [alias.name for alias in node.names]
            case ast.ImportFrom():
                base = package[: len(package) - node.level + 1] if node.level else []
                module = ".".join([*base, *([node.module] if node.module else [])])
                names = [f"{module}.{alias.name}" for alias in node.names] if module == "plausim" else [module]
            case _:
                continue
        for name in names:
            parts = name.split(".")
            if parts[0] == "plausim":
                yield node.lineno, parts[1] if len(parts) > 1 else "__init__"


FILES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(PACKAGE)) for path in FILES])
def test_imports_point_up_the_list_only(path: Path) -> None:
    own = layer(path)
    assert own in LEVEL, f"{path} belongs to no layer; say in LAYERS where it stands"
    for line, name in imported(path):
        if name == "__version__":
            continue
        assert name == own or LEVEL.get(name, len(LAYERS)) < LEVEL[own], (
            f"{path}:{line}: {own} imports {name}, which stands at its level or below it"
        )


def loaded(code: str, packages: set[str]) -> list[str]:
    """Which of these packages a fresh Python has imported after running the code."""
    code += f"\nimport sys\nprint(*sorted({packages!r} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return run.stdout.split()


HELP = """
import plausim.cli, typer.testing
assert typer.testing.CliRunner().invoke(plausim.cli.app, ["--help"]).exit_code == 0
"""


@pytest.mark.parametrize("code", ["import plausim", HELP], ids=["import", "help"])
def test_heavy_packages_wait_until_they_are_used(code: str) -> None:
    assert loaded(code, HEAVY) == []


def test_public_names_lead_somewhere() -> None:
    assert loaded("import plausim\n[getattr(plausim, name) for name in plausim.__all__]", {"jax"}) == ["jax"]


def test_fuse_loads_no_compiler_before_a_kernel_is_needed() -> None:
    assert loaded("import plausim.fuse", HEAVY - {"jax", "numpy", "scipy"}) == []
