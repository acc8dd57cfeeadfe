"""Tiles as digits of dimensions: which index a position is made of, where tiles cut evenly.

A physical dimension begins as one digit, its whole index. A tile cuts it into a count and a rest;
later tiles cut those again. What comes out is a number of digits, each a part of one dimension's
index, and each stands somewhere in the buffer. A star makes one axis of several dimensions, which
tiles can cut evenly only between digits or inside one. A cut anywhere else (`Cut`) says nothing of
the dimensions, unless its two halves end up side by side: there they are what they were before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tensorlayout.xla.tiles import COMBINE, Tile, checked_tiles


class Digit(NamedTuple):
    """``index // unit % extent`` of the dimension `dim`, times `weight` in the index of an axis.

    The most major digit of a dimension has room for padding: its extent may be more than the size
    of the dimension needs.
    """

    dim: int
    size: int
    extent: int
    unit: int
    weight: int

    @property
    def is_top(self) -> bool:
        """Whether no digit of the dimension is more major, so that its value has no modulus."""
        return self.unit * self.extent >= self.size

    @property
    def values(self) -> int:
        """How many values it takes, padding left out."""
        return min(self.extent, -(-self.size // self.unit))


@dataclass(frozen=True, eq=False, slots=True)
class Cut:
    """An axis cut into counts and rests of `size` where no digit ends."""

    axis: Axis
    size: int


class Axis(NamedTuple):
    """One dimension of an expanded shape; its digits, the most major first, add up to its index.

    Or one `half` of an uneven cut, counts (0) or rests (1), which has no digits.
    """

    extent: int
    digits: tuple[Digit, ...] = ()
    half: tuple[Cut, int] | None = None

    @property
    def gaps(self) -> list[tuple[int, int]] | None:
        """Extents and weights of what is always 0; None where these fill no gap exactly."""
        found, reach = [], 1
        for weight, extent in (
            *((d.weight, d.extent) for d in self.digits[::-1]),
            (self.extent, 1),
        ):
            if weight % reach:
                return None
            if weight > reach:
                found.append((weight // reach, reach))
            reach = weight * extent
        return found


ONE = Axis(1)


class UnevenError(ValueError):
    """Tiles that cut a merged dimension where no digit ends."""


def axes_of(dims: Sequence[int], sizes: Sequence[int], tiles: Sequence[Tile]) -> list[Axis]:
    """The axes of a buffer, most major first; `dims` and `sizes` are in that order too.

    No size is 0. UnevenError where a tile cuts a merged dimension between the digits' ends, and its
    halves do not meet again.
    """
    checked_tiles(tiles)
    axes = [Axis(n, (Digit(d, n, n, 1, 1),)) for d, n in zip(dims, sizes, strict=True)]
    for tile in tiles:
        axes = [ONE] * (len(tile.dimensions) - len(axes)) + axes
        kept = len(axes) - len(tile.dimensions)
        pairs = _cut_by(tile, axes[kept:])
        axes = [*axes[:kept], *(outer for outer, _ in pairs), *(inner for _, inner in pairs)]
    axes = _healed(axes)
    if any(axis.half for axis in axes):
        raise UnevenError
    return axes


def _cut_by(tile: Tile, axes: Sequence[Axis]) -> list[tuple[Axis, Axis]]:
    pairs: list[tuple[Axis, Axis]] = []
    merged = ONE
    for axis, size in zip(axes, tile.dimensions, strict=True):
        merged = _joined(merged, axis)
        if size != COMBINE:
            pairs.append(_cut(merged, size))
            merged = ONE
    return pairs


# --- joined --------------------------------------------------------------------------------------


def _joined(major: Axis, minor: Axis) -> Axis:
    """Two axes side by side as one."""
    extent = major.extent * minor.extent
    if _are_halves(major, minor):
        assert major.half is not None
        return major.half[0].axis._replace(extent=extent)
    if major.half or minor.half:
        if 1 not in (major.extent, minor.extent):
            raise UnevenError
        return major if major.half else minor
    scaled = (d._replace(weight=d.weight * minor.extent) for d in major.digits)
    return Axis(extent, _coalesced((*scaled, *minor.digits)))


def _are_halves(major: Axis, minor: Axis) -> bool:
    """Whether one cut made both, and the rests still take as much room as they did."""
    if major.half is None or minor.half is None:
        return False
    cut, side = major.half
    return minor.half == (cut, 1) and side == 0 and minor.extent == cut.size


def _coalesced(digits: Sequence[Digit]) -> tuple[Digit, ...]:
    """Digits that continue each other as one; those of one value only where there is no other."""
    found: list[Digit] = []
    for digit in [d for d in digits if d.extent != 1] or digits[-1:]:
        major = found[-1] if found else None
        unit, weight = digit.unit * digit.extent, digit.weight * digit.extent
        if major and (major.dim, major.unit, major.weight) == (digit.dim, unit, weight):
            found[-1] = digit._replace(extent=major.extent * digit.extent)
        else:
            found.append(digit)
    return tuple(found)


def _healed(axes: Iterable[Axis]) -> list[Axis]:
    """The axes with halves of a cut that stand side by side made one again."""
    found: list[Axis] = []
    for axis in axes:
        if axis.extent == 1:
            continue
        found.append(axis)
        while len(found) > 1 and _are_halves(*found[-2:]):
            found[-2:] = [_joined(*found[-2:])]
    return found


# --- cut -----------------------------------------------------------------------------------------


def _cut(axis: Axis, size: int) -> tuple[Axis, Axis]:
    """The count of tiles and the index inside of one, for a tile of `size` along an axis."""
    count = -(-axis.extent // size)
    if size == 1:
        return axis, ONE
    if axis.half and axis.extent <= size:
        return ONE, axis._replace(extent=size)
    digits = None if axis.half else _cut_digits(axis.digits, size)
    if digits is None:
        cut = Cut(axis, size)
        return Axis(count, half=(cut, 0)), Axis(size, half=(cut, 1))
    outer, inner = digits
    return Axis(count, _coalesced(outer)), Axis(size, _coalesced(inner))


def _cut_digits(digits: Sequence[Digit], size: int) -> tuple[list[Digit], list[Digit]] | None:
    """The digits of counts and of rests; None where a tile ends between them."""
    outer: list[Digit] = []
    inner: list[Digit] = []
    below = 0  # the greatest index that the digits so far add up to
    for place, digit in enumerate(reversed(digits), 1):
        _, _, extent, unit, weight = digit
        grows = place == len(digits) and digit.is_top  # only here may the tile have a tail
        room = size // weight if size % weight == 0 else 0
        if weight % size == 0:
            outer.append(digit._replace(weight=weight // size))
        elif 0 < room < extent and (grows or extent % room == 0):
            inner.append(digit._replace(extent=room))
            rest = digit._replace(extent=-(-extent // room), unit=unit * room, weight=1)
            outer.append(rest)
        elif below + (digit.values - 1) * weight < size:
            inner.append(digit._replace(extent=room) if grows and room else digit)
            if grows and room:  # nothing is left of it, but padding may come
                outer.append(digit._replace(extent=1, unit=unit * room, weight=1))
        else:
            return None
        below += (digit.values - 1) * weight
    return outer[::-1], inner[::-1]
