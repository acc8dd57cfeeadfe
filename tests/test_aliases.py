"""Writes whose operands are views of what is written: as if each had been copied first.

Expected by NumPy, after all operands have been copied.
"""

import itertools
import operator

import numpy as np
import pytest

import tensorlayout as tl

# Views of one storage, for tensors and for NumPy's arrays alike.
LINES = {
    "whole": lambda a: a,
    "but the last": lambda a: a[:-1],
    "but the first": lambda a: a[1:],
    "flipped": lambda a: a[::-1],
    "flipped, but one": lambda a: a[:0:-1],
    "even": lambda a: a[0:4:2],
    "odd": lambda a: a[1:5:2],
    "first two": lambda a: a[:2],
    "backwards by two": lambda a: a[3::-2],
}
MATRICES = {
    "whole": lambda a: a,
    "transposed": lambda a: a.T,
    "flipped": lambda a: a[::-1, ::-1],
    "rows flipped": lambda a: a[::-1],
    "upper": lambda a: a[:-1],
    "lower": lambda a: a[1:],
    "left, transposed": lambda a: a[:, :-1].T,
    "corner": lambda a: a[:2, :3],
    "other corner": lambda a: a[1:3, :0:-1],
    "columns": lambda a: a[:, ::2],
    "other columns": lambda a: a[:, 1::2],
}
# Shapes, views, and how the storage is ordered.
STORAGES = [
    ((5,), LINES, "C"),
    ((4, 4), MATRICES, "C"),
    ((4, 4), MATRICES, "F"),
    ((3, 4), MATRICES, "C"),
    ((3, 4), MATRICES, "F"),
]


def pairs(dtype, draw):
    """The numbers of a storage, and two views of one shape."""
    for shape, views, order in STORAGES:
        for first, second in itertools.product(views.values(), repeat=2):
            numbers = np.array(draw(shape), dtype, order=order)
            if first(numbers).shape == second(numbers).shape:
                yield numbers, first, second


def agrees(numbers, write):
    """Whether a write, given a tensor or an array, leaves the same in both.

    It gets the array, and what copies operands where that is needed.
    """
    x = tl.asarray(numbers)
    x = tl.asarray(numbers, layout=x.layout, copy=True, device=tl.zeros(0).device)
    expected = numbers.copy("K")
    write(x, lambda operand: operand)
    write(expected, np.copy)
    np.testing.assert_array_equal(np.asarray(x.to_device("cpu")), expected)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


pytestmark = pytest.mark.usefixtures("device")


def test_masks_with_one_value(rng):
    for numbers, first, second in pairs("bool", lambda shape: rng.random(shape) < 0.5):
        for value in (True, False):

            def write(x, copied, first=first, second=second, value=value):
                first(x)[copied(second(x))] = value

            agrees(numbers, write)


def test_masks_with_values(rng):
    for numbers, first, second in pairs("bool", lambda shape: rng.random(shape) < 0.5):
        count = int(np.count_nonzero(second(numbers)))

        def write(x, copied, first=first, second=second, count=count):
            line = x if x.ndim == 1 else x[0]
            values = line[:count] if count <= line.shape[0] else line[0]
            first(x)[copied(second(x))] = copied(values)

        agrees(numbers, write)


def test_masks_over_some_dimensions(rng):
    for order, (first, second) in itertools.product("CF", itertools.permutations(range(4), 2)):
        numbers = np.array(rng.random((4, 4)) < 0.5, order=order)

        def write(x, copied, first=first, second=second):
            x[copied(x[first])] = copied(x[second])
            x[:, copied(x[:, first])] = copied(x[second, :1])

        agrees(numbers, write)


def test_positions(rng):
    for numbers, first, second in pairs("int64", lambda shape: rng.integers(-2, 2, shape)):

        def write(x, copied, first=first, second=second):
            first(x)[copied(second(x))] = 1

        agrees(numbers, write)


def test_positions_with_values_and_of_every_line(rng):
    for numbers, first, second in pairs("int64", lambda shape: rng.integers(-2, 2, shape)):

        def write(x, copied, first=first, second=second):
            line = second(x) if x.ndim == 1 else second(x)[0]
            first(x)[copied(line)] = copied(first(x)[: line.shape[0]][-1:])
            first(x)[copied(line)] = copied(first(x)[0])

        agrees(numbers, write)

        def put(x, copied, first=first, second=second):
            of = np if isinstance(x, np.ndarray) else tl
            for axis in range(x.ndim):
                at, values = copied(second(x)), copied(first(x)[::-1])
                of.put_along_axis(first(x), at, values, axis)

        agrees(numbers, put)


def test_slices(rng):
    for numbers, first, second in pairs("int32", lambda shape: rng.integers(0, 99, shape)):

        def write(x, copied, first=first, second=second):
            first(x)[...] = copied(second(x))
            first(x)[:1] = copied(second(x)[-1:])
            first(x)[...] = copied(second(x)[0])

        agrees(numbers, write)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("iadd", "int32"),
        ("isub", "float32"),
        pytest.param("ifloordiv", "float64", marks=pytest.mark.cpu),
        pytest.param("ipow", "int64", marks=pytest.mark.cpu),
        pytest.param("ixor", "bool", marks=pytest.mark.cpu),
    ],
)
def test_in_place(name, dtype, rng):
    change = getattr(operator, name)
    cuts = (slice(None), slice(-1, None))
    for numbers, first, second in pairs(dtype, lambda shape: rng.integers(1, 5, shape)):
        for cut in cuts:

            def write(x, copied, first=first, second=second, cut=cut):
                change(first(x), copied(second(x)[cut]))

            agrees(numbers, write)


@pytest.mark.parametrize("shape", [(300, 200), (257, 129)])
def test_large_matrices(shape, rng):
    for dtype, order in (("float32", "C"), ("float64", "F")):
        numbers = np.array(rng.integers(0, 99, shape), dtype, order=order)

        def write(x, copied):
            square = x[: min(shape), : min(shape)]
            square += copied(square.T)
            square[...] = copied(square.T)
            x[1:] -= copied(x[:-1])
            square[copied(square.T) > 0] = 5
            square[1:, 1:] += copied(square[1:, :-1].T)

        agrees(numbers, write)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_parts_of_complex_numbers(dtype, rng):
    numbers = (rng.integers(0, 9, (4, 5)) + 1j * rng.integers(0, 9, (4, 5))).astype(dtype)

    def write(x, copied):
        of = np if isinstance(x, np.ndarray) else tl
        of.real(x)[...] = copied(of.imag(x))
        of.real(x)[1:] += copied(of.imag(x)[:-1])
        of.imag(x)[::-1] += copied(of.real(x))
        x[...] = copied(of.real(x)[::-1])
        x[:, 1:] += copied(of.real(x)[:, :-1])
        of.real(x)[...] = copied(of.real(x)[:, ::-1])

    agrees(numbers, write)


TILED = "{1,0:T(2,2)}"


def test_tiled_tensors(rng):
    for shape in ((4, 4), (3, 5)):
        numbers = rng.integers(0, 9, shape)
        x = tl.to_layout(tl.asarray(numbers, device=tl.zeros(0).device), TILED)
        expected = numbers.copy()
        square = min(shape)
        x[:square, :square] = tl.permute_dims(x[:square, :square], (1, 0))
        expected[:square, :square] = expected[:square, :square].T.copy()
        x[x > 4] = x[0, 0]
        expected[expected > 4] = expected[0, 0]
        x[...] = x
        x[1:] = x[:-1]
        expected[1:] = expected[:-1].copy()
        x += x
        expected += expected
        np.testing.assert_array_equal(np.asarray(x.to_device("cpu")), expected)


# ---- one storage under two dtypes


def assign(x, y):
    x[...] = y


def add(x, y):
    x += y


def choose(x, y):
    x[y] = 1


ANY = ["bool", "int8", "uint16", "int32", "float32", "float64"]
CASES = [
    *[(assign, written, read) for written in [*ANY, "complex64"] for read in [*ANY, "float16"]],
    *[(choose, written, read) for written in ANY for read in ["bool", "int8", "int32", "uint64"]],
    *[(add, written, read) for written in ["float64", "complex128"] for read in ANY[:-1]],
]


@pytest.mark.cpu
@pytest.mark.parametrize(
    ("write", "written", "read"), CASES, ids=lambda v: v if isinstance(v, str) else v.__name__
)
def test_one_storage_under_two_dtypes(write, written, read, rng):
    size, step = np.dtype(written).itemsize, np.dtype(read).itemsize
    for start, strides in itertools.product((16, 24, 32), (step, 2 * step, -step)):
        octets = np.zeros(80, np.uint8)
        octets[rng.integers(0, 80, 30)] = 1
        ours, theirs = octets.copy(), octets
        x, expected = (np.ndarray((3,), written, m, 24, [size]) for m in (ours, theirs))
        y, operand = (np.ndarray((3,), read, m, start, [strides]) for m in (ours, theirs))
        if write is choose and read != "bool":
            y[...] = operand[...] = operand % 3
        write(tl.asarray(x), tl.asarray(y))
        write(expected, operand.copy())
        np.testing.assert_array_equal(ours, theirs)
