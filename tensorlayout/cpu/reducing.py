"""Reductions on the CPU."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorlayout import dtypes
from tensorlayout.cpu.memory import Array, new_tensor, quietly, rounded
from tensorlayout.plan import Run
from tensorlayout.plan.reducing import ReducePlan
from tensorlayout.tensor import Tensor


def prepare(plan: ReducePlan) -> Run:
    """The operation's function writes into the planned layout."""
    function, spec = plan.operation.numpy, plan.result
    dims, keepdims, static = plan.dims, plan.keepdims, plan.static

    def reduce(x: Tensor) -> Tensor:
        result = new_tensor(spec)
        quietly(function, x._memory, dims, keepdims, result._memory, *static)
        return result

    return reduce


def accumulator(dtype: dtypes.DType) -> dtypes.DType:
    """The dtype in which sums are kept: 16- and 32-bit floats in float64, so errors do not grow."""
    if dtypes.in_category(dtype, "real floating"):
        return dtypes.float64
    return dtypes.complex128 if dtypes.in_category(dtype, "complex floating") else dtype


def _reduce(ufunc: Any, x: Array, dims: tuple[int, ...], keepdims: bool, dtype: Any = None) -> Any:
    return ufunc.reduce(x, dims, dtype, keepdims=keepdims)


def add(x: Array, dims: tuple[int, ...], keepdims: bool, out: Array) -> None:
    """The sum along `dims`."""
    _store(out, _reduce(np.add, x, dims, keepdims, accumulator(out.dtype)))


def multiply(x: Array, dims: tuple[int, ...], keepdims: bool, out: Array) -> None:
    """The product along `dims`."""
    _store(out, _reduce(np.multiply, x, dims, keepdims, accumulator(out.dtype)))


def _store(out: Array, found: Any) -> None:
    """Write what was worked out in float64, rounded once."""
    out[...] = rounded(np.asarray(found), out.dtype)


def _count(x: Array, dims: tuple[int, ...]) -> np.float64:
    """How many elements become one; a NumPy number, so that 0 / 0 is NaN."""
    return np.float64(math.prod(x.shape[d] for d in dims))


def mean(x: Array, dims: tuple[int, ...], keepdims: bool, out: Array) -> None:
    """The sum divided by the count; NaN of nothing."""
    total, count = _reduce(np.add, x, dims, keepdims, accumulator(out.dtype)), _count(x, dims)
    if out.dtype.kind == "c":  # by parts: a NaN in one must not reach the other
        _store(out.real, total.real / count)
        _store(out.imag, total.imag / count)
    else:
        _store(out, total / count)


def _variance(x: Array, dims: tuple[int, ...], keepdims: bool, correction: float) -> Any:
    count = _count(x, dims)
    middle = _reduce(np.add, x, dims, True, np.float64) / count
    squares = np.square(x - middle, dtype=np.float64)
    divisor = count - correction
    return _reduce(np.add, squares, dims, keepdims) / (divisor if divisor > 0 else np.nan)


def variance(
    x: Array, dims: tuple[int, ...], keepdims: bool, out: Array, correction: float
) -> None:
    """The mean squared distance from the mean, its divisor reduced by `correction`."""
    _store(out, _variance(x, dims, keepdims, correction))


def deviation(
    x: Array, dims: tuple[int, ...], keepdims: bool, out: Array, correction: float
) -> None:
    """The square root of the variance."""
    _store(out, np.sqrt(_variance(x, dims, keepdims, correction)))


def minimum(x: Array, dims: tuple[int, ...], keepdims: bool, out: Array) -> None:
    """The least element; NaN if there is one."""
    out[...] = _reduce(np.minimum, x, dims, keepdims)


def maximum(x: Array, dims: tuple[int, ...], keepdims: bool, out: Array) -> None:
    """The greatest element; NaN if there is one."""
    out[...] = _reduce(np.maximum, x, dims, keepdims)


def argmin(x: Array, dims: tuple[int, ...], keepdims: bool, out: Array) -> None:
    """The position of the first least element; of the first NaN if there is one."""
    _position(np.argmin, x, dims, keepdims, out)


def argmax(x: Array, dims: tuple[int, ...], keepdims: bool, out: Array) -> None:
    """The position of the first greatest element; of the first NaN if there is one."""
    _position(np.argmax, x, dims, keepdims, out)


def _position(function: Any, x: Array, dims: tuple[int, ...], keepdims: bool, out: Array) -> None:
    axis = dims[0] if len(dims) == 1 else None
    wide = x.astype(np.float32) if x.dtype.kind == "V" else x
    out[...] = function(wide, axis=axis, keepdims=keepdims)


def count_nonzero(x: Array, dims: tuple[int, ...], keepdims: bool, out: Array) -> None:
    """How many elements are not zero (NaN is not)."""
    out[...] = _reduce(np.add, x != 0, dims, keepdims, np.int64)


def any_(x: Array, dims: tuple[int, ...], keepdims: bool, out: Array) -> None:
    """Whether some element is not zero (NaN is not)."""
    out[...] = _reduce(np.logical_or, x, dims, keepdims)


def all_(x: Array, dims: tuple[int, ...], keepdims: bool, out: Array) -> None:
    """Whether no element is zero."""
    out[...] = _reduce(np.logical_and, x, dims, keepdims)
