"""Conversions between dtypes on the CPU: one rule per pair of dtypes, in all code paths.

Floats are truncated to integers; out of range they become the nearest limit, and NaN becomes 0.
Conversions to bfloat16 and to narrow types round once. All others are NumPy's.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorlayout import dtypes
from tensorlayout.cpu.engine import sharing
from tensorlayout.cpu.engine.memory import Array, call_quietly
from tensorlayout.dtypes import DType

Convert = Callable[[Array, Array], None]  # convert(destination, source)


def make_converter(from_dtype: DType, to_dtype: DType, saturate: bool = False) -> Convert | None:
    """Return a converter between two dtypes; None if they are equal.

    With `saturate`, values out of range of a narrow type become its limits.
    """
    if from_dtype == to_dtype:
        return None
    by_block = _block_converter(from_dtype, to_dtype, saturate)
    if by_block is None:
        return lambda destination, source: call_quietly(np.copyto, destination, source, "unsafe")
    return lambda destination, source: call_quietly(
        _convert_in_blocks, by_block, destination, source
    )


def can_numpy_convert(from_dtype: DType, to_dtype: DType) -> bool:
    """Return whether the dtypes are equal or NumPy's own conversion follows our rules."""
    return from_dtype == to_dtype or _block_converter(from_dtype, to_dtype) is None


def convert_array(source: Array, dtype: DType) -> Array:
    """Return `source`, or a copy in another dtype with the same order of dimensions in memory."""
    convert = make_converter(source.dtype, dtype)
    if convert is None:
        return source
    result = np.empty_like(source, dtype, subok=False)
    convert(result, source)
    return result


def scalar_as_array(name: str, dtype: DType, value: Any) -> Array:
    """Return a Python scalar as a rank-0 array; raise OverflowError if an integer does not fit."""
    try:
        return call_quietly(_convert_scalar, dtype, value)
    except OverflowError:
        raise dtypes.integer_overflow_error(value, dtype) from None


def directly_converted_range(dtype: DType, kind: type) -> tuple[float, float]:
    """Return the range of scalars of type `kind` that NumPy converts as `scalar_as_array` does.

    It is (0, -1), an empty range, if there are none.
    """
    if kind is int and dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return int(limits.min), int(limits.max)
    if kind in (int, float) and dtype.kind == "f" and not dtypes.is_narrow_dtype(dtype):
        most = float(np.finfo(dtype).max)
        return (-most, most) if kind is float else (-min(most, WHOLE), min(most, WHOLE))
    return 0, -1


def make_scalar_converter(name: str, dtype: DType, kind: type) -> Callable[[Any], Any]:
    """Return `scalar_as_array` for scalars of one type, with a fast path for most of them."""
    (least, most), make = directly_converted_range(dtype, kind), dtype.type
    if least > most:
        return functools.partial(scalar_as_array, name, dtype)
    return lambda value: (
        make(value) if least <= value <= most else scalar_as_array(name, dtype, value)
    )


def _convert_scalar(dtype: DType, value: Any) -> Array:
    if dtypes.is_narrow_dtype(dtype):
        if type(value) is int:
            if dtypes.is_in_category(dtype, "narrow integer"):
                least, most = dtypes.integer_limits(dtype)
                if not least <= value <= most:
                    raise OverflowError
            value = int_to_odd_float(value)
        return convert_array(np.asarray(value, np.float64), dtype)
    if type(value) is int and dtype.kind in "fcV" and dtype not in _DOUBLE:
        value = int_to_odd_float(value)
    # A value that float32 holds exactly is rounded only once, by NumPy.
    if dtypes.is_bfloat16(dtype) and float(np.float32(value)) == value:
        return np.asarray(float(value), dtype)
    if dtypes.is_bfloat16(dtype) or (type(value) is float and dtype.kind in "iu"):
        return convert_array(np.asarray(value, np.float64), dtype)
    return np.asarray(value, dtype)


_DOUBLE = (dtypes.float64, dtypes.complex128)  # Python itself rounds integers to these


def normalize_bools(array: Array) -> Array:
    """Return bools as bytes 0 and 1, on which NumPy relies; any non-zero byte is True."""
    return np.asarray(array.view(np.uint8) != 0)


WHOLE = 2**53  # float64 holds all integers up to here


def int_to_odd_float(number: int) -> float:
    """Return an integer as float, rounded to odd, so that a narrower float is rounded only once."""
    excess = max(0, number.bit_length() - 53)
    significand = abs(number) >> excess
    significand |= significand << excess != abs(number)
    return math.ldexp(significand if number >= 0 else -significand, excess)


def round_before_bfloat16(array: Array, dtype: DType) -> Array:
    """Round to odd float32 if `dtype` is bfloat16: the conversion to it is then rounded correctly.

    NumPy converts to bfloat16 through float32, which would round twice.
    """
    return (
        round_to_odd_float32(array)
        if dtypes.is_bfloat16(dtype) and _has_values_inexact_in_float32(array.dtype)
        else array
    )


def round_to_odd_float32(array: Array) -> Array:
    """Return numbers as float32 rounded to odd: the last bit is set if anything was lost.

    An odd number is never a tie, so a second rounding to a narrower type is correct.
    """
    if not _has_values_inexact_in_float32(array.dtype):
        return array.astype(np.float32)
    wide: Array = array.astype(np.float64, copy=False)
    if array.dtype.kind in "iu" and array.itemsize == 8:  # float64 may not hold these: round to odd
        odd = (array >> 11 | (array & 2047 != 0)) << 11
        np.copyto(wide, odd, "unsafe", where=np.abs(wide) >= 2.0**53)
    single: Array = wide.astype(np.float32)
    bits = single.view(np.uint32)
    bits -= np.abs(single) > np.abs(wide)
    bits |= single != wide
    return single


def _has_values_inexact_in_float32(dtype: DType) -> bool:
    """Return whether float32 does not hold all values of a real dtype."""
    return dtype == np.float64 or (dtype.kind in "iu" and dtype.itemsize >= 4)


# --- block by block ----------------------------------------------------------------------------

_EXACT = 2**24  # up to which float32 holds every integer


def _block_converter(from_dtype: DType, to_dtype: DType, saturate: bool = False) -> Convert | None:
    """Return a converter for a block that fits the cache; None if NumPy follows our rules."""
    if dtypes.is_narrow_dtype(from_dtype) or dtypes.is_narrow_dtype(to_dtype):
        if from_dtype.itemsize <= 2:
            table = _conversion_table(from_dtype, to_dtype, saturate)
            index = f"u{from_dtype.itemsize}"
            # With mode="clip" NumPy releases the interpreter lock.
            return lambda target, origin: np.copyto(
                target, table.take(origin.view(index), mode="clip")
            )
        return functools.partial(_convert_to_narrow, saturate)
    if from_dtype.kind in "fV" and to_dtype.kind in "iu":
        return _truncate_and_saturate_to_integers
    if dtypes.is_bfloat16(to_dtype) and _has_values_inexact_in_float32(from_dtype):
        return _convert_to_bfloat16
    if dtypes.is_bfloat16(to_dtype) and from_dtype == dtypes.bool:
        return lambda destination, source: np.copyto(destination, normalize_bools(source), "unsafe")
    return None


@functools.cache
def _conversion_table(from_dtype: DType, to_dtype: DType, saturate: bool) -> Array:
    """Return the result for every bit pattern of a 1- or 2-byte dtype; one dtype is narrow."""
    every = np.arange(256**from_dtype.itemsize).astype(f"u{from_dtype.itemsize}").view(from_dtype)
    if dtypes.is_narrow_dtype(from_dtype):
        every = decode_narrow(every)
    elif from_dtype == dtypes.bool:
        every = normalize_bools(every).view(np.uint8)
    if not dtypes.is_narrow_dtype(to_dtype):
        return convert_array(every, to_dtype)
    table = np.empty(every.shape, to_dtype)
    _convert_to_narrow(saturate, table, every)
    return table


def _convert_to_narrow(saturate: bool, destination: Array, source: Array) -> None:
    """Convert numbers of an ordinary dtype to a narrow one."""
    dtype = destination.dtype
    if source.dtype.kind in "iu" and dtypes.is_in_category(dtype, "narrow integer"):
        codes = _encode_narrow_integers(source, dtype, saturate=saturate)
    else:
        codes = encode_narrow(round_to_odd_float32(source), dtype, saturate=saturate)
    destination.view(np.uint8)[...] = codes


def _convert_in_blocks(convert: Convert, destination: Array, source: Array) -> None:
    """Convert in blocks, so that the test of their range and the conversion share the cache.

    4 M float32 to int16 take 1.9, 1.6, 1.3 and 1.2 ms in blocks of 256 KB, 512 KB, 1 MB and 2 MB;
    padded rows take 1.8 ms in place and 2.7 through buffers.
    """
    room = 2 * sharing.BLOCK_BYTES // max(source.itemsize, destination.itemsize)
    if destination.size <= room:
        convert(destination, source)
        return
    minor_to_major = sorted(range(destination.ndim), key=lambda d: abs(destination.strides[d]))
    for box in sharing.slab_boxes(destination.shape, minor_to_major, room):
        convert(destination[box], source[box])


def _convert_to_bfloat16(destination: Array, source: Array) -> None:
    whole = source.dtype.kind in "iu" and source.size
    if whole and source.max() <= _EXACT and (source.dtype.kind == "u" or source.min() >= -_EXACT):
        np.copyto(destination, source, "unsafe")
    else:
        np.copyto(destination, round_before_bfloat16(source, destination.dtype), "unsafe")


def _truncate_and_saturate_to_integers(destination: Array, source: Array) -> None:
    """Truncate floats to integers; saturate those out of range, NaN gives 0."""
    limits = np.iinfo(destination.dtype)
    ends = limits.min, limits.max
    if source.size == 0 or _is_in_integer_range(source, limits):
        np.copyto(destination, source, "unsafe")
        return
    if source.dtype.kind == "f" and all(float(source.dtype.type(n)) == n for n in ends):
        near = np.asarray(source.clip(*ends))
        np.copyto(near, 0, where=np.isnan(near))
        np.copyto(destination, near, "unsafe")
        return
    wide = source.astype(np.float64)
    above, below = wide >= float(limits.max), wide <= float(limits.min)
    np.copyto(destination, np.where(above | below | np.isnan(wide), 0, wide), "unsafe")
    destination[above] = limits.max
    destination[below] = limits.min


def _is_in_integer_range(source: Array, limits: Any) -> bool:
    """Return whether all truncated floats are within the limits; False if there is a NaN."""
    least, most = float(limits.min) - 1, float(limits.max) + 1
    # Bits of non-negative floats increase with their values; negative floats and NaN have larger
    # bits. So one pass over the bits tests both limits.
    if limits.min == 0:
        bits = source.view(f"u{source.itemsize}")
        if np.maximum.reduce(bits, None) < np.asarray(most, source.dtype).view(bits.dtype):
            return True
    return bool(np.minimum.reduce(source, None) > least and np.maximum.reduce(source, None) < most)


# --- narrow types (8 bits and fewer): every conversion is a table look-up ---

# From a narrow type, a table has the value of each of the 256 bytes. To a narrow type, the table
# has 65536 entries, one per upper half of a float32. The upper half is rounded to odd: its last bit
# is set if any lower bit was. It has 8 bits of significand, narrow types have at most 5, and an odd
# number is never a tie; so each number is rounded once.
#
# 2**20 elements in one thread: float32 to float8_e4m3fn 2.4 ms, ml_dtypes 8.7; back 1.3 and 6.6; to
# float4_e2m1fn 2.3 and 11.3; to int4 2.3 and 1.5 (ml_dtypes 0.6.0).


@functools.cache
def narrow_values_table(dtype: DType) -> Array:
    """Return the value of each byte of a narrow type, as float32, int8 or uint8."""
    octets = np.arange(256, dtype=np.uint8) & _used_bits_mask(dtype)
    values: Array = octets.view(dtype).astype(dtypes.computing_dtype(dtype))
    if np.count_nonzero(np.isnan(values)) == 1:  # a type's only NaN has no sign
        values[np.isnan(values)] = np.nan
    return values


def _used_bits_mask(dtype: DType) -> np.uint8:
    return np.uint8(2 ** dtypes.value_bits(dtype) - 1)


def decode_narrow(source: Array) -> Array:
    """Return the exact values of an array of a narrow type."""
    return narrow_values_table(source.dtype).take(source.view(np.uint8), mode="clip")


def _encode_narrow_integers(integers: Array, dtype: DType, *, saturate: bool) -> Array:
    """Return integers as bytes of a narrow integer type, wrapped or saturated."""
    if saturate:
        least, most = dtypes.integer_limits(dtype)
        source_limits = np.iinfo(integers.dtype)
        integers = np.clip(integers, max(least, source_limits.min), min(most, source_limits.max))
    return integers.astype(np.uint8) & _used_bits_mask(dtype)


def encode_narrow(singles: Array, dtype: DType, *, saturate: bool) -> Array:
    """Return float32 numbers that are rounded to odd as bytes of a narrow type."""
    bits = singles.view(np.uint32)
    halves = (bits >> 16).astype(np.uint16)
    halves |= (bits & 0xFFFF) != 0
    return _float32_to_narrow_table(dtype, saturate).take(halves, mode="clip")


@functools.cache
def _float32_to_narrow_table(dtype: DType, saturate: bool) -> Array:
    """Return the table from the upper 16 bits of a float32 to the narrow dtype's byte.

    It rounds as ml_dtypes does, except for NaN in types without NaN, and near 2**-127 in
    float8_e8m0fnu.
    """
    numbers = (np.arange(1 << 16, dtype=np.uint32) << 16).view(np.float32)
    if dtypes.is_in_category(dtype, "narrow integer"):
        least, most = dtypes.integer_limits(dtype)
        whole = np.nan_to_num(numbers.clip(least, most), nan=0).astype(np.int8)
        return _encode_narrow_integers(whole, dtype, saturate=False)
    values = narrow_values_table(dtype)
    finite = values[np.isfinite(values)]
    clipped = numbers.clip(-finite.max(), finite.max()) if saturate else numbers
    codes: Array = call_quietly(clipped.astype, dtype).view(np.uint8)
    if not np.isnan(values).any():
        codes[np.isnan(numbers)] = 2 ** (dtypes.value_bits(dtype) - 1)  # -0
    if finite.min() > 0:
        codes[(numbers >= 0) & (numbers < 1.5 * finite.min())] = 0
    return codes


# --- 16-bit floats: exact float32 copies, because NumPy has no fast loops for them ---

# Shifted left by 13, the 5 exponent bits of a float16 are the low exponent bits of a float32, with
# a bias of 15 instead of 127: the value is too small by this factor.
_REBIAS = np.float32(2.0**112)
_SIGN_AND_REST = np.int32(-0x70002000)  # bit 31, and bits 13 to 27
_BEYOND = np.float32(65536)  # infinities and NaN of float16 become at least this large


def is_half_float(dtype: DType) -> bool:
    """Return whether a dtype is float16 or bfloat16."""
    return dtype.itemsize == 2 and dtype.kind in "fV"


def widen_to_float32(x: Array) -> Array:
    """Return a row-major float32 copy of 16-bit floats: 0.29 ns per element, NumPy takes 1.5."""
    result = np.empty(x.shape, np.float32)
    if x.dtype.kind == "V":
        result[...] = x
        return result
    bits = result.view(np.int32)
    bits[...] = x.view(np.int16)  # sign extension fills the upper half
    np.left_shift(bits, 13, bits)
    np.bitwise_and(bits, _SIGN_AND_REST, bits)
    np.multiply(result, _REBIAS, result)
    if result.size and (result.max() >= _BEYOND or result.min() <= -_BEYOND):
        result[...] = x
    return result
