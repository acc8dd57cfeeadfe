"""Linear algebra: what is read, empty matrices, norms, records, large products.

`tests/ops/library_cases.py` compares all functions with NumPy's.
"""

import math

import numpy as np
import pytest
from tensors import BFLOAT16, as_dtype, asarray, host, same, shared

import tensorlayout as tl
from tensorlayout import linalg

pytestmark = pytest.mark.usefixtures("device")

FLOATS = ["bfloat16", "float32", "float64", "complex64", "complex128"]
ROW_MAJOR = tl.Layout.row_major


def real(dtype):
    return {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)


def near(result, expected, dtype, factor=16):
    """Compare shape, dtype and the row-major form; values within some units of the last place."""
    expected = host(expected)
    assert (result.shape, result.dtype) == (expected.shape, as_dtype(dtype))
    assert result.layout == ROW_MAJOR(expected.shape)
    values_near(host(result), expected, dtype, factor)


def values_near(result, expected, dtype, factor=16):
    tolerance = factor * float(tl.finfo(dtype).eps) * max(1.0, np.abs(expected).max(initial=0))
    np.testing.assert_allclose(result.astype(complex), expected, 0, tolerance)


def matrices(dtype, *shape):
    """A column-major stack of matrices, and its elements in double precision."""
    parts = np.random.default_rng(3).integers(-16, 17, (2, *shape)) / 8  # exact in bfloat16
    array = parts[0] + 1j * parts[1] if dtype.startswith("complex") else parts[0]
    return asarray(array.astype(as_dtype(dtype)), layout=tuple(range(len(shape)))), array


def dagger(x):
    return np.swapaxes(host(x).astype(complex), -1, -2).conj()


def is_orthonormal(columns):
    square = dagger(columns) @ host(columns).astype(complex)
    identity = np.broadcast_to(np.eye(columns.shape[-1]), square.shape)
    values_near(square, identity, real(columns.dtype.name))


@pytest.mark.parametrize("dtype", FLOATS)
def test_only_the_lower_triangle_is_read(dtype):
    x, a = matrices(dtype, 2, 4, 4)
    x[...] = asarray((a + 16 * np.eye(4)).astype(as_dtype(dtype)))
    below = np.tril(a, -1)
    whole = below + dagger(below) + np.eye(4) * (16 + a.real)
    low, high = linalg.cholesky(x), linalg.cholesky(x, upper=True)
    near(low, np.linalg.cholesky(whole), dtype)
    near(high, np.linalg.cholesky(a + 16 * np.eye(4), upper=True), dtype)
    same(low, np.tril(host(low)))
    near(linalg.eigvalsh(x), np.linalg.eigvalsh(whole), real(dtype))
    values, vectors = linalg.eigh(x)
    near(values, np.linalg.eigvalsh(whole), real(dtype))
    is_orthonormal(vectors)


@pytest.mark.parametrize("dtype", FLOATS)
def test_eigenvectors(dtype):
    x, a = matrices(dtype, 2, 4, 4)
    values, vectors = linalg.eig(x)
    result = "complex128" if dtype in ("float64", "complex128") else "complex64"
    assert values.layout == ROW_MAJOR((2, 4))
    near(vectors, host(vectors), result)
    values_near(a @ host(vectors), host(vectors) * host(values)[:, None, :], result, 64)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        ("qr(tl.eye(2), mode='raw')", ValueError, "mode must be 'reduced', 'complete' or 'r', got"),
        ("matrix_norm(tl.zeros((0, 3)), ord=-2)", ValueError, "no norm of order -2"),
        ("vector_norm(tl.zeros(0), ord=-math.inf)", ValueError, "no norm of order -inf"),
        ("pinv(tl.eye(2), rtol=1j)", TypeError, "rtol must be a real number"),
        ("pinv(tl.eye(2), rtol=tl.asarray(1j))", TypeError, "complex128 cannot become float64"),
        ("eigvalsh(tl.full((2, 2), math.nan))", np.linalg.LinAlgError, ""),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=f"^{call.partition('(')[0]}: {message}"):
        eval(f"linalg.{call}", {"linalg": linalg, "tl": tl, "math": math})


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 0, 3), (0, 3, 2), (1, 3), (3, 1)])
def test_empty_and_narrow_matrices(shape):
    x, a = tl.ones(shape), np.ones(shape)
    for mode in ("reduced", "complete"):
        for result, expected in zip(linalg.qr(x, mode=mode), np.linalg.qr(a, mode), strict=True):
            np.testing.assert_allclose(host(result), expected, atol=1e-14)
    u, s, vh = linalg.svd(x)
    *stack, m, n = shape
    assert [u.shape, s.shape, vh.shape] == [(*stack, m, m), (*stack, min(m, n)), (*stack, n, n)]
    same(linalg.matrix_rank(x), np.full(stack, min(m, n)))
    assert linalg.pinv(x).shape == (*stack, n, m)
    for order in ("fro", "nuc", 1, 2, math.inf):
        expected = {1: m, math.inf: n}.get(order, math.sqrt(m * n)) * (m * n > 0)
        np.testing.assert_allclose(host(linalg.matrix_norm(x, ord=order)), np.full(stack, expected))


def test_named_results():
    for function, fields in [
        *((item, ("eigenvalues", "eigenvectors")) for item in (linalg.eig, linalg.eigh)),
        (linalg.qr, ("Q", "R")),
        (linalg.slogdet, ("sign", "logabsdet")),
        (linalg.svd, ("U", "S", "Vh")),
    ]:
        assert function(tl.eye(2))._fields == fields


def test_the_default_tolerance_is_that_of_the_dtype():
    for dtype, eps in (("float16", 2.0**-10), ("bfloat16", 2.0**-7), ("float32", 2.0**-23)):
        for factor, rank in ((1.5, 1), (3, 2)):  # the limit is 2 eps
            x = tl.asarray([[1.0, 0.0], [0.0, factor * eps]], dtype=dtype)
            assert int(linalg.matrix_rank(x)) == rank


def test_dtype_of_trace():
    same(linalg.trace(tl.ones((2, 2), dtype=tl.int8), dtype=tl.float32), np.array(2, np.float32))


def test_norms_of_many_and_of_large_numbers():
    """Sums in float64: their error does not grow with the length, their squares do not overflow."""
    many = tl.full((300, 1000), 0.1, dtype=tl.float32)
    exactly = float(np.float32(0.1))
    for axis, count in ((None, 300_000), (0, 300), (1, 1000)):
        for order, expected in ((1, exactly * count), (2, exactly * math.sqrt(count))):
            result = host(linalg.vector_norm(many, axis=axis, ord=order))
            np.testing.assert_allclose(result, expected, 1e-7)
    large = tl.asarray([3e30, 4e30], dtype=tl.float32)
    for norm in (linalg.vector_norm, linalg.matrix_norm):
        same(norm(large[None]), np.array(5e30, np.float32))
        same(norm(tl.full((1, 8), 6e4, dtype=tl.float16)), np.array(math.inf, np.float16))


def test_nan_in_norms():
    x = tl.asarray([[1.0, math.nan], [3.0, 4.0]])
    for order in (1, 2, 3, math.inf, -math.inf):
        same(linalg.vector_norm(x, axis=1, ord=order)[0], np.array(math.nan))
    same(linalg.vector_norm(x, axis=1, ord=-math.inf)[1], np.array(3.0))


ONE_RESULT = ["cholesky", "det", "eigvals", "eigvalsh", "inv", "matrix_norm", "matrix_power"]
ONE_RESULT += ["matrix_rank", "pinv", "svdvals", "vector_norm", "outer", "cross", "solve"]


@pytest.mark.cpu  # on CUDA what is moved on the way has records too
@pytest.mark.parametrize("name", ONE_RESULT)
def test_each_call_is_one_record_and_no_layout_is_changed_before(name):
    x = tl.to_layout(2 * tl.eye(3), (0, 1))
    operands = {"outer": (x[0, :],) * 2, "cross": (x, x), "solve": (x, x), "matrix_power": (x, 1)}
    argument = operands.get(name, (x,))
    with tl.trace() as seen:
        result = getattr(linalg, name)(*argument)
    (record,) = seen
    assert (record.name, record.kind) == (name, "compute")
    assert record.inputs[0] is argument[0].layout
    assert record.output == result.layout
    assert not shared(result, x)


def test_matmul_of_16_bits_is_rounded_at_the_end():
    for dtype in (np.dtype("float16"), BFLOAT16):
        x = tl.asarray([2.0**8, *[0.5] * 512, -(2.0**8)], dtype=dtype)
        same(x @ tl.ones_like(x), np.array(256, dtype))


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


@pytest.mark.cpu  # there is one kernel for products of any size on CUDA
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64"])
def test_large_products_of_integers(dtype):
    """Rows multiplied with rows; the results wrap."""
    rng = np.random.default_rng(0)
    limits = np.iinfo(dtype)
    lines = [((50,), (50, 800)), ((800, 50), (50,)), ((20_000,), (20_000,))]
    for first, second in [((40, 50), (50, 60)), *lines, ((3, 1, 20, 40), (2, 40, 30))]:
        a = rng.integers(limits.min, limits.max, first, dtype=dtype, endpoint=True)
        b = rng.integers(limits.min, limits.max, second, dtype=dtype, endpoint=True)
        expected = host(np.matmul(a, b))
        x, y = asarray(a), asarray(b)
        same(x @ y, expected)
        same(tl.to_layout(x, "F") @ tl.to_layout(y, "F"), expected)
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
