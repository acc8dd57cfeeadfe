"""Quantiles on the CPU: lines put in order once, then read at fractional positions.

Not `numpy.nanquantile`, which walks lines in Python and warns whatever the error state. It takes 45
ms for 1000 lines of 1000 float64 with NaN, 13 are taken here; 2.8 s for 100 000 lines of 10, and 24
ms here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorlayout.cpu.engine.casting import rounded
from tensorlayout.cpu.engine.memory import Array, quietly
from tensorlayout.plan.base import Write
from tensorlayout.plan.reduce import CONTINUOUS, DISCRETE, ReducePlan

_STEPS: dict[str, Callable[[Any], Any]] = {
    "higher": np.ceil,
    "linear": lambda between: between,
    "lower": np.floor,
    "midpoint": lambda between: (np.floor(between) + np.ceil(between)) / 2,
    "nearest": np.rint,
}

_FEW = 8  # places up to which they are looked for one by one


def write(plan: ReducePlan) -> Write:
    """The quantiles along the planned dimensions, at the probabilities and by the method asked for.

    The first dimension of the result goes through the probabilities; that of the source repeats the
    same slice, and is not reduced.
    """
    probabilities, method, skip = plan.static
    given = plan.dims, probabilities, method, skip
    return lambda out, x: quietly(_write, out._memory, x._memory, *given)


def _write(
    out: Array,
    x: Array,
    dims: tuple[int, ...],
    probabilities: tuple[float, ...],
    method: str,
    skip: bool,
) -> None:
    """The quantiles of elements that are not NaN if `skip`, else NaN where one is NaN."""
    if not probabilities:
        return
    lines = _lines(x[0], tuple(d - 1 for d in dims))
    length = lines.shape[-1]
    if length == 0 or out.size == 0:
        out.fill(np.nan if out.size else 0)
        return
    valid = np.count_nonzero(lines == lines, axis=-1) if lines.dtype.kind == "f" else length
    known: Array = np.broadcast_to(valid, lines.shape[:-1])[..., None]
    last = np.maximum(known - 1, 0)
    at = np.clip(_positions(np.array(probabilities), known, method), 0, last)
    low = np.floor(at).astype(np.intp)
    ordered = _ordered_at(lines, low, last)
    if method in DISCRETE:  # which float64 may not hold
        values = np.take_along_axis(ordered, low, -1)
    else:
        values = _read(ordered, low, last, at - low)
    if lines.dtype.kind == "f":
        values[np.broadcast_to((known == 0) if skip else (known < length), values.shape)] = np.nan
    out[...] = rounded(np.moveaxis(values, -1, 0).reshape(out.shape), out.dtype)


def _lines(x: Array, dims: tuple[int, ...]) -> Array:
    """All elements along `dims` as rows of a matrix: NumPy sorts no more than 32 dimensions."""
    kept = tuple(d for d in range(x.ndim) if d not in dims)
    wide = x.astype(np.float32) if x.dtype.kind == "V" else x  # NumPy sorts bfloat16 otherwise
    count = math.prod(x.shape[d] for d in dims)
    rows = math.prod(x.shape[d] for d in kept)
    return wide.transpose(*kept, *dims).reshape(rows, count)


def _ordered_at(lines: Array, low: Array, last: Array) -> Array:
    """The lines with the elements at `low` and behind it in their places, NaN at the end.

    Few places are found without sorting all: the median of 4 M float32 takes 48 ms so, 150 sorted.
    """
    places = np.unique(np.concatenate([low, np.minimum(low + 1, last)], axis=None))
    if places.size > _FEW:
        return np.sort(lines)
    return np.partition(lines, places, axis=-1) if places.size else lines


def _positions(p: Array, count: Array, method: str) -> Any:
    """Where the quantiles are in lines of `count` elements; a fraction lies between two."""
    if method in CONTINUOUS:
        alpha, beta = CONTINUOUS[method]
        return count * p + (alpha + p * (1 - alpha - beta)) - 1
    return _STEPS[method](p * (count - 1))


def _read(lines: Array, low: Array, last: Array, t: Array) -> Any:
    """The values behind `low` by fractions `t`, in float64: exact at whole places and halfway."""
    a = np.take_along_axis(lines, low, -1).astype(np.float64)
    b = np.take_along_axis(lines, np.minimum(low + 1, last), -1).astype(np.float64)
    between = np.where(t < 0.5, a + (b - a) * t, b - (b - a) * (1 - t))
    halfway = np.where(t == 0.5, a / 2 + b / 2, between)  # no overflow on the way
    return np.where((t == 0) | (a == b), a, halfway)
