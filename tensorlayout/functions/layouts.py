"""Explicit layouts: `to_layout`, `copy`, `from_storage`."""

from __future__ import annotations

from typing import Any

from tensorlayout.devices import CPU
from tensorlayout.dtypes import DType, as_dtype
from tensorlayout.errors import call_with_error_name
from tensorlayout.exchange.numpy import Array, array_of_layout, buffer_as_bytes, dtype_of_buffer
from tensorlayout.exchange.numpy import fill_padding as write_padding
from tensorlayout.functions import arguments, dispatch
from tensorlayout.layout import Layout
from tensorlayout.plan import Copy, Relayout, check_byte_range, check_padding_for_dtype
from tensorlayout.tensor import Tensor, TensorSpec
from tensorlayout.typing import DTypeLike, LayoutLike, Storage

__all__ = ["copy", "from_storage", "to_layout"]

_COPY = Copy("copy")
_RELAYOUT = Relayout()


def to_layout(x: Tensor, /, layout: LayoutLike, *, copy: bool | None = None) -> Tensor:
    """Store the same elements in another layout.

    - `layout`: a `Layout` of the shape of `x`; labels such as ``"NHWC"`` from the slowest dimension
      to the fastest (the shape stays NCHW); ``"C"``, ``"F"`` or ``"channels_last"``; the text of a
      layout, or of an order with tiles such as ``"{1,0:T(8,128)}"``, with ``E(4)`` packed below a
      byte; a minor-to-major sequence; a memory format of PyTorch; or a layout of JAX.
    - `copy`: None copies only if `x` is not stored so already, True always, False never.

    Returns a tensor of the same dtype in that layout; a copy begins at slot 0 of its own storage,
    with padding that has a value written. Any dtype.

    Raises `ValueError` for a layout of another shape, for one whose elements share slots, for slots
    below a byte that do not have the bits of the dtype, and if `copy` is False but a copy is
    needed.

    >>> import tensorlayout as tl
    >>> x = tl.reshape(tl.arange(6), (2, 3))
    >>> tl.to_layout(x, (0, 1)).strides
    (1, 2)
    >>> tl.to_layout(x, "{1,0:T(2,2)}").layout.required_size
    8
    """
    x = arguments.as_tensor(x)
    if layout is None:
        raise TypeError("layout must say which, got None")
    target_layout, copying = arguments.as_layout_key(layout), arguments.check_flag("copy", copy)
    return dispatch.call(_RELAYOUT, (x.spec, target_layout, copying), (x,))


def copy(a: Tensor, order: str = "K", subok: bool = False) -> Tensor:
    """Copy a tensor to new memory.

    - `order`: ``K`` for the form of `a`, ``C`` for row-major, ``F`` for column-major, ``A`` for
      column-major if `a` is.
    - `subok`: accepted for NumPy's sake, without effect.

    Returns a new tensor of any dtype, by default in the form of `a`.

    Raises `ValueError` for another `order`.

    >>> import tensorlayout as tl
    >>> tl.copy(tl.asarray([[1, 2], [3, 4]]).T, "C").layout
    Layout.parse('(2,2):(2,1)')
    """
    if type(a) is not Tensor:
        a = arguments.as_tensor(a)
    layout = None
    if not (type(order) is str and order == "K"):
        layout = call_with_error_name(
            "copy", arguments.layout_for_order, order, a, a.spec.layout.shape
        )
    return dispatch.call(_COPY, (a.spec, layout, None), (a,))


def from_storage(
    storage: Storage,
    layout: Layout | str,
    *,
    dtype: DTypeLike,
    fill_padding: bool = False,
    reinterpret: bool = False,
) -> Tensor:
    """Create a tensor over existing memory in an explicit layout, checked against its bounds.

    - `storage`: an object with the buffer protocol (bytes, bytearray, NumPy array, …) whose memory
      is contiguous. The tensor keeps it alive; resizing or closing it raises an error.
    - `layout`: a `Layout` or its text. Slots count elements of `dtype` in this machine's byte order
      from the first byte, or are packed below a byte as its `slot_bits` say.
    - `dtype`: the dtype of the elements. It must be that of `storage`, unless `storage` holds plain
      bytes: `bytes`, uint8, or structures.
    - `fill_padding`: write the padding that the layout owns; by default it is left alone.
    - `reinterpret`: True reads elements of another dtype as their bytes.

    Returns a tensor that shares the memory, read-only if `storage` is.

    Raises `ValueError` if the storage has fewer bytes than the layout requires, is not contiguous,
    or is closed or released, and for slots below a byte that do not have the bits of `dtype` or
    begin inside a byte; `TypeError` for memory that holds Python objects, and for elements of
    another dtype unless `reinterpret` is True.

    >>> import tensorlayout as tl
    >>> memory = bytearray(range(6))
    >>> x = tl.from_storage(memory, "(2,3):(1,2)", dtype=tl.uint8)
    >>> memory[5] = 99
    >>> x
    Tensor([[ 0,  2,  4],
            [ 1,  3, 99]], dtype=uint8, device='cpu', layout='F')

    The bits of float32 numbers as integers:

    >>> import numpy as np
    >>> ones = np.ones(2, np.float32)
    >>> hex(tl.from_storage(ones, "(2,):(1,)", dtype=tl.uint32, reinterpret=True)[0])
    '0x3f800000'
    """
    kind = as_dtype(dtype, "dtype")
    parsed_layout = Layout.parse(layout) if isinstance(layout, str) else layout
    # Labels and orders need a shape, which storage does not have.
    if not isinstance(parsed_layout, Layout):
        rule = "layout must be a Layout or its text, which have a shape"
        raise TypeError(f"{rule}, got {arguments.format_argument(layout)}")
    spec = cpu_spec(kind, parsed_layout)
    if arguments.check_bool("fill_padding", fill_padding):
        check_padding_for_dtype(parsed_layout, kind)
    octets = bytes_of_buffer("storage", storage)
    if not arguments.check_bool("reinterpret", reinterpret):
        check_storage_dtype(storage, kind, parsed_layout)
    required = parsed_layout.nbytes(kind)
    # Before any view exists: no element may be outside of the storage, however the layout was
    # given.
    if octets.size < required:
        required_text = f"requires {required} bytes ({parsed_layout.required_size} slots)"
        available_text = f"the storage has {octets.size} available"
        raise ValueError(f"layout {parsed_layout} of {kind} {required_text}, {available_text}")
    tensor = tensor_over_buffer(octets, spec, parsed_layout)
    if fill_padding:
        write_padding(arguments.check_writable(tensor))
    return tensor


def check_storage_dtype(storage: Storage, dtype: DType, layout: Layout) -> None:
    """Raise TypeError if the storage has elements of another dtype; plain bytes may be any.

    A NumPy array holds each element in a byte of its own, and no packed elements.
    """
    stored = dtype_of_buffer(storage)
    if stored is None or (stored == dtype and layout.slot_bits is None):
        return
    # NumPy's name of a dtype leaves out its byte order.
    name = stored.name if stored.isnative else f"byte-swapped {stored.name}"
    asked = str(dtype)
    if layout.slot_bits is not None:
        asked, name = f"packed {dtype}", f"{name}, one to a byte" if stored == dtype else name
    raise TypeError(
        f"the storage holds {name}, not {asked};"
        f" to read its bytes as {asked}, pass reinterpret=True"
    )


def cpu_spec(dtype: DType, layout: Layout) -> TensorSpec:
    """Return the spec of a tensor on the CPU."""
    return check_byte_range(TensorSpec(dtype, layout, CPU))


def tensor_over_buffer(octets: Array, spec: TensorSpec, layout: Layout) -> Tensor:
    """Return a tensor over enough bytes; `layout` is the layout of `spec` with its offset."""
    return Tensor._from_memory(
        array_of_layout(octets, spec.dtype, layout), spec, (octets, layout.lowest)
    )


def bytes_of_buffer(argument: str, buffer: Any) -> Array:
    """Return the bytes of a buffer, pinned against resizing, closing and freeing."""
    if isinstance(buffer, Tensor):  # tensors have the buffer protocol only from Python 3.12 on
        raise TypeError(
            f"{argument} must be a buffer or an array, got {arguments.format_argument(buffer)}"
        )
    try:
        return buffer_as_bytes(buffer)
    except TypeError as error:
        raise TypeError(f"{argument} {error}, got {arguments.format_argument(buffer)}") from None
    except ValueError as error:
        raise ValueError(f"the {argument} {error}") from None
