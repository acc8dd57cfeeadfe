"""The one seam to the hardware, `Driver`: memory, copies, launches, and what counts them."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tensorlayout.dtypes import DType
from tensorlayout.errors import short_repr
from tensorlayout.support.interning import memoize

Bytes = NDArray[np.uint8]

# Modules that define `open_driver()`, imported when first asked for: CuPy is an optional library.
_DRIVERS = {
    "simulator": "tensorlayout.cuda.engine.simulator",
    "cupy": "tensorlayout.cuda.engine.cupy",
}


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel to compile and launch: pure data, made by plans.

    `types` and `shape` are macros, as (name, value). A GPU compiles one kernel for each set of
    them; the simulator one file for each `types`, with every `shape` in it as ``name_value_value``.
    `operation` is the functor, or "". `file` is in the folder of kernels, unless it is absolute.
    """

    file: str
    name: str
    types: tuple[tuple[str, str], ...] = ()
    shape: tuple[tuple[str, str], ...] = ()
    operation: str = ""

    @property
    def symbol(self) -> str:
        """The name of this shape among all shapes of the kernel."""
        return "_".join((self.name, *(value for _, value in self.shape)))


# Numbers of default streams: the legacy one of each device, and that of each thread.
LEGACY_STREAM, PER_THREAD_STREAM = 1, 2


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream of one device, numbered as the array API standard has it."""

    device: int
    number: int  # 1: the legacy default stream; 2: that of the thread; else the address
    owner: object = field(default=None, compare=False, repr=False)  # keeps the stream alive


@dataclass(slots=True)
class Counters:
    """Counts of what a driver has done since it was opened."""

    compiles: int = 0
    cache_hits: int = 0
    launches: int = 0
    library_calls: int = 0
    allocations: int = 0
    synchronisations: int = 0


class StridedMemory(NamedTuple):
    """Elements in the memory of a device, as numerical libraries see them."""

    address: int  # of the element at index (0, …, 0)
    shape: tuple[int, ...]
    steps: tuple[int, ...]  # strides, in bytes
    dtype: DType
    device: int

    @property
    def lowest_address_and_nbytes(self) -> tuple[int, int]:
        """The address of the lowest byte, and the bytes from there to the end."""
        if 0 in self.shape:
            return self.address, 0
        reach = [(n - 1) * step for n, step in zip(self.shape, self.steps, strict=True)]
        below, above = sum(min(r, 0) for r in reach), sum(max(r, 0) for r in reach)
        return self.address + below, above - below + self.dtype.itemsize


class Buffer:
    """Device memory, which lives as long as `owner`: it frees itself when it is collected."""

    __slots__ = ("_kept", "_owner", "device", "nbytes", "pointer")

    def __init__(self, pointer: int, nbytes: int, device: int, owner: object) -> None:
        self.pointer = pointer
        self.nbytes = nbytes
        self.device = device
        self._owner = owner
        self._kept: tuple[object, ...] = ()

    def keep_owner_alive(self, owner: object) -> None:
        """Keep another owner as long as the memory."""
        if owner not in self._kept:
            self._kept = (*self._kept, owner)


# ``launcher(grid, parameters)`` launches blocks on the current stream; `parameters` is then free.
Launcher = Callable[[int | tuple[int, int, int], bytearray], None]

# For the device that is current already: to set it again would cost 0.5 us.
_HERE = nullcontext()


class Driver(Protocol):
    """Devices, their memory, and launches on them.

    What is written out here holds where work is over as soon as it is enqueued, and no stream
    captures a graph.
    """

    name: str  # "simulator" or "cupy"
    counters: Counters
    captures: Mapping[int, object] = MappingProxyType({})  # what each has allocated, by streams
    _has: str = "there are"
    _device_count: int
    only: int | None  # device, which then is always current
    _launchers: dict[Kernel, Launcher]

    def __init__(self, device_count: int) -> None:
        self.counters, self._launchers = Counters(), {}
        self._device_count, self.only = device_count, 0 if device_count == 1 else None

    def device_count(self) -> int:
        """Return how many devices there are."""
        return self._device_count

    def check_device(self, device: int) -> None:
        """Raise ValueError for the number of a device that is not there."""
        if not 0 <= device < self._device_count:
            msg = f"cuda: there is no device {device}; {self._has} {self.device_count()}"
            raise ValueError(msg)

    def current_device(self) -> int:
        """Return the device of this thread's launches and copies."""

    def using_device(self, device: int) -> AbstractContextManager[Any]:
        """Make `device` the current one inside a ``with`` block, for this thread."""
        if device == self.only:
            return _HERE
        self.check_device(device)
        return _HERE if device == self.current_device() else self._device_context(device)

    def device_of(self, pointer: int) -> int | None:
        """Return the device whose memory is at this address; None if it is no device's."""

    def current_stream(self, device: int) -> Stream:
        """Return the stream of this thread's launches and copies on `device`."""

    def completion_test(self, stream: Stream) -> Callable[[], bool]:
        """Return what says, in any thread, whether all that `stream`, the current one, has is over.

        It may look for what comes later, too.
        """
        return lambda: True

    def is_capturing(self, device: int) -> bool:
        """Return whether the current stream captures a graph; to wait is then a `CaptureError`."""
        return False

    def capture_memory(self, device: int) -> object | None:
        """Return what the capture of the current stream has allocated; None without a capture."""
        return None

    def make_stream_wait(self, first: Stream, then: Stream) -> None:
        """Make what is enqueued on `then` from now on wait for what `first` holds; not the host."""
        return  # what is over needs no waiting; without a body, the method would be abstract

    def allocate(self, nbytes: int, device: int) -> Buffer:
        """Allocate memory that begins at a multiple of 256; MemoryError names asked and free bytes.

        What is allocated during the capture of a graph lives as long as any of it.
        """

    def wrap_memory(self, pointer: int, nbytes: int, device: int, owner: object) -> Buffer:
        """Return a buffer over memory that `owner` holds, which it keeps alive."""

    def copy_to_device(self, pointer: int, source: Bytes) -> None:
        """Copy contiguous bytes of the host to device memory; then `source` has been read."""

    def copy_to_host(self, destination: Bytes, pointer: int) -> None:
        """Copy device memory to contiguous bytes of the host; waits for the current stream."""

    def copy_device_to_device(self, destination: int, source: int, nbytes: int) -> None:
        """Copy on the current stream, from one device to another too, to other memory."""

    # What each driver has of its own.
    def _new_launcher(self, kernel: Kernel) -> Launcher: ...
    def _device_context(self, device: int) -> AbstractContextManager[Any]: ...

    def launcher(self, kernel: Kernel) -> Launcher:
        """Compile a kernel, or find it in a cache. RuntimeError if it does not compile."""
        cached = self._launchers.get(kernel)
        if cached is None:
            cached = self._launchers[kernel] = self._new_launcher(kernel)
        return cached

    def synchronize(self) -> None:
        """Wait for the current stream."""

    def array_module(self, purpose: str) -> Any:
        """Return CuPy or NumPy for a call, named by `purpose`, on the current stream."""

    def array_over_memory(
        self, description: StridedMemory, owner: object, *, written: bool = False
    ) -> Any:
        """Return the library's array over memory that it is to read or, if `written`, to write.

        `owner` is kept with it.
        """


def out_of_memory_error(nbytes: int, free: int, device: int) -> MemoryError:
    """Return the error of an allocation that finds no room."""
    return MemoryError(f"cuda:{device}: asked for {nbytes} bytes, and {free} bytes are free")


def import_cupy_module(name: str) -> Any:
    """Import a module of CuPy. RuntimeError with the extra to install, where it is not there."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        # Its own libraries may be what is missing: the reason is told, on the same line.
        reason = str(error).strip().partition("\n")[0]
        raise RuntimeError(
            missing_requirement_message(f"CuPy cannot be imported ({reason})")
        ) from None


def missing_requirement_message(requirement: str) -> str:
    """Return the line that says what is missing, and what to install."""
    return (
        f"cuda: {requirement}; a GPU needs pip install 'tensorlayout[cuda12]' (or "
        "'tensorlayout[cuda13]')"
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
