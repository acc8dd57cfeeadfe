"""Reductions by one ufunc ("folds") that are accurate and fast along any axes.

NumPy sums pairwise along the fastest axis only; along other axes the error grows with the length.
Its inner loop costs 10 ns per call, so a sum over the pixels of an NHWC image takes 30 times as
long as necessary. A `Fold` views an array in storage order with few axes and reduces one axis
after the other; long axes are split into runs. For example, summing a float32 array of shape
(1000, 1024) along axis 0 with ``Fold(np.add, float32, float64, 32)``:

    rows 0 to 991    → view them as (31, 32, 1024) and add the 32 rows of each run in float32
    31 partial sums  → add them, and the 8 remaining rows, in float64, giving (1, 1024)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tensorlayout.cpu.copy.choose import make_axis_view
from tensorlayout.cpu.engine.casting import is_half_float, widen_to_float32
from tensorlayout.cpu.engine.memory import Array
from tensorlayout.cpu.engine.sharing import axis_slices, share_pieces, slab_boxes
from tensorlayout.dtypes import DType, complex128, float64, is_in_category
from tensorlayout.layout import Axis, Layout, merge_axes

Key = tuple[slice, ...]

# Elements of a block that is converted before it is reduced. The variance of 2048 x 2048 float32
# takes 4.0 ms in blocks of 32768, 3.3 in 65536, 2.9 in 131072 and 2.7 in 262144, but the largest
# ones fill two second-level caches as float64. float16 to float32 takes 0.62 ns per element in
# blocks of 8192, 0.29 in 65536.
BLOCK = 1 << 17


class StorageWalk(NamedTuple):
    """View of an array with merged axes, slowest first, for a reduction."""

    to_storage_order: Callable[[Array], Array]
    reduced_axes: tuple[int, ...]
    result_sizes: tuple[int, ...]  # 1 for reduced axes


def make_storage_walk(layout: Layout, dims: Sequence[int]) -> StorageWalk:
    """Return the walk over a layout whose dimensions `dims` are reduced."""
    order, reduced = tuple(reversed(layout.minor_to_major)), set(dims)
    dimensions = [
        Axis(n, (s,), d in reduced)
        for d, (n, s) in enumerate(zip(layout.shape, layout.strides, strict=True))
    ]
    several = len(dims) > 1 and layout.size > 0
    # Reversing reduced dimensions lets neighbours merge; a single one keeps its index order.
    backwards = [several and d in reduced and s < 0 for d, s in enumerate(layout.strides)]
    axes = [dimensions[d].reversed_axis if backwards[d] else dimensions[d] for d in order]
    axes = merge_axes(axes) if layout.size else [axis for axis in axes if axis.size != 1]
    return StorageWalk(
        make_axis_view(layout.shape, backwards, order, tuple([axis.size for axis in axes])),
        tuple([k for k, axis in enumerate(axes) if axis.tag]),
        tuple([1 if axis.tag else axis.size for axis in axes]),
    )


def block_boxes(
    shape: tuple[int, ...], max_elements: int = BLOCK, uncut_axes: int = 0
) -> list[Key]:
    """Return boxes of about `max_elements` at most, in order; the last `uncut_axes` stay whole."""
    if math.prod(shape) <= max_elements:
        return [(slice(None),) * len(shape)]
    cut = len(shape) - uncut_axes
    boxes = slab_boxes(
        shape[:cut], range(cut)[::-1], max_elements // math.prod(shape[cut:]), axis_slices
    )
    return [(*box, *[slice(None)] * uncut_axes) for box in boxes]


def result_key(key: Key, axes: Sequence[int]) -> Key:
    """Return the index of a block's result, in which reduced axes have size 1."""
    return tuple([slice(None) if k in axes else s for k, s in enumerate(key)])


def map_in_threads(function: Callable[[Any], Array], items: Sequence[Any]) -> list[Array]:
    """Return ``function(item)`` for each item, in order, computed in several threads."""
    results: list[Any] = [None] * len(items)

    def store_result_of_item(number: int) -> None:
        results[number] = function(items[number])

    share_pieces(range(len(items)), store_result_of_item)
    return results


# --- folds ---

# ``work(x, axes)``: reduces an array in storage order; reduced axes stay with size 1.
Work = Callable[..., Array]

# Inner loops are made at least this long where possible: 8 x 50176 x 3 float32 along the middle
# axis takes 5.7 ms in rows of 3 and 0.19 in rows of 384.
_ROW = 384

# Shorter fastest axes are folded one column at a time: 8 x 224 x 224 x 3 float32 along the last
# axis takes 0.30 ms instead of 6.1.
_COLUMNS = 16

# Number of partial sums that NumPy keeps in parallel along the fastest axis, if it is that long.
# Narrower dtypes are added in a wider one, so rounding hides differences in the order of additions.
_LANES = {float64: 8, complex128: 4}

# Number of float64 added one after the other: the error stays below 128 * 2**-53.
WIDE_RUN = 128

# Bytes from which on threads share the work, in at least two pieces of half this size: a piece
# costs 20 us plus its elements. The sum of 16 MB of float32 takes 0.65 ms in one thread; in two
# threads 0.57 with pieces of 2 MB, 0.46 with pieces of 4 MB.
SHARED_BYTES = 8 << 20
_PIECES = 16

# Up to this size an array is folded at once in its wide dtype: planning would cost more.
SMALL = 8192


# With `out`, NumPy 2.1 computes wrong extremes along dimensions that run backwards in memory.
ALL_WAYS = np.lib.NumpyVersion(np.__version__) >= "2.2.0"


@dataclass(slots=True)
class Fold:
    """Reduction by a ufunc: the dtypes in which it computes, and its run lengths."""

    ufunc: Any
    narrow: DType | None = None  # dtype for folding elements; None: their own
    wide: DType | None = None  # dtype for folding partial results, and of a result of several runs
    run_length: int | None = None  # elements folded in a row in `narrow`; None: any number
    # The same along the fastest axis, where NumPy sums pairwise.
    line_run_length: int | None = None
    convert_block: Callable[[Array], Array] | None = None  # applied to each block before folding

    def __call__(self, x: Array, axes: Sequence[int], out: Array | None = None) -> Array:
        """Return `x` folded along `axes`, which stay with size 1; in `out` if the fold can."""
        if self.convert_block is None:
            return self._fold_array(x, axes, out)
        if x.nbytes >= SHARED_BYTES and axes:
            return self._fold_in_threads(self._fold_in_blocks, x, axes)
        return self._fold_in_blocks(x, axes)

    def _fold_in_blocks(self, x: Array, axes: Sequence[int]) -> Array:
        """Return the fold of ``convert_block(x)``, which is never materialised as a whole."""
        assert self.convert_block is not None
        if x.size <= BLOCK:
            return self._fold_array(self.convert_block(x), axes)
        shape = [1 if k in axes else n for k, n in enumerate(x.shape)]
        result: Array | None = None
        for key in block_boxes(x.shape):
            part = self._fold_array(self.convert_block(x[key]), axes)
            if result is None:
                result = np.empty(shape, self.wide or part.dtype)
            place = result[result_key(key, axes)]
            if all(key[axis].start in (None, 0) for axis in axes):
                place[...] = part
            else:
                self.ufunc(place, part, out=place)
        assert result is not None, "a larger array has at least one block"
        return result

    def _fold_in_threads(self, fold: Work, x: Array, axes: Sequence[int]) -> Array:
        """Fold pieces of an array in several threads, then combine their results.

        The pieces depend on shapes only, so results do not depend on the number of threads. They
        are cut along the slowest axis, or along a kept axis if there would be too many partial
        results.
        """
        results = math.prod([1 if k in axes else n for k, n in enumerate(x.shape)])
        count = min(_PIECES, 2 * x.nbytes // SHARED_BYTES)
        slow = next((k for k, n in enumerate(x.shape) if n >= count), 0)
        kept_axes = [k for k in range(x.ndim) if k not in axes]
        if slow in axes and kept_axes and results * count * count > x.size:
            slow = max(kept_axes, key=lambda k: x.shape[k])
        cuts = axis_slices(x.shape[slow], -(-x.shape[slow] // count))
        parts = map_in_threads(
            lambda cut: fold(_slice_axis(x, slow, cut.start, cut.stop), axes), cuts
        )
        result = np.concatenate(parts, slow)
        if slow in axes:
            result = np.asarray(self.ufunc.reduce(result, slow, self.wide, keepdims=True))
        return result

    def _fold_array(self, x: Array, axes: Sequence[int], out: Array | None = None) -> Array:
        if not ALL_WAYS:
            steps = [-1 if d in axes and s < 0 else 1 for d, s in enumerate(x.strides)]
            x = x[tuple([slice(None, None, step) for step in steps])]
        if x.size <= SMALL or not axes:
            return np.asarray(self.ufunc.reduce(x, tuple(axes), self.wide, out, keepdims=True))
        if x.nbytes >= SHARED_BYTES:
            result = self._fold_in_threads(self._fold_axes, x, axes)
            if out is None:
                return result
            out[...] = result
            return out
        return self._fold_axes(x, axes, out)

    def _fold_axes(self, x: Array, axes: Sequence[int], out: Array | None = None) -> Array:
        fold, (*first, last) = self, _reduction_axis_order(x, axes)
        for axis in first:
            x, fold = fold._fold_axis(x, axis), self._fold_for_partial_results()
        return fold._fold_axis(x, last, out)

    def has_one_dtype(self, source: DType, result: DType) -> bool:
        """Return whether every step from `source` to `result` has the dtype of the result."""
        return (self.narrow or source) == result == (self.wide or source)

    def _fold_for_partial_results(self) -> Fold:
        """Return the fold for the partial results of this one."""
        return Fold(self.ufunc, self.wide, self.wide, self.run_length and WIDE_RUN)

    def _fold_axis(self, x: Array, axis: int, out: Array | None = None) -> Array:
        n, inner = x.shape[axis], math.prod(x.shape[axis + 1 :])
        last = axis == x.ndim - 1
        if last and n < _COLUMNS and x.ndim > 1:
            return self._fold_last_axis_by_columns(x, out)
        group = 1 if last or inner >= _ROW else _ROW // inner
        if axis == x.ndim - 2 and inner < min(_COLUMNS, n) and 8 * group > n:
            return self._fold_each_column_separately(x, axis)
        if 1 < group <= n // 2:
            return self._fold_grouped_rows(x, axis, group)
        return self._fold_axis_in_runs(
            x, axis, self.line_run_length if last else self.run_length, out
        )

    def _fold_last_axis_by_columns(self, x: Array, out: Array | None) -> Array:
        columns = [x[..., k : k + 1] for k in range(x.shape[-1])]
        if self.ufunc is np.add and x.dtype in _LANES:
            columns = _partial_sums_in_numpy_order(columns, _LANES[x.dtype])
        result = np.empty((*x.shape[:-1], 1), self.wide or x.dtype) if out is None else out
        result[...] = columns[0]
        for column in columns[1:]:
            self.ufunc(result, column, out=result)
        return result

    def _fold_each_column_separately(self, x: Array, axis: int) -> Array:
        """Fold one column at a time: for a few columns and lines that are too short to group.

        28 x 224 x 224 x 3 float32 along the third axis takes 3.4 ms, and 22 in rows of 3. With
        more columns than elements per line it is slower: 20000 x 5 x 15 float64 along the second
        axis takes 22 ms this way and 2.4 otherwise.
        """
        parts = [
            self._fold_axis_in_runs(x[..., k], axis, self.run_length) for k in range(x.shape[-1])
        ]
        return np.stack(parts, axis=-1)

    def _fold_grouped_rows(self, x: Array, axis: int, group: int) -> Array:
        """Fold rows too short for an inner loop: treat `group` rows as one, folded at the end."""
        whole = x.shape[axis] // group * group
        rows = self._fold_axis(_split_axis_into_pieces(x, axis, whole, group), axis)
        result = self.ufunc.reduce(rows, axis + 1, self.wide, keepdims=False)
        return self._fold_in_remainder(result, x, axis, whole)

    def _fold_axis_in_runs(
        self, x: Array, axis: int, run_length: int | None, out: Array | None = None
    ) -> Array:
        """Fold each run in the narrow dtype, then the results of the runs in the wide one."""
        n = x.shape[axis]
        if run_length is None or n <= run_length:
            return self.ufunc.reduce(x, axis, self.narrow, out, keepdims=True)
        whole = n // run_length * run_length
        parts = self.ufunc.reduce(
            _split_axis_into_pieces(x, axis, whole, run_length), axis + 1, self.narrow
        )
        result = self._fold_for_partial_results()._fold_axis(parts, axis)
        return self._fold_in_remainder(result, x, axis, whole)

    def _fold_in_remainder(self, result: Array, x: Array, axis: int, folded_count: int) -> Array:
        if folded_count < x.shape[axis]:
            rest = _slice_axis(x, axis, folded_count, x.shape[axis])
            result = self.ufunc(result, self.ufunc.reduce(rest, axis, self.wide, keepdims=True))
        return result


def _partial_sums_in_numpy_order(columns: list[Array], lanes: int) -> list[Array]:
    """Return partial sums of columns, added in NumPy's order for one row.

    NumPy sums a short row in this order, so a row has the same bits however many rows there are.
    """
    whole = len(columns) // lanes * lanes
    sums, rest = columns[: min(lanes, whole)], columns[whole:]
    for k in range(lanes, whole):
        sums[k % lanes] = sums[k % lanes] + columns[k]
    while len(sums) > 1:
        sums = [first + second for first, second in zip(sums[::2], sums[1::2], strict=True)]
    return sums + rest


def _reduction_axis_order(x: Array, axes: Sequence[int]) -> list[int]:
    """Return the axes in folding order: first those that leave few elements in long loops."""
    order = sorted(axes)
    slow, fast = order[0], order[-1]
    rows = math.prod(x.shape[slow + 1 :]) >= _ROW and x.shape[slow] >= _COLUMNS
    if rows or (fast == x.ndim - 1 and x.shape[fast] < _COLUMNS):
        return order
    return order[::-1]


def _slice_axis(x: Array, axis: int, start: int, stop: int) -> Array:
    return x[(slice(None),) * axis + (slice(start, stop),)]


def _split_axis_into_pieces(x: Array, axis: int, element_count: int, piece_length: int) -> Array:
    """View the first `element_count` elements along `axis` as pieces of `piece_length`."""
    shape = (*x.shape[:axis], element_count // piece_length, piece_length, *x.shape[axis + 1 :])
    return _slice_axis(x, axis, 0, element_count).reshape(shape, copy=False)


@dataclass(slots=True)
class OrderedExtreme(Fold):
    """Minimum or maximum of floats in which -0 is less than +0."""

    def __call__(self, x: Array, axes: Sequence[int], out: Array | None = None) -> Array:
        """Fold as `Fold` does, then correct the signs of zeros."""
        result = Fold.__call__(self, x, axes, out)
        fix_zero_signs(self.ufunc, result, x, axes)
        return result


def make_extreme_fold(dtype: DType, ufunc: Any, orders_zeros: bool = False) -> Fold:
    """Return the fold for a minimum or maximum; 16-bit floats give float32.

    With `orders_zeros`, -0 is less than +0.
    """
    kind = OrderedExtreme if orders_zeros and dtype.kind in "fV" else Fold
    return kind(ufunc, convert_block=widen_to_float32 if is_half_float(dtype) else None)


def fix_zero_signs(ufunc: Any, extremes: Array, x: Array, axes: Sequence[int]) -> None:
    """Correct the signs of zeros in `extremes` in place, so that -0 is less than +0.

    The `axes` have size 1 in `extremes`. All elements of `x` are read only if an extreme is a zero
    of the sign that may be wrong: the minimum of 16 MB of float32 takes twice as long if it is 0.
    """
    greatest = ufunc in (np.maximum, np.fmax)
    if (
        extremes.size == 0
        or not _lines_with_zero_of_sign(extremes, range(extremes.ndim), negative=greatest).any()
    ):
        return
    # A cheap test of the whole array: without any zero of the right sign, nothing is to correct.
    if (
        x.size > SMALL
        and not _lines_with_zero_of_sign(x, range(x.ndim), negative=not greatest).any()
    ):
        return
    has_right_zero = _lines_with_zero_of_sign(x, axes, negative=not greatest)
    extremes[has_right_zero & (extremes == 0)] = 0.0 if greatest else -0.0


def _lines_with_zero_of_sign(x: Array, axes: Sequence[int], *, negative: bool) -> Array:
    """Return whether lines along `axes` contain -0 (`negative`) or +0."""
    # As signed integers the bits of -0 are the minimum, as unsigned integers those of +0.
    bits = x.view(f"{'i' if negative else 'u'}{x.itemsize}")
    return np.asarray(Fold(np.minimum)(bits, axes) == np.iinfo(bits.dtype).min)


def accumulator_dtype(dtype: DType) -> DType:
    """Return the dtype of totals: float64 for real floats, complex128 for complex dtypes."""
    if is_in_category(dtype, "real floating"):
        return float64
    return complex128 if is_in_category(dtype, "complex floating") else dtype
