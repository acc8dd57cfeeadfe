"""`XlaLayout` and `Shape`: XLA's layouts and shapes, as immutable values."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

from tensorlayout.layout import descending
from tensorlayout.layout.checks import checked_integer, checked_integers
from tensorlayout.words import cut, shown
from tensorlayout.xla.calling import refuse
from tensorlayout.xla.primitive_types import PrimitiveType
from tensorlayout.xla.tiles import Tile, as_tile

_T = TypeVar("_T")
SPACES = range(-128, 128)
INTEGERS = range(-(2**63), 2**63)

# The properties of a layout in text, in the order that XLA demands, and the fields that hold them.
PROPERTIES = {
    "T": "tiles",
    "L": "tail_padding_alignment",
    "#": "index_type",
    "*": "pointer_type",
    "E": "element_size_in_bits",
    "S": "memory_space",
    "SC": "split_configs",
    "P": "physical_shape",
    "M": "metadata_prefix_bytes",
}

# What XLA stores as the size of an unbounded dimension, ``?`` in text.
UNBOUNDED = -(2**63)

# Tuples in tuples; deeper ones are refused, so that nothing that walks a shape runs out of stack.
MAX_DEPTH = 100

# Sizes of an array, and numbers of any other list: XLA has no limit, and arrays have few.
MOST_NUMBERS = 2**14


@dataclass(frozen=True, slots=True)
class SplitConfig:
    """Where one **physical** dimension (0 is the most major) is split over several memories.

    `split_indices`: the first index of each part but the first, ascending.

    >>> from tensorlayout.xla import SplitConfig, XlaLayout
    >>> str(XlaLayout(minor_to_major=(1, 0), split_configs=(SplitConfig(0, (4,)),)))
    '{1,0:SC(0:4)}'
    """

    dimension: int
    split_indices: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "dimension", checked_integer("split dimension", self.dimension))
        points = checked_integers("split indices", self.split_indices)
        object.__setattr__(self, "split_indices", points)

    def __str__(self) -> str:
        return f"({self.dimension}:{','.join(map(str, self.split_indices))})"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class XlaLayout:
    """How XLA stores an array: the order of its dimensions, tiles, and what goes along.

    `minor_to_major`: logical dimension numbers, the fastest-varying first. `tiles`: applied one
    after the other, sizes in physical order. `tail_padding_alignment`: the buffer is rounded up to
    a multiple of so many elements. `element_size_in_bits`: 0 is the width of the type in whole
    bytes. `memory_space`: a tag (0 default, 1 fast on-chip, 5 pinned host, 6 unpinned host).
    `split_configs`: distribution over memories. `metadata_prefix_bytes`: of buffers of dynamic
    shapes; never compared. `index_type`, `pointer_type`, `physical_shape`: of sparse arrays, which
    fail the validation of dense ones.

    Nothing says here that `minor_to_major` is a permutation: `validate_layout_for_shape` does.
    ValueError for a tail alignment below 1, and for a memory space that does not fit 8 signed
    bits (XLA wraps it: 300 becomes 44).

    >>> from tensorlayout.xla import XlaLayout
    >>> str(XlaLayout(minor_to_major=(1, 0), tiles=[(8, 128), (2, 1)], memory_space=1))
    '{1,0:T(8,128)(2,1)S(1)}'
    """

    minor_to_major: tuple[int, ...] = ()
    tiles: tuple[Tile, ...] = ()
    tail_padding_alignment: int = 1
    index_type: PrimitiveType | None = None
    pointer_type: PrimitiveType | None = None
    element_size_in_bits: int = 0
    memory_space: int = 0
    split_configs: tuple[SplitConfig, ...] = ()
    physical_shape: Any = None
    metadata_prefix_bytes: int = field(default=0, compare=False)

    def __post_init__(self) -> None:
        order = checked_integers("minor_to_major", self.minor_to_major)
        object.__setattr__(self, "minor_to_major", order)
        object.__setattr__(self, "tiles", _each("tiles", as_tile, self.tiles))
        splits = _each("split_configs", _as_split, self.split_configs)
        object.__setattr__(self, "split_configs", splits)
        for name in ("tail_padding_alignment", "element_size_in_bits", "memory_space"):
            object.__setattr__(self, name, checked_integer(name, getattr(self, name)))
        if self.tail_padding_alignment < 1:
            came = shown(self.tail_padding_alignment)
            refuse("must be at least 1", came, about="tail_padding_alignment")
        if self.memory_space not in SPACES:
            refuse("must fit 8 signed bits", shown(self.memory_space), about="memory_space")
        if any(d not in INTEGERS for d in order):
            refuse("must be 64-bit integers", shown(order), about="minor_to_major")

    @classmethod
    def row_major(cls, rank: int) -> XlaLayout:
        """The default: dimension 0 the most major."""
        return cls(minor_to_major=descending(rank))

    def replace(self, **changes: Any) -> XlaLayout:
        """A copy of the layout with some fields changed."""
        return replace(self, **changes)

    @property
    def rank(self) -> int:
        """The number of entries of the order."""
        return len(self.minor_to_major)

    def properties(self) -> str:
        """What follows the colon in the text: T, L, #, *, E, S, SC, P, M; defaults left out."""
        held = (
            (letter, getattr(self, name), _DEFAULTS[name]) for letter, name in PROPERTIES.items()
        )
        told = ((letter, value) for letter, value, default in held if value != default)
        return "".join(f"{letter}{_told(value)}" for letter, value in told)

    def __str__(self) -> str:
        properties = self.properties()
        order = ",".join(map(str, self.minor_to_major))
        return f"{{{order}{':' if properties else ''}{properties}}}"

    def __repr__(self) -> str:
        return f"parse_layout({str(self)!r})"

    def delete_dimension(self, dimension: int) -> XlaLayout:
        """The layout without one logical dimension; larger numbers go down by one.

        Split configs of that dimension go, those of later physical ones are renumbered. Tiles are
        left as they are, so they may come to cover other dimensions. ValueError for a dimension
        that is not there.
        """
        if dimension not in self.minor_to_major:
            rule = f"{shown(dimension)} is not in the layout {cut(self)}"
            refuse(rule, about="delete_dimension")
        return self.delete_dimensions({dimension})

    def delete_dimensions(self, gone: Set[int]) -> XlaLayout:
        """The layout without several logical dimensions, as if one went after the other."""
        left = sorted(set(self.minor_to_major) - gone)
        number = {old: new for new, old in enumerate(left)}
        order = [number[d] for d in self.minor_to_major if d in number]
        places = [at for at, d in enumerate(reversed(self.minor_to_major)) if d in gone]
        splits = [
            SplitConfig(s.dimension - bisect(places, s.dimension), s.split_indices)
            for s in self.split_configs
            if s.dimension not in places
        ]
        return self.replace(minor_to_major=order, split_configs=splits)


_DEFAULTS = {each.name: each.default for each in fields(XlaLayout)}


def _told(value: Any) -> str:
    """The value of a property as text."""
    if isinstance(value, tuple):
        return "".join(map(str, value))
    if isinstance(value, PrimitiveType):
        value = value.text if value.is_integral else "invalid"
    return f"({value})"


def _each(name: str, make: Callable[[Any], _T], given: Any) -> tuple[_T, ...]:
    """What `make` gives for each of a sequence."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        refuse("must be a sequence", shown(given), about=name, error=TypeError)
    return tuple(map(make, given))


def _as_split(split: SplitConfig | tuple[int, Sequence[int]]) -> SplitConfig:
    if isinstance(split, SplitConfig):
        return split
    if not isinstance(split, Sequence) or len(split) != 2:
        rule = "must be pairs (dimension, split indices)"
        refuse(rule, shown(split), about="split_configs", error=TypeError)
    return SplitConfig(split[0], checked_integers("split indices", split[1]))


@dataclass(frozen=True, slots=True, repr=False)
class Shape:
    """What XLA knows of a value: an array, a tuple, a token, an opaque value or a buffer.

    Made by `array`, `tuple_of`, `buffer`, `token`, `opaque`, or `parse_shape` from text. An array
    has an element type, sizes (0 is legal; `UNBOUNDED` is ``?``), a dynamic flag per size, and
    maybe a layout. Two shapes are equal where all of that is: a present layout differs from a
    missing one, a bounded size ``<=4`` from 4. ``str`` writes the text with layouts.

    ValueError for a size below 0, a non-array type with sizes, or more than 100 levels.

    >>> from tensorlayout.xla import PrimitiveType, Shape, XlaLayout
    >>> print(Shape.array(PrimitiveType.F32, (2, 3), XlaLayout(minor_to_major=(0, 1))))
    f32[2,3]{0,1}
    """

    element_type: PrimitiveType
    dimensions: tuple[int, ...] = ()
    dynamic: tuple[bool, ...] = ()
    layout: XlaLayout | None = None
    elements: tuple[Shape, ...] = ()

    def __post_init__(self) -> None:
        sizes, kind = checked_integers("dimensions", self.dimensions), self.element_type
        if len(sizes) > MOST_NUMBERS:
            refuse(f"at most {MOST_NUMBERS} are allowed", str(len(sizes)), about="dimensions")
        flags = tuple(map(bool, self.dynamic)) or (False,) * len(sizes)
        object.__setattr__(self, "dimensions", sizes)
        object.__setattr__(self, "dynamic", flags)
        object.__setattr__(self, "elements", tuple(self.elements))
        if not isinstance(kind, PrimitiveType):
            rule = "must be a PrimitiveType"
            refuse(rule, shown(kind), about="element_type", error=TypeError)
        if kind is PrimitiveType.PRIMITIVE_TYPE_INVALID:
            refuse("must be the type of some shape", kind.name, about="element_type")
        if not kind.is_array and (sizes or self.layout is not None):
            rule = f"{kind.text} has no sizes and no layout of its own"
            refuse(rule, shown(sizes), about="shape")
        if self.elements and kind not in (PrimitiveType.TUPLE, PrimitiveType.BUFFER):
            refuse(f"{kind.text} has no elements", str(len(self.elements)), about="shape")
        if len(flags) != len(sizes):
            rule = f"must be one flag for each of the sizes {shown(sizes)}"
            refuse(rule, shown(flags), about="dynamic")
        for size, flag in zip(sizes, flags, strict=True):
            if not is_valid_dimension_size(size, flag):
                rule = f"{shown(size)} is no size of a {'dynamic' if flag else 'static'} dimension"
                refuse(rule, shown(sizes), about="dimensions")
        if depth_of(self) > MAX_DEPTH:
            refuse(f"tuples may be nested {MAX_DEPTH} deep", "more", about="shape")

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
            rule = "must be a sequence of shapes"
            refuse(rule, shown(elements), about="tuple_of", error=TypeError)
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
            refuse("must hold an array", cut(array), about="buffer")
        return cls(PrimitiveType.BUFFER, elements=(array,))

    def replace(self, **changes: Any) -> Shape:
        """A copy of the shape with some fields changed."""
        return replace(self, **changes)

    # --- asked ---------------------------------------------------------------------------------

    @property
    def is_array(self) -> bool:
        """Whether the shape is an array."""
        return self.element_type.is_array

    @property
    def is_tuple(self) -> bool:
        """Whether the shape is a tuple."""
        return self.element_type is PrimitiveType.TUPLE

    @property
    def is_buffer(self) -> bool:
        """Whether the shape is a buffer around an array."""
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
        """The shape without logical dimensions; the layout follows, its tiles stay as they are.

        The order of the list does not matter. ValueError for a repeated dimension, one that is not
        there, or no array.
        """
        gone = checked_integers("delete_dimensions", dimensions)
        if not self.is_array or len(set(gone)) != len(gone):
            rule = f"must be different dimensions of an array {cut(self)}"
            refuse(rule, shown(gone), about="delete_dimensions")
        if not all(0 <= d < self.rank for d in gone):
            rule = f"must be from 0 to {self.rank - 1} for {cut(self)}"
            refuse(rule, shown(gone), about="delete_dimensions")
        layout = None if self.layout is None else self.layout.delete_dimensions(set(gone))
        return self.reordered(sorted(set(range(self.rank)) - set(gone)), layout)

    def reordered(self, dims: Sequence[int], layout: XlaLayout | None) -> Shape:
        """The array with the sizes and flags of the dimensions `dims`, in another layout."""
        sizes, flags = [self.dimensions[d] for d in dims], [self.dynamic[d] for d in dims]
        return Shape.array(self.element_type, sizes, layout, flags)


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
    return 0 <= size < 2**63 or (size == UNBOUNDED and is_dynamic)


def parts_of(shape: Shape) -> Iterator[Shape]:
    """A shape and all that is in it, from left to right, what is in buffers too."""
    waiting = [shape]
    while waiting:
        found = waiting.pop()
        yield found
        waiting += reversed(found.elements)


def arrays_of(shape: Shape) -> Iterator[Shape]:
    """The arrays in a shape, from left to right, those in buffers too."""
    return (part for part in parts_of(shape) if part.is_array)


def with_arrays(shape: Shape, change: Callable[[Shape], Shape]) -> Shape:
    """A copy of a shape with each of its arrays changed."""
    if shape.is_array:
        return change(shape)
    if not shape.elements:
        return shape
    return shape.replace(elements=tuple(with_arrays(e, change) for e in shape.elements))


def with_layouts(shape: Shape, change: Callable[[XlaLayout], XlaLayout | None]) -> Shape:
    """A copy of a shape with each of its layouts changed; arrays without one are left alone."""
    return with_arrays(
        shape, lambda a: a if a.layout is None else a.replace(layout=change(a.layout))
    )


def alike(test: Callable[[Shape, Shape], bool], lhs: Shape, rhs: Shape) -> bool:
    """Whether two shapes are of one type, and `test` holds for their elements, pair by pair."""
    return (
        lhs.element_type is rhs.element_type
        and len(lhs.elements) == len(rhs.elements)
        and all(map(test, lhs.elements, rhs.elements))
    )
