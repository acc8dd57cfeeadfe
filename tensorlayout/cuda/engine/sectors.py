"""What a walk in the destination's order costs in one memory, counted on some warps of it."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

# Memory moves in sectors of this many bytes, and no alignment beyond it matters.
SECTOR = 32

# The widest access of a thread.
WIDEST = 16

# How many are looked at.
_WARPS = 64


def in_order_cost(sizes: Sequence[int], steps: Sequence[int], base: int, width: int) -> float:
    """Bytes of the sectors that warps touch, over the bytes that they ask for.

    `sizes`: slowest first, a thread for each index; `steps`: in bytes; `base`: the address of the
    first element, or one as badly aligned; `width`: bytes of an element. A walk along 4-byte
    elements that lie 8 elements apart takes a sector for each:

    >>> in_order_cost([1000], [32], 0, 4)
    8.0
    """
    count = prod(sizes)
    warps = min(_WARPS, -(-count // 32))
    # Places of the golden ratio: at equal distances, all might be where an inner axis begins.
    starts = sorted({(count - 1) * (k * 40503 % 65536) // 65536 // 32 * 32 for k in range(warps)})
    threads = np.minimum(np.asarray(starts)[:, None] + np.arange(32), count - 1)
    address = np.full(threads.shape, base, np.int64)
    index = threads
    for size, step in zip(reversed(sizes), reversed(steps), strict=True):
        index, at = np.divmod(index, size)
        address += at * step
    touched = np.sort(address // SECTOR, axis=1)
    sectors = len(starts) + int(np.count_nonzero(np.diff(touched, axis=1)))
    asked = sum([min(32, count - start) for start in starts])
    return sectors * SECTOR / (asked * width)
