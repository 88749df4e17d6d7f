"""Files that are there whole or not at all: what was there before stays until all is written."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: str | os.PathLike) -> Iterator[Path]:
    """A file to write to, that takes the place of `path` when all is written; what was there stays till then."""
    file = Path(path)
    temporary = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        with open(temporary, "rb") as written:
            os.fsync(written.fileno())
        os.replace(temporary, file)
    finally:
        temporary.unlink(missing_ok=True)
