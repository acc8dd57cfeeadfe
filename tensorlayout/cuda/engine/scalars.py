"""Conversion of Python scalars to the bytes of an element, for launches that take numbers."""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorlayout import dtypes
from tensorlayout.devices import CPU
from tensorlayout.dtypes import DType
from tensorlayout.layout import Layout
from tensorlayout.plan import AssignPlan, backend_of
from tensorlayout.tensor import TensorSpec

_FLOAT, _DOUBLE = struct.Struct("<f"), struct.Struct("<d")
_WORD, _HALF_WORD = struct.Struct("<I"), struct.Struct("<H")
_FLOATS, _DOUBLES = struct.Struct("<2f"), struct.Struct("<2d")


def _bfloat16_bytes(value: float) -> bytes:
    """Return a float rounded once to bfloat16, via float32.

    Rounding to float32 is to odd (towards 0, and the last bit set if inexact), so that it is not a
    second rounding.
    """
    single = _FLOAT.pack(value)
    (bits,), (near,) = _WORD.unpack(single), _FLOAT.unpack(single)
    if near != value:
        bits = bits - (abs(near) > abs(value)) | 1
    # Adding 0x7FFF, or 0x8000 if the last bit that is kept is 1, rounds to nearest, ties to even.
    return _HALF_WORD.pack(bits + 0x7FFF + (bits >> 16 & 1) >> 16)


# Python's own conversion of a number takes 0.2 us, NumPy's 2.3 (2026-11, 2-core AMD EPYC (Zen 4)).
_FORMATS = {np.dtype(form): form for form in "?bhiqBHIQefd"}
_PACKS: dict[DType, Callable[..., bytes]] = {
    **{dtype: struct.Struct("<" + form).pack for dtype, form in _FORMATS.items()},
    dtypes.complex64: lambda value: _FLOATS.pack(value.real, value.imag),
    dtypes.complex128: lambda value: _DOUBLES.pack(value.real, value.imag),
}


@functools.cache
def _number_packer(dtype: DType) -> Callable[..., bytes] | None:
    """Return a function that encodes a number; None for narrow dtypes, which the CPU converts."""
    return None if dtypes.is_narrow_dtype(dtype) else _PACKS.get(dtype, _bfloat16_bytes)


# `struct` converts an integer to double first, so larger integers would be rounded twice.
_EXACT = 2**53


def scalar_bytes(name: str, value: Any, dtype: DType) -> bytes:
    """Return a Python scalar as one element of `dtype`, rounded once.

    Raises OverflowError, with the operation's `name`, for integers that do not fit.
    """
    pack = _number_packer(dtype)
    if pack is not None and (
        type(value) is not int or -_EXACT <= value <= _EXACT or dtype.kind in "iuV"
    ):
        try:
            return pack(value)
        except (struct.error, OverflowError):  # the CPU's conversion gives infinity, or its error
            pass
    kind: type = type(value)
    return _make_host_converter(name, kind, dtype)(value)


# Encodes the numbers among the operands of a call; the result does not count as one.
NumberPacker = Callable[[Sequence[Any]], bytes]


def make_numbers_packer(name: str, numbers: Sequence[tuple[int, DType | None]]) -> NumberPacker:
    """Return a function that encodes the numbers among a call's operands, 16 bytes for each.

    `numbers`: for each entry the operand's index and dtype; dtype None, for a tensor, gives zeros.
    """

    def pack_numbers(operands: Sequence[Any]) -> bytes:
        encoded = [
            b"" if dtype is None else scalar_bytes(name, operands[k], dtype) for k, dtype in numbers
        ]
        return b"".join([number_bytes.ljust(16, b"\0") for number_bytes in encoded])

    only_number = [(k, dtype) for k, dtype in numbers if dtype is not None]
    if len(only_number) != 1 or only_number[0][1] not in _FORMATS:
        return pack_numbers
    # One number, as in x + 1.5, is frequent, and one call of `struct` takes a quarter of the time.
    ((index, dtype),) = only_number
    form = f"{_FORMATS[dtype]}{16 - dtype.itemsize}x"
    pack = struct.Struct("<" + "".join([form if d is dtype else "16x" for _, d in numbers])).pack
    is_exact = dtype.kind != "f"

    def pack_number(operands: Sequence[Any]) -> bytes:
        value = operands[index]
        if is_exact or type(value) is not int or -_EXACT <= value <= _EXACT:
            try:
                return pack(value)
            except (struct.error, OverflowError):
                pass
        return pack_numbers(operands)

    return pack_number


def repeat_to_16_bytes(value: bytes) -> bytes:
    """Return an element repeated to 16 bytes, the size of the scalars of a fill."""
    return value * (16 // max(1, len(value)))


@functools.lru_cache(maxsize=256)
def _make_host_converter(name: str, kind: type, dtype: DType) -> Callable[[Any], bytes]:
    """Return a function that converts a number by the CPU backend's rules."""
    host, scalar_spec = backend_of(CPU), TensorSpec(dtype, Layout.row_major(()), CPU)
    new = host.tensor_allocator(scalar_spec)
    write = host.compile_plan(AssignPlan(name, kind, scalar_spec))

    def scalar_to_parameter_bytes(value: Any) -> bytes:
        number = new()
        write(number, value)
        return host.read_bytes(number).tobytes()

    return scalar_to_parameter_bytes
