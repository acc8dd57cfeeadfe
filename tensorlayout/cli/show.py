"""``show``: the properties of a layout, and its memory slot by slot."""

from __future__ import annotations

import re
import shutil
from functools import partial
from typing import TYPE_CHECKING

from tensorlayout.cli.answers import (
    MAX_SLOTS_SHOWN,
    Facts,
    element_letters,
    format_facts,
    format_layout,
    memory_table,
    raise_show_error,
)
from tensorlayout.errors import short_repr
from tensorlayout.layout import Layout, parse_xla_tiling
from tensorlayout.layout.drawing import content
from tensorlayout.layout.drawing.content import format_count, format_slots_by_index

if TYPE_CHECKING:
    from tensorlayout.layout.drawing.drawing import Drawing

# A DirectML descriptor begins with a name and an equals sign.
_DESCRIPTOR_START = re.compile(r"\s*[A-Za-z_]\w*\s*=")

_LEGEND = {
    "0": "padding",
    "1": "padding",
    "x": "no element of this layout",
    "*": "shared by several elements",
}

# An HLO file, or - for the standard input.
_HLO_FILE_NAME = re.compile(r"\A-\Z|.\.(?:hlo|txt)\Z")

# Quoting both makes them one argument: "NHWC 1,2,2,3", "{1,0:T(2,2)} 3,5".
_LAYOUT_AND_SHAPE = re.compile(r"\s*(\{.*\}|[A-Za-z_]+)\s+([(\d][\d ,()]*)")


def describe_layout_text(text: str, shape: str | None = None, width: int | None = None) -> str:
    """Return the output of ``show``.

    `width`: maximal length of a line, by default that of the terminal.
    """
    columns = max(width or shutil.get_terminal_size((100, 24)).columns, 20)
    if shape is None and _HLO_FILE_NAME.search(text):
        from tensorlayout.cli.show_xla import describe_hlo_file

        return describe_hlo_file(text, columns)
    text, shape = _split_off_shape(text, shape)
    if _is_xla_shape(text, shape):
        from tensorlayout.cli.show_xla import describe_shape_text

        return describe_shape_text(text, columns)
    facts, layout = _read_facts_and_layout(text, shape)
    matrix = (
        ["", *format_slots_by_index(layout, columns)] if layout.ndim == 2 and layout.size else []
    )
    return "\n".join([*format_facts(facts), *matrix, "", *layout_memory_table(layout, columns)])


def parse_layout_text(text: str, shape: str | None = None) -> Layout:
    """Return the layout of any text that ``show`` accepts; CommandError for other text."""
    text, shape = _split_off_shape(text, shape)
    if _is_xla_shape(text, shape):
        from tensorlayout.cli.show_xla import layout_of_shape_text

        return layout_of_shape_text(text)
    return _read_facts_and_layout(text, shape)[1]


def draw_layout_text(text: str, shape: str | None = None, color_by: str | None = None) -> Drawing:
    """Return the picture of a layout; CommandError for texts that are no layouts."""
    layout = parse_layout_text(text, shape)
    colors = None
    if color_by is not None:
        # Labels and words have no shape of their own.
        has_shape = not color_by.replace("_", "").isalpha()
        sizes = None if has_shape else ",".join(map(str, layout.shape))
        colors = parse_layout_text(color_by, sizes)
    try:
        return layout.draw(color_by=colors)
    except ValueError as error:
        raise_show_error(f"--color-by: {str(error).removeprefix('color_by: ')}")


def _split_off_shape(text: str, shape: str | None) -> tuple[str, str | None]:
    """Split labels and a shape that came as one argument."""
    match = _LAYOUT_AND_SHAPE.fullmatch(text) if shape is None else None
    return (match[1], match[2]) if match else (text, shape)


def _is_xla_shape(text: str, shape: str | None) -> bool:
    is_layout = shape is not None or _DESCRIPTOR_START.match(text)
    # Layout texts may begin with a bracket; in XLA's shapes a bracket follows the type.
    return not is_layout and ("[" in text.lstrip()[1:] or text.strip() == "()")


def _read_facts_and_layout(text: str, shape: str | None) -> tuple[Facts, Layout]:
    """Return the facts and the layout of any text except an XLA shape."""
    if _DESCRIPTOR_START.match(text):
        from tensorlayout.cli.show_directml import describe_descriptor

        return describe_descriptor(text if shape is None else f"{text} {shape}")
    layout = _parse_plain_layout(text, shape)
    return _layout_facts(layout), layout


def _parse_plain_layout(text: str, shape: str | None) -> Layout:
    stripped_text = text.strip()
    try:
        if stripped_text.startswith("{") and shape is not None:
            return Layout.tiled(_parse_sizes(shape), **parse_xla_tiling(stripped_text))
        if ":" in text or stripped_text.startswith(("[", "{")):
            if shape is not None:
                received = f"got {short_repr(shape)} as well"
                raise_show_error(
                    f"the layout text {short_repr(text)} already has a shape, {received}"
                )
            return Layout.parse(text)
        if shape is None:
            fix = "labels need a shape, as in: show NHWC 1,2,2,3"
            raise_show_error(f"{short_repr(text)} is no layout text such as '(2,3):(3,1)'; {fix}")
        return Layout.labelled(_parse_sizes(shape), text)
    except (ValueError, TypeError, OverflowError) as error:
        raise_show_error(str(error))


def _parse_sizes(shape: str) -> tuple[int, ...]:
    words = [word.strip() for word in shape.strip("() ").removesuffix(",").split(",")]
    # int() raises an error of its own for thousands of digits.
    if not all(len(word) < 40 and word.isdecimal() for word in words):
        raise_show_error(
            f"a shape is sizes with commas between, as in 1,3,4,5, got {short_repr(shape)}"
        )
    return tuple(map(int, words))


def _layout_facts(layout: Layout) -> Facts:
    return [
        ("layout", format_layout(layout)),
        ("shape", f"{layout.shape}, {format_count(layout.size, 'element')}"),
        _strides_fact(layout),
        ("offset", f"slot {layout.offset} holds the element at index (0, ...)"),
        ("order", f"minor to major {layout.minor_to_major}"),
        ("required size", _describe_required_size(layout)),
        ("padding", content.describe_padding(layout)),
        ("flags", content.layout_properties_text(layout)),
        ("form", f"{layout.form}{' (the layout itself)' * (layout.form is layout)}"),
    ]


def _strides_fact(layout: Layout) -> tuple[str, str]:
    if not layout.is_tiled:
        return "strides", f"{layout.strides}, in elements"
    parts = ("+".join(f"{e}*{s}" for e, s in dim) for dim in layout.parts)
    return "parts", f"({', '.join(parts)}), extent*stride in elements"


def _describe_required_size(layout: Layout) -> str:
    count = format_count(layout.required_size, "slot")
    if layout.slot_bits is not None:
        count += (
            f" of {format_count(layout.slot_bits, 'bit')} in "
            f"{format_count(layout.nbytes(1), 'byte')}"
        )
    if layout.size == 0:
        return f"{count}: there are no elements"
    return f"{count}; the elements and their padding begin at slot {layout.lowest}"


def layout_memory_table(layout: Layout, width: int) -> list[str]:
    """Return the memory table in lines of `width`; of a large layout only its first slots."""
    slots = layout.required_size
    # A broadcast layout has few slots, but may have very many elements.
    show_all = max(slots, layout.size) <= MAX_SLOTS_SHOWN
    names = layout.table().splitlines()[1].split()[1:] if show_all else []
    slot_text = names.__getitem__ if show_all else partial(_slot_letters, layout)
    lines = memory_table(slots, slot_text, width, _LEGEND, show_all=show_all)
    if layout.is_overlapping and f"*: {_LEGEND['*']}" not in lines:
        lines.append("elements share slots: a slot shows the first of its elements")
    return lines


def _slot_letters(layout: Layout, slot: int) -> str:
    """Return the content of a slot as `Layout.table` writes it."""
    try:
        index = layout.index_of(slot)
    except ValueError:  # several elements share the slot
        return "*"
    if index is not None:
        return element_letters(index, layout.shape)
    padding = getattr(layout.padding_value, "name", "") if slot >= layout.lowest else ""
    return {"ZERO": "0", "ONE": "1"}.get(padding, "x")
