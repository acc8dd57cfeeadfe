"""Views on CUDA: other layouts of the same memory."""

from __future__ import annotations

from tensorlayout.cuda.engine import view_shifted_by_slots
from tensorlayout.plan import (
    PartPlan,
    ReinterpretPlan,
    RowPlan,
    Run,
    SamePlan,
    ViewPlan,
    compile_row_view,
    whole_items_before_byte,
)
from tensorlayout.tensor import Tensor


def compile_view(plan: ViewPlan) -> Run:
    """Compile a view in another layout: only the address changes."""
    spec, shift, lowest = plan.result, plan.shift, plan.result.layout.offset
    # An empty view has no first element, so it keeps the operand's place.
    if not spec.layout.size:
        return lambda x, first=0: view_shifted_by_slots(x, spec, 0)
    return lambda x, first=shift + lowest: view_shifted_by_slots(x, spec, first - lowest)


def compile_real_or_imag_view(plan: PartPlan) -> Run:
    """Compile a view of the real or imaginary parts of complex numbers."""
    spec, which = plan.result, plan.which

    def real_or_imag_view(x: Tensor) -> Tensor:
        result = view_shifted_by_slots(x, spec, which)
        assert x.home is not None
        # `home` counts slots of the dtype, and each complex number has two slots of its parts.
        result.home = (x.home[0], 2 * x.home[1] + which)
        return result

    return real_or_imag_view


def compile_reinterpret(plan: ReinterpretPlan) -> Run:
    """Compile a view of the same address that counts the storage in items of another size."""
    spec = plan.result
    source_itemsize = plan.source.dtype.itemsize
    result_itemsize = plan.result.dtype.itemsize

    def reinterpret_bytes_as_result_dtype(x: Tensor) -> Tensor:
        result = view_shifted_by_slots(x, spec, 0)
        assert x.home is not None
        # Only for its ValueError: kernels access elements at multiples of their size.
        whole_items_before_byte(x.memory.address, result_itemsize)
        slot = whole_items_before_byte(x.home[1] * source_itemsize, result_itemsize)
        result.home = (x.home[0], slot)
        return result

    return reinterpret_bytes_as_result_dtype


def compile_same(plan: SamePlan) -> Run:
    """Compile a plan that returns its operand."""
    return lambda x: x


def compile_row(plan: RowPlan) -> Run:
    """Compile ``x[i]``: one slice along the first dimension."""
    return compile_row_view(plan, compile_view(plan.view))
