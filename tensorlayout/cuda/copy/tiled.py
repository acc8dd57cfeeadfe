"""Copies from and to tiled layouts: without tails strided ones, with tails walks in bounds."""

from __future__ import annotations

from math import gcd

from tensorlayout.cuda.bounded import fits_a_walk, set_bounds, walk_struct
from tensorlayout.cuda.copy import strided
from tensorlayout.cuda.copy.strided import TUNING, Tuning
from tensorlayout.cuda.engine.kernel_shapes import kernel, parameters
from tensorlayout.cuda.engine.launch import Launch, Launches, blocks_for
from tensorlayout.cuda.engine.padding import bits_of, padding_struct
from tensorlayout.cuda.engine.sectors import SECTOR, WIDEST, in_order_cost
from tensorlayout.cuda.engine.shared_tiles.choice import choose_tile
from tensorlayout.cuda.engine.shared_tiles.problem import DEEPEST, READ, WRITE, TileProblem
from tensorlayout.cuda.engine.shared_tiles.structs import access_struct, tiles_struct
from tensorlayout.cuda.engine.shared_tiles.tile import SharedTile, narrowness
from tensorlayout.cuda.fill.fill import Beside, filled_with, padding_beside, plan_fill, plan_padding
from tensorlayout.layout import Layout
from tensorlayout.layout.digits import TiledLoop, is_tiled, tiled_loop, without_tails, written_sizes
from tensorlayout.tensor import TensorSpec

FILE = "copy/tiled.cu"

# Conversions that read so many bytes for each are made before the copy: which moves as many again.
_READ_APART = 2.5


def plan_copy(
    destination: Layout,
    source: Layout,
    itemsize: int,
    alignments: tuple[int, int] = (SECTOR, SECTOR),
    padding: bytes | None = None,
    tuning: Tuning = TUNING,
) -> Launches | None:
    """The cheapest way to copy all elements between two layouts of one shape, tiled or not.

    As `strided.plan_copy`, with two cases more, for tiles with tails: ``bounded`` in the order of
    the destination, and ``bounded boxes``. None where tiles do not divide each other, so that no
    launch takes both.
    """
    if not is_tiled(destination, source):
        return strided.plan_copy(destination, source, itemsize, alignments, padding, tuning)
    if destination.size == 0:
        apart = plan_padding(destination, itemsize, alignments[0], padding).launches
        return Launches(apart, "empty")
    given = ((destination, source), (itemsize,) * 2, alignments)
    digits = tiled_loop(*given, written_sizes(destination, padding))
    if digits is None and tiled_loop(*given, destination.shape) is None:
        return None
    beside: Beside = (None, padding or b"")
    apart = ()
    if not destination.is_tiled:
        beside, apart = padding_beside(destination, itemsize, alignments[0], padding)
        # Kernels count regions from where digits begin, which may be below a flipped destination.
        if digits is not None and digits.firsts[0]:
            beside = (None, b"")
            apart = plan_padding(destination, itemsize, alignments[0], padding).launches
    if digits is None or (digits.bounds and not fits_a_walk(digits)):
        return _in_pieces(destination, source, itemsize, alignments, padding, tuning)
    if not digits.bounds:
        case, launch = strided.cheapest(digits.fitted(WIDEST), itemsize, beside, tuning)
    else:
        case, launch = _cheapest(digits, beside, tuning)
    return Launches((*apart, launch), case)


def between(source: TensorSpec, result: TensorSpec, padding: bytes | None) -> TensorSpec | None:
    """What one launch copies to, and another from, where there is none from `source` to `result`.

    For tiles that do not divide each other; and for conversions where tails keep a kernel from
    reading the source along its memory.
    """
    layouts = (result.layout, source.layout)
    if not is_tiled(*layouts):
        return None
    plain = Layout.row_major(result.layout.shape)
    given = (layouts, (result.dtype.itemsize, source.dtype.itemsize), (SECTOR, SECTOR))
    digits = tiled_loop(*given, written_sizes(result.layout, padding))
    if tiled_loop(*given, result.layout.shape) is None:
        return TensorSpec(result.dtype, plain, result.device)
    if source.dtype == result.dtype:
        return None
    if digits is None:  # there are copies, and no conversions
        return TensorSpec(result.dtype, plain, result.device)
    if not digits.bounds:
        return None
    if not fits_a_walk(digits):
        dtype = source.dtype if source.layout.is_tiled else result.dtype
        return TensorSpec(dtype, plain, result.device)
    if digits.count * source.dtype.itemsize < TUNING.small_bytes:
        return None
    read = in_order_cost(digits, READ)
    return (
        TensorSpec(result.dtype, source.layout.form, result.device) if read > _READ_APART else None
    )


def _in_pieces(
    destination: Layout,
    source: Layout,
    itemsize: int,
    alignments: tuple[int, int],
    padding: bytes | None,
    tuning: Tuning,
) -> Launches:
    """A launch for each piece without tails, behind one that writes all of a padded block."""
    launches: list[Launch] = []
    if padding is not None:
        block = plan_fill(Layout((destination.required_size,)), itemsize, alignments[0])
        launches += filled_with(block, padding).launches
    for pieces in without_tails((destination, source)):
        shifts = [piece.lowest * itemsize for piece in pieces]
        aligned = [gcd(a, shift, SECTOR) for a, shift in zip(alignments, shifts, strict=True)]
        to, from_ = (piece.at_origin for piece in pieces)
        part = plan_copy(to, from_, itemsize, (aligned[0], aligned[1]), None, tuning)
        assert part is not None, "pieces of tiles that divide each other"
        launches += [each.placed((0, 1), *shifts) for each in part.launches]
    return Launches(tuple(launches), "pieces")


def _cheapest(loop: TiledLoop, beside: Beside, tuning: Tuning) -> tuple[str, Launch]:
    if min(loop.alignments) < loop.width:
        msg = f"copy: tiled memory must begin at a multiple of its {loop.width} bytes an element"
        raise ValueError(msg)
    pack = loop.pack(WIDEST) if loop.contiguous else 1
    cost = 2 * narrowness(loop.width * pack)
    cost += sum([in_order_cost(loop, m, pack, written=m == WRITE) for m in (WRITE, READ)])
    box = None
    if loop.count * loop.width >= tuning.small_bytes and cost > 2 + tuning.through_tile:
        box = choose_tile(_nest(loop))
        if box is not None and len(loop.axes) - len(box.axes) > DEEPEST:
            box = None
    # Both work out indices, so that the way through shared memory costs less than elsewhere.
    if box is not None and box.cost() + tuning.through_tile / 2 < cost:
        return "bounded boxes", _boxes(loop, box, beside)
    return "bounded", _walk(loop, pack, beside)


def _nest(loop: TiledLoop) -> TileProblem:
    pack, shifted = max(1, 4 // loop.width), []
    for first, alignment, strides in zip(loop.firsts, loop.alignments, loop.strides, strict=True):
        steps = [(n - 1) * s for n, s in zip(loop.sizes, strides, strict=True)]
        lowest = first + sum([s for s in steps if s < 0]) * loop.width
        shifted.append(gcd(SECTOR, alignment, lowest))
    memories = (loop.axes, loop.widths, tuple(shifted), (READ,), ())
    return TileProblem(*memories, pack, DEEPEST, loop.bounds, loop.weights)


# ---- Launches


def _walk(loop: TiledLoop, pack: int, beside: Beside) -> Launch:
    count, index = loop.count // pack, loop.index
    blocks = blocks_for(count)
    padded, more = padding_struct(*beside, blocks, loop.alignments[WRITE])
    chosen = kernel(FILE, "copy_bounded", INDEX=index, WIDTH=loop.width * pack)
    made = parameters(chosen)(padding=padded, count=count)
    made.bits[:] = bits_of(beside[1])
    made.walk = walk_struct(loop, (WRITE, READ), pack)
    return Launch(chosen, blocks + more, bytes(made), loop.firsts)


def _boxes(loop: TiledLoop, box: SharedTile, beside: Beside) -> Launch:
    padded, more = padding_struct(*beside, box.blocks, loop.alignments[WRITE])
    pitches = box.pitches[READ]
    read, write = box.sides[READ].unit, box.sides[WRITE].unit
    shape = {"ELEMENT": loop.width, "READ": read, "WRITE": write, "ROOM": box.room}
    chosen = kernel(FILE, "copy_bounded_boxes", (), "", **shape)
    made = parameters(chosen)(padding=padded)
    tiles_struct(box, made.boxes)
    made.bits[:] = bits_of(beside[1])
    made.write, made.read = (access_struct(box, side, pitches) for side in (WRITE, READ))
    made.pitch[: len(pitches)] = pitches
    set_bounds(made.bounds, loop.bounds)
    return Launch(chosen, box.blocks + more, bytes(made), loop.firsts)
