"""Calls over large memory, cut into pieces that threads share.

The pieces follow from the layout of the result alone. So the bits of a result do not depend on how
many threads there are, even where a loop of NumPy rounds by an element's place in a vector.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from time import perf_counter

import numpy as np

from tensorlayout.cpu.engine.blocks import Call
from tensorlayout.cpu.engine.memory import Array
from tensorlayout.cpu.engine.threads import available_threads, share_pieces
from tensorlayout.layout import Layout

# Bytes read and written from which a call is cut at all.
LEAST_BYTES = 1 << 20

# From as many bytes on several threads pay, whatever is done with them. x + y of 4 MB of float32
# 146 us in one thread, 131 in two; of 16 MB 1215 and 900 (2026-11-23, 2-core AMD EPYC (Zen 4),
# numpy 2.4.6).
SURE_BYTES = 12 << 20

# Below that the call is timed in one thread: to wake another takes 30 us, and both of them take
# turns at the interpreter. `exp` of 1 MB of float32 120 us in one thread and in two, of 2 MB 277
# and 182.
LEAST_SECONDS = 150e-6

# How often a call is timed: the first time its memory may be new.
_TIMES = 3

# Bytes of the result in a piece at least. There are up to four, then each grows to four times that,
# then there are up to sixteen. A piece takes 3 to 20 us besides its elements: in two threads x += y
# of 16 MB of float32 takes 1.0 ms in sixteen, 1.15 in 32, 1.2 in 64 (same day and machine).
_PIECE = 512 << 10

Box = tuple[slice, ...]


def pieces(size: int, extent: int) -> tuple[slice, ...]:
    """An axis in pieces of `extent`, the last of what is left."""
    return tuple([slice(k, min(k + extent, size)) for k in range(0, size, extent)])


def pieces_of_several(size: int, extent: int) -> tuple[slice, ...]:
    """Return `pieces` of which the last two are evened out where a rest of one would be left.

    For single elements NumPy has loops that round otherwise (`cpu/elementwise/standard_fixes.py`).
    """
    if extent < 3 or not size % extent == 1 < size:
        return pieces(size, extent)
    cut = size - 2
    *whole, last = pieces(cut, extent)
    return (*whole, last, slice(cut, size))


def slabs(shape: Sequence[int], minor_to_major: Sequence[int], room: int) -> list[Box]:
    """Boxes of at most about `room` elements, whole along the fastest dimensions; sizes not 0.

    The first is one of the largest.
    """
    steps = [1] * len(shape)
    left = max(1, room)
    for d in minor_to_major:
        steps[d] = min(shape[d], left)
        left = max(1, left // shape[d])
    return list(product(*map(pieces_of_several, shape, steps)))


def is_large(nbytes: int) -> bool:
    """Whether a call that reads and writes so many bytes may be cut into pieces."""
    return nbytes >= LEAST_BYTES


def _piece(nbytes: int) -> int:
    return max(_PIECE, min(-(-nbytes // 4), 4 * _PIECE), nbytes // 16)


def shared(call: Call, result: Layout, itemsize: int, nbytes: int, exact: bool) -> Call:
    """`call`, its result of this layout made by several threads where that pays; or itself.

    `nbytes`: read and written. `exact`: whether an element has the same bits wherever it is. What
    is written shares no memory with the operands, but for each element with its own.
    """
    if not is_large(nbytes) or not result.size:
        return call
    room = _piece(result.size * itemsize) // itemsize
    boxes = slabs(result.shape, result.minor_to_major, room)
    if len(boxes) < 2:
        return call

    def run(arrays: Sequence[Array], out: Array, threads: int) -> None:
        if exact and threads == 1:
            call(arrays, out)
            return
        full = [a if a.shape in ((), out.shape) else np.broadcast_to(a, out.shape) for a in arrays]

        def move(box: Box) -> None:
            call([a[box] if a.ndim else a for a in full], out[box])

        if threads > 1:
            share_pieces(boxes, move, threads)
            return
        for box in boxes:
            move(box)

    if nbytes >= SURE_BYTES:
        return lambda arrays, out: run(arrays, out, available_threads())
    return _timed(run)


def _timed(run: Callable[[Sequence[Array], Array, int], None]) -> Call:
    """`run` in one thread at first, and in several if that takes long."""
    seconds: list[float] = []

    def call(arrays: Sequence[Array], out: Array) -> None:
        if len(seconds) == _TIMES:
            run(arrays, out, available_threads() if min(seconds) >= LEAST_SECONDS else 1)
            return
        start = perf_counter()
        run(arrays, out, 1)
        if len(seconds) < _TIMES:  # another thread may have been here
            seconds.append(perf_counter() - start)

    return call
