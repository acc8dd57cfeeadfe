"""Copies from and to layouts packed below a byte on CUDA.

One launch suffices if no byte is shared with other elements or with padding that must survive.
Otherwise slots are unpacked to scratch memory (one byte each), written there, and packed again.
Layouts that a walk cannot hold, and conversions, go the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import gcd
from typing import Any

from tensorlayout.cuda.engine import (
    MOST_DIGITS,
    READ,
    SECTOR,
    SMALL_BYTES,
    THREADS,
    WIDEST,
    WRITE,
    Launch,
    Launches,
    access_cost,
    blocks_for_elements,
    bounded_walk_struct,
    divisor_struct,
    fits_bounded_walk,
    kernel_with_macros,
    make_parameter_struct,
)
from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.fill import fusable_padding_and_launches, launch_with_padding, plan_fill
from tensorlayout.layout import Layout
from tensorlayout.layout.digits import TiledLoop, make_tiled_loop, sizes_to_write
from tensorlayout.tensor import TensorSpec

FILE = "copy/packed.cu"
# Elements that a thread of the flat and run kernels moves: a byte each when unpacked, so that they
# are one 16-byte access.
RUN = WIDEST


def has_sub_byte_slots(*specs: TensorSpec) -> bool:
    """Return whether some tensor is packed below a byte."""
    return any(spec.layout.slot_bits is not None for spec in specs)


def chain_through_scratch(first: Launches, second: Launches, intermediate_bytes: int) -> Launches:
    """Chain two moves through scratch memory of `intermediate_bytes`."""
    # Memory 2, the first scratch, is the intermediate; the scratch of both moves comes after it.
    behind = 3 + len(first.scratch)
    launches = (
        *[launch.with_memories((2, 1, *range(3, behind))) for launch in first.launches],
        *[launch.with_memories((0, 2, *range(behind, behind + 9))) for launch in second.launches],
    )
    return Launches(launches, "two moves", (intermediate_bytes, *first.scratch, *second.scratch))


def plan_pack(
    destination: Layout,
    source: Layout,
    alignments: tuple[int, int],
    padding: bytes | None,
    owns_all_bytes: bool,
) -> Launches | None:
    """Plan one launch that writes all slots of a packed layout that covers its block.

    None if no walk over the slots finds the elements of the source, or if a copy through scratch
    memory is cheaper.
    """
    bits, count = destination.slot_bits, destination.required_size
    assert bits is not None
    # Mask of the bits in the last byte that belong to other elements of the storage.
    kept_bits = 0 if owns_all_bytes or count * bits % 8 == 0 else 256 - (1 << count * bits % 8)
    filler = padding[0] if padding else 0
    if _are_same_dense_block(destination, source, *alignments):
        return _flat_launches(
            "packed flat", kernel_with_macros(FILE, "pack_flat", PACKED=bits), count, kept_bits
        )
    loop = make_tiled_loop((destination, source), (1, 1), alignments, destination.padded_shape)
    if loop is None or not fits_bounded_walk(loop) or not _walks_slots_in_order(loop, count):
        return None
    if (
        source.slot_bits is None
        and _index_type_spans_source(loop, source)
        and _can_pack_runs(loop, bits)
    ):
        chosen = kernel_with_macros(FILE, "pack_runs", INDEX=loop.index_c_type, PACKED_RUN=bits)
        walk = _walk_struct_members(loop)
        walk |= {"runs": count // RUN, "octets": source.required_size, "tails": bool(loop.bounds)}
        along = next((b for b, w in enumerate(loop.weights) if w[-1]), -1)
        grid, padded = -(-count // (RUN * THREADS)), filler * 0x01010101
        runs = Launch.from_members(chosen, grid, (0, 0), along=along, padding=padded, **walk)
        return Launches((runs,), "packed runs")
    word = 4 if alignments[0] >= 4 else 1
    # Elements that a thread packs into whole words; 6-bit elements fill no fewer than three words.
    per = 8 * word * (3 if bits == 6 else 1) // bits
    wide = 1  # of the source, read at once
    if word == 4 and source.slot_bits is None and loop.is_fastest_axis_contiguous:
        most = gcd(per, loop.max_pack_size(WIDEST))
        wide = most if most in (4, 8) else 1
    # Neighbouring threads of a warp read bytes that are `per` elements apart.
    if _is_intermediate_cheaper(loop, per // wide if source.slot_bits is None else 1):
        return None
    chosen = kernel_with_macros(
        FILE, "pack_elements", INDEX=loop.index_c_type, WORD=word, WIDE=wide
    )
    walk = _walk_struct_members(loop, wide) | {
        "slots": count,
        "octets": -(-count * bits // 8),
        "kept": kept_bits,
    }
    walk |= {"per": per, "bits": bits, "from_bits": source.slot_bits or 8, "padding": filler}
    return Launches(
        (Launch.from_members(chosen, -(-count // (per * THREADS)), (0, 0), **walk),), "packed"
    )


def _can_pack_runs(loop: TiledLoop, bits: int) -> bool:
    """Return whether each 16 slots are one run, padding, or the end of a run and padding."""
    last, weights = loop.axes[-1], [moves[-1] for moves in loop.weights]
    along = [weight for weight in weights if weight]
    run_bytes = _packed_run_alignment_bytes(bits)
    aligned = loop.alignments[WRITE] % run_bytes == 0 == loop.alignments[READ] % RUN
    return aligned and last.strides == (1, 1) and last.size % RUN == 0 and along in ([], [1])


def _index_type_spans_source(loop: TiledLoop, source: Layout) -> bool:
    """Return whether the index type can also count the bytes of the source with its padding."""
    return loop.index_c_type == "int64_t" or source.required_size < 2**31


def _packed_run_alignment_bytes(bits: int) -> int:
    """Return the alignment, in **bytes**, for writing 16 slots of `bits` bits at once."""
    return 4 if bits == 6 else 2 * bits


# Sectors read per element, relative to a copy in order, above which scratch memory is cheaper: it
# costs one more write and read of all elements.
_APART = 4.0


def _is_intermediate_cheaper(loop: TiledLoop, thread_spacing: int = 1) -> bool:
    """Return whether a copy through scratch memory costs less.

    `thread_spacing`: elements between the reads of neighbouring threads.
    """
    large = loop.element_count >= SMALL_BYTES
    return large and access_cost(loop, READ) * thread_spacing > _APART


def _walks_slots_in_order(loop: TiledLoop, count: int) -> bool:
    """Return whether the n-th step of a walk is at slot n of the destination.

    False if the source has tails for which the destination has no slots.
    """
    running = 1
    for axis in reversed(loop.axes):
        if axis.size != 1 and axis.strides[0] != running:
            return False
        running *= axis.size
    return running == count and loop.firsts[0] == 0


def _walk_struct_members(loop: TiledLoop, pack_length: int = 1) -> dict[str, Any]:
    """Return the struct members of a walk over packs; `first` is the source's first slot."""
    return {
        "walk": bounded_walk_struct(loop, (WRITE, READ), pack_length),
        "first": loop.firsts[READ],
    }


def plan_unpack(
    destination: Layout, source: Layout, alignments: tuple[int, int], padding: bytes | None
) -> Launches | None:
    """Plan one launch that unpacks to whole bytes, with padding: the inverse of `plan_pack`.

    None if no loop fits, or if a copy through scratch memory is cheaper.
    """
    bits, count = source.slot_bits, destination.required_size
    assert bits is not None
    if _are_same_dense_block(source, destination, *reversed(alignments)):
        return _flat_launches(
            "unpacked flat", kernel_with_macros(FILE, "unpack_flat", UNPACKED=bits), count, 0
        )
    sizes = sizes_to_write(destination, padding)
    loop = make_tiled_loop((destination, source), (1, 1), alignments, sizes)
    if loop is None or not fits_bounded_walk(loop):
        return None
    if (runs := _plan_unpack_runs(loop, source, count)) is not None:
        return runs
    if _is_intermediate_cheaper(loop):
        return None
    padding_write, padding_launches = fusable_padding_and_launches(
        destination, 1, alignments[0], padding, loop
    )
    chosen = kernel_with_macros(FILE, "unpack_elements", INDEX=loop.index_c_type)
    blocks = blocks_for_elements(loop.element_count)
    walk = _walk_struct_members(loop) | {"count": loop.element_count, "bits": bits}
    walk |= {"filler": padding[0] if padding else 0}
    elements = launch_with_padding(chosen, loop, max(1, blocks), padding_write, **walk)
    return Launches(
        (*padding_launches, replace(elements, firsts=(loop.firsts[WRITE], 0))), "unpacked"
    )


def _plan_unpack_runs(loop: TiledLoop, source: Layout, count: int) -> Launches | None:
    """Plan one launch that unpacks into a whole block; None for other layouts, short runs."""
    bits, split = source.slot_bits, _slot_number_to_offset_steps(loop, count)
    assert bits is not None
    words, last = (RUN, 8 if bits == 6 else 2 * bits), loop.axes[-1]
    aligned = all(a % n == 0 for a, n in zip(loop.alignments, words, strict=True))
    if (
        split is None
        or not aligned
        or not _index_type_spans_source(loop, source)
        or last.strides[READ] != 1
    ):
        return None
    (row, steps), run = split, last.size
    # The kernel handles up to three runs per thread: 16 elements touch no more of length 8.
    if min(run, row or run) < 8 or len(steps) > MOST_DIGITS:
        return None
    chosen = kernel_with_macros(FILE, "unpack_runs", INDEX=loop.index_c_type, UNPACKED_RUN=bits)
    octets = -(-source.required_size * bits // 8)
    params = make_parameter_struct(chosen, count=count, octets=octets, first=loop.firsts[READ])
    walk = params.walk
    walk.row = divisor_struct(loop.index_c_type, row or 1)
    walk.run = divisor_struct(loop.index_c_type, run)
    walk.tail, walk.steps = int(row > 0), len(steps)
    for d, (step, size, stride) in enumerate(steps):
        walk.step[d] = step
        walk.size[d] = divisor_struct(loop.index_c_type, size)
        walk.stride[d] = stride
    blocks = -(-count // (RUN * THREADS))
    return Launches((Launch(chosen, blocks, bytes(params), (0, 0)),), "unpacked runs")


# The steps of ``SplitWalk``.
_NEXT_DIGIT, _TO_INDEX, _LAST_DIGIT = range(3)


def _slot_number_to_offset_steps(
    loop: TiledLoop, count: int
) -> tuple[int, list[tuple[int, int, int]]] | None:
    """Return how to split the number of a slot, in a block without padding, into an offset.

    Returns the size of the fastest dimension if it has a tail (else 0), and for each further step
    its kind, size and stride. None if the walk is not over such a block.
    """
    if any(bound.first for bound in loop.bounds) or loop.firsts[WRITE]:
        return None
    # Example: a slower dimension of 10 in tiles of 4 has the digits 3 and 4. Its steps are
    # (_TO_INDEX, 10, 0), which takes the index out of the number; (_NEXT_DIGIT, 4, stride); and
    # (_LAST_DIGIT, 3, stride), which takes what is left of the index and goes on with the slower
    # dimensions.
    row, steps = 0, list[tuple[int, int, int]]()
    slots, end = 1, len(loop.axes)
    while end:
        bounds = [b for b, moves in enumerate(loop.weights) if moves[end - 1]]
        begin = end - 1
        while bounds and begin and loop.weights[bounds[0]][begin - 1]:
            begin -= 1
        digits, unit = loop.axes[begin:end], slots
        for axis in reversed(digits):
            if axis.size > 1 and axis.strides[WRITE] != unit:
                return None
            unit *= axis.size
        dim_steps = [(_NEXT_DIGIT, axis.size, axis.strides[READ]) for axis in reversed(digits)]
        fastest = end == len(loop.axes)
        size = loop.bounds[bounds[0]].size if bounds else digits[0].size
        if bounds:
            dim_steps[-1] = (_LAST_DIGIT, *dim_steps[-1][1:])
            if begin or fastest:  # for the slowest dimension the remaining number is the index
                dim_steps = [(_TO_INDEX, size, 0), *dim_steps]
        if bounds and fastest:
            # The kernel does the first two steps of the fastest dimension itself, by `row` and
            # `run`. A last digit has to remain, because it goes on with the slower dimensions.
            row, dim_steps = size, dim_steps[2:] or [(_LAST_DIGIT, 1, 0)]
        elif fastest:
            dim_steps = []
        steps += dim_steps
        slots, end = slots * size, begin
    if steps:
        # The slowest digit is what is left, without a division.
        steps[-1] = (_LAST_DIGIT, *steps[-1][1:])
    one_each = all(sum(map(bool, moves)) <= 1 for moves in zip(*loop.weights, strict=True))
    return (row, steps) if one_each and slots == count else None


def _are_same_dense_block(packed: Layout, other: Layout, *alignments: int) -> bool:
    """Return whether both layouts are one dense block in the same order, and aligned enough.

    `alignments`: of the packed layout, then of the other.
    """
    if other.slot_bits is not None or packed.is_padded or other.is_padded:
        return False
    is_same_block = packed.covers_block and packed.with_slot_bits(None).same_placement(other)
    needed = (_packed_run_alignment_bytes(packed.slot_bits or 8), RUN)
    return is_same_block and all(a % n == 0 for a, n in zip(alignments, needed, strict=True))


def _flat_launches(case: str, chosen: Kernel, count: int, kept_bits: int) -> Launches:
    runs, tail = divmod(count, RUN)
    blocks = -(-(runs + (tail > 0)) // THREADS)
    return Launches(
        (Launch.from_members(chosen, blocks, (0, 0), runs=runs, tail=tail, kept=kept_bits),), case
    )


def plan_read_modify_write(
    layout: Layout, alignment: int, slot_launches: Launches, memories: Sequence[int]
) -> Launches:
    """Plan to unpack slots, run `slot_launches` on them, and pack them again; other bits stay.

    `memories`: numbers of the tensor and of the operands of `slot_launches`.
    """
    unpack = plan_unpack_block(layout, alignment)
    pack = plan_pack_block(layout, alignment, owns_all_bytes=False)
    launches = (
        *[e.with_constant_scalars(b"").with_memories((memories[0], 0)) for e in unpack.launches],
        *[e.with_memories(memories) for e in slot_launches.launches],
        *[e.with_constant_scalars(b"").with_memories((0, memories[0])) for e in pack.launches],
    )
    return Launches(launches, "in its bytes", (layout.required_size, *slot_launches.scratch))


def plan_packed_fill(
    layout: Layout, itemsize: int, alignment: int, padding: bytes | None
) -> Launches:
    """Plan a fill of all elements with one value, like `plan_fill`; padding stays."""
    if not layout.size:
        return Launches(())
    return plan_read_modify_write(
        layout, alignment, plan_fill(layout.with_slot_bits(None), 1), (1,)
    )


def plan_unpack_block(layout: Layout, alignment: int) -> Launches:
    """Plan to unpack all slots of a packed layout to new memory, one byte per slot."""
    octets = Layout((layout.required_size,))
    launches = plan_unpack(
        octets, octets.with_slot_bits(layout.slot_bits), (SECTOR, alignment), None
    )
    assert launches is not None, "one run"
    return launches


def plan_pack_block(layout: Layout, alignment: int, owns_all_bytes: bool) -> Launches:
    """Plan to pack slots, the inverse of `plan_unpack_block`."""
    octets = Layout((layout.required_size,))
    slots = octets.with_slot_bits(layout.slot_bits)
    launches = plan_pack(slots, octets, (alignment, SECTOR), None, owns_all_bytes)
    assert launches is not None, "one run"
    return launches


def unpacked_spec(spec: TensorSpec) -> TensorSpec:
    """Return the spec with a byte for each slot."""
    return TensorSpec(spec.dtype, spec.layout.with_slot_bits(None), spec.device)
