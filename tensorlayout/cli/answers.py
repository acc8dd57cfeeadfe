"""Parts of the commands' output: one-line errors, named facts, and the memory table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NoReturn

from tensorlayout.layout import Layout, order_name, spreadsheet_label
from tensorlayout.layout.drawing.content import format_count

Facts = list[tuple[str, str]]

# The memory table shows all slots up to the first number, else as many as the second.
MAX_SLOTS_SHOWN = 512
LEADING_SLOTS = 96


class CommandError(Exception):
    """Error printed as one line on stderr, with the exit status.

    The status is 2 for a wrong argument or a rejected file, 1 for a failed comparison.
    """

    def __init__(self, message: str, status: int = 2) -> None:
        super().__init__(message)
        self.status = status


def raise_show_error(text: str) -> NoReturn:
    """Raise a CommandError of ``show``."""
    raise CommandError(f"show: {text}")


def format_layout(layout: Layout) -> str:
    """Return the text of a layout, followed by the name of its order if it has one."""
    name = order_name(layout)
    return f"{layout}, {name}" if name else str(layout)


def format_facts(facts: Facts) -> list[str]:
    """Return one line per fact, starting with its name."""
    return [f"{name:<14} {value}" for name, value in facts]


def element_letters(index: Sequence[int], shape: Sequence[int]) -> str:
    """Return the spreadsheet-style letters of an element: A, B, …, Z, AA in row-major order."""
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
    """Return the memory table: values below slot numbers, in lines of at most `width`.

    A column wider than `width` has a line of its own. `notes`: explanation per value, added below
    the table if the value occurs. Without `show_all` only the leading slots are listed.
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
        if len(above) + 1 + column_width > width and above not in empty_lines:
            lines += [above, below]
            above, below = empty_lines
        above, below = f"{above} {slot:>{column_width}}", f"{below} {value:>{column_width}}"
    return [*lines, above, below, *(f"{sign}: {n}" for sign, n in notes.items() if sign in values)]
