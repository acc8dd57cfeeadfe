"""`Layout`: constructors, and the layouts of views."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self, final

from tensorlayout.errors import short_repr, truncate
from tensorlayout.layout import checks, slots, text, tiling
from tensorlayout.layout import order as orders
from tensorlayout.layout.checks import raise_argument_error
from tensorlayout.layout.padding import Padding, PaddingValue
from tensorlayout.layout.placement import HasItemsize, Placement
from tensorlayout.layout.slots import Parts
from tensorlayout.support.interning import cached_property
from tensorlayout.support.lazy_imports import import_lazily

if TYPE_CHECKING:
    from tensorlayout.layout.drawing.drawing import Drawing
    from tensorlayout.layout.tensor_map import TensorMap


@final
class Layout(Placement):
    """Placement of each element of a tensor in its storage: an immutable, interned value.

    Slots, strides and offsets count elements, never bytes. Equal layouts are the same object, so
    ``==`` and ``hash`` cost nothing; `same_placement` is the equality that ignores the strides of
    dimensions of size 1. ``==`` with text is a TypeError: compare `labels`, or parse the text.

    - `shape`: the logical sizes.
    - `strides`: one per dimension; 0 repeats, and negative strides run backwards. By default packed
      in the order `minor_to_major`, which is row-major by default.
    - `minor_to_major`: the dimensions from the fastest to the slowest.
    - `parts`: tiled dimensions instead of `strides`: for each dimension a tuple of
      ``(extent, stride)``, most major first.
    - `offset`: the slot of the element at index (0, …, 0).
    - `padded_shape`: the sizes including padding, with which the layout must cover a whole block.
    - `padding_value`: the contents of that padding, or its name (``"ZERO"``).
    - `slot_bits`: the **bits** of a slot if several slots share a byte, low bits first; None for
      slots of whole bytes.

    Raises ValueError that names the argument, the value and the rule, and TypeError for anything
    that is not an integer. Slots beyond 2**63 - 1 are refused; nothing wraps.

    >>> from tensorlayout import Layout
    >>> Layout((2, 3), (1, 2))
    Layout.parse('(2,3):(1,2)')
    >>> Layout((2, 3), (1, 2)).offset_of((1, 2))
    5
    """

    # --- constructors ----------------------------------------------------------------------------

    def __new__(
        cls,
        shape: Sequence[int],
        strides: Sequence[int] | None = None,
        *,
        parts: Sequence[Sequence[tuple[int, int]]] | None = None,
        offset: int = 0,
        minor_to_major: Sequence[int] | None = None,
        padded_shape: Sequence[int] | None = None,
        padding_value: Padding | str = PaddingValue.UNSPECIFIED,
        slot_bits: int | None = None,
    ) -> Self:
        """Return the interned layout of these fields."""
        sizes = checks.check_sizes("shape", shape)
        padded = None if padded_shape is None else checks.check_padded_shape(sizes, padded_shape)
        start = checks.check_integer("offset", offset)
        value, bits = checks.check_padding_value(padding_value), checks.check_slot_bits(slot_bits)
        if strides is not None and parts is not None:
            raise_argument_error("strides and parts", "give one of them, got both")
        if strides is not None:
            dims = checks.strides_to_checked_parts(sizes, strides)
        elif parts is not None:
            dims = checks.check_parts(sizes, parts)
        else:
            order = orders.order_or_row_major(minor_to_major, len(sizes))
            return cls._intern(sizes, None, start, order, padded or sizes, value, bits)
        if padded is None:
            padded = checks.infer_padded_shape(sizes, dims)
        elif padded != sizes and not slots.covers_block(dims, padded):
            rule = f"{short_repr(padded)} does not make the strides of shape {short_repr(sizes)}"
            fix = "cover a whole block; use Layout.padded, or leave it out for a view with gaps"
            raise_argument_error("padded_shape", f"{rule} {fix}")
        dims = tuple(map(slots.normalize_parts, dims, sizes, padded))
        order = _check_or_infer_order(dims, padded, minor_to_major)
        return cls._intern(sizes, dims, start, order, padded, value, bits)

    @classmethod
    def packed(cls, shape: Sequence[int], minor_to_major: Sequence[int] | None = None) -> Self:
        """Return the layout of `shape` without gaps, in an order of dimensions (default row-major).

        `minor_to_major`: the dimensions from the fastest to the slowest.

        Raises ValueError for negative sizes, or if `minor_to_major` is no permutation; TypeError
        for non-integers.

        >>> from tensorlayout import Layout
        >>> Layout.packed((2, 3), (0, 1)).strides
        (1, 2)
        """
        return cls(shape, minor_to_major=minor_to_major)

    @classmethod
    def _packed(cls, shape: Sequence[int], order: tuple[int, ...]) -> Self:
        """Return `packed` without checks, for valid sizes and a valid order."""
        sizes = tuple(shape)
        return cls._intern(sizes, None, 0, order, sizes, PaddingValue.UNSPECIFIED)

    @classmethod
    def row_major(cls, shape: Sequence[int]) -> Self:
        """Return the packed layout of `shape` whose last dimension varies fastest.

        Raises ValueError for negative sizes, TypeError for non-integers.

        >>> from tensorlayout import Layout
        >>> Layout.row_major((2, 3, 4)).strides
        (12, 4, 1)
        """
        return cls(shape)

    @classmethod
    def column_major(cls, shape: Sequence[int]) -> Self:
        """Return the packed layout of `shape` whose first dimension varies fastest.

        Raises ValueError for negative sizes, TypeError for non-integers.

        >>> from tensorlayout import Layout
        >>> Layout.column_major((2, 3, 4)).strides
        (1, 2, 6)
        """
        sizes = checks.check_sizes("shape", shape)
        return cls(sizes, minor_to_major=range(len(sizes)))

    @classmethod
    def labelled(cls, shape: Sequence[int], labels: str) -> Self:
        """Return the packed layout with a memory order given by labels, slowest dimension first.

        - `shape`: sizes in the conventional order of the letters, such as ``NCHW`` or ``OIHW``.
        - `labels`: the order in memory. ``"NHWC"`` takes a shape (N, C, H, W) and makes the
          channels fastest. Words name an order, too: ``"C"``, ``"F"``, ``"channels_last"``.

        Raises ValueError if the labels are no different letters of one family, or do not fit the
        rank; TypeError if they are no text, or for sizes that are no integers.

        >>> from tensorlayout import Layout
        >>> Layout.labelled((1, 1, 3, 5), "NHWC").strides
        (15, 1, 5, 1)
        """
        sizes = checks.check_sizes("shape", shape)
        return cls(sizes, minor_to_major=orders.order_of_labels(labels, len(sizes)))

    @classmethod
    def padded(
        cls,
        shape: Sequence[int],
        padded_shape: Sequence[int],
        minor_to_major: Sequence[int] | None = None,
        padding_value: Padding | str = PaddingValue.UNSPECIFIED,
    ) -> Self:
        """Return the layout of `shape` inside a packed block of `padded_shape`, padded at the ends.

        - `padded_shape`: sizes of the block, in elements; at least `shape`.
        - `minor_to_major`: the dimensions from the fastest to the slowest; row-major by default.
        - `padding_value`: content of the padding.

        Raises ValueError for a padded size below the size, an invalid order or an unknown padding
        value; TypeError for non-integers.

        >>> from tensorlayout import Layout, PaddingValue
        >>> layout = Layout.padded((2, 3), (3, 5), (0, 1), PaddingValue.ZERO)
        >>> print(layout.table(["a", "b", "c", "d", "e", "f"]))
        Offset: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14
        Value:  a d 0 b e 0 c f 0 0  0  0  0  0  0
        """
        order, value = minor_to_major, padding_value
        return cls(shape, minor_to_major=order, padded_shape=padded_shape, padding_value=value)

    @classmethod
    def pitched(
        cls,
        shape: Sequence[int],
        pitch: int,
        itemsize: int | HasItemsize,
        minor_to_major: Sequence[int] | None = None,
        padding_value: Padding | str = PaddingValue.UNSPECIFIED,
    ) -> Self:
        """Return the layout of `shape` with rows that begin at multiples of `pitch` **bytes**.

        A row is a run along the fastest dimension. One longer than `pitch` takes several pitches.

        - `itemsize`: **bytes** of one element, or a dtype.
        - `minor_to_major`: the dimensions from the fastest to the slowest; row-major by default.
        - `padding_value`: content of the padding between rows.

        Raises ValueError if `pitch` is no positive multiple of `itemsize`; TypeError for
        non-integers.

        >>> from tensorlayout import Layout
        >>> Layout.pitched((4, 100), 256, 4).padded_shape
        (4, 128)
        """
        sizes, step = checks.check_sizes("shape", shape), checks.check_itemsize(itemsize)
        pitch = checks.check_integer("pitch", pitch)
        if pitch <= 0 or pitch % step:
            rule = f"must be a positive multiple of the element's {short_repr(step)} bytes"
            raise_argument_error("pitch", f"{rule}, got {short_repr(pitch)}")
        order = orders.order_or_row_major(minor_to_major, len(sizes))
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
        padding_value: Padding | str = PaddingValue.UNSPECIFIED,
        slot_bits: int | None = None,
    ) -> Self:
        """Return the layout of `shape` in tiles, by XLA's rule.

        - `tiles`: a list of tiles, each a list of sizes, slowest dimension first. A tile with k
          sizes splits the k fastest dimensions into numbers of tiles and indices inside a tile; the
          numbers are slower than all indices inside. Each further tile splits the result.
        - `minor_to_major`: the dimensions from the fastest to the slowest; row-major by default.
        - `padding_value`: content of the padding up to whole tiles.
        - `slot_bits`: the **bits** of a slot below a byte; None for whole bytes.

        Raises ValueError for sizes of tiles below 1, and for tiles that cannot be described by
        parts of dimensions: they split again what an earlier tile has split unevenly, as (2, 2) may
        do after (3,). Raises TypeError for non-integers.

        >>> from tensorlayout import Layout, PaddingValue
        >>> Layout.tiled((3, 5), [(2, 2)])
        Layout.parse('(3,5):(2*12+2*2,3*4+2*1)')
        >>> Layout.tiled((3, 5), [(2, 2)], padding_value=PaddingValue.ZERO).padded_shape
        (4, 6)
        """
        sizes = checks.check_sizes("shape", shape)
        order = orders.order_or_row_major(minor_to_major, len(sizes))
        cuts = tiling.check_tiles(tiles)
        if 0 in sizes or not cuts:
            return cls.padded(sizes, sizes, order, padding_value).with_slot_bits(slot_bits)
        try:
            dim_parts, owned = tiling.tiled_parts_and_block_coverage(sizes, order, cuts)
        except tiling.UnevenError:
            msg = f"tiles: {short_repr(cuts)} cannot be expressed as parts of dimensions of {sizes}"
            raise ValueError(msg) from None
        tiled_layout = cls._from_padded_parts(
            sizes, dim_parts, order, padding_value, owns_padding=owned
        )
        return tiled_layout.with_slot_bits(slot_bits)

    @classmethod
    def scale_factors(
        cls, rows: int, columns: int, padding_value: Padding | str = PaddingValue.ZERO
    ) -> Self:
        """Return the layout of scale factors for block-scaled matrix products (MXFP8, NVFP4).

        - `rows`: rows or columns of an operand.
        - `columns`: its blocks of 32 or 16 elements along the summed dimension.
        - `padding_value`: content of the padding up to whole tiles; cuBLAS requires zeros.

        Tiles of 128 x 4 slots follow each other row by row. In a tile, row r and column c have slot
        ``r % 32 * 16 + r // 32 * 4 + c``. A scale factor, and so a slot, is one byte.

        Raises ValueError for negative sizes, and for more than 2**63 - 1 slots; TypeError for
        non-integers.

        Source: cuBLAS, 1D Block Scaling Factors Layout.

        >>> from tensorlayout import Layout
        >>> Layout.scale_factors(128, 8).offset_of((5, 2))
        82
        >>> Layout.scale_factors(130, 6)
        Layout.parse('(130,6):(2*1024+4*4+32*16,2*512+4*1) padding=ZERO')
        """
        shape = checks.check_sizes("scale_factors", (rows, columns))
        if 0 in shape:
            return cls(shape, padding_value=padding_value)
        down, across = -(-shape[0] // 128), -(-shape[1] // 4)
        whole = ((down, 512 * across), (4, 4), (32, 16)), ((across, 512), (4, 1))
        return cls._from_padded_parts(shape, whole, (1, 0), padding_value, owns_padding=True)

    @classmethod
    def _from_padded_parts(
        cls,
        shape: tuple[int, ...],
        dims: Sequence[Parts],
        order: orders.Order,
        padding_value: Padding | str,
        *,
        owns_padding: bool,
    ) -> Self:
        """Return the layout of parts with padded extents; it owns the padding if `owns_padding`."""
        padded = tuple(math.prod(e for e, _ in parts) for parts in dims)
        cut = [
            slots.normalize_parts(slots.resize_most_major_part(parts, n), n, p)
            for n, p, parts in zip(shape, padded, dims, strict=True)
        ]
        # Some tiles are plain strides in another order: (4, 4) in tiles of (4, 1) is column-major.
        # The constructor would refuse the order from before the tiling.
        if all(len(parts) == 1 for parts in cut):
            order = orders.order_of_strides(padded, [parts[0][1] for parts in cut], order)
        new_layout = cls(
            shape,
            parts=cut,
            minor_to_major=order,
            padded_shape=padded if owns_padding else None,
            padding_value=padding_value,
        )
        return new_layout.form if new_layout.covers_block else new_layout

    @classmethod
    def parse(cls, source: str) -> Self:
        """Return the layout with this text, as written by `str` or `repr`.

        `source`: the text, or sizes with an order and tiles as XLA writes them:
        ``[3,5]{1,0:T(2,2)E(4)}``. Blanks between words do not matter.

        Raises ValueError, with the grammar, for other text; TypeError for anything else.

        >>> from tensorlayout import Layout
        >>> Layout.parse("(2,3):(5,1) padded=(2,5) padding=ZERO").padding_size
        4
        """
        arguments = text.parse_text(source)
        return cls.tiled(**arguments) if "tiles" in arguments else cls(**arguments)

    @classmethod
    def from_cute(
        cls,
        source: Any,
        shape: Sequence[int] | None = None,
        *,
        offset: int = 0,
        minor_to_major: Sequence[int] | None = None,
        padding_value: Padding | str = PaddingValue.UNSPECIFIED,
    ) -> Self:
        """Return the layout for CuTe's notation; each top-level mode becomes a dimension.

        - `source`: text such as ``((2,2),3):((1,6),2)``, a pair (shape, stride) of integers or
          nested tuples, a triple with an offset (as from `to_cute`), or a layout of tensor-layouts
          or CuTe's DSL.
        - `shape`: the sizes, in elements, if the modes are a block that includes padding.
        - `offset`: slots (elements) to add.
        - `minor_to_major`: the order of dimensions, as in `Layout`.
        - `padding_value`: content of the padding.

        Raises ValueError for text that is no layout, for shape and stride with different nesting,
        swizzles, sizes that are known only at run time, a `padding_value` for gaps, and slots below
        0 (a negative stride needs an offset); TypeError for other objects.

        >>> from tensorlayout import Layout
        >>> Layout.from_cute("((2,2),3):((1,6),2)")
        Layout.parse('(4,3):(2*6+2*1,2)')
        """
        fields = import_lazily("tensorlayout.formats.cute").layout_fields_from_cute(
            source, shape, padding_value
        )
        fields["offset"] += checks.check_integer("offset", offset)
        return cls(**fields, minor_to_major=minor_to_major)

    # --- views: layouts that follow from this one ------------------------------------------------
    # A layout that is its own form caches None: with a reference to itself it would be freed only
    # by the garbage collector.

    @property
    def form(self) -> Self:
        """Layout of a new tensor of this kind: offset 0, positive strides, no gaps.

        It is the packed, padded or tiled block that this layout covers, or without a block, the
        packed layout in the same order.

        >>> from tensorlayout import Layout
        >>> Layout((2, 3), (5, -1), offset=7).form
        Layout.parse('(2,3):(3,1)')
        """
        return self._form_or_none_if_self or self

    @cached_property
    def _form_or_none_if_self(self) -> Self | None:
        if self.covers_block and self.is_tiled:
            # A block without slots may have strides of 0, which no form has.
            steps = [[(e, abs(s) or 1) for e, s in dim] for dim in self.parts]
            whole = zip(steps, self.padded_shape, strict=True)
            parts = tuple(tuple(dim) if p != 1 else ((1, 1),) for dim, p in whole)
            form = self._replace(parts=parts, offset=0)
        else:
            padded = self.padded_shape if self.covers_block else self.shape
            form = self._replace(parts=None, offset=0, padded_shape=padded)
        return None if form is self else form

    @property
    def at_origin(self) -> Self:
        """Layout moved so that its lowest slot is 0.

        >>> from tensorlayout import Layout
        >>> Layout((3,), (-1,), offset=9).at_origin
        Layout.parse('(3,):(-1,)+2')
        """
        return self if self.lowest == 0 else self.moved(-self.lowest)

    def moved(self, slots_up: int) -> Self:
        """Return the layout moved by `slots_up` slots (elements) towards higher addresses.

        Raises ValueError for slots below 0 or beyond 2**63 - 1; TypeError for a non-integer.

        >>> from tensorlayout import Layout
        >>> Layout.row_major((2, 3)).moved(10)
        Layout.parse('(2,3):(3,1)+10')
        """
        return self._replace(offset=self.offset + checks.check_integer("slots_up", slots_up))

    def with_padding_value(self, value: Padding | str) -> Self:
        """Return the layout with `value` as the content of its padding.

        `value`: a `PaddingValue` or its name, or a `BitPattern`.

        Raises ValueError for another name, TypeError for anything else.

        >>> from tensorlayout import Layout, PaddingValue
        >>> Layout.padded((2,), (3,)).with_padding_value(PaddingValue.ONE).padding_value
        PaddingValue.ONE
        """
        return self._replace(padding_value=checks.check_padding_value(value))

    def with_slot_bits(self, bits: int | None) -> Self:
        """Return the layout with slots of this many **bits**, packed into bytes, low bits first.

        `bits`: 1, 2, 4 or 6, as XLA's ``E(4)``; None for slots of whole bytes. Elements keep their
        slots.

        Raises ValueError for another number, TypeError for a non-integer.

        >>> from tensorlayout import Layout
        >>> Layout.row_major((3, 5)).with_slot_bits(4)
        Layout.parse('(3,5):(5,1) bits=4')
        >>> Layout.row_major((3, 5)).with_slot_bits(4).nbytes(1)
        8
        """
        return self._replace(slot_bits=checks.check_slot_bits(bits))

    def component(self, which: int, count: int) -> Self:
        """Return the layout of one of `count` equal parts of every slot, in slots of that size.

        `which`: number of the part, from 0. The real parts of complex numbers are component 0 of 2.
        The result owns no padding.

        Raises ValueError if `which` is not below `count`, for slots beyond 2**63 - 1, and for slots
        below a byte; TypeError for non-integers.

        >>> from tensorlayout import Layout
        >>> Layout.row_major((2, 3)).component(1, 2)
        Layout.parse('(2,3):(6,2)+1')
        """
        which = checks.check_integer("component", which)
        count = checks.check_integer("component", count)
        if not 0 <= which < count:
            raise_argument_error(
                "component",
                f"must be at least 0 and below {short_repr(count)}, got {short_repr(which)}",
            )
        if self.slot_bits is not None:
            raise_argument_error(
                "component",
                f"slots of {self.slot_bits} bits have no parts; layout {truncate(self)}",
            )
        parts = [tuple((extent, count * stride) for extent, stride in p) for p in self.parts]
        return self._make_view(self.shape, parts, self.minor_to_major, count * self.offset + which)

    def _make_view(
        self,
        shape: Sequence[int],
        parts: Sequence[Parts],
        order: Sequence[int],
        offset: int | None = None,
        padded_shape: Sequence[int] | None = None,
    ) -> Self:
        """Return a view of this layout; its padding is owned only if it still covers the block."""
        sizes, dims, result_order = tuple(shape), tuple(parts), tuple(order)
        if len(sizes) > checks.MAX_RANK:
            checks.raise_too_many_dims("shape", len(sizes))
        padded = sizes if padded_shape is None else tuple(padded_shape)
        if padded != sizes and not slots.covers_block(dims, padded):
            padded = sizes
        # An empty view has no elements, so its offset need not move.
        start = self.offset if offset is None or 0 in sizes else offset
        if self.is_tiled:
            dims = tuple(map(slots.normalize_parts, dims, sizes, padded))
        if all(len(p) == 1 for p in dims):
            result_order = orders.order_of_strides(padded, [p[0][1] for p in dims], result_order)
        return self._intern(
            sizes, dims, start, result_order, padded, self.padding_value, self.slot_bits
        )

    def permute(self, dims: Sequence[int]) -> Self:
        """Return the transposed layout, whose dimension ``i`` is ``dims[i]``, as in NumPy.

        Raises ValueError if `dims` is no permutation, TypeError for non-integers.

        >>> from tensorlayout import Layout
        >>> Layout.row_major((2, 3, 4)).permute((2, 0, 1))
        Layout.parse('(4,2,3):(1,12,4)')
        """
        axes = orders.check_order(dims, self.ndim, "dims")
        return self._make_view(
            [self.shape[d] for d in axes],
            [self.parts[d] for d in axes],
            orders.permute_order(self.minor_to_major, axes),
            padded_shape=[self.padded_shape[d] for d in axes],
        )

    def flip(self, dims: Sequence[int]) -> Self | None:
        """Return the layout with `dims` reversed; None if a tiled one does not end with a tile.

        `dims`: non-negative dimensions. A tiled dimension that ends inside its only tile can be
        reversed; the result owns no padding then.

        Raises ValueError for a dimension out of bounds, TypeError for non-integers.

        >>> from tensorlayout import Layout
        >>> Layout.row_major((2, 3)).flip((1,))
        Layout.parse('(2,3):(3,-1)+2')
        """
        flipped_dims = checks.check_dims("dims", dims, self.ndim)
        steps = [slice(None, None, -1 if d in flipped_dims else 1) for d in range(self.ndim)]
        return self.slice(tuple(steps))

    def slice(self, key: Any) -> Self | None:
        """Return the layout of a basic index; None if a tiled dimension has no such view.

        `key`: an integer, a slice with any step, None, Ellipsis, or a tuple of these.

        Raises IndexError for an index out of bounds and for too many indices; TypeError for other
        entries; ValueError for a step of 0.

        >>> from tensorlayout import Layout
        >>> Layout.row_major((4, 6)).slice((slice(None, None, -1), slice(1, None, 2)))
        Layout.parse('(4,3):(-6,2)+19')
        """
        # Size, parts and padded size of each dimension.
        result_dims: list[tuple[int, Parts, int]] = []
        order, offset, is_whole, dim = self.minor_to_major, self.offset, True, 0
        for item in checks.expand_index_key(key, self.shape):
            if item is None:
                order = orders.insert_dim_in_order(order, len(result_dims))
                result_dims.append((1, ((1, 1),), 1))
                continue
            size, dims, pad = self.shape[dim], self.parts[dim], self.padded_shape[dim]
            dim += 1
            if isinstance(item, int):
                offset += slots.slot_of_index(dims, checks.check_index(item, dim - 1, self.shape))
                order = orders.drop_dims_from_order(order, [len(result_dims)])
                # An index drops its dimension, so it leaves slots out unless the padded size is 1.
                is_whole = is_whole and pad == 1
                continue
            start, stop, step = item.indices(size)
            count = len(range(start, stop, step))
            unchanged = count == size and (step == 1 or size <= 1)
            cut = dims if unchanged else slots.slice_parts(dims, start, count, step)
            if cut is None:
                return None
            # An empty slice may start outside of the dimension, even at -1, where there is no slot.
            offset += slots.slot_of_index(dims, start) if count else 0
            is_whole = is_whole and count == size
            result_dims.append((count, cut, pad))
        shape, parts, padded = zip(*result_dims, strict=True) if result_dims else ((), (), ())
        return self._make_view(shape, parts, order, offset, padded if is_whole else None)

    def expand_dims(self, dim: int) -> Self:
        """Return the layout with a new dimension of size 1, which is dimension `dim` of the result.

        Raises ValueError for a dimension outside the result, TypeError for a non-integer.

        >>> from tensorlayout import Layout
        >>> Layout.row_major((2, 3)).expand_dims(1).shape
        (2, 1, 3)
        """
        checks.check_dims("dim", [dim], self.ndim + 1)
        return self._slice_by_always_viewable_key([*[slice(None)] * dim, None])

    def squeeze(self, dims: Sequence[int]) -> Self:
        """Return the layout without the dimensions `dims`, which must have size 1.

        Raises ValueError for another size or a dimension out of bounds, TypeError for non-integers.

        >>> from tensorlayout import Layout
        >>> Layout.row_major((2, 1, 3)).squeeze((1,))
        Layout.parse('(2,3):(3,1)')
        """
        dropped = checks.check_dims("dims", dims, self.ndim)
        for d in dropped:
            if self.shape[d] != 1:
                message = f"dimension {d} of shape {self.shape} has size {self.shape[d]}"
                raise_argument_error("dims", f"{message}, not 1")
        return self._slice_by_always_viewable_key(
            [0 if d in dropped else slice(None) for d in range(self.ndim)]
        )

    def _slice_by_always_viewable_key(self, key: list[Any]) -> Self:
        layout = self.slice(tuple(key))
        assert layout is not None  # whole slices and dimensions of size 1 always have a view
        return layout

    def broadcast_to(self, shape: Sequence[int]) -> Self:
        """Return the layout broadcast to `shape`, with stride 0 along repeated dimensions.

        Dimensions of size 1 and new leading dimensions are repeated. The result owns padding only
        if nothing is repeated.

        Raises ValueError if the sizes cannot be broadcast, TypeError for non-integers.

        >>> from tensorlayout import Layout
        >>> Layout.row_major((3,)).broadcast_to((2, 3))
        Layout.parse('(2,3):(0,1)')
        """
        if shape is self.shape:
            return self
        sizes = checks.check_sizes("shape", shape)
        new = len(sizes) - self.ndim
        if new < 0 or any(n not in (1, m) for n, m in zip(self.shape, sizes[new:], strict=True)):
            raise_argument_error(
                "shape", f"{self.shape} could not be broadcast to {short_repr(sizes)}"
            )
        if sizes == self.shape:
            return self
        parts: list[Parts] = [((m, 0),) for m in sizes]
        padded = [*sizes]
        for d, n in enumerate(self.shape):
            if n == sizes[new + d]:
                parts[new + d], padded[new + d] = self.parts[d], self.padded_shape[d]
        order = [*(d + new for d in self.minor_to_major), *orders.row_major_order(new)]
        return self._make_view(sizes, parts, order, padded_shape=padded)

    def reshape(self, shape: Sequence[int]) -> Self | None:
        """Return the layout of a reshaped view; None if there is none.

        Raises ValueError for a `shape` with another number of elements, TypeError for non-integers.

        >>> from tensorlayout import Layout
        >>> Layout.row_major((2, 6)).reshape((3, 4))
        Layout.parse('(3,4):(4,1)')
        >>> Layout.column_major((2, 6)).reshape((3, 4)) is None
        True
        """
        sizes = checks.check_sizes("shape", shape)
        if math.prod(sizes) != self.size:
            message = f"{short_repr(sizes)} has {short_repr(math.prod(sizes))} elements"
            raise_argument_error("shape", f"{message}, the layout has {self.size}")
        if sizes == self.shape:
            return self
        order = orders.row_major_order(len(sizes))
        if self.size == 0:
            packed = slots.strides_to_parts(sizes, slots.packed_strides(sizes, order))
            return self._make_view(sizes, packed, order)
        if self.is_tiled:
            return self._reshape_tiled(sizes)
        strides = slots.reshape_strides([p[0] for p in self.parts], sizes)
        if strides is None:
            return None
        padded = slots.reshape_padded_sizes(self.shape, self.padded_shape, sizes)
        return self._make_view(
            sizes, slots.strides_to_parts(sizes, strides), order, padded_shape=padded
        )

    def _reshape_tiled(self, sizes: tuple[int, ...]) -> Self | None:
        """Return a reshaped view of a tiled layout; None if a tile with a tail would change."""
        # Dimensions of size 1 come and go without touching a tile. Any other change is possible
        # only if the parts are dimensions of their own.
        if [n for n in sizes if n != 1] != [n for n in self.shape if n != 1]:
            flat = self.untiled()
            return None if flat is None else flat.reshape(sizes)
        layout = self.squeeze([d for d in range(self.ndim) if self.shape[d] == 1])
        for dim, size in enumerate(sizes):
            if size == 1:
                layout = layout.expand_dims(dim)
        return layout

    def untiled(self) -> Self | None:
        """Return the layout with one dimension per part, most major first.

        It is a reshape without a copy: the row-major index order stays. The result is None if a
        tile has a tail, and for more than 64 dimensions.

        >>> from tensorlayout import Layout
        >>> Layout.tiled((4, 4), [(2, 2)]).untiled()
        Layout.parse('(2,2,2,2):(8,2,4,1)')
        """
        flat = [part for parts in self.parts for part in parts]
        sizes = [extent for extent, _ in flat]
        if math.prod(sizes) != self.size or len(flat) > checks.MAX_RANK:
            return None
        whole = map(slots.resize_most_major_part, self.parts, self.padded_shape)
        padded = [extent for parts in whole for extent, _ in parts]
        dims = [(part,) for part in flat]
        return self._make_view(sizes, dims, orders.row_major_order(len(flat)), padded_shape=padded)

    def sliding_window(self, window_shape: Sequence[int], dims: Sequence[int]) -> Self:
        """Return the layout of all windows of `window_shape` over `dims`, as new last dimensions.

        The result owns no padding.

        Raises ValueError for tiled dimensions, dimensions out of bounds, and windows larger than
        their dimension; TypeError for non-integers.

        >>> from tensorlayout.layout import Layout
        >>> Layout.row_major((5,)).sliding_window((3,), (0,))
        Layout.parse('(3,3):(1,1)')
        """
        windows = checks.check_integers("window_shape", window_shape)
        along = checks.check_dims("dims", dims, self.ndim)
        if len(windows) != len(along):
            message = f"{short_repr(along)}, got {short_repr(windows)}"
            raise_argument_error(
                "window_shape", f"must have one size for each of the dims {message}"
            )
        shape, parts, order = list(self.shape), list(self.parts), list(self.minor_to_major)
        for number, (width, d) in enumerate(zip(windows, along, strict=True)):
            if len(parts[d]) != 1:
                rule = f"dimension {d} is tiled, it has no sliding windows"
                raise_argument_error("dims", f"{rule}; layout {truncate(self)}")
            if not 1 <= width <= shape[d]:
                rule = f"must be from 1 to {shape[d]} along dimension {d}"
                raise_argument_error("window_shape", f"{rule}, got {short_repr(width)}")
            shape[d] -= width - 1
            stride = parts[d][0][1]
            parts[d] = ((shape[d], stride),)
            parts.append(((width, stride),))
            # Both dimensions have one stride. The indices inside a window count as faster.
            order.insert(order.index(d), self.ndim + number)
        return self._make_view([*shape, *windows], parts, order)

    # --- for others ------------------------------------------------------------------------------

    def tensor_map(
        self,
        box: Sequence[int],
        dtype: Any,
        *,
        element_strides: Sequence[int] | None = None,
        interleave: str = "NONE",
        swizzle: str = "NONE",
        l2_promotion: str = "NONE",
        oob_fill: str = "NONE",
    ) -> TensorMap:
        """Return the arguments of CUDA's ``cuTensorMapEncodeTiled`` for copying boxes by TMA.

        - `box`: sizes of a box, in elements. Along tiles, a box has whole tiles or divides one.
        - `dtype`: a dtype or its name, CUDA's name of a type (``"TFLOAT32"``), or the bytes of an
          element. For packed types (``"16U4_ALIGN8B"``) a slot is an element of 4 or 6 bits.
        - `element_strides`: steps in a box, in elements; 1 by default.
        - `interleave`, `swizzle`, `l2_promotion`, `oob_fill`: CUDA's names without their common
          prefix, such as ``"16B"``, ``"128B"``, ``"256B"`` and ``"NAN"``.

        Each part of a dimension is a dimension of the map, from the fastest to the slowest.

        Raises ValueError, which names CUDA's parameter, for more than five dimensions, for a
        violation of CUDA's rules, for tiles that end early without zeros as padding, and for
        unknown names; TypeError for non-integers.

        Source: CUDA driver API, Tensor Map Object Management.

        >>> from tensorlayout import Layout
        >>> found = Layout.tiled((64, 512), [(8, 128)]).tensor_map((16, 128), "float32")
        >>> found.global_dims, found.global_strides, found.box_dims
        ((128, 8, 4, 8), (512, 4096, 16384), (128, 8, 1, 2))
        """
        return import_lazily("tensorlayout.layout.tensor_map").make_tensor_map(
            self, box, dtype, element_strides, interleave, swizzle, l2_promotion, oob_fill
        )

    def to_cute(self, *, padded: bool | None = None) -> Any:
        """Return the layout in CuTe's notation, a `formats.cute.CuteLayout`.

        `padded`: required for a layout with padding, which CuTe cannot express. True returns the
        whole block, False the elements alone.

        Each dimension is a mode; a tiled one is a nested mode, fastest first. Sizes, strides and
        offset count elements. The order of dimensions that strides do not imply (size 1, stride 0,
        equal strides) is lost. The bits of a slot belong to CuTe's element type.

        Raises ValueError for padding without `padded`, and for elements that end inside a tile that
        is not their padding.

        >>> from tensorlayout import Layout
        >>> print(Layout.tiled((4, 6), [(2, 2)]).to_cute())
        ((2,2),(2,3)):((2,12),(1,4))
        """
        return import_lazily("tensorlayout.formats.cute").layout_to_cute(self, padded)

    def draw(self, *, color_by: Layout | None = None) -> Drawing:
        """Return a picture of the slot at each index, and of the index in each slot.

        Above the grid are the names of its axes: the last dimension runs across (→), the one before
        it down (↓), and slower dimensions from panel to panel. Large layouts are truncated.

        - `color_by`: another layout of the same memory. Each slot has the colour of the row of
          `color_by` whose element it holds. So a slot has the same colour in the pictures of all
          layouts that are drawn with the same `color_by`. A slot that holds no element of
          `color_by` has no colour. By default, colours distinguish the rows of this layout.

        Notebooks show the result; it has the text of an SVG file as `svg`, the bytes of a PNG file
        as ``png()``, and ``save("layout.svg")`` writes a file.

        Raises TypeError if `color_by` is no layout, ValueError if its slots have other bits.

        >>> from tensorlayout import Layout
        >>> layout = Layout.row_major((2, 3))
        >>> layout.draw()
        <Drawing: Layout (2,3):(3,1)>
        >>> layout.permute((1, 0)).draw(color_by=layout)
        <Drawing: Layout (3,2):(1,3)>
        """
        if not isinstance(color_by, Layout | None):
            raise_argument_error(
                "color_by", f"must be a Layout, got {short_repr(color_by)}", TypeError
            )
        if color_by is not None and color_by.slot_bits != self.slot_bits:
            raise_argument_error(
                "color_by",
                f"must have slot_bits={self.slot_bits} as this layout, got {color_by.slot_bits}",
            )
        return import_lazily("tensorlayout.layout.drawing.drawing").Drawing(self, color_by)

    def _repr_svg_(self) -> str:
        return self.draw().svg

    def _repr_html_(self) -> str:
        return import_lazily("tensorlayout.layout.drawing.drawing").layout_summary_html(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return Layout.parse, (str(self),)


def _check_or_infer_order(
    dims: tuple[Parts, ...], padded: tuple[int, ...], minor_to_major: Sequence[int] | None
) -> orders.Order:
    """Return the given or implied order. Raises ValueError if the strides contradict it."""
    outer = tuple(parts[0][1] for parts in dims)
    order = orders.order_or_row_major(minor_to_major, len(dims))
    implied = orders.order_of_strides(padded, outer, order)
    if minor_to_major is None or order == implied:
        return implied
    # XLA's order is that of the dimensions before they are tiled, which strides do not tell. So
    # only an order of plain strides can be wrong.
    if all(len(parts) == 1 for parts in dims):
        message = f"{order} contradicts the strides {short_repr(outer)}"
        raise_argument_error("minor_to_major", f"{message}, which say {implied}")
    return order
