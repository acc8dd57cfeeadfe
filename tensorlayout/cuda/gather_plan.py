"""Reads at positions: which launches, decided once. Integers only, no device."""

from __future__ import annotations

import ctypes
from itertools import product
from typing import Any

from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.engine.faults import owner_of
from tensorlayout.cuda.engine.launch import struct_type
from tensorlayout.cuda.placing_plan import checked, checked_apart, placed
from tensorlayout.cuda.reach_plan import (
    RANKS,
    Positions,
    ReachLaunch,
    ReachLoop,
    axes_of,
    blocks_of,
    fitted,
    index_of,
    operands_of,
    positions_of,
    rank_macro,
    reach_struct,
    reach_type,
    spread_of,
    strides_of,
)
from tensorlayout.layout import Layout
from tensorlayout.layout.once import once
from tensorlayout.plan.gathering import GatherPlan, Reach
from tensorlayout.tensor import TensorSpec

FILE = "gather.cu"

# The memories that launches take.
RESULT, READ = range(2)


def plan_gather(plan: GatherPlan, alignments: tuple[int, int]) -> tuple[ReachLaunch, ...]:
    """The launches, in order; `alignments` of the result and the source.

    One, unless there are more than four tensors of positions. Of an empty result, positions are
    checked all the same. Layouts have their lowest slots at 0, and are not tiled.
    """
    source, reach, result = plan.source.layout, plan.reach, plan.result.layout
    spread = spread_of(reach, result.shape)
    if 0 in spread:
        sizes = [source.shape[d] for d in reach.dims]
        return checked_apart(plan.positions, sizes, plan.name)
    positions = [
        positions_of(number, spec, spread, source.shape[d], (0, source.strides[d]))
        for number, (spec, d) in enumerate(zip(plan.positions, reach.dims, strict=True))
    ]
    if not result.size and plan.clamps:
        return ()
    if not result.size:
        return checked(positions, spread, plan.name)
    launches, left, shifts = placed(positions, spread, plan.name)
    assert not (plan.clamps and launches), "positions made by a launch say what is outside"
    last = plan_read(
        plan.name, source, reach, plan.result, left, alignments, shifts[READ], clamps=plan.clamps
    )
    return (*launches, last)


def plan_read(
    name: str,
    source: Layout,
    reach: Reach,
    result: TensorSpec,
    positions: list[Positions],
    alignments: tuple[int, int],
    shift: int = 0,
    *,
    clamps: bool = False,
) -> ReachLaunch:
    """The launch for few enough tensors of positions; `shift` moves the source, in elements."""
    layout, itemsize = result.layout, result.dtype.itemsize
    read = strides_of(reach.kept, source, layout.ndim)
    axes = axes_of(reach, layout.shape, [layout.strides, read], positions)
    firsts = (layout.offset * itemsize, (source.offset + shift) * itemsize)
    loop = ReachLoop(tuple(axes), itemsize, 2, firsts, tuple(positions), clamps)
    return _launch(fitted(loop, alignments), name)


def _launch(loop: ReachLoop, name: str) -> ReachLaunch:
    rank, index = len(loop.axes), index_of(loop)
    made = gather_type(rank, index)()
    made.reach = reach_struct(loop, index, owner_of(name))
    kernel = _gather_kernel(rank, index, loop.width)
    memories = tuple(enumerate(loop.firsts))
    return ReachLaunch(kernel, blocks_of(loop), bytes(made), memories, operands_of(loop))


def kernels() -> tuple[Kernel, ...]:
    """All that a plan may ask for."""
    shapes = product((*RANKS, 0), ("int32_t", "int64_t"))
    return tuple(_gather_kernel(*each, 1 << k) for each in shapes for k in range(5))


def _gather_kernel(rank: int, index: str, width: int) -> Kernel:
    shape = (rank_macro(rank), ("INDEX", index), ("WIDTH", str(width)))
    return Kernel(FILE, "gather_elements", shape=shape)


@once
def gather_type(rank: int, index: str) -> Any:
    """``Gather<rank, index>`` of kernels/gather.cu."""
    return struct_type(
        "Gather", to=ctypes.c_uint64, source=ctypes.c_uint64, reach=reach_type(rank, index, 2)
    )
