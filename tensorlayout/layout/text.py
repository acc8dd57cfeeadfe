"""The text form of a layout: ``shape:strides``, and fields that these do not imply.

::

    (2,3):(3,1)                                        row-major
    (2,3):(1,2)                                        column-major
    (2,3):(5,1) padded=(2,5) padding=ZERO              rows padded to five slots
    (2,3):(0,1)+4                                      a broadcast row that begins at slot 4
    (3,5):(2*12+2*2,3*4+2*1)                           tiles of 2 by 2
    (1,3):(3,1) order=(0,1)                            an order that the strides do not imply
    (2,3):(1,3) padded=(3,5) padding=0x3f800000:float32
    (2,3):(3,1) bits=4                                 two slots to a byte, low bits first

XLA's text for an order of dimensions, tiles and bits below a byte is accepted, too:
``{1,0:T(8,128)(2,1)E(4)}``, or with sizes, ``[3,5]{1,0:T(2,2)}``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NoReturn

from tensorlayout.errors import short_repr
from tensorlayout.layout.checks import (
    MAX_PARTS,
    MAX_RANK,
    SLOT_BITS,
    raise_argument_error,
    raise_too_many_dims,
)
from tensorlayout.layout.padding import BitPattern, Padding, PaddingValue
from tensorlayout.layout.slots import Part, Parts
from tensorlayout.layout.tiling import COMBINE, MAX_TILES

# Texts, not compiled patterns: `re` compiles and caches them at first use, not at import.
# Groups: sizes, strides, then the fields in the order of `_FIELD_PARSERS`. With (?a), \d means
# ASCII digits alone; int() would take digits of all scripts.
_TEXT = (
    r"(?a)\(([\d, ]*)\) ?: ?\(([-\d,*+ ]*)\) ?(?:\+ ?(\d+))?"
    r"(?: order=\(([\d, ]*)\))?(?: padded=\(([\d, ]*)\))?(?: padding=(\S+))?"
    r"(?: bits=(\d{1,3}))?"
)
_TILED = r"(?a)\{([\d, ]*)(?: ?: ?(?:T((?: ?\([\d, *]+\))+))?(?: ?E\((\d{1,3})\))?)?\}"
_SIZED = r"(?a)\[([\d, ]*)\] ?(\{.*\})"


def parse_text(text: str) -> dict[str, Any]:
    """Parse a text to the arguments of `Layout`, or XLA's text to those of `Layout.tiled`."""
    if not isinstance(text, str):
        raise_argument_error("layout text", f"must be a str, got {short_repr(text)}", TypeError)
    plain = " ".join(text.split())  # the patterns allow one blank, not runs of blanks
    if (sized := re.fullmatch(_SIZED, plain)) is not None:
        return {"shape": _parse_ints(text, sized[1]), **parse_xla_tiling(sized[2])}
    wrapped = re.fullmatch(r"Layout\.parse\('(.*)'\)", plain)
    match = re.fullmatch(_TEXT, wrapped[1] if wrapped else plain)
    if match is None:
        rule = (
            "must have the form (sizes):(strides)[+offset] [order=(…)] [padded=(…)]"
            " [padding=SYMBOL or 0xBITS:dtype] [bits=…]"
        )
        if plain.isalpha():
            rule = "has no sizes; for labels there is Layout.labelled(shape, labels)"
        elif plain.startswith("{"):
            rule = "needs the sizes in front of an order and tiles, as in [3,5]{1,0:T(2,2)}"
        _raise_parse_error(text, rule)
    sizes, strides, *option_texts = match.groups()
    shape = _parse_ints(text, sizes)
    words = _split_list(text, strides)
    if len(words) != len(shape):
        _raise_parse_error(text, f"has {len(shape)} sizes but {len(words)} strides")
    parts = tuple(_parse_parts(text, word, n) for word, n in zip(words, shape, strict=True))
    arguments: dict[str, Any] = {"shape": shape, "parts": parts}
    for (name, read), word in zip(_FIELD_PARSERS.items(), option_texts, strict=True):
        if word is not None:
            arguments[name] = read(text, word)
    return arguments


def parse_xla_tiling(text: str) -> dict[str, Any]:
    """Parse XLA's text, ``{1,0:T(8,128)E(4)}``, to the arguments of `Layout.tiled`."""
    match = re.fullmatch(_TILED, " ".join(text.split()))
    if match is None:
        rule = (
            "must have the form {minor_to_major} or {minor_to_major:T(tile)(tile)…E(bits)}, such as"
            " {1,0:T(8,128)(2,1)}; xla.layout_of reads all else that XLA writes"
        )
        _raise_parse_error(text, rule)
    listed, tiles, bits = match.groups(default="")
    if tiles.count("(") > MAX_TILES:
        _raise_parse_error(text, f"has more than {MAX_TILES} tiles")
    cut = tuple(  # a star merges its dimension into the next
        tuple(
            COMBINE if size == "*" else _parse_int(text, size) for size in _split_list(text, tile)
        )
        for tile in re.findall(r"\(([^()]*)\)", tiles)
    )
    few = int(bits) if bits else None
    if few not in (None, *SLOT_BITS):
        rule = "has E(…) of other bits than 1, 2, 4 or 6, which are packed below a byte"
        _raise_parse_error(text, rule)
    return {"tiles": cut, "minor_to_major": _parse_ints(text, listed), "slot_bits": few}


def _raise_parse_error(text: str, rule: str) -> NoReturn:
    raise_argument_error("layout text", f"{rule}, got {short_repr(text, 200)}")


def _split_list(text: str, listed: str) -> list[str]:
    items = listed.split(",")
    # Python's form of tuples: one item has a comma behind it, and no item leaves an empty text.
    if items[-1].strip() == "":
        items.pop()
    if len(items) > MAX_RANK:
        raise_too_many_dims("shape", len(items))
    items = [item.strip() for item in items]
    if "" in items:
        _raise_parse_error(text, "has an empty place between commas")
    return items


def _parse_int(text: str, word: str) -> int:
    # 64 bits need 19 digits. Up to 40 digits get an error about the range of numbers; longer texts
    # are never converted, because int() takes quadratic time for them.
    if re.fullmatch(r"-?\d{1,40}", word, re.ASCII) is None:
        _raise_parse_error(text, f"has {short_repr(word, 50)} where an integer belongs")
    return int(word)


def _parse_ints(whole_text: str, list_text: str) -> tuple[int, ...]:
    return tuple(_parse_int(whole_text, item) for item in _split_list(whole_text, list_text))


def _parse_parts(text: str, word: str, size: int) -> Parts:
    if "*" not in word:
        return ((size, _parse_int(text, word)),)
    if word.count("+") >= MAX_PARTS:
        _raise_parse_error(text, f"has more than {MAX_PARTS} parts in a dimension")
    parts: list[Part] = []
    for item in word.split("+"):
        extent, star, stride = item.partition("*")
        if not star:
            _raise_parse_error(text, f"has {short_repr(item, 50)} where extent*stride belongs")
        parts.append((_parse_int(text, extent.strip()), _parse_int(text, stride.strip())))
    return tuple(parts)


def _parse_padding(text: str, word: str) -> Padding:
    bits = re.fullmatch(r"0x([0-9a-fA-F]{1,32}):(\w+)", word, re.ASCII)
    if bits is not None:
        return BitPattern(int(bits[1], 16), bits[2])
    if (symbol := PaddingValue.named(word)) is not None:
        return symbol
    allowed = ", ".join(PaddingValue.__members__)
    _raise_parse_error(text, f"padding must be one of {allowed} or 0xBITS:dtype")


# Fields that may follow sizes and strides, in this order.
_FIELD_PARSERS: dict[str, Callable[[str, str], object]] = {
    "offset": _parse_int,
    "minor_to_major": _parse_ints,
    "padded_shape": _parse_ints,
    "padding_value": _parse_padding,
    "slot_bits": _parse_int,
}
