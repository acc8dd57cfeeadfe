"""Conversions between dtypes, defined on plain arrays."""

import narrow_values
import numpy as np
from tensors import BFLOAT16, as_dtype, kind

# What two dtypes promote to; beyond the standard's tables, what NumPy says, and rows for bfloat16.
PROMOTION = """
      bool i8   i16  i32  i64  u8   u16  u32  u64  f16  bf16 f32  f64  c64  c128
bool  bool i8   i16  i32  i64  u8   u16  u32  u64  f16  bf16 f32  f64  c64  c128
i8    i8   i8   i16  i32  i64  i16  i32  i64  f64  f16  bf16 f32  f64  c64  c128
i16   i16  i16  i16  i32  i64  i16  i32  i64  f64  f32  f32  f32  f64  c64  c128
i32   i32  i32  i32  i32  i64  i32  i32  i64  f64  f64  f64  f64  f64  c128 c128
i64   i64  i64  i64  i64  i64  i64  i64  i64  f64  f64  f64  f64  f64  c128 c128
u8    u8   i16  i16  i32  i64  u8   u16  u32  u64  f16  bf16 f32  f64  c64  c128
u16   u16  i32  i32  i32  i64  u16  u16  u32  u64  f32  f32  f32  f64  c64  c128
u32   u32  i64  i64  i64  i64  u32  u32  u32  u64  f64  f64  f64  f64  c128 c128
u64   u64  f64  f64  f64  f64  u64  u64  u64  u64  f64  f64  f64  f64  c128 c128
f16   f16  f16  f32  f64  f64  f16  f32  f64  f64  f16  f32  f32  f64  c64  c128
bf16  bf16 bf16 f32  f64  f64  bf16 f32  f64  f64  f32  bf16 f32  f64  c64  c128
f32   f32  f32  f32  f64  f64  f32  f32  f64  f64  f32  f32  f32  f64  c64  c128
f64   f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  c128 c128
c64   c64  c64  c64  c128 c128 c64  c64  c128 c128 c64  c64  c64  c128 c64  c128
c128  c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128
"""
LONG = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64"
SHORT = dict(zip(PROMOTION.split()[:15], [*LONG.split(), "complex64", "complex128"], strict=True))
PAIRS = [
    tuple(SHORT[short] for short in (row.split()[0], column, row.split()[1 + at]))
    for row in PROMOTION.strip().split("\n")[1:]
    for at, column in enumerate(PROMOTION.split()[:15])
]
PROMOTED = {(a, b): c for a, b, c in PAIRS}


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
        result = np.zeros(array.shape, dtype)
        inside = (wide > float(limits.min) - 1) & (wide < float(limits.max + 1))
        result[inside] = np.trunc(wide[inside]).astype(dtype)
        result[wide >= float(limits.max + 1)] = limits.max
        result[wide <= float(limits.min) - 1] = limits.min
        return result
    if dtype == BFLOAT16 and array.dtype.itemsize >= 4 and kind(array.dtype) in "iuf":
        return _rounded_once(array)
    return array.astype(dtype)


def _values(array):
    """Return values of a narrow type in a type that represents all of them: float64 or int64."""
    name = array.dtype.name
    values = [narrow_values.number_of(name, c) for c in range(256)]
    table = np.array(values, np.int64 if "int" in name else np.float64)
    return table[array.view(np.uint8)]


def _contents(array, dtype):
    """Numbers as a narrow type holds them, one by one in exact arithmetic."""
    wide = array if array.dtype.kind in "biu" else array.astype(np.float64)
    results = [
        narrow_values.content_of(dtype.name, int(n) if wide.dtype.kind in "biu" else n, False)
        for n in wide.ravel().tolist()
    ]
    return np.array(results, np.uint8).reshape(array.shape).view(dtype)


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
