"""The spec of memory that another library describes by sizes and strides."""

from __future__ import annotations

import functools

from tensorlayout.devices import CPU, Device
from tensorlayout.dtypes import DType, as_dtype
from tensorlayout.layout import Layout
from tensorlayout.tensor import Spec


@functools.lru_cache(maxsize=1024)
def spec_of_strides(
    dtype: DType, shape: tuple[int, ...], byte_steps: tuple[int, ...], device: Device = CPU
) -> Spec | None:
    """The spec for strides in **bytes**; None where they are no whole elements.

    Dimensions of size 1 get the stride that continues their successor.
    """
    kind = as_dtype(dtype)
    if kind != dtype or any(
        s % kind.itemsize for s, n in zip(byte_steps, shape, strict=True) if n > 1
    ):
        return None
    if 0 in shape:
        return Spec(kind, Layout.row_major(shape), device)
    strides = [0] * len(shape)
    following = 1
    for d in range(len(shape) - 1, -1, -1):
        n = shape[d]
        strides[d] = following if n == 1 else byte_steps[d] // kind.itemsize
        following = strides[d] * n
    backwards = sum((n - 1) * -s for n, s in zip(shape, strides, strict=True) if s < 0)
    return Spec(kind, Layout(shape, strides, offset=backwards), device)


def packed_steps(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """The row-major strides in **bytes** of elements of `itemsize` **bytes**."""
    steps = [itemsize] * len(shape)
    for d in range(len(shape) - 2, -1, -1):
        steps[d] = steps[d + 1] * shape[d + 1]
    return tuple(steps)
