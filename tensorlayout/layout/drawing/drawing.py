"""`Drawing`: a picture of a layout as SVG or PNG; summaries for notebooks.

Every picture has a background of its own, so that it suits light and dark pages. Rows have the
colours of Paul Tol's *light* scheme, which is made for dark letters and suits colour-blind readers.
The contrast of every letter to its background is at least 4.5.
"""

from __future__ import annotations

import html
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, final
from xml.sax.saxutils import escape

from tensorlayout.errors import short_repr, truncate
from tensorlayout.layout.drawing import content
from tensorlayout.layout.drawing.content import ELEMENT, GAP
from tensorlayout.layout.drawing.geometry import WIDTH, Box, Picture, Point, Text
from tensorlayout.layout.placement import Placement
from tensorlayout.support.lazy_imports import import_lazily

ROWS = ("#77aadd", "#ee8866", "#eedd88", "#ffaabb", "#99ddff", "#44bb99", "#bbcc33", "#aaaa00")
ON_ROWS = "#111111"  # letters and marks on coloured rows


class Scheme(NamedTuple):
    """Colours that differ between light and dark mode."""

    paper: str
    ink: str
    faint: str  # secondary text
    gap: str  # background of slots without an element
    hatch: str
    edge: str  # outlines of boxes


LIGHT = Scheme("#ffffff", "#1b1b1f", "#575861", "#e6e7eb", "#b4b7c0", "#5b5d66")
DARK = Scheme("#1b1c20", "#ececf0", "#aeb0ba", "#34363d", "#565963", "#7b7e89")


@final
class Drawing:
    """A picture of a layout, created by `Layout.draw`; notebooks display it."""

    __slots__ = ("_picture",)

    def __init__(self, layout: Placement, color_by: Placement | None = None) -> None:
        self._picture = Picture(layout, color_by)

    @property
    def svg(self) -> str:
        """Text of an SVG file, with a background that follows the reader's light or dark mode.

        >>> from tensorlayout import Layout
        >>> Layout((2, 3), (1, 2)).draw().svg.count('class="grid"')
        6
        """
        return "\n".join([*_svg_document_lines(self._picture), ""])

    def png(self, scale: float = 2) -> bytes:
        """Return the bytes of a PNG file: opaque, in light colours.

        `scale`: pixels per unit.

        Raises ModuleNotFoundError without Pillow; ``pip install pillow`` installs it.
        """
        return _render_png(self._picture, scale)

    def save(self, path: str | Path) -> None:
        """Write a file: PNG if its name ends with ``.png``, SVG for ``.svg`` or no extension.

        Raises ValueError for another extension, OSError if the file cannot be written.
        """
        file = Path(path)
        ending = file.suffix.lower()
        if ending not in (".svg", ".png", ""):
            raise ValueError(f"path: must end with .svg or .png, got {short_repr(file.name)}")
        file.write_bytes(self.png() if ending == ".png" else self.svg.encode())

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<Drawing: {self._picture.title}>"


# --- SVG: one element per box, colours by CSS for light and dark mode ---

_FONT = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
# Class to which all CSS rules are limited: styles of an inline SVG apply to the whole page.
_SCOPE = "tensorlayout"


def _scheme_css(scheme: Scheme) -> str:
    rules = {
        f".paper,.{_SCOPE} .padding,.{_SCOPE} .uncoloured": f"fill:{scheme.paper}",
        ".gap": f"fill:{scheme.gap}",
        f".ink,.{_SCOPE} .plain": f"fill:{scheme.ink}",
        ".faint": f"fill:{scheme.faint}",
        ".hatch": f"stroke:{scheme.hatch}",
        ".box": f"stroke:{scheme.edge}",
        ".tile": f"stroke:{scheme.ink}",
    }
    return "".join(f".{_SCOPE} {selector}{{{rule}}}" for selector, rule in rules.items())


_ROWS = "".join(f".{_SCOPE} .row{n}{{fill:{colour}}}" for n, colour in enumerate(ROWS))
_STYLE = (
    f".{_SCOPE} text{{font-family:{_FONT}}}.{_SCOPE} .hatch,.{_SCOPE} .tile{{fill:none}}"
    f".{_SCOPE} .on,.{_SCOPE} .mark{{fill:{ON_ROWS}}}"
    f"{_ROWS}{_scheme_css(LIGHT)}@media (prefers-color-scheme:dark){{{_scheme_css(DARK)}}}"
)


def _svg_document_lines(picture: Picture) -> Iterator[str]:
    size = f'viewBox="0 0 {WIDTH} {_coordinate(picture.height)}" width="{WIDTH}"'
    fitting = 'style="max-width:100%;height:auto"'
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{_SCOPE}" role="img" {size}'
        f' height="{_coordinate(picture.height)}" {fitting}>'
    )
    yield f"<title>{escape(picture.title)}</title>"
    yield f"<desc>{escape(picture.description)}</desc>"
    yield f"<style>{_STYLE}</style>"
    yield f'<rect class="paper" width="{WIDTH}" height="{_coordinate(picture.height)}" rx="6"/>'
    for box in picture.boxes:
        yield _box_svg(box)
    for (x, y), (right, low), width in picture.rules:
        d = f"M{_coordinate(x)} {_coordinate(y)}L{_coordinate(right)} {_coordinate(low)}"
        yield f'<path class="tile" stroke-width="{width}" d="{d}"/>'
    for text in picture.texts:
        yield _text_svg(text, text.kind)
    yield "</svg>"


def _box_svg(box: Box) -> str:
    cell, is_coloured = box.cell, box.cell.row is not None
    kind = cell.kind
    if kind == ELEMENT:
        kind = "uncoloured" if cell.row is None else f"row{cell.row % len(ROWS)}"
    index = "" if cell.at is None else f' data-index="{",".join(map(str, cell.at))}"'
    area = (
        f'x="{_coordinate(box.x)}" y="{_coordinate(box.y)}" '
        f'width="{_coordinate(box.width)}" height="{_coordinate(box.height)}"'
    )
    shared = ' data-shared="yes"' if cell.shared else ""
    parts = [
        f'<g class="{box.place}" data-kind="{cell.kind}" data-slot="{cell.slot}"{index}{shared}>',
        f'<rect class="box {kind}" {area}/>',
    ]
    if lines := box.hatch_lines:
        d = "".join(
            f"M{_coordinate(a)} {_coordinate(b)}L{_coordinate(c)} {_coordinate(e)}"
            for (a, b), (c, e) in lines
        )
        parts.append(f'<path class="hatch" d="{d}"/>')
    if box.shared_slot_mark:
        d = "L".join(f"{_coordinate(x)} {_coordinate(y)}" for x, y in box.shared_slot_mark)
        parts.append(f'<path class="{"mark" if is_coloured else "plain"}" d="M{d}Z"/>')
    letters = "on" if is_coloured else "plain"
    return "".join([*parts, *(_text_svg(text, letters) for text in box.texts), "</g>"])


def _text_svg(text: Text, kind: str) -> str:
    anchor = "" if text.anchor == "start" else f' text-anchor="{text.anchor}"'
    attributes = (
        f'x="{_coordinate(text.x)}" y="{_coordinate(text.y)}" font-size="{text.size}"{anchor}'
    )
    return f'<text class="{kind}" {attributes}>{escape(text.words)}</text>'


def _coordinate(number: float) -> str:
    """Return a coordinate rounded to a tenth, as text."""
    return f"{number:.1f}".removesuffix(".0")


# --- PNG, drawn by Pillow, which is optional and so imported by name at first use ---

_ANCHORS = {"start": "ls", "middle": "ms", "end": "rs"}
# Lines of the arrows at the end of a text, from the end of its base line.
_ARROWS = {
    "→": (((0, -4), (8, -4)), ((5, -7), (8, -4), (5, -1))),
    "↓": (((3, -8), (3, 0)), ((0, -3), (3, 0), (6, -3))),
}


def _render_png(picture: Picture, scale: float) -> bytes:
    image, draw, fonts = (
        import_lazily(f"PIL.{name}") for name in ("Image", "ImageDraw", "ImageFont")
    )
    canvas = image.new("RGB", (round(WIDTH * scale), round(picture.height * scale)), LIGHT.paper)
    pencil = draw.Draw(canvas)

    def scale_points(*points: Point) -> list[Point]:
        return [(x * scale, y * scale) for x, y in points]

    def draw_line(colour: str, width: float, *points: Point) -> None:
        pencil.line(scale_points(*points), colour, max(1, round(width * scale)))

    def draw_text(text: Text, colour: str) -> None:
        (at,), font = scale_points((text.x, text.y)), fonts.load_default(text.size * scale)
        words = text.words.rstrip("".join(_ARROWS))
        pencil.text(at, words, colour, font, anchor=_ANCHORS[text.anchor])
        # Pillow's font has no arrows.
        for points in _ARROWS.get(text.words[len(words) :], ()):
            left = text.x + font.getlength(words) / scale + 1
            draw_line(colour, 1, *((left + x, text.y + y) for x, y in points))

    for box in picture.boxes:
        row = box.cell.row
        ground = LIGHT.gap if box.cell.kind == GAP else LIGHT.paper
        letters = LIGHT.ink
        if row is not None:
            ground, letters = ROWS[row % len(ROWS)], ON_ROWS
        corners = scale_points((box.x, box.y), (box.x + box.width, box.y + box.height))
        pencil.rectangle(corners, ground)
        for start, end in box.hatch_lines:
            draw_line(LIGHT.hatch, 1, start, end)
        pencil.rectangle(corners, None, LIGHT.edge, round(scale))
        if box.shared_slot_mark:
            pencil.polygon(scale_points(*box.shared_slot_mark), letters)
        for text in box.texts:
            draw_text(text, letters)
    for start, end, width in picture.rules:
        draw_line(LIGHT.ink, width, start, end)
    for text in picture.texts:
        draw_text(text, LIGHT.ink if text.kind == "ink" else LIGHT.faint)
    file = io.BytesIO()
    canvas.save(file, "PNG")
    return file.getvalue()


# --- summaries: facts and the picture, as self-contained HTML ---

_CLASS = f"{_SCOPE}-summary"


# Pages have styles for tables without a class, such as another background.
_TABLE = f".{_CLASS} .{_SCOPE}-facts"


def _summary_css(scheme: Scheme) -> str:
    return (
        f".{_CLASS},{_TABLE},{_TABLE} :is(tr,td){{background:{scheme.paper};color:{scheme.ink}}}"
        f"{_TABLE} th{{background:{scheme.paper};color:{scheme.faint}}}"
    )


_SUMMARY_STYLE = (
    f".{_CLASS}{{max-width:{WIDTH}px;border-radius:6px;padding:8px 0;font:13px/1.5 sans-serif}}"
    f"{_TABLE}{{margin:0 12px;border:0;border-collapse:collapse}}"
    f"{_TABLE} :is(tr,th,td){{border:0;text-align:left;"
    "vertical-align:top;padding:1px 8px 1px 0;white-space:normal;overflow-wrap:anywhere}"
    f"{_TABLE} th{{font-weight:normal;white-space:nowrap}}"
    f"{_summary_css(LIGHT)}@media (prefers-color-scheme:dark){{{_summary_css(DARK)}}}"
)


def summary_html(layout: Placement, facts: Sequence[tuple[str, str]]) -> str:
    """Return HTML with a table of facts above the picture of a layout."""
    rows = "".join(
        f'<tr><th scope="row">{html.escape(name)}</th><td>{html.escape(value)}</td></tr>'
        for name, value in facts
    )
    picture = Drawing(layout).svg
    table = f'<table class="{_SCOPE}-facts">{rows}</table>'
    return f'<div class="{_CLASS}"><style>{_SUMMARY_STYLE}</style>{table}{picture}</div>'


def layout_facts(layout: Placement) -> list[tuple[str, str]]:
    """Return (name, text) pairs that describe a layout."""
    return [
        ("layout", truncate(layout)),
        ("in words", content.layout_properties_text(layout)),
        ("padding", content.describe_padding(layout)),
    ]


def describe_bytes(layout: Placement, itemsize: int) -> str:
    """Return text with the **bytes** of elements, and of padding or gaps."""
    room = layout._slots_to_bytes(layout.required_size - layout.lowest, itemsize)
    elements = layout._slots_to_bytes(layout.size, itemsize)
    own = f"{elements} of elements"
    if layout.is_overlapping:
        return f"{own}, in {room} of storage"
    unused_bytes = room - elements
    return (
        f"{own}, {unused_bytes} of {'padding' if layout.is_padded else 'gaps'}"
        if unused_bytes
        else own
    )


def layout_summary_html(layout: Placement) -> str:
    """Return the HTML summary of a layout without a tensor."""
    size = content.format_count(layout.size, "element")
    slots = f"{content.format_count(layout.required_size, 'slot')} from slot 0 on"
    if layout.slot_bits is not None:
        slots += f", {content.format_count(layout.nbytes(1), 'byte')}"
    shape = [("shape", f"{layout.shape}, {size}"), *layout_facts(layout), ("storage", slots)]
    return summary_html(layout, shape)
