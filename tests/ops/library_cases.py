"""Cases of products, linear algebra and Fourier transforms."""

import warnings

import numpy as np
import tensors
from case import Case, near, same
from casting import cast, promoted
from draws import MOST
from tensors import as_dtype, kind

import tensorlayout as tl


def widest(array):
    return array.astype(np.complex128 if kind(array.dtype) == "c" else np.float64)


def tolerance(dtype, count=1):
    if kind(as_dtype(dtype)) not in "fc":
        return same
    eps = float(tl.finfo(dtype).eps)
    return near(8 * eps, 4 * eps * max(1, count))


def product(dtype, function):
    """Integers wrap as in their dtype, floats in double precision, rounded once."""

    def expect(a, b):
        a, b = cast(a, dtype), cast(b, dtype)
        if kind(a.dtype) in "iu":
            return np.asarray(function(a, b)).astype(a.dtype)
        return np.asarray(function(widest(a), widest(b))).astype(a.dtype)

    return expect


def pair_of_dtypes(draw, words="numeric"):
    first = draw.dtype(words)
    second = first if draw.few or draw.chance(0.8) else draw.dtype(words)
    return first, second, promoted(first, second)


def matmul(draw):
    first, second, dtype = pair_of_dtypes(draw)
    m, k, n = (draw.choice((0, 1, 2, 3, 4, 5, 8, 17)) for _ in range(3))
    batch = draw.shape(0, 2, empty=False) if draw.chance(0.5) else ()
    batch = tuple(min(n, 5) for n in batch)
    left, right = (*batch, m, k), (*draw.broadcast_with(batch), k, n)
    if draw.chance(0.15):
        left = (k,)
    elif draw.chance(0.15):
        right = (k,)
    x, y = draw.operand(first, left, "mild"), draw.operand(second, right, "mild")
    text = draw.choice(["x @ y", "tl.matmul(x, y)", "tl.linalg.matmul(x, y)"])
    expect = product(dtype, np.matmul)
    check = tolerance(dtype, 10 * k)
    return Case("matmul", text, {"x": x, "y": y}, expect, check, "row-major", None)


def tensordot(draw):
    draw.most = MOST  # what is made grows with the square
    first, second, dtype = pair_of_dtypes(draw)
    shared = draw.shape(0, 2, empty=draw.chance(0.2))
    shared = tuple(min(n, 9) for n in shared)
    count = len(shared)
    left = (*draw.choice([(), (2,), (3, 2), (1,)]), *shared)
    right = (*shared, *draw.choice([(), (2,), (4,), (1, 3)]))
    x, y = draw.operand(first, left, "mild"), draw.operand(second, right, "mild")
    axes = count
    if draw.chance(0.5):
        order = draw.order(count)
        axes = ([d - count for d in order], [d - len(right) * draw.chance(0.3) for d in order])
    return Case(
        "tensordot",
        f"{draw.choice(['tl', 'tl.linalg'])}.tensordot(x, y, axes={axes})",
        {"x": x, "y": y},
        product(dtype, lambda a, b: np.tensordot(a, b, axes)),
        tolerance(dtype, 10 * int(np.prod(shared))),
        "row-major",
        None,
    )


def vecdot(draw):
    first, second, dtype = pair_of_dtypes(draw)
    shape = draw.shape(1, 4)
    axis = draw.between(-len(shape), -1)
    before, after = shape[:axis], shape[axis:][1:]
    other = (*draw.broadcast_with(before), shape[axis], *(draw.choice((1, n, n)) for n in after))
    x, y = draw.operand(first, shape, "mild"), draw.operand(second, other, "mild")

    def dots(a, b):
        return (np.conj(a) * b).sum(axis, dtype=a.dtype)

    return Case(
        "vecdot",
        f"{draw.choice(['tl', 'tl.linalg'])}.vecdot(x, y, axis={axis})",
        {"x": x, "y": y},
        product(dtype, dots),
        tolerance(dtype, 10 * shape[axis]),
        "row-major",
        None,
    )


def outer(draw):
    first, second, dtype = pair_of_dtypes(draw)
    x = draw.operand(first, (draw.between(0, 20),), "mild")
    y = draw.operand(second, (draw.between(0, 20),), "mild")
    text = "tl.linalg.outer(x, y)"
    return Case(
        "outer", text, {"x": x, "y": y}, product(dtype, np.outer), tolerance(dtype), "row-major"
    )


def einsum(draw):
    dtype = draw.dtype("any")
    sizes = {c: draw.choice((1, 2, 3, 4, 5)) for c in "ijkl"}
    texts = ["ij,jk->ik", "ij->ji", "ij->", "ii->i", "ij,j->i", "ijk,kl->ijl", "i,i->"]
    texts += ["ij,kj->ik", "ij,kj,kl->il", "...->...", "...j,...j->..."]
    text = draw.choice(texts)
    left = text.split("->")[0].replace("...", "kl").split(",")
    result = {
        f"x{n}": draw.operand(dtype, tuple(sizes[c] for c in labels), "mild")
        for n, labels in enumerate(left)
    }

    def expect(*arrays):
        if kind(arrays[0].dtype) in "biu":
            return np.array(np.einsum(text, *arrays)).astype(arrays[0].dtype)
        return np.array(np.einsum(text, *(widest(a) for a in arrays))).astype(arrays[0].dtype)

    call = f'tl.einsum("{text}", {", ".join(result)})'
    return Case("einsum", call, result, expect, tolerance(dtype, 200), "row-major")


def isclose(draw):
    dtype = draw.dtype("any")
    shape = draw.shape()
    x, y = draw.operand(dtype, shape), draw.operand(dtype, draw.broadcast_with(shape))
    nan = draw.chance(0.5)

    def expect(a, b):
        wide = np.float64 if kind(a.dtype) in "biu" else a.dtype
        if wide == tensors.BFLOAT16:  # NumPy's does not know its tolerances
            wide = np.float64
        with np.errstate(all="ignore"):
            return np.isclose(a.astype(wide), b.astype(wide), equal_nan=nan)

    text = f"tl.isclose(x, y, equal_nan={nan})"
    return Case("isclose", text, {"x": x, "y": y}, expect, same, None)


def covariances(name):
    def make(draw):
        """Of integers, as many as a power of two, so that the mean is exact."""
        dtype = draw.choice(["int8", "uint8", "int16", "float32", "float64", "complex64"])
        rows, n = draw.choice((1, 2, 3)), draw.choice((1, 2, 4, 8))
        wide = draw.chance(0.7)
        values = draw.values(np.dtype("int8"), rows * n, "mild").reshape(rows, n)
        values = values if wide else np.array(values.T)
        x = draw.holding(np.array(values).astype(dtype))
        operands, arguments = {"x": x}, {"rowvar": wide}
        if draw.chance(0.3):
            more = draw.values(np.dtype("int8"), n, "mild").astype(np.float64)
            operands["y"] = draw.holding(more if wide else more[:, None])
        if name == "cov" and draw.chance(0.5):
            arguments |= draw.choice(({"bias": True}, {"ddof": 2}, {"ddof": 9}))

        def expect(a, y=None):
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return np.asarray(getattr(np, name)(a, y, **arguments))

        options = ", ".join(f"{key}={value}" for key, value in arguments.items())
        text = f"tl.{name}({', '.join(operands)}, {options})"
        return Case(name, text, operands, expect, tolerance("float64", 4), "row-major")

    return make


def squares(draw, words="floating-point", hermitian=False):
    dtype = draw.dtype(words)
    n = draw.choice((0, 1, 2, 3, 4, 5))
    batch = draw.choice([(), (), (2,), (0,), (2, 3), (1,)])
    a = np.array(draw.values(as_dtype(dtype), int(np.prod(batch)) * n * n, "mild"))
    a = widest(a.reshape(*batch, n, n))
    if hermitian:
        a = np.tril(a, -1)
        a = a + np.swapaxes(a, -1, -2).conj()
    a = a + 16 * np.eye(n)
    return draw.holding(a.astype(as_dtype(dtype))), dtype


def real_of(dtype):
    return {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)


def linear(name, hermitian=False, parts=False):
    def make(draw):
        x, dtype = squares(draw, hermitian=hermitian)
        eps = float(tl.finfo(dtype).eps)
        scale = {"det": 16.0 ** x.layout.shape[-1]}.get(name, 32.0)
        if dtype in ("float16",) and name == "det" and x.layout.shape[-1] > 3:
            return make(draw)

        options = {"upper": True} if name == "cholesky" and draw.chance(0.5) else {}

        def expect(a):
            actual = getattr(np.linalg, name)(widest(a), **options)
            if name == "slogdet":
                return actual[0].astype(a.dtype), actual[1].astype(real_of(dtype))
            result = real_of(dtype) if name in ("eigvalsh", "svdvals") else dtype
            return np.array(actual).astype(as_dtype(result))

        text = f"tl.linalg.{name}(x{', upper=True' if options else ''})"
        check = near(64 * eps, 8 * eps * scale)
        return Case(name, text, {"x": x}, expect, check, "row-major")

    return make


def cross(draw):
    first, second, dtype = pair_of_dtypes(draw)
    batch = draw.shape(0, 3)
    other = draw.broadcast_with(batch)
    axis = -draw.between(1, 1 + min(len(batch), len(other)))
    left, right = (
        (*stack[: len(stack) + 1 + axis], 3, *stack[len(stack) + 1 + axis :])
        for stack in (batch, other)
    )
    x, y = draw.operand(first, left, "mild"), draw.operand(second, right, "mild")
    expect = product(dtype, lambda a, b: np.cross(a, b, axis=axis))
    text = f"tl.linalg.cross(x, y, axis={axis})"
    return Case("cross", text, {"x": x, "y": y}, expect, tolerance(dtype, 30), "row-major")


def eigenvalues(draw):
    x, dtype = squares(draw, hermitian=True)
    double = dtype in ("float64", "complex128")
    result = "complex128" if double else "complex64"

    def expect(a):
        return np.linalg.eigvalsh(widest(a)).astype(result)

    eps = float(tl.finfo(dtype).eps)
    call = draw.choice(["tl.linalg.eigvals(x)", "tl.linalg.eig(x).eigenvalues"])
    text = f"tl.astype(tl.sort(tl.real({call})), '{result}')"
    check = near(64 * max(eps, 2.0**-23 if not double else 0), 256 * eps)
    return Case("eigvals", text, {"x": x}, expect, check, None, traced=False)


def matrix_rank(draw):
    draw.most = MOST  # what is made grows with the square
    dtype = draw.dtype("floating-point")
    shape = draw.shape(2, 4, empty=False)
    x = draw.operand(dtype, shape, "mild")
    if draw.chance(0.5):  # of rank 1 at most
        column = draw.values(x.dtype, shape[-2], "mild")
        x = draw.holding(np.array(np.broadcast_to(column[:, None], shape)))

    def expect(a):
        values = np.linalg.svdvals(widest(a))
        return np.array((values > 1e-2 * values[..., :1]).sum(-1).astype(np.int64))

    limits = ("1e-2", "tl.asarray(1e-2)", f"tl.full({shape[:-2]}, 1e-2)")
    text = f"tl.linalg.matrix_rank(x, rtol={draw.choice(limits)})"
    return Case("matrix_rank", text, {"x": x}, expect, same)


def pinv(draw):
    """Of squares; or of any matrices, by a tolerance that is no quotient of their values."""
    x, dtype = squares(draw)
    rtol, limit = None, ""
    if dtype not in ("float16", "bfloat16") and draw.chance(0.5):  # which round the tolerance
        draw.most = MOST
        rtol = 0.2345
        x = draw.operand(dtype, draw.shape(2, 4, empty=False), "mild")
        limit = draw.choice((", rtol=0.2345", f", rtol=tl.full({x.layout.shape[:-2]}, 0.2345)"))
    eps = float(tl.finfo(dtype).eps)

    def expect(a):
        return np.array(np.linalg.pinv(widest(a), rtol=rtol)).astype(a.dtype)

    check = near(64 * eps, 256 * eps)
    return Case("pinv", f"tl.linalg.pinv(x{limit})", {"x": x}, expect, check, "row-major")


def gradient(draw):
    dtype = draw.dtype("real floating")
    shape = tuple(n + 2 for n in draw.shape(1, 3, empty=False))
    x = draw.operand(dtype, shape, "mild")
    axis, order = draw.axis(len(shape)), draw.choice((1, 2))
    places = np.arange(shape[axis]) ** 2 * 0.5
    step, step_text = draw.choice(((1, "1"), (0.5, "0.5"), (places, f"np.array({[*places]})")))

    def expect(a):
        return np.gradient(widest(a), step, axis=axis, edge_order=order).astype(a.dtype)

    eps = float(tl.finfo(dtype).eps)
    text = f"tl.gradient(x, {step_text}, axis={axis}, edge_order={order})"
    return Case("gradient", text, {"x": x}, expect, near(4 * eps, 64 * eps), "row-major")


def frequencies(draw):
    name = draw.choice(["fftfreq", "rfftfreq"])
    n, d = draw.between(1, 20), draw.choice((1.0, 0.5, 3.0))
    dtype = draw.choice(["float32", "float64"])

    def expect():
        return getattr(np.fft, name)(n, d).astype(dtype)

    text = f'tl.fft.{name}({n}, d={d}, dtype="{dtype}")'
    return Case(name, text, {}, expect, near(2 * float(tl.finfo(dtype).eps)), "row-major")


def solve(draw):
    x, dtype = squares(draw)
    n = x.layout.shape[-1]
    y = draw.operand(dtype, (n,) if draw.chance(0.5) else (n, draw.between(0, 3)), "mild")
    eps = float(tl.finfo(dtype).eps)

    def expect(a, b):
        return np.array(np.linalg.solve(widest(a), widest(b))).astype(a.dtype)

    text = "tl.linalg.solve(x, y)"
    return Case("solve", text, {"x": x, "y": y}, expect, near(64 * eps, 64 * eps), "row-major")


def trace(draw):
    dtype = draw.dtype("numeric")
    x = draw.operand(dtype, draw.shape(2, 4), "mild")
    k = draw.between(-3, 3)

    def expect(a):
        whole = kind(a.dtype) in "iu"
        wide = a.astype(np.uint64 if kind(a.dtype) == "u" else np.int64) if whole else widest(a)
        result = np.array(np.trace(wide, k, -2, -1))
        return result if whole else result.astype(a.dtype)

    text = f"tl.linalg.trace(x, offset={k})"
    return Case("trace", text, {"x": x}, expect, tolerance(dtype, 60), "packed")


def vector_norm(draw):
    draw.most = MOST  # what is made grows with the square
    dtype = draw.dtype("floating-point")
    shape = draw.shape(empty=False)
    x = draw.operand(dtype, shape, "mild")
    axes, keep = draw.axes(len(shape)), draw.chance(0.4)
    order = draw.choice((2, 1, 0, 3, -0.5, np.inf, -np.inf))
    dims = tuple(range(len(shape))) if axes is None else tuple(np.atleast_1d(np.array(axes, int)))
    dims = tuple(int(d) for d in dims)

    def expect(a):
        a = np.abs(widest(a))
        if order == 0:
            result = (a != 0).sum(dims, keepdims=keep).astype(float)
        elif np.isinf(order):
            result = (a.max if order > 0 else a.min)(dims, keepdims=keep)
        else:
            result = (a**order).sum(dims, keepdims=keep) ** (1 / order)
        return np.array(result).astype(as_dtype(real_of(dtype)))

    shown = str(order) if np.isfinite(order) else ("inf" if order > 0 else "-inf")
    eps = float(tl.finfo(dtype).eps)
    text = f"tl.linalg.vector_norm(x, axis={axes}, keepdims={keep}, ord={shown})"
    return Case("vector_norm", text, {"x": x}, expect, near(16 * eps, eps), "row-major")


def matrix_norm(draw):
    draw.most = MOST  # what is made grows with the square
    dtype = draw.dtype("floating-point")
    x = draw.operand(dtype, draw.shape(2, 4, empty=False), "mild")
    order = draw.choice(("'fro'", "'nuc'", "None", "1", "-1", "2", "-2", "inf", "-inf"))
    keep = draw.chance(0.4)

    def expect(a):
        value = eval(order, {"inf": np.inf})
        result = np.linalg.norm(widest(a), value, (-2, -1), keep)
        return np.array(result).astype(as_dtype(real_of(dtype)))

    eps = float(tl.finfo(dtype).eps)
    text = f"tl.linalg.matrix_norm(x, ord={order}, keepdims={keep})"
    check = near(64 * eps, 256 * eps)
    return Case("matrix_norm", text, {"x": x}, expect, check, "row-major")


def matrix_power(draw):
    x, dtype = squares(draw)
    n = draw.choice((0, 1, 2, 3, -1)) if dtype != "float16" else draw.choice((0, 1, 2))
    eps = float(tl.finfo(dtype).eps)

    def expect(a):
        return np.array(np.linalg.matrix_power(widest(a), n)).astype(a.dtype)

    text = f"tl.linalg.matrix_power(x, {n})"
    check = near(64 * eps, 8 * eps * 30.0 ** max(n, 1))
    return Case("matrix_power", text, {"x": x}, expect, check, "row-major")


def factors(name, options=("",)):
    """Decompositions, put together again."""

    def make(draw):
        draw.most = MOST  # what is made grows with the square
        dtype = draw.dtype("floating-point")
        x = draw.operand(dtype, draw.shape(2, 4, empty=draw.chance(0.2)), "mild")
        if name in ("eigh",):
            x, dtype = squares(draw, hermitian=True)
        eps = float(tl.finfo(dtype).eps)
        call = f"tl.linalg.{name}(x{draw.choice(options)})"
        text = {
            "qr": f"together_qr({call})",
            "svd": f"together_svd({call})",
            "eigh": f"together_eigh({call})",
        }[name]
        largest = max(x.layout.shape[-2:], default=1)
        check = near(64 * eps, (64 + 8 * largest) * eps * 8)
        return Case(name, text, {"x": x}, widest, check, names=TOGETHER, traced=False)

    return make


def _wide(x):
    import tensors

    return widest(tensors.host(x))


def _tensor(a):
    return tl.asarray(a, device=tl.default_device())


def _orthonormal(columns):
    """Raise AssertionError unless the columns of matrices are orthonormal."""
    wide = _wide(columns)
    square = np.swapaxes(wide, -1, -2).conj() @ wide
    identity = np.broadcast_to(np.eye(wide.shape[-1]), square.shape)
    np.testing.assert_allclose(square, identity, 0, 64 * float(tl.finfo(columns.dtype).eps))


def together_qr(result):
    _orthonormal(result.Q)
    np.testing.assert_array_equal(_wide(result.R), np.triu(_wide(result.R)))
    return _tensor(_wide(result.Q) @ _wide(result.R))


def together_svd(result):
    _orthonormal(result.U)
    _orthonormal(result.Vh.mT)
    k = result.S.shape[-1]
    return _tensor(
        _wide(result.U)[..., :k] @ (_wide(result.S)[..., None] * _wide(result.Vh)[..., :k, :])
    )


def together_eigh(result):
    _orthonormal(result.eigenvectors)
    vectors = _wide(result.eigenvectors)
    back = np.swapaxes(vectors, -1, -2).conj()
    return _tensor(vectors @ (_wide(result.eigenvalues)[..., None] * back))


TOGETHER = {
    "together_qr": together_qr,
    "together_svd": together_svd,
    "together_eigh": together_eigh,
}


# --- Fourier transforms --------------------------------------------------------------------------


def transform(name):
    real_input = name in ("rfft", "ihfft", "rfftn")
    real_result = name in ("irfft", "hfft", "irfftn")

    def make(draw):
        dtype = draw.dtype("real floating" if real_input else "floating-point")
        shape = draw.shape(1, 4, empty=False)
        x = draw.operand(dtype, shape, "mild")
        norm = draw.choice(("backward", "ortho", "forward"))
        if name.endswith("n"):
            axes = draw.random.sample(range(len(shape)), draw.between(1, len(shape)))
            axes = tuple(d - len(shape) if draw.chance(0.3) else d for d in axes)
            least = 2 if real_result else 1
            s = tuple(draw.between(least, 7) for _ in axes) if draw.chance(0.4) else None
            if s is None and real_result and shape[axes[-1]] < 2:
                s = (3,) * len(axes)
            arguments, options = (s, axes), f"s={s}, axes={axes}"
        else:
            axis = draw.axis(len(shape))
            n = draw.between(1, 12) if draw.chance(0.5) else None
            if n is None and real_result and shape[axis] < 2:
                n = 4
            arguments, options = (n, axis), f"n={n}, axis={axis}"
        double = dtype in ("float64", "complex128")
        result = real_of(dtype) if real_result else "complex128" if double else "complex64"

        def expect(a):
            return np.array(getattr(np.fft, name)(widest(a), *arguments, norm)).astype(
                as_dtype(result)
            )

        eps = float(tl.finfo(result).eps)
        most = 20.0 * max(1, x.layout.size)
        text = f'tl.fft.{name}(x, {options}, norm="{norm}")'
        return Case(name, text, {"x": x}, expect, near(8 * eps, 8 * eps * most), "row-major")

    return make


def shift(draw):
    name = draw.choice(["fftshift", "ifftshift"])
    x = draw.operand(draw.dtype("floating-point"), draw.shape(), "moved")
    axes = draw.axes(x.layout.ndim)
    return Case(
        name,
        f"tl.fft.{name}(x, axes={axes})",
        {"x": x},
        lambda a: np.array(a if axes == () or not a.ndim else getattr(np.fft, name)(a, axes)),
        same,
        "packed",
    )


CASES = {
    f.__name__: f
    for f in (
        *(matmul, tensordot, vecdot, outer, einsum, isclose, solve, trace, vector_norm),
        *(
            matrix_norm,
            matrix_power,
            shift,
            cross,
            eigenvalues,
            matrix_rank,
            pinv,
            gradient,
            frequencies,
        ),
    )
}
CASES |= {n: linear(n) for n in ("det", "inv", "slogdet", "svdvals")}
CASES |= {n: linear(n, hermitian=True) for n in ("cholesky", "eigvalsh")}
CASES |= {
    "qr": factors("qr", ("", ', mode="complete"')),
    "svd": factors("svd", ("", ", full_matrices=False")),
    "eigh": factors("eigh"),
}
CASES |= {n: covariances(n) for n in ("cov", "corrcoef")}
LINES = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
CASES |= {n: transform(n) for n in (*LINES, "fftn", "ifftn", "rfftn", "irfftn")}
