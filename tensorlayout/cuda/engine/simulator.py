"""The simulator: the kernels of ``kernels/``, compiled by the host's C++ compiler, on the CPU.

``TENSORLAYOUT_CUDA_SIMULATOR=1`` makes it the driver. Device memory is memory of the host, and a
launch has finished when it returns. `checking` selects checks and counts for launches; for a whole
process, ``TENSORLAYOUT_SIMULATOR_CHECKS=bounds,initialized,…`` does:

bounds       every access is inside an allocation or shared array, and aligned to its size
barriers     all threads of a block reach the same barriers
initialized  no byte is read before it is written (for memory allocated while this is on)
races        if two threads access a byte, none of them stores to it, or both are atomic, or a
             barrier of their block is between them
count        32-byte sectors, active lanes, shared-memory wavefronts; see `Counts`

The first two cost almost nothing and are on by default. A violation raises `KernelError`. Streams
have no effect here; ``with driver().using_stream(7):`` selects the current one.

Other variables: ``TENSORLAYOUT_SIMULATOR_ORDER`` (of threads: forward, reverse, or random:SEED),
``TENSORLAYOUT_SIMULATOR_DEVICES`` (how many; 1), ``TENSORLAYOUT_SIMULATOR_MEMORY`` (bytes of each;
no limit), ``TENSORLAYOUT_SIMULATOR_FLAGS`` (more flags for the compiler), ``CXX`` (the compiler).
With the flags ``-fsanitize=address,undefined``, ``ASAN_OPTIONS=detect_leaks=0`` and
``LD_PRELOAD=$(g++ -print-file-name=libasan.so)``, kernels run under GCC's sanitizers, which watch
all memory of the process.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import itertools
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from contextlib import AbstractContextManager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from tensorlayout.cuda.engine import disk_cache, kernel_shapes
from tensorlayout.cuda.engine.driver import (
    LEGACY_STREAM,
    PER_THREAD_STREAM,
    Buffer,
    Bytes,
    Counters,
    Driver,
    Kernel,
    Launcher,
    Stream,
    StridedMemory,
    out_of_memory_error,
)
from tensorlayout.cuda.engine.launch_log import CHECKS, ORDERS, Counts, Tally, current_mode
from tensorlayout.cuda.engine.launch_log import checking as checking
from tensorlayout.cuda.engine.ranges import LiveRanges, garbage_collection_disabled
from tensorlayout.cuda.engine.structs import constant_value, struct_type
from tensorlayout.errors import short_repr
from tensorlayout.support.context_blocks import Scope, ScopeContext
from tensorlayout.support.forks import fork_safe_lock
from tensorlayout.support.kernel_sources import header_directory, kernel_directory

_HEADER = "simulator/launch.hpp"
# CUDA's limits of a grid in x, y and z.
_GRID_LIMITS = (2**31 - 1, 65535, 65535)
_MESSAGE_BYTES = 1024


# ---- Kernels compiled to shared objects

# No -march=native: cached files may be used on another processor.
FLAGS = (
    "-std=c++17",
    "-O1",  # -O2 takes twice as long, and most of what is simulated is small
    "-fPIC",
    "-ffp-contract=off",  # a result must not depend on what the compiler fuses
    "-fno-fast-math",
    "-fno-strict-aliasing",  # kernels move elements of one type as packs of another
    "-fno-exceptions",
    "-fno-rtti",
    "-fvisibility=hidden",  # symbols of one library must not replace those of another
    "-fno-asynchronous-unwind-tables",  # only exceptions and debuggers need them
    "-U_FORTIFY_SOURCE",  # its longjmp check rejects jumps between stacks
    "-DTENSORLAYOUT_SIMULATOR",
)

# Time limit of a compiler in seconds. The longest file takes 20; a stopped process never ends.
PATIENCE = 300


def run_command(command: list[str]) -> tuple[int, str, str]:
    """Run a command for at most `PATIENCE` seconds; return its exit status, output and errors."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=pipe,
        stderr=pipe,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,  # so that the compiler's child processes can be killed, too
    ) as started:
        try:
            written, error_text = started.communicate(timeout=PATIENCE)
        # KeyboardInterrupt, too: no compiler may outlive the call.
        except BaseException as error:
            if sys.platform != "win32":  # which `find_compiler` refuses
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(started.pid, signal.SIGKILL)
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            msg = f"cuda: {command[0]} was given {PATIENCE} seconds and has not ended"
            raise RuntimeError(msg) from None
    return started.returncode, written, error_text


@functools.cache
def find_compiler() -> tuple[tuple[str, ...], str]:
    """Return the command of the C++ compiler, preferably ``$CXX``, and its version."""
    if sys.platform == "win32":  # kernels run on POSIX stacks, and traps on POSIX signals
        raise RuntimeError("cuda: the simulator needs Linux or macOS; on Windows, run it in WSL")
    compiler_setting = os.environ.get("CXX")
    for command in [compiler_setting] if compiler_setting else ["g++", "clang++"]:
        words = tuple(shlex.split(command))
        if words and shutil.which(words[0]):
            return words, run_command([*words, "--version"])[1]
    problem = f"CXX={compiler_setting}, which is not there" if compiler_setting else "none"
    msg = (
        f"cuda: the simulator needs a C++ compiler (g++ or clang++), and found {problem};"
        " install one or set CXX"
    )
    raise RuntimeError(msg)


def compile_shared_object(
    file: str, types: kernel_shapes.Types, counters: Counters, index: str = "int32_t"
) -> Path:
    """Compile a kernel file for the simulator, or find the library in the cache.

    `index`: value of the macro INDEX of kernels that have it.
    """
    more = shlex.split(os.environ.get("TENSORLAYOUT_SIMULATOR_FLAGS", ""))
    flags = (*FLAGS, *more, *(f"-D{name}={value}" for name, value in types))
    path = kernel_directory() / file
    texts = disk_cache.read_with_includes(path, header_directory())
    unit = kernel_shapes.simulator_source(file, types, index)

    def compile_to_file(target: Path) -> None:
        written = target.with_suffix(".cpp")
        written.write_text(unit, "utf-8")
        command = find_compiler()[0]
        folders = (f"-I{directory}" for directory in (kernel_directory(), header_directory()))
        outcome = run_command(
            [*command, *folders, "-shared", *flags, "-o", str(target), str(written)]
        )
        if outcome[0]:
            error_text = outcome[2].strip()
            raise RuntimeError(f"cuda: {command[0]} could not compile {path.name}:\n{error_text}")

    return disk_cache.cached_file(
        f"{path.stem}-{_compilation_key(texts, *flags, unit)}", ".so", compile_to_file, counters
    )


def _compilation_key(texts: dict[str, bytes], *parts: str) -> str:
    """Return the cache key for these texts, options `parts`, and the compiler's version."""
    command, version = find_compiler()
    return disk_cache.cache_key(*command, version, *parts, *texts, *texts.values())


# ---- Errors, current device and streams


class KernelError(RuntimeError):
    """An error in a kernel; the launch was aborted."""


# The current device, and for each device the number of its current stream unless it is the default.
_device: Scope[int] = Scope("device")
_streams: Scope[dict[int, int]] = Scope("streams")

_stream_numbers = itertools.count(0x1000, 0x100)


class SimulatedStream:
    """A stream with CuPy's methods, whose work is finished when it is enqueued."""

    null: SimulatedStream
    ptds: SimulatedStream
    done = True

    def __init__(self, ptr: int | None = None, *, non_blocking: bool = False) -> None:
        self.ptr = next(_stream_numbers) if ptr is None else ptr
        self._owner: object = None
        self._blocks: list[AbstractContextManager[Any]] = []

    @classmethod
    def from_external(cls, stream: Any) -> SimulatedStream:
        """Return a stream with the address of another one, which it keeps alive."""
        result = cls(stream.__cuda_stream__()[1])
        result._owner = stream
        return result

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.ptr

    def __enter__(self) -> SimulatedStream:
        device, streams = _device.innermost_value() or 0, _streams.innermost_value() or {}
        block = _streams.scope_with_value(streams | {device: self.ptr or LEGACY_STREAM})
        self._blocks.append(block)
        block.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._blocks.pop().__exit__(None, None, None)

    def synchronize(self) -> None:
        """Return: the work is finished."""

    def wait_event(self, event: SimulatedEvent) -> None:
        """Return: the event is over."""

    def begin_capture(self) -> None:
        """Raise RuntimeError."""
        raise RuntimeError("cuda: the simulator cannot capture graphs")


SimulatedStream.null, SimulatedStream.ptds = SimulatedStream(0), SimulatedStream(PER_THREAD_STREAM)


class SimulatedEvent:
    """An event with CuPy's methods; it is over when it is recorded."""

    done = True

    def __init__(self, *, disable_timing: bool = False) -> None:
        self.time = 0.0

    def record(self, stream: SimulatedStream) -> None:
        """Note the time."""
        self.time = time.perf_counter()

    def synchronize(self) -> None:
        """Return: the event is over."""


# ---- Memory


class SimulatedBuffer(Buffer):
    """A range of host memory that represents device memory."""

    __slots__ = ("_ranges",)

    def __init__(
        self, pointer: int, nbytes: int, device: int, owner: object, ranges: LiveRanges
    ) -> None:
        super().__init__(pointer, nbytes, device, owner)
        self._ranges = ranges  # last, so that __del__ runs only on complete objects

    def __del__(self) -> None:
        if hasattr(self, "_ranges"):
            self._ranges.remove_later(self.pointer, self.nbytes)


# ---- Launching


def _free_system_bytes() -> int | None:
    """Return the system's free memory in bytes; None if it does not tell."""
    if sys.platform == "linux":
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


_Launch = struct_type(_HEADER, "Launch")

_launching = fork_safe_lock()  # one launch at a time

# Memory for the launch that holds the lock.
_tallies = (struct_type(_HEADER, "Tally") * constant_value(_HEADER, "SHARED_STORE + 1"))()
_message = ctypes.create_string_buffer(_MESSAGE_BYTES)
_launch = _Launch(
    tallies=ctypes.addressof(_tallies),
    message=ctypes.addressof(_message),
    message_bytes=_MESSAGE_BYTES,
)


def _load_library(path: Path) -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:  # for instance a file system mounted with noexec
        msg = (
            f"cuda: compiled kernels cannot be loaded: {error}; set TENSORLAYOUT_CACHE_DIR to a"
            " folder of yours whose files may be run"
        )
        raise RuntimeError(msg) from None
    if not _launch.stacks:
        # Threads of a block are fibers. The first library makes their stacks, and all others use
        # them, because only one launch runs at a time.
        make = library.simulator_stacks
        make.restype = ctypes.c_void_p
        _launch.stacks = make()
        if not _launch.stacks:
            raise MemoryError("cuda: the simulator found no memory for the stacks of its threads")
    return library


class SimulatedLauncher:
    """A kernel of a loaded library."""

    def __init__(self, kernel: Kernel, library: ctypes.CDLL, driver: SimulatorDriver) -> None:
        self._kernel, self._driver = kernel, driver
        if not hasattr(library, kernel.symbol):
            raise ValueError(f"cuda: {kernel.file} has no kernel {kernel.symbol}")
        self._function = library[kernel.symbol]
        self._function.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
        self._function.restype = None
        operations = []
        if hasattr(library, "simulator_operations"):
            library.simulator_operations.restype = ctypes.c_char_p
            operations = library.simulator_operations().decode().split()
        if kernel.operation and kernel.operation not in operations:
            has = ", ".join(operations) or "none"
            msg = f"cuda: {kernel.file} has no operation {kernel.operation!r}; it has {has}"
            raise ValueError(msg)
        self._operation = operations.index(kernel.operation) if kernel.operation else 0

    def __call__(self, grid: int | tuple[int, int, int], parameters: bytearray) -> None:
        """Run all blocks. Raises KernelError for a violation of the checks."""
        blocks = (grid, 1, 1) if isinstance(grid, int) else grid
        if not all(0 < n <= limit for n, limit in zip(blocks, _GRID_LIMITS, strict=True)):
            msg = f"cuda: {self._kernel.symbol} needs a grid of 1 to {_GRID_LIMITS}, got {blocks}"
            raise ValueError(msg)
        mode_of_launch = current_mode()
        ranges = self._driver.ranges[_device.innermost_value() or 0]
        if "initialized" not in mode_of_launch.checks:
            ranges.mark_all_written()
        with _launching, garbage_collection_disabled():
            self._driver.counters.launches += 1
            # The local name keeps the table alive, of which the launch only has the address.
            table, count = ranges.sorted_range_table()
            _launch.grid[:] = blocks
            _launch.operation = self._operation
            _launch.allocations = table.buffer_info()[0]
            _launch.allocation_count = count
            _launch.checks = mode_of_launch.checks_bit_mask
            _launch.order = ORDERS.index(mode_of_launch.order)
            _launch.seed = mode_of_launch.seed
            _launch.parameter_bytes = len(parameters)
            if mode_of_launch.checks_bit_mask & CHECKS["count"]:
                ctypes.memset(_tallies, 0, ctypes.sizeof(_tallies))
            self._function(
                ctypes.addressof(_launch), (ctypes.c_char * len(parameters)).from_buffer(parameters)
            )
            if message := _message.value:
                raise KernelError(message.decode(errors="replace"))
            if mode_of_launch.checks_bit_mask & CHECKS["count"]:
                tallies = [
                    Tally(tally.accesses, tally.lanes, tally.bytes, tally.units, tally.ideal)
                    for tally in _tallies
                ]
                counts = Counts._make((self._kernel.name, 1, *tallies, 0.0))
                mode_of_launch.record.add(self._kernel, counts)
                mode_of_launch.record.note_arguments(self._kernel, blocks, parameters)


# ---- The driver

_loading = fork_safe_lock()


class SimulatorDriver(Driver):
    """The `Driver` that runs kernels on the CPU."""

    name = "simulator"
    streams = SimpleNamespace(
        Stream=SimulatedStream,
        Event=SimulatedEvent,
        get_current_stream=lambda device: SimulatedStream(
            (_streams.innermost_value() or {}).get(device, 0)
        ),
        get_elapsed_time=lambda start, end: (end.time - start.time) * 1e3,  # milliseconds
    )
    _has = "the simulator has"

    def __init__(self) -> None:
        find_compiler()  # raises its error first, if there is no compiler
        count = os.environ.get("TENSORLAYOUT_SIMULATOR_DEVICES", "1")
        if not count.isdigit() or not int(count):
            variable = "TENSORLAYOUT_SIMULATOR_DEVICES"
            raise ValueError(
                f"cuda: {variable} must be a positive integer, got {short_repr(count)}"
            )
        super().__init__(int(count))
        limit = os.environ.get("TENSORLAYOUT_SIMULATOR_MEMORY")
        self._limits = [int(limit) if limit else None] * int(count)
        self.ranges = tuple(LiveRanges() for _ in range(int(count)))
        self._libraries: dict[tuple[str, kernel_shapes.Types, str], ctypes.CDLL] = {}

    def current_device(self) -> int:
        return _device.innermost_value() or 0

    def _device_context(self, device: int) -> AbstractContextManager[Any]:
        return _device.scope_with_value(device)

    def device_of(self, pointer: int) -> int | None:
        return next(
            (n for n, ranges in enumerate(self.ranges) if ranges.contains(pointer, 1)), None
        )

    def current_stream(self, device: int) -> Stream:
        self.check_device(device)
        return Stream(device, (_streams.innermost_value() or {}).get(device, LEGACY_STREAM))

    def using_stream(
        self, number: int, device: int | None = None
    ) -> ScopeContext[dict[int, int], Stream]:
        """Make a stream the current one of a device in a ``with`` block of this thread."""
        where = self.current_device() if device is None else device
        self.check_device(where)
        return _streams.scope_with_target(
            (_streams.innermost_value() or {}) | {where: number}, Stream(where, number)
        )

    def allocate(self, nbytes: int, device: int) -> Buffer:
        """Allocate memory followed by at least 256 bytes that belong to no allocation."""
        self.check_device(device)
        ranges = self.ranges[device]
        memory = self._allocate_simulated_memory(nbytes, device)
        if memory is None:
            gc.collect()  # frees buffers in reference cycles
            memory = self._allocate_simulated_memory(nbytes, device)
        if memory is None:
            raise out_of_memory_error(f"{nbytes} bytes", self._free_bytes(device), device)
        self.counters.allocations += 1
        pointer = -(-memory.ctypes.data // 256) * 256
        followed = "initialized" in current_mode().checks and nbytes
        written = np.zeros(nbytes, np.uint8) if followed else None
        ranges.add_range(pointer, nbytes, written)
        return SimulatedBuffer(pointer, nbytes, device, memory, ranges)

    def memory_stats(self, device: int) -> tuple[int, int, int | None, int | None]:
        used = self.ranges[device].total_bytes()  # there is no pool, which could reserve more
        return used, used, _free_system_bytes(), self._limits[device]

    def set_memory_limit(self, nbytes: int | None, device: int) -> None:
        self._limits[device] = nbytes

    def wrap_memory(self, pointer: int, nbytes: int, device: int, owner: object) -> Buffer:
        self.check_device(device)
        ranges = self.ranges[device]
        ranges.add_range(pointer, nbytes)
        return SimulatedBuffer(pointer, nbytes, device, owner, ranges)

    def allocate_pinned(self, nbytes: int) -> tuple[Bytes, object]:
        octets = np.empty(nbytes, np.uint8)
        return octets, octets

    def copy_to_device(self, pointer: int, source: Bytes, *, wait: bool = True) -> None:
        self._live_ranges_containing("copy_to_device", pointer, source.size).mark_written(
            pointer, source.size
        )
        ctypes.memmove(pointer, source.ctypes.data, source.size)

    def copy_to_host(self, destination: Bytes, pointer: int, *, wait: bool = True) -> None:
        self._live_ranges_containing("copy_to_host", pointer, destination.size)
        self.counters.synchronisations += 1
        ctypes.memmove(destination.ctypes.data, pointer, destination.size)

    def copy_device_to_device(self, destination: int, source: int, nbytes: int) -> None:
        written = self._live_ranges_containing(
            "copy_device_to_device", source, nbytes
        ).written_flags(source, nbytes)
        self._live_ranges_containing("copy_device_to_device", destination, nbytes).mark_written(
            destination, nbytes, written
        )
        ctypes.memmove(destination, source, nbytes)

    def _new_launcher(self, kernel: Kernel) -> Launcher:
        index = kernel_shapes.index_type_of_kernel(kernel)
        key = kernel.file, kernel.types, index
        with _loading:
            if key not in self._libraries:
                path = compile_shared_object(kernel.file, kernel.types, self.counters, index)
                self._libraries[key] = _load_library(path)
        return SimulatedLauncher(kernel, self._libraries[key], self)

    def synchronize(self) -> None:
        self.counters.synchronisations += 1

    def array_module(self, purpose: str) -> Any:
        self.counters.library_calls += 1
        return np

    def array_over_memory(
        self, description: StridedMemory, owner: object, *, is_for_writing: bool = False
    ) -> Any:
        """Return a NumPy array. Raises KernelError for memory not allocated, or not yet written."""
        low, nbytes = description.lowest_address_and_nbytes
        if not nbytes:
            return np.empty(description.shape, description.dtype)
        if not self.ranges[description.device].contains(low, nbytes):
            msg = f"a library call on {nbytes} bytes at {low:#x}, which are not all allocated"
            raise KernelError(msg)
        followed = self.ranges[description.device].written_flags(low, nbytes)
        # Flags are per byte: for each byte of an element, a view of the flags with the strides of
        # the elements.
        for byte in range(description.dtype.itemsize if followed is not None else 0):
            start = description.address - low + byte
            marks = np.ndarray(description.shape, np.uint8, followed, start, description.steps)
            if is_for_writing:
                marks[...] = 1
            elif not marks.all():
                raise KernelError(f"a library call reads memory at {low:#x} that was never written")
        # NumPy keeps the object with this interface, and so the owner, as long as the array.
        held = {"version": 3, "typestr": "|u1", "shape": (nbytes,), "data": (low, False)}
        memory = np.asarray(SimpleNamespace(owner=owner, __array_interface__=held))
        return np.ndarray(
            description.shape,
            description.dtype,
            memory,
            description.address - low,
            description.steps,
        )

    def _allocate_simulated_memory(self, nbytes: int, device: int) -> Bytes | None:
        """Return memory of the host; None if there is not enough."""
        limit = self._limits[device]
        if limit is not None and nbytes and nbytes > limit - self.ranges[device].total_bytes():
            return None
        try:
            # Aligning the address takes up to 255 bytes, so that at least 256 are left behind.
            return np.empty(nbytes + 512, np.uint8)
        except (MemoryError, ValueError):  # ValueError for sizes beyond the address space
            return None

    def _free_bytes(self, device: int) -> int | None:
        """Return the bytes that may still be allocated; None if the system does not tell."""
        limit = self._limits[device]
        if limit is not None:
            return max(0, limit - self.ranges[device].total_bytes())
        return _free_system_bytes()

    def _live_ranges_containing(self, name: str, pointer: int, nbytes: int) -> LiveRanges:
        """Return the ranges of the device that contains these bytes. Raises ValueError if none."""
        for ranges in self.ranges:
            if ranges.contains(pointer, nbytes):
                return ranges
        msg = f"cuda: {name} of {nbytes} bytes at {pointer:#x}, which are not all allocated"
        raise ValueError(msg)


open_driver = SimulatorDriver
