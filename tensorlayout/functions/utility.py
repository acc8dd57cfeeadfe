"""Utility functions."""

from __future__ import annotations

from tensorlayout import dtypes
from tensorlayout.cpu import reducing
from tensorlayout.functions import calling
from tensorlayout.functions.elementwise import not_equal, subtract
from tensorlayout.functions.manipulation import concat
from tensorlayout.functions.statistical import Axis, axis_of, reduced
from tensorlayout.plan.reducing import Reduce
from tensorlayout.plan.results import normalized_dims
from tensorlayout.tensor import Tensor

__all__ = ["all", "any", "diff"]

_ALL = Reduce("all", "any", reducing.all_, dtypes.bool)
_ANY = Reduce("any", "any", reducing.any_, dtypes.bool)


def all(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Whether every element along `axis` is nonzero (NaN counts as such); True of none."""
    return reduced(_ALL, x, axis, keepdims)


def any(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Whether some element along `axis` is nonzero (NaN counts as such); False of none."""
    return reduced(_ANY, x, axis, keepdims)


def diff(
    x: Tensor,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:
    """The differences of neighbours along `axis`, taken `n` times.

    `prepend`, `append`: tensors joined to `x` along `axis` before. dtypes: numeric. Layout: packed
    in the input's order. TypeError for an `axis` or `n` that is no integer; ValueError for a
    negative `n`, an axis outside the rank, and tensors that do not fit beside `x`.

    >>> import tensorlayout as tl
    >>> tl.diff(tl.asarray([1, 4, 9, 16]), n=2)
    Tensor([2, 2], dtype=int64, device='cpu')
    """
    x = calling.tensor("diff", x)
    if not hasattr(n, "__index__") or n < 0:
        msg = f"diff: n must be an integer that is not negative, got {n!r}"
        raise ValueError(msg) if hasattr(n, "__index__") else TypeError(msg)
    (dim,) = normalized_dims("diff", axis_of("diff", axis), x.ndim)
    parts = [_beside(x, part, dim) for part in (prepend, x, append) if part is not None]
    if len(parts) > 1 or n == 0:
        x = concat(parts, axis=dim)
    before = (slice(None),) * dim
    for _ in range(int(n)):
        behind, ahead = x[(*before, slice(1, None))], x[(*before, slice(None, -1))]
        x = not_equal(behind, ahead) if x.dtype == dtypes.bool else subtract(behind, ahead)
    return x


def _beside(x: Tensor, part: Tensor, dim: int) -> Tensor:
    """What is joined to `x` along `dim`. ValueError where another size differs."""
    part = calling.tensor("diff", part)
    if part.ndim != x.ndim or (*part.shape[:dim], *part.shape[dim + 1 :]) != (
        *x.shape[:dim],
        *x.shape[dim + 1 :],
    ):
        msg = f"diff: shapes may differ along axis {dim} only, got {part.shape} beside {x.shape}"
        raise ValueError(msg)
    return part
