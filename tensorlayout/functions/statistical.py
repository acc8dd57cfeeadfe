"""Statistical functions: sums, products, extremes, means, deviations, running totals.

`where`: a tensor of bool, or a condition of any kind, that broadcasts to the shape of `a`; elements
that it leaves out count as nothing. `out`: a tensor of the result's shape, which is returned; its
dtype may be any of the same kind, and if it is wider, the function computes in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, SupportsIndex

from tensorlayout import dtypes
from tensorlayout.functions import arguments
from tensorlayout.functions import primitives as xp
from tensorlayout.functions.operands import beside, check_finite, counted, floating, mean_dtype
from tensorlayout.functions.outputs import given, kind_into, reduced, scanned
from tensorlayout.plan import Reduce, Scan, packed_reduced_layout
from tensorlayout.tensor import Tensor
from tensorlayout.typing import ArrayLike, Axis, DTypeLike, Real, Scalar

__all__ = [
    "average",
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "max",
    "mean",
    "min",
    "prod",
    "ptp",
    "std",
    "sum",
    "var",
]

_SUM = Reduce("sum", "any", "sum", "sum")
_PROD = Reduce("prod", "any", "prod", "sum")
_MIN = Reduce("min", "real numeric", "min", identity=False)
_MAX = Reduce("max", "real numeric", "max", identity=False)
_MEAN = Reduce("mean", "any", "mean")
_VAR = Reduce("var", "real floating", "var")
_STD = Reduce("std", "real floating", "std")


def sum(
    a: Tensor,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Scalar | None = None,
    where: ArrayLike | None = None,
) -> Tensor:
    """The sum of the elements along `axis` (all by default); 0 of none.

    `initial` is added; elements where `where` is false are not. `keepdims`: the axes stay, of size
    1. `out`: receives the result. `dtype`: that of `a`; integers and bool become int64, unsigned
    ones uint64; or the one asked for, to which elements of another kind are converted first, as
    `astype` does. Layout: packed in the input's order.

    Accuracy does not depend on the length, the axis or the layout. Of 16- and 32-bit floats, short
    runs are added up in float32 and all else in float64: 10**8 tenths, or numbers of any signs, are
    within 8.5 * 2**-24 of the sum of magnitudes, before the one rounding to the result's dtype.
    Float64 is added up in runs too.

    TypeError for an axis or a dtype that is none; ValueError (AxisError, which is an IndexError
    too) for an axis outside the rank, or named twice.

    >>> import tensorlayout as tl
    >>> tl.sum(tl.ones((2, 3)), axis=0)
    Tensor([2., 2., 2.], dtype=float64, device='cpu')
    """
    if initial is None and where is None and out is None:
        return reduced(_SUM, a, axis, keepdims, dtype)
    x = selected(a, where, 0)
    found = reduced(_SUM, x, axis, keepdims, kind_into(x, out, dtype))
    return given("sum", _beginning(xp.add, initial, found), out)


def prod(
    a: Tensor,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Scalar | None = None,
    where: ArrayLike | None = None,
) -> Tensor:
    """The product of the elements along `axis` (all by default); 1 of none.

    `initial` is a factor; elements where `where` is false are not. `axis`, `dtype`, `keepdims`,
    `out` and errors (TypeError, ValueError) as in `sum`. Layout: packed in the input's order.

    Floats are multiplied in float64, complex numbers in complex128, and rounded once. A product of
    the first elements that leaves float64's range stays 0 or infinite on the CPU; on a CUDA device
    later factors may bring it back.

    >>> import tensorlayout as tl
    >>> tl.prod(tl.asarray([[1, 2], [3, 4]]), axis=1)
    Tensor([ 2, 12], dtype=int64, device='cpu')
    """
    if initial is None and where is None and out is None:
        return reduced(_PROD, a, axis, keepdims, dtype)
    x = selected(a, where, 1)
    found = reduced(_PROD, x, axis, keepdims, kind_into(x, out, dtype))
    return given("prod", _beginning(xp.multiply, initial, found), out)


def mask_of(a: Tensor, where: Any) -> Tensor:
    """Return `where` as a mask of the shape of `a`."""
    if not isinstance(where, Tensor):
        where = xp.asarray(where, device=a.device)
    if where.dtype != dtypes.bool:
        raise TypeError(f"where must be a tensor of bool, or truths, got {where.dtype}")
    return xp.broadcast_to(where, a.shape)


def selected(a: Any, where: Any, nothing: Any) -> Tensor:
    """Return `a` with `nothing` in place of the elements that `where` leaves out; None is all."""
    a = arguments.tensor(a)
    if where is None:
        return a
    if a.dtype == dtypes.bool:
        nothing = bool(nothing)
    return xp.where(mask_of(a, where), a, nothing)


def _beginning(combine: Callable[[Any, Any], Tensor], initial: Any, found: Tensor) -> Tensor:
    """Return a sum or a product that begins with `initial`, if that is given."""
    return found if initial is None else combine(found, _scalar(initial, found))


def min(
    a: Tensor,
    axis: Axis = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Scalar | None = None,
    where: ArrayLike | None = None,
) -> Tensor:
    """The least element along `axis`; NaN if there is one. -0 is less than +0, in any order.

    dtypes: real numeric and bool, kept. `initial`: the result is at most this; `where` needs it.
    `out`: receives the result. `axis`: one, several, or None for all; `keepdims`: these stay, of
    size 1. Layout: packed in the input's order. TypeError for other dtypes; ValueError of no
    elements, and (AxisError) for an axis outside the rank.

    >>> import tensorlayout as tl
    >>> tl.min(tl.asarray([[1, 5], [4, 2]]), axis=0, keepdims=True)
    Tensor([[1, 2]], dtype=int64, device='cpu')
    """
    plain = type(a) is Tensor and a.spec.dtype.kind != "b"
    if plain and initial is None and where is None and out is None:
        return reduced(_MIN, a, axis, keepdims)
    return _extreme(_MIN, xp.minimum, a, axis, out, keepdims, initial, where)


def max(
    a: Tensor,
    axis: Axis = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Scalar | None = None,
    where: ArrayLike | None = None,
) -> Tensor:
    """The greatest element along `axis`; NaN if there is one. -0 is less than +0, in any order.

    dtypes: real numeric and bool, kept. `initial`: the result is at least this. `axis`, `out`,
    `keepdims`, `where` and errors (TypeError, ValueError) as in `min`. Layout: packed in the
    input's order.

    >>> import tensorlayout as tl
    >>> tl.max(tl.asarray([[1.0, 5.0], [tl.nan, 2.0]]), axis=1)
    Tensor([ 5., nan], dtype=float64, device='cpu')
    """
    plain = type(a) is Tensor and a.spec.dtype.kind != "b"
    if plain and initial is None and where is None and out is None:
        return reduced(_MAX, a, axis, keepdims)
    return _extreme(_MAX, xp.maximum, a, axis, out, keepdims, initial, where)


def _extreme(
    operation: Reduce,
    of_two: Callable[[Any, Any], Tensor],
    a: Tensor,
    axis: Axis,
    out: Tensor | None,
    keepdims: bool,
    initial: Any,
    where: Any,
) -> Tensor:
    name, a = operation.name, arguments.tensor(a)
    kind, where = a.dtype, None if where is True else where
    if kind == dtypes.bool:
        a = xp.astype(a, dtypes.uint8)
        initial = None if initial is None else int(bool(initial))
    if initial is None:
        if where is not None:
            raise ValueError("where needs initial, which stands where nothing is selected")
        found = reduced(operation, a, axis, keepdims)
    else:
        first = _scalar(initial, a)
        a = selected(a, where, first)
        dims = arguments.dims(axis, a.ndim)
        if 0 in [a.shape[d] for d in dims]:
            kept = arguments.truth("keepdims", keepdims)
            shape = packed_reduced_layout(a.spec.layout, dims, kept).shape
            found = xp.full(shape, first.item(), dtype=a.dtype, device=a.device)
        else:
            best = reduced(operation, a, axis, keepdims)
            found = of_two(best, first)
            if dtypes.is_in_category(a.dtype, "real floating"):
                # -0 is below +0, which elementwise functions do not promise.
                ends = (first, best) if of_two is xp.maximum else (best, first)
                found = xp.where(xp.equal(best, first), xp.where(xp.signbit(best), *ends), found)
    return given(name, xp.astype(found, kind, copy=False), out)


def mean(
    a: Tensor,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Tensor:
    """The arithmetic mean along `axis`; NaN of none. Layout: packed in the input's order.

    dtype: that of `a`, float64 for integers and bool, or the floating-point one asked for; added up
    as by `sum`, without a copy in that dtype. `where`: the elements that count; `out`: receives the
    result. `axis`: one, several, or None for all; `keepdims`: these stay, of size 1. TypeError for
    other dtypes, ValueError (AxisError) for an axis outside the rank.

    >>> import tensorlayout as tl
    >>> tl.mean(tl.asarray([[1, 2], [5, 5]]), axis=1)
    Tensor([1.5, 5. ], dtype=float64, device='cpu')
    """
    if (dtype is None and where is None and out is None and type(a) is Tensor) and (
        a.spec.dtype.kind in "fc"
    ):
        return reduced(_MEAN, a, axis, keepdims)
    x = arguments.tensor(a)
    kind = _kind_of_mean(x, dtype, out)
    if where is None:
        return given("mean", reduced(_MEAN, x, axis, keepdims, kind), out)
    found = _masked_mean(xp.astype(x, kind, copy=False), axis, keepdims, mask_of(x, where))
    return given("mean", xp.astype(found, kind, copy=False), out)


def _kind_of_mean(x: Tensor, dtype: Any, out: Any) -> dtypes.DType:
    """Return the dtype of a mean: the one asked for, that of `x` or a wider `out`, or float64."""
    if x.dtype.kind not in "biuc" and isinstance(out, Tensor) and out.dtype.kind != "c":
        dtype = kind_into(x, out, dtype)
    return mean_dtype(x, dtype)


def _masked_mean(a: Tensor, axis: Axis, keepdims: bool, mask: Tensor) -> Tensor:
    """The mean of what is selected, in float64 or complex128; NaN of none."""
    total = sum(xp.where(mask, a, 0), axis=axis, dtype=_wide(a), keepdims=keepdims)
    count = sum(mask, axis=axis, dtype=dtypes.float64, keepdims=keepdims)
    return xp.divide(total, count)


def _wide(a: Tensor) -> dtypes.DType:
    return dtypes.complex128 if a.dtype.kind == "c" else dtypes.float64


def var(
    a: Tensor,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Tensor | None = None,
    ddof: Real = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
    mean: Tensor | None = None,
    correction: Real | None = None,
) -> Tensor:
    """The variance along `axis`, the count in its divisor reduced by `correction`.

    `ddof`: NumPy's name of `correction`. NaN where the divisor is 0 or less. `mean`: the mean along
    `axis`, with its dimensions kept, if you have it already. `where`: the elements that count;
    `out`: receives the result. Two passes, accurate as `sum`, also of numbers that are far from 0
    and close to each other. `dtype`: that of `a`, float64 for integers and bool, or the
    floating-point one asked for; that of the real part for complex numbers, of which it is the mean
    squared distance. Layout: packed in the input's order. `axis`: one, several, or None for all;
    `keepdims`: these stay, of size 1. TypeError for other dtypes, ValueError (AxisError) for an
    axis outside the rank.

    >>> import tensorlayout as tl
    >>> tl.var(tl.asarray([1.0, 2.0, 6.0]), correction=1)
    Tensor(7.0, dtype=float64, device='cpu')
    """
    return _deviation(_VAR, a, axis, keepdims, ddof, correction, dtype, where, mean, out)


def std(
    a: Tensor,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Tensor | None = None,
    ddof: Real = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
    mean: Tensor | None = None,
    correction: Real | None = None,
) -> Tensor:
    """The standard deviation along `axis`: the square root of `var`, rounded once.

    `ddof`, `correction`, `mean`, `where`, `out`, `dtype`, `axis` and `keepdims` are those of `var`.
    dtypes: numeric and bool; the result is real. Layout: packed in the input's order. TypeError for
    other dtypes, ValueError (AxisError) for an axis outside the rank.

    >>> import tensorlayout as tl
    >>> tl.std(tl.asarray([[1.0, 3.0], [5.0, 5.0]]), axis=1)
    Tensor([1., 0.], dtype=float64, device='cpu')
    """
    return _deviation(_STD, a, axis, keepdims, ddof, correction, dtype, where, mean, out)


def _deviation(
    operation: Reduce,
    a: Any,
    axis: Axis,
    keepdims: bool,
    ddof: Any,
    correction: Any,
    dtype: Any,
    where: Any,
    mean: Any,
    out: Any,
) -> Tensor:
    name, less = operation.name, ddof if correction is None else correction
    less = arguments.real_float("ddof" if correction is None else "correction", less)
    if correction is not None and ddof != 0:
        raise ValueError("ddof and correction are two names of one argument, got both")
    is_float = type(a) is Tensor and a.spec.dtype.kind == "f"
    if is_float and dtype is None and where is None and mean is None and out is None:
        return reduced(operation, a, axis, keepdims, None, less)
    x = arguments.tensor(a)
    a = xp.astype(x, _kind_of_mean(x, dtype, out), copy=False)
    if where is None and mean is None and a.spec.dtype.kind != "c":
        return given(name, reduced(operation, a, axis, keepdims, None, less), out)
    dims = arguments.dims(axis, a.ndim)
    kept = arguments.truth("keepdims", keepdims)
    mask = mask_of(a, True if where is None else where)
    middle = _masked_mean(a, dims, True, mask) if mean is None else mean
    distance = xp.where(mask, xp.subtract(xp.astype(a, _wide(a), copy=False), middle), 0)
    squares = xp.square(xp.real(distance))
    if a.dtype.kind == "c":
        squares = xp.add(squares, xp.square(xp.imag(distance)))
    counts = sum(mask, axis=dims, dtype=dtypes.float64, keepdims=kept)
    divisor = xp.subtract(counts, less)
    divisor = xp.where(xp.greater(divisor, 0.0), divisor, math.nan)
    found = xp.divide(sum(squares, axis=dims, keepdims=kept), divisor)
    found = xp.sqrt(found) if operation is _STD else found
    return given(name, xp.astype(found, dtypes.real_part_dtype(a.dtype), copy=False), out)


_CUMULATIVE_SUM = Scan("cumulative_sum", "numeric", "sum", "sum")
_CUMULATIVE_PROD = Scan("cumulative_prod", "numeric", "prod", "sum")
_CUMSUM = Scan("cumsum", "numeric", "sum", "sum")
_CUMPROD = Scan("cumprod", "numeric", "prod", "sum")


def cumulative_sum(
    x: Tensor,
    /,
    *,
    axis: SupportsIndex | None = None,
    dtype: DTypeLike | None = None,
    out: Tensor | None = None,
    include_initial: bool = False,
) -> Tensor:
    """The running sums along `axis` (which may be left out at rank 1).

    `include_initial`: a 0 comes first, and lines are one element longer. dtypes: numeric and bool.
    Result: that of `x` (integers and bool become int64, unsigned ones uint64), or the `dtype` asked
    for. `out`: receives the result. Floats of 16 and 32 bits are added up in float64, each sum
    rounded once. Layout: packed in the input's order. TypeError for an axis or a dtype that is
    none; ValueError for rank 0, and (AxisError) for an axis outside the rank.

    >>> import tensorlayout as tl
    >>> tl.cumulative_sum(tl.asarray([1, 2, 3]), include_initial=True)
    Tensor([0, 1, 3, 6], dtype=int64, device='cpu')
    """
    found = scanned(_CUMULATIVE_SUM, x, axis, dtype, include_initial)
    return found if out is None else given("cumulative_sum", found, out)


def cumulative_prod(
    x: Tensor,
    /,
    *,
    axis: SupportsIndex | None = None,
    dtype: DTypeLike | None = None,
    out: Tensor | None = None,
    include_initial: bool = False,
) -> Tensor:
    """The running products along `axis` (which may be left out at rank 1).

    `include_initial`: a 1 comes first, and lines are one element longer. Multiplied and rounded as
    in `prod`, also where a product leaves float64's range. `dtype`, `out` and errors (TypeError,
    ValueError) as in `cumulative_sum`. Layout: packed in the input's order.

    >>> import tensorlayout as tl
    >>> tl.cumulative_prod(tl.asarray([2, 3, 4]))
    Tensor([ 2,  6, 24], dtype=int64, device='cpu')
    """
    found = scanned(_CUMULATIVE_PROD, x, axis, dtype, include_initial)
    return found if out is None else given("cumulative_prod", found, out)


def cumsum(
    a: Tensor,
    axis: SupportsIndex | None = None,
    dtype: DTypeLike | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The running sums along `axis`, or of all elements in index order.

    dtypes: numeric and bool. `dtype`, `out`, rounding and errors (TypeError, ValueError) as in
    `cumulative_sum`. Layout: packed in the input's order.

    >>> import tensorlayout as tl
    >>> tl.cumsum(tl.asarray([[1, 2], [3, 4]]))
    Tensor([ 1,  3,  6, 10], dtype=int64, device='cpu')
    """
    return given("cumsum", running(_CUMSUM, a, axis, kind_into(a, out, dtype)), out)


def cumprod(
    a: Tensor,
    axis: SupportsIndex | None = None,
    dtype: DTypeLike | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The running products along `axis`, or of all elements in index order.

    Floats are multiplied in float64 and rounded once. `dtype`, `out` and errors (TypeError,
    ValueError) as in `cumsum`. Layout: packed in the input's order.

    >>> import tensorlayout as tl
    >>> tl.cumprod(tl.asarray([[1, 2], [3, 4]]))
    Tensor([ 1,  2,  6, 24], dtype=int64, device='cpu')
    """
    return given("cumprod", running(_CUMPROD, a, axis, kind_into(a, out, dtype)), out)


def running(operation: Scan, a: Any, axis: SupportsIndex | None, dtype: Any) -> Tensor:
    """Carry out a scan along an axis, or over all elements in index order."""
    x = counted(a)
    x = xp.reshape(x, (-1,)) if axis is None else x
    return scanned(operation, x, 0 if axis is None else axis, dtype, False)


def _scalar(initial: Any, like: Tensor) -> Tensor:
    """`initial`, a number or a tensor of rank 0, in the dtype of `like`."""
    check_finite(initial, like.dtype)
    number = xp.asarray(initial, dtype=like.dtype, device=like.device)
    if number.ndim:
        raise ValueError(f"initial must be one number, got shape {number.shape}")
    return number


def ptp(a: Tensor, axis: Axis = None, out: Tensor | None = None, keepdims: bool = False) -> Tensor:
    """The difference between the greatest and the least element along `axis`.

    dtypes: real numeric, kept. `keepdims`: the axes stay, of size 1. `out`: receives the result.
    Layout: packed in the input's order. ValueError of no elements, TypeError for other dtypes.

    >>> import tensorlayout as tl
    >>> tl.ptp(tl.asarray([[1, 5], [4, 2]]), axis=0)
    Tensor([3, 3], dtype=int64, device='cpu')
    """
    found = xp.subtract(max(a, axis, keepdims=keepdims), min(a, axis, keepdims=keepdims))
    return given("ptp", found, out)


def average(
    a: Tensor,
    axis: Axis = None,
    weights: Any = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> Any:
    """The mean along `axis`, each element as often as its weight says.

    `weights`: of the shape of `a`, or of its sizes along `axis`. `returned`: return the pair of the
    mean and the sum of weights. `keepdims`: the axes stay, of size 1. dtypes: numeric and bool; the
    result is floating-point. Layout: packed in the input's order. ZeroDivisionError where weights
    add up to 0; ValueError for weights of another shape, TypeError where `axis` is missing.

    >>> import tensorlayout as tl
    >>> tl.average(tl.asarray([1.0, 4.0]), weights=[2, 1])
    Tensor(2.0, dtype=float64, device='cpu')
    """
    x = arguments.tensor(a)
    if weights is None:
        found = mean(x, axis, None, None, keepdims)
        if not found.size:
            msg = f"average: shape {x.shape} has no lines to average along axis {axis}"
            raise ZeroDivisionError(msg)
        if not returned:
            return found
        count = x.size // found.size
        return found, xp.full(found.shape, count, dtype=found.dtype, device=x.device)
    given_weights = beside(weights, x)
    if given_weights.shape != x.shape:
        if axis is None:
            raise TypeError("axis must be given where shapes of a and weights differ")
        dims = arguments.dims(axis, x.ndim)
        if given_weights.shape != tuple(x.shape[d] for d in dims):
            raise ValueError(f"weights of {given_weights.shape} do not fit {x.shape} along {axis}")
        wide = xp.reshape(given_weights, (*given_weights.shape, *(1,) * (x.ndim - len(dims))))
        given_weights = xp.broadcast_to(xp.moveaxis(wide, tuple(range(len(dims))), dims), x.shape)
    kind = dtypes.promote_dtypes(floating(x).dtype, given_weights.dtype)
    scale = sum(xp.astype(given_weights, kind, copy=False), axis, None, None, keepdims)
    if xp.count_nonzero(xp.equal(scale, 0)):
        raise ZeroDivisionError("average: the weights add up to zero")
    products = xp.multiply(xp.astype(x, kind, copy=False), given_weights)
    found = xp.divide(sum(products, axis, None, None, keepdims), scale)
    return (found, scale) if returned else found
