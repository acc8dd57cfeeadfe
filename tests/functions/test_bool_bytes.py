"""Bool memory that holds more than 0 and 1, as foreign buffers may: every byte but 0 is True.

Expected by NumPy on arrays of zeros and ones.
"""

import operator
import pickle

import numpy as np
import pytest
from tensors import asarray, host, same

import tensorlayout as tl

pytestmark = pytest.mark.usefixtures("device")

VIEWS = {
    "row-major": lambda octets: octets,
    "column-major": np.asfortranarray,
    "every other": lambda octets: np.repeat(octets, 2, axis=-1)[..., ::2],
    "flipped": lambda octets: np.ascontiguousarray(octets[..., ::-1])[..., ::-1],
    "repeated": lambda octets: np.broadcast_to(octets[:1], octets.shape),
}
SHAPES = [(5,), (7, 3), (3000,), (2, 3, 4), (300, 20)]


def draw(rng, shape):
    """Any bytes, half of them 0."""
    octets = rng.integers(0, 256, shape, dtype=np.uint8)
    octets[rng.random(shape) < 0.5] = 0
    return octets


@pytest.fixture(params=VIEWS.values(), ids=VIEWS)
def pairs(request):
    """Of each shape two tensors, and what they are to mean."""
    rng = np.random.default_rng(0)
    found = []
    for shape in SHAPES:
        octets = [request.param(draw(rng, shape)) for _ in range(2)]
        tensors = [asarray(each.view(np.bool_)) for each in octets]
        found.append((*tensors, *[each != 0 for each in octets]))
    return found


def clean(x, expected, message=""):
    """Values, and that the bytes are zeros and ones."""
    same(x, expected, message)
    assert host(x).view(np.uint8).max(initial=0) <= 1, message


TWO = {
    "equal": operator.eq,
    "not_equal": operator.ne,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
}


@pytest.mark.parametrize("name", TWO)
def test_operators(name, pairs):
    for x, y, a, b in pairs:
        clean(TWO[name](x, y), TWO[name](a, b), name)
        clean(TWO[name](x, y[:1]), TWO[name](a, b[:1]), name)
        clean(TWO[name](x, True), TWO[name](a, True), name)
        clean(TWO[name](x, asarray(b)), TWO[name](a, b), name)


@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor"])
def test_logical_functions(name, pairs):
    for x, y, a, b in pairs:
        clean(getattr(tl, name)(x, y), getattr(np, name)(a, b))
        clean(getattr(tl, name)(x[:1], y), getattr(np, name)(a[:1], b))


def test_inverted(pairs):
    for x, _, a, _ in pairs:
        clean(~x, ~a)
        clean(tl.logical_not(x), ~a)


@pytest.mark.parametrize("name", ["iand", "ior", "ixor"])
def test_in_place(name, pairs):
    change = getattr(operator, name)
    for x, y, a, b in pairs:
        written, expected = x.copy(), a.copy()
        change(written, y)
        change(expected, b)
        clean(written, expected)


def test_reductions(pairs):
    for x, _, a, _ in pairs:
        for axis in (None, *range(a.ndim), tuple(range(a.ndim))):
            same(tl.count_nonzero(x, axis=axis), np.count_nonzero(a, axis=axis))
            same(tl.nansum(x, axis=axis), np.sum(a, axis=axis))
            clean(tl.any(x, axis=axis), np.any(a, axis=axis))
            clean(tl.all(x, axis=axis), np.all(a, axis=axis))


@pytest.mark.cpu
def test_sets(pairs):
    for x, y, a, b in pairs:
        clean(tl.unique_values(x), np.unique(a))
        values, counts = tl.unique_counts(x)
        clean(values, np.unique(a))
        same(counts, np.unique(a, return_counts=True)[1])
        _, first, inverse, _ = tl.unique_all(x)
        same(first, np.unique(a, return_index=True)[1])
        same(inverse, np.unique(a, return_inverse=True)[1].reshape(a.shape))
        clean(tl.isin(x, y[:1]), np.isin(a, b[:1]))


def test_positions(pairs):
    for x, _, a, _ in pairs:
        for found, expected in zip(tl.nonzero(x), np.nonzero(a), strict=True):
            same(found, expected)


DTYPES = ["int8", "uint8", "int16", "int64", "float16", "float32", "float64", "complex64"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_conversions(dtype, pairs):
    for x, _, a, _ in pairs:
        same(tl.astype(x, tl.asarray(0, dtype=dtype).dtype), a.astype(dtype))
        written = tl.zeros(a.shape, dtype=dtype)
        written[...] = x
        same(written, a.astype(dtype))
        written[tl.arange(a.shape[0] - 1, -1, -1)] = x
        same(written, a[::-1].astype(dtype))


@pytest.mark.parametrize("bfloat16", ["bfloat16"])
def test_conversions_to(bfloat16, pairs):
    for x, _, a, _ in pairs:
        dtype = getattr(tl, bfloat16)
        assert host(tl.astype(x, dtype)).astype(np.float32).tolist() == a.astype(float).tolist()
        written = tl.zeros(a.shape, dtype=dtype)
        written[...] = x
        assert host(written).astype(np.float32).tolist() == a.astype(float).tolist()
        written[x] = 3
        assert host(written).astype(np.float32).tolist() == (3 * a.astype(float)).tolist()
        sums = host(tl.ones(a.shape, dtype=dtype) + x).astype(np.float32)
        assert sums.tolist() == (1 + a.astype(float)).tolist()


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float32", "complex128"])
def test_choices(dtype, pairs):
    for x, _, a, _ in pairs:
        if a.ndim > 2:
            continue
        first = np.arange(a.size).reshape(a.shape).astype(dtype)
        second = (np.arange(a.size)[::-1].reshape(a.shape) + 100).astype(dtype)
        same(tl.where(x, asarray(first), asarray(second)), np.where(a, first, second))
        same(tl.where(x, asarray(first), asarray(second)[:1]), np.where(a, first, second[:1]))


def test_masks(pairs):
    for x, y, a, b in pairs:
        numbers = np.arange(a.size, dtype=np.float32).reshape(a.shape)
        same(asarray(numbers)[x], numbers[a])
        written, expected = asarray(numbers.copy()), numbers.copy()
        written[x] = asarray(numbers[a][::-1].copy())
        expected[a] = numbers[a][::-1]
        same(written, expected)
        written[y] = 7.0
        expected[b] = 7
        same(written, expected)
        line = (slice(None), *(0,) * (a.ndim - 1))
        same(asarray(numbers)[x[line]], numbers[a[line]])
        written[x[line], ...] = 8.0
        expected[a[line]] = 8
        same(written, expected)


def test_every_byte_is_one_true():
    """No more of a vector is read than there are places to write to."""
    for byte in range(1, 256):
        mask = asarray(np.full(9, byte, np.uint8).view(np.bool_))
        x = tl.zeros(9)
        x[mask] = tl.arange(9, dtype=tl.float64)
        same(x, np.arange(9.0))
        with pytest.raises(ValueError, match="could not be broadcast"):
            x[mask] = tl.arange(10, dtype=tl.float64)
        assert int(tl.count_nonzero(mask)) == 9


@pytest.mark.cpu
def test_single_elements_and_texts():
    octets = np.array([0, 1, 2, 255], np.uint8)
    x = tl.from_storage(bytearray(octets.tobytes()), tl.Layout.row_major((4,)), dtype=bool)
    assert [bool(e) for e in x] == [False, True, True, True]
    assert [int(e) for e in x] == [0, 1, 1, 1]
    assert [float(e) for e in x] == [0.0, 1.0, 1.0, 1.0]
    assert str(x) == "[False,  True,  True,  True]"
    assert True in x
    assert f"{x[3]}" == "True"
    assert np.asarray(x).view(np.uint8).tolist() == octets.tolist()  # as they are


@pytest.mark.cpu
def test_moves_keep_the_meaning(pairs):
    """What only moves elements may keep their bytes; what is read of them is the same."""
    for x, _, a, _ in pairs:
        for found, expected in [
            (x.copy(), a),
            (pickle.loads(pickle.dumps(x)), a),
            (tl.from_dlpack(x) if x.layout.size else x, a),
            (tl.to_layout(x, tuple(range(a.ndim))), a),
            (tl.concat([x, x]), np.concatenate([a, a])),
            (tl.take(x, tl.asarray([0, 0]), axis=0), a[[0, 0]]),
        ]:
            same(found == asarray(expected), np.ones(expected.shape, bool))
            same(tl.count_nonzero(found), np.count_nonzero(expected))
