"""Copies of tensors, traced under a function's name, and moves between devices."""

from __future__ import annotations

import functools

from tensorlayout.devices import CPU, Device
from tensorlayout.dtypes import DType
from tensorlayout.functions import dispatch
from tensorlayout.layout import Layout, PaddingValue
from tensorlayout.plan import Copy, Transfer, strided_or_packed_spec
from tensorlayout.tensor import Tensor

_TRANSFER = Transfer()
copy_operation = functools.cache(Copy)  # by name of the function that copies

# From this number of slots per element on, a tensor with gaps is packed before it is moved: the bus
# to the host, far slower than the memory of a GPU, would carry the gaps, too.
_SPARSE = 2


def copy_tensor(
    function_name: str, x: Tensor, layout: Layout | None = None, dtype: DType | None = None
) -> Tensor:
    """Copy `x`, traced as `function_name`, to another layout or dtype if given."""
    return dispatch.call(copy_operation(function_name), (x.spec, layout, dtype), (x,))


def move_to_device(x: Tensor, device: Device, *, keep_layout: bool = False) -> Tensor:
    """Move `x` to `device`, in its layout if that covers a block, else in its form.

    `keep_layout`: keep the layout in any case.
    """
    source_device = x.spec.device
    if source_device is device or source_device == device:
        return x
    layout = x.spec.layout
    if not layout.covers_block and not keep_layout:
        # From a device to the CPU, memory with few gaps goes over the bus as it is and is packed
        # there; otherwise the tensor is packed where it is.
        dense = layout.required_size <= _SPARSE * layout.size
        if source_device != CPU and device == CPU and dense:
            x = _transfer_to_device(x, CPU)
        x = copy_tensor("to_device", x)
    elif (x.device == CPU and layout.is_padded) and (
        layout.padding_value is not PaddingValue.UNSPECIFIED
    ):
        # Padding in foreign memory may not hold its value: nothing wrote it.
        x = copy_tensor("to_device", x, layout)
    return x if x.device == device else _transfer_to_device(x, device)


def move_to_cpu(x: Tensor) -> Tensor:
    """Return `x` on the CPU."""
    return move_to_device(x, CPU)


def ensure_strided(function_name: str, x: Tensor) -> Tensor:
    """Return `x`, or a packed copy if it is tiled or packed below a byte."""
    if x.spec.layout.is_strided:
        return x
    return copy_tensor(function_name, x, strided_or_packed_spec(x.spec).layout)


def _transfer_to_device(x: Tensor, device: Device) -> Tensor:
    return dispatch.call(_TRANSFER, (x.spec, device), (x,))
