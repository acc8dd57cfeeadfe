"""Plans of fused functions: elementwise steps and an optional final reduction, in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from tensorlayout.plan.base import Operation, Plan, Write, backend_of, plan_dataclass
from tensorlayout.plan.copy import AssignPlan, CopyPlan
from tensorlayout.plan.elementwise import Operand, share_contiguous_placement
from tensorlayout.plan.fill import CreatePlan
from tensorlayout.plan.programs import (
    EMPTY,
    IntoDestination,
    Program,
    Step,
    make_program,
    plan_call,
)
from tensorlayout.plan.reduce import ReducePlan
from tensorlayout.plan.run import compile_program
from tensorlayout.tensor import TensorSpec


class Part(NamedTuple):
    """One call inside a fused function.

    Attributes:
        operation: the operation; an `IntoDestination` writes into an intermediate result and keeps
            its layout.
        reads: numbers of the operands among the values: the fused function's, then the parts'.
        static: the rest of the operation's key.

    """

    operation: Operation
    reads: tuple[int, ...]
    static: tuple[Any, ...] = ()

    def plan_step(self, values: Sequence[Operand]) -> Step:
        """Plan this part as a step on these values; the step makes a new tensor."""
        key: Any = (*[values[v] for v in self.reads], *self.static)
        plan: Any = plan_call(self.operation, key)
        reads = self.reads
        if isinstance(self.operation, IntoDestination):
            plan.check_destination_fits(key[0])
            plan, reads = replace(plan, result=key[0]), reads[1:]
        elif (
            plan.result_kind == "view"
        ):  # a copy for other layouts, such as tiles, but not for these
            plan = CopyPlan(key[0], plan.result)
        return Step(plan, reads, call=(self.operation, key))


@plan_dataclass
class FusePlan(Plan):
    """Steps of which only the last result is stored.

    Attributes:
        operation: the fused function.
        operands: tensors and types of Python scalars; constants of the function come last.
        steps: a program over these operands, in which each step is planned as a separate call. A
            conversion is a copy; the last step may be a reduction. Smaller values are broadcast.

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
        """Plan of the last step if it is a reduction, else None."""
        last = self.steps[-1].plan
        return last if isinstance(last, ReducePlan) else None

    @property
    def plan_before_reduction(self) -> FusePlan:
        """Plan of the value that the last step, a reduction, reads."""
        steps = self.steps[:-1]
        return replace(self, steps=steps, result=steps[-1].plan.result)

    @property
    def can_write_into_destination(self) -> bool:
        """True if the destination may have any layout; a reduction needs the planned one."""
        return self.reduction is None

    @property
    def all_value_specs(self) -> list[Any]:
        """Specs of the operands and of the results of all steps."""
        return [*self.operands, *[step.plan.result for step in self.steps]]

    @property
    def has_tiles(self) -> bool:
        """True if some value is tiled or packed below a byte."""
        specs = [v for v in (*self.all_value_specs, self.result) if isinstance(v, TensorSpec)]
        return any(not spec.layout.is_strided for spec in specs)

    @property
    def is_contiguous_loop(self) -> bool:
        """Return whether all values have the same placement, which covers a block, or rank 0."""
        return self.reduction is None and share_contiguous_placement(
            self.result, self.all_value_specs
        )


@plan_dataclass
class Fusion:
    """A traced function: its parts, for operands of any dtypes and layouts."""

    name: str
    parts: tuple[Part, ...]

    @property
    def operation_names(self) -> tuple[str, ...]:
        """Names of the parts."""
        return tuple([part.operation.name for part in self.parts])

    def plan(self, *operands: Operand) -> FusePlan:
        """Return the plan of a new tensor; each part is planned as a separate call."""
        values, steps = list(operands), []
        for part in self.parts:
            steps.append(part.plan_step(values))
            values.append(steps[-1].plan.result)
        return FusePlan(self, operands, tuple(steps), steps[-1].plan.result)


def compile_call_by_call(plan: FusePlan) -> Write:
    """Return ``write(out, *operands)``, which runs each step as a separate call.

    Needed for functions that convert to a tiled layout themselves: values have different tiles, so
    some are copied.
    """
    call_program = Program(len(plan.operands))
    numbers = [*range(call_program.count)]
    for step in plan.steps:
        assert step.call is not None
        operation, key = step.call
        reads = [numbers[v] for v in step.reads]
        if isinstance(operation, IntoDestination):
            reads = [call_program.append_step(CreatePlan(EMPTY, key[0]), ()), *reads]
        numbers.append(call_program.append_program(make_program(operation, key), reads))
    values, last = compile_program(call_program), plan.steps[-1].plan.result
    end: Plan = CopyPlan(last, plan.result)
    if plan.destinations:
        end = AssignPlan(plan.operation.name, last, plan.result)
    copy = backend_of(plan.result.device).compile_plan(end)
    return lambda out, *operands: copy(out, values(*operands))
