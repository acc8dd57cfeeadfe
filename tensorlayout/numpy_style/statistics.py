"""Statistics with NumPy's signatures, beyond the methods: NaN left out, medians, histograms."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorlayout import dtypes
from tensorlayout.functions import arguments, creation, extra, extra_statistical, searching
from tensorlayout.functions import elementwise as ew
from tensorlayout.functions.creation import linspace, zeros
from tensorlayout.functions.data_types import astype
from tensorlayout.functions.manipulation import broadcast_to, moveaxis, reshape
from tensorlayout.functions.transfers import on_host
from tensorlayout.functions.utility import any as any_
from tensorlayout.functions.utility import diff
from tensorlayout.numpy_style import reductions
from tensorlayout.numpy_style.operands import (
    beside,
    check_finite,
    counted,
    floating,
    ordered,
    tensors,
    unsupported,
)
from tensorlayout.numpy_style.outputs import given
from tensorlayout.plan.reduce import DISCRETE
from tensorlayout.tensor import Tensor
from tensorlayout.typing import Axis
from tensorlayout.words import refuse

__all__ = [
    "amax",
    "amin",
    "average",
    "bincount",
    "corrcoef",
    "count_nonzero",
    "cov",
    "digitize",
    "histogram",
    "histogram_bin_edges",
    "median",
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmedian",
    "nanmin",
    "nanpercentile",
    "nanprod",
    "nanquantile",
    "nanstd",
    "nansum",
    "nanvar",
    "percentile",
    "ptp",
    "quantile",
]

amax, amin = reductions.max, reductions.min


def _without_nan(name: str, a: Any, where: Any = None) -> tuple[Tensor, Any]:
    """`a`, and where its elements count: no NaN, and chosen; None for everywhere."""
    x = arguments.tensor(name, a)
    chosen = None if where is None or where is True else where
    if not dtypes.in_category(x.dtype, "floating-point"):
        return x, chosen
    numbers = ew.logical_not(ew.isnan(x))
    return x, numbers if chosen is None else ew.logical_and(numbers, chosen)


def nansum(
    a: Tensor,
    axis: Axis = None,
    dtype: Any = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Tensor:
    """As `sum`, NaN left out."""
    if initial is None and where is None:
        return given(
            "nansum", extra_statistical.nansum(a, axis, dtype=dtype, keepdims=keepdims), out
        )
    x, chosen = _without_nan("nansum", a, where)
    return reductions.sum(x, axis, dtype, out, keepdims, initial, chosen)


def nanprod(
    a: Tensor,
    axis: Axis = None,
    dtype: Any = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Tensor:
    """As `prod`, NaN left out."""
    x, chosen = _without_nan("nanprod", a, where)
    return reductions.prod(x, axis, dtype, out, keepdims, initial, chosen)


def nanmax(
    a: Tensor,
    axis: Axis = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Tensor:
    """As `max`, NaN left out; NaN where nothing is left."""
    return _nan_extreme("nanmax", reductions.max, a, axis, out, keepdims, initial, where)


def nanmin(
    a: Tensor,
    axis: Axis = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Tensor:
    """As `min`, NaN left out; NaN where nothing is left."""
    return _nan_extreme("nanmin", reductions.min, a, axis, out, keepdims, initial, where)


def _nan_extreme(
    name: str,
    function: Callable[..., Tensor],
    a: Any,
    axis: Axis,
    out: Tensor | None,
    keepdims: bool,
    initial: Any,
    where: Any,
) -> Tensor:
    floats = isinstance(a, Tensor) and a.dtype.kind == "f"
    if (initial is None or (floats and initial != initial)) and (where is None or where is True):
        x = arguments.tensor(name, a)
        if x.dtype == dtypes.bool:
            return function(x, axis, out, keepdims)
        return given(name, getattr(extra_statistical, name)(x, axis, keepdims=keepdims), out)
    x, chosen = _without_nan(name, a, where)
    check_finite(name, initial, x.dtype)
    return function(x, axis, out, keepdims, initial, chosen)


def nanargmax(
    a: Tensor, axis: int | None = None, out: Tensor | None = None, *, keepdims: bool = False
) -> Tensor:
    """`tl.nanargmax`."""
    return given(
        "nanargmax",
        extra_statistical.nanargmax(ordered("nanargmax", a), axis, keepdims=keepdims),
        out,
    )


def nanargmin(
    a: Tensor, axis: int | None = None, out: Tensor | None = None, *, keepdims: bool = False
) -> Tensor:
    """`tl.nanargmin`."""
    return given(
        "nanargmin",
        extra_statistical.nanargmin(ordered("nanargmin", a), axis, keepdims=keepdims),
        out,
    )


def nancumsum(
    a: Tensor, axis: int | None = None, dtype: Any = None, out: Tensor | None = None
) -> Tensor:
    """`tl.nancumsum`."""
    return given("nancumsum", extra_statistical.nancumsum(a, axis, dtype=dtype), out)


def nancumprod(
    a: Tensor, axis: int | None = None, dtype: Any = None, out: Tensor | None = None
) -> Tensor:
    """`tl.nancumprod`."""
    return given("nancumprod", extra_statistical.nancumprod(a, axis, dtype=dtype), out)


def nanmean(
    a: Tensor,
    axis: Axis = None,
    dtype: Any = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    *,
    where: Any = None,
) -> Tensor:
    """As `mean`, NaN left out."""
    x = counted("nanmean", a)
    if where is None or where is True:
        return given(
            "nanmean", extra_statistical.nanmean(x, axis, dtype=dtype, keepdims=keepdims), out
        )
    x, chosen = _without_nan("nanmean", x, where)
    return reductions.mean(x, axis, dtype, out, keepdims, where=chosen)


def nanvar(
    a: Tensor,
    axis: Axis = None,
    dtype: Any = None,
    out: Tensor | None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: float | None = None,
) -> Tensor:
    """As `var`, NaN left out."""
    unsupported("nanvar", mean=mean, where=None if where is True else where)
    x, less = counted("nanvar", a), ddof if correction is None else correction
    found = extra_statistical.nanvar(x, axis, dtype=dtype, ddof=less, keepdims=keepdims)
    return given("nanvar", found, out)


def nanstd(
    a: Tensor,
    axis: Axis = None,
    dtype: Any = None,
    out: Tensor | None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: float | None = None,
) -> Tensor:
    """As `std`, NaN left out."""
    unsupported("nanstd", mean=mean, where=None if where is True else where)
    x, less = counted("nanstd", a), ddof if correction is None else correction
    found = extra_statistical.nanstd(x, axis, dtype=dtype, ddof=less, keepdims=keepdims)
    return given("nanstd", found, out)


def count_nonzero(a: Tensor, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """`tl.count_nonzero`."""
    return searching.count_nonzero(a, axis=axis, keepdims=keepdims)


def ptp(a: Tensor, axis: Axis = None, out: Tensor | None = None, keepdims: bool = False) -> Tensor:
    """The greatest element along `axis` less the least."""
    found = [f(a, axis, None, keepdims) for f in (reductions.max, reductions.min)]
    return given("ptp", ew.subtract(*found), out)


# --- medians and quantiles ---------------------------------------------------------------------


def median(
    a: Tensor,
    axis: Axis = None,
    out: Tensor | None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Tensor:
    """`tl.median`."""
    return given("median", extra_statistical.median(_real(a), axis, keepdims=keepdims), out)


def nanmedian(
    a: Tensor,
    axis: Axis = None,
    out: Tensor | None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Tensor:
    """`tl.nanmedian`."""
    return given("nanmedian", extra_statistical.nanmedian(_real(a), axis, keepdims=keepdims), out)


def _real(a: Any) -> Tensor:
    return counted("median", a)


def _quantile(
    name: str,
    a: Any,
    q: Any,
    axis: Axis,
    out: Tensor | None,
    method: str,
    keepdims: bool,
    weights: Any,
    hundred: int,
) -> Tensor:
    unsupported(name, weights=weights)
    of = "nanquantile" if name.startswith("nan") else "quantile"
    fractions = np.asarray(on_host(q) if isinstance(q, Tensor) else q)
    if hundred != 1 and fractions.dtype.kind in "biuf":
        fractions = np.true_divide(fractions, hundred)
    function = getattr(extra_statistical, of)
    x = arguments.tensor(name, a)
    if np.ndim(fractions) and method not in DISCRETE and x.dtype.kind == "f":
        x = astype(x, dtypes.promote(x.dtype, fractions.dtype), copy=False)
    found = function(x, fractions, axis, method=method, keepdims=keepdims)
    return given(name, found, out)


def quantile(
    a: Tensor,
    q: Any,
    axis: Axis = None,
    out: Tensor | None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Tensor:
    """`tl.quantile`."""
    return _quantile("quantile", a, q, axis, out, method, keepdims, weights, 1)


def nanquantile(
    a: Tensor,
    q: Any,
    axis: Axis = None,
    out: Tensor | None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Tensor:
    """`tl.nanquantile`."""
    return _quantile("nanquantile", a, q, axis, out, method, keepdims, weights, 1)


def percentile(
    a: Tensor,
    q: Any,
    axis: Axis = None,
    out: Tensor | None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Tensor:
    """`tl.quantile` of hundredths."""
    return _quantile("percentile", a, q, axis, out, method, keepdims, weights, 100)


def nanpercentile(
    a: Tensor,
    q: Any,
    axis: Axis = None,
    out: Tensor | None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Tensor:
    """`tl.nanquantile` of hundredths."""
    return _quantile("nanpercentile", a, q, axis, out, method, keepdims, weights, 100)


# --- weights, covariances ----------------------------------------------------------------------


def average(
    a: Tensor,
    axis: Axis = None,
    weights: Any = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> Any:
    """The mean along `axis`, each element as often as its weight says; with `returned`, both sums.

    `weights`: of the shape of `a`, or of its sizes along `axis`. ValueError where their sum is 0.
    """
    x = arguments.tensor("average", a)
    if weights is None:
        found = reductions.mean(x, axis, None, None, keepdims)
        if not found.size:
            msg = f"average: shape {x.shape} has no lines to average along axis {axis}"
            raise ZeroDivisionError(msg)
        if not returned:
            return found
        one = full_count(x, found)
        return found, one
    given_weights = beside("average", weights, x)
    if given_weights.shape != x.shape:
        if axis is None:
            refuse("average", "axis must be given where shapes of a and weights differ", TypeError)
        dims = arguments.dims("average", axis, x.ndim)
        if given_weights.shape != tuple(x.shape[d] for d in dims):
            refuse("average", f"weights of {given_weights.shape} do not fit {x.shape} along {axis}")
        wide = reshape(given_weights, (*given_weights.shape, *(1,) * (x.ndim - len(dims))))
        given_weights = broadcast_to(moveaxis(wide, tuple(range(len(dims))), dims), x.shape)
    kind = dtypes.promote(floating("average", x).dtype, given_weights.dtype)
    scale = reductions.sum(astype(given_weights, kind, copy=False), axis, None, None, keepdims)
    if any_(ew.equal(scale, 0)):
        msg = "average: the weights add up to zero"
        raise ZeroDivisionError(msg)
    products = ew.multiply(astype(x, kind, copy=False), given_weights)
    found = ew.divide(reductions.sum(products, axis, None, None, keepdims), scale)
    return (found, scale) if returned else found


def full_count(x: Tensor, found: Tensor) -> Tensor:
    """How many elements each of `found` is the mean of, in its dtype."""
    count = x.size // max(found.size, 1)
    return creation.full(found.shape, count, dtype=found.dtype, device=x.device)


def cov(
    m: Tensor,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Tensor:
    """`tl.cov`, of lists too."""
    unsupported("cov", fweights=fweights, aweights=aweights)
    x, also = _two("cov", m, y)
    return extra.cov(x, also, rowvar, bias, ddof, dtype=dtype)


def corrcoef(x: Tensor, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Tensor:
    """`tl.corrcoef`, of lists too."""
    one, also = _two("corrcoef", x, y)
    return extra.corrcoef(one, also, rowvar, dtype=dtype)


def _two(name: str, x: Any, y: Any) -> list[Any]:
    return [*tensors(name, x), None] if y is None else tensors(name, x, y, weak=False)


# --- counts ------------------------------------------------------------------------------------


def bincount(x: Tensor, /, weights: Any = None, minlength: int = 0) -> Tensor:
    """`tl.bincount`; truths are counted as 0 and 1."""
    values = counted("bincount", x)
    given_weights = (
        None if weights is None else counted("bincount", beside("bincount", weights, values))
    )
    if given_weights is not None:
        given_weights = astype(given_weights, dtypes.float64, copy=False)
    return extra.bincount(values, given_weights, minlength)


def digitize(x: Tensor, bins: Any, right: bool = False) -> Tensor:
    """The bin of each element; `bins` ascend or descend, with `right` their right ends are in."""
    values, edges = (ordered("digitize", each) for each in tensors("digitize", x, bins))
    if edges.ndim != 1:
        refuse("digitize", f"bins must be of rank 1, got shape {edges.shape}")
    falls = bool(any_(ew.less(edges[1:], edges[:-1])))
    if falls and any_(ew.greater(edges[1:], edges[:-1])):
        refuse("digitize", "bins must ascend or descend")
    side: Any = "left" if right else "right"
    if not falls:
        return searching.searchsorted(edges, values, side=side)
    rising = creation.asarray(edges[::-1])
    return ew.subtract(edges.size, searching.searchsorted(rising, values, side=side))


def histogram_bin_edges(
    a: Tensor, bins: Any = 10, range: Any = None, weights: Any = None
) -> Tensor:
    """The edges of equal bins from the least to the greatest element, or over `range`."""
    x = arguments.tensor("histogram_bin_edges", a)
    if isinstance(bins, str):
        refuse("histogram_bin_edges", f"bins must be a number or edges, got {bins!r}", TypeError)
    if not isinstance(bins, int):
        edges = beside("histogram_bin_edges", bins, x)
        if edges.ndim != 1 or any_(ew.less(edges[1:], edges[:-1])):
            refuse("histogram_bin_edges", "bins must be of rank 1, and ascend")
        return edges
    if bins < 1:
        refuse("histogram_bin_edges", f"bins must be at least 1, got {bins}")
    if range is not None:
        first, last = (float(each) for each in range)
    elif not x.size:
        first, last = 0.0, 1.0
    else:
        first, last = (float(f(x)) for f in (reductions.min, reductions.max))
    if not (math.isfinite(first) and math.isfinite(last) and first <= last):
        refuse("histogram_bin_edges", f"the range from {first} to {last} is none of numbers")
    if first == last:
        first, last = first - 0.5, last + 0.5
    kind = dtypes.float64 if x.dtype.kind in "biu" else x.dtype
    return linspace(first, last, bins + 1, dtype=kind, device=x.device)


def histogram(
    a: Tensor, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> tuple[Tensor, Tensor]:
    """How many elements are in each bin, the right end of the last one included; and the edges."""
    x = reshape(arguments.tensor("histogram", a), (-1,))
    x = astype(x, dtypes.uint8) if x.dtype == dtypes.bool else x
    edges = histogram_bin_edges(x, bins, range)
    number = edges.size - 1
    if number < 1:
        return zeros((0,), dtype=dtypes.int64, device=x.device), edges
    first, last = edges[0], edges[-1]
    inside = ew.logical_and(ew.greater_equal(x, first), ew.less_equal(x, last))
    places = ew.subtract(searching.searchsorted(edges, x[inside], side="right"), 1)
    places = ew.minimum(places, number - 1)
    chosen = None
    if weights is not None:
        weight = beside("histogram", weights, x)
        if weight.shape != a.shape:
            msg = f"weights must have the shape of a, {a.shape}, got {weight.shape}"
            refuse("histogram", msg)
        chosen = reshape(weight, (-1,))[inside]
    counts = bincount(places, chosen, number)
    if chosen is not None and chosen.dtype != dtypes.bool:
        counts = astype(counts, chosen.dtype, copy=False)
    if density:
        widths = astype(diff(edges), dtypes.float64, copy=False)
        return ew.divide(ew.divide(counts, widths), reductions.sum(counts)), edges
    return counts, edges
