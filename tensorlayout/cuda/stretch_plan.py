"""Images enlarged, linear between elements: which launch, decided once. Integers only."""

from __future__ import annotations

import ctypes
from typing import Any

from tensorlayout.cuda.engine.c_types import c_type
from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.engine.launch import PER_THREAD, THREADS, Launch, struct_type
from tensorlayout.cuda.engine.parameters import (
    RANKS,
    Divisor32,
    Divisor64,
    divisor32,
    index_type,
    rank_macro,
    walk,
    walk_type,
)
from tensorlayout.cuda.numbered import numbered
from tensorlayout.layout import Layout
from tensorlayout.layout.once import once
from tensorlayout.plan.stretching import StretchPlan

FILE = "coordinates.cu"


def plan_stretch(plan: StretchPlan) -> Launch | None:
    """The launch, for the addresses of result and source; None for no elements.

    Layouts have their lowest slots at 0, and are not tiled; the result has no two elements in one
    slot.
    """
    result, source, itemsize = plan.result.layout, plan.source.layout, plan.result.dtype.itemsize
    shape, rank = result.shape, result.ndim
    if not result.size:
        return None
    around = Layout(shape, (*source.strides[:-2], 0, 0), offset=source.offset)
    places = [Layout(shape, [int(d == dim) for d in range(rank)]) for dim in (rank - 2, rank - 1)]
    loop = numbered((result,), (around, *places), itemsize, (itemsize,))
    kept = [abs(s) * (n - 1) for n, s in zip(source.shape, source.strides, strict=True)]
    index = index_type(loop.count, max(loop.furthest, sum(kept), 4 * max(shape)))
    made = stretch_type(len(loop.sizes), index)(count=loop.count)
    made.walk = walk(index, loop.sizes, loop.strides)
    for k, scale in enumerate(plan.scales):
        dim = made.dims[k]
        dim.first, dim.size = loop.firsts[2 + k], source.shape[k - 2]
        dim.step = source.strides[k - 2]
        dim.scale = divisor32(scale) if index == "int32_t" else Divisor64(scale)
    each = PER_THREAD if len(loop.sizes) in RANKS else 1
    kernel = _kernel(len(loop.sizes), index, c_type(plan.result.dtype))
    firsts = (loop.firsts[0], loop.firsts[1] * itemsize)
    return Launch(kernel, -(-loop.count // (THREADS * each)), bytes(made), firsts)


def _kernel(rank: int, index: str, kind: str) -> Kernel:
    shape = (rank_macro(rank), ("INDEX", index), ("FLOAT", kind))
    return Kernel(FILE, "stretch", shape=shape)


@once
def stretch_type(rank: int, index: str) -> Any:
    """``Stretch<rank, index>`` of kernels/coordinates.cu."""
    narrow = index == "int32_t"
    number, divisor = (ctypes.c_int32, Divisor32) if narrow else (ctypes.c_int64, Divisor64)
    dim = struct_type("Stretched", first=number, size=number, step=number, scale=divisor)
    return struct_type(
        "Stretch",
        to=ctypes.c_uint64,
        from_=ctypes.c_uint64,
        walk=walk_type(int(rank_macro(rank)[1]), index, 4),
        dims=dim * 2,
        count=number,
    )
