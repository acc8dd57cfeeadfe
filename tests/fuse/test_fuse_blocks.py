"""Fused functions on the CPU, in blocks of a few elements: the bits of their steps by themselves.

Functions, dtypes and layouts are drawn in tests/ops (`fuse_cases`).
"""

import threading
import tracemalloc

import comparing
import numpy as np
import pytest
from identical import identical

import tensorlayout as tl
from tensorlayout.cpu import fuse as engine

SMALL = {"LEAST": 1, "THREADS": 1 << 40, "BLOCK": 64}


@pytest.fixture(autouse=True)
def blocks(monkeypatch):
    """All that can be goes by blocks, of a few elements."""
    for name, value in SMALL.items():
        monkeypatch.setattr(engine, name, value)


@pytest.fixture
def block_loops(monkeypatch):
    """Record the plans that are executed in blocks."""
    seen = []
    result = engine._BlockLoop
    monkeypatch.setattr(engine, "_BlockLoop", lambda plan: seen.append(plan) or result(plan))
    return seen


def normal(shape, dtype=np.float32, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def normalise(x, m, s, g, b):
    return (x - m) / s * g + b


@pytest.mark.parametrize("threads", [1, 8])
@pytest.mark.parametrize("channels", [(3,), (5, 3), (4, 1, 1), (4, 5, 3), ()])
def test_threads_and_channels(threads, channels, block_loops, monkeypatch):
    monkeypatch.setattr(engine, "THREADS", 1)
    monkeypatch.setattr(engine, "available_threads", lambda: threads)
    x = tl.asarray(normal((4, 5, 3)))
    others = [tl.asarray(normal(channels, seed=i)) for i in range(4)]
    comparing.fused(normalise, x, *others, layout=x.layout)
    assert len(block_loops) == 2  # a new result, and one that is given


def test_mixed_orders_and_tiles_go_by_blocks(block_loops, monkeypatch):
    monkeypatch.setattr(engine, "BLOCK", 1 << 14)
    x, y = tl.asarray(normal((320, 330))), tl.asarray(normal((330, 320), seed=1))
    comparing.fused(lambda x, y: (x + y.T) * 2 - tl.sqrt(x), x, y)
    assert len(block_loops) == 1
    tiled = tl.to_layout(x, tl.Layout.tiled(x.shape, [(2, 4)]))
    comparing.fused(lambda x: (x - 1) * 2 + x * 3, tiled)
    assert len(block_loops) == 2


@pytest.fixture(params=[1, 1 << 40], ids=["blocks", "step by step"])
def either(request, monkeypatch):
    monkeypatch.setattr(engine, "LEAST", request.param)


@pytest.mark.usefixtures("either")
def test_a_result_that_runs_backwards_is_rounded_as_any_other():
    x, out = tl.asarray(normal((20, 50))), tl.zeros((20, 50), dtype=tl.float32)[::-1, ::-1]
    for function in (lambda x: tl.atan2(abs(x), x + 0), lambda x: tl.log1p(x * x)):
        tl.fuse(function)(x, out=out)
        assert comparing.bits(out) == comparing.bits(function(x))


@pytest.mark.usefixtures("either")
def test_integers_are_rounded_once():
    x, n = tl.zeros(20, dtype=tl.float32), 2**60 + 2**36 + 1
    result = tl.fuse(lambda x, n: x * 2 + n)(x, n)
    assert set(result.tolist()) == {2.0**60 + 2.0**37}


def test_exponents_of_each_call(block_loops):
    """0.5 and 2 have functions of their own, which the plan of a kind of number does not tell."""
    x = tl.asarray(np.array([-np.inf, -0.0, 4.0, 2.0, np.inf] * 5))
    fused = tl.fuse(lambda x, p: (x + 0) ** p + 0)
    for p in (0.5, 2.0, 3.0, -1.0, 0.5):
        identical(fused(x, p), (x + 0) ** p + 0)
    assert len(block_loops) == 1


def test_values_of_smaller_shapes_are_worked_out_once(monkeypatch, block_loops):
    calls = []
    result = engine.compile_plan

    def carried_out(plan):
        run = result(plan)
        return lambda *operands: calls.append(plan.operation.name) or run(*operands)

    monkeypatch.setattr(engine, "compile_plan", carried_out)
    x, s = tl.asarray(normal((50, 3))), tl.asarray(normal(3))
    fused = tl.fuse(lambda x, s: x * tl.reciprocal(s) - x)
    identical(fused(x, s), x * tl.reciprocal(s) - x)
    assert calls == ["reciprocal"]


def test_memory_of_a_large_call(monkeypatch):
    """No result of a step is ever there as a whole."""
    monkeypatch.undo()
    x = tl.asarray(np.ones(1 << 22, np.float32))
    fused = tl.fuse(lambda x: (x - 1) / 3 * 2 + tl.exp(x))
    fused(x)
    tracemalloc.start()
    try:
        out = fused(x)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < out.nbytes + engine.available_threads() * (4 << 20)


def test_from_several_threads_at_once():
    x = tl.asarray(normal((40, 50)))
    fused = tl.fuse(lambda x, y: (x - y) * 2 + x)
    expected = (x - 1.0) * 2 + x
    wrong = []

    def call():
        for _ in range(20):
            if np.asarray(fused(x, 1.0)).tobytes() != np.asarray(expected).tobytes():
                wrong.append(1)

    several = [threading.Thread(target=call) for _ in range(4)]
    for item in several:
        item.start()
    for item in several:
        item.join()
    assert not wrong
