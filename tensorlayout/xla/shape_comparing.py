"""ShapeUtil: shapes compared, wholly or with some of it ignored."""

from __future__ import annotations

from collections.abc import Collection, Set

from tensorlayout.xla import layout_util
from tensorlayout.xla.primitive_types import PrimitiveType
from tensorlayout.xla.shape_making import checked_array
from tensorlayout.xla.shapes import UNBOUNDED, Shape

_PARTS_OF_LAYOUT = {
    "tiles",
    "element_size_in_bits",
    "memory_space",
    "tail_padding_alignment",
    "split_configs",
}
_IGNORABLE = _PARTS_OF_LAYOUT | {
    "layout",
    "element_type",
    "fp_precision",
    "dimensions",
    "dynamic",
    "buffer",
}


def equal(lhs: Shape, rhs: Shape, ignore: Collection[str] = ()) -> bool:
    """Whether two shapes are equal; what `ignore` names is left out.

    `ignore`: of ``layout`` (or of it only ``tiles``, ``element_size_in_bits``, ``memory_space``,
    ``tail_padding_alignment``, ``split_configs``), ``element_type``, ``fp_precision`` (all floats
    alike), ``dimensions`` (sizes, not their number), ``dynamic`` (then ``?`` matches any size),
    ``buffer`` (the wrapper). A present layout differs from a missing one. ValueError for others.
    """
    return _equal(lhs, rhs, layout_util.checked_names(ignore, _IGNORABLE))


def _equal(lhs: Shape, rhs: Shape, ignore: Set[str]) -> bool:
    if "buffer" in ignore:
        lhs = lhs.elements[0] if lhs.is_buffer else lhs
        rhs = rhs.elements[0] if rhs.is_buffer else rhs
    if not (lhs.is_array and rhs.is_array):
        return (
            lhs.element_type is rhs.element_type
            and len(lhs.elements) == len(rhs.elements)
            and all(_equal(a, b, ignore) for a, b in zip(lhs.elements, rhs.elements, strict=True))
        )
    return (
        _types_equal(lhs, rhs, ignore)
        and lhs.rank == rhs.rank
        and _sizes_equal(lhs, rhs, ignore)
        and _layouts_equal(lhs, rhs, ignore)
        and ("dynamic" in ignore or lhs.dynamic == rhs.dynamic)
    )


def _types_equal(lhs: Shape, rhs: Shape, ignore: Set[str]) -> bool:
    if "element_type" in ignore:
        return True
    if "fp_precision" in ignore:
        return same_element_type_ignoring_fp_precision(lhs, rhs)
    return same_element_type(lhs, rhs)


def _sizes_equal(lhs: Shape, rhs: Shape, ignore: Set[str]) -> bool:
    if "dimensions" in ignore:
        return True
    if "dynamic" in ignore:
        return same_dimensions(lhs, rhs)
    return lhs.dimensions == rhs.dimensions


def _layouts_equal(lhs: Shape, rhs: Shape, ignore: Set[str]) -> bool:
    if "layout" in ignore or lhs.layout is None or rhs.layout is None:
        return "layout" in ignore or lhs.layout is rhs.layout
    return layout_util.equal(lhs.layout, rhs.layout, ignore & _PARTS_OF_LAYOUT)


def equal_ignoring_element_type(lhs: Shape, rhs: Shape) -> bool:
    """Whether shapes are equal but for their element types."""
    return equal(lhs, rhs, ("element_type",))


def equal_ignoring_fp_precision(lhs: Shape, rhs: Shape) -> bool:
    """Whether shapes are equal, all floating-point types taken as one."""
    return equal(lhs, rhs, ("fp_precision",))


def compatible(lhs: Shape, rhs: Shape) -> bool:
    """Whether types, tuples and sizes are equal; layouts and dynamic flags play no role.

    ``?`` is compatible with any size.
    """
    return equal(lhs, rhs, ("layout", "dynamic"))


def compatible_ignoring_element_type(lhs: Shape, rhs: Shape) -> bool:
    """`compatible` whatever the element types; an array is never compatible with a token."""
    return equal(lhs, rhs, ("layout", "dynamic", "element_type"))


def compatible_ignoring_fp_precision(lhs: Shape, rhs: Shape) -> bool:
    """`compatible` with all floating-point types taken as one, whatever their widths."""
    return equal(lhs, rhs, ("layout", "dynamic", "fp_precision"))


def compatible_kind(lhs: Shape, rhs: Shape) -> bool:
    """Whether the tuples are alike and the arrays in them have equal ranks, no more."""
    return equal(lhs, rhs, ("layout", "dynamic", "element_type", "dimensions"))


def same_dimensions(lhs: Shape, rhs: Shape) -> bool:
    """Whether two arrays have equal sizes, whatever their types; ``?`` equals any size."""
    checked_array("same_dimensions", lhs)
    checked_array("same_dimensions", rhs)
    return lhs.rank == rhs.rank and all(
        m == n or UNBOUNDED in (m, n) for m, n in zip(lhs.dimensions, rhs.dimensions, strict=True)
    )


def same_rank(lhs: Shape, rhs: Shape) -> bool:
    """Whether two arrays have as many dimensions."""
    return checked_array("same_rank", lhs).rank == checked_array("same_rank", rhs).rank


def same_element_type(lhs: Shape, rhs: Shape) -> bool:
    """Whether the element types are equal."""
    return lhs.element_type is rhs.element_type


def same_element_type_ignoring_fp_precision(lhs: Shape, rhs: Shape) -> bool:
    """Whether the element types are equal, all floating-point types taken as one."""
    floating = lhs.element_type.is_floating and rhs.element_type.is_floating
    return floating or same_element_type(lhs, rhs)


# The largest exponent e of a finite value below 2**e, and the bits of the significand.
RANGES = {
    PrimitiveType.F16: (16, 11),
    PrimitiveType.BF16: (128, 8),
    PrimitiveType.F32: (128, 24),
    PrimitiveType.F64: (1024, 53),
    PrimitiveType.F8E5M2: (16, 3),
    PrimitiveType.F8E4M3: (8, 4),
    PrimitiveType.F8E4M3FN: (9, 4),
    PrimitiveType.F8E4M3B11FNUZ: (5, 4),
    PrimitiveType.F8E5M2FNUZ: (16, 3),
    PrimitiveType.F8E4M3FNUZ: (8, 4),
    PrimitiveType.F8E3M4: (4, 5),
    PrimitiveType.F4E2M1FN: (3, 2),
    PrimitiveType.F6E3M2FN: (5, 3),
    PrimitiveType.F6E2M3FN: (3, 4),
    PrimitiveType.F8E8M0FNU: (128, 1),
}


def _precision(kind: PrimitiveType) -> tuple[bool, int, int, int, bool]:
    """What XLA compares, in its order: complex, range, significand, bits, sign."""
    is_complex = kind.category == "complex"
    exponent, digits = RANGES.get(kind.component if is_complex else kind, (-1, -1))
    signed = kind.category == "signed integer"
    return is_complex, exponent, digits, kind.bit_width or 0, signed


def higher_precision_element_type(lhs: Shape, rhs: Shape) -> PrimitiveType:
    """The type that XLA prefers of two: complex, more range, more significand, more bits, signed.

    **Not the one that holds the values of both**: of s64 and f16 it is f16, of f16 and bf16 bf16.
    ValueError for different types that tie, and for types of no array.
    """
    first, second = lhs.element_type, rhs.element_type
    checked_array("higher_precision_element_type", lhs)
    checked_array("higher_precision_element_type", rhs)
    if first is not second and _precision(first) == _precision(second):
        msg = f"higher_precision_element_type: {first.text} and {second.text} tie"
        raise ValueError(msg)
    return max(first, second, key=_precision)


def element_can_upcast(source: Shape, target: Shape) -> bool:
    """Whether the target's type is the one that `higher_precision_element_type` prefers.

    **Not whether values survive**: s64 to f16 is True.
    """
    return higher_precision_element_type(source, target) is target.element_type


def equal_structure(lhs: Shape, rhs: Shape) -> bool:
    """Whether the tuples are alike, whatever their leaves."""
    if lhs.is_tuple != rhs.is_tuple or (lhs.is_tuple and len(lhs.elements) != len(rhs.elements)):
        return False
    if not lhs.is_tuple:
        return True
    return all(map(equal_structure, lhs.elements, rhs.elements))


def is_prefix(prefix: Shape, shape: Shape) -> bool:
    """Whether `prefix` equals `shape`, or is a tuple of prefixes of its first elements.

    The empty tuple is a prefix of anything, of an array too.
    """
    if not prefix.is_tuple or not prefix.elements:
        return prefix.is_tuple or equal(prefix, shape)
    if not shape.is_tuple or len(prefix.elements) > len(shape.elements):
        return False
    return all(map(is_prefix, prefix.elements, shape.elements))


def dynamic_array_shape_is_compatible(dynamic_shape: Shape, bounded_shape: Shape) -> bool:
    """Whether each size is at most that of the bounding array; ``?`` there bounds nothing.

    Element types play no role.
    """
    checked_array("dynamic_array_shape_is_compatible", dynamic_shape)
    checked_array("dynamic_array_shape_is_compatible", bounded_shape)
    return dynamic_shape.rank == bounded_shape.rank and all(
        bound == UNBOUNDED or (size != UNBOUNDED and size <= bound)
        for size, bound in zip(dynamic_shape.dimensions, bounded_shape.dimensions, strict=True)
    )


def dynamic_shape_is_compatible(dynamic_shape: Shape, bounded_shape: Shape) -> bool:
    """`dynamic_array_shape_is_compatible` for each array of tuples that are alike."""
    if dynamic_shape.elements or bounded_shape.elements or not dynamic_shape.is_array:
        return (
            dynamic_shape.element_type is bounded_shape.element_type
            and len(dynamic_shape.elements) == len(bounded_shape.elements)
            and all(
                map(dynamic_shape_is_compatible, dynamic_shape.elements, bounded_shape.elements)
            )
        )
    return bounded_shape.is_array and dynamic_array_shape_is_compatible(
        dynamic_shape, bounded_shape
    )
