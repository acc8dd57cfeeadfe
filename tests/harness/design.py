"""Which of many combinations a run takes: each value of each kind at least once, the rest by turns.

A seed says which combinations those are; ``TENSORLAYOUT_TEST_SEED`` gives it, or else it is drawn.
The processes of one run have the same.
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from functools import cache
from typing import TypeVar

T = TypeVar("T")

VARIABLE = "TENSORLAYOUT_TEST_SEED"


@cache
def seed() -> str:
    """The seed of this run; processes that it starts get it, too."""
    return os.environ.setdefault(VARIABLE, str(random.randrange(10**6)))


def chance(*names: object) -> random.Random:
    """What decides by chance: the same for the same names in all of a run."""
    return random.Random("/".join(map(str, (seed(), *names))))


def covering(name: str, cases: Sequence[tuple[T, tuple[object, ...]]]) -> list[T]:
    """Some of the cases, in their order, so that each of their values is in one.

    `cases`: each with its values, one for each parameter. `name`: of what is tested.
    """
    missing = {(at, value) for _, values in cases for at, value in enumerate(values)}
    order = chance(name).sample(range(len(cases)), len(cases))
    chosen = set()
    for number in order:
        found = missing & set(enumerate(cases[number][1]))
        if found:
            missing -= found
            chosen.add(number)
    return [case for number, (case, _) in enumerate(cases) if number in chosen]
