"""Operands that a write would disturb, found by addresses.

Kernels read and write in any order, so that an operand is either where the write is not, or element
by element exactly where it is.
"""

from __future__ import annotations

from math import gcd
from typing import Any

from tensorlayout.plan.base import Disturbs
from tensorlayout.tensor import Tensor, TensorSpec


def disturbs(plan: Any) -> Disturbs | None:
    """Return what tells the operands that a write disturbs before they are read."""
    return {"nothing": _meet, "itself": _meet_elsewhere, None: None}[plan.overlap]


def _meet(x: Tensor, y: Tensor) -> bool:
    return _ranges_meet(x._spec, x._memory.address, y._spec, y._memory.address)


def _meet_elsewhere(x: Tensor, y: Tensor) -> bool:
    to, from_ = x._memory.address, y._memory.address
    if to == from_ and x._spec is y._spec:
        return False
    return conflicts(x._spec, to, y._spec, from_)


def _ranges_meet(one: TensorSpec, first: int, other: TensorSpec, second: int) -> bool:
    """Return whether the bytes of two specs at these addresses meet, gaps included."""
    lower, up = (one, second - first) if first < second else (other, first - second)
    return bool(up < lower.layout.required_size * lower.dtype.itemsize)


def conflicts(destination: TensorSpec, to: int, operand: TensorSpec, from_: int) -> bool:
    """Return whether bytes meet, other than those of each element in its own place."""
    if not _ranges_meet(destination, to, operand, from_):
        return False
    if destination.layout.size == 0 or operand.layout.size == 0:
        return False
    if (
        to == from_
        and destination.dtype.itemsize == operand.dtype.itemsize
        and operand.layout.shape == destination.layout.shape
        and operand.layout.same_placement(destination.layout)
    ):
        return False
    # Runs that interleave: those of each start at multiples of `grain` away from each other.
    run, steps = _run_and_steps(destination)
    other_run, other_steps = _run_and_steps(operand)
    grain = gcd(*steps, *other_steps)
    shift = (from_ - to) % grain if grain else 0
    return not (grain and run <= shift <= grain - other_run)


def _run_and_steps(spec: TensorSpec) -> tuple[int, list[int]]:
    """Return the bytes of a layout's runs, and the distances at which they repeat."""
    run = spec.dtype.itemsize
    steps: list[int] = []
    dims = [(s, n) for parts in spec.layout.parts for n, s in parts]
    for stride, size in sorted([(abs(s) * spec.dtype.itemsize, n) for s, n in dims if n > 1 and s]):
        if stride == run and not steps:
            run *= size
        else:
            steps.append(stride)
    return run, steps
