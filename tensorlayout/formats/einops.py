"""Patterns of einops: the order of axes in memory is the right side of ``b c h w -> b h w c``."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from string import ascii_lowercase
from typing import Any, NamedTuple

from tensorlayout.errors import cut, shown
from tensorlayout.formats.blocks import Digit, block_of, digits_of, is_said, laid_out, refuse
from tensorlayout.layout import Layout, checked_integer, checked_sizes

__all__ = ["EinopsPattern", "read", "write"]

_AXIS = r"[\w.]+"
_GROUP = rf"{_AXIS}|\([^)]*\)"
_SIDE = r"(?: *+(?:[\w.]++|\((?: *+[\w.]++)*+ *+\)))*+ *+"


class EinopsPattern(NamedTuple):
    """A pattern of ``einops.rearrange``, and the lengths that its composite axes need.

    ``rearrange(x, pattern, **lengths)``, made contiguous, is the memory of a tensor x.

    >>> from tensorlayout import Layout, formats
    >>> transposed = formats.einops.EinopsPattern("a b -> b a", {})
    >>> transposed == formats.einops.write(Layout.column_major((2, 3)))
    True
    """

    pattern: str
    lengths: dict[str, int]


def read(shape: Sequence[int], pattern: str | EinopsPattern, **lengths: int) -> Layout:
    """The layout of `shape`, the left side, whose memory is the right side of a `pattern`.

    Composite axes of the left side are tiles; `lengths` are those of their axes, of each composite
    one may be left out. On the right side brackets change nothing. ``...`` are all other axes.
    ValueError for a pattern that einops would refuse, and for sizes that it does not fit.

    >>> from tensorlayout import formats
    >>> formats.einops.read((3, 32, 2, 2), "b (c k) h w -> b c h w k", k=16)
    Layout.parse('(3,32,2,2):(128,2*64+16*1,32,16)')
    """
    sizes = checked_sizes("shape", shape)
    text = pattern
    if isinstance(pattern, EinopsPattern):
        if not isinstance(pattern.lengths, Mapping):
            came = shown(pattern.lengths)
            refuse(f"lengths must be a dictionary of integers, got {came}", TypeError)
        text, lengths = pattern.pattern, {**pattern.lengths, **lengths}
    left, right = _sides(text, len(sizes))
    where = {axis: (dim, k) for dim, axes in enumerate(left) for k, axis in enumerate(axes)}
    order = [axis for axes in right for axis in axes]
    unknown = lengths.keys() - where.keys()
    if unknown or sorted(order) != sorted(where) or len(where) != sum(map(len, left)):
        came = shown(text, 200)
        if unknown:
            came += f" and a length of {shown(min(unknown, key=str))}"
        refuse(f"each axis must be on both sides, once, got {came}")
    extents = [_extents(n, axes, lengths) for n, axes in zip(sizes, left, strict=True)]
    single = [(dim, 0) for dim, axes in enumerate(left) if not axes]
    return laid_out(sizes, extents, [*single, *(where[axis] for axis in order)])


def _extents(size: int, axes: list[str], lengths: dict[str, int]) -> list[int]:
    """The lengths of the axes that a dimension is made of."""
    given = {axis: checked_integer(axis, lengths[axis]) for axis in axes if axis in lengths}
    open_ones = [axis for axis in axes if axis not in given]
    known = math.prod(given.values())
    if min(given.values(), default=1) < 1 or len(open_ones) > 1 or size % known:
        rule = f"axes {' '.join(axes)} need lengths of 1 or more, all but one, that divide {size}"
        refuse(f"{rule}, got {shown(given)}")
    if not open_ones and known != size:
        refuse(f"axes {shown(' '.join(axes))} make {known}, the size is {size}")
    return [given.get(axis, size // known) for axis in axes] or [1]


def _sides(pattern: Any, rank: int) -> tuple[list[list[str]], list[list[str]]]:
    """The axes of each dimension on the left and on the right, with ``...`` spelt out."""
    sides = pattern.split("->") if isinstance(pattern, str) else []
    if len(sides) != 2 or len(pattern) > 4096:
        refuse(f"pattern must have the form 'b c -> c b', got {shown(pattern, 200)}")
    left, right = (_groups(side, pattern) for side in sides)
    counts = [[axis for axes in side for axis in axes].count("...") for side in (left, right)]
    many = rank + 1 - len(left)
    inside = re.search(r"\([^)]*\.\.\.", sides[0]) is not None
    if counts not in ([0, 0], [1, 1]) or (counts[0] and (inside or many < 0)):
        rule = "'...' must be an axis of its own on the left, and on both sides"
        refuse(f"{rule}, got {shown(pattern, 200)}")
    if ["..."] in left:
        at = left.index(["..."])
        rest = [f"...{n}" for n in range(many)]
        left[at : at + 1] = [[axis] for axis in rest]
        right = [
            [a for axis in axes for a in (rest if axis == "..." else [axis])] for axes in right
        ]
    if len(left) != rank:
        came = shown(pattern, 200)
        refuse(f"pattern {came} is of {len(left)} dimensions, the shape has {rank}")
    return left, right


def _groups(side: str, pattern: str) -> list[list[str]]:
    """The axes of each dimension of a side; none for a 1."""
    if not (re.fullmatch(_SIDE, side) and all(map(_is_axis, re.findall(_AXIS, side)))):
        refuse(f"pattern must have the form 'b (h p) -> h b p', got {shown(pattern, 200)}")
    groups = [re.findall(_AXIS, group) for group in re.findall(_GROUP, side)]
    return [[axis for axis in axes if not axis.isdecimal()] for axes in groups]


def _is_axis(name: str) -> bool:
    """Return whether einops knows an axis: an ellipsis, a 1, a name."""
    if name.isdecimal():
        return int(name) == 1
    return name == "..." or (name.isidentifier() and "_" not in (name[0], name[-1]))


def write(layout: Layout, names: str | None = None) -> EinopsPattern:
    """The pattern whose right side is the memory of `layout`, and the lengths that it needs.

    `names`: one for each dimension, of letters, with blanks between; letters from a on by default.
    A tiled dimension becomes a composite axis of numbered ones. ValueError for layouts that do not
    fill a block from slot 0 on, or have padding; TypeError for what is no layout.

    >>> from tensorlayout import Layout, formats
    >>> formats.einops.write(Layout.tiled((3, 32, 2, 2), [(16, 1, 1)]), "b c h w")
    EinopsPattern(pattern='b (c1 c2) h w -> b c1 h w c2', lengths={'c2': 16})
    """
    block = block_of(layout)
    given = " ".join(ascii_lowercase[: block.ndim]) if names is None else names
    words = given.split() if isinstance(given, str) else []
    letters = all(word.isascii() and word.isalpha() for word in words)
    if not letters or len(words) != block.ndim or len({*words}) != len(words):
        rule = f"names must be {block.ndim} different ones, of letters with blanks between"
        refuse(f"{rule}, got {shown(names)}")
    extents, places = digits_of(block)

    def axis(digit: Digit) -> str:
        dim, number = digit
        return words[dim] if len(extents[dim]) == 1 else f"{words[dim]}{number + 1}"

    digits = [[(dim, k) for k in range(len(extents[dim]))] for dim in range(block.ndim)]
    left = [" ".join(map(axis, each)) for each in digits]
    left = [f"({text})" if " " in text else text for text in left]
    lengths = {axis((d, k)): extents[d][k] for each in digits for d, k in each[1:]}
    found = EinopsPattern(f"{' '.join(left)} -> {' '.join(map(axis, places))}", lengths)
    if not is_said(read(block.shape, found), block):
        refuse(f"no pattern says {cut(layout)}")
    return found
