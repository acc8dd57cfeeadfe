"""Execution: compile the program of a call once, keep it, and run it on tensors.

`compile_call` returns a function of the operands for an operation and a key of specs. For example,
``z[1:] += z[:-1]`` is the operation `add` with the key of two specs and a destination. Its program
is one step, ``z = add(z, y)``, so `compile_call` returns the function of the CPU or CUDA backend
for that plan itself. A call with the same specs finds the function in the cache.

Backends write into existing memory, or allocate the result of a plan themselves where one function
for both is faster. This file allocates all others, runs programs of several steps, and copies an
operand first if the write would change it before it is read, as ``z[:-1]`` here on CUDA (NumPy's
`add` handles overlaps itself): the backend's `overlap_test` detects it, and the call then runs with
a copy, under another key.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol

from tensorlayout.plan.base import Operation, Plan, Run, Write, backend_of
from tensorlayout.plan.copy import Copy, CopyPlan
from tensorlayout.plan.events import Event, notify_listeners, watched
from tensorlayout.plan.programs import CACHE_SIZE, Program, Step, assign_value_places, make_program
from tensorlayout.tensor import Tensor, TensorSpec


class _CompileCached(Protocol):
    def __call__(self, operation: Operation, *key: Any) -> Run: ...
    def cache_info(self) -> Any: ...
    def cache_clear(self) -> None: ...


def compile_call_uncached(operation: Operation, *key: Any) -> Run:
    """Compile a call to a function of its operands, without the cache."""
    return compile_program(make_program(operation, key))


# Typed by hand: operations are hashable by identity, which their protocol does not say.
_cached: Any = functools.lru_cache(maxsize=CACHE_SIZE)
compile_call: _CompileCached = _cached(compile_call_uncached)


def compile_program(program: Program) -> Run:
    """Compile a program to one function of the operands; a single step to its own function."""
    steps, count = program.steps, program.count
    runs = [
        _compile_copying_overlaps(step)
        if step.call and step.plan.destinations
        else compile_plan(step.plan)
        for step in steps
    ]
    # Most calls have one step. Then no Python function runs between the caller and the backend.
    if len(steps) == 1 and steps[0].reads == tuple(range(count)) and not steps[0].events:
        return runs[0]
    # A value's place in the list is used again after its last step, which frees its memory early.
    operand_getters, places, slot_count = assign_value_places([step.reads for step in steps], count)
    scheduled_steps = list(zip(steps, runs, operand_getters, places, strict=True))
    end, empty = [*range(count), *places][program.result], [None] * (slot_count - count)

    def run_steps(*operands: Any) -> Any:
        values = [*operands[:count], *empty]
        for step, run_step, take, place in scheduled_steps:
            if watched:  # before the step, so that `no_copies` refuses it in time
                for event in step.events:
                    notify_listeners(event)
            # Scalars after the tensors belong to the step of the call itself, not to copies.
            extra_operands = operands[count:] if step.call else ()
            values[place] = run_step(*take(values), *extra_operands)
        return values[end]

    return run_steps


def compile_plan(plan: Plan) -> Run:
    """Compile a plan whose operands have layouts that the backend accepts."""
    device_backend = backend_of(plan.result.device)
    if plan.result_kind != "new":
        return device_backend.compile_plan(plan)
    # One call that allocates and computes a small result is faster than two.
    direct = device_backend.compile_allocating(plan)
    if direct is not None:
        return direct
    write = device_backend.compile_plan(plan)
    if plan.destinations:

        def write_into_out(out: Tensor, *operands: Any) -> Tensor:
            write(out, *operands)
            return out

        return write_into_out
    return allocate_then_write(device_backend.tensor_allocator(plan.result), write)


def allocate_then_write(allocate: Callable[[], Tensor], write: Write) -> Run:
    """Return a function that allocates a tensor and writes the result into it."""

    def allocate_and_write(*operands: Any) -> Tensor:
        out = allocate()
        write(out, *operands)
        return out

    return allocate_and_write


def compile_traced_copy(event: Event, plan: Plan) -> Run:
    """Compile a copy that is part of another call, which a trace shows as `event`."""
    copy = compile_plan(plan)

    def copy_and_record(*operands: Tensor) -> Tensor:
        notify_listeners(event)
        return copy(*operands)

    return copy_and_record


def compile_traced_tensor_copy(name: str, source: TensorSpec, result: TensorSpec) -> Run:
    """Compile a traced copy of a tensor whose memory is read with the spec `source`."""
    copy = compile_traced_copy(Event(name, source, result), CopyPlan(source, result))
    return lambda x: copy(Tensor._from_memory(x.memory, source, x.home))


def _compile_copying_overlaps(step: Step) -> Run:
    """Compile a step that first copies every operand which its write would change.

    Masks, positions, values and summands may be views of the destination, even with another dtype.
    Such an operand is replaced by a packed copy in its order.
    """
    run, call = compile_plan(step.plan), step.call
    assert call is not None
    operation, key = call
    tensors = len([item for item in key if isinstance(item, TensorSpec)])
    if tensors < 2:
        return run
    overlaps = backend_of(step.plan.result.device).overlap_test(step.plan)
    if overlaps is None:
        return run
    copying = Copy(operation.name)  # one object, because the cache finds plans by its identity
    advice = "pass operands that share no memory with the destination"

    def run_pair_copying_overlap(x: Tensor, other: Tensor) -> Tensor:
        return run_with_overlapping_copied(x, other) if overlaps(x, other) else run(x, other)

    def run_copying_overlaps(x: Tensor, *others: Any) -> Tensor:
        for other in others:
            if type(other) is Tensor and overlaps(x, other):
                return run_with_overlapping_copied(x, *others)
        return run(x, *others)

    def run_with_overlapping_copied(x: Tensor, *others: Any) -> Tensor:
        call_operands = [
            x,
            *(copy_and_notify(o) if type(o) is Tensor and overlaps(x, o) else o for o in others),
        ]
        # Copies have other layouts, so the call continues under another key.
        specs = iter([o.spec for o in call_operands if type(o) is Tensor])
        new_key = [next(specs) if isinstance(item, TensorSpec) else item for item in key]
        return compile_call(operation, *new_key)(*call_operands)

    def copy_and_notify(x: Tensor) -> Tensor:
        spec = x.spec
        packed_spec = TensorSpec(spec.dtype, spec.layout.form, spec.device)
        notify_listeners(Event(operation.name, spec, packed_spec, advice))
        return compile_call(copying, spec, None, None)(x)

    # Assignments of one tensor are frequent, and a loop over operands would double their overhead.
    return run_pair_copying_overlap if len(key) == tensors == 2 else run_copying_overlaps


def cache_info() -> Any:
    """Return hits, misses, the size limit and the current size of the cache of plans."""
    return compile_call.cache_info()


def cache_clear() -> None:
    """Clear the cache of compiled calls."""
    compile_call.cache_clear()
