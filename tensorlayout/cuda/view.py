"""Views on CUDA: other layouts over the same memory."""

from __future__ import annotations

from typing import Any

from tensorlayout.cuda.engine.memory import moved_slots
from tensorlayout.layout import slots
from tensorlayout.plan.base import Run
from tensorlayout.plan.view import (
    IndexPlan,
    PartPlan,
    ReinterpretPlan,
    RowPlan,
    SamePlan,
    ViewPlan,
    outside,
    whole_items,
)
from tensorlayout.tensor import Tensor


def prepare_view(plan: ViewPlan) -> Run:
    """A view in another layout: arithmetic on the address."""
    spec, shift = plan.result, plan.shift if plan.result.layout.size else 0
    return lambda x: moved_slots(x, spec, shift)


def prepare_part(plan: PartPlan) -> Run:
    """One half of every complex number: of the slots of that size there are twice as many."""
    spec, which = plan.result, plan.which

    def part(x: Tensor) -> Tensor:
        found = moved_slots(x, spec, which)
        assert x._home is not None
        found._home = (x._home[0], 2 * x._home[1] + which)
        return found

    return part


def prepare_reinterpret(plan: ReinterpretPlan) -> Run:
    """The same address, its storage counted in items of another size."""
    spec, have, want = plan.result, plan.source.dtype.itemsize, plan.result.dtype.itemsize

    def reinterpret(x: Tensor) -> Tensor:
        found = moved_slots(x, spec, 0)
        assert x._home is not None
        whole_items(x._memory.address, want)
        slot = whole_items(x._home[1] * have, want)
        found._home = (x._home[0], slot)
        return found

    return reinterpret


def prepare_same(plan: SamePlan) -> Run:
    """The operand itself."""
    return lambda x: x


def prepare_index(plan: IndexPlan) -> Run:
    """Basic indexing; `first` is the slot of the first element, counted from the lowest of x."""
    spec, back = plan.result, plan.result.layout.offset
    if spec.layout.size == 0:
        return lambda x, key, first: moved_slots(x, spec, 0)

    def run(x: Tensor, key: tuple[Any, ...], first: int) -> Tensor:
        return moved_slots(x, spec, first - back)

    return run


def prepare_row(plan: RowPlan) -> Run:
    """One slice along the first dimension."""
    spec, layout = plan.result, plan.source.layout
    size, parts = layout.shape[0], layout.parts[0]
    back = layout.offset - spec.layout.offset
    if not spec.layout.size:
        parts, back = ((size, 0),), 0

    def row(x: Tensor, at: int) -> Tensor:
        if not -size <= at < size:
            raise outside(at, 0, layout.shape)
        return moved_slots(x, spec, slots.slot_of(parts, at % size) + back)

    if len(parts) > 1:  # a tiled dimension has no stride, but a slot for each index
        return row
    stride = parts[0][1]

    def strided_row(x: Tensor, at: int) -> Tensor:
        if not -size <= at < size:
            raise outside(at, 0, layout.shape)
        return moved_slots(x, spec, at % size * stride + back)

    return strided_row
