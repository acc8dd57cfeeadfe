"""The extension `fft`: the definition, empty lines, errors; `tests/ops` compares with NumPy."""

from functools import partial

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


@pytest.mark.parametrize("dtype", ["bool", "int64"])
def test_shifts_of_other_dtypes(dtype):
    array = np.arange(10).reshape(2, 5).astype(dtype)
    same(fft.fftshift(asarray(array), axes=-1), np.fft.fftshift(array, -1))
    same(fft.ifftshift(asarray(array)), np.fft.ifftshift(array))


def test_no_axes():
    for x in (tl.asarray(2.0), tl.ones((2, 3), dtype=tl.complex64)):
        for transform in (fft.fftn, fft.ifftn):
            found = transform(x, axes=())
            assert found.dtype.kind == "c"
            np.testing.assert_array_equal(host(found), host(x))
            assert not shared(found, x)
    same(fft.fftn(tl.asarray(2.0)), np.array(2 + 0j))


def test_no_lines_and_lines_made_of_nothing():
    same(fft.fft(tl.zeros((0, 4))), np.zeros((0, 4), complex))
    same(fft.irfft(tl.zeros((0, 4))), np.zeros((0, 6)))
    for name in LINES:
        result = float if name in ("irfft", "hfft") else complex
        found = getattr(fft, name)(tl.zeros((2, 0)), n=4)
        same(found, np.zeros((2, 3 if name in ("rfft", "ihfft") else 4), result))
    same(fft.irfftn(tl.zeros((0, 2, 0)), s=(3, 4), axes=(0, 2)), np.zeros((3, 2, 4)))


X = partial(tl.ones, (3, 4))
INTEGERS = partial(tl.ones, (3,), dtype=tl.int64)


@pytest.mark.parametrize("name", [*LINES, *SEVERAL])
def test_refused_operands(name):
    transform = getattr(fft, name)
    with pytest.raises(TypeError, match=rf"^{name}: must be called with a tensor, got .*asarray"):
        transform(np.ones(3, ">f8"))
    same(transform(INTEGERS()), host(transform(tl.ones((3,)))))
    if name in ("rfft", "ihfft", "rfftn"):
        with pytest.raises(TypeError, match=f"^{name}: only real floating .* got complex64"):
            transform(tl.ones((3,), dtype=tl.complex64))
    for norm in ("other", None):
        with pytest.raises(ValueError, match=f"^{name}: norm must be 'backward', 'ortho' or"):
            transform(X(), norm=norm)
    with pytest.raises(ValueError, match=rf"^{name}: sizes along axes .* must be at least 1"):
        transform(tl.ones((2, 0)))


@pytest.mark.parametrize("name", LINES)
def test_refused_lines(name):
    transform = getattr(fft, name)
    for n in (0, -1):
        with pytest.raises(ValueError, match=f"^{name}: n must be at least 1, got {n}"):
            transform(X(), n=n)
    with pytest.raises(TypeError, match=f"^{name}: n must be an integer, got 2.5"):
        transform(X(), n=2.5)
    with pytest.raises(TypeError, match=f"^{name}: axis must be an integer, got 0.5"):
        transform(X(), axis=0.5)
    for axis in (2, -3):
        with pytest.raises(
            IndexError, match=f"^{name}: axis .* is out of bounds for array of dimension 2"
        ):
            transform(X(), axis=axis)
    with pytest.raises(ValueError, match=f"^{name}: axis"):
        transform(tl.ones(()))


@pytest.mark.parametrize("name", SEVERAL)
def test_refused_axes(name):
    transform = getattr(fft, name)
    for error, message, options in [
        (ValueError, "s needs axes", {"s": (2, 2)}),
        (ValueError, "s and axes must be equally many", {"s": (2,), "axes": (0, 1)}),
        (ValueError, "sizes along axes .* must be at least 1", {"s": (0, 2), "axes": (0, 1)}),
        (ValueError, "sizes along axes .* must be at least 1", {"s": (2, -2), "axes": (0, 1)}),
        (ValueError, "axes must not name a dimension twice", {"axes": (0, -2)}),
        (IndexError, "axis 2 is out of bounds for array of dimension 2", {"axes": (0, 2)}),
        (TypeError, "axes must be an integer or a sequence of integers", {"axes": (0.5,)}),
        (TypeError, "s must be an integer or a sequence of integers", {"s": (2.5,), "axes": (0,)}),
    ]:
        with pytest.raises(error, match=f"^{name}: {message}"):
            transform(X(), **options)
    if name in ("rfftn", "irfftn"):
        for x in (X(), tl.ones(())):
            with pytest.raises(ValueError, match=f"^{name}: needs at least one axis"):
                transform(x, axes=())


@pytest.mark.parametrize("name", [*LINES, *SEVERAL])
def test_each_call_is_one_record_and_no_layout_is_changed_before(name):
    x = tl.to_layout(X(), (0, 1))
    with tl.trace() as seen:
        result = getattr(fft, name)(x)
    (record,) = seen
    assert (record.name, record.kind, record.inputs) == (name, "compute", (x.layout,))
    assert record.output == result.layout


# --- frequencies and shifts --------------------------------------------------------------------


@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
def test_refused_frequencies(name):
    function = getattr(fft, name)
    for error, message, n, options in [
        (ValueError, f"{name}: n must be at least 1, got 0", 0, {}),
        (TypeError, f"{name}: n must be an integer, got 2.5", 2.5, {}),
        (ValueError, f"{name}: d must not be 0", 4, {"d": 0}),
        (TypeError, f"{name}: dtype must be real floating, got int8", 4, {"dtype": tl.int8}),
        (
            TypeError,
            f"{name}: dtype must be real floating, got complex64",
            4,
            {"dtype": "complex64"},
        ),
        (ValueError, f"{name}: device must be one of those available", 4, {"device": "moon"}),
    ]:
        with pytest.raises(error, match=f"^{message}"):
            function(n, **options)


def test_refused_shifts():
    for name in ("fftshift", "ifftshift"):
        with pytest.raises(
            IndexError, match=f"^{name}: axis .* is out of bounds for array of dimension 2"
        ):
            getattr(fft, name)(X(), axes=2)
        with pytest.raises(TypeError, match=f"^{name}: axes must be an integer or a seq"):
            getattr(fft, name)(X(), axes=0.5)
        with pytest.raises(TypeError, match=f"^{name}: must be called with a tensor"):
            getattr(fft, name)([1])
