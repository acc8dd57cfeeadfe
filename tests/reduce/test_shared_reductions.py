"""Reductions give the same bits, however many threads share them or rows there are."""

import math

import numpy as np
import pytest
from tensors import as_dtype, host, same

import tensorlayout as tl
from tensorlayout.cpu.engine import threads
from tensorlayout.cpu.reduce import fold

NAMES = ["sum", "prod", "mean", "var", "std", "min", "max", "any", "all", "count_nonzero", "argmax"]
SHAPES = [(20, 25, 30), (3, 5000), (5000, 3), (15001,), (8, 8, 8, 16)]
ORDERS = {"rows": lambda x: x, "turned": lambda x: tl.permute_dims(x, range(x.ndim)[::-1])}


@pytest.fixture
def shared_soon(monkeypatch):
    monkeypatch.setattr(fold, "SHARED_BYTES", 1000)
    monkeypatch.setattr("tensorlayout.cpu.reduce.SHARED_BYTES", 1000)


def numbers(shape, dtype):
    found = np.random.default_rng(5).integers(-9, 10, shape)
    return found.astype(as_dtype(dtype)) if dtype != "uint8" else (found + 9).astype(np.uint8)


def axes_of(ndim):
    return [None, *range(ndim), *([(0, ndim - 1)] if ndim > 2 else [])]


DTYPES = ["float16", "bfloat16", "float32", "float64", "int16", "uint8"]
OF_FLOATS = ("mean", "var", "std")
CASES = [(n, d) for n in NAMES for d in DTYPES if "float" in d or n not in OF_FLOATS]


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_the_bits_do_not_depend_on_the_threads(name, dtype, shared_soon, monkeypatch):
    for shape in SHAPES:
        for order in ORDERS.values():
            x = order(tl.asarray(numbers(shape, dtype)))
            for axis in axes_of(x.ndim):
                if name == "argmax" and isinstance(axis, tuple):
                    continue
                found = set()
                for count in (1, 3):
                    monkeypatch.setattr(threads, "_forced", count)
                    found.add(host(getattr(tl, name)(x, axis=axis)).tobytes())
                assert len(found) == 1, (shape, axis)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_pieces_add_up(shape, order, shared_soon, monkeypatch):
    monkeypatch.setattr(threads, "_forced", 3)
    x = order(tl.asarray(numbers(shape, "float32")))
    values = host(x).astype(object)  # whole numbers, whose sums are exact
    for axis in axes_of(x.ndim):
        exact = values.sum(axis=axis)
        assert np.array_equal(host(tl.sum(x, axis=axis)), np.asarray(exact, float)), axis
        assert np.array_equal(host(tl.max(x, axis=axis)), values.max(axis=axis)), axis
        count = x.size / np.asarray(exact).size
        mean = np.asarray(exact, float) / count
        assert np.allclose(host(tl.mean(x, axis=axis)), mean, rtol=1e-7, atol=0), axis
        spread = host(x).astype(float).var(axis=axis)
        assert np.allclose(host(tl.var(x, axis=axis)), spread, rtol=1e-6), axis


def test_a_long_sum_stays_accurate(monkeypatch):
    monkeypatch.setattr(threads, "_forced", 2)
    values = np.random.default_rng(1).standard_normal(3_000_000).astype(np.float32)
    exact = math.fsum(values.tolist())
    bound = 8.5 * 2**-24 * math.fsum(np.abs(values).tolist())
    assert abs(float(tl.sum(tl.asarray(values))) - exact) < bound


def test_overflow_says_nothing_in_any_thread(monkeypatch):
    monkeypatch.setattr(threads, "_forced", 2)
    x = tl.full((2_000_000,), 3e38, dtype=tl.float32)
    assert float(tl.sum(x)) == math.inf
    assert float(tl.prod(x)) == math.inf
    assert host(tl.var(tl.reshape(x, (2, -1)), axis=1)).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("length", [4, 8, 11, 15])
def test_the_bits_of_a_row_do_not_depend_on_how_many_rows_there_are(length, dtype):
    for shape in ((2200, length), (150, length, 15)):
        parts = np.random.default_rng(7).random((2, *shape))
        x = tl.asarray(parts[0] + 1j * parts[1] if dtype == "complex128" else parts[0])
        for sums in (tl.sum, tl.mean):
            same(sums(x, axis=1)[:4], host(sums(x[:4], axis=1)))
