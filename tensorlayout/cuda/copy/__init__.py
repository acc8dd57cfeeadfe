"""Moves to another layout, dtype or device on CUDA: copies, reshapes, assignments, transfers.

The kernel for a pair of layouts is chosen once, by cost. The cost of each of the two memories is
the time of its accesses over that of moving the bytes requested (`access_cost`): 1.0 at best.
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
    access_cost,
    blocks_for_elements,
    bounded_walk_struct,
    bounds_struct,
    choose_tile_of_copy,
    copy_bytes,
    faults,
    fits_bounded_walk,
    kernel_with_macros,
    make_bytes_writer,
    make_writer,
    narrow_access_cost,
    padding_element_bytes,
    scalar_bytes,
    shared_tiles,
    write_bytes,
)
from tensorlayout.cuda.fill import (
    PaddingWrite,
    compile_fill,
    fusable_padding_and_launches,
    launch_with_padding,
    plan_fill,
    plan_padding,
    plan_whole_block_fill,
    repeat_to_two_uint64,
)
from tensorlayout.layout import Layout
from tensorlayout.layout.digits import (
    TiledLoop,
    is_tiled,
    make_tiled_loop,
    sizes_to_write,
    split_off_tails,
)
from tensorlayout.plan import AssignPlan, CopyPlan, TransferPlan, Write, backend_of
from tensorlayout.tensor import Tensor, TensorSpec

FILE, BOUNDED_FILE = "copy/copy.cu", "copy/tiled.cu"


def compile_copy(plan: CopyPlan) -> Write:
    """Compile a copy; padding of the result is written in the same launch."""
    source, spec = plan.source, plan.result
    if spec.layout.shape != source.layout.shape:  # a reshape: row-major order of the old shape
        old = TensorSpec(spec.dtype, Layout.row_major(source.layout.shape), spec.device)
        return compile_move(source, old, saturate=plan.saturate)
    padding = padding_element_bytes(spec)
    # Equal layouts need no kernel. Spare bits of the source's last byte may belong to other
    # elements, so they must not be copied.
    is_same_form = source.dtype == spec.dtype and source.layout is spec.layout and padding is None
    if is_same_form and not spec.layout.spare_bits:
        return make_bytes_writer(spec.layout.nbytes(spec.dtype), spec.device.number)
    return compile_move(source, spec, padding, saturate=plan.saturate, owns_all_bytes=True)


def compile_move(
    source: TensorSpec,
    result: TensorSpec,
    padding: bytes | None = None,
    result_byte_shift: int = 0,
    saturate: bool = False,
    owns_all_bytes: bool = False,
) -> Write:
    """Compile a conversion to `result`, which begins `result_byte_shift` **bytes** later."""

    def plan_move_at_byte_shift(alignments: tuple[int, ...]) -> Launches:
        to, from_ = alignments
        aligned = gcd(to, result_byte_shift, SECTOR), from_
        launches = plan_move(source, result, aligned, padding, saturate, owns_all_bytes)
        if not result_byte_shift:
            return launches
        memories = range(2 + len(launches.scratch))
        placed_launches = tuple(
            [launch.with_memories(memories, result_byte_shift) for launch in launches.launches]
        )
        return replace(launches, launches=placed_launches)

    return make_writer(result.device.number, plan_move_at_byte_shift)


def compile_assign(plan: AssignPlan) -> Write:
    """Compile a write of a number, or of a tensor that is apart from the destination or equal."""
    spec, source, name = plan.result, plan.source, plan.name
    if isinstance(source, type):
        fill = packed.plan_packed_fill if packed.has_sub_byte_slots(spec) else plan_fill
        return compile_fill(
            spec, lambda value: scalar_bytes(name, value, spec.dtype), plan_launches=fill
        )
    layout = source.layout.broadcast_to(spec.layout.shape)
    return compile_move(TensorSpec(source.dtype, layout, source.device), spec)


def compile_transfer(plan: TransferPlan) -> Write:
    """Compile a copy from another device: directly between GPUs, otherwise through the host."""
    device = plan.source.device
    if device.kind != plan.result.device.kind:
        read = backend_of(device).read_bytes
        return lambda out, x: write_bytes(out, read(x))

    def copy_between_devices(out: Tensor, x: Tensor) -> None:
        copy_bytes(out, x)
        # Data that leaves a device may come from reads at positions out of bounds.
        faults.raise_pending_errors()

    return copy_between_devices


# ---- Plans


def plan_move(
    source: TensorSpec,
    result: TensorSpec,
    alignments: tuple[int, ...],
    padding: bytes | None = None,
    saturate: bool = False,
    owns_all_bytes: bool = False,
) -> Launches:
    """Plan a move of elements into a tensor of any layout and dtype.

    `padding` as in `plan_copy`, `saturate` as in `plan_conversion`. `owns_all_bytes`: the bytes of
    the result hold nothing else, so that undefined padding below a byte may be overwritten.
    """
    to, from_ = alignments
    if packed.has_sub_byte_slots(source, result):
        return _plan_packed_move(source, result, (to, from_), padding, saturate, owns_all_bytes)
    plan_next_move = partial(plan_move, saturate=saturate)
    intermediate = intermediate_spec(source, result, padding)
    if intermediate is not None:
        # New memory is aligned for the widest access.
        first = plan_next_move(source, intermediate, (SECTOR, from_))
        second = plan_next_move(intermediate, result, (to, SECTOR), padding)
        return packed.chain_through_scratch(
            first, second, intermediate.layout.nbytes(intermediate.dtype)
        )
    if source.dtype == result.dtype:
        return plan_copy(result.layout, source.layout, result.dtype.itemsize, (to, from_), padding)
    return elementwise.plan_conversion(result, source, alignments, padding, saturate=saturate)


def _plan_packed_move(
    source: TensorSpec,
    result: TensorSpec,
    alignments: tuple[int, int],
    padding: bytes | None,
    saturate: bool,
    owns_all_bytes: bool,
) -> Launches:
    """Plan a move, as `plan_move`, with at least one side packed below a byte."""
    plan_next_move = partial(plan_move, saturate=saturate)
    source_layout, result_layout, (to, from_) = source.layout, result.layout, alignments
    if not result_layout.size and (padding is None or not result_layout.required_size):
        return Launches((), "empty")
    if not result_layout.size and result_layout.slot_bits is None:
        return plan_padding(result_layout, 1, to, padding)
    is_same_dtype = source.dtype == result.dtype
    if result_layout.slot_bits is None:
        launches = (
            packed.plan_unpack(result_layout, source_layout, alignments, padding)
            if is_same_dtype
            else None
        )
        if launches is not None:
            return launches
        second = plan_next_move(packed.unpacked_spec(source), result, (to, SECTOR), padding)
        return packed.chain_through_scratch(
            packed.plan_unpack_block(source_layout, from_), second, source_layout.required_size
        )
    if not (result_layout.covers_block and (owns_all_bytes or not result_layout.is_padded)):
        slot_launches = plan_next_move(source, packed.unpacked_spec(result), (SECTOR, from_), None)
        # The slots are scratch memory 2, in place of the destination, which is memory 0.
        memories = (2, 1, *range(3, 3 + len(slot_launches.scratch)))
        return packed.plan_read_modify_write(result_layout, to, slot_launches, memories)
    launches = (
        packed.plan_pack(result_layout, source_layout, alignments, padding, owns_all_bytes)
        if is_same_dtype
        else None
    )
    if launches is not None:
        return launches
    # Left for two steps: conversions, sources with tails that the result lacks, and orders in
    # which each element would read a sector.
    first = plan_next_move(source, packed.unpacked_spec(result), (SECTOR, from_), padding)
    return packed.chain_through_scratch(
        first,
        packed.plan_pack_block(result_layout, to, owns_all_bytes),
        result_layout.required_size,
    )


def plan_copy(
    destination: Layout,
    source: Layout,
    itemsize: int,
    alignments: tuple[int, int] = (SECTOR, SECTOR),
    padding: bytes | None = None,
) -> Launches:
    """Plan the cheapest copy of all elements between two layouts of one shape.

    Both have their lowest slots at 0, no two elements of the destination share a slot, and the
    memories do not overlap. Tiles of the two divide each other (see `intermediate_spec`).
    `alignments` are powers of two that divide the addresses of the lowest slots. `padding` is the
    content of one element of the destination's own padding, which is written in the same launch;
    None leaves it alone. If the sides differ in their fastest dimension, direction or the start of
    sectors, boxes go through shared memory: of three dimensions or, without long runs on both
    sides, of up to twelve.
    """
    if destination.size == 0:
        return replace(plan_padding(destination, itemsize, alignments[0], padding), case="empty")
    loop_arguments = ((destination, source), (itemsize,) * 2, alignments)
    loop: TiledLoop | None
    if is_tiled(destination, source):
        loop = make_tiled_loop(*loop_arguments, sizes_to_write(destination, padding))
    else:
        loop = TiledLoop.over_layouts(*loop_arguments)
    padding_write, padding_launches = fusable_padding_and_launches(
        destination, itemsize, alignments[0], padding, loop
    )
    if loop is not None and (not loop.bounds or fits_bounded_walk(loop)):
        case, launch = _cheapest_launch(loop, itemsize, padding_write)
        return Launches((*padding_launches, launch), case)
    # More tails than the struct of a launch holds: one copy for each piece without tails.
    block = (destination, itemsize, alignments[0])
    launches = [] if padding is None else plan_whole_block_fill(*block, padding)
    for pieces in split_off_tails((destination, source)):
        shifts = [piece.lowest * itemsize for piece in pieces]
        to, from_ = [gcd(a, shift, SECTOR) for a, shift in zip(alignments, shifts, strict=True)]
        destination_part, source_part = (piece.at_origin for piece in pieces)
        part = plan_copy(destination_part, source_part, itemsize, (to, from_), None)
        launches += [part_launch.with_memories((0, 1), *shifts) for part_launch in part.launches]
    return Launches(tuple(launches), "pieces")


def intermediate_spec(
    source: TensorSpec, result: TensorSpec, padding: bytes | None
) -> TensorSpec | None:
    """Return the intermediate of a copy in two launches; None if one launch can do it.

    Two are needed for tiles that do not divide each other, and for conversions in which tails keep
    a kernel from reading the source along its memory.
    """
    layouts = (result.layout, source.layout)
    if not is_tiled(*layouts):
        return None
    plain = TensorSpec(result.dtype, Layout.row_major(result.layout.shape), result.device)
    loop_arguments = (layouts, (result.dtype.itemsize, source.dtype.itemsize), (SECTOR, SECTOR))
    if make_tiled_loop(*loop_arguments, result.layout.shape) is None:
        return plain
    if source.dtype == result.dtype:
        return None
    digits = make_tiled_loop(*loop_arguments, sizes_to_write(result.layout, padding))
    if digits is None:  # copies of separate pieces exist, but no such conversions
        return plain
    if digits.bounds and not fits_bounded_walk(digits):
        dtype = source.dtype if source.layout.is_tiled else result.dtype
        return TensorSpec(dtype, plain.layout, result.device)
    if not digits.bounds or elementwise.reads_tiles_efficiently(digits):
        return None
    if result.layout.form is source.layout.form:  # sparse, but nothing could be read better
        return None
    return TensorSpec(result.dtype, source.layout.form, result.device)


def _cheapest_launch(
    loop: TiledLoop, itemsize: int, padding_write: PaddingWrite
) -> tuple[str, Launch]:
    tile_cost = shared_tiles.THROUGH_TILE
    if loop.bounds:
        pack = loop.max_pack_size(WIDEST) if loop.is_fastest_axis_contiguous else 1
    else:
        loop, pack = loop.with_widest_elements(WIDEST), 1
    one_run = not loop.bounds and len(loop.axes) == 1 and loop.is_fastest_axis_contiguous
    repeated = None if loop.bounds else _loop_over_repeated_element_packs(loop)
    if one_run:
        return "flat", _flat_launch(loop, padding_write)
    memories = [access_cost(loop, m, pack, written=m == WRITE) for m in (WRITE, READ)]
    width, memory_cost = loop.width * pack, sum(memories)
    # Tiles cannot help if blocks use whole sectors as it is, or the copy is small. Narrow accesses
    # alone are no reason for tiles: 25 instructions for a byte cost less than the 75 of a tile.
    large = loop.element_count * loop.width >= shared_tiles.SMALL_BYTES
    if repeated is None and large and memory_cost > 2 + tile_cost:
        box, cost = choose_tile_of_copy(loop), memory_cost + 2 * narrow_access_cost(width)
        # With tails both ways compute indices, so that shared memory adds less.
        if (
            box is not None
            and box.cost_per_byte() + (tile_cost / 2 if loop.bounds else tile_cost) < cost
        ):
            return "bounded boxes" if loop.bounds else "tiles", _shared_tile_launch(
                loop, box, padding_write
            )
    if loop.bounds:
        return "bounded", _bounded_copy_launch(loop, pack, padding_write)
    if repeated is not None:
        return "repeated", _strided_launch(repeated, padding_write)
    rows = loop.is_fastest_axis_contiguous or loop.width > itemsize
    return "rows" if rows else "strided", _strided_launch(loop, padding_write)


def _loop_over_repeated_element_packs(loop: TiledLoop) -> TiledLoop | None:
    """Return the loop with 16-byte packs of the destination, each a repeated source element.

    None unless the source's stride along the destination's run is 0 and packs fit.
    """
    *slower, last = loop.axes
    times = WIDEST // loop.width
    steps = [axis.strides[WRITE] for axis in slower]
    fits = gcd(loop.alignments[WRITE] // loop.width, last.size, *steps) % times == 0
    return (
        loop.loop_over_packs(times, (WRITE,))
        if last.strides == (1, 0) and times > 1 and fits
        else None
    )


# ---- Launches


def _flat_launch(loop: TiledLoop, padding_write: PaddingWrite) -> Launch:
    nbytes = loop.element_count * loop.width
    width = min(WIDEST, *loop.alignments)
    packs, tail = divmod(nbytes, width)
    chosen = kernel_with_macros(FILE, "copy_flat", WIDTH=width)
    return launch_with_padding(
        chosen, loop, max(1, blocks_for_elements(packs)), padding_write, packs=packs, tail=tail
    )


def _strided_launch(loop: TiledLoop, padding_write: PaddingWrite) -> Launch:
    shape = {"RANK": len(loop.axes), "INDEX": loop.index_c_type, "ELEMENT": loop.widths[READ]}
    count = loop.element_count
    chosen = kernel_with_macros(FILE, "copy_strided", WIDTH=loop.width, **shape)
    return launch_with_padding(
        chosen, loop, blocks_for_elements(count), padding_write, count=count, walk=loop.axes
    )


def _bounded_copy_launch(loop: TiledLoop, pack_length: int, padding_write: PaddingWrite) -> Launch:
    count, width = loop.element_count // pack_length, loop.width * pack_length
    chosen = kernel_with_macros(BOUNDED_FILE, "copy_bounded", INDEX=loop.index_c_type, WIDTH=width)
    members = {
        "walk": bounded_walk_struct(loop, (WRITE, READ), pack_length),
        "bits": repeat_to_two_uint64(padding_write[1]),
    }
    return launch_with_padding(
        chosen, loop, blocks_for_elements(count), padding_write, count=count, **members
    )


def _shared_tile_launch(loop: TiledLoop, box: SharedTile, padding_write: PaddingWrite) -> Launch:
    pitches, across = box.tile_strides[READ], box.problem.across
    write, read = (box.side_struct(side, pitches) for side in (WRITE, READ))
    members = {"write": write, "read": read, "pitch": pitches, "boxes": box.fill_boxes_struct}
    shape = {"ELEMENT": loop.width, "ROOM": box.allocated_shared_bytes}
    shape |= {"READ": box.access_by_memory[READ].unit, "WRITE": box.access_by_memory[WRITE].unit}
    if loop.bounds:
        chosen = kernel_with_macros(BOUNDED_FILE, "copy_bounded_boxes", **shape)
        members |= {
            "bits": repeat_to_two_uint64(padding_write[1]),
            "bounds": bounds_struct(loop.bounds),
        }
    else:
        chosen = kernel_with_macros(
            FILE, "copy_tiles", TILE=box.problem.tile_element_bytes(READ), **shape
        )
    if across:
        # The distance of rows in words of 4 bytes, of which `across` counts elements.
        members |= {"across": across * loop.width // 4, "turns": box.quarter_warp_first_columns}
    return launch_with_padding(chosen, loop, box.block_count, padding_write, **members)
