"""Writes on CUDA whose operands are in the storage that is written, under any dtype.

Expected by NumPy on the same bytes, after all operands have been copied.
"""

import itertools

import numpy as np
import pytest
from simulated import needs_compiler, simulator

import tensorlayout as tl
from tensorlayout import directml
from tensorlayout.cuda.engine.simulator import checking

pytestmark = needs_compiler

SIZE = 96  # bytes of the storage


@pytest.fixture(scope="module", autouse=True)
def gpu():
    with simulator() as found:
        yield found


class Seen:
    """A part of device memory, as another library describes it."""

    def __init__(self, memory, start, shape, dtype, strides):
        described = memory.__cuda_array_interface__
        self.memory = memory
        self.__cuda_array_interface__ = {
            **described,
            "shape": shape,
            "typestr": np.dtype(dtype).str,
            "data": (described["data"][0] + start, False),
            "strides": strides,
        }


class Storage:
    """The same bytes on the device and on the host, and views of both."""

    def __init__(self, octets):
        self.host = octets.copy()
        self.memory = tl.asarray(octets, device="cuda")

    def views(self, start, shape, dtype, strides):
        seen = Seen(self.memory, start, shape, dtype, strides)
        array = np.ndarray(shape, dtype, self.host.data, start, strides)
        return tl.asarray(seen, device="cuda"), array

    def agrees(self):
        np.testing.assert_array_equal(np.asarray(self.memory.to_device("cpu")), self.host)


def placements(shape, dtype, starts):
    """Where a tensor may lie: orders, directions and steps, from each start on."""
    size = np.dtype(dtype).itemsize
    for order in itertools.permutations(range(len(shape))):
        for step, sign, start in itertools.product((1, 2), (1, -1), starts):
            strides, run = [0] * len(shape), size * step
            for axis in order:
                strides[axis] = run * sign
                run *= shape[axis]
            first = start if sign > 0 else start + run - size * step
            if run + start <= SIZE:
                yield first, shape, dtype, tuple(strides)


def copied(array):
    """A copy; of bools what their bytes mean."""
    found = array.copy()
    return found.view(np.uint8) != 0 if found.dtype == np.bool_ else found


def assign(x, y, of):
    x[...] = y


def add(x, y, of):
    x += y


def choose(x, y, of):
    x[y] = 77


def choose_values(x, y, of):
    x[y] = x[-1, -1:]


def reach(x, y, of):
    x[y[0]] = x[-1]


def put(x, y, of):
    of.put_along_axis(x, y, x[::-1] if of is tl else x[::-1].copy(), axis=0)


CALLS = [
    (assign, "uint8", "bool"),
    (assign, "int64", "uint8"),
    (assign, "bool", "uint8"),
    (assign, "uint8", "int64"),
    (add, "int64", "uint8"),
    (choose, "uint8", "bool"),
    (choose, "int64", "bool"),
    (choose_values, "int64", "bool"),
    (reach, "int64", "uint8"),
    (put, "uint8", "uint8"),
    (put, "int64", "uint8"),
]


@pytest.mark.parametrize(("write", "written", "read"), CALLS)
def test_one_storage_under_two_dtypes(write, written, read):
    rng, shape = np.random.default_rng(0), (2, 3)
    positions = write in (reach, put)
    for place in placements(shape, written, (16,)):
        for other in placements(shape, read, (8, 17) if read != "int64" else (8, 32)):
            octets = rng.integers(0, 256, SIZE, dtype=np.uint8) * (rng.random(SIZE) < 0.5)
            storage = Storage((octets % 2 if positions else octets).astype(np.uint8))
            (x, a), (y, b) = storage.views(*place), storage.views(*other)
            with checking("bounds", "races"):
                write(x, y, tl)
            write(a, copied(b), np)
            storage.agrees()


SQUARES = {
    "itself": lambda a: a,
    "transposed": lambda a: a.T,
    "rows flipped": lambda a: a[::-1],
    "flipped": lambda a: a[::-1, ::-1],
    "flipped and transposed": lambda a: a.T[::-1, ::-1],
}
OPERATORS = {
    "identity": (directml.element_wise_identity, lambda a: a),
    "scaled": (
        lambda x, out: directml.element_wise_identity(x, (2, 0.5), out=out),
        lambda a: a * 2 + 0.5,
    ),
    "running": (
        lambda x, out: directml.cumulative_summation(x, 0, out=out),
        lambda a: np.cumsum(a, 0),
    ),
    "running back": (
        lambda x, out: directml.cumulative_summation(x, 1, "DECREASING", out=out),
        lambda a: np.cumsum(a[:, ::-1], 1)[:, ::-1],
    ),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_of_directml_into_their_own_input(name):
    operator, meant = OPERATORS[name]
    for size, (source, target) in itertools.product(
        (3, 40), itertools.product(SQUARES.values(), repeat=2)
    ):
        a = np.random.default_rng(size).integers(0, 9, (size, size)).astype(np.float32)
        x = tl.asarray(a, device="cuda", copy=True)
        with checking("bounds", "races"):
            operator(source(x), out=target(x))
        target(a)[...] = meant(source(a).copy())
        np.testing.assert_array_equal(np.asarray(x.to_device("cpu")), a)
