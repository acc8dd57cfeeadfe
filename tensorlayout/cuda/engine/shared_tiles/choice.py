"""Choice of a box's extents from the strides, widths and alignments of axes.

In each memory a run is at least as long as one access of a warp. If rows begin at sectors, longer
runs only reduce the number of blocks: runs of sources grow until a box has the preferred number of
bytes. If rows begin inside sectors, each costs part of one more: then runs grow as far as there is
room, in whole warps minus the threads that shifts leave idle.

``tests/copy/test_tile_choice.py`` compares the boxes of this rule with sixty others that fit.
"""

from __future__ import annotations

from math import gcd, isqrt, prod

from tensorlayout.cuda.engine.memory import SECTOR
from tensorlayout.cuda.engine.shared_tiles import (
    DEEPEST,
    NARROWEST,
    READ,
    ROOMS,
    USUAL,
    WRITE,
    TileProblem,
    round_up_to_multiple,
)
from tensorlayout.cuda.engine.shared_tiles.tile import SharedTile
from tensorlayout.layout import Loop
from tensorlayout.layout.digits import TiledLoop

# Squares are kept without trying others if they cost at most this much more than the ideal, 2.
_GOOD = 0.2


def choose_tile_of_copy(loop: Loop) -> SharedTile | None:
    """Return the box for a copy, of squares if everything is aligned.

    None if no box fits, if more axes remain outside than kernels walk, or if all strides of the
    source are 0.
    """
    if not any(axis.strides[READ] for axis in loop.axes):
        return None
    pack = max(1, NARROWEST // loop.width)
    squares = _problem_over_words(loop, pack)
    best = choose_tile(squares) if squares is not None else None
    # Squares need rows of words.
    if best is not None and best.access_by_memory[READ].unit != NARROWEST:
        best = None
    if best is None or best.cost_per_byte() > 2 + _GOOD:
        plain = choose_tile(TileProblem.from_loop(loop, (READ,), (), pack))
        boxes = [box for box in (best, plain) if box is not None]
        best = min(boxes, key=SharedTile.cost_per_byte, default=None)
    return None if best is None or len(loop.axes) - len(best.axes) > DEEPEST else best


def _problem_over_words(loop: Loop, pack: int) -> TileProblem | None:
    """Return the tile problem over words of the destination.

    None unless elements are narrower than a word, and aligned, and no dimension has a tail.
    """
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
    words = loop.loop_over_packs(pack, (WRITE,))
    axes = words.axes if last.size > pack else words.axes[:-1]
    return TileProblem(axes, words.widths, loop.alignments, (READ,), (), 1, across=across)


def choose_tile(problem: TileProblem, max_axes: int = DEEPEST) -> SharedTile | None:
    """Return the box with up to `max_axes` axes, with shorter runs if necessary, or None."""
    runs = _TileRuns(problem, max_axes)
    for eighths in range(8, 0, -1):
        box = runs.make_tile(eighths)
        if box.min_shared_bytes <= ROOMS[-1] and box.max_byte_distance < _FAR:
            return box
    return None


# Offsets inside a box have 32 bits, in bytes.
_FAR = 2**31

# Threads of a warp, on every NVIDIA GPU so far.
_WARP = 32

# Most bytes of a box with runs as long as possible, which leaves room for tables; longest run.
_ROOM, _LONGEST = 47 * 1024, 2048

# Preferred bytes of a box. The maximum has enough loads in flight. A block issues some 350
# instructions per thread before the first load, then 36 for each 4 bytes; but with few blocks, most
# of the time is spent waiting for memory. So boxes grow with the square root of the tensor's bytes:
# 4 MiB are 256 boxes of 16 KiB, 256 KiB are 64 boxes of 4 KiB.
_LIKED_BYTES, _LIKED_ROOT = 16 * 1024, 64


class _TileRuns:
    """Runs of a box in each memory, and the extents that they need.

    Attributes:
        deepest: most axes of a box for runs of one warp.
        axes: most axes of a box for longer runs.
        orders: for each memory the axes along which it moves, fastest first.
        wholes: for each memory and axis, the step of extents with which boxes begin at sectors and
            have whole warps.
        longest: for each axis the largest extent for 32-bit offsets.

    """

    def __init__(self, problem: TileProblem, deepest: int) -> None:
        self.problem, self.deepest, self.axes = problem, deepest, USUAL
        self.orders: dict[int, list[int]] = {}
        self.wholes: dict[int, list[int]] = {}
        for memory in (*problem.staged, WRITE):
            width = problem.widths[memory]
            steps = [abs(axis.strides[memory]) * width for axis in problem.axes]
            fastest_first = [k for k in reversed(range(len(steps))) if steps[k]]
            self.orders[memory] = sorted(fastest_first, key=steps.__getitem__)
            self.wholes[memory] = wholes = []
            for step in steps:
                slower = [other_step for other_step in steps if other_step > step]
                grain = gcd(SECTOR, problem.alignments[memory], *slower)
                if grain == SECTOR:
                    grain = _WARP * max(NARROWEST, width)
                wholes.append(grain // gcd(grain, step))
        furthest = [
            max([abs(step) * width for step, width in zip(a.strides, problem.widths, strict=True)])
            for a in problem.axes
        ]
        self.longest = [max(1, _FAR // (2 * other_step)) for other_step in furthest]

    def make_tile(self, run_length_eighths: int) -> SharedTile:
        """Return the box with runs of `run_length_eighths` eighths of the usual length."""
        problem, widths = self.problem, self.problem.widths
        # Elements of one access of a whole warp in each memory, the least length of runs.
        lines = {
            m: _WARP * max(NARROWEST, widths[m]) * run_length_eighths // 8 // widths[m]
            for m in self.orders
        }
        runs, box = dict(lines), self._make_box(lines, lines)
        sides = {
            m: box.access_by_memory[m]
            for m in self.orders
            if box.is_contiguous_along_fastest_axis(m)
        }
        uneven = {m: SECTOR - side.grain for m, side in sides.items() if side.grain < SECTOR}
        warps = {m: max(1, _WARP * sides[m].unit // widths[m]) for m in uneven}
        for m, slack in uneven.items():
            runs[m] = max(1, max(warps[m] * run_length_eighths // 8, lines[m]) - slack // widths[m])
        total = problem.staged_bytes_per_element * prod([axis.size for axis in problem.axes])
        # An aligned run doubles with each step, so a box may pass the preferred size by half.
        liked = min(_LIKED_BYTES, isqrt(_LIKED_ROOT * total)) * run_length_eighths // 8
        most = _ROOM * run_length_eighths // 8 if uneven else liked * 3 // 2
        growing = set(uneven or problem.staged)
        # Rows that share warps need no whole warps; equal boxes touch the fewest partial sectors.
        even = any(sides[m].unit < NARROWEST for m in uneven)
        self.axes = self.deepest if uneven else USUAL
        box = self._make_box(runs, lines, even)
        while growing:
            # Grow the memory that touches most partial sectors; a source before the destination.
            m = max(growing, key=lambda m: (uneven.get(m, 1) / (runs[m] * widths[m]), m))
            step = warps[m] if uneven else runs[m]
            if uneven and problem.axes[self.orders[m][0]].size < runs[m]:  # a run of several axes
                step = max(warps[m], runs[m] // 2) // 4
            longer = {**runs, m: runs[m] + step}
            larger = self._make_box(longer, lines, even)
            enough = longer[m] * widths[m] > _LONGEST if uneven else box.staged_bytes >= liked
            if enough or larger.staged_bytes > most or runs[m] * widths[m] > total:
                growing.remove(m)
            else:
                runs, box = longer, larger
        return box

    def _make_box(
        self, runs: dict[int, int], lines: dict[int, int], even: bool = False
    ) -> SharedTile:
        """Return the box for these runs, within the limits of axes; runs of a warp come first."""
        extents: dict[int, int] = {}
        for m in runs:
            self._lengthen_run(extents, m, min(runs[m], lines[m]), self.deepest, 1)
        for m in runs:
            self._lengthen_run(extents, m, min(runs[m], lines[m]), self.deepest)
        for m in runs:
            self._lengthen_run(extents, m, runs[m], self.axes)
        for k, extent in extents.items() if even else ():
            size = self.problem.axes[k].size
            evened = round_up_to_multiple(-(-size // -(-size // extent)), gcd(extent, SECTOR))
            extents[k] = min(size, evened)
        axes = tuple(sorted(extents, reverse=True))
        return SharedTile(self.problem, axes, tuple([extents[k] for k in axes]))

    def _lengthen_run(
        self,
        extents: dict[int, int],
        memory: int,
        run: int,
        max_axes: int,
        axis_count: int | None = None,
    ) -> None:
        """Lengthen a memory's run to about `run` elements, along its fastest axes."""
        run_length = 1
        for k in self.orders[memory][:axis_count]:
            if k not in extents and len(extents) >= max_axes:
                return
            size, extent = self.problem.axes[k].size, -(-run // run_length)
            if extent < size:
                # The power of two keeps short extents from being rounded up to more than their
                # double.
                whole = min(self._extent_multiple(extents, k), 1 << extent.bit_length() - 1)
                extent = round_up_to_multiple(extent, whole)
            if 0 < size - extent < extent // 8:
                extent = size  # avoids a last box of less than an eighth
            extents[k] = max(extents.get(k, 1), min(size, self.longest[k], extent))
            run_length *= extents[k]
            if extents[k] < size or run_length >= run:
                return

    def _extent_multiple(self, extents: dict[int, int], axis: int) -> int:
        """Return the step of an axis's extent, for all memories whose run includes the axis."""
        multiple = 1
        for memory, order in self.orders.items():
            for other in order:
                if other == axis:
                    multiple = max(multiple, self.wholes[memory][axis])
                if extents.get(other) != self.problem.axes[other].size:
                    break
        return multiple
