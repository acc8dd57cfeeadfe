"""What plans of sorts and searches share with plans of scans."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tensorlayout.cuda.engine.parameters import pack_walk, walk_type
from tensorlayout.cuda.scan import CAPACITY as CAPACITY
from tensorlayout.cuda.scan import TILE as TILE
from tensorlayout.layout import loop

Dimension = tuple[int, ...]  # a size, and the stride in each memory


def merged(dimensions: Iterable[Dimension]) -> list[Dimension]:
    """The fewest dimensions that visit the same elements in the same order; at least one.

    >>> merged([(2, 12), (3, 4), (1, 9), (4, 1)])
    [(24, 1)]
    """
    given = list(dimensions)
    found = loop.merged(loop.Axis(size, tuple(strides)) for size, *strides in given)
    one = (1, *[0] * (len(given[0]) - 1 if given else 1))
    return [(axis.size, *axis.strides) for axis in found] or [one]


def packed_walk(index: str, dimensions: Sequence[Dimension]) -> Any:
    """``Walk<rank, index, N>`` over these, slowest first; of rank 1 or 2, or of any."""
    rank = len(dimensions) if len(dimensions) in (1, 2) else 0
    made = walk_type(rank, index, len(dimensions[0]) - 1)()
    sizes, *strides = zip(*dimensions, strict=True)
    pack_walk(made, sizes, strides)
    return made
