"""Estimated cost of a loop's accesses to one memory, counted for a sample of blocks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tensorlayout.cuda.engine.memory import SECTOR
from tensorlayout.layout import Loop
from tensorlayout.layout.digits import TiledLoop

NumberArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

_BLOCKS = 8  # size of the sample
_ACCESSES = 1024  # of a block: 256 threads with 4 accesses each

# What an H100's multiprocessor does in the time in which memory moves so many bytes for it, 15 in
# a clock: the L1 cache finds one line of a warp's read, or the L2 cache takes 32 bytes of a write.
_LINE, _LINE_COST, _STORE_COST = 128, 15, 20


def access_cost(loop: Loop, memory: int, pack: int = 1, *, written: bool = False) -> float:
    """Return the time of accesses to one memory, over that of moving the bytes requested.

    The time is the longest of three. Memory moves sectors; one that several warps of a block touch
    counts once, because the L1 cache keeps it. The L1 cache looks up each line that a warp reads;
    the L2 cache takes each sector that a warp writes. Rows that begin inside a sector thus cost
    hardly more than others. Each access is a pack of elements. Accesses in masked tails request
    nothing, unless padding is `written`. A walk along 4-byte elements that are 8 elements apart
    touches a sector for each:

    >>> from tensorlayout.layout.loop import Axis
    >>> access_cost(Loop((Axis(1000, (8,)),), (4,), (0,), (32,)), 0)
    8.0
    """
    packs, width = loop.loop_over_packs(pack, ()), loop.widths[memory]
    bounds, weights = (packs.bounds, packs.weights) if isinstance(packs, TiledLoop) else ((), ())
    count = packs.element_count
    blocks = min(_BLOCKS, -(-count // _ACCESSES))
    # Multiples of the golden ratio (40503 / 65536): equally spaced samples might all begin where an
    # inner axis begins.
    numbers = {(count - 1) * (k * 40503 % 65536) // 65536 // _ACCESSES for k in range(blocks)}
    rest = np.asarray(sorted(numbers))[:, None] * _ACCESSES + np.arange(_ACCESSES)
    inside = rest < count
    # The least aligned address for which the plan is valid.
    base = loop.firsts[memory] + loop.alignments[memory] % SECTOR
    address = np.full(rest.shape, base, np.int64)
    indices = [np.full(rest.shape, bound.first, np.int64) for bound in bounds]
    for d in range(len(loop.axes) - 1, -1, -1):
        axis = packs.axes[d]
        rest, digit = np.divmod(rest, axis.size)
        address += digit * (axis.strides[memory] * width)
        for index, moves in zip(indices, weights, strict=True):
            index += digit * moves[d]
    for index, bound in zip(indices, bounds, strict=True):
        inside &= index < (bound.written if written else bound.size)
    moved = SECTOR * _distinct_count(address // SECTOR, inside, _ACCESSES)
    if written:
        looked_up = _STORE_COST * _distinct_count(address // SECTOR, inside, 32)
    else:
        looked_up = _LINE_COST * _distinct_count(address // _LINE, inside, 32)
    requested = max(1, int(np.count_nonzero(inside))) * width * pack
    return max(moved, looked_up) / requested


def _distinct_count(numbers: NumberArray, inside: BoolArray, group: int) -> int:
    """Return how many distinct `numbers` there are in each group of accesses, summed."""
    # In a sorted row each change is one more number. Idle threads have -1, which sorts first and
    # adds none: its change counts the first real one.
    row = np.sort(np.where(inside, numbers, -1).reshape(-1, group), axis=1)
    changes = int(np.count_nonzero(row[:, 1:] != row[:, :-1]))
    return changes + int(np.count_nonzero(row[:, 0] >= 0))


def narrow_access_cost(unit: int) -> float:
    """Return the extra cost of accesses below 4 bytes: a warp then moves less than 128 bytes."""
    return 0.1 * (4 / unit - 1) if unit < 4 else 0.0
