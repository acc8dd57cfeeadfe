"""Tiles as parts of dimensions: which parts a list of tiles, as XLA writes them, makes.

A dimension begins as one digit, its whole index. A tile cuts it into a count and a rest; later
tiles cut those again. What comes out is a number of digits ``(dim, extent, unit)``, whose value is
``index // unit % extent``, and each stands somewhere in the buffer. A star makes one axis of
several dimensions, which tiles can cut evenly only between digits or inside one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from tensorlayout.layout.checks import checked_integers
from tensorlayout.layout.slots import MAX_SLOTS, Parts

TileSizes = tuple[int, ...]  # most major first
Placed = tuple[int, int, int]  # a digit in the buffer: its extent, its unit and its stride

# In place of the size of a tile: the dimension is merged into the next more minor one.
COMBINE = -(2**63)
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


def checked_tiles(tiles: Sequence[Sequence[int]]) -> tuple[TileSizes, ...]:
    """The tiles as tuples; ValueError where one means nothing: empty, or a size below 1."""
    found = tuple(checked_integers("tiles", tile) for tile in tiles)
    for tile in found:
        if not tile or any(n < 1 and n != COMBINE for n in tile) or tile[-1] == COMBINE:
            msg = f"tiles: sizes must be at least 1, at least one to a tile, got {tile}"
            raise ValueError(msg)
    return found


def axes_of(dims: Sequence[int], sizes: Sequence[int], tiles: Sequence[TileSizes]) -> list[Axis]:
    """The axes of a buffer, most major first; `dims` and `sizes` are in that order too.

    No size is 0. UnevenError where a tile cuts a merged dimension between the digits' ends.
    """
    axes = [Axis(n, (Digit(d, n, 1),)) for d, n in zip(dims, sizes, strict=True)]
    for tile in tiles:
        axes = [Axis(1, ())] * (len(tile) - len(axes)) + axes
        kept = len(axes) - len(tile)
        pairs = _cut_by(tile, axes[kept:])
        axes = [*axes[:kept], *(outer for outer, _ in pairs), *(inner for _, inner in pairs)]
    return axes


def _cut_by(tile: TileSizes, axes: Sequence[Axis]) -> list[tuple[Axis, Axis]]:
    pairs: list[tuple[Axis, Axis]] = []
    merged = Axis(1, ())
    for axis, size in zip(axes, tile, strict=True):
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


def parts_of(
    shape: tuple[int, ...], order: Sequence[int], tiles: Sequence[TileSizes]
) -> tuple[list[Parts], bool]:
    """The parts of each dimension, their extents with padding, and whether they cover a block.

    `order`: minor to major. ValueError beyond 2**63 - 1 slots; UnevenError where the tiles cannot
    be said as parts. No size is 0.
    """
    axes = axes_of(order[::-1], [shape[d] for d in reversed(order)], tiles)
    if math.prod(axis.extent for axis in axes) > MAX_SLOTS:
        msg = f"tiles: shape {shape} takes 2**63 slots or more"
        raise ValueError(msg)
    dims = list(map(_parts, _digits(axes, len(shape)), shape))
    return dims, not any(axis.has_slack for axis in axes)


def _digits(axes: Sequence[Axis], rank: int) -> list[list[Placed]]:
    """The digits of each dimension as they stand in the buffer.

    Those of no dimension go to dimension 0, as digits that are always 0.
    """
    found: dict[int, list[Placed]] = {dim: [] for dim in (PADDING, *range(rank))}
    stride = 1
    for axis in reversed(axes):
        step = stride
        for dim, extent, unit in reversed(axis.digits):
            found[dim].append((extent, unit, step))
            step *= extent
        stride *= axis.extent
    homeless = [(extent, 2**63, step) for extent, _, step in found[PADDING]]
    if rank:
        found[0] = found[0] + homeless
    return [found[dim] for dim in range(rank)]


def _parts(digits: Sequence[Placed], size: int) -> Parts:
    """The parts of a dimension; UnevenError where its digits are no mixed radix.

    Digits that are always 0 come first: they are padding, and the padded size counts them.
    """
    live = sorted((d for d in digits if d[1] < size and d[0] != 1), key=lambda d: d[1])
    reach = 1
    for extent, unit, _ in live:
        if unit != reach:
            raise UnevenError
        reach *= extent
    idle = [d for d in digits if d[1] >= size and d[0] != 1]
    # The larger strides first, so that digits that continue each other become one.
    idle.sort(key=lambda d: -d[2])
    parts = [(extent, stride) for extent, _, stride in (*idle, *reversed(live))]
    return tuple(parts) or ((1, 1),)
