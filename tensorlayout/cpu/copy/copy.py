"""Elements moved into another layout or dtype: copies, reshapes, writes, moves to the CPU."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tensorlayout import dtypes
from tensorlayout.cpu.copy.choose import ReadyCopy, choose_copy
from tensorlayout.cpu.engine.casting import Convert, converter, is_plain, plain_range, scalar_in
from tensorlayout.cpu.engine.memory import (
    Array,
    array_over,
    box_viewer,
    filler,
    home_of,
    padding_bits,
    quiet,
    slots_in_bytes,
    storage_of,
    tensor_of_bytes,
    unpacked_in,
)
from tensorlayout.cpu.engine.packing import grain, pack, unpack
from tensorlayout.cpu.engine.sharing import SURE_BYTES, pieces, shared
from tensorlayout.cpu.engine.threads import get_num_threads, share_pieces
from tensorlayout.dtypes import DType
from tensorlayout.layout import Layout, boxes
from tensorlayout.plan.base import Run, Write, backend
from tensorlayout.plan.copy import AssignPlan, CopyPlan, TransferPlan
from tensorlayout.plan.run import noted_copy
from tensorlayout.plan.steps import Step, note
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
    if _is_packed(source, result):
        between = functools.partial(_write_move, saturate=saturate)
        convert = converter(source.dtype, result.dtype, saturate)
        return _move_packed(source, result, convert, whole, between)
    if source.layout.is_tiled or result.layout.is_tiled:
        return by_boxes(source, result, saturate)
    move = mover(source.layout, source.dtype, result.layout, result.dtype, saturate).run
    return lambda out, x: move(out._memory, x._memory)


def by_boxes(source: TensorSpec, result: TensorSpec, saturate: bool = False) -> Write:
    """``move(to, x)`` for tensors of one shape, of which one or both are tiled.

    Whole tiles are one box, of more dimensions than the tensor has; the rests are a few more.
    """
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
    old = Layout.row_major(shape)
    if not source.layout.is_strided:
        spec = TensorSpec(result.dtype, old, result.device)
        move = _write_move(source, spec)
        return lambda out, x: move(Tensor._new(out._memory.reshape(shape), spec, out._home), x)
    run = mover(source.layout, source.dtype, old, result.dtype).run
    return lambda out, x: run(out._memory.reshape(shape), x._memory)


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
        made._memory = copy().run(x._memory.astype, dtype)
        made._spec, made._home = result, None
        return made

    return run


def write_assign(plan: AssignPlan) -> Write:
    """The function of a destination and a number, or a tensor that lies apart, or exactly there."""
    spec, source, name = plan.result, plan.source, plan.name
    shape, dtype = spec.layout.shape, spec.dtype
    if isinstance(source, type):
        if _is_packed(spec):
            return number_writer(spec, functools.partial(scalar_in, name, dtype))
        if not spec.layout.is_tiled:
            return _number_writer(name, dtype, source)
        fill = filler(spec.layout, [boxes.whole(spec.layout)], dtype)
        return lambda out, value: fill(scalar_in(name, dtype, value), out._memory, 0)
    if source.layout.shape == shape:
        return _write_move(source, spec)
    wide = source.layout.broadcast_to(shape)
    if not (source.layout.is_strided and spec.layout.is_strided):  # the memory is a vector
        read = TensorSpec(source.dtype, wide, source.device)
        if _is_packed(read, spec):
            return _move_packed(read, spec, converter(source.dtype, dtype), False, by_boxes)
        return by_boxes(read, spec)
    move = mover(wide, source.dtype, spec.layout, dtype).run
    return lambda out, x: move(out._memory, np.broadcast_to(x._memory, shape))


def _number_writer(name: str, dtype: DType, kind: type) -> Write:
    """The function of a destination and a Python scalar, which NumPy mostly converts as it is."""
    least, most = plain_range(dtype, kind)

    def write(out: Tensor, value: Any) -> None:
        plain = least <= value <= most
        out._memory[...] = value if plain else scalar_in(name, dtype, value)

    def write_any(out: Tensor, value: Any) -> None:
        out._memory[...] = scalar_in(name, dtype, value)

    return write if least < most else write_any


def prepare_transfer(plan: TransferPlan) -> Run:
    """The bytes of a tensor on another device, read by its backend, become the memory."""
    spec, source = plan.result, backend(plan.source.device)
    return lambda x: tensor_of_bytes(source.read(x), spec)


# --- layouts packed below a byte -----------------------------------------------------------------

# Where both sides have one order without gaps, slots are unpacked, converted and packed a block at
# a time. Any other copy goes by way of a tensor of one byte an element, in the layout of the packed
# side: of a source that is a copy of its own, which is noted; of a destination its bytes are read,
# changed and packed again, so that what else is in them stays.

# Moves elements between tensors of whole bytes.
Between = Callable[[TensorSpec, TensorSpec], Write]

# Slots that a thread takes at a time, whole bytes of any width: a step of a few hundred us.
_PIECE = 1 << 19


def _is_packed(*specs: TensorSpec) -> bool:
    """Return whether some tensor is packed below a byte."""
    return any(spec.layout.slot_bits is not None for spec in specs)


def _move_packed(
    source: TensorSpec,
    result: TensorSpec,
    convert: Convert | None,
    whole: bool,
    between: Callable[[TensorSpec, TensorSpec], Write],
) -> Write:
    """``move(to, x)`` for tensors of one shape, of which one or both are packed.

    `convert`: between their dtypes, if these differ. `whole`: whether the destination is new, so
    that padding of no value may be written. `between`: what moves elements between whole bytes.
    """
    if not source.layout.size:
        return lambda to, x: None
    if _is_one_run(source.layout, result, whole):
        return _flat(source, result, convert)
    if source.layout.slot_bits is not None:
        plain, layout, bits = _unpacked(source), source.layout, source.layout.slot_bits
        onward = _onward(plain, result, convert, whole, between)
        step = Step("to_layout", source, plain)

        def move_from(to: Tensor, x: Tensor) -> None:
            note(step)
            numbers = np.empty(layout.required_size, np.uint8)
            unpack(_octets_of(x, layout), bits, numbers)
            onward(to, _over(numbers, plain))

        return move_from
    return _onward(source, result, convert, whole, between)


def number_writer(spec: TensorSpec, read: Callable[[Any], Array]) -> Callable[[Tensor, Any], None]:
    """What writes a number, that `read` makes of a Python scalar, to all elements of a tensor."""
    if spec.layout.covers_block and not spec.layout.is_padded and spec.layout.size:
        return lambda out, value: _repeat(read(value), _octets_of(out, spec.layout), spec.layout)
    plain = spec.layout.with_slot_bits(None)
    fill = filler(plain, [boxes.whole(plain)], spec.dtype)

    def write(out: Tensor, value: Any) -> None:
        number = read(value)
        with unpacked_in(_octets_of(out, spec.layout), spec.layout) as numbers:
            fill(number, numbers, 0)

    return write


def _repeat(number: Array, octets: Array, layout: Layout) -> None:
    """The bytes of slots that all hold one number; bits behind the last slot stay."""
    bits = layout.slot_bits or 8
    few = np.full(grain(bits), number.view(np.uint8))
    period = np.zeros(few.size * bits // 8, np.uint8)
    pack(few, bits, period)
    last, spare = int(octets[-1]), layout.spare_bits
    whole = octets.size // period.size * period.size
    octets[:whole].reshape(-1, period.size)[:] = period
    octets[whole:] = period[: octets.size - whole]
    if spare:
        kept = 256 - (1 << 8 - spare)
        octets[-1] = last & kept | int(octets[-1]) & ~kept & 255


def _onward(
    source: TensorSpec,
    result: TensorSpec,
    convert: Convert | None,
    whole: bool,
    between: Callable[[TensorSpec, TensorSpec], Write],
) -> Write:
    """The same from a source of whole bytes."""
    if result.layout.slot_bits is None:
        return between(source, result)
    if _is_one_run(source.layout, result, whole):
        return _flat(source, result, convert)
    layout, plain = result.layout, _unpacked(result)
    move, step = between(source, plain), Step("to_layout", plain, result)

    def move_to(to: Tensor, x: Tensor) -> None:
        note(step)
        with unpacked_in(_octets_of(to, layout), layout) as numbers:
            move(_over(numbers, plain), x)

    return move_to


def _unpacked(spec: TensorSpec) -> TensorSpec:
    return TensorSpec(spec.dtype, spec.layout.with_slot_bits(None), spec.device)


def _over(numbers: Array, spec: TensorSpec) -> Tensor:
    return Tensor._new(array_over(numbers, spec.dtype, spec.layout), spec, (numbers, 0))


def _octets_of(x: Tensor, layout: Layout) -> Array:
    """The bytes that `layout` takes of a tensor's storage, from its lowest slot on."""
    slot = home_of(x)[1]
    first, count = slots_in_bytes(layout, slot)
    return storage_of(x)[first : first + count]


def _is_one_run(source: Layout, result: TensorSpec, whole: bool) -> bool:
    """Return whether a block of slots without gaps becomes another of the same order."""
    here, there = source.with_slot_bits(None), result.layout.with_slot_bits(None)
    alike = here.covers_block and here.padded_shape == there.padded_shape
    if not alike or here.is_tiled != there.is_tiled or not here.same_placement(there):
        return False
    return not there.is_padded or (
        whole and padding_bits(result.layout.padding_value, result.dtype) is None
    )


def _flat(source: TensorSpec, result: TensorSpec, convert: Convert | None) -> Write:
    count = source.layout.required_size
    from_bits, to_bits = source.layout.slot_bits, result.layout.slot_bits
    threads_pay = count * max(source.dtype.itemsize, result.dtype.itemsize) >= SURE_BYTES

    def move(to: Tensor, x: Tensor) -> None:
        origin, target = _slots_of(x, source), _slots_of(to, result)

        def one(piece: slice) -> None:
            size = piece.stop - piece.start
            found = target[piece] if to_bits is None else np.empty(size, result.dtype)
            elements = found if convert is None else np.empty(size, source.dtype)
            if from_bits is None:
                elements = origin[piece]
            else:
                octets = origin[piece.start * from_bits // 8 :]
                unpack(octets, from_bits, elements.view(np.uint8))
            if convert is not None:
                convert(found, elements)
                elements = found
            if to_bits is not None:
                end = -(-piece.stop * to_bits // 8)
                pack(elements.view(np.uint8), to_bits, target[piece.start * to_bits // 8 : end])

        share_pieces(pieces(count, _PIECE), one, get_num_threads() if threads_pay else 1)

    return move


def _slots_of(x: Tensor, spec: TensorSpec) -> Array:
    """The bytes of a packed tensor, or the vector of the slots of another."""
    if spec.layout.slot_bits is not None:
        return _octets_of(x, spec.layout)
    storage, slot = home_of(x)
    return array_over(storage, spec.dtype, Layout((spec.layout.required_size,), offset=slot))
