"""Conversions from and to types of 8 bits and fewer on the CPU: every one is a look-up in a table.

A byte has 256 contents, so a table says what each becomes. To a narrow type the upper half of a
float32 decides, its last bit set where anything below was lost (rounded to odd): it has 8 bits of
significand, no narrow type more than 5, and what is odd lies on no tie. So the table of its 65,536
contents rounds each number once.

2**20 elements in one thread: float32 to float8_e4m3fn 2.4 ms, ml_dtypes 8.7; back 1.3 and 6.6; to
float4_e2m1fn 2.3 and 11.3; to int4 2.3 and 1.5 (ml_dtypes 0.6.0).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorlayout import dtypes
from tensorlayout.cpu.engine.memory import Array, quietly
from tensorlayout.dtypes import DType


@functools.cache
def values(dtype: DType) -> Array:
    """What each content of a byte is worth in a narrow type: float32, int8 or uint8."""
    octets = np.arange(256, dtype=np.uint8) & _mask(dtype)
    found: Array = octets.view(dtype).astype(dtypes.wider(dtype))
    if np.count_nonzero(np.isnan(found)) == 1:  # which has no sign
        found[np.isnan(found)] = np.nan
    return found


def _mask(dtype: DType) -> np.uint8:
    return np.uint8(2 ** dtypes.bits_of(dtype) - 1)


def decoded(source: Array) -> Array:
    """The values of an array of a narrow type, exactly."""
    return values(source.dtype).take(source.view(np.uint8), mode="clip")


def wrapped(integers: Array, dtype: DType, *, saturate: bool) -> Array:
    """Integers as bytes of a narrow integer type: its low bits, or those of the nearest limit."""
    if saturate:
        least, most = dtypes.limits(dtype)
        found = np.iinfo(integers.dtype)
        integers = np.clip(integers, max(least, found.min), min(most, found.max))
    return integers.astype(np.uint8) & _mask(dtype)


def encoded(singles: Array, dtype: DType, *, saturate: bool) -> Array:
    """Numbers of float32, rounded to odd, as bytes of a narrow type."""
    bits = singles.view(np.uint32)
    halves = (bits >> 16).astype(np.uint16)
    halves |= (bits & 0xFFFF) != 0
    return codes(dtype, saturate).take(halves, mode="clip")


@functools.cache
def codes(dtype: DType, saturate: bool) -> Array:
    """The byte of a narrow type for each upper half of a float32 that is rounded to odd."""
    numbers = (np.arange(1 << 16, dtype=np.uint32) << 16).view(np.float32)
    if dtypes.in_category(dtype, "narrow integer"):
        least, most = dtypes.limits(dtype)
        whole = np.nan_to_num(numbers.clip(least, most), nan=0).astype(np.int8)
        return wrapped(whole, dtype, saturate=False)
    return _nearest(quietly(numbers.astype, np.float64), dtype, saturate)


def _nearest(numbers: Array, dtype: DType, saturate: bool) -> Array:
    """The bytes of floats: the nearest value, ties to even, and what is beyond all values."""
    count = 2 ** dtypes.bits_of(dtype)
    known = values(dtype)[:count].astype(np.float64)
    signed = bool((known < 0).any())
    upwards = known[: count // 2] if signed else known
    steps = upwards[np.isfinite(upwards)]  # the values from the least on, by their code
    largest = len(steps) - 1
    # One more than there is: what is nearer to it, or ties and is even, is out of range.
    following = 2 * steps[-1] - steps[-2] if signed else 2 * steps[-1]
    middles = (steps + np.append(steps[1:], following)) / 2
    sizes = np.abs(numbers)
    found = np.searchsorted(middles, sizes, side="left")
    tied = middles[np.minimum(found, largest)] == sizes
    # Without bits of fraction a significand is 1, which is odd.
    found += tied & ((found % 2 == 1) | (not signed))
    nans = np.flatnonzero(np.isnan(known))
    infinities = np.flatnonzero(np.isinf(known))
    beyond = largest
    if not saturate and len(infinities):
        beyond = int(infinities[0])
    elif not saturate and len(nans):
        beyond = int(nans[0])
    found = np.where(found > largest, beyond, found)
    negative = np.signbit(numbers)
    if not signed:
        found = np.where(negative & (numbers != 0), nans[0], found)
    elif np.isnan(known[count // 2]):  # where -0 would be, is the only NaN
        found = np.where(negative & (found > 0), found | count // 2, found)
    else:
        found = np.where(negative, found | count // 2, found)
    return np.where(np.isnan(numbers), _nan(dtype, nans, negative), found).astype(np.uint8)


def _nan(dtype: DType, nans: Array, negative: Array) -> Any:
    """The bytes of NaNs: ml_dtypes' where the type has any, else those of -0."""
    if not len(nans):
        return 2 ** (dtypes.bits_of(dtype) - 1)
    quiet = np.asarray([np.nan, -np.nan], np.float32).astype(dtype).view(np.uint8)
    return np.where(negative, quiet[1], quiet[0])


def by_table(table: Array) -> Callable[[Array, Array], None]:
    """What writes the entries of a table, by the contents of an array of 1- or 2-byte elements."""
    index = np.dtype(np.uint8 if len(table) == 256 else np.uint16)

    def look_up(destination: Array, source: Array) -> None:
        # In this mode NumPy lets go of the interpreter lock.
        destination[...] = table.take(source.view(index), mode="clip")

    return look_up
