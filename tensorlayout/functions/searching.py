"""Searching functions."""

from __future__ import annotations

from typing import Literal

from tensorlayout import dtypes
from tensorlayout.cpu import choosing, library, reducing
from tensorlayout.functions import calling
from tensorlayout.functions.creation import asarray
from tensorlayout.functions.statistical import Axis, reduced
from tensorlayout.plan.elementwise import Elementwise
from tensorlayout.plan.library import Library
from tensorlayout.plan.reducing import Reduce
from tensorlayout.tensor import Tensor

__all__ = ["argmax", "argmin", "count_nonzero", "nonzero", "searchsorted", "where"]


_WHERE = Elementwise("where", "any", choosing.choose, abstain=(0,), repair=choosing.BY_BITS)


def where(condition: Tensor, x1: Tensor | complex, x2: Tensor | complex, /) -> Tensor:
    """The elements of `x1` where `condition` is true, those of `x2` elsewhere.

    `condition`: a tensor of bool. Shapes broadcast. Layout: the form of `x1` and `x2`; the
    condition has a say only if neither has the shape of the result.

    >>> import tensorlayout as tl
    >>> x = tl.asarray([-1.0, 2.0, -3.0])
    >>> tl.where(x > 0, x, 0.0)
    Tensor([0., 2., 0.], dtype=float64, device='cpu')
    """
    condition = calling.tensor("where", condition)
    if condition.dtype != dtypes.bool:
        msg = f"where: the condition must have dtype bool, got {condition.dtype}"
        raise TypeError(msg)
    return calling.elementwise(_WHERE, condition, x1, x2)


_ARGMAX = Reduce("argmax", "real numeric", reducing.argmax, dtypes.int64, identity=False)
_ARGMIN = Reduce("argmin", "real numeric", reducing.argmin, dtypes.int64, identity=False)
_COUNT = Reduce("count_nonzero", "any", reducing.count_nonzero, dtypes.int64)
_NONZERO = Library("nonzero", "any", library.nonzero, rank=1)
_SEARCH = Library("searchsorted", "real numeric", library.searchsorted, rank=1)


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The position of the first greatest element along `axis`, or in index order; NaN wins."""
    return reduced(_ARGMAX, x, axis, keepdims)


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The position of the first least element along `axis`, or in index order; NaN wins."""
    return reduced(_ARGMIN, x, axis, keepdims)


def count_nonzero(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """How many elements along `axis` are not zero, as int64; NaN is not zero."""
    return reduced(_COUNT, x, axis, keepdims)


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """The indices of the elements that are not zero, one int64 tensor a dimension.

    In row-major index order. ValueError at rank 0.
    """
    found: tuple[Tensor, ...] = calling.library(_NONZERO, x)
    return found


def searchsorted(
    x1: Tensor,
    x2: Tensor | float,
    /,
    *,
    side: Literal["left", "right"] = "left",
    sorter: Tensor | None = None,
) -> Tensor:
    """The positions at which `x2` would go into the sorted tensor `x1`, of rank 1.

    `side`: before (``left``) or behind equal elements; `sorter`: the positions that sort `x1`.
    The result is int64, of the shape of `x2`, row-major.
    """
    if side not in ("left", "right"):
        msg = f"searchsorted: side must be 'left' or 'right', got {side!r}"
        raise ValueError(msg)
    x1 = calling.tensor("searchsorted", x1)
    if x1.ndim != 1:
        msg = f"searchsorted: x1 must have rank 1, got shape {x1.shape}"
        raise ValueError(msg)
    values = x2 if isinstance(x2, Tensor) else asarray(x2, dtype=_weak(x1, x2))
    line = x1 if sorter is None else x1[sorter]
    return calling.library(_SEARCH, line, values, static=(side,))  # type: ignore[no-any-return]


def _weak(x: Tensor, value: float) -> dtypes.DType:
    return dtypes.promote_scalar(x.dtype, type(calling.operand("searchsorted", value)))
