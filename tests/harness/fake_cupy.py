"""A stand-in for CuPy: device memory is memory of the host, and calls are written down.

Only what `tensorlayout.cuda` uses, under CuPy's own names and signatures. Numerical functions are
NumPy's, whose arrays stand for CuPy's.
"""

import ctypes
import itertools
import threading
import weakref
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace

import numpy as np


class CUDARuntimeError(RuntimeError):
    pass


class CUDADriverError(RuntimeError):
    def __init__(self, status):
        super().__init__(f"CUDA error {status}")
        self.status = status


class OutOfMemoryError(MemoryError):
    pass


class Recorder:
    """Recorder of calls in order, with prepared answers for the next calls."""

    def __init__(self, device_count=1, limit=None):
        self.calls = []
        self.device_count = device_count
        self.limit = limit
        self.kept_by_pool = 0  # bytes that only freeing the pool gives back
        self.busy = False  # whether anything is still on its way
        self.capturing = set()  # streams, by address
        self.running = set()  # streams that have work to do
        self.asked = 0  # how often, whether a stream captures
        self.pinned = set()
        self.allocated = weakref.WeakSet()
        self.parameter_bytes = 24
        self.local = threading.local()
        self.events = itertools.count(5000)

    @property
    def device(self):
        return getattr(self.local, "device", 0)

    @property
    def streams(self):
        """The current stream of each device, of this thread, where it is not the default."""
        return self.local.__dict__.setdefault("streams", {})

    @property
    def stream(self):
        return self.current_stream()

    def current_stream(self, device_id=-1):
        device = self.device if device_id == -1 else device_id
        return self.streams.get(device) or Stream(self, 0)

    @property
    def free(self):
        """Bytes that the device has."""
        used = sum(memory.nbytes for memory in self.allocated)
        return self.limit - used - self.kept_by_pool

    def refuse_capture(self, stream):
        """Invalidate the capture, as CUDA and CuPy do."""
        if stream in self.capturing:
            raise CUDARuntimeError("cudaErrorStreamCaptureUnsupported")

    def named(self, name):
        return [call[1:] for call in self.calls if call[0] == name]


class Stream:
    def __init__(self, recorder, ptr):
        self.recorder, self.ptr = recorder, ptr

    def __enter__(self):
        self.device = self.recorder.device
        self.before = self.recorder.streams.get(self.device)
        self.recorder.streams[self.device] = self
        return self

    def __exit__(self, *_):
        self.recorder.streams[self.device] = self.before

    def begin_capture(self):
        self.recorder.capturing.add(self.ptr)

    def end_capture(self):
        self.recorder.capturing.remove(self.ptr)

    def synchronize(self):
        self.recorder.refuse_capture(self.ptr)
        self.recorder.calls.append(("synchronize", self.ptr))


class Device:
    compute_capability = "90"

    def __init__(self, recorder, number):
        self.recorder, self.id = recorder, number

    def __enter__(self):
        self.recorder.calls.append(("device", self.id))
        self.before, self.recorder.local.device = self.recorder.device, self.id
        return self

    def __exit__(self, *_):
        self.recorder.local.device = self.before


class Memory:
    """Device memory: at a multiple of 512, as CuPy's pool gives it."""

    def __init__(self, nbytes, device):
        self.array, self.nbytes = np.zeros(nbytes + 512, np.uint8), nbytes
        self.ptr = -(-self.array.ctypes.data // 512) * 512 if nbytes else 0
        self.device_id = device


class Event:
    def __init__(self, recorder):
        self.recorder, self.ptr = recorder, next(recorder.events)
        recorder.calls.append(("event", recorder.device))

    def record(self, stream=None):
        self.recorder.calls.append(("record", stream.ptr))

    @property
    def done(self):
        return not self.recorder.busy

    def synchronize(self):
        self.recorder.calls.append(("wait",))


class Function:
    """A kernel on a device. Its address: the device's number, and 1000."""

    def __init__(self, recorder, name):
        self.recorder, self.name, self.ptr = recorder, name, 1000 + recorder.device


class Module:
    def __init__(self, recorder):
        self.recorder = recorder

    def load(self, cubin):
        assert type(cubin) is bytes
        self.recorder.calls.append(("load", cubin, self.recorder.device))

    def get_function(self, name):
        if name == "missing":
            raise CUDADriverError(500)
        return Function(self.recorder, name)


class FakeDriver:
    CUDADriverError = CUDADriverError

    def __init__(self, recorder):
        self.recorder = recorder

    def launchKernel(
        self, f, grid_dim_x, grid_dim_y, grid_dim_z, block_dim_x, block_dim_y, block_dim_z,
        shared_mem_bytes, stream, kernel_params, extra,
    ):  # fmt: skip
        assert (shared_mem_bytes, extra) == (0, 0)
        address = ctypes.c_void_p.from_address(kernel_params).value
        parameters = ctypes.string_at(address, self.recorder.parameter_bytes)
        grid = (grid_dim_x, grid_dim_y, grid_dim_z)
        block = (block_dim_x, block_dim_y, block_dim_z)
        self.recorder.calls.append(("launch", f, grid, block, stream, parameters))


class FakeRuntime:
    CUDARuntimeError = CUDARuntimeError
    memcpyHostToDevice, memcpyDeviceToHost, memcpyDefault = 1, 2, 4
    memoryTypeHost, memoryTypeDevice, memoryTypeManaged = 1, 2, 3

    def __init__(self, recorder):
        self.recorder = recorder

    def getDeviceCount(self):
        if self.recorder.device_count is None:
            raise CUDARuntimeError("cudaErrorNoDevice: no CUDA-capable device is detected")
        return self.recorder.device_count

    def runtimeGetVersion(self):
        return 12090

    def getDevice(self):
        return self.recorder.device

    def setDevice(self, device):
        self.recorder.calls.append(("setDevice", device))

    def memGetInfo(self):
        return self.recorder.free, self.recorder.limit

    def pointerGetAttributes(self, ptr):
        for memory in self.recorder.allocated:
            if memory.ptr <= ptr < memory.ptr + memory.nbytes:
                return SimpleNamespace(type=self.memoryTypeDevice, device=memory.device_id)
        return SimpleNamespace(type=int(ptr in self.recorder.pinned), device=-2)

    def deviceCanAccessPeer(self, device, peerDevice):
        return 0

    def streamIsCapturing(self, stream):
        assert stream not in (0, 1), "CUDA refuses, while another stream captures"
        self.recorder.asked += 1
        return stream in self.recorder.capturing

    def streamQuery(self, stream):
        self.recorder.refuse_capture(stream)
        return 600 if self.recorder.busy or stream in self.recorder.running else 0

    def eventRecord(self, ptr, stream):
        self.recorder.calls.append(("eventRecord", ptr, stream, self.recorder.device))

    def streamWaitEvent(self, stream, event):
        self.recorder.calls.append(("streamWaitEvent", stream, event, self.recorder.device))

    def memcpyAsync(self, dst, src, size, kind, stream):
        assert all(type(item) is int for item in (dst, src, size, kind, stream))
        if kind != self.memcpyDefault:
            self.recorder.refuse_capture(stream)
        self.recorder.calls.append(("memcpy", dst, src, size, kind, stream))
        ctypes.memmove(dst, src, size)


class Pool:
    """CuPy's default one."""

    def __init__(self, recorder):
        self.recorder = recorder

    def malloc(self, size):
        recorder = self.recorder
        if not 0 <= size < 2**63 - 511:
            raise OverflowError("Python int too large to convert to C ssize_t")
        if recorder.limit is not None and size > recorder.free:
            raise OutOfMemoryError
        recorder.calls.append(("alloc", size, recorder.device))
        memory = Memory(size, recorder.device)
        recorder.allocated.add(memory)
        return memory

    def free_all_blocks(self):
        self.recorder.calls.append(("free_all_blocks",))
        self.recorder.kept_by_pool = 0

    def free_bytes(self):
        return self.recorder.kept_by_pool

    def get_limit(self):
        return 0


class PinnedMemory(np.ndarray):
    """Bytes with an address, as `cupy.cuda.PinnedMemoryPointer` is."""

    @property
    def ptr(self):
        return self.ctypes.data


class UnownedMemory:
    def __init__(self, ptr, size, owner, device_id=-1):
        self.ptr, self.size, self.owner, self.device_id = ptr, size, owner, device_id


class MemoryPointer:
    def __init__(self, mem, offset):
        self.mem, self.ptr = mem, mem.ptr + offset


def ndarray(shape, dtype=float, memptr=None, strides=None, order="C"):
    """An array over memory, of NumPy."""
    memory = memptr.mem
    octets = (ctypes.c_uint8 * memory.size).from_address(memory.ptr)
    return np.ndarray(shape, dtype, octets, memptr.ptr - memory.ptr, strides, order)


# CuPy's numerical functions that are used.
FUNCTIONS = (
    *("abs", "arange", "argsort", "ascontiguousarray", "bincount", "broadcast_to", "concatenate"),
    *("cross", "cumsum", "divmod", "einsum", "empty", "expand_dims", "flatnonzero", "gradient"),
    *("isfinite", "isnan", "matmul", "max", "may_share_memory", "min", "moveaxis", "multiply"),
    *("not_equal", "ones", "power", "searchsorted", "sqrt", "square", "sum", "swapaxes", "where"),
    "zeros",
)
LINALG = (
    *("cholesky", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matrix_power", "qr"),
    *("slogdet", "solve", "svd"),
)
FFT = ("fft", "fftn", "hfft", "ifft", "ifftn", "ihfft", "irfft", "rfft")


def cupy_of(cuda, pool, array, numpy_function):
    """The module `cupy`; `taken`: what it has for a function of NumPy's."""

    def functions(source, names):
        return {name: numpy_function(getattr(source, name)) for name in names}

    cupy = ModuleType("cupy")
    cupy.__spec__ = ModuleSpec("cupy", None)
    cupy.cuda, cupy.ndarray, cupy.get_default_memory_pool = cuda, array, lambda: pool
    cupy.get_default_pinned_memory_pool = lambda: pool
    vars(cupy).update(functions(np, FUNCTIONS))
    cupy.linalg = SimpleNamespace(**functions(np.linalg, LINALG))
    cupy.fft = SimpleNamespace(**functions(np.fft, FFT))
    return cupy


def fake_cupy(recorder):
    """The module `cupy`."""
    pool = Pool(recorder)

    def alloc_pinned_memory(size):
        recorder.calls.append(("pinned", size))
        return np.zeros(size, np.uint8).view(PinnedMemory)

    cuda = SimpleNamespace(
        runtime=FakeRuntime(recorder), driver=FakeDriver(recorder),
        function=SimpleNamespace(Module=lambda: Module(recorder)),
        Device=lambda number: Device(recorder, number),
        Event=lambda *, disable_timing: Event(recorder),
        UnownedMemory=UnownedMemory, MemoryPointer=MemoryPointer,
        alloc=pool.malloc, alloc_pinned_memory=alloc_pinned_memory,
        get_allocator=lambda: pool.malloc, get_current_stream=recorder.current_stream,
    )  # fmt: skip
    return cupy_of(cuda, pool, ndarray, lambda function: function)


def fake_cupyx(recorder):
    """The module `cupyx`."""

    @contextmanager
    def errstate(*, divide=None, over=None, under=None, invalid=None, linalg=None):
        recorder.calls.append(("errstate", linalg))
        yield

    cupyx = ModuleType("cupyx")
    cupyx.errstate = errstate
    return cupyx
