"""The page that puts our kernels beside CuPy's and CUB's; and a row of it, where CuPy is there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import cub, roofline
from benchmarks.launches import Launch, Work
from benchmarks.peer_rows import PeerRow, rows
from benchmarks.sectors_peers import Compared, Figures

ROOT = Path(__file__).parents[2]


def compared(**figures):
    row = PeerRow("f(x)", {"x": "np.ones(3)"}, "f(x)")
    return Compared(row, "10 x 10", "float32", 100, figures)


def test_the_better_peer_of_each_kind_counts():
    result = compared(
        ours=Figures(30.0, 1200.0), cupy=Figures(40.0, 800.0), cub=Figures(20.0, 1200.0)
    )
    assert result.ratio("instructions") == 1.5
    assert result.ratio("nbytes") == 1.5
    assert result.above == ["instructions 1.50", "bytes 1.50"]


def test_limits_are_those_of_rounded_ratios():
    assert compared(ours=Figures(1204.0, 1004.0), cub=Figures(1000.0, 1000.0)).above == []
    assert compared(ours=Figures(1206.0, 1006.0), cub=Figures(1000.0, 1000.0)).above == [
        "instructions 1.21",
        "bytes 1.01",
    ]


def test_figures_that_are_not_known_are_not_compared():
    known, unknown = Figures(10.0, 100.0), Figures(1.0, 1.0, unknown="HMMA")
    assert compared(ours=known, cupy=unknown).ratio("instructions") is None
    assert compared(ours=known, cupy=unknown).ratio("nbytes") is None
    # Our bytes are then the simulator's.
    ours = Figures(0.0, 200.0, unknown="HMMA")
    assert compared(ours=ours, cupy=known).ratio("nbytes") == 2.0
    assert compared(ours=ours, cupy=known).ratio("instructions") is None
    assert compared(ours=known).above == []


def test_filling_memory_is_a_launch_without_instructions():
    work = Work()
    work.run(Launch.fill(640), [])
    assert (work.launches, work.nbytes, work.instructions) == (1, 640, 0)


def test_rows():
    """Sixty or more; each has a call of ours, and a peer or a reason."""
    every = list(rows())
    assert len(every) >= 60
    assert all(row.ours and (row.cupy or row.cub or row.note) for row in every)
    keys = [(row.call, *row.operands.values()) for row in every]
    assert len(set(keys)) == len(keys)


def lines_of(call):
    """The lines of the page's table for one call, cell by cell."""
    command = [sys.executable, "-m", "benchmarks", "peers", "--only", call]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    page = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
    assert page.returncode == 0, page.stderr
    assert "; not counted: " not in page.stdout, page.stdout
    start = f"| `{call}` |"
    return [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in page.stdout.splitlines()
        if line.startswith(start)
    ]


@pytest.mark.skipif(not roofline.available(), reason="optional: cupy, nvidia-cuda-nvdisasm")
def test_kernels_of_cupy_are_counted():
    (cells,) = lines_of("x + column")
    assert cells[:3] == ["`x + column`", "1000 x 1000", "float32"]
    ours, theirs = float(cells[3]), float(cells[4])
    assert 10 < ours < 30  # four elements to a thread and more
    assert 50 < theirs < 100  # one, whose address takes divisions
    assert float(cells[7]) == pytest.approx(8, rel=0.02)
    assert float(cells[8]) == pytest.approx(8.25, rel=0.02)
    assert (cells[11], cells[12]) == ("1", "1")


@pytest.mark.long
@pytest.mark.skipif(cub.toolkit() is None, reason="optional: nvidia-cuda-nvcc, nvidia-cuda-cccl")
def test_kernels_of_cub_are_counted():
    """A running sum reads and writes each element once, in two launches."""
    cells, _ = lines_of("cumulative_sum(x)")
    assert 5 < float(cells[5]) < 20
    assert float(cells[9]) == pytest.approx(8, rel=0.05)
    assert cells[13] == "2"
