"""Lines reversed up to lengths of their own: which launch, decided once. Integers only."""

from __future__ import annotations

import ctypes
from typing import Any

from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.engine.launch import PER_THREAD, THREADS, Launch, struct_type
from tensorlayout.cuda.engine.parameters import RANKS, index_type, rank_macro, walk, walk_type
from tensorlayout.cuda.numbered import numbered
from tensorlayout.layout import Layout
from tensorlayout.layout.loop import Loop
from tensorlayout.layout.once import once
from tensorlayout.plan.reversing import ReversePlan

FILE = "coordinates.cu"


def plan_lines(plan: ReversePlan, alignments: tuple[int, int]) -> Launch | None:
    """The launch, for the addresses of result, source and lengths; None for no elements.

    `alignments` of the result and the source, no less than an element. Layouts have their lowest
    slots at 0, and are not tiled; the result has no two elements in one slot.
    """
    result, source = plan.result.layout, plan.source.layout
    shape, itemsize = result.shape, plan.result.dtype.itemsize
    if not result.size:
        return None
    places = Layout(shape, [int(d == plan.dim) for d in range(len(shape))])
    tables = (plan.lengths.layout.broadcast_to(shape), places)
    loop = numbered((result, source), tables, itemsize, alignments)
    return _launch(loop, plan, source.strides[plan.dim] * itemsize // loop.width)


def _launch(loop: Loop, plan: ReversePlan, step: int) -> Launch:
    rank, size = len(loop.sizes), plan.source.layout.shape[plan.dim]
    index = index_type(loop.count, max(loop.furthest, 2 * size))
    made = lines_type(rank, index)(count=loop.count, size=size, step=step)
    made.walk = walk(index, loop.sizes, loop.strides)
    to, from_, lengths, made.first = loop.firsts
    made.wide = plan.lengths.dtype.itemsize == 8
    firsts = (to, from_, lengths * plan.lengths.dtype.itemsize)
    each = PER_THREAD if rank in RANKS else 1
    kernel = _kernel(rank, index, loop.width)
    return Launch(kernel, -(-loop.count // (THREADS * each)), bytes(made), firsts)


def _kernel(rank: int, index: str, width: int) -> Kernel:
    shape = (rank_macro(rank), ("INDEX", index), ("WIDTH", str(width)))
    return Kernel(FILE, "reverse_lines", shape=shape)


@once
def lines_type(rank: int, index: str) -> Any:
    """``Lines<rank, index>`` of kernels/coordinates.cu."""
    number = ctypes.c_int32 if index == "int32_t" else ctypes.c_int64
    return struct_type(
        "Lines",
        to=ctypes.c_uint64,
        from_=ctypes.c_uint64,
        lengths=ctypes.c_uint64,
        walk=walk_type(int(rank_macro(rank)[1]), index, 4),
        count=number,
        first=number,
        size=number,
        step=number,
        wide=ctypes.c_int32,
    )
