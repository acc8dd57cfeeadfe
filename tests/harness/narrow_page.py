"""Counts what holds for narrow types, and writes the table of docs/narrow-types.md.

    python tests/harness/narrow_page.py

Each move of elements, in each type and layout, on the CPU and on the simulator, against the same
move of plain bytes. A test compares the rows and columns with what there is to count.
"""

from __future__ import annotations

import datetime
import platform
import re
import sys
from pathlib import Path

for folder in ("harness", "functions"):
    sys.path.insert(0, str(Path(__file__).parents[1] / folder))

import test_narrow  # noqa: E402
from on_devices import entered  # noqa: E402

PAGE = Path(__file__).parents[2] / "docs" / "narrow-types.md"
BEGIN, END = "<!-- counted -->", "<!-- /counted -->"
FAMILIES = {"float8": 8, "float6": 2, "float4": 1, "int and uint": 6}


def family(name):
    """The column of a type."""
    return "int and uint" if "int" in name else name[:6]


def count_pairs(device):
    """For each move and family, how many pairs of types and layouts hold, and how many are."""
    results = {}
    with entered(device):
        for move in test_narrow.MOVES:
            for name in test_narrow.NAMES:
                for layout in test_narrow.layouts_for(move):
                    held, tried = results.get((move, family(name)), (0, 0))
                    try:
                        test_narrow.hold(move, name, layout)
                        held += 1
                    except (AssertionError, TypeError, ValueError, RuntimeError) as error:
                        print(device, move, name, layout, error, file=sys.stderr)
                    results[move, family(name)] = held, tried + 1
    return results


def table(counts):
    """The rows of the page; `counts`: by device."""
    heads = [f"{item} ({count}), {device}" for device in counts for item, count in FAMILIES.items()]
    lines = ["| | " + " | ".join(heads) + " |", "| --- |" + " --- |" * len(heads)]
    for move in test_narrow.MOVES:
        cells = [
            "{} of {}".format(*value[move, item]) for value in counts.values() for item in FAMILIES
        ]
        lines.append(f"| {move} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    """Count, and write."""
    rows = table({"CPU": count_pairs("cpu"), "simulated CUDA": count_pairs("simulator")})
    when = f"{datetime.date.today()}, {platform.system()} {platform.machine()}"
    section = f"Counted {when}, Python {platform.python_version()}.\n\n{rows}"
    text = PAGE.read_text("utf-8")
    pattern = f"{BEGIN}.*{END}"
    text = re.sub(pattern, lambda _: f"{BEGIN}\n{section}\n{END}", text, flags=re.DOTALL)
    PAGE.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
