"""User functions applied to lines, or along axes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, SupportsIndex

from tensorlayout.functions import arguments
from tensorlayout.functions import basics as xp
from tensorlayout.functions.operands import asarray_unless_tensor
from tensorlayout.tensor import Tensor
from tensorlayout.typing import Integers

__all__ = ["apply_along_axis", "apply_over_axes"]


def apply_along_axis(
    func1d: Callable[..., Any], axis: SupportsIndex, arr: Tensor, *args: Any, **kwargs: Any
) -> Tensor:
    """Apply a function to each line of `arr` along `axis`; its results replace that axis.

    `func1d` is called with each line, `args` and `kwargs`, and returns tensors of one shape, or
    numbers. Any dtype. Layout: a new tensor, packed or a view of one.

    Raises `ValueError` if there are no lines, and (`AxisError`) if `axis` is out of bounds;
    `TypeError` if `axis` is not an integer.

    >>> import tensorlayout as tl
    >>> tl.apply_along_axis(lambda line: line[0] + line[-1], 1, tl.asarray([[1, 2], [3, 4]]))
    Tensor([3, 7], dtype=int64, device='cpu')
    """
    arguments.check_callable(func1d, "func1d")
    x = arguments.as_tensor(arr)
    dim = arguments.normalize_axis(axis, x.ndim)
    outer_shape = (*x.shape[:dim], *x.shape[dim + 1 :])
    # Each line becomes one row, and iteration gives views of the rows.
    lines = xp.reshape(xp.moveaxis(x, dim, -1), (math.prod(outer_shape), x.shape[dim]))
    if not lines.shape[0]:
        raise ValueError(f"there are no lines along axis {dim} of shape {x.shape}")
    line_results = [func1d(line, *args, **kwargs) for line in lines]
    result = xp.stack([asarray_unless_tensor(item, x) for item in line_results])
    inner_shape = result.shape[1:]
    result = xp.reshape(result, (*outer_shape, *inner_shape))
    # The dimensions of the results of `func1d` stand last, and move to where `axis` was.
    source_dims = tuple(range(len(outer_shape), len(outer_shape) + len(inner_shape)))
    return xp.moveaxis(result, source_dims, tuple(range(dim, dim + len(inner_shape))))


def apply_over_axes(func: Callable[[Tensor, int], Tensor], a: Tensor, axes: Integers) -> Tensor:
    """Apply a function along one axis after the other; dimensions that it drops have size 1.

    `func` is called with a tensor, at first `a`, and each of `axes`. Any dtype. Layout: the layout
    that `func` returns, or a view of it.

    Raises `ValueError` (`AxisError`) if an axis is out of bounds; `TypeError` if it is not an
    integer.

    >>> import tensorlayout as tl
    >>> tl.apply_over_axes(tl.sum, tl.ones((2, 3, 4)), (0, 2))
    Tensor([[[8.],
             [8.],
             [8.]]], dtype=float64, device='cpu')
    """
    arguments.check_callable(func, "func")
    x = arguments.as_tensor(a)
    for axis in arguments.normalize_axes(axes, x.ndim, "axes"):
        result = func(x, axis)
        # Later axes are counted in the rank of `a`, so a dropped dimension is put back with size 1.
        x = result if result.ndim == x.ndim else xp.expand_dims(result, axis)
    return x
