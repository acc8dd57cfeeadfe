"""Borders around tensors; and a tensor spread over a window of another, zero elsewhere.

Of a border the inside comes first, then dimension after dimension what lies around it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorlayout.cpu.copy.copy import mover
from tensorlayout.cpu.engine.casting import scalar_in
from tensorlayout.plan import PadPlan, SliceGradPlan, Write, part_of
from tensorlayout.tensor import Tensor

# Where to, and where from: slices of one dimension of the result.
Part = tuple[slice, slice]


def write_pad(plan: PadPlan) -> Write:
    """The function of the result, the tensor, and the value of a constant."""
    sizes = plan.source.layout.shape
    rows = list(zip(sizes, plan.borders, strict=True))
    inside = tuple(slice(before, before + n) for n, (before, _) in rows)
    source, part = plan.source, part_of(plan.result.layout, inside)
    move = mover(source.layout, source.dtype, part, plan.result.dtype).run
    parts = []
    for d, (n, border) in enumerate(rows):
        head, tail = (slice(None),) * d, inside[d + 1 :]
        for to, from_ in _parts(plan.mode, n, *border):
            parts.append(((*head, to, *tail), (*head, from_, *tail)))
    name, constant = plan.name, plan.mode == "constant"

    def write(out: Tensor, x: Tensor, value: Any) -> None:
        memory = out.memory
        number = scalar_in(name, out.dtype, value) if constant else None
        move(memory[(..., *inside)], x.memory)  # of rank 0 no number
        for to, from_ in parts:
            memory[to] = number if constant else memory[from_]

    return write


def write_slice_grad(plan: SliceGradPlan) -> Write:
    """The function of the result and the tensor."""
    source = plan.source
    rows = zip(plan.window, source.layout.shape, strict=True)
    ends = [(first, first + n * step, step) for (first, step), n in rows]
    key = tuple(slice(first, None if end < 0 else end, step) for first, end, step in ends)
    part = part_of(plan.result.layout, key)
    move = mover(source.layout, source.dtype, part, plan.result.dtype).run

    def write(out: Tensor, x: Tensor) -> None:
        out.memory[...] = np.zeros((), out.dtype)
        move(out.memory[(..., *key)], x.memory)

    return write


def _parts(mode: str, n: int, before: int, after: int) -> list[Part]:
    """Return what of the border equals what inside; a mirrored one may be several parts."""
    if mode in ("constant", "edge") or n == 1:
        left, right = slice(before, before + 1), slice(before + n - 1, before + n)
        sides = (slice(0, before), left), (slice(before + n, before + n + after), right)
        return [(to, source) for to, source in sides if to.stop > to.start]
    period = n - 1 if mode == "reflection" else n  # after which a mirrored border turns
    found = []
    for at, stop in ((-before, 0), (n, n + after)):
        while at < stop:
            turns, place = divmod(at, period)
            count = min(period - place, stop - at)
            if mode in ("reflection", "symmetric") and turns % 2:
                first = before + n - 1 - place
                source = slice(first, first - count if first >= count else None, -1)
            else:
                source = slice(before + place, before + place + count)
            found.append((slice(before + at, before + at + count), source))
            at += count
    return found
