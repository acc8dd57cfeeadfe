"""The counts of moves of narrow types cover all moves, types and layouts, and none failed."""

import re

import narrow_page
import test_narrow

DOCUMENT = narrow_page.PAGE.parents[2] / "docs" / "narrow-types.md"


def test_the_table_has_all_moves_and_all_pass():
    text = narrow_page.PAGE.read_text("utf-8")
    assert text.startswith(narrow_page.HEAD)
    heads, _, *rows = [line for line in text.splitlines() if line.startswith("|")]
    assert heads.count("simulated CUDA") == heads.count("CPU") == len(narrow_page.FAMILIES)
    assert [row.split(" | ")[0].strip("| ") for row in rows] == list(test_narrow.MOVES)
    sizes = dict.fromkeys(narrow_page.FAMILIES, 0)
    for name in test_narrow.NAMES:
        sizes[narrow_page.family(name)] += 1
    assert sizes == narrow_page.FAMILIES
    total = 0
    for row, move in zip(rows, test_narrow.MOVES, strict=True):
        cells = re.findall(r"(\d+)/(\d+)", row)
        count = len(test_narrow.layouts_for(move))
        want = [str(count * n) for n in narrow_page.FAMILIES.values()] * 2
        assert [passed for passed, _ in cells] == [tried for _, tried in cells] == want
        total += sum(map(int, want))
    assert f"[{total:,} combinations]" in DOCUMENT.read_text("utf-8")
