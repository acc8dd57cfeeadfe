"""Reads at positions. Those outside give 0; `faults` raises the IndexError later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tensorlayout.cuda.engine.kernel_shapes import kernel
from tensorlayout.cuda.engine.launch import Launch, Launches, writer
from tensorlayout.cuda.gather.index_loop import (
    Positions,
    fitted,
    launch_of,
    linearized,
    loop_of,
    strides_of,
)
from tensorlayout.plan.base import Write
from tensorlayout.plan.gather import GatherPlan

# The memories of a call; behind them are those of positions.
RESULT, READ, POSITIONS = range(3)


def write_gather(plan: GatherPlan) -> Write:
    """The function of the result, the tensor and the positions."""
    order = plan.result.layout.minor_to_major
    plan = replace(plan, index_map=replace(plan.index_map, order=order))
    number = plan.result.device.number
    return writer(number, lambda alignments: plan_gather(plan, alignments), aligned=POSITIONS)


def plan_gather(plan: GatherPlan, alignments: tuple[int, ...]) -> Launches:
    """The launches, in order; `alignments` of the result and the source.

    One, unless there are more than four tensors of positions. Of an empty result, positions are
    checked all the same, but for those that are clamped. Layouts have their lowest slots at 0, and
    are not tiled.
    """
    layout, shape = plan.source.layout, plan.result.layout.shape
    if plan.clamps and 0 in shape:
        return Launches(())
    steps = [(0, layout.strides[d]) for d in plan.index_map.dims]
    found = linearized(plan, layout, shape, steps, POSITIONS)
    if not found.left:
        return found.made
    assert not (plan.clamps and found.made.launches), "what is made says what is outside"
    return found.then(plan_read(plan, found.left, alignments, found.shifts[READ]))


def plan_read(
    plan: GatherPlan, positions: Sequence[Positions], alignments: tuple[int, ...], shift: int = 0
) -> Launch:
    """The launch for `positions`, few enough, in place of those of the plan.

    `shift` moves the source, in elements.
    """
    source, layout, itemsize = plan.source.layout, plan.result.layout, plan.result.dtype.itemsize
    firsts = (layout.offset * itemsize, (source.offset + shift) * itemsize)
    strides = [layout.strides, strides_of(plan.index_map.kept, source, layout.ndim)]
    every = loop_of(plan.index_map, layout.shape, strides, positions, itemsize, firsts)
    found = fitted(every, alignments)
    rank, width = len(found.loop.axes), found.loop.width
    chosen = kernel("gather.cu", "gather_elements", RANK=rank, INDEX=found.index, WIDTH=width)
    memories = list(enumerate(found.loop.firsts[:2]))
    return launch_of(chosen, found, memories, plan.name, clamps=plan.clamps)
