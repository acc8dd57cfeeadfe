"""Reductions on CUDA: which kernel, how threads share results, how many chunks; decided once.

Integers and names only. ``kernels/reduce.cu`` says what its kernels do.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import nan, prod
from typing import Any

from tensorlayout import dtypes
from tensorlayout.cuda.engine.c_types import c_type
from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.engine.launch import THREADS, Launch, struct_type
from tensorlayout.cuda.engine.parameters import (
    RANKS,
    Divisor32,
    divisor32,
    index_type,
    rank_macro,
    walk,
    walk_type,
)
from tensorlayout.cuda.engine.sectors import WIDEST
from tensorlayout.cuda.reduce_boxes import ROWS, SOURCE, TURNS, Axes, Box, axes_of, box_for
from tensorlayout.dtypes import DType
from tensorlayout.layout.loop import Axis, furthest
from tensorlayout.layout.once import once
from tensorlayout.plan.reducing import ReducePlan

FILE = "reduce.cu"

# As many blocks keep the largest GPU busy (132 multiprocessors of up to 8 blocks). Fewer are cut
# into chunks, of at least so many turns of a thread that the second launch is worth it.
_BLOCKS = 1024
_LEAST_TURNS = 4

# And at most so many, which bounds the rounding error of what a thread adds up.
_MOST_TURNS = 128

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
    if functor == "nonzero":
        return 1
    scaled = functor == "product" and dtypes.in_category(dtype, "floating-point")
    return int(1 + dtypes.in_category(dtype, "complex floating") + scaled)


# ---- Launches


def plan_reduce(plan: ReducePlan, alignment: int) -> ReduceLaunches:
    """How to carry out a plan that has elements; `alignment`: of the address of the lowest slot.

    One launch; two where results are so few, or of so many elements, that several blocks share
    one. ValueError for memory whose alignment is less than an element.
    """
    itemsize, functor = plan.source.dtype.itemsize, functor_of(plan)
    if alignment % itemsize:
        msg = (
            f"{plan.operation.name}: memory begins at an address that is no multiple of its"
            f" {itemsize} bytes an element; copy it first"
        )
        raise ValueError(msg)
    words = words_of(functor, plan.source.dtype)
    found = axes_of(plan, functor.startswith("first_"))
    first = found.source * itemsize
    grain = (alignment | first) & -(alignment | first)
    box = box_for(found, itemsize, grain, _registers(words, plan.source.dtype))
    per_block, chunks = _chunks(box)
    frame = _frame(plan, found, box, per_block)
    types = types_of(plan.source.dtype)
    index = _index(plan, box)
    made = reduction_type(_rank(box), index)(frame=frame)
    made.groups, made.rows = (_walk(axes, index, _rank(box)) for axes in (box.groups, box.rows))
    shape = _shape(box.name, str(_rank(box)), index, box.length)
    kernel = Kernel(FILE, box.name, types, shape, functor)
    launch = Launch(kernel, box.tiles * chunks, bytes(made), (0, first, 0))
    parts = chunks * (box.fold if box.is_spread else 1)
    if parts == 1:
        return ReduceLaunches(launch, None, 0)
    results = plan.result.layout.size
    return ReduceLaunches(launch, _join(plan, parts, types, functor), parts * results * words * 8)


def _registers(words: int, dtype: DType) -> int:
    """Of 8 bytes, for the state of a column: more where positions or exponents are worked out."""
    return 4 if words == 2 and not dtypes.in_category(dtype, "complex floating") else words


def _chunks(box: Box) -> tuple[int, int]:
    """Rows of a chunk, and how many chunks."""
    count, batch = box.row_count, box.size_y * ROWS
    if box.name == "reduce_tiles":
        return count, 1
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
        ("ELEMENT", c_type(dtype)),
        ("LONGEST", str(WIDEST // dtype.itemsize)),
    )


def _shape(name: str, rank: str, index: str, length: int) -> tuple[tuple[str, str], ...]:
    shape = (("RANK", rank), ("INDEX", index))
    if name == "reduce_columns":
        return shape
    if name == "reduce_tiles":
        return (*shape, ("TILED", "1"))
    turns = (("TURNS", str(TURNS)),) if name == "reduce_short" else ()
    return (*shape, ("LENGTH", str(length)), *turns)


def _rank(box: Box) -> int:
    """Of the kernel: 2, 4, or 0 for any."""
    most = max(len(box.groups), len(box.rows))
    return 2 if most <= 2 else 4 if most <= 4 else 0


def _walk(axes: tuple[Axis, ...], index: str, rank: int) -> Any:
    """The walk of axes, with dimensions of size 1 in front of them."""
    capacity = rank or max(len(axes), max(RANKS) + 1)
    sizes, strides, _ = zip(*[Axis(1, (0, 0))] * (capacity - len(axes)), *axes, strict=True)
    return walk(index, sizes, list(zip(*strides, strict=True)))


def _index(plan: ReducePlan, box: Box) -> str:
    reach = furthest((*box.groups, *box.rows, box.x, box.w))
    return index_type(plan.source.layout.size + THREADS * ROWS, reach + WIDEST)


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


def _frame(plan: ReducePlan, found: Axes, box: Box, chunk: int) -> Any:
    row = box.x.size if box.is_spread else box.size_x
    channels = {
        "reduce_columns": row * box.length // box.fold,
        "reduce_tiles": box.x.strides[SOURCE],
    }
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
        x=steps_type()(*box.x.strides),
        w=steps_type()(*box.w.strides),
        rest_at=steps_type()(*[step * behind.size for step in behind.strides]),
        tiles=divisor32(box.tiles),
        column_tiles=divisor32(box.column_tiles),
        size_w=divisor32(box.w.size),
        size_x=divisor32(box.size_x),
        size_y=divisor32(box.size_y),
        channels=divisor32(channels.get(box.name, 1)),
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
        kinds |= {("reduce_columns", 0), ("reduce_tiles", 0)}
    for functor in functors:
        yield Kernel(FILE, "reduce_partials", types, (), functor)
        for rank, index in product(("2", "4", "0"), ("int32_t", "int64_t")):
            for name, length in sorted(kinds):
                yield Kernel(FILE, name, types, _shape(name, rank, index, length), functor)


# ---- Structs


@once
def steps_type() -> Any:
    """``Steps`` of kernels/reduce.cu."""
    return struct_type("Steps", source=ctypes.c_int64, other=ctypes.c_int64)


@once
def finish_type() -> Any:
    """``Finish``."""
    return struct_type(
        "Finish",
        divisor=ctypes.c_double,
        count=ctypes.c_int64,
        stored=ctypes.c_int32,
        answer=ctypes.c_int32,
    )


@once
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


@once
def reduction_type(rank: int, index: str) -> Any:
    """``Reduction<rank, index>``."""
    walks = walk_type(int(rank_macro(rank)[1]), index, 2)
    return struct_type("Reduction", frame=frame_type(), groups=walks, rows=walks)


@once
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
