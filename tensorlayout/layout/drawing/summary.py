"""Summaries for notebooks: facts, the picture and first values, as HTML that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from tensorlayout.layout.drawing import wording
from tensorlayout.layout.drawing.drawing import DARK, LIGHT, SCOPE, Drawing, Scheme
from tensorlayout.layout.drawing.geometry import WIDTH
from tensorlayout.layout.placement import Placement
from tensorlayout.words import cut

_CLASS = f"{SCOPE}-summary"


def _scheme(scheme: Scheme) -> str:
    return (
        f".{_CLASS}{{background:{scheme.paper};color:{scheme.ink}}}"
        f".{_CLASS} th{{color:{scheme.faint}}}"
    )


_STYLE = (
    f".{_CLASS}{{max-width:{WIDTH}px;border-radius:6px;padding:8px 0;font:13px/1.5 sans-serif}}"
    f".{_CLASS} table{{margin:0 12px;border:0;border-collapse:collapse}}"
    f".{_CLASS} tr,.{_CLASS} th,.{_CLASS} td{{background:none;border:0;text-align:left;"
    "vertical-align:top;padding:1px 8px 1px 0;white-space:normal;overflow-wrap:anywhere}"
    f".{_CLASS} th{{font-weight:normal;white-space:nowrap}}.{_CLASS} td{{color:inherit}}"
    f"{_scheme(LIGHT)}@media (prefers-color-scheme:dark){{{_scheme(DARK)}}}"
)


def summary(layout: Placement, facts: Sequence[tuple[str, str]]) -> str:
    """A table of facts over the picture of a layout."""
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>'
        for name, value in facts
    )
    picture = Drawing(layout).svg
    return f'<div class="{_CLASS}"><style>{_STYLE}</style><table>{rows}</table>{picture}</div>'


def facts_of(layout: Placement) -> list[tuple[str, str]]:
    """What a layout says of itself."""
    return [
        ("layout", cut(layout)),
        ("in words", wording.flags(layout)),
        ("padding", wording.padding(layout)),
    ]


def bytes_of(layout: Placement, itemsize: int) -> str:
    """The **bytes** of elements, and of the slots from the lowest on that are none."""
    room = layout._bytes_of(layout.required_size - layout.lowest, itemsize)
    elements = layout._bytes_of(layout.size, itemsize)
    own = f"{elements} of elements"
    if layout.is_overlapping:
        return f"{own}, in {room} of storage"
    rest = room - elements
    return f"{own}, {rest} of {'padding' if layout.is_padded else 'gaps'}" if rest else own


def summary_of_layout(layout: Placement) -> str:
    """The summary of a layout without a tensor."""
    size = wording.count_of(layout.size, "element")
    slots = f"{wording.count_of(layout.required_size, 'slot')} from slot 0 on"
    if layout.slot_bits is not None:
        slots += f", {wording.count_of(layout.nbytes(1), 'byte')}"
    shape = [("shape", f"{layout.shape}, {size}"), *facts_of(layout), ("storage", slots)]
    return summary(layout, shape)
