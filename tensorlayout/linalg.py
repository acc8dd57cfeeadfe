"""Linear algebra: the extension ``linalg`` of the standard.

Each function is a line of the table; results are row-major, and transposed or padded operands go
to the library as they are. 16-bit floats are worked out in float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from tensorlayout.cpu import transforms
from tensorlayout.functions import calling
from tensorlayout.functions.linear_algebra import matmul, matrix_transpose, tensordot, vecdot
from tensorlayout.functions.statistical import sum as _sum
from tensorlayout.layout import Layout
from tensorlayout.plan.library import Library
from tensorlayout.plan.moving import View
from tensorlayout.tensor import Tensor

__all__ = [
    "cholesky",
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


def _line(name: str, dtypes: str = "floating-point", rank: int = 2) -> Library:
    return Library(name, dtypes, transforms.linalg(name), rank)


_CHOLESKY = _line("cholesky")
_CROSS = _line("cross", "numeric", 1)
_DET = _line("det")
_EIG = Library("eig", "floating-point", transforms.eig, 2)
_EIGH = _line("eigh")
_EIGVALS = Library("eigvals", "floating-point", transforms.eigvals, 2)
_EIGVALSH = _line("eigvalsh")
_INV = _line("inv")
_MATRIX_NORM = _line("matrix_norm")
_MATRIX_POWER = _line("matrix_power")
_MATRIX_RANK = _line("matrix_rank")
_OUTER = _line("outer", "numeric", 1)
_PINV = _line("pinv")
_PINV_EACH = Library("pinv", "floating-point", transforms.pinv_each, 2)
_QR = _line("qr")
_SLOGDET = _line("slogdet")
_SOLVE = _line("solve")
_SVD = _line("svd")
_SVDVALS = _line("svdvals")
_VECTOR_NORM = _line("vector_norm", rank=0)


class EigResult(NamedTuple):
    """What `eig` finds."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class EighResult(NamedTuple):
    """What `eigh` finds."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class QRResult(NamedTuple):
    """What `qr` finds."""

    Q: Tensor
    R: Tensor


class SlogdetResult(NamedTuple):
    """What `slogdet` finds."""

    sign: Tensor
    logabsdet: Tensor


class SVDResult(NamedTuple):
    """What `svd` finds."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def _one(operation: Library, *operands: Any, **options: Any) -> Tensor:
    found: Tensor = calling.library(operation, *operands, static=tuple(options.items()))
    return found


def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """The lower (or `upper`) triangular factor of each Hermitian positive-definite matrix."""
    return _one(_CHOLESKY, x, upper=upper)


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The cross product of vectors of three elements along `axis`."""
    return _one(_CROSS, x1, x2, axis=int(axis))


def det(x: Tensor, /) -> Tensor:
    """The determinant of each square matrix."""
    return _one(_DET, x)


def _diagonal(layout: Layout, offset: int) -> Layout:
    *outer, rows, columns = layout.shape
    *strides, down, right = layout.strides
    first = max(0, -offset) * down + max(0, offset) * right
    count = max(0, min(rows + min(0, offset), columns - max(0, offset)))
    start = layout.offset + (first if count and layout.size else 0)
    return Layout((*outer, count), (*strides, down + right), offset=start)


_DIAGONAL = View("diagonal", _diagonal)


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """The diagonal `offset` (above the main one if positive) of each matrix. A view."""
    x = calling.tensor("diagonal", x)
    if x.ndim < 2:
        msg = f"diagonal: needs a rank of at least 2, got shape {x.shape}"
        raise ValueError(msg)
    return calling.call(_DIAGONAL, (x._spec, int(offset)), (x,))


def eig(x: Tensor, /) -> EigResult:
    """The eigenvalues and right eigenvectors of each square matrix, always complex."""
    return EigResult(*calling.library(_EIG, x))


def eigh(x: Tensor, /) -> EighResult:
    """The eigenvalues, ascending, and eigenvectors of each Hermitian matrix."""
    return EighResult(*calling.library(_EIGH, x))


def eigvals(x: Tensor, /) -> Tensor:
    """The eigenvalues of each square matrix, always complex."""
    return _one(_EIGVALS, x)


def eigvalsh(x: Tensor, /) -> Tensor:
    """The eigenvalues of each Hermitian matrix, ascending."""
    return _one(_EIGVALSH, x)


def inv(x: Tensor, /) -> Tensor:
    """The inverse of each square matrix."""
    return _one(_INV, x)


def matrix_norm(
    x: Tensor, /, *, keepdims: bool = False, ord: float | Literal["fro", "nuc"] | None = "fro"
) -> Tensor:
    """The norm of each matrix: Frobenius, nuclear, or induced by the order `ord`."""
    return _one(_MATRIX_NORM, x, keepdims=keepdims, ord=ord)


def matrix_power(x: Tensor, n: int, /) -> Tensor:
    """Each square matrix to an integer power; a negative one inverts."""
    return _one(_MATRIX_POWER, x, n=int(n))


def matrix_rank(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """How many singular values of each matrix exceed `rtol` times the largest, as int64."""
    if not isinstance(rtol, Tensor):
        return _one(_MATRIX_RANK, x, rtol=rtol)
    values = svdvals(x)
    limit = values[..., 0] * rtol
    return _sum(values > limit[..., None], axis=-1)


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """All products of an element of `x1` with one of `x2`, both of rank 1."""
    return _one(_OUTER, x1, x2)


def pinv(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """The pseudo-inverse of each matrix; singular values up to `rtol` of the largest count as 0."""
    if not isinstance(rtol, Tensor):
        return _one(_PINV, x, rtol=rtol)
    return calling.library(_PINV_EACH, x, rtol)  # type: ignore[no-any-return]


def qr(x: Tensor, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult:
    """Factors with orthonormal columns and upper triangular, of each matrix."""
    return QRResult(*calling.library(_QR, x, static=(("mode", mode),)))


def slogdet(x: Tensor, /) -> SlogdetResult:
    """The sign and the logarithm of the magnitude of each determinant."""
    return SlogdetResult(*calling.library(_SLOGDET, x))


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """What each square matrix `x1` maps to `x2`: a vector if `x2` has rank 1, else matrices."""
    return _one(_SOLVE, x1, x2)


def svd(x: Tensor, /, *, full_matrices: bool = True) -> SVDResult:
    """The singular value decomposition of each matrix, singular values descending."""
    return SVDResult(*calling.library(_SVD, x, static=(("full_matrices", full_matrices),)))


def svdvals(x: Tensor, /) -> Tensor:
    """The singular values of each matrix, descending."""
    return _one(_SVDVALS, x)


def trace(x: Tensor, /, *, offset: int = 0, dtype: Any = None) -> Tensor:
    """The sum along the diagonal `offset` of each matrix; dtype as in `sum`."""
    return _sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def vector_norm(
    x: Tensor,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    ord: float = 2,
) -> Tensor:
    """The norm of order `ord` of the elements along `axis` (all by default)."""
    return _one(_VECTOR_NORM, x, axis=calling.integers(axis), keepdims=keepdims, ord=ord)
