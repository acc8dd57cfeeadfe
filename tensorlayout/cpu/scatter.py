"""Writes at positions that are data: values put there, or combined with what is there."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from tensorlayout.cpu.engine.casting import converted, scalar_in
from tensorlayout.cpu.engine.memory import Array, quietly
from tensorlayout.cpu.gather import (
    BLOCK,
    Cut,
    Lines,
    Move,
    MoveLines,
    Positions,
    Runs,
    checked,
    in_rows,
    row_of,
    shared,
    signed,
)
from tensorlayout.plan import RUN, CopyScatterPlan, ScatterPlan, ScatterReducePlan, after_copy, base
from tensorlayout.tensor import Tensor

# Elements of a run from which on NumPy's own loops write there faster than slots do: 640 x 1000 x
# 16 float32 along the second axis 8.9 ms, by slots 22.7.
_SLICED = 16

# What is worked out for so many values stays cached; fresh memory takes longer than all else.
_MANY = 2 * BLOCK

# Values from which on neighbouring columns are not taken together: 500 rows of 2000 float32 added
# to 2000 rows take 6.1 ms, with four times as many 9.8.
_MOST = 16 * BLOCK


def write_scatter(plan: ScatterPlan) -> base.Write:
    """Write at checked positions; those of long lines are checked a few lines at a time."""
    layout, index_map = plan.result.layout, plan.index_map
    runs, sizes = Runs(layout, index_map), [layout.shape[d] for d in index_map.dims]
    by_line = runs.is_by_line
    write = _write_lines(plan.name, runs) if by_line else writer(runs)

    def scatter(x: Tensor, value: Any, *positions: Tensor) -> None:
        places = [p.memory for p in positions]
        if not by_line:
            places = checked(plan.name, places, sizes)
        values = value_in(plan.name, x, value)  # which may not fit, also where nothing is written
        if 0 not in plan.shape:
            write(x.memory, places, broadcast(values, plan.shape))

    return scatter


def write_copy_scatter(plan: CopyScatterPlan) -> base.Write:
    """Copied, then written at positions."""
    return after_copy(plan, write_scatter(plan.scatter))


def write_scatter_reduce(plan: ScatterReducePlan) -> base.Write:
    """A copy, and what is at positions combined with values in index order, and in runs."""
    scatter, spec = plan.scatter, plan.result
    name, shape, index_map = scatter.name, scatter.shape, scatter.index_map
    sizes, ufunc = [spec.layout.shape[d] for d in index_map.dims], getattr(np, plan.function)
    runs = Runs(spec.layout, index_map)
    matters = plan.function == "add" and spec.dtype.kind not in "iu"  # whether the order does

    def reduce(out: Tensor, value: Tensor, *positions: Tensor) -> None:
        places = checked(name, [p.memory for p in positions], sizes)
        if 0 in shape:
            return
        if index_map.per_line:
            places = [np.broadcast_to(each, shape) for each in places]
        values = runs.in_runs(broadcast(value_in(name, out, value), shape))
        flat, slots = runs.rows(out.memory), runs.slots(places)
        # Of one dimension NumPy is ten times faster.
        if values.shape[1] < RUN or not matters:
            for cut in itertools.chain.from_iterable(runs.cuts(values.shape)):
                quietly(ufunc.at, flat, slots(cut).reshape(-1), values[cut].reshape(-1))
        else:
            _combine_in_runs(ufunc, flat, slots, values)

    return after_copy(plan, reduce)


def value_in(name: str, x: Tensor, value: Any) -> Array:
    """What is to be written, in the dtype of `x`."""
    if not isinstance(value, Tensor):
        return scalar_in(name, x.dtype, value)
    return converted(value.memory, x.dtype)


def broadcast(value: Array, shape: tuple[int, ...]) -> Array:
    """`value` broadcast to `shape`; leading dimensions of size 1 that are too many go."""
    surplus = max(value.ndim - len(shape), 0)
    return np.broadcast_to(value.reshape(value.shape[surplus:]), shape)


# ---- Ways to write


def writer(runs: Runs) -> Move:
    """``write(memory, positions, value)``, in index order of the positions."""
    index_map, inner = runs.index_map, runs.size(runs.inner)
    if index_map.per_line:
        return _write_slots(runs)
    one = len(index_map.dims) == 1
    if runs.size(runs.outer) == 1 and (
        runs.packed(runs.order) or (one and runs.packed(runs.inner))
    ):
        return _write_rows(runs)
    return _write_slices(runs) if one and inner >= _SLICED else _write_slots(runs)


def _write_rows(runs: Runs) -> Move:
    """One call, each row an element: 2 M rows of 2 float32 14 ms, NumPy 84."""
    inner = runs.size(runs.inner)
    shape = (runs.size(runs.indexed), inner)

    def write(memory: Array, positions: Positions, value: Array) -> None:
        index = runs.merged(positions)
        target, values = memory.transpose(runs.order).reshape(shape), runs.in_runs(value)[0]
        # A view always: of a copy nothing would be kept.
        rows = target.view(row_of(target, inner))[:, 0]
        rows[index] = _each_row(values, inner)

    return write


def _write_lines(name: str, runs: Runs) -> Move:
    """One call for each line, which has positions of its own; NumPy checks them, line by line."""

    def of_tensor(memory: Array) -> MoveLines:
        target = runs.lines(memory)

        def move(lines: Lines, index: Array, values: Array) -> None:
            for place, line, new in zip(lines[1], signed(index), values, strict=True):
                target[place][line] = new

        return move

    return runs.by_lines(name, of_tensor)


def _write_slices(runs: Runs) -> Move:
    """Slices of a tensor with gaps, or behind others, which NumPy writes well by itself."""
    head = [slice(None)] * len(runs.outer)

    def write(memory: Array, positions: Positions, value: Array) -> None:
        target = memory.transpose(runs.order)
        # NumPy may go backwards through what is not contiguous, and the last one is to win.
        index = np.ascontiguousarray(runs.merged(positions))
        shape = (*target.shape[: len(head)], index.size, *target.shape[len(head) + 1 :])
        key: Any = (*head, index)
        new = value.transpose(runs.major).reshape(shape)
        target[key] = new[(0,) * new.ndim] if _is_one(value) else new

    return write


def _write_slots(runs: Runs) -> Move:
    """The slot of every element, or of every row, whatever the layout."""
    row = runs.row

    def write(memory: Array, positions: Positions, value: Array) -> None:
        rows, values = runs.rows(memory, row), runs.in_runs(value)
        one = _each_row(values[0], row) if _is_one(values) else None
        slots = runs.slots(positions, row)

        def move(group: Iterable[Cut]) -> None:
            for cut in group:
                *lines, last = cut
                part = (*lines, slice(last.start * row, last.stop * row))
                new = in_rows(values[part], row) if one is None else one
                # Of one dimension: 4096 x 4096 float32 along the first axis, processor time, 150 ms
                # so, 190 with slots and values of three.
                rows[slots(cut).reshape(-1)] = new.reshape(-1) if new.ndim else new

        # What threads share are lines, which do not meet.
        shape = (*values.shape[:2], values.shape[2] // row)
        shared(runs.cuts(shape, row), move, value.size)

    return write


def _is_one(values: Array) -> bool:
    """Return whether all elements are one."""
    return not any(values.strides)


def _each_row(values: Array, row: int) -> Array:
    """The rows of an array, or rank 0 for one: from that 4 M float32 take 25 ms, not 53."""
    if _is_one(values):
        return in_rows(np.ascontiguousarray(values[0, :row]), row)[0, ...]
    return in_rows(values, row)[:, 0]


# ---- Values combined in runs: sums of floats that all devices take in the same order


def _combine_in_runs(
    ufunc: Any, flat: Array, slots_in: Callable[[Cut], Array], values: Array
) -> None:
    """``np.add.at(flat, slots, values)`` in runs, of (outer, middle, inner), by parts of `flat`."""
    outer, middle, inner = values.shape
    span = flat.size // outer
    lines, columns = max(1, _MANY // (middle * inner)), max(1, _MOST // middle)
    for line, column in itertools.product(range(0, outer, lines), range(0, inner, columns)):
        cut = slice(line, line + lines), slice(None), slice(column, column + columns)
        slots = slots_in(cut).reshape(-1)
        part = flat[line * span : (line + lines) * span]
        _combine(ufunc, part, slots - line * span, values[cut].reshape(-1))


def _pieces(slots: Array, values: Array, size: int = _MANY) -> Iterator[tuple[Array, Array]]:
    """Slots and values, so many at a time."""
    for k in range(0, slots.size, size):
        yield slots[k : k + size], values[k : k + size]


def _combine(ufunc: Any, flat: Array, slots: Array, values: Array) -> None:
    """``np.add.at`` in runs; of many more slots than values, frequent ones are numbered."""
    sparse = flat.size > 2 * slots.size
    counts = np.zeros(2 * slots.size + 1 if sparse else flat.size, np.intp)
    for some, _ in _pieces(slots, values):
        np.add.at(counts, some % counts.size if sparse else some, 1)
    often = np.flatnonzero(counts >= RUN)
    if not often.size:
        quietly(ufunc.at, flat, slots, values)
    elif sparse:
        many = counts.take(slots % counts.size) >= RUN
        quietly(ufunc.at, flat, slots[~many], values[~many])
        used, places = np.unique(slots[many], return_inverse=True)
        part = flat[used]
        _combine(ufunc, part, places, values[many])
        flat[used] = part
    else:
        _in_runs(ufunc, flat, slots, values, counts[often], often)


def _in_runs(
    ufunc: Any, flat: Array, slots: Array, values: Array, counts: Array, often: Array
) -> None:
    """``np.add.at`` in runs, given the slots of `RUN` values or more, and how many each has."""
    # Each of these slots is a place, and so are all others together, the last. The runs of a place
    # have numbers; of the values left of them, that follow, the number is one that `is_left`.
    runs = np.append(counts // RUN, 0)
    last = np.cumsum(runs + 1) - 1
    is_left = np.zeros(last[-1] + 1, bool)
    is_left[last] = True
    of_runs = np.flatnonzero(~is_left)
    is_left[-1] = False
    place_of = None
    if often.size < flat.size:
        place_of = np.full(flat.size, often.size)
        place_of[often] = np.arange(often.size)
    found = -np.zeros(is_left.size, flat.dtype)  # to which -0 may be added too
    seen = (last - runs) * RUN
    left = []
    width = 16 * runs.size  # of a cell: a run ends in one of 16
    size = max(_MANY, width)
    rows = -(-size // width)
    cells = np.repeat(np.arange(0, rows * runs.size, runs.size), width)[:size]
    for some, new in _pieces(slots, values, size):
        places = some if place_of is None else place_of.take(some)
        number = _numbers(places, cells, seen, last[-1])
        quietly(ufunc.at, found, number, new)
        if place_of is not None:
            others = np.flatnonzero(number == last[-1])
            quietly(ufunc.at, flat, some[others], new[others])
        if (seen > last * RUN)[:-1].any():
            others = np.flatnonzero(is_left.take(number))
            left.append((some[others], new[others]))
    _combine(ufunc, flat, np.repeat(often, runs[:-1]), found[of_runs])
    for some, new in left:
        quietly(ufunc.at, flat, some, new)


def _numbers(places: Array, cells: Array, seen: Array, last: int) -> Array:
    """The number of the run of each value: its rank in its place, of which so many were `seen`.

    All values of a place in a cell of few neighbours have one, but where a run ends.
    """
    key = places + cells[: places.size]
    sizes = np.bincount(key, minlength=cells[places.size - 1] + seen.size)
    ends = np.cumsum(sizes.reshape(-1, seen.size), axis=0)
    ends += seen
    seen[:] = ends[-1]
    ends = ends.reshape(-1)
    begins = ends - sizes
    numbers = np.minimum(begins // RUN, last)
    torn = np.flatnonzero((numbers + 1) * RUN < ends)
    torn = torn[numbers[torn] < last]
    numbers[torn] = -1
    number: Array = numbers.take(key)
    if torn.size:
        found = np.flatnonzero(number < 0)
        near = key[found]
        order = np.argsort(near.astype(np.uint16) if sizes.size <= 2**16 else near, kind="stable")
        counts = sizes[torn]
        ranks = np.repeat(begins[torn] - (np.cumsum(counts) - counts), counts)
        ranks += np.arange(found.size)
        ranks //= RUN
        number[found[order]] = ranks
    return number
