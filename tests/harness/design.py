"""Choice of combinations for a run: each value at least once, the remaining ones in turn.

``TENSORLAYOUT_TEST_SEED`` says which combinations those are. The others are `long` tests, of which
``TENSORLAYOUT_TEST_SHARE=3/20`` takes every twentieth, from the third on.
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

VARIABLE, SHARE = "TENSORLAYOUT_TEST_SEED", "TENSORLAYOUT_TEST_SHARE"


SEED = os.environ.get(VARIABLE, "1")


def chance(*names: object) -> random.Random:
    """Return a random generator that is the same for the same names during a run."""
    return random.Random("/".join(map(str, (SEED, *names))))


def covering(name: str, cases: Sequence[tuple[T, tuple[object, ...]]]) -> list[T]:
    """Some of the cases, in their order, so that each of their values is in one.

    `cases`: each with its values, one for each parameter. `name`: of what is tested.
    """
    missing = {(at, value) for _, values in cases for at, value in enumerate(values)}
    order = chance(name).sample(range(len(cases)), len(cases))
    chosen = set()
    for number in order:
        result = missing & set(enumerate(cases[number][1]))
        if result:
            missing -= result
            chosen.add(number)
    return [case for number, (case, _) in enumerate(cases) if number in chosen]


def shared(items: list[T]) -> list[T]:
    """The share of the tests that is asked for: all of them, if none is."""
    part, _, parts = os.environ.get(SHARE, "0/1").partition("/")
    return items[int(part) % int(parts) :: int(parts)]
