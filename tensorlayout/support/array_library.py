"""Functions of whole arrays, for NumPy and CuPy alike: linear algebra, transforms, sets.

Each takes the module, arrays in the dtype to compute in, and options as the public functions have
checked them. They use what CuPy 14 and NumPy both have; the CPU has faster ones of some.

What CuPy does otherwise than the standard or the CPU, and what is done about it:

- Failures (singular, not positive-definite, not converged) are NaN: CuPy is told to raise.
- `cholesky` has no upper factor: the lower one of the conjugate transpose, transposed back.
- `solve` does not broadcast stacks: they are broadcast before.
- `eig` and `eigvals` need cuSOLVER's geev (11.7, of CUDA 12.6); before, `cuda/library` asks NumPy.
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
from functools import partial
from itertools import zip_longest
from operator import attrgetter
from typing import Any

import numpy as np

Array = Any  # of CuPy, or NumPy
Module = Any
Axes = tuple[int, ...]


def _called(path: str) -> Callable[..., Any]:
    """A call of the function of that name in the module."""
    function = attrgetter(path)
    return lambda xp, *arrays, **options: function(xp)(*arrays, **options)


# ---- Products


def _outer(xp: Module, x: Array, y: Array) -> Array:
    return xp.multiply(x[:, None], y)


def _vecdot(xp: Module, x: Array, y: Array, axis: int) -> Array:
    a, b = xp.moveaxis(x, axis, -1), xp.moveaxis(y, axis, -1)
    a = a.conj() if a.dtype.kind == "c" else a
    return xp.sum(a * b, axis=-1, dtype=x.dtype)


def _einsum(xp: Module, *arrays: Array, subscripts: str) -> Array:
    if arrays[0].dtype.kind == "b":
        return xp.einsum(subscripts, *(x.astype(np.int64) for x in arrays)).astype(np.bool_)
    found = xp.einsum(subscripts, *arrays)
    shared = any(xp.may_share_memory(found, x) for x in arrays)
    return found.copy() if shared else found


# ---- Matrices


def _transposed(xp: Module, x: Array) -> Array:
    """The conjugate transpose."""
    return xp.swapaxes(x, -1, -2).conj()


def _cholesky(xp: Module, x: Array, upper: bool) -> Array:
    """NaN, which no comparison finds, shows in the factor."""
    found = xp.linalg.cholesky(_transposed(xp, x) if upper else x)
    if xp.isnan(found).any():
        raise np.linalg.LinAlgError
    return _transposed(xp, found) if upper else found


def _matrix_power(xp: Module, x: Array, n: int) -> Array:
    """The first power is a copy."""
    return x.copy() if n == 1 else xp.linalg.matrix_power(x, n)


def _solve(xp: Module, x: Array, y: Array) -> Array:
    """A vector is one column for all matrices."""
    columns = y[:, None] if y.ndim == 1 else y
    # They fit, and np.broadcast_shapes takes no more than 32 sizes.
    sizes = zip_longest(x.shape[-3::-1], columns.shape[-3::-1], fillvalue=1)
    stack = tuple(n if m == 1 else m for m, n in sizes)[::-1]
    a, b = (xp.broadcast_to(each, stack + each.shape[-2:]) for each in (x, columns))
    found = xp.linalg.solve(xp.ascontiguousarray(a), xp.ascontiguousarray(b))
    return found[..., 0] if y.ndim == 1 else found


def _svdvals(xp: Module, x: Array) -> Array:
    return xp.linalg.svd(x, compute_uv=False)


def _matrix_rank(xp: Module, x: Array, rtol: Array) -> Array:
    """Return how many singular values exceed `rtol` times the largest."""
    values = _svdvals(xp, x)
    return xp.sum(values > values[..., :1] * rtol.real[..., None], axis=-1, dtype=np.int64)


def _pinv(xp: Module, x: Array, rtol: Array) -> Array:
    """The pseudo-inverse; singular values up to `rtol` times the largest count as 0."""
    left, values, right = xp.linalg.svd(x.conj(), False)
    kept = values > values[..., :1] * rtol.real[..., None]
    inverted = xp.where(kept, 1 / xp.where(kept, values, 1), 0).astype(values.dtype)
    return xp.matmul(xp.swapaxes(right, -1, -2), inverted[..., None] * xp.swapaxes(left, -1, -2))


# ---- Norms, in double

# ``reduced(what, function, x, axis)``: the sum, max or min of what a function makes of elements.
Reduced = Callable[[str, Callable[[Array], Array], Array, Axes], Array]


def _reduced(xp: Module, what: str, function: Any, x: Array, axis: Axes) -> Array:
    """The greatest of none is 0; NaN where there is one."""
    values = function(x)
    if not axis:
        return values
    if what == "sum" or any(x.shape[d] == 0 for d in axis):
        return xp.sum(values, axis=axis, dtype=np.float64)
    found = getattr(xp, what)(values, axis=axis)
    return xp.where(xp.isnan(values).any(axis=axis), np.nan, found)


def vector_norm(
    xp: Module, x: Array, axis: Axes, keepdims: bool, ord: float, *, reduced: Reduced | None = None
) -> Array:
    """The norm of order `ord` of the elements along the dimensions `axis`."""
    reduced = partial(_reduced, xp) if reduced is None else reduced
    if ord == 0:
        found = reduced("sum", lambda a: xp.not_equal(a, 0), x, axis)
    elif ord == 1:
        found = reduced("sum", xp.abs, x, axis)
    elif ord == 2:
        found = xp.sqrt(reduced("sum", partial(_square, xp), x, axis))
    elif math.isinf(ord):
        found = reduced("max" if ord > 0 else "min", xp.abs, x, axis)
    else:
        total = reduced("sum", lambda a: xp.power(_wide(xp.abs(a)), ord), x, axis)
        found = xp.power(total, 1 / ord)
    return xp.expand_dims(found, axis) if keepdims else found


def matrix_norm(
    xp: Module, x: Array, keepdims: bool, ord: Any, *, reduced: Reduced | None = None
) -> Array:
    """The norm of each matrix: Frobenius, nuclear, or induced by the order `ord`."""
    reduced = partial(_reduced, xp) if reduced is None else reduced
    if ord in (None, "fro"):
        return vector_norm(xp, x, (x.ndim - 2, x.ndim - 1), keepdims, 2, reduced=reduced)
    if ord == "nuc":
        found = xp.sum(_svdvals(xp, x), axis=-1, dtype=np.float64)
    else:
        along = x.ndim - (2 if abs(ord) == 1 else 1)
        spectral = abs(ord) == 2
        values = _svdvals(xp, x) if spectral else reduced("sum", xp.abs, x, (along,))
        found = _reduced(xp, "max" if ord > 0 else "min", _wide, values, (-1,))
    return xp.expand_dims(found, (-2, -1)) if keepdims else found


def _wide(x: Array) -> Array:
    return x.astype(np.float64, copy=False)


def _square(xp: Module, x: Array) -> Array:
    if x.dtype.kind == "c":
        return _square(xp, x.real) + _square(xp, x.imag)
    return xp.square(_wide(x))


# ---- Fourier transforms


def _transform(name: str) -> Callable[..., Array]:
    """A transform along one axis, or of complex numbers over several, or none."""

    def call(xp: Module, x: Array, s: Axes, axes: Axes, norm: str) -> Array:
        given: Any = (s, axes) if name.endswith("n") else (s[0], axes[0])
        return getattr(xp.fft, name)(_some(xp, x, axes), *given, norm) if axes else x.copy()

    return call


def _rfftn(xp: Module, x: Array, s: Axes, axes: Axes, norm: str) -> Array:
    """The last axis first, which halves it; the rest is complex."""
    found = xp.fft.rfft(_some(xp, x, axes), s[-1], axes[-1], norm)
    return xp.fft.fftn(found, s[:-1], axes[:-1], norm) if axes[1:] else found


def _irfftn(xp: Module, x: Array, s: Axes, axes: Axes, norm: str) -> Array:
    """The inverse, in the inverse order."""
    found = _some(xp, x, axes)
    if axes[1:]:
        found = xp.fft.ifftn(found, s[:-1], axes[:-1], norm)
    return xp.fft.irfft(found, s[-1], axes[-1], norm)


def _some(xp: Module, x: Array, axes: Axes) -> Array:
    """`x`, empty lines made one zero: NumPy's irfft reads memory there that nobody has written."""
    if all(x.shape[d] for d in axes):
        return x
    return xp.zeros([n or 1 if d in axes else n for d, n in enumerate(x.shape)], x.dtype)


# ---- Sets


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


def _unique(
    indices: bool = False, inverse: bool = False, counts: bool = False
) -> Callable[[Module, Array], Any]:
    """A function of the distinct values, and what else is asked for."""

    def unique(xp: Module, x: Array) -> Any:
        flat, order, starts, new = _groups(xp, x)
        first = order[starts]
        found = [flat[first], first] if indices else [flat[first]]
        if inverse:
            places = xp.empty(order.shape, np.int64)
            places[order] = xp.cumsum(new, dtype=np.int64) - 1
            found.append(places.reshape(x.shape))
        if counts:
            ends = xp.empty(starts.shape, np.int64)
            ends[:-1] = starts[1:]
            ends[-1:] = x.size
            found.append(ends - starts)
        return tuple(found) if found[1:] else found[0]

    return unique


def _isin(xp: Module, x: Array, of: Array, invert: bool) -> Array:
    """Return whether each element occurs in `of`; NaN never does.

    Both are sorted together, `of` in front: an element is in there if the first of its equals is.
    """
    both = xp.concatenate([of.reshape(-1), x.reshape(-1)])
    _, order, starts, new = _groups(xp, both)
    member = (order[starts] < of.size)[xp.cumsum(new, dtype=np.int64) - 1]
    found = xp.empty(order.shape, np.bool_)
    found[order] = member != invert
    return found[of.size :].reshape(x.shape)


# ---- Counts and slopes


def _repeat(xp: Module, counts: Array) -> Array:
    """Each position as often as `counts` says, in ascending order."""
    ends = xp.cumsum(counts, dtype=np.int64)
    total = int(ends[-1]) if counts.size else 0
    return xp.searchsorted(ends, xp.arange(total, dtype=np.int64), "right")


def _bincount(xp: Module, x: Array, *weights: Array, minlength: int) -> Array:
    if weights and not x.size:
        return xp.zeros((minlength,), np.float64)
    return xp.bincount(x.astype(np.int64), *weights, minlength=minlength)


def _gradient(
    xp: Module, x: Array, *given: Array, axes: Axes, numbers: tuple[float, ...], edge_order: int
) -> Any:
    """Distances are arrays of coordinates, or numbers, or neither."""
    found = xp.gradient(x, *(given or numbers), axis=axes, edge_order=edge_order)
    return tuple(found) if isinstance(found, (list, tuple)) else found


# ---- The table, by the names of operations

TABLE: dict[str, Callable[..., Any]] = {
    **{
        name: _called(f"linalg.{name}")
        for name in ("det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "qr", "slogdet", "svd")
    },
    **{
        name: _transform(name)
        for name in ("fft", "fftn", "hfft", "ifft", "ifftn", "ihfft", "irfft", "rfft")
    },
    "bincount": _bincount,
    "cholesky": _cholesky,
    "cross": _called("cross"),
    "einsum": _einsum,
    "gradient": _gradient,
    "irfftn": _irfftn,
    "isin": _isin,
    "matrix_norm": matrix_norm,
    "matrix_power": _matrix_power,
    "matrix_rank": _matrix_rank,
    "outer": _outer,
    "pinv": _pinv,
    "repeat": _repeat,
    "rfftn": _rfftn,
    "solve": _solve,
    "svdvals": _svdvals,
    "unique_all": _unique(indices=True, inverse=True, counts=True),
    "unique_counts": _unique(counts=True),
    "unique_inverse": _unique(inverse=True),
    "unique_values": _unique(),
    "vecdot": _vecdot,
    "vector_norm": vector_norm,
}
