"""Bool memory that holds more than 0 and 1, as foreign buffers may: every byte but 0 is True.

`tests/ops` draws such operands for all functions; here are results whose bytes are 0 and 1.
"""

import operator

import numpy as np
import pytest
from tensors import asarray, host, same

import tensorlayout as tl

pytestmark = pytest.mark.usefixtures("device")

VIEWS = {
    "row-major": lambda octets: octets,
    "every other": lambda octets: np.repeat(octets, 2, axis=-1)[..., ::2],
    "flipped": lambda octets: np.ascontiguousarray(octets[..., ::-1])[..., ::-1],
}
SHAPES = [(5,), (3000,), (300, 20)]


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


def clean(x, expected):
    """Compare values, and expect bytes of 0 and 1 alone."""
    same(x, expected)
    assert host(x).view(np.uint8).max(initial=0) <= 1


@pytest.mark.parametrize("name", ["eq", "ne", "and_", "or_", "xor"])
def test_operators(name, pairs):
    function = getattr(operator, name)
    for x, y, a, b in pairs:
        clean(function(x, y), function(a, b))
        clean(function(x, y[:1]), function(a, b[:1]))
        clean(function(x, True), function(a, True))
        clean(function(x, asarray(b)), function(a, b))


@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor"])
def test_logical_functions(name, pairs):
    for x, y, a, b in pairs:
        clean(getattr(tl, name)(x, y), getattr(np, name)(a, b))
        clean(~x, ~a)
        clean(tl.logical_not(x), ~a)
        clean(tl.any(x, axis=0), np.any(a, axis=0))
        clean(tl.all(x, axis=-1), np.all(a, axis=-1))


@pytest.mark.parametrize("name", ["iand", "ior", "ixor"])
def test_in_place(name, pairs):
    change = getattr(operator, name)
    for x, y, a, b in pairs:
        written, expected = x.copy(), a.copy()
        change(written, y)
        change(expected, b)
        clean(written, expected)


@pytest.mark.cpu
def test_sets(pairs):
    for x, y, a, b in pairs:
        clean(tl.unique_values(x), np.unique(a))
        clean(tl.unique_counts(x).values, np.unique(a))
        clean(tl.isin(x, y[:1]), np.isin(a, b[:1]))


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
