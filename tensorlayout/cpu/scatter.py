"""Writes at positions that are data: values put there, or combined with what is there."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from tensorlayout.cpu.engine.casting import convert_array, scalar_as_array
from tensorlayout.cpu.engine.memory import Array, call_quietly
from tensorlayout.cpu.gather import (
    BLOCK,
    Cut,
    IndexRuns,
    Lines,
    Move,
    MoveLines,
    Positions,
    normalize_positions,
    positions_as_signed,
    row_dtype,
    share_parts,
    view_as_rows,
)
from tensorlayout.plan import (
    RUN,
    CopyScatterPlan,
    ScatterPlan,
    ScatterReducePlan,
    base,
    compile_copy_then_write,
)
from tensorlayout.tensor import Tensor

# Elements of a run from which on NumPy's own loops write there faster than slots do: 640 x 1000 x
# 16 float32 along the second axis 8.9 ms, by slots 22.7.
_SLICED = 16

# What is worked out for so many values stays cached; fresh memory takes longer than all else.
_MANY = 2 * BLOCK

# Values from which on neighbouring columns are not taken together: 500 rows of 2000 float32 added
# to 2000 rows take 6.1 ms, with four times as many 9.8.
_MOST = 16 * BLOCK


def compile_scatter(plan: ScatterPlan) -> base.Write:
    """Write at checked positions; those of long lines are checked a few lines at a time."""
    layout, index_map = plan.result.layout, plan.index_map
    runs, sizes = IndexRuns(layout, index_map), [layout.shape[d] for d in index_map.dims]
    by_line = runs.is_by_line
    write = _make_line_writer(plan.name, runs) if by_line else choose_writer(runs)

    def scatter(x: Tensor, value: Any, *positions: Tensor) -> None:
        places = [p.memory for p in positions]
        if not by_line:
            places = normalize_positions(plan.name, places, sizes)
        values = value_as_array(
            plan.name, x, value
        )  # which may not fit, also where nothing is written
        if 0 not in plan.shape:
            write(x.memory, places, broadcast_value(values, plan.shape))

    return scatter


def compile_copy_scatter(plan: CopyScatterPlan) -> base.Write:
    """Copied, then written at positions."""
    return compile_copy_then_write(plan, compile_scatter(plan.scatter))


def compile_scatter_reduce(plan: ScatterReducePlan) -> base.Write:
    """Return a copy, and what is at positions combined with values in index order, and in runs."""
    scatter, spec = plan.scatter, plan.result
    name, shape, index_map = scatter.name, scatter.shape, scatter.index_map
    sizes, ufunc = [spec.layout.shape[d] for d in index_map.dims], getattr(np, plan.function)
    runs = IndexRuns(spec.layout, index_map)
    order_matters = plan.function == "add" and spec.dtype.kind not in "iu"  # whether the order does

    def reduce(out: Tensor, value: Tensor, *positions: Tensor) -> None:
        places = normalize_positions(name, [p.memory for p in positions], sizes)
        if 0 in shape:
            return
        if index_map.per_line:
            places = [np.broadcast_to(position, shape) for position in places]
        values = runs.as_runs(broadcast_value(value_as_array(name, out, value), shape))
        flat, slots = runs.overlapping_rows(out.memory), runs.slot_function(places)
        # Of one dimension NumPy is ten times faster.
        if values.shape[1] < RUN or not order_matters:
            for cut in itertools.chain.from_iterable(runs.cache_sized_cuts(values.shape)):
                call_quietly(ufunc.at, flat, slots(cut).reshape(-1), values[cut].reshape(-1))
        else:
            _combine_values_in_runs(ufunc, flat, slots, values)

    return compile_copy_then_write(plan, reduce)


def value_as_array(name: str, x: Tensor, value: Any) -> Array:
    """Return the value to write as an array in the dtype of `x`."""
    if not isinstance(value, Tensor):
        return scalar_as_array(name, x.dtype, value)
    return convert_array(value.memory, x.dtype)


def broadcast_value(value: Array, shape: tuple[int, ...]) -> Array:
    """Return `value` broadcast to `shape`; leading dimensions of size 1 that are too many go."""
    surplus = max(value.ndim - len(shape), 0)
    return np.broadcast_to(value.reshape(value.shape[surplus:]), shape)


# ---- Ways to write


def choose_writer(runs: IndexRuns) -> Move:
    """``write(memory, positions, value)``, in index order of the positions."""
    index_map, inner = runs.index_map, runs.element_count(runs.inner)
    if index_map.per_line:
        return _make_slot_writer(runs)
    is_one_dim = len(index_map.dims) == 1
    if runs.element_count(runs.outer) == 1 and (
        runs.is_packed(runs.order) or (is_one_dim and runs.is_packed(runs.inner))
    ):
        return _make_row_writer(runs)
    return _make_slice_writer(runs) if is_one_dim and inner >= _SLICED else _make_slot_writer(runs)


def _make_row_writer(runs: IndexRuns) -> Move:
    """Return one call, each row an element: 2 M rows of 2 float32 14 ms, NumPy 84."""
    inner = runs.element_count(runs.inner)
    shape = (runs.element_count(runs.indexed), inner)

    def write(memory: Array, positions: Positions, value: Array) -> None:
        index = runs.merged_positions(positions)
        target, values = memory.transpose(runs.order).reshape(shape), runs.as_runs(value)[0]
        # A view always: of a copy nothing would be kept.
        rows = target.view(row_dtype(target, inner))[:, 0]
        rows[index] = _rows_as_elements(values, inner)

    return write


def _make_line_writer(name: str, runs: IndexRuns) -> Move:
    """One call for each line, which has positions of its own; NumPy checks them, line by line."""

    def make_mover_for(memory: Array) -> MoveLines:
        target = runs.line_view(memory)

        def move(lines: Lines, index: Array, values: Array) -> None:
            for place, line, line_values in zip(
                lines[1], positions_as_signed(index), values, strict=True
            ):
                target[place][line] = line_values

        return move

    return runs.make_line_mover(name, make_mover_for)


def _make_slice_writer(runs: IndexRuns) -> Move:
    """Slices of a tensor with gaps, or behind others, which NumPy writes well by itself."""
    head = [slice(None)] * len(runs.outer)

    def write(memory: Array, positions: Positions, value: Array) -> None:
        target = memory.transpose(runs.order)
        # NumPy may go backwards through what is not contiguous, and the last one is to win.
        index = np.ascontiguousarray(runs.merged_positions(positions))
        shape = (*target.shape[: len(head)], index.size, *target.shape[len(head) + 1 :])
        key: Any = (*head, index)
        new_values = value.transpose(runs.major).reshape(shape)
        target[key] = new_values[(0,) * new_values.ndim] if _is_single_value(value) else new_values

    return write


def _make_slot_writer(runs: IndexRuns) -> Move:
    """Return the slot of every element, or of every row, whatever the layout."""
    row = runs.row_length

    def write(memory: Array, positions: Positions, value: Array) -> None:
        rows, values = runs.overlapping_rows(memory, row), runs.as_runs(value)
        single_row = _rows_as_elements(values[0], row) if _is_single_value(values) else None
        slots = runs.slot_function(positions, row)

        def move(group: Iterable[Cut]) -> None:
            for cut in group:
                *lines, last = cut
                part = (*lines, slice(last.start * row, last.stop * row))
                new_rows = view_as_rows(values[part], row) if single_row is None else single_row
                # Of one dimension: 4096 x 4096 float32 along the first axis, processor time, 150 ms
                # so, 190 with slots and values of three.
                rows[slots(cut).reshape(-1)] = new_rows.reshape(-1) if new_rows.ndim else new_rows

        # What threads share are lines, which do not meet.
        shape = (*values.shape[:2], values.shape[2] // row)
        share_parts(runs.cache_sized_cuts(shape, row), move, value.size)

    return write


def _is_single_value(values: Array) -> bool:
    """Return whether all elements are one."""
    return not any(values.strides)


def _rows_as_elements(values: Array, row: int) -> Array:
    """Return the rows of an array, or rank 0 for one: from that 4 M float32 take 25 ms, not 53."""
    if _is_single_value(values):
        return view_as_rows(np.ascontiguousarray(values[0, :row]), row)[0, ...]
    return view_as_rows(values, row)[:, 0]


# ---- Values combined in runs: sums of floats that all devices take in the same order


def _combine_values_in_runs(
    ufunc: Any, flat: Array, slots_of_cut: Callable[[Cut], Array], values: Array
) -> None:
    """``np.add.at(flat, slots, values)`` in runs, of (outer, middle, inner), by parts of `flat`."""
    outer, middle, inner = values.shape
    span = flat.size // outer
    lines, columns = max(1, _MANY // (middle * inner)), max(1, _MOST // middle)
    for line, column in itertools.product(range(0, outer, lines), range(0, inner, columns)):
        cut = slice(line, line + lines), slice(None), slice(column, column + columns)
        slots = slots_of_cut(cut).reshape(-1)
        part = flat[line * span : (line + lines) * span]
        _combine_values(ufunc, part, slots - line * span, values[cut].reshape(-1))


def _slot_value_chunks(
    slots: Array, values: Array, size: int = _MANY
) -> Iterator[tuple[Array, Array]]:
    """Return slots and values, so many at a time."""
    for k in range(0, slots.size, size):
        yield slots[k : k + size], values[k : k + size]


def _combine_values(ufunc: Any, flat: Array, slots: Array, values: Array) -> None:
    """``np.add.at`` in runs; of many more slots than values, frequent ones are numbered."""
    sparse = flat.size > 2 * slots.size
    counts = np.zeros(2 * slots.size + 1 if sparse else flat.size, np.intp)
    for slot_chunk, _ in _slot_value_chunks(slots, values):
        np.add.at(counts, slot_chunk % counts.size if sparse else slot_chunk, 1)
    frequent_slots = np.flatnonzero(counts >= RUN)
    if not frequent_slots.size:
        call_quietly(ufunc.at, flat, slots, values)
    elif sparse:
        is_frequent = counts.take(slots % counts.size) >= RUN
        call_quietly(ufunc.at, flat, slots[~is_frequent], values[~is_frequent])
        used, places = np.unique(slots[is_frequent], return_inverse=True)
        part = flat[used]
        _combine_values(ufunc, part, places, values[is_frequent])
        flat[used] = part
    else:
        _combine_frequent_slots(ufunc, flat, slots, values, counts[frequent_slots], frequent_slots)


def _combine_frequent_slots(
    ufunc: Any, flat: Array, slots: Array, values: Array, counts: Array, frequent_slots: Array
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
    if frequent_slots.size < flat.size:
        place_of = np.full(flat.size, frequent_slots.size)
        place_of[frequent_slots] = np.arange(frequent_slots.size)
    run_totals = -np.zeros(is_left.size, flat.dtype)  # to which -0 may be added too
    seen_counts = (last - runs) * RUN
    leftovers = []
    width = 16 * runs.size  # of a cell: a run ends in one of 16
    size = max(_MANY, width)
    rows = -(-size // width)
    cells = np.repeat(np.arange(0, rows * runs.size, runs.size), width)[:size]
    for slot_chunk, value_chunk in _slot_value_chunks(slots, values, size):
        places = slot_chunk if place_of is None else place_of.take(slot_chunk)
        number = _run_numbers(places, cells, seen_counts, last[-1])
        call_quietly(ufunc.at, run_totals, number, value_chunk)
        if place_of is not None:
            others = np.flatnonzero(number == last[-1])
            call_quietly(ufunc.at, flat, slot_chunk[others], value_chunk[others])
        if (seen_counts > last * RUN)[:-1].any():
            others = np.flatnonzero(is_left.take(number))
            leftovers.append((slot_chunk[others], value_chunk[others]))
    _combine_values(ufunc, flat, np.repeat(frequent_slots, runs[:-1]), run_totals[of_runs])
    for slot_chunk, value_chunk in leftovers:
        call_quietly(ufunc.at, flat, slot_chunk, value_chunk)


def _run_numbers(places: Array, cells: Array, seen_counts: Array, last: int) -> Array:
    """The number of the run of each value: its rank in its place, of which so many were `seen`.

    All values of a place in a cell of few neighbours have one, but where a run ends.
    """
    key = places + cells[: places.size]
    sizes = np.bincount(key, minlength=cells[places.size - 1] + seen_counts.size)
    ends = np.cumsum(sizes.reshape(-1, seen_counts.size), axis=0)
    ends += seen_counts
    seen_counts[:] = ends[-1]
    ends = ends.reshape(-1)
    begins = ends - sizes
    numbers = np.minimum(begins // RUN, last)
    torn = np.flatnonzero((numbers + 1) * RUN < ends)
    torn = torn[numbers[torn] < last]
    numbers[torn] = -1
    number: Array = numbers.take(key)
    if torn.size:
        torn_values = np.flatnonzero(number < 0)
        near = key[torn_values]
        order = np.argsort(near.astype(np.uint16) if sizes.size <= 2**16 else near, kind="stable")
        counts = sizes[torn]
        ranks = np.repeat(begins[torn] - (np.cumsum(counts) - counts), counts)
        ranks += np.arange(torn_values.size)
        ranks //= RUN
        number[torn_values[order]] = ranks
    return number
