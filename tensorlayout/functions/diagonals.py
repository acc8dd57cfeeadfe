"""Matrices from diagonals, triangles of matrices, and diagonals of matrices."""

from __future__ import annotations

from typing import SupportsIndex

from tensorlayout.functions import arguments, dispatch
from tensorlayout.functions.creation import create_tensor, ones
from tensorlayout.functions.manipulation import broadcast_to, diagonal, reshape
from tensorlayout.plan import Create, Triangle
from tensorlayout.tensor import Tensor
from tensorlayout.typing import DeviceLike, DTypeLike, LayoutLike

__all__ = ["diag", "diagflat", "eye", "identity", "tri", "tril", "triu"]

_DIAG, _EYE = Create("diag", "value"), Create("eye", "eye")
_TRIL, _TRIU = Triangle("tril"), Triangle("triu")


def eye(
    N: SupportsIndex,  # noqa: N803 - NumPy's name
    M: SupportsIndex | None = None,  # noqa: N803 - NumPy's name
    k: SupportsIndex = 0,
    dtype: DTypeLike | None = None,
    order: str = "C",
    *,
    device: DeviceLike | None = None,
    layout: LayoutLike | None = None,
) -> Tensor:
    """Return a matrix with ones on the diagonal `k` and zeros elsewhere.

    - `N`, `M`: number of rows and of columns; `M` is `N` by default.
    - `k`: the diagonal, above the main one if positive.
    - `dtype`: by default float64.
    - `order`, `device`, `layout`: as for `empty`.

    Returns a new tensor. Layout: as specified, row-major by default.

    Raises `ValueError` for negative sizes and a layout of another shape, and `TypeError` for sizes
    that are not integers.

    >>> import tensorlayout as tl
    >>> tl.eye(2, 3, k=1)
    Tensor([[0., 1., 0.],
            [0., 0., 1.]], dtype=float64, device='cpu')
    """
    rows = arguments.as_nonnegative_integer("N", N)
    columns = rows if M is None else arguments.as_nonnegative_integer("M", M)
    k = arguments.as_integer("k", k)
    return create_tensor(_EYE, (rows, columns), dtype, device, layout, k, order=order)


def identity(
    n: SupportsIndex, dtype: DTypeLike | None = None, *, device: DeviceLike | None = None
) -> Tensor:
    """Return the identity matrix with `n` rows.

    `dtype` and `device` are as in `eye`. Layout: row-major.

    Raises `ValueError` and `TypeError` as `eye` does.

    >>> import tensorlayout as tl
    >>> tl.identity(2)
    Tensor([[1., 0.],
            [0., 1.]], dtype=float64, device='cpu')
    """
    return eye(n, dtype=dtype, device=device)


def tri(
    N: SupportsIndex,  # noqa: N803 - NumPy's name
    M: SupportsIndex | None = None,  # noqa: N803 - NumPy's name
    k: SupportsIndex = 0,
    dtype: DTypeLike | None = None,
    *,
    device: DeviceLike | None = None,
) -> Tensor:
    """Return ones on and below the diagonal `k`, zeros elsewhere: `tril` of a matrix of ones.

    `N`, `M`, `k`, `dtype` and `device` are as in `eye`. Layout: row-major.

    Raises `ValueError` and `TypeError` as `eye` does.

    >>> import tensorlayout as tl
    >>> tl.tri(2, 3)
    Tensor([[1., 0., 0.],
            [1., 1., 0.]], dtype=float64, device='cpu')
    """
    rows = arguments.as_nonnegative_integer("N", N)
    columns = rows if M is None else arguments.as_nonnegative_integer("M", M)
    return tril(ones((rows, columns), dtype, device=device), k)


def diag(v: Tensor, k: SupportsIndex = 0) -> Tensor:
    """Return the diagonal `k` of a matrix as a view, or a matrix with that diagonal.

    A tensor `v` of rank 1 becomes the diagonal of a new row-major matrix, with zeros elsewhere. Any
    dtype, kept.

    Raises `ValueError` if the rank is not 1 or 2; `TypeError` if `k` is not an integer.

    >>> import tensorlayout as tl
    >>> tl.diag(tl.asarray([[1, 2], [3, 4]]), k=1)
    Tensor([2], dtype=int64, device='cpu')
    """
    x, k = arguments.as_tensor(v), arguments.as_integer("k", k)
    if x.ndim not in (1, 2):
        raise ValueError(f"needs a rank of 1 or 2, got shape {x.shape}")
    if x.ndim == 2:
        return diagonal(x, k)
    n = x.shape[0] + abs(k)
    matrix = create_tensor(_DIAG, (n, n), x.dtype, x.device, None, 0)
    # A diagonal is a view, so this writes into the matrix.
    diagonal(matrix, k)[...] = x
    return matrix


def diagflat(v: Tensor, k: SupportsIndex = 0) -> Tensor:
    """Return a matrix with all elements of `v`, in index order, on the diagonal `k`.

    Any dtype, kept. Layout: new, row-major.

    Raises `TypeError` if `k` is not an integer.

    >>> import tensorlayout as tl
    >>> tl.diagflat(tl.asarray([1, 2]))
    Tensor([[1, 0],
            [0, 2]], dtype=int64, device='cpu')
    """
    return diag(reshape(v, (-1,)), k)


def _keep_triangle(operation: Triangle, x: Tensor, k: SupportsIndex) -> Tensor:
    x = arguments.as_tensor(x)
    shape = x.spec.layout.shape
    if len(shape) == 1:
        shape *= 2
        x = broadcast_to(x, shape)
    k = arguments.as_integer("k", k)
    # Any integer is a valid `k`. Beyond the corners of the matrix nothing changes any more, and
    # clipping keeps `k` within the integers of the backends. Rank 0 is refused by the plan.
    rows, columns = shape[-2:] if shape else (0, 0)
    return dispatch.call(operation, (x.spec,), (x, max(-rows, min(k, columns))))


def tril(m: Tensor, k: SupportsIndex = 0) -> Tensor:
    """Return the elements on and below the diagonal `k` of each matrix, and zeros above.

    - `m`: matrices in the last two dimensions; a vector stands for a square matrix of equal rows.
    - `k`: the diagonal, above the main one if positive.

    Returns a new tensor of any dtype, in the form of `m`.

    Raises `ValueError` for rank 0, and `TypeError` for a `k` that is not an integer.

    >>> import tensorlayout as tl
    >>> tl.tril(tl.asarray([[1, 2], [3, 4]]))
    Tensor([[1, 0],
            [3, 4]], dtype=int64, device='cpu')
    """
    return _keep_triangle(_TRIL, m, k)


def triu(m: Tensor, k: SupportsIndex = 0) -> Tensor:
    """Return the elements on and above the diagonal `k` of each matrix, zeros below.

    `k` and vectors are as in `tril`. Any dtype, kept. Layout: in the form of `m`.

    Raises `ValueError` and `TypeError` as `tril` does.

    >>> import tensorlayout as tl
    >>> tl.triu(tl.asarray([[1, 2], [3, 4]]), k=1)
    Tensor([[0, 2],
            [0, 0]], dtype=int64, device='cpu')
    """
    return _keep_triangle(_TRIU, m, k)
