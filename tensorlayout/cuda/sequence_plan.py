"""Sequences: values that depend on nothing but the number of the element, in one run of memory.

Which kernel, and the constants of its formula, which are those of NumPy, rounding by rounding. All
values are data: a plan knows a dtype and how many elements there are. Integers and names only.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorlayout.cuda.engine.c_types import c_type
from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.engine.launch import THREADS
from tensorlayout.dtypes import DType

FILE = "sequence.cu"

# As in kernels/sequence.cu.
_PACK = 16
_INTEGERS = struct.Struct("<3Qq")
_REAL = struct.Struct("<Q5dqqq")
_COMPLEX = struct.Struct("<Q7dqq")

# What a sign, and so a zero's too, survives if it is added.
_NOTHING = -0.0


@dataclass(frozen=True, slots=True)
class SequencePlan:
    """A sequence that is ready to run.

    Attributes:
        kernel: what to launch.
        grid: how many blocks; 0 for no elements.
        parameters: what packs the kernel's struct from the values of a call, the address aside,
            which comes first.

    """

    kernel: Kernel
    grid: int
    parameters: Callable[..., bytearray]


def plan_arange(dtype: DType, count: int) -> SequencePlan:
    """How to write ``start + number * step``: ``parameters(start, step)``.

    Integer dtypes take integers alone, and wrap. OverflowError for those that no float is near.
    """
    if dtype.kind in "iu":

        def integers(start: int, step: int) -> bytearray:
            return bytearray(_INTEGERS.pack(0, start % 2**64, step % 2**64, count))

        return _plan("integers", "INTEGER", f"uint{8 * dtype.itemsize}_t", dtype, count, integers)

    def real(start: float, step: float) -> bytearray:
        return _real(count, float(start), float(step))

    return _plan("real", "REAL", _type_of(dtype), dtype, count, real)


def plan_linspace(dtype: DType, count: int) -> SequencePlan:
    """As NumPy's linspace, from and to real numbers: ``parameters(start, stop, endpoint)``."""

    def parameters(start: float, stop: float, endpoint: bool) -> bytearray:
        delta = float(stop) - float(start)
        step, divisor = _step(delta, count, endpoint)
        last = stop if endpoint and count > 1 else None
        return _real(count, float(start), step, divisor=divisor, last=last)

    return _plan("real", "REAL", _type_of(dtype), dtype, count, parameters)


def plan_complex_linspace(dtype: DType, count: int) -> SequencePlan:
    """As `plan_linspace`, where a number is complex, for a complex dtype."""

    def parameters(start: complex, stop: complex, endpoint: bool) -> bytearray:
        first, last = np.complex128(start), np.complex128(stop)
        with np.errstate(all="ignore"):  # NumPy's division is not rounded as Python's
            step, divisor = _step(last - first, count, endpoint)
        end = count - 1 if endpoint and count > 1 else -1
        numbers = (part for number in (first, step, last) for part in (number.real, number.imag))
        return bytearray(_COMPLEX.pack(0, *numbers, 1 / divisor, end, count))

    return _plan("complex", "COMPLEX", _type_of(dtype), dtype, count, parameters)


def plan_frequencies(dtype: DType, count: int) -> SequencePlan:
    """The numbers over ``size * spacing``: ``parameters(size, spacing, negative)``.

    `negative`: whether the latter half has negative frequencies.
    """

    def parameters(size: int, spacing: float, negative: bool) -> bytearray:
        turn = (size + 1) // 2 if negative else count
        # Times 1, and nothing added: the quotient to the bit.
        return _real(count, _NOTHING, 1.0, divisor=size * spacing, back=float(size), turn=turn)

    return _plan("real", "REAL", _type_of(dtype), dtype, count, parameters)


def _step(delta: Any, count: int, endpoint: bool) -> tuple[Any, float]:
    """What to multiply numbers by, after a division of them where steps are too small for that."""
    steps = count - 1 if endpoint else count
    if steps <= 0:
        return delta, 1.0
    step = delta / steps
    return (step, 1.0) if step != 0 else (delta, float(steps))


def _real(
    count: int,
    start: float,
    step: float,
    *,
    divisor: float = 1.0,
    back: float = 0.0,
    turn: int | None = None,
    last: float | None = None,
) -> bytearray:
    """``Real`` of kernels/sequence.cu."""
    turn = count if turn is None else turn
    end = -1 if last is None else count - 1
    numbers = (start, step, divisor, back, 0.0 if last is None else last)
    return bytearray(_REAL.pack(0, *numbers, turn, end, count))


def _plan(
    name: str, macro: str, type_name: str, dtype: DType, count: int, parameters: Any
) -> SequencePlan:
    kernel = Kernel(FILE, f"sequence_{name}", shape=((macro, type_name),))
    length = _PACK // dtype.itemsize
    packs = 4 // length if length < 4 else 1  # of a thread
    blocks = -(-(count // length) // (THREADS * packs))
    return SequencePlan(kernel, max(blocks, 1) if count else 0, parameters)


def _type_of(dtype: DType) -> str:
    """What the kernels call a dtype; of complex ones the bare name, as it is part of a symbol."""
    return dtype.name if dtype.kind == "c" else c_type(dtype)


def kernels() -> tuple[Kernel, ...]:
    """All that a plan may ask for."""
    unsigned = [f"uint{bits}_t" for bits in (8, 16, 32, 64)]
    signed = [name[1:] for name in unsigned]
    pairs = ["complex64", "complex128"]
    real = [*signed, *unsigned, "half", "bfloat16", "float", "double", *pairs]
    macros = {
        "integers": ("INTEGER", unsigned),
        "real": ("REAL", real),
        "complex": ("COMPLEX", pairs),
    }
    return tuple(
        Kernel(FILE, f"sequence_{name}", shape=((macro, each),))
        for name, (macro, types) in macros.items()
        for each in types
    )
