"""What CuPy is asked for: a function for each library operation, and what is done for its gaps.

Each takes the module, arrays in the dtype to compute in, and the operation's options. They only use
what CuPy 14 and NumPy both have, so that tests hold them against the CPU's functions, on NumPy.

What CuPy does otherwise than the standard or the CPU, and what is done about it:

- Failures (singular, not positive-definite, not converged) are NaN: CuPy is told to raise.
- Matrices that are not finite: cuSOLVER gives numbers, or does not end. They are refused before.
- `cholesky` has no upper factor: the lower one of the conjugate transpose, transposed back.
- `solve` does not broadcast stacks: they are broadcast before.
- `eig` and `eigvals` need cuSOLVER's geev (11.7, of CUDA 12.6); before, they run on the host.
- `det` is sign times exp of a logarithm: a relative error of about log|det| epsilons.
- `pinv` and `matrix_rank` have other tolerances: worked out from singular values here.
- `vector_norm` sums in the operand's dtype, and greatest and least pass NaN by: both done here.
- `irfftn` over several axes may leave the transform of numbers that are not symmetric undefined:
  one axis after the other, as NumPy does it. Transforms of empty lines raise: filled up before.
- `unique` and `isin` are by sorting here, for every dtype and NaN: each NaN is a value of its own,
  and both zeros are one.
- `repeat` takes counts from the host only: positions are searched in their running sum.
- `einsum` adds up bool in bool: counted instead.
- `bincount` with weights adds up in no fixed order: results may differ in the last bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorlayout.cuda.optional import cupy_part

Array = Any  # of CuPy, or NumPy
Module = Any


class NotOnDevice(Exception):  # noqa: N818 - it is no error: the host takes over
    """The library of this CUDA has no routine for it."""


# The host waits once: shapes depend on data, or what cuSOLVER reports is looked at.
WAIT = frozenset(
    {
        *("bincount", "isin", "nonzero", "repeat"),
        *("unique_all", "unique_counts", "unique_inverse", "unique_values"),
        *("cholesky", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matrix_norm", "matrix_power"),
        *("matrix_rank", "pinv", "qr", "solve", "svd", "svdvals"),
    }
)


# ---- Products


def cross(xp: Module, x: Array, y: Array, axis: int) -> Array:
    """The cross product of vectors along `axis`."""
    return xp.cross(x, y, axis=axis)


def outer(xp: Module, x: Array, y: Array) -> Array:
    """All products of an element of each."""
    return xp.multiply(x[:, None], y)


def vecdot(xp: Module, x: Array, y: Array, axis: int) -> Array:
    """The sum of products along one axis, the first operand conjugated."""
    a, b = xp.moveaxis(x, axis, -1), xp.moveaxis(y, axis, -1)
    a = a.conj() if a.dtype.kind == "c" else a
    return xp.sum(a * b, axis=-1, dtype=x.dtype)


def einsum(xp: Module, *arrays: Array, subscripts: str) -> Array:
    """The sum of products that the subscripts say; never a view."""
    if arrays[0].dtype.kind == "b":
        return xp.einsum(subscripts, *(x.astype(np.int64) for x in arrays)) != 0
    found = xp.einsum(subscripts, *arrays)
    shared = any(xp.may_share_memory(found, x) for x in arrays)
    return found.copy() if shared else found


# ---- Matrices


def _finite(xp: Module, x: Array) -> None:
    if not xp.isfinite(x).all():
        msg = "elements must be finite"
        raise np.linalg.LinAlgError(msg)


def _transposed(xp: Module, x: Array) -> Array:
    """The conjugate transpose."""
    return xp.swapaxes(x, -1, -2).conj()


def cholesky(xp: Module, x: Array, upper: bool) -> Array:
    """The triangular factor; NaN, which no comparison finds, shows in the result."""
    found = xp.linalg.cholesky(_transposed(xp, x) if upper else x)
    if xp.isnan(found).any():
        msg = "Matrix is not positive definite"
        raise np.linalg.LinAlgError(msg)
    return _transposed(xp, found) if upper else found


def det(xp: Module, x: Array) -> Array:
    """The determinant."""
    return xp.linalg.det(x)


def _need_geev(xp: Module) -> None:
    if xp.__name__ == "cupy" and not cupy_part("cupyx.cusolver").check_availability("geev"):
        raise NotOnDevice


def eig(xp: Module, x: Array) -> tuple[Array, ...]:
    """Eigenvalues and eigenvectors."""
    _need_geev(xp)
    _finite(xp, x)
    return tuple(xp.linalg.eig(x))


def eigvals(xp: Module, x: Array) -> Array:
    """Eigenvalues."""
    _need_geev(xp)
    _finite(xp, x)
    return xp.linalg.eigvals(x)


def eigh(xp: Module, x: Array) -> tuple[Array, ...]:
    """Eigenvalues and eigenvectors of Hermitian matrices."""
    _finite(xp, x)
    return tuple(xp.linalg.eigh(x))


def eigvalsh(xp: Module, x: Array) -> Array:
    """Eigenvalues of Hermitian matrices."""
    _finite(xp, x)
    return xp.linalg.eigvalsh(x)


def inv(xp: Module, x: Array) -> Array:
    """The inverse."""
    return xp.linalg.inv(x)


def matrix_power(xp: Module, x: Array, n: int) -> Array:
    """An integer power; the first is a copy."""
    return x.copy() if n == 1 else xp.linalg.matrix_power(x, n)


def qr(xp: Module, x: Array, mode: str) -> tuple[Array, ...]:
    """An orthonormal and an upper triangular factor."""
    return tuple(xp.linalg.qr(x, mode))


def slogdet(xp: Module, x: Array) -> tuple[Array, ...]:
    """Sign and logarithm of the determinant."""
    return tuple(xp.linalg.slogdet(x))


def solve(xp: Module, x: Array, y: Array) -> Array:
    """The solutions; a vector is one column for all matrices."""
    columns = y[:, None] if y.ndim == 1 else y
    stack = np.broadcast_shapes(x.shape[:-2], columns.shape[:-2])
    a, b = (xp.broadcast_to(each, stack + each.shape[-2:]) for each in (x, columns))
    found = xp.linalg.solve(xp.ascontiguousarray(a), xp.ascontiguousarray(b))
    return found[..., 0] if y.ndim == 1 else found


def svd(xp: Module, x: Array, full_matrices: bool) -> tuple[Array, ...]:
    """Left vectors, singular values, right vectors."""
    _finite(xp, x)
    return tuple(xp.linalg.svd(x, full_matrices))


def svdvals(xp: Module, x: Array) -> Array:
    """Singular values, descending."""
    _finite(xp, x)
    return xp.linalg.svd(x, compute_uv=False)


def matrix_rank(xp: Module, x: Array, rtol: Array) -> Array:
    """How many singular values exceed `rtol` times the largest."""
    values = svdvals(xp, x)
    return xp.sum(values > values[..., :1] * rtol.real[..., None], axis=-1, dtype=np.int64)


def pinv(xp: Module, x: Array, rtol: Array) -> Array:
    """The pseudo-inverse; singular values up to `rtol` times the largest count as 0."""
    left, values, right = svd(xp, x, False)
    kept = values > values[..., :1] * rtol.real[..., None]
    inverted = xp.where(kept, 1 / xp.where(kept, values, 1), 0).astype(values.dtype)
    return xp.matmul(_transposed(xp, right) * inverted[..., None, :], _transposed(xp, left))


# ---- Norms, in double


def vector_norm(xp: Module, x: Array, axis: tuple[int, ...], keepdims: bool, ord: float) -> Array:
    """The norm of order `ord` of the elements along the dimensions `axis`."""
    if ord == 0:
        found = _sum(xp, xp.not_equal(x, 0), axis, keepdims)
    elif ord == 1:
        found = _sum(xp, xp.abs(x), axis, keepdims)
    elif ord == 2:
        found = xp.sqrt(_sum(xp, _square(xp, x), axis, keepdims))
    elif math.isinf(ord):
        found = _extreme(xp, xp.abs(x), axis, keepdims, ord > 0)
    else:
        powers = xp.power(xp.abs(x).astype(np.float64), ord)
        found = xp.power(_sum(xp, powers, axis, keepdims), 1 / ord)
    return found


def matrix_norm(xp: Module, x: Array, keepdims: bool, ord: Any) -> Array:
    """The norm of each matrix: Frobenius, nuclear, or induced by the order `ord`."""
    matrix = (x.ndim - 2, x.ndim - 1)
    if ord in (None, "fro"):
        return vector_norm(xp, x, matrix, keepdims, 2)
    if ord == "nuc":
        found = _sum(xp, svdvals(xp, x), (-1,), False)
    elif abs(ord) == 2:
        found = _extreme(xp, svdvals(xp, x), (-1,), False, ord > 0)
    else:
        along = matrix[0 if abs(ord) == 1 else 1]
        found = _extreme(xp, _sum(xp, xp.abs(x), (along,), False), (-1,), False, ord > 0)
    return xp.expand_dims(found, (-2, -1)) if keepdims else found


def _square(xp: Module, x: Array) -> Array:
    if x.dtype.kind == "c":
        return _square(xp, x.real) + _square(xp, x.imag)
    return xp.square(x.astype(np.float64))


def _sum(xp: Module, x: Array, axis: tuple[int, ...], keepdims: bool) -> Array:
    return xp.sum(x, axis=axis, dtype=np.float64, keepdims=keepdims) if axis else x


def _extreme(xp: Module, x: Array, axis: tuple[int, ...], keepdims: bool, greatest: bool) -> Array:
    """The greatest (of none, 0) or the least; NaN where there is one."""
    if not axis:
        return x
    if any(x.shape[d] == 0 for d in axis):
        return xp.sum(x, axis=axis, keepdims=keepdims)
    pick = xp.max if greatest else xp.min
    found = pick(x, axis=axis, keepdims=keepdims)
    return xp.where(xp.isnan(x).any(axis=axis, keepdims=keepdims), np.nan, found)


# ---- Fourier transforms


def _along(transform: str) -> Callable[..., Array]:
    """A transform along one axis."""

    def call(xp: Module, x: Array, s: tuple[int], axes: tuple[int], norm: str) -> Array:
        return getattr(xp.fft, transform)(_some(xp, x, axes), s[0], axes[0], norm)

    return call


def _over(transform: str) -> Callable[..., Array]:
    """A transform of complex numbers over several axes, or none."""

    def call(xp: Module, x: Array, s: tuple[int, ...], axes: tuple[int, ...], norm: str) -> Array:
        if not axes:
            return x.copy()
        return getattr(xp.fft, transform)(_some(xp, x, axes), s, axes, norm)

    return call


def rfftn(xp: Module, x: Array, s: tuple[int, ...], axes: tuple[int, ...], norm: str) -> Array:
    """The last axis first, which halves it; the rest is complex."""
    found = xp.fft.rfft(_some(xp, x, axes), s[-1], axes[-1], norm)
    return xp.fft.fftn(found, s[:-1], axes[:-1], norm) if axes[1:] else found


def irfftn(xp: Module, x: Array, s: tuple[int, ...], axes: tuple[int, ...], norm: str) -> Array:
    """The inverse, in the inverse order."""
    found = _some(xp, x, axes)
    if axes[1:]:
        found = xp.fft.ifftn(found, s[:-1], axes[:-1], norm)
    return xp.fft.irfft(found, s[-1], axes[-1], norm)


def _some(xp: Module, x: Array, axes: tuple[int, ...]) -> Array:
    """`x`, empty lines made one zero."""
    if all(x.shape[d] for d in axes):
        return x
    return xp.zeros([n or 1 if d in axes else n for d, n in enumerate(x.shape)], x.dtype)


# ---- Sets and searches


def _groups(xp: Module, x: Array) -> tuple[Array, Array, Array, Array]:
    """The flat `x`, the order that sorts it, where new values begin in that order, and marks there.

    It is stable, so that a value begins with the first of its elements.
    """
    flat = x.reshape(-1)
    keys = flat.view(np.uint8) if flat.dtype.kind == "b" else flat
    if keys.dtype.kind in "fc":
        keys = keys + keys.dtype.type(0)  # -0 becomes 0, which sorts by bits tell apart
    order = xp.argsort(keys, kind="stable")
    line = keys[order]
    new = xp.ones(line.shape, np.bool_)
    new[1:] = line[1:] != line[:-1]  # every NaN is distinct
    return flat, order, xp.flatnonzero(new), new


def _inverse(xp: Module, x: Array, order: Array, new: Array) -> Array:
    found = xp.empty(order.shape, np.int64)
    found[order] = xp.cumsum(new, dtype=np.int64) - 1
    return found.reshape(x.shape)


def _counts(xp: Module, x: Array, starts: Array) -> Array:
    ends = xp.empty(starts.shape, np.int64)
    ends[:-1] = starts[1:]
    ends[-1:] = x.size
    return ends - starts


def unique_all(xp: Module, x: Array) -> tuple[Array, ...]:
    """Values, first indices, inverse, counts."""
    flat, order, starts, new = _groups(xp, x)
    first = order[starts]
    return flat[first], first, _inverse(xp, x, order, new), _counts(xp, x, starts)


def unique_counts(xp: Module, x: Array) -> tuple[Array, ...]:
    """Values and counts."""
    flat, order, starts, _ = _groups(xp, x)
    return flat[order[starts]], _counts(xp, x, starts)


def unique_inverse(xp: Module, x: Array) -> tuple[Array, ...]:
    """Values and, for each element, the position of its value."""
    flat, order, starts, new = _groups(xp, x)
    return flat[order[starts]], _inverse(xp, x, order, new)


def unique_values(xp: Module, x: Array) -> Array:
    """The distinct values."""
    flat, order, starts, _ = _groups(xp, x)
    return flat[order[starts]]


def isin(xp: Module, x: Array, of: Array, invert: bool) -> Array:
    """Whether each element occurs in `of`; NaN never does.

    Both are sorted together, `of` in front: an element is in there if the first of its equals is.
    """
    both = xp.concatenate([of.reshape(-1), x.reshape(-1)])
    _, order, starts, new = _groups(xp, both)
    member = (order[starts] < of.size)[xp.cumsum(new, dtype=np.int64) - 1]
    found = xp.empty(order.shape, np.bool_)
    found[order] = member != invert
    return found[of.size :].reshape(x.shape)


def searchsorted(xp: Module, x: Array, values: Array, side: str) -> Array:
    """Where `values` would go into the sorted `x`."""
    return xp.searchsorted(x, values, side)


def nonzero(xp: Module, x: Array) -> tuple[Array, ...]:
    """The indices of nonzero elements, one array a dimension."""
    flat = xp.flatnonzero(x if x.dtype.kind == "b" else xp.not_equal(x, 0))
    found: list[Array] = []
    for size in x.shape[:0:-1]:
        flat, rest = xp.divmod(flat, size)
        found.insert(0, rest)
    return (flat, *found)


def repeat(xp: Module, counts: Array) -> Array:
    """Each position as often as `counts` says, in ascending order."""
    ends = xp.cumsum(counts, dtype=np.int64)
    total = int(ends[-1]) if counts.size else 0
    return xp.searchsorted(ends, xp.arange(total, dtype=np.int64), "right")


# ---- Beyond the standard


def bincount(xp: Module, x: Array, minlength: int) -> Array:
    """How often each integer occurs."""
    return xp.bincount(x.astype(np.int64), minlength=minlength)


def bincount_weighted(xp: Module, x: Array, weights: Array, minlength: int) -> Array:
    """The sum of weights for each integer."""
    if not x.size:
        return xp.zeros((minlength,), np.float64)
    return xp.bincount(x.astype(np.int64), weights, minlength)


def gradient(
    xp: Module,
    x: Array,
    *coordinates: Array,
    axes: tuple[int, ...],
    numbers: tuple[float, ...],
    edge_order: int,
) -> Any:
    """The gradient along `axes`; distances are arrays of coordinates, or numbers, or neither."""
    found = xp.gradient(x, *(coordinates or numbers), axis=axes, edge_order=edge_order)
    return tuple(found) if isinstance(found, (list, tuple)) else found


# ---- The table

TABLE: dict[str, Callable[..., Any]] = {
    "bincount of 1": bincount,
    "bincount of 2": bincount_weighted,
    "cholesky": cholesky,
    "cross": cross,
    "det": det,
    "eig": eig,
    "eigh": eigh,
    "eigvals": eigvals,
    "eigvalsh": eigvalsh,
    "einsum": einsum,
    "fft": _along("fft"),
    "fftn": _over("fftn"),
    "gradient": gradient,
    "hfft": _along("hfft"),
    "ifft": _along("ifft"),
    "ifftn": _over("ifftn"),
    "ihfft": _along("ihfft"),
    "inv": inv,
    "irfft": _along("irfft"),
    "irfftn": irfftn,
    "isin": isin,
    "matrix_norm": matrix_norm,
    "matrix_power": matrix_power,
    "matrix_rank": matrix_rank,
    "nonzero": nonzero,
    "outer": outer,
    "pinv": pinv,
    "qr": qr,
    "repeat": repeat,
    "rfft": _along("rfft"),
    "rfftn": rfftn,
    "searchsorted": searchsorted,
    "slogdet": slogdet,
    "solve": solve,
    "svd": svd,
    "svdvals": svdvals,
    "unique_all": unique_all,
    "unique_counts": unique_counts,
    "unique_inverse": unique_inverse,
    "unique_values": unique_values,
    "vecdot": vecdot,
    "vector_norm": vector_norm,
}
