"""Searching functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, SupportsIndex

import numpy as np

from tensorlayout import dtypes
from tensorlayout.dtypes import DType
from tensorlayout.functions import arguments, dispatch
from tensorlayout.functions.creation import asarray
from tensorlayout.functions.data_types import astype
from tensorlayout.functions.outputs import WHERE, given
from tensorlayout.functions.reduction import reduced
from tensorlayout.functions.transfers import moved
from tensorlayout.plan.library import Library, Results, Shape
from tensorlayout.plan.mask import Nonzero
from tensorlayout.plan.reduce import Reduce
from tensorlayout.tensor import Tensor
from tensorlayout.typing import Array, Axis, NumpyOperand, Operand
from tensorlayout.words import named, refuse

__all__ = ["argmax", "argmin", "count_nonzero", "nonzero", "searchsorted", "where"]


def where(condition: Tensor | Array, x1: Tensor | Operand, x2: Tensor | Operand, /) -> Tensor:
    """The elements of `x1` where `condition` is true, those of `x2` elsewhere.

    `condition`: a tensor of bool. Shapes broadcast. Layout: the form of `x1` and `x2`; the
    condition has a say only if neither has the shape of the result. dtype: the promoted one of `x1`
    and `x2`. TypeError for a condition of another dtype, ValueError for shapes that do not
    broadcast.

    >>> import tensorlayout as tl
    >>> x = tl.asarray([-1.0, 2.0, -3.0])
    >>> tl.where(x > 0, x, 0.0)
    Tensor([0., 2., 0.], dtype=float64, device='cpu')
    """
    if type(condition) is type(x1) is type(x2) is Tensor:
        key = (condition._spec, x1._spec, x2._spec)
        if condition._spec.dtype is dtypes.bool:
            return dispatch.call(WHERE, key, (condition, x1, x2))
    dtype = arguments.tensor("where", condition).dtype
    if dtype != dtypes.bool:
        rule = f"the condition must have dtype bool, got {dtype}; use condition != 0"
        refuse("where", rule, TypeError)
    return dispatch.elementwise(WHERE, condition, x1, x2)


def _positions(shapes: Sequence[Shape], dtype: DType, *, side: str) -> Results:
    line, values = shapes
    if len(line) != 1:
        msg = f"x1 must have rank 1, got shape {line}"
        raise ValueError(msg)
    return [(values, dtypes.int64)]


_ARGMAX = Reduce("argmax", "real numeric", "argmax", dtypes.int64, False, single=True)
_ARGMIN = Reduce("argmin", "real numeric", "argmin", dtypes.int64, False, single=True)
_COUNT = Reduce("count_nonzero", "any", "count_nonzero", dtypes.int64)
_NONZERO = Nonzero()
_SEARCH = Library("searchsorted", "real numeric", _positions)


def argmax(
    a: Tensor,
    axis: SupportsIndex | None = None,
    out: Tensor | None = None,
    *,
    keepdims: bool = False,
) -> Tensor:
    """The position of the first greatest element along `axis`, or in index order; NaN wins.

    dtypes: real numeric and bool; the result is int64. `out`: receives the result. `axis`: None
    numbers all elements in row-major index order; `keepdims`: the axes stay, of size 1. Layout:
    packed in the input's order. TypeError for other dtypes; ValueError of no elements, and
    (AxisError) for an axis outside the rank.

    >>> import tensorlayout as tl
    >>> tl.argmax(tl.asarray([[5, 7, 7], [9, 0, 1]]), axis=1)
    Tensor([1, 0], dtype=int64, device='cpu')
    """
    if type(a) is Tensor and a._spec.dtype.kind == "b":
        a = astype(a, dtypes.uint8)  # which has an order
    found = reduced(_ARGMAX, a, axis, keepdims)
    return found if out is None else given("argmax", found, out)


def argmin(
    a: Tensor,
    axis: SupportsIndex | None = None,
    out: Tensor | None = None,
    *,
    keepdims: bool = False,
) -> Tensor:
    """The position of the first least element along `axis`, or in index order; NaN wins.

    dtypes: real numeric and bool; the result is int64. `out`: receives the result. `axis`: None
    numbers all elements in row-major index order; `keepdims`: the axes stay, of size 1. Layout:
    packed in the input's order. TypeError for other dtypes; ValueError of no elements, and
    (AxisError) for an axis outside the rank.

    >>> import tensorlayout as tl
    >>> tl.argmin(tl.asarray([[5, 7, 7], [9, 0, 1]]))
    Tensor(4, dtype=int64, device='cpu')
    """
    if type(a) is Tensor and a._spec.dtype.kind == "b":
        a = astype(a, dtypes.uint8)  # which has an order
    found = reduced(_ARGMIN, a, axis, keepdims)
    return found if out is None else given("argmin", found, out)


def count_nonzero(a: Tensor, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """How many elements along `axis` are not zero, as int64; NaN is not zero.

    Any dtype. `axis`: one, several, or None for all; `keepdims`: these stay, of size 1. Layout:
    packed in the input's order. TypeError for an axis that is no integer; ValueError (AxisError)
    for one outside the rank, or named twice.

    >>> import tensorlayout as tl
    >>> tl.count_nonzero(tl.asarray([[0, 7], [8, 9]]), axis=0)
    Tensor([1, 2], dtype=int64, device='cpu')
    """
    return reduced(_COUNT, a, axis, keepdims)


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """The indices of the elements that are not zero, one int64 tensor a dimension.

    Any dtype; NaN is not zero. The elements come in row-major index order. Layout: row-major.
    ValueError at rank 0.

    >>> import tensorlayout as tl
    >>> tl.nonzero(tl.asarray([[0, 7], [8, 0]]))[1]
    Tensor([1, 0], dtype=int64, device='cpu')
    """
    x = x if type(x) is Tensor else arguments.tensor("nonzero", x)
    found: Any = dispatch.call(_NONZERO, (x._spec,), (x,))
    return found  # type: ignore[no-any-return]


def searchsorted(
    x1: Tensor,
    x2: Tensor | float | NumpyOperand,
    /,
    *,
    side: Literal["left", "right"] = "left",
    sorter: Tensor | None = None,
) -> Tensor:
    """The positions at which `x2` would go into the sorted tensor `x1`, of rank 1.

    `side`: before (``left``) or behind equal elements; NaN counts as greater than all else, as in
    `sort`. `sorter`: the positions that sort `x1`, an integer tensor of its shape; the elements are
    first gathered, which a trace shows. dtypes: real numeric. The result is int64, of the shape of
    `x2`, row-major. ValueError for an `x1` of another rank, TypeError for other dtypes.

    >>> import tensorlayout as tl
    >>> tl.searchsorted(tl.asarray([1, 2, 2, 5]), tl.asarray([2, 6]), side="right")
    Tensor([3, 4], dtype=int64, device='cpu')
    """
    arguments.choice("searchsorted", "side", side, "'left' or 'right'", ("left", "right"))
    line = arguments.tensor("searchsorted", x1)
    values = beside("searchsorted", x2, line)
    if sorter is not None:
        line = _in_order(line, arguments.tensor("searchsorted", sorter, "sorter"))
    found: Tensor = dispatch.library(_SEARCH, line, values, side=side)
    return found


def _in_order(line: Tensor, sorter: Tensor) -> Tensor:
    if not dtypes.in_category(sorter.dtype, "integral"):
        refuse("searchsorted", f"sorter must have an integer dtype, got {sorter.dtype}", TypeError)
    if line.ndim != 1 or sorter.shape != line.shape:
        msg = (
            f"searchsorted: x1 must have rank 1 and sorter its shape, got shapes {line.shape}"
            f" and {sorter.shape}"
        )
        raise ValueError(msg)
    try:
        return line[sorter]
    except IndexError:
        msg = f"searchsorted: sorter holds positions out of bounds for x1 of shape {line.shape}"
        raise IndexError(msg) from None


def beside(name: str, x: Any, other: Tensor) -> Tensor:
    """`x` as a tensor: a Python scalar gets the dtype that it has in an operation with `other`.

    TypeError for NumPy arrays beside tensors on CUDA; OverflowError for an integer that this dtype
    does not hold.
    """
    given = arguments.operand(name, x)
    if isinstance(given, Tensor):
        arguments.refuse_arrays(name, (x,), other.device)
        return moved(given, other.device) if isinstance(x, np.generic) else given
    kind = dtypes.promote_scalar(other.dtype, type(given))
    try:
        return asarray(given, dtype=kind, device=other.device)
    except OverflowError:
        raise named(name, dtypes.misfit(given, kind)) from None
