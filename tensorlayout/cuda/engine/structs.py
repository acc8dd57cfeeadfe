"""Structs and constants of kernels, read from the sources in ``kernels/``; common structs.

A plan packs a struct once; a launch rewrites its pointers and scalars.

Structs and constants are declared once, next to the kernels that use them, in the few forms of C++
that ``kernels/README.md`` lists. ``tests/cuda/test_kernel_contract.py`` compares the results of
this file with those of a compiler.

>>> struct_type("include/indexing.cuh", "Divisor<int32_t>")(7, 613566757, 2).magic
613566757
>>> constant_value("include/padding.cuh", "PADDING_PER_THREAD * THREADS")
1024
"""

from __future__ import annotations

import ctypes
import functools
import keyword
import operator
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tensorlayout.layout import Axis
from tensorlayout.layout.digits import Bound, TiledLoop
from tensorlayout.support.interning import memoize
from tensorlayout.support.kernel_sources import kernel_directory

_FOLDER = kernel_directory()

_COMMENT = re.compile(r" *//[^\n]*")
_INCLUDE = re.compile(r'^#include "(\w+\.cuh)"', re.MULTILINE)
# Groups of _STRUCT: template parameters, name with special arguments, members. Of _MEMBERS: type,
# the * of a pointer, names with lengths. Of _ENUM: name, stored type, enumerators. Of _CONSTANTS:
# template parameters, a list of NAME = VALUE.
_TEMPLATE = r"^(?:template <(.*)>\s+)?"
_STRUCT = re.compile(_TEMPLATE + r"struct (\w+(?:<.*>)?) \{\n((?:.*\n)*?)\};", re.MULTILINE)
_MEMBERS = re.compile(r"^    (?:const )?(\w+(?:<[^;]*>)?)(\*?) ([^;(){}=]+);", re.MULTILINE)
_MEMBER = re.compile(r"(\w+)((?:\[[^]]*\])*)")
_LENGTH = re.compile(r"\[([^]]*)\]")
_ENUM = re.compile(r"^enum (\w+)(?: : (\w+))? \{\s*([^}]*?)\s*\};", re.MULTILINE)
_CONSTANTS = re.compile(_TEMPLATE + r"constexpr \w+ ([^;{]*);", re.MULTILINE)
_CONSTANT = re.compile(r"(\w+(?:<[^>]*>)?) = ([^,;]+)")
_MACRO = re.compile(r"^#define (\w+) (\d+)$", re.MULTILINE)
_WORDS = re.compile(r"(\W+)")

_SCALARS: dict[str, Any] = {
    **{f"{sign}int{bits}_t": getattr(ctypes, f"c_{sign}int{bits}")
       for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "bool": ctypes.c_bool,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
}  # fmt: skip
# Operators that may occur in constant expressions.
OPERATORS: dict[str, Callable[[int, int], int]] = {
    "<=": operator.le,
    ">": operator.gt,
    "==": operator.eq,
    "!=": operator.ne,
    "+": operator.add,
    "*": operator.mul,
}


@functools.cache
def read_without_comments(file: str) -> str:
    """Return the text of a kernel file without comments."""
    with open(os.path.join(_FOLDER, file), encoding="utf-8") as opened:
        return _COMMENT.sub("", opened.read())


def substitute_words(text: str, values: Mapping[str, object]) -> str:
    """Return the text with words replaced by values."""
    return "".join([str(values.get(word, word)) for word in _WORDS.split(text)])


@functools.cache
def _cpp_structs_and_constants(file: str) -> dict[str, tuple[str, list[str], str]]:
    """Return the definitions of a file and its headers: {name: (file, template parameters, text)}.

    The text is the members of a struct, the type of an enum, or the value of a constant. The name
    of a template specialisation includes its special arguments, as in "Walk<0>".
    """
    text, definitions = read_without_comments(file), dict[str, tuple[str, list[str], str]]()

    def add_definition(name: str, meaning: str, template: str) -> None:
        parameters = [parameter.split()[-1] for parameter in template.split(", ") if parameter]
        # A specialisation is found under the arguments that are special: "Walk<0, Index, N>" of the
        # parameters Index and N is stored as "Walk<0>".
        base, special, arguments = name.rstrip(">").partition("<")
        if special:
            own, parameters = parameters, arguments.split(", ")
            base += (
                f"<{', '.join([parameter for parameter in parameters if parameter not in own])}>"
            )
        definitions[base] = file, parameters, meaning

    for header in _INCLUDE.findall(text):
        definitions |= _cpp_structs_and_constants(f"include/{header}")
    for template, name, members in _STRUCT.findall(text):
        add_definition(name, members, template)
    for template, constants in _CONSTANTS.findall(text):
        for name, value in _CONSTANT.findall(constants):
            add_definition(name, value, template)
    definitions |= {name: (file, [], number) for name, number in _MACRO.findall(text)}
    for kind, stored, names in _ENUM.findall(text):
        definitions |= {name: (file, [], str(n)) for n, name in enumerate(re.split(r",\s*", names))}
        definitions[kind] = file, [], stored
    return definitions


def _resolve_definition(file: str, name: str, constants: dict[str, int]) -> tuple[str, str, str]:
    """Return the file that defines a name, and the name and text with constants substituted."""
    definitions = _cpp_structs_and_constants(file)
    base, special, inside = name.rstrip(">").partition("<")
    arguments = [
        argument if argument in _SCALARS else str(_evaluate_constant(file, argument, constants))
        for argument in (inside.split(", ") if special else ())
    ]
    if special:
        name = f"{base}<{', '.join(arguments)}>"
        base = next(
            (argument for argument in (name, f"{base}<{arguments[0]}>") if argument in definitions),
            base,
        )
    where, parameters, text = definitions.get(base, (file, [], ""))
    if not text or len(parameters) != len(arguments):
        raise ValueError(f"cuda: {file}: {name} is not defined")
    values = constants | dict(zip(parameters, arguments, strict=True))
    return where, name, substitute_words(text, values)


@functools.cache
def struct_type(file: str, name: str, **constants: int) -> Any:
    """Return the ctypes type for the name of a struct, or of a scalar type, in a file of kernels.

    Members have their C++ names; Python keywords get a ``_`` at the end. Pointers are 64-bit
    integers. `constants`: values of macros that the plan defines. Raises ValueError for an unknown
    name.
    """
    if name in _SCALARS:
        return _SCALARS[name]
    where, name, text = _resolve_definition(file, name, constants)
    fields = []
    for kind, pointer, members in _MEMBERS.findall(text):
        member_type = ctypes.c_uint64 if pointer else struct_type(where, kind, **constants)
        for member, lengths in _MEMBER.findall(members):
            array = member_type
            for length in reversed(_LENGTH.findall(lengths)):
                array *= _evaluate_constant(where, length, constants)
            fields.append((member + "_" * keyword.iskeyword(member), array))
    return _SCALARS.get(text) or _make_structure_class(name, tuple(fields))


# ctypes accepts a nested struct only from its own class, so threads that begin at once must share
# one.
@memoize
def _make_structure_class(name: str, fields: tuple[tuple[str, Any], ...]) -> Any:
    return type(name, (ctypes.Structure,), {"_fields_": fields})


@functools.cache
def constant_value(file: str, name: str, **constants: int) -> int:
    """Return the value of a C++ constant expression of a kernel file."""
    return _evaluate_constant(file, name, constants)


def _evaluate_constant(file: str, text: str, constants: dict[str, int]) -> int:
    """Evaluate a number, a constant, ``A + B``, or ``CONDITION ? A : B``."""
    condition, question, rest = text.partition(" ? ")
    if question:
        yes, _, no = rest.partition(" : ")
        return _evaluate_constant(
            file, yes if _evaluate_constant(file, condition, constants) else no, constants
        )
    match text.split(" "):
        case [left, sign, right] if sign in OPERATORS:
            values = (
                _evaluate_constant(file, left, constants),
                _evaluate_constant(file, right, constants),
            )
            return int(OPERATORS[sign](*values))
    if text.isdigit():
        return int(text)
    where, _, meaning = _resolve_definition(file, text, constants)
    return _evaluate_constant(where, meaning, constants)


# ---- Divisions and walks

# Ranks for which most kernels have loops of known length.
RANKS = (1, 2, 3, 4)

_Divisor32 = struct_type("include/indexing.cuh", "Divisor<int32_t>")
_Divisor64 = struct_type("include/indexing.cuh", "Divisor<int64_t>")


def divisor32_struct(number: int) -> Any:
    """Return the constants for ``n / number`` with n below 2**31; 1 <= number < 2**31.

    >>> divisor = divisor32_struct(7)
    >>> ((100 * divisor.magic >> 32) + 100) >> divisor.shift
    14
    """
    shift = (number - 1).bit_length()
    # By Granlund and Montgomery (1994). The full multiplier, 2**32 + magic, has 33 bits; the kernel
    # multiplies by the low 32 of them and adds n for the highest one.
    magic = ((1 << 32) * ((1 << shift) - number)) // number + 1
    return _Divisor32(number, magic, shift)


def divisor_struct(index_c_type: str, number: int) -> Any:
    """Return ``Divisor<index>`` for a positive number."""
    return divisor32_struct(number) if index_c_type == "int32_t" else _Divisor64(number)


def fill_walk(walk: Any, axes: Sequence[Axis]) -> None:
    """Fill a ``Walk`` with axes, slowest first; a fixed rank gets leading axes of size 1."""
    index = "int32_t" if walk.size._type_ is _Divisor32 else "int64_t"
    # A walk of any rank has a member `rank` and room for more axes; the others need all theirs.
    least = 1 if hasattr(walk, "rank") else len(walk.size)
    all_axes = [*[Axis(1, (0,) * len(walk.stride))] * (least - len(axes)), *axes]
    for d, axis in enumerate(all_axes):
        walk.size[d] = divisor_struct(index, axis.size)
        for memory, stride in enumerate(axis.strides):
            walk.stride[memory][d] = stride
    if hasattr(walk, "rank"):
        walk.rank = len(all_axes)


# ---- Walks over tiled layouts with masked tails: ``bounded.cuh``

MOST_DIGITS = constant_value("include/bounded.cuh", "MOST_DIGITS")
_MOST_BOUNDS = constant_value("include/bounded.cuh", "MOST_BOUNDS")

# Kernels have 32 bits for indices along a dimension with a tail.
_FEWER_THAN = 2**31


def fits_bounded_walk(loop: TiledLoop) -> bool:
    """Return whether a ``BoundedWalk`` can hold the loop's axes and bounds."""
    few = len(loop.axes) <= MOST_DIGITS and len(loop.bounds) <= _MOST_BOUNDS
    return few and loop.index_upper_bound < _FEWER_THAN


def bounded_walk_struct(loop: TiledLoop, memories_in_packs: Sequence[int], pack: int) -> Any:
    """Return a ``BoundedWalk`` over packs.

    `memories_in_packs`: memories whose strides count packs.
    """
    rank, packs = len(loop.axes), loop.loop_over_packs(pack, memories_in_packs)
    walk = struct_type(
        "include/bounded.cuh", f"BoundedWalk<{loop.index_c_type}, {len(loop.firsts)}>"
    )()
    fill_walk(walk, packs.axes)
    walk.bounds = bounds_struct(loop.bounds)
    for b, weights in enumerate(packs.weights):
        walk.weight[b][:rank] = weights
    return walk


def bounds_struct(bounds: Sequence[Bound]) -> Any:
    """Return ``Bounds``, filled up with bounds that contain all indices."""
    missing = [Bound(0, 1, 1)] * (_MOST_BOUNDS - len(bounds))
    return struct_type("include/bounded.cuh", "Bounds")(*zip(*bounds, *missing, strict=True))
