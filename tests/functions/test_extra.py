"""`pad`, `einsum` and the other names beyond the standard, against NumPy, in every layout."""

import warnings

import numpy as np
import pytest
from layouts import TENSORS
from tensors import (
    BFLOAT16,
    DTYPES,
    as_dtype,
    asarray,
    fits,
    host,
    same,
    shared,
    slots,
    tensor_in,
)

import tensorlayout as tl

pytestmark = pytest.mark.usefixtures("device")

INT = np.dtype("int16")


def tensors_in_every_layout(dtype=INT):
    for layout in TENSORS:
        if fits(layout, dtype):
            x, array = tensor_in(layout, slots(dtype, layout.required_size, finite=True))
            yield layout, x, array


# --- pad -----------------------------------------------------------------------------------------

MODES = ["constant", "edge", "reflect", "symmetric", "wrap"]


@pytest.mark.parametrize("mode", MODES)
def test_pad_in_every_layout(mode):
    for layout, x, array in tensors_in_every_layout():
        if array.size == 0 and mode != "constant":
            continue
        widths = [(d % 3, 2 - d % 2) for d in range(layout.ndim)] if layout.ndim < 9 else 0
        found = tl.pad(x, widths, mode)
        same(found, np.pad(array, widths or 0, mode), str(layout))
        assert found.layout.is_packed
        assert found.layout.minor_to_major == layout.minor_to_major


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", DTYPES["any"])
def test_pad_of_every_dtype(mode, dtype):
    array = slots(as_dtype(dtype), 6).reshape(2, 3)
    same(tl.pad(asarray(array), ((1, 2), (7, 0)), mode), np.pad(array, ((1, 2), (7, 0)), mode))


@pytest.mark.parametrize("mode", MODES[1:])
def test_pad_by_more_than_there_is(mode):
    for n in (1, 2, 3):
        array = np.arange(n)
        same(tl.pad(asarray(array), (8, 9), mode), np.pad(array, (8, 9), mode))


@pytest.mark.parametrize(
    ("widths", "pairs"),
    [
        (1, ((1, 1), (1, 1))),
        ((1, 2), ((1, 2), (1, 2))),
        ([(1, 2)], ((1, 2), (1, 2))),
        (((1, 2), (0, 3)), ((1, 2), (0, 3))),
        ({1: (2, 1)}, ((0, 0), (2, 1))),
        ({-2: 1}, ((1, 1), (0, 0))),
        ({}, ((0, 0), (0, 0))),
        (0, ((0, 0), (0, 0))),
    ],
)
def test_pad_widths(widths, pairs):
    array = np.arange(6).reshape(2, 3)
    same(tl.pad(asarray(array), widths), np.pad(array, pairs))


def test_constants():
    array = np.arange(4.0).reshape(2, 2)
    x = asarray(array)
    for values in (7, (1, 2), ((1, 2), (3, 4)), np.float32(5), tl.asarray(6.0)):
        given = host(values)
        same(tl.pad(x, 1, constant_values=values), np.pad(array, 1, constant_values=given))
    large = tl.pad(tl.asarray([1], dtype=tl.uint64), 1, constant_values=2**64 - 1)
    same(large, np.array([2**64 - 1, 1, 2**64 - 1], np.uint64))
    bfloat = tl.pad(tl.asarray([1.0], dtype=tl.bfloat16), (1, 0), constant_values=np.nan)
    same(bfloat, np.array([np.nan, 1], BFLOAT16))


def test_pad_of_nothing():
    x = tl.zeros((0, 2))
    same(tl.pad(x, ((1, 0), (0, 0)), constant_values=3), np.full((1, 2), 3.0))
    with pytest.raises(ValueError, match="pad: mode 'edge' cannot extend dimension 0 of size 0"):
        tl.pad(x, 1, "edge")
    same(tl.pad(tl.asarray(5), 1), np.array(5))


def test_pad_refuses():
    x = tl.ones((2, 3))
    with pytest.raises(ValueError, match=r"pad: mode must be one of constant, .*, got 'mean'"):
        tl.pad(x, 1, "mean")
    with pytest.raises(ValueError, match="pad: pad_width must not be negative, got -1"):
        tl.pad(x, -1)
    with pytest.raises(TypeError, match=r"pad: pad_width must be integers, got 0\.5"):
        tl.pad(x, 0.5)
    with pytest.raises(ValueError, match="pad: pad_width must be a number, a pair or 2 pairs"):
        tl.pad(x, ((1, 1),) * 3)
    with pytest.raises(TypeError, match="pad: complex cannot be written into float64"):
        tl.pad(x, 1, constant_values=1j)
    with pytest.raises(TypeError, match=r"pad: must be called with a tensor, got numpy\.ndarray"):
        tl.pad(np.ones(2, ">f8"), 1)


# --- diag and transpose --------------------------------------------------------------------------


@pytest.mark.parametrize("k", [-5, -1, 0, 1, 2, 9])
def test_diagonals_are_views(k):
    for layout, x, array in tensors_in_every_layout():
        if layout.ndim == 2:
            found = tl.diag(x, k)
            same(found, np.diag(array, k), f"{layout}, {k}")
            assert found.size == 0 or shared(found, x) or layout.is_tiled


@pytest.mark.parametrize("dtype", DTYPES["any"])
def test_diagonal_matrices(dtype):
    values = slots(as_dtype(dtype), 3)
    for k in (-2, 0, 1):
        found = tl.diag(asarray(values), k)
        same(found, np.diag(values, k))
        assert found.layout.is_row_major
    same(tl.diag(tl.flip(asarray(values))), np.diag(values[::-1]))
    assert tl.diag(tl.zeros((0,)), 2).shape == (2, 2)


def test_diagonals_can_be_written():
    x = tl.zeros((2, 3), layout=(0, 1))
    tl.diag(x, 1)[...] = 5
    same(x, np.array([[0.0, 5, 0], [0, 0, 5]]))
    for shape in ((), (2, 2, 2)):
        with pytest.raises(ValueError, match="diag: needs a rank of 1 or 2, got shape"):
            tl.diag(tl.zeros(shape))


def test_transposes_are_views():
    for layout, x, array in tensors_in_every_layout():
        found = tl.transpose(x)
        same(found, array.T, str(layout))
        axes = [*range(1, layout.ndim), 0] if layout.ndim else []
        same(tl.transpose(x, axes), array.transpose(axes), str(layout))
        assert found.size == 0 or shared(found, x)


# --- put_along_axis ------------------------------------------------------------------------------


def test_put_along_axis_in_every_layout():
    for layout in TENSORS:
        if layout.is_overlapping or layout.ndim == 0 or 0 in layout.shape or layout.ndim > 4:
            continue
        values = np.arange(layout.required_size, dtype=np.float32)
        for axis in (0, -1):
            if not fits(layout, values.dtype):
                continue
            x, array = tensor_in(layout, values)
            expected = array.copy()
            order = np.argsort(-array, axis=axis)
            np.put_along_axis(expected, order, array, axis=axis)
            assert tl.put_along_axis(x, asarray(order), x.copy(), axis=axis) is None
            same(x, expected, str(layout))
            assert x.layout is layout


def test_put_along_axis_broadcasts():
    x = tl.zeros((2, 3), dtype=tl.int8)
    tl.put_along_axis(x, tl.asarray([[-1]]), 7)
    same(x, np.array([[0, 0, 7], [0, 0, 7]], np.int8))
    tl.put_along_axis(x, tl.asarray([[0], [1]]), values=tl.asarray([[2.9], [3.9]]), axis=1)
    same(x, np.array([[2, 0, 7], [0, 3, 7]], np.int8))
    tl.put_along_axis(x, tl.asarray([[0, 0]]), tl.asarray([[4, 5]]), axis=-1)
    same(x, np.array([[5, 0, 7], [5, 3, 7]], np.int8))


def test_put_along_axis_refuses():
    x = tl.zeros((2, 3))
    with pytest.raises(IndexError, match="3"):
        tl.put_along_axis(x, tl.asarray([[3]]), 1)
    with pytest.raises(TypeError, match=r"put_along_axis: only integral dtypes .* got float64"):
        tl.put_along_axis(x, tl.asarray([[0.0]]), 1)
    for shape in ((3,), (3, 1), (1, 1, 1)):
        with pytest.raises(ValueError, match=r"put_along_axis: indices of shape .* do not fit"):
            tl.put_along_axis(x, tl.zeros(shape, dtype=tl.int64), 1)
    with pytest.raises(ValueError, match="share slots"):
        tl.put_along_axis(tl.broadcast_to(x, (2, 2, 3)), tl.zeros((1, 1, 1), dtype=tl.int8), 1)
    same(x, np.zeros((2, 3)))


# --- isclose -------------------------------------------------------------------------------------


def numpys_closeness(a, b, **given):
    wide = a.dtype if a.dtype.kind in "fc" and a.dtype != BFLOAT16 else np.float64
    with np.errstate(all="ignore"):
        return np.isclose(a.astype(wide), b.astype(wide), **given)


@pytest.mark.parametrize("dtype", DTYPES["any"])
@pytest.mark.parametrize("equal_nan", [False, True])
def test_isclose_of_every_dtype(dtype, equal_nan):
    values = slots(as_dtype(dtype), 60)
    for array in (values[::-1].copy(), values + values.dtype.type(1), values):
        found = tl.isclose(asarray(values), asarray(array), equal_nan=equal_nan)
        expected = numpys_closeness(values, array, equal_nan=equal_nan)
        same(found, expected)
        answer = tl.allclose(asarray(values), asarray(array), equal_nan=equal_nan)
        assert answer is bool(expected.all())


def test_isclose_in_every_layout():
    for layout, x, array in tensors_in_every_layout():
        found = tl.isclose(x, 3, atol=2)
        same(found, np.isclose(array, 3, atol=2), str(layout))
        assert found.layout == layout.form
        same(tl.isclose(3.5, x, 0.25), np.isclose(3.5, array, 0.25), str(layout))


def test_isclose_of_special_numbers():
    values = np.array([0.0, -0.0, 1e-9, np.inf, -np.inf, np.nan, 1e308, -1e308, 5e-324])
    a, b = (np.broadcast_to(each, (9, 9)) for each in (values, values[:, None]))
    with np.errstate(all="ignore"):
        same(tl.isclose(asarray(a), asarray(b)), np.isclose(a, b))
        found = tl.isclose(asarray(a), asarray(b), 0, np.inf, True)
        same(found, np.isclose(a, b, 0, np.inf, True))
    assert tl.allclose(asarray(values[:0]), asarray(values[:0]))


# --- einsum --------------------------------------------------------------------------------------

SUBSCRIPTS = [
    "ij->ji",
    "ij->",
    "ij,ij->i",
    "ij,kj->ik",
    "ij,j->i",
    "...j,...j->...",
    "ij,kj,kl->il",
]
SHAPES = {"i": 2, "j": 3, "k": 4, "l": 5}


def operands_for(subscripts, dtype):
    for number, labels in enumerate(subscripts.split("->")[0].split(",")):
        shape = [SHAPES[label] for label in labels.replace("...", "ki")]
        yield (np.arange(np.prod(shape)).reshape(shape) % 3 + number).astype(dtype)


@pytest.mark.parametrize("subscripts", SUBSCRIPTS)
@pytest.mark.parametrize("dtype", DTYPES["any"])
def test_einsum(subscripts, dtype):
    arrays = list(operands_for(subscripts, as_dtype(dtype)))
    wide = [a.astype(np.float64) if dtype in DTYPES["real floating"] else a for a in arrays]
    expected = host(np.einsum(subscripts, *wide)).astype(as_dtype(dtype))
    given = [asarray(a, layout=tuple(range(a.ndim))) for a in arrays]
    found = tl.einsum(subscripts, *given)
    same(found, expected)
    assert found.layout.is_row_major


def test_einsum_in_every_layout():
    for layout, x, array in tensors_in_every_layout(np.dtype("int64")):
        found = tl.einsum("...->...", x)
        same(found, array, str(layout))
        assert found.layout.is_row_major
        assert not shared(found, x)
        if layout.ndim == 2:
            same(tl.einsum("ij,kj->ik", x, x), array @ array.T, str(layout))


def test_einsum_promotes():
    mask, x = tl.asarray([True, False]), tl.asarray([2, 3], dtype=tl.int8)
    same(tl.einsum("i,i->", mask, x), np.array(2, np.int8))
    same(tl.einsum("i,i->i", x, tl.asarray([0.5, 1.0])), np.array([1.0, 3.0]))


def test_einsum_refuses():
    x = tl.ones((2, 3))
    with pytest.raises(ValueError, match=r"einsum: 'ij,ij,ij->' does not fit shapes \(2, 3\)"):
        tl.einsum("ij,ij,ij->", x, x)
    with pytest.raises(ValueError, match="einsum: 'ij,jk' does not fit"):
        tl.einsum("ij,jk", x, x)
    with pytest.raises(TypeError, match="einsum: the first argument must be the subscripts"):
        tl.einsum(x, [0, 1])
    rule = r"einsum: operands\[0\] must be a tensor, got numpy\.ndarray"
    with pytest.raises(TypeError, match=rule):
        tl.einsum("ij", np.ones((2, 3), ">f8"))


# --- gradient, bincount, logspace ----------------------------------------------------------------


@pytest.mark.parametrize("edge_order", [1, 2])
def test_gradient_in_every_layout(edge_order):
    for layout in TENSORS:
        if layout.ndim == 0 or min(layout.shape) <= edge_order or not fits(layout, INT):
            continue
        values = (np.arange(layout.required_size) % 7).astype(np.float64)
        if fits(layout, values.dtype):
            x, array = tensor_in(layout, values)
            for axis in range(layout.ndim):
                places = np.arange(layout.shape[axis]) ** 2 * 0.5
                for given in ((), (2,), (0.25,), (places,)):
                    expected = np.gradient(array, *given, axis=axis, edge_order=edge_order)
                    found = tl.gradient(x, *given, axis=axis, edge_order=edge_order)
                    same(found, expected, f"{layout}, {axis}")


def test_gradient_along_several_axes():
    array = np.arange(12.0).reshape(3, 4) ** 2
    x = asarray(array, layout=(0, 1))
    places = tl.asarray([0.0, 1.0, 4.0, 9.0])
    for given in ((), (2.0,), (0.5, places)):
        expected = np.gradient(array, *(host(g) for g in given))
        found = tl.gradient(x, *given)
        assert type(found) is tuple
        for one, other in zip(found, expected, strict=True):
            same(one, other)


@pytest.mark.parametrize("dtype", DTYPES["real numeric"])
def test_gradient_of_every_dtype(dtype):
    array = np.array([1, 2, 4, 9]).astype(as_dtype(dtype))
    kept = as_dtype(dtype) if dtype in DTYPES["real floating"] else np.dtype(np.float64)
    same(tl.gradient(asarray(array)), np.array([1, 1.5, 3.5, 5], kept))
    places = np.array([0.0, 1, 2, 3])
    same(tl.gradient(asarray(array), places), np.array([1, 1.5, 3.5, 5], kept))


def test_gradient_refuses():
    with pytest.raises(ValueError, match=r"gradient: needs 2 elements along each axis"):
        tl.gradient(tl.ones((1,)))
    with pytest.raises(
        IndexError, match=r"gradient: axis .* is out of bounds for array of dimension 1"
    ):
        tl.gradient(tl.ones((3,)), axis=1)


@pytest.mark.parametrize("dtype", DTYPES["integral"])
def test_bincount(dtype):
    array = np.array([3, 1, 1, 0, 5], as_dtype(dtype))
    x = tl.flip(asarray(array))
    same(tl.bincount(x), np.array([1, 2, 0, 1, 0, 1]))
    same(tl.bincount(x, minlength=8), np.array([1, 2, 0, 1, 0, 1, 0, 0]))
    for kind in ("float16", "bfloat16", "float32", "int8"):
        weights = tl.asarray([1, 2, 4, 8, 16], dtype=kind)
        same(tl.bincount(x, weights), np.array([2.0, 12, 0, 16, 0, 1]))
    same(tl.bincount(x[:0], minlength=2), np.array([0, 0]))


def test_bincount_refuses():
    with pytest.raises(ValueError, match="bincount: the integers must not be negative"):
        tl.bincount(tl.asarray([1, -1]))
    with pytest.raises(TypeError, match="bincount: only integral dtypes are allowed, got float64"):
        tl.bincount(tl.asarray([1.0]))
    with pytest.raises(ValueError, match="bincount: needs rank 1"):
        tl.bincount(tl.ones((2, 2), dtype=tl.int8))
    with pytest.raises(ValueError, match="weights of the same shape"):
        tl.bincount(tl.asarray([1, 1]), tl.ones((3,)))


def test_logspace():
    np.testing.assert_allclose(host(tl.logspace(0, 2, 7)), np.logspace(0, 2, 7), 1e-15)
    same(tl.logspace(0, 3, 3, endpoint=False, base=2), np.array([1.0, 2.0, 4.0]))
    same(tl.logspace(0, 2, 3, dtype=tl.float32), np.array([1, 10, 100], np.float32))
    same(tl.logspace(0, 3, 4, base=2, dtype=tl.bfloat16), np.array([1, 2, 4, 8], BFLOAT16))
    assert tl.logspace(0, 1).shape == (50,)
    assert tl.logspace(0, 1, 0).shape == (0,)


# --- covariances -----------------------------------------------------------------------------


def numpys_covariances(name, array, **given):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(getattr(np, name)(array, **given))


def check_covariances(name, x, array, dtype, **given):
    wide = np.complex128 if dtype.kind == "c" else np.float64
    expected = numpys_covariances(name, array.astype(wide), **given)
    found = getattr(tl, name)(x, **given)
    assert (found.dtype, found.shape) == (np.dtype(wide), expected.shape)
    np.testing.assert_allclose(host(found), expected, 1e-13, 1e-13)


@pytest.mark.parametrize("name", ["cov", "corrcoef"])
def test_covariances_in_every_layout(name):
    dtype = INT
    for layout in TENSORS:
        if fits(layout, dtype):
            x, array = tensor_in(layout, slots(dtype, layout.required_size) % 64)
            if layout.ndim > 2:
                with pytest.raises(ValueError, match=f"^{name}: needs a rank of at most 2"):
                    getattr(tl, name)(x)
                continue
            for rowvar in (True, False):
                check_covariances(name, x, array, dtype, rowvar=rowvar)


@pytest.mark.parametrize("dtype", DTYPES["any"])
@pytest.mark.parametrize("name", ["cov", "corrcoef"])
def test_covariances_of_every_dtype(name, dtype):
    array = np.array([[1, 0, 1, 1], [0, 1, 1, 0], [1, 0, 0, 0]]).astype(as_dtype(dtype))
    check_covariances(name, asarray(array), array, as_dtype(dtype))
    for wanted in ("float32", "float64"):
        if array.dtype.kind != "c":
            found = getattr(tl, name)(asarray(array), dtype=as_dtype(wanted))
            assert found.dtype == np.dtype(wanted)


def test_covariances_of_two_tensors_and_of_few_observations():
    array, other = np.arange(8.0).reshape(2, 4) ** 2, np.array([3.0, 1.0, 2.0, 5.0])
    for given in (
        {},
        {"bias": True},
        {"ddof": 2},
        {"ddof": 4},
        {"ddof": 9},
        {"bias": True, "ddof": 1},
    ):
        expected = numpys_covariances("cov", array, y=other, **given)
        np.testing.assert_allclose(
            host(tl.cov(asarray(array), asarray(other), **given)), expected, 1e-14
        )
    expected = numpys_covariances("corrcoef", array, y=other)
    np.testing.assert_allclose(host(tl.corrcoef(asarray(array), asarray(other))), expected, 1e-14)
    for shape in ((), (1,), (0,), (3, 0), (0, 3), (3, 1), (1, 3)):
        for name in ("cov", "corrcoef"):
            found = getattr(tl, name)(tl.ones(shape))
            np.testing.assert_array_equal(
                host(found), numpys_covariances(name, np.ones(shape)), str(shape)
            )
