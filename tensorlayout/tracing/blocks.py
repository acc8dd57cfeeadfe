"""Observers of calls and events that feed `trace`, `explain` and `no_copies` blocks."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

from tensorlayout import plan as plans
from tensorlayout.functions import dispatch
from tensorlayout.plan.fuse import Fusion
from tensorlayout.support.context_blocks import Scope
from tensorlayout.tensor import Tensor
from tensorlayout.tracing.record import Record, calling_lines, record_device_work
from tensorlayout.tracing.refusals import Refusal, refusal_scope
from tensorlayout.tracing.traces import Trace, trace_scope

# Calls inside an `explain`: operation, key, program, and length of its trace before the call.
ExplainedCalls = list[tuple[plans.Operation, tuple[Any, ...], plans.Program, int]]
explain_scope: Scope[tuple[ExplainedCalls, Trace]] = Scope("explain", plans.watched)


def _active_trace_and_refusal() -> tuple[Trace | None, Refusal | None]:
    """Return the active trace and refusal; printing a tensor is never refused."""
    return (
        trace_scope.innermost_value(),
        None if plans.events.display_only.innermost_value() else refusal_scope.innermost_value(),
    )


def _record_call_if_traced(
    operation: plans.Operation, key: tuple[Any, ...], operands: tuple[Any, ...]
) -> Any:
    if (explained := explain_scope.innermost_value()) is not None:
        calls, trace_so_far = explained
        calls.append((operation, key, plans.make_program(operation, key), len(trace_so_far)))
    trace, refusal = _active_trace_and_refusal()
    # The observers run while any thread has a block open. None lets the call go its usual way.
    if trace is None and refusal is None:
        return None
    run = plans.compile_call(operation, *key)
    plan, original = plans.plan_call(operation, key), operation
    if isinstance(operation, plans.IntoDestination):
        original = operation.operation
    tensors = [x for x in operands if isinstance(x, Tensor)]
    # Destinations come first among the operands. The plan of an IntoDestination describes the
    # result alone and counts no destination, so True counts it as one.
    outputs = tensors[: plan.destinations or isinstance(operation, plans.IntoDestination)]
    # A partial write keeps old elements of its destination, which therefore is an input, too.
    inputs = tensors if plan.partial else tensors[len(outputs) :]
    make_record = partial(
        _make_record,
        operation.name,
        plan.trace_kind,
        inputs,
        only_allocates_memory=is_allocation_only(plan),
        parts=original.operation_names if isinstance(original, Fusion) else (),
        stack=calling_lines(),
    )
    if refusal is not None:
        source = inputs[0].spec if inputs else plan.result
        # Refuse before the call runs, so that destinations are unchanged.
        planned_record = make_record(outputs or [plan.result])
        refusal.check_record(
            planned_record, _ADVICE_BY_KIND.get(plan.kind, ""), source, plan.result
        )
    if trace is None:
        return run(*operands)
    with record_device_work(plan, operands) as device_work:
        start = time.perf_counter()
        result = run(*operands)
        seconds = time.perf_counter() - start
    results = outputs or (result if isinstance(result, tuple) else [result])
    trace.records.append(make_record(results, seconds=seconds, start=start, work=device_work))
    return result


def _record_or_refuse_event(event: plans.Event) -> None:
    """Record or refuse a copy inside an operation, or an export; the time is the operation's."""
    trace, refusal = _active_trace_and_refusal()
    if trace is None and refusal is None:
        return
    source, result = event.source, event.result
    start = time.perf_counter()
    event_record = _make_record(
        event.name, event.kind, [source], [result], stack=calling_lines(), start=start
    )
    if refusal is not None:
        refusal.check_record(event_record, event.instead, source, result)
    if trace is not None:
        trace.records.append(event_record)


def _make_record(
    name: str,
    kind: plans.Kind,
    inputs: Sequence[Any],
    results: Sequence[Any],
    *,
    only_allocates_memory: bool = False,
    **details: Any,
) -> Record:
    """Return the record of a call or an event; `inputs`, `results` are tensors or specs."""
    # A creation has no input tensors: it copies an array of the size of the result.
    sources = results if kind == "copy" and not inputs else inputs
    size = sum(plans.distinct_bytes(getattr(x, "spec", x)) for x in sources)
    moves_elements = kind not in ("view", "export")
    return Record(
        name,
        kind,
        tuple(x.layout for x in inputs),
        results[0].layout,
        str(results[0].dtype),
        bytes_read=size if moves_elements else 0,
        bytes_written=total_written_bytes(results)
        if moves_elements and not only_allocates_memory
        else 0,
        bytes_exported=size if kind == "export" else 0,
        thread=threading.get_ident(),
        **details,
    )


def is_allocation_only(plan: plans.Plan) -> bool:
    """Return whether a plan only allocates memory, as `empty`, and writes no bytes."""
    return isinstance(plan, plans.CreatePlan) and plan.operation.values == "nothing"


def total_written_bytes(results: Sequence[Any]) -> int:
    """Return the **bytes** of the elements of tensors or specs."""
    return sum(x.layout._slots_to_bytes(x.layout.size, x.dtype.itemsize) for x in results)


# Advice by kind of plan, if it does not follow from the layouts of source and result.
_ADVICE_BY_KIND = {
    "assign": "compute the value in its destination, by out= or an in-place operator",
    "create": "pass an array in native byte order whose strides are multiples of its item size",
    "join": "allocate the result first, and compute each part in a view of it",
    "pad": "allocate the padded tensor first, and compute the inner part in a view of it",
    "split": "use views of the operand, such as x[:3]",
}

dispatch.observers.append(_record_call_if_traced)
plans.events.listeners.append(_record_or_refuse_event)
