"""Searching functions: positions of elements, and choices by a condition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, SupportsIndex, overload

from tensorlayout import dtypes
from tensorlayout.functions import arguments, dispatch
from tensorlayout.functions.creation import asarray
from tensorlayout.functions.data_types import astype
from tensorlayout.functions.manipulation import reshape
from tensorlayout.functions.operands import as_bool_tensor, as_tensor_on_device_of
from tensorlayout.functions.outputs import WHERE, call_reduction, store_in_out
from tensorlayout.plan import Library, Nonzero, Reduce, Results, Shape
from tensorlayout.tensor import Tensor
from tensorlayout.typing import ArrayLike, Axis, Operand

__all__ = ["argmax", "argmin", "count_nonzero", "flatnonzero", "nonzero", "searchsorted", "where"]


_Numbers = Tensor | Operand | list[Any]


@overload
def where(condition: Tensor, /) -> tuple[Tensor, ...]: ...
@overload
def where(condition: _Numbers, x: _Numbers, y: _Numbers, /) -> Tensor: ...
def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    """Return the elements of `x` where `condition` is true, and those of `y` elsewhere.

    - `condition`: numbers of any dtype, true where they are not 0.
    - `x`, `y`: tensors, numbers or lists; at least one of the three arguments is a tensor. Without
      both, the result is ``nonzero(condition)``.

    Returns a new tensor of the broadcast shape; the dtype is the promoted one of `x` and `y`.
    Layout: the form of `x` and `y`; the condition influences it only if neither `x` nor `y` has the
    result's shape.

    Raises `TypeError` for arguments that are not numbers, and if only one of `x` and `y` is given;
    `ValueError` for shapes that do not broadcast.

    >>> import tensorlayout as tl
    >>> x = tl.asarray([-1.0, 2.0, -3.0])
    >>> tl.where(x > 0, x, 0.0)
    Tensor([0., 2., 0.], dtype=float64, device='cpu')
    """
    is_mask = type(condition) is Tensor and condition.spec.dtype is dtypes.bool
    if is_mask and type(x) is type(y) is Tensor:
        key = (condition.spec, x.spec, y.spec)
        return dispatch.call(WHERE, key, (condition, x, y))
    if x is None and y is None:
        return nonzero(condition)
    if x is None or y is None:
        missing = "x" if x is None else "y"
        raise TypeError(f"either both or neither of x and y must be given; {missing} is missing")
    if not is_mask or type(x) is list or type(y) is list:
        first_tensor = next((item for item in (condition, x, y) if isinstance(item, Tensor)), None)
        # Without any tensor this raises the error for the first argument, unless it is an array.
        first = arguments.as_tensor(condition) if first_tensor is None else first_tensor
        condition = as_bool_tensor(condition, first)
        x, y = (as_tensor_on_device_of(v, first) if type(v) is list else v for v in (x, y))
    return dispatch.call_elementwise(WHERE, condition, x, y)


def _searchsorted_results(shapes: Sequence[Shape], dtype: dtypes.DType, *, side: str) -> Results:
    sorted_shape, value_shape = shapes
    if len(sorted_shape) != 1:
        raise ValueError(f"a must have rank 1, got shape {sorted_shape}")
    return [(value_shape, dtypes.int64)]


_ARGMAX = Reduce("argmax", "real numeric", "argmax", dtypes.int64, False, single=True)
_ARGMIN = Reduce("argmin", "real numeric", "argmin", dtypes.int64, False, single=True)
_COUNT = Reduce("count_nonzero", "any", "count_nonzero", dtypes.int64)
_NONZERO = Nonzero()
_SEARCH = Library("searchsorted", "real numeric", _searchsorted_results)


def argmax(
    a: Tensor,
    axis: SupportsIndex | None = None,
    out: Tensor | None = None,
    *,
    keepdims: bool = False,
) -> Tensor:
    """Return the position of the first greatest element along `axis`.

    - `axis`: a dimension; None numbers all elements in row-major index order.
    - `out`: a tensor that receives the result.
    - `keepdims`: keep the reduced dimensions with size 1.

    Returns a new int64 tensor; NaN counts as greatest. dtypes: real numeric and bool. Layout:
    packed in the input's order.

    Raises `TypeError` for other dtypes, `ValueError` for no elements, and `AxisError` (a
    `ValueError`) for an axis that is out of bounds.

    >>> import tensorlayout as tl
    >>> tl.argmax(tl.asarray([[5, 7, 7], [9, 0, 1]]), axis=1)
    Tensor([1, 0], dtype=int64, device='cpu')
    """
    if type(a) is Tensor and a.spec.dtype.kind == "b":
        a = astype(a, dtypes.uint8)  # which has an order
    result = call_reduction(_ARGMAX, a, axis, keepdims)
    return result if out is None else store_in_out("argmax", result, out)


def argmin(
    a: Tensor,
    axis: SupportsIndex | None = None,
    out: Tensor | None = None,
    *,
    keepdims: bool = False,
) -> Tensor:
    """Return the position of the first least element along `axis`, or in index order; NaN wins.

    `axis`, `out` and `keepdims` are as in `argmax`. dtypes: real numeric and bool; the result is
    int64. Layout: packed in the input's order.

    Raises `ValueError` and `TypeError` as `argmax` does.

    >>> import tensorlayout as tl
    >>> tl.argmin(tl.asarray([[5, 7, 7], [9, 0, 1]]))
    Tensor(4, dtype=int64, device='cpu')
    """
    if type(a) is Tensor and a.spec.dtype.kind == "b":
        a = astype(a, dtypes.uint8)  # which has an order
    result = call_reduction(_ARGMIN, a, axis, keepdims)
    return result if out is None else store_in_out("argmin", result, out)


def count_nonzero(a: Tensor, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """Return how many elements along `axis` (default: all) are not zero, as int64.

    NaN is not zero. `keepdims` keeps the axes, of size 1. Any dtype. Layout: packed in the input's
    order.

    Raises `ValueError` if an axis is repeated, and (`AxisError`) if it is out of bounds;
    `TypeError` if it is not an integer.

    >>> import tensorlayout as tl
    >>> tl.count_nonzero(tl.asarray([[0, 7], [8, 9]]), axis=0)
    Tensor([1, 2], dtype=int64, device='cpu')
    """
    return call_reduction(_COUNT, a, axis, keepdims)


def nonzero(a: Tensor) -> tuple[Tensor, ...]:
    """Return the indices of the elements that are not zero, one int64 tensor for each dimension.

    Returns the elements' indices in row-major index order; any dtype is accepted, and NaN is not
    zero. Layout: row-major.

    Raises `ValueError` for rank 0.

    >>> import tensorlayout as tl
    >>> tl.nonzero(tl.asarray([[0, 7], [8, 0]]))[1]
    Tensor([1, 0], dtype=int64, device='cpu')
    """
    x = a if type(a) is Tensor else arguments.as_tensor(a)
    return dispatch.call(_NONZERO, (x.spec,), (x,))  # type: ignore[return-value]


def flatnonzero(a: Tensor) -> Tensor:
    """Return the positions, in index order, of the elements that are not zero, as int64.

    NaN is not zero. Any dtype. Layout: row-major.

    Raises `TypeError` if `a` is not a tensor.

    >>> import tensorlayout as tl
    >>> tl.flatnonzero(tl.asarray([[0, 7], [8, 0]]))
    Tensor([1, 2], dtype=int64, device='cpu')
    """
    return nonzero(reshape(arguments.as_tensor(a), (-1,)))[0]


def searchsorted(
    a: Tensor, v: ArrayLike, side: Literal["left", "right"] = "left", sorter: Tensor | None = None
) -> Tensor:
    """Return the positions at which `v` would be inserted into the sorted tensor `a`.

    - `a`: a tensor of rank 1. `v`: numbers of any shape; a Python number has the dtype of `a`, if
      it fits.
    - `side`: insert before (``left``) or behind (``right``) equal elements.
    - `sorter`: positions that sort `a`, an integer tensor of its shape. The elements are gathered
      first, which a trace shows.

    Returns an int64 tensor of the shape of `v`. dtypes: real numeric; NaN counts as greatest, as in
    `sort`. Layout: row-major.

    Raises `ValueError` for an `a` of another rank, and `TypeError` for other dtypes.

    >>> import tensorlayout as tl
    >>> tl.searchsorted(tl.asarray([1, 2, 2, 5]), tl.asarray([2, 6]), side="right")
    Tensor([3, 4], dtype=int64, device='cpu')
    """
    arguments.check_choice("side", side, ("left", "right"), "'left' or 'right'")
    line = arguments.as_tensor(a)
    values = v if type(v) is Tensor else _as_search_values(v, line)
    if sorter is not None:
        line = _apply_sorter(line, arguments.as_tensor(sorter, "sorter"))
    return dispatch.call_library(_SEARCH, line, values, side=side)


def _as_search_values(v: Any, sorted_values: Tensor) -> Tensor:
    """Return the values to search for in `sorted_values` as a tensor.

    Arrays of any library are moved to its device.
    """
    kind = (
        dtypes.promote_with_scalar(sorted_values.dtype, type(v))
        if type(v) in dtypes.SCALARS
        else None
    )
    try:
        return asarray(v, dtype=kind, device=sorted_values.device)
    except OverflowError:  # numbers out of range of the dtype go to one of the ends
        return asarray(v, device=sorted_values.device)


def _apply_sorter(values: Tensor, sorter: Tensor) -> Tensor:
    if not dtypes.is_in_category(sorter.dtype, "integral"):
        raise TypeError(f"sorter must have an integer dtype, got {sorter.dtype}")
    if values.ndim != 1 or sorter.shape != values.shape:
        shapes = f"{values.shape} and {sorter.shape}"
        raise ValueError(f"a must have rank 1 and sorter its shape, got shapes {shapes}")
    try:
        return values[sorter]
    except IndexError:
        msg = f"sorter holds positions out of bounds for a of shape {values.shape}"
        raise IndexError(msg) from None
