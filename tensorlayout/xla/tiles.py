"""XLA's tiling arithmetic: from physical indices to positions in a tiled buffer, and back.

All sizes and indices are physical: the most major dimension first. The rule, for each tile in turn:
dimensions marked with a star are merged into the next more minor one; the tile covers the most
minor dimensions, after prepending dimensions of size 1 if it has more; each covered size d becomes
a count ceil(d / t) and a size t, counts before sizes. The position is the row-major number in the
resulting sizes. Sizes (3, 5) with the tile (2, 2) become (2, 3, 2, 2).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tensorlayout.errors import raise_named_error
from tensorlayout.layout import COMBINE, MAX_RANK, MAX_TILES, check_integers
from tensorlayout.xla.calling import require


@dataclass(frozen=True, slots=True)
class Tile:
    """Sizes of one tile, most major first; `COMBINE` stands for a star.

    >>> from tensorlayout.xla import COMBINE, Tile
    >>> str(Tile((2, COMBINE, 128)))
    '(2,*,128)'

    ValueError for negative sizes other than `COMBINE`. A size of 0 and an empty tile can be
    written down; they fail validation.
    """

    dimensions: tuple[int, ...]

    def __post_init__(self) -> None:
        sizes = check_integers("tile", self.dimensions)
        known = all(n >= 0 or n == COMBINE for n in sizes)
        require(known, "tile: sizes must not be negative (a star is COMBINE)", sizes)
        object.__setattr__(self, "dimensions", sizes)

    def __str__(self) -> str:
        return f"({','.join('*' if n == COMBINE else str(n) for n in self.dimensions)})"

    @property
    def has_star(self) -> bool:
        """True if some dimension is merged into the next."""
        return COMBINE in self.dimensions


def as_tile(sizes: Tile | Sequence[int]) -> Tile:
    """Return a tile, given as `Tile` or by its sizes."""
    return sizes if isinstance(sizes, Tile) else Tile(check_integers("tile", sizes))


def only_first_tile(tiles: tuple[Tile, ...], rank: int = 2) -> tuple[Tile, ...]:
    """Return the tiles that XLA's older functions count: the first one, none for vectors.

    ValueError for a star, which these functions would treat as a number.
    """
    first = tiles[:1] if rank > 1 else ()
    is_starless = not any(tile.has_star for tile in first)
    require(is_starless, "tiles: this function does not know stars", *first)
    return first


class TilingStep(NamedTuple):
    """Effect of one tile on sizes and on indices."""

    rank: int  # number of sizes before this tile
    extended_sizes: list[int]  # sizes before, with leading ones if the tile is longer
    # For each merged dimension, the dimensions of `extended_sizes` that are merged into it.
    merged_dims: list[range]
    merged_sizes: list[int]
    uncovered_count: int  # number of leading merged dimensions that the tile does not cover
    tile_sizes: list[int]  # sizes of the tile, without stars
    tile_counts: list[int]  # number of tiles along each covered dimension

    @property
    def sizes_after(self) -> list[int]:
        """Sizes before the next tile."""
        return [*self.merged_sizes[: self.uncovered_count], *self.tile_counts, *self.tile_sizes]


def tiling_steps(sizes: Sequence[int], tiles: Sequence[Tile]) -> Iterator[TilingStep]:
    """Yield the effect of each tile in turn; ValueError for meaningless tiles.

    The numbers of tiles and of their sizes are limited, because positions take time in proportion.
    """
    if len(tiles) > MAX_TILES or any(len(tile.dimensions) > MAX_RANK for tile in tiles):
        raise_named_error("tiles", f"must be at most {MAX_TILES}, each of at most {MAX_RANK} sizes")
    for tile in tiles:
        is_meaningful = (
            tile.dimensions and 0 not in tile.dimensions and tile.dimensions[-1] != COMBINE
        )
        rule = "sizes must be at least 1, the last no star (it has nothing to merge into)"
        require(is_meaningful, f"tile: {rule}", tile)
    current_sizes = list(sizes)
    for tile in tiles:
        # Sizes (3, 5) with T(2,2): groups [0], [1]; merged (3, 5); counts (2, 3); afterwards
        # (2, 3, 2, 2).
        # With T(*,4): one group of both; merged (15,); counts (4,); afterwards (4, 4).
        longer = [1] * (len(tile.dimensions) - len(current_sizes)) + current_sizes
        groups = _merged_dim_ranges(len(longer), tile)
        merged = [math.prod(longer[d] for d in group) for group in groups]
        inner = [n for n in tile.dimensions if n != COMBINE]
        # The tile covers the last merged dimensions; a star leaves one fewer of both.
        kept = len(merged) - len(inner)
        counts = [-(-d // t) for d, t in zip(merged[kept:], inner, strict=True)]
        step = TilingStep(len(current_sizes), longer, groups, merged, kept, inner, counts)
        yield step
        current_sizes = step.sizes_after


def _merged_dim_ranges(rank: int, tile: Tile) -> list[range]:
    """Return the dimensions that a tile merges, as one range per resulting dimension."""
    # A star is no end of a group: its dimension joins the next one without a star. Dimensions that
    # the tile does not reach are marked 0 and are groups of their own.
    marks = (0,) * (rank - len(tile.dimensions)) + tile.dimensions
    groups, start = [], 0
    for dim, mark in enumerate(marks):
        if mark != COMBINE:
            groups.append(range(start, dim + 1))
            start = dim + 1
    return groups


def tiled_sizes(sizes: Sequence[int], tiles: Sequence[Tile]) -> tuple[int, ...]:
    """Return the sizes after all tiles; their product is the number of positions.

    >>> tiled_sizes((3, 5), [Tile((2, 2))])
    (2, 3, 2, 2)
    """
    current_sizes = list(sizes)
    for step in tiling_steps(sizes, tiles):
        current_sizes = step.sizes_after
    return tuple(current_sizes)


def slot_of_index(
    index: Sequence[Any],
    sizes: Sequence[int],
    tiles: Sequence[Tile],
    divide: Callable[[int, int], tuple[int, int]] = divmod,
) -> int:
    """Return the slot of a physical index in tiled sizes; `divide` splits by tile size.

    Entries may be arrays that broadcast; then the result is an array of positions.
    """
    entries, current_sizes = list(index), list(sizes)
    for step in tiling_steps(sizes, tiles):
        # In the prepended dimensions of size 1 every index is 0.
        entries = [0] * (len(step.extended_sizes) - len(entries)) + entries
        entries = [
            ravel_index([entries[d] for d in g], [step.extended_sizes[d] for d in g])
            for g in step.merged_dims
        ]
        pairs = [
            divide(e, t)
            for e, t in zip(entries[step.uncovered_count :], step.tile_sizes, strict=True)
        ]
        # In the order of sizes_after: dimensions that are not covered, counts, places inside of a
        # tile.
        entries = [*entries[: step.uncovered_count], *(q for q, _ in pairs), *(r for _, r in pairs)]
        current_sizes = step.sizes_after
    return ravel_index(entries, current_sizes)


def physical_index_of_slot(
    slot: int, sizes: Sequence[int], tiles: Sequence[Tile]
) -> tuple[int, ...]:
    """Return the physical index of a position, by ``quotient * t + remainder`` for each tile.

    `Shape.index_at` describes the results for padding.
    """
    at = unravel_index(slot, tiled_sizes(sizes, tiles))
    # The steps of slot_of_index backwards: join count and place to an entry, split merged entries
    # into their dimensions, and drop the prepended ones of size 1.
    for step in reversed([*tiling_steps(sizes, tiles)]):
        end = step.uncovered_count + len(step.tile_sizes)
        numbers = zip(at[step.uncovered_count : end], step.tile_sizes, at[end:], strict=True)
        merged_entries = [*at[: step.uncovered_count], *(q * t + r for q, t, r in numbers)]
        groups = zip(merged_entries, step.merged_dims, strict=True)
        split_entries = [
            unravel_index(entry, [step.extended_sizes[d] for d in group]) for entry, group in groups
        ]
        at = [entry for entries in split_entries for entry in entries][
            len(step.extended_sizes) - step.rank :
        ]
    return tuple(at)


def ravel_index(index: Sequence[Any], sizes: Sequence[int]) -> int:
    """Return the row-major number of an index."""
    number = 0
    for i, n in zip(index, sizes, strict=True):
        number = number * n + i
    return number


def unravel_index(number: int, sizes: Sequence[int]) -> list[int]:
    """Return the index of a row-major number; any excess stays in the most major entry."""
    # The first size is never divided by, so a number beyond all sizes gives an index beyond the
    # first.
    index: list[int] = []
    for n in reversed(sizes[1:]):
        number, digit = divmod(number, n)
        index.insert(0, digit)
    return [number, *index][: len(sizes)]
