"""The first elements of sorted lines: one launch for lines of up to a tile. Integers only."""

from __future__ import annotations

import ctypes
from itertools import product
from math import prod
from typing import Any

from tensorlayout.cuda.engine.c_types import c_type
from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.engine.launch import Launch, struct_type
from tensorlayout.cuda.engine.parameters import Divisor32, divisor32, index_type, walk_type
from tensorlayout.cuda.engine.sectors import SECTOR
from tensorlayout.cuda.scan_plan import CAPACITY, TILE, merged, packed_walk
from tensorlayout.cuda.sort_plan import FILE
from tensorlayout.dtypes import DType
from tensorlayout.layout import Layout
from tensorlayout.layout.once import once
from tensorlayout.tensor import TensorSpec

_RANKS = (1, 2, 0)  # of what is around the lines; 0: any

# Room for what an index may go beyond the last element.
_BEYOND = 2**16


def fits(length: int) -> bool:
    """Whether one launch sorts lines of this many elements."""
    return length <= TILE


def plan_leading(
    source: TensorSpec, values: TensorSpec, positions: TensorSpec, dim: int, *, down: bool
) -> Launch | None:
    """The launch that writes as many elements of each line as `values` has; None for none.

    Positions have 4 or 8 bytes. `firsts`: of values, positions and source. Lines are visited as
    the source has them in memory; a tile has as many of them as it has room for.
    """
    layouts = source.layout, values.layout, positions.layout
    layout, length, count = source.layout, source.layout.shape[dim], values.layout.shape[dim]
    assert fits(length), "longer lines are merged"
    if not values.layout.size:
        return None
    around = [d for d in reversed(layout.minor_to_major) if d != dim]
    lines = prod(layout.shape[d] for d in around)
    one = (1, 0, 0, 0)  # where there is nothing around
    others = [(layout.shape[d], *[each.strides[d] for each in layouts]) for d in around]
    walked = merged([one, *others])
    steps = [each.strides[dim] if each.shape[dim] > 1 else 0 for each in layouts]
    together = _together(source, positions, dim, lines)
    reach = [
        sum((n - 1) * abs(stride[m]) for n, *stride in walked) + (length - 1) * abs(steps[m])
        for m in range(3)
    ]
    index = index_type(lines + _BEYOND, max(reach) + _BEYOND)
    rank = len(walked) if len(walked) in _RANKS else 0
    made = leading_type(rank, index)(
        lines=lines,
        step=tuple(steps),
        walk=packed_walk(index, walked),
        line=divisor32(length),
        read=_numbering(layout, dim, length, together),
        written=_numbering(values.layout, dim, count, together),
        together=together,
        leading=count,
        wide=int(positions.dtype.itemsize == 8),
        descending=int(down),
    )
    firsts = tuple(spec.layout.offset * spec.dtype.itemsize for spec in (values, positions, source))
    kernel = _kernel(rank, index, source.dtype)
    return Launch(kernel, -(-lines // together), bytes(made), firsts)


def _together(source: TensorSpec, positions: TensorSpec, dim: int, lines: int) -> int:
    """How many lines share a tile: of those side by side as many as fill sectors, if there is room.

    Else each tile would begin inside of sectors, in every position of its lines.
    """
    length = source.layout.shape[dim]
    if length > CAPACITY:
        return 1
    room = min(CAPACITY // length, lines)
    sector = SECTOR // min(source.dtype.itemsize, positions.dtype.itemsize)
    ragged = room % sector if _is_across(source.layout, dim) and room < lines else 0
    return room - ragged if room > sector else room


def _is_across(layout: Layout, dim: int) -> bool:
    """Whether the neighbours of an element in memory are those of other lines."""
    faster = layout.minor_to_major[: layout.minor_to_major.index(dim)]
    return prod(layout.shape[d] for d in faster) > 1


def _numbering(layout: Layout, dim: int, length: int, together: int) -> _Numbering:
    """Along lines, or across."""
    across = together > 1 and _is_across(layout, dim)
    return _Numbering(divisor32(together if across else length), int(across))


class _Numbering(ctypes.Structure):
    """``Numbering`` of kernels/sort.cu."""

    _fields_ = (("size", Divisor32), ("across", ctypes.c_int32))


@once
def leading_type(rank: int, index: str) -> Any:
    """``LeadingTiles<rank, index>``."""
    number = ctypes.c_int32 if index == "int32_t" else ctypes.c_int64
    return struct_type(
        "LeadingTiles",
        **dict.fromkeys(("values", "positions", "from_"), ctypes.c_uint64),
        lines=number,
        step=number * 3,
        walk=walk_type(rank, index, 3),
        line=Divisor32,
        read=_Numbering,
        written=_Numbering,
        together=ctypes.c_int32,
        leading=ctypes.c_int32,
        wide=ctypes.c_int32,
        descending=ctypes.c_int32,
    )


def _kernel(rank: int, index: str, dtype: DType) -> Kernel:
    types = (("ELEMENT", c_type(dtype)),)
    return Kernel(FILE, "leading_tiles", types, (("RANK", str(rank)), ("INDEX", index)))


def kernels(dtype: DType) -> tuple[Kernel, ...]:
    """All that a plan may ask for, of one dtype."""
    return tuple(_kernel(*shape, dtype) for shape in product(_RANKS, ("int32_t", "int64_t")))
