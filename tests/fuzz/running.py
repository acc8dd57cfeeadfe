"""Cases by number: drawn, judged, counted; differences with the smallest case that shows them."""

from __future__ import annotations

import collections
import contextvars
import random
import re
import sys
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass

import alias_cases
import alias_outputs
import alias_views
import directml_cases
import elementwise_cases
import entering_cases
import fuse_cases
import indexing_cases
import library_cases
import moving_cases
import numpy_cases
import program_cases
import pytest
import rank_cases
import reducing_cases
import two_ways_cases
import write_table
from case import Case, DifferenceError, judge
from draws import Draw

from tensorlayout import plan
from tensorlayout.cpu import fill, fuse, library, mask, pad, reduce, scan, scatter
from tensorlayout.cpu.copy import axes
from tensorlayout.cpu.elementwise import flat, staging, where, writing
from tensorlayout.cpu.engine import blocks
from tensorlayout.cpu.gather import read, runs
from tensorlayout.cpu.reduce import fold, positions, quantile, walk

CASES = {
    **elementwise_cases.CASES,
    **moving_cases.CASES,
    **indexing_cases.CASES,
    **reducing_cases.CASES,
    **library_cases.CASES,
    **program_cases.CASES,
    **directml_cases.CASES,
    **alias_cases.CASES,
    **alias_views.CASES,
    **alias_outputs.CASES,
    **write_table.CASES,
    **entering_cases.CASES,
    **numpy_cases.CASES,
    **rank_cases.CASES,
    **fuse_cases.CASES,
    **two_ways_cases.CASES,
}
WEIGHTS = {
    **rank_cases.WEIGHTS,
    **alias_cases.WEIGHTS,
    **alias_views.WEIGHTS,
    **alias_outputs.WEIGHTS,
    **write_table.WEIGHTS,
}

# Half of all cases, in turns of this many, run with blocks so small that they have several.
TURN = 1000
SMALL_STEPS = [
    *((fold, n, v) for n, v in [("SMALL", 0), ("BLOCK", 3), ("WIDE_RUN", 2), ("_ROW", 7)]),
    *((reduce, n, v) for n, v in [("SMALL", 0), ("WIDE_RUN", 2), ("_RUN", 2), ("_FEW", 5)]),
    *((positions, n, v) for n, v in [("SMALL", 0), ("BLOCK", 1), ("_ROWS", 2), ("_WIDE", 2)]),
    *((scan, n, v) for n, v in [("BLOCK", 3), ("_ROWS", 1), ("_ROW", 2), ("_SIDE_BY_SIDE", 2)]),
    *((runs, n, v) for n, v in [("MANY", 20), ("RUN", 3), ("BLOCK", 8), ("_COLUMNS", 2)]),
    *((read, n, v) for n, v in [("RUN", 3), ("BLOCK", 8), ("_LONG", 8), ("_STAGE", 8)]),
    *((scatter, n, v) for n, v in [("_SLICED", 3), ("_FILLED", 2)]),
    *((mask, n, v) for n, v in [("_BLOCK", 32), ("_DENSE", 0.5)]),
    *((staging, n, v) for n, v in [("LEAST", 4), ("SLAB_BYTES", 256), ("REPEATS", 2)]),
    *((blocks, "BLOCK_BYTES", 256), (flat, "CHUNK_BYTES", 64)),
    *((library, "_BLOCK", 16), (where, "_SAMPLE", 8), (where, "_LONG_RUN", 4)),
    *(
        (quantile, "_FEW", 2),
        (fill, "_CALL", 2),
        (pad, "_PIECE", 99),
        (axes, "FUSED_BYTES", 16),
    ),
    *((fuse, n, v) for n, v in [("LEAST", 0), ("BLOCK", 64)]),
    (writing, "_RUN", 3),
    (fold, "_COLUMNS", 3),
    (positions, "_COLUMNS", 2),
    (walk.blocks, "__defaults__", (3, 0)),
]


@contextmanager
def steps(small):
    """Blocks of a few elements, if `small`."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name, value in SMALL_STEPS if small else ():
            patch.setattr(module, name, value)
        plan.run.cache_clear()
        yield
    plan.run.cache_clear()


def case_of(seed: int, number: int, few: bool, only: tuple[str, ...] = ()) -> tuple[Case, bool]:
    """The case of a number, and whether it is traced."""
    chance = random.Random(f"{seed}/{number}")
    name = chance.choice(only or NAMES)
    draw = Draw(chance, few, number)
    return CASES[name](draw), draw.chance(0.15)


begins: Callable[[int], None] = lambda number: None  # noqa: E731 - told of each case before it runs

# What is drawn more often stands there more often.
NAMES = tuple(name for name in CASES for _ in range(WEIGHTS.get(name, 1)))


@dataclass(slots=True)
class Difference:
    """What was found: how often, and where it is smallest; `source`: Python that shows it."""

    number: int
    name: str
    source: str
    size: int
    said: str
    times: int = 1

    @property
    def kind(self) -> tuple[str, str]:
        """What differences of one cause are likely to have in common."""
        return self.name, re.sub(r"[-\d.()]+", "#", self.said)[:40]


class Findings:
    """Counts of cases, by function, and differences, by function and kind."""

    def __init__(self) -> None:
        self.counts: collections.Counter[str] = collections.Counter()
        self.drawn: collections.Counter[tuple[str, ...]] = collections.Counter()
        self.differences: dict[tuple[str, str], Difference] = {}
        self.first: dict[tuple[str, str], int] = {}  # the number of the first case of a kind

    def merge(self, other: Findings) -> None:
        """Add what another search found."""
        self.counts += other.counts
        self.drawn += other.drawn
        for found in other.differences.values():
            self.take(found)

    def add(self, number: int, case: Case, said: str) -> None:
        """A case that does not hold."""
        self.take(Difference(number, case.name, case.source(), case.size, said))

    def take(self, found: Difference) -> None:
        """A difference, of which the smallest example is kept."""
        first = self.first.get(found.kind, found.number)
        self.first[found.kind] = min(first, found.number)
        known = self.differences.get(found.kind)
        if known is None:
            self.differences[found.kind] = found
            return
        times = known.times + found.times
        smaller = found if found.size < known.size else known
        smaller.times = times
        self.differences[found.kind] = smaller


def search(
    seed: int,
    few: bool = False,
    seconds: float = float("inf"),
    cases: float = float("inf"),
    first: int = 0,
    only: tuple[str, ...] = (),
    findings: Findings | None = None,
) -> Findings:
    """Judge cases one by one, from number `first` on, until time or their number is up."""
    findings, number = findings or Findings(), first
    end = time.monotonic() + seconds
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        while number - first < cases and time.monotonic() < end:
            turn = number // TURN
            with steps(small=turn % 2 == 1 and not few):
                while number // TURN == turn and number - first < cases:
                    if time.monotonic() >= end:
                        break
                    _try(findings, seed, number, few, only)
                    number += 1
    return findings


def search_in_threads(count: int, seed: int, few: bool, seconds: float) -> Findings:
    """Judge cases in several threads at once, which change places as often as can be.

    Thread number n takes the cases n, n + count, … of the seed; blocks are as they are.
    """
    findings, end = [Findings() for _ in range(count)], time.monotonic() + seconds
    errors: list[BaseException] = []

    def work(number: int) -> None:
        at = number
        try:
            while time.monotonic() < end and not errors:
                _try(findings[number], seed, at, few, ())
                at += count
        except BaseException as error:
            errors.append(error)

    before = sys.getswitchinterval()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sys.setswitchinterval(1e-5)
        try:
            contexts = [contextvars.copy_context() for _ in range(count)]  # with the default device
            threads = [
                threading.Thread(target=c.run, args=(work, n)) for n, c in enumerate(contexts)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            sys.setswitchinterval(before)
    if errors:
        raise errors[0]
    for other in findings[1:]:
        findings[0].merge(other)
    return findings[0]


def _try(findings, seed, number, few, only):
    try:
        case, traced = case_of(seed, number, few, only)
    except Exception as error:
        error.add_note(f"case {number} of seed {seed} cannot be drawn")
        raise
    begins(number)
    findings.counts[case.name] += 1
    if case.drawn:
        findings.drawn[case.drawn] += 1
    try:
        judge(case, traced)
    except DifferenceError as error:
        findings.add(number, case, str(error))
    except Exception as error:
        error.add_note(f"case {number} of seed {seed}: {case.source()}")
        raise
