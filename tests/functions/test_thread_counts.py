"""How many threads a call may use."""

import os
import subprocess
import sys

import pytest

from tensorlayout.cpu.engine import threads
from tensorlayout.cpu.engine.threads import available_threads, share_pieces

SCRIPT = "from tensorlayout.cpu.engine.threads import available_threads as n; print(n())"


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch):
    """Whatever the variable says to the tests."""
    monkeypatch.setattr(threads, "_forced", 0)
    threads._granted.cache_clear()
    yield
    threads._granted.cache_clear()


def test_the_variable_says_how_many(monkeypatch):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        env=os.environ | {threads.VARIABLE: " 12 "},
    )
    assert done.stdout.split() == ["12"]
    monkeypatch.setenv(threads.VARIABLE, "3")
    assert threads._said() == 3


@pytest.mark.parametrize("said", ["0", "-1", "two", "1.5", "²"])
def test_other_words_are_an_error(said, monkeypatch):
    monkeypatch.setenv(threads.VARIABLE, said)
    with pytest.raises(ValueError, match="TENSORLAYOUT_THREADS must be a whole number from 1 on"):
        threads._said()


def test_those_that_this_thread_may_run_on():
    assert 1 <= available_threads() <= 8
    if hasattr(os, "sched_getaffinity"):
        assert available_threads() <= len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("quota", "period", "count"),
    [
        ("max 100000", "", 8),  # no limit
        ("150000 100000", "", 2),
        ("-1", "100000", 8),  # the first kind of groups: no limit
        ("10000", "100000", 1),
        ("nonsense", "", 8),
        ("5", "0", 8),
    ],
)
def test_no_more_than_the_control_group_grants(quota, period, count, tmp_path, monkeypatch):
    place, other = tmp_path / "quota", tmp_path / "period"
    place.write_text(f"{quota}\n")
    other.write_text(f"{period}\n")
    files = {str(tmp_path / "none"): "", str(place): str(other) if period else ""}
    monkeypatch.setattr(threads, "_QUOTAS", files)
    monkeypatch.setattr(os, "process_cpu_count", lambda: 64, raising=False)
    monkeypatch.setattr(threads, "_affinity", lambda: set(range(64)))
    assert available_threads() == count


def test_a_piece_is_not_cut_again(monkeypatch):
    monkeypatch.setattr(threads, "_forced", 4)
    caller, counts = threads.threading.get_ident(), {}

    def work(_):
        counts[threads.threading.get_ident()] = available_threads()
        threads.threading.Event().wait(0.01)

    while caller not in counts or len(counts) < 2:  # whoever is quick may take all pieces
        share_pieces(range(8), work, 4)
    assert counts.pop(caller) == 4
    assert set(counts.values()) == {1}
