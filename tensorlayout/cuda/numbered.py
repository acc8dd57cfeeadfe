"""Loops over elements of which each has numbers of its own besides: those of its coordinates.

Integers only. Memories come first *elements*, whose strides count elements, which may become wider;
then *tables*: layouts of one entry for each element, whatever its width. A table may be in memory,
or nothing but the numbers themselves: the layout of a coordinate has stride 1 along its dimension.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd, prod

from tensorlayout.cuda.loops import WIDEST, loop_over
from tensorlayout.layout import Layout


@dataclass(frozen=True, slots=True)
class Numbered:
    """The loop: sizes, slowest first; for each memory its strides, and where it begins.

    `firsts`: of elements **bytes** from the lowest slot, of tables entries; `width`: bytes of an
    element.
    """

    sizes: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]
    firsts: tuple[int, ...]
    width: int

    @property
    def count(self) -> int:
        """How many elements there are."""
        return prod(self.sizes)

    @property
    def furthest(self) -> int:
        """The largest distance from the first element that any memory has."""
        rows = (zip(self.sizes, steps, strict=True) for steps in self.strides)
        return max(sum((n - 1) * abs(step) for n, step in row) for row in rows)


def numbered(
    elements: tuple[Layout, ...],
    tables: tuple[Layout, ...],
    itemsize: int,
    aligned: tuple[int, ...],
) -> Numbered:
    """The loop over layouts of one shape, in the order of the first, which must not overlap.

    Memories have their lowest slots at 0, and `aligned` divide the addresses of those of elements:
    no less than an element. Elements are as wide as memory allows where tables stand still.
    """
    assert min(aligned) >= itemsize, "memory is aligned to its elements"
    layouts, count = (*elements, *tables), len(elements)
    loop = loop_over(layouts, itemsize, (itemsize,) * len(layouts))
    firsts = [first if m < count else first // itemsize for m, first in enumerate(loop.firsts)]
    times, (*slower, last) = 1, loop.axes
    moving, still = last.strides[:count], last.strides[count:]
    if set(moving) == {1} and set(still) <= {0}:
        steps = [step * itemsize for axis in slower for step in axis.strides[:count]]
        wide = gcd(WIDEST, *aligned, *firsts[:count], *steps, last.size * itemsize)
        times = wide // itemsize
    sizes = (*[axis.size for axis in slower], last.size // times)
    strides = []
    for m in range(len(layouts)):
        part = times if m < count else 1
        strides.append((*[axis.strides[m] // part for axis in slower], last.strides[m]))
    return Numbered(sizes, tuple(strides), tuple(firsts), itemsize * times)
