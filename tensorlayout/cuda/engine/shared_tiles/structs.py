"""The structs of ``kernels/include/tiles.cuh``: a box that goes through shared memory, packed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorlayout.cuda.engine.shared_tiles import DEEPEST
from tensorlayout.cuda.engine.shared_tiles.tile import SharedTile
from tensorlayout.cuda.engine.structs import divisor32, struct


def small_divisor(number: int) -> Any:
    """The constants of ``n / number``, exact while ``n * number < 2**32``; 1 < number.

    >>> 100 * small_divisor(7).magic >> 32
    14
    """
    return struct("include/tiles.cuh", "SmallDivisor")(2**32 - number, (1 << 32) // number + 1)


def tiles_struct(box: SharedTile, made: Any) -> None:
    """Pack into ``Boxes`` which box each block has.

    Indices of bounded dimensions are as further memories. The last box along an axis of such a
    dimension counts as one that ends early: its rows may.
    """
    problem = box.problem
    made.rank = len(box.axes)
    for d, (k, extent, count) in enumerate(zip(box.axes, box.extents, box.counts, strict=True)):
        axis = problem.axes[k]
        weights = [each[k] for each in problem.weights]
        made.boxes[d] = divisor32(count)
        made.extent[0][d] = divisor32(extent)
        made.extent[1][d] = divisor32(axis.size % extent or extent)
        made.uneven |= (axis.size % extent != 0 or any(weights)) << d
        for memory, stride in enumerate((*axis.strides, *weights)):
            made.step[memory][d] = stride * extent
            made.stride[memory][d] = stride if extent > 1 and abs(stride) < 2**31 else 0
    outer = [k for k in range(len(problem.axes)) if k not in box.axes][::-1]
    made.outer_rank = len(outer)
    for d, k in enumerate(outer):
        made.outer_size[d] = divisor32(problem.axes[k].size)
        strides = *problem.axes[k].strides, *[each[k] for each in problem.weights]
        for memory, stride in enumerate(strides):
            made.outer[memory][d] = stride


def access_struct(box: SharedTile, memory: int, pitches: Sequence[int], axes: int = DEEPEST) -> Any:
    """How one memory is walked, and its tile of these pitches, or the source's."""
    side, width = box.sides[memory], box.problem.widths[memory]
    order, run = side.order, side.run
    strides = [box.problem.axes[k].strides[memory] for k in box.axes]
    period, last = box.period(memory), order[run - 1]
    made = struct("include/tiles.cuh", f"Side<{axes}>")(
        run=run, linear=period == 1, sector=side.sector
    )
    made.together = side.together
    made.dimension[: len(order)] = order
    made.turned = sum([(stride < 0) << d for d, stride in enumerate(strides)])
    # Along a run of several dimensions, the first is contiguous.
    made.step = abs(strides[order[0]]) * side.unit
    step = pitches[last] * max(1, period // box.inner(order, run))
    made.tile_step = -step if strides[last] < 0 else step
    made.period = small_divisor(max(2, period))
    made.rows, made.places = box.places.tables[memory]
    made.spare = box.spare_rows(memory)
    for k, length in enumerate(side.lengths):
        made.length[k] = accesses = length * width // side.unit
        made.row[k] = small_divisor(side.row(accesses))
    return made
