"""Which geoms of a compiled file may touch, and how stiff and rough they are."""

import itertools
from typing import Any

import mujoco
import numpy as np

from .model import Geoms
from .touch import TOUCH
from .unsupported import Unsupported

SHAPES = ("plane", "sphere", "capsule", "box", "cylinder")
KINDS = {int(getattr(mujoco.mjtGeom, f"mjGEOM_{shape.upper()}")): shape for shape in SHAPES}
DISSIPATION = 4.0  # s/m: a ball that falls at 1 m/s comes back at a quarter of that
SLIP_SPEED = 0.01  # m/s
RESTING = (1, 3)  # dimensions of contact that are simulated: without friction, and with sliding friction


def geoms(compiled: Any, numerics: dict[str, np.ndarray]) -> tuple[Geoms, list[Unsupported]]:
    """The geoms that take part in contacts, and what of these contacts is not simulated."""
    from .read import given, names, off, spring, turned

    pairs, problems = [], []
    if not off(compiled, "CONTACT"):
        for a, b in itertools.combinations(range(compiled.ngeom), 2):
            if may_touch(compiled, a, b):
                ordered = _ordered(compiled, a, b)
                problem = _problem(compiled, a, b, ordered)
                problems += [problem] if problem else []
                pairs += [ordered] if ordered else []
    rows = sorted({i for pair in pairs for i in pair})
    place = {row: i for i, row in enumerate(rows)}
    own = names(compiled, "geom", rows)
    stiffness = 2.0 * compiled.body_mass.sum() * spring(compiled.geom_solref[rows])  # two of them are in series

    def ours(field: str, default: np.ndarray) -> np.ndarray:
        return given(numerics, own, field, default)

    touch = tuple((place[a], place[b]) for a, b in pairs)
    rough = tuple(tuple(place[i] for i in _rough(compiled, a, b)) for a, b in pairs)
    return Geoms(
        name=own,
        kind=tuple(KINDS[int(compiled.geom_type[i])] for i in rows),
        body=tuple(int(compiled.geom_bodyid[i]) - 1 for i in rows),
        touch=touch,
        rough=rough,
        size=compiled.geom_size[rows].reshape(-1, 3).copy(),
        pos=compiled.geom_pos[rows].reshape(-1, 3).copy(),
        turn=np.array([turned(compiled.geom_quat[i]) for i in rows]).reshape(-1, 3, 3),
        stiffness=ours("stiffness", stiffness),
        dissipation=ours("dissipation", np.full(len(rows), DISSIPATION)),
        friction=compiled.geom_friction[rows, 0].copy(),
        slipspeed=ours("slipspeed", np.full(len(rows), SLIP_SPEED)),
    ), problems


def may_touch(compiled: Any, a: int, b: int) -> bool:
    """MuJoCo's filters: contact bits, welded bodies, parents and children, excluded pairs."""
    bits = (compiled.geom_contype[a] & compiled.geom_conaffinity[b]) | (
        compiled.geom_contype[b] & compiled.geom_conaffinity[a]
    )
    first, second = compiled.geom_bodyid[a], compiled.geom_bodyid[b]
    weld = compiled.body_weldid
    one, two = weld[first], weld[second]
    if not bits or one == two:
        return False
    above_one, above_two = weld[compiled.body_parentid[one]], weld[compiled.body_parentid[two]]
    filtered = not compiled.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_FILTERPARENT
    if filtered and one and two and (one == above_two or two == above_one):
        return False
    signatures = {int(s) for s in compiled.exclude_signature}
    return (int(first) << 16) + int(second) not in signatures and (int(second) << 16) + int(first) not in signatures


def _ordered(compiled: Any, a: int, b: int) -> tuple[int, int] | None:
    kinds = {i: KINDS.get(int(compiled.geom_type[i]), "") for i in (a, b)}
    return next((pair for pair in ((a, b), (b, a)) if (kinds[pair[0]], kinds[pair[1]]) in TOUCH), None)


def _ruling(compiled: Any, a: int, b: int) -> list[int]:
    """Which of two geoms say how they touch: the one of higher priority, or both."""
    first, second = compiled.geom_priority[a], compiled.geom_priority[b]
    return [a, b] if first == second else [a if first > second else b]


def _rough(compiled: Any, a: int, b: int) -> list[int]:
    """Whose friction counts."""
    ruling = _ruling(compiled, a, b)
    return [] if compiled.geom_condim[ruling].max() == 1 else ruling


def _problem(compiled: Any, a: int, b: int, ordered: tuple[int, int] | None) -> Unsupported | None:
    def said(i: int) -> str:
        kind = mujoco.mjtGeom(compiled.geom_type[i]).name.removeprefix("mjGEOM_").lower()
        return f"{kind} {compiled.geom(i).name or f'geom{i}'!r} of {compiled.body(compiled.geom_bodyid[i]).name!r}"

    if ordered is None:
        return Unsupported("contact", f"contact between {said(a)} and {said(b)}")
    if np.any(compiled.geom_surfacevel[[a, b]]) or np.any(compiled.geom_adhesion[[a, b]]):
        return Unsupported("surface", f"a surface that moves or holds on, between {said(a)} and {said(b)}")
    if compiled.geom_condim[_ruling(compiled, a, b)].max() not in RESTING:
        return Unsupported("rolling", f"torsional or rolling friction between {said(a)} and {said(b)}")
    return None
