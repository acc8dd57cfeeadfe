"""Linear algebra: the extension ``linalg`` of the standard.

Matrices are the last two dimensions, those before them a stack of matrices, each treated alike.
Each function is a line of the table: which dtypes it takes, and a rule for the shapes and dtypes of
its results. Operands are handed over as they lie, whatever their layout;
results are row-major. 16-bit floats are worked out in float32 and rounded once; their complex
results are complex64.

Errors, for every function: TypeError for dtypes, ValueError for shapes, and ``LinAlgError``, a
ValueError, where a matrix has no such result (singular, not positive-definite, not finite).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, SupportsIndex

import numpy as np

from tensorlayout import calling, dtypes, spellings
from tensorlayout.functions import arguments, dispatch
from tensorlayout.functions.creation import asarray
from tensorlayout.functions.data_types import astype, finfo
from tensorlayout.functions.linear_algebra import (
    matmul,
    matrix,
    matrix_transpose,
    tensordot,
    vecdot,
)
from tensorlayout.functions.reduction import reduced
from tensorlayout.layout import Layout
from tensorlayout.layout.slots import MAX_SLOTS
from tensorlayout.plan import matrices
from tensorlayout.plan.library import Library
from tensorlayout.plan.reduce import Reduce
from tensorlayout.plan.view import View
from tensorlayout.tensor import Tensor
from tensorlayout.typing import Axis, DTypeLike, Real

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


# --- the table ---------------------------------------------------------------------------------

_FLOATS = "floating-point"

# Matrices that are not finite are refused where LAPACK finds finite results for them, or cuSOLVER
# does not end.
_FAILS: Any = {"error": np.linalg.LinAlgError}
_INDEFINITE = _FAILS | {"failure": "Matrix is not positive definite"}
_SINGULAR = _FAILS | {"failure": "Singular matrix"}
_EIGENVALUES = _FAILS | {"finite": True, "failure": "Eigenvalues did not converge"}
_SINGULAR_VALUES = _FAILS | {"finite": True, "failure": "SVD did not converge"}

_CHOLESKY = Library("cholesky", _FLOATS, matrices.like, 2, **_INDEFINITE)
_CROSS = Library("cross", "numeric", matrices.crossed)
_DET = Library("det", _FLOATS, matrices.number, 2)
_EIG = Library("eig", _FLOATS, matrices.general, 2, **_EIGENVALUES)
_EIGH = Library("eigh", _FLOATS, matrices.hermitian, 2, **_EIGENVALUES)
_EIGVALS = Library("eigvals", _FLOATS, matrices.complex_values, 2, **_EIGENVALUES)
_EIGVALSH = Library("eigvalsh", _FLOATS, matrices.real_values, 2, **_EIGENVALUES)
_INV = Library("inv", _FLOATS, matrices.like, 2, **_SINGULAR)
_MATRIX_NORM = Library("matrix_norm", _FLOATS, matrices.normed, 2)
_SPECTRAL_NORM = replace(_MATRIX_NORM, **_SINGULAR_VALUES)
_MATRIX_POWER = Library("matrix_power", _FLOATS, matrices.like, 2, **_SINGULAR)
_MATRIX_RANK = Library("matrix_rank", _FLOATS, matrices.rank, 2, **_SINGULAR_VALUES)
_OUTER = Library("outer", "numeric", matrices.table)
_PINV = Library("pinv", _FLOATS, matrices.transposed, 2, **_SINGULAR_VALUES)
_QR = Library("qr", _FLOATS, matrices.factors, 2)
_SLOGDET = Library("slogdet", _FLOATS, matrices.sign_and_logarithm, 2)
_SOLVE = Library("solve", _FLOATS, matrices.solution, 2, **_SINGULAR)
_SVD = Library("svd", _FLOATS, matrices.singular, 2, **_SINGULAR_VALUES)
_SVDVALS = Library("svdvals", _FLOATS, matrices.singular_values, 2, **_SINGULAR_VALUES)
_TRACE = Reduce("trace", "numeric", "sum", "sum")
_VECTOR_NORM = Library("vector_norm", _FLOATS, matrices.length)


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
    found: Tensor = dispatch.library(operation, *operands, **options)
    return found


def _several(operation: Library, *operands: Any, **options: Any) -> tuple[Tensor, ...]:
    found: tuple[Tensor, ...] = dispatch.library(operation, *operands, **options)
    return found


# --- the functions -----------------------------------------------------------------------------


def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """The lower (or `upper`) triangular factor of each Hermitian positive-definite matrix.

    dtypes: floating-point, kept. Shape (…, m, m), as `x`; only the lower triangle of `x` is read
    (with `upper`, the upper one). Layout: row-major. LinAlgError for a matrix that is not
    positive-definite, ValueError for one that is not square, TypeError for other dtypes.

    >>> import tensorlayout as tl
    >>> tl.linalg.cholesky(tl.asarray([[4.0, 2.0], [2.0, 2.0]]))
    Tensor([[2., 0.],
            [1., 1.]], dtype=float64, device='cpu')
    """
    return _one(_CHOLESKY, x, upper=arguments.truth("cholesky", "upper", upper))


def cross(x1: Tensor, x2: Tensor, /, *, axis: SupportsIndex = -1) -> Tensor:
    """The cross product of vectors of three elements along `axis`; other dimensions broadcast.

    `axis`: negative, inside both shapes. dtypes: numeric; integers wrap. Layout: row-major.
    ValueError where a size along `axis` is not 3, TypeError for other dtypes.

    >>> import tensorlayout as tl
    >>> tl.linalg.cross(tl.asarray([1, 0, 0]), tl.asarray([0, 1, 0]))
    Tensor([0, 0, 1], dtype=int64, device='cpu')
    """
    return _one(_CROSS, x1, x2, axis=arguments.integer("cross", "axis", axis))


def det(x: Tensor, /) -> Tensor:
    """The determinant of each square matrix: (…, m, m) gives (…); 1 of an empty matrix.

    dtypes: floating-point, kept. Layout: row-major. ValueError for a matrix that is not square,
    TypeError for other dtypes.

    >>> import tensorlayout as tl
    >>> tl.linalg.det(tl.asarray([[2.0, 0.0], [5.0, 3.0]]))
    Tensor(6.0, dtype=float64, device='cpu')
    """
    return _one(_DET, x)


def _diagonal(layout: Layout, offset: int) -> Layout:
    *outer, rows, columns = layout.shape
    *strides, down, right = layout.strides
    first = max(0, -offset) * down + max(0, offset) * right
    count = max(0, min(rows + min(0, offset), columns - max(0, offset)))
    start = layout.offset + (first if count and layout.size else 0)
    return Layout((*outer, count), (*strides, down + right), offset=start)


_DIAGONAL = View("diagonal", _diagonal)


def diagonal(x: Tensor, /, *, offset: SupportsIndex = 0) -> Tensor:
    """The diagonal `offset` (above the main one if positive) of each matrix. A view.

    Any dtype. (…, m, n) gives (…, k), where k is the length of the diagonal, 0 outside the matrix.
    ValueError for a rank below 2.

    >>> import tensorlayout as tl
    >>> tl.linalg.diagonal(tl.asarray([[1, 2], [3, 4]])).layout
    Layout.parse('(2,):(3,)')
    """
    x = matrix("diagonal", x)
    return dispatch.call(
        _DIAGONAL, (x._spec, arguments.integer("diagonal", "offset", offset)), (x,)
    )


def eig(x: Tensor, /) -> EigResult:
    """The eigenvalues and right eigenvectors of each square matrix, always complex.

    dtypes: floating-point. Shapes (…, m), in no order, and (…, m, m), a vector in each column.
    Layout: row-major. LinAlgError for a matrix that is not finite, ValueError for one that is not
    square, TypeError for other dtypes.

    >>> import tensorlayout as tl
    >>> turn = tl.asarray([[0.0, 1.0], [-1.0, 0.0]])
    >>> values, vectors = tl.linalg.eig(turn)
    >>> tl.sort(tl.imag(values))
    Tensor([-1.,  1.], dtype=float64, device='cpu')
    """
    return EigResult(*_several(_EIG, x))


def eigh(x: Tensor, /) -> EighResult:
    """The eigenvalues, ascending, and eigenvectors of each Hermitian matrix.

    dtypes: floating-point. Shapes (…, m), real, and (…, m, m), a vector in each column; only the
    lower triangle of `x` is read. Layout: row-major. LinAlgError for a matrix that is not finite,
    ValueError for one that is not square, TypeError for other dtypes.

    >>> import tensorlayout as tl
    >>> tl.linalg.eigh(tl.asarray([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    Tensor([1., 2.], dtype=float64, device='cpu')
    """
    return EighResult(*_several(_EIGH, x))


def eigvals(x: Tensor, /) -> Tensor:
    """The eigenvalues of each square matrix, always complex, in no order: (…, m, m) gives (…, m).

    dtypes: floating-point. Layout: row-major. LinAlgError for a matrix that is not finite,
    ValueError for one that is not square, TypeError for other dtypes.

    >>> import tensorlayout as tl
    >>> tl.linalg.eigvals(tl.asarray([[2.0]]))
    Tensor([2.+0.j], dtype=complex128, device='cpu')
    """
    return _one(_EIGVALS, x)


def eigvalsh(x: Tensor, /) -> Tensor:
    """The eigenvalues of each Hermitian matrix, ascending and real: (…, m, m) gives (…, m).

    dtypes: floating-point. Only the lower triangle of `x` is read. Layout: row-major. LinAlgError
    for a matrix that is not finite, ValueError for one that is not square, TypeError for other
    dtypes.

    >>> import tensorlayout as tl
    >>> tl.linalg.eigvalsh(tl.asarray([[2.0, 0.0], [0.0, 1.0]]))
    Tensor([1., 2.], dtype=float64, device='cpu')
    """
    return _one(_EIGVALSH, x)


def inv(x: Tensor, /) -> Tensor:
    """The inverse of each square matrix.

    dtypes: floating-point, kept. Layout: row-major. LinAlgError for a singular matrix, ValueError
    for one that is not square, TypeError for other dtypes.

    >>> import tensorlayout as tl
    >>> tl.linalg.inv(tl.asarray([[2.0, 0.0], [0.0, 4.0]]))
    Tensor([[0.5 , 0.  ],
            [0.  , 0.25]], dtype=float64, device='cpu')
    """
    return _one(_INV, x)


def matrix_norm(
    x: Tensor, /, *, keepdims: bool = False, ord: Real | Literal["fro", "nuc"] | None = "fro"
) -> Tensor:
    """The norm of each matrix: Frobenius, nuclear, or induced by the order `ord`.

    `ord`: ``"fro"`` (or None), ``"nuc"``, 1 and inf (the largest sum of magnitudes of a column, of
    a row), 2 (the largest singular value), or negative for the smallest. (…, m, n) gives (…), or
    (…, 1, 1) with `keepdims`. dtypes: floating-point; the result is real. Sums are kept in float64.
    Layout: row-major. ValueError for any other `ord`, and for the smallest of none; TypeError for
    other dtypes.

    >>> import tensorlayout as tl
    >>> tl.linalg.matrix_norm(tl.asarray([[3.0, 0.0], [4.0, 0.0]]), ord=1)
    Tensor(7.0, dtype=float64, device='cpu')
    """
    kept = arguments.truth("matrix_norm", "keepdims", keepdims)
    order = ord if ord is None or isinstance(ord, str) else _order("matrix_norm", ord)
    operation = _SPECTRAL_NORM if order in ("nuc", 2, -2) else _MATRIX_NORM
    return _one(operation, x, keepdims=kept, ord=order)


def matrix_power(x: Tensor, n: SupportsIndex, /) -> Tensor:
    """Each square matrix to an integer power `n`; a negative one inverts, 0 gives the identity.

    dtypes: floating-point, kept. Layout: row-major. LinAlgError for a negative power of a singular
    matrix, ValueError for one that is not square, TypeError for other dtypes or powers.

    >>> import tensorlayout as tl
    >>> tl.linalg.matrix_power(tl.asarray([[1.0, 1.0], [0.0, 1.0]]), 10)
    Tensor([[ 1., 10.],
            [ 0.,  1.]], dtype=float64, device='cpu')
    """
    power = arguments.integer("matrix_power", "n", n)
    if abs(power) > MAX_SLOTS:
        msg = f"matrix_power: n must lie within 2**63 - 1, got {arguments.shown(power)}"
        raise ValueError(msg)
    return _one(_MATRIX_POWER, x, n=power)


def matrix_rank(x: Tensor, /, *, rtol: Tensor | Real | None = None) -> Tensor:
    """How many singular values of each matrix exceed `rtol` times the largest, as int64.

    dtypes: floating-point. `rtol`: a number or a tensor of real floating-point dtype, one for each
    matrix; by default the larger size of a matrix times the epsilon of the dtype. (…, m, n) gives
    (…). Layout: row-major. LinAlgError for a matrix that is not finite, ValueError for a rank
    below 2, TypeError for other dtypes.

    >>> import tensorlayout as tl
    >>> tl.linalg.matrix_rank(tl.ones((2, 3)))
    Tensor(1, dtype=int64, device='cpu')
    """
    return _one(_MATRIX_RANK, *_with_tolerance("matrix_rank", x, rtol))


def _with_tolerance(name: str, x: Any, rtol: Any) -> tuple[Tensor, Tensor]:
    """`x`, and `rtol` in the dtype of its parts."""
    x = matrix(name, x)
    if not dtypes.in_category(x.dtype, _FLOATS):
        msg = f"{name}: only {_FLOATS} dtypes are allowed, got {x.dtype}"
        raise TypeError(msg)
    if rtol is None:
        rtol = max(x.shape[-2:]) * finfo(x.dtype).eps
    real = dtypes.real_of(x.dtype)
    if not isinstance(rtol, Tensor):
        kind = "a real number or a tensor"
        number = arguments.as_float(name, arguments.real(name, "rtol", rtol, kind))
        return x, asarray(number, dtype=real, device=x.device)
    if not dtypes.in_category(rtol.dtype, "real floating"):
        msg = f"{name}: rtol must have a real floating dtype, got {rtol.dtype}"
        raise TypeError(msg)
    return x, rtol if rtol.dtype == real else astype(rtol, real)


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """All products of an element of `x1` with one of `x2`, both of rank 1: (n,), (m,) give (n, m).

    dtypes: numeric; integers wrap. Layout: row-major. ValueError for another rank, TypeError for
    other dtypes.

    >>> import tensorlayout as tl
    >>> tl.linalg.outer(tl.asarray([1, 2]), tl.asarray([3, 4]))
    Tensor([[3, 4],
            [6, 8]], dtype=int64, device='cpu')
    """
    return _one(_OUTER, x1, x2)


def pinv(x: Tensor, /, *, rtol: Tensor | Real | None = None) -> Tensor:
    """The pseudo-inverse of each matrix; singular values up to `rtol` of the largest count as 0.

    dtypes: floating-point, kept. `rtol`: a number or a tensor, one for each matrix; by default the
    larger size of a matrix times the epsilon of the dtype. (…, m, n) gives (…, n, m). Layout:
    row-major. LinAlgError for a matrix that is not finite, ValueError for a rank below 2, TypeError
    for other dtypes.

    >>> import tensorlayout as tl
    >>> tl.linalg.pinv(tl.asarray([[2.0], [0.0]]))
    Tensor([[0.5, 0. ]], dtype=float64, device='cpu')
    """
    return _one(_PINV, *_with_tolerance("pinv", x, rtol))


def qr(x: Tensor, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult:
    """A factor with orthonormal columns and one that is upper triangular, of each matrix.

    dtypes: floating-point, kept. (…, m, n) gives (…, m, k) and (…, k, n); k is the smaller of m and
    n, or with a `mode` of ``"complete"`` m. Layout: row-major. ValueError for any other `mode` than
    that and ``"reduced"``, TypeError for other dtypes.

    >>> import tensorlayout as tl
    >>> q, r = tl.linalg.qr(tl.asarray([[3.0], [4.0]]))
    >>> tl.abs(r)
    Tensor([[5.]], dtype=float64, device='cpu')
    >>> tl.matmul(q, r)
    Tensor([[3.],
            [4.]], dtype=float64, device='cpu')
    """
    arguments.choice("qr", "mode", mode, "'reduced' or 'complete'", ("reduced", "complete"))
    return QRResult(*_several(_QR, x, mode=mode))


def slogdet(x: Tensor, /) -> SlogdetResult:
    """The sign and the logarithm of the magnitude of each determinant; 0 and -inf if singular.

    dtypes: floating-point. (…, m, m) gives (…) twice; the logarithm is real, the sign of a complex
    one of magnitude 1. Layout: row-major. ValueError for a matrix that is not square, TypeError for
    other dtypes.

    >>> import tensorlayout as tl
    >>> sign, logarithm = tl.linalg.slogdet(tl.asarray([[-2.0, 0.0], [0.0, 0.5]]))
    >>> float(sign), float(logarithm)
    (-1.0, 0.0)
    """
    return SlogdetResult(*_several(_SLOGDET, x))


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """What each square matrix `x1` maps to `x2`: a vector if `x2` has rank 1, else matrices.

    dtypes: floating-point. (…, m, m) with (m,) gives (…, m), with (…, m, k) gives (…, m, k), where
    the stacks broadcast. Layout: row-major. LinAlgError for a singular matrix, ValueError for one
    that is not square and sizes that do not fit, TypeError for other dtypes.

    >>> import tensorlayout as tl
    >>> tl.linalg.solve(tl.asarray([[2.0, 0.0], [0.0, 4.0]]), tl.asarray([2.0, 2.0]))
    Tensor([1. , 0.5], dtype=float64, device='cpu')
    """
    return _one(_SOLVE, x1, x2)


def svd(x: Tensor, /, *, full_matrices: bool = True) -> SVDResult:
    """The singular value decomposition of each matrix, singular values descending.

    dtypes: floating-point. (…, m, n) gives U (…, m, m), S (…, k), real, and Vh (…, n, n), where k
    is the smaller of m and n; without `full_matrices`, (…, m, k), (…, k) and (…, k, n). Layout:
    row-major. LinAlgError for a matrix that is not finite, ValueError for a rank below 2, TypeError
    for other dtypes.

    >>> import tensorlayout as tl
    >>> u, s, vh = tl.linalg.svd(tl.asarray([[0.0, 3.0], [4.0, 0.0]]))
    >>> s
    Tensor([4., 3.], dtype=float64, device='cpu')
    """
    full = arguments.truth("svd", "full_matrices", full_matrices)
    return SVDResult(*_several(_SVD, x, full_matrices=full))


def svdvals(x: Tensor, /) -> Tensor:
    """The singular values of each matrix, descending: (…, m, n) gives (…, k), k the smaller.

    dtypes: floating-point; the result is real. Layout: row-major. LinAlgError for a matrix that is
    not finite, ValueError for a rank below 2, TypeError for other dtypes.

    >>> import tensorlayout as tl
    >>> tl.linalg.svdvals(tl.asarray([[0.0, 3.0], [4.0, 0.0]]))
    Tensor([4., 3.], dtype=float64, device='cpu')
    """
    return _one(_SVDVALS, x)


def trace(x: Tensor, /, *, offset: SupportsIndex = 0, dtype: DTypeLike | None = None) -> Tensor:
    """The sum along the diagonal `offset` of each matrix.

    dtypes: numeric. Result: that of `x` (integers become int64, unsigned ones uint64), or the
    `dtype` asked for. (…, m, n) gives (…); 0 for a diagonal outside the matrix. The diagonal is a
    view, and its sum packed in the input's order. ValueError for a rank below 2, TypeError for
    other dtypes.

    >>> import tensorlayout as tl
    >>> tl.linalg.trace(tl.asarray([[1, 2], [3, 4]]))
    Tensor(5, dtype=int64, device='cpu')
    """
    along = diagonal(matrix("trace", x), offset=arguments.integer("trace", "offset", offset))
    return reduced(_TRACE, along, -1, False, dtype)


def vector_norm(
    x: Tensor,
    /,
    *,
    axis: Axis = None,
    keepdims: bool = False,
    ord: Real = 2,
) -> Tensor:
    """The norm of order `ord` of the elements along `axis` (all by default); real.

    `ord`: any number p, for the sum of magnitudes to the power p, to the power 1/p; inf and -inf
    give the largest and smallest magnitude, 0 counts what is not zero. Sums are kept in float64.
    `keepdims`: the axes stay, of size 1. dtypes: floating-point. Layout: row-major. ValueError for
    the smallest of none; TypeError for other dtypes, and for an `ord` that is no number.

    >>> import tensorlayout as tl
    >>> tl.linalg.vector_norm(tl.asarray([3.0, 4.0]))
    Tensor(5.0, dtype=float64, device='cpu')
    """
    x = arguments.tensor("vector_norm", x)
    order = _order("vector_norm", ord)
    if math.isnan(order):
        msg = "vector_norm: ord must be a real number, got nan"
        raise ValueError(msg)
    dims = arguments.dims("vector_norm", axis, x.ndim)
    kept = arguments.truth("vector_norm", "keepdims", keepdims)
    return _one(_VECTOR_NORM, x, axis=dims, keepdims=kept, ord=order)


def _order(name: str, given: Any) -> float:
    return arguments.as_float(name, arguments.real(name, "ord", given))


calling.guard(globals(), __all__)

if not TYPE_CHECKING:  # for which any name would exist
    __getattr__ = spellings.of_module(__name__, __all__)
