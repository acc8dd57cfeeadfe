"""Writing of elements in place, at positions and by conditions.

The tensor keeps its dtype and layout; the last write to a repeated position wins. Numbers, and
numbers in a list, get the dtype of the tensor. All functions raise ValueError if the tensor is
read-only.
"""

from __future__ import annotations

from typing import Any, Literal, SupportsIndex

import numpy as np

from tensorlayout.functions import arguments
from tensorlayout.functions import basics as xp
from tensorlayout.functions.indexing import write_at_key
from tensorlayout.functions.operands import (
    as_bool_tensor,
    as_tensor_on_device_of,
    check_finite,
    refuse_unsupported_arguments,
)
from tensorlayout.functions.positions import (
    Mode,
    first_position_outside,
    unravel_index,
    wrap_or_clip_positions,
)
from tensorlayout.plan import Scatter, broadcast_shape
from tensorlayout.tensor import Tensor
from tensorlayout.typing import ArrayLike

__all__ = ["copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"]

_PUT = Scatter("put_along_axis")


def put_along_axis(
    arr: Tensor, indices: ArrayLike, values: ArrayLike, axis: SupportsIndex | None = -1
) -> None:
    """Write `values` into `arr` at the positions `indices` along `axis`, line by line.

    - `indices`: integers, of the rank of `arr`; sizes of 1 broadcast, except along `axis`.
    - `values`: a number, or a tensor that broadcasts to the shape of `indices`.
    - `axis`: None takes `arr` as one line in index order, and `indices` of rank 1.

    Any dtype. In place.

    Raises `IndexError` if an index is out of bounds; `ValueError` if shapes do not match, and
    (`AxisError`) if `axis` is out of bounds; `TypeError` if `indices` are not integers.

    >>> import tensorlayout as tl
    >>> x = tl.asarray([[30, 10, 20]])
    >>> tl.put_along_axis(x, tl.asarray([[1]]), 99)
    >>> x
    Tensor([[30, 99, 20]], dtype=int64, device='cpu')
    """
    x = arguments.as_tensor(arr)
    places = indices if type(indices) is Tensor else as_tensor_on_device_of(indices, x)
    # NaN and infinity are errors in an integer tensor, instead of some integer.
    check_finite(values, x.dtype)
    value = as_tensor_on_device_of(values, x) if isinstance(values, list) else values
    if axis is None:
        if places.ndim != 1:
            raise ValueError(f"indices must be of rank 1 for axis=None, got {places.shape}")
        places = wrap_or_clip_positions(places, x.size, "raise")
        _write_flat_positions(x, _normalize_flat_positions(places, x), value)
        return
    arguments.as_indices(places)
    dim = arguments.normalize_axis(axis, x.ndim)
    fits = places.ndim == x.ndim and all(
        n in (1, m) or d == dim for d, (n, m) in enumerate(zip(places.shape, x.shape, strict=True))
    )
    if not fits:
        msg = f"indices of shape {places.shape} do not fit a tensor of shape {x.shape}"
        raise ValueError(f"{msg} along axis {dim}")
    # Along the other dimensions each position stands for itself, as a range: for a matrix and axis
    # 1, the key is (row number, position).
    key = tuple(places if d == dim else _arange_along_dim(x, d, n) for d, n in enumerate(x.shape))
    write_at_key(_PUT, x, key, value)


def _arange_along_dim(x: Tensor, dim: int, size: int) -> Tensor:
    """Return arange(size) along `dim`, with size 1 in the other dimensions of `x`."""
    shape = [size if d == dim else 1 for d in range(x.ndim)]
    return xp.reshape(xp.arange(size, device=x.device), shape)


def put(a: Tensor, ind: ArrayLike, v: ArrayLike, mode: Mode = "raise") -> None:
    """Write values `v`, repeated if too few, at the positions `ind` in index order.

    - `ind`: integers.
    - `mode`: for positions out of bounds: ``raise`` an IndexError before anything is written;
      ``clip`` to the nearest; ``wrap`` around.

    Any dtype. In place.

    Raises `IndexError` as `mode` says; `ValueError` for an unknown `mode` and a read-only tensor;
    `TypeError` if `ind` are not integers, and for complex values in a real tensor.

    >>> import tensorlayout as tl
    >>> x = tl.asarray([[1, 2], [3, 4]])
    >>> tl.put(x, [0, 3], [7, 8])
    >>> x
    Tensor([[7, 2],
            [3, 8]], dtype=int64, device='cpu')
    """
    x = arguments.check_writable(arguments.as_tensor(a))
    # A Python integer would become an element of `x`, whose dtype may not hold it.
    is_integer = isinstance(ind, int) and not isinstance(ind, bool)
    positions = xp.asarray(ind, device=x.device) if is_integer else ind
    places = xp.reshape(as_tensor_on_device_of(positions, x), (-1,))
    if places.size and not x.size:
        raise IndexError("index is out of bounds for a tensor without elements")
    values = _flat_castable_values(v, x, "unsafe")
    if not (places.size and values.size):
        return
    # All positions are checked here, before anything is written.
    places = _normalize_flat_positions(wrap_or_clip_positions(places, x.size, mode), x)
    if values.size != 1:
        values = values[xp.remainder(xp.arange(places.size, device=x.device), values.size)]
    _write_flat_positions(x, places, values)


def _flat_castable_values(values: Any, x: Tensor, casting: str) -> Tensor:
    """Return `values` with rank 1, to be written into `x`; TypeError if `casting` forbids it.

    Scalars and numbers in a list get the dtype of `x` whatever `casting` is, as in NumPy.
    """
    casting = casting if isinstance(values, (Tensor, np.ndarray)) else "unsafe"
    check_finite(values, x.dtype)
    value = xp.reshape(as_tensor_on_device_of(values, x), (-1,))
    loses_a_part = value.dtype.kind == "c" and x.dtype.kind != "c"
    if value.size and (loses_a_part or not arguments.can_cast(value.dtype, x.dtype, casting)):
        _raise_cast_not_allowed(value, x, casting)
    return value


def _raise_cast_not_allowed(value: Tensor, x: Tensor, casting: str) -> None:
    rule = f"{value.dtype} cannot become {x.dtype} by the rule {casting!r}"
    raise TypeError(f"{rule}; use astype() first")


def _normalize_flat_positions(positions: Tensor, x: Tensor) -> Tensor:
    """Return non-negative positions in index order; IndexError if one is out of bounds."""
    if (wrong := first_position_outside(positions, x.size, -x.size)) is not None:
        raise IndexError(f"index {wrong} is out of bounds for {x.size} elements")
    # Negative positions count from the end.
    return xp.remainder(positions, x.size) if x.size else positions


def _write_flat_positions(x: Tensor, positions: Tensor, values: Any) -> None:
    """Write at flat positions in index order; all positions must be inside."""
    if x.ndim:
        # One index for each dimension works for every layout; a flat view of `x` would need a copy
        # for most.
        x[unravel_index(positions, x.shape)] = values
    elif positions.size:  # rank 0: all positions mean the same element
        x[()] = values[-1] if isinstance(values, Tensor) and values.ndim else values


def place(arr: Tensor, mask: ArrayLike, vals: ArrayLike) -> None:
    """Write `vals` where `mask` is true, repeated if they are too few.

    `mask` has as many elements as `arr`; `vals` has at least one if `mask` is true anywhere. Any
    dtype. In place.

    Raises `ValueError` for a mask of another size and missing `vals`; `TypeError` if `vals`
    cannot be cast safely to the dtype of `arr`.

    >>> import tensorlayout as tl
    >>> x = tl.asarray([1, 2, 3])
    >>> tl.place(x, x > 1, [7, 8])
    >>> x
    Tensor([1, 7, 8], dtype=int64, device='cpu')
    """
    x = arguments.check_writable(arguments.as_tensor(arr))
    places = xp.flatnonzero(xp.reshape(as_bool_tensor(mask, x), x.shape))
    values = _flat_castable_values(vals, x, "safe")
    if not places.size:
        return
    if not values.size:
        raise ValueError("vals must have at least one element, as mask is true somewhere")
    put(x, places, values)


def putmask(a: Tensor, /, mask: ArrayLike, values: ArrayLike) -> None:
    """Write `values` where `mask` is true, each at its own position; repeated if too few.

    `mask` has as many elements as `a`. Any dtype. In place.

    Raises `ValueError` for a mask of another size; `TypeError` if `values` cannot be cast
    safely to the dtype of `a`.

    >>> import tensorlayout as tl
    >>> x = tl.asarray([1, 2, 3])
    >>> tl.putmask(x, x > 1, [7, 8, 9])
    >>> x
    Tensor([1, 8, 9], dtype=int64, device='cpu')
    """
    x = arguments.check_writable(arguments.as_tensor(a))
    mask_tensor = as_bool_tensor(mask, x)
    if mask_tensor.size != x.size:
        raise ValueError(f"mask must have {x.size} elements, as a has, got {mask_tensor.size}")
    value = _flat_castable_values(values, x, "safe")
    places = xp.flatnonzero(mask_tensor)
    if places.size and value.size:
        # Each value belongs to the position of its element; `put` would use the values one after
        # the other.
        _write_flat_positions(x, places, value[xp.remainder(places, value.size)])


def copyto(
    dst: Tensor,
    src: ArrayLike,
    casting: Literal["no", "equiv", "safe", "same_kind", "unsafe"] = "same_kind",
    where: ArrayLike = True,
) -> None:
    """Write `src`, broadcast, into `dst`, where `where` is true.

    `casting` is NumPy's name of the permitted conversions. Any dtype. In place.

    Raises `TypeError` if `casting` does not permit the dtype of `src`; `ValueError` for any other
    `casting`, a read-only `dst`, and shapes that do not broadcast.

    >>> import tensorlayout as tl
    >>> x = tl.zeros(3)
    >>> tl.copyto(x, 7.0, where=[True, False, True])
    >>> x
    Tensor([7., 0., 7.], dtype=float64, device='cpu')
    """
    x = arguments.check_writable(arguments.as_tensor(dst))
    if isinstance(src, np.ndarray):  # as in x[...] = src
        src = xp.asarray(src, device=x.device)
    weak = type(src) is not bool  # bool is subject to `casting`
    value = as_tensor_on_device_of(src, x, weak=weak)
    if not arguments.can_cast(value.dtype, x.dtype, arguments.check_casting_rule(casting)):
        _raise_cast_not_allowed(value, x, casting)
    if where is not True:
        value = xp.where(as_bool_tensor(where, x), xp.astype(value, x.dtype, copy=False), x)
    surplus = max(value.ndim - x.ndim, 0)
    dropped = value.shape[:surplus].count(1) == surplus  # surplus leading dimensions of size 1
    if not dropped or broadcast_shape([value.shape[surplus:], x.shape]) != x.shape:
        raise ValueError(f"shape {value.shape} could not be broadcast to {x.shape}")
    x[...] = value


def fill_diagonal(a: Tensor, val: ArrayLike, wrap: bool = False) -> None:
    """Write values `val`, repeated if too few, on the main diagonal.

    `a` is a matrix, or all its sizes are equal; `wrap` must be False. Any dtype. In place.

    Raises `ValueError` for other shapes; `TypeError` for complex values in a real tensor, and if
    `wrap` is true.

    >>> import tensorlayout as tl
    >>> x = tl.zeros((2, 2))
    >>> tl.fill_diagonal(x, 5)
    >>> x
    Tensor([[5., 0.],
            [0., 5.]], dtype=float64, device='cpu')
    """
    refuse_unsupported_arguments(wrap=wrap)
    x = arguments.check_writable(arguments.as_tensor(a))
    if x.ndim < 2 or (x.ndim > 2 and len({*x.shape}) != 1):
        raise ValueError(f"needs a matrix, or equal sizes, got shape {x.shape}")
    diagonal_index = xp.arange(min(x.shape), device=x.device)
    value = _flat_castable_values(val, x, "unsafe")
    if value.size:
        x[(diagonal_index,) * x.ndim] = value[xp.remainder(diagonal_index, value.size)]
