"""Statistics that ignore NaN: sums, products, extremes, positions, means, deviations.

xarray, whose float reductions skip NaN, and Cubed call these functions if an array namespace has
them. An element counts if it is not NaN and `where` is true.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, SupportsIndex

from tensorlayout import dtypes
from tensorlayout.functions import arguments
from tensorlayout.functions import basics as xp
from tensorlayout.functions.operands import bools_to_integers, check_finite
from tensorlayout.functions.outputs import call_reduction, store_in_out
from tensorlayout.functions.statistical import broadcast_mask, scan_axis_or_flat
from tensorlayout.plan import Reduce, Scan
from tensorlayout.tensor import Tensor
from tensorlayout.typing import ArrayLike, Axis, DTypeLike, Real, Scalar

__all__ = [
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
]

_NANMIN = Reduce("nanmin", "real numeric", "nanmin", identity=False)
_NANMAX = Reduce("nanmax", "real numeric", "nanmax", identity=False)
_NANARGMIN = Reduce("nanargmin", "real numeric", "nanmin", identity=False, single=True)
_NANARGMAX = Reduce("nanargmax", "real numeric", "nanmax", identity=False, single=True)
_NANCUMSUM = Scan("nancumsum", "numeric", "sum", "sum")
_NANCUMPROD = Scan("nancumprod", "numeric", "prod", "sum")


def _replace_nan(a: Any, value: int) -> Tensor:
    """Return `a` with `value` in place of NaN."""
    x = arguments.as_tensor(a)
    return xp.where(xp.isnan(x), value, x) if _may_hold_nan(x) else x


def _may_hold_nan(x: Tensor) -> bool:
    return bool(dtypes.is_in_category(x.dtype, "floating-point"))


def _operand_and_non_nan_mask(a: Any, where: Any) -> tuple[Tensor, Any]:
    """Return `a`, bool as int64, and the mask of the elements that count (None: all)."""
    x = bools_to_integers(a)
    return x, _non_nan_mask(x, where)


def _non_nan_mask(x: Tensor, where: Any) -> Tensor | None:
    """Return the mask of the elements that count, or None if all do."""
    mask = None if where is None or where is True else broadcast_mask(x, where)
    if not _may_hold_nan(x):
        return mask
    is_number = xp.logical_not(xp.isnan(x))
    return is_number if mask is None else xp.logical_and(is_number, mask)


def nansum(
    a: Tensor,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Scalar | None = None,
    where: ArrayLike | None = None,
) -> Tensor:
    """Return the sum of the elements along `axis` that are not NaN; 0 if there are none.

    `axis`, `dtype`, `out`, `keepdims`, `initial` and `where` are as in `sum`. dtypes: numeric and
    bool. Layout: packed in the input's order.

    Raises `ValueError` and `TypeError` as `sum` does.

    >>> import tensorlayout as tl
    >>> tl.nansum(tl.asarray([1.0, tl.nan, 3.0]))
    Tensor(4.0, dtype=float64, device='cpu')
    """
    return xp.sum(_replace_nan(a, 0), axis, dtype, out, keepdims, initial, where)


def nanprod(
    a: Tensor,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Scalar | None = None,
    where: ArrayLike | None = None,
) -> Tensor:
    """Return the product of the elements along `axis` that are not NaN; 1 if there are none.

    `axis`, `dtype`, `out`, `keepdims`, `initial` and `where` are as in `prod`. dtypes: numeric and
    bool. Layout: packed in the input's order.

    Raises `ValueError` and `TypeError` as `prod` does.

    >>> import tensorlayout as tl
    >>> tl.nanprod(tl.asarray([[2.0, tl.nan, 4.0]]), axis=1)
    Tensor([8.], dtype=float64, device='cpu')
    """
    return xp.prod(_replace_nan(a, 1), axis, dtype, out, keepdims, initial, where)


def nanmin(
    a: Tensor,
    axis: Axis = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Scalar | None = None,
    where: ArrayLike | None = None,
) -> Tensor:
    """Return the least element along `axis` that is not NaN; NaN if all are. -0 is less than +0.

    `axis`, `out`, `keepdims`, `initial` and `where` are as in `min`. dtypes: real numeric, kept.
    Layout: packed in the input's order.

    Raises `ValueError` and `TypeError` as `min` does.

    >>> import tensorlayout as tl
    >>> tl.nanmin(tl.asarray([[tl.nan, 7.0, 3.0]]), axis=1)
    Tensor([3.], dtype=float64, device='cpu')
    """
    return _nan_extreme(_NANMIN, xp.min, a, axis, out, keepdims, initial, where)


def nanmax(
    a: Tensor,
    axis: Axis = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Scalar | None = None,
    where: ArrayLike | None = None,
) -> Tensor:
    """Return the greatest element along `axis` that is not NaN; NaN if all are. -0 is less than +0.

    `axis`, `out`, `keepdims`, `initial` and `where` are as in `max`. dtypes: real numeric, kept.
    Layout: packed in the input's order.

    Raises `ValueError` and `TypeError` as `max` does.

    >>> import tensorlayout as tl
    >>> tl.nanmax(tl.asarray([[1.0, tl.nan], [tl.nan, tl.nan]]), axis=1)
    Tensor([ 1., nan], dtype=float64, device='cpu')
    """
    return _nan_extreme(_NANMAX, xp.max, a, axis, out, keepdims, initial, where)


def _nan_extreme(
    operation: Reduce,
    plain_reduction: Callable[..., Tensor],
    a: Any,
    axis: Axis,
    out: Tensor | None,
    keepdims: bool,
    initial: Any,
    where: Any,
) -> Tensor:
    """Compute a minimum or maximum; an `initial` of NaN is ignored."""
    name, x = operation.name, arguments.as_tensor(a)
    # As NumPy's fmin and fmax, which these functions reduce with, ignore a NaN.
    if x.dtype.kind == "f" and type(initial) is float and initial != initial:
        initial = None
    if initial is None and (where is None or where is True) and x.dtype != dtypes.bool:
        return store_in_out(name, call_reduction(operation, x, axis, keepdims), out)
    check_finite(initial, x.dtype)
    return plain_reduction(x, axis, out, keepdims, initial, _non_nan_mask(x, where))


def nanargmin(
    a: Tensor,
    axis: SupportsIndex | None = None,
    out: Tensor | None = None,
    *,
    keepdims: bool = False,
) -> Tensor:
    """Return the position of the first least element that is not NaN.

    `axis`, `out` and `keepdims` are as in `argmin`. dtypes: real numeric; the result is int64.
    Layout: packed in the input's order.

    Raises `ValueError` and `TypeError` as `argmin` does; `ValueError` if all elements are NaN, too.

    >>> import tensorlayout as tl
    >>> tl.nanargmin(tl.asarray([tl.nan, 7.0, 3.0]))
    Tensor(2, dtype=int64, device='cpu')
    """
    return store_in_out("nanargmin", _nan_extreme_position(_NANARGMIN, a, axis, keepdims), out)


def nanargmax(
    a: Tensor,
    axis: SupportsIndex | None = None,
    out: Tensor | None = None,
    *,
    keepdims: bool = False,
) -> Tensor:
    """Return the position of the first greatest element that is not NaN.

    `axis`, `out` and `keepdims` are as in `argmax`. dtypes: real numeric; the result is int64.
    Layout: packed in the input's order.

    Raises `ValueError` and `TypeError` as `argmax` does; `ValueError` if all elements are NaN, too.

    >>> import tensorlayout as tl
    >>> tl.nanargmax(tl.asarray([1.0, tl.nan, 3.0]))
    Tensor(2, dtype=int64, device='cpu')
    """
    return store_in_out("nanargmax", _nan_extreme_position(_NANARGMAX, a, axis, keepdims), out)


def _nan_extreme_position(
    operation: Reduce, a: Any, axis: SupportsIndex | None, keepdims: bool
) -> Tensor:
    """Return the position of the first extreme that is not NaN; ValueError if all are NaN."""
    x = bools_to_integers(a, dtypes.uint8)
    keeps_dims = arguments.check_bool("keepdims", keepdims)
    extreme = call_reduction(operation, x, axis, keepdims=True)
    # The extreme that ignores NaN is NaN only where there is nothing else.
    if _may_hold_nan(x) and xp.any(xp.isnan(extreme)):
        raise ValueError(f"all elements along axis {axis} are NaN")
    # argmax returns the first of equal elements, as NumPy's nanargmin and nanargmax do.
    return xp.argmax(xp.astype(xp.equal(x, extreme), dtypes.uint8), axis=axis, keepdims=keeps_dims)


def nanmean(
    a: Tensor,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Tensor:
    """Return the mean of the elements along `axis` that are not NaN; NaN if there are none.

    `axis`, `dtype`, `out`, `keepdims` and `where` are as in `mean`. The mean is computed in float64
    and rounded once. Layout: packed in the input's order.

    Raises `ValueError` and `TypeError` as `mean` does.

    >>> import tensorlayout as tl
    >>> tl.nanmean(tl.asarray([[1.0, tl.nan, 3.0]]), axis=1)
    Tensor([2.], dtype=float64, device='cpu')
    """
    x, mask = _operand_and_non_nan_mask(a, where)
    return xp.mean(x, axis, dtype, out, keepdims, where=mask)


def nanvar(
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
    """Return the variance of the elements along `axis` that are not NaN.

    `axis`, `dtype`, `out`, `ddof`, `keepdims`, `where`, `mean` and `correction` are as in `var`.
    dtypes: numeric. Layout: packed in the input's order.

    Raises `ValueError` and `TypeError` as `var` does.

    >>> import tensorlayout as tl
    >>> tl.nanvar(tl.asarray([[1.0, tl.nan, 5.0]]), axis=1)
    Tensor([4.], dtype=float64, device='cpu')
    """
    x, mask = _operand_and_non_nan_mask(a, where)
    return xp.var(x, axis, dtype, out, ddof, keepdims, where=mask, mean=mean, correction=correction)


def nanstd(
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
    """Return the standard deviation of the elements along `axis` that are not NaN.

    `axis`, `dtype`, `out`, `ddof`, `keepdims`, `where`, `mean` and `correction` are as in `var`.
    dtypes: numeric. Layout: packed in the input's order.

    Raises `ValueError` and `TypeError` as `var` does.

    >>> import tensorlayout as tl
    >>> tl.nanstd(tl.asarray([[1.0, tl.nan, 5.0]]), axis=1)
    Tensor([2.], dtype=float64, device='cpu')
    """
    x, mask = _operand_and_non_nan_mask(a, where)
    return xp.std(x, axis, dtype, out, ddof, keepdims, where=mask, mean=mean, correction=correction)


def nancumsum(
    a: Tensor,
    axis: SupportsIndex | None = None,
    dtype: DTypeLike | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return the running sums along `axis`, or of all elements in index order; NaN counts as 0.

    `dtype` and `out` are as in `cumsum`. dtypes: numeric and bool. Layout: packed in the input's
    order.

    Raises `ValueError` and `TypeError` as `cumsum` does.

    >>> import tensorlayout as tl
    >>> tl.nancumsum(tl.asarray([2.0, tl.nan, 3.0]))
    Tensor([2., 2., 5.], dtype=float64, device='cpu')
    """
    return store_in_out(
        "nancumsum", scan_axis_or_flat(_NANCUMSUM, _replace_nan(a, 0), axis, dtype), out
    )


def nancumprod(
    a: Tensor,
    axis: SupportsIndex | None = None,
    dtype: DTypeLike | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return the running products along `axis`, or of all elements in index order; NaN counts as 1.

    `dtype` and `out` are as in `cumprod`. dtypes: numeric and bool. Layout: packed in the input's
    order.

    Raises `ValueError` and `TypeError` as `cumprod` does.

    >>> import tensorlayout as tl
    >>> tl.nancumprod(tl.asarray([2.0, tl.nan, 3.0]))
    Tensor([2., 2., 6.], dtype=float64, device='cpu')
    """
    return store_in_out(
        "nancumprod", scan_axis_or_flat(_NANCUMPROD, _replace_nan(a, 1), axis, dtype), out
    )
