"""The hooks by which blocks see calls and events; they see nothing while there are no blocks."""

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
from tensorlayout.tracing.record import Record, stack, work_of
from tensorlayout.tracing.refusals import Refusal, refusals
from tensorlayout.tracing.traces import Trace, traces

# Calls inside an `explain`: operation, key, program, and the number of records in its trace before.
Calls = list[tuple[plans.Operation, tuple[Any, ...], plans.Program, int]]
explaining: Scope[tuple[Calls, Trace]] = Scope("explain", plans.watched)


def _innermost() -> tuple[Trace | None, Refusal | None]:
    """The blocks that see what happens; what is done for people's eyes is not refused."""
    return traces.get(), None if plans.events.for_eyes.get() else refusals.get()


def _observe(operation: plans.Operation, key: tuple[Any, ...], operands: tuple[Any, ...]) -> Any:
    if (explained := explaining.get()) is not None:
        calls, seen = explained
        calls.append((operation, key, plans.program(operation, key), len(seen)))
    trace, refusal = _innermost()
    if trace is None and refusal is None:
        return None
    run = plans.prepared(operation, *key)
    plan, called = plans.plan_of(operation, key), operation
    if isinstance(operation, plans.Into):
        called = operation.operation
    tensors = [x for x in operands if isinstance(x, Tensor)]
    written = tensors[: plan.destinations or isinstance(operation, plans.Into)]
    read = tensors if plan.partial else tensors[len(written) :]
    record = partial(
        _record,
        operation.name,
        plan.record,
        read,
        makes_nothing=only_allocates(plan),
        parts=called.names if isinstance(called, Fusion) else (),
        stack=stack(),
    )
    if refusal is not None:
        source = read[0].spec if read else plan.result
        planned = record(written or [plan.result])
        refusal.check(planned, _INSTEAD.get(plan.kind, ""), source, plan.result)
    if trace is None:
        return run(*operands)
    with work_of(plan, operands) as work:
        start = time.perf_counter()
        result = run(*operands)
        seconds = time.perf_counter() - start
    results = written or (result if isinstance(result, tuple) else [result])
    trace.records.append(record(results, seconds=seconds, start=start, work=work))
    return result


def _hear(event: plans.Event) -> None:
    """See a copy on the way, or an export; its time is in that of the operation."""
    trace, refusal = _innermost()
    if trace is None and refusal is None:
        return
    source, result = event.source, event.result
    start = time.perf_counter()
    record = _record(event.name, event.kind, [source], [result], stack=stack(), start=start)
    if refusal is not None:
        refusal.check(record, event.instead, source, result)
    if trace is not None:
        trace.records.append(record)


def _record(
    name: str,
    kind: plans.Kind,
    read: Sequence[Any],
    results: Sequence[Any],
    *,
    makes_nothing: bool = False,
    **details: Any,
) -> Record:
    """The record of a call or an event; `read` and `results` are tensors or their specs."""
    # What a creation copies is an array, as large as the result.
    sources = results if kind == "copy" and not read else read
    size = sum(plans.distinct_bytes(getattr(x, "spec", x)) for x in sources)
    moves = kind not in ("view", "export")
    return Record(
        name,
        kind,
        tuple(x.layout for x in read),
        results[0].layout,
        str(results[0].dtype),
        bytes_read=size if moves else 0,
        bytes_written=written_bytes(results) if moves and not makes_nothing else 0,
        bytes_exported=size if kind == "export" else 0,
        thread=threading.get_ident(),
        **details,
    )


def only_allocates(plan: plans.Plan) -> bool:
    """Return whether memory is only allocated."""
    return isinstance(plan, plans.CreatePlan) and plan.operation.values == "nothing"


def written_bytes(results: Sequence[Any]) -> int:
    """The **bytes** of the elements of tensors, or of their specs."""
    return sum(x.layout._bytes_of(x.layout.size, x.dtype.itemsize) for x in results)


# By the kind of plan, where two layouts do not say it.
_INSTEAD = {
    "assign": "work the value out in the place that it is written to",
    "create": "give an array in this machine's byte order, at strides of whole elements",
    "join": "make the whole first, and work out each part in a view of it",
    "pad": "make the padded tensor first, and work out the inside in a view of it",
    "split": "use views of the whole, as x[...] gives",
}

dispatch.observers.append(_observe)
plans.events.listeners.append(_hear)
