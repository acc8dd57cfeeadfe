"""Raw memory in XLA's layouts as tensors, and tensors as raw memory."""

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
    """Return the tensor stored in raw memory that XLA would describe by `shape`.

    - `buffer`: bytes, a NumPy array or another object with the buffer protocol, one contiguous run
      that begins at the first slot. Bytes after the end of the shape are ignored.
    - `shape`: an array shape, as text or `Shape`. Bounded dimensions have their bound as size.
    - `device`: device of the tensor; by default the CPU.

    Returns a tensor of the type's own dtype: s4 is int4, f8e5m2 float8_e5m2. On the CPU **the
    memory is shared, not copied**, if the elements have strides: no tiles, or tiles that only add
    padding. Then the tensor is read-only if the buffer is, and its layout is `layout_of` the shape.
    Otherwise the elements are copied; layout: packed in the shape's order of dimensions, one or
    more whole bytes per element. Use ``tl.from_storage(buffer, layout_of(shape), dtype=...)`` to
    get a tiled tensor without a copy.

    ``E(n)`` packs n-bit elements, the first element of a byte in its lowest bits; the tensor has
    the same packing as `slot_bits`. Without it each element takes a byte, of which the low bits
    count.

    Raises `ValueError` for invalid text or layout, a buffer with fewer bytes than
    `shape_util.physical_byte_size`, an unbounded dimension, a metadata prefix (its position is not
    documented), and an element size that is neither the type's bits nor its whole bytes.

    >>> import numpy as np
    >>> from tensorlayout.xla import from_buffer
    >>> print(from_buffer(np.arange(24.0), "f64[3,5]{1,0:T(2,2)}"))
    [[ 0.,  1.,  4.,  5.,  8.],
     [ 2.,  3.,  6.,  7., 10.],
     [12., 13., 16., 17., 20.]]
    """
    # Three cases: strides describe the elements, and the tensor shares the memory; tiles do, and
    # the elements are copied out of a tiled tensor; neither does, and they are gathered by
    # position.
    description = _describe_buffer(shape)
    octets = call_with_error_name("from_buffer", bytes_of_buffer, "buffer", buffer)
    if octets.size < description.nbytes:
        requirement = f"{truncate(description.shape)} takes {description.nbytes} bytes"
        raise_named_error("from_buffer", f"{requirement}, the buffer has {octets.size}")
    tensor = description.tensor_over_bytes(octets)
    if description.layout is None:
        tensor = tensor[description.element_slots_index]
    if description.layout is None or description.layout.is_tiled:
        tensor = to_layout(tensor, description.packed_layout)
    return tensor if device is None else move_to_device(tensor, as_device(device))


class _BufferDescription:
    """Memory of an array of a supported shape, described without its bytes."""

    def __init__(self, shape: Shape) -> None:
        if shape.is_array and shape.layout is None:
            shape = shape.replace(layout=XlaLayout.row_major(shape.rank))
        shape.validate()
        self.slot_count, self.nbytes = shape.physical_size, shape.physical_byte_size
        kind, bits = shape.element_type, shape.element_bits
        # pred has 1 bit but always takes a byte, so E(1) is no size of a pred.
        fits_type = bits == 8 * (kind.byte_width or 0) or (
            kind.is_sub_byte and bits == kind.bit_width
        )
        require(
            fits_type,
            f"shape: an element of {kind.text} does not take {short_repr(bits)} bits",
            shape,
        )
        self.shape, self.dtype, self.element_bits = shape, kind.dtype, bits
        # For tensors that do not share the memory.
        self.packed_layout = Layout.packed(shape.dimensions, shape.own_layout.minor_to_major)
        self.layout: Layout | None
        try:
            self.layout = layout_of(shape)
        except ValueError:  # splits of dimensions cannot express these stars or uneven tiles
            self.layout = None

    @cached_property
    def spec(self) -> TensorSpec:
        """Spec of the elements, or of all slots if no layout describes the elements."""
        slot_bits = self.element_bits if self.element_bits % 8 else None
        return cpu_spec(self.dtype, self.layout or Layout((self.slot_count,), slot_bits=slot_bits))

    def tensor_over_bytes(self, octets: Array) -> Tensor:
        """Return a tensor over bytes, with `spec`."""
        return tensor_over_buffer(octets, self.spec, self.spec.layout)

    @property
    def element_slots_index(self) -> Any:
        """Index of the elements in tensors of `spec`."""
        if self.layout is not None:
            return ...
        # np.ix_ gives one array per physical dimension that broadcasts against the others, so the
        # arithmetic for one index computes the positions of all elements at once.
        sizes, tiles = self.shape.physical()
        positions = np.asarray(tiling.slot_of_index(np.ix_(*map(np.arange, sizes)), sizes, tiles))
        # Axes of `positions` are in physical order; the transpose puts them in logical order.
        return positions.transpose(self.shape.own_layout.logical_to_physical)


def _describe_buffer(shape: Shape | str) -> _BufferDescription:
    """Return the description of a valid array, given as `Shape` or text."""
    parsed_shape = as_shape(shape)
    # Comparison ignores the prefix, so a cache would confuse shapes with and without one.
    has_prefix = parsed_shape.layout is not None and parsed_shape.layout.metadata_prefix_bytes
    rule = "shape: a dynamic shape has metadata, whose place is not known"
    require(not has_prefix, rule, parsed_shape)
    return _cached_description(parsed_shape)


_cached_description = lru_cache(1024)(_BufferDescription)


@overload
def to_buffer(x: Tensor, shape: Shape | str) -> bytes: ...
@overload
def to_buffer(x: Tensor, shape: Shape | str, *, out: _OutT) -> _OutT: ...
def to_buffer(x: Tensor, shape: Shape | str, *, out: Any = None) -> Any:
    """Return the memory of a tensor as XLA stores it for `shape`; `from_buffer` reads it back.

    - `shape`: an array with the sizes of `x` and the element type of its dtype, as text or `Shape`.
      Also accepted: int8 and uint8 for integers of fewer bits; float32 for floats of at most 8
      bits, converted as by `astype`.
    - `out`: memory to write to, with the buffer protocol, in one run; by default new bytes.
      Allocating many new bytes takes longer than filling them.

    Returns the bytes, or `out`. Padding and unused bits of the last byte are 0.

    Raises `TypeError` for a tensor of another dtype; `ValueError` for other sizes, an integer that
    does not fit its bits, shapes that `from_buffer` rejects, and an `out` that is read-only or too
    small; `MemoryError` if the bytes cannot be allocated.

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
        accepted_dtypes.append(dtypes.computing_dtype(description.dtype))
    if x.dtype not in accepted_dtypes:
        rule = (
            f"x must be {' or '.join(map(str, accepted_dtypes))} for {truncate(description.shape)}"
        )
        raise_named_error("to_buffer", f"{rule}, got {x.dtype}", TypeError)
    # All checks come before the first write. Bytes of `out` after the end of the shape stay as they
    # are.
    destination = None if out is None else _writable_bytes(out, description)[: description.nbytes]
    x = _cast_to_stored_dtype(move_to_cpu(x), description)
    try:
        if description.nbytes > sys.maxsize:
            raise MemoryError  # NumPy raises ValueError for so many
        # Padding, and bits that no element uses, must be 0. np.zeros leaves zeroing to the system.
        # The caller's memory is zeroed only if there is padding or elements are packed; otherwise
        # all of its bytes are overwritten.
        octets = np.zeros(description.nbytes, np.uint8) if destination is None else destination
        if destination is not None and (
            description.slot_count != x.size or description.element_bits % 8
        ):
            destination[:] = 0
        description.tensor_over_bytes(octets)[description.element_slots_index] = x
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
    """Return `x` in the dtype that is stored, after checking that it may be converted."""
    kind = description.shape.element_type
    if x.dtype == description.dtype:
        return x
    if x.dtype == dtypes.float32:
        return x.astype(description.dtype)
    minimum, maximum = dtypes.integer_limits(description.dtype)
    # Only int8 and uint8 are left: both are checked, because their upper bits would be lost.
    elements = np.asarray(x)
    out_of_range = elements[(elements < minimum) | (elements > maximum)]
    if out_of_range.size:
        rule = f"{kind.text} holds {minimum} to {maximum}"
        raise_named_error(
            "to_buffer", f"{rule}, got {out_of_range[0]}; shape {truncate(description.shape)}"
        )
    # Both dtypes keep an element in a byte, so the value in range has the same bits there.
    return x.view(description.dtype)
