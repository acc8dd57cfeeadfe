"""LayoutUtil: where elements stand in tiled buffers, and the pieces of split dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from tensorlayout.layout.checks import checked_integers
from tensorlayout.words import cut, shown
from tensorlayout.xla import tiles as tiling
from tensorlayout.xla.layouts import SplitConfig, XlaLayout
from tensorlayout.xla.permutations import inverse_permutation
from tensorlayout.xla.shapes import UNBOUNDED, Shape
from tensorlayout.xla.tiles import Tile
from tensorlayout.xla.validation import validate_layout_for_shape


def required_layout(name: str, of: Shape | XlaLayout) -> XlaLayout:
    """A layout, or that of an array; ValueError without one."""
    found = of.layout if isinstance(of, Shape) else of
    if found is None:
        msg = f"{name}: must be a layout, or an array with one, got {cut(of)}"
        raise ValueError(msg)
    return found


def minor_to_major(of: Shape | XlaLayout) -> tuple[int, ...]:
    """The order of an array or a layout; ValueError for a shape without a layout."""
    return required_layout("minor_to_major", of).minor_to_major


def minor(layout: XlaLayout, physical: int) -> int:
    """The logical dimension that is `physical`-th from the most **minor** end.

    ValueError outside 0 to n - 1, which XLA notices in debug builds only.
    """
    if not 0 <= physical < layout.rank:
        msg = f"minor, major: must be from 0 to {layout.rank - 1} for {cut(layout)}"
        msg += f", got {shown(physical)}"
        raise ValueError(msg)
    return layout.minor_to_major[physical]


def major(layout: XlaLayout, physical: int) -> int:
    """The logical dimension that is `physical`-th from the most **major** end."""
    return minor(layout, layout.rank - 1 - physical)


def make_logical_to_physical(layout: XlaLayout) -> tuple[int, ...]:
    """For each logical dimension its place counted from the most major end: `major` inverted.

    >>> make_logical_to_physical(XlaLayout(minor_to_major=(2, 4, 3, 1, 0)))
    (0, 1, 4, 2, 3)
    """
    return tuple(inverse_permutation(layout.minor_to_major[::-1]))


def physical_sizes(name: str, shape: Shape) -> tuple[tuple[int, ...], tuple[Tile, ...]]:
    """The sizes from the most major dimension on, and the tiles, of a valid array.

    ValueError for anything else than an array of known sizes with a valid layout.
    """
    if not isinstance(shape, Shape):
        msg = f"{name}: must be a Shape, got {shown(shape)}"
        raise TypeError(msg)
    if not shape.is_array or shape.layout is None or UNBOUNDED in shape.dimensions:
        msg = f"{name}: must be an array of known sizes with a layout, got {cut(shape)}"
        raise ValueError(msg)
    validate_layout_for_shape(shape.layout, shape)
    order = shape.layout.minor_to_major[::-1]
    return tuple(shape.dimensions[d] for d in order), shape.layout.tiles


def _physical_index(name: str, shape: Shape, indices: Sequence[int]) -> tuple[int, ...]:
    at = checked_integers("indices", indices)
    if len(at) != shape.rank or not all(
        0 <= i < n for i, n in zip(at, shape.dimensions, strict=True)
    ):
        msg = f"{name}: the index must lie inside {cut(shape)}, got {shown(at)}"
        raise ValueError(msg)
    return tuple(at[d] for d in reversed(required_layout(name, shape).minor_to_major))


def linear_index(shape: Shape, indices: Sequence[int]) -> int:
    """The position of an element by the **first tile only**, and for vectors by no tile at all.

    That is XLA's `LinearIndex`; `linear_index_for_nested_tiling` counts all tiles. ValueError for
    an index outside, and for a star, which XLA would take for a number.

    >>> from tensorlayout.xla import parse_shape
    >>> linear_index(parse_shape("f32[8]{0:T(2,2)}"), [5])
    5
    >>> linear_index_for_nested_tiling(parse_shape("f32[8]{0:T(2,2)}"), [5])
    9
    """
    sizes, tiles = physical_sizes("linear_index", shape)
    first = () if len(sizes) < 2 else tiles[:1]
    if any(tile.has_star for tile in first):
        msg = "linear_index: does not know stars, use linear_index_for_nested_tiling"
        msg += f", got {cut(shape)}"
        raise ValueError(msg)
    return tiling.position(_physical_index("linear_index", shape, indices), sizes, first)


def linear_index_for_nested_tiling(shape: Shape, indices: Sequence[int]) -> int:
    """The position of an element in the buffer: the order and **all** tiles count, stars too.

    XLA's function of this name knows no stars; here they follow XLA's written rule. ValueError for
    an index outside the shape, and for tiles that mean nothing.

    >>> from tensorlayout.xla import parse_shape
    >>> linear_index_for_nested_tiling(parse_shape("f32[3,5]{1,0:T(2,2)}"), [2, 3])
    17
    """
    name = "linear_index_for_nested_tiling"
    sizes, tiles = physical_sizes(name, shape)
    return tiling.position(_physical_index(name, shape, indices), sizes, tiles)


def delinearize_index_for_nested_tiling(shape: Shape, linear_index: int) -> tuple[int, ...]:
    """The index of a position. **On padding some entry is at its size or beyond**, as a rule.

    **Not in the padding of a tile with more dimensions than the array, or that does not divide the
    tile before it**: there it is the index of another element. `element_at` tells all padding.
    ValueError for a position outside the tiled buffer.
    """
    name = "delinearize_index_for_nested_tiling"
    sizes, tiles = physical_sizes(name, shape)
    slots = math.prod(tiling.expanded(sizes, tiles))
    if not 0 <= linear_index < slots:
        msg = f"{name}: must be at least 0 and below the {slots} positions of {cut(shape)}"
        msg += f", got {shown(linear_index)}"
        raise ValueError(msg)
    physical = tiling.index_at(linear_index, sizes, tiles)
    return tuple(physical[p] for p in make_logical_to_physical(required_layout(name, shape)))


def element_at(shape: Shape, linear_index: int) -> tuple[int, ...] | None:
    """The index of the element at a position, **None for padding**. Not a function of XLA's.

    ValueError for a position outside the tiled buffer.

    >>> from tensorlayout.xla import parse_shape
    >>> shape = parse_shape("f32[8]{0:T(2,2)}")
    >>> element_at(shape, 9), element_at(shape, 10)
    ((5,), None)
    >>> delinearize_index_for_nested_tiling(shape, 10)
    (4,)
    """
    found = delinearize_index_for_nested_tiling(shape, linear_index)
    if any(i >= n for i, n in zip(found, shape.dimensions, strict=True)):
        return None
    return found if linear_index_for_nested_tiling(shape, found) == linear_index else None


def is_untiled_layout(sizes: Sequence[int], tiles: Sequence[Tile | Sequence[int]]) -> bool:
    """Whether tiles leave the order of **physical** sizes as it is, and add no padding.

    A sufficient test, as in XLA: tiles that undo each other may be judged False. ValueError for a
    tile with more dimensions than there are.
    """
    known = checked_integers("sizes", sizes)
    given = [tile if isinstance(tile, Tile) else Tile(tuple(tile)) for tile in tiles]
    rank = len(known)
    for tile in given:
        stars = sum(n == tiling.COMBINE for n in tile.dimensions)
        if len(tile.dimensions) > rank:
            msg = f"is_untiled_layout: the tile {cut(tile)} is longer than the {rank} dimensions"
            raise ValueError(msg)
        rank += len(tile.dimensions) - 2 * stars
    return tiling.change_nothing(known, given)


# --- splits --------------------------------------------------------------------------------------


def get_split_config(shape: Shape) -> SplitConfig | None:
    """The one split config of an array, None without any; ValueError for several."""
    splits = () if shape.layout is None else shape.layout.split_configs
    if len(splits) > 1:
        msg = f"get_split_config: must have at most one, got {cut(shape)}"
        raise ValueError(msg)
    return splits[0] if splits else None


def max_split_size(shape: Shape, dim: int) -> int:
    """The largest piece of one **logical** dimension between its split points.

    >>> from tensorlayout.xla import parse_shape
    >>> max_split_size(parse_shape("f32[150,200,100]{0,1,2:SC(0:30)(1:40,130)}"), 1)
    90
    """
    sizes, _ = physical_sizes("max_split_size", shape)
    layout = required_layout("max_split_size", shape)
    if not 0 <= dim < shape.rank:
        msg = f"max_split_size: {cut(shape)} has no dimension {shown(dim)}"
        raise ValueError(msg)
    at = make_logical_to_physical(layout)[dim]
    for split in layout.split_configs:
        if split.dimension == at:
            ends = (0, *split.split_indices, sizes[at])
            return max(b - a for a, b in pairwise(ends))
    return sizes[at]


def max_elements_in_per_split(shape: Shape) -> int:
    """The elements in the largest piece of an array: the product over its dimensions."""
    physical_sizes("max_elements_in_per_split", shape)
    return math.prod(max_split_size(shape, d) for d in range(shape.rank))
