"""The benchmarks that need no GPU: they run, and judge by what they measured."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[2]))

from benchmarks import __main__ as commands
from benchmarks import imports, small, transposes
from benchmarks.measure import Timing, python_calls
from benchmarks.peers import OURS


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


def test_an_import_is_timed_in_a_fresh_interpreter(monkeypatch):
    monkeypatch.setattr(imports, "STATEMENTS", {"numpy": "import sys", OURS: "import time"})
    wall, process = imports.timings(2)
    assert [len(item.rounds[OURS]) for item in (wall, process)] == [2, 2]
    assert all(0 < spent < 60 for spent in wall.rounds[OURS])


def test_a_wrong_copy_is_not_timed(monkeypatch):
    row = transposes.Change("2-D", (3, 4), (1, 0), "float32")
    assert row.calls()["numpy"]() is None
    monkeypatch.setattr(np, "copyto", lambda to, from_: None)
    with pytest.raises(RuntimeError, match=r"^2-D, 3 x 4, float32: numpy gives another result$"):
        row.calls()


@pytest.mark.parametrize("name", ["small", "transposes"])
def test_commands_write_the_page_that_they_print(name, monkeypatch, capsys, tmp_path):
    page = tmp_path / "a.md"
    arguments = ["benchmarks", name, "--quick", "--markdown", str(page)]
    monkeypatch.setattr(sys, "argv", arguments)
    with pytest.raises(SystemExit) as ended:
        commands.main()
    assert ended.value.code is None
    assert capsys.readouterr().out == page.read_text("utf-8") + "\n"


def test_the_rows_of_transposes_go_to_a_table_of_their_own(monkeypatch, capsys, tmp_path):
    arguments = ["benchmarks", "transposes", "--quick", "--only", "odd", "--results", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", arguments)
    with pytest.raises(SystemExit):
        commands.main()
    rows = (tmp_path / "transposes.md").read_text("utf-8")
    assert "| 2-D, odd sides, 65 x 65, float32 | 16.9 kB |" in rows
    assert "65 x 65" not in capsys.readouterr().out
