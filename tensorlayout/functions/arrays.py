"""Arrays and buffers of other libraries as tensors: the ways into `asarray`, in their order."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tensorlayout.devices import CPU, Device
from tensorlayout.dtypes import as_dtype, in_native_order, uint8
from tensorlayout.errors import CopyError, cut
from tensorlayout.exchange import cuda_array, dlpack
from tensorlayout.exchange.numpy import (
    Array,
    array_of_interface,
    array_of_struct,
    held,
    tensor_over,
    view_of,
)
from tensorlayout.functions import arguments, dispatch
from tensorlayout.plan import Create, spec_of_strides
from tensorlayout.tensor import Tensor

_OWN = Create("asarray", "array")

# What an array may fail with when it is asked for its memory.
_EXPECTED = (AttributeError, TypeError, NotImplementedError, BufferError, ValueError)


# A tensor over the memory of an array, and whether it is a copy that nobody else has.
Arrived = tuple[Tensor, bool]


def arrived(obj: Any, device: Device | None, copy: bool | None) -> Arrived | None:
    """`obj` as a tensor over its memory, or over a copy where no tensor can have it; None if none.

    `device`: where it is to be.
    """
    if isinstance(obj, np.ndarray):
        return over(obj, copy, obj)
    if isinstance(obj, Tensor):
        return obj, False
    if isinstance(obj, (bool, int, float, complex, list, tuple, np.generic)):
        return None
    if _attribute(obj, "__dlpack__") is not None:
        asked = False if copy is False else None  # a copy of theirs may have another form
        return dlpack.receive(obj, "asarray", copy=asked, to_host=device == CPU)
    if _attribute(obj, "__cuda_array_interface__") is not None:
        return cuda_array.receive(obj), False
    array = _array_of(obj)
    return None if array is None else over(array, copy, obj)


def _array_of(obj: Any) -> Array | None:
    """Return an object as NumPy's array protocols give it; None if it has none of them."""
    for name, read in _PROTOCOLS.items():
        given = _attribute(obj, name, _ABSENT)
        if given is not _ABSENT:
            return _asked(obj, name, partial(read, obj, given))
    try:
        view = view_of(obj)
    except ValueError as error:
        raise _gone(obj, error) from error
    return None if view is None else _asked(obj, "the buffer protocol", partial(_seen, view))


def _seen(view: memoryview) -> Array:
    try:
        return np.asarray(view)
    except ValueError:
        raise TypeError(f"no numbers have the format {arguments.shown(view.format)}") from None


def _gone(obj: Any, error: ValueError) -> ValueError:
    return ValueError(f"a {type(obj).__name__} {error}")


def _made(_obj: Any, method: Callable[[], Any] | None) -> Array:
    found = None if method is None else method()
    if not isinstance(found, np.ndarray):
        raise TypeError(f"it gave a {type(found).__name__}, no array of NumPy")
    return found


_PROTOCOLS: dict[str, Callable[[Any, Any], Array]] = {
    "__array_interface__": array_of_interface,
    "__array_struct__": array_of_struct,
    "__array__": _made,
}


_ABSENT = object()


def _attribute(obj: Any, name: str, absent: Any = None) -> Any:
    """An attribute of a protocol; `absent` for none, and for classes, which are no arrays."""
    if isinstance(obj, type):
        return absent
    try:
        return getattr(obj, name, absent)
    except Exception as error:
        raise _failed(obj, name, error) from error


def _asked(obj: Any, name: str, ask: Callable[[], Array]) -> Array:
    try:
        return ask()
    except (MemoryError, CopyError):
        raise
    except Exception as error:  # also what the other library's code raises
        raise _failed(obj, name, error) from error


def _failed(obj: Any, name: str, error: Exception) -> Exception:
    kind = next((kind for kind in _EXPECTED if isinstance(error, kind)), BufferError)
    said = cut(error, 1000)  # another library's words, as long as it likes
    return kind(f"{type(obj).__name__} gives no array by {name}: {said}")


def over(array: Array, copy: bool | None, came: Any) -> Arrived:
    """A tensor over an array, or over its numbers in a copy; TypeError for what are no numbers."""
    if type(array) is not np.ndarray:
        # Another thread may just be importing it.
        is_masked = getattr(sys.modules.get("numpy.ma"), "is_masked", None)
        if is_masked is not None and is_masked(array):
            raise TypeError("a masked element has no value; fill the array with filled() first")
        array = np.ndarray.view(array, np.ndarray)
    dtype = native = array.dtype
    try:
        x = tensor_over(held(array))
    except TypeError:
        x, native = None, in_native_order(dtype)
    except ValueError as error:
        raise _gone(came, error) from error
    if native is None:
        as_dtype(dtype, "dtype")  # says what is wrong with it
    if x is not None:
        return x, False
    if copy is False:
        raise ValueError(f"the memory of a {type(came).__name__} cannot be shared, and copy=False")
    order = spec_of_strides(uint8, array.shape, array.strides)
    assert order is not None  # a byte is a whole element
    return dispatch.call(_OWN, (array.shape, native, order.layout.form, CPU), (array,)), True
