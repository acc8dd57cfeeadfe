"""Plans of fused functions: elementwise steps, and at most one last reduction, as one pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

from tensorlayout.plan import tiled
from tensorlayout.plan.base import Operation, Plan, Run, Write, backend, planned
from tensorlayout.plan.copy import AssignPlan, CopyPlan
from tensorlayout.plan.elementwise import ElementwisePlan, Operand, are_one_run
from tensorlayout.plan.reduce import ReducePlan
from tensorlayout.plan.run import carried_out, prepared, prepared_into
from tensorlayout.tensor import Tensor, TensorSpec

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
        plan = tiled.planned(self.operation, (*[values[i] for i in self.sources], *self.static))
        if plan.makes == "view":  # a copy for other layouts, such as tiles, but not for these
            source: Any = values[self.sources[0]]
            return CopyPlan(source, plan.result)
        if self.into is None:
            return plan
        plan.check_into(values[self.into])
        return replace(plan, result=values[self.into])

    def prepared(self, values: Sequence[Operand]) -> Run:
        """The function of the operands that the call by itself would have."""
        key = (*[values[i] for i in self.sources], *self.static)
        if self.into is None:
            return prepared(self.operation, *key)
        into: Any = values[self.into]
        new = backend(into.device).new_tensors(into)
        write = prepared_into(self.operation, into, *key)
        return lambda *operands: write(new(), *operands)


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
    keeps_form = True
    overlap = "itself"

    operation: Fusion
    operands: tuple[Operand, ...]
    steps: tuple[Step, ...]
    sources: tuple[tuple[int, ...], ...]
    reduction: ReducePlan | None
    result: TensorSpec
    given: bool = False

    @property
    def any_layout(self) -> bool:  # type: ignore[override]
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
    """Each step with a result of its own: for few elements, and to be compared with.

    Takes what `plan` is written into first, if that is given. Of steps that `reuses` names, the
    result takes the place of an operand that nobody needs any more.
    """
    plans: list[Plan] = list(plan.steps)
    sources = list(plan.sources)
    count = len(plan.operands)
    if plan.reduction is not None:
        plans.append(plan.reduction)
        sources.append((count + len(plan.steps) - 1,))
    if plan.given:
        sources = [tuple([i + 1 for i in each]) for each in sources]
        last = plans.pop()
        fits = last.result.layout.same_placement(plan.result.layout)
        if isinstance(last, ElementwisePlan) and min(sources[-1]) > count and fits:
            plans.append(last.into(plan.result))
        else:  # what reads an operand may write before it has read, and elsewhere round otherwise
            plans += [last, AssignPlan(plan.operation.name, last.result, plan.result)]
            sources.append((count + len(plan.steps),))
        sources[-1] = (0, *sources[-1])
    else:
        _take_places(plans, sources, count, reuses)
    runs = [carried_out(each) for each in plans]
    if len(runs) == 1 and sources[0] == tuple(range(len(sources[0]))):
        return runs[0]
    program, room, end = sequence(runs, sources, count + int(plan.given))

    def run(*operands: Any) -> Any:
        values = [*operands, *room]
        for step, of, to in program:
            values[to] = step(*of(values))
        return values[end]

    return run


def _take_places(
    plans: list[Plan], sources: list[tuple[int, ...]], count: int, reuses: _Reuses
) -> None:
    """Have steps write into what they read last, where that is made on the way, and alike."""
    last_use = {v: i for i, each in enumerate(sources) for v in each}
    for i, step in enumerate(plans):
        if not isinstance(step, ElementwisePlan) or not reuses(step):
            continue
        for v in sources[i]:
            if v >= count and last_use[v] == i and plans[v - count].result == step.result:
                plans[i], sources[i] = step.into(step.result), (v, *sources[i])
                break


_Function = TypeVar("_Function")
_Get = Callable[[list[Any]], Sequence[Any]]


def sequence(
    functions: Sequence[_Function], sources: Sequence[tuple[int, ...]], count: int
) -> tuple[list[tuple[_Function, _Get, int]], list[None], int]:
    """Functions with what each takes from a list of values, `count` operands first, and its place.

    Also what the list holds more at the beginning, and the place of the last value. Values that
    nobody needs any more lose their place: so their memory is free, for the next one.
    """
    last_use = {v: i for i, each in enumerate(sources) for v in each}
    places = list(range(count))
    free: list[int] = []
    top = count
    program = []
    for i, (function, reads) in enumerate(zip(functions, sources, strict=True)):
        free += {places[v] for v in reads if v >= count and last_use[v] == i}
        to = free.pop() if free else top
        top = max(top, to + 1)
        program.append((function, getter(tuple([places[v] for v in reads])), to))
        places.append(to)
    return program, [None] * (top - count), places[-1]


def getter(numbers: tuple[int, ...]) -> _Get:
    """What takes the items of these numbers from a list."""
    if len(numbers) > 1:
        return itemgetter(*numbers)
    return itemgetter(slice(numbers[0], numbers[0] + 1))


def write_call_by_call(plan: FusePlan) -> Write:
    """Return ``write(out, *operands)`` that runs each step as a call of its own.

    For functions that convert to a tiled layout themselves: not all values have the same tiles, so
    some are copied.
    """
    parts = [*plan.operation.parts]
    specs: list[Any] = plan.values
    if plan.reduction is not None:
        parts.append(plan.operation.reduction)  # type: ignore[arg-type]
        specs.append(plan.reduction.result)
    runs = [part.prepared(specs) for part in parts]
    end: Plan = CopyPlan(specs[-1], plan.result)
    if plan.given:
        end = AssignPlan(plan.operation.name, specs[-1], plan.result)
    copy = backend(plan.result.device).carry_out(end)

    def write(out: Tensor, *operands: Any) -> None:
        values = [*operands]
        for run, part in zip(runs, parts, strict=True):
            values.append(run(*[values[i] for i in part.sources]))
        copy(out, values[-1])

    return write
