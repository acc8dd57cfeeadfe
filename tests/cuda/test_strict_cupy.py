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
    with hybrid(2, seed=1) as found:
        yield found


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
    with pytest.raises(error) as found:
        yield
    assert found.value.status == status, found.value


def pointers(*words):
    """What a launch is given: the address of an array with the address of the struct."""
    values = ctypes.create_string_buffer(struct.pack(f"{len(words)}q", *words))
    array = (ctypes.c_void_p * 1)(ctypes.addressof(values))
    array.kept = values
    return array


def launched(cuda, function, *words, grid=(1, 1, 1), block=(256, 1, 1), shared=0, stream=0):
    array = pointers(*words)
    address = ctypes.addressof(array)
    cuda.driver.launchKernel(function.ptr, *grid, *block, shared, stream, address, 0)


def load(cuda, gpu, name, file="right.cu"):
    """A kernel as CuPy's function on the current device."""
    asked = kernel(name, file)
    gpu.launcher(asked)  # which says to the stand-in what it is
    module = cuda.function.Module()
    module.load(nvrtc.cubin(asked, 90, Counters()))
    return module.get_function(name)


def bytes_at(pointer, nbytes):
    return np.frombuffer(ctypes.string_at(pointer, nbytes), np.uint8)


# ---- Arguments


@pytest.mark.parametrize(
    "given",
    [
        {"grid": (0, 1, 1)},
        {"grid": (2**31, 1, 1)},
        {"grid": (1, 65536, 1)},
        {"grid": (1, 1, 65536)},
        {"block": (512, 1, 1)},
        {"block": (1025, 1, 1)},
        {"block": (0, 1, 1)},
        {"shared": 48 * 1024 + 1},
    ],
)
def test_limits_of_a_launch(cuda, gpu, given):
    function = load(cuda, gpu, "nothing")
    launched(cuda, function, 0, grid=(2, 65535, 1))
    with refused(1, CUDADriverError):
        launched(cuda, function, 0, **given)


# ---- Modules


def test_an_image_that_lacks_a_byte_is_refused(cuda, gpu):
    gpu.launcher(kernel("nothing"))
    whole = nvrtc.cubin(kernel("nothing"), 90, Counters())
    cuda.function.Module().load(whole)
    for image in (whole[:-1], whole[1:], b"", b"\x7fELF", whole[:40] + b"\xff" + whole[41:]):
        with refused(200, CUDADriverError):
            cuda.function.Module().load(image)
    with pytest.raises(TypeError):
        cuda.function.Module().load(bytearray(whole))


def test_nvrtc_gives_all_but_a_byte(cuda):
    compiler = importlib.import_module("cupy_backends.cuda.libs.nvrtc")
    program = compiler.createProgram("", "own.cu", [], [])
    compiler.compileProgram(program, ("-arch=sm_90",))
    with refused(200, CUDADriverError):
        cuda.function.Module().load(compiler.getCUBIN(program))


# ---- Memory


def test_memory_holds_patterns_before_it_is_written_and_after_it_was_freed(gpu, machine):
    buffer = gpu.allocate(1000, 0)
    at = buffer.pointer
    assert (bytes_at(at, 1000) == ALLOCATED).all()
    del buffer
    again = gpu.allocate(1000, 0)
    assert again.pointer == at
    assert (bytes_at(at, 1000) == FREED).all()


@pytest.mark.parametrize("late", [0, 1])
def test_freed_memory_is_not_for_kernels(gpu, machine, late):
    x = gpu.allocate(400, 0)
    at = x.pointer
    launch = gpu.launcher(kernel("increment"))
    launch(1, bytearray(struct.pack("3q", at, at, 100)))
    if late:
        del x  # in the order of the stream: the launch is before
        gpu.synchronize()
        return
    gpu.synchronize()
    del x
    launch(1, bytearray(struct.pack("3q", at, at, 100)))
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
    with refused(status, CUDADriverError):
        launched(cuda, type("Function", (), {"ptr": 1}), 0)


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


# ---- Streams


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
    function = load(cuda, gpu, "nothing")
    with refused(400, CUDADriverError):
        launched(cuda, function, 0, stream=handle)


# ---- Graphs


@pytest.fixture
def stream(cuda):
    with cuda.Stream(non_blocking=True) as found:
        yield found


def test_a_graph_replays_launches_and_copies(cuda, gpu, stream):
    x, y = gpu.allocate(400, 0), gpu.allocate(400, 0)
    gpu.to_device(x.pointer, np.zeros(400, np.uint8))
    gpu.synchronize()
    launch = gpu.launcher(kernel("increment"))
    parameters = bytearray(struct.pack("3q", x.pointer, x.pointer, 100))
    stream.begin_capture()
    launch(1, parameters)
    gpu.on_device(y.pointer, x.pointer, 400)
    graph = stream.end_capture()
    parameters[:] = bytes(24)  # of which the graph has a copy
    found = np.zeros(100, np.float32)
    for times in (1, 3):
        for _ in range(times):
            graph.launch()
        gpu.to_host(found.view(np.uint8), y.pointer)
    assert (found == 4).all()


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


def test_a_stream_that_joins_a_capture_comes_back(cuda, gpu, stream):
    beside = cuda.Stream(non_blocking=True)
    for comes_back in (True, False):
        stream.begin_capture()
        beside.wait_event(stream.record())
        assert beside.is_capturing()
        function = load(cuda, gpu, "nothing")
        launched(cuda, function, 0, stream=beside.ptr)
        if comes_back:
            stream.wait_event(beside.record())
            stream.end_capture().launch()
        else:
            with refused(904):
                stream.end_capture()
        assert not beside.is_capturing()


def test_a_graph_whose_memory_was_freed(cuda, gpu, stream):
    launch = gpu.launcher(kernel("increment"))
    stream.begin_capture()
    scratch = cuda.alloc(400)
    launch(1, bytearray(struct.pack("3q", scratch.ptr, scratch.ptr, 100)))
    del scratch
    graph = stream.end_capture()
    graph.launch()
    with refused(700):
        gpu.synchronize()


# ---- Work that is late


def exchanged(seed):
    """What a consumer on another stream finds in a tensor that it was told to wait for."""
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
    monkeypatch.setattr(CupyDriver, "order", lambda *_: None)
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
            for each in (x, y):
                gpu.to_device(each.pointer, np.zeros(400, np.uint8))
        cupy.cuda.runtime.deviceSynchronize()
        launch = gpu.launcher(kernel("increment"))
        with streams[before]:
            for _ in range(3):
                launch(1, bytearray(struct.pack("3q", x.pointer, x.pointer, 100)))
        if between == "event":
            event = cupy.cuda.Event()
            event.record(streams[before])
            streams[after].wait_event(event)
        elif between == "host":
            streams[before].synchronize()
        with streams[after]:
            launch(1, bytearray(struct.pack("3q", y.pointer, x.pointer, 100)))
            found = np.zeros(100, np.float32)
            gpu.to_host(found.view(np.uint8), y.pointer)
        return found[0]


@pytest.mark.parametrize(
    ("before", "between", "after"),
    [
        ("legacy", None, "blocking"),
        ("blocking", None, "legacy"),
        ("legacy", None, "thread's"),
        ("non-blocking", "event", "legacy"),
        ("legacy", "event", "non-blocking"),
        ("blocking", "event", "non-blocking"),
        ("non-blocking", "host", "legacy"),
    ],
)
def test_orders_that_cuda_keeps(before, between, after):
    assert {filled_and_used(seed, before, between, after) for seed in SEEDS} == {4}


@pytest.mark.parametrize(
    ("before", "after"),
    [("legacy", "non-blocking"), ("non-blocking", "legacy"), ("blocking", "thread's")],
)
def test_orders_that_nobody_keeps(before, after):
    assert len({filled_and_used(seed, before, None, after) for seed in SEEDS}) > 1


def test_pageable_memory_is_read_at_once_or_late_and_pinned_memory_late():
    found = {"pageable": set(), "pinned": set()}
    for seed in SEEDS:
        with hybrid(seed=seed):
            import cupy

            gpu = open_driver()
            for name, source in (
                ("pageable", np.ones(100, np.uint8)),
                ("pinned", np.frombuffer(cupy.cuda.alloc_pinned_memory(100), np.uint8)),
            ):
                source[:] = 1
                x = gpu.allocate(100, 0)
                to, runtime = np.zeros(100, np.uint8), cupy.cuda.runtime
                runtime.memcpyAsync(x.pointer, source.ctypes.data, 100, 1, 0)
                source[:] = 2
                gpu.to_host(to, x.pointer)
                found[name].add(int(to[0]))
    assert found == {"pageable": {1, 2}, "pinned": {1, 2}}


def test_a_result_is_not_there_before_the_host_has_waited():
    found = set()
    for seed in SEEDS:
        with hybrid(seed=seed):
            import cupy

            gpu, to = open_driver(), np.zeros(100, np.uint8)
            x = gpu.allocate(100, 0)
            gpu.to_device(x.pointer, np.ones(100, np.uint8))
            cupy.cuda.runtime.memcpyAsync(to.ctypes.data, x.pointer, 100, 2, 0)
            found.add(int(to[0]))
            gpu.synchronize()
            assert to[0] == 1
    assert found == {0, 1}


# ---- CuPy's own


def signature(function):
    """(type, name) of each argument, as the stand-in takes it."""
    kinds = function.__wrapped__.__annotations__
    return [
        (kinds.get(name), name)
        for name in inspect.signature(function).parameters
        if name not in ("self", "graphExec", "image", "module", "funcname")
    ]


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
                typed = [each.partition("=")[0].rsplit(" ", 1) for each in said.split(", ") if each]
                for kind, argument in signature(value):
                    assert [kind, argument] in typed, (name, said)
    with hybrid():
        ours = importlib.import_module("cupy").cuda
        for name in ("Stream", "Event"):
            one, other = (getattr(each, name).__init__ for each in (ours, cupy.cuda))
            assert inspect.signature(one) == inspect.signature(other)
