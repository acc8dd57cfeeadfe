"""The table: as text for a terminal, as Markdown to be kept, as JSON for other programs."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.measure import Ratio, Timing
from benchmarks.peers import OURS, versions

COLUMNS: Sequence[str] = ("numpy", "array-api-strict", "torch")


@dataclass(frozen=True)
class Result:
    """A row, or a case of a function, and what it took."""

    row: Any  # of `cpu`, or a case of `functions`
    timing: Timing

    @property
    def ratios(self) -> dict[str, Ratio]:
        """Ours over each peer that took part; of a case, over ours on row-major operands too."""
        return {p: self.timing.ratio(OURS, p) for p in self.timing.rounds if p != OURS}

    @property
    def above(self) -> list[str]:
        """The peers by which it misses its target."""
        ratios = {peer: ratio.middle for peer, ratio in self.ratios.items()}
        missed: list[str] = self.row.above(ratios)
        return missed


def summary(results: Sequence[Result], columns: Sequence[str] = COLUMNS) -> str:
    """One line: how many rows miss their target."""
    missed = [r for r in results if r.above]
    by = [f"{sum(p in r.above for r in missed)} by {p}" for p in columns]
    detail = f" ({', '.join(b for b in by if not b.startswith('0 '))})" if missed else ""
    return f"{len(missed)} of {len(results)} rows above target{detail}"


def machine() -> list[str]:
    """Describe machine and versions, without host names or paths."""
    cores = os.cpu_count()
    return [
        f"{datetime.now(UTC):%Y-%m-%d}, {_processor()}, {cores} cores, {platform.system()}",
        f"Python {platform.python_version()}, "
        + ", ".join(f"{name} {version}" for name, version in versions().items()),
    ]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def text(results: Sequence[Result], columns: Sequence[str] = COLUMNS) -> str:
    """The table in columns, rows above target marked."""
    cells = _aligned(_cells(results, columns))
    return "\n".join([*machine(), "", *cells, "", summary(results, columns)])


def markdown(results: Sequence[Result], columns: Sequence[str] = COLUMNS) -> str:
    """The table for a file under ``benchmarks/results``."""
    header, *body = _cells(results, columns)
    notes = [
        "Median time of a call, and in brackets ours over it: the median of the rounds' ratios,"
        " least to greatest.",
        f"{summary(results, columns)}.",
    ]
    return "\n".join(
        [
            *("# CPU", "", *[f"{line}  " for line in machine()], ""),
            *(*table(header, body, last="---"), "", *notes, ""),
        ]
    )


def table(header: Sequence[str], rows: Sequence[Sequence[str]], last: str = "---:") -> list[str]:
    """A table in Markdown, figures to the right; `last`: the rule of the last column."""
    rule = ["---", *["---:"] * (len(header) - 2), last]
    return ["| " + " | ".join(line) + " |" for line in (header, rule, *rows)]


def save_json(results: Sequence[Result], path: Path, *members: str) -> None:
    """All rounds of all rows, in seconds, each by these members of it."""
    rows = [
        {name: getattr(r.row, name) for name in members}
        | {"rounds": dict(r.timing.rounds), "above": r.above}
        for r in results
    ]
    path.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1), "utf-8")


def _cells(results: Sequence[Result], columns: Sequence[str]) -> list[list[str]]:
    header = ["case", "ours", *columns, "above target"]
    return [header, *[_line(result, columns) for result in results]]


def _line(result: Result, columns: Sequence[str]) -> list[str]:
    ratios = result.ratios
    peers = [
        f"{duration(result.timing.middle(p))} ({_ratio(ratios[p])})" if p in ratios else "-"
        for p in columns
    ]
    return [result.row.name, duration(result.timing.middle(OURS)), *peers, " ".join(result.above)]


def _ratio(ratio: Ratio) -> str:
    return f"{ratio.middle:.2f}, {ratio.low:.2f} to {ratio.high:.2f}"


def duration(seconds: float) -> str:
    """Three digits and a unit."""
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def _aligned(cells: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for line in cells:
        first, *rest = [
            cell.ljust(w) if k == 0 else cell.rjust(w)
            for k, (cell, w) in enumerate(zip(line, widths, strict=True))
        ]
        lines.append("  ".join([first, *rest]).rstrip())
    return lines
