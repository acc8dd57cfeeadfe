"""A function of the caller's on lines, or along axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorlayout.functions import arguments
from tensorlayout.functions.creation import asarray
from tensorlayout.functions.manipulation import expand_dims, moveaxis, reshape, stack
from tensorlayout.tensor import Tensor
from tensorlayout.words import refuse

__all__ = ["apply_along_axis", "apply_over_axes"]


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: Tensor, *args: Any, **kwargs: Any
) -> Tensor:
    """What a function makes of each line along `axis`: dimensions in its place."""
    x = arguments.tensor("apply_along_axis", arr)
    dim = arguments.dim("apply_along_axis", axis, x.ndim)
    rest = (*x.shape[:dim], *x.shape[dim + 1 :])
    lines = reshape(moveaxis(x, dim, -1), (-1, x.shape[dim]))
    if not lines.shape[0]:
        refuse("apply_along_axis", f"there are no lines along axis {dim} of shape {x.shape}")
    made = [func1d(line, *args, **kwargs) for line in lines]
    found = stack(
        [each if isinstance(each, Tensor) else asarray(each, device=x.device) for each in made]
    )
    inner = found.shape[1:]
    found = reshape(found, (*rest, *inner))
    places = tuple(range(len(rest), len(rest) + len(inner)))
    return moveaxis(found, places, tuple(range(dim, dim + len(inner))))


def apply_over_axes(func: Callable[[Tensor, int], Tensor], a: Tensor, axes: Any) -> Tensor:
    """A function called with one axis after the other; dimensions that it drops have size 1."""
    x = arguments.tensor("apply_over_axes", a)
    for axis in arguments.dims("apply_over_axes", axes, x.ndim, "axes"):
        found = func(x, axis)
        x = found if found.ndim == x.ndim else expand_dims(found, axis)
    return x
