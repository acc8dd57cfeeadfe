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
    result = np.random.default_rng(5).integers(-9, 10, shape)
    return result.astype(as_dtype(dtype)) if dtype != "uint8" else (result + 9).astype(np.uint8)


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
                result = set()
                for count in (1, 3):
                    monkeypatch.setattr(threads, "_forced", count)
                    result.add(host(getattr(tl, name)(x, axis=axis)).tobytes())
                assert len(result) == 1, (shape, axis)


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
