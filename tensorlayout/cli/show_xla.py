"""``show`` of an XLA shape, and of a file of HLO.

A shape: its layout in words, its bytes with all padding, its memory. A file: its buffers with their
padding, and what changes of layout cost.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tensorlayout import xla
from tensorlayout.cli.answers import MOST_SLOTS, Facts, element_name, memory_table, refuse, told
from tensorlayout.errors import cut, shown
from tensorlayout.layout import Layout
from tensorlayout.layout.drawing.content import count_of, grid
from tensorlayout.xla import HloModule, Shape
from tensorlayout.xla.tiles import expanded

_MOST_TILES = 8  # each slot of the memory table takes steps for each of them
_MOST_ROWS = 100  # of a table; the largest are shown
_MOST_LETTERS = 40  # of a name or an opcode

Row = tuple[str, ...]


def described_shape(text: str, width: int) -> str:
    """Return the answer to ``show`` for shape text; CommandError if it is none, or not valid."""
    try:
        shape = xla.parse_shape(text)
        shape.validate()
        found = _facts(shape)
        table = ["", *_memory(shape, width)] if _has_memory(shape) else []
    except (ValueError, TypeError) as error:
        refuse(str(error).splitlines()[0])
    layout = _layout(shape) if table and len(shape.dimensions) == 2 else ""
    matrix = ["", *grid(layout, width)] if isinstance(layout, Layout) else []
    return "\n".join([*told(found), *matrix, *table])


def layout_of_shape(text: str) -> Layout:
    """Return the layout of shape text; CommandError where there is none."""
    try:
        return xla.layout_of(xla.parse_shape(text))
    except (ValueError, TypeError) as error:
        refuse(str(error).splitlines()[0])


def _has_memory(shape: Shape) -> bool:
    return shape.is_array and not shape.is_unbounded_dynamic


def _facts(shape: Shape) -> Facts:
    if not shape.is_tuple:
        return [("shape", str(shape)), *_facts_of_array(shape)]
    leaves, total = shape.leaves(), 0
    found = [("tuple", count_of(len(leaves), "part"))]
    for at, leaf in leaves:
        text = str(leaf)
        if _has_memory(leaf):
            text += f", {count_of(leaf.physical_byte_size, 'byte')}"
            total += leaf.physical_byte_size
        found.append((f"part {','.join(map(str, at))}", text))
    return [*found, ("bytes", f"{total} in arrays")]


def _facts_of_array(shape: Shape) -> Facts:
    if not _has_memory(shape):
        return []
    layout, kind = shape.layout or xla.XlaLayout(), shape.element_type
    order = layout.minor_to_major
    known = kind.numpy_name or f"ml_dtypes.{kind.ml_dtypes_name}"
    stored = count_of(shape.element_bits, "bit")
    elements = count_of(shape.size, "element")
    found = [
        ("element type", f"{kind.text}, {known.rstrip('_')}, stored in {stored}"),
        ("sizes", f"{shape.dimensions}, {elements}"),
        ("order", f"minor to major {order}; in JAX major_to_minor={order[::-1]}"),
    ]
    if layout.tiles:
        physical, _ = shape.physical()
        tiles = "".join(map(str, layout.tiles))
        found.append(("tiles", f"{tiles} on {physical} make {expanded(physical, layout.tiles)}"))
    if layout.tail_padding_alignment != 1:
        found.append(("tail", f"slots up to a multiple of {layout.tail_padding_alignment}"))
    if layout.memory_space:
        found.append(("memory space", str(layout.memory_space)))
    slots, whole, bare = shape.physical_size, shape.physical_byte_size, shape.byte_size
    times = f"{whole / bare if bare else 1:.3g} times"
    return [
        *found,
        ("slots", f"{slots}, of which {slots - shape.size} padding"),
        ("bytes", f"{whole}; the elements alone {bare}: {times}"),
        ("layout", str(_layout(shape))),
    ]


def _layout(shape: Shape) -> Layout | str:
    """The layout of an array, or why there is none."""
    try:
        return xla.layout_of(shape)
    except ValueError as error:
        return f"none: {str(error).removeprefix('layout_of: ')}"


def _memory(shape: Shape, width: int) -> list[str]:
    """The memory table; of a large buffer only the first part."""
    slots, layout = shape.physical_size, shape.layout or xla.XlaLayout()
    if slots and len(layout.tiles) > _MOST_TILES:
        return [f"memory: not shown for more than {_MOST_TILES} tiles"]
    tail = shape.replace(layout=layout.replace(tail_padding_alignment=1)).physical_size

    def value(slot: int) -> str:
        at = shape.element_at(slot) if slot < tail else None
        return "x" if at is None else element_name(at, shape.dimensions)

    notes = {"x": "padding, which holds anything"}
    return memory_table(slots, value, width, notes, whole=slots <= MOST_SLOTS)


# --- HLO ---


def described_file(path: str, width: int) -> str:
    """Return the answer to ``show`` for a file, or ``-``, in lines of `width` where that can be.

    CommandError for a file that cannot be read or is no HLO, and for arrays of unbounded size.
    """
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text("utf-8")
        return described_module(xla.parse_hlo(text), width)
    except OSError as error:
        refuse(f"cannot read {shown(path)}: {error.strerror or error}")
    except ValueError as error:
        refuse(f"{cut(path)}: {str(error).splitlines()[0]}")


def described_module(module: HloModule, width: int) -> str:
    """Return the facts of a module and its two tables, each the largest first, with a total."""
    computations = count_of(len(module.computations), "computation")
    instructions = count_of(sum(len(c.instructions) for c in module.computations), "instruction")
    taken = ", ".join(map(str, module.parameter_shapes))
    facts = [
        ("module", f"{module.name}: {computations}, {instructions}"),
        ("entry", f"{module.entry.name}: ({taken}) -> {module.result_shape}"),
    ]
    lines = [*(cut(line, width - 1) for line in told(facts)), "", *_buffers(module, width)]
    return "\n".join([*lines, "", *_changes(module, width)])


def _buffers(module: HloModule, width: int) -> list[str]:
    found = sorted(module.buffers(), key=lambda b: -b.bytes)
    rows: list[Row] = [
        (str(b.bytes), _share(b.padding_bytes, b.bytes), b.name, b.instruction.opcode, str(b.shape))
        for b in found[:_MOST_ROWS]
    ]
    bytes_in_all, padding = sum(b.bytes for b in found), sum(b.padding_bytes for b in found)
    total = (str(bytes_in_all), _share(padding, bytes_in_all))
    head = ("bytes", "padding", "name", "opcode", "shape")
    return ["buffers, the largest first:", *_table(head, rows, total, len(found), "buffer", width)]


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}%" if whole else "0.0%"


def _changes(module: HloModule, width: int) -> list[str]:
    found = sorted(module.layout_changes(), key=lambda c: -c.bytes_read - c.bytes_written)
    if not found:
        return ["no instruction only copies or changes a layout"]
    rows: list[Row] = []
    for c in found[:_MOST_ROWS]:
        moved, names = (c.bytes_read, c.bytes_written), (c.name, c.instruction.opcode)
        rows.append((*map(str, moved), *names, str(c.source), str(c.result)))
    total = (str(sum(c.bytes_read for c in found)), str(sum(c.bytes_written for c in found)))
    head = ("read", "written", "name", "opcode", "from", "to")
    title = "instructions that only copy or change a layout, bytes each time they run:"
    return [title, *_table(head, rows, total, len(found), "instruction", width)]


def _table(head: Row, rows: list[Row], total: Row, number: int, what: str, width: int) -> list[str]:
    """Rows under a head, two columns of numbers first; the total is of all `number` rows."""
    rows = [(*row[:2], *(cut(word, _MOST_LETTERS) for word in row[2:4]), *row[4:]) for row in rows]
    longest = [
        max(len(row[at]) for row in [head, *rows, *[total] * (at < 2)]) for at in range(len(head))
    ]
    lines = [_line(row, longest) for row in [head, *rows]]
    if number > len(rows):
        lines.append(f"… and {number - len(rows)} smaller")
    lines.append(f"{_line(total, longest)}  in {count_of(number, what)}")
    return [cut(line, width - 1) if len(line) > width else line for line in lines]


def _line(row: Row, longest: list[int]) -> str:
    pairs = zip(row, longest, strict=False)
    words = [f"{w:>{n}}" if at < 2 else f"{w:<{n}}" for at, (w, n) in enumerate(pairs)]
    return "  ".join(words).rstrip()
