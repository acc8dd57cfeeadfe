"""Values combined in runs: sums of floats that all devices take in the same order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorlayout.cpu.memory import Array, quietly
from tensorlayout.cpu.runs import BLOCK, Cut
from tensorlayout.plan.combining import RUN


def combine_at(ufunc: Any, flat: Array, slots: Array, values: Array) -> None:
    """``ufunc.at(flat, slots, values)``, all of rank 1; from `RUN` values of a slot on in runs."""
    if _may_have_runs(flat, slots):
        order = np.argsort(slots, kind="stable")
        line = slots[order]
        new = np.flatnonzero(np.diff(line, prepend=line[0] - 1))
        counts = np.diff(new, append=line.size)
        place = np.arange(line.size) - np.repeat(new, counts)
        in_runs = place < np.repeat(counts - counts % RUN, counts)
        if in_runs.any():
            runs = order[in_runs]
            found = quietly(ufunc.accumulate, values[runs].reshape(-1, RUN), axis=1)[:, -1]
            combine_at(ufunc, flat, slots[runs][::RUN], found)
            rest = order[~in_runs]
            slots, values = slots[rest], values[rest]
    quietly(ufunc.at, flat, slots, values)


def _may_have_runs(flat: Array, slots: Array) -> bool:
    """Counting is cheaper than a sort, if there is memory for it."""
    if slots.size < RUN:
        return False
    return flat.size > 16 * slots.size or int(np.bincount(slots).max()) >= RUN


def cuts_along(shape: tuple[int, ...]) -> Iterator[Cut]:
    """Cuts of (outer, middle, inner) that have all of the middle."""
    outer, middle, inner = shape
    columns = max(1, BLOCK // middle)
    lines = max(1, BLOCK // (middle * inner))
    for a in range(0, outer, lines):
        for c in range(0, inner, columns):
            yield slice(a, a + lines), slice(None), slice(c, c + columns)
