"""Cumulative sums and products on the CPU."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorlayout.cpu.engine.casting import is_half_float, round_before_bfloat16, widen_to_float32
from tensorlayout.cpu.engine.memory import UNALIGNED, Array, call_quietly, quiet
from tensorlayout.cpu.engine.sharing import share_pieces
from tensorlayout.cpu.engine.threads import get_num_threads
from tensorlayout.cpu.reduce.fold import BLOCK, SMALL, accumulator_dtype, block_boxes
from tensorlayout.dtypes import DType
from tensorlayout.plan import Run, ScanPlan, Write
from tensorlayout.tensor import Tensor

# With at least `_ROWS` lines, `_SIDE_BY_SIDE` of them neighbours in memory, whole rows are added at
# once: 2048 x 2048 float32 along the first axis takes 4.8 ms, and 43 line by line, as in NumPy.
_ROWS = 128
_SIDE_BY_SIDE = 16

# NumPy releases the interpreter lock only while it scans more than 500 lines, or a single one.
# 2048 x 2048 float32 along the last axis takes, in two threads, 19 ms in blocks of 64 lines and 12
# in blocks of 512; in one thread 16 and 20.
_UNLOCKED = 512
_LONG = 1 << 15

# Elements of a row: as float64 they fill a first-level cache.
_ROW = 4096


def compile_scan(plan: ScanPlan) -> Write:
    """Compile a scan of each line; floats are accumulated in float64 and rounded once."""
    layout, initial = plan.source.layout, plan.initial
    ufunc, start = _FUNCTIONS[plan.operation.function_name]
    minor = layout.minor_to_major
    side_by_side = math.prod(layout.shape[d] for d in minor[: minor.index(plan.dim)])
    rows = side_by_side >= _SIDE_BY_SIDE and layout.size >= _ROWS * layout.shape[plan.dim]
    scan = _scan_by_rows if rows else _scan_by_lines
    wide = accumulator_dtype(plan.result.dtype)
    order = (*[d for d in reversed(minor) if d != plan.dim], plan.dim)

    def scan_arrays(out: Array, x: Array) -> None:
        if initial:
            out[..., :1] = start
            out = out[..., 1:]
            x = x[..., : out.shape[-1]]
        if out.size:
            scan(ufunc, x, out, wide)

    def scan_into_out(out: Tensor, x: Tensor) -> None:
        if out.size:
            call_quietly(scan_arrays, out.memory.transpose(order), x.memory.transpose(order))

    return scan_into_out


def compile_allocating(plan: ScanPlan) -> Run | None:
    """Compile a scan of few row-major elements to one NumPy call; None for other plans."""
    layout, spec, copy, new = plan.source.layout, plan.result, quiet.copy, object.__new__
    dtype, wide, dim = spec.dtype, accumulator_dtype(spec.dtype), plan.dim
    few = 0 < layout.size <= SMALL and spec.layout.nbytes(dtype) <= UNALIGNED
    plain = layout.is_row_major and not plan.initial
    if not (few and plain) or is_half_float(plan.source.dtype) or is_half_float(dtype):
        return None
    accumulate = _FUNCTIONS[plan.operation.function_name][0].accumulate

    def accumulate_array(x: Array) -> Any:
        return accumulate(x, dim, wide).astype(dtype, copy=False)

    def allocate_and_scan(x: Tensor) -> Tensor:
        tensor = new(Tensor)
        tensor.memory, tensor.spec, tensor.home = copy().run(accumulate_array, x.memory), spec, None
        return tensor

    return allocate_and_scan


# The ufunc that combines a total and an element, and the initial total.
_FUNCTIONS: dict[str, tuple[Any, int]] = {"prod": (np.multiply, 1), "sum": (np.add, 0)}


def _scan_by_lines(ufunc: Any, x: Array, out: Array, wide: DType) -> None:
    """Scan blocks of lines by NumPy's accumulate; threads share the blocks."""
    plain = lambda ufunc, x, out, wide: ufunc.accumulate(x, -1, wide, out)  # noqa: E731
    scan_lines = plain if wide == out.dtype else _scan_converted_lines
    lines, n = x.shape[:-1], x.shape[-1]
    room = max(_UNLOCKED if get_num_threads() > 1 else _SIDE_BY_SIDE, BLOCK // n)
    keys: Any = np.ndindex(lines) if n >= _LONG else block_boxes(lines, room)
    share_pieces(keys, lambda key: scan_lines(ufunc, x[key], out[key], wide))


def _scan_converted_lines(ufunc: Any, x: Array, out: Array, wide: DType) -> None:
    """Scan lines piece by piece in `wide`, which is not the result's dtype."""
    n = x.shape[-1]
    previous_total: Array | None = None
    step = max(1, BLOCK * n // x.size)
    for start in range(0, n, step):
        piece = (..., slice(start, start + step))
        values = _widen_row_major(x[piece], wide)
        if previous_total is not None:
            values[..., :1] = ufunc(previous_total, values[..., :1])
        totals = ufunc.accumulate(values, -1)
        previous_total = totals[..., -1:]
        out[piece] = round_before_bfloat16(totals, out.dtype)


def _scan_by_rows(ufunc: Any, x: Array, out: Array, wide: DType) -> None:
    """Scan all lines at once, one position after the other."""
    x, out = np.moveaxis(x, -1, 0), np.moveaxis(out, -1, 0)
    for key in block_boxes(x.shape[1:], _ROW):
        rows, results = x[(slice(None), *key)], out[(slice(None), *key)]
        if wide == out.dtype:
            _accumulate_rows(ufunc, rows, results)
            continue
        previous_row: Array | None = None
        step = max(1, BLOCK * len(rows) // rows.size)
        for start in range(0, len(rows), step):
            values = _widen_row_major(rows[start : start + step], wide)
            if previous_row is not None:
                values[0] = ufunc(previous_row, values[0])
            _accumulate_rows(ufunc, values, values)
            previous_row = values[-1]
            results[start : start + step] = round_before_bfloat16(values, out.dtype)


def _accumulate_rows(ufunc: Any, x: Array, out: Array) -> None:
    out[0] = x[0]
    for k in range(1, len(x)):
        ufunc(out[k - 1], x[k], out[k], dtype=out.dtype, casting="unsafe")


def _widen_row_major(x: Array, wide: DType) -> Array:
    """Return a row-major copy in the wide dtype."""
    return (widen_to_float32(x) if is_half_float(x.dtype) else x).astype(wide, order="C")
