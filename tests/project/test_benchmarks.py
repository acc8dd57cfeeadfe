"""The benchmarks that need no GPU: what they print, and how they judge."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2]))

from benchmarks import __main__ as commands
from benchmarks import small
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
    lines = page.read_text("utf-8").splitlines()
    header = next(line for line in lines if line.startswith("| 8 x 8"))
    assert header.split(" | ")[1:3] == [OURS, "numpy"]
    assert "torch" not in header
    assert sum(line.startswith("| ") for line in lines) == 2 + len(small.rows())
    assert capsys.readouterr().out == page.read_text("utf-8") + "\n"


def test_each_library_has_every_small_row():
    peers = {frozenset(calls) for calls in small.rows().values()}
    assert len(peers) == 1
