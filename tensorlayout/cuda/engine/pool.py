"""Device memory as users see it: statistics, a limit, and memory that other streams use."""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

from tensorlayout.cuda.engine.driver import driver
from tensorlayout.cuda.engine.memory import as_stream
from tensorlayout.devices import Device, as_device
from tensorlayout.errors import qualified_type_name, raise_named_error, short_repr
from tensorlayout.tensor import Tensor


class MemoryStats(NamedTuple):
    """Memory of a CUDA device, in **bytes**; `memory_stats` returns it.

    - `used`: allocated to tensors and to other owners, in the sizes to which the pool rounds.
    - `reserved`: held by the pool, used or kept for later allocations.
    - `free`: free on the device, outside the pool; None if the simulator's system does not tell.
    - `limit`: most that the pool may hold; None without a limit.
    """

    used: int
    reserved: int
    free: int | None
    limit: int | None


def memory_stats(device: Device | str | None = None) -> MemoryStats:
    """Return the memory of a CUDA device that is used, reserved and free, in bytes.

    `device`: a CUDA device or its name; None for the current one. The pool is CuPy's current
    allocator, which other users of CuPy share; it keeps no peak.

    Raises ValueError for a device that is not available or no CUDA device, TypeError for other
    objects, and RuntimeError if CuPy's current allocator keeps no statistics.
    """
    return MemoryStats(*driver().memory_stats(cuda_device_number("memory_stats", device)))


def set_memory_limit(nbytes: int | None, device: Device | str | None = None) -> None:
    """Limit the memory that the pool of a CUDA device may hold; beyond it, calls raise MemoryError.

    `nbytes`: the limit in **bytes**; None removes it. `device`: a CUDA device or its name; None for
    the current one. Memory that the pool already holds stays.

    Raises ValueError for a limit below 1, and for a device that is not available or no CUDA device;
    TypeError for other objects; RuntimeError if CuPy's current allocator has no limit.
    """
    if nbytes is not None:
        if isinstance(nbytes, bool) or not hasattr(nbytes, "__index__"):
            msg = f"nbytes must be an integer or None, got {short_repr(nbytes)}"
            raise_named_error("set_memory_limit", msg, TypeError)
        nbytes = operator.index(nbytes)
        if nbytes < 1:
            raise_named_error("set_memory_limit", f"nbytes must be at least 1, got {nbytes}")
    driver().set_memory_limit(nbytes, cuda_device_number("set_memory_limit", device))


def empty_cache() -> None:
    """Return unused memory of the pools, on the devices and pinned, to the system.

    CuPy's pools are freed on all devices. This does not free tensors; it waits for no stream.
    """
    driver().empty_cache()


def record_stream(x: Tensor, stream: Any, /) -> None:
    """Keep the memory of `x` from reuse until a stream has finished the work that it has by then.

    Freed memory is reused in the order of the stream on which it was allocated. If another stream
    reads or writes `x`, call this before the last reference to `x` is dropped: then its memory is
    kept until all work has finished that `stream` has when that happens. It applies to all tensors
    that share the memory, and does not make one stream wait for another.

    - `x`: a tensor of any dtype on a CUDA device.
    - `stream`: a stream of that device: an object with ``__cuda_stream__``, such as CuPy's and
      `cuda.core`'s streams; or its address, 1 for the legacy default stream, 2 for the per-thread
      default stream.

    Raises ValueError for a tensor on the CPU, and for 0 and negative numbers; TypeError for other
    objects.
    """
    if not isinstance(x, Tensor):
        msg = f"x must be a tensor, got {qualified_type_name(x)}"
        raise_named_error("record_stream", msg, TypeError)
    if x.device.kind != "cuda":
        raise_named_error("record_stream", f"x must be on a CUDA device, and is on {x.device}")
    if x.home is None:
        msg = "it cannot be part of a fused function, whose tensors have no memory"
        raise_named_error("record_stream", msg, TypeError)
    gpu = driver()
    buffer, user = x.home[0], as_stream("record_stream", stream, x.device)
    buffer.release_after(user, gpu.keep_until_finished)


def cuda_device_number(name: str, device: Device | str | None) -> int:
    """Return the number of a CUDA device; None is the current one."""
    if device is None:
        return driver().current_device()
    as_given = as_device(device, f"{name}: device")
    if as_given.kind != "cuda":
        raise_named_error(name, f"device must be a CUDA device, got {short_repr(str(as_given))}")
    return as_given.number
