"""Execution: programs found, or made and kept; memory for results; the functions that calls run.

`prepared` gives the function of the operands for an operation and a key. Backends write into memory
that is there: this file allocates it, and copies operands that a write would change.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol

from tensorlayout.plan.base import Operation, Plan, Run, Write, backend
from tensorlayout.plan.copy import Copy, CopyPlan
from tensorlayout.plan.events import Event, note, watched
from tensorlayout.plan.programs import CACHE_SIZE, Program, Step, program, schedule
from tensorlayout.tensor import Tensor, TensorSpec


class _Prepared(Protocol):
    def __call__(self, operation: Operation, *key: Any) -> Run: ...
    def cache_info(self) -> Any: ...
    def cache_clear(self) -> None: ...


def prepare(operation: Operation, *key: Any) -> Run:
    """The function of the operands, without the cache."""
    return compiled(program(operation, key))


# Typed by hand: operations are hashable by identity, which their protocol does not say.
_cached: Any = functools.lru_cache(maxsize=CACHE_SIZE)
prepared: _Prepared = _cached(prepare)


def compiled(program: Program) -> Run:
    """Return the function of the operands that runs the steps; of one step, what carries it out."""
    steps, count = program.steps, program.count
    runs = [
        _guarded(step) if step.call and step.plan.destinations else carried_out(step.plan)
        for step in steps
    ]
    if len(steps) == 1 and steps[0].reads == tuple(range(count)) and not steps[0].events:
        return runs[0]
    takes, places, room = schedule([step.reads for step in steps], count)
    rows = list(zip(steps, runs, takes, places, strict=True))
    end, empty = [*range(count), *places][program.result], [None] * (room - count)

    def run(*operands: Any) -> Any:
        values = [*operands[:count], *empty]
        for step, run_step, take, place in rows:
            if watched:
                for event in step.events:
                    note(event)
            rest = operands[count:] if step.call else ()
            values[place] = run_step(*take(values), *rest)
        return values[end]

    return run


def carried_out(plan: Plan) -> Run:
    """Return the function of the operands of a plan, which are ready for the backend."""
    where = backend(plan.result.device)
    if plan.makes != "new":
        return where.carry_out(plan)
    direct = where.direct(plan)
    if direct is not None:
        return direct
    write = where.carry_out(plan)
    if plan.destinations:

        def run_into(out: Tensor, *operands: Any) -> Tensor:
            write(out, *operands)
            return out

        return run_into
    return allocating(where.new_tensors(plan.result), write)


def allocating(new: Callable[[], Tensor], write: Write) -> Run:
    """Return the function of the operands that writes into a new tensor."""

    def run_new(*operands: Any) -> Tensor:
        out = new()
        write(out, *operands)
        return out

    return run_new


def noted(event: Event, plan: Plan) -> Run:
    """Return the function of the operands of a copy on the way, which a trace shows as `event`."""
    copy = carried_out(plan)

    def run(*operands: Tensor) -> Tensor:
        note(event)
        return copy(*operands)

    return run


def noted_copy(name: str, source: TensorSpec, result: TensorSpec) -> Run:
    """Return such a copy of a tensor; `source`: how the tensor is seen."""
    copy = noted(Event(name, source, result), CopyPlan(source, result))
    return lambda x: copy(Tensor._new(x.memory, source, x.home))


def _guarded(step: Step) -> Run:
    """Return what runs a step as if every operand that its write changes had been copied first.

    Masks, positions, values and summands may be views of the tensor that is written, under another
    dtype too. Where one is, the call goes on with a copy of it, packed in its order.
    """
    run, call = carried_out(step.plan), step.call
    assert call is not None
    operation, key = call
    tensors = len([item for item in key if isinstance(item, TensorSpec)])
    if tensors < 2:
        return run
    disturbs = backend(step.plan.result.device).disturbs(step.plan)
    if disturbs is None:
        return run
    copying = Copy(operation.name)  # one: plans are found by the operation itself
    advice = "write what shares no memory with the tensor that is written"

    def run_with_one(x: Tensor, other: Tensor) -> Tensor:
        return run_on_copies(x, other) if disturbs(x, other) else run(x, other)

    def run_with_others(x: Tensor, *others: Any) -> Tensor:
        for other in others:
            if type(other) is Tensor and disturbs(x, other):
                return run_on_copies(x, *others)
        return run(x, *others)

    def run_on_copies(x: Tensor, *others: Any) -> Tensor:
        given = [x, *(copy(o) if type(o) is Tensor and disturbs(x, o) else o for o in others)]
        specs = iter([o.spec for o in given if type(o) is Tensor])
        found = [next(specs) if isinstance(item, TensorSpec) else item for item in key]
        return prepared(operation, *found)(*given)

    def copy(x: Tensor) -> Tensor:
        spec = x.spec
        packed = TensorSpec(spec.dtype, spec.layout.form, spec.device)
        note(Event(operation.name, spec, packed, advice))
        return prepared(copying, spec, None, None)(x)

    return run_with_one if len(key) == tensors == 2 else run_with_others


def cache_info() -> Any:
    """Hits, misses, the size limit and the current size of the cache of plans."""
    return prepared.cache_info()


def cache_clear() -> None:
    """Forget all plans."""
    prepared.cache_clear()
