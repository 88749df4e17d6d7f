"""The models that come along, one MJCF file each."""

from functools import cache
from importlib.resources import files

from plausim.mechanics.model import Model
from plausim.mechanics.read import parse

ROBOTS = {
    "pendulum": "pendulum.xml",
    "double-pendulum": "double_pendulum.xml",
    "cartpole": "cartpole.xml",
    "hopper": "hopper.xml",
    "panda": "panda.xml",
    "panda-box": "panda_box.xml",
}


@cache
def robot(name: str) -> Model:
    """One of the models that come along, by its name in `ROBOTS`.

    Example:
        >>> from plausim import mechanics
        >>> mechanics.robot("double-pendulum")
        Model(2 bodies, 2 joints, 0 actuators, 2 sites, 0 geoms)

    """
    if name not in ROBOTS:
        raise ValueError(f"there is no model {name!r}; there are {', '.join(ROBOTS)}.")
    return parse(files(__name__).joinpath(ROBOTS[name]).read_text())
