"""Reads at integer positions, and loops over elements located by positions (``reach.cuh``).

Example: ``x[i, :, j]`` with index arrays `i` and `j`. Each array of positions is a `PositionTensor`
with the strides that one position adds in each memory (here those of dimensions 0 and 2 of x). A
kernel adds ``position * step`` for all of them to the offset that the `Loop` gives.

A position out of bounds reads 0; `faults` raises the IndexError later.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from math import gcd, prod
from operator import add
from typing import Any

from tensorlayout.cuda.engine import (
    FAULTS,
    NOTHING,
    PER_THREAD,
    WIDEST,
    Launch,
    Launches,
    blocks_for_elements,
    constant_value,
    divisor_struct,
    kernel_with_macros,
    make_parameter_struct,
    make_writer,
)
from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.engine.faults import MAX_POSITIONS, new_launch_number
from tensorlayout.layout import (
    Axis,
    Layout,
    Loop,
    max_offset_of_axes,
    merge_axes,
    narrowest_index_type,
)
from tensorlayout.plan import GatherPlan, IndexMap, ScatterPlan, Write
from tensorlayout.plan.gather import Shape
from tensorlayout.tensor import TensorSpec

# Numbers of the memories of a call; tensors of positions follow from POSITIONS on.
RESULT, READ, POSITIONS = range(3)


def compile_gather(plan: GatherPlan) -> Write:
    """Compile ``write(out, x, *positions)``."""
    return make_writer(
        plan.result.device.number, partial(plan_gather, plan), aligned_count=POSITIONS
    )


def plan_gather(plan: GatherPlan, alignments: tuple[int, ...]) -> Launches:
    """Plan the launches; `alignments`: of the result and the source.

    One launch, unless there are more than four tensors of positions. Positions are checked even if
    the result is empty.
    """
    layout, shape = plan.source.layout, plan.result.layout.shape
    steps = [(0, layout.strides[d]) for d in plan.index_map.dims]
    combined_positions = combine_position_tensors(plan, layout, shape, steps, POSITIONS)
    if not combined_positions.remaining:
        return combined_positions.launches
    assert not (plan.clamps and combined_positions.launches.launches), (
        "DirectML clamps one tensor, never empty"
    )
    return combined_positions.launches_followed_by(
        plan_gather_launch(
            plan, combined_positions.remaining, alignments, combined_positions.memory_shifts[READ]
        )
    )


def plan_gather_launch(
    plan: GatherPlan,
    positions: Sequence[PositionTensor],
    alignments: tuple[int, ...],
    shift: int = 0,
) -> Launch:
    """Plan a launch for at most four `positions`; the source begins `shift` elements further."""
    source, layout, itemsize = plan.source.layout, plan.result.layout, plan.result.dtype.itemsize
    firsts = (layout.offset * itemsize, (source.offset + shift) * itemsize)
    index_map = replace(plan.index_map, order=layout.minor_to_major)
    strides = [layout.strides, kept_strides(index_map.kept, source, layout.ndim)]
    full_loop = make_index_loop(index_map, layout.shape, strides, positions, itemsize, firsts)
    index_loop = widen_index_loop(full_loop, alignments)
    rank, width = len(index_loop.loop.axes), index_loop.loop.width
    chosen = kernel_with_macros(
        "gather.cu", "gather_elements", RANK=rank, INDEX=index_loop.index_c_type, WIDTH=width
    )
    memories = list(enumerate(index_loop.loop.firsts[:2]))
    return make_index_launch(chosen, index_loop, memories, plan.name, clamps=plan.clamps)


# ---- Loops

# Tag of axes over dimensions of positions. Axes of different tags do not merge: a kernel has to
# look at the positions anew at each step along these.
OF_POSITIONS = "positions"


@dataclass(frozen=True, slots=True)
class PositionTensor:
    """A tensor of positions along one dimension of an indexed tensor."""

    memory_number: int
    integer_kind: int  # code of its dtype in kernels/include/reach.cuh
    first_byte: int  # **bytes** from its lowest slot to its first element
    extent: int  # size of the dimension that it indexes
    steps: tuple[int, ...]  # elements that one position adds to the offset in each memory
    layout: Layout  # broadcast to the shape of all positions


@dataclass(frozen=True, slots=True)
class IndexLoop:
    """A loop over memories and the tensors of positions that displace its elements."""

    loop: Loop
    positions: tuple[PositionTensor, ...] = ()

    @property
    def inner_count(self) -> int:
        """Number of elements along the axes faster than those of the positions."""
        behind = takewhile(lambda axis: axis.tag != OF_POSITIONS, reversed(self.loop.axes))
        return prod([axis.size for axis in behind])

    @property
    def max_offset(self) -> int:
        """Largest offset in any memory or tensor of positions, in its own units."""
        tables = (0,) * len(self.positions)
        # A position reaches as far as an axis of its extent would; with negative steps, too.
        moves = [Axis(max(p.extent, 1), (*p.steps, *tables)) for p in self.positions]
        return max(
            [max_offset_of_axes((*self.loop.axes, *moves)), *[p.extent for p in self.positions]]
        )

    @property
    def index_c_type(self) -> str:
        """Narrowest C++ index type that holds all offsets."""
        return narrowest_index_type(self.loop.element_count, self.max_offset)


def make_position_tensor(
    memory_number: int,
    spec: TensorSpec,
    positions_shape: Shape,
    extent: int,
    steps: tuple[int, ...],
) -> PositionTensor:
    """Describe a tensor of positions of a call, broadcast to the shape of all positions."""
    layout = spec.layout.broadcast_to(positions_shape)
    kind = constant_value("include/reach.cuh", spec.dtype.name.upper())
    return PositionTensor(
        memory_number, kind, layout.offset * spec.dtype.itemsize, extent, steps, layout
    )


def positions_from_earlier_launch(
    memory_number: int, extent: int, steps: tuple[int, ...], layout: Layout
) -> PositionTensor:
    """Describe positions written by an earlier launch: int64 from 0 on, -1 if out of bounds."""
    return PositionTensor(
        memory_number, constant_value("include/reach.cuh", "PLACED"), 0, extent, steps, layout
    )


def kept_strides(kept_dims: tuple[tuple[int, int], ...], layout: Layout, rank: int) -> list[int]:
    """Return a tensor's strides along the result's dimensions; 0 along those of positions."""
    strides = {at: layout.strides[d] for d, at in kept_dims}
    return [strides.get(at, 0) for at in range(rank)]


def common_step_origin_and_count(
    extents: Sequence[int], steps: Sequence[int]
) -> tuple[int, tuple[int, ...], int, int]:
    """Return the steps' common factor, the reduced steps, a shift, and the number of offsets.

    Offsets count reduced steps; adding the shift makes them begin at 0.
    """
    # Example: extents (3, 4) and steps (-8, 2) have the unit 2 and reduced steps (-4, 1). These
    # reach from -8 to 3: a shift of 8, and 12 offsets.
    unit = gcd(*steps) or 1
    scaled_steps = tuple([step // unit for step in steps])
    reached = [max(n - 1, 0) * step for n, step in zip(extents, scaled_steps, strict=True)]
    first = -sum(min(r, 0) for r in reached)
    return unit, scaled_steps, first, first + sum(max(r, 0) for r in reached) + 1


def make_index_loop(
    index_map: IndexMap,
    shape: Shape,
    strides: Sequence[Sequence[int]],
    positions: Sequence[PositionTensor] = (),
    width: int = 1,
    firsts: tuple[int, ...] = (),
) -> IndexLoop:
    """Return the loop over a result in its order; `strides`: of each memory, 0 along positions.

    `firsts`: **bytes** to the first element, for each of the first memories, whose strides count
    elements of `width` bytes. The other memories are tables, which keep their width.
    """

    def make_loop_axis(d: int) -> Axis:
        across: Sequence[int] = [0] * len(positions)
        if index_map.per_line or d in index_map.index_dims:
            # With `per_line` (take_along_axis), positions have all dimensions of the result;
            # otherwise theirs are neighbours among the dimensions of the result.
            positions_dim = d if index_map.per_line else d - index_map.index_dims[0]
            across = [p.layout.strides[positions_dim] for p in positions]
        steps = (*[s[d] for s in strides], *across)
        return Axis(shape[d], steps, OF_POSITIONS if d in index_map.index_dims else None)

    axes = [make_loop_axis(d) for d in reversed(index_map.order)]
    return loop_over_axes(axes, len(strides), positions, width, firsts)


def make_positions_loop(
    shape: Shape, strides: Sequence[Sequence[int]], positions: Sequence[PositionTensor]
) -> IndexLoop:
    """Return the loop over positions alone, in index order."""
    every = zip(*strides, *[p.layout.strides for p in positions], strict=True)
    axes = [Axis(n, steps, OF_POSITIONS) for n, steps in zip(shape, every, strict=True)]
    return loop_over_axes(axes, len(strides), positions)


def loop_over_axes(
    axes: Iterable[Axis],
    memory_count: int,
    positions: Sequence[PositionTensor] = (),
    width: int = 1,
    firsts: tuple[int, ...] = (),
) -> IndexLoop:
    """Merge axes, given slowest first, and return the index loop over them."""
    count = memory_count + len(positions)
    tables = count - len(firsts)
    merged_axes = merge_axes(axes) or [Axis(1, (0,) * count, OF_POSITIONS)]
    widths = (width,) * len(firsts) + (1,) * tables
    rest = (0,) * tables
    loop = Loop(tuple(merged_axes), widths, (*firsts, *rest), (WIDEST,) * count, tables)
    return IndexLoop(loop, tuple(positions))


def widen_index_loop(index_loop: IndexLoop, alignments: Sequence[int]) -> IndexLoop:
    """Return the loop over the widest elements that alignments permit."""
    loop, positions = index_loop.loop, index_loop.positions
    # A position displaces elements by a multiple of its step, so the step limits their alignment.
    aligned = [
        gcd(alignment, *[p.steps[m] * loop.width for p in positions])
        for m, alignment in enumerate(alignments)
    ]
    tables = loop.alignments[len(aligned) :]
    widened = replace(loop, alignments=(*aligned, *tables)).with_widest_elements(WIDEST)
    moved = []
    for position in positions:
        steps = [step * loop.width // widened.width for step in position.steps[: len(aligned)]]
        moved.append(replace(position, steps=(*steps, *position.steps[len(aligned) :])))
    return IndexLoop(widened, tuple(moved))


def make_index_launch(
    chosen: Kernel,
    index_loop: IndexLoop,
    memories: Sequence[tuple[int, int]],
    operation_name: str = "",
    *,
    grid: int | None = None,
    clamps: bool = False,
    fills: bool = False,
    **members: Any,
) -> Launch:
    """Return the launch of a kernel whose parameter struct has the loop as its member `reach`.

    - `memories`: for each pointer the number of its memory and the **bytes** to its first element.
    - `operation_name`: name in the IndexError for positions out of bounds.
    - `clamps`: positions out of bounds mean the nearest valid one instead.
    - `fills`: the call passes one value, stored in the member `bits`; otherwise no scalars.
    - `members`: other members of the struct.
    """
    loop, positions, shape = index_loop.loop, index_loop.positions, dict(chosen.shape)
    params, rank = make_parameter_struct(chosen, **members), len(loop.axes)
    reach, index = params.reach, shape["INDEX"]
    reach.owner = new_launch_number(operation_name) if positions else 0
    reach.count, reach.rank, reach.clamps = loop.element_count, rank, clamps
    for d, axis in enumerate(loop.axes):
        reach.size[d] = divisor_struct(index, axis.size)
    for into, strides in zip([*reach.stride, *reach.across], loop.strides, strict=False):
        into[:rank] = strides
    reach.positions = len(positions)
    for k, position in enumerate(positions):
        reach.extent[k], reach.kind[k] = position.extent, position.integer_kind
        reach.step[k][:] = position.steps
    # The pointers of every such struct: memories, a fixed number of tensors of positions, and the
    # record of faults.
    pointers = [*memories, *[(p.memory_number, p.first_byte) for p in positions]]
    pointers += [(NOTHING, 0)] * (MAX_POSITIONS - len(positions))
    pointers.append((FAULTS if positions else NOTHING, 0))
    numbers, firsts = zip(*pointers, strict=True)
    if grid is None:
        # In kernels of any rank (0), threads have one element: the indices of several would not fit
        # into registers.
        grid = blocks_for_elements(
            loop.element_count * (1 if shape.get("RANK", "0") != "0" else PER_THREAD)
        )
    scalar_offset, takes = (type(params).bits.offset, None) if fills else (None, 0)
    return Launch(chosen, grid, bytes(params), firsts, numbers, scalar_offset, (0, takes))


# ---- Fewer tensors of positions


@dataclass(frozen=True, slots=True)
class CombinedPositions:
    """Tensors of positions reduced to the number that one launch takes."""

    launches: Launches  # combine several tensors of positions into one, or only check them
    remaining: tuple[PositionTensor, ...]  # for one launch; empty if no element is moved
    memory_shifts: tuple[int, ...]  # to add to the offset in each memory, in its units

    def launches_followed_by(self, *launches: Launch, scratch: tuple[int, ...] = ()) -> Launches:
        """Return all launches: those that combine positions first, then `launches`."""
        earlier = self.launches
        return Launches((*earlier.launches, *launches), scratch=(*earlier.scratch, *scratch))


def combine_position_tensors(
    plan: GatherPlan | ScatterPlan,
    indexed_layout: Layout,
    shape: Shape,
    steps: Sequence[tuple[int, ...]],
    first_memory_number: int,
) -> CombinedPositions:
    """Reduce the positions that index a layout to at most four tensors, for elements of `shape`.

    `steps`: for each tensor of positions, the elements that one position adds in each memory.
    Positions are the memories of the call from `first_memory_number` on; scratch memories for
    combined positions are numbered after them.
    """
    specs, spread = plan.positions, plan.index_map.positions_shape(shape)
    rows = zip(specs, plan.index_map.dims, steps, strict=True)
    # Broadcast together they have no element, but NumPy still checks each array by itself.
    are_separate = 0 in spread
    all_positions = tuple(
        make_position_tensor(
            first_memory_number + k,
            spec,
            spec.layout.shape if are_separate else spread,
            indexed_layout.shape[d],
            own,
        )
        for k, (spec, d, own) in enumerate(rows)
        if spec.layout.size or not are_separate
    )
    most = 1 if are_separate else MAX_POSITIONS
    result = CombinedPositions(Launches(()), all_positions, (0,) * len(steps[0]))
    while len(result.remaining) > most or (result.remaining and 0 in shape):
        # With more tensors than a launch takes, the first four become one, at the end of the list.
        # If the result is empty, each group is launched only to be checked.
        group, rest = result.remaining[:most], result.remaining[most:]
        number = first_memory_number + len(specs) + len(result.launches.launches)
        launch, merged_positions, shift = _merge_positions(plan.name, group, number)
        shifts = tuple(map(add, result.memory_shifts, shift))
        extended = result.launches_followed_by(launch, scratch=(8 * merged_positions.layout.size,))
        result = CombinedPositions(
            extended, rest if 0 in shape else (*rest, merged_positions), shifts
        )
    return result


def _merge_positions(
    operation_name: str, position_group: Sequence[PositionTensor], merged_memory_number: int
) -> tuple[Launch, PositionTensor, list[int]]:
    """Plan a launch that combines positions into offsets, in memory `merged_memory_number`."""
    # One memory's steps suffice: those of the others are proportional to them, or 0.
    memories, spread = range(len(position_group[0].steps)), position_group[0].layout.shape
    main = next((m for m in memories if any(p.steps[m] for p in position_group)), 0)
    steps = [p.steps[main] for p in position_group]
    unit, own, base, count = common_step_origin_and_count([p.extent for p in position_group], steps)
    packed = Layout.row_major(spread)
    scaled_positions = [
        replace(p, steps=(0, step)) for p, step in zip(position_group, own, strict=True)
    ]
    loop = make_positions_loop(spread, [packed.strides, [0] * len(spread)], scaled_positions)
    chosen = kernel_with_macros(
        "gather.cu", "place_positions", RANK=len(loop.loop.axes), INDEX=loop.index_c_type
    )
    p = next((p for p in position_group if p.steps[main]), None)
    # A merged position counts units of the main memory; in memory m a unit has `ratio` elements.
    ratios = [p.steps[m] * unit // p.steps[main] if p else 0 for m in memories]
    launch = make_index_launch(chosen, loop, [(merged_memory_number, 0)], operation_name, base=base)
    merged_positions = positions_from_earlier_launch(
        merged_memory_number, count, tuple(ratios), packed
    )
    return launch, merged_positions, [-base * ratio for ratio in ratios]
