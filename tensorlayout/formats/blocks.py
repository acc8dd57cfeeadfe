"""Layouts that fill a block of memory, as lists of digits.

An index of a tiled dimension has several digits: in tiles of 4, index 6 is digit 1 (the tile) and
digit 2 (the place in the tile). A `Digit` is a pair (dimension, number); number 0 is the slowest
digit of its dimension. A block is described by the extents of the digits of each dimension, and by
the order in which memory has the digits. Formats such as ``nChw16c`` are such orders.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NoReturn

from tensorlayout.errors import short_repr, truncate
from tensorlayout.layout import Layout, Padding, PaddingValue, slots

Digit = tuple[int, int]


def raise_error(text: str, error: type[Exception] = ValueError) -> NoReturn:
    """Raise an error; the wrapper of the public functions adds the name of the call."""
    raise error(text)


def check_layout(layout: Layout, *, allow_bits: bool = False) -> Layout:
    """Return `layout`; TypeError unless it is a Layout.

    Slots below a byte raise ValueError unless `allow_bits` is True.
    """
    if not isinstance(layout, Layout):
        raise_error(f"layout must be a Layout, got {short_repr(layout)}", TypeError)
    if layout.slot_bits is not None and not allow_bits:
        raise_error(
            f"slots are whole bytes (with_slot_bits(None) has them), got {truncate(layout)}"
        )
    return layout


def block_form(layout: Layout, *, allow_padding: bool = False, allow_bits: bool = False) -> Layout:
    """Return the form of a layout that fills a block from slot 0 on; ValueError for others.

    `allow_padding`: accept padding. `allow_bits`: accept slots smaller than a byte.
    """
    form = check_layout(layout, allow_bits=allow_bits).form
    if not layout.covers_block or not form.same_placement(layout):
        rule = "has only blocks that begin at slot 0, without gaps, repeats or flipped dimensions"
        fix = " (at_origin moves it there)" if layout.at_origin.same_placement(form) else ""
        raise_error(f"{rule}, got {truncate(layout)}{fix}")
    if form.is_padded and not allow_padding:
        raise_error(f"has no padding, got {truncate(layout)}")
    return form


def layout_from_digits(
    shape: tuple[int, ...],
    extents: Sequence[Sequence[int]],
    digit_order: Sequence[Digit],
    padding_value: Padding = PaddingValue.UNSPECIFIED,
) -> Layout:
    """Return the layout of `shape` whose digits lie in memory in `digit_order`, slowest first.

    `extents`: extents of the digits of each dimension, slowest first. If their product exceeds the
    size of the dimension, the rest is padding.
    """
    # A dimension has the place of its slowest digit in the order of dimensions.
    order = tuple(dim for dim, number in reversed(digit_order) if number == 0)
    # A size of 0 makes the strides of all slower digits 0, so only the order of dimensions is kept.
    if 0 in shape:
        return Layout.packed(shape, order)
    strides: dict[Digit, int] = {}
    stride = 1
    for dim, number in reversed(digit_order):
        strides[dim, number] = stride
        stride *= extents[dim][number]
    parts = [
        tuple((extent, strides[dim, number]) for number, extent in enumerate(digits))
        for dim, digits in enumerate(extents)
    ]
    return Layout._from_padded_parts(shape, parts, order, padding_value, owns_padding=True)


def layout_digits(block: Layout) -> tuple[list[list[int]], list[Digit]]:
    """Return the extents and the digit order of a block, as `layout_from_digits` takes them."""
    dim_order = block.minor_to_major[::-1]
    # Without slots no strides tell the order of digits; only that of the dimensions is left.
    if 0 in block.padded_shape:
        return [[n] for n in block.shape], [(dim, 0) for dim in dim_order]
    # Padding counts as part of the slowest digit: its extent reaches to the padded size.
    spanned_parts = map(slots.resize_most_major_part, block.parts, block.padded_shape)
    extents = [[extent for extent, _ in parts] for parts in spanned_parts]
    digit_order = [(dim, number) for dim in dim_order for number in range(len(extents[dim]))]
    positions = [
        position for position, (dim, number) in enumerate(digit_order) if extents[dim][number] != 1
    ]
    ranked = sorted(
        (digit_order[position] for position in positions), key=lambda d: -block.parts[d[0]][d[1]][1]
    )
    # Digits of extent 1 never move the position, so they keep their places in the order.
    for position, digit in zip(positions, ranked, strict=True):
        digit_order[position] = digit
    return extents, digit_order


def is_same_block(candidate: Layout, block: Layout) -> bool:
    """Return whether two layouts place elements and padding alike; checks a written notation."""
    return candidate.same_placement(block) and candidate.padded_shape == block.padded_shape


def matching_name(block: Layout, candidates: Iterable[tuple[str, Layout]]) -> str | None:
    """Return the name of the candidate equal to `block`, preferring an equal dimension order."""
    matches = [(name, layout) for name, layout in candidates if is_same_block(layout, block)]
    # With sizes of 1 several orders place all elements alike; `minor_to_major` remembers which was
    # meant.
    same_order = [name for name, layout in matches if layout.minor_to_major == block.minor_to_major]
    return next(iter([*same_order, *(name for name, _ in matches)]), None)
