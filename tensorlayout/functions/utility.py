"""Utility functions."""

from __future__ import annotations

from typing import SupportsIndex

from tensorlayout import dtypes
from tensorlayout.functions import arguments
from tensorlayout.functions.creation import full_like
from tensorlayout.functions.elementwise import not_equal, subtract
from tensorlayout.functions.manipulation import broadcast_to, concat
from tensorlayout.functions.statistical import reduced
from tensorlayout.plan.reduce import Reduce
from tensorlayout.tensor import Tensor
from tensorlayout.typing import Axis, Scalar

__all__ = ["all", "any", "diff"]

_ALL = Reduce("all", "any", "all", dtypes.bool)
_ANY = Reduce("any", "any", "any", dtypes.bool)


def all(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Whether every element along `axis` is nonzero (NaN counts as such); True of none.

    Any dtype; the result is bool. `axis`: one, several, or None for all; `keepdims`: these stay, of
    size 1. Layout: packed in the input's order. TypeError for an axis that is no integer;
    ValueError (AxisError) for one outside the rank, or named twice.

    >>> import tensorlayout as tl
    >>> tl.all(tl.asarray([[1, 0], [2, 3]]), axis=1)
    Tensor([False,  True], dtype=bool, device='cpu')
    """
    return reduced(_ALL, x, axis, keepdims)


def any(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Whether some element along `axis` is nonzero (NaN counts as such); False of none.

    Any dtype; the result is bool. `axis`: one, several, or None for all; `keepdims`: these stay, of
    size 1. Layout: packed in the input's order. TypeError for an axis that is no integer;
    ValueError (AxisError) for one outside the rank, or named twice.

    >>> import tensorlayout as tl
    >>> tl.any(tl.asarray([[0.0, 0.0], [0.0, tl.nan]]), axis=1)
    Tensor([False,  True], dtype=bool, device='cpu')
    """
    return reduced(_ANY, x, axis, keepdims)


def diff(
    x: Tensor,
    /,
    *,
    axis: SupportsIndex = -1,
    n: SupportsIndex = 1,
    prepend: Tensor | Scalar | None = None,
    append: Tensor | Scalar | None = None,
) -> Tensor:
    """The differences of neighbours along `axis`, taken `n` times.

    `prepend`, `append`: tensors joined to `x` along `axis` before; a number, or a tensor of rank 0,
    counts as one of size 1 along `axis`. dtypes: numeric; a Python number takes that of `x` where
    its kind fits. Layout: packed in the input's order. TypeError for an `axis` or `n` that is no
    integer; ValueError for a negative `n`, an axis outside the rank, and tensors that do not fit
    beside `x`.

    >>> import tensorlayout as tl
    >>> tl.diff(tl.asarray([1, 4, 9, 16]), n=2)
    Tensor([2, 2], dtype=int64, device='cpu')
    """
    x = arguments.tensor("diff", x)
    times = arguments.count("diff", "n", n)
    dim = arguments.dim("diff", axis, x.ndim)
    before = [] if prepend is None else [_beside(x, prepend, dim, "prepend")]
    behind = [] if append is None else [_beside(x, append, dim, "append")]
    # A part of nothing would keep its padding, one of whole tiles would keep those.
    if before or behind or times == 0 or x.size == 0 or x.layout.is_tiled:
        x = concat([*before, x, *behind], axis=dim)
    outer = (slice(None),) * dim
    for _ in range(min(times, x.shape[dim])):  # then there is nothing left
        later, earlier = x[(*outer, slice(1, None))], x[(*outer, slice(None, -1))]
        x = not_equal(later, earlier) if x.dtype == dtypes.bool else subtract(later, earlier)
    return x


def _beside(x: Tensor, part: Tensor | Scalar, dim: int, argument: str) -> Tensor:
    """What is joined to `x` along `dim`. ValueError where another size differs."""
    line = (*x.shape[:dim], 1, *x.shape[dim + 1 :])
    if type(part) in dtypes.SCALARS:
        kind = dtypes.promote_scalar(x.dtype, type(part))
        filled: Tensor = full_like(x, part, dtype=kind, shape=line)
        return filled
    beside = arguments.tensor("diff", part, argument)
    if beside.ndim == 0:
        return broadcast_to(beside, line)
    if beside.ndim != x.ndim or (*beside.shape[:dim], *beside.shape[dim + 1 :]) != (
        *x.shape[:dim],
        *x.shape[dim + 1 :],
    ):
        msg = f"diff: shapes may differ along axis {dim} only, got {beside.shape} beside {x.shape}"
        raise ValueError(msg)
    return beside
