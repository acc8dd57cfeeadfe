"""Loops over elements of which each has numbers of its own besides: those of its coordinates.

Integers only. Memories come first *elements*, whose strides count elements, which may become wider;
then *tables*: layouts of one entry for each element, whatever its width. A table may be in memory,
or nothing but the numbers themselves: the layout of a coordinate has stride 1 along its dimension.
"""

from __future__ import annotations

from tensorlayout.cuda.engine.sectors import WIDEST
from tensorlayout.layout import Layout
from tensorlayout.layout.loop import Loop


def numbered(
    elements: tuple[Layout, ...],
    tables: tuple[Layout, ...],
    itemsize: int,
    aligned: tuple[int, ...],
) -> Loop:
    """The loop over layouts of one shape, in the order of the first, which must not overlap.

    Memories have their lowest slots at 0, and `aligned` divide the addresses of those of elements:
    no less than an element. Elements are as wide as memory allows where tables stand still. What is
    first in a table is counted in entries.
    """
    assert min(aligned) >= itemsize, "memory is aligned to its elements"
    ones = (1,) * len(tables)
    widths = ((itemsize,) * len(elements) + ones, aligned + ones)
    return Loop.over((*elements, *tables), *widths, len(tables)).widened(WIDEST)
