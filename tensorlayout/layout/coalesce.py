"""Several layouts of one shape walked together: the fewest dimensions that visit the same slots."""

from __future__ import annotations

from tensorlayout.layout.layout import Layout
from tensorlayout.words import shown

Row = tuple[int, list[int]]  # a dimension: its size, and its stride in each layout


def coalesce(*layouts: Layout) -> tuple[Layout, ...]:
    """The layouts with dimensions reordered, flipped and merged, each in the same way in all.

    The tuples of slots that the layouts assign to one index stay the same as a set; only the order
    of the indices changes. Dimensions of size 1 vanish; those that run backwards in some layout and
    forwards in none run forwards; neighbours merge where they continue each other in every layout.
    The last dimension is the most minor of the first layout; dimensions along which that stands
    still come first. ValueError where shapes differ or a layout is tiled, TypeError for
    anything else than layouts.

    >>> coalesce(Layout.packed((4, 5, 6), (0, 1, 2)), Layout.packed((4, 5, 6), (0, 1, 2)))
    (Layout.parse('(120,):(1,)'), Layout.parse('(120,):(1,)'))
    """
    for layout in layouts:
        if not isinstance(layout, Layout):
            msg = f"layouts: must be Layouts, got {type(layout).__name__}"
            raise TypeError(msg)
    if not layouts:
        msg = "layouts: must be at least one, got none"
        raise ValueError(msg)
    shape = layouts[0].shape
    if any(layout.shape != shape for layout in layouts):
        msg = f"layouts: must have one shape, got {shown([layout.shape for layout in layouts])}"
        raise ValueError(msg)
    columns = [layout.strides for layout in layouts]
    if layouts[0].size == 0:
        return tuple(Layout((0,), (1,)) for _ in layouts)
    offsets = [layout.offset for layout in layouts]
    rows: list[Row] = []
    for dim in reversed(layouts[0].minor_to_major):
        strides = [column[dim] for column in columns]
        if shape[dim] == 1:
            continue
        if max(strides) <= 0 and min(strides) < 0:
            offsets = [o + (shape[dim] - 1) * s for o, s in zip(offsets, strides, strict=True)]
            strides = [-s for s in strides]
        rows.append((shape[dim], strides))
    merged = _merged(sorted(rows, key=_rank))
    sizes = tuple(n for n, _ in merged)
    return tuple(
        Layout(sizes, [strides[i] for _, strides in merged], offset=offset)
        for i, offset in enumerate(offsets)
    )


def _rank(row: Row) -> tuple[bool, list[int]]:
    """Where a dimension stands: by its strides, the first layout's first, the largest in front."""
    _, strides = row
    return strides[0] != 0, [-abs(stride) for stride in strides]


def _merged(rows: list[Row]) -> list[Row]:
    joined: list[Row] = []
    for size, strides in rows:
        if joined and joined[-1][1] == [size * s for s in strides]:
            joined[-1] = (joined[-1][0] * size, strides)
        else:
            joined.append((size, strides))
    return joined


__all__ = ["coalesce"]
