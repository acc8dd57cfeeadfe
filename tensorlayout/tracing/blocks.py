"""The hooks by which blocks see calls and events, and what `explain` says of the calls.

They see nothing while there are no blocks.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from tensorlayout import plan as plans
from tensorlayout.functions import dispatch
from tensorlayout.plan.fuse import Fusion
from tensorlayout.support.context_blocks import Scope
from tensorlayout.tensor import Tensor, TensorSpec
from tensorlayout.tracing.record import Record, arrow, launched, stack, work_of
from tensorlayout.tracing.refusals import Refusal, refusals
from tensorlayout.tracing.traces import Trace, traces

# The calls that `explain` has seen: operation, key, program, and how many records the trace had.
_Calls = list[tuple[plans.Operation, tuple[Any, ...], plans.Program, int]]
_explained: Scope[tuple[_Calls, Trace]] = Scope("explain", plans.watched)


def _innermost() -> tuple[Trace | None, Refusal | None]:
    """The blocks that see what happens; what is done for people's eyes is not refused."""
    return traces.get(), None if plans.events.for_eyes.get() else refusals.get()


def _observe(operation: plans.Operation, key: tuple[Any, ...], operands: tuple[Any, ...]) -> Any:
    if (explained := _explained.get()) is not None:
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
        makes_nothing=_makes_nothing(plan),
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
        bytes_written=_written(results) if moves and not makes_nothing else 0,
        bytes_exported=size if kind == "export" else 0,
        thread=threading.get_ident(),
        **details,
    )


def _makes_nothing(plan: plans.Plan) -> bool:
    """Return whether memory is only allocated."""
    return isinstance(plan, plans.CreatePlan) and plan.operation.values == "nothing"


def _written(results: Sequence[Any]) -> int:
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


# --- explain ---


class ExplainedStep(NamedTuple):
    """One step of a program.

    Attributes:
        kind: the family of the work, such as ``join``, ``copy`` or ``view``.
        inputs: the specs of the tensors that it reads.
        result: the spec of the tensor that it makes or writes, of several the first.
        bytes_read: **bytes** of distinct elements; 0 for a view.
        bytes_written: **bytes** of elements; 0 for a view, and for memory that is only allocated.

    """

    kind: str
    inputs: tuple[TensorSpec, ...]
    result: TensorSpec
    bytes_read: int
    bytes_written: int

    def __str__(self) -> str:
        layouts = arrow([spec.layout for spec in self.inputs], self.result.layout)
        moved = f"{self.bytes_read:,} bytes read, {self.bytes_written:,} written"
        return f"{self.kind} {self.result.dtype} {layouts}: {moved}"


class ExplainedCall(NamedTuple):
    """One operation of a call: its name, its program, and the kernels that it launched on CUDA."""

    name: str
    steps: tuple[ExplainedStep, ...]
    kernels: tuple[str, ...]

    def __str__(self) -> str:
        lines = [self.name, *[f"  {n}. {step}" for n, step in enumerate(self.steps, 1)]]
        return "\n".join([*lines, *[f"  launched: {kernel}" for kernel in self.kernels]])


class Explanation(tuple[ExplainedCall, ...]):
    """The operations of a call, in order; it prints as a list of their steps."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(map(str, self)) or "no operation"


def explained(
    function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]
) -> Explanation:
    """Run a call and return the programs of the operations in it."""
    calls: _Calls = []
    with traces.saying(Trace()) as seen, _explained.saying((calls, seen)):
        function(*args, **named)
    ends = [*[first for *_, first in calls], len(seen)][1:]
    found = []
    for (operation, key, steps, first), end in zip(calls, ends, strict=True):
        kernels = [name for record in seen.records[first:end] for name in launched(record.kernels)]
        values = [item for item in key if isinstance(item, (TensorSpec, type))]
        values += [step.plan.result for step in steps.steps]
        told = tuple([_step(step, values) for step in steps.steps])
        found.append(ExplainedCall(operation.name, told, tuple(kernels)))
    return Explanation(found)


def _step(step: plans.Step, values: list[Any]) -> ExplainedStep:
    plan = step.plan
    reads = step.reads if plan.partial else step.reads[plan.destinations :]
    inputs = tuple([values[v] for v in reads if isinstance(values[v], TensorSpec)])
    result = plan.result
    written_to = [values[v] for v in step.reads[: plan.destinations]]
    results = written_to or getattr(plan, "results", None) or (result,)
    read = written = 0
    if plan.makes != "view" and not _makes_nothing(plan):
        read, written = sum(map(plans.distinct_bytes, inputs)), _written(results)
    return ExplainedStep(plan.kind, inputs, result, read, written)
