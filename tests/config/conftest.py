import shutil
from pathlib import Path

import pytest

from . import swings


@pytest.fixture(scope="session")
def _swing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return swings.folder(tmp_path_factory.mktemp("swing"))


@pytest.fixture
def place(_swing: Path, tmp_path: Path) -> Path:
    """A folder of one's own with a model, a recording and a config."""
    return Path(shutil.copytree(_swing, tmp_path / "place"))
