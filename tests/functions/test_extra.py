"""`pad`, `einsum` and the other names beyond the standard: keywords, special values, errors."""

import warnings

import numpy as np
import pytest
from tensors import BFLOAT16, as_dtype, asarray, host, same, shared

import tensorlayout as tl

pytestmark = pytest.mark.usefixtures("device")


# --- pad -----------------------------------------------------------------------------------------

MODES = ["constant", "edge", "reflect", "symmetric", "wrap"]


@pytest.mark.parametrize(
    ("widths", "pairs"),
    [
        (1, ((1, 1), (1, 1))),
        ((1, 2), ((1, 2), (1, 2))),
        ([(1, 2)], ((1, 2), (1, 2))),
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


# --- diag and transpose --------------------------------------------------------------------------


def test_diagonals_can_be_written():
    x = tl.zeros((2, 3), layout=(0, 1))
    tl.diag(x, 1)[...] = 5
    same(x, np.array([[0.0, 5, 0], [0, 0, 5]]))
    for shape in ((), (2, 2, 2)):
        with pytest.raises(ValueError, match="diag: needs a rank of 1 or 2, got shape"):
            tl.diag(tl.zeros(shape))


# --- put_along_axis ------------------------------------------------------------------------------


def test_put_along_axis_broadcasts():
    x = tl.zeros((2, 3), dtype=tl.int8)
    tl.put_along_axis(x, tl.asarray([[-1]]), 7)
    same(x, np.array([[0, 0, 7], [0, 0, 7]], np.int8))
    tl.put_along_axis(x, tl.asarray([[0], [1]]), values=tl.asarray([[2.9], [3.9]]), axis=1)
    same(x, np.array([[2, 0, 7], [0, 3, 7]], np.int8))
    tl.put_along_axis(x, tl.asarray([[0, 0]]), tl.asarray([[4, 5]]), axis=-1)
    same(x, np.array([[5, 0, 7], [5, 3, 7]], np.int8))


# --- isclose -------------------------------------------------------------------------------------


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
    "...->...",
    "ij,kj->ik",
    "...j,...j->...",
    "ij,kj,kl->il",
]
SHAPES = {"i": 2, "j": 3, "k": 4, "l": 5}


def operands_for(subscripts, dtype):
    for number, labels in enumerate(subscripts.split("->")[0].split(",")):
        shape = [SHAPES[label] for label in labels.replace("...", "ki")]
        yield (np.arange(np.prod(shape)).reshape(shape) % 3 + number).astype(dtype)


@pytest.mark.parametrize("subscripts", SUBSCRIPTS)
@pytest.mark.parametrize("dtype", ["bool", "int8", "float32"])
def test_einsum(subscripts, dtype):
    arrays = list(operands_for(subscripts, dtype))
    expected = host(np.einsum(subscripts, *arrays))
    given = [asarray(a, layout=tuple(range(a.ndim))) for a in arrays]
    found = tl.einsum(subscripts, *given)
    same(found, expected)
    assert found.layout.is_row_major
    assert not shared(found, given[0])


def test_einsum_promotes():
    mask, x = tl.asarray([True, False]), tl.asarray([2, 3], dtype=tl.int8)
    same(tl.einsum("i,i->", mask, x), np.array(2, np.int8))
    same(tl.einsum("i,i->i", x, tl.asarray([0.5, 1.0])), np.array([1.0, 3.0]))


# --- gradient, bincount, logspace ----------------------------------------------------------------


@pytest.mark.parametrize("edge_order", [1, 2])
@pytest.mark.parametrize("dtype", ["int16", "float32", "float64"])
def test_gradient_at_uneven_places(dtype, edge_order):
    array = np.array([1, 2, 4, 9], dtype)
    places = np.arange(4.0) ** 2 * 0.5
    expected = np.gradient(array.astype(float), places, edge_order=edge_order)
    found = tl.gradient(asarray(array), places, edge_order=edge_order)
    same(found, expected.astype("float32" if dtype == "float32" else "float64"))


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


def test_bincount():
    x = tl.flip(tl.asarray([3, 1, 1, 0, 5]))
    same(tl.bincount(x, minlength=8), np.array([1, 2, 0, 1, 0, 1, 0, 0]))
    for kind in ("float16", "bfloat16", "float32", "int8"):
        weights = tl.asarray([1, 2, 4, 8, 16], dtype=kind)
        same(tl.bincount(x, weights), np.array([2.0, 12, 0, 16, 0, 1]))
    same(tl.bincount(x[:0], minlength=2), np.array([0, 0]))


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


@pytest.mark.parametrize("name", ["cov", "corrcoef"])
def test_dtypes_of_covariances(name):
    array = np.array([[1, 0, 1, 1], [0, 1, 1, 0]])
    for dtype in ("bool", "uint64", "bfloat16"):
        x = asarray(array.astype(as_dtype(dtype)))
        same(getattr(tl, name)(x), numpys_covariances(name, array))
        assert getattr(tl, name)(x, dtype=tl.float32).dtype == tl.float32
    with pytest.raises(ValueError, match=f"^{name}: needs a rank of at most 2"):
        getattr(tl, name)(tl.ones((2, 2, 2)))


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
