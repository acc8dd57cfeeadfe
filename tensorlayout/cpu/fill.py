"""Creation of tensors on the CPU: constants, ranges, identity matrices, triangles, one-hot."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorlayout.cpu.copy.copy import compile_box_move
from tensorlayout.cpu.copy.packed import make_packed_filler
from tensorlayout.cpu.engine.casting import convert_array, round_before_bfloat16, scalar_as_array
from tensorlayout.cpu.engine.memory import (
    UNALIGNED,
    Array,
    call_quietly,
    fill_padding,
    make_array_allocator,
    tensor_allocator,
)
from tensorlayout.dtypes import SCALARS, int64, is_narrow_dtype
from tensorlayout.layout import Layout
from tensorlayout.plan import (
    CreatePlan,
    DiagonalsPlan,
    OneHotPlan,
    Run,
    TrianglePlan,
    Write,
    allocate_then_write,
)
from tensorlayout.tensor import Tensor, TensorSpec

# For triangles: a call for a line costs as much as this many elements.
_CALL = 1024


def compile_allocating(plan: CreatePlan) -> Run | None:
    """Compile a row-major tensor of one value, or a small int64 arange; None for other plans."""
    spec, layout, values = plan.result, plan.result.layout, plan.operation.values
    whole = layout.is_row_major and not layout.is_padded and layout.form is layout
    if not whole or layout.nbytes(spec.dtype) > sys.maxsize:
        return None
    if values == "arange" and spec.dtype == int64 and layout.ndim == 1 and layout.size <= _ROW:
        return _compile_small_arange(plan)
    # NumPy converts numbers to narrow types by other rules than ours.
    if values != "value" or is_narrow_dtype(spec.dtype):
        return None
    new, zeros = object.__new__, plan.operation.name in ("zeros", "zeros_like")
    allocate = make_array_allocator(spec, layout.shape, zeros=zeros)

    def create_filled(value: Any) -> Tensor:
        tensor = new(Tensor)
        memory = allocate()
        if not zeros:
            memory[...] = value
        tensor.memory, tensor.spec, tensor.home = memory, spec, None
        return tensor

    return create_filled


def compile_create(plan: CreatePlan) -> Write:
    """Compile ``write(out, *arguments)``, which fills a tensor."""
    spec, name, values = plan.result, plan.operation.name, plan.operation.values
    fill = _FILLERS[values]
    if spec.layout.slot_bits is not None:
        if values == "nothing":
            return lambda out: None
        read = functools.partial(scalar_as_array, name, spec.dtype)
        return make_packed_filler(spec, lambda v: read(v) if type(v) in SCALARS else np.asarray(v))
    if is_narrow_dtype(spec.dtype) and values == "value":
        fill = functools.partial(_fill_with_narrow_value, name)
    if not spec.layout.is_tiled:
        return lambda out, *arguments: call_quietly(fill, out.memory, *arguments)
    if values in ("nothing", "value") and not plan.destinations:

        def fill_elements_and_padding(out: Tensor, *arguments: Any) -> None:
            call_quietly(fill, out.memory, *arguments)
            fill_padding(out)

        return fill_elements_and_padding
    strided = TensorSpec(spec.dtype, Layout.row_major(spec.layout.shape), spec.device)
    copy = compile_box_move(strided, spec)

    def fill_with_sequence(out: Tensor, *arguments: Any) -> None:
        row_major = tensor_allocator(strided)()
        call_quietly(fill, row_major.memory, *arguments)
        copy(out, row_major)

    return fill_with_sequence


def _compile_small_arange(plan: CreatePlan) -> Run:
    """Compile a small arange by NumPy, except where its int64 arithmetic could overflow."""
    spec, count, new = plan.result, plan.result.layout.size, tensor_allocator(plan.result)
    exact_fallback = allocate_then_write(new, compile_create(plan))

    def create_arange(start: int, step: int) -> Tensor:
        stop = start + count * step
        if not (-_EXACT <= start <= _EXACT and -_EXACT <= stop <= _EXACT):
            return exact_fallback(start, step)
        numbers = np.arange(start, stop, step, dtype=int64)
        if numbers.nbytes <= UNALIGNED:
            return Tensor._from_memory(numbers, spec)
        tensor = new()
        tensor.memory[...] = numbers
        return tensor

    return create_arange


def _fill_with_narrow_value(name: str, out: Array, value: Any) -> None:
    """Fill `out`, of a narrow type, with a Python scalar or an element."""
    element = (
        scalar_as_array(name, out.dtype, value) if type(value) in SCALARS else np.asarray(value)
    )
    # As bytes: if NumPy cannot allocate a buffer for a foreign dtype, it ends the process.
    out.view(np.uint8)[...] = element.view(np.uint8)


def _fill_with_value(out: Array, value: Any) -> None:
    out[...] = value


_EXACT = 2**62  # NumPy's int64 arithmetic cannot overflow up to here

# Numbers computed at a time.
_ROW = 1 << 16


def _fill_arange(out: Array, start: float, step: float) -> None:
    if out.ndim != 1:
        line = np.empty(out.size, out.dtype)
        _fill_arange(line, start, step)
        out[...] = line.reshape(out.shape)
        return
    whole = isinstance(start, int) and isinstance(step, int) and out.dtype.kind in "iu"
    for begin in range(0, out.size, _ROW):
        piece = out[begin : begin + _ROW]
        if whole:  # modulo 2**64, which is exact for all numbers that fit an integer dtype
            numbers: Array = np.arange(begin, begin + piece.size, dtype=np.uint64)
            numbers *= np.uint64(step % 2**64)
            numbers += np.uint64(start % 2**64)
        else:
            numbers = np.arange(begin, begin + piece.size, dtype=np.float64) * step + start
        np.copyto(piece, round_before_bfloat16(numbers, out.dtype), "unsafe")


def _fill_linspace(out: Array, start: complex, stop: complex, endpoint: bool) -> None:
    wide = np.complex128 if out.dtype.kind == "c" else np.float64  # small floats are rounded once
    numbers = np.linspace(start, stop, out.shape[0], endpoint=endpoint, dtype=wide)
    whole = out.dtype.kind in "iu"
    for begin in range(0, out.size, _ROW):
        piece = slice(begin, begin + _ROW)
        values = (
            np.floor(numbers[piece]) if whole else round_before_bfloat16(numbers[piece], out.dtype)
        )
        out[piece] = convert_array(values, out.dtype) if whole else values


def _fill_frequencies(out: Any, size: int, spacing: float, negative: bool) -> None:
    """Fill with FFT sample frequencies, computed in float64 and rounded once."""
    half = (size + 1) // 2 if negative else size // 2 + 1
    steps = np.arange(out.size, dtype=np.float64)
    steps[half:] -= size
    out[...] = round_before_bfloat16(steps / (size * spacing), out.dtype)


def _fill_eye(out: Array, k: int) -> None:
    out[...] = np.zeros((), out.dtype)
    rows, columns = out.shape
    first, last = max(0, -k), min(rows, columns - k)
    if last > first:
        indices = np.arange(first, last)
        out[indices, indices + k] = 1


_FILLERS: dict[str, Callable[..., None]] = {
    "arange": _fill_arange,
    "array": _fill_with_value,
    "eye": _fill_eye,
    "frequencies": _fill_frequencies,
    "linspace": _fill_linspace,
    "nothing": lambda out: None,
    "value": _fill_with_value,
}


def compile_triangle(plan: TrianglePlan) -> Write:
    """Compile a copy, then zeros line by line: 2048 x 2048 float32 2.8 ms, with a mask 6.7."""
    lower = plan.name == "tril"

    def copy_triangle(out: Tensor, x: Tensor, k: int) -> None:
        memory = out.memory
        np.copyto(memory, x.memory)
        if lower:
            _zero_above_diagonal(memory, k)
        else:  # the upper triangle is the lower triangle of the transposes
            _zero_above_diagonal(memory.swapaxes(-1, -2), -k)

    return copy_triangle


def _zero_above_diagonal(out: Array, k: int) -> None:
    """Zero columns beyond ``row + k``, line by line.

    Lines are contiguous if they are few; otherwise the shorter dimension is looped over.
    """
    rows, columns = out.shape[-2:]
    by_rows, zero = abs(out.strides[-2]) >= abs(out.strides[-1]), np.zeros((), out.dtype)
    if (rows if by_rows else columns) * _CALL > out.size:
        by_rows = rows <= columns
    if by_rows:
        for row in range(max(0, min(rows, columns - k))):
            out[..., row, max(0, row + k + 1) :] = zero
    else:
        for column in range(max(0, k + 1), columns):
            out[..., : min(rows, column - k), column] = zero


def compile_one_hot(plan: OneHotPlan) -> Write:
    """Compile ``write(out, indices, cold, hot)``."""
    shape, dtype = plan.result.layout.shape, plan.indices.dtype
    size = shape[plan.dim]
    line = [size if d == plan.dim else 1 for d in range(len(shape))]
    place = np.arange(size).astype(dtype).reshape(line)

    def write_one_hot(out: Tensor, indices: Tensor, cold: Tensor, hot: Tensor) -> None:
        is_hot = place == indices.memory
        if dtype.kind == "i":
            is_hot |= place - dtype.type(size) == indices.memory
        out.memory[...] = cold.memory
        np.copyto(out.memory, hot.memory, where=is_hot)

    return write_one_hot


def compile_diagonal_band_write(plan: DiagonalsPlan) -> Write:
    """Compile ``write(out, *others, value)``: `value` on diagonals, elsewhere `others` or 0."""
    height, width = plan.result.layout.shape[-2:]
    number = np.arange(width) - np.arange(height)[:, None]
    filled = ((plan.begin <= number) & (number < plan.end)) == plan.inside

    def write_diagonals(out: Tensor, *operands: Any) -> None:
        *others, value = operands
        out.memory[...] = others[0].memory if others else np.zeros((), out.dtype)
        np.copyto(out.memory, np.asarray(value, out.dtype), where=filled)

    return write_diagonals
