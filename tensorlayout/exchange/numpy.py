"""NumPy's arrays as tensors, and memory described by NumPy's array interface.

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

# Re-exported for modules above that read and write NumPy's arrays.
from tensorlayout.cpu.engine.borrowed import array_over_address, as_base_ndarray
from tensorlayout.cpu.engine.borrowed import borrow_array as borrow_array
from tensorlayout.cpu.engine.borrowed import pin_buffer as pin_buffer
from tensorlayout.cpu.engine.casting import convert_array as convert_array
from tensorlayout.cpu.engine.casting import int_to_odd_float as int_to_odd_float
from tensorlayout.cpu.engine.memory import Array as Array
from tensorlayout.cpu.engine.memory import array_of_layout as array_of_layout
from tensorlayout.cpu.engine.memory import call_quietly as call_quietly
from tensorlayout.cpu.engine.memory import describe_memory_error as describe_memory_error
from tensorlayout.cpu.engine.memory import fill_padding as fill_padding
from tensorlayout.cpu.engine.memory import read_packed_elements as read_packed_elements
from tensorlayout.cpu.engine.memory import tensor_over_array as tensor_over_array
from tensorlayout.dtypes import DType
from tensorlayout.errors import short_repr
from tensorlayout.plan import byte_address_range, row_major_byte_strides


class DescribedMemory(NamedTuple):
    """Memory as an interface describes it; `steps` are in **bytes**.

    `address` is that of the element at index (0, …, 0); None for the memory of a buffer.
    """

    address: int | None
    readonly: bool
    dtype: DType
    shape: tuple[int, ...]
    steps: tuple[int, ...]


class _ArrayInterface(ctypes.Structure):
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


def parse_interface(interface: Any) -> DescribedMemory:
    """Return the contents of an array interface's dictionary after checking each key.

    TypeError for missing or wrong keys, for masks, and for element types that are not numeric NumPy
    dtypes; ValueError for impossible values.
    """
    if not isinstance(interface, dict):
        raise TypeError(f"it must be a dictionary, got {short_repr(interface)}")
    version = interface.get("version", _VERSION)
    if not 0 <= _parse_integer("'version'", version) <= _VERSION:
        raise ValueError(f"'version' must be at most {_VERSION}, got {short_repr(version)}")
    if interface.get("mask") is not None:
        raise TypeError("a masked element has no value; fill the array first")
    dtype = _parse_dtype(interface)
    shape = _parse_integers("shape", interface.get("shape"))
    if min(shape, default=0) < 0:
        raise ValueError(f"'shape' must be of sizes that are not negative, got {short_repr(shape)}")
    strides = interface.get("strides")
    byte_strides = (
        row_major_byte_strides(shape, dtype.itemsize)
        if strides is None
        else _parse_integers("strides", strides)
    )
    if len(byte_strides) != len(shape):
        raise ValueError(
            f"'strides' must be one for each of {len(shape)} sizes, got {len(byte_strides)}"
        )
    return DescribedMemory(*_parse_data(interface.get("data")), dtype, shape, byte_strides)


def _parse_dtype(interface: dict[Any, Any]) -> DType:
    text, fields = interface.get("typestr"), interface.get("descr")
    # Byte order, kind, bytes.
    if not isinstance(text, str) or not re.fullmatch(r"[<>|=]([biufc])([0-9]{1,2})", text):
        raise TypeError(
            f"'typestr' must be the type of a number, such as '<f4', got {short_repr(text)}"
        )
    has_one_field = isinstance(fields, list) and len(fields) == 1 and isinstance(fields[0], tuple)
    if fields is not None and not (has_one_field and len(fields[0]) == 2 and fields[0][1] == text):
        raise TypeError(f"'descr' must be one field of the type {text!r}, got {short_repr(fields)}")
    try:
        return np.dtype(text)
    except TypeError:
        raise TypeError(f"there are no elements of the type {text!r}") from None


def _parse_integers(key: str, values: Any) -> tuple[int, ...]:
    if not isinstance(values, (tuple, list)):
        raise TypeError(f"{key!r} must be a tuple of integers, got {short_repr(values)}")
    if len(values) > _MAX_RANK:
        raise ValueError(f"{key!r} must be at most {_MAX_RANK} integers, got {len(values)}")
    return tuple(_parse_integer(f"each of {key!r}", item) for item in values)


def _parse_integer(description: str, value: Any) -> int:
    if not isinstance(value, (bool, np.bool_)):
        with contextlib.suppress(Exception):  # __index__ may raise anything
            return index(value)
    raise TypeError(f"{description} must be an integer, got {short_repr(value)}")


def _parse_data(data: Any) -> tuple[int | None, bool]:
    """Return address and read-only flag; None if the data is a buffer or missing."""
    if not isinstance(data, tuple):
        return None, False
    if len(data) != 2 or not isinstance(data[1], (int, np.bool_)):
        raise TypeError(f"'data' must be an address and a read-only flag, got {short_repr(data)}")
    return _parse_integer("the address in 'data'", data[0]), bool(data[1])


def array_from_interface(obj: Any, interface: Any) -> Array:
    """Return an array over the memory that `__array_interface__` describes."""
    description = parse_interface(interface)
    # `description[2:]` are dtype, shape and steps.
    if description.address is not None:
        owner = (obj, interface)
        return array_over_address(
            description.address, *description[2:], owner, readonly=description.readonly
        )
    data = interface.get("data")
    memory_bytes = buffer_as_bytes(obj if data is None else data)
    offset = _parse_integer("'offset'", interface.get("offset", 0))
    buffer_start = memory_bytes.__array_interface__["data"][0]
    # With negative strides, elements lie before the offset, so both ends are checked.
    first_address, end_address = byte_address_range(
        buffer_start + offset, description.dtype.itemsize, description.shape, description.steps
    )
    if first_address < buffer_start or end_address > buffer_start + memory_bytes.nbytes:
        msg = f"elements reach beyond the buffer of {memory_bytes.nbytes} bytes that holds them"
        raise BufferError(msg)
    return array_over_address(
        buffer_start + offset,
        *description[2:],
        memory_bytes,
        readonly=not memory_bytes.flags.writeable,
    )


def array_from_struct(obj: Any, capsule: Any) -> Array:
    """Return an array over the memory that `__array_struct__` describes."""
    try:
        # The protocol's capsules have no name.
        address = capsule_pointer(capsule, None)
    except Exception:
        address = None
    description = _ArrayInterface.from_address(address) if address else None
    # The member `two` is 2 in every valid structure. It is checked, like the rank, before any
    # pointer in the structure is followed.
    if description is None or description.two != 2 or not 0 <= description.nd <= _MAX_RANK:
        raise TypeError(f"it must be a capsule of a PyArrayInterface, got {short_repr(capsule)}")
    # A single byte has no order, whatever the flag says.
    count, is_native = description.nd, description.flags & _NOT_SWAPPED or description.itemsize == 1
    swapped_order = ">" if sys.byteorder == "little" else "<"
    if count and not (description.shape and description.strides):
        raise ValueError("it has neither shape nor strides")
    kind = description.typekind.decode("latin-1")
    interface = {
        "typestr": f"{'=' if is_native else swapped_order}{kind}{description.itemsize}",
        "shape": tuple(description.shape[:count]),
        "strides": tuple(description.strides[:count]),
        "data": (description.data or 0, not description.flags & _WRITEABLE),
    }
    return array_from_interface((obj, capsule), interface)


# Own function object: setting a signature on `ctypes.pythonapi` would affect other libraries.
capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def buffer_as_bytes(obj: Any) -> Array:
    """Return buffer-protocol memory as a byte array that pins it.

    TypeError for objects without the protocol or with Python objects as elements, which must not be
    overwritten by bytes; ValueError for memory that is released or not contiguous.
    """
    if isinstance(obj, np.ndarray):  # the buffer protocol does not support bfloat16
        array = as_base_ndarray(obj)
        if array.dtype.hasobject or array.dtype.kind == "T":
            raise TypeError(_OBJECTS)
        if not array.flags.c_contiguous:
            raise ValueError(_ONE_RUN)
        return borrow_array(array.reshape(-1).view(np.uint8))
    view = pin_buffer(obj)
    if view is None:
        raise TypeError("must have the buffer protocol")
    # O is the code of Python objects, but names of fields, as in "T{d:Origin:}", may contain it.
    if "O" in re.sub(r":[^:]*:", "", view.format):
        raise TypeError(_OBJECTS)
    if not view.c_contiguous:
        raise ValueError(_ONE_RUN)
    return borrow_array(np.frombuffer(view, np.uint8)) if view.nbytes else np.empty(0, np.uint8)


def dtype_of_buffer(obj: Any) -> DType | None:
    """Return the dtype that an object with the buffer protocol declares; None for plain bytes.

    Plain bytes are those of `bytes`, of uint8, and of elements that are no numbers, such as
    structures.
    """
    if isinstance(obj, np.ndarray):
        dtype = as_base_ndarray(obj).dtype
        # The kind of ml_dtypes' numbers is V, too.
        is_bytes = issubclass(dtype.type, (np.uint8, np.void, np.bytes_))
        return None if is_bytes else dtype
    view = memoryview(obj)
    form = re.fullmatch(r"([@=<>!]?)(Z?[bhilqnHILQNPefdg?])", view.format)
    if form is None:
        return None
    order = ">" if form[1] in (">", "!") else "="
    # The size comes from the view: ctypes exports a `c_long` of 8 bytes as "<l", which NumPy reads
    # as 8 bytes and `struct` as 4.
    kind = _BUFFER_KINDS.get(form[2][0], "u")
    return np.dtype(f"{order}{kind}{view.itemsize}")


# Kinds of the letters of `struct`; all other letters are unsigned integers.
_BUFFER_KINDS = {
    **dict.fromkeys("bhilqn", "i"),
    **dict.fromkeys("efdg", "f"),
    "Z": "c",
    "?": "b",
}

_OBJECTS = "must hold numbers, not Python objects"
_ONE_RUN = "must be one run of bytes (C-contiguous)"
