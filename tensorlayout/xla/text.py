"""Parser of shape text: ``f32[2,3]{1,0:T(8,128)S(1)}`` and all that XLA's own parser accepts."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from tensorlayout.errors import raise_named_error, truncate
from tensorlayout.layout import COMBINE, MAX_TILES
from tensorlayout.xla.layouts import INTEGERS, PROPERTIES, SPACES, SplitConfig, XlaLayout
from tensorlayout.xla.primitive_types import PrimitiveType
from tensorlayout.xla.shapes import MAX_DEPTH, MAX_NUMBERS, UNBOUNDED, Shape
from tensorlayout.xla.tiles import Tile

_NATURAL = range(2**63)
# Allowed numbers by property. XLA's parser aborts on L(0), wraps S(300) to S(44) and misreads
# M(-3).
_NUMBERS = {"L": range(1, 2**63), "E": INTEGERS, "S": SPACES, "M": _NATURAL}
_T = TypeVar("_T")
_MAX_CACHED_LENGTH = 512  # longer texts would fill the memory of the cache

# Properties in the order that XLA requires. D is read and ignored.
_PROPERTY_ORDER = ("D", *PROPERTIES)

# Possessive quantifiers (*+, ++) never give back what they matched. Otherwise a match that fails
# after many blanks and comments would try every way to divide them.
COMMENT = r"/\*(?s:.*?)\*/|//[^\r\n]*+"
BLANK = rf"(?:[ \t\r\n]++|{COMMENT})*+"
_EXCERPT_LENGTH = 60  # characters of the text that an error shows on either side of the caret


def pattern_with_trailing_blanks(regex: str) -> re.Pattern[str]:
    """Return a pattern that also consumes the blanks and comments after it."""
    return re.compile(rf"{regex}{BLANK}", re.ASCII)


BLANKS = pattern_with_trailing_blanks("")
# The piece of text that an error quotes: a word of at most 40 characters, or one sign.
_NEXT_TEXT = re.compile(r"[A-Za-z0-9_.%\-]{1,40}|<=|(?s:.)")
# The lookahead rejects 2x and 1.5 as a whole instead of reading the digits in front.
_NUMBER = pattern_with_trailing_blanks(r"(-?[0-9]+)(?![\w.])")
_WORD = pattern_with_trailing_blanks(r"([A-Za-z_]\w*+)")
_BUFFER = pattern_with_trailing_blanks(r"b(?!\w)")
# As in XLA, {} is no layout: a dimension number or a colon must follow the brace.
_LAYOUT = re.compile(rf"\{{{BLANK}(?=-?[0-9]|:)")
# Without the lookaheads the S of SC would be read as the memory space.
_PROPERTY = pattern_with_trailing_blanks(r"([DTLESPM](?!\w)|SC(?!\w)|[#*])")
# Level types of sparse arrays, as in D(D,C+~). XLA has none since May 2025, but its parser still
# reads and drops them.
_LEVEL = pattern_with_trailing_blanks(rf"[DCSH](?!\w){BLANK}\+?{BLANK}~?")


def parse_shape(text: str, *, default_layout: bool = True) -> Shape:
    """Return the shape described by shape text.

    - `text`: one shape, such as ``f32[2,3]{1,0}`` or a tuple.
    - `default_layout`: give arrays without a layout the row-major one, as XLA's parser does for a
      single shape. With False they have none, except scalars.

    As in XLA, it is not checked that the order of a single array is a permutation, nor its tiles
    and splits; use `shape_util.validate_shape`. Tuples are validated.

    Raises `ShapeSyntaxError` (a ValueError) with a caret for other text. Some text that XLA accepts
    or aborts on raises it, too: ``T(-1,2)``, ``L(0)`` and ``token[2]``, on which XLA aborts;
    ``T()``, ``T``, ``L``, ``#(f32)``, ``S(300)`` (read as S(44) by XLA), a bound of 2**63 (read as
    ``?``), a tile size of -2**63, ``M(-3)``, which XLA misreads; and more than 100 levels.

    >>> from tensorlayout.xla import parse_shape
    >>> parse_shape("f32[3,5]{1,0:T(2,2)}").layout.tiles
    (Tile(dimensions=(2, 2)),)
    """
    return _parse_cached(_ShapeReader.read_shape, text, default_layout)


def parse_shapes(text: str, *, default_layout: bool = True) -> list[Shape]:
    """Return the shapes of a list in braces, as in ``{f32[2], s32[]}``.

    `text`: the whole list. `default_layout`: give arrays without a layout the row-major one.

    Raises `ShapeSyntaxError` (a ValueError) for other text, with a caret at the error.

    >>> from tensorlayout.xla import parse_shapes
    >>> list(map(str, parse_shapes("{f32[2], s32[]}")))
    ['f32[2]{0}', 's32[]']
    """
    return list(_parse_cached(_ShapeReader.read_shapes, text, default_layout))


def parse_layout(text: str) -> XlaLayout:
    """Return the layout described by `text`, such as ``{1,0:T(8,128)}``; ``{}`` is empty.

    Raises `ShapeSyntaxError` (a ValueError) for other text, with a caret at the error.

    >>> from tensorlayout.xla import parse_layout
    >>> parse_layout("{0,1:S(5)}").memory_space
    5
    """
    return _parse_cached(_ShapeReader.read_layout, text, True)


def _parse_cached(read_rule: Callable[[_ShapeReader], _T], text: str, default_layout: bool) -> _T:
    """Parse a text by a grammar rule; results of short texts are cached."""
    # A subclass of str may hash and compare as it likes, so it must not become a key of the cache.
    is_short = type(text) is str and len(text) <= _MAX_CACHED_LENGTH
    return (_cached_parse if is_short else _parse_whole_text)(read_rule, text, bool(default_layout))


def _parse_whole_text(
    read_rule: Callable[[_ShapeReader], Any], text: str, default_layout: bool
) -> Any:
    parser = _ShapeReader(text, default_layout)
    value = read_rule(parser)
    if parser.position < len(text):
        parser.raise_expected("nothing more")
    return value


_cached_parse = functools.lru_cache(1024)(_parse_whole_text)


class ShapeSyntaxError(ValueError):
    """Error for text that is not a shape; the message has the rule, the received text and a caret.

    `text` is the whole text, `column` counts its characters from 0.

    >>> from tensorlayout.xla import ShapeSyntaxError, parse_shape
    >>> try:
    ...     parse_shape("f32[2,x]")
    ... except ShapeSyntaxError as error:
    ...     print(error.column, error.text)
    6 f32[2,x]
    """

    def __init__(self, rule: str, text: str, column: int) -> None:
        """Take a `rule` that ends in the received text."""
        self.rule = rule
        self.text = text
        self.column = column
        super().__init__(
            f"shape text: {rule}, at column {column + 1}\n{caret_excerpt(text, column)}"
        )

    def __reduce__(self) -> tuple[type[ShapeSyntaxError], tuple[str, str, int]]:
        # Exceptions are pickled with their args, here the message alone, which does not fit
        # __init__.
        return ShapeSyntaxError, (self.rule, self.text, self.column)


def caret_excerpt(text: str, column: int) -> str:
    """Return the text around a column with a caret below; each blank takes one column."""
    # Only a part of the line is shown: the text may be one line of many megabytes.
    start, end = max(0, column - _EXCERPT_LENGTH), column + _EXCERPT_LENGTH
    before, after = "…" * (start > 0), "…" * (end < len(text))
    shown = "".join(c if c.isprintable() else " " for c in text[start:end])
    return f"  {before}{shown}{after}\n  {' ' * (len(before) + column - start)}^"


class Scanner:
    """Position in a text; consuming a token also consumes the blanks and comments after it."""

    source_name = "shape text"

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise_named_error(
                self.source_name, f"must be a str, got {type(text).__name__}", TypeError
            )
        self.text, self.position = text, 0
        self.try_match(BLANKS)

    def raise_expected(self, expected: str, position: int | None = None) -> NoReturn:
        """Raise an error saying what was expected, at the current position by default."""
        error_position = self.position if position is None else position
        # BLANK would have consumed a closed comment, so this one never ends.
        if self.text.startswith("/*", error_position):
            expected = "*/ at the end of a comment"
        next_text = _NEXT_TEXT.match(self.text, error_position)
        self.raise_syntax_error(
            f"expected {expected}, got "
            f"{repr(next_text[0]) if next_text else 'the end of the text'}",
            error_position,
        )

    def raise_syntax_error(self, rule: str, position: int) -> NoReturn:
        """Raise the error for a violated rule at a position."""
        raise ShapeSyntaxError(rule, self.text, position)

    def try_match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Consume a pattern and return the match, or None."""
        match = pattern.match(self.text, self.position)
        if match is not None:
            self.position = match.end()
        return match

    def expect_match(self, pattern: re.Pattern[str], description: str) -> re.Match[str]:
        """Consume a pattern and return the match; raise an error without one."""
        return self.try_match(pattern) or self.raise_expected(description)

    def is_next(self, sign: str) -> bool:
        """Return whether `sign` is next."""
        return self.text.startswith(sign, self.position)

    def skip_if_next(self, sign: str) -> bool:
        """Consume `sign` if it is next, and return whether it was."""
        is_present = self.is_next(sign)
        if is_present:
            self.skip_to(self.position + len(sign))
        return is_present

    def expect_sign(self, sign: str, context: str = "") -> None:
        """Consume `sign`; raise an error if it is not next."""
        if not self.skip_if_next(sign):
            self.raise_expected(f"{sign!r}{context}")

    def skip_to(self, position: int) -> None:
        """Continue at a position, and skip the blanks there."""
        self.position = position
        self.try_match(BLANKS)

    def read_list(
        self, read_item: Callable[[], _T], end: str, max_items: int = MAX_NUMBERS
    ) -> list[_T]:
        """Return items separated by commas, and consume `end` after them."""
        if self.skip_if_next(end):
            return []
        items = self.read_separated(read_item, max_items)
        self.expect_sign(end, " or ','")
        return items

    def read_separated(
        self, read_item: Callable[[], _T], max_items: int = MAX_NUMBERS, separator: str = ","
    ) -> list[_T]:
        """Return one or more items separated by commas, or by another separator."""
        items = [read_item()]
        while self.skip_if_next(separator):
            if len(items) >= max_items:
                self.raise_expected(f"at most {max_items} in a row")
            items.append(read_item())
        return items


class _ShapeReader(Scanner):
    def __init__(self, text: str, default_layout: bool) -> None:
        super().__init__(text)
        self.use_default_layout = default_layout

    def read_number(self, description: str, allowed: range) -> int:
        position, match = self.position, self.expect_match(_NUMBER, description)
        # The sign and leading zeros do not count towards the 20 digits below.
        digits = match[1].lstrip("-").lstrip("0") or "0"
        value = int(digits[:20])  # enough to exceed 64 bits; converting more would be slow
        if match[1].startswith("-"):
            value = -value
        if value not in allowed:
            self.raise_expected(f"{description} from {allowed[0]} to {allowed[-1]}", position)
        return value

    # --- shapes --------------------------------------------------------------------------------

    def read_shapes(self) -> list[Shape]:
        self.expect_sign("{")
        return self.read_list(self.read_shape, "}", sys.maxsize)

    def read_shape(self, depth: int = 0) -> Shape:
        """Read a shape that is nested in `depth` tuples."""
        begin = self.position
        # Checked before descending, so that hostile text cannot exceed Python's stack.
        if depth >= MAX_DEPTH and (self.is_next("(") or _BUFFER.match(self.text, begin)):
            self.raise_expected(f"at most {MAX_DEPTH} levels")
        if self.try_match(_BUFFER):
            self.expect_sign("(", " after b, as in b(f32[4])")
            array_position, array = self.position, self.read_array()
            if not array.is_array:
                self.raise_expected("an array in a buffer", array_position)
            self.expect_sign(")")
            return Shape.buffer(array)
        if not self.skip_if_next("("):
            return self.read_array()
        # Tuples may have any number of elements, unlike shapes, whose sizes are limited by
        # MAX_NUMBERS.
        elements = self.read_list(functools.partial(self.read_shape, depth + 1), ")", sys.maxsize)
        for element in elements:
            if not element.is_tuple:  # those inside have been validated where they were closed
                try:
                    element.validate(allow_missing_layouts=True)
                except ValueError as error:
                    rule = f"expected valid elements in a tuple, got {truncate(element)} ({error})"
                    raise ShapeSyntaxError(rule, self.text, begin) from None
        return Shape.tuple_of(elements)

    def read_array(self) -> Shape:
        kind = self.read_element_type(
            "a shape: an element type such as f32, '(', 'b(', token or opaque"
        )
        self.expect_sign("[", f" after {kind.text}")
        if not kind.is_array:
            self.expect_sign("]", f", for {kind.text} has no sizes")
            return Shape(kind)
        pairs = self.read_list(self.read_dimension, "]")
        sizes, dynamic = [n for n, _ in pairs], [d for _, d in pairs]
        # A scalar has one layout only, so it gets that even if others are left without.
        layout = XlaLayout.row_major(len(sizes)) if self.use_default_layout or not sizes else None
        if _LAYOUT.match(self.text, self.position):
            layout = self.read_layout(len(sizes))
        return Shape.array(kind, sizes, layout, dynamic)

    def read_element_type(self, description: str, category: str = "") -> PrimitiveType:
        position, word = self.position, self.try_match(_WORD)
        kind = PrimitiveType.by_text().get(word[1]) if word else None
        if kind is None or category not in ("", kind.category):
            self.raise_expected(description, position)
        return kind

    def read_dimension(self) -> tuple[int, bool]:
        if self.skip_if_next("?"):
            return UNBOUNDED, True
        dynamic = self.skip_if_next("<=")
        description = "a bound" if dynamic else "a size, '<=' or '?'"
        return self.read_number(description, _NATURAL), dynamic

    # --- layouts -------------------------------------------------------------------------------

    def read_layout(self, rank: int | None = None) -> XlaLayout:
        self.expect_sign("{")
        order: list[int] = []
        if not self.is_next(":") and not self.is_next("}"):
            order = self.read_separated(lambda: self.read_number("a dimension number", INTEGERS))
        # As in XLA, only the number of entries is checked here. Whether they are a permutation is a
        # question for validation: f32[2,3]{1,1} is read.
        if rank is not None and len(order) != rank:
            rule = f"expected {rank} dimension numbers, one for each size, got {len(order)}"
            self.raise_syntax_error(rule, self.position)
        fields = self.read_properties() if self.skip_if_next(":") else {}
        if not self.skip_if_next("}"):
            self.raise_expected("'}', ',' or ':' and properties such as T(8,128)")
        return XlaLayout(minor_to_major=tuple(order), **fields)

    def read_properties(self) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        allowed_letters, position = list(_PROPERTY_ORDER), self.position
        while match := self.try_match(_PROPERTY):
            letter = match[1]
            if letter not in allowed_letters:
                expected = (
                    f"'}}', or properties once each and in the order {' '.join(_PROPERTY_ORDER)}"
                )
                self.raise_expected(expected, position)
            if letter == "P":
                self.raise_expected("no physical shape (P), which only sparse arrays had", position)
            # Only letters after this one remain, which enforces both the order and that each occurs
            # once.
            allowed_letters = allowed_letters[allowed_letters.index(letter) + 1 :]
            if letter == "D":
                self.expect_sign("(", " after D")
                self.read_list(
                    lambda: self.expect_match(_LEVEL, "a level type, one of D C S H"), ")"
                )
            else:
                fields[PROPERTIES[letter]] = self.read_property(letter)
            position = self.position
        return fields

    def read_property(self, letter: str) -> Any:
        self.expect_sign("(", f" after {letter}")
        # T(8,128)(2,1) is one property with two tiles: "(" separates them, and the first one has
        # been read.
        if letter in ("T", "SC"):
            return self.read_separated(
                self.read_tile if letter == "T" else self.read_split_config, MAX_TILES, "("
            )
        if letter in _NUMBERS:
            value: Any = self.read_number(f"a number for {letter}", _NUMBERS[letter])
        else:
            value = self.read_element_type(
                "an unsigned integer type such as u32", "unsigned integer"
            )
        self.expect_sign(")")
        return value

    def read_tile(self) -> Tile:
        sizes = self.read_separated(self.read_tile_size)
        self.expect_sign(")", " or ','")
        return Tile(tuple(sizes))

    def read_tile_size(self) -> int:
        return (
            COMBINE if self.skip_if_next("*") else self.read_number("a tile size or '*'", _NATURAL)
        )

    def read_split_config(self) -> SplitConfig:
        dimension = self.read_number("the number of a physical dimension", INTEGERS)
        self.expect_sign(":")
        points = self.read_list(lambda: self.read_number("a split point", INTEGERS), ")")
        return SplitConfig(dimension, tuple(points))
