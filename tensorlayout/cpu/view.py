"""Views on the CPU: other arrays over the same storage."""

from __future__ import annotations

import numpy as np

from tensorlayout.cpu.engine.memory import Array, array_of_layout, byte_strides, storage_and_slot
from tensorlayout.plan import (
    PartPlan,
    ReinterpretPlan,
    RowPlan,
    Run,
    SamePlan,
    ViewPlan,
    compile_row_view,
    index_out_of_bounds_error,
    whole_items_before_byte,
)
from tensorlayout.tensor import Tensor, TensorSpec


def compile_view(plan: ViewPlan) -> Run:
    """Compile a view: another array over the operand's storage."""
    spec, shift = plan.result, plan.shift
    layout, dtype = spec.layout, spec.dtype
    if not layout.size:  # an empty view may begin anywhere
        return lambda x, first=0: _tensor_at_slot(spec, *storage_and_slot(x), 0)
    if not layout.is_strided:
        return lambda x, first=shift + layout.offset: _tensor_at_slot(
            spec, *storage_and_slot(x), first - layout.offset
        )
    shape, strides, itemsize = layout.shape, byte_strides(layout, dtype.itemsize), dtype.itemsize
    lowest, new, over = layout.offset, object.__new__, np.ndarray

    def make_planned_view(x: Tensor, first: int = shift + layout.offset) -> Tensor:
        storage, slot = x.home or storage_and_slot(x)
        tensor = new(Tensor)
        tensor.memory = over(shape, dtype, storage, (slot + first) * itemsize, strides)
        tensor.spec, tensor.home = spec, (storage, slot + first - lowest)
        return tensor

    return make_planned_view


def _tensor_at_slot(spec: TensorSpec, storage: Array, slot: int, slot_shift: int) -> Tensor:
    """Return a tensor over `storage`; its lowest slot is ``slot + slot_shift``."""
    layout = spec.layout.moved(slot + slot_shift)
    return Tensor._from_memory(
        array_of_layout(storage, spec.dtype, layout), spec, (storage, slot + slot_shift)
    )


def compile_real_or_imag_view(plan: PartPlan) -> Run:
    """Compile a view of real or imaginary parts; slots of half the size are counted twice."""
    spec, which = plan.result, plan.which
    if plan.source.layout.is_tiled:  # parts own no padding, as they may not form tiles
        return lambda x: _tensor_at_slot(
            spec, storage_and_slot(x)[0], 2 * storage_and_slot(x)[1], which
        )

    def view_part(x: Tensor) -> Tensor:
        storage, slot = storage_and_slot(x)
        memory = x.memory.imag if which else x.memory.real
        return Tensor._from_memory(memory, spec, (storage, 2 * slot + which))

    return view_part


def compile_reinterpret(plan: ReinterpretPlan) -> Run:
    """Compile a view of the operand's storage in another dtype."""
    spec, have, want = plan.result, plan.source.dtype.itemsize, plan.result.dtype.itemsize

    def view_in_dtype(x: Tensor) -> Tensor:
        storage, slot = storage_and_slot(x)
        return _tensor_at_slot(spec, storage, whole_items_before_byte(slot * have, want), 0)

    return view_in_dtype


def compile_same(plan: SamePlan) -> Run:
    """Compile a function that returns its operand."""
    return lambda x: x


def compile_row(plan: RowPlan) -> Run:
    """Compile ``x[index]``; strided layouts take NumPy's fastest path."""
    spec, layout = plan.result, plan.view.source.layout
    if not layout.is_strided or not spec.layout.shape or not spec.layout.size:
        return compile_row_view(plan, compile_view(plan.view))
    shape, size, stride = layout.shape, layout.shape[0], layout.strides[0]
    slot_shift, new = layout.offset - spec.layout.offset, object.__new__

    def view_row(x: Tensor, index: int) -> Tensor:
        if not -size <= index < size:
            raise index_out_of_bounds_error(index, 0, shape)
        storage, slot = x.home or storage_and_slot(x)
        tensor = new(Tensor)
        tensor.memory, tensor.spec = x.memory[index], spec
        tensor.home = (storage, slot + index % size * stride + slot_shift)
        return tensor

    return view_row
