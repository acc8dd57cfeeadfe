"""Results found from their own coordinates, on CUDA: values against NumPy, memory accesses."""

import itertools

import numpy as np
import pytest
from directml_facts import STORED
from simulated import needs_compiler, simulator

import tensorlayout as tl
from tensorlayout import directml
from tensorlayout.cuda import image, pad
from tensorlayout.cuda.engine.simulator import checking
from tensorlayout.cuda.fill import diagonals, patterns
from tensorlayout.devices import as_device
from tensorlayout.layout import Layout
from tensorlayout.plan.pad import Pad
from tensorlayout.tensor import TensorSpec

PAD = {"EDGE": "edge", "REFLECTION": "reflect", "SYMMETRIC": "symmetric", "WRAP": "wrap"}
TYPES = ["int8", "uint16", "float16", "float32", "int64", "float64"]


@pytest.fixture(scope="module", autouse=True)
def gpu():
    with simulator(1) as found:
        yield found


def there(values, make=Layout.row_major):
    """A tensor on the device with these elements in a layout of a kind; None: backwards."""
    values = np.asarray(values)
    if make is None:
        return tl.flip(there(np.flip(values).copy()))
    x = tl.empty(values.shape, dtype=values.dtype, device="cuda:0", layout=make(values.shape))
    x[...] = tl.asarray(values).to_device("cuda:0")
    return x


def same(x, expected):
    np.testing.assert_array_equal(np.asarray(x.to_device("cpu")), expected, strict=True)


# Kinds of layouts for an operand and a result, one pair after the other.
KINDS = [*STORED, None]


def kinds():
    return itertools.cycle(itertools.product(KINDS, repeat=2))


def in_one_launch(gpu, write, shape, dtype, make):
    """What `write` writes into a result in a layout of a kind."""
    out = there(np.full(shape, 99, dtype), make)
    before = gpu.counters.launches, gpu.counters.allocations
    with checking("bounds", "initialized", "races"):
        write(out)
    assert gpu.counters.launches == before[0] + 1
    assert gpu.counters.allocations == before[1]
    return out


def numbers(shape, dtype="int32"):
    return np.random.default_rng(0).integers(0, 100, shape).astype(dtype)


def padded(values, borders, mode):
    if mode == "CONSTANT":
        return np.pad(values, borders, constant_values=7)
    return np.pad(values, borders, mode=PAD[mode])


# --- borders ---

BORDERS = [
    ((3,), [(2, 5)]),
    ((1,), [(3, 1)]),
    ((2, 37), [(0, 0), (1, 0)]),
    ((3, 5), [(4, 1), (0, 0)]),
    ((2, 64), [(0, 1), (16, 32)]),
    ((2, 61), [(0, 0), (16, 3)]),
    ((2, 3, 4, 5), [(0, 0), (1, 2), (0, 9), (3, 0)]),
    ((1, 2, 1, 3, 2, 2), [(1, 0), (0, 2), (1, 1), (0, 0), (2, 0), (0, 1)]),
]


@needs_compiler
def test_borders_leave_the_gaps_of_the_result_alone():
    whole = there(np.full((6, 12), 99, np.int16))
    directml.padding(
        there(np.ones((2, 3), np.int16)), [1, 1], [1, 1], value=5, out=whole[1:5, 2::2]
    )
    expected = np.full((6, 12), 99, np.int16)
    expected[1:5, 2::2] = np.pad(np.ones((2, 3)), 1, constant_values=5)
    same(whole, expected)


@needs_compiler
def test_values_of_borders():
    largest = there(np.array([1], np.uint64))
    same(directml.padding1(largest, [1], [0], value=2**64 - 1), np.array([2**64 - 1, 1], np.uint64))
    half = there(np.ones(8, np.float16))
    same(directml.padding1(half, [8], [1], value=0.1)[7:9], np.array([0.1, 1], np.float16))


@needs_compiler
@pytest.mark.parametrize("mode", ["CONSTANT", "SYMMETRIC"])
def test_indices_of_64_bits(mode, monkeypatch):
    monkeypatch.setattr(pad, "index_type", lambda count, furthest: "int64_t")
    tl.plan.run.cache_clear()
    for shape, borders in BORDERS:
        values = numbers(shape, "int16")
        sides = [before for before, _ in borders], [after for _, after in borders]
        with checking("bounds", "races"):
            found = directml.padding(there(values), *sides, mode, 7)
        same(found, padded(values, borders, mode))
    monkeypatch.setattr(image, "index_type", lambda count, furthest: "int64_t")
    lengths = np.array([[[1, 2, 3]]], np.uint32).repeat(2, 0)
    values = numbers((2, 3, 3))
    found = directml.reverse_subsequences(there(values), there(lengths), 1)
    same(found, reversed_lines(values, lengths, 1))
    monkeypatch.setattr(image, "index_type", lambda count, furthest: "int64_t")
    values = numbers((2, 1, 2, 3), "float32")
    found = directml.upsample_2d(there(values), (2, 3), "LINEAR")
    np.testing.assert_allclose(np.asarray(found.to_device("cpu")), stretched(values, (3, 2)), 1e-6)
    monkeypatch.setattr(patterns, "index_type", lambda count, furthest: "int64_t")
    out = there(np.zeros((2, 3), np.int32), Layout.column_major)
    found = directml.fill_value_sequence((2, 3), 1, 2, "INT32", out=out)
    same(found, np.array([[1, 3, 5], [7, 9, 11]], np.int32))
    monkeypatch.setattr(diagonals, "index_type", lambda count, furthest: "int64_t")
    found = directml.diagonal_matrix((2, 3), 1, 7, "INT8", device="cuda:0")
    same(found, np.array([[0, 7, 0], [0, 0, 7]], np.int8))
    found = directml.one_hot(there(np.array([[1], [-1]])), there(np.array([[0, 9]])), 3, 1)
    same(found, np.array([[0, 9, 0], [0, 0, 9]]))
    monkeypatch.setattr(image, "index_type", lambda count, furthest: "int64_t")
    values = columns_of(*FOLDS[3], "int16")
    same(directml.fold(there(values), *FOLDS[3]), folded(values, *FOLDS[3]))
    tl.plan.run.cache_clear()


def kernel_of(shape, borders, mode, alignments=(32, 32)):
    source = TensorSpec(np.dtype("float32"), Layout.row_major(shape), as_device("cuda:0", "device"))
    launch = pad.plan_pad(Pad("pad").plan(source, tuple(borders), mode), alignments)
    return dict(launch.kernel.shape)


def test_widths_of_accesses():
    found = kernel_of((8, 64), [(0, 0), (4, 4)], "constant")
    assert found == {"RANK": "2", "INDEX": "int32_t", "ELEMENT": "16", "WIDTH": "16"}
    assert kernel_of((8, 64), [(1, 1), (0, 0)], "constant")["RANK"] == "1"
    found = kernel_of((8, 64), [(0, 0), (4, 4)], "reflection")
    assert (found["ELEMENT"], found["WIDTH"]) == ("4", "16")
    assert kernel_of((8, 64), [(0, 0), (1, 1)], "edge")["WIDTH"] == "4"
    assert kernel_of((8, 64), [(2, 2), (0, 0)], "edge", alignments=(32, 8))["ELEMENT"] == "8"
    assert kernel_of((2**28, 8), [(0, 0), (1, 1)], "edge")["INDEX"] == "int64_t"


# --- lines ---

LINES = [((5,), 0), ((1, 1), 0), ((4, 32), 0), ((4, 33), 1), ((2, 3, 64), 1), ((2, 1, 3, 2, 5), 3)]


def reversed_lines(values, lengths, axis):
    expected = values.copy()
    for c in np.ndindex(*lengths.shape):
        line = np.moveaxis(expected, axis, -1)[tuple(np.delete(c, axis))]
        count = min(int(lengths[c]), len(line))
        line[:count] = line[:count][::-1].copy()
    return expected


@needs_compiler
@pytest.mark.parametrize("kind", ["uint32", "uint64"])
def test_lines(gpu, kind):
    """One launch, over shapes, dtypes and layouts; lengths from 0 to too long."""
    types, makes = itertools.cycle(TYPES), kinds()
    for (shape, axis), turn in itertools.product(LINES, range(3)):
        values, (inside, outside) = numbers(shape, next(types)), next(makes)
        lengths = np.random.default_rng(turn).integers(0, shape[axis] + 2, shape).astype(kind)
        lengths = np.take(lengths, [0], axis)
        lengths.flat[0] = np.iinfo(kind).max
        x, counts = there(values, inside), there(lengths, inside)

        def write(out, x=x, counts=counts, axis=axis):
            directml.reverse_subsequences(x, counts, axis, out=out)

        found = in_one_launch(gpu, write, shape, values.dtype, outside)
        same(found, reversed_lines(values, lengths, axis))


@needs_compiler
def test_vectors_of_lines_of_one_length_move_as_packs():
    values = numbers((2, 5, 64), "float32")
    lengths = there(np.array([[[3]], [[9]]], np.uint32))
    wide = tl.broadcast_to(lengths, (2, 1, 64))
    with checking("bounds", "count") as record:
        found = directml.reverse_subsequences(there(values), wide, 1)
    same(found, reversed_lines(values, np.array([[[3]], [[9]]]).repeat(64, 2), 1))
    (counts,) = [each for kernel, each in record.counts.items() if kernel.name == "reverse_lines"]
    assert counts.sector_efficiency_write >= 0.9
    ((kernel, _),) = [each for each in record.counts.items() if each[0].name == "reverse_lines"]
    assert dict(kernel.shape)["WIDTH"] == "16"


# --- interpolation ---


def stretched_line(line, scale):
    places = (np.arange(len(line) * scale) + 0.5) / scale - 0.5
    return np.interp(places, np.arange(len(line)), line)


def stretched(values, scales):
    """Along one dimension after the other, in double."""
    rows = np.apply_along_axis(stretched_line, -2, values.astype(np.float64), scales[0])
    return np.apply_along_axis(stretched_line, -1, rows, scales[1])


@needs_compiler
def test_interpolation(gpu):
    """One launch, over shapes, dtypes and layouts."""
    makes, shapes = kinds(), [(1, 1, 1, 1), (2, 3, 4, 5), (1, 2, 1, 7), (2, 2, 2, 3, 2)]
    for shape, scales in itertools.product(shapes, [(1, 1), (2, 1), (3, 4), (1, 5)]):
        kind, (inside, outside) = ("float16", "float32")[scales[0] == 3], next(makes)
        values = numbers(shape, kind)
        expected, x = stretched(values, scales), there(values, inside)

        def write(out, x=x, scales=scales):
            directml.upsample_2d(x, scales[::-1], "LINEAR", out=out)

        out = in_one_launch(gpu, write, expected.shape, kind, outside)
        found = np.asarray(out.to_device("cpu"))
        assert found.dtype == kind
        np.testing.assert_allclose(found, expected, rtol=2 * float(np.finfo(kind).eps), atol=1e-5)


@needs_compiler
@pytest.mark.parametrize("where", ["cpu", "cuda:0"])
def test_what_weighs_nothing_may_be_infinite(where):
    x = tl.asarray([[[[1.0, np.inf, 2.0]]]], dtype=tl.float32).to_device(where)
    found = np.asarray(directml.upsample_2d(x, (3, 1), "LINEAR").to_device("cpu"))
    expected = np.array([1, 1, np.inf, np.inf, np.inf, np.inf, np.inf, 2, 2], np.float32)
    np.testing.assert_array_equal(found.ravel(), expected)


# --- patches ---

# Sizes of the image, window, strides, dilations, padding before and after.
FOLDS = [
    ((1, 1, 5), [2], [1], [1], [0], [0]),
    ((2, 3, 7), [3], [2], [2], [1], [2]),
    ((2, 2, 4, 5), [2, 3], [1, 1], [1, 1], [1, 0], [0, 1]),
    ((1, 2, 5, 4), [2, 2], [2, 1], [1, 2], [0, 2], [1, 0]),
    ((2, 1, 3, 2, 3), [2, 1, 2], [1, 1, 2], [1, 1, 1], [0, 0, 1], [0, 0, 0]),
    ((1, 1, 2, 3, 2, 2), [2, 2, 1, 2], [1, 1, 1, 1], [1, 1, 1, 1], [0, 0, 0, 0], [0, 0, 1, 0]),
]


def folded(columns, sizes, window, strides, dilations, before, after):
    """By the formula: each element of each window is added where it lies."""
    rows = zip(sizes[2:], window, strides, dilations, before, after, strict=True)
    blocks = [(n + b + a - d * (w - 1) - 1) // s + 1 for n, w, s, d, b, a in rows]
    image = np.zeros(sizes, np.float64)
    apart = columns.reshape(*sizes[:2], *window, *blocks)
    for tap in np.ndindex(*window):
        for block in np.ndindex(*blocks):
            rows = zip(block, strides, tap, dilations, before, strict=True)
            at = [b * s + i * d - p for b, s, i, d, p in rows]
            if all(0 <= i < n for i, n in zip(at, sizes[2:], strict=True)):
                image[(..., *at)] += apart[(..., *tap, *block)]
    return image.astype(columns.dtype)


def columns_of(sizes, window, strides, dilations, before, after, dtype):
    image = tl.zeros(sizes, dtype=tl.int8)
    found = directml.unfold(image, window, strides, dilations, before, after)
    return (numbers(found.shape) % 9).astype(dtype)


@needs_compiler
def test_patches(gpu):
    """One launch, over ranks, dtypes and layouts; small numbers, whose sums are exact."""
    types, makes = itertools.cycle(TYPES), kinds()
    for given, _ in itertools.product(FOLDS, range(3)):
        values, (inside, outside) = columns_of(*given, next(types)), next(makes)
        x = there(values, inside)

        def write(out, x=x, given=given):
            directml.fold(x, *given, out=out)

        found = in_one_launch(gpu, write, given[0], values.dtype, outside)
        same(found, folded(values, *given))


@needs_compiler
@pytest.mark.parametrize("where", ["cpu", "cuda:0"])
def test_halves_are_added_in_float(where):
    """2048 + 1 + 1 is 2050, and each sum of halves would stay 2048."""
    columns = tl.asarray([[[1.0, 2048.0, 1.0]]], dtype=tl.float16).to_device(where)
    columns = tl.reshape(columns, (1, 3, 1))
    overlapping = tl.broadcast_to(columns, (1, 3, 3))
    found = directml.fold(overlapping, (1, 1, 5), [3], [1], [1], [0], [0])
    same(found, np.array([[[1, 2048, 2050, 2048, 1]]], np.float16))


# --- patterns ---


def into_every_layout(gpu, write, expected):
    """What `write` writes into a result of each layout, by one launch each."""
    for make in KINDS:
        same(in_one_launch(gpu, write, expected.shape, expected.dtype, make), expected)


SHAPES = [(1, 1), (3, 5), (2, 3, 4), (2, 1, 3, 2), (2, 2, 1, 3, 2)]


@needs_compiler
@pytest.mark.parametrize("kind", ["FLOAT16", "FLOAT32", "UINT8", "INT16", "INT64"])
def test_sequences(gpu, kind):
    """Each element is a quarter (of integers 3) less than the one before."""
    delta = -0.25 if kind.startswith("F") else -3
    for shape in SHAPES:
        exact = [5 + delta * k for k in range(np.prod(shape))]
        expected = np.array(exact).astype(np.int64 if delta == -3 else float).astype(kind.lower())

        def write(out, shape=shape):
            directml.fill_value_sequence(shape, 5, delta, kind, out=out)

        into_every_layout(gpu, write, expected.reshape(shape))


@needs_compiler
@pytest.mark.parametrize("kind", ["int32", "int64", "uint32", "uint64"])
def test_hot_lines(gpu, kind):
    for shape, axis in zip(SHAPES, (0, 1, 2, 0, 4), strict=True):
        size = shape[axis]
        lines = (*shape[:axis], 1, *shape[axis + 1 :])
        least = -size - 1 if kind.startswith("i") else 0
        indices = np.random.default_rng(0).integers(least, size + 2, lines).astype(kind)
        if kind == "uint64":
            indices.flat[0] = 2**64 - 1  # not the last one
        where = indices.astype(object)
        place = np.arange(size).reshape([size if d == axis else 1 for d in range(len(shape))])
        hot = (where == place) | (where + size == place)
        values = there(np.array([7, 8, 9], np.int16).reshape(3, *[1] * (len(shape) - 1)))

        moved = there(indices, STORED[3])

        def write(out, moved=moved, values=values, size=size, axis=axis):
            directml.one_hot(moved, values, size, axis, out=out)

        into_every_layout(gpu, write, np.where(hot.astype(bool), 8, 7).astype(np.int16))


@needs_compiler
@pytest.mark.parametrize(
    "band", [(0, 1), (-1, 2), (2, -1), (1, 1), (9, 12), (-(2**31), 0), (-9, 9)]
)
def test_diagonals(gpu, band):
    begin, end = band
    for shape, kind in zip(SHAPES[:4], ("uint8", "float16", "int32", "float64"), strict=True):
        number = np.arange(shape[-1]) - np.arange(shape[-2])[:, None]
        within = (min(band) <= number) & (number < max(band))
        filled = within if begin <= end else ~within
        values = numbers(shape, kind)
        for x, others in ((there(values, STORED[1]), values), (None, np.zeros_like(values))):

            def write(out, x=x, shape=shape, kind=kind):
                sizes = (None, None) if x is not None else (shape, kind.upper())
                directml.diagonal_matrix1(x, 3, begin, end, *sizes, out=out)

            into_every_layout(gpu, write, np.where(filled, np.array(3, kind), others))
