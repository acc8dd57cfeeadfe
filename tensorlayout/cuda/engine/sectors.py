"""Estimated cost of a loop's accesses to one memory, counted for a sample of warps."""

from __future__ import annotations

import numpy as np

from tensorlayout.cuda.engine.memory import SECTOR
from tensorlayout.layout import Loop
from tensorlayout.layout.digits import TiledLoop

_WARPS = 64  # size of the sample


def sector_overfetch(loop: Loop, memory: int, pack: int = 1, *, written: bool = False) -> float:
    """Return the bytes of the sectors that warps touch in one memory, over the bytes requested.

    Each thread has a pack of elements. Threads in masked tails request nothing, unless padding is
    `written`. A walk along 4-byte elements that are 8 elements apart touches a sector for each:

    >>> from tensorlayout.layout.loop import Axis
    >>> sector_overfetch(Loop((Axis(1000, (8,)),), (4,), (0,), (32,)), 0)
    8.0
    """
    packs, width = loop.loop_over_packs(pack, ()), loop.widths[memory]
    bounds, weights = (packs.bounds, packs.weights) if isinstance(packs, TiledLoop) else ((), ())
    count = packs.element_count
    warps = min(_WARPS, -(-count // 32))
    # Multiples of the golden ratio (40503 / 65536): equally spaced samples might all begin where an
    # inner axis begins.
    starts = sorted({(count - 1) * (k * 40503 % 65536) // 65536 // 32 * 32 for k in range(warps)})
    rest = np.asarray(starts)[:, None] + np.arange(32)
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
    # In a sorted row each change is one more sector. Idle lanes have -1, which sorts first and adds
    # no sector: its change counts the first real one.
    sectors = np.sort(np.where(inside, address // SECTOR, -1), axis=1)
    fresh = int(np.count_nonzero(sectors[:, 1:] != sectors[:, :-1]))
    fresh += int(np.count_nonzero(sectors[:, 0] >= 0))
    return fresh * SECTOR / (max(1, int(np.count_nonzero(inside))) * width * pack)


def narrow_access_cost(unit: int) -> float:
    """Return the extra cost of accesses below 4 bytes: a warp then moves less than 128 bytes."""
    return 0.1 * (4 / unit - 1) if unit < 4 else 0.0
