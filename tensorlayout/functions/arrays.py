"""Conversion of arrays, buffers and nested sequences to tensors, in the order of `asarray`."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any, NoReturn

import numpy as np

from tensorlayout import dtypes
from tensorlayout.devices import CPU, Device
from tensorlayout.dtypes import DType, as_dtype
from tensorlayout.errors import CopyError, truncate, unavoidable_copy_error
from tensorlayout.exchange import cuda_array, dlpack
from tensorlayout.exchange import numpy as exchanged
from tensorlayout.exchange.numpy import Array, borrow_array, call_quietly, tensor_over_array
from tensorlayout.functions import arguments, dispatch
from tensorlayout.functions.manipulation import broadcast_to
from tensorlayout.functions.transfers import copy_tensor, move_to_device
from tensorlayout.layout import MAX_RANK, Layout
from tensorlayout.plan import Copy, Create, Event, Join, notify_listeners, spec_of_strides, watched
from tensorlayout.tensor import Tensor

_OWN, _JOIN = Create("asarray", "array"), Join("asarray")
_numbers = functools.cache(functools.partial(Copy, from_python_numbers=True))

# Errors that an array may raise when its memory is exported.
_EXPECTED = (AttributeError, TypeError, NotImplementedError, BufferError, ValueError)


# A tensor over the memory of an array, and whether that memory is a private copy.
ImportedTensor = tuple[Tensor, bool]


def import_array(obj: Any, device: Device | None, copy: bool | None) -> ImportedTensor | None:
    """Import `obj` as a tensor over its memory, or over a copy; None if it is not an array.

    `device`: device of the result.
    """
    # Before `__dlpack__`, which NumPy's arrays have as well: DLPack cannot express the other byte
    # order.
    if isinstance(obj, np.ndarray):
        return tensor_over_ndarray(obj, copy, obj)
    if isinstance(obj, Tensor):
        return obj, False
    # NumPy scalars have array protocols, too, but count as numbers.
    if isinstance(obj, (bool, int, float, complex, list, tuple, np.generic)):
        return None
    # Before the other protocols: DLPack also describes devices, bfloat16 and packed elements, which
    # NumPy's protocols do not.
    if _protocol_attribute(obj, "__dlpack__") is not None:
        # The exporter's copy may have another layout, so only False is passed on.
        copy_request = False if copy is False else None
        return dlpack.import_tensor(obj, "asarray", copy=copy_request, to_host=device == CPU)
    if _protocol_attribute(obj, "__cuda_array_interface__") is not None:
        return cuda_array.import_cuda_interface(obj), False
    array = _array_by_protocol(obj)
    return None if array is None else tensor_over_ndarray(array, copy, obj)


def _array_by_protocol(obj: Any) -> Array | None:
    """Convert an object by NumPy's array protocols; None if it has none of them."""
    # A class may declare `__array__ = None`. That is an error here, unlike a missing method: the
    # object says that it is not an array.
    for name, read in _PROTOCOLS.items():
        attribute = _protocol_attribute(obj, name, _ABSENT)
        if attribute is not _ABSENT:
            return _call_foreign(obj, name, read, obj, attribute)
    try:
        view = exchanged.pin_buffer(obj)
    except ValueError as error:
        raise _closed_memory_error(obj, error) from error
    return (
        None if view is None else _call_foreign(obj, "the buffer protocol", _array_of_buffer, view)
    )


def _array_of_buffer(view: memoryview) -> Array:
    try:
        return np.asarray(view)
    except ValueError:
        raise TypeError(
            f"no numbers have the format {arguments.format_argument(view.format)}"
        ) from None


def _closed_memory_error(obj: Any, error: ValueError) -> ValueError:
    return ValueError(f"a {type(obj).__name__} {error}")


def _call_array_method(_obj: Any, method: Callable[[], Any] | None) -> Array:
    result = None if method is None else method()
    if not isinstance(result, np.ndarray):
        raise TypeError(f"it gave a {type(result).__name__}, no array of NumPy")
    return result


_PROTOCOLS: dict[str, Callable[[Any, Any], Array]] = {
    "__array_interface__": exchanged.array_from_interface,
    "__array_struct__": exchanged.array_from_struct,
    "__array__": _call_array_method,
}


_ABSENT = object()


def _protocol_attribute(obj: Any, name: str, absent: Any = None) -> Any:
    """Return an attribute of a protocol; `absent` if missing, and for classes."""
    # A class has the methods of its instances, but they cannot be called without an instance.
    return absent if isinstance(obj, type) else _call_foreign(obj, name, getattr, obj, name, absent)


def _call_foreign(obj: Any, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call another library's code; errors name the type of its object."""
    try:
        return function(*arguments)
    except (MemoryError, CopyError):
        raise
    except Exception as error:
        # Callers expect one of these kinds. An exporter may raise anything, even an exception with
        # a constructor of its own; the subclass is replaced by its base, other errors by
        # BufferError.
        kind = next((kind for kind in _EXPECTED if isinstance(error, kind)), BufferError)
        message = truncate(error, 1000)  # another library's message may have any length
        raise kind(f"{type(obj).__name__} gives no array by {name}: {message}") from error


def tensor_over_ndarray(array: Array, copy: bool | None, source: Any) -> ImportedTensor:
    """Return a tensor over an array, or over a copy; TypeError if its elements are not numbers."""
    if type(array) is not np.ndarray:
        # Another thread may be importing it right now.
        is_masked = getattr(sys.modules.get("numpy.ma"), "is_masked", None)
        if is_masked is not None and is_masked(array):
            raise TypeError("a masked element has no value; fill the array with filled() first")
        # NumPy's own method, as a subclass may override view().
        array = np.ndarray.view(array, np.ndarray)
    dtype = native = array.dtype
    try:
        x = tensor_over_array(borrow_array(array))
    except TypeError:
        # The dtype is not one of ours: perhaps it is in the other byte order, and then a copy
        # helps.
        x, native = None, dtypes.native_order_dtype(dtype)
    except ValueError as error:
        raise _closed_memory_error(source, error) from error
    if native is None:
        as_dtype(dtype, "dtype")  # raises a descriptive error
    if x is not None:
        return x, False
    if copy is False:
        reason = f"the memory of a {type(source).__name__} cannot be shared"
        raise unavoidable_copy_error(reason)
    # Strides that are not whole elements, such as those of a field of records, are whole in bytes.
    # Only the order of the dimensions is taken from this layout; the copy is packed in that order.
    order = spec_of_strides(dtypes.uint8, array.shape, array.strides)
    assert order is not None  # a byte is a whole element
    return dispatch.call(_OWN, (array.shape, native, order.layout.form, CPU), (array,)), True


class NoNumbersError(TypeError):
    """An item of a sequence that NumPy cannot convert, such as device memory or bfloat16."""


def tensor_from_sequence(name: str, obj: Any, dtype: DType | None) -> Tensor:
    """Return a new tensor from numbers, for a function `name`; NumPy finds the shape."""
    try:
        array = numbers_to_array(obj, dtype)
    except NoNumbersError as error:
        devices = tuple(_devices_in_sequence(obj))
        if not devices:
            raise TypeError(str(error)) from error.__cause__
        return _stack_nested_on_device(name, obj, dtype, devices)
    # An empty list has no kind of number; float64 is NumPy's choice.
    if array.size == 0 and dtype is None and not holds_arrays(obj):
        dtype = dtypes.float64
    array_dtype = as_dtype(array.dtype, "dtype")
    kind = array_dtype if dtype is None else dtype
    check_integers_fit(array, kind)
    result = tensor_over_array(np.array(array, array_dtype, order="C", copy=None))
    assert result is not None
    if watched and holds_arrays(obj):
        notify_listeners(
            Event(name, result.spec, result.spec, "give one array, or stack() tensors")
        )
    if result.dtype == kind:
        return result
    return dispatch.call(_numbers(name), (result.spec, None, kind), (result,))


def _devices_in_sequence(obj: Any) -> dict[Device, None]:
    """Return the devices of the tensors in a nested sequence, in order, as dict keys."""
    if isinstance(obj, (list, tuple)):
        return {device: None for item in obj for device in _devices_in_sequence(item)}
    return {obj.device: None} if isinstance(obj, Tensor) else {}


def _stack_nested_on_device(
    name: str, obj: Any, dtype: DType | None, devices: tuple[Device, ...]
) -> Tensor:
    """Return a row-major tensor of nested tensors and numbers, on the device of the tensors."""
    if len(devices) > 1:
        device_names = " and ".join(map(str, devices))
        raise ValueError(
            f"the tensors in a sequence live on {device_names}; move some with to_device()"
        )
    x = _stack_nested(obj, devices[0])
    kind = x.dtype if dtype is None else dtype
    layout = Layout.row_major(x.shape)
    if (x.dtype, x.layout) == (kind, layout):  # an empty one is row-major in any order
        return x
    return copy_tensor(name, x, layout, kind)


_RAGGED = "nested sequences must have equal lengths (the shape is inhomogeneous)"


def _stack_nested(obj: Any, device: Device) -> Tensor:
    """Join tensors on `device` and numbers, in a nested sequence, into one tensor there."""
    # For [[t, t], [1, 2]] with a tensor `t`: the list [1, 2] has no tensor, so it is read on the
    # CPU and moved in one transfer.
    if not _devices_in_sequence(obj):
        shared = import_array(obj, device, None)
        return move_to_device(
            tensor_from_sequence("asarray", obj, None) if shared is None else shared[0], device
        )
    if isinstance(obj, Tensor):
        return obj
    parts = [_stack_nested(item, device) for item in obj]
    for part in parts:
        if part.shape != parts[0].shape:
            raise ValueError(f"{_RAGGED}, got shapes {parts[0].shape} and {part.shape}")
    # Stacked by concatenation: a leading dimension of size 1 is a view, so each part is copied
    # once.
    wide = tuple([broadcast_to(part, (1, *part.shape)) for part in parts])
    return dispatch.call(_JOIN, (0, *[x.spec for x in wide]), wide)


def numbers_to_array(obj: Any, dtype_of_big_integers: DType | None) -> Array:
    """Return a nested sequence as an array; integers beyond int64 as `dtype` needs them."""
    obj = _materialise_sequences(obj)
    try:
        array: Array = call_quietly(np.array, obj)
    except (TypeError, ValueError) as error:
        unequal = _describe_ragged_lengths(obj) if isinstance(error, ValueError) else None
        if unequal is None:  # an item said so
            msg = f"a {type(obj).__name__} gives no numbers: {truncate(error)}"
            raise (NoNumbersError if isinstance(error, TypeError) else ValueError)(msg) from error
        raise ValueError(f"{_RAGGED}, got {unequal}") from None
    except MemoryError:
        msg = f"the numbers of a {type(obj).__name__} cannot be held in memory"
        raise MemoryError(msg) from None
    # Arrays among the items state a dtype themselves; only Python integers need the exact way.
    if _may_hide_large_integers(array) and not holds_arrays(obj):
        return _array_of_big_numbers(np.array(obj, dtype=object), dtype_of_big_integers)
    if array.dtype.kind not in "biufcV":
        _raise_not_numbers({_CONTENTS.get(array.dtype.kind, array.dtype.name)})
    return array


def _materialise_sequences(obj: Any) -> Any:
    """Return `obj`, with foreign sequences as lists: NumPy would consume endless ones."""
    kind = type(obj)
    is_sequence = hasattr(kind, "__getitem__") and hasattr(kind, "__len__")
    if kind in (list, tuple) or isinstance(obj, (str, bytes, Mapping)) or not is_sequence:
        return obj
    try:
        count = len(obj)
    except (OverflowError, ValueError, TypeError) as error:
        raise TypeError(f"a {kind.__name__} has no length: {truncate(error)}") from None
    try:
        entries = iter(obj)
    except TypeError as error:
        raise TypeError(f"a {kind.__name__} gives no numbers: {truncate(error)}") from None
    # One item more than its length says, to notice a sequence that yields too many. islice takes no
    # count above sys.maxsize.
    items = list(islice(entries, min(count, sys.maxsize - 1) + 1))
    if len(items) > count:
        raise ValueError(f"a {kind.__name__} of length {count} must not yield more items")
    return items


# Names of unsupported contents, by NumPy's dtype kinds.
_CONTENTS = {"U": "str", "S": "bytes", "O": "object"}


def _raise_not_numbers(kinds: set[str]) -> NoReturn:
    raise NoNumbersError(f"a tensor holds numbers, got {truncate(', '.join(sorted(kinds)))}")


def _describe_ragged_lengths(obj: Any) -> str | None:
    """Describe two unequal lengths of sequences at one depth; None if all are equal."""
    # Breadth first: `level` holds all items at one depth. [[1, 2], [3]] differs at depth 1, where
    # the lengths are 2 and 1.
    level = [obj]
    for _ in range(MAX_RANK):
        lengths = [
            f"a sequence of {len(x)}" if _is_sequence_or_array(x) else "a number" for x in level
        ]
        if len(set(lengths)) > 1:
            other = next(n for n in lengths if n != lengths[0])
            return f"{lengths[0]} and {other}"
        if lengths in ([], ["a number"] * len(level)):
            return None
        level = [inner for item in level for inner in item]
    return f"more than {MAX_RANK} levels"


def _is_sequence_or_array(item: Any) -> bool:
    return hasattr(item, "__len__") and not isinstance(item, str) and getattr(item, "ndim", 1) > 0


def _may_hide_large_integers(array: Array) -> bool:
    """Return True if NumPy may have converted integers beyond int64 to floats."""
    # NumPy reads [2**63] as uint64, [2**64] as object, and [2**63, -1] as float64.
    if array.dtype != np.float64:
        return array.dtype.kind in "uO"
    # Squares are not negative, so one element of 2**63 or more makes their sum at least 2**126.
    if np.vdot(array, array) < 2.0**126:  # the fastest test; false for NaN
        return False
    return bool((np.isfinite(array) & (np.abs(array) >= 2.0**63)).any())


def _array_of_big_numbers(numbers: Array, dtype: DType | None) -> Array:
    """Return Python numbers, of which some exceed int64, as an array, each rounded once."""
    kinds = {type(n) for n in numbers.flat}
    if not all(issubclass(kind, (int, float, complex)) for kind in kinds):
        _raise_not_numbers({kind.__name__ for kind in kinds})
    # Integers alone: the requested dtype decides. For a narrower float, float64 comes between, and
    # a value in the middle of two floats would be rounded twice; rounding to odd prevents that.
    wide, narrower = np.result_type(*kinds), False
    if wide.kind in "bi":
        kind = dtypes.int64 if dtype is None else dtype
        check_integers_fit(numbers, kind)
        wide = kind if kind.kind in "biu" else dtypes.float64
        narrower = kind.kind not in "biu" and kind not in (dtypes.float64, dtypes.complex128)
    try:
        if narrower:
            numbers = np.vectorize(exchanged.int_to_odd_float, [object])(numbers)
        return numbers.astype(wide)
    except OverflowError:
        # The integer that overflowed is not known, but the largest one is out of range as well.
        largest = max((n for n in numbers.flat if isinstance(n, int)), key=abs)
        raise dtypes.integer_overflow_error(
            largest, dtype if narrower and dtype is not None else wide
        ) from None


def check_integers_fit(array: Array, dtype: DType) -> None:
    """Raise OverflowError for integers outside the range of an integer dtype."""
    if array.dtype == dtype or not (array.size and dtypes.is_in_category(dtype, "any integral")):
        return
    if array.dtype.kind in "iuO" or dtypes.is_in_category(array.dtype, "narrow integer"):
        check_range_fits(int(array.min()), int(array.max()), dtype)


def check_range_fits(least: int, most: int, dtype: DType) -> None:
    """Raise OverflowError unless an integer dtype holds both `least` and `most`."""
    lowest, highest = dtypes.integer_limits(dtype)
    if least < lowest or most > highest:
        raise dtypes.integer_overflow_error(least if least < lowest else most, dtype)


def holds_arrays(obj: Any) -> bool:
    """Return True if a nested sequence holds arrays or tensors, whose dtypes count."""
    if isinstance(obj, (list, tuple)):
        return any(holds_arrays(item) for item in obj)
    return arguments.is_foreign_array(obj)
