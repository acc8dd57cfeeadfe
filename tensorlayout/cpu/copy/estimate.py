"""What each way of copying a loop costs: estimates in nanoseconds per element, integers in.

Measured 2026-11-21, 2-core AMD EPYC (Zen 4; 32 KB first-level, 1 MB second-level cache per
core), numpy 2.4.6, in one thread, on 4 MB of data. The steps between the caches are what counts;
they are alike on all processors with 64-byte lines and 4096-byte pages.
"""

from math import gcd, inf, prod

from tensorlayout.cpu.copy.axes import READ, WRITE, CopyLoop
from tensorlayout.layout.loop import Axis

LINE = 64
PAGE = 4096
NEAR_CACHE = 32 * 1024

# Contiguous bytes, each.
BYTE = 0.022

# Entering numpy's inner loop once. Runs of 3 bytes take 4.3 in all, of 16 bytes 4.8.
ROW = 4.0

# With 16 positions numpy's own order is as fast, and calls less often for the interpreter lock.
MOST_CHANNELS = 8

# One element by numpy's strided loops, and by way of a tile's buffer.
_STRIDED = {1: 0.30, 2: 0.31, 4: 0.34, 8: 0.37, 16: 0.52}
_TILED = {1: 0.36, 2: 0.40, 4: 0.48, 8: 0.7, 16: 1.6}

# One element of a void type is a call of memmove: 3 bytes 1.7, 32 bytes 2.5, 128 bytes 5.4.
_VOID = 1.7
_VOID_BYTE = 0.028

# More for an element whose line is no longer in the first-level cache, by the largest power of
# two (at most a page) that divides the stride: the more zero bits, the fewer sets of the cache
# the rows share, the second-level cache's too from 2048 on.
_MISS = {1024: 0.6, 2048: 1.9, 4096: 2.4}
_MISS_ELSE = 0.25

# What the prefetcher takes for a run, in bytes.
_RUN_OF_LINES = 4 * LINE

# More again when the rows lie in more pages than the translation buffer holds.
_FAR = 1.5
_FAR_PAGES = 2048


def strided(loop: CopyLoop) -> float:
    """One assignment in the destination's order."""
    last = loop.axes[-1]
    if last.strides[READ] == 0 and last.strides[WRITE] == loop.width:
        return BYTE * loop.width + ROW / last.size  # numpy fills such rows as fast as it copies
    return _element(loop.width) + ROW / last.size + _misses(loop)


def channels(loop: CopyLoop) -> float:
    """The fastest axis taken one position at a time: infinite unless it is very short."""
    if len(loop.axes) < 2 or loop.axes[-1].size > MOST_CHANNELS:
        return inf
    # The destination's lines are met once a position: 3 × 4 bytes 0.29 an element, 4 × 8 bytes
    # 0.45, 8 × 8 bytes 0.78.
    span = loop.axes[-1].size * loop.axes[-1].strides[WRITE]
    again = 0.0 if span <= 16 else 0.13 if span <= 32 else 0.4
    return _element(loop.width) + again + ROW / loop.axes[-2].size + _misses(loop)


def tiles(loop: CopyLoop, extents: tuple[int, ...]) -> float:
    """By boxes and a buffer: infinite unless the sides differ in their fastest axis."""
    if loop.width not in _TILED or not _between(loop):
        return inf
    between = range(loop.read_order[0] + 1, len(extents))
    lines = prod([extents[k] for k in between if loop.axes[k].strides[READ]])
    again = 0.0 if lines * LINE <= NEAR_CACHE else _MISS_ELSE
    read_run = 1
    for k in loop.read_order:
        read_run *= extents[k]
        if extents[k] < loop.axes[k].size:
            break
    return _TILED[loop.width] + again + ROW / extents[-1] + ROW / read_run


def _element(width: int) -> float:
    return _STRIDED.get(width, _VOID + _VOID_BYTE * width)


def _between(loop: CopyLoop) -> tuple[Axis, ...]:
    """The axes that are walked between two elements of the same line of the source."""
    if not loop.read_order:
        return ()
    fastest = loop.read_order[0]
    return loop.axes[fastest + 1 :] if abs(loop.axes[fastest].strides[READ]) < LINE else ()


def _misses(loop: CopyLoop) -> float:
    """What it costs that a line of the source is met again only after many others."""
    between = [axis for axis in _between(loop) if axis.strides[READ]]
    lines = prod([axis.size for axis in between])
    if lines * LINE <= NEAR_CACHE and not any(map(_crowded, between)):
        return 0.0
    # Elements of one line that are met one after the other miss it once, and runs of lines come
    # ahead of time: 16-bit numbers out of T(8,128)(2,1), 64 MB, 19.3 ms so, 23.1 by boxes.
    step = abs(between[-1].strides[READ])
    if step < LINE and between[-1].size * step >= _RUN_OF_LINES:
        return _MISS_ELSE * step / LINE
    miss = _MISS_ELSE
    for axis in filter(_crowded, between):
        miss = max(miss, _MISS.get(gcd(axis.strides[READ], PAGE), 0.0))
    if max([abs(axis.strides[READ]) for axis in between]) >= PAGE and lines > _FAR_PAGES:
        miss += _FAR
    return miss * min(1.0, step / LINE)


def _crowded(axis: Axis) -> bool:
    """Whether the lines along this axis do not fit the sets of the cache that they fall into."""
    return axis.size * gcd(axis.strides[READ], PAGE) > NEAR_CACHE
