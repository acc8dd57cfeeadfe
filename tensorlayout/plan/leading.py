"""Plans of the first elements of sorted lines, and of their positions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tensorlayout.plan.along import Along, AlongPlan
from tensorlayout.plan.base import Plan, Run
from tensorlayout.plan.copy import Assign, AssignPlan
from tensorlayout.plan.gathering import GatherAlong, GatherPlan
from tensorlayout.plan.rules import one_device
from tensorlayout.plan.view import Index, IndexPlan
from tensorlayout.tensor import Tensor, TensorSpec


@dataclass(frozen=True, slots=True, eq=False)
class LeadingPlan(Plan):
    """The first elements of each sorted line, and their positions, written where two tensors are.

    Attributes:
        name: of the operation.
        source: the lines, along `dim`.
        result: what the elements are written to; its size along `dim` says how many they are.
        positions: what their positions are written to, of the same shape.
        dim: that of the lines.
        down: whether the greatest come first.
        order, first, write, read: the same in four steps: all positions that sort, a view of the
            first of them, their copy, and the elements at them.

    """

    kind = "top_k"
    given = True

    name: str
    source: TensorSpec
    result: TensorSpec
    positions: TensorSpec
    dim: int
    down: bool
    order: AlongPlan
    first: IndexPlan
    write: AssignPlan
    read: GatherPlan

    @property
    def destinations(self) -> int:
        """The elements and their positions."""
        return 2


@dataclass(frozen=True, slots=True, eq=False)
class Leading:
    """A call with two results and the tensor, which share no memory; equal elements stay in order.

    `sorting`: what gives all positions that sort.
    """

    name: str
    sorting: Along

    def plan(
        self, result: TensorSpec, positions: TensorSpec, source: TensorSpec, dim: int, down: bool
    ) -> LeadingPlan:
        """The plan; `down`: the greatest first. Results have equal shapes, no longer lines."""
        one_device(self.name, [result, positions, source])
        shape, lines = result.layout.shape, source.layout.shape
        assert positions.layout.shape == shape
        assert shape == (*lines[:dim], shape[dim], *lines[dim + 1 :])
        assert shape[dim] <= lines[dim]
        assert result.dtype == source.dtype
        order = self.sorting.plan(source, dim, 0, None, down, True)
        first = Index(self.name).plan(order.result, *[(n, 1) for n in shape])
        write = Assign(self.name).plan(positions, first.result)
        read = GatherAlong(self.name).plan(source, dim, first.result).into(result)
        return LeadingPlan(
            self.name, source, result, positions, dim, down, order, first, write, read
        )


def in_steps(plan: LeadingPlan, carried_out: Callable[[Plan], Run]) -> Run:
    """The function of the results and the tensor, step by step, each carried out by a backend."""
    order, first, write, read = map(carried_out, (plan.order, plan.first, plan.write, plan.read))
    key: tuple[Any, ...] = tuple(slice(0, n) for n in plan.result.layout.shape)
    start = plan.order.result.layout.offset

    def run(result: Tensor, positions: Tensor, x: Tensor) -> Tensor:
        found = first(order(x), key, start)
        write(positions, found)
        return read(result, x, found)

    return run
