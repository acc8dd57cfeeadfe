"""`Shape`: type, sizes and layout of a value in XLA, its bytes, and positions of elements."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tensorlayout.errors import raise_named_error, short_repr, truncate
from tensorlayout.layout import check_integers, row_major_order
from tensorlayout.xla import tiles as tiling
from tensorlayout.xla.calling import require, require_in_range
from tensorlayout.xla.layouts import XlaLayout
from tensorlayout.xla.permutations import permute_inverse
from tensorlayout.xla.primitive_types import PrimitiveType
from tensorlayout.xla.tiles import Tile

# The size that XLA stores for an unbounded dimension, ``?`` in text.
UNBOUNDED = -(2**63)

# Limit of nested tuples, so that recursive functions do not exceed Python's stack.
MAX_DEPTH = 100

# Limit of sizes and other lists in a shape. XLA has none, but real arrays have few dimensions.
MAX_NUMBERS = 2**14

ShapeIndex = tuple[int, ...]


@dataclass(frozen=True, slots=True, repr=False)
class Shape:
    """XLA's shape of a value: an array, a tuple, a token, an opaque value or a buffer.

    Use `array`, `tuple_of`, `buffer`, `token`, `opaque`, or `parse_shape` to create one. An array
    has an element type, sizes (0 is allowed; `UNBOUNDED` is ``?``), a dynamic flag per size, and
    optionally a layout. Shapes are equal if all of these are: a shape with a layout differs from
    one without, and a bounded size ``<=4`` from 4. ``str`` gives the text with layouts.

    Raises `ValueError` for a size below 0, sizes of a type that is not an array type, and more than
    100 levels.

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
        sizes, kind = check_integers("dimensions", self.dimensions), self.element_type
        has_few_sizes = len(sizes) <= MAX_NUMBERS
        require(has_few_sizes, f"dimensions: at most {MAX_NUMBERS} are allowed", len(sizes))
        flags = tuple(map(bool, self.dynamic)) or (False,) * len(sizes)
        object.__setattr__(self, "dimensions", sizes)
        object.__setattr__(self, "dynamic", flags)
        object.__setattr__(self, "elements", tuple(self.elements))
        if not isinstance(kind, PrimitiveType):
            raise_named_error(
                "element_type", f"must be a PrimitiveType, got {short_repr(kind)}", TypeError
            )
        if kind is PrimitiveType.PRIMITIVE_TYPE_INVALID:
            raise_named_error("element_type", f"must be the type of some shape, got {kind.name}")
        if not kind.is_array:
            has_no_sizes = not sizes and self.layout is None
            require(
                has_no_sizes, f"shape: {kind.text} has no sizes and no layout of its own", sizes
            )
        may_hold_elements = not self.elements or kind in (PrimitiveType.TUPLE, PrimitiveType.BUFFER)
        require(may_hold_elements, f"shape: {kind.text} has no elements", len(self.elements))
        has_flag_per_size = len(flags) == len(sizes)
        require(
            has_flag_per_size,
            "dynamic: must be one flag for each of the sizes",
            flags,
            subject=sizes,
        )
        for size, flag in zip(sizes, flags, strict=True):
            if not self.allows(size, flag):
                rule = (
                    f"{short_repr(size)} is no size of a {'dynamic' if flag else 'static'} "
                    "dimension"
                )
                raise_named_error("dimensions", f"{rule}, got {short_repr(sizes)}")
        # Level by level instead of by recursion, because this check is what makes recursion
        # elsewhere safe.
        depth, level = 0, [self]
        while level := [inner for outer in level for inner in outer.elements]:
            depth += 1
        require(depth <= MAX_DEPTH, f"shape: tuples may be nested {MAX_DEPTH} deep", depth)

    @staticmethod
    def allows(size: int, is_dynamic: bool) -> bool:
        """Return whether a size is valid: at least 0, or `UNBOUNDED` if dynamic."""
        # XLA keeps sizes in 64 signed bits.
        return 0 <= size < 2**63 or (size == UNBOUNDED and is_dynamic)

    # --- constructors ----------------------------------------------------------------------------

    @classmethod
    def array(
        cls,
        element_type: PrimitiveType,
        dimensions: Sequence[int],
        layout: XlaLayout | None = None,
        dynamic: Sequence[bool] = (),
    ) -> Shape:
        """Return an array shape; it has no layout if none is given."""
        return cls(element_type, dimensions, tuple(dynamic), layout)  # type: ignore[arg-type]

    @classmethod
    def tuple_of(cls, elements: Sequence[Shape]) -> Shape:
        """Return the tuple shape of these elements."""
        if not isinstance(elements, Sequence) or not all(isinstance(e, Shape) for e in elements):
            raise_named_error(
                "tuple_of", f"must be a sequence of shapes, got {short_repr(elements)}", TypeError
            )
        return cls(PrimitiveType.TUPLE, elements=tuple(elements))

    @classmethod
    def token(cls) -> Shape:
        """Return a token, which only orders operations."""
        return cls(PrimitiveType.TOKEN)

    @classmethod
    def opaque(cls) -> Shape:
        """Return the opaque shape: that of a value which XLA does not interpret."""
        return cls(PrimitiveType.OPAQUE_TYPE)

    @classmethod
    def buffer(cls, array: Shape) -> Shape:
        """Return a buffer around one array."""
        require(array.is_array, "buffer: must hold an array", array)
        return cls(PrimitiveType.BUFFER, elements=(array,))

    def replace(self, **changes: Any) -> Shape:
        """Return a copy with some fields changed."""
        return replace(self, **changes)

    # --- kinds -----------------------------------------------------------------------------------

    @property
    def is_array(self) -> bool:
        """True if the shape is an array."""
        return self.element_type.is_array

    @property
    def is_tuple(self) -> bool:
        """True if the shape is a tuple."""
        return self.element_type is PrimitiveType.TUPLE

    @property
    def is_buffer(self) -> bool:
        """True if the shape is a buffer around an array."""
        return self.element_type is PrimitiveType.BUFFER

    @property
    def unwrapped(self) -> Shape:
        """Array in a buffer; other shapes unchanged."""
        return self.elements[0] if self.is_buffer else self

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.dimensions)

    @property
    def is_static(self) -> bool:
        """True if no array in the shape has a dynamic dimension."""
        return not self.is_dynamic

    @property
    def is_dynamic(self) -> bool:
        """True if some array in the shape has a dynamic dimension."""
        return any(any(leaf.dynamic) for leaf in self.arrays())

    @property
    def is_unbounded_dynamic(self) -> bool:
        """True if some array in the shape has a dimension ``?``."""
        return any(UNBOUNDED in leaf.dimensions for leaf in self.arrays())

    @property
    def is_bounded_dynamic(self) -> bool:
        """True if some array in the shape has a dimension ``<=n``."""
        return any(
            flag and size != UNBOUNDED
            for leaf in self.arrays()
            for size, flag in zip(leaf.dimensions, leaf.dynamic, strict=True)
        )

    def as_array(self) -> Shape:
        """Return the shape itself; ValueError if it is not an array."""
        require(self.is_array, "shape: must be an array", self)
        return self

    def as_tuple(self) -> Shape:
        """Return the shape itself; ValueError if it is not a tuple."""
        require(self.is_tuple, "shape: must be a tuple", self)
        return self

    # --- text ------------------------------------------------------------------------------------

    def to_string(self, *, layout: bool = False) -> str:
        """Return the shape text, with layouts if `layout` is True."""
        if self.is_tuple:
            element_texts = [
                # XLA numbers every fifth element of a tuple in a comment.
                f"{f'/*index={i}*/' if i and i % 5 == 0 else ''}{e.to_string(layout=layout)}"
                for i, e in enumerate(self.elements)
            ]
            return f"({', '.join(element_texts)})"
        if self.is_buffer:
            return f"b({self.elements[0].to_string(layout=layout)})"
        pairs = zip(self.dimensions, self.dynamic, strict=True)
        sizes = ["?" if n == UNBOUNDED else f"{'<=' * d}{n}" for n, d in pairs]
        text = f"{self.element_type.text}[{','.join(sizes)}]"
        if not layout or self.layout is None:
            return text
        # A scalar's layout is printed only if it has properties, as in f32[]{:T(256)}.
        is_empty_layout = not self.rank and str(self.layout) == "{}"
        return text if is_empty_layout else f"{text}{self.layout}"

    def __str__(self) -> str:
        return self.to_string(layout=True)

    def __repr__(self) -> str:
        # parse_shape() gives arrays the default layout, so a repr without layouts must turn that
        # off.
        lacks_layout = any(array.layout is None for array in self.arrays())
        return f"parse_shape({str(self)!r}{', default_layout=False' * lacks_layout})"

    # --- parts -----------------------------------------------------------------------------------

    def parts(self) -> Iterator[Shape]:
        """Yield the shape and all its parts, from left to right, including those in buffers."""
        pending = [self]
        while pending:
            part = pending.pop()
            yield part
            # Reversed, because pop() takes the last one: parts are yielded from left to right.
            pending += reversed(part.elements)

    def arrays(self) -> Iterator[Shape]:
        """Yield the arrays of the shape, from left to right, including those in buffers."""
        return (part for part in self.parts() if part.is_array)

    def subshapes(self, *, post_order: bool = False) -> Iterator[tuple[ShapeIndex, Shape]]:
        """Yield every part with its path, parents first or last; buffers are not entered.

        The array in a buffer is not a part of its own.
        """
        if not post_order:
            yield (), self
        for position, element in enumerate(self.elements if self.is_tuple else ()):
            for path, part in element.subshapes(post_order=post_order):
                yield (position, *path), part
        if post_order:
            yield (), self

    def leaves(self) -> list[tuple[ShapeIndex, Shape]]:
        """Return the parts that are not tuples, with their paths, from left to right."""
        return [(path, part) for path, part in self.subshapes() if not part.is_tuple]

    def part_at(self, path: Sequence[int]) -> Shape | None:
        """Return the part at a path through tuples, or None."""
        shape = self
        for position in check_integers("index", path):
            if not shape.is_tuple or not 0 <= position < len(shape.elements):
                return None
            shape = shape.elements[position]
        return shape

    def with_arrays(self, change: Callable[[Shape], Shape]) -> Shape:
        """Return a copy in which each array is the result of `change`."""
        if self.is_array:
            return change(self)
        if not self.elements:
            return self
        return self.replace(elements=tuple(e.with_arrays(change) for e in self.elements))

    def with_layouts(self, change: Callable[[XlaLayout], XlaLayout | None]) -> Shape:
        """Return a copy in which `change` is applied to each layout; other arrays are unchanged."""
        return self.with_arrays(
            lambda a: a if a.layout is None else a.replace(layout=change(a.layout))
        )

    def is_alike(self, other: Shape, test: Callable[[Shape, Shape], bool]) -> bool:
        """Return whether element types are the same and `test` holds for each pair of elements."""
        return (
            self.element_type is other.element_type
            and len(self.elements) == len(other.elements)
            and all(map(test, self.elements, other.elements))
        )

    # --- validation ------------------------------------------------------------------------------

    def validate(self, *, sizes: bool = True, allow_missing_layouts: bool = False) -> None:
        """Raise ValueError for the first problem of an array in the shape, or of its layout.

        - `sizes`: also require fewer than 2**63 elements and bytes. As in XLA, sizes after a size
          of 0 are not limited, and unbounded sizes are not counted.
        - `allow_missing_layouts`: accept arrays without a layout.
        """
        for array in self.arrays():
            if sizes:
                array.validate_size()
            if array.layout is not None:
                array.validate_layout(array.layout)
            elif not allow_missing_layouts:
                raise_named_error(f"shape {truncate(array)}", "has no layout")

    def validate_size(self) -> None:
        """Raise ValueError if the elements or bytes of an array number 2**63 or more."""
        count = 1
        for size in self.dimensions:
            if size != UNBOUNDED:
                count *= size
            # Test in the loop: as in XLA, a size of 0 further on does not excuse an overflow. This
            # also limits the product of very many sizes.
            if count >= 2**63:
                raise_named_error(
                    f"shape {truncate(self.to_string())}", "has 2**63 elements or more"
                )
        if count * (self.element_type.byte_width or 0) >= 2**63:
            raise_named_error(f"shape {truncate(self.to_string())}", "has 2**63 bytes or more")

    def validate_layout(self, layout: XlaLayout) -> None:
        """Raise ValueError for the first problem of `layout` as a layout of this shape.

        The order must be a permutation of the dimensions; there must be no index type, pointer type
        or physical shape; tiles must not be empty and must have positive sizes or stars; the
        element size must not be negative; splits must be inside of their physical dimension and
        increase. A tuple cannot have a layout; a token or opaque accepts any.

        Not checked, as in XLA: the memory space, unusual element sizes, tiles longer than the rank,
        and a star in the most minor place, which is meaningless (functions of positions reject it).
        """
        shape = self.unwrapped
        problems = layout.problems(shape.dimensions) if shape.is_array else iter(())
        problem = "a tuple has no layout of its own" if shape.is_tuple else next(problems, "")
        if problem:
            raise_named_error(
                f"layout {truncate(layout)} of shape {truncate(shape.to_string())}", problem
            )

    # --- order and sizes -------------------------------------------------------------------------

    @property
    def own_layout(self) -> XlaLayout:
        """Layout of an array; ValueError if it has none."""
        if self.layout is None:
            raise_named_error("shape", f"must be an array with a layout, got {truncate(self)}")
        return self.layout

    @property
    def order(self) -> tuple[int, ...]:
        """Dimensions of an array from the most minor on; row-major without a layout.

        Raises `ValueError` if the shape is not an array or its layout is invalid.
        """
        return row_major_order(self.as_array().rank) if self.layout is None else self.own_order

    @property
    def own_order(self) -> tuple[int, ...]:
        """`order` of an array with a layout; ValueError for other shapes."""
        self.validate_layout(self.own_layout)
        return self.own_layout.minor_to_major

    def physical(self) -> tuple[tuple[int, ...], tuple[Tile, ...]]:
        """Return the sizes from the most major dimension on, and the tiles.

        Raises `ValueError` unless the shape is an array of known sizes with a valid layout.
        """
        return _physical_sizes_and_tiles(self)

    @property
    def size(self) -> int:
        """Number of elements of an array without padding; a bound counts as the size.

        Raises `ValueError` for an unbounded dimension and for shapes that are not arrays.
        """
        is_known = UNBOUNDED not in self.as_array().dimensions
        require(is_known, "shape: an unbounded dimension has no count", self)
        return math.prod(self.dimensions)

    @property
    def element_bits(self) -> int:
        """**Bits** of a stored element: the layout's ``E(n)``, else the type's whole bytes."""
        layout, width = self.as_array().layout, self.element_type.byte_width or 0
        # E(0), the default, is false as well: then an element takes the whole bytes of its type.
        return (layout is not None and layout.element_size_in_bits) or 8 * width

    def bytes_of(self, slots: int) -> int:
        """Return the **bytes** of `slots` stored elements, rounded up."""
        # Negation binds more tightly than //, so this rounds up.
        return -(-slots * self.element_bits // 8)

    @property
    def byte_size(self) -> int:
        """**Bytes** of the elements of an array, **without tiles and tail padding**."""
        return self.bytes_of(self.size)

    def aligned(self, slots: int) -> int:
        """Round a number of slots up to a multiple of the layout's tail padding alignment."""
        step = 1 if self.layout is None else self.layout.tail_padding_alignment
        return -(-slots // step) * step

    @property
    def physical_size(self) -> int:
        """**Slots** of an array's buffer, including all tiles, stars and the tail alignment.

        >>> from tensorlayout.xla import parse_shape
        >>> parse_shape("f32[3,5]{1,0:T(2,2)L(32)}").physical_size
        32
        """
        return self.aligned(math.prod(tiling.tiled_sizes(*self.physical())))

    @property
    def physical_byte_size(self) -> int:
        """**Bytes** of an array's buffer, including all tiles, stars, the tail and ``E(n)``.

        >>> from tensorlayout.xla import parse_shape
        >>> parse_shape("f32[1000,1]{1,0:T(8,128)}").physical_byte_size
        512000
        """
        return self.bytes_of(self.physical_size)

    # --- positions of elements -------------------------------------------------------------------

    def contains(self, index: Sequence[int]) -> bool:
        """Return whether an index has one entry per dimension, each inside its size."""
        pairs = zip(index, self.dimensions, strict=False)
        return self.is_array and len(index) == self.rank and all(0 <= i < n for i, n in pairs)

    def checked_index(self, name: str, index: Sequence[int]) -> tuple[int, ...]:
        """Return an index as integers; ValueError unless it is inside the array."""
        entries = check_integers(name, index)
        require(self.contains(entries), f"{name}: must lie inside", entries, subject=self)
        return entries

    def position(self, index: Sequence[int], *, first_tile_only: bool = False) -> int:
        """Return the position of an element in the buffer, by the order and **all** tiles.

        `first_tile_only`: count only the first tile, and none for vectors, as XLA's `LinearIndex`.
        Stars follow XLA's documentation, because XLA's function for all tiles does not support
        them.

        Raises `ValueError` for an index outside the array, for meaningless tiles, and for a star if
        `first_tile_only`.

        >>> from tensorlayout.xla import parse_shape
        >>> shape = parse_shape("f32[8]{0:T(2,2)}")
        >>> shape.position([5]), shape.position([5], first_tile_only=True)
        (9, 5)
        """
        sizes, tiles = self.physical()
        tiles = tiling.only_first_tile(tiles, self.rank) if first_tile_only else tiles
        entries = self.checked_index("indices", index)
        return tiling.slot_of_index(
            [entries[d] for d in self.own_layout.major_to_minor], sizes, tiles
        )

    def index_at(self, position: int) -> tuple[int, ...]:
        """Return the index of the element at a buffer position.

        In padding, some entry is usually not below its size. **The padding of a tile with more
        dimensions than the array, or that does not divide the tile before it, gives the index of
        another element instead.** Use `element_at` to detect all padding.

        Raises `ValueError` for a position outside the tiled buffer.
        """
        sizes, tiles = self.physical()
        slots = math.prod(tiling.tiled_sizes(sizes, tiles))
        require_in_range(range(slots), "linear_index", position, self)
        physical = tiling.physical_index_of_slot(position, sizes, tiles)
        return tuple(permute_inverse(physical, self.own_layout.major_to_minor))

    def element_at(self, position: int) -> tuple[int, ...] | None:
        """Return the index of the element at a position, **None for padding**.

        Raises `ValueError` for a position outside the tiled buffer.

        >>> from tensorlayout.xla import parse_shape
        >>> shape = parse_shape("f32[8]{0:T(2,2)}")
        >>> shape.element_at(9), shape.element_at(10), shape.index_at(10)
        ((5,), None, (4,))
        """
        # In padding, `index_at` gives an index beyond the sizes or that of another element. Only an
        # element's own position leads back to it.
        candidate = self.index_at(position)
        return (
            candidate if self.contains(candidate) and self.position(candidate) == position else None
        )

    # --- removing and reordering dimensions ------------------------------------------------------

    def delete_dimensions(self, dimensions: Sequence[int]) -> Shape:
        """Return the shape without some logical dimensions; the layout's tiles are unchanged.

        `dimensions` may be in any order. Raises `ValueError` for a repeated or missing dimension,
        and for shapes that are not arrays.
        """
        removed = check_integers("delete_dimensions", dimensions)
        remaining = sorted(set(range(self.rank)) - set(removed))
        are_distinct = self.is_array and len(remaining) + len(removed) == self.rank
        require(
            are_distinct,
            "delete_dimensions: must be different dimensions of",
            removed,
            subject=self,
        )
        layout = None if self.layout is None else self.layout.delete_dimensions(set(removed))
        return self.reordered(remaining, layout)

    def reordered(self, dims: Sequence[int], layout: XlaLayout | None) -> Shape:
        """Return the array with the sizes and flags of the dimensions `dims`, in another layout."""
        sizes, flags = [self.dimensions[d] for d in dims], [self.dynamic[d] for d in dims]
        return Shape.array(self.element_type, sizes, layout, flags)


# A cache outside of the class, because a dataclass with slots has no place for a cached property.
# Equal shapes may differ in the metadata prefix, which does not influence the result.
@functools.lru_cache(1024)
def _physical_sizes_and_tiles(shape: Shape) -> tuple[tuple[int, ...], tuple[Tile, ...]]:
    layout = shape.layout
    if not shape.is_array or layout is None or UNBOUNDED in shape.dimensions:
        raise_named_error(
            "shape", f"must be an array of known sizes with a layout, got {truncate(shape)}"
        )
    shape.validate_layout(layout)
    return tuple(shape.dimensions[d] for d in layout.major_to_minor), layout.tiles
