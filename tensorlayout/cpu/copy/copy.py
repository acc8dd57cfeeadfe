"""Copies into another layout or dtype on the CPU: copies, reshapes, assignments, transfers."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np

from tensorlayout import dtypes
from tensorlayout.cpu.copy.choose import ReadyCopy, choose_copy
from tensorlayout.cpu.copy.packed import has_sub_byte_packing, make_packed_filler, make_packed_mover
from tensorlayout.cpu.engine.casting import (
    can_numpy_convert,
    directly_converted_range,
    make_converter,
    scalar_as_array,
)
from tensorlayout.cpu.engine.memory import (
    make_box_viewer,
    make_range_filler,
    quiet,
    storage_and_slot,
    tensor_over_bytes,
)
from tensorlayout.cpu.engine.sharing import make_shared_call
from tensorlayout.dtypes import DType
from tensorlayout.layout import Layout, boxes
from tensorlayout.plan import (
    AssignPlan,
    CopyPlan,
    Run,
    TransferPlan,
    Write,
    backend_of,
    compile_traced_tensor_copy,
)
from tensorlayout.tensor import Tensor, TensorSpec

_FEW = 1024  # elements up to which the overhead of a call dominates


def choose_converting_copy(
    source: Layout, from_dtype: DType, result: Layout, to_dtype: DType, saturate: bool = False
) -> ReadyCopy:
    """Return a copy between arrays of these layouts and dtypes."""
    convert = make_converter(from_dtype, to_dtype, saturate)
    if convert is not None:
        nbytes = source.size * (from_dtype.itemsize + to_dtype.itemsize)
        whole = lambda arrays, out: convert(out, *arrays)  # noqa: E731
        call = make_shared_call(whole, result, to_dtype.itemsize, nbytes, exact=True)
        return ReadyCopy("converted", lambda destination, source: call([source], destination))
    copy = choose_copy(source.shape, result.strides, source.strides, from_dtype.itemsize)
    if not dtypes.is_narrow_dtype(from_dtype):
        return copy
    # NumPy has no specialised copy loops for the dtypes of ml_dtypes, so copy their bytes.
    run = copy.run
    as_bytes = lambda out, x: run(out.view(np.uint8), x.view(np.uint8))  # noqa: E731
    return replace(copy, run=as_bytes)


def _compile_move(
    source: TensorSpec, result: TensorSpec, saturate: bool = False, is_new: bool = False
) -> Write:
    if has_sub_byte_packing(source, result):
        between = functools.partial(_compile_move, saturate=saturate)
        convert = make_converter(source.dtype, result.dtype, saturate)
        return make_packed_mover(source, result, convert, is_new, between)
    if source.layout.is_tiled or result.layout.is_tiled:
        return compile_box_move(source, result, saturate)
    move = choose_converting_copy(
        source.layout, source.dtype, result.layout, result.dtype, saturate
    ).run
    return lambda out, x: move(out.memory, x.memory)


def compile_box_move(source: TensorSpec, result: TensorSpec, saturate: bool = False) -> Write:
    """Return ``move(destination, x)`` for tiled tensors of one shape: a few strided boxes each."""
    source_layout, result_layout = source.layout, result.layout
    if not source_layout.size:
        return lambda destination, x: None
    common_boxes = boxes.split_into_boxes(
        boxes.index_range_per_dim(source_layout), source_layout, result_layout
    )
    if common_boxes is None:  # no boxes are strided in both tilings: copy to a packed layout first
        layout = Layout.packed(source_layout.shape, result_layout.minor_to_major)
        packed_spec = TensorSpec(source.dtype, layout, source.device)
        copy_to_packed = compile_traced_tensor_copy("to_layout", source, packed_spec)
        onward = compile_box_move(packed_spec, result, saturate)
        return lambda destination, x: onward(destination, copy_to_packed(x))
    convert = make_converter(source.dtype, result.dtype, saturate)
    jobs = []
    for box in common_boxes:
        steps = box.strides_in(result_layout), box.strides_in(source_layout)
        run = convert or choose_copy(box.shape_by_digits, *steps, source.dtype.itemsize).run
        written = make_box_viewer(result_layout, box, result.dtype)
        jobs.append((written, make_box_viewer(source_layout, box, source.dtype), run))

    def copy_in_boxes(destination: Tensor, x: Tensor) -> None:
        target, origin = storage_and_slot(destination), storage_and_slot(x)
        for written, read, run in jobs:
            run(written(*target), read(*origin))

    return copy_in_boxes


def compile_copy(plan: CopyPlan) -> Write:
    """Compile a copy ``write(out, x)``; a reshaped, row-major result is written in x's shape."""
    source, result, shape = plan.source, plan.result, plan.source.layout.shape
    if result.layout.shape == shape:
        return _compile_move(source, result, plan.saturate, is_new=True)
    spec = TensorSpec(result.dtype, Layout.row_major(shape), result.device)
    move = _compile_move(source, spec)
    return lambda out, x: move(Tensor._from_memory(out.memory.reshape(shape), spec, out.home), x)


def compile_allocating(plan: CopyPlan) -> Run | None:
    """Compile a copy of few row-major elements to one NumPy call; None for other plans."""
    source, result, new, copy = plan.source, plan.result, object.__new__, quiet.copy
    source_layout, result_layout = source.layout, result.layout
    alike = (
        source_layout is result_layout and result_layout.is_row_major and result_layout.is_strided
    )
    if not alike or result.layout.size > _FEW or not can_numpy_convert(source.dtype, result.dtype):
        return None
    dtype = result.dtype

    def copy_into_new_tensor_of_dtype(x: Tensor) -> Tensor:
        tensor = new(Tensor)
        tensor.memory = copy().run(x.memory.astype, dtype)
        tensor.spec, tensor.home = result, None
        return tensor

    return copy_into_new_tensor_of_dtype


def compile_assign(plan: AssignPlan) -> Write:
    """Compile ``write(out, value)``, for a Python scalar or a tensor.

    The tensor is disjoint from the destination or occupies exactly its memory.
    """
    spec, source, name = plan.result, plan.source, plan.name
    shape, dtype = spec.layout.shape, spec.dtype
    if isinstance(source, type):
        if has_sub_byte_packing(spec):
            return make_packed_filler(spec, functools.partial(scalar_as_array, name, dtype))
        if not spec.layout.is_tiled:
            # Scalars in this range are converted by NumPy as by `scalar_as_array`, but faster.
            least, most = directly_converted_range(dtype, source)

            def assign_value(out: Tensor, value: Any) -> None:
                plain = source is not complex and least <= value <= most
                out.memory[...] = value if plain else scalar_as_array(name, dtype, value)

            return assign_value
        fill = make_range_filler(spec.layout, [boxes.index_range_per_dim(spec.layout)], dtype)
        return lambda out, value: fill(scalar_as_array(name, dtype, value), out.memory, 0)
    if source.layout.shape == shape:
        return _compile_move(source, spec)
    wide = source.layout.broadcast_to(shape)
    # Arrays of tiled and packed tensors are vectors of slots, which NumPy cannot broadcast.
    if not (source.layout.is_strided and spec.layout.is_strided):
        read = TensorSpec(source.dtype, wide, source.device)
        if has_sub_byte_packing(read, spec):
            return make_packed_mover(
                read, spec, make_converter(source.dtype, dtype), False, compile_box_move
            )
        return compile_box_move(read, spec)
    move = choose_converting_copy(wide, source.dtype, spec.layout, dtype).run
    return lambda out, x: move(out.memory, np.broadcast_to(x.memory, shape))


def compile_transfer(plan: TransferPlan) -> Run:
    """Compile a transfer to the CPU: the source's backend reads the bytes, which become memory."""
    spec, source = plan.result, backend_of(plan.source.device)
    return lambda x: tensor_over_bytes(source.read_bytes(x), spec)
