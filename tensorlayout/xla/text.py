"""Shape text read: ``f32[2,3]{1,0:T(8,128)S(1)}`` and all that XLA's own parser accepts."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, NoReturn, TypeVar

from tensorlayout.layout.tiling import COMBINE, MAX_TILES
from tensorlayout.words import cut
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
_LEVELS = ("D", "C", "S", "H")


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
    found: Shape = _said("shape", text, default_layout)
    return found


def parse_shapes(text: str, *, default_layout: bool = True) -> list[Shape]:
    """The shapes of a list in braces, as in ``{f32[2], s32[]}``.

    `text`: the whole list. `default_layout`: arrays without a layout get the row-major one.
    ShapeSyntaxError (a ValueError) for any other text, with a caret where it fails.

    >>> from tensorlayout.xla import parse_shapes
    >>> list(map(str, parse_shapes("{f32[2], s32[]}")))
    ['f32[2]{0}', 's32[]']
    """
    return list(_said("shapes", text, default_layout))


def parse_layout(text: str) -> XlaLayout:
    """The layout that a `text` such as ``{1,0:T(8,128)}`` says; ``{}`` is the empty one here.

    ShapeSyntaxError (a ValueError) for any other text, with a caret where it fails.

    >>> from tensorlayout.xla import parse_layout
    >>> parse_layout("{0,1:S(5)}").memory_space
    5
    """
    found: XlaLayout = _said("bare_layout", text, True)
    return found


def _said(rule: str, text: str, default_layout: bool) -> Any:
    """What a text says by a rule of the grammar; of short texts the last ones are remembered."""
    short = type(text) is str and len(text) <= _SHORT
    return (_remembered if short else _read)(rule, text, bool(default_layout))


def _read(rule: str, text: str, default_layout: bool) -> Any:
    parser = _Parser(text, default_layout)
    return parser.whole(getattr(parser, rule))


_remembered = functools.lru_cache(1024)(_read)


# --- pieces of text ------------------------------------------------------------------------------

# A number is only that if no letter or dot follows, as in ``1e3`` and ``2.0``.
_TOKEN = re.compile(
    r"(?P<blank>[ \t\r\n]+|/\*.*?\*/|//[^\r\n]*)"
    r"|(?P<number>-?[0-9]+(?![0-9A-Za-z_.]))"
    r"|(?P<spoilt>-?[0-9][0-9A-Za-z_.]*)"
    r"|(?P<word>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<sign><=|[][(){},:?*#+~])",
    re.DOTALL,
)
_SHOWN = 60  # letters of the text on either side of the place that an error points at


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


class Token(NamedTuple):
    """One piece of text; kind is ``number``, ``word``, ``sign`` or ``end``."""

    kind: str
    text: str
    column: int


def tokens_of(text: str, at: int = 0) -> Iterator[Token]:
    """The pieces of a text from `at` on, as they are asked for; no blanks, no comments, an end."""
    if not isinstance(text, str):
        msg = f"shape text: must be a str, got {type(text).__name__}"
        raise TypeError(msg)
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            if text.startswith("/*", at):
                rule = "expected */ at the end of a comment, got the end of the text"
            else:
                rule = f"expected a number, a word or a sign, got {text[at]!r}"
            raise ShapeSyntaxError(rule, text, at)
        kind = match.lastgroup or ""
        if kind == "spoilt":
            rule = f"expected an integer, got {match[0][:40]!r}"
            raise ShapeSyntaxError(rule, text, at)
        if kind != "blank":
            yield Token(kind, match[0], at)
        at = match.end()
    yield Token("end", "", len(text))


# --- grammar -------------------------------------------------------------------------------------


class _Parser:
    def __init__(self, text: str, default_layout: bool) -> None:
        self.text = text
        self.fill = default_layout
        self.unread = tokens_of(text)
        self.next = next(self.unread)

    # --- tokens --------------------------------------------------------------------------------

    def move(self) -> None:
        """Pass the next token."""
        self.next = next(self.unread)

    def fail(self, expected: str, token: Token | None = None) -> NoReturn:
        """The error that says what was expected instead of `token`, the next one by default."""
        found = token or self.next
        came = "the end of the text" if found.kind == "end" else repr(found.text[:40])
        rule = f"expected {expected}, got {came}"
        raise ShapeSyntaxError(rule, self.text, found.column)

    def is_next(self, *texts: str) -> bool:
        return self.next.kind != "end" and self.next.text in texts

    def taken(self, text: str) -> bool:
        """Whether the next token is `text`, which is then passed."""
        found = self.is_next(text)
        if found:
            self.move()
        return found

    def expect(self, text: str, why: str = "") -> None:
        if not self.taken(text):
            self.fail(f"{text!r}{why}")

    def number(self, what: str, allowed: range) -> int:
        token = self.next
        if token.kind != "number":
            self.fail(what)
        digits = token.text.lstrip("-").lstrip("0") or "0"
        value = int(digits[:20])  # 20 digits are too many for any number of 64 bits
        if token.text.startswith("-"):
            value = -value
        if value not in allowed:
            self.fail(f"{what} from {allowed[0]} to {allowed[-1]}")
        self.move()
        return value

    def listed(self, item: Callable[[], _T], end: str, most: int = MOST_NUMBERS) -> list[_T]:
        """Items with commas between, up to `end`, which is passed."""
        items: list[_T] = []
        if not self.taken(end):
            items.append(item())
            self.go_on(items, item, most)
            self.expect(end, " or ','")
        return items

    def go_on(self, items: list[_T], item: Callable[[], _T], most: int = MOST_NUMBERS) -> None:
        """Items behind commas, behind those that there are; of all there may be `most`."""
        while self.taken(","):
            if len(items) >= most:
                self.fail(f"at most {most} in a row")
            items.append(item())

    def whole(self, rule: Callable[[], _T]) -> _T:
        found = rule()
        if self.next.kind != "end":
            self.fail("nothing more")
        return found

    # --- shapes --------------------------------------------------------------------------------

    def shapes(self) -> list[Shape]:
        self.expect("{")
        return self.listed(self.shape, "}", sys.maxsize)

    def shape(self, depth: int = 0) -> Shape:
        """A shape inside of `depth` tuples."""
        begin = self.next
        if depth >= MAX_DEPTH and self.is_next("(", "b"):
            self.fail(f"at most {MAX_DEPTH} levels")
        if self.taken("b"):
            self.expect("(", " after b, as in b(f32[4])")
            if self.is_next("(", "b", "token", "opaque"):
                self.fail("an array in a buffer")
            array = self.simple()
            self.expect(")")
            return Shape.buffer(array)
        if not self.taken("("):
            return self.simple()
        elements = self.listed(functools.partial(self.shape, depth + 1), ")", sys.maxsize)
        for element in elements:
            if not element.is_tuple:  # those inside have been validated where they were closed
                self.validated(element, begin)
        return Shape.tuple_of(elements)

    def validated(self, shape: Shape, begin: Token) -> None:
        try:
            shape.validate(allow_missing_layouts=True)
        except ValueError as error:
            rule = f"expected valid elements in a tuple, got {cut(shape)} ({error})"
            raise ShapeSyntaxError(rule, self.text, begin.column) from None

    def simple(self) -> Shape:
        token = self.next
        kind = self.element_type()
        if not kind.is_array:
            self.expect("[", f" after {kind.text}")
            self.expect("]", f", for {kind.text} has no sizes")
            return Shape(kind)
        self.expect("[", f" after {token.text}")
        pairs = self.listed(self.dimension, "]")
        sizes, dynamic = [n for n, _ in pairs], [d for _, d in pairs]
        layout = XlaLayout.row_major(len(sizes)) if self.fill or not sizes else None
        if self.is_next("{"):
            behind = next(tokens_of(self.text, self.next.column + 1))
            if behind.kind == "number" or behind.text == ":":
                layout = self.layout(len(sizes))
        return Shape.array(kind, sizes, layout, dynamic)

    def element_type(self) -> PrimitiveType:
        found = PrimitiveType.by_text().get(self.next.text)
        if found is None:
            self.fail("a shape: an element type such as f32, '(', 'b(', token or opaque")
        self.move()
        return found

    def dimension(self) -> tuple[int, bool]:
        if self.taken("?"):
            return UNBOUNDED, True
        dynamic = self.taken("<=")
        what = "a bound" if dynamic else "a size, '<=' or '?'"
        return self.number(what, _NATURAL), dynamic

    # --- layouts -------------------------------------------------------------------------------

    def bare_layout(self) -> XlaLayout:
        return self.layout(None)

    def layout(self, rank: int | None) -> XlaLayout:
        self.expect("{")
        order: list[int] = []
        if not self.is_next(":", "}"):
            order.append(self.number("a dimension number or ':'", INTEGERS))
            self.go_on(order, lambda: self.number("a dimension number", INTEGERS))
        if rank is not None and len(order) != rank:
            rule = f"expected {rank} dimension numbers, one for each size, got {len(order)}"
            raise ShapeSyntaxError(rule, self.text, self.next.column)
        fields = self.properties() if self.taken(":") else {}
        if not self.taken("}"):
            self.fail_misplaced()
        return XlaLayout(minor_to_major=tuple(order), **fields)

    def fail_misplaced(self) -> NoReturn:
        """The error for what is no '}' where a layout should end."""
        if self.next.text in _ORDER:
            self.fail(f"'}}', or properties once each and in the order {' '.join(_ORDER)}")
        self.fail("'}', ',' or ':' and properties such as T(8,128)")

    def properties(self) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        if self.taken("D"):
            self.expect("(", " after D")
            self.listed(self.level, ")")
        for letter, name in PROPERTIES.items():
            if letter == "P" and self.is_next(letter):
                self.fail("no physical shape (P), which only sparse arrays had")
            if self.taken(letter):
                fields[name] = self.property(letter)
        return fields

    def property(self, letter: str) -> Any:
        if letter in "#*":
            return self.unsigned(letter)
        if letter in _NUMBERS:
            return self.bracketed(letter, _NUMBERS[letter])
        return self.repeated(self.tile if letter == "T" else self.split, letter)

    def repeated(self, item: Callable[[], _T], after: str) -> list[_T]:
        if not self.is_next("("):
            self.fail(f"'(' after {after}")
        items: list[_T] = []
        while self.is_next("("):
            if len(items) >= MAX_TILES:
                self.fail(f"at most {MAX_TILES} in a row")
            items.append(item())
        return items

    def bracketed(self, letter: str, allowed: range) -> int:
        self.expect("(", f" after {letter}")
        value = self.number(f"a number for {letter}", allowed)
        self.expect(")")
        return value

    def tile(self) -> Tile:
        self.expect("(")
        if self.is_next(")"):
            self.fail("a tile size or '*'")
        return Tile(tuple(self.listed(self.tile_size, ")")))

    def tile_size(self) -> int:
        return COMBINE if self.taken("*") else self.number("a tile size or '*'", _NATURAL)

    def split(self) -> SplitConfig:
        self.expect("(")
        dimension = self.number("the number of a physical dimension", INTEGERS)
        self.expect(":")
        points = self.listed(lambda: self.number("a split point", INTEGERS), ")")
        return SplitConfig(dimension, tuple(points))

    def unsigned(self, sign: str) -> PrimitiveType:
        self.expect("(", f" after {sign}")
        word = self.next
        kind = self.element_type() if word.kind == "word" else PrimitiveType.PRED
        if kind.category != "unsigned integer":
            self.fail("an unsigned integer type such as u32", word)
        self.expect(")")
        return kind

    def level(self) -> None:
        if not any(self.taken(letter) for letter in _LEVELS):
            self.fail(f"a level type, one of {' '.join(_LEVELS)}")
        self.taken("+")
        self.taken("~")
