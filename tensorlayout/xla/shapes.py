"""`Shape`: XLA's shapes, as immutable values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tensorlayout.layout.checks import checked_integers
from tensorlayout.words import cut, shown
from tensorlayout.xla.layouts import XlaLayout
from tensorlayout.xla.primitive_types import PrimitiveType

# What XLA stores as the size of an unbounded dimension, ``?`` in text.
UNBOUNDED = -(2**63)

# Tuples in tuples; deeper ones are refused, so that nothing that walks a shape runs out of stack.
MAX_DEPTH = 100

# Sizes of an array, and numbers of any other list: XLA has no limit, and arrays have few.
MOST_NUMBERS = 2**14

_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True, repr=False)
class Shape:
    """What XLA knows of a value: an array, a tuple, a token, an opaque value or a buffer.

    Made by `array`, `tuple_of`, `buffer`, `token`, `opaque`, or `parse_shape` from text. An array
    has an element type, sizes (0 is legal; `UNBOUNDED` is ``?``), a dynamic flag per size, and
    maybe a layout. Two shapes are equal where all of that is: a present layout differs from a
    missing one, a bounded size ``<=4`` from 4. ``str`` writes the text with layouts.

    ValueError for a size below 0, a non-array type with sizes, or more than 100 levels.

    >>> print(Shape.array(PrimitiveType.F32, (2, 3), XlaLayout(minor_to_major=(0, 1))))
    f32[2,3]{0,1}
    """

    element_type: PrimitiveType
    dimensions: tuple[int, ...] = ()
    dynamic: tuple[bool, ...] = ()
    layout: XlaLayout | None = None
    elements: tuple[Shape, ...] = ()

    def __post_init__(self) -> None:
        sizes = checked_integers("dimensions", self.dimensions)
        if len(sizes) > MOST_NUMBERS:
            msg = f"dimensions: at most {MOST_NUMBERS} are allowed, got {len(sizes)}"
            raise ValueError(msg)
        object.__setattr__(self, "dimensions", sizes)
        flags = tuple(map(bool, self.dynamic)) or (False,) * len(sizes)
        object.__setattr__(self, "dynamic", flags)
        object.__setattr__(self, "elements", tuple(self.elements))
        kind = self.element_type
        if not isinstance(kind, PrimitiveType):
            msg = f"element_type: must be a PrimitiveType, got {shown(kind)}"
            raise TypeError(msg)
        if kind is PrimitiveType.PRIMITIVE_TYPE_INVALID:
            msg = "element_type: must be the type of some shape, got PRIMITIVE_TYPE_INVALID"
            raise ValueError(msg)
        if not kind.is_array and (sizes or self.layout is not None):
            msg = f"shape: {kind.text} has no sizes and no layout of its own, got {shown(sizes)}"
            raise ValueError(msg)
        if self.elements and kind not in (PrimitiveType.TUPLE, PrimitiveType.BUFFER):
            msg = f"shape: {kind.text} has no elements, got {len(self.elements)}"
            raise ValueError(msg)
        if len(flags) != len(sizes):
            msg = f"dynamic: must be one flag for each of the sizes {shown(sizes)}"
            msg += f", got {shown(flags)}"
            raise ValueError(msg)
        for size, flag in zip(sizes, flags, strict=True):
            if not is_valid_dimension_size(size, flag):
                what = "dynamic" if flag else "static"
                msg = f"dimensions: {shown(size)} is no size of a {what} dimension"
                msg += f", got {shown(sizes)}"
                raise ValueError(msg)
        if depth_of(self) > MAX_DEPTH:
            msg = f"shape: tuples may be nested {MAX_DEPTH} deep, got more"
            raise ValueError(msg)

    # --- made by -------------------------------------------------------------------------------

    @classmethod
    def array(
        cls,
        element_type: PrimitiveType,
        dimensions: Sequence[int],
        layout: XlaLayout | None = None,
        dynamic: Sequence[bool] = (),
    ) -> Shape:
        """An array; without a layout where none is given."""
        sizes = checked_integers("dimensions", dimensions)
        return cls(element_type, sizes, tuple(dynamic), layout)

    @classmethod
    def tuple_of(cls, elements: Sequence[Shape]) -> Shape:
        """A tuple."""
        if not isinstance(elements, Sequence) or not all(isinstance(e, Shape) for e in elements):
            msg = f"tuple_of: must be a sequence of shapes, got {shown(elements)}"
            raise TypeError(msg)
        return cls(PrimitiveType.TUPLE, elements=tuple(elements))

    @classmethod
    def token(cls) -> Shape:
        """The ordering token."""
        return cls(PrimitiveType.TOKEN)

    @classmethod
    def opaque(cls) -> Shape:
        """A value that XLA does not look into."""
        return cls(PrimitiveType.OPAQUE_TYPE)

    @classmethod
    def buffer(cls, array: Shape) -> Shape:
        """A buffer around one array."""
        if not array.is_array:
            msg = f"buffer: must hold an array, got {cut(array)}"
            raise ValueError(msg)
        return cls(PrimitiveType.BUFFER, elements=(array,))

    def replace(self, **changes: Any) -> Shape:
        """The same shape with some fields changed."""
        return replace(self, **changes)

    # --- asked ---------------------------------------------------------------------------------

    @property
    def is_array(self) -> bool:
        """Whether it is an array."""
        return self.element_type.is_array

    @property
    def is_tuple(self) -> bool:
        """Whether it is a tuple."""
        return self.element_type is PrimitiveType.TUPLE

    @property
    def is_buffer(self) -> bool:
        """Whether it is a buffer around an array."""
        return self.element_type is PrimitiveType.BUFFER

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.dimensions)

    @property
    def is_static(self) -> bool:
        """Whether no array in it has a dynamic dimension."""
        return not self.is_dynamic

    @property
    def is_dynamic(self) -> bool:
        """Whether some array in it has a dynamic dimension."""
        return any(any(leaf.dynamic) for leaf in arrays_of(self))

    @property
    def is_unbounded_dynamic(self) -> bool:
        """Whether some array in it has a dimension ``?``."""
        return any(UNBOUNDED in leaf.dimensions for leaf in arrays_of(self))

    @property
    def is_bounded_dynamic(self) -> bool:
        """Whether some array in it has a dimension ``<=n``."""
        return any(
            flag and size != UNBOUNDED
            for leaf in arrays_of(self)
            for size, flag in zip(leaf.dimensions, leaf.dynamic, strict=True)
        )

    def to_string(self, *, layout: bool = False) -> str:
        """The text, without layouts unless asked for."""
        if self.is_tuple:
            words = [
                f"{f'/*index={i}*/' if i and i % 5 == 0 else ''}{e.to_string(layout=layout)}"
                for i, e in enumerate(self.elements)
            ]
            return f"({', '.join(words)})"
        if self.is_buffer:
            return f"b({self.elements[0].to_string(layout=layout)})"
        pairs = zip(self.dimensions, self.dynamic, strict=True)
        sizes = ["?" if n == UNBOUNDED else f"{'<=' * d}{n}" for n, d in pairs]
        text = f"{self.element_type.text}[{','.join(sizes)}]"
        if not layout or self.layout is None:
            return text
        bare = not self.rank and str(self.layout) == "{}"
        return text if bare else f"{text}{self.layout}"

    def __str__(self) -> str:
        return self.to_string(layout=True)

    def __repr__(self) -> str:
        bare = any(array.layout is None for array in arrays_of(self))
        return f"parse_shape({str(self)!r}{', default_layout=False' * bare})"

    # --- dimensions dropped ----------------------------------------------------------------------

    def delete_dimensions(self, dimensions: Sequence[int]) -> Shape:
        """Without the given logical dimensions; the layout follows, its tiles stay as they are.

        The order of the list does not matter. ValueError for a repeated dimension, one that is not
        there, or no array.
        """
        gone = checked_integers("delete_dimensions", dimensions)
        if not self.is_array or len(set(gone)) != len(gone):
            msg = f"delete_dimensions: must be different dimensions of an array {cut(self)}"
            msg += f", got {shown(gone)}"
            raise ValueError(msg)
        if not all(0 <= d < self.rank for d in gone):
            msg = f"delete_dimensions: must be from 0 to {self.rank - 1} for {cut(self)}"
            msg += f", got {shown(gone)}"
            raise ValueError(msg)
        layout = None if self.layout is None else self.layout.delete_dimensions(set(gone))
        kept = sorted(set(range(self.rank)) - set(gone))
        return Shape.array(
            self.element_type,
            [self.dimensions[d] for d in kept],
            layout,
            [self.dynamic[d] for d in kept],
        )


def depth_of(shape: Shape) -> int:
    """How many tuples and buffers stand around the innermost shape; without recursion."""
    deepest, level = 0, [shape]
    while level := [element for outer in level for element in outer.elements]:
        deepest += 1
        if deepest > MAX_DEPTH:
            break
    return deepest


def is_valid_dimension_size(size: int, is_dynamic: bool) -> bool:
    """Whether a size may be: 0 or more, or `UNBOUNDED` where the dimension is dynamic."""
    return 0 <= size <= _LARGEST or (size == UNBOUNDED and is_dynamic)


def arrays_of(shape: Shape) -> Iterator[Shape]:
    """The arrays in a shape, from left to right, those in buffers too."""
    waiting = [shape]
    while waiting:
        found = waiting.pop()
        if found.is_array:
            yield found
        waiting += reversed(found.elements)


def with_arrays(shape: Shape, change: Callable[[Shape], Shape]) -> Shape:
    """The same shape with each of its arrays changed."""
    if shape.is_array:
        return change(shape)
    if not shape.elements:
        return shape
    return shape.replace(elements=tuple(with_arrays(e, change) for e in shape.elements))
