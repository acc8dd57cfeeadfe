"""Indexing: reads and writes with every key of the standard."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorlayout import dtypes
from tensorlayout.functions import calling
from tensorlayout.functions.creation import arange, asarray
from tensorlayout.functions.manipulation import broadcast_to, reshape
from tensorlayout.plan.gathering import Cut, Gather, Index, Row, Scatter
from tensorlayout.plan.moving import Assign
from tensorlayout.plan.results import broadcast_shape, normalized_dims
from tensorlayout.tensor import Tensor

__all__ = ["take", "take_along_axis"]

_INDEX = Index()
_ROW = Row()
_GATHER = Gather()
_SCATTER = Scatter()
_ASSIGN = Assign()


def getitem(x: Tensor, key: Any) -> Tensor:
    """``x[key]``: a view for integers, slices, Ellipsis and None; else a new row-major tensor."""
    if type(key) is int:
        return calling.call(_ROW, (x._spec,), (x, key))
    items = _items(key)
    if _is_basic(items):
        return _basic(x, items)
    positions = tuple(item for item in items if isinstance(item, Tensor))
    return calling.call(_GATHER, (x._spec, *(p._spec for p in positions)), (x, items))


def setitem(x: Tensor, key: Any, value: Any) -> None:
    """``x[key] = value``: the layout of `x` stays; `value` is broadcast and converted.

    As if `value` had been copied first, where it shares memory with `x`. Of positions that occur
    twice the last one wins.
    """
    calling.writable("__setitem__", x)
    if isinstance(value, (np.ndarray, list, tuple)):
        value = asarray(value)
    value = calling.operand("__setitem__", value)
    items = () if key is ... else _items(key)
    kind = value._spec if isinstance(value, Tensor) else type(value)
    if _is_basic(items):
        part = x if key is ... else getitem(x, key)
        calling.call(_ASSIGN, (part._spec, kind), (part, value))
        return
    positions = tuple(item for item in items if isinstance(item, Tensor))
    calling.call(_SCATTER, (x._spec, kind, *(p._spec for p in positions)), (x, items, value))


def _items(key: Any) -> tuple[Any, ...]:
    return tuple(_item(item) for item in (key if isinstance(key, tuple) else (key,)))


def _item(item: Any) -> Any:
    """One entry of a key: an int, slice, None, Ellipsis, bool, or a tensor of positions."""
    if type(item) is int or item is None or item is ... or isinstance(item, bool):
        return item
    if isinstance(item, slice):
        return item
    if isinstance(item, (np.ndarray, list)):
        item = asarray(item)
        if item.size == 0 and item.dtype == dtypes.float64:
            item = asarray(np.empty(item.shape, np.int64))
    if isinstance(item, Tensor):
        if not dtypes.in_category(item.dtype, "integer or boolean"):
            msg = f"__getitem__: positions must be integers or booleans, got dtype {item.dtype}"
            raise IndexError(msg)
        return int(item) if item.ndim == 0 and item.dtype != dtypes.bool else item
    if isinstance(item, np.bool_):
        return bool(item)
    if hasattr(item, "__index__"):
        return item.__index__()
    msg = (
        "__getitem__: an index must be an integer, a slice, None, Ellipsis, or an integer or"
        f" boolean tensor, got {type(item).__name__}"
    )
    raise IndexError(msg)


def _is_basic(items: tuple[Any, ...]) -> bool:
    return not any(isinstance(item, (Tensor, bool)) for item in items)


def _basic(x: Tensor, items: tuple[Any, ...]) -> Tensor:
    layout = x._spec.layout
    shape, strides = layout.shape, layout.strides
    used = sum(item is not None and item is not ... for item in items)
    if used > len(shape) or sum(item is ... for item in items) > 1:
        msg = f"__getitem__: {len(items)} indices (or Ellipses) are too many for shape {shape}"
        raise IndexError(msg)
    cuts: list[Cut] = []
    key: list[Any] = []
    first, dim = layout.offset, 0
    at = next((i for i, item in enumerate(items) if item is ...), len(items))
    fill = [slice(None)] * (len(shape) - used)
    for item in (*items[:at], *fill, *items[at + 1 :]):
        key.append(item)
        if item is None:
            cuts.append("new")
            continue
        size, stride = shape[dim], strides[dim]
        if isinstance(item, slice):
            start, stop, step = item.indices(size)
            count = len(range(start, stop, step))
            cuts.append((count, step if count > 1 else 1))
            first += start * stride if count else 0
        else:
            if not -size <= item < size:
                msg = f"__getitem__: index {item} is outside dimension {dim} of shape {shape}"
                raise IndexError(msg)
            cuts.append("int")
            first += item % size * stride
        dim += 1
    key.append(...)  # keeps NumPy from making a scalar of a single element
    return calling.call(_INDEX, (x._spec, *cuts), (x, tuple(key), first))


def iterate(x: Tensor) -> Iterator[Tensor]:
    """The slices along the first dimension."""
    if x.ndim == 0:
        msg = "iter: a tensor of rank 0 cannot be iterated over"
        raise TypeError(msg)
    return (getitem(x, i) for i in range(x.shape[0]))


def take(x: Tensor, indices: Tensor | int, /, *, axis: int | None = None) -> Tensor:
    """The slices of `x` at `indices` along `axis` (which may be left out at rank 1).

    Negative indices count from the end. IndexError for one outside the dimension.
    """
    x = calling.tensor("take", x)
    if axis is None:
        if x.ndim != 1:
            msg = f"take: axis must be given for a tensor of rank {x.ndim}"
            raise ValueError(msg)
        axis = 0
    (dim,) = normalized_dims("take", int(axis), x.ndim)
    return getitem(x, (*[slice(None)] * dim, indices))


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """From each line along `axis` the elements at the line of `indices` that belongs to it.

    `indices`: integers, of the rank of `x`; other sizes broadcast. Negative ones count from the
    end; IndexError outside. Layout: row-major.

    >>> import tensorlayout as tl
    >>> x = tl.asarray([[30, 10, 20]])
    >>> tl.take_along_axis(x, tl.argsort(x))
    Tensor([[10, 20, 30]], dtype=int64, device='cpu')
    """
    x, indices = calling.tensor("take_along_axis", x), calling.tensor("take_along_axis", indices)
    if x.ndim != indices.ndim:
        msg = f"take_along_axis: ranks must be equal, got shapes {x.shape} and {indices.shape}"
        raise ValueError(msg)
    if not dtypes.in_category(indices.dtype, "integral"):
        msg = f"take_along_axis: only integral dtypes are allowed as indices, got {indices.dtype}"
        raise TypeError(msg)
    (dim,) = normalized_dims("take_along_axis", int(axis), x.ndim)
    around = [_without(x.shape, dim), _without(indices.shape, dim)]
    shape = list(broadcast_shape("take_along_axis", around))
    wide = broadcast_to(x, [x.shape[d] if d == dim else n for d, n in enumerate(shape)])
    shape[dim] = indices.shape[dim]
    key: list[Tensor] = []
    for d, n in enumerate(shape):
        if d == dim:
            key.append(broadcast_to(indices, shape))
        else:
            key.append(reshape(arange(n), [n if e == d else 1 for e in range(x.ndim)]))
    return getitem(wide, tuple(key))


def _without(shape: tuple[int, ...], dim: int) -> tuple[int, ...]:
    return tuple(1 if d == dim else n for d, n in enumerate(shape))
