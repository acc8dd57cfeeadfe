"""The page of narrow types names what is counted, and nothing in it failed."""

import re

import narrow_page
import test_narrow


def test_the_table_is_of_all_moves_and_all_hold():
    text = narrow_page.PAGE.read_text("utf-8")
    counted = text[text.index(narrow_page.BEGIN) : text.index(narrow_page.END)]
    heads, _, *rows = [line for line in counted.splitlines() if line.startswith("|")]
    assert heads.count("simulated CUDA") == heads.count("CPU") == len(narrow_page.FAMILIES)
    assert [row.split(" | ")[0].strip("| ") for row in rows] == list(test_narrow.MOVES)
    sizes = dict.fromkeys(narrow_page.FAMILIES, 0)
    for name in test_narrow.NAMES:
        sizes[narrow_page.family(name)] += 1
    assert sizes == narrow_page.FAMILIES
    for row, move in zip(rows, test_narrow.MOVES, strict=True):
        cells = re.findall(r"(\d+) of (\d+)", row)
        count = len(test_narrow.layouts_for(move))
        want = [str(count * n) for n in narrow_page.FAMILIES.values()] * 2
        assert [held for held, _ in cells] == [tried for _, tried in cells] == want
