"""Libraries that some methods stand on, and that plausim does without until one of those is asked for."""

from importlib.util import find_spec


def need(method: str, library: str, name: str) -> None:
    """Where a library of that name is not installed, say so before anything runs."""
    if find_spec(name) is None:
        raise ModuleNotFoundError(f"{method} needs {library}, which is not installed: pip install 'plausim[samplers]'.")
