"""Fused functions on the CPU, in blocks of a few elements: the bits of their steps by themselves.

Functions, dtypes and layouts are drawn in tests/ops (`fuse_cases`).
"""

import threading
import tracemalloc

import numpy as np
import pytest
from identical import bits, identical
from tensors import as_dtype, slots, tensor_in

import tensorlayout as tl
from tensorlayout.cpu import fuse as engine

SMALL = {"LEAST": 1, "THREADS": 1 << 40, "BLOCK": 64}


@pytest.fixture(autouse=True)
def blocks(monkeypatch):
    """All that can be goes by blocks, of a few elements."""
    for name, value in SMALL.items():
        monkeypatch.setattr(engine, name, value)


@pytest.fixture
def counted(monkeypatch):
    """How many plans were carried out in blocks."""
    seen = []
    found = engine._blockwise
    monkeypatch.setattr(engine, "_blockwise", lambda plan: seen.append(plan) or found(plan))
    return seen


def check(function, *args):
    """A fused call, one more, and one with `out`, beside the unfused."""
    expected = function(*args)
    fused = tl.fuse(function)
    identical(fused(*args), expected, function.__doc__)
    identical(fused(*args), expected, function.__doc__)
    out = tl.empty_like(expected)
    if not out.layout.is_overlapping:
        assert fused(*args, out=out) is out
        identical(out, expected, function.__doc__)
    return fused


FUNCTIONS = {
    "two functions": lambda x, y: tl.exp(x) / tl.sqrt(y * x),
    "integers and powers": lambda x, y: tl.floor(abs(x)) ** 2 + tl.remainder(y, 3),
    "a choice and a range": lambda x, y: tl.clip(tl.where(x != y, x, y), -1, 1) - y,
    "truths": lambda x, y: tl.isnan(x * y) | tl.logical_not(y > x),
    "another dtype": lambda x, y: (x - y).astype(tl.float64) * y,
    "into itself": lambda x, y: (x * 2 + y).__iadd__(y) * x,
    "a sum": lambda x, y: tl.sum(x * y + 1, axis=1),
    "a mean": lambda x, y: tl.mean(x / 2 - y),
    "the least": lambda x, y: tl.argmin(x * y, axis=0),
    "a count": lambda x, y: tl.count_nonzero((x + y) * 2, axis=(0, 2)),
}
PLACES = [
    tl.Layout.row_major((3, 4, 5)),
    tl.Layout.padded((3, 4, 5), (3, 5, 7), (1, 0, 2), tl.PaddingValue.ZERO),
    tl.Layout.packed((3, 4, 5), (2, 0, 1)).flip((0, 2)),
    tl.Layout((3, 4, 5), (0, 10, 2)),
]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_operands_of_several_shapes_and_layouts(name, dtype):
    function = FUNCTIONS[name]
    for layout in PLACES:
        x, _ = tensor_in(layout, slots(as_dtype(dtype), layout.required_size))
        others = [tl.asarray(normal(shape)).astype(x.dtype) for shape in ((4, 1), (5,), (3, 1, 1))]
        for y in (*others, tl.flip(x)):
            check(function, x, y)
            check(function, y, x)


def test_into_an_operand():
    for layout in PLACES[:3]:
        for view in (lambda x: x, tl.flip):
            x, _ = tensor_in(layout, normal(layout.required_size))
            expected = view(x) * 2 - x
            tl.fuse(lambda x, y: y * 2 - x)(x, view(x), out=x)
            assert bits(np.asarray(x)) == bits(np.asarray(expected))


def normal(shape, dtype=np.float32, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def normalise(x, m, s, g, b):
    return (x - m) / s * g + b


@pytest.mark.parametrize("threads", [1, 8])
@pytest.mark.parametrize("channels", [(3,), (5, 3), (4, 1, 1), (4, 5, 3), ()])
def test_threads_and_channels(threads, channels, counted, monkeypatch):
    monkeypatch.setattr(engine, "THREADS", 1)
    monkeypatch.setattr(engine, "possible_threads", lambda: threads)
    x = tl.asarray(normal((4, 5, 3)))
    others = [tl.asarray(normal(channels, seed=i)) for i in range(4)]
    check(normalise, x, *others)
    assert len(counted) == 2  # a new result, and one that is given


MIXED = {
    "transposed": lambda x, y: (x + y.T) * 2 - x,
    "a function of the transposed": lambda x, y: tl.exp(y.T) - tl.sqrt(x),
    "both ways": lambda x, y: (x * y.T + y[::-1].T) / x,
    "a function of what runs backwards": lambda x, y: x + tl.sinh(y.T[::-1]),
    "a column": lambda x, y: (x - y.T[:, :1]) * x,
    "every second": lambda x, y: x[::2, ::2] * y.T[::2, ::2] + x[1::2, 1::2],
}


@pytest.mark.parametrize("name", MIXED)
@pytest.mark.parametrize("dtype", ["float32", "float16", "complex64"])
def test_mixed_orders(name, dtype, monkeypatch, counted):
    monkeypatch.setattr(engine, "BLOCK", 1 << 14)
    x = tl.asarray(normal((320, 330))).astype(getattr(tl, dtype))
    y = tl.asarray(normal((330, 320), seed=1)).astype(getattr(tl, dtype))
    check(MIXED[name], x, y)
    assert counted or dtype != "float32" or "function of what runs backwards" in name


def test_tiled(counted):
    layout = tl.Layout.tiled((7, 9), [(2, 4)], padding_value=tl.PaddingValue.ONE)
    x = tensor_in(layout, normal(layout.required_size))[0]
    y = tensor_in(layout, normal(layout.required_size, seed=1))[0]
    check(lambda x, y: (x - y) * 2 + x * 3, x, y)
    assert len(counted) == 2
    check(lambda x, y: (x - y) * 2 + x * 3, x, tl.asarray(normal((7, 9))))


@pytest.fixture(params=[1, 1 << 40], ids=["blocks", "step by step"])
def either(request, monkeypatch):
    monkeypatch.setattr(engine, "LEAST", request.param)


@pytest.mark.usefixtures("either")
def test_a_last_step_that_would_overwrite_what_it_reads():
    for function in (lambda x, y: tl.where(y - 1 > 0, x, y), lambda x, y: tl.where(y > -x, x, 0)):
        x, y = tl.asarray(normal(50)), tl.asarray(normal(50, seed=1))
        expected = function(x, y)
        tl.fuse(function)(x, y, out=x)
        identical(x, expected)


@pytest.mark.usefixtures("either")
def test_a_result_that_runs_backwards_is_rounded_as_any_other():
    x, out = tl.asarray(normal((20, 50))), tl.zeros((20, 50), dtype=tl.float32)[::-1, ::-1]
    for function in (lambda x: tl.atan2(abs(x), x + 0), lambda x: tl.log1p(x * x)):
        tl.fuse(function)(x, out=out)
        assert bits(np.asarray(out)) == bits(np.asarray(function(x)))


@pytest.mark.usefixtures("either")
def test_integers_are_rounded_once():
    x, n = tl.zeros(20, dtype=tl.float32), 2**60 + 2**36 + 1
    found = tl.fuse(lambda x, n: x * 2 + n)(x, n)
    assert set(found.tolist()) == {2.0**60 + 2.0**37}


@pytest.mark.usefixtures("either")
def test_every_byte_but_0_is_true():
    octets = np.arange(20, dtype=np.uint8) % 3
    x = tl.from_storage(octets, tl.Layout((20,)), dtype=tl.bool)
    y = tl.ones(20, dtype=tl.bfloat16)
    found = tl.fuse(lambda x, y: (x + y) * y)(x, y)
    np.testing.assert_array_equal(np.asarray(found.astype(tl.float32)), 1 + (octets != 0))


def test_exponents_of_each_call(counted):
    """0.5 and 2 have functions of their own, which the plan of a kind of number does not tell."""
    x = tl.asarray(np.array([-np.inf, -0.0, 4.0, 2.0, np.inf] * 5))
    fused = tl.fuse(lambda x, p: (x + 0) ** p + 0)
    for p in (0.5, 2.0, 3.0, -1.0, 0.5):
        identical(fused(x, p), (x + 0) ** p + 0)
    assert len(counted) == 1


def test_few_buffers(counted):
    """However long the chain: the block of the result, and one that another width needs."""

    def chain(x):
        for _ in range(5):
            x = x * 2 - 1
        return x.astype(tl.float64).astype(tl.float32)

    check(chain, tl.asarray(normal(50)))
    actions = engine._actions(counted[0], list(range(len(counted[0].steps))), True, True)
    assert {action.buffer for action in actions} == {engine._OUT, 0}


def test_values_of_smaller_shapes_are_worked_out_once(monkeypatch, counted):
    calls = []
    found = engine.carried_out

    def carried_out(plan):
        run = found(plan)
        return lambda *operands: calls.append(plan.operation.name) or run(*operands)

    monkeypatch.setattr(engine, "carried_out", carried_out)
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
    assert peak < out.nbytes + engine.possible_threads() * (4 << 20)


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
    for each in several:
        each.start()
    for each in several:
        each.join()
    assert not wrong
