"""``show`` of an XLA shape: its layout in words, its bytes with all padding, its memory."""

from __future__ import annotations

from tensorlayout import xla
from tensorlayout.cli.errors import refuse
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
    shown = slots if slots <= MOST_SLOTS else FIRST_SLOTS
    tail = shape.replace(layout=layout.replace(tail_padding_alignment=1)).physical_size
    indices = [shape.element_at(slot) if slot < tail else None for slot in range(shown)]
    values = ["x" if at is None else element_name(at, shape.dimensions) for at in indices]
    notes = ["x: padding, which holds anything"] if "x" in values else []
    return [*memory_table(slots, values, width), *notes]
