"""Borders around tensors: the inside, then dimension after dimension what lies around it."""

from __future__ import annotations

from itertools import chain
from typing import Any

from tensorlayout.cpu import moving
from tensorlayout.plan import Run
from tensorlayout.plan.bordering import PadPlan
from tensorlayout.plan.moving import AssignPlan
from tensorlayout.tensor import Spec, Tensor

# Where to, and where from: slices of one dimension of the result.
Part = tuple[slice, slice]


def prepare(plan: PadPlan) -> Run:
    """The function of the result, the tensor, and the value of a constant."""
    spec, sizes = plan.result, plan.source.layout.shape
    rows = list(zip(sizes, plan.borders, strict=True))
    inside = tuple(slice(before, before + n) for n, (before, _) in rows)
    layout = spec.layout.slice(inside)
    assert layout is not None, "strided layouts have every slice"
    middle = Spec(spec.dtype, layout.at_origin, spec.device)
    write = moving.prepare_assign(AssignPlan(plan.name, plan.source, middle))
    parts = []
    for d, (n, border) in enumerate(rows):
        head, tail = (slice(None),) * d, inside[d + 1 :]
        for to, source in _parts(plan.mode, n, *border):
            parts.append(((*head, to, *tail), (*head, source, *tail)))
    constant = plan.mode == "constant"

    def pad(result: Tensor, x: Tensor, value: Any) -> Tensor:
        memory = result._memory
        write(Tensor._new(memory[inside], middle), x)
        for to, source in parts:
            memory[to] = value if constant else memory[source]
        return result

    return pad


def _parts(mode: str, n: int, before: int, after: int) -> list[Part]:
    """What of the border equals what inside (of a constant: no matter what).

    A mirrored border is one part, one longer than the data several, turn by turn.
    """
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
    return [
        (slice(first, last + 1), _walk(start, step, last - first + 1))
        for first, last, start, step in groups
    ]


def _walk(start: int, step: int, count: int) -> slice:
    stop = start + step * count
    return slice(start, stop if stop >= 0 else None, step)
