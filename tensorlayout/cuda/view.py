"""Views on CUDA: other layouts over the same memory."""

from __future__ import annotations

from tensorlayout.cuda.engine import view_moved_by_slots
from tensorlayout.plan import (
    PartPlan,
    ReinterpretPlan,
    RowPlan,
    Run,
    SamePlan,
    ViewPlan,
    byte_item_offset,
    compile_row_view,
)
from tensorlayout.tensor import Tensor


def compile_view(plan: ViewPlan) -> Run:
    """Return a view in another layout: arithmetic on the address."""
    spec, shift, lowest = plan.result, plan.shift, plan.result.layout.offset
    if not spec.layout.size:
        return lambda x, first=0: view_moved_by_slots(x, spec, 0)
    return lambda x, first=shift + lowest: view_moved_by_slots(x, spec, first - lowest)


def compile_part(plan: PartPlan) -> Run:
    """View one half of every complex number: there are twice as many slots of that size."""
    spec, which = plan.result, plan.which

    def view_half_of_complex(x: Tensor) -> Tensor:
        result = view_moved_by_slots(x, spec, which)
        assert x.home is not None
        result.home = (x.home[0], 2 * x.home[1] + which)
        return result

    return view_half_of_complex


def compile_reinterpret(plan: ReinterpretPlan) -> Run:
    """Return the same address, its storage counted in items of another size."""
    spec, source_itemsize, result_itemsize = (
        plan.result,
        plan.source.dtype.itemsize,
        plan.result.dtype.itemsize,
    )

    def reinterpret(x: Tensor) -> Tensor:
        result = view_moved_by_slots(x, spec, 0)
        assert x.home is not None
        byte_item_offset(x.memory.address, result_itemsize)
        slot = byte_item_offset(x.home[1] * source_itemsize, result_itemsize)
        result.home = (x.home[0], slot)
        return result

    return reinterpret


def compile_same(plan: SamePlan) -> Run:
    """Return the operand itself."""
    return lambda x: x


def compile_row(plan: RowPlan) -> Run:
    """Return one slice along the first dimension."""
    return compile_row_view(plan, compile_view(plan.view))
