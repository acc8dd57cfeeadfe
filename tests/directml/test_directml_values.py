"""Operators against the formulas of their pages, element by element, over layouts and ranks."""

import itertools
import math

import numpy as np
import pytest
from directml_facts import STORED, flipped, stored
from hypothesis import given, settings
from hypothesis import strategies as st

import tensorlayout as tl
from tensorlayout import directml
from tensorlayout.cpu import pad as cpu_pad
from tensorlayout.plan.run import cache_clear

EXAMPLES = settings(max_examples=15)
TYPES = [t.dtype for t in directml.DataType if t.bits >= 8]
INDEX_TYPES = ["int32", "int64", "uint32", "uint64"]


def same(x, expected):
    np.testing.assert_array_equal(np.asarray(x), expected, strict=True)


@st.composite
def shapes(draw, low=1, high=4, most=4):
    rank = draw(st.integers(low, high) | st.just(min(8, high * 2) if high > 4 else low))
    return tuple(draw(st.integers(1, most)) for _ in range(rank))


def numbers(shape, dtype="float32", seed=0):
    values = np.random.default_rng(seed).integers(0, 100, shape)
    return np.asarray(values).astype(dtype)


def sliced(values):
    """A tensor with these elements, every other one of a part of a larger one."""
    large = tl.full([2 * n + 1 for n in values.shape], 55, dtype=values.dtype)
    part = large[tuple(slice(1, None, 2) for _ in values.shape)]
    part[...] = tl.asarray(values)
    return part


def repeated(draw, values):
    """Elements that are equal along a dimension, as a broadcast tensor."""
    d = draw(st.integers(0, values.ndim - 1))
    line = np.take(values, [0], d)
    return tl.broadcast_to(tl.asarray(line), values.shape), np.repeat(line, values.shape[d], d)


@st.composite
def tensors(draw, shape, dtype=None, written=False):
    """A tensor of a shape and its elements; in some layout, some data type; `written`: to be."""
    kind = draw(st.sampled_from(TYPES)) if dtype is None else dtype
    values = numbers(shape, kind, draw(st.integers(0, 9)))
    make = draw(st.sampled_from([*STORED, flipped, sliced, *[repeated] * (not written)]))
    if make is repeated:
        return repeated(draw, values)
    return (make(values) if make in (flipped, sliced) else stored(values, make)), values


@st.composite
def into(draw, shape, dtype):
    """None, or a tensor for ``out`` that is full of nonsense, in some layout."""
    make = draw(st.none() | st.sampled_from([*STORED, flipped, sliced]))
    values = np.full(shape, 77, dtype)
    if make in (None, flipped, sliced):
        return make and make(values)
    return stored(values, make)


def positions(draw, shape, size, dtype=None):
    """Positions in a dimension, negative ones where the type has them."""
    kind = draw(st.sampled_from(INDEX_TYPES)) if dtype is None else dtype
    least = 0 if kind.startswith("u") else -size
    values = np.random.default_rng(draw(st.integers(0, 99))).integers(least, size, shape)
    values = np.asarray(values).astype(kind)
    return stored(values, draw(st.sampled_from(STORED))), values.astype("int64")


# --- JOIN, SPLIT ------------------------------------------------------------------------------


@given(st.data())
@EXAMPLES
def test_join_and_split(data):
    shape = data.draw(shapes(high=8, most=3))
    axis = data.draw(st.integers(0, len(shape) - 1))
    sizes = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    kind = data.draw(st.sampled_from(TYPES))
    pairs = [data.draw(tensors((*shape[:axis], n, *shape[axis + 1 :]), kind)) for n in sizes]
    whole = np.concatenate([values for _, values in pairs], axis)
    out = data.draw(into(whole.shape, kind))
    joined = directml.join([x for x, _ in pairs], axis, out=out)
    same(joined, whole)
    parts = directml.split(joined, sizes, axis)
    assert len(parts) == len(sizes)
    for part, (_, values) in zip(parts, pairs, strict=True):
        same(part, values)


# --- slices ---


@st.composite
def windows(draw, shape):
    """Offsets, sizes, steps of a window, and how many elements are taken."""
    offsets = [draw(st.integers(0, n - 1)) for n in shape]
    spans = [draw(st.integers(1, n - o)) for n, o in zip(shape, offsets, strict=True)]
    steps = [draw(st.integers(1, 4)) * draw(st.sampled_from([1, -1])) for _ in shape]
    most = [1 + (s - 1) // abs(t) for s, t in zip(spans, steps, strict=True)]
    return offsets, spans, steps, [draw(st.integers(1, m)) for m in most]


def walked(c, window):
    """Where element `c` of the slice is."""
    offsets, spans, steps, _ = window
    return tuple(
        o + (s - 1 if t < 0 else 0) + t * i
        for o, s, t, i in zip(offsets, spans, steps, c, strict=True)
    )


@given(st.data())
@EXAMPLES
def test_slice1_and_slice_grad(data):
    shape = data.draw(shapes(high=8, most=5))
    x, values = data.draw(tensors(shape))
    window = data.draw(windows(shape))
    expected = np.empty(window[3], values.dtype)
    back = np.zeros(shape, values.dtype)
    for c in np.ndindex(*window[3]):
        expected[c] = values[walked(c, window)]
        back[walked(c, window)] = expected[c]
    out = data.draw(into(window[3], values.dtype))
    taken = directml.slice1(x, *window, out=out)
    same(taken, expected)
    out = data.draw(into(shape, values.dtype))
    same(directml.slice_grad(taken, shape, *window[:3], out=out), back)
    if all(step > 0 for step in window[2]):
        offsets, _, steps, sizes = window
        same(directml.slice(x, offsets, sizes, steps), expected)


def test_slice1_takes_all_by_default():
    x = tl.arange(10)
    same(directml.slice1(x, [2], [7], [3]), np.array([2, 5, 8]))
    same(directml.slice1(x, [2], [7], [-3]), np.array([8, 5, 2]))
    same(directml.slice1(x, [0], [10], [2**31 - 1]), np.array([0]))


# --- gather ---


@given(st.data())
@EXAMPLES
def test_gather(data):
    rank = data.draw(st.integers(1, 5))
    count = data.draw(st.integers(0, rank))
    lead = data.draw(st.integers(max(count - 1, 0), rank)) if count > 1 else 0
    shape = (1,) * lead + tuple(data.draw(st.integers(1, 4)) for _ in range(rank - lead))
    axis = data.draw(st.integers(min(lead, rank - 1), rank - 1))
    x, values = data.draw(tensors(shape))
    spread = tuple(data.draw(st.integers(1, 3)) for _ in range(count))
    indices, where = positions(data.draw, (1,) * (rank - count) + spread, shape[axis])
    full = np.take(values, where.reshape(spread), axis)
    sizes = ((1,) * rank + full.shape)[-rank:]
    if math.prod(full.shape) != math.prod(sizes) or any(
        n != 1 for n in full.shape[: max(full.ndim - rank, 0)]
    ):
        with pytest.raises(ValueError, match=r"^GATHER: the rank of the input"):
            directml.gather(x, indices, axis, count)
        return
    out = data.draw(into(sizes, values.dtype))
    same(directml.gather(x, indices, axis, count, out=out), full.reshape(sizes))


def test_gather_reads_the_nearest_position_for_one_outside():
    x = tl.asarray([10, 11, 12])
    same(directml.gather(x, tl.asarray([3, -4, 1, 2**62, -(2**62)]), 0, 1), [12, 10, 11, 12, 10])
    far = tl.asarray(np.array([2**64 - 1, 2**63, 0], np.uint64))
    same(directml.gather(x, far, 0, 1), [12, 12, 10])
    same(directml.gather(x, tl.asarray([7], dtype=tl.uint32), 0, 1), [12])


@given(st.data())
@EXAMPLES
def test_gather_elements_and_scatter(data):
    shape = data.draw(shapes(high=8, most=4))
    axis = data.draw(st.integers(0, len(shape) - 1))
    x, values = data.draw(tensors(shape))
    spread = (*shape[:axis], data.draw(st.integers(1, 5)), *shape[axis + 1 :])
    indices, where = positions(data.draw, spread, shape[axis])
    updates, new = data.draw(tensors(spread, values.dtype))
    read, written = np.empty(spread, values.dtype), values.copy()
    for c in np.ndindex(*spread):
        at = (*c[:axis], where[c], *c[axis + 1 :])
        read[c] = values[at]
        written[at] = new[c]
    out = data.draw(into(spread, values.dtype))
    same(directml.gather_elements(x, indices, axis, out=out), read)
    out = data.draw(into(shape, values.dtype))
    same(directml.scatter(x, indices, updates, axis, out=out), written)
    same(x, values)
    lines = np.moveaxis(where % shape[axis], axis, -1).reshape(-1, spread[axis])
    if any(len(set(line)) < len(line) for line in lines.tolist()):
        with pytest.raises(ValueError, match=r"^SCATTER: IndicesTensor: .* must differ"):
            directml.scatter(x, indices, updates, axis, duplicates="error")
    else:
        same(directml.scatter(x, indices, updates, axis, duplicates="error"), written)


@given(st.data())
@EXAMPLES
def test_coordinate_tuples(data):
    """GATHER_ND, GATHER_ND1 and SCATTER_ND, with ones in front of what counts."""
    n = data.draw(st.integers(1, 4))
    batch = data.draw(st.integers(0, n - 1))
    t = data.draw(st.integers(1, n - batch))
    source = tuple(data.draw(st.integers(1, 3)) for _ in range(n))
    lead = tuple(data.draw(st.integers(1, 3)) for _ in range(data.draw(st.integers(0, 2))))
    counted = (*source[:batch], *lead, t)
    q, tail = len(counted), (*source[:batch], *lead, *source[batch + t :])
    rank = data.draw(st.integers(max(n, q, len(tail)), 8))
    x, values = data.draw(tensors((1,) * (rank - n) + source))
    where = np.stack(
        [positions(data.draw, counted[:-1], source[batch + i], "int64")[1] for i in range(t)], -1
    )
    indices = tl.asarray(where.reshape((1,) * (rank - q) + counted))
    plain = values.reshape(source)
    expected = np.empty(tail, values.dtype)
    for k in np.ndindex(*counted[:-1]):
        expected[k] = plain[(*k[:batch], *where[k])]
    sizes = (1,) * (rank - len(tail)) + tail
    out = data.draw(into(sizes, values.dtype))
    same(directml.gather_nd1(x, indices, n, q, batch, out=out), expected.reshape(sizes))
    if batch:
        return
    same(directml.gather_nd(x, indices, n, q), expected.reshape(sizes))
    updates, new = data.draw(tensors(sizes, values.dtype))
    written = plain.copy()
    for k in np.ndindex(*counted[:-1]):
        written[tuple(where[k])] = new.reshape(tail)[k]
    out = data.draw(into(values.shape, values.dtype))
    result = directml.scatter_nd(x, indices, updates, n, q, out=out)
    same(result, written.reshape(values.shape))
    tuples = (where % np.array(source[:t])).reshape(-1, t).tolist()
    if len({tuple(c) for c in tuples}) < len(tuples):
        with pytest.raises(ValueError, match=r"^SCATTER_ND: IndicesTensor: .* must differ"):
            directml.scatter_nd(x, indices, updates, n, q, duplicates="error")
    else:
        again = directml.scatter_nd(x, indices, updates, n, q, duplicates="error")
        same(again, written.reshape(values.shape))


def test_a_single_tuple_gives_no_view():
    x = tl.asarray([[1, 2], [3, 4]])
    found = directml.gather_nd(x, tl.asarray([[1, 0]]), 2, 1)
    same(found, np.array([[3]]))
    found[...] = 9
    same(x, np.array([[1, 2], [3, 4]]))
    row = directml.gather(x, tl.asarray([[1]]), 0, 0)
    row[...] = 9
    same(x, np.array([[1, 2], [3, 4]]))


@pytest.mark.parametrize("bad", [3, -4, 2**40, -(2**40)])
def test_positions_outside(bad):
    x, at = tl.asarray([1, 2, 3]), tl.asarray([0, bad])
    untouched = tl.asarray([0, 1, 2, 3, 0])
    into = untouched[1:4]
    with pytest.raises(IndexError, match=rf"^GATHER_ELEMENTS: IndicesTensor: .*{bad}"):
        directml.gather_elements(x, at, 0)
    with pytest.raises(IndexError, match=rf"^SCATTER: IndicesTensor: .*{bad}"):
        directml.scatter(x, at, at, 0, out=into)
    matrix, tuples = tl.asarray([[1, 2, 3]]), tl.asarray([[0], [bad]])
    with pytest.raises(IndexError, match=rf"^GATHER_ND: IndicesTensor: .*{bad}"):
        directml.gather_nd(matrix, tuples, 1, 2)
    with pytest.raises(IndexError, match=rf"^SCATTER_ND: IndicesTensor: .*{bad}"):
        directml.scatter_nd(matrix, tuples, tl.asarray([[5, 6]]), 1, 2)
    same(untouched, np.array([0, 1, 2, 3, 0]))


@pytest.mark.parametrize(
    ("shape", "indices", "bad"),
    [
        ((2, 2), [[0, 3], [1, 1]], 3),  # the number in row-major order is that of another place
        ((4, 5), [[1, 7], [1, 7]], 7),
        ((4, 5), [[2], [9], [9]], 9),
        ((1, 5), [[0], [-2], [-2]], -2),
    ],
)
def test_positions_outside_do_not_count_as_equal(shape, indices, bad):
    x = tl.zeros(shape)
    updates = tl.ones((len(indices), *shape[len(indices[0]) :]))
    updates = updates[None] if updates.ndim == 1 else updates
    with pytest.raises(
        IndexError, match=rf"^SCATTER_ND: IndicesTensor: index {bad} is out of bounds"
    ):
        directml.scatter_nd(x, tl.asarray(indices), updates, 2, 2, duplicates="error")
    line, at = tl.zeros(4, dtype=tl.int64), tl.asarray([9, 9])
    with pytest.raises(IndexError, match=r"^SCATTER: IndicesTensor: index 9"):
        directml.scatter(line, at, at, 0, duplicates="error")


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint64])
@pytest.mark.parametrize(("shape", "axis"), [((3, 600), 1), ((3, 600, 1), 1), ((600, 3), 0)])
def test_long_lines(shape, axis, dtype):
    rng = np.random.default_rng(0)
    x, new = rng.random(shape, np.float32), rng.random(shape, np.float32)
    index = rng.integers(0 if dtype == np.uint64 else -600, 600, shape).astype(dtype)
    tensors = tuple(map(tl.asarray, (x, index, new)))
    whole = index.astype(np.int64)
    same(directml.gather_elements(*tensors[:2], axis), np.take_along_axis(x, whole, axis))
    expected = x.copy()
    np.put_along_axis(expected, whole, new, axis)
    same(directml.scatter(*tensors, axis), expected)
    index[(-1,) * index.ndim], index[(0,) * index.ndim] = 600, 700
    with pytest.raises(IndexError, match=r"^GATHER_ELEMENTS: IndicesTensor: .*700"):
        directml.gather_elements(*tensors[:2], axis)
    with pytest.raises(IndexError, match=r"^SCATTER: IndicesTensor: .*700"):
        directml.scatter(*tensors, axis)


@given(st.data())
@EXAMPLES
def test_max_unpooling(data):
    shape = tuple(data.draw(st.integers(1, 3)) for _ in range(4))
    sizes = tuple(data.draw(st.integers(1, 4)) for _ in range(4))
    x, values = data.draw(tensors(shape, "float32"))
    indices, where = positions(data.draw, shape, math.prod(sizes), "uint32")
    expected = np.zeros(math.prod(sizes), "float32")
    for c in np.ndindex(*shape):
        expected[where[c]] = values[c]
    out = data.draw(into(sizes, "float32"))
    same(directml.max_unpooling(x, indices, sizes, out=out), expected.reshape(sizes))
    beyond = tl.full(shape, math.prod(sizes), dtype=tl.uint64)
    with pytest.raises(IndexError, match=r"^MAX_UNPOOLING: IndicesTensor"):
        directml.max_unpooling(x, beyond, sizes)


# --- borders ---

MODES = {
    "EDGE": lambda i, n: min(max(i, 0), n - 1),
    "REFLECTION": lambda i, n: 0 if n == 1 else (n - 1) - abs(i % (2 * n - 2) - (n - 1)),
    "SYMMETRIC": lambda i, n: min(i % (2 * n), 2 * n - 1 - i % (2 * n)),
    "WRAP": lambda i, n: i % n,
}


@given(st.data())
@EXAMPLES
def test_padding(data):
    shape = data.draw(shapes(high=8, most=3))
    x, values = data.draw(tensors(shape))
    wide = 2 if len(shape) > 4 else 9
    before = [data.draw(st.integers(0, wide)) if d < 3 else 0 for d in range(len(shape))]
    after = [data.draw(st.integers(0, wide)) if d < 3 else 0 for d in range(len(shape))]
    mode = data.draw(st.sampled_from(["CONSTANT", *MODES]))
    sizes = tuple(n + b + a for n, b, a in zip(shape, before, after, strict=True))
    expected = np.full(sizes, 7, values.dtype)
    for c in np.ndindex(*sizes):
        at = [i - b for i, b in zip(c, before, strict=True)]
        if mode != "CONSTANT":
            expected[c] = values[tuple(map(MODES[mode], at, shape))]
        elif all(0 <= i < n for i, n in zip(at, shape, strict=True)):
            expected[c] = values[tuple(at)]
    for function in (directml.padding, directml.padding1):
        out = data.draw(into(sizes, values.dtype))
        same(function(x, before, after, mode, 7, out=out), expected)


@pytest.mark.parametrize("make", [*STORED, flipped, sliced])
@pytest.mark.parametrize("mode", ["CONSTANT", *MODES])
def test_padding_in_pieces(monkeypatch, mode, make):
    monkeypatch.setattr(cpu_pad, "_PIECE", 200)
    cache_clear()
    values = numbers((5, 3, 4), "int16")
    x = make(values) if make in (flipped, sliced) else stored(values, make)
    numpys = {"REFLECTION": "reflect", "CONSTANT": "constant"}.get(mode, mode.lower())
    more = {"constant_values": 7} if mode == "CONSTANT" else {}
    for borders in ([0, 2, 3], [0, 5, 0], [1, 0, 0], [0, 0, 1]):
        expected = np.pad(values, [(n, n) for n in borders], numpys, **more)
        same(directml.padding(x, borders, borders, mode, 7), expected)
    cache_clear()


def test_values_of_padding():
    x = tl.asarray([1], dtype=tl.int64)
    same(directml.padding(x, [0], [1], value=10.6), np.array([1, 10]))
    same(directml.padding(x, [0], [1], value=-10.6), np.array([1, -10]))
    same(directml.padding(x, [0], [1], value=2**24 + 1), np.array([1, 2**24]))
    same(directml.padding1(x, [0], [1], value=2**53 + 1), np.array([1, 2**53 + 1]))
    half = tl.asarray([1.0], dtype=tl.float16)
    same(directml.padding(half, [0], [1], value=0.1), np.array([1, 0.1], np.float16))
    infinite = directml.padding1(half, [0], [1], value=-math.inf)
    same(infinite, np.array([1, -math.inf], np.float16))
    small = tl.asarray([1], dtype=tl.uint8)
    with pytest.raises(ValueError, match=r"^PADDING: PaddingValue must be 0 to 255 for UINT8, got"):
        directml.padding(small, [0], [1], value=-1)
    with pytest.raises(ValueError, match=r"^PADDING1: PaddingValue must be 0 to 255 .* got 256"):
        directml.padding1(small, [0], [1], value=256)
    with pytest.raises(TypeError, match=r"^PADDING1: PaddingValue must be an integer .* got 1\.5"):
        directml.padding1(small, [0], [1], value=1.5)


# --- rearranging ---


@given(st.data())
@EXAMPLES
def test_tile(data):
    shape = data.draw(shapes(high=4, most=3))
    kinds = [t for t in TYPES if t != np.float64]
    x, values = data.draw(tensors(shape, data.draw(st.sampled_from(kinds))))
    repeats = [data.draw(st.integers(1, 3)) for _ in shape]
    expected = np.tile(values, repeats)
    out = data.draw(into(expected.shape, values.dtype))
    same(directml.tile(x, repeats, out=out), expected)


@given(st.data())
@EXAMPLES
def test_space_and_depth(data):
    b, c, h, w, s = (data.draw(st.integers(1, 3)) for _ in range(5))
    x, values = data.draw(tensors((b, c, h * s, w * s)))
    for order, channel in (
        ("DEPTH_COLUMN_ROW", lambda i, j, k: (i * s + j) * c + k),
        ("COLUMN_ROW_DEPTH", lambda i, j, k: (k * s + i) * s + j),
    ):
        expected = np.empty((b, c * s * s, h, w), values.dtype)
        for n, k, y, z in np.ndindex(*values.shape):
            i, j = y % s, z % s
            expected[n, channel(i, j, k), y // s, z // s] = values[n, k, y, z]
        out = data.draw(into(expected.shape, values.dtype))
        deep = directml.space_to_depth1(x, s, order, out=out)
        same(deep, expected)
        out = data.draw(into(values.shape, values.dtype))
        same(directml.depth_to_space1(deep, s, order, out=out), values)
        if order == "DEPTH_COLUMN_ROW":
            same(directml.space_to_depth(x, s), expected)
            same(directml.depth_to_space(deep, s), values)


@given(st.data())
@EXAMPLES
def test_reverse_subsequences(data):
    shape = data.draw(shapes(high=8, most=4))
    axis = data.draw(st.integers(0, len(shape) - 1))
    x, values = data.draw(tensors(shape))
    lines = (*shape[:axis], 1, *shape[axis + 1 :])
    kind = data.draw(st.sampled_from(["uint32", "uint64"]))
    lengths = np.random.default_rng(data.draw(st.integers(0, 9))).integers(0, 7, lines)
    lengths = np.asarray(lengths).astype(kind)
    if data.draw(st.booleans()):
        lengths.flat[0] = np.iinfo(kind).max
    expected = np.empty_like(values)
    for c in np.ndindex(*shape):
        count = min(int(lengths[(*c[:axis], 0, *c[axis + 1 :])]), shape[axis])
        k = count - 1 - c[axis] if c[axis] < count else c[axis]
        expected[c] = values[(*c[:axis], k, *c[axis + 1 :])]
    out = data.draw(into(shape, values.dtype))
    same(directml.reverse_subsequences(x, tl.asarray(lengths), axis, out=out), expected)


# --- filling ---


@pytest.mark.parametrize("kind", [t.name for t in directml.DataType if t.bits >= 8])
def test_fill(kind):
    dtype = np.dtype(kind.lower())
    high = 1.5 if dtype.kind == "f" else int(np.iinfo(dtype).max)
    same(directml.fill_value_constant((2, 3), high, kind), np.full((2, 3), high, dtype))
    if kind == "FLOAT64":
        return
    start, step = (0.5, -0.25) if dtype.kind == "f" else (3, 2)
    expected = np.array([[start + 3 * i * step + j * step for j in range(3)] for i in range(2)])
    out = stored(np.zeros((2, 3), dtype), STORED[1])
    for into in (None, out):
        found = directml.fill_value_sequence((2, 3), start, step, kind, out=into)
        same(found, expected.astype(dtype))


def test_sequences_of_integers_are_exact_and_wrap():
    found = directml.fill_value_sequence((4,), 4, -2, "UINT8")
    same(found, np.array([4, 2, 0, 254], np.uint8))
    same(directml.fill_value_sequence((3,), 4, 254, "UINT8"), np.array([4, 2, 0], np.uint8))
    big = 2**63 - 2
    found = directml.fill_value_sequence((4,), big, 1, "INT64")
    same(found, np.array([big, big + 1, -(2**63), -(2**63) + 1]))
    found = directml.fill_value_sequence((2,), 2**64 - 1, -(2**63), "UINT64")
    same(found, np.array([2**64 - 1, 2**63 - 1], np.uint64))
    with pytest.raises(ValueError, match=r"ValueDelta must be -128 to 255 for UINT8, got 256"):
        directml.fill_value_sequence((2,), 0, 256, "UINT8")
    with pytest.raises(ValueError, match=r"ValueStart must be 0 to 255 for UINT8, got -1"):
        directml.fill_value_sequence((2,), -1, 1, "UINT8")


@given(st.data())
@EXAMPLES
def test_diagonals(data):
    shape = data.draw(shapes(low=2, high=4, most=5))
    x, values = data.draw(tensors(shape))
    begin, end = data.draw(st.integers(-7, 7)), data.draw(st.integers(-7, 7))
    expected, ones = values.copy(), np.zeros(shape, values.dtype)
    for c in np.ndindex(*shape):
        d = c[-1] - c[-2]
        if (end >= begin) ^ (d >= begin) ^ (d < end):
            expected[c] = 9
        if c[-2] + begin == c[-1]:
            ones[c] = 9
    out = data.draw(into(shape, values.dtype))
    same(directml.diagonal_matrix1(x, 9, begin, end, out=out), expected)
    kind = directml.DataType.of(values.dtype)
    out = data.draw(into(shape, values.dtype))
    same(directml.diagonal_matrix(shape, begin, 9.9 if kind.bits == 8 else 9, kind, out=out), ones)
    found = directml.diagonal_matrix1(None, 9, begin, begin + 1, shape, kind)
    same(found, ones)


@given(st.data())
@EXAMPLES
def test_one_hot(data):
    shape = data.draw(shapes(high=8, most=3))
    axis = data.draw(st.integers(0, len(shape) - 1))
    lines = (*shape[:axis], 1, *shape[axis + 1 :])
    kind = data.draw(st.sampled_from(INDEX_TYPES))
    least = 0 if kind.startswith("u") else -6
    where = np.random.default_rng(data.draw(st.integers(0, 99))).integers(least, 6, lines)
    where = np.asarray(where).astype(kind)
    fastest = data.draw(st.integers(0, len(shape) - 1))
    pair = tuple(2 + data.draw(st.integers(0, 1)) if d == fastest else 1 for d in range(len(shape)))
    values, both = data.draw(tensors(pair))
    expected = np.full(shape, both.flat[0], both.dtype)
    for c in np.ndindex(*lines):
        at = int(where[c])
        at += shape[axis] if at < 0 else 0
        if 0 <= at < shape[axis]:
            expected[(*c[:axis], at, *c[axis + 1 :])] = both.flat[1]
    out = data.draw(into(shape, both.dtype))
    same(directml.one_hot(tl.asarray(where), values, shape[axis], axis, out=out), expected)


# --- selecting ---


@given(st.data())
@EXAMPLES
def test_top_k(data):
    shape = data.draw(shapes(high=8, most=5))
    axis = data.draw(st.integers(0, len(shape) - 1))
    kinds = [t for t in TYPES if t != np.float64]
    kind = data.draw(st.sampled_from(kinds))
    values = (numbers(shape, "int64", data.draw(st.integers(0, 9))) % 4).astype(kind)
    x = stored(values, data.draw(st.sampled_from(STORED)))
    k = data.draw(st.integers(1, shape[axis]))
    down = data.draw(st.booleans())
    index = np.empty((*shape[:axis], k, *shape[axis + 1 :]), "uint32")
    for c in np.ndindex(*shape[:axis], *shape[axis + 1 :]):
        line = values[(*c[:axis], slice(None), *c[axis:])].tolist()
        order = sorted(range(len(line)), key=lambda i: -line[i] if down else line[i])
        index[(*c[:axis], slice(None), *c[axis:])] = order[:k]
    expected = np.take_along_axis(values, index.astype("int64"), axis)
    direction = "DECREASING" if down else "INCREASING"
    found = directml.top_k1(x, axis, k, direction)
    same(found[0], expected)
    same(found[1], index)
    outs = stored(np.zeros_like(expected), STORED[3]), stored(np.zeros_like(index, "uint64"))
    directml.top_k1(x, axis, k, direction, out=outs)
    same(outs[0], expected)
    same(outs[1], index.astype("uint64"))
    if down:
        same(directml.top_k(x, axis, k, index_data_type="UINT64")[1], index.astype("uint64"))


def test_top_k_takes_nan_for_the_largest():
    x = tl.asarray([1.0, math.nan, math.inf, math.nan], dtype=tl.float32)
    same(directml.top_k(x, 0, 3)[1], np.array([1, 3, 2], np.uint32))
    same(directml.top_k1(x, 0, 3, "INCREASING")[1], np.array([0, 2, 1], np.uint32))


@given(st.data())
@EXAMPLES
def test_nonzero_coordinates(data):
    shape = data.draw(shapes(high=4, most=3))
    kind = data.draw(st.sampled_from(["float32", "float16", "int8", "uint32"]))
    values = (numbers(shape, "int64", data.draw(st.integers(0, 9))) % 3).astype(kind)
    if kind.startswith("f"):
        values.flat[0] = -0.0
        values.flat[-1] = math.nan
    found = [c for c in np.ndindex(*shape) if values[c] != 0]
    columns = data.draw(st.none() | st.just(len(shape)))
    x = stored(values, data.draw(st.sampled_from(STORED)))
    count, table = directml.nonzero_coordinates(x, columns)
    assert count.shape == (1,) * len(shape)
    assert int(np.asarray(count).reshape(())) == len(found)
    effective = max([len(shape) - d for d, n in enumerate(shape) if n > 1], default=1)
    width = effective if columns is None else columns
    assert table.shape == (1,) * (len(shape) - 2) + (values.size, width)
    expected = np.array([c[len(shape) - width :] for c in found], "uint32").reshape(-1, width)
    np.testing.assert_array_equal(np.asarray(table).reshape(-1, width)[: len(found)], expected)


@given(st.data())
@EXAMPLES
def test_element_wise_if(data):
    shape = data.draw(shapes(high=8, most=3))
    kind = data.draw(st.sampled_from(TYPES))
    make = data.draw(st.sampled_from(STORED))
    first, second = numbers(shape, kind, 1), numbers(shape, kind, 2)
    mask = numbers(shape, "uint8", 3) % np.uint8(3)
    operands = (stored(values, make) for values in (mask, first, second))
    out = data.draw(into(shape, kind))
    found = directml.element_wise_if(*operands, out=out)
    same(found, np.where(mask != 0, first, second))


# --- running values, conversions ---


@given(st.data())
@EXAMPLES
def test_running_values(data):
    shape = data.draw(shapes(high=8, most=4))
    axis = data.draw(st.integers(0, len(shape) - 1))
    kind = data.draw(st.sampled_from(["float32", "float16", "int32", "uint32", "int64", "uint64"]))
    x, values = data.draw(tensors(shape, kind, written=True))
    values = values % 4
    x[...] = tl.asarray(values)
    down, exclusive = data.draw(st.booleans()), data.draw(st.booleans())
    direction = "DECREASING" if down else "INCREASING"
    for function, combine, unit in (
        (directml.cumulative_summation, np.add, 0),
        (directml.cumulative_product, np.multiply, 1),
    ):
        line = np.moveaxis(values, axis, 0)
        expected = np.empty_like(line)
        total = np.full(line.shape[1:], unit, kind)
        for i in reversed(range(len(line))) if down else range(len(line)):
            after = combine(total, line[i]).astype(kind)
            expected[i] = total if exclusive else after
            total = after
        expected = np.moveaxis(expected, 0, axis)
        out = data.draw(into(shape, kind))
        same(function(x, axis, direction, exclusive, out=out), expected)
        again = stored(values)
        assert function(again, axis, direction, exclusive, out=again) is again
        same(again, expected)


@given(st.data())
@EXAMPLES
def test_identity_and_cast(data):
    shape = data.draw(shapes(high=8, most=3))
    x, values = data.draw(tensors(shape))
    out = data.draw(into(shape, values.dtype))
    same(directml.element_wise_identity(x, out=out), values)
    kind = data.draw(st.sampled_from(TYPES))
    out = data.draw(into(shape, kind))
    same(directml.cast(x, kind, out=out), values.astype(kind))


def test_scale_and_bias():
    values = np.array([1.0, 3.0, -2.0])
    for kind in ("float16", "float32", "float64"):
        x = tl.asarray(values.astype(kind))
        wide = np.promote_types(kind, "float32").type
        expected = (values.astype(kind) * wide(np.float32(0.1)) + wide(1)).astype(kind)
        found = directml.element_wise_identity(x, (0.1, 1))
        same(found, expected)
        assert found.dtype == kind
        assert directml.element_wise_identity(x, (2, 1), out=x) is x
        same(x, (values * 2 + 1).astype(kind))
    with pytest.raises(TypeError, match=r"^ELEMENT_WISE_IDENTITY: ScaleBias is for floating-point"):
        directml.element_wise_identity(tl.asarray([1]), (2, 1))
    with pytest.raises(TypeError, match=r"ScaleBias must be two numbers, got 2"):
        directml.element_wise_identity(tl.asarray([1.0]), 2)


def test_conversions():
    x = tl.asarray([1.75, -1.75, 300.5], dtype=tl.float32)
    same(directml.cast(x, "INT32"), np.array([1, -1, 300], np.int32))
    wide = tl.asarray([300, -1])
    same(directml.cast(wide, "UINT8"), np.array([44, 255], np.uint8))
    large = tl.asarray([1e30, -1e30], dtype=tl.float32)
    same(directml.cast(large, "FLOAT16"), np.array([math.inf, -math.inf], np.float16))


# --- sampling, patches ---


@given(st.data())
@EXAMPLES
def test_upsample_2d(data):
    shape = data.draw(shapes(low=4, high=4, most=3))
    shape = (*shape, 2) if data.draw(st.booleans()) else shape
    x, values = data.draw(tensors(shape, data.draw(st.sampled_from(["float32", "float16"]))))
    width, height = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))
    nearest = values.repeat(height, -2).repeat(width, -1)
    out = data.draw(into(nearest.shape, values.dtype))
    same(directml.upsample_2d(x, (width, height), out=out), nearest)
    found = directml.upsample_2d(x, directml.Size2D(width, height), "LINEAR")
    expected = np.empty(nearest.shape)
    h, w = shape[-2:]
    for c in np.ndindex(*nearest.shape):
        y = min(max((c[-2] + 0.5) / height - 0.5, 0), h - 1)
        z = min(max((c[-1] + 0.5) / width - 0.5, 0), w - 1)
        total = 0.0
        for i, j in itertools.product(range(h), range(w)):
            weight = max(1 - abs(y - i), 0) * max(1 - abs(z - j), 0)
            total += weight * float(values[(*c[:-2], i, j)])
        expected[c] = total
    np.testing.assert_allclose(
        np.asarray(found), expected, rtol=2 * float(np.finfo(values.dtype).eps), atol=1e-4
    )
    assert found.dtype == values.dtype


@given(st.data())
@EXAMPLES
def test_patches(data):
    rank = data.draw(st.integers(1, 3))
    batch, channels = data.draw(st.integers(1, 2)), data.draw(st.integers(1, 2))
    small = st.integers(1, 2)
    window, stride, dilation = ([data.draw(small) for _ in range(rank)] for _ in range(3))
    before, after = ([data.draw(st.integers(0, 2)) for _ in range(rank)] for _ in range(2))
    spatial = [data.draw(st.integers(3, 5)) for _ in range(rank)]
    blocks = [
        (n + b + a - d * (w - 1) - 1) // s + 1
        for n, b, a, d, w, s in zip(spatial, before, after, dilation, window, stride, strict=True)
    ]
    x, values = data.draw(tensors((batch, channels, *spatial)))
    taps, places = math.prod(window), math.prod(blocks)
    expected = np.zeros((batch, channels * taps, places), values.dtype)
    folded = np.zeros(values.shape)
    y, columns = data.draw(tensors(expected.shape, values.dtype, written=True))
    columns = columns % 4
    y[...] = tl.asarray(columns)
    for n, c in itertools.product(range(batch), range(channels)):
        for t, tap in enumerate(np.ndindex(*window)):
            for k, block in enumerate(np.ndindex(*blocks)):
                rows = zip(block, stride, tap, dilation, before, strict=True)
                at = [b * s + i * d - p for b, s, i, d, p in rows]
                if all(0 <= i < size for i, size in zip(at, spatial, strict=True)):
                    expected[n, c * taps + t, k] = values[(n, c, *at)]
                    folded[(n, c, *at)] += float(columns[n, c * taps + t, k])
    arguments = window, stride, dilation, before, after
    out = data.draw(into(expected.shape, values.dtype))
    same(directml.unfold(x, *arguments, out=out), expected)
    out = data.draw(into(values.shape, values.dtype))
    same(directml.fold(y, values.shape, *arguments, out=out), folded.astype(values.dtype))


def test_columns_may_have_the_rank_of_the_image():
    image = tl.reshape(tl.arange(6), (1, 1, 2, 3))
    window = [1, 2], [1, 1], [1, 1], [0, 0], [0, 0]
    out = tl.zeros((1, 1, 2, 4), dtype=tl.int64)
    directml.unfold(image, *window, out=out)
    same(out, np.array([[[[0, 1, 3, 4], [1, 2, 4, 5]]]]))
    same(directml.fold(out, (1, 1, 2, 3), *window), np.array([[[[0, 2, 2], [3, 8, 5]]]]))


def test_one_position_counted_from_both_ends_is_a_duplicate():
    x, at, new = tl.asarray([1, 2, 3]), tl.asarray([0, -3]), tl.asarray([8, 9])
    same(directml.scatter(x, at, new, 0), np.array([9, 2, 3]))
    with pytest.raises(ValueError, match=r"^SCATTER: IndicesTensor: .* must differ"):
        directml.scatter(x, at, new, 0, duplicates="error")
    matrix, tuples = x[None, :], tl.asarray([[0], [-3]])
    same(directml.scatter_nd(matrix, tuples, new[None, :], 1, 2), np.array([[9, 2, 3]]))
    with pytest.raises(ValueError, match=r"^SCATTER_ND: IndicesTensor: .* must differ"):
        directml.scatter_nd(matrix, tuples, new[None, :], 1, 2, duplicates="error")


@pytest.mark.parametrize(
    ("operator", "call", "read", "written"),
    [
        ("PADDING", lambda x: directml.padding(x, [0, 1, 1], [0, 1, 1], "EDGE"), 96, 192),
        ("UPSAMPLE_2D", lambda x: directml.upsample_2d(x[None], (2, 3), "LINEAR"), 96, 576),
        (
            "SLICE_GRAD",
            lambda x: directml.slice_grad(x, (1, 5, 8), *[(0, 0, 0), (1, 4, 6)], (1,) * 3),
            96,
            160,
        ),
        ("FILL_VALUE_SEQUENCE", lambda _: directml.fill_value_sequence((6,), 0, 1, "INT16"), 0, 12),
        ("TOP_K", lambda x: directml.top_k(x, 2, 3), 96, 96),
    ],
)
def test_a_trace_counts_what_is_read_and_what_is_written(operator, call, read, written):
    x = tl.asarray(numbers((1, 4, 6)))
    with tl.trace() as seen:
        call(x)
    records = [r for r in seen if r.name == operator and r.kind != "view"]
    assert sum(r.bytes_read for r in records) == read
    assert sum(r.bytes_written for r in records) == written
