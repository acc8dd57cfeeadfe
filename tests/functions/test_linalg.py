"""The extension `linalg`: NumPy in double precision as the oracle, decompositions put together."""

import math
from functools import partial

import numpy as np
import pytest
from layouts import TENSORS
from tensors import DTYPES, as_dtype, asarray, fits, host, kind, same, shared, tensor_in

import tensorlayout as tl
from tensorlayout import linalg

pytestmark = pytest.mark.usefixtures("device")

FLOATS = DTYPES["floating-point"]
LAYOUTS = [layout for layout in TENSORS if 2 <= layout.ndim <= 4]
ROW_MAJOR = tl.Layout.row_major


def wide(a):
    """In double precision, exactly."""
    return a.astype(np.complex128 if kind(a.dtype) == "c" else np.float64)


def real(dtype):
    return {"complex64": np.dtype("float32"), "complex128": np.dtype("float64")}.get(
        dtype, as_dtype(dtype)
    )


def complex_(dtype):
    return np.dtype("complex128" if dtype in ("float64", "complex128") else "complex64")


def near(found, expected, dtype, scale=1.0):
    """Shape, dtype and row-major form; values within some units of the last place of `dtype`."""
    expected = host(expected)
    assert (found.shape, found.dtype) == (expected.shape, dtype)
    assert found.layout == ROW_MAJOR(expected.shape)
    assert host(found).flags.c_contiguous
    exact(found, expected, dtype, scale)


def exact(found, expected, dtype, scale=1.0):
    # 16-bit results are rounded once; orthonormal factors of them are rounded each.
    ulps = 4 if as_dtype(dtype).itemsize == 2 else 64
    tolerance = ulps * scale * float(tl.finfo(dtype).eps)
    largest = max(1.0, float(np.abs(expected).max(initial=0)))
    np.testing.assert_allclose(wide(host(found)), expected, tolerance, tolerance * largest)


def matrices(dtype):
    """Tensors of stacks of matrices in every layout, and their elements in double precision."""
    for seed, layout in enumerate(LAYOUTS):
        if fits(layout, as_dtype(dtype)):
            values = numbers(dtype, layout.required_size, seed)
            x, a = tensor_in(layout, values)
            yield x, wide(a)


def numbers(dtype, count, seed=0):
    rng = np.random.default_rng(seed)
    parts = rng.integers(-16, 17, (2, count)) / 8  # exact in bfloat16
    return (parts[0] + 1j * parts[1] if kind(as_dtype(dtype)) == "c" else parts[0]).astype(dtype)


def squares(dtype):
    """The square corners of them: views that leave out elements."""
    for x, a in matrices(dtype):
        k = min(x.shape[-2:])
        yield x[..., :k, :k], a[..., :k, :k]


def regular(dtype, hermitian=False):
    """Square matrices that can be inverted, written into every layout that can be written to."""
    for x, a in squares(dtype):
        if x.layout.is_overlapping:
            continue
        k = x.shape[-1]
        low = np.tril(a, -1)
        b = (low + np.swapaxes(low, -1, -2).conj() if hermitian else a) + 16 * np.eye(k)
        x[...] = asarray(b.astype(as_dtype(dtype)))
        yield x, wide(host(x))


def dagger(a):
    return np.swapaxes(wide(host(a)), -1, -2).conj()


def put(*factors):
    """The product of matrices, in double precision."""
    product = wide(host(factors[0]))
    for factor in factors[1:]:
        product = product @ wide(host(factor))
    return product


def orthonormal(q, dtype):
    exact(
        dagger(q) @ wide(host(q)),
        np.broadcast_to(np.eye(q.shape[-1]), (*q.shape[:-2], *[q.shape[-1]] * 2)),
        dtype,
    )


# --- each function in every layout -------------------------------------------------------------


def check_cholesky(dtype):
    for x, a in regular(dtype, hermitian=True):
        low, high = linalg.cholesky(x), linalg.cholesky(x, upper=True)
        near(low, np.linalg.cholesky(a), as_dtype(dtype))
        near(high, np.linalg.cholesky(a, upper=True), as_dtype(dtype))
        same(low, np.tril(host(low)))


def check_cross(dtype):
    for x, a in matrices(dtype):
        if x.shape[-1] >= 3:
            near(
                linalg.cross(x[..., :3], x[..., :1, :3]),
                np.cross(a[..., :3], a[..., :1, :3]),
                as_dtype(dtype),
            )
        if x.shape[-2] == 3:
            expected = np.cross(a, a[..., ::-1], axis=-2)
            near(linalg.cross(x, x[..., ::-1], axis=-2), expected, as_dtype(dtype))


def check_det(dtype):
    for x, a in squares(dtype):
        near(linalg.det(x), np.linalg.det(a), as_dtype(dtype))


def check_diagonal(dtype):
    for x, _ in matrices(dtype):
        for offset in (0, 1, -1, 2, -9, 9):
            view = linalg.diagonal(x, offset=offset)
            same(view, np.diagonal(host(x), offset, -2, -1))
            assert shared(view, x) == (view.size > 0 and not x.layout.is_tiled)


def check_eig(dtype):
    for x, a in squares(dtype):
        values, vectors = linalg.eig(x)
        assert values.dtype == vectors.dtype == complex_(dtype)
        assert values.layout == ROW_MAJOR(x.shape[:-1])
        assert vectors.layout == ROW_MAJOR(x.shape)
        exact(
            put(a, vectors),
            host(vectors) * host(values)[..., None, :],
            vectors.dtype,
            9,
        )


def check_eigvals(dtype):
    for x, a in regular(dtype):
        found = linalg.eigvals(x)
        assert (found.dtype, found.layout) == (complex_(dtype), ROW_MAJOR(x.shape[:-1]))
        exact(host(found).sum(-1), np.trace(a, axis1=-2, axis2=-1), found.dtype, 9)
        exact(host(found).prod(-1), np.linalg.det(a), found.dtype, 9)


def check_eigh(dtype):
    for x, a in squares(dtype):
        values, vectors = linalg.eigh(x)
        near(values, np.linalg.eigvalsh(a), real(dtype))
        assert (vectors.dtype, vectors.layout) == (as_dtype(dtype), ROW_MAJOR(x.shape))
        orthonormal(vectors, real(dtype))
        low = np.tril(a, -1)
        whole = low + dagger(low) + np.eye(x.shape[-1]) * a.real
        exact(
            put(vectors, host(values).astype(float)[..., None] * dagger(vectors)),
            whole,
            real(dtype),
        )


def check_eigvalsh(dtype):
    for x, a in squares(dtype):
        near(linalg.eigvalsh(x), np.linalg.eigvalsh(a), real(dtype))


def check_inv(dtype):
    for x, a in regular(dtype):
        near(linalg.inv(x), np.linalg.inv(a), as_dtype(dtype))


def check_matmul(dtype):
    for x, a in matrices(dtype):
        near(linalg.matmul(x, x.mT), a @ np.swapaxes(a, -1, -2), as_dtype(dtype))


def check_matrix_norm(dtype):
    for x, a in matrices(dtype):
        for order in ("fro", "nuc", None, 1, -1, 2, -2, math.inf, -math.inf):
            if 0 in x.shape[-2:] and order in (-1, -2, -math.inf):
                continue
            flat = (
                [np.linalg.norm(m, order) if m.size else 0.0 for m in a.reshape(-1, *a.shape[-2:])]
                if a.size
                else np.zeros(math.prod(x.shape[:-2]))
            )
            expected = np.reshape(flat, x.shape[:-2])
            near(linalg.matrix_norm(x, ord=order), expected, real(dtype))
            near(
                linalg.matrix_norm(x, ord=order, keepdims=True),
                expected[..., None, None],
                real(dtype),
            )


def check_matrix_power(dtype):
    for x, a in regular(dtype):
        for n in (0, 1, 3, -1, -2):
            expected = np.linalg.matrix_power(a, n)
            if dtype != "float16" or np.abs(expected).max(initial=0) < 6e4:
                near(linalg.matrix_power(x, n), expected, as_dtype(dtype))


def check_matrix_rank(dtype):
    for x, a in matrices(dtype):
        values = np.linalg.svdvals(a)
        for rtol in (None, 0.25, tl.full(x.shape[:-2], 0.25), tl.asarray(0.25, dtype=tl.float32)):
            limit = max(x.shape[-2:]) * float(tl.finfo(x.dtype).eps) if rtol is None else 0.25
            expected = (values > limit * values[..., :1]).sum(-1)
            found = linalg.matrix_rank(x, rtol=rtol)
            assert found.dtype == tl.int64
            same(found, expected.astype(np.int64))


def check_matrix_transpose(dtype):
    for x, _ in matrices(dtype):
        same(linalg.matrix_transpose(x), np.matrix_transpose(host(x)))


def check_outer(dtype):
    for x, a in matrices(dtype):
        row, column = (0,) * (x.ndim - 1), (*(0,) * (x.ndim - 2), slice(None), 0)
        if x.size:
            near(linalg.outer(x[row], x[column]), np.outer(a[row], a[column]), as_dtype(dtype))


def check_pinv(dtype):
    for x, a in matrices(dtype):
        for rtol in (0.2, tl.full(x.shape[:-2], 0.2)):
            near(linalg.pinv(x, rtol=rtol), np.linalg.pinv(a, rtol=0.2), as_dtype(dtype), 5)
    for x, a in regular(dtype):
        near(linalg.pinv(x), np.linalg.inv(a), as_dtype(dtype))


def check_qr(dtype):
    for x, a in matrices(dtype):
        for mode in ("reduced", "complete"):
            shapes = [f.shape for f in np.linalg.qr(a, mode)]
            q, r = linalg.qr(x, mode=mode)
            assert (q.dtype, r.dtype) == (as_dtype(dtype),) * 2
            assert (q.layout, r.layout) == (ROW_MAJOR(shapes[0]), ROW_MAJOR(shapes[1]))
            orthonormal(q, real(dtype))
            same(r, np.triu(host(r)))
            exact(put(q, r), a, real(dtype))


def check_slogdet(dtype):
    for x, a in regular(dtype):
        sign, logarithm = linalg.slogdet(x)
        expected = np.linalg.slogdet(a)
        near(sign, expected[0], as_dtype(dtype))
        near(logarithm, expected[1], real(dtype))


def check_solve(dtype):
    for x, a in regular(dtype):
        b = asarray(numbers(dtype, x.shape[-1], 9))
        near(linalg.solve(x, b), np.linalg.solve(a, wide(host(b))), as_dtype(dtype))
        near(linalg.solve(x, x.mT), np.linalg.solve(a, np.swapaxes(a, -1, -2)), as_dtype(dtype))


def check_svd(dtype):
    for x, a in matrices(dtype):
        for full in (True, False):
            shapes = [f.shape for f in np.linalg.svd(a, full)]
            u, s, vh = linalg.svd(x, full_matrices=full)
            assert [f.layout for f in (u, s, vh)] == [ROW_MAJOR(shape) for shape in shapes]
            assert (u.dtype, vh.dtype) == (as_dtype(dtype),) * 2
            near(s, np.linalg.svdvals(a), real(dtype))
            orthonormal(u, real(dtype))
            orthonormal(vh.mT, real(dtype))
            k = s.shape[-1]
            exact(
                put(
                    u[..., :k],
                    host(s).astype(float)[..., None] * wide(host(vh))[..., :k, :],
                ),
                a,
                real(dtype),
            )


def check_svdvals(dtype):
    for x, a in matrices(dtype):
        near(linalg.svdvals(x), np.linalg.svdvals(a), real(dtype))


def check_tensordot(dtype):
    for x, a in matrices(dtype):
        near(
            linalg.tensordot(x, x, axes=((0,), (0,))),
            np.tensordot(a, a, ((0,), (0,))),
            as_dtype(dtype),
        )


def check_trace(dtype):
    for x, a in matrices(dtype):
        for offset in (0, -1, 2):
            found = linalg.trace(x, offset=offset)
            exact(found, np.trace(a, offset, -2, -1), real(dtype))
            assert (found.dtype, found.shape) == (as_dtype(dtype), x.shape[:-2])


def check_vecdot(dtype):
    for x, a in matrices(dtype):
        near(linalg.vecdot(x, x), np.vecdot(a, a), as_dtype(dtype))


def check_vector_norm(dtype):
    for x, a in matrices(dtype):
        axes = [None, 0, -1, (0, -1), (-1, 0), ()]
        for axis in axes:
            for order in (2, 1, 0, 3, -0.5, math.inf, -math.inf):
                dims = tuple(range(x.ndim)) if axis is None else np.atleast_1d(axis).astype(int)
                if order == -math.inf and any(x.shape[d] == 0 for d in dims):
                    continue
                expected = length(np.abs(a), tuple(int(d) for d in dims), order)
                if as_dtype(dtype) == np.float16:
                    expected = np.where(expected > 65504, np.inf, expected)
                near(
                    linalg.vector_norm(x, axis=axis, ord=order, keepdims=True),
                    expected,
                    real(dtype),
                )
                kept = np.squeeze(expected, tuple(int(d) for d in dims))
                near(linalg.vector_norm(x, axis=axis, ord=order), kept, real(dtype))


def length(a, dims, order):
    """The definition, with `dims` kept."""
    with np.errstate(divide="ignore"):
        if order == 0:
            return (a != 0).sum(dims, keepdims=True).astype(float)
        if math.isinf(order):
            return (
                a.max(dims, keepdims=True, initial=0) if order > 0 else a.min(dims, keepdims=True)
            )
        return (a**order).sum(dims, keepdims=True) ** (1 / order)


CHECKS = {
    name.removeprefix("check_"): f for name, f in globals().items() if name.startswith("check_")
}


def test_every_function_is_tested():
    assert sorted(CHECKS) == sorted(linalg.__all__)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", CHECKS)
def test_in_every_layout(name, dtype):
    CHECKS[name](dtype)


# --- shapes, dtypes, errors --------------------------------------------------------------------

NEEDS_SQUARE = ["cholesky", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "slogdet", "solve"]
NEEDS_MATRIX = [*NEEDS_SQUARE, "diagonal", "matrix_norm", "matrix_power", "matrix_rank", "pinv"]
NEEDS_MATRIX += ["matrix_transpose", "qr", "svd", "svdvals", "trace"]
NEEDS_FLOAT = sorted({*NEEDS_MATRIX, "vector_norm"} - {"diagonal", "matrix_transpose", "trace"})
MORE = {"solve": lambda: (tl.ones((2,)),), "matrix_power": lambda: (2,)}


def call(name, x):
    return getattr(linalg, name)(x, *MORE.get(name, tuple)())


@pytest.mark.parametrize("name", [*NEEDS_SQUARE, "matrix_power"])
def test_square_matrices_only(name):
    with pytest.raises(ValueError, match=rf"^{name}: matrices must be square, got shape \(2, 3\)$"):
        call(name, tl.ones((2, 3)))


@pytest.mark.parametrize("name", NEEDS_MATRIX)
def test_matrices_only(name):
    for x in (tl.ones((3,)), tl.ones(())):
        with pytest.raises(ValueError, match=rf"^{name}: needs a rank of at least 2, got shape"):
            call(name, x)


@pytest.mark.parametrize("name", NEEDS_FLOAT)
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64"])
def test_floating_point_only(name, dtype):
    x = tl.ones((2, 2), dtype=dtype)
    other = {"solve": (x,)}.get(name, MORE.get(name, tuple)())
    with pytest.raises(TypeError, match=f"^{name}: only floating-point dtypes are allowed, got"):
        getattr(linalg, name)(x, *other)


@pytest.mark.parametrize("name", ["cross", "outer", "trace", "matmul", "tensordot", "vecdot"])
def test_numbers_only(name):
    x = tl.ones((3,) if name in ("cross", "outer", "vecdot") else (3, 3), dtype=tl.bool)
    with pytest.raises(TypeError, match=f"^{name}: only numeric dtypes are allowed, got bool"):
        getattr(linalg, name)(*[x] * (1 if name == "trace" else 2))


@pytest.mark.parametrize("name", sorted(linalg.__all__))
def test_tensors_only(name):
    count = 2 if name in ("cross", "outer", "matmul", "tensordot", "vecdot", "solve") else 1
    more = (2,) if name == "matrix_power" else ()
    with pytest.raises(TypeError, match=rf"^{name}: must be called with a tensor, got .*asarray"):
        getattr(linalg, name)(*[np.eye(2, dtype=">f8")] * count, *more)


EYE, ZERO = partial(tl.eye, 2), partial(tl.zeros, (2, 2))
WIDE = partial(tl.ones, (2, 3))
NAN = partial(tl.full, (2, 2), math.nan)
EMPTY = partial(tl.zeros, (0, 3))
STACK = partial(tl.ones, (5, 2, 2))


@pytest.mark.parametrize(
    ("error", "message", "made"),
    [
        (ValueError, "solve: shapes .* do not match", lambda: linalg.solve(EYE(), tl.ones((3,)))),
        (ValueError, "solve: shapes .* do not match", lambda: linalg.solve(EYE(), tl.ones((3, 2)))),
        (ValueError, "solve: shapes .* do not match", lambda: linalg.solve(EYE(), tl.ones(()))),
        (
            ValueError,
            "solve: shape mismatch: operands could not be broadcast together with shapes .*",
            lambda: linalg.solve(STACK(), tl.ones((4, 2, 1))),
        ),
        (
            TypeError,
            "matrix_power: n must be an integer, got 2.5",
            lambda: linalg.matrix_power(EYE(), 2.5),
        ),
        (
            ValueError,
            "qr: mode must be 'reduced' or 'complete', got 'r'",
            lambda: linalg.qr(EYE(), mode="r"),
        ),
        (
            ValueError,
            "matrix_norm: ord must be .*, got 3",
            lambda: linalg.matrix_norm(EYE(), ord=3),
        ),
        (
            ValueError,
            "matrix_norm: ord must be .*, got 'f'",
            lambda: linalg.matrix_norm(EYE(), ord="f"),
        ),
        (
            ValueError,
            "matrix_norm: no norm of order -2",
            lambda: linalg.matrix_norm(EMPTY(), ord=-2),
        ),
        (
            TypeError,
            "vector_norm: ord must be a real",
            lambda: linalg.vector_norm(EYE(), ord="fro"),
        ),
        (
            ValueError,
            "vector_norm: ord must be a real",
            lambda: linalg.vector_norm(EYE(), ord=math.nan),
        ),
        (
            ValueError,
            "vector_norm: no norm of order -inf",
            lambda: linalg.vector_norm(EMPTY(), axis=0, ord=-math.inf),
        ),
        (
            IndexError,
            "vector_norm: axis 2 is out of bounds",
            lambda: linalg.vector_norm(EYE(), axis=2),
        ),
        (
            ValueError,
            "vector_norm: axis must not name",
            lambda: linalg.vector_norm(EYE(), axis=(0, 0)),
        ),
        (ValueError, "cross: sizes along axis -1 must be 3", lambda: linalg.cross(EYE(), EYE())),
        (ValueError, "cross: sizes along axis -1", lambda: linalg.cross(WIDE(), tl.ones((2, 1)))),
        (IndexError, "cross: axis must be negative", lambda: linalg.cross(WIDE(), WIDE(), axis=1)),
        (
            ValueError,
            "cross: shape mismatch: operands could not be broadcast together with shapes .*",
            lambda: linalg.cross(WIDE(), tl.ones((4, 3))),
        ),
        (
            ValueError,
            "outer: both operands must have rank 1",
            lambda: linalg.outer(EYE(), tl.ones((2,))),
        ),
        (
            TypeError,
            "diagonal: offset must be an integer",
            lambda: linalg.diagonal(EYE(), offset=0.5),
        ),
        (TypeError, "trace: offset must be an integer", lambda: linalg.trace(EYE(), offset="a")),
        (TypeError, "pinv: rtol must be a real number", lambda: linalg.pinv(EYE(), rtol=1j)),
        (
            TypeError,
            "pinv: rtol must have a real floating",
            lambda: linalg.pinv(EYE(), rtol=tl.asarray(1)),
        ),
        (TypeError, "matrix_rank: rtol .* got 'a'", lambda: linalg.matrix_rank(EYE(), rtol="a")),
        (
            ValueError,
            r"matrix_rank: rtol of shape \(5,\) does not fit a stack of shape \(\)",
            lambda: linalg.matrix_rank(EYE(), rtol=tl.ones((5,))),
        ),
        (np.linalg.LinAlgError, "inv: Singular matrix", lambda: linalg.inv(ZERO())),
        (np.linalg.LinAlgError, "solve: Singular matrix", lambda: linalg.solve(ZERO(), EYE())),
        (np.linalg.LinAlgError, "matrix_power: Singular", lambda: linalg.matrix_power(ZERO(), -1)),
        (np.linalg.LinAlgError, "cholesky: .* not positive", lambda: linalg.cholesky(ZERO())),
        (np.linalg.LinAlgError, "eig: ", lambda: linalg.eig(NAN())),
        (np.linalg.LinAlgError, "eigh: ", lambda: linalg.eigh(NAN())),
        (np.linalg.LinAlgError, "eigvalsh: ", lambda: linalg.eigvalsh(NAN())),
        (np.linalg.LinAlgError, "svd: ", lambda: linalg.svd(NAN())),
    ],
)
def test_errors(error, message, made):
    with pytest.raises(error, match=f"^{message}"):
        made()


def test_errors_of_values_are_value_errors():
    with pytest.raises(ValueError, match="inv: Singular matrix"):
        linalg.inv(ZERO())


@pytest.mark.parametrize("stack", [(), (0,), (2,), (2, 0)])
@pytest.mark.parametrize("size", [0, 1])
def test_empty_and_single_matrices(stack, size):
    x = tl.ones((*stack, size, size))
    a = np.ones((*stack, size, size))
    for name in ("cholesky", "det", "inv", "eigvalsh", "svdvals", "qr", "svd", "eigh", "slogdet"):
        found, expected = getattr(linalg, name)(x), getattr(np.linalg, name)(a)
        several = found if isinstance(found, tuple) else (found,)
        for result, array in zip(
            several, expected if len(several) > 1 else (expected,), strict=True
        ):
            np.testing.assert_allclose(host(result), array, atol=1e-15)
    same(linalg.matrix_rank(x), np.full(stack, size))
    same(linalg.solve(x, tl.ones((size, 3))), np.ones((*stack, size, 3)))
    same(linalg.solve(x, tl.ones((size,))), np.ones((*stack, size)))
    same(linalg.matrix_power(x, 0), np.ones((*stack, size, size)))
    same(linalg.trace(x), np.full(stack, float(size)))


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
    fields = {
        name: getattr(linalg, name)(EYE())._fields
        for name in ("eig", "eigh", "qr", "slogdet", "svd")
    }
    assert fields == {
        "eig": ("eigenvalues", "eigenvectors"),
        "eigh": ("eigenvalues", "eigenvectors"),
        "qr": ("Q", "R"),
        "slogdet": ("sign", "logabsdet"),
        "svd": ("U", "S", "Vh"),
    }


def test_singular_determinants():
    for dtype in ("float32", "complex128"):
        sign, logarithm = linalg.slogdet(tl.zeros((2, 2), dtype=dtype))
        same(sign, np.zeros((), dtype))
        same(logarithm, np.array(-np.inf, real(dtype)))


def test_tolerance_keeps_the_dtype():
    x = tl.ones((2, 2), dtype=tl.float32)
    assert linalg.pinv(x, rtol=tl.asarray(0.5)).dtype == tl.float32
    assert linalg.pinv(tl.astype(x, tl.complex64), rtol=0.5).dtype == tl.complex64


def test_the_default_tolerance_is_that_of_the_dtype():
    for dtype, eps in (("float16", 2.0**-10), ("bfloat16", 2.0**-7), ("float32", 2.0**-23)):
        for factor, rank in ((1.5, 1), (3, 2)):  # the limit is 2 eps
            x = tl.asarray([[1.0, 0.0], [0.0, factor * eps]], dtype=dtype)
            assert int(linalg.matrix_rank(x)) == rank


def test_integers_wrap():
    x = tl.asarray([100, 100, 100], dtype=tl.int8)
    same(linalg.outer(x, x), np.full((3, 3), 10000 % 256, np.uint8).astype(np.int8))
    y = tl.asarray([100, -100, 100], dtype=tl.int8)
    same(linalg.cross(x, y), np.array([20000, 0, -20000]).astype(np.int8))


def test_dtype_of_trace():
    for dtype, expected in (("int8", "int64"), ("uint8", "uint64"), ("float32", "float32")):
        assert linalg.trace(tl.ones((2, 2), dtype=dtype)).dtype == as_dtype(expected)
    same(linalg.trace(tl.full((3, 3), 100, dtype=tl.int8)), np.array(300))
    same(linalg.trace(tl.ones((2, 2), dtype=tl.int8), dtype=tl.float32), np.array(2, np.float32))


def test_norms_of_many_and_of_large_numbers():
    """Sums in float64: their error does not grow with the length, their squares do not overflow."""
    many = tl.full((300, 1000), 0.1, dtype=tl.float32)
    exactly = float(np.float32(0.1))
    for axis, count in ((None, 300_000), (0, 300), (1, 1000)):
        for order, expected in ((1, exactly * count), (2, exactly * math.sqrt(count))):
            found = host(linalg.vector_norm(many, axis=axis, ord=order))
            np.testing.assert_allclose(found, expected, 1e-7)
    large = tl.asarray([3e30, 4e30], dtype=tl.float32)
    same(linalg.vector_norm(large), np.array(5e30, np.float32))
    same(linalg.matrix_norm(large[None]), np.array(5e30, np.float32))


def test_results_beyond_the_dtype_are_infinite():
    x = asarray(np.full((1, 8), 6e4, np.float16))
    assert host(linalg.vector_norm(x)) == math.inf
    assert host(linalg.matrix_norm(x)) == math.inf


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
    given = operands.get(name, (x,))
    with tl.trace() as seen:
        result = getattr(linalg, name)(*given)
    (record,) = seen
    assert (record.name, record.kind) == (name, "compute")
    assert record.inputs[0] is given[0].layout
    assert record.output == result.layout
    assert not shared(result, x)


def test_results_are_new():
    x = tl.ones((2, 2))
    for result in (linalg.matrix_power(x, 1), *linalg.qr(x), linalg.vector_norm(x, axis=())):
        assert not shared(result, x)


def test_trace_is_a_view_and_a_sum():
    x = tl.ones((2, 2))
    with tl.trace() as seen:
        linalg.trace(x)
    assert [record.kind for record in seen] == ["view", "compute"]
