"""Linear algebra: the extension ``linalg`` of the standard.

Matrices are the last two dimensions; leading dimensions form a stack of matrices. Each function has
a line in the table: the dtypes that it accepts, and a rule for the shapes and dtypes of its
results. Operands are passed on without a copy, whatever their layout; results are row-major. If
operands must be floating-point, integers and bool are converted to float64 first, which a trace
shows. 16-bit floats are computed in float32 and rounded once; their complex results are complex64.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, SupportsIndex, overload

import numpy as np

from tensorlayout import dtypes, errors
from tensorlayout.functions import arguments, dispatch
from tensorlayout.functions import basics as xp
from tensorlayout.functions.linear_algebra import matmul, matrix_transpose, tensordot, vecdot
from tensorlayout.functions.operands import (
    as_tensor_on_device_of,
    as_tensor_sequence,
    as_tensors,
    integers_to_float64,
)
from tensorlayout.functions.outputs import call_reduction, store_in_out
from tensorlayout.functions.products import cross, outer
from tensorlayout.layout import MAX_SLOTS
from tensorlayout.plan import Library, Reduce, matrices
from tensorlayout.support import spellings
from tensorlayout.tensor import Tensor
from tensorlayout.typing import ArrayLike, Axis, DTypeLike, Real

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


# --- the table ---------------------------------------------------------------------------------

_FLOATS = "floating-point"

# Matrices with NaN or infinity are refused ("finite") where LAPACK returns finite results for them,
# or cuSOLVER does not terminate.
_FAILS: Any = {"error": np.linalg.LinAlgError}
_INDEFINITE = _FAILS | {"failure": "Matrix is not positive definite"}
_SINGULAR = _FAILS | {"failure": "Singular matrix"}
_EIGENVALUES = _FAILS | {"finite": True, "failure": "Eigenvalues did not converge"}
_SINGULAR_VALUES = _FAILS | {"finite": True, "failure": "SVD did not converge"}

_CHOLESKY = Library("cholesky", _FLOATS, matrices.square_matrix_result, 2, **_INDEFINITE)
_DET = Library("det", _FLOATS, matrices.scalar_per_matrix_result, 2)
_EIG = Library("eig", _FLOATS, matrices.eig_results, 2, **_EIGENVALUES)
_EIGH = Library("eigh", _FLOATS, matrices.eigh_results, 2, **_EIGENVALUES)
_EIGVALS = Library("eigvals", _FLOATS, matrices.complex_eigenvalues_result, 2, **_EIGENVALUES)
_EIGVALSH = Library("eigvalsh", _FLOATS, matrices.real_eigenvalues_result, 2, **_EIGENVALUES)
_INV = Library("inv", _FLOATS, matrices.square_matrix_result, 2, **_SINGULAR)
_MATRIX_NORM = Library("matrix_norm", _FLOATS, matrices.matrix_norm_result, 2)
_SPECTRAL_NORM = replace(_MATRIX_NORM, **_SINGULAR_VALUES)
_MATRIX_POWER = Library("matrix_power", _FLOATS, matrices.square_matrix_result, 2, **_SINGULAR)
_MATRIX_RANK = Library("matrix_rank", _FLOATS, matrices.matrix_rank_result, 2, **_SINGULAR_VALUES)
_PINV = Library("pinv", _FLOATS, matrices.transposed_result, 2, **_SINGULAR_VALUES)
_QR = Library("qr", _FLOATS, matrices.qr_results, 2)
_SLOGDET = Library("slogdet", _FLOATS, matrices.slogdet_results, 2)
_SOLVE = Library("solve", _FLOATS, matrices.solve_result, 2, **_SINGULAR)
_SVD = Library("svd", _FLOATS, matrices.svd_results, 2, **_SINGULAR_VALUES)
_SVDVALS = Library("svdvals", _FLOATS, matrices.singular_values_result, 2, **_SINGULAR_VALUES)
_TRACE = Reduce("trace", "any", "sum", "sum")
_VECTOR_NORM = Library("vector_norm", _FLOATS, matrices.vector_norm_result)


class EigResult(NamedTuple):
    """Result of `eig`."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class EighResult(NamedTuple):
    """Result of `eigh`."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class QRResult(NamedTuple):
    """Result of `qr`."""

    Q: Tensor
    R: Tensor


class SlogdetResult(NamedTuple):
    """Result of `slogdet`."""

    sign: Tensor
    logabsdet: Tensor


class SVDResult(NamedTuple):
    """Result of `svd`."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def _call_on_floats(operation: Library, a: Any, *others: Tensor, **options: Any) -> Any:
    """Call a library operation on `a`, converted from integers or bool to floats."""
    return dispatch.call_library(operation, integers_to_float64(a), *others, **options)


# --- the functions -----------------------------------------------------------------------------


def cholesky(a: Tensor, /, *, upper: bool = False) -> Tensor:
    """Return the lower (or `upper`) triangular factor of each Hermitian positive-definite matrix.

    Returns a tensor of the shape and dtype of `a`, (…, m, m); only the lower triangle of `a` is
    read (with `upper`, the upper one). dtypes: floating-point. Layout: row-major.

    Raises `LinAlgError` if a matrix is not positive-definite; `ValueError` if it is not square;
    `TypeError` for any other dtype.

    >>> import tensorlayout as tl
    >>> tl.linalg.cholesky(tl.asarray([[4.0, 2.0], [2.0, 2.0]]))
    Tensor([[2., 0.],
            [1., 1.]], dtype=float64, device='cpu')
    """
    return _call_on_floats(_CHOLESKY, a, upper=arguments.check_bool("upper", upper))


def det(a: Tensor) -> Tensor:
    """Return the determinant of each square matrix; 1 for an empty matrix.

    Shape (…, m, m) gives (…). dtypes: floating-point, kept. Layout: row-major.

    Raises `ValueError` if a matrix is not square; `TypeError` for any other dtype.

    >>> import tensorlayout as tl
    >>> tl.linalg.det(tl.asarray([[2.0, 0.0], [5.0, 3.0]]))
    Tensor(6.0, dtype=float64, device='cpu')
    """
    return _call_on_floats(_DET, a)


def diagonal(x: Tensor, /, *, offset: SupportsIndex = 0) -> Tensor:
    """Return a view of the diagonal `offset` (above the main one if positive) of each matrix.

    Shape (…, m, n) gives (…, k), where k is the length of the diagonal, 0 outside the matrix. Any
    dtype.

    Raises `ValueError` if the rank is below 2; `TypeError` if `offset` is not an integer.

    >>> import tensorlayout as tl
    >>> tl.linalg.diagonal(tl.asarray([[1, 2], [3, 4]])).layout
    Layout.parse('(2,):(3,)')
    """
    return xp.diagonal(x, offset, -2, -1)


def eig(a: Tensor) -> EigResult:
    """Return the eigenvalues and right eigenvectors of each square matrix, always complex.

    Shapes: (…, m), in no particular order, and (…, m, m), with the vectors in columns. dtypes:
    floating-point. Layout: row-major.

    Raises `LinAlgError` if a matrix has NaN or infinity; `ValueError` if it is not square;
    `TypeError` for any other dtype.

    >>> import tensorlayout as tl
    >>> turn = tl.asarray([[0.0, 1.0], [-1.0, 0.0]])
    >>> values, vectors = tl.linalg.eig(turn)
    >>> tl.sort(tl.imag(values))
    Tensor([-1.,  1.], dtype=float64, device='cpu')
    """
    return EigResult(*_call_on_floats(_EIG, a))


def eigh(a: Tensor, UPLO: str = "L") -> EighResult:  # noqa: N803
    """Return the eigenvalues, ascending, and eigenvectors of each Hermitian matrix.

    `UPLO` selects the triangle of `a` that is read: the lower, or with ``"U"`` the upper one.
    Shapes: (…, m), real, and (…, m, m), with the vectors in columns. dtypes: floating-point.
    Layout: row-major.

    Raises `LinAlgError` if a matrix has NaN or infinity; `ValueError` if it is not square or `UPLO`
    is unknown; `TypeError` for any other dtype.

    >>> import tensorlayout as tl
    >>> tl.linalg.eigh(tl.asarray([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    Tensor([1., 2.], dtype=float64, device='cpu')
    """
    return EighResult(
        *_call_on_floats(_EIGH, a if UPLO == "L" else _move_triangle_to_lower(a, UPLO))
    )


def eigvals(a: Tensor) -> Tensor:
    """Return the eigenvalues of each square matrix, always complex, in no particular order.

    Shape (…, m, m) gives (…, m). dtypes: floating-point. Layout: row-major.

    Raises `LinAlgError` if a matrix has NaN or infinity; `ValueError` if it is not square;
    `TypeError` for any other dtype.

    >>> import tensorlayout as tl
    >>> tl.linalg.eigvals(tl.asarray([[2.0]]))
    Tensor([2.+0.j], dtype=complex128, device='cpu')
    """
    return _call_on_floats(_EIGVALS, a)


def eigvalsh(a: Tensor, UPLO: str = "L") -> Tensor:  # noqa: N803
    """Return the eigenvalues of each Hermitian matrix, ascending and real.

    `UPLO` is as in `eigh`. Shape (…, m, m) gives (…, m). dtypes: floating-point. Layout: row-major.

    Raises `LinAlgError`, `ValueError` and `TypeError` as `eigh` does.

    >>> import tensorlayout as tl
    >>> tl.linalg.eigvalsh(tl.asarray([[2.0, 0.0], [0.0, 1.0]]))
    Tensor([1., 2.], dtype=float64, device='cpu')
    """
    return _call_on_floats(_EIGVALSH, a if UPLO == "L" else _move_triangle_to_lower(a, UPLO))


def _move_triangle_to_lower(a: Any, UPLO: str) -> Tensor:  # noqa: N803
    """Return matrices whose lower triangle holds the triangle `UPLO` of the Hermitian `a`."""
    arguments.check_choice("UPLO", UPLO, ("L", "U", "l", "u"), "'L' or 'U'")
    x = arguments.as_tensor(a)
    if UPLO == "l":
        return x
    # The upper triangle of a Hermitian matrix is the conjugate transpose of its lower one. The plan
    # always reads the lower.
    transposed = matrix_transpose(x)
    return xp.conj(transposed) if x.dtype.kind == "c" else transposed


def inv(a: Tensor) -> Tensor:
    """Return the inverse of each square matrix.

    dtypes: floating-point, kept. Layout: row-major.

    Raises `LinAlgError` if a matrix is singular; `ValueError` if it is not square; `TypeError` for
    any other dtype.

    >>> import tensorlayout as tl
    >>> tl.linalg.inv(tl.asarray([[2.0, 0.0], [0.0, 4.0]]))
    Tensor([[0.5 , 0.  ],
            [0.  , 0.25]], dtype=float64, device='cpu')
    """
    return _call_on_floats(_INV, a)


def matrix_norm(
    x: Tensor, /, *, keepdims: bool = False, ord: Real | Literal["fro", "nuc"] | None = "fro"
) -> Tensor:
    """Return the norm of each matrix: Frobenius, nuclear, or induced by the order `ord`.

    - `ord`: ``"fro"`` (or None), ``"nuc"``, 1 or inf (largest sum of magnitudes of a column or a
      row), 2 (largest singular value), or -1, -inf, -2 for the smallest.
    - `keepdims`: (…, m, n) gives (…, 1, 1) instead of (…).

    Returns a real tensor; sums are kept in float64. dtypes: floating-point. Layout: row-major.

    Raises `ValueError` for any other `ord`, and if an `ord` below 0 has no elements to choose from;
    `TypeError` for any other dtype.

    >>> import tensorlayout as tl
    >>> tl.linalg.matrix_norm(tl.asarray([[3.0, 0.0], [4.0, 0.0]]), ord=1)
    Tensor(7.0, dtype=float64, device='cpu')
    """
    keeps_dims = arguments.check_bool("keepdims", keepdims)
    order = ord if ord is None or isinstance(ord, str) else arguments.as_real_float("ord", ord)
    # These three come from singular values, for which NaN and infinity are refused, and which
    # LAPACK may fail to find.
    operation = _SPECTRAL_NORM if order in ("nuc", 2, -2) else _MATRIX_NORM
    return _call_on_floats(operation, x, keepdims=keeps_dims, ord=order)


def matrix_power(a: Tensor, n: SupportsIndex) -> Tensor:
    """Raise each square matrix to an integer power `n`; negative powers invert.

    dtypes: numeric and bool, kept; integers with a negative power are converted to float64. Layout:
    row-major.

    Raises `LinAlgError` for a negative power of a singular matrix; `ValueError` if a matrix is not
    square or the magnitude of `n` exceeds 2**63 - 1; `TypeError` for any other dtype or power.

    >>> import tensorlayout as tl
    >>> tl.linalg.matrix_power(tl.asarray([[1.0, 1.0], [0.0, 1.0]]), 10)
    Tensor([[ 1., 10.],
            [ 0.,  1.]], dtype=float64, device='cpu')
    """
    x = a if type(a) is Tensor else arguments.as_tensor(a)
    power = arguments.as_integer("n", n)
    if abs(power) > MAX_SLOTS:
        raise ValueError(f"n must lie within 2**63 - 1, got {arguments.format_argument(power)}")
    if power < 0 or x.spec.dtype.kind not in "biu":
        return _call_on_floats(_MATRIX_POWER, x, n=power)
    # Powers of integers are exact only as products in their own dtype, by squaring: for 5, which is
    # 101 in binary, that is ((1 * x)**2)**2 * x. The identity, as the power 0, has the right shape.
    result = xp.astype(_call_on_floats(_MATRIX_POWER, _check_matrices(x), n=0), x.dtype)
    for digit in f"{power:b}":
        result = matmul(result, result)
        result = matmul(result, x) if digit == "1" else result
    return result


def matrix_rank(
    A: Tensor,  # noqa: N803
    tol: ArrayLike | None = None,
    hermitian: bool = False,
    *,
    rtol: ArrayLike | None = None,
) -> Tensor:
    """Return how many singular values of each matrix exceed `rtol` times the largest, as int64.

    - `tol`: absolute tolerance, in place of `rtol`.
    - `hermitian`: has no effect.
    - `rtol`: a number, or a tensor of real floating-point dtype with one value for each matrix; by
      default the larger size of a matrix times the epsilon of the dtype.

    Shape (…, m, n) gives (…); a vector has rank 1 if an element is not 0. dtypes: floating-point.
    Layout: row-major.

    Raises `LinAlgError` if a matrix has NaN or infinity; `ValueError` if `tol` and `rtol` are both
    passed; `TypeError` for any other dtype.

    >>> import tensorlayout as tl
    >>> tl.linalg.matrix_rank(tl.ones((2, 3)))
    Tensor(1, dtype=int64, device='cpu')
    """
    if tol is not None and rtol is not None:
        raise ValueError("tol and rtol cannot be combined, got both")
    x = integers_to_float64(A)
    if x.ndim < 2:
        return xp.minimum(xp.count_nonzero(x), 1)
    if tol is None:
        return _call_on_floats(_MATRIX_RANK, x, _relative_tolerance(x, rtol))
    # A tensor has one threshold for each matrix, which broadcasts over its singular values.
    threshold = as_tensor_on_device_of(tol, x)
    values = svdvals(x)
    return xp.count_nonzero(
        xp.greater(values, threshold[..., None] if threshold.ndim else threshold), axis=-1
    )


def _check_matrices(x: Any) -> Tensor:
    """Return `x`, which must have at least two dimensions."""
    x = arguments.as_tensor(x)
    if x.ndim < 2:
        raise ValueError(f"needs a rank of at least 2, got shape {x.shape}")
    return x


def _relative_tolerance(x: Tensor, rtol: Any) -> Tensor:
    """Return `rtol`, or its default, in the real dtype of `x`."""
    real = dtypes.real_part_dtype(x.dtype)
    if isinstance(rtol, (Tensor, np.ndarray, list)):
        return xp.astype(as_tensor_on_device_of(rtol, x), real, copy=False)
    if rtol is None:
        rtol = max(x.shape[-2:]) * xp.finfo(real).eps
    number = arguments.as_real_float("rtol", rtol, "a real number or a tensor")
    return xp.asarray(number, dtype=real, device=x.device)


def pinv(
    a: Tensor,
    rcond: ArrayLike | None = None,
    hermitian: bool = False,
    *,
    rtol: ArrayLike | None = None,
) -> Tensor:
    """Compute the pseudo-inverse of each matrix; small singular values (`rtol`) count as 0.

    - `rcond`: another name of `rtol`.
    - `hermitian`: has no effect.
    - `rtol`: a number, or a tensor with one value for each matrix; by default the larger size of a
      matrix times the epsilon of the dtype.

    Shape (…, m, n) gives (…, n, m). dtypes: floating-point, kept. Layout: row-major.

    Raises `LinAlgError` if a matrix has NaN or infinity; `ValueError` if the rank is below 2, or
    `rcond` and `rtol` are both passed; `TypeError` for any other dtype.

    >>> import tensorlayout as tl
    >>> tl.linalg.pinv(tl.asarray([[2.0], [0.0]]))
    Tensor([[0.5, 0. ]], dtype=float64, device='cpu')
    """
    if rcond is not None and rtol is not None:
        raise ValueError("rcond and rtol cannot be combined, got both")
    x = integers_to_float64(_check_matrices(a))
    return _call_on_floats(_PINV, x, _relative_tolerance(x, rcond if rtol is None else rtol))


@overload
def qr(a: Tensor, mode: Literal["reduced", "complete"] = ...) -> QRResult: ...
@overload
def qr(a: Tensor, mode: Literal["r"]) -> Tensor: ...
def qr(a: Tensor, mode: Literal["reduced", "complete", "r"] = "reduced") -> QRResult | Tensor:
    """Factor each matrix into one with orthonormal columns and an upper triangular one.

    Shape (…, m, n) gives (…, m, k) and (…, k, n). With the `mode` ``"reduced"`` k is the smaller of
    m and n, with ``"complete"`` it is m; ``"r"`` returns only the second factor of ``"reduced"``.
    dtypes: floating-point, kept. Layout: row-major.

    Raises `ValueError` if the rank is below 2 or `mode` is unknown; `TypeError` for any other
    dtype.

    >>> import tensorlayout as tl
    >>> q, r = tl.linalg.qr(tl.asarray([[3.0], [4.0]]))
    >>> tl.abs(r)
    Tensor([[5.]], dtype=float64, device='cpu')
    >>> tl.matmul(q, r)
    Tensor([[3.],
            [4.]], dtype=float64, device='cpu')
    """
    modes = ("reduced", "complete", "r")
    arguments.check_choice("mode", mode, modes, "'reduced', 'complete' or 'r'")
    factors = QRResult(*_call_on_floats(_QR, a, mode="reduced" if mode == "r" else mode))
    return factors.R if mode == "r" else factors


def slogdet(a: Tensor) -> SlogdetResult:
    """Return sign and logarithm of the magnitude of each determinant; 0 and -inf if singular.

    Shape (…, m, m) gives (…) twice; the logarithm is real, the sign of a complex determinant has
    magnitude 1. dtypes: floating-point. Layout: row-major.

    Raises `ValueError` if a matrix is not square; `TypeError` for any other dtype.

    >>> import tensorlayout as tl
    >>> sign, logarithm = tl.linalg.slogdet(tl.asarray([[-2.0, 0.0], [0.0, 0.5]]))
    >>> float(sign), float(logarithm)
    (-1.0, 0.0)
    """
    return SlogdetResult(*_call_on_floats(_SLOGDET, a))


def solve(a: ArrayLike, b: ArrayLike) -> Tensor:
    """Solve ``a @ x == b`` for each square matrix `a`.

    `b` is a vector if it has rank 1, otherwise matrices. Returns a new tensor: (…, m, m) with (m,)
    gives (…, m), with (…, m, k) gives (…, m, k); stacks broadcast. dtypes: floating-point. Layout:
    row-major.

    Raises `LinAlgError` if a matrix is singular; `ValueError` if it is not square or sizes do not
    match; `TypeError` for any other dtype.

    >>> import tensorlayout as tl
    >>> tl.linalg.solve(tl.asarray([[2.0, 0.0], [0.0, 4.0]]), tl.asarray([2.0, 2.0]))
    Tensor([1. , 0.5], dtype=float64, device='cpu')
    """
    a, b = as_tensors(a, b)
    return _call_on_floats(_SOLVE, a, integers_to_float64(b))


@overload
def svd(
    a: Tensor, full_matrices: bool = ..., compute_uv: Literal[True] = ..., hermitian: bool = ...
) -> SVDResult: ...
@overload
def svd(
    a: Tensor, full_matrices: bool = ..., *, compute_uv: Literal[False], hermitian: bool = ...
) -> Tensor: ...
def svd(
    a: Tensor, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> SVDResult | Tensor:
    """Return the singular value decomposition of each matrix, singular values descending.

    - `full_matrices`: (…, m, n) gives U (…, m, m), S (…, k) and Vh (…, n, n), where k is the
      smaller of m and n; False gives (…, m, k), (…, k) and (…, k, n).
    - `compute_uv`: False returns only S.
    - `hermitian`: has no effect.

    S is real. dtypes: floating-point. Layout: row-major.

    Raises `LinAlgError` if a matrix has NaN or infinity; `ValueError` if the rank is below 2;
    `TypeError` for any other dtype.

    >>> import tensorlayout as tl
    >>> u, s, vh = tl.linalg.svd(tl.asarray([[0.0, 3.0], [4.0, 0.0]]))
    >>> s
    Tensor([4., 3.], dtype=float64, device='cpu')
    """
    if not compute_uv:
        return _call_on_floats(_SVDVALS, a)
    return SVDResult(*_call_on_floats(_SVD, a, full_matrices=bool(full_matrices)))


def svdvals(x: Tensor, /) -> Tensor:
    """Return the singular values of each matrix, descending.

    Shape (…, m, n) gives (…, k), where k is the smaller of m and n. Returns a real tensor. dtypes:
    floating-point. Layout: row-major.

    Raises `LinAlgError` if a matrix has NaN or infinity; `ValueError` if the rank is below 2;
    `TypeError` for any other dtype.

    >>> import tensorlayout as tl
    >>> tl.linalg.svdvals(tl.asarray([[0.0, 3.0], [4.0, 0.0]]))
    Tensor([4., 3.], dtype=float64, device='cpu')
    """
    return _call_on_floats(_SVDVALS, x)


def cond(x: Tensor, p: Real | Literal["fro", "nuc"] | None = None) -> Tensor:
    """Return the norm of each matrix times the norm of its inverse; inf for the 2-norm of zeros.

    `p` is the order of the norm, as in `matrix_norm`; None is 2. Returns a real tensor. dtypes:
    floating-point. Layout: row-major.

    Raises `ValueError` for matrices without elements and an unknown `p`; `LinAlgError` if an
    element is not finite (for None, 2 and -2) or a matrix is singular (for any other `p`);
    `ValueError` for any other `p` also if a matrix is not square; `TypeError` for any other dtype.

    >>> import tensorlayout as tl
    >>> tl.linalg.cond(tl.asarray([[2.0, 0.0], [0.0, 4.0]]))
    Tensor(2.0, dtype=float64, device='cpu')
    """
    x = integers_to_float64(x)
    if 0 in x.shape[-2:]:
        raise ValueError(f"matrices must have elements, got shape {x.shape}")
    if p not in (None, 2, -2):
        return xp.multiply(matrix_norm(x, ord=p), matrix_norm(inv(x), ord=p))
    values = svdvals(x)
    largest, smallest = values[..., 0], values[..., -1]
    result = xp.divide(smallest, largest) if p == -2 else xp.divide(largest, smallest)
    # For a matrix of zeros 0 / 0 becomes infinity, as in NumPy.
    is_zero_matrix = xp.logical_and(xp.isnan(result), xp.logical_not(xp.isnan(largest)))
    return xp.where(is_zero_matrix, math.inf, result)


def multi_dot(arrays: Sequence[ArrayLike] | Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the product of a sequence of matrices; the first and the last may be vectors.

    The products are computed from left to right with `matmul`. `arrays` holds at least one tensor;
    `out` receives the result. dtypes: numeric and bool. Layout: row-major.

    Raises `ValueError` if shapes do not match; `TypeError` for any other dtype.

    >>> import tensorlayout as tl
    >>> tl.linalg.multi_dot([tl.ones(2), tl.ones((2, 3)), tl.ones(3)])
    Tensor(6.0, dtype=float64, device='cpu')
    """
    return store_in_out("multi_dot", reduce(matmul, as_tensor_sequence(arrays)), out)


def trace(x: Tensor, /, *, offset: SupportsIndex = 0, dtype: DTypeLike | None = None) -> Tensor:
    """Return the sum along the diagonal `offset` of each matrix; 0 outside the matrix.

    Shape (…, m, n) gives (…), of `dtype`, by default the dtype of `x`; integers and bool become
    int64, unsigned integers uint64. dtypes: numeric and bool. Layout: the diagonal is a view, and
    its sum packed in the input's order.

    Raises `ValueError` if the rank is below 2; `TypeError` for any other dtype.

    >>> import tensorlayout as tl
    >>> tl.linalg.trace(tl.asarray([[1, 2], [3, 4]]))
    Tensor(5, dtype=int64, device='cpu')
    """
    return call_reduction(_TRACE, diagonal(x, offset=offset), -1, False, dtype)


def vector_norm(
    x: Tensor, /, *, axis: Axis = None, keepdims: bool = False, ord: Real = 2
) -> Tensor:
    """Return the norm of order `ord` of the elements along `axis` (default: all).

    - `keepdims`: the axes stay, of size 1.
    - `ord`: any number p, for (sum of magnitudes**p)**(1/p); inf and -inf give the largest and
      smallest magnitude, 0 counts elements that are not zero.

    Returns a real tensor; sums are kept in float64. dtypes: floating-point. Layout: row-major.

    Raises `ValueError` if `ord` is NaN, if it is -inf and there are no elements, and (`AxisError`)
    if an axis is out of bounds; `TypeError` for any other dtype, and if `ord` is not a number.

    >>> import tensorlayout as tl
    >>> tl.linalg.vector_norm(tl.asarray([3.0, 4.0]))
    Tensor(5.0, dtype=float64, device='cpu')
    """
    x = arguments.as_tensor(x)
    order = arguments.as_real_float("ord", ord)
    if math.isnan(order):
        raise ValueError("ord must be a real number, got nan")
    dims = arguments.normalize_axes(axis, x.ndim)
    keeps_dims = arguments.check_bool("keepdims", keepdims)
    return _call_on_floats(_VECTOR_NORM, x, axis=dims, keepdims=keeps_dims, ord=order)


def norm(
    x: Tensor,
    ord: Real | Literal["fro", "nuc"] | None = None,
    axis: Axis = None,
    keepdims: bool = False,
) -> Tensor:
    """Return the real norm along one `axis`, of matrices along two, or of all elements.

    - `ord`: as in `vector_norm` and `matrix_norm`; None is the square root of the sum of squares,
      for any rank.
    - `keepdims`: the axes stay, of size 1.

    Returns a real tensor. dtypes: floating-point. Layout: row-major.

    Raises `ValueError` for an unknown `ord` and for more than two axes; `TypeError` for any other
    dtype.

    >>> import tensorlayout as tl
    >>> tl.linalg.norm(tl.asarray([[3.0, 4.0], [6.0, 8.0]]), axis=1)
    Tensor([ 5., 10.], dtype=float64, device='cpu')
    """
    x = arguments.as_tensor(x)
    # Frobenius' norm of a matrix is that of the vector of all its elements, in whatever order.
    if axis is None and (
        ord is None or (ord in ("f", "fro") and x.ndim == 2) or (ord == 2 and x.ndim == 1)
    ):
        return vector_norm(x, keepdims=keepdims)
    dims = arguments.normalize_axes(axis, x.ndim)
    if len(dims) == 1:
        if isinstance(ord, str):
            raise ValueError(f"ord of vectors must be a number, got {ord!r}")
        return vector_norm(x, axis=dims, keepdims=keepdims, ord=2 if ord is None else ord)
    if len(dims) != 2:
        raise ValueError(f"axis must be one or two, got {len(dims)}")
    order: Any = "fro" if ord in (None, "f") else ord
    result = matrix_norm(xp.moveaxis(x, dims, (-2, -1)), ord=order)
    return xp.expand_dims(result, dims) if keepdims else result


errors.wrap_public_functions(globals(), __all__)
__dir__ = spellings.make_module_dir(globals())

# With __getattr__, type checkers would accept any attribute of the module.
if not TYPE_CHECKING:
    __getattr__ = spellings.make_module_getattr(__name__, __all__)
