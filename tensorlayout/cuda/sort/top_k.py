"""The first elements of sorted lines: one launch for lines of up to a tile. Integers only."""

from __future__ import annotations

from math import prod
from typing import Any

from tensorlayout.cuda.engine.c_types import c_type
from tensorlayout.cuda.engine.kernel_shapes import kernel, parameters
from tensorlayout.cuda.engine.launch import Launch
from tensorlayout.cuda.engine.parameters import divisor32, index_type, pack_axes
from tensorlayout.cuda.engine.sectors import SECTOR
from tensorlayout.cuda.sort.lines import (
    BEYOND,
    CAPACITY,
    FILE,
    TILE,
    axes_of,
    is_fastest,
)
from tensorlayout.layout import Layout
from tensorlayout.layout.loop import Axis, furthest
from tensorlayout.plan.sort import TopKPlan
from tensorlayout.tensor import TensorSpec


def plan_top_k(plan: TopKPlan) -> Launch | None:
    """The launch that writes as many elements of each line as the result has; None for none.

    Memories: result, positions, of 4 or 8 bytes, and source. Lines are visited as the source has
    them in memory; a tile has as many of them as it has room for.
    """
    source, values, positions, dim = plan.source, plan.result, plan.positions, plan.dim
    layouts = source.layout, values.layout, positions.layout
    layout, length, count = source.layout, source.layout.shape[dim], values.layout.shape[dim]
    assert length <= TILE, "longer lines are merged"
    if not values.layout.size:
        return None
    around = [d for d in reversed(layout.minor_to_major) if d != dim]
    lines = prod(layout.shape[d] for d in around)
    one = (1, 0, 0, 0)  # where there is nothing around
    others = [(layout.shape[d], *[each.strides[d] for each in layouts]) for d in around]
    walked = axes_of([one, *others])
    steps = [each.strides[dim] if each.shape[dim] > 1 else 0 for each in layouts]
    together = _together(source, positions, dim, lines)
    reach = furthest((*walked, Axis(length, tuple(steps))))
    index = index_type(lines + BEYOND, reach + BEYOND)
    types = (("ELEMENT", c_type(source.dtype)),)
    chosen = kernel(FILE, "leading_tiles", types, RANK=len(walked), INDEX=index)
    made = parameters(chosen)(
        lines=lines,
        step=tuple(steps),
        line=divisor32(length),
        together=together,
        leading=count,
        wide=int(positions.dtype.itemsize == 8),
        descending=int(plan.down),
    )
    pack_axes(made.walk, walked, 1)
    _number(made.read, layout, dim, length, together)
    _number(made.written, values.layout, dim, count, together)
    firsts = tuple(spec.layout.offset * spec.dtype.itemsize for spec in (values, positions, source))
    return Launch(chosen, -(-lines // together), bytes(made), firsts)


def _together(source: TensorSpec, positions: TensorSpec, dim: int, lines: int) -> int:
    """How many lines share a tile: of those side by side as many as fill sectors, if there is room.

    Else each tile would begin inside of sectors, in every position of its lines.
    """
    length = source.layout.shape[dim]
    if length > CAPACITY:
        return 1
    room = min(CAPACITY // length, lines)
    sector = SECTOR // min(source.dtype.itemsize, positions.dtype.itemsize)
    ragged = room % sector if not is_fastest(source.layout, dim) and room < lines else 0
    return room - ragged if room > sector else room


def _number(made: Any, layout: Layout, dim: int, length: int, together: int) -> None:
    """Whether elements are numbered along lines, or across them."""
    across = together > 1 and not is_fastest(layout, dim)
    made.size, made.across = divisor32(together if across else length), int(across)
