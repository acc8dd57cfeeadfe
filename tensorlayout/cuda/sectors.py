"""What a walk in the destination's order costs in one memory, counted on a few warps of it."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tensorlayout.cuda.loops import SECTOR


def in_order_cost(sizes: Sequence[int], steps: Sequence[int], base: int, width: int) -> float:
    """Bytes of the sectors that warps touch, over the bytes that they ask for.

    `sizes`: slowest first, a thread for each index; `steps`: in bytes; `base`: the address of the
    first element, or one as badly aligned; `width`: bytes of an element. A walk along 4-byte
    elements that lie 8 elements apart takes a sector for each:

    >>> in_order_cost([1000], [32], 0, 4)
    8.0
    """
    count = prod(sizes)
    warps = min(8, -(-count // 32))
    # Places of the golden ratio: at equal distances, all might be where an inner axis begins.
    starts = {(count - 1) * (k * 40503 % 65536) // 65536 // 32 * 32 for k in range(warps)}
    threads = [i for start in starts for i in range(start, min(start + 32, count))]
    axes = list(zip(sizes, steps, strict=True))[::-1]
    touched = set()
    for thread in threads:
        address, index = base, thread
        for size, step in axes:
            index, at = divmod(index, size)
            address += at * step
        touched.add((thread // 32, address // SECTOR))
    return len(touched) * SECTOR / (len(threads) * width)
