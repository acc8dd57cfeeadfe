"""DLPack: tensors handed to other libraries, and theirs taken in, without a copy.

A capsule points to a C structure: address, shape, strides, dtype, and a *deleter* that the consumer
calls once when it needs the memory no more. That call may come while an exception is on its way
through the consumer, or after Python has ended; a Python callback would lose the exception, or
crash. So the structure and its deleter are NumPy's: the capsule is NumPy's, over an anchor that
keeps the tensor's memory, and what it says of the memory is written anew. (NumPy's own export knows
no bfloat16.)

Source: ``dlpack.h`` 1.3, and the array API standard 2025.12, "Data interchange mechanisms".
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

import numpy as np

from tensorlayout import dtypes
from tensorlayout.cpu.engine.borrowed import keeper_of
from tensorlayout.devices import CPU, Device, available
from tensorlayout.dtypes import DType
from tensorlayout.errors import CopyError, cut, named, shown
from tensorlayout.exchange.numpy import pointer_in
from tensorlayout.plan import Event, backend, extent, note, packed_steps, spec_of_strides
from tensorlayout.support.context_blocks import Scope
from tensorlayout.tensor import Tensor, TensorSpec

HOST = (1, 0)  # kDLCPU
_CUDA = 2  # kDLCUDA

# Devices whose memory the CPU reads as its own: kDLCPU, kDLCUDAHost, kDLROCMHost.
_ON_HOST = (1, 3, 11)
_DEVICE_NAMES = {2: "CUDA", 4: "OpenCL", 7: "Vulkan", 8: "Metal", 10: "ROCm", 13: "CUDA managed"}

READ_ONLY, IS_COPIED, IS_PADDED = 1, 2, 4  # flags of a versioned capsule; the last since 1.1
NARROW_SINCE = (1, 1)  # the version that has the narrow floats, and says how narrow types lie

# The kinds of NumPy's dtypes as DLPack counts them; bfloat16 is 4.
_CODES = {"i": 0, "u": 1, "f": 2, "V": 4, "c": 5, "b": 6}
_DTYPES: dict[tuple[int, int], DType] = {
    (_CODES[dtype.kind], 8 * dtype.itemsize): dtype for dtype in (*dtypes.STANDARD, dtypes.float16)
}
_LATE = {(4, 16): "bfloat16"}
_LATE |= {(narrow.dlpack, narrow.bits): name for name, narrow in dtypes.NARROW.items()}

# What an exchange may raise, so that consumers know what to catch; IndexError for positions outside
# that a device still has to report.
_EXPECTED = (AttributeError, TypeError, NotImplementedError, BufferError, ValueError, IndexError)
_LETTERS = 1000  # of what an exporter says that are repeated


class _Described(ctypes.Structure):
    """``DLTensor``: the memory and how it is laid out; strides count elements."""

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


class _Legacy(ctypes.Structure):
    """``DLManagedTensor``, in capsules named ``dltensor``."""

    _fields_ = (
        ("tensor", _Described),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )
    flags = READ_ONLY  # it has none, and JAX and TensorFlow export what nobody may change


class _Versioned(ctypes.Structure):
    """``DLManagedTensorVersioned``, in capsules named ``dltensor_versioned``."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Described),
    )


_LEGACY_NAME, _VERSIONED_NAME = b"dltensor", b"dltensor_versioned"
_USED = {_LEGACY_NAME: b"used_dltensor", _VERSIONED_NAME: b"used_dltensor_versioned"}

# Signatures of our own: to set them on `ctypes.pythonapi` would change them for everybody.
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi)
)
_rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_SetName", ctypes.pythonapi)
)
_Deleter = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)


class _Anchor(np.ndarray[Any, Any]):
    """The shape and strides of an exported tensor; NumPy's deleter lets go of it."""

    kept: object


def device_of(x: Tensor) -> tuple[int, int]:
    """Return the DLPack type and number of the device."""
    return HOST if x.device.kind == "cpu" else (_CUDA, x.device.number)


# Inside its blocks negative strides are exported to every consumer.
BACKWARDS: Scope[bool] = Scope("tensorlayout.dlpack.backwards")


def export(x: Tensor, *, version: tuple[int, int], copied: bool, backwards: bool) -> Any:
    """Return a capsule over the memory of `x`: its own strides, always given, and byte_offset 0.

    `version`: the newest that the consumer takes; a legacy capsule before 1.0. `backwards`: whether
    the consumer is known to take negative strides. BufferError for what a consumer could not use.
    Elements of fewer than 8 bits are packed, low bits first, unless they are flagged as padded.
    """
    layout, versioned = x.spec.layout, version >= (1, 0)
    code, bits = _CODES.get(x.dtype.kind), 8 * x.dtype.itemsize
    if dtypes.is_narrow(x.dtype):
        code, bits = dtypes.NARROW[x.dtype.name].dlpack, dtypes.bits_of(x.dtype)
    padded = bits < 8 and layout.slot_bits is None
    address, read_only, owner = backend(x.device).exposed(x)
    backwards = backwards or bool(BACKWARDS.get())
    if reason := _obstacle(x, address, version, bits, read_only=read_only, backwards=backwards):
        raise BufferError(f"__dlpack__: {reason}")
    strides = layout.strides
    if not backwards:  # those that are negative lead from no element to another
        strides = tuple(map(abs, strides))
    ndim = layout.ndim
    anchor = _Anchor((2 * ndim,), np.int64)
    anchor[:] = layout.shape + strides
    anchor.kept = owner
    capsule = anchor.__dlpack__(max_version=(1, 0) if versioned else None)
    managed = _structure_in(capsule)
    if versioned:
        managed.flags = READ_ONLY * read_only | IS_COPIED * copied | IS_PADDED * padded
        managed.minor = min(version, NARROW_SINCE)[1]
    described = managed.tensor
    described.data = address if layout.size else None
    described.device_type, described.device_id = device_of(x)
    described.ndim = ndim
    described.code, described.bits = code, bits
    described.shape = anchor.__array_interface__["data"][0]
    described.strides = described.shape + 8 * ndim
    return capsule


def _obstacle(
    x: Tensor,
    address: int,
    version: tuple[int, int],
    bits: int,
    *,
    read_only: bool,
    backwards: bool,
) -> str:
    """Return the reason why a consumer could not use the memory of `x`; empty if it can."""
    layout = x.spec.layout
    if layout.is_tiled:
        return f"layout {cut(x.layout)} is tiled, it has no strides; use copy=True"
    if bits < 8 and layout.slot_bits is None and version < NARROW_SINCE:
        what = f"{x.dtype}, one to a byte, needs a DLPack of version 1.1 or later"
        return f"{what}; give max_version=(1, 1), or hand over x.view(uint8)"
    if read_only and version < (1, 0):
        what = "a read-only tensor"
        if layout.is_overlapping:
            what = f"a tensor whose elements share slots, of layout {cut(x.layout)},"
        needed = "needs a DLPack of version 1 or later; give max_version=(1, 0)"
        return f"{what} {needed}, or copy() it first"
    if not layout.size:
        return ""
    if address % x.dtype.alignment:
        return f"the memory is not aligned to {x.dtype}; use copy=True, or copy() it"
    if layout.slot_bits is not None and layout.offset * bits % 8:
        return f"layout {cut(x.layout)} begins inside a byte; use x.copy()"
    if not backwards and min(layout.strides, default=0) < 0:
        pairs = zip(layout.shape, layout.strides, strict=True)
        return _NO_WAY_BACK if any(step < 0 and n > 1 for n, step in pairs) else ""
    return ""


_NO_WAY_BACK = (
    "the strides are negative, as of a flipped tensor, and PyTorch ends the process on them; give"
    " it x.copy(), ask with copy=True, or, for a consumer that takes them, export inside"
    " `with tensorlayout.allow_negative_strides():`"
)


class _ForeignError(Exception):
    """Holds the error for memory that is no tensor here, in our words."""


def _refuse(reason: str, kind: type[Exception] = BufferError) -> NoReturn:
    raise _ForeignError(kind(reason))


def receive(
    obj: Any, name: str = "from_dlpack", *, copy: bool | None = None, to_host: bool = False
) -> tuple[Tensor, bool]:
    """Return a tensor over what `obj` exports, and whether that is a copy of its own already.

    `copy`: False, or None where the exporter may decide. `to_host`: have the exporter move what
    lives on another device; else the tensor is on a CUDA device if the memory is.
    """
    try:
        tensor, copied = _borrowed(obj, copy, to_host)
    except CopyError:  # of the exporter, which is ours
        raise
    except _ForeignError as refusal:
        raise named(name, refusal.args[0]) from None
    except MemoryError as error:  # for the copy that was asked for
        msg = cut(str(error).removeprefix("__dlpack__: "), _LETTERS)
        raise named(name, MemoryError(msg)) from error
    except Exception as error:  # exporters raise RuntimeError and others
        kind = next((kind for kind in _EXPECTED if isinstance(error, kind)), BufferError)
        msg = f"{type(obj).__name__} could not be exchanged: {cut(error, _LETTERS)}"
        raise named(name, kind(msg)) from error
    assert tensor is not None  # DLPack strides count whole elements
    if copied and not isinstance(obj, Tensor):
        spec, theirs = tensor.spec, f"a {type(obj).__name__} made the copy"
        note(Event(name, spec, spec, f"have it export its memory: {theirs}"))
    return tensor, copied


def _borrowed(obj: Any, copy: bool | None, to_host: bool) -> tuple[Tensor | None, bool]:
    if not (hasattr(obj, "__dlpack__") and hasattr(obj, "__dlpack_device__")):
        rule = "needs an object with __dlpack__ and __dlpack_device__"
        _refuse(f"{rule}, got {type(obj).__name__}; use asarray()", AttributeError)
    keeper = keeper_of(obj) if isinstance(obj, np.ndarray) else None
    kind, number = map(int, obj.__dlpack_device__())
    moving = to_host and kind not in _ON_HOST
    stream = None
    if not moving:
        device = _device_here(kind, number)
        stream = backend(device).current_stream(device)
    capsule = _asked(obj, copy, moving, stream)
    name = next((name for name in _USED if _is_valid(capsule, name)), None)
    if name is None:
        _refuse(f"{type(obj).__name__}.__dlpack__() gave {shown(capsule)}, no unused capsule")
    managed = _structure_in(capsule)
    copied = bool(managed.flags & IS_COPIED)
    if copied and copy is False:
        _refuse(f"{type(obj).__name__} made a copy, and copy=False")
    memory = _memory_of(managed)
    # From here on the memory is ours to give back; until now it was the capsule's.
    _rename(capsule, _USED[name])
    owner, readonly = _Owner(managed, keeper), bool(managed.flags & READ_ONLY)
    return memory(owner, readonly=readonly), copied


def _asked(obj: Any, copy: bool | None, moving: bool, stream: int | None) -> Any:
    """Return the capsule; exporters from before DLPack 1 know no keywords but ``stream``."""
    known = {} if stream is None else {"stream": stream}
    wanted: dict[str, Any] = {"max_version": NARROW_SINCE}
    if moving:
        wanted["dl_device"] = HOST
    if isinstance(obj, Tensor) and not moving:
        wanted["dl_device"] = None  # says that any strides are taken
    if copy is not None:
        wanted["copy"] = copy
    try:
        return obj.__dlpack__(**known, **wanted)
    except TypeError as error:
        if len(wanted) > 1:
            del wanted["max_version"]
            asked = ", ".join(f"{name}={value}" for name, value in wanted.items())
            _refuse(
                f"{type(obj).__name__} cannot be asked for {asked} ({cut(error, _LETTERS)}); leave"
                " it out, or convert in the other library first"
            )
    return obj.__dlpack__(**known)


def _structure_in(capsule: Any) -> Any:
    """Return the structure of a capsule that nobody has used yet."""
    if not _is_valid(capsule, _VERSIONED_NAME):
        return _Legacy.from_address(pointer_in(capsule, _LEGACY_NAME))
    managed = _Versioned.from_address(pointer_in(capsule, _VERSIONED_NAME))
    if managed.major != 1:
        _refuse(f"the exporter speaks DLPack {managed.major}, this package DLPack 1")
    return managed


def _device_here(kind: int, number: int) -> Device:
    """Return the device of a DLPack type and number; BufferError if it is not here."""
    if kind in _ON_HOST:
        return CPU
    found = Device("cuda", number)
    if kind == _CUDA and found in available():
        return found
    where = _DEVICE_NAMES.get(kind, f"DLPack type {kind}")
    _refuse(
        f"the memory is on a device that is not here ({where}, number {number}); use"
        ' from_dlpack(x, device="cpu"), or move it in the other library first'
    )


_Borrowing = Callable[..., Tensor | None]  # of what keeps the memory, and readonly=


def _memory_of(managed: Any) -> _Borrowing:
    """Check a description, and return what makes a tensor over the memory."""
    described = managed.tensor
    ndim = described.ndim
    device = _device_here(described.device_type, described.device_id)
    kind = (described.code, described.bits)
    dtype = dtypes.as_dtype(_LATE[kind]) if kind in _LATE else _DTYPES.get(kind)
    packed = described.bits < 8 and not managed.flags & IS_PADDED
    bits_of_one = described.bits * described.lanes
    if dtype is None or (described.lanes != 1 and not (packed and bits_of_one == 8)):
        _refuse(
            f"elements of DLPack type {kind[0]} with {kind[1]} bits and {described.lanes} lanes"
            " have no dtype here; convert them in the other library first"
        )
    if not 0 <= ndim <= 64:
        _refuse(f"a rank of at most 64 is supported, got {ndim}")
    shape = _integers(described.shape, ndim)
    if len(shape) < ndim or min(shape, default=0) < 0 or not (described.data or 0 in shape):
        _refuse(f"the exporter gave shape {shape} at address {described.data}")
    strides = packed_steps(shape, 1)
    if described.strides:
        strides = _integers(described.strides, ndim)
    steps = tuple([s * dtype.itemsize for s in strides])
    address = (described.data or 0) + described.byte_offset
    extent(address, dtype.itemsize, shape, steps)
    if packed:
        return _packed(address, dtype, shape, strides, described.lanes, device)
    return partial(backend(device).borrowed, address, dtype, shape, steps, device)


def _packed(
    address: int,
    dtype: DType,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    lanes: int,
    device: Device,
) -> _Borrowing:
    """Return what makes a tensor over memory packed below a byte, the lowest slot first.

    The lanes of elements are elements of the last dimension.
    """
    if lanes != 1:
        if not shape or (strides[-1] != 1 and shape[-1] > 1):
            _refuse(
                f"elements of {lanes} lanes must follow each other along the last dimension, got"
                f" shape {shape} with strides {strides}; make it contiguous first"
            )
        shape = (*shape[:-1], lanes * shape[-1])
        strides = (*[lanes * s for s in strides[:-1]], 1)
    found = spec_of_strides(dtypes.uint8, shape, strides)
    assert found is not None  # a byte is a whole element
    bits = dtypes.bits_of(dtype)
    lowest = sum(step * (n - 1) for n, step in zip(shape, strides, strict=True) if step < 0 < n)
    first, bit = divmod(lowest * bits, 8)
    if bit and 0 not in shape:
        _refuse(
            f"the lowest of elements of {dtype} with strides {strides} begins inside a byte; copy"
            " it in the other library first"
        )
    spec = TensorSpec(dtype, found.layout.with_slot_bits(bits), device)
    return partial(backend(device).borrowed_slots, address + first, spec)


def _integers(address: int | None, count: int) -> tuple[int, ...]:
    return tuple((ctypes.c_int64 * count).from_address(address)) if address and count else ()


class _Owner:
    """Memory of another library; calls its deleter when the last tensor over it is gone."""

    __slots__ = ("_address", "_delete", "_keeper")

    _delete: Callable[[int], None] | None

    def __init__(self, managed: Any, keeper: object) -> None:
        self._keeper = keeper
        self._address = ctypes.addressof(managed)
        self._delete = _Deleter(managed.deleter) if managed.deleter else None

    def __del__(self) -> None:
        # Python keeps an exception that is on its way while it calls this, not a C callback.
        # An interrupt may have come before __init__ was through.
        delete = getattr(self, "_delete", None)
        if delete is not None:
            delete(self._address)
