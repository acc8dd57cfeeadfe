"""Reads at positions that are data, checked before anything is moved."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from tensorlayout.cpu.engine.memory import Array
from tensorlayout.cpu.gather.runs import (
    BLOCK,
    MANY,
    RUN,
    Cut,
    Lines,
    Move,
    MoveLines,
    Positions,
    Runs,
    by_lines,
    checked,
    checked_one,
    contiguous,
    cuts,
    in_rows,
    is_by_line,
    outside,
    row_of,
    shared,
    slots_of,
)
from tensorlayout.cpu.reduce.fold import Key, blocks
from tensorlayout.layout import Layout
from tensorlayout.plan.base import Run, Write
from tensorlayout.plan.copy import AssignPlan
from tensorlayout.plan.gather import GatherPlan
from tensorlayout.plan.run import carried_out
from tensorlayout.tensor import Tensor, TensorSpec

# Bytes from which on a row is read where it is: 4 M float32 in rows of 2 with a gap behind each
# take 20 ms brought together first and 65 where they are; in rows of 16, 6.3 and 9.0; of 64, 2.6
# and 2.1.
_LONG = 128

# Elements of a tensor with gaps that are brought together at once.
_STAGE = 256 * 1024


def write_gather(plan: GatherPlan) -> Write:
    """Read; nothing is read at a position that has not been checked.

    By way of a new tensor, where runs of the given one do not lie as they are read.
    """
    runs = Runs(plan.source.layout, plan.index_map)
    if not runs.fit(plan.result.layout):
        planned = Layout.packed(plan.result.layout.shape, plan.index_map.order)
        spec = TensorSpec(plan.result.dtype, planned, plan.result.device)
        anew = carried_out(replace(plan, result=spec, given=False))
        assign = carried_out(AssignPlan(plan.name, spec, plan.result))
        return lambda out, *operands: assign(out, anew(*operands))
    by_line = not plan.clamps and is_by_line(runs)  # whose positions are checked line by line
    read = _read_lines(plan.name, runs) if by_line else reader(runs)
    sizes = [plan.source.layout.shape[d] for d in plan.index_map.dims]

    def gather(out: Tensor, x: Tensor, *positions: Tensor) -> None:
        places = [p._memory for p in positions]
        if not by_line:
            places = checked(plan.name, places, sizes, clamps=plan.clamps)
        if out._memory.size:
            read(x._memory, places, out._memory)

    return gather


def take(plan: GatherPlan) -> Run | None:
    """One indexed dimension of a small tensor without gaps: one call, which checks, too.

    x[i] of 40 x 50 float32 at 13 positions takes 2.9 us so, 13.1 into a tensor that is made before.
    """
    runs = Runs(plan.source.layout, plan.index_map)
    one = len(plan.index_map.dims) == 1 and not plan.index_map.per_line and not plan.clamps
    if not (one and runs.packed(runs.order) and plan.result.layout.size < MANY):
        return None
    spec, order, group, axis = plan.result, runs.order, runs.group, len(runs.outer)
    back = tuple(runs.major.index(d) for d in range(len(runs.major)))
    size = plan.source.layout.shape[plan.index_map.dims[0]]
    # NumPy takes the greatest of uint64 for -1, and looks at no position if there is no line.
    unseen = plan.positions[0].dtype == np.uint64 or plan.source.layout.size == 0

    def run(x: Tensor, positions: Tensor) -> Tensor:
        source, index = x._memory.transpose(order), positions._memory.transpose(group)
        try:
            found = source.take(checked_one(plan.name, index, size) if unseen else index, axis)
        except IndexError:
            raise outside(plan.name, index, size) from None
        if not back:  # a scalar
            found = np.asarray(found)
        return Tensor._new(found.transpose(back), spec)

    return run


# --- ways to read, and the choice between them ---


def reader(runs: Runs) -> Move:
    """``read(memory, positions, out)`` by the cheapest way, for an `out` packed as `runs` says."""
    inner, dims = runs.size(runs.inner), runs.index_map.dims
    if runs.index_map.per_line:
        return _read_slots(runs)
    if runs.packed(runs.order):
        return _read_packed(runs)
    if len(dims) == 1 and not runs.outer and inner >= RUN:
        return _read_slices(runs)
    one = len(dims) == 1 and runs.size(runs.outer) == 1
    if one and 1 < inner < RUN and runs.packed(runs.inner):
        return _read_rows(runs)
    staged = 1 < runs.size((*runs.indexed, *runs.inner)) <= _STAGE
    return _read_staged(runs) if staged else _read_slots(runs)


# All positions are inside: "wrap" is then the fastest mode (4096 float32 in the cache 2.1 us,
# "clip" 2.7), and unlike "raise" it writes to `out` without a buffer.


def _read_packed(runs: Runs) -> Move:
    """A tensor without gaps: one call, or one for a few lines or a part of the only one."""
    shape = (runs.size(runs.outer), runs.size(runs.indexed), runs.size(runs.inner))

    def read(memory: Array, positions: Positions, out: Array) -> None:
        index = runs.merged(positions).reshape(-1)
        source, target = memory.transpose(runs.order).reshape(shape), runs.in_runs(out)

        def move(cut: Key) -> None:
            lines, part = cut
            np.take(source[lines], index[part], axis=1, out=target[cut], mode="wrap")

        # Parts are contiguous in what is written.
        room = max(1, 8 * BLOCK // max(target.shape[2], 1))
        shared(blocks(target.shape[:2], room), move, out.size)

    return read


def _read_staged(runs: Runs) -> Move:
    """One call for each block of lines that is brought together first: a tensor with gaps.

    Only if at least a quarter of each line is wanted; else by slots.
    """
    length, inner = runs.size(runs.indexed), runs.size(runs.inner)
    outer, slots = [runs.layout.shape[d] for d in runs.outer], _read_slots(runs)
    keys = list(blocks(tuple(outer), max(1, _STAGE // (length * inner))))
    counts = [math.prod(len(range(n)[s]) for n, s in zip(outer, key, strict=True)) for key in keys]
    begins = list(itertools.accumulate(counts, initial=0))

    def read(memory: Array, positions: Positions, out: Array) -> None:
        index = runs.merged(positions).reshape(-1)
        if 4 * index.size < length:
            slots(memory, positions, out)
            return
        source, target = memory.transpose(runs.order), runs.in_runs(out)

        def move(piece: tuple[Key, int]) -> None:
            key, begin = piece
            lines = contiguous(source[key]).reshape(-1, length, inner)
            to = target[begin : begin + lines.shape[0]]
            np.take(lines, index, axis=1, out=to, mode="wrap")

        shared(zip(keys, begins, strict=False), move, out.size)

    return read


def _read_lines(name: str, runs: Runs) -> Move:
    """A call for a few lines, which have positions of their own; these are not checked yet.

    They are checked a few lines at a time, and so read from memory once. 4096 lines of 4096
    float32: 24 ms so, 36 by a call for each line, as threads wait for each other between calls.
    """
    size = runs.size(runs.indexed)

    def of_tensor(memory: Array) -> MoveLines:
        source, flat = runs.lines(memory), runs.rows(memory)
        begins = runs.offsets(runs.outer)[:, None] + runs.layout.offset

        def move(lines: Lines, index: Array, target: Array) -> None:
            rows, places = lines
            inside = checked_one(name, index, size)
            if len(places) == 1:  # a long line needs no sums
                source[places[0]].take(inside[0], out=target[0], mode="wrap")
            else:
                flat.take(inside + begins[rows], out=target, mode="wrap")

        return move

    return by_lines(name, runs, of_tensor)


def _read_slices(runs: Runs) -> Move:
    """One copy for each position: long slices of a tensor with gaps."""

    def read(memory: Array, positions: Positions, out: Array) -> None:
        source = memory.transpose(runs.order)
        index = runs.merged(positions).reshape(-1)
        target = out.transpose(runs.major).reshape(index.size, *source.shape[1:])
        for place, position in enumerate(index.tolist()):
            target[place] = source[position]

    return read


def _read_rows(runs: Runs) -> Move:
    """Rows without gaps that lie apart: a row counts as one element, whatever it holds.

    Short ones are brought together first, if at least a quarter of them is wanted.
    """
    inner, size = runs.size(runs.inner), runs.size(runs.indexed)

    def read(memory: Array, positions: Positions, out: Array) -> None:
        index = runs.merged(positions).reshape(-1)
        rows, target = memory.transpose(runs.order).reshape(size, inner), runs.in_runs(out)[0]
        together = inner * memory.itemsize < _LONG and 4 * index.size >= size
        each = in_rows(contiguous(rows) if together else rows, inner)[:, 0]

        def move(cut: slice) -> None:
            places = index[cut]
            found = each.take(places, mode="wrap") if together else each[places]
            target[cut] = found.view(memory.dtype).reshape(-1, inner)

        step = max(1, 4 * BLOCK // inner)
        cuts = (slice(begin, begin + step) for begin in range(0, index.size, step))
        shared(cuts, move, out.size)

    return read


def _read_slots(runs: Runs) -> Move:
    """The slot of every element, or of every long row, whatever the layout."""

    def read(memory: Array, positions: Positions, out: Array) -> None:
        target = runs.in_runs(out)
        long = runs.row * memory.itemsize >= _LONG and target.strides[2] == target.itemsize
        row = runs.row if long else 1
        to = target.view(row_of(target, row)) if row > 1 else target
        rows, slots = runs.rows(memory, row), slots_of(runs, positions, row)

        def move(group: Iterable[Cut]) -> None:
            for cut in group:
                to[cut] = rows[slots(cut)] if row > 1 else rows.take(slots(cut), mode="wrap")

        groups = cuts(runs, to.shape, row)
        if not runs.index_map.per_line:
            groups = ([cut] for group in groups for cut in group)
        shared(groups, move, out.size)

    return read
