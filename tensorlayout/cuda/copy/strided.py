"""Copies between two layouts: which kernel, decided once, by cost. Integers only, no device.

What counts is the 32-byte sectors that accesses of whole warps touch, over the bytes that are asked
for: 1.0 for each of the two memories at best.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from tensorlayout.cuda.engine.kernel_shapes import kernel, parameters
from tensorlayout.cuda.engine.launch import Launch, Launches, blocks_for
from tensorlayout.cuda.engine.padding import padding_struct
from tensorlayout.cuda.engine.parameters import pack_walk
from tensorlayout.cuda.engine.sectors import SECTOR, WIDEST, in_order_cost
from tensorlayout.cuda.engine.shared_tiles.choice import tile_of_copy
from tensorlayout.cuda.engine.shared_tiles.problem import READ, WRITE
from tensorlayout.cuda.engine.shared_tiles.structs import access_struct, tiles_struct
from tensorlayout.cuda.engine.shared_tiles.tile import SharedTile, narrowness
from tensorlayout.cuda.fill.fill import Beside, padding_beside, plan_padding
from tensorlayout.layout import Layout
from tensorlayout.layout.loop import Loop

FILE = "copy/copy.cu"


@dataclass(frozen=True, slots=True)
class Tuning:
    """What a test may want to set.

    Attributes:
        small_bytes: below this, no tiles: a launch takes longer than the bytes, in whatever order.
        through_tile: what the way through shared memory costs, where each memory costs at least 1.

    """

    small_bytes: int = 32 * 1024
    through_tile: float = 0.1


TUNING = Tuning()


def plan_copy(
    destination: Layout,
    source: Layout,
    itemsize: int,
    alignments: tuple[int, int] = (SECTOR, SECTOR),
    padding: bytes | None = None,
    tuning: Tuning = TUNING,
) -> Launches:
    """The cheapest way to copy all elements between two layouts of one shape.

    Both have their lowest slots at 0; no two elements of the destination share a slot, and the
    memories do not overlap. `alignments` are powers of two that divide the addresses of the lowest
    slots. `padding` is the content of one element of the padding that the destination owns, which
    is written in the same launch; None leaves it alone. ValueError for tiled layouts. The cases, in
    the order of their cost:

    1. ``empty``: no element to copy.
    2. ``flat``: one run on both sides.
    3. ``rows``: runs that are contiguous on both sides, and aligned for wide accesses.
    4. ``strided``: both sides are walked well enough in the destination's order.
    5. ``repeated``: the source stands still along the destination's run.
    6. ``tiles``: the sides differ in their fastest dimension, in direction, or in where sectors
       begin: boxes go through shared memory, of three dimensions or, where they have no long runs
       on both sides, of up to twelve.
    """
    if destination.size == 0:
        apart = plan_padding(destination, itemsize, alignments[0], padding).launches
        return Launches(apart, "empty")
    beside, apart = padding_beside(destination, itemsize, alignments[0], padding)
    loop = Loop.over((destination, source), (itemsize,) * 2, alignments).fitted(WIDEST)
    case, launch = cheapest(loop, itemsize, beside, tuning)
    return Launches((*apart, launch), case)


def cheapest(loop: Loop, itemsize: int, beside: Beside, tuning: Tuning) -> tuple[str, Launch]:
    """The case and the launch of a loop; `padding`: where it is to be written, and what."""
    one_run = len(loop.axes) == 1 and loop.contiguous
    repeated = _repeated(loop)
    cost = _flat_cost(loop) if one_run else _in_order_cost(loop)
    # Nothing is to be won by tiles where both sides are as good as contiguous.
    large = loop.count * loop.width >= tuning.small_bytes
    if repeated is None and large and cost > 2 + tuning.through_tile:
        box = tile_of_copy(loop)
        if box is not None and box.cost() + tuning.through_tile < cost:
            return "tiles", _tiles(loop, box, beside)
    if one_run:
        return "flat", _flat(loop, beside)
    if repeated is not None:
        return "repeated", _strided(repeated, beside)
    case = "rows" if _has_rows(loop, itemsize) else "strided"
    return case, _strided(loop, beside)


def _has_rows(loop: Loop, itemsize: int) -> bool:
    return loop.contiguous or loop.width > itemsize


def _repeated(loop: Loop) -> Loop | None:
    """The loop with 16-byte elements of the destination, each of one element of the source."""
    *slower, last = loop.axes
    times = WIDEST // loop.width
    steps = [axis.strides[WRITE] for axis in slower]
    fits = gcd(loop.alignments[WRITE] // loop.width, last.size, *steps) % times == 0
    if last.strides != (1, 0) or times == 1 or not fits:
        return None
    return loop.in_packs(times, (WRITE,))


def _flat_cost(loop: Loop) -> float:
    """Sectors per element of one run, that may begin inside a sector on either side."""
    width = min(WIDEST, *loop.alignments)
    warp = 32 * width
    starts_inside = [SECTOR - min(SECTOR, alignment) for alignment in loop.alignments]
    return 2 * narrowness(width) + sum((warp + inside) / warp for inside in starts_inside)


def _in_order_cost(loop: Loop) -> float:
    """Sectors per element of a walk in the destination's order, from a few warps of it."""
    return 2 * narrowness(loop.width) + sum(in_order_cost(loop, m) for m in (WRITE, READ))


# ---- Launches


def _flat(loop: Loop, beside: Beside) -> Launch:
    nbytes = loop.count * loop.width
    width = min(WIDEST, *loop.alignments)
    blocks = max(1, blocks_for(nbytes // width))
    padded, more = padding_struct(*beside, blocks, loop.alignments[WRITE])
    chosen = kernel(FILE, "copy_flat", WIDTH=width)
    made = parameters(chosen)(padding=padded, packs=nbytes // width, tail=nbytes % width)
    return Launch(chosen, blocks + more, bytes(made), loop.firsts)


def _strided(loop: Loop, beside: Beside) -> Launch:
    index = loop.index
    blocks = blocks_for(loop.count)
    padded, more = padding_struct(*beside, blocks, loop.alignments[WRITE])
    rank, element, width = len(loop.axes), loop.widths[READ], loop.width
    chosen = kernel(FILE, "copy_strided", RANK=rank, INDEX=index, ELEMENT=element, WIDTH=width)
    made = parameters(chosen)(padding=padded, count=loop.count)
    pack_walk(made.walk, loop.sizes, loop.strides)
    return Launch(chosen, blocks + more, bytes(made), loop.firsts)


def _tiles(loop: Loop, box: SharedTile, beside: Beside) -> Launch:
    padded, more = padding_struct(*beside, box.blocks, loop.alignments[WRITE])
    pitches, problem = box.pitches[READ], box.problem
    chosen = kernel(
        FILE,
        "copy_tiles",
        ELEMENT=loop.width,
        READ=box.sides[READ].unit,
        WRITE=box.sides[WRITE].unit,
        TILE=problem.tile_width(READ),
        ROOM=box.room,
    )
    made = parameters(chosen)(padding=padded, across=problem.across * loop.width // 4)
    if problem.across:
        made.turns[:] = box.turns
    tiles_struct(box, made.boxes)
    made.write, made.read = (access_struct(box, side, pitches) for side in (WRITE, READ))
    made.pitch[: len(pitches)] = pitches
    return Launch(chosen, box.blocks + more, bytes(made), loop.firsts)
