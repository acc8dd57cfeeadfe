"""``__cuda_array_interface__``, version 3: CUDA memory described in a dictionary, both ways.

Source: the page "CUDA Array Interface (Version 3)" of Numba's documentation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorlayout import dtypes
from tensorlayout.cpu.memory import byte_strides
from tensorlayout.devices import Device
from tensorlayout.dtypes import as_dtype
from tensorlayout.plan import backend
from tensorlayout.plan.described import packed_steps
from tensorlayout.tensor import Tensor

_LEGACY_STREAM = 1


def describe(x: Tensor) -> dict[str, Any]:
    """What the attribute holds; AttributeError on the CPU, and for bfloat16, which it cannot name.

    The host has waited for what was enqueued, so that any stream may use the memory.
    """
    if x.device.kind != "cuda" or dtypes.is_bfloat16(x.dtype):
        msg = f"__cuda_array_interface__: not for {x.dtype} on the {x.device}; use DLPack"
        raise AttributeError(msg)
    found, layout = backend(x.device), x._spec.layout
    found.ready("__cuda_array_interface__", _LEGACY_STREAM)
    memory = found.exposed(x)
    return {
        "version": 3,
        "shape": x.shape,
        "typestr": x.dtype.str,
        "data": (memory.address if x.size else 0, memory.readonly),
        "strides": None if layout.is_row_major else byte_strides(layout, x.itemsize),
        "stream": _LEGACY_STREAM,
    }


def receive(obj: Any, name: str) -> Tensor:
    """A tensor over the memory that `obj` describes, on the first CUDA device that is here.

    TypeError for masks and element types that are none of ours, BufferError for strides that are no
    whole elements, ValueError where no CUDA device is here.
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
    device = Device("cuda")
    found = backend(device)
    found.ready(name, interface.get("stream"))
    x = found.borrowed(address, dtype, shape, steps, device, obj, readonly=readonly)
    if x is None:
        msg = f"{name}: strides of {steps} bytes are no whole elements of {dtype}; copy it first"
        raise BufferError(msg)
    return x
