"""Products: large ones, promotion, wrapping, errors; `tests/ops` has layouts and dtypes."""

import itertools

import numpy as np
import pytest
from tensors import BFLOAT16, asarray, host, same

import tensorlayout as tl

pytestmark = pytest.mark.usefixtures("device")


def test_matmul_promotes():
    x = tl.ones((2, 3), dtype=tl.int8)
    for dtype, expected in [
        (tl.uint8, tl.int16),
        (tl.float32, tl.float32),
        (tl.bool, tl.int8),
    ]:
        y = tl.ones((3, 2), dtype=dtype)
        same(x @ y, np.full((2, 2), 3, expected))
        same(y @ x, np.full((3, 3), 2, expected))


def test_matmul_of_16_bits_is_rounded_at_the_end():
    for dtype in (np.dtype("float16"), BFLOAT16):
        x = tl.asarray([2.0**8, *[0.5] * 512, -(2.0**8)], dtype=dtype)
        same(x @ tl.ones_like(x), np.array(256, dtype))


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


# --- products that are large enough for another way --------------------------------------------


@pytest.mark.cpu  # there is one kernel for products of any size on CUDA
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64"])
def test_large_products_of_integers(dtype):
    """Rows multiplied with rows; the results wrap."""
    rng = np.random.default_rng(0)
    limits = np.iinfo(dtype)
    for first, second in [
        ((40, 50), (50, 60)),
        ((50,), (50, 800)),
        ((800, 50), (50,)),
        ((20_000,), (20_000,)),
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
    """Gaps, flips, repeats and padding, of batches too; all products are exact."""
    rng = np.random.default_rng(1)
    a = rng.integers(-2, 3, (2, 64, 128)).astype(dtype)
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
        expected = np.matmul(host(left).astype(complex), host(right).astype(complex))
        expected = expected if dtype == "complex64" else expected.real
        same(left @ right, host(expected).astype(dtype))
        assert (left @ right).layout.is_row_major


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


@pytest.mark.parametrize("axes", [2, ([1, 2], [0, 1]), ((-2, -1), (-3, -2)), ((2, 1), (1, 0))])
def test_pairs_of_axes(axes):
    a, b = np.arange(24.0).reshape(2, 3, 4), np.arange(36.0).reshape(3, 4, 3)
    same(tl.tensordot(asarray(a), asarray(b), axes=axes), np.tensordot(a, b, axes))


# --- vecdot ------------------------------------------------------------------------------------


def test_vecdot_broadcasts():
    a, b = np.arange(24.0).reshape(2, 3, 4), np.arange(12.0).reshape(4, 3, 1)
    same(tl.vecdot(asarray(a), asarray(a[0])), np.vecdot(a, a[0]))
    same(tl.vecdot(asarray(a), asarray(b[:2]), axis=-2), np.vecdot(a, b[:2], axis=-2))
    same(tl.vecdot(tl.ones((0,)), tl.ones((0,))), np.array(0.0))
    same(tl.vecdot(tl.ones((3, 0)), tl.ones((0,))), np.zeros(3))
