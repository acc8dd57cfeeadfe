"""The structs and constants of the kernels, read from ``kernels/``; and structs that many share.

A plan packs a struct once; a launch rewrites pointers and scalars, which come first.

>>> struct("include/indexing.cuh", "Divisor<int32_t>")(7, 613566757, 2).magic
613566757
>>> constant("include/padding.cuh", "PADDING_REGIONS")
4
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any

from tensorlayout.cuda.engine.cpp_text import NameScope, file_of
from tensorlayout.layout import Axis
from tensorlayout.layout.digits import Bound, TiledLoop


def struct(file: str, name: str, **constants: int) -> Any:
    """The ctypes structure that a struct's name means in a file of kernels.

    Members have their names in C++; those that are Python's words have a ``_`` behind. Pointers are
    64-bit integers. `constants`: those that the file leaves to ``#if``. ValueError for what is no
    such struct.
    """
    return _meaning(file, name, True, *constants.items())


def constant(file: str, name: str, **constants: int) -> int:
    """The value of a constant, or of an expression of them, as in ``MOST<3, int32_t>``."""
    return int(_meaning(file, name, False, *constants.items()))


@functools.cache
def _meaning(file: str, name: str, is_type: bool, *constants: tuple[str, int]) -> Any:
    scope = NameScope(file_of(file), {}, dict(constants))
    return scope.type(name) if is_type else scope.value(name)


# ---- Divisions and walks

# Most kernels of these ranks have loops of known length.
RANKS = (1, 2, 3, 4)

_Divisor32 = struct("include/indexing.cuh", "Divisor<int32_t>")
_Divisor64 = struct("include/indexing.cuh", "Divisor<int64_t>")


def divisor32(number: int) -> Any:
    """The constants of ``n / number`` for n below 2**31; 1 <= number < 2**31.

    >>> divisor = divisor32(7)
    >>> ((100 * divisor.magic >> 32) + 100) >> divisor.shift
    14
    """
    shift = (number - 1).bit_length()
    magic = ((1 << 32) * ((1 << shift) - number)) // number + 1
    return _Divisor32(number, magic, shift)


def divisor(index: str, number: int) -> Any:
    """``Divisor<index>`` of a positive number."""
    return divisor32(number) if index == "int32_t" else _Divisor64(number)


def pack_walk(made: Any, sizes: Sequence[int], strides: Sequence[Sequence[int]]) -> None:
    """Fill a ``Walk``: sizes slowest first, and for each memory its strides."""
    index = "int32_t" if made.size._type_ is _Divisor32 else "int64_t"
    for d, size in enumerate(sizes):
        made.size[d] = divisor(index, size)
    for memory, steps in enumerate(strides):
        made.stride[memory][: len(steps)] = steps
    if hasattr(made, "rank"):
        made.rank = len(sizes)


def pack_axes(made: Any, axes: Iterable[Axis], least: int) -> None:
    """Fill a ``Walk`` by axes; dimensions of size 1 are in front of them if there are too few."""
    given = list(axes)
    ones = [Axis(1, (0,) * len(made.stride))] * (least - len(given))
    sizes, strides, _ = zip(*ones, *given, strict=True)
    pack_walk(made, sizes, list(zip(*strides, strict=True)))


# ---- Walks over tiled layouts with masked tails: ``bounded.cuh``

MOST_DIGITS = constant("include/bounded.cuh", "MOST_DIGITS")
_MOST_BOUNDS = constant("include/bounded.cuh", "MOST_BOUNDS")

# Indices along a dimension with a tail have 32 bits.
_FEWER_THAN = 2**31


def fits_a_walk(loop: TiledLoop) -> bool:
    """Return whether `BoundedWalk` can hold the digits."""
    few = len(loop.axes) <= MOST_DIGITS and len(loop.bounds) <= _MOST_BOUNDS
    return few and loop.bounded_by < _FEWER_THAN


def walk_struct(loop: TiledLoop, counted: Sequence[int], pack: int) -> Any:
    """``BoundedWalk`` over packs; `counted`: the numbers of memories whose strides count packs."""
    rank, packs = len(loop.axes), loop.in_packs(pack, counted)
    made = struct("include/bounded.cuh", f"BoundedWalk<{loop.index}, {len(loop.firsts)}>")()
    pack_walk(made, packs.sizes, packs.strides)
    set_bounds(made.bounds, loop.bounds)
    for b, weights in enumerate(packs.weights):
        made.weight[b][:rank] = weights
    return made


def set_bounds(made: Any, bounds: Sequence[Bound]) -> None:
    """``Bounds``; those that are not there hold all indices."""
    missing = [Bound(0, 1, 1)] * (_MOST_BOUNDS - len(bounds))
    for b, bound in enumerate([*bounds, *missing]):
        made.first[b], made.size[b], made.padded[b] = bound
