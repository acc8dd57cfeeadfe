"""Images as the sum of windows: which launch, decided once. Integers only, no device."""

from __future__ import annotations

import ctypes
from math import prod
from typing import Any

from tensorlayout.cuda.engine.c_types import c_type_of_bits
from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.engine.launch import THREADS, Launch, struct_type
from tensorlayout.cuda.engine.parameters import Divisor32, Divisor64, divisor32, index_type
from tensorlayout.layout import Layout
from tensorlayout.layout.once import once
from tensorlayout.plan.folding import FoldPlan, Windows

FILE = "coordinates.cu"

# Dimensions of images that have kernels; those with fewer get more of size 1.
RANKS = (3, 4, 5, 8)
_PLAIN = Windows(1, 1, 1, 1, 0)


def plan_fold(plan: FoldPlan) -> Launch | None:
    """The launch, for the addresses of result and source; None for no elements.

    Layouts have their lowest slots at 0, and are not tiled; the result has no two elements in one
    slot.
    """
    result, source, dtype = plan.result.layout, plan.source.layout, plan.result.dtype
    if not result.size:
        return None
    rank = next(each for each in RANKS if each >= result.ndim)
    windows = (_PLAIN, _PLAIN, *plan.windows)
    taps = prod(w.size for w in windows)
    reach = max(w.dilation * w.size + w.step * w.count + w.before for w in windows)
    furthest = sum((n - 1) * abs(s) for n, s in zip(result.shape, result.strides, strict=True))
    spread = sum((n - 1) * abs(s) for n, s in zip(source.shape, source.strides, strict=True))
    index = index_type(result.size, max(furthest, spread, taps, reach + max(result.shape)))
    divisor = divisor32 if index == "int32_t" else Divisor64
    made = fold_type(rank, index)(count=result.size, taps=taps)
    strides = _source_strides(source, plan.windows, taps)
    order = list(result.minor_to_major)
    for d in range(rank):
        dim, there = made.dims[d], d < result.ndim
        w = windows[d] if there else _PLAIN
        n = result.shape[d] if there else 1
        dim.step, dim.turn = divisor(w.step), order.index(d) if there else d
        dim.stride = result.strides[d] if there else 0
        dim.tap, dim.block = strides[d] if there else (0, 0)
        dim.before, dim.dilation, dim.window = w.before, w.dilation, w.size
        dim.blocks = n if d < 2 else w.count
        made.turns[dim.turn] = divisor(n)
    firsts = (result.offset * dtype.itemsize, source.offset * dtype.itemsize)
    kind = c_type_of_bits(dtype)
    return Launch(_kernel(rank, index, kind), -(-result.size // THREADS), bytes(made), firsts)


def _source_strides(
    source: Layout, windows: tuple[Windows, ...], taps: int
) -> list[tuple[int, int]]:
    """For each dimension of the image the strides of windows' elements and of windows."""
    batch, column, block = source.strides[-3:]
    found = [(0, batch), (0, column * taps)]
    for d in range(len(windows)):
        after = windows[d + 1 :]
        found.append((column * prod(w.size for w in after), block * prod(w.count for w in after)))
    return found


def _kernel(rank: int, index: str, kind: str) -> Kernel:
    return Kernel(FILE, "fold", shape=(("RANK", str(rank)), ("INDEX", index), ("NUMBER", kind)))


@once
def fold_type(rank: int, index: str) -> Any:
    """``Folded<rank, index>`` of kernels/coordinates.cu."""
    narrow = index == "int32_t"
    number, divisor = (ctypes.c_int32, Divisor32) if narrow else (ctypes.c_int64, Divisor64)
    numbers = ("stride", "tap", "block", "before", "dilation", "window", "blocks")
    dim = struct_type(
        "Patched",
        step=divisor,
        **dict.fromkeys(numbers, number),
        turn=ctypes.c_int32,
    )
    return struct_type(
        "Folded",
        to=ctypes.c_uint64,
        from_=ctypes.c_uint64,
        dims=dim * rank,
        turns=divisor * rank,
        count=number,
        taps=number,
    )
