"""Statistics beyond the standard: reductions and scans that skip NaN, medians, quantiles.

Here because libraries call them on any array namespace that has them. Without them, the caller
computes in NumPy, and the layout is lost.

- xarray, whose reductions of floats skip NaN: `nanargmax`, `nanargmin`, `nancumprod`, `nancumsum`,
  `nanmax`, `nanmean`, `nanmedian`, `nanmin`, `nanprod`, `nanquantile`, `nanstd`, `nanvar`; with
  ``skipna=False``: `cumprod`, `cumsum`, `median`, `quantile`
- Cubed, in its functions of these names and in `nanmean`: `nansum`
- scikit-learn, in `median_absolute_error`: `median`

Names and parameters are NumPy's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy as np

from tensorlayout import dtypes
from tensorlayout.dtypes import DType, as_dtype
from tensorlayout.exchange.numpy import shortage
from tensorlayout.functions import arguments, dispatch
from tensorlayout.functions.data_types import astype
from tensorlayout.functions.elementwise import (
    divide,
    equal,
    greater,
    isnan,
    multiply,
    sqrt,
    subtract,
)
from tensorlayout.functions.manipulation import broadcast_to, expand_dims, reshape, squeeze
from tensorlayout.functions.searching import argmax, count_nonzero, where
from tensorlayout.functions.statistical import reduced, scanned
from tensorlayout.functions.utility import any as any_
from tensorlayout.layout.checks import MAX_RANK
from tensorlayout.plan.reduce import DISCRETE, QUANTILE_METHODS, QuantileMethod, Reduce
from tensorlayout.plan.scan import Scan
from tensorlayout.tensor import Tensor
from tensorlayout.typing import Axis, DTypeLike, Real
from tensorlayout.words import named

__all__ = [
    "cumprod",
    "cumsum",
    "median",
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmedian",
    "nanmin",
    "nanprod",
    "nanquantile",
    "nanstd",
    "nansum",
    "nanvar",
    "quantile",
]

_NANSUM = Reduce("nansum", "any", "sum", "sum")
_NANPROD = Reduce("nanprod", "any", "prod", "sum")
_NANMIN = Reduce("nanmin", "real numeric", "nanmin", identity=False)
_NANMAX = Reduce("nanmax", "real numeric", "nanmax", identity=False)
_NANMEAN = Reduce("nanmean", "numeric", "sum", "sum")
_NANVAR = Reduce("nanvar", "real numeric", "sum", "sum")
_NANSTD = Reduce("nanstd", "real numeric", "sum", "sum")
_NANARGMIN = Reduce("nanargmin", "real numeric", "nanmin", identity=False, single=True)
_NANARGMAX = Reduce("nanargmax", "real numeric", "nanmax", identity=False, single=True)

_CUMSUM = Scan("cumsum", "numeric", "sum", "sum")
_CUMPROD = Scan("cumprod", "numeric", "prod", "sum")
_NANCUMSUM = Scan("nancumsum", "numeric", "sum", "sum")
_NANCUMPROD = Scan("nancumprod", "numeric", "prod", "sum")


def _filled(x: Tensor, value: float) -> Tensor:
    """`x` with `value` in place of NaN."""
    return where(isnan(x), value, x) if _may_hold_nan(x) else x


def _may_hold_nan(x: Tensor) -> Any:
    return dtypes.in_category(x.dtype, "floating-point")


def nansum(
    x: Tensor, /, axis: Axis = None, *, dtype: DTypeLike | None = None, keepdims: bool = False
) -> Tensor:
    """The sum of the elements along `axis` that are not NaN; 0 of none.

    dtypes: numeric and bool. Result: that of `x` (integers and bool become int64, unsigned ones
    uint64), or the `dtype` asked for. `keepdims`: the axes stay, of size 1. Layout: packed in the
    input's order. TypeError for an axis or a dtype that is none; ValueError (AxisError) for an axis
    outside the rank, or named twice.

    >>> import tensorlayout as tl
    >>> tl.nansum(tl.asarray([1.0, tl.nan, 3.0]))
    Tensor(4.0, dtype=float64, device='cpu')
    """
    return _added(_NANSUM, x, 0, axis, dtype, keepdims)


def nanprod(
    x: Tensor, /, axis: Axis = None, *, dtype: DTypeLike | None = None, keepdims: bool = False
) -> Tensor:
    """The product of the elements along `axis` that are not NaN; 1 of none.

    dtypes: numeric and bool. Result: that of `x` (integers and bool become int64, unsigned ones
    uint64), or the `dtype` asked for. `keepdims`: the axes stay, of size 1. Layout: packed in the
    input's order. TypeError for an axis or a dtype that is none; ValueError (AxisError) for an axis
    outside the rank, or named twice.

    >>> import tensorlayout as tl
    >>> tl.nanprod(tl.asarray([[2.0, tl.nan, 4.0]]), axis=1)
    Tensor([8.], dtype=float64, device='cpu')
    """
    return _added(_NANPROD, x, 1, axis, dtype, keepdims)


def _added(
    operation: Reduce, x: Tensor, identity: int, axis: Axis, dtype: Any, keepdims: bool
) -> Tensor:
    x = _filled(arguments.tensor(operation.name, x), identity)
    return reduced(operation, x, axis, keepdims, dtype)


def nanmin(x: Tensor, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """The least element along `axis` that is not NaN; NaN if all are. -0 is less than +0.

    dtypes: real numeric, kept. `axis`: one, several, or None for all; `keepdims`: these stay, of
    size 1. Layout: packed in the input's order. ValueError of no elements, and (AxisError) for an
    axis outside the rank; TypeError for other dtypes.

    >>> import tensorlayout as tl
    >>> tl.nanmin(tl.asarray([[tl.nan, 7.0, 3.0]]), axis=1)
    Tensor([3.], dtype=float64, device='cpu')
    """
    return reduced(_NANMIN, x, axis, keepdims)


def nanmax(x: Tensor, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """The greatest element along `axis` that is not NaN; NaN if all are. -0 is less than +0.

    dtypes: real numeric, kept. `axis`: one, several, or None for all; `keepdims`: these stay, of
    size 1. Layout: packed in the input's order. ValueError of no elements, and (AxisError) for an
    axis outside the rank; TypeError for other dtypes.

    >>> import tensorlayout as tl
    >>> tl.nanmax(tl.asarray([[1.0, tl.nan], [tl.nan, tl.nan]]), axis=1)
    Tensor([ 1., nan], dtype=float64, device='cpu')
    """
    return reduced(_NANMAX, x, axis, keepdims)


def nanargmin(x: Tensor, /, axis: SupportsIndex | None = None, *, keepdims: bool = False) -> Tensor:
    """The position of the first least element that is not NaN.

    dtypes: real numeric; the result is int64. `axis`: None numbers all elements in row-major index
    order; `keepdims`: the axes stay, of size 1. Layout: packed in the input's order. ValueError
    where all are NaN, and (AxisError) for an axis outside the rank; TypeError for other dtypes.

    >>> import tensorlayout as tl
    >>> tl.nanargmin(tl.asarray([tl.nan, 7.0, 3.0]))
    Tensor(2, dtype=int64, device='cpu')
    """
    return _position(_NANARGMIN, x, axis, keepdims)


def nanargmax(x: Tensor, /, axis: SupportsIndex | None = None, *, keepdims: bool = False) -> Tensor:
    """The position of the first greatest element that is not NaN.

    dtypes: real numeric; the result is int64. `axis`: None numbers all elements in row-major index
    order; `keepdims`: the axes stay, of size 1. Layout: packed in the input's order. ValueError
    where all are NaN, and (AxisError) for an axis outside the rank; TypeError for other dtypes.

    >>> import tensorlayout as tl
    >>> tl.nanargmax(tl.asarray([1.0, tl.nan, 3.0]))
    Tensor(2, dtype=int64, device='cpu')
    """
    return _position(_NANARGMAX, x, axis, keepdims)


def _position(operation: Reduce, x: Tensor, axis: SupportsIndex | None, keepdims: bool) -> Tensor:
    """Where the extreme is: the first element equal to it."""
    x = arguments.tensor(operation.name, x)
    kept = arguments.truth(operation.name, "keepdims", keepdims)
    best = reduced(operation, x, axis, keepdims=True)
    if _may_hold_nan(x) and any_(isnan(best)):
        msg = f"{operation.name}: all elements along axis {axis} are NaN"
        raise ValueError(msg)
    return argmax(astype(equal(x, best), dtypes.uint8), axis=axis, keepdims=kept)


def nanmean(
    x: Tensor, /, axis: Axis = None, *, dtype: DTypeLike | None = None, keepdims: bool = False
) -> Tensor:
    """The mean of the elements along `axis` that are not NaN; NaN of none.

    dtypes: numeric. `axis`: one, several, or None for all; `keepdims`: these stay, of size 1.
    `dtype`: that of `x`, float64 for integers, or the floating-point one asked for; worked
    out in float64 and rounded once. Layout: packed in the input's order. TypeError for any other
    dtype, ValueError (AxisError) for an axis outside the rank.

    >>> import tensorlayout as tl
    >>> tl.nanmean(tl.asarray([[1.0, tl.nan, 3.0]]), axis=1)
    Tensor([2.], dtype=float64, device='cpu')
    """
    x = arguments.tensor("nanmean", x)
    total, count = _total(_NANMEAN, x, axis, keepdims)
    return astype(divide(total, count), mean_dtype("nanmean", x, dtype), copy=False)


def _total(operation: Reduce, x: Tensor, axis: Axis, keepdims: bool) -> tuple[Tensor, Tensor]:
    """The sum of what is not NaN, in float64 or complex128, and how many that are, in float64."""
    wide = dtypes.complex128 if x.dtype.kind == "c" else dtypes.float64
    filled = _filled(x, 0)
    if dtypes.in_category(x.dtype, "integral"):
        filled = astype(filled, wide)
    total = reduced(operation, filled, axis, keepdims, wide)
    count = count_nonzero(equal(x, x), axis=axis, keepdims=keepdims)
    return total, astype(count, dtypes.float64)


def mean_dtype(name: str, x: Tensor, dtype: Any) -> DType:
    """The dtype of a mean: the one asked for, that of `x`, or float64."""
    kind = x.dtype if dtype is None else as_dtype(dtype, f"{name}: dtype")
    if x.dtype.kind == "c" and dtypes.in_category(kind, "real floating"):
        msg = f"{name}: {x.dtype} cannot become {kind}; take real() or abs() first"
        raise TypeError(msg)
    if dtypes.in_category(kind, "floating-point"):
        return kind
    if dtype is not None:
        msg = f"{name}: dtype must be floating-point, got {kind}"
        raise TypeError(msg)
    return dtypes.float64


def nanvar(
    x: Tensor,
    /,
    axis: Axis = None,
    *,
    dtype: DTypeLike | None = None,
    ddof: Real = 0,
    correction: Real | None = None,
    keepdims: bool = False,
) -> Tensor:
    """The variance of the elements along `axis` that are not NaN.

    `ddof`, which NumPy also calls `correction`: what the count in the divisor is reduced by; NaN
    where nothing is left of it. `axis`: one, several, or None for all; `keepdims`: these stay, of
    size 1. dtypes: real numeric. Result: that of `x`, float64 for integers, or the floating-point
    `dtype` asked for. Layout: packed in the input's order. TypeError for other dtypes, ValueError
    (AxisError) for an axis outside the rank.

    >>> import tensorlayout as tl
    >>> tl.nanvar(tl.asarray([[1.0, tl.nan, 5.0]]), axis=1)
    Tensor([4.], dtype=float64, device='cpu')
    """
    less = ddof if correction is None else correction
    kind = mean_dtype("nanvar", arguments.tensor("nanvar", x), dtype)
    return astype(_variance(_NANVAR, x, axis, less, keepdims), kind)


def nanstd(
    x: Tensor,
    /,
    axis: Axis = None,
    *,
    dtype: DTypeLike | None = None,
    ddof: Real = 0,
    correction: Real | None = None,
    keepdims: bool = False,
) -> Tensor:
    """The standard deviation of the elements along `axis` that are not NaN.

    `ddof`, which NumPy also calls `correction`: what the count in the divisor is reduced by; NaN
    where nothing is left of it. `axis`: one, several, or None for all; `keepdims`: these stay, of
    size 1. dtypes: real numeric. Result: that of `x`, float64 for integers, or the floating-point
    `dtype` asked for. Layout: packed in the input's order. TypeError for other dtypes, ValueError
    (AxisError) for an axis outside the rank.

    >>> import tensorlayout as tl
    >>> tl.nanstd(tl.asarray([[1.0, tl.nan, 5.0]]), axis=1)
    Tensor([2.], dtype=float64, device='cpu')
    """
    less = ddof if correction is None else correction
    found = sqrt(_variance(_NANSTD, x, axis, less, keepdims))
    return astype(found, mean_dtype("nanstd", x, dtype))


def _variance(operation: Reduce, x: Tensor, axis: Axis, less: Real, keepdims: bool) -> Tensor:
    name = operation.name
    x = arguments.tensor(name, x)
    reduction = arguments.as_float(name, arguments.real(name, "correction", less))
    total, count = _total(operation, x, axis, keepdims=True)
    distance = subtract(astype(x, dtypes.float64), divide(total, count))
    if _may_hold_nan(x):  # that of an infinity is NaN too, and stays
        distance = where(isnan(x), 0.0, distance)
    squares = reduced(operation, multiply(distance, distance), axis, keepdims)
    divisor = subtract(count if keepdims else reshape(count, squares.shape), reduction)
    return divide(squares, where(greater(divisor, 0), divisor, float("nan")))


def cumsum(
    x: Tensor, /, axis: SupportsIndex | None = None, *, dtype: DTypeLike | None = None
) -> Tensor:
    """The running sums along `axis`, or of all elements in index order.

    dtypes: numeric and bool. Result: that of `x` (integers and bool become int64, unsigned ones
    uint64), or the `dtype` asked for. Floats of 16 and 32 bits are added up in float64, each sum
    rounded once. Layout: packed in the input's order. TypeError for an axis or a dtype that is
    none; ValueError (AxisError) for an axis outside the rank.

    >>> import tensorlayout as tl
    >>> tl.cumsum(tl.asarray([[1, 2], [3, 4]]))
    Tensor([ 1,  3,  6, 10], dtype=int64, device='cpu')
    """
    return _running(_CUMSUM, x, axis, dtype)


def cumprod(
    x: Tensor, /, axis: SupportsIndex | None = None, *, dtype: DTypeLike | None = None
) -> Tensor:
    """The running products along `axis`, or of all elements in index order.

    dtypes: numeric and bool. Result: that of `x` (integers and bool become int64, unsigned ones
    uint64), or the `dtype` asked for. Floats are multiplied in float64 and rounded once. Layout:
    packed in the input's order. TypeError for an axis or a dtype that is none; ValueError
    (AxisError) for an axis outside the rank.

    >>> import tensorlayout as tl
    >>> tl.cumprod(tl.asarray([[1, 2], [3, 4]]))
    Tensor([ 1,  2,  6, 24], dtype=int64, device='cpu')
    """
    return _running(_CUMPROD, x, axis, dtype)


def nancumsum(
    x: Tensor, /, axis: SupportsIndex | None = None, *, dtype: DTypeLike | None = None
) -> Tensor:
    """The running sums along `axis`, or of all elements in index order; NaN counts as 0.

    dtypes: numeric and bool. Result: that of `x` (integers and bool become int64, unsigned ones
    uint64), or the `dtype` asked for. Layout: packed in the input's order. TypeError for an axis or
    a dtype that is none; ValueError (AxisError) for an axis outside the rank.

    >>> import tensorlayout as tl
    >>> tl.nancumsum(tl.asarray([2.0, tl.nan, 3.0]))
    Tensor([2., 2., 5.], dtype=float64, device='cpu')
    """
    return _running(_NANCUMSUM, x, axis, dtype, 0)


def nancumprod(
    x: Tensor, /, axis: SupportsIndex | None = None, *, dtype: DTypeLike | None = None
) -> Tensor:
    """The running products along `axis`, or of all elements in index order; NaN counts as 1.

    dtypes: numeric and bool. Result: that of `x` (integers and bool become int64, unsigned ones
    uint64), or the `dtype` asked for. Layout: packed in the input's order. TypeError for an axis or
    a dtype that is none; ValueError (AxisError) for an axis outside the rank.

    >>> import tensorlayout as tl
    >>> tl.nancumprod(tl.asarray([2.0, tl.nan, 3.0]))
    Tensor([2., 2., 6.], dtype=float64, device='cpu')
    """
    return _running(_NANCUMPROD, x, axis, dtype, 1)


def _running(
    operation: Scan, x: Tensor, axis: SupportsIndex | None, dtype: Any, identity: int | None = None
) -> Tensor:
    x = arguments.tensor(operation.name, x)
    if axis is None:
        x = reshape(x, (-1,))
    if identity is not None:
        x = _filled(x, identity)
    if x.dtype == dtypes.bool:
        x = astype(x, dtypes.int64)
    return scanned(operation, x, 0 if axis is None else axis, dtype, False)


_QUANTILES = {
    name: Reduce(name, "real numeric", "quantile")
    for name in ("median", "quantile", "nanmedian", "nanquantile")
}


def median(x: Tensor, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """The middle of the elements along `axis`, or the mean of the two; NaN of none or if one is.

    dtypes: real numeric. Result: that of `x`, float64 for integers. `axis`: one, several, or None
    for all; `keepdims`: these stay, of size 1. Layout: packed in the input's order. TypeError for
    other dtypes, ValueError (AxisError) for an axis outside the rank.

    >>> import tensorlayout as tl
    >>> tl.median(tl.asarray([[1.0, 9.0, 2.0], [4.0, 4.0, 8.0]]), axis=1)
    Tensor([2., 4.], dtype=float64, device='cpu')
    """
    return _quantiles("median", x, 0.5, axis, "linear", keepdims)


def nanmedian(x: Tensor, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """The median of the elements along `axis` that are not NaN; NaN of none.

    dtypes: real numeric. Result: that of `x`, float64 for integers. `axis`: one, several, or None
    for all; `keepdims`: these stay, of size 1. Layout: packed in the input's order. TypeError for
    other dtypes, ValueError (AxisError) for an axis outside the rank.

    >>> import tensorlayout as tl
    >>> tl.nanmedian(tl.asarray([[8.0, tl.nan, 1.0, 3.0]]), axis=1)
    Tensor([3.], dtype=float64, device='cpu')
    """
    return _quantiles("nanmedian", x, 0.5, axis, "linear", keepdims)


def quantile(
    x: Tensor,
    /,
    q: Tensor | Real | Sequence[Real | Sequence[Real]],
    axis: Axis = None,
    *,
    method: QuantileMethod = "linear",
    keepdims: bool = False,
) -> Tensor:
    """The values below which fractions `q` of the elements along `axis` lie; NaN if one is.

    `q`: a number from 0 to 1, or a sequence or tensor of them, whose dimensions come first in the
    result. `method`: what to do between elements, by NumPy's names (the continuous ones, and
    ``lower``, ``higher``, ``nearest``, ``midpoint``). `keepdims`: the axes stay, of size 1. dtypes:
    real numeric. Result: that of `x`; float64 for integers, unless the method is ``lower``,
    ``higher`` or ``nearest``, which give elements as they are. Layout: packed in the input's order,
    the dimensions of `q` slowest. ValueError for other `q` or methods, TypeError for other dtypes,
    IndexError where such a method finds no integers.

    >>> import tensorlayout as tl
    >>> tl.quantile(tl.asarray([1.0, 2.0, 3.0, 4.0]), [0.25, 0.5])
    Tensor([1.75, 2.5 ], dtype=float64, device='cpu')
    """
    return _quantiles("quantile", x, q, axis, method, keepdims)


def nanquantile(
    x: Tensor,
    /,
    q: Tensor | Real | Sequence[Real | Sequence[Real]],
    axis: Axis = None,
    *,
    method: QuantileMethod = "linear",
    keepdims: bool = False,
) -> Tensor:
    """The values below which fractions `q` of the elements that are not NaN lie; NaN of none.

    `q`: a number from 0 to 1, or a sequence or tensor of them, whose dimensions come first in the
    result. `axis`, `method`, `keepdims` and the dtype of the result are those of `quantile`.
    dtypes: real numeric. Layout: packed in the input's order, the dimensions of `q` slowest.
    ValueError for other `q` or methods, TypeError for other dtypes, IndexError as `quantile`.

    >>> import tensorlayout as tl
    >>> tl.nanquantile(tl.asarray([[1.0, tl.nan, 3.0]]), 0.5, axis=1)
    Tensor([2.], dtype=float64, device='cpu')
    """
    return _quantiles("nanquantile", x, q, axis, method, keepdims)


def _quantiles(name: str, x: Tensor, q: Any, axis: Axis, method: str, keepdims: bool) -> Tensor:
    x = arguments.tensor(name, x)
    fractions = _fractions(name, q)
    if not ((fractions >= 0) & (fractions <= 1)).all():
        msg = f"{name}: q must be from 0 to 1, got {arguments.shown(q)}"
        raise ValueError(msg)
    known = f"one of {', '.join(QUANTILE_METHODS)}"
    arguments.choice(name, "method", method, known, QUANTILE_METHODS)
    dims = arguments.dims(name, axis, x.ndim)
    kept = arguments.truth(name, "keepdims", keepdims)
    exact = method in DISCRETE
    if exact and not _may_hold_nan(x) and any(x.shape[d] == 0 for d in dims):
        msg = f"no elements along axis {dims} of shape {x.shape}, and {x.dtype} has no NaN"
        raise named(name, IndexError(msg))
    if x.ndim == MAX_RANK:
        return _quantiles_of_most_dims(name, x, fractions, dims, method, kept)
    # A new first dimension, over the fractions, that repeats `x` by stride 0: then a reduction
    # gives them all, in one pass and in the order of `x`.
    wide = broadcast_to(x, (fractions.size, *x.shape))
    static = (tuple(fractions.ravel().tolist()), method, name.startswith("nan"))
    inner = tuple(d + 1 for d in dims)
    key = (wide._spec, inner, kept, x.dtype if exact else mean_dtype(name, x, None), *static)
    found = dispatch.call(_QUANTILES[name], key, (wide,))
    return squeeze(found, 0) if fractions.ndim == 0 else _led_by(found, fractions.shape)


def _quantiles_of_most_dims(
    name: str, x: Tensor, fractions: Any, dims: tuple[int, ...], method: str, keepdims: bool
) -> Tensor:
    """Drop a dimension of size 1, to make room for the fractions: of 64, two have that size."""
    spare = next(d for d, n in enumerate(x.shape) if n == 1 and dims != (d,))
    rest = tuple(d - (d > spare) for d in dims if d != spare)
    found = _quantiles(name, squeeze(x, spare), fractions, rest, method, keepdims)
    if spare in dims and not keepdims:
        return found
    place = spare if keepdims else spare - sum(d < spare for d in dims)
    return expand_dims(found, axis=place + fractions.ndim)


def _fractions(name: str, q: Any) -> Any:
    """`q`, a number or numbers in any arrangement, as an array of float64."""
    try:
        numbers = np.asarray(q)
        if numbers.dtype.kind not in "biufV":
            raise TypeError
        return numbers.astype(np.float64)
    except MemoryError as error:
        msg = f"{name}: {shortage(error)}"
        raise MemoryError(msg) from None
    except (TypeError, ValueError):
        msg = f"{name}: q must be a real number, or several, got {arguments.shown(q)}"
        raise TypeError(msg) from None


def _led_by(found: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The first dimension split into `shape`: a view, as it is the slowest."""
    return found if len(shape) == 1 else reshape(found, (*shape, *found.shape[1:]))
