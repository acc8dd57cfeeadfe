"""``show``: a layout in words and its memory slot by slot."""

from __future__ import annotations

import re
import shutil
from functools import partial

from tensorlayout.cli.answers import MOST_SLOTS, Facts, element_name, memory_table, refuse, told
from tensorlayout.errors import shown
from tensorlayout.layout import Layout, tiling_in
from tensorlayout.layout.drawing import content
from tensorlayout.layout.drawing.content import count_of, grid

# A DirectML descriptor begins with a name and an equals sign.
_DESC = re.compile(r"\s*[A-Za-z_]\w*\s*=")

_LEGEND = {
    "0": "padding",
    "1": "padding",
    "x": "no element of this layout",
    "*": "shared by several elements",
}

# A file of HLO, or the standard input.
_MODULE = re.compile(r"\A-\Z|.\.(?:hlo|txt)\Z")

# Labels, or an order and tiles, and a shape in one argument.
_WITH_SHAPE = re.compile(r"\s*(\{.*\}|[A-Za-z_]+)\s+([(\d][\d ,()]*)")


def described(text: str, shape: str | None = None, width: int | None = None) -> str:
    """Return the answer to ``show``, no line wider than `width` (the terminal's by default)."""
    columns = max(width or shutil.get_terminal_size((100, 24)).columns, 20)
    if shape is None and _MODULE.search(text):
        from tensorlayout.cli.show_xla import described_file

        return described_file(text, columns)
    text, shape = _parted(text, shape)
    if _is_xla(text, shape):
        from tensorlayout.cli.show_xla import described_shape

        return described_shape(text, columns)
    found, layout = _read(text, shape)
    matrix = ["", *grid(layout, columns)] if layout.ndim == 2 and layout.size else []
    return "\n".join([*told(found), *matrix, "", *memory(layout, columns)])


def layout_of(text: str, shape: str | None = None) -> Layout:
    """Return the layout of any text that ``show`` takes; CommandError where there is none."""
    text, shape = _parted(text, shape)
    if _is_xla(text, shape):
        from tensorlayout.cli.show_xla import layout_of_shape

        return layout_of_shape(text)
    return _read(text, shape)[1]


def _parted(text: str, shape: str | None) -> tuple[str, str | None]:
    """Labels and a shape that came as one argument, apart."""
    both = _WITH_SHAPE.fullmatch(text) if shape is None else None
    return (both[1], both[2]) if both else (text, shape)


def _is_xla(text: str, shape: str | None) -> bool:
    is_layout = shape is not None or _DESC.match(text)
    return not is_layout and ("[" in text.lstrip()[1:] or text.strip() == "()")


def _read(text: str, shape: str | None) -> tuple[Facts, Layout]:
    """The facts and the layout of a text other than XLA's."""
    if _DESC.match(text):
        from tensorlayout.cli.show_directml import described_desc

        return described_desc(text if shape is None else f"{text} {shape}")
    layout = _parsed(text, shape)
    return _facts(layout), layout


def _parsed(text: str, shape: str | None) -> Layout:
    plain = text.strip()
    try:
        if plain.startswith("{") and shape is not None:
            return Layout.tiled(_sizes(shape), **tiling_in(plain))
        if ":" in text or plain.startswith(("[", "{")):
            if shape is not None:
                came = f"got {shown(shape)} as well"
                refuse(f"the layout text {shown(text)} already has a shape, {came}")
            return Layout.parse(text)
        if shape is None:
            fix = "labels need a shape, as in: show NHWC 1,2,2,3"
            refuse(f"{shown(text)} is no layout text such as '(2,3):(3,1)'; {fix}")
        return Layout.labelled(_sizes(shape), text)
    except (ValueError, TypeError, OverflowError) as error:
        refuse(str(error))


def _sizes(shape: str) -> tuple[int, ...]:
    words = [word.strip() for word in shape.strip("() ").removesuffix(",").split(",")]
    if not all(len(word) < 40 and word.isdecimal() for word in words):
        refuse(f"a shape is sizes with commas between, as in 1,3,4,5, got {shown(shape)}")
    return tuple(map(int, words))


def _facts(layout: Layout) -> Facts:
    return [
        ("layout", str(layout)),
        ("shape", f"{layout.shape}, {count_of(layout.size, 'element')}"),
        _strides(layout),
        ("offset", f"slot {layout.offset} holds the element at index (0, ...)"),
        ("order", f"minor to major {layout.minor_to_major}"),
        ("required size", _required(layout)),
        ("padding", content.padding(layout)),
        ("flags", content.flags(layout)),
        ("form", f"{layout.form}{' (the layout itself)' * (layout.form is layout)}"),
    ]


def _strides(layout: Layout) -> tuple[str, str]:
    if not layout.is_tiled:
        return "strides", f"{layout.strides}, in elements"
    parts = ("+".join(f"{e}*{s}" for e, s in dim) for dim in layout.parts)
    return "parts", f"({', '.join(parts)}), extent*stride in elements"


def _required(layout: Layout) -> str:
    count = count_of(layout.required_size, "slot")
    if layout.slot_bits is not None:
        count += f" of {count_of(layout.slot_bits, 'bit')} in {count_of(layout.nbytes(1), 'byte')}"
    if layout.size == 0:
        return f"{count}: there are no elements"
    return f"{count}; the elements and their padding begin at slot {layout.lowest}"


def memory(layout: Layout, width: int) -> list[str]:
    """The memory table, broken into lines of `width`; of a large layout only the first part."""
    slots = layout.required_size
    whole = max(slots, layout.size) <= MOST_SLOTS
    names = layout.table().splitlines()[1].split()[1:] if whole else []
    value = names.__getitem__ if whole else partial(_value, layout)
    lines = memory_table(slots, value, width, _LEGEND, whole=whole)
    if layout.is_overlapping and f"*: {_LEGEND['*']}" not in lines:
        lines.append("elements share slots: a slot shows the first of its elements")
    return lines


def _value(layout: Layout, slot: int) -> str:
    """The name of what a slot holds, as `Layout.table` would write it."""
    try:
        index = layout.index_of(slot)
    except ValueError:  # several elements share the slot
        return "*"
    if index is not None:
        return element_name(index, layout.shape)
    padding = getattr(layout.padding_value, "name", "") if slot >= layout.lowest else ""
    return {"ZERO": "0", "ONE": "1"}.get(padding, "x")
