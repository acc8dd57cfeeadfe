"""``show`` of a file of HLO: its buffers with their padding, and what changes of layout cost."""

from __future__ import annotations

import sys
from pathlib import Path

from tensorlayout import xla
from tensorlayout.cli.errors import refuse
from tensorlayout.cli.memory_table import told
from tensorlayout.errors import cut, shown
from tensorlayout.layout.drawing.wording import count_of
from tensorlayout.xla import HloModule

_MOST_ROWS = 100  # of a table; the largest are shown
_MOST_LETTERS = 40  # of a name or an opcode

Row = tuple[str, ...]


def described_file(path: str, width: int) -> str:
    """Return the answer to ``show`` for a file, or ``-``, in lines of `width` where that can be.

    CommandError for a file that cannot be read or is no HLO, and for arrays of unbounded size.
    """
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text("utf-8")
        return described_module(xla.parse_hlo(text), width)
    except OSError as error:
        refuse(f"cannot read {shown(path)}: {error.strerror or error}")
    except ValueError as error:
        refuse(f"{cut(path)}: {str(error).splitlines()[0]}")


def described_module(module: HloModule, width: int) -> str:
    """Return the facts of a module and its two tables, each the largest first, with a total."""
    computations = count_of(len(module.computations), "computation")
    instructions = count_of(sum(len(c.instructions) for c in module.computations), "instruction")
    taken = ", ".join(map(str, module.parameter_shapes))
    facts = [
        ("module", f"{module.name}: {computations}, {instructions}"),
        ("entry", f"{module.entry.name}: ({taken}) -> {module.result_shape}"),
    ]
    lines = [*(cut(line, width - 1) for line in told(facts)), "", *_buffers(module, width)]
    return "\n".join([*lines, "", *_changes(module, width)])


def _buffers(module: HloModule, width: int) -> list[str]:
    found = sorted(module.buffers(), key=lambda b: -b.bytes)
    rows: list[Row] = [
        (str(b.bytes), _share(b.padding_bytes, b.bytes), b.name, b.instruction.opcode, str(b.shape))
        for b in found[:_MOST_ROWS]
    ]
    bytes_in_all, padding = sum(b.bytes for b in found), sum(b.padding_bytes for b in found)
    total = (str(bytes_in_all), _share(padding, bytes_in_all))
    head = ("bytes", "padding", "name", "opcode", "shape")
    return ["buffers, the largest first:", *_table(head, rows, total, len(found), "buffer", width)]


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}%" if whole else "0.0%"


def _changes(module: HloModule, width: int) -> list[str]:
    found = sorted(module.layout_changes(), key=lambda c: -c.bytes_read - c.bytes_written)
    if not found:
        return ["no instruction only copies or changes a layout"]
    rows: list[Row] = []
    for c in found[:_MOST_ROWS]:
        moved, names = (c.bytes_read, c.bytes_written), (c.name, c.instruction.opcode)
        rows.append((*map(str, moved), *names, str(c.source), str(c.result)))
    total = (str(sum(c.bytes_read for c in found)), str(sum(c.bytes_written for c in found)))
    head = ("read", "written", "name", "opcode", "from", "to")
    title = "instructions that only copy or change a layout, bytes each time they run:"
    return [title, *_table(head, rows, total, len(found), "instruction", width)]


def _table(head: Row, rows: list[Row], total: Row, number: int, what: str, width: int) -> list[str]:
    """Rows under a head, two columns of numbers first; the total is of all `number` rows."""
    rows = [(*row[:2], *(cut(word, _MOST_LETTERS) for word in row[2:4]), *row[4:]) for row in rows]
    longest = [
        max(len(row[at]) for row in [head, *rows, *[total] * (at < 2)]) for at in range(len(head))
    ]
    lines = [_line(row, longest) for row in [head, *rows]]
    if number > len(rows):
        lines.append(f"… and {number - len(rows)} smaller")
    lines.append(f"{_line(total, longest)}  in {count_of(number, what)}")
    return [cut(line, width - 1) if len(line) > width else line for line in lines]


def _line(row: Row, longest: list[int]) -> str:
    pairs = zip(row, longest, strict=False)
    words = [f"{w:>{n}}" if at < 2 else f"{w:<{n}}" for at, (w, n) in enumerate(pairs)]
    return "  ".join(words).rstrip()
