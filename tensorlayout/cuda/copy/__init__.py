"""Elements moved into another layout or dtype: copies, reshapes, writes, moves between devices.

Which kernel copies between two layouts is decided once, by cost, of integers only. What counts is
the 32-byte sectors that accesses of whole warps touch, over the bytes that are asked for: 1.0 for
each of the two memories at best.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import gcd

from tensorlayout.cuda import elementwise
from tensorlayout.cuda.copy import packed
from tensorlayout.cuda.engine import (
    READ,
    SECTOR,
    WIDEST,
    WRITE,
    Launch,
    Launches,
    SharedTile,
    blocks_for,
    bounds_struct,
    copy_bytes,
    faults,
    fits_a_walk,
    in_order_cost,
    kernel,
    narrowness,
    octets,
    padding_of,
    shared_tiles,
    tile_of_copy,
    walk_struct,
    write,
    writer,
)
from tensorlayout.cuda.fill import (
    Beside,
    bits_of,
    filled_block,
    padded_launch,
    padding_beside,
    plan_fill,
    plan_padding,
    write_fill,
)
from tensorlayout.layout import Layout
from tensorlayout.layout.digits import TiledLoop, is_tiled, tiled_loop, without_tails, written_sizes
from tensorlayout.plan import AssignPlan, CopyPlan, TransferPlan, Write, backend
from tensorlayout.tensor import Tensor, TensorSpec

FILE, BOUNDED_FILE = "copy/copy.cu", "copy/tiled.cu"


def write_copy(plan: CopyPlan) -> Write:
    """The function of the result and the source; padding is written in the same launch."""
    source, spec = plan.source, plan.result
    if spec.layout.shape != source.layout.shape:  # row-major, and written through the old shape
        old = TensorSpec(spec.dtype, Layout.row_major(source.layout.shape), spec.device)
        return write_move(source, old, saturate=plan.saturate)
    padding = padding_of(spec)
    # Bytes that stay as they lie need no kernel. What the source has for padding may be another's.
    alike = source.dtype == spec.dtype and source.layout is spec.layout and padding is None
    if alike and not spec.layout.spare_bits:
        return copy_bytes
    return write_move(source, spec, padding, saturate=plan.saturate, whole=True)


def write_move(
    source: TensorSpec,
    result: TensorSpec,
    padding: bytes | None = None,
    shift: int = 0,
    saturate: bool = False,
    whole: bool = False,
) -> Write:
    """The function of the result, of which `result` begins `shift` **bytes** on, and the source."""

    def planned(alignments: tuple[int, ...]) -> Launches:
        to, from_ = alignments
        aligned = gcd(to, shift, SECTOR), from_
        found = plan_move(source, result, aligned, padding, saturate, whole)
        if not shift:
            return found
        memories = range(2 + len(found.scratch))
        moved = tuple([each.placed(memories, shift) for each in found.launches])
        return replace(found, launches=moved)

    return writer(result.device.number, planned)


def write_assign(plan: AssignPlan) -> Write:
    """The function of a destination and a number, or a tensor that lies apart, or exactly there."""
    spec, source, name = plan.result, plan.source, plan.name
    if isinstance(source, type):
        fill = packed.plan_number if packed.is_packed(spec) else plan_fill
        return write_fill(spec, lambda value: octets(name, value, spec.dtype), plan=fill)
    layout = source.layout.broadcast_to(spec.layout.shape)
    return write_move(TensorSpec(source.dtype, layout, source.device), spec)


def write_transfer(plan: TransferPlan) -> Write:
    """The bytes of a tensor of another device, copied there or by way of the host."""
    device = plan.source.device
    if device.kind != plan.result.device.kind:
        read = backend(device).read
        return lambda out, x: write(out, read(x))

    def copy_across(out: Tensor, x: Tensor) -> None:
        copy_bytes(out, x)
        faults.check()  # what leaves a device may have been read at positions outside

    return copy_across


# ---- Plans


def plan_move(
    source: TensorSpec,
    result: TensorSpec,
    alignments: tuple[int, ...],
    padding: bytes | None = None,
    saturate: bool = False,
    whole: bool = False,
) -> Launches:
    """Plan how to put the elements of a tensor into another of any layout and dtype.

    `padding` as of `plan_copy`, `saturate` as of `plan_conversion`. `whole`: whether the bytes of
    the result hold nothing else, so that padding of no value may be written, too, below a byte.
    """
    to, from_ = alignments
    if packed.is_packed(source, result):
        return _packed(source, result, (to, from_), padding, saturate, whole)
    onward = partial(plan_move, saturate=saturate)
    apart = between(source, result, padding)
    if apart is not None:
        # New memory begins at a multiple of the widest access.
        first = onward(source, apart, (SECTOR, from_))
        second = onward(apart, result, (to, SECTOR), padding)
        return packed.in_two(first, second, apart.layout.nbytes(apart.dtype))
    if source.dtype == result.dtype:
        return plan_copy(result.layout, source.layout, result.dtype.itemsize, (to, from_), padding)
    return elementwise.plan_conversion(result, source, alignments, padding, saturate=saturate)


def _packed(
    source: TensorSpec,
    result: TensorSpec,
    alignments: tuple[int, int],
    padding: bytes | None,
    saturate: bool,
    whole: bool,
) -> Launches:
    """Plan a move as `plan_move`, where one or both sides are packed below a byte."""
    onward = partial(plan_move, saturate=saturate)
    here, there, (to, from_) = source.layout, result.layout, alignments
    if not there.size and (padding is None or not there.required_size):
        return Launches((), "empty")
    if not there.size and there.slot_bits is None:
        return plan_padding(there, 1, to, padding)
    alike = source.dtype == result.dtype
    if there.slot_bits is None:
        found = packed.plan_unpack(there, here, alignments, padding) if alike else None
        if found is not None:
            return found
        second = onward(packed.unpacked(source), result, (to, SECTOR), padding)
        return packed.in_two(packed.unpack_block(here, from_), second, here.required_size)
    if not (there.covers_block and (whole or not there.is_padded)):
        middle = onward(source, packed.unpacked(result), (SECTOR, from_), None)
        memories = (2, 1, *range(3, 3 + len(middle.scratch)))
        return packed.in_its_bytes(there, to, middle, memories)
    found = packed.plan_pack(there, here, alignments, padding, whole) if alike else None
    if found is not None:
        return found
    # Conversions, tails of the source alone, and orders in which reads take a sector an element.
    first = onward(source, packed.unpacked(result), (SECTOR, from_), padding)
    return packed.in_two(first, packed.pack_block(there, to, whole), there.required_size)


def plan_copy(
    destination: Layout,
    source: Layout,
    itemsize: int,
    alignments: tuple[int, int] = (SECTOR, SECTOR),
    padding: bytes | None = None,
) -> Launches:
    """The cheapest way to copy all elements between two layouts of one shape.

    Both have their lowest slots at 0; no two elements of the destination share a slot, and the
    memories do not overlap. Tiles of the two divide each other: see `between`. `alignments` are
    powers of two that divide the addresses of the lowest slots. `padding` is the content of one
    element of the padding that the destination owns, which is written in the same launch; None
    leaves it alone. Where the sides differ in their fastest dimension, in direction, or in where
    sectors begin, boxes go through shared memory: of three dimensions or, where they have no long
    runs on both sides, of up to twelve.
    """
    if destination.size == 0:
        return replace(plan_padding(destination, itemsize, alignments[0], padding), case="empty")
    given = ((destination, source), (itemsize,) * 2, alignments)
    loop: TiledLoop | None
    if is_tiled(destination, source):
        loop = tiled_loop(*given, written_sizes(destination, padding))
    else:
        loop = TiledLoop.over(*given)
    beside, apart = padding_beside(destination, itemsize, alignments[0], padding, loop)
    if loop is not None and (not loop.bounds or fits_a_walk(loop)):
        case, launch = _cheapest(loop, itemsize, beside)
        return Launches((*apart, launch), case)
    # More tails than a launch can take.
    block = (destination, itemsize, alignments[0])
    launches = [] if padding is None else filled_block(*block, padding)
    for pieces in without_tails((destination, source)):
        shifts = [piece.lowest * itemsize for piece in pieces]
        to, from_ = [gcd(a, shift, SECTOR) for a, shift in zip(alignments, shifts, strict=True)]
        there, here = (piece.at_origin for piece in pieces)
        part = plan_copy(there, here, itemsize, (to, from_), None)
        launches += [each.placed((0, 1), *shifts) for each in part.launches]
    return Launches(tuple(launches), "pieces")


def between(source: TensorSpec, result: TensorSpec, padding: bytes | None) -> TensorSpec | None:
    """Return the tensor in between for two launches, where none goes from `source` to `result`.

    For tiles that do not divide each other; and for conversions where tails keep a kernel from
    reading the source along its memory.
    """
    layouts = (result.layout, source.layout)
    if not is_tiled(*layouts):
        return None
    plain = TensorSpec(result.dtype, Layout.row_major(result.layout.shape), result.device)
    given = (layouts, (result.dtype.itemsize, source.dtype.itemsize), (SECTOR, SECTOR))
    if tiled_loop(*given, result.layout.shape) is None:
        return plain
    if source.dtype == result.dtype:
        return None
    digits = tiled_loop(*given, written_sizes(result.layout, padding))
    if digits is None:  # there are copies, and no conversions
        return plain
    if digits.bounds and not fits_a_walk(digits):
        dtype = source.dtype if source.layout.is_tiled else result.dtype
        return TensorSpec(dtype, plain.layout, result.device)
    if not digits.bounds or elementwise.reads_well(digits):
        return None
    return TensorSpec(result.dtype, source.layout.form, result.device)


def _cheapest(loop: TiledLoop, itemsize: int, beside: Beside) -> tuple[str, Launch]:
    way = shared_tiles.THROUGH_TILE
    if loop.bounds:
        pack = loop.pack(WIDEST) if loop.contiguous else 1
    else:
        loop, pack = loop.fitted(WIDEST), 1
    one_run = not loop.bounds and len(loop.axes) == 1 and loop.contiguous
    repeated = None if loop.bounds else _repeated(loop)
    if one_run:  # which may begin inside a sector on either side
        width = min(WIDEST, *loop.alignments)
        inside = sum([SECTOR - min(SECTOR, alignment) for alignment in loop.alignments])
        cost = 2 * narrowness(width) + 2 + inside / (32 * width)
    else:
        memories = [in_order_cost(loop, m, pack, written=m == WRITE) for m in (WRITE, READ)]
        cost = 2 * narrowness(loop.width * pack) + sum(memories)
    # Nothing is to be won by tiles where both sides are as good as contiguous.
    large = loop.count * loop.width >= shared_tiles.SMALL_BYTES
    if repeated is None and large and cost > 2 + way:
        box = tile_of_copy(loop)
        # With tails both ways work out indices, so that the one through shared memory costs less.
        if box is not None and box.cost() + (way / 2 if loop.bounds else way) < cost:
            return "bounded boxes" if loop.bounds else "tiles", _tiles(loop, box, beside)
    if loop.bounds:
        return "bounded", _bounded(loop, pack, beside)
    if one_run:
        return "flat", _flat(loop, beside)
    if repeated is not None:
        return "repeated", _strided(repeated, beside)
    rows = loop.contiguous or loop.width > itemsize
    return "rows" if rows else "strided", _strided(loop, beside)


def _repeated(loop: TiledLoop) -> TiledLoop | None:
    """The loop with 16-byte elements of the destination, each of one element of the source.

    None where the source does not stand still along the destination's run.
    """
    *slower, last = loop.axes
    times = WIDEST // loop.width
    steps = [axis.strides[WRITE] for axis in slower]
    fits = gcd(loop.alignments[WRITE] // loop.width, last.size, *steps) % times == 0
    return loop.in_packs(times, (WRITE,)) if last.strides == (1, 0) and times > 1 and fits else None


# ---- Launches


def _flat(loop: TiledLoop, beside: Beside) -> Launch:
    nbytes = loop.count * loop.width
    width = min(WIDEST, *loop.alignments)
    packs, tail = divmod(nbytes, width)
    chosen = kernel(FILE, "copy_flat", WIDTH=width)
    return padded_launch(chosen, loop, max(1, blocks_for(packs)), beside, packs=packs, tail=tail)


def _strided(loop: TiledLoop, beside: Beside) -> Launch:
    shape = {"RANK": len(loop.axes), "INDEX": loop.index, "ELEMENT": loop.widths[READ]}
    chosen, count = kernel(FILE, "copy_strided", WIDTH=loop.width, **shape), loop.count
    return padded_launch(chosen, loop, blocks_for(count), beside, count=count, walk=loop.axes)


def _bounded(loop: TiledLoop, pack: int, beside: Beside) -> Launch:
    count, width = loop.count // pack, loop.width * pack
    chosen = kernel(BOUNDED_FILE, "copy_bounded", INDEX=loop.index, WIDTH=width)
    members = {"walk": walk_struct(loop, (WRITE, READ), pack), "bits": bits_of(beside[1])}
    return padded_launch(chosen, loop, blocks_for(count), beside, count=count, **members)


def _tiles(loop: TiledLoop, box: SharedTile, beside: Beside) -> Launch:
    pitches, across = box.pitches[READ], box.problem.across
    write, read = (box.side_struct(side, pitches) for side in (WRITE, READ))
    members = {"write": write, "read": read, "pitch": pitches, "boxes": box.pack_boxes}
    shape = {"ELEMENT": loop.width, "ROOM": box.room}
    shape |= {"READ": box.sides[READ].unit, "WRITE": box.sides[WRITE].unit}
    if loop.bounds:
        chosen = kernel(BOUNDED_FILE, "copy_bounded_boxes", **shape)
        members |= {"bits": bits_of(beside[1]), "bounds": bounds_struct(loop.bounds)}
    else:
        chosen = kernel(FILE, "copy_tiles", TILE=box.problem.tile_width(READ), **shape)
    if across:
        members |= {"across": across * loop.width // 4, "turns": box.turns}
    return padded_launch(chosen, loop, box.blocks, beside, **members)
