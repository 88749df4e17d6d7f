"""Robots back into MJCF files, with changed numbers.

The file keeps its structure and comments as far as MuJoCo's own writer keeps them. That one rounds to six digits, so
every number that it lost, and every one that was changed, is written in full where it stands.
"""

import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import jax
import jax.numpy as jnp
import numpy as np

from plausim.writing import replacing

from . import rotations
from .model import Model
from .read import parse
from .unframing import unframe
from .unsupported import GROUPS

INTEGRATORS = {"euler": "Euler", "damped": "Euler", "implicit": "implicitfast", "rk4": "RK4"}
ROTATIONS = ("quat", "axisangle", "xyaxes", "zaxis", "euler", "fromto")
OURS = {
    "joints": ("frictionspeed", "limitstiffness", "limitdissipation"),
    "geoms": ("stiffness", "dissipation", "slipspeed"),
}


def save(model: Model, path: str | os.PathLike) -> None:
    """Write a robot to an MJCF file, which MuJoCo loads and moves the same way.

    Structure and comments stay as far as MuJoCo keeps them, and so does what was ignored when the robot was loaded.
    Meshes stay where they are. Our own numbers go to `<custom>`.

    Example:
        >>> import tempfile
        >>> from plausim import load, mechanics, paths, robot, save
        >>> heavier = paths.changed(robot("pendulum"), {"rod.mass": 1.5})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save(heavier, f"{folder}/heavier.xml")
        ...     print(load(f"{folder}/heavier.xml").bodies.mass)
        [1.5]

    """
    text = to_mjcf(model)
    with replacing(path) as temporary:
        temporary.write_text(text)


def to_mjcf(model: Model) -> str:
    """The text of the file that `save` writes."""
    if not model.source:
        raise ValueError("the model has no file behind it; only models that were loaded or parsed can be saved.")
    root = ElementTree.fromstring(
        model.source, ElementTree.XMLParser(target=ElementTree.TreeBuilder(insert_comments=True))
    )
    unframe(root)
    before, after = _again(ElementTree.tostring(root, encoding="unicode")), _plain(model)
    _unscaled(root)
    places = _elements(root)
    for part, attributes in ATTRIBUTES.items():
        old, new = getattr(before, part), getattr(after, part)
        for row, element in _pairs(part, new, places):
            for attribute in attributes:
                if attribute.always(root) or not _same(old, new, row, attribute.fields):
                    attribute.write(element, new, row)
    _option(root, before, after)
    text = _text(root)
    numbers = [n for part, names in OURS.items() for n in _numerics(part, names, getattr(_again(text), part), after)]
    if numbers:
        custom = _section(root, "custom")
        for name, value in numbers:
            for stale in [e for e in custom if e.get("name") == name]:
                custom.remove(stale)
            ElementTree.SubElement(custom, "numeric", {"name": name, "data": words([value])})
        text = _text(root)
    return text


class Attribute(NamedTuple):
    """Numbers of an element, and how they are written."""

    fields: tuple[str, ...]
    write: Callable[[Element, Any, int], None]
    always: Callable[[Element], bool] = lambda root: False


def words(numbers: Any) -> str:
    return " ".join(repr(float(n)) for n in np.ravel(numbers))


def _set(attribute: str, *names: str) -> Attribute:
    """The attribute is the fields, one after the other."""

    def write(element: Element, part: Any, row: int) -> None:
        element.set(attribute, words([n for name in names for n in np.ravel(getattr(part, name)[row])]))

    return Attribute(names, write)


def _oriented(element: Element, part: Any, row: int) -> None:
    turn = part.turn[row]
    if hasattr(part, "tilt"):
        turn = turn @ np.asarray(rotations.tilted(jnp.asarray(part.tilt[row])))
    for other in ROTATIONS:
        element.attrib.pop(other, None)
    element.set("pos", words(part.pos[row]))
    element.set("quat", words(np.asarray(rotations.quaternion(jnp.asarray(turn)))))


def _inertial(element: Element, part: Any, row: int) -> None:
    for old in element.findall("inertial"):
        element.remove(old)
    numbers = {"pos": words(part.com[row]), "mass": words([part.mass[row]]), "fullinertia": words(part.inertia[row])}
    element.insert(0, Element("inertial", numbers))


def _general(element: Element, part: Any, row: int) -> None:
    for shortcut in ("kp", "kv", "dampratio", "timeconst", "inheritrange"):
        element.attrib.pop(shortcut, None)
    element.tag = "general"
    types = {"dyntype": "none", "gaintype": "affine", "biastype": "affine"}
    element.attrib.update(types | {"gainprm": words(part.gain[row]), "biasprm": words(part.bias[row])})


def _friction(element: Element, part: Any, row: int) -> None:
    element.set("friction", words([part.friction[row]]))


FRAME = Attribute(("pos", "turn"), _oriented)
ATTRIBUTES: dict[str, tuple[Attribute, ...]] = {
    "bodies": (
        Attribute(("pos", "turn", "tilt"), _oriented),
        Attribute(("mass", "com", "inertia"), _inertial, always=lambda root: root.get("unscaled") is not None),
    ),
    "joints": (
        *(_set(name, name) for name in ("pos", "axis", "damping", "armature", "frictionloss", "stiffness")),
        _set("ref", "ref"),
        _set("springref", "springref"),
        _set("range", "lower", "upper"),
        _set("actuatorfrcrange", "forcelower", "forceupper"),
    ),
    "sites": (FRAME,),
    "geoms": (FRAME, _set("size", "size"), Attribute(("friction",), _friction)),
    "actuators": (
        Attribute(("gain", "bias"), _general),
        _set("gear", "gear"),
        _set("ctrlrange", "ctrllower", "ctrlupper"),
        _set("forcerange", "forcelower", "forceupper"),
    ),
}


def _again(text: str) -> Model:
    """Of a file that was read before: what MuJoCo warns of was said then, and what is not simulated may be ignored."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return parse(text, GROUPS)


def _plain(model: Model) -> Model:
    """The same in NumPy arrays of double precision."""
    return jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), model)


def _same(old: Any, new: Any, row: int, names: Sequence[str]) -> bool:
    return all(np.array_equal(getattr(old, name)[row], getattr(new, name)[row]) for name in names)


def _elements(root: Element) -> dict[str, list[Element]]:
    """The elements of each part in MuJoCo's order: bodies depth first, what they hold body by body."""
    world = root.find("worldbody")
    holders = [] if world is None else [world, *world.iter("body")]
    inside = {tag: [e for holder in holders for e in _held(holder, tag)] for tag in ("joint", "geom", "site")}
    actuators = root.find("actuator")
    acting = [] if actuators is None else [e for e in actuators if isinstance(e.tag, str)]
    return {
        "bodies": holders[1:], "joints": inside["joint"], "geoms": inside["geom"], "sites": inside["site"],
        "actuators": acting,
    }  # fmt: skip


def _held(holder: Element, tag: str) -> list[Element]:
    tags = ("joint", "freejoint") if tag == "joint" else (tag,)
    return [e for e in holder if e.tag in tags]


def _pairs(part: str, new: Any, places: dict[str, list[Element]]) -> list[tuple[int, Element]]:
    """(row, element) of a part; what we made up ourselves (a site on a body) has no element."""
    there = places[part]
    kind = {"bodies": "body", "joints": "joint", "geoms": "geom", "sites": "site", "actuators": "actuator"}[part]
    first = 1 if part == "bodies" else 0
    by_name = {e.get("name") or f"{kind}{i + first}": e for i, e in enumerate(there)}
    return [
        (row, by_name[name])
        for row, name in enumerate(new.name)
        if name in by_name and by_name[name].tag != "freejoint"
    ]


def _unscaled(root: Element) -> None:
    """No total mass, no inertia out of shapes: both would undo what is written."""
    for compiler in root.findall("compiler"):
        if compiler.attrib.pop("settotalmass", None) is not None:
            root.set("unscaled", "")
        if compiler.attrib.pop("inertiafromgeom", None) == "true":
            root.set("unscaled", "")


def _option(root: Element, before: Model, after: Model) -> None:
    option = _section(root, "option")
    if not np.array_equal(before.gravity, after.gravity):
        option.set("gravity", words(after.gravity))
    if before.timestep != after.timestep or after.substeps > 1:
        option.set("timestep", words([after.timestep / after.substeps]))
    if before.integrator != after.integrator:
        option.set("integrator", INTEGRATORS[after.integrator])
        if "euler" in (before.integrator, after.integrator):
            flag = option.find("flag")
            flag = ElementTree.SubElement(option, "flag") if flag is None else flag
            flag.set("eulerdamp", "disable" if after.integrator == "euler" else "enable")


def _section(root: Element, tag: str) -> Element:
    found = root.find(tag)
    if found is None:
        found = Element(tag)
        root.insert(0, found)
    return found


def _numerics(part: str, names: Sequence[str], read: Any, model: Model) -> list[tuple[str, float]]:
    """Our own numbers that a reader of the file would not find out by itself."""
    wanted = getattr(model, part)
    return [
        (f"plausim/{element}.{name}", float(getattr(wanted, name)[row]))
        for name in names
        for row, element in enumerate(wanted.name)
        if getattr(read, name)[row] != getattr(wanted, name)[row]
    ]


def _text(root: Element) -> str:
    mark = root.attrib.pop("unscaled", None)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode") + "\n"
    if mark is not None:
        root.set("unscaled", mark)
    return text
