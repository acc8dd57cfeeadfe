"""CUDA records of a trace: kernels, their sectors on the simulator, times on a GPU by events."""

import json

import pytest
from simulated import GPUS, hybrid, needs_compiler, opened, simulator

import tensorlayout as tl
from tensorlayout.cuda.engine.driver import driver
from tensorlayout.cuda.engine.launch_log import checking

pytestmark = needs_compiler


def work():
    x = tl.ones(1024, dtype=tl.float32, device="cuda")
    with tl.trace() as seen:
        y = x[::2]
        y + y
    return seen


@pytest.fixture
def simulated():
    with simulator():
        yield


@pytest.fixture
def machine():
    with hybrid(seed=3):
        yield


def test_sectors_of_kernels_on_the_simulator(simulated):
    view, add = seen = work()
    assert (len(view.kernels), view.device_seconds) == (0, None)
    ((kernel, counts),) = add.kernels.items()
    assert (kernel.operation, counts.launches) == ("add", 1)
    # Of the 8 elements in a sector every other one is read, by one operand each.
    assert counts.sector_efficiency_read == 0.5
    assert counts.sector_efficiency_write == 1.0
    assert add.device_seconds is None
    (line,) = [line for line in str(seen).splitlines() if "sectors:" in line]
    assert line.split()[1:] == ["add", "sectors:", "read", "0.50,", "written", "1.00"]
    assert "sectors: read 0.50, written 1.00" in seen.to_html()
    _, event = json.loads(seen.to_perfetto())["traceEvents"]
    (cost,) = event["args"]["kernels"].values()
    assert cost == {"sector efficiency read": 0.5, "sector efficiency written": 1.0}


def test_checks_around_a_trace_go_on_and_count_too(simulated):
    with checking("initialized", "count") as record:
        work()
        x = tl.empty(8, device="cuda")
        with pytest.raises(RuntimeError, match="never written"), tl.trace():
            x + 1
    assert sum(counts.launches for counts in record.counts.values()) >= 2  # ones, add


def test_a_gpu_is_timed_by_events_and_nobody_waits_before_a_time_is_read(machine, monkeypatch):
    event, waits = driver().cuda.Event, []
    plain = event.synchronize
    monkeypatch.setattr(event, "synchronize", lambda self: (waits.append(1), plain(self)))
    before = driver().counters.synchronisations
    view, add = work()
    assert (waits, driver().counters.synchronisations) == ([], before)
    assert view.device_seconds is None
    (counts,) = add.kernels.values()
    assert add.device_seconds == counts.seconds > 0
    assert add.seconds > 0
    assert len(waits) == 1


def test_libraries_and_moves_are_timed_as_a_whole(machine):
    x = tl.ones((16, 16), dtype=tl.float32, device="cuda")
    with tl.trace() as seen:
        x @ x
        x.to_device("cpu")
    matmul, move = seen
    assert (len(matmul.kernels), len(move.kernels)) == (0, 0)
    assert matmul.device_seconds > 0
    assert move.device_seconds > 0
    *_, totals = str(seen).splitlines()
    assert totals.endswith("us on the device")
    assert str(seen).splitlines()[0].split()[-3:] == ["device", "us", "layouts"]


@pytest.mark.parametrize("kind", GPUS)
def test_what_a_graph_captures_has_no_time(kind):
    with opened(kind) as cupy, cupy.cuda.Stream(non_blocking=True) as stream:
        x = tl.ones(64, dtype=tl.float32, device="cuda")
        x += 1
        stream.synchronize()
        with tl.trace() as seen:
            stream.begin_capture()
            x += 1
            graph = stream.end_capture()
        graph.launch(stream)
        stream.synchronize()
        (record,) = seen
        assert (record.kind, record.device_seconds) == ("compute", None)
        assert [counts.launches for counts in record.kernels.values()] == [1]
        assert float(x.to_device("cpu")[0]) == 3


def test_blas_operands_are_refused_before_they_move(simulated):
    x = tl.ones((8, 8, 8), dtype=tl.float32, device="cuda")[::2, ::2, ::2]
    with pytest.raises(tl.CopyError) as caught, tl.no_copies():
        x @ x
    assert (caught.value.record.name, caught.value.record.kind) == ("matmul", "relayout")
    end = "; instead, create the operand in row-major order"
    assert str(caught.value).endswith(end)


def test_moves_between_devices_are_copies(simulated):
    x = tl.ones((8, 8), device="cuda")
    with pytest.raises(tl.CopyError) as caught, tl.no_copies():
        x.to_device("cpu")
    end = "; instead, create it on cpu with device=, or keep working on cuda:0"
    assert str(caught.value).endswith(end)
