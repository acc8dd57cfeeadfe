"""Statistical functions: sums, products, extremes, means, deviations, running totals.

`where` is a bool tensor, or any condition, that broadcasts to the shape of `a`; the elements where
it is false are ignored. `out` is a tensor of the result's shape, which is returned; its dtype may
be any of the same kind, and if it is wider, the function computes in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, SupportsIndex

from tensorlayout import dtypes
from tensorlayout.functions import arguments
from tensorlayout.functions import primitives as xp
from tensorlayout.functions.operands import (
    as_tensor_on_device_of,
    bools_to_integers,
    check_finite,
    integers_to_float64,
    mean_dtype,
)
from tensorlayout.functions.outputs import (
    accumulation_dtype,
    call_reduction,
    call_scan,
    store_in_out,
)
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
    """Return the sum of the elements along `axis`; 0 for no elements.

    - `axis`: one dimension, several, or None for all.
    - `dtype`: dtype of the result; elements of another kind are converted first, as by `astype`. By
      default that of `a`; bool and integers give int64, unsigned integers uint64.
    - `out`: a tensor that receives the result.
    - `keepdims`: keep the summed dimensions with size 1.
    - `initial`: a number to add. `where`: elements where it is false are not added.

    Returns a new tensor. Layout: packed in the input's order.

    Raises `TypeError` for an invalid axis or dtype, and `AxisError` (a `ValueError` and an
    `IndexError`) for an axis that is out of bounds or repeated.

    Accuracy does not depend on length, axis or layout. For 16- and 32-bit floats, short runs are
    added in float32 and the runs in float64: sums of 10**8 elements of any sign are within 8.5 *
    2**-24 of the sum of magnitudes, before one rounding to the result's dtype. Float64 is added in
    runs, too.

    >>> import tensorlayout as tl
    >>> tl.sum(tl.ones((2, 3)), axis=0)
    Tensor([2., 2., 2.], dtype=float64, device='cpu')
    """
    if initial is None and where is None and out is None:
        return call_reduction(_SUM, a, axis, keepdims, dtype)
    x = replace_unselected(a, where, 0)
    result = call_reduction(_SUM, x, axis, keepdims, accumulation_dtype(x, out, dtype))
    return store_in_out("sum", _combine_with_initial(xp.add, initial, result), out)


def prod(
    a: Tensor,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Scalar | None = None,
    where: ArrayLike | None = None,
) -> Tensor:
    """Return the product of the elements along `axis`; 1 for no elements.

    - `axis`, `dtype`, `out`, `keepdims`: as for `sum`.
    - `initial`: an additional factor. `where`: elements where it is false are left out.

    Returns a new tensor. Layout: packed in the input's order.

    Raises `TypeError` and `ValueError` as `sum`.

    Floats are multiplied in float64, complex numbers in complex128, and rounded once. If the
    product of the first elements leaves float64's range, it stays 0 or infinite on the CPU; on a
    CUDA device later factors may bring it back.

    >>> import tensorlayout as tl
    >>> tl.prod(tl.asarray([[1, 2], [3, 4]]), axis=1)
    Tensor([ 2, 12], dtype=int64, device='cpu')
    """
    if initial is None and where is None and out is None:
        return call_reduction(_PROD, a, axis, keepdims, dtype)
    x = replace_unselected(a, where, 1)
    result = call_reduction(_PROD, x, axis, keepdims, accumulation_dtype(x, out, dtype))
    return store_in_out("prod", _combine_with_initial(xp.multiply, initial, result), out)


def broadcast_mask(a: Tensor, where: Any) -> Tensor:
    """Return `where` as a mask of the shape of `a`."""
    if not isinstance(where, Tensor):
        where = xp.asarray(where, device=a.device)
    if where.dtype != dtypes.bool:
        raise TypeError(f"where must be a tensor of bool, or truths, got {where.dtype}")
    return xp.broadcast_to(where, a.shape)


def replace_unselected(a: Any, where: Any, fill_value: Any) -> Tensor:
    """Replace the elements where `where` is false by `fill_value`; None replaces nothing."""
    a = arguments.as_tensor(a)
    if where is None:
        return a
    # An int would promote bool to int64.
    if a.dtype == dtypes.bool:
        fill_value = bool(fill_value)
    return xp.where(broadcast_mask(a, where), a, fill_value)


def _combine_with_initial(
    combine: Callable[[Any, Any], Tensor], initial: Any, result: Tensor
) -> Tensor:
    """Combine a sum or product with `initial`, unless that is None."""
    return result if initial is None else combine(result, _initial_as_tensor(initial, result))


def min(
    a: Tensor,
    axis: Axis = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Scalar | None = None,
    where: ArrayLike | None = None,
) -> Tensor:
    """Return the least element along `axis`; NaN if there is one. -0 is less than +0.

    - `axis`: one dimension, several, or None for all.
    - `out`: a tensor that receives the result.
    - `keepdims`: keep the reduced dimensions with size 1.
    - `initial`: upper limit of the result. `where`: the elements to include, which requires
      `initial`.

    Returns a new tensor; dtypes: real numeric and bool, kept. Layout: packed in the input's order.

    Raises `TypeError` for other dtypes, `ValueError` for no elements, and `AxisError` (a
    `ValueError`) for an axis that is out of bounds.

    >>> import tensorlayout as tl
    >>> tl.min(tl.asarray([[1, 5], [4, 2]]), axis=0, keepdims=True)
    Tensor([[1, 2]], dtype=int64, device='cpu')
    """
    plain = type(a) is Tensor and a.spec.dtype.kind != "b"
    if plain and initial is None and where is None and out is None:
        return call_reduction(_MIN, a, axis, keepdims)
    return _call_extreme(_MIN, xp.minimum, a, axis, out, keepdims, initial, where)


def max(
    a: Tensor,
    axis: Axis = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Scalar | None = None,
    where: ArrayLike | None = None,
) -> Tensor:
    """Return the greatest element along `axis`; NaN if there is one. -0 is less than +0.

    - `axis`, `out`, `keepdims`, `where`: as for `min`.
    - `initial`: lower limit of the result.

    Returns a new tensor; dtypes: real numeric and bool, kept. Layout: packed in the input's order.

    Raises `TypeError` and `ValueError` as `min`.

    >>> import tensorlayout as tl
    >>> tl.max(tl.asarray([[1.0, 5.0], [tl.nan, 2.0]]), axis=1)
    Tensor([ 5., nan], dtype=float64, device='cpu')
    """
    plain = type(a) is Tensor and a.spec.dtype.kind != "b"
    if plain and initial is None and where is None and out is None:
        return call_reduction(_MAX, a, axis, keepdims)
    return _call_extreme(_MAX, xp.maximum, a, axis, out, keepdims, initial, where)


def _call_extreme(
    operation: Reduce,
    combine: Callable[[Any, Any], Tensor],
    a: Tensor,
    axis: Axis,
    out: Tensor | None,
    keepdims: bool,
    initial: Any,
    where: Any,
) -> Tensor:
    name, a = operation.name, arguments.as_tensor(a)
    kind, where = a.dtype, None if where is True else where
    if kind == dtypes.bool:
        a = xp.astype(a, dtypes.uint8)
        initial = None if initial is None else int(bool(initial))
    if initial is None:
        if where is not None:
            raise ValueError("where needs initial, which stands where nothing is selected")
        result = call_reduction(operation, a, axis, keepdims)
    else:
        start = _initial_as_tensor(initial, a)
        # The initial value takes part anyway, so more of it change nothing.
        a = replace_unselected(a, where, start)
        dims = arguments.normalize_axes(axis, a.ndim)
        # A reduction of no elements has no result of its own.
        if 0 in [a.shape[d] for d in dims]:
            keeps_dims = arguments.check_bool("keepdims", keepdims)
            shape = packed_reduced_layout(a.spec.layout, dims, keeps_dims).shape
            result = xp.full(shape, start.item(), dtype=a.dtype, device=a.device)
        else:
            extreme = call_reduction(operation, a, axis, keepdims)
            result = combine(extreme, start)
            if dtypes.is_in_category(a.dtype, "real floating"):
                # -0 is below +0, which elementwise functions do not promise.
                ends = (start, extreme) if combine is xp.maximum else (extreme, start)
                result = xp.where(
                    xp.equal(extreme, start), xp.where(xp.signbit(extreme), *ends), result
                )
    return store_in_out(name, xp.astype(result, kind, copy=False), out)


def mean(
    a: Tensor,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Tensor:
    """Return the arithmetic mean along `axis`; NaN for no elements.

    - `axis`: one dimension, several, or None for all.
    - `dtype`: a floating-point dtype for the result; by default that of `a`, float64 for integers
      and bool. The elements are added as by `sum`, without a copy in that dtype.
    - `out`: a tensor that receives the result.
    - `keepdims`: keep the reduced dimensions with size 1. `where`: the elements to include.

    Returns a new tensor. Layout: packed in the input's order.

    Raises `TypeError` for other dtypes, and `AxisError` (a `ValueError`) for an axis that is out of
    bounds.

    >>> import tensorlayout as tl
    >>> tl.mean(tl.asarray([[1, 2], [5, 5]]), axis=1)
    Tensor([1.5, 5. ], dtype=float64, device='cpu')
    """
    if (dtype is None and where is None and out is None and type(a) is Tensor) and (
        a.spec.dtype.kind in "fc"
    ):
        return call_reduction(_MEAN, a, axis, keepdims)
    x = arguments.as_tensor(a)
    kind = _mean_dtype_with_out(x, dtype, out)
    if where is None:
        return store_in_out("mean", call_reduction(_MEAN, x, axis, keepdims, kind), out)
    result = _masked_mean(xp.astype(x, kind, copy=False), axis, keepdims, broadcast_mask(x, where))
    return store_in_out("mean", xp.astype(result, kind, copy=False), out)


def _mean_dtype_with_out(x: Tensor, dtype: Any, out: Any) -> dtypes.DType:
    """Return the dtype of a mean: the requested one, that of `x` or a wider `out`, or float64."""
    if x.dtype.kind not in "biuc" and isinstance(out, Tensor) and out.dtype.kind != "c":
        dtype = accumulation_dtype(x, out, dtype)
    return mean_dtype(x, dtype)


def _masked_mean(a: Tensor, axis: Axis, keepdims: bool, mask: Tensor) -> Tensor:
    """Return the mean of the selected elements, in float64 or complex128; NaN if there are none."""
    # Chosen and not multiplied by the mask, as NaN * 0 would be NaN.
    total = sum(xp.where(mask, a, 0), axis=axis, dtype=_float64_or_complex128(a), keepdims=keepdims)
    count = sum(mask, axis=axis, dtype=dtypes.float64, keepdims=keepdims)
    return xp.divide(total, count)


def _float64_or_complex128(a: Tensor) -> dtypes.DType:
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
    """Return the variance along `axis`.

    - `axis`: one dimension, several, or None for all.
    - `dtype`: a floating-point dtype for the result; by default that of `a`, float64 for integers
      and bool, and the dtype of the real part for complex numbers.
    - `out`: a tensor that receives the result.
    - `correction`, or its NumPy name `ddof`: number to subtract from the count in the divisor.
    - `keepdims`: keep the reduced dimensions with size 1. `where`: the elements to include.
    - `mean`: the mean along `axis` with its dimensions kept, if it is known already.

    Returns a new tensor: the mean squared distance from the mean, or NaN if the divisor is 0 or
    less. Layout: packed in the input's order.

    Raises `TypeError` for other dtypes, and `AxisError` (a `ValueError`) for an axis that is out of
    bounds.

    The computation takes two passes. It is as accurate as `sum`, also for numbers that are far from
    0 and close to each other.

    >>> import tensorlayout as tl
    >>> tl.var(tl.asarray([1.0, 2.0, 6.0]), correction=1)
    Tensor(7.0, dtype=float64, device='cpu')
    """
    return _variance_or_deviation(
        _VAR, a, axis, keepdims, ddof, correction, dtype, where, mean, out
    )


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
    """Return the standard deviation along `axis`: the square root of `var`, rounded once.

    - `axis`, `dtype`, `out`, `ddof`, `correction`, `keepdims`, `where`, `mean`: as for `var`.

    Returns a new real tensor; dtypes: numeric and bool. Layout: packed in the input's order.

    Raises `TypeError` for other dtypes, and `AxisError` (a `ValueError`) for an axis that is out of
    bounds.

    >>> import tensorlayout as tl
    >>> tl.std(tl.asarray([[1.0, 3.0], [5.0, 5.0]]), axis=1)
    Tensor([1., 0.], dtype=float64, device='cpu')
    """
    return _variance_or_deviation(
        _STD, a, axis, keepdims, ddof, correction, dtype, where, mean, out
    )


def _variance_or_deviation(
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
    name, dof_correction = operation.name, ddof if correction is None else correction
    dof_correction = arguments.as_real_float(
        "ddof" if correction is None else "correction", dof_correction
    )
    if correction is not None and ddof != 0:
        raise ValueError("ddof and correction are two names of one argument, got both")
    # One compiled reduction. Everything else is composed of elementwise functions and sums.
    is_float = type(a) is Tensor and a.spec.dtype.kind == "f"
    if is_float and dtype is None and where is None and mean is None and out is None:
        return call_reduction(operation, a, axis, keepdims, None, dof_correction)
    x = arguments.as_tensor(a)
    a = xp.astype(x, _mean_dtype_with_out(x, dtype, out), copy=False)
    if where is None and mean is None and a.spec.dtype.kind != "c":
        return store_in_out(
            name, call_reduction(operation, a, axis, keepdims, None, dof_correction), out
        )
    dims = arguments.normalize_axes(axis, a.ndim)
    keeps_dims = arguments.check_bool("keepdims", keepdims)
    mask = broadcast_mask(a, True if where is None else where)
    center = _masked_mean(a, dims, True, mask) if mean is None else mean
    # Distances are squared in float64, where squares of 16- and 32-bit floats do not overflow.
    distance = xp.where(
        mask, xp.subtract(xp.astype(a, _float64_or_complex128(a), copy=False), center), 0
    )
    squares = xp.square(xp.real(distance))
    # The squared magnitude, without the square root that abs() would take.
    if a.dtype.kind == "c":
        squares = xp.add(squares, xp.square(xp.imag(distance)))
    counts = sum(mask, axis=dims, dtype=dtypes.float64, keepdims=keeps_dims)
    divisor = xp.subtract(counts, dof_correction)
    # Like the compiled reduction: NaN, not infinity, if the divisor is not positive.
    divisor = xp.where(xp.greater(divisor, 0.0), divisor, math.nan)
    result = xp.divide(sum(squares, axis=dims, keepdims=keeps_dims), divisor)
    result = xp.sqrt(result) if operation is _STD else result
    return store_in_out(name, xp.astype(result, dtypes.real_part_dtype(a.dtype), copy=False), out)


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
    """Return the running sums along `axis`.

    - `axis`: a dimension; it may be omitted for rank 1.
    - `dtype`: dtype of the result; by default that of `x`, int64 for bool and integers, uint64 for
      unsigned integers.
    - `include_initial`: begin with a 0, which makes lines one element longer.
    - `out`: a tensor that receives the result.

    Returns a new tensor; dtypes: numeric and bool. Layout: packed in the input's order.

    Raises `TypeError` for an invalid axis or dtype, `ValueError` for rank 0, and `AxisError` (a
    `ValueError`) for an axis that is out of bounds.

    16- and 32-bit floats are added in float64, and each sum is rounded once.

    >>> import tensorlayout as tl
    >>> tl.cumulative_sum(tl.asarray([1, 2, 3]), include_initial=True)
    Tensor([0, 1, 3, 6], dtype=int64, device='cpu')
    """
    result = call_scan(_CUMULATIVE_SUM, x, axis, dtype, include_initial)
    return result if out is None else store_in_out("cumulative_sum", result, out)


def cumulative_prod(
    x: Tensor,
    /,
    *,
    axis: SupportsIndex | None = None,
    dtype: DTypeLike | None = None,
    out: Tensor | None = None,
    include_initial: bool = False,
) -> Tensor:
    """Return the running products along `axis` (optional at rank 1).

    `include_initial` puts a 1 first, and lines are one element longer. Products are computed and
    rounded as in `prod`, also where they leave float64's range. `dtype` and `out` are as in
    `cumulative_sum`. Layout: packed in the input's order.

    Raises `ValueError` and `TypeError` as `cumulative_sum` does.

    >>> import tensorlayout as tl
    >>> tl.cumulative_prod(tl.asarray([2, 3, 4]))
    Tensor([ 2,  6, 24], dtype=int64, device='cpu')
    """
    result = call_scan(_CUMULATIVE_PROD, x, axis, dtype, include_initial)
    return result if out is None else store_in_out("cumulative_prod", result, out)


def cumsum(
    a: Tensor,
    axis: SupportsIndex | None = None,
    dtype: DTypeLike | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return the running sums along `axis`, or of all elements in index order.

    `dtype`, `out` and rounding are as in `cumulative_sum`. dtypes: numeric and bool. Layout: packed
    in the input's order.

    Raises `ValueError` and `TypeError` as `cumulative_sum` does.

    >>> import tensorlayout as tl
    >>> tl.cumsum(tl.asarray([[1, 2], [3, 4]]))
    Tensor([ 1,  3,  6, 10], dtype=int64, device='cpu')
    """
    return store_in_out(
        "cumsum", scan_axis_or_flat(_CUMSUM, a, axis, accumulation_dtype(a, out, dtype)), out
    )


def cumprod(
    a: Tensor,
    axis: SupportsIndex | None = None,
    dtype: DTypeLike | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return the running products along `axis`, or of all elements in index order.

    Floats are multiplied in float64 and rounded once. `dtype` and `out` are as in `cumsum`. Layout:
    packed in the input's order.

    Raises `ValueError` and `TypeError` as `cumsum` does.

    >>> import tensorlayout as tl
    >>> tl.cumprod(tl.asarray([[1, 2], [3, 4]]))
    Tensor([ 1,  2,  6, 24], dtype=int64, device='cpu')
    """
    return store_in_out(
        "cumprod", scan_axis_or_flat(_CUMPROD, a, axis, accumulation_dtype(a, out, dtype)), out
    )


def scan_axis_or_flat(operation: Scan, a: Any, axis: SupportsIndex | None, dtype: Any) -> Tensor:
    """Run a scan along an axis, or over all elements in index order."""
    x = bools_to_integers(a)
    x = xp.reshape(x, (-1,)) if axis is None else x
    return call_scan(operation, x, 0 if axis is None else axis, dtype, False)


def _initial_as_tensor(initial: Any, like: Tensor) -> Tensor:
    """Return `initial`, a number or a tensor of rank 0, in the dtype of `like`."""
    check_finite(initial, like.dtype)
    number = xp.asarray(initial, dtype=like.dtype, device=like.device)
    if number.ndim:
        raise ValueError(f"initial must be one number, got shape {number.shape}")
    return number


def ptp(a: Tensor, axis: Axis = None, out: Tensor | None = None, keepdims: bool = False) -> Tensor:
    """Return the difference between the greatest and the least element along `axis`.

    `out` receives the result; `keepdims` keeps the axes, of size 1. dtypes: real numeric, kept.
    Layout: packed in the input's order.

    Raises `ValueError` if there are no elements, and (`AxisError`) if `axis` is out of bounds;
    `TypeError` for any other dtype.

    >>> import tensorlayout as tl
    >>> tl.ptp(tl.asarray([[1, 5], [4, 2]]), axis=0)
    Tensor([3, 3], dtype=int64, device='cpu')
    """
    result = xp.subtract(max(a, axis, keepdims=keepdims), min(a, axis, keepdims=keepdims))
    return store_in_out("ptp", result, out)


def average(
    a: Tensor,
    axis: Axis = None,
    weights: Any = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> Any:
    """Return the weighted mean along `axis`.

    - `weights`: of the shape of `a`, or of its sizes along `axis`.
    - `returned`: True returns a pair, the mean and the sum of the weights.
    - `keepdims`: the axes stay, of size 1.

    dtypes: numeric and bool; the result is floating-point. Layout: packed in the input's order.

    Raises `ZeroDivisionError` if the weights add up to 0; `TypeError` if the shapes of `weights`
    and `a` differ and `axis` is None; `ValueError` if `weights` do not match the sizes along
    `axis`.

    >>> import tensorlayout as tl
    >>> tl.average(tl.asarray([1.0, 4.0]), weights=[2, 1])
    Tensor(2.0, dtype=float64, device='cpu')
    """
    x = arguments.as_tensor(a)
    if weights is None:
        result = mean(x, axis, None, None, keepdims)
        # NumPy divides the sizes of operand and result, and so raises this error as well.
        if not result.size:
            msg = f"average: shape {x.shape} has no lines to average along axis {axis}"
            raise ZeroDivisionError(msg)
        if not returned:
            return result
        count = x.size // result.size
        return result, xp.full(result.shape, count, dtype=result.dtype, device=x.device)
    given_weights = as_tensor_on_device_of(weights, x)
    if given_weights.shape != x.shape:
        if axis is None:
            raise TypeError("axis must be given where shapes of a and weights differ")
        dims = arguments.normalize_axes(axis, x.ndim)
        if given_weights.shape != tuple(x.shape[d] for d in dims):
            rule = f"weights must match shape {x.shape} along axis {axis}"
            raise ValueError(f"{rule}, got shape {given_weights.shape}")
        # Weights along some axes: behind their dimensions come those of size 1 for the others, and
        # then each dimension moves to its axis.
        wide = xp.reshape(given_weights, (*given_weights.shape, *(1,) * (x.ndim - len(dims))))
        given_weights = xp.broadcast_to(xp.moveaxis(wide, tuple(range(len(dims))), dims), x.shape)
    kind = dtypes.promote_dtypes(integers_to_float64(x).dtype, given_weights.dtype)
    scale = sum(xp.astype(given_weights, kind, copy=False), axis, None, None, keepdims)
    # Like NumPy, an error instead of infinity. The comparison waits for a device.
    if xp.count_nonzero(xp.equal(scale, 0)):
        raise ZeroDivisionError("average: the weights add up to zero")
    products = xp.multiply(xp.astype(x, kind, copy=False), given_weights)
    result = xp.divide(sum(products, axis, None, None, keepdims), scale)
    return (result, scale) if returned else result
