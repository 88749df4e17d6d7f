"""MuJoCo's compiler: its errors say which file they are of, its warnings are Python's, and it leaves no file behind."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import mujoco

ADVICE = {  # what MuJoCo says, and what to do
    "larger than mjMINVAL": "Give it an <inertial>, or a geom with a mass; what moves weighs something.",
    "axis too small": 'Give it a direction, such as axis="0 0 1".',
    "could not find decoder": "Name an MJCF (.xml) or URDF (.urdf) file.",
    "'package:/": "Packages are not known here; name the mesh by its path from the folder of the file.",
    "Error opening file": "Put the file there, or take out what asks for it.",
    "multiple parents": "A robot is a tree: a link hangs from one other.",
    "inertia must satisfy": "No principal moment of inertia may exceed the sum of the two others.",
}


class File(NamedTuple):
    spec: Any  # what is in it, as it is written
    compiled: Any  # and as it comes to
    source: str  # as MJCF


def compiled(read: Callable[[], Any], where: str, text: str) -> File:
    """A file that MuJoCo has understood."""
    with warnings.catch_warnings(record=True) as said, _no_log_file():
        warnings.simplefilter("always")
        try:
            spec = read()
        except ValueError as error:
            raise ValueError(f"{where} is not a model that MuJoCo can read: {_said(error)}{_loop(text)}") from None
        try:
            file = File(spec, spec.compile(), _from_anywhere(spec))
        except ValueError as error:
            wanting = [f" It is the file of mesh {m.name!r}." for m in spec.meshes if f"'{m.file}'" in str(error)]
            raise ValueError(f"{where} does not compile: {_said(error)}{''.join(wanting)}") from None
    if not file.compiled.opt.timestep > 0:
        raise ValueError(f"{where} has the timestep {file.compiled.opt.timestep:g} s; it must be above 0.")
    for message in dict.fromkeys(_flat(warning.message) for warning in said):
        warnings.warn(f"{where}: {message}", stacklevel=4)
    return file


def _from_anywhere(spec: Any) -> str:
    """As MJCF that finds its meshes and textures, wherever it is saved."""
    folder = Path(spec.modelfiledir or ".")
    if any(mesh.file for mesh in spec.meshes) or any(field.file for field in spec.hfields):
        spec.meshdir = str((folder / spec.meshdir).resolve())
    if any(texture.file or any(texture.cubefiles) for texture in spec.textures):
        spec.texturedir = str((folder / spec.texturedir).resolve())
    return spec.to_xml()


@contextmanager
def _no_log_file() -> Iterator[None]:
    """Or MuJoCo would note its warnings in the folder where one happens to be."""
    before, quiet = mujoco.MjLogConfig.get(), mujoco.MjLogConfig.get()
    quiet.logto_file = quiet.logto_console = False
    quiet.set()
    try:
        yield
    finally:
        before.set()


def _said(error: ValueError) -> str:
    """An error of MuJoCo's in a line, with what to do about it."""
    said = _flat(error).replace(" The static bodies of the spec were fused before this error, and remain so.", "")
    return said + next((f". {advice}" for words, advice in ADVICE.items() if words in said), "")


def _loop(text: str) -> str:
    """The links of a URDF that hang from each other in a ring, of which MuJoCo only says that it finds no root."""
    try:
        joints = ElementTree.fromstring(text).findall("joint")
    except ElementTree.ParseError:
        return ""
    parents = {child.get("link"): above.get("link") for j in joints for child in j.findall("child")
               for above in j.findall("parent")}  # fmt: skip
    for link in parents:
        way = [link]
        while way[-1] in parents and way.count(way[-1]) == 1:
            way.append(parents[way[-1]])
        if way.count(way[-1]) > 1:
            ring = way[way.index(way[-1]) :]
            return f". The links {' -> '.join(map(str, ring))} hang from each other in a loop; a robot is a tree."
    return ""


def _flat(message: Exception | str) -> str:
    return " ".join(str(message).split())
