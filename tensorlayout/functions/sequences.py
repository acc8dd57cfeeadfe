"""Nested sequences as tensors: of numbers, and of other tensors."""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping
from itertools import islice
from typing import Any, NoReturn

import numpy as np

from tensorlayout import dtypes, errors
from tensorlayout.devices import Device
from tensorlayout.dtypes import DType, as_dtype
from tensorlayout.exchange.numpy import Array, as_odd_float, quietly, tensor_over
from tensorlayout.functions import arguments, dispatch
from tensorlayout.functions.arrays import arrived
from tensorlayout.functions.manipulation import broadcast_to
from tensorlayout.functions.transfers import copied, moved
from tensorlayout.layout import MAX_RANK, Layout
from tensorlayout.plan import Copy, Event, Join, note, watched
from tensorlayout.tensor import Tensor

_numbers = functools.cache(functools.partial(Copy, of_numbers=True))
_JOIN = Join("asarray")


class NoNumbersError(TypeError):
    """An item of a sequence is nothing that NumPy sees, such as memory of a device, or bfloat16."""


def from_sequence(name: str, obj: Any, dtype: DType | None) -> Tensor:
    """A new tensor from numbers, for a function `name`; NumPy finds the shape."""
    try:
        array = numbers_of(obj, dtype)
    except NoNumbersError as error:
        devices = tuple(_devices_inside(obj))
        if not devices:
            raise TypeError(str(error)) from error.__cause__
        return _on_device(name, obj, dtype, devices)
    if array.size == 0 and dtype is None and not holds_arrays(obj):
        dtype = dtypes.float64
    given = as_dtype(array.dtype, "dtype")
    kind = given if dtype is None else dtype
    refuse_misfits(array, kind)
    found = tensor_over(np.array(array, given, order="C", copy=None))
    assert found is not None
    if watched and holds_arrays(obj):
        note(Event(name, found.spec, found.spec, "give one array, or stack() tensors"))
    if found.dtype == kind:
        return found
    return dispatch.call(_numbers(name), (found.spec, None, kind), (found,))


def _devices_inside(obj: Any) -> dict[Device, None]:
    """Return the device of the tensors in a nested sequence."""
    if isinstance(obj, (list, tuple)):
        return {device: None for item in obj for device in _devices_inside(item)}
    return {obj.device: None} if isinstance(obj, Tensor) else {}


def _on_device(name: str, obj: Any, dtype: DType | None, devices: tuple[Device, ...]) -> Tensor:
    """A row-major tensor of tensors and numbers, where the tensors are."""
    if len(devices) > 1:
        found = " and ".join(map(str, devices))
        raise ValueError(f"the tensors in a sequence live on {found}; move some with to_device()")
    x = _put_together(obj, devices[0])
    kind = x.dtype if dtype is None else dtype
    layout = Layout.row_major(x.shape)
    if (x.dtype, x.layout) == (kind, layout):  # an empty one is row-major in any order
        return x
    return copied(name, x, layout, kind)


def _put_together(obj: Any, device: Device) -> Tensor:
    """Tensors of `device`, and numbers, in a nested sequence, as one tensor there."""
    if not _devices_inside(obj):
        shared = arrived(obj, device, None)
        return moved(from_sequence("asarray", obj, None) if shared is None else shared[0], device)
    if isinstance(obj, Tensor):
        return obj
    parts = [_put_together(item, device) for item in obj]
    for part in parts:
        if part.shape != parts[0].shape:
            msg = "sequences inside one another must have equal lengths"
            raise ValueError(f"{msg}, got shapes {parts[0].shape} and {part.shape}")
    wide = tuple([broadcast_to(part, (1, *part.shape)) for part in parts])
    return dispatch.call(_JOIN, (0, *[x.spec for x in wide]), wide)


def numbers_of(obj: Any, dtype: DType | None) -> Array:
    """The numbers of a nested sequence; integers beyond int64 as `dtype` needs them."""
    obj = _with_an_end(obj)
    try:
        array: Array = quietly(np.array, obj)
    except (TypeError, ValueError) as error:
        unequal = _unequal(obj) if isinstance(error, ValueError) else None
        if unequal is None:  # an item said so
            msg = f"a {type(obj).__name__} gives no numbers: {errors.cut(error)}"
            raise (NoNumbersError if isinstance(error, TypeError) else ValueError)(msg) from error
        msg = f"sequences inside one another must have equal lengths, got {unequal}"
        raise ValueError(msg) from None
    except MemoryError:
        msg = f"the numbers of a {type(obj).__name__} cannot be held in memory"
        raise MemoryError(msg) from None
    if _may_hide_large_integers(array) and not holds_arrays(obj):
        return _exact_numbers(np.array(obj, dtype=object), dtype)
    if array.dtype.kind not in "biufcV":
        _refuse_content({_CONTENTS.get(array.dtype.kind, array.dtype.name)})
    return array


def _with_an_end(obj: Any) -> Any:
    """`obj`, or the items of a sequence of others: NumPy would take any number of them."""
    kind = type(obj)
    is_sequence = hasattr(kind, "__getitem__") and hasattr(kind, "__len__")
    if kind in (list, tuple) or isinstance(obj, (str, bytes, Mapping)) or not is_sequence:
        return obj
    try:
        count = len(obj)
    except (OverflowError, ValueError, TypeError) as error:
        raise TypeError(f"a {kind.__name__} has no length: {errors.cut(error)}") from None
    try:
        entries = iter(obj)
    except TypeError as error:
        raise TypeError(f"a {kind.__name__} gives no numbers: {errors.cut(error)}") from None
    items = list(islice(entries, min(count, sys.maxsize - 1) + 1))
    if len(items) > count:
        raise ValueError(f"a {kind.__name__} says that it has {count} items, and has more")
    return items


# What NumPy makes of texts and times.
_CONTENTS = {"U": "str", "S": "bytes", "O": "object"}


def _refuse_content(kinds: set[str]) -> NoReturn:
    raise NoNumbersError(f"a tensor holds numbers, got {errors.cut(', '.join(sorted(kinds)))}")


def _unequal(obj: Any) -> str | None:
    """Two lengths of sequences at one depth that differ, for an error; None if none do."""
    level = [obj]
    for _ in range(MAX_RANK):
        lengths = [f"a sequence of {len(x)}" if _has_items(x) else "a number" for x in level]
        if len(set(lengths)) > 1:
            other = next(n for n in lengths if n != lengths[0])
            return f"{lengths[0]} beside {other}"
        if lengths in ([], ["a number"] * len(level)):
            return None
        level = [inner for item in level for inner in item]
    return f"more than {MAX_RANK} inside one another"


def _has_items(item: Any) -> bool:
    return hasattr(item, "__len__") and not isinstance(item, str) and getattr(item, "ndim", 1) > 0


def _may_hide_large_integers(array: Array) -> bool:
    """Return whether NumPy may have made floats of integers that int64 does not hold."""
    if array.dtype != np.float64:
        return array.dtype.kind in "uO"
    if np.vdot(array, array) < 2.0**126:  # the shortest way; false for NaN
        return False
    return bool((np.isfinite(array) & (np.abs(array) >= 2.0**63)).any())


def _exact_numbers(numbers: Array, dtype: DType | None) -> Array:
    """Python numbers, some of them integers that int64 does not hold, as an array."""
    kinds = {type(n) for n in numbers.flat}
    if not all(issubclass(kind, (int, float, complex)) for kind in kinds):
        _refuse_content({kind.__name__ for kind in kinds})
    wide = np.result_type(*kinds)
    if wide.kind in "bi":
        kind = dtypes.int64 if dtype is None else dtype
        refuse_misfits(numbers, kind)
        wide = kind if kind.kind in "biu" else dtypes.float64
        if kind.kind not in "biu" and kind not in (dtypes.float64, dtypes.complex128):
            numbers = np.vectorize(as_odd_float, [object])(numbers)
    try:
        return numbers.astype(wide)
    except OverflowError:
        largest = max((n for n in numbers.flat if isinstance(n, int)), key=abs)
        raise dtypes.misfit(largest, wide) from None


def refuse_misfits(array: Array, kind: DType) -> None:
    """OverflowError for integers outside the range of an integer dtype."""
    if array.dtype == kind or not (array.size and dtypes.in_category(kind, "any integral")):
        return
    if array.dtype.kind in "iuO" or dtypes.in_category(array.dtype, "narrow integer"):
        refuse_misfit(int(array.min()), int(array.max()), kind)


def refuse_misfit(least: int, most: int, kind: DType) -> None:
    """OverflowError where an integer dtype does not hold all from `least` to `most`."""
    lowest, highest = dtypes.limits(kind)
    if least < lowest or most > highest:
        raise dtypes.misfit(least if least < lowest else most, kind)


def holds_arrays(obj: Any) -> bool:
    """Return whether a nested sequence holds arrays or tensors, whose dtypes count."""
    if isinstance(obj, (list, tuple)):
        return any(holds_arrays(item) for item in obj)
    return arguments.is_array(obj)
