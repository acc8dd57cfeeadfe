"""Raw memory in XLA's layouts as tensors, and tensors as such memory."""

from __future__ import annotations

import sys
from typing import Any, TypeVar, overload

import numpy as np

from tensorlayout import dtypes
from tensorlayout.cpu.engine.memory import quietly
from tensorlayout.devices import as_device
from tensorlayout.dtypes import DType
from tensorlayout.functions import calling
from tensorlayout.functions.creation import asarray
from tensorlayout.functions.layouts import from_storage, octets_of, to_layout
from tensorlayout.functions.transfers import moved, on_host
from tensorlayout.layout import Layout
from tensorlayout.tensor import Tensor
from tensorlayout.words import cut, shown
from tensorlayout.xla.conversion import layout_of
from tensorlayout.xla.layout_positions import physical_sizes
from tensorlayout.xla.layouts import XlaLayout
from tensorlayout.xla.packing import packed, sign_extended, unpacked
from tensorlayout.xla.primitive_types import PrimitiveType
from tensorlayout.xla.shape_sizes import element_size_in_bits, physical_byte_size, physical_size
from tensorlayout.xla.shapes import Shape
from tensorlayout.xla.text import parse_shape
from tensorlayout.xla.tiled_memory import gathered, scattered
from tensorlayout.xla.validation import validate_shape

Array = np.ndarray[Any, Any]
_Out = TypeVar("_Out")


def tensor_dtype(kind: PrimitiveType) -> DType:
    """The dtype of tensors for an element type.

    Its own where tensors have it; int8 and uint8 for integers of fewer bits; float32 for floats of
    8 bits and fewer, whose values it all holds.
    """
    if kind.is_integral and kind.is_sub_byte:
        return dtypes.int8 if kind.category == "signed integer" else dtypes.uint8
    if kind.is_floating and kind.byte_width == 1:
        return dtypes.float32
    return kind.dtype


def from_buffer(buffer: Any, shape: Shape | str, *, device: Any = None) -> Tensor:
    """The tensor in raw memory that XLA would describe by `shape`.

    `buffer`: bytes, a NumPy array or anything with the buffer protocol, one run of bytes from the
    first slot on; bytes behind the shape's are left alone. `shape`: an array, as text or `Shape`.
    `device`: where the tensor goes, by default it stays on the CPU.

    **Shared, not copied**, on the CPU, where the elements have strides: no tiles, or tiles that
    are but padding, and a dtype of tensors. The tensor is read-only if the buffer is, and its
    layout is `layout_of` the shape. Else the elements are gathered into memory of their own, packed
    in the shape's order of dimensions. Over tiles without a copy lies
    ``tl.from_storage(buffer, layout_of(shape), dtype=...)``.

    Integers of fewer than 8 bits become int8 or uint8, smaller floats float32 (every value exactly,
    one NaN for all). ``E(n)`` packs n-bit elements little end first: the first element of a byte in
    its lowest bits. Without it each takes a byte, whose low bits count. Bounded dimensions have
    their bound.

    ValueError for text or layout that is not valid, a buffer with fewer bytes than
    `shape_util.physical_byte_size`, an unbounded dimension, a metadata prefix (where XLA puts it is
    not known here), an element size that is neither the type's bits nor its whole bytes.

    >>> import numpy as np
    >>> print(from_buffer(np.arange(24.0), "f64[3,5]{1,0:T(2,2)}"))
    [[ 0.,  1.,  4.,  5.,  8.],
     [ 2.,  3.,  6.,  7., 10.],
     [12., 13., 16., 17., 20.]]
    """
    placed = _placed("from_buffer", shape)
    octets = octets_of("from_buffer", "buffer", buffer)
    required = physical_byte_size(placed)
    if octets.size < required:
        msg = f"from_buffer: {cut(placed)} takes {required} bytes, the buffer has {octets.size}"
        raise ValueError(msg)
    tensor = _shared(octets, placed)
    if tensor is None:
        tensor = _gathered(octets[:required], placed)
    elif tensor.layout.is_tiled:
        tensor = to_layout(tensor, _packed(placed))
    return tensor if device is None else moved(tensor, as_device(device))


def _placed(name: str, shape: Shape | str) -> Shape:
    """A valid array whose memory can be read and written."""
    placed = parse_shape(shape) if isinstance(shape, str) else shape
    if not isinstance(placed, Shape):
        msg = f"{name}: shape must be a Shape or its text, got {calling.shown(shape)}"
        raise TypeError(msg)
    if placed.is_array and placed.layout is None:
        placed = placed.replace(layout=XlaLayout.row_major(placed.rank))
    validate_shape(placed)
    physical_sizes(name, placed)
    if placed.layout is not None and placed.layout.metadata_prefix_bytes:
        msg = f"{name}: where the metadata of a dynamic shape is is not known, got {cut(placed)}"
        raise ValueError(msg)
    kind, bits = placed.element_type, element_size_in_bits(placed)
    if bits != 8 * (kind.byte_width or 0) and not (kind.is_sub_byte and bits == kind.bit_width):
        msg = f"{name}: an element of {kind.text} does not take {shown(bits)} bits"
        msg += f", got {cut(placed)}"
        raise ValueError(msg)
    return placed


def _layout_or_none(shape: Shape) -> Layout | None:
    """Where the elements are; None where no layout of tensors says it."""
    try:
        return layout_of(shape)
    except ValueError:  # stars, uneven tiles, and more dimensions than tensors have
        return None


def _shared(octets: Array, shape: Shape) -> Tensor | None:
    """A tensor over the buffer itself; None where its elements are none of a tensor's."""
    kind = shape.element_type
    if kind.is_sub_byte or tensor_dtype(kind) != kind.dtype:
        return None
    layout = _layout_or_none(shape)
    return None if layout is None else from_storage(octets, layout, dtype=kind.dtype)


def _packed(shape: Shape) -> Layout:
    return Layout.packed(shape.dimensions, (shape.layout or XlaLayout()).minor_to_major)


def _gathered(octets: Array, shape: Shape) -> Tensor:
    sizes, tiles = physical_sizes("from_buffer", shape)
    kind, bits = shape.element_type, element_size_in_bits(shape)
    if bits == 8 * (kind.byte_width or 0) and not kind.is_sub_byte:
        slots = octets.view(kind.dtype)
    else:
        slots = octets if bits == 8 else unpacked(octets, bits, physical_size(shape))
    elements = np.ascontiguousarray(gathered(slots, sizes, tiles))
    if kind.is_integral and kind.is_sub_byte:
        width = kind.bit_width or 8
        mask = np.uint8(2**width - 1)
        signed = kind.category == "signed integer"
        elements = sign_extended(elements, width) if signed else elements & mask
    elif tensor_dtype(kind) != kind.dtype:
        elements = quietly(elements.view(kind.dtype).astype, tensor_dtype(kind))
    return from_storage(elements, _packed(shape), dtype=elements.dtype)


@overload
def to_buffer(x: Tensor, shape: Shape | str) -> bytes: ...
@overload
def to_buffer(x: Tensor, shape: Shape | str, *, out: _Out) -> _Out: ...
def to_buffer(x: Tensor, shape: Shape | str, *, out: Any = None) -> Any:
    """The memory of a tensor as XLA lays it out for `shape`: `from_buffer` turned round.

    `shape`: an array of the sizes of `x` and of its element type (int8 and uint8 for integers of
    fewer bits; float32 for smaller floats, rounded to the nearest), as text or `Shape`. Padding,
    and what is left of the last byte, is 0. `out`: memory to write to instead of new bytes, with
    the buffer protocol, one run; it is returned. New bytes cost more than what they are filled
    with, where there are many of them.

    TypeError for a tensor of another dtype. ValueError for other sizes, an integer that does not
    fit its bits, the shapes that `from_buffer` refuses, and an `out` that is read-only or has fewer
    bytes. MemoryError for more bytes than can be allocated.

    >>> import tensorlayout as tl
    >>> to_buffer(tl.asarray([[1, 2, 3], [4, 5, 6]], dtype=tl.int8), "s4[2,3]{0,1:E(4)}")
    b'ARc'
    """
    x = calling.tensor("to_buffer", x)
    placed = _placed("to_buffer", shape)
    kind = placed.element_type
    if x.shape != placed.dimensions:
        msg = f"to_buffer: x must have the sizes of {cut(placed)}, got {x.shape}"
        raise ValueError(msg)
    if x.dtype != tensor_dtype(kind):
        msg = f"to_buffer: x must be {tensor_dtype(kind)} for {cut(placed)}, got {x.dtype}"
        raise TypeError(msg)
    required = physical_byte_size(placed)
    octets = None if out is None else _writable(out, placed)[:required]
    try:
        written = _written(_stored(on_host(x), placed), placed, octets)
        return written.tobytes() if out is None else out
    except MemoryError:
        msg = f"to_buffer: {cut(placed)} takes {required} bytes, which cannot be allocated"
        raise MemoryError(msg) from None


def _writable(out: Any, shape: Shape) -> Array:
    octets, required = octets_of("to_buffer", "out", out), physical_byte_size(shape)
    if not octets.flags.writeable or octets.size < required:
        what = f"{octets.size} bytes" + ", read-only" * (not octets.flags.writeable)
        msg = f"to_buffer: out must be {required} writable bytes for {cut(shape)}, got {what}"
        raise ValueError(msg)
    return octets


def _written(x: Tensor, shape: Shape, octets: Array | None) -> Array:
    """The memory with elements that are stored in whole bytes; in `octets`, if given."""
    slots, bits = physical_size(shape), element_size_in_bits(shape)
    nbytes = slots * x.dtype.itemsize
    if nbytes > sys.maxsize:
        raise MemoryError  # NumPy would not try
    if octets is None or bits % 8:
        whole = np.zeros(nbytes, np.uint8)
    else:
        whole = octets
        if slots != x.size:
            whole[:] = 0
    _write(whole, x, shape)
    if bits % 8 == 0:
        return whole
    found = packed(whole, bits)
    if octets is not None:
        octets[:] = found
    return found


def _write(memory: Array, x: Tensor, shape: Shape) -> None:
    """The elements into their slots; padding is left alone."""
    layout = _layout_or_none(shape)
    if layout is not None:
        from_storage(memory, layout, dtype=x.dtype)[...] = x
        return
    _, tiles = physical_sizes("to_buffer", shape)
    physical = np.asarray(x).transpose((shape.layout or XlaLayout()).minor_to_major[::-1])
    slots = scattered(physical, tiles)
    memory.view(x.dtype)[: slots.size] = slots


def _stored(x: Tensor, shape: Shape) -> Tensor:
    """Elements as they are stored, one or more whole bytes each."""
    kind = shape.element_type
    if kind.is_integral and kind.is_sub_byte:
        width, signed = kind.bit_width or 8, kind.category == "signed integer"
        low, high = (-(2 ** (width - 1)), 2 ** (width - 1) - 1) if signed else (0, 2**width - 1)
        elements = np.asarray(x)
        beyond = elements[(elements < low) | (elements > high)]
        if beyond.size:
            msg = f"to_buffer: {kind.text} holds {low} to {high}"
            msg += f", got {beyond[0]}; shape {cut(shape)}"
            raise ValueError(msg)
        return x
    if tensor_dtype(kind) != kind.dtype:
        rounded: Array = quietly(np.asarray(x).astype, kind.dtype)
        return asarray(rounded.view(np.uint8))
    return x
