"""``show`` of an XLA shape, and of an HLO file.

For a shape: layout, bytes with all padding, and memory. For a file: its buffers with their padding,
and the cost of layout changes.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tensorlayout import xla
from tensorlayout.cli.answers import (
    MAX_SLOTS_SHOWN,
    Facts,
    element_letters,
    format_facts,
    format_layout,
    memory_table,
    raise_show_error,
)
from tensorlayout.errors import short_repr, truncate
from tensorlayout.layout import Layout
from tensorlayout.layout.drawing.content import format_count, format_slots_by_index
from tensorlayout.xla import HloModule, Shape
from tensorlayout.xla.tiles import tiled_sizes

# Each slot of the memory table takes a step per tile.
_MAX_TILES = 8
# Tables show the largest rows, and cut names and opcodes to so many letters.
_MAX_ROWS = 100
_MAX_LETTERS = 40

Row = tuple[str, ...]


def describe_shape_text(text: str, width: int) -> str:
    """Return the output of ``show`` for shape text; CommandError if it is not valid."""
    try:
        shape = xla.parse_shape(text)
        shape.validate()
        facts = _shape_facts(shape)
        table = ["", *_memory_slot_table(shape, width)] if _has_known_buffer_size(shape) else []
    except (ValueError, TypeError) as error:
        raise_show_error(str(error).splitlines()[0])
    layout = _layout_or_reason(shape) if table and len(shape.dimensions) == 2 else ""
    matrix = ["", *format_slots_by_index(layout, width)] if isinstance(layout, Layout) else []
    return "\n".join([*format_facts(facts), *matrix, *table])


def layout_of_shape_text(text: str) -> Layout:
    """Return the layout of shape text; CommandError if it has none."""
    try:
        return xla.layout_of(xla.parse_shape(text))
    except (ValueError, TypeError) as error:
        raise_show_error(str(error).splitlines()[0])


def _has_known_buffer_size(shape: Shape) -> bool:
    return shape.is_array and not shape.is_unbounded_dynamic


def _shape_facts(shape: Shape) -> Facts:
    if not shape.is_tuple:
        return [("shape", str(shape)), *_array_facts(shape)]
    leaves, total = shape.leaves(), 0
    facts = [("tuple", format_count(len(leaves), "part"))]
    for path, leaf in leaves:
        text = str(leaf)
        if _has_known_buffer_size(leaf):
            text += f", {format_count(leaf.physical_byte_size, 'byte')}"
            total += leaf.physical_byte_size
        facts.append((f"part {','.join(map(str, path))}", text))
    return [*facts, ("bytes", f"{total} in arrays")]


def _array_facts(shape: Shape) -> Facts:
    if not _has_known_buffer_size(shape):
        return []
    layout, kind = shape.layout or xla.XlaLayout(), shape.element_type
    order = layout.minor_to_major
    dtype_name = kind.numpy_name or f"ml_dtypes.{kind.ml_dtypes_name}"
    bits_text = format_count(shape.element_bits, "bit")
    elements = format_count(shape.size, "element")
    facts = [
        ("element type", f"{kind.text}, {dtype_name.rstrip('_')}, stored in {bits_text}"),
        ("sizes", f"{shape.dimensions}, {elements}"),
        ("order", f"minor to major {order}; in JAX major_to_minor={order[::-1]}"),
    ]
    if layout.tiles:
        physical, _ = shape.physical()
        tiles = "".join(map(str, layout.tiles))
        facts.append(("tiles", f"{tiles} on {physical} make {tiled_sizes(physical, layout.tiles)}"))
    if layout.tail_padding_alignment != 1:
        facts.append(("tail", f"slots up to a multiple of {layout.tail_padding_alignment}"))
    if layout.memory_space:
        facts.append(("memory space", str(layout.memory_space)))
    slots = shape.physical_size
    buffer_bytes = shape.physical_byte_size
    element_bytes = shape.byte_size
    growth = f"{buffer_bytes / element_bytes if element_bytes else 1:.3g} times"
    description = _layout_or_reason(shape)
    return [
        *facts,
        ("slots", f"{slots}, of which {slots - shape.size} padding"),
        ("bytes", f"{buffer_bytes}; the elements alone {element_bytes}: {growth}"),
        ("layout", description if isinstance(description, str) else format_layout(description)),
    ]


def _layout_or_reason(shape: Shape) -> Layout | str:
    """Return the layout of an array, or the reason why it has none."""
    try:
        return xla.layout_of(shape)
    except ValueError as error:
        return f"none: {str(error).removeprefix('layout_of: ')}"


def _memory_slot_table(shape: Shape, width: int) -> list[str]:
    """Return the memory table; of a large buffer only its first slots."""
    slots, layout = shape.physical_size, shape.layout or xla.XlaLayout()
    if slots and len(layout.tiles) > _MAX_TILES:
        return [f"memory: not shown for more than {_MAX_TILES} tiles"]
    # `element_at` knows the slots of the tiles; those of the tail follow and hold no element.
    untailed_slots = shape.replace(layout=layout.replace(tail_padding_alignment=1)).physical_size

    def slot_text(slot: int) -> str:
        index = shape.element_at(slot) if slot < untailed_slots else None
        return "x" if index is None else element_letters(index, shape.dimensions)

    notes = {"x": "padding, which holds anything"}
    return memory_table(slots, slot_text, width, notes, show_all=slots <= MAX_SLOTS_SHOWN)


# --- HLO ---


def describe_hlo_file(path: str, width: int) -> str:
    """Return the output of ``show`` for an HLO file, or ``-`` for the standard input.

    Lines have at most `width` characters where possible. CommandError for a file that cannot be
    read or parsed, and for arrays of unbounded size.
    """
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text("utf-8")
        return describe_hlo_module(xla.parse_hlo(text), width)
    except OSError as error:
        raise_show_error(f"cannot read {short_repr(path)}: {error.strerror or error}")
    except ValueError as error:
        raise_show_error(f"{truncate(path)}: {str(error).splitlines()[0]}")


def describe_hlo_module(module: HloModule, width: int) -> str:
    """Return the facts of a module and its two tables, largest rows first, each with a total."""
    computations = format_count(len(module.computations), "computation")
    instructions = format_count(
        sum(len(c.instructions) for c in module.computations), "instruction"
    )
    parameter_list = ", ".join(map(str, module.parameter_shapes))
    facts = [
        ("module", f"{module.name}: {computations}, {instructions}"),
        ("entry", f"{module.entry.name}: ({parameter_list}) -> {module.result_shape}"),
    ]
    lines = [
        *(truncate(line, width - 1) for line in format_facts(facts)),
        "",
        *_buffer_table(module, width),
    ]
    return "\n".join([*lines, "", *_layout_change_table(module, width)])


def _buffer_table(module: HloModule, width: int) -> list[str]:
    buffers = sorted(module.buffers(), key=lambda b: -b.bytes)
    rows: list[Row] = [
        (
            str(b.bytes),
            _format_percentage(b.padding_bytes, b.bytes),
            b.name,
            b.instruction.opcode,
            str(b.shape),
        )
        for b in buffers[:_MAX_ROWS]
    ]
    bytes_in_all, padding = sum(b.bytes for b in buffers), sum(b.padding_bytes for b in buffers)
    total = (str(bytes_in_all), _format_percentage(padding, bytes_in_all))
    header = ("bytes", "padding", "name", "opcode", "shape")
    return [
        "buffers, the largest first:",
        *_format_table(header, rows, total, len(buffers), "buffer", width),
    ]


def _format_percentage(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}%" if whole else "0.0%"


def _layout_change_table(module: HloModule, width: int) -> list[str]:
    changes = sorted(module.layout_changes(), key=lambda c: -c.bytes_read - c.bytes_written)
    if not changes:
        return ["no instruction only copies or changes a layout"]
    rows: list[Row] = []
    for c in changes[:_MAX_ROWS]:
        byte_counts, names = (c.bytes_read, c.bytes_written), (c.name, c.instruction.opcode)
        rows.append((*map(str, byte_counts), *names, str(c.source), str(c.result)))
    total = (str(sum(c.bytes_read for c in changes)), str(sum(c.bytes_written for c in changes)))
    header = ("read", "written", "name", "opcode", "from", "to")
    title = "instructions that only copy or change a layout, bytes each time they run:"
    return [title, *_format_table(header, rows, total, len(changes), "instruction", width)]


def _format_table(
    header: Row, rows: list[Row], total: Row, row_count: int, row_kind: str, width: int
) -> list[str]:
    """Return rows below a header; the first two columns are numbers.

    The total counts all `row_count` rows, including those that are not shown.
    """
    rows = [
        (*row[:2], *(truncate(word, _MAX_LETTERS) for word in row[2:4]), *row[4:]) for row in rows
    ]
    column_widths = [
        max(len(row[column]) for row in [header, *rows, *[total] * (column < 2)])
        for column in range(len(header))
    ]
    lines = [_format_row(row, column_widths) for row in [header, *rows]]
    if row_count > len(rows):
        lines.append(f"… and {row_count - len(rows)} smaller")
    lines.append(f"{_format_row(total, column_widths)}  in {format_count(row_count, row_kind)}")
    return [truncate(line, width - 1) if len(line) > width else line for line in lines]


def _format_row(row: Row, column_widths: list[int]) -> str:
    pairs = zip(row, column_widths, strict=False)
    words = [f"{w:>{n}}" if column < 2 else f"{w:<{n}}" for column, (w, n) in enumerate(pairs)]
    return "  ".join(words).rstrip()
