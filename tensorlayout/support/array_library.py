"""Functions of whole arrays for NumPy and CuPy alike: linear algebra, transforms, sets.

Each takes the array module, arrays in the dtype to compute in, and options that the public
functions have checked. They use what CuPy 14 and NumPy have in common; the CPU backend has faster
versions of some.

Differences of CuPy from the standard or from the CPU, and the remedies:

- Failures (singular, not positive-definite, not converged) give NaN: CuPy is configured to raise.
- `cholesky` has no upper factor: transpose the lower factor of the conjugate transpose.
- `solve` does not broadcast stacks: broadcast them first.
- `eig` and `eigvals` need cuSOLVER's geev (11.7, from CUDA 12.6); before, `cuda/library` uses
  NumPy.
- `det` is sign times exp of a logarithm, with a relative error of about log|det| epsilons.
- `pinv` and `matrix_rank` have other tolerances: compute them from singular values here.
- `vector_norm` sums in the operand's dtype, and maximum and minimum ignore NaN: both are done here.
- `irfftn` over several axes may be undefined for input without the required symmetry: transform one
  axis after the other, as NumPy. Transforms of empty lines raise: fill them first.
- `unique` and `isin` sort here, for every dtype and NaN: each NaN is a distinct value, and both
  zeros are equal.
- `repeat` takes counts from the host only: search positions in their cumulative sum.
- `einsum` adds bool in bool: count instead.
- `bincount` with weights adds in no fixed order, so the last bits of results may vary.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import zip_longest
from operator import attrgetter
from typing import Any

import numpy as np

Array = Any  # a CuPy or NumPy array
Module = Any
Axes = tuple[int, ...]


def _make_call_with_xp_argument(attribute_path: str) -> Callable[..., Any]:
    """Return a function that calls the module's function of that name."""
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
    # einsum("ii->i", x) and the like return views, but results never alias operands.
    shared = any(xp.may_share_memory(result, x) for x in arrays)
    return result.copy() if shared else result


# ---- Matrices


def _conjugate_transpose(xp: Module, x: Array) -> Array:
    return xp.swapaxes(x, -1, -2).conj()


def _cholesky(xp: Module, x: Array, upper: bool) -> Array:
    """Return a Cholesky factor; LinAlgError if it has NaN, which also detects NaN in the input."""
    # The library reads only the lower triangle. Transposing first lets an upper factor depend on
    # the upper triangle, as in NumPy.
    factor = xp.linalg.cholesky(_conjugate_transpose(xp, x) if upper else x)
    if xp.isnan(factor).any():
        raise np.linalg.LinAlgError
    return _conjugate_transpose(xp, factor) if upper else factor


def _matrix_power(xp: Module, x: Array, n: int) -> Array:
    """Return a power of each matrix; the first power is a copy."""
    return x.copy() if n == 1 else xp.linalg.matrix_power(x, n)


def _solve(xp: Module, x: Array, y: Array) -> Array:
    """Solve linear equations; a vector is one column, shared by all matrices."""
    columns = y[:, None] if y.ndim == 1 else y
    # Shapes were checked before. np.broadcast_shapes accepts no more than 32 sizes.
    # The sizes before the last two, innermost first; a missing one counts as 1.
    sizes = zip_longest(x.shape[-3::-1], columns.shape[-3::-1], fillvalue=1)
    stack = tuple(n if m == 1 else m for m, n in sizes)[::-1]
    a, b = (xp.broadcast_to(operand, stack + operand.shape[-2:]) for operand in (x, columns))
    solution = xp.linalg.solve(xp.ascontiguousarray(a), xp.ascontiguousarray(b))
    return solution[..., 0] if y.ndim == 1 else solution


def _svdvals(xp: Module, x: Array) -> Array:
    return xp.linalg.svd(x, compute_uv=False)


def _matrix_rank(xp: Module, x: Array, rtol: Array) -> Array:
    """Return the number of singular values above `rtol` times the largest."""
    values = _svdvals(xp, x)
    # Singular values descend, so the first is the largest. `rtol` arrives in the dtype of the
    # matrices; where that is complex, its imaginary part is 0.
    return xp.sum(values > values[..., :1] * rtol.real[..., None], axis=-1, dtype=np.int64)


def _pinv(xp: Module, x: Array, rtol: Array) -> Array:
    """Return the pseudo-inverse; singular values up to `rtol` times the largest are taken as 0."""
    # With x = U S V^H, the conjugate of x gives conj(U), S and conj(V^H). Their plain transposes
    # are the U^H and V of the pseudo-inverse V S^-1 U^H.
    left_vectors, values, right_vectors = xp.linalg.svd(x.conj(), False)
    significant = values > values[..., :1] * rtol.real[..., None]
    # The inner `where` keeps 1 / 0 from being computed, which would warn.
    inverted = xp.where(significant, 1 / xp.where(significant, values, 1), 0).astype(values.dtype)
    return xp.matmul(
        xp.swapaxes(right_vectors, -1, -2), inverted[..., None] * xp.swapaxes(left_vectors, -1, -2)
    )


# ---- Norms, in double

# A reducer ``(reduction, function, x, axis)`` returns the sum, max or min of function(elements).
NormReducer = Callable[[str, Callable[[Array], Array], Array, Axes], Array]


def _map_and_reduce(xp: Module, reduction: str, function: Any, x: Array, axis: Axes) -> Array:
    """Reduce ``function(x)``; a maximum of no elements is 0, and NaN propagates."""
    values = function(x)
    if not axis:
        return values
    if reduction == "sum" or any(x.shape[d] == 0 for d in axis):
        return xp.sum(values, axis=axis, dtype=np.float64)
    extreme = getattr(xp, reduction)(values, axis=axis)
    # CuPy's maximum and minimum ignore NaN.
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
    reducer = partial(_map_and_reduce, xp) if reducer is None else reducer
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
    reducer = partial(_map_and_reduce, xp) if reducer is None else reducer
    if ord in (None, "fro"):
        return vector_norm(xp, x, (x.ndim - 2, x.ndim - 1), keepdims, 2, reducer=reducer)
    if ord == "nuc":
        norm = xp.sum(_svdvals(xp, x), axis=-1, dtype=np.float64)
    else:
        # Order 1 sums each column, infinity each row, and 2 takes singular values. Their maximum is
        # the norm, for a negative order their minimum.
        summed_dim = x.ndim - (2 if abs(ord) == 1 else 1)
        spectral = abs(ord) == 2
        values = _svdvals(xp, x) if spectral else reducer("sum", xp.abs, x, (summed_dim,))
        norm = _map_and_reduce(xp, "max" if ord > 0 else "min", _to_float64, values, (-1,))
    return xp.expand_dims(norm, (-2, -1)) if keepdims else norm


def _to_float64(x: Array) -> Array:
    return x.astype(np.float64, copy=False)


def _squared_magnitude(xp: Module, x: Array) -> Array:
    if x.dtype.kind == "c":
        return _squared_magnitude(xp, x.real) + _squared_magnitude(xp, x.imag)
    return xp.square(_to_float64(x))


# ---- Fourier transforms


def _make_fft_function(name: str) -> Callable[..., Array]:
    """Return a function that calls an FFT of the array library; without axes it copies."""

    def transform(xp: Module, x: Array, s: Axes, axes: Axes, norm: str) -> Array:
        arguments: Any = (s, axes) if name.endswith("n") else (s[0], axes[0])
        return (
            getattr(xp.fft, name)(_fill_empty_lines_with_zero(xp, x, axes), *arguments, norm)
            if axes
            else x.copy()
        )

    return transform


def _rfftn(xp: Module, x: Array, s: Axes, axes: Axes, norm: str) -> Array:
    """Transform real input: the last axis first, which halves it, then the complex others."""
    spectrum = xp.fft.rfft(_fill_empty_lines_with_zero(xp, x, axes), s[-1], axes[-1], norm)
    return xp.fft.fftn(spectrum, s[:-1], axes[:-1], norm) if axes[1:] else spectrum


def _irfftn(xp: Module, x: Array, s: Axes, axes: Axes, norm: str) -> Array:
    """Invert `_rfftn`, in the opposite order of axes."""
    signal = _fill_empty_lines_with_zero(xp, x, axes)
    if axes[1:]:
        signal = xp.fft.ifftn(signal, s[:-1], axes[:-1], norm)
    return xp.fft.irfft(signal, s[-1], axes[-1], norm)


def _fill_empty_lines_with_zero(xp: Module, x: Array, axes: Axes) -> Array:
    """Replace empty lines by one zero: NumPy's irfft reads unwritten memory there."""
    if all(x.shape[d] for d in axes):
        return x
    return xp.zeros([n or 1 if d in axes else n for d, n in enumerate(x.shape)], x.dtype)


# ---- Sets


def _sort_and_mark_new_values(xp: Module, x: Array) -> tuple[Array, Array, Array, Array]:
    """Return flat `x`, its sorting order, starts of new values in it, and marks of these.

    The order is stable, so each value begins with the first of its elements.
    """
    flat = x.reshape(-1)
    keys = flat.view(np.uint8) if flat.dtype.kind == "b" else flat
    if keys.dtype.kind in "fc":
        keys = keys + keys.dtype.type(0)  # -0 becomes 0, because sorts by bits distinguish them
    order = xp.argsort(keys, kind="stable")
    line = keys[order]
    is_new = xp.ones(line.shape, np.bool_)
    is_new[1:] = line[1:] != line[:-1]  # every NaN is distinct
    return flat, order, xp.flatnonzero(is_new), is_new


def _make_unique_function(
    indices: bool = False, inverse: bool = False, counts: bool = False
) -> Callable[[Module, Array], Any]:
    """Return a function for distinct values and the other requested results."""

    def unique(xp: Module, x: Array) -> Any:
        flat, order, starts, is_new = _sort_and_mark_new_values(xp, x)
        first = order[starts]
        results = [flat[first], first] if indices else [flat[first]]
        if inverse:
            # The number of the group, known in sorted order, is written back to where the element
            # was: 3, 1, 3 sorts as 1, 3, 3 with numbers 0, 1, 1, which becomes 1, 0, 1.
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

    Both are sorted together, `test_values` first: an element occurs there if the first of its
    equals is one of them.
    """
    both = xp.concatenate([test_values.reshape(-1), x.reshape(-1)])
    _, order, starts, is_new = _sort_and_mark_new_values(xp, both)
    is_member = (order[starts] < test_values.size)[xp.cumsum(is_new, dtype=np.int64) - 1]
    result = xp.empty(order.shape, np.bool_)
    result[order] = is_member != invert
    return result[test_values.size :].reshape(x.shape)


# ---- Counts and slopes


def _repeat_positions(xp: Module, counts: Array) -> Array:
    """Return each position as often as `counts` says, ascending."""
    # Counts 2, 0, 1 end at 2, 2, 3. The first ends above 0, 1 and 2 are at positions 0, 0 and 2:
    # "right" passes over the ends of empty counts.
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
    """Return the gradient; spacings are arrays of coordinates, numbers, or omitted."""
    result = xp.gradient(x, *(coordinates or spacings), axis=axes, edge_order=edge_order)
    return tuple(result) if isinstance(result, (list, tuple)) else result


# ---- Table of functions by name of the operation

ARRAY_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{
        name: _make_call_with_xp_argument(f"linalg.{name}")
        for name in ("det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "qr", "slogdet", "svd")
    },
    **{
        name: _make_fft_function(name)
        for name in ("fft", "fftn", "hfft", "ifft", "ifftn", "ihfft", "irfft", "rfft")
    },
    "bincount": _bincount,
    "cholesky": _cholesky,
    "cross": _make_call_with_xp_argument("cross"),
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
