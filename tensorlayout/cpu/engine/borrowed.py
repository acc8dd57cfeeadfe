"""Arrays over memory that others own: held, so that nobody can change or free it."""

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
    """The memory of an array, and a weak reference to it: NumPy does not resize it meanwhile."""

    __slots__ = ()
    __array_struct__ = property(itemgetter(0))


def pin_array(array: Array) -> Array:
    """Return the memory of an array of NumPy's in an array of our own.

    No shape or dtype that the other is given changes it; NumPy refuses to resize the other, or a
    buffer below it, meanwhile. ValueError for a buffer that is closed or released.
    """
    array = as_base_ndarray(array)
    keeper = weakref.ref(array) if array.flags.owndata else memory_keeper(array)
    if keeper is None:
        return array.view()
    # NumPy does not take the "f1" that it gives for float8_e5m2.
    memory = array.view(np.uint8) if array.dtype.str[1:] == "f1" else array
    own_array: Array = np.asarray(_PinnedMemory((memory.__array_struct__, keeper)))
    return own_array if own_array.dtype == array.dtype else own_array.view(array.dtype)


def memory_keeper(array: Array) -> object:
    """Return the object that keeps an array's memory in place; None if the array does so itself.

    NumPy keeps only the object that it is given as `buffer=`, and no view: a bytearray can be
    resized then, and a mapped file closed. ValueError for memory that is no longer there.
    """
    while (base := _base_of(array)) is not None:
        if not isinstance(base, np.ndarray):
            view = None if type(base) in _LASTING else pin_buffer(base)
            if type(base) is not memoryview:
                return view
            base = base.obj
            if not isinstance(base, np.ndarray):
                return None  # the view below is enough
        array = base
    return weakref.ref(array) if _flags_of(array).owndata else None


def pin_buffer(obj: Any) -> memoryview | None:
    """A view that pins the memory of a buffer; None for other objects. ValueError if it is gone."""
    try:
        return memoryview(obj)
    except TypeError:
        return None
    except Exception as error:  # released, closed, or locked
        raise ValueError(f"has no memory now: {error}") from error


# What a subclass calls so may be anything.
_base_of = np.ndarray.base.__get__
_flags_of = np.ndarray.flags.__get__


def as_base_ndarray(array: Array) -> Array:
    """Return `array` without what a subclass makes of its attributes and methods."""
    return array if type(array) is np.ndarray else np.ndarray.view(array, np.ndarray)


class _ExternalInterface:
    """Array interface of another library's memory, kept alive by the arrays over it."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(self, interface: dict[str, Any], owner: object) -> None:
        self.__array_interface__ = interface
        self.owner = owner


# What an array may be over that never changes, or keeps all that is below it. NumPy puts `_Held`
# into a tuple.
_LASTING = (bytes, tuple, _PinnedMemory, _ExternalInterface)


def array_over_address(
    address: int,
    dtype: DType,
    shape: tuple[int, ...],
    byte_steps: tuple[int, ...],
    owner: object,
    *,
    readonly: bool,
) -> Array:
    """An array over memory that `owner` keeps, from index (0, …, 0) on. BufferError for none."""
    byte_address_range(address, dtype.itemsize, shape, byte_steps)
    if 0 in shape:
        array = np.empty(shape, dtype)
        array.flags.writeable = not readonly
        return array
    steps = zip(shape, byte_steps, strict=True)
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
    byte_steps: tuple[int, ...],
    _device: Device,
    owner: object,
    *,
    readonly: bool,
) -> Tensor | None:
    """A tensor over memory as `array_at` takes it; None where strides are no whole elements."""
    return tensor_over_array(
        array_over_address(address, dtype, shape, byte_steps, owner, readonly=readonly)
    )


def wrap_external_slots(address: int, spec: TensorSpec, owner: object, *, readonly: bool) -> Tensor:
    """A tensor over memory packed below a byte, whose lowest slot begins the byte at `address`."""
    count = spec.layout.nbytes(spec.dtype)
    return tensor_over_bytes(
        array_over_address(address, uint8, (count,), (1,), owner, readonly=readonly), spec
    )
