"""A layout in words, kinds, axes, what marks mean; and in lines of a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from tensorlayout.layout.drawing.content import ELEMENT, MOST_DIMS, Cell, Content
from tensorlayout.layout.placement import Placement

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


def flags(layout: Placement) -> str:
    """The kinds of layout that a layout is."""
    words = ", ".join(name for name, flag in _FLAGS if getattr(layout, flag)) or "with gaps"
    if layout.slot_bits is None:
        return words
    return f"{words}, {count_of(layout.slot_bits, 'bit')} a slot, low bits first"


def count_of(number: int, what: str) -> str:
    """A number and its unit, such as 2 slots."""
    return f"{number} {what}{'s' * (number != 1)}"


def axes(layout: Placement) -> Iterator[str]:
    """The dimensions along columns, rows and panels, and their strides."""
    rank = layout.ndim
    for d in range(max(0, rank - MOST_DIMS), rank):
        name = ("columns", "rows")[rank - 1 - d] if rank - d <= 2 else "panels"
        yield f"{name}: dimension {d}, {_steps(layout, d)}"
    if rank > MOST_DIMS:
        yield f"dimensions 0 to {rank - MOST_DIMS - 1}: index 0 alone is shown"


def _steps(layout: Placement, dim: int) -> str:
    parts = layout.parts[dim]
    if len(parts) > 1:
        outer = f"{count_of(parts[0][0], 'tile')} {parts[0][1]} apart"
        inner = (f"in each {extent} that are {stride} apart" for extent, stride in parts[1:])
        return ", ".join([outer, *inner])
    size, stride = parts[0]
    remark = ", backwards" if stride < 0 else ", repeats" if stride == 0 and size > 1 else ""
    return f"stride {stride}{remark}"


def padding(layout: Placement) -> str:
    """Return how many slots are no elements, and whose they are."""
    if layout.is_padded:
        holds = getattr(layout.padding_value, "name", str(layout.padding_value))
        count = count_of(layout.padding_size, "slot")
        return f"{count} up to the sizes {layout.padded_shape}, holding {holds}"
    gaps = layout.required_size - layout.lowest - layout.size
    if layout.size and gaps > 0 and not layout.is_overlapping:
        return f"none; {count_of(gaps, 'slot')} between the elements belong to others"
    return "none"


# --- the slots of a matrix as lines of a terminal ---


def grid(layout: Placement, width: int) -> list[str]:
    """The slot at each index of a matrix, under a line of words, in lines of `width`."""
    room = len(str(max(layout.required_size - 1, 0))) + layout.is_overlapping + 1
    head = len(str(layout.padded_shape[0])) + 1
    found = Content(layout, max(2, (width - head - 2) // room))
    panel = found.groups[0][0]
    if panel is None or not found.rows or not found.columns:
        return []
    table = [["…" if c is None else str(c) for c in found.columns]]
    table += [list(map(_word, row)) for row in panel.cells]
    heads = ["", *("…" if r is None else f"{r}:" for r in found.rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    start = max(map(len, heads))
    said = " ".join(word for row in table for word in row)
    meant = {"x": "padding", "*": "shared"}
    signs = ", ".join(f"{sign}: {what}" for sign, what in meant.items() if sign in said)
    lines = [
        f"{h:>{start}} " + " ".join(f"{word:>{w}}" for word, w in zip(row, widths, strict=True))
        for h, row in zip(heads, table, strict=True)
    ]
    return [f"slots by index{f' ({signs})' if signs else ''}:", *lines]


def _word(cell: Cell | None) -> str:
    if cell is None:
        return "…"
    return f"{cell.slot}{'*' * cell.shared}" if cell.kind == ELEMENT else "x"
