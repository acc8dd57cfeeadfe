"""Programs written for NumPy, run with ``import tensorlayout as np``, as somebody new would try.

Each line that needs a change gets an error that says the change. In the programs under
``tests/data/newcomer`` a line is followed by the words of its error (``#? words``) and by the line
that a reader of them writes (``#> line``); both may come several times. With all changes made the
program prints what NumPy prints.
"""

import contextlib
import io
import math
import re
import traceback
from pathlib import Path

import pytest

PROGRAMS = sorted((Path(__file__).parents[1] / "data" / "newcomer").glob("*.txt"))
_MOST = 40  # changes of one program


def parsed(text: str) -> tuple[list[str], dict[int, list[tuple[str, str]]]]:
    """The lines, and by a line's number the words and the next text of each change of it."""
    lines = text.splitlines()
    changes: dict[int, list[tuple[str, str]]] = {}
    at, words = 0, ""
    for number, line in enumerate(lines, 1):
        mark, rest = line.strip()[:2], line.strip()[2:].strip()
        if mark == "#?":
            words = rest
        elif mark == "#>":
            changes.setdefault(at, []).append((words, rest))
        else:
            at = number
    return lines, changes


def run(lines: list[str], module: str) -> str:
    source = "\n".join(lines).replace("import LIBRARY as np", f"import {module} as np")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(source, "<program>", "exec"), {"__name__": "program"})
    return printed.getvalue()


def line_of(error: BaseException) -> int:
    """The line of the program where it failed: the last that a reader sees of his own."""
    frames = traceback.extract_tb(error.__traceback__)
    return [frame.lineno for frame in frames if frame.filename == "<program>"][-1]


def frames_of_ours(error: BaseException) -> int:
    frames = traceback.extract_tb(error.__traceback__)
    last = max(i for i, frame in enumerate(frames) if frame.filename == "<program>")
    return len(frames) - last - 1


def words_and_numbers(printed: str) -> list[str | float]:
    """Split output into words and numbers, without brackets and commas, in which the two differ."""
    tokens = re.sub(r"[\[\],()]", " ", printed).split()
    results: list[str | float] = []
    for token in tokens:
        try:
            results.append(float(token))
        except ValueError:
            results.append(token)
    return results


def same(a: str | float, b: str | float) -> bool:
    if isinstance(a, str) or isinstance(b, str):
        return a == b
    return math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9)


def outcome(lines: list[str]) -> tuple[Exception | None, str]:
    try:
        return None, run(lines, "tensorlayout")
    except Exception as error:
        return error, ""


def change(lines: list[str], changes: dict[int, list[tuple[str, str]]], failed: Exception) -> None:
    """Make the change that the error asks for."""
    number = line_of(failed)
    assert changes.get(number), f"line {number}: {lines[number - 1]!r} raised {failed!r}"
    words, instead = changes[number].pop(0)
    assert words in str(failed), f"line {number}: {failed!r} does not say {words!r}"
    assert frames_of_ours(failed) <= 2, "".join(traceback.format_exception(failed))
    indent = re.match(r" *", lines[number - 1])[0]
    lines[number - 1] = indent + instead


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_every_line_that_needs_a_change_says_it(path):
    lines, changes = parsed(path.read_text("utf-8"))
    expected = run(lines, "numpy")
    for _ in range(_MOST):
        failed, printed = outcome(lines)
        if failed is None:
            break
        change(lines, changes, failed)
    assert not any(changes.values()), f"needed no change: {changes}"
    ours, theirs = words_and_numbers(printed), words_and_numbers(expected)
    assert len(ours) == len(theirs)
    assert [pair for pair in zip(ours, theirs, strict=True) if not same(*pair)] == []


def test_programs_are_there():
    assert [path.stem for path in PROGRAMS] == ["image_filter", "kmeans", "life", "nbody", "pca"]
