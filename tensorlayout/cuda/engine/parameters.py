"""The structs that kernels take, as ctypes sees them: the same members as in ``kernels/*.cuh``.

A plan packs one once; a launch rewrites pointers and scalars, which come first. Tests hold each
``sizeof`` against the C++ compiler's.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from tensorlayout.layout.loop import index_type as index_type
from tensorlayout.layout.once import once

# As in kernels/indexing.cuh: the rank that no layout exceeds.
MAX_RANK = 64

# Kernels of these ranks have loops of known length; "0" is the kernel of any rank.
RANKS = (1, 2, 3, 4)


class Divisor32(ctypes.Structure):
    """``Divisor<int32_t>``: division by multiplication."""

    _fields_ = (
        ("divisor", ctypes.c_uint32),
        ("magic", ctypes.c_uint32),
        ("shift", ctypes.c_uint32),
    )


class Divisor64(ctypes.Structure):
    """``Divisor<int64_t>``."""

    _fields_ = (("divisor", ctypes.c_int64),)


def divisor32(number: int) -> Divisor32:
    """The constants of ``n / number`` for n below 2**31; 1 <= number < 2**31.

    >>> divisor = divisor32(7)
    >>> ((100 * divisor.magic >> 32) + 100) >> divisor.shift
    14
    """
    shift = (number - 1).bit_length()
    magic = ((1 << 32) * ((1 << shift) - number)) // number + 1
    return Divisor32(number, magic, shift)


@once
def walk_type(rank: int, index: str, memories: int) -> Any:
    """``Walk<rank, index, memories>``; rank 0 for any."""
    capacity = rank or MAX_RANK
    divisor, number = (
        (Divisor32, ctypes.c_int32) if index == "int32_t" else (Divisor64, ctypes.c_int64)
    )
    fields: list[tuple[str, Any]] = [
        ("size", divisor * capacity),
        ("stride", (number * capacity) * memories),
    ]
    if rank == 0:
        fields.append(("rank", number))
    return type("Walk", (ctypes.Structure,), {"_fields_": tuple(fields)})


def walk(index: str, sizes: Sequence[int], strides: Sequence[Sequence[int]]) -> Any:
    """A packed `walk_type`: sizes slowest first, and for each memory its strides."""
    rank = len(sizes) if len(sizes) in RANKS else 0
    made = walk_type(rank, index, len(strides))()
    for d, size in enumerate(sizes):
        made.size[d] = divisor32(size) if index == "int32_t" else Divisor64(size)
    for memory, steps in enumerate(strides):
        made.stride[memory][: len(steps)] = steps
    if rank == 0:
        made.rank = len(sizes)
    return made


def rank_macro(rank: int) -> tuple[str, str]:
    """The macro that picks the kernel for a rank."""
    return "RANK", str(rank if rank in RANKS else 0)
