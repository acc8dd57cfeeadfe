"""A copy with few elements replaced: one launch. Integers only, no device."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from tensorlayout.cuda.engine.faults import MAX_POSITIONS
from tensorlayout.cuda.engine.kernel_shapes import kernel
from tensorlayout.cuda.engine.launch import PER_THREAD, Launch, blocks_for
from tensorlayout.cuda.engine.parameters import index_type
from tensorlayout.cuda.gather.index_loop import (
    Positions,
    fitted,
    launch_of,
    loop_over,
    positions_of,
)
from tensorlayout.cuda.scatter.scatter import Table, values_of
from tensorlayout.layout import Layout
from tensorlayout.layout.loop import Axis, merged
from tensorlayout.plan.scatter import CopyScatterPlan

FILE = "scatter/copy_scatter.cu"

# The memories of a call, and of loops: behind them are positions, or the number of a place.
RESULT, SOURCE, VALUES, POSITIONS = range(4)

# Positions that an element is compared with, at most. An estimate, not measured: so many come from
# a cache in about the time in which an element goes to and from memory.
FEW = 32


def plan_copy_scatter(plan: CopyScatterPlan, alignments: tuple[int, ...]) -> Launch | None:
    """The launch that writes the source to the destination, but for the values at positions.

    None for many positions, or where these do not follow each other at one distance. `alignments`
    of the destination, the source and the values. Layouts have their lowest slots at 0, and are not
    tiled.
    """
    scatter, source = plan.scatter, plan.source.layout
    layout, index_map, values = plan.result.layout, scatter.index_map, values_of(scatter)
    spread, specs = index_map.spread(scatter.shape), scatter.positions
    count = scatter.shape[index_map.index_dims[0]] if index_map.per_line else prod(spread)
    few = 0 < count <= FEW and len(specs) <= MAX_POSITIONS
    if values is None or not few or 0 in layout.shape:
        return None
    weights = dict(zip(index_map.dims, Table(scatter).steps, strict=True))
    positions = [
        positions_of(POSITIONS + k, spec, spread, layout.shape[d], (0, 0, 0, weights[d]))
        for k, (spec, d) in enumerate(zip(specs, index_map.dims, strict=True))
    ]
    paces = _paces(plan, values, positions)
    if paces is None:
        return None
    # What goes through the values is kept with the first tensor of positions: widths change both.
    positions[0] = replace(positions[0], steps=(0, 0, paces[0], positions[0].steps[-1]))
    by_dim = dict(index_map.kept)

    def axis(d: int) -> Axis:
        at = by_dim.get(d)
        steps = (layout.strides[d], source.strides[d], 0 if at is None else values.strides[at])
        lines = [0] * len(positions)
        if at is not None and index_map.per_line:
            lines = [p.layout.strides[at] for p in positions]
        return Axis(layout.shape[d], (*steps, weights.get(d, 0), *lines))

    axes = [axis(d) for d in reversed(layout.minor_to_major)]
    itemsize = plan.result.dtype.itemsize
    firsts = tuple(each.offset * itemsize for each in (layout, source, values))
    loop = fitted(loop_over(axes, 4, positions, itemsize, firsts), alignments)
    elements, across = loop.loop.count, paces[1:]
    furthest = loop.furthest + count * max(map(abs, (loop.positions[0].steps[VALUES], *across)))
    index = max(loop.index, index_type(elements, furthest))
    rank, width = len(loop.loop.axes), loop.loop.width
    chosen = kernel(
        "scatter/copy_scatter.cu", "replace_elements", RANK=rank, INDEX=index, WIDTH=width
    )
    memories = list(enumerate(loop.loop.firsts[:POSITIONS]))
    pace = (*across, *[0] * (MAX_POSITIONS - len(across)))
    grid = blocks_for(elements * PER_THREAD)
    return launch_of(chosen, loop, memories, scatter.name, grid=grid, pace=pace, count=count)


def _paces(
    plan: CopyScatterPlan, values: Layout, positions: list[Positions]
) -> tuple[int, ...] | None:
    """How far positions are apart in the values, and in each tensor of them; None if not evenly."""
    index_map = plan.scatter.index_map
    dims = index_map.index_dims
    at = dims if index_map.per_line else range(len(dims))
    axes = merged(
        Axis(plan.scatter.shape[d], (values.strides[d], *[p.layout.strides[k] for p in positions]))
        for d, k in zip(dims, at, strict=True)
    )
    if not axes:
        return (0,) * (1 + len(positions))
    return axes[0].strides if len(axes) == 1 else None
