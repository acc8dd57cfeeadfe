"""A tensor spread over a larger one, zero elsewhere: the launch. Integers only, no device."""

from __future__ import annotations

import ctypes
from itertools import product
from typing import Any

from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.engine.launch import PER_THREAD, Launch, blocks_for, struct_type
from tensorlayout.cuda.engine.parameters import Divisor32, Divisor64, divisor32, index_type
from tensorlayout.cuda.engine.sectors import WIDEST
from tensorlayout.layout import Layout
from tensorlayout.layout.loop import Axis, Loop, Window, merged
from tensorlayout.layout.once import once

FILE = "spread.cu"

# As in kernels/spread.cu.
RANKS = (1, 2, 3)
ANY_RANK = 40


def plan_spread(
    result: Layout,
    source: Layout,
    window: tuple[tuple[int, int], ...],
    itemsize: int,
    alignments: tuple[int, int],
) -> Launch:
    """The launch; `window`: for each dimension the place of the source's first element, the step.

    Neither is empty. `alignments` of the result and the source, no less than an element. Layouts
    have their lowest slots at 0, and are not tiled. `firsts` of the result and the source.
    """
    assert min(alignments) >= itemsize, "memory is aligned to its elements"
    loop = _loop(result, source, window, itemsize, alignments)
    count, rank = loop.count, len(loop.axes)
    index = index_type(count, max(loop.furthest, *loop.sizes))
    made = spread_type(rank, index)(count=count, rank=rank)
    divisor = divisor32 if index == "int32_t" else Divisor64
    for memory, strides in enumerate(loop.strides):
        made.stride[memory][:rank] = strides
    for d, axis in enumerate(loop.axes):
        (_, made.taken[d]), made.first[d], step = axis.window
        made.size[d], made.step[d] = divisor(axis.size), divisor(step)
    grid = blocks_for(count * (1 if rank in RANKS else PER_THREAD))
    return Launch(_kernel(rank, index, loop.width), grid, bytes(made), loop.firsts)


def _loop(
    result: Layout,
    source: Layout,
    window: tuple[tuple[int, int], ...],
    itemsize: int,
    alignments: tuple[int, int],
) -> Loop:
    """All elements of the result; the source has windows of its axes, with positive steps."""
    axes, begin = [], source.offset
    for d in reversed(result.minor_to_major):
        (first, step), taken, from_ = window[d], source.shape[d], source.strides[d]
        if step < 0:  # from the other end
            first, begin, from_ = first + (taken - 1) * step, begin + (taken - 1) * from_, -from_
        size = result.shape[d]
        part = Window((size, taken), first, abs(step) if taken > 1 else 1)
        axes.append(Axis(size, (result.strides[d], from_), None if taken == size else part))
    found = tuple(merged(axes)) or (Axis(1, (1, 1)),)
    firsts = (result.offset * itemsize, begin * itemsize)
    loop = Loop(found, (itemsize, itemsize), firsts, alignments)
    return loop.widened(WIDEST) if found[-1].window.step == 1 else loop


def kernels() -> tuple[Kernel, ...]:
    """All that a plan may ask for."""
    shapes = product((*RANKS, 0), ("int32_t", "int64_t"))
    return tuple(_kernel(*each, 1 << k) for each in shapes for k in range(5))


def _kernel(rank: int, index: str, width: int) -> Kernel:
    macro = ("RANK", str(rank if rank in RANKS else 0))
    return Kernel(FILE, "spread_elements", shape=(macro, ("INDEX", index), ("WIDTH", str(width))))


@once
def spread_type(rank: int, index: str) -> Any:
    """``Spread<rank, index>`` of kernels/spread.cu."""
    capacity = rank if rank in RANKS else ANY_RANK
    narrow = index == "int32_t"
    number, divisor = (ctypes.c_int32, Divisor32) if narrow else (ctypes.c_int64, Divisor64)
    return struct_type(
        "Spread",
        to=ctypes.c_uint64,
        from_=ctypes.c_uint64,
        count=number,
        stride=(number * capacity) * 2,
        first=number * capacity,
        taken=number * capacity,
        size=divisor * capacity,
        step=divisor * capacity,
        rank=ctypes.c_int32,
    )
