"""Linear algebra functions against NumPy."""

import itertools

import numpy as np
import pytest
from layouts import TENSORS
from tensors import (
    BFLOAT16,
    DTYPES,
    as_dtype,
    asarray,
    close,
    fits,
    host,
    kind,
    same,
    shared,
    slots,
    tensor_in,
)

import tensorlayout as tl
from tensorlayout.functions import linear_algebra

pytestmark = pytest.mark.usefixtures("device")


def product(a, b):
    """NumPy's, of 16-bit floats in float64, rounded."""
    if a.dtype.itemsize == 2 and kind(a.dtype) == "f":
        return host(np.matmul(a.astype(np.float64), b.astype(np.float64))).astype(a.dtype)
    return host(np.matmul(a, b))


SHAPES = [
    ((2, 3), (3, 4)),
    ((3,), (3,)),
    ((3,), (3, 4)),
    ((2, 3), (3,)),
    ((1, 1), (1, 1)),
    ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)),
    ((5, 1, 2, 3), (2, 3, 4)),
    ((3,), (5, 3, 4)),
    ((5, 2, 3), (3,)),
    ((0, 3), (3, 4)),
    ((2, 0), (0, 4)),
    ((0,), (0,)),
    ((5, 2, 0), (0,)),
    ((0, 2, 3), (1, 3, 4)),
]


@pytest.mark.parametrize(("first", "second"), SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES["numeric"])
def test_matmul(first, second, dtype):
    a, b = (
        (slots(as_dtype(dtype), 60, seed, finite=True)[: np.prod(shape)] % 8).reshape(shape)
        if kind(as_dtype(dtype)) in "iu"
        else np.resize(np.array([1, -2, 0.5, 3, -0.25, 0.125], as_dtype(dtype)), shape)
        for seed, shape in enumerate((first, second))
    )
    x, y = asarray(a), asarray(b)
    close(tl.matmul(x, y), product(a, b))
    close(x @ y, product(a, b))
    assert (x @ y).layout.is_row_major


def matrices():
    """Layouts of rank 2 and up, seen as left and right operands."""
    return [layout for layout in TENSORS if 2 <= layout.ndim <= 4]


@pytest.mark.parametrize("dtype", ["int16", "bfloat16", "float32", "complex128"])
def test_matmul_in_every_layout(dtype):
    for layout in matrices():
        if not fits(layout, as_dtype(dtype)):
            continue
        x, a = tensor_in(layout, _small(layout, dtype))
        y, b = tl.matrix_transpose(x), np.matrix_transpose(a)
        for left, right, c, d in [(x, y, a, b), (y, x, b, a)]:
            result = left @ right
            close(result, product(c, d), str(layout))
            assert str(result.layout) == str(tl.Layout.row_major(result.shape))


def _small(layout, dtype):
    values = np.array([1, -2, 0, 3, 5, -1, 2]).astype(as_dtype(dtype))  # unsigned ones wrap
    return np.resize(values, layout.required_size).astype(as_dtype(dtype))


def test_matmul_promotes():
    x = tl.ones((2, 3), dtype=tl.int8)
    for dtype, expected in [
        (tl.int8, tl.int8),
        (tl.uint8, tl.int16),
        (tl.int64, tl.int64),
        (tl.float32, tl.float32),
        (tl.bfloat16, tl.bfloat16),
        (tl.complex64, tl.complex64),
        (tl.bool, tl.int8),
    ]:
        y = tl.ones((3, 2), dtype=dtype)
        same(x @ y, np.full((2, 2), 3, expected))
        same(y @ x, np.full((3, 3), 2, expected))


def test_integers_of_matmul_wrap():
    x = tl.full((1, 3), 100, dtype=tl.int8)
    same(x @ x.T, np.array([[30000 % 256]], np.uint8).astype(np.int8))


def test_matmul_of_16_bits_is_rounded_at_the_end():
    for dtype in (np.dtype("float16"), BFLOAT16):
        x = tl.asarray([2.0**8, *[0.5] * 512, -(2.0**8)], dtype=dtype)
        same(x @ tl.ones_like(x), np.array(256, dtype))


def test_refused_operands_of_matmul():
    x, y = tl.ones((2, 3)), tl.ones((4, 2))
    for given in [(x, x), (x, tl.ones(2)), (tl.ones(2), tl.ones((3, 2))), (tl.ones((5, 2, 3)), x)]:
        with pytest.raises(ValueError, match=r"matmul: shapes .* do not match"):
            tl.matmul(*given)
    for given in [(x, tl.ones(())), (tl.ones(()), x), (tl.ones(()), tl.ones(()))]:
        with pytest.raises(ValueError, match=r"matmul: shapes .* do not match"):
            tl.matmul(*given)
    with pytest.raises(
        ValueError,
        match=r"matmul: shape mismatch: operands could not be broadcast together with shapes .*",
    ):
        tl.matmul(tl.ones((2, 2, 3)), tl.ones((3, 3, 4)))
    flags = tl.ones((2, 2), dtype=tl.bool)
    with pytest.raises(TypeError, match="matmul: only numeric dtypes are allowed, got bool, bool"):
        flags @ flags
    with pytest.raises(TypeError, match="matmul: must be called with a tensor, got float"):
        tl.matmul(y, 2.0)
    with pytest.raises(TypeError, match=r"asarray\(\)"):
        tl.matmul(y, np.ones((2, 3), ">f8"))
    for other in (2.0, None, [[1.0], [2.0]]):
        for pair in [(y, other), (other, y)]:
            with pytest.raises(TypeError, match="unsupported operand"):
                pair[0] @ pair[1]


def test_matmul_in_place():
    layout = tl.Layout.padded((2, 2), (3, 3), (0, 1), tl.PaddingValue.ONE)
    x = tl.asarray([[1.0, 2.0], [3.0, 4.0]], layout=layout)
    y = x
    y @= x
    same(x, np.array([[7.0, 10.0], [15.0, 22.0]]))
    assert y is x
    assert y.layout is layout
    y @= x.T
    a = np.array([[7.0, 10.0], [15.0, 22.0]])
    same(x, a @ a.T)


# --- matrix_transpose --------------------------------------------------------------------------


def test_matrix_transpose_is_a_view():
    for layout in matrices():
        if not fits(layout, np.dtype("int32")):
            continue
        x, array = tensor_in(layout, _small(layout, "int32"))
        view = tl.matrix_transpose(x)
        same(view, np.matrix_transpose(array))
        same(x.mT, np.matrix_transpose(array))
        assert view.size == 0 or shared(view, x)
        swapped = (*range(layout.ndim - 2), layout.ndim - 1, layout.ndim - 2)
        assert view.layout is layout.permute(swapped)


def test_matrix_transpose_needs_a_matrix():
    for x in (tl.ones(()), tl.ones((3,))):
        with pytest.raises(ValueError, match="matrix_transpose: needs a rank of at least 2"):
            tl.matrix_transpose(x)
    with pytest.raises(TypeError, match="matrix_transpose: must be called with a tensor"):
        tl.matrix_transpose(np.ones((2, 2), ">f8"))


@pytest.mark.parametrize("orders", [*itertools.product([(0, 1), (1, 0)], repeat=2)], ids=str)
def test_large_products_in_every_order(orders):
    rng = np.random.default_rng(3)
    a, b = rng.random((70, 130), np.float32), rng.random((130, 50), np.float32)
    x, y = (asarray(c, layout=order) for c, order in zip((a, b), orders, strict=True))
    np.testing.assert_allclose(host(x @ y), a.astype(np.float64) @ b, 1e-5)


def test_matmul_in_place_must_fit():
    x = tl.ones((2, 3), dtype=tl.int32)
    with pytest.raises(TypeError, match="does not fit in place of int32"):
        x @= tl.ones((3, 3))
    with pytest.raises(ValueError, match=r"of shape \(2, 1\), does not fit"):
        x @= tl.ones((3, 1), dtype=tl.int32)
    layout = (x := tl.to_layout(x, "WH")).layout
    x @= tl.ones((3, 3), dtype=tl.int32)
    assert x.layout is layout
    np.testing.assert_array_equal(host(x), np.full((2, 3), 3, np.int32), strict=True)


# --- the chapter -------------------------------------------------------------------------------

TESTED = ["matmul", "matrix_transpose", "tensordot", "vecdot"]


def test_every_function_is_tested():
    assert sorted(linear_algebra.__all__) == TESTED


def wrapped(a):
    """In a dtype in which NumPy's products are exact, or close to it; integers still wrap."""
    if kind(a.dtype) == "f":
        return a.astype(np.float64)
    return a.astype(np.complex128) if kind(a.dtype) == "c" else a


def few_units(found, expected, dtype):
    """As NumPy finds it, but for rounding of the largest; row-major."""
    assert found.layout == tl.Layout.row_major(expected.shape)
    assert host(found).flags.c_contiguous
    assert found.dtype == as_dtype(dtype)
    if kind(as_dtype(dtype)) in "iu":
        same(found, host(expected))
        return
    tolerance = 8 * float(tl.finfo(dtype).eps) * max(1.0, float(np.abs(expected).max(initial=0)))
    np.testing.assert_allclose(wrapped(host(found)), expected, 0, tolerance)


# --- products that are large enough for another way --------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES["integral"])
def test_large_products_of_integers(dtype):
    """Rows multiplied with rows; the results wrap."""
    rng = np.random.default_rng(0)
    limits = np.iinfo(dtype)
    for first, second in [
        ((40, 50), (50, 60)),
        ((50,), (50, 800)),
        ((800, 50), (50,)),
        ((40_000,), (40_000,)),
        ((3, 1, 20, 40), (2, 40, 30)),
    ]:
        a = rng.integers(limits.min, limits.max, first, dtype=dtype, endpoint=True)
        b = rng.integers(limits.min, limits.max, second, dtype=dtype, endpoint=True)
        expected = host(np.matmul(a, b))
        x, y = asarray(a), asarray(b)
        same(x @ y, expected)
        same(
            tl.to_layout(x, tuple(range(x.ndim))) @ tl.to_layout(y, tuple(range(y.ndim))), expected
        )
        same(x[..., ::-1] @ tl.flip(y, axis=max(-2, -y.ndim)), expected)
        assert (x @ y).layout.is_row_major


@pytest.mark.parametrize("dtype", ["int32", "float16", "float32", "complex64"])
def test_large_products_of_views(dtype):
    """Gaps, flips, repeats and padding, of batches too."""
    rng = np.random.default_rng(1)
    a = (rng.integers(-4, 5, (2, 64, 128)) / 2).astype(dtype)
    x = asarray(a)
    padded = tl.Layout.padded((64, 64), (64, 70), (0, 1), tl.PaddingValue.ONE)
    square = tl.to_layout(x[0, :, :64], padded)
    for left, right in [
        (x[:, ::2, ::2], x[:, :, 1::2]),
        (x[0, ::-1, ::-2], square),
        (square, square.T),
        (tl.broadcast_to(x[:1], x.shape), x.mT),
        (tl.broadcast_to(x[0, :1, :], (64, 128)), x.mT),
        (x, tl.to_layout(x.mT, (0, 1, 2))),
        (x[0], x[1, 5, :]),
        (x[0, :, 3], square),
    ]:
        expected = np.matmul(wrapped(host(left)), wrapped(host(right)))
        few_units(left @ right, host(expected), dtype)


@pytest.mark.cpu  # on CUDA what is moved on the way has records too
def test_a_product_is_one_record():
    x = tl.to_layout(tl.ones((4, 4), dtype=tl.float16), (0, 1))
    for product in (tl.matmul, tl.tensordot, tl.vecdot):
        with tl.trace() as seen:
            product(x, x)
        (record,) = seen
        assert (record.name, record.kind) == (product.__name__, "compute")
        assert record.inputs == (x.layout, x.layout)


# --- tensordot ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES["numeric"])
def test_tensordot_in_every_layout(dtype):
    for layout in TENSORS:
        if layout.ndim > 4 or not fits(layout, as_dtype(dtype)):
            continue
        x, a = tensor_in(layout, _small(layout, dtype))
        b = wrapped(a)
        few_units(tl.tensordot(x, x, axes=0), np.tensordot(b, b, 0), dtype)
        for d in range(-layout.ndim, layout.ndim):
            pair = ((d,), (d,))
            few_units(tl.tensordot(x, x, axes=pair), np.tensordot(b, b, pair), dtype)
        dims = tuple(range(layout.ndim))
        few_units(
            tl.tensordot(x, x, axes=(dims[::-1],) * 2), np.tensordot(b, b, (dims, dims)), dtype
        )
        if dims:
            turned = np.moveaxis(b, 0, -1)
            expected = np.tensordot(turned, b, 1)
            few_units(tl.tensordot(tl.moveaxis(x, 0, -1), x, axes=1), expected, dtype)


@pytest.mark.parametrize("axes", [2, ([1, 2], [0, 1]), ((-2, -1), (-3, -2)), ((2, 1), (1, 0))])
def test_pairs_of_axes(axes):
    a, b = np.arange(24.0).reshape(2, 3, 4), np.arange(36.0).reshape(3, 4, 3)
    same(tl.tensordot(asarray(a), asarray(b), axes=axes), np.tensordot(a, b, axes))


def test_large_tensordot_of_integers_wraps():
    a = np.random.default_rng(2).integers(-128, 128, (30, 8, 40), dtype=np.int8)
    expected = np.tensordot(a, a, ((1, 2), (1, 2)))
    same(tl.tensordot(asarray(a), asarray(a), axes=((1, 2), (1, 2))), expected)


def test_refused_axes_of_tensordot():
    x, y = tl.ones((2, 3)), tl.ones((2, 3))
    for error, message, axes in [
        (ValueError, "axes must be from 0 to 2", -1),
        (ValueError, "axes must be from 0 to 2", 3),
        (ValueError, r"sizes along axes \(1,\) of shape \(2, 3\) and \(0,\) .* differ", 1),
        (ValueError, "axes must be equally many", ((0,), (0, 1))),
        (ValueError, "axes must not name a dimension twice", ((0, 0), (0, 0))),
        (IndexError, "axis 5 is out of bounds for array of dimension 2", ((5,), (0,))),
        (TypeError, "axes must be an integer or two sequences", 2.5),
        (TypeError, "axes must be an integer or two sequences", ((0,),)),
        (TypeError, "axes must be an integer or two sequences", ((0.5,), (0,))),
    ]:
        with pytest.raises(error, match=f"^tensordot: {message}"):
            tl.tensordot(x, y, axes=axes)
    with pytest.raises(ValueError, match="differ"):  # sizes of 1 are not stretched
        tl.tensordot(tl.ones((1, 3)), y, axes=((0,), (0,)))


# --- vecdot ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES["numeric"])
def test_vecdot_in_every_layout(dtype):
    for layout in TENSORS:
        if not layout.ndim or layout.ndim > 4 or not fits(layout, as_dtype(dtype)):
            continue
        x, a = tensor_in(layout, _small(layout, dtype))
        b = wrapped(a)
        for axis in range(-layout.ndim, 0):
            few_units(tl.vecdot(x, x, axis=axis), np.vecdot(b, b, axis=axis), dtype)
            line = [1] * layout.ndim
            line[axis] = layout.shape[axis]
            ones = tl.full(line, 2, dtype=dtype)
            expected = np.vecdot(b, wrapped(host(ones)), axis=axis)
            few_units(tl.vecdot(x, ones, axis=axis), expected, dtype)


def test_vecdot_conjugates_the_first():
    x, y = tl.asarray([1 + 2j, 3j]), tl.asarray([2 - 1j, 1.0])
    same(tl.vecdot(x, y), np.array((1 - 2j) * (2 - 1j) - 3j))
    apart = tl.asarray([1 + 2j, 7, 3j, 7])[::2]
    same(tl.vecdot(apart, y), np.array((1 - 2j) * (2 - 1j) - 3j))
    column = tl.asarray([[1 + 2j], [3j]])
    same(tl.vecdot(column, column, axis=-2), np.array([14 + 0j]))


def test_vecdot_broadcasts():
    a, b = np.arange(24.0).reshape(2, 3, 4), np.arange(12.0).reshape(4, 3, 1)
    same(tl.vecdot(asarray(a), asarray(a[0])), np.vecdot(a, a[0]))
    same(tl.vecdot(asarray(a), asarray(b[:2]), axis=-2), np.vecdot(a, b[:2], axis=-2))
    same(tl.vecdot(tl.ones((0,)), tl.ones((0,))), np.array(0.0))
    same(tl.vecdot(tl.ones((3, 0)), tl.ones((0,))), np.zeros(3))


def test_refused_operands_of_vecdot():
    x = tl.ones((2, 3))
    for error, message, y, axis in [
        (ValueError, "sizes along axis -1 differ", tl.ones((2, 1)), -1),
        (
            ValueError,
            "shape mismatch: operands could not be broadcast together with shapes .*",
            tl.ones((4, 3)),
            -1,
        ),
        (IndexError, "axis must be negative and inside both", x, 0),
        (IndexError, "axis must be negative and inside both", x, -3),
        (IndexError, "axis must be negative and inside both", tl.ones((3,)), -2),
        (ValueError, "axis must be negative and inside both", tl.ones(()), -1),
        (TypeError, "axis must be an integer", x, 0.5),
    ]:
        with pytest.raises(error, match=f"^vecdot: {message}"):
            tl.vecdot(x, y, axis=axis)


@pytest.mark.parametrize("name", ["tensordot", "vecdot"])
def test_refused_dtypes(name):
    flags = tl.ones((2, 2), dtype=tl.bool)
    with pytest.raises(
        TypeError, match=f"^{name}: only numeric dtypes are allowed, got bool, bool"
    ):
        getattr(tl, name)(flags, flags)
    with pytest.raises(TypeError, match=rf"^{name}: must be called with a tensor, got .*asarray"):
        getattr(tl, name)(flags, np.ones((2, 2), ">f8"))
