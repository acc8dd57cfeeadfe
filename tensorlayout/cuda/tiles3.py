"""The structs of ``kernels/tiles.cuh``: a box that goes through shared memory, packed."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from tensorlayout.cuda.bounded import MOST_BOUNDS
from tensorlayout.cuda.boxes import DEEPEST, Box
from tensorlayout.cuda.launches import struct_type
from tensorlayout.cuda.parameters import MAX_RANK, Divisor32, divisor32
from tensorlayout.layout.once import once


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


class DeepSideStruct(ctypes.Structure):
    """``DeepSide``."""

    _fields_ = (
        ("stride", ctypes.c_int64 * DEEPEST),
        ("extent", (Divisor32 * DEEPEST) * 2),
        ("row", Divisor32 * 2),
        ("group", (Divisor32 * 2) * 2),
        ("shared", ctypes.c_int32 * DEEPEST),
        ("dimension", ctypes.c_int32 * DEEPEST),
        ("length", ctypes.c_int32 * 2),
        ("turned", ctypes.c_uint32),
        ("rank", ctypes.c_int32),
        ("run", ctypes.c_int32),
        ("grouped", ctypes.c_int32),
        ("sector", ctypes.c_int32),
        ("slack", ctypes.c_int32),
    )


@once
def deep_boxes_type(memories: int, most_outer: int = MAX_RANK) -> Any:
    """``DeepBoxes<memories, most_outer>``."""
    return struct_type(
        "DeepBoxes",
        step=(ctypes.c_int64 * DEEPEST) * memories,
        outer=(ctypes.c_int64 * most_outer) * memories,
        boxes=Divisor32 * DEEPEST,
        outer_size=Divisor32 * most_outer,
        uneven=ctypes.c_uint32,
        rank=ctypes.c_int32,
        outer_rank=ctypes.c_int32,
    )


@once
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
    for memory in memories:
        made.step[memory][: len(members)] = [axis.strides[memory] for axis in members]
    _set_outer(made, box)
    return made


def deep_boxes_struct(box: Box) -> Any:
    """Which box each block has, of any depth."""
    made = deep_boxes_type(len(box.nest.widths))(rank=len(box.axes))
    _set_boxes(made, box)
    _set_outer(made, box)
    return made


def _set_boxes(made: Any, box: Box) -> None:
    """The boxes of a deep one along its own axes."""
    members = [box.nest.axes[k] for k in box.axes]
    for d, (axis, extent, count) in enumerate(zip(members, box.extents, box.counts, strict=True)):
        made.boxes[d] = divisor32(count)
        made.uneven |= (axis.size % extent != 0) << d
        for memory, stride in enumerate(axis.strides):
            made.step[memory][d] = stride * extent


def bounded_boxes_struct(box: Box) -> Any:
    """As `deep_boxes_struct`, with the indices of bounded dimensions as further memories.

    The last box along an axis of such a dimension counts as one that ends early: its rows may.
    """
    memories = len(box.nest.widths)
    made = deep_boxes_type(memories + MOST_BOUNDS, DEEPEST)(rank=len(box.axes))
    _set_boxes(made, box)
    _set_outer(made, box)
    outer = [k for k in range(len(box.nest.axes)) if k not in box.axes][::-1]
    for b, weights in enumerate(box.nest.weights, memories):
        for d, (k, extent) in enumerate(zip(box.axes, box.extents, strict=True)):
            made.step[b][d] = weights[k] * extent
            made.uneven |= (weights[k] != 0) << d
        made.outer[b][: len(outer)] = [weights[k] for k in outer]
    return made


def _set_outer(made: Any, box: Box) -> None:
    """What differs between blocks beside the box's own axes."""
    outer = [axis for k, axis in enumerate(box.nest.axes) if k not in box.axes][::-1]
    made.outer_rank = len(outer)
    for d, axis in enumerate(outer):
        made.outer_size[d] = divisor32(axis.size)
        for memory, stride in enumerate(axis.strides):
            made.outer[memory][d] = stride


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


def deep_side_struct(box: Box, memory: int, pitches: Sequence[int]) -> DeepSideStruct:
    """How one memory is walked in a box of any depth, with the strides of the tile."""
    side, width = box.sides[memory], box.nest.widths[memory]
    order, run = side.order, side.run
    members = [box.nest.axes[box.axes[k]] for k in order]
    whole = [box.extents[k] for k in order]
    early = [axis.size % n or n for axis, n in zip(members, whole, strict=True)]
    grouped = run if side.single or run == len(order) else run + 1
    made = DeepSideStruct(rank=len(order), run=run, grouped=grouped)
    made.sector, made.slack = side.sector, side.slack
    for j, (axis, k) in enumerate(zip(members, order, strict=True)):
        stride = axis.strides[memory]
        made.dimension[j], made.stride[j] = k, abs(stride)
        made.shared[j] = -pitches[k] if stride < 0 else pitches[k]
        made.turned |= (stride < 0) << j
        made.extent[0][j], made.extent[1][j] = divisor32(whole[j]), divisor32(early[j])
    made.length[:] = side.lengths
    for k, length in enumerate(side.lengths):
        accesses = length * width // side.unit
        made.row[k] = divisor32(side.row(accesses))
        for n, extents in enumerate((whole, early)):
            rows = extents[run] if grouped > run else 1
            made.group[k][n] = divisor32(side.plane(rows, accesses))
    return made


def in_order(side: SideStruct, numbers: Sequence[int]) -> list[int]:
    """Numbers of the box's axes, in the order in which a side has them."""
    return [numbers[k] if k < len(numbers) else 0 for k in side.dimension]
