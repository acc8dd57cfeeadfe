"""Reductions on the CPU: for each operation, the function of an array that carries out a plan."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorlayout import dtypes
from tensorlayout.cpu.engine.casting import rounded, truths
from tensorlayout.cpu.engine.float16 import is_half, magnitudes, widened
from tensorlayout.cpu.engine.memory import Array, quiet, unbuffered
from tensorlayout.cpu.folding import SMALL, WIDE_RUN, Fold, in_blocks
from tensorlayout.cpu.walking import blocks, kept_part, walk_of
from tensorlayout.plan.base import Run
from tensorlayout.plan.reducing import ReducePlan
from tensorlayout.tensor import Tensor

# From the memory of the operand to that of the result, which has the planned layout.
Kernel = Callable[[Array], Array]

# From an array in storage order and the axes to reduce to what is found; those axes have size 1.
Work = Callable[[Array, Sequence[int]], Array]


def prepare(plan: ReducePlan) -> Run:
    """The operation's kernel, run without warnings."""
    kernel: Kernel = plan.operation.numpy(plan)
    spec, copy = plan.result, quiet.copy

    def reduce(x: Tensor) -> Tensor:
        return Tensor._new(copy().run(kernel, x._memory), spec)

    return reduce


def _walked(plan: ReducePlan, work: Work) -> Kernel:
    """`work` in storage order, then one rounding to the planned dtype."""
    walk = walk_of(plan.source.layout, plan.dims, plan.result.layout)
    view, axes, place, dtype = walk.view, walk.axes, walk.place, plan.result.dtype

    def kernel(memory: Array) -> Array:
        found = rounded(np.asarray(work(view(memory), axes)), dtype)
        return place(found.astype(dtype, order="C", copy=False))

    return kernel


def accumulator(dtype: dtypes.DType) -> dtypes.DType:
    """The dtype of totals: float64 for all real floats, complex128 for complex ones."""
    if dtypes.in_category(dtype, "real floating"):
        return dtypes.float64
    return dtypes.complex128 if dtypes.in_category(dtype, "complex floating") else dtype


# --- sums --------------------------------------------------------------------------------------

# How many float32 are added one after the other before float64 takes over. 2048 rows of 2048 in
# runs of 16 take 17 % more time than NumPy's naive sum, of 32 6 %, of 64 nothing; the relative
# error that they leave is below 4.5, 8.5 and 16.5 * 2**-24. NumPy's pairwise sums, along the
# fastest axis, leave 4.5 (2026-11-21, 2-core AMD EPYC (Zen 4), numpy 2.4.6).
_RUN = 32

# Counts of bool: bytes hold up to 255.
_COUNT = Fold(np.add, dtypes.uint8, dtypes.int64, 255, 255)


def _sums(source: dtypes.DType, result: dtypes.DType) -> Work:
    """Sums in the accumulator of `result`.

    Narrow floats are added up in short runs of float32, the runs in float64: the error is that of
    a run, however many there are. What overflows on the way is added up in float64 from the start.
    """
    wide = accumulator(result)
    careful = Fold(np.add, wide, wide, WIDE_RUN if wide.kind in "fc" else None)
    if wide.kind not in "fc" or not (_narrow(source) and _narrow(result)):
        return careful
    fast = Fold(np.add, _narrow(source), wide, _RUN)

    def total(x: Array, axes: Sequence[int]) -> Array:
        if x.size > SMALL:
            found = in_blocks(fast, x, axes, widened) if is_half(source) else fast(x, axes)
            if np.isfinite(found).all():
                return found
        return careful(x, axes)

    return total


def _narrow(dtype: dtypes.DType) -> dtypes.DType | None:
    """The dtype in which short runs are added up; None for wide floats."""
    if dtype.kind == "c":
        return dtype if dtype.itemsize == 8 else None
    return dtypes.float32 if dtype.itemsize <= 4 else None


def add(plan: ReducePlan) -> Kernel:
    """The sum along the planned dimensions."""
    if plan.source.dtype == dtypes.bool:
        return count_nonzero(plan)
    return _walked(plan, _sums(plan.source.dtype, plan.result.dtype))


def multiply(plan: ReducePlan) -> Kernel:
    """The product; floats all in float64, whose range the product of a few may need."""
    wide = accumulator(plan.result.dtype)
    return _walked(plan, Fold(np.multiply, wide, wide))


def _count(plan: ReducePlan) -> np.float64:
    """How many elements become one; a NumPy number, so that 0 / 0 is NaN."""
    return np.float64(math.prod(plan.source.layout.shape[d] for d in plan.dims))


def mean(plan: ReducePlan) -> Kernel:
    """The sum divided by the count; NaN of nothing."""
    total, count = _sums(plan.source.dtype, plan.result.dtype), _count(plan)

    def work(x: Array, axes: Sequence[int]) -> Array:
        found = total(x, axes)
        if found.dtype.kind == "c":  # by parts: a NaN in one must not reach the other
            found.real /= count
            found.imag /= count
            return found
        return found / count

    return _walked(plan, work)


# --- variance ----------------------------------------------------------------------------------

# Up to this many elements, the mean is worked out in float64: where there are as many variances as
# that, some are of numbers so close to each other that they need it.
_FEW = 64


def variance(plan: ReducePlan, root: bool = False) -> Kernel:
    """The mean squared distance from the mean, its divisor reduced by `correction`.

    Float32 and narrower in float32; where that is not enough (squares that overflow or vanish,
    a mean that is much greater than the distances from it), all of it again in float64.
    """
    (correction,) = plan.static
    count = _count(plan)
    divisor = count - correction
    narrow = _narrow(plan.source.dtype)

    def squares(x: Array, axes: Sequence[int]) -> Array:
        if x.size <= SMALL:
            return _squares_at_once(x, axes, count)
        found = None if narrow is None else _squares(x, axes, narrow, count)
        if found is None:
            found = _squares(x, axes, dtypes.float64, count)
        assert found is not None, "float64 is never too narrow"
        return found

    def work(x: Array, axes: Sequence[int]) -> Array:
        found = squares(x, axes) / (divisor if divisor > 0 else np.nan)
        return np.asarray(np.sqrt(found) if root else found)

    return _walked(plan, work)


def deviation(plan: ReducePlan) -> Kernel:
    """The square root of the variance."""
    return variance(plan, root=True)


def _squares_at_once(x: Array, axes: Sequence[int], count: np.float64) -> Array:
    middle = np.add.reduce(x, tuple(axes), np.float64, keepdims=True) / count
    distance = np.asarray(np.subtract(x, middle, dtype=np.float64))
    squares = np.square(distance, distance)
    return np.asarray(np.add.reduce(squares, tuple(axes), keepdims=True))


def _squares(x: Array, axes: Sequence[int], work: dtypes.DType, count: np.float64) -> Array | None:
    """The sum of squared distances from the mean, in `work`; None where that is too narrow."""
    precise = bool(work == dtypes.float64 or count <= _FEW)
    middle = _sums(x.dtype, dtypes.float64 if precise else work)(x, axes) / count
    near: Array = middle.astype(work)
    found: Array = np.zeros_like(middle)
    fold = Fold(np.add, work, dtypes.float64, _RUN)
    widen = is_half(x.dtype) and work == dtypes.float32
    buffer = np.empty(0, work)
    for key in blocks(x.shape):
        place = kept_part(key, axes)
        block = widened(x[key]) if widen else x[key]
        if buffer.size < block.size:
            buffer = np.empty(block.size, work)
        distance = buffer[: block.size].reshape(block.shape)
        np.subtract(block, near[place], distance)
        np.square(distance, distance)
        found[place] += fold(distance, axes)
    found = np.asarray(np.maximum(found - count * np.square(middle - near), 0))
    if work == dtypes.float64 or _trusted(found / count, near, x, axes, precise):
        return found
    return None


def _trusted(variance: Array, mean: Array, x: Array, axes: Sequence[int], precise: bool) -> bool:
    """Whether float32 was enough: no square overflowed or vanished, and the mean is near enough.

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


# --- extremes and counts -----------------------------------------------------------------------


def extreme(dtype: dtypes.DType, ufunc: Any) -> Work:
    """The least or greatest element; 16-bit floats give float32."""
    fold = Fold(ufunc)
    return (lambda x, axes: in_blocks(fold, x, axes, widened)) if is_half(dtype) else fold


def minimum(plan: ReducePlan) -> Kernel:
    """The least element; NaN if there is one."""
    return _walked(plan, extreme(plan.source.dtype, np.minimum))


def maximum(plan: ReducePlan) -> Kernel:
    """The greatest element; NaN if there is one."""
    return _walked(plan, extreme(plan.source.dtype, np.maximum))


def least_number(plan: ReducePlan) -> Kernel:
    """The least element that is not NaN; NaN if there is none."""
    return _walked(plan, extreme(plan.source.dtype, np.fmin))


def greatest_number(plan: ReducePlan) -> Kernel:
    """The greatest element that is not NaN; NaN if there is none."""
    return _walked(plan, extreme(plan.source.dtype, np.fmax))


def _logical(dtype: dtypes.DType, ufunc: Any) -> Work:
    fold = Fold(ufunc, dtypes.bool, dtypes.bool)
    return (lambda x, axes: in_blocks(fold, x, axes, magnitudes)) if is_half(dtype) else fold


def any_(plan: ReducePlan) -> Kernel:
    """Whether some element is not zero (NaN is not)."""
    return _walked(plan, _logical(plan.source.dtype, np.logical_or))


def all_(plan: ReducePlan) -> Kernel:
    """Whether no element is zero."""
    return _walked(plan, _logical(plan.source.dtype, np.logical_and))


def _ones(block: Array) -> Array:
    return truths(block).view(np.uint8)


def count_nonzero(plan: ReducePlan) -> Kernel:
    """How many elements are not zero (NaN is not)."""
    dtype = plan.source.dtype
    if dtype.kind in "biu" and len(plan.dims) == plan.source.layout.ndim:
        whole = np.dtype(np.uint8) if dtype == dtypes.bool else dtype
        return _walked(plan, lambda x, axes: np.asarray(np.count_nonzero(x.view(whole))))
    if dtype == dtypes.bool:
        return _walked(plan, lambda x, axes: in_blocks(_COUNT, x, axes, _ones))

    def nonzero(block: Array) -> Array:
        bits = magnitudes(block) if is_half(dtype) else block
        found: Array = unbuffered.copy().run(np.not_equal, bits, 0)
        return found.view(np.uint8)

    return _walked(plan, lambda x, axes: in_blocks(_COUNT, x, axes, nonzero))
