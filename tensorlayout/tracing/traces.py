"""`Trace`: records in order, selections, sums, and exports to tables, HTML and Perfetto."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Any, overload

from tensorlayout.plan import COPIES, KINDS, watched
from tensorlayout.support.context_blocks import Scope
from tensorlayout.support.lazy_imports import import_lazily
from tensorlayout.support.light_dataclasses import plan_dataclass
from tensorlayout.tracing.record import Record, kernel_counts_by_label
from tensorlayout.tracing.table import format_table, format_trace_rows

_MAX_LINES = 200  # of a table at the prompt


@plan_dataclass
class Trace:
    """Records of a `trace()` block, in order.

    `records` is their list. A record has the layouts of inputs and output, the dtype, the **bytes**
    read and written, and the calling line. A trace is a sequence of records, and slicing it gives a
    trace.

    Its text and its repr are a table. Records that repeat are one row with their number and the
    sums of **bytes** and times. Long layouts are abbreviated: a row-major layout is its shape, an
    order with a name is that name and the shape, such as ``NHWC (8,3,224,224)``; offsets are left
    out. ``-`` means that there is no time.

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

    @overload
    def __getitem__(self, at: int, /) -> Record: ...
    @overload
    def __getitem__(self, at: slice, /) -> Trace: ...
    def __getitem__(self, at: int | slice, /) -> Record | Trace:
        records = self.records[at]
        return Trace(records) if isinstance(records, list) else records

    def filter(
        self,
        *kinds: str,
        name: str | None = None,
        file: str | None = None,
        line: int | None = None,
        at_least: int = 0,
        where: Callable[[Record], object] | None = None,
    ) -> Trace:
        """Return the records of some kinds (by default all) that match all other arguments.

        - `kinds`: kinds of records.
        - `name`: name of the operation.
        - `file`, `line`: end of the path of a file, and a line number, of any line in the record's
          stack.
        - `at_least`: minimum of **bytes** written.
        - `where`: function of a record that returns whether to include it.

        Returns a Trace. Raises `ValueError` for an unknown kind.

        >>> import tensorlayout as tl
        >>> with tl.trace() as seen:
        ...     y = tl.reshape(tl.zeros((3, 4)).T, (12,))
        >>> [record.name for record in seen.filter("copy", "relayout")]
        ['reshape']
        """
        for kind in kinds:
            if kind not in KINDS:
                raise ValueError(f"filter: kinds are {', '.join(KINDS)}, got {kind!r}")

        def is_match(record: Record) -> bool:
            return (
                (not kinds or record.kind in kinds)
                and name in (None, record.name)
                # A call that no Python code makes has no stack, so an absent condition must not ask
                # for one.
                and (
                    (file is None and line is None)
                    or any(
                        (file is None or caller.file.endswith(file))
                        and line in (None, caller.number)
                        for caller in record.stack
                    )
                )
                and record.bytes_written >= at_least
                and (where is None or bool(where(record)))
            )

        return Trace([record for record in self.records if is_match(record)])

    @property
    def copies(self) -> Trace:
        """Copies and changes of layout: the records that `no_copies` refuses.

        >>> import tensorlayout as tl
        >>> with tl.trace() as seen:
        ...     y = tl.reshape(tl.zeros((3, 4)).T, (12,))
        >>> [record.name for record in seen.copies]
        ['reshape']
        """
        return self.filter(*COPIES)

    def by_line(self) -> Lines:
        """Return a trace per calling line, the one with the most copied **bytes** first.

        Calls from an installed library count for the user's line that led there. The result prints
        as a table.

        >>> import tensorlayout as tl
        >>> x = tl.zeros((3, 4))
        >>> with tl.trace() as seen:
        ...     y = tl.reshape(x.T, (12,))
        >>> [(len(part), part.bytes_copied) for part in seen.by_line().values()]
        [(2, 96)]
        """
        traces_by_line: dict[str, Trace] = {}
        for record in self.records:
            line = str(record.stack[-1]) if record.stack else "-"
            traces_by_line.setdefault(line, Trace()).records.append(record)
        # The sort is stable: lines that copied the same number of bytes stay in order.
        return Lines(sorted(traces_by_line.items(), key=lambda item: -item[1].bytes_copied))

    @property
    def bytes_read(self) -> int:
        """**Bytes** read by all records.

        >>> import tensorlayout as tl
        >>> with tl.trace() as seen:
        ...     y = tl.zeros((3, 4)).copy()
        >>> seen.bytes_read
        96
        """
        return sum(r.bytes_read for r in self.records)

    @property
    def bytes_written(self) -> int:
        """**Bytes** written by all records.

        >>> import tensorlayout as tl
        >>> with tl.trace() as seen:
        ...     y = tl.zeros((3, 4))
        >>> seen.bytes_written
        96
        """
        return sum(r.bytes_written for r in self.records)

    @property
    def bytes_copied(self) -> int:
        """**Bytes** written by copies and changes of layout, not by views and computations.

        >>> import tensorlayout as tl
        >>> with tl.trace() as seen:
        ...     y = tl.to_layout(tl.zeros((3, 4), dtype=tl.float32), (0, 1))
        >>> seen.bytes_copied
        48
        """
        return sum(r.bytes_copied for r in self.records)

    @property
    def bytes_exported(self) -> int:
        """**Bytes** of memory given to other libraries; a copy made there is not detected.

        >>> import numpy as np
        >>> import tensorlayout as tl
        >>> x = tl.zeros((3, 4), dtype=tl.float32, device="cpu")
        >>> with tl.trace() as seen:
        ...     array = np.array(x)
        >>> seen.bytes_copied, seen.bytes_exported
        (0, 48)
        """
        return sum(r.bytes_exported for r in self.records)

    @property
    def seconds(self) -> float:
        """Host time of all calls.

        >>> import tensorlayout as tl
        >>> with tl.trace() as seen:
        ...     y = tl.zeros((3, 4))
        >>> seen.seconds == seen[0].seconds
        True
        """
        return sum(r.seconds for r in self.records)

    @property
    def device_seconds(self) -> float | None:
        """GPU time of all calls; None if none ran on a GPU. Reading it waits for the device.

        >>> import tensorlayout as tl
        >>> with tl.trace() as seen:
        ...     y = tl.zeros((3, 4), device="cpu")
        >>> seen.device_seconds is None
        True
        """
        return sum(r.device_seconds or 0.0 for r in self.records) or None

    @property
    def totals(self) -> str:
        """Last line of the table: number of records per kind, **bytes** and time.

        >>> import tensorlayout as tl
        >>> with tl.trace() as seen:
        ...     y = tl.reshape(tl.zeros((3, 4)).T, (12,))
        >>> seen.totals.rpartition(", ")[0].partition(": ")[0]
        '3 operations (1 view, 1 relayout, 1 compute)'
        """
        kinds = [record.kind for record in self.records]
        count_texts = [_format_count(kinds.count(kind), kind) for kind in KINDS if kind in kinds]
        kind_counts = f" ({', '.join(count_texts)})" if count_texts else ""
        exported = f" {self.bytes_exported:,} exported," if "export" in kinds else ""
        device = self.device_seconds
        device_time = f", {device * 1e6:,.1f} us on the device" if device else ""
        return (
            f"{_format_count(len(kinds), 'operation')}{kind_counts}: {self.bytes_read:,} "
            "bytes read,"
            f" {self.bytes_written:,} written ({self.bytes_copied:,} in copies and relayouts),"
            f"{exported} {self.seconds * 1e6:,.1f} us{device_time}"
        )

    def __str__(self) -> str:
        return "\n".join([*format_trace_rows(self.records), self.totals])

    def __repr__(self) -> str:
        """Return the table for a REPL or a notebook: of a long one, the beginning."""
        lines = str(self).split("\n")
        if len(lines) > _MAX_LINES:
            rest = f"… and {len(lines) - _MAX_LINES:,} more lines; print() shows all"
            lines = [*lines[: _MAX_LINES - 1], rest, lines[-1]]
        return "\n".join(lines)

    def to_html(self) -> str:
        """Return the trace as a self-contained HTML page: by line, then by operation.

        >>> import tensorlayout as tl
        >>> with tl.trace() as seen:
        ...     y = tl.zeros((3, 4)).T
        >>> seen.to_html().splitlines()[0]
        '<!DOCTYPE html>'
        """
        return import_lazily("tensorlayout.tracing.html").render_page(self)

    def to_perfetto(self) -> str:
        """Return the trace as JSON for Perfetto (ui.perfetto.dev) and Chrome's trace viewer.

        Times are those of the host. A copy inside an operation appears as an instant event.

        >>> import json
        >>> import tensorlayout as tl
        >>> with tl.trace() as seen:
        ...     y = tl.zeros((3, 4)).T
        >>> [event["name"] for event in json.loads(seen.to_perfetto())["traceEvents"]]
        ['zeros', 'T']
        """
        # perf_counter has an arbitrary origin: count from the first record.
        start_time = min((r.start for r in self.records), default=0.0)
        events = [_perfetto_event(r, start_time) for r in self.records]
        return import_lazily("json").dumps(
            {"traceEvents": events, "displayTimeUnit": "ns"}, indent=1
        )


trace_scope: Scope[Trace] = Scope("trace", watched)


class Lines(dict[str, Trace]):
    """Traces by calling ``file:line``; prints as a table."""

    def __str__(self) -> str:
        head = ("line", "operations", *KINDS, "read", "written", "copied", "us")
        rows = [
            (
                line,
                str(len(part)),
                *(str(len(part.filter(kind))) for kind in KINDS),
                *(str(part.bytes_read), str(part.bytes_written), str(part.bytes_copied)),
                f"{part.seconds * 1e6:.1f}",
            )
            for line, part in self.items()
        ]
        return "\n".join(format_table(head, rows, left_aligned_columns=1))

    __repr__ = __str__


def _format_count(count: int, noun: str) -> str:
    plural = {"copy": "copies", "relayout": "relayouts"}.get(noun, f"{noun}s")
    return f"{count} {noun if count == 1 else plural}"


# --- Trace Event Format, for Perfetto and Chrome's trace viewer ---

# Source: "Trace Event Format" by the authors of Chrome's trace viewer: complete events ("X") and
# instant ones ("i"), times in microseconds.


def _perfetto_event(r: Record, start_time: float) -> dict[str, Any]:
    # Copies on the way have no time of their own: instant events, in the scope of their thread.
    duration_fields = {"ph": "X", "dur": r.seconds * 1e6} if r.seconds else {"ph": "i", "s": "t"}
    args: dict[str, Any] = {
        "line": r.where,
        "stack": [f"{caller.file}:{caller.number} {caller.function}" for caller in r.stack],
        "layouts": r.layouts,
        "dtype": r.dtype,
        "bytes read": r.bytes_read,
        "bytes written": r.bytes_written,
        "bytes copied": r.bytes_copied,
    }
    if r.kind == "export":
        args["bytes exported"] = r.bytes_exported
    if r.device_seconds:
        args["device us"] = r.device_seconds * 1e6
    if kernels := {
        name: _kernel_cost_fields(counts)
        for name, counts in kernel_counts_by_label(r.kernels).items()
    }:
        args["kernels"] = kernels
    position_fields = {"ts": (r.start - start_time) * 1e6, "pid": 0, "tid": r.thread}
    return {"name": r.called, "cat": r.kind, **duration_fields, **position_fields, "args": args}


def _kernel_cost_fields(counts: Any) -> dict[str, float]:
    if counts.seconds:
        return {"device us": counts.seconds * 1e6}
    return {
        "sector efficiency read": round(counts.sector_efficiency_read, 4),
        "sector efficiency written": round(counts.sector_efficiency_write, 4),
    }
