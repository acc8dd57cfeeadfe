"""The driver of real GPUs: CuPy's memory pool, streams and module loader; kernels from NVRTC.

The driver uses CuPy's current device, stream and allocator: ``with cupy.cuda.Stream():`` chooses a
stream. A freed buffer is reused in the order of the stream on which it was allocated. As in CuPy
and PyTorch, users must synchronise two streams if one uses results of the other
(``stream.wait_event``).

Calls that have run once before can be captured in a CUDA graph if they only launch our kernels and
copy within the device. Calls that wait for the device, copy from the host, or use CuPy's libraries
raise CaptureError: CuPy's cuBLAS and cuSOLVER do not accept a capturing stream. Memory comes from
the pool, or from ``cudaMalloc``, which only the relaxed capture mode allows: CuPy's default, but
not PyTorch's. In other modes, an allocation that the pool cannot serve raises CaptureError, too.
Each launch of the graph writes to these addresses again. So all memory allocated during a capture
lives as long as any result of the capture, and as any tensor that it writes to; users must keep
those as long as the graph. An ended capture is noticed at the next allocation on any stream.

A process forked after CUDA was used cannot use CUDA: calls in the child raise RuntimeError.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

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
    StridedMemory,
    import_cupy_module,
    missing_requirement_message,
    out_of_memory_error,
)
from tensorlayout.cuda.engine.kernel_shapes import compiled_name
from tensorlayout.cuda.engine.structs import constant_value
from tensorlayout.errors import CaptureError
from tensorlayout.support.forks import call_in_forked_children, fork_safe_lock

# Copies to the host are staged from this many bytes on, unless the memory is pinned already.
STAGED = 1 << 20

# Addresses of the legacy default stream, which cannot capture. Asking CUDA whether it does is an
# error while another stream captures.
_UNCAPTURED = (0, LEGACY_STREAM)

# A C function, in half the time of the constructor.
_new_stream: Callable[[tuple[int, int, object]], Stream] = functools.partial(tuple.__new__, Stream)

# More bytes than any device has. CuPy rounds sizes up, which would make some of them small numbers.
_TOO_MANY = 1 << 62

THREADS = constant_value("include/platform.cuh", "THREADS")  # of a block

# CUDA's limit of kernel parameters on every architecture.
_PARAMETER_BYTES = 4096

# Attributes of a kernel that do not depend on a launch; sizes are in bytes.
_ATTRIBUTES = (
    *("num_regs", "shared_size_bytes", "local_size_bytes", "const_size_bytes"),
    *("max_threads_per_block", "ptx_version", "binary_version"),
)

# CUDA_ERROR_INVALID_CONTEXT, in CUDADriverError.status.
_INVALID_CONTEXT = 201
# CUDA_ERROR_NOT_FOUND: the module has no kernel of this name.
_NOT_FOUND = 500
# The same numbers for the driver and for the runtime: cudaErrorMemoryAllocation and
# cudaErrorStreamCaptureUnsupported.
_OUT_OF_MEMORY = 2
_CAPTURE_UNSUPPORTED = 900

# cudaErrorPeerAccessAlreadyEnabled, by another library, and cudaErrorTooManyPeers: a device has a
# limited number of peers. Copies work in either case.
_PEERS_REMAIN = (704, 711)

# ---- Memory


def _check_out_of_memory(error: MemoryError | RuntimeError) -> None:
    """Raise an error of an allocation again, unless memory has run out. A capture is explained."""
    status = getattr(error, "status", None)
    if status == _CAPTURE_UNSUPPORTED:
        raise CaptureError(
            "memory cannot be allocated while a CUDA graph is captured in global or"
            " thread-local mode; capture it in relaxed mode, as by"
            " torch.cuda.graph(graph, capture_error_mode='relaxed')"
        ) from None
    if not (isinstance(error, MemoryError) or status == _OUT_OF_MEMORY):
        raise error


class _CaptureMemory:
    """Memory allocated during a capture; its buffers and its writes' destinations keep it alive."""

    __slots__ = ("memory", "stream")

    def __init__(self, stream: Any) -> None:
        self.memory: list[Any] = []
        self.stream = stream  # kept alive until the capture has ended


class _ReleaseQueue:
    """Objects that streams still use, with the events after which they can be dropped.

    The host does not wait, and calls without such objects have no overhead: those of finished
    streams are dropped when another one comes, when memory is short, and when statistics are read.
    Finalizers call `put` at any moment, so each access to the queue is one C call, without a lock.
    """

    def __init__(self, driver: CupyDriver) -> None:
        self._driver = driver
        # The event is None as long as the stream captures a graph, where it would become a node.
        self._waiting: deque[tuple[object, Stream, Any]] = deque()

    def put(self, kept_object: object, stream: Stream) -> None:
        """Keep an object until the work that a stream has now is finished."""
        # Neither a forked child nor the end of the process has work, and CUDA does not answer.
        if self._driver.is_unusable or sys.is_finalizing():
            return
        self.drop_finished()
        self._waiting.append((kept_object, stream, self._event_after(stream)))

    def drop_finished(self, *, wait: bool = False) -> None:
        """Drop the objects whose streams have finished; with `wait`, wait for the others."""
        for _ in range(len(self._waiting)):
            try:
                kept_object, stream, event = self._waiting.popleft()
            except IndexError:  # another thread was faster
                return
            event = event or self._event_after(stream)
            if event is not None and wait:
                event.synchronize()
            if event is None or not event.done:
                self._waiting.append((kept_object, stream, event))
            del kept_object

    def _event_after(self, stream: Stream) -> Any:
        if stream.number not in _UNCAPTURED and self._driver.is_stream_capturing(stream.number):
            return None
        with self._driver.using_device(stream.device):
            event = self._driver.cuda.Event(disable_timing=True)
            self._driver.runtime.eventRecord(event.ptr, stream.number)
        return event


# ---- Copies between a device and pageable memory of the host, through pinned buffers
#
# While one buffer is copied to or from the device, the CPU empties or fills another one.

HALF = 4 << 20  # bytes of a large buffer: a copy of this size outweighs the cost of starting it
SLOT = 64 << 10  # bytes of a buffer for small copies


class _PinnedBuffer:
    """Pinned memory, and the event after which it can be reused."""

    def __init__(self, driver: CupyDriver, nbytes: int) -> None:
        self.bytes, self._owner = driver.allocate_pinned(nbytes)
        self.pointer = self.bytes.ctypes.data
        self.event = driver.cuda.Event(disable_timing=True)


class _PinnedBufferQueue:
    """Buffers of one size, in the order of their last use.

    Buffers are taken and put back by one C call each, without a lock. So neither another thread nor
    a finalizer during a copy has to wait: each gets its own buffer.
    """

    def __init__(self, driver: CupyDriver, nbytes: int, enough: int) -> None:
        self._driver, self._nbytes, self._enough = driver, nbytes, enough
        self._all: list[_PinnedBuffer] = []
        self._waiting: deque[_PinnedBuffer] = deque()
        self.put = self._waiting.append

    def take_free_buffer(self) -> _PinnedBuffer:
        """Return a buffer whose copy has finished; wait only if there are enough buffers."""
        try:
            oldest = self._waiting.popleft()
        except IndexError:
            return self._allocate_buffer()
        if not oldest.event.done:
            if len(self._all) < self._enough:
                self._waiting.appendleft(oldest)
                return self._allocate_buffer()
            oldest.event.synchronize()
        return oldest

    def _allocate_buffer(self) -> _PinnedBuffer:
        buffer = _PinnedBuffer(self._driver, self._nbytes)
        self._all.append(buffer)
        return buffer


class PinnedStaging:
    """Buffers for one device, to which their events belong.

    Buffers are never freed, because a copy to the device may still read one after it has returned.
    """

    def __init__(self, driver: CupyDriver) -> None:
        self._runtime = driver.runtime
        self._halves = _PinnedBufferQueue(driver, HALF, 2)
        # Enough that many small copies can wait in a busy stream.
        self._slots = _PinnedBufferQueue(driver, SLOT, 16)

    def copy_to_device(self, pointer: int, source: Bytes, stream: Any) -> None:
        """Copy to the device; on return, `source` has been read, but copies may be unfinished."""
        kind = self._runtime.memcpyHostToDevice
        queue = self._slots if source.size <= SLOT else self._halves
        for first in range(0, source.size, HALF):
            part = source[first : first + HALF]
            part_pointer, size = pointer + first, part.size
            buffer = queue.take_free_buffer()
            try:
                buffer.bytes[:size] = part
                self._runtime.memcpyAsync(part_pointer, buffer.pointer, size, kind, stream.ptr)
            # After an error, too, the event covers a copy that may have begun.
            finally:
                buffer.event.record(stream)
                queue.put(buffer)

    def copy_to_host(self, destination: Bytes, pointer: int, stream: Any) -> None:
        """Copy to the host; on return, all of `destination` has been written."""
        kind = self._runtime.memcpyDeviceToHost
        arriving: deque[tuple[Bytes, _PinnedBuffer]] = deque()

        def finish_oldest_part() -> None:
            part, buffer = arriving[0]
            buffer.event.synchronize()
            part[:] = buffer.bytes[: part.size]
            arriving.popleft()
            self._halves.put(buffer)

        try:
            for first in range(0, destination.size, HALF):
                if len(arriving) == 2:
                    finish_oldest_part()
                part, buffer = destination[first : first + HALF], self._halves.take_free_buffer()
                arriving.append((part, buffer))
                source = pointer + first
                self._runtime.memcpyAsync(buffer.pointer, source, part.size, kind, stream.ptr)
                buffer.event.record(stream)
            while arriving:
                finish_oldest_part()
        finally:  # an error or an interrupt may leave unfinished copies
            for _, buffer in arriving:
                buffer.event.record(stream)
                self._halves.put(buffer)


# ---- Launches


class _ParameterBlock(threading.local):
    """Memory of each thread for the parameters of a launch; CUDA reads them during the call."""

    def __init__(self) -> None:
        memory = (ctypes.c_char * _PARAMETER_BYTES)()
        self._kept = pointers = (ctypes.c_void_p * 1)(ctypes.addressof(memory))
        # Copying into it takes 0.05 us; the address of a caller's bytearray 0.2 us by way of ctypes
        # (2026-11, 2-core AMD EPYC (Zen 4)).
        self.view_and_pointers = memoryview(memory).cast("B"), ctypes.addressof(pointers)


_loading = fork_safe_lock()


class CupyLauncher:
    """A kernel, loaded on each device at its first launch there.

    A call is CuPy's binding of ``cuLaunchKernel``. It is one function without helpers, because each
    further Python call would cost as much as packing the arguments.
    """

    def __init__(self, driver: CupyDriver, kernel: Kernel) -> None:
        self.kernel = kernel  # for logs
        self._block = driver.block
        self._counters = driver.counters
        self._driver, self._cuda = driver, driver.cuda
        self._launch = driver.cuda.driver.launchKernel
        self._stream = driver.cuda.get_current_stream
        self._functions: dict[int, tuple[Any, int]] = {}
        _, address = self.load_function_and_address()
        self._address_on_only_device = address if driver.device_count() == 1 else 0

    def __call__(self, grid: int | tuple[int, int, int], parameters: bytearray) -> None:
        """Launch on the current device and stream."""
        address = self._address_on_only_device or self._address_on_current_device()
        x, y, z = (grid, 1, 1) if isinstance(grid, int) else grid
        launch, stream = self._launch, self._stream()
        # From here on, nothing may run that could launch another kernel, such as a finalizer.
        view, pointers = self._block.view_and_pointers
        view[: len(parameters)] = parameters
        try:
            launch(address, x, y, z, THREADS, 1, 1, 0, stream.ptr, pointers, 0)
        except self._cuda.driver.CUDADriverError as error:
            self._launch_again(error, address, (x, y, z), stream.ptr, parameters)
        self._counters.launches += 1

    def _launch_again(
        self,
        error: Any,
        address: int,
        grid: tuple[int, int, int],
        stream: int,
        parameters: bytearray,
    ) -> None:
        """Launch again, after CUDA's error for a missing context or missing memory."""
        if error.status == _INVALID_CONTEXT:
            # CUDA has not been used in this thread yet; a call of the runtime creates the context.
            self._cuda.runtime.setDevice(self._cuda.runtime.getDevice())
        elif error.status != _OUT_OF_MEMORY:  # the first launch may load the kernel
            raise error

        def launch() -> None:
            view, pointers = self._block.view_and_pointers
            view[: len(parameters)] = parameters  # finalizers may have launched kernels
            self._launch(address, *grid, THREADS, 1, 1, 0, stream, pointers, 0)

        self._driver.allocate_with_retry(launch, f"memory to launch {self.kernel.name}")

    def _address_on_current_device(self) -> int:
        loaded = self._functions.get(self._cuda.runtime.getDevice())
        return (loaded or self.load_function_and_address())[1]

    def load_function_and_address(self) -> tuple[Any, int]:
        """Load the kernel on the current device; return the function and its address."""
        cuda, kernel = self._cuda, self.kernel
        device = cuda.runtime.getDevice()
        with _loading:
            architecture = nvrtc.newest_runnable_architecture(
                int(cuda.Device(device).compute_capability)
            )
            cubin = nvrtc.read_cubin(kernel, architecture, self._counters)

            def load() -> Any:
                module = cuda.function.Module()
                module.load(cubin)
                return module.get_function(compiled_name(kernel))  # CUDA may load it only now

            try:
                asked = f"{len(cubin)} bytes for the kernel {kernel.name}"
                function = self._driver.allocate_with_retry(load, asked)
            except cuda.driver.CUDADriverError as error:
                if error.status != _NOT_FOUND:
                    raise
                msg = f"cuda: {Path(kernel.file).name} has no kernel {kernel.name}"
                raise ValueError(msg) from None
        function_and_address = function, int(function.ptr)
        self._functions[device] = function_and_address
        return function_and_address

    def attributes(self) -> dict[str, int]:
        """Return the kernel's resources on the current device, under CuPy's names."""
        binding = self._cuda.driver
        loaded = self._functions.get(self._cuda.runtime.getDevice())
        _, address = loaded or self.load_function_and_address()
        return {
            name: int(
                binding.funcGetAttribute(
                    getattr(binding, f"CU_FUNC_ATTRIBUTE_{name.upper()}"), address
                )
            )
            for name in _ATTRIBUTES
        }


# ---- The driver

# CUDA works only in the process that initialised it, not in forked children.
_FORKED = (
    "cuda: this process was forked from one that had used CUDA, and cannot use it; start such"
    " processes by multiprocessing.get_context('spawn')"
)
_opened: weakref.WeakSet[CupyDriver] = weakref.WeakSet()


def _disable_drivers_in_forked_child() -> None:
    for driver in list(_opened):
        driver._device_count, driver.only = 0, None


call_in_forked_children(_disable_drivers_in_forked_child)


class CupyDriver(Driver):
    """The `Driver` of NVIDIA GPUs."""

    name = "cupy"
    launcher_type = CupyLauncher

    def __init__(self, cupy: Any, device_count: int) -> None:
        super().__init__(device_count)
        self.cuda = self.streams = cupy.cuda
        self.runtime = cupy.cuda.runtime
        self.block = _ParameterBlock()
        self._cupy = cupy
        self.captures: dict[int, _CaptureMemory] = {}
        self._refused: list[_CaptureMemory] = []
        _opened.add(self)
        self._stagings: dict[int, PinnedStaging] = {}
        self._peers: set[tuple[int, int]] = set()  # pairs of devices; without it, the host copies
        self._unfinished = _ReleaseQueue(self)

    def device_count(self) -> int:
        if not self._device_count:
            raise RuntimeError(_FORKED)
        return self._device_count

    @property
    def is_unusable(self) -> bool:
        """True in a child of the process that opened the driver."""
        return not self._device_count

    def current_device(self) -> int:
        return int(self.runtime.getDevice())

    def _device_context(self, device: int) -> AbstractContextManager[Any]:
        return self.cuda.Device(device)

    def device_of(self, pointer: int) -> int | None:
        attributes = self.runtime.pointerGetAttributes(pointer)
        on_device = (self.runtime.memoryTypeDevice, self.runtime.memoryTypeManaged)
        return int(attributes.device) if attributes.type in on_device else None

    def current_stream(self, device: int) -> Stream:
        if device != self.only:
            self.check_device(device)
        stream = self.cuda.get_current_stream(device)
        return _new_stream((device, stream.ptr or LEGACY_STREAM, stream))

    def completion_test(self, stream: Stream) -> Callable[[], bool]:
        # All per-thread streams have the same number, so only an event identifies this one.
        if stream.number == PER_THREAD_STREAM:
            event = self.cuda.Event(disable_timing=True)
            event.record(stream.owner)
            return lambda: bool(event.done)

        def is_done() -> bool:
            capturing = stream.number not in _UNCAPTURED and self.is_stream_capturing(stream.number)
            # A capturing stream cannot be queried.
            return not capturing and bool(self.runtime.streamQuery(stream.number) == 0)

        return is_done

    def is_capturing(self, device: int) -> bool:
        number = self.cuda.get_current_stream(device).ptr
        return number not in _UNCAPTURED and bool(self.runtime.streamIsCapturing(number))

    def current_capture_memory(self, device: int) -> object | None:
        """Return the memory of the current capture; also forget captures that have ended."""
        for number, capture in tuple(self.captures.items()):
            if not self.is_stream_capturing(number):
                self.captures.pop(number, None)
                capture.stream = None
        return self.captures.get(self.cuda.get_current_stream(device).ptr)

    def make_stream_wait(self, first: Stream, waiting: Stream) -> None:
        if first == waiting:
            return
        with self.using_device(first.device):
            event = self.cuda.Event(disable_timing=True)
            self.runtime.eventRecord(event.ptr, first.number)
        with self.using_device(waiting.device):
            self.runtime.streamWaitEvent(waiting.number, event.ptr)

    def enable_peer_access(self, first: int, second: int) -> None:
        if first == second or (first, second) in self._peers:
            return
        for device, peer in ((first, second), (second, first)):
            if self.runtime.deviceCanAccessPeer(device, peer):
                with self.using_device(device):
                    try:
                        self.runtime.deviceEnablePeerAccess(peer)
                    except self.runtime.CUDARuntimeError as error:
                        if error.status not in _PEERS_REMAIN:
                            raise
            self._peers.add((device, peer))

    def allocate(self, nbytes: int, device: int) -> Buffer:
        """Allocate by CuPy's current allocator, by default its pool; 0 bytes have address 0."""
        self.counters.allocations += 1
        memory = None
        try:
            if nbytes < _TOO_MANY:
                if device == self.only:
                    memory = self.cuda.alloc(nbytes)
                else:
                    with self.using_device(device):
                        memory = self.cuda.alloc(nbytes)
        except (MemoryError, RuntimeError) as error:
            _check_out_of_memory(error)
        # Outside the handler, where no traceback keeps tensors of the failed call.
        if memory is None:
            with self.using_device(device):
                allocate = None if nbytes >= _TOO_MANY else lambda: self.cuda.alloc(nbytes)
                memory = self._allocate_after_freeing_pools(allocate, f"{nbytes} bytes")
        buffer = Buffer(memory.ptr, nbytes, device, memory)
        stream = self.cuda.get_current_stream(device)
        if stream.ptr not in _UNCAPTURED and self.runtime.streamIsCapturing(stream.ptr):
            capture = self.captures.setdefault(stream.ptr, _CaptureMemory(stream))
            capture.memory.append(memory)
            buffer.keep_alive_with_buffer(capture)
        elif self.captures:
            self.current_capture_memory(device)
        return buffer

    def memory_stats(self, device: int) -> tuple[int, int, int | None, int | None]:
        self._unfinished.drop_finished()
        with self.using_device(device):
            pool = self._pool_with("used_bytes", "total_bytes", "get_limit")
            free = int(self.runtime.memGetInfo()[0])
            return pool.used_bytes(), pool.total_bytes(), free, pool.get_limit() or None

    def set_memory_limit(self, nbytes: int | None, device: int) -> None:
        with self.using_device(device):
            self._pool_with("set_limit").set_limit(size=nbytes or 0)

    def empty_cache(self) -> None:
        self._unfinished.drop_finished()
        for device in range(self.device_count()):
            with self.using_device(device):
                self._pool_with("free_all_blocks").free_all_blocks()
        self._cupy.get_default_pinned_memory_pool().free_all_blocks()

    def keep_until_finished(self, kept_object: object, stream: Stream) -> None:
        self._unfinished.put(kept_object, stream)

    def _pool_with(self, *methods: str) -> Any:
        """Return the pool of CuPy's current allocator, which must have these methods."""
        pool = getattr(self.cuda.get_allocator(), "__self__", None)
        for method in methods:
            if not hasattr(pool, method):
                raise RuntimeError(f"cuda: CuPy's current allocator has no {method}")
        return pool

    def wrap_memory(self, pointer: int, nbytes: int, device: int, owner: object) -> Buffer:
        self.check_device(device)
        return Buffer(pointer, nbytes, device, owner)

    def allocate_pinned(self, nbytes: int) -> tuple[Bytes, object]:
        memory = self.allocate_with_retry(
            lambda: self.cuda.alloc_pinned_memory(max(1, nbytes)),
            f"{nbytes} bytes of pinned host memory",
            on_host=True,
        )
        return np.frombuffer(memory, np.uint8, nbytes), memory

    def copy_to_device(self, pointer: int, source: Bytes, *, wait: bool = True) -> None:
        self._check_not_capturing("it copies from the host")
        stream = self.cuda.get_current_stream()
        if not self._is_pinned(source):  # CUDA would not say when it has read pageable memory
            self._staging_of_current_device().copy_to_device(pointer, source, stream)
            return
        kind = self.runtime.memcpyHostToDevice
        self.runtime.memcpyAsync(pointer, source.ctypes.data, source.size, kind, stream.ptr)
        if wait:
            self.synchronize()

    def copy_to_host(self, destination: Bytes, pointer: int, *, wait: bool = True) -> None:
        self._check_not_capturing("it waits for the device")
        stream = self.cuda.get_current_stream()
        if wait and destination.size >= STAGED and not self._is_pinned(destination):
            self.counters.synchronisations += 1
            self._staging_of_current_device().copy_to_host(destination, pointer, stream)
            return
        host_address, kind = destination.ctypes.data, self.runtime.memcpyDeviceToHost
        self.runtime.memcpyAsync(host_address, pointer, destination.size, kind, stream.ptr)
        if wait:
            self.synchronize()

    def copy_device_to_device(self, destination: int, source: int, nbytes: int) -> None:
        kind, stream = self.runtime.memcpyDefault, self.cuda.get_current_stream()
        self.runtime.memcpyAsync(destination, source, nbytes, kind, stream.ptr)

    def _new_launcher(self, kernel: Kernel) -> Launcher:
        return CupyLauncher(self, kernel)

    def synchronize(self) -> None:
        self._check_not_capturing("it waits for the device")
        self.counters.synchronisations += 1
        self.cuda.get_current_stream().synchronize()

    def array_module(self, purpose: str) -> Any:
        # CuPy's cuSOLVER refuses a capturing stream. Memory that its other functions allocate would
        # not live as long as the graph. Products use cuBLAS without CuPy (engine/cublas.py).
        self._check_not_capturing("it calls CuPy's libraries")
        self.counters.library_calls += 1
        return self._cupy

    def array_over_memory(
        self, description: StridedMemory, owner: object, *, is_for_writing: bool = False
    ) -> Any:
        low, nbytes = description.lowest_address_and_nbytes
        if not nbytes:
            return self._cupy.empty(description.shape, description.dtype)
        memory = self.cuda.UnownedMemory(low, nbytes, owner, description.device)
        first = self.cuda.MemoryPointer(memory, description.address - low)
        return self._cupy.ndarray(description.shape, description.dtype, first, description.steps)

    def allocate_with_retry(
        self, allocate: Callable[[], Any], asked: str, *, on_host: bool = False
    ) -> Any:
        """Return ``allocate()`` on the current device; if memory has run out, free some and retry.

        `asked`: what is allocated, for the MemoryError if the second attempt fails, too.
        """
        try:
            return allocate()
        except (MemoryError, RuntimeError) as error:
            _check_out_of_memory(error)
        return self._allocate_after_freeing_pools(allocate, asked, on_host=on_host)

    def _allocate_after_freeing_pools(
        self, allocate: Callable[[], Any] | None, asked: str, *, on_host: bool = False
    ) -> Any:
        """Allocate after garbage collection and after freeing all unused blocks of the pools.

        Without `allocate`, as for sizes beyond any device, raise the error at once.
        """
        pool = self._cupy.get_default_memory_pool()
        if allocate:
            gc.collect()
            self._unfinished.drop_finished(wait=True)
            current = getattr(self.cuda.get_allocator(), "__self__", pool)
            for pool_to_free in (pool, current, self._cupy.get_default_pinned_memory_pool()):
                if hasattr(pool_to_free, "free_all_blocks"):
                    pool_to_free.free_all_blocks()
            try:
                return allocate()
            except (MemoryError, RuntimeError) as error:
                _check_out_of_memory(error)
        free = None if on_host else self.runtime.memGetInfo()[0] + pool.free_bytes()
        if free is not None and (limit := pool.get_limit()):
            free = min(free, limit - pool.used_bytes())
        raise out_of_memory_error(asked, free, self.current_device())

    def is_stream_capturing(self, stream_number: int) -> bool:
        """Return whether a stream captures; False after an error that has ended the capture."""
        try:
            return bool(self.runtime.streamIsCapturing(stream_number))
        except RuntimeError:
            return False

    def _check_not_capturing(self, reason: str) -> None:
        """Raise CaptureError, for `reason`, if the current stream captures a graph."""
        number = self.cuda.get_current_stream().ptr
        if number not in _UNCAPTURED and self.runtime.streamIsCapturing(number):
            # Earlier launches of this call are in the graph, so their memory must never be freed.
            self._refused += filter(None, [self.captures.get(number)])
            msg = f"cannot be captured in a CUDA graph, for {reason}; call it before or after"
            raise CaptureError(msg)

    def _is_pinned(self, memory: Bytes) -> bool:
        attributes = self.runtime.pointerGetAttributes(memory.ctypes.data)
        return bool(attributes.type == self.runtime.memoryTypeHost)

    def _staging_of_current_device(self) -> PinnedStaging:
        device = self.current_device()
        staging = self._stagings.get(device)
        return staging or self._stagings.setdefault(device, PinnedStaging(self))


def open_driver() -> CupyDriver:
    """Return a driver for the GPUs of this machine. Raises RuntimeError without CuPy or a GPU."""
    cupy = import_cupy_module("cupy")
    runtime = cupy.cuda.runtime
    try:
        count = int(runtime.getDeviceCount())
    except runtime.CUDARuntimeError as error:
        raise RuntimeError(missing_requirement_message(f"CuPy finds no GPU ({error})")) from None
    if not count:
        raise RuntimeError(missing_requirement_message("CuPy finds no GPU"))
    return CupyDriver(cupy, count)
