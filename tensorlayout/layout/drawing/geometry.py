"""Positions of the boxes, texts and lines of a picture, in units that are pixels at 100 %."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from tensorlayout.errors import truncate
from tensorlayout.layout.drawing import content
from tensorlayout.layout.drawing.content import (
    ELEMENT,
    GAP,
    MOST_DIMS,
    PADDING,
    Axis,
    Cell,
    Content,
    Panel,
)
from tensorlayout.layout.placement import Placement
from tensorlayout.layout.slots import part_units

WIDTH, MARGIN = 420, 12  # letters stay legible if a phone scales the picture to a width of 360
ROOM = WIDTH - 2 * MARGIN
LETTER = 0.61  # width of a monospaced letter, relative to the font size
TITLE, NOTE, SLOT, SMALL = 13, 11.5, 12, 11  # font sizes
HEIGHT, STRIP_HEIGHT, LINE, ELLIPSIS = 26, 36, 16, 22
MARK, HATCH = 9, 7  # size of the corner of shared slots; distance between lines of a hatching

Point = tuple[float, float]


class Text(NamedTuple):
    """Text on a base line; `anchor`: the end of the text that is at (x, y), or "middle"."""

    x: float
    y: float
    words: str
    size: float = NOTE
    kind: str = "faint"  # ink, faint
    anchor: str = "start"  # start, middle, end


class Box(NamedTuple):
    """A cell of the grid or of the memory strip, and its texts."""

    place: str  # grid, memory
    x: float
    y: float
    width: float
    height: float
    cell: Cell
    texts: tuple[Text, ...]

    @property
    def hatch_lines(self) -> list[tuple[Point, Point]]:
        """Lines across a box of padding; none for other boxes."""
        x, y, w, h = self.x, self.y, self.width, self.height
        steps = range(HATCH, int(w + h), HATCH) if self.cell.kind == PADDING else ()
        return [
            ((x + min(k, w), y + max(0, k - w)), (x + max(0, k - h), y + min(k, h))) for k in steps
        ]

    @property
    def shared_slot_mark(self) -> tuple[Point, Point, Point] | None:
        """Corner that marks a slot shared by several elements; None for other slots."""
        right = self.x + self.width
        corner = (right - MARK, self.y), (right, self.y), (right, self.y + MARK)
        return corner if self.cell.shared else None


def _text_width(words: str, size: float) -> float:
    return len(words) * size * LETTER


class Picture:
    """A drawn layout; its parts are added from top to bottom, with `y` as the end so far."""

    def __init__(self, layout: Placement, color_by: Placement | None = None) -> None:
        self.layout, self.color_by, self.y = layout, color_by, float(MARGIN)
        self.boxes: list[Box] = []
        self.texts: list[Text] = []
        self.rules: list[tuple[Point, Point, float]] = []  # lines round tiles, and their widths
        largest = str(max(layout.required_size - 1, 0))
        rows, columns = (0, 0, *layout.padded_shape)[-2:]
        self.cell = max(
            34.0, _text_width(largest, SLOT) + 10, _text_width(str(columns - 1), SMALL) + 6
        )
        self.head = _text_width(str(rows), SMALL) + 8
        room = ROOM - self.head - ELLIPSIS
        self.content = Content(layout, max(1, int(room // self.cell)), color_by)
        text = truncate(layout)
        words = content.layout_properties_text(layout)
        lines = list(content.describe_axes(layout))
        self.add_text(text, TITLE, "ink")
        self.add_text(words)
        self.y += 6
        self.add_panels()
        for line in lines:
            self.add_text(line)
        self.draw_memory_strip()
        notes = list(self.legend_texts())
        for note in notes:
            self.add_text(note)
        self.title = f"Layout {text}"
        self.description = f"Shape {layout.shape}: {'; '.join([words, *lines, *notes])}."
        self.height = self.y + MARGIN

    def add_text(self, words: str, size: float = NOTE, kind: str = "faint") -> None:
        """Add wrapped lines of text below the previous parts."""
        for line in textwrap.wrap(words, int(ROOM / (size * LETTER))):
            self.y += LINE
            self.texts.append(Text(MARGIN, self.y - 4, line, size, kind))

    def legend_texts(self) -> Iterator[str]:
        """Yield the lines of the legend."""
        kinds = {box.cell.kind for box in self.boxes}
        if self.color_by is not None:
            yield f"colours: rows of {truncate(self.color_by)}"
            if any(box.cell.kind == ELEMENT and box.cell.row is None for box in self.boxes):
                yield "no colour: not an element of that layout"
        if PADDING in kinds:
            yield f"hatched: padding, {content.describe_padding(self.layout)}"
        if GAP in kinds:
            yield "grey: no element of this layout"
        if self.layout.is_overlapping:
            reason = "broadcast" if self.layout.is_broadcast else "overlap"
            yield f"marked corner: a slot of several elements ({reason})"
        if not self.content.complete:
            yield "a search of slots took too long: some marks or colours are missing"
        if self.rules:
            yield "heavy lines: tiles"

    # --- the logical grid -----------------------------------------------------------------------

    def add_panels(self) -> None:
        """Add the panels, side by side while they fit."""
        columns, rows = self.content.columns, self.content.rows
        if not columns or not rows:
            self.add_text("no elements")
            return
        self.add_axis_names()
        cells = sum(ELLIPSIS if c is None else self.cell for c in columns)
        height = sum(ELLIPSIS if r is None else HEIGHT for r in rows) + 2 * LINE
        for group in self.content.groups:
            width = self.head + max(
                [cells, *(_text_width(self.panel_index_text(p), SMALL) for p in group if p)]
            )
            x, used = float(MARGIN), 0.0
            for panel in group:
                wide = ELLIPSIS if panel is None else width
                if used and x + wide > WIDTH - MARGIN:
                    x, self.y, used = float(MARGIN), self.y + used + 8, 0.0
                if panel is None:
                    self.texts.append(Text(x + 6, self.y + LINE, "…", SLOT))
                    used = max(used, float(LINE))
                else:
                    self.add_panel(panel, x, self.y)
                    used = max(used, height if panel.before else height - LINE)
                x += wide + 10
            self.y += used + 8

    def add_axis_names(self) -> None:
        """Add the names of the axes in one line, or in several if they are long."""
        x, space = float(MARGIN), 14
        names = content.axis_names(self.layout)
        self.y += LINE if names else 0
        for name in names:
            width = _text_width(name, SMALL)
            if x > MARGIN and x + width > WIDTH - MARGIN:
                x, self.y = float(MARGIN), self.y + LINE
            self.texts.append(Text(x, self.y - 4, name, SMALL, "ink"))
            x += width + space

    def panel_index_text(self, panel: Panel) -> str:
        """Return a panel's index, if any, with an ellipsis for dimensions not shown."""
        hidden = max(0, self.layout.ndim - MOST_DIMS)
        words = ["…"] * (hidden > 0) + [str(i) for i in panel.before[hidden:]]
        # This fits a line, because all sizes multiply to less than 2**63.
        return f"[{', '.join(words)}]" if words else ""

    def add_panel(self, panel: Panel, x: float, y: float) -> None:
        """Add a matrix with indices at its edges and its leading index above."""
        if panel.before:
            self.texts.append(
                Text(x + self.head, y + 11, self.panel_index_text(panel), SMALL, "ink")
            )
            y += LINE
        left, top = x + self.head, y + LINE
        xs = _cell_edge_positions(left, self.content.columns, self.cell)
        ys = _cell_edge_positions(top, self.content.rows, HEIGHT)
        columns = self.content.columns if self.layout.ndim else ()
        for c, (a, b) in zip(columns, pairwise(xs), strict=False):
            words = "…" if c is None else str(c)
            self.texts.append(Text((a + b) / 2, top - 4, words, SMALL, anchor="middle"))
        rows = self.content.rows if self.layout.ndim > 1 else ()
        for r, (a, b) in zip(rows, pairwise(ys), strict=False):
            words = "…" if r is None else str(r)
            self.texts.append(Text(left - 4, (a + b) / 2 + 4, words, SMALL, anchor="end"))
        for row, (above, below) in zip(panel.cells, pairwise(ys), strict=True):
            for cell, (a, b) in zip(row, pairwise(xs), strict=True):
                if cell is not None:
                    text = Text((a + b) / 2, above + 17.5, str(cell.slot), SLOT, "cell", "middle")
                    size = b - a, below - above
                    self.boxes.append(Box("grid", a, above, *size, cell, (text,)))
        self.add_tile_borders(xs, ys)

    def add_tile_borders(self, xs: Sequence[float], ys: Sequence[float]) -> None:
        """Add lines where tiles begin and end; those of outer tiles are heavier."""
        *_, rows, columns = (), (), *self.layout.parts
        if len(rows) < 2 and len(columns) < 2:
            return
        for x, level in _tile_border_positions(self.content.columns, xs, columns):
            self.rules.append(((x, ys[0]), (x, ys[-1]), 1.5 + level))
        for y, level in _tile_border_positions(self.content.rows, ys, rows):
            self.rules.append(((xs[0], y), (xs[-1], y), 1.5 + level))

    # --- memory ---------------------------------------------------------------------------------

    def draw_memory_strip(self) -> None:
        """Add the slots in lines, each above the index of its element."""
        shown = self.content.strip
        if not shown:
            return
        low, end = self.layout.lowest, self.layout.required_size
        self.y += 6
        range_text = (
            f"slots {low} to {end - 1} of {end}" if low else content.format_count(end, "slot")
        )
        self.add_text(f"memory: {range_text}, each above its index", NOTE, "ink")
        self.y += 4
        cell_labels = ["" if cell is None else _index_text(cell) for cell in shown]
        longest = max(_text_width(name, SMALL) for name in cell_labels)
        width = min(max(34.0, self.cell, longest + 6), float(ROOM))
        for line in _split_strip_lines(shown, self.layout, max(1, int(ROOM // width))):
            x = float(MARGIN)
            if line == [None]:
                self.texts.append(Text(x + 6, self.y + 10, "…", SLOT))
                self.y += LINE
                continue
            for cell in line:
                if cell is not None:
                    middle, y = x + width / 2, self.y
                    texts = [Text(middle, y + 14, str(cell.slot), SLOT, "cell", "middle")]
                    if name := _index_text(cell):
                        texts.append(Text(middle, y + 29, name, SMALL, "cell", "middle"))
                    box = Box("memory", x, y, width, STRIP_HEIGHT, cell, tuple(texts))
                    self.boxes.append(box)
                    x += width
            self.y += STRIP_HEIGHT + 3


def _index_text(cell: Cell) -> str:
    """Return the index of an element without brackets."""
    if cell.at is None:
        return ""
    name = ",".join(map(str, cell.at)) or "()"
    return name if len(name) <= 40 else f"{name[:39]}…"


def _cell_edge_positions(start: float, axis: Axis, step: float) -> list[float]:
    return [*accumulate((ELLIPSIS if i is None else step for i in axis), initial=start)]


def _tile_border_positions(
    axis: Axis, edges: Sequence[float], parts: Sequence[tuple[int, int]]
) -> Iterator[tuple[float, int]]:
    """Yield the places where tiles begin or end along an axis, and for how many levels of tiles."""
    spans = part_units(tuple(parts))[:-1]
    yield edges[0], max(len(spans), 1)
    for (before, at, after), (x, end) in zip(
        zip(axis, axis[1:], (*axis[2:], None), strict=False), pairwise(edges[1:]), strict=True
    ):
        if at is not None:
            level = sum(at % span == 0 for span in spans)
        elif before is not None and after is not None:
            # Borders of tiles among the left-out indices are drawn in the middle of the ellipsis.
            level, x = sum((after - 1) // s > before // s for s in spans), (x + end) / 2
        if level:
            yield x, level
    yield edges[-1], max(len(spans), 1)


def _split_strip_lines(
    shown: list[Cell | None], layout: Placement, room: int
) -> Iterator[list[Cell | None]]:
    """Yield lines of slots; lines begin with matrix rows if these fit."""
    steps = [abs(s) for parts in layout.parts for e, s in parts if e > 1 and abs(s) > 1]
    pitch = max((s for s in steps if s <= room), default=room)
    room = room // pitch * pitch
    line: list[Cell | None] = []
    for cell in shown:
        if line and (cell is None or len(line) == room):
            yield line
            line = []
        if cell is None:
            yield [None]
        else:
            line.append(cell)
    if line:
        yield line
