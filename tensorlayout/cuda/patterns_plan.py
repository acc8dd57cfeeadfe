"""Patterns: which launch, decided once. Integers only, no device."""

from __future__ import annotations

import ctypes
from typing import Any

from tensorlayout.cuda.engine.c_types import c_type_of_bits
from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.engine.launch import THREADS, Launch, struct_type
from tensorlayout.cuda.engine.parameters import index_type, walk_type
from tensorlayout.cuda.engine.parameters import walk as any_walk
from tensorlayout.cuda.numbered import numbered
from tensorlayout.layout import Layout
from tensorlayout.layout.loop import Loop
from tensorlayout.layout.once import once
from tensorlayout.plan.patterns import DiagonalsPlan, HotPlan, SequencePlan

FILE = "coordinates.cu"

# Ranks with kernels of their own; the kernel of any rank is 0.
RANKS = (2, 3)
_KINDS = {"int32": 0, "int64": 1, "uint32": 2, "uint64": 3}


def plan_hot(plan: HotPlan) -> Launch | None:
    """The launch, for the addresses of result, indices, cold and hot value; None for no elements.

    Here and below layouts have their lowest slots at 0, and are not tiled; the result has no two
    elements in one slot.
    """
    layout, itemsize = plan.result.layout, plan.result.dtype.itemsize
    if not layout.size:
        return None
    places = Layout(layout.shape, [int(d == plan.dim) for d in range(layout.ndim)])
    tables = (plan.indices.layout.broadcast_to(layout.shape), places)
    loop = numbered((layout,), tables, itemsize, (itemsize,))
    index = _index(loop, layout.shape)
    made = hot_type(_rank(loop), index)(count=loop.count, size=layout.shape[plan.dim])
    to, indices, made.first = loop.firsts
    made.walk, made.kind = _walk(loop, index), _KINDS[plan.indices.dtype.name]
    firsts = (to, indices * plan.indices.dtype.itemsize, 0, 0)
    return _launch("one_hot", loop, index, ("HOT", str(itemsize)), made, firsts)


def plan_diagonals(plan: DiagonalsPlan) -> Launch | None:
    """The launch, for the addresses of result and others; the bits of the value follow these."""
    layout, itemsize = plan.result.layout, plan.result.dtype.itemsize
    if not layout.size:
        return None
    shape, rank = layout.shape, layout.ndim
    others = Layout(shape, (0,) * rank) if plan.others is None else plan.others.layout
    height, width = shape[-2:]
    # Diagonals are numbered from the lowest, as offsets of layouts are not negative.
    number = Layout(shape, (*(0,) * (rank - 2), -1, 1), offset=height - 1)
    loop = numbered((layout,), (others, number), itemsize, (itemsize,))
    index, begin, end = _index(loop, shape), plan.begin + height - 1, plan.end + height - 1
    made = diagonals_type(_rank(loop), index)(count=loop.count, inside=plan.inside)
    made.begin, made.end = (min(max(d, 0), height + width) for d in (begin, end))
    to, from_, made.first = loop.firsts
    made.walk = _walk(loop, index)
    return _launch("diagonals", loop, index, ("BAND", str(itemsize)), made, (to, from_ * itemsize))


def plan_sequence(plan: SequencePlan) -> Launch | None:
    """The launch, for the address of the result; 64 bits each of start and step follow."""
    layout, dtype = plan.result.layout, plan.result.dtype
    if not layout.size:
        return None
    tables = (Layout.row_major(layout.shape),)
    loop = numbered((layout,), tables, dtype.itemsize, (dtype.itemsize,))
    index = _index(loop, layout.shape)
    made = sequence_type(_rank(loop), index)(count=loop.count)
    to, made.first = loop.firsts
    made.walk = _walk(loop, index)
    kind = c_type_of_bits(dtype)
    return _launch("count_up", loop, index, ("COUNTED", kind), made, (to,))


def _rank(loop: Loop) -> int:
    """The kernel's: that of two dimensions takes one, too."""
    rank = max(len(loop.sizes), 2)
    return rank if rank in RANKS else 0


def _walk(loop: Loop, index: str) -> Any:
    ones = max(2 - len(loop.sizes), 0)
    sizes = [*[1] * ones, *loop.sizes]
    strides = [[*[0] * ones, *steps] for steps in loop.strides]
    if _rank(loop) or len(sizes) > 4:
        return any_walk(index, sizes, strides)
    more = 5 - len(sizes)  # to the kernel of any rank
    return any_walk(index, [*[1] * more, *sizes], [[*[0] * more, *steps] for steps in strides])


def _index(loop: Loop, shape: tuple[int, ...]) -> str:
    return index_type(loop.count, max(loop.furthest, 2 * max(shape, default=1)))


def _launch(
    name: str,
    loop: Loop,
    index: str,
    kind: tuple[str, str],
    made: Any,
    firsts: tuple[int, ...],
) -> Launch:
    kernel = _kernel(name, _rank(loop), index, kind)
    return Launch(kernel, -(-loop.count // THREADS), bytes(made), firsts)


_BITS = (("one_hot", "HOT"), ("diagonals", "BAND"))


def _kernel(name: str, rank: int, index: str, kind: Any) -> Kernel:
    return Kernel(FILE, name, shape=(("RANK", str(rank)), ("INDEX", index), tuple(kind)))


_POINTER = ctypes.c_uint64


@once
def hot_type(rank: int, index: str) -> Any:
    """``Hot<rank, index>`` of kernels/coordinates.cu."""
    number = ctypes.c_int32 if index == "int32_t" else ctypes.c_int64
    return struct_type(
        "Hot",
        **dict.fromkeys(("to", "indices", "off", "on"), _POINTER),
        walk=walk_type(rank, index, 3),
        **dict.fromkeys(("count", "first", "size"), number),
        kind=ctypes.c_int32,
    )


@once
def diagonals_type(rank: int, index: str) -> Any:
    """``Diagonals<rank, index>``."""
    number = ctypes.c_int32 if index == "int32_t" else ctypes.c_int64
    return struct_type(
        "Diagonals",
        to=_POINTER,
        from_=_POINTER,
        bits=ctypes.c_uint64 * 2,
        walk=walk_type(rank, index, 3),
        **dict.fromkeys(("count", "first", "begin", "end"), number),
        inside=ctypes.c_int32,
    )


@once
def sequence_type(rank: int, index: str) -> Any:
    """``Sequence<rank, index>``."""
    number = ctypes.c_int32 if index == "int32_t" else ctypes.c_int64
    return struct_type(
        "Sequence",
        to=_POINTER,
        start=ctypes.c_uint64,
        delta=ctypes.c_uint64,
        walk=walk_type(rank, index, 2),
        count=number,
        first=number,
    )
