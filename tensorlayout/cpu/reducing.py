"""Reductions on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorlayout import dtypes
from tensorlayout.cpu.memory import Array, new_tensor, quiet
from tensorlayout.plan import Run
from tensorlayout.plan.reducing import ReducePlan
from tensorlayout.tensor import Tensor


def prepare(plan: ReducePlan) -> Run:
    """The operation's function writes into the planned layout."""
    function, spec = plan.operation.numpy, plan.result
    dims, keepdims, static = plan.dims, plan.keepdims, plan.static

    def reduce(x: Tensor) -> Tensor:
        result = new_tensor(spec)
        quiet.copy().run(function, x._memory, dims, keepdims, result._memory, *static)
        return result

    return reduce


def accumulator(dtype: dtypes.DType) -> dtypes.DType:
    """The dtype in which sums are kept: 16- and 32-bit floats in float64, so errors do not grow."""
    if dtypes.in_category(dtype, "real floating"):
        return dtypes.float64
    return dtypes.complex128 if dtypes.in_category(dtype, "complex floating") else dtype


def add(x: Array, dims: tuple[int, ...], keepdims: bool, out: Array) -> None:
    """The sum along `dims`."""
    wide = accumulator(out.dtype)
    out[...] = np.add.reduce(x, dims, wide, keepdims=keepdims)


def multiply(x: Array, dims: tuple[int, ...], keepdims: bool, out: Array) -> None:
    """The product along `dims`."""
    wide = accumulator(out.dtype)
    out[...] = np.multiply.reduce(x, dims, wide, keepdims=keepdims)


def mean(x: Array, dims: tuple[int, ...], keepdims: bool, out: Array) -> None:
    """The sum divided by the count; NaN of nothing."""
    count = np.float64(np.prod([x.shape[d] for d in dims], dtype=np.float64))
    out[...] = np.add.reduce(x, dims, accumulator(out.dtype), keepdims=keepdims) / count


def variance(
    x: Array, dims: tuple[int, ...], keepdims: bool, out: Array, correction: float
) -> None:
    """The mean squared distance from the mean, its divisor reduced by `correction`."""
    wide = accumulator(out.dtype)
    count = float(np.prod([x.shape[d] for d in dims], dtype=np.float64))
    middle = np.add.reduce(x, dims, wide, keepdims=True) / np.float64(count)
    squares = np.square(x - middle, dtype=wide)
    total = np.add.reduce(squares, dims, wide, keepdims=keepdims)
    out[...] = total / np.float64(max(count - correction, 0.0))


def deviation(
    x: Array, dims: tuple[int, ...], keepdims: bool, out: Array, correction: float
) -> None:
    """The square root of the variance."""
    wide: Any = np.empty(out.shape, np.float64)
    variance(x, dims, keepdims, wide, correction)
    out[...] = np.sqrt(wide)


def minimum(x: Array, dims: tuple[int, ...], keepdims: bool, out: Array) -> None:
    """The least element; NaN if there is one."""
    out[...] = np.minimum.reduce(x, dims, keepdims=keepdims)


def maximum(x: Array, dims: tuple[int, ...], keepdims: bool, out: Array) -> None:
    """The greatest element; NaN if there is one."""
    out[...] = np.maximum.reduce(x, dims, keepdims=keepdims)


def any_(x: Array, dims: tuple[int, ...], keepdims: bool, out: Array) -> None:
    """Whether some element is not zero (NaN is not)."""
    out[...] = np.logical_or.reduce(x, dims, keepdims=keepdims)


def all_(x: Array, dims: tuple[int, ...], keepdims: bool, out: Array) -> None:
    """Whether no element is zero."""
    out[...] = np.logical_and.reduce(x, dims, keepdims=keepdims)
