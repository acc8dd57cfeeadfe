"""Count the moves of narrow types that pass, and write benchmarks/results/narrow_types.md.

    python tests/harness/narrow_page.py

Each move of elements, in each type and layout, on the CPU and on the simulator, is compared with
the same move of plain bytes. A test compares rows and columns with the moves, types and layouts.
"""

from __future__ import annotations

import datetime
import platform
import sys
from pathlib import Path

for folder in ("harness", "functions", "ops"):
    sys.path.insert(0, str(Path(__file__).parents[1] / folder))

import test_narrow  # noqa: E402
from on_devices import entered  # noqa: E402

PAGE = Path(__file__).parents[2] / "benchmarks" / "results" / "narrow_types.md"
HEAD = """\
# Moves of narrow types

`python tests/harness/narrow_page.py`: each operation that moves elements, in each narrow type and
layout, compared with the same operation on plain bytes. Entries are passed/tried pairs of a type
and a layout; the number of types is in parentheses.
"""
FAMILIES = {"float8": 8, "float6": 2, "float4": 1, "int and uint": 6}


def family(name):
    """Return the column of a type."""
    return "int and uint" if "int" in name else name[:6]


def count_pairs(device):
    """Return the passed and the tried pairs of type and layout, for each move and family."""
    results = {}
    with entered(device):
        for move in test_narrow.MOVES:
            for name in test_narrow.NAMES:
                for layout in test_narrow.layouts_for(move):
                    passed, tried = results.get((move, family(name)), (0, 0))
                    try:
                        test_narrow.hold(move, name, layout)
                        passed += 1
                    except (AssertionError, TypeError, ValueError, RuntimeError) as error:
                        print(device, move, name, layout, error, file=sys.stderr)
                    results[move, family(name)] = passed, tried + 1
    return results


def table(counts):
    """Return the table; `counts`: by device."""
    heads = [f"{item} ({count}), {device}" for device in counts for item, count in FAMILIES.items()]
    lines = ["| | " + " | ".join(heads) + " |", "| --- |" + " --- |" * len(heads)]
    for move in test_narrow.MOVES:
        cells = [
            "{}/{}".format(*value[move, item]) for value in counts.values() for item in FAMILIES
        ]
        lines.append(f"| {move} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    """Count, and write the page."""
    rows = table({"CPU": count_pairs("cpu"), "simulated CUDA": count_pairs("simulator")})
    when = f"{datetime.date.today()}, {platform.system()} {platform.machine()}"
    text = f"{HEAD}\n{when}, Python {platform.python_version()}.\n\n{rows}\n"
    PAGE.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
