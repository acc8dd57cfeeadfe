"""Reductions and scans as NumPy has them, worked out in the widest dtype of a kind."""

import numpy as np
from tensors import BFLOAT16, host, kind

# name: NumPy's function, the dtypes in the standard's words
REDUCTIONS = {
    "sum": (np.sum, "any"),
    "prod": (np.prod, "any"),
    "min": (np.min, "real numeric"),
    "max": (np.max, "real numeric"),
    "mean": (np.mean, "floating-point"),
    "var": (np.var, "real floating"),
    "std": (np.std, "real floating"),
    "all": (np.all, "any"),
    "any": (np.any, "any"),
    "count_nonzero": (np.count_nonzero, "any"),
}
SCANS = {"cumulative_sum": (np.add, 0), "cumulative_prod": (np.multiply, 1)}
WIDE = {"f": np.float64, "c": np.complex128, "u": np.uint64}


def wide(dtype):
    return WIDE.get(kind(dtype), np.int64)


def result_dtype(name, dtype):
    """The dtype of a reduction that skips NaN, or of a median."""
    if kind(dtype) in "fc":
        return dtype
    if "sum" in name or "prod" in name:
        return np.dtype(np.uint64 if kind(dtype) == "u" else np.int64)
    return dtype if name in ("nanmin", "nanmax") else np.dtype(np.float64)


def reduced_by_numpy(name, array, **arguments):
    """NumPy's answer, rounded to the dtype of the result at the end."""
    dtype = array.dtype
    if name == "count_nonzero":
        return host(np.sum(array != 0, dtype=np.int64, **arguments))
    if name in ("min", "max", "all", "any"):
        floats = array.astype(np.float32) if dtype == BFLOAT16 else array
        result = REDUCTIONS[name][0](floats, **arguments)
        return host(result).astype(bool if name in ("all", "any") else dtype)
    with np.errstate(all="ignore"):
        result = REDUCTIONS[name][0](array.astype(wide(dtype)), **arguments)
        return host(result).astype(dtype if kind(dtype) in "fc" else wide(dtype))


def scanned_by_numpy(name, array, axis, initial, dtype=None):
    """Running sums or products, rounded to the dtype of the result at the end."""
    ufunc, start = SCANS[name]
    dtype = dtype or (array.dtype if kind(array.dtype) in "fc" else wide(array.dtype))
    with np.errstate(all="ignore"):
        result = ufunc.accumulate(array.astype(wide(array.dtype)), axis)
        if initial:
            shape = [1 if d == axis % array.ndim else n for d, n in enumerate(array.shape)]
            result = np.concatenate([np.full_like(result, start, shape=shape), result], axis)
        return result.astype(dtype)
