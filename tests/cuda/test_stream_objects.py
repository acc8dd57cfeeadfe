"""`tl.cuda.Stream`, `Event` and `Graph`, on the simulator, a GPU and what stands for one."""

import gc
import importlib
import weakref

import numpy as np
import pytest
from simulated import GPUS, hybrid, needs_compiler, opened, simulator

import tensorlayout as tl
from tensorlayout.cuda.engine import current_stream
from tensorlayout.cuda.engine.driver import driver

pytestmark = needs_compiler


@pytest.fixture(params=["simulator", *GPUS])
def name(request):
    with simulator(1) if request.param == "simulator" else opened(request.param):
        yield request.param


class Foreign:
    """A stream of another library."""

    def __init__(self, address):
        self.address = address

    def __cuda_stream__(self):
        return 0, self.address


def number():
    return current_stream(tl.Device("cuda"))


def on_host(x):
    return np.asarray(x.to_device("cpu"))


def test_blocks(name):
    first, second = tl.cuda.Stream(), tl.cuda.Stream("cuda:0", non_blocking=True)
    assert first != second
    version, address = first.__cuda_stream__()
    assert version == 0
    assert number() == 1
    with first as entered:
        assert entered is first
        assert number() == address
        assert tl.cuda.Stream.current() == first
        with second, first:
            assert number() == address
        assert number() == address
        x = tl.ones(8, device="cuda")
        first.synchronize()
        assert first.done
    assert number() == 1
    assert (on_host(x) == 1).all()
    assert tl.cuda.Stream.current().__cuda_stream__() == (0, 0)
    assert (first.device, repr(first)) == ("cuda:0", f"<Stream {address:#x} of cuda:0>")
    assert {first: 1}[tl.cuda.Stream.from_external(first)] == 1


def test_streams_of_other_libraries(name):
    own = tl.cuda.Stream()
    address = own.__cuda_stream__()[1]
    for external, expected in ((Foreign(address), address), (address, address), (1, 1), (2, 2)):
        with tl.cuda.Stream.from_external(external):
            assert number() == expected
    with tl.cuda.Stream.from_external(Foreign(0)):
        assert number() == 1
    foreign = Foreign(address)
    stream, alive = tl.cuda.Stream.from_external(foreign), weakref.ref(foreign)
    del foreign
    gc.collect()
    assert alive() is not None
    assert stream == own
    for wrong, error in ((0, ValueError), (-1, ValueError), ("1", TypeError), (None, TypeError)):
        with pytest.raises(error, match=r"^Stream.from_external: stream must be "):
            tl.cuda.Stream.from_external(wrong)
    with pytest.raises(ValueError, match=r"^Stream: device must be a CUDA device, got 'cpu'$"):
        tl.cuda.Stream("cpu")


def test_a_stream_is_a_number_of_the_standard(name):
    """DLPack and `to_device` take streams as objects, too."""
    x, stream = tl.ones(8, device="cuda"), tl.cuda.Stream()
    for external in (stream, Foreign(stream.__cuda_stream__()[1])):
        assert x.__dlpack__(stream=external) is not None
        assert (np.asarray(x.to_device("cpu", stream=external)) == 1).all()
    with pytest.raises(
        ValueError, match=r"^__dlpack__: __cuda_stream__ must return \(0, address\)"
    ):
        x.__dlpack__(stream=Foreign("0"))


def test_the_device_of_a_stream_becomes_current():
    with hybrid(2):
        stream = tl.cuda.Stream("cuda:1")
        with stream:
            assert driver().current_device() == 1
            assert current_stream(tl.Device("cuda", 1)) == stream.__cuda_stream__()[1]
            assert tl.cuda.Stream.current("cuda:0").__cuda_stream__() == (0, 0)
        assert driver().current_device() == 0


@pytest.mark.parametrize("opening", [hybrid, simulator])
def test_streams_and_events_of_another_device_are_refused(opening):
    with opening(2):
        x = tl.ones(8, device="cuda:0")
        stream = tl.cuda.Stream("cuda:1")
        assert tl.cuda.Stream.from_external(stream).device == "cuda:1"
        for call in (
            lambda: tl.cuda.record_stream(x, stream),
            lambda: x.__dlpack__(stream=stream),
            lambda: x.to_device("cpu", stream=stream),
            lambda: tl.cuda.Stream("cuda:0").wait_stream(stream),
            lambda: tl.cuda.Stream.from_external(stream, "cuda:0"),
        ):
            said = r"^[\w.]+: stream must be of cuda:0, and is of cuda:1$"
            with pytest.raises(ValueError, match=said):
                call()
        starts = [tl.cuda.Event(timing=True) for _ in range(2)]
        for number, event in enumerate(starts):
            event.record(tl.cuda.Stream(f"cuda:{number}"))
        said = r"^record: the event is of cuda:0, and the stream of cuda:1$"
        with pytest.raises(ValueError, match=said):
            stream.record(starts[0])
        said = r"^seconds_since: start is of cuda:0, and this event of cuda:1$"
        with pytest.raises(ValueError, match=said):
            starts[1].seconds_since(starts[0])
        assert tl.cuda.Stream.from_external(np.int64(1)).__cuda_stream__() == (0, 0)
        foreign = Foreign(stream.__cuda_stream__()[1])
        foreign.device_id = np.int64(1)
        assert tl.cuda.Stream.from_external(foreign).device == "cuda:1"
        foreign.device_id = 9
        with pytest.raises(ValueError, match=r"^Stream.from_external: device must be one of those"):
            tl.cuda.Stream.from_external(foreign)
        for address in (1 << 70, -1):
            with pytest.raises(ValueError, match=r"^wait_stream: (stream must be|__cuda_stream__)"):
                stream.wait_stream(address)
            with pytest.raises(ValueError, match=r"^wait_stream: __cuda_stream__ must return"):
                stream.wait_stream(Foreign(address))


def after_another_stream(wait):
    """A sum on one stream of what another one computes."""
    first, second = (tl.cuda.Stream(non_blocking=True) for _ in range(2))
    with first:
        x = tl.full((1000,), 3.0, dtype="float32", device="cuda")
        wait(first, second)
    with second:
        return on_host(x + x)


WAITS = {
    "stream": lambda first, second: second.wait_stream(first),
    "event": lambda first, second: second.wait_event(first.record()),
    "foreign": lambda first, second: second.wait_stream(Foreign(first.__cuda_stream__()[1])),
    "host": lambda first, second: first.record().synchronize(),
}


@pytest.mark.parametrize("wait", WAITS)
@pytest.mark.parametrize("seed", range(4))
def test_waiting(wait, seed):
    with hybrid(seed=seed):
        assert (after_another_stream(WAITS[wait]) == 6).all()


def test_without_waiting():
    results = []
    for seed in range(8):
        with hybrid(seed=seed):
            results.append((after_another_stream(lambda first, second: None) == 6).all())
    assert not all(results)


def test_events(name):
    start, end = (tl.cuda.Event(timing=True) for _ in range(2))
    start.record()
    tl.ones(8, device="cuda")
    assert tl.cuda.Stream.current().record(end) is end
    assert end.seconds_since(start) > 0
    assert end.done
    never = tl.cuda.Event(timing=True)
    for call in (
        never.synchronize,
        lambda: never.done,
        lambda: tl.cuda.Stream().wait_event(never),
        lambda: end.seconds_since(never),
        lambda: never.seconds_since(end),
    ):
        with pytest.raises(
            ValueError, match=r"^\w+: (the event|this event|start) was never recorded$"
        ):
            call()
    untimed = tl.cuda.Stream.current().record()
    for last, first, which in ((untimed, start, "this event"), (end, untimed, "start")):
        with pytest.raises(ValueError, match=f"^seconds_since: {which} has no timing; use Event"):
            last.seconds_since(first)
    assert (repr(never), repr(end)) == ("<Event never recorded>", "<Event of cuda:0>")


# ---- Graphs


@pytest.fixture(params=GPUS)
def cupy(request):
    with opened(request.param) as result:
        yield result


def test_a_graph(cupy):
    x = tl.ones((1000,), dtype="float32", device="cuda")
    assert x * 2 + 1 is not None
    launches = driver().counters.launches
    with tl.cuda.capture() as graph:
        y = x * 2 + 1
        with pytest.raises(ValueError, match=r"^launch: the graph has not been captured$"):
            graph.launch()
    assert driver().counters.launches == launches + 2
    for value, stream in ((5, None), (6, tl.cuda.Stream())):
        x[...] = value
        driver().synchronize()
        graph.launch(stream)
        (stream or tl.cuda.Stream.current()).synchronize()
        assert (on_host(y) == 2 * value + 1).all()


def test_a_graph_keeps_its_results(cupy):
    x = tl.ones((1000,), dtype="float32", device="cuda")
    assert x * 2 + 1 is not None
    stream = tl.cuda.Stream(non_blocking=True)
    with tl.cuda.capture(stream) as graph:
        assert x * 2 + 1 is not None
    with stream:  # where the memory would be free
        others = [tl.full((1000,), 7, dtype="float32", device="cuda") for _ in range(8)]
        graph.launch()
        assert all((on_host(other) == 7).all() for other in others)


@pytest.mark.parametrize("seed", range(6))
def test_a_graph_that_still_runs_keeps_its_memory(seed):
    with hybrid(seed=seed):
        x = tl.ones((1000,), dtype="float32", device="cuda")
        assert x * 2 + 1 is not None
        driver().synchronize()
        stream, other = (tl.cuda.Stream(non_blocking=True) for _ in range(2))
        with tl.cuda.capture(stream) as graph:
            assert x * 2 + 1 is not None
        graph.launch(other)
        del graph
        with stream:  # where the memory would be free
            others = [tl.full((1000,), 7, dtype="float32", device="cuda") for _ in range(4)]
            other.synchronize()
            assert all((on_host(other) == 7).all() for other in others)


def test_a_capture_that_fails_ends(cupy):
    x = tl.ones((1000,), dtype="float32", device="cuda")
    stream = tl.cuda.Stream(non_blocking=True)
    stream.wait_stream(tl.cuda.Stream.current())
    with pytest.raises(RuntimeError, match=r"^nonzero: cannot be capt"), tl.cuda.capture(stream):
        tl.nonzero(x)
    with stream:
        assert (on_host(x + 1) == 2).all()
    assert number() == 1
    for default in (1, 2):
        with pytest.raises(ValueError, match=r"^capture: stream must not be a default stream$"):
            tl.cuda.capture(tl.cuda.Stream.from_external(default)).__enter__()


def test_the_simulator_captures_nothing():
    with simulator(), pytest.raises(RuntimeError, match=r"^cuda: the simulator cannot capture"):
        tl.cuda.capture().__enter__()


def test_memory_of_a_graph_is_freed_with_it():
    with hybrid():
        cupy = importlib.import_module("cupy")
        assert cupy is not None
        x = tl.ones((1 << 20,), dtype="uint8", device="cuda")
        assert x + x is not None
        before = tl.cuda.memory_stats().used
        with tl.cuda.capture() as graph:
            assert x + x is not None
        tl.ones(1, device="cuda")
        gc.collect()
        assert tl.cuda.memory_stats().used >= before + (1 << 20)
        del graph
        gc.collect()
        assert tl.cuda.memory_stats().used < before + (1 << 20)


def test_events_and_streams_are_not_mixed_up(name):
    stream = tl.cuda.Stream()
    for call in (stream.record, stream.wait_event, tl.cuda.Event().seconds_since):
        with pytest.raises(TypeError, match=r"event must be an Event, got .*Stream"):
            call(stream)
    with pytest.raises(TypeError, match="__cuda_stream__"):
        tl.cuda.Event().record(tl.cuda.Event())


def test_events_are_recorded_on_streams_of_other_libraries(name):
    event = tl.cuda.Event()
    stream = tl.cuda.Stream()
    event.record(Foreign(stream.__cuda_stream__()[1]))
    event.synchronize()
    assert event.done


def test_nothing_needs_no_memory_below_a_limit():
    with simulator(1):
        x = tl.ones(4, device="cuda")
        tl.cuda.set_memory_limit(1)
        assert tl.zeros(0, device="cuda").size == (x[:0] + 1).size == 0


def test_fused_tensors_have_no_memory_to_record():
    with simulator(1):
        function = tl.fuse(lambda x: tl.cuda.record_stream(x, 1))
        with pytest.raises(TypeError, match="fused"):
            function(tl.ones(4, device="cuda"))


def test_waiting_reports_positions_out_of_bounds(name):
    for wait in (lambda: tl.cuda.Stream.current(), lambda: tl.cuda.Stream.current().record()):
        tl.take(tl.ones(4, device="cuda"), tl.asarray([99], device="cuda"))
        with pytest.raises(IndexError, match=r"^take: index 99 is out of bounds for size 4"):
            wait().synchronize()


FLAGS = {
    "strict_indexing: strict": tl.cuda.strict_indexing,
    "set_strict_indexing: strict": tl.cuda.set_strict_indexing,
    "allow_tf32: allowed": tl.cuda.allow_tf32,
    "Stream: non_blocking": lambda value: tl.cuda.Stream(non_blocking=value),
    "Event: timing": lambda value: tl.cuda.Event(timing=value),
}


@pytest.mark.parametrize("argument", FLAGS)
def test_flags_are_true_or_false(argument):
    with simulator(1):
        for value in ("no", 1, len):
            with pytest.raises(TypeError, match=f"^{argument} must be True or False, got "):
                FLAGS[argument](value)
