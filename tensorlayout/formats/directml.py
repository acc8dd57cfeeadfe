"""DirectML's buffers: strides in elements, and the offset of the binding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tensorlayout.directml.tensor_desc import TensorDesc
from tensorlayout.formats.blocks import check_layout
from tensorlayout.layout import Layout, check_integers

__all__ = ["DirectmlBuffer", "read", "write"]


class DirectmlBuffer(NamedTuple):
    """Strides of a DML_BUFFER_TENSOR_DESC and the offset of its binding, in **elements**.

    `strides`: None means packed row-major.

    >>> from tensorlayout import Layout, formats
    >>> formats.directml.DirectmlBuffer((3, 1)) == formats.directml.write(Layout((2, 3)))
    True
    """

    strides: tuple[int, ...] | None
    offset: int = 0


def read(shape: Sequence[int], buffer: Sequence[int] | DirectmlBuffer | None) -> Layout:
    """Return the layout of a DirectML buffer tensor.

    `buffer`: strides in elements, None for a packed tensor, or a `DirectmlBuffer`.

    Raises `ValueError` and `TypeError` as `tensorlayout.directml.TensorDesc`: `shape` must have 1
    to 8 sizes of at least 1, and all numbers must fit 32 bits.

    >>> from tensorlayout import formats
    >>> formats.directml.read((2, 3), (5, 1))
    Layout.parse('(2,3):(5,1)')
    """
    strides, offset = buffer if isinstance(buffer, DirectmlBuffer) else (buffer, 0)
    sizes = check_integers("shape", shape)
    if strides is not None:
        strides = check_integers("strides", strides)
    return TensorDesc(_ANY_TYPE, sizes, strides).layout.moved(offset)


def write(layout: Layout) -> DirectmlBuffer:
    """Return the strides of `layout` and the offset of its binding, in elements.

    Padding becomes a gap.

    Raises `ValueError` for tiles, negative strides, sizes of 0 and ranks above 8; `TypeError` if
    `layout` is not a Layout.

    >>> from tensorlayout import Layout, formats
    >>> formats.directml.write(Layout.labelled((1, 3, 2, 2), "NHWC"))
    DirectmlBuffer(strides=(12, 1, 6, 3), offset=0)
    """
    desc = TensorDesc.from_layout(_ANY_TYPE, check_layout(layout))
    return DirectmlBuffer(desc.strides, layout.offset)


# Strides count elements, so the type does not matter, but a descriptor needs one.
_ANY_TYPE = "UINT8"
