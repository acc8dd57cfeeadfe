"""A picture as SVG: one element a box, colours by CSS, light or dark as the reader's system is."""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape

from tensorlayout.layout.drawing.colours import DARK, LIGHT, ON_ROWS, ROWS, Scheme
from tensorlayout.layout.drawing.content import ELEMENT
from tensorlayout.layout.drawing.geometry import WIDTH, Box, Picture, Text

_FONT = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
SCOPE = "tensorlayout"  # the class of what the rules apply to; styles in SVG are the whole page's


def _scheme(scheme: Scheme) -> str:
    rules = {
        ".paper,.padding": f"fill:{scheme.paper}",
        ".gap": f"fill:{scheme.gap}",
        ".ink,.plain": f"fill:{scheme.ink}",
        ".faint": f"fill:{scheme.faint}",
        ".hatch": f"stroke:{scheme.hatch}",
        ".box": f"stroke:{scheme.edge}",
        ".tile": f"stroke:{scheme.ink}",
    }
    return "".join(f"{_scoped(names)}{{{rule}}}" for names, rule in rules.items())


def _scoped(names: str) -> str:
    return ",".join(f".{SCOPE} {name}" for name in names.split(","))


_ROWS = "".join(f".{SCOPE} .row{n}{{fill:{colour}}}" for n, colour in enumerate(ROWS))
_STYLE = (
    f".{SCOPE} text{{font-family:{_FONT}}}.{SCOPE} .hatch,.{SCOPE} .tile{{fill:none}}"
    f".{SCOPE} .on,.{SCOPE} .mark{{fill:{ON_ROWS}}}"
    f"{_ROWS}{_scheme(LIGHT)}@media (prefers-color-scheme:dark){{{_scheme(DARK)}}}"
)


def svg_of(picture: Picture) -> str:
    """The text of an SVG file, which needs nothing beside it."""
    return "\n".join([*_lines(picture), ""])


def _lines(picture: Picture) -> Iterator[str]:
    size = f'viewBox="0 0 {WIDTH} {_n(picture.height)}" width="{WIDTH}"'
    fitting = 'style="max-width:100%;height:auto"'
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{SCOPE}" role="img" {size}'
        f' height="{_n(picture.height)}" {fitting}>'
    )
    yield f"<title>{escape(picture.title)}</title>"
    yield f"<desc>{escape(picture.description)}</desc>"
    yield f"<style>{_STYLE}</style>"
    yield f'<rect class="paper" width="{WIDTH}" height="{_n(picture.height)}" rx="6"/>'
    for box in picture.boxes:
        yield _box(box)
    for rule in picture.rules:
        (x, y), (right, low) = rule.start, rule.end
        d = f"M{_n(x)} {_n(y)}L{_n(right)} {_n(low)}"
        yield f'<path class="tile" stroke-width="{rule.width}" d="{d}"/>'
    for text in picture.texts:
        yield _text(text, text.kind)
    yield "</svg>"


def _box(box: Box) -> str:
    cell = box.cell
    kind = f"row{cell.row % len(ROWS)}" if cell.kind == ELEMENT else cell.kind
    index = "" if cell.at is None else f' data-index="{",".join(map(str, cell.at))}"'
    area = f'x="{_n(box.x)}" y="{_n(box.y)}" width="{_n(box.width)}" height="{_n(box.height)}"'
    shared = ' data-shared="yes"' if cell.shared else ""
    parts = [
        f'<g class="{box.place}" data-kind="{cell.kind}" data-slot="{cell.slot}"{index}{shared}>',
        f'<rect class="box {kind}" {area}/>',
    ]
    if lines := box.hatching:
        d = "".join(f"M{_n(a)} {_n(b)}L{_n(c)} {_n(e)}" for (a, b), (c, e) in lines)
        parts.append(f'<path class="hatch" d="{d}"/>')
    if box.mark:
        d = "L".join(f"{_n(x)} {_n(y)}" for x, y in box.mark)
        parts.append(f'<path class="mark" d="M{d}Z"/>')
    letters = "on" if cell.kind == ELEMENT else "plain"
    return "".join([*parts, *(_text(text, letters) for text in box.texts), "</g>"])


def _text(text: Text, kind: str) -> str:
    anchor = "" if text.anchor == "start" else f' text-anchor="{text.anchor}"'
    at = f'x="{_n(text.x)}" y="{_n(text.y)}" font-size="{text.size}"{anchor}'
    return f'<text class="{kind}" {at}>{escape(text.words)}</text>'


def _n(number: float) -> str:
    """A coordinate, to a tenth."""
    return f"{number:.1f}".removesuffix(".0")
