"""Linear algebra functions against NumPy."""

import itertools

import numpy as np
import pytest
from layouts import STRIDED
from tensors import BFLOAT16, DTYPES, as_dtype, close, fits, kind, same, slots, tensor_in

import tensorlayout as tl


def product(a, b):
    """NumPy's, of 16-bit floats in float64, rounded."""
    if a.dtype.itemsize == 2 and kind(a.dtype) == "f":
        return np.asarray(np.matmul(a.astype(np.float64), b.astype(np.float64))).astype(a.dtype)
    return np.asarray(np.matmul(a, b))


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
    x, y = tl.asarray(a), tl.asarray(b)
    close(tl.matmul(x, y), product(a, b))
    close(x @ y, product(a, b))
    assert (x @ y).layout.is_row_major


def matrices():
    """Layouts of rank 2 and up, seen as left and right operands."""
    return [layout for layout in STRIDED if 2 <= layout.ndim <= 4]


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
    values = np.array([1, -2, 0, 3, 5, -1, 2], as_dtype(dtype))
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
    with pytest.raises(ValueError, match=r"matmul: shapes .* do not broadcast"):
        tl.matmul(tl.ones((2, 2, 3)), tl.ones((3, 3, 4)))
    flags = tl.ones((2, 2), dtype=tl.bool)
    with pytest.raises(TypeError, match="matmul: only numeric dtypes are allowed, got bool, bool"):
        flags @ flags
    with pytest.raises(TypeError, match="matmul: must be called with a tensor, got float"):
        tl.matmul(y, 2.0)
    with pytest.raises(TypeError, match=r"asarray\(\)"):
        tl.matmul(y, np.ones((2, 3)))
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
        assert view.size == 0 or np.shares_memory(np.asarray(view), np.asarray(x))
        swapped = (*range(layout.ndim - 2), layout.ndim - 1, layout.ndim - 2)
        assert view.layout is layout.permute(swapped)


def test_matrix_transpose_needs_a_matrix():
    for x in (tl.ones(()), tl.ones((3,))):
        with pytest.raises(ValueError, match="matrix_transpose: needs a rank of at least 2"):
            tl.matrix_transpose(x)
    with pytest.raises(TypeError, match="matrix_transpose: must be called with a tensor"):
        tl.matrix_transpose(np.ones((2, 2)))


@pytest.mark.parametrize("orders", [*itertools.product([(0, 1), (1, 0)], repeat=2)], ids=str)
def test_large_products_in_every_order(orders):
    rng = np.random.default_rng(3)
    a, b = rng.random((70, 130), np.float32), rng.random((130, 50), np.float32)
    x, y = (tl.asarray(c, layout=order) for c, order in zip((a, b), orders, strict=True))
    np.testing.assert_allclose(np.asarray(x @ y), a.astype(np.float64) @ b, 1e-5)


def test_matmul_in_place_must_fit():
    x = tl.ones((2, 3), dtype=tl.int32)
    with pytest.raises(TypeError, match="does not fit in place of int32"):
        x @= tl.ones((3, 3))
    with pytest.raises(ValueError, match=r"of shape \(2, 1\), does not fit"):
        x @= tl.ones((3, 1), dtype=tl.int32)
    layout = (x := tl.to_layout(x, "WH")).layout
    x @= tl.ones((3, 3), dtype=tl.int32)
    assert x.layout is layout
    np.testing.assert_array_equal(np.asarray(x), np.full((2, 3), 3, np.int32), strict=True)
