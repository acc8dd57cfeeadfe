"""Sets, searches, counts and slopes, by the functions of CuPy; see `library_functions`."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any  # of CuPy, or NumPy
Module = Any


# ---- Sets


def _groups(xp: Module, x: Array) -> tuple[Array, Array, Array, Array]:
    """The flat `x`, the order that sorts it, where new values begin in that order, and marks there.

    It is stable, so that a value begins with the first of its elements.
    """
    flat = x.reshape(-1)
    keys = flat.view(np.uint8) if flat.dtype.kind == "b" else flat
    if keys.dtype.kind in "fc":
        keys = keys + keys.dtype.type(0)  # -0 becomes 0, which sorts by bits tell apart
    order = xp.argsort(keys, kind="stable")
    line = keys[order]
    new = xp.ones(line.shape, np.bool_)
    new[1:] = line[1:] != line[:-1]  # every NaN is distinct
    return flat, order, xp.flatnonzero(new), new


def _inverse(xp: Module, x: Array, order: Array, new: Array) -> Array:
    found = xp.empty(order.shape, np.int64)
    found[order] = xp.cumsum(new, dtype=np.int64) - 1
    return found.reshape(x.shape)


def _counts(xp: Module, x: Array, starts: Array) -> Array:
    ends = xp.empty(starts.shape, np.int64)
    ends[:-1] = starts[1:]
    ends[-1:] = x.size
    return ends - starts


def unique_all(xp: Module, x: Array) -> tuple[Array, ...]:
    """Values, first indices, inverse, counts."""
    flat, order, starts, new = _groups(xp, x)
    first = order[starts]
    return flat[first], first, _inverse(xp, x, order, new), _counts(xp, x, starts)


def unique_counts(xp: Module, x: Array) -> tuple[Array, ...]:
    """Values and counts."""
    flat, order, starts, _ = _groups(xp, x)
    return flat[order[starts]], _counts(xp, x, starts)


def unique_inverse(xp: Module, x: Array) -> tuple[Array, ...]:
    """Values and, for each element, the position of its value."""
    flat, order, starts, new = _groups(xp, x)
    return flat[order[starts]], _inverse(xp, x, order, new)


def unique_values(xp: Module, x: Array) -> Array:
    """The distinct values."""
    flat, order, starts, _ = _groups(xp, x)
    return flat[order[starts]]


def isin(xp: Module, x: Array, of: Array, invert: bool) -> Array:
    """Whether each element occurs in `of`; NaN never does.

    Both are sorted together, `of` in front: an element is in there if the first of its equals is.
    """
    both = xp.concatenate([of.reshape(-1), x.reshape(-1)])
    _, order, starts, new = _groups(xp, both)
    member = (order[starts] < of.size)[xp.cumsum(new, dtype=np.int64) - 1]
    found = xp.empty(order.shape, np.bool_)
    found[order] = member != invert
    return found[of.size :].reshape(x.shape)


# ---- Positions


def repeat(xp: Module, counts: Array) -> Array:
    """Each position as often as `counts` says, in ascending order."""
    ends = xp.cumsum(counts, dtype=np.int64)
    total = int(ends[-1]) if counts.size else 0
    return xp.searchsorted(ends, xp.arange(total, dtype=np.int64), "right")


# ---- Beyond the standard


def bincount(xp: Module, x: Array, minlength: int) -> Array:
    """How often each integer occurs."""
    return xp.bincount(x.astype(np.int64), minlength=minlength)


def bincount_weighted(xp: Module, x: Array, weights: Array, minlength: int) -> Array:
    """The sum of weights for each integer."""
    if not x.size:
        return xp.zeros((minlength,), np.float64)
    return xp.bincount(x.astype(np.int64), weights, minlength)


def gradient(
    xp: Module,
    x: Array,
    *coordinates: Array,
    axes: tuple[int, ...],
    numbers: tuple[float, ...],
    edge_order: int,
) -> Any:
    """The gradient along `axes`; distances are arrays of coordinates, or numbers, or neither."""
    found = xp.gradient(x, *(coordinates or numbers), axis=axes, edge_order=edge_order)
    return tuple(found) if isinstance(found, (list, tuple)) else found
