"""MuJoCo's names live in compiled modules, which say nothing of types."""

from typing import Any

def __getattr__(name: str) -> Any: ...
