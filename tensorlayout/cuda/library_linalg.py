"""Products, matrices and norms, by the functions of CuPy; see `library_functions`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorlayout.cuda.engine.optional import cupy_part

Array = Any  # of CuPy, or NumPy
Module = Any


class NotOnDevice(Exception):  # noqa: N818 - it is no error: the host takes over
    """The library of this CUDA has no routine for it."""


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


def _transposed(xp: Module, x: Array) -> Array:
    """The conjugate transpose."""
    return xp.swapaxes(x, -1, -2).conj()


def cholesky(xp: Module, x: Array, upper: bool) -> Array:
    """The triangular factor; NaN, which no comparison finds, shows in the result."""
    found = xp.linalg.cholesky(_transposed(xp, x) if upper else x)
    if xp.isnan(found).any():
        raise np.linalg.LinAlgError
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
    return tuple(xp.linalg.eig(x))


def eigvals(xp: Module, x: Array) -> Array:
    """Eigenvalues."""
    _need_geev(xp)
    return xp.linalg.eigvals(x)


def eigh(xp: Module, x: Array) -> tuple[Array, ...]:
    """Eigenvalues and eigenvectors of Hermitian matrices."""
    return tuple(xp.linalg.eigh(x))


def eigvalsh(xp: Module, x: Array) -> Array:
    """Eigenvalues of Hermitian matrices."""
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
    return tuple(xp.linalg.svd(x, full_matrices))


def svdvals(xp: Module, x: Array) -> Array:
    """Singular values, descending."""
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
