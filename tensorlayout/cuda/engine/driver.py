"""The one seam to the hardware: memory, copies, launches, and what counts them.

Everything else in `tensorlayout.cuda` is written against `Driver`. `driver` picks the
implementation once per process.
"""

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
from tensorlayout.errors import shown
from tensorlayout.support.interning import once

Bytes = NDArray[np.uint8]

# Modules that define `open_driver()`, imported when first asked for: CuPy is an optional library.
_DRIVERS = {
    "simulator": "tensorlayout.cuda.engine.simulator",
    "cupy": "tensorlayout.cuda.engine.cupy",
}


@dataclass(frozen=True, slots=True)
class Kernel:
    """What to compile and launch: pure data, made by plans.

    `types` and `shape` are macros, as (name, value). A GPU compiles one kernel for each set of
    them; the simulator one file for each `types`, with every `shape` in it as ``name_value_value``.
    `operation` is the functor, or "". `file` is in the folder of kernels, unless it is absolute.

    >>> Kernel("copy/copy.cu", "copy_rows", shape=(("RANK", "2"), ("INDEX", "int32_t"))).symbol
    'copy_rows_2_int32_t'
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


# The number of the legacy default stream, which every device has.
LEGACY_STREAM = 1

# The number of the default stream that each thread has of its own.
PER_THREAD_STREAM = 2


@dataclass(frozen=True, slots=True)
class Stream:
    """What is enqueued on one device in one order.

    Attributes:
        device: the number of the device.
        number: as the array API standard has it: 1 for the legacy default stream, 2 for that of the
            thread, else the address.
        owner: what keeps the stream alive, if anything does.

    """

    device: int
    number: int
    owner: object = field(default=None, compare=False, repr=False)


@dataclass(slots=True)
class Counters:
    """What a driver has done since it was opened."""

    compiles: int = 0
    cache_hits: int = 0
    cache_misses: int = 0
    launches: int = 0
    library_calls: int = 0
    allocations: int = 0
    synchronisations: int = 0


class Strided(NamedTuple):
    """Elements in the memory of a device, as numerical libraries see them."""

    address: int  # of the element at index (0, …, 0)
    shape: tuple[int, ...]
    steps: tuple[int, ...]  # strides, in bytes
    dtype: DType
    device: int

    @property
    def extent(self) -> tuple[int, int]:
        """The address of the lowest byte, and how many bytes there are up to the highest."""
        if 0 in self.shape:
            return self.address, 0
        reach = [(n - 1) * step for n, step in zip(self.shape, self.steps, strict=True)]
        below, above = sum(min(r, 0) for r in reach), sum(max(r, 0) for r in reach)
        return self.address + below, above - below + self.dtype.itemsize


class Buffer:
    """Device memory, which lives as long as `owner`: it frees itself when it is collected.

    `pointer` is the address of the first byte, a multiple of 256 where the driver allocated it.
    """

    __slots__ = ("_kept", "_owner", "device", "nbytes", "pointer")

    def __init__(self, pointer: int, nbytes: int, device: int, owner: object) -> None:
        self.pointer = pointer
        self.nbytes = nbytes
        self.device = device
        self._owner = owner
        self._kept: tuple[object, ...] = ()

    def keep(self, owner: object) -> None:
        """Keep `owner`, too, as long as the memory."""
        if owner not in self._kept:
            self._kept = (*self._kept, owner)


class Launcher(Protocol):
    """A kernel made ready."""

    def __call__(self, grid: int | tuple[int, int, int], parameters: bytearray) -> None:
        """Launch `grid` blocks on the current stream, without waiting.

        `parameters` holds the kernel's struct, and is read before the call returns.
        """


# For the device that is current already: to set it again would cost 0.5 us.
_HERE = nullcontext()


class Driver(Protocol):
    """Devices, their memory, and launches on them.

    What is written out here holds where work is over as soon as it is enqueued, and no stream
    captures a graph.

    Attributes:
        name: either "simulator" or "cupy".
        counters: what has been done.
        captures: what each capture has allocated, by streams; empty where there was none of late.

    """

    name: str
    counters: Counters
    captures: Mapping[int, object] = MappingProxyType({})
    _has: str = "there are"
    _device_count: int
    _only: int | None  # device, which then is always current
    _launchers: dict[Kernel, Launcher]

    def __init__(self, device_count: int) -> None:
        self.counters, self._launchers = Counters(), {}
        self._device_count, self._only = device_count, 0 if device_count == 1 else None

    def device_count(self) -> int:
        """Return how many devices there are."""
        return self._device_count

    def check_device(self, device: int) -> None:
        """Refuse, by a ValueError, the number of a device that is not there."""
        if not 0 <= device < self._device_count:
            msg = f"cuda: there is no device {device}; {self._has} {self.device_count()}"
            raise ValueError(msg)

    def current_device(self) -> int:
        """The device of this thread's launches and copies."""

    def using(self, device: int) -> AbstractContextManager[Any]:
        """Make `device` the current one inside a ``with`` block, for this thread.

        Next to free where it is current already.
        """
        if device == self._only:
            return _HERE
        self.check_device(device)
        return _HERE if device == self.current_device() else self._made_current(device)

    def device_of(self, pointer: int) -> int | None:
        """The device whose memory is at this address; None if it is no device's."""

    def current_stream(self, device: int) -> Stream:
        """The stream of this thread's launches and copies on `device`."""

    def end_of(self, stream: Stream) -> Callable[[], bool]:
        """What says, in any thread, whether all that is on the current stream now is over.

        It may look for what comes later, too; it holds `stream`, whose work cannot be captured.
        """
        return lambda: True

    def is_capturing(self, device: int) -> bool:
        """Return whether the current stream of `device` captures a graph.

        What waits, or copies between host and device, is then refused by a `plan.CaptureError`.
        """
        return False

    def captured(self, device: int) -> object | None:
        """What the capture of the current stream has allocated; None where there is none."""
        return None

    def order(self, first: Stream, then: Stream) -> None:
        """What is enqueued on `then` from now on waits for what `first` holds now.

        The host does not wait. Nothing is to be done where both are one stream.
        """

    def allocate(self, nbytes: int, device: int) -> Buffer:
        """New memory that begins at a multiple of 256. MemoryError names asked and free bytes.

        What is allocated while a stream captures a graph lives as long as all that is.
        """

    def wrap(self, pointer: int, nbytes: int, device: int, owner: object) -> Buffer:
        """Memory that `owner` holds; the buffer keeps `owner` alive."""

    def to_device(self, pointer: int, source: Bytes) -> None:
        """Copy contiguous bytes of the host to device memory; then `source` has been read."""
        source = flat(source)
        if source.size:
            self._to_device(pointer, source)

    def to_host(self, destination: Bytes, pointer: int) -> None:
        """Copy device memory to contiguous bytes of the host; waits for the current stream."""
        destination = flat(destination)
        if destination.size:
            self._to_host(destination, pointer)

    def on_device(self, destination: int, source: int, nbytes: int) -> None:
        """Copy on the current stream, from one device to another too; it knows of no other stream.

        ValueError where the two ranges overlap.
        """
        if abs(destination - source) < nbytes:
            ends = f"from {source:#x} to {destination:#x}"
            msg = f"cuda: on_device of {nbytes} bytes {ends}: they overlap"
            raise ValueError(msg)
        if nbytes:
            self._on_device(destination, source, nbytes)

    # What the copies do, and what makes a launcher, in the words of each driver.
    def _to_device(self, pointer: int, source: Bytes) -> None: ...
    def _to_host(self, destination: Bytes, pointer: int) -> None: ...
    def _on_device(self, destination: int, source: int, nbytes: int) -> None: ...
    def _new_launcher(self, kernel: Kernel) -> Launcher: ...
    def _made_current(self, device: int) -> AbstractContextManager[Any]: ...

    def launcher(self, kernel: Kernel) -> Launcher:
        """The kernel, compiled or taken from a cache. RuntimeError if it does not compile."""
        found = self._launchers.get(kernel)
        if found is None:
            found = self._launchers[kernel] = self._new_launcher(kernel)
        return found

    def synchronize(self) -> None:
        """Wait for the current stream."""

    def library(self, what: str) -> Any:
        """The numerical library, CuPy or NumPy, for a call on the current device and stream.

        `what`: what the call is named in counts and logs.
        """

    def array(self, given: Strided, owner: object, *, written: bool = False) -> Any:
        """The library's array over device memory, without a copy; `owner` is kept with it.

        `written`: whether the library is to write all of it, else it is to read all of it.
        """


def flat(array: Bytes) -> Bytes:
    """Bytes of the host in one dimension. ValueError where they do not lie side by side."""
    if not array.flags.c_contiguous:
        msg = "cuda: copies between host and device need contiguous bytes"
        raise ValueError(msg)
    return array.reshape(-1)


def no_memory(nbytes: int, free: int, device: int) -> MemoryError:
    """The error of an allocation that finds no room."""
    return MemoryError(f"cuda:{device}: asked for {nbytes} bytes, and {free} bytes are free")


def cupy_part(name: str) -> Any:
    """A module of CuPy. RuntimeError that names the extra to install, where it is not there."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        # Its own libraries may be what is missing: the reason is told, on the same line.
        reason = str(error).strip().partition("\n")[0]
        raise RuntimeError(missing(f"CuPy cannot be imported ({reason})")) from None


def missing(what: str) -> str:
    """The line that says what is missing, and what to install."""
    return (
        f"cuda: {what}; a GPU needs pip install 'tensorlayout[cuda12]' (or 'tensorlayout[cuda13]')"
        " and NVIDIA's driver, and TENSORLAYOUT_CUDA_SIMULATOR=1 does without"
    )


@once
def driver() -> Driver:
    """The driver of this process: the simulator if ``TENSORLAYOUT_CUDA_SIMULATOR=1``, else CuPy."""
    choice = os.environ.get("TENSORLAYOUT_CUDA_SIMULATOR", "0")
    if choice not in ("", "0", "1"):
        msg = f"cuda: TENSORLAYOUT_CUDA_SIMULATOR must be 0 or 1, got {shown(choice)}"
        raise ValueError(msg)
    module = importlib.import_module(_DRIVERS["simulator" if choice == "1" else "cupy"])
    opened: Driver = module.open_driver()
    return opened
