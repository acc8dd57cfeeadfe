"""Reads at positions. Those outside give 0; `faults` raises the IndexError later."""

from __future__ import annotations

from dataclasses import replace

from tensorlayout.cuda.engine.kernel_shapes import kernel
from tensorlayout.cuda.engine.launch import Launch, Launches, writer
from tensorlayout.cuda.gather.index_loop import Positions, fitted, launch_of, loop_of, strides_of
from tensorlayout.cuda.gather.linearize_indices import linearized
from tensorlayout.layout import Layout
from tensorlayout.plan.base import Write
from tensorlayout.plan.gather import GatherPlan, IndexMap
from tensorlayout.tensor import TensorSpec

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
    source, index_map, shape = plan.source.layout, plan.index_map, plan.result.layout.shape
    if plan.clamps and not plan.result.layout.size:
        return Launches(())
    steps = [(0, source.strides[d]) for d in index_map.dims]
    found = linearized(plan, source, shape, steps, POSITIONS)
    if not found.left:
        return found.made
    assert not (plan.clamps and found.made.launches), "what is made says what is outside"
    shift = found.shifts[READ]
    last = plan_read(
        plan.name, source, index_map, plan.result, found.left, alignments, shift, plan.clamps
    )
    return found.then(last)


def plan_read(
    name: str,
    source: Layout,
    index_map: IndexMap,
    result: TensorSpec,
    positions: tuple[Positions, ...],
    alignments: tuple[int, ...],
    shift: int = 0,
    clamps: bool = False,
) -> Launch:
    """The launch for few enough tensors of positions; `shift` moves the source, in elements."""
    layout, itemsize = result.layout, result.dtype.itemsize
    read = strides_of(index_map.kept, source, layout.ndim)
    firsts = (layout.offset * itemsize, (source.offset + shift) * itemsize)
    strides = [layout.strides, read]
    loop = fitted(
        loop_of(index_map, layout.shape, strides, positions, itemsize, firsts),
        alignments,
    )
    rank, width = len(loop.loop.axes), loop.loop.width
    chosen = kernel("gather.cu", "gather_elements", RANK=rank, INDEX=loop.index, WIDTH=width)
    return launch_of(chosen, loop, list(enumerate(loop.loop.firsts[:2])), name, clamps=clamps)
