"""The structs of ``kernels/tiles.cuh``: a box that goes through shared memory, packed."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from typing import Any

from tensorlayout.cuda.boxes import Box
from tensorlayout.cuda.launches import struct_type
from tensorlayout.cuda.parameters import MAX_RANK, Divisor32, divisor32


class SideStruct(ctypes.Structure):
    """``Side``."""

    _fields_ = (
        ("stride", ctypes.c_int64 * 3),
        ("extent", Divisor32 * 2),
        ("rows", Divisor32),
        ("row", Divisor32 * 2),
        ("plane", Divisor32 * 2),
        ("shared", ctypes.c_int32 * 3),
        ("dimension", ctypes.c_int32 * 3),
        ("run", ctypes.c_int32),
        ("single", ctypes.c_int32),
        ("sector", ctypes.c_int32),
        ("slack", ctypes.c_int32),
    )


@functools.cache
def boxes_type(memories: int) -> Any:
    """``Boxes<memories>``."""
    return struct_type(
        "Boxes",
        size=ctypes.c_int64 * 3,
        step=(ctypes.c_int64 * 3) * memories,
        outer=(ctypes.c_int64 * MAX_RANK) * memories,
        outer_size=Divisor32 * MAX_RANK,
        boxes=Divisor32 * 3,
        extent=ctypes.c_int32 * 3,
        outer_rank=ctypes.c_int32,
    )


def boxes_struct(box: Box) -> Any:
    """Which box each block has."""
    axes = box.nest.axes
    memories = range(len(box.nest.widths))
    members = [axes[k] for k in box.axes]
    missing = 3 - len(members)
    made = boxes_type(len(memories))()
    made.size[:] = [axis.size for axis in members] + [1] * missing
    made.extent[:] = [*box.extents, *[1] * missing]
    made.boxes[:] = [divisor32(n) for n in (*box.counts, *[1] * missing)]
    outer = [axis for k, axis in enumerate(axes) if k not in box.axes][::-1]
    made.outer_rank = len(outer)
    for d, axis in enumerate(outer):
        made.outer_size[d] = divisor32(axis.size)
    for memory in memories:
        made.step[memory][: len(members)] = [axis.strides[memory] for axis in members]
        made.outer[memory][: len(outer)] = [axis.strides[memory] for axis in outer]
    return made


def side_struct(box: Box, memory: int) -> SideStruct:
    """How one memory is walked; its strides in the tile are left to the caller."""
    side = box.sides[memory]
    made = SideStruct(run=side.run, single=side.single, sector=side.sector, slack=side.slack)
    order = [*side.order, *range(len(side.order), 3)]
    extents = [*box.extents, 1, 1]
    made.dimension[:] = order
    made.stride[:] = in_order(made, [box.nest.axes[k].strides[memory] for k in box.axes])
    made.extent[:] = [divisor32(extents[k]) for k in order[:2]]
    last = order[side.run - 1]
    inner = box.inner(order, side.run) * box.nest.widths[memory]
    rest = box.nest.axes[box.axes[last]].size % extents[last]
    lengths = [inner * n // side.unit for n in (extents[last], rest or extents[last])]
    rows = extents[order[side.run]] if side.run < 3 else 1
    made.rows = divisor32(rows)
    made.row[:] = [divisor32(side.row(n)) for n in lengths]
    made.plane[:] = [divisor32(side.plane(rows, n)) for n in lengths]
    return made


def in_order(side: SideStruct, numbers: Sequence[int]) -> list[int]:
    """Numbers of the box's axes, in the order in which a side has them."""
    return [numbers[k] if k < len(numbers) else 0 for k in side.dimension]
