"""Text tables of traces: one row per record, or per run of equal records."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import groupby

from tensorlayout.layout import Layout, cut_middle, short_layout_text
from tensorlayout.tracing.record import Record, format_kernel_lines

# Longest group of records whose repeats are folded, such as the body of a loop.
_MAX_PERIOD = 16
# Widths that keep most lines within 120 columns.
_MAX_PATH = 30
_MAX_NAME = 32
_MAX_INPUTS = 3
TIMES = "\N{MULTIPLICATION SIGN}"


def format_trace_rows(records: Sequence[Record]) -> list[str]:
    """Return the lines of a trace's table, without its totals."""
    with_device = any(record.device_seconds for record in records)
    headings = ["line", "operation", "kind", "dtype", "read", "written", "us", "GB/s"]
    headings += ["device us"] * with_device
    groups = fold_repeats(records, _visible_facts)
    rows = [_table_row(group, with_device) for group in groups]
    heading_line, *row_lines = format_table(headings, rows, left_aligned_columns=4)
    # Layouts come last: the longest of them does not widen a column.
    lines = [f"{heading_line}  layouts"]
    for line, group in zip(row_lines, groups, strict=True):
        lines.append(f"{line}  {_short_layout_change(group[0])}")
        lines += format_kernel_lines(*[record.kernels for record in group])
    return lines


def fold_repeats(
    records: Sequence[Record], key: Callable[[Record], Hashable]
) -> list[list[Record]]:
    """Return the records in groups, one group for each row.

    Consecutive records of equal keys are one group. If a sequence of several records repeats, as
    the body of a loop does, each of its keys is one group.
    """
    numbers_by_key: dict[Hashable, int] = {}
    keys = [numbers_by_key.setdefault(key(record), len(numbers_by_key)) for record in records]
    groups: list[list[Record]] = []
    start = 0
    while start < len(keys):
        length = _repeating_length(keys, start)
        groups_by_key: dict[int, list[Record]] = {}
        for at in range(start, start + length):
            groups_by_key.setdefault(keys[at], []).append(records[at])
        groups += groups_by_key.values()
        start += length
    return groups


def _repeating_length(keys: Sequence[int], start: int) -> int:
    """Return how many keys from `start` on repeat one short sequence; 1 if it does not repeat."""
    longest = 1
    for period in range(1, min(_MAX_PERIOD, (len(keys) - start) // 2) + 1):
        first, end = keys[start : start + period], start + period
        while keys[end : end + period] == first:
            end += period
        if end - start > max(longest, period):
            longest = end - start
    return longest


def format_table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], *, left_aligned_columns: int
) -> list[str]:
    """Return rows as lines with columns of sufficient width.

    The first `left_aligned_columns` columns are left-aligned, the others right-aligned.
    """
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    return [
        "  ".join(
            word.ljust(width) if column_number < left_aligned_columns else word.rjust(width)
            for column_number, (word, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (headings, *rows)
    ]


def count_prefix(group: Sequence[Record]) -> str:
    """Return ``26 × `` for a group of 26 records, and nothing for a single record."""
    return f"{len(group)} {TIMES} " if len(group) > 1 else ""


def _visible_facts(r: Record) -> Hashable:
    return r.where, r.called, r.kind, r.dtype, _short_layout_change(r)


def _table_row(group: Sequence[Record], with_device: bool) -> list[str]:
    first = group[0]
    bytes_read = sum(r.bytes_read for r in group)
    bytes_written = sum(r.bytes_written for r in group)
    seconds = sum(r.seconds for r in group)
    device_seconds = sum(r.device_seconds or 0.0 for r in group)
    moves_elements = first.kind not in ("view", "export")
    rate = (bytes_read + bytes_written) / (device_seconds or seconds or 1.0) / 1e9
    row = [
        *(_short_where(first), f"{count_prefix(group)}{cut_middle(first.called, _MAX_NAME)}"),
        *(first.kind, first.dtype, str(bytes_read), str(bytes_written)),
        f"{seconds * 1e6:.1f}" if seconds else "-",
        f"{rate:.2f}" if moves_elements and seconds else "-",
    ]
    device_cell = f"{device_seconds * 1e6:.1f}" if device_seconds else "-"
    return [*row, device_cell] if with_device else row


def _short_where(r: Record) -> str:
    """Return the calling lines, of long paths only the end."""
    lines = r.where.split(" < ") if r.stack else ["-"]
    return " < ".join(
        line if len(line) <= _MAX_PATH else f"…{line[1 - _MAX_PATH :]}" for line in lines
    )


def _short_layout_change(r: Record) -> str:
    return f"{format_short_layouts(r.inputs)} -> {short_layout_text(r.output)}".lstrip()


def format_short_layouts(layouts: Iterable[Layout], max_letters: int = 48) -> str:
    """Return the short texts of the first layouts; more than two equal ones in a row are counted.

    `max_letters`: maximal length of one layout's text.
    """
    texts = []
    for text, equal_texts in groupby(short_layout_text(x, max_letters) for x in layouts):
        count = len(list(equal_texts))
        texts += [f"{count} {TIMES} {text}"] if count > 2 else [text] * count
    return ", ".join([*texts[:_MAX_INPUTS], "…"] if len(texts) > _MAX_INPUTS else texts)
