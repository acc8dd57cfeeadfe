"""The benchmarks that need no GPU: what they print, and how they judge."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

sys.path.append(str(Path(__file__).parents[2]))

from benchmarks import __main__ as commands
from benchmarks import chart, imports, small, transposes
from benchmarks.measure import Timing, python_calls
from benchmarks.peers import OURS


def command(monkeypatch, *arguments):
    """What ``python -m benchmarks`` ends with."""
    monkeypatch.setattr(sys, "argv", ["benchmarks", *arguments])
    with pytest.raises(SystemExit) as ended:
        commands.main()
    return ended.value.code


def test_python_calls_counts_functions_and_no_builtins():
    def inner():
        return len("abc")

    def outer():
        return inner(), inner(), max(1, 2)

    before = sys.getprofile()
    assert python_calls(outer) == 2
    assert python_calls(inner) == 0
    assert sys.getprofile() is before


@pytest.mark.parametrize(
    ("ours", "numpy", "torch", "missed"),
    [
        (1.7, 1.0, 1.5, False),  # NumPy's and 0.8 us is more
        (1.9, 1.0, 1.5, True),
        (2.9, 1.0, 3.0, False),  # PyTorch's is more
        (3.1, 1.0, 3.0, True),
        (1.9, 1.0, None, True),  # without PyTorch
    ],
)
def test_a_small_row_is_held_against_the_greater_of_its_limits(ours, numpy, torch, missed):
    rounds = {OURS: (9e-6, ours * 1e-6), "numpy": (numpy * 1e-6, 8e-6)}
    rounds |= {"torch": (torch * 1e-6, 7e-6)} if torch else {}
    assert small.SmallResult("`x`", Timing(rounds), 1).missed is missed


def test_small_calls_in_a_table(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(small, "torch", None)
    page = tmp_path / "small.md"
    assert command(monkeypatch, "small", "--quick", "--markdown", str(page)) is None
    assert len({frozenset(calls) for calls in small.rows().values()}) == 1  # in each library
    lines = page.read_text("utf-8").splitlines()
    header = next(line for line in lines if line.startswith("| 8 x 8"))
    assert header.split(" | ")[1:3] == [OURS, "numpy"]
    assert "torch" not in header
    assert sum(line.startswith("| ") for line in lines) == 2 + len(small.rows())
    assert capsys.readouterr().out == page.read_text("utf-8") + "\n"


def test_the_import_is_held_against_numpys(monkeypatch, capsys):
    def timings(rounds):
        wall = {"numpy": (0.1, 0.2), OURS: (0.13, 0.3), imports.FIRST_SUM: (0.2, 0.4)}
        return Timing(wall), Timing(wall)

    monkeypatch.setattr(imports, "timings", timings)
    assert command(monkeypatch, "import") is None
    said = capsys.readouterr().out
    assert "Target: 1.5 times NumPy's wall time, met." in said
    middle = "215.0 (130.0 to 300.0)"
    assert f"| {OURS} | {middle} | {middle} | 1.40 (1.30 to 1.50) | 1.40 (1.30 to 1.50) |" in said


def test_an_import_is_timed_in_a_fresh_interpreter(monkeypatch):
    monkeypatch.setattr(imports, "STATEMENTS", {"numpy": "import sys", OURS: "import time"})
    wall, process = imports.timings(2)
    assert [len(each.rounds[OURS]) for each in (wall, process)] == [2, 2]
    assert all(0 < spent < 60 for spent in wall.rounds[OURS])


def test_copies_over_sizes_as_a_page_and_a_picture(monkeypatch, capsys, tmp_path):
    page = tmp_path / "copies.md"
    assert command(monkeypatch, "transposes", "--quick", "--markdown", str(page)) is None
    text = page.read_text("utf-8")
    assert "![GB/s over the size of the array](copies.png)" in text
    assert "| 2-D, sides a power of two, 64 x 64, float32 | 16.4 kB |" in text
    assert capsys.readouterr().out == text + "\n"
    with Image.open(tmp_path / "copies.png") as picture:
        assert picture.size == (2 * 24 + 3 * chart.WIDTH, 92 + 2 * chart.HEIGHT + 24)
        colours = {colour for _, colour in picture.convert("RGB").getcolors()}
    for wanted in (transposes.COLOURS["numpy"], transposes.COLOURS[OURS]):
        assert min(sum(abs(a - b) for a, b in zip(wanted, c, strict=True)) for c in colours) < 16


def test_rows_of_copies_reach_from_16_kb_to_256_mb():
    rows = transposes.rows(quick=False)
    sizes = [each.nbytes for each in rows if each.group == "2-D, sides a power of two"]
    assert sizes == [2**k for k in range(14, 30, 2)]
    assert len({each.name for each in rows}) == len(rows)


def test_a_wrong_copy_is_not_timed(monkeypatch):
    row = transposes.Change("2-D", (3, 4), (1, 0), "float32")
    assert row.calls()["numpy"]() is None
    monkeypatch.setattr(np, "copyto", lambda to, from_: None)
    with pytest.raises(RuntimeError, match=r"^2-D, 3 x 4, float32: numpy gives another result$"):
        row.calls()


def test_speed_is_the_bytes_of_the_array_by_the_median_time():
    row = transposes.Change("2-D", (1000, 500), (1, 0), "float64")
    assert transposes.CopyResult(row, Timing({OURS: (0.001, 0.004, 0.002)})).speed(OURS) == 2.0


def test_levels_of_a_chart_hold_all_values():
    assert chart._levels(0.3, 12) == [0.2, 0.5, 1, 2, 5, 10, 20]
    assert chart._levels(1, 1) == [1, 2]
