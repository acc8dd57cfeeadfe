"""Boxes of a layout, tiled or not, as strided NumPy arrays over its storage."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tensorlayout.dtypes import DType
from tensorlayout.layout import Layout
from tensorlayout.layout.boxes import Box

Array = np.ndarray[Any, Any]


class Seen(NamedTuple):
    """One box of a tensor: a dimension for each digit; `start` from its lowest slot on."""

    shape: tuple[int, ...]
    start: int  # bytes
    strides: tuple[int, ...]  # bytes

    @classmethod
    def through(cls, layout: Layout, box: Box, itemsize: int) -> Seen:
        """A box as `layout` places it; `itemsize` in **bytes**."""
        strides = tuple(s * itemsize for s in box.strides_in(layout))
        return cls(box.shape, (box.offset_in(layout) - layout.lowest) * itemsize, strides)

    def of(self, storage: Array, slot: int, dtype: DType) -> Array:
        """The array, of a tensor whose lowest slot is `slot`; NumPy checks the bounds."""
        return np.ndarray(
            self.shape, dtype, storage, self.start + slot * dtype.itemsize, self.strides
        )
