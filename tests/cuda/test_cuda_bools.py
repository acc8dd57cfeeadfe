"""Bools on CUDA in memory of any bytes: what is not 0 is True, and what is computed is 0 or 1.

Memory of other libraries holds such bytes. What moves elements may keep them.
"""

import numpy as np
import pytest
from simulated import needs_compiler, simulator

import tensorlayout as tl

pytestmark = needs_compiler


@pytest.fixture(scope="module", autouse=True)
def gpu():
    with simulator() as found:
        yield found


class Foreign:
    """Bytes on the device, which their library says are bools."""

    def __init__(self, octets):
        self.memory = tl.asarray(octets, device="cuda")
        described = self.memory.__cuda_array_interface__
        self.__cuda_array_interface__ = {**described, "typestr": "|b1"}


VIEWS = {
    "rows": lambda a: a,
    "columns": lambda a: a.T,
    "flipped": lambda a: a[:, ::-1],
    "cut": lambda a: a[1:, 1::2],
}
# The last has more than a chunk of `mask.cu`, and packs of 16 bytes.
SHAPES = [(3, 5), (4, 33), (9, 512)]


def drawn(seed, shape, view):
    """Bools in random bytes, half of them 0, and what they mean."""
    rng = np.random.default_rng(seed)
    octets = rng.integers(1, 256, shape, dtype=np.uint8) * (rng.random(shape) < 0.5)
    x = tl.asarray(Foreign(octets.astype(np.uint8)), device="cuda")
    return view(x), view(octets) != 0


def each():
    for shape in SHAPES:
        for view in VIEWS.values():
            yield drawn(1, shape, view), drawn(2, shape, view)


def check(found, expected, *, computed=True):
    """Truths, shape, dtype; and the bytes of bools, if they were computed."""
    if isinstance(found, tuple):
        for one, other in zip(found, expected, strict=True):
            check(one, other, computed=computed)
        return
    array = np.array(found.to_device("cpu"), order="C")
    if array.dtype == np.bool_:
        octets = array.view(np.uint8)
        assert not computed or octets.max(initial=0) <= 1
        array = octets != 0
    np.testing.assert_array_equal(array, expected, strict=True)


UNARY = {
    "logical_not": np.logical_not,
    "bitwise_invert": np.logical_not,
    "nonzero": np.nonzero,
    "unique_values": np.unique,
    "unique_counts": lambda a: np.unique(a, return_counts=True),
}
BINARY = {
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
    "bitwise_and": np.logical_and,
    "bitwise_or": np.logical_or,
    "bitwise_xor": np.logical_xor,
    "equal": np.equal,
    "not_equal": np.not_equal,
    "isin": lambda a, b: np.isin(a, b),
}


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one(name):
    for (x, a), _ in each():
        check(getattr(tl, name)(x), UNARY[name](a))


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two(name):
    for (x, a), (y, b) in each():
        check(getattr(tl, name)(x, y), BINARY[name](a, b))


def test_members_of_few():
    for (x, a), (y, b) in each():
        check(tl.isin(x, y[0, :1]), np.isin(a, b[0, :1]))


def test_first_places_and_inverses_of_distinct_values():
    for (x, a), _ in each():
        values, first, inverse, counts = np.unique(
            a, return_index=True, return_inverse=True, return_counts=True
        )
        inverse = inverse.reshape(a.shape)
        check(tl.unique_all(x), (values, first, inverse, counts))
        check(tl.unique_inverse(x), (values, inverse))


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_reductions(axis):
    for (x, a), _ in each():
        check(tl.any(x, axis=axis), np.any(a, axis=axis))
        check(tl.all(x, axis=axis), np.all(a, axis=axis))
        check(tl.count_nonzero(x, axis=axis), np.asarray(np.count_nonzero(a, axis=axis)))


@pytest.mark.parametrize("dtype", ["int64", "float32", "bfloat16"])
def test_conversions(dtype):
    as_dtype = getattr(tl, dtype)
    for (x, a), _ in each():
        check(tl.astype(x, as_dtype), a.astype(as_dtype))
        y = tl.zeros(x.shape, dtype=as_dtype, device="cuda")
        y[...] = x
        check(y, a.astype(as_dtype))
    line, truths = x[0], a[0]
    y = tl.zeros(line.shape, dtype=as_dtype, device="cuda")
    y[tl.arange(line.shape[0], device="cuda")] = line
    check(y, truths.astype(as_dtype))


def test_choices_by_bools_and_among_them():
    for (x, a), (y, b) in each():
        check(tl.where(x, y, x), np.where(a, b, a))
        numbers = np.arange(a.size, dtype=np.float32).reshape(a.shape)
        z = tl.asarray(numbers, device="cuda")
        check(tl.where(x, z, -z), np.where(a, numbers, -numbers))


def test_in_place():
    for (x, a), (y, b) in each():
        x &= y
        check(x, a & b)
        x ^= y
        check(x, (a & b) ^ b)
        x |= y
        check(x, (a & b) | b)


def test_reads_by_masks():
    for (x, a), (y, b) in each():
        numbers = np.arange(a.size, dtype=np.int32).reshape(a.shape)
        z = tl.asarray(numbers, device="cuda")
        check(z[x], numbers[a])
        check(z[x[:, 0]], numbers[a[:, 0]])
        check(z[x[:, 0], 1], numbers[a[:, 0], 1])
        check(y[x], b[a], computed=False)


def test_writes_by_masks():
    for (x, a), _ in each():
        numbers = np.arange(a.size, dtype=np.int32).reshape(a.shape)
        z = tl.asarray(numbers, device="cuda", copy=True)
        z[x], numbers[a] = 7, 7
        check(z, numbers)
        values = np.arange(np.count_nonzero(a), dtype=np.int32) + 100
        z[x], numbers[a] = tl.asarray(values, device="cuda"), values
        check(z, numbers)
        z[x[:, 0]], numbers[a[:, 0]] = z[0], numbers[0].copy()
        check(z, numbers)


def test_moves():
    for (x, a), (y, b) in each():
        check(tl.concat([x, y]), np.concatenate([a, b]), computed=False)
        check(tl.roll(x, 2, axis=1), np.roll(a, 2, axis=1), computed=False)
        check(x[tl.asarray([1, 0], device="cuda")], a[[1, 0]], computed=False)
        z = tl.zeros(x.shape, dtype=tl.bool, device="cuda")
        z[...] = x
        check(z, a, computed=False)
        assert bool(x[0, 0]) == bool(a[0, 0])
