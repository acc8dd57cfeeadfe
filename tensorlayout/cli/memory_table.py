"""The memory table of ``show``: slots over what they hold, broken into lines."""

from __future__ import annotations

from itertools import accumulate

MOST_SLOTS = 512  # of the memory table; beyond, only the first part is shown
FIRST_SLOTS = 96


def count_of(number: int, what: str) -> str:
    """A number and its unit.

    >>> count_of(1, "slot"), count_of(2, "slot")
    ('1 slot', '2 slots')
    """
    return f"{number} {what}{'s' * (number != 1)}"


def wrapped(offsets: list[str], values: list[str], width: int) -> list[str]:
    """Pairs of lines, of which none is wider than `width` unless a single column is."""
    widths = [max(map(len, pair)) for pair in zip(offsets, values, strict=True)]
    ends = list(accumulate(w + 1 for w in widths))
    lines: list[str] = []
    start, used, room = 0, 0, width - len("Offset:")
    for at, end in enumerate(ends):
        last = at + 1 == len(ends)
        if last or ends[at + 1] - used > room:
            for head, row in (("Offset:", offsets), ("Value: ", values)):
                words = zip(row[start : at + 1], widths[start : at + 1], strict=True)
                lines.append(head + "".join(f" {word:>{w}}" for word, w in words))
            start, used = at + 1, end
    return lines
