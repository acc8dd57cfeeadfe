"""Tensors side by side, and taken apart."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod
from typing import NamedTuple

from tensorlayout.cuda.copy import plan_copy, write_move
from tensorlayout.cuda.engine import (
    PER_THREAD,
    SECTOR,
    THREADS,
    WIDEST,
    Launch,
    Launches,
    arguments,
    blocks_of_walk,
    constant,
    divisor,
    kernel,
    writer,
)
from tensorlayout.layout import Axis, Layout, Loop, Window, furthest, index_type, merged
from tensorlayout.plan import JoinPlan, SplitPlan, Write, cuts_of, part_of
from tensorlayout.tensor import Tensor, TensorSpec

FILE = "join.cu"

# Those of join.cu whose loops have a known length.
RANKS = (1, 2, 3)


class _Whole(NamedTuple):
    """What inputs are parts of along an axis."""

    layout: Layout
    axis: int
    itemsize: int
    alignment: int
    number: int  # of its memory, in a split the last


class _Input(NamedTuple):
    number: int  # of its memory
    layout: Layout
    place: int  # the index at which its part starts
    start: int  # the slot
    alignment: int


def plan_join(
    result: Layout,
    sources: Sequence[Layout],
    starts: Sequence[int],
    axis: int,
    itemsize: int,
    alignments: Sequence[int],
    *,
    splits: bool = False,
) -> Launches:
    """How to copy all inputs into their parts of the result, which begin at `starts`.

    Or, where it `splits`, the parts of the result into the inputs. The result is the first memory
    of the call, of a split the last. One launch for all inputs that are aligned alike, up to the
    number that the parameters of a launch hold; inputs that a copy takes through tiles are left to
    it. `alignments` of the result and of each source, no less than an element.
    """
    numbers = range(len(sources)) if splits else range(1, 1 + len(sources))
    slots = [start * result.strides[axis] for start in starts]
    rows = zip(numbers, sources, starts, slots, alignments[1:], strict=True)
    inputs = [_Input(*row) for row in rows if row[1].size]
    whole = _Whole(result, axis, itemsize, alignments[0], len(sources) if splits else 0)
    copies = [_transposed(whole, each) for each in inputs]
    kept = [each for each, copy in zip(inputs, copies, strict=True) if copy is None]
    joined = [_launch(whole, group) for group in _groups(whole, kept)]
    return Launches((*joined, *[copy for copy in copies if copy is not None]))


def _transposed(whole: _Whole, given: _Input) -> Launch | None:
    """The copy of an input that goes through tiles; None for others."""
    sizes, strides = given.layout.shape, given.layout.strides
    fastest = next((d for d in whole.layout.minor_to_major if sizes[d] > 1), None)
    if fastest is None or strides[fastest] == whole.layout.strides[fastest]:
        return None
    cut = slice(given.place, given.place + sizes[whole.axis])
    part = part_of(whole.layout, (*[slice(None)] * whole.axis, cut))
    shift = part.lowest * whole.itemsize
    ends = [(part.at_origin, gcd(whole.alignment, shift), whole.number, shift)]
    ends.insert(1 - (whole.number > 0), (given.layout, given.alignment, given.number, 0))
    (to, from_), alignments, numbers, shifts = zip(*ends, strict=True)
    copy = plan_copy(to, from_, whole.itemsize, alignments)
    return copy.launches[0].placed(numbers, *shifts) if copy.case == "tiles" else None


def _groups(whole: _Whole, inputs: list[_Input]) -> list[list[_Input]]:
    """Inputs that a launch takes together: of one width of access, and not too many."""
    by_width: dict[int, list[_Input]] = {}
    for each in inputs:
        by_width.setdefault(_width(_axes(whole, [each]), whole, [each]), []).append(each)
    groups = []
    for _, members in sorted(by_width.items(), reverse=True):
        axes = _axes(whole, members)
        index, rank = index_type(whole.layout.size, furthest(axes)), len(axes)
        # How many the parameters of a launch hold.
        most = constant(FILE, f"MOST<{rank if rank in RANKS else 0}, {index}>")
        groups += [members[k : k + most] for k in range(0, len(members), most)]
    return groups


def _axes(whole: _Whole, inputs: list[_Input]) -> list[Axis]:
    """The axes of the result, slowest first, with the strides of the result and of each input.

    Inputs have windows of the joined one. What follows it in the result is another input's.
    """
    dims, result = [], whole.layout
    for d in reversed(result.minor_to_major):
        layouts = [result, *[each.layout for each in inputs]]
        parts = Window(tuple([layout.shape[d] for layout in layouts]))
        strides = tuple([layout.strides[d] for layout in layouts])
        joined = d == whole.axis and result.shape[d] > 1
        dims.append(Axis(result.shape[d], strides, parts if joined else None))
    ones = (1,) * (1 + len(inputs))
    found = merged(dims, lambda slower, faster: faster.tag is None and slower.steps_over(faster))
    return found or [Axis(1, ones, Window(ones))]


def _width(axes: list[Axis], whole: _Whole, inputs: list[_Input]) -> int:
    """The widest access, in **bytes**."""
    *slower, last = axes
    counts = last.window.counts
    if any(n > 1 and step != 1 for n, step in zip(counts, last.strides, strict=True)):
        return whole.itemsize
    rows = [row for a in slower for row in zip(a.window.counts, a.strides, strict=True)]
    steps = [step for n, step in rows if n > 1]
    steps += [*counts[1:], *[each.start for each in inputs], whole.layout.offset]
    steps += [each.layout.offset for each in inputs]
    aligned = [whole.alignment, *[each.alignment for each in inputs]]
    return gcd(WIDEST, *aligned, *[step * whole.itemsize for step in steps])


def _threads_of_rows(
    axes: list[Axis], whole: _Whole, inputs: list[_Input], width: int
) -> list[int]:
    """Threads of a row of each input, if rows begin anywhere in a sector; else none.

    The inputs are runs of memory, and most of the threads have an element.
    """
    if len(axes) != 2 or width == WIDEST or axes[1].tag is None or axes[1].strides[0] != 1:
        return []
    rows, runs = axes
    sizes = runs.window.counts[1:]
    if rows.strides[1:] != sizes or set(runs.strides) != {1}:
        return []
    steps = [rows.strides[0], whole.layout.offset, *[each.start for each in inputs]]
    if not gcd(whole.alignment, *[step * whole.itemsize for step in steps]) % SECTOR:
        return []
    grain, times = SECTOR // width, width // whole.itemsize
    threads = [-(-(size // times + grain - 1) // grain) * grain for size in sizes]
    count = rows.size * max(threads)
    fits = index_type(count + THREADS * PER_THREAD, 0) == index_type(whole.layout.size, 0)
    return threads if fits and sum(threads) * times * 9 <= sum(sizes) * 10 else []


def _launch(whole: _Whole, inputs: list[_Input]) -> Launch:
    axes, result, itemsize = _axes(whole, inputs), whole.layout, whole.itemsize
    width, rank = _width(axes, whole, inputs), len(axes)
    index = index_type(result.size, furthest(axes))
    splits = whole.number > 0
    threads = [] if splits else _threads_of_rows(axes, whole, inputs, width)  # which only join
    shape = {"INDEX": index, "WIDTH": width} | ({} if threads else {"RANK": rank})
    chosen = kernel(FILE, "join_rows" if threads else "join_parts", **shape)
    made = arguments(chosen)
    shared, end, count = made.shared, 0, 1 + len(inputs)
    shared.parts, shared.rank, shared.axis, shared.splits = len(inputs), rank, -1, splits
    loop = Loop(tuple(axes), (itemsize,) * count, (0,) * count, (WIDEST,) * count)
    packs = loop.in_packs(width // itemsize, range(count)).axes
    for d, each in enumerate(packs):
        shared.stride[d] = each.strides[0]
        if each.tag is not None:
            shared.axis = d
        else:
            shared.size[d] = divisor(index, each.size)
    for k, given in enumerate(inputs, 1):
        part, sizes = made.parts[k - 1], [each.window.counts[k] for each in packs]
        part.count = prod(sizes)
        part.start = given.start * itemsize // width
        for d, each in enumerate(packs):
            part.stride[d] = each.strides[k] if sizes[d] > 1 else 0
            if each.tag is not None:
                part.size = divisor(index, sizes[d])
        if threads:
            part.count, part.size = sizes[0] * threads[k - 1], divisor(index, threads[k - 1])
            part.stride[0] = sizes[1]
        end += blocks_of_walk(part.count, rank, RANKS)
        part.end_block = end
    firsts = tuple([each.offset * itemsize for each in (result, *[i.layout for i in inputs])])
    memories = (whole.number, *[each.number for each in inputs])
    return Launch(chosen, end, bytes(made), firsts, memories)


# ---- Writes


def write_join(plan: JoinPlan) -> Write:
    """One launch for all operands, but those of another dtype or order, or tiled: one for each."""
    spec, axis = plan.result, plan.axis
    layouts, starts = list[Layout](), list[int]()
    movers: dict[int, Write] = {}
    cuts = cuts_of(plan.sources, axis)
    for k, (source, cut) in enumerate(zip(plan.sources, cuts, strict=True)):
        if source.dtype == spec.dtype and not source.layout.is_tiled:
            layouts.append(source.layout)
            starts.append(cut[axis].start)
        else:
            part = part_of(spec.layout, cut)
            shift = part.lowest * spec.dtype.itemsize if part.size else 0
            to = TensorSpec(spec.dtype, part.at_origin, spec.device)
            movers[k] = write_move(source, to, shift=shift)
    join = _writer(spec, axis, layouts, starts)
    if not movers:
        return join

    def write(out: Tensor, *operands: Tensor) -> None:
        join(out, *[x for k, x in enumerate(operands) if k not in movers])
        for k, move in movers.items():
            move(out, operands[k])

    return write


def write_split(plan: SplitPlan) -> Write:
    """One launch for all results, but those of another order."""
    starts = [cut[plan.axis].start for cut in cuts_of(plan.results, plan.axis)]
    layouts = [result.layout for result in plan.results]
    return _writer(plan.source, plan.axis, layouts, starts, splits=True)


def _writer(
    spec: TensorSpec, axis: int, layouts: list[Layout], starts: list[int], *, splits: bool = False
) -> Write:
    """What joins tensors of these layouts, or takes the one of `spec` apart."""
    others = slice(0, -1) if splits else slice(1, None)

    def planned(alignments: tuple[int, ...]) -> Launches:
        given = alignments[-1 if splits else 0], *alignments[others]
        itemsize = spec.dtype.itemsize
        return plan_join(spec.layout, layouts, starts, axis, itemsize, given, splits=splits)

    alike = others if len(layouts) > 4 else None  # alignments of few are told apart
    return writer(spec.device.number, planned, alike=alike)
