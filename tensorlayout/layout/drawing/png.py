"""A picture as PNG, by Pillow, which is imported by name: it is optional."""

from __future__ import annotations

import io
from importlib import import_module
from typing import Any

from tensorlayout.layout.drawing.colours import LIGHT, ON_ROWS, ROWS
from tensorlayout.layout.drawing.content import ELEMENT, GAP
from tensorlayout.layout.drawing.geometry import WIDTH, Box, Picture, Text

_ANCHORS = {"start": "ls", "middle": "ms", "end": "rs"}


def png_of(picture: Picture, scale: float) -> bytes:
    """The bytes of a PNG file; ModuleNotFoundError without Pillow."""
    image, draw = (import_module(f"PIL.{name}") for name in ("Image", "ImageDraw"))
    size = round(WIDTH * scale), round(picture.height * scale)
    canvas = image.new("RGB", size, LIGHT.paper)
    pencil = _Pencil(draw.Draw(canvas), import_module("PIL.ImageFont"), scale)
    for box in picture.boxes:
        pencil.box(box)
    for rule in picture.rules:
        pencil.line(LIGHT.ink, rule.width, rule.start, rule.end)
    for text in picture.texts:
        pencil.text(text, LIGHT.ink if text.kind == "ink" else LIGHT.faint)
    file = io.BytesIO()
    canvas.save(file, "PNG")
    return file.getvalue()


class _Pencil:
    """Draws what geometry has placed, in pixels."""

    def __init__(self, draw: Any, fonts: Any, scale: float) -> None:
        self.draw, self.fonts, self.scale = draw, fonts, scale

    def line(self, colour: str, width: float, *points: tuple[float, float]) -> None:
        at = [(x * self.scale, y * self.scale) for x, y in points]
        self.draw.line(at, colour, max(1, round(width * self.scale)))

    def text(self, text: Text, colour: str) -> None:
        font = self.fonts.load_default(text.size * self.scale)
        at = (text.x * self.scale, text.y * self.scale)
        self.draw.text(at, text.words, colour, font, anchor=_ANCHORS[text.anchor])

    def box(self, box: Box) -> None:
        is_element = box.cell.kind == ELEMENT
        row = ROWS[box.cell.row % len(ROWS)]
        ground = row if is_element else LIGHT.gap if box.cell.kind == GAP else LIGHT.paper
        left, top = box.x * self.scale, box.y * self.scale
        right, low = (box.x + box.width) * self.scale, (box.y + box.height) * self.scale
        self.draw.rectangle((left, top, right, low), ground)
        for start, end in box.hatching:
            self.line(LIGHT.hatch, 1, start, end)
        self.draw.rectangle((left, top, right, low), None, LIGHT.edge, round(self.scale))
        if box.mark:
            self.draw.polygon([(x * self.scale, y * self.scale) for x, y in box.mark], ON_ROWS)
        for text in box.texts:
            self.text(text, ON_ROWS if is_element else LIGHT.ink)
