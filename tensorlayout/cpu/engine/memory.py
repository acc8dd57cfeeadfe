"""CPU memory: NumPy arrays laid out as a spec says, their padding, and views of their storage."""

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
from tensorlayout.plan import ExportInfo, padding_bytes, slot_byte_offset, spec_of_strides
from tensorlayout.tensor import Home, Tensor, TensorSpec

Array = np.ndarray[Any, Any]

# NumPy keeps its error state in a context variable. Running a ufunc in a copy of this context costs
# 0.05 us; np.errstate costs 1.4. A copy, because a context cannot be entered twice at once.
quiet = contextvars.Context()
quiet.run(np.seterr, all="ignore")

# The same for ufuncs that convert nothing. NumPy 2.4 sends padded rows through its buffer although
# they need none: 2048 x 2048 float32, x += y, 2.8 ms so, 0.9 with the smallest buffer. Conversions
# do need one.
unbuffered = quiet.copy()
unbuffered.run(np.setbufsize, 16)


def call_quietly(function: Any, *args: Any, **named: Any) -> Any:
    """``function(*args, **named)`` without warnings of NumPy."""
    return quiet.copy().run(function, *args, **named)


def byte_strides(layout: Layout, itemsize: int) -> tuple[int, ...]:
    """Return the strides in **bytes**; those of dimensions of size 0 and 1 are kept small."""
    pairs = zip(layout.shape, layout.strides, strict=True)
    return tuple(s * itemsize if n > 1 else itemsize for n, s in pairs)


def array_of_layout(storage: Array, dtype: DType, layout: Layout) -> Array:
    """The strided array of `layout` over a C-contiguous array; NumPy checks the bounds again.

    Of a tiled layout all slots, from the lowest to the last that it requires; of one packed below a
    byte the bytes that these take. ValueError where its lowest slot does not begin one.
    """
    shape, first, itemsize = layout.shape, layout.offset, dtype.itemsize
    strides: tuple[int, ...]
    if layout.slot_bits is not None:
        first, count = packed_byte_range(layout, layout.lowest)
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
    """``view(storage, slot)``: a box of a tensor whose lowest slot is there, an axis a digit."""
    itemsize, start = dtype.itemsize, box.offset_in(layout) - layout.lowest
    shape, strides = box.shape, tuple([s * itemsize for s in box.strides_in(layout)])

    def view(storage: Array, slot: int) -> Array:
        return np.ndarray(shape, dtype, storage, (start + slot) * itemsize, strides)

    return view


# Storage of more than `UNALIGNED` bytes begins at a multiple of `ALIGNMENT` bytes: JAX takes no
# other memory without a copy. Less begins where NumPy puts it: to find an address takes 0.8 us, as
# long as a small addition, and JAX's copy of so little less than the call that asks for it. So does
# what NumPy alone can make: arrays from lists, what masks choose, transforms, factors of matrices.
UNALIGNED, ALIGNMENT = 16 << 10, 64
_PITCH = 256  # so do rows, by multiples of this, as textures and 2-D copies on GPUs want them

_address, _first = ctypes.addressof, ctypes.c_char.from_buffer


def allocate_aligned_bytes(count: int, alignment: int = ALIGNMENT, *, zeros: bool = False) -> Array:
    """So many bytes, from a multiple of `alignment` on: zeros, or what is in memory."""
    room: Any = (np.zeros if zeros else np.empty)(count + alignment, np.uint8)
    start = -_address(_first(room)) % alignment
    return np.ndarray(count, np.uint8, room, start)


def take_buffer(buffers: list[Array], count: int) -> Array:
    """Return a buffer of at least so many bytes, aligned: one of those not in use, or a new one."""
    # Not one for each thread: a finalizer may start another call in the middle of ours.
    with contextlib.suppress(IndexError):
        buffer = buffers.pop()
        if buffer.nbytes >= count:
            return buffer
    return allocate_aligned_bytes(count)


def make_array_allocator(
    spec: TensorSpec, shape: tuple[int, ...], *, zeros: bool = False
) -> Callable[[], Array]:
    """Return an allocator of row-major arrays of one shape, the storage of new tensors."""
    layout, dtype, pitch = spec.layout, spec.dtype, 0
    if layout.is_padded and not layout.is_tiled:
        pitch = layout.padded_shape[layout.minor_to_major[0]] * dtype.itemsize
    in_pitch = pitch > 0 and pitch % _PITCH == 0
    nbytes = layout._slots_to_bytes(layout.required_size, dtype.itemsize)
    if not in_pitch and nbytes <= UNALIGNED:
        return functools.partial(np.zeros if zeros else np.empty, shape, dtype)
    octets, alignment = math.prod(shape) * dtype.itemsize, _PITCH if in_pitch else ALIGNMENT

    def make() -> Array:
        try:
            return np.ndarray(shape, dtype, allocate_aligned_bytes(octets, alignment, zeros=zeros))
        except MemoryError:
            raise _allocation_error(spec) from None

    return make


def storage_and_slot(tensor: Tensor) -> Home:
    """Return the storage of a tensor, a C-contiguous array, and the tensor's lowest slot there."""
    home = tensor.home
    if home is None:  # kept: the next view finds it
        memory = tensor.memory
        whole = memory if memory.flags.c_contiguous else slot_bytes(memory, tensor.spec.layout)
        tensor.home = home = (whole, 0)
    return home


def padded_slots(operand: Tensor) -> Array:
    """The slots of the padded block of an operand, as they are stored; of one of rank 0 itself."""
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
    """The bytes that the layout requires of a tensor's storage; bits behind the last read as 0."""
    layout, itemsize = tensor.spec.layout, tensor.itemsize
    if not layout.required_size:
        return np.empty(0, np.uint8)
    storage, (_, slot) = storage_bytes(tensor), storage_and_slot(tensor)
    tensor.home = (storage, slot)  # joblib knows arrays by identity: always the same for a whole
    first, count = slot * itemsize, layout.nbytes(itemsize)
    if layout.slot_bits is not None:
        first, count = packed_byte_range(layout, slot)
        used_bits = 255 >> layout.spare_bits
        if int(storage[first + count - 1]) > used_bits:
            octets = storage[first : first + count].copy()
            octets[-1] &= used_bits
            return octets
    return storage if count == storage.size else storage[first : first + count]


def tensor_over_bytes(octets: Array, spec: TensorSpec) -> Tensor:
    """Return a tensor over bytes of its own, as many as its layout requires."""
    return Tensor._from_memory(array_of_layout(octets, spec.dtype, spec.layout), spec, (octets, 0))


def packed_byte_range(layout: Layout, slot: int) -> tuple[int, int]:
    """The first byte of a packed layout from `slot` on, and their count. ValueError within one."""
    first = slot_byte_offset(layout, slot)
    return first, layout._slots_to_bytes(max(0, layout.required_size - layout.lowest), 1)


@contextlib.contextmanager
def unpack_then_repack(octets: Array, layout: Layout) -> Iterator[Array]:
    """The slots of a layout packed below a byte, from the lowest on, as bytes; then packed."""
    assert layout.slot_bits is not None
    numbers = np.empty(max(0, layout.required_size - layout.lowest), np.uint8)
    if layout.is_padded or not layout.covers_block:  # else every slot is an element
        unpack(octets, layout.slot_bits, numbers)
    yield numbers
    pack(numbers, layout.slot_bits, octets)


def read_packed_elements(tensor: Tensor, indices: Iterable[Sequence[int]]) -> Array:
    """Return a few elements of a tensor packed below a byte, by their indices."""
    layout, octets = tensor.spec.layout, tensor.memory
    bits, numbers = layout.slot_bits, []
    assert bits is not None
    for index in indices:
        byte, shift = divmod((layout.offset_of(index) - layout.lowest) * bits, 8)
        word = int.from_bytes(octets[byte : byte + 2].tobytes(), "little")
        numbers.append(word >> shift & (2**bits - 1))
    return np.asarray(numbers, np.uint8).view(tensor.dtype)


def slot_bytes(memory: Array, layout: Layout) -> Array:
    """The bytes of all slots from the lowest on; `memory` is the array of `layout`, at slot 0."""
    if layout.size == 0:
        return np.empty(layout.required_size * memory.itemsize, np.uint8)
    if memory.size == layout.required_size and memory.flags.c_contiguous:
        return memory.reshape(-1).view(np.uint8)  # 0.5 us, what follows 7
    backwards = tuple(slice(None, None, -1 if s < 0 else 1) for s in memory.strides)
    corner = memory[backwards][(0,) * memory.ndim + (...,)]
    count = layout.required_size * memory.itemsize
    corner_bytes = corner.reshape(1).view(np.uint8)
    # as_strided is safe here: the layout was checked against this memory when the tensor was made.
    return np.lib.stride_tricks.as_strided(
        corner_bytes, (count,), (1,), writeable=memory.flags.writeable
    )


def padding_value_array(value: Padding, dtype: DType) -> Array | None:
    """The content of padding as a 0-d array of `dtype`, or None where nothing is promised."""
    content = padding_bytes(value, dtype)
    return None if content is None else np.frombuffer(content, np.uint8).view(dtype).reshape(())


def make_range_filler(
    layout: Layout, ranges: Iterable[Sequence[tuple[int, int]]], dtype: DType
) -> Callable[[Any, Array, int], None]:
    """``fill(value, storage, slot)``: write `ranges` of indices, as `boxes` takes them."""
    range_boxes = [
        box for index_ranges in ranges for box in boxes.split_into_boxes(index_ranges, layout) or []
    ]
    box_views = [make_box_viewer(layout, box, dtype) for box in range_boxes]

    def fill(value: Any, storage: Array, slot: int) -> None:
        for view in box_views:
            view(storage, slot)[...] = value

    return fill


@functools.lru_cache(maxsize=1024)
def make_padding_filler(spec: TensorSpec) -> Callable[[Array, int], None] | None:
    """``fill(storage, slot)``: write the padding of a tensor whose lowest slot is there, if any."""
    layout = spec.layout
    bits = padding_value_array(layout.padding_value, spec.dtype) if layout.is_padded else None
    if bits is None:
        return None
    form = layout.form  # the padding is behind, also what runs backwards
    ranges = boxes.padding_ranges(form)
    if layout.slot_bits is None:
        return functools.partial(make_range_filler(form, ranges, spec.dtype), bits)
    whole = form.with_slot_bits(None)
    fill = make_range_filler(whole, ranges, spec.dtype)

    def fill_packed(storage: Array, slot: int) -> None:
        first, count = packed_byte_range(form, slot)
        octets = storage.reshape(-1).view(np.uint8)[first : first + count]
        with unpack_then_repack(octets, form) as numbers:
            fill(bits, numbers, 0)

    return fill_packed


@functools.lru_cache(maxsize=1024)
def tensor_allocator(spec: TensorSpec) -> Callable[[], Tensor]:
    """Return an allocator of tensors: elements uninitialised, padding with its value, gaps zero."""
    layout, dtype, new = spec.layout, spec.dtype, object.__new__
    shape, count = layout.shape, layout.required_size
    odd = layout.form is not layout or layout.slot_bits is not None or not layout.size
    if odd or count * dtype.itemsize > sys.maxsize:
        return functools.partial(_allocate_tensor, spec)
    row_major = layout.minor_to_major == row_major_order(len(shape))
    if row_major and layout.padded_shape == shape and not layout.is_tiled:
        array = make_array_allocator(spec, shape)

        def make_row_major() -> Tensor:
            tensor = new(Tensor)
            tensor.memory, tensor.spec, tensor.home = array(), spec, None
            return tensor

        return make_row_major
    array_layout, fill = Layout((count,)) if layout.is_tiled else layout, make_padding_filler(spec)
    allocate = make_array_allocator(spec, (count,))
    shape, strides = array_layout.shape, byte_strides(array_layout, dtype.itemsize)

    def make() -> Tensor:
        tensor, storage = new(Tensor), allocate()
        if fill is not None:
            fill(storage, 0)
        tensor.memory = np.ndarray(shape, dtype, storage, 0, strides)
        tensor.spec, tensor.home = spec, (storage, 0)
        return tensor

    return make


def _allocate_tensor(spec: TensorSpec) -> Tensor:
    """Return a new tensor of any layout, empty or too large ones too."""
    layout = spec.layout
    slots = math.prod([n or 1 for n in layout.padded_shape])  # sizes of 0 count as 1 for NumPy
    if max(slots, layout.required_size) * spec.dtype.itemsize > sys.maxsize:
        raise _allocation_error(spec)  # NumPy would not try
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
    """Return the message of a MemoryError, also of NumPy's, which contains shape and dtype."""
    match error.args:
        case (tuple() as shape, np.dtype() as dtype):
            return _allocation_message(shape, dtype, math.prod(shape) * dtype.itemsize)
        case (str() as text,):
            return text
    return "the memory it needs cannot be allocated"


def fill_padding(tensor: Tensor) -> None:
    """Write the padding that the tensor owns, if it has a value."""
    fill = make_padding_filler(tensor.spec)
    if fill is not None:
        fill(*storage_and_slot(tensor))


def tensor_over_array(array: Array) -> Tensor | None:
    """A tensor that shares the memory of an array; None where its strides are no whole elements."""
    spec = spec_of_strides(array.dtype, array.shape, array.strides)
    if spec is None:
        return None
    if array.flags.c_contiguous or spec.layout.is_packed:  # the first: 0.1 us less
        return Tensor._from_memory(array, spec)
    return Tensor._from_memory(array, spec, (slot_bytes(array, spec.layout), 0))


def export_info(tensor: Tensor) -> ExportInfo:
    """Return the address of a tensor's elements, for export."""
    memory = tensor.memory
    address = memory.__array_interface__["data"][0]
    layout = tensor.spec.layout
    if not layout.is_strided:  # its memory begins at the lowest slot
        address += layout._slots_to_bytes(layout.offset, tensor.itemsize)
    return ExportInfo(address, layout.is_overlapping or not memory.flags.writeable, memory)


def current_stream(_device: Device) -> None:
    """None: there are no streams."""


def make_stream_wait(name: str, stream: Any, _device: Device) -> None:
    """Nothing: all that was asked for has been done. ValueError for a stream."""
    if stream is not None:
        raise ValueError(f"{name}: the {CPU} has no streams, got stream={short_repr(stream)}")
