"""Manipulation functions: views where the layout allows, copies that the trace shows elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, SupportsIndex

from tensorlayout import dtypes
from tensorlayout.functions import arguments, dispatch
from tensorlayout.functions.data_types import astype
from tensorlayout.functions.reduction import reduced
from tensorlayout.layout import Layout
from tensorlayout.layout.checks import MAX_RANK
from tensorlayout.plan.base import Operation
from tensorlayout.plan.copy import Copy
from tensorlayout.plan.gather import Gather
from tensorlayout.plan.join import Join
from tensorlayout.plan.library import Library
from tensorlayout.plan.reduce import Reduce
from tensorlayout.plan.rules import broadcast_shape, normalized_dims
from tensorlayout.plan.view import Reshape, View
from tensorlayout.tensor import Tensor
from tensorlayout.typing import Axis, Integers
from tensorlayout.words import refuse

__all__ = [
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "concat",
    "expand_dims",
    "flip",
    "moveaxis",
    "permute_dims",
    "repeat",
    "reshape",
    "roll",
    "sliding_window",
    "squeeze",
    "stack",
    "tile",
    "unstack",
]


def _permuted(layout: Layout, axes: tuple[int, ...]) -> Layout:
    if len(axes) != layout.ndim:
        rule = f"must be a permutation of {layout.ndim} dimensions"
        msg = f"axes {rule}, got {arguments.shown(axes)}"
        raise ValueError(msg)
    return layout.permute(normalized_dims(axes, layout.ndim, "axes"))


def _moved(
    layout: Layout, source: int | tuple[int, ...], destination: int | tuple[int, ...]
) -> Layout:
    sources = normalized_dims(source, layout.ndim, "source")
    destinations = normalized_dims(destination, layout.ndim, "destination")
    if len(sources) != len(destinations):
        msg = f"source {source} and destination {destination} must be equally many"
        raise ValueError(msg)
    rest = [d for d in range(layout.ndim) if d not in sources]
    for at, d in sorted(zip(destinations, sources, strict=True)):
        rest.insert(at, d)
    return layout.permute(rest)


def _packed_anew(layout: Layout, shape: tuple[int, ...], order: tuple[int, ...]) -> Layout:
    return Layout.packed(shape, order)


def _expanded(layout: Layout, axis: int | tuple[int, ...]) -> Layout:
    given = (axis,) if isinstance(axis, int) else axis
    for d in sorted(normalized_dims(given, layout.ndim + len(given))):
        layout = layout.expand_dims(d)
    return layout


def _squeezed(layout: Layout, axis: int | tuple[int, ...]) -> Layout:
    dims = normalized_dims(axis, layout.ndim)
    for d in dims:
        if layout.shape[d] != 1:
            msg = f"axis must name dimensions of size 1, got {axis} of shape {layout.shape}"
            raise ValueError(msg)
    return layout.squeeze(dims)


def _broadcast(layout: Layout, shape: tuple[int, ...]) -> Layout:
    lead = len(shape) - layout.ndim
    sizes = zip(layout.shape, shape[lead:], strict=True) if lead >= 0 else [(0, -1)]
    if min(shape, default=0) < 0:
        msg = f"shape must hold no negative sizes, got {arguments.shown(shape)}"
    elif any(n not in (1, m) for n, m in sizes):
        msg = f"shape {layout.shape} could not be broadcast to {arguments.shown(shape)}"
    else:
        return layout.broadcast_to(shape)
    raise ValueError(msg)


def _flipped(layout: Layout, axis: int | tuple[int, ...] | None) -> Layout | None:
    return layout.flip(normalized_dims(axis, layout.ndim))


def _windows(
    layout: Layout, window: int | tuple[int, ...], axis: int | tuple[int, ...] | None
) -> Layout:
    sizes = (window,) if isinstance(window, int) else window
    dims = normalized_dims(axis, layout.ndim)
    if len(sizes) != len(dims):
        came = f"window_shape {arguments.shown(sizes)} and axis {dims}"
        msg = f"{came} must be equally many"
        raise ValueError(msg)
    return layout.sliding_window(sizes, dims)


def _selected(layout: Layout, axis: int, at: int) -> Layout | None:
    return layout.slice((*[slice(None)] * axis, at))


_PERMUTE = View("permute_dims", _permuted)
_MOVE = View("moveaxis", _moved)
_BROADCAST = View("broadcast_to", _broadcast)
_BROADCAST_ALL = View("broadcast_arrays", Layout.broadcast_to)
_LEAD = View("stack", Layout.broadcast_to)
_FLIP = View("flip", _flipped)
_EXPAND = View("expand_dims", _expanded)
_SQUEEZE = View("squeeze", _squeezed)
_WINDOW = View("sliding_window", _windows)
_SELECT = View("unstack", _selected)
_COPIES = {name: Copy(name) for name in ("repeat", "tile", "roll")}
_MERGED = {name: View(name, _packed_anew) for name in ("repeat", "tile", "roll")}
_WIDE = {name: View(name, Layout.broadcast_to) for name in ("repeat", "tile")}
_REPEAT = Gather("repeat")
_POSITIONS = Library("repeat", "integral")
_TOTAL = Reduce("repeat", "any", "sum", "sum")
_LEAST = Reduce("repeat", "real numeric", "min", identity=False)
_RESHAPE = Reshape()
_CONCAT = Join()
_STACK = Join("stack")
_SPEC = attrgetter("_spec")


def _view(operation: View, x: Any, *static: Any) -> Tensor:
    x = arguments.tensor(operation.name, x)
    return dispatch.call(operation, (x._spec, *static), (x,))


def _view_by(operation: Operation, x: Any, static: Any) -> Tensor:
    """The same for one parameter."""
    if type(x) is not Tensor:
        x = arguments.tensor(operation.name, x)
    return dispatch.view(operation, x, static)


def permute_dims(x: Tensor, /, axes: Integers) -> Tensor:
    """The dimensions in another order: dimension ``i`` is ``axes[i]`` of `x`. A view.

    Layout: the same slots; the stored order of dimensions moves along. ValueError where `axes` is
    no permutation. Any dtype.

    >>> import tensorlayout as tl
    >>> tl.permute_dims(tl.zeros((4, 5, 3), dtype=tl.uint8), (2, 0, 1)).layout
    Layout.parse('(3,4,5):(1,15,3)')
    """
    given = arguments.integers(axes, "permute_dims", "axes", none=False)
    return _view_by(_PERMUTE, x, (given,) if isinstance(given, int) else given)


def moveaxis(x: Tensor, source: Integers, destination: Integers, /) -> Tensor:
    """Some dimensions at other places, the rest in their order. A view.

    Any dtype. `source`, `destination`: integers, or equally many of them. ValueError where there
    are not, and (AxisError) for one outside the rank, or named twice.

    >>> import tensorlayout as tl
    >>> tl.moveaxis(tl.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    sources = arguments.integers(source, "moveaxis", "source", none=False)
    destinations = arguments.integers(destination, "moveaxis", "destination", none=False)
    return _view(_MOVE, x, sources, destinations)


def broadcast_to(x: Tensor, /, shape: Integers) -> Tensor:
    """`x` repeated along dimensions of size 1 and new leading ones, by stride 0. A view.

    Any dtype. The result has this `shape`; it shares slots between its elements, so it cannot be
    written to. ValueError for a shape that `x` does not broadcast to.

    >>> import tensorlayout as tl
    >>> tl.broadcast_to(tl.asarray([1, 2]), (3, 2)).layout
    Layout.parse('(3,2):(0,1)')
    """
    return _view_by(_BROADCAST, x, arguments.shape("broadcast_to", shape))


def broadcast_arrays(*arrays: Tensor) -> tuple[Tensor, ...]:
    """All tensors broadcast to their common shape. Views.

    Any dtypes, kept. Repeated dimensions have stride 0, so such results cannot be written to.
    ValueError for shapes that do not broadcast.

    >>> import tensorlayout as tl
    >>> rows, columns = tl.broadcast_arrays(tl.asarray([[1], [2]]), tl.asarray([3, 4, 5]))
    >>> rows.layout, columns.layout
    (Layout.parse('(2,3):(1,0)'), Layout.parse('(2,3):(0,1)'))
    """
    given = tuple(arguments.tensor("broadcast_arrays", x) for x in arrays)
    shape = broadcast_shape([x.shape for x in given])
    return tuple(_view_by(_BROADCAST_ALL, x, shape) for x in given)


def broadcast_shapes(*shapes: Integers) -> tuple[int, ...]:
    """The shape that all given shapes broadcast to.

    ValueError where none exists, TypeError for sizes that are no integers.

    >>> import tensorlayout as tl
    >>> tl.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    given = [arguments.shape("broadcast_shapes", shape) for shape in shapes]
    if any(n < 0 for shape in given for n in shape):
        msg = f"broadcast_shapes: shape must hold no negative sizes, got {arguments.shown(given)}"
        raise ValueError(msg)
    return broadcast_shape(given)


def expand_dims(x: Tensor, /, axis: Integers = 0) -> Tensor:
    """New dimensions of size 1 at `axis`, counted in the result. A view.

    Any dtype. ValueError (AxisError) for an axis outside the result, or named twice; TypeError for
    one that is no integer.

    >>> import tensorlayout as tl
    >>> tl.expand_dims(tl.zeros((2, 3)), axis=1).shape
    (2, 1, 3)
    """
    return _view_by(_EXPAND, x, arguments.integers(axis, "expand_dims", none=False))


def squeeze(x: Tensor, /, axis: Axis = None) -> Tensor:
    """The dimensions `axis`, which must have size 1, gone. A view.

    By default all that have it. Any dtype. ValueError for another size, and (AxisError) for an
    axis outside the rank.

    >>> import tensorlayout as tl
    >>> tl.squeeze(tl.zeros((1, 3, 1)), axis=(0, 2)).shape
    (3,)
    """
    if axis is None:
        x = arguments.tensor("squeeze", x)
        axis = tuple(dim for dim, size in enumerate(x.shape) if size == 1)
    return _view_by(_SQUEEZE, x, arguments.integers(axis, "squeeze", none=False))


def flip(x: Tensor, /, *, axis: Axis = None) -> Tensor:
    """The elements in reverse along `axis` (all by default), by negative strides. A view.

    Any dtype. TypeError for an axis that is no integer; ValueError (AxisError) for one outside the
    rank, or named twice.

    >>> import tensorlayout as tl
    >>> tl.flip(tl.asarray([1, 2, 3]))
    Tensor([3, 2, 1], dtype=int64, device='cpu', layout='(3,):(-1,)+2')
    """
    return _view_by(_FLIP, x, arguments.integers(axis, "flip"))


def sliding_window(x: Tensor, /, window_shape: Integers, *, axis: Axis = None) -> Tensor:
    """All windows of `window_shape` along `axis`, as new last dimensions. A view of shared slots.

    Any dtype. `window_shape`: one size for each `axis`, which are by default all. The result cannot
    be written to. ValueError for other numbers of sizes, and for a window that is larger than its
    dimension.

    >>> import tensorlayout as tl
    >>> tl.sliding_window(tl.arange(4), 3)
    Tensor([[0, 1, 2],
            [1, 2, 3]], dtype=int64, device='cpu', layout='(2,3):(1,1)')
    """
    sizes = arguments.integers(window_shape, "sliding_window", "window_shape", none=False)
    return _view(_WINDOW, x, sizes, arguments.integers(axis, "sliding_window"))


def reshape(x: Tensor, /, shape: Integers, *, copy: bool | None = None) -> Tensor:
    """The elements in row-major index order under another shape; one size may be -1.

    A view wherever the strides allow it; else a row-major copy (ValueError if `copy` is False). Any
    dtype. ValueError for a shape of another number of elements.

    >>> import tensorlayout as tl
    >>> tl.reshape(tl.arange(6), (2, -1))
    Tensor([[0, 1, 2],
            [3, 4, 5]], dtype=int64, device='cpu')
    """
    x = arguments.tensor("reshape", x)
    sizes = arguments.integers(shape, "reshape", "shape", none=False)
    return dispatch.call(_RESHAPE, (x._spec, sizes, arguments.flag("reshape", "copy", copy)), (x,))


def concat(
    arrays: list[Tensor] | tuple[Tensor, ...], /, *, axis: SupportsIndex | None = 0
) -> Tensor:
    """The tensors one after the other along `axis`; None joins all elements in index order.

    dtype: the promoted one. Layout: packed in the order of the first tensor. ValueError for no
    tensors, where other sizes than that of `axis` differ, and (AxisError) for an axis outside the
    rank; TypeError for what is no tensor.

    >>> import tensorlayout as tl
    >>> tl.concat([tl.asarray([[1, 2]]), tl.asarray([[3, 4], [5, 6]])])
    Tensor([[1, 2],
            [3, 4],
            [5, 6]], dtype=int64, device='cpu')
    """
    given = arguments.tensors("concat", arrays)
    if axis is None:
        given, axis = tuple(reshape(x, (-1,)) for x in given), 0
    along = axis if type(axis) is int else arguments.integer("concat", "axis", axis)
    return dispatch.call(_CONCAT, (along, *map(_SPEC, given)), given)


def stack(arrays: list[Tensor] | tuple[Tensor, ...], /, *, axis: SupportsIndex = 0) -> Tensor:
    """The tensors, of one shape, along a new dimension at `axis`.

    dtype: the promoted one. Layout: packed in the order of the first tensor, the new dimension the
    most major one. ValueError for no tensors, shapes that differ, and (AxisError) an axis outside
    the result; TypeError for what is no tensor.

    >>> import tensorlayout as tl
    >>> tl.stack([tl.asarray([1, 2]), tl.asarray([3, 4])], axis=1)
    Tensor([[1, 3],
            [2, 4]], dtype=int64, device='cpu', layout='(2,2):(1,2)')
    """
    given = arguments.tensors("stack", arrays)
    if len({*map(_SPEC, given)}) > 1 and any(x.shape != given[0].shape for x in given):
        came = arguments.shown([x.shape for x in given])
        refuse("stack", f"shapes must be equal, got {came}")
    dim = arguments.dim("stack", axis, given[0].ndim + 1)
    # A leading dimension that broadcasting adds is the most major one, whatever the order of the
    # rest (expand_dims keeps a column-major order); moved to its place afterwards, it stays so.
    lead = (1, *given[0]._spec.layout.shape)
    given = tuple([dispatch.view(_LEAD, x, lead) for x in given])
    joined = dispatch.call(_STACK, (0, *map(_SPEC, given)), given)
    return moveaxis(joined, 0, dim) if dim else joined


_MOST_VIEWS = 2**24  # gigabytes of Python objects


def unstack(x: Tensor, /, *, axis: SupportsIndex = 0) -> tuple[Tensor, ...]:
    """The slices along `axis`, without that dimension. Views.

    Any dtype. ValueError (AxisError) for an axis outside the rank, TypeError for one that is no
    integer.

    >>> import tensorlayout as tl
    >>> left, right = tl.unstack(tl.asarray([[1, 2], [3, 4]]), axis=1)
    >>> right
    Tensor([2, 4], dtype=int64, device='cpu', layout='(2,):(2,)+1')
    """
    x = arguments.tensor("unstack", x)
    dim = arguments.dim("unstack", axis, x.ndim)
    if x.shape[dim] > _MOST_VIEWS:
        refuse("unstack", f"at most {_MOST_VIEWS} tensors are made, got shape {x.shape}")
    return tuple(_view(_SELECT, x, dim, i) for i in range(x.shape[dim]))


def roll(x: Tensor, /, shift: Integers, *, axis: Axis = None) -> Tensor:
    """The elements moved by `shift` places along `axis`, those pushed out coming in again.

    Any dtype. Without `axis` the elements move in row-major index order. Layout: packed in the
    input's order. ValueError for other numbers of shifts than of axes, and (AxisError) for an axis
    outside the rank.

    >>> import tensorlayout as tl
    >>> tl.roll(tl.asarray([1, 2, 3, 4]), 1)
    Tensor([4, 1, 2, 3], dtype=int64, device='cpu')
    """
    x = arguments.tensor("roll", x)
    steps = arguments.integers(shift, "roll", "shift", none=False)
    axes = arguments.integers(axis, "roll")
    given = axes if isinstance(axes, tuple) else (axes,)
    shifts = steps if isinstance(steps, tuple) else (steps,) * len(given)
    if len(shifts) != len(given):
        came = f"shift {arguments.shown(shift)} and axis {arguments.shown(axis)}"
        refuse("roll", f"{came} must be equally many")
    order = x.layout.minor_to_major
    if axis is None:
        return _ordered(reshape(roll(reshape(x, (-1,)), shifts[0], axis=0), x.shape), order)
    if x.layout.slot_bits is not None:  # whose parts may begin no byte
        x = dispatch.call(_COPIES["roll"], (x._spec, _packed(x, order), None), (x,))
    # All of them before anything moves; one may occur twice.
    dims = [arguments.dim("roll", d, x.ndim) for d in given]
    for dim, by in zip(dims, shifts, strict=True):
        at = -by % max(x.shape[dim], 1)
        before = [slice(None)] * dim
        x = concat([x[(*before, slice(at, None))], x[(*before, slice(0, at))]], axis=dim)
    if not dims:
        return dispatch.call(_COPIES["roll"], (x._spec, _packed(x, order), None), (x,))
    # A part of tiles may be of another order than all of them.
    return x if x.layout.minor_to_major == order else _ordered(x, order)


def _ordered(x: Tensor, order: tuple[int, ...]) -> Tensor:
    """`x`, which is packed, with its dimensions in this order in memory; a view if they are."""
    wanted = _packed(x, order)
    if x.layout.same_placement(wanted):
        return _view(_MERGED["roll"], x, x.shape, order)
    return dispatch.call(_COPIES["roll"], (x._spec, wanted, None), (x,))


def _packed(x: Tensor, order: tuple[int, ...]) -> Layout:
    return Layout.packed(x.shape, order)


def repeat(
    x: Tensor, repeats: SupportsIndex | Tensor, /, *, axis: SupportsIndex | None = None
) -> Tensor:
    """Each element (or slice along `axis`) several times, one after the other.

    `repeats`: a number, or an integer tensor with one for each slice. Without `axis` the elements
    come in row-major index order. Any dtype, kept. Layout: packed in the order of `x`. ValueError
    for negative numbers or a tensor of another size, TypeError for other dtypes, MemoryError for a
    total that no memory holds.

    >>> import tensorlayout as tl
    >>> tl.repeat(tl.asarray([1, 2, 3]), tl.asarray([0, 1, 2]))
    Tensor([2, 3, 3], dtype=int64, device='cpu')
    """
    x = arguments.tensor("repeat", x)
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    dim = arguments.dim("repeat", axis, x.ndim)
    if arguments.is_array(repeats):
        repeats = arguments.tensor("repeat", repeats, "repeats")
    if isinstance(repeats, Tensor) and repeats.ndim > 0:
        counts = _counts(repeats, x.shape[dim])
        positions = dispatch.library(_POSITIONS, counts)
        return dispatch.call(_REPEAT, (x._spec, (dim,), False, positions._spec), (x, positions))
    times = arguments.count("repeat", "repeats", repeats)
    return _copies("repeat", x, [times if d == dim else 1 for d in range(x.ndim)], inside=True)


def _counts(repeats: Tensor, size: int) -> Tensor:
    if not dtypes.in_category(repeats.dtype, "integral"):
        refuse("repeat", f"repeats must be integers, got {repeats.dtype}", TypeError)
    if repeats.shape not in ((size,), (1,)):
        refuse("repeat", f"repeats must have shape ({size},), got {repeats.shape}")
    counts = broadcast_to(repeats, (size,))
    # In float64, where no sum wraps, and with negative numbers as those from 2**63 on.
    total = float(reduced(_TOTAL, astype(counts, dtypes.uint64), None, False, dtypes.float64))
    if total >= 2**53:
        lowest = int(reduced(_LEAST, counts, None, False))
        if lowest < 0:
            refuse("repeat", f"repeats must not be negative, got {lowest}")
        refuse("repeat", f"repeats add up to {total:.4g}, more than any memory holds", MemoryError)
    return counts


def tile(x: Tensor, repetitions: Integers, /) -> Tensor:
    """`x` as a whole, `repetitions` times along each dimension; missing ones count from the left.

    Layout: packed in the order of `x`, new dimensions the slowest. ValueError for negative numbers.
    Any dtype, kept.

    >>> import tensorlayout as tl
    >>> tl.tile(tl.asarray([1, 2]), (2, 2))
    Tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]], dtype=int64, device='cpu')
    """
    x = arguments.tensor("tile", x)
    given = arguments.integers(repetitions, "tile", "repetitions", none=False)
    times = (given,) if isinstance(given, int) else given
    if len(times) > MAX_RANK:
        refuse("tile", f"at most {MAX_RANK} dimensions are allowed, got {len(times)} repetitions")
    if any(n < 0 for n in times):
        refuse("tile", f"repetitions must not be negative, got {arguments.shown(times)}")
    new = max(len(times) - x.ndim, 0)
    if new:  # by a leading dimension that broadcasting adds, which is the slowest in any order
        x = broadcast_to(x, (*(1,) * new, *x.shape))
    return _copies("tile", x, (1,) * (x.ndim - len(times)) + times, inside=False)


def _copies(name: str, x: Tensor, times: Sequence[int], *, inside: bool) -> Tensor:
    """Each dimension `times` as long, in one copy: each slice several times, or the whole.

    Every dimension is seen as two, the size and the number of copies, the faster one last in the
    shape and in memory; merging the two afterwards is a view. Halves of 1 are left out, so that
    those that are left, each at least 2, are never too many.
    """
    halves: list[tuple[int, int, int]] = []  # the dimension, the size before, the size afterwards
    for d, (n, count) in enumerate(zip(x.shape, times, strict=True)):
        pair = ((d, n, n), (d, 1, count)) if inside else ((d, 1, count), (d, n, n))
        halves += [half for half in pair if half[1:] != (1, 1)]
    seen = reshape(x, tuple(n for _, n, _ in halves))
    wide = _view(_WIDE[name], seen, tuple(n for _, _, n in halves))
    place = {d: p for p, d in enumerate(x.layout.minor_to_major)}
    order = sorted(range(len(halves)), key=lambda i: (place[halves[i][0]], -i))
    packed = Layout.packed(wide.shape, order)
    copied = dispatch.call(_COPIES[name], (wide._spec, packed, None), (wide,))
    shape = tuple(n * count for n, count in zip(x.shape, times, strict=True))
    return _view(_MERGED[name], copied, shape, x.layout.minor_to_major)
