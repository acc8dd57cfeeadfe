"""Ways to write at positions that are data, and the choice between them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

import numpy as np

from tensorlayout.cpu.engine.memory import Array, bytes_from
from tensorlayout.cpu.inside import naming_one, signed
from tensorlayout.cpu.runs import (
    Cut,
    Lines,
    Positions,
    Runs,
    column_cuts,
    in_rows,
    line_cuts,
    lines_of,
    row_of,
    shared,
    slots_of,
    widened,
)
from tensorlayout.layout import Layout
from tensorlayout.plan.gathering import Reach

Write = Callable[[Array, Positions, Array], None]

# Elements of a run from which on NumPy's own loops write there faster than slots do; and for one
# value everywhere.
_SLICED, _FILLED = 32, 16


def writer(layout: Layout, reach: Reach) -> Write:
    """``write(memory, positions, value)``, in index order of the positions."""
    turned = {d: result for d, result in reach.kept if layout.strides[d] < 0}
    if turned and not reach.along:  # forwards, rows of several elements may lie side by side
        forwards = layout.flip(list(turned))
        assert forwards is not None, "strided layouts have every flip"
        write = _writer_of(Runs(forwards, reach))
        there = _turn(turned.keys(), layout.ndim)

        def write_turned(memory: Array, positions: Positions, value: Array) -> None:
            write(memory[there], positions, value[_turn(turned.values(), value.ndim)])

        return write_turned
    return _writer_of(Runs(layout, reach))


def _turn(dims: Collection[int], ndim: int) -> tuple[slice, ...]:
    return tuple(slice(None, None, -1 if d in dims else 1) for d in range(ndim))


def _writer_of(runs: Runs) -> Write:
    reach, inner = runs.reach, runs.size(runs.inner)
    if reach.along:
        return _write_slots(runs)
    one = len(reach.dims) == 1
    if runs.size(runs.outer) == 1 and (
        runs.packed(runs.order) or (one and runs.packed(runs.inner))
    ):
        return _write_rows(runs)
    return _write_slices(runs) if one and inner >= _FILLED else _write_slots(runs)


def _write_rows(runs: Runs) -> Write:
    """One call for a tensor whose rows have no gaps, and lie evenly apart.

    A row counts as one element, whatever it holds: 2 M rows of 2 float32 take 14 ms so, and NumPy
    84 (2026-11-21, 2-core AMD EPYC (Zen 4), numpy 2.4.6).
    """
    inner = runs.size(runs.inner)
    shape = (runs.size(runs.indexed), inner)

    def write(memory: Array, positions: Positions, value: Array) -> None:
        index = runs.merged(positions).reshape(-1)
        target, values = memory.transpose(runs.order).reshape(shape), runs.in_runs(value)[0]
        # A view always: of a copy nothing would be kept.
        rows = target.view(row_of(target, inner))[:, 0]
        rows[index] = _each_row(values, inner)

    return write


def write_lines(name: str, runs: Runs) -> Write:
    """One call for each line, which has positions of its own; NumPy checks them, line by line."""
    outer = [runs.layout.shape[d] for d in runs.outer]
    size = runs.size(runs.indexed)

    def write(memory: Array, positions: Positions, value: Array) -> None:
        index, values = runs.in_runs(positions[0])[..., 0], runs.in_runs(value)[..., 0]
        target = runs.lines(memory)

        def move(lines: Lines) -> None:
            rows, places = lines
            for place, line, new in zip(places, signed(index[rows]), values[rows], strict=True):
                target[place][line] = new

        with naming_one(name, index, size):
            shared(lines_of(outer, index.shape[1]), move, value.size)

    return write


def _write_slices(runs: Runs) -> Write:
    """Slices of a tensor with gaps, or behind others, which NumPy writes well by itself."""
    head = [slice(None)] * len(runs.outer)
    each = runs.size(runs.inner) < _SLICED
    slots = _write_slots(runs)

    def write(memory: Array, positions: Positions, value: Array) -> None:
        one = _is_one(value)
        if each and not one:
            slots(memory, positions, value)
            return
        target = memory.transpose(runs.order)
        # NumPy may go backwards through what is not contiguous, and the last one is to win.
        index = np.ascontiguousarray(runs.merged(positions).reshape(-1))
        shape = (*target.shape[: len(head)], index.size, *target.shape[len(head) + 1 :])
        new = value[(0,) * value.ndim] if one else value.transpose(runs.major).reshape(shape)
        key: Any = (*head, index)
        target[key] = new

    return write


def _write_slots(runs: Runs) -> Write:
    """The slot of every element, or of every row, whatever the layout."""
    weights = [runs.layout.strides[d] for d in runs.reach.dims]
    row = 1 if runs.reach.along else runs.row
    far = runs.inner if row == 1 else runs.far

    def write(memory: Array, positions: Positions, value: Array) -> None:
        rows = runs.rows(memory) if row > 1 else bytes_from(memory, runs.layout).view(memory.dtype)
        values = runs.in_runs(value)
        one = _each_row(values[0], row) if _is_one(values) else None
        slots = slots_of(runs, positions, weights, far)

        def move(cuts: Iterable[Cut]) -> None:
            for cut in cuts:
                new = in_rows(values[widened(cut, row)], row) if one is None else one
                # Of one dimension: 4096 x 4096 float32 along the first axis, processor time, 150 ms
                # so, 190 with slots and values of three (2026-11-21, 2-core
                # AMD EPYC (Zen 4), numpy 2.4.6).
                rows[slots(cut).reshape(-1)] = new.reshape(-1) if new.ndim else new

        # What threads share are lines, which do not meet.
        shape = (*values.shape[:2], values.shape[2] // row)
        groups = column_cuts(shape) if runs.reach.along else line_cuts(shape, row)
        shared(groups, move, value.size)

    return write


def _is_one(values: Array) -> bool:
    """Whether all elements are one."""
    return not any(values.strides)


def _each_row(values: Array, row: int) -> Array:
    """The rows of an array of two dimensions, or of rank 0 where one element is all of them.

    NumPy writes 4 M float32 in 25 ms from an array of rank 0, in 53 from one that repeats its
    element (2026-11-21, 2-core AMD EPYC (Zen 4), numpy 2.4.6).
    """
    if _is_one(values):
        return in_rows(np.ascontiguousarray(values[0, :row]), row)[0, ...]
    found: Array = in_rows(values, row)[:, 0]
    return found
