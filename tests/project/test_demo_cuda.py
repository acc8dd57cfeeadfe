"""The demo on CUDA: the kernels of each step, what they cost, and nothing copied in secret."""

from __future__ import annotations

import re
import struct
import sys
import threading

import numpy as np
import pytest
from fake_cupy import Recorder, fake_cupy
from simulated import forget, needs_compiler, simulator

import tensorlayout as tl
from tensorlayout.cli import main
from tensorlayout.cuda.engine import launch_log as logs
from tensorlayout.cuda.engine import nvrtc
from tensorlayout.cuda.engine.cupy import open_driver
from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.demo import ledger
from tensorlayout.demo.errors import DifferenceError
from tensorlayout.demo.ledger import Known
from tensorlayout.devices import available


@pytest.fixture(scope="module")
def simulated():
    with simulator(1):
        yield


@pytest.fixture
def pixels(simulated):
    values = np.arange(2 * 128 * 64 * 3, dtype=np.uint8).reshape(2, 128, 64, 3)
    return Known(tl.asarray(values).to_device("cuda"), values, "NHWC")


@needs_compiler
class TestLedger:
    def book(self):
        lines = []
        return ledger.Ledger(lines.append, "cuda"), lines

    def test_a_computed_step_names_its_kernel_and_its_sectors(self, pixels):
        book, lines = self.book()
        seen = book.view(
            "seen", lambda xp, x: xp.permute_dims(x, (0, 3, 1, 2)), pixels, dims="NCHW"
        )
        to_nchw = lambda _, x: tl.to_layout(x, "NCHW")  # noqa: E731
        book.step("to NCHW", to_nchw, seen, expected=seen.array, stored="NCHW")
        step, kernel = lines[1].splitlines()
        assert re.fullmatch(r"to NCHW +NHWC -> NCHW +relayout +0\.10 +- +-", step)
        assert re.fullmatch(r"  copy_tiles +sectors: read 1\.00, written 1\.00", kernel)

    def test_a_launch_is_no_view(self, pixels):
        def sneaks(_, x):
            if isinstance(x, tl.Tensor):
                with tl.trace():  # which hides the copy from the ledger
                    tl.to_layout(x, "CHWN")
            return x[:1]

        with pytest.raises(DifferenceError, match="says view, but kernels were launched: copy_"):
            self.book()[0].view("part", sneaks, pixels)

    def test_memory_that_is_not_shared_is_no_view(self, pixels):
        other = tl.asarray(pixels.array).to_device("cuda")
        with pytest.raises(DifferenceError, match="the memory is not shared"):
            self.book()[0].view("part", lambda _, x: other[:1], pixels, expected=pixels.array[:1])


@pytest.mark.ci
@needs_compiler
def test_the_demo_on_the_simulator(simulated, tmp_path, capsys):
    cuda = both_demos(tmp_path, capsys)
    for title, kernel in (
        ("JOIN 16 tiles", "join_"),
        ("GATHER_ELEMENTS in waves", "gather_"),
        ("histogram by scatter_add", "fill_flat"),
        ("sums along rows", "scan_rows add"),
        ("NHWC to NCHW", "copy_tiles"),
    ):
        assert re.search(rf"\n{title} .* - +-\n  {kernel}.* sectors: (read|written) \d", cuda)
    assert re.search(r"\nhistogram .*\n(  .*\n)*  combine_elements add ", cuda)
    # What moves or computes names its kernels, but for the photographs' way to the device.
    silent = re.findall(r"^(.*?)  .* (?:copy|relayout|compute) .*\n(?!  )", cuda, re.MULTILINE)
    assert silent == ["to the device cuda", "to the device cuda", "YCbCr by matmul"]
    assert "no other library knows" in cuda


@pytest.fixture
def gpu(monkeypatch):
    monkeypatch.setenv("TENSORLAYOUT_CUDA_SIMULATOR", "0")
    forget()
    here = available()
    yield [device for device in here if device.kind == "cuda"]
    forget()


@pytest.mark.gpu
def test_the_demo_on_a_gpu(gpu, tmp_path, capsys):
    if not gpu:
        pytest.skip("no GPU")
    cuda = both_demos(tmp_path, capsys)
    assert re.search(r"\nNHWC to NCHW .* \d\.\d+ +\d+\.\d\n  copy_tiles +\d+\.\d us\n", cuda)
    assert re.search(r"  CuPy:    0x[0-9a-f]+, no copy", cuda)


def both_demos(tmp_path, capsys):
    """What the demo on CUDA says, held against that on the CPU."""
    on_cpu, on_cuda = tmp_path / "cpu", tmp_path / "cuda"
    assert main(["demo", "--out", str(on_cpu)]) == 0
    cpu = capsys.readouterr().out
    assert main(["demo", "--device", "cuda", "--out", str(on_cuda)]) == 0
    cuda = capsys.readouterr().out
    names = {path.name for path in on_cpu.iterdir()}
    assert names == {path.name for path in on_cuda.iterdir()}
    assert names == {
        f"{name}.png" for name in ("mosaic", "normalised", "layouts", "directml", "statistics")
    }
    for picture in names:
        assert (on_cuda / picture).read_bytes() == (on_cpu / picture).read_bytes()
    assert max(map(len, cuda.replace(str(on_cuda), "OUT").splitlines())) <= 100
    # Every step of the CPU, and the two photographs moved; so many bytes more are copied, but for
    # the two numbers that the pipeline compares on the host.
    (steps, copied), (more_steps, more_copied) = map(_summary, (cpu, cuda))
    assert more_steps == steps + 2
    photographs = 448 * 400 * 3 + 427 * 640 * 3
    assert 0 <= more_copied - copied - photographs <= 16
    assert not re.search(r" view .*\n  ", cuda)  # views launch nothing
    return cuda


def _summary(said):
    steps, copied = re.search(r"(\d+) steps, .*\n.*; ([\d,]+) bytes copied", said).groups()
    return int(steps), int(copied.replace(",", ""))


# ---- The log, on a stand-in for CuPy


@pytest.fixture
def stand_in(monkeypatch):
    recorder = Recorder()
    cupy = fake_cupy(recorder)
    cupy.cuda.get_elapsed_time = lambda start, stop: 2.0  # milliseconds
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr(nvrtc, "architecture_for", lambda capability: capability)
    monkeypatch.setattr(nvrtc, "cubin", lambda *_: b"machine code")
    opened = open_driver()
    monkeypatch.setattr(logs, "driver", lambda: opened)
    return opened, recorder


A, B = Kernel("copy/copy.cu", "copy_flat"), Kernel("fill/fill.cu", "fill_flat")


def words():
    return bytearray(struct.pack("3q", 1, 2, 3))


def test_log_names_and_times_kernels(stand_in):
    driver, recorder = stand_in
    a, b = driver.launcher(A), driver.launcher(B)
    a(1, words())
    with logs.launch_log() as log:
        a(2, words())
        b(1, words())
        a(3, words())
    a(4, words())
    assert [(kernel, counts.launches, counts.seconds) for kernel, counts in log.items()] == [
        (A, 2, 4e-3),
        (B, 1, 2e-3),
    ]
    assert [grid[0] for _, grid, *_ in recorder.named("launch")] == [1, 2, 1, 3, 4]
    assert len(recorder.named("wait")) == 3


def test_logs_nest_and_other_threads_have_none(stand_in):
    driver, _ = stand_in
    a, b = driver.launcher(A), driver.launcher(B)
    with logs.launch_log() as outer:
        a(1, words())
        with logs.launch_log() as inner:
            b(1, words())
        thread = threading.Thread(target=b, args=(1, words()))
        thread.start()
        thread.join()
    assert [*outer] == [A, B]
    assert [*inner] == [B]
    assert driver.counters.launches == 3
