"""What a picture of a layout shows: panels of cells and a strip of slots, large ones cut."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, product
from typing import Any, NamedTuple

from tensorlayout.layout import slots
from tensorlayout.layout.placement import Placement

MOST_DIMS = 6  # that panels show; of those before them, index 0
MOST_CELLS = 240  # of all panels
MOST_ROWS, MOST_PANELS = 10, 6  # of one panel; of one dimension
FIRST_SLOTS, LAST_SLOTS = 40, 8  # of the strip, where it is cut

ELEMENT, PADDING, GAP = "element", "padding", "gap"

Axis = tuple[int | None, ...]  # the indices of a dimension that are shown; None: some are left out
Index = tuple[int, ...]


class Cell(NamedTuple):
    """A place of the grid or of the strip."""

    kind: str  # ELEMENT, PADDING or GAP
    slot: int
    at: Index | None  # the index; None for what the strip finds to be no element
    row: int = 0  # the row-major number of the index without its last entry
    shared: bool = False  # whether other elements stand in the slot too


class Panel(NamedTuple):
    """A matrix of the grid: the last two dimensions, at an index of those before."""

    before: Index
    cells: list[list[Cell | None]]  # None where rows or columns are left out


class Content(NamedTuple):
    """All that a picture shows of a layout."""

    rows: Axis
    columns: Axis
    groups: list[list[Panel | None]]  # panels that differ in one dimension; None: some left out
    strip: list[Cell | None]
    complete: bool  # whether all that share a slot were found


def contents(layout: Placement, most_columns: int) -> Content:
    """What to show of a layout; the work does not grow with its size.

    >>> from tensorlayout import Layout
    >>> contents(Layout.row_major((2, 10**9)), 4).columns
    (0, 1, None, 999999998, 999999999)
    """
    finder = _Finder(layout)
    fixed = (0,) * max(0, layout.ndim - MOST_DIMS)
    # With the padding that stands at the high end of its dimension.
    every = [
        p if layout.is_padded and all(s > 0 for _, s in parts) else n
        for n, p, parts in zip(layout.shape, layout.padded_shape, layout.parts, strict=True)
    ]
    sizes = every[len(fixed) :]
    most = [*[MOST_PANELS] * MOST_DIMS, MOST_ROWS, most_columns]
    most = most[len(most) - len(sizes) :]
    axes: list[Axis] = [(0,)] * (2 - len(sizes))
    counts = zip(sizes, _counts(sizes, most), strict=True)
    axes += [cut_axis(size, (count + 1) // 2, count // 2) for size, count in counts]
    *before, rows, columns = axes
    rows = () if 0 in every else rows
    groups: list[list[Panel | None]] = []
    if not before:
        groups.append([finder.panel((), rows, columns)])
    for at in product(*before[:-1]) if before else ():
        slower = tuple(i for i in at if i is not None)
        if len(slower) == len(at):
            places = [None if i is None else (*fixed, *slower, i) for i in before[-1]]
            groups.append([p if p is None else finder.panel(p, rows, columns) for p in places])
        elif groups[-1] != [None]:
            groups.append([None])
    strip = list(finder.strip())
    return Content(rows, columns, groups, strip, not finder.given_up)


def cut_axis(size: int, first: int, last: int) -> Axis:
    """The indices to show of a dimension, or the slots of a strip: all, or some at both ends.

    >>> cut_axis(3, 2, 2), cut_axis(9, 2, 2)
    ((0, 1, 2), (0, 1, None, 7, 8))
    """
    if size <= first + last:
        return tuple(range(max(size, 0)))
    return (*range(first), None, *range(size - last, size))


def _counts(sizes: Sequence[int], most: Sequence[int]) -> list[int]:
    """Return how many indices of each dimension are shown, so that cells are not too many."""
    counts = [min(n, m) for n, m in zip(sizes, most, strict=True)]
    while math.prod(counts) > MOST_CELLS and max(counts) > 2:
        counts[counts.index(max(counts))] -= 1
    return counts


class _Finder:
    """What stands where; remembers which elements share a slot."""

    def __init__(self, layout: Placement) -> None:
        self.layout = layout
        self.found: dict[int, list[Index]] = {}
        self.given_up = False

    def holders(self, slot: int) -> list[Index]:
        """Some elements in a slot, at most two; none once finding them has taken too long."""
        if slot not in self.found:
            some = 2 if self.layout.size and not self.given_up else 0
            self.found[slot] = self.searched(islice(self.layout._indices_at(slot), some))
        return self.found[slot]

    def searched(self, search: Iterable[Index]) -> list[Index]:
        """What a search finds; nothing where it takes too long."""
        try:
            return [*search]
        except ValueError:  # strides that no chain of views makes
            self.given_up = True
            return []

    def panel(self, before: Index, rows: Axis, columns: Axis) -> Panel:
        skipped = max(0, 2 - self.layout.ndim)  # a vector has one row, a number one column too
        return Panel(
            before,
            [
                [
                    None if r is None or c is None else self.cell((*before, r, c)[skipped:])
                    for c in columns
                ]
                for r in rows
            ],
        )

    def cell(self, index: Index) -> Cell:
        layout = self.layout
        slot = layout.offset + sum(map(slots.slot_of, layout.parts, index))
        if any(i >= n for i, n in zip(index, layout.shape, strict=True)):
            return Cell(PADDING, slot, index)
        shared = layout.is_overlapping and len(self.holders(slot)) > 1
        return Cell(ELEMENT, slot, index, self.row(index), shared)

    def row(self, index: Index) -> int:
        number = 0
        for i, n in zip(index[:-1], self.layout.shape[:-1], strict=True):
            number = number * n + i
        return number

    def strip(self) -> Iterator[Cell | None]:
        """The slots from the lowest on."""
        low, end = self.layout.lowest, self.layout.required_size
        for at in cut_axis(end - low, FIRST_SLOTS, LAST_SLOTS):
            if at is None:
                yield None
                continue
            held = self.holders(low + at)
            shared = len(held) > 1
            if shared:
                held = self.searched(map(_first, [self.layout], [low + at]))
            if held:
                yield Cell(ELEMENT, low + at, held[0], self.row(held[0]), shared)
            else:
                yield Cell(PADDING if self.layout.is_padded else GAP, low + at, None)


def _first(layout: Any, slot: int) -> Index:
    """The first index of a `Layout`, in row-major order, in a slot; ValueError if it is too hard.

    >>> from tensorlayout import Layout
    >>> _first(Layout((30, 2), (2, 30)), 30)
    (0, 1)
    """
    if not layout.ndim:
        return ()
    upto = range(1, layout.shape[0] + 1)
    cut = layout._sliced_whole
    i = bisect_left(upto, True, key=lambda n: any(cut([slice(n)])._indices_at(slot)))
    return (i, *_first(cut([i]), slot))
