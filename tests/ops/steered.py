"""Draws that leave out no layout and no dtype: the first operand has those that are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from design import chance
from draws import MOST, Draw
from layouts import TENSORS
from tensors import as_dtype, fits

from tensorlayout.layout import Layout


class SteeredDraw(Draw):
    """A draw whose first shape, layout and dtype are asked for; all else is drawn at random.

    `turn` counts through the dtypes that an operation takes. What does not suit is drawn at random:
    a shape of a rank that the operation does not take, or elements that share slots, to be written.
    """

    def __init__(self, random: Random, few: bool, turn: int, layout: Layout) -> None:
        super().__init__(random, few, turn)
        self.most = MOST
        self._turn: int | None = turn
        self._shape: tuple[int, ...] | None = layout.shape
        self._layout: Layout | None = layout

    def dtype(self, words="any"):
        if self._turn is None:
            return super().dtype(words)
        turn, self._turn = self._turn, None
        names = self.names_of(words)
        return names[turn % len(names)]

    def shape(self, least=0, most=6, empty=True):
        shape, self._shape = self._shape, None
        if shape is None or not least <= len(shape) <= most or (0 in shape and not empty):
            return super().shape(least, most, empty)
        return shape

    def layout(self, shape, dtype, writable=False):
        layout = self._layout
        if layout is None or not self._suits(layout, shape, dtype, writable):
            return super().layout(shape, dtype, writable)
        self._layout = None
        return layout

    def _suits(self, layout, shape, dtype, writable):
        if tuple(shape) != layout.shape or not fits(layout, as_dtype(dtype)):
            return False
        return not (writable and layout.is_overlapping) and (self.tiles or not layout.is_tiled)


def draws(name: str, few: bool, step: int = 1) -> Iterator[SteeredDraw]:
    """A draw for every `step`-th layout; `few`: of few dtypes, which are compiled for."""
    random = chance(name, few, step)
    first, turn = random.randrange(step), random.randrange(1 << 16)
    for number in range(first, len(TENSORS), step):
        yield SteeredDraw(chance(name, few, number), few, turn + number // step, TENSORS[number])
