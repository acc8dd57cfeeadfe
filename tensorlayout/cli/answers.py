"""Answers of commands: an error in one line, facts by name, and the memory, slot by slot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NoReturn

from tensorlayout.layout import letters
from tensorlayout.layout.drawing.content import count_of

Facts = list[tuple[str, str]]

MOST_SLOTS = 512  # of the memory table; beyond, only the first part is shown
FIRST_SLOTS = 96


class CommandError(Exception):
    """One line on stderr, and the exit status: 2 for a wrong argument or a refused file."""

    def __init__(self, message: str, status: int = 2) -> None:
        super().__init__(message)
        self.status = status


def refuse(text: str) -> NoReturn:
    """Raise a CommandError of ``show``."""
    raise CommandError(f"show: {text}")


def told(facts: Facts) -> list[str]:
    """A line for each fact, its name first."""
    return [f"{name:<14} {value}" for name, value in facts]


def element_name(index: Sequence[int], shape: Sequence[int]) -> str:
    """The letters of an element, by its row-major number."""
    number = 0
    for i, n in zip(index, shape, strict=True):
        number = number * n + i
    return letters(number)


def memory_table(
    slots: int, value: Callable[[int], str], width: int, notes: dict[str, str], *, whole: bool
) -> list[str]:
    """The contents of the slots, all or the first, under their numbers, in lines of `width`.

    `notes`: explanations of values, added below where a value occurs.
    """
    if slots == 0:
        return ["memory: no slots"]
    values = list(map(value, range(slots if whole else min(slots, FIRST_SLOTS))))
    part = "" if len(values) == slots else f"the first {len(values)} of "
    head = f"memory, {part}{count_of(slots, 'slot')} (A is the first element):"
    heads = "Offset:", "Value: "
    lines, (above, below) = [head], heads
    for slot, word in enumerate(values):
        room = max(len(str(slot)), len(word))
        if len(above) + 1 + room > width and above not in heads:  # one column may be wider
            lines += [above, below]
            above, below = heads
        above, below = f"{above} {slot:>{room}}", f"{below} {word:>{room}}"
    return [*lines, above, below, *(f"{sign}: {n}" for sign, n in notes.items() if sign in values)]
