"""Tensors copied in the name of a function, and moved between devices."""

from __future__ import annotations

import functools

from tensorlayout.devices import CPU, Device
from tensorlayout.dtypes import DType
from tensorlayout.functions import dispatch
from tensorlayout.layout import Layout, PaddingValue
from tensorlayout.plan import Copy, Transfer, packed_strided_spec
from tensorlayout.tensor import Tensor

_TRANSFER = Transfer()
copying = functools.cache(Copy)  # in the name of a function

# Slots for each element from which on what has gaps is packed by its device before it is moved: the
# bus to the host carries the gaps, too, and is far slower than the memory of a GPU.
_SPARSE = 2


def copied(
    name: str, x: Tensor, layout: Layout | None = None, dtype: DType | None = None
) -> Tensor:
    """A copy of `x` for a function `name`, in a layout or its form, in a dtype or its own."""
    return dispatch.call(copying(name), (x.spec, layout, dtype), (x,))


def moved(x: Tensor, device: Device, *, exactly: bool = False) -> Tensor:
    """`x` on a device, in its layout if that covers a block, or `exactly`; else in its form."""
    own = x.spec.device
    if own is device or own == device:
        return x
    layout = x.spec.layout
    if not layout.covers_block and not exactly:
        dense = layout.required_size <= _SPARSE * layout.size
        if own != CPU and device == CPU and dense:
            x = _transferred(x, CPU)
        x = copied("to_device", x)
    elif (x.device == CPU and layout.is_padded) and (
        layout.padding_value is not PaddingValue.UNSPECIFIED
    ):  # padding in memory of others may not hold its value: nobody has written there
        x = copied("to_device", x, layout)
    return x if x.device == device else _transferred(x, device)


def on_host(x: Tensor) -> Tensor:
    """`x` on the CPU."""
    return moved(x, CPU)


def strided(name: str, x: Tensor) -> Tensor:
    """`x`, or a packed copy of one tiled or packed below a byte: for what knows strides only."""
    if x.spec.layout.is_strided:
        return x
    return copied(name, x, packed_strided_spec(x.spec).layout)


def _transferred(x: Tensor, device: Device) -> Tensor:
    return dispatch.call(_TRANSFER, (x.spec, device), (x,))
