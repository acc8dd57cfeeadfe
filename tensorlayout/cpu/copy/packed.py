"""Copies from and to layouts packed below a byte.

Where both sides have one order without gaps, slots are unpacked, converted and packed a block at a
time. Any other copy goes by way of a tensor of one byte an element, in the layout of the packed
side: of a source that is a copy of its own, which is noted; of a destination its bytes are read,
changed and packed again, so that what else is in them stays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorlayout.cpu.engine.casting import Convert
from tensorlayout.cpu.engine.memory import (
    Array,
    array_over,
    filler,
    home_of,
    padding_bits,
    slots_in_bytes,
    storage_of,
    unpacked_in,
)
from tensorlayout.cpu.engine.packing import grain, pack, unpack
from tensorlayout.cpu.engine.sharing import SURE_BYTES, pieces, share_pieces
from tensorlayout.layout import Layout, boxes
from tensorlayout.plan import Event, Write, note
from tensorlayout.tensor import Tensor, TensorSpec

# Slots that a thread takes at a time, whole bytes of any width: a step of a few hundred us.
_PIECE = 1 << 19


def is_packed(*specs: TensorSpec) -> bool:
    """Return whether some tensor is packed below a byte."""
    return any(spec.layout.slot_bits is not None for spec in specs)


def packed_mover(
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
    if not is_packed(source, result):
        return between(source, result)
    if _is_one_run(source.layout, result, whole):
        return _flat(source, result, convert)
    if source.layout.slot_bits is not None:
        plain, layout, bits = _unpacked(source), source.layout, source.layout.slot_bits
        onward = packed_mover(plain, result, convert, whole, between)
        step = Event("to_layout", source, plain)

        def move_from(to: Tensor, x: Tensor) -> None:
            note(step)
            numbers = np.empty(layout.required_size, np.uint8)
            unpack(_octets_of(x, layout), bits, numbers)
            onward(to, _over(numbers, plain))

        return move_from
    layout, plain = result.layout, _unpacked(result)
    move, step = between(source, plain), Event("to_layout", plain, result)

    def move_to(to: Tensor, x: Tensor) -> None:
        note(step)
        with unpacked_in(_octets_of(to, layout), layout) as numbers:
            move(_over(numbers, plain), x)

    return move_to


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
    count, rest = divmod(layout.size, few.size)
    octets[: count * period.size].reshape(-1, period.size)[:] = period
    pack(few[:rest], bits, octets[count * period.size :])


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

        share_pieces(pieces(count, _PIECE), one, None if threads_pay else 1)

    return move


def _slots_of(x: Tensor, spec: TensorSpec) -> Array:
    """The bytes of a packed tensor, or the vector of the slots of another."""
    if spec.layout.slot_bits is not None:
        return _octets_of(x, spec.layout)
    storage, slot = home_of(x)
    return array_over(storage, spec.dtype, Layout((spec.layout.required_size,), offset=slot))
