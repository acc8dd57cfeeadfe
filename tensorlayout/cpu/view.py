"""Views on the CPU: other arrays over the same storage."""

from __future__ import annotations

import numpy as np

from tensorlayout.cpu.engine.memory import Array, array_over, byte_strides, home_of
from tensorlayout.plan import (
    PartPlan,
    ReinterpretPlan,
    RowPlan,
    Run,
    SamePlan,
    ViewPlan,
    outside,
    rows,
    whole_items,
)
from tensorlayout.tensor import Tensor, TensorSpec


def prepare_view(plan: ViewPlan) -> Run:
    """Another array over the storage of the operand."""
    spec, shift = plan.result, plan.shift
    layout, dtype = spec.layout, spec.dtype
    if not layout.size:  # which begins anywhere
        return lambda x, first=0: _placed(spec, *home_of(x), 0)
    if not layout.is_strided:
        return lambda x, first=shift + layout.offset: _placed(
            spec, *home_of(x), first - layout.offset
        )
    shape, strides, itemsize = layout.shape, byte_strides(layout, dtype.itemsize), dtype.itemsize
    lowest, new, over = layout.offset, object.__new__, np.ndarray

    def view(x: Tensor, first: int = shift + layout.offset) -> Tensor:
        storage, slot = x.home or home_of(x)
        made = new(Tensor)
        made.memory = over(shape, dtype, storage, (slot + first) * itemsize, strides)
        made.spec, made.home = spec, (storage, slot + first - lowest)
        return made

    return view


def _placed(spec: TensorSpec, storage: Array, slot: int, up: int) -> Tensor:
    """A tensor over a storage, its lowest slot so many `up` from the given one."""
    placed = spec.layout.moved(slot + up)
    return Tensor._new(array_over(storage, spec.dtype, placed), spec, (storage, slot + up))


def prepare_part(plan: PartPlan) -> Run:
    """One half of every complex number: of the slots of that size there are twice as many."""
    spec, which = plan.result, plan.which
    if plan.source.layout.is_tiled:  # its parts may lie in no tile: they own no tails
        return lambda x: _placed(spec, home_of(x)[0], 2 * home_of(x)[1], which)

    def part(x: Tensor) -> Tensor:
        storage, slot = home_of(x)
        memory = x.memory.imag if which else x.memory.real
        return Tensor._new(memory, spec, (storage, 2 * slot + which))

    return part


def prepare_reinterpret(plan: ReinterpretPlan) -> Run:
    """Another array over the storage of the operand, in items of another dtype."""
    spec, have, want = plan.result, plan.source.dtype.itemsize, plan.result.dtype.itemsize

    def reinterpret(x: Tensor) -> Tensor:
        storage, slot = home_of(x)
        return _placed(spec, storage, whole_items(slot * have, want), 0)

    return reinterpret


def prepare_same(plan: SamePlan) -> Run:
    """The operand itself."""
    return lambda x: x


def prepare_row(plan: RowPlan) -> Run:
    """One slice along the first dimension; the commonest by NumPy's shortest way."""
    spec, layout = plan.result, plan.view.source.layout
    if not layout.is_strided or not spec.layout.shape or not spec.layout.size:
        return rows(plan, prepare_view(plan.view))
    shape, size, stride = layout.shape, layout.shape[0], layout.strides[0]
    up, new = layout.offset - spec.layout.offset, object.__new__

    def row(x: Tensor, at: int) -> Tensor:
        if not -size <= at < size:
            raise outside(at, 0, shape)
        storage, slot = x.home or home_of(x)
        made = new(Tensor)
        made.memory, made.spec = x.memory[at], spec
        made.home = (storage, slot + at % size * stride + up)
        return made

    return row
