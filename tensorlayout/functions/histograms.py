"""Histograms: counts by integer and by bin, and bin edges."""

from __future__ import annotations

import math
from typing import Any, Literal, SupportsIndex

from tensorlayout import dtypes
from tensorlayout.errors import short_repr
from tensorlayout.functions import arguments, dispatch
from tensorlayout.functions import basics as xp
from tensorlayout.functions.operands import as_tensor_on_device_of, as_tensors, bools_to_integers
from tensorlayout.layout import MAX_SLOTS
from tensorlayout.plan import Library, check_category
from tensorlayout.tensor import Tensor
from tensorlayout.typing import ArrayLike

__all__ = ["bincount", "digitize", "histogram", "histogram_bin_edges"]


_BINCOUNT = Library("bincount", "integral")
_BINCOUNT_WEIGHTED = Library("bincount", "real floating")


def bincount(
    x: Tensor, /, weights: ArrayLike | None = None, minlength: SupportsIndex = 0
) -> Tensor:
    """Count each integer from 0 on in `x`, of rank 1; or add up its `weights`.

    `weights` have the shape of `x`. Returns int64, or float64 with `weights`, up to the greatest
    integer, and at least `minlength` elements. dtypes: integral and bool. Layout: row-major.

    Raises `ValueError` for negative integers, another rank, weights of another shape, and a
    negative `minlength`; `TypeError` for any other dtype.

    >>> import tensorlayout as tl
    >>> tl.bincount(tl.asarray([0, 2, 2]), minlength=4)
    Tensor([1, 0, 2, 0], dtype=int64, device='cpu')
    """
    x = bools_to_integers(x)
    check_category("integral", x.dtype)
    least = arguments.as_nonnegative_integer("minlength", minlength)
    if least > MAX_SLOTS:
        raise ValueError(
            f"minlength must be at most 2**63 - 1, got {arguments.format_argument(least)}"
        )
    if x.ndim != 1:
        raise ValueError(f"needs rank 1, got shape {x.shape}")
    if weights is not None:
        weights = bools_to_integers(as_tensor_on_device_of(weights, x))
        if weights.shape != x.shape:
            raise ValueError(f"needs weights of the same shape, got {weights.shape} for {x.shape}")
    if xp.any(xp.less(x, 0)):
        raise ValueError("the integers must not be negative")
    # NumPy's count overflows there, and it writes out of bounds.
    if x.itemsize == 8 and xp.any(xp.greater_equal(x, MAX_SLOTS)):
        raise ValueError("the integers must be below 2**63 - 1")
    if weights is None:
        return dispatch.call_library(_BINCOUNT, x, minlength=least)
    weights = xp.astype(weights, dtypes.float64, copy=False)
    return dispatch.call_library(_BINCOUNT_WEIGHTED, x, weights, minlength=least)


def digitize(x: Tensor, bins: ArrayLike, right: bool = False) -> Tensor:
    """Return the number of each element's bin between the edges `bins`, as int64.

    `bins` have rank 1, ascending or descending; with `right` they include their right ends, not
    their left ones. dtypes: real numeric and bool. Layout: row-major, of the shape of `x`.

    Raises `ValueError` for `bins` of another rank or order; `TypeError` for any other dtype.

    >>> import tensorlayout as tl
    >>> tl.digitize(tl.asarray([0.5, 2.0]), [0.0, 1.0, 2.0])
    Tensor([1, 3], dtype=int64, device='cpu')
    """
    # Comparisons accept no bool; False and True become 0 and 1.
    values, edges = (bools_to_integers(operand, dtypes.uint8) for operand in as_tensors(x, bins))
    if edges.ndim != 1:
        raise ValueError(f"bins must be of rank 1, got shape {edges.shape}")
    # Edges that are all equal count as ascending.
    falls = bool(xp.any(xp.less(edges[1:], edges[:-1])))
    if falls and xp.any(xp.greater(edges[1:], edges[:-1])):
        raise ValueError("bins must ascend or descend")
    side: Literal["left", "right"] = "left" if right else "right"
    if not falls:
        return xp.searchsorted(edges, values, side=side)
    # The search needs ascending edges. Counted from their other end, the result is that of the
    # descending ones: 2.5 comes after two edges of [1, 2, 3], and after one of [3, 2, 1].
    rising = xp.asarray(edges[::-1])
    return xp.subtract(edges.size, xp.searchsorted(rising, values, side=side))


def histogram_bin_edges(
    a: Tensor, bins: Any = 10, range: Any = None, weights: Any = None
) -> Tensor:
    """Return the edges of equal bins from the least to the greatest element, or over `range`.

    - `bins`: number of bins, or their edges, ascending, which are returned.
    - `range`: a pair of numbers.
    - `weights`: have no effect.

    dtypes: real numeric and bool; the result is float64 for integers. Layout: row-major.

    Raises `ValueError` for fewer than one bin, edges that do not ascend, and a range that is not
    finite or descends; `TypeError` if `bins` is a string, and for any other dtype.

    >>> import tensorlayout as tl
    >>> tl.histogram_bin_edges(tl.asarray([0.0, 4.0]), bins=2)
    Tensor([0., 2., 4.], dtype=float64, device='cpu')
    """
    x = arguments.as_tensor(a)
    if isinstance(bins, str):
        raise TypeError(f"bins must be a number or edges, got {bins!r}")
    if not isinstance(bins, int):
        edges = as_tensor_on_device_of(bins, x)
        if edges.ndim != 1 or xp.any(xp.less(edges[1:], edges[:-1])):
            raise ValueError("bins must be of rank 1, and ascend")
        return edges
    if bins < 1:
        raise ValueError(f"bins must be at least 1, got {bins}")
    if range is not None:
        # NumPy arrays and tensors are sequences as well; their bounds may be on a device.
        if isinstance(range, str) or not hasattr(range, "__len__") or len(range) != 2:
            raise ValueError(f"range must be a pair of numbers, got {short_repr(range)}")
        first, last = map(float, range)
    elif not x.size:
        # NumPy's range for no elements. Equal elements get a range of width 1 below, as in NumPy.
        first, last = 0.0, 1.0
    else:
        first, last = (float(f(x)) for f in (xp.min, xp.max))
    if not (math.isfinite(first) and math.isfinite(last) and first <= last):
        raise ValueError(f"range must be finite and not descending, got {first} to {last}")
    if first == last:
        first, last = first - 0.5, last + 0.5
    kind = dtypes.float64 if x.dtype.kind in "biu" else x.dtype
    return xp.linspace(first, last, bins + 1, dtype=kind, device=x.device)


def histogram(
    a: Tensor, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> tuple[Tensor, Tensor]:
    """Count the elements in each bin, and return the counts and the bin edges.

    - `bins`, `range`: as in `histogram_bin_edges`.
    - `density`: divide by the widths of the bins and the sum.
    - `weights`: of the shape of `a`; added up instead of ones.

    dtypes: real numeric and bool. Layout: row-major.

    Raises `ValueError` and `TypeError` as `histogram_bin_edges` does; `ValueError` for weights of
    another shape, too.

    >>> import tensorlayout as tl
    >>> tl.histogram(tl.asarray([0.0, 1.0, 4.0]), bins=2)[0]
    Tensor([2, 1], dtype=int64, device='cpu')
    """
    x = bools_to_integers(xp.reshape(arguments.as_tensor(a), (-1,)), dtypes.uint8)
    edges = histogram_bin_edges(x, bins, range)
    number = edges.size - 1
    if number < 1:
        return xp.zeros((0,), dtype=dtypes.int64, device=x.device), edges
    first, last = edges[0], edges[-1]
    # NaN compares false, and is in no bin.
    inside = xp.logical_and(xp.greater_equal(x, first), xp.less_equal(x, last))
    places = xp.subtract(xp.searchsorted(edges, x[inside], side="right"), 1)
    # A bin includes its left edge, and the last bin its right edge, too. The search has put
    # elements on that edge behind the last bin.
    places = xp.minimum(places, number - 1)
    chosen = None
    if weights is not None:
        weight = as_tensor_on_device_of(weights, x)
        if weight.shape != a.shape:
            raise ValueError(f"weights must have the shape of a, {a.shape}, got {weight.shape}")
        chosen = xp.reshape(weight, (-1,))[inside]
    counts = bincount(places, chosen, number)
    if chosen is not None and chosen.dtype != dtypes.bool:
        counts = xp.astype(counts, chosen.dtype, copy=False)
    if density:
        widths = xp.astype(xp.diff(edges), dtypes.float64, copy=False)
        return xp.divide(xp.divide(counts, widths), xp.sum(counts)), edges
    return counts, edges
