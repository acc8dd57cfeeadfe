"""CuTe's notation of layouts, ``shape:stride`` with modes inside of modes.

A dimension is a mode. CuTe counts coordinates colexicographically, so a mode of several digits
begins with the fastest; parts begin with the slowest. Source: CUTLASS, "CuTe Layouts".
`Layout.to_cute` and `Layout.from_cute` do the same with more options.
"""

from __future__ import annotations

import math
import re
from ast import literal_eval
from collections.abc import Iterator, Sequence
from operator import index as as_int
from typing import Any, NamedTuple, TypeAlias

from tensorlayout.errors import cut, named, refuse, shown
from tensorlayout.formats.blocks import checked
from tensorlayout.layout import (
    MAX_PARTS,
    MAX_RANK,
    Layout,
    Padding,
    PaddingValue,
    Part,
    Parts,
    checked_padding,
    checked_sizes,
    slots,
)

__all__ = ["CuteLayout", "read", "write"]

Mode: TypeAlias = "int | tuple[Mode, ...]"

_SIDES = r"(?a)((?:-?\d|[\s(),])*):((?:-?\d|[\s(),])*)"
_STATIC = r"(?a)(?<![-\w])_(?=-?\d)"  # of static integers C++ prints _4 and _-4
_MOST_LEVELS = 64
_MOST_MODES = 2 * MAX_RANK * MAX_PARTS  # with those that hold others
_NAME = "from_cute"  # whose errors are told


class CuteLayout(NamedTuple):
    """A layout in CuTe's terms: modes, nested alike, and what is not part of CuTe's layouts.

    `shape` and `stride`: as ``make_layout`` takes them; sizes and strides count elements. `offset`:
    the slot of coordinate 0, by which CuTe's pointer is moved. Its text is CuTe's, without offset.

    >>> from tensorlayout.formats.cute import CuteLayout
    >>> str(CuteLayout((3, (2, 2)), (2, (1, 6))))
    '(3,(2,2)):(2,(1,6))'
    """

    shape: Mode
    stride: Mode
    offset: int = 0

    def __str__(self) -> str:
        return f"{_text(self.shape)}:{_text(self.stride)}"


def _text(mode: Mode) -> str:
    return str(mode) if isinstance(mode, int) else f"({','.join(map(_text, mode))})"


def read(
    shape: Sequence[int], source: Any, padding_value: Padding | str = PaddingValue.UNSPECIFIED
) -> Layout:
    """The layout of `shape` that CuTe writes so: `Layout.from_cute`.

    `source`: text, a pair (shape, stride), a triple with an offset, such as a `CuteLayout`, or a
    layout of a library of CuTe's; its modes may be larger than the sizes, which is padding and
    holds `padding_value`. ValueError and TypeError as there.

    >>> from tensorlayout import formats
    >>> formats.cute.read((4, 3), "((2,2),3):((1,6),2)")
    Layout.parse('(4,3):(2*6+2*1,2)')
    """
    return Layout.from_cute(source, shape, padding_value=padding_value)


def write(layout: Layout) -> CuteLayout:
    """The shape, the stride and the offset of `layout`, with all of its padding: `Layout.to_cute`.

    The bits of an element belong to CuTe's element type. ValueError for a view that ends inside a
    tile that is not its padding. TypeError for what is no layout.

    >>> from tensorlayout import Layout, formats
    >>> print(formats.cute.write(Layout.padded((2, 3), (2, 4))))
    (2,4):(4,1)
    """
    return cute_of(checked(layout, bits=True), padded=True)


# --- to ------------------------------------------------------------------------------------------


def cute_of(layout: Layout, padded: bool | None) -> CuteLayout:
    """What `Layout.to_cute` gives."""
    modes: list[tuple[Mode, Mode]] = []
    for dim, (size, whole, parts) in enumerate(
        zip(layout.shape, layout.padded_shape, layout.parts, strict=True)
    ):
        tiles = math.prod(extent for extent, _ in parts)
        if whole != size and padded is None:
            rule = f"dimension {dim} has {whole} slots for a size of {size}, and CuTe no padding"
            fix = "padded=True gives the whole block, padded=False the elements alone"
            refuse("to_cute", f"{rule}; {fix}, got {cut(layout)}")
        if tiles != size and (not padded or tiles > whole):
            rule = f"dimension {dim} of size {size} ends inside a tile, which no mode says"
            owned = "padded=True gives whole tiles" if tiles <= whole else "it owns no padding"
            refuse("to_cute", f"{rule}; {owned}, got {cut(layout)}")
        digits = slots.spanning(parts, whole) if padded else parts
        extents, strides = zip(*reversed(digits), strict=True)
        modes.append((extents, strides) if len(parts) > 1 else digits[0])
    shape, stride = zip(*modes, strict=True) if modes else ((), ())
    return CuteLayout(shape, stride, layout.offset)


# --- from ----------------------------------------------------------------------------------------


def fields_of(
    source: Any, shape: Sequence[int] | None, padding_value: Padding | str
) -> dict[str, Any]:
    """The arguments of `Layout` that a layout of CuTe says, cut to a `shape`."""
    sizes, strides, offset = _read(source)
    modes, room = _modes(sizes, strides), iter(range(_MOST_MODES))
    dims: list[Parts] = []
    for mode in [(sizes, strides)] if modes is None else modes:
        digits = tuple(_digits(*mode, room))
        has_indices = all(extent for extent, _ in digits[1:])
        dims.append(digits if has_indices else ((0, digits[0][1]),))
    whole = tuple(math.prod(extent for extent, _ in parts) for parts in dims)
    kept = whole if shape is None else checked_sizes("shape", shape)
    if len(kept) != len(whole) or any(n > most for n, most in zip(kept, whole, strict=True)):
        rule = f"shape must have a size for each mode, at most {shown(whole)}"
        refuse(_NAME, f"{rule}, got {shown(kept)}")
    parts = list(map(slots.spanning, dims, kept))
    value, block = checked_padding(padding_value), slots.covers_block(parts, whole)
    if value is not PaddingValue.UNSPECIFIED and not block:
        rule = "the modes are no block without gaps, and own no padding that could hold a value"
        refuse(_NAME, f"{rule}, got {shown(source)} with padding_value={shown(padding_value)}")
    padded = whole if block else None
    said = {"shape": kept, "parts": parts, "offset": offset, "padded_shape": padded}
    return said | {"padding_value": value}


def _modes(size: Any, stride: Any) -> list[tuple[Any, Any]] | None:
    """The modes that two modes, which are nested alike, are made of; None for two integers."""
    nested = [isinstance(mode, (tuple, list)) for mode in (size, stride)]
    if nested == [False, False]:
        return None
    if nested == [True, True] and len(size) == len(stride):
        return list(zip(size, stride, strict=True))
    came = f"{shown(size)} and {shown(stride)}"
    return refuse(_NAME, f"stride must be nested as shape is, got {came}")


def _digits(size: Any, stride: Any, room: Iterator[int], level: int = 0) -> Iterator[Part]:
    """The extents and strides of a mode, from the slowest digit to the fastest.

    A tuple may hold itself, or another one many times over.
    """
    if next(room, None) is None or level > _MOST_LEVELS:
        rule = f"at most {_MOST_LEVELS} levels of modes, and {_MOST_MODES} in all, are allowed"
        refuse(_NAME, rule)
    modes = _modes(size, stride)
    if modes is None:
        extent, step = _integer(size), _integer(stride)
        if extent < 0:
            refuse(_NAME, f"sizes must not be negative, got {shown(extent)}")
        yield extent, step
        return
    for sizes, strides in reversed(modes):
        yield from _digits(sizes, strides, room, level + 1)
    if not modes:
        yield 1, 1


def _read(source: Any) -> tuple[Any, Any, int]:
    offset: Sequence[int] = ()
    if isinstance(source, str):
        sizes, strides = _read_text(source)
    elif isinstance(source, (tuple, list)) and len(source) in (2, 3):  # with an offset
        sizes, strides, *offset = source
    else:  # of another library, without an offset
        try:
            sizes, strides = source.shape, source.stride
        except AttributeError:
            rule = "must be text such as '((2,2),3):((1,6),2)', a pair (shape, stride), or a layout"
            text = f"source {rule} with both and no swizzle, got {shown(source)}"
            raise named(_NAME, TypeError(text)) from None
    return sizes, strides, _integer(offset[0]) if offset else 0


def _integer(number: Any) -> int:
    try:
        return as_int(number)
    except TypeError:
        rule = f"sizes and strides must be integers in tuples, got {shown(number)}"
        raise named(_NAME, TypeError(rule)) from None
    except Exception:  # whatever the numbers of a stranger raise that a kernel alone knows
        rule = "shape and stride must be static, not known only as a kernel runs"
        return refuse(_NAME, f"{rule}, got {shown(number)}")


def _read_text(text: str) -> tuple[Any, Any]:
    """The two sides of ``shape:stride``: Python's tuples, but for the comma of a single mode."""
    plain = re.sub(_STATIC, "", re.sub(" ?([(),:]) ?", r"\1", " ".join(text.split())))
    sides = re.fullmatch(_SIDES, re.sub(r"(?<![(,])\)", ",)", plain))
    try:
        if sides is not None:
            (size,), (stride,) = (literal_eval(f"[{side}]") for side in sides.groups())
            return size, stride
    except (SyntaxError, ValueError, MemoryError):
        pass
    rule = "must have the form shape:stride as in ((2,2),3):((1,6),2)"
    if "o" in text.lower() or "@" in text:
        rule += "; swizzles, composed layouts and strides of several bases are no strides"
    elif "?" in text:
        rule += "; sizes and strides that are not known yet are no layout"
    return refuse(_NAME, f"{rule}, got {shown(text, 200)}")
