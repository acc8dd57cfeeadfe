"""Values combined in runs: sums of floats that all devices take in the same order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tensorlayout.cpu.engine.memory import Array, quietly
from tensorlayout.cpu.runs import BLOCK, Cut
from tensorlayout.plan.combining import RUN

# Slots and values, in index order, about so many at a time.
Blocks = Callable[[int], Iterator[tuple[Array, Array]]]

# What is worked out for so many values stays cached; fresh memory takes longer than all else.
_MANY = 2 * BLOCK

# Values from which on neighbouring columns are not taken together.
_MOST = 64 * BLOCK


def combine_in_runs(
    ufunc: Any, flat: Array, slots_of: Callable[[Cut], Array], values: Array
) -> None:
    """``np.add.at(flat, slots, values)`` in runs; all of (outer, middle, inner).

    The slots of each index in `outer` are neighbours.
    """
    outer, middle, inner = values.shape
    span = flat.size // outer
    columns = min(inner, max(1, _MOST // middle))
    lines = min(outer, max(1, _MANY // (middle * inner)))
    for a in range(0, outer, lines):
        for c in range(0, inner, columns):

            def blocks(size: int, a: int = a, c: int = c) -> Iterator[tuple[Array, Array]]:
                step = max(1, size // columns) if lines == 1 else middle
                for b in range(0, middle, step):
                    cut = slice(a, a + lines), slice(b, b + step), slice(c, c + columns)
                    slots = slots_of(cut).reshape(-1)
                    yield slots - a * span if a else slots, values[cut].reshape(-1)

            part = flat[a * span : (a + lines) * span]
            _combine(ufunc, part, blocks, lines * middle * columns)


def _combine(ufunc: Any, flat: Array, blocks: Blocks, count: int) -> None:
    """The same for about so many values; where slots are many more, those that occur are numbered.

    But first the values are counted by a remainder of their slots, so that few are.
    """
    sparse = flat.size > 2 * count
    counts = np.zeros(2 * count + 1 if sparse else flat.size, np.intp)
    for slots, _ in blocks(_MANY):
        np.add.at(counts, slots % counts.size if sparse else slots, 1)
    often = np.flatnonzero(counts >= RUN)
    if not often.size:
        for slots, values in blocks(_MANY):
            quietly(ufunc.at, flat, slots, values)
    elif sparse:
        left = []
        for slots, values in blocks(_MANY):
            many = counts.take(slots % counts.size) >= RUN
            quietly(ufunc.at, flat, slots[~many], values[~many])
            left.append((slots[many], values[many]))
        slots, values = map(np.concatenate, zip(*left, strict=True))
        used, places = np.unique(slots, return_inverse=True)
        part = flat[used]
        _combine(ufunc, part, _blocks_of(places, values), places.size)
        flat[used] = part
    else:
        _in_runs(ufunc, flat, blocks, counts[often], often)


def _in_runs(ufunc: Any, flat: Array, blocks: Blocks, counts: Array, often: Array) -> None:
    """The same, given the slots of `RUN` values or more, and how many each has."""
    # Each of these slots is a place, and so are all others together, the last. The runs of a place
    # have numbers; of the values left of them, that follow, the number is one that `is_left`.
    runs = np.append(counts // RUN, 0)
    last = np.cumsum(runs + 1) - 1
    is_left = np.zeros(last[-1] + 1, bool)
    is_left[last] = True
    of_runs = np.flatnonzero(~is_left)
    is_left[-1] = False
    place_of = None
    if often.size < flat.size:
        place_of = np.full(flat.size, often.size)
        place_of[often] = np.arange(often.size)
    found = -np.zeros(is_left.size, flat.dtype)  # to which -0 may be added too
    seen = (last - runs) * RUN
    left = []
    width = 16 * runs.size  # of a cell: a run ends in one of 16
    size = max(_MANY, width)
    rows = -(-size // width)
    cells = np.repeat(np.arange(0, rows * runs.size, runs.size), width)[:size]
    for slots, values in blocks(size):
        places = slots if place_of is None else place_of.take(slots)
        number = _numbers(places, cells, seen, last[-1])
        quietly(ufunc.at, found, number, values)
        if place_of is not None:
            others = np.flatnonzero(number == last[-1])
            quietly(ufunc.at, flat, slots[others], values[others])
        if (seen > last * RUN)[:-1].any():
            others = np.flatnonzero(is_left.take(number))
            left.append((slots[others], values[others]))
    _combine(ufunc, flat, _blocks_of(np.repeat(often, runs[:-1]), found[of_runs]), of_runs.size)
    for slots, values in left:
        quietly(ufunc.at, flat, slots, values)


def _numbers(places: Array, cells: Array, seen: Array, last: int) -> Array:
    """The number of the run of each value: its rank in its place, of which so many were `seen`.

    All values of a place in a cell of few neighbours have one number, but where a run ends.
    """
    key = places + cells[: places.size]
    sizes = np.bincount(key, minlength=cells[places.size - 1] + seen.size)
    ends = np.cumsum(sizes.reshape(-1, seen.size), axis=0)
    ends += seen
    seen[:] = ends[-1]
    ends = ends.reshape(-1)
    begins = ends - sizes
    numbers = np.minimum(begins // RUN, last)
    torn = np.flatnonzero((numbers + 1) * RUN < ends)
    torn = torn[numbers[torn] < last]
    numbers[torn] = -1
    number: Array = numbers.take(key)
    if torn.size:
        found = np.flatnonzero(number < 0)
        near = key[found]
        order = np.argsort(near.astype(np.uint16) if sizes.size <= 2**16 else near, kind="stable")
        counts = sizes[torn]
        ranks = np.repeat(begins[torn] - (np.cumsum(counts) - counts), counts)
        ranks += np.arange(found.size)
        ranks //= RUN
        number[found[order]] = ranks
    return number


def _blocks_of(slots: Array, values: Array) -> Blocks:
    return lambda size: (
        (slots[k : k + size], values[k : k + size]) for k in range(0, slots.size, size)
    )
