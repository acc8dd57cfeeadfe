"""The lines of ``show``: facts by name, and the memory table, slots over what they hold."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from tensorlayout.layout.checks import letters
from tensorlayout.layout.drawing.wording import count_of

Facts = list[tuple[str, str]]

MOST_SLOTS = 512  # of the memory table; beyond, only the first part is shown
FIRST_SLOTS = 96


def told(facts: Facts) -> list[str]:
    """A line for each fact, its name first."""
    return [f"{name:<14} {value}" for name, value in facts]


def element_name(index: Sequence[int], shape: Sequence[int]) -> str:
    """The letters of an element, by its row-major number.

    >>> element_name((1, 0), (2, 3))
    'D'
    """
    number = 0
    for i, n in zip(index, shape, strict=True):
        number = number * n + i
    return letters(number)


def memory_table(slots: int, values: list[str], width: int) -> list[str]:
    """What the first of so many slots hold, under their numbers, in lines of `width`."""
    if slots == 0:
        return ["memory: no slots"]
    part = "" if len(values) == slots else f"the first {len(values)} of "
    head = f"memory, {part}{count_of(slots, 'slot')} (A is the first element):"
    return [head, *_wrapped([str(slot) for slot in range(len(values))], values, width)]


def _wrapped(offsets: list[str], values: list[str], width: int) -> list[str]:
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
