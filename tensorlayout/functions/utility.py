"""Utility functions."""

from __future__ import annotations

from typing import Any, SupportsIndex

from tensorlayout import dtypes
from tensorlayout.functions import arguments
from tensorlayout.functions import primitives as xp
from tensorlayout.functions.operands import as_tensor_on_device_of
from tensorlayout.functions.outputs import call_reduction, store_in_out
from tensorlayout.functions.statistical import replace_unselected
from tensorlayout.plan import Reduce
from tensorlayout.tensor import Tensor
from tensorlayout.typing import ArrayLike, Axis

__all__ = ["all", "any", "diff"]

_ALL = Reduce("all", "any", "all", dtypes.bool)
_ANY = Reduce("any", "any", "any", dtypes.bool)


def all(
    a: Tensor,
    axis: Axis = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Tensor:
    """Return True where all elements along `axis` are nonzero; True for no elements.

    - `axis`: one dimension, several, or None for all.
    - `out`: a tensor that receives the result.
    - `keepdims`: keep the reduced dimensions with size 1. `where`: the elements to include.

    Returns a new bool tensor; any dtype is accepted, and NaN counts as nonzero. Layout: packed in
    the input's order.

    Raises `TypeError` for an axis that is not an integer, and `AxisError` (a `ValueError`) for an
    axis that is out of bounds or repeated.

    >>> import tensorlayout as tl
    >>> tl.all(tl.asarray([[1, 0], [2, 3]]), axis=1)
    Tensor([False,  True], dtype=bool, device='cpu')
    """
    if where is not None:
        a = replace_unselected(a, where, 1)
    return store_in_out("all", call_reduction(_ALL, a, axis, keepdims), out)


def any(
    a: Tensor,
    axis: Axis = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Tensor:
    """Return True where some element along `axis` is nonzero; False for no elements.

    - `axis`, `out`, `keepdims`, `where`: as for `all`.

    Returns a new bool tensor; any dtype is accepted, and NaN counts as nonzero. Layout: packed in
    the input's order.

    Raises `TypeError` and `AxisError` (a `ValueError`) as `all`.

    >>> import tensorlayout as tl
    >>> tl.any(tl.asarray([[0.0, 0.0], [0.0, tl.nan]]), axis=1)
    Tensor([False,  True], dtype=bool, device='cpu')
    """
    if where is not None:
        a = replace_unselected(a, where, 0)
    return store_in_out("any", call_reduction(_ANY, a, axis, keepdims), out)


def diff(
    a: Tensor,
    n: SupportsIndex = 1,
    axis: SupportsIndex = -1,
    prepend: ArrayLike | None = None,
    append: ArrayLike | None = None,
) -> Tensor:
    """Return the differences of neighbours along `axis`, taken `n` times.

    `prepend` and `append` are joined to `a` along `axis` first; a number, or a tensor of rank 0,
    counts as one of size 1 along `axis`. dtypes: numeric and bool, promoted. Layout: packed in the
    input's order.

    Raises `ValueError` if `n` is negative, if `prepend` or `append` do not fit `a`, and
    (`AxisError`) if `axis` is out of bounds; `TypeError` if `axis` or `n` is not an integer.

    >>> import tensorlayout as tl
    >>> tl.diff(tl.asarray([1, 4, 9, 16]), n=2)
    Tensor([2, 2], dtype=int64, device='cpu')
    """
    x = arguments.as_tensor(a)
    times = arguments.as_nonnegative_integer("n", n)
    dim = arguments.normalize_axis(axis, x.ndim)
    prepended = [] if prepend is None else [_edge_to_join(x, prepend, dim, "prepend")]
    appended = [] if append is None else [_edge_to_join(x, append, dim, "append")]
    # A slice of an empty tensor would keep its padding, and a slice of whole tiles its tiles.
    if prepended or appended or times == 0 or x.size == 0 or x.layout.is_tiled:
        x = xp.concat([*prepended, x, *appended], axis=dim)
    outer = (slice(None),) * dim
    # Further steps would find no elements, and a huge `n` would take long.
    for _ in range(min(times, x.shape[dim])):
        later, earlier = x[(*outer, slice(1, None))], x[(*outer, slice(None, -1))]
        # The standard has no subtraction of bool. NumPy's diff compares the neighbours, too.
        x = xp.not_equal(later, earlier) if x.dtype == dtypes.bool else xp.subtract(later, earlier)
    return x


def _edge_to_join(x: Tensor, value: Any, dim: int, argument: str) -> Tensor:
    """Return `value` as a tensor to join to `x` along `dim`; ValueError for a wrong shape."""
    slice_shape = (*x.shape[:dim], 1, *x.shape[dim + 1 :])
    edge = as_tensor_on_device_of(value, x, weak=False)
    if edge.ndim == 0:
        return xp.broadcast_to(edge, slice_shape)
    if edge.ndim != x.ndim or (*edge.shape[:dim], 1, *edge.shape[dim + 1 :]) != slice_shape:
        rule = f"shapes may differ along axis {dim} only"
        raise ValueError(f"{argument}: {rule}, got {edge.shape} beside {x.shape}")
    return edge
