"""What a run found: as facts for programs, and as one page of HTML for people."""

from __future__ import annotations

import base64
import io
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from importlib import metadata
from pathlib import Path
from typing import Any

from PIL import features
from PIL.Image import Image

import tensorlayout as tl
from tensorlayout.demo.ledger import OURS, Entry, Ledger, arrow, microseconds
from tensorlayout.demo.pictures import Picture
from tensorlayout.tracing.html import STYLE, Group, section

NAME = "tensorlayout-demo.html"
LIBRARIES = ("numpy", "ml_dtypes", "torch", "cupy-cuda12x", "cupy-cuda13x", "pillow")
CAPTIONS = {
    "mosaic.png": "Each picture, its halves beside their mirror images, and the whole turned:"
    " views, joined by one copy.",
    "normalised.png": "What normalising did to the values of each channel.",
    "layouts.png": "The bytes of the first picture in four layouts.",
    "directml.png": "DirectML's operators, each on memory that lies as NHWC.",
    "statistics.png": "Statistics, colours, sums, sorting and crops of the same batch.",
}
SMALL = 1, 3, 2, 4  # the batch of which layouts are drawn
MOST_LAYOUTS = 9
TIMES = "\N{MULTIPLICATION SIGN}"
_STYLE = """
body { max-width: 74rem }
td.title { white-space: normal; min-width: 8rem }
.wide { overflow-x: auto } table { border-collapse: collapse; font-size: .875rem; width: 100% }
td, th { padding: .15rem .4rem; text-align: left; white-space: nowrap }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums }
tbody th { padding-top: 1rem } thead th { border-bottom: 1px solid var(--rule) }
tfoot td { border-top: 1px solid var(--rule); font-weight: bold }
figure { margin: 1.2rem 0 } figure img { max-width: 100%; height: auto; display: block }
figcaption { margin-bottom: .4rem }
.layouts { display: flex; flex-wrap: wrap; gap: 1rem } .layouts figure { flex: 1 1 18rem;
  max-width: 26rem; margin: 0 } .layouts svg { width: 100%; height: auto }
@media (max-width: 32rem) { table { font-size: .75rem } td, th { padding: .15rem .25rem }
  td.title { min-width: 5rem } }
"""


def facts(book: Ledger, pictures: Sequence[Picture], left_out: Sequence[str]) -> dict[str, Any]:
    """All that was found, in what JSON has: times in seconds, sizes in bytes.

    `seconds` of a step are the medians of warm calls by who did it, `cold_seconds` its first call.
    """
    total = book.total()
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": _versions(),
        "machine": {
            "platform": platform.platform(),
            "processor": _processor(),
            "processors": os.cpu_count(),
        },
        "device": book.device,
        "repeat": book.repeat,
        "pictures": [
            {"name": p.name, "width": p.width, "height": p.height, "notes": list(p.notes)}
            for p in pictures
        ],
        "left_out": list(left_out),
        "steps": [_facts_of(step) for step in book.steps],
        "total": None if total is None else {"steps": total.title, **_costs(total)},
    }


def _facts_of(step: Entry) -> dict[str, Any]:
    return {
        "name": step.title,
        "part": step.part,
        "where": step.where,
        "kind": step.kind,
        "shape": list(step.shape),
        "before": step.before,
        "after": step.after,
        "layout": str(step.layout),
        **_costs(step),
        "runs": step.runs,
        "within": step.within,
    }


def _costs(step: Entry) -> dict[str, Any]:
    return {
        "bytes_read": step.bytes_read,
        "bytes_written": step.bytes_written,
        "bytes_copied": step.bytes_copied,
        "cold_seconds": step.cold,
        "seconds": dict(step.warm),
        "gigabytes_per_second": step.gigabytes_per_second,
    }


def _versions() -> dict[str, str]:
    found = {"tensorlayout": tl.__version__, "python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _processor() -> str:
    """What the processor calls itself, where the system says it."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        return platform.processor()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor())


def page(book: Ledger, found: Mapping[str, Any], drawn: Mapping[str, Image]) -> str:
    """The page, which needs nothing from elsewhere; light and dark, for screens of any width."""
    machine, versions = found["machine"], found["versions"]
    about = [
        f"{found['time']}, {machine['processors']} processors of {machine['processor']},"
        f" {machine['platform']}, device {found['device']}",
        ", ".join(f"{name} {version}" for name, version in versions.items()),
        *(_picture_words(each) for each in found["pictures"]),
        *(f"left out: {each}" for each in found["left_out"]),
    ]
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>Demo of tensorlayout</title><style>{STYLE}{_STYLE}</style></head><body>",
            "<h1>Photographs as tensors that know their layout</h1>",
            f"<p>{_lines(book.summary().splitlines())}</p>",
            f'<p class="faint">{_lines(about)}</p>',
            "<h2>Steps</h2>",
            f'<div class="wide">{"".join(_table(book))}</div>',
            f'<p class="faint">{_lines(book.legend())}</p>',
            "<h2>Layouts on the way</h2>",
            "<p>The slot at each index, and the index in each slot: of small batches in the same"
            " form, with the real layout above.</p>",
            f'<div class="layouts">{"".join(_layouts(book.steps))}</div>',
            "<h2>Pictures</h2>",
            *(_figure(name, image) for name, image in drawn.items()),
            "<h2>Trace: what each step called</h2>",
            "<p>By the line of the demo; a step unfolds to its operations. Bars: bytes copied, of"
            " the step that copied most.</p>",
            *_trace(book.steps),
            "</body></html>",
            "",
        ]
    )


def _lines(lines: Sequence[str]) -> str:
    return "<br>".join(escape(line) for line in lines)


def _picture_words(picture: Mapping[str, Any]) -> str:
    size = f"{picture['name']}: {picture['width']} {TIMES} {picture['height']} pixels"
    return "; ".join([size, *picture["notes"]])


def _table(book: Ledger) -> Iterator[str]:
    names = [OURS, *book.others] if book.repeat else []
    heads = "".join(f'<th class="n">{escape(each)}</th>' for each in _columns(names))
    yield (
        f"<table><thead><tr><th>step</th><th>kind</th>{heads}<th>layout</th><th>shape</th></tr>"
        "</thead>"
    )
    part, opened = None, False
    for step in book.steps:
        if step.part != part:
            part = step.part
            across = f'<tr><th colspan="{4 + len(_columns(names))}">{escape(part)}</th></tr>'
            yield f"{'</tbody>' * opened}<tbody>{across if part else ''}"
            opened = True
        yield _row(step, names)
    yield "</tbody>"
    if total := book.total():
        yield f"<tfoot>{_row(total, names, is_total=True)}</tfoot>"
    yield "</table>"


def _columns(names: Sequence[str]) -> list[str]:
    return [*("us" if name == OURS else name for name in names), "GB/s", "MB"]


def _row(step: Entry, names: Sequence[str], *, is_total: bool = False) -> str:
    rate = step.gigabytes_per_second
    numbers = [
        *(microseconds(step, name) for name in names),
        "-" if rate is None else f"{rate:.1f}",
        f"{step.bytes_moved / 1e6:.2f}" if step.bytes_moved else "-",
    ]
    cells = [
        f'<td class="title">{escape(step.title)}</td>',
        f'<td><b class="{step.kind}">{step.kind}</b></td>' if step.kind else "<td></td>",
        *(f'<td class="n">{each}</td>' for each in numbers),
        f"<td>{escape(arrow(step)).replace('-&gt;', '&rarr;')}</td>",
        f"<td>{'' if is_total else f' {TIMES} '.join(map(str, step.shape))}</td>",
    ]
    return f"<tr>{''.join(cells)}</tr>"


def _small(layout: tl.Layout) -> tl.Layout:
    """A layout of a small batch in the same form: order, padding, gaps, what runs backwards."""
    shape, every = SMALL, range(len(SMALL))
    whole = (*shape[:-1], shape[-1] + (0 if layout.covers_block else 2))
    sizes = [
        n + 2 * (padded > size)
        for n, padded, size in zip(whole, layout.padded_shape, layout.shape, strict=True)
    ]
    form = tl.Layout.padded(whole, sizes, layout.minor_to_major, layout.padding_value)
    x = tl.zeros(whole, dtype=tl.uint8, layout=form, device="cpu")[..., : shape[-1]]
    return tl.flip(x, axis=tuple(d for d in every if layout.strides[d] < 0)).layout


def _layouts(steps: Sequence[Entry]) -> Iterator[str]:
    """The layouts of batches, each form once."""
    forms: dict[str, Entry] = {}
    for step in steps:
        if len(step.shape) == 4:
            forms.setdefault(step.after, step)
    for form, step in [*forms.items()][:MOST_LAYOUTS]:
        words = f"<b>{escape(form)}</b>, from: {escape(step.title)}"
        real = f'<span class="faint">{escape(str(step.layout))}</span>'
        drawn = _small(step.layout).draw().svg
        yield f"<figure><figcaption>{words}<br>{real}</figcaption>{drawn}</figure>"


def _figure(name: str, image: Image) -> str:
    """A picture within the page."""
    form = "webp" if features.check("webp") else "png"
    buffer = io.BytesIO()
    image.save(buffer, form, **({"quality": 88} if form == "webp" else {}))
    octets = base64.b64encode(buffer.getvalue()).decode("ascii")
    words = escape(CAPTIONS[name])
    return (
        f"<figure><figcaption>{words}</figcaption>"
        f'<img alt="{words}" width="{image.width}" height="{image.height}"'
        f' src="data:image/{form};base64,{octets}"></figure>'
    )


def _trace(steps: Sequence[Entry]) -> Iterator[str]:
    most = max((step.bytes_copied for step in steps), default=0)
    for step in steps:
        if len(step.trace):
            line, copied = f"{step.title} ({step.where})", step.bytes_copied
            group = Group(line, step.trace.totals, copied, step.trace.records)
            yield section(group, most if copied else 0, unfolded=False)
