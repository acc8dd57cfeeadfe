"""Writes docs/directml-support.md from the table of what DirectML's operators take.

    python tests/harness/directml_support_page.py

A test compares what it writes with what is committed.
"""

from __future__ import annotations

from pathlib import Path

from tensorlayout import directml
from tensorlayout.directml import tables

PAGE = Path(__file__).parents[2] / "docs" / "directml-support.md"

INTRODUCTION = """\
# DirectML: what each operator takes

Ranks and data types of every tensor of every operator, by feature level. A row holds from its level
up to the next row of the operator. The table is data of the package,
`tensorlayout/directml/support.toml`: descriptors are validated by it, `directml.support` looks it
up, and this page is written from it by `python tests/harness/directml_support_page.py`.

```python
>>> from tensorlayout import directml
>>> directml.support("CUMULATIVE_SUMMATION", "4_0")["InputTensor"].ranks
(1, 8)
>>> [t.name for t in directml.support("TOP_K", "3_0")["OutputIndexTensor"].data_types]
['UINT32']
```

The table on the operator's page holds where DirectML's other documents or its public header differ.
[DirectML](directml.md#where-the-page-of-an-operator-and-the-header-differ) lists these operators.
FOLD and UNFOLD accept all types, because their pages leave the types empty; this is one of
[our choices](directml.md#choices-of-ours).
"""

ALL = {t for t in directml.DataType if t.bits >= 8}
NAMES = {
    frozenset(ALL): "all eleven",
    frozenset(t for t in ALL if t.bits < 64): "all of 8, 16 and 32 bits",
    frozenset(t for t in ALL if t.name != "FLOAT64"): "all but FLOAT64",
}


def types(allowed: tuple[directml.DataType, ...]) -> str:
    """Data types by name, large sets in words."""
    named = NAMES.get(frozenset(allowed))
    return named or ", ".join(t.name for t in allowed)


def page() -> str:
    """The page as it should be."""
    parts = [INTRODUCTION]
    for name in directml.OPERATORS:
        head = "| from | tensors | ranks | data types |", "| --- | --- | --- | --- |"
        lines = [f"## {name}\n", *head]
        for level, table in tables.TABLES[name].items():
            kinds: dict[directml.TensorSupport, list[str]] = {}
            for tensor, allowed in table.items():
                kinds.setdefault(allowed, []).append(tensor)
            for allowed, tensors in kinds.items():
                low, high = allowed.ranks
                span = f"{low}" if low == high else f"{low} to {high}"
                cells = level, ", ".join(tensors), span, types(allowed.data_types)
                lines.append(f"| {' | '.join(cells)} |")
        if name.startswith("PADDING"):
            first, modes = (
                next(iter(tables.TABLES[name])),
                tables.VALUE_LEVELS["PaddingMode"].items(),
            )
            later = [f"`{mode}` from {level}" for mode, level in modes if level > first]
            lines.append(f"\nPaddingMode: {', '.join(later)}.")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
