"""Tiles as parts of dimensions: the parts that a list of tiles in XLA's notation describes.

A dimension begins as one digit, its whole index. A tile splits it into the number of the tile and
the index inside; later tiles split these again. The result is a list of digits, each a part of one
dimension's index with a place in the buffer. Example: a dimension of 5 with the tile (2) has the
digits ``index // 2`` and ``index % 2``.

A star merges several dimensions into one axis, which tiles can split evenly only between digits or
inside one. Any other split cannot be described by dimensions, unless its two halves end up side by
side, where they are the axis before the split again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tensorlayout.errors import short_repr
from tensorlayout.layout.checks import MAX_RANK, check_integers, raise_argument_error
from tensorlayout.layout.slots import MAX_SLOTS, Parts

TileSizes = tuple[int, ...]  # most major first
Placed = tuple[int, int, int]  # a digit in the buffer: its extent, its unit and its stride

# Compilers use two or three tiles. Each tile adds axes, and takes a step for each of them.
MAX_TILES = 64

# XLA's marker, in place of a tile's size: the dimension is merged into the next more minor one.
COMBINE = -(2**63)


class Digit(NamedTuple):
    """The digit ``index // unit % extent`` of dimension `dim`, with `weight` in an axis's index.

    The extent of a dimension's most major digit may include padding.
    """

    dim: int
    size: int
    extent: int
    unit: int
    weight: int


class TiledAxis(NamedTuple):
    """One dimension of the tiled shape; the sum of its weighted digits is its index.

    The halves of an uneven split have no digits. `half` holds the axis that was split, the size of
    the tile, and the side: 0 for the numbers of tiles, 1 for the indices inside.
    """

    extent: int
    digits: tuple[Digit, ...] = ()
    half: tuple[TiledAxis, int, int] | None = None

    @property
    def gap_extents_and_weights(self) -> list[tuple[int, int]] | None:
        """Extents and weights of the gaps between digits; None if gaps cannot be filled exactly."""
        gap_parts, reach = [], 1
        # In an axis of 8, two digits of extent 2 with the weights 4 and 1 leave a gap of extent 2
        # and weight 2: the indices 2, 3, 6 and 7 never occur.
        for weight, extent in (
            *((d.weight, d.extent) for d in self.digits[::-1]),
            (self.extent, 1),
        ):
            if weight % reach:
                return None
            if weight > reach:
                gap_parts.append((weight // reach, reach))
            reach = weight * extent
        return gap_parts


ONE = TiledAxis(1)


class UnevenError(ValueError):
    """A tile splits a merged dimension where no digit ends."""


def check_tiles(tiles: Sequence[Sequence[int]]) -> tuple[TileSizes, ...]:
    """Return the tiles as tuples. Raises ValueError for too many, empty ones or sizes below 1."""
    if not isinstance(tiles, Sequence):
        rule = "must be a sequence of tiles, each a sequence of sizes"
        raise_argument_error("tiles", f"{rule}, got {short_repr(tiles)}", TypeError)
    if len(tiles) > MAX_TILES:
        raise_argument_error("tiles", f"at most {MAX_TILES} are allowed, got {len(tiles)}")
    tile_sizes = tuple(check_integers("tiles", tile) for tile in tiles)
    for tile in tile_sizes:
        if len(tile) > MAX_RANK:
            raise_argument_error("tiles", f"a tile has at most {MAX_RANK} sizes, got {len(tile)}")
        if not tile or any(n < 1 and n != COMBINE for n in tile) or tile[-1] == COMBINE:
            raise_argument_error(
                "tiles", f"sizes must be at least 1, at least one to a tile, got {short_repr(tile)}"
            )
    return tile_sizes


def _tiled_axes(
    shape: Sequence[int], order: Sequence[int], tiles: Sequence[TileSizes]
) -> list[TiledAxis]:
    """Return the axes of a buffer, most major first; `order` is minor to major."""
    axes = [TiledAxis(shape[d], (Digit(d, shape[d], shape[d], 1, 1),)) for d in reversed(order)]
    # A tile of k sizes replaces the k fastest axes by 2k: the numbers of tiles, then the indices
    # inside. Shape (3, 5) with the tile (2, 2) becomes (2, 3, 2, 2). The next tile applies to these
    # axes, and a tile with more sizes than axes finds leading axes of size 1.
    for tile in tiles:
        axes = [ONE] * (len(tile) - len(axes)) + axes
        untiled_axes, axes = axes[: len(axes) - len(tile)], axes[-len(tile) :]
        counts: list[TiledAxis] = []
        rests: list[TiledAxis] = []
        merged = ONE
        for axis, size in zip(axes, tile, strict=True):
            merged = _join_axes(merged, axis)
            if size != COMBINE:
                count, remainder = _split_axis_by_tile(merged, size)
                counts.append(count)
                rests.append(remainder)
                merged = ONE
        axes = [*untiled_axes, *counts, *rests]
        if math.prod(axis.extent for axis in axes) > MAX_SLOTS:  # further tiles only add padding
            raise_argument_error("tiles", "the sizes and their padding take 2**63 slots or more")
    axes = _rejoin_halves(axes)
    if any(axis.half for axis in axes):
        raise UnevenError
    return axes


# --- joined --------------------------------------------------------------------------------------


def _join_axes(major: TiledAxis, minor: TiledAxis) -> TiledAxis:
    """Return two neighbouring axes as one."""
    extent = major.extent * minor.extent
    if major.half and _are_halves(major, minor):
        return major.half[0]._replace(extent=extent)
    if major.half or minor.half:
        if 1 not in (major.extent, minor.extent):
            raise UnevenError
        return major if major.half else minor
    scaled_digits = (d._replace(weight=d.weight * minor.extent) for d in major.digits)
    return TiledAxis(extent, _merge_digits((*scaled_digits, *minor.digits)))


def _are_halves(major: TiledAxis, minor: TiledAxis) -> bool:
    """Return whether both come from one split, and the second still has its size."""
    if major.half is None:
        return False
    axis, size, side = major.half
    return side == 0 and minor.half == (axis, size, 1) and minor.extent == size


def _merge_digits(digits: Sequence[Digit]) -> tuple[Digit, ...]:
    """Return digits with those that continue each other merged, and without those of extent 1."""
    merged_digits: list[Digit] = []
    for digit in [d for d in digits if d.extent != 1] or digits[-1:]:
        major = merged_digits[-1] if merged_digits else None
        unit, weight = digit.unit * digit.extent, digit.weight * digit.extent
        if major and (major.dim, major.unit, major.weight) == (digit.dim, unit, weight):
            merged_digits[-1] = digit._replace(extent=major.extent * digit.extent)
        else:
            merged_digits.append(digit)
    return tuple(merged_digits)


def _rejoin_halves(axes: Iterable[TiledAxis]) -> list[TiledAxis]:
    """Return the axes with neighbouring halves of one split joined again."""
    merged_axes: list[TiledAxis] = []
    for axis in axes:
        if axis.extent == 1:
            continue
        merged_axes.append(axis)
        while len(merged_axes) > 1 and _are_halves(*merged_axes[-2:]):
            merged_axes[-2:] = [_join_axes(*merged_axes[-2:])]
    return merged_axes


# --- cut -----------------------------------------------------------------------------------------


def _split_axis_by_tile(axis: TiledAxis, size: int) -> tuple[TiledAxis, TiledAxis]:
    """Return the axes of tile numbers and of indices inside a tile of `size`."""
    count = -(-axis.extent // size)
    if size == 1:
        return axis, ONE
    # One tile holds the whole half, so it is not split: the tile's number is always 0.
    if axis.half and axis.extent <= size:
        return ONE, axis._replace(extent=size)
    digits = None if axis.half else _split_digits_by_tile(axis.digits, size)
    if digits is None:
        return TiledAxis(count, half=(axis, size, 0)), TiledAxis(size, half=(axis, size, 1))
    outer, inner = digits
    return TiledAxis(count, _merge_digits(outer)), TiledAxis(size, _merge_digits(inner))


def _split_digits_by_tile(
    digits: Sequence[Digit], size: int
) -> tuple[list[Digit], list[Digit]] | None:
    """Return the digits of tile numbers and of indices inside; None for an uneven split."""
    outer: list[Digit] = []
    inner: list[Digit] = []
    below = 0  # the greatest index, without padding, that the digits so far add up to
    for place, digit in enumerate(reversed(digits), 1):
        _, _, extent, unit, weight = digit
        # Only the most major digit of a dimension may have a tail: its value has no modulus.
        grows = place == len(digits) and unit * extent >= digit.size
        below += (min(extent, -(-digit.size // unit)) - 1) * weight
        # `room` is how many values of the digit fit into a tile; 0 if a tile ends between two
        # values. A digit is outside (each value begins a tile), split in two by the tile's end, or
        # inside (all digits so far stay below the end). Anything else is uneven.
        room = size // weight if size % weight == 0 else 0
        if weight % size == 0:
            outer.append(digit._replace(weight=weight // size))
        elif room and (grows or (room < extent and extent % room == 0)):
            inner.append(digit._replace(extent=room))
            count = -(-extent // room)  # kept even if 1, because padding may extend it
            outer.append(digit._replace(extent=count, unit=unit * room, weight=1))
        elif below < size:
            inner.append(digit)
        else:
            return None
    return outer[::-1], inner[::-1]


# --- placed ---------------------------------------------------------------------------------------


def tiled_parts_and_block_coverage(
    shape: tuple[int, ...], order: Sequence[int], tiles: Sequence[TileSizes]
) -> tuple[list[Parts], bool]:
    """Return the parts of each dimension, with padded extents, and whether they cover a block.

    `order`: minor to major. No size is 0. Raises UnevenError if parts cannot describe the tiles.
    """
    axes = _tiled_axes(shape, order, tiles)
    digits: list[list[Placed]] = [[] for _ in shape]
    stride = 1
    for axis in reversed(axes):
        for digit in reversed(axis.digits):
            digits[digit.dim].append((digit.extent, digit.unit, stride * digit.weight))
        if shape:  # gaps become digits of dimension 0, beyond its index, which are always 0
            digits[0] += [
                (extent, 2**63, stride * weight)
                for extent, weight in axis.gap_extents_and_weights or ()
            ]
        stride *= axis.extent
    return list(map(_parts_from_digits, digits, shape)), all(
        axis.gap_extents_and_weights is not None for axis in axes
    )


def _parts_from_digits(digits: Sequence[Placed], size: int) -> Parts:
    """Return the parts of a dimension; digits beyond its size come first."""
    live = sorted((d for d in digits if d[1] < size and d[0] != 1), key=lambda d: d[1])
    # Parts are digits in mixed radix: each unit must be the product of the smaller extents.
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
