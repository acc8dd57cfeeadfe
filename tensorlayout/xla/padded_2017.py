"""The padded layouts of XLA from January 2017 to November 2018.

``minor_to_major``, ``padded_dimensions`` and ``padding_value``: each dimension takes a width of its
own in memory, the padding at its high end. Today's XLA says the same with one tile of the padded
widths: [2,3] in the order [0,1] padded to [3,5] is ``{0,1:T(5,3)}``.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass

from tensorlayout.layout import Layout, PaddingValue
from tensorlayout.layout.checks import checked_integers
from tensorlayout.words import cut, shown
from tensorlayout.xla.permutations import checked_permutation
from tensorlayout.xla.primitive_types import PrimitiveType
from tensorlayout.xla.shape_sizes import byte_size_of_primitive_type


class PaddingValue2017(enum.Enum):
    """What padding holds; the numbers of XLA's enum.

    ``INVALID_PAD`` is that of an unset field and says nothing, ``UNKNOWN_PAD`` that the content is
    arbitrary. Whether lowest and highest of floats are infinite XLA never said; as the padding of a
    `tensorlayout.Layout` they are, so that a maximum or minimum over it changes nothing.
    """

    INVALID_PAD = 0
    ZERO_PAD = 1
    ONE_PAD = 2
    LOWEST_PAD = 3
    HIGHEST_PAD = 4
    UNKNOWN_PAD = 5


_SYMBOLS = {
    PaddingValue2017.ZERO_PAD: PaddingValue.ZERO,
    PaddingValue2017.ONE_PAD: PaddingValue.ONE,
    PaddingValue2017.LOWEST_PAD: PaddingValue.LOWEST,
    PaddingValue2017.HIGHEST_PAD: PaddingValue.HIGHEST,
    PaddingValue2017.UNKNOWN_PAD: PaddingValue.UNSPECIFIED,
}


@dataclass(frozen=True, slots=True)
class PaddedLayout2017:
    """An order of dimensions, and the width that each takes in memory.

    `minor_to_major`: as everywhere. `padded_dimensions`: by **logical** dimension; empty for no
    padding. `padding_value`: what the padding holds; nothing ties it to the widths.

    >>> old = PaddedLayout2017((0, 1), (3, 5), PaddingValue2017.ZERO_PAD)
    >>> print(old.layout_of((2, 3)).table("abcdef").splitlines()[1])
    Value:  a d 0 b e 0 c f 0 0  0  0  0  0  0
    """

    minor_to_major: tuple[int, ...]
    padded_dimensions: tuple[int, ...] = ()
    padding_value: PaddingValue2017 = PaddingValue2017.INVALID_PAD

    def __post_init__(self) -> None:
        for name in ("minor_to_major", "padded_dimensions"):
            object.__setattr__(self, name, checked_integers(name, getattr(self, name)))
        object.__setattr__(self, "padding_value", PaddingValue2017(self.padding_value))

    def validate(self, dimensions: Sequence[int]) -> None:
        """Nothing where the layout fits the sizes of an array; ValueError for the first problem.

        One order entry per dimension, in range, none twice; no padded widths or one per dimension,
        each at least the size.
        """
        sizes, padded = checked_integers("dimensions", dimensions), self.padded_dimensions
        order = self.minor_to_major
        if sorted(order) != list(range(len(sizes))):
            rule = f"the order is no permutation of the dimensions of {shown(sizes)}"
            msg = f"layout {cut(self)}: {rule}"
            raise ValueError(msg)
        if padded and len(padded) != len(sizes):
            msg = (
                f"layout {cut(self)}: must have no padded widths or one for each of {shown(sizes)}"
            )
            raise ValueError(msg)
        if any(p < n for n, p in zip(sizes, padded, strict=False)):
            msg = f"layout {cut(self)}: a padded width is less than its size of {shown(sizes)}"
            raise ValueError(msg)

    def is_padded(self, dimensions: Sequence[int]) -> bool:
        """Whether some width exceeds its size; ValueError for a wrong number of widths."""
        sizes, padded = checked_integers("dimensions", dimensions), self.padded_dimensions
        if padded and len(padded) != len(sizes):
            msg = (
                f"layout {cut(self)}: must have no padded widths or one for each of {shown(sizes)}"
            )
            raise ValueError(msg)
        return any(p > n for n, p in zip(sizes, padded, strict=False))

    def byte_size_of(self, element_type: PrimitiveType, dimensions: Sequence[int]) -> int:
        """The **bytes** of a buffer, padding included."""
        self.validate(dimensions)
        slots = math.prod(self.padded_dimensions or dimensions)
        return slots * byte_size_of_primitive_type(element_type)

    def get_dimension_stride(self, dimensions: Sequence[int], dimension: int) -> int:
        """**Elements** between neighbours along a logical dimension, padding included."""
        self.validate(dimensions)
        if dimension not in self.minor_to_major:
            msg = f"get_dimension_stride: {shown(tuple(dimensions))}"
            msg += f" has no dimension {shown(dimension)}"
            raise ValueError(msg)
        faster = self.minor_to_major[: self.minor_to_major.index(dimension)]
        return math.prod((self.padded_dimensions or dimensions)[d] for d in faster)

    def human_string(self) -> str:
        """The text of that time: **the order alone, without the padding**."""
        return f"{{{','.join(map(str, self.minor_to_major))}}}"

    def permute_dimensions(self, permutation: Sequence[int]) -> PaddedLayout2017:
        """The layout after dimension i has become ``permutation[i]``, widths and order with it.

        As XLA permuted **until February 2021**: the inverse of `shape_util.permute_dimensions`.
        """
        dims = checked_permutation("permutation", permutation, len(self.minor_to_major))
        order = [dims[d] for d in self.minor_to_major]
        widths = list(self.padded_dimensions)
        for dim, width in zip(dims, self.padded_dimensions, strict=False):
            widths[dim] = width
        return PaddedLayout2017(tuple(order), tuple(widths), self.padding_value)

    def layout_of(self, dimensions: Sequence[int]) -> Layout:
        """The `tensorlayout.Layout` of an array of these sizes.

        INVALID_PAD and UNKNOWN_PAD are UNSPECIFIED there.
        """
        self.validate(dimensions)
        value = _SYMBOLS.get(self.padding_value, PaddingValue.UNSPECIFIED)
        padded = self.padded_dimensions or tuple(dimensions)
        return Layout.padded(tuple(dimensions), padded, self.minor_to_major, value)

    @classmethod
    def of_layout(cls, layout: Layout) -> PaddedLayout2017:
        """The old form of a packed or padded `tensorlayout.Layout`.

        ValueError for what it cannot say: tiles, gaps, an offset, negative or repeated strides, and
        padding that holds a pattern of bits.

        >>> PaddedLayout2017.of_layout(Layout.row_major((2, 3))) == PaddedLayout2017((1, 0))
        True
        """
        if layout.is_tiled or not layout.covers_block or layout.form is not layout:
            msg = f"of_layout: must be packed or padded, from slot 0 on, got {cut(layout)}"
            raise ValueError(msg)
        if layout.padded_shape == layout.shape:
            return cls(layout.minor_to_major)
        found = [old for old, value in _SYMBOLS.items() if value is layout.padding_value]
        if not found:
            msg = f"of_layout: the padding of {cut(layout)} holds bits that no symbol names"
            raise ValueError(msg)
        return cls(layout.minor_to_major, layout.padded_shape, found[0])
