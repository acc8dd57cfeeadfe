"""Programs: calls as short sequences of steps on layouts that a backend accepts.

`make_program` begins with the plan of a call, a single step, and rewrites it:

1. a result that cannot be made in its destination is made first and then copied into it;
2. operands in layouts that the backend does not accept (tiles, elements below a byte) are copied to
   strided layouts of whole bytes first, and a result in such a layout is copied back.

This is pure and needs no data; `run` allocates and executes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any, NamedTuple

from tensorlayout.layout import Layout
from tensorlayout.plan.base import Operation, Plan, backend_of, plan_dataclass
from tensorlayout.plan.copy import AssignPlan, CopyPlan
from tensorlayout.plan.events import Event
from tensorlayout.plan.fill import Create, CreatePlan
from tensorlayout.plan.view import NoViewError
from tensorlayout.tensor import SlotBitsError, TensorSpec

Key = tuple[Any, ...]

# Plans kept. One holds a few kilobytes (layouts, closures), never data.
CACHE_SIZE = 4096


class Step(NamedTuple):
    """One plan of a program, executed by a backend.

    Attributes:
        plan: the plan.
        reads: numbers of its operands among the values of the program; destinations come first.
        events: events to notify before the step.
        call: for the step of the call itself, its operation and key. This step also gets the
            operands of the call that are not numbered.

    """

    plan: Plan
    reads: tuple[int, ...]
    events: tuple[Event, ...] = ()
    call: tuple[Operation, Key] | None = None


class Program:
    """Steps and the values that they read: `count` operands, then the result of each step.

    Attributes:
        count: number of operands that are values; others (scalars, offsets) follow in a call.
        steps: the steps, in the order in which they run.
        result: number of the value that the program returns.

    """

    __slots__ = ("count", "result", "steps")

    def __init__(self, count: int) -> None:
        self.count, self.steps, self.result = count, list[Step](), 0

    def append_step(
        self,
        plan: Plan,
        reads: Iterable[int],
        events: tuple[Event, ...] = (),
        call: tuple[Operation, Key] | None = None,
    ) -> int:
        """Append a step, make its value the program's result, and return its number."""
        self.steps.append(Step(plan, tuple(reads), events, call))
        self.result = self.count + len(self.steps) - 1
        return self.result

    def append_program(self, other: Program, operands: Sequence[int]) -> int:
        """Append another program, whose operands are the values `operands`; see `append_step`."""
        numbers = [*operands]
        for step in other.steps:
            reads = [numbers[v] for v in step.reads]
            numbers.append(self.append_step(step.plan, reads, step.events, step.call))
        self.result = numbers[other.result]
        return self.result


@plan_dataclass
class IntoDestination:
    """An operation that writes its result into the first operand, a tensor of any layout."""

    operation: Operation

    @property
    def name(self) -> str:
        return self.operation.name

    def plan(self, destination: TensorSpec, *key: Any) -> Plan:
        """Return the plan of the result alone; `make_program` adds the destination."""
        return self.operation.plan(*key)


# Typed by hand: operations are hashable by identity, which their protocol does not say.
_cached: Any = functools.lru_cache(maxsize=CACHE_SIZE)
into_destination: Callable[[Operation], IntoDestination] = _cached(IntoDestination)


def plan_call(operation: Operation, key: Key) -> Plan:
    """Return the plan of a call.

    It is planned for strided copies of the operands if a tiled layout has no such view, or if the
    result's dtype does not fit the slots of an operand.
    """
    return _plan_or_plan_strided(operation, key)[0]


def _plan_or_plan_strided(operation: Operation, key: Key) -> tuple[Plan, bool]:
    """Return the plan of a call, and whether it is planned for strided copies of operands."""
    try:
        return operation.plan(*key), False
    except NoViewError:
        return operation.plan(*_key_with_strided_specs(key)), True
    except SlotBitsError:
        plan = operation.plan(*_key_with_strided_specs(key))
        if plan.kind in ANY_LAYOUT:
            raise
        return plan, True


def make_program(operation: Operation, key: Key) -> Program:
    """Return the program of a call."""
    # A type in a key is the kind of a Python scalar, which is an operand; dtypes are no types.
    operands = [item for item in key if isinstance(item, (TensorSpec, type))]
    plan, on_copies = _plan_or_plan_strided(operation, key)
    if isinstance(operation, IntoDestination):
        plan.check_destination_fits(key[0])
        if not plan.can_write_into_destination:
            return _program_with_final_copy(operation.operation, key, plan, operands)
        plan = plan.with_destination(key[0])
    # Backends can write a tiled result if all operands are strided, but not one below a byte.
    layouts = [plan.result.layout] if plan.result.layout.slot_bits is not None else []
    for spec in operands:
        if not isinstance(spec, type) and not spec.layout.is_strided:
            layouts.append(spec.layout)
    if layouts and not on_copies:
        below_a_byte = any(layout.slot_bits is not None for layout in layouts)
        on_copies = not backend_of(plan.result.device).accepts_layouts(plan, below_a_byte)
    if on_copies:
        return _program_on_strided_copies(operation, key, plan, operands)
    call_program = Program(len(operands))
    call_program.append_step(plan, range(call_program.count), call=(operation, key))
    return call_program


def _program_with_final_copy(
    operation: Operation, key: Key, plan: Plan, operands: list[Any]
) -> Program:
    """Return a program that computes the result, then copies it into the destination."""
    destination, name = key[0], operation.name
    program_steps = Program(len(operands))
    program_steps.append_program(make_program(operation, key[1:]), range(1, program_steps.count))
    advice = "omit out=; the result is copied into it"
    first = program_steps.steps[0]
    # The copy is the last step, but it is reported with the first one, so that `no_copies` refuses
    # the call before anything is computed.
    events = (Event(name, plan.result, destination, advice), *first.events)
    program_steps.steps[0] = first._replace(events=events)
    program_steps.append_step(AssignPlan(name, plan.result, destination), (0, program_steps.result))
    return program_steps


# --- layouts that a backend does not accept ---

# Allocates memory for a later step to write.
EMPTY = Create("empty", "nothing")

# Kinds of plans that every backend executes in any layout, even packed below a byte.
ANY_LAYOUT = frozenset(["assign", "copy", "transfer", "view", "row", "same", "reinterpret"])


def _program_on_strided_copies(
    operation: Operation, key: Key, plan: Plan, operands: list[Any]
) -> Program:
    """Return a program that runs the call on strided copies, and copies results back."""
    name, numbers = operation.name, [*range(len(operands))]
    program_steps = Program(len(numbers))
    if all(isinstance(o, type) or o.layout.is_strided for o in operands):  # the result alone is not
        strided_plan: Any = replace(plan, result=strided_or_packed_spec(plan.result))  # type: ignore[type-var]
        value_number = program_steps.append_step(strided_plan, numbers, call=(operation, key))
        _add_copy(program_steps, name, value_number, strided_plan.result, plan.result)
        return program_steps
    for number, spec in enumerate(operands):
        if isinstance(spec, type) or spec.layout.is_strided:
            continue
        # A destination that is written as a whole is never read, so its old elements need no copy.
        if number < plan.destinations and not plan.partial:
            numbers[number] = program_steps.append_step(
                CreatePlan(EMPTY, strided_or_packed_spec(spec)), ()
            )
        else:
            numbers[number] = _add_copy(
                program_steps, name, number, spec, strided_or_packed_spec(spec)
            )
    value_number = program_steps.append_program(
        make_program(operation, _key_with_strided_specs(key)), numbers
    )
    for number, spec in enumerate(operands[: plan.destinations]):
        if numbers[number] != number:
            event = Event(name, strided_or_packed_spec(spec), spec)
            back = AssignPlan(name, strided_or_packed_spec(spec), spec)
            program_steps.append_step(back, (number, numbers[number]), (event,))
    if plan.destinations:
        program_steps.result = 0
    elif plan.result_kind == "new" and not plan.result.layout.is_strided:
        result = plan_call(operation, _key_with_strided_specs(key)).result
        if result is not plan.result:
            _add_copy(program_steps, name, value_number, result, plan.result)
    return program_steps


def _add_copy(
    target_program: Program, name: str, value_number: int, source: TensorSpec, result: TensorSpec
) -> int:
    """Append a copy of a value in another layout; return its number."""
    return target_program.append_step(
        CopyPlan(source, result), (value_number,), (Event(name, source, result),)
    )


def strided_or_packed_spec(spec: TensorSpec) -> TensorSpec:
    """Return `spec` if it is strided, otherwise a packed one in the same order of dimensions."""
    layout = spec.layout
    if layout.is_strided:
        return spec
    return TensorSpec(spec.dtype, Layout._packed(layout.shape, layout.minor_to_major), spec.device)


def _key_with_strided_specs(key: Key) -> Key:
    return tuple(
        [strided_or_packed_spec(item) if isinstance(item, TensorSpec) else item for item in key]
    )


# --- where values are kept while a program runs ---


class Schedule(NamedTuple):
    """Places of a program's values in a list: the operands first, then results.

    Attributes:
        operand_getters: for each step, a function that takes its operands from the list of values.
        result_places: for each step, the index at which its result is stored.
        slot_count: the length of the list.

    """

    operand_getters: list[Any]
    result_places: list[int]
    slot_count: int


def assign_value_places(reads: Sequence[Sequence[int]], count: int) -> Schedule:
    """Return places for the results of steps; `reads`: numbers of the values that each step reads.

    The next result takes the place of a value that no later step reads, which frees its memory.
    The first `count` values are operands.
    """
    last_use = {v: i for i, operand_numbers in enumerate(reads) for v in operand_numbers}
    places = list(range(count))
    free: list[int] = []
    top, takes = count, []
    for i, operand_numbers in enumerate(reads):
        takes.append(make_items_getter(tuple([places[v] for v in operand_numbers])))
        # Operands keep their places: a program may return its destination at the end. Places of
        # other values are free at once, because a step takes its operands before its result is
        # stored.
        free += {places[v] for v in operand_numbers if v >= count and last_use[v] == i}
        place = free.pop() if free else top
        top = max(top, place + 1)
        places.append(place)
    return Schedule(takes, places[count:], top)


def make_items_getter(numbers: tuple[int, ...]) -> Any:
    """Return a function that returns the items with these numbers from a list, as a sequence."""
    if len(numbers) > 1:
        return itemgetter(*numbers)
    # An itemgetter of one number would return the item itself, so a slice is taken.
    first = numbers[0] if numbers else 0
    return itemgetter(slice(first, first + len(numbers)))
