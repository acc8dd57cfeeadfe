"""``__cuda_array_interface__``, version 3: CUDA memory described in a dictionary, both ways.

Source: the page "CUDA Array Interface (Version 3)" of Numba's documentation.
"""

from __future__ import annotations

from typing import Any

from tensorlayout.cpu.engine.memory import byte_strides
from tensorlayout.devices import as_device
from tensorlayout.dtypes import as_dtype, is_numpys
from tensorlayout.errors import cut
from tensorlayout.exchange.numpy import described
from tensorlayout.plan import backend, extent, note_export, watched
from tensorlayout.tensor import Tensor


def describe(x: Tensor) -> dict[str, Any]:
    """Return the dictionary, with our current stream; AttributeError for what it cannot say."""
    if x.device.kind != "cuda" or x.spec.layout.is_tiled or not is_numpys(x.dtype):
        what = f"{x.dtype} on the {x.device} in layout {cut(x.layout)}"
        msg = f"__cuda_array_interface__: not for {what}; use DLPack, or to_layout() out of tiles"
        raise AttributeError(msg)
    found: Any = backend(x.device)  # with what no other kind of device has
    layout, memory = x.spec.layout, found.exposed(x)
    if watched:
        note_export("__cuda_array_interface__", x.spec)
    return {
        "version": 3,
        "shape": x.shape,
        "typestr": x.dtype.str,
        "data": (memory.address if x.size else 0, memory.readonly),
        "strides": None if layout.is_row_major else byte_strides(layout, x.itemsize),
        "stream": found.exported_stream(x),
    }


def receive(obj: Any) -> Tensor:
    """Return a tensor over the memory that `obj` describes, on the device of the memory.

    Our current stream of that device waits for the one that is described; the host does not. Beside
    the errors of `described`, BufferError for memory of no device and for strides that are no whole
    elements; ValueError where no CUDA device is here, and for a stream that is none.
    """
    interface = obj.__cuda_array_interface__
    try:
        given = described(interface)
        dtype = as_dtype(given.dtype, "elements:")
        if given.address is None:
            raise TypeError("'data' must be an address and a read-only flag")
        low, high = extent(given.address, dtype.itemsize, given.shape, given.steps)
    except (TypeError, ValueError, BufferError) as error:
        raise type(error)(f"__cuda_array_interface__ of {type(obj).__name__}: {error}") from None
    found: Any = backend(as_device("cuda", "the array's device"))
    device = found.device_at(low)
    if device is None or (high > low and found.device_at(high - 1) != device):
        raise BufferError(f"the memory at {low:#x} is not of a CUDA device, or not all of it")
    found.wait_for("asarray", interface.get("stream"), device)
    memory = given.address, dtype, given.shape, given.steps, device, obj
    x: Tensor | None = found.borrowed(*memory, readonly=given.readonly)
    if x is None:
        msg = f"strides of {given.steps} bytes are no whole elements of {dtype}; copy it first"
        raise BufferError(msg)
    return x
