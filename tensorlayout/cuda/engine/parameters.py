"""What several families pack into the structs that kernels take: divisors, walks, index types.

A plan packs a struct once; a launch rewrites pointers and scalars, which come first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tensorlayout.cuda.engine.structs import struct
from tensorlayout.layout.loop import Axis
from tensorlayout.layout.loop import index_type as index_type

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
