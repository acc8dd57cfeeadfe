"""Appends the tables of ranks and data types to the page about DirectML's support."""

from collections.abc import Iterator
from typing import Any

from tensorlayout import directml
from tensorlayout.directml import tables

PAGE = "directml-support.md"

_AT_LEAST_8_BITS = {t for t in directml.DataType if t.bits >= 8}
# Most rows have one of these sets, and their names would make the tables too wide to read.
_NAMES = {
    frozenset(_AT_LEAST_8_BITS): "all of 8 to 64 bits",
    frozenset(t for t in _AT_LEAST_8_BITS if t.bits < 64): "all of 8 to 32 bits",
    frozenset(_AT_LEAST_8_BITS - {directml.DataType.FLOAT64}): "all of 8 to 64 bits but FLOAT64",
}


def format_data_types(data_types: tuple[directml.DataType, ...]) -> str:
    """Return the names of data types, or the name of a large set."""
    return _NAMES.get(frozenset(data_types)) or ", ".join(t.name for t in data_types)


def table_rows(operator: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield level, tensors, ranks and data types; tensors with equal support share a row."""
    for level, table in tables.TABLES[operator].items():
        tensors_by_support: dict[directml.TensorSupport, list[str]] = {}
        for tensor, support in table.items():
            tensors_by_support.setdefault(support, []).append(tensor)
        for support, tensors in tensors_by_support.items():
            low, high = support.ranks
            ranks = f"{low}" if low == high else f"{low} to {high}"
            yield level, ", ".join(tensors), ranks, format_data_types(support.data_types)


def operator_section(operator: str) -> str:
    """Return the heading and the table of an operator."""
    rows = (f"| {' | '.join(row)} |" for row in table_rows(operator))
    header = ("| from | tensors | ranks | data types |", "| --- | --- | --- | --- |")
    lines = [f"## {operator}", "", *header, *rows, ""]
    if operator.startswith("PADDING"):
        first_level = next(iter(tables.TABLES[operator]))
        later_modes = (
            f"`{mode}` from {level}"
            for mode, level in tables.VALUE_LEVELS["PaddingMode"].items()
            if level > first_level
        )
        lines += [f"PaddingMode: {', '.join(later_modes)}.", ""]
    return "\n".join(lines)


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Hook that MkDocs calls for each page."""
    if page.file.src_uri != PAGE:
        return markdown
    return "\n".join([markdown, *map(operator_section, directml.OPERATORS)])
