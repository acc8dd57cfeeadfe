"""Tensors of any dtype in one storage, for us and as NumPy reads them: by a copy of their bytes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from draws import places
from tensors import as_dtype

import tensorlayout as tl
from tensorlayout.layout import Layout
from tensorlayout.tensor import TensorSpec


def seen(s, layout, dtype, start=0):
    """A tensor over the memory of `s`, a vector of bytes, from byte `start` on."""
    layout, dtype = Layout.parse(layout), as_dtype(dtype)
    if s.device == "cpu":
        return tl.from_storage(np.asarray(s)[start:], layout, dtype=dtype)
    from tensorlayout.cuda.engine.memory import DeviceMemory

    lowest = s.memory.address + start + layout.lowest * dtype.itemsize
    home = (s.home[0], (start + layout.lowest * dtype.itemsize) // dtype.itemsize)
    return tl.Tensor._from_memory(
        DeviceMemory(lowest, s.readonly), TensorSpec(dtype, layout, s.device), home
    )


@dataclass(frozen=True, slots=True)
class Part:
    """Place of a tensor in a storage of bytes."""

    layout: Layout
    dtype: np.dtype
    start: int = 0

    def text(self, name):
        start = f", start={self.start}" if self.start else ""
        return f'{name} = seen(s, "{self.layout}", "{self.dtype.name}"{start})'

    def octets(self):
        """The index of each byte of each element."""
        first = places(self.layout) * self.dtype.itemsize + self.start
        return first[..., None] + np.arange(self.dtype.itemsize)

    def of(self, storage):
        """The elements that bytes hold, copied; of booleans whatever is not 0 is true."""
        result = np.ascontiguousarray(storage[self.octets()])
        if self.dtype.kind == "b":
            return result[..., 0] != 0
        return result.view(self.dtype)[..., 0]

    def put(self, storage, array):
        """Write elements into bytes."""
        array = np.ascontiguousarray(array, self.dtype)
        raw = array.reshape(-1).view(np.uint8)
        storage[self.octets()] = raw.reshape(*array.shape, self.dtype.itemsize)

    def span(self):
        """The bytes from the first to behind the last, gaps included."""
        result = self.octets()
        return (int(result.min()), int(result.max()) + 1) if result.size else (0, 0)

    def meets(self, other):
        (a, b), (c, d) = self.span(), other.span()
        return a < d and c < b


def fitting(draw, shape, slots, writable):
    """A layout of a shape within so many slots: steps, orders, directions; repeats, if not written.

    None if it must be written to and does not fit.
    """
    if not math.prod(shape):
        return Layout(shape)
    for _ in range(6):
        strides = _strides(draw, shape, writable)
        last = sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
        if last < slots:
            break
    else:
        strides, last = Layout.packed(shape, draw.order(len(shape))).strides, math.prod(shape) - 1
        if last >= slots:
            if writable:
                return None
            strides, last = (0,) * len(shape), 0
    return _placed(draw, shape, strides, slots - last - 1)


def _strides(draw, shape, writable):
    if not writable and draw.chance(0.25):  # windows that roll, and broadcasts
        return [draw.between(0, 3) for _ in shape]
    strides, step = [0] * len(shape), draw.choice((1, 1, 1, 2, 3))
    for d in draw.order(len(shape)):
        strides[d] = 0 if not writable and draw.chance(0.1) else step
        step = step * shape[d] + draw.choice((0, 0, 0, 1, 2))
    return strides


def _placed(draw, shape, strides, free):
    """Some dimensions run backwards; the rest of the slots is divided by luck."""
    offset, results = draw.between(0, free), []
    for n, s in zip(shape, strides, strict=True):
        back = draw.chance(0.25)
        offset += (n - 1) * s if back else 0
        results.append(-s if back else s)
    return Layout(shape, results, offset=offset)


def other_view(draw, layout, slots):
    """The same elements seen otherwise: dimensions exchanged, flipped, and all of them shifted."""
    shape = layout.shape
    if not math.prod(shape):
        return layout
    dims = draw.order(len(shape)) if len(set(shape)) < len(shape) and draw.chance(0.5) else None
    strides = [abs(layout.strides[d]) for d in dims or range(len(shape))]
    last = sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    if last >= slots:
        return layout
    return _placed(draw, shape, strides, slots - last - 1)
