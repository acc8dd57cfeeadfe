"""Scans and sorts of many lines, which threads share: the same bits, however many there are."""

import numpy as np
import pytest
from tensors import as_dtype, host

import tensorlayout as tl
from tensorlayout.cpu import scan
from tensorlayout.cpu.engine import threads
from tensorlayout.cpu.reduce import walk

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
    monkeypatch.setattr(walk.blocks, "__defaults__", (64, 0))
    monkeypatch.setattr(scan, "BLOCK", 64)
    monkeypatch.setattr(scan, "_UNLOCKED", 4)
    monkeypatch.setattr(scan, "_LONG", 80)


def numbers(shape, dtype):
    found = np.random.default_rng(3).standard_normal(shape) * 9
    return found.astype(as_dtype(dtype))


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int16", "int64"])
def test_the_bits_do_not_depend_on_the_threads(name, dtype, monkeypatch):
    for shape in SHAPES:
        x = tl.asarray(numbers(shape, dtype))
        for each in (x, tl.permute_dims(x, range(x.ndim)[::-1]), tl.flip(x)):
            for axis in range(x.ndim):
                found = set()
                for count in (1, 2, 8):
                    monkeypatch.setattr(threads, "_forced", count)
                    found.add(host(CALLS[name](each, axis)).tobytes())
                assert len(found) == 1, (shape, axis)


def test_each_thread_takes_some(monkeypatch):
    """Of large tensors: the blocks are what they are for users."""
    monkeypatch.setattr(threads, "_forced", 2)
    asked = []
    share = threads.share

    def spied(work, pieces, count):
        pieces = list(pieces)
        asked.append((len(pieces), count))
        share(work, pieces, count)

    monkeypatch.setattr(threads, "share", spied)
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
