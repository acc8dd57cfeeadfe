"""Memory shared with others: NumPy, the buffer protocol, DLPack, pickles."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorlayout.cpu.memory import Array, home_of, new_tensor
from tensorlayout.devices import Device, as_device
from tensorlayout.functions import calling
from tensorlayout.functions.creation import from_dlpack_array
from tensorlayout.functions.layouts import from_storage
from tensorlayout.plan.moving import Copy
from tensorlayout.tensor import Tensor

_COPY = Copy("copy")


def copy(x: Tensor) -> Tensor:
    """The same elements in the form of `x`, in a storage of their own."""
    return calling.call(_COPY, (x._spec, None, None), (x,))


def to_numpy(x: Tensor, dtype: Any = None, copy: bool | None = None) -> Array:
    """The elements as a NumPy array over the same memory, whatever the strides."""
    array: Array = x._memory
    if dtype is not None and np.dtype(dtype) != array.dtype:
        if copy is False:
            msg = f"__array__: {array.dtype} cannot be seen as {dtype} without a copy"
            raise ValueError(msg)
        return array.astype(dtype)
    return array.copy() if copy else array


def to_device(x: Tensor, device: Device | str, stream: Any = None) -> Tensor:
    """`x` on another device; `x` itself if it is there."""
    if as_device(device) == x.device and stream is not None:
        msg = f"to_device: the {x.device} has no streams, got stream={stream!r}"
        raise ValueError(msg)
    return x


def to_dlpack(
    x: Tensor,
    *,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """A DLPack capsule over the memory of `x`."""
    return x._memory.__dlpack__(
        stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
    )


def dlpack_device(x: Tensor) -> tuple[int, int]:
    """The DLPack type and number of the device: (1, 0) on the CPU."""
    return (1, 0)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor over the memory that another library exports by DLPack.

    `copy`: None shares, or copies where the exporter must; True always copies; False never.
    """
    as_device(device)
    return from_dlpack_array(x, copy)


def rebuilt(dtype: str, layout: str, octets: bytearray) -> Tensor:
    """A tensor from what `reduced` gave: used by pickle."""
    return from_storage(octets, layout, dtype=dtype)


def reduced(x: Tensor) -> tuple[Any, ...]:
    """What pickle keeps of a tensor: dtype, the text of its layout, and its elements.

    A layout that covers a block keeps its padding; any other takes its form.
    """
    kept = x if x._spec.layout.covers_block else copy(x)
    spec = kept._spec
    twin = new_tensor(spec)
    twin._memory[...] = kept._memory
    octets = bytearray(home_of(twin).storage.tobytes())
    return rebuilt, (spec.dtype.name, str(spec.layout), octets)
