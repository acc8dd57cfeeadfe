"""The structs and constants of the kernels as ctypes and Python see them, read from ``kernels/``.

>>> struct("include/indexing.cuh", "Divisor<int32_t>")(7, 613566757, 2).magic
613566757
>>> constant("include/padding.cuh", "PADDING_REGIONS")
4
"""

from __future__ import annotations

import ctypes
import keyword
import re
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from tensorlayout.cuda.engine.cpp_text import Scope, closing, file_of, refuse, split
from tensorlayout.layout.once import once

_SCALARS: dict[str, Any] = {
    **{f"{sign}int{bits}_t": getattr(ctypes, f"c_{sign}int{bits}")
       for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "bool": ctypes.c_bool,
    "int": ctypes.c_int32,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
}  # fmt: skip

_STATEMENT = re.compile(r"[^;{]*[;{]")
_CONSTANT = re.compile(r"static\s+constexpr\s+\w+\s+(\w+)\s*=(.*)", re.DOTALL)
_TYPE = re.compile(r"(?:const\s+)?(\w+)\s*")
_DECLARATOR = re.compile(r"(\**)\s*(?:const\s+)?(\w+)\s*((?:\[[^\]]*\]\s*)*)")

# Structs of the same members are one class, whichever file asks first.
_classes: dict[tuple[Any, ...], Any] = {}


def struct(file: str, name: str, **constants: int) -> Any:
    """The ctypes structure that a struct's name means in a file of kernels.

    Members have their names in C++; those that are Python's words have a ``_`` behind. Pointers are
    64-bit integers. `constants`: those that the file leaves to ``#if``. ValueError for what is no
    such struct.
    """
    return _struct(file, name, *constants.items())


def constant(file: str, name: str, **constants: int) -> int:
    """The value of a constant, or of an expression of them, as in ``MOST<3, int32_t>``."""
    return _constant(file, name, *constants.items())


@once
def _struct(file: str, name: str, *constants: tuple[str, int]) -> Any:
    return _scope(file, constants).type(name)


@once
def _constant(file: str, name: str, *constants: tuple[str, int]) -> int:
    return _scope(file, constants).value(name)


def _scope(file: str, constants: tuple[tuple[str, int], ...]) -> Scope:
    return Scope(file_of(file), {}, dict(constants), type_of)


def type_of(scope: Scope, text: str) -> Any:
    """The ctypes type that a type's name means in a scope."""
    text = text.removeprefix("const ").strip()
    if text.endswith("*"):
        return ctypes.c_uint64
    name, _, rest = text.partition("<")
    name = name.strip()
    known = scope.names.get(name, _SCALARS.get(name))
    if isinstance(known, type):
        return known
    found = scope.file.definitions(name)
    if found and found[0].kind == "enum":
        return _SCALARS[found[0].text]
    definition, inside = scope.definition(name, "struct", split(rest.removesuffix(">")))
    fields = tuple(_fields(inside, definition.text))
    key = definition.file.path, name, fields
    if key not in _classes:
        _classes.setdefault(key, type(name, (ctypes.Structure,), {"_fields_": fields}))
    return _classes[key]


def _fields(scope: Scope, body: str) -> Iterator[tuple[str, Any]]:
    """The members of a struct; functions, names of types and constants are none."""
    for statement in _statements(body):
        known = _CONSTANT.fullmatch(statement)
        if known:
            scope.names[known[1]] = scope.value(known[2])
        elif not statement.startswith(("using ", "static_assert")):
            yield from _members(scope, statement)


def _statements(body: str) -> Iterator[str]:
    """What ends with a semicolon; definitions of functions are left out."""
    body, at = re.sub(r"^\s*#.*", "", body, flags=re.MULTILINE), 0
    while found := _STATEMENT.match(body, at):
        at = found.end()
        if body[at - 1] == "{":
            at = closing(body, at - 1) + 1
        elif found[0].strip() != ";":
            yield found[0][:-1].strip()


def _members(scope: Scope, statement: str) -> Iterator[tuple[str, Any]]:
    found = _TYPE.match(statement)
    if not found:
        refuse(scope.file, f"the member {statement!r}")
    end = found.end()
    if statement.startswith("<", end):
        depths = accumulate((sign == "<") - (sign == ">") for sign in statement[end:])
        end += [*depths].index(0) + 1
    kind, declared = statement[:end], statement[end:].strip()
    for each in split(declared):
        part = _DECLARATOR.fullmatch(each)
        if not part:
            refuse(scope.file, f"the member {statement!r}")
        made = ctypes.c_uint64 if part[1] else scope.type(kind)
        for size in reversed(re.findall(r"\[([^\]]*)\]", part[3])):
            made = made * scope.value(size)
        yield part[2] + "_" * keyword.iskeyword(part[2]), made
