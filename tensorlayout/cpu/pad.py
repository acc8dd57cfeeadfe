"""Borders around tensors; and a tensor spread over a window of another, zero elsewhere.

Of a border the inside comes first, then dimension after dimension what lies around it.
"""

from __future__ import annotations

from itertools import chain
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
    period = {"reflection": 2 * n - 2, "symmetric": 2 * n}.get(mode, n)
    border = chain(range(-before, 0), range(n, n + after))
    return _merged([(at + before, _inside(mode, at, n, period) + before) for at in border])


def _inside(mode: str, at: int, n: int, period: int) -> int:
    """The position of the data that a position of the border equals."""
    folded = at % period
    if folded < n:
        return folded
    return period - folded - (0 if mode == "reflection" else 1)


def _merged(pairs: list[tuple[int, int]]) -> list[Part]:
    """Pairs of positions as slices: neighbours that walk on in one direction together."""
    groups: list[tuple[int, int, int, int]] = []  # first and last to, first source, step
    for to, source in pairs:
        if groups:
            first, last, start, step = groups[-1]
            run = last - first
            if to == last + 1 and (
                (run == 0 and abs(source - start) == 1)
                or (run > 0 and source == start + step * (run + 1))
            ):
                groups[-1] = (first, to, start, source - start if run == 0 else step)
                continue
        groups.append((to, to, source, 1))
    found = []
    for first, last, start, step in groups:
        stop = start + step * (last - first + 1)
        found.append((slice(first, last + 1), slice(start, stop if stop >= 0 else None, step)))
    return found
