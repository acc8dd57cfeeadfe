"""``__cuda_array_interface__``, version 3: CUDA memory described in a dictionary, both ways.

Source: the page "CUDA Array Interface (Version 3)" of Numba's documentation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorlayout import dtypes
from tensorlayout.cpu.memory import byte_strides
from tensorlayout.devices import as_device
from tensorlayout.dtypes import as_dtype
from tensorlayout.plan import backend
from tensorlayout.plan.described import packed_steps
from tensorlayout.tensor import Tensor


def describe(x: Tensor) -> dict[str, Any]:
    """What the attribute holds; AttributeError on the CPU, and for what it cannot say.

    That is bfloat16, and tiles.

    `stream` is our current one, for consumers to wait for; the host does not.
    """
    if x._spec.layout.is_tiled:
        msg = f"__cuda_array_interface__: layout {x.layout} is tiled; use to_layout() first"
        raise AttributeError(msg)
    if x.device.kind != "cuda" or dtypes.is_bfloat16(x.dtype):
        msg = f"__cuda_array_interface__: not for {x.dtype} on the {x.device}; use DLPack"
        raise AttributeError(msg)
    found: Any = backend(x.device)  # with what no other kind of device has
    layout, memory = x._spec.layout, found.exposed(x)
    return {
        "version": 3,
        "shape": x.shape,
        "typestr": x.dtype.str,
        "data": (memory.address if x.size else 0, memory.readonly),
        "strides": None if layout.is_row_major else byte_strides(layout, x.itemsize),
        "stream": found.exported_stream(x),
    }


def receive(obj: Any, name: str) -> Tensor:
    """A tensor over the memory that `obj` describes, on the device that the memory is of.

    Our current stream of that device waits for the one that is described; the host does not.

    TypeError for masks and element types that are none of ours, BufferError for memory of no device
    and strides that are no whole elements, ValueError where no CUDA device is here, and for a
    stream that is none.
    """
    interface = obj.__cuda_array_interface__
    if interface.get("mask") is not None:
        msg = f"{name}: a masked element has no value; fill the array first"
        raise TypeError(msg)
    dtype = as_dtype(np.dtype(interface["typestr"]), f"{name}: dtype")
    shape = tuple(interface["shape"])
    address, readonly = interface["data"]
    strides = interface.get("strides")
    steps = packed_steps(shape, dtype.itemsize) if strides is None else tuple(strides)
    found: Any = backend(as_device("cuda", f"{name}: the array's device"))
    device = found.device_at(address)
    if device is None:
        msg = f"{name}: the memory at {address:#x} is not of a CUDA device"
        raise BufferError(msg)
    found.wait_for(name, interface.get("stream"), device)
    x: Tensor | None = found.borrowed(address, dtype, shape, steps, device, obj, readonly=readonly)
    if x is None:
        msg = f"{name}: strides of {steps} bytes are no whole elements of {dtype}; copy it first"
        raise BufferError(msg)
    return x
