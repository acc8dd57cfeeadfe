"""Sorted lines, the first of their elements, and searches in them."""

from __future__ import annotations

from dataclasses import replace

from tensorlayout.cuda.engine import writer
from tensorlayout.cuda.sort.planning import TILE, is_fastest, plan_search, plan_sort, plan_top_k
from tensorlayout.dtypes import int64
from tensorlayout.layout import Layout
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


# ---- Searches

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
