"""Loops over elements that are found by positions, as ``kernels/reach.cuh`` runs them.

Integers only. Memories come first *elements* (their strides count elements, which may become wider
or narrower), then *tables* (entries of their own, one for each element, whatever its width).
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import gcd, prod
from typing import Any, NamedTuple

from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.engine.faults import MAX_POSITIONS
from tensorlayout.cuda.engine.launch import PER_THREAD, blocks_for, struct_type
from tensorlayout.cuda.engine.parameters import Divisor32, Divisor64, divisor32, index_type
from tensorlayout.cuda.engine.sectors import WIDEST
from tensorlayout.layout import Layout
from tensorlayout.layout.once import once
from tensorlayout.plan.gathering import Reach
from tensorlayout.tensor import TensorSpec

# As in kernels/reach.cuh.
RANKS = (1, 2, 3)
ANY_RANK = 40
_KINDS = {"i1": 0, "i2": 1, "i4": 2, "i8": 3, "u1": 4, "u2": 5, "u4": 6, "u8": 7}
PLACED = 8


class Axis(NamedTuple):
    """One dimension of a loop: its stride in each memory, and in each tensor of positions."""

    size: int
    strides: tuple[int, ...]
    across: tuple[int, ...]
    of_positions: bool


@dataclass(frozen=True, slots=True)
class Positions:
    """A tensor of positions.

    Attributes:
        number: which operand it is.
        kind: of its integers, as in kernels/reach.cuh.
        first: **bytes** from its lowest slot to its first element.
        extent: size of the dimension that it indexes.
        steps: what one position adds to the offset in each memory.
        layout: its dimensions as those of the loop's positions.

    """

    number: int
    kind: int
    first: int
    extent: int
    steps: tuple[int, ...]
    layout: Layout


@dataclass(frozen=True, slots=True)
class ReachLoop:
    """A loop.

    Attributes:
        axes: slowest first, at least one.
        width: **bytes** of an element.
        elements: how many memories, the first ones, count elements.
        firsts: of those, the **bytes** from the lowest slot to the first element.
        positions: at most `MAX_POSITIONS`.
        clamps: whether the nearest position is meant by one outside, which else is reported.

    """

    axes: tuple[Axis, ...]
    width: int
    elements: int
    firsts: tuple[int, ...]
    positions: tuple[Positions, ...]
    clamps: bool = False

    @property
    def count(self) -> int:
        """How many elements there are."""
        return prod([axis.size for axis in self.axes])

    @property
    def inner(self) -> int:
        """How many elements there are behind the dimensions of the positions."""
        found = 1
        for axis in reversed(self.axes):
            if axis.of_positions:
                return found
            found *= axis.size
        return found

    @property
    def furthest(self) -> int:
        """The largest distance that any memory or tensor of positions has, in its own units."""
        memories = [
            sum((a.size - 1) * abs(a.strides[m]) for a in self.axes)
            + sum(max(p.extent - 1, 0) * abs(p.steps[m]) for p in self.positions)
            for m in range(len(self.axes[0].strides))
        ]
        numbers = range(len(self.positions))
        across = [sum((a.size - 1) * abs(a.across[k]) for a in self.axes) for k in numbers]
        return max([*memories, *across, *[p.extent for p in self.positions]])


def positions_of(
    number: int, spec: TensorSpec, spread: tuple[int, ...], extent: int, steps: tuple[int, ...]
) -> Positions:
    """Operand `number`, broadcast to the shape of all positions."""
    layout = spec.layout.broadcast_to(spread)
    kind = _KINDS[f"{spec.dtype.kind}{spec.dtype.itemsize}"]
    first = layout.offset * spec.dtype.itemsize
    return Positions(number, kind, first, extent, steps, layout)


def spread_of(reach: Reach, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of the positions, for a result of `shape`."""
    return shape if reach.along else tuple(shape[d] for d in reach.span)


def strides_of(kept: tuple[tuple[int, int], ...], layout: Layout, rank: int) -> list[int]:
    """The strides of a tensor along the dimensions of the result, 0 along those of positions."""
    found = [0] * rank
    for d, at in kept:
        found[at] = layout.strides[d]
    return found


def axes_of(
    reach: Reach,
    shape: tuple[int, ...],
    strides: Sequence[Sequence[int]],
    positions: Sequence[Positions],
) -> list[Axis]:
    """The dimensions of a result in its order; `strides` of each memory, 0 along positions."""

    def axis(d: int) -> Axis:
        across = [0] * len(positions)
        if reach.along or d in reach.span:
            at = d if reach.along else d - reach.span[0]
            across = [p.layout.strides[at] for p in positions]
        steps = tuple(s[d] for s in strides)
        return Axis(shape[d], steps, tuple(across), d in reach.span)

    return merged([axis(d) for d in reversed(reach.order)], len(strides), len(positions))


def merged(axes: list[Axis], memories: int, positions: int) -> list[Axis]:
    """Without dimensions of size 1, and neighbours as one where they continue each other.

    At least one is left.
    """
    found: list[Axis] = []
    for axis in axes:
        if axis.size == 1:
            continue
        if found and _continues(found[-1], axis):
            found[-1] = axis._replace(size=found[-1].size * axis.size)
        else:
            found.append(axis)
    return found or [Axis(1, (0,) * memories, (0,) * positions, of_positions=True)]


def _continues(slower: Axis, faster: Axis) -> bool:
    steps = zip((*slower.strides, *slower.across), (*faster.strides, *faster.across), strict=True)
    same = slower.of_positions == faster.of_positions
    return same and all(s == f * faster.size for s, f in steps)


def fitted(loop: ReachLoop, alignments: Sequence[int]) -> ReachLoop:
    """The loop over elements as wide as memory allows, or as narrow as it asks for."""
    narrow = min(loop.width, *alignments)
    if narrow < loop.width:
        loop = _split(loop, loop.width // narrow)
    *slower, last = loop.axes
    inside = range(loop.elements)
    runs = all(last.strides[m] == 1 for m in inside) and not any(
        (*last.strides[loop.elements :], *last.across)
    )
    if not runs or last.of_positions:
        return loop
    steps = [a.strides[m] * loop.width for a in slower for m in inside]
    steps += [p.steps[m] * loop.width for p in loop.positions for m in inside]
    wide = gcd(WIDEST, last.size * loop.width, *loop.firsts, *alignments, *steps)
    return _joined(loop, wide // loop.width)


def _split(loop: ReachLoop, pieces: int) -> ReachLoop:
    """Each element as `pieces` of them."""
    memories = len(loop.axes[0].strides)
    one = [1] * loop.elements + [0] * (memories - loop.elements)
    times = [pieces] * loop.elements + [1] * (memories - loop.elements)
    axes = [a._replace(strides=_times(a.strides, times)) for a in loop.axes]
    last = Axis(pieces, tuple(one), (0,) * len(loop.positions), of_positions=False)
    positions = tuple(replace(p, steps=_times(p.steps, times)) for p in loop.positions)
    axes = merged([*axes, last], memories, len(positions))
    return replace(loop, axes=tuple(axes), width=loop.width // pieces, positions=positions)


def _times(numbers: tuple[int, ...], factors: list[int]) -> tuple[int, ...]:
    return tuple(n * f for n, f in zip(numbers, factors, strict=True))


def _joined(loop: ReachLoop, times: int) -> ReachLoop:
    """`times` elements of the fastest dimension as one."""

    def fewer(strides: tuple[int, ...]) -> tuple[int, ...]:
        return (*[s // times for s in strides[: loop.elements]], *strides[loop.elements :])

    *slower, last = loop.axes
    axes = [a._replace(strides=fewer(a.strides)) for a in slower]
    if last.size > times or not axes:
        axes.append(last._replace(size=last.size // times))
    positions = tuple(replace(p, steps=fewer(p.steps)) for p in loop.positions)
    return replace(loop, axes=tuple(axes), width=loop.width * times, positions=positions)


# ---- Launches


@dataclass(frozen=True, slots=True)
class ReachLaunch:
    """A launch of a kernel that takes positions.

    Attributes:
        kernel: what to compile.
        grid: how many blocks.
        parameters: the struct, with zeros where pointers go: of memories, positions, faults.
        memories: which ones it takes, and the bytes from the lowest slot of each to what its
            pointer points to; none where it makes positions, and writes them alone.
        operands: which tensors of positions it takes, and the bytes to their first elements.
        makes: the number of the tensor of positions that it makes, if it does, and its bytes.

    """

    kernel: Kernel
    grid: int
    parameters: bytes = field(repr=False)
    memories: tuple[tuple[int, int], ...]
    operands: tuple[tuple[int, int], ...]
    makes: tuple[int, int] | None = None


def operands_of(loop: ReachLoop) -> tuple[tuple[int, int], ...]:
    """The tensors of positions of a loop, as `ReachLaunch` has them."""
    return tuple((p.number, p.first) for p in loop.positions)


def rank_macro(rank: int) -> tuple[str, str]:
    """The macro that picks the kernel for a rank."""
    return "RANK", str(rank if rank in RANKS else 0)


def blocks_of(loop: ReachLoop) -> int:
    """How many blocks a loop takes; a thread has one element of those in any rank."""
    return blocks_for(loop.count * (1 if len(loop.axes) in RANKS else PER_THREAD))


def index_of(loop: ReachLoop) -> str:
    """The narrowest type of indices."""
    return index_type(loop.count, loop.furthest)


@once
def reach_type(rank: int, index: str, memories: int) -> Any:
    """``Reach<rank, index, memories>`` of kernels/reach.cuh."""
    capacity = rank if rank in RANKS else ANY_RANK
    narrow = index == "int32_t"
    number, divisor = (ctypes.c_int32, Divisor32) if narrow else (ctypes.c_int64, Divisor64)
    return struct_type(
        "Reach",
        from_=ctypes.c_uint64 * MAX_POSITIONS,
        faults=ctypes.c_uint64,
        owner=ctypes.c_uint64,
        extent=ctypes.c_int64 * MAX_POSITIONS,
        count=number,
        stride=(number * capacity) * memories,
        across=(number * capacity) * MAX_POSITIONS,
        step=(number * memories) * MAX_POSITIONS,
        size=divisor * capacity,
        kind=ctypes.c_int32 * MAX_POSITIONS,
        positions=ctypes.c_int32,
        rank=ctypes.c_int32,
        clamps=ctypes.c_int32,
    )


def reach_struct(loop: ReachLoop, index: str, owner: int) -> Any:
    """The struct, but for pointers. ValueError for more dimensions than any memory can have."""
    rank = len(loop.axes)
    if rank > ANY_RANK:
        msg = f"positions: {rank} dimensions of 2 or more elements are more than {ANY_RANK}"
        raise ValueError(msg)
    memories = len(loop.axes[0].strides)
    made = reach_type(rank, index, memories)(
        owner=owner, count=loop.count, rank=rank, clamps=loop.clamps
    )
    for d, axis in enumerate(loop.axes):
        made.size[d] = divisor32(axis.size) if index == "int32_t" else Divisor64(axis.size)
        for m in range(memories):
            made.stride[m][d] = axis.strides[m]
        for k in range(len(loop.positions)):
            made.across[k][d] = axis.across[k]
    made.positions = len(loop.positions)
    for k, each in enumerate(loop.positions):
        made.extent[k], made.kind[k] = each.extent, each.kind
        made.step[k][:] = each.steps
    return made
