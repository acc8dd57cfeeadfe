"""Reductions on the CPU: sums, means, variances, extremes, counts and quantiles."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorlayout import dtypes
from tensorlayout.cpu.engine.casting import (
    is_half_float,
    normalize_bools,
    round_before_bfloat16,
    widen_to_float32,
)
from tensorlayout.cpu.engine.memory import Array, call_quietly, quiet, unbuffered
from tensorlayout.cpu.reduce.fold import (
    ALL_WAYS,
    BLOCK,
    SHARED_BYTES,
    SMALL,
    WIDE_RUN,
    Fold,
    Key,
    Work,
    accumulator_dtype,
    block_boxes,
    fix_zero_signs,
    make_extreme_fold,
    make_storage_walk,
    map_in_threads,
    result_key,
)
from tensorlayout.dtypes import DType
from tensorlayout.layout import Layout
from tensorlayout.plan import CONTINUOUS, DISCRETE, ReducePlan, Write
from tensorlayout.tensor import Tensor

# Reductions of few elements for which one NumPy call is correct and fastest.
_UFUNCS = {
    "all": np.logical_and,
    "any": np.logical_or,
    "max": np.maximum,
    "min": np.minimum,
    "nanmax": np.fmax,
    "nanmin": np.fmin,
    "prod": np.multiply,
    "sum": np.add,
}


def compile_reduce(plan: ReducePlan) -> Write:
    """Compile a reduction ``write(out, x)``, without NumPy warnings."""
    function, dtype = plan.operation.function_name, plan.source.dtype
    if function in _REDUCTION_COMPILERS:
        return _REDUCTION_COMPILERS[function](plan)
    if function == "sum" and dtype == dtypes.bool:
        function = "count_nonzero"
    if function in _UFUNCS and math.prod(plan.source.layout.shape) <= SMALL:
        work = plan.result.dtype
        if function in ("prod", "sum"):
            return _compile_small_reduction(plan, _UFUNCS[function], accumulator_dtype(work))
        if not is_half_float(dtype) and (ALL_WAYS or function in ("all", "any")):
            return _compile_small_reduction(
                plan, _UFUNCS[function], work, orders_zeros=work.kind == "f"
            )
    return _compile_storage_walk(plan, _REDUCTIONS[function](plan))


def _compile_small_reduction(
    plan: ReducePlan, ufunc: Any, work: DType, *, orders_zeros: bool = False
) -> Write:
    """Compile a reduction of few elements by one NumPy call in the dtype `work`.

    At this size Python calls cost more than the reduction. With `orders_zeros`, -0 is less than +0.
    """
    reduce, copy = ufunc.reduce, quiet.copy
    dims, keepdims, dtype = plan.dims, plan.keepdims, plan.result.dtype
    if work == dtype:
        has_zero = _has_zero if plan.result.layout.ndim else operator.not_  # faster for one element

        def reduce_into_out(out: Tensor, x: Tensor) -> None:
            result = out.memory
            copy().run(reduce, x.memory, dims, dtype, result, keepdims)
            if orders_zeros and has_zero(result):
                wide = result if keepdims else np.expand_dims(result, dims)
                fix_zero_signs(ufunc, wide, x.memory, dims)

        return reduce_into_out
    bfloat16 = dtype.kind == "V"

    def reduce_and_round(out: Tensor, x: Tensor) -> None:
        context = copy()
        result = context.run(reduce, x.memory, dims, work, None, keepdims)
        if bfloat16:
            result = context.run(round_before_bfloat16, np.asarray(result), dtype)
        context.run(out.memory.__setitem__, ..., result)

    return reduce_and_round


def _has_zero(x: Array) -> bool:
    return bool(np.count_nonzero(x) < x.size)


def _compile_storage_walk(plan: ReducePlan, work: Work) -> Write:
    """Compile `work` on the array in storage order, then one rounding to the planned dtype."""
    view, axes, result_sizes = make_storage_walk(plan.source.layout, plan.dims)
    copy, dtype = quiet.copy, plan.result.dtype
    order, bfloat16 = plan.result.layout.minor_to_major[::-1], dtypes.is_bfloat16(dtype)
    straight = isinstance(work, Fold) and work.has_one_dtype(plan.source.dtype, dtype)

    def reduce_in_storage_order(out: Array, x: Array) -> None:
        destination = out.transpose(order).reshape(result_sizes)
        result: Any = work(view(x), axes, destination) if straight else work(view(x), axes)
        if bfloat16:
            result = round_before_bfloat16(result, dtype)
        if result is not destination:
            destination[...] = result

    return lambda out, x: copy().run(reduce_in_storage_order, out.memory, x.memory)


# --- sums --------------------------------------------------------------------------------------

# Number of float32 added one after the other; their sums are added in float64. For 2048 rows of
# 2048, runs of 16 take 17 % more time than NumPy's naive sum, runs of 32 6 %, runs of 64 nothing;
# the relative error is below 4.5, 8.5 and 16.5 * 2**-24. NumPy's pairwise sums along the fastest
# axis have 4.5 * 2**-24.
_RUN = 32


def _sum_function(source: DType, result: DType) -> Work:
    """Return a sum that adds runs in a narrow dtype, and everything in a wide one on overflow."""
    wide = accumulator_dtype(result)
    careful = Fold(np.add, wide, wide, WIDE_RUN if wide.kind in "fc" else None)
    if wide.kind not in "fc" or not (_short_run_sum_dtype(source) and _short_run_sum_dtype(result)):
        return careful
    fast = Fold(
        np.add,
        _short_run_sum_dtype(source),
        wide,
        _RUN,
        convert_block=widen_to_float32 if is_half_float(source) else None,
    )

    def sum_carefully_if_not_finite(x: Array, axes: Sequence[int]) -> Array:
        if x.size > SMALL:
            sums = fast(x, axes)
            if np.isfinite(sums).all():
                return sums
        return careful(x, axes)

    return sum_carefully_if_not_finite


def _short_run_sum_dtype(dtype: DType) -> DType | None:
    """Return the dtype in which short runs are added; None for wide floats."""
    if dtype.kind == "c":
        return dtype if dtype.itemsize == 8 else None
    return dtypes.float32 if dtype.itemsize <= 4 else None


def _reduced_count(plan: ReducePlan) -> np.float64:
    """Return the number of elements per result, as a NumPy number, so that 0 / 0 is NaN."""
    return np.float64(math.prod(plan.source.layout.shape[d] for d in plan.dims))


def _mean_function(plan: ReducePlan) -> Work:
    """Return a function for the mean: the sum over the count; NaN for no elements."""
    total, count = _sum_function(plan.source.dtype, plan.result.dtype), _reduced_count(plan)

    def compute_mean(x: Array, axes: Sequence[int]) -> Array:
        sums = total(x, axes)
        if sums.dtype.kind == "c":  # separately: a NaN in one part must not reach the other
            sums.real /= count
            sums.imag /= count
            return sums
        return sums / count

    return compute_mean


# --- variance ----------------------------------------------------------------------------------

# Threads keep the partial sums of all blocks only if these have at most 1/16 of the elements.
_SPARE = 16

# Up to this many elements per variance, the mean is computed in float64. There are so many
# variances then that some belong to numbers close enough to each other to need it.
_FEW = 64


def _variance_function(plan: ReducePlan, takes_root: bool = False) -> Work:
    """Return a function for the variance or, with `takes_root`, the standard deviation.

    float32 and narrower dtypes are computed in float32. If squares overflow or underflow, or the
    mean is far greater than the distances from it, everything is recomputed in float64.
    """
    (correction,) = plan.static
    count = _reduced_count(plan)
    divisor = count - correction
    narrow = _short_run_sum_dtype(plan.source.dtype)

    def sum_squared_distances(x: Array, axes: Sequence[int]) -> Array:
        if x.size <= SMALL:
            middle = np.add.reduce(x, tuple(axes), np.float64, keepdims=True) / count
            distance = np.asarray(np.subtract(x, middle, dtype=np.float64))
            np.square(distance, distance)
            return np.asarray(np.add.reduce(distance, tuple(axes), keepdims=True))
        result = None if narrow is None else _sum_squared_distances(x, axes, narrow, count)
        if result is None:
            result = _sum_squared_distances(x, axes, dtypes.float64, count)
        assert result is not None, "float64 is never too narrow"
        return result

    def compute_variance_or_deviation(x: Array, axes: Sequence[int]) -> Array:
        variance = sum_squared_distances(x, axes) / (divisor if divisor > 0 else np.nan)
        return np.asarray(np.sqrt(variance) if takes_root else variance)

    return compute_variance_or_deviation


def _sum_squared_distances(
    x: Array, axes: Sequence[int], work: DType, count: np.float64
) -> Array | None:
    """Return the sums of squared distances from the mean; None if `work` is too narrow."""
    precise = bool(work == dtypes.float64 or count <= _FEW)
    middle = _sum_function(x.dtype, dtypes.float64 if precise else work)(x, axes) / count
    near: Array = middle.astype(work)
    sums: Array = np.zeros_like(middle)
    fold = Fold(np.add, work, dtypes.float64, _RUN)
    widen = is_half_float(x.dtype) and work == dtypes.float32

    def sum_squared_distances_of_block(key: Key) -> Array:
        block = widen_to_float32(x[key]) if widen else x[key]
        distance = np.asarray(np.subtract(block, near[result_key(key, axes)], dtype=work))
        np.square(distance, distance)
        return fold(distance, axes)

    keys = block_boxes(x.shape)
    alone = x.nbytes < SHARED_BYTES or sums.size * len(keys) > x.size // _SPARE
    # Threads keep the sums of all blocks: they are added in order, for reproducible bits.
    parts = (
        map(sum_squared_distances_of_block, keys)
        if alone
        else map_in_threads(sum_squared_distances_of_block, keys)
    )
    for key, part in zip(keys, parts, strict=True):
        sums[result_key(key, axes)] += part
    sums = np.asarray(np.maximum(sums - count * np.square(middle - near), 0))
    if work == dtypes.float64 or _are_float32_squares_enough(sums / count, near, x, axes, precise):
        return sums
    return None


def _are_float32_squares_enough(
    variance: Array, mean: Array, x: Array, axes: Sequence[int], precise: bool
) -> bool:
    """Return whether float32 squares were in range and the mean was accurate enough.

    A mean that is not `precise` has a relative error of up to 8.5 * 2**-24; the error of the
    variance is the square of the mean's error. If the mean is above 1e-10, no squared distance
    underflows.
    """
    good = (variance < 1e37) & ((variance > 1e-25) | (np.abs(mean) > 1e-10))
    if not precise:
        good &= variance >= np.square(mean * 2.0**-10, dtype=np.float64)
    good |= np.isnan(variance)
    if good.all():
        return True
    zeros = (variance == 0) & (mean == 0)
    return bool(
        (good | zeros).all()
        and not (zeros & _any_or_all_fold(x.dtype, np.logical_or)(x, axes)).any()
    )


# --- logical reductions and counts -------------------------------------------------------------


def _any_or_all_fold(dtype: DType, ufunc: Any) -> Work:
    read = _magnitude_bits if is_half_float(dtype) else None
    return Fold(ufunc, dtypes.bool, dtypes.bool, convert_block=read)


def _magnitude_bits(x: Array) -> Array:
    """Return the bits of 16-bit floats without the sign, which are 0 exactly for zeros."""
    return np.left_shift(x.view(np.uint16), np.uint16(1))


class _CountAllAxes(Fold):
    """Count of ones along all axes; for 16 MB of float32 0.6 ms, by sums of bytes 1.8."""

    def _fold_array(self, x: Array, axes: Sequence[int], out: Array | None = None) -> Array:
        return np.full((1,) * x.ndim, np.count_nonzero(x.view(np.bool_)))


def _count_nonzero_function(plan: ReducePlan) -> Work:
    """Return a count of non-zero elements; NaN counts as non-zero."""
    dtype, whole = plan.source.dtype, len(plan.dims) == plan.source.layout.ndim
    if whole and dtype.kind in "biu":
        integer_dtype = np.dtype(np.uint8) if dtype == dtypes.bool else dtype
        return lambda x, axes: np.asarray(np.count_nonzero(x.view(integer_dtype)))

    def nonzero_as_ones(block: Array) -> Array:
        if dtype == dtypes.bool:
            return normalize_bools(block).view(np.uint8)
        bits = _magnitude_bits(block) if is_half_float(dtype) else block
        is_nonzero: Array = unbuffered.copy().run(np.not_equal, bits, 0)
        return is_nonzero.view(np.uint8)

    if whole:
        return _CountAllAxes(np.add, convert_block=nonzero_as_ones)
    # Runs of 255 ones cannot overflow a byte.
    return Fold(np.add, dtypes.uint8, dtypes.int64, 255, 255, convert_block=nonzero_as_ones)


# --- quantiles: lines are partitioned once, then read at fractional positions -------------------

# numpy.nanquantile loops over lines in Python and warns even if NumPy's error state ignores errors.
# For 1000 lines of 1000 float64 with NaN it takes 45 ms, this code 13; for 100 000 lines of 10,
# 2.8 s and 24 ms.

_STEPS: dict[str, Callable[[Any], Any]] = {
    "higher": np.ceil,
    "linear": lambda place: place,
    "lower": np.floor,
    "midpoint": lambda place: (np.floor(place) + np.ceil(place)) / 2,
    "nearest": np.rint,
}

_FEW_PLACES = 8  # with more positions, lines are sorted instead of partitioned


def _compile_quantiles(plan: ReducePlan) -> Write:
    """Compile quantiles along the planned dimensions.

    The first dimension of the result has one entry per probability; the source's first dimension
    repeats one slice. If `skip`, NaN are ignored; otherwise a line with a NaN gives NaN.
    """
    probabilities, method, skip = plan.static
    dims = tuple(d - 1 for d in plan.dims)

    def write_quantiles(out: Array, x: Array) -> None:
        lines = _lines_as_rows(x[0], dims)
        length = lines.shape[-1]
        if length == 0 or out.size == 0:
            out.fill(np.nan if out.size else 0)
            return
        valid = np.count_nonzero(lines == lines, axis=-1) if lines.dtype.kind == "f" else length
        valid_counts: Array = np.broadcast_to(valid, lines.shape[:-1])[..., None]
        last = np.maximum(valid_counts - 1, 0)
        positions = np.clip(
            _quantile_positions(np.array(probabilities), valid_counts, method), 0, last
        )
        low = np.floor(positions).astype(np.intp)
        ordered = _partition_lines_at_low_and_next(lines, low, last)
        if method in DISCRETE:  # elements as they are: float64 does not hold every int64
            values = np.take_along_axis(ordered, low, -1)
        else:
            values = _interpolate_lines(ordered, low, last, positions - low)
        if lines.dtype.kind == "f":
            nothing = (valid_counts == 0) if skip else (valid_counts < length)
            values[np.broadcast_to(nothing, values.shape)] = np.nan
        out[...] = round_before_bfloat16(np.moveaxis(values, -1, 0).reshape(out.shape), out.dtype)

    if not probabilities:
        return lambda out, x: None
    return lambda out, x: call_quietly(write_quantiles, out.memory, x.memory)


def _lines_as_rows(x: Array, dims: tuple[int, ...]) -> Array:
    """Return the elements along `dims` as rows of a matrix: NumPy sorts at most 32 dimensions."""
    kept_dims = tuple(d for d in range(x.ndim) if d not in dims)
    # As float32, because NumPy sorts bfloat16 in another order.
    wide = x.astype(np.float32) if x.dtype.kind == "V" else x
    count = math.prod(x.shape[d] for d in dims)
    rows = math.prod(x.shape[d] for d in kept_dims)
    return wide.transpose(*kept_dims, *dims).reshape(rows, count)


def _partition_lines_at_low_and_next(lines: Array, low: Array, last: Array) -> Array:
    """Return the lines partitioned so that `low` and ``low + 1`` hold sorted elements.

    The median of 4 M float32 takes 48 ms, and 150 by sorting.
    """
    places = np.unique(np.concatenate([low, np.minimum(low + 1, last)], axis=None))
    if places.size > _FEW_PLACES:
        return np.sort(lines)
    return np.partition(lines, places, axis=-1) if places.size else lines


def _quantile_positions(p: Array, count: Array, method: str) -> Any:
    """Return the (fractional) positions of quantiles in sorted lines of `count` elements."""
    if method in CONTINUOUS:
        alpha, beta = CONTINUOUS[method]
        return count * p + (alpha + p * (1 - alpha - beta)) - 1
    return _STEPS[method](p * (count - 1))


def _interpolate_lines(lines: Array, low: Array, last: Array, t: Array) -> Any:
    """Interpolate in float64 between the values at positions `low` and ``low + 1``.

    They are exact at whole positions and halfway between two elements.
    """
    a = np.take_along_axis(lines, low, -1).astype(np.float64)
    b = np.take_along_axis(lines, np.minimum(low + 1, last), -1).astype(np.float64)
    near = np.where(t < 0.5, a + (b - a) * t, b - (b - a) * (1 - t))
    halfway = np.where(t == 0.5, a / 2 + b / 2, near)  # cannot overflow, unlike (a + b) / 2
    return np.where((t == 0) | (a == b), a, halfway)


# --- positions of extremes ---------------------------------------------------------------------

# Number of rows that a byte can number, 0 meaning none.
_ROWS = 255

# Number of neighbouring lines that are processed together.
_COLUMNS = 16384

# With fewer neighbouring lines than this, NumPy, which copies each line, is as fast.
_WIDE = 64


def _compile_extreme_positions(plan: ReducePlan, function: Any, ufunc: Any) -> Write:
    """Compile ``write(out, x)``: the position of the first extreme or, if any, the first NaN."""
    layout = plan.source.layout
    dims = plan.dims
    keepdims = plan.keepdims
    result = plan.result.layout
    if len(dims) != 1:
        return _compile_flat_extreme_position(plan, function, ufunc)
    simple = layout.size <= SMALL or (layout.is_row_major and dims == (layout.ndim - 1,))
    if simple and not is_half_float(plan.source.dtype):
        name, copy, (dim,) = function.__name__, quiet.copy, dims
        return lambda out, x: copy().run(
            getattr(x.memory, name), dim, out.memory, keepdims=keepdims
        )
    walk, order = make_storage_walk(layout, dims), result.minor_to_major[::-1]
    (axis,) = walk.reduced_axes or (None,)

    def find_positions(memory: Array) -> Array:
        x = walk.to_storage_order(memory)
        if axis is None:  # lines of one element
            return np.zeros(x.shape, np.int64)
        return _extreme_positions(x, axis, function, ufunc)

    def write_extreme_positions(out: Tensor, x: Tensor) -> None:
        positions, destination = call_quietly(find_positions, x.memory), out.memory.transpose(order)
        destination[...] = positions.reshape(destination.shape)

    return write_extreme_positions


def _extreme_positions(x: Array, axis: int, function: Any, ufunc: Any) -> Array:
    """Return the positions of the extremes along `axis`.

    With many neighbouring lines, rows are numbered by marks: 2048 x 2048 float32 takes 1.4 ms, and
    23 with NumPy. Other arrays go to NumPy, which makes each line contiguous, in blocks that the
    cache holds.
    """
    lines = np.moveaxis(x, axis, -1)
    positions = np.empty((*lines.shape[:-1], 1), np.int64)
    if x.size // max(1, math.prod(x.shape[: axis + 1])) >= _WIDE:
        for key in block_boxes(lines.shape[:-1], _COLUMNS):
            part = np.moveaxis(lines[key], -1, axis)
            positions[key] = np.moveaxis(_extreme_positions_by_marks(part, axis, ufunc), axis, -1)
    else:
        for key in block_boxes(lines.shape, uncut_axes=1):
            positions[key] = function(_widen_if_half(lines[key]), axis=-1, keepdims=True)
    return np.moveaxis(positions, -1, axis)


def _widen_if_half(x: Array) -> Array:
    return widen_to_float32(x) if is_half_float(x.dtype) else x


def _extreme_positions_by_marks(x: Array, axis: int, ufunc: Any) -> Array:
    extremes = make_extreme_fold(x.dtype, ufunc)(x, (axis,))
    positions = np.full(extremes.shape, -1, np.int64)
    n = x.shape[axis]
    rows = max(1, min(_ROWS, 4 * BLOCK * n // x.size))
    missing = np.isnan(extremes) if extremes.dtype.kind == "f" else np.False_
    for start in range(0, n, rows):
        block = _widen_if_half(x[(slice(None),) * axis + (slice(start, start + rows),)])
        hits = block == extremes
        if missing.any():
            hits |= np.isnan(block)
        # The earlier the row, the greater its mark; 0 where there is no hit.
        count = block.shape[axis]
        marks = np.arange(count, 0, -1, dtype=np.uint8)
        marks = marks.reshape((count,) + (1,) * (x.ndim - axis - 1))
        best = np.maximum.reduce(np.multiply(hits.view(np.uint8), marks), axis, keepdims=True)
        is_first_hit = (best > 0) & (positions < 0)
        np.copyto(positions, start + count - best.astype(np.int64), where=is_first_hit)
    return positions


def _compile_flat_extreme_position(plan: ReducePlan, function: Any, ufunc: Any) -> Write:
    """Compile the row-major position of the first extreme, one dimension of its index at a time."""
    layout, dtype = plan.source.layout, plan.source.dtype
    if layout.is_row_major and not is_half_float(dtype):
        name, copy = function.__name__, quiet.copy
        return lambda out, x: out.memory.fill(copy().run(getattr(x.memory, name)))
    steps = [_make_extreme_of_each_slice(layout, d, dtype, ufunc) for d in range(layout.ndim)]
    strides = Layout.row_major(layout.shape).strides

    def find_flat_position(memory: Array) -> int:
        place = 0
        for line, stride in zip(steps, strides, strict=True):
            index = int(function(line(memory)))
            place += index * stride
            memory = memory[index, ...]
        return place

    return lambda out, x: out.memory.fill(call_quietly(find_flat_position, x.memory))


def _make_extreme_of_each_slice(
    layout: Layout, dim: int, dtype: DType, ufunc: Any
) -> Callable[[Array], Array]:
    """Return a function for the extreme of each slice along `dim`, after earlier dims are fixed."""
    rest = layout.slice((0,) * dim)
    assert rest is not None, "strided layouts have every slice"
    walk = make_storage_walk(rest, range(1, rest.ndim))
    find = make_extreme_fold(dtype, ufunc)

    def extreme_of_each_slice(memory: Array) -> Array:
        if memory.shape[0] == 1:
            return np.zeros(1)
        return find(walk.to_storage_order(memory), walk.reduced_axes).reshape(-1)

    return extreme_of_each_slice


# --- the tables --------------------------------------------------------------------------------

_REDUCTIONS: dict[str, Callable[[ReducePlan], Work]] = {
    "all": lambda plan: _any_or_all_fold(plan.source.dtype, np.logical_and),
    "any": lambda plan: _any_or_all_fold(plan.source.dtype, np.logical_or),
    "count_nonzero": _count_nonzero_function,
    "max": lambda plan: make_extreme_fold(plan.source.dtype, np.maximum, orders_zeros=True),
    "mean": _mean_function,
    "min": lambda plan: make_extreme_fold(plan.source.dtype, np.minimum, orders_zeros=True),
    "nanmax": lambda plan: make_extreme_fold(plan.source.dtype, np.fmax, orders_zeros=True),
    "nanmin": lambda plan: make_extreme_fold(plan.source.dtype, np.fmin, orders_zeros=True),
    # Floats are multiplied in float64: products of a few float32 may overflow on the way.
    "prod": lambda plan: Fold(np.multiply, wide := accumulator_dtype(plan.result.dtype), wide),
    "std": lambda plan: _variance_function(plan, takes_root=True),
    "sum": lambda plan: _sum_function(plan.source.dtype, plan.result.dtype),
    "var": _variance_function,
}

# Reductions that do not use a storage walk.
_REDUCTION_COMPILERS: dict[str, Callable[[ReducePlan], Write]] = {
    "argmax": lambda plan: _compile_extreme_positions(plan, np.argmax, np.maximum),
    "argmin": lambda plan: _compile_extreme_positions(plan, np.argmin, np.minimum),
    "quantile": _compile_quantiles,
}
