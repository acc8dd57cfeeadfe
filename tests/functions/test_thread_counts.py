"""Number of threads of a call; scans and sorts have the same bits with any number."""

import os
import subprocess
import sys

import numpy as np
import pytest
from tensors import as_dtype, host

import tensorlayout as tl
from tensorlayout.cpu import scan
from tensorlayout.cpu.engine import sharing, threads
from tensorlayout.cpu.engine.sharing import share_pieces
from tensorlayout.cpu.engine.threads import get_num_threads
from tensorlayout.cpu.reduce import fold

SCRIPT = "from tensorlayout.cpu.engine.threads import get_num_threads as n; print(n())"


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch):
    """Whatever the variable says to the tests."""
    monkeypatch.setattr(threads, "_forced", 0)
    threads._cgroup_processor_limit.cache_clear()
    yield
    threads._cgroup_processor_limit.cache_clear()


def test_the_variable_says_how_many(monkeypatch):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        env=os.environ | {threads.VARIABLE: " 12 "},
    )
    assert done.stdout.split() == ["12"]
    monkeypatch.setenv(threads.VARIABLE, "3")
    assert threads._threads_from_environment() == 3


@pytest.mark.parametrize("said", ["0", "-1", "two", "1.5", "²"])
def test_other_words_are_an_error(said, monkeypatch):
    monkeypatch.setenv(threads.VARIABLE, said)
    with pytest.raises(ValueError, match="TENSORLAYOUT_THREADS must be a whole number from 1 on"):
        threads._threads_from_environment()


def test_those_that_this_thread_may_run_on():
    assert 1 <= get_num_threads() <= 8
    if hasattr(os, "sched_getaffinity"):
        assert get_num_threads() <= len(os.sched_getaffinity(0))


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
    monkeypatch.setattr(threads, "_allowed_processors", lambda: set(range(64)))
    assert get_num_threads() == count


def test_a_piece_is_not_cut_again(monkeypatch):
    monkeypatch.setattr(threads, "_forced", 4)
    caller, counts = threads.threading.get_ident(), {}

    def work(_):
        counts[threads.threading.get_ident()] = get_num_threads()
        threads.threading.Event().wait(0.01)

    while caller not in counts or len(counts) < 2:  # whoever is quick may take all pieces
        share_pieces(range(8), work, 4)
    assert counts.pop(caller) == 4
    assert set(counts.values()) == {1}


SHAPES = [(40, 50), (3, 2000), (2000, 3), (700,), (7, 1, 90), (0, 4), (4, 0)]
CALLS = {
    "cumulative_sum": lambda x, axis: tl.cumulative_sum(x, axis=axis),
    "cumulative_sum with an initial": lambda x, axis: tl.cumulative_sum(
        x, axis=axis, include_initial=True
    ),
    "cumulative_prod": lambda x, axis: tl.cumulative_prod(x, axis=axis),
    "sort": lambda x, axis: tl.sort(x, axis=axis),
    "argsort": lambda x, axis: tl.argsort(x, axis=axis, descending=True),
}


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(fold.block_boxes, "__defaults__", (64, 0))
    monkeypatch.setattr(scan, "BLOCK", 64)
    monkeypatch.setattr(scan, "_UNLOCKED", 4)
    monkeypatch.setattr(scan, "_LONG", 80)


def numbers(shape, dtype):
    result = np.random.default_rng(3).standard_normal(shape) * 9
    return result.astype(as_dtype(dtype))


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int16", "int64"])
def test_the_bits_do_not_depend_on_the_threads(name, dtype, monkeypatch):
    for shape in SHAPES:
        x = tl.asarray(numbers(shape, dtype))
        for operand in (x, tl.permute_dims(x, range(x.ndim)[::-1]), tl.flip(x)):
            for axis in range(x.ndim):
                result = set()
                for count in (1, 2, 8):
                    monkeypatch.setattr(threads, "_forced", count)
                    result.add(host(CALLS[name](operand, axis)).tobytes())
                assert len(result) == 1, (shape, axis)


def test_each_thread_takes_some(monkeypatch):
    """Of large tensors: the blocks are what they are for users."""
    monkeypatch.setattr(threads, "_forced", 2)
    asked = []
    share = sharing.run_in_threads

    def spied(work, pieces, count):
        pieces = list(pieces)
        asked.append((len(pieces), count))
        share(work, pieces, count)

    monkeypatch.setattr(sharing, "run_in_threads", spied)
    x = tl.zeros((2048, 1024), dtype=tl.float32)
    for call in CALLS.values():
        call(x, 1)
    call_of_long_lines = tl.zeros((3, 40000), dtype=tl.float32)
    tl.cumulative_sum(call_of_long_lines, axis=1)
    assert [count for _, count in asked] == [2] * 6
    assert [pieces for pieces, _ in asked] == [4, 4, 4, 16, 16, 3]


@pytest.mark.parametrize("count", [1, 2])
def test_overflow_says_nothing_in_any_thread(count, monkeypatch):
    monkeypatch.setattr(threads, "_forced", count)
    x = tl.full((2048, 512), 3e38, dtype=tl.float32)
    assert host(tl.cumulative_sum(x, axis=1))[:, -1].tolist() == [np.inf] * 2048
