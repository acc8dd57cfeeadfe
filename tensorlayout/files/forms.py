"""What files keep of a tensor: its elements as a NumPy array, and its form as a text."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorlayout.exchange.numpy import Array
from tensorlayout.functions.creation import asarray
from tensorlayout.functions.interchange import to_numpy
from tensorlayout.functions.layouts import to_layout
from tensorlayout.functions.transfers import on_host
from tensorlayout.layout import Layout
from tensorlayout.tensor import Tensor

# Padding that a text may ask for: this many bytes, or this many times those of the elements.
_MOST, _TIMES = 1 << 26, 1024


def array_of(x: Tensor) -> Array:
    """The elements on the CPU, over the memory of `x` where that has strides; bools are 0 and 1."""
    array = to_numpy(on_host(x))
    return array.view(np.uint8) != 0 if array.dtype == np.bool_ else array


def text_of(x: Tensor) -> str:
    """The text of the form, which is what is kept; nothing for what every file says, row-major."""
    form = x.layout.form
    return "" if form == Layout.row_major(form.shape) else str(form)


def restored(array: Any, text: str) -> Tensor:
    """A tensor of its own over an array that was read, in the layout of a text.

    ValueError for a layout of another shape, one that is no form, or one with far more padding
    than elements.
    """
    x = asarray(array)
    if not text:
        return x
    layout = Layout.parse(text)
    if layout.shape != x.shape:
        msg = f"layout {layout} is not of shape {x.shape}"
        raise ValueError(msg)
    if layout.form != layout:
        msg = f"layout {layout} has gaps, overlaps or runs backwards"
        raise ValueError(msg)
    needed = layout.required_size * x.dtype.itemsize
    if needed > max(_MOST, _TIMES * array.nbytes):
        msg = f"layout {layout} takes {needed} bytes for {array.nbytes} of elements"
        raise ValueError(msg)
    return to_layout(x, layout)
