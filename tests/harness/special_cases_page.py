"""Writes docs/special-cases.md from the table of special cases.

    python tests/harness/special_cases_page.py

It stands beside the table and the tests that it describes. All but the last section follows from
the table and this package, and a test compares it with what is committed; the last section is
measured against the NumPy that is installed.
"""

from __future__ import annotations

import datetime
import math
import platform
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "functions"))

from special_cases import CALLS, CASES, CONVERSIONS, Case, Limit, numbers, same
from test_special_cases import DTYPES, GROUPS, LANES, LAYOUTS, Group

PAGE = Path(__file__).parents[2] / "docs" / "special-cases.md"
MEASURED = "## Where NumPy differs"

KIND_NAMES = {
    "real": "real",
    "complex": "complex",
    "integer": "integer",
    "signed": "signed integer",
}
LIMITS = {
    Limit.MAX: "max",
    Limit.LOWEST: "lowest",
    Limit.TINY: "tiny",
    Limit.MINUS_TINY: "-tiny",
    Limit.WIDTH: "width",
}
ANGLES = {math.pi: "π", math.pi / 2: "π/2", math.pi / 4: "π/4", 3 * math.pi / 4: "3π/4"}

INTRODUCTION = """\
# Special cases

The array API standard states what most functions return for infinities, zeros, NaN and the edges
of an integer's range. This package follows it. This page lists the answers that the standard
leaves to the implementation, and the cases in which NumPy gives another answer.

`tests/harness/special_cases.py` holds every case of the standard as data, and
`python tests/harness/special_cases_page.py` writes this page from it.

```python
>>> import math
>>> import tensorlayout as tl
>>> tl.floor_divide(tl.asarray([1.0, -1.0, -0.0]), math.inf)
Tensor([ 0., -0., -0.], dtype=float64, device='cpu')
>>> tl.expm1(tl.asarray([complex(-math.inf, 2.0)]))
Tensor([-1.+0.j], dtype=complex128, device='cpu')
```

In the tables, *max*, *lowest* and *tiny* are the greatest, the least and the least positive value
of a dtype, and *width* is its number of bits. A complex number is written as (real part, imaginary
part). `±` stands for both signs. The sign of a zero counts.
"""


def described() -> str:
    """The page without its last section, which `MEASURED` heads."""
    sections = [INTRODUCTION, open_answers(), ours(), how_tested()]
    return "\n".join(sections)


def table(heads: Iterable[str], rows: Iterable[Iterable[object]], right: int = 0) -> str:
    """A table; the last `right` columns hold numbers."""
    heads = list(heads)
    marks = ["---"] * (len(heads) - right) + ["---:"] * right
    lines = [heads, marks, *rows]
    return "".join(f"| {' | '.join(map(str, cells))} |\n" for cells in lines)


def how_tested() -> str:
    of_kind = Counter((case.function, case.kind) for case in CASES)
    total = sum(of_kind[group[:2]] for group in map(values_of, GROUPS))
    functions = len({case.function for case in CASES})
    return f"""\
## How they are tested

The {functions} elementwise functions have {len(CASES):,} cases, or {total:,} if each dtype is
counted. A test puts each case at every position of a line of {LANES} elements (no multiple of a
vector width), between ordinary values whose results are checked too. It does so in these layouts:
{", ".join(map(layout_name, LAYOUTS))}. Other tests call the operators, the in-place operators, and
functions with a Python scalar or a rank-0 tensor.

If this package computes a function itself instead of calling NumPy's, tests also check that the
bits of a result do not depend on the neighbouring elements, and that symmetries (conjugate, odd,
even) hold bit for bit.

Reductions, scans, searching, set, creation and linear algebra functions have {len(CALLS)} cases,
in float32 and float64. Conversions of rank-0 tensors to `bool`, `int`, `float` and `complex` have
{len(CONVERSIONS)}.
"""


def layout_name(make: Callable[..., object]) -> str:
    return make.__name__.replace("_", "-")


def values_of(parameter: Any) -> tuple[str, str, str]:
    """Function, kind and dtype of a group of cases."""
    return parameter.values[0]


def is_ours(section: str) -> bool:
    return section.partition(": ")[2].startswith("ours")


def open_answers() -> str:
    rows: dict[tuple[str, ...], list[str]] = {}
    for function, kind in dict.fromkeys((c.function, c.kind) for c in CASES if len(c.allowed) > 1):
        cases = {repr(c.operands): c for c in CASES if is_open(c, function, kind)}
        results = answers(function, kind, list(cases.values()))
        for case, answer in zip(cases.values(), results, strict=True):
            allowed = " or ".join(merge_signs(sorted(map(format_value, case.allowed))))
            rows.setdefault((f"`{function}`", allowed, answer), []).append(operands_of(case))
    lines = [
        (name, "; ".join(merge_signs(operands)), allowed, answer)
        for (name, allowed, answer), operands in rows.items()
    ]
    return f"""\
## Where the standard allows several answers

Usually the standard leaves a sign open. This package returns the same answer at every position and
in every layout, and in every dtype unless the last column says "by dtype".

{table(["function", "operands", "allowed", "returned"], lines)}"""


def merge_signs(texts: list[str]) -> list[str]:
    """Join complex numbers that differ only in the sign of one part: (inf, ±0)."""
    merged = dict.fromkeys(texts)
    for part in (1, 0):
        for text in [*merged]:
            if not re.fullmatch(r"\([^()]+\)", text):
                continue
            parts = text[1:-1].split(", ")
            other = [*parts]
            other[part] = f"-{parts[part]}"
            negative = f"({', '.join(other)})"
            if negative in merged:
                other[part] = f"±{parts[part]}"
                both = f"({', '.join(other)})"
                merged = dict.fromkeys(both if t == text else t for t in merged if t != negative)
    return [*merged]


def is_open(case: Case, function: str, kind: str) -> bool:
    return (case.function, case.kind) == (function, kind) and len(case.allowed) > 1


def answers(function: str, kind: str, cases: list[Case]) -> list[str]:
    """Return the result of each case in every layout and lane, for all dtypes or "by dtype"."""
    actual: list[set[str]] = [set() for _ in cases]
    for dtype in DTYPES[kind]:
        group = Group(function, kind, dtype)
        places = [next(i for i, c in enumerate(group.cases) if c is case) for case in cases]
        group.operands = [column[places] for column in group.operands]  # the others can stay away
        arrays, lanes = group.placed(), np.arange(LANES)
        results = [np.asarray(group.call(*map(make, arrays))) for make in LAYOUTS]
        stacked = np.stack([result[..., lanes, lanes] for result in results], axis=1)
        for i, case in enumerate(cases):
            allowed_values = [v for v in case.allowed if same(stacked[i], value(group, v)).all()]
            assert allowed_values, f"{case}: no allowed result, or not one in every layout and lane"
            actual[i].add(format_value(allowed_values[0]))
    return [g.pop() if len(g) == 1 else "by dtype" for g in actual]


def value(group: Group, allowed: Any) -> Any:
    return numbers([allowed], group.result)


def operands_of(case: Case) -> str:
    return ", ".join(map(format_value, case.operands))


def format_value(value: Any) -> str:
    """A value of the table as text."""
    if isinstance(value, tuple):
        return f"({', '.join(map(format_value, value))})"
    if isinstance(value, Limit):
        return LIMITS[value]
    if isinstance(value, float) and abs(value) in ANGLES:
        return ("-" if value < 0 else "") + ANGLES[abs(value)]
    return f"{value:g}" if isinstance(value, float) else str(value)


def ours() -> str:
    rules: dict[str, dict[str, None]] = {}
    for entry in [*CASES, *CALLS]:
        if is_ours(entry.section):
            rule = entry.section.partition("ours: ")[2]
            rules.setdefault(rule, {})[f"`{entry.function}`"] = None
    rows = [(", ".join(functions), rule) for rule, functions in rules.items()]
    return f"""\
## Where the standard says nothing

{table(["functions", "result in this package"], rows)}"""


def measured() -> str:
    """The functions of NumPy that miss cases, measured here and now."""
    rows = []
    misses: dict[tuple[str, str], list[tuple[str, int, str]]] = defaultdict(list)
    for function, kind, dtype in map(values_of, GROUPS):
        group = Group(function, kind, dtype)
        missed = missed_by_numpy(group)
        if missed:
            misses[function, kind].append((dtype, len(missed), missed[0]))
    for (function, kind), result in sorted(misses.items()):
        of = sum((c.function, c.kind) == (function, kind) for c in CASES)
        counts = ", ".join(f"{dtype} {count}" for dtype, count, _ in result)
        rows.append((f"`{function}`", KIND_NAMES[kind], of, counts, result[-1][2]))
    today = f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}"
    machine = f"{platform.system()} {platform.machine()}"
    heads = ["function", "kind", "cases", "of them different", "example"]
    return f"""\
{MEASURED}

NumPy's functions of the same names were called with the same cases, in lines of {LANES} elements.
In the cases counted here they give another answer than the standard or, where the standard says
nothing, than this package. Measured on {today} with NumPy {np.__version__}, {machine}.

{table(heads, rows)}"""


def missed_by_numpy(group: Group) -> list[str]:
    """The cases that NumPy's function misses, as text."""
    function = getattr(np, group.function)
    placed = group.placed()
    missed = []
    for i, case in enumerate(group.cases):
        try:
            with np.errstate(all="ignore"):
                result = np.asarray(function(*(array[i] for array in placed)))
            special = result[np.arange(LANES), np.arange(LANES)]
        except (TypeError, ValueError) as error:
            missed.append(f"{operands_of(case)} raises {type(error).__name__}")
            continue
        if result.dtype != group.result:
            missed.append(f"the result is {result.dtype}")
            continue
        right = np.zeros(LANES, bool)
        for allowed in group.allowed:
            right |= same(special, allowed[i : i + 1], group.function == "copysign")
        if not right.all():
            wrong = format_value(number(special[np.flatnonzero(~right)[0]]))
            demanded = " or ".join(format_value(number(a[i])) for a in unique(group.allowed, i))
            missed.append(f"{operands_of(case)} gives {wrong}, not {demanded}")
    return missed


def unique(allowed: list[Any], i: int) -> list[Any]:
    """The columns of allowed results that differ at row `i`."""
    return list({repr(column[i]): column for column in allowed}.values())


def number(value: Any) -> Any:
    """A scalar of NumPy as the table has it."""
    if value.dtype.kind == "c":
        return (float(value.real), float(value.imag))
    return float(value) if value.dtype.kind in "fV" else value.item()


if __name__ == "__main__":
    PAGE.write_text(f"{described()}\n{measured()}", "utf-8")
