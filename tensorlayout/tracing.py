"""`trace`: a record of each operation, with layouts, bytes, time, and what was copied."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tensorlayout.functions import dispatch
from tensorlayout.layout import Layout
from tensorlayout.plan.base import Operation, Plan
from tensorlayout.plan.fill import CreatePlan
from tensorlayout.plan.fuse import Fusion
from tensorlayout.plan.run import prepared_into
from tensorlayout.plan.steps import Step, noted
from tensorlayout.plan.tiled import planned
from tensorlayout.scopes import Block, Scope
from tensorlayout.tensor import Tensor

_traces: Scope[Trace] = Scope("trace", dispatch.watched)


@dataclass(frozen=True, slots=True)
class Record:
    """One operation: what it did, to which layouts, at what cost.

    `kind`: ``view`` (no element moved), ``run`` (computed), ``copy`` (elements moved, each keeping
    its place in memory), or ``layout`` (elements moved into another layout). Bytes are those of
    distinct elements; `seconds` is the time of the call as the host saw it. What an operation had
    to move first, such as an operand that BLAS cannot be told of, is a record before its own, under
    its name; the time of that is in the operation's. `parts`: of a fused function, the names of
    what it does in one pass.
    """

    name: str
    kind: str
    inputs: tuple[Layout, ...]
    output: Layout
    dtype: str
    bytes_read: int
    bytes_written: int
    seconds: float
    parts: tuple[str, ...] = ()

    @property
    def gigabytes_per_second(self) -> float:
        """Bytes read and written by second, in 10^9."""
        moved = self.bytes_read + self.bytes_written
        return moved / self.seconds / 1e9 if self.seconds else 0.0


@dataclass(slots=True)
class Trace:
    """The records of a `trace()` block, in order; prints as a table, in which - is no time.

    A record has the layouts of inputs and output, the dtype, and the **bytes** read and written.
    `records`: a list of them.

    >>> import tensorlayout as tl
    >>> with tl.trace() as seen:
    ...     x = tl.asarray([1, 2, 3])[::-1]
    >>> isinstance(seen, tl.Trace)
    True
    >>> [(r.name, r.kind, str(r.output), r.bytes_written) for r in seen.records]
    [('__getitem__', 'view', '(3,):(-1,)+2', 0)]
    """

    records: list[Record] = field(default_factory=list)

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)

    @property
    def bytes_copied(self) -> int:
        """**Bytes** written by copies and changes of layout (views and computations not counted).

        >>> import tensorlayout as tl
        >>> with tl.trace() as seen:
        ...     y = tl.to_layout(tl.zeros((3, 4), dtype=tl.float32), (0, 1))
        >>> seen.bytes_copied
        48
        """
        return sum(r.bytes_written for r in self.records if r.kind in ("copy", "layout"))

    def __str__(self) -> str:
        head = ("operation", "kind", "layouts", "dtype", "read", "written", "us", "GB/s")
        rows = [head, *map(_row, self.records)]
        widths = [max(len(row[c]) for row in rows) for c in range(len(head))]
        return "\n".join(
            "  ".join(
                word.ljust(w) if c < 4 else word.rjust(w)
                for c, (word, w) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        )


def _row(r: Record) -> tuple[str, ...]:
    before = ", ".join(map(str, r.inputs))
    arrow = f"{before} -> {r.output}" if before else f"-> {r.output}"
    moved = r.kind != "view"
    return (
        f"{r.name}({', '.join(r.parts)})" if r.parts else r.name,
        r.kind,
        arrow,
        r.dtype,
        str(r.bytes_read),
        str(r.bytes_written),
        f"{r.seconds * 1e6:.1f}" if r.seconds else "-",
        f"{r.gigabytes_per_second:.2f}" if moved and r.seconds else "-",
    )


def trace() -> Block[Trace, Trace]:
    """Record every operation of this thread (and of tasks begun in it) inside the block.

    Costs nothing while no block is active. Blocks nest; the innermost records. What ``as`` gives is
    a `Trace`, whose records count **bytes**.

    >>> import tensorlayout as tl
    >>> x = tl.zeros((3, 4), dtype=tl.float32)
    >>> with tl.trace() as seen:
    ...     y = tl.to_layout(x.T, (1, 0))
    >>> [(r.name, r.kind, r.bytes_written) for r in seen]
    [('permute_dims', 'view', 0), ('to_layout', 'layout', 48)]
    """
    return _traces.saying(Trace())


def _observe(
    prepared: Any, operation: Operation, key: tuple[Any, ...], operands: tuple[Any, ...]
) -> Any:
    seen = _traces.get()
    if seen is None:
        return None
    run = prepared(operation, *key)
    with noted() as steps:
        start = time.perf_counter()
        result = run(*operands)
        seconds = time.perf_counter() - start
    seen.records += map(_step, steps)
    into = prepared is prepared_into
    plan = planned(operation, key[into:])
    destinations = plan.destinations or int(into)
    seen.records.append(_record(operation, plan, destinations, operands, result, seconds))
    return result


def _record(
    operation: Operation,
    plan: Plan,
    destinations: int,
    operands: tuple[Any, ...],
    result: Any,
    seconds: float,
) -> Record:
    results = result if isinstance(result, tuple) else (result,)
    tensors = [o for o in operands if isinstance(o, Tensor)]
    if destinations:
        results = tuple(tensors[:destinations])
        tensors = tensors if plan.reads_destination else tensors[destinations:]
    view = plan.record == "view"
    values = plan.operation.values if isinstance(plan, CreatePlan) else ""
    copies, nothing = values == "array", view or values == "nothing"
    return Record(
        operation.name,
        plan.record,
        tuple(t.layout for t in tensors),
        results[0].layout,
        str(results[0].dtype),
        0 if view else sum(_distinct(t) for t in (results if copies else tensors)),
        0 if nothing else sum(r.nbytes for r in results),
        seconds,
        operation.names if isinstance(operation, Fusion) else (),
    )


def _step(step: Step) -> Record:
    """The record of what was moved on the way; its time is in that of the operation."""
    moved = step.bytes_read, step.bytes_written
    return Record(step.name, step.kind, (step.source,), step.result, str(step.dtype), *moved, 0.0)


def _distinct(x: Tensor) -> int:
    """The **bytes** of the elements of `x`, those that a broadcast repeats counted once."""
    layout = x._spec.layout
    count = 1
    for parts in layout.parts:
        for extent, stride in parts:
            count *= extent if stride else 1
    return min(count, layout.size) * x.itemsize


dispatch.observers.append(_observe)
