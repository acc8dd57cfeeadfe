"""A trace in the Trace Event Format, which Perfetto and Chrome's trace viewer read.

Source: "Trace Event Format" by the authors of Chrome's trace viewer: complete events ("X") and
instant ones ("i"), times in microseconds.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tensorlayout.tracing.kernels import by_name, named

if TYPE_CHECKING:
    from tensorlayout.tracing.record import Record


def events(records: Sequence[Record]) -> str:
    """The JSON text; times count from the first record."""
    first = min((r.start for r in records), default=0.0)
    listed = [_event(r, first) for r in records]
    return json.dumps({"traceEvents": listed, "displayTimeUnit": "ns"}, indent=1)


def _event(r: Record, first: float) -> dict[str, Any]:
    lasting = {"ph": "X", "dur": r.seconds * 1e6} if r.seconds else {"ph": "i", "s": "t"}
    args: dict[str, Any] = {
        "line": r.where,
        "stack": [f"{each.file}:{each.number} {each.function}" for each in r.stack],
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
    kernels = {named(k, counts): _cost(counts) for k, counts in by_name(r.kernels).items()}
    if kernels:
        args["kernels"] = kernels
    place = {"ts": (r.start - first) * 1e6, "pid": 0, "tid": r.thread}
    return {"name": r.called, "cat": r.kind, **lasting, **place, "args": args}


def _cost(counts: Any) -> dict[str, float]:
    if counts.seconds:
        return {"device us": counts.seconds * 1e6}
    return {
        "sector efficiency read": round(counts.sector_efficiency_read, 4),
        "sector efficiency written": round(counts.sector_efficiency_write, 4),
    }
