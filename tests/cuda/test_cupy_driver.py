"""The driver of real GPUs: on a stand-in for CuPy that writes calls down, and on a GPU."""

import importlib
import sys
import threading

import numpy as np
import pytest
from fake_cupy import Recorder, Stream, fake_cupy
from right_kernels import THREADS, check, every_case, floats, right, run, words
from simulated import GPUS, hybrid, needs_compiler
from simulated import opened as opened_on

import tensorlayout as tl
from tensorlayout.cuda.engine import cupy as cupy_engine
from tensorlayout.cuda.engine import nvrtc
from tensorlayout.cuda.engine.cupy import open_driver


def numbers(n, seed=0):
    return np.random.default_rng(seed).integers(0, 256, n, dtype=np.uint8)


# ---- On a stand-in


@pytest.fixture
def recorder(monkeypatch):
    recorder = Recorder(device_count=2)
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy(recorder))
    monkeypatch.setattr(nvrtc, "newest_runnable_architecture", lambda capability: capability)

    def cubin(kernel, architecture, counters):
        recorder.calls.append(("compile", kernel.name, architecture))
        return kernel.name.encode()

    monkeypatch.setattr(nvrtc, "read_cubin", cubin)
    return recorder


@pytest.fixture
def opened(recorder):
    return open_driver()


def test_devices(opened, recorder):
    assert (opened.name, opened.device_count(), opened.current_device()) == ("cupy", 2, 0)
    with opened.using_device(1):
        assert opened.current_device() == 1
    assert opened.current_device() == 0
    with pytest.raises(ValueError, match="cuda: there is no device 2; there are 2"):
        opened.using_device(2)


def test_memory(opened, recorder):
    buffer = opened.allocate(1000, 1)
    assert recorder.named("alloc") == [(1000, 1)]
    assert (buffer.nbytes, buffer.device, buffer.pointer % 256) == (1000, 1, 0)
    assert opened.current_device() == 0
    assert opened.allocate(0, 0).nbytes == 0
    assert opened.counters.allocations == 2
    with pytest.raises(ValueError, match="there is no device -1"):
        opened.allocate(8, -1)


def test_small_copies(opened, recorder):
    n = 1000
    values, back, buffer = numbers(n), np.zeros(n, np.uint8), opened.allocate(n, 0)
    with Stream(recorder, 7):
        opened.copy_to_device(buffer.pointer, values)
        opened.copy_to_host(back, buffer.pointer)
    np.testing.assert_array_equal(back, values)
    there, back_again = recorder.named("memcpy")
    assert (there[0], *there[2:]) == (buffer.pointer, n, 1, 7)
    assert back_again == (back.ctypes.data, buffer.pointer, n, 2, 7)
    assert recorder.calls[-1] == ("synchronize", 7)
    assert opened.counters.synchronisations == len(recorder.named("synchronize")) == 1


@pytest.mark.parametrize("n", [1, 1000, 1 << 16, (1 << 16) + 1, 1 << 20])
def test_what_cuda_reads_later_is_pinned(opened, recorder, n):
    """CUDA does not say when it has read pageable memory, so it only gets pinned memory."""
    buffer, values = opened.allocate(n, 0), numbers(n)
    for _ in range(3):
        opened.copy_to_device(buffer.pointer, values)
    assert recorder.named("pinned") == [(1 << 16 if n <= 1 << 16 else 4 << 20,)]
    sources = {source for _, source, *_ in recorder.named("memcpy")}
    assert not sources & set(range(values.ctypes.data, values.ctypes.data + n))
    assert opened.counters.synchronisations == 0


def test_small_copies_wait_for_the_oldest_of_sixteen(opened, recorder):
    buffer, recorder.busy = opened.allocate(8, 0), True
    for number in range(35):
        opened.copy_to_device(buffer.pointer, numbers(8, number))
    done = [call[0] for call in recorder.calls if call[0] in ("wait", "memcpy")]
    assert done == ["memcpy"] * 16 + ["wait", "memcpy"] * 19
    sources = [source for _, source, *_ in recorder.named("memcpy")]
    assert sources == [sources[number % 16] for number in range(35)]
    assert len(set(sources)) == 16
    recorder.busy = False
    recorder.calls.clear()
    opened.copy_to_device(buffer.pointer, numbers(8))
    assert [call[0] for call in recorder.calls] == ["memcpy", "record"]


def test_a_finalizer_in_the_midst_of_a_copy_has_a_buffer_of_its_own(opened, recorder, monkeypatch):
    x, y, runtime = opened.allocate(8, 0), opened.allocate(8, 0), type(opened.runtime)
    copy, values = runtime.memcpyAsync, (numbers(8), numbers(8, 1))

    def finalize(self, *arguments):
        monkeypatch.setattr(runtime, "memcpyAsync", copy)
        opened.copy_to_device(y.pointer, values[1])
        copy(self, *arguments)

    monkeypatch.setattr(runtime, "memcpyAsync", finalize)
    opened.copy_to_device(x.pointer, values[0])
    back = np.zeros(8, np.uint8)
    for buffer, expected in zip((x, y), values, strict=True):
        opened.copy_to_host(back, buffer.pointer)
        np.testing.assert_array_equal(back, expected)


@pytest.mark.parametrize("n", [8, 3 << 20])
def test_an_interrupt_in_a_copy_leaves_its_buffer_until_it_has_been_read(
    opened, recorder, monkeypatch, n
):
    buffer, back, runtime = opened.allocate(n, 0), np.zeros(n, np.uint8), type(opened.runtime)
    copy = runtime.memcpyAsync

    def interrupted(self, *arguments):
        copy(self, *arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(runtime, "memcpyAsync", interrupted)
    calls = [lambda: opened.copy_to_device(buffer.pointer, numbers(n))]
    calls += [lambda: opened.copy_to_host(back, buffer.pointer)] * (n > 1 << 20)
    for call in calls:
        recorder.calls.clear()
        with pytest.raises(KeyboardInterrupt):
            call()
        assert [item[0] for item in recorder.calls][-2:] == ["memcpy", "record"]
    monkeypatch.setattr(runtime, "memcpyAsync", copy)
    recorder.busy = True
    recorder.calls.clear()
    opened.copy_to_device(buffer.pointer, numbers(n))
    assert len(recorder.named("pinned")) == 1  # the first is still on its way


HALF = 1 << 20


@pytest.mark.parametrize("n", [1 << 20, HALF + 1, 5 * HALF - 3])
def test_large_copies_are_staged(opened, recorder, monkeypatch, n):
    monkeypatch.setattr(cupy_engine, "HALF", HALF)
    recorder.busy = True
    values, back, buffer = numbers(n), np.zeros(n, np.uint8), opened.allocate(n, 0)
    with Stream(recorder, 7):
        opened.copy_to_device(buffer.pointer, values)
        opened.copy_to_host(back, buffer.pointer)
    np.testing.assert_array_equal(back, values)
    assert recorder.named("pinned") == [(HALF,), (HALF,)]
    sizes = [min(HALF, n - first) for first in range(0, n, HALF)]
    copies = recorder.named("memcpy")
    assert [copy[2:] for copy in copies] == [(size, kind, 7) for kind in (1, 2) for size in sizes]
    staged = [source if kind == 1 else destination for destination, source, _, kind, _ in copies]
    assert len(set(staged)) == 2
    assert staged == staged[:2] * len(sizes)  # in turns
    assert opened.counters.synchronisations == 1


def test_a_half_is_waited_for_before_it_is_used_again(opened, recorder, monkeypatch):
    monkeypatch.setattr(cupy_engine, "HALF", HALF)
    recorder.busy = True
    n, copy = 3 * HALF, ["memcpy", "record"]
    buffer = opened.allocate(n, 0)
    for call, order in (
        (lambda: opened.copy_to_device(buffer.pointer, numbers(n)), [*copy, *copy, "wait", *copy]),
        (
            lambda: opened.copy_to_host(np.zeros(n, np.uint8), buffer.pointer),
            ["wait", *copy, "wait", *copy, "wait", "wait", *copy, "wait", "wait"],
        ),
    ):
        recorder.calls.clear()
        call()
        done = [call[0] for call in recorder.calls]
        assert [item for item in done if item in ("wait", "memcpy", "record")] == order


@pytest.mark.parametrize("n", [100, 1 << 20])
def test_pinned_memory_is_copied_at_once_and_waited_for(opened, recorder, n):
    values, back, buffer = numbers(n), np.zeros(n, np.uint8), opened.allocate(n, 0)
    recorder.pinned |= {values.ctypes.data, back.ctypes.data}
    opened.copy_to_device(buffer.pointer, values)
    assert [call[0] for call in recorder.calls] == ["alloc", "memcpy", "synchronize"]
    opened.copy_to_host(back, buffer.pointer)
    np.testing.assert_array_equal(back, values)
    assert opened.counters.synchronisations == 2
    assert recorder.named("pinned") == []


def test_copies_on_the_device(opened, recorder):
    with Stream(recorder, 9):
        x, y = opened.allocate(100, 0), opened.allocate(100, 1)
        opened.copy_device_to_device(y.pointer, x.pointer, 100)
    assert recorder.named("memcpy") == [(y.pointer, x.pointer, 100, 4, 9)]
    assert opened.counters.synchronisations == 0


def test_a_launch(recorder):
    opened = open_driver()
    launch = opened.launcher(right("increment"))
    assert recorder.calls == [("compile", "increment", 90), ("load", b"increment", 0)]
    recorder.calls.clear()
    launch(5, words(1, 2, 3))
    with Stream(recorder, 7):
        launch((2, 3, 4), words(4, 5, 6))
    block = (THREADS, 1, 1)
    assert recorder.calls == [
        ("launch", 1000, (5, 1, 1), block, 0, words(1, 2, 3)),
        ("launch", 1000, (2, 3, 4), block, 7, words(4, 5, 6)),
    ]
    assert (opened.counters.launches, opened.counters.synchronisations) == (2, 0)
    assert opened.counters.allocations == 0


def test_a_kernel_is_loaded_once_on_each_device(recorder):
    opened = open_driver()
    launch = opened.launcher(right("increment"))
    assert opened.launcher(right("increment")) is launch
    for number in (0, 1, 1, 0):
        with opened.using_device(number):
            launch(1, words(1, 2, 3))
    assert [device for _, device in recorder.named("load")] == [0, 1]
    assert [address for address, *_ in recorder.named("launch")] == [1000, 1001, 1001, 1000]


def test_threads_have_parameters_of_their_own(recorder):
    launch = open_driver().launcher(right("increment"))
    together = threading.Barrier(4)

    def work(number):
        together.wait()
        for item in range(200):
            launch(number, words(number, item, number))

    threads = [threading.Thread(target=work, args=(number,)) for number in (1, 2, 3, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    launches = [(grid, parameters) for _, grid, _, _, parameters in recorder.named("launch")]
    expected = [
        ((n, 1, 1), bytes(words(n, value, n))) for n in (1, 2, 3, 4) for value in range(200)
    ]
    assert sorted(launches) == sorted(expected)


def test_a_finalizer_that_launches_during_a_launch(opened, recorder, monkeypatch):
    """CuPy makes an object for the stream, and Python may then collect others."""
    plain, collected = opened.cuda.get_current_stream, []

    def stream_after_collection(device=-1):
        if not collected:
            collected.append(1)
            launch(2, words(4, 5, 6))
        return plain(device)

    monkeypatch.setattr(opened.cuda, "get_current_stream", stream_after_collection)
    launch = opened.launcher(right("increment"))
    launch(1, words(1, 2, 3))
    launches = [(grid[0], parameters) for _, grid, _, _, parameters in recorder.named("launch")]
    assert launches == [(2, words(4, 5, 6)), (1, words(1, 2, 3))]


def test_the_most_parameters(opened, recorder):
    recorder.parameter_bytes = 4096
    launch = opened.launcher(right("increment"))
    launch(1, bytearray(numbers(4096)))
    assert recorder.calls[-1][-1] == numbers(4096).tobytes()
    with pytest.raises(ValueError, match="memoryview"):
        launch(1, bytearray(4097))


# ---- Without a GPU


@pytest.mark.parametrize("count", [0, None])
def test_no_gpu(recorder, count):
    recorder.device_count = count
    expected = r"^cuda: CuPy finds no GPU.*pip install 'cupy-cuda12x\[ctk\]'.*SIMULATOR=1"
    with pytest.raises(RuntimeError, match=expected) as error:
        open_driver()
    assert "\n" not in str(error.value)


# ---- On a GPU, and on what stands for one


@pytest.fixture(params=GPUS)
def gpu(request):
    with opened_on(request.param):
        yield open_driver()


@every_case
def test_gpu_right_kernels(gpu, case):
    check(gpu, case)


@pytest.mark.parametrize("n", [1, 1000, 1 << 20, 9 * cupy_engine.HALF + 5])
def test_gpu_copies(gpu, n):
    values, back = numbers(n), np.zeros(n, np.uint8)
    x, y = gpu.allocate(n, 0), gpu.allocate(n, 0)
    assert x.pointer % 256 == y.pointer % 256 == 0
    gpu.copy_to_device(x.pointer, values)
    gpu.copy_device_to_device(y.pointer, x.pointer, n)
    gpu.copy_to_host(back, y.pointer)
    np.testing.assert_array_equal(back, values)


def passed_on(*numbers):
    """A tensor that goes from device to device."""
    x = tl.ones((1000,), device=f"cuda:{numbers[0]}")
    for number in numbers[1:]:
        x = x.to_device(f"cuda:{number}")
    assert (np.asarray(x.to_device("cpu")) == 1).all()


@needs_compiler
def test_copies_between_devices_do_not_go_through_the_host():
    with hybrid(3) as machine:
        passed_on(0, 1, 0, 2)
        assert machine.between == [(0, 1, True), (1, 0, True), (0, 2, True)]
        assert machine.peers == {(0, 1), (1, 0), (0, 2), (2, 0)}


@needs_compiler
def test_devices_that_cannot_copy_directly_or_are_peers_already():
    with hybrid(3) as machine:
        machine.strangers = {(0, 1)}
        machine.peers = {(1, 2)}  # by another library
        passed_on(0, 1, 2)
        assert machine.between == [(0, 1, False), (1, 2, True)]
    with hybrid(3) as machine:
        machine.peers_at_most = 1
        passed_on(0, 1, 2, 0)
        assert machine.between == [(0, 1, True), (1, 2, False), (2, 0, False)]


@pytest.mark.parametrize("n", [1000, 3 << 20])
def test_gpu_the_source_may_change_after_a_copy(gpu, n):
    cupy = importlib.import_module("cupy")
    memory = cupy.cuda.alloc_pinned_memory(n)
    for values in (np.ones(n, np.uint8), np.frombuffer(memory, np.uint8, n)):
        buffer, back = gpu.allocate(n, 0), np.zeros(n, np.uint8)
        values[:] = 1
        gpu.copy_to_device(buffer.pointer, values)
        values[:] = 2
        gpu.copy_to_host(back, buffer.pointer)
        assert (back == 1).all()


def test_gpu_a_thread_of_its_own(gpu):
    x, y = floats(gpu, 100), floats(gpu, 100)
    launch = gpu.launcher(right("increment"))
    errors = []

    def work():
        try:
            launch(1, words(y.pointer, x.pointer, 100))
            gpu.synchronize()
        except RuntimeError as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert errors == []
    np.testing.assert_array_equal(y.get(), np.arange(1, 101, dtype=np.float32))


def test_gpu_streams(gpu):
    cupy = importlib.import_module("cupy")
    x = floats(gpu, 1000)
    gpu.synchronize()
    with cupy.cuda.Stream(non_blocking=True):
        for _ in range(100):
            run(gpu, right("increment"), 4, x, x, 1000)
        np.testing.assert_array_equal(x.get(), np.arange(100, 1100, dtype=np.float32))


def test_gpu_out_of_memory(gpu):
    with pytest.raises(MemoryError, match=rf"^cuda:0: asked for {1 << 50} bytes, and \d+ bytes"):
        gpu.allocate(1 << 50, 0)


def test_gpu_an_unknown_kernel(gpu):
    with pytest.raises(ValueError, match=r"right.cu has no kernel missing"):
        gpu.launcher(right("missing"))
