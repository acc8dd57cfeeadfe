"""Reductions on the CPU: for each operation, the function of an array that carries out a plan."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorlayout import dtypes
from tensorlayout.cpu.engine.casting import is_half, rounded, truths, widened
from tensorlayout.cpu.engine.memory import Array, quiet, quietly, unbuffered
from tensorlayout.cpu.reduce.fold import (
    ALL_WAYS,
    BLOCK,
    SHARED_BYTES,
    SMALL,
    WIDE_RUN,
    Fold,
    Key,
    Work,
    accumulator,
    blocks,
    extreme,
    kept_part,
    order_zeros,
    shared,
    walk_of,
)
from tensorlayout.dtypes import DType
from tensorlayout.layout import Layout
from tensorlayout.plan import CONTINUOUS, DISCRETE, ReducePlan, Write
from tensorlayout.tensor import Tensor

# What NumPy alone does, right and as fast as can be, for few elements.
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


def write_reduce(plan: ReducePlan) -> Write:
    """What reduces a tensor into another, without warnings."""
    function, dtype = plan.operation.function, plan.source.dtype
    if function in _WRITES:
        return _WRITES[function](plan)
    if function == "sum" and dtype == dtypes.bool:
        function = "count_nonzero"
    if function in _UFUNCS and math.prod(plan.source.layout.shape) <= SMALL:
        work = plan.result.dtype
        if function in ("prod", "sum"):
            return _at_once(plan, _UFUNCS[function], accumulator(work))
        if not is_half(dtype) and (ALL_WAYS or function in ("all", "any")):
            return _at_once(plan, _UFUNCS[function], work, ordered=work.kind == "f")
    return _walked(plan, _WORKS[function](plan))


def _at_once(plan: ReducePlan, ufunc: Any, work: DType, *, ordered: bool = False) -> Write:
    """Few elements by NumPy's own reduction in the dtype `work`: frames take longer than that.

    `ordered`: among zeros -0 is less than +0.
    """
    reduce, copy = ufunc.reduce, quiet.copy
    dims, kept, dtype = plan.dims, plan.keepdims, plan.result.dtype
    if work == dtype:
        has_zero = _has_zero if plan.result.layout.ndim else operator.not_  # the short way for one

        def write(out: Tensor, x: Tensor) -> None:
            found = out.memory
            copy().run(reduce, x.memory, dims, dtype, found, kept)
            if ordered and has_zero(found):
                wide = found if kept else np.expand_dims(found, dims)
                order_zeros(ufunc, wide, x.memory, dims)

        return write
    bfloat16 = dtype.kind == "V"

    def write_rounded(out: Tensor, x: Tensor) -> None:
        context = copy()
        found = context.run(reduce, x.memory, dims, work, None, kept)
        if bfloat16:
            found = context.run(rounded, np.asarray(found), dtype)
        context.run(out.memory.__setitem__, ..., found)

    return write_rounded


def _has_zero(x: Array) -> bool:
    return bool(np.count_nonzero(x) < x.size)


def _walked(plan: ReducePlan, work: Work) -> Write:
    """`work` in storage order, then one rounding to the planned dtype."""
    view, axes, kept = walk_of(plan.source.layout, plan.dims)
    copy, dtype = quiet.copy, plan.result.dtype
    order, bfloat16 = plan.result.layout.minor_to_major[::-1], dtypes.is_bfloat16(dtype)
    straight = isinstance(work, Fold) and work.keeps(plan.source.dtype, dtype)

    def reduce(out: Array, x: Array) -> None:
        to = out.transpose(order).reshape(kept)
        found: Any = work(view(x), axes, to) if straight else work(view(x), axes)
        if bfloat16:
            found = rounded(found, dtype)
        if found is not to:
            to[...] = found

    return lambda out, x: copy().run(reduce, out.memory, x.memory)


# --- sums --------------------------------------------------------------------------------------

# How many float32 are added one after the other before float64 takes over. 2048 rows of 2048 in
# runs of 16 take 17 % more time than NumPy's naive sum, of 32 6 %, of 64 nothing; the relative
# error that they leave is below 4.5, 8.5 and 16.5 * 2**-24. NumPy's pairwise sums, along the
# fastest axis, leave 4.5.
_RUN = 32


def _sums(source: DType, result: DType) -> Work:
    """Sums in the accumulator of `result`; what overflows on the way is added up in float64."""
    wide = accumulator(result)
    careful = Fold(np.add, wide, wide, WIDE_RUN if wide.kind in "fc" else None)
    if wide.kind not in "fc" or not (_narrow(source) and _narrow(result)):
        return careful
    fast = Fold(np.add, _narrow(source), wide, _RUN, read=widened if is_half(source) else None)

    def total(x: Array, axes: Sequence[int]) -> Array:
        if x.size > SMALL:
            found = fast(x, axes)
            if np.isfinite(found).all():
                return found
        return careful(x, axes)

    return total


def _narrow(dtype: DType) -> DType | None:
    """The dtype in which short runs are added up; None for wide floats."""
    if dtype.kind == "c":
        return dtype if dtype.itemsize == 8 else None
    return dtypes.float32 if dtype.itemsize <= 4 else None


def _count(plan: ReducePlan) -> np.float64:
    """Return how many elements become one; a NumPy number, so that 0 / 0 is NaN."""
    return np.float64(math.prod(plan.source.layout.shape[d] for d in plan.dims))


def _mean(plan: ReducePlan) -> Work:
    """The sum divided by the count; NaN of nothing."""
    total, count = _sums(plan.source.dtype, plan.result.dtype), _count(plan)

    def work(x: Array, axes: Sequence[int]) -> Array:
        found = total(x, axes)
        if found.dtype.kind == "c":  # by parts: a NaN in one must not reach the other
            found.real /= count
            found.imag /= count
            return found
        return found / count

    return work


# --- variance ----------------------------------------------------------------------------------

# Elements for each sum of a block, at least, where these are kept until all are there.
_SPARE = 16

# Up to this many elements, the mean is worked out in float64: where there are as many variances as
# that, some are of numbers so close to each other that they need it.
_FEW = 64


def _variance(plan: ReducePlan, root: bool = False) -> Work:
    """The mean squared distance from the mean, its divisor reduced by `correction`.

    Float32 and narrower in float32; where squares overflow or vanish, or a mean is far greater
    than the distances from it, all of it again in float64.
    """
    (correction,) = plan.static
    count = _count(plan)
    divisor = count - correction
    narrow = _narrow(plan.source.dtype)

    def squares(x: Array, axes: Sequence[int]) -> Array:
        if x.size <= SMALL:
            middle = np.add.reduce(x, tuple(axes), np.float64, keepdims=True) / count
            distance = np.asarray(np.subtract(x, middle, dtype=np.float64))
            np.square(distance, distance)
            return np.asarray(np.add.reduce(distance, tuple(axes), keepdims=True))
        found = None if narrow is None else _squares(x, axes, narrow, count)
        if found is None:
            found = _squares(x, axes, dtypes.float64, count)
        assert found is not None, "float64 is never too narrow"
        return found

    def work(x: Array, axes: Sequence[int]) -> Array:
        found = squares(x, axes) / (divisor if divisor > 0 else np.nan)
        return np.asarray(np.sqrt(found) if root else found)

    return work


def _squares(x: Array, axes: Sequence[int], work: DType, count: np.float64) -> Array | None:
    """The sum of squared distances from the mean, in `work`; None where that is too narrow."""
    precise = bool(work == dtypes.float64 or count <= _FEW)
    middle = _sums(x.dtype, dtypes.float64 if precise else work)(x, axes) / count
    near: Array = middle.astype(work)
    found: Array = np.zeros_like(middle)
    fold = Fold(np.add, work, dtypes.float64, _RUN)
    widen = is_half(x.dtype) and work == dtypes.float32

    def squares(key: Key) -> Array:
        block = widened(x[key]) if widen else x[key]
        distance = np.asarray(np.subtract(block, near[kept_part(key, axes)], dtype=work))
        np.square(distance, distance)
        return fold(distance, axes)

    keys = blocks(x.shape)
    alone = x.nbytes < SHARED_BYTES or found.size * len(keys) > x.size // _SPARE
    # Threads keep the sums of all blocks, for they are added in order.
    parts = map(squares, keys) if alone else shared(squares, keys)
    for key, part in zip(keys, parts, strict=True):
        found[kept_part(key, axes)] += part
    found = np.asarray(np.maximum(found - count * np.square(middle - near), 0))
    if work == dtypes.float64 or _trusted(found / count, near, x, axes, precise):
        return found
    return None


def _trusted(variance: Array, mean: Array, x: Array, axes: Sequence[int], precise: bool) -> bool:
    """Return whether float32 was enough: squares are in its range, and the mean is near enough.

    A mean that is not `precise` is off by up to 8.5 * 2**-24 of itself, and the variance by the
    square of that. Next to a mean above 1e-10 no distance has a square that vanishes.
    """
    good = (variance < 1e37) & ((variance > 1e-25) | (np.abs(mean) > 1e-10))
    if not precise:
        good &= variance >= np.square(mean * 2.0**-10, dtype=np.float64)
    good |= np.isnan(variance)
    if good.all():
        return True
    zeros = (variance == 0) & (mean == 0)
    return bool(
        (good | zeros).all() and not (zeros & _logical(x.dtype, np.logical_or)(x, axes)).any()
    )


# --- truths and counts -------------------------------------------------------------------------


def _logical(dtype: DType, ufunc: Any) -> Work:
    read = _magnitudes if is_half(dtype) else None
    return Fold(ufunc, dtypes.bool, dtypes.bool, read=read)


def _magnitudes(x: Array) -> Array:
    """Integers that are 0 where a 16-bit float is: its bits without the sign."""
    return np.left_shift(x.view(np.uint16), np.uint16(1))


class _CountOfAll(Fold):
    """The count of ones along all axes. 16 MB of float32: 0.6 ms, sums of bytes 1.8."""

    def _at_once(self, x: Array, axes: Sequence[int], out: Array | None = None) -> Array:
        return np.full((1,) * x.ndim, np.count_nonzero(x.view(np.bool_)))


def _count_nonzero(plan: ReducePlan) -> Work:
    """Return how many elements are not zero (NaN is not)."""
    dtype, whole = plan.source.dtype, len(plan.dims) == plan.source.layout.ndim
    if whole and dtype.kind in "biu":
        seen = np.dtype(np.uint8) if dtype == dtypes.bool else dtype
        return lambda x, axes: np.asarray(np.count_nonzero(x.view(seen)))

    def ones(block: Array) -> Array:
        if dtype == dtypes.bool:
            return truths(block).view(np.uint8)
        bits = _magnitudes(block) if is_half(dtype) else block
        found: Array = unbuffered.copy().run(np.not_equal, bits, 0)
        return found.view(np.uint8)

    if whole:
        return _CountOfAll(np.add, read=ones)
    return Fold(np.add, dtypes.uint8, dtypes.int64, 255, 255, read=ones)  # a byte holds up to 255


# --- quantiles: lines put in order once, then read at fractional positions ----------------------

# Not `numpy.nanquantile`, which walks lines in Python and warns whatever the error state. It takes
# 45 ms for 1000 lines of 1000 float64 with NaN, 13 are taken here; 2.8 s for 100 000 lines of 10,
# and 24 ms here.

_STEPS: dict[str, Callable[[Any], Any]] = {
    "higher": np.ceil,
    "linear": lambda place: place,
    "lower": np.floor,
    "midpoint": lambda place: (np.floor(place) + np.ceil(place)) / 2,
    "nearest": np.rint,
}

_FEW_PLACES = 8  # places up to which they are looked for one by one


def _write_quantiles(plan: ReducePlan) -> Write:
    """The quantiles along the planned dimensions, at the probabilities and by the method asked for.

    The first dimension of the result goes through the probabilities; that of the source repeats
    the same slice. NaN is left out if `skip`; else a line with one gives it.
    """
    probabilities, method, skip = plan.static
    dims = tuple(d - 1 for d in plan.dims)

    def put(out: Array, x: Array) -> None:
        lines = _in_lines(x[0], dims)
        length = lines.shape[-1]
        if length == 0 or out.size == 0:
            out.fill(np.nan if out.size else 0)
            return
        valid = np.count_nonzero(lines == lines, axis=-1) if lines.dtype.kind == "f" else length
        known: Array = np.broadcast_to(valid, lines.shape[:-1])[..., None]
        last = np.maximum(known - 1, 0)
        at = np.clip(_places(np.array(probabilities), known, method), 0, last)
        low = np.floor(at).astype(np.intp)
        ordered = _ordered_at(lines, low, last)
        if method in DISCRETE:  # which float64 may not hold
            values = np.take_along_axis(ordered, low, -1)
        else:
            values = _between(ordered, low, last, at - low)
        if lines.dtype.kind == "f":
            nothing = (known == 0) if skip else (known < length)
            values[np.broadcast_to(nothing, values.shape)] = np.nan
        out[...] = rounded(np.moveaxis(values, -1, 0).reshape(out.shape), out.dtype)

    if not probabilities:
        return lambda out, x: None
    return lambda out, x: quietly(put, out.memory, x.memory)


def _in_lines(x: Array, dims: tuple[int, ...]) -> Array:
    """All elements along `dims` as rows of a matrix: NumPy sorts no more than 32 dimensions."""
    kept = tuple(d for d in range(x.ndim) if d not in dims)
    wide = x.astype(np.float32) if x.dtype.kind == "V" else x  # NumPy sorts bfloat16 otherwise
    count = math.prod(x.shape[d] for d in dims)
    rows = math.prod(x.shape[d] for d in kept)
    return wide.transpose(*kept, *dims).reshape(rows, count)


def _ordered_at(lines: Array, low: Array, last: Array) -> Array:
    """The lines, in order at `low` and behind it: the median of 4 M float32 48 ms, sorted 150."""
    places = np.unique(np.concatenate([low, np.minimum(low + 1, last)], axis=None))
    if places.size > _FEW_PLACES:
        return np.sort(lines)
    return np.partition(lines, places, axis=-1) if places.size else lines


def _places(p: Array, count: Array, method: str) -> Any:
    """Where the quantiles are in lines of `count` elements; a fraction lies between two."""
    if method in CONTINUOUS:
        alpha, beta = CONTINUOUS[method]
        return count * p + (alpha + p * (1 - alpha - beta)) - 1
    return _STEPS[method](p * (count - 1))


def _between(lines: Array, low: Array, last: Array, t: Array) -> Any:
    """The values behind `low` by fractions `t`, in float64: exact at whole places and halfway."""
    a = np.take_along_axis(lines, low, -1).astype(np.float64)
    b = np.take_along_axis(lines, np.minimum(low + 1, last), -1).astype(np.float64)
    near = np.where(t < 0.5, a + (b - a) * t, b - (b - a) * (1 - t))
    halfway = np.where(t == 0.5, a / 2 + b / 2, near)  # no overflow on the way
    return np.where((t == 0) | (a == b), a, halfway)


# --- positions of extremes ---------------------------------------------------------------------

# Rows of which a byte can say which one it is.
_ROWS = 255

# Lines side by side that are looked at together.
_COLUMNS = 16384

# With fewer elements beside each other than this, NumPy's way of copying each line is as fast.
_WIDE = 64


def _write_positions(plan: ReducePlan, function: Any, ufunc: Any) -> Write:
    """Write the position of the first element that `ufunc` prefers, or of the first NaN."""
    layout, dims, kept, result = plan.source.layout, plan.dims, plan.keepdims, plan.result.layout
    if len(dims) != 1:
        return _in_index_order(plan, function, ufunc)
    simple = layout.size <= SMALL or (layout.is_row_major and dims == (layout.ndim - 1,))
    if simple and not is_half(plan.source.dtype):
        name, copy, (dim,) = function.__name__, quiet.copy, dims
        return lambda out, x: copy().run(getattr(x.memory, name), dim, out.memory, keepdims=kept)
    walk, order = walk_of(layout, dims), result.minor_to_major[::-1]
    (axis,) = walk.axes or (None,)

    def find(memory: Array) -> Array:
        x = walk.view(memory)
        if axis is None:  # lines of one element
            return np.zeros(x.shape, np.int64)
        return _positions(x, axis, function, ufunc)

    def write(out: Tensor, x: Tensor) -> None:
        found, to = quietly(find, x.memory), out.memory.transpose(order)
        to[...] = found.reshape(to.shape)

    return write


def _positions(x: Array, axis: int, function: Any, ufunc: Any) -> Array:
    """By marks where many lines are side by side: 2048 x 2048 float32 1.4 ms, NumPy's way 23.

    NumPy makes each line contiguous; in blocks, so that this happens in the cache.
    """
    lines = np.moveaxis(x, axis, -1)
    found = np.empty((*lines.shape[:-1], 1), np.int64)
    if x.size // max(1, math.prod(x.shape[: axis + 1])) >= _WIDE:
        for key in blocks(lines.shape[:-1], _COLUMNS):
            part = np.moveaxis(lines[key], -1, axis)
            found[key] = np.moveaxis(_marked(part, axis, ufunc), axis, -1)
    else:
        for key in blocks(lines.shape, whole=1):
            found[key] = function(_comparable(lines[key]), axis=-1, keepdims=True)
    return np.moveaxis(found, -1, axis)


def _comparable(x: Array) -> Array:
    return widened(x) if is_half(x.dtype) else x


def _marked(x: Array, axis: int, ufunc: Any) -> Array:
    sought = extreme(x.dtype, ufunc)(x, (axis,))
    found = np.full(sought.shape, -1, np.int64)
    n = x.shape[axis]
    rows = max(1, min(_ROWS, 4 * BLOCK * n // x.size))
    missing = np.isnan(sought) if sought.dtype.kind == "f" else np.False_
    for start in range(0, n, rows):
        block = _comparable(x[(slice(None),) * axis + (slice(start, start + rows),)])
        hits = block == sought
        if missing.any():
            hits |= np.isnan(block)
        # The earlier the row, the greater its mark; 0 where there is no hit.
        count = block.shape[axis]
        marks = np.arange(count, 0, -1, dtype=np.uint8)
        marks = marks.reshape((count,) + (1,) * (x.ndim - axis - 1))
        best = np.maximum.reduce(np.multiply(hits.view(np.uint8), marks), axis, keepdims=True)
        new = (best > 0) & (found < 0)
        np.copyto(found, start + count - best.astype(np.int64), where=new)
    return found


def _in_index_order(plan: ReducePlan, function: Any, ufunc: Any) -> Write:
    """The first of all elements in row-major order: one dimension of its index after the other."""
    layout, dtype = plan.source.layout, plan.source.dtype
    if layout.is_row_major and not is_half(dtype):
        name, copy = function.__name__, quiet.copy
        return lambda out, x: out.memory.fill(copy().run(getattr(x.memory, name)))
    steps = [_line(layout, d, dtype, ufunc) for d in range(layout.ndim)]
    strides = Layout.row_major(layout.shape).strides

    def find(memory: Array) -> int:
        place = 0
        for line, stride in zip(steps, strides, strict=True):
            at = int(function(line(memory)))
            place += at * stride
            memory = memory[at, ...]
        return place

    return lambda out, x: out.memory.fill(quietly(find, x.memory))


def _line(layout: Layout, dim: int, dtype: DType, ufunc: Any) -> Callable[[Array], Array]:
    """The extreme of each slice along the first dimension of what is left from `dim` on."""
    rest = layout.slice((0,) * dim)
    assert rest is not None, "strided layouts have every slice"
    walk = walk_of(rest, range(1, rest.ndim))
    find = extreme(dtype, ufunc)

    def line(memory: Array) -> Array:
        if memory.shape[0] == 1:
            return np.zeros(1)
        return find(walk.view(memory), walk.axes).reshape(-1)

    return line


# --- the tables --------------------------------------------------------------------------------

_WORKS: dict[str, Callable[[ReducePlan], Work]] = {
    "all": lambda plan: _logical(plan.source.dtype, np.logical_and),
    "any": lambda plan: _logical(plan.source.dtype, np.logical_or),
    "count_nonzero": _count_nonzero,
    "max": lambda plan: extreme(plan.source.dtype, np.maximum, ordered=True),
    "mean": _mean,
    "min": lambda plan: extreme(plan.source.dtype, np.minimum, ordered=True),
    "nanmax": lambda plan: extreme(plan.source.dtype, np.fmax, ordered=True),
    "nanmin": lambda plan: extreme(plan.source.dtype, np.fmin, ordered=True),
    # Floats all in float64, whose range the product of a few may need.
    "prod": lambda plan: Fold(np.multiply, wide := accumulator(plan.result.dtype), wide),
    "std": lambda plan: _variance(plan, root=True),
    "sum": lambda plan: _sums(plan.source.dtype, plan.result.dtype),
    "var": _variance,
}

# Those that find their way through memory themselves.
_WRITES: dict[str, Callable[[ReducePlan], Write]] = {
    "argmax": lambda plan: _write_positions(plan, np.argmax, np.maximum),
    "argmin": lambda plan: _write_positions(plan, np.argmin, np.minimum),
    "quantile": _write_quantiles,
}
