"""Padding on the CPU, and the gradient of slicing: a tensor in a window of zeros.

Padding writes the inside first, then the borders, one dimension after the other.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorlayout.cpu.copy.copy import choose_converting_copy
from tensorlayout.cpu.engine.casting import scalar_as_array
from tensorlayout.plan import PadPlan, SliceGradPlan, Write, slice_layout
from tensorlayout.tensor import Tensor

# Destination and source: slices of one dimension of the result.
Part = tuple[slice, slice]


def compile_pad(plan: PadPlan) -> Write:
    """Compile ``write(out, x, value)``; `value` is used in constant mode only."""
    sizes = plan.source.layout.shape
    dim_borders = list(zip(sizes, plan.borders, strict=True))
    inside = tuple(slice(before, before + n) for n, (before, _) in dim_borders)
    source, part = plan.source, slice_layout(plan.result.layout, inside)
    move = choose_converting_copy(source.layout, source.dtype, part, plan.result.dtype).run
    parts = []
    for d, (n, border) in enumerate(dim_borders):
        head, tail = (slice(None),) * d, inside[d + 1 :]
        for target, origin in _border_copies(plan.mode, n, *border):
            parts.append(((*head, target, *tail), (*head, origin, *tail)))
    name, constant = plan.name, plan.mode == "constant"

    def write_padded(out: Tensor, x: Tensor, value: Any) -> None:
        memory = out.memory
        number = scalar_as_array(name, out.dtype, value) if constant else None
        move(memory[(..., *inside)], x.memory)  # the ellipsis gives an array also for rank 0
        for target, origin in parts:
            memory[target] = number if constant else memory[origin]

    return write_padded


def compile_slice_grad(plan: SliceGradPlan) -> Write:
    """Compile ``write(out, x)``: zeros, with `x` in the window."""
    source = plan.source
    rows = zip(plan.window, source.layout.shape, strict=True)
    ends = [(first, first + n * step, step) for (first, step), n in rows]
    key = tuple(slice(first, None if end < 0 else end, step) for first, end, step in ends)
    part = slice_layout(plan.result.layout, key)
    move = choose_converting_copy(source.layout, source.dtype, part, plan.result.dtype).run

    def write_slice_gradient(out: Tensor, x: Tensor) -> None:
        out.memory[...] = np.zeros((), out.dtype)
        move(out.memory[(..., *key)], x.memory)

    return write_slice_gradient


def _border_copies(mode: str, n: int, pad_before: int, pad_after: int) -> list[Part]:
    """Return the copies that fill the borders of one dimension, as (destination, source) slices."""
    if mode in ("constant", "edge") or n == 1:
        first_element = slice(pad_before, pad_before + 1)
        last_element = slice(pad_before + n - 1, pad_before + n)
        sides = (
            (slice(0, pad_before), first_element),
            (slice(pad_before + n, pad_before + n + pad_after), last_element),
        )
        return [(target, source) for target, source in sides if target.stop > target.start]
    period = n - 1 if mode == "reflection" else n  # elements after which a mirrored border turns
    copies = []
    for position, stop in ((-pad_before, 0), (n, n + pad_after)):
        while position < stop:
            turns, place = divmod(position, period)
            count = min(period - place, stop - position)
            if mode in ("reflection", "symmetric") and turns % 2:
                first = pad_before + n - 1 - place
                source = slice(first, first - count if first >= count else None, -1)
            else:
                source = slice(pad_before + place, pad_before + place + count)
            copies.append((slice(pad_before + position, pad_before + position + count), source))
            position += count
    return copies
