"""DirectML's buffers: strides in elements, and where the binding begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tensorlayout.directml.tensor_desc import TensorDesc
from tensorlayout.formats.blocks import check_layout
from tensorlayout.layout import Layout, check_integers

__all__ = ["DirectmlBuffer", "read", "write"]


class DirectmlBuffer(NamedTuple):
    """The strides of a DML_BUFFER_TENSOR_DESC, and the offset of its binding, in **elements**.

    `strides`: None is packed row-major.

    >>> from tensorlayout import Layout, formats
    >>> formats.directml.DirectmlBuffer((3, 1)) == formats.directml.write(Layout((2, 3)))
    True
    """

    strides: tuple[int, ...] | None
    offset: int = 0


def read(shape: Sequence[int], buffer: Sequence[int] | DirectmlBuffer | None) -> Layout:
    """Return the layout of `shape` with these strides, in elements.

    `buffer`: strides, None for a packed tensor, or a `DirectmlBuffer`. ValueError and TypeError as
    of a `tensorlayout.directml.TensorDesc`: 1 to 8 sizes, each at least 1, numbers of 32 bits.

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
    """Return the strides of `layout` in elements, and where the binding begins.

    Padding is a gap for DirectML. ValueError for tiles, negative strides, sizes of 0 and a rank
    above 8; TypeError for what is no layout.

    >>> from tensorlayout import Layout, formats
    >>> formats.directml.write(Layout.labelled((1, 3, 2, 2), "NHWC"))
    DirectmlBuffer(strides=(12, 1, 6, 3), offset=0)
    """
    desc = TensorDesc.from_layout(_ANY_TYPE, check_layout(layout))
    return DirectmlBuffer(desc.strides, layout.offset)


_ANY_TYPE = "UINT8"  # strides count elements, whatever these are
