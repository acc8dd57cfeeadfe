"""Sorting functions: sorted elements, the positions that sort them, and the first of both.

NaN counts as greatest, zeros of both signs are equal, and False is less than True. `order`, which
is for structured dtypes, must be None. With an `axis` of None, all elements are one line in index
order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, SupportsIndex

from tensorlayout import dtypes
from tensorlayout.functions import arguments, dispatch
from tensorlayout.functions.creation import empty_like
from tensorlayout.functions.data_types import astype
from tensorlayout.functions.operands import (
    as_tensor_sequence,
    operand_and_dim,
    refuse_unsupported_arguments,
)
from tensorlayout.functions.selecting import take_along_axis
from tensorlayout.plan import DestinationOperation, Sort, TopKPlan, check_category
from tensorlayout.tensor import Tensor
from tensorlayout.typing import ArrayLike, Integers

__all__ = ["argpartition", "argsort", "lexsort", "partition", "sort", "top_k"]

_ARGSORT = Sort("argsort", "positions")
_SORT = Sort("sort", "values")
_TOP_K = DestinationOperation("top_k", TopKPlan)
# NumPy's names of algorithms. All of them select the same stable sort here.
_KINDS = ("heapsort", "mergesort", "quicksort", "stable")


def argsort(
    a: Tensor,
    axis: SupportsIndex | None = -1,
    kind: str | None = None,
    order: None = None,
    *,
    stable: bool | None = None,
    descending: bool = False,
) -> Tensor:
    """Return the positions that sort each line along `axis`.

    - `axis`: the dimension to sort along.
    - `descending`: begin with the greatest element.
    - `stable`: equal elements keep their order; if False, equal 64-bit numbers may come in any
      order.
    - `kind`, `order`: accepted for NumPy's sake, without effect.

    Returns a new int64 tensor; dtypes: real numeric, narrow and bool. Layout: packed in the input's
    order.

    Raises `TypeError` for other dtypes and for an axis that is not an integer, and `AxisError` (a
    `ValueError`) for an axis that is out of bounds.

    >>> import tensorlayout as tl
    >>> tl.argsort(tl.asarray([3, 1, 3]), descending=True)
    Tensor([0, 2, 1], dtype=int64, device='cpu')
    """
    return _call_sort(_ARGSORT, a, axis, kind, order, stable, descending)


def sort(
    a: Tensor,
    axis: SupportsIndex | None = -1,
    kind: str | None = None,
    order: None = None,
    *,
    stable: bool | None = None,
    descending: bool = False,
) -> Tensor:
    """Sort the elements along `axis`, ascending or `descending`; equal ones keep their order.

    - `axis`: the dimension to sort along.
    - `kind`, `order`: accepted for NumPy's sake, without effect.
    - `stable`: if False, zeros of both signs may come in any order.

    Returns a new tensor (``x.sort()`` sorts in place); dtypes: real numeric, narrow and bool, kept.
    Layout: packed in the input's order.

    Raises `TypeError` and `ValueError` as `argsort`.

    >>> import tensorlayout as tl
    >>> tl.sort(tl.asarray([3, 1, 2]), descending=True)
    Tensor([3, 2, 1], dtype=int64, device='cpu')
    """
    return _call_sort(_SORT, a, axis, kind, order, stable, descending)


def _call_sort(
    operation: Sort,
    x: Tensor,
    axis: SupportsIndex | None,
    kind: str | None,
    order: None,
    stable: bool | None,
    descending: bool,
) -> Tensor:
    needs_no_checks = type(axis) is int and type(descending) is bool and kind is order is None
    # Not a narrow dtype; is_narrow_dtype() would be one more call.
    if (needs_no_checks and type(x) is Tensor and (stable is None or type(stable) is bool)) and (
        (d := x.spec.dtype).itemsize > 1 or d.kind in "iu"
    ):
        return dispatch.call(operation, (x.spec, axis, descending, stable is not False), (x,))
    refuse_unsupported_arguments(order=order)
    if kind is not None:
        arguments.check_choice("kind", kind, _KINDS)
        if stable is not None:
            raise ValueError("kind and stable cannot be combined, got both")
    x, dim = operand_and_dim(x, axis)
    is_descending = arguments.check_bool("descending", descending)
    is_stable = arguments.check_flag("stable", stable) is not False
    # Narrow numbers are compared by value, but the elements keep their bits, such as those of NaN.
    if dtypes.is_narrow_dtype(x.dtype):
        positions = argsort(
            astype(x, dtypes.computing_dtype(x.dtype)),
            dim,
            descending=is_descending,
            stable=is_stable,
        )
        return positions if operation is _ARGSORT else take_along_axis(x, positions, axis=dim)
    numbers = astype(x, dtypes.uint8) if x.dtype == dtypes.bool else x
    result = dispatch.call(operation, (numbers.spec, dim, is_descending, is_stable), (numbers,))
    return astype(result, x.dtype, copy=False) if operation is _SORT else result


def partition(
    a: Tensor,
    kth: Integers,
    axis: SupportsIndex | None = -1,
    kind: str = "introselect",
    order: None = None,
) -> Tensor:
    """Partition the elements along `axis` around each position `kth`.

    The elements are sorted, which is one of the possible results. `kth` is a position, or several;
    `kind` and `order` have no effect. dtypes: real numeric, narrow and bool, kept. Layout: packed
    in the input's order.

    Raises `ValueError` if a position is out of bounds, and (`AxisError`) if `axis` is; `TypeError`
    for any other dtype.

    >>> import tensorlayout as tl
    >>> tl.partition(tl.asarray([3, 1, 2]), 1)
    Tensor([1, 2, 3], dtype=int64, device='cpu')
    """
    _check_kth(a, kth, axis, order)
    return sort(a, axis)


def argpartition(
    a: Tensor,
    kth: Integers,
    axis: SupportsIndex | None = -1,
    kind: str = "introselect",
    order: None = None,
) -> Tensor:
    """Return the positions that partition the elements around each position `kth`.

    The positions sort the elements. `kth`, `axis`, `kind` and `order` are as in `partition`.
    dtypes: real numeric, narrow and bool; the result is int64. Layout: packed in the input's order.

    Raises `ValueError` and `TypeError` as `partition` does.

    >>> import tensorlayout as tl
    >>> tl.argpartition(tl.asarray([3, 1, 2]), 1)
    Tensor([1, 2, 0], dtype=int64, device='cpu')
    """
    _check_kth(a, kth, axis, order)
    return argsort(a, axis)


def _check_kth(a: Any, kth: Any, axis: SupportsIndex | None, order: None) -> None:
    refuse_unsupported_arguments(order=order)
    x = arguments.as_tensor(a)
    size = x.size if axis is None else x.shape[arguments.normalize_axis(axis, x.ndim)]
    places = arguments.as_integers(kth, "kth", allow_none=False)
    for place in (places,) if isinstance(places, int) else places:
        if not -size <= place < size:
            raise ValueError(f"kth must lie within the {size} elements of a line, got {place}")


def lexsort(keys: Sequence[ArrayLike] | Tensor, axis: SupportsIndex = -1) -> Tensor:
    """Return the positions that sort by the last of `keys`, then by the key before, and so on.

    `keys` are tensors of one shape, or one tensor with the keys along its first dimension; each
    line along `axis` is sorted. dtypes: real numeric and bool; the result is int64. Layout: packed
    in the order of the keys.

    Raises `ValueError` if there are no keys or their shapes differ; `TypeError` for any other
    dtype.

    >>> import tensorlayout as tl
    >>> tl.lexsort([tl.asarray([2, 1, 1]), tl.asarray([0, 1, 0])])
    Tensor([2, 0, 1], dtype=int64, device='cpu')
    """
    parts, dim = as_tensor_sequence(keys, "keys"), arguments.as_integer("axis", axis)
    if len(shapes := {x.shape for x in parts}) > 1:
        raise ValueError(f"keys must have one shape, got {' and '.join(map(str, sorted(shapes)))}")
    # Sorted by the least significant key first. Each further sort is stable and so keeps the order
    # of equal elements; positions of the sorted are translated to positions in the keys.
    positions = argsort(parts[0], dim)
    for key in parts[1:]:
        sorted_before = take_along_axis(key, positions, dim)
        positions = take_along_axis(positions, argsort(sorted_before, dim), dim)
    return positions


class TopKResult(NamedTuple):
    """Result of `top_k`: elements, and their positions along the axis."""

    values: Tensor
    indices: Tensor


def top_k(
    x: Tensor,
    k: SupportsIndex,
    /,
    *,
    axis: SupportsIndex = -1,
    mode: Literal["largest", "smallest"] = "largest",
    sorted: bool = True,
) -> TopKResult:
    """Return the `k` largest or smallest elements of each line along `axis`, and their positions.

    - `k`: a number from 0 to the size of a line.
    - `mode`: ``"largest"`` begins with the largest element, ``"smallest"`` with the smallest. Equal
      elements come by increasing position, and NaN counts as the largest number, as in `sort`.
    - `sorted`: accepted for NumPy's sake, without effect; the elements are always sorted.

    Returns a named tuple of new tensors, whose size along `axis` is `k`: `values`, of the dtype of
    `x`, and `indices`, of int64. dtypes: real numeric, narrow and bool. Layout: packed in the
    input's order.

    Raises `ValueError` if `k` is out of range or `mode` unknown, and (`AxisError`) if `axis` is out
    of bounds; `TypeError` for any other dtype.

    Source: draft of the array API standard (2026-11), searching functions, `top_k`.

    >>> import tensorlayout as tl
    >>> values, indices = tl.top_k(tl.asarray([3, 1, 3, 2]), 3)
    >>> values.tolist(), indices.tolist()
    ([3, 3, 2], [0, 2, 3])
    """
    x, dim = operand_and_dim(x, arguments.as_integer("axis", axis))
    is_descending = arguments.check_choice("mode", mode, ("largest", "smallest")) == "largest"
    arguments.check_bool("sorted", sorted)
    count, size = arguments.as_integer("k", k), x.shape[dim]
    if not 0 <= count <= size:
        received = arguments.format_argument(count)
        raise ValueError(f"k must be from 0 to {size}, the size along axis {dim}, got {received}")
    # Narrow numbers are compared by value, but the elements keep their bits, such as those of NaN.
    numbers = x
    if dtypes.is_narrow_dtype(x.dtype):
        numbers = astype(x, dtypes.computing_dtype(x.dtype))
    elif x.dtype == dtypes.bool:
        numbers = astype(x, dtypes.uint8)
    check_category("real numeric", numbers.dtype)
    shape, order = (*x.shape[:dim], count, *x.shape[dim + 1 :]), x.layout.minor_to_major
    values, indices = (
        empty_like(numbers, dtype=dtype, shape=shape, layout=order)
        for dtype in (numbers.dtype, dtypes.int64)
    )
    if values.size:
        specs = values.spec, indices.spec, numbers.spec
        dispatch.call(_TOP_K, (*specs, dim, is_descending), (values, indices, numbers))
    if numbers is not x:
        values = take_along_axis(x, indices, axis=dim)
    return TopKResult(values, indices)
