"""Tensors side by side, and taken apart, on the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from operator import attrgetter

from tensorlayout.cpu.copy.copy import mover
from tensorlayout.cpu.copy.several import several
from tensorlayout.layout import Layout
from tensorlayout.plan.base import Write
from tensorlayout.plan.join import JoinPlan, SplitPlan, part_of
from tensorlayout.tensor import Tensor, TensorSpec

_MEMORY = attrgetter("_memory")


def write_join(plan: JoinPlan) -> Write:
    """Each operand moved into its part of the result."""
    spec = plan.result
    cuts, parts = _parts(spec.layout, plan.axis, plan.sources)
    copies = [
        mover(s.layout, s.dtype, p, spec.dtype) for s, p in zip(plan.sources, parts, strict=True)
    ]
    move = several(copies, [part.size * spec.dtype.itemsize for part in parts])

    def join(out: Tensor, *operands: Tensor) -> None:
        move(map(out._memory.__getitem__, cuts), map(_MEMORY, operands))

    return join


def write_split(plan: SplitPlan) -> Write:
    """Each part moved into its tensor."""
    source, results = plan.source, plan.results
    cuts, parts = _parts(source.layout, plan.axis, results)
    copies = [
        mover(p, source.dtype, r.layout, r.dtype) for p, r in zip(parts, results, strict=True)
    ]
    move = several(copies, [result.layout.size * result.dtype.itemsize for result in results])

    def split(*tensors: Tensor) -> None:
        *outs, x = tensors
        move(map(_MEMORY, outs), map(x._memory.__getitem__, cuts))

    return split


def _parts(
    layout: Layout, axis: int, specs: Sequence[TensorSpec]
) -> tuple[list[tuple[slice, ...]], list[Layout]]:
    """What cuts a dimension into parts of the sizes of tensors, and the layouts of the parts."""
    ends = accumulate([spec.layout.shape[axis] for spec in specs], initial=0)
    cuts = [(*[slice(None)] * axis, slice(*bounds)) for bounds in pairwise(ends)]
    return cuts, [part_of(layout, cut) for cut in cuts]
