"""Loops over the elements of several memories at once: their axes, and the width of an element.

A loop begins with the dimensions of layouts of one shape. Its transformations change the order or
the width of elements, but never which slots of the memories belong together:

- axes that run backwards in the first memory are *reversed*;
- neighbouring axes that continue each other in every memory are *merged*;
- neighbouring elements are *widened* to one larger element, or moved in *packs*.

Example: a copy of a row-major (4, 6) float32 matrix to another one has the axes 4 and 6; they merge
to one axis of 24, and with 16-byte alignment to 6 elements of 16 bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from math import gcd, prod
from operator import floordiv, mul
from typing import NamedTuple, Self

from tensorlayout.errors import short_repr
from tensorlayout.layout.checks import raise_argument_error
from tensorlayout.layout.layout import Layout
from tensorlayout.layout.placement import Placement
from tensorlayout.support.light_dataclasses import frozen_dataclass


class Window(NamedTuple):
    """Tag of an axis of which each memory has `counts` of the indices, from `first` in `step`s."""

    counts: tuple[int, ...]
    first: int = 0
    step: int = 1


class Axis(NamedTuple):
    """One axis: its size and its stride in each memory. Only axes with equal tags merge."""

    size: int
    strides: tuple[int, ...]
    tag: Hashable = None

    @property
    def reversed_axis(self) -> Axis:
        """Axis that runs from the other end."""
        return Axis(self.size, tuple([-stride for stride in self.strides]), self.tag)

    @property
    def window_or_whole_axis(self) -> Window:
        """Window of the axis in each memory."""
        all_counts = (self.size,) * len(self.strides)
        return self.tag if isinstance(self.tag, Window) else Window(all_counts)

    def step_spans_axis(self, faster: Axis) -> bool:
        """Return whether one step equals all of `faster`, in each memory with several indices."""
        ends = tuple([faster.size * stride for stride in faster.strides])
        if not isinstance(self.tag, Window):
            return self.strides == ends
        # A memory with fewer than two indices takes no step, so its stride does not matter.
        rows = zip(self.tag.counts, self.strides, ends, strict=True)
        return all(count < 2 or step == end for count, step, end in rows)

    def can_merge_with(self, faster: Axis) -> bool:
        """Return whether this axis and `faster` can be one axis."""
        return (
            self.tag == faster.tag
            and not isinstance(self.tag, Window)
            and self.step_spans_axis(faster)
        )

    def scale_axis(self, strides: tuple[int, ...], times: int, parts: int = 1) -> Axis:
        """Return the axis with ``times / parts`` times as many indices, and these strides."""
        tag = self.tag
        if isinstance(tag, Window):
            counts = tuple([count * times // parts for count in tag.counts])
            tag = Window(counts, tag.first * times // parts, tag.step)
        return Axis(self.size * times // parts, strides, tag)


def merge_axes(
    axes: Iterable[Axis], continues: Callable[[Axis, Axis], bool] = Axis.can_merge_with
) -> list[Axis]:
    """Merge neighbouring axes that continue each other; drop size 1 except for windows.

    A window of size 1 stays, because a memory may have none of its indices.
    """
    merged_axes: list[Axis] = []
    for axis in axes:
        if axis.size == 1 and not isinstance(axis.tag, Window):
            continue
        if merged_axes and continues(merged_axes[-1], axis):
            axis = merged_axes.pop().scale_axis(axis.strides, axis.size)
        merged_axes.append(axis)
    return merged_axes


def reverse_axes(
    axes: Iterable[Axis], firsts: Iterable[int], should_reverse: Callable[[tuple[int, ...]], bool]
) -> tuple[list[Axis], list[int]]:
    """Reverse axes whose strides satisfy `should_reverse`; also return the new first elements."""
    result_axes, starts = [], list(firsts)
    for axis in axes:
        if axis.size > 1 and should_reverse(axis.strides):
            last = axis.size - 1
            starts = [first + last * s for first, s in zip(starts, axis.strides, strict=True)]
            axis = axis.reversed_axis
        result_axes.append(axis)
    return result_axes, starts


def max_offset_of_axes(axes: Iterable[Axis]) -> int:
    """Return the largest offset that the axes reach in any memory, in elements."""
    reach = [
        [
            (n - 1) * abs(step)
            for n, step in zip(axis.window_or_whole_axis.counts, axis.strides, strict=True)
        ]
        for axis in axes
    ]
    return max(map(sum, zip(*reach, strict=True)))


def narrowest_index_type(count: int, furthest: int) -> str:
    """Return the narrowest C++ type for a count of elements and the largest offset."""
    # GPUs split arithmetic on 64-bit integers into instructions on 32 bits.
    return "int32_t" if max(count, furthest) < 2**31 else "int64_t"


@frozen_dataclass
class Loop:
    """A loop over several memories at once.

    The first memories have *elements*, which are widened together. Further memories may be
    *tables*, with one entry for each element of any width. An entry may be a mere number, such as
    an element's coordinate.
    """

    axes: tuple[Axis, ...]  # from the slowest to the fastest, at least one; strides in elements
    widths: tuple[int, ...]  # bytes of an element; 0 for a scalar, which has strides 0
    firsts: tuple[int, ...]  # bytes from the lowest slot of each memory to the first element
    alignments: tuple[int, ...]  # powers of two that divide the addresses of the lowest slots
    tables: int = 0  # number of tables, which are the last memories

    @classmethod
    def over_layouts(
        cls,
        layouts: Sequence[Placement | None],
        widths: Sequence[int],
        alignments: Sequence[int],
        tables: int = 0,
    ) -> Self:
        """Return the loop over strided layouts of one non-empty shape, in the order of the first.

        The first layout must not overlap; the loop runs forwards in it. None stands for a scalar.
        """
        axes, starts = _merged_axes_of_layouts(layouts, lambda strides: strides[0] < 0)
        unit_axis = Axis(1, tuple([int(layout is not None) for layout in layouts]))
        firsts = tuple([start * width for start, width in zip(starts, widths, strict=True)])
        return cls(tuple(axes) or (unit_axis,), tuple(widths), firsts, tuple(alignments), tables)

    @classmethod
    def over_elements_and_tables(
        cls,
        elements: tuple[Layout, ...],
        tables: tuple[Layout, ...],
        itemsize: int,
        alignments: tuple[int, ...],
    ) -> Loop:
        """Return the loop over elements of one width and over tables; `firsts` count entries."""
        ones = (1,) * len(tables)
        widths = (itemsize,) * len(elements) + ones
        return cls.over_layouts((*elements, *tables), widths, (*alignments, *ones), len(tables))

    @property
    def width(self) -> int:
        """**Bytes** of an element of the first memory."""
        return self.widths[0]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Sizes of the axes."""
        return tuple([axis.size for axis in self.axes])

    @property
    def strides(self) -> tuple[tuple[int, ...], ...]:
        """Strides of all axes, for each memory."""
        return tuple(zip(*[axis.strides for axis in self.axes], strict=True))

    @property
    def element_count(self) -> int:
        """Number of elements."""
        return prod([axis.size for axis in self.axes])

    @property
    def max_offset(self) -> int:
        """Largest distance from the first element in any memory, in elements."""
        return max_offset_of_axes(self.axes)

    @property
    def index_c_type(self) -> str:
        """Narrowest C++ type for the number of an element and the largest offset."""
        return narrowest_index_type(self.element_count, self.max_offset)

    @property
    def element_memories(self) -> range:
        """Numbers of the memories that have elements."""
        return range(len(self.widths) - self.tables)

    @property
    def is_fastest_axis_contiguous(self) -> bool:
        """True if the fastest axis is contiguous in all memories and moves no table."""
        return self.axes[-1].strides == (1,) * len(self.element_memories) + (0,) * self.tables

    def row_alignment(self, memory: int) -> int:
        """Return the common alignment, in **bytes**, of all rows along the fastest axis."""
        width = self.widths[memory]
        steps = [axis.strides[memory] * width for axis in self.axes[:-1]]
        return gcd(self.alignments[memory], self.firsts[memory], *steps)

    def max_pack_size(self, widest: int) -> int:
        """Return the number of elements that can move at once along the fastest axis.

        A pack has up to `widest` **bytes**. All rows consist of whole packs, which are aligned in
        every memory that moves along the axis.
        """
        last = self.axes[-1]
        packs = [last.size, *last.window_or_whole_axis.counts, last.window_or_whole_axis.first]
        for memory in self.element_memories:
            width, stride = self.widths[memory], last.strides[memory]
            # Scalars, and elements that repeat along the axis, serve a whole pack with one value.
            if not width or (memory and not stride):
                continue
            if stride != 1:
                return 1
            grain = self.row_alignment(memory)
            assert grain % width == 0, "memory is aligned to its elements"
            # GPUs load a vector only from an address that is a multiple of its size.
            packs.append(gcd(widest, grain) // width)
        return gcd(widest // max(self.widths), *packs)

    def loop_over_packs(self, pack_size: int, memories_in_packs: Iterable[int]) -> Self:
        """Return the loop over packs of `pack_size` elements along the fastest axis.

        A pack is one element of the memories `memories_in_packs`, in which the axis must be
        contiguous. The other memories keep their elements.
        """
        if pack_size == 1:
            return self
        packed_memories = set(memories_in_packs)
        parts = [pack_size if m in packed_memories else 1 for m in range(len(self.widths))]
        *slower, last = self.axes
        # Strides now count packs. Rows begin with whole packs, so the divisions are exact.
        axes = [a._replace(strides=tuple(map(floordiv, a.strides, parts))) for a in slower]
        steps = tuple([s * pack_size // n for s, n in zip(last.strides, parts, strict=True)])
        axes.append(last.scale_axis(steps, 1, pack_size))
        return replace(self, axes=tuple(axes), widths=tuple(map(mul, self.widths, parts)))

    def with_wider_elements(self, widest: int) -> Self:
        """Return the loop over wider elements, up to `widest` bytes, if contiguous.

        All axes stay.
        """
        return (
            self.loop_over_packs(self.max_pack_size(widest), self.element_memories)
            if self.is_fastest_axis_contiguous
            else self
        )

    def with_widest_elements(self, widest: int) -> Self:
        """Return the loop over wider elements, up to `widest` bytes, without a last axis of 1."""
        loop = self.with_wider_elements(widest)
        *slower, last = loop.axes
        return replace(loop, axes=tuple(slower)) if slower and last.size == 1 else loop


def coalesce(*layouts: Layout) -> tuple[Layout, ...]:
    """Reorder, flip and merge the dimensions of layouts, in the same way in all of them.

    Returns the new layouts. The slots that the layouts assign to one index stay together; the order
    of the indices changes:

    - Dimensions of size 1 are dropped.
    - A dimension that runs backwards in some layout, and forwards in none, is reversed.
    - Neighbouring dimensions that continue each other in every layout merge.
    - The last dimension is the fastest of the first layout; dimensions along which the first layout
      has stride 0 come first.

    Raises ValueError for different shapes, tiled layouts, or none; TypeError for other objects.

    >>> from tensorlayout import Layout, coalesce
    >>> coalesce(Layout.packed((4, 5, 6), (0, 1, 2)), Layout.packed((4, 5, 6), (0, 1, 2)))
    (Layout.parse('(120,):(1,)'), Layout.parse('(120,):(1,)'))
    """
    for layout in layouts:
        if not isinstance(layout, Layout):
            raise_argument_error(
                "layouts", f"must be Layouts, got {type(layout).__name__}", TypeError
            )
    if not layouts:
        raise_argument_error("layouts", "must be at least one, got none")
    if any(layout.shape != layouts[0].shape for layout in layouts):
        raise_argument_error(
            "layouts",
            f"must have one shape, got {short_repr([layout.shape for layout in layouts])}",
        )
    axes, starts = _merged_axes_of_layouts(
        layouts, lambda strides: max(strides) <= 0 and min(strides) < 0
    )
    if layouts[0].size == 0:
        return tuple(Layout((0,), (1,), slot_bits=operand.slot_bits) for operand in layouts)
    sizes = [axis.size for axis in axes]
    return tuple(
        Layout(sizes, [a.strides[m] for a in axes], offset=start, slot_bits=layouts[m].slot_bits)
        for m, start in enumerate(starts)
    )


def _merged_axes_of_layouts(
    layouts: Sequence[Placement | None], should_reverse: Callable[[tuple[int, ...]], bool]
) -> tuple[list[Axis], list[int]]:
    """Return the fewest axes over strided layouts of one shape, and their first slots."""
    first = layouts[0]
    assert first is not None, "a scalar has no order"
    still = (0,) * first.ndim
    columns = [still if layout is None else layout.strides for layout in layouts]
    rows = list(zip(*columns, strict=True))
    dims = [Axis(first.shape[d], rows[d]) for d in reversed(first.minor_to_major)]
    starts = [0 if layout is None else layout.offset for layout in layouts]
    axes, starts = reverse_axes(dims, starts, should_reverse)
    # The order of the first memory decides, so that writes are contiguous; axes along which it has
    # stride 0 are the slowest.
    axes.sort(key=lambda axis: (axis.strides[0] != 0, [-abs(step) for step in axis.strides]))
    return merge_axes(axes), starts
