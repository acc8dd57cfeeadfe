"""Writes whose operands are views of what is written: as if each had been copied first.

Expected by NumPy, after all operands have been copied.
"""

import itertools
import operator
from functools import partial

import numpy as np
import pytest

import tensorlayout as tl
from tensorlayout import cpu, directml, plan
from tensorlayout.plan.base import Plan
from tensorlayout.plan.copy import Assign, Copy
from tensorlayout.plan.mask import Masked
from tensorlayout.plan.scatter import Scatter

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


# ---- what is kept apart, and by whom

# Plans that read operands while they write another: `disturbs` must look at them.
WATCHED = {"assign", "elementwise", "fuse", "masked", "scatter"}


@pytest.mark.cpu
def test_every_plan_that_writes_where_operands_may_be_is_watched():
    plans = {each.kind: each for each in subclasses(Plan) if hasattr(each, "kind")}
    assert plans.keys() == cpu.CARRY_OUT.keys() | cpu.DIRECT.keys()
    assert {kind for kind, each in plans.items() if each.overlap is not None} == WATCHED


def subclasses(of):
    return [each for one in of.__subclasses__() for each in (one, *subclasses(one))]


@pytest.mark.cpu
def test_watched_plans():
    x = tl.zeros(4)._spec
    mask, at = tl.ones(4, dtype=bool)._spec, tl.arange(4)._spec
    for found in (
        Assign().plan(x, x),
        Masked().plan(x, x, 0, False, mask),
        Scatter().plan(x, x, (0,), False, at),
        Scatter().plan(x, x, (0,), None, at),
        tl.floor_divide.operation.plan(x, x).into(x),
    ):
        assert cpu.disturbs(found) is not None
    add = tl.add.operation
    assert cpu.disturbs(add.plan(x, x).into(x)) is None  # NumPy's own


@pytest.mark.cpu
def test_exactly_the_same_place_needs_no_copy(monkeypatch):
    x = tl.asarray(np.arange(1.0, 6.0))
    x[1:3] += 1
    x //= x
    with monkeypatch.context() as patch:
        patch.setattr(Copy, "plan", None)
        x[1:3] += 1
        x //= x
        x[...] = x
        with pytest.raises(TypeError):
            x[1:] = x[:-1]
    np.testing.assert_array_equal(np.asarray(x), np.ones(5))


@pytest.mark.cpu
def test_copies_are_planned_once():
    x = tl.arange(8)
    x[1:] = x[:-1]
    before = plan.run.cache_info().misses
    for _ in range(5):
        x[1:] = x[:-1]
    assert plan.run.cache_info().misses == before


IN_PLACE = {
    "identity": (directml.element_wise_identity, lambda a: a),
    "scaled": (
        partial(directml.element_wise_identity, scale_bias=(2.0, 1.0)),
        lambda a: a * 2 + 1,
    ),
    "sum": (partial(directml.cumulative_summation, axis=0), lambda a: np.cumsum(a, 0)),
    "sum down": (
        partial(directml.cumulative_summation, axis=1, axis_direction=1),
        lambda a: np.cumsum(a[:, ::-1], 1)[:, ::-1],
    ),
    "sum before": (
        partial(directml.cumulative_summation, axis=1, has_exclusive_sum=True),
        lambda a: np.cumsum(a, 1) - a,
    ),
    "product": (partial(directml.cumulative_product, axis=1), lambda a: np.cumprod(a, 1)),
}
ELSEWHERE = {
    "cast": lambda x, out: directml.cast(x, "FLOAT32", out=out),
    "join": lambda x, out: directml.join([x[:2], x[2:]], axis=0, out=out),
    "scatter": lambda x, out: directml.scatter(x, FIRST, x[:1], 0, out=out),
    "updates": lambda x, out: directml.scatter(tl.zeros_like(x), FIRST, x[:1], 0, out=out),
    "choice": lambda x, out: directml.element_wise_if(tl.ones_like(ANY), x, x, out=out),
}
FIRST = tl.zeros((1, 4), dtype=tl.int32, device="cpu")
ANY = tl.zeros((4, 4), dtype=tl.uint8, device="cpu")
SQUARES = [view for view in MATRICES.values() if view(np.zeros((4, 4))).shape == (4, 4)]


@pytest.mark.cpu
@pytest.mark.parametrize(("function", "expected"), IN_PLACE.values(), ids=IN_PLACE)
def test_directml_in_place(function, expected, rng):
    for first, second in itertools.product(SQUARES, repeat=2):
        numbers = rng.integers(1, 4, (4, 4)).astype(np.float32)
        x = tl.asarray(numbers.copy())
        found = function(first(x), out=second(x))
        np.testing.assert_array_equal(np.asarray(found), expected(first(numbers)))


@pytest.mark.cpu
@pytest.mark.parametrize("function", ELSEWHERE.values(), ids=ELSEWHERE)
def test_directml_not_in_place(function):
    for first, second in itertools.product(SQUARES, repeat=2):
        x = tl.ones((4, 4), dtype=tl.float32)
        with pytest.raises(ValueError, match="share"):
            function(first(x), second(x))
