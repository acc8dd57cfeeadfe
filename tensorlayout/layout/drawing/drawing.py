"""`Drawing`: a picture of a layout, in the form that somebody wants."""

from __future__ import annotations

from pathlib import Path
from typing import final

from tensorlayout.layout.drawing.geometry import drawn
from tensorlayout.layout.drawing.svg import svg_of
from tensorlayout.layout.placement import Placement
from tensorlayout.words import shown


@final
class Drawing:
    """A picture of a layout, made by `Layout.draw`; notebooks show it."""

    __slots__ = ("_picture",)

    def __init__(self, layout: Placement) -> None:
        self._picture = drawn(layout)

    @property
    def svg(self) -> str:
        """The text of an SVG file, which follows the reader's light or dark colours.

        >>> from tensorlayout import Layout
        >>> Layout((2, 3), (1, 2)).draw().svg.count('class="grid"')
        6
        """
        return svg_of(self._picture)

    def png(self, scale: float = 2) -> bytes:
        """The bytes of a PNG file in light colours, `scale` pixels a unit.

        ModuleNotFoundError without Pillow, which ``pip install 'tensorlayout[demo]'`` brings.
        """
        from tensorlayout.layout.drawing.png import png_of

        return png_of(self._picture, scale)

    def save(self, path: str | Path) -> None:
        """Write a file: PNG where its name ends with ``.png``, SVG with ``.svg`` or no ending.

        ValueError for another ending, OSError where it fails.
        """
        file = Path(path)
        ending = file.suffix.lower()
        if ending not in (".svg", ".png", ""):
            msg = f"path: must end with .svg or .png, got {shown(file.name)}"
            raise ValueError(msg)
        file.write_bytes(self.png() if ending == ".png" else self.svg.encode())

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<Drawing: {self._picture.title}>"
