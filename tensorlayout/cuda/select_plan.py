"""Reads and writes under a mask: which launches, decided once. Integers only, no device."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import gcd
from typing import Any

from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.engine.launch import struct_type
from tensorlayout.cuda.engine.parameters import index_type, walk, walk_type
from tensorlayout.cuda.reach_plan import (
    PLACED,
    RANKS,
    Axis,
    Positions,
    ReachLaunch,
    ReachLoop,
    blocks_of,
    fitted,
    index_of,
    merged,
    rank_macro,
    reach_struct,
    reach_type,
)
from tensorlayout.layout import Layout
from tensorlayout.layout.once import once
from tensorlayout.plan.gathering import Reach
from tensorlayout.tensor import TensorSpec

FILE = "select.cu"
CHUNK = 4096  # elements of the mask that a block has, as in kernels/select.cu

# Bytes from which on a mask that is one run is read 16 at a time.
_WIDE = 16

# Kernels that go over a mask have loops of known length for these; a mask and what is under it
# mostly merge. `parameters.walk` makes the struct of any rank from 5 on.
_MASK_RANKS = (1, 2)
_ANY_RANK = 5


@dataclass(frozen=True, slots=True)
class SelectLaunch:
    """A launch over the mask.

    Attributes:
        kernel: what to compile.
        parameters: the struct; it begins with four pointers, that are zeros: what is written, the
            mask, counts, the source.
        mask: **bytes** from its lowest slot to its first element.
        source: the same of the source.

    """

    kernel: Kernel
    parameters: bytes
    mask: int
    source: int


@dataclass(frozen=True, slots=True)
class Selection:
    """How a mask is counted, and how what it selects is found.

    Attributes:
        blocks: how many chunks there are, each with a count.
        count: the launch that counts.
        positions: the one that writes positions.
        elements: the one that writes elements, where the mask covers all dimensions.
        unit: what a position stands for, in elements of the source.
        base: what was added to positions, so that the least is 0.
        extent: more than any position.

    """

    blocks: int
    count: SelectLaunch
    positions: SelectLaunch
    elements: SelectLaunch | None
    unit: int
    base: int
    extent: int

    def placed(self, count: int, steps: tuple[int, ...]) -> Positions:
        """The positions of `count` elements, which add `steps` to memories, times `unit`."""
        layout = Layout.row_major((count,))
        moved = tuple(step * self.unit for step in steps)
        return Positions(0, PLACED, 0, self.extent, moved, layout)

    @property
    def shift(self) -> int:
        """How far the first element of the source is moved, for `placed` positions."""
        return -self.base * self.unit


def plan_selection(source: TensorSpec, reach: Reach, mask: Layout, alignment: int) -> Selection:
    """The launches for a mask over the dimensions of `source` from the first of `reach` on.

    The mask has their sizes, and at least one element; `alignment` is that of its lowest slot.
    Neither layout is tiled; lowest slots are at 0.
    """
    first, layout, itemsize = reach.dims[0], source.layout, source.dtype.itemsize
    strides = layout.strides[first : first + mask.ndim]
    unit = gcd(*strides) or 1
    steps = [stride // unit for stride in strides]
    reached = [(n - 1) * step for n, step in zip(mask.shape, steps, strict=True)]
    base, top = -sum(min(r, 0) for r in reached), sum(max(r, 0) for r in reached)
    elements = None
    if mask.ndim == layout.ndim:
        from_ = layout.offset * itemsize
        elements = _launch("select_elements", mask, alignment, strides, 0, itemsize, from_)
    return Selection(
        _chunks(mask),
        _launch("count_true", mask, alignment, steps),
        _launch("select_positions", mask, alignment, steps, base),
        elements,
        unit,
        base,
        base + top + 1,
    )


def plan_coordinates(mask: Layout, alignment: int) -> tuple[int, SelectLaunch, list[SelectLaunch]]:
    """How a mask is counted, and its true elements' indices are written, a launch a dimension.

    How many chunks there are, the launch that counts, those that write. As `plan_selection`.
    """
    units = [[int(k == d) for k in range(mask.ndim)] for d in range(mask.ndim)]
    count = _launch("count_true", mask, alignment, [0] * mask.ndim)
    return _chunks(mask), count, [_launch("select_positions", mask, alignment, u) for u in units]


def _chunks(mask: Layout) -> int:
    return -(-mask.size // CHUNK)


def _launch(
    name: str,
    mask: Layout,
    alignment: int,
    steps: Sequence[int],
    base: int = 0,
    width: int = 0,
    source: int = 0,
) -> SelectLaunch:
    """A launch over the mask that steps through a second memory by `steps`."""
    dims = zip(mask.shape, mask.strides, steps, strict=True)
    axes = merged([Axis(n, (s, step), (), of_positions=False) for n, s, step in dims], 2, 0)
    furthest = max(sum((a.size - 1) * abs(a.strides[m]) for a in axes) for m in range(2))
    index = index_type(mask.size + CHUNK, furthest)
    packed = mask.is_row_major and alignment >= _WIDE
    made = selection_type(len(axes), index)(base=base, packed=packed, count=mask.size)
    made.walk = _walk(index, axes)
    return SelectLaunch(_kernel(name, len(axes), index, width), bytes(made), mask.offset, source)


def _walk(index: str, axes: list[Axis]) -> Any:
    if len(axes) not in _MASK_RANKS:
        axes = [Axis(1, (0, 0), (), of_positions=False)] * (_ANY_RANK - len(axes)) + axes
    sizes = [axis.size for axis in axes]
    return walk(index, sizes, [[axis.strides[m] for axis in axes] for m in range(2)])


def plan_store(
    destination: TensorSpec,
    reach: Reach,
    mask: Layout,
    values: tuple[Layout, tuple[int, ...]] | None,
    alignments: tuple[int, int],
) -> tuple[tuple[ReachLaunch, ...], int]:
    """The launch that writes values where the mask is true, and where in its struct the bits are.

    `values`: their layout, and its dimension for each dimension of the destination, -1 for those
    along which they stand still; None for one number. `alignments`: of destination and values.
    """
    layout, itemsize = destination.layout, destination.dtype.itemsize
    first = reach.dims[0]
    under = range(first, first + mask.ndim)

    def axis(d: int) -> Axis:
        to = layout.strides[d]
        value = to
        if values is not None:
            value = values[0].strides[values[1][d]] if values[1][d] >= 0 else 0
        step = mask.strides[d - first] if d in under else 0
        return Axis(layout.shape[d], (to, value, step), (), of_positions=False)

    axes = merged([axis(d) for d in reversed(layout.minor_to_major)], 3, 0)
    from_ = 0 if values is None else values[0].offset * itemsize
    firsts = (layout.offset * itemsize, from_)
    loop = fitted(ReachLoop(tuple(axes), itemsize, 2, firsts, ()), alignments)
    rank, index = len(loop.axes), index_of(loop)
    kind = storing_type(rank, index)
    made = kind(many=values is not None)
    made.reach = reach_struct(loop, index, 0)
    shape = (rank_macro(rank), ("INDEX", index), ("STORE", str(loop.width)))
    kernel = Kernel(FILE, "store_masked", shape=shape)
    memories = tuple(enumerate((*loop.firsts, mask.offset)))
    launch = ReachLaunch(kernel, blocks_of(loop), bytes(made), memories, ())
    return (launch,), kind.bits.offset


SCAN = Kernel(FILE, "scan_counts")


def kernels() -> tuple[Kernel, ...]:
    """All that a plan may ask for."""
    shapes = list(product((*RANKS, 0), ("int32_t", "int64_t")))
    widths = [1 << k for k in range(5)]
    found = [SCAN]
    for rank, index in shapes:
        if rank in (*_MASK_RANKS, 0):
            found += [_kernel(name, rank, index, 0) for name in ("count_true", "select_positions")]
            found += [_kernel("select_elements", rank, index, width) for width in widths]
        for width in widths:
            shape = (rank_macro(rank), ("INDEX", index), ("STORE", str(width)))
            found.append(Kernel(FILE, "store_masked", shape=shape))
    return tuple(found)


def _kernel(name: str, rank: int, index: str, width: int) -> Kernel:
    widths = (("WIDTH", str(width)),) if width else ()
    macro = ("RANK", str(rank if rank in _MASK_RANKS else 0))
    return Kernel(FILE, name, shape=(macro, ("INDEX", index), *widths))


@once
def selection_type(rank: int, index: str) -> Any:
    """``Selection<rank, index>`` of kernels/select.cu."""
    return struct_type(
        "Selection",
        to=ctypes.c_uint64,
        mask=ctypes.c_uint64,
        counts=ctypes.c_uint64,
        source=ctypes.c_uint64,
        base=ctypes.c_int64,
        packed=ctypes.c_int64,
        count=ctypes.c_int32 if index == "int32_t" else ctypes.c_int64,
        walk=walk_type(rank if rank in _MASK_RANKS else 0, index, 2),
    )


@once
def storing_type(rank: int, index: str) -> Any:
    """``Storing<rank, index>``."""
    return struct_type(
        "Storing",
        to=ctypes.c_uint64,
        values=ctypes.c_uint64,
        mask=ctypes.c_uint64,
        reach=reach_type(rank, index, 3),
        bits=ctypes.c_uint64 * 2,
        many=ctypes.c_int32,
    )
