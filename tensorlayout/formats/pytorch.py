"""PyTorch's memory formats."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tensorlayout.errors import short_repr, truncate
from tensorlayout.formats.blocks import block_form, check_layout, matching_name, raise_error
from tensorlayout.layout import Layout, check_sizes

__all__ = ["read", "write"]

# The dimensions from the slowest to the fastest.
_CHANNELS_LAST = {"channels_last": (0, 2, 3, 1), "channels_last_3d": (0, 2, 3, 4, 1)}


def read(shape: Sequence[int], memory_format: Any, like: Layout | None = None) -> Layout:
    """Return the layout of a new tensor of `shape` in a memory format.

    - `memory_format`: a memory format of PyTorch, or its name.
    - `like`: layout of the same shape, for ``preserve_format``: the result has its order, packed.

    Raises `ValueError` for other names and for a rank that does not have the format; `TypeError`
    for other objects.

    >>> from tensorlayout import formats
    >>> formats.pytorch.read((2, 3, 4, 5), "channels_last")
    Layout.parse('(2,3,4,5):(60,1,15,3)')
    """
    sizes = check_sizes("shape", shape)
    # Compared by the name of its class, because PyTorch is not imported.
    if not isinstance(memory_format, str) and type(memory_format).__name__ != "memory_format":
        rule = "memory_format must be one of PyTorch's, or its name"
        raise_error(f"{rule}, got {short_repr(memory_format)}", TypeError)
    # str(torch.channels_last) is "torch.channels_last".
    word = str(memory_format).removeprefix("torch.")
    if word == "contiguous_format":
        return Layout.row_major(sizes)
    if word == "preserve_format":
        if like is None or check_layout(like).shape != sizes:
            received = "None" if like is None else truncate(like)
            rule = f"preserve_format needs like=, a layout of shape {short_repr(sizes)}"
            raise_error(f"{rule}, got {received}")
        return Layout.packed(sizes, like.minor_to_major)
    if word not in _CHANNELS_LAST:
        known = ", ".join(("contiguous_format", *_CHANNELS_LAST, "preserve_format"))
        raise_error(f"memory_format must be one of {known}, got {short_repr(memory_format)}")
    order = _CHANNELS_LAST[word]
    if len(sizes) != len(order):
        raise_error(f"{word} is for {len(order)} dimensions, got shape {short_repr(sizes)}")
    return Layout(sizes, _channels_last_strides(sizes, order), minor_to_major=order[::-1])


def _channels_last_strides(sizes: tuple[int, ...], order: tuple[int, ...]) -> list[int]:
    """Return PyTorch's channels_last strides: after a size of 0 all slower strides are 0."""
    return [math.prod(sizes[d] for d in order[order.index(dim) + 1 :]) for dim in range(len(sizes))]


def _has_channels_last_strides(layout: Layout, order: tuple[int, ...]) -> bool:
    """Return whether PyTorch considers the strides channels_last; it skips sizes of 1."""
    rows = zip(
        layout.shape, layout.strides, _channels_last_strides(layout.shape, order), strict=True
    )
    return all(size == 1 or stride == expected for size, stride, expected in rows)


def write(layout: Layout) -> str:
    """Return the name of PyTorch's memory format in which `layout` is contiguous.

    If several fit, as for a single channel, the dimension order decides. Without elements any
    strides are contiguous, and some are channels_last, too.

    Raises `ValueError` for layouts without a name: use ``as_strided(x, shape, strides, offset)``;
    `TypeError` if `layout` is not a Layout.

    >>> from tensorlayout import Layout, formats
    >>> formats.pytorch.write(Layout.labelled((1, 1, 3, 5), "NHWC"))
    'channels_last'
    """
    block = block_form(layout)
    has_blocks = layout.is_tiled or layout.padded_shape != layout.shape
    if layout.size == 0 and (has_blocks or min(layout.strides) < 0):
        rule = "has no tiles, no padding and no negative strides, of no elements, too"
        raise_error(f"{rule}, got {truncate(layout)}")
    words = ["contiguous_format"]
    for word, order in _CHANNELS_LAST.items():
        if block.ndim == len(order) and (layout.size or _has_channels_last_strides(layout, order)):
            words.append(word)
    result = matching_name(block, [(word, read(block.shape, word)) for word in words])
    if result is None:
        rule = "PyTorch has no name for this order; as_strided() takes strides"
        raise_error(f"{rule}, got {truncate(layout)}")
    return result
