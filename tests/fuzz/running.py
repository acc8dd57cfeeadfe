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
from dataclasses import dataclass

from case import Case, DifferenceError, judge
from draws import Draw
from small_steps import steps
from table import CASES, WEIGHTS

# Half of all cases, in turns of this many, run with blocks so small that they have several.
TURN = 1000


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
    """A difference: how often it occurred, and its smallest case as Python code (`source`)."""

    number: int
    name: str
    source: str
    size: int
    said: str
    times: int = 1

    @property
    def kind(self) -> tuple[str, str]:
        """Key that differences with one cause probably share."""
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
        for value in other.differences.values():
            self.take(value)

    def add(self, number: int, case: Case, said: str) -> None:
        """A case that does not hold."""
        self.take(Difference(number, case.name, case.source(), case.size, said))

    def take(self, result: Difference) -> None:
        """A difference, of which the smallest example is kept."""
        first = self.first.get(result.kind, result.number)
        self.first[result.kind] = min(first, result.number)
        known = self.differences.get(result.kind)
        if known is None:
            self.differences[result.kind] = result
            return
        times = known.times + result.times
        smaller = result if result.size < known.size else known
        smaller.times = times
        self.differences[result.kind] = smaller


def format_findings(findings: Findings) -> str:
    """Format the differences, one line for each kind."""
    return "\n".join(f"{d.source}: {d.said}" for d in findings.differences.values())


def search(
    seed: int,
    few: bool = False,
    seconds: float = float("inf"),
    cases: float = float("inf"),
    first: int = 0,
    only: tuple[str, ...] = (),
    findings: Findings | None = None,
    check: Callable[[Case, bool], None] = judge,
) -> Findings:
    """Check cases one by one, from number `first` on, until time or their number is up."""
    findings, number = findings or Findings(), first
    end = time.monotonic() + seconds
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        while number - first < cases and time.monotonic() < end:
            turn = number // TURN
            # In small blocks several threads allocate, so that no allocation has a fixed number.
            with steps(small=turn % 2 == 1 and not few and check is judge):
                while number // TURN == turn and number - first < cases:
                    if time.monotonic() >= end:
                        break
                    _try(findings, seed, number, few, only, check)
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
                _try(findings[number], seed, at, few, (), judge)
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


def _try(findings, seed, number, few, only, check):
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
        check(case, traced)
    except DifferenceError as error:
        findings.add(number, case, str(error))
    except Exception as error:
        error.add_note(f"case {number} of seed {seed}: {case.source()}")
        raise
