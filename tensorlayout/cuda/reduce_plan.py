"""Reductions on CUDA: which kernel, how threads share results, how many chunks; decided once.

Integers and names only. ``kernels/reduce.cu`` says what its kernels do.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import gcd, inf, nan, prod
from typing import Any, NamedTuple

from tensorlayout import dtypes
from tensorlayout.cuda.driver import Kernel
from tensorlayout.cuda.launches import THREADS, Launch, struct_type
from tensorlayout.cuda.loops import SECTOR, WIDEST
from tensorlayout.cuda.parameters import (
    RANKS,
    Divisor32,
    divisor32,
    index_type,
    rank_macro,
    walk,
    walk_type,
)
from tensorlayout.dtypes import DType
from tensorlayout.layout import Layout
from tensorlayout.plan.reducing import ReducePlan

FILE = "reduce.cu"

# Packs that a thread reads at a time; results that it has, if they are of few elements.
ROWS = 4
TURNS = 4

# Up to this many packs a result is short: each has a thread, and a thread several results. Of single
# elements, as many as a block has threads.
_SHORT = 16

# Where threads of a row are fewer, each row is at least this many bytes.
_SEGMENT = 128

# Rows of fewer elements are read by single ones, if they do not begin at whole packs.
_LONG = 256

# As many blocks keep the largest GPU busy (132 multiprocessors of up to 8 blocks). Fewer are cut
# into chunks, of at least so many turns of a thread that the second launch is worth it.
_BLOCKS = 1024
_LEAST_TURNS = 4

# And at most so many, which bounds the rounding error of what a thread adds up.
_MOST_TURNS = 128

# Registers of 8 bytes that a thread has for states of columns, and how many a state takes, more
# than it has words if positions are worked out beside it.
_REGISTERS = 16
_STATE_REGISTERS = {"first_greatest": 4, "first_least": 4}

_TYPES = {
    "bool": "bool8",
    "float16": "half",
    "bfloat16": "bfloat16",
    "float32": "float",
    "float64": "double",
    "complex64": "complex<float>",
    "complex128": "complex<double>",
}

# ``Stored`` and ``Answer`` of kernels/reductions.cuh.
_STORED = {"float16": 0, "bfloat16": 1, "float32": 2, "float64": 3, "complex64": 2, "complex128": 3}
_STORED_BYTES = {1: 4, 2: 5, 4: 6, 8: 7}
_ANSWERS = {"deviation": 1, "any_": 2, "all_": 3}

# The operations of `ReducePlan`, and their functors.
FUNCTORS = {
    "add": "sum",
    "all_": "nonzero",
    "any_": "nonzero",
    "argmax": "first_greatest",
    "argmin": "first_least",
    "count_nonzero": "nonzero",
    "deviation": "variance",
    "greatest_number": "greatest_number",
    "least_number": "least_number",
    "maximum": "greatest",
    "mean": "sum",
    "minimum": "least",
    "multiply": "product",
    "variance": "variance",
}


@dataclass(frozen=True, slots=True)
class ReduceLaunches:
    """A reduction that is ready to run.

    Attributes:
        reduce: reads the elements; pointers: result, source, partial results.
        join: what joins partial results, from their pointer to the result's; None for one chunk.
        partial_bytes: of the partial results.

    """

    reduce: Launch
    join: Launch | None
    partial_bytes: int


def operation_of(plan: ReducePlan) -> str:
    """The name of what is done, a key of `FUNCTORS` if there is a kernel."""
    return str(plan.operation.numpy.__name__)


def functor_of(plan: ReducePlan) -> str:
    """The functor of kernels/reductions.cuh."""
    found = FUNCTORS[operation_of(plan)]
    source, result = plan.source.dtype, plan.result.dtype
    if found == "sum" and source == dtypes.bool:
        return "nonzero"
    if found == "sum" and _is_narrow(source) and not _is_narrow(result):
        return "wide_sum"
    if not dtypes.in_category(source, "floating-point"):
        return {"least_number": "least", "greatest_number": "greatest"}.get(found, found)
    return found


def _is_narrow(dtype: DType) -> bool:
    if dtypes.in_category(dtype, "complex floating"):
        return dtype.itemsize == 8
    return dtypes.in_category(dtype, "real floating") and dtype.itemsize <= 4


def words_of(functor: str, dtype: DType) -> int:
    """The words of 8 bytes that a state has."""
    if functor == "variance":
        return 3
    if functor.startswith("first_"):
        return 2
    complex_ = dtypes.in_category(dtype, "complex floating")
    return 2 if complex_ and functor != "nonzero" else 1


# ---- Axes


class _Axis(NamedTuple):
    """Merged dimensions, all reduced or none; strides in elements, in the source not negative."""

    size: int
    source: int
    other: int  # in the result; of a reduced one, of positions
    reduced: bool


class _Axes(NamedTuple):
    """Axes from the slowest in the source's memory to the fastest; where each side begins."""

    axes: tuple[_Axis, ...]
    source: int
    result: int
    position: int


def _axes(plan: ReducePlan) -> _Axes:
    layout, result = plan.source.layout, plan.result.layout
    kept = [d for d in range(layout.ndim) if d not in plan.dims]
    steps = dict(zip(kept, result.strides, strict=True)) if not plan.keepdims else {}
    if plan.keepdims:
        steps = {d: result.strides[d] for d in kept}
    if functor_of(plan).startswith("first_"):
        order = layout.shape if len(plan.dims) > 1 else [1] * layout.ndim
        steps |= {d: prod(order[d + 1 :]) for d in plan.dims}
    found = []
    starts = [layout.offset, result.offset, 0]
    for d in reversed(layout.minor_to_major):
        size, source, reduced = layout.shape[d], layout.strides[d], d in plan.dims
        other = steps.get(d, 0)
        if size == 1:
            continue
        if source < 0:
            starts[0] += (size - 1) * source
            starts[2 if reduced else 1] += (size - 1) * other
            source, other = -source, -other
        found.append(_Axis(size, source, other, reduced))
    found.sort(key=lambda axis: axis.source or inf, reverse=True)
    return _Axes(tuple(_merged(found)), *starts)


def _merged(axes: Sequence[_Axis]) -> list[_Axis]:
    merged: list[_Axis] = []
    for axis in axes:
        if merged:
            before = merged[-1]
            joins = (axis.size * axis.source, axis.size * axis.other, axis.reduced)
            if before[1:] == joins:
                merged[-1] = axis._replace(size=before.size * axis.size)
                continue
        merged.append(axis)
    return merged


# ---- Which kernel, and which box of threads


@dataclass(frozen=True, slots=True)
class _Box:
    """What a block reads, and all blocks.

    Attributes:
        name: of the kernel.
        length: elements of a pack.
        groups, rows: the axes that are walked; those of rows count packs.
        x: the axis of results along x, in packs; w: the axis of elements along w.
        size_w, size_x, size_y, size_z: threads.
        run: elements of a row whose aligned packs are looked for in the kernel.
        fold: rows that are read as one; rest: elements behind those.
        position_step: from an element of a row to the next, or from one folded row to the next.

    """

    name: str
    length: int
    groups: tuple[_Axis, ...]
    rows: tuple[_Axis, ...]
    x: _Axis = _Axis(1, 0, 0, False)
    w: _Axis = _Axis(1, 0, 0, True)
    size_x: int = 1
    size_y: int = 1
    size_z: int = 1
    run: int = 0
    fold: int = 1
    rest: int = 0
    position_step: int = 0

    @property
    def row_count(self) -> int:
        return prod([axis.size for axis in self.rows])

    @property
    def group_count(self) -> int:
        return prod([axis.size for axis in self.groups])

    @property
    def group_tiles(self) -> int:
        turns = TURNS if self.name == "reduce_short" else 1
        return -(-self.group_count // (self.size_z * turns))

    @property
    def column_tiles(self) -> int:
        return -(-self.x.size // self.size_x)

    @property
    def tiles(self) -> int:
        return self.group_tiles * self.column_tiles


def _even(count: int, most: int, nbytes: int) -> int:
    """The size of parts of at most `most`, as few and as equal as can be, in whole sectors."""
    parts = -(-count // most)
    grain = SECTOR // gcd(SECTOR, nbytes)  # `nbytes`: of one
    size = -(-count // parts)
    return size if parts == 1 else min(most, -(-size // grain) * grain)


def _aligned(axes: Sequence[_Axis], pack: int) -> bool:
    return all(axis.source % pack == 0 for axis in axes)


def _box(found: _Axes, itemsize: int, alignment: int, registers: int) -> _Box:
    """The box of threads for these axes; `alignment`: of the first element, in bytes."""
    axes = found.axes
    groups = tuple([axis for axis in axes if not axis.reduced])
    rows = tuple([axis for axis in axes if axis.reduced])
    fastest = axes[-1] if axes else None
    longest = WIDEST // itemsize
    if fastest is None or fastest.reduced:
        return _rows(groups, rows, axes, itemsize, alignment)
    if fastest.source == 1:
        length = longest
        while length * registers > _REGISTERS:
            length //= 2
        box = _columns(groups, rows, length, itemsize, alignment) if length > 1 else None
        if box is not None:
            return box
    x = groups[-1]
    room = min(THREADS, max(_SEGMENT, 512 // itemsize))
    size_x = _even(x.size, room, itemsize)
    return _with_lanes(_Box("reduce_rows", 1, groups[:-1], rows, x=x, size_x=size_x), itemsize)


def _rows(
    groups: tuple[_Axis, ...],
    rows: tuple[_Axis, ...],
    axes: tuple[_Axis, ...],
    itemsize: int,
    alignment: int,
) -> _Box:
    """Elements along the fastest dimension are of one result."""
    length = WIDEST // itemsize
    if not rows or rows[-1].source != 1 or length == 1:
        length = 1
    step = rows[-1].other if rows else 0
    if length > 1:
        *slower, last = rows
        others = [*slower, *groups]
        if last.size % length == 0 and alignment % WIDEST == 0 and _aligned(others, length):
            packs = _Axis(last.size // length, length, length * step, True)
            rows = (*slower, packs)
        elif not slower and last.size >= _LONG:
            packs = _Axis(last.size // length, length, length * step, True)
            box = _Box("reduce_rows", length, groups, (packs,), run=last.size, position_step=step)
            return _with_lanes(box, itemsize)
        else:
            length = 1
    box = _Box("reduce_rows", length, groups, rows, position_step=step)
    # Short runs of one result, side by side with those of others: all of them, for each slower row.
    if len(rows) > 1 and len(groups) and axes[-2] is groups[-1]:
        run, beside = rows[-1], groups[-1]
        if run.size * length * itemsize < _SEGMENT and beside.source == run.size * run.source:
            size_x = _even(beside.size, THREADS // run.size, run.size * length * itemsize)
            box = replace(box, groups=groups[:-1], rows=rows[:-1], x=beside, w=run, size_x=size_x)
    return _with_lanes(box, itemsize)


def _columns(
    groups: tuple[_Axis, ...],
    rows: tuple[_Axis, ...],
    length: int,
    itemsize: int,
    alignment: int,
) -> _Box | None:
    """Elements along the fastest dimension are of different results; None if packs do not fit."""
    *slower, x = groups
    if alignment % (length * itemsize) or not _aligned(slower, length):
        return None
    if x.size % length == 0 and _aligned(rows, length):
        packs = x._replace(size=x.size // length)
        room = THREADS // 4 if prod([axis.size for axis in rows]) >= ROWS else THREADS
        size_x = _even(packs.size, room, length * itemsize)
        box = _Box("reduce_columns", length, tuple(slower), rows, x=packs, size_x=size_x)
        return _with_lanes(box, itemsize)
    # Rows of few columns, one behind the other in memory: several of them make whole packs.
    if not rows or rows[-1].source != x.size:
        return None
    fold = 1
    while fold * x.size % length:
        fold *= 2
    *others, last = rows
    size_x, count = fold * x.size // length, last.size // fold
    if size_x > THREADS or count < 2 or not _aligned(others, length):
        return None
    rest = last.size % fold * x.size
    if rest and others:
        return None
    step = last.other
    folded = (*others, _Axis(count, fold * x.size, fold * step, True))
    box = _Box(
        "reduce_columns",
        length,
        tuple(slower),
        folded,
        x=x._replace(size=size_x),
        size_x=size_x,
        fold=fold,
        rest=rest,
        position_step=step,
    )
    return _with_lanes(box, itemsize)


def _with_lanes(box: _Box, itemsize: int) -> _Box:
    """How many threads share a result along y, and how many groups a block has along z."""
    beside = box.size_x * box.w.size
    room = THREADS // beside
    count, groups = box.row_count, box.group_count
    segment = beside * box.length * itemsize  # bytes side by side
    short = min(room, _SHORT if box.length > 1 else THREADS)
    if box.name == "reduce_rows" and count <= short and not box.run:
        z = _whole(min(room // count, groups), count * segment)
        if groups >= TURNS * z:
            return replace(box, name="reduce_short", size_y=count, size_z=z)
    if count >= room * ROWS:
        return replace(box, size_y=room)
    least = max(-(-count // ROWS), -(-_SEGMENT // segment))
    grain = max(1, SECTOR // segment)
    size_y = min(_candidates(count, min(room, least), room, grain), key=_waste_of(count, beside))
    size_z = _whole(min(room // size_y, groups), count * segment)
    return replace(box, size_y=size_y, size_z=size_z)


def _whole(count: int, nbytes: int) -> int:
    """As many of `nbytes` each as make whole sectors, if that is near `count`."""
    grain = SECTOR // gcd(SECTOR, nbytes)
    whole = count // grain * grain
    return whole if whole * 8 >= count * 7 else count


def _candidates(count: int, least: int, room: int, grain: int) -> Iterator[int]:
    """Sizes along y from `least` on, in whole sectors; the number of rows itself, too."""
    if count <= room:
        yield count
    for size in range(-(-least // grain) * grain, min(room, 2 * least + grain, count) + 1, grain):
        yield size
    yield min(room, count)


def _waste_of(count: int, beside: int) -> Any:
    def waste(size: int) -> tuple[float, int]:
        turns = -(-count // size)
        used = count / (size * turns) * (THREADS // (size * beside) * size * beside / THREADS)
        return (round(1 - used, 2), -min(turns, ROWS))

    return waste


# ---- Launches


def plan_reduce(plan: ReducePlan, alignment: int) -> ReduceLaunches:
    """How to carry out a plan that has elements; `alignment`: of the address of the lowest slot.

    One launch; two where results are so few, or of so many elements, that several blocks share
    one. ValueError for memory whose alignment is less than an element.
    """
    itemsize, functor = plan.source.dtype.itemsize, functor_of(plan)
    if alignment % itemsize and alignment < SECTOR:
        msg = f"{plan.operation.name}: memory begins at an address that is no multiple of its"
        raise ValueError(f"{msg} {itemsize} bytes an element; copy it first")
    words = words_of(functor, plan.source.dtype)
    found = _axes(plan)
    first = found.source * itemsize
    grain = (alignment | first) & -(alignment | first)
    box = _box(found, itemsize, grain, _STATE_REGISTERS.get(functor, words))
    per_block, chunks = _chunks(box)
    frame = _frame(plan, found, box, per_block)
    types = types_of(plan.source.dtype)
    index = _index(plan, box)
    made = reduction_type(_rank(box), index)(frame=frame)
    made.groups, made.rows = (_walk(axes, index, _rank(box)) for axes in (box.groups, box.rows))
    shape = _shape(box.name, str(_rank(box)), index, box.length)
    kernel = Kernel(FILE, box.name, types, shape, functor)
    launch = Launch(kernel, box.tiles * chunks, bytes(made), (0, first, 0))
    if chunks == 1:
        return ReduceLaunches(launch, None, 0)
    results = plan.result.layout.size
    return ReduceLaunches(launch, _join(plan, chunks, types, functor), chunks * results * words * 8)


def _chunks(box: _Box) -> tuple[int, int]:
    """Rows of a chunk, and how many chunks."""
    count, batch = box.row_count, box.size_y * ROWS
    wanted = -(-_BLOCKS // box.tiles)
    most = max(1, count // (batch * _LEAST_TURNS))
    chunks = max(min(wanted, most), -(-count // (batch * _MOST_TURNS)))
    if chunks == 1:
        return count, 1
    rows = -(-count // (chunks * batch)) * batch
    return rows, -(-count // rows)


def types_of(dtype: DType) -> tuple[tuple[str, str], ...]:
    """The macros that name the element type."""
    return (
        ("ELEMENT", _TYPES.get(dtype.name, f"{dtype.name}_t")),
        ("LONGEST", str(WIDEST // dtype.itemsize)),
    )


def _shape(name: str, rank: str, index: str, length: int) -> tuple[tuple[str, str], ...]:
    shape = (("RANK", rank), ("INDEX", index))
    if name == "reduce_columns":
        return shape
    turns = (("TURNS", str(TURNS)),) if name == "reduce_short" else ()
    return (*shape, ("LENGTH", str(length)), *turns)


def _rank(box: _Box) -> int:
    """Of the kernel: 2, 4, or 0 for any."""
    most = max(len(box.groups), len(box.rows))
    return 2 if most <= 2 else 4 if most <= 4 else 0


def _walk(axes: tuple[_Axis, ...], index: str, rank: int) -> Any:
    """The walk of axes, with dimensions of size 1 in front of them."""
    capacity = rank or max(len(axes), max(RANKS) + 1)
    padded = (*[_Axis(1, 0, 0, False)] * (capacity - len(axes)), *axes)
    strides = [[axis.source for axis in padded], [axis.other for axis in padded]]
    return walk(index, [axis.size for axis in padded], strides)


def _index(plan: ReducePlan, box: _Box) -> str:
    axes = (*box.groups, *box.rows, box.x, box.w)
    reach = [
        sum([(axis.size - 1) * abs(getattr(axis, side)) for axis in axes])
        for side in ("source", "other")
    ]
    return index_type(plan.source.layout.size + THREADS * ROWS, max(reach) + WIDEST)


def _finish(plan: ReducePlan) -> Any:
    operation, dtype = operation_of(plan), plan.result.dtype
    count = prod([plan.source.layout.shape[d] for d in plan.dims])
    divisor = 1.0
    if operation == "mean":
        divisor = float(count)
    elif operation in ("variance", "deviation"):
        divisor = float(count) - plan.static[0]
        divisor = divisor if divisor > 0 else nan
    return finish_type()(
        divisor=divisor,
        count=count,
        stored=_STORED.get(dtype.name, _STORED_BYTES.get(dtype.itemsize, 0)),
        answer=_ANSWERS.get(operation, 0),
    )


def _frame(plan: ReducePlan, found: _Axes, box: _Box, chunk: int) -> Any:
    channels = box.size_x * box.length // box.fold
    lengths = box.length if box.name == "reduce_columns" else 1
    behind = box.rows[-1] if box.rest else box.w
    return frame_type()(
        finish=_finish(plan),
        results=plan.result.layout.size,
        first_result=found.result,
        first_position=found.position,
        groups=box.group_count,
        columns=box.x.size,
        rows=box.row_count,
        chunk=chunk,
        run=box.run,
        rest=box.rest,
        position_step=box.position_step,
        x=steps_type()(source=box.x.source, other=box.x.other),
        w=steps_type()(source=box.w.source, other=box.w.other),
        rest_at=steps_type()(source=behind.source * behind.size, other=behind.other * behind.size),
        tiles=divisor32(box.tiles),
        column_tiles=divisor32(box.column_tiles),
        size_w=divisor32(box.w.size),
        size_x=divisor32(box.size_x),
        size_y=divisor32(box.size_y),
        channels=divisor32(channels if lengths > 1 else 1),
        size_z=box.size_z,
        fold=box.fold,
    )


def _join(
    plan: ReducePlan, chunks: int, types: tuple[tuple[str, str], ...], functor: str
) -> Launch:
    results = plan.result.layout.size
    size_x = min(results, THREADS if chunks < 8 else 32)
    size_y = min(THREADS // size_x, chunks)
    made = partials_type()(
        finish=_finish(plan),
        results=results,
        chunks=chunks,
        size_x=divisor32(size_x),
        size_y=size_y,
    )
    kernel = Kernel(FILE, "reduce_partials", types, (), functor)
    return Launch(kernel, -(-results // size_x), bytes(made), (0, 0))


def kernels(dtype: DType, functors: Sequence[str]) -> Iterator[Kernel]:
    """All that plans for elements of `dtype` may ask for."""
    types, longest = types_of(dtype), WIDEST // dtype.itemsize
    kinds = {(name, length) for name in ("reduce_rows", "reduce_short") for length in (1, longest)}
    if longest > 1:
        kinds.add(("reduce_columns", 0))
    for functor in functors:
        yield Kernel(FILE, "reduce_partials", types, (), functor)
        for rank, index in product(("2", "4", "0"), ("int32_t", "int64_t")):
            for name, length in sorted(kinds):
                yield Kernel(FILE, name, types, _shape(name, rank, index, length), functor)


# ---- Structs


@functools.cache
def steps_type() -> Any:
    """``Steps`` of kernels/reduce.cu."""
    return struct_type("Steps", source=ctypes.c_int64, other=ctypes.c_int64)


@functools.cache
def finish_type() -> Any:
    """``Finish``."""
    return struct_type(
        "Finish",
        divisor=ctypes.c_double,
        count=ctypes.c_int64,
        stored=ctypes.c_int32,
        answer=ctypes.c_int32,
    )


@functools.cache
def frame_type() -> Any:
    """``Frame``."""
    numbers = (
        "results", "first_result", "first_position", "groups", "columns", "rows", "chunk", "run",
        "rest", "position_step",
    )  # fmt: skip
    divisors = ("tiles", "column_tiles", "size_w", "size_x", "size_y", "channels")
    return struct_type(
        "Frame",
        to=ctypes.c_uint64,
        from_=ctypes.c_uint64,
        partials=ctypes.c_uint64,
        finish=finish_type(),
        **dict.fromkeys(numbers, ctypes.c_int64),
        x=steps_type(),
        w=steps_type(),
        rest_at=steps_type(),
        **dict.fromkeys(divisors, Divisor32),
        size_z=ctypes.c_int32,
        fold=ctypes.c_int32,
    )


@functools.cache
def reduction_type(rank: int, index: str) -> Any:
    """``Reduction<rank, index>``."""
    walks = walk_type(int(rank_macro(rank)[1]), index, 2)
    return struct_type("Reduction", frame=frame_type(), groups=walks, rows=walks)


@functools.cache
def partials_type() -> Any:
    """``Partials``."""
    return struct_type(
        "Partials",
        to=ctypes.c_uint64,
        from_=ctypes.c_uint64,
        finish=finish_type(),
        results=ctypes.c_int64,
        chunks=ctypes.c_int64,
        size_x=Divisor32,
        size_y=ctypes.c_int32,
    )
