"""Walks over tiled layouts with masked tails: the structs of ``bounded.cuh``, packed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorlayout.cuda.engine.parameters import divisor
from tensorlayout.cuda.engine.structs import constant, struct
from tensorlayout.layout.digits import Bound, TiledLoop

MOST_BOUNDS = constant("include/bounded.cuh", "MOST_BOUNDS")
MOST_DIGITS = constant("include/bounded.cuh", "MOST_DIGITS")

# Indices along a dimension with a tail have 32 bits.
_FEWER_THAN = 2**31


def fits_a_walk(loop: TiledLoop) -> bool:
    """Whether `BoundedWalk` can hold the digits."""
    few = len(loop.axes) <= MOST_DIGITS and len(loop.bounds) <= MOST_BOUNDS
    return few and loop.bounded_by < _FEWER_THAN


def check_aligned(name: str, loop: TiledLoop) -> None:
    """Refuse, by a ValueError, memory that is not aligned to its elements; `name` is for that."""
    for width, alignment in zip(loop.widths, loop.alignments, strict=True):
        if width and alignment % width:
            msg = (
                f"{name}: tiled memory begins at an address that is no multiple of its {width}"
                " bytes an element; copy it first"
            )
            raise ValueError(msg)


def walk_struct(loop: TiledLoop, counted: Sequence[int], pack: int) -> Any:
    """``BoundedWalk`` over packs; `counted`: the numbers of memories whose strides count packs."""
    index, rank, packs = loop.index, len(loop.axes), loop.in_packs(pack, counted)
    made = struct("include/bounded.cuh", f"BoundedWalk<{index}, {len(loop.firsts)}>")()
    made.rank = rank
    for d, axis in enumerate(packs.axes):
        made.size[d] = divisor(index, axis.size)
        for m, stride in enumerate(axis.strides):
            made.stride[m][d] = stride
    set_bounds(made.bounds, loop.bounds)
    for b, weights in enumerate(packs.weights):
        made.weight[b][:rank] = weights
    return made


def set_bounds(made: Any, bounds: Sequence[Bound]) -> None:
    """``Bounds``; those that are not there hold all indices."""
    missing = [Bound(0, 1, 1)] * (MOST_BOUNDS - len(bounds))
    for b, bound in enumerate([*bounds, *missing]):
        made.first[b], made.size[b], made.padded[b] = bound
