"""Sorting, top-k and searches in sorted lines on CUDA.

A *line* holds the elements along the sorted dimension. Lines up to TILE elements are sorted in
shared memory, several to a block. Longer lines are sorted tile by tile and merged pairwise, or
sorted by digits (radix sort), whichever is estimated to be cheaper.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import prod
from typing import Any, NamedTuple

from tensorlayout.cuda.engine import (
    NOTHING,
    SECTOR,
    THREADS,
    Launch,
    Launches,
    c_type,
    constant_value,
    divisor32_struct,
    kernel_with_macros,
    make_parameter_struct,
    make_writer,
)
from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.fill import bind_fill_value, plan_fill
from tensorlayout.dtypes import DType, int64
from tensorlayout.layout import Axis, Layout, max_offset_of_axes, merge_axes, narrowest_index_type
from tensorlayout.plan import (
    AssignPlan,
    CopyPlan,
    Event,
    Gather,
    Index,
    LibraryPlan,
    Program,
    Run,
    SortPlan,
    TopKPlan,
    Write,
    compile_plan,
    compile_program,
    compile_traced_tensor_copy,
)
from tensorlayout.tensor import TensorSpec

FILE = "sort/sort.cu"

# Elements that a block sorts at once. With several lines fewer: threads are shifted by up to a
# sector, so that their accesses begin where one begins.
TILE = constant_value(FILE, "TILE")
CAPACITY = TILE - constant_value(FILE, "SECTOR")

# Indices in a kernel may exceed the last element by up to this, before they are compared with it.
BEYOND = 2**16

LaunchPass = tuple[Launch, ...]  # the launches of one pass over all elements


@dataclass(frozen=True, slots=True)
class SortLines:
    """Lines to be sorted."""

    count: int
    length: int  # elements of each
    dtype: DType
    # Axes of the result's elements in the memory that is read first; at least one.
    source_axes: tuple[Axis, ...]
    index: str  # the type of indices
    sorts_positions: bool  # True for positions, False for elements
    descending: bool
    key_bits: int  # bits of an element, from the lowest, that determine its order

    @property
    def element_count(self) -> int:
        """Number of elements."""
        return self.count * self.length

    @property
    def index_bytes(self) -> int:
        """**Bytes** of an index."""
        return 4 if self.index == "int32_t" else 8

    @property
    def type_macros(self) -> tuple[tuple[str, str], ...]:
        """Type macros of the kernels."""
        return (("ELEMENT", c_type(self.dtype)),)

    def sort_kernel(self, file: str, name: str, **shape: Any) -> Kernel:
        """Return a kernel for this element type and index type."""
        gives = "positions" if self.sorts_positions else "values"
        return kernel_with_macros(
            file, name, self.type_macros, INDEX=self.index, GIVES=gives, **shape
        )


def merged_line_axes(dimensions: Iterable[tuple[int, ...]]) -> tuple[Axis, ...]:
    """Return merged axes from rows of (size, *strides), slowest first; at least one axis."""
    rows = [Axis(size, tuple(strides)) for size, *strides in dimensions]
    return tuple(merge_axes(rows)) or (Axis(1, (0,) * len(rows[0].strides) if rows else (0,)),)


def is_fastest_dim(layout: Layout, dim: int) -> bool:
    """Return whether elements along a dimension are consecutive in memory order."""
    faster = layout.minor_to_major[: layout.minor_to_major.index(dim)]
    return prod(layout.shape[d] for d in faster) <= 1


# Costs for `is_radix_cheaper` in bytes that an H100 moves meanwhile: of a launch (some 2 us), and
# for each element at least of a radix pass, a sorted tile, a merge.
_LAUNCH, _PASS, _TILE, _MERGE = 4 * 10**6, 17, 105, 15


class SortMemories(NamedTuple):
    """Numbers of the memories that a pass writes."""

    values: int = NOTHING
    positions: int = NOTHING
    result: int = NOTHING  # positions as int64


def plan_sort(plan: SortPlan) -> Launches:
    """Plan a sort; memories: the packed result, in which `dim` is fastest, and the source."""
    source, dim, positions = plan.source, plan.dim, plan.output == "positions"
    layout, read = plan.result.layout, source.layout
    if layout.size == 0:
        return Launches(())
    order = reversed(layout.minor_to_major)
    walked = merged_line_axes((layout.shape[d], read.strides[d]) for d in order)
    index = narrowest_index_type(layout.size + BEYOND, max_offset_of_axes(walked) + BEYOND)
    length, itemsize = layout.shape[dim], source.dtype.itemsize
    count, bits = layout.size // length, 8 * itemsize
    lines = SortLines(count, length, source.dtype, walked, index, positions, plan.descending, bits)
    destination = SortMemories(result=0) if positions else SortMemories(values=0)
    return _plan_passes(lines, (1, read.offset * itemsize), destination, 2)


def plan_sort_keys_with_positions(
    count: int,
    dtype: DType,
    index_c_type: str,
    key_bits: int,
    keys_memory: int,
    destination: SortMemories,
    first_scratch: int,
) -> Launches:
    """Plan a sort of `count` keys below ``2**key_bits``, together with their positions."""
    walked = (Axis(count, (1,)),)
    lines = SortLines(
        1,
        count,
        dtype,
        walked,
        index_c_type,
        sorts_positions=True,
        descending=False,
        key_bits=key_bits,
    )
    return _plan_passes(lines, (keys_memory, 0), destination, first_scratch)


def _plan_passes(
    lines: SortLines, source: tuple[int, int], destination: SortMemories, first_scratch: int
) -> Launches:
    """Plan all launches; `source`: the number of its memory, and **bytes** to its first element.

    Passes alternate between two memories, and the last one writes to `destination`. It is one of
    the two, unless it holds int64 positions alone. Scratch memories are numbered from
    `first_scratch` on.
    """
    passes, counts, is_cleared = _choose_passes_and_scratch_bytes(lines)
    between = len(passes) - 1
    # Bytes of the values and positions between two passes. Entries of 0 bytes get no memory.
    room = (
        lines.element_count * lines.dtype.itemsize,
        lines.element_count * lines.index_bytes * lines.sorts_positions,
    )
    rooms = [*room * min(between, 1 if destination.result == NOTHING else 2), counts]
    free = iter(range(first_scratch, first_scratch + len(rooms)))
    *pairs, counts_memory = [next(free) if nbytes else NOTHING for nbytes in rooms]
    places = list(map(SortMemories, pairs[::2], pairs[1::2]))
    if destination.result == NOTHING:
        places.append(destination)
    all_launches: list[Launch] = []
    read, origins, at = source[0], NOTHING, source[1]
    for k, launches in enumerate(passes):
        # Counted from the last pass: the one before it never writes to the destination, which the
        # last pass overwrites while it reads.
        out = destination if k == between else places[(k - between - 1) % len(places)]
        numbers, firsts = (*out, read, origins, counts_memory), (0, 0, 0, at, 0, 0)
        all_launches += [replace(launch, memories=numbers, firsts=firsts) for launch in launches]
        read, origins, at = out.values, out.positions, 0
    if is_cleared:
        words = plan_fill(Layout.row_major((counts // 4,)), 4)
        (clear,) = bind_fill_value(words, bytes(4)).launches
        all_launches.insert(0, clear.with_memories([counts_memory]))
    return Launches(tuple(all_launches), scratch=tuple(filter(None, rooms)))


def _choose_passes_and_scratch_bytes(lines: SortLines) -> tuple[tuple[LaunchPass, ...], int, bool]:
    """Return the passes, the scratch **bytes** of their launches, and whether these begin as 0."""
    if lines.length > TILE and is_radix_cheaper(lines):
        return (*plan_radix_passes(lines), True)
    count, length = lines.count, lines.length
    lines_per_tile = min(CAPACITY // length, count) if length <= CAPACITY else 1
    tiles_per_line = -(-length // TILE)
    sort = lines.sort_kernel(FILE, "sort_tiles", RANK=len(lines.source_axes))
    tiles = tiles_per_line * -(-count // lines_per_tile)
    members = {
        "walk": lines.source_axes,
        "elements": lines.element_count,
        "group": lines_per_tile * length,
    }
    members |= {
        "tiles": divisor32_struct(tiles_per_line),
        "line": divisor32_struct(min(length, TILE)),
    }
    passes: list[LaunchPass] = [
        (Launch.from_members(sort, tiles, (), descending=lines.descending, **members),)
    ]
    split, merge = (lines.sort_kernel(FILE, name) for name in ("split_runs", "merge_tiles"))
    # Each round merges pairs of runs, so that 8 sorted tiles take 3 rounds of two launches.
    run = TILE
    while run < length:  # sorted tiles are merged
        sizes = {
            "length": length,
            "run": run,
            "tiles": divisor32_struct(tiles_per_line),
            "descending": lines.descending,
        }
        first = Launch.from_members(split, -(-tiles // THREADS), (), count=tiles, **sizes)
        passes.append((first, Launch.from_members(merge, tiles, (), **sizes)))
        run *= 2
    return tuple(passes), tiles * lines.index_bytes if len(passes) > 1 else 0, False


def is_radix_cheaper(lines: SortLines) -> bool:
    """Return whether a radix sort costs less than merges, for lines longer than a tile.

    Costs are bytes moved. With elements of w bytes and positions of p (0 if not wanted), a pass by
    a digit of 8 bits moves 2w + 2p for each element, as a sorted tile and a merge do; counting
    digits moves w. If issuing instructions takes longer, the cost is the bytes that an H100 moves
    meanwhile (8.5 instructions a byte). So 1-byte elements always use radix sort; a single line of
    2-byte elements from 4609 on, of 4 bytes from 9217, of 8 bytes from 36865.
    """
    itemsize, position_bytes = lines.dtype.itemsize, lines.index_bytes * lines.sorts_positions
    tile_size = radix_tile_size(lines)
    filled = lines.count * -(-lines.length // tile_size) * tile_size
    moved = 2 * (itemsize + position_bytes)
    digits = -(-lines.key_bits // DIGIT)
    radix_cost = (2 + digits) * _LAUNCH + filled * (itemsize + digits * max(moved, _PASS))
    doublings = (-(-lines.length // TILE) - 1).bit_length()
    merge_cost = max(moved, _TILE) + doublings * max(moved, _MERGE)
    return radix_cost <= (1 + 2 * doublings) * _LAUNCH + lines.element_count * merge_cost


# ---- Radix sort

RADIX_FILE = "sort/radix.cu"
DIGIT = 8  # bits
# Values of a digit of 8 bits, as in kernels/sort/radix.cu.
DIGITS = 256

# Blocks that keep a GPU busy: eight on each of 128 multiprocessors.
BLOCKS = 1024

# Threads are shifted by up to this many elements to where sectors begin, so a chunk is that much
# shorter than its tiles.
_SHIFTED = 32


def radix_tile_size(lines: SortLines) -> int:
    """Return the elements that a block sorts at once, as in kernels/sort/radix.cu."""
    room = max(lines.dtype.itemsize, lines.index_bytes * lines.sorts_positions)
    return (15 if room == 8 else 19) * THREADS


def plan_radix_passes(lines: SortLines) -> tuple[tuple[LaunchPass, ...], int]:
    """Return the launches of each pass, and the **bytes** of their scratch memory."""
    count, length, tile_size = lines.count, lines.length, radix_tile_size(lines)
    if length >= 2**30:  # two bits of a published count say what it is
        lines = replace(lines, index="int64_t")
    tiles = -(-(length + _SHIFTED) // tile_size)
    tile = tile_size - _SHIFTED
    tiles_per_line = -(-length // tile)
    pass_count = -(-lines.key_bits // DIGIT)

    def launch(name: str, pass_number: int, chunk: int) -> Launch:
        read = lines.source_axes if pass_number == 0 else (Axis(lines.element_count, (1,)),)
        chunks = -(-length // chunk)
        kernel = lines.sort_kernel(RADIX_FILE, name, RANK=len(read))
        return Launch.from_members(
            kernel,
            count * chunks,
            (),
            walk=read,
            length=length,
            chunk=min(chunk, length),
            chunks=divisor32_struct(chunks),
            lines=count,
            passes=pass_count,
            descending=lines.descending,
            number=pass_number,
        )

    # A block counts several tiles, if that leaves enough blocks.
    together = -(-tiles // max(1, BLOCKS // count))
    count_launch = launch("count_digits", 0, together * tile_size - _SHIFTED)
    # The lowest digit first: passes are stable, so each keeps the order by the digits below.
    passes: list[LaunchPass] = [
        (launch("scatter_digits", number, tile),) for number in range(pass_count)
    ]
    passes[0] = (count_launch, *passes[0])
    # The next tile of each pass; the counts of lines; what tiles have published.
    rows = 1 + pass_count * (count + (count * tiles_per_line if tiles_per_line > 1 else 0))
    return tuple(passes), rows * DIGITS * lines.index_bytes


# ---- The first elements


def plan_top_k_of_short_lines(plan: TopKPlan) -> Launch:
    """Plan a launch that writes the leading elements of each sorted line, and their positions."""
    source, values, positions, dim = plan.source, plan.result, plan.positions, plan.dim
    layouts = source.layout, values.layout, positions.layout
    layout, length, count = source.layout, source.layout.shape[dim], values.layout.shape[dim]
    assert length <= TILE, "longer lines are merged"
    around = [d for d in reversed(layout.minor_to_major) if d != dim]
    lines = prod(layout.shape[d] for d in around)
    unit_axis = (1, 0, 0, 0)  # where there is nothing around
    others = [
        (layout.shape[d], *[operand_layout.strides[d] for operand_layout in layouts])
        for d in around
    ]
    walked = merged_line_axes([unit_axis, *others])
    steps = tuple(
        [
            operand_layout.strides[dim] if operand_layout.shape[dim] > 1 else 0
            for operand_layout in layouts
        ]
    )
    lines_per_tile = _lines_per_tile(source, positions, dim, lines)
    reach = max_offset_of_axes((*walked, Axis(length, steps)))
    index = narrowest_index_type(lines + BEYOND, reach + BEYOND)
    types = (("ELEMENT", c_type(source.dtype)),)
    chosen = kernel_with_macros(FILE, "leading_tiles", types, RANK=len(walked), INDEX=index)
    params = make_parameter_struct(
        chosen, walk=walked, lines=lines, step=steps, together=lines_per_tile, leading=count
    )
    params.line, params.descending = divisor32_struct(length), plan.descending
    params.wide = positions.dtype.itemsize == 8
    params.read = _tile_divisor_and_direction(layout, dim, length, lines_per_tile)
    params.written = _tile_divisor_and_direction(values.layout, dim, count, lines_per_tile)
    firsts = tuple(spec.layout.offset * spec.dtype.itemsize for spec in (values, positions, source))
    return Launch(chosen, -(-lines // lines_per_tile), bytes(params), firsts)


def _lines_per_tile(source: TensorSpec, positions: TensorSpec, dim: int, lines: int) -> int:
    """Return the number of lines that share a tile, chosen so that tiles begin at sectors."""
    length = source.layout.shape[dim]
    if length > CAPACITY:
        return 1
    max_lines = min(CAPACITY // length, lines)
    sector = SECTOR // min(source.dtype.itemsize, positions.dtype.itemsize)
    ragged = (
        max_lines % sector if not is_fastest_dim(source.layout, dim) and max_lines < lines else 0
    )
    return max_lines - ragged if max_lines > sector else max_lines


def _tile_divisor_and_direction(
    layout: Layout, dim: int, length: int, lines_per_tile: int
) -> tuple[Any, int]:
    across = lines_per_tile > 1 and not is_fastest_dim(layout, dim)
    return divisor32_struct(lines_per_tile if across else length), across


# ---- Searches


def plan_sorted_search(
    sorted_line: TensorSpec,
    values: TensorSpec,
    dtype: DType,
    *,
    right: bool = False,
    tests_membership: bool = False,
    invert: bool = False,
) -> Launch | None:
    """Plan a search for each of `values` in `sorted_line`, of rank 1; None without values.

    The row-major result has int64 positions, or with `tests_membership` bools. Memories: the
    result, the line, the values.

    - `dtype`: dtype for comparisons; NaN is greater than all other values.
    - `right`: return positions after equal elements instead of before.
    - `tests_membership`: return whether the line contains the value; it never contains NaN.
    - `invert`: negate the test.
    """
    count = values.layout.size
    if count == 0:
        return None
    walked = merged_line_axes(zip(values.layout.shape, values.layout.strides, strict=True))
    (length,) = sorted_line.layout.shape
    step = sorted_line.layout.strides[0] if length > 1 else 0
    reach = max(max_offset_of_axes(walked), (length + 1) * abs(step), length)
    index = narrowest_index_type(count + THREADS, reach)
    gives = "members" if tests_membership else "positions"
    kinds = zip(
        ("LINE", "VALUES", "COMPARE"), (sorted_line.dtype, values.dtype, dtype), strict=True
    )
    types = tuple((name, c_type(kind)) for name, kind in kinds)
    chosen = kernel_with_macros(
        "sort/search.cu", "search_line", types, RANK=len(walked), INDEX=index, GIVES=gives
    )
    params = make_parameter_struct(chosen, walk=walked, count=count, length=length, step=step)
    params.right, params.invert = right, invert
    firsts = (0, *[spec.layout.offset * spec.dtype.itemsize for spec in (sorted_line, values)])
    return Launch(chosen, -(-count // THREADS), bytes(params), firsts)


# Library calls on real numbers that are searches.
SEARCH_OPERATIONS = ("isin", "searchsorted")


def compile_searchsorted_or_isin(plan: LibraryPlan) -> Write:
    """Compile `searchsorted` or `isin`, whose second operand is sorted first."""
    options, number = dict(plan.options), plan.result.device.number
    if plan.operation.name == "searchsorted":
        line, values = plan.operands
        launch = plan_sorted_search(line, values, plan.dtype, right=options["side"] == "right")
        return make_writer(number, lambda _: launch, aligned_count=0)
    values, others = plan.operands
    line = TensorSpec(plan.dtype, Layout.row_major((others.layout.size,)), others.device)
    members = plan_sorted_search(
        line, values, plan.dtype, tests_membership=True, invert=options["invert"]
    )
    search = make_writer(number, lambda _: members, aligned_count=0)
    placed = TensorSpec(plan.dtype, Layout.row_major(others.layout.shape), others.device)
    gather, sort = compile_traced_tensor_copy("isin", others, placed), compile_last_dim_sort(line)
    return lambda out, x, elements: search(out, sort(gather(elements)), x)


# ---- Writes


def compile_sort(plan: SortPlan) -> Write:
    """Compile a stable sort.

    Lines whose elements are not consecutive are copied first, and the result is copied back.
    """
    source, result, dim = plan.source, plan.result, plan.dim
    if result.layout.is_packed and is_fastest_dim(result.layout, dim):
        launches = plan_sort(plan)
        return make_writer(result.device.number, lambda _: launches, aligned_count=0)
    order = (dim, *[d for d in source.layout.minor_to_major if d != dim])
    layout = Layout.packed(result.layout.shape, order)
    lines = TensorSpec(result.dtype, layout, result.device)
    steps, read = Program(2), 1
    if not is_fastest_dim(source.layout, dim):
        gathered = TensorSpec(source.dtype, layout, source.device)
        event = Event(plan.name, source, gathered)
        read, source = steps.append_step(CopyPlan(source, gathered), [1], (event,)), gathered
    sorted_value = steps.append_step(
        replace(plan, source=source, result=lines, destinations=0), [read]
    )
    back = AssignPlan(plan.name, lines, result)
    steps.append_step(back, [0, sorted_value], (Event(plan.name, lines, result),))
    return compile_program(steps)


def compile_last_dim_sort(source: TensorSpec) -> Run:
    """Compile an ascending sort along the last dimension into a row-major tensor."""
    layout = Layout.row_major(source.layout.shape)
    result = TensorSpec(source.dtype, layout, source.device)
    plan = SortPlan("sort", "values", source, result, layout.ndim - 1, False, True)
    return compile_plan(plan)


def compile_top_k(plan: TopKPlan) -> Write:
    """Compile top-k with two results; lines longer than a tile are sorted whole."""
    source, result, dim = plan.source, plan.result, plan.dim
    if source.layout.shape[dim] <= TILE:
        launch = plan_top_k_of_short_lines(plan)
        return make_writer(result.device.number, lambda _: launch, aligned_count=0)
    packed = Layout.packed(source.layout.shape, source.layout.minor_to_major)
    every = TensorSpec(int64, packed, source.device)
    steps = SortPlan(plan.name, "positions", source, every, dim, plan.descending, True)
    first = Index(plan.name).plan(every, tuple([(n, 1) for n in result.layout.shape]))
    read = Gather(plan.name).plan(source, (dim,), None, first.result).with_destination(result)
    take = AssignPlan(plan.name, first.result, plan.positions)
    top_k = Program(3)
    leading = top_k.append_step(first, [top_k.append_step(steps, [2])])
    top_k.append_step(take, [1, leading])
    top_k.append_step(read, [0, 2, leading])
    return compile_program(top_k)
