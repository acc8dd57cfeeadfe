"""Draws docs/assets/transposition.svg: a transposition through tiles, tile after tile.

`python docs/hooks/transposition.py` writes it. Without animation, it shows the end. Its background
suits light and dark pages.
"""

from collections.abc import Iterator
from pathlib import Path

from tensorlayout.layout.drawing.drawing import DARK, LIGHT, ON_ROWS, ROWS, Scheme

PICTURE = Path(__file__).parents[1] / "assets" / "transposition.svg"
N, TILE, CELL = 8, 4, 26  # elements a side, of the matrix and of a tile; points of one
SECONDS = 3  # a tile
TOP = 44
SOURCE, STAGE, RESULT = 10, 20 + CELL * N + 44, 30 + CELL * (N + TILE) + 88  # left edges
TILES = [(i, j) for i in range(0, N, TILE) for j in range(0, N, TILE)]


def colours(scheme: Scheme) -> str:
    """Rules of CSS for light or dark mode."""
    return (
        f".paper {{ fill: {scheme.paper}; }} .title {{ fill: {scheme.faint}; }} "
        f".frame, .cell {{ stroke: {scheme.edge}; }}"
    )


STYLE = f"""
text {{ font: 10px monospace; fill: {ON_ROWS}; text-anchor: middle; }}
.title {{ font: 13px sans-serif; text-anchor: start; }}
.cell {{ stroke-width: .6; }}
.frame {{ fill: none; stroke-width: 1; }}
.mark {{ fill: none; stroke: #d00; stroke-width: 3; }}
{colours(LIGHT)}
@media (prefers-color-scheme: dark) {{ {colours(DARK)} }}
"""


def cell(left: float, row: int, column: int, number: int) -> str:
    """One element, in the colour of its row of the source."""
    x, y = left + column * CELL, TOP + row * CELL
    return (
        f'<rect class="cell" x="{x}" y="{y}" width="{CELL}" height="{CELL}" '
        f'fill="{ROWS[number // N]}"/><text x="{x + CELL / 2}" y="{y + 16}">{number}</text>'
    )


def frame(kind: str, left: float, row: int, column: int, side: int) -> str:
    """An empty square of `side` elements."""
    x, y, points = left + column * CELL, TOP + row * CELL, side * CELL
    return f'<rect class="{kind}" x="{x}" y="{y}" width="{points}" height="{points}"/>'


def animate_opacity(step: float, until: float, last: bool, content: str) -> str:
    """Show an element between two times, in steps; without motion, at the end only."""
    return (
        f'<g opacity="{int(last)}">{content}<animate attributeName="opacity" calcMode="discrete" '
        f'dur="{SECONDS * len(TILES)}s" repeatCount="indefinite" '
        f'keyTimes="0;{step / len(TILES):g};{min(until / len(TILES), 1):g}" values="0;1;0"/></g>'
    )


def parts() -> Iterator[str]:
    """All of the picture."""
    titles = "source, row-major", "a tile", "transposed, row-major"
    for left, title in zip((SOURCE, STAGE, RESULT), titles, strict=True):
        yield f'<text class="title" x="{left}" y="{TOP - 14}">{title}</text>'
    yield frame("frame", STAGE, 2, 0, TILE) + frame("frame", RESULT, 0, 0, N)
    yield from (cell(SOURCE, n // N, n % N, n) for n in range(N * N))
    for step, (i, j) in enumerate(TILES):
        inside = [(r, c, (i + r) * N + j + c) for r in range(TILE) for c in range(TILE)]
        last = step == len(TILES) - 1
        read = "".join(cell(STAGE, 2 + r, c, n) for r, c, n in inside)
        yield animate_opacity(step, step + 1, last, frame("mark", SOURCE, i, j, TILE) + read)
        written = "".join(cell(RESULT, j + c, i + r, n) for r, c, n in inside)
        yield animate_opacity(step + 0.5, len(TILES), True, written)
        yield animate_opacity(step + 0.5, step + 1, last, frame("mark", RESULT, j, i, TILE))


def svg() -> str:
    """The text of the file."""
    width, height = RESULT + CELL * N + 10, TOP + CELL * N + 10
    about = "Tiles of 4 x 4 are read along rows, and written along rows of the transposed matrix."
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}">'
    )
    paper = f'<rect class="paper" width="{width}" height="{height}" rx="6"/>'
    title = f"<title>{about}</title><style>{STYLE}</style>"
    return "\n".join([head, title, paper, *parts(), "</svg>\n"])


if __name__ == "__main__":
    PICTURE.write_text(svg(), "utf-8")
