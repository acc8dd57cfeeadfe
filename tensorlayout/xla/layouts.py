"""`XlaLayout`: XLA's layout of one array, a value of its own, not a `tensorlayout.Layout`."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from tensorlayout.layout import descending
from tensorlayout.layout.checks import checked_integer, checked_integers
from tensorlayout.words import cut, shown
from tensorlayout.xla.primitive_types import PrimitiveType
from tensorlayout.xla.tiles import Tile

_T = TypeVar("_T")
_SPACES = range(-128, 128)
_INTEGERS = range(-(2**63), 2**63)


@dataclass(frozen=True, slots=True)
class SplitConfig:
    """Where one **physical** dimension (0 is the most major) is split over several memories."""

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
        object.__setattr__(self, "tiles", _each("tiles", _as_tile, self.tiles))
        splits = _each("split_configs", _as_split, self.split_configs)
        object.__setattr__(self, "split_configs", splits)
        for name in ("tail_padding_alignment", "element_size_in_bits", "memory_space"):
            object.__setattr__(self, name, checked_integer(name, getattr(self, name)))
        if self.tail_padding_alignment < 1:
            came = self.tail_padding_alignment
            msg = f"tail_padding_alignment: must be at least 1, got {shown(came)}"
            raise ValueError(msg)
        if self.memory_space not in _SPACES:
            msg = f"memory_space: must fit 8 signed bits, got {shown(self.memory_space)}"
            raise ValueError(msg)
        if any(d not in _INTEGERS for d in order):
            msg = f"minor_to_major: must be 64-bit integers, got {shown(order)}"
            raise ValueError(msg)

    @classmethod
    def row_major(cls, rank: int) -> XlaLayout:
        """The default: dimension 0 the most major."""
        return cls(minor_to_major=descending(rank))

    def replace(self, **changes: Any) -> XlaLayout:
        """The same layout with some fields changed."""
        return replace(self, **changes)

    @property
    def rank(self) -> int:
        """The number of entries of the order."""
        return len(self.minor_to_major)

    def properties(self) -> str:
        """What follows the colon in the text: T, L, #, *, E, S, SC, P, M; defaults left out."""
        words = [f"T{''.join(map(str, self.tiles))}"] if self.tiles else []
        if self.tail_padding_alignment != 1:
            words.append(f"L({self.tail_padding_alignment})")
        for sign, kind in (("#", self.index_type), ("*", self.pointer_type)):
            if kind is not None:
                words.append(f"{sign}({kind.text if kind.is_integral else 'invalid'})")
        if self.element_size_in_bits:
            words.append(f"E({self.element_size_in_bits})")
        if self.memory_space:
            words.append(f"S({self.memory_space})")
        if self.split_configs:
            words.append(f"SC{''.join(map(str, self.split_configs))}")
        if self.physical_shape is not None:
            words.append(f"P({self.physical_shape})")
        if self.metadata_prefix_bytes > 0:
            words.append(f"M({self.metadata_prefix_bytes})")
        return "".join(words)

    def __str__(self) -> str:
        properties = self.properties()
        order = ",".join(map(str, self.minor_to_major))
        return f"{{{order}{':' if properties else ''}{properties}}}"

    def __repr__(self) -> str:
        return f"parse_layout({str(self)!r})"

    def delete_dimension(self, dimension: int) -> XlaLayout:
        """Without one logical dimension; larger numbers go down by one.

        Split configs of that dimension go, those of later physical ones are renumbered. Tiles are
        left as they are, so they may come to cover other dimensions. ValueError for a dimension
        that is not there.
        """
        if dimension not in self.minor_to_major:
            msg = f"delete_dimension: {shown(dimension)} is not in the layout {cut(self)}"
            raise ValueError(msg)
        return self.delete_dimensions({dimension})

    def delete_dimensions(self, gone: Set[int]) -> XlaLayout:
        """Without several logical dimensions, as if one went after the other."""
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


def _each(name: str, make: Callable[[Any], _T], given: Any) -> tuple[_T, ...]:
    """What `make` gives for each of a sequence."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        msg = f"{name}: must be a sequence, got {shown(given)}"
        raise TypeError(msg)
    return tuple(map(make, given))


def _as_tile(tile: Tile | Sequence[int]) -> Tile:
    return tile if isinstance(tile, Tile) else Tile(checked_integers("tile", tile))


def _as_split(split: SplitConfig | tuple[int, Sequence[int]]) -> SplitConfig:
    if isinstance(split, SplitConfig):
        return split
    if not isinstance(split, Sequence) or len(split) != 2:
        msg = f"split_configs: must be pairs (dimension, split indices), got {shown(split)}"
        raise TypeError(msg)
    return SplitConfig(split[0], checked_integers("split indices", split[1]))
