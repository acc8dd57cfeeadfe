"""The benchmark on a GPU, without one: the whole harness, on the simulator and on stand-ins."""

from __future__ import annotations

import ctypes
import dataclasses
import json
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from simulated import needs_compiler, simulator

sys.path.append(str(Path(__file__).parents[2]))

from benchmarks import __main__ as commands
from benchmarks import (
    gpu,
    gpu_functions,
    gpu_memory,
    gpu_operations,
    gpu_peers,
    gpu_report,
    gpu_rows,
    gpu_timing,
    sectors,
)
from benchmarks.gpu_memory import Simulated
from benchmarks.gpu_row import Operand, Row
from benchmarks.measure import Timing
from tensorlayout.cuda.engine.launch_log import Counts, Tally


def tiny(*texts):
    return [
        row for row in gpu_rows.tiny_rows() if any(t in f"{row.group}: {row.name}" for t in texts)
    ]


def named(name, rows=None):
    (results,) = [row for row in rows or gpu_rows.tiny_rows() if row.name == name]
    return results


@pytest.fixture(scope="module")
def bench():
    space = Simulated()
    libraries, absent = gpu_peers.libraries(space)
    with simulator(1), pytest.MonkeyPatch.context() as patch:
        patch.setattr(gpu_timing, "TURN", 1e-5)
        patch.setattr(gpu, "ROUNDS", 1e-3)
        yield gpu.Bench(space, None, libraries, absent)


# Copies and creation in all widths; of the elementwise rows those that need few compilations.
SOME = (
    *("copy: ", "layout: ", "flip: ", "padded rows: ", "creation: ", "small: "),
    *("x + y, 8 KB float32", "x + y.T, 8 KB float32", "x + row, 8 KB float32"),
)


@pytest.fixture(scope="module")
def report(bench):
    functions = [row for row in gpu_rows.families(8192) if row.priority == 0]
    return bench.all([*tiny(*SOME), *functions])


@needs_compiler
class TestHarness:
    def test_every_result_is_right_in_every_library(self, report):
        assert [(m.row.name, m.failed) for m in report.measured if m.failed] == []
        assert report.left_out == {}

    def test_every_library_has_its_rounds(self, bench, report):
        libraries = {library.name for library in bench.libraries}
        for m in report.measured:
            expected = libraries | ({"copy"} if not m.row.on_host else set())
            expected |= {"flat"} if m.row.group == "mixed layouts" else set()
            expected |= {"cuBLAS"} if m.row.group == "matmul" else set()
            assert m.timing.rounds.keys() == expected
            assert {len(times) for times in m.timing.rounds.values()} <= set(range(3, 10))
            assert min(map(min, m.timing.rounds.values())) > 0

    def test_rows_name_the_kernels_that_ran(self, report):
        of = {m.row.name: [str(use) for use in m.kernels] for m in report.measured}
        assert of["8 KB float32"] == ["copy_flat_16"]
        assert of["x + y, 8 KB float32"] == ["elementwise_flat_4 add"]
        (flip,) = of["flip columns, 8 KB uint8"]
        assert flip.startswith("copy_")
        assert of["sum of rows, 4 KB float32"] == ["reduce_rows_2_int32_t_4 sum"]
        assert of["matmul x y.T, 64 x 64 x 64 float32"] == []  # cuBLAS's, and nothing is copied
        assert of["slice both backwards, 7.91 KB float32"] == ["copy_strided_1_int32_t_4_4"]

    def test_each_kernel_is_loaded_once_more(self, report):
        names = [(c.kernel.name, c.kernel.operation) for c in report.compiled]
        assert ("copy_flat", "") in names
        assert ("elementwise_flat", "add") in names
        assert len(names) == len(set(names))
        assert all(c.cold is None and c.warm > 0 for c in report.compiled)


@needs_compiler
@pytest.mark.long
def test_every_row(bench):
    report = bench.all(gpu_rows.tiny_rows())
    assert report.faults == []
    assert [(m.row.name, m.failed) for m in report.measured if m.failed] == []


@needs_compiler
class TestTrouble:
    ROW = "8 KB float32"

    def broken(self, **functions):
        row = named(self.ROW)
        return dataclasses.replace(row, operation=dataclasses.replace(row.operation, **functions))

    def test_a_wrong_element_of_ours_is_a_fault(self, bench):
        def wrong(out, x):
            out[...] = x
            out[7] = 100.0
            return out

        (m,) = (report := bench.all([self.broken(ours=wrong)])).measured
        assert report.faults == [f"{self.ROW}: 1 of 2048 elements are wrong"]
        assert "tensorlayout" not in m.timing.rounds
        assert "| failed |" in report.markdown()

    def test_another_library_that_cannot_is_left_out_of_the_row(self, bench):
        class Unable(gpu_peers.Library):
            def prepare(self, row, blocks, out):
                raise TypeError("no such thing\nand more")

        libraries = [*bench.libraries, Unable(bench.space, "jax", "0.0")]
        report = dataclasses.replace(bench, libraries=libraries).all([named(self.ROW)])
        (m,) = report.measured
        assert m.failed == {"jax": "TypeError: no such thing"}
        assert report.faults == []
        assert {"tensorlayout", "numpy", "copy"} <= m.timing.rounds.keys()

    def test_rows_that_cannot_be_run_are_listed(self, bench, monkeypatch):
        def full(*_):
            raise MemoryError("none is left")

        late = dataclasses.replace(bench, until=0.0).all([named(self.ROW)])
        assert late.left_out == {self.ROW: "no time was left"}
        with monkeypatch.context() as patch:
            patch.setattr(Simulated, "free", lambda self: 1000)
            left_out = bench.all([named(self.ROW)]).left_out
        assert left_out[self.ROW].endswith("KB, 1000 B are free")
        monkeypatch.setattr(gpu_memory, "random", full)
        report = bench.all([named(self.ROW)])
        assert (report.left_out, report.measured) == ({self.ROW: "MemoryError: none is left"}, [])

    @pytest.mark.parametrize("ending", [KeyboardInterrupt, SystemExit, MemoryError])
    def test_what_ends_a_run_leaves_the_rows_before(self, bench, tmp_path, monkeypatch, ending):
        """Anything that is no exception of a row; and a device that fails between two."""
        rows = tiny("flat copy")
        paths = tmp_path / "a.json", tmp_path / "a.md"
        under_way = []

        def ends(out, x):
            under_way.append((json.loads(paths[0].read_text()), paths[1].read_text()))
            raise ending

        if ending is MemoryError:
            counts = iter((0, 1))
            monkeypatch.setattr(Simulated, "release", lambda self: 1 // (1 - next(counts)))
        else:
            rows[2] = dataclasses.replace(
                rows[2], operation=dataclasses.replace(rows[2].operation, ours=ends)
            )
        with pytest.raises(ZeroDivisionError if ending is MemoryError else ending):
            dataclasses.replace(bench, paths=paths).all(rows)
        first, second, third, last = (row.name for row in rows)
        begun = {} if ending is MemoryError else {third: "begun, and the run ended"}
        never = dict.fromkeys([third, last], "the run ended before") | begun
        for data, page in [*under_way, (json.loads(paths[0].read_text()), paths[1].read_text())]:
            assert [row["name"] for row in data["rows"]] == [first, second]
            assert data["left_out"] == never
            assert f"| {second} |" in page
            assert page.endswith("".join(f"- {name}: {why}\n" for name, why in never.items()))


# ---- Rows


def test_rows_have_different_names_and_are_in_order():
    rows = gpu_rows.rows()
    names = [row.name for row in rows]
    assert len(set(names)) == len(names)
    assert [row.priority for row in rows] == sorted(row.priority for row in rows)
    assert {row.group for row in rows} == set(gpu_rows.GROUPS)
    assert {row.group for row in gpu_rows.tiny_rows()} == set(gpu_rows.GROUPS)
    quick = gpu._chosen(rows, "", quick=True)
    assert {row.priority for row in quick} == {0}
    groups = {row.group for row in quick}
    assert {row.group for row in rows[: len(groups)]} == groups  # each has its first row early


def test_bytes_that_must_move():
    rows = gpu_rows.rows()
    for name, nbytes in {
        "256 MB float32": 2 * 2**28,
        "where(c, x, y), 256 MB float32": (3 * 4 + 1) * 2**26,
        "astype float64, 256 MB float32": (4 + 8) * 2**25,
        "x + row, 256 MB float64": (2 * (2**25 // 4000) + 1) * 4000 * 8,
        "pitch 256 to packed, 256 MB uint8": 2 * (2**28 // 1000) * 1000,
        "sum of columns, 256 MB float32": 2**28 + 8192 * 4,
        "slice every second row, 256 MB float32": 2**28,  # of every second one, read and written
        "slice every second column, 256 MB float32": 3 * 2**27,  # sectors have both
        "take of elements, at random, 128 MB float32": 2 * 2**27 + 8 * 2**25,
        "T(8,128) to row-major, 64 MB float32": 2 * 2**26,
    }.items():
        assert named(name, rows).nbytes == nbytes


# ---- Without a device


def command(monkeypatch, *arguments):
    """The exit status of ``python -m benchmarks gpu``."""
    monkeypatch.setattr(sys, "argv", ["benchmarks", "gpu", *arguments])
    with pytest.raises(SystemExit) as ended:
        commands.main()
    return ended.value.code


def test_dry_run_lists_rows_with_bytes_and_kernels(monkeypatch, capsys):
    assert command(monkeypatch, "--dry-run", "--only", "padded rows: ") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 20
    assert lines[0].split("  ")[:2] == ["0", "padded rows"]
    assert all(" copy_" in line for line in lines)


@needs_compiler
def test_the_command_on_the_simulator(monkeypatch, capsys, tmp_path):
    files = ["--json", str(tmp_path / "a.json"), "--markdown", str(tmp_path / "a.md")]
    with simulator(1):
        assert command(monkeypatch) == 2
        assert "add --simulator" in capsys.readouterr().err
        assert command(monkeypatch, "--simulator", "--only", "flat copy", *files) == 0
    said = capsys.readouterr().out
    assert "0 of 4 rows of ours failed; 0 left out." in said
    assert (tmp_path / "a.md").read_text() in said


# ---- Time


class DeviceArray(np.ndarray):
    @property
    def data(self):
        return SimpleNamespace(ptr=self.ctypes.data)


class FakeEvent:
    def __init__(self, cupy):
        self.cupy = cupy

    def record(self, stream):
        assert stream == "null"
        self.at = self.cupy.clock()
        self.cupy.log.append("event")

    def synchronize(self):
        pass


class FakeCupy:
    """CuPy, with arrays of NumPy: a copy takes 1 ms, and what is called 10 us."""

    __name__, __version__ = "cupy", "14.2"

    def __init__(self, clock=lambda: 0.0):
        self.now, self.log, self.host_clock = 0.0, [], clock
        properties = {
            "name": b"NVIDIA H100", "major": 9, "minor": 0, "l2CacheSize": 1 << 14,
            "multiProcessorCount": 132, "totalGlobalMem": 141 << 30,
        }  # fmt: skip
        runtime = SimpleNamespace(
            memcpyDeviceToDevice=3, memcpyAsync=self.copy, getDevice=lambda: 0,
            getDeviceProperties=lambda device: properties, driverGetVersion=lambda: 13000,
            runtimeGetVersion=lambda: 13000, deviceSynchronize=lambda: self.log.append("wait"),
            memGetInfo=lambda: (1 << 30, 141 << 30),
        )  # fmt: skip
        self.cuda = SimpleNamespace(
            Event=lambda: FakeEvent(self), Stream=SimpleNamespace(null="null"), runtime=runtime,
            get_elapsed_time=lambda start, stop: (stop.at - start.at) * 1e3,
        )  # fmt: skip
        freed = lambda: self.log.append("free")  # noqa: E731
        pool = SimpleNamespace(free_bytes=lambda: 0, free_all_blocks=freed)
        self.get_default_memory_pool = lambda: pool
        self.asnumpy = self.asarray = np.asarray

    def __getattr__(self, name):
        return getattr(np, name)

    def clock(self):
        return self.now + self.host_clock()

    def empty(self, shape, dtype):
        return np.empty(shape, dtype).view(DeviceArray)

    ones = empty

    def copy(self, to, from_, nbytes, kind, stream):
        assert (kind, stream) == (3, 0)
        if nbytes < gpu_timing.EventClock.BYTES:
            ctypes.memmove(to, from_, nbytes)
        self.now += 1e-3
        self.log.append("copy")

    def call(self):
        self.now += 1e-5
        self.log.append("call")


def test_events_time_the_calls_alone_while_the_device_is_kept_busy():
    device = FakeCupy()
    clock = gpu_timing.EventClock(device)
    device.log.clear()
    assert clock.seconds([device.call] * 5, ahead=2e-3) == pytest.approx(5e-5)
    # 1.5 times as long as the host needs.
    assert device.log == ["copy"] * 3 + ["event"] + ["call"] * 5 + ["event"]


@needs_compiler
def test_the_way_of_a_gpu(monkeypatch, tmp_path):
    monkeypatch.setattr(
        gpu_memory.nvrtc, "newest_runnable_architecture", lambda capability: capability
    )
    monkeypatch.setattr(gpu_memory.nvrtc, "nvrtc_version", lambda: "13.0")
    cupy = FakeCupy(time.perf_counter)
    space = gpu_memory.Gpu(cupy)
    libraries = [gpu_peers.Ours(space), gpu_peers.ArrayLibrary(space)]
    paths = tmp_path / "a.json", tmp_path / "a.md"
    rows = [named("8 KB float32"), named("x + y, 8 KB float32"), named("x + y, 10 elements")]
    with simulator(1):  # our tensors are the CPU's here, and launch nothing
        bench = gpu.Bench(space, gpu_timing.EventClock(cupy), libraries, paths=paths)
        report = bench.all(rows)
    assert (report.faults, report.left_out) == ([], {})
    flat, added, small = report.measured
    assert flat.timing.rounds.keys() == {"copy", "tensorlayout", "cupy"}
    assert 1e-3 <= flat.timing.middle("copy") < 1e-2
    assert (flat.sets, added.sets, small.sets) == (4, 3, 1)
    assert flat.passed is not None
    assert small.timing.rounds.keys() == {"tensorlayout", "cupy"}
    assert small.row.reference == "cupy"
    assert small.share > 0
    assert cupy.log.count("free") == 3
    page = paths[1].read_text()
    assert page.startswith("# NVIDIA H100\n")
    assert "132 multiprocessors, 141 GB, L2 0 MB" in page
    assert "CUDA driver 13000, runtime 13000, NVRTC 13.0" in page


# ---- The report


def measured(target=0.9, failed=None, **rounds):
    block = Operand((10**6,), "float32")
    row = Row("layout", "some", gpu_operations.COPY, (block,), block, 0, target)
    return gpu_report.Measured(row, Timing(rounds), failed=failed or {})


def test_share_is_the_median_of_the_rounds_ratios():
    m = measured(copy=(1.0, 2.0, 9.0), tensorlayout=(2.0, 2.0, 18.0))
    assert m.share == 0.5
    assert m.passed is False
    assert measured(copy=(0.91,), tensorlayout=(1.0,)).passed is True
    assert measured(copy=(0.89,), tensorlayout=(1.0,)).passed is False
    assert measured(None, copy=(0.89,), tensorlayout=(1.0,)).passed is None


def test_a_library_is_ahead_if_it_is_faster_by_more_than_noise():
    m = measured(copy=(1.0,), tensorlayout=(1.0,), cupy=(0.9,), torch=(0.98,), jax=(2.0,))
    assert m.ahead_of_us == ["cupy"]


def test_the_faster_of_two_libraries_is_the_reference():
    m = measured(1.0, copy=(0.1,), tensorlayout=(2.0,), cupy=(4.0,), torch=(1.0,), jax=(0.5,))
    m = dataclasses.replace(m, row=dataclasses.replace(m.row, reference="CuPy or PyTorch"))
    assert (m.reference, m.share, m.passed) == ("torch", 0.5, False)
    alone = dataclasses.replace(m, timing=Timing({"tensorlayout": (1.0,)}))
    assert (alone.share, alone.passed) == (None, None)


def test_any_position_of_the_greatest_is_right():
    judged = gpu_functions.reduction("argmax", 1, "float32").judged
    x = np.array([[1, 3, 3], [5, 5, 2]], np.float32)
    for result, right in (([1, 0], True), ([2, 1], True), ([0, 0], False)):
        at, greatest = judged(np, np.array(result), x)
        assert (at.tolist() == greatest.tolist()) is right


# ---- What is counted


def tally(units, ideal, octets, lanes=32):
    return Tally(accesses=1, lanes=lanes, bytes=octets, units=units, ideal=ideal)


def test_what_misses_its_target():
    (case, *_) = sectors.cases()
    for loads, stores, short in [
        (tally(10, 9, 288), tally(10, 9, 288), []),
        (tally(10, 8, 256), tally(10, 9, 288), ["read 0.800"]),
        (tally(10, 9, 288), tally(2, 1, 4, lanes=1), ["lanes 0.516"]),  # few bytes are written
        (tally(10, 9, 288), tally(2, 1, 64), ["written 0.500"]),
    ]:
        counts = Counts("some", 1, loads=loads, stores=stores)
        result = sectors.Counted(case, "float32", ("some",), counts)
        assert (result.short, result.met) == (short, not short)
        free = dataclasses.replace(result, case=dataclasses.replace(case, held=False))
        assert free.met is None
    counts = Counts("some", 1, shared_loads=tally(12, 10, 320))
    assert sectors.Counted(case, "float32", (), counts).short == ["banks 1.200"]
