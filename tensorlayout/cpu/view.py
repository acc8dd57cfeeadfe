"""Views on the CPU: other arrays over the same storage."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorlayout.cpu.engine.memory import Array, array_over, byte_strides, home_of
from tensorlayout.layout.slots import slot_of
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
from tensorlayout.tensor import Tensor, TensorSpec


def prepare_view(plan: ViewPlan) -> Run:
    """Another array over the storage of the operand."""
    spec, shift = plan.result, plan.shift
    layout, dtype = spec.layout, spec.dtype
    if layout.is_tiled:
        return lambda x: _placed(spec, *home_of(x), shift)
    if layout.size == 0:
        return lambda x: Tensor._new(array_over(x._memory, dtype, layout), spec, home_of(x))
    shape, strides = layout.shape, byte_strides(layout, dtype.itemsize)
    # In bytes, from the source's lowest slot to the result's element at index (0, …, 0).
    first, itemsize = (shift + layout.offset) * dtype.itemsize, dtype.itemsize

    def run(x: Tensor) -> Tensor:
        storage, slot = home_of(x)
        memory = np.ndarray(shape, dtype, storage, first + slot * itemsize, strides)
        return Tensor._new(memory, spec, (storage, slot + shift))

    return run


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
        memory = x._memory.imag if which else x._memory.real
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


def prepare_index(plan: IndexPlan) -> Run:
    """Basic indexing: NumPy cuts the array, the plan knows its layout."""
    spec = plan.result
    back = plan.result.layout.offset
    if spec.layout.size == 0:
        return lambda x, key, first: Tensor._new(x._memory[key], spec, home_of(x))

    def run(x: Tensor, key: tuple[Any, ...], first: int) -> Tensor:
        storage, slot = home_of(x)
        return Tensor._new(x._memory[key], spec, (storage, slot + first - back))

    return run


def prepare_row(plan: RowPlan) -> Run:
    """One slice along the first dimension."""
    spec, layout = plan.result, plan.source.layout
    size, parts = layout.shape[0], layout.parts[0]
    back = layout.offset - spec.layout.offset
    if not spec.layout.size:
        parts, back = ((size, 0),), 0

    def tiled_row(x: Tensor, at: int) -> Tensor:  # the result may have strides
        if not -size <= at < size:
            raise outside(at, 0, layout.shape)
        return _placed(spec, *home_of(x), back + slot_of(parts, at % size))

    if layout.is_tiled:
        return tiled_row
    stride = parts[0][1]

    def row(x: Tensor, at: int) -> Tensor:
        if not -size <= at < size:
            raise outside(at, 0, layout.shape)
        storage, slot = home_of(x)
        home = (storage, slot + at % size * stride + back)
        return Tensor._new(x._memory[at, ...], spec, home)

    return row
