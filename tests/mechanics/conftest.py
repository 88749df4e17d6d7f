"""MuJoCo, as these tests use it, notes its warnings in no file."""

import mujoco
import pytest


@pytest.fixture(scope="session", autouse=True)
def _no_log_file() -> None:
    config = mujoco.MjLogConfig.get()
    config.logto_file = config.logto_console = False
    config.set()
