"""Which of many combinations a run takes: each value of each kind at least once, the rest by turns.

A seed says which combinations those are; ``TENSORLAYOUT_TEST_SEED`` gives it, or else it is drawn.
The processes of one run have the same.
"""

from __future__ import annotations

import os
import random
from functools import cache

VARIABLE = "TENSORLAYOUT_TEST_SEED"


@cache
def seed() -> str:
    """The seed of this run; processes that it starts get it, too."""
    return os.environ.setdefault(VARIABLE, str(random.randrange(10**6)))


def chance(*names: object) -> random.Random:
    """What decides by chance: the same for the same names in all of a run."""
    return random.Random("/".join(map(str, (seed(), *names))))
