"""oneDNN's format tags: ``nchw``, ``nChw16c``, ``aBcd8b``, ``OIhw4i16o4i``.

Letters are dimensions, slowest first. A capital marks a dimension that is cut into blocks; each
number with a letter after the dimensions is one level of blocks, from the outside in. Sizes are
rounded up to whole blocks, and the padding must hold zeros.

Source: oneDNN, "Understanding Memory Formats".
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from tensorlayout.errors import short_repr, truncate
from tensorlayout.formats.blocks import (
    Digit,
    block_form,
    is_same_block,
    layout_digits,
    layout_from_digits,
    raise_error,
)
from tensorlayout.layout import Layout, PaddingValue, check_sizes

__all__ = ["read", "write"]

_LETTERS = "abcdefghijkl"  # oneDNN has at most 12 dimensions
# Letters of tags for activations, weights and recurrent networks, each in the order of the sizes.
_DOMAINS = ("ncdhw", "goidhw", "tnc", "ldnc", "ldigo", "x")
_TAG = r"(?a)([A-Za-z]{1,12})((?:[1-9]\d{0,8}[a-z]){0,64})"


def read(shape: Sequence[int], tag: str) -> Layout:
    """Return the layout of `shape` that a format tag describes; padding holds zeros.

    - `shape`: sizes in logical order (N, C, H, W or O, I, H, W), whatever the order of the letters.
    - `tag`: letters from ``a`` on or those of a domain, then blocks. oneDNN need not define the
      tag.

    Raises `ValueError` for other text, for ``any``, and for a tag with another number of
    dimensions.

    >>> from tensorlayout import formats
    >>> formats.onednn.read((2, 17, 2, 2), "nChw16c")
    Layout.parse('(2,17,2,2):(128,2*64+16*1,32,16) padding=ZERO')
    """
    sizes = check_sizes("shape", shape)
    order, blocks = _parse_tag(tag)
    if len(order) != len(sizes):
        raise_error(
            f"tag {short_repr(tag)} is of {len(order)} dimensions, got shape {short_repr(sizes)}"
        )
    extents: list[list[int]] = [[] for _ in sizes]
    inner: list[Digit] = []
    # Blocks are listed from the outside in. Number 0 is left free for the outermost digit of each
    # dimension, which counts blocks and is inserted below.
    for extent, dim in blocks:
        extents[dim].append(extent)
        inner.append((dim, len(extents[dim])))
    for n, digits in zip(sizes, extents, strict=True):
        digits.insert(0, -(-n // math.prod(digits)))
    places = [*((dim, 0) for dim in order), *inner]
    return layout_from_digits(sizes, extents, places, PaddingValue.ZERO)


def _parse_tag(tag: str) -> tuple[list[int], list[tuple[int, int]]]:
    """Return the dimensions, slowest first, and the blocks as pairs (extent, dimension)."""
    match = re.fullmatch(_TAG, tag if isinstance(tag, str) else "")
    outer, inner = match.groups() if match else ("", "")
    letters = outer.lower()
    logical = _letters_in_order_of_sizes(letters)
    blocks = re.findall(r"(\d+)([a-z])", inner)
    capitals = {letter.lower() for letter in outer if letter.isupper()}
    if not logical or capitals != {letter for _, letter in blocks}:
        rule = "tag must be letters of dimensions, each cut one a capital, and their blocks, as"
        raise_error(f"{rule} in 'nchw', 'aBcd8b', 'OIhw16i16o', got {short_repr(tag)}")
    return [*map(logical.index, letters)], [(int(n), logical.index(x)) for n, x in blocks]


def _letters_in_order_of_sizes(letters: str) -> str:
    """Return the letters of a tag in the order of the sizes; empty if no tag has these letters."""
    if len(set(letters)) != len(letters):
        return ""
    # The abstract letters a, b, c… are tried first. A domain fits if it has all letters of the tag.
    domains = (_LETTERS[: len(letters)], *_DOMAINS)
    domain = next((names for names in domains if set(letters) <= set(names)), "")
    return "".join(sorted(letters, key=domain.index)) if domain else ""


def write(layout: Layout, letters: str = _LETTERS) -> str:
    """Return the format tag of `layout`.

    `letters`: a letter per dimension; from ``a`` on by default. oneDNN defines names for many tags,
    but not for all; describe the others with a blocked descriptor.

    Raises `ValueError` if the layout does not fill a block from slot 0 on, if padding does not hold
    zeros or does not complete a block, and for 0 or more than 12 dimensions; `TypeError` if
    `layout` is not a Layout.

    >>> from tensorlayout import Layout, formats
    >>> formats.onednn.write(Layout.tiled((8, 32, 5, 5), [(16, 1, 1)]), "nchw")
    'nChw16c'
    """
    block = block_form(layout, allow_padding=True)
    names = letters[: block.ndim] if letters is _LETTERS else letters
    # This only tests that some tag has these letters. Letters that are not in the order of the
    # sizes give a tag that reads back differently.
    fits = isinstance(names, str) and len(_letters_in_order_of_sizes(names)) == block.ndim
    if not fits or not 1 <= block.ndim <= len(_LETTERS):
        rule = f"needs 1 to 12 dimensions, a letter for each, got {truncate(layout)}"
        raise_error(f"{rule} and {short_repr(letters)}")
    if block.is_padded and block.padding_value is not PaddingValue.ZERO:
        raise_error(f"padding must hold zeros (with_padding_value('ZERO')), got {truncate(layout)}")
    tag = _format_tag(block, names)
    if not is_same_block(read(block.shape, tag), block):
        raise_error(f"no tag describes {truncate(layout)}")
    return tag


def _format_tag(block: Layout, names: str) -> str:
    """Write the slowest digit of each dimension as a letter, and all faster digits as blocks."""
    extents, places = layout_digits(block)
    nontrivial_digits = [(dim, number) for dim, number in places if extents[dim][number] != 1]
    blocks: list[Digit] = []
    # A slowest digit may be a letter in front only while no block has begun, and only if its extent
    # is what oneDNN computes from the size. All digits after the first block are blocks, too.
    for dim, number in nontrivial_digits:
        inner = math.prod(extents[dim][number + 1 :])
        counts_blocks = number == 0 and -(-block.shape[dim] // inner) == extents[dim][0]
        if blocks or not counts_blocks:
            blocks.append((dim, number))
    blocked_dims = {dim for dim, _ in blocks}
    counting_dims = [
        dim for dim, number in nontrivial_digits if number == 0 and (dim, 0) not in blocks
    ]
    # Only these have an order in memory; a dimension of one outer digit keeps its place.
    outer_dims = iter(counting_dims)
    order = [
        next(outer_dims) if dim in counting_dims else dim for dim in block.minor_to_major[::-1]
    ]
    outer = "".join(names[dim].upper() if dim in blocked_dims else names[dim] for dim in order)
    return outer + "".join(f"{extents[dim][number]}{names[dim]}" for dim, number in blocks)
