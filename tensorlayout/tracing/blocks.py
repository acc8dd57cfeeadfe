"""The blocks, and the hooks by which they see calls and steps: nothing while there are none.

At the end stand the errors and warnings of `no_copies`: line, layouts and advice.
"""

from __future__ import annotations

import operator
import threading
import time
import warnings
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from tensorlayout.errors import CopyError, cut, named, refuse, shown
from tensorlayout.functions import dispatch
from tensorlayout.layout import Layout
from tensorlayout.plan import steps, tiled
from tensorlayout.plan.base import Operation, Plan
from tensorlayout.plan.fill import CreatePlan
from tensorlayout.plan.fuse import Fusion
from tensorlayout.plan.run import prepared_into
from tensorlayout.plan.steps import COPIES, Step, distinct_bytes
from tensorlayout.support.context_blocks import Block, Scope
from tensorlayout.support.lazy_imports import loaded
from tensorlayout.support.light_dataclasses import frozen, planned
from tensorlayout.tensor import Tensor, TensorSpec
from tensorlayout.tracing.record import Line, Record, stack
from tensorlayout.tracing.traces import Trace

if TYPE_CHECKING:
    from tensorlayout.cuda.engine.launch_log import DeviceWork


class CopyWarning(UserWarning):
    """A copy, a change of layout, or an export, in ``no_copies(warn=True)``.

    >>> import warnings
    >>> import tensorlayout as tl
    >>> with warnings.catch_warnings(record=True) as found, tl.no_copies(warn=True):
    ...     warnings.simplefilter("always", tl.CopyWarning)
    ...     y = tl.zeros((2, 3)).copy()
    >>> [warning.category.__name__ for warning in found]
    ['CopyWarning']
    """

    __module__ = "tensorlayout"


@frozen
class Refusal:
    """The options of `no_copies`; `exports`: exports are refused, too."""

    at_least: int
    warn: bool
    allow: frozenset[str]
    exports: bool

    def concerns(self, record: Record) -> bool:
        """Return whether this record is refused; one of a single element never is."""
        kinds = (*COPIES, "export") if self.exports else COPIES
        meant = record.kind in kinds and record.output.size > 1
        wide = record.bytes_written + record.bytes_exported >= self.at_least
        return meant and wide and record.name not in self.allow

    def of(self, record: Record, instead: str) -> None:
        """Raise a CopyError, or warn, at the line of the record."""
        layouts = ", ".join(cut(layout) for layout in record.inputs[:4])
        if len(record.inputs) > 4:
            layouts += ", …"
        if record.kind in COPIES:
            layouts += f" -> {cut(record.output)}"
        text = (
            f"{record.bytes_written + record.bytes_exported:,} bytes of {record.dtype} would be"
            f" {_DONE[record.kind]} at {record.where or 'an unknown line'}, layout {layouts};"
            f" instead, {instead}"
        )
        if self.warn:
            where = record.stack[0] if record.stack else None
            place = (where.file, where.number) if where else ("<unknown>", 1)
            warnings.warn_explicit(f"{record.name}: {text}", CopyWarning, *place, registry=_warned)
            return
        error = CopyError(text)
        error.record = record
        raise named(record.name, error)


_traces: Scope[Trace] = Scope("trace", steps.watched)
_refusals: Scope[Refusal] = Scope("no_copies", steps.watched)


def tracing() -> Block[Trace, Trace]:
    """A block that records."""
    return _traces.saying(Trace())


def refusing(at_least: Any, warn: bool, allow: Any, exports: bool) -> Block[Refusal, None]:
    """Return a block that refuses copies, and exports if asked; TypeError for a wrong argument."""
    try:
        size = operator.index(at_least)
    except TypeError:
        refuse("no_copies", f"at_least must be an integer, got {shown(at_least)}", TypeError)
    names = None if isinstance(allow, str) or not isinstance(allow, Iterable) else frozenset(allow)
    if names is None or not all(isinstance(name, str) for name in names):
        came = shown(allow)
        refuse("no_copies", f"allow must be a collection of names, got {came}", TypeError)
    return _refusals.giving(Refusal(size, bool(warn), names, bool(exports)), None)


def _refusing() -> Refusal | None:
    return None if steps.for_eyes.get() else _refusals.get()


def _observe(
    prepared: Any, operation: Operation, key: tuple[Any, ...], operands: tuple[Any, ...]
) -> Any:
    seen, refusal = _traces.get(), _refusing()
    if seen is None and refusal is None:
        return None
    run = prepared(operation, *key)
    into = prepared is prepared_into
    plan = tiled.planned(operation, key[into:])
    call = _Call(operation, plan, plan.destinations or int(into), operands, stack())
    if refusal is not None and plan.record in COPIES:
        record = call.record((plan.result,))
        if refusal.concerns(record):
            advice = _INSTEAD.get(plan.kind) or _between(call.read[0]._spec, plan.result)
            refusal.of(record, advice)
    if seen is None:
        return run(*operands)
    with _work_of(plan, operands) as work:
        start = time.perf_counter()
        result = run(*operands)
        seconds = time.perf_counter() - start
    results = result if isinstance(result, tuple) else (result,)
    seen.records.append(call.record(results, seconds, start, work))
    return result


def _heard(step: Step) -> None:
    """A step on the way, or one outside of calls; its time is in that of the operation."""
    seen, refusal = _traces.get(), _refusing()
    if seen is None and refusal is None:
        return
    source, result = step.source, step.result
    size, moves = distinct_bytes(source), not step.exports
    record = Record(
        *(step.name, step.kind, (source.layout,), result.layout, str(result.dtype)),
        *((size, _size(result), 0.0) if moves else (0, 0, 0.0)),
        bytes_exported=0 if moves else size,
        stack=stack(),
        start=time.perf_counter(),
        thread=threading.get_ident(),
    )
    if refusal is not None and refusal.concerns(record):
        refusal.of(record, step.instead or _between(source, result))
    if seen is not None:
        seen.records.append(record)


@planned
class _Call:
    """What is known of a call before it is carried out."""

    operation: Operation
    plan: Plan
    destinations: int
    operands: tuple[Any, ...]
    stack: tuple[Line, ...]

    @property
    def tensors(self) -> list[Tensor]:
        """Those among the operands."""
        return [x for x in self.operands if isinstance(x, Tensor)]

    @property
    def read(self) -> list[Tensor]:
        """Those that are read."""
        return self.tensors[0 if self.plan.reads_destination else self.destinations :]

    def record(
        self,
        results: Sequence[Tensor | TensorSpec],
        seconds: float = 0.0,
        start: float = 0.0,
        work: DeviceWork | None = None,
    ) -> Record:
        """The record of the call; `results`: what is made, if nothing is written into."""
        plan, operation, read = self.plan, self.operation, self.read
        results = self.tensors[: self.destinations] or results
        specs = [each._spec if isinstance(each, Tensor) else each for each in results]
        view = plan.record == "view"
        values = plan.operation.values if isinstance(plan, CreatePlan) else ""
        copied, nothing = values == "array", view or values == "nothing"
        sources = specs if copied else [x._spec for x in read]
        return Record(
            operation.name,
            plan.record,
            tuple(x.layout for x in read),
            results[0].layout,
            str(specs[0].dtype),
            0 if view else sum(map(distinct_bytes, sources)),
            0 if nothing else sum(map(_size, specs)),
            seconds,
            operation.names if isinstance(operation, Fusion) else (),
            self.stack,
            start,
            threading.get_ident(),
            work,
        )


def _size(spec: TensorSpec) -> int:
    return spec.layout._bytes_of(spec.layout.size, spec.dtype.itemsize)


def _work_of(plan: Plan, operands: tuple[Any, ...]) -> AbstractContextManager[DeviceWork | None]:
    """What CUDA does inside the block; None where it has no part, as in views."""
    if plan.makes == "view" and not any(
        isinstance(x, Tensor) and not x._spec.layout.is_strided for x in operands
    ):
        return nullcontext()
    devices = [plan.result.device, *(x.device for x in operands if isinstance(x, Tensor))]
    device = next((each for each in devices if each.kind == "cuda"), None)
    if device is None:
        return nullcontext()
    loaded("tensorlayout.cuda.engine.launch_log")  # only where there is one
    from tensorlayout.cuda.engine.launch_log import device_work

    return device_work(device.number)


_DONE = {
    "export": "handed to another library",
    "copy": "copied",
    "relayout": "moved into another layout",
}

# What Python shows once for each line has been shown.
_warned: dict[str | tuple[str, type[Warning], int], int] = {}


# By the kind of plan, where two layouts do not say it.
_INSTEAD = {
    "assign": "work the value out in the place that it is written to",
    "create": "give an array in this machine's byte order, at strides of whole elements",
    "join": "make the whole first, and work out each part in a view of it",
    "pad": "make the padded tensor first, and work out the inside in a view of it",
    "split": "use views of the whole, as x[...] gives",
}


def _between(source: TensorSpec, result: TensorSpec) -> str:
    """Return the advice that makes a copy unnecessary, by what it would copy."""
    before, after = source.layout, result.layout
    if source.device != result.device:
        return f"make it on {result.device}, by device=, or go on where it is, on {source.device}"
    if distinct_bytes(source) < before.size * source.dtype.itemsize:
        return "use the view that repeats elements as it is"
    if before.same_placement(after):
        if source.dtype != result.dtype:
            return f"have the operand in {result.dtype}"
        return "use the operand itself, of which it is the same"
    if before.shape == after.shape:
        return f"have the operand in layout {cut(after)}"
    if before.reshape(after.shape) is not None:
        return "leave out copy=True: there is a view"
    return f"have the operand in layout {Layout.row_major(before.shape)}, which has such a view"


dispatch.observers.append(_observe)
steps.listeners.append(_heard)
