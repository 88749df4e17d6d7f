"""What `plausim` offers is there, also after every part of it has been imported, and can be looked up."""

import importlib
import pkgutil
from types import ModuleType

import pytest

import plausim

PARTS = {"fuse", "mechanics", "metrics", "recordings"}


def modules() -> list[str]:
    found = (m.name for m in pkgutil.walk_packages(plausim.__path__, "plausim."))
    return [name for name in found if not name.endswith("__main__")]


@pytest.fixture(scope="module", autouse=True)
def _everything_imported() -> None:
    for name in modules():
        importlib.import_module(name)


@pytest.mark.parametrize("name", plausim.__all__)
def test_no_module_stands_where_a_name_is_promised(name: str) -> None:
    assert isinstance(getattr(plausim, name), ModuleType) == (name in PARTS)


@pytest.mark.parametrize("name", sorted(set(plausim.__all__) - {"__version__"}))
def test_every_name_says_what_it_is(name: str) -> None:
    assert (getattr(plausim, name).__doc__ or "").strip()


def test_what_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'posterior'"):
        plausim.posterior  # noqa: B018
