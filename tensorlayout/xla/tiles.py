"""Tiles: XLA's arithmetic from physical indices to positions in a tiled buffer, and back.

All sizes and indices here are physical: the most major dimension first. The rule, for each tile in
turn: dimensions marked with a star are merged into the next more minor one; the tile covers the
most minor dimensions, with dimensions of size 1 put in front where it has more; each covered size d
becomes a count ceil(d / t) and a size t, counts before sizes. The position is the row-major number
in the shape that the last tile left.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tensorlayout.layout.checks import MAX_RANK, checked_integers
from tensorlayout.layout.tiling import MAX_TILES
from tensorlayout.words import cut, shown

# What XLA stores for a star. Its documentation says -1, which its own code refuses.
COMBINE = -(2**63)


@dataclass(frozen=True, slots=True)
class Tile:
    """The sizes of one tile, most major first; `COMBINE` stands for a star.

    >>> str(Tile((2, COMBINE, 128)))
    '(2,*,128)'

    ValueError for negative sizes other than `COMBINE`. A size of 0 and an empty tile can be
    written down; they fail validation.
    """

    dimensions: tuple[int, ...]

    def __post_init__(self) -> None:
        sizes = checked_integers("tile", self.dimensions)
        if any(n < 0 and n != COMBINE for n in sizes):
            msg = f"tile: sizes must not be negative (a star is COMBINE), got {shown(sizes)}"
            raise ValueError(msg)
        object.__setattr__(self, "dimensions", sizes)

    def __str__(self) -> str:
        return f"({','.join('*' if n == COMBINE else str(n) for n in self.dimensions)})"

    @property
    def has_star(self) -> bool:
        """Whether some dimension is merged into the next."""
        return COMBINE in self.dimensions


def checked_tiles(tiles: Sequence[Tile]) -> None:
    """ValueError for tiles that mean nothing: empty, of size 0, or with a star at the minor end.

    And for more than 64, or more than 64 sizes to one: positions take as many steps as both make.
    """
    if len(tiles) > MAX_TILES or any(len(tile.dimensions) > MAX_RANK for tile in tiles):
        msg = f"tiles: must be at most {MAX_TILES}, each of at most {MAX_RANK} sizes"
        raise ValueError(msg)
    for tile in tiles:
        if not tile.dimensions or 0 in tile.dimensions or tile.dimensions[-1] == COMBINE:
            rule = "sizes must be at least 1, the last no star (it has nothing to merge into)"
            msg = f"tile: {rule}, got {cut(tile)}"
            raise ValueError(msg)


def lengthened(sizes: Sequence[int], tile: Tile) -> list[int]:
    """`sizes` with dimensions of size 1 in front where the tile has more."""
    return [1] * (len(tile.dimensions) - len(sizes)) + list(sizes)


def _groups(rank: int, tile: Tile) -> list[range]:
    """The runs of dimensions that a tile merges, one run for each dimension that is left."""
    marks = (0,) * (rank - len(tile.dimensions)) + tile.dimensions
    groups, start = [], 0
    for dim, mark in enumerate(marks):
        if mark != COMBINE:
            groups.append(range(start, dim + 1))
            start = dim + 1
    return groups


def tile_sizes(tile: Tile) -> tuple[int, ...]:
    """The sizes of a tile without its stars: one for each dimension that is left after merging."""
    return tuple(n for n in tile.dimensions if n != COMBINE)


def merged(sizes: Sequence[int], tile: Tile) -> list[int]:
    """The sizes after a tile's stars have merged dimensions; `sizes` has at least its length."""
    return [math.prod(sizes[d] for d in group) for group in _groups(len(sizes), tile)]


def expanded(sizes: Sequence[int], tiles: Sequence[Tile]) -> tuple[int, ...]:
    """The sizes after all tiles; their product is the number of positions.

    >>> expanded((3, 5), [Tile((2, 2))])
    (2, 3, 2, 2)
    """
    checked_tiles(tiles)
    now = list(sizes)
    for tile in tiles:
        now = merged(lengthened(now, tile), tile)
        inner = tile_sizes(tile)
        kept = len(now) - len(inner)
        counts = [-(-d // t) for d, t in zip(now[kept:], inner, strict=True)]
        now = [*now[:kept], *counts, *inner]
    return tuple(now)


def position(index: Sequence[int], sizes: Sequence[int], tiles: Sequence[Tile]) -> int:
    """The position of the element at a physical index.

    >>> position((2, 3), (3, 5), [Tile((2, 2))])
    17
    """
    checked_tiles(tiles)
    at, now = list(index), list(sizes)
    for tile in tiles:
        longer = lengthened(now, tile)
        at = [0] * (len(longer) - len(at)) + at
        groups = _groups(len(longer), tile)
        at = [row_major([at[d] for d in g], [longer[d] for d in g]) for g in groups]
        now = merged(longer, tile)
        inner = tile_sizes(tile)
        kept = len(now) - len(inner)
        pairs = [divmod(e, t) for e, t in zip(at[kept:], inner, strict=True)]
        counts = [-(-d // t) for d, t in zip(now[kept:], inner, strict=True)]
        at = [*at[:kept], *(q for q, _ in pairs), *(r for _, r in pairs)]
        now = [*now[:kept], *counts, *inner]
    return row_major(at, now)


def index_at(slot: int, sizes: Sequence[int], tiles: Sequence[Tile]) -> tuple[int, ...]:
    """The physical index of a position, each tile undone by ``quotient * t + remainder``.

    On padding mostly some entry is at its size or beyond. Not so in the padding of dimensions that
    a tile puts in front, and of a later tile that does not divide an earlier one: there it is the
    index of an element that stands elsewhere.

    >>> index_at(17, (3, 5), [Tile((2, 2))]), index_at(9, (3, 5), [Tile((2, 2))])
    ((2, 3), (0, 5))
    """
    checked_tiles(tiles)
    met: list[tuple[int, list[int]]] = []  # by each tile: how many dimensions, and them lengthened
    now = list(sizes)
    for tile in tiles:
        met.append((len(now), lengthened(now, tile)))
        now = list(expanded(now, [tile]))
    at = unravelled(slot, now)
    for tile, (rank, longer) in zip(reversed(tiles), reversed(met), strict=True):
        inner = tile_sizes(tile)
        k, kept = len(inner), len(at) - 2 * len(inner)
        counts, rest = at[kept : kept + k], at[kept + k :]
        entries_at = [*at[:kept], *(q * t + r for q, t, r in zip(counts, inner, rest, strict=True))]
        groups = zip(entries_at, _groups(len(longer), tile), strict=True)
        parted = [_parted(entry, [longer[d] for d in group]) for entry, group in groups]
        at = [entry for entries in parted for entry in entries][len(longer) - rank :]
    return tuple(at)


def _parted(entry: int, sizes: Sequence[int]) -> list[int]:
    """A merged entry back as one per dimension; what is too much ends in the most major one."""
    found: list[int] = []
    for n in reversed(sizes[1:]):
        entry, digit = divmod(entry, n)
        found.insert(0, digit)
    return [entry, *found]


def row_major(index: Sequence[int], sizes: Sequence[int]) -> int:
    """The row-major number of an index."""
    number = 0
    for i, n in zip(index, sizes, strict=True):
        number = number * n + i
    return number


def unravelled(number: int, sizes: Sequence[int]) -> list[int]:
    """The index of a row-major number."""
    index: list[int] = []
    for n in reversed(sizes):
        number, digit = divmod(number, n)
        index.insert(0, digit)
    return index


def change_nothing(sizes: Sequence[int], tiles: Sequence[Tile]) -> bool:
    """Whether the tiles add no padding and keep the order; each is judged by itself.

    A sufficient test: False for tiles that undo each other. A star changes nothing by itself.
    """
    checked_tiles(tiles)
    now = list(sizes)
    for tile in tiles:
        now = merged(lengthened(now, tile), tile)
        inner = tile_sizes(tile)
        covered = now[len(now) - len(inner) :]
        if any(d % t for d, t in zip(covered, inner, strict=True)):
            return False
        counts = [d // t for d, t in zip(covered, inner, strict=True)]
        first = next((d for d, t in enumerate(inner) if t != 1), len(inner))
        if any(count != 1 for count in counts[first + 1 :]):
            return False
        now = [*now[: len(now) - len(inner)], *counts, *inner]
    return True
