"""DLPack: exporting tensors to other libraries and importing theirs without a copy.

A capsule points to a C structure: address, shape, strides, dtype, and a *deleter* that the consumer
calls once when it no longer needs the memory. The call may come while the consumer handles an
exception, or after Python has ended: a Python callback would lose the exception, or crash.
Therefore NumPy provides the structure and its deleter: the capsule is NumPy's export of an anchor
array that keeps the tensor's memory alive, and we overwrite its description of the memory. (NumPy's
own export does not support bfloat16.)

Source: ``dlpack.h`` 1.3, and the array API standard 2025.12, "Data interchange mechanisms".
"""

from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from tensorlayout import dtypes
from tensorlayout.cpu.engine.borrowed import memory_keeper
from tensorlayout.devices import CPU, Device, available_devices
from tensorlayout.dtypes import DType
from tensorlayout.errors import CopyError, prefix_operation_name, short_repr, truncate
from tensorlayout.exchange.numpy import capsule_pointer
from tensorlayout.plan import (
    Event,
    backend_of,
    byte_address_range,
    notify_listeners,
    row_major_byte_strides,
    spec_of_strides,
)
from tensorlayout.support.context_blocks import Scope
from tensorlayout.tensor import Tensor, TensorSpec

HOST = (1, 0)  # kDLCPU
_CUDA = 2  # kDLCUDA

# Devices with memory that the CPU can read: kDLCPU, kDLCUDAHost, kDLROCMHost.
_ON_HOST = (1, 3, 11)
_DEVICE_NAMES = {2: "CUDA", 4: "OpenCL", 7: "Vulkan", 8: "Metal", 10: "ROCm", 13: "CUDA managed"}

READ_ONLY, IS_COPIED, IS_PADDED = 1, 2, 4  # flags of a versioned capsule; the last since 1.1
# The version that adds narrow floats, and specifies how narrow types are packed.
NARROW_SINCE = (1, 1)

# DLPack's type codes by kind of NumPy's dtypes; bfloat16 is 4.
_CODES = {"i": 0, "u": 1, "f": 2, "V": 4, "c": 5, "b": 6}
_DTYPES: dict[tuple[int, int], DType] = {
    (_CODES[dtype.kind], 8 * dtype.itemsize): dtype for dtype in (*dtypes.STANDARD, dtypes.float16)
}
_LAZY_DTYPES = {(4, 16): "bfloat16"}
_LAZY_DTYPES |= {(narrow.dlpack, narrow.bits): name for name, narrow in dtypes.NARROW.items()}

# Errors that an exchange may raise, so that consumers know what to catch. IndexError reports
# positions out of bounds in earlier work on the device.
_EXCHANGE_ERRORS = (
    AttributeError,
    TypeError,
    NotImplementedError,
    BufferError,
    ValueError,
    IndexError,
)
_LETTERS = 1000  # limit of an exporter's message that we repeat


class _DLTensor(ctypes.Structure):
    """``DLTensor``: address and layout of memory; strides count elements."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    )


class _DLManagedTensor(ctypes.Structure):
    """``DLManagedTensor``, in capsules named ``dltensor``."""

    _fields_ = (
        ("tensor", _DLTensor),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )
    # Legacy capsules have no flags. JAX and TensorFlow export immutable memory in them, so all
    # count as read-only.
    flags = READ_ONLY


class _DLManagedTensorVersioned(ctypes.Structure):
    """``DLManagedTensorVersioned``, in capsules named ``dltensor_versioned``."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _DLTensor),
    )


_LEGACY_NAME, _VERSIONED_NAME = b"dltensor", b"dltensor_versioned"
_USED_NAMES = {_LEGACY_NAME: b"used_dltensor", _VERSIONED_NAME: b"used_dltensor_versioned"}

# Own function objects: setting signatures on `ctypes.pythonapi` would affect other libraries.
_is_valid_capsule = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi)
)
_set_capsule_name = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_SetName", ctypes.pythonapi)
)
_Deleter = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)


# Writes a `_DLTensor` in one call: setting its members one by one takes 0.06 us for each (2026-11,
# 2-core AMD EPYC (Zen 4)).
_pack_tensor = struct.Struct("@PiiiBBHPPQ").pack_into
_BITS = 4  # index of the bits of an element in the members after the address


class _MemoryAnchor(np.ndarray[Any, Any]):
    """Array with the shape and strides of an exported tensor; NumPy's deleter releases it."""

    __slots__ = ("memory_owner",)

    memory_owner: object


def dlpack_device(x: Tensor) -> tuple[int, int]:
    """Return the DLPack device type and number of a tensor."""
    return _device_in_dlpack(x.device)


def _device_in_dlpack(device: Device) -> tuple[int, int]:
    return HOST if device.kind == "cpu" else (_CUDA, device.number)


# Inside a block, negative strides are exported to any consumer.
NEGATIVE_STRIDES_SCOPE: Scope[bool] = Scope("tensorlayout.dlpack.backwards")


class _ExportForm(NamedTuple):
    """Everything in a capsule that depends only on the spec of a tensor."""

    # The sizes, then the strides: the structures of all capsules of the spec point to these.
    sizes_and_strides: NDArray[np.int64]
    # The members of `_DLTensor` after its address.
    description: tuple[int, ...]
    is_padded: bool
    # A tensor of this spec has no obstacle if it is writable and its address aligned.
    is_plain: bool


@functools.lru_cache(maxsize=1024)
def _export_form(spec: TensorSpec, allow_negative_strides: bool) -> _ExportForm:
    """Return the form for exports of a spec, without tiles if the caller uses its strides."""
    layout, dtype, ndim = spec.layout, spec.dtype, spec.layout.ndim
    code, bits = _CODES.get(dtype.kind, 0), 8 * dtype.itemsize
    if dtypes.is_narrow_dtype(dtype):
        code, bits = dtypes.NARROW[dtype.name].dlpack, dtypes.value_bits(dtype)
    strides = (0,) * ndim if layout.is_tiled else layout.strides
    has_negative_strides = not allow_negative_strides and min(strides, default=0) < 0
    # If negative strides are no obstacle, only dimensions of size 0 or 1 have them, which are never
    # used.
    if has_negative_strides:
        strides = tuple(map(abs, strides))
    sizes_and_strides = np.array((*layout.shape, *strides), np.int64)
    address = sizes_and_strides.__array_interface__["data"][0]
    device_type, number = _device_in_dlpack(spec.device)
    # Strides follow the sizes, which take 8 bytes each.
    pointers = address, address + 8 * ndim
    return _ExportForm(
        sizes_and_strides,
        (device_type, number, ndim, code, bits, 1, *pointers, 0),
        is_padded=bits < 8 and layout.slot_bits is None,
        is_plain=bits >= 8
        and bool(layout.size)
        and not layout.is_tiled
        and not has_negative_strides,
    )


def export_capsule(
    x: Tensor, *, version: tuple[int, int], is_copied: bool, allow_negative_strides: bool
) -> Any:
    """Return a capsule over the memory of `x`, always with strides, and with byte_offset 0.

    `version`: newest version that the consumer accepts; before 1.0 the capsule is a legacy one.
    `allow_negative_strides`: the consumer is known to accept them. BufferError if a consumer could
    not use the memory. Elements below 8 bits are packed, low bits first, unless flagged as padded.
    """
    spec, versioned = x.spec, version >= (1, 0)
    if NEGATIVE_STRIDES_SCOPE.open_entries and NEGATIVE_STRIDES_SCOPE.innermost_value():
        allow_negative_strides = True
    form = _export_form(spec, allow_negative_strides)
    address, read_only, owner = backend_of(spec.device).export_info(x)
    if not form.is_plain or (read_only and not versioned) or address % spec.dtype.alignment:
        reason = _export_obstacle(
            x,
            address,
            version,
            form.description[_BITS],
            read_only=read_only,
            allow_negative_strides=allow_negative_strides,
        )
        if reason:
            raise BufferError(f"__dlpack__: {reason}")
    # NumPy's deleter releases the anchor, and the anchor the owner of the memory.
    anchor = form.sizes_and_strides.view(_MemoryAnchor)
    anchor.memory_owner = owner
    data = address if spec.layout.size else 0
    if not versioned:
        capsule = anchor.__dlpack__()
        legacy = _DLManagedTensor.from_address(capsule_pointer(capsule, _LEGACY_NAME))
        _pack_tensor(legacy, _DLManagedTensor.tensor.offset, data, *form.description)
        return capsule
    capsule = anchor.__dlpack__(max_version=(1, 0))
    managed = _DLManagedTensorVersioned.from_address(capsule_pointer(capsule, _VERSIONED_NAME))
    is_padded = form.is_padded
    managed.flags = READ_ONLY * read_only | IS_COPIED * is_copied | IS_PADDED * is_padded
    managed.minor = min(version, NARROW_SINCE)[1]
    _pack_tensor(managed, _DLManagedTensorVersioned.tensor.offset, data, *form.description)
    return capsule


def _export_obstacle(
    x: Tensor,
    address: int,
    version: tuple[int, int],
    bits: int,
    *,
    read_only: bool,
    allow_negative_strides: bool,
) -> str:
    """Return why a consumer could not use the memory of `x`; empty if it can."""
    layout = x.spec.layout
    if layout.is_tiled:
        return f"layout {truncate(x.layout)} is tiled, it has no strides; use copy=True"
    if bits < 8 and layout.slot_bits is None and version < NARROW_SINCE:
        problem = f"{x.dtype}, one to a byte, needs a DLPack of version 1.1 or later"
        return f"{problem}; give max_version=(1, 1), or hand over x.view(uint8)"
    if read_only and version < (1, 0):
        problem = "a read-only tensor"
        if layout.is_overlapping:
            problem = f"a tensor whose elements share slots, of layout {truncate(x.layout)},"
        needed = "needs a DLPack of version 1 or later; give max_version=(1, 0)"
        return f"{problem} {needed}, or copy() it first"
    if not layout.size:
        return ""
    if address % x.dtype.alignment:
        return f"the memory is not aligned to {x.dtype}; use copy=True, or copy() it"
    if layout.slot_bits is not None and layout.offset * bits % 8:
        return f"layout {truncate(x.layout)} begins inside a byte; use x.copy()"
    if not allow_negative_strides and min(layout.strides, default=0) < 0:
        pairs = zip(layout.shape, layout.strides, strict=True)
        return _NEGATIVE_STRIDES_MESSAGE if any(step < 0 and n > 1 for n, step in pairs) else ""
    return ""


_NEGATIVE_STRIDES_MESSAGE = (
    "the strides are negative, as of a flipped tensor, and PyTorch ends the process on them; give"
    " it x.copy(), ask with copy=True, or, for a consumer that takes them, export inside"
    " `with tensorlayout.allow_negative_strides():`"
)


class _ExchangeError(Exception):
    """Carrier of our own error for memory that cannot be a tensor."""


def _raise_exchange_error(message: str, error_type: type[Exception] = BufferError) -> NoReturn:
    raise _ExchangeError(error_type(message))


def import_tensor(
    obj: Any, name: str = "from_dlpack", *, copy: bool | None = None, to_host: bool = False
) -> tuple[Tensor, bool]:
    """Return a tensor over the memory that `obj` exports, and whether it is already a copy.

    `copy`: False, or None to let the exporter decide. `to_host`: have the exporter move memory of
    other devices to the host; otherwise CUDA memory gives a CUDA tensor.
    """
    try:
        tensor, is_copied = _import_capsule(obj, copy, to_host)
    except CopyError:  # raised by our own export in a no_copies block
        raise
    except _ExchangeError as refusal:
        raise prefix_operation_name(name, refusal.args[0]) from None
    except MemoryError as error:  # for the requested copy
        msg = truncate(str(error).removeprefix("__dlpack__: "), _LETTERS)
        raise prefix_operation_name(name, MemoryError(msg)) from error
    except Exception as error:  # exporters raise arbitrary errors, such as RuntimeError
        kind = next((kind for kind in _EXCHANGE_ERRORS if isinstance(error, kind)), BufferError)
        msg = f"{type(obj).__name__} could not be exchanged: {truncate(error, _LETTERS)}"
        raise prefix_operation_name(name, kind(msg)) from error
    assert tensor is not None  # DLPack strides count whole elements
    if is_copied and not isinstance(obj, Tensor):
        spec, exporter_note = tensor.spec, f"a {type(obj).__name__} made the copy"
        notify_listeners(Event(name, spec, spec, f"have it export its memory: {exporter_note}"))
    return tensor, is_copied


def _import_capsule(obj: Any, copy: bool | None, to_host: bool) -> tuple[Tensor | None, bool]:
    if not (hasattr(obj, "__dlpack__") and hasattr(obj, "__dlpack_device__")):
        rule = "needs an object with __dlpack__ and __dlpack_device__"
        _raise_exchange_error(f"{rule}, got {type(obj).__name__}; use asarray()", AttributeError)
    # NumPy's capsule keeps the array alive, but does not pin a buffer below it: a bytearray could
    # be resized, and a mapped file closed.
    keeper = memory_keeper(obj) if isinstance(obj, np.ndarray) else None
    device_type, number = map(int, obj.__dlpack_device__())
    moves_to_host = to_host and device_type not in _ON_HOST
    stream = None
    if not moves_to_host:
        device = _device_from_dlpack(device_type, number)
        stream = backend_of(device).current_stream(device)
    capsule = _request_capsule(obj, copy, moves_to_host, stream)
    name = next((name for name in _USED_NAMES if _is_valid_capsule(capsule, name)), None)
    if name is None:
        _raise_exchange_error(
            f"{type(obj).__name__}.__dlpack__() gave {short_repr(capsule)}, no unused capsule"
        )
    managed = _capsule_structure(capsule)
    is_copied = bool(managed.flags & IS_COPIED)
    if is_copied and copy is False:
        _raise_exchange_error(f"{type(obj).__name__} made a copy, and copy=False")
    memory = _make_tensor_factory(managed)
    # From here on, we must call the deleter; until now the capsule would. An interrupt between the
    # two lines leaks the memory. In the other order, the deleter could run twice.
    _set_capsule_name(capsule, _USED_NAMES[name])
    owner, readonly = _ForeignMemoryOwner(managed, keeper), bool(managed.flags & READ_ONLY)
    return memory(owner, readonly=readonly), is_copied


def _request_capsule(obj: Any, copy: bool | None, moves_to_host: bool, stream: int | None) -> Any:
    """Return the capsule; exporters before DLPack 1 accept no keywords except ``stream``."""
    stream_option = {} if stream is None else {"stream": stream}
    options: dict[str, Any] = {"max_version": NARROW_SINCE}
    if moves_to_host:
        options["dl_device"] = HOST
    if isinstance(obj, Tensor) and not moves_to_host:
        options["dl_device"] = None  # tells our own exporter that any strides are accepted
    if copy is not None:
        options["copy"] = copy
    try:
        return obj.__dlpack__(**stream_option, **options)
    except TypeError as error:
        # Without max_version, an exporter gives a legacy capsule over the same memory. The other
        # options change the result, so they are never dropped.
        if len(options) > 1:
            del options["max_version"]
            option_text = ", ".join(f"{name}={value}" for name, value in options.items())
            _raise_exchange_error(
                f"{type(obj).__name__} cannot be asked for {option_text} "
                f"({truncate(error, _LETTERS)}); leave"
                " it out, or convert in the other library first"
            )
    return obj.__dlpack__(**stream_option)


def _capsule_structure(capsule: Any) -> Any:
    """Return the structure of an unused capsule."""
    if not _is_valid_capsule(capsule, _VERSIONED_NAME):
        return _DLManagedTensor.from_address(capsule_pointer(capsule, _LEGACY_NAME))
    managed = _DLManagedTensorVersioned.from_address(capsule_pointer(capsule, _VERSIONED_NAME))
    if managed.major != 1:
        _raise_exchange_error(f"the exporter speaks DLPack {managed.major}, this package DLPack 1")
    return managed


def _device_from_dlpack(device_type: int, number: int) -> Device:
    """Return the device of a DLPack type and number; BufferError if it does not exist."""
    if device_type in _ON_HOST:
        return CPU
    device = Device("cuda", number)
    if device_type == _CUDA and device in available_devices():
        return device
    device_name = _DEVICE_NAMES.get(device_type, f"DLPack type {device_type}")
    _raise_exchange_error(
        f"the memory is on a device that is not here ({device_name}, number {number}); use"
        ' from_dlpack(x, device="cpu"), or move it in the other library first'
    )


_TensorFactory = Callable[..., Tensor | None]  # takes the owner of the memory, and readonly=


def _make_tensor_factory(managed: Any) -> _TensorFactory:
    """Check a description, and return a function that creates a tensor over the memory."""
    dl_tensor = managed.tensor
    ndim = dl_tensor.ndim
    device = _device_from_dlpack(dl_tensor.device_type, dl_tensor.device_id)
    type_code = (dl_tensor.code, dl_tensor.bits)
    dtype = (
        dtypes.as_dtype(_LAZY_DTYPES[type_code])
        if type_code in _LAZY_DTYPES
        else _DTYPES.get(type_code)
    )
    is_packed = dl_tensor.bits < 8 and not managed.flags & IS_PADDED
    bits_per_element = dl_tensor.bits * dl_tensor.lanes
    # Exporters may count packed elements in lanes that fill a byte, as float4_e2m1fn with 2.
    if dtype is None or (dl_tensor.lanes != 1 and not (is_packed and bits_per_element == 8)):
        _raise_exchange_error(
            f"elements of DLPack type {type_code[0]} with {type_code[1]} bits and "
            f"{dl_tensor.lanes} lanes"
            " have no dtype here; convert them in the other library first"
        )
    if not 0 <= ndim <= 64:
        _raise_exchange_error(f"a rank of at most 64 is supported, got {ndim}")
    shape = _read_integers(dl_tensor.shape, ndim)
    if len(shape) < ndim or min(shape, default=0) < 0 or not (dl_tensor.data or 0 in shape):
        _raise_exchange_error(f"the exporter gave shape {shape} at address {dl_tensor.data}")
    # Before DLPack 1.2, a null pointer means row-major strides. Strides count elements.
    strides = row_major_byte_strides(shape, 1)
    if dl_tensor.strides:
        strides = _read_integers(dl_tensor.strides, ndim)
    byte_strides = tuple([s * dtype.itemsize for s in strides])
    address = (dl_tensor.data or 0) + dl_tensor.byte_offset
    # Called for its errors: no view may be made of addresses that cannot be memory.
    byte_address_range(address, dtype.itemsize, shape, byte_strides)
    if is_packed:
        return _make_packed_tensor_factory(address, dtype, shape, strides, dl_tensor.lanes, device)
    return partial(backend_of(device).wrap_external, address, dtype, shape, byte_strides, device)


def _make_packed_tensor_factory(
    address: int,
    dtype: DType,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    lanes: int,
    device: Device,
) -> _TensorFactory:
    """Return a function that creates a tensor over memory with slots below a byte, lowest first.

    Lanes of an element become elements of the last dimension.
    """
    if lanes != 1:
        if not shape or (strides[-1] != 1 and shape[-1] > 1):
            _raise_exchange_error(
                f"elements of {lanes} lanes must follow each other along the last dimension, got"
                f" shape {shape} with strides {strides}; make it contiguous first"
            )
        shape = (*shape[:-1], lanes * shape[-1])
        strides = (*[lanes * s for s in strides[:-1]], 1)
    slot_spec = spec_of_strides(dtypes.uint8, shape, strides)
    assert slot_spec is not None  # a byte is a whole element
    bits = dtypes.value_bits(dtype)
    lowest = sum(step * (n - 1) for n, step in zip(shape, strides, strict=True) if step < 0 < n)
    # `lowest` is 0 or negative. divmod rounds down, so `first_byte` is the one in which the lowest
    # slot begins, and `bit` counts up from there.
    first_byte, bit = divmod(lowest * bits, 8)
    if bit and 0 not in shape:
        _raise_exchange_error(
            f"the lowest of elements of {dtype} with strides {strides} begins inside a byte; copy"
            " it in the other library first"
        )
    spec = TensorSpec(dtype, slot_spec.layout.with_slot_bits(bits), device)
    return partial(backend_of(device).wrap_external_slots, address + first_byte, spec)


def _read_integers(address: int | None, count: int) -> tuple[int, ...]:
    return tuple((ctypes.c_int64 * count).from_address(address)) if address and count else ()


class _ForeignMemoryOwner:
    """Owner of another library's memory; calls its deleter when the last tensor over it is gone."""

    __slots__ = ("_address", "_delete", "_keeper")

    _delete: Callable[[int], None] | None

    def __init__(self, managed: Any, keeper: object) -> None:
        self._keeper = keeper
        self._address = ctypes.addressof(managed)
        self._delete = _Deleter(managed.deleter) if managed.deleter else None

    def __del__(self) -> None:
        # Python preserves a pending exception around __del__, but not around a C callback.
        # The attribute is missing if an interrupt ended __init__ early.
        deleter = getattr(self, "_delete", None)
        if deleter is not None:
            deleter(self._address)
