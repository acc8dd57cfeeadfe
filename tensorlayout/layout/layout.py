"""`Layout`: where each element of a tensor stands in its storage."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self, final

from tensorlayout.late import loaded
from tensorlayout.layout import checks, slots, text, tiling
from tensorlayout.layout import order as orders
from tensorlayout.layout.labels import order_of_labels
from tensorlayout.layout.padding import Padding, PaddingValue
from tensorlayout.layout.placement import HasItemsize
from tensorlayout.layout.slots import Parts
from tensorlayout.layout.views import Views
from tensorlayout.words import shown

if TYPE_CHECKING:
    from tensorlayout.layout.cute import CuteLayout
    from tensorlayout.layout.drawing.drawing import Drawing
    from tensorlayout.layout.tensor_map import TensorMap


@final
class Layout(Views):
    """Where each element of a tensor stands in its storage: an immutable, interned value.

    Slots, strides and offsets count elements, never bytes. Equal layouts are the same object, so
    ``==`` and ``hash`` cost nothing; `same_placement` is the equality that ignores the strides of
    dimensions of size 1. ``==`` with text is a TypeError: compare `labels`, or parse the text.

    Parameters: `shape`, the logical sizes; `strides`, one per dimension (0 repeats, negative runs
    backwards), by default packed in the order `minor_to_major`, by default row-major; `parts`
    instead of `strides` for tiled dimensions, one tuple of ``(extent, stride)`` a dimension, most
    major first; `offset`, the slot of the element at index (0, …, 0); `padded_shape`, the sizes
    including padding, which must make the layout cover a whole block; `padding_value`, what that
    padding holds, or its name (``"ZERO"``); `slot_bits`, the **bits** of a slot where several share
    a byte, low bits first, None for slots of whole bytes.

    Errors: ValueError that names the argument, what came and what is allowed; TypeError for
    anything that is no integer. Never a wrap: slots beyond 2**63 - 1 are refused.

    >>> from tensorlayout import Layout
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
        padding_value: Padding | str = PaddingValue.UNSPECIFIED,
        slot_bits: int | None = None,
    ) -> Self:
        """The one layout of these fields."""
        sizes = checks.checked_sizes("shape", shape)
        padded = None if padded_shape is None else checks.checked_padded(sizes, padded_shape)
        start = checks.checked_integer("offset", offset)
        value, bits = checks.checked_padding(padding_value), checks.checked_slot_bits(slot_bits)
        if strides is not None and parts is not None:
            msg = "strides and parts: give one of them, got both"
            raise ValueError(msg)
        if strides is not None:
            dims = checks.checked_strides(sizes, strides)
        elif parts is not None:
            dims = checks.checked_parts(sizes, parts)
        else:
            order = orders.order_or_row_major(minor_to_major, len(sizes))
            return cls._packed(sizes, padded or sizes, order, start, value, bits)
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
        return cls._intern(sizes, dims, start, order, padded, value, bits)

    @classmethod
    def packed(cls, shape: Sequence[int], minor_to_major: Sequence[int] | None = None) -> Self:
        """The layout of `shape` without gaps, in an order of dimensions (row-major by default).

        `minor_to_major`: the dimensions from the fastest to the slowest. ValueError for negative
        sizes, and where it is no permutation; TypeError for what is no integer.

        >>> from tensorlayout import Layout
        >>> Layout.packed((2, 3), (0, 1)).strides
        (1, 2)
        """
        return cls(shape, minor_to_major=minor_to_major)

    @classmethod
    def row_major(cls, shape: Sequence[int]) -> Self:
        """The packed layout of `shape` whose last dimension varies fastest.

        ValueError for negative sizes, TypeError for what is no integer.

        >>> from tensorlayout import Layout
        >>> Layout.row_major((2, 3, 4)).strides
        (12, 4, 1)
        """
        return cls(shape)

    @classmethod
    def column_major(cls, shape: Sequence[int]) -> Self:
        """The packed layout of `shape` whose first dimension varies fastest.

        ValueError for negative sizes, TypeError for what is no integer.

        >>> from tensorlayout import Layout
        >>> Layout.column_major((2, 3, 4)).strides
        (1, 2, 6)
        """
        sizes = checks.checked_sizes("shape", shape)
        return cls(sizes, minor_to_major=range(len(sizes)))

    @classmethod
    def labelled(cls, shape: Sequence[int], labels: str) -> Self:
        """The packed layout whose memory order is spelt by labels, slowest dimension first.

        `shape` is in the logical order of the letters: the conventional one, such as ``NCHW`` or
        ``OIHW``; the letters must belong to a known family. So ``"NHWC"`` takes a shape
        (N, C, H, W) and puts the channels fastest. Words name an order, too: ``"C"``, ``"F"``,
        ``"channels_last"``.

        ValueError for labels that are no letters, repeat one, belong to no family, or do not fit
        the rank.

        >>> from tensorlayout import Layout
        >>> Layout.labelled((1, 1, 3, 5), "NHWC").strides
        (15, 1, 5, 1)
        """
        sizes = checks.checked_sizes("shape", shape)
        return cls(sizes, minor_to_major=order_of_labels(labels, len(sizes)))

    @classmethod
    def padded(
        cls,
        shape: Sequence[int],
        padded_shape: Sequence[int],
        minor_to_major: Sequence[int] | None = None,
        padding_value: Padding | str = PaddingValue.UNSPECIFIED,
    ) -> Self:
        """The layout of `shape` inside a packed block of `padded_shape`, padding at the high ends.

        Sizes count elements. `minor_to_major`: the dimensions from the fastest to the slowest,
        row-major by default. `padding_value`: what the padding holds. ValueError for a padded size
        below the size.

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
        """Rows (runs of the most minor dimension) that begin at multiples of `pitch` **bytes**.

        `shape`: the sizes, in elements. `itemsize` is the bytes of one element, or a dtype.
        `minor_to_major`: the dimensions from the fastest to the slowest, row-major by default.
        `padding_value`: what is between the rows. ValueError where `pitch` is no multiple of
        `itemsize`, or is less than a row.

        >>> from tensorlayout import Layout
        >>> Layout.pitched((4, 100), 256, 4).padded_shape
        (4, 128)
        """
        sizes, step = checks.checked_sizes("shape", shape), checks.checked_itemsize(itemsize)
        pitch = checks.checked_integer("pitch", pitch)
        if pitch <= 0 or pitch % step:
            rule = f"must be a positive multiple of the element's {shown(step)} bytes"
            msg = f"pitch: {rule}, got {shown(pitch)}"
            raise ValueError(msg)
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
        """The layout of `shape` in tiles, each a list of sizes, the slowest dimension first.

        The rule is XLA's. Memory is taken in the order `minor_to_major` (row-major by default). A
        tile cuts the fastest of its dimensions, as many as it has sizes, into a count of tiles and
        an index inside of one; counts stand before what is inside. The next tile does the same to
        what the one before made. Sizes are rounded up to whole tiles: that is padding, and holds
        `padding_value`. `slot_bits`: the **bits** of a slot below a byte.

        ValueError for sizes below 1, and for tiles that no parts of dimensions describe: such that
        cut again what an earlier tile has cut unevenly, as (2, 2) may do after (3,).

        >>> from tensorlayout import Layout, PaddingValue
        >>> Layout.tiled((3, 5), [(2, 2)])
        Layout.parse('(3,5):(2*12+2*2,3*4+2*1)')
        >>> Layout.tiled((3, 5), [(2, 2)], padding_value=PaddingValue.ZERO).padded_shape
        (4, 6)
        """
        sizes = checks.checked_sizes("shape", shape)
        order = orders.order_or_row_major(minor_to_major, len(sizes))
        cuts = tiling.checked_tiles(tiles)
        if 0 in sizes or not cuts:
            value, bits = padding_value, slot_bits
            return cls(sizes, minor_to_major=order, padding_value=value, slot_bits=bits)
        try:
            whole, owned = tiling.parts_of(sizes, order, cuts)
        except tiling.UnevenError:
            msg = f"tiles: {shown(cuts)} cannot be said as parts of the dimensions of {sizes}"
            raise ValueError(msg) from None
        made = cls._of_whole(sizes, whole, order, padding_value, owned=owned)
        return made if slot_bits is None else made.with_slot_bits(slot_bits)

    @classmethod
    def scale_factors(
        cls, rows: int, columns: int, padding_value: Padding | str = PaddingValue.ZERO
    ) -> Self:
        """The order in which block scaled matrix products take scale factors (MXFP8, NVFP4).

        The shape is (`rows`, `columns`): rows or columns of an operand, and blocks of 32 or 16
        elements along the summed dimension. Tiles of 128 x 4 slots stand row by row; inside of one,
        row r and column c have slot ``r % 32 * 16 + r // 32 * 4 + c``. Sizes are rounded up to
        whole tiles: that is padding, and holds `padding_value`, zeros as cuBLAS asks for. A scale
        factor is a byte, and so is a slot. Source: cuBLAS, 1D Block Scaling Factors Layout.

        ValueError for negative sizes, and beyond 2**63 - 1 slots; TypeError for what is no integer.

        >>> from tensorlayout import Layout
        >>> Layout.scale_factors(128, 8).offset_of((5, 2))
        82
        >>> Layout.scale_factors(130, 6)
        Layout.parse('(130,6):(2*1024+4*4+32*16,2*512+4*1) padding=ZERO')
        """
        shape = checks.checked_sizes("scale_factors", (rows, columns))
        if 0 in shape:
            return cls(shape, padding_value=padding_value)
        down, across = -(-shape[0] // 128), -(-shape[1] // 4)
        whole = ((down, 512 * across), (4, 4), (32, 16)), ((across, 512), (4, 1))
        return cls._of_whole(shape, whole, (1, 0), padding_value, owned=True)

    @classmethod
    def _of_whole(
        cls,
        shape: tuple[int, ...],
        dims: Sequence[Parts],
        order: orders.Order,
        padding_value: Padding | str,
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

        `source`: the text, or sizes with an order and tiles as XLA writes them:
        ``[3,5]{1,0:T(2,2)E(4)}``. ValueError, with the grammar, for any other text.

        >>> from tensorlayout import Layout
        >>> Layout.parse("(2,3):(5,1) padded=(2,5) padding=ZERO").padding_size
        4
        """
        sized = text.sized_tiling(source)
        if sized is None:
            return cls(**text.parse_text(source))
        return cls.tiled(sized[0], **sized[1])

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
        """What CUDA's ``cuTensorMapEncodeTiled`` takes for this layout, so that TMA copies boxes.

        `box`: the sizes of a box, in elements. `dtype`: a dtype or its name, CUDA's name of a type
        (``"TFLOAT32"``), or the bytes of an element; for packed types (``"16U4_ALIGN8B"``) a slot
        is an element of 4 or 6 bits. `element_strides`: the steps in a box, in elements. The
        choices go by CUDA's names, without what all begin with: `interleave` ``"16B"``, `swizzle`
        ``"128B"``, `l2_promotion` ``"256B"``, `oob_fill` ``"NAN"``.

        Each part of a dimension is a dimension of the map, from the fastest to the slowest; along
        tiles, a box takes whole ones or divides one. No dimensions are merged: a layout of more
        than five is a ValueError, as is each rule of CUDA's that is broken: the error names its
        parameter. Also ValueError for tiles that end early without zeros for padding, and unknown
        names; TypeError for what is no integer. Source: CUDA driver API, Tensor Map Object
        Management.

        >>> from tensorlayout import Layout
        >>> found = Layout.tiled((64, 512), [(8, 128)]).tensor_map((16, 128), "float32")
        >>> found.global_dims, found.global_strides, found.box_dims
        ((128, 8, 4, 8), (512, 4096, 16384), (128, 8, 1, 2))
        """
        loaded("tensorlayout.layout.tensor_map")
        from tensorlayout.layout.tensor_map import tensor_map_of

        return tensor_map_of(
            self,
            box,
            dtype,
            element_strides,
            interleave=interleave,
            swizzle=swizzle,
            l2_promotion=l2_promotion,
            oob_fill=oob_fill,
        )

    def to_cute(self, *, padded: bool | None = None) -> CuteLayout:
        """The layout as CuTe writes it: nested shape and stride, and beside them the offset.

        A dimension is a mode, a tiled one a mode of several, the fastest first. Sizes, strides and
        offset count elements. CuTe has no padding: without it nothing is lost, but for the order of
        dimensions of one index; with it `padded` says what is meant, the whole block (True) or the
        elements alone (False). The bits of a slot belong to CuTe's element type. ValueError where
        nothing is said, and for elements that end inside a tile that is not their padding.

        >>> from tensorlayout import Layout
        >>> print(Layout.tiled((4, 6), [(2, 2)]).to_cute())
        ((2,2),(2,3)):((2,12),(1,4))
        """
        loaded("tensorlayout.layout.cute")
        from tensorlayout.layout.cute import cute_of

        return cute_of(self, padded)

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
        """The layout that CuTe writes so; each mode of the first level becomes a dimension.

        `source`: text such as ``((2,2),3):((1,6),2)``, a pair (shape, stride) of integers or nested
        tuples, a triple with an offset (what `to_cute` gives), or a layout of tensor-layouts or
        CuTe's DSL. `shape`: the sizes, in elements, where the modes are a block with padding, which
        holds `padding_value`. `offset`: slots (elements) to be added. `minor_to_major`: the order
        of dimensions, as of `Layout`. ValueError for text that is no layout, shape and stride that
        are nested unlike, swizzles, sizes that are known only as a kernel runs, a `padding_value`
        for gaps, and slots below 0 (a negative stride needs an offset); TypeError for all else.

        >>> from tensorlayout import Layout
        >>> Layout.from_cute("((2,2),3):((1,6),2)")
        Layout.parse('(4,3):(2*6+2*1,2)')
        """
        loaded("tensorlayout.layout.cute")
        from tensorlayout.layout.cute import fields_of

        said = fields_of(source, shape, padding_value)
        said["offset"] += checks.checked_integer("offset", offset)
        return cls(**said, minor_to_major=minor_to_major)

    def draw(self) -> Drawing:
        """A picture: the slot at each index, and the index in each slot; large ones are cut.

        The result is shown by notebooks, has the text of an SVG file as `svg` and the bytes of
        another as ``png()``, and writes either: ``save("layout.svg")``.

        >>> from tensorlayout import Layout
        >>> Layout.row_major((2, 3)).draw()
        <Drawing: Layout (2,3):(3,1)>
        """
        loaded("tensorlayout.layout.drawing.drawing")
        from tensorlayout.layout.drawing.drawing import Drawing

        return Drawing(self)

    def _repr_svg_(self) -> str:
        return self.draw().svg

    def _repr_html_(self) -> str:
        loaded("tensorlayout.layout.drawing.summary")
        from tensorlayout.layout.drawing.summary import summary_of_layout

        return summary_of_layout(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return Layout.parse, (str(self),)


def _order_for(
    dims: tuple[Parts, ...], padded: tuple[int, ...], minor_to_major: Sequence[int] | None
) -> orders.Order:
    """The order of dimensions, given or implied; ValueError where the strides contradict it."""
    outer = tuple(parts[0][1] for parts in dims)
    order = orders.order_or_row_major(minor_to_major, len(dims))
    implied = orders.order_of_strides(padded, outer, order)
    if minor_to_major is None or order == implied:
        return implied
    if all(len(parts) == 1 for parts in dims):
        came = f"{order} contradicts the strides {shown(outer)}"
        msg = f"minor_to_major: {came}, which say {implied}"
        raise ValueError(msg)
    return order
