"""Plans that move elements, on the CPU: views, copies, casts, writes, joins, moves to it."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np

from tensorlayout.cpu import tiled
from tensorlayout.cpu.copy import CopyPlan as ReadyCopy
from tensorlayout.cpu.copy import choose_copy
from tensorlayout.cpu.copy_several import several
from tensorlayout.cpu.engine.casting import converter, scalar_in
from tensorlayout.cpu.engine.memory import (
    Array,
    array_over,
    byte_strides,
    home_of,
    new_tensor,
    tensor_of_bytes,
)
from tensorlayout.dtypes import DType
from tensorlayout.layout import Layout
from tensorlayout.layout.slots import slot_of
from tensorlayout.plan.base import Run, Write, backend
from tensorlayout.plan.copy import AssignPlan, CopyPlan, ReshapePlan, TransferPlan
from tensorlayout.plan.join import JoinPlan, SplitPlan
from tensorlayout.plan.pad import SpreadPlan
from tensorlayout.plan.view import IndexPlan, PartPlan, RowPlan, SamePlan, ViewPlan, outside
from tensorlayout.tensor import StorageRef, Tensor, TensorSpec


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
        return Tensor._new(memory, spec, StorageRef(storage, slot + shift))

    return run


def _placed(spec: TensorSpec, storage: Array, slot: int, up: int) -> Tensor:
    """A tensor over a storage, its lowest slot so many `up` from the given one."""
    placed = spec.layout.moved(slot + up)
    return Tensor._new(
        array_over(storage, spec.dtype, placed), spec, StorageRef(storage, slot + up)
    )


def prepare_part(plan: PartPlan) -> Run:
    """One half of every complex number: of the slots of that size there are twice as many."""
    spec, which = plan.result, plan.which
    if plan.source.layout.is_tiled:  # its parts may lie in no tile: they own no tails
        return lambda x: _placed(spec, home_of(x).storage, 2 * home_of(x).slot, which)

    def part(x: Tensor) -> Tensor:
        storage, slot = home_of(x)
        memory = x._memory.imag if which else x._memory.real
        return Tensor._new(memory, spec, StorageRef(storage, 2 * slot + which))

    return part


def prepare_same(plan: SamePlan) -> Run:
    """The operand itself."""
    return lambda x: x


def prepare_transfer(plan: TransferPlan) -> Run:
    """The bytes of a tensor on another device, read by its backend."""
    spec, source = plan.result, backend(plan.source.device)
    return lambda x: tensor_of_bytes(source.read(x), spec)


def prepare_index(plan: IndexPlan) -> Run:
    """Basic indexing: NumPy cuts the array, the plan knows its layout."""
    spec = plan.result
    back = plan.result.layout.offset
    if spec.layout.size == 0:
        return lambda x, key, first: Tensor._new(x._memory[key], spec, home_of(x))

    def run(x: Tensor, key: tuple[Any, ...], first: int) -> Tensor:
        storage, slot = home_of(x)
        return Tensor._new(x._memory[key], spec, StorageRef(storage, slot + first - back))

    return run


def prepare_row(plan: RowPlan) -> Run:
    """One slice along the first dimension."""
    spec, layout = plan.result, plan.source.layout
    if layout.is_tiled:
        return _tiled_row(plan)
    size, stride, name = layout.shape[0], layout.strides[0], plan.name
    back = layout.offset - spec.layout.offset if spec.layout.size else 0
    stride = stride if spec.layout.size else 0

    def run(x: Tensor, at: int) -> Tensor:
        if not -size <= at < size:
            raise outside(name, at, 0, layout.shape)
        storage, slot = home_of(x)
        home = StorageRef(storage, slot + at % size * stride + back)
        return Tensor._new(x._memory[at, ...], spec, home)

    return run


def _tiled_row(plan: RowPlan) -> Run:
    """The same of a tiled tensor, whose result may have strides."""
    spec, layout, name = plan.result, plan.source.layout, plan.name
    size, parts = layout.shape[0], layout.parts[0]
    back = layout.offset - spec.layout.offset if spec.layout.size else 0

    def run(x: Tensor, at: int) -> Tensor:
        if not -size <= at < size:
            raise outside(name, at, 0, layout.shape)
        storage, slot = home_of(x)
        slot += back + slot_of(parts, at % size) if spec.layout.size else 0
        memory = array_over(storage, spec.dtype, spec.layout.moved(slot))
        return Tensor._new(memory, spec, StorageRef(storage, slot))

    return run


def prepare_copy(plan: CopyPlan) -> Run:
    """A new tensor; padding, if any, filled as it is allocated."""
    if plan.source.layout.is_tiled or plan.result.layout.is_tiled:
        convert = converter(plan.source.dtype, plan.result.dtype)
        return tiled.prepare_copy(plan.source, plan.result, convert)
    move = _mover(plan.source.layout, plan.source.dtype, plan.result.layout, plan.result.dtype).run
    spec = plan.result

    def run(x: Tensor) -> Tensor:
        result = new_tensor(spec)
        move(result._memory, x._memory)
        return result

    return run


def prepare_reshape(plan: ReshapePlan) -> Run:
    """Row-major storage filled through the old shape, then seen under the new one."""
    old = Layout.row_major(plan.source.layout.shape)
    move = _mover(plan.source.layout, plan.source.dtype, old, plan.result.dtype).run
    spec, shape = plan.result, plan.result.layout.shape
    filled = TensorSpec(spec.dtype, old, spec.device)

    def run(x: Tensor) -> Tensor:
        memory = new_tensor(filled)._memory
        move(memory, x._memory)
        return Tensor._new(memory.reshape(shape), spec)

    return run


def prepare_assign(plan: AssignPlan) -> Run:
    """A write into the operand's memory; the value lies apart from it, or exactly there."""
    destination = plan.result
    if isinstance(plan.source, type) and destination.layout.is_tiled:
        return _assign_scalar_in_tiles(plan.name, destination)
    if isinstance(plan.source, type):
        return functools.partial(_assign_scalar, plan.name, destination.dtype)
    if plan.source.layout.is_tiled or destination.layout.is_tiled:
        convert = converter(plan.source.dtype, destination.dtype)
        return tiled.prepare_assign(plan.source, destination, convert)
    broadcast = plan.source.layout.broadcast_to(destination.layout.shape)
    move = _mover(broadcast, plan.source.dtype, destination.layout, destination.dtype).run
    shape = destination.layout.shape
    same = plan.source.layout.shape == shape

    def run(x: Tensor, value: Tensor) -> Tensor:
        move(x._memory, value._memory if same else np.broadcast_to(value._memory, shape))
        return x

    return run


def _assign_scalar(name: str, dtype: DType, x: Tensor, value: Any) -> Tensor:
    x._memory[...] = scalar_in(name, dtype, value)
    return x


def _assign_scalar_in_tiles(name: str, destination: TensorSpec) -> Run:
    write = tiled.scalar_writer(destination)

    def run(x: Tensor, value: Any) -> Tensor:
        write(x, scalar_in(name, destination.dtype, value))
        return x

    return run


def write_join(plan: JoinPlan) -> Write:
    """Each operand moved into its part of the result."""
    sources, dtype, layout = plan.sources, plan.result.dtype, plan.result.layout
    cuts = _cuts(plan.axis, [source.layout.shape[plan.axis] for source in sources])
    parts = [_part(layout, cut) for cut in cuts]
    copies = [_mover(s.layout, s.dtype, p, dtype) for s, p in zip(sources, parts, strict=True)]
    move = several(copies, [part.size * dtype.itemsize for part in parts])
    return lambda out, *operands: move(
        (out._memory[cut], x._memory) for cut, x in zip(cuts, operands, strict=True)
    )


def prepare_split(plan: SplitPlan) -> Write:
    """Each part moved into its tensor."""
    source, results = plan.source, plan.results
    cuts = _cuts(plan.axis, [result.layout.shape[plan.axis] for result in results])
    parts = [_part(source.layout, cut) for cut in cuts]
    copies = [
        _mover(p, source.dtype, r.layout, r.dtype) for p, r in zip(parts, results, strict=True)
    ]
    move = several(copies, [result.layout.size * result.dtype.itemsize for result in results])

    def run(*tensors: Tensor) -> None:
        *parts, x = tensors
        move((to._memory, x._memory[cut]) for to, cut in zip(parts, cuts, strict=True))

    return run


def _cuts(axis: int, sizes: Iterable[int]) -> list[tuple[slice, ...]]:
    """What cuts a dimension into parts of these sizes, one behind the other."""
    ends = itertools.accumulate(sizes, initial=0)
    return [(*[slice(None)] * axis, slice(*bounds)) for bounds in itertools.pairwise(ends)]


def _part(layout: Layout, cut: tuple[slice, ...]) -> Layout:
    part = layout.slice(cut)
    assert part is not None, "strided layouts have every slice"
    return part


def prepare_spread(plan: SpreadPlan) -> Run:
    """Zeros, and the tensor moved into the window."""
    sizes = plan.source.layout.shape
    key = tuple(
        slice(first, None if first + n * step < 0 else first + n * step, step)
        for (first, step), n in zip(plan.window, sizes, strict=True)
    )
    part = _part(plan.result.layout, key)
    move = _mover(plan.source.layout, plan.source.dtype, part, plan.result.dtype).run

    def run(result: Tensor, x: Tensor) -> Tensor:
        result._memory[...] = 0
        move(result._memory[key], x._memory)
        return result

    return run


def _mover(source: Layout, from_dtype: DType, result: Layout, to_dtype: DType) -> ReadyCopy:
    """The copy between arrays of these layouts and dtypes."""
    convert = converter(from_dtype, to_dtype)
    if convert is not None:
        return ReadyCopy("converted", convert)
    return choose_copy(source.shape, result.strides, source.strides, from_dtype.itemsize)
