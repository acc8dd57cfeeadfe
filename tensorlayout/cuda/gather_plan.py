"""Reads at positions: which launches, decided once. Integers only, no device."""

from __future__ import annotations

import ctypes
import functools
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from tensorlayout.cuda.driver import Kernel
from tensorlayout.cuda.faults import owner_of
from tensorlayout.cuda.launches import struct_type
from tensorlayout.cuda.reach_plan import (
    RANKS,
    Placing,
    ReachLoop,
    axes_of,
    blocks_of,
    checked,
    fitted,
    index_of,
    placed,
    positions_of,
    rank_macro,
    reach_struct,
    reach_type,
    spread_of,
)
from tensorlayout.layout import Layout
from tensorlayout.plan.gathering import GatherPlan

FILE = "gather.cu"


@dataclass(frozen=True, slots=True)
class ReachLaunch:
    """A launch of a kernel that takes positions.

    Attributes:
        kernel: what to compile.
        grid: how many blocks.
        parameters: the struct, with zeros where pointers go: of memories, positions, faults.
        firsts: for each memory the bytes from its lowest slot to what its pointer points to.
        operands: which tensors of positions it takes, and the bytes to their first elements.
        makes: the number of the tensor of positions that it makes, if it does, and its bytes.

    """

    kernel: Kernel
    grid: int
    parameters: bytes = field(repr=False)
    firsts: tuple[int, ...]
    operands: tuple[tuple[int, int], ...]
    makes: tuple[int, int] | None = None


def plan_gather(plan: GatherPlan, alignments: tuple[int, int]) -> tuple[ReachLaunch, ...]:
    """The launches, in order; `alignments` of the result and the source.

    One, unless there are more than four tensors of positions. Of an empty result, positions are
    checked all the same. Layouts have their lowest slots at 0, and are not tiled.
    """
    source, reach, result = plan.source.layout, plan.reach, plan.result.layout
    spread = spread_of(reach, result.shape)
    if 0 in spread:
        return ()
    positions = [
        positions_of(number, spec, spread, source.shape[d], (0, source.strides[d]))
        for number, (spec, d) in enumerate(zip(plan.positions, reach.dims, strict=True))
    ]
    if not result.size:
        return tuple(place_launch(each, plan.name) for each in checked(positions, spread))
    placings, left, shifts = placed(positions, spread)
    itemsize = plan.result.dtype.itemsize
    read = strides_of(reach.kept, source, result.ndim)
    axes = axes_of(reach, result.shape, [result.strides, read], left)
    firsts = (result.offset * itemsize, (source.offset + shifts[1]) * itemsize)
    loop = ReachLoop(tuple(axes), itemsize, 2, firsts, tuple(left))
    last = _gather_launch(fitted(loop, alignments), plan.name)
    return (*[place_launch(each, plan.name) for each in placings], last)


def strides_of(kept: tuple[tuple[int, int], ...], layout: Layout, rank: int) -> list[int]:
    """The strides of a tensor along the dimensions of the result, 0 along those of positions."""
    found = [0] * rank
    for d, at in kept:
        found[at] = layout.strides[d]
    return found


def place_launch(placing: Placing, name: str) -> ReachLaunch:
    """The launch of a `Placing`."""
    loop = placing.loop
    rank, index = len(loop.axes), index_of(loop)
    made = placing_type(rank, index)(base=placing.base)
    made.reach = reach_struct(loop, index, owner_of(name))
    kernel = _place_kernel(rank, index)
    makes = (placing.number, 8 * loop.count)
    return ReachLaunch(kernel, blocks_of(loop), bytes(made), (0,), operands_of(loop), makes)


def _gather_launch(loop: ReachLoop, name: str) -> ReachLaunch:
    rank, index = len(loop.axes), index_of(loop)
    made = gather_type(rank, index)()
    made.reach = reach_struct(loop, index, owner_of(name))
    kernel = _gather_kernel(rank, index, loop.width)
    return ReachLaunch(kernel, blocks_of(loop), bytes(made), loop.firsts, operands_of(loop))


def operands_of(loop: ReachLoop) -> tuple[tuple[int, int], ...]:
    """The tensors of positions of a loop, as `ReachLaunch` has them."""
    return tuple((p.number, p.first) for p in loop.positions)


def kernels() -> tuple[Kernel, ...]:
    """All that a plan may ask for."""
    shapes = list(product((*RANKS, 0), ("int32_t", "int64_t")))
    found = [_gather_kernel(*each, 1 << k) for each in shapes for k in range(5)]
    return (*found, *[_place_kernel(*each) for each in shapes])


def _gather_kernel(rank: int, index: str, width: int) -> Kernel:
    shape = (rank_macro(rank), ("INDEX", index), ("WIDTH", str(width)))
    return Kernel(FILE, "gather_elements", shape=shape)


def _place_kernel(rank: int, index: str) -> Kernel:
    return Kernel(FILE, "place_positions", shape=(rank_macro(rank), ("INDEX", index)))


@functools.cache
def gather_type(rank: int, index: str) -> Any:
    """``Gather<rank, index>`` of kernels/gather.cu."""
    return struct_type(
        "Gather", to=ctypes.c_uint64, source=ctypes.c_uint64, reach=reach_type(rank, index, 2)
    )


@functools.cache
def placing_type(rank: int, index: str) -> Any:
    """``Placing<rank, index>``."""
    return struct_type(
        "Placing", to=ctypes.c_uint64, reach=reach_type(rank, index, 2), base=ctypes.c_int64
    )
