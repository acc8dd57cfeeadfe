"""Sums of very many elements, along any axis, against exact ones: the error does not grow."""

import math

import numpy as np
import pytest
from tensors import as_dtype, asarray, host, over, same

import tensorlayout as tl

pytestmark = pytest.mark.usefixtures("device")

NARROW = ["float16", "bfloat16", "float32"]

# Of the sum of magnitudes: what runs of 32 float32 leave, and runs of 128 float64 at two levels.
BOUND = {"float32": 8.5 * 2.0**-24, "float64": 300 * 2.0**-53}

# Layouts of 10**5 elements or so, and the axes along which lines are longest.
LONG = [
    ("(100000,):(1,)", None),  # one line
    ("(100000,):(-1,)+99999", 0),  # backwards
    ("(200,3,200):(600,200,1)", None),  # dimensions that merge
    ("(3,100000):(100000,1)", 1),  # the fastest axis
    ("(3,100000):(100004,1) padded=(3,100004) padding=HIGHEST", 1),  # with something between
    ("(3,100000):(100004,1) padded=(3,100004) padding=HIGHEST", None),
    ("(100000,3):(3,1)", 0),  # slow, in rows too short for a loop
    ("(100000,3):(1,100000)", 0),  # the fastest again
    ("(30000,8):(12,1)", 0),  # short rows with gaps
    ("(2000,150):(150,1)", 0),  # slow, in long rows
    ("(2000,150):(300,2)", 0),  # every second element
    ("(400,3,100):(1,40000,400)", (0, 2)),  # two axes that merge, in column-major order
    ("(300,20,40):(800,40,1)", (0, 2)),  # two that do not
    ("(100000,2):(1,0)", 0),  # a line that stands twice
    ("(100000,2):(0,1)", 0),  # one element, again and again
]

DATA = {
    # nothing cancels, nothing is exact
    "uniform": lambda rng, n: rng.random(n),
    # every rounding goes the same way
    "tenths": lambda rng, n: np.full(n, 0.1),
    # partial sums that are much smaller than their terms, and then much larger
    "alternating": lambda rng, n: np.where(np.arange(n) % 2, 1, -1) * (1 + rng.random(n)) * 0.5,
    "magnitudes": lambda rng, n: 2.0 ** rng.integers(-10, 1, n) * rng.random(n),
}


def tensor_of(layout, values):
    return over(values, layout)


def lines(x, axis):
    """Each line that one result is made of, as exact Python numbers, with the result's index."""
    array = host(x)
    axes = range(x.ndim) if axis is None else np.atleast_1d(axis)
    kept = [d for d in range(x.ndim) if d not in axes]
    rows = array.transpose(*kept, *axes).reshape(*(x.shape[d] for d in kept), -1)
    for index in np.ndindex(rows.shape[:-1]):
        yield index, rows[index].astype(np.float64)


def check(result, exact, magnitude, dtype):
    """Within the bound, and the one rounding of the result, be it normal or not."""
    error = BOUND["float64" if dtype == "float64" else "float32"] * magnitude
    limits = tl.finfo(dtype)
    rounding = limits.eps / 2 * max(abs(exact), limits.smallest_normal)
    assert abs(float(result) - exact) <= error + rounding


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize(("text", "axis"), LONG)
def test_sums_and_means(text, axis, data):
    layout = tl.Layout.parse(text)
    numbers = DATA[data](np.random.default_rng(5), layout.required_size)
    for dtype in (*NARROW, "float64") if tl.default_device() == "cpu" else ("bfloat16", "float32"):
        # 10**6 halves reach beyond float16
        values = (numbers / 64 if dtype == "float16" else numbers).astype(as_dtype(dtype))
        x = tensor_of(layout, values)
        sums, means = tl.sum(x, axis=axis), tl.mean(x, axis=axis)
        for index, line in list(lines(x, axis))[:2]:
            exact, magnitude = math.fsum(line.tolist()), float(np.abs(line).sum())
            check(sums[index], exact, magnitude, dtype)
            check(means[index], exact / line.size, magnitude / line.size, dtype)


@pytest.mark.parametrize(("text", "axis"), LONG[::6])
def test_sums_of_complex_numbers(text, axis):
    layout = tl.Layout.parse(text)
    if layout.padding_value is tl.PaddingValue.HIGHEST:
        layout = tl.Layout.padded(layout.shape, layout.padded_shape)
    parts = np.random.default_rng(6).random((2, layout.required_size))
    x = tensor_of(layout, (parts[0] - 1j * parts[1]).astype(np.complex64))
    result = tl.sum(x, axis=axis)
    for index, real in lines(tl.real(x), axis):
        check(tl.real(result[index]), math.fsum(real.tolist()), real.sum(), "float32")
    for index, imag in lines(tl.imag(x), axis):
        check(tl.imag(result[index]), math.fsum(imag.tolist()), -imag.sum(), "float32")


@pytest.mark.parametrize(("text", "axis"), LONG)
def test_variances(text, axis):
    layout = tl.Layout.parse(text)
    numbers = np.random.default_rng(7).random(layout.required_size) + 1
    for dtype in (*NARROW, "float64") if tl.default_device() == "cpu" else ("float32",):
        x = tensor_of(layout, numbers.astype(as_dtype(dtype)))
        results, roots = tl.var(x, axis=axis), tl.std(x, axis=axis)
        eps = 40 * 2.0**-24 + float(tl.finfo(dtype).eps)
        for index, line in list(lines(x, axis))[:2]:
            middle = math.fsum(line.tolist()) / line.size
            exact = math.fsum(np.square(line - middle).tolist()) / line.size
            assert float(results[index]) == pytest.approx(exact, rel=eps, abs=1e-26)
            assert float(roots[index]) == pytest.approx(math.sqrt(exact), rel=eps, abs=1e-13)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_variances_that_float32_cannot_hold(axis):
    """Distances much smaller than the mean; squares that overflow or vanish."""
    signs = np.where(np.indices((150, 150)).sum(0) % 2, 1, -1)
    for middle, distance in [(2.0**24, 2), (1e6, 0.0625), (0, 1e30), (0, 1e-30), (0.1, 0), (7, 0)]:
        array = (np.float32(middle) + signs * np.float32(distance)).astype(np.float32)
        exact = np.std(array.astype(np.float64), axis)
        result = host(tl.std(asarray(array), axis=axis), np.float64)
        np.testing.assert_allclose(result, exact, 1e-6, 1e-9 * middle)
    noise = np.float32(1e4) + np.random.default_rng(1).random((150, 150)).astype(np.float32)
    result = host(tl.var(asarray(noise), axis=axis))
    np.testing.assert_allclose(result, np.var(noise.astype(np.float64), axis), 1e-6)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex64"])
def test_sums_that_overflow_float32_on_the_way(dtype):
    huge = tl.full((200, 100), 3e38, dtype=dtype)
    signs = asarray(np.repeat([1, -1], 10000).reshape(200, 100).astype(as_dtype(dtype)))
    zero, one = host(0, as_dtype(dtype)), host(huge[0, 0])
    same(tl.sum(huge * signs), zero)
    same(tl.sum(huge * signs, axis=0), np.full(100, zero))
    same(tl.mean(huge), one)
    same(tl.mean(huge, axis=0), np.full(100, one))
    with np.errstate(all="ignore"):
        same(tl.sum(huge), host(np.inf, as_dtype(dtype)))


@pytest.mark.cpu
@pytest.mark.parametrize("dtype", ["float16", "float32", "bfloat16"])
def test_many_ones(dtype):
    count = 60000 if dtype == "float16" else 2**24 + 2**22
    x = tl.broadcast_to(tl.ones((1,), dtype=dtype), (count,))
    same(tl.sum(x), np.array(count, as_dtype(dtype)))
    same(tl.mean(x), np.array(1, as_dtype(dtype)))


# --- more elements than memory -----------------------------------------------------------------


@pytest.mark.cpu
@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "float64"])
@pytest.mark.parametrize("data", DATA)
def test_ten_million_in_little_memory(dtype, data):
    """Rows of 10**4 elements, each of them a thousand times."""
    values = DATA[data](np.random.default_rng(8), 10**4).astype(as_dtype(dtype))
    row = values.astype(np.float64)
    exact, magnitude = math.fsum(row.tolist()) * 1000, np.abs(row).sum() * 1000
    x = tl.broadcast_to(asarray(values), (1000, 10**4))
    check(tl.sum(x), exact, magnitude, dtype)
    check(tl.sum(tl.permute_dims(x, (1, 0))), exact, magnitude, dtype)
    result = tl.sum(x, axis=0)
    for k in range(0, 10**4, 997):
        check(result[k], row[k] * 1000, abs(row[k]) * 1000, dtype)
