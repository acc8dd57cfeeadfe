"""Arrays over memory owned by other objects, pinned so that it is not resized or freed."""

from __future__ import annotations

import weakref
from operator import itemgetter
from typing import Any

import numpy as np

from tensorlayout.cpu.engine.memory import Array, tensor_over_array, tensor_over_bytes
from tensorlayout.devices import Device
from tensorlayout.dtypes import DType, is_numpy_dtype, uint8
from tensorlayout.plan import byte_address_range
from tensorlayout.tensor import Tensor, TensorSpec


class _PinnedMemory(tuple[Any, ...]):
    """Memory of an array with its keeper; NumPy does not resize an array with a weak reference."""

    __slots__ = ()
    __array_struct__ = property(itemgetter(0))


def borrow_array(array: Array) -> Array:
    """Return a new array over the memory of a NumPy array.

    Assigning a shape or dtype to the original does not affect it, and NumPy refuses to resize the
    original or a buffer below it. Raises ValueError if that buffer is closed or released.
    """
    array = as_base_ndarray(array)
    keeper = weakref.ref(array) if array.flags.owndata else memory_keeper(array)
    if keeper is None:
        return array.view()
    # NumPy rejects the type string "f1", which it produces itself for float8_e5m2.
    memory = array.view(np.uint8) if array.dtype.str[1:] == "f1" else array
    own_array: Array = np.asarray(_PinnedMemory((memory.__array_struct__, keeper)))
    return own_array if own_array.dtype == array.dtype else own_array.view(array.dtype)


def memory_keeper(array: Array) -> object:
    """Return an object that keeps the memory of an array in place; None if the array does.

    NumPy keeps a reference to the object passed as `buffer=`, but no memoryview: without one, a
    bytearray could be resized and a mapped file closed. Raises ValueError if the memory is gone.
    """
    while (base := _base_of(array)) is not None:
        if not isinstance(base, np.ndarray):
            view = None if type(base) in _LASTING else pin_buffer(base)
            if type(base) is not memoryview:
                return view
            base = base.obj
            if not isinstance(base, np.ndarray):
                return None  # the memoryview already pins the memory
        array = base
    return weakref.ref(array) if _flags_of(array).owndata else None


def pin_buffer(obj: Any) -> memoryview | None:
    """Return a memoryview that pins a buffer; None for other objects.

    Raises ValueError if the memory is gone.
    """
    try:
        return memoryview(obj)
    except TypeError:
        return None
    except Exception as error:  # released, closed, or locked
        raise ValueError(f"has no memory now: {error}") from error


# Read through np.ndarray: a subclass may override these attributes.
_base_of = np.ndarray.base.__get__
_flags_of = np.ndarray.flags.__get__


def as_base_ndarray(array: Array) -> Array:
    """Return `array` as a plain ndarray, without overrides of a subclass."""
    return array if type(array) is np.ndarray else np.ndarray.view(array, np.ndarray)


class _ExternalInterface:
    """Array interface of another library's memory; arrays over it keep it, and the owner, alive."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(self, interface: dict[str, Any], owner: object) -> None:
        self.__array_interface__ = interface
        self.owner = owner


# Base objects that are immutable or pin the memory below them. NumPy wraps `_PinnedMemory` in a
# tuple.
_LASTING = (bytes, tuple, _PinnedMemory, _ExternalInterface)


def array_over_address(
    address: int,
    dtype: DType,
    shape: tuple[int, ...],
    byte_strides: tuple[int, ...],
    owner: object,
    *,
    readonly: bool,
) -> Array:
    """Return an array over memory of `owner`; `address` is that of index (0, …, 0).

    Raises BufferError for an invalid address range.
    """
    byte_address_range(address, dtype.itemsize, shape, byte_strides)
    if 0 in shape:
        array = np.empty(shape, dtype)
        array.flags.writeable = not readonly
        return array
    steps = zip(shape, byte_strides, strict=True)
    interface = {
        "version": 3,
        "typestr": dtype.str if is_numpy_dtype(dtype) else f"<u{dtype.itemsize}",
        "shape": shape,
        "strides": tuple(s if n > 1 else dtype.itemsize for n, s in steps),
        "data": (address, readonly),
    }
    return np.asarray(_ExternalInterface(interface, owner)).view(dtype)


def wrap_external(
    address: int,
    dtype: DType,
    shape: tuple[int, ...],
    byte_strides: tuple[int, ...],
    _device: Device,
    owner: object,
    *,
    readonly: bool,
) -> Tensor | None:
    """Return a tensor over memory of `owner`; None if strides are not whole elements."""
    return tensor_over_array(
        array_over_address(address, dtype, shape, byte_strides, owner, readonly=readonly)
    )


def wrap_external_slots(address: int, spec: TensorSpec, owner: object, *, readonly: bool) -> Tensor:
    """Return a tensor over packed memory whose lowest slot begins at the byte `address`."""
    count = spec.layout.nbytes(spec.dtype)
    return tensor_over_bytes(
        array_over_address(address, uint8, (count,), (1,), owner, readonly=readonly), spec
    )
