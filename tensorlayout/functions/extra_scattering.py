"""Extension: values combined with the elements at positions, as histograms need it.

The names are PyTorch's and ONNX's; JAX has ``x.at[indices].add(updates)``. Results, including sums
of floats, are reproducible, and the same on all devices, unless the caller gives that up.
"""

from __future__ import annotations

from typing import Any, SupportsIndex

from tensorlayout import dtypes
from tensorlayout.functions import arguments, dispatch
from tensorlayout.functions import basics as xp
from tensorlayout.plan import ScatterReduce
from tensorlayout.tensor import Tensor
from tensorlayout.typing import Scalar

__all__ = ["scatter_add", "scatter_max", "scatter_min"]

_ADD = ScatterReduce("scatter_add", "add", "numeric")
_MIN = ScatterReduce("scatter_min", "minimum", "real numeric")
_MAX = ScatterReduce("scatter_max", "maximum", "real numeric")


def scatter_add(
    x: Tensor,
    indices: Tensor,
    /,
    updates: Tensor | Scalar,
    axis: SupportsIndex = 0,
    *,
    deterministic: bool = True,
) -> Tensor:
    """Return a copy of `x` with `updates` added at the positions `indices` along `axis`.

    - `indices`: integers; negative ones count from the end. Indices of rank 1 (for `x` of rank 1:
      of any rank) apply to every line along `axis`; indices of the rank of `x` hold some for each
      line, and sizes of 1 broadcast.
    - `updates`: a number, or a tensor that broadcasts to the shape of the elements at the
      positions, of a dtype that promotes to the dtype of `x`.

    Numeric dtypes. Layout: packed in the order of `x`.

    Raises `IndexError` if a position is out of bounds; `ValueError` if shapes do not match, and for
    more than 2**44 updates; `TypeError` for any other dtype.

    Repeated positions receive all their updates, in index order, so sums of floats are
    reproducible. If a position receives 256 or more floats, sums of 256 are added first, then sums
    of 256 of these sums, and so on. With ``deterministic=False``, sums of `float32`, `float64` and
    complex numbers on CUDA are added in any order, by atomic operations in one launch, and the last
    digits may differ from call to call. Results of integers are the same either way.

    >>> import tensorlayout as tl
    >>> bins = tl.asarray([0, 2, 2, 1, 2])
    >>> tl.scatter_add(tl.zeros(4, dtype=tl.int32), bins, 1)
    Tensor([1, 1, 3, 0], dtype=int32, device='cpu')
    """
    return _scatter_reduce(_ADD, x, indices, updates, axis, deterministic)


def scatter_min(
    x: Tensor,
    indices: Tensor,
    /,
    updates: Tensor | Scalar,
    axis: SupportsIndex = 0,
    *,
    deterministic: bool = True,
) -> Tensor:
    """Return a copy of `x` with the least of each element and its `updates`.

    `indices` are integers, positions along `axis`, of the shapes that `scatter_add` accepts. The
    result is NaN if the element or one of its updates is. With ``deterministic=False``, floats on
    CUDA are combined as in `scatter_add`, and the sign of a zero may differ from call to call.
    dtypes: real numeric, the dtype of `x` kept. Layout: packed in the order of `x`.

    Raises `IndexError` if a position is out of bounds; `ValueError` if shapes do not match;
    `TypeError` for any other dtype.

    >>> import tensorlayout as tl
    >>> tl.scatter_min(tl.asarray([5, 5]), tl.asarray([1, 1]), tl.asarray([7, 3]))
    Tensor([5, 3], dtype=int64, device='cpu')
    """
    return _scatter_reduce(_MIN, x, indices, updates, axis, deterministic)


def scatter_max(
    x: Tensor,
    indices: Tensor,
    /,
    updates: Tensor | Scalar,
    axis: SupportsIndex = 0,
    *,
    deterministic: bool = True,
) -> Tensor:
    """Return a copy of `x` with the greatest of each element and its `updates`.

    `indices`, `axis` and `deterministic` are as in `scatter_min`. dtypes: real numeric. Layout:
    packed in the order of `x`.

    Raises `IndexError`, `ValueError` and `TypeError` as `scatter_min` does.

    >>> import tensorlayout as tl
    >>> tl.scatter_max(tl.asarray([5, 5]), tl.asarray([1, 1]), tl.asarray([7, 3]))
    Tensor([5, 7], dtype=int64, device='cpu')
    """
    return _scatter_reduce(_MAX, x, indices, updates, axis, deterministic)


def _scatter_reduce(
    operation: ScatterReduce,
    x: Tensor,
    indices: Tensor,
    updates: Any,
    axis: SupportsIndex,
    deterministic: bool,
) -> Tensor:
    x, indices = arguments.as_tensor(x), arguments.as_indices(indices)
    dim = arguments.normalize_axis(axis, x.ndim)
    # For rank 1 both readings of `indices` agree, and the shorter plan is taken.
    along = indices.ndim == x.ndim > 1
    if not along and 1 not in (x.ndim, indices.ndim):
        raise ValueError(f"indices must have rank 1 or {x.ndim}, got shape {indices.shape}")
    kind = type(updates)
    if kind not in dtypes.SCALARS:
        value = arguments.as_tensor(updates, "updates")
    elif dtypes.promote_with_scalar(x.dtype, kind) == x.dtype:
        # A number must not change the dtype of `x`: 0.5 is refused for integers.
        value = xp.full((), updates, dtype=x.dtype, device=x.device)
    else:
        raise TypeError(f"updates of {kind.__name__} do not fit a tensor of {x.dtype}")
    is_deterministic = arguments.check_bool("deterministic", deterministic)
    key = (x.spec, value.spec, indices.spec, dim, along, is_deterministic)
    return dispatch.call(operation, key, (x, value, indices))
