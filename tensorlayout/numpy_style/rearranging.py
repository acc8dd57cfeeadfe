"""Dimensions and elements at other places: flips, turns, moves, windows, grids, padding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

from tensorlayout import dtypes
from tensorlayout.functions import arguments, extra, linear_algebra, manipulation
from tensorlayout.functions.creation import meshgrid as meshgrid_
from tensorlayout.functions.creation import zeros
from tensorlayout.functions.manipulation import broadcast_shapes, permute_dims
from tensorlayout.functions.operands import sequence, tensors, unsupported
from tensorlayout.functions.searching import nonzero
from tensorlayout.numpy_style import shapes
from tensorlayout.tensor import Tensor
from tensorlayout.words import refuse

__all__ = [
    "broadcast_arrays",
    "broadcast_to",
    "expand_dims",
    "flip",
    "fliplr",
    "flipud",
    "ix_",
    "matrix_transpose",
    "meshgrid",
    "moveaxis",
    "pad",
    "reshape",
    "resize",
    "roll",
    "rollaxis",
    "rot90",
    "sliding_window_view",
    "tile",
    "transpose",
]

Axis = int | Sequence[int]


def reshape(a: Tensor, /, shape: Any, order: str = "C", *, copy: bool | None = None) -> Tensor:
    """As the method."""
    return shapes.reshape(a, shape, order=order, copy=copy)


def transpose(a: Tensor, axes: Any = None) -> Tensor:
    """`tl.transpose`."""
    return extra.transpose(arguments.tensor("transpose", a), axes)


def matrix_transpose(x: Tensor, /) -> Tensor:
    """`tl.matrix_transpose`."""
    return linear_algebra.matrix_transpose(x)


def expand_dims(a: Tensor, axis: Axis) -> Tensor:
    """`tl.expand_dims`."""
    return manipulation.expand_dims(a, axis)


def moveaxis(a: Tensor, source: Axis, destination: Axis) -> Tensor:
    """`tl.moveaxis`."""
    return manipulation.moveaxis(a, source, destination)


def rollaxis(a: Tensor, axis: int, start: int = 0) -> Tensor:
    """The dimension `axis` before the dimension `start`. A view."""
    x = arguments.tensor("rollaxis", a)
    dim = arguments.dim("rollaxis", axis, x.ndim)
    before = arguments.integer("rollaxis", "start", start)
    if not -x.ndim <= before <= x.ndim:
        refuse("rollaxis", f"start must be from {-x.ndim} to {x.ndim}, got {before}")
    before += x.ndim if before < 0 else 0
    order = [d for d in range(x.ndim) if d != dim]
    order.insert(before - (dim < before), dim)
    return permute_dims(x, order)


def broadcast_to(array: Tensor, shape: Any, subok: bool = False) -> Tensor:
    """`tl.broadcast_to`."""
    return manipulation.broadcast_to(array, shape)


def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Tensor, ...]:
    """`tl.broadcast_arrays`."""
    return manipulation.broadcast_arrays(*tensors("broadcast_arrays", *args, weak=False))


def flip(m: Tensor, axis: Axis | None = None) -> Tensor:
    """`tl.flip`."""
    return manipulation.flip(m, axis=axis)


def flipud(m: Tensor) -> Tensor:
    """The first dimension in reverse. A view."""
    return manipulation.flip(m, axis=0)


def fliplr(m: Tensor) -> Tensor:
    """The second dimension in reverse. A view."""
    return manipulation.flip(m, axis=1)


def rot90(m: Tensor, k: int = 1, axes: Sequence[int] = (0, 1)) -> Tensor:
    """A plane turned by `k` right angles, from the first of `axes` towards the second. A view."""
    x = arguments.tensor("rot90", m)
    dims = arguments.dims("rot90", axes, x.ndim, "axes")
    if len(dims) != 2:
        refuse("rot90", f"axes must be two, got {arguments.shown(axes)}")
    turns = arguments.integer("rot90", "k", k) % 4
    if turns % 2 == 0:
        return manipulation.flip(x, axis=dims) if turns else x[...]
    if turns == 1:
        return shapes.swapaxes(manipulation.flip(x, axis=dims[1]), *dims)
    return manipulation.flip(shapes.swapaxes(x, *dims), axis=dims[1])


def roll(a: Tensor, shift: Axis, axis: Axis | None = None) -> Tensor:
    """`tl.roll`; one of `shift` and `axis` may be a single number for several."""
    if axis is not None and isinstance(shift, Sequence) and isinstance(axis, int):
        axis = (axis,) * len(shift)
    return manipulation.roll(a, shift, axis=axis)


def tile(A: Tensor, reps: Any) -> Tensor:  # noqa: N803 - NumPy's name
    """`tl.tile`."""
    return manipulation.tile(A, reps)


def resize(a: Tensor, new_shape: Any) -> Tensor:
    """Return the elements in index order under another shape, repeated where they are too few.

    Zeros where there are none. ValueError for negative sizes.
    """
    flat = manipulation.reshape(arguments.tensor("resize", a), (-1,))
    shape = arguments.shape("resize", new_shape)
    if any(n < 0 for n in shape):
        refuse("resize", f"sizes must not be negative, got {arguments.shown(shape)}")
    size = math.prod(shape)
    if not flat.size:
        return zeros(shape, dtype=flat.dtype, device=flat.device)
    times = -(-size // flat.size)
    return manipulation.reshape(manipulation.tile(flat, (times,))[:size], shape)


_FILLERS = {"constant": ("constant_values",)}


def pad(array: Tensor, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Tensor:
    """`tl.pad`."""
    known = _FILLERS.get(mode, ()) if isinstance(mode, str) else ()
    unsupported("pad", **{name: value for name, value in kwargs.items() if name not in known})
    return extra.pad(array, pad_width, mode, **{n: kwargs[n] for n in known if n in kwargs})


def sliding_window_view(
    x: Tensor,
    window_shape: Axis,
    axis: Axis | None = None,
    *,
    subok: bool = False,
    writeable: bool = False,
) -> Tensor:
    """`tl.sliding_window`."""
    unsupported("sliding_window_view", writeable=writeable)
    return manipulation.sliding_window(x, window_shape, axis=axis)


def meshgrid(
    *xi: Any, copy: bool = True, sparse: bool = False, indexing: Literal["xy", "ij"] = "xy"
) -> tuple[Tensor, ...]:
    """`tl.meshgrid`; with `sparse`, views of size 1 in all other dimensions."""
    given = [manipulation.reshape(x, (-1,)) for x in tensors("meshgrid", *xi)]
    arguments.choice("meshgrid", "indexing", indexing, "'xy' or 'ij'", ("xy", "ij"))
    if not sparse and len({x.dtype for x in given}) == 1:
        return meshgrid_(*given, indexing=indexing)
    dims = list(range(len(given)))
    if indexing == "xy" and len(dims) > 1:
        dims[:2] = [1, 0]
    found = [
        manipulation.reshape(x, [x.size if e == d else 1 for e in range(len(given))])
        for x, d in zip(given, dims, strict=True)
    ]
    if sparse:
        return tuple(found)
    whole = broadcast_shapes(*(x.shape for x in found))
    return tuple(manipulation.broadcast_to(x, whole).copy() for x in found)


def ix_(*args: Any) -> tuple[Tensor, ...]:
    """Positions for each dimension, which together index a grid of elements."""
    given = sequence("ix_", args, "args")
    if any(x.ndim != 1 for x in given):
        came = arguments.shown([x.shape for x in given])
        refuse("ix_", f"positions must be of rank 1, got shapes {came}")
    found = [nonzero(x)[0] if x.dtype == dtypes.bool else x for x in given]
    return meshgrid(*found, sparse=True, indexing="ij")
