"""Differences of neighbours, slopes, areas, and values between given ones."""

from __future__ import annotations

import math
from typing import Any

from tensorlayout import dtypes
from tensorlayout.functions import arguments, extra, searching, statistical, utility
from tensorlayout.functions import elementwise as ew
from tensorlayout.functions.data_types import astype
from tensorlayout.functions.manipulation import concat, reshape
from tensorlayout.functions.operands import beside, counted, floating, tensors
from tensorlayout.functions.searching import where
from tensorlayout.functions.sorting import argsort
from tensorlayout.tensor import Tensor
from tensorlayout.words import refuse

__all__ = ["ediff1d", "gradient", "interp", "trapezoid", "unwrap"]


def ediff1d(ary: Tensor, to_end: Any = None, to_begin: Any = None) -> Tensor:
    """The differences of neighbours in index order, and what is given around them."""
    x = reshape(arguments.tensor("ediff1d", ary), (-1,))
    parts = [to_begin, utility.diff(x), to_end]
    found = [reshape(beside("ediff1d", p, x), (-1,)) for p in parts if p is not None]
    return concat([astype(p, x.dtype, copy=False) for p in found])


def gradient(f: Tensor, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """`tl.gradient`."""
    return extra.gradient(f, *varargs, axis=axis, edge_order=edge_order)


def trapezoid(y: Tensor, x: Any = None, dx: float = 1.0, axis: int = -1) -> Tensor:
    """The area under straight lines between the values along `axis`."""
    values = counted("trapezoid", y)
    dim = arguments.dim("trapezoid", axis, values.ndim)
    widths: Any = dx
    if x is not None:
        places = beside("trapezoid", x, values)
        if places.ndim == 1:
            shape = tuple(-1 if d == dim else 1 for d in range(values.ndim))
            widths = reshape(utility.diff(places), shape)
        else:
            widths = utility.diff(places, axis=axis)
    before = (slice(None),) * dim
    later, earlier = values[(*before, slice(1, None))], values[(*before, slice(None, -1))]
    areas = ew.divide(ew.multiply(widths, ew.add(later, earlier)), 2.0)
    return statistical.sum(areas, dim)


def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: float | None = None
) -> Tensor:
    """The values at `x` of straight lines between the points (`xp`, `fp`), `xp` ascending.

    `left`, `right`: the values outside, by default those at the ends. `period`: of `xp`.
    """
    at, points, values = (floating("interp", each) for each in tensors("interp", x, xp, fp))
    if points.ndim != 1 or points.shape != values.shape or not points.size:
        refuse("interp", f"xp and fp must be of one shape (n,), got {points.shape}, {values.shape}")
    at, points = (astype(each, dtypes.float64, copy=False) for each in (at, points))
    if period is not None:
        if period == 0:
            refuse("interp", "period must not be 0")
        length = abs(float(period))
        at, points = ew.remainder(at, length), ew.remainder(points, length)
        order = argsort(points)
        points, values = points[order], values[order]
        points = concat([points[-1:] - length, points, points[:1] + length])
        values = concat([values[-1:], values, values[:1]])
        left = right = None
    if points.size == 1:
        inside = where(ew.isnan(at), at, values[0])
    else:
        upper = ew.clip(searching.searchsorted(points, at, side="right"), 1, points.size - 1)
        start, end = (points[reshape(p, (-1,))] for p in (upper - 1, upper))
        first, last = (values[reshape(p, (-1,))] for p in (upper - 1, upper))
        line = reshape(at, (-1,))
        slope = ew.divide(ew.subtract(last, first), ew.subtract(end, start))
        inside = ew.add(ew.multiply(slope, ew.subtract(line, start)), first)
        inside = reshape(where(ew.equal(line, end), last, inside), at.shape)
    inside = where(ew.less(at, points[0]), values[0] if left is None else left, inside)
    return where(ew.greater(at, points[-1]), values[-1] if right is None else right, inside)


def unwrap(
    p: Tensor, discont: float | None = None, axis: int = -1, *, period: float = 2 * math.pi
) -> Tensor:
    """Angles along `axis` with jumps of more than half a `period` taken out."""
    x = floating("unwrap", p)
    dim = arguments.dim("unwrap", axis, x.ndim)
    least = period / 2 if discont is None else discont
    steps = utility.diff(x, axis=dim)
    folded = ew.subtract(ew.remainder(ew.add(steps, period / 2), period), period / 2)
    half = ew.logical_and(ew.equal(folded, -period / 2), ew.greater(steps, 0))
    folded = where(half, period / 2, folded)
    turns = where(ew.less(ew.abs(steps), least), 0.0, ew.subtract(folded, steps))
    before = (slice(None),) * dim
    rest = ew.add(x[(*before, slice(1, None))], statistical.cumsum(turns, dim))
    return concat([x[(*before, slice(0, 1))], rest], axis=dim)
