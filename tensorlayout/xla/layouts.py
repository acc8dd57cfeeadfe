"""`XlaLayout`: XLA's layout of an array, as an immutable value."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Collection, Iterator, Sequence, Set
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from typing import Any, TypeVar

from tensorlayout.errors import raise_named_error, short_repr, truncate
from tensorlayout.layout import COMBINE, check_integer, check_integers, row_major_order
from tensorlayout.xla.calling import require
from tensorlayout.xla.permutations import inverse_permutation
from tensorlayout.xla.primitive_types import PrimitiveType
from tensorlayout.xla.tiles import Tile, as_tile

_T = TypeVar("_T")
# XLA stores a memory space in 8 signed bits, and dimension numbers in 64.
SPACES = range(-128, 128)
INTEGERS = range(-(2**63), 2**63)

# Properties in layout text and their fields. XLA's parser requires this order.
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
_ALL_BUT_ORDER = "all but minor_to_major"


@dataclass(frozen=True, slots=True)
class SplitConfig:
    """Split of one **physical** dimension (0 is the most major) over several memories.

    `split_indices`: ascending first indices of all parts except the first.

    >>> from tensorlayout.xla import SplitConfig, XlaLayout
    >>> str(XlaLayout(minor_to_major=(1, 0), split_configs=(SplitConfig(0, (4,)),)))
    '{1,0:SC(0:4)}'
    """

    dimension: int
    split_indices: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "dimension", check_integer("split dimension", self.dimension))
        points = check_integers("split indices", self.split_indices)
        object.__setattr__(self, "split_indices", points)

    def __str__(self) -> str:
        return f"({self.dimension}:{','.join(map(str, self.split_indices))})"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class XlaLayout:
    """XLA's layout of an array: order of dimensions, tiles, and further properties.

    - `minor_to_major`: logical dimensions, fastest first. `Shape.validate_layout` checks that this
      is a permutation; the constructor does not.
    - `tiles`: applied one after the other; sizes in physical order.
    - `tail_padding_alignment`: the buffer is rounded up to a multiple of so many elements.
    - `element_size_in_bits`: 0 means the width of the type in whole bytes.
    - `memory_space`: 0 default, 1 fast on-chip, 5 pinned host, 6 unpinned host.
    - `split_configs`: distribution over several memories.
    - `metadata_prefix_bytes`: for buffers of dynamic shapes; never compared.
    - `index_type`, `pointer_type`, `physical_shape`: for sparse arrays; dense arrays with these
      fields fail validation.

    Raises `ValueError` for a tail alignment below 1, and for a memory space outside 8 signed bits
    (XLA wraps it: 300 becomes 44).

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
    # `Any`, because the module of `Shape` imports this one. Not hashed, because an object that
    # validation has yet to reject may be unhashable.
    physical_shape: Any = field(default=None, hash=False)
    metadata_prefix_bytes: int = field(default=0, compare=False)

    def __post_init__(self) -> None:
        order = check_integers("minor_to_major", self.minor_to_major)
        object.__setattr__(self, "minor_to_major", order)
        object.__setattr__(self, "tiles", _convert_items("tiles", as_tile, self.tiles))
        splits = _convert_items("split_configs", _as_split_config, self.split_configs)
        object.__setattr__(self, "split_configs", splits)
        for name in ("tail_padding_alignment", "element_size_in_bits", "memory_space"):
            object.__setattr__(self, name, check_integer(name, getattr(self, name)))
        step, space = self.tail_padding_alignment, self.memory_space
        require(step >= 1, "tail_padding_alignment: must be at least 1", step)
        require(space in SPACES, "memory_space: must fit 8 signed bits", space)
        # Validation rejects wrong entries later, but the text of any layout must be readable by
        # `parse_layout`, as its repr promises, and the parser accepts 64 bits.
        fits_64_bits = all(d in INTEGERS for d in order)
        require(fits_64_bits, "minor_to_major: must be 64-bit integers", order)

    @classmethod
    def row_major(cls, rank: int) -> XlaLayout:
        """Return the default layout, with dimension 0 the most major."""
        return cls(minor_to_major=row_major_order(rank))

    def replace(self, **changes: Any) -> XlaLayout:
        """Return a copy with some fields changed."""
        return replace(self, **changes)

    # --- text ------------------------------------------------------------------------------------

    def properties(self) -> str:
        """Return the text after the colon: T, L, #, *, E, S, SC, P, M, without default values."""
        values = {letter: getattr(self, name) for letter, name in PROPERTIES.items()}
        letters = [letter for letter in values if values[letter] != _DEFAULTS[PROPERTIES[letter]]]
        return "".join(f"{letter}{_format_property(values[letter])}" for letter in letters)

    def __str__(self) -> str:
        properties = self.properties()
        order = ",".join(map(str, self.minor_to_major))
        return f"{{{order}{':' if properties else ''}{properties}}}"

    def __repr__(self) -> str:
        return f"parse_layout({str(self)!r})"

    # --- order -----------------------------------------------------------------------------------

    @property
    def rank(self) -> int:
        """Number of dimensions in the order."""
        return len(self.minor_to_major)

    @property
    def major_to_minor(self) -> tuple[int, ...]:
        """Order from the most major dimension on, as JAX writes it."""
        return self.minor_to_major[::-1]

    @property
    def is_row_major(self) -> bool:
        """True if the order is row-major; always for rank 0 and 1."""
        # As XLA's functions, this only tests whether entries are sorted: the invalid order {1,1} is
        # both row-major and column-major.
        return all(a >= b for a, b in pairwise(self.minor_to_major))

    @property
    def is_column_major(self) -> bool:
        """True if the order is column-major; always for rank 0 and 1."""
        return all(a <= b for a, b in pairwise(self.minor_to_major))

    @property
    def logical_to_physical(self) -> tuple[int, ...]:
        """Position of each logical dimension, counted from the most major end.

        >>> XlaLayout(minor_to_major=(2, 4, 3, 1, 0)).logical_to_physical
        (0, 1, 4, 2, 3)
        """
        return tuple(inverse_permutation(self.major_to_minor))

    def order_without(self, dimension: int) -> tuple[int, ...]:
        """Return the order of the other dimensions; ValueError if the dimension does not exist."""
        require(
            dimension in self.minor_to_major, "dimension: must be one of", dimension, subject=self
        )
        return tuple(d for d in self.minor_to_major if d != dimension)

    def delete_dimension(self, dimension: int) -> XlaLayout:
        """Return the layout without one logical dimension; larger numbers decrease by one.

        Split configs of that dimension are removed, and those of later physical dimensions
        renumbered. Tiles are unchanged, so they may cover other dimensions afterwards.

        Raises `ValueError` if `dimension` does not exist.
        """
        self.order_without(dimension)
        return self.delete_dimensions({dimension})

    def delete_dimensions(self, gone: Set[int]) -> XlaLayout:
        """Return the layout without several logical dimensions, removed one after the other."""
        # Logical numbers close up: without dimension 1, {2,1,0} becomes {1,0}.
        remaining = sorted(set(self.minor_to_major) - gone)
        new_numbers = {old: new for new, old in enumerate(remaining)}
        order = [new_numbers[d] for d in self.minor_to_major if d in new_numbers]
        # Split configs number physical dimensions, so they close up separately: `bisect` counts the
        # removed positions in front of one. `removed_positions` is ascending, as bisect requires.
        removed_positions = [
            position for position, d in enumerate(self.major_to_minor) if d in gone
        ]
        splits = [
            SplitConfig(s.dimension - bisect(removed_positions, s.dimension), s.split_indices)
            for s in self.split_configs
            if s.dimension not in removed_positions
        ]
        return self.replace(minor_to_major=order, split_configs=splits)

    # --- comparison and validation ---------------------------------------------------------------

    def equals(self, other: XlaLayout, ignore: Collection[str] = ()) -> bool:
        """Return whether two layouts are equal in all fields except those in `ignore`.

        `ignore`: names of fields such as ``"tiles"``, or ``"all but minor_to_major"``. The metadata
        prefix is never compared. Raises `ValueError` for another name.
        """
        comparable_names = _DEFAULTS.keys() - {"minor_to_major", "metadata_prefix_bytes"}
        names = normalize_ignored_names(ignore, {*comparable_names, _ALL_BUT_ORDER})
        # Ignored fields get their defaults on both sides, so that one comparison of values does the
        # rest.
        replacements = {
            name: _DEFAULTS[name]
            for name in (comparable_names if _ALL_BUT_ORDER in names else names)
        }
        return self.replace(**replacements) == other.replace(**replacements)

    def problems(self, sizes: Sequence[int]) -> Iterator[str]:
        """Yield the problems of the layout for an array of these sizes, as XLA orders them."""
        order, rank = self.minor_to_major, len(sizes)
        if sorted(order) != list(range(rank)):
            yield f"the order is no permutation of the {rank} dimensions"
        for name in ("index_type", "pointer_type", "physical_shape"):
            if getattr(self, name) is not None:
                yield f"{name} belongs to sparse arrays"
        for tile in self.tiles:
            if not tile.dimensions or any(n < 1 and n != COMBINE for n in tile.dimensions):
                yield f"the tile {truncate(tile)} has no sizes, or one below 1"
        if self.element_size_in_bits < 0:
            yield f"the element size of {short_repr(self.element_size_in_bits)} bits is negative"
        # Callers take only the first problem. What follows may therefore rely on all checks above
        # it: the order is a permutation, and after the next check `dim` is a dimension.
        split_dims: set[int] = set()
        for dim, points in ((s.dimension, s.split_indices) for s in self.split_configs):
            if not 0 <= dim < rank or dim in split_dims:
                yield (
                    f"the split dimension {short_repr(dim)} is not from 0 to {rank - 1}, or "
                    "there twice"
                )
            split_dims.add(dim)
            # Split configs count physical dimensions from the most major one, `order` from the most
            # minor one.
            size = sizes[order[-1 - dim]]
            if points and any(high <= low for low, high in pairwise((0, *points, size))):
                yield f"the split points {short_repr(points)} do not increase from 1 to {size - 1}"


# None of the fields has a default_factory, so `default` is always a value.
_DEFAULTS = {field.name: field.default for field in fields(XlaLayout)}


def normalize_ignored_names(ignore: Collection[str], allowed_names: Set[str]) -> Set[str]:
    """Return names to ignore as a set; ValueError for names not in `allowed_names`.

    A str is one name.
    """
    try:
        names = frozenset((ignore,) if isinstance(ignore, str) else ignore)
    except TypeError:
        msg = f"equal: ignore must be a collection of names, got {short_repr(ignore)}"
        raise TypeError(msg) from None
    if not names <= allowed_names:
        unknown = short_repr(sorted(names - allowed_names, key=short_repr))
        raise ValueError(f"equal: ignore must be of {sorted(allowed_names)}, got {unknown}")
    return names


def _format_property(value: Any) -> str:
    if isinstance(value, tuple):
        return "".join(map(str, value))
    if isinstance(value, PrimitiveType):
        # XLA prints an index or pointer type that is not an integer as #(invalid).
        value = value.text if value.is_integral else "invalid"
    return f"({value})"


def _convert_items(name: str, convert: Callable[[Any], _T], items: Any) -> tuple[_T, ...]:
    """Return the items of a sequence, each converted by `convert`."""
    # A str is a sequence, too, and its letters would give confusing errors one by one.
    if isinstance(items, str) or not isinstance(items, Sequence):
        raise_named_error(name, f"must be a sequence, got {short_repr(items)}", TypeError)
    return tuple(map(convert, items))


def _as_split_config(split: SplitConfig | tuple[int, Sequence[int]]) -> SplitConfig:
    if isinstance(split, SplitConfig):
        return split
    if not isinstance(split, Sequence) or len(split) != 2:
        rule = "must be pairs (dimension, split indices)"
        raise_named_error("split_configs", f"{rule}, got {short_repr(split)}", TypeError)
    return SplitConfig(split[0], check_integers("split indices", split[1]))
