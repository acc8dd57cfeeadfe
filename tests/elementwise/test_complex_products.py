"""Complex products have the same bits wherever their operands and results lie."""

import numpy as np
import pytest
from tensors import asarray, host

import tensorlayout as tl
from tensorlayout.cpu import fuse as cpu_fuse
from tensorlayout.cpu.elementwise import staging
from tensorlayout.cpu.engine import sharing

pytestmark = pytest.mark.usefixtures("device")

DTYPES = ["complex64", "complex128"]


def numbers(count, dtype, seed):
    parts = np.random.default_rng(seed).standard_normal((count, 2))
    return np.ascontiguousarray(parts).view(np.complex128)[:, 0].astype(dtype)


def along(function, *arrays):
    """Return the results of `function` for many packed elements, these among them."""
    size = np.broadcast_shapes(*[a.shape for a in arrays])
    flat = [np.resize(np.broadcast_to(a, size), 64 * max(1, np.prod(size))) for a in arrays]
    result = host(function(*map(asarray, flat)))
    return result[: int(np.prod(size))].reshape(size)


def placed(values, step):
    """A tensor of these values, `step` elements apart."""
    room = np.zeros(max(1, len(values)) * abs(step), values.dtype)
    x = asarray(room)[::step][: len(values)]
    x[...] = asarray(values)
    return x


FORMS = {
    "new": lambda x, y: x * y,
    "in place": lambda x, y: x.__imul__(y),
    "into": lambda x, y: tl.fuse(lambda x, y: x * y)(x, y, out=tl.zeros_like(x)),
    "fused": tl.fuse(lambda x, y: (x * y) + 0),
    "fused in place": tl.fuse(lambda x, y: (x + 0).__imul__(y)),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_steps_and_sizes(form, dtype):
    for seed, size in enumerate([1, 1, 2, 5, 17]):
        a, b = numbers(size, dtype, seed), numbers(size, dtype, seed + 99)
        expected = along(tl.multiply, a, b)
        for steps in [(1, 1), (1, -1), (-1, -1), (2, -3), (3, 1)]:
            x, y = map(placed, (a, b), steps)
            assert host(FORMS[form](x, y)).tobytes() == expected.tobytes(), (size, steps)


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_element_of_any_rank(dtype):
    for seed in range(2):
        a, b = numbers(1, dtype, seed), numbers(1, dtype, seed + 99)
        expected = along(tl.multiply, a, b).tobytes()
        for first in [(), (1,), (1, 1)]:
            x = asarray(a.reshape(first).copy())
            assert host(x * complex(b[0])).tobytes() == expected
            for second in [(), (1,), (1, 1)]:
                assert host(x * asarray(b.reshape(second))).tobytes() == expected
            x *= complex(b[0])
            assert host(x).tobytes() == expected


@pytest.mark.parametrize("dtype", DTYPES)
def test_squares_and_magnitudes_that_run_backwards(dtype):
    for size in (1, 2, 9):
        a = numbers(size, dtype, size)
        for function in (tl.square, tl.abs):
            result = host(function(placed(a, -1)))
            assert result.tobytes() == along(function, a).tobytes()


@pytest.mark.cpu
@pytest.mark.parametrize("size", [33, 65])
def test_pieces_with_a_rest_of_one(size, monkeypatch):
    monkeypatch.setattr(sharing, "LEAST_BYTES", 1)
    monkeypatch.setattr(sharing, "_PIECE", 64)
    monkeypatch.setattr(staging, "LEAST", 1)
    monkeypatch.setattr(cpu_fuse, "LEAST", 1)
    monkeypatch.setattr(cpu_fuse, "BLOCK", 256)
    tl.plan.run.cache_clear()
    a, b = numbers(size, "complex64", size), numbers(size, "complex64", size + 1)
    expected = along(tl.multiply, a, b).tobytes()
    for form in FORMS.values():
        assert host(form(asarray(a.copy()), asarray(b))).tobytes() == expected
    tl.plan.run.cache_clear()


@pytest.mark.cpu
def test_elements_that_are_very_far_apart():
    a, b = numbers(3, "complex64", 1), numbers(3, "complex64", 2)
    storage = np.zeros(3 << 27, np.complex64)  # of which the system holds three pages
    x = tl.asarray(storage, copy=False)[:: 1 << 27]
    x[...] = tl.asarray(a)
    assert host(x * tl.asarray(b)).tobytes() == along(tl.multiply, a, b).tobytes()
