"""Tensors side by side: which launches, decided once. Integers only, no device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from math import gcd, prod
from typing import Any, NamedTuple

from tensorlayout.cuda.copy_plan import plan_copy
from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.engine.kernel_shapes import kernel, parameters
from tensorlayout.cuda.engine.launch import PER_THREAD, THREADS, blocks_for
from tensorlayout.cuda.engine.padding import padding_regions, padding_struct
from tensorlayout.cuda.engine.parameters import divisor, index_type
from tensorlayout.cuda.engine.sectors import SECTOR, WIDEST
from tensorlayout.cuda.engine.structs import constant
from tensorlayout.cuda.fill_plan import FillPlan, plan_padding
from tensorlayout.layout import Layout

FILE = "join.cu"

# Those of join.cu whose loops have a known length.
RANKS = (1, 2, 3)


@dataclass(frozen=True, slots=True)
class JoinLaunch:
    """A launch over some of the inputs.

    Attributes:
        kernel: what to compile.
        grid: how many blocks.
        parameters: the struct; it begins with zeros for the pointers to the result and the inputs.
        first: **bytes** from the lowest slot of the result to what its pointer points to.
        inputs: for each input its number, and the bytes from its lowest slot to its first element.

    """

    kernel: Kernel
    grid: int
    parameters: bytes
    first: int
    inputs: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class JoinLaunches:
    """A join that is ready to run.

    Attributes:
        launches: in any order.
        copied: the numbers of inputs that are copied into their parts, each by a launch.
        padding: what writes the padding, where the launches do not.

    """

    launches: tuple[JoinLaunch, ...]
    copied: tuple[int, ...]
    padding: FillPlan | None = None


class _Axis(NamedTuple):
    """A dimension: its stride in the result; for each input its size and its stride."""

    to: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    joined: bool


class _Input(NamedTuple):
    """An input: its number, its layout, where its part of the result starts, its alignment."""

    number: int
    layout: Layout
    start: int
    alignment: int


def part_of(result: Layout, axis: int, start: int, size: int) -> Layout:
    """The part of a result from `start` on along `axis`."""
    found = result.slice((*[slice(None)] * axis, slice(start, start + size)))
    assert found is not None, "results are strided, and have every slice"
    return found


def plan_join(
    result: Layout,
    sources: Sequence[Layout | None],
    starts: Sequence[int],
    axis: int,
    itemsize: int,
    alignments: Sequence[int],
    padding: bytes | None = None,
    *,
    splits: bool = False,
) -> JoinLaunches:
    """How to copy all inputs into their parts of the result, and write its padding.

    Or, where it `splits`, the parts of the result into the inputs; then there is no padding.
    `sources`: None for an input that is none of this plan; `starts`: where their parts start.

    One launch for all inputs that are walked well enough in the result's order and aligned alike,
    up to the number that the parameters of a launch hold. Inputs that a copy takes through tiles
    are left to it. `alignments` of the result and of each source, no less than an element. Layouts
    have their lowest slots at 0, and are not tiled.
    """
    given = enumerate(zip(sources, starts, alignments[1:], strict=False))
    inputs = [_Input(k, s, at, a) for k, (s, at, a) in given if s is not None and s.size]
    used = [alignments[0], *[each.alignment for each in inputs]]
    assert min(used) >= itemsize, "memory is aligned to its elements"
    copied = [each for each in inputs if _is_transposed(result, axis, itemsize, alignments, each)]
    kept = [each for each in inputs if each not in copied]
    regions, apart = None, None
    if padding is not None:
        regions = padding_regions(result)
        if not (regions.fit_a_launch and kept):
            regions, apart = None, plan_padding(result, itemsize, alignments[0], padding)
    launches = []
    for group in _groups(result, kept, axis, itemsize, alignments[0]):
        inside = (regions, padding or b"")
        launches.append(
            _launch(result, group, axis, itemsize, alignments[0], inside, splits=splits)
        )
        regions = None  # once is enough
    return JoinLaunches(tuple(launches), tuple(each.number for each in copied), apart)


def _is_transposed(
    result: Layout, axis: int, itemsize: int, alignments: Sequence[int], given: _Input
) -> bool:
    if _runs(result, given):
        return False
    part = part_of(result, axis, given.start, given.layout.shape[axis])
    shift = part.lowest * itemsize
    to = gcd(alignments[0], shift) if shift else alignments[0]
    plan = plan_copy(part.at_origin, given.layout, itemsize, (to, given.alignment))
    return plan.case == "tiles"


def _runs(result: Layout, given: _Input) -> bool:
    """Whether the fastest dimension of the result is contiguous in an input, too."""
    sizes = given.layout.shape
    fastest = next((d for d in result.minor_to_major if sizes[d] > 1), None)
    return fastest is None or given.layout.strides[fastest] == result.strides[fastest]


def _groups(
    result: Layout, inputs: list[_Input], axis: int, itemsize: int, alignment: int
) -> list[list[_Input]]:
    """Inputs that a launch takes together: of one width of access, and not too many."""

    def width(given: _Input) -> int:
        axes = _axes(result, [given], axis)
        return _width(axes, [given], result, axis, itemsize, alignment)

    groups = []
    for _, those in groupby(sorted(inputs, key=width, reverse=True), key=width):
        members = list(those)
        axes = _axes(result, members, axis)
        index = _index(axes, result, members)
        most = most_inputs(len(axes), index)
        groups += [members[k : k + most] for k in range(0, len(members), most)]
    return groups


def _axes(result: Layout, inputs: list[_Input], axis: int) -> list[_Axis]:
    """Dimensions, slowest first, without those of size 1; neighbours that go on are one."""
    found: list[_Axis] = []
    for d in reversed(result.minor_to_major):
        sizes = tuple(each.layout.shape[d] for each in inputs)
        if result.shape[d] == 1:
            continue
        strides = tuple(each.layout.strides[d] for each in inputs)
        faster = _Axis(result.strides[d], sizes, strides, d == axis)
        if found and _continues(found[-1], faster):
            slower = found[-1]
            both = tuple(a * b for a, b in zip(slower.sizes, sizes, strict=True))
            found[-1] = faster._replace(sizes=both, joined=slower.joined)
        else:
            found.append(faster)
    ones = (1,) * len(inputs)
    return found or [_Axis(1, ones, ones, joined=True)]


def _continues(slower: _Axis, faster: _Axis) -> bool:
    if faster.joined:  # what follows in the result is another input's
        return False
    steps = zip(slower.sizes, slower.strides, faster.sizes, faster.strides, strict=True)
    goes_on = all(m == 1 or s == n * f for m, s, n, f in steps)
    return slower.to == faster.to * faster.sizes[0] and goes_on


def _width(
    axes: list[_Axis],
    inputs: list[_Input],
    result: Layout,
    axis: int,
    itemsize: int,
    alignment: int,
) -> int:
    """The widest access, in **bytes**."""
    *slower, last = axes
    if last.to != 1 or any(n > 1 and s != 1 for n, s in zip(last.sizes, last.strides, strict=True)):
        return itemsize
    steps = [each.to for each in slower]
    steps += [s for a in slower for n, s in zip(a.sizes, a.strides, strict=True) if n > 1]
    steps += [*last.sizes, *[each.start * result.strides[axis] for each in inputs], result.offset]
    steps += [each.layout.offset for each in inputs]
    aligned = [alignment, *[each.alignment for each in inputs]]
    return gcd(WIDEST, *aligned, *[step * itemsize for step in steps])


def _threads_of_rows(
    axes: list[_Axis],
    inputs: list[_Input],
    result: Layout,
    axis: int,
    itemsize: int,
    width: int,
    alignment: int,
) -> list[int]:
    """Threads of a row of each input, if rows begin anywhere in a sector; else none.

    The inputs are runs of memory, and most of the threads have an element.
    """
    if len(axes) != 2 or width == WIDEST or not axes[1].joined or axes[1].to != 1:
        return []
    rows, runs = axes
    packed = zip(rows.strides, runs.sizes, runs.strides, strict=True)
    if not all(row == size and step == 1 for row, size, step in packed):
        return []
    steps = [rows.to, result.offset, *[each.start * result.strides[axis] for each in inputs]]
    if not gcd(alignment, *[step * itemsize for step in steps]) % SECTOR:
        return []
    grain, times = SECTOR // width, width // itemsize
    threads = [-(-(size // times + grain - 1) // grain) * grain for size in runs.sizes]
    count = rows.sizes[0] * max(threads)
    fits = index_type(count + THREADS * PER_THREAD, 0) == index_type(result.size, 0)
    return threads if fits and sum(threads) * times * 9 <= sum(runs.sizes) * 10 else []


def _index(axes: list[_Axis], result: Layout, inputs: list[_Input]) -> str:
    furthest = [sum((n - 1) * abs(s) for n, s in zip(result.shape, result.strides, strict=True))]
    for k in range(len(inputs)):
        furthest.append(sum((a.sizes[k] - 1) * abs(a.strides[k]) for a in axes))
    return index_type(result.size, max(furthest))


def _launch(
    result: Layout,
    inputs: list[_Input],
    axis: int,
    itemsize: int,
    alignment: int,
    padding: tuple[Any, bytes],
    *,
    splits: bool,
) -> JoinLaunch:
    axes = _axes(result, inputs, axis)
    width = _width(axes, inputs, result, axis, itemsize, alignment)
    rank, index, times = len(axes), _index(axes, result, inputs), width // itemsize
    threads = _threads_of_rows(axes, inputs, result, axis, itemsize, width, alignment)
    if threads:
        chosen = kernel(FILE, "join_rows", INDEX=index, WIDTH=width)
    else:
        chosen = kernel(FILE, "join_parts", RANK=rank, INDEX=index, WIDTH=width)
    made = parameters(chosen)()
    last = rank - 1
    shared, end = made.shared, 0
    shared.parts, shared.rank, shared.axis, shared.splits = len(inputs), rank, -1, splits
    for d, each in enumerate(axes):
        shared.stride[d] = each.to if d == last else each.to // times
        if each.joined:
            shared.axis = d
        else:
            shared.size[d] = divisor(index, each.sizes[0] // (times if d == last else 1))
    for k, given in enumerate(inputs):
        part, sizes = made.parts[k], [each.sizes[k] for each in axes]
        sizes[last] //= times
        part.count = prod(sizes)
        part.start = given.start * result.strides[axis] // times
        for d, each in enumerate(axes):
            stride = each.strides[k] if sizes[d] > 1 else 0
            part.stride[d] = stride if d == last else stride // times
            if each.joined:
                part.size = divisor(index, sizes[d])
        if threads:
            part.count, part.size = sizes[0] * threads[k], divisor(index, threads[k])
            part.stride[0] = sizes[1]
        end += blocks_for(part.count * (1 if rank in RANKS else PER_THREAD))
        part.end_block = end
    made.padding, more = padding_struct(*padding, end, alignment)
    numbers = tuple((each.number, each.layout.offset * itemsize) for each in inputs)
    return JoinLaunch(chosen, end + more, bytes(made), result.offset * itemsize, numbers)


def most_inputs(rank: int, index: str) -> int:
    """How many inputs the parameters of a launch hold."""
    return constant(FILE, f"MOST<{rank if rank in RANKS else 0}, {index}>")
