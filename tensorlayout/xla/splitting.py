"""XLA's tiles as digits of dimensions: which index a position is made of."""

from __future__ import annotations

from collections.abc import Sequence

from tensorlayout.layout import tiling
from tensorlayout.layout.tiling import PADDING, Axis, Digit, UnevenError
from tensorlayout.xla.tiles import Tile, checked_tiles

__all__ = ["PADDING", "Axis", "Digit", "UnevenError", "axes_of"]


def axes_of(dims: Sequence[int], sizes: Sequence[int], tiles: Sequence[Tile]) -> list[Axis]:
    """The axes of a buffer, most major first; `dims` and `sizes` are in that order too.

    No size is 0. UnevenError where a tile cuts a merged dimension between the digits' ends.
    """
    checked_tiles(tiles)
    return tiling.axes_of(dims, sizes, [tile.dimensions for tile in tiles])
