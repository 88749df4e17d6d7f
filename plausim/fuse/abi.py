"""Where the fields of XLA's FFI structs lie, read from the C header that jaxlib ships.

    offset(header, "XLA_FFI_CallFrame.args.size")   bytes from the start of the struct, through nested structs
    size(header, "XLA_FFI_Error_Create_Args")       what the struct's own `struct_size` field must say
    constant(header, "XLA_FFI_API_MINOR")           a `#define` or a member of an enum

The header is not compiled but read, because a user has no C compiler. It is plain C with few kinds of declaration;
whatever is not understood raises `AbiError`, but only when a struct that is asked for depends on it.
"""

import ctypes
import functools
import re
from pathlib import Path
from typing import NamedTuple

import jax

_BYTES = {"size_t": 8, "int64_t": 8, "uint64_t": 8, "int32_t": 4, "uint32_t": 4, "int": 4, "char": 1, "uint8_t": 1}
_POINTER = 8


class AbiError(RuntimeError):
    """XLA's C header does not say what a handler must know; run the step by `lax.scan` instead."""


class Header(NamedTuple):
    """The parts of `c_api.h`, by name."""

    structs: dict[str, str]  # name -> the text between its braces
    aliases: dict[str, str]  # typedef name -> what it stands for
    enums: frozenset[str]
    constants: dict[str, int]


class Layout(NamedTuple):
    """One struct in memory; `end` is where the last field ends, without the padding after it."""

    fields: dict[str, tuple[str, int]]  # name -> (type, offset)
    end: int
    align: int


@functools.cache
def installed() -> Header:
    """The header of the jaxlib that is running."""
    path = Path(jax.ffi.include_dir()) / "xla" / "ffi" / "api" / "c_api.h"
    if ctypes.sizeof(ctypes.c_void_p) != _POINTER:
        raise AbiError(f"Pointers have {ctypes.sizeof(ctypes.c_void_p)} bytes here; fused kernels need 64-bit Python.")
    try:
        return parse(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise AbiError(f"Cannot read XLA's FFI header at {path} ({error}); reinstall jaxlib.") from error


def parse(text: str) -> Header:
    """Split the header's text into structs, enums, typedefs and constants."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    constants = {name: int(value) for name, value in re.findall(r"#define\s+(\w+)\s+(\d+)\s*$", text, re.MULTILINE)}
    enums = {name: body for body, name in re.findall(r"\benum\s*\{([^{}]*)\}\s*(\w+)\s*;", text)}
    for body in enums.values():
        constants |= {name: int(value) for name, value in re.findall(r"(\w+)\s*=\s*(\d+)\s*(?:,|$)", body.strip())}
    structs = dict(re.findall(r"\bstruct\s+(\w+)\s*\{([^{}]*)\}", text))
    aliases = {name: target for target, name in re.findall(r"\btypedef\s+(?:struct\s+)?(\w+)\s+(\w+)\s*;", text)}
    return Header(structs, aliases, frozenset(enums), constants)


def constant(header: Header, name: str) -> int:
    if name not in header.constants:
        raise AbiError(f"XLA's FFI header defines no constant {name}.")
    return header.constants[name]


def offset(header: Header, path: str) -> int:
    """Bytes from the start of a struct to a field: "XLA_FFI_CallFrame.args.size"."""
    kind, *names = path.split(".")
    total = 0
    for name in names:
        fields = layout(header, kind).fields
        if name not in fields:
            raise AbiError(f"{kind} in XLA's FFI header has no field {name} (of {path}); it has {', '.join(fields)}.")
        kind, start = fields[name]
        total += start
    return total


def size(header: Header, struct: str) -> int:
    """The value of `struct_size`: XLA counts to the end of the last field, without padding."""
    return layout(header, struct).end


def layout(header: Header, struct: str) -> Layout:
    """Place the fields of a struct as C does on every 64-bit platform: each at a multiple of its own alignment."""
    struct = _resolve(header, struct)
    if struct not in header.structs:
        raise AbiError(f"XLA's FFI header defines no struct {struct}.")
    fields: dict[str, tuple[str, int]] = {}
    end, align = 0, 1
    for declaration in filter(None, (part.strip() for part in header.structs[struct].split(";"))):
        kind, name = _declaration(declaration, struct)
        extent, alignment = _extent(header, kind, f"{struct}.{name}")
        start = _round_up(end, alignment)
        fields[name] = (kind, start)
        end, align = start + extent, max(align, alignment)
    return Layout(fields, end, align)


def _declaration(text: str, struct: str) -> tuple[str, str]:
    """The type and name of one field; every pointer is "*"."""
    if found := re.fullmatch(r"_XLA_FFI_API_STRUCT_FIELD\((\w+)\)", text):  # the functions of XLA_FFI_Api
        return "*", found[1]
    if found := re.fullmatch(r"[\w\s*]+\(\s*\*\s*(\w+)\s*\)\s*\(.*\)", text, re.DOTALL):  # a pointer to a function
        return "*", found[1]
    if found := re.fullmatch(r"([\w\s*]+[\s*])(\w+)", text):
        words = [word for word in found[1].split() if word not in ("const", "struct")]
        if "*" in found[1]:
            return "*", found[2]
        if len(words) == 1:
            return words[0], found[2]
    raise AbiError(f"Cannot read the field `{text}` of {struct} in XLA's FFI header.")


def _extent(header: Header, kind: str, where: str) -> tuple[int, int]:
    """Size and alignment of a type."""
    kind = _resolve(header, kind)
    if kind == "*":
        return _POINTER, _POINTER
    if kind in header.enums:
        return _BYTES["int"], _BYTES["int"]
    if kind in _BYTES:
        return _BYTES[kind], _BYTES[kind]
    if kind in header.structs:
        inner = layout(header, kind)
        return _round_up(inner.end, inner.align), inner.align
    raise AbiError(f"{where} in XLA's FFI header has the unknown type {kind}.")


def _resolve(header: Header, kind: str) -> str:
    """Follow typedefs; `typedef struct X X` stands for itself."""
    while kind not in header.structs and header.aliases.get(kind, kind) != kind:
        kind = header.aliases[kind]
    return kind


def _round_up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple
