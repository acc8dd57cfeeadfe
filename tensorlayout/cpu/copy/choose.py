"""Copies between two layouts on the CPU: what kind of copy it is, decided once, by cost.

`choose_copy` looks at integers only and answers with a plan; the plan moves the elements between
any two arrays of that shape and those strides, as often as wanted, from any thread. All is done
with numpy's own assignments. What there is to win over one plain assignment: numpy walks in the
order of the destination, so it reads a transposed source a cache line per element, spends as long
on entering a loop of three elements as on the elements, and uses one processor.

All figures: 2026-11-21, 2-core AMD EPYC (Zen 4), numpy 2.4.6; nanoseconds unless said otherwise.
"""

from collections.abc import Callable, Sequence
from dataclasses import field
from math import ceil, prod

from tensorlayout.cpu.copy import estimate
from tensorlayout.cpu.copy.axes import (
    Array,
    CopyLoop,
    Cuts,
    equal_pieces,
    even_cuts,
    fuse,
    loop_over,
    pieces_along,
    shrinking_pieces,
    tile,
)
from tensorlayout.cpu.copy.run import (
    Mover,
    assign,
    by_tiles,
    in_boxes,
    move_channels,
    move_directly,
    move_flat,
    nothing,
)
from tensorlayout.cpu.engine.threads import possible_threads
from tensorlayout.layout.loop import Axis
from tensorlayout.records import frozen

__all__ = ["ReadyCopy", "Tuning", "choose_copy"]


@frozen
class Tuning:
    """What a test may want to set: from which size on a copy is cut up, and for how many threads.

    Attributes:
        small_elements: below this, one assignment: anything else costs 4 us to set up, the time
            in which numpy moves some 2000 elements in its worst order.
        thread_cost: the estimated time from which on a copy uses several threads. Waking one
            takes 30 us here: of two halves of 60 us each, the second ends after 130. A part of
            1000 x 1000 float64, estimated at 180 us: 294 us in one thread, 164 in two (2026-11-23).
        piece_cost: what a thread takes at a time lasts at least this long: two threads that hand
            the interpreter lock to and fro every 25 us spend as long waiting as copying.
        threads: how many threads, the calling one included.
        tile_bytes, tile_elements: a tile holds at least that. 4096 × 4096 transposed in one
            thread, one byte an element: 128 KB 9.8 ms, 256 KB 8.1, 512 KB 12.9; 4 bytes: 128 KB
            22.8, 256 KB 20.8, 512 KB 20.8; 16 bytes: 256 KB 65, 512 KB 57, 1 MB 57.
        channel_bytes: what a box holds whose channels are moved one by one. 16 images of
            3 × 1024 × 1024 4-byte elements: 512 KB 28 ms, 1 MB 22, 2 MB 20, 4 MB 19.

    """

    small_elements: int = 2048
    thread_cost: float = 140_000.0
    piece_cost: float = 50_000.0
    threads: int = field(default_factory=possible_threads)
    tile_bytes: int = 256 * 1024
    tile_elements: int = 64 * 1024
    channel_bytes: int = 2 * 1024 * 1024


@frozen
class ReadyCopy:
    """A copy that is ready to run.

    Attributes:
        case: the kind of copy, one of the names in `choose_copy`.
        run: ``run(destination, source)`` moves the elements.
        threads: how many threads share the work.

    """

    case: str
    run: Callable[[Array, Array], None]
    threads: int = 1


TUNING = Tuning()


def choose_copy(
    shape: tuple[int, ...],
    destination_strides: tuple[int, ...],
    source_strides: tuple[int, ...],
    itemsize: int,
    tuning: Tuning = TUNING,
) -> ReadyCopy:
    """The cheapest way to copy between two layouts of one shape, whose memory is disjoint.

    Strides are in elements; the source's may be 0 or negative, the destination's negative, but
    no two positions of the destination may be the same. The cases, in the order of their cost:

    1. ``empty``: a size is 0.
    2. ``small``: too few elements for anything but one assignment.
    3. ``flat``: one run on both sides.
    4. ``rows``: runs that are contiguous on both sides.
    5. ``strided``: both sides are walked well enough in the destination's order.
    6. ``channels``: the fastest axis of the destination is very short, so it becomes the slowest.
    7. ``tiles``: the two sides have different fastest axes and the source's rows do not stay in
       the cache until they are used up, so boxes go through a buffer.
    """
    size = prod(shape)
    if size == 0:
        return ReadyCopy("empty", nothing)
    if size < max(2, tuning.small_elements):
        return ReadyCopy("small", assign)
    loop = loop_over(shape, destination_strides, source_strides, itemsize)
    runs = loop.contiguous
    if runs and len(loop.axes) == 1:
        return _in_order("flat", loop, estimate.BYTE * size * itemsize, tuning)
    if runs and (rows := size // loop.axes[-1].size) >= tuning.small_elements:
        loop = fuse(loop)
    if runs and loop.word is None:
        cost = estimate.BYTE * size * itemsize + estimate.ROW * rows
        return _in_order("rows", loop, cost, tuning)

    extents = tile(loop, max(tuning.tile_bytes // loop.width, tuning.tile_elements))
    costs = {
        "rows" if runs else "strided": estimate.strided(loop),
        "channels": estimate.channels(loop),
        "tiles": estimate.tiles(loop, extents),
    }
    case = min(costs, key=costs.__getitem__)
    cost = costs[case] * loop.elements
    if case == "tiles":
        cuts = even_cuts(loop, extents)
        return _boxed(case, loop, cuts, _threads(cost, tuning), by_tiles(loop, cuts))
    if case == "channels":
        return _by_channels(loop, cost, tuning)
    return _in_order(case, loop, cost, tuning)


def _in_order(case: str, loop: CopyLoop, cost: float, tuning: Tuning) -> ReadyCopy:
    """One assignment, or a few where several threads pay."""
    threads = _threads(cost, tuning)
    if threads == 1 and loop.word is None:
        return ReadyCopy(case, assign)
    cuts = _one_axis_cut(loop, loop.axes, cost, loop.elements, tuning)
    return _boxed(case, loop, cuts, threads, move_flat if case == "flat" else move_directly)


def _by_channels(loop: CopyLoop, cost: float, tuning: Tuning) -> ReadyCopy:
    cuts = _one_axis_cut(loop, loop.axes[:-1], cost, tuning.channel_bytes // loop.width, tuning)
    return _boxed("channels", loop, cuts, _threads(cost, tuning), move_channels)


def _one_axis_cut(
    loop: CopyLoop, axes: Sequence[Axis], cost: float, room: int, tuning: Tuning
) -> Cuts:
    """Boxes of at most `room` elements, cut along one of the axes."""
    threads = _threads(cost, tuning)
    # The slowest axis that is long enough for pieces of any size, or else the longest.
    enough = [k for k, axis in enumerate(axes) if axis.size >= 16 * threads]
    along = enough[0] if enough else max(range(len(axes)), key=lambda k: axes[k].size)
    size = axes[along].size
    most = max(1, size * room // loop.elements)
    if threads == 1:
        return pieces_along(loop, along, equal_pieces(size, most))
    share = max(1 / (5 * threads), min(tuning.piece_cost / cost, 0.9 / threads))
    least = ceil(size * share)
    return pieces_along(loop, along, shrinking_pieces(size, threads, least, most))


def _boxed(case: str, loop: CopyLoop, cuts: Cuts, threads: int, move: Mover) -> ReadyCopy:
    return ReadyCopy(case, in_boxes(loop, cuts, threads, move), threads)


def _threads(cost: float, tuning: Tuning) -> int:
    return tuning.threads if cost >= tuning.thread_cost else 1
