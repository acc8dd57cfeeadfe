"""``numpy.linalg`` with its signatures: ours, of integers as float64."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial, reduce
from typing import Any

from tensorlayout import dtypes, linalg
from tensorlayout.functions import arguments, linear_algebra
from tensorlayout.functions import elementwise as ew
from tensorlayout.functions.data_types import astype
from tensorlayout.functions.manipulation import expand_dims, moveaxis
from tensorlayout.functions.operands import beside, counted, floating, product, sequence, tensors
from tensorlayout.functions.outputs import given
from tensorlayout.functions.searching import count_nonzero, where
from tensorlayout.functions.utility import any as any_
from tensorlayout.linalg import cross, diagonal
from tensorlayout.tensor import Tensor
from tensorlayout.words import refuse

__all__ = [
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """`tl.matmul`."""
    return product(linear_algebra.matmul, *tensors("matmul", x1, x2))


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """`tl.linalg.outer`."""
    return product(linalg.outer, *tensors("outer", x1, x2))


def tensordot(x1: Tensor, x2: Tensor, /, *, axes: Any = 2) -> Tensor:
    """`tl.tensordot`."""
    return product(partial(linear_algebra.tensordot, axes=axes), *tensors("tensordot", x1, x2))


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """`tl.vecdot`."""
    return product(partial(linear_algebra.vecdot, axis=axis), *tensors("vecdot", x1, x2))


def matrix_transpose(x: Tensor, /) -> Tensor:
    """`tl.matrix_transpose`."""
    return linear_algebra.matrix_transpose(x)


def trace(x: Tensor, /, *, offset: int = 0, dtype: Any = None) -> Tensor:
    """`tl.linalg.trace`."""
    return linalg.trace(counted("trace", x), offset=offset, dtype=dtype)


def cholesky(a: Tensor, /, *, upper: bool = False) -> Tensor:
    """`tl.linalg.cholesky`."""
    return linalg.cholesky(floating("cholesky", a), upper=upper)


def det(a: Tensor) -> Tensor:
    """`tl.linalg.det`."""
    return linalg.det(floating("det", a))


def eig(a: Tensor) -> linalg.EigResult:
    """`tl.linalg.eig`: always complex."""
    return linalg.eig(floating("eig", a))


def _triangle(name: str, a: Any, UPLO: str) -> Tensor:  # noqa: N803 - NumPy's name
    """A matrix whose lower triangle stands for it."""
    arguments.choice(name, "UPLO", UPLO, "'L' or 'U'", ("L", "U", "l", "u"))
    x = floating(name, a)
    if UPLO in "lL":
        return x
    transposed = linear_algebra.matrix_transpose(x)
    return ew.conj(transposed) if x.dtype.kind == "c" else transposed


def eigh(a: Tensor, UPLO: str = "L") -> linalg.EighResult:  # noqa: N803 - NumPy's name
    """`tl.linalg.eigh`."""
    return linalg.eigh(_triangle("eigh", a, UPLO))


def eigvals(a: Tensor) -> Tensor:
    """`tl.linalg.eigvals`: always complex."""
    return linalg.eigvals(floating("eigvals", a))


def eigvalsh(a: Tensor, UPLO: str = "L") -> Tensor:  # noqa: N803 - NumPy's name
    """`tl.linalg.eigvalsh`."""
    return linalg.eigvalsh(_triangle("eigvalsh", a, UPLO))


def inv(a: Tensor) -> Tensor:
    """`tl.linalg.inv`."""
    return linalg.inv(floating("inv", a))


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """`tl.linalg.matrix_norm`."""
    return linalg.matrix_norm(floating("matrix_norm", x), keepdims=keepdims, ord=ord)


def vector_norm(
    x: Tensor, /, *, axis: Any = None, keepdims: bool = False, ord: float = 2
) -> Tensor:
    """`tl.linalg.vector_norm`."""
    return linalg.vector_norm(floating("vector_norm", x), axis=axis, keepdims=keepdims, ord=ord)


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The norm of vectors along an axis, of matrices along two, or of all elements without `ord`.

    `ord`: as in `tl.linalg.vector_norm` and `tl.linalg.matrix_norm`.
    """
    a = floating("norm", x)
    if axis is None and (
        ord is None or (ord in ("f", "fro") and a.ndim == 2) or (ord == 2 and a.ndim == 1)
    ):
        return linalg.vector_norm(a, keepdims=keepdims)
    dims = arguments.dims("norm", axis, a.ndim)
    if len(dims) == 1:
        if isinstance(ord, str):
            refuse("norm", f"ord of vectors must be a number, got {ord!r}")
        return linalg.vector_norm(a, axis=dims, keepdims=keepdims, ord=2 if ord is None else ord)
    if len(dims) != 2:
        refuse("norm", f"axis must be one or two, got {len(dims)}")
    found = linalg.matrix_norm(
        moveaxis(a, dims, (-2, -1)), ord="fro" if ord in (None, "f") else ord
    )
    return expand_dims(found, dims) if keepdims else found


def matrix_power(a: Tensor, n: int) -> Tensor:
    """`tl.linalg.matrix_power`; integers stay where no inverse is taken."""
    x = arguments.tensor("matrix_power", a)
    if n < 0 or not dtypes.in_category(x.dtype, "integer or boolean"):
        return linalg.matrix_power(floating("matrix_power", x), n)
    linear_algebra.matrix("matrix_power", x)
    found = astype(linalg.matrix_power(astype(x, dtypes.float64), 0), x.dtype)
    for digit in f"{arguments.integer('matrix_power', 'n', n):b}":
        found = matmul(found, found)
        found = matmul(found, x) if digit == "1" else found
    return found


def _tolerance(name: str, x: Tensor, given_: Any) -> Any:
    if given_ is None or isinstance(given_, (int, float)):
        return given_
    return astype(beside(name, given_, x), dtypes.real_of(x.dtype), copy=False)


def matrix_rank(
    A: Tensor,  # noqa: N803 - NumPy's name
    tol: Any = None,
    hermitian: bool = False,
    *,
    rtol: Any = None,
) -> Tensor:
    """`tl.linalg.matrix_rank`; `tol`: what singular values must exceed."""
    x = floating("matrix_rank", A)
    if tol is None and x.ndim >= 2:
        return linalg.matrix_rank(x, rtol=_tolerance("matrix_rank", x, rtol))
    if x.ndim < 2:
        return astype(any_(ew.not_equal(x, 0)), dtypes.int64)
    least = beside("matrix_rank", tol, x)
    values = linalg.svdvals(x)
    return count_nonzero(ew.greater(values, least[..., None] if least.ndim else least), axis=-1)


def pinv(a: Tensor, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Tensor:
    """`tl.linalg.pinv`; `rcond`, by default 1e-15, and `rtol` are the same."""
    x = floating("pinv", a)
    least = 1e-15 if rcond is None and rtol is None else rcond if rtol is None else rtol
    return linalg.pinv(x, rtol=_tolerance("pinv", x, least))


def qr(a: Tensor, mode: str = "reduced") -> Any:
    """`tl.linalg.qr`; with ``mode="r"`` the triangular factor alone."""
    x = floating("qr", a)
    if mode == "r":
        return linalg.qr(x).R
    return linalg.qr(x, mode=mode)  # type: ignore[arg-type]


def slogdet(a: Tensor) -> linalg.SlogdetResult:
    """`tl.linalg.slogdet`."""
    return linalg.slogdet(floating("slogdet", a))


def solve(a: Any, b: Any) -> Tensor:
    """`tl.linalg.solve`."""
    return linalg.solve(*(floating("solve", x) for x in tensors("solve", a, b)))


def svd(
    a: Tensor, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """`tl.linalg.svd`; singular values alone without `compute_uv`."""
    x = floating("svd", a)
    return linalg.svd(x, full_matrices=bool(full_matrices)) if compute_uv else linalg.svdvals(x)


def svdvals(x: Tensor, /) -> Tensor:
    """`tl.linalg.svdvals`."""
    return linalg.svdvals(floating("svdvals", x))


def cond(x: Tensor, p: Any = None) -> Tensor:
    """Return the norm of each matrix times that of its inverse; inf for 2-norms of zeros.

    ValueError for matrices without elements.
    """
    a = floating("cond", x)
    if 0 in a.shape[-2:]:
        refuse("cond", f"matrices must have elements, got shape {a.shape}")
    if p in (None, 2, -2):
        values = linalg.svdvals(a)
        first, last = values[..., 0], values[..., -1]
        found = ew.divide(last, first) if p == -2 else ew.divide(first, last)
        of_zeros = ew.logical_and(ew.isnan(found), ew.logical_not(ew.isnan(first)))
        return where(of_zeros, math.inf, found)
    return ew.multiply(linalg.matrix_norm(a, ord=p), linalg.matrix_norm(linalg.inv(a), ord=p))


def multi_dot(arrays: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The product of matrices in a row; the first and the last may be vectors."""
    return given("multi_dot", reduce(matmul, sequence("multi_dot", arrays)), out)
