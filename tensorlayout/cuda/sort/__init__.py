"""Sorted lines, the first of their elements, and searches in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import Any

from tensorlayout.cuda.engine.kernel_shapes import c_type, kernel, parameters
from tensorlayout.cuda.engine.launch import SECTOR, THREADS, Launch, writer
from tensorlayout.cuda.engine.memory import new_tensors
from tensorlayout.cuda.engine.structs import divisor32, pack_axes
from tensorlayout.cuda.sort.passes import (
    BEYOND,
    CAPACITY,
    FILE,
    TILE,
    axes_of,
    is_fastest,
    plan_sort,
)
from tensorlayout.dtypes import DType, int64
from tensorlayout.layout import Layout
from tensorlayout.layout.loop import Axis, furthest, index_type
from tensorlayout.plan.base import Plan, Run, Write
from tensorlayout.plan.copy import AssignPlan
from tensorlayout.plan.gather import Gather
from tensorlayout.plan.run import carried_out, making, noted_copy, noting
from tensorlayout.plan.sort import SortPlan, TopKPlan
from tensorlayout.plan.steps import Step
from tensorlayout.plan.view import Index
from tensorlayout.tensor import Tensor, TensorSpec


def write_sort(plan: SortPlan) -> Write:
    """The function of the result and the tensor; equal elements stay in their order, always.

    Lines whose elements do not follow each other are copied, and the result copied back.
    """
    source, result, dim = plan.source, plan.result, plan.dim
    if result.layout.is_packed and is_fastest(result.layout, dim):
        found = plan_sort(plan)
        return writer(result.device.number, lambda _: found, aligned=0)
    order = (dim, *[d for d in source.layout.minor_to_major if d != dim])
    layout = Layout.packed(result.layout.shape, order)
    lines = TensorSpec(result.dtype, layout, result.device)
    gathered = TensorSpec(source.dtype, layout, source.device)
    step = Step(plan.name, lines, result)
    back = noting(step, AssignPlan(plan.name, lines, result))
    anew = replace(plan, result=lines, given=False)
    if is_fastest(source.layout, dim):
        sort = carried_out(anew)
        return lambda out, x: back(out, sort(x))
    gather = noted_copy(plan.name, source, gathered)
    sort = carried_out(replace(anew, source=gathered))
    return lambda out, x: back(out, sort(gather(x)))


def sorted_rows(source: TensorSpec) -> Run:
    """The elements along the last dimension, ascending, in a row-major tensor."""
    layout = Layout.row_major(source.layout.shape)
    result = TensorSpec(source.dtype, layout, source.device)
    plan = SortPlan("sort", "values", source, result, layout.ndim - 1, False, True)
    return carried_out(plan)


def write_top_k(plan: TopKPlan) -> Write:
    """The function of the two results and the tensor: one launch for lines of up to a tile.

    Longer ones are sorted: all their positions, of which the first are read.
    """
    source, result, dim = plan.source, plan.result, plan.dim
    if source.layout.shape[dim] <= TILE:
        found = plan_top_k(plan)
        return writer(result.device.number, lambda _: found, aligned=0)
    packed = Layout.packed(source.layout.shape, source.layout.minor_to_major)
    every = TensorSpec(int64, packed, source.device)
    steps = SortPlan(plan.name, "positions", source, every, dim, plan.down, True)
    first = Index(plan.name).plan(every, tuple([(n, 1) for n in result.layout.shape]))
    read = Gather(plan.name).plan(source, (dim,), None, first.result).into(result)
    plans: tuple[Plan, ...] = (
        *(steps, first, AssignPlan(plan.name, first.result, plan.positions), read),
    )
    order, cut, assign, gather = map(carried_out, plans)

    def top_k(out: Tensor, positions: Tensor, x: Tensor) -> None:
        found = cut(order(x), packed.offset)
        assign(positions, found)
        gather(out, x, found)

    return top_k


def prepare_searchsorted(
    operands: tuple[TensorSpec, ...], dtype: DType, result: TensorSpec, side: str
) -> Run:
    """The function of a sorted line and of values: where these would go into it. One launch.

    `dtype`: what both are compared in, real numeric; `result`: int64, row-major.
    """
    line, values = operands
    return _search(result, line, values, dtype, right=side == "right")


def prepare_isin(
    operands: tuple[TensorSpec, ...], dtype: DType, result: TensorSpec, invert: bool
) -> Run:
    """The function of elements and of those to be looked for among: these are sorted, and searched.

    `dtype`: what both are compared in, real numeric; `result`: bool, row-major.
    """
    values, of = operands
    placed = TensorSpec(dtype, Layout.row_major(of.layout.shape), of.device)
    line = TensorSpec(dtype, Layout.row_major((of.layout.size,)), of.device)
    gather, sort = noted_copy("isin", of, placed), sorted_rows(line)
    search = _search(result, line, values, dtype, members=True, invert=invert)

    def isin(x: Tensor, given: Tensor) -> Tensor:
        copied = gather(given)
        return search(sort(Tensor._new(copied._memory, line, copied._home)), x)

    return isin


# The functions of operands' specs, the common dtype, the result's spec and the options, by the name
# of the operation: for plans of library calls on real numbers.
SEARCHES: dict[str, Callable[..., Run]] = {
    "isin": prepare_isin,
    "searchsorted": prepare_searchsorted,
}


def _search(
    result: TensorSpec, line: TensorSpec, values: TensorSpec, dtype: DType, **kind: bool
) -> Run:
    """The function of the line and of the values."""
    found = plan_search(line, values, dtype, **kind)
    return making(new_tensors(result), writer(result.device.number, lambda _: found, aligned=0))


# ---- The first elements


def plan_top_k(plan: TopKPlan) -> Launch | None:
    """The launch that writes as many elements of each line as the result has; None for none.

    Memories: result, positions, of 4 or 8 bytes, and source. Lines are visited as the source has
    them in memory; a tile has as many of them as it has room for.
    """
    source, values, positions, dim = plan.source, plan.result, plan.positions, plan.dim
    layouts = source.layout, values.layout, positions.layout
    layout, length, count = source.layout, source.layout.shape[dim], values.layout.shape[dim]
    assert length <= TILE, "longer lines are merged"
    if not values.layout.size:
        return None
    around = [d for d in reversed(layout.minor_to_major) if d != dim]
    lines = prod(layout.shape[d] for d in around)
    one = (1, 0, 0, 0)  # where there is nothing around
    others = [(layout.shape[d], *[each.strides[d] for each in layouts]) for d in around]
    walked = axes_of([one, *others])
    steps = [each.strides[dim] if each.shape[dim] > 1 else 0 for each in layouts]
    together = _together(source, positions, dim, lines)
    reach = furthest((*walked, Axis(length, tuple(steps))))
    index = index_type(lines + BEYOND, reach + BEYOND)
    types = (("ELEMENT", c_type(source.dtype)),)
    chosen = kernel(FILE, "leading_tiles", types, RANK=len(walked), INDEX=index)
    made = parameters(chosen)(
        lines=lines,
        step=tuple(steps),
        line=divisor32(length),
        together=together,
        leading=count,
        wide=int(positions.dtype.itemsize == 8),
        descending=int(plan.down),
    )
    pack_axes(made.walk, walked, 1)
    _number(made.read, layout, dim, length, together)
    _number(made.written, values.layout, dim, count, together)
    firsts = tuple(spec.layout.offset * spec.dtype.itemsize for spec in (values, positions, source))
    return Launch(chosen, -(-lines // together), bytes(made), firsts)


def _together(source: TensorSpec, positions: TensorSpec, dim: int, lines: int) -> int:
    """How many lines share a tile: of those side by side as many as fill sectors, if there is room.

    Else each tile would begin inside of sectors, in every position of its lines.
    """
    length = source.layout.shape[dim]
    if length > CAPACITY:
        return 1
    room = min(CAPACITY // length, lines)
    sector = SECTOR // min(source.dtype.itemsize, positions.dtype.itemsize)
    ragged = room % sector if not is_fastest(source.layout, dim) and room < lines else 0
    return room - ragged if room > sector else room


def _number(made: Any, layout: Layout, dim: int, length: int, together: int) -> None:
    """Whether elements are numbered along lines, or across them."""
    across = together > 1 and not is_fastest(layout, dim)
    made.size, made.across = divisor32(together if across else length), int(across)


# ---- Searches

SEARCH_FILE = "sort/search.cu"


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
    never, as bool; `invert`: whether not. None where there are no values. ValueError for tiled
    layouts.
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
    chosen = kernel(SEARCH_FILE, "search_line", types, RANK=len(walked), INDEX=index, GIVES=gives)
    made = parameters(chosen)(
        count=count, length=length, step=step, right=int(right), invert=int(invert)
    )
    pack_axes(made.walk, walked, 1)
    firsts = (0, *[each.layout.offset * each.dtype.itemsize for each in (line, values)])
    return Launch(chosen, -(-count // THREADS), bytes(made), firsts)
