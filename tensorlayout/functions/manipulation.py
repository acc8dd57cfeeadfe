"""Shapes and orders of dimensions: views where the layout allows, otherwise traced copies."""

from __future__ import annotations

from typing import Any, SupportsIndex

from tensorlayout.functions import arguments, dispatch
from tensorlayout.layout import Layout
from tensorlayout.plan import Operation, Reshape, View, broadcast_shape, normalize_dims
from tensorlayout.tensor import Tensor
from tensorlayout.typing import Axis, Integers

__all__ = [
    "broadcast_shapes",
    "broadcast_to",
    "diagonal",
    "expand_dims",
    "flip",
    "fliplr",
    "flipud",
    "moveaxis",
    "permute_dims",
    "ravel",
    "reshape",
    "rollaxis",
    "rot90",
    "sliding_window",
    "squeeze",
    "swapaxes",
    "transpose",
]


def _permute_layout(layout: Layout, axes: tuple[int, ...] | None) -> Layout:
    if axes is None:
        return layout.permute(range(layout.ndim)[::-1])
    if len(axes) != layout.ndim:
        rule = f"must be a permutation of {layout.ndim} dimensions"
        raise ValueError(f"axes {rule}, got {arguments.format_argument(axes)}")
    return layout.permute(normalize_dims(axes, layout.ndim, "axes"))


def _move_layout_axes(layout: Layout, source_and_destination: tuple[Any, Any]) -> Layout:
    source, destination = source_and_destination
    sources = normalize_dims(source, layout.ndim, "source")
    destinations = normalize_dims(destination, layout.ndim, "destination")
    if len(sources) != len(destinations):
        raise ValueError(f"source {source} and destination {destination} must have equal lengths")
    rest = [d for d in range(layout.ndim) if d not in sources]
    # In ascending order, so that later insertions do not shift dimensions that are in place.
    for position, d in sorted(zip(destinations, sources, strict=True)):
        rest.insert(position, d)
    return layout.permute(rest)


def _expand_layout_dims(layout: Layout, axis: int | tuple[int, ...]) -> Layout:
    axes = (axis,) if isinstance(axis, int) else axis
    # Positions count in the result. Inserted in ascending order, each is final.
    for d in sorted(normalize_dims(axes, layout.ndim + len(axes))):
        layout = layout.expand_dims(d)
    return layout


def _squeeze_layout(layout: Layout, axis: int | tuple[int, ...] | None) -> Layout:
    if axis is None:
        return layout.squeeze([d for d, n in enumerate(layout.shape) if n == 1])
    dims = normalize_dims(axis, layout.ndim)
    for d in dims:
        if layout.shape[d] != 1:
            rule = "only dimensions of size 1 can be squeezed"
            raise ValueError(f"{rule}, got axis {axis} of shape {layout.shape}")
    return layout.squeeze(dims)


def _broadcast_layout(layout: Layout, shape: tuple[int, ...]) -> Layout:
    added_dims = len(shape) - layout.ndim
    # For a shape of lower rank, a pair that matches nothing leads to the error below.
    sizes = zip(layout.shape, shape[added_dims:], strict=True) if added_dims >= 0 else [(0, -1)]
    shape_text = arguments.format_argument(shape)
    if min(shape, default=0) < 0:
        raise ValueError(f"shape must hold no negative sizes, got {shape_text}")
    if any(n not in (1, m) for n, m in sizes):
        raise ValueError(f"shape {layout.shape} could not be broadcast to {shape_text}")
    return layout.broadcast_to(shape)


def _sliding_window_layout(layout: Layout, window_and_axis: tuple[Any, Any]) -> Layout:
    window, axis = window_and_axis
    sizes = (window,) if isinstance(window, int) else window
    dims = normalize_dims(axis, layout.ndim)
    if len(sizes) != len(dims):
        sizes_text = f"window_shape {arguments.format_argument(sizes)} and axis {dims}"
        raise ValueError(f"{sizes_text} must have equal lengths")
    return layout.sliding_window(sizes, dims)


def _diagonal_layout(layout: Layout, offset_and_axes: tuple[int, int, int]) -> Layout:
    if layout.ndim < 2:
        raise ValueError(f"needs a rank of at least 2, got shape {layout.shape}")
    offset, *axes = offset_and_axes
    pair = normalize_dims(tuple(axes), layout.ndim, "axis1 and axis2")
    order = [d for d in range(layout.ndim) if d not in pair] + [*pair]
    *outer, rows, columns = [layout.shape[d] for d in order]
    *strides, down, right = [layout.strides[d] for d in order]
    # One step along the diagonal is a step down and one to the right. A negative offset begins
    # lower, a positive one further right.
    first = max(0, -offset) * down + max(0, offset) * right
    count = max(0, min(rows + min(0, offset), columns - max(0, offset)))
    # An empty diagonal might begin outside of the memory, so it stays at the offset of the tensor.
    start = layout.offset + (first if count and layout.size else 0)
    return Layout((*outer, count), (*strides, down + right), offset=start)


_PERMUTE = View("permute_dims", _permute_layout)
_MOVE = View("moveaxis", _move_layout_axes)
_BROADCAST = View("broadcast_to", _broadcast_layout)
_FLIP = View("flip", lambda layout, axis: layout.flip(normalize_dims(axis, layout.ndim)))
_EXPAND = View("expand_dims", _expand_layout_dims)
_SQUEEZE = View("squeeze", _squeeze_layout)
_WINDOW = View("sliding_window", _sliding_window_layout)
_DIAGONAL = View("diagonal", _diagonal_layout)
_RESHAPE = Reshape()


def _call_view(operation: Operation, x: Any, static: Any) -> Tensor:
    if type(x) is not Tensor:
        x = arguments.as_tensor(x)
    return dispatch.call_view(operation, x, static)


# --- orders of dimensions ----------------------------------------------------------------------


def permute_dims(a: Tensor, axes: Axis = None) -> Tensor:
    """Return a view with the dimensions in another order, reversed by default.

    - `axes`: dimension ``i`` of the result is ``axes[i]`` of `a`; by default all in reverse.

    Returns a view of any dtype. Layout: the same slots; the stored order of dimensions is permuted,
    too.

    Raises `ValueError` if `axes` is not a permutation.

    >>> import tensorlayout as tl
    >>> tl.permute_dims(tl.zeros((4, 5, 3), dtype=tl.uint8), (2, 0, 1)).layout
    Layout.parse('(3,4,5):(1,15,3)')
    >>> tl.transpose(tl.zeros((2, 3, 4))).layout
    Layout.parse('(4,3,2):(1,4,12)')
    """
    dims = arguments.as_integers(axes, "axes")
    return _call_view(_PERMUTE, a, (dims,) if isinstance(dims, int) else dims)


transpose = permute_dims


def moveaxis(a: Tensor, source: Integers, destination: Integers) -> Tensor:
    """Move dimensions of `a` to other positions; the others keep their order. A view.

    - `source`, `destination`: integers, or sequences of equal length.

    Returns a view of any dtype.

    Raises `ValueError` for unequal lengths, and `AxisError` (a `ValueError`) for a dimension that
    is out of bounds or repeated.

    >>> import tensorlayout as tl
    >>> tl.moveaxis(tl.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    sources = arguments.as_integers(source, "source", allow_none=False)
    destinations = arguments.as_integers(destination, "destination", allow_none=False)
    return _call_view(_MOVE, a, (sources, destinations))


def rollaxis(a: Tensor, axis: SupportsIndex, start: SupportsIndex = 0) -> Tensor:
    """Move the dimension `axis` of `a` before the dimension `start`. Returns a view.

    `start` may be the rank, which makes `axis` the last dimension. Any dtype.

    Raises `ValueError` if `start` is out of bounds, and (`AxisError`) if `axis` is; `TypeError` if
    one is not an integer.

    >>> import tensorlayout as tl
    >>> tl.rollaxis(tl.zeros((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    a = arguments.as_tensor(a)
    dim = arguments.normalize_axis(axis, a.ndim)
    target = arguments.as_integer("start", start)
    if not -a.ndim <= target <= a.ndim:
        raise ValueError(f"start must be from {-a.ndim} to {a.ndim}, got {target}")
    # `start` counts while the dimension is still in place; once it is taken out, those behind it
    # move up by one.
    target += a.ndim if target < 0 else 0
    return moveaxis(a, dim, target - (dim < target))


def swapaxes(a: Tensor, axis1: SupportsIndex, axis2: SupportsIndex) -> Tensor:
    """Exchange the dimensions `axis1` and `axis2` of `a`. A view.

    Returns a view of any dtype.

    Raises `AxisError` (a `ValueError`) for a dimension that is out of bounds, and `TypeError` for
    one that is not an integer.

    >>> import tensorlayout as tl
    >>> tl.swapaxes(tl.zeros((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    a = arguments.as_tensor(a)
    first = arguments.normalize_axis(axis1, a.ndim, "axis1")
    second = arguments.normalize_axis(axis2, a.ndim, "axis2")
    order = [*range(a.ndim)]
    order[first], order[second] = second, first
    return permute_dims(a, order)


def flip(m: Tensor, axis: Axis = None) -> Tensor:
    """Reverse `m` along `axis` (default: all) with negative strides. Returns a view.

    Any dtype.

    Raises `ValueError` if an axis is repeated, and (`AxisError`) if it is out of bounds;
    `TypeError` if it is not an integer.

    >>> import tensorlayout as tl
    >>> tl.flip(tl.asarray([1, 2, 3]))
    Tensor([3, 2, 1], dtype=int64, device='cpu', layout='(3,):(-1,)+2')
    """
    return _call_view(_FLIP, m, arguments.as_integers(axis))


def flipud(m: Tensor) -> Tensor:
    """Reverse the first dimension of `m`. Returns a view.

    Any dtype.

    Raises `ValueError` (`AxisError`) at rank 0; `TypeError` if `m` is not a tensor.

    >>> import tensorlayout as tl
    >>> tl.flipud(tl.asarray([[1, 2], [3, 4]])).layout
    Layout.parse('(2,2):(-2,1)+2')
    """
    return flip(m, 0)


def fliplr(m: Tensor) -> Tensor:
    """Reverse the second dimension of `m`. Returns a view.

    Any dtype.

    Raises `ValueError` (`AxisError`) below rank 2; `TypeError` if `m` is not a tensor.

    >>> import tensorlayout as tl
    >>> tl.fliplr(tl.asarray([[1, 2], [3, 4]])).layout
    Layout.parse('(2,2):(2,-1)+1')
    """
    return flip(m, 1)


def rot90(m: Tensor, k: SupportsIndex = 1, axes: Integers = (0, 1)) -> Tensor:
    """Rotate `m` by `k` right angles, from the first of `axes` to the second. Returns a view.

    Any dtype.

    Raises `ValueError` unless `axes` are two different ones, and (`AxisError`) if one is out of
    bounds; `TypeError` if `k` is not an integer.

    >>> import tensorlayout as tl
    >>> tl.rot90(tl.asarray([[1, 2], [3, 4]]))
    Tensor([[2, 4],
            [1, 3]], dtype=int64, device='cpu', layout='(2,2):(-1,2)+1')
    """
    m = arguments.as_tensor(m)
    plane = arguments.normalize_axes(axes, m.ndim, "axes")
    if len(plane) != 2:
        raise ValueError(f"axes must be two, got {arguments.format_argument(axes)}")
    turns = arguments.as_integer("k", k) % 4
    # Python's remainder is never negative: one turn back is three turns forward.
    if turns % 2 == 0:
        return flip(m, plane if turns else ())
    if turns == 1:
        return swapaxes(flip(m, plane[1]), *plane)
    return flip(swapaxes(m, *plane), plane[1])


# --- more dimensions, and fewer ----------------------------------------------------------------


def broadcast_to(array: Tensor, shape: Integers, subok: bool = False) -> Tensor:
    """Repeat `array` along dimensions of size 1 and new leading ones, with stride 0. A view.

    - `shape`: the shape of the result.
    - `subok`: accepted for NumPy's sake, without effect.

    Returns a view of any dtype. Its elements share slots, so it cannot be written to.

    Raises `ValueError` if `array` does not broadcast to `shape`.

    >>> import tensorlayout as tl
    >>> tl.broadcast_to(tl.asarray([1, 2]), (3, 2)).layout
    Layout.parse('(3,2):(0,1)')
    """
    return _call_view(_BROADCAST, array, arguments.as_shape(shape))


def broadcast_shapes(*args: Integers) -> tuple[int, ...]:
    """Return the shape that all given shapes broadcast to.

    Raises `ValueError` if the shapes do not broadcast; `TypeError` if a size is not an integer.

    >>> import tensorlayout as tl
    >>> tl.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    shapes = [arguments.as_shape(shape) for shape in args]
    if any(n < 0 for shape in shapes for n in shape):
        raise ValueError(
            f"shape must hold no negative sizes, got {arguments.format_argument(shapes)}"
        )
    return broadcast_shape(shapes)


def expand_dims(a: Tensor, axis: Integers = 0) -> Tensor:
    """Insert dimensions of size 1 at `axis`. A view.

    - `axis`: one or several positions, counted in the result.

    Returns a view of any dtype.

    Raises `AxisError` (a `ValueError`) for an axis that is out of bounds in the result or repeated,
    and `TypeError` for an axis that is not an integer.

    >>> import tensorlayout as tl
    >>> tl.expand_dims(tl.zeros((2, 3)), axis=1).shape
    (2, 1, 3)
    """
    return _call_view(_EXPAND, a, arguments.as_integers(axis, allow_none=False))


def squeeze(a: Tensor, axis: Axis = None) -> Tensor:
    """Remove dimensions of size 1. A view.

    - `axis`: the dimensions to remove; by default all of size 1.

    Returns a view of any dtype.

    Raises `ValueError` for a dimension of another size, and `AxisError` (a `ValueError`) for an
    axis that is out of bounds.

    >>> import tensorlayout as tl
    >>> tl.squeeze(tl.zeros((1, 3, 1)), axis=(0, 2)).shape
    (3,)
    """
    return _call_view(_SQUEEZE, a, arguments.as_integers(axis))


def sliding_window(x: Tensor, /, window_shape: Integers, axis: Axis = None) -> Tensor:
    """Return a read-only view of all windows of `window_shape` along `axis`.

    `window_shape` has one size for each `axis` (default: all); the windows are the new last
    dimensions. Any dtype.

    Raises `ValueError` if the numbers of sizes and axes differ or a window is empty or larger than
    its dimension, and (`AxisError`) if an axis is out of bounds; `TypeError` if a size is not an
    integer.

    >>> import tensorlayout as tl
    >>> tl.sliding_window(tl.arange(4), 3)
    Tensor([[0, 1, 2],
            [1, 2, 3]], dtype=int64, device='cpu', layout='(2,3):(1,1)')
    """
    sizes = arguments.as_integers(window_shape, "window_shape", allow_none=False)
    return _call_view(_WINDOW, x, (sizes, arguments.as_integers(axis)))


def diagonal(
    a: Tensor, offset: SupportsIndex = 0, axis1: SupportsIndex = 0, axis2: SupportsIndex = 1
) -> Tensor:
    """Return a view of the diagonal `offset` of each matrix, as the last dimension.

    `axis1` and `axis2` are the dimensions of rows and columns; a positive `offset` is above the
    main diagonal. The view is writable if `a` is. Any dtype.

    Raises `ValueError` if the rank is below 2 or both axes are the same, and (`AxisError`) if one
    is out of bounds; `TypeError` if `offset` is not an integer.

    >>> import tensorlayout as tl
    >>> tl.diagonal(tl.asarray([[1, 2], [3, 4]])).layout
    Layout.parse('(2,):(3,)')
    """
    if not (type(offset) is type(axis1) is type(axis2) is int):
        offset = arguments.as_integer("offset", offset)
        axis1 = arguments.as_integer("axis1", axis1)
        axis2 = arguments.as_integer("axis2", axis2)
    return _call_view(_DIAGONAL, a, (offset, axis1, axis2))


# --- other shapes ------------------------------------------------------------------------------


def reshape(a: Tensor, /, shape: Integers, order: str = "C", *, copy: bool | None = None) -> Tensor:
    """Return the elements in index order under another shape; one size may be -1.

    - `order`: the index that varies fastest, in `a` and in the result: ``C``, the last; ``F``, the
      first; ``A``, the first if `a` is column-major.
    - `copy`: True always copies; False never does.

    Returns a view wherever the strides allow it, otherwise a copy packed in that order, row-major
    for ``C``. Any dtype.

    Raises `ValueError` if the number of elements changes, for an unknown `order`, and if `copy` is
    False and a copy is needed; `TypeError` if a size is not an integer.

    >>> import tensorlayout as tl
    >>> tl.reshape(tl.arange(6), (2, -1))
    Tensor([[0, 1, 2],
            [3, 4, 5]], dtype=int64, device='cpu')
    """
    if type(a) is not Tensor:
        a = arguments.as_tensor(a)
    sizes = arguments.as_integers(shape, "shape", allow_none=False)
    copying = arguments.check_flag("copy", copy)
    if type(order) is not str and isinstance(order, int):  # as in reshape(x, 3, 2)
        raise TypeError(f"order must be a letter, got {order}; pass the shape as one tuple")
    if not arguments.is_column_major_order(order, "CFA", a):
        return dispatch.call(_RESHAPE, (a.spec, sizes, copying), (a,))
    # Index order by columns is index order by rows of the transpose, so the transpose is reshaped
    # to the reversed shape, and the result is transposed back.
    transposed = permute_dims(a)
    reversed_shape = sizes if isinstance(sizes, int) else sizes[::-1]
    return permute_dims(
        dispatch.call(_RESHAPE, (transposed.spec, reversed_shape, copying), (transposed,))
    )


def ravel(a: Tensor, order: str = "C") -> Tensor:
    """Return the elements as one dimension without gaps: a view if possible, otherwise a copy.

    `order` is as in `reshape`, or ``K``, the order of the dimensions in memory. Any dtype. Layout:
    row-major.

    Raises `ValueError` for any other `order`; `TypeError` if `a` is not a tensor.

    >>> import tensorlayout as tl
    >>> tl.ravel(tl.asarray([[1, 2], [3, 4]]), "F")
    Tensor([1, 3, 2, 4], dtype=int64, device='cpu')
    """
    # A view may have gaps, as reshape(x[::2], -1) has for a vector `x`; then a copy follows.
    flat = flatten_in_order(a, order, None)
    return flat if flat.spec.layout.is_row_major else flatten_in_order(a, order, True)


def flatten_in_order(a: Tensor, order: str, copy: bool | None) -> Tensor:
    """Return the elements of `a` as one dimension, for `ravel` and ``x.flatten()``."""
    a = arguments.as_tensor(a)
    if arguments.is_column_major_order(order, "CFAK", a):
        a = permute_dims(a)
    elif order == "K":
        # With the slowest dimension first and the fastest last, index order is the order in memory.
        a = permute_dims(a, a.spec.layout.minor_to_major[::-1])
    return reshape(a, (a.size,), copy=copy)
