"""`Views`: layouts that follow from a layout, most of them over the same slots."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NoReturn, Self

from tensorlayout.layout import checks, slots
from tensorlayout.layout import order as orders
from tensorlayout.layout.once import Interned, cached_property
from tensorlayout.layout.padding import Padding, PaddingValue
from tensorlayout.layout.placement import Placement
from tensorlayout.layout.slots import Parts
from tensorlayout.words import cut, shown

_interned: Interned[Any] = Interned()
_FIELDS = (
    "shape",
    "parts",
    "offset",
    "minor_to_major",
    "padded_shape",
    "padding_value",
    "slot_bits",
)


class Views(Placement):
    """An interned placement, and its kin: moved, permuted, sliced, reshaped, …."""

    # --- a value: one object, never changed ------------------------------------------------------

    @classmethod
    def _intern(
        cls,
        shape: tuple[int, ...],
        parts: tuple[Parts, ...],
        offset: int,
        order: orders.Order,
        padded_shape: tuple[int, ...],
        padding_value: Padding,
        slot_bits: int | None = None,
    ) -> Self:
        """The one layout of these fields, which are known to be sound but for their size."""
        if padded_shape == shape:
            padding_value = PaddingValue.UNSPECIFIED
        key = (shape, parts, offset, order, padded_shape, padding_value, slot_bits)
        layout: Self | None = _interned.get(key)
        if layout is None:
            made = object.__new__(cls)
            made.__dict__.update(zip(_FIELDS, key, strict=True))
            made.__dict__["_span"] = slots.full_span(shape, parts, offset)
            made._check_size()
            layout = _interned.entered(key, made)
        return layout

    @classmethod
    def _packed(
        cls,
        shape: tuple[int, ...],
        padded: tuple[int, ...],
        order: orders.Order,
        offset: int,
        padding_value: Padding,
        slot_bits: int | None = None,
    ) -> Self:
        """The layout of `shape` at the low ends of a block of `padded` sizes without gaps."""
        parts = slots.strided(shape, slots.packed_strides(padded, order))
        made = cls._intern(shape, parts, offset, order, padded, padding_value, slot_bits)
        if padded == shape and offset == 0:  # its own form
            made.__dict__.update(is_tiled=False, _other_form=None)
        return made

    def _replace(self, **changes: Any) -> Self:
        return self._intern(*(changes.get(name, getattr(self, name)) for name in _FIELDS))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            # Equal values must have equal hashes, but "NHWC" and "nhwc" have two.
            labelled = f"Layout.labelled({shown(self.shape)}, text)"
            msg = (
                f"a Layout and text cannot be compared, got {shown(other)}; compare with"
                f" {'Layout.parse(text)' if ':' in other or '{' in other else labelled},"
                " or compare layout.labels or str(layout)"
            )
            raise TypeError(msg)
        return self is other if isinstance(other, Views) else NotImplemented

    __hash__ = object.__hash__

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

    # --- kin: other layouts that follow from this one -------------------------------------------
    # A layout that is its own form or origin caches None: a reference to itself would keep it from
    # going as soon as nobody holds it.

    @property
    def form(self) -> Self:
        """The layout a new tensor of this kind gets: offset 0, positive strides, no gaps.

        The whole packed, padded or tiled block where this layout covers one; else the packed
        layout of the same order.

        >>> from tensorlayout import Layout
        >>> Layout((2, 3), (5, -1), offset=7).form
        Layout.parse('(2,3):(3,1)')
        """
        return self._other_form or self

    @cached_property
    def _other_form(self) -> Self | None:
        if self.covers_block and self.is_tiled:
            # A block without slots may have strides of 0, which no form has.
            steps = [[(e, abs(s) or 1) for e, s in dim] for dim in self.parts]
            whole = zip(steps, self.padded_shape, strict=True)
            parts = tuple(tuple(dim) if p != 1 else ((1, 1),) for dim, p in whole)
            form = self._replace(parts=parts, offset=0)
        else:
            padded = self.padded_shape if self.covers_block else self.shape
            order, value = self.minor_to_major, self.padding_value
            form = self._packed(self.shape, padded, order, 0, value, self.slot_bits)
        return None if form is self else form

    @property
    def at_origin(self) -> Self:
        """The layout moved so that its lowest slot is 0.

        >>> from tensorlayout import Layout
        >>> Layout((3,), (-1,), offset=9).at_origin
        Layout.parse('(3,):(-1,)+2')
        """
        return self if self.lowest == 0 else self._moved_to_origin

    @cached_property
    def _moved_to_origin(self) -> Self:
        return self.moved(-self.lowest)

    def moved(self, slots_up: int) -> Self:
        """The layout moved `slots_up` slots (elements) further into the storage.

        ValueError for slots below 0 or beyond 2**63 - 1.

        >>> from tensorlayout import Layout
        >>> Layout.row_major((2, 3)).moved(10)
        Layout.parse('(2,3):(3,1)+10')
        """
        return self._replace(offset=self.offset + checks.checked_integer("slots_up", slots_up))

    def with_padding_value(self, value: Padding | str) -> Self:
        """The layout with `value` as the content of its padding.

        `value`: a `PaddingValue` or its name, or a `BitPattern`. ValueError for another
        name, TypeError for anything else.

        >>> from tensorlayout import Layout, PaddingValue
        >>> Layout.padded((2,), (3,)).with_padding_value(PaddingValue.ONE).padding_value
        PaddingValue.ONE
        """
        return self._replace(padding_value=checks.checked_padding(value))

    def with_slot_bits(self, bits: int | None) -> Self:
        """The layout with slots of so many **bits**, packed into bytes low bits first.

        `bits`: 1, 2, 4 or 6, as XLA's ``E(4)``; None for slots of whole bytes. The elements stay in
        their slots. ValueError for another number, TypeError for no integer.

        >>> from tensorlayout import Layout
        >>> Layout.row_major((3, 5)).with_slot_bits(4)
        Layout.parse('(3,5):(5,1) bits=4')
        >>> Layout.row_major((3, 5)).with_slot_bits(4).nbytes(1)
        8
        """
        return self._replace(slot_bits=checks.checked_slot_bits(bits))

    def component(self, which: int, count: int) -> Self:
        """One of `count` equal parts of every slot, in slots of that size; it owns no padding.

        `which`: from 0 on. The real parts of complex numbers are component 0 of 2. ValueError for a
        part that is not below `count`, slots beyond 2**63 - 1, and slots below a byte.

        >>> from tensorlayout import Layout
        >>> Layout.row_major((2, 3)).component(1, 2)
        Layout.parse('(2,3):(6,2)+1')
        """
        which = checks.checked_integer("component", which)
        count = checks.checked_integer("component", count)
        if not 0 <= which < count:
            msg = f"component: must be at least 0 and below {shown(count)}, got {shown(which)}"
            raise ValueError(msg)
        if self.slot_bits is not None:
            msg = f"component: slots of {self.slot_bits} bits have no parts; layout {cut(self)}"
            raise ValueError(msg)
        parts = [tuple((extent, count * stride) for extent, stride in p) for p in self.parts]
        return self._view(self.shape, parts, self.minor_to_major, count * self.offset + which)

    # --- views: new layouts over the same slots, or None where no view exists --------------------

    def _view(
        self,
        shape: Sequence[int],
        parts: Sequence[Parts],
        order: Sequence[int],
        offset: int | None = None,
        padded_shape: Sequence[int] | None = None,
    ) -> Self:
        """A view of this layout; its padding is owned only if it still covers the block."""
        sizes, dims, kept = tuple(shape), tuple(parts), tuple(order)
        if len(sizes) > checks.MAX_RANK:
            checks.too_many_dimensions("shape", len(sizes))
        padded = sizes if padded_shape is None else tuple(padded_shape)
        if padded != sizes and not slots.covers_block(dims, padded):
            padded = sizes
        # No element stands anywhere in an empty view, so that its offset need not move.
        start = self.offset if offset is None or 0 in sizes else offset
        if self.is_tiled:
            dims = tuple(map(slots.canonical, dims, sizes, padded))
        if all(len(p) == 1 for p in dims):
            kept = orders.order_of_strides(padded, [p[0][1] for p in dims], kept)
        return self._intern(sizes, dims, start, kept, padded, self.padding_value, self.slot_bits)

    def permute(self, dims: Sequence[int]) -> Self:
        """Dimension ``i`` of the result is dimension ``dims[i]``: NumPy's transpose.

        ValueError where `dims` is no permutation.

        >>> from tensorlayout import Layout
        >>> Layout.row_major((2, 3, 4)).permute((2, 0, 1))
        Layout.parse('(4,2,3):(1,12,4)')
        """
        axes = orders.checked_order(dims, self.ndim, "dims")
        return self._view(
            [self.shape[d] for d in axes],
            [self.parts[d] for d in axes],
            orders.permuted_order(self.minor_to_major, axes),
            padded_shape=[self.padded_shape[d] for d in axes],
        )

    def flip(self, dims: Sequence[int]) -> Self | None:
        """The given dimensions run backwards. None where a tiled one does not end on a tile.

        `dims`: dimensions from 0 on. A tiled dimension that ends inside its only tile has a view,
        which owns no padding. ValueError for a dimension outside.

        >>> from tensorlayout import Layout
        >>> Layout.row_major((2, 3)).flip((1,))
        Layout.parse('(2,3):(3,-1)+2')
        """
        turned = checks.checked_dims("dims", dims, self.ndim)
        steps = [slice(None, None, -1 if d in turned else 1) for d in range(self.ndim)]
        return self.slice(tuple(steps))

    def slice(self, key: Any) -> Self | None:
        """Basic indexing: integers, slices with any step, None and Ellipsis.

        `key`: one of these, or a tuple. None where a tiled dimension is cut in a way that no parts
        describe. IndexError for an integer outside its dimension or too many indices, TypeError for
        any other entry.

        >>> from tensorlayout import Layout
        >>> Layout.row_major((4, 6)).slice((slice(None, None, -1), slice(1, None, 2)))
        Layout.parse('(4,3):(-6,2)+19')
        """
        kept: list[tuple[int, Parts, int]] = []  # of each dimension: size, parts and padded size
        order, offset, whole, dim = self.minor_to_major, self.offset, True, 0
        for item in checks.expanded_key(key, self.shape):
            if item is None:
                order = orders.order_with(order, len(kept))
                kept.append((1, ((1, 1),), 1))
                continue
            size, dims, pad = self.shape[dim], self.parts[dim], self.padded_shape[dim]
            dim += 1
            if isinstance(item, int):
                offset += slots.slot_of(dims, checks.checked_index(item, dim - 1, self.shape))
                order = orders.order_without(order, [len(kept)])
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
            kept.append((count, cut, pad))
        shape, parts, padded = zip(*kept, strict=True) if kept else ((), (), ())
        return self._view(shape, parts, order, offset, padded if whole else None)

    def expand_dims(self, dim: int) -> Self:
        """A new dimension of size 1 at `dim`, counted in the result.

        ValueError for a dimension outside the result.

        >>> from tensorlayout import Layout
        >>> Layout.row_major((2, 3)).expand_dims(1).shape
        (2, 1, 3)
        """
        checks.checked_dims("dim", [dim], self.ndim + 1)
        return self._sliced_whole([*[slice(None)] * dim, None])

    def squeeze(self, dims: Sequence[int]) -> Self:
        """The given dimensions `dims`, of size 1, gone. ValueError where one has another size.

        >>> from tensorlayout import Layout
        >>> Layout.row_major((2, 1, 3)).squeeze((1,))
        Layout.parse('(2,3):(3,1)')
        """
        dropped = checks.checked_dims("dims", dims, self.ndim)
        for d in dropped:
            if self.shape[d] != 1:
                msg = f"dims: dimension {d} of shape {self.shape} has size {self.shape[d]}, not 1"
                raise ValueError(msg)
        return self._sliced_whole([0 if d in dropped else slice(None) for d in range(self.ndim)])

    def _sliced_whole(self, key: list[Any]) -> Self:
        layout = self.slice(tuple(key))
        assert layout is not None  # whole slices and dimensions of size 1 always have a view
        return layout

    def broadcast_to(self, shape: Sequence[int]) -> Self:
        """The elements repeated along dimensions of size 1 and new leading ones, by stride 0.

        The result has this `shape`, and owns the padding, if any, only if nothing is repeated.
        ValueError where the sizes do not fit.

        >>> from tensorlayout import Layout
        >>> Layout.row_major((3,)).broadcast_to((2, 3))
        Layout.parse('(2,3):(0,1)')
        """
        sizes = checks.checked_sizes("shape", shape)
        new = len(sizes) - self.ndim
        if new < 0 or any(n not in (1, m) for n, m in zip(self.shape, sizes[new:], strict=True)):
            msg = f"shape: {self.shape} could not be broadcast to {shown(sizes)}"
            raise ValueError(msg)
        if sizes == self.shape:
            return self
        parts: list[Parts] = [((m, 0),) for m in sizes]
        padded = [*sizes]
        for d, n in enumerate(self.shape):
            if n == sizes[new + d]:
                parts[new + d], padded[new + d] = self.parts[d], self.padded_shape[d]
        order = [*(d + new for d in self.minor_to_major), *orders.descending(new)]
        return self._view(sizes, parts, order, padded_shape=padded)

    def reshape(self, shape: Sequence[int]) -> Self | None:
        """The elements in row-major index order under another shape; None where no view exists.

        ValueError for a `shape` of another number of elements.

        >>> from tensorlayout import Layout
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
        order, padded, strides = orders.descending(len(sizes)), None, None
        if self.size == 0:
            strides = slots.packed_strides(sizes, order)
        elif self.is_tiled:
            return self._reshaped_tiled(sizes)
        else:
            strides = slots.reshaped([p[0] for p in self.parts], sizes)
            padded = slots.repadded(self.shape, self.padded_shape, sizes)
        if strides is None:
            return None
        return self._view(sizes, slots.strided(sizes, strides), order, padded_shape=padded)

    def _reshaped_tiled(self, sizes: tuple[int, ...]) -> Self | None:
        """Dimensions of size 1 come and go; others change only where no tile has a tail."""
        if [n for n in sizes if n != 1] != [n for n in self.shape if n != 1]:
            flat = self.untiled()
            return None if flat is None else flat.reshape(sizes)
        layout = self.squeeze([d for d in range(self.ndim) if self.shape[d] == 1])
        for dim, size in enumerate(sizes):
            if size == 1:
                layout = layout.expand_dims(dim)
        return layout

    def untiled(self) -> Self | None:
        """One dimension per part, most major first; None where a tile has a tail.

        None also where that makes more than 64 dimensions. The row-major index order stays, so
        this is a reshape without a copy.

        >>> from tensorlayout import Layout
        >>> Layout.tiled((4, 4), [(2, 2)]).untiled()
        Layout.parse('(2,2,2,2):(8,2,4,1)')
        """
        flat = [part for parts in self.parts for part in parts]
        sizes = [extent for extent, _ in flat]
        if math.prod(sizes) != self.size or len(flat) > checks.MAX_RANK:
            return None
        padded: list[int] = []
        for parts, whole in zip(self.parts, self.padded_shape, strict=True):
            padded += [whole // slots.inner_extent(parts), *(extent for extent, _ in parts[1:])]
        dims = [(part,) for part in flat]
        return self._view(sizes, dims, orders.descending(len(flat)), padded_shape=padded)

    def sliding_window(self, window_shape: Sequence[int], dims: Sequence[int]) -> Self:
        """All windows of `window_shape` over `dims`, as new last dimensions over the same slots.

        The result owns no padding. ValueError where a window is larger than its dimension or the
        dimension is tiled.

        >>> from tensorlayout.layout import Layout
        >>> Layout.row_major((5,)).sliding_window((3,), (0,))
        Layout.parse('(3,3):(1,1)')
        """
        windows = checks.checked_integers("window_shape", window_shape)
        along = checks.checked_dims("dims", dims, self.ndim)
        if len(windows) != len(along):
            came = f"{shown(along)}, got {shown(windows)}"
            msg = f"window_shape: must have one size for each of the dims {came}"
            raise ValueError(msg)
        shape, parts, order = list(self.shape), list(self.parts), list(self.minor_to_major)
        for number, (width, d) in enumerate(zip(windows, along, strict=True)):
            if len(parts[d]) != 1:
                msg = f"dims: dimension {d} is tiled, it has no sliding windows; layout {cut(self)}"
                raise ValueError(msg)
            if not 1 <= width <= shape[d]:
                rule = f"must be from 1 to {shape[d]} along dimension {d}"
                msg = f"window_shape: {rule}, got {shown(width)}"
                raise ValueError(msg)
            shape[d] -= width - 1
            stride = parts[d][0][1]
            parts[d] = ((shape[d], stride),)
            parts.append(((width, stride),))
            order.insert(order.index(d), self.ndim + number)
        return self._view([*shape, *windows], parts, order)
