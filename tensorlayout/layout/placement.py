"""`Placement`: the interned fields of a layout, its properties, and the mapping to slots."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import islice, product
from typing import Any, NoReturn, Protocol, Self

from tensorlayout.errors import short_repr, truncate
from tensorlayout.layout import checks, slots
from tensorlayout.layout import order as orders
from tensorlayout.layout.checks import raise_argument_error
from tensorlayout.layout.padding import BitPattern, Padding, PaddingValue
from tensorlayout.support.interning import Interned, cached_property

# Tables of all slots are for reading. Larger ones would take minutes, and all memory.
MOST_DRAWN = 2**16
# A list of one tuple per element takes about 100 bytes each, so this is near half a gigabyte.
MOST_LISTED = 2**22

_interned: Interned[Any] = Interned()


class HasItemsize(Protocol):
    """Anything with a number of bytes per element, such as a dtype."""

    @property
    def itemsize(self) -> int:
        """**Bytes** of one element."""


class Placement:
    """An interned value of seven fields, with its properties; `Layout` adds constructors and views.

    Dimensions consist of parts (see `slots`). A layout that owns padding fills the slots from
    `lowest` up to `required_size`; the slots without an element are its padding. In memory, padding
    comes after the elements of each dimension, whether they run forwards or backwards.
    """

    shape: tuple[int, ...]
    parts: tuple[slots.Parts, ...]
    offset: int
    minor_to_major: tuple[int, ...]
    padded_shape: tuple[int, ...]
    padding_value: Padding
    slot_bits: int | None  # of slots packed into bytes, low bits first; None: whole bytes
    _span: tuple[int, int]  # lowest and highest slot of an element; without elements the offset

    # --- the value: one object, never changed ----------------------------------------------------

    @classmethod
    def _intern(
        cls,
        shape: tuple[int, ...],
        parts: tuple[slots.Parts, ...] | None,
        offset: int,
        order: orders.Order,
        padded_shape: tuple[int, ...],
        padding_value: Padding,
        slot_bits: int | None = None,
    ) -> Self:
        """Return the interned layout of valid fields; without `parts`, a block with its padding."""
        if padded_shape == shape:
            padding_value = PaddingValue.UNSPECIFIED
        is_own_form = parts is None and padded_shape == shape and offset == 0
        if parts is None:
            parts = slots.strides_to_parts(shape, slots.packed_strides(padded_shape, order))
        key = (shape, parts, offset, order, padded_shape, padding_value, slot_bits)
        reference = _interned.find_reference(key)
        layout: Self | None = None if reference is None else reference()
        if layout is None:
            # Assignments are refused by `__setattr__`, so the fields go directly into the
            # instance's dictionary. The check comes before the table, so that no invalid layout is
            # ever found there.
            new_layout = object.__new__(cls)
            new_layout.__dict__.update(zip(_FIELDS, key, strict=True))
            new_layout.__dict__["_span"] = slots.lowest_and_highest_slot(shape, parts, offset)
            # Every plan reads these, so they are plain attributes rather than calls of properties.
            tiled = max(map(len, parts), default=1) > 1
            new_layout.__dict__.update(is_tiled=tiled, is_strided=not tiled and slot_bits is None)
            new_layout._check_slot_range()
            if is_own_form:
                new_layout.__dict__.update(_OF_PACKED)
                if order == orders.row_major_order(len(shape)):
                    new_layout.__dict__["is_row_major"] = True
            layout = _interned.intern(key, new_layout)
        return layout

    def _check_slot_range(self) -> None:
        # Sizes of 0 count as 1, so that the strides of an empty block stay within 64 bits too.
        if math.prod([n or 1 for n in self.padded_shape]) > slots.MAX_SLOTS:
            sizes = short_repr(self.padded_shape)
            raise_argument_error(
                "shape", f"the sizes {sizes}, with 1 for 0, multiply to more than 2**63 - 1"
            )
        if self.required_size > slots.MAX_SLOTS or self.offset > slots.MAX_SLOTS:
            message = f"shape {short_repr(self.shape)} from slot {short_repr(self.offset)} on"
            raise_argument_error("strides", f"{message} reaches beyond slot 2**63 - 1")
        if self.lowest < 0:
            message = f"{short_repr(self.offset)} puts elements at negative slots"
            rule = f"it must be at least {self.offset - self.lowest} for these strides"
            raise_argument_error("offset", f"{message}, down to {short_repr(self.lowest)}; {rule}")

    def _replace(self, **changes: Any) -> Self:
        return self._intern(*map((self.__dict__ | changes).__getitem__, _FIELDS))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            # Equal values must have equal hashes, but "NHWC" and "nhwc" have two.
            labelled = f"Layout.labelled({short_repr(self.shape)}, text)"
            fix = "Layout.parse(text)" if ":" in other or "{" in other else labelled
            rule = f"a Layout and text cannot be compared, got {short_repr(other)}"
            raise TypeError(f"{rule}; compare with {fix}, or compare layout.labels or str(layout)")
        return self is other if isinstance(other, Placement) else NotImplemented

    __hash__ = object.__hash__

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a Layout is immutable: cannot set {name}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a Layout is immutable: cannot delete {name}")

    # --- properties ------------------------------------------------------------------------------

    @property
    def ndim(self) -> int:
        """Number of dimensions.

        >>> from tensorlayout import Layout
        >>> Layout.row_major((2, 3)).ndim
        2
        """
        return len(self.shape)

    @cached_property
    def size(self) -> int:
        """Number of elements, without padding.

        >>> from tensorlayout import Layout
        >>> Layout.padded((2, 3), (2, 5)).size
        6
        """
        return math.prod(self.shape)

    @cached_property
    def is_tiled(self) -> bool:
        """True if some dimension is split into several parts.

        >>> from tensorlayout import Layout
        >>> Layout.tiled((3, 5), [(2, 2)]).is_tiled
        True
        """
        return any(len(parts) > 1 for parts in self.parts)

    @cached_property
    def is_strided(self) -> bool:
        """True if the layout is neither tiled nor packed below a byte.

        >>> from tensorlayout import Layout
        >>> Layout((2, 3), (5, 1)).is_strided, Layout.row_major((2,)).with_slot_bits(4).is_strided
        (True, False)
        """
        return self.slot_bits is None and not self.is_tiled

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """Strides in elements.

        Raises ValueError for a tiled layout, which has parts instead.

        >>> from tensorlayout import Layout
        >>> Layout.row_major((2, 3)).strides
        (3, 1)
        """
        if self.is_tiled:
            raise_argument_error(
                "strides", f"a tiled layout has none, see parts; layout {truncate(self)}"
            )
        return tuple([parts[0][1] for parts in self.parts])

    @property
    def lowest(self) -> int:
        """Lowest slot of an element; the offset if there are no elements.

        >>> from tensorlayout import Layout
        >>> Layout((3,), (-2,), offset=9).lowest
        5
        """
        return self._span[0]

    @property
    def required_size(self) -> int:
        """Least number of slots of a storage that holds the layout, including padding.

        >>> from tensorlayout import Layout
        >>> Layout((2, 3), (5, 1)).required_size, Layout.padded((2, 3), (2, 5)).required_size
        (8, 10)
        """
        if self.is_padded:
            return self.lowest + math.prod(self.padded_shape)
        return 0 if 0 in self.shape else self._span[1] + 1

    def nbytes(self, itemsize: int | HasItemsize) -> int:
        """Return the **bytes** of `required_size` slots, rounded up to whole bytes.

        `itemsize`: the bytes of one element, or a dtype; ignored if the layout has `slot_bits`.

        Raises ValueError for less than one byte, TypeError for other objects.

        >>> from tensorlayout import Layout
        >>> Layout((2, 3), (5, 1)).nbytes(4)
        32
        """
        return self._slots_to_bytes(self.required_size, checks.check_itemsize(itemsize))

    def _slots_to_bytes(self, count: int, itemsize: int) -> int:
        """Return the **bytes** of `count` consecutive slots that begin with a whole byte."""
        return count * itemsize if self.slot_bits is None else -(-count * self.slot_bits // 8)

    @property
    def spare_bits(self) -> int:
        """Unused **bits** of the last byte of `required_size` slots; 0 for slots of whole bytes.

        >>> from tensorlayout import Layout
        >>> Layout.row_major((3, 5)).with_slot_bits(4).spare_bits
        4
        """
        return 0 if self.slot_bits is None else -self.required_size * self.slot_bits % 8

    @property
    def padding_size(self) -> int:
        """Number of slots of padding that this layout owns; 0 for a view with gaps.

        >>> from tensorlayout import Layout
        >>> Layout.padded((2, 3), (2, 5)).padding_size, Layout((2, 3), (5, 1)).padding_size
        (4, 0)
        """
        return math.prod(self.padded_shape) - self.size

    @cached_property
    def covers_block(self) -> bool:
        """True if the elements and their padding fill a block of slots one to one.

        False if a tiled dimension ends inside a tile without owning its padding.

        >>> from tensorlayout import Layout
        >>> Layout.padded((2, 3), (2, 5)).covers_block, Layout((2, 3), (5, 1)).covers_block
        (True, False)
        """
        return slots.covers_block(self.parts, self.padded_shape)

    @cached_property
    def is_padded(self) -> bool:
        """True if the layout owns slots of padding.

        >>> from tensorlayout import Layout
        >>> Layout.padded((2, 3), (2, 5)).is_padded, Layout((2, 3), (5, 1)).is_padded
        (True, False)
        """
        return self.padded_shape != self.shape and 0 not in self.padded_shape

    @cached_property
    def is_packed(self) -> bool:
        """True if the elements fill `size` slots one to one, with one stride per dimension.

        >>> from tensorlayout import Layout
        >>> Layout.packed((2, 3), (0, 1)).is_packed, Layout((2, 3), (5, 1)).is_packed
        (True, False)
        """
        return self.covers_block and not self.is_padded and not self.is_tiled

    @cached_property
    def is_row_major(self) -> bool:
        """True if the layout is packed and row-major, with any offset.

        >>> from tensorlayout import Layout
        >>> Layout((2, 3), (3, 1), offset=7).is_row_major
        True
        """
        return self._is_packed_as(orders.row_major_order(self.ndim))

    @cached_property
    def is_column_major(self) -> bool:
        """True if the layout is packed and column-major, with any offset.

        >>> from tensorlayout import Layout
        >>> Layout((2, 3), (1, 2), offset=7).is_column_major
        True
        """
        return self._is_packed_as(tuple(range(self.ndim)))

    @property
    def labels(self) -> str | None:
        """Order in memory as labels such as ``"NHWC"``, slowest first, with any offset.

        The letters are those of images: W, HW, CHW, NCHW, NCDHW. None for other ranks, and for
        layouts that are not packed.

        >>> from tensorlayout import Layout
        >>> Layout.packed((2, 3, 4, 5), (1, 3, 2, 0)).labels, Layout((2, 3), (5, 1)).labels
        ('NHWC', None)
        """
        order, labels_by_rank = self.minor_to_major, orders.OWN_LABELS
        if not 0 < self.ndim < len(labels_by_rank) or not self._is_packed_as(order):
            return None
        return "".join(labels_by_rank[self.ndim][d] for d in reversed(order))

    def _is_packed_as(self, order: tuple[int, ...]) -> bool:
        packed = slots.strides_to_parts(self.shape, slots.packed_strides(self.shape, order))
        return self.is_packed and self._has_same_relative_slots(packed)

    def _has_same_relative_slots(self, dims: Sequence[slots.Parts]) -> bool:
        """Return whether every index has the same distance from index 0 as in `dims`."""
        return (
            self.parts == dims
            or self.size == 0
            or all(
                # Padding may keep parts apart that are one part for the elements, so both are cut
                # down to the size.
                n == 1 or slots.normalize_parts(p, n, n) == slots.normalize_parts(q, n, n)
                for n, p, q in zip(self.shape, self.parts, dims, strict=True)
            )
        )

    @property
    def is_broadcast(self) -> bool:
        """True if a dimension of size above 1 has stride 0.

        >>> from tensorlayout import Layout
        >>> Layout((2, 3), (0, 1)).is_broadcast
        True
        """
        return self.size > 0 and any(e > 1 and s == 0 for parts in self.parts for e, s in parts)

    @cached_property
    def is_overlapping(self) -> bool:
        """True if two indices share a slot, as in broadcast layouts and sliding windows.

        It is also True if the decision takes too long, for strides that no sequence of views makes.

        >>> from tensorlayout import Layout
        >>> Layout((3, 2), (1, 1)).is_overlapping
        True
        """
        return (
            self.size > 1
            and not self.covers_block
            and slots.has_overlapping_indices(self.parts, self.shape)
        )

    def same_placement(self, other: Placement) -> bool:
        """Return whether every index has the same slot in both; strides of size 1 are ignored.

        `other`: a layout; False if its shape differs.

        Raises TypeError for other objects.

        >>> from tensorlayout import Layout
        >>> Layout((1, 3), (7, 1)).same_placement(Layout((1, 3), (3, 1)))
        True
        """
        if self is other:
            return True
        if not isinstance(other, Placement):
            raise_argument_error(
                "same_placement",
                f"must be called with a layout, got {short_repr(other)}",
                TypeError,
            )
        same_start = self.size == 0 or self.offset == other.offset
        alike = self.shape == other.shape and self.slot_bits == other.slot_bits
        return alike and same_start and self._has_same_relative_slots(other.parts)

    # --- positions -------------------------------------------------------------------------------

    def offset_of(self, index: Sequence[int]) -> int:
        """Return the slot of the element at `index`, counted in elements.

        `index`: one non-negative entry per dimension.

        Raises IndexError for an index outside the shape, TypeError for non-integers.

        >>> from tensorlayout import Layout
        >>> Layout((2, 3), (5, 1)).offset_of((1, 2))
        7
        """
        position = checks.check_integers("index", index)
        if len(position) != self.ndim or not all(
            0 <= i < n for i, n in zip(position, self.shape, strict=True)
        ):
            raise_argument_error(
                "index",
                f"must lie inside the shape {self.shape}, got {short_repr(position)}",
                IndexError,
            )
        return self.offset + sum(map(slots.slot_of_index, self.parts, position))

    def index_of(self, slot: int) -> tuple[int, ...] | None:
        """Return the index of the element in `slot`, or None for padding and gaps.

        Raises IndexError for a slot outside the required size; ValueError if several indices share
        the slot, or if the search takes too long (strides that no sequence of views makes);
        TypeError for a non-integer.

        >>> from tensorlayout import Layout
        >>> Layout((2, 3), (5, 1)).index_of(6), Layout((2, 3), (5, 1)).index_of(4)
        ((1, 1), None)
        """
        slot = checks.check_integer("slot", slot)
        if not 0 <= slot < self.required_size:
            rule = f"must be at least 0 and below the required size {self.required_size}"
            raise_argument_error("slot", f"{rule}, got {short_repr(slot)}", IndexError)
        matches = [*islice(self._indices_in_slot(slot), 2 if self.size else 0)]
        if len(matches) > 1:
            first, second = map(short_repr, matches)
            raise_argument_error(
                "slot", f"{slot} is shared by the indices {first} and {second} of {truncate(self)}"
            )
        return matches[0] if matches else None

    def _indices_in_slot(self, slot: int) -> Iterator[tuple[int, ...]]:
        """Yield the indices whose element is in `slot`. Raises ValueError after a long search."""
        flat = [part for parts in self.parts for part in parts]
        # A negative stride counts its digit from the other end, so that all strides are positive.
        relative_slot = slot - self.offset - sum(min(0, (e - 1) * s) for e, s in flat)
        try:
            for digits in slots.find_digits_for_slot([(e, abs(s)) for e, s in flat], relative_slot):
                digit_iterator, index = iter(digits), []
                for parts in self.parts:
                    number = 0
                    for extent, stride in parts:
                        digit = next(digit_iterator)
                        number = number * extent + (extent - 1 - digit if stride < 0 else digit)
                    index.append(number)
                # Digits also reach the tail of the last tile, where there is no element.
                if all(i < n for i, n in zip(index, self.shape, strict=True)):
                    yield tuple(index)
        except slots.SearchLimitError:
            msg = f"slot: cannot tell which indices of {truncate(self)} share slot {slot}"
            raise ValueError(msg) from None

    def _all_indices(self) -> Iterator[tuple[int, ...]]:
        """Yield all indices in row-major order."""
        # `product` lists each range before it begins. Beside a size of 0, another one may have more
        # numbers than memory can hold.
        return product(*map(range, self.shape if self.size else (0,)))

    def elements(self) -> Iterator[tuple[int, ...]]:
        """Yield the indices of all elements, sorted by slot; in a shared slot, in index order.

        Raises ValueError for more than 2**22 elements.

        >>> from tensorlayout import Layout
        >>> list(Layout.column_major((2, 2)).elements())
        [(0, 0), (1, 0), (0, 1), (1, 1)]
        """
        if self.size > MOST_LISTED:
            raise_argument_error("elements", f"at most {MOST_LISTED} are listed, got {self.size}")
        for _, index in sorted((self.offset_of(i), i) for i in self._all_indices()):
            yield index

    # --- text ------------------------------------------------------------------------------------

    def table(self, values: Sequence[object] | None = None) -> str:
        """Return the memory as text, slot by slot: a line of offsets and a line of values.

        `values`: texts of the elements in row-major index order; letters from A by default.

        Padding is shown as ``0`` or ``1`` if it has that value, and otherwise as ``x``, like gaps.
        A slot that several elements share shows the first.

        Raises ValueError for more than 2**16 slots or elements, or another number of values;
        TypeError for values that are no sequence.

        >>> from tensorlayout.layout import Layout
        >>> print(Layout((2, 3), (5, 1)).table())
        Offset: 0 1 2 3 4 5 6 7
        Value:  A B C x x D E F
        """
        drawn = max(self.required_size, self.size)
        if drawn > MOST_DRAWN:
            raise_argument_error(
                "table", f"at most {MOST_DRAWN} slots or elements are drawn, got {drawn}"
            )
        if values is not None:
            checks.check_length("values", values, self.size)
        slot_texts = ["x"] * self.required_size
        fillers = {PaddingValue.ZERO: "0", PaddingValue.ONE: "1"}
        if self.is_padded and self.padding_value in fillers:
            slot_texts[self.lowest :] = [fillers[self.padding_value]] * (
                len(slot_texts) - self.lowest
            )
        element_texts = (
            map(checks.spreadsheet_label, range(self.size)) if values is None else map(str, values)
        )
        # Backwards, so that the first of several elements in a slot is the one that stays.
        for name, index in reversed([*zip(element_texts, self._all_indices(), strict=True)]):
            slot_texts[self.offset_of(index)] = name
        widths = [max(len(str(slot)), len(name)) for slot, name in enumerate(slot_texts)]
        lines = {"Offset: ": map(str, range(len(slot_texts))), "Value:  ": slot_texts}
        return "\n".join(
            (head + " ".join(f"{word:>{w}}" for word, w in zip(line, widths, strict=True))).rstrip()
            for head, line in lines.items()
        )

    def __str__(self) -> str:
        """Return the text form (see `text`), without fields that others imply."""
        strides = [
            str(parts[0][1]) if len(parts) == 1 else "+".join(f"{e}*{s}" for e, s in parts)
            for parts in self.parts
        ]
        text = f"{_format_tuple(self.shape)}:{_format_tuple(strides)}"
        if self.offset:
            text += f"+{self.offset}"
        outer = [parts[0][1] for parts in self.parts]
        if self.minor_to_major != orders.order_of_strides(self.padded_shape, outer):
            text += f" order={_format_tuple(self.minor_to_major)}"
        if self.padded_shape != checks.infer_padded_shape(self.shape, self.parts):
            text += f" padded={_format_tuple(self.padded_shape)}"
        padding = self.padding_value
        if isinstance(padding, BitPattern):
            text += f" padding={padding.bits:#x}:{padding.dtype}"
        elif padding is not PaddingValue.UNSPECIFIED:
            text += f" padding={padding.name}"
        return text if self.slot_bits is None else f"{text} bits={self.slot_bits}"

    def __repr__(self) -> str:
        return f"Layout.parse({str(self)!r})"


_FIELDS = [name for name in Placement.__annotations__ if name != "_span"]  # as _intern takes them

# Properties of every packed layout at slot 0, set in advance because most layouts are packed.
_OF_PACKED = {
    "_form_or_none_if_self": None,
    "covers_block": True,
    "is_overlapping": False,
    "is_packed": True,
    "is_padded": False,
}


def _format_tuple(items: Sequence[object]) -> str:
    return f"({','.join(map(str, items))}{',' * (len(items) == 1)})"
