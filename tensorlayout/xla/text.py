"""Shape text read: ``f32[2,3]{1,0:T(8,128)S(1)}`` and all that XLA's own parser accepts."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from tensorlayout.errors import cut, refuse
from tensorlayout.layout import COMBINE, MAX_TILES
from tensorlayout.xla.layouts import INTEGERS, PROPERTIES, SPACES, SplitConfig, XlaLayout
from tensorlayout.xla.primitive_types import PrimitiveType
from tensorlayout.xla.shapes import MAX_DEPTH, MOST_NUMBERS, UNBOUNDED, Shape
from tensorlayout.xla.tiles import Tile

_NATURAL = range(2**63)
_NUMBERS = {"L": range(1, 2**63), "E": INTEGERS, "S": SPACES, "M": _NATURAL}
_T = TypeVar("_T")
_SHORT = 512  # letters of a text that is remembered

# The properties in the order that XLA demands; D is read and thrown away.
_ORDER = ("D", *PROPERTIES)

COMMENT = r"/\*(?s:.*?)\*/|//[^\r\n]*+"
BLANK = rf"(?:[ \t\r\n]++|{COMMENT})*+"
_SHOWN = 60  # letters of the text on either side of the place that an error points at


def pattern(text: str) -> re.Pattern[str]:
    """Return a pattern that takes the blanks and comments behind it, too."""
    return re.compile(rf"{text}{BLANK}", re.ASCII)


BLANKS = pattern("")
_CAME = re.compile(r"[A-Za-z0-9_.%\-]{1,40}|<=|(?s:.)")
_NUMBER = pattern(r"(-?[0-9]+)(?![\w.])")
_WORD = pattern(r"([A-Za-z_]\w*+)")
_BUFFER = pattern(r"b(?!\w)")
_LAYOUT = re.compile(rf"\{{{BLANK}(?=-?[0-9]|:)")
_PROPERTY = pattern(r"([DTLESPM](?!\w)|SC(?!\w)|[#*])")
_LEVEL = pattern(rf"[DCSH](?!\w){BLANK}\+?{BLANK}~?")


def parse_shape(text: str, *, default_layout: bool = True) -> Shape:
    """The shape that a text says.

    `default_layout`: arrays without a layout get the row-major one, as XLA's parser does for a
    single shape; with False they stay without, scalars excepted.

    As in XLA, the order of a single array is not held to be a permutation here, nor are tiles and
    splits checked: `shape_util.validate_shape` does. Tuples are validated at once.

    ShapeSyntaxError (a ValueError) for any other text, with a caret. Beyond the grammar's own
    errors it is raised where XLA aborts (``T(-1,2)``, ``L(0)``, ``token[2]``) or reads what nobody
    meant: ``T()``, ``T``, ``L``, ``#(f32)``, ``S(300)`` (S(44) there), a bound of 2**63 (``?``
    there), a tile size written as -2**63, ``M(-3)``; and for more than 100 levels.

    >>> from tensorlayout.xla import parse_shape
    >>> parse_shape("f32[3,5]{1,0:T(2,2)}").layout.tiles
    (Tile(dimensions=(2, 2)),)
    """
    return _said(_Parser.shape, text, default_layout)


def parse_shapes(text: str, *, default_layout: bool = True) -> list[Shape]:
    """The shapes of a list in braces, as in ``{f32[2], s32[]}``.

    `text`: the whole list. `default_layout`: arrays without a layout get the row-major one.
    ShapeSyntaxError (a ValueError) for any other text, with a caret where it fails.

    >>> from tensorlayout.xla import parse_shapes
    >>> list(map(str, parse_shapes("{f32[2], s32[]}")))
    ['f32[2]{0}', 's32[]']
    """
    return list(_said(_Parser.shapes, text, default_layout))


def parse_layout(text: str) -> XlaLayout:
    """The layout that a `text` such as ``{1,0:T(8,128)}`` says; ``{}`` is the empty one here.

    ShapeSyntaxError (a ValueError) for any other text, with a caret where it fails.

    >>> from tensorlayout.xla import parse_layout
    >>> parse_layout("{0,1:S(5)}").memory_space
    5
    """
    return _said(_Parser.layout, text, True)


def _said(rule: Callable[[_Parser], _T], text: str, default_layout: bool) -> _T:
    """What a text says by a rule of the grammar; of short texts the last ones are remembered."""
    short = type(text) is str and len(text) <= _SHORT
    return (_remembered if short else _read)(rule, text, bool(default_layout))


def _read(rule: Callable[[_Parser], Any], text: str, default_layout: bool) -> Any:
    parser = _Parser(text, default_layout)
    found = rule(parser)
    if parser.at < len(text):
        parser.fail("nothing more")
    return found


_remembered = functools.lru_cache(1024)(_read)


class ShapeSyntaxError(ValueError):
    """Shape text that says no shape: what was expected, what came, and a caret at the column.

    `text` is the whole text, `column` counts its characters from 0.

    >>> from tensorlayout.xla import ShapeSyntaxError, parse_shape
    >>> try:
    ...     parse_shape("f32[2,x]")
    ... except ShapeSyntaxError as error:
    ...     print(error.column, error.text)
    6 f32[2,x]
    """

    def __init__(self, rule: str, text: str, column: int) -> None:
        """`rule` ends in what came instead."""
        self.rule = rule
        self.text = text
        self.column = column
        super().__init__(f"shape text: {rule}, at column {column + 1}\n{pointed(text, column)}")

    def __reduce__(self) -> tuple[type[ShapeSyntaxError], tuple[str, str, int]]:
        return ShapeSyntaxError, (self.rule, self.text, self.column)


def pointed(text: str, column: int) -> str:
    """The text around a column, and a caret under it; blanks of all kinds take one place."""
    start, end = max(0, column - _SHOWN), column + _SHOWN
    before, after = "…" * (start > 0), "…" * (end < len(text))
    shown = "".join(c if c.isprintable() else " " for c in text[start:end])
    return f"  {before}{shown}{after}\n  {' ' * (len(before) + column - start)}^"


class Scanner:
    """A place in a text; what is passed takes the blanks and comments behind it along."""

    text_of = "shape text"

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            refuse(self.text_of, f"must be a str, got {type(text).__name__}", TypeError)
        self.text, self.at = text, 0
        self.taken(BLANKS)

    def fail(self, expected: str, at: int | None = None) -> NoReturn:
        """Raise the error that says what was expected at a place, which is the next by default."""
        place = self.at if at is None else at
        if self.text.startswith("/*", place):
            expected = "*/ at the end of a comment"
        came = _CAME.match(self.text, place)
        self.refuse(
            f"expected {expected}, got {repr(came[0]) if came else 'the end of the text'}", place
        )

    def refuse(self, rule: str, at: int) -> NoReturn:
        """Raise the error of a rule that is broken at a place."""
        raise ShapeSyntaxError(rule, self.text, at)

    def taken(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Return what a pattern finds here, which is passed."""
        found = pattern.match(self.text, self.at)
        if found is not None:
            self.at = found.end()
        return found

    def expect(self, pattern: re.Pattern[str], what: str) -> re.Match[str]:
        """Return what a pattern finds here; fail without it."""
        return self.taken(pattern) or self.fail(what)

    def is_next(self, sign: str) -> bool:
        """Return whether `sign` stands here."""
        return self.text.startswith(sign, self.at)

    def took(self, sign: str) -> bool:
        """Return whether `sign` stands here, which is then passed."""
        found = self.is_next(sign)
        if found:
            self.go_to(self.at + len(sign))
        return found

    def sign(self, sign: str, why: str = "") -> None:
        """Pass a `sign`; fail without it."""
        if not self.took(sign):
            self.fail(f"{sign!r}{why}")

    def go_to(self, at: int) -> None:
        """Pass everything before a place, and the blanks there."""
        self.at = at
        self.taken(BLANKS)

    def listed(self, item: Callable[[], _T], end: str, most: int = MOST_NUMBERS) -> list[_T]:
        """Return items with commas between, up to `end`, which is passed."""
        if self.took(end):
            return []
        items = self.several(item, most)
        self.sign(end, " or ','")
        return items

    def several(
        self, item: Callable[[], _T], most: int = MOST_NUMBERS, between: str = ","
    ) -> list[_T]:
        """Return one or more items with commas, or another sign, between."""
        items = [item()]
        while self.took(between):
            if len(items) >= most:
                self.fail(f"at most {most} in a row")
            items.append(item())
        return items


class _Parser(Scanner):
    def __init__(self, text: str, default_layout: bool) -> None:
        super().__init__(text)
        self.fill = default_layout

    def number(self, what: str, allowed: range) -> int:
        place, found = self.at, self.expect(_NUMBER, what)
        digits = found[1].lstrip("-").lstrip("0") or "0"
        value = int(digits[:20])  # 20 digits are too many for any number of 64 bits
        if found[1].startswith("-"):
            value = -value
        if value not in allowed:
            self.fail(f"{what} from {allowed[0]} to {allowed[-1]}", place)
        return value

    # --- shapes --------------------------------------------------------------------------------

    def shapes(self) -> list[Shape]:
        self.sign("{")
        return self.listed(self.shape, "}", sys.maxsize)

    def shape(self, depth: int = 0) -> Shape:
        """Return a shape inside of `depth` tuples."""
        begin = self.at
        if depth >= MAX_DEPTH and (self.is_next("(") or _BUFFER.match(self.text, begin)):
            self.fail(f"at most {MAX_DEPTH} levels")
        if self.taken(_BUFFER):
            self.sign("(", " after b, as in b(f32[4])")
            place, array = self.at, self.simple()
            if not array.is_array:
                self.fail("an array in a buffer", place)
            self.sign(")")
            return Shape.buffer(array)
        if not self.took("("):
            return self.simple()
        elements = self.listed(functools.partial(self.shape, depth + 1), ")", sys.maxsize)
        for element in elements:
            if not element.is_tuple:  # those inside have been validated where they were closed
                try:
                    element.validate(allow_missing_layouts=True)
                except ValueError as error:
                    rule = f"expected valid elements in a tuple, got {cut(element)} ({error})"
                    raise ShapeSyntaxError(rule, self.text, begin) from None
        return Shape.tuple_of(elements)

    def simple(self) -> Shape:
        kind = self.element_type("a shape: an element type such as f32, '(', 'b(', token or opaque")
        self.sign("[", f" after {kind.text}")
        if not kind.is_array:
            self.sign("]", f", for {kind.text} has no sizes")
            return Shape(kind)
        pairs = self.listed(self.dimension, "]")
        sizes, dynamic = [n for n, _ in pairs], [d for _, d in pairs]
        layout = XlaLayout.row_major(len(sizes)) if self.fill or not sizes else None
        if _LAYOUT.match(self.text, self.at):
            layout = self.layout(len(sizes))
        return Shape.array(kind, sizes, layout, dynamic)

    def element_type(self, what: str, category: str = "") -> PrimitiveType:
        place, word = self.at, self.taken(_WORD)
        kind = PrimitiveType.by_text().get(word[1]) if word else None
        if kind is None or category not in ("", kind.category):
            self.fail(what, place)
        return kind

    def dimension(self) -> tuple[int, bool]:
        if self.took("?"):
            return UNBOUNDED, True
        dynamic = self.took("<=")
        what = "a bound" if dynamic else "a size, '<=' or '?'"
        return self.number(what, _NATURAL), dynamic

    # --- layouts -------------------------------------------------------------------------------

    def layout(self, rank: int | None = None) -> XlaLayout:
        self.sign("{")
        order: list[int] = []
        if not self.is_next(":") and not self.is_next("}"):
            order = self.several(lambda: self.number("a dimension number", INTEGERS))
        if rank is not None and len(order) != rank:
            rule = f"expected {rank} dimension numbers, one for each size, got {len(order)}"
            self.refuse(rule, self.at)
        fields = self.properties() if self.took(":") else {}
        if not self.took("}"):
            self.fail("'}', ',' or ':' and properties such as T(8,128)")
        return XlaLayout(minor_to_major=tuple(order), **fields)

    def properties(self) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        rest, place = list(_ORDER), self.at
        while found := self.taken(_PROPERTY):
            letter = found[1]
            if letter not in rest:
                what = f"'}}', or properties once each and in the order {' '.join(_ORDER)}"
                self.fail(what, place)
            if letter == "P":
                self.fail("no physical shape (P), which only sparse arrays had", place)
            rest = rest[rest.index(letter) + 1 :]
            if letter == "D":
                self.sign("(", " after D")
                self.listed(lambda: self.expect(_LEVEL, "a level type, one of D C S H"), ")")
            else:
                fields[PROPERTIES[letter]] = self.property(letter)
            place = self.at
        return fields

    def property(self, letter: str) -> Any:
        self.sign("(", f" after {letter}")
        if letter in ("T", "SC"):
            return self.several(self.tile if letter == "T" else self.split, MAX_TILES, "(")
        if letter in _NUMBERS:
            value: Any = self.number(f"a number for {letter}", _NUMBERS[letter])
        else:
            value = self.element_type("an unsigned integer type such as u32", "unsigned integer")
        self.sign(")")
        return value

    def tile(self) -> Tile:
        sizes = self.several(self.tile_size)
        self.sign(")", " or ','")
        return Tile(tuple(sizes))

    def tile_size(self) -> int:
        return COMBINE if self.took("*") else self.number("a tile size or '*'", _NATURAL)

    def split(self) -> SplitConfig:
        dimension = self.number("the number of a physical dimension", INTEGERS)
        self.sign(":")
        points = self.listed(lambda: self.number("a split point", INTEGERS), ")")
        return SplitConfig(dimension, tuple(points))
