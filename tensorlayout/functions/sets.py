"""Set functions. Except for `isin`, the shapes of the results depend on data.

Values are the same if they compare equal: +0 and -0 are one value, and every NaN, or complex number
with a NaN part, is distinct. Only `unique`, and functions of two sets that build on it, treat all
NaN as one value, as NumPy does. Results are row-major.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tensorlayout import dtypes
from tensorlayout.functions import arguments, dispatch
from tensorlayout.functions import basics as xp
from tensorlayout.functions.operands import (
    as_tensors,
    flatten_operands,
    promote_tensors,
    refuse_unsupported_arguments,
)
from tensorlayout.functions.sorting import sort
from tensorlayout.plan import Library
from tensorlayout.tensor import Tensor
from tensorlayout.typing import ArrayLike

__all__ = [
    "intersect1d",
    "isin",
    "setdiff1d",
    "setxor1d",
    "union1d",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]


_ALL = Library("unique_all", "any")
_COUNTS = Library("unique_counts", "any")
_INVERSE = Library("unique_inverse", "any")
_VALUES = Library("unique_values", "any")
_ISIN = Library("isin", "any", lambda shapes, dtype, *, invert: [(shapes[0], dtypes.bool)])


class UniqueAll(NamedTuple):
    """Result of `unique_all`."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """Result of `unique_counts`."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """Result of `unique_inverse`."""

    values: Tensor
    inverse_indices: Tensor


def unique_all(x: Tensor) -> UniqueAll:
    """Return the distinct values, ascending, with first indices, inverse indices and counts.

    - Values: shape (k,), of the dtype of `x`; NaN is last.
    - Indices and counts: for each value, the index of its first occurrence in `x` flattened, and
      its number of occurrences; int64.
    - Inverse indices: for each element of `x` the position of its value; int64, of the shape of
      `x`.

    Any dtype. Layout: row-major.

    Raises `TypeError` if `x` is not a tensor.

    >>> import tensorlayout as tl
    >>> found = tl.unique_all(tl.asarray([3, 1, 3]))
    >>> found.indices, found.inverse_indices
    (Tensor([1, 0], dtype=int64, device='cpu'), Tensor([1, 0, 1], dtype=int64, device='cpu'))
    """
    return UniqueAll(*dispatch.call_library(_ALL, x))


def unique_counts(x: Tensor) -> UniqueCounts:
    """Return the distinct values, ascending, and how often each occurs.

    Returns values (k,) of the dtype of `x`, NaN last, and counts (k,), int64. Any dtype. Layout:
    row-major.

    Raises `TypeError` if `x` is not a tensor.

    >>> import tensorlayout as tl
    >>> tl.unique_counts(tl.asarray([3, 1, 3])).counts
    Tensor([1, 2], dtype=int64, device='cpu')
    """
    return UniqueCounts(*dispatch.call_library(_COUNTS, x))


def unique_inverse(x: Tensor) -> UniqueInverse:
    """Return the distinct values, ascending, and for each element the position of its value.

    Returns values (k,) of the dtype of `x`, NaN last, and positions of the shape of `x`, int64. Any
    dtype. Layout: row-major.

    Raises `TypeError` if `x` is not a tensor.

    >>> import tensorlayout as tl
    >>> tl.unique_inverse(tl.asarray([[3], [1]])).inverse_indices
    Tensor([[1],
            [0]], dtype=int64, device='cpu')
    """
    return UniqueInverse(*dispatch.call_library(_INVERSE, x))


def unique_values(x: Tensor) -> Tensor:
    """Return the distinct values in ascending order.

    Returns a new tensor of rank 1; any dtype, kept. NaN comes last, and each NaN is distinct.
    Layout: row-major.

    Raises `TypeError` for an argument that is not a tensor.

    >>> import tensorlayout as tl
    >>> tl.unique_values(tl.asarray([3, 1, 3]))
    Tensor([1, 3], dtype=int64, device='cpu')
    """
    return dispatch.call_library(_VALUES, x)


def unique(
    ar: Tensor,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """Return the distinct values in ascending order.

    - `return_index`: also return the position, in index order, of the first element with each
      value.
    - `return_inverse`: also return, for each element of `ar`, the position of its value.
    - `return_counts`: also return how often each value occurs.
    - `axis`: must be None, except for rank 1.
    - `equal_nan`: count all NaN as one value.
    - `sorted`: accepted for NumPy's sake, without effect.

    Returns a tensor of any dtype, kept, or a tuple with int64 tensors if more is requested. Layout:
    row-major.

    Raises `TypeError` for an argument that is not a tensor.

    >>> import tensorlayout as tl
    >>> tl.unique(tl.asarray([tl.nan, 1.0, tl.nan]), return_counts=True)[1]
    Tensor([1, 2], dtype=int64, device='cpu')
    """
    x = arguments.as_tensor(ar)
    if axis is not None and x.ndim != 1:
        refuse_unsupported_arguments(axis=axis)
    if not (return_index or return_inverse or return_counts):
        values = unique_values(x)
        # Sorted values have all NaN at the end, where they are distinct: all but the first are cut
        # off.
        first, _ = _nan_run(values, equal_nan)
        return values if first is None else values[: first + 1]
    values, index, inverse, counts = unique_all(x)
    first, number = _nan_run(values, equal_nan)
    if first is not None:
        # All NaN are last, in index order.
        values, index = values[: first + 1], index[: first + 1]
        # Positions of further NaN become that of the first. Their counts, 1 each, become one sum;
        # the product with 0 makes a tensor of one element with the dtype and device of the counts.
        inverse = xp.minimum(inverse, first)
        counts = xp.concat([counts[:first], counts[:1] * 0 + number])
    optional_results = ((return_index, index), (return_inverse, inverse), (return_counts, counts))
    return (values, *(part for is_requested, part in optional_results if is_requested))


def _nan_run(values: Tensor, equal_nan: bool) -> tuple[int | None, int]:
    """Return the start and the number of NaN among sorted values; None for fewer than two."""
    if not equal_nan or not dtypes.is_in_category(values.dtype, "floating-point"):
        return None, 0
    places = xp.nonzero(xp.isnan(values))[0]
    return (int(places[0]), places.size) if places.size > 1 else (None, 0)


def isin(
    element: ArrayLike,
    test_elements: ArrayLike,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: str | None = None,
) -> Tensor:
    """Return True where an element occurs in `test_elements`.

    - `element`, `test_elements`: tensors or numbers, at least one of them a tensor.
    - `invert`: return True where the element does not occur.
    - `assume_unique`, `kind`: accepted for NumPy's sake, without effect.

    Returns a bool tensor of the shape of `element`. Any dtypes are compared in their promoted
    dtype, integers exactly; NaN occurs nowhere. Layout: row-major.

    Raises `TypeError` for arguments that are neither tensors nor numbers.

    >>> import tensorlayout as tl
    >>> tl.isin(tl.asarray([1, 2, 3]), tl.asarray([3, 1]))
    Tensor([ True, False,  True], dtype=bool, device='cpu')
    """
    a, b = as_tensors(element, test_elements)
    inverted = arguments.check_bool("invert", invert)
    # Only uint64 beside a signed dtype promotes to float64.
    kinds = a.dtype.kind + b.dtype.kind
    if kinds not in ("iu", "ui") or dtypes.promote_dtypes(a.dtype, b.dtype) != dtypes.float64:
        return dispatch.call_library(_ISIN, a, b, invert=inverted)
    # float64 does not hold all 64-bit integers. As int64, numbers that only one of the dtypes has
    # are negative, and do not occur in the other.
    a, b = (xp.astype(x, dtypes.int64, copy=False) for x in (a, b))
    result = dispatch.call_library(_ISIN, a, b, invert=inverted)
    # A negative number here is one that only the dtype of `a` holds. It may have the bits of a
    # number in `b`, but is never equal to it.
    if inverted:
        return xp.logical_or(result, xp.less(a, 0))
    return xp.logical_and(result, xp.greater_equal(a, 0))


def union1d(ar1: ArrayLike, ar2: ArrayLike) -> Tensor:
    """Return the distinct values of `ar1` and `ar2`, ascending.

    Any dtypes; the result has the promoted one. Layout: row-major.

    Raises `TypeError` if an argument is neither a tensor nor numbers.

    >>> import tensorlayout as tl
    >>> tl.union1d(tl.asarray([3, 1]), tl.asarray([2, 1]))
    Tensor([1, 2, 3], dtype=int64, device='cpu')
    """
    return unique(xp.concat(flatten_operands(ar1, ar2)))


def intersect1d(
    ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, return_indices: bool = False
) -> Any:
    """Return the distinct values that both `ar1` and `ar2` have, ascending.

    `return_indices` returns a tuple: the values, and for each tensor the position in index order of
    the first element of each value. `assume_unique` has no effect. Any dtypes; the values have the
    promoted one. Layout: row-major.

    Raises `TypeError` if an argument is neither a tensor nor numbers.

    >>> import tensorlayout as tl
    >>> tl.intersect1d(tl.asarray([3, 1]), tl.asarray([2, 1]))
    Tensor([1], dtype=int64, device='cpu')
    """
    x, y = promote_tensors(flatten_operands(ar1, ar2))
    values, first = unique(x, return_index=True)
    common_mask = isin(values, y)
    common = values[common_mask]
    if not return_indices:
        return common
    # Both lists of values ascend, so both masks select the same values in the same order.
    other_values, second = unique(y, return_index=True)
    return common, first[common_mask], second[isin(other_values, x)]


def setdiff1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False) -> Tensor:
    """Return the distinct values of `ar1` that `ar2` does not have, ascending.

    `assume_unique` returns all elements of `ar1` that `ar2` does not have, in index order. Any
    dtypes; the result has the dtype of `ar1`. Layout: row-major.

    Raises `TypeError` if an argument is neither a tensor nor numbers.

    >>> import tensorlayout as tl
    >>> tl.setdiff1d(tl.asarray([3, 1]), tl.asarray([2, 1]))
    Tensor([3], dtype=int64, device='cpu')
    """
    x, y = flatten_operands(ar1, ar2)
    values: Tensor = x if assume_unique else unique(x)
    return values[isin(values, y, invert=True)]


def setxor1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False) -> Tensor:
    """Return the sorted values that are in only one of `ar1` and `ar2`; each NaN is distinct.

    `assume_unique` skips the search for repeated values within a tensor. Any dtypes that have an
    order; the result has the promoted one. Layout: row-major.

    Raises `TypeError` for any other dtype.

    >>> import tensorlayout as tl
    >>> tl.setxor1d(tl.asarray([3, 1]), tl.asarray([2, 1]))
    Tensor([2, 3], dtype=int64, device='cpu')
    """
    x, y = flatten_operands(ar1, ar2)
    # Each value now occurs once for each tensor that has it, side by side: for [1, 2] and [2, 3]
    # that is [1, 2, 2, 3].
    merged = sort(xp.concat([x, y] if assume_unique else [unique(x), unique(y)]))
    if merged.size < 2:
        return merged
    edge = xp.ones(1, dtype=dtypes.bool, device=merged.device)
    # True where a value begins, and once more behind the last. A value stands alone if it begins
    # here and another begins after it.
    begins = xp.concat([edge, xp.not_equal(merged[1:], merged[:-1]), edge])
    return merged[xp.logical_and(begins[1:], begins[:-1])]
