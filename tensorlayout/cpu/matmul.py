"""Matrix products on the CPU."""

from __future__ import annotations

import numpy as np

from tensorlayout.cpu.engine.casting import truths
from tensorlayout.cpu.engine.memory import Array, quiet, quietly
from tensorlayout.dtypes import DType
from tensorlayout.plan import MatmulPlan, Write, working
from tensorlayout.tensor import Tensor


def write_matmul(plan: MatmulPlan) -> Write:
    """The product of the operands as they lie; 16-bit floats, without BLAS, by way of float32."""
    dtype = plan.result.dtype
    work = working(dtype)
    if plan.first.dtype == plan.second.dtype == work == dtype and dtype.kind in "fc":
        copy = quiet.copy
        return lambda out, x, y: copy().run(np.matmul, x.memory, y.memory, out.memory)

    def write(out: Tensor, x: Tensor, y: Tensor) -> None:
        found = out.memory if work == dtype else np.empty(out.shape, work)
        quietly(multiply, converted(x.memory, work), converted(y.memory, work), found)
        if work != dtype:
            quietly(np.copyto, out.memory, found, "unsafe")

    return write


def multiply(a: Array, b: Array, out: Array) -> None:
    """``out = a @ b``, all of one dtype.

    NumPy hands matrices to BLAS as they lie, but has none for integers, and walks down the columns
    of `b`; rows multiplied with rows go many elements at a time: 1024 × 1024, int8 130 ms instead
    of 1180, int32 160 instead of 2900, int64 380 instead of 2800.
    """
    if a.dtype.kind in "iu" and a.shape[-1] >= 32 and out.size * a.shape[-1] >= 1 << 15:
        _by_rows(a, b, out)
    else:
        np.matmul(a, b, out)


def _by_rows(a: Array, b: Array, out: Array) -> None:
    if b.ndim == 1:
        b, out = b[:, None], out[..., None]
    if a.ndim == 1:
        a, out = a[None], out[..., None, :]
    np.einsum("...ij,...kj->...ik", _in_rows(a), _in_rows(np.swapaxes(b, -1, -2)), out=out)


def _in_rows(a: Array) -> Array:
    """`a`, its last dimension contiguous."""
    return a if a.strides[-1] == a.itemsize else np.ascontiguousarray(a)


def converted(array: Array, dtype: DType) -> Array:
    """`array` in `dtype` and the order of its strides; what it repeats stays one slot."""
    if array.dtype == dtype != np.bool_:
        return array
    if 0 not in array.strides:
        return truths(array) if dtype == np.bool_ else array.astype(dtype)
    once = array[tuple(slice(0, 1 if s == 0 else None) for s in array.strides)]
    found = truths(once) if dtype == np.bool_ else once.astype(dtype)
    return np.broadcast_to(found, array.shape)
