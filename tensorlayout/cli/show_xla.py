"""``show`` of an XLA shape: its layout in words, its bytes with all padding, its memory."""

from __future__ import annotations

from tensorlayout import xla
from tensorlayout.cli.errors import CommandError
from tensorlayout.cli.memory_table import (
    FIRST_SLOTS,
    MOST_SLOTS,
    Facts,
    element_name,
    memory_table,
    told,
)
from tensorlayout.layout import Layout
from tensorlayout.layout.drawing.wording import count_of, grid
from tensorlayout.xla import Shape
from tensorlayout.xla.tiles import expanded

_MOST_TILES = 8  # each slot of the memory table takes steps for each of them


def described_shape(text: str, width: int) -> str:
    """The answer to ``show`` for shape text, no line wider than `width` where that can be.

    CommandError for text that is no shape, and for a shape that is not valid.

    >>> print(described_shape("u8[2,3]{0,1}", 80).splitlines()[-1])
    Value:  A D B E C F
    """
    try:
        shape = xla.parse_shape(text)
        shape.validate()
        found = _facts(shape)
        table = _memory(shape, width) if _has_memory(shape) else []
    except (ValueError, TypeError) as error:
        msg = f"show: {str(error).splitlines()[0]}"
        raise CommandError(msg) from None
    return "\n".join([*told(found), *_matrix(shape, width), *[""] * bool(table), *table])


def _matrix(shape: Shape, width: int) -> list[str]:
    """The slots by index, of a matrix whose layout is one of ours."""
    try:
        found = xla.layout_of(shape) if shape.is_array and len(shape.dimensions) == 2 else None
    except ValueError:
        found = None
    return ["", *grid(found, width)] if found else []


def layout_of_shape(text: str) -> Layout:
    """The layout of shape text; CommandError where there is none."""
    try:
        return xla.layout_of(xla.parse_shape(text))
    except (ValueError, TypeError) as error:
        msg = f"show: {str(error).splitlines()[0]}"
        raise CommandError(msg) from None


def _has_memory(shape: Shape) -> bool:
    return shape.is_array and not shape.is_unbounded_dynamic


def _facts(shape: Shape) -> Facts:
    if not shape.is_tuple:
        return [("shape", str(shape)), *_facts_of_array(shape)]
    leaves = shape.leaves()
    parts = [(f"part {','.join(map(str, at))}", f"{s}{_bytes_note(s)}") for at, s in leaves]
    total = sum(s.physical_byte_size for _, s in leaves if _has_memory(s))
    return [
        ("tuple", count_of(len(leaves), "part")),
        *parts,
        ("bytes", f"{total} in arrays"),
    ]


def _bytes_note(shape: Shape) -> str:
    if not _has_memory(shape):
        return ""
    return f", {count_of(shape.physical_byte_size, 'byte')}"


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
    return [*found, *_sizes(shape), ("layout", _layout_text(shape))]


def _sizes(shape: Shape) -> Facts:
    slots, whole, bare = shape.physical_size, shape.physical_byte_size, shape.byte_size
    return [
        ("slots", f"{slots}, of which {slots - shape.size} padding"),
        ("bytes", f"{whole}; the elements alone {bare}: {whole / bare if bare else 1:.3g} times"),
    ]


def _layout_text(shape: Shape) -> str:
    try:
        return str(xla.layout_of(shape))
    except ValueError as error:
        return f"none: {str(error).removeprefix('layout_of: ')}"


def _memory(shape: Shape, width: int) -> list[str]:
    """The memory table; of a large buffer only the first part."""
    slots = shape.physical_size
    tiles = () if shape.layout is None else shape.layout.tiles
    if slots and len(tiles) > _MOST_TILES:
        return [f"memory: not shown for more than {_MOST_TILES} tiles"]
    shown = slots if slots <= MOST_SLOTS else FIRST_SLOTS
    values = [_value(shape, slot) for slot in range(shown)]
    notes = ["x: padding, which holds anything"] if "x" in values else []
    return [*memory_table(slots, values, width), *notes]


def _value(shape: Shape, slot: int) -> str:
    """The name of the element in a slot, by its row-major number; x for padding."""
    bare = (shape.layout or xla.XlaLayout()).replace(tail_padding_alignment=1)
    tail = shape.replace(layout=bare).physical_size
    index = shape.element_at(slot) if slot < tail else None
    return "x" if index is None else element_name(index, shape.dimensions)
