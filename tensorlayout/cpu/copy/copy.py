"""Elements moved into another layout or dtype: copies, reshapes, writes, moves to the CPU."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np

from tensorlayout import dtypes
from tensorlayout.cpu.copy.choose import ReadyCopy, choose_copy
from tensorlayout.cpu.copy.packed import is_packed, number_writer, packed_mover
from tensorlayout.cpu.engine.casting import converter, is_plain, plain_range, scalar_in
from tensorlayout.cpu.engine.memory import box_viewer, filler, home_of, quiet, tensor_of_bytes
from tensorlayout.cpu.engine.sharing import shared
from tensorlayout.dtypes import DType
from tensorlayout.layout import Layout, boxes
from tensorlayout.plan import AssignPlan, CopyPlan, Run, TransferPlan, Write, backend, noted_copy
from tensorlayout.tensor import Tensor, TensorSpec

_FEW = 1024  # elements that a call takes longer than


def mover(
    source: Layout, from_dtype: DType, result: Layout, to_dtype: DType, saturate: bool = False
) -> ReadyCopy:
    """The copy between arrays of these layouts and dtypes."""
    convert = converter(from_dtype, to_dtype, saturate)
    if convert is not None:
        nbytes = source.size * (from_dtype.itemsize + to_dtype.itemsize)
        whole = lambda arrays, out: convert(out, *arrays)  # noqa: E731
        call = shared(whole, result, to_dtype.itemsize, nbytes, exact=True)
        return ReadyCopy("converted", lambda destination, source: call([source], destination))
    copy = choose_copy(source.shape, result.strides, source.strides, from_dtype.itemsize)
    if not dtypes.is_narrow(from_dtype):
        return copy
    # NumPy has no loops of its own for types of ml_dtypes.
    run = copy.run
    as_bytes = lambda out, x: run(out.view(np.uint8), x.view(np.uint8))  # noqa: E731
    return replace(copy, run=as_bytes)


def _write_move(
    source: TensorSpec, result: TensorSpec, saturate: bool = False, whole: bool = False
) -> Write:
    if is_packed(source, result):
        between = functools.partial(_write_move, saturate=saturate)
        convert = converter(source.dtype, result.dtype, saturate)
        return packed_mover(source, result, convert, whole, between)
    if source.layout.is_tiled or result.layout.is_tiled:
        return by_boxes(source, result, saturate)
    move = mover(source.layout, source.dtype, result.layout, result.dtype, saturate).run
    return lambda out, x: move(out.memory, x.memory)


def by_boxes(source: TensorSpec, result: TensorSpec, saturate: bool = False) -> Write:
    """``move(to, x)`` for tensors of one shape, of which some are tiled: each by a few boxes."""
    here, there = source.layout, result.layout
    if not here.size:
        return lambda to, x: None
    found = boxes.boxes(boxes.whole(here), here, there)
    if found is None:  # the tiles of the two have no common units: by way of a packed layout
        layout = Layout.packed(here.shape, there.minor_to_major)
        between = TensorSpec(source.dtype, layout, source.device)
        copied = noted_copy("to_layout", source, between)
        onward = by_boxes(between, result, saturate)
        return lambda to, x: onward(to, copied(x))
    convert = converter(source.dtype, result.dtype, saturate)
    jobs = []
    for box in found:
        steps = box.strides_in(there), box.strides_in(here)
        run = convert or choose_copy(box.shape, *steps, source.dtype.itemsize).run
        written = box_viewer(there, box, result.dtype)
        jobs.append((written, box_viewer(here, box, source.dtype), run))

    def move(to: Tensor, x: Tensor) -> None:
        target, origin = home_of(to), home_of(x)
        for written, read, run in jobs:
            run(written(*target), read(*origin))

    return move


def write_copy(plan: CopyPlan) -> Write:
    """The function of the result and the source; a row-major result is written in the old shape."""
    source, result, shape = plan.source, plan.result, plan.source.layout.shape
    if result.layout.shape == shape:
        return _write_move(source, result, plan.saturate, whole=True)
    spec = TensorSpec(result.dtype, Layout.row_major(shape), result.device)
    move = _write_move(source, spec)
    return lambda out, x: move(Tensor._new(out.memory.reshape(shape), spec, out.home), x)


def direct(plan: CopyPlan) -> Run | None:
    """What copies few row-major elements in one call of NumPy's; None for the rest."""
    source, result, new, copy = plan.source, plan.result, object.__new__, quiet.copy
    here, there = source.layout, result.layout
    alike = here is there and there.is_row_major and there.is_strided
    if not alike or result.layout.size > _FEW or not is_plain(source.dtype, result.dtype):
        return None
    dtype = result.dtype

    def run(x: Tensor) -> Tensor:
        made = new(Tensor)
        made.memory = copy().run(x.memory.astype, dtype)
        made.spec, made.home = result, None
        return made

    return run


def write_assign(plan: AssignPlan) -> Write:
    """The function of a destination and a number, or a tensor that lies apart, or exactly there."""
    spec, source, name = plan.result, plan.source, plan.name
    shape, dtype = spec.layout.shape, spec.dtype
    if isinstance(source, type):
        if is_packed(spec):
            return number_writer(spec, functools.partial(scalar_in, name, dtype))
        if not spec.layout.is_tiled:
            least, most = plain_range(dtype, source)  # of scalars that NumPy converts as we do

            def write(out: Tensor, value: Any) -> None:
                plain = source is not complex and least <= value <= most
                out.memory[...] = value if plain else scalar_in(name, dtype, value)

            return write
        fill = filler(spec.layout, [boxes.whole(spec.layout)], dtype)
        return lambda out, value: fill(scalar_in(name, dtype, value), out.memory, 0)
    if source.layout.shape == shape:
        return _write_move(source, spec)
    wide = source.layout.broadcast_to(shape)
    if not (source.layout.is_strided and spec.layout.is_strided):  # the memory is a vector
        read = TensorSpec(source.dtype, wide, source.device)
        if is_packed(read, spec):
            return packed_mover(read, spec, converter(source.dtype, dtype), False, by_boxes)
        return by_boxes(read, spec)
    move = mover(wide, source.dtype, spec.layout, dtype).run
    return lambda out, x: move(out.memory, np.broadcast_to(x.memory, shape))


def prepare_transfer(plan: TransferPlan) -> Run:
    """The bytes of a tensor on another device, read by its backend, become the memory."""
    spec, source = plan.result, backend(plan.source.device)
    return lambda x: tensor_of_bytes(source.read(x), spec)
