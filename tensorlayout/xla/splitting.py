"""Tiles as digits of dimensions: which index a position is made of, where tiles cut evenly.

A physical dimension begins as one digit, its whole index. A tile cuts it into a count and a rest;
later tiles cut those again. What comes out is a number of digits ``(dim, extent, unit)``, whose
value is ``index // unit % extent``, and each stands somewhere in the buffer. A star makes one axis
of several dimensions, which tiles can cut evenly only between digits or inside one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from tensorlayout.xla.tiles import COMBINE, Tile, checked_tiles

PADDING = -1  # the dimension of digits that are always 0: a tile has more dimensions than the array


class Digit(NamedTuple):
    """``index // unit % extent`` of a dimension; `extent` includes padding."""

    dim: int
    extent: int
    unit: int


class Axis(NamedTuple):
    """One dimension of an expanded shape; its digits, the most major first, say its index.

    The extents of the digits multiply to `extent`, or to less where a tile covers more than a
    merged axis has.
    """

    extent: int
    digits: tuple[Digit, ...]

    @property
    def has_slack(self) -> bool:
        """Whether there is more room than the digits describe."""
        return math.prod(d.extent for d in self.digits) != self.extent


class UnevenError(ValueError):
    """Tiles that cut a merged dimension where no digit ends."""


def axes_of(dims: Sequence[int], sizes: Sequence[int], tiles: Sequence[Tile]) -> list[Axis]:
    """The axes of a buffer, most major first; `dims` and `sizes` are in that order too.

    No size is 0. UnevenError where a tile cuts a merged dimension between the digits' ends.
    """
    checked_tiles(tiles)
    axes = [Axis(n, (Digit(d, n, 1),)) for d, n in zip(dims, sizes, strict=True)]
    for tile in tiles:
        axes = [Axis(1, ())] * (len(tile.dimensions) - len(axes)) + axes
        kept = len(axes) - len(tile.dimensions)
        pairs = _cut_by(tile, axes[kept:])
        axes = [*axes[:kept], *(outer for outer, _ in pairs), *(inner for _, inner in pairs)]
    return axes


def _cut_by(tile: Tile, axes: Sequence[Axis]) -> list[tuple[Axis, Axis]]:
    pairs: list[tuple[Axis, Axis]] = []
    merged = Axis(1, ())
    for axis, size in zip(axes, tile.dimensions, strict=True):
        merged = _joined(merged, axis)
        if size != COMBINE:
            pairs.append(_cut(merged, size))
            merged = Axis(1, ())
    return pairs


def _joined(major: Axis, minor: Axis) -> Axis:
    if (major.has_slack and minor.extent > 1) or (minor.has_slack and major.extent > 1):
        raise UnevenError
    return Axis(major.extent * minor.extent, (*major.digits, *minor.digits))


def _cut(axis: Axis, size: int) -> tuple[Axis, Axis]:
    """The count of tiles and the index inside of one, for a tile of `size` along an axis."""
    count = -(-axis.extent // size)
    if size == 1:
        return axis, Axis(1, ())
    outer = [digit for digit in axis.digits if digit.extent != 1] or [*axis.digits[-1:]]
    inner: list[Digit] = []
    left = size  # of the tile, to be filled by digits from the minor end
    if axis.has_slack:
        return _whole(axis, size, count)
    while outer and left > 1:
        dim, extent, unit = outer.pop()
        if not outer:  # only here may the tile have a tail
            inner.insert(0, Digit(dim, left, unit))
            outer = [Digit(dim, -(-extent // left), unit * left)]
            return Axis(count, tuple(outer)), Axis(size, tuple(inner))
        if left % extent == 0:
            inner.insert(0, Digit(dim, extent, unit))
            left //= extent
        elif extent % left == 0:
            inner.insert(0, Digit(dim, left, unit))
            outer.append(Digit(dim, extent // left, unit * left))
            left = 1
        else:
            return _whole(axis, size, count)
    if left > 1:
        inner.insert(0, Digit(PADDING, left, 0))
    return Axis(count, tuple(outer)), Axis(size, tuple(inner))


def _whole(axis: Axis, size: int, count: int) -> tuple[Axis, Axis]:
    """A tile that takes in all of an axis, with room left over."""
    if count > 1:
        raise UnevenError
    return Axis(1, ()), Axis(size, axis.digits)
