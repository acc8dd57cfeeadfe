"""The driver of real GPUs: CuPy's memory pool, streams and module loader; kernels from NVRTC.

Whatever is current in CuPy is respected: the device, the stream, the allocator. So a stream is
chosen as for CuPy, ``with cupy.cuda.Stream():``. Memory is CuPy's: a buffer given back is used
again in the order of the stream that it was allocated on. As in CuPy and PyTorch, who computes on
one stream with what was made on another, or drops it there, sees to the order of the two
(``stream.wait_event``).

A CUDA graph can be captured of calls that have run once before, if they launch kernels of ours and
copy within the device. What waits for the device, copies from the host, or calls CuPy's libraries
is refused: CuPy's cuBLAS and cuSOLVER take no stream that captures. What calls allocate comes from
the pool: a block that it has at hand, without a call to CUDA, or one from ``cudaMalloc``, which a
capture in relaxed mode, CuPy's own, allows. Either way the graph writes to that address whenever it
is launched. So all that was allocated during a capture lives as long as any result of it, and as
any tensor that it writes to; those must be kept as long as the graph. A capture has ended when its
stream is next seen not to capture: by an allocation, on any stream.

A process forked after CUDA was used cannot use it: calls in the child are refused, in one line.
"""

from __future__ import annotations

import ctypes
import gc
import os
import threading
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

from tensorlayout.cuda.engine import nvrtc
from tensorlayout.cuda.engine.driver import (
    LEGACY_STREAM,
    PER_THREAD_STREAM,
    Buffer,
    Bytes,
    Driver,
    Kernel,
    Launcher,
    Stream,
    Strided,
    cupy_part,
    missing,
    no_memory,
)
from tensorlayout.cuda.engine.ranges import lock_kept_over_forks
from tensorlayout.cuda.engine.staging import Staging
from tensorlayout.cuda.engine.structs import constant
from tensorlayout.plan.base import CaptureError

# Bytes of a copy to the host from which on it is staged, unless the memory is pinned already.
STAGED = 1 << 20

# Addresses of the legacy default stream, which captures nothing. Asked whether it does, CUDA fails
# while another stream captures.
_UNCAPTURED = (0, LEGACY_STREAM)

# Bytes that no device has. CuPy, which rounds sizes up, would take some of them for few.
_TOO_MANY = 1 << 62

THREADS = constant("include/platform.cuh", "THREADS")  # of a block

# What CUDA takes of parameters on every architecture.
_PARAMETER_BYTES = 4096

# Of CUDADriverError.status.
_INVALID_CONTEXT = 201
_NOT_FOUND = 500

# ---- Memory


class _Capture:
    """What was allocated on a stream while it captured: a graph writes there at each launch.

    Each buffer of it keeps it, and so does what is written in place.
    """

    __slots__ = ("memory", "stream")

    def __init__(self, stream: Any) -> None:
        self.memory: list[Any] = []
        self.stream = stream  # alive, until it has been seen not to capture


# ---- Launches


class _Block(threading.local):
    """Memory of each thread for the parameters of a launch, which CUDA reads during the call."""

    def __init__(self) -> None:
        memory = (ctypes.c_char * _PARAMETER_BYTES)()
        self._kept = pointers = (ctypes.c_void_p * 1)(ctypes.addressof(memory))
        # Copying into it takes 0.05 us; the address of a caller's bytearray 0.2 us by way of ctypes
        # (2026-11, 2-core AMD EPYC (Zen 4)).
        self.view = memoryview(memory).cast("B")
        self.pointers = ctypes.addressof(pointers)


class CupyLauncher:
    """A kernel, loaded on each device when it is first launched there.

    A call is ``cuLaunchKernel``, which CuPy exposes. It is written out in one function: each call
    between would cost as much as packing the arguments.
    """

    __slots__ = (
        "_block",
        "_counters",
        "_cuda",
        "_functions",
        "_launch",
        "_load",
        "_only",
        "_stream",
        "kernel",
    )

    def __init__(self, driver: CupyDriver, kernel: Kernel, load: Callable[[], Any]) -> None:
        self.kernel = kernel  # which a log names
        self._block = driver.block
        self._counters = driver.counters
        self._cuda = driver.cuda
        self._launch = driver.cuda.driver.launchKernel
        self._stream = driver.cuda.get_current_stream
        self._load = load
        self._functions: dict[int, tuple[Any, int]] = {}
        loaded = self.prepare()
        self._only = loaded if driver.device_count() == 1 else None

    def __call__(self, grid: int | tuple[int, int, int], parameters: bytearray) -> None:
        """Launch on the current device and stream. Neither allocates on the device nor waits."""
        here = self._only or self._functions.get(self._cuda.runtime.getDevice())
        _, address = here or self.prepare()
        block = self._block
        block.view[: len(parameters)] = parameters
        pointers = block.pointers
        x, y, z = (grid, 1, 1) if isinstance(grid, int) else grid
        launch = self._launch
        try:
            launch(address, x, y, z, THREADS, 1, 1, 0, self._stream().ptr, pointers, 0)
        except self._cuda.driver.CUDADriverError as error:
            if error.status != _INVALID_CONTEXT:
                raise
            # CUDA has not been used in this thread yet, and only the runtime makes up for that.
            runtime = self._cuda.runtime
            runtime.setDevice(runtime.getDevice())
            launch(address, x, y, z, THREADS, 1, 1, 0, self._stream().ptr, pointers, 0)
        self._counters.launches += 1

    def prepare(self) -> tuple[Any, int]:
        """Load it on the current device, compiled if no cache has it: a function, its address."""
        function = self._load()
        found = function, int(function.ptr)
        self._functions[self._cuda.runtime.getDevice()] = found
        return found


# ---- The driver

_loading = lock_kept_over_forks()

# CUDA works in the process that began to use it, and in no child of it.
_FORKED = (
    "cuda: this process was forked from one that had used CUDA, and cannot use it; start such"
    " processes by multiprocessing.get_context('spawn')"
)
_opened: weakref.WeakSet[CupyDriver] = weakref.WeakSet()


def _refuse_in_child() -> None:
    for each in list(_opened):
        each.refuse()


os.register_at_fork(after_in_child=_refuse_in_child)


class CupyDriver(Driver):
    """`Driver`, on NVIDIA GPUs."""

    name = "cupy"
    launcher_type = CupyLauncher

    def __init__(self, cupy: Any, device_count: int) -> None:
        super().__init__(device_count)
        self.cuda = cupy.cuda
        self.runtime = cupy.cuda.runtime
        self.block = _Block()
        self._cupy = cupy
        self._forked = False
        self.captures: dict[int, _Capture] = {}
        self._refused: list[_Capture] = []
        _opened.add(self)
        self._stagings: dict[int, Staging] = {}
        self._architectures: dict[int, int] = {}

    def device_count(self) -> int:
        """Return how many GPUs CUDA shows, as ``CUDA_VISIBLE_DEVICES`` has it."""
        if self._forked:
            raise RuntimeError(_FORKED)
        return self._device_count

    def current_device(self) -> int:
        return int(self.runtime.getDevice())

    def _made_current(self, device: int) -> AbstractContextManager[Any]:
        manager: AbstractContextManager[Any] = self.cuda.Device(device)
        return manager

    def device_of(self, pointer: int) -> int | None:
        attributes = self.runtime.pointerGetAttributes(pointer)
        on_device = (self.runtime.memoryTypeDevice, self.runtime.memoryTypeManaged)
        return int(attributes.device) if attributes.type in on_device else None

    def current_stream(self, device: int) -> Stream:
        self.check_device(device)
        stream = self.cuda.get_current_stream(device)
        return Stream(device, stream.ptr or LEGACY_STREAM, stream)

    def end_of(self, stream: Stream) -> Callable[[], bool]:
        """An event is asked where each thread has a stream of that number; else the stream is."""
        if stream.number == PER_THREAD_STREAM:
            event = self.cuda.Event(disable_timing=True)
            event.record(stream.owner)
            return lambda: bool(event.done)

        def is_done() -> bool:
            capturing = stream.number not in _UNCAPTURED and self._captures(stream.number)
            # While it captures, nobody can say.
            return not capturing and bool(self.runtime.streamQuery(stream.number) == 0)

        return is_done

    def is_capturing(self, device: int) -> bool:
        number = self.cuda.get_current_stream(device).ptr
        return number not in _UNCAPTURED and bool(self.runtime.streamIsCapturing(number))

    def captured(self, device: int) -> object | None:
        """Captures that have ended are left."""
        for number, each in tuple(self.captures.items()):
            if not self._captures(number):
                self.captures.pop(number, None)
                each.stream = None
        return self.captures.get(self.cuda.get_current_stream(device).ptr)

    def order(self, first: Stream, then: Stream) -> None:
        if first == then:
            return
        with self.using(first.device):
            event = self.cuda.Event(disable_timing=True)
            self.runtime.eventRecord(event.ptr, first.number)
        with self.using(then.device):
            self.runtime.streamWaitEvent(then.number, event.ptr)

    def allocate(self, nbytes: int, device: int) -> Buffer:
        """Memory from CuPy's current allocator, by default its pool; 0 bytes have address 0."""
        self.counters.allocations += 1
        with self.using(device):
            try:
                memory = self.cuda.alloc(nbytes) if nbytes < _TOO_MANY else None
            except MemoryError:
                memory = None  # outside of the handler, nothing refers to the failed call
            if memory is None:
                memory = self._allocate_again(nbytes, device)
        buffer = Buffer(memory.ptr, nbytes, device, memory)
        stream = self.cuda.get_current_stream(device)
        if stream.ptr not in _UNCAPTURED and self.runtime.streamIsCapturing(stream.ptr):
            capture = self.captures.get(stream.ptr)
            if capture is None:
                capture = self.captures.setdefault(stream.ptr, _Capture(stream))
            capture.memory.append(memory)
            buffer.keep(capture)
        elif self.captures:
            self.captured(device)
        return buffer

    def wrap(self, pointer: int, nbytes: int, device: int, owner: object) -> Buffer:
        self.check_device(device)
        return Buffer(pointer, nbytes, device, owner)

    def _to_device(self, pointer: int, source: Bytes) -> None:
        self._refuse_capture("it copies from the host")
        stream = self.cuda.get_current_stream()
        if not self._is_pinned(source):  # when CUDA has read all of it, depends on CUDA
            self._staging().to_device(pointer, source, stream)
            return
        kind = self.runtime.memcpyHostToDevice
        self.runtime.memcpyAsync(pointer, source.ctypes.data, source.size, kind, stream.ptr)
        self.synchronize()

    def _to_host(self, destination: Bytes, pointer: int) -> None:
        self._refuse_capture("it waits for the device")
        stream = self.cuda.get_current_stream()
        if destination.size >= STAGED and not self._is_pinned(destination):
            self.counters.synchronisations += 1
            self._staging().to_host(destination, pointer, stream)
            return
        to, kind = destination.ctypes.data, self.runtime.memcpyDeviceToHost
        self.runtime.memcpyAsync(to, pointer, destination.size, kind, stream.ptr)
        self.synchronize()

    def _on_device(self, destination: int, source: int, nbytes: int) -> None:
        kind, stream = self.runtime.memcpyDefault, self.cuda.get_current_stream()
        self.runtime.memcpyAsync(destination, source, nbytes, kind, stream.ptr)

    def _new_launcher(self, kernel: Kernel) -> Launcher:
        return CupyLauncher(self, kernel, lambda: self._load(kernel))

    def synchronize(self) -> None:
        self._refuse_capture("it waits for the device")
        self.counters.synchronisations += 1
        self.cuda.get_current_stream().synchronize()

    def library(self, what: str) -> Any:
        """CuPy, which works on its current device and stream.

        Its cuBLAS and cuSOLVER refuse a stream that captures. What its other functions allocate
        would not live as long as a graph.
        """
        self._refuse_capture("it calls CuPy's libraries")
        self.counters.library_calls += 1
        return self._cupy

    def array(self, given: Strided, owner: object, *, written: bool = False) -> Any:
        """CuPy's array over the memory; what it does there is for CUDA to check."""
        low, nbytes = given.extent
        if not nbytes:
            return self._cupy.empty(given.shape, given.dtype)
        memory = self.cuda.UnownedMemory(low, nbytes, owner, given.device)
        first = self.cuda.MemoryPointer(memory, given.address - low)
        return self._cupy.ndarray(given.shape, given.dtype, first, given.steps)

    def _load(self, kernel: Kernel) -> Any:
        """The kernel as a function of the current device."""
        with _loading:
            module = self.cuda.function.Module()
            module.load(nvrtc.cubin(kernel, self._architecture(), self.counters))
            try:
                return module.get_function(kernel.name)
            except self.cuda.driver.CUDADriverError as error:
                if error.status != _NOT_FOUND:
                    raise
                msg = f"cuda: {Path(kernel.file).name} has no kernel {kernel.name}"
                raise ValueError(msg) from None

    def _architecture(self) -> int:
        device = self.current_device()
        if device not in self._architectures:
            capability = int(self.cuda.Device(device).compute_capability)
            self._architectures[device] = nvrtc.architecture_for(capability)
        return self._architectures[device]

    def _allocate_again(self, nbytes: int, device: int) -> Any:
        """Memory allocated after all that nobody uses has gone back from pools to the device."""
        pool = self._cupy.get_default_memory_pool()
        if nbytes < _TOO_MANY:
            gc.collect()
            current = getattr(self.cuda.get_allocator(), "__self__", pool)
            for each in (pool, current):
                if hasattr(each, "free_all_blocks"):
                    each.free_all_blocks()
            with suppress(MemoryError):
                return self.cuda.alloc(nbytes)
        free = self.runtime.memGetInfo()[0] + pool.free_bytes()
        raise no_memory(nbytes, free, device)

    def _captures(self, number: int) -> bool:
        """Return whether a stream captures; an error in a capture ends it."""
        try:
            return bool(self.runtime.streamIsCapturing(number))
        except RuntimeError:
            return False

    def _refuse_capture(self, reason: str) -> None:
        """Refuse what no graph can hold.

        What the same call has enqueued is in the graph: what that writes to is never given back.
        """
        number = self.cuda.get_current_stream().ptr
        if number not in _UNCAPTURED and self.runtime.streamIsCapturing(number):
            self._refused += filter(None, [self.captures.get(number)])
            msg = f"cannot be captured in a CUDA graph, for {reason}; call it before or after"
            raise CaptureError(msg)

    def refuse(self) -> None:
        """Refuse all that needs a device, at no cost to calls that are not refused."""
        self._forked, self._device_count, self._only = True, 0, None

    def _is_pinned(self, memory: Bytes) -> bool:
        attributes = self.runtime.pointerGetAttributes(memory.ctypes.data)
        return bool(attributes.type == self.runtime.memoryTypeHost)

    def _staging(self) -> Staging:
        device = self.current_device()
        found = self._stagings.get(device)
        return found or self._stagings.setdefault(device, Staging(self._cupy))


def open_driver() -> CupyDriver:
    """A driver for the GPUs of this machine. RuntimeError without CuPy, or without a GPU."""
    cupy = cupy_part("cupy")
    runtime = cupy.cuda.runtime
    try:
        count = int(runtime.getDeviceCount())
    except runtime.CUDARuntimeError as error:
        raise RuntimeError(missing(f"CuPy finds no GPU ({error})")) from None
    if not count:
        raise RuntimeError(missing("CuPy finds no GPU"))
    return CupyDriver(cupy, count)
