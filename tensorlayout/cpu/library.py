"""Library calls on the CPU: NumPy, through array-api-compat where NumPy means something else."""

from __future__ import annotations

import functools
import importlib
from typing import Any

import numpy as np

from tensorlayout import dtypes
from tensorlayout.cpu.memory import Array, quietly, tensor_over
from tensorlayout.dtypes import DType
from tensorlayout.plan import Run
from tensorlayout.plan.library import LibraryPlan
from tensorlayout.tensor import Tensor


def prepare(plan: LibraryPlan) -> Run:
    """The library gets strided arrays; each array that it gives becomes a row-major tensor.

    16-bit floats, which LAPACK and the transforms do not have, go in as float32, and what comes
    out is rounded once to the operands' dtype (complex results stay complex64).
    """
    function, static = plan.operation.numpy, plan.static
    half = dtypes.in_category(plan.dtype, "real floating") and plan.dtype.itemsize == 2
    work = dtypes.float32 if half else plan.dtype

    def call(*operands: Tensor) -> Any:
        arrays = [x._memory.astype(work, copy=False) for x in operands]
        found = quietly(function, *arrays, *static)
        narrow = plan.dtype if half else None
        if isinstance(found, tuple):
            return tuple(_tensor(array, narrow) for array in found)
        return _tensor(found, narrow)

    return call


def _tensor(found: Any, narrow: DType | None) -> Tensor:
    array: Array = np.asarray(found)
    if narrow is not None and array.dtype in (np.float32, np.float64):
        array = array.astype(narrow)
    wrapped = tensor_over(np.array(array, order="C", copy=None))
    assert wrapped is not None
    return wrapped


@functools.cache
def compat() -> Any:
    """array-api-compat's NumPy, imported when first needed: it takes as long as NumPy itself."""
    return importlib.import_module("array_api_compat.numpy")


def _without_nan_merging(x: Array) -> Any:
    """The sorted distinct values; every NaN counts as distinct, as the standard says."""
    return np.unique(x, return_index=True, return_inverse=True, return_counts=True, equal_nan=False)


def unique_all(x: Array) -> tuple[Array, ...]:
    """Values, first indices, inverse, counts."""
    values, indices, inverse, counts = _without_nan_merging(x)
    return values, indices, inverse.reshape(x.shape), counts


def unique_counts(x: Array) -> tuple[Array, ...]:
    """Values and counts."""
    values, counts = np.unique(x, return_counts=True, equal_nan=False)
    return values, counts


def unique_inverse(x: Array) -> tuple[Array, ...]:
    """Values and, for each element, the position of its value."""
    values, inverse = np.unique(x, return_inverse=True, equal_nan=False)
    return values, inverse.reshape(x.shape)


def unique_values(x: Array) -> Array:
    """The distinct values."""
    return np.unique(x, equal_nan=False)


def isin(x: Array, of: Array) -> Array:
    """Whether each element occurs in `of`; NaN never does."""
    return np.isin(x, of)


def searchsorted(x: Array, values: Array, side: Any) -> Array:
    """Where `values` would go into the sorted `x`."""
    return np.asarray(np.searchsorted(x, values, side), np.int64)


def nonzero(x: Array) -> tuple[Array, ...]:
    """The indices of nonzero elements, one array a dimension."""
    return np.nonzero(x)
