"""What a kernel iterates over: few axes, strides that count elements as wide as memory allows."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd, prod
from typing import NamedTuple

from tensorlayout.layout import Layout, coalesce

# The widest access of a thread.
WIDEST = 16

# Memory moves in sectors of this many bytes, and no alignment beyond it matters.
SECTOR = 32


class Axis(NamedTuple):
    """One axis: its size, and its stride in each memory, in elements."""

    size: int
    strides: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Loop:
    """All elements of layouts of one shape.

    Attributes:
        axes: from the slowest in the first memory to the fastest; that memory's strides are
            positive. At least one.
        width: bytes of an element.
        firsts: for each memory the bytes from its lowest slot to the first element.
        alignments: for each memory the power of two, at most `SECTOR`, that divides the address of
            its lowest slot.

    """

    axes: tuple[Axis, ...]
    width: int
    firsts: tuple[int, ...]
    alignments: tuple[int, ...]

    @property
    def count(self) -> int:
        """How many elements there are."""
        return prod([axis.size for axis in self.axes])

    @property
    def furthest(self) -> int:
        """The largest distance from the first element that any memory has, in elements."""
        reach = range(len(self.alignments))
        return max([sum((a.size - 1) * abs(a.strides[m]) for a in self.axes) for m in reach])

    def strides(self, memory: int) -> list[int]:
        """The strides of one memory."""
        return [axis.strides[memory] for axis in self.axes]

    @property
    def contiguous(self) -> bool:
        """Whether the fastest axis is contiguous in all memories."""
        return all(stride == 1 for stride in self.axes[-1].strides)


def loop_over(layouts: tuple[Layout, ...], itemsize: int, alignments: tuple[int, ...]) -> Loop:
    """The loop over layouts of one shape with lowest slot 0, none empty, none tiled.

    Axes stand in the order of the first layout, which must not overlap. Short contiguous runs have
    become part of the elements, and elements that memory is not aligned for are split.
    """
    backwards = [d for d, stride in enumerate(layouts[0].strides) if stride < 0]
    turned = [layout.flip(backwards) if backwards else layout for layout in layouts]
    merged = coalesce(*[layout for layout in turned if layout is not None])
    columns = [layout.strides for layout in merged]
    rows = zip(merged[0].shape, zip(*columns, strict=True), strict=True)
    axes = [Axis(n, steps) for n, steps in rows] or [Axis(1, (1,) * len(layouts))]
    firsts = tuple(layout.offset * itemsize for layout in merged)
    narrowed, width = _narrowed(axes, itemsize, min(alignments))
    widened, width = _widened(narrowed, width, firsts, alignments)
    return Loop(tuple(widened), width, firsts, tuple(min(a, SECTOR) for a in alignments))


def _narrowed(axes: list[Axis], width: int, alignment: int) -> tuple[list[Axis], int]:
    """The axes over smaller elements, if memory is not aligned for those of `width` bytes."""
    if alignment >= width:
        return axes, width
    pieces = width // alignment
    split = [Axis(n, tuple(s * pieces for s in steps)) for n, steps in axes]
    last = split[-1]
    if all(step == pieces for step in last.strides):
        split[-1] = Axis(last.size * pieces, (1,) * len(last.strides))
    else:
        split.append(Axis(pieces, (1,) * len(last.strides)))
    return split, alignment


def _widened(
    axes: list[Axis], width: int, firsts: tuple[int, ...], alignments: tuple[int, ...]
) -> tuple[list[Axis], int]:
    """The axes over wider elements, if the fastest one is contiguous in all memories."""
    *slower, last = axes
    if any(step != 1 for step in last.strides):
        return axes, width
    steps = [step * width for axis in slower for step in axis.strides]
    wide = gcd(WIDEST, last.size * width, *firsts, *alignments, *steps)
    times = wide // width
    rows = [Axis(n, tuple(step // times for step in strides)) for n, strides in slower]
    if last.size > times or not rows:
        rows.append(Axis(last.size // times, last.strides))
    return rows, wide
