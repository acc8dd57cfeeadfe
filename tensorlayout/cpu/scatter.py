"""Scatters on the CPU: assign values at index arrays, or combine them with existing elements."""

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
    move_parts_in_threads,
    normalize_positions,
    positions_clamped_to_intp,
    row_dtype,
    view_rows_as_elements,
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

# Run length from which on NumPy's own loops write faster than slots: 640 x 1000 x 16 float32 along
# the second axis takes 8.9 ms, by slots 22.7.
_SLICED = 16

# Number of values whose intermediate arrays fit the cache; page faults in newly allocated memory
# take longer than everything else.
_MANY = 2 * BLOCK

# Number of values up to which neighbouring columns are processed together: adding 500 rows of 2000
# float32 to 2000 rows takes 6.1 ms, and 9.8 with a limit four times as large.
_MOST = 16 * BLOCK


def compile_scatter(plan: ScatterPlan) -> base.Write:
    """Compile a write at checked positions; long lines are checked a few at a time."""
    layout, index_map = plan.result.layout, plan.index_map
    runs, sizes = IndexRuns(layout, index_map), [layout.shape[d] for d in index_map.dims]
    by_line = runs.is_by_line
    write = _make_line_writer(plan.name, runs) if by_line else choose_writer(runs)

    def scatter_into_tensor(x: Tensor, value: Any, *positions: Tensor) -> None:
        places = [p.memory for p in positions]
        if not by_line:
            places = normalize_positions(plan.name, places, sizes)
        # Before the test for emptiness: a value that does not fit raises in any case.
        values = value_as_array(plan.name, x, value)
        if 0 not in plan.shape:
            write(x.memory, places, broadcast_value(values, plan.shape))

    return scatter_into_tensor


def compile_copy_scatter(plan: CopyScatterPlan) -> base.Write:
    """Compile a copy, then a write at positions."""
    return compile_copy_then_write(plan, compile_scatter(plan.scatter))


def compile_scatter_reduce(plan: ScatterReducePlan) -> base.Write:
    """Compile a copy whose elements at positions are combined with values, in index order."""
    scatter, spec = plan.scatter, plan.result
    name, shape, index_map = scatter.name, scatter.shape, scatter.index_map
    sizes, ufunc = [spec.layout.shape[d] for d in index_map.dims], getattr(np, plan.function)
    runs = IndexRuns(spec.layout, index_map)
    # Sums of floats depend on the order of additions, so all devices add in the same runs.
    order_matters = plan.function == "add" and spec.dtype.kind not in "iu"

    def combine_at_positions(out: Tensor, value: Tensor, *positions: Tensor) -> None:
        places = normalize_positions(name, [p.memory for p in positions], sizes)
        if 0 in shape:
            return
        if index_map.per_line:
            places = [np.broadcast_to(position, shape) for position in places]
        values = runs.as_outer_middle_inner(
            broadcast_value(value_as_array(name, out, value), shape)
        )
        flat, slots = runs.overlapping_rows(out.memory), runs.slot_function(places)
        # ufunc.at is ten times faster on one-dimensional arrays.
        if values.shape[1] < RUN or not order_matters:
            for cut in itertools.chain.from_iterable(runs.cache_sized_cuts(values.shape)):
                call_quietly(ufunc.at, flat, slots(cut).reshape(-1), values[cut].reshape(-1))
        else:
            _combine_values_in_runs(ufunc, flat, slots, values)

    return compile_copy_then_write(plan, combine_at_positions)


def value_as_array(name: str, x: Tensor, value: Any) -> Array:
    """Return the value as an array in the dtype of `x`."""
    if not isinstance(value, Tensor):
        return scalar_as_array(name, x.dtype, value)
    return convert_array(value.memory, x.dtype)


def broadcast_value(value: Array, shape: tuple[int, ...]) -> Array:
    """Return `value` broadcast to `shape`; surplus leading dimensions of size 1 are removed."""
    surplus = max(value.ndim - len(shape), 0)
    return np.broadcast_to(value.reshape(value.shape[surplus:]), shape)


# ---- Write strategies


def choose_writer(runs: IndexRuns) -> Move:
    """Return ``write(memory, positions, value)``, which writes in index order."""
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
    """Return a writer of rows as single elements: 2 M rows of 2 float32 14 ms, NumPy 84."""
    inner = runs.element_count(runs.inner)
    shape = (runs.element_count(runs.indexed), inner)

    def write_rows(memory: Array, positions: Positions, value: Array) -> None:
        index = runs.merged_positions(positions)
        target = memory.transpose(runs.order).reshape(shape)
        values = runs.as_outer_middle_inner(value)[0]
        # This must be a view: writes to a copy would be lost.
        rows = target.view(row_dtype(target, inner))[:, 0]
        rows[index] = _rows_as_elements(values, inner)

    return write_rows


def _make_line_writer(name: str, runs: IndexRuns) -> Move:
    """Return a writer with one call per line; NumPy checks each line's own positions."""

    def make_line_scatterer(memory: Array) -> MoveLines:
        target = runs.line_view(memory)

        def scatter_lines(lines: Lines, index: Array, values: Array) -> None:
            for place, line, line_values in zip(
                lines[1], positions_clamped_to_intp(index), values, strict=True
            ):
                target[place][line] = line_values

        return scatter_lines

    return runs.make_line_mover(name, make_line_scatterer)


def _make_slice_writer(runs: IndexRuns) -> Move:
    """Return a writer of slices of a tensor with gaps, by NumPy's own indexing."""
    head = [slice(None)] * len(runs.outer)

    def write_slices(memory: Array, positions: Positions, value: Array) -> None:
        target = memory.transpose(runs.order)
        # NumPy may walk a non-contiguous index backwards, but the last of equal positions must win.
        index = np.ascontiguousarray(runs.merged_positions(positions))
        shape = (*target.shape[: len(head)], index.size, *target.shape[len(head) + 1 :])
        key: Any = (*head, index)
        new_values = value.transpose(runs.major).reshape(shape)
        target[key] = new_values[(0,) * new_values.ndim] if _is_single_value(value) else new_values

    return write_slices


def _make_slot_writer(runs: IndexRuns) -> Move:
    """Return a writer for any layout: by the slot of every element or row."""
    row = runs.row_length

    def write_slots(memory: Array, positions: Positions, value: Array) -> None:
        rows, values = runs.overlapping_rows(memory, row), runs.as_outer_middle_inner(value)
        single_row = _rows_as_elements(values[0], row) if _is_single_value(values) else None
        slots = runs.slot_function(positions, row)

        def scatter_rows_of_group(group: Iterable[Cut]) -> None:
            for cut in group:
                *lines, last = cut
                part = (*lines, slice(last.start * row, last.stop * row))
                new_rows = (
                    view_rows_as_elements(values[part], row) if single_row is None else single_row
                )
                # One-dimensional, because 4096 x 4096 float32 along the first axis take 150 ms of
                # processor time that way, and 190 with three-dimensional slots and values.
                rows[slots(cut).reshape(-1)] = new_rows.reshape(-1) if new_rows.ndim else new_rows

        # Threads share lines, which are disjoint in memory.
        shape = (*values.shape[:2], values.shape[2] // row)
        move_parts_in_threads(runs.cache_sized_cuts(shape, row), scatter_rows_of_group, value.size)

    return write_slots


def _is_single_value(values: Array) -> bool:
    """Return whether all elements are one broadcast value."""
    return not any(values.strides)


def _rows_as_elements(values: Array, row: int) -> Array:
    """Return rows as elements; rank 0 for one value: 4 M float32 25 ms instead of 53."""
    if _is_single_value(values):
        return view_rows_as_elements(np.ascontiguousarray(values[0, :row]), row)[0, ...]
    return view_rows_as_elements(values, row)[:, 0]


# ---- Combining values in runs: all devices add floats in the same order


def _combine_values_in_runs(
    ufunc: Any, flat: Array, slots_of_cut: Callable[[Cut], Array], values: Array
) -> None:
    """Apply `ufunc` at slots in runs, part by part; `values` have shape (outer, middle, inner)."""
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
    """Yield slots and values in chunks of `size`."""
    for k in range(0, slots.size, size):
        yield slots[k : k + size], values[k : k + size]


def _combine_values(ufunc: Any, flat: Array, slots: Array, values: Array) -> None:
    """Apply `ufunc` at slots in runs; if `flat` is sparse, frequent slots are renumbered first."""
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
    """Apply `ufunc` in runs, given the slots with `RUN` or more values and their counts."""
    # Each frequent slot is a place; all other slots together are the last place. The runs of a
    # place are numbered consecutively, followed by one number, marked in `is_left`, for the values
    # that do not fill a run.
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
    run_totals = -np.zeros(is_left.size, flat.dtype)  # -0, because 0 + -0 would lose the sign
    seen_counts = (last - runs) * RUN
    leftovers = []
    width = 16 * runs.size  # values per cell, so that about one in 16 contains the end of a run
    size = max(_MANY, width)
    rows = -(-size // width)
    cells = np.repeat(np.arange(0, rows * runs.size, runs.size), width)[:size]
    for slot_chunk, value_chunk in _slot_value_chunks(slots, values, size):
        places = slot_chunk if place_of is None else place_of.take(slot_chunk)
        number = _run_of_each_value(places, cells, seen_counts, last[-1])
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


def _run_of_each_value(places: Array, cells: Array, seen_counts: Array, last_run: int) -> Array:
    """Return the run number of each value, from its rank in its place; update `seen_counts`.

    Values of one place in one cell share a run number, unless a run ends within the cell.
    """
    key = places + cells[: places.size]
    sizes = np.bincount(key, minlength=cells[places.size - 1] + seen_counts.size)
    ends = np.cumsum(sizes.reshape(-1, seen_counts.size), axis=0)
    ends += seen_counts
    seen_counts[:] = ends[-1]
    ends = ends.reshape(-1)
    begins = ends - sizes
    numbers = np.minimum(begins // RUN, last_run)
    torn = np.flatnonzero((numbers + 1) * RUN < ends)
    torn = torn[numbers[torn] < last_run]
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
