"""The extension `fft`: NumPy in double precision as the oracle, and the definition itself."""

import math
from functools import partial

import numpy as np
import pytest
from layouts import TENSORS
from tensors import DTYPES, as_dtype, asarray, fits, host, kind, same, shared, slots, tensor_in

import tensorlayout as tl
from tensorlayout import fft

pytestmark = pytest.mark.usefixtures("device")

FLOATS = DTYPES["floating-point"]
REAL = DTYPES["real floating"]
ROW_MAJOR = tl.Layout.row_major
NORMS = ("backward", "ortho", "forward")

# What each transform makes of lines of m elements: how many, and whether they are real.
LINES = {
    "fft": (lambda m: m, complex),
    "ifft": (lambda m: m, complex),
    "rfft": (lambda m: m // 2 + 1, complex),
    "irfft": (lambda m: 2 * m - 2, float),
    "hfft": (lambda m: 2 * m - 2, float),
    "ihfft": (lambda m: m // 2 + 1, complex),
}
SEVERAL = ["fftn", "ifftn", "irfftn", "rfftn"]
OTHERS = ["fftfreq", "fftshift", "ifftshift", "rfftfreq"]


def test_every_function_is_tested():
    assert sorted([*LINES, *SEVERAL, *OTHERS]) == sorted(fft.__all__)


def wide(a):
    return a.astype(np.complex128 if kind(a.dtype) == "c" else np.float64)


def dtype_of(result, dtype):
    """The dtype of a result that is `float` or `complex`, from the operand's."""
    if result is complex:
        return np.dtype("complex128" if dtype in ("float64", "complex128") else "complex64")
    return {"complex64": np.dtype("float32"), "complex128": np.dtype("float64")}.get(
        dtype, as_dtype(dtype)
    )


def near(found, expected, result, dtype):
    """Shape, dtype and row-major form; values within a few units of the largest one's eps."""
    assert (found.shape, found.dtype) == (expected.shape, dtype_of(result, dtype))
    assert found.layout == ROW_MAJOR(expected.shape)
    assert host(found).flags.c_contiguous
    tolerance = 8 * float(tl.finfo(found.dtype).eps) * float(np.abs(expected).max(initial=0))
    np.testing.assert_allclose(wide(host(found)), expected, 0, tolerance)


def tensors(dtype):
    """Tensors in every layout of rank 1 and up, and their elements in double precision."""
    for seed, layout in enumerate(TENSORS):
        if layout.ndim and layout.ndim < 12 and fits(layout, as_dtype(dtype)):
            parts = np.random.default_rng(seed).integers(-16, 17, (2, layout.required_size)) / 8
            values = parts[0] + 1j * parts[1] if kind(as_dtype(dtype)) == "c" else parts[0]
            x, a = tensor_in(layout, values.astype(as_dtype(dtype)))
            yield x, wide(a)


def taken(name):
    return REAL if name in ("rfft", "ihfft", "rfftn") else FLOATS


@pytest.mark.parametrize(("name", "dtype"), [(n, d) for n in LINES for d in taken(n)])
def test_lines_in_every_layout(name, dtype):
    count, result = LINES[name]
    for x, a in tensors(dtype):
        for axis in range(-x.ndim, x.ndim):
            if count(x.shape[axis]) > 0 and x.shape[axis] > 0:
                found = getattr(fft, name)(x, axis=axis)
                assert found.shape[axis] == count(x.shape[axis])
                near(found, getattr(np.fft, name)(a, axis=axis), result, dtype)


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("norm", NORMS)
def test_cut_and_padded_lines(name, norm):
    for x, a in tensors("float32"):
        for n in (1, 2, 3, 8) if x.shape[0] else ():
            found = getattr(fft, name)(x, n=n, axis=0, norm=norm)
            near(found, getattr(np.fft, name)(a, n, 0, norm), LINES[name][1], "float32")


@pytest.mark.parametrize(("name", "dtype"), [(n, d) for n in SEVERAL for d in taken(n)])
def test_several_axes_in_every_layout(name, dtype):
    result = float if name == "irfftn" else complex
    for x, a in tensors(dtype):
        for axes in {
            None,
            (-1,),
            (0, -1) if x.ndim > 1 else (0,),
            (x.ndim - 1, *range(x.ndim - 1)),
        }:
            dims = range(x.ndim) if axes is None else axes
            if all(x.shape[d] > (name == "irfftn") for d in dims):
                found = getattr(fft, name)(x, axes=axes)
                expected = getattr(np.fft, name)(a, axes=tuple(dims))
                near(found, expected, result, dtype)


@pytest.mark.parametrize("name", SEVERAL)
@pytest.mark.parametrize("norm", NORMS)
def test_sizes_of_several_axes(name, norm):
    rng = np.random.default_rng(0)
    a = rng.random((3, 4, 5))
    x = tl.to_layout(asarray(a), (1, 2, 0))
    result = float if name == "irfftn" else complex
    for s, axes in [((2, 7), (0, 2)), ((4, 4), (-1, 1)), ([3, 1, 6], [2, 0, 1])]:
        expected = getattr(np.fft, name)(a, tuple(s), tuple(axes), norm)
        near(getattr(fft, name)(x, s=s, axes=axes, norm=norm), expected, result, "float64")
    # -1 takes all there is: 5 elements of the half of a line of 8.
    s = (2, 8 if name == "irfftn" else 5)
    same(
        getattr(fft, name)(x, s=(2, -1), axes=(0, 2), norm=norm),
        host(getattr(fft, name)(x, s=s, axes=(0, 2), norm=norm)),
    )


@pytest.mark.parametrize("sizes", [(1,), (2,), (7,), (3, 4)])
def test_the_definition(sizes):
    rng = np.random.default_rng(1)
    a = rng.random(sizes) + 1j * rng.random(sizes)
    expected = a
    for axis, n in enumerate(sizes):
        turns = np.exp(-2j * np.pi * np.outer(np.arange(n), np.arange(n)) / n)
        expected = np.moveaxis(np.moveaxis(expected, axis, -1) @ turns, -1, axis)
    np.testing.assert_allclose(host(fft.fftn(asarray(a))), expected, 1e-12)


@pytest.mark.parametrize("norm", NORMS)
def test_round_trips(norm):
    rng = np.random.default_rng(2)
    for n in (1, 2, 5, 8):
        a = rng.random((3, n))
        x = asarray(a, layout=(0, 1))
        for there, back, size in (
            (fft.fft, fft.ifft, {}),
            (fft.rfft, fft.irfft, {"n": n}),
            (fft.ihfft, fft.hfft, {"n": n}),
        ):
            found = back(there(x, norm=norm), norm=norm, **size)
            np.testing.assert_allclose(host(found), a, 1e-12)


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
    for name, (_, result) in LINES.items():
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


@pytest.mark.parametrize("dtype", [None, *REAL])
@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_frequencies(n, dtype):
    kinds = np.dtype("float64") if dtype is None else as_dtype(dtype)
    for d in (1.0, 0.5, -4.0):
        whole = [k - n * (k >= (n + 1) // 2) for k in range(n)]
        same(fft.fftfreq(n, d=d, dtype=dtype), (np.array(whole) / (d * n)).astype(kinds))
        half = np.arange(n // 2 + 1) / (d * n)
        same(fft.rfftfreq(n, d=d, dtype=dtype, device=tl.default_device()), half.astype(kinds))


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


@pytest.mark.parametrize("dtype", DTYPES["any"])
def test_shifts_in_every_layout(dtype):
    for layout in TENSORS:
        if layout.ndim == 12 or not fits(layout, as_dtype(dtype)):
            continue
        x, a = tensor_in(layout, slots(as_dtype(dtype), layout.required_size))
        for axes in {
            None,
            (),
            *([-1, (0,), (0, x.ndim - 1)][: 2 + (x.ndim > 1)] if x.ndim else []),
        }:
            for name in ("fftshift", "ifftshift"):
                found = getattr(fft, name)(x, axes=axes)
                # NumPy cannot shift along no axis at rank 0.
                same(found, getattr(np.fft, name)(a, axes=axes) if a.ndim else a)
                assert found.layout.is_packed
                assert not shared(found, x)


def test_shifts_of_frequencies():
    for n in (4, 5):
        found = fft.fftshift(fft.fftfreq(n))
        assert [round(float(f) * n) for f in found] == list(range(-(n // 2), math.ceil(n / 2)))
        same(fft.ifftshift(found), host(fft.fftfreq(n)))


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
