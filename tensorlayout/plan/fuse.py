"""Plans of fused functions: elementwise steps, and at most one final reduction, in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from tensorlayout.plan.base import Operation, Plan, Write, backend_of, plan_dataclass
from tensorlayout.plan.copy import AssignPlan, CopyPlan
from tensorlayout.plan.elementwise import Operand, have_same_block_placement
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
        operation: the operation; an `IntoDestination` if the call writes into an intermediate
            result, whose layout its own result then has.
        reads: numbers of its operands among the values: operands of the function, then parts.
        static: the rest of its key.

    """

    operation: Operation
    reads: tuple[int, ...]
    static: tuple[Any, ...] = ()

    def plan_step(self, values: Sequence[Operand]) -> Step:
        """Return the step that calls the operation on these values and creates a new tensor."""
        key: Any = (*[values[v] for v in self.reads], *self.static)
        plan: Any = plan_call(self.operation, key)
        reads = self.reads
        if isinstance(self.operation, IntoDestination):
            plan.check_destination_fits(key[0])
            plan, reads = replace(plan, result=key[0]), reads[1:]
        elif plan.result_kind == "view":
            # The operand has the requested layout here, but a step has to compute a value of its
            # own: FusePlan has no views.
            plan = CopyPlan(key[0], plan.result)
        return Step(plan, reads, call=(self.operation, key))


@plan_dataclass
class FusePlan(Plan):
    """A fused call: the results of all steps, of which only the last one is kept.

    Attributes:
        operation: the fused function.
        operands: tensors and types of Python scalars; constants of the function come last.
        steps: a program over these operands, with each step planned as a call of its own. A
            conversion is a copy; the last step may be a reduction. A value may be smaller than the
            result, and is broadcast.

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
        """The last step if it is a reduction, otherwise None."""
        last = self.steps[-1].plan
        return last if isinstance(last, ReducePlan) else None

    @property
    def plan_before_reduction(self) -> FusePlan:
        """Plan of the steps before the last one, which is a reduction."""
        steps = self.steps[:-1]
        return replace(self, steps=steps, result=steps[-1].plan.result)

    @property
    def can_write_into_destination(self) -> bool:
        """True without a reduction: reductions write into the planned layout only."""
        return self.reduction is None

    @property
    def all_value_specs(self) -> list[Any]:
        """Operands, followed by the results of all steps."""
        return [*self.operands, *[step.plan.result for step in self.steps]]

    @property
    def has_unstrided_layouts(self) -> bool:
        """True if some value is tiled or packed below a byte."""
        specs = [v for v in (*self.all_value_specs, self.result) if isinstance(v, TensorSpec)]
        return any(not spec.layout.is_strided for spec in specs)

    @property
    def is_contiguous_loop(self) -> bool:
        """True if all values are one block in the same order, or have rank 0."""
        return self.reduction is None and have_same_block_placement(
            self.result, self.all_value_specs
        )


@plan_dataclass
class Fusion:
    """A traced function: its parts, for operands of any dtypes and layouts."""

    name: str
    parts: tuple[Part, ...]

    @property
    def operation_names(self) -> tuple[str, ...]:
        """Names of the parts' operations."""
        return tuple([part.operation.name for part in self.parts])

    def plan(self, *operands: Operand) -> FusePlan:
        """Return the plan of a new tensor, with each part planned as a call of its own."""
        values, steps = list(operands), []
        for part in self.parts:
            steps.append(part.plan_step(values))
            values.append(steps[-1].plan.result)
        return FusePlan(self, operands, tuple(steps), steps[-1].plan.result)


def compile_call_by_call(plan: FusePlan) -> Write:
    """Compile ``write(out, *operands)`` that runs each step as a call of its own.

    This is the fallback for functions that convert to a tiled layout themselves: their values have
    different tiles, so some have to be copied.
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
