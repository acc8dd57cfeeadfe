"""Sorted lines, the first of their elements, and searches in them: which launches."""

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
    arguments,
    c_type,
    constant,
    divisor32,
    kernel,
    writer,
)
from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.dtypes import DType, int64
from tensorlayout.layout import Axis, Layout, furthest, index_type, merged
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
    carried_out,
    compiled,
    noted_copy,
)
from tensorlayout.tensor import TensorSpec

FILE = "sort/sort.cu"

# Elements that a block sorts at once; of several lines, so many that threads can be shifted.
TILE = constant(FILE, "TILE")
CAPACITY = TILE - constant(FILE, "SECTOR")

# Room for what an index may go beyond the last element.
BEYOND = 2**16

Pass = tuple[Launch, ...]  # over the elements


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines that are sorted."""

    count: int
    length: int  # elements of each
    dtype: DType
    walked: tuple[Axis, ...]  # where the result's elements are in what is read first; at least one
    index: str  # the type of indices
    positions: bool  # whether positions are sorted, else elements
    down: bool
    bits: int  # how many of an element say where it belongs, from the lowest on

    @property
    def size(self) -> int:
        """How many elements there are."""
        return self.count * self.length

    @property
    def octets(self) -> int:
        """The **bytes** of an index."""
        return 4 if self.index == "int32_t" else 8

    @property
    def types(self) -> tuple[tuple[str, str], ...]:
        """Macros of kernels."""
        return (("ELEMENT", c_type(self.dtype)),)

    def kernel(self, file: str, name: str, **shape: Any) -> Kernel:
        """A kernel for these elements and indices."""
        gives = "positions" if self.positions else "values"
        return kernel(file, name, self.types, INDEX=self.index, GIVES=gives, **shape)


def axes_of(dimensions: Iterable[tuple[int, ...]]) -> tuple[Axis, ...]:
    """Sizes and their strides, slowest first, merged; at least one axis."""
    rows = [Axis(size, tuple(strides)) for size, *strides in dimensions]
    return tuple(merged(rows)) or (Axis(1, (0,) * len(rows[0].strides) if rows else (0,)),)


def is_fastest(layout: Layout, dim: int) -> bool:
    """Return whether elements along a dimension follow each other in memory."""
    faster = layout.minor_to_major[: layout.minor_to_major.index(dim)]
    return prod(layout.shape[d] for d in faster) <= 1


# What `by_digits` compares, in bytes: a launch (some 2 us), a pass, a tile, a merge.
_LAUNCH, _PASS, _TILE, _MERGE = 4 * 10**6, 17, 105, 15


class Target(NamedTuple):
    """Numbers of memories."""

    values: int = NOTHING
    positions: int = NOTHING
    result: int = NOTHING  # of positions as int64


def plan_sort(plan: SortPlan) -> Launches:
    """How to sort lines; memories: the result, packed, `dim` its fastest dimension, the source."""
    source, dim, positions = plan.source, plan.dim, plan.gives == "positions"
    layout, read = plan.result.layout, source.layout
    if layout.size == 0:
        return Launches(())
    order = reversed(layout.minor_to_major)
    walked = axes_of((layout.shape[d], read.strides[d]) for d in order)
    index = index_type(layout.size + BEYOND, furthest(walked) + BEYOND)
    length, itemsize = layout.shape[dim], source.dtype.itemsize
    count, bits = layout.size // length, 8 * itemsize
    lines = Lines(count, length, source.dtype, walked, index, positions, plan.descending, bits)
    to = Target(result=0) if positions else Target(values=0)
    return _launches(lines, (1, read.offset * itemsize), to, 2)


def plan_pairs(
    count: int, dtype: DType, index: str, bits: int, keys: int, to: Target, first: int
) -> Launches:
    """How to sort `count` keys below ``2**bits`` in memory `keys`, and their numbers with them."""
    walked = (Axis(count, (1,)),)
    lines = Lines(1, count, dtype, walked, index, positions=True, down=False, bits=bits)
    return _launches(lines, (keys, 0), to, first)


def _launches(lines: Lines, source: tuple[int, int], to: Target, first: int) -> Launches:
    """All launches; `source`: the number of its memory, and **bytes** to its first element.

    Passes write to two memories in turn, those numbered from `first` on; the last writes to `to`,
    which is one of them unless it is of int64 positions alone.
    """
    passes, counts = _passes(lines)
    between = len(passes) - 1
    room = lines.size * lines.dtype.itemsize, lines.size * lines.octets * lines.positions
    rooms = [*room * min(between, 1 if to.result == NOTHING else 2), counts]
    free = iter(range(first, first + len(rooms)))
    *pairs, left = [next(free) if nbytes else NOTHING for nbytes in rooms]
    places = list(map(Target, pairs[::2], pairs[1::2]))
    if to.result == NOTHING:
        places.append(to)
    found: list[Launch] = []
    read, origins, at = source[0], NOTHING, source[1]
    for k, launches in enumerate(passes):
        out = to if k == between else places[(k - between - 1) % len(places)]
        numbers, firsts = (*out, read, origins, left), (0, 0, 0, at, 0, 0)
        found += [replace(each, memories=numbers, firsts=firsts) for each in launches]
        read, origins, at = out.values, out.positions, 0
    return Launches(tuple(found), scratch=tuple(filter(None, rooms)))


def _passes(lines: Lines) -> tuple[tuple[Pass, ...], int]:
    """The launches, and bytes of what those of a pass leave to others of it."""
    if lines.length > TILE and by_digits(lines):
        return plan_radix(lines)
    count, length = lines.count, lines.length
    together = min(CAPACITY // length, count) if length <= CAPACITY else 1
    of_line = -(-length // TILE)
    sort = lines.kernel(FILE, "sort_tiles", RANK=len(lines.walked))
    tiles = of_line * -(-count // together)
    members = {"walk": lines.walked, "elements": lines.size, "group": together * length}
    members |= {"tiles": divisor32(of_line), "line": divisor32(min(length, TILE))}
    passes: list[Pass] = [(Launch.of(sort, tiles, (), descending=lines.down, **members),)]
    split, merge = (lines.kernel(FILE, name) for name in ("split_runs", "merge_tiles"))
    run = TILE
    while run < length:  # sorted tiles are merged
        sizes = {
            "length": length,
            "run": run,
            "tiles": divisor32(of_line),
            "descending": lines.down,
        }
        first = Launch.of(split, -(-tiles // THREADS), (), count=tiles, **sizes)
        passes.append((first, Launch.of(merge, tiles, (), **sizes)))
        run *= 2
    return tuple(passes), tiles * lines.octets if len(passes) > 1 else 0


def by_digits(lines: Lines) -> bool:
    """Return whether passes by digits cost less than merges, for lines longer than a tile.

    In bytes: of an element of w bytes, and a position of o where these are wanted, a pass by a
    digit of 8 bits 3w + 2o, a tile or a merge 2w + 2o. What issues more instructions counts as the
    bytes that an H100 moves meanwhile, 8.5 instructions a byte. So lines of elements of 1 byte
    always go by digits; one line of 2 bytes from 9217 elements on, of 4 from 36865, of 8 from
    589825.
    """
    itemsize, beside = lines.dtype.itemsize, lines.octets * lines.positions
    each = tile_of(lines)
    filled = lines.count * -(-lines.length // each) * each
    chunks = 3 if lines.count * 2 <= BLOCKS else 2  # launches
    one = chunks * _LAUNCH + filled * max(3 * itemsize + 2 * beside, _PASS)
    digits = -(-lines.bits // DIGIT) * one
    doublings = (-(-lines.length // TILE) - 1).bit_length()
    moved = 2 * (itemsize + beside)
    merges = max(moved, _TILE) + doublings * max(moved, _MERGE)
    return digits <= (1 + 2 * doublings) * _LAUNCH + lines.size * merges


# ---- By digits

RADIX_FILE = "sort/radix.cu"
DIGIT = 8  # bits
DIGITS = 256

# Blocks that keep a GPU busy: eight on each of 128 multiprocessors.
BLOCKS = 1024

# Elements by which threads are shifted, at most: a chunk is less than its tiles by so many.
_SHIFTED = 32

# Counts that a thread of `scan_digits` adds up, if there are few enough chunks.
_ROWS = 8


def tile_of(lines: Lines) -> int:
    """Elements that a block sorts at once, as in kernels/sort/radix.cu."""
    room = max(lines.dtype.itemsize, lines.octets * lines.positions)
    return (15 if room == 8 else 19) * THREADS


def plan_radix(lines: Lines) -> tuple[tuple[Pass, ...], int]:
    """The launches of each pass, and bytes of their scratch."""
    count, length, each = lines.count, lines.length, tile_of(lines)
    tiles = -(-(length + _SHIFTED) // each)
    together = -(-tiles // max(1, BLOCKS // count))
    chunk = together * each - _SHIFTED
    chunks = -(-length // chunk)

    def pass_of(below: int) -> Pass:
        read = lines.walked if below == 0 else (Axis(lines.size, (1,)),)
        names = ("count_digits", "scatter_digits")
        first, last = (lines.kernel(RADIX_FILE, name, RANK=len(read)) for name in names)
        members = {"walk": read, "length": length, "chunk": min(chunk, length), "shift": below}
        members |= {"chunks": divisor32(chunks), "first": below == 0, "descending": lines.down}
        ends = [Launch.of(each, count * chunks, (), **members) for each in (first, last)]
        if chunks == 1:
            return tuple(ends)
        shift = min((-(-chunks // _ROWS) - 1).bit_length(), 5)
        scan = kernel(RADIX_FILE, "scan_digits", lines.types, INDEX=lines.index)
        sums = Launch.of(scan, count << shift, (), chunks=chunks, shift=shift)
        return ends[0], sums, ends[1]

    passes = tuple(pass_of(below) for below in range(0, lines.bits, DIGIT))
    return passes, DIGITS * lines.octets * (count * chunks + (count if chunks > 1 else 0))


# ---- The first elements


def plan_top_k(plan: TopKPlan) -> Launch:
    """The launch that writes as many elements of each line as the result has, at least one."""
    source, values, positions, dim = plan.source, plan.result, plan.positions, plan.dim
    layouts = source.layout, values.layout, positions.layout
    layout, length, count = source.layout, source.layout.shape[dim], values.layout.shape[dim]
    assert length <= TILE, "longer lines are merged"
    around = [d for d in reversed(layout.minor_to_major) if d != dim]
    lines = prod(layout.shape[d] for d in around)
    one = (1, 0, 0, 0)  # where there is nothing around
    others = [(layout.shape[d], *[each.strides[d] for each in layouts]) for d in around]
    walked = axes_of([one, *others])
    steps = tuple([each.strides[dim] if each.shape[dim] > 1 else 0 for each in layouts])
    together = _together(source, positions, dim, lines)
    reach = furthest((*walked, Axis(length, steps)))
    index = index_type(lines + BEYOND, reach + BEYOND)
    types = (("ELEMENT", c_type(source.dtype)),)
    chosen = kernel(FILE, "leading_tiles", types, RANK=len(walked), INDEX=index)
    made = arguments(chosen, walk=walked, lines=lines, step=steps, together=together, leading=count)
    made.line, made.descending = divisor32(length), plan.down
    made.wide = positions.dtype.itemsize == 8
    made.read = _number(layout, dim, length, together)
    made.written = _number(values.layout, dim, count, together)
    firsts = tuple(spec.layout.offset * spec.dtype.itemsize for spec in (values, positions, source))
    return Launch(chosen, -(-lines // together), bytes(made), firsts)


def _together(source: TensorSpec, positions: TensorSpec, dim: int, lines: int) -> int:
    """How many lines share a tile: as many as fill sectors, so that each tile begins with one."""
    length = source.layout.shape[dim]
    if length > CAPACITY:
        return 1
    room = min(CAPACITY // length, lines)
    sector = SECTOR // min(source.dtype.itemsize, positions.dtype.itemsize)
    ragged = room % sector if not is_fastest(source.layout, dim) and room < lines else 0
    return room - ragged if room > sector else room


def _number(layout: Layout, dim: int, length: int, together: int) -> tuple[Any, int]:
    across = together > 1 and not is_fastest(layout, dim)
    return divisor32(together if across else length), across


# ---- Searches


def plan_search(
    line: TensorSpec,
    values: TensorSpec,
    dtype: DType,
    *,
    right: bool = False,
    members: bool = False,
    invert: bool = False,
) -> Launch | None:
    """How to find, for each of `values`, its position in the sorted `line`, of rank 1; as int64.

    Memories: the result, row-major, the line, the values. Compared as `dtype`; NaN is greater than
    all else. `right`: behind equal elements. `members`: whether the value is in the line, NaN
    never, as bool; `invert`: whether not. None where there are no values.
    """
    count = values.layout.size
    if count == 0:
        return None
    walked = axes_of(zip(values.layout.shape, values.layout.strides, strict=True))
    (length,) = line.layout.shape
    step = line.layout.strides[0] if length > 1 else 0
    reach = max(furthest(walked), (length + 1) * abs(step), length)
    index, gives = index_type(count + THREADS, reach), "members" if members else "positions"
    kinds = zip(("LINE", "VALUES", "COMPARE"), (line.dtype, values.dtype, dtype), strict=True)
    types = tuple((name, c_type(kind)) for name, kind in kinds)
    chosen = kernel(
        "sort/search.cu", "search_line", types, RANK=len(walked), INDEX=index, GIVES=gives
    )
    made = arguments(chosen, walk=walked, count=count, length=length, step=step)
    made.right, made.invert = right, invert
    firsts = (0, *[each.layout.offset * each.dtype.itemsize for each in (line, values)])
    return Launch(chosen, -(-count // THREADS), bytes(made), firsts)


# Library calls that are searches, for real numbers.
SEARCHES = ("isin", "searchsorted")


def write_search(plan: LibraryPlan) -> Write:
    """One launch: where values go in a sorted line, or whether they are in others, sorted first."""
    options, number = dict(plan.options), plan.result.device.number
    if plan.operation.name == "searchsorted":
        line, values = plan.operands
        found = plan_search(line, values, plan.dtype, right=options["side"] == "right")
        return writer(number, lambda _: found, aligned=0)
    values, of = plan.operands
    line = TensorSpec(plan.dtype, Layout.row_major((of.layout.size,)), of.device)
    members = plan_search(line, values, plan.dtype, members=True, invert=options["invert"])
    search = writer(number, lambda _: members, aligned=0)
    placed = TensorSpec(plan.dtype, Layout.row_major(of.layout.shape), of.device)
    gather, sort = noted_copy("isin", of, placed), sorted_rows(line)
    return lambda out, x, given: search(out, sort(gather(given)), x)


# ---- Writes


def write_sort(plan: SortPlan) -> Write:
    """The function of the result and the tensor; equal elements stay in their order.

    Lines whose elements do not follow each other are copied, and the result copied back.
    """
    source, result, dim = plan.source, plan.result, plan.dim
    if result.layout.is_packed and is_fastest(result.layout, dim):
        found = plan_sort(plan)
        return writer(result.device.number, lambda _: found, aligned=0)
    order = (dim, *[d for d in source.layout.minor_to_major if d != dim])
    layout = Layout.packed(result.layout.shape, order)
    lines = TensorSpec(result.dtype, layout, result.device)
    steps, read = Program(2), 1
    if not is_fastest(source.layout, dim):
        gathered = TensorSpec(source.dtype, layout, source.device)
        event = Event(plan.name, source, gathered)
        read, source = steps.add(CopyPlan(source, gathered), [1], (event,)), gathered
    made = steps.add(replace(plan, source=source, result=lines, destinations=0), [read])
    back = AssignPlan(plan.name, lines, result)
    steps.add(back, [0, made], (Event(plan.name, lines, result),))
    return compiled(steps)


def sorted_rows(source: TensorSpec) -> Run:
    """The elements along the last dimension, ascending, in a row-major tensor."""
    layout = Layout.row_major(source.layout.shape)
    result = TensorSpec(source.dtype, layout, source.device)
    plan = SortPlan("sort", "values", source, result, layout.ndim - 1, False, True)
    return carried_out(plan)


def write_top_k(plan: TopKPlan) -> Write:
    """The function of the two results and the tensor; lines longer than a tile are sorted whole."""
    source, result, dim = plan.source, plan.result, plan.dim
    if source.layout.shape[dim] <= TILE:
        found = plan_top_k(plan)
        return writer(result.device.number, lambda _: found, aligned=0)
    packed = Layout.packed(source.layout.shape, source.layout.minor_to_major)
    every = TensorSpec(int64, packed, source.device)
    steps = SortPlan(plan.name, "positions", source, every, dim, plan.down, True)
    first = Index(plan.name).plan(every, tuple([(n, 1) for n in result.layout.shape]))
    read = Gather(plan.name).plan(source, (dim,), None, first.result).into(result)
    take = AssignPlan(plan.name, first.result, plan.positions)
    top_k = Program(3)
    leading = top_k.add(first, [top_k.add(steps, [2])])
    top_k.add(take, [1, leading])
    top_k.add(read, [0, 2, leading])
    return compiled(top_k)
