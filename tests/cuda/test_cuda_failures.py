"""Failures on CUDA give one line and lose nothing: memory, forks, threads, devices."""

import gc
import os
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from simulated import hybrid, needs_compiler, simulator, stand_in
from tensors import same

import tensorlayout as tl
from tensorlayout.cuda.engine.driver import Kernel, driver

TESTS = Path(__file__).parents[1]


def run(code, **environment):
    """Return the output of a new process."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("TENSORLAYOUT_")}
    path = os.pathsep.join([str(TESTS / "harness"), str(TESTS.parent)])
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        env=inherited | {"PYTHONPATH": path} | environment,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.splitlines()


LIMIT = 4096  # bytes of the device, of which two tensors take 3200 and leave 896

# Each needs 1600 bytes more.
TOO_MUCH = {
    "ones": lambda x, y: tl.ones((400,), dtype="float32", device="cuda"),
    "add": lambda x, y: x + y,
    "copy": lambda x, y: x.copy(),
    "concat": lambda x, y: tl.concat([x, y]),
    "to_device": lambda x, y: tl.ones((400,), dtype="float32").to_device("cuda"),
    "subtract": lambda x, y: x[1:].__isub__(x[:-1]),  # which reads what it has written
}
ASKED = {"concat": 3200, "subtract": 1596}


def opened(driver_name):
    """A driver of a device that has `LIMIT` bytes."""
    if driver_name == "cupy":
        return stand_in(limit=LIMIT)
    return simulator(TENSORLAYOUT_SIMULATOR_MEMORY=str(LIMIT))


def values():
    return np.arange(400, dtype=np.float32), np.arange(400, dtype=np.float32) ** 0.5


def expected_error(name):
    words = f"{name}: cuda:0: asked for {ASKED.get(name, 1600)} bytes, and 896 bytes are free"
    return pytest.raises(MemoryError, match=f"^{re.escape(words)}$")


@needs_compiler
@pytest.mark.parametrize("name", TOO_MUCH)
def test_too_much_on_the_simulator(name):
    with simulator(count=2, TENSORLAYOUT_SIMULATOR_MEMORY=str(LIMIT)) as gpu:
        a, b = values()
        x, y = (tl.asarray(operand, device="cuda") for operand in (a, b))
        for _ in range(3):
            with expected_error(name):
                TOO_MUCH[name](x, y)
        assert gpu.ranges[0].total_bytes() == 3200
        same(x.to_device("cpu"), a)
        same(y.to_device("cpu"), b)
        assert tl.ones((900,), dtype="float32", device="cuda:1").device == "cuda:1"


@pytest.mark.parametrize("name", TOO_MUCH)
def test_too_much_for_cupys_pool(name):
    with stand_in(limit=LIMIT) as recorder:
        x, y = (tl.asarray(value, device="cuda") for value in values())
        recorder.kept_by_pool = 500
        recorder.calls.clear()
        with expected_error(name):
            TOO_MUCH[name](x, y)
        assert {call[0] for call in recorder.calls} == {"free_all_blocks"}  # and nothing launched
        gc.collect()
        assert recorder.free == 896


# Sizes that CuPy would round up to few bytes, or to none; or that it cannot be asked for.
BEYOND = (2**62, 2**63 - 511, 2**63, 2**64 - 8, 2**64)


@needs_compiler
@pytest.mark.parametrize("nbytes", BEYOND)
@pytest.mark.parametrize("driver_name", ["simulator", "cupy"])
def test_more_than_there_can_be(nbytes, driver_name):
    with opened(driver_name) as result:
        words = f"cuda:0: asked for {nbytes} bytes, and {LIMIT} bytes are free"
        if driver_name == "cupy":
            result.calls.clear()
        with pytest.raises(MemoryError, match=f"^{re.escape(words)}$"):
            driver().allocate(nbytes, 0)
        assert driver_name == "simulator" or result.calls == []  # nobody asked CuPy


def test_cupys_pool_is_freed_before_memory_is_short():
    with stand_in(limit=LIMIT) as recorder:
        x, y = (tl.asarray(value, device="cuda") for value in values())
        del y
        recorder.kept_by_pool = 1600  # as the pool does with it
        z = x + x
        assert z.shape == (400,)
        done = [call[0] for call in recorder.calls if call[0] != "load"]
        assert done[-3:] == ["free_all_blocks", "alloc", "launch"]


MEMORY = 1 << 20  # bytes of a device, and of pinned memory
NOTHING = Kernel(str(TESTS / "kernels" / "right.cu"), "nothing")


def launch_when_memory_is_short_at_first(machine, cupy):
    """As where CUDA loads a kernel at its first launch."""
    launch = driver().launcher(NOTHING)
    with pytest.MonkeyPatch.context() as patch:
        launch_kernel = launch._launch

        def launch_if_there_is_memory(*arguments):
            if machine.free_bytes(0) < MEMORY // 2:
                raise cupy.cuda.driver.CUDADriverError(2)
            launch_kernel(*arguments)

        patch.setattr(launch, "_launch", launch_if_there_is_memory)
        launch(1, bytearray(8))


def allocate_outside_the_pool(machine, cupy):
    cupy.cuda.set_allocator(None)
    driver().allocate(1000, 0)


# What needs memory, and what the error says that it has asked for.
NEEDS = {
    "the pool": (lambda *_: driver().allocate(1000, 0), "1000 bytes"),
    "outside the pool": (allocate_outside_the_pool, "1000 bytes"),
    "a module": (lambda *_: driver().launcher(NOTHING), r"\d+ bytes for the kernel nothing"),
    "a launch": (launch_when_memory_is_short_at_first, "memory to launch nothing"),
}


@needs_compiler
@pytest.mark.parametrize("name", NEEDS)
def test_blocks_that_a_pool_keeps_are_freed_for_every_allocation(name):
    with hybrid(memory=MEMORY) as machine:
        import cupy

        if name == "a launch":
            driver().launcher(NOTHING)
        block = driver().allocate(machine.free_bytes(0), 0)
        del block
        NEEDS[name][0](machine, cupy)
        assert machine.free_bytes(0) > MEMORY // 2


@needs_compiler
@pytest.mark.parametrize("name", NEEDS)
def test_memory_that_is_in_use_is_missing_for_every_allocation(name):
    call, asked = NEEDS[name]
    with hybrid(memory=MEMORY) as machine:
        import cupy

        if name == "a launch":
            driver().launcher(NOTHING)
        block = driver().allocate(machine.free_bytes(0), 0)
        with pytest.raises(MemoryError, match=f"^cuda:0: asked for {asked}, and 0 bytes are free$"):
            call(machine, cupy)
        assert block.nbytes > MEMORY // 2


@needs_compiler
def test_pinned_memory_that_its_pool_keeps_is_freed_and_may_be_missing():
    with hybrid() as machine:
        import cupy

        machine.pinned_at_most = MEMORY
        kept = cupy.cuda.alloc_pinned_memory(MEMORY)
        x = driver().allocate(8, 0)
        words = r"^cuda:0: asked for 65536 bytes of pinned host memory$"
        with pytest.raises(MemoryError, match=words):
            driver().copy_to_device(x.pointer, np.zeros(8, np.uint8))
        del kept
        driver().copy_to_device(x.pointer, np.zeros(8, np.uint8))


@needs_compiler
@pytest.mark.parametrize("driver_name", ["simulator", "cupy"])
def test_memory_of_cycles_is_found(driver_name):
    gc.disable()
    try:
        with opened(driver_name):
            cycle = [tl.empty((3000,), dtype="int8", device="cuda")]
            cycle.append(cycle)
            del cycle
            assert tl.empty((3000,), dtype="int8", device="cuda").shape == (3000,)
    finally:
        gc.enable()


FORKED = (
    "cuda: this process was forked from one that had used CUDA, and cannot use it;"
    " start such processes by multiprocessing.get_context('spawn')"
)


def test_a_child_cannot_go_on_with_a_gpu():
    code = """
import os, sys
from simulated import stand_in
import tensorlayout as tl

def in_child(call):
    sys.stdout.flush()
    child = os.fork()
    if not child:
        try:
            print(call(), flush=True)
        except Exception as error:
            print(f"{type(error).__name__}: {error}", flush=True)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0

def first():
    with stand_in():
        return (tl.ones(2).to_device("cuda") + 1).device

in_child(first)  # which may be the first to use one
for count in (1, 2):
    with stand_in(count) as recorder:
        x = tl.asarray([1.0, 2.0], device="cuda")
        y = x + x
        for call in (
            lambda: x + x,
            lambda: x.__iadd__(y),
            lambda: tl.zeros(2, device="cuda"),
            lambda: x.to_device("cpu"),
            lambda: x.__dlpack__(),
            lambda: x.__cuda_array_interface__,
        ):
            in_child(call)
        in_child(lambda: tl.from_dlpack(x))
        in_child(lambda: (x.shape, x[::-1].strides, (tl.ones(2) + 1).shape))
        recorder.calls.clear()
        x + x
        print([call[0] for call in recorder.calls])
"""
    first, *result = run(code)
    assert first == "cuda:0"
    exchange = f"BufferError: from_dlpack: Tensor could not be exchanged: {FORKED}"
    expected = [f"RuntimeError: {FORKED}"] * 6
    expected += [exchange, "((2,), (-1,), (2,))", "['alloc', 'launch']"]
    assert result == expected * 2


@needs_compiler
def test_a_finalizer_may_compute_in_the_midst_of_a_call():
    """It is called wherever Python collects garbage, in the thread that holds locks here."""
    code = """
import faulthandler, gc
faulthandler.dump_traceback_later(40, exit=True)
import tensorlayout as tl

class Cycle:
    def __init__(self):
        self.me = self

    def __del__(self):
        done.append((x + 1).shape)

done, x = [], tl.ones(4, device="cuda")
wraps = [tl.from_dlpack(x) for _ in range(50)]  # ranges that overlap are merged for a launch
for number in range(2000):
    gc.set_threshold(2 + number % 97)
    Cycle()
    tl.empty(3, device="cuda")
    z = x + number
    assert z.shape == (4,)
print(z, len(done) > 100)
"""
    assert run(code, TENSORLAYOUT_CUDA_SIMULATOR="1") == ["[2000., 2000., 2000., 2000.] True"]


@needs_compiler
@pytest.mark.parametrize("devices", [1, 2])
def test_threads_compute_what_one_does(devices):
    together = threading.Barrier(8)
    with simulator(devices) as gpu:
        a = np.arange(60, dtype=np.float32).reshape(6, 10)
        shared = [tl.asarray(a, device=f"cuda:{n}") for n in range(devices)]
        before = gpu.counters.launches, gpu.counters.allocations

        def work(number):
            device = number % devices
            x = shared[device]
            together.wait()
            with gpu.using_stream(100 + number, device):
                for _ in range(30):
                    y = x + number
                    y += x
                    z = tl.to_layout(y, (0, 1))
                return z.device, gpu.current_stream(device).number, np.asarray(z.to_device("cpu"))

        with ThreadPoolExecutor(8) as pool:
            for number, (device, stream, result) in enumerate(pool.map(work, range(8))):
                assert (device, stream) == (f"cuda:{number % devices}", 100 + number)
                np.testing.assert_array_equal(result, a + a + number)
        done = gpu.counters.launches - before[0], gpu.counters.allocations - before[1]
        assert done == (8 * 30 * 3, 8 * 30 * 2)
        assert gpu.counters.compiles + gpu.counters.cache_hits <= 2  # elementwise and copies


ASKING = """
import sys
sys.modules["cupy"] = None
import tensorlayout as tl
print(tl.__array_namespace_info__().devices())
for call in (
    lambda: tl.zeros(2, device="cuda"),
    lambda: tl.ones(2, device="cpu").to_device(tl.Device("cuda")),
    lambda: tl.set_default_device("cuda"),
    lambda: tl.zeros(2),
):
    try:
        print(call())
    except ValueError as error:
        print(error)
print(tl.zeros(2, device="cpu"))
"""


def test_one_line_says_what_to_install():
    devices, *lines, last = run(ASKING, TENSORLAYOUT_DEFAULT_DEVICE="cuda")
    assert devices == "(Device('cpu'),)"
    starts = ["zeros: device", "to_device: device", "set_default_device: device"]
    for line, start in zip(lines, [*starts, "zeros: TENSORLAYOUT_DEFAULT_DEVICE"], strict=True):
        assert line.startswith(f"{start} must be one of those available (cpu), got ")
        assert line.endswith(
            "; cuda needs an NVIDIA GPU and CuPy: pip install 'cupy-cuda12x[ctk]';"
            " TENSORLAYOUT_CUDA_SIMULATOR=1 simulates one"
        )
    assert last == "[0., 0.]"


@needs_compiler
def test_no_other_thread_takes_the_error_of_a_strict_call():
    results = []

    def wait_often(x, stop):
        while not stop.is_set():
            try:
                float(x[0])
            except IndexError as error:
                results.append(error)

    with simulator(1):
        x, outside = tl.ones(4, device="cuda"), tl.asarray([9], device="cuda")
        stop, interval = threading.Event(), sys.getswitchinterval()
        other = threading.Thread(target=wait_often, args=(x, stop))
        sys.setswitchinterval(1e-5)
        other.start()
        try:
            for _ in range(300):
                with tl.cuda.strict_indexing(), pytest.raises(IndexError, match="index 9"):
                    tl.take(x, outside)
        finally:
            stop.set()
            other.join()
            sys.setswitchinterval(interval)
    assert results == []
