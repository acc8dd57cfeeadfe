"""Digits of tiled dimensions, and boxes of indices in which every digit has a constant stride.

A tiled dimension has no single stride, but indices of whole tiles have a stride for each digit of
their mixed-radix form. A digit counts *units* of indices: in tiles of 8, index 19 is 2 units of 8
and 3 units of 1. A range of indices is cut into a few boxes: its whole tiles, and the partial tiles
before and after them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

from tensorlayout.layout import slots
from tensorlayout.layout.placement import Placement

Steps = tuple[tuple[int, int], ...]  # (count, unit): so many indices, each a unit further


def nested_units_of_dim(
    parts_by_layout: Sequence[slots.Parts], below: float = math.inf
) -> list[int] | None:
    """Return the units of one dimension in several layouts, in falling order, and always 1.

    Only units `below` a number of indices count. None if one does not divide the next, as for
    tiles of 8 and of 12.
    """
    # Tiles of 8 in one layout and of 4 in another: the units 8, 4 and 1 have a stride in both.
    units = {unit for parts in parts_by_layout for unit in slots.part_units(parts)}
    falling = sorted([unit for unit in units if unit == 1 or unit < below], reverse=True)
    return None if any(large % small for large, small in itertools.pairwise(falling)) else falling


def stride_of_unit(parts: slots.Parts, unit: int) -> int:
    """Return the slots between indices that are `unit` apart, a multiple of some part's unit."""
    # Units of parts fall, so the first that fits is the largest; `unit` is some steps of that part.
    for (_, stride), inner in zip(parts, slots.part_units(parts), strict=True):
        if inner <= unit:
            return stride * (unit // inner)
    raise AssertionError


class Box(NamedTuple):
    """A box of indices: the first one, and for each dimension the digits that count from there."""

    first: tuple[int, ...]
    steps: tuple[Steps, ...]

    @property
    def shape_by_digits(self) -> tuple[int, ...]:
        """Shape of the box, with one dimension for each digit."""
        return tuple(count for steps in self.steps for count, _ in steps)

    def slot_of_first_index(self, layout: Placement) -> int:
        """Return the slot of the box's first index in `layout`."""
        return layout.offset + sum(map(slots.slot_of_index, layout.parts, self.first))

    def strides_in(self, layout: Placement) -> tuple[int, ...]:
        """Return the stride of each digit, in elements."""
        pairs = zip(layout.parts, self.steps, strict=True)
        return tuple(stride_of_unit(parts, unit) for parts, steps in pairs for _, unit in steps)


def split_into_boxes(ranges: Sequence[tuple[int, int]], *layouts: Placement) -> list[Box] | None:
    """Return the boxes of the indices in `ranges`; None if the layouts have no common units."""
    cut: list[list[tuple[int, Steps]]] = []
    for dim, (start, stop) in enumerate(ranges):
        units = nested_units_of_dim([layout.parts[dim] for layout in layouts])
        if units is None:
            return None
        cut.append(_boxes_of_dim(start, stop, units))
    return [
        Box(tuple(first for first, _ in runs), tuple(steps for _, steps in runs))
        for runs in itertools.product(*cut)
    ]


def index_range_per_dim(layout: Placement) -> list[tuple[int, int]]:
    """Return the ranges of indices of all elements."""
    return [(0, n) for n in layout.shape]


def padding_boxes(layout: Placement) -> list[list[tuple[int, int]]]:
    """Return ranges of the padded block that together hold each index of padding once."""
    ranges = []
    # One for each padded dimension: before it elements alone, behind it the whole padded sizes.
    for d, (n, p) in enumerate(zip(layout.shape, layout.padded_shape, strict=True)):
        if p > n:
            inside = [(0, m) for m in layout.shape[:d]]
            outside = [(0, q) for q in layout.padded_shape[d + 1 :]]
            ranges.append([*inside, (n, p), *outside])
    return ranges


def _boxes_of_dim(
    start: int, stop: int, units: Sequence[int], first_index: int = 0
) -> list[tuple[int, Steps]]:
    """Return the boxes of one dimension, counted from `first_index`: first index and digits."""
    if start >= stop:
        return []
    unit, finer = units[0], units[1:]
    if not finer:
        return [(first_index + start, ((stop - start, 1),))]
    # Example: 2 to 36 in tiles of 8 is 2 to 8 in the first tile, three whole tiles with a stride
    # for each digit, and 32 to 36 in the last. Partial tiles may be cut by finer units again.
    (low, head), (high, tail) = divmod(start, unit), divmod(stop, unit)
    if low == high:  # inside one tile
        return _boxes_of_dim(head, tail, finer, first_index + low * unit)
    box_list = []
    if head:
        box_list += _boxes_of_dim(head, unit, finer, first_index + low * unit)
        low += 1
    if high > low:
        inner = tuple((u // v, v) for u, v in itertools.pairwise(units))
        box_list.append((first_index + low * unit, ((high - low, unit), *inner)))
    return box_list + _boxes_of_dim(0, tail, finer, first_index + high * unit)
