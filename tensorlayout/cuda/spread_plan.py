"""A tensor spread over a larger one, zero elsewhere: the launch. Integers only, no device."""

from __future__ import annotations

import ctypes
from itertools import product
from math import gcd, prod
from typing import Any, NamedTuple

from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.engine.launch import PER_THREAD, Launch, blocks_for, struct_type
from tensorlayout.cuda.engine.parameters import Divisor32, Divisor64, divisor32, index_type
from tensorlayout.cuda.engine.sectors import WIDEST
from tensorlayout.layout import Layout
from tensorlayout.layout.once import once

FILE = "spread.cu"

# As in kernels/spread.cu.
RANKS = (1, 2, 3)
ANY_RANK = 40


class _Axis(NamedTuple):
    """A dimension: size, strides; of the window: where it begins, its step, its elements."""

    size: int
    to: int
    from_: int
    first: int
    step: int
    taken: int

    @property
    def whole(self) -> bool:
        """Whether the window takes all of it."""
        return self.taken == self.size


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
    axes, begin = _axes(result, source, window)
    firsts = (result.offset * itemsize, begin * itemsize)
    width = _width(axes, itemsize, (*firsts, *alignments))
    axes = _widened(axes, width // itemsize)
    furthest = max(sum((a.size - 1) * abs(a.to) for a in axes), *[a.size for a in axes])
    furthest = max(furthest, sum((a.taken - 1) * abs(a.from_) for a in axes))
    count, rank = prod(a.size for a in axes), len(axes)
    index = index_type(count, furthest)
    made = spread_type(rank, index)(count=count, rank=rank)
    divisor = divisor32 if index == "int32_t" else Divisor64
    for d, each in enumerate(axes):
        made.stride[0][d], made.stride[1][d] = each.to, each.from_
        made.first[d], made.taken[d] = each.first, each.taken
        made.size[d], made.step[d] = divisor(each.size), divisor(each.step)
    grid = blocks_for(count * (1 if rank in RANKS else PER_THREAD))
    return Launch(_kernel(rank, index, width), grid, bytes(made), firsts)


def _axes(
    result: Layout, source: Layout, window: tuple[tuple[int, int], ...]
) -> tuple[list[_Axis], int]:
    """Dimensions, slowest first, with positive steps; and the first slot that is read."""
    found: list[_Axis] = []
    begin = source.offset
    for d in reversed(result.minor_to_major):
        (first, step), taken, from_ = window[d], source.shape[d], source.strides[d]
        if step < 0:  # from the other end
            first, begin, from_ = first + (taken - 1) * step, begin + (taken - 1) * from_, -from_
        if result.shape[d] == 1:
            continue
        step = abs(step) if taken > 1 else 1
        axis = _Axis(result.shape[d], result.strides[d], from_, first, step, taken)
        if found and _continues(found[-1], axis):
            size = found[-1].size * axis.size
            found[-1] = axis._replace(size=size, taken=size)
        else:
            found.append(axis)
    return found or [_Axis(1, 1, 1, 0, 1, 1)], begin


def _continues(slower: _Axis, faster: _Axis) -> bool:
    size = faster.size
    both = slower.whole and faster.whole
    return both and slower.to == faster.to * size and slower.from_ == faster.from_ * size


def _width(axes: list[_Axis], itemsize: int, aligned: tuple[int, ...]) -> int:
    """The widest access, in **bytes**."""
    *slower, last = axes
    if last.to != 1 or last.step != 1 or (last.from_ != 1 and last.taken > 1):
        return itemsize
    steps = [s for a in slower for s in (a.to, a.from_)]
    steps += [last.size, last.first, last.taken]
    return gcd(WIDEST, *aligned, *[step * itemsize for step in steps])


def _widened(axes: list[_Axis], times: int) -> list[_Axis]:
    *slower, last = axes
    found = [a._replace(to=a.to // times, from_=a.from_ // times) for a in slower]
    return [
        *found,
        last._replace(
            size=last.size // times, first=last.first // times, taken=last.taken // times
        ),
    ]


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
