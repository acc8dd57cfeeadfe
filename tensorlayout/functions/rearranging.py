"""Functions that move or repeat elements: roll, repeat, tile, resize."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import SupportsIndex

from tensorlayout import dtypes
from tensorlayout.functions import arguments, dispatch
from tensorlayout.functions import primitives as xp
from tensorlayout.functions.operands import asarray_unless_tensor, operand_and_dim
from tensorlayout.functions.transfers import copy_tensor
from tensorlayout.layout import Layout
from tensorlayout.plan import Gather, Library, View
from tensorlayout.tensor import Tensor
from tensorlayout.typing import ArrayLike, Axis, Integers

__all__ = [
    "repeat",
    "resize",
    "roll",
    "tile",
]


_MERGED = {
    name: View(name, lambda layout, shape, order: Layout.packed(shape, order))
    for name in ("repeat", "tile", "roll")
}
_WIDE = {name: View(name, Layout.broadcast_to) for name in ("repeat", "tile")}
_REPEAT = Gather("repeat")
_POSITIONS = Library("repeat", "integral")


def roll(a: Tensor, shift: Integers, axis: Axis = None) -> Tensor:
    """Shift the elements along `axis`; elements that leave at one end enter at the other.

    - `shift`: one integer, or one for each axis.
    - `axis`: one dimension, several, or None to shift in row-major index order.

    Returns a new tensor of any dtype, kept. Layout: packed in the input's order.

    Raises `ValueError` if `shift` and `axis` have different lengths, and `AxisError` (a
    `ValueError`) for an axis that is out of bounds.

    >>> import tensorlayout as tl
    >>> tl.roll(tl.asarray([1, 2, 3, 4]), 1)
    Tensor([4, 1, 2, 3], dtype=int64, device='cpu')
    """
    x = arguments.as_tensor(a)
    steps = arguments.as_integers(shift, "shift", allow_none=False)
    axes = arguments.as_integers(axis)
    order = x.layout.minor_to_major
    if axes is None:
        distance = sum(steps) if isinstance(steps, tuple) else steps
        return _as_packed_in_order(
            xp.reshape(roll(xp.reshape(x, (-1,)), distance, 0), x.shape), order
        )
    shifts = steps if isinstance(steps, tuple) else (steps,)
    roll_axes = axes if isinstance(axes, tuple) else (axes,)
    # NumPy broadcasts both: one shift for several axes, or several shifts along one.
    shifts = shifts * len(roll_axes) if len(shifts) == 1 else shifts
    roll_axes = roll_axes * len(shifts) if len(roll_axes) == 1 else roll_axes
    if len(shifts) != len(roll_axes):
        arguments_text = (
            f"shift {arguments.format_argument(shift)} and axis {arguments.format_argument(axis)}"
        )
        raise ValueError(f"{arguments_text} must have equal lengths")
    # Parts of packed elements may begin inside a byte.
    if x.layout.slot_bits is not None:
        x = copy_tensor("roll", x, Layout.packed(x.shape, order))
    # Check all axes before anything moves; an axis may be repeated.
    dims = [arguments.normalize_axis(d, x.ndim) for d in roll_axes]
    for dim, distance in zip(dims, shifts, strict=True):
        # The last elements come to the front: 4 elements shifted by 1 are split at 3. The remainder
        # makes shifts of any size and sign short; an empty dimension must not divide by 0.
        split_point = -distance % max(x.shape[dim], 1)
        outer_slices = [slice(None)] * dim
        x = xp.concat(
            [
                x[(*outer_slices, slice(split_point, None))],
                x[(*outer_slices, slice(0, split_point))],
            ],
            axis=dim,
        )
    # Without axes nothing is shifted, but the result is still a new tensor.
    if not dims:
        return copy_tensor("roll", x, Layout.packed(x.shape, order))
    # A part of a tiled tensor may have another order than the whole.
    return x if x.layout.minor_to_major == order else _as_packed_in_order(x, order)


def _as_packed_in_order(x: Tensor, order: tuple[int, ...]) -> Tensor:
    """Return `x` packed with its dimensions in this memory order; a view if it already is."""
    target_layout = Layout.packed(x.shape, order)
    if x.layout.same_placement(target_layout):
        return _view_with_merged_dims("roll", x, x.shape, order)
    return copy_tensor("roll", x, target_layout)


def _view_with_merged_dims(
    function_name: str, x: Tensor, shape: tuple[int, ...], order: tuple[int, ...]
) -> Tensor:
    """View packed `x` with a shape that merges adjacent dimensions."""
    return dispatch.call(_MERGED[function_name], (x.spec, shape, order), (x,))


def repeat(a: Tensor, repeats: ArrayLike, axis: SupportsIndex | None = None) -> Tensor:
    """Return each element, or each slice along `axis`, several times in a row.

    - `repeats`: one number, or an integer for each slice.
    - `axis`: a dimension; None repeats the elements in row-major index order.

    Returns a new tensor of any dtype, kept. Layout: packed in the order of `a`.

    Raises `ValueError` for negative numbers or a wrong count of them, `TypeError` for other dtypes,
    and `MemoryError` for a total that does not fit in memory.

    >>> import tensorlayout as tl
    >>> tl.repeat(tl.asarray([1, 2, 3]), tl.asarray([0, 1, 2]))
    Tensor([2, 3, 3], dtype=int64, device='cpu')
    """
    x, dim = operand_and_dim(a, axis)
    if isinstance(repeats, (list, tuple)) or arguments.is_foreign_array(repeats):
        repeats = asarray_unless_tensor(repeats, x)
    if isinstance(repeats, Tensor) and repeats.ndim > 0:
        counts = _check_repeat_counts(repeats, x.shape[dim])
        positions = dispatch.call_library(_POSITIONS, counts)
        return dispatch.call(_REPEAT, (x.spec, (dim,), False, positions.spec), (x, positions))
    times = arguments.as_nonnegative_integer("repeats", repeats)
    return _copy_repeated(
        "repeat", x, [times if d == dim else 1 for d in range(x.ndim)], per_slice=True
    )


def _check_repeat_counts(repeats: Tensor, size: int) -> Tensor:
    if not dtypes.is_in_category(repeats.dtype, "integral"):
        raise TypeError(f"repeats must be integers, got {repeats.dtype}")
    if repeats.shape not in ((size,), (1,)):
        raise ValueError(f"repeats must have shape ({size},), got {repeats.shape}")
    counts = xp.broadcast_to(repeats, (size,))
    # As uint64, negative numbers count as at least 2**63; in float64 no sum wraps.
    total = float(counts.astype(dtypes.uint64).sum(dtype=dtypes.float64))
    if total >= 2**53:
        lowest = int(counts.min())
        if lowest < 0:
            raise ValueError(f"repeats must not be negative, got {lowest}")
        raise MemoryError(f"repeats add up to {total:.4g}, more than any memory holds")
    return counts


def tile(A: Tensor, reps: Integers) -> Tensor:  # noqa: N803 - NumPy's name
    """Repeat `A` as a whole, `reps` times along each dimension; missing ones count from the left.

    Any dtype, kept. Layout: packed in the order of `A`, with new dimensions slowest.

    Raises `ValueError` for a negative number; `TypeError` if a number is not an integer.

    >>> import tensorlayout as tl
    >>> tl.tile(tl.asarray([1, 2]), (2, 2))
    Tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]], dtype=int64, device='cpu')
    """
    x = arguments.as_tensor(A)
    repetitions = arguments.as_integers(reps, "reps", allow_none=False)
    times = (repetitions,) if isinstance(repetitions, int) else repetitions
    if any(n < 0 for n in times):
        raise ValueError(f"reps must not be negative, got {arguments.format_argument(times)}")
    added_dims = max(len(times) - x.ndim, 0)
    if added_dims:  # broadcasting adds leading dimensions, the slowest in memory
        x = xp.broadcast_to(x, (*(1,) * added_dims, *x.shape))
    return _copy_repeated("tile", x, (1,) * (x.ndim - len(times)) + times, per_slice=False)


def _copy_repeated(
    function_name: str, x: Tensor, times: Sequence[int], *, per_slice: bool
) -> Tensor:
    """Repeat each dimension `times` in one copy: slice by slice, or as a whole.

    Every dimension becomes two, the size and the number of copies, with the faster one last in the
    shape and in memory; merging the two afterwards is a view. Halves of size 1 are left out; the
    others are at least 2, so that the rank stays within the limit.
    """
    halves: list[tuple[int, int, int]] = []  # dimension, size before, size afterwards
    for d, (n, count) in enumerate(zip(x.shape, times, strict=True)):
        # An array (3,) repeated twice is viewed as (3, 1), broadcast to (3, 2) and merged to 6; for
        # a tile it is (1, 3), broadcast to (2, 3).
        pair = ((d, n, n), (d, 1, count)) if per_slice else ((d, 1, count), (d, n, n))
        halves += [half for half in pair if half[1:] != (1, 1)]
    split_view = xp.reshape(x, tuple(n for _, n, _ in halves))
    broadcast = dispatch.call(
        _WIDE[function_name], (split_view.spec, tuple(n for _, _, n in halves)), (split_view,)
    )
    memory_rank = {d: p for p, d in enumerate(x.layout.minor_to_major)}
    # From the fastest dimension of `x` to the slowest, and within each its second half first.
    order = sorted(range(len(halves)), key=lambda i: (memory_rank[halves[i][0]], -i))
    packed = copy_tensor(function_name, broadcast, Layout.packed(broadcast.shape, order))
    shape = tuple(n * count for n, count in zip(x.shape, times, strict=True))
    return _view_with_merged_dims(function_name, packed, shape, x.layout.minor_to_major)


def resize(a: Tensor, new_shape: Integers) -> Tensor:
    """Return the elements in index order under another shape, repeated if they are too few.

    `new_shape` is a size or a sequence of sizes; the result is zeros if `a` has no elements. Any
    dtype, kept. Layout: row-major.

    Raises `ValueError` for a negative size; `TypeError` if a size is not an integer.

    >>> import tensorlayout as tl
    >>> tl.resize(tl.asarray([1, 2, 3]), (2, 2))
    Tensor([[1, 2],
            [3, 1]], dtype=int64, device='cpu')
    """
    flat = xp.reshape(a, (-1,))
    shape = arguments.as_shape(new_shape)
    if any(n < 0 for n in shape):
        raise ValueError(f"sizes must not be negative, got {arguments.format_argument(shape)}")
    if not flat.size:
        return xp.zeros(shape, flat.dtype, device=flat.device)
    size = math.prod(shape)
    # Whole copies until there are enough elements; // rounds down, so the negations round up.
    return xp.reshape(tile(flat, -(-size // flat.size))[:size], shape)
