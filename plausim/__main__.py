"""`python -m plausim` is `plausim`."""

from plausim.cli import app

app(prog_name="plausim")
