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
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "functions"))

from special_cases import CALLS, CASES, CONVERSIONS, Case, Limit, numbers, same
from test_special_cases import BINARY, DTYPES, GROUPS, IN_PLACE, LANES, LAYOUTS, OF_OPERATORS, Group

PAGE = Path(__file__).parents[2] / "docs" / "special-cases.md"
MEASURED = "## Where NumPy departs"

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

The standard says of most functions what they give for infinities, zeros, NaN, and at the edges of
an integer's range. `tests/harness/special_cases.py` holds all of it as data, also what the text
states for one half plane and demands of the others by symmetry; this page is written from that
table by `python tests/harness/special_cases_page.py`.

*max*, *lowest* and *tiny* are the greatest, the least and the least positive value of a dtype,
*width* its number of bits. A complex number is written (real part, imaginary part). Signs of zeros
count everywhere.

```python
>>> import math
>>> import tensorlayout as tl
>>> tl.floor_divide(tl.asarray([1.0, -1.0, -0.0]), math.inf)
Tensor([ 0., -0., -0.], dtype=float64, device='cpu')
>>> tl.expm1(tl.asarray([complex(-math.inf, 2.0)]))
Tensor([-1.+0.j], dtype=complex128, device='cpu')
```
"""


def described() -> str:
    """The page without its last section, which `MEASURED` heads."""
    sections = [INTRODUCTION, how_tested(), by_function(), open_answers(), ours(), calls()]
    return "\n".join(sections)


def table(heads: Iterable[str], rows: Iterable[Iterable[object]], right: int = 0) -> str:
    """A table; the last `right` columns hold numbers."""
    heads = list(heads)
    marks = ["---"] * (len(heads) - right) + ["---:"] * right
    lines = [heads, marks, *rows]
    return "".join(f"| {' | '.join(map(str, cells))} |\n" for cells in lines)


def how_tested() -> str:
    of_kind = Counter((case.function, case.kind) for case in CASES)
    cases = Counter({group: of_kind[group[:2]] for group in map(values_of, GROUPS)})
    results = cases.total() * LANES * len(LAYOUTS)
    layouts = [make.__name__.replace("_", "-") for make in LAYOUTS]
    ways = [
        ("as a function, in each layout", GROUPS),
        ("as an operator, row-major and padded", OF_OPERATORS),
        ("in place, in each layout", [g for g in GROUPS if values_of(g)[0] in IN_PLACE]),
        ("beside a Python scalar or a tensor of rank 0", BINARY),
    ]
    rows = [(way, f"{sum(cases[values_of(g)] for g in groups):,}") for way, groups in ways]
    return f"""\
## How they are tested

The table has {len(CASES):,} cases of elementwise functions. Each in every dtype of its kind makes
{cases.total():,}, and each of these stands once in every place of a line of {LANES} elements, which
is no multiple of any vector width, among ordinary values that must come out as ever. As functions
they are called in the layouts {", ".join(layouts[:-1])} and
{layouts[-1]}: {results:,} results.

{table(["way", "cases times dtypes"], rows, 1)}
Besides, for the functions that are more than a call of NumPy's: the bits of an element do not
depend on its neighbours, in tensors larger than the blocks that are worked on. Conjugates give
conjugates, odd functions are odd and even ones even, bit by bit.

{table(["kind", "dtypes"], [(KIND_NAMES[k], ", ".join(d)) for k, d in DTYPES.items()])}"""


def values_of(parameter: Any) -> tuple[str, str, str]:
    """Function, kind and dtype of a group of cases."""
    return parameter.values[0]


def by_function() -> str:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for case in CASES:
        counts[case.function][case.kind] += 1
        counts[case.function]["ours"] += is_ours(case.section)
    rows = [
        (f"`{name}`", *(counts[name][k] or "" for k in DTYPES), counts[name]["ours"] or "")
        for name in sorted(counts)
    ]
    total = sum(counts.values(), Counter())
    rows.append(("**all**", *(total[k] for k in DTYPES), total["ours"]))
    heads = ["function", *KIND_NAMES.values(), "of them ours"]
    return f"""\
## Cases by function

Each operand that the text calls a positive finite number, a finite number or any value is tried at
several of them. *Ours* are cases that the text leaves open and this package answers.

{table(heads, rows, 5)}"""


def is_ours(section: str) -> bool:
    return section.partition(": ")[2].startswith("ours")


def open_answers() -> str:
    rows: dict[tuple[str, ...], list[str]] = {}
    for function, kind in dict.fromkeys((c.function, c.kind) for c in CASES if len(c.allowed) > 1):
        cases = {repr(c.operands): c for c in CASES if is_open(c, function, kind)}
        results = answers(function, kind, list(cases.values()))
        for case, answer in zip(cases.values(), results, strict=True):
            key = (f"`{function}`", " or ".join(sorted(map(format_value, case.allowed))), answer)
            rows.setdefault(key, []).append(operands_of(case))
    lines = [(name, "; ".join(item), allowed, got) for (name, allowed, got), item in rows.items()]
    return f"""\
## Where several answers are allowed

Mostly a sign that the text leaves open. What is taken is the same in every lane and layout, and in
every dtype but where the last column says otherwise.

{table(["function", "of", "allowed", "taken"], lines)}"""


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
    rows = [(rule, ", ".join(functions)) for rule, functions in rules.items()]
    return f"""\
## What the text leaves open, and the answer here

{table(["answer", "functions"], rows)}"""


def calls() -> str:
    counts = Counter(f"`{c.function}`" for c in CALLS)
    rows = [(name, count) for name, count in sorted(counts.items())]
    return f"""\
## Calls with whole tensors

Reductions, scans, searching, sets, creation and linear algebra have {len(CALLS)} cases, in
float32 and float64 each. Conversions of tensors of rank 0 to `bool`, `int`, `float` and `complex`
have {len(CONVERSIONS)}.

{table(["function", "cases"], rows, 1)}"""


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
    heads = ["function", "kind", "cases", "missed in", "for example"]
    return f"""\
{MEASURED}

NumPy's functions of the same names on the same cases, in lines of {LANES} elements; those that miss
none are left out. Measured on {today} with NumPy {np.__version__}, {machine}.

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
