"""Plans of fused functions: elementwise steps, and at most one last reduction, as one pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from tensorlayout.plan.base import Operation, Plan, Run, Write, backend, planned
from tensorlayout.plan.copy import AssignPlan, CopyPlan
from tensorlayout.plan.elementwise import ElementwisePlan, Operand, are_one_run
from tensorlayout.plan.fill import CreatePlan
from tensorlayout.plan.programs import EMPTY, Program, into, plan_of, program
from tensorlayout.plan.reduce import ReducePlan
from tensorlayout.plan.run import compiled
from tensorlayout.tensor import TensorSpec

Step = ElementwisePlan | CopyPlan
_Reuses = Callable[[ElementwisePlan], bool]


class Part(NamedTuple):
    """One call inside a fused function.

    Attributes:
        operation: what is called.
        sources: which values its operands are: the numbers of those of the whole, then of parts.
        static: the rest of its key.
        into: the value whose layout it keeps, of a write into an intermediate result.

    """

    operation: Operation
    sources: tuple[int, ...]
    static: tuple[Any, ...] = ()
    into: int | None = None

    def plan(self, values: Sequence[Operand]) -> Any:
        """The plan of the call for these values."""
        plan: Any = plan_of(self.operation, (*[values[i] for i in self.sources], *self.static))
        if plan.makes == "view":  # a copy for other layouts, such as tiles, but not for these
            source: Any = values[self.sources[0]]
            return CopyPlan(source, plan.result)
        if self.into is None:
            return plan
        plan.check_into(values[self.into])
        return replace(plan, result=values[self.into])

    def add_to(self, found: Program, specs: Sequence[Operand], numbers: Sequence[int]) -> int:
        """Add the call to a program, by itself; return the number of its result.

        `specs`, `numbers`: of all values so far, and of these in the program.
        """
        key: tuple[Any, ...] = (*[specs[i] for i in self.sources], *self.static)
        reads = [numbers[i] for i in self.sources]
        if self.into is None:
            return found.splice(program(self.operation, key), reads)
        spec: Any = specs[self.into]
        reads = [found.add(CreatePlan(EMPTY, spec), ()), *reads]
        return found.splice(program(into(self.operation), (spec, *key)), reads)


@planned
class FusePlan(Plan):
    """The results of all steps, of which only the last one is kept, or reduced.

    Attributes:
        operation: the fused function.
        operands: tensors and kinds of Python scalars; those written in the function come last.
        steps: the plan of each as it would be by itself; a conversion is a copy.
        sources: for each step, which values its operands are: the numbers of `operands`, then
            those of the steps in their order. A value may be smaller than the result, and is
            broadcast.
        reduction: of the last step's result.

    """

    kind = "fuse"
    in_place = True

    operation: Fusion
    operands: tuple[Operand, ...]
    steps: tuple[Step, ...]
    sources: tuple[tuple[int, ...], ...]
    reduction: ReducePlan | None
    result: TensorSpec
    destinations: int = 0

    @property
    def takes_destination(self) -> bool:
        """Reductions write into the planned layout only."""
        return self.reduction is None

    @property
    def values(self) -> list[Operand]:
        """The operands and the results of all steps."""
        return [*self.operands, *[step.result for step in self.steps]]

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
    reduction: Part | None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parts, the reduction last."""
        last = () if self.reduction is None else (self.reduction,)
        return tuple([part.operation.name for part in (*self.parts, *last)])

    def plan(self, *operands: Operand) -> FusePlan:
        """The plan of a new tensor: each part planned as it would be by itself."""
        values, steps = list(operands), []
        for part in self.parts:
            step = part.plan(values)
            steps.append(step)
            values.append(step.result)
        reduction = None if self.reduction is None else self.reduction.plan(values)
        sources = tuple([part.sources for part in self.parts])
        result = (steps[-1] if reduction is None else reduction).result
        return FusePlan(self, operands, tuple(steps), sources, reduction, result)


def step_by_step(plan: FusePlan, reuses: _Reuses = lambda step: False) -> Run:
    """Return what gives each step a result of its own: for few elements, and to be compared with.

    Takes what `plan` is written into first, if that is given. Of steps that `reuses` names, the
    result takes the place of an operand that no later step reads.
    """
    first, count = plan.destinations, len(plan.operands)
    found = Program(first + count)
    plans: list[Plan] = list(plan.steps)
    reads = [tuple([v + first for v in each]) for each in plan.sources]
    if plan.reduction is not None:
        plans.append(plan.reduction)
        reads.append((found.count + len(plan.steps) - 1,))
    if not first:
        _reuse_operands(plans, reads, count, reuses)
    for each, numbers in zip(plans[:-1], reads[:-1], strict=True):
        found.add(each, numbers)
    last, numbers = plans[-1], reads[-1]
    directly = first and last.result.layout.same_placement(plan.result.layout)
    if directly and isinstance(last, ElementwisePlan) and min(numbers) >= found.count:
        found.add(last.into(plan.result), (0, *numbers))
        return compiled(found)
    made = found.add(last, numbers)
    if first:  # what reads an operand may write before it has read, and elsewhere round otherwise
        found.add(AssignPlan(plan.operation.name, last.result, plan.result), (0, made))
    return compiled(found)


def _reuse_operands(
    plans: list[Plan], reads: list[tuple[int, ...]], count: int, reuses: _Reuses
) -> None:
    """Have steps write into a result that they are the last to read, if its spec is theirs."""
    last_use = {v: i for i, each in enumerate(reads) for v in each}
    for i, step in enumerate(plans):
        if not isinstance(step, ElementwisePlan) or not reuses(step):
            continue
        for v in reads[i]:
            if v >= count and last_use[v] == i and plans[v - count].result == step.result:
                plans[i], reads[i] = step.into(step.result), (v, *reads[i])
                break


def write_call_by_call(plan: FusePlan) -> Write:
    """Return ``write(out, *operands)`` that runs each step as a call of its own.

    For functions that convert to a tiled layout themselves: not all values have the same tiles, so
    some are copied.
    """
    found = Program(len(plan.operands))
    specs, numbers = [*plan.operands], [*range(found.count)]
    parts = [*plan.operation.parts, *filter(None, [plan.operation.reduction])]
    steps: list[Plan] = [*plan.steps, *filter(None, [plan.reduction])]
    for part, step in zip(parts, steps, strict=True):
        numbers.append(part.add_to(found, specs, numbers))
        specs.append(step.result)
    values, last = compiled(found), steps[-1].result
    end: Plan = CopyPlan(last, plan.result)
    if plan.destinations:
        end = AssignPlan(plan.operation.name, last, plan.result)
    copy = backend(plan.result.device).carry_out(end)
    return lambda out, *operands: copy(out, values(*operands))
