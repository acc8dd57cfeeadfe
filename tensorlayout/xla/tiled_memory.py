"""Tiled memory gathered into plain arrays and scattered back, by reshapes and transposes.

Where positions are is said in `tiles`; the same rule here moves whole arrays. Arrays of elements
are physical: the most major dimension first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorlayout.layout.checks import MAX_RANK
from tensorlayout.xla.tiles import Tile, expanded, lengthened, merged, tile_sizes

Array = np.ndarray[Any, Any]


def _checked_rank(sizes: Sequence[int], tiles: Sequence[Tile]) -> None:
    """ValueError where the tiles make more dimensions than NumPy has."""
    if len(expanded(sizes, tiles)) > MAX_RANK:
        msg = f"tiles: {''.join(map(str, tiles))} make more than {MAX_RANK} dimensions"
        raise ValueError(msg)


def _interleaved(kept: int, inner: int) -> list[int]:
    """The axes (count, size) of each tiled dimension side by side, from counts before sizes."""
    pairs = [axis for d in range(inner) for axis in (kept + d, kept + inner + d)]
    return [*range(kept), *pairs]


def scattered(elements: Array, tiles: Sequence[Tile]) -> Array:
    """The slots of a tiled buffer as a vector; padding is 0."""
    _checked_rank(elements.shape, tiles)
    for tile in tiles:
        longer = lengthened(elements.shape, tile)
        now, inner = merged(longer, tile), tile_sizes(tile)
        kept = len(now) - len(inner)
        counts = [-(-d // t) for d, t in zip(now[kept:], inner, strict=True)]
        whole = [*now[:kept], *(c * t for c, t in zip(counts, inner, strict=True))]
        elements = elements.reshape(now)
        if whole != now:
            padded = np.zeros(whole, elements.dtype)
            padded[tuple(slice(0, d) for d in now)] = elements
            elements = padded
        pairs = [n for pair in zip(counts, inner, strict=True) for n in pair]
        apart = np.argsort(_interleaved(kept, len(inner)))
        elements = elements.reshape([*now[:kept], *pairs]).transpose(apart)
    return elements.reshape(-1)


def gathered(slots: Array, sizes: Sequence[int], tiles: Sequence[Tile]) -> Array:
    """The elements in the slots of a tiled buffer, which may have a tail behind them."""
    _checked_rank(sizes, tiles)
    met: list[list[int]] = []  # the sizes that each tile met
    now = list(sizes)
    for tile in tiles:
        met.append(now)
        now = list(expanded(now, [tile]))
    elements = slots[: math.prod(now)].reshape(now)
    for tile, before in zip(reversed(tiles), reversed(met), strict=True):
        inner = tile_sizes(tile)
        kept = elements.ndim - 2 * len(inner)
        paired = elements.transpose(_interleaved(kept, len(inner)))
        counts = elements.shape[kept : kept + len(inner)]
        whole = [c * t for c, t in zip(counts, inner, strict=True)]
        elements = paired.reshape([*elements.shape[:kept], *whole])
        cut = merged(lengthened(before, tile), tile)
        elements = elements[tuple(slice(0, d) for d in cut)].reshape(before)
    return elements
