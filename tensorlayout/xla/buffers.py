"""Raw memory in XLA's layouts as tensors, and tensors as such memory."""

from __future__ import annotations

import sys
from functools import cached_property, lru_cache
from typing import Any, TypeVar, overload

import numpy as np

from tensorlayout import dtypes
from tensorlayout.devices import as_device
from tensorlayout.errors import call_with_error_name, raise_named_error, short_repr, truncate
from tensorlayout.functions import arguments
from tensorlayout.functions.layouts import bytes_of_buffer, cpu_spec, tensor_over_buffer, to_layout
from tensorlayout.functions.transfers import move_to_cpu, move_to_device
from tensorlayout.layout import Layout
from tensorlayout.tensor import Tensor, TensorSpec
from tensorlayout.typing import Array, DeviceLike, Storage
from tensorlayout.xla import tiles as tiling
from tensorlayout.xla.calling import require
from tensorlayout.xla.conversion import as_shape, layout_of
from tensorlayout.xla.layouts import XlaLayout
from tensorlayout.xla.shapes import Shape

_OutT = TypeVar("_OutT")


def from_buffer(buffer: Storage, shape: Shape | str, *, device: DeviceLike | None = None) -> Tensor:
    """Return the tensor in raw memory that XLA would describe by `shape`.

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
    description = _describe_buffer(shape)
    octets = call_with_error_name("from_buffer", bytes_of_buffer, "buffer", buffer)
    if octets.size < description.nbytes:
        requirement = f"{truncate(description.shape)} takes {description.nbytes} bytes"
        raise_named_error("from_buffer", f"{requirement}, the buffer has {octets.size}")
    tensor = description.tensor_over_bytes(octets)
    if description.layout is None:
        tensor = tensor[description.element_index]
    if description.layout is None or description.layout.is_tiled:
        tensor = to_layout(tensor, description.packed_layout)
    return tensor if device is None else move_to_device(tensor, as_device(device))


class _BufferDescription:
    """The memory of an array that can be read and written: all that needs none of its bytes."""

    def __init__(self, shape: Shape) -> None:
        if shape.is_array and shape.layout is None:
            shape = shape.replace(layout=XlaLayout.row_major(shape.rank))
        shape.validate()
        self.slot_count, self.nbytes = shape.physical_size, shape.physical_byte_size
        kind, bits = shape.element_type, shape.element_bits
        fits_type = bits == 8 * (kind.byte_width or 0) or (
            kind.is_sub_byte and bits == kind.bit_width
        )
        require(
            fits_type,
            f"shape: an element of {kind.text} does not take {short_repr(bits)} bits",
            shape,
        )
        self.shape, self.dtype, self.element_bits = shape, kind.dtype, bits
        # Of tensors that share nothing with it.
        self.packed_layout = Layout.packed(shape.dimensions, shape.own_layout.minor_to_major)
        self.layout: Layout | None
        try:
            self.layout = layout_of(shape)
        except ValueError:  # stars and uneven tiles
            self.layout = None

    @cached_property
    def spec(self) -> TensorSpec:
        """The spec of the elements; of all slots, where no layout says where these are."""
        slot_bits = self.element_bits if self.element_bits % 8 else None
        return cpu_spec(self.dtype, self.layout or Layout((self.slot_count,), slot_bits=slot_bits))

    def tensor_over_bytes(self, octets: Array) -> Tensor:
        """Return a tensor over bytes, whose elements are at the `places`."""
        return tensor_over_buffer(octets, self.spec, self.spec.layout)

    @property
    def element_index(self) -> Any:
        """The index of the elements in tensors over the memory."""
        if self.layout is not None:
            return ...
        sizes, tiles = self.shape.physical()
        positions = np.asarray(tiling.slot_of_index(np.ix_(*map(np.arange, sizes)), sizes, tiles))
        return positions.transpose(self.shape.own_layout.logical_to_physical)


def _describe_buffer(shape: Shape | str) -> _BufferDescription:
    """Return the memory of a valid array, given by its text too."""
    parsed_shape = as_shape(shape)
    # Prefixes take no part in comparing shapes, so none may be remembered.
    has_prefix = parsed_shape.layout is not None and parsed_shape.layout.metadata_prefix_bytes
    require(
        not has_prefix, "shape: where the metadata of a dynamic shape is is not known", parsed_shape
    )
    return _cached_description(parsed_shape)


_cached_description = lru_cache(1024)(_BufferDescription)


@overload
def to_buffer(x: Tensor, shape: Shape | str) -> bytes: ...
@overload
def to_buffer(x: Tensor, shape: Shape | str, *, out: _OutT) -> _OutT: ...
def to_buffer(x: Tensor, shape: Shape | str, *, out: Any = None) -> Any:
    """Return the memory of a tensor as XLA lays it out for `shape`; `from_buffer` reads it back.

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
    x = call_with_error_name("to_buffer", arguments.as_tensor, x)
    description = _describe_buffer(shape)
    sizes = description.shape.dimensions
    require(
        x.shape == sizes, "to_buffer: x must have the sizes of", x.shape, subject=description.shape
    )
    accepted_dtypes = [description.dtype]
    if dtypes.is_narrow_dtype(description.dtype):
        accepted_dtypes.append(dtypes.widened_dtype(description.dtype))
    if x.dtype not in accepted_dtypes:
        rule = (
            f"x must be {' or '.join(map(str, accepted_dtypes))} for {truncate(description.shape)}"
        )
        raise_named_error("to_buffer", f"{rule}, got {x.dtype}", TypeError)
    destination = None if out is None else _writable_bytes(out, description)[: description.nbytes]
    x = _cast_to_stored_dtype(move_to_cpu(x), description)
    try:
        if description.nbytes > sys.maxsize:
            raise MemoryError  # NumPy would not try
        octets = np.zeros(description.nbytes, np.uint8) if destination is None else destination
        if destination is not None and (
            description.slot_count != x.size or description.element_bits % 8
        ):
            destination[:] = 0
        description.tensor_over_bytes(octets)[description.element_index] = x
        return octets.tobytes() if out is None else out
    except MemoryError:
        requirement = f"{truncate(description.shape)} takes {description.nbytes} bytes"
        raise MemoryError(f"to_buffer: {requirement}, which cannot be allocated") from None


def _writable_bytes(out: Any, description: _BufferDescription) -> Array:
    octets = call_with_error_name("to_buffer", bytes_of_buffer, "out", out)
    if not octets.flags.writeable or octets.size < description.nbytes:
        received = f"{octets.size} bytes" + ", read-only" * (not octets.flags.writeable)
        rule = f"out must be {description.nbytes} writable bytes for {truncate(description.shape)}"
        raise_named_error("to_buffer", f"{rule}, got {received}")
    return octets


def _cast_to_stored_dtype(x: Tensor, description: _BufferDescription) -> Tensor:
    """Return `x` in the dtype that the buffer stores; an error for values out of its range."""
    kind = description.shape.element_type
    if x.dtype == description.dtype:
        return x
    if x.dtype == dtypes.float32:
        return x.astype(description.dtype)
    minimum, maximum = dtypes.integer_limits(description.dtype)
    elements = np.asarray(x)
    out_of_range = elements[(elements < minimum) | (elements > maximum)]
    if out_of_range.size:
        rule = f"{kind.text} holds {minimum} to {maximum}"
        raise_named_error(
            "to_buffer", f"{rule}, got {out_of_range[0]}; shape {truncate(description.shape)}"
        )
    return x.view(description.dtype)
