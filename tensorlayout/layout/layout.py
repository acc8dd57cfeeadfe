"""`Layout`: where each element of a tensor stands in its storage."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NoReturn, Self, final

from tensorlayout.layout import checks, slots, text, tiling
from tensorlayout.layout import order as orders
from tensorlayout.layout.once import Interned, cached_property
from tensorlayout.layout.padding import Padding, PaddingValue
from tensorlayout.layout.placement import HasItemsize, Placement
from tensorlayout.layout.slots import Parts
from tensorlayout.words import cut, shown

_interned: Interned[Layout] = Interned()


@final
class Layout(Placement):
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
        """The one layout of these fields."""
        sizes = checks.checked_sizes("shape", shape)
        padded = None if padded_shape is None else checks.checked_padded(sizes, padded_shape)
        start = checks.checked_integer("offset", offset)
        value = checks.checked_padding(padding_value)
        if strides is not None and parts is not None:
            msg = "strides and parts: give one of them, got both"
            raise ValueError(msg)
        if strides is not None:
            dims = checks.checked_strides(sizes, strides)
        elif parts is not None:
            dims = checks.checked_parts(sizes, parts)
        else:
            rank = len(sizes)
            order = orders.descending(rank)
            if minor_to_major is not None:
                order = orders.checked_order(minor_to_major, rank)
            return cls._packed(sizes, padded or sizes, order, start, value)
        if padded is None:
            padded = checks.implied_padded(sizes, dims)
        elif padded != sizes and not slots.covers_block(dims, padded):
            msg = (
                f"padded_shape: {shown(padded)} does not make the strides of shape {shown(sizes)}"
                " cover a whole block; use Layout.padded, or leave it out for a view with gaps"
            )
            raise ValueError(msg)
        dims = tuple(map(slots.canonical, dims, sizes, padded))
        order = _order_for(dims, padded, minor_to_major)
        return cls._intern(sizes, dims, start, order, padded, value)

    @classmethod
    def _packed(
        cls,
        shape: tuple[int, ...],
        padded: tuple[int, ...],
        order: orders.Order,
        offset: int,
        padding_value: Padding,
    ) -> Self:
        """Of fields that have been checked. A block without padding at slot 0 is its own form."""
        strides = slots.packed_strides(padded, order)
        dims = tuple([((n, s),) for n, s in zip(shape, strides, strict=True)])
        made = cls._intern(shape, dims, offset, order, padded, padding_value)
        if padded == shape and offset == 0:
            made.__dict__.update(is_tiled=False, _other_form=None)
        return made

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
        key = (shape, parts, offset, order, padded_shape, padding_value)
        layout = _interned.get(key)
        if layout is None:
            made = object.__new__(cls)
            made.__dict__.update(
                shape=shape,
                parts=parts,
                offset=offset,
                minor_to_major=order,
                padded_shape=padded_shape,
                padding_value=padding_value,
                _span=slots.full_span(shape, parts, offset),
            )
            made._check_size()
            layout = _interned.entered(key, made)
        return layout

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
        sizes = checks.checked_sizes("shape", shape)
        return cls(sizes, minor_to_major=range(len(sizes)))

    @classmethod
    def labelled(cls, shape: Sequence[int], labels: str) -> Self:
        """The packed layout whose memory order is spelt by labels, slowest dimension first.

        `shape` is in the logical order of the letters: ``HW``, ``DHW``, ``CHW``, ``NCHW`` or
        ``NCDHW``. So ``"NHWC"`` takes a shape (N, C, H, W) and puts the channels fastest.

        >>> Layout.labelled((1, 1, 3, 5), "NHWC").strides
        (15, 1, 5, 1)
        """
        sizes = checks.checked_sizes("shape", shape)
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
        pitch = checks.checked_integer("pitch", pitch)
        if pitch <= 0 or pitch % step:
            rule = f"must be a positive multiple of the element's {shown(step)} bytes"
            msg = f"pitch: {rule}, got {shown(pitch)}"
            raise ValueError(msg)
        rank = len(sizes)
        order = orders.descending(rank) if minor_to_major is None else minor_to_major
        order = orders.checked_order(order, rank)
        padded = list(sizes)
        if order:
            per_row = pitch // step
            padded[order[0]] = -(-sizes[order[0]] // per_row) * per_row
        return cls.padded(sizes, padded, order, padding_value)

    @classmethod
    def tiled(
        cls,
        shape: Sequence[int],
        tiles: Sequence[Sequence[int]],
        minor_to_major: Sequence[int] | None = None,
        padding_value: Padding = PaddingValue.UNSPECIFIED,
    ) -> Self:
        """The layout of `shape` in tiles, each a list of sizes, the slowest dimension first.

        The rule is XLA's. Memory is taken in the order `minor_to_major` (row-major by default). A
        tile cuts the fastest of its dimensions, as many as it has sizes, into a count of tiles and
        an index inside of one; counts stand before what is inside. The next tile does the same to
        what the one before made. Sizes are rounded up to whole tiles: that is padding, and holds
        `padding_value`.

        ValueError for sizes below 1, and for tiles that no parts of dimensions describe: such that
        cut again what an earlier tile has cut unevenly, as (2, 2) may do after (3,).

        >>> Layout.tiled((3, 5), [(2, 2)])
        Layout.parse('(3,5):(2*12+2*2,3*4+2*1)')
        >>> Layout.tiled((3, 5), [(2, 2)], padding_value=PaddingValue.ZERO).padded_shape
        (4, 6)
        """
        sizes = checks.checked_sizes("shape", shape)
        order = orders.descending(len(sizes)) if minor_to_major is None else minor_to_major
        order = orders.checked_order(order, len(sizes))
        cuts = tiling.checked_tiles(tiles)
        if 0 in sizes or not cuts:
            return cls.packed(sizes, order)
        try:
            whole, owned = tiling.parts_of(sizes, order, cuts)
        except tiling.UnevenError:
            msg = f"tiles: {shown(cuts)} cannot be said as parts of the dimensions of {sizes}"
            raise ValueError(msg) from None
        return cls._of_whole(sizes, whole, order, padding_value, owned=owned)

    @classmethod
    def _of_whole(
        cls,
        shape: tuple[int, ...],
        dims: Sequence[Parts],
        order: orders.Order,
        padding_value: Padding,
        *,
        owned: bool,
    ) -> Self:
        """The layout of parts whose extents still include the padding, which it may own."""
        padded = tuple(math.prod(e for e, _ in parts) for parts in dims)
        cut = [
            slots.canonical(((-(-n // slots.inner_extent(parts)), parts[0][1]), *parts[1:]), n, p)
            for n, p, parts in zip(shape, padded, dims, strict=True)
        ]
        if all(len(parts) == 1 for parts in cut):
            order = orders.order_of_strides(padded, [parts[0][1] for parts in cut], order)
            if owned:  # dimensions of size 1 get the strides that they have in a block
                return cls.padded(shape, padded, order, padding_value)
        found = cls(
            shape,
            parts=cut,
            minor_to_major=order,
            padded_shape=padded if owned else None,
            padding_value=padding_value,
        )
        return found.form if found.covers_block else found

    @classmethod
    def parse(cls, source: str) -> Self:
        """The layout that `str` or `repr` wrote; blanks between words do not matter.

        Also sizes with an order and tiles as XLA writes them: ``[3,5]{1,0:T(2,2)}``.

        ValueError, with the grammar, for any other text.

        >>> Layout.parse("(2,3):(5,1) padded=(2,5) padding=ZERO").padding_size
        4
        """
        sized = text.sized_tiles(source)
        if sized is not None:
            return cls.tiled(*sized)
        fields = text.parse_text(source)
        return cls(
            fields.shape,
            parts=fields.parts,
            offset=fields.offset,
            minor_to_major=fields.minor_to_major,
            padded_shape=fields.padded_shape,
            padding_value=fields.padding_value,
        )

    # --- kin: other layouts that follow from this one -------------------------------------------
    # A layout that is its own form or origin caches None: a reference to itself would keep it from
    # going as soon as nobody holds it.

    @property
    def form(self) -> Layout:
        """The layout a new tensor of this kind gets: offset 0, positive strides, no gaps.

        The whole packed, padded or tiled block where this layout covers one; else the packed
        layout of the same order.
        """
        return self._other_form or self

    @cached_property
    def _other_form(self) -> Layout | None:
        if not self.covers_block:
            return Layout.packed(self.shape, self.minor_to_major)
        if self.is_tiled:
            # A block without slots may have strides of 0, which no form has.
            steps = [[(e, abs(s) or 1) for e, s in dim] for dim in self.parts]
            whole = zip(steps, self.padded_shape, strict=True)
            parts = tuple(tuple(dim) if p != 1 else ((1, 1),) for dim, p in whole)
            form = self._replace(parts=parts, offset=0)
        else:
            form = self._packed(
                self.shape, self.padded_shape, self.minor_to_major, 0, self.padding_value
            )
        return None if form is self else form

    @property
    def at_origin(self) -> Layout:
        """The same layout moved so that its lowest slot is 0."""
        return self if self.lowest == 0 else self._moved_to_origin

    @cached_property
    def _moved_to_origin(self) -> Layout:
        return self.moved(-self.lowest)

    def moved(self, slots_up: int) -> Layout:
        """The same layout, `slots_up` slots further into the storage."""
        return self._replace(offset=self.offset + checks.checked_integer("slots_up", slots_up))

    def with_padding_value(self, value: Padding) -> Layout:
        """The same layout with other content of its padding."""
        return self._replace(padding_value=checks.checked_padding(value))

    def _replace(self, **changes: Any) -> Layout:
        names = ("shape", "parts", "offset", "minor_to_major", "padded_shape", "padding_value")
        return Layout._intern(*(changes.get(name, getattr(self, name)) for name in names))

    # --- views: new layouts over the same slots, or None where no view exists --------------------

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
        if len(sizes) > checks.MAX_RANK:
            checks.too_many_dimensions("shape", len(sizes))
        padded = sizes if padded_shape is None else tuple(padded_shape)
        if padded != sizes and not slots.covers_block(dims, padded):
            padded = sizes
        # No element stands anywhere in an empty view, so that its offset need not move.
        start = self.offset if offset is None or 0 in sizes else offset
        kept = tuple(order)
        if self.is_tiled:
            dims = tuple(map(slots.canonical, dims, sizes, padded))
        if all(len(p) == 1 for p in dims):
            kept = orders.order_of_strides(padded, [p[0][1] for p in dims], kept)
        return Layout._intern(sizes, dims, start, kept, padded, self.padding_value)

    def permute(self, dims: Sequence[int]) -> Layout:
        """Dimension ``i`` of the result is dimension ``dims[i]``: NumPy's transpose."""
        axes = orders.checked_order(dims, self.ndim, "dims")
        return self._view(
            [self.shape[d] for d in axes],
            [self.parts[d] for d in axes],
            orders.permuted_order(self.minor_to_major, axes),
            padded_shape=[self.padded_shape[d] for d in axes],
        )

    def flip(self, dims: Sequence[int]) -> Layout | None:
        """The given dimensions run backwards. None where a tiled one does not end on a tile.

        A tiled dimension that ends inside its only tile has a view, which owns no padding.
        """
        turned = checks.checked_dims("dims", dims, self.ndim)
        steps = [slice(None, None, -1 if d in turned else 1) for d in range(self.ndim)]
        return self.slice(tuple(steps))

    def slice(self, key: Any) -> Layout | None:
        """Basic indexing: integers, slices with any step, None and Ellipsis.

        None where a tiled dimension is cut in a way that no parts describe. IndexError for an
        integer outside its dimension or too many indices, TypeError for any other entry.

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
            unchanged = count == size and (step == 1 or size <= 1)
            cut = dims if unchanged else slots.sliced(dims, start, count, step)
            if cut is None:
                return None
            offset += slots.slot_of(dims, start) if count else 0
            whole = whole and count == size
            shape.append(count)
            parts.append(cut)
            padded.append(pad)
        return self._view(shape, parts, order, offset, padded if whole else None)

    def expand_dims(self, dim: int) -> Layout:
        """A new dimension of size 1 at `dim`, counted in the result."""
        checks.checked_dims("dim", [dim], self.ndim + 1)
        return self._sliced_whole([*[slice(None)] * dim, None])

    def squeeze(self, dims: Sequence[int]) -> Layout:
        """The given dimensions, of size 1, gone. ValueError where one has another size."""
        dropped = checks.checked_dims("dims", dims, self.ndim)
        for d in dropped:
            if self.shape[d] != 1:
                msg = f"dims: dimension {d} of shape {self.shape} has size {self.shape[d]}, not 1"
                raise ValueError(msg)
        return self._sliced_whole([0 if d in dropped else slice(None) for d in range(self.ndim)])

    def _sliced_whole(self, key: list[Any]) -> Layout:
        layout = self.slice(tuple(key))
        assert layout is not None  # whole slices and dimensions of size 1 always have a view
        return layout

    def broadcast_to(self, shape: Sequence[int]) -> Layout:
        """The elements repeated along dimensions of size 1 and new leading ones, by stride 0.

        ValueError where the sizes do not fit. The padding, if any, belongs to the result only if
        nothing is repeated.
        """
        sizes = checks.checked_sizes("shape", shape)
        new = len(sizes) - self.ndim
        if new < 0 or any(n not in (1, m) for n, m in zip(self.shape, sizes[new:], strict=True)):
            msg = f"shape: {self.shape} cannot be broadcast to {shown(sizes)}"
            raise ValueError(msg)
        if sizes == self.shape:
            return self
        kept = [
            p if n == m else ((m, 0),)
            for n, m, p in zip(self.shape, sizes[new:], self.parts, strict=True)
        ]
        order = [d + new for d in self.minor_to_major] + list(range(new - 1, -1, -1))
        padded = [
            *sizes[:new],
            *(
                p if n == m else m
                for n, m, p in zip(self.shape, sizes[new:], self.padded_shape, strict=True)
            ),
        ]
        return self._view(
            sizes, [((n, 0),) for n in sizes[:new]] + kept, order, padded_shape=padded
        )

    def reshape(self, shape: Sequence[int]) -> Layout | None:
        """The same elements in row-major index order under another shape; None where none exists.

        >>> Layout.row_major((2, 6)).reshape((3, 4))
        Layout.parse('(3,4):(4,1)')
        >>> Layout.column_major((2, 6)).reshape((3, 4)) is None
        True
        """
        sizes = checks.checked_sizes("shape", shape)
        if math.prod(sizes) != self.size:
            came = f"{shown(sizes)} has {shown(math.prod(sizes))} elements"
            msg = f"shape: {came}, the layout has {self.size}"
            raise ValueError(msg)
        if sizes == self.shape:
            return self
        if self.size == 0:
            return self._view(*_empty(sizes))
        return self._reshaped_tiled(sizes) if self.is_tiled else self._reshaped(sizes)

    def _reshaped(self, sizes: tuple[int, ...]) -> Layout | None:
        strides = slots.reshaped([p[0] for p in self.parts], sizes)
        if strides is None:
            return None
        parts = [((n, s),) for n, s in zip(sizes, strides, strict=True)]
        padded = slots.repadded(self.shape, self.padded_shape, sizes)
        return self._view(sizes, parts, orders.descending(len(sizes)), padded_shape=padded)

    def _reshaped_tiled(self, sizes: tuple[int, ...]) -> Layout | None:
        """Dimensions of size 1 come and go; others change only where no tile has a tail."""
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

        None also where that makes more than 64 dimensions. The row-major index order is the same,
        so this is a reshape without a copy.
        """
        flat = [part for parts in self.parts for part in parts]
        sizes = [extent for extent, _ in flat]
        if math.prod(sizes) != self.size or len(flat) > checks.MAX_RANK:
            return None
        padded = list(sizes)
        at = 0
        for parts, whole in zip(self.parts, self.padded_shape, strict=True):
            padded[at] = whole // slots.inner_extent(parts)
            at += len(parts)
        dims = [(part,) for part in flat]
        return self._view(sizes, dims, orders.descending(len(flat)), padded_shape=padded)

    def sliding_window(self, window_shape: Sequence[int], dims: Sequence[int]) -> Layout:
        """All windows of `window_shape` over `dims`, as new last dimensions over the same slots.

        The result owns no padding. ValueError where a window is larger than its dimension or the
        dimension is tiled.

        >>> Layout.row_major((5,)).sliding_window((3,), (0,))
        Layout.parse('(3,3):(1,1)')
        """
        windows = checks.checked_integers("window_shape", window_shape)
        along = checks.checked_dims("dims", dims, self.ndim)
        if len(windows) != len(along):
            came = f"{shown(along)}, got {shown(windows)}"
            msg = f"window_shape: must have one size for each of the dims {came}"
            raise ValueError(msg)
        shape, steps = list(self.shape), [parts[0][1] for parts in self.parts]
        for width, d in zip(windows, along, strict=True):
            if len(self.parts[d]) != 1:
                msg = f"dims: dimension {d} is tiled, it has no sliding windows; layout {cut(self)}"
                raise ValueError(msg)
            if not 1 <= width <= shape[d]:
                rule = f"must be from 1 to {shape[d]} along dimension {d}"
                msg = f"window_shape: {rule}, got {shown(width)}"
                raise ValueError(msg)
            shape[d] -= width - 1
        order = list(self.minor_to_major)
        for number, d in enumerate(along):
            order.insert(order.index(d), self.ndim + number)
        parts = [
            p if len(p) > 1 else ((n, p[0][1]),) for n, p in zip(shape, self.parts, strict=True)
        ]
        inside = [((width, steps[d]),) for width, d in zip(windows, along, strict=True)]
        return self._view([*shape, *windows], [*parts, *inside], order)

    # --- a value: one object, never changed ------------------------------------------------------

    def component(self, which: int, count: int) -> Layout:
        """One of `count` equal parts of every slot, in slots of that size; it owns no padding.

        The real parts of complex numbers are component 0 of 2.

        >>> Layout.row_major((2, 3)).component(1, 2)
        Layout.parse('(2,3):(6,2)+1')
        """
        which = checks.checked_integer("component", which)
        count = checks.checked_integer("component", count)
        if not 0 <= which < count:
            msg = f"component: must be at least 0 and below {shown(count)}, got {shown(which)}"
            raise ValueError(msg)
        parts = [tuple((extent, count * stride) for extent, stride in p) for p in self.parts]
        return self._view(self.shape, parts, self.minor_to_major, count * self.offset + which)

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


def _order_for(
    dims: tuple[Parts, ...], padded: tuple[int, ...], minor_to_major: Sequence[int] | None
) -> orders.Order:
    """The order of dimensions, given or implied; ValueError where the strides contradict it."""
    outer = tuple(parts[0][1] for parts in dims)
    if minor_to_major is None:
        return orders.order_of_strides(padded, outer)
    order = orders.checked_order(minor_to_major, len(dims))
    if all(len(parts) == 1 for parts in dims):
        implied = orders.order_of_strides(padded, outer, order)
        if order != implied:
            came = f"{order} contradicts the strides {shown(outer)}"
            msg = f"minor_to_major: {came}, which say {implied}"
            raise ValueError(msg)
    return order


def _empty(shape: tuple[int, ...]) -> tuple[tuple[int, ...], list[Parts], orders.Order]:
    """Shape, parts and order of a row-major layout without elements."""
    order = orders.descending(len(shape))
    strides = slots.packed_strides(shape, order)
    return shape, [((n, s),) for n, s in zip(shape, strides, strict=True)], order
