"""`Layout`: where each element of a tensor stands in its storage."""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Iterator, Sequence
from functools import cached_property
from operator import index as as_int
from typing import Any, NoReturn, Protocol, Self

from tensorlayout.layout import checks, overlap, slots, text
from tensorlayout.layout import order as orders
from tensorlayout.layout.padding import BitPattern, Padding, PaddingValue
from tensorlayout.layout.slots import Parts

MAX_SLOTS = 2**63 - 1

_interned: weakref.WeakValueDictionary[tuple[Any, ...], Layout] = weakref.WeakValueDictionary()
_interning = threading.Lock()


class HasItemsize(Protocol):
    """Anything that knows its bytes per element, such as a dtype."""

    @property
    def itemsize(self) -> int: ...


class Layout:
    """Where each element of a tensor stands in its storage: an immutable, interned value.

    Slots, strides and offsets count elements, never bytes. Equal layouts are the same object, so
    ``==`` and ``hash`` cost nothing; `same_placement` is the equality that ignores the strides of
    dimensions of size 1.

    Parameters: `shape`, the logical sizes; `strides`, one per dimension (0 repeats, negative runs
    backwards), by default packed in the order `minor_to_major`, by default row-major; `parts`
    instead of `strides` for tiled dimensions, one tuple of ``(extent, stride)`` a dimension, most
    major first; `offset`, the slot of the element at index (0, …, 0); `padded_shape`, the sizes
    including padding, which must make the layout cover a whole block; `padding_value`, what that
    padding holds.

    Errors: ValueError that names the argument, what came and what is allowed; TypeError for
    anything that is no integer. Never a wrap: slots beyond 2**63 - 1 are refused.

    >>> Layout((2, 3), (1, 2))
    Layout.parse('(2,3):(1,2)')
    >>> Layout((2, 3), (1, 2)).offset_of((1, 2))
    5
    """

    shape: tuple[int, ...]
    parts: tuple[Parts, ...]
    offset: int
    minor_to_major: tuple[int, ...]
    padded_shape: tuple[int, ...]
    padding_value: Padding

    def __new__(
        cls,
        shape: Sequence[int],
        strides: Sequence[int] | None = None,
        *,
        parts: Sequence[Sequence[tuple[int, int]]] | None = None,
        offset: int = 0,
        minor_to_major: Sequence[int] | None = None,
        padded_shape: Sequence[int] | None = None,
        padding_value: Padding = PaddingValue.UNSPECIFIED,
    ) -> Self:
        sizes = checks.checked_sizes("shape", shape)
        padded = None if padded_shape is None else checks.checked_padded(sizes, padded_shape)
        if strides is not None and parts is not None:
            msg = "strides and parts: give one of them, got both"
            raise ValueError(msg)
        if parts is not None:
            dims = checks.checked_parts(sizes, parts)
        elif strides is not None:
            dims = checks.checked_strides(sizes, strides)
        else:
            packing = orders.descending(len(sizes)) if minor_to_major is None else minor_to_major
            minor_to_major = orders.checked_order(packing, len(sizes))
            packed = slots.packed_strides(padded or sizes, minor_to_major)
            dims = tuple(((n, s),) for n, s in zip(sizes, packed, strict=True))
        outer = [p[0][1] for p in dims]
        if minor_to_major is None:
            order = orders.order_of_strides(sizes, outer)
        else:
            order = orders.checked_order(minor_to_major, len(sizes))
            if all(len(p) == 1 for p in dims) and order != (
                true := orders.order_of_strides(sizes, outer, order)
            ):
                msg = f"minor_to_major: {order} contradicts the strides {tuple(outer)}, which say {true}"
                raise ValueError(msg)
        if not isinstance(padding_value, (PaddingValue, BitPattern)):
            msg = (
                "padding_value: must be a PaddingValue or a BitPattern (a Python number has no"
                f" exact bits), got {padding_value!r}"
            )
            raise TypeError(msg)
        if padded is None:
            padded = checks.implied_padded(sizes, dims)
        elif padded != sizes and not slots.covers_block(dims, padded):
            msg = (
                f"padded_shape: {padded} does not make the strides of shape {sizes} cover a whole"
                " block; use Layout.padded, or leave it out for a view with gaps"
            )
            raise ValueError(msg)
        return cls._intern(sizes, dims, as_int(offset), order, padded, padding_value)

    @classmethod
    def _intern(
        cls,
        shape: tuple[int, ...],
        parts: tuple[Parts, ...],
        offset: int,
        order: tuple[int, ...],
        padded_shape: tuple[int, ...],
        padding_value: Padding,
    ) -> Self:
        """The one layout of these fields, which are known to be sound but for their size."""
        if padded_shape == shape:
            padding_value = PaddingValue.UNSPECIFIED
        key = (cls, shape, parts, offset, order, padded_shape, padding_value)
        with _interning:
            layout = _interned.get(key)
            if layout is None:
                layout = object.__new__(cls)
                layout.__dict__.update(
                    shape=shape,
                    parts=parts,
                    offset=offset,
                    minor_to_major=order,
                    padded_shape=padded_shape,
                    padding_value=padding_value,
                )
                layout._check_size()
                _interned[key] = layout
        return layout  # type: ignore[return-value]  # the key holds the class

    def _check_size(self) -> None:
        if self.size > MAX_SLOTS or math.prod(self.padded_shape) > MAX_SLOTS:
            msg = f"shape: {self.shape} has more than 2**63 - 1 elements"
            raise ValueError(msg)
        if self.required_size > MAX_SLOTS or self.offset > MAX_SLOTS:
            msg = f"strides: {self} reaches beyond slot 2**63 - 1"
            raise ValueError(msg)
        if self.offset < 0 or self.lowest < 0:
            msg = (
                f"offset: {self.offset} puts elements at negative slots, down to {self.lowest};"
                " it must be at least"
                f" {self.offset - min(self.lowest, self.offset)} for these strides"
            )
            raise ValueError(msg)

    # --- made by -------------------------------------------------------------------------------

    @classmethod
    def packed(cls, shape: Sequence[int], minor_to_major: Sequence[int] | None = None) -> Self:
        """The layout of `shape` without gaps, in an order of dimensions (row-major by default).

        >>> Layout.packed((2, 3), (0, 1)).strides
        (1, 2)
        """
        return cls(shape, minor_to_major=minor_to_major)

    @classmethod
    def row_major(cls, shape: Sequence[int]) -> Self:
        """The packed layout whose last dimension varies fastest."""
        return cls(shape)

    @classmethod
    def column_major(cls, shape: Sequence[int]) -> Self:
        """The packed layout whose first dimension varies fastest."""
        sizes = tuple(shape)
        return cls(sizes, minor_to_major=range(len(sizes)))

    @classmethod
    def labelled(cls, shape: Sequence[int], labels: str) -> Self:
        """The packed layout whose memory order is spelt by labels, slowest dimension first.

        `shape` is in the logical order of the letters: ``HW``, ``DHW``, ``CHW``, ``NCHW`` or
        ``NCDHW``. So ``"NHWC"`` takes a shape (N, C, H, W) and puts the channels fastest.

        >>> Layout.labelled((1, 1, 3, 5), "NHWC").strides
        (15, 1, 5, 1)
        """
        sizes = tuple(shape)
        return cls(sizes, minor_to_major=orders.order_of_labels(labels, len(sizes)))

    @classmethod
    def padded(
        cls,
        shape: Sequence[int],
        padded_shape: Sequence[int],
        minor_to_major: Sequence[int] | None = None,
        padding_value: Padding = PaddingValue.UNSPECIFIED,
    ) -> Self:
        """The layout of `shape` inside a packed block of `padded_shape`, padding at the high ends.

        >>> layout = Layout.padded((2, 3), (3, 5), (0, 1), PaddingValue.ZERO)
        >>> print(layout.table(["a", "b", "c", "d", "e", "f"]))
        Offset: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14
        Value:  a d 0 b e 0 c f 0 0  0  0  0  0  0
        """
        return cls(
            shape,
            minor_to_major=minor_to_major,
            padded_shape=padded_shape,
            padding_value=padding_value,
        )

    @classmethod
    def pitched(
        cls,
        shape: Sequence[int],
        pitch: int,
        itemsize: int | HasItemsize,
        minor_to_major: Sequence[int] | None = None,
        padding_value: Padding = PaddingValue.UNSPECIFIED,
    ) -> Self:
        """Rows (runs of the most minor dimension) that begin at multiples of `pitch` **bytes**.

        `itemsize` is the bytes of one element, or a dtype. ValueError where `pitch` is no multiple
        of it.

        >>> Layout.pitched((4, 100), 256, 4).padded_shape
        (4, 128)
        """
        sizes, step = checks.checked_sizes("shape", shape), checks.checked_itemsize(itemsize)
        if pitch <= 0 or pitch % step:
            msg = (
                f"pitch: must be a positive multiple of the {step} bytes of an element, got {pitch}"
            )
            raise ValueError(msg)
        order = orders.descending(len(sizes)) if minor_to_major is None else tuple(minor_to_major)
        orders.checked_order(order, len(sizes))
        padded = list(sizes)
        if order:
            per_row = pitch // step
            padded[order[0]] = -(-sizes[order[0]] // per_row) * per_row
        return cls.padded(sizes, padded, order, padding_value)

    @classmethod
    def parse(cls, source: str) -> Self:
        """The layout that `str` or `repr` wrote. ValueError, with the grammar, for any other text.

        >>> Layout.parse("(2,3):(5,1) padded=(2,5) padding=ZERO").padding_size
        4
        """
        wrapped = source.strip().removeprefix("Layout.parse('").removesuffix("')")
        fields = text.parse_text(wrapped)
        return cls(
            fields.shape,
            parts=fields.parts,
            offset=fields.offset,
            minor_to_major=fields.minor_to_major,
            padded_shape=fields.padded_shape,
            padding_value=fields.padding_value,
        )

    # --- answers -------------------------------------------------------------------------------

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @cached_property
    def size(self) -> int:
        """The number of elements, padding not counted."""
        return math.prod(self.shape)

    @property
    def is_tiled(self) -> bool:
        """Whether some dimension is split into several parts."""
        return any(len(parts) > 1 for parts in self.parts)

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """The strides in elements. ValueError for a tiled layout, which has none."""
        if self.is_tiled:
            msg = f"strides: a tiled layout has none, see parts; layout {self}"
            raise ValueError(msg)
        return tuple(parts[0][1] for parts in self.parts)

    @cached_property
    def _span(self) -> tuple[int, int]:
        """The lowest and highest slot of an element; (offset, offset) without elements."""
        if self.size == 0:
            return self.offset, self.offset
        spans = [slots.span(p, n) for p, n in zip(self.parts, self.shape, strict=True)]
        return self.offset + sum(low for low, _ in spans), self.offset + sum(h for _, h in spans)

    @property
    def _lowest(self) -> int:
        return self._span[0]

    @cached_property
    def required_size(self) -> int:
        """The least number of slots that a storage must have to hold the layout, padding included."""
        if self.padded_shape != self.shape:
            return self.lowest + math.prod(self.padded_shape)
        return self._span[1] + 1 if self.size else 0

    def nbytes(self, itemsize: int | HasItemsize) -> int:
        """The **bytes** that `required_size` slots take; `itemsize` in bytes, or a dtype."""
        return self.required_size * checks.checked_itemsize(itemsize)

    @property
    def padding_size(self) -> int:
        """The number of slots of padding that this layout owns; 0 for a view with gaps."""
        return math.prod(self.padded_shape) - self.size

    @cached_property
    def covers_block(self) -> bool:
        """Whether the elements and their padding fill a block of slots one to one."""
        return slots.covers_block(self.parts, self.padded_shape)

    @property
    def is_padded(self) -> bool:
        """Whether the layout owns slots of padding."""
        return self.padded_shape != self.shape and self.padding_size > 0

    @property
    def is_packed(self) -> bool:
        """Whether the elements fill `size` slots one to one in some order of dimensions."""
        return self.covers_block and self.padded_shape == self.shape and not self.is_tiled

    @cached_property
    def is_row_major(self) -> bool:
        """Whether the placement is the packed row-major one, wherever it begins."""
        return self._is_packed_as(orders.descending(self.ndim))

    @cached_property
    def is_column_major(self) -> bool:
        """Whether the placement is the packed column-major one, wherever it begins."""
        return self._is_packed_as(tuple(range(self.ndim)))

    def _is_packed_as(self, order: tuple[int, ...]) -> bool:
        if not self.is_packed:
            return False
        packed = slots.packed_strides(self.shape, order)
        return self.size == 0 or all(
            n == 1 or s == p for n, s, p in zip(self.shape, self.strides, packed, strict=True)
        )

    @property
    def is_broadcast(self) -> bool:
        """Whether a dimension of several indices has stride 0."""
        return self.size > 0 and any(e > 1 and s == 0 for parts in self.parts for e, s in parts)

    @cached_property
    def is_overlapping(self) -> bool:
        """Whether two indices share a slot; broadcast layouts and sliding windows do.

        Where deciding takes too long (strides that no chain of views makes), the answer is True.
        """
        if self.size <= 1 or self.covers_block:
            return False
        return overlap.overlaps([part for parts in self.parts for part in parts])

    @cached_property
    def form(self) -> Layout:
        """The layout a new tensor of this kind gets: offset 0, positive strides, no gaps.

        The whole packed, padded or tiled block where this layout covers one; else the packed
        layout of the same order.
        """
        if not self.covers_block:
            return Layout.packed(self.shape, self.minor_to_major)
        if not self.is_tiled:
            return Layout.padded(
                self.shape, self.padded_shape, self.minor_to_major, self.padding_value
            )
        parts = tuple(tuple((e, abs(s)) for e, s in dim) for dim in self.parts)
        return self._replace(parts=parts, offset=0)

    def same_placement(self, other: Layout) -> bool:
        """Whether every index has the same slot in both; strides of size-1 dimensions are ignored.

        >>> Layout((1, 3), (7, 1)).same_placement(Layout((1, 3), (3, 1)))
        True
        """
        if self is other:
            return True
        if self.shape != other.shape:
            return False
        if self.size == 0:
            return True
        return self.offset == other.offset and all(
            n == 1 or slots.merged(p) == slots.merged(q)
            for n, p, q in zip(self.shape, self.parts, other.parts, strict=True)
        )

    def offset_of(self, index: Sequence[int]) -> int:
        """The slot of the element at `index`. IndexError outside the shape (no negative indices)."""
        at = tuple(as_int(i) for i in index)
        if len(at) != self.ndim or not all(0 <= i < n for i, n in zip(at, self.shape, strict=True)):
            msg = f"index: must lie inside the shape {self.shape}, got {at}"
            raise IndexError(msg)
        return self.offset + sum(map(slots.slot_of, self.parts, at))

    def index_of(self, slot: int) -> tuple[int, ...] | None:
        """The index of the element in `slot`, or None for padding and gaps.

        IndexError outside the required size; ValueError where several indices share the slot.
        """
        slot = as_int(slot)
        if not 0 <= slot < self.required_size:
            msg = f"slot: must be at least 0 and below the required size {self.required_size}, got {slot}"
            raise IndexError(msg)
        found = self._indices_of(slot, 2)
        if len(found) > 1:
            msg = f"slot: {slot} is shared by the indices {found[0]} and {found[1]} of {self}"
            raise ValueError(msg)
        return found[0] if found else None

    def _indices_of(self, slot: int, most: int) -> list[tuple[int, ...]]:
        """Up to `most` indices whose element stands in `slot`."""
        if self.size == 0:
            return []
        flat = [(e, s) for parts in self.parts for e, s in parts]
        # A negative stride counts its digit from the other end, so that all strides are positive.
        rest = slot - self.offset - sum(min(0, (e - 1) * s) for e, s in flat)
        found: list[tuple[int, ...]] = []
        try:
            for digits in overlap.solutions([(e, abs(s)) for e, s in flat], rest):
                index = self._index_of_digits(digits)
                if all(i < n for i, n in zip(index, self.shape, strict=True)):
                    found.append(index)
                if len(found) == most:
                    break
        except overlap.TooHardError:
            msg = f"slot: cannot tell which indices of {self} share slot {slot}"
            raise ValueError(msg) from None
        return found

    def _index_of_digits(self, digits: Sequence[int]) -> tuple[int, ...]:
        taken = iter(digits)
        index = []
        for parts in self.parts:
            number = 0
            for extent, stride in parts:
                digit = next(taken)
                number = number * extent + (extent - 1 - digit if stride < 0 else digit)
            index.append(number)
        return tuple(index)

    def elements(self) -> Iterator[tuple[int, ...]]:
        """The indices of all elements in physical order; those that share a slot, in index order."""
        for _, index in sorted((self.offset_of(i), i) for i in checks.indices(self.shape)):
            yield index

    def table(self, values: Sequence[object] | None = None) -> str:
        """The memory, slot by slot: a line of offsets and one of values.

        `values` are those of the elements in index order (letters from A by default). Padding
        shows as ``0`` or ``1`` where it holds that, and as ``x`` like any other gap.

        >>> print(Layout((2, 3), (5, 1)).table())
        Offset: 0 1 2 3 4 5 6 7
        Value:  A B C x x D E F
        """
        names = (
            [checks.letters(i) for i in range(self.size)]
            if values is None
            else list(map(str, values))
        )
        if len(names) != self.size:
            msg = f"values: must be the {self.size} elements, got {len(names)}"
            raise ValueError(msg)
        filler = {PaddingValue.ZERO: "0", PaddingValue.ONE: "1"}.get(self.padding_value, "x")  # type: ignore[arg-type]
        row = ["x"] * self.lowest + [filler] * (self.required_size - self.lowest)
        for name, index in zip(names, checks.indices(self.shape), strict=True):
            row[self.offset_of(index)] = name
        widths = [max(len(str(slot)), len(name)) for slot, name in enumerate(row)]
        lines = (map(str, range(len(row))), row)
        heads = ("Offset: ", "Value:  ")
        return "\n".join(
            (head + " ".join(f"{word:>{w}}" for word, w in zip(line, widths, strict=True))).rstrip()
            for head, line in zip(heads, lines, strict=True)
        )

    # --- operations: new layouts over the same slots, or None where no view exists ---------------

    def _replace(self, **changes: Any) -> Layout:
        fields = (
            "shape",
            "parts",
            "offset",
            "minor_to_major",
            "padded_shape",
            "padding_value",
        )
        return Layout._intern(*(changes.get(f, getattr(self, f)) for f in fields))

    def _view(
        self,
        shape: Sequence[int],
        parts: Sequence[Parts],
        order: Sequence[int],
        offset: int | None = None,
        padded_shape: Sequence[int] | None = None,
    ) -> Layout:
        """A view of this layout; its padding is owned only if it still covers the block."""
        sizes, dims = tuple(shape), tuple(parts)
        padded = sizes if padded_shape is None else tuple(padded_shape)
        if padded != sizes and not slots.covers_block(dims, padded):
            padded = sizes
        start = self.offset if offset is None else offset
        if len(sizes) > checks.MAX_RANK:
            checks.too_many_dimensions("shape", len(sizes))
        kept = tuple(order)
        if all(len(p) == 1 for p in dims):
            kept = orders.order_of_strides(sizes, [p[0][1] for p in dims], kept)
        return Layout._intern(sizes, dims, start, kept, padded, self.padding_value)

    def moved(self, slots_up: int) -> Layout:
        """The same layout, `slots_up` slots further into the storage."""
        return self._replace(offset=self.offset + slots_up)

    @cached_property
    def at_origin(self) -> Layout:
        """The same layout moved so that its lowest slot is 0."""
        return self.moved(-self.lowest)

    @property
    def lowest(self) -> int:
        """The lowest slot of an element; the offset where there is none."""
        return self._span[0]

    def permute(self, dims: Sequence[int]) -> Layout:
        """Dimension ``i`` of the result is dimension ``dims[i]``: NumPy's transpose."""
        axes = orders.checked_order(dims, self.ndim) if self.ndim else tuple(dims)
        return self._view(
            [self.shape[d] for d in axes],
            [self.parts[d] for d in axes],
            orders.permuted_order(self.minor_to_major, axes),
            padded_shape=[self.padded_shape[d] for d in axes],
        )

    def flip(self, dims: Sequence[int]) -> Layout | None:
        """The given dimensions run backwards. None where a tiled one does not end on a tile."""
        steps = [slice(None, None, -1 if d in dims else 1) for d in range(self.ndim)]
        return self.slice(tuple(steps))

    def slice(self, key: Any) -> Layout | None:
        """Basic indexing: integers, slices with any step, None and Ellipsis.

        None where a tiled dimension is cut in a way that no parts describe. IndexError for an
        integer outside its dimension or too many indices.

        >>> Layout.row_major((4, 6)).slice((slice(None, None, -1), slice(1, None, 2)))
        Layout.parse('(4,3):(-6,2)+19')
        """
        items = checks.expanded_key(key, self.shape)
        shape: list[int] = []
        parts: list[Parts] = []
        padded: list[int] = []
        order, offset, whole, dim = self.minor_to_major, self.offset, True, 0
        for item in items:
            if item is None:
                order = orders.order_with(order, len(shape))
                shape.append(1)
                parts.append(((1, 1),))
                padded.append(1)
                continue
            size, dims, pad = self.shape[dim], self.parts[dim], self.padded_shape[dim]
            dim += 1
            if isinstance(item, int):
                offset += slots.slot_of(dims, checks.checked_index(item, dim - 1, self.shape))
                order = orders.order_without(order, [len(shape)])
                whole = whole and pad == 1
                continue
            start, stop, step = item.indices(size)
            count = len(range(start, stop, step))
            cut = slots.sliced(dims, start, count, step)
            if cut is None:
                return None
            offset += slots.slot_of(dims, start) if count else 0
            whole = whole and count == size
            shape.append(count)
            parts.append(cut)
            padded.append(pad)
        return self._view(shape, parts, order, offset, padded if whole else None)

    def expand_dims(self, dim: int) -> Layout:
        """A new dimension of size 1 at `dim`."""
        return self._sliced_whole([*[slice(None)] * dim, None])

    def squeeze(self, dims: Sequence[int]) -> Layout:
        """The given dimensions, of size 1, gone. ValueError where one has another size."""
        for d in dims:
            if self.shape[d] != 1:
                msg = f"dims: dimension {d} of shape {self.shape} has size {self.shape[d]}, not 1"
                raise ValueError(msg)
        return self._sliced_whole([0 if d in dims else slice(None) for d in range(self.ndim)])

    def _sliced_whole(self, key: list[Any]) -> Layout:
        layout = self.slice(tuple(key))
        if layout is None:  # pragma: no cover - whole slices and size-1 dimensions always have one
            raise AssertionError
        return layout

    def broadcast_to(self, shape: Sequence[int]) -> Layout:
        """The elements repeated along dimensions of size 1 and new leading ones, by stride 0.

        ValueError where the sizes do not fit. The padding, if any, belongs to the result only if
        the shape is the same.
        """
        sizes = checks.checked_sizes("shape", shape)
        new = len(sizes) - self.ndim
        if new < 0 or any(n not in (1, m) for n, m in zip(self.shape, sizes[new:], strict=True)):
            msg = f"shape: {self.shape} cannot be broadcast to {sizes}"
            raise ValueError(msg)
        if sizes == self.shape:
            return self
        kept = [
            p if n == m else ((m, 0),)
            for n, m, p in zip(self.shape, sizes[new:], self.parts, strict=True)
        ]
        order = [d + new for d in self.minor_to_major] + list(range(new - 1, -1, -1))
        return self._view(sizes, [((n, 0),) for n in sizes[:new]] + kept, order)

    def reshape(self, shape: Sequence[int]) -> Layout | None:
        """The same elements in row-major index order under another shape; None where none exists.

        >>> Layout.row_major((2, 6)).reshape((3, 4))
        Layout.parse('(3,4):(4,1)')
        >>> Layout.column_major((2, 6)).reshape((3, 4)) is None
        True
        """
        sizes = checks.checked_sizes("shape", shape)
        if math.prod(sizes) != self.size:
            msg = f"shape: {sizes} has {math.prod(sizes)} elements, the layout has {self.size}"
            raise ValueError(msg)
        if sizes == self.shape:
            return self
        if self.size == 0:
            order = orders.descending(len(sizes))
            strides = slots.packed_strides(sizes, order)
            return self._view(
                sizes, [((n, s),) for n, s in zip(sizes, strides, strict=True)], order
            )
        return self._reshaped_tiled(sizes) if self.is_tiled else self._reshaped(sizes)

    def _reshaped(self, sizes: tuple[int, ...]) -> Layout | None:
        dims = [p[0] for p in self.parts]
        strides = slots.reshaped(dims, sizes)
        if strides is None:
            return None
        parts = [((n, s),) for n, s in zip(sizes, strides, strict=True)]
        order = orders.order_of_strides(sizes, strides)
        return self._view(sizes, parts, order, padded_shape=self._repadded(sizes))

    def _reshaped_tiled(self, sizes: tuple[int, ...]) -> Layout | None:
        """A tiled layout keeps its dimensions; only those of size 1 come and go.

        Dimensions whose tiles have no tail could be taken apart further; that is a strided layout
        of the parts, which `untiled` gives.
        """
        if [n for n in sizes if n != 1] != [n for n in self.shape if n != 1]:
            flat = self.untiled()
            return None if flat is None else flat.reshape(sizes)
        layout = self.squeeze([d for d in range(self.ndim) if self.shape[d] == 1])
        for dim, size in enumerate(sizes):
            if size == 1:
                layout = layout.expand_dims(dim)
        return layout

    def untiled(self) -> Layout | None:
        """One dimension per part, most major first; None where a tile has a tail.

        The row-major index order is the same, so this is a reshape without a copy.
        """
        if any(
            math.prod(e for e, _ in p) != n for p, n in zip(self.parts, self.shape, strict=True)
        ):
            return None
        flat = [part for parts in self.parts for part in parts]
        sizes = [e for e, _ in flat]
        order = orders.order_of_strides(sizes, [s for _, s in flat])
        return self._view(sizes, [(part,) for part in flat], order)

    def _repadded(self, sizes: tuple[int, ...]) -> tuple[int, ...] | None:
        """The padded sizes under a reshape that leaves each padded dimension alone, else None."""
        if not self.is_padded:
            return None
        kept = [(n, p) for n, p in zip(self.shape, self.padded_shape, strict=True) if n != 1]
        if any(n == 1 != p for n, p in zip(self.shape, self.padded_shape, strict=True)):
            return None
        padded = list(sizes)
        below: dict[tuple[int, int], int] = {}
        for d, n in enumerate(sizes):
            below[(n, math.prod(sizes[d + 1 :]))] = d
        for at, (n, p) in enumerate(kept):
            if n != p:
                dim = below.get((n, math.prod(m for m, _ in kept[at + 1 :])))
                if dim is None:
                    return None
                padded[dim] = p
        return tuple(padded)

    def sliding_window(self, window_shape: Sequence[int], dims: Sequence[int]) -> Layout:
        """All windows of `window_shape` over `dims`, as new last dimensions over the same slots.

        ValueError where a window is larger than its dimension or the dimension is tiled.

        >>> Layout.row_major((5,)).sliding_window((3,), (0,))
        Layout.parse('(3,3):(1,1)')
        """
        shape, extra = list(self.shape), []
        for width, d in zip(window_shape, dims, strict=True):
            if not 1 <= width <= shape[d] or len(self.parts[d]) != 1:
                msg = f"window_shape: {width} does not fit dimension {d} of {self}"
                raise ValueError(msg)
            shape[d] -= width - 1
            extra.append((width, self.parts[d][0][1]))
        parts = [
            ((n, p[0][1]),) if len(p) == 1 else p for n, p in zip(shape, self.parts, strict=True)
        ]
        order = list(self.minor_to_major)
        for number, d in enumerate(dims):
            order.insert(order.index(d), self.ndim + number)
        return self._view(shape + [e for e, _ in extra], parts + [(part,) for part in extra], order)

    # --- text ----------------------------------------------------------------------------------

    def __str__(self) -> str:
        implied = orders.order_of_strides(self.shape, [p[0][1] for p in self.parts])
        default_padded = checks.implied_padded(self.shape, self.parts)
        fields = text.Fields(
            self.shape,
            self.parts,
            self.offset,
            None if self.minor_to_major == implied else self.minor_to_major,
            None if self.padded_shape == default_padded else self.padded_shape,
            self.padding_value,
        )
        return text.text_of(fields)

    def __repr__(self) -> str:
        return f"Layout.parse({str(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Layout.parse, (str(self),)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __setattr__(self, name: str, value: object) -> NoReturn:
        msg = f"a Layout is immutable: cannot set {name}"
        raise AttributeError(msg)

    def __delattr__(self, name: str) -> NoReturn:
        msg = f"a Layout is immutable: cannot delete {name}"
        raise AttributeError(msg)
