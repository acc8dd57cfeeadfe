"""Layouts that fill a block: the digits of their indices, in the order in which memory has them.

A digit is a pair (dimension, number): of the parts of a dimension the first has the number 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NoReturn

from tensorlayout.errors import cut, shown
from tensorlayout.layout import Layout, Padding, PaddingValue, slots

Digit = tuple[int, int]


def refuse(text: str, error: type[Exception] = ValueError) -> NoReturn:
    """Raise an error; the guard of the rows puts the name of the call before it."""
    raise error(text)


def checked(layout: Layout, *, bits: bool = False) -> Layout:
    """`layout`; TypeError for anything else, ValueError for slots of bits unless `bits` may be."""
    if not isinstance(layout, Layout):
        refuse(f"layout must be a Layout, got {shown(layout)}", TypeError)
    if layout.slot_bits is not None and not bits:
        refuse(f"slots are whole bytes (with_slot_bits(None) has them), got {cut(layout)}")
    return layout


def block_of(layout: Layout, *, padded: bool = False, bits: bool = False) -> Layout:
    """The form of a layout that is one, from slot 0 on; ValueError for all that is no such block.

    `padded`: whether it may have padding. `bits`: whether slots may be less than a byte.
    """
    form = checked(layout, bits=bits).form
    if not layout.covers_block or not form.same_placement(layout):
        rule = "has only blocks that begin at slot 0, without gaps, repeats or flipped dimensions"
        fix = " (at_origin moves it there)" if layout.at_origin.same_placement(form) else ""
        refuse(f"{rule}, got {cut(layout)}{fix}")
    if form.is_padded and not padded:
        refuse(f"has no padding, got {cut(layout)}")
    return form


def laid_out(
    shape: tuple[int, ...],
    extents: Sequence[Sequence[int]],
    places: Sequence[Digit],
    padding_value: Padding = PaddingValue.UNSPECIFIED,
) -> Layout:
    """The layout of `shape` whose digits stand in memory as `places` says, the slowest first.

    `extents`: those of each dimension's digits, from the slowest; what exceeds a size is padding.
    """
    order = tuple(dim for dim, number in reversed(places) if number == 0)
    if 0 in shape:
        return Layout.packed(shape, order)
    strides: dict[Digit, int] = {}
    running = 1
    for dim, number in reversed(places):
        strides[dim, number] = running
        running *= extents[dim][number]
    parts = [
        tuple((extent, strides[dim, number]) for number, extent in enumerate(digits))
        for dim, digits in enumerate(extents)
    ]
    return Layout._of_whole(shape, parts, order, padding_value, owned=True)


def digits_of(block: Layout) -> tuple[list[list[int]], list[Digit]]:
    """The extents and the places, as of `laid_out`, of a layout that is its own form."""
    tops = block.minor_to_major[::-1]
    if 0 in block.padded_shape:
        return [[n] for n in block.shape], [(dim, 0) for dim in tops]
    whole = map(slots.spanning, block.parts, block.padded_shape)
    extents = [[extent for extent, _ in parts] for parts in whole]
    places = [(dim, number) for dim in tops for number in range(len(extents[dim]))]
    seats = [seat for seat, (dim, number) in enumerate(places) if extents[dim][number] != 1]
    ranked = sorted((places[seat] for seat in seats), key=lambda d: -block.parts[d[0]][d[1]][1])
    for seat, digit in zip(seats, ranked, strict=True):  # those of one value keep theirs
        places[seat] = digit
    return extents, places


def is_said(found: Layout, block: Layout) -> bool:
    """Return whether a layout that was read is the one that was to be written."""
    return found.same_placement(block) and found.padded_shape == block.padded_shape


def named(block: Layout, known: Iterable[tuple[str, Layout]]) -> str | None:
    """The name of the layout that a block is: the same order of dimensions, else the same slots."""
    found = [(word, layout) for word, layout in known if is_said(layout, block)]
    alike = [word for word, layout in found if layout.minor_to_major == block.minor_to_major]
    return next(iter([*alike, *(word for word, _ in found)]), None)
