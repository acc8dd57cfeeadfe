"""A trace as one self-contained HTML page without scripts."""

from __future__ import annotations

from html import escape

from tensorlayout.plan import KINDS
from tensorlayout.tracing.record import Record, format_kernel_cost, kernel_counts_by_label
from tensorlayout.tracing.table import count_prefix, fold_repeats
from tensorlayout.tracing.traces import Trace

STYLE = """
:root { color-scheme: light dark; --ink: #18181c; --paper: #fcfcfc; --faint: #6a6a72;
  --rule: #dedee2; --view: #6a6a72; --export: #5b4bb3; --copy: #b3540c; --relayout: #b3261e;
  --compute: #1f6a3a }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8ec; --paper: #18181c; --faint: #a2a2ac;
  --rule: #3a3a42; --view: #a2a2ac; --export: #b7a8f5; --copy: #f0a35e; --relayout: #ff8a80;
  --compute: #7fce9a } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 60rem; margin: 0 auto; padding: 1rem }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin-top: 2rem }
p.faint, .faint { color: var(--faint) }
section { border-top: 1px solid var(--rule); padding: .6rem 0 }
details > summary { cursor: pointer }
.line, code { font-family: ui-monospace, monospace; font-size: .875rem; overflow-wrap: anywhere }
ol { list-style: none; margin: .3rem 0 0; padding: 0 }
li { border-left: 4px solid var(--rule); padding: .15rem 0 .15rem .6rem; margin: .4rem 0 }
.view { border-color: var(--view) } .export { border-color: var(--export) }
.copy { border-color: var(--copy) }
.relayout { border-color: var(--relayout) } .compute { border-color: var(--compute) }
b.view { color: var(--view) } b.export { color: var(--export) } b.copy { color: var(--copy) }
b.relayout { color: var(--relayout) } b.compute { color: var(--compute) }
.bar { height: .5rem; background: var(--rule); margin-top: .2rem }
.bar > i { display: block; height: 100%; background: var(--relayout) }
"""

_KIND_DESCRIPTIONS = {
    "view": "nothing moved",
    "export": "handed to another library",
    "copy": "moved",
    "relayout": "moved into another layout",
    "compute": "computed",
}


def render_page(trace: Trace) -> str:
    """Return the HTML page of a trace."""
    traces_by_line = trace.by_line()
    max_bytes = max((part.bytes_copied for part in traces_by_line.values()), default=0)
    kinds = ", ".join(f'<b class="{kind}">{kind}</b> {_KIND_DESCRIPTIONS[kind]}' for kind in KINDS)
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>Trace of tensorlayout</title><style>{STYLE}</style></head><body>",
            "<h1>Trace of tensorlayout</h1>",
            f"<p>{escape(trace.totals)}</p>",
            f'<p class="faint">{kinds}. Bars: bytes in copies and relayouts, relative to the line'
            " with the most.</p>",
            "<h2>By line, most bytes in copies and relayouts first</h2>",
            *(render_section(line, part, max_bytes) for line, part in traces_by_line.items()),
            "<h2>In order</h2>",
            _render_record_list(trace, with_line=True),
            "</body></html>",
            "",
        ]
    )


def render_section(title: str, trace: Trace, max_bytes: int = 0) -> str:
    """Return a section with the calls of one line.

    With `max_bytes` it has a bar of copied bytes on that scale, and is expanded if there are any.
    """
    bar = is_open = ""
    if max_bytes:
        copied = trace.bytes_copied
        bar = f'<div class="bar"><i style="width: {100 * copied / max_bytes:.1f}%"></i></div>'
        is_open = " open" if copied else ""
    return (
        f'<section><details{is_open}><summary><span class="line">{escape(title)}</span><br>'
        f"{escape(trace.totals)}{bar}</summary>{_render_record_list(trace)}</details></section>"
    )


def _render_record_list(trace: Trace, with_line: bool = False) -> str:
    # Unlike the text table, a page has room for full layouts: only exact repeats are folded.
    groups = fold_repeats(trace.records, lambda r: (r.where, r.called, r.kind, r.dtype, r.layouts))
    return f"<ol>{''.join(_render_group(group, with_line) for group in groups)}</ol>"


def _render_group(group: list[Record], with_line: bool) -> str:
    r, total = group[0], Trace(group)
    costs = [f"{total.bytes_read:,} bytes read, {total.bytes_written:,} written"]
    if r.kind == "export":
        costs = [f"{total.bytes_exported:,} bytes handed out"]
    if total.seconds:
        costs.append(f"{total.seconds * 1e6:,.1f} us")
    if total.device_seconds:
        costs.append(f"{total.device_seconds * 1e6:,.1f} us on the device")
    kernel_texts = [
        f"{name}: {format_kernel_cost(counts)}"
        for name, counts in kernel_counts_by_label(*[record.kernels for record in group]).items()
    ]
    kernels = "".join(f'<br><span class="faint">{escape(text)}</span>' for text in kernel_texts)
    line = f'<br><span class="line">{escape(r.where)}</span>' if with_line else ""
    return (
        f'<li class="{r.kind}"><b class="{r.kind}">{r.kind}</b> '
        f"{count_prefix(group)}{escape(r.called)}{line}"
        f"<br><code>{escape(r.dtype)} {escape(r.layouts)}</code>"
        f'<br><span class="faint">{"; ".join(costs)}</span>{kernels}</li>'
    )
