"""NumPy's arrays as tensors, and memory that is described by its array interface.

Source: "The array interface protocol" in NumPy's reference: a dictionary or a C structure.
"""

from __future__ import annotations

import contextlib
import ctypes
import re
import sys
from operator import index
from typing import Any, NamedTuple

import numpy as np

# Also what the CPU offers to those who read and write NumPy's arrays.
from tensorlayout.cpu.engine.borrowed import array_at, plain
from tensorlayout.cpu.engine.borrowed import held as held
from tensorlayout.cpu.engine.borrowed import view_of as view_of
from tensorlayout.cpu.engine.casting import as_odd_float as as_odd_float
from tensorlayout.cpu.engine.casting import converted as converted
from tensorlayout.cpu.engine.memory import Array as Array
from tensorlayout.cpu.engine.memory import array_over as array_over
from tensorlayout.cpu.engine.memory import fill_padding as fill_padding
from tensorlayout.cpu.engine.memory import packed_elements as packed_elements
from tensorlayout.cpu.engine.memory import quietly as quietly
from tensorlayout.cpu.engine.memory import shortage as shortage
from tensorlayout.cpu.engine.memory import tensor_over as tensor_over
from tensorlayout.dtypes import DType
from tensorlayout.errors import shown
from tensorlayout.plan import extent, packed_steps


class Described(NamedTuple):
    """Memory as an interface describes it; `steps` in **bytes**.

    `address`: of the element at index (0, …, 0); None where the memory is that of a buffer.
    """

    address: int | None
    readonly: bool
    dtype: DType
    shape: tuple[int, ...]
    steps: tuple[int, ...]


class _Interface(ctypes.Structure):
    """``PyArrayInterface`` of numpy/ndarraytypes.h."""

    _fields_ = (
        ("two", ctypes.c_int),
        ("nd", ctypes.c_int),
        ("typekind", ctypes.c_char),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_int),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("data", ctypes.c_void_p),
    )


_NOT_SWAPPED, _WRITEABLE = 0x200, 0x400

_VERSION, _MAX_RANK = 3, 64


def described(interface: Any) -> Described:
    """Return what the dictionary of an array interface says, each key of it checked.

    TypeError for keys that are missing or hold something else, for masks, and for element types
    that no NumPy array of numbers has; ValueError for values that cannot be.
    """
    if not isinstance(interface, dict):
        raise TypeError(f"it must be a dictionary, got {shown(interface)}")
    version = interface.get("version", _VERSION)
    if not 0 <= _integer("'version'", version) <= _VERSION:
        raise ValueError(f"'version' must be at most {_VERSION}, got {shown(version)}")
    if interface.get("mask") is not None:
        raise TypeError("a masked element has no value; fill the array first")
    dtype = _dtype_in(interface)
    shape = _integers("shape", interface.get("shape"))
    if min(shape, default=0) < 0:
        raise ValueError(f"'shape' must be of sizes that are not negative, got {shown(shape)}")
    given = interface.get("strides")
    steps = packed_steps(shape, dtype.itemsize) if given is None else _integers("strides", given)
    if len(steps) != len(shape):
        raise ValueError(f"'strides' must be one for each of {len(shape)} sizes, got {len(steps)}")
    return Described(*_place(interface.get("data")), dtype, shape, steps)


def _dtype_in(interface: dict[Any, Any]) -> DType:
    text, fields = interface.get("typestr"), interface.get("descr")
    # Byte order, kind, bytes.
    if not isinstance(text, str) or not re.fullmatch(r"[<>|=]([biufc])([0-9]{1,2})", text):
        raise TypeError(f"'typestr' must be the type of a number, such as '<f4', got {shown(text)}")
    one = isinstance(fields, list) and len(fields) == 1 and isinstance(fields[0], tuple)
    if fields is not None and not (one and len(fields[0]) == 2 and fields[0][1] == text):
        raise TypeError(f"'descr' must be one field of the type {text!r}, got {shown(fields)}")
    try:
        return np.dtype(text)
    except TypeError:
        raise TypeError(f"there are no elements of the type {text!r}") from None


def _integers(key: str, given: Any) -> tuple[int, ...]:
    if not isinstance(given, (tuple, list)):
        raise TypeError(f"{key!r} must be a tuple of integers, got {shown(given)}")
    if len(given) > _MAX_RANK:
        raise ValueError(f"{key!r} must be at most {_MAX_RANK} integers, got {len(given)}")
    return tuple(_integer(f"each of {key!r}", item) for item in given)


def _integer(what: str, given: Any) -> int:
    if not isinstance(given, (bool, np.bool_)):
        with contextlib.suppress(Exception):  # whatever __index__ raises
            return index(given)
    raise TypeError(f"{what} must be an integer, got {shown(given)}")


def _place(data: Any) -> tuple[int | None, bool]:
    """Return address and read-only flag; None for a buffer, or for nothing."""
    if not isinstance(data, tuple):
        return None, False
    if len(data) != 2 or not isinstance(data[1], (int, np.bool_)):
        raise TypeError(f"'data' must be an address and a read-only flag, got {shown(data)}")
    return _integer("the address in 'data'", data[0]), bool(data[1])


def array_of_interface(obj: Any, interface: Any) -> Array:
    """Return an array over the memory that `__array_interface__` describes."""
    found = described(interface)
    if found.address is not None:
        owner = (obj, interface)
        return array_at(found.address, *found[2:], owner, readonly=found.readonly)
    data = interface.get("data")
    octets = buffer_of(obj if data is None else data)
    offset = _integer("'offset'", interface.get("offset", 0))
    first = octets.__array_interface__["data"][0]
    low, high = extent(first + offset, found.dtype.itemsize, found.shape, found.steps)
    if low < first or high > first + octets.nbytes:
        msg = f"elements reach beyond the buffer of {octets.nbytes} bytes that holds them"
        raise BufferError(msg)
    return array_at(first + offset, *found[2:], octets, readonly=not octets.flags.writeable)


def array_of_struct(obj: Any, capsule: Any) -> Array:
    """Return an array over the memory that `__array_struct__` describes."""
    try:
        address = pointer_in(capsule, None)
    except Exception:
        address = None
    found = _Interface.from_address(address) if address else None
    if found is None or found.two != 2 or not 0 <= found.nd <= _MAX_RANK:
        raise TypeError(f"it must be a capsule of a PyArrayInterface, got {shown(capsule)}")
    count, native = found.nd, found.flags & _NOT_SWAPPED or found.itemsize == 1
    swapped = ">" if sys.byteorder == "little" else "<"
    if count and not (found.shape and found.strides):
        raise ValueError("it has neither shape nor strides")
    kind = found.typekind.decode("latin-1")
    interface = {
        "typestr": f"{'=' if native else swapped}{kind}{found.itemsize}",
        "shape": tuple(found.shape[:count]),
        "strides": tuple(found.strides[:count]),
        "data": (found.data or 0, not found.flags & _WRITEABLE),
    }
    return array_of_interface((obj, capsule), interface)


# A signature of our own: to set it on `ctypes.pythonapi` would change it for everybody.
pointer_in = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def buffer_of(obj: Any) -> Array:
    """Return memory of the buffer protocol as an array of bytes, which pins it.

    TypeError for objects without memory, or with Python objects there, which no bytes may be
    written over; ValueError for memory that is no longer there, or is not one run.
    """
    if isinstance(obj, np.ndarray):  # the buffer protocol has no bfloat16
        array = plain(obj)
        if array.dtype.hasobject or array.dtype.kind == "T":
            raise TypeError(_OBJECTS)
        if not array.flags.c_contiguous:
            raise ValueError(_ONE_RUN)
        return held(array.reshape(-1).view(np.uint8))
    view = view_of(obj)
    if view is None:
        raise TypeError("must have the buffer protocol")
    if "O" in re.sub(r":[^:]*:", "", view.format):  # without names of fields
        raise TypeError(_OBJECTS)
    if not view.c_contiguous:
        raise ValueError(_ONE_RUN)
    return held(np.frombuffer(view, np.uint8)) if view.nbytes else np.empty(0, np.uint8)


_OBJECTS = "must hold numbers, not Python objects"
_ONE_RUN = "must be one run of bytes (C-contiguous)"
