"""What is sorted: lines, and how kernels go through them. Integers only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from typing import Any

from tensorlayout.cuda.engine.c_types import c_type
from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.engine.kernel_shapes import kernel
from tensorlayout.cuda.engine.launch import Launch
from tensorlayout.cuda.engine.structs import constant
from tensorlayout.dtypes import DType
from tensorlayout.layout import Layout
from tensorlayout.layout.loop import Axis, merged

FILE = "sort/sort.cu"

# Elements that a block sorts at once; of several lines, so many that threads can be shifted.
TILE = constant(FILE, "TILE")
CAPACITY = TILE - constant(FILE, "SECTOR")

# Room for what an index may go beyond the last element.
BEYOND = 2**16


# The launches of a pass over the elements.
Pass = tuple[Launch, ...]


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines that are sorted.

    Attributes:
        count: how many.
        length: elements of each.
        dtype: that of the elements.
        walked: where the result's elements are in what is read first; at least one.
        index: the type of indices.
        positions: whether positions are sorted, else elements.
        down: descending.
        bits: how many of an element say where it belongs, from the lowest on.

    """

    count: int
    length: int
    dtype: DType
    walked: tuple[Axis, ...]
    index: str
    positions: bool
    down: bool
    bits: int

    @property
    def size(self) -> int:
        """How many elements there are."""
        return self.count * self.length

    @property
    def octets(self) -> int:
        """The **bytes** of an index."""
        return 4 if self.index == "int32_t" else 8

    def kernel(self, file: str, name: str, *, gives: bool = True, **shape: Any) -> Kernel:
        """A kernel for these elements and indices; `gives`: whether it differs by what it gives."""
        types = (("ELEMENT", c_type(self.dtype)),)
        if gives:
            shape["GIVES"] = "positions" if self.positions else "values"
        return kernel(file, name, types, INDEX=self.index, **shape)


def axes_of(dimensions: Iterable[tuple[int, ...]]) -> tuple[Axis, ...]:
    """Sizes and their strides, slowest first, merged; at least one axis."""
    rows = [Axis(size, tuple(strides)) for size, *strides in dimensions]
    return tuple(merged(rows)) or (Axis(1, (0,) * len(rows[0].strides) if rows else (0,)),)


def is_fastest(layout: Layout, dim: int) -> bool:
    """Whether elements along a dimension follow each other in memory."""
    faster = layout.minor_to_major[: layout.minor_to_major.index(dim)]
    return prod(layout.shape[d] for d in faster) <= 1
