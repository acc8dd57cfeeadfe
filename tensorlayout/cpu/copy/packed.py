"""Copies from and to layouts packed below a byte.

If both sides have the same order without gaps, slots are unpacked, converted and packed block by
block. Any other copy goes through a tensor with one byte per element in the layout of the packed
side. Unpacking a source this way is a copy of its own, which is traced. A packed destination is
unpacked, changed and repacked, so that unrelated bits in its bytes are kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorlayout.cpu.engine.casting import Convert
from tensorlayout.cpu.engine.memory import (
    Array,
    array_of_layout,
    make_range_filler,
    packed_first_byte_and_count,
    padding_value_array,
    storage_and_slot,
    storage_bytes,
    unpack_then_repack,
)
from tensorlayout.cpu.engine.packing import numbers_per_whole_bytes, pack, unpack
from tensorlayout.cpu.engine.sharing import SURE_BYTES, axis_slices, share_pieces
from tensorlayout.layout import Layout, boxes
from tensorlayout.plan import Event, Write, notify_listeners
from tensorlayout.tensor import Tensor, TensorSpec

# Slots that a thread converts at a time, a few hundred us of work. A multiple of 8, so that a piece
# begins at a whole byte for every slot width.
_PIECE = 1 << 19


def has_sub_byte_packing(*specs: TensorSpec) -> bool:
    """Return whether any tensor is packed below a byte."""
    return any(spec.layout.slot_bits is not None for spec in specs)


def make_packed_mover(
    source: TensorSpec,
    result: TensorSpec,
    convert: Convert | None,
    is_new: bool,
    make_unpacked_mover: Callable[[TensorSpec, TensorSpec], Write],
) -> Write:
    """Return ``move(destination, x)`` for tensors of one shape, one or both of them packed.

    - `convert`: conversion between their dtypes; None if these are equal.
    - `is_new`: True if the destination is new, so that padding without a value may be overwritten.
    - `make_unpacked_mover`: compiles the copy between tensors with whole bytes per element.
    """
    if not source.layout.size:
        return lambda destination, x: None
    if not has_sub_byte_packing(source, result):
        return make_unpacked_mover(source, result)
    if _can_copy_whole_memory_blocks(source.layout, result, is_new):
        return _make_blockwise_mover(source, result, convert)
    if source.layout.slot_bits is not None:
        plain, layout, bits = _byte_per_element_spec(source), source.layout, source.layout.slot_bits
        onward = make_packed_mover(plain, result, convert, is_new, make_unpacked_mover)
        step = Event("to_layout", source, plain)

        def unpack_then_move(destination: Tensor, x: Tensor) -> None:
            notify_listeners(step)
            numbers = np.empty(layout.required_size, np.uint8)
            unpack(_packed_bytes(x, layout), bits, numbers)
            onward(destination, _tensor_over_numbers(numbers, plain))

        return unpack_then_move
    layout, plain = result.layout, _byte_per_element_spec(result)
    move, step = make_unpacked_mover(source, plain), Event("to_layout", plain, result)

    def move_then_repack(destination: Tensor, x: Tensor) -> None:
        notify_listeners(step)
        with unpack_then_repack(_packed_bytes(destination, layout), layout) as numbers:
            move(_tensor_over_numbers(numbers, plain), x)

    return move_then_repack


def make_packed_filler(
    spec: TensorSpec, read_scalar: Callable[[Any], Array]
) -> Callable[[Tensor, Any], None]:
    """Return a function that fills a packed tensor with `read_scalar(value)`."""
    if spec.layout.covers_block and not spec.layout.is_padded and spec.layout.size:
        return lambda out, value: _fill_packed(
            read_scalar(value), _packed_bytes(out, spec.layout), spec.layout
        )
    plain = spec.layout.with_slot_bits(None)
    fill = make_range_filler(plain, [boxes.index_range_per_dim(plain)], spec.dtype)

    def assign_number(out: Tensor, value: Any) -> None:
        number = read_scalar(value)
        with unpack_then_repack(_packed_bytes(out, spec.layout), spec.layout) as numbers:
            fill(number, numbers, 0)

    return assign_number


def _fill_packed(number: Array, octets: Array, layout: Layout) -> None:
    """Fill all slots with one number; bits after the last slot are kept."""
    bits = layout.slot_bits or 8
    few = np.full(numbers_per_whole_bytes(bits), number.view(np.uint8))
    period = np.zeros(few.size * bits // 8, np.uint8)
    pack(few, bits, period)
    count, rest = divmod(layout.size, few.size)
    octets[: count * period.size].reshape(-1, period.size)[:] = period
    pack(few[:rest], bits, octets[count * period.size :])


def _byte_per_element_spec(spec: TensorSpec) -> TensorSpec:
    return TensorSpec(spec.dtype, spec.layout.with_slot_bits(None), spec.device)


def _tensor_over_numbers(numbers: Array, spec: TensorSpec) -> Tensor:
    return Tensor._from_memory(
        array_of_layout(numbers, spec.dtype, spec.layout), spec, (numbers, 0)
    )


def _packed_bytes(x: Tensor, layout: Layout) -> Array:
    """Return the bytes of a tensor's storage that `layout` occupies, from its lowest slot on."""
    slot = storage_and_slot(x)[1]
    first, count = packed_first_byte_and_count(layout, slot)
    return storage_bytes(x)[first : first + count]


def _can_copy_whole_memory_blocks(source: Layout, result: TensorSpec, is_new: bool) -> bool:
    """Return whether both have the same slots in the same order, and padding may be overwritten."""
    source_slots, result_slots = source.with_slot_bits(None), result.layout.with_slot_bits(None)
    alike = source_slots.covers_block and source_slots.padded_shape == result_slots.padded_shape
    if (
        not alike
        or source_slots.is_tiled != result_slots.is_tiled
        or not source_slots.same_placement(result_slots)
    ):
        return False
    # A block-wise copy overwrites padding: allowed only in new memory, if the padding has no value.
    return not result_slots.is_padded or (
        is_new and padding_value_array(result.layout.padding_value, result.dtype) is None
    )


def _make_blockwise_mover(source: TensorSpec, result: TensorSpec, convert: Convert | None) -> Write:
    count = source.layout.required_size
    from_bits, to_bits = source.layout.slot_bits, result.layout.slot_bits
    threads_pay = count * max(source.dtype.itemsize, result.dtype.itemsize) >= SURE_BYTES

    def copy_in_blocks(destination: Tensor, x: Tensor) -> None:
        origin = _slots_or_packed_bytes(x, source)
        target = _slots_or_packed_bytes(destination, result)

        def copy_block(piece: slice) -> None:
            size = piece.stop - piece.start
            converted = target[piece] if to_bits is None else np.empty(size, result.dtype)
            elements = converted if convert is None else np.empty(size, source.dtype)
            if from_bits is None:
                elements = origin[piece]
            else:
                octets = origin[piece.start * from_bits // 8 :]
                unpack(octets, from_bits, elements.view(np.uint8))
            if convert is not None:
                convert(converted, elements)
                elements = converted
            if to_bits is not None:
                end = -(-piece.stop * to_bits // 8)
                pack(elements.view(np.uint8), to_bits, target[piece.start * to_bits // 8 : end])

        share_pieces(axis_slices(count, _PIECE), copy_block, None if threads_pay else 1)

    return copy_in_blocks


def _slots_or_packed_bytes(x: Tensor, spec: TensorSpec) -> Array:
    """Return the bytes of a packed tensor, or the slots of an unpacked one as a vector."""
    if spec.layout.slot_bits is not None:
        return _packed_bytes(x, spec.layout)
    storage, slot = storage_and_slot(x)
    return array_of_layout(storage, spec.dtype, Layout((spec.layout.required_size,), offset=slot))
