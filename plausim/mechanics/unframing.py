"""MJCF without its <frame>s: what stands in one is placed in the body instead, where a compiled model has it."""

from collections.abc import Iterator
from typing import NamedTuple
from xml.etree.ElementTree import Element

import mujoco
import numpy as np

PLACED = ("body", "geom", "site", "camera", "light")


class Place(NamedTuple):
    """Of a frame in its body, and the class of what is in it."""

    pos: np.ndarray
    quat: np.ndarray
    childclass: str | None


def unframe(root: Element) -> None:
    """Take everything out of its frame, in the order in which it stands there."""
    for holder in [e for e in root.iter() if e.tag in ("worldbody", "body")]:
        for frame in holder.findall("frame"):
            here = list(holder).index(frame)
            holder.remove(frame)
            for i, element in enumerate(_out(frame, Place(np.zeros(3), np.array([1.0, 0, 0, 0]), None))):
                holder.insert(here + i, element)


def _out(frame: Element, around: Place) -> Iterator[Element]:
    inner = _placed(frame, around)._replace(childclass=frame.get("childclass", around.childclass))
    for element in frame:
        if element.tag == "frame":
            yield from _out(element, inner)
            continue
        if element.tag in PLACED:
            _move(element, inner)
        yield element


def _placed(element: Element, around: Place) -> Place:
    """Of an element's own pos and quat, in which MuJoCo writes all orientations."""
    pos, quat = np.zeros(3), np.zeros(4)
    mujoco.mju_rotVecQuat(pos, _numbers(element, "pos", "0 0 0"), around.quat)
    mujoco.mju_mulQuat(quat, around.quat, _numbers(element, "quat", "1 0 0 0"))
    return Place(around.pos + pos, quat, around.childclass)


def _move(element: Element, frame: Place) -> None:
    if element.get("fromto"):
        ends = _numbers(element, "fromto", "").reshape(2, 3)
        for end in ends:
            mujoco.mju_rotVecQuat(end, end.copy(), frame.quat)
        _write(element, "fromto", (ends + frame.pos).ravel())
    else:
        place = _placed(element, frame)
        _write(element, "pos", place.pos)
        if element.tag == "light":
            _turn_light(element, frame)
        else:
            _write(element, "quat", place.quat)
    of = "childclass" if element.tag == "body" else "class"
    if frame.childclass and not element.get(of):
        element.set(of, frame.childclass)


def _turn_light(element: Element, frame: Place) -> None:
    direction = np.zeros(3)
    mujoco.mju_rotVecQuat(direction, _numbers(element, "dir", "0 0 -1"), frame.quat)
    _write(element, "dir", direction)


def _numbers(element: Element, attribute: str, otherwise: str) -> np.ndarray:
    return np.array(element.get(attribute, otherwise).split(), float)


def _write(element: Element, attribute: str, numbers: np.ndarray) -> None:
    element.set(attribute, " ".join(repr(float(n)) for n in numbers))
