"""The demo on CUDA: the same pictures, kernels below their steps, and logs of launches."""

import json
import re
import struct
import sys
import threading

import pytest
from fake_cupy import Recorder, fake_cupy
from simulated import forget, needs_compiler, simulator

from tensorlayout.cli import main
from tensorlayout.cuda.engine import launch_log as logs
from tensorlayout.cuda.engine import nvrtc
from tensorlayout.cuda.engine.cupy import open_driver
from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.devices import available_devices


@pytest.mark.ci
@needs_compiler
def test_the_demo_on_the_simulator(tmp_path, capsys):
    with simulator(1):
        cuda = both_demos(tmp_path, capsys)
    for title, kernel in (
        ("JOIN", "join_"),
        ("GATHER_ELEMENTS", "gather_"),
        ("histogram by scatter_add", "fill_flat"),
        ("integral image", "scan_rows add"),
        ("planes, rows at 256 bytes", "copy_"),
    ):
        assert re.search(rf"\n{title} .* - +- +-\n  {kernel}.* sectors: (read|written) \d", cuda)
    assert re.search(r"\nhistogram .*\n(  .*\n)*  change_elements add ", cuda)
    # What moves or computes names its kernels, but for cuBLAS.
    silent = re.findall(r"^(\S.*?)  .* (?:copy|relayout|compute) .*\n(?!  )", cuda, re.MULTILINE)
    assert silent == ["YCbCr by matmul"]
    assert "no other library knows" in cuda


@pytest.fixture
def gpu(monkeypatch):
    monkeypatch.setenv("TENSORLAYOUT_CUDA_SIMULATOR", "0")
    forget()
    here = available_devices()
    yield [device for device in here if device.kind == "cuda"]
    forget()


@pytest.mark.gpu
def test_the_demo_on_a_gpu(gpu, tmp_path, capsys):
    if not gpu:
        pytest.skip("no GPU")
    cuda = both_demos(tmp_path, capsys)
    assert re.search(r"\nplanes, rows .* \d\.\d+ +~?\d+ +- +-\n  copy_\S+ +\d+\.\d us\n", cuda)
    assert re.search(r"cupy: \(2,3,427,400\):\(512400,1,1200,3\), no copy", cuda)


def both_demos(tmp_path, capsys):
    """Run the demo on CUDA and on the CPU, to compare their output."""
    said, facts = {}, {}
    for device in ("cpu", "cuda"):
        out = tmp_path / device
        assert main(["demo", f"--device={device}", f"--out={out}", f"--json={out}.json"]) == 0
        said[device] = capsys.readouterr().out
        facts[device] = json.loads((tmp_path / f"{device}.json").read_text("utf-8"))["steps"]
    names = ("mosaic", "normalised", "layouts", "directml", "statistics")
    for device in said:
        assert {p.name for p in (tmp_path / device).iterdir()} == {f"{n}.png" for n in names}
    for name in names:
        on_cpu, on_cuda = (tmp_path / device / f"{name}.png" for device in said)
        assert on_cuda.read_bytes() == on_cpu.read_bytes()
    long = [line for line in said["cuda"].splitlines() if len(line) > 100]
    assert [line for line in long if "wrote" not in line] == []
    # The same steps, which copy as much, but for the two numbers that one compares on the host.
    for ours, theirs in zip(facts["cuda"], facts["cpu"], strict=True):
        assert (ours["name"], ours["kind"]) == (theirs["name"], theirs["kind"])
        assert 0 <= ours["bytes_copied"] - theirs["bytes_copied"] <= 16
    assert not re.search(r" view +- .*\n  ", said["cuda"])  # views launch nothing
    return said["cuda"]


# ---- The log, on a stand-in for CuPy


@pytest.fixture
def stand_in(monkeypatch):
    recorder = Recorder()
    cupy = fake_cupy(recorder)
    cupy.cuda.get_elapsed_time = lambda start, stop: 2.0  # milliseconds
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr(nvrtc, "newest_runnable_architecture", lambda capability: capability)
    monkeypatch.setattr(nvrtc, "read_cubin", lambda *_: b"machine code")
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
