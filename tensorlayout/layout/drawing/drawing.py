"""`Drawing`: a picture of a layout, in the form that somebody wants; summaries for notebooks.

Its colours tell rows apart for colour-blind eyes as well: rows have Paul Tol's *light* scheme, made
for dark letters. The contrast of every letter to what is under it is at least 4.5.
"""

from __future__ import annotations

import html
import io
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, final
from xml.sax.saxutils import escape

from tensorlayout.errors import short_repr, truncate
from tensorlayout.layout.drawing import content
from tensorlayout.layout.drawing.content import ELEMENT, GAP
from tensorlayout.layout.drawing.geometry import WIDTH, Box, Picture, Point, Text
from tensorlayout.layout.placement import Placement

ROWS = ("#77aadd", "#ee8866", "#eedd88", "#ffaabb", "#99ddff", "#44bb99", "#bbcc33", "#aaaa00")
ON_ROWS = "#111111"  # letters and marks on those


class Scheme(NamedTuple):
    """The colours that light and dark change."""

    paper: str
    ink: str
    faint: str  # letters that say less
    gap: str  # the ground of what is no element
    hatch: str
    edge: str  # round boxes


LIGHT = Scheme("#ffffff", "#1b1b1f", "#575861", "#e6e7eb", "#b4b7c0", "#5b5d66")
DARK = Scheme("#1b1c20", "#ececf0", "#aeb0ba", "#34363d", "#565963", "#7b7e89")


@final
class Drawing:
    """A picture of a layout, made by `Layout.draw`; notebooks show it."""

    __slots__ = ("_picture",)

    def __init__(self, layout: Placement) -> None:
        self._picture = Picture(layout)

    @property
    def svg(self) -> str:
        """The text of an SVG file, which follows the reader's light or dark colours.

        >>> from tensorlayout import Layout
        >>> Layout((2, 3), (1, 2)).draw().svg.count('class="grid"')
        6
        """
        return "\n".join([*_svg_lines(self._picture), ""])

    def png(self, scale: float = 2) -> bytes:
        """Return the bytes of a PNG file in light colours, `scale` pixels a unit.

        ModuleNotFoundError without Pillow, which ``pip install 'tensorlayout[demo]'`` brings.
        """
        return _render_png(self._picture, scale)

    def save(self, path: str | Path) -> None:
        """Write a file: PNG where its name ends with ``.png``, SVG with ``.svg`` or no ending.

        ValueError for another ending, OSError where it fails.
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


# --- SVG: one element a box, colours by CSS, light or dark as the reader's system is ---

_FONT = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
_SCOPE = "tensorlayout"  # the class of what the rules apply to; styles in SVG are the whole page's


def _scheme_css(scheme: Scheme) -> str:
    rules = {
        f".paper,.{_SCOPE} .padding": f"fill:{scheme.paper}",
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


def _svg_lines(picture: Picture) -> Iterator[str]:
    size = f'viewBox="0 0 {WIDTH} {_format_number(picture.height)}" width="{WIDTH}"'
    fitting = 'style="max-width:100%;height:auto"'
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{_SCOPE}" role="img" {size}'
        f' height="{_format_number(picture.height)}" {fitting}>'
    )
    yield f"<title>{escape(picture.title)}</title>"
    yield f"<desc>{escape(picture.description)}</desc>"
    yield f"<style>{_STYLE}</style>"
    yield (
        f'<rect class="paper" width="{WIDTH}" height="{_format_number(picture.height)}" rx="6"/>'
    )
    for box in picture.boxes:
        yield _box_svg(box)
    for (x, y), (right, low), width in picture.rules:
        d = (
            f"M{_format_number(x)} {_format_number(y)}L{_format_number(right)} "
            f"{_format_number(low)}"
        )
        yield f'<path class="tile" stroke-width="{width}" d="{d}"/>'
    for text in picture.texts:
        yield _text_svg(text, text.kind)
    yield "</svg>"


def _box_svg(box: Box) -> str:
    cell = box.cell
    kind = f"row{cell.row % len(ROWS)}" if cell.kind == ELEMENT else cell.kind
    index = "" if cell.at is None else f' data-index="{",".join(map(str, cell.at))}"'
    area = (
        f'x="{_format_number(box.x)}" y="{_format_number(box.y)}" '
        f'width="{_format_number(box.width)}" height="{_format_number(box.height)}"'
    )
    shared = ' data-shared="yes"' if cell.shared else ""
    parts = [
        f'<g class="{box.place}" data-kind="{cell.kind}" data-slot="{cell.slot}"{index}{shared}>',
        f'<rect class="box {kind}" {area}/>',
    ]
    if lines := box.hatch_lines:
        d = "".join(
            f"M{_format_number(a)} {_format_number(b)}L{_format_number(c)} {_format_number(e)}"
            for (a, b), (c, e) in lines
        )
        parts.append(f'<path class="hatch" d="{d}"/>')
    if box.shared_slot_mark:
        d = "L".join(f"{_format_number(x)} {_format_number(y)}" for x, y in box.shared_slot_mark)
        parts.append(f'<path class="mark" d="M{d}Z"/>')
    letters = "on" if cell.kind == ELEMENT else "plain"
    return "".join([*parts, *(_text_svg(text, letters) for text in box.texts), "</g>"])


def _text_svg(text: Text, kind: str) -> str:
    anchor = "" if text.anchor == "start" else f' text-anchor="{text.anchor}"'
    attributes = (
        f'x="{_format_number(text.x)}" y="{_format_number(text.y)}" font-size="{text.size}"{anchor}'
    )
    return f'<text class="{kind}" {attributes}>{escape(text.words)}</text>'


def _format_number(number: float) -> str:
    """Return a coordinate, to a tenth."""
    return f"{number:.1f}".removesuffix(".0")


# --- PNG, by Pillow, which is imported by name: it is optional ---

_ANCHORS = {"start": "ls", "middle": "ms", "end": "rs"}


def _render_png(picture: Picture, scale: float) -> bytes:
    image, draw, fonts = (
        import_module(f"PIL.{name}") for name in ("Image", "ImageDraw", "ImageFont")
    )
    canvas = image.new("RGB", (round(WIDTH * scale), round(picture.height * scale)), LIGHT.paper)
    pencil = draw.Draw(canvas)

    def scale_points(*points: Point) -> list[Point]:
        return [(x * scale, y * scale) for x, y in points]

    def draw_line(colour: str, width: float, *points: Point) -> None:
        pencil.line(scale_points(*points), colour, max(1, round(width * scale)))

    def draw_text(text: Text, colour: str) -> None:
        (at,), font = scale_points((text.x, text.y)), fonts.load_default(text.size * scale)
        pencil.text(at, text.words, colour, font, anchor=_ANCHORS[text.anchor])

    for box in picture.boxes:
        is_element = box.cell.kind == ELEMENT
        row = ROWS[box.cell.row % len(ROWS)]
        ground = row if is_element else LIGHT.gap if box.cell.kind == GAP else LIGHT.paper
        corners = scale_points((box.x, box.y), (box.x + box.width, box.y + box.height))
        pencil.rectangle(corners, ground)
        for start, end in box.hatch_lines:
            draw_line(LIGHT.hatch, 1, start, end)
        pencil.rectangle(corners, None, LIGHT.edge, round(scale))
        if box.shared_slot_mark:
            pencil.polygon(scale_points(*box.shared_slot_mark), ON_ROWS)
        for text in box.texts:
            draw_text(text, ON_ROWS if is_element else LIGHT.ink)
    for start, end, width in picture.rules:
        draw_line(LIGHT.ink, width, start, end)
    for text in picture.texts:
        draw_text(text, LIGHT.ink if text.kind == "ink" else LIGHT.faint)
    file = io.BytesIO()
    canvas.save(file, "PNG")
    return file.getvalue()


# --- summaries: facts, the picture and first values, as HTML that needs nothing else ---

_CLASS = f"{_SCOPE}-summary"


def _summary_css(scheme: Scheme) -> str:
    return (
        f".{_CLASS}{{background:{scheme.paper};color:{scheme.ink}}}"
        f".{_CLASS} th{{color:{scheme.faint}}}"
    )


_SUMMARY_STYLE = (
    f".{_CLASS}{{max-width:{WIDTH}px;border-radius:6px;padding:8px 0;font:13px/1.5 sans-serif}}"
    f".{_CLASS} table{{margin:0 12px;border:0;border-collapse:collapse}}"
    f".{_CLASS} tr,.{_CLASS} th,.{_CLASS} td{{background:none;border:0;text-align:left;"
    "vertical-align:top;padding:1px 8px 1px 0;white-space:normal;overflow-wrap:anywhere}"
    f".{_CLASS} th{{font-weight:normal;white-space:nowrap}}.{_CLASS} td{{color:inherit}}"
    f"{_summary_css(LIGHT)}@media (prefers-color-scheme:dark){{{_summary_css(DARK)}}}"
)


def summary_html(layout: Placement, facts: Sequence[tuple[str, str]]) -> str:
    """Return a table of facts over the picture of a layout."""
    rows = "".join(
        f'<tr><th scope="row">{html.escape(name)}</th><td>{html.escape(value)}</td></tr>'
        for name, value in facts
    )
    picture = Drawing(layout).svg
    return (
        f'<div class="{_CLASS}"><style>{_SUMMARY_STYLE}</style><table>{rows}</table>{picture}</div>'
    )


def layout_facts(layout: Placement) -> list[tuple[str, str]]:
    """Return a layout in numbers and words."""
    return [
        ("layout", truncate(layout)),
        ("in words", content.layout_properties_text(layout)),
        ("padding", content.describe_padding(layout)),
    ]


def describe_bytes(layout: Placement, itemsize: int) -> str:
    """Return the **bytes** of elements, and of the slots from the lowest on that are none."""
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
    """Return the summary of a layout without a tensor."""
    size = content.format_count(layout.size, "element")
    slots = f"{content.format_count(layout.required_size, 'slot')} from slot 0 on"
    if layout.slot_bits is not None:
        slots += f", {content.format_count(layout.nbytes(1), 'byte')}"
    shape = [("shape", f"{layout.shape}, {size}"), *layout_facts(layout), ("storage", slots)]
    return summary_html(layout, shape)
