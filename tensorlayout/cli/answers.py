"""Answers of commands: an error in one line, facts by name, and the memory, slot by slot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NoReturn

from tensorlayout.layout import spreadsheet_label
from tensorlayout.layout.drawing.content import format_count

Facts = list[tuple[str, str]]

MAX_SLOTS_SHOWN = 512  # of the memory table; beyond, only the first part is shown
# Slots of that first part.
LEADING_SLOTS = 96


class CommandError(Exception):
    """One line on stderr, and the exit status: 2 for a wrong argument or a refused file."""

    def __init__(self, message: str, status: int = 2) -> None:
        super().__init__(message)
        self.status = status


def raise_show_error(text: str) -> NoReturn:
    """Raise a CommandError of ``show``."""
    raise CommandError(f"show: {text}")


def format_facts(facts: Facts) -> list[str]:
    """Return a line for each fact, its name first."""
    return [f"{name:<14} {value}" for name, value in facts]


def element_letters(index: Sequence[int], shape: Sequence[int]) -> str:
    """Return the letters of an element, by its row-major number."""
    number = 0
    for i, n in zip(index, shape, strict=True):
        number = number * n + i
    return spreadsheet_label(number)


def memory_table(
    slots: int,
    slot_text: Callable[[int], str],
    width: int,
    notes: dict[str, str],
    *,
    show_all: bool,
) -> list[str]:
    """Return the contents of the slots, all or the first, under their numbers, in lines of `width`.

    `notes`: explanations of values, added below where a value occurs.
    """
    if slots == 0:
        return ["memory: no slots"]
    values = list(map(slot_text, range(slots if show_all else min(slots, LEADING_SLOTS))))
    scope_text = "" if len(values) == slots else f"the first {len(values)} of "
    title = f"memory, {scope_text}{format_count(slots, 'slot')} (A is the first element):"
    empty_lines = "Offset:", "Value: "
    lines, (above, below) = [title], empty_lines
    for slot, value in enumerate(values):
        column_width = max(len(str(slot)), len(value))
        if (
            len(above) + 1 + column_width > width and above not in empty_lines
        ):  # one column may be wider
            lines += [above, below]
            above, below = empty_lines
        above, below = f"{above} {slot:>{column_width}}", f"{below} {value:>{column_width}}"
    return [*lines, above, below, *(f"{sign}: {n}" for sign, n in notes.items() if sign in values)]
