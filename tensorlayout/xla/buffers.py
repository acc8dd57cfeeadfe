"""Raw memory in XLA's layouts as tensors, and tensors as such memory."""

from __future__ import annotations

import sys
from functools import cached_property
from typing import Any, TypeVar, overload

import numpy as np

from tensorlayout import dtypes
from tensorlayout.cpu.engine.packing import pack, unpack
from tensorlayout.devices import CPU, as_device
from tensorlayout.dtypes import DType
from tensorlayout.errors import cut, refuse, shown, under
from tensorlayout.exchange.numpy import array_over
from tensorlayout.functions import arguments
from tensorlayout.functions.data_types import astype
from tensorlayout.functions.layouts import from_storage, octets_of, to_layout
from tensorlayout.functions.transfers import moved, on_host
from tensorlayout.layout import Layout
from tensorlayout.plan.rules import addressed
from tensorlayout.tensor import Tensor, TensorSpec
from tensorlayout.typing import DeviceLike, Storage
from tensorlayout.xla.calling import remembered
from tensorlayout.xla.conversion import layout_of
from tensorlayout.xla.layouts import XlaLayout
from tensorlayout.xla.primitive_types import PrimitiveType
from tensorlayout.xla.shapes import Shape
from tensorlayout.xla.text import parse_shape
from tensorlayout.xla.tiles import Array, gathered, scattered

_Out = TypeVar("_Out")


def _wide(kind: PrimitiveType) -> DType | None:
    """The dtype whose tensors are written as a narrow type, too; None for other types."""
    if not dtypes.is_narrow(kind.dtype):
        return None
    if kind.is_floating:
        return dtypes.float32
    return dtypes.int8 if kind.category == "signed integer" else dtypes.uint8


def from_buffer(buffer: Storage, shape: Shape | str, *, device: DeviceLike | None = None) -> Tensor:
    """The tensor in raw memory that XLA would describe by `shape`.

    `buffer`: bytes, a NumPy array or anything with the buffer protocol, one run of bytes from the
    first slot on; bytes behind the shape's are left alone. `shape`: an array, as text or `Shape`.
    `device`: where the tensor goes, by default it stays on the CPU.

    **Shared, not copied**, on the CPU, where the elements have strides: no tiles, or tiles that
    are but padding. The tensor is read-only if the buffer is, and its layout is `layout_of` the
    shape. Else the elements are gathered into memory of their own, whole bytes each: the layout is
    packed in the shape's order of dimensions. Over tiles without a copy lies
    ``tl.from_storage(buffer, layout_of(shape), dtype=...)``.

    The dtype is the type's own: s4 is int4, f8e5m2 float8_e5m2. ``E(n)`` packs n-bit elements
    little end first, the first element of a byte in its lowest bits; so does the tensor, whose
    layout has the `slot_bits`. Without it each takes a byte, whose low bits count. Bounded
    dimensions have their bound.

    ValueError for text or layout that is not valid, a buffer with fewer bytes than
    `shape_util.physical_byte_size`, an unbounded dimension, a metadata prefix (where XLA puts it is
    not known here), an element size that is neither the type's bits nor its whole bytes.

    >>> import numpy as np
    >>> from tensorlayout.xla import from_buffer
    >>> print(from_buffer(np.arange(24.0), "f64[3,5]{1,0:T(2,2)}"))
    [[ 0.,  1.,  4.,  5.,  8.],
     [ 2.,  3.,  6.,  7., 10.],
     [12., 13., 16., 17., 20.]]
    """
    memory = _described(shape)
    octets = under("from_buffer", octets_of, "buffer", buffer)
    if octets.size < memory.nbytes:
        takes = f"{cut(memory.shape)} takes {memory.nbytes} bytes"
        refuse("from_buffer", f"{takes}, the buffer has {octets.size}")
    if memory.layout is None:
        tensor = _gathered(octets[: memory.nbytes], memory)
    else:
        tensor = memory.over(octets)
        if tensor.layout.is_tiled:
            tensor = to_layout(tensor, memory.packed)
    return tensor if device is None else moved(tensor, as_device(device))


class _Memory:
    """The memory of an array that can be read and written: all that needs none of its bytes."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.sizes, self.tiles = shape.physical()
        self.slots, self.nbytes = shape.physical_size, shape.physical_byte_size
        self.bits = shape.element_bits  # of a stored element
        self.dtype = shape.element_type.dtype
        self.layout: Layout | None
        try:
            self.layout = layout_of(shape)
        except ValueError:  # stars, uneven tiles, and more dimensions than tensors have
            self.layout = None

    @cached_property
    def packed(self) -> Layout:
        """The layout of tensors that share nothing with it."""
        return Layout.packed(self.shape.dimensions, self.shape.own_layout.minor_to_major)

    @cached_property
    def spec(self) -> TensorSpec:
        """The spec of tensors over it."""
        assert self.layout is not None
        return under("from_storage", addressed, TensorSpec(self.dtype, self.layout, CPU))

    def over(self, octets: Array) -> Tensor:
        """A tensor over bytes of it, which are enough; as `from_storage`, without its checks."""
        spec = self.spec
        memory = array_over(octets, spec.dtype, spec.layout)
        return Tensor._new(memory, spec, (octets, spec.layout.lowest))


def _described(shape: Shape | str) -> _Memory:
    """The memory of a valid array, given by its text too."""
    placed = parse_shape(shape) if isinstance(shape, str) else shape
    if not isinstance(placed, Shape):
        refuse("shape", f"must be a Shape or its text, got {arguments.shown(shape)}", TypeError)
    # The prefix takes no part in comparing shapes, so it is part of the key.
    return _memory(placed, placed.layout is not None and bool(placed.layout.metadata_prefix_bytes))


@remembered
def _memory(shape: Shape, prefixed: bool) -> _Memory:
    if shape.is_array and shape.layout is None:
        shape = shape.replace(layout=XlaLayout.row_major(shape.rank))
    shape.validate()
    shape.physical()
    if prefixed:
        refuse("shape", f"where the metadata of a dynamic shape is is not known, got {cut(shape)}")
    kind, bits = shape.element_type, shape.element_bits
    if bits != 8 * (kind.byte_width or 0) and not (kind.is_sub_byte and bits == kind.bit_width):
        rule = f"an element of {kind.text} does not take {shown(bits)} bits"
        refuse("shape", f"{rule}, got {cut(shape)}")
    return _Memory(shape)


def _gathered(octets: Array, memory: _Memory) -> Tensor:
    """The elements in memory of their own."""
    if memory.bits % 8:
        slots: Array = np.empty(memory.slots, np.uint8)
        unpack(octets, memory.bits, slots)
    else:
        slots = octets.view(_plain(memory.dtype))
    elements = np.ascontiguousarray(gathered(slots, memory.sizes, memory.tiles))
    return from_storage(elements, memory.packed, dtype=memory.dtype)


def _plain(dtype: DType) -> DType:
    """A dtype of NumPy's own for what is only moved."""
    return dtypes.uint8 if dtype.itemsize == 1 else dtype


@overload
def to_buffer(x: Tensor, shape: Shape | str) -> bytes: ...
@overload
def to_buffer(x: Tensor, shape: Shape | str, *, out: _Out) -> _Out: ...
def to_buffer(x: Tensor, shape: Shape | str, *, out: Any = None) -> Any:
    """The memory of a tensor as XLA lays it out for `shape`; `from_buffer` reads it back.

    `shape`: an array of the sizes of `x` and of its element type, as text or `Shape`. Besides, int8
    and uint8 are taken for integers of fewer bits, float32 for floats of 8 bits and fewer, to which
    it is converted as by `astype`. Padding, and what is left of the last byte, is 0. `out`: memory
    to write to instead of new bytes, with the buffer protocol, one run; it is returned. New bytes
    cost more than what they are filled with, where there are many of them.

    TypeError for a tensor of another dtype. ValueError for other sizes, an integer that does not
    fit its bits, the shapes that `from_buffer` refuses, and an `out` that is read-only or has fewer
    bytes. MemoryError for more bytes than can be allocated.

    >>> import tensorlayout as tl
    >>> from tensorlayout.xla import to_buffer
    >>> to_buffer(tl.asarray([[1, 2, 3], [4, 5, 6]], dtype=tl.int4), "s4[2,3]{0,1:E(4)}")
    b'ARc'
    """
    x = under("to_buffer", arguments.tensor, x)
    memory = _described(shape)
    if x.shape != memory.shape.dimensions:
        refuse("to_buffer", f"x must have the sizes of {cut(memory.shape)}, got {x.shape}")
    wide = _wide(memory.shape.element_type)
    if x.dtype != memory.dtype and (wide is None or x.dtype != wide):
        also = "" if wide is None else f" or {wide}"
        rule = f"x must be {memory.dtype}{also} for {cut(memory.shape)}"
        refuse("to_buffer", f"{rule}, got {x.dtype}", TypeError)
    octets = None if out is None else _writable(out, memory)[: memory.nbytes]
    try:
        written = _written(_stored(on_host(x), memory), memory, octets)
        return written.tobytes() if out is None else out
    except MemoryError:
        takes = f"{cut(memory.shape)} takes {memory.nbytes} bytes"
        msg = f"to_buffer: {takes}, which cannot be allocated"
        raise MemoryError(msg) from None


def _writable(out: Any, memory: _Memory) -> Array:
    octets = under("to_buffer", octets_of, "out", out)
    if not octets.flags.writeable or octets.size < memory.nbytes:
        what = f"{octets.size} bytes" + ", read-only" * (not octets.flags.writeable)
        rule = f"out must be {memory.nbytes} writable bytes for {cut(memory.shape)}"
        refuse("to_buffer", f"{rule}, got {what}")
    return octets


def _written(x: Tensor, memory: _Memory, octets: Array | None) -> Array:
    """The memory with elements that are stored; in `octets`, if given."""
    if memory.nbytes > sys.maxsize:
        raise MemoryError  # NumPy would not try
    if octets is None:
        octets = np.zeros(memory.nbytes, np.uint8)
    elif memory.slots != x.size or memory.bits % 8:
        octets[:] = 0
    if memory.layout is not None:
        memory.over(octets)[...] = x
        return octets
    order, dtype = memory.shape.own_layout.major_to_minor, _plain(x.dtype)
    slots = scattered(np.asarray(x).view(dtype).transpose(order), memory.tiles)
    if memory.bits % 8:
        pack(slots, memory.bits, octets)
    else:
        octets[: slots.nbytes].view(dtype)[...] = slots
    return octets


def _stored(x: Tensor, memory: _Memory) -> Tensor:
    """Elements of the type that is stored."""
    kind = memory.shape.element_type
    if x.dtype == memory.dtype:
        return x
    if x.dtype == dtypes.float32:
        return astype(x, memory.dtype)
    least, most = dtypes.limits(memory.dtype)
    elements = np.asarray(x)
    beyond = elements[(elements < least) | (elements > most)]
    if beyond.size:
        rule = f"{kind.text} holds {least} to {most}"
        refuse("to_buffer", f"{rule}, got {beyond[0]}; shape {cut(memory.shape)}")
    return x.view(memory.dtype)
