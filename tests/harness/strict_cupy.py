"""CuPy over a strict machine: signatures as Cython checks them, NVRTC, modules, pool, streams.

Numerical functions are NumPy's, on arrays over device memory, and run on the host when called,
after what their stream holds. A "cubin" is an ELF file that says which kernel of ours it is; so the
machine, not the compiler, finds mistakes in a kernel.
"""

import ctypes
import functools
import importlib
import inspect
import json
import operator
import re
import struct
import sys
import threading
import weakref
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import NamedTuple

import ml_dtypes
import numpy as np
from fake_cupy import PinnedMemory, UnownedMemory, cupy_of, ndarray
from strict_cuda import ERRORS, Event, Refused

from tensorlayout.cuda.engine import cublas, cublaslt
from tensorlayout.cuda.engine.kernel_shapes import kernel_label
from tensorlayout.cuda.engine.simulator import KernelError

# ---- Calls, as Cython takes them

INT, UINT, SIZE, SSIZE, ADDRESS = "int", "unsigned int", "size_t", "Py_ssize_t", "intptr_t"
C_TYPES = {
    INT: (-(2**31), 2**31 - 1),
    UINT: (0, 2**32 - 1),
    SIZE: (0, 2**64 - 1),
    SSIZE: (-(2**63), 2**63 - 1),
    ADDRESS: (-(2**63), 2**63 - 1),
}


def c_value(value, kind):
    """TypeError for what is no integer, OverflowError for what the type does not hold."""
    low, high = C_TYPES[kind]
    number = operator.index(value)
    if not low <= number <= high:
        raise OverflowError(f"{number} is no {kind}")
    return number


class CUDAError(RuntimeError):
    """An error with CUDA's number and words."""

    def __init__(self, status, said=None):
        self.status = status
        super().__init__(f"CUDA error {status}: {ERRORS[status]}")
        if said:
            self.add_note(said)


class CUDARuntimeError(CUDAError):
    pass


class CUDADriverError(CUDAError):
    pass


class OutOfMemoryError(MemoryError):
    pass


def c_call(function, of_any_thread=False):
    """A method as CuPy has it: arguments of C types, one call at a time, CUDA's errors.

    It makes CUDA ready in its thread, unless it is one `of_any_thread`.
    """
    kinds = function.__annotations__
    names = list(inspect.signature(function).parameters)[1:]

    @functools.wraps(function)
    def call(self, *args, **named):
        operands = [
            c_value(value, kinds[name]) if name in kinds else value
            for name, value in zip(names, args, strict=False)
        ]
        machine = self.machine
        with machine.lock:
            try:
                machine.enter()
                if not of_any_thread:
                    machine.local.ready = True
                return function(self, *operands, **named)
            except Refused as refused:
                status = refused.status
                said = machine.said if status == machine.lost else None
        raise self.error(status, said)

    return call


c_call_of_any_thread = functools.partial(c_call, of_any_thread=True)


class Runtime:
    """`cupy.cuda.runtime`."""

    error = CUDARuntimeError
    CUDARuntimeError = CUDARuntimeError
    memcpyHostToDevice, memcpyDeviceToHost, memcpyDeviceToDevice, memcpyDefault = 1, 2, 3, 4
    memoryTypeHost, memoryTypeDevice, memoryTypeManaged = 1, 2, 3
    streamNonBlocking, eventDisableTiming = 1, 2
    streamCaptureModeGlobal, streamCaptureModeThreadLocal, streamCaptureModeRelaxed = 0, 1, 2
    CUDA_R_32F, CUDA_R_64F, CUDA_R_16F, CUDA_R_16BF, CUDA_C_32F, CUDA_C_64F = 0, 1, 2, 14, 4, 5
    CUDA_R_8I = 3

    def __init__(self, machine):
        self.machine = machine

    @c_call_of_any_thread
    def getDeviceCount(self):
        return self.machine.device_count

    def runtimeGetVersion(self):
        return 12090

    def getDevice(self):
        return self.machine.device

    @c_call
    def setDevice(self, device: INT):
        self.machine.set_device(device)

    @c_call
    def deviceCanAccessPeer(self, device: INT, peerDevice: INT):
        return int(self.machine.can_access_peer(device, peerDevice))

    @c_call
    def deviceEnablePeerAccess(self, peerDevice: INT):
        self.machine.enable_peer_access(peerDevice)

    @c_call
    def deviceSynchronize(self):
        self.machine.synchronize_device()

    @c_call
    def memGetInfo(self):
        return self.machine.free_bytes(self.machine.device), self.machine.memory

    @c_call
    def pointerGetAttributes(self, ptr: ADDRESS):
        device = self.machine.device_at(ptr)
        if device is not None:
            return SimpleNamespace(type=2, device=device, devicePointer=ptr, hostPointer=0)
        pinned = bool(self.machine.pinned.at(ptr))
        result = self.machine.device if pinned else -2
        return SimpleNamespace(type=int(pinned), device=result, devicePointer=0, hostPointer=ptr)

    @c_call
    def memcpyAsync(self, dst: ADDRESS, src: ADDRESS, size: SIZE, kind: INT, stream: ADDRESS):
        self.machine.copy(dst, src, size, kind, self.machine.stream(stream))

    # Streams

    @c_call
    def streamCreateWithPriority(self, flags: UINT, priority: INT):
        result = self.machine.new_stream(not flags & self.streamNonBlocking)
        return self.machine.new(self.machine.streams, result)

    @c_call
    def streamSynchronize(self, stream: ADDRESS):
        self.machine.synchronize(self.machine.stream(stream))

    @c_call
    def streamQuery(self, stream: ADDRESS):
        result = self.machine.stream(stream)
        if result.capture:
            self.machine.spoil(result)
        return 0 if self.machine.is_idle(result) else 600

    @c_call
    def streamWaitEvent(self, stream: ADDRESS, event: ADDRESS, flags: UINT = 0):
        self.machine.wait_event(self.machine.stream(stream), self.machine.event(event))

    @c_call
    def streamIsCapturing(self, stream: ADDRESS):
        result = self.machine.stream(stream)
        self.machine.check_implicit(result)
        if result.capture and result.capture.broken:
            raise RuntimeError("an error has invalidated the capture sequence")
        return result.capture is not None

    @c_call
    def streamBeginCapture(self, stream: ADDRESS, mode: INT = 2):
        self.machine.begin_capture(self.machine.stream(stream), mode)

    @c_call
    def streamEndCapture(self, stream: ADDRESS):
        return self.machine.end_capture(self.machine.stream(stream))

    @c_call
    def graphLaunch(self, graphExec, stream: ADDRESS):
        self.machine.launch_graph(graphExec, self.machine.stream(stream))

    # Events

    @c_call
    def eventCreateWithFlags(self, flags: UINT):
        result = Event(self.machine.device, not flags & self.eventDisableTiming)
        return self.machine.new(self.machine.events, result)

    @c_call
    def eventRecord(self, event: ADDRESS, stream: ADDRESS):
        self.machine.record(self.machine.event(event), self.machine.stream(stream))

    @c_call
    def eventSynchronize(self, event: ADDRESS):
        result = self.machine.event(event)
        if result.captured:
            result.captured[0].broken = True
            raise Refused(907)
        self.machine.wait([result.work])

    @c_call
    def eventQuery(self, event: ADDRESS):
        result = self.machine.event(event)
        if result.captured:
            result.captured[0].broken = True
            return 907
        return 0 if result.work is None or result.work.done else 600

    @c_call
    def eventElapsedTime(self, start: ADDRESS, end: ADDRESS):
        first, then = self.machine.event(start), self.machine.event(end)
        if not (first.timed and then.timed and first.work and then.work):
            raise Refused(400)
        if not (first.work.done and then.work.done):
            raise Refused(600)
        return (then.time - first.time) / 1e3


class Driver:
    """`cupy.cuda.driver`."""

    error = CUDADriverError
    CUDADriverError = CUDADriverError

    def __init__(self, machine):
        self.machine = machine

    @c_call_of_any_thread
    def launchKernel(
        self, f: ADDRESS, grid_dim_x: UINT, grid_dim_y: UINT,
        grid_dim_z: UINT, block_dim_x: UINT, block_dim_y: UINT,
        block_dim_z: UINT, shared_mem_bytes: UINT, stream: ADDRESS,
        kernel_params: ADDRESS, extra: ADDRESS,
    ):  # fmt: skip
        machine = self.machine
        if not getattr(machine.local, "ready", False):
            raise Refused(201)
        function = machine.functions.get(f)
        if function is None:
            raise Refused(400)
        machine.launch(
            function,
            (grid_dim_x, grid_dim_y, grid_dim_z),
            (block_dim_x, block_dim_y, block_dim_z),
            shared_mem_bytes,
            machine.stream(stream),
            ctypes.c_void_p.from_address(kernel_params).value,
        )

    CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 0, 1
    CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 2, 3
    CU_FUNC_ATTRIBUTE_NUM_REGS, CU_FUNC_ATTRIBUTE_PTX_VERSION = 4, 5
    CU_FUNC_ATTRIBUTE_BINARY_VERSION = 6

    @c_call
    def funcGetAttribute(self, attribute: INT, f: ADDRESS):
        if f not in self.machine.functions:
            raise Refused(400)
        # What the compiler decides is unknown here: 32 registers and no memory of its own.
        return (256, 0, 0, 0, 32, self.machine.capability, self.machine.capability)[attribute]

    @c_call
    def moduleLoadData(self, image):
        content = read_image(image, self.machine.capability)
        return LoadedModule(content, self.machine.device, self.machine.load_module(len(image)))

    @c_call
    def moduleGetFunction(self, module, funcname):
        return self.machine.new(
            self.machine.functions, Loaded(self.machine, module.content, funcname)
        )


class LoadedModule(NamedTuple):
    content: str
    device: int
    nbytes: int


class Loaded:
    """A kernel on a device, and what a launch of it takes."""

    threads = 256

    def __init__(self, machine, module, name):
        label = kernel_label(KERNELS[module])
        if not name.endswith(f"_{label}" if label else ""):
            raise Refused(500)
        name = name.removesuffix(f"_{label}")
        self.device, self.kernel = machine.device, replace(KERNELS[module], name=name)
        try:
            self.launcher = machine.simulator.launcher(self.kernel)
        except ValueError:
            raise Refused(500) from None
        self.parameter_bytes = _parameter_bytes(self.launcher)


def _parameter_bytes(launcher):
    """The size of a kernel's struct, which refuses to run with another one and names its own."""
    try:
        launcher(1, bytearray(8192))
    except KernelError as error:
        return int(re.search(r"takes (\d+) bytes of parameters, got 8192", str(error))[1])
    raise AssertionError(f"{launcher} ran with parameters of a size that no kernel has")


# ---- NVRTC: programs and their images

# What programs are of: whoever asks a driver for a kernel says it (`note_kernel`), for the macros
# of a program do not say which of them the simulator compiles for.
KERNELS = {}


def note_kernel(kernel):
    macros = [
        *kernel.types,
        *kernel.shape,
        *([("OPERATION", kernel.operation)] * bool(kernel.operation)),
    ]
    KERNELS[_key(Path(kernel.file).name, [f"{n}={v}" for n, v in macros])] = kernel


def _key(name, macros):
    return json.dumps([Path(name).name, *sorted(macros)])


_HEADER, _SECTION, _EM_CUDA = "<16sHHIQQQIHHHHHH", "<IIQQQQIIQQ", 190


def image(content, architecture):
    """A whole ELF file: a header, a section of content, and the table of sections at the end."""
    start = struct.calcsize(_HEADER)
    table = start + len(content)
    header = struct.pack(
        _HEADER, b"\x7fELF\2\1\1\x41\7" + bytes(7), 2, _EM_CUDA, 1, 0, 0, table,
        architecture, start, 0, 0, struct.calcsize(_SECTION), 2, 0,
    )  # fmt: skip
    sections = struct.pack(_SECTION, *[0] * 10)
    sections += struct.pack(_SECTION, 1, 1, 0, 0, start, len(content), 0, 0, 1, 0)
    return header + content + sections


def read_image(arguments, capability):
    """The content. 200 for a file that is not whole, 209 for one of another architecture."""
    size, items = struct.calcsize(_HEADER), struct.calcsize(_SECTION)
    if len(arguments) < size:
        raise Refused(200)
    ident, _, machine, _, _, _, table, architecture, *_, count, _ = struct.unpack_from(
        _HEADER, arguments
    )
    if not ident.startswith(b"\x7fELF\2\1\1") or machine != _EM_CUDA:
        raise Refused(200)
    if table + count * items > len(arguments):
        raise Refused(200)
    if architecture // 10 != capability // 10 or architecture > capability:
        raise Refused(209)
    start, length = struct.unpack_from(_SECTION, arguments, table + items)[4:6]
    if start + length > table:
        raise Refused(200)
    return arguments[start : start + length].decode()


class NVRTCError(RuntimeError):
    pass


def strict_nvrtc():
    """The module `cupy_backends.cuda.libs.nvrtc`. What it makes is no code: version 0 says so."""
    programs = {}

    def createProgram(src, name, headers, include_names):
        assert type(src) is type(name) is str
        assert len(headers) == len(include_names)
        for item in (*headers, *include_names):
            assert type(item) is bytes, "which becomes a pointer to characters"
        programs[len(programs) + 1] = SimpleNamespace(src=src, name=name, cubin=b"")
        return len(programs)

    def compileProgram(prog, options):
        result = programs[prog]
        assert all(type(option) is str for option in options)
        arch = [int(option[9:]) for option in options if option.startswith("-arch=sm_")]
        # The label is made of the others; `Loaded` checks it.
        macros = [option[2:] for option in options if re.match("-D(?!LABEL=)", option)]
        if arch:
            result.cubin = image(_key(result.name, macros).encode(), arch[0])

    def getCUBIN(prog):
        """As CuPy 14 does it: without the last byte, as if it were the NUL that ends a text."""
        if not programs[prog].cubin:
            raise RuntimeError("cubin is requested, but the real arch (sm_XX) is not provided")
        return programs[prog].cubin[:-1]

    module = ModuleType("cupy_backends.cuda.libs.nvrtc")
    vars(module).update(
        NVRTCError=NVRTCError, createProgram=createProgram, compileProgram=compileProgram,
        getCUBIN=getCUBIN, getProgramLog=lambda prog: "", getVersion=lambda: (0, 0),
        getPTX=lambda prog: b"// NVRTC 0.0",
        destroyProgram=lambda prog: programs[prog] and None,
        getSupportedArchs=lambda: (75, 80, 86, 87, 89, 90, 100, 103, 110, 120),
    )  # fmt: skip
    return module


# ---- The objects of cupy.cuda


class StrictCupy:
    """Makes the modules, over one machine."""

    def __init__(self, machine):
        self.machine, self.runtime, self.driver = machine, Runtime(machine), Driver(machine)
        machine.stream_in_use = lambda: machine.stream(self.current().ptr)
        self.local = threading.local()

    def stack(self, device):
        stacks = self.local.__dict__.setdefault("stacks", {})
        return stacks.setdefault(device, [self.null])

    def current(self, device_id=-1):
        device_id = c_value(device_id, INT)
        device = self.machine.device if device_id == -1 else device_id
        if not 0 <= device < self.machine.device_count:
            raise IndexError("list index out of range")
        return self.stack(device)[-1]

    def modules(self):
        """Return the modules to install in `sys.modules`."""
        cuda = self._cuda()
        cupy = cupy_of(cuda, self.pool, self._ndarray, self._numerical)
        cupy.asarray = cupy.asnumpy = self._numerical(np.array)
        spare_pinned = SimpleNamespace(free_all_blocks=self.machine.spare_pinned.clear)
        cupy.get_default_pinned_memory_pool = lambda: spare_pinned
        cupyx = ModuleType("cupyx")
        cupyx.errstate = _errstate
        cusolver = ModuleType("cupyx.cusolver")
        cusolver.check_availability = lambda name: {"geev": True}[name]
        return {
            "cupy": cupy,
            "cupyx": cupyx,
            "cupyx.cusolver": cusolver,
            "cupy_backends.cuda.libs.nvrtc": strict_nvrtc(),
        }

    def _numerical(self, function):
        @functools.wraps(function)
        def call(*args, **options):
            self.library()
            with np.errstate(all="ignore"):
                result = function(*args, **options)
            return _arrays(result)

        return call

    def library(self):
        machine = self.machine
        self._do(lambda: machine.library(machine.stream_in_use()))

    def enqueue(self, stream, run):
        """Work of a library on a stream."""
        self._do(lambda: self.machine.enqueue(stream, run))

    def _do(self, action):
        machine = self.machine
        with machine.lock:
            try:
                machine.enter()
                action()
            except Refused as refused:
                status = refused.status
            else:
                return
        raise CUDARuntimeError(status, machine.said)

    def _ndarray(self, shape, dtype=float, memptr=None, strides=None, order="C"):
        """An array over memory, of NumPy, where all that its stream holds has been done."""
        self.library()
        return ndarray(shape, dtype, memptr, strides, order)

    def _cuda(self):
        cupy, machine, runtime, driver = self, self.machine, self.runtime, self.driver

        class Stream:
            def __init__(self, null=False, non_blocking=False, ptds=False, priority=None):
                if null or ptds:
                    self.ptr, self.device_id = (0 if null else 2), -1
                else:
                    self.ptr = runtime.streamCreateWithPriority(int(non_blocking), priority or 0)
                    self.device_id = runtime.getDevice()

            @classmethod
            def from_external(cls, obj):
                result = object.__new__(cls)
                version, result.ptr = obj.__cuda_stream__()
                assert version == 0
                # As in CuPy, the device is unknown; the owner destroys the stream.
                result.device_id, result.owner = -1, obj
                return result

            def __cuda_stream__(self):
                return 0, self.ptr

            def __del__(self):
                if getattr(self, "ptr", 0) > 2 and not hasattr(self, "owner"):
                    machine.dropped.append(functools.partial(machine.streams.pop, self.ptr, None))

            def __eq__(self, other):
                return self.ptr == getattr(other, "ptr", None)

            def __hash__(self):
                return self.ptr

            def __enter__(self):
                device = runtime.getDevice()
                if self.device_id not in (-1, device):
                    raise RuntimeError(f"a stream of device {self.device_id}, not of {device}")
                cupy.stack(device).append(self)
                cupy.local.__dict__.setdefault("entered", []).append(device)
                return self

            def __exit__(self, *_):
                cupy.stack(cupy.local.entered.pop()).pop()

            @property
            def done(self):
                return runtime.streamQuery(self.ptr) == 0

            def synchronize(self):
                runtime.streamSynchronize(self.ptr)

            def record(self, event=None):
                event = event or Event()
                runtime.eventRecord(event.ptr, self.ptr)
                return event

            def wait_event(self, event):
                runtime.streamWaitEvent(self.ptr, event.ptr)

            def begin_capture(self, mode=None):
                if self.ptr in (0, 1):
                    raise RuntimeError("cannot capture on the default (legacy) stream")
                runtime.streamBeginCapture(self.ptr, 2 if mode is None else mode)

            def end_capture(self):
                return Graph(runtime.streamEndCapture(self.ptr))

        class Event:
            def __init__(self, block=False, disable_timing=False, interprocess=False):
                self.ptr = runtime.eventCreateWithFlags(int(block) | 2 * bool(disable_timing))

            def __del__(self):
                if getattr(self, "ptr", 0):
                    machine.dropped.append(functools.partial(machine.events.pop, self.ptr, None))

            @property
            def done(self):
                return runtime.eventQuery(self.ptr) == 0

            def record(self, stream=None):
                runtime.eventRecord(self.ptr, (stream or cupy.current()).ptr)

            def synchronize(self):
                runtime.eventSynchronize(self.ptr)

        class Graph:
            def __init__(self, nodes):
                self.graph = nodes

            def launch(self, stream=None):
                runtime.graphLaunch(self.graph, (stream or cupy.current()).ptr)

        class Device:
            def __init__(self, device=None):
                self.id = runtime.getDevice() if device is None else c_value(device, INT)

            def __enter__(self):
                cupy.local.__dict__.setdefault("devices", []).append(runtime.getDevice())
                runtime.setDevice(self.id)
                return self

            def __exit__(self, *_):
                machine.local.device = cupy.local.devices.pop()

            @property
            def compute_capability(self):
                return str(machine.capability)

            def synchronize(self):
                with self:
                    runtime.deviceSynchronize()

        class Memory:
            """A block of the pool, which goes back when it is collected."""

            def __init__(self, block):
                self.ptr = block.pointer if block else 0
                self.size = block.size if block else 0
                self.block = block

            def __del__(self):
                machine.drop(self.block)

        class MemoryPointer:
            def __init__(self, mem, offset):
                self.mem, self.ptr = mem, mem.ptr + c_value(offset, SSIZE)

        class Pool:
            error = CUDARuntimeError

            def __init__(self):
                self.machine = machine

            def malloc(self, size):
                try:
                    return self._malloc(size)
                except CUDARuntimeError as error:
                    if error.status != 2:
                        raise
                raise OutOfMemoryError(f"Out of memory allocating {size} bytes")

            @c_call
            def _malloc(self, size: SIZE):
                if not size:
                    return MemoryPointer(UnownedMemory(0, 0, None), 0)
                block = machine.malloc(size, machine.stream_in_use())
                return MemoryPointer(Memory(block), 0)

            @c_call
            def outside(self, size: SIZE):
                """The allocator of `set_allocator(None)`: cudaMalloc and its errors."""
                block = machine.malloc_outside_the_pool(size, machine.stream_in_use())
                return MemoryPointer(Memory(block), 0)

            @c_call
            def free_all_blocks(self, stream=None):
                machine.free_all_blocks()

            @c_call
            def free_bytes(self):
                return machine.pooled_bytes(machine.device)

            @c_call
            def total_bytes(self):
                return machine.allocated_bytes(machine.device)

            def used_bytes(self):
                return self.total_bytes() - self.free_bytes()

            def get_limit(self):
                return machine.limits.get(machine.device, 0)

            def set_limit(self, size=None, fraction=None):
                assert (size is None) != (fraction is None)
                machine.limits[machine.device] = c_value(size, SIZE)

        class Function:
            def __init__(self, module, name):
                self.module, self.ptr = module, driver.moduleGetFunction(module.ptr, name)

        class Module:
            """A loaded file, which is unloaded with its functions when it is collected."""

            ptr = None

            def __init__(self):
                self.functions = []

            def __del__(self):
                machine.dropped.append(functools.partial(machine.unload, self.functions, self.ptr))

            def load(self, cubin):
                if type(cubin) is not bytes:
                    raise TypeError(f"Expected bytes, got {type(cubin).__name__}")
                self.ptr = driver.moduleLoadData(cubin)

            def get_function(self, name):
                function = Function(self, name)
                self.functions.append(function.ptr)
                return function

        def set_allocator(allocator=None):
            self.allocator = allocator or self.pool.outside

        def alloc_pinned_memory(size):
            with machine.lock:
                try:
                    array = machine.pin(c_value(size, SIZE))
                except Refused as refused:
                    raise CUDARuntimeError(refused.status) from None
            result = array.view(PinnedMemory)
            finalizer = weakref.finalize(
                result, machine.dropped.append, functools.partial(machine.unpin, array)
            )
            finalizer.atexit = False
            return result

        self.null = Stream.null = Stream(null=True)
        Stream.ptds = Stream(ptds=True)
        self.pool = Pool()
        self.allocator = self.pool.malloc
        return SimpleNamespace(
            runtime=runtime, driver=driver, cublas=Cublas(self), get_cublas_handle=lambda: HANDLE,
            function=SimpleNamespace(Module=Module, Function=Function),
            Device=Device, Event=Event, Stream=Stream, Graph=Graph,
            UnownedMemory=UnownedMemory, MemoryPointer=MemoryPointer,
            alloc=lambda size: self.allocator(size), alloc_pinned_memory=alloc_pinned_memory,
            set_allocator=set_allocator, get_allocator=lambda: self.allocator,
            get_current_stream=self.current,
            get_elapsed_time=lambda a, b: runtime.eventElapsedTime(a.ptr, b.ptr),
        )  # fmt: skip


def _arrays(result):
    """Scalars of NumPy as arrays, which is what CuPy has."""
    if isinstance(result, tuple):
        whole = [_arrays(item) for item in result]
        return type(result)(*whole) if hasattr(result, "_fields") else tuple(whole)
    return np.asarray(result) if isinstance(result, np.generic) else result


@contextmanager
def _errstate(*, divide=None, over=None, under=None, invalid=None, linalg=None):
    with np.errstate(all="ignore"):
        yield


HANDLE = 77  # of cuBLAS

# By the runtime's numbers.
GEMM_DTYPES = {
    number: np.dtype(name)
    for number, name in {
        0: "float32", 1: "float64", 2: "float16", 3: "int8", 4: "complex64", 5: "complex128",
        10: "int32", 14: ml_dtypes.bfloat16,
    }.items()
}  # fmt: skip


def _table(words):
    return {
        (int(compute), np.dtype(operand), np.dtype(result)): np.dtype(scalar)
        for compute, operand, result, scalar in map(str.split, words.strip().splitlines())
    }


# What cublasGemmEx supports (cuBLAS 12.9): compute type, operands, result, and alpha and beta.
GEMM_TYPES = _table("""
    68 float16 float16 float32
    68 float16 float32 float32
    68 bfloat16 bfloat16 float32
    68 bfloat16 float32 float32
    68 float32 float32 float32
    68 complex64 complex64 complex64
    70 float64 float64 float64
    70 complex128 complex128 complex128
    72 int8 int32 int32
    68 int8 float32 float32
    77 float32 float32 float32
    77 complex64 complex64 complex64
""")


def tf32(array):
    """Parts rounded to 10 bits of fraction, ties away from 0."""
    bits = np.ascontiguousarray(array).view(np.uint32)
    return ((bits + 0x1000) & ~np.uint32(0x1FFF)).view(array.dtype)


class CUBLASError(RuntimeError):
    def __init__(self, status):
        names = {7: "INVALID_VALUE", 15: "NOT_SUPPORTED"}
        super().__init__(f"CUBLAS_STATUS_{names[status]}")
        self.status = status


class Cublas:
    """`cupy.cuda.cublas`: matrix products of columns, as BLAS has them."""

    CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C = 0, 1, 2
    CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_64F, CUBLAS_COMPUTE_32I = 68, 70, 72
    CUBLAS_COMPUTE_32F_FAST_TF32 = 77
    CUBLAS_GEMM_DEFAULT = -1

    def __init__(self, cupy):
        self.cupy, self.mode = cupy, 0

    def getMathMode(self, handle):
        return self.mode

    def setMathMode(self, handle, mode):
        self.mode = mode

    def gemmEx(
        self, handle, transa, transb, m, n, k, alpha, A, Atype, lda, B, Btype, ldb, beta, C, Ctype,
        ldc, computeType, algo,
    ):  # fmt: skip
        a, b, c = (A, Atype, lda, 0), (B, Btype, ldb, 0), (C, Ctype, ldc, 0)
        scalars = alpha, beta, computeType, algo
        self._multiply(handle, transa, transb, (m, n, k), scalars, a, b, c, 1)

    def gemmStridedBatchedEx(
        self, handle, transa, transb, m, n, k, alpha, A, Atype, lda, strideA, B, Btype, ldb,
        strideB, beta, C, Ctype, ldc, strideC, batchCount, computeType, algo,
    ):  # fmt: skip
        a, b, c = (A, Atype, lda, strideA), (B, Btype, ldb, strideB), (C, Ctype, ldc, strideC)
        scalars = alpha, beta, computeType, algo
        self._multiply(handle, transa, transb, (m, n, k), scalars, a, b, c, batchCount)

    def _stream(self, handle):
        """The current stream. CuPy's binding refuses one that captures."""
        stream = self.cupy.machine.stream_in_use()
        if stream.capture:
            raise NotImplementedError("calling cuBLAS API during stream capture is unsupported")
        return stream

    def _multiply(self, handle, transa, transb, sizes, scalars, a, b, c, count):
        assert handle == HANDLE
        m, n, k = (c_value(size, INT) for size in sizes)
        self._check_types(scalars, a, b, c)
        if a[1] == 3:
            check_byte_gemm(transa, transb, (m, n, k), a, b, c)
        operands = (a, m, k, transa, count), (b, k, n, transb, count), (c, m, n, 0, count)
        for operand in operands:
            _blas_matrices(*operand)

        def run():
            first, second, result = (
                _blas_matrices(*operand, self.cupy.machine.check_live) for operand in operands
            )
            if scalars[2] == self.CUBLAS_COMPUTE_32F_FAST_TF32:
                first, second = tf32(first), tf32(second)
            work = {"c": "complex128", "i": "int64"}.get(first.dtype.kind, "float64")
            with np.errstate(all="ignore"):
                result[...] = (first.astype(work) @ second.astype(work)).astype(result.dtype)

        self.cupy.enqueue(self._stream(handle), run)

    def _check_types(self, scalars, a, b, c):
        """Types that cuBLAS supports together; alpha and beta, read in theirs, are 1 and 0."""
        alpha, beta, compute, algo = scalars
        if a[1] != b[1] or algo != self.CUBLAS_GEMM_DEFAULT:
            raise CUBLASError(15)
        dtype = GEMM_TYPES.get((compute, GEMM_DTYPES[a[1]], GEMM_DTYPES[c[1]]))
        if dtype is None:
            raise CUBLASError(15)
        read = [
            np.frombuffer(ctypes.string_at(item, dtype.itemsize), dtype)[0]
            for item in (alpha, beta)
        ]
        assert read == [1, 0], f"alpha and beta are {read}"


def _blas_matrices(arguments, rows, columns, transposed, count, check=None):
    """A stack of matrices at an address, whose bytes are given to `check`."""
    address, kind, leading, far = arguments
    dtype = GEMM_DTYPES[kind]
    stored = (columns, rows) if transposed else (rows, columns)
    if c_value(leading, INT) < max(1, stored[0]) or far < 0:
        raise CUBLASError(7)
    assert not address % dtype.itemsize
    steps = (far * dtype.itemsize, dtype.itemsize, leading * dtype.itemsize)
    nbytes = sum((n - 1) * s for n, s in zip((count, *stored), steps, strict=True))
    if check is None:
        return None
    check(address, nbytes + dtype.itemsize)
    memory = (ctypes.c_uint8 * (nbytes + dtype.itemsize)).from_address(address)
    result = np.ndarray((count, *stored), dtype, memory, 0, steps)
    result = result.swapaxes(1, 2) if transposed else result
    return result.conj() if transposed == Cublas.CUBLAS_OP_C else result


def check_byte_gemm(transa, transb, sizes, a, b, c):
    """Refuse int8 that tensor cores do not take: only A is transposed, all numbers are in fours."""
    m, _, k = sizes
    numbers = (m, k, *(item for operand in (a, b, c) for item in (operand[0], *operand[2:])))
    if (transa, transb) != (1, 0) or any(number % 4 for number in numbers):
        raise CUBLASError(15)


class CFunction:
    """A function of a C library, as ctypes calls it: with declared arguments, which must fit."""

    argtypes = restype = None

    def __init__(self, function):
        self.function = function

    def __call__(self, *arguments):
        count = len(inspect.signature(self.function).parameters)
        assert len(self.argtypes) == len(arguments) == count, "undeclared arguments"
        for kind, value in zip(self.argtypes, arguments, strict=True):
            assert value is None or kind(value).value in (value, None), f"{value} is no {kind}"
        return self.function(*arguments)


class CLibrary(Cublas):
    """libcublas: CuPy's functions by C's names, on the stream of the handle, capturing or not."""

    def __init__(self, cupy):
        super().__init__(cupy)
        self.stream = None
        self.cublasSetStream_v2 = CFunction(self._set_stream)
        self.cublasGemmEx = CFunction(self.gemmEx)
        self.cublasGemmStridedBatchedEx = CFunction(self.gemmStridedBatchedEx)
        self.cublasGetStatusString = CFunction(lambda status: b"CUBLAS_STATUS")

    def _set_stream(self, handle, stream):
        assert handle == HANDLE
        self.stream = self.cupy.machine.stream(stream)
        return 0

    def _stream(self, handle):
        return self.stream


def installed(patch, machine):
    """CuPy's modules in the place of any others, while a MonkeyPatch lasts."""
    cupy = StrictCupy(machine)
    for name, module in cupy.modules().items():
        patch.setitem(sys.modules, name, module)
    library = CLibrary(cupy)
    patch.setattr(cublas, "load_cublas", lambda major: {12: library}[major])
    # It needs names of this module.
    machine.cublaslt = importlib.import_module("strict_cublaslt").StrictCublasLt(cupy)
    patch.setattr(cublaslt, "load_cublaslt", lambda major: {12: machine.cublaslt}[major])
