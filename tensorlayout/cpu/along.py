"""Sorts, scans and differences on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorlayout.cpu.memory import Array, new_tensor, quietly
from tensorlayout.cpu.reducing import accumulator
from tensorlayout.plan import Run
from tensorlayout.plan.along import AlongPlan
from tensorlayout.tensor import Tensor


def prepare(plan: AlongPlan) -> Run:
    """The operation's function writes into the planned layout."""
    function, spec, dim, static = plan.operation.numpy, plan.result, plan.dim, plan.static

    def along(x: Tensor) -> Tensor:
        result = new_tensor(spec)
        if spec.layout.size:
            quietly(function, x._memory, dim, result._memory, *static)
        return result

    return along


def _order(x: Array, dim: int, descending: bool) -> Any:
    """The positions of a stable sort; NaN counts as greater than everything else."""
    if not descending:
        return np.argsort(x, dim, kind="stable")
    # Sorting the mirrored line upwards and mirroring the result keeps equal elements in order.
    mirrored = np.flip(np.argsort(np.flip(x, dim), dim, kind="stable"), dim)
    return x.shape[dim] - 1 - mirrored


def argsort(x: Array, dim: int, out: Array, descending: bool) -> None:
    """The positions that sort each line, equal elements in their order."""
    out[...] = _order(x, dim, descending)


def sort(x: Array, dim: int, out: Array, descending: bool) -> None:
    """Each line sorted; equal elements (+0 and -0) in their order."""
    if descending:
        out[...] = np.flip(np.sort(np.flip(x, dim), dim, kind="stable"), dim)
    else:
        out[...] = x
        out.sort(dim, kind="stable")


def _scan(ufunc: Any, start: int, x: Array, dim: int, out: Array, initial: bool) -> None:
    behind = out
    if initial:
        head = (*[slice(None)] * dim, slice(0, 1))
        behind = out[(*[slice(None)] * dim, slice(1, None))]
        out[head] = start
    if behind.size:
        behind[...] = ufunc.accumulate(x, dim, accumulator(out.dtype))


def cumulative_sum(x: Array, dim: int, out: Array, initial: bool) -> None:
    """Running sums; with `initial`, 0 comes first."""
    _scan(np.add, 0, x, dim, out, initial)


def cumulative_prod(x: Array, dim: int, out: Array, initial: bool) -> None:
    """Running products; with `initial`, 1 comes first."""
    _scan(np.multiply, 1, x, dim, out, initial)
