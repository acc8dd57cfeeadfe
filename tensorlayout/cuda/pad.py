"""Padding on CUDA: borders around a tensor, and a tensor spread over a strided window of zeros."""

from __future__ import annotations

from functools import partial
from math import gcd, prod

from tensorlayout.cuda.engine import (
    RANKS,
    WIDEST,
    Launch,
    blocks_for_walk,
    constant_value,
    divisor_struct,
    kernel_with_macros,
    make_parameter_struct,
    make_writer,
    repeat_to_16_bytes,
    scalar_bytes,
)
from tensorlayout.layout import Axis, Loop, Window, merge_axes, narrowest_index_type
from tensorlayout.plan import PadPlan, SliceGradPlan, Write

FILE = "pad.cu"

# `BorderMode` of kernels/pad.cu; the other modes repeat the inside and are REPEATED.
_MODES = {"constant": "CONSTANT", "edge": "EDGE"}

# Modes whose borders are whole copies of the inside, or one value: packs and merged axes work in
# the border as they do inside. Other modes reverse or repeat single elements.
_KEEPS_PACKS = ("constant", "wrap")

WRITE, READ = 0, 1


def plan_pad(plan: PadPlan, alignments: tuple[int, ...]) -> Launch | None:
    """Plan a border; None for an empty result. `alignments`: of the result and the source."""
    if not plan.result.layout.size:
        return None
    loop = _pad_loop(plan, alignments)
    head, packs = _first_row_pack_and_pack_count(loop)
    axes, rank = loop.axes, len(loop.axes)
    befores = [axis.window_or_whole_axis.first for axis in axes]
    insides = [axis.window_or_whole_axis.counts[READ] for axis in axes]
    # Elements after which the border repeats; a mirrored one has the inside forth and back.
    # Example: the inside abcd repeats as abcdcb for "reflection", and as abcddcba for "symmetric".
    # (Of one element, 2 * 1 - 2 is no period, hence the 1.)
    times, more = {"reflection": (2, -2), "symmetric": (2, 0)}.get(plan.mode, (1, 0))
    periods = [max(times * inside + more, 1) for inside in insides]
    # Multiples of the period, added so that the kernel divides no negative numbers.
    lifts = [-(-before // m) * m for before, m in zip(befores, periods, strict=True)]
    reach = [sum([(axis.size - 1) * axis.strides[WRITE] for axis in axes])]
    reach += [sum([n * abs(axis.strides[READ]) for n, axis in zip(insides, axes, strict=True)])]
    reach += [axis.size + lift for axis, lift in zip(axes, lifts, strict=True)]
    times = WIDEST // loop.width if packs else 1
    *slower, row = loop.sizes
    rows, singles = prod(slower), row - packs * times
    count, index = rows * (packs + singles), narrowest_index_type(rows * row, max(reach))
    width = WIDEST if packs else loop.width
    chosen = kernel_with_macros(
        FILE, "pad_elements", RANK=rank, INDEX=index, ELEMENT=loop.width, WIDTH=width
    )
    walk = [*axes[:-1], Axis(max(singles, 1), axes[-1].strides)]
    params = make_parameter_struct(chosen, walk=walk, count=count, packed=rows * packs, head=head)
    params.packs_end, params.packs = head + packs * times, divisor_struct(index, max(packs, 1))
    border = params.border
    border.mode = constant_value(FILE, _MODES.get(plan.mode, "REPEATED"))
    border.twice = plan.mode == "symmetric"
    border.before[:rank], border.inside[:rank], border.lift[:rank] = befores, insides, lifts
    for d, period in enumerate(periods):
        border.period[d] = divisor_struct(index, period)
    return Launch(chosen, blocks_for_walk(count, rank, RANKS), bytes(params), loop.firsts)


def _pad_loop(plan: PadPlan, alignments: tuple[int, ...]) -> Loop:
    """Return the loop over all elements of the result; axes with a border window the source."""
    result, source, itemsize = plan.result.layout, plan.source.layout, plan.result.dtype.itemsize
    first, start = result.offset, source.offset
    axes = []
    for d in reversed(result.minor_to_major):
        size, inside, before = result.shape[d], source.shape[d], plan.borders[d][0]
        axis = Axis(size, (result.strides[d], source.strides[d]))
        if result.strides[d] < 0:  # reversed in both, so that the result is written upwards
            first += (size - 1) * result.strides[d]
            start += max(inside - 1, 0) * source.strides[d]
            axis, before = axis.reversed_axis, plan.borders[d][1]
        window = None if inside == size else Window((size, inside), before)
        axes.append(axis._replace(tag=window))
    repeated = plan.mode in _KEEPS_PACKS

    def can_merge(slower: Axis, faster: Axis) -> bool:
        has_mergeable_border = slower.tag is None or repeated
        return has_mergeable_border and faster.tag is None and slower.step_spans_axis(faster)

    merged_axes = tuple(merge_axes(axes, can_merge)) or (Axis(1, (1, 1)),)
    loop = Loop(merged_axes, (itemsize, itemsize), (first * itemsize, start * itemsize), alignments)
    return loop.with_wider_elements(WIDEST) if repeated or merged_axes[-1].tag is None else loop


def _first_row_pack_and_pack_count(loop: Loop) -> tuple[int, int]:
    """Return the first element of a row's packs and their number; (0, 0) if these are too few."""
    *slower, last = loop.axes
    times = WIDEST // loop.width
    steps = [step * loop.width for axis in slower for step in axis.strides]
    if times == 1 or last.strides != (1, 1) or gcd(*loop.alignments, *steps) % WIDEST:
        return 0, 0
    to, from_ = loop.firsts
    skipped = -from_ % WIDEST // loop.width  # elements before the first pack
    head = last.window_or_whole_axis.first + skipped
    packs = max(last.window_or_whole_axis.counts[READ] - skipped, 0) // times
    if (to + head * loop.width) % WIDEST or 2 * packs * times < last.size:
        return 0, 0
    return head, packs


# ---- Windows


def plan_slice_grad(plan: SliceGradPlan, alignments: tuple[int, ...]) -> Launch:
    """Plan the launch for tensors that are not empty; arguments as in `plan_pad`."""
    # The loop is over all elements of the result, so that it also writes the zeros; the source is
    # a window of its axes, with positive steps.
    result, source, itemsize = plan.result.layout, plan.source.layout, plan.result.dtype.itemsize
    axes, begin = [], source.offset
    for d in reversed(result.minor_to_major):
        (first, step), source_size, from_ = plan.window[d], source.shape[d], source.strides[d]
        if step < 0:  # from the other end
            first = first + (source_size - 1) * step
            begin = begin + (source_size - 1) * from_
            from_ = -from_
        size = result.shape[d]
        part = Window((size, source_size), first, abs(step) if source_size > 1 else 1)
        axes.append(Axis(size, (result.strides[d], from_), None if source_size == size else part))
    merged_axes = tuple(merge_axes(axes)) or (Axis(1, (1, 1)),)
    firsts = (result.offset * itemsize, begin * itemsize)
    loop = Loop(merged_axes, (itemsize, itemsize), firsts, alignments)
    if merged_axes[-1].window_or_whole_axis.step == 1:
        loop = loop.with_wider_elements(WIDEST)
    count, rank = loop.element_count, len(loop.axes)
    index = narrowest_index_type(count, max(loop.max_offset, *loop.sizes))
    chosen = kernel_with_macros(FILE, "spread_elements", RANK=rank, INDEX=index, WIDTH=loop.width)
    params = make_parameter_struct(chosen, count=count, rank=rank)
    for memory, strides in enumerate(loop.strides):
        params.stride[memory][:rank] = strides
    for d, axis in enumerate(loop.axes):
        (_, params.taken[d]), params.first[d], step = axis.window_or_whole_axis
        params.size[d] = divisor_struct(index, axis.size)
        params.step[d] = divisor_struct(index, step)
    blocks = blocks_for_walk(count, rank, (1, 2, 3))  # ranks whose loops have a known length
    return Launch(chosen, blocks, bytes(params), loop.firsts)


# ---- Writes


def compile_pad(plan: PadPlan) -> Write:
    """Compile ``write(out, x, value)``; `value` fills constant borders."""
    return make_writer(
        plan.result.device.number,
        partial(plan_pad, plan),
        tensor_count=2,
        pack_scalars=lambda value: repeat_to_16_bytes(
            scalar_bytes(plan.name, value, plan.result.dtype)
        ),
    )
