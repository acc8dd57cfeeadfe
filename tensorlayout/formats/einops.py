"""Patterns of einops: in ``b c h w -> b h w c`` the right side is the order of axes in memory."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from string import ascii_lowercase
from typing import Any, NamedTuple

from tensorlayout.errors import short_repr, truncate
from tensorlayout.formats.blocks import (
    Digit,
    block_form,
    is_same_block,
    layout_digits,
    layout_from_digits,
    raise_error,
)
from tensorlayout.layout import Layout, check_integer, check_sizes

__all__ = ["EinopsPattern", "read", "write"]

_AXIS = r"[\w.]+"
_GROUP = rf"{_AXIS}|\([^)]*\)"
# Possessive quantifiers, so that no text makes the match backtrack exponentially.
_SIDE = r"(?: *+(?:[\w.]++|\((?: *+[\w.]++)*+ *+\)))*+ *+"


class EinopsPattern(NamedTuple):
    """A pattern of ``einops.rearrange``, and the lengths that its composite axes need.

    ``rearrange(x, pattern, **lengths)``, made contiguous, has the elements in the memory order of
    x.

    >>> from tensorlayout import Layout, formats
    >>> transposed = formats.einops.EinopsPattern("a b -> b a", {})
    >>> transposed == formats.einops.write(Layout.column_major((2, 3)))
    True
    """

    pattern: str
    lengths: dict[str, int]


def read(shape: Sequence[int], pattern: str | EinopsPattern, **lengths: int) -> Layout:
    """Return the layout of `shape` whose memory is in the order of a pattern's right side.

    - `shape`: sizes of the dimensions on the left side.
    - `pattern`: text such as ``"b c h w -> b h w c"``, or an `EinopsPattern`. Composite axes on the
      left become tiles; brackets on the right change nothing; ``...`` stands for all other axes.
    - `lengths`: lengths of the axes inside composite axes; one of each composite may be omitted.

    Raises `ValueError` for a pattern that einops would reject, and for sizes or lengths that do not
    fit it; `TypeError` for lengths that are not integers.

    >>> from tensorlayout import formats
    >>> formats.einops.read((3, 32, 2, 2), "b (c k) h w -> b c h w k", k=16)
    Layout.parse('(3,32,2,2):(128,2*64+16*1,32,16)')
    """
    sizes = check_sizes("shape", shape)
    text = pattern
    if isinstance(pattern, EinopsPattern):
        if not isinstance(pattern.lengths, Mapping):
            received = short_repr(pattern.lengths)
            raise_error(f"lengths must be a dictionary of integers, got {received}", TypeError)
        text, lengths = pattern.pattern, {**pattern.lengths, **lengths}
    left, right = _parse_sides(text, len(sizes))
    # Each axis on the left is a digit of a dimension: in "b (c k)", c is (1, 0) and k is (1, 1).
    axis_digits = {axis: (dim, k) for dim, axes in enumerate(left) for k, axis in enumerate(axes)}
    order = [axis for axes in right for axis in axes]
    unknown = lengths.keys() - axis_digits.keys()
    if unknown or sorted(order) != sorted(axis_digits) or len(axis_digits) != sum(map(len, left)):
        received = short_repr(text, 200)
        if unknown:
            received += f" and a length of {short_repr(min(unknown, key=str))}"
        raise_error(f"each axis must be on both sides, once, got {received}")
    extents = [_axis_lengths(n, axes, lengths) for n, axes in zip(sizes, left, strict=True)]
    # A dimension written as 1 has no axis, but the layout needs a digit for it. Of size 1, it may
    # be anywhere.
    unit_digits = [(dim, 0) for dim, axes in enumerate(left) if not axes]
    return layout_from_digits(
        sizes, extents, [*unit_digits, *(axis_digits[axis] for axis in order)]
    )


def _axis_lengths(size: int, axes: list[str], lengths: dict[str, int]) -> list[int]:
    """Return the lengths of the axes that make up one dimension."""
    known_lengths = {axis: check_integer(axis, lengths[axis]) for axis in axes if axis in lengths}
    unknown_axes = [axis for axis in axes if axis not in known_lengths]
    known_product = math.prod(known_lengths.values())
    if min(known_lengths.values(), default=1) < 1 or len(unknown_axes) > 1 or size % known_product:
        rule = f"axes {' '.join(axes)} need lengths of 1 or more, all but one, that divide {size}"
        raise_error(f"{rule}, got {short_repr(known_lengths)}")
    if not unknown_axes and known_product != size:
        raise_error(f"axes {short_repr(' '.join(axes))} make {known_product}, the size is {size}")
    return [known_lengths.get(axis, size // known_product) for axis in axes] or [1]


def _parse_sides(pattern: Any, rank: int) -> tuple[list[list[str]], list[list[str]]]:
    """Return the axes of each dimension on the left and on the right, with ``...`` expanded."""
    sides = pattern.split("->") if isinstance(pattern, str) else []
    # The limit keeps the work for hostile text small.
    if len(sides) != 2 or len(pattern) > 4096:
        raise_error(f"pattern must have the form 'b c -> c b', got {short_repr(pattern, 200)}")
    left, right = (_parse_side(side, pattern) for side in sides)
    counts = [[axis for axes in side for axis in axes].count("...") for side in (left, right)]
    # `left` has one entry for '...', which stands for all dimensions that the other entries leave.
    ellipsis_rank = rank + 1 - len(left)
    inside = re.search(r"\([^)]*\.\.\.", sides[0]) is not None
    if counts not in ([0, 0], [1, 1]) or (counts[0] and (inside or ellipsis_rank < 0)):
        rule = "'...' must be an axis of its own on the left, and on both sides"
        raise_error(f"{rule}, got {short_repr(pattern, 200)}")
    if ["..."] in left:
        ellipsis_position = left.index(["..."])
        # "...0" is no valid name of an axis, so it clashes with none of the pattern.
        ellipsis_axes = [f"...{n}" for n in range(ellipsis_rank)]
        left[ellipsis_position : ellipsis_position + 1] = [[axis] for axis in ellipsis_axes]
        right = [
            [a for axis in axes for a in (ellipsis_axes if axis == "..." else [axis])]
            for axes in right
        ]
    if len(left) != rank:
        received = short_repr(pattern, 200)
        raise_error(f"pattern {received} is of {len(left)} dimensions, the shape has {rank}")
    return left, right


def _parse_side(side: str, pattern: str) -> list[list[str]]:
    """Return the axes of each dimension on one side; a dimension written as 1 has none."""
    if not (re.fullmatch(_SIDE, side) and all(map(_is_valid_axis_name, re.findall(_AXIS, side)))):
        raise_error(
            f"pattern must have the form 'b (h p) -> h b p', got {short_repr(pattern, 200)}"
        )
    groups = [re.findall(_AXIS, group) for group in re.findall(_GROUP, side)]
    return [[axis for axis in axes if not axis.isdecimal()] for axes in groups]


def _is_valid_axis_name(name: str) -> bool:
    """Return whether einops accepts an axis: an ellipsis, a 1, or a name."""
    if name.isdecimal():
        return int(name) == 1
    return name == "..." or (name.isidentifier() and "_" not in (name[0], name[-1]))


def write(layout: Layout, names: str | None = None) -> EinopsPattern:
    """Return the pattern whose right side is the memory order of `layout`, with its lengths.

    `names`: names of the dimensions, in letters, separated by blanks; ``a b c …`` by default. A
    tiled dimension becomes a composite axis of numbered axes.

    Raises `ValueError` if the layout does not fill a block from slot 0 on or has padding, and for
    unsuitable names; `TypeError` if `layout` is not a Layout.

    >>> from tensorlayout import Layout, formats
    >>> formats.einops.write(Layout.tiled((3, 32, 2, 2), [(16, 1, 1)]), "b c h w")
    EinopsPattern(pattern='b (c1 c2) h w -> b c1 h w c2', lengths={'c2': 16})
    """
    block = block_form(layout)
    names_text = " ".join(ascii_lowercase[: block.ndim]) if names is None else names
    axis_words = names_text.split() if isinstance(names_text, str) else []
    are_letters = all(word.isascii() and word.isalpha() for word in axis_words)
    if not are_letters or len(axis_words) != block.ndim or len({*axis_words}) != len(axis_words):
        rule = f"names must be {block.ndim} different ones, of letters with blanks between"
        raise_error(f"{rule}, got {short_repr(names)}")
    extents, places = layout_digits(block)

    def axis_name(digit: Digit) -> str:
        dim, number = digit
        return axis_words[dim] if len(extents[dim]) == 1 else f"{axis_words[dim]}{number + 1}"

    digits = [[(dim, k) for k in range(len(extents[dim]))] for dim in range(block.ndim)]
    left = [" ".join(map(axis_name, dim_digits)) for dim_digits in digits]
    left = [f"({text})" if " " in text else text for text in left]
    # The slowest axis of each composite follows from the size, so einops needs only the others.
    lengths = {axis_name((d, k)): extents[d][k] for dim_digits in digits for d, k in dim_digits[1:]}
    result = EinopsPattern(f"{' '.join(left)} -> {' '.join(map(axis_name, places))}", lengths)
    # Reading the pattern back proves it, so that no wrong one is returned.
    if not is_same_block(read(block.shape, result), block):
        raise_error(f"no pattern describes {truncate(layout)}")
    return result
