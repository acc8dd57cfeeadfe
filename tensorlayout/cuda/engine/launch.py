"""A launch as a plan makes it: the kernel, the grid, the packed struct and where pointers go."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any

from tensorlayout.cuda.engine.driver import Kernel

THREADS = 256

# Elements (or packs of them) that a thread moves, as in kernels/copy.cu and fill.cu.
PER_THREAD = 4

# Elements that a block of a kernel without tiles moves.
BLOCK = PER_THREAD * THREADS


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch, ready but for addresses and scalars.

    Attributes:
        kernel: what to compile.
        grid: how many blocks.
        parameters: the struct, with zeros where pointers and scalars go.
        firsts: for each pointer, in order, the bytes from the lowest slot to what it points to.

    """

    kernel: Kernel
    grid: int
    parameters: bytes = field(repr=False)
    firsts: tuple[int, ...]


def struct_type(name: str, **members: Any) -> Any:
    """A ctypes struct of these members, in order."""
    return type(name, (ctypes.Structure,), {"_fields_": tuple(members.items())})


def blocks_for(count: int) -> int:
    """How many blocks move `count` elements."""
    return -(-count // BLOCK)


def blocks_of_packs(threads: int, pack: int) -> int:
    """How many blocks have `threads` in all, each with several turns where packs are small.

    As ``PACKS`` of kernels/elementwise.cu and kernels/band.cu.
    """
    return -(-threads // (THREADS * (4 // pack if pack < 4 else 1)))
