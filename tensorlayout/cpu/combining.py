"""Values combined in runs: sums of floats that all devices take in the same order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tensorlayout.cpu.memory import Array, quietly
from tensorlayout.cpu.runs import BLOCK, Cut
from tensorlayout.plan.combining import RUN

# Slots and values, in index order, about so many at a time.
Blocks = Callable[[int], Iterator[tuple[Array, Array]]]

# What is worked out for so many values stays cached; fresh memory costs more than all else.
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
                    yield slots_of(cut).reshape(-1) - a * span, values[cut].reshape(-1)

            part = flat[a * span : (a + lines) * span]
            _combine(ufunc, part, blocks, lines * middle * columns)


def _combine(ufunc: Any, flat: Array, blocks: Blocks, count: int) -> None:
    """The same for slots of about as many elements as there are values."""
    counts = np.zeros(flat.size, np.intp)
    for slots, _ in blocks(BLOCK):
        np.add.at(counts, slots, 1)
    often = np.flatnonzero(counts >= RUN)
    if often.size:
        _in_runs(ufunc, flat, blocks, counts[often], often)
        return
    for slots, values in blocks(BLOCK):
        quietly(ufunc.at, flat, slots, values)


def _in_runs(ufunc: Any, flat: Array, blocks: Blocks, counts: Array, often: Array) -> None:
    """The same, given the slots of `RUN` values or more, and how many each has."""
    full = np.append(counts // RUN, 0)  # runs of each place, a slot; the last are all others
    first = np.cumsum(full) - full
    few = int(full.sum())  # where values of other slots go, and behind, those left of these
    number_of = None
    if often.size < flat.size:
        number_of = np.full(flat.size, often.size)
        number_of[often] = np.arange(often.size)
    found = -np.zeros(few + 2, flat.dtype)  # to which -0 may be added too
    seen = np.zeros_like(full)
    left = []
    for slots, values in blocks(max(_MANY, 16 * full.size)):
        places = slots if number_of is None else number_of.take(slots)
        number = _numbers(places, seen, full, first, few)
        quietly(ufunc.at, found, number, values)
        if number_of is not None:
            others = np.flatnonzero(number == few)
            quietly(ufunc.at, flat, slots[others], values[others])
        if (seen > RUN * full)[:-1].any():
            others = np.flatnonzero(number > few)
            left.append((slots[others], values[others]))
    whole = np.repeat(often, full[:-1])
    _combine(ufunc, flat, _blocks_of(whole, found[:few]), few)
    for slots, values in left:
        quietly(ufunc.at, flat, slots, values)


def _numbers(places: Array, seen: Array, full: Array, first: Array, few: int) -> Array:
    """The number of the run of each value, given how many of each place were `seen`, which goes on.

    All values of a place in a cell of few neighbours have one number, but where a run ends.
    """
    width = 1 << (16 * full.size).bit_length()  # so that a run ends in one cell of 16 or less
    rows = -(-places.size // width)
    key = places
    if rows > 1:
        key = places + np.repeat(np.arange(0, rows * full.size, full.size), width)[: places.size]
    sizes = np.bincount(key, minlength=rows * full.size).reshape(rows, full.size)
    ends = np.cumsum(sizes, axis=0) + seen
    begins = ends - sizes
    seen[:] = ends[-1]
    run = begins // RUN
    numbers = np.where(run < full, run + first, few + 1)
    numbers[:, -1] = few
    numbers[(run < full) & (ends - run * RUN > RUN)] = -1
    number = numbers.reshape(-1).take(key)
    torn = np.flatnonzero(number < 0)
    if torn.size:
        near = key[torn]
        order = np.argsort(near.astype(np.uint16) if sizes.size <= 2**16 else near, kind="stable")
        torn, near = torn[order], near[order]
        starts = np.flatnonzero(np.diff(near, prepend=-1))
        cells = near[starts]
        ranks = np.repeat(begins.reshape(-1)[cells] - starts, np.diff(starts, append=near.size))
        ranks += np.arange(near.size)
        ranks //= RUN
        place = near % full.size
        number[torn] = np.where(ranks < full[place], ranks + first[place], few + 1)
    return number


def _blocks_of(slots: Array, values: Array) -> Blocks:
    return lambda size: (
        (slots[k : k + size], values[k : k + size]) for k in range(0, slots.size, size)
    )
