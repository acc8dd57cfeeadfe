"""Plans of fused functions: elementwise steps, and at most one last reduction, as one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from tensorlayout.plan.base import Operation, Plan, Write, backend, planned
from tensorlayout.plan.copy import AssignPlan, CopyPlan
from tensorlayout.plan.elementwise import Operand, are_one_run
from tensorlayout.plan.fill import CreatePlan
from tensorlayout.plan.programs import EMPTY, Into, Program, Step, plan_of, program
from tensorlayout.plan.reduce import ReducePlan
from tensorlayout.plan.run import compiled
from tensorlayout.tensor import TensorSpec


class Part(NamedTuple):
    """One call inside a fused function.

    Attributes:
        operation: what is called; `Into` one if it writes into an intermediate result, and then the
            result keeps the layout of that.
        reads: the numbers of its operands among the values: those of the whole, then of parts.
        static: the rest of its key.

    """

    operation: Operation
    reads: tuple[int, ...]
    static: tuple[Any, ...] = ()

    def step(self, values: Sequence[Operand]) -> Step:
        """The call on these values, which makes a new tensor."""
        key: Any = (*[values[v] for v in self.reads], *self.static)
        plan: Any = plan_of(self.operation, key)
        reads = self.reads
        if isinstance(self.operation, Into):
            plan.check_into(key[0])
            plan, reads = replace(plan, result=key[0]), reads[1:]
        elif plan.makes == "view":  # a copy for other layouts, such as tiles, but not for these
            plan = CopyPlan(key[0], plan.result)
        return Step(plan, reads, call=(self.operation, key))


@planned
class FusePlan(Plan):
    """The results of all steps, of which only the last one is kept.

    Attributes:
        operation: the fused function.
        operands: tensors and kinds of Python scalars; those written in the function come last.
        steps: a program over these operands: each step as it would be by itself. A conversion is a
            copy; the last step may be a reduction. A value may be smaller than the result, and is
            broadcast.

    """

    kind = "fuse"
    in_place = True

    operation: Fusion
    operands: tuple[Operand, ...]
    steps: tuple[Step, ...]
    result: TensorSpec
    destinations: int = 0

    @property
    def reduction(self) -> ReducePlan | None:
        """The last step, if it is a reduction."""
        last = self.steps[-1].plan
        return last if isinstance(last, ReducePlan) else None

    @property
    def unreduced(self) -> FusePlan:
        """The plan of what the last step, a reduction, reads."""
        steps = self.steps[:-1]
        return replace(self, steps=steps, result=steps[-1].plan.result)

    @property
    def takes_destination(self) -> bool:
        """Reductions write into the planned layout only."""
        return self.reduction is None

    @property
    def values(self) -> list[Any]:
        """The operands and the results of all steps."""
        return [*self.operands, *[step.plan.result for step in self.steps]]

    @property
    def has_tiles(self) -> bool:
        """True if some value is tiled, or packed below a byte."""
        specs = [v for v in (*self.values, self.result) if isinstance(v, TensorSpec)]
        return any(not spec.layout.is_strided for spec in specs)

    @property
    def is_one_run(self) -> bool:
        """Whether all values have one placement over one whole block, or are of rank 0."""
        return self.reduction is None and are_one_run(self.result, self.values)


@planned
class Fusion:
    """A function as it was traced once: its parts, for operands of any dtypes and layouts."""

    name: str
    parts: tuple[Part, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parts."""
        return tuple([part.operation.name for part in self.parts])

    def plan(self, *operands: Operand) -> FusePlan:
        """The plan of a new tensor: each part planned as it would be by itself."""
        values, steps = list(operands), []
        for part in self.parts:
            steps.append(part.step(values))
            values.append(steps[-1].plan.result)
        return FusePlan(self, operands, tuple(steps), steps[-1].plan.result)


def write_call_by_call(plan: FusePlan) -> Write:
    """Return ``write(out, *operands)`` that runs each step as a call of its own.

    For functions that convert to a tiled layout themselves: not all values have the same tiles, so
    some are copied.
    """
    found = Program(len(plan.operands))
    numbers = [*range(found.count)]
    for step in plan.steps:
        assert step.call is not None
        operation, key = step.call
        reads = [numbers[v] for v in step.reads]
        if isinstance(operation, Into):
            reads = [found.add(CreatePlan(EMPTY, key[0]), ()), *reads]
        numbers.append(found.splice(program(operation, key), reads))
    values, last = compiled(found), plan.steps[-1].plan.result
    end: Plan = CopyPlan(last, plan.result)
    if plan.destinations:
        end = AssignPlan(plan.operation.name, last, plan.result)
    copy = backend(plan.result.device).carry_out(end)
    return lambda out, *operands: copy(out, values(*operands))
