"""Memory shared with other libraries: NumPy, the buffer protocol, DLPack, pickles."""

from __future__ import annotations

import operator
import sys
from typing import Any, SupportsIndex

import numpy as np

from tensorlayout.devices import CPU, as_device, available_devices
from tensorlayout.dtypes import LAZY_DTYPES, is_narrow_dtype, is_standard_dtype
from tensorlayout.errors import call_with_error_name, raise_named_error, truncate
from tensorlayout.exchange import dlpack
from tensorlayout.exchange.numpy import (
    Array,
    borrow_array,
    call_quietly,
    convert_array,
    tensor_over_array,
)
from tensorlayout.functions import arguments, dispatch
from tensorlayout.functions.layouts import from_storage
from tensorlayout.functions.transfers import (
    copy_tensor,
    ensure_strided,
    move_to_cpu,
    move_to_device,
)
from tensorlayout.layout import Layout
from tensorlayout.plan import (
    Assign,
    Event,
    Relayout,
    backend_of,
    notify_export,
    notify_listeners,
    watched,
)
from tensorlayout.support.context_blocks import ScopeContext
from tensorlayout.support.lazy_imports import import_lazily
from tensorlayout.tensor import Tensor, TensorSpec
from tensorlayout.typing import DeviceLike, LayoutLike, SupportsDLPack

__all__ = ["allow_negative_strides", "from_dlpack"]

_KEEP = Assign("__reduce__")
_PLACED = Relayout("from_dlpack")


class _NotGiven:
    """Default of an argument for which a consumer may also pass None; reads as None."""

    def __repr__(self) -> str:
        return "None"


_UNSAID: Any = _NotGiven()


def to_numpy(x: Tensor, dtype: Any = None, *, copy: bool | None = None) -> Array:
    """Return the elements as a NumPy array, over the same memory if the layout has strides.

    `dtype` and `copy` are as in NumPy; a copy keeps the order of the dimensions in memory. The
    array is read-only if the tensor is, or if its elements share slots. Tensors that are tiled or
    packed below a byte have no strides and are copied.

    Raises `ValueError` if copy=False and the dtype or the layout needs a copy.
    """
    if x.device != CPU:
        msg = f"__array__: NumPy sees no memory of {x.device}; use x.to_device('cpu') first"
        raise TypeError(msg)
    copy = call_with_error_name("__array__", arguments.check_flag, "copy", copy)
    if not x.spec.layout.is_strided:
        if copy is False:
            obstacle = "tiles" if x.spec.layout.is_tiled else "elements below a byte"
            rule = f"__array__: NumPy has no {obstacle}"
            raise ValueError(f"{rule}, layout {x.layout} cannot be seen without a copy")
        return to_numpy(ensure_strided("__array__", x), dtype)
    array: Array = x.memory
    kind = array.dtype if dtype is None else _numpy_dtype(dtype)
    if watched and (copy or kind != array.dtype) and copy is not False:
        # The event describes what astype and copy make: packed, in the order of dimensions of `x`.
        layout = Layout.packed(x.shape, x.spec.layout.minor_to_major)
        instead = "" if kind != array.dtype else "leave out copy=True, and share the memory"
        notify_listeners(Event("__array__", x.spec, TensorSpec(kind, layout, CPU), instead))
    if kind != array.dtype:
        if copy is False:
            raise_named_error(
                "__array__", f"{array.dtype} cannot be seen as {dtype} without a copy"
            )
        odd = kind.name in LAZY_DTYPES  # ml_dtypes has other conversion rules
        if array.dtype.kind == "c" and (kind.kind in "iuf" or odd):
            msg = f"__array__: {array.dtype} cannot become {kind}; take real() or abs() first"
            raise TypeError(msg)
        # NumPy leaves open what NaN becomes.
        if odd or kind.kind in "iu" or (is_narrow_dtype(array.dtype) and is_standard_dtype(kind)):
            return convert_array(array, kind)
        return call_quietly(array.astype, kind)
    if copy:
        return array.copy(order="K")
    if watched:
        notify_export("__array__", x.spec)
    # Never our own object: a shape or dtype that it were given would be that of our memory.
    return _view_as_read_only(array) if x.spec.layout.is_overlapping else array.view()


def _view_as_read_only(array: Array) -> Array:
    """Return a read-only view, for an array whose elements share slots."""
    view = array.view()
    view.flags.writeable = False
    return view


def note_export(name: str, x: Tensor, array: Array) -> Array:
    """Return `array`, made of `x` by the function `name`; record an export if it shares memory."""
    if watched and np.may_share_memory(array, x.memory):
        notify_export(name, x.spec, for_internal_callers=True)
    return array


def _memory_for_numpy(name: str, x: Tensor, refusal: type[Exception]) -> Array:
    """Return the memory of `x` if NumPy can read it directly; else raise `refusal`."""
    spec = x.spec
    kind, octets = spec.dtype.kind, spec.dtype.itemsize
    # From complex numbers NumPy would drop imaginary parts for a real dtype. It knows neither the
    # dtypes of ml_dtypes nor the "f1" of float8_e5m2.
    known = kind not in "cV" and (kind, octets) != ("f", 1)
    on_host = spec.device is CPU or spec.device == CPU
    if not (on_host and known and spec.layout.is_strided):
        msg = f"{name}: not for {x.dtype} on the {x.device} in layout {truncate(x.layout)}"
        advice = "numpy.asarray()" if on_host else 'x.to_device("cpu") first'
        raise refusal(f"{msg}; use DLPack, or {advice}")
    return _view_as_read_only(x.memory) if spec.layout.is_overlapping else x.memory


def array_interface_dict(x: Tensor) -> dict[str, Any]:
    """Return NumPy's ``__array_interface__`` of a CPU tensor; strides in **bytes**.

    Raises `AttributeError` on CUDA, for tiles, and for bfloat16, narrow and complex types, for
    which NumPy calls `__array__`. The reader must keep the tensor alive while it uses the memory.
    """
    memory = _memory_for_numpy("__array_interface__", x, AttributeError)
    if watched:
        notify_export("__array_interface__", x.spec)
    # Always with strides: without them Pillow needs a buffer, which exists from Python 3.12 on.
    return {**memory.__array_interface__, "strides": memory.strides}


def memory_buffer(x: Tensor, _flags: int, /) -> memoryview:
    """Export CPU memory by Python's buffer protocol, from Python 3.12 on: ``memoryview(x)``.

    Any strides: Python refuses consumers that require contiguous bytes. Read-only if the tensor is,
    or if its elements share slots. Raises `BufferError` on CUDA, for tiles, and for bfloat16,
    narrow and complex types.
    """
    memory: Any = _memory_for_numpy("__buffer__", x, BufferError)
    if watched:
        notify_export("__buffer__", x.spec)
    return memoryview(memory)


def _numpy_dtype(dtype: Any) -> Any:
    try:
        return np.dtype(dtype)
    except (TypeError, ValueError, SyntaxError, RecursionError):
        msg = f"__array__: dtype must be one of NumPy's, got {arguments.format_argument(dtype)}"
        raise TypeError(msg) from None


def to_device(self: Tensor, device: DeviceLike, /, *, stream: Any = None) -> Tensor:
    """Return the tensor on another device; itself if it is there.

    A layout that covers a block is kept, with its padding; any other is replaced by its form.
    `stream` is a CUDA stream that may use the result at once, as in `__dlpack__`.
    """
    if device is None:
        raise_named_error("to_device", "device must be a device or its name, got None", TypeError)
    target = as_device(device, "to_device: device")
    result = move_to_device(self, target)
    if stream is not None:
        where = self.device if target == CPU else target
        backend_of(where).make_external_stream_wait("to_device", stream, where)
    return result


def to_dlpack(
    x: Tensor,
    *,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = _UNSAID,
    copy: bool | None = _UNSAID,
) -> Any:
    """Return a DLPack capsule over the memory of `x`, with the strides that `x` has.

    Versioned, with flags for read-only and copied memory, if `max_version` is at least (1, 0); else
    a legacy one. `copy`: True exports a copy in the form of `x`; None and False share.

    Strides may be 0 (broadcast); where elements share slots, the capsule says read-only. Negative
    strides (flipped) are exported to a consumer that gives `copy` or `dl_device` as None, as NumPy
    and CuPy do and PyTorch never does, and inside `allow_negative_strides`. For others there is
    ``x.copy()``, or ``torch.from_dlpack(x, copy=True)``.

    `stream`: on CUDA, the one on which the memory is to be used: None or 1 for the legacy default
    stream, 2 for that of the thread, -1 for no waiting, else its address, or an object with
    ``__cuda_stream__``. It is made to wait for our current one, ``with tl.cuda.Stream():``; the
    host waits for neither.

    `dl_device`: where `x` is, or (1, 0) for a copy on the CPU.

    ValueError for a `stream` of the CPU, which has none, and for stream 0, which could be several.
    BufferError for another device, for copy=False where one is needed, for a legacy capsule of a
    tensor that is read-only or whose elements share slots, for elements of fewer than 8 bits, one
    to a byte, where `max_version` is less than (1, 1), for memory that is not aligned to its
    elements, or begins inside a byte, for negative strides, and, but with copy=True, for a tiled
    tensor, which has no strides.
    """
    backwards = copy is None or dl_device is None
    is_moved = False
    if dl_device is not _UNSAID and dl_device is not None:
        own_device = dlpack.dlpack_device(x)
        requested_device = _as_integer_pair("dl_device", dl_device)
        if requested_device not in (own_device, dlpack.HOST):
            place = f"on the {x.device}, {own_device} in DLPack"
            msg = f"__dlpack__: the tensor is {place}, not {dl_device}"
            raise BufferError(msg)
        is_moved = requested_device != own_device
    version = (0, 0) if max_version is None else _as_integer_pair("max_version", max_version)
    if copy is not None:
        copy = (
            None
            if copy is _UNSAID
            else call_with_error_name("__dlpack__", arguments.check_flag, "copy", copy)
        )
    # A copy on the CPU is made by the transfer. The others differ in their result: a tiled tensor
    # has to become strided, any other keeps its form.
    if is_moved:
        if copy is False:
            msg = f"__dlpack__: the CPU needs a copy of what is on {x.device}, and copy=False"
            raise BufferError(msg)
        x, copy = move_to_cpu(x), True
    if copy and x.spec.layout.is_tiled:
        x = ensure_strided("__dlpack__", x)
    elif copy and not is_moved:
        x = copy_tensor("__dlpack__", x)
    device = x.spec.device
    backend_of(device).make_external_stream_wait("__dlpack__", stream, device)
    capsule = dlpack.export_capsule(
        x, version=version, is_copied=bool(copy), allow_negative_strides=backwards
    )
    if watched and not copy:
        notify_export("__dlpack__", x.spec)
    return capsule


def allow_negative_strides() -> ScopeContext[bool, bool]:
    """Export flipped tensors of any dtype by DLPack as they are, to every consumer in the block.

    DLPack allows negative strides, but PyTorch does not: up to 2.13 they end the process.
    ``__dlpack__`` therefore exports them only to consumers that are known to accept them, such as
    NumPy, CuPy and this package; the block is for other consumers. It applies to this thread, and
    to tasks started in it. Nothing is copied and the layout stays: strides count elements.

    >>> import tensorlayout as tl
    >>> x = tl.flip(tl.asarray([1, 2, 3]))
    >>> with tl.allow_negative_strides():
    ...     print(type(x.__dlpack__()).__name__)
    PyCapsule
    """
    return dlpack.NEGATIVE_STRIDES_SCOPE.scope_with_value(True)


def _as_integer_pair(argument: str, value: Any) -> tuple[int, int]:
    if type(value) is tuple and len(value) == 2 and type(value[0]) is type(value[1]) is int:
        return value
    pair = call_with_error_name(
        "__dlpack__", arguments.as_integers, value, argument, allow_none=False
    )
    if not isinstance(pair, tuple) or len(pair) != 2:
        msg = (
            f"__dlpack__: {argument} must be a pair of integers, got "
            f"{arguments.format_argument(value)}"
        )
        raise TypeError(msg)
    return pair


def from_dlpack(
    x: SupportsDLPack,
    /,
    *,
    device: DeviceLike | None = None,
    copy: bool | None = None,
    layout: LayoutLike | None = None,
) -> Tensor:
    """Return a tensor over the memory that another library exports by DLPack.

    - `device`: None for the device of the memory, or the device to move it to.
    - `copy`: None shares, or copies if the exporter or `layout` requires it; True always copies, in
      the same form; False never.
    - `layout`: as in `to_layout`; if it places the elements where they are, nothing is copied.

    Layout of the result: the exporter's strides. Dimensions of size 1 get the stride that continues
    their successor, since DLPack has lost their order; `layout` states it. Elements of fewer than 8
    bits are packed below a byte, unless the exporter declares one byte for each; elements of
    several lanes, such as PyTorch's pairs, become elements of the last dimension.

    The tensor is read-only if the exporter declares it so, or cannot declare it: a legacy capsule,
    from before DLPack 1, may belong to an immutable array, such as JAX's. With copy=True the tensor
    is writable. On CUDA the exporter makes the memory ready for our current stream.

    Raises `AttributeError` if `x` does not export DLPack; `BufferError` for memory on an
    unavailable device, for element types that we do not have, for packed elements that begin inside
    a byte, and if copy=False and a copy is needed; `ValueError` for a copy that `layout` needs.

    Source: array API standard 2025.12, creation functions, `from_dlpack`; `layout` is an extension.

    >>> import numpy as np
    >>> import tensorlayout as tl
    >>> tl.from_dlpack(np.zeros((2, 3)).T).strides
    (1, 3)
    >>> tl.from_dlpack(np.zeros((2, 1, 4, 4)), layout="NHWC", copy=False).strides
    (16, 1, 4, 1)
    """
    shared = None
    # NumPy's own arrays need no capsule, which takes time to make and to parse.
    if type(x) is np.ndarray and device is None and copy is None and is_standard_dtype(x.dtype):
        try:
            shared = tensor_over_array(borrow_array(x))
        except ValueError:  # memory that is closed
            shared = None
    if shared is None:
        shared = _import_dlpack(x, device, copy)
    if layout is None:
        return shared
    requested_layout = arguments.as_layout_key(layout)
    copying = False if copy is False else None
    return dispatch.call(_PLACED, (shared.spec, requested_layout, copying), (shared,))


def _import_dlpack(x: SupportsDLPack, device: DeviceLike | None, copy: bool | None) -> Tensor:
    """Import a tensor by DLPack in the exporter's layout."""
    target = None if device is None else as_device(device, "device")
    copy = arguments.check_flag("copy", copy)
    # A copy by another exporter may have another form; our own keeps it if DLPack can express it.
    copy_request = copy if copy is False or isinstance(x, Tensor) else None
    shared, is_copy = dlpack.import_tensor(x, copy=copy_request, to_host=target == CPU)
    if target is not None and target != shared.device:
        if copy is False:
            raise BufferError(f"the memory is on {shared.device}, not on {target}, and copy=False")
        return move_to_device(shared, target)
    # copy=True means writable memory, which an exporter's copy may not be.
    if copy is True and (not is_copy or shared.readonly):
        return copy_tensor("from_dlpack", shared)
    return shared


def _unpickle_tensor(dtype: str, layout: str, octets: Any, device: str = "cpu") -> Tensor:
    """Return a tensor from the parts of a pickle; the layout is checked against the bytes."""
    x = call_with_error_name("from_storage", from_storage, octets, layout, dtype=dtype)
    if device == "cpu":
        return x
    # Without that device, the tensor stays on the CPU, so that pickles load on any machine.
    return next(
        (move_to_device(x, available) for available in available_devices() if available == device),
        x,
    )


def _unpickle_tensor_copy(dtype: str, layout: str, octets: bytes, device: str = "cpu") -> Tensor:
    """Return a tensor from the parts of a pickle, in writable memory."""
    return _unpickle_tensor(dtype, layout, bytearray(octets), device)


def pickle_parts(x: Tensor, protocol: SupportsIndex = 2) -> tuple[Any, ...]:
    """Return the parts that pickle stores of a tensor: dtype, layout text, and bytes.

    From protocol 5 on the bytes are a buffer, possibly out of band: the memory of the tensor
    itself, read-only if the tensor is, copied only if the layout covers no block. Older protocols
    rewrite padding, so that equal tensors have equal pickles, and load writable tensors.
    """
    device = () if x.device == CPU else (str(x.device),)
    x, layout, late = move_to_cpu(x), x.spec.layout, operator.index(protocol) >= _OUT_OF_BAND
    if layout.covers_block and (late or not layout.is_padded):
        if watched and late and not device:
            notify_export("__reduce__", x.spec)
        octets = backend_of(CPU).read_bytes(x)
    else:
        layout = layout if layout.covers_block else layout.form
        try:
            # Zeros, because gaps and padding without a value would hold whatever was in memory
            # before: equal tensors would have different pickles.
            octets = np.zeros(layout.nbytes(x.dtype), np.uint8)
        except MemoryError:
            msg = f"__reduce__: {layout.nbytes(x.dtype)} bytes cannot be allocated"
            raise MemoryError(msg) from None
        twin = from_storage(octets, layout, dtype=x.dtype, fill_padding=True)
        dispatch.call(_KEEP, (twin.spec, x.spec), (twin, x))
        # The tensor that is loaded is read-only if this one is, unless only its shared slots made
        # it so, which the copy no longer has.
        octets.flags.writeable = x.spec.layout.is_overlapping or not is_readonly(x)
    dtype_and_layout = (x.dtype.name, str(layout))
    if not late:
        return _unpickle_tensor_copy, (*dtype_and_layout, octets.tobytes(), *device)
    # joblib shares only NumPy arrays between its processes. Without it, they are avoided: a corrupt
    # byte in a pickled array's header may crash the process that reads it.
    buffer = octets if "joblib" in sys.modules else import_lazily("pickle").PickleBuffer(octets)
    return _unpickle_tensor, (*dtype_and_layout, buffer, *device)


# The first pickle protocol that can pass memory on without copying it.
_OUT_OF_BAND = 5


def dask_token(x: Tensor) -> tuple[Any, ...]:
    """Return the token by which Dask identifies a tensor, the same in each process."""
    _, (dtype, layout, octets, *device) = pickle_parts(x, _OUT_OF_BAND)
    summed = import_lazily("dask.tokenize").normalize_token(np.frombuffer(octets, np.uint8))
    return "tensorlayout", dtype, layout, summed, *device


def object_and_owned_storage_bytes(x: Tensor) -> int:
    """Return the size in bytes of the object, and of its storage unless that is shared."""
    octets = x.spec.layout.nbytes(x.dtype)
    # The storage of a view is counted with the tensor that owns it.
    whole = x.home is None or x.home[0].nbytes == octets
    return object.__sizeof__(x) + (octets if whole else 0)


def is_readonly(x: Tensor) -> bool:
    """Return True if the tensor is read-only."""
    memory = x.memory
    if isinstance(memory, np.ndarray):
        return not memory.flags.writeable
    return bool(memory.readonly)
