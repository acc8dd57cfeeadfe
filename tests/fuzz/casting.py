"""What conversions between dtypes mean, on plain arrays."""

import numpy as np
import test_data_types
import test_narrow
from tensors import BFLOAT16, as_dtype, kind

PROMOTED = {(a, b): c for a, b, c in test_data_types.PAIRS}


def promoted(*names):
    """The dtype that several promote to, by name."""
    first, *others = names
    for other in others:
        first = PROMOTED[first, other]
    return first


def with_scalar(name, scalar):
    """The dtype of an operation between a dtype and a Python scalar."""
    rank = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}
    have, want = rank[kind(as_dtype(name))], rank[np.dtype(type(scalar)).kind]
    if want <= have:
        return name
    if want == 3 and have == 2:
        return "complex128" if name == "float64" else "complex64"
    return np.dtype(type(scalar)).name


def cast(array, name):
    """`array` in another dtype: floats cut towards 0 and to the range, NaN 0; integers wrap."""
    dtype = as_dtype(name)
    if array.dtype == dtype:
        return array.copy()
    if kind(array.dtype) == "n":
        return cast(_values(array), name)
    if kind(dtype) == "n":
        return _contents(array, dtype)
    if dtype.kind == "b":
        return np.asarray(array != 0)
    if kind(array.dtype) == "f" and dtype.kind in "iu":
        limits, wide = np.iinfo(dtype), array.astype(np.float64)
        found = np.zeros(array.shape, dtype)
        inside = (wide > float(limits.min) - 1) & (wide < float(limits.max + 1))
        found[inside] = np.trunc(wide[inside]).astype(dtype)
        found[wide >= float(limits.max + 1)] = limits.max
        found[wide <= float(limits.min) - 1] = limits.min
        return found
    if dtype == BFLOAT16 and array.dtype.itemsize >= 4 and kind(array.dtype) in "iuf":
        return _rounded_once(array)
    return array.astype(dtype)


def _values(array):
    """What a narrow type holds, in a type that holds all of it: float64, or int64."""
    name = array.dtype.name
    values = [test_narrow.number_of(name, c) for c in range(256)]
    table = np.array(values, np.int64 if "int" in name else np.float64)
    return table[array.view(np.uint8)]


def _contents(array, dtype):
    """Numbers as a narrow type holds them, one by one in exact arithmetic."""
    wide = array if array.dtype.kind in "biu" else array.astype(np.float64)
    found = [
        test_narrow.content_of(dtype.name, int(n) if wide.dtype.kind in "biu" else n, False)
        for n in wide.ravel().tolist()
    ]
    return np.array(found, np.uint8).reshape(array.shape).view(dtype)


def _rounded_once(array):
    """To bfloat16 by a float32 that is rounded to odd, so that the second rounding is right."""
    if array.dtype.kind in "iu":
        array = _odd_beyond(array)
    wide = array.astype(np.float64)
    near = wide.astype(np.float32)
    inexact = np.isfinite(wide) & np.isfinite(near) & (near != wide)
    beyond = np.abs(near) > np.abs(wide)
    cut = np.where(inexact & beyond, np.nextafter(near, np.float32(0)), near)
    odd = np.where(inexact, cut.view(np.uint32) | 1, cut.view(np.uint32)).astype(np.uint32)
    return odd.view(np.float32).astype(BFLOAT16).reshape(array.shape)


def _odd_beyond(array):
    """Integers as float64, exactly: of large ones the last bits are one that says if any was 1."""
    size = np.where(array < 0, ~array.astype(np.uint64) + np.uint64(1), array.astype(np.uint64))
    power = np.zeros(array.shape, np.int64)
    while (large := size >> np.uint64(40) != 0).any():
        size = np.where(large, size >> np.uint64(1) | size & np.uint64(1), size)
        power += large
    return np.ldexp(np.where(array < 0, -1.0, 1.0) * size.astype(np.float64), power)
