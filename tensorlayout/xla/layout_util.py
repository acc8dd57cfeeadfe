"""XLA's LayoutUtil: creating and comparing layouts, their properties, and tiled positions."""
# mypy: disable-error-code="empty-body"
# ruff: noqa: D103 - `define_by` writes the docstrings

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from itertools import chain, pairwise
from typing import Any

from tensorlayout.layout import check_integers
from tensorlayout.xla.calling import (
    define_by,
    export_with_argument_checks,
    require,
    require_in_range,
)
from tensorlayout.xla.layouts import SplitConfig, XlaLayout
from tensorlayout.xla.primitive_types import PrimitiveType
from tensorlayout.xla.shapes import Shape
from tensorlayout.xla.tiles import Tile, as_tile, tiling_steps

# --- creation ------------------------------------------------------------------------------------


@define_by("XlaLayout(minor_to_major=minor_to_major, **properties)")
def make_layout(minor_to_major: Sequence[int], **properties: Any) -> XlaLayout: ...
@define_by(
    "make_layout(check_integers('major_to_minor', major_to_minor)[::-1])",
    "JAX writes orders as `major_to_minor`.",
)
def make_layout_from_major_to_minor(major_to_minor: Sequence[int]) -> XlaLayout: ...
@define_by("XlaLayout.row_major(num_dims)")
def make_descending_layout(num_dims: int) -> XlaLayout: ...
@define_by("make_layout(tuple(range(num_dims)))")
def make_ascending_layout(num_dims: int) -> XlaLayout: ...
@define_by("XlaLayout.row_major(2)")
def get_default_layout_for_r2() -> XlaLayout: ...
@define_by("XlaLayout.row_major(3)")
def get_default_layout_for_r3() -> XlaLayout: ...
@define_by("XlaLayout.row_major(4)")
def get_default_layout_for_r4() -> XlaLayout: ...


get_default_layout_for_rank = make_descending_layout


def get_default_layout_for_shape(shape: Shape) -> XlaLayout:
    """Return the row-major layout of an array, or the empty layout of a token.

    Raises `ValueError` if `shape` is a tuple.
    """
    require(not shape.is_tuple, "shape: one layout describes no tuple", shape)
    return XlaLayout.row_major(shape.unwrapped.rank)


# --- layouts of whole shapes ---------------------------------------------------------------------


def set_to_default_layout(shape: Shape) -> Shape:
    """Return the shape with each array in row-major order; tiles and other fields are kept.

    To keep only the order and split configs, pass the result to
    `shape_util.device_shape_to_host_shape`.
    """

    def with_row_major_order(array: Shape) -> Shape:
        order = XlaLayout.row_major(array.rank).minor_to_major
        return array.replace(layout=(array.layout or XlaLayout()).replace(minor_to_major=order))

    return shape.with_arrays(with_row_major_order)


get_with_default_layout = set_to_default_layout


@define_by("shape.with_layouts(lambda layout: None)")
def clear_layout(shape: Shape) -> Shape: ...
@define_by("shape.with_layouts(lambda layout: layout.replace(tiles=()))")
def clear_tiles(shape: Shape) -> Shape: ...
@define_by("all(a.layout is not None for a in shape.arrays())", "So it is True for a token.")
def has_layout(shape: Shape) -> bool: ...
@define_by(
    "any(has_layout(leaf) for _, leaf in shape.leaves())",
    "A token counts; an empty tuple has none.",
)
def has_any_layout(shape: Shape) -> bool: ...
@define_by("any(a.layout is not None and a.layout.element_size_in_bits for a in shape.arrays())")
def has_custom_element_size_in_bits(shape: Shape) -> bool: ...


def copy_layout_between_shapes(src: Shape, dst: Shape) -> Shape:
    """Return `dst` with the layouts of `src`, array by array; sizes and types may differ.

    A source array **without** a layout removes that of the destination.

    Raises `ValueError` if the tuple structures or the numbers of dimensions differ, or a layout
    does not fit its destination.
    """
    alike = len(src.elements) == len(dst.elements) and src.is_tuple == dst.is_tuple
    require(alike, "shape: must be tuples alike", src, dst)
    # This includes buffers, whose only element is their array.
    if src.elements:
        pairs = zip(src.elements, dst.elements, strict=True)
        return dst.replace(elements=tuple(copy_layout_between_shapes(s, d) for s, d in pairs))
    if not src.is_array:
        return dst
    if src.layout is None:
        return dst.replace(layout=None)
    require(dst.is_array and src.rank == dst.rank, "shape: must have equal ranks", src, dst)
    dst.validate_layout(src.layout)
    return dst.replace(layout=src.layout)


def layouts_in_shapes_equal(lhs: Shape, rhs: Shape, ignore: Collection[str] = ()) -> bool:
    """Return whether two shapes have equal tuple structures, ranks and layouts.

    - `lhs`, `rhs`: sizes and types are not compared. A token or opaque `lhs` equals anything: XLA
      checks the left side only.
    - `ignore`: names of layout fields to ignore. XLA drops this option inside tuples; here it
      applies there, too.

    Raises `ValueError` for other names in `ignore`.
    """
    if lhs.is_tuple or lhs.is_buffer:
        return lhs.is_alike(rhs, lambda a, b: layouts_in_shapes_equal(a, b, ignore))
    if not lhs.is_array or lhs.rank != rhs.rank:
        return not lhs.is_array
    if lhs.layout is None or rhs.layout is None:
        return lhs.layout is rhs.layout
    return lhs.layout.equals(rhs.layout, ignore)


# --- properties ----------------------------------------------------------------------------------


@define_by("lhs.equals(rhs, ignore)")
def equal(lhs: XlaLayout, rhs: XlaLayout, ignore: Collection[str] = ()) -> bool: ...
@define_by("str(layout)")
def human_string(layout: XlaLayout) -> str: ...
@define_by("layout.is_row_major")
def has_descending_layout(layout: XlaLayout) -> bool: ...
@define_by("layout.is_column_major")
def has_ascending_layout(layout: XlaLayout) -> bool: ...


is_monotonic_with_dim0_major = has_descending_layout
is_monotonic_with_dim0_minor = has_ascending_layout


def are_dimensions_consecutive(layout: XlaLayout, dims: Sequence[int]) -> bool:
    """Return whether logical dimensions are adjacent in the order of the layout.

    `dims` may be in any order. Raises `ValueError` for a dimension that `layout` does not have.
    """
    wanted_dims = check_integers("dims", dims)
    require(
        {*wanted_dims} <= {*layout.minor_to_major},
        "dims: must be dimensions of",
        wanted_dims,
        subject=layout,
    )
    positions = sorted(layout.minor_to_major.index(d) for d in wanted_dims)
    # No dimensions are adjacent, too; positions[0] needs at least one.
    return not positions or positions == list(range(positions[0], positions[0] + len(positions)))


@define_by(
    "layout.replace(minor_to_major=(*layout.order_without(dim), dim))",
    "`shape_util.move_dim_to_major`, for shapes, keeps only the order of a layout.",
)
def move_dim_to_major(layout: XlaLayout, dim: int) -> XlaLayout: ...
@define_by("layout.replace(minor_to_major=(dim, *layout.order_without(dim)))")
def move_dim_to_minor(layout: XlaLayout, dim: int) -> XlaLayout: ...
@define_by("0 if shape.layout is None else shape.layout.memory_space")
def memory_space(shape: Shape) -> int: ...


def byte_strides_is_major_to_minor(
    byte_strides: Sequence[int], dims: Sequence[int], element_type: PrimitiveType
) -> bool:
    """Return whether byte strides are those of a packed row-major array.

    Unlike NumPy's flags, this compares strides of dimensions of size 1, too. Raises `ValueError` if
    `byte_strides` and `dims` differ in length. `element_type` gives the bytes of an element.
    """
    steps, sizes = check_integers("byte_strides", byte_strides), check_integers("dims", dims)
    require(len(steps) == len(sizes), "byte_strides: must have equal lengths", steps, sizes)
    # Types that are not array types have no width; then only strides of 0 are equal.
    width = element_type.byte_width or 0
    return all(s == width * math.prod(sizes[d + 1 :]) for d, s in enumerate(steps))


# --- positions in tiled buffers ------------------------------------------------------------------


@define_by("(of.own_layout if isinstance(of, Shape) else of).minor_to_major")
def minor_to_major(of: Shape | XlaLayout) -> tuple[int, ...]: ...


def minor(layout: XlaLayout, physical: int) -> int:
    """Return the logical dimension that is `physical`-th from the most **minor** end.

    Raises `ValueError` unless `physical` is from 0 to rank - 1; XLA checks in debug builds only.
    """
    require_in_range(range(layout.rank), "physical", physical, layout)
    return layout.minor_to_major[physical]


@define_by("minor(layout, layout.rank - 1 - physical)", "Counts from the most **major** end.")
def major(layout: XlaLayout, physical: int) -> int: ...
@define_by("layout.logical_to_physical")
def make_logical_to_physical(layout: XlaLayout) -> tuple[int, ...]: ...
@define_by(
    "shape.position(indices, first_tile_only=True)", "**Tiles of vectors are ignored**, as in XLA."
)
def linear_index(shape: Shape, indices: Sequence[int]) -> int: ...
@define_by("shape.position(indices)")
def linear_index_for_nested_tiling(shape: Shape, indices: Sequence[int]) -> int: ...
@define_by("shape.index_at(linear_index)")
def delinearize_index_for_nested_tiling(shape: Shape, linear_index: int) -> tuple[int, ...]: ...
@define_by("shape.element_at(linear_index)", "XLA has no such function.")
def element_at(shape: Shape, linear_index: int) -> tuple[int, ...] | None: ...


def is_untiled_layout(sizes: Sequence[int], tiles: Sequence[Tile | Sequence[int]]) -> bool:
    """Return whether tiles neither change the order of **physical** sizes nor add padding.

    Each tile is tested on its own, as in XLA, so the result may be False for tiles that undo each
    other. A star changes nothing.

    `sizes`, `tiles`: most major first. Raises `ValueError` for a tile with more dimensions than
    `sizes`.
    """
    # A tile leaves the order alone if, after its leading sizes of 1, only the first covered
    # dimension has more than one tile: (6, 4) with T(2,4) becomes (3, 1, 2, 4), the same order.
    # With T(2,2) it becomes (3, 2, 2, 2), where the second count moves in front of the rows of a
    # tile.
    size_tuple = check_integers("sizes", sizes)
    tile_list = [*map(as_tile, tiles)]
    untiled = True
    # No early exit: the length of every tile is checked, whatever the tiles before it do.
    for tile, step in zip(tile_list, tiling_steps(size_tuple, tile_list), strict=True):
        rank = step.rank
        require(len(tile.dimensions) <= rank, f"tiles: at most {rank} sizes are allowed", tile)
        first = next((d for d, t in enumerate(step.tile_sizes) if t != 1), len(step.tile_sizes))
        pads = any(
            n % t
            for n, t in zip(step.merged_sizes[step.uncovered_count :], step.tile_sizes, strict=True)
        )
        untiled &= not pads and all(count == 1 for count in step.tile_counts[first + 1 :])
    return untiled


# --- splits --------------------------------------------------------------------------------------


def get_split_config(shape: Shape) -> SplitConfig | None:
    """Return the only split config of an array, or None; ValueError if it has several."""
    splits = () if shape.layout is None else shape.layout.split_configs
    require(len(splits) <= 1, "shape: must have at most one split config", shape)
    return splits[0] if splits else None


def max_split_size(shape: Shape, dim: int) -> int:
    """Return the size of the largest part between split points of a **logical** dimension."""
    sizes, layout = shape.physical()[0], shape.own_layout
    require_in_range(range(shape.rank), "dim", dim, shape)
    physical_dim = layout.logical_to_physical[dim]
    # The layout was validated by physical(), so at most one split config has this dimension, and
    # its points lie strictly between 0 and the size.
    cuts = (
        split.split_indices for split in layout.split_configs if split.dimension == physical_dim
    )
    return max(b - a for a, b in pairwise((0, *chain.from_iterable(cuts), sizes[physical_dim])))


@define_by("math.prod(max_split_size(shape, d) for d, _ in enumerate(shape.physical()[0]))")
def max_elements_in_per_split(shape: Shape) -> int: ...


# --- validation ----------------------------------------------------------------------------------


@define_by("shape.validate_layout(layout)")
def validate_layout_for_shape(layout: XlaLayout, shape: Shape) -> None: ...
@define_by("shape.validate(sizes=False, allow_missing_layouts=allow_missing_layouts)")
def validate_layout_in_shape(shape: Shape, allow_missing_layouts: bool = False) -> None: ...


export_with_argument_checks(globals())
