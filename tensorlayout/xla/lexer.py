"""Shape text in pieces: numbers, words and signs, each with its column; errors that point."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

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
    """

    def __init__(self, rule: str, text: str, column: int) -> None:
        """`rule` ends in what came instead."""
        self.rule = rule
        self.text = text
        self.column = column
        super().__init__(f"shape text: {rule}, at column {column + 1}\n{_pointed(text, column)}")

    def __reduce__(self) -> tuple[type[ShapeSyntaxError], tuple[str, str, int]]:
        return ShapeSyntaxError, (self.rule, self.text, self.column)


def _pointed(text: str, column: int) -> str:
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


def tokens_of(text: str) -> Iterator[Token]:
    """The pieces of a text as they are asked for, an ``end`` last; no blanks, no comments."""
    if not isinstance(text, str):
        msg = f"shape text: must be a str, got {type(text).__name__}"
        raise TypeError(msg)
    at = 0
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
