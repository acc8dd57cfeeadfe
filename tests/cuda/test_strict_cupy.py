"""The strict stand-in for CuPy finds each kind of mistake that it is there for."""

import ctypes
import importlib
import inspect
import struct
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from simulated import hybrid, needs_compiler
from strict_cuda import ALLOCATED, FREED
from strict_cupy import CUDADriverError, CUDARuntimeError, Driver, Runtime

import tensorlayout as tl
from tensorlayout.cuda.engine import nvrtc
from tensorlayout.cuda.engine.cupy import CupyDriver, open_driver
from tensorlayout.cuda.engine.driver import Counters, Kernel

pytestmark = needs_compiler

KERNELS = Path(__file__).parents[1] / "kernels"
SEEDS = range(12)


def kernel(name, file="right.cu"):
    return Kernel(str(KERNELS / file), name)


@pytest.fixture
def machine():
    with hybrid(2, seed=1) as result:
        yield result


@pytest.fixture
def cuda(machine):
    import cupy

    return cupy.cuda


@pytest.fixture
def gpu(machine):
    return open_driver()


@contextmanager
def refused(status, error=CUDARuntimeError):
    """The body is refused with this number of CUDA's."""
    with pytest.raises(error) as result:
        yield
    assert result.value.status == status, result.value


def launch_nothing(cuda, gpu, grid=(1, 1, 1), block=(256, 1, 1), shared=0, stream=0):
    """Launch the kernel `nothing` by CuPy's own names."""
    gpu.launcher(kernel("nothing"))  # which tells the stand-in about the kernel
    module = cuda.function.Module()
    module.load(nvrtc.read_cubin(kernel("nothing"), 90, Counters()))
    function = module.get_function("nothing")
    parameters = ctypes.c_int64(0)
    pointers = (ctypes.c_void_p * 1)(ctypes.addressof(parameters))
    address = ctypes.addressof(pointers)
    cuda.driver.launchKernel(function.ptr, *grid, *block, shared, stream, address, 0)


def increment(gpu, destination, source):
    """Add 1 to 100 floats."""
    gpu.launcher(kernel("increment"))(1, bytearray(struct.pack("3q", destination, source, 100)))


def test_limits_of_a_launch(cuda, gpu):
    launch_nothing(cuda, gpu, grid=(2, 65535, 1))
    for item in (
        {"grid": (0, 1, 1)},
        {"grid": (2**31, 1, 1)},
        {"grid": (1, 65536, 1)},
        {"grid": (1, 1, 65536)},
        {"block": (512, 1, 1)},
        {"block": (0, 1, 1)},
        {"shared": 48 * 1024 + 1},
    ):
        with refused(1, CUDADriverError):
            launch_nothing(cuda, gpu, **item)


def test_an_image_that_lacks_a_byte_is_refused(cuda, gpu):
    gpu.launcher(kernel("nothing"))
    whole = nvrtc.read_cubin(kernel("nothing"), 90, Counters())
    cuda.function.Module().load(whole)
    compiler = importlib.import_module("cupy_backends.cuda.libs.nvrtc")
    program = compiler.createProgram("", "own.cu", [], [])
    compiler.compileProgram(program, ("-arch=sm_90",))
    for image in (whole[:-1], whole[1:], b"", compiler.getCUBIN(program)):
        with refused(200, CUDADriverError):
            cuda.function.Module().load(image)


def test_functions_go_with_their_module(cuda, gpu):
    """CuPy's functions keep their module; addresses of them do not."""
    gpu.launcher(kernel("nothing"))
    module = cuda.function.Module()
    module.load(nvrtc.read_cubin(kernel("nothing"), 90, Counters()))
    function = module.get_function("nothing")
    parameters = ctypes.c_int64(0)
    pointers = (ctypes.c_void_p * 1)(ctypes.addressof(parameters))
    address, more = function.ptr, (1, 1, 1, 256, 1, 1, 0, 0, ctypes.addressof(pointers), 0)
    del module
    cuda.driver.launchKernel(address, *more)
    del function
    with refused(400, CUDADriverError):
        cuda.driver.launchKernel(address, *more)


def test_memory_holds_patterns_before_it_is_written_and_after_it_was_freed(gpu, machine):
    for content in (ALLOCATED, FREED):
        buffer = gpu.allocate(1000, 0)
        assert ctypes.string_at(buffer.pointer, 1000) == bytes([content]) * 1000
        del buffer


def test_freed_memory_is_not_for_kernels(gpu, machine):
    x, y = gpu.allocate(400, 0), gpu.allocate(400, 0)
    at = y.pointer
    increment(gpu, x.pointer, x.pointer)
    del x  # in the order of the stream: the launch is before
    gpu.synchronize()
    del y
    increment(gpu, at, at)
    with refused(700):
        gpu.synchronize()


@pytest.mark.parametrize(
    ("name", "status"),
    [("store_one_too_many", 700), ("load_misaligned", 716), ("load_nowhere", 700)],
)
def test_what_a_kernel_must_not_do_ends_the_context(cuda, gpu, name, status):
    x = gpu.allocate(400, 0)
    launch = gpu.launcher(kernel(name, "faulty.cu"))
    with refused(status):
        launch(1, bytearray(struct.pack("3q", x.pointer, x.pointer, 100)))
        gpu.synchronize()
    for call in (gpu.synchronize, cuda.Stream, cuda.Event, cuda.runtime.memGetInfo):
        with refused(status):
            call()


def test_copies_are_within_allocations_and_go_where_they_say(cuda, gpu):
    x, host = gpu.allocate(1000, 0), np.zeros(4000, np.uint8)
    for to, source, size, kind in (
        (host.ctypes.data, x.pointer, 100, 1),
        (x.pointer, host.ctypes.data, 100, 2),
        (x.pointer, host.ctypes.data, 4000, 1),
        (x.pointer + (1 << 20), x.pointer, 10, 3),
    ):
        with refused(1):
            cuda.runtime.memcpyAsync(to, source, size, kind, 0)


def test_streams_that_are_not_there(cuda, gpu):
    stream = cuda.Stream()
    handle = stream.ptr
    stream.synchronize()
    del stream  # and the handle is destroyed
    for call in (
        lambda: cuda.runtime.streamSynchronize(handle),
        lambda: cuda.Event().record(type("Stream", (), {"ptr": handle})),
        lambda: cuda.runtime.streamWaitEvent(handle, cuda.Event().ptr),
    ):
        with refused(400):
            call()
    with refused(400, CUDADriverError):
        launch_nothing(cuda, gpu, stream=handle)


@pytest.fixture
def stream(cuda):
    with cuda.Stream(non_blocking=True) as result:
        yield result


def test_what_breaks_a_capture(cuda, gpu, stream):
    x, host = gpu.allocate(400, 0), np.zeros(400, np.uint8)
    other = cuda.Event()
    other.record(cuda.Stream.null)
    import cupy

    for status, call in (
        (900, stream.synchronize),
        (900, lambda: stream.done),
        (900, cuda.runtime.deviceSynchronize),
        (900, lambda: cuda.runtime.memcpyAsync(x.pointer, host.ctypes.data, 400, 1, stream.ptr)),
        (900, lambda: cuda.runtime.memcpyAsync(host.ctypes.data, x.pointer, 400, 2, stream.ptr)),
        (900, lambda: cupy.sqrt(np.ones(2))),
        (905, lambda: stream.wait_event(other)),
        (907, lambda: stream.record().synchronize()),
    ):
        stream.begin_capture()
        with refused(status):
            call()
        with refused(901):
            stream.end_capture()


def test_a_stream_that_joins_a_capture_must_come_back(cuda, gpu, stream):
    beside = cuda.Stream(non_blocking=True)
    stream.begin_capture()
    beside.wait_event(stream.record())
    launch_nothing(cuda, gpu, stream=beside.ptr)
    with refused(904):
        stream.end_capture()


def test_a_graph_whose_memory_was_freed(cuda, gpu, stream):
    gpu.launcher(kernel("increment"))
    stream.begin_capture()
    scratch = cuda.alloc(400)
    increment(gpu, scratch.ptr, scratch.ptr)
    del scratch
    graph = stream.end_capture()
    graph.launch()
    with refused(700):
        gpu.synchronize()


def exchanged(seed):
    """Return the values that a consumer on another stream reads after waiting for a tensor."""
    with hybrid(seed=seed):
        import cupy

        ours, theirs = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)
        with ours:
            x = tl.zeros((1000,), dtype="float32", device="cuda")
            x += 1
            x.__dlpack__(stream=theirs.ptr)
        with theirs:
            return np.asarray(x.to_device("cpu"))


def test_a_missing_wait_is_found(monkeypatch):
    assert all((exchanged(seed) == 1).all() for seed in SEEDS)
    monkeypatch.setattr(CupyDriver, "make_stream_wait", lambda *_: None)
    wrong = [seed for seed in SEEDS if not (exchanged(seed) == 1).all()]
    assert len(wrong) >= len(SEEDS) // 3
    assert [seed for seed in SEEDS if not (exchanged(seed) == 1).all()] == wrong


def filled_and_used(seed, before, between, after):
    """Increments on `before`, then on `after`, with something between: what is there in the end."""
    with hybrid(seed=seed):
        import cupy

        streams = {
            "legacy": cupy.cuda.Stream.null,
            "thread's": cupy.cuda.Stream.ptds,
            "blocking": cupy.cuda.Stream(),
            "non-blocking": cupy.cuda.Stream(non_blocking=True),
        }
        gpu = open_driver()
        with streams["legacy"]:
            x, y = gpu.allocate(400, 0), gpu.allocate(400, 0)
            for operand in (x, y):
                gpu.copy_to_device(operand.pointer, np.zeros(400, np.uint8))
        cupy.cuda.runtime.deviceSynchronize()
        with streams[before]:
            for _ in range(3):
                increment(gpu, x.pointer, x.pointer)
        if between == "event":
            event = cupy.cuda.Event()
            event.record(streams[before])
            streams[after].wait_event(event)
        elif between == "host":
            streams[before].synchronize()
        with streams[after]:
            increment(gpu, y.pointer, x.pointer)
            result = np.zeros(100, np.float32)
            gpu.copy_to_host(result.view(np.uint8), y.pointer)
        return result[0]


@pytest.mark.parametrize(
    ("before", "between", "after", "ordered"),
    [
        ("legacy", None, "blocking", True),
        ("blocking", None, "legacy", True),
        ("legacy", None, "thread's", True),
        ("blocking", "event", "non-blocking", True),
        ("non-blocking", "host", "legacy", True),
        ("legacy", None, "non-blocking", False),
        ("non-blocking", None, "legacy", False),
        ("blocking", None, "thread's", False),
    ],
)
def test_orders_are_those_of_cuda(before, between, after, ordered):
    results = {filled_and_used(seed, before, between, after) for seed in SEEDS}
    assert results == {4} if ordered else len(results) > 1


def copied(seed):
    """Values found of memory changed after a copy, and of a result before the host has waited."""
    with hybrid(seed=seed):
        import cupy

        gpu, runtime, results = open_driver(), cupy.cuda.runtime, []
        pinned = np.frombuffer(cupy.cuda.alloc_pinned_memory(100), np.uint8)
        for source in (np.ones(100, np.uint8), pinned):
            source[:] = 1
            x, result = gpu.allocate(100, 0), np.zeros(100, np.uint8)
            runtime.memcpyAsync(x.pointer, source.ctypes.data, 100, 1, 0)
            source[:] = 2
            gpu.copy_to_host(result, x.pointer)
            results.append(int(result[0]))
        result = np.zeros(100, np.uint8)
        runtime.memcpyAsync(result.ctypes.data, x.pointer, 100, 2, 0)
        return [*results, int(result[0])]


def test_copies_of_the_host_happen_at_once_or_late():
    pageable, pinned, results = map(set, zip(*map(copied, SEEDS), strict=True))
    assert pageable == pinned == {1, 2}
    assert 0 in results
    assert len(results) > 1


def signature(function):
    """(type, name) of each argument, as the stand-in takes it."""
    kinds = function.__wrapped__.__annotations__
    return [
        (kinds.get(name), name)
        for name in inspect.signature(function).parameters
        if name not in ("self", "graphExec", "image", "module", "funcname")
    ]


@pytest.mark.ci
def test_cupy_takes_what_the_stand_in_takes():
    """Its binding is compiled: the types are those that it documents."""
    cupy = pytest.importorskip("cupy", reason="optional: cupy")
    for ours, theirs in ((Runtime, cupy.cuda.runtime), (Driver, cupy.cuda.driver)):
        for name, value in vars(ours).items():
            if name.startswith("_") or name == "error":
                continue
            assert hasattr(theirs, name), name
            if isinstance(value, int):
                assert getattr(theirs, name) == value, name
            if hasattr(value, "__wrapped__"):
                said = getattr(theirs, name).__doc__.partition("(")[2].partition(")")[0]
                typed = [part.partition("=")[0].rsplit(" ", 1) for part in said.split(", ") if part]
                for kind, argument in signature(value):
                    assert [kind, argument] in typed, (name, said)
    with hybrid():
        ours = importlib.import_module("cupy").cuda
        # CuPy imports its cuBLAS at first use; tests/matmul compares it.
        assert vars(ours).keys() - {"cublas"} <= set(dir(cupy.cuda))
        for name in ("Stream", "Event"):
            one, other = (getattr(part, name).__init__ for part in (ours, cupy.cuda))
            assert inspect.signature(one) == inspect.signature(other)
