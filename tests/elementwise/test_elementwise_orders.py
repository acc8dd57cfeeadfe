"""Elementwise functions over large operands in orders of their own, and what they allocate."""

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from processes import python
from tensors import as_dtype, asarray, host, same

import tensorlayout as tl
from tensorlayout.cpu.engine.threads import get_num_threads

pytestmark = pytest.mark.usefixtures("device")

ROOT = Path(__file__).parents[2]


def numbers(shape, dtype, seed=0):
    return np.random.default_rng(seed).integers(1, 60, shape).astype(dtype)


def test_in_place_over_its_own_transpose():
    a = numbers((512, 512), "float64")
    x = asarray(a.copy())
    x.T.__ifloordiv__(x)
    same(x, (a.T // a).T)


def peak_of(function):
    """The most bytes that a call holds at once, its result included."""
    function()
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


LARGE = (2048, 3000)  # 24 MB of float32: more than all blocks and slabs together
CALLS = {
    "x + x": lambda x, y, i: x + x,
    "exp": lambda x, y, i: tl.exp(x),
    "x + y.T": lambda x, y, i: x + y.T,
    "x < y.T": lambda x, y, i: tl.less(x, y.T),
    "x + i": lambda x, y, i: x + i,
    "x // i": lambda x, y, i: x // i,
    "where": lambda x, y, i: tl.where(i < 3, x, i),
    "clip": lambda x, y, i: tl.clip(x, 2, 3),
    "clip to int8": lambda x, y, i: tl.clip(x.T, y, 3),
}


@pytest.mark.cpu
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_no_operand_is_copied_as_a_whole(call):
    x = asarray(numbers(LARGE, "float32"))
    y = asarray(numbers(LARGE[::-1], "float32"))
    i = asarray(numbers(LARGE, "int8"))
    bools = x.size if call is CALLS["where"] else 0  # its condition
    result = call(x, y, i).nbytes
    aside = get_num_threads() * (4 << 20)
    assert peak_of(lambda: call(x, y, i)) < result + bools + aside


CONDITIONS = {
    "random": lambda n: np.random.default_rng(2).random(n) < 0.5,
    "halves": lambda n: np.arange(n) < n // 2,
    "halves, the wrong way round": lambda n: np.arange(n) >= n // 2,
    "runs at first, random later": lambda n: np.arange(n) * (np.arange(n) > 5000) % 7 == 1,
    "never": lambda n: np.zeros(n, bool),
}


@pytest.mark.parametrize("condition", CONDITIONS.values(), ids=CONDITIONS)
@pytest.mark.parametrize("dtype", ["bool", "bfloat16", "float32", "complex64"])
def test_where_chooses_bits(condition, dtype):
    kind = as_dtype(dtype)
    bits = np.random.default_rng(3).integers(0, 256, (2, 70000 * kind.itemsize), np.uint8)
    if dtype == "bool":
        bits %= 2
    a, b = bits.view(kind)  # NaN of all kinds among the floats
    c = condition(a.size)
    result = tl.where(asarray(c), asarray(a), asarray(b))
    word = f"V{kind.itemsize}"
    assert host(result).tobytes() == np.where(c, a.view(word), b.view(word)).tobytes()
    matrix = [v.reshape(70, 1000).T for v in (c, a, b)]
    result = tl.where(*(asarray(v) for v in matrix))
    assert (
        host(result).tobytes()
        == np.where(*(v.view(word) if v is not matrix[0] else v for v in matrix)).tobytes()
    )


@pytest.mark.cpu
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("count", [4, 1026, 300_000])
def test_clip_to_numbers_keeps_the_sign_of_zero(dtype, count):
    """Whatever the size and the layout."""
    x = tl.full((2, count // 2), -0.0, dtype=as_dtype(dtype))
    for operand in (x, x.T, tl.flip(x), x[:, ::2]):
        assert np.signbit(host(tl.clip(operand, 0.0, 1.0))).all()
        assert np.signbit(host(tl.fuse(lambda x: tl.clip(x, 0.0, 1.0) * 1)(operand))).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_clip_between_bounds_that_are_not_in_order(dtype):
    x = tl.asarray([1.0, np.nan, 3.0, -np.inf], dtype=dtype)
    same(tl.clip(x, 2, 1), np.array([1, np.nan, 1, 1], as_dtype(dtype)))
    assert tl.all(tl.isnan(tl.clip(x, np.nan, 2)))
    assert tl.all(tl.isnan(tl.clip(x, tl.asarray(0, dtype=dtype), asarray(np.nan, dtype=dtype))))


@pytest.mark.ci
@pytest.mark.cpu
def test_the_benchmark_of_functions_runs(tmp_path):
    pytest.importorskip("tqdm", reason="tqdm is optional")
    page = tmp_path / "functions.md"
    python("-m", "benchmarks", "functions", "--quick", "--markdown", page, cwd=ROOT)
    lines = page.read_text("utf-8").splitlines()
    for name in ("add", "floor_divide", "isnan", "clip", "where", "sum"):
        assert sum(line.startswith(f"| {name} |") for line in lines) == 2
