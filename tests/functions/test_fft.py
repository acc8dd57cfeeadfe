"""The extension `fft`: the definition, empty lines, errors; `tests/ops` compares with NumPy."""

import numpy as np
import pytest
from tensors import asarray, host, same, shared

import tensorlayout as tl
from tensorlayout import fft

pytestmark = pytest.mark.usefixtures("device")

LINES = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
SEVERAL = ["fftn", "ifftn", "irfftn", "rfftn"]


@pytest.mark.parametrize("sizes", [(1,), (2,), (7,), (3, 4)])
def test_the_definition(sizes):
    rng = np.random.default_rng(1)
    a = rng.random(sizes) + 1j * rng.random(sizes)
    expected = a
    for axis, n in enumerate(sizes):
        turns = np.exp(-2j * np.pi * np.outer(np.arange(n), np.arange(n)) / n)
        expected = np.moveaxis(np.moveaxis(expected, axis, -1) @ turns, -1, axis)
    np.testing.assert_allclose(host(fft.fftn(asarray(a))), expected, 1e-12)


@pytest.mark.parametrize("name", SEVERAL)
def test_a_size_of_minus_1_takes_all_there_is(name):
    """5 elements, which are the half of a line of 8."""
    x = tl.reshape(tl.arange(60.0), (3, 4, 5))
    transform, s = getattr(fft, name), (2, 8 if name == "irfftn" else 5)
    same(transform(x, s=(2, -1), axes=(0, 2)), host(transform(x, s=s, axes=(0, 2))))


def test_frequencies():
    same(fft.fftfreq(5, d=-4.0), np.array([0.0, 1, 2, -2, -1]) / -20)
    same(fft.rfftfreq(4, dtype=tl.float16, device=tl.default_device()), np.float16([0, 0.25, 0.5]))


def test_no_axes():
    for x in (tl.asarray(2.0), tl.ones((2, 3), dtype=tl.complex64)):
        for transform in (fft.fftn, fft.ifftn):
            result = transform(x, axes=())
            assert result.dtype.kind == "c"
            np.testing.assert_array_equal(host(result), host(x))
            assert not shared(result, x)
    same(fft.fftn(tl.asarray(2.0)), np.array(2 + 0j))


def test_no_lines_and_lines_made_of_nothing():
    same(fft.fft(tl.zeros((0, 4))), np.zeros((0, 4), complex))
    same(fft.irfft(tl.zeros((0, 4))), np.zeros((0, 6)))
    for name in LINES:
        result = float if name in ("irfft", "hfft") else complex
        actual = getattr(fft, name)(tl.zeros((2, 0)), n=4)
        same(actual, np.zeros((2, 3 if name in ("rfft", "ihfft") else 4), result))
    same(fft.irfftn(tl.zeros((0, 2, 0)), s=(3, 4), axes=(0, 2)), np.zeros((3, 2, 4)))


@pytest.mark.parametrize("name", [*LINES, *SEVERAL])
def test_integers_and_unknown_norms(name):
    transform = getattr(fft, name)
    integers = tl.ones((3,), dtype=tl.int64)
    same(transform(integers), host(transform(tl.ones((3,)))))
    same(transform(integers, norm=None), host(transform(integers, norm="backward")))
    with pytest.raises(ValueError, match=f"^{name}: norm must be 'backward', 'ortho' or"):
        transform(integers, norm="other")


@pytest.mark.parametrize("name", [*LINES, *SEVERAL])
def test_each_call_is_one_record_and_no_layout_is_changed_before(name):
    x = tl.ones((3, 4), layout=(0, 1))
    with tl.trace() as seen:
        result = getattr(fft, name)(x)
    (record,) = seen
    assert (record.name, record.kind, record.inputs) == (name, "compute", (x.layout,))
    assert record.output == result.layout
