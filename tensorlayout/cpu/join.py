"""Concatenation and splitting of tensors on the CPU."""

from __future__ import annotations

from operator import attrgetter

import numpy as np

from tensorlayout.cpu.copy.choose import make_combined_copy
from tensorlayout.cpu.copy.copy import choose_converting_copy
from tensorlayout.plan import JoinPlan, Run, SplitPlan, Write, part_slices, slice_layout
from tensorlayout.tensor import Tensor

_FEW = 1024  # elements up to which the overhead of a call dominates

_MEMORY = attrgetter("memory")


def compile_join(plan: JoinPlan) -> Write:
    """Compile a copy of each operand into its part of the result."""
    spec = plan.result
    cuts = part_slices(plan.sources, plan.axis)
    parts = [slice_layout(spec.layout, cut) for cut in cuts]
    copies = [
        choose_converting_copy(s.layout, s.dtype, p, spec.dtype)
        for s, p in zip(plan.sources, parts, strict=True)
    ]
    move = make_combined_copy(copies, [part.size * spec.dtype.itemsize for part in parts])

    def join_into_out(out: Tensor, *operands: Tensor) -> None:
        move(map(out.memory.__getitem__, cuts), map(_MEMORY, operands))

    return join_into_out


def compile_allocating(plan: JoinPlan) -> Run | None:
    """Compile a join of few row-major elements to one NumPy call; None for other plans."""
    spec, axis, new = plan.result, plan.axis, object.__new__
    alike = all(s.dtype == spec.dtype and s.layout.is_row_major for s in plan.sources)
    if not (alike and spec.layout.is_row_major) or spec.layout.size > _FEW:
        return None

    def join_to_new(*operands: Tensor) -> Tensor:
        tensor = new(Tensor)
        tensor.memory = np.concatenate(tuple(map(_MEMORY, operands)), axis)
        tensor.spec, tensor.home = spec, None
        return tensor

    return join_to_new


def compile_split(plan: SplitPlan) -> Write:
    """Compile a copy of each part into its result."""
    source, results = plan.source, plan.results
    cuts = part_slices(results, plan.axis)
    parts = [slice_layout(source.layout, cut) for cut in cuts]
    copies = [
        choose_converting_copy(p, source.dtype, r.layout, r.dtype)
        for p, r in zip(parts, results, strict=True)
    ]
    move = make_combined_copy(
        copies, [result.layout.size * result.dtype.itemsize for result in results]
    )

    def split_into_parts(*tensors: Tensor) -> None:
        *outs, x = tensors
        move(map(_MEMORY, outs), map(x.memory.__getitem__, cuts))

    return split_into_parts
