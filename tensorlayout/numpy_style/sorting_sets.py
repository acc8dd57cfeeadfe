"""Orders and sets with NumPy's signatures."""

from __future__ import annotations

from typing import Any

from tensorlayout import dtypes
from tensorlayout.functions import arguments, sets, sorting
from tensorlayout.functions import elementwise as ew
from tensorlayout.functions.creation import ones
from tensorlayout.functions.data_types import astype
from tensorlayout.functions.indexing import take_along_axis
from tensorlayout.functions.manipulation import concat, reshape
from tensorlayout.functions.operands import ordered, promoted, sequence, tensors, unsupported
from tensorlayout.functions.searching import nonzero
from tensorlayout.tensor import Tensor
from tensorlayout.words import refuse

__all__ = [
    "argpartition",
    "intersect1d",
    "isin",
    "lexsort",
    "partition",
    "setdiff1d",
    "setxor1d",
    "sort",
    "union1d",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]


def unique_all(x: Tensor) -> sets.UniqueAll:
    """`tl.unique_all`."""
    return sets.unique_all(x)


def unique_counts(x: Tensor) -> sets.UniqueCounts:
    """`tl.unique_counts`."""
    return sets.unique_counts(x)


def unique_inverse(x: Tensor) -> sets.UniqueInverse:
    """`tl.unique_inverse`."""
    return sets.unique_inverse(x)


def unique_values(x: Tensor) -> Tensor:
    """`tl.unique_values`."""
    return sets.unique_values(x)


def sort(
    a: Tensor,
    axis: int | None = -1,
    kind: str | None = None,
    order: Any = None,
    *,
    stable: bool | None = None,
    descending: bool = False,
) -> Tensor:
    """`tl.sort`; of all elements in index order where `axis` is None."""
    unsupported("sort", order=order)
    x = arguments.tensor("sort", a)
    x, axis = (reshape(x, (-1,)), 0) if axis is None else (x, axis)
    steady = stable is not False
    found = sorting.sort(ordered("sort", x), axis=axis, stable=steady, descending=descending)
    return astype(found, x.dtype, copy=False)


def partition(
    a: Tensor, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None
) -> Tensor:
    """As `sort`: lesser elements before each position `kth`, greater ones behind."""
    x, dim = _parted("partition", a, kth, axis, order)
    return astype(sorting.sort(ordered("partition", x), axis=dim), x.dtype, copy=False)


def argpartition(
    a: Tensor, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None
) -> Tensor:
    """The positions that sort, which put lesser elements before each position `kth`."""
    x, dim = _parted("argpartition", a, kth, axis, order)
    return sorting.argsort(ordered("argpartition", x), axis=dim)


def _parted(name: str, a: Any, kth: Any, axis: int | None, order: Any) -> tuple[Tensor, int]:
    """What is sorted along which axis; positions are checked."""
    unsupported(name, order=order)
    x = arguments.tensor(name, a)
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    dim = arguments.dim(name, axis, x.ndim)
    given = arguments.integers(kth, name, "kth", none=False)
    for place in (given,) if isinstance(given, int) else given:
        if not -x.shape[dim] <= place < x.shape[dim]:
            refuse(name, f"kth must lie in axis {dim} of shape {x.shape}, got {place}")
    return x, dim


def lexsort(keys: Any, axis: int = -1) -> Tensor:
    """The positions that sort by the last of `keys`, equal ones by the one before, and so on."""
    parts = [ordered("lexsort", key) for key in sequence("lexsort", keys, "keys")]
    order = sorting.argsort(parts[0], axis=axis)
    for key in parts[1:]:
        sorted_before = take_along_axis(key, order, axis=axis)
        order = take_along_axis(order, sorting.argsort(sorted_before, axis=axis), axis=axis)
    return order


def unique(
    ar: Tensor,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """The distinct values, ascending; and first positions, positions of values, counts.

    NaN is one value, unless `equal_nan` is false.
    """
    x = arguments.tensor("unique", ar)
    if axis is not None and x.ndim != 1:
        unsupported("unique", axis=axis)
    if not (return_index or return_inverse or return_counts):
        values = sets.unique_values(x)
        first, _ = _nans(values, equal_nan)
        return values if first is None else values[: first + 1]
    values, index, inverse, counts = sets.unique_all(x)
    first, number = _nans(values, equal_nan)
    if first is not None:
        # All of them stand last, in index order.
        values, index = values[: first + 1], index[: first + 1]
        inverse = ew.minimum(inverse, first)
        counts = concat([counts[:first], counts[:1] * 0 + number])
    wanted = ((return_index, index), (return_inverse, inverse), (return_counts, counts))
    return (values, *(part for asked, part in wanted if asked))


def _nans(values: Tensor, equal: bool) -> tuple[int | None, int]:
    """Where NaN begin among sorted values, and how many there are; None for fewer than two."""
    if not equal or not dtypes.in_category(values.dtype, "floating-point"):
        return None, 0
    places = nonzero(ew.isnan(values))[0]
    return (int(places[0]), places.size) if places.size > 1 else (None, 0)


def isin(
    element: Any,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: str | None = None,
) -> Tensor:
    """`tl.isin`."""
    x, of = tensors("isin", element, test_elements)
    return sets.isin(x, of, invert=bool(invert))


def _two(name: str, ar1: Any, ar2: Any) -> tuple[Tensor, Tensor]:
    first, second = (reshape(x, (-1,)) for x in tensors(name, ar1, ar2))
    return first, second


def union1d(ar1: Any, ar2: Any) -> Tensor:
    """The distinct values of both, ascending."""
    found: Tensor = unique(concat(_two("union1d", ar1, ar2)))
    return found


def intersect1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False
) -> Any:
    """The distinct values that both have, ascending; and where each has them first."""
    x, y = promoted(_two("intersect1d", ar1, ar2))
    values, first = unique(x, return_index=True)
    kept = sets.isin(values, y)
    found = values[kept]
    if not return_indices:
        return found
    others, second = unique(y, return_index=True)
    return found, first[kept], second[sets.isin(others, x)]


def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Tensor:
    """The distinct values of the first that the second has not; ascending, but for unique ones."""
    x, y = _two("setdiff1d", ar1, ar2)
    values: Tensor = x if assume_unique else unique(x)
    return values[sets.isin(values, y, invert=True)]


def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Tensor:
    """The values that only one of both has, ascending; each NaN is a value of its own."""
    x, y = _two("setxor1d", ar1, ar2)
    line = sort(concat([x, y] if assume_unique else [unique(x), unique(y)]))
    if line.size < 2:
        return line
    edge = ones(1, dtype=dtypes.bool, device=line.device)
    begins = concat([edge, ew.not_equal(line[1:], line[:-1]), edge])
    return line[ew.logical_and(begins[1:], begins[:-1])]
