"""Pinned memory of the host, and copies for which the host does not wait."""

from __future__ import annotations

from typing import Any

from tensorlayout.cuda.engine import faults
from tensorlayout.cuda.engine.driver import Bytes, driver
from tensorlayout.cuda.engine.memory import as_stream, tensor_allocator
from tensorlayout.cuda.engine.streams import Event, Stream
from tensorlayout.devices import CPU, Device, as_device
from tensorlayout.errors import qualified_type_name, raise_named_error
from tensorlayout.layout import PaddingValue
from tensorlayout.plan import Copy, backend_of, compile_call, notify_listeners
from tensorlayout.plan import Event as TraceEvent
from tensorlayout.tensor import Tensor, TensorSpec

_PIN, _COPY = Copy("pin_memory"), Copy("copy_async")


def pin_memory(x: Tensor, /) -> Tensor:
    """Return a copy of `x` in pinned memory of the host, to and from which devices copy directly.

    `x`: a tensor of any dtype on the CPU. Layout of the result: that of `x` if it covers a block,
    else the form of `x`, as in `to_device`. All functions accept pinned tensors; their results are
    not pinned.

    Raises ValueError for a tensor on another device, TypeError for other objects, and RuntimeError
    without a CUDA device.
    """
    _check_tensor("pin_memory", x)
    if x.device != CPU:
        raise_named_error("pin_memory", f"x must be on the CPU, and is on {x.device}")
    source, x = x.spec, _without_gaps(_PIN, x)
    notify_listeners(TraceEvent("pin_memory", source, x.spec, "pin it once, and use it again"))
    result, octets, _ = _allocate_pinned(x.spec)
    octets[...] = backend_of(CPU).read_bytes(x)
    return result


class AsyncCopy:
    """A copy between the host and a device that may be unfinished; `copy_async` returns it."""

    def __init__(self, tensor: Tensor, event: Event, source: Tensor) -> None:
        self._tensor, self._event = tensor, event
        self._source: Tensor | None = source

    def __repr__(self) -> str:
        state = "finished" if self.done else "unfinished"
        return f"<AsyncCopy to {self._tensor.device}, {state}>"

    @property
    def done(self) -> bool:
        """True if the copy has finished."""
        return self._event.done

    def synchronize(self) -> None:
        """Wait on the host until the copy has finished; then the source may be written to.

        Raises IndexError for a position out of bounds in an earlier call, as `to_device` does.
        """
        self._event.synchronize()
        self._source = None
        faults.raise_pending_errors()

    def result(self) -> Tensor:
        """Return the copied tensor; if it is on the CPU, wait until the copy has finished.

        Layout of the result: that of the source if it covers a block, else its form. A result
        on a device can be used at once: later work on the stream comes after the copy.
        Raises IndexError as `synchronize` does.
        """
        if self._tensor.device == CPU and self._source is not None:
            self.synchronize()
        return self._tensor


def copy_async(x: Tensor, device: Device | str, /) -> AsyncCopy:
    """Begin to copy `x` between the host and a CUDA device; the host does not wait for the copy.

    The tensor is the `result` of what is returned. A copy to the CPU arrives in pinned memory,
    which cannot be read before it has arrived. A copy to a device reads pinned memory directly:
    do not write to `x` before the copy is done. Memory that is not pinned has been read on return.
    The copy runs on the current stream of the device, and keeps the memory that it uses.

    - `x`: a tensor of any dtype on the CPU, for a CUDA device; or on a CUDA device, for the CPU.
    - `device`: a device or its name.

    The result has the layout of `x` if that covers a block, else its form.

    Raises ValueError for a device of the same kind, or one that is not available; TypeError for
    other objects; RuntimeError while the stream captures a graph.
    """
    _check_tensor("copy_async", x)
    if device is None:
        raise_named_error("copy_async", "device must be a device or its name, got None", TypeError)
    target = as_device(device, "copy_async: device")
    if target.kind == x.device.kind:
        msg = f"copies between the CPU and CUDA devices, not from {x.device} to {target}"
        raise_named_error("copy_async", msg)
    gpu, source, x = driver(), x.spec, _without_gaps(_COPY, x)
    spec = TensorSpec(x.dtype, x.spec.layout, target)
    notify_listeners(TraceEvent("copy_async", source, spec))
    on_device = x.device if target == CPU else target
    with gpu.using_device(on_device.number):
        stream = Stream.current(on_device)
        if target == CPU:
            result, octets, owner = _allocate_pinned(spec)
            if octets.size:
                gpu.copy_to_host(octets, x.memory.address, wait=False)
        else:
            result, octets, owner = tensor_allocator(spec)(), backend_of(CPU).read_bytes(x), None
            if octets.size:
                gpu.copy_to_device(result.memory.address, octets, wait=False)
        gpu.keep_until_finished((octets, owner, x.home), as_stream("copy_async", stream, on_device))
        return AsyncCopy(result, stream.record(), x)


def _without_gaps(operation: Copy, x: Tensor) -> Tensor:
    """Return `x`, or a copy if its memory has gaps or may not hold its padding value.

    As in `to_device`: gaps are packed away, and padding of the host may hold anything.
    """
    layout = x.spec.layout
    if not layout.covers_block:
        return compile_call(operation, x.spec, None, None)(x)
    is_filled = layout.is_padded and layout.padding_value is not PaddingValue.UNSPECIFIED
    if x.device == CPU and is_filled:
        return compile_call(operation, x.spec, layout, None)(x)
    return x


def _allocate_pinned(spec: TensorSpec) -> tuple[Tensor, Bytes, object]:
    """Return a tensor in new pinned memory, its uninitialised bytes, and the memory's owner."""
    octets, owner = driver().allocate_pinned(spec.layout.nbytes(spec.dtype))
    wrap = backend_of(CPU).wrap_external_slots
    return wrap(octets.ctypes.data, spec, owner, readonly=False), octets, owner


def _check_tensor(name: str, x: Any) -> None:
    if not isinstance(x, Tensor):
        raise_named_error(name, f"x must be a tensor, got {qualified_type_name(x)}", TypeError)
