"""Which tile: candidates with long runs in all memories, and the one of the least cost."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import gcd, inf, prod

from tensorlayout.cuda.engine.launch import SECTOR
from tensorlayout.cuda.engine.shared_tiles import (
    DEEPEST,
    NARROWEST,
    READ,
    ROOMS,
    USUAL,
    WRITE,
    TileProblem,
)
from tensorlayout.cuda.engine.shared_tiles.tile import SharedTile
from tensorlayout.layout import Loop
from tensorlayout.layout.digits import TiledLoop

# What each access of shared memory costs that takes twice as long; and how many boxes' pitches are
# looked for, until there is one without conflicts.
_CONFLICT = 0.15

_TRIED = 2
# Nothing is gained by a deep box where another costs no more than this above the best.
_GOOD = 0.2


def tile_of_copy(loop: Loop) -> SharedTile | None:
    """The box of a loop over a destination and a source: of squares, where all is aligned.

    None where none fits, or where more axes are left outside of it than kernels walk.
    """
    pack = max(1, NARROWEST // loop.width)
    squares = _squares(loop, pack)
    found = choose_tile(squares) if squares is not None else None
    if found is not None and found.cost() <= 2 + _GOOD:
        return found
    plain = choose_tile(TileProblem.over(loop, (READ,), (), pack, DEEPEST))
    boxes = [box for box in (found, plain) if box is not None]
    best = min(boxes, key=SharedTile.cost, default=None)
    return None if best is None or len(loop.axes) - len(best.axes) > DEEPEST else best


def _squares(loop: Loop, pack: int) -> TileProblem | None:
    """The problem over words of the destination."""
    *slower, last = loop.axes
    along, across = last.strides
    steps = [axis.strides[WRITE] for axis in slower]
    whole = gcd(loop.alignments[WRITE], loop.width * gcd(last.size, *steps)) % NARROWEST == 0
    sectors = gcd(loop.alignments[READ], across * loop.width) % SECTOR == 0
    rows = any(abs(axis.strides[READ]) == 1 for axis in slower)
    if pack == 1 or along != 1 or not (across and whole and sectors and rows):
        return None
    if isinstance(loop, TiledLoop) and loop.bounds:
        return None
    words = loop.in_packs(pack, (WRITE,))
    axes = words.axes if last.size > pack else words.axes[:-1]
    return TileProblem(axes, words.widths, loop.alignments, (READ,), (), 1, DEEPEST, across=across)


def choose_tile(problem: TileProblem) -> SharedTile | None:
    """The box of the least cost, among those with long runs in all memories; None if none fits.

    A deep one only where three axes make no long runs.
    """
    usual = _cheapest(problem, USUAL)
    if len(problem.axes) <= USUAL or problem.deepest <= USUAL:
        return usual
    if usual is not None and usual.cost() <= 1 + len(problem.staged) + _GOOD:
        return usual
    found = [box for box in (usual, _cheapest(problem, problem.deepest)) if box is not None]
    return min(found, key=SharedTile.cost, default=None)


def _cheapest(problem: TileProblem, deepest: int) -> SharedTile | None:
    boxes = [SharedTile(problem, *found) for found in _candidates(problem, deepest)]
    if problem.across:  # rows of squares are words
        boxes = [box for box in boxes if box.sides[READ].unit == NARROWEST]
    fitting = [box for box in boxes if box.padded_bytes <= ROOMS[-1]]
    best, least = None, inf
    for box in sorted(fitting, key=lambda box: (box.cost(), box.extents))[:_TRIED]:
        if box.cost() >= least:
            break
        cost = box.cost() + _CONFLICT * (box.conflicts - 1)
        if cost < least:
            best, least = box, cost
    return best


# Sectors that a run may have, where the axes are long enough. Whole lines of 128 bytes.
_RUNS = (4, 8, 10, 11, 12, 13, 14, 16, 24, 32, 64, 128, 256, 512, 1024)

# Of deep boxes, whose runs often are products of whole sizes.
_DEEP_RUNS = (4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 20, 24, 32, 48, 64, 128, 1024)

# Bytes of others, if several tiles have to fit.
_SHORT_RUNS = (16, 32, 64, 96)


def _candidates(problem: TileProblem, deepest: int) -> set[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Axes and extents of boxes to look at; of a single tile, the smallest one always fits."""
    write_order = range(len(problem.axes) - 1, -1, -1)
    read_orders = []  # the axes along which a memory moves, its fastest first
    for memory in problem.staged:
        steps = [abs(axis.strides[memory]) for axis in problem.axes]
        read_orders.append(sorted([k for k in write_order if steps[k]], key=steps.__getitem__))
    most = ROOMS[-1] // problem.staged_bytes
    begun, found = set(), set()
    runs = [_runs(problem, memory, deepest) for memory in problem.staged]
    for k in range(max(map(len, runs))):  # of all staged memories, of about as many bytes
        read_runs = [each[min(k, len(each) - 1)] for each in runs]
        extents: dict[int, int] = {}
        for read_order, read_run in zip(read_orders, read_runs, strict=True):
            _grow(extents, problem, read_order, read_run, deepest)
        begun.add(tuple(extents.items()))
    for read in begun:
        for write_run in _runs(problem, WRITE, deepest):
            extents = dict(read)
            _grow(extents, problem, write_order, write_run, deepest)
            axes = tuple(sorted(extents, reverse=True))
            even = tuple([_evened(problem.axes[k].size, extents[k]) for k in axes])
            if prod(even) > most:
                break  # longer runs are larger yet
            whole = tuple([extents[k] for k in axes])
            pairs = zip(whole, even, strict=True)
            some = product(*pairs) if len(axes) <= 2 else (whole, even)
            found |= {(axes, each) for each in some if prod(each) <= most}
    return {(axes, extents) for axes, extents in found if _is_near(problem, axes, extents)}


# Places inside a box have 32 bits, in bytes.
_FAR = 2**31


def _is_near(problem: TileProblem, axes: tuple[int, ...], extents: tuple[int, ...]) -> bool:
    pairs = [(problem.axes[k].strides, n - 1) for k, n in zip(axes, extents, strict=True)]
    reach = [
        problem.widths[m] * sum([abs(strides[m]) * n for strides, n in pairs])
        for m in problem.walked
    ]
    return max(reach) < _FAR


def _runs(problem: TileProblem, memory: int, deepest: int) -> list[int]:
    """Lengths of runs, in elements, for which rows have few idle threads."""
    width, alignment = problem.widths[memory], problem.alignments[memory]
    steps = [abs(a.strides[memory]) * width for a in problem.axes if a.strides[memory]]
    _, *others = sorted(steps or [width])
    if width < 4 and gcd(4, alignment, *others) < 4:
        inside = others[0] % SECTOR if others else 0
    else:
        inside = gcd(SECTOR, alignment, *others) % SECTOR
    sectors = _RUNS if deepest == USUAL else _DEEP_RUNS
    runs = [(SECTOR * n - (SECTOR - inside if inside else 0)) // width for n in sectors]
    if len(problem.staged) > 1:
        runs = [*(nbytes // width for nbytes in _SHORT_RUNS), *runs]
    return [run for run in runs if 0 < run <= ROOMS[-1] // width]


def _grow(
    extents: dict[int, int], problem: TileProblem, order: Sequence[int], run: int, deepest: int
) -> None:
    """Lengthen the run along `order` to about `run` elements, of a box of so many axes at most."""
    done = 1
    for k in order:
        if k not in extents and len(extents) == deepest:
            return
        size = problem.axes[k].size
        strides, widths = problem.axes[k].strides, problem.widths
        furthest = max([abs(strides[m]) * widths[m] for m in problem.walked])
        near = max(1, _FAR // (2 * furthest))
        extents[k] = max(extents.get(k, 1), min(size, near, -(-run // done)))
        done *= extents[k]
        if extents[k] < size or done >= run:
            return


def _evened(size: int, extent: int) -> int:
    """The extent with which as many boxes have no small one left over; whole sectors still."""
    count = -(-size // extent)
    even = -(-size // count)
    grain = gcd(extent, SECTOR)
    return min(extent, -(-even // grain) * grain)
