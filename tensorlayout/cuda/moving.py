"""Plans that move no element one by one, on CUDA: views, and moves between devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorlayout.cuda.engine import faults
from tensorlayout.cuda.engine.memory import copy_bytes, moved_slots, new_tensor, write
from tensorlayout.devices import Device
from tensorlayout.layout import slots
from tensorlayout.plan.base import Run, backend
from tensorlayout.plan.copy import TransferPlan
from tensorlayout.plan.view import IndexPlan, PartPlan, RowPlan, SamePlan, ViewPlan, outside
from tensorlayout.tensor import StorageRef, Tensor


def prepare_view(plan: ViewPlan) -> Run:
    """The same memory, another layout."""
    spec, shift = plan.result, plan.shift if plan.result.layout.size else 0
    return lambda x: moved_slots(x, spec, shift)


def prepare_part(plan: PartPlan) -> Run:
    """One half of every complex number: of the slots of that size there are twice as many."""
    spec, which = plan.result, plan.which

    def part(x: Tensor) -> Tensor:
        found = moved_slots(x, spec, which)
        assert x._home is not None
        found._home = StorageRef(x._home.storage, 2 * x._home.slot + which)
        return found

    return part


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
    size = layout.shape[0]
    stride, back = layout.parts[0][0][1], layout.offset - spec.layout.offset
    if len(layout.parts[0]) > 1:
        return _tiled_row(plan)
    if not spec.layout.size:
        stride = back = 0

    def run(x: Tensor, at: int) -> Tensor:
        if not -size <= at < size:
            raise outside(plan.name, at, 0, plan.source.layout.shape)
        return moved_slots(x, spec, at % size * stride + back)

    return run


def _tiled_row(plan: RowPlan) -> Run:
    """The same where the dimension is tiled: no stride, but a slot for each index."""
    spec, layout = plan.result, plan.source.layout
    size, parts = layout.shape[0], layout.parts[0]
    back, some = layout.offset - spec.layout.offset, spec.layout.size > 0

    def run(x: Tensor, at: int) -> Tensor:
        if not -size <= at < size:
            raise outside(plan.name, at, 0, plan.source.layout.shape)
        return moved_slots(x, spec, slots.slot_of(parts, at % size) + back if some else 0)

    return run


def prepare_transfer(plan: TransferPlan) -> Run:
    """The bytes of a tensor of another device, copied there or by way of the host."""
    spec, source = plan.result, plan.source.device
    move = _copy_across if source.kind == spec.device.kind else _upload_from(source)

    def run(x: Tensor) -> Tensor:
        result = new_tensor(spec)
        move(result, x)
        return result

    return run


def _copy_across(result: Tensor, x: Tensor) -> None:
    """What leaves a device may have been read at positions outside."""
    copy_bytes(result, x)
    faults.check()


def _upload_from(device: Device) -> Callable[[Tensor, Tensor], None]:
    read = backend(device).read
    return lambda result, x: write(result, read(x))
