"""`explain`: the steps that a call runs, their layouts, and the bytes that they move."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tensorlayout.plan import Step, distinct_bytes
from tensorlayout.tensor import TensorSpec
from tensorlayout.tracing import blocks
from tensorlayout.tracing.record import format_layout_change, kernel_counts_by_label
from tensorlayout.tracing.traces import Trace, trace_scope


class ExplainedStep(NamedTuple):
    """One step of a program.

    - `kind`: family of the work, such as ``join``, ``copy`` or ``view``.
    - `inputs`: specs of the tensors that it reads.
    - `result`: spec of the tensor that it returns or writes; the first of several.
    - `bytes_read`: **bytes** of distinct elements; 0 for a view.
    - `bytes_written`: **bytes** of elements; 0 for a view, and for memory that is only allocated.
    """

    kind: str
    inputs: tuple[TensorSpec, ...]
    result: TensorSpec
    bytes_read: int
    bytes_written: int

    def __str__(self) -> str:
        layouts = format_layout_change([spec.layout for spec in self.inputs], self.result.layout)
        moved = f"{self.bytes_read:,} bytes read, {self.bytes_written:,} written"
        return f"{self.kind} {self.result.dtype} {layouts}: {moved}"


class ExplainedCall(NamedTuple):
    """One operation of a call: name, program, and the kernels that it launched on CUDA."""

    name: str
    steps: tuple[ExplainedStep, ...]
    kernels: tuple[str, ...]

    def __str__(self) -> str:
        lines = [self.name, *[f"  {n}. {step}" for n, step in enumerate(self.steps, 1)]]
        return "\n".join([*lines, *[f"  launched: {kernel}" for kernel in self.kernels]])


class Explanation(tuple[ExplainedCall, ...]):
    """Operations of a call, in order; prints as a list of their steps."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(map(str, self)) or "no operation"


def explain_call(
    function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]
) -> Explanation:
    """Run a call and return the programs of its operations."""
    calls: blocks.ExplainedCalls = []
    with (
        trace_scope.scope_with_value(Trace()) as trace,
        blocks.explain_scope.scope_with_value((calls, trace)),
    ):
        function(*args, **options)
    # The records of a call begin at its `first` and end where the next call begins.
    ends = [*[first for *_, first in calls], len(trace)][1:]
    explanations = []
    for (operation, key, steps, first), end in zip(calls, ends, strict=True):
        kernels = [
            name
            for record in trace.records[first:end]
            for name in kernel_counts_by_label(record.kernels)
        ]
        # A step names its operands by numbers: those of the call come first, a Python scalar being
        # its type, then the results of all steps in order.
        values = [item for item in key if isinstance(item, (TensorSpec, type))]
        values += [step.plan.result for step in steps.steps]
        explained_steps = tuple([_explain_step(step, values) for step in steps.steps])
        explanations.append(ExplainedCall(operation.name, explained_steps, tuple(kernels)))
    return Explanation(explanations)


def _explain_step(step: Step, values: list[Any]) -> ExplainedStep:
    plan = step.plan
    input_numbers = step.reads if plan.partial else step.reads[plan.destinations :]
    inputs = tuple([values[v] for v in input_numbers if isinstance(values[v], TensorSpec)])
    result = plan.result
    destinations = [values[v] for v in step.reads[: plan.destinations]]
    # Without a destination, a plan with several results lists them; others have the one.
    results = destinations or getattr(plan, "results", None) or (result,)
    bytes_read = bytes_written = 0
    if plan.result_kind != "view" and not blocks.is_allocation_only(plan):
        bytes_read = sum(map(distinct_bytes, inputs))
        bytes_written = blocks.total_written_bytes(results)
    return ExplainedStep(plan.kind, inputs, result, bytes_read, bytes_written)
