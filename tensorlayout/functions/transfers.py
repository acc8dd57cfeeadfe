"""Tensors moved between devices."""

from __future__ import annotations

from tensorlayout.devices import CPU, Device
from tensorlayout.functions import dispatch
from tensorlayout.layout import PaddingValue
from tensorlayout.plan import Copy, Transfer, strided_spec
from tensorlayout.tensor import Tensor

_PACK = Copy("to_device")
_TRANSFER = Transfer()
_UNTILE = {name: Copy(name) for name in ("__array__", "__dlpack__", "__repr__", "ufunc")}

# Slots for each element from which on what has gaps is packed by its device before it is moved: the
# bus to the host carries the gaps, too, and is far slower than the memory of a GPU.
_SPARSE = 2


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
        x = dispatch.call(_PACK, (x.spec, None, None), (x,))
    elif (x.device == CPU and layout.is_padded) and (
        layout.padding_value is not PaddingValue.UNSPECIFIED
    ):  # padding in memory of others may not hold its value: nobody has written there
        x = dispatch.call(_PACK, (x.spec, layout, None), (x,))
    return x if x.device == device else _transferred(x, device)


def on_host(x: Tensor) -> Tensor:
    """`x` on the CPU."""
    return moved(x, CPU)


def strided(name: str, x: Tensor) -> Tensor:
    """`x`, or a packed copy of one tiled or packed below a byte: for what knows strides only."""
    if x.spec.layout.is_strided:
        return x
    return dispatch.call(_UNTILE[name], (x.spec, strided_spec(x.spec).layout, None), (x,))


def _transferred(x: Tensor, device: Device) -> Tensor:
    return dispatch.call(_TRANSFER, (x.spec, device), (x,))
