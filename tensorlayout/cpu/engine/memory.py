"""CPU memory: allocation of NumPy arrays with a given layout, their padding and their storage."""

from __future__ import annotations

import contextlib
import contextvars
import ctypes
import functools
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from tensorlayout.cpu.engine.packing import pack, unpack
from tensorlayout.devices import CPU, Device
from tensorlayout.dtypes import DType, uint8
from tensorlayout.errors import short_repr
from tensorlayout.layout import Layout, Padding, boxes, row_major_order
from tensorlayout.plan import ExportInfo, padding_bytes, spec_of_strides, whole_bytes_before_slot
from tensorlayout.tensor import Home, Tensor, TensorSpec

Array = np.ndarray[Any, Any]

# NumPy keeps its error state in a context variable. Running a ufunc in a copy of this context costs
# 0.05 us; np.errstate costs 1.4. A copy, because a context cannot be entered twice at once.
quiet = contextvars.Context()
quiet.run(np.seterr, all="ignore")

# The same for ufuncs that convert nothing. NumPy 2.4 needlessly sends padded rows through its
# buffer: x += y of 2048 x 2048 float32 takes 2.8 ms, and 0.9 with the smallest buffer. Conversions
# need a large one.
unbuffered = quiet.copy()
unbuffered.run(np.setbufsize, 16)


def call_quietly(function: Any, *args: Any, **named: Any) -> Any:
    """Call ``function(*args, **named)`` without NumPy warnings."""
    return quiet.copy().run(function, *args, **named)


def byte_strides(layout: Layout, itemsize: int) -> tuple[int, ...]:
    """Return the strides in **bytes**; dimensions of size 0 and 1 get the item size."""
    pairs = zip(layout.shape, layout.strides, strict=True)
    return tuple(s * itemsize if n > 1 else itemsize for n, s in pairs)


def array_of_layout(storage: Array, dtype: DType, layout: Layout) -> Array:
    """Return the array of `layout` over a C-contiguous array; NumPy checks the bounds again.

    A tiled layout gives the vector of its slots, from the lowest to the last that it requires. A
    layout packed below a byte gives the bytes of these slots. Raises ValueError if the lowest slot
    of a packed layout is not at a byte boundary.
    """
    shape, first, itemsize = layout.shape, layout.offset, dtype.itemsize
    strides: tuple[int, ...]
    if layout.slot_bits is not None:
        first, count = packed_first_byte_and_count(layout, layout.lowest)
        shape, strides, dtype, itemsize = (count,), (1,), uint8, 1
    elif layout.is_tiled:
        shape, first = (max(0, layout.required_size - layout.lowest),), layout.lowest
        strides = (itemsize,)
    else:
        strides = byte_strides(layout, itemsize)
    if 0 not in shape:
        return np.ndarray(shape, dtype, storage, first * itemsize, strides)
    empty = np.empty(shape, dtype)
    empty.flags.writeable = storage.flags.writeable
    return empty


def make_box_viewer(layout: Layout, box: boxes.Box, dtype: DType) -> Callable[[Array, int], Array]:
    """Return ``view(storage, slot)``: a box of a tensor whose lowest slot is `slot`."""
    itemsize, start = dtype.itemsize, box.slot_of_first_index(layout) - layout.lowest
    shape, strides = box.shape_by_digits, tuple([s * itemsize for s in box.strides_in(layout)])

    def view_box(storage: Array, slot: int) -> Array:
        return np.ndarray(shape, dtype, storage, (start + slot) * itemsize, strides)

    return view_box


# Storage of more than `UNALIGNED` bytes begins at a multiple of `ALIGNMENT` bytes: JAX copies other
# memory. Smaller storage begins where NumPy puts it: finding an aligned address takes 0.8 us, as
# long as a small addition, and JAX copies so few bytes in less time than its call takes. Arrays
# that NumPy allocates (from lists, masks, transforms, matrix factorisations) are not aligned.
UNALIGNED, ALIGNMENT = 16 << 10, 64
_PITCH = 256  # alignment of storage whose row pitch is a multiple of it, as GPU textures need

_address, _first = ctypes.addressof, ctypes.c_char.from_buffer


def allocate_aligned_bytes(count: int, alignment: int = ALIGNMENT, *, zeros: bool = False) -> Array:
    """Return `count` bytes aligned to `alignment`, zeroed or uninitialised."""
    room: Any = (np.zeros if zeros else np.empty)(count + alignment, np.uint8)
    start = -_address(_first(room)) % alignment
    return np.ndarray(count, np.uint8, room, start)


def take_buffer(buffers: list[Array], count: int) -> Array:
    """Return an aligned buffer of at least `count` bytes, taken from `buffers` or new."""
    # Not a buffer per thread: a finalizer may start another call in the middle of ours.
    with contextlib.suppress(IndexError):
        buffer = buffers.pop()
        if buffer.nbytes >= count:
            return buffer
    return allocate_aligned_bytes(count)


def make_array_allocator(
    spec: TensorSpec, shape: tuple[int, ...], *, zeros: bool = False
) -> Callable[[], Array]:
    """Return a function that allocates row-major arrays of `shape` as storage of new tensors."""
    layout, dtype, pitch = spec.layout, spec.dtype, 0
    if layout.is_padded and not layout.is_tiled:
        pitch = layout.padded_shape[layout.minor_to_major[0]] * dtype.itemsize
    in_pitch = pitch > 0 and pitch % _PITCH == 0
    nbytes = layout._slots_to_bytes(layout.required_size, dtype.itemsize)
    if not in_pitch and nbytes <= UNALIGNED:
        return functools.partial(np.zeros if zeros else np.empty, shape, dtype)
    octets, alignment = math.prod(shape) * dtype.itemsize, _PITCH if in_pitch else ALIGNMENT

    def allocate_array() -> Array:
        try:
            return np.ndarray(shape, dtype, allocate_aligned_bytes(octets, alignment, zeros=zeros))
        except MemoryError:
            raise _allocation_error(spec) from None

    return allocate_array


def storage_and_slot(tensor: Tensor) -> Home:
    """Return a tensor's storage, a C-contiguous array, and the tensor's lowest slot there."""
    home = tensor.home
    if home is None:  # computed once and cached on the tensor
        memory = tensor.memory
        whole = (
            memory
            if memory.flags.c_contiguous
            else flat_bytes_of_all_slots(memory, tensor.spec.layout)
        )
        tensor.home = home = (whole, 0)
    return home


def padded_slots(operand: Tensor) -> Array:
    """Return the slots of an operand's padded block as a vector; rank 0 is returned unchanged."""
    if not operand.spec.layout.shape:
        return operand.memory
    storage, slot = storage_and_slot(operand)
    spec = operand.spec
    size = (spec.layout.required_size,)
    return np.ndarray(size, spec.dtype, storage, slot * spec.dtype.itemsize)


def storage_bytes(tensor: Tensor) -> Array:
    """Return the storage of a tensor as an array of bytes."""
    storage: Array = storage_and_slot(tensor)[0]
    plain = storage.ndim == 1 and storage.dtype == np.uint8
    return storage if plain else storage.reshape(-1).view(np.uint8)


def read_bytes(tensor: Tensor) -> Array:
    """Return the bytes that a tensor's layout requires; bits after the last slot are 0."""
    layout, itemsize = tensor.spec.layout, tensor.itemsize
    if not layout.required_size:
        return np.empty(0, np.uint8)
    storage, (_, slot) = storage_bytes(tensor), storage_and_slot(tensor)
    # joblib identifies arrays by identity, so return the same object every time.
    tensor.home = (storage, slot)
    first, count = slot * itemsize, layout.nbytes(itemsize)
    if layout.slot_bits is not None:
        first, count = packed_first_byte_and_count(layout, slot)
        used_bits = 255 >> layout.spare_bits
        if int(storage[first + count - 1]) > used_bits:
            octets = storage[first : first + count].copy()
            octets[-1] &= used_bits
            return octets
    return storage if count == storage.size else storage[first : first + count]


def tensor_over_bytes(octets: Array, spec: TensorSpec) -> Tensor:
    """Return a tensor over `octets`, which has as many bytes as its layout requires."""
    return Tensor._from_memory(array_of_layout(octets, spec.dtype, spec.layout), spec, (octets, 0))


def packed_first_byte_and_count(layout: Layout, lowest_slot: int) -> tuple[int, int]:
    """Return the first byte and the byte count of a packed layout that begins at `lowest_slot`.

    Raises ValueError if the slot is not at a byte boundary.
    """
    first = whole_bytes_before_slot(layout, lowest_slot)
    return first, layout._slots_to_bytes(max(0, layout.required_size - layout.lowest), 1)


@contextlib.contextmanager
def unpack_then_repack(octets: Array, layout: Layout) -> Iterator[Array]:
    """Yield the slots of a packed layout, one byte each; pack them into `octets` on exit."""
    assert layout.slot_bits is not None
    numbers = np.empty(max(0, layout.required_size - layout.lowest), np.uint8)
    # If every slot is an element, the caller overwrites all of them.
    if layout.is_padded or not layout.covers_block:
        unpack(octets, layout.slot_bits, numbers)
    yield numbers
    pack(numbers, layout.slot_bits, octets)


def read_packed_elements(tensor: Tensor, indices: Iterable[Sequence[int]]) -> Array:
    """Return a few elements of a tensor packed below a byte, given by their indices."""
    layout, octets = tensor.spec.layout, tensor.memory
    bits, numbers = layout.slot_bits, []
    assert bits is not None
    for index in indices:
        byte, shift = divmod((layout.offset_of(index) - layout.lowest) * bits, 8)
        word = int.from_bytes(octets[byte : byte + 2].tobytes(), "little")
        numbers.append(word >> shift & (2**bits - 1))
    return np.asarray(numbers, np.uint8).view(tensor.dtype)


def flat_bytes_of_all_slots(memory: Array, layout: Layout) -> Array:
    """Return the bytes of all slots from the lowest on; `memory` is the array of `layout`."""
    if layout.size == 0:
        return np.empty(layout.required_size * memory.itemsize, np.uint8)
    if memory.size == layout.required_size and memory.flags.c_contiguous:
        return memory.reshape(-1).view(np.uint8)  # takes 0.5 us, the general case below 7
    backwards = tuple(slice(None, None, -1 if s < 0 else 1) for s in memory.strides)
    corner = memory[backwards][(0,) * memory.ndim + (...,)]
    count = layout.required_size * memory.itemsize
    corner_bytes = corner.reshape(1).view(np.uint8)
    # as_strided is safe here: the layout was checked against this memory when the tensor was made.
    return np.lib.stride_tricks.as_strided(
        corner_bytes, (count,), (1,), writeable=memory.flags.writeable
    )


def padding_value_array(value: Padding, dtype: DType) -> Array | None:
    """Return the padding value as a 0-d array of `dtype`; None if padding has no value."""
    content = padding_bytes(value, dtype)
    return None if content is None else np.frombuffer(content, np.uint8).view(dtype).reshape(())


def make_range_filler(
    layout: Layout, ranges: Iterable[Sequence[tuple[int, int]]], dtype: DType
) -> Callable[[Any, Array, int], None]:
    """Return ``fill(value, storage, slot)``, which writes the given ranges of indices."""
    range_boxes = [
        box for index_ranges in ranges for box in boxes.split_into_boxes(index_ranges, layout) or []
    ]
    box_views = [make_box_viewer(layout, box, dtype) for box in range_boxes]

    def fill_ranges(value: Any, storage: Array, slot: int) -> None:
        for view in box_views:
            view(storage, slot)[...] = value

    return fill_ranges


@functools.lru_cache(maxsize=1024)
def make_padding_filler(spec: TensorSpec) -> Callable[[Array, int], None] | None:
    """Return ``fill(storage, slot)``, which writes padding; None if there is none to write."""
    layout = spec.layout
    bits = padding_value_array(layout.padding_value, spec.dtype) if layout.is_padded else None
    if bits is None:
        return None
    form = layout.form  # in this form padding follows the elements, also in reversed dimensions
    ranges = boxes.padding_boxes(form)
    if layout.slot_bits is None:
        return functools.partial(make_range_filler(form, ranges, spec.dtype), bits)
    whole = form.with_slot_bits(None)
    fill = make_range_filler(whole, ranges, spec.dtype)

    def fill_packed_padding(storage: Array, slot: int) -> None:
        first, count = packed_first_byte_and_count(form, slot)
        octets = storage.reshape(-1).view(np.uint8)[first : first + count]
        with unpack_then_repack(octets, form) as numbers:
            fill(bits, numbers, 0)

    return fill_packed_padding


@functools.lru_cache(maxsize=1024)
def tensor_allocator(spec: TensorSpec) -> Callable[[], Tensor]:
    """Return a function that allocates uninitialised tensors; padding is set, gaps are zero."""
    layout, dtype, new = spec.layout, spec.dtype, object.__new__
    shape, count = layout.shape, layout.required_size
    odd = layout.form is not layout or layout.slot_bits is not None or not layout.size
    if odd or count * dtype.itemsize > sys.maxsize:
        return functools.partial(_allocate_tensor, spec)
    row_major = layout.minor_to_major == row_major_order(len(shape))
    if row_major and layout.padded_shape == shape and not layout.is_tiled:
        array = make_array_allocator(spec, shape)

        def allocate_row_major() -> Tensor:
            tensor = new(Tensor)
            tensor.memory, tensor.spec, tensor.home = array(), spec, None
            return tensor

        return allocate_row_major
    array_layout, fill = Layout((count,)) if layout.is_tiled else layout, make_padding_filler(spec)
    allocate = make_array_allocator(spec, (count,))
    shape, strides = array_layout.shape, byte_strides(array_layout, dtype.itemsize)

    def allocate_any_layout() -> Tensor:
        tensor, storage = new(Tensor), allocate()
        if fill is not None:
            fill(storage, 0)
        tensor.memory = np.ndarray(shape, dtype, storage, 0, strides)
        tensor.spec, tensor.home = spec, (storage, 0)
        return tensor

    return allocate_any_layout


def _allocate_tensor(spec: TensorSpec) -> Tensor:
    """Allocate a tensor of any layout; raise MemoryError if it is too large."""
    layout = spec.layout
    slots = math.prod([n or 1 for n in layout.padded_shape])  # sizes of 0 count as 1 for NumPy
    if max(slots, layout.required_size) * spec.dtype.itemsize > sys.maxsize:
        raise _allocation_error(spec)  # NumPy would raise another error
    try:
        zeros = layout.form is not layout or layout.slot_bits is not None
        storage = allocate_aligned_bytes(layout.nbytes(spec.dtype), zeros=zeros).view(spec.dtype)
    except MemoryError:
        raise _allocation_error(spec) from None
    tensor = tensor_over_bytes(storage, spec)
    fill_padding(tensor)
    return tensor


def _allocation_error(spec: TensorSpec) -> MemoryError:
    return MemoryError(
        _allocation_message(spec.layout.shape, spec.dtype, spec.layout.nbytes(spec.dtype))
    )


def _allocation_message(shape: tuple[int, ...], dtype: DType, octets: int) -> str:
    return f"shape {shape} of {dtype} needs {octets} bytes, which cannot be allocated"


def describe_memory_error(error: MemoryError) -> str:
    """Return the message of a MemoryError; NumPy's own has a shape and a dtype as arguments."""
    match error.args:
        case (tuple() as shape, np.dtype() as dtype):
            return _allocation_message(shape, dtype, math.prod(shape) * dtype.itemsize)
        case (str() as text,):
            return text
    return "the memory it needs cannot be allocated"


def fill_padding(tensor: Tensor) -> None:
    """Write the padding of a tensor, if it has a value."""
    fill = make_padding_filler(tensor.spec)
    if fill is not None:
        fill(*storage_and_slot(tensor))


def tensor_over_array(array: Array) -> Tensor | None:
    """Return a tensor over the memory of an array; None if strides are not whole elements."""
    spec = spec_of_strides(array.dtype, array.shape, array.strides)
    if spec is None:
        return None
    if array.flags.c_contiguous or spec.layout.is_packed:  # the first test saves 0.1 us
        return Tensor._from_memory(array, spec)
    return Tensor._from_memory(array, spec, (flat_bytes_of_all_slots(array, spec.layout), 0))


def export_info(tensor: Tensor) -> ExportInfo:
    """Return the address of a tensor's elements, whether they are read-only, and their owner."""
    memory = tensor.memory
    address = memory.__array_interface__["data"][0]
    layout = tensor.spec.layout
    if not layout.is_strided:  # its memory begins at the lowest slot
        address += layout._slots_to_bytes(layout.offset, tensor.itemsize)
    return ExportInfo(address, layout.is_overlapping or not memory.flags.writeable, memory)


def current_stream(_device: Device) -> None:
    """Return None: the CPU has no streams."""


def make_external_stream_wait(name: str, stream: Any, _device: Device) -> None:
    """Do nothing, because CPU calls are synchronous; raise ValueError if `stream` is not None."""
    if stream is not None:
        raise ValueError(f"{name}: the {CPU} has no streams, got stream={short_repr(stream)}")
