"""Differences of neighbours, gradients, integrals and interpolation."""

from __future__ import annotations

import math
from typing import Any, SupportsIndex, overload

import numpy as np

from tensorlayout import dtypes
from tensorlayout.functions import arguments, basics, dispatch
from tensorlayout.functions.operands import (
    as_tensor_on_device_of,
    as_tensors,
    asarray_unless_tensor,
    bools_to_integers,
    integers_to_float64,
    mean_dtype,
)
from tensorlayout.plan import Library
from tensorlayout.tensor import Tensor
from tensorlayout.typing import ArrayLike, Axis, Operand, Real

__all__ = ["ediff1d", "gradient", "interp", "trapezoid", "unwrap"]

_GRADIENT = Library("gradient", "floating-point", rank=1)


@overload
def gradient(
    f: Tensor, *varargs: ArrayLike, axis: SupportsIndex, edge_order: SupportsIndex = ...
) -> Tensor: ...
@overload
def gradient(
    f: Tensor, *varargs: ArrayLike, axis: Axis = ..., edge_order: SupportsIndex = ...
) -> Tensor | tuple[Tensor, ...]: ...
def gradient(
    f: Tensor, *varargs: ArrayLike, axis: Axis = None, edge_order: SupportsIndex = 1
) -> Tensor | tuple[Tensor, ...]:
    """Compute the slope along each `axis` (default: all); a tuple for several axes.

    - `varargs`: distances: none (1), a number for all axes, or for each axis a number or the
      coordinates (a sequence or tensor of rank 1).
    - `edge_order`: order of the differences at both ends, 1 or 2; needs at least one element more.

    dtype: as `f`, float64 for integers. Layout: row-major.

    Raises `ValueError` for too few elements, another number of distances or coordinates, any other
    `edge_order`, and (`AxisError`) if an axis is out of bounds; `TypeError` if `f` is not a tensor.

    >>> import tensorlayout as tl
    >>> tl.gradient(tl.asarray([1.0, 2.0, 4.0, 7.0]))
    Tensor([1. , 1.5, 2.5, 3. ], dtype=float64, device='cpu')
    """
    x = arguments.as_tensor(f)
    kind = mean_dtype(x, None)
    wide = basics.astype(x, kind, copy=False)
    dims = arguments.normalize_axes(axis, x.ndim)
    if len(varargs) not in (0, 1, len(dims)):
        raise ValueError(f"distances must be none, one, or one for each axis, got {len(varargs)}")
    coordinates = [asarray_unless_tensor(d, x) for d in varargs if not _is_uniform_spacing(d)]
    # NumPy's gradient takes spacings by value and coordinates as arrays, so `numbers` are part of
    # the plan's key, and `coordinates` are operands.
    numbers = tuple(
        arguments.as_real_float("distances", d) for d in varargs if _is_uniform_spacing(d)
    )
    order = arguments.as_integer("edge_order", edge_order)
    if order not in (1, 2):
        raise ValueError(f"edge_order must be 1 or 2, got {arguments.format_argument(order)}")
    if any(x.shape[dim] <= order for dim in dims):
        raise ValueError(f"needs {order + 1} elements along each axis, got shape {x.shape}")
    # NumPy accepts a mix of numbers and coordinates; here all of them become coordinates.
    if coordinates and numbers:
        spaces = [basics.arange(x.shape[dim], device=x.device) for dim in dims]
        coordinates = [
            places * arguments.as_real_float("distances", d)
            if _is_uniform_spacing(d)
            else asarray_unless_tensor(d, x)
            for d, places in zip(varargs, spaces, strict=True)
        ]
        numbers = ()
    options: Any = {"axes": dims, "spacings": numbers, "edge_order": order}
    result = dispatch.call_library(_GRADIENT, wide, *coordinates, **options)
    if isinstance(result, Tensor):
        return basics.astype(result, kind, copy=False)
    return tuple(basics.astype(part, kind, copy=False) for part in result)


def _is_uniform_spacing(distance: Any) -> bool:
    """Return True if the spacing is one number for all neighbours, not coordinates."""
    return not isinstance(distance, (list, tuple)) and np.ndim(distance) == 0


def ediff1d(
    ary: Tensor, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None
) -> Tensor:
    """Return differences of neighbours in index order, between `to_begin` and `to_end`.

    dtypes: numeric and bool, the dtype of `ary` kept. Layout: row-major.

    Raises `TypeError` if `ary` is not a tensor, and for complex ends of real differences.

    >>> import tensorlayout as tl
    >>> tl.ediff1d(tl.asarray([1, 4, 9]), to_begin=0)
    Tensor([0, 3, 5], dtype=int64, device='cpu')
    """
    x = basics.reshape(arguments.as_tensor(ary), (-1,))
    parts = [to_begin, basics.diff(x), to_end]
    results = [basics.reshape(as_tensor_on_device_of(p, x), (-1,)) for p in parts if p is not None]
    # NumPy refuses ends that it cannot cast by its rule "same_kind"; here they are converted.
    return basics.concat(results, dtype=x.dtype, casting="unsafe")


def trapezoid(
    y: Tensor, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: SupportsIndex = -1
) -> Tensor:
    """Return the area under straight lines between the values `y` along `axis`.

    `x` holds the positions of the values, along `axis` or of the shape of `y`; without it, `dx` is
    the distance of neighbours. dtypes: numeric and bool; the result is a float, or complex. Layout:
    packed in the input's order.

    Raises `ValueError` (`AxisError`) if `axis` is out of bounds; `TypeError` if `y` is not a
    tensor.

    >>> import tensorlayout as tl
    >>> tl.trapezoid(tl.asarray([1.0, 2.0, 3.0]), x=[0, 1, 4])
    Tensor(9.0, dtype=float64, device='cpu')
    """
    values = bools_to_integers(y)
    dim = arguments.normalize_axis(axis, values.ndim)
    widths: Any = dx
    if x is not None:
        places = as_tensor_on_device_of(x, values)
        widths = basics.diff(places, axis=axis if places.ndim > 1 else -1)
        # Positions of rank 1 get the rank of the values, to broadcast: n - 1 widths along dimension
        # 1 of 3 have shape (1, n - 1, 1).
        if places.ndim == 1:
            widths = basics.reshape(widths, [-1 if d == dim else 1 for d in range(values.ndim)])
    before = (slice(None),) * dim
    later, earlier = values[(*before, slice(1, None))], values[(*before, slice(None, -1))]
    areas: Tensor = (later + earlier) * widths / 2.0
    return areas.sum(dim)


def interp(
    x: ArrayLike,
    xp: ArrayLike,
    fp: ArrayLike,
    left: Tensor | Operand | None = None,
    right: Tensor | Operand | None = None,
    period: Real | None = None,
) -> Tensor:
    """Interpolate linearly at `x` between the points (`xp`, `fp`), `xp` ascending.

    - `left`, `right`: values outside; by default the values at the ends.
    - `period`: period of `xp`, which may then be in any order.

    dtypes: real numeric; the result is float64, or complex128 if `fp` is complex. Layout: packed in
    the order of `x`.

    Raises `ValueError` if there are no points, `xp` and `fp` differ in shape, or `period` is 0;
    `TypeError` if there is no tensor, and for any other dtype.

    >>> import tensorlayout as tl
    >>> tl.interp(tl.asarray([0.5, 9.0]), [0, 1, 2], [10, 20, 40])
    Tensor([15., 40.], dtype=float64, device='cpu')
    """
    at, points, values = (integers_to_float64(operand) for operand in as_tensors(x, xp, fp))
    if points.ndim != 1 or points.shape != values.shape or not points.size:
        raise ValueError(f"xp and fp must be of one shape (n,), got {points.shape}, {values.shape}")
    at, points = (basics.astype(operand, dtypes.float64, copy=False) for operand in (at, points))
    if period is not None:
        # Nothing lies outside of a period; NumPy ignores `left` and `right` then, too.
        at, points, values = _wrap_period(at, points, values, period)
        left = right = None
    # First every element is interpolated, those outside on the first or last line, and these are
    # then replaced. NaN compares false, and stays.
    inside = _interpolate_or_extrapolate(at, points, values)
    inside = basics.where(at < points[0], values[0] if left is None else left, inside)
    return basics.where(at > points[-1], values[-1] if right is None else right, inside)


def _wrap_period(x: Tensor, points: Tensor, values: Tensor, period: Any) -> tuple[Tensor, ...]:
    """Reduce `x` and points modulo `period`; sort the points and add one beyond each end."""
    length = abs(arguments.as_real_float("period", period))
    if length == 0:
        raise ValueError("period must not be 0")
    x, points = x % length, points % length
    order = points.argsort()
    points, values = points[order], values[order]
    # Each `x` now lies between two points: for a period of 360, points at 10 and 350 become -10,
    # 10, 350 and 370.
    points = basics.concat([points[-1:] - length, points, points[:1] + length])
    return x, points, basics.concat([values[-1:], values, values[:1]])


def _interpolate_or_extrapolate(x: Tensor, points: Tensor, values: Tensor) -> Tensor:
    """Interpolate between neighbouring points; extend the first or last line outside."""
    # A single point has no line. Its value holds everywhere, except where `x` is NaN.
    if points.size == 1:
        return basics.where(x != x, x, values[0])
    line = basics.reshape(x, (-1,))
    # `upper` is the first point beyond `x`. Clipping gives elements outside the first or last line.
    upper = points.searchsorted(line, side="right").clip(1, points.size - 1)
    start, end, first, last = points[upper - 1], points[upper], values[upper - 1], values[upper]
    # At the end of its line an element gets the exact value of the point, from which rounding of
    # the product of slope and distance may differ.
    inside = (last - first) / (end - start) * (line - start) + first
    return basics.reshape(basics.where(line == end, last, inside), x.shape)


def unwrap(
    p: Tensor,
    discont: float | None = None,
    axis: SupportsIndex = -1,
    *,
    period: float = 2 * math.pi,
) -> Tensor:
    """Remove jumps of more than half a `period` from angles `p` along `axis`.

    `discont` is the least jump to remove, if it exceeds half a period. dtypes: real numeric;
    integers become float64. Layout: packed in the input's order.

    Raises `ValueError` (`AxisError`) if `axis` is out of bounds; `TypeError` for any other dtype.

    >>> import tensorlayout as tl
    >>> tl.unwrap(tl.asarray([0.0, 3.0, 1.0]), period=4.0)
    Tensor([ 0., -1., -3.], dtype=float64, device='cpu')
    """
    x = integers_to_float64(p)
    dim = arguments.normalize_axis(axis, x.ndim)
    half = period / 2
    steps = basics.diff(x, axis=dim)
    # Each step modulo the period, from -half up to but not including half. A step of exactly +half
    # would come out as -half: it keeps its sign, as in NumPy.
    folded = (steps + half) % period - half
    folded = basics.where((folded == -half) & (steps > 0), half, folded)
    # The correction of a step holds for all later elements as well, hence the sum.
    turns = basics.where(abs(steps) < (half if discont is None else discont), 0.0, folded - steps)
    before = (slice(None),) * dim
    rest = x[(*before, slice(1, None))] + turns.cumsum(dim)
    return basics.concat([x[(*before, slice(0, 1))], rest], dim)
