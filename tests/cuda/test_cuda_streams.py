"""Streams: which one is current, and who waits for whom where memory goes from one to another."""

import ctypes
import gc
import sys
import threading
import weakref

import numpy as np
import pytest
from enqueued import Enqueued, enqueued
from fake_cupy import Recorder, fake_cupy
from fake_cupy import Stream as FakeStream
from simulated import GPUS, needs_compiler, opened, simulator, stand_in
from tensors import same

import tensorlayout as tl
from tensorlayout.cuda.engine import faults
from tensorlayout.cuda.engine.cupy import open_driver
from tensorlayout.cuda.engine.driver import Stream, driver

pytestmark = needs_compiler


@pytest.fixture(scope="module", autouse=True)
def _simulated():
    with simulator():
        yield


@pytest.fixture
def gpu():
    return driver()


def ones(device="cuda"):
    return tl.ones((8,), dtype="float32", device=device)


def is_before(log, first, then):
    """True if the `first` event of a log is over before `then` begins, whatever a GPU does."""
    over = {first}
    for number, event in enumerate(log[first + 1 :], first + 1):
        earlier = [n for n in over if n < number]
        streams = {log[n].stream for n in earlier}
        waited = any(
            log[n].what in ("synchronize", "copy_to_host") and n in over
            for n in range(first, number)
        )
        if event.stream in streams or event.after in streams or waited:
            over.add(number)
    return then in over


def at(log, what):
    """The number of the one event whose name begins so."""
    (results,) = [number for number, event in enumerate(log) if event.what.startswith(what)]
    return results


# ---- The current stream


def test_streams_are_chosen_for_a_block_a_device_and_a_thread(gpu):
    with gpu.using_stream(7) as outer:
        assert gpu.current_stream(0) == outer == Stream(0, 7)
        with gpu.using_stream(8), gpu.using_stream(9, device=1):
            assert (gpu.current_stream(0), gpu.current_stream(1)) == (Stream(0, 8), Stream(1, 9))
        assert (gpu.current_stream(0), gpu.current_stream(1)) == (Stream(0, 7), Stream(1, 1))
        results = []
        thread = threading.Thread(target=lambda: results.append(gpu.current_stream(0)))
        thread.start()
        thread.join()
    assert results == [Stream(0, 1)]
    assert gpu.current_stream(0) == Stream(0, 1)


def test_work_goes_to_the_current_stream(gpu):
    x, y = ones(), ones("cuda:1")
    with enqueued() as log, gpu.using_stream(7), gpu.using_stream(8, device=1):
        x + x
        y.to_device("cpu")
        x[...] = 2
    assert [event.stream for event in log] == [Stream(0, 7), Stream(1, 8), Stream(0, 7)]
    assert [event.what.partition("_")[0] for event in log] == ["elementwise", "copy", "fill"]


# ---- Exports


@pytest.mark.parametrize(
    ("stream", "number", "place"), [(None, 1, 0), (1, 1, 1), (2, 2, 0), (2**40, 2**40, 1)]
)
def test_the_consumers_stream_waits_for_ours(gpu, stream, number, place):
    x = ones(f"cuda:{place}")
    before = gpu.counters.synchronisations
    with gpu.using_stream(5, place), enqueued() as log:
        x.__dlpack__(stream=stream)
        x.__dlpack__(stream=stream, max_version=(1, 0))
    assert log == [Enqueued(Stream(place, number), "make_stream_wait", Stream(place, 5))] * 2
    assert gpu.counters.synchronisations == before


@pytest.mark.parametrize(("current", "stream"), [(1, None), (1, 1), (2, 2), (7, 7), (7, -1)])
def test_nobody_waits_on_one_stream_nor_unasked(gpu, current, stream):
    x = ones()
    with gpu.using_stream(current), enqueued() as log:
        x.__dlpack__(stream=stream)
    assert log == []


def test_a_copy_for_the_consumer_is_waited_for(gpu):
    x = ones()
    with gpu.using_stream(5), enqueued() as log:
        x.__dlpack__(stream=9, copy=True)
        with gpu.using_stream(9):
            x + 1
    assert is_before(log, at(log, "copy_device_to_device"), at(log, "elementwise"))


def test_the_interface_names_our_stream(gpu):
    for device in (0, 1):
        x = ones(f"cuda:{device}")
        with enqueued() as log:
            assert x.__cuda_array_interface__["stream"] == 1
            with gpu.using_stream(7, device):
                assert x.__cuda_array_interface__["stream"] == 7
            with gpu.using_stream(7, 1 - device):
                assert x.__cuda_array_interface__["stream"] == 1
        assert log == []


# ---- Imports


class Exporter:
    """Another library's array: remembers on which stream it was asked for."""

    def __init__(self, tensor):
        self.tensor, self.streams = tensor, []

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, *, stream=None, max_version=None, copy=None):
        self.streams.append(stream)
        return self.tensor.__dlpack__(stream=-1, max_version=max_version, copy=copy)


class Described:
    """Another library's array that describes itself."""

    def __init__(self, tensor, **changes):
        self.tensor = tensor
        self.__cuda_array_interface__ = tensor.__cuda_array_interface__ | changes


def test_exporters_are_told_our_stream(gpu):
    here, there = Exporter(ones()), Exporter(ones("cuda:1"))
    for exporter in (here, there):
        tl.from_dlpack(exporter)
    with gpu.using_stream(7), gpu.using_stream(8, device=1):
        for exporter in (here, there):
            tl.from_dlpack(exporter)
            tl.asarray(exporter)
    assert (here.streams, there.streams) == ([1, 7, 7], [1, 8, 8])


@pytest.mark.parametrize(("stream", "place"), [(1, 0), (2, 1), (9, 0)])
def test_our_stream_waits_for_the_one_described(gpu, stream, place):
    x = Described(ones(f"cuda:{place}"), stream=stream)
    with gpu.using_stream(7, place), enqueued() as log:
        tl.asarray(x)
    assert log == [Enqueued(Stream(place, 7), "make_stream_wait", Stream(place, stream))]


def test_nothing_to_wait_for(gpu):
    x = ones()
    with gpu.using_stream(7), enqueued() as log:
        tl.asarray(Described(x, stream=None))
        tl.asarray(Described(x, stream=7))
        tl.asarray(Described(x))
        older = Described(x)
        del older.__cuda_array_interface__["stream"]
        tl.asarray(older)
    assert log == []


TAKING_STREAMS = {
    "asarray": lambda stream: tl.asarray(Described(ones(), stream=stream)),
    "__dlpack__": lambda stream: ones().__dlpack__(stream=stream),
    "to_device": lambda stream: ones().to_device("cuda:1", stream=stream),
}


@pytest.mark.parametrize("name", TAKING_STREAMS)
def test_what_is_no_stream(name):
    for stream in (0, -2, -(10**5000)):
        with pytest.raises(ValueError, match=f"^{name}: stream must be .*1, 2 or the address of a"):
            TAKING_STREAMS[name](stream)
    for stream in ("1", 1.0, True):
        with pytest.raises(TypeError, match=f"^{name}: stream must be a number or .*, got "):
            TAKING_STREAMS[name](stream)


def test_the_cpu_has_no_streams():
    with pytest.raises(ValueError, match=r"^__dlpack__: the cpu has no streams"):
        ones().__dlpack__(stream=1, dl_device=(1, 0))


# ---- Between devices


def test_a_copy_between_devices_waits_for_both(gpu):
    x = ones()
    with gpu.using_stream(5), gpu.using_stream(6, device=1), enqueued() as log:
        y = x + x
        z = y.to_device("cuda:1")
        y[...] = 7
    same(z.to_device("cpu"), np.full(8, 2, "float32"))
    copied = at(log, "copy_device_to_device")
    assert is_before(log, at(log, "elementwise"), copied)
    assert is_before(log, copied, at(log, "fill"))


@pytest.mark.parametrize(("source", "there"), [("cpu", 1), ("cuda:0", 1), ("cuda:1", 0)])
def test_to_device_makes_the_result_ready_for_a_stream(gpu, source, there):
    x = ones(source)
    with gpu.using_stream(5, there), enqueued() as log:
        x.to_device(f"cuda:{there}", stream=9)
    assert log[-1] == Enqueued(Stream(there, 9), "make_stream_wait", Stream(there, 5))


# ---- CuPy, as a stand-in has it


@pytest.fixture
def recorder(monkeypatch):
    recorder = Recorder(device_count=2)
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy(recorder))
    return recorder


def test_cupys_current_stream_is_ours(recorder):
    device = open_driver()
    assert device.current_stream(0) == Stream(0, 1)  # CuPy's null stream has address 0
    with FakeStream(recorder, 2):
        assert device.current_stream(0) == Stream(0, 2)
    with FakeStream(recorder, 7):
        assert (device.current_stream(0), device.current_stream(1)) == (Stream(0, 7), Stream(1, 1))
    with device.using_device(1), FakeStream(recorder, 7):
        assert (device.current_stream(0), device.current_stream(1)) == (Stream(0, 1), Stream(1, 7))


def test_an_event_makes_cupys_streams_wait(recorder):
    device = open_driver()
    device.make_stream_wait(Stream(0, 5), Stream(0, 1))
    (event, stream, on), (waiting, seen, there) = (
        recorder.named("eventRecord")[0],
        recorder.named("streamWaitEvent")[0],
    )
    assert (stream, on, waiting, there, seen == event) == (5, 0, 1, 0, True)
    assert [call[0] for call in recorder.calls] == ["event", "eventRecord", "streamWaitEvent"]
    assert device.counters.synchronisations == 0
    recorder.calls.clear()
    device.make_stream_wait(Stream(1, 5), Stream(0, 5))
    assert [call[1:] for call in recorder.calls if call[0] == "event"] == [(1,)]
    assert [call[-1] for call in recorder.calls if "vent" in call[0]] == [1, 1, 0]
    recorder.calls.clear()
    device.make_stream_wait(Stream(0, 5), Stream(0, 5))
    assert recorder.calls == []


def test_the_device_of_cupys_memory(recorder):
    device = open_driver()
    buffers = [device.allocate(100, number) for number in (0, 1)]
    assert [device.device_of(buffer.pointer + 99) for buffer in buffers] == [0, 1]
    assert device.device_of(16) is None


def test_memory_keeps_the_streams_that_its_interface_named():
    with stand_in() as recorder:
        x = tl.ones(2, device="cuda")
        view = x[1:]
        stream = FakeStream(recorder, 7)
        alive = weakref.ref(stream)
        with stream:
            for item in (x, view, view):
                assert item.__cuda_array_interface__["stream"] == 7
        del stream, x
        gc.collect()
        assert alive() is not None
        assert len(view.home[0]._kept) == 1
        del view, item
        gc.collect()
        assert alive() is None


# ---- Positions outside


def take_outside(stream):
    """A read at positions enqueued on a stream; what its kernel leaves when it comes to run."""
    with stream:
        tl.take(tl.zeros(3, device="cuda"), tl.asarray([9], device="cuda"))
        report, _ = faults.fault_records(0).record_of_current_stream(driver())

    def run():
        result = faults._Record.from_address(report.pointer)
        result.owner = faults.new_launch_number("take")
        result.lowest[0] = result.highest[0] = 9
        result.size[0] = 3

    return run


TOLD = "^take: index 9 is out of bounds for size 3$"


@pytest.mark.parametrize("ended", [False, True])
def test_a_position_outside_is_told_when_its_stream_is_waited_for_or_has_ended(ended):
    with stand_in() as recorder:
        stream, x = FakeStream(recorder, 7), tl.zeros(2, device="cuda")
        run = take_outside(stream)
        recorder.running = {7}
        for _ in range(3):
            x.to_device("cpu")  # on another stream, before the kernel has run
        run()
        x.to_device("cpu")
        recorder.running = set() if ended else {7}
        with FakeStream(recorder, 0) if ended else stream:
            with pytest.raises(IndexError, match=TOLD):
                x.to_device("cpu")
            x.to_device("cpu")
            copies = len(recorder.named("memcpy"))
            x.to_device("cpu")
        assert len(recorder.named("memcpy")) == copies + 1  # nobody looks again


def test_the_default_streams_of_threads_are_told_apart():
    """All of them have one number, by which only the thread's own can be asked for."""
    with stand_in() as recorder:
        x, runs = tl.zeros(2, device="cuda"), []
        thread = threading.Thread(target=lambda: runs.append(take_outside(FakeStream(recorder, 2))))
        thread.start()
        thread.join()
        recorder.busy = True
        with FakeStream(recorder, 2):
            x.to_device("cpu")
            runs[0]()
            x.to_device("cpu")
            recorder.busy = False
            with pytest.raises(IndexError, match=TOLD):
                x.to_device("cpu")


def test_a_launch_while_another_thread_looks_is_not_taken_for_seen(monkeypatch):
    """The launch comes after the record has been read, and before that has been noted."""
    with stand_in() as recorder:
        stream, x = FakeStream(recorder, 7), tl.zeros(2, device="cuda")
        take_outside(stream)
        gpu, later = driver(), []
        to_host = gpu.copy_to_host

        def read(destination, pointer):
            to_host(destination, pointer)
            if not later and destination.nbytes == ctypes.sizeof(faults._Record):
                later.append(take_outside(stream))

        monkeypatch.setattr(gpu, "copy_to_host", read)
        with stream:
            x.to_device("cpu")
            later[0]()
            with pytest.raises(IndexError, match=TOLD):
                x.to_device("cpu")


def test_a_stream_is_not_kept_for_what_it_has_left():
    with stand_in() as recorder:
        stream, x = FakeStream(recorder, 7), tl.zeros(2, device="cuda")
        take_outside(stream)
        x.to_device("cpu")
        alive = weakref.ref(stream)
        del stream
        gc.collect()
        assert alive() is None


# ---- On a GPU, and on what stands for one


@pytest.mark.parametrize("kind", GPUS)
def test_gpu_arrays_go_from_stream_to_stream(kind):
    size = 1 << (22 if kind == "gpu" else 12)  # which keeps a GPU busy
    with opened(kind) as cupy:
        ours, theirs = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)
        for _ in range(10):
            with ours:
                x = tl.zeros((size,), dtype="float32", device="cuda")
                for _ in range(20):
                    x += 1
                x.__dlpack__(stream=theirs.ptr)
            with theirs:
                x += 1
                described = Described(x)
                assert described.__cuda_array_interface__["stream"] == theirs.ptr
            with ours:
                assert float((tl.asarray(described) + 0).to_device("cpu")[-1]) == 21
