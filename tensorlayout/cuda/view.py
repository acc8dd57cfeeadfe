"""Views on CUDA: other layouts over the same memory."""

from __future__ import annotations

from tensorlayout.cuda.engine import moved_slots
from tensorlayout.plan import (
    PartPlan,
    ReinterpretPlan,
    RowPlan,
    Run,
    SamePlan,
    ViewPlan,
    rows,
    whole_items,
)
from tensorlayout.tensor import Tensor


def prepare_view(plan: ViewPlan) -> Run:
    """A view in another layout: arithmetic on the address."""
    spec, shift, lowest = plan.result, plan.shift, plan.result.layout.offset
    if not spec.layout.size:
        return lambda x, first=0: moved_slots(x, spec, 0)
    return lambda x, first=shift + lowest: moved_slots(x, spec, first - lowest)


def prepare_part(plan: PartPlan) -> Run:
    """One half of every complex number: of the slots of that size there are twice as many."""
    spec, which = plan.result, plan.which

    def part(x: Tensor) -> Tensor:
        found = moved_slots(x, spec, which)
        assert x.home is not None
        found.home = (x.home[0], 2 * x.home[1] + which)
        return found

    return part


def prepare_reinterpret(plan: ReinterpretPlan) -> Run:
    """The same address, its storage counted in items of another size."""
    spec, have, want = plan.result, plan.source.dtype.itemsize, plan.result.dtype.itemsize

    def reinterpret(x: Tensor) -> Tensor:
        found = moved_slots(x, spec, 0)
        assert x.home is not None
        whole_items(x.memory.address, want)
        slot = whole_items(x.home[1] * have, want)
        found.home = (x.home[0], slot)
        return found

    return reinterpret


def prepare_same(plan: SamePlan) -> Run:
    """The operand itself."""
    return lambda x: x


def prepare_row(plan: RowPlan) -> Run:
    """One slice along the first dimension."""
    return rows(plan, prepare_view(plan.view))
