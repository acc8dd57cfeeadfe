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


def _module_function(attribute_path: str) -> Callable[..., Any]:
    """Return a call of the function of that name in the module."""
    function = attrgetter(attribute_path)
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
    result = xp.einsum(subscripts, *arrays)
    shared = any(xp.may_share_memory(result, x) for x in arrays)
    return result.copy() if shared else result


# ---- Matrices


def _conjugate_transpose(xp: Module, x: Array) -> Array:
    """Return the conjugate transpose."""
    return xp.swapaxes(x, -1, -2).conj()


def _cholesky(xp: Module, x: Array, upper: bool) -> Array:
    """NaN, which no comparison finds, shows in the factor."""
    factor = xp.linalg.cholesky(_conjugate_transpose(xp, x) if upper else x)
    if xp.isnan(factor).any():
        raise np.linalg.LinAlgError
    return _conjugate_transpose(xp, factor) if upper else factor


def _matrix_power(xp: Module, x: Array, n: int) -> Array:
    """Return a power of each matrix; the first power is a copy."""
    return x.copy() if n == 1 else xp.linalg.matrix_power(x, n)


def _solve(xp: Module, x: Array, y: Array) -> Array:
    """Solve linear equations; a vector is one column for all matrices."""
    columns = y[:, None] if y.ndim == 1 else y
    # They fit, and np.broadcast_shapes takes no more than 32 sizes.
    sizes = zip_longest(x.shape[-3::-1], columns.shape[-3::-1], fillvalue=1)
    stack = tuple(n if m == 1 else m for m, n in sizes)[::-1]
    a, b = (xp.broadcast_to(operand, stack + operand.shape[-2:]) for operand in (x, columns))
    solution = xp.linalg.solve(xp.ascontiguousarray(a), xp.ascontiguousarray(b))
    return solution[..., 0] if y.ndim == 1 else solution


def _svdvals(xp: Module, x: Array) -> Array:
    return xp.linalg.svd(x, compute_uv=False)


def _matrix_rank(xp: Module, x: Array, rtol: Array) -> Array:
    """Return how many singular values exceed `rtol` times the largest."""
    values = _svdvals(xp, x)
    return xp.sum(values > values[..., :1] * rtol.real[..., None], axis=-1, dtype=np.int64)


def _pinv(xp: Module, x: Array, rtol: Array) -> Array:
    """Return the pseudo-inverse; singular values up to `rtol` times the largest count as 0."""
    left_vectors, values, right_vectors = xp.linalg.svd(x.conj(), False)
    significant = values > values[..., :1] * rtol.real[..., None]
    inverted = xp.where(significant, 1 / xp.where(significant, values, 1), 0).astype(values.dtype)
    return xp.matmul(
        xp.swapaxes(right_vectors, -1, -2), inverted[..., None] * xp.swapaxes(left_vectors, -1, -2)
    )


# ---- Norms, in double

# ``reduced(what, function, x, axis)``: the sum, max or min of what a function makes of elements.
NormReducer = Callable[[str, Callable[[Array], Array], Array, Axes], Array]


def _reduce_elements(xp: Module, reduction: str, function: Any, x: Array, axis: Axes) -> Array:
    """Return the greatest of none is 0; NaN where there is one."""
    values = function(x)
    if not axis:
        return values
    if reduction == "sum" or any(x.shape[d] == 0 for d in axis):
        return xp.sum(values, axis=axis, dtype=np.float64)
    extreme = getattr(xp, reduction)(values, axis=axis)
    return xp.where(xp.isnan(values).any(axis=axis), np.nan, extreme)


def vector_norm(
    xp: Module,
    x: Array,
    axis: Axes,
    keepdims: bool,
    ord: float,
    *,
    reducer: NormReducer | None = None,
) -> Array:
    """Return the norm of order `ord` of the elements along the dimensions `axis`."""
    reducer = partial(_reduce_elements, xp) if reducer is None else reducer
    if ord == 0:
        norm = reducer("sum", lambda a: xp.not_equal(a, 0), x, axis)
    elif ord == 1:
        norm = reducer("sum", xp.abs, x, axis)
    elif ord == 2:
        norm = xp.sqrt(reducer("sum", partial(_squared_magnitude, xp), x, axis))
    elif math.isinf(ord):
        norm = reducer("max" if ord > 0 else "min", xp.abs, x, axis)
    else:
        total = reducer("sum", lambda a: xp.power(_to_float64(xp.abs(a)), ord), x, axis)
        norm = xp.power(total, 1 / ord)
    return xp.expand_dims(norm, axis) if keepdims else norm


def matrix_norm(
    xp: Module, x: Array, keepdims: bool, ord: Any, *, reducer: NormReducer | None = None
) -> Array:
    """Return the norm of each matrix: Frobenius, nuclear, or induced by the order `ord`."""
    reducer = partial(_reduce_elements, xp) if reducer is None else reducer
    if ord in (None, "fro"):
        return vector_norm(xp, x, (x.ndim - 2, x.ndim - 1), keepdims, 2, reducer=reducer)
    if ord == "nuc":
        norm = xp.sum(_svdvals(xp, x), axis=-1, dtype=np.float64)
    else:
        summed_dim = x.ndim - (2 if abs(ord) == 1 else 1)
        spectral = abs(ord) == 2
        values = _svdvals(xp, x) if spectral else reducer("sum", xp.abs, x, (summed_dim,))
        norm = _reduce_elements(xp, "max" if ord > 0 else "min", _to_float64, values, (-1,))
    return xp.expand_dims(norm, (-2, -1)) if keepdims else norm


def _to_float64(x: Array) -> Array:
    return x.astype(np.float64, copy=False)


def _squared_magnitude(xp: Module, x: Array) -> Array:
    if x.dtype.kind == "c":
        return _squared_magnitude(xp, x.real) + _squared_magnitude(xp, x.imag)
    return xp.square(_to_float64(x))


# ---- Fourier transforms


def _make_fft_function(name: str) -> Callable[..., Array]:
    """Return a transform along one axis, or of complex numbers over several, or none."""

    def transform(xp: Module, x: Array, s: Axes, axes: Axes, norm: str) -> Array:
        arguments: Any = (s, axes) if name.endswith("n") else (s[0], axes[0])
        return (
            getattr(xp.fft, name)(_replace_empty_lines(xp, x, axes), *arguments, norm)
            if axes
            else x.copy()
        )

    return transform


def _rfftn(xp: Module, x: Array, s: Axes, axes: Axes, norm: str) -> Array:
    """Return the last axis first, which halves it; the rest is complex."""
    spectrum = xp.fft.rfft(_replace_empty_lines(xp, x, axes), s[-1], axes[-1], norm)
    return xp.fft.fftn(spectrum, s[:-1], axes[:-1], norm) if axes[1:] else spectrum


def _irfftn(xp: Module, x: Array, s: Axes, axes: Axes, norm: str) -> Array:
    """Return the inverse, in the inverse order."""
    signal = _replace_empty_lines(xp, x, axes)
    if axes[1:]:
        signal = xp.fft.ifftn(signal, s[:-1], axes[:-1], norm)
    return xp.fft.irfft(signal, s[-1], axes[-1], norm)


def _replace_empty_lines(xp: Module, x: Array, axes: Axes) -> Array:
    """Replace empty lines by one zero: NumPy's irfft reads unwritten memory there."""
    if all(x.shape[d] for d in axes):
        return x
    return xp.zeros([n or 1 if d in axes else n for d, n in enumerate(x.shape)], x.dtype)


# ---- Sets


def _group_equal_values(xp: Module, x: Array) -> tuple[Array, Array, Array, Array]:
    """Return flat `x`, its sorting order, where new values begin in it, and marks there.

    It is stable, so that a value begins with the first of its elements.
    """
    flat = x.reshape(-1)
    keys = flat.view(np.uint8) if flat.dtype.kind == "b" else flat
    if keys.dtype.kind in "fc":
        keys = keys + keys.dtype.type(0)  # -0 becomes 0, which sorts by bits tell apart
    order = xp.argsort(keys, kind="stable")
    line = keys[order]
    is_new = xp.ones(line.shape, np.bool_)
    is_new[1:] = line[1:] != line[:-1]  # every NaN is distinct
    return flat, order, xp.flatnonzero(is_new), is_new


def _make_unique_function(
    indices: bool = False, inverse: bool = False, counts: bool = False
) -> Callable[[Module, Array], Any]:
    """Return a function of the distinct values, and what else is asked for."""

    def unique(xp: Module, x: Array) -> Any:
        flat, order, starts, is_new = _group_equal_values(xp, x)
        first = order[starts]
        results = [flat[first], first] if indices else [flat[first]]
        if inverse:
            group_numbers = xp.empty(order.shape, np.int64)
            group_numbers[order] = xp.cumsum(is_new, dtype=np.int64) - 1
            results.append(group_numbers.reshape(x.shape))
        if counts:
            ends = xp.empty(starts.shape, np.int64)
            ends[:-1] = starts[1:]
            ends[-1:] = x.size
            results.append(ends - starts)
        return tuple(results) if results[1:] else results[0]

    return unique


def _isin(xp: Module, x: Array, test_values: Array, invert: bool) -> Array:
    """Return whether each element occurs in `test_values`; NaN never does.

    Both are sorted together, `test_values` in front: an element is in there if the first of its
    equals is.
    """
    both = xp.concatenate([test_values.reshape(-1), x.reshape(-1)])
    _, order, starts, is_new = _group_equal_values(xp, both)
    is_member = (order[starts] < test_values.size)[xp.cumsum(is_new, dtype=np.int64) - 1]
    result = xp.empty(order.shape, np.bool_)
    result[order] = is_member != invert
    return result[test_values.size :].reshape(x.shape)


# ---- Counts and slopes


def _repeat_positions(xp: Module, counts: Array) -> Array:
    """Return each position as often as `counts` says, in ascending order."""
    ends = xp.cumsum(counts, dtype=np.int64)
    total = int(ends[-1]) if counts.size else 0
    return xp.searchsorted(ends, xp.arange(total, dtype=np.int64), "right")


def _bincount(xp: Module, x: Array, *weights: Array, minlength: int) -> Array:
    if weights and not x.size:
        return xp.zeros((minlength,), np.float64)
    return xp.bincount(x.astype(np.int64), *weights, minlength=minlength)


def _gradient(
    xp: Module,
    x: Array,
    *coordinates: Array,
    axes: Axes,
    spacings: tuple[float, ...],
    edge_order: int,
) -> Any:
    """Distances are arrays of coordinates, or numbers, or neither."""
    result = xp.gradient(x, *(coordinates or spacings), axis=axes, edge_order=edge_order)
    return tuple(result) if isinstance(result, (list, tuple)) else result


# ---- The table, by the names of operations

ARRAY_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{
        name: _module_function(f"linalg.{name}")
        for name in ("det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "qr", "slogdet", "svd")
    },
    **{
        name: _make_fft_function(name)
        for name in ("fft", "fftn", "hfft", "ifft", "ifftn", "ihfft", "irfft", "rfft")
    },
    "bincount": _bincount,
    "cholesky": _cholesky,
    "cross": _module_function("cross"),
    "einsum": _einsum,
    "gradient": _gradient,
    "irfftn": _irfftn,
    "isin": _isin,
    "matrix_norm": matrix_norm,
    "matrix_power": _matrix_power,
    "matrix_rank": _matrix_rank,
    "outer": _outer,
    "pinv": _pinv,
    "repeat": _repeat_positions,
    "rfftn": _rfftn,
    "solve": _solve,
    "svdvals": _svdvals,
    "unique_all": _make_unique_function(indices=True, inverse=True, counts=True),
    "unique_counts": _make_unique_function(counts=True),
    "unique_inverse": _make_unique_function(inverse=True),
    "unique_values": _make_unique_function(),
    "vecdot": _vecdot,
    "vector_norm": vector_norm,
}
