"""Specs for memory that other libraries describe by sizes and byte strides."""

from __future__ import annotations

import functools
import math
import sys

from tensorlayout.devices import CPU, Device
from tensorlayout.dtypes import DType, as_dtype
from tensorlayout.layout import Layout, slots
from tensorlayout.tensor import TensorSpec

# Addresses that a program can have: on 64-bit systems the upper half belongs to the kernel.
_ADDRESSES = 2**63 if sys.maxsize > 2**32 else 2**32


@functools.lru_cache(maxsize=1024)
def spec_of_strides(
    dtype: DType, shape: tuple[int, ...], byte_strides: tuple[int, ...], device: Device = CPU
) -> TensorSpec | None:
    """Return the spec for strides in **bytes**; None if they are no multiples of an element.

    Dimensions of size 1, whose stride is arbitrary, get the one that continues the next dimension.
    """
    kind = as_dtype(dtype)
    if kind != dtype or any(
        s % kind.itemsize for s, n in zip(byte_strides, shape, strict=True) if n > 1
    ):
        return None
    # Nothing is read through the strides of an empty array, so other libraries pass any.
    if 0 in shape:
        return TensorSpec(kind, Layout.row_major(shape), device)
    strides = slots.fill_unit_dim_strides(shape, [step // kind.itemsize for step in byte_strides])
    lowest, _ = slots.lowest_and_highest_slot(shape, slots.strides_to_parts(shape, strides), 0)
    return TensorSpec(kind, Layout(shape, strides, offset=-lowest), device)


def row_major_byte_strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Return row-major strides in **bytes**."""
    strides = slots.packed_strides(shape, range(len(shape) - 1, -1, -1))
    return tuple([stride * itemsize for stride in strides])


def byte_address_range(
    address: int, itemsize: int, shape: tuple[int, ...], byte_strides: tuple[int, ...]
) -> tuple[int, int]:
    """Return the address of the lowest byte of the elements, and the one after the highest.

    `address`: of the element at index (0, …, 0). Raises BufferError if no such memory can exist.
    """
    # Bytes take the place of slots here: strides in bytes, and the address as the offset.
    low, high = slots.lowest_and_highest_slot(
        shape, slots.strides_to_parts(shape, byte_strides), address
    )
    if math.prod(n or 1 for n in shape) * itemsize > sys.maxsize:
        msg = f"elements of {itemsize} bytes in {len(shape)} dimensions, more than can be counted"
        raise BufferError(msg)
    if 0 not in shape:
        high += itemsize
        if low == 0:
            raise BufferError("elements at address 0, where no memory is")
    if low < 0 or high > _ADDRESSES or (0 not in shape and high - low > sys.maxsize):
        msg = (
            f"elements from address {_format_address(low)} to {_format_address(high)}, where "
            "no memory can be"
        )
        raise BufferError(msg)
    return low, high


def _format_address(address: int) -> str:
    bits = address.bit_length()
    return f"{address:#x}" if bits <= 128 else f"{'-' * (address < 0)}2**{bits - 1} and more"
