"""The slots of a matrix as lines of a terminal."""

from __future__ import annotations

from tensorlayout.layout.drawing.content import ELEMENT, Cell, contents
from tensorlayout.layout.placement import Placement

_SIGNS = {"x": "padding", "*": "shared"}


def grid(layout: Placement, width: int) -> list[str]:
    r"""The slot at each index of a matrix, under a line of words, in lines of `width`.

    >>> from tensorlayout import Layout
    >>> print("\n".join(grid(Layout.padded((2, 3), (2, 4), (0, 1)), 80)))
    slots by index (x: padding):
       0 1 2 3
    0: 0 2 4 x
    1: 1 3 5 x
    """
    room = len(str(max(layout.required_size - 1, 0))) + layout.is_overlapping + 1
    head = len(str(layout.padded_shape[0])) + 1
    found = contents(layout, max(2, (width - head - 2) // room))
    panel = found.groups[0][0]
    if panel is None or not found.rows or not found.columns:
        return []
    table = [["…" if c is None else str(c) for c in found.columns]]
    table += [list(map(_word, row)) for row in panel.cells]
    heads = ["", *("…" if r is None else f"{r}:" for r in found.rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    start = max(map(len, heads))
    said = " ".join(word for row in table for word in row)
    signs = ", ".join(f"{sign}: {what}" for sign, what in _SIGNS.items() if sign in said)
    lines = [
        f"{h:>{start}} " + " ".join(f"{word:>{w}}" for word, w in zip(row, widths, strict=True))
        for h, row in zip(heads, table, strict=True)
    ]
    return [f"slots by index{f' ({signs})' if signs else ''}:", *lines]


def _word(cell: Cell | None) -> str:
    if cell is None:
        return "…"
    return f"{cell.slot}{'*' * cell.shared}" if cell.kind == ELEMENT else "x"
