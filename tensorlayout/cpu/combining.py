"""Values combined in runs: sums of floats that all devices take in the same order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorlayout.cpu.memory import Array, quietly
from tensorlayout.cpu.runs import BLOCK, Cut
from tensorlayout.plan.combining import RUN


def combine_at(ufunc: Any, flat: Array, slots: Array, values: Array) -> None:
    """``np.add.at(flat, slots, values)``, all of rank 1; from `RUN` values of a slot on in runs."""
    if slots.size >= RUN:
        places = slots
        if flat.size > 16 * slots.size:  # too many to count
            places = np.unique(slots, return_inverse=True)[1]
        counts = np.bincount(places)
        if counts.max() >= RUN:
            _in_runs(ufunc, flat, slots, values, places, counts)
            return
    quietly(ufunc.at, flat, slots, values)


def _in_runs(
    ufunc: Any, flat: Array, slots: Array, values: Array, places: Array, counts: Array
) -> None:
    """The same, given a number of each slot that occurs, and how often each does."""
    if counts.size <= 2**16:
        places = places.astype(np.uint16)  # which NumPy sorts ten times faster
    order = np.argsort(places, kind="stable")
    full = counts // RUN
    run = np.arange(slots.size)
    run -= np.repeat(np.cumsum(counts) - counts, counts)
    run //= RUN
    in_runs = run < np.repeat(full, counts)
    run += np.repeat(np.cumsum(full) - full, counts)
    there, number = order[in_runs], run[in_runs]
    found = -np.zeros(int(full.sum()), values.dtype)  # to which -0 may be added too
    quietly(ufunc.at, found, number, values[there])
    combine_at(ufunc, flat, slots[there[np.flatnonzero(np.diff(number, prepend=-1))]], found)
    rest = order[~in_runs]
    quietly(ufunc.at, flat, slots[rest], values[rest])


def cuts_along(shape: tuple[int, ...]) -> Iterator[Cut]:
    """Cuts of (outer, middle, inner) that have all of the middle."""
    outer, middle, inner = shape
    columns = max(1, BLOCK // middle)
    lines = max(1, BLOCK // (middle * inner))
    for a in range(0, outer, lines):
        for c in range(0, inner, columns):
            yield slice(a, a + lines), slice(None), slice(c, c + columns)
