"""``__cuda_array_interface__``, version 3, in both directions: CUDA memory described by a dict.

Source: the page "CUDA Array Interface (Version 3)" of Numba's documentation.
"""

from __future__ import annotations

from typing import Any

from tensorlayout.cpu.engine.memory import byte_strides
from tensorlayout.devices import as_device
from tensorlayout.dtypes import as_dtype, is_numpy_dtype
from tensorlayout.errors import truncate
from tensorlayout.exchange.numpy import parse_interface
from tensorlayout.plan import backend_of, byte_address_range, notify_export, watched
from tensorlayout.tensor import Tensor


def export_cuda_interface(x: Tensor) -> dict[str, Any]:
    """Return the dict with our current stream; AttributeError if it cannot describe `x`."""
    if x.device.kind != "cuda" or x.spec.layout.is_tiled or not is_numpy_dtype(x.dtype):
        description = f"{x.dtype} on the {x.device} in layout {truncate(x.layout)}"
        msg = (
            f"__cuda_array_interface__: not for {description}; use DLPack, or to_layout() out "
            "of tiles"
        )
        raise AttributeError(msg)
    cuda_backend: Any = backend_of(x.device)  # it has attributes that other backends lack
    layout, memory = x.spec.layout, cuda_backend.export_info(x)
    if watched:
        notify_export("__cuda_array_interface__", x.spec)
    return {
        "version": 3,
        "shape": x.shape,
        "typestr": x.dtype.str,
        # The protocol: the address is 0 if there are no elements, and no strides mean row-major.
        "data": (memory.address if x.size else 0, memory.readonly),
        "strides": None if layout.is_row_major else byte_strides(layout, x.itemsize),
        "stream": cuda_backend.stream_for_consumer(x),
    }


def import_cuda_interface(obj: Any) -> Tensor:
    """Return a tensor over the memory that `obj` describes, on the device of the memory.

    Our current stream of that device waits for the described stream; the host does not. Besides the
    errors of `parse_interface`: BufferError for memory that is on no device, and for strides that
    are not whole elements; ValueError without a CUDA device, and for an invalid stream.
    """
    interface = obj.__cuda_array_interface__
    try:
        description = parse_interface(interface)
        dtype = as_dtype(description.dtype, "elements:")
        if description.address is None:
            raise TypeError("'data' must be an address and a read-only flag")
        first_address, end_address = byte_address_range(
            description.address, dtype.itemsize, description.shape, description.steps
        )
    except (TypeError, ValueError, BufferError) as error:
        raise type(error)(f"__cuda_array_interface__ of {type(obj).__name__}: {error}") from None
    cuda_backend: Any = backend_of(as_device("cuda", "the array's device"))
    device = cuda_backend.device_of_address(first_address)
    # Ask for the last byte, too: a description may reach beyond its allocation.
    if device is None or (
        end_address > first_address and cuda_backend.device_of_address(end_address - 1) != device
    ):
        raise BufferError(
            f"the memory at {first_address:#x} is not of a CUDA device, or not all of it"
        )
    cuda_backend.make_current_stream_wait("asarray", interface.get("stream"), device)
    memory = description.address, dtype, description.shape, description.steps, device, obj
    x: Tensor | None = cuda_backend.wrap_external(*memory, readonly=description.readonly)
    if x is None:
        msg = (
            f"strides of {description.steps} bytes are no whole elements of {dtype}; copy it first"
        )
        raise BufferError(msg)
    return x
