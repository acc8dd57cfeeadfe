"""`Driver`, the interface to the hardware: memory, copies, launches, and their counters."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tensorlayout.dtypes import DType
from tensorlayout.errors import short_repr
from tensorlayout.support.interning import memoize

Bytes = NDArray[np.uint8]

# Modules with `open_driver()`, imported at first use because CuPy is an optional library.
_DRIVERS = {
    "simulator": "tensorlayout.cuda.engine.simulator",
    "cupy": "tensorlayout.cuda.engine.cupy",
}


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel to compile and launch: pure data, created by plans.

    - `file`: path in the folder of kernels, or an absolute path.
    - `types`, `shape`: macros, as (name, value). A GPU compiles one kernel for each set of them.
      The simulator compiles a file for each `types`, with every `shape` as ``name_value_value``.
    - `operation`: name of the functor, or "".
    """

    file: str
    name: str
    types: tuple[tuple[str, str], ...] = ()
    shape: tuple[tuple[str, str], ...] = ()
    operation: str = ""

    @property
    def symbol(self) -> str:
        """Name of this shape of the kernel in the simulator."""
        return "_".join((self.name, *(value for _, value in self.shape)))


# Numbers of the default streams: the legacy one of each device, and the per-thread one.
LEGACY_STREAM, PER_THREAD_STREAM = 1, 2


class Stream(NamedTuple):
    """A stream of one device, with its number in the array API standard."""

    device: int
    number: int  # 1: the legacy default stream; 2: that of the thread; else the address
    owner: object = None  # keeps the stream alive

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self[:2] == other[:2]

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self[:2])


@dataclass(slots=True)
class Counters:
    """Counters of a driver's actions since it was opened."""

    compiles: int = 0
    cache_hits: int = 0
    launches: int = 0
    library_calls: int = 0
    allocations: int = 0
    synchronisations: int = 0


class StridedMemory(NamedTuple):
    """Strided elements in device memory, as numerical libraries describe them."""

    address: int  # of the element at index (0, …, 0)
    shape: tuple[int, ...]
    steps: tuple[int, ...]  # strides, in bytes
    dtype: DType
    device: int

    @property
    def lowest_address_and_nbytes(self) -> tuple[int, int]:
        """Address of the lowest byte, and the number of bytes from there to the end."""
        if 0 in self.shape:
            return self.address, 0
        reach = [(n - 1) * step for n, step in zip(self.shape, self.steps, strict=True)]
        below, above = sum(min(r, 0) for r in reach), sum(max(r, 0) for r in reach)
        return self.address + below, above - below + self.dtype.itemsize


class Buffer:
    """Device memory that lives as long as `owner`, which frees it when it is collected."""

    __slots__ = ("_kept", "_owner", "device", "nbytes", "pointer")

    def __init__(self, pointer: int, nbytes: int, device: int, owner: object) -> None:
        self.pointer = pointer
        self.nbytes = nbytes
        self.device = device
        self._owner = owner
        self._kept: tuple[object, ...] = ()

    def keep_alive_with_buffer(self, kept_object: object) -> None:
        """Keep another object alive as long as the memory."""
        if kept_object not in self._kept:
            self._kept = (*self._kept, kept_object)

    def release_after(self, stream: Stream, keep: Callable[[object, Stream], object]) -> None:
        """Call ``keep(owner, stream)`` when the buffer is released; owner: of its memory."""
        if not isinstance(self._owner, UsedByStreams):
            self._owner = UsedByStreams(self._owner, keep)
        self._owner.streams[stream] = None


class UsedByStreams:
    """Owner of memory that `streams` use in addition to the one on which it was allocated.

    When it is collected, ``keep(owner, stream)`` keeps the owner until each of them has finished.
    """

    def __init__(self, owner: object, keep: Callable[[object, Stream], object]) -> None:
        self.streams: dict[Stream, None] = {}  # in the order of their use
        self._owner, self._keep = owner, keep

    def __del__(self) -> None:
        for stream in self.streams:
            self._keep(self._owner, stream)


# ``launcher(grid, parameters)`` launches blocks on the current stream; afterwards the caller may
# change `parameters`.
Launcher = Callable[[int | tuple[int, int, int], bytearray], None]

# Context for a device that is current already: setting it again would cost 0.5 us.
_HERE = nullcontext()


class Driver(Protocol):
    """Devices, their memory, and launches on them.

    Default implementations are for drivers whose work is finished when it is enqueued, and which
    cannot capture graphs.
    """

    name: str  # "simulator" or "cupy"
    counters: Counters
    # Stream, Event, get_current_stream and get_elapsed_time, as `cupy.cuda` has them.
    streams: Any
    captures: Mapping[int, object] = MappingProxyType({})  # memory of captures, by stream number
    _has: str = "there are"
    _device_count: int
    only: int | None  # the only device, which is always current; None with several
    fault_records: dict[int, Any]  # by device; the module `faults` keeps them
    _launchers: dict[Kernel, Launcher]

    def __init__(self, device_count: int) -> None:
        self.counters, self._launchers, self.fault_records = Counters(), {}, {}
        self._device_count, self.only = device_count, 0 if device_count == 1 else None

    def device_count(self) -> int:
        """Return the number of devices."""
        return self._device_count

    def check_device(self, device: int) -> None:
        """Raise ValueError for the number of a device that does not exist."""
        if not 0 <= device < self._device_count:
            msg = f"cuda: there is no device {device}; {self._has} {self.device_count()}"
            raise ValueError(msg)

    def current_device(self) -> int:
        """Return the current device of this thread."""

    def using_device(self, device: int) -> AbstractContextManager[Any]:
        """Make `device` the current one inside a ``with`` block, for this thread."""
        if device == self.only:
            return _HERE
        self.check_device(device)
        return _HERE if device == self.current_device() else self._device_context(device)

    def device_of(self, pointer: int) -> int | None:
        """Return the device whose memory contains an address; None if it is no device memory."""

    def current_stream(self, device: int) -> Stream:
        """Return the stream of this thread's launches and copies on `device`."""

    def completion_test(self, stream: Stream) -> Callable[[], bool]:
        """Return a test, for any thread, whether all work on the current stream has finished.

        `stream`: the current stream. The test may include work that is enqueued later.
        """
        return lambda: True

    def is_capturing(self, device: int) -> bool:
        """Return whether the current stream captures a graph; waiting raises CaptureError then."""
        return False

    def current_capture_memory(self, device: int) -> object | None:
        """Return the memory allocated by the current stream's capture; None without a capture."""
        return None

    def make_stream_wait(self, first: Stream, waiting: Stream) -> None:
        """Make later work on `waiting` wait for all work on `first`; the host does not wait."""
        return  # finished work needs no waiting; without a body, the method would be abstract

    def enable_peer_access(self, first: int, second: int) -> None:
        """Let two devices copy between their memories directly, if they can; once for each pair."""
        return

    def allocate(self, nbytes: int, device: int) -> Buffer:
        """Allocate memory whose address is a multiple of 256.

        All memory allocated during the capture of a graph lives as long as any part of it. Raises
        MemoryError with the requested and the free bytes.
        """

    def memory_stats(self, device: int) -> tuple[int, int, int | None, int | None]:
        """Return used, reserved and free bytes of a device, and the limit of its pool."""

    def set_memory_limit(self, nbytes: int | None, device: int) -> None:
        """Limit the bytes that the pool of a device may hold; None removes the limit."""

    def empty_cache(self) -> None:
        """Return unused memory of the pools to the system."""
        return  # for drivers without pools; without a body, the method would be abstract

    def keep_until_finished(self, kept_object: object, stream: Stream) -> None:
        """Keep an object alive until the work that `stream` has now is finished; do not wait."""
        return  # finished work needs no waiting

    def wrap_memory(self, pointer: int, nbytes: int, device: int, owner: object) -> Buffer:
        """Return a buffer over the memory of `owner`, which the buffer keeps alive."""

    def allocate_pinned(self, nbytes: int) -> tuple[Bytes, object]:
        """Allocate uninitialised pinned memory of the host; it lives as long as the second item."""

    def copy_to_device(self, pointer: int, source: Bytes, *, wait: bool = True) -> None:
        """Copy contiguous bytes of the host to device memory; wait until `source` has been read.

        Without `wait`, pinned memory may be read later.
        """

    def copy_to_host(self, destination: Bytes, pointer: int, *, wait: bool = True) -> None:
        """Copy device memory to contiguous host bytes; waits for the current stream.

        Without `wait`, which `destination` has to be pinned for, the bytes arrive later.
        """

    def copy_device_to_device(self, destination: int, source: int, nbytes: int) -> None:
        """Copy between disjoint device memory, even of two devices, on the current stream."""

    # Implemented by each driver.
    def _new_launcher(self, kernel: Kernel) -> Launcher: ...
    def _device_context(self, device: int) -> AbstractContextManager[Any]: ...

    def launcher(self, kernel: Kernel) -> Launcher:
        """Return a kernel's launcher, compiled or cached. RuntimeError if it does not compile."""
        cached = self._launchers.get(kernel)
        if cached is None:
            # Two threads may both come here; either of their launchers serves, so there is no lock.
            cached = self._launchers[kernel] = self._new_launcher(kernel)
        return cached

    def loaded_kernels(self) -> list[Kernel]:
        """Return the kernels that have a launcher, in the order of their first use."""
        return list(self._launchers)

    def synchronize(self) -> None:
        """Wait for the current stream."""

    def array_module(self, purpose: str) -> Any:
        """Return CuPy or NumPy for a library call on the current stream; `purpose`: its name."""

    def array_over_memory(
        self, description: StridedMemory, owner: object, *, is_for_writing: bool = False
    ) -> Any:
        """Return the library's array over memory, for reading or, if `is_for_writing`, writing.

        The array keeps `owner` alive.
        """


def out_of_memory_error(asked: str, free: int | None, device: int) -> MemoryError:
    """Return the error for an allocation of what is `asked`; `free`: bytes, if they matter."""
    there = "" if free is None else f", and {free} bytes are free"
    return MemoryError(f"cuda:{device}: asked for {asked}{there}")


def import_cupy_module(name: str) -> Any:
    """Import a module of CuPy. Raises RuntimeError, with what to install, if that fails."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        # CuPy may be installed and a library that it needs missing, so the message has the reason.
        reason = str(error).strip().partition("\n")[0]
        raise RuntimeError(
            missing_requirement_message(f"CuPy cannot be imported ({reason})")
        ) from None


def missing_requirement_message(requirement: str) -> str:
    """Return the error message for a missing requirement, with the command to install it."""
    return (
        f"cuda: {requirement}; a GPU needs pip install 'cupy-cuda12x[ctk]' (or "
        "'cupy-cuda13x[ctk]')"
        " and NVIDIA's driver, and TENSORLAYOUT_CUDA_SIMULATOR=1 does without"
    )


@memoize
def driver() -> Driver:
    """Open the simulator if ``TENSORLAYOUT_CUDA_SIMULATOR=1``, else CuPy; once per process."""
    choice = os.environ.get("TENSORLAYOUT_CUDA_SIMULATOR", "0")
    if choice not in ("", "0", "1"):
        raise ValueError(
            f"cuda: TENSORLAYOUT_CUDA_SIMULATOR must be 0 or 1, got {short_repr(choice)}"
        )
    module = importlib.import_module(_DRIVERS["simulator" if choice == "1" else "cupy"])
    return module.open_driver()
