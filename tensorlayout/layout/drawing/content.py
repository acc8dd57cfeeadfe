"""Content of a picture of a layout: panels of cells and a strip of slots, truncated if large."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, product
from typing import Any, NamedTuple

from tensorlayout.layout import slots
from tensorlayout.layout.placement import Placement

MOST_DIMS = 6  # dimensions that panels show; of slower ones only index 0
MOST_CELLS = 240  # in all panels
MOST_ROWS, MOST_PANELS = 10, 6  # rows of a panel; panels along a dimension
FIRST_SLOTS, LAST_SLOTS = 40, 8  # slots shown at both ends of a truncated strip

ELEMENT, PADDING, GAP = "element", "padding", "gap"

Axis = tuple[int | None, ...]  # indices of a dimension to show; None where some are left out
Index = tuple[int, ...]


class Cell(NamedTuple):
    """A cell of the grid or of the strip."""

    kind: str  # ELEMENT, PADDING or GAP
    slot: int
    at: Index | None  # the index; None for slots of the strip without an element
    row: int | None = None  # number of the row whose colour an element has; None: no colour
    shared: bool = False  # True if several elements share the slot


class Panel(NamedTuple):
    """A matrix of the grid: the last two dimensions at one index of the slower ones."""

    before: Index
    cells: list[list[Cell | None]]  # None where rows or columns are left out


class SlotSearch:
    """Elements in the slots of a layout; a search that takes too long ends without a result."""

    complete = True  # False after a search was given up

    def __init__(self, layout: Placement) -> None:
        self.layout = layout
        self._first_two: dict[int, list[Index]] = {}

    def first_two(self, slot: int) -> list[Index]:
        """Return at most two elements in a slot; none after a search has taken too long."""
        if slot not in self._first_two:
            max_count = 2 if self.layout.size and self.complete else 0
            self._first_two[slot] = self._run(islice(self.layout._indices_in_slot(slot), max_count))
        return self._first_two[slot]

    def first(self, slot: int) -> Index | None:
        """Return the row-major first element in a slot, or None."""
        held = self.first_two(slot)
        if len(held) > 1:
            held = self._run(map(_first_index_in_slot, [self.layout], [slot]))
        return held[0] if held else None

    def _run(self, search: Iterable[Index]) -> list[Index]:
        try:
            return [*search]
        except ValueError:  # strides that no sequence of views makes
            self.complete = False
            return []


class Content:
    """Content of a picture of a layout; the work does not grow with the layout's size.

    `color_by`: the layout whose rows give slots their colours; by default the rows of `layout` give
    indices their colours.
    """

    rows: Axis
    columns: Axis
    groups: list[list[Panel | None]]  # panels that differ in one dimension; None: some left out
    strip: list[Cell | None]

    def __init__(
        self, layout: Placement, most_columns: int, color_by: Placement | None = None
    ) -> None:
        self.layout = layout
        self._search = SlotSearch(layout)
        self._color_search = None if color_by is None else SlotSearch(color_by)
        fixed = (0,) * max(0, layout.ndim - MOST_DIMS)
        # Show padding along dimensions of positive strides alone: there it is at the high end.
        every = [
            p if layout.is_padded and all(s > 0 for _, s in parts) else n
            for n, p, parts in zip(layout.shape, layout.padded_shape, layout.parts, strict=True)
        ]
        sizes = every[len(fixed) :]
        most = [*[MOST_PANELS] * MOST_DIMS, MOST_ROWS, most_columns]
        most = most[len(most) - len(sizes) :]
        axes: list[Axis] = [(0,)] * (2 - len(sizes))
        counts = zip(sizes, _shown_counts(sizes, most), strict=True)
        axes += [_indices_to_show(size, (count + 1) // 2, count // 2) for size, count in counts]
        *before, rows, self.columns = axes
        self.rows = () if 0 in every else rows
        self.groups = [] if before else [[self._make_panel(())]]
        for at in product(*before[:-1]) if before else ():
            slower = tuple(i for i in at if i is not None)
            if len(slower) == len(at):
                places = [None if i is None else (*fixed, *slower, i) for i in before[-1]]
                self.groups.append([p if p is None else self._make_panel(p) for p in places])
            # Consecutive groups that are left out have one ellipsis together.
            elif self.groups[-1] != [None]:
                self.groups.append([None])
        self.strip = list(self._strip_cells())

    @property
    def complete(self) -> bool:
        """False after a search for the elements in a slot was given up."""
        return self._search.complete and (self._color_search is None or self._color_search.complete)

    def _make_panel(self, leading_index: Index) -> Panel:
        skipped = max(0, 2 - self.layout.ndim)  # a vector has one row, a number one column too
        cells = [
            [
                None
                if r is None or c is None
                else self._make_cell((*leading_index, r, c)[skipped:])
                for c in self.columns
            ]
            for r in self.rows
        ]
        return Panel(leading_index, cells)

    def _make_cell(self, index: Index) -> Cell:
        layout = self.layout
        slot = layout.offset + sum(map(slots.slot_of_index, layout.parts, index))
        if any(i >= n for i, n in zip(index, layout.shape, strict=True)):
            return Cell(PADDING, slot, index)
        shared = layout.is_overlapping and len(self._search.first_two(slot)) > 1
        return Cell(ELEMENT, slot, index, self._color_row(index, slot), shared)

    def _color_row(self, index: Index, slot: int) -> int | None:
        """Return the number of the row whose colour the element at `index`, in `slot`, has."""
        if self._color_search is None:
            return _row_number(index, self.layout.shape)
        first = self._color_search.first(slot)
        return None if first is None else _row_number(first, self._color_search.layout.shape)

    def _strip_cells(self) -> Iterator[Cell | None]:
        """Yield the slots from the lowest on; None where some are left out."""
        low, end = self.layout.lowest, self.layout.required_size
        for relative_slot in _indices_to_show(end - low, FIRST_SLOTS, LAST_SLOTS):
            if relative_slot is None:
                yield None
                continue
            slot = low + relative_slot
            index = self._search.first(slot)
            if index is None:
                yield Cell(PADDING if self.layout.is_padded else GAP, slot, None)
            else:
                shared = len(self._search.first_two(slot)) > 1
                yield Cell(ELEMENT, slot, index, self._color_row(index, slot), shared)


def _row_number(index: Index, shape: Index) -> int:
    """Return the row-major number of an index without its last entry."""
    number = 0
    for i, n in zip(index[:-1], shape[:-1], strict=True):
        number = number * n + i
    return number


def _indices_to_show(size: int, first: int, last: int) -> Axis:
    """Return the indices of a dimension, or slots of a strip, to show: all, or both ends."""
    if size <= first + last:
        return tuple(range(max(size, 0)))
    return (*range(first), None, *range(size - last, size))


def _shown_counts(sizes: Sequence[int], max_counts: Sequence[int]) -> list[int]:
    """Return the number of indices to show of each dimension, within `MOST_CELLS`."""
    counts = [min(n, m) for n, m in zip(sizes, max_counts, strict=True)]
    # Two indices remain of each dimension, so that both of its ends are seen.
    while math.prod(counts) > MOST_CELLS and max(counts) > 2:
        counts[counts.index(max(counts))] -= 1
    return counts


def _first_index_in_slot(layout: Any, slot: int) -> Index:
    """Return the row-major first index in a slot; ValueError if the search is too long."""
    if not layout.ndim:
        return ()
    # If the first n rows have an element in the slot, the first n + 1 do, too. So bisection finds
    # the first row in a few searches, however many rows there are.
    upto = range(1, layout.shape[0] + 1)
    cut = layout._slice_by_always_viewable_key
    i = bisect_left(upto, True, key=lambda n: any(cut([slice(n)])._indices_in_slot(slot)))
    return (i, *_first_index_in_slot(cut([i]), slot))


# --- descriptions: properties, axes, padding ---

_FLAGS = (
    ("row-major", "is_row_major"),
    ("column-major", "is_column_major"),
    ("packed", "is_packed"),
    ("padded", "is_padded"),
    ("tiled", "is_tiled"),
    ("covers a block", "covers_block"),
    ("broadcast", "is_broadcast"),
    ("overlapping", "is_overlapping"),
)


def layout_properties_text(layout: Placement) -> str:
    """Return a layout's properties as text, such as "row-major, packed, covers a block"."""
    words = ", ".join(name for name, flag in _FLAGS if getattr(layout, flag)) or "with gaps"
    if layout.slot_bits is None:
        return words
    return f"{words}, {format_count(layout.slot_bits, 'bit')} a slot, low bits first"


def format_count(number: int, unit: str) -> str:
    """Return a number with its unit in the singular or plural, such as "2 slots"."""
    return f"{number} {unit}{'s' * (number != 1)}"


def axis_names(layout: Placement) -> list[str]:
    """Return the names of the axes of the grid, such as "dim 1 ↓", "dim 2 →", "panels: dim 0".

    They are numbers, because the letters of `Layout.labels` stand for the dimensions of images in
    one order, which need not be that of this layout.
    """
    rank = layout.ndim
    across = [f"dim {rank - 1} →"] * (rank > 0)
    down = [f"dim {rank - 2} ↓"] * (rank > 1)
    panels = [str(d) for d in range(max(0, rank - MOST_DIMS), rank - 2)]
    dims = f"dim{'s' * (len(panels) > 1)} {', '.join(panels)}"
    return [*down, *across, *[f"panels: {dims}"] * bool(panels)]


def describe_axes(layout: Placement) -> Iterator[str]:
    """Yield a line for each dimension shown: its direction in the grid, and its strides."""
    rank = layout.ndim
    for d in range(max(0, rank - MOST_DIMS), rank):
        runs = ("columns, across", "rows, down")[rank - 1 - d] if rank - d <= 2 else "panels"
        yield f"dim {d} ({runs}): {_format_dim_strides(layout, d)}"
    if rank > MOST_DIMS:
        yield f"dims 0 to {rank - MOST_DIMS - 1}: only index 0 is shown"


def _format_dim_strides(layout: Placement, dim: int) -> str:
    parts = layout.parts[dim]
    if len(parts) > 1:
        outer = f"{format_count(parts[0][0], 'tile')} {parts[0][1]} apart"
        inner = (f"in each {extent} that are {stride} apart" for extent, stride in parts[1:])
        return ", ".join([outer, *inner])
    size, stride = parts[0]
    remark = ", backwards" if stride < 0 else ", repeats" if stride == 0 and size > 1 else ""
    return f"stride {stride}{remark}"


def describe_padding(layout: Placement) -> str:
    """Return the number of slots without an element as text, and whether the layout owns them."""
    if layout.is_padded:
        holds = getattr(layout.padding_value, "name", str(layout.padding_value))
        count = format_count(layout.padding_size, "slot")
        return f"{count} up to the sizes {layout.padded_shape}, holding {holds}"
    gaps = layout.required_size - layout.lowest - layout.size
    if layout.size and gaps > 0 and not layout.is_overlapping:
        return f"none; {format_count(gaps, 'slot')} between the elements belong to others"
    return "none"


# --- the slots of a matrix as lines of a terminal ---


def format_slots_by_index(layout: Placement, width: int) -> list[str]:
    """Return lines of up to `width` letters: a heading, and the slot at each index of a matrix."""
    room = len(str(max(layout.required_size - 1, 0))) + layout.is_overlapping + 1
    head = len(str(layout.padded_shape[0])) + 1
    content = Content(layout, max(2, (width - head - 2) // room))
    panel = content.groups[0][0]
    if panel is None or not content.rows or not content.columns:
        return []
    table = [["…" if c is None else str(c) for c in content.columns]]
    table += [list(map(_format_cell, row)) for row in panel.cells]
    heads = ["", *("…" if r is None else f"{r}:" for r in content.rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    start = max(map(len, heads))
    table_text = " ".join(word for row in table for word in row)
    meant = {"x": "padding", "*": "shared"}
    signs = ", ".join(f"{sign}: {meaning}" for sign, meaning in meant.items() if sign in table_text)
    lines = [
        f"{h:>{start}} " + " ".join(f"{word:>{w}}" for word, w in zip(row, widths, strict=True))
        for h, row in zip(heads, table, strict=True)
    ]
    return [f"slots by index{f' ({signs})' if signs else ''}:", *lines]


def _format_cell(cell: Cell | None) -> str:
    if cell is None:
        return "…"
    return f"{cell.slot}{'*' * cell.shared}" if cell.kind == ELEMENT else "x"
