"""Arrays in the order of their storage: few axes, neighbours in memory one after the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

from tensorlayout.cpu.copy.axes import view_of
from tensorlayout.cpu.engine.memory import Array
from tensorlayout.layout import Layout
from tensorlayout.layout.loop import Axis, merged

Key = tuple[slice, ...]

# Elements of a block that is converted before it is worked on. The variance of 2048 x 2048 float32
# takes 4.0 ms in blocks of 32768, 3.3 of 65536, 2.9 of 131072, 2.7 of 262144, which as float64 fill
# two second-level caches; float16 to float32 0.62 ns an element in blocks of 8192, 0.29 of 65536.
BLOCK = 1 << 17


class Walk(NamedTuple):
    """An array of one layout seen slowest axis first: how; which axes are reduced; what is kept."""

    view: Callable[[Array], Array]
    axes: tuple[int, ...]
    kept: tuple[int, ...]  # sizes, 1 for axes that are reduced


def walk_of(layout: Layout, dims: Sequence[int]) -> Walk:
    """The walk over a strided layout whose dimensions `dims` are reduced.

    Several reduced dimensions are flipped where they run backwards, so that they can merge; one
    alone keeps its positions.
    """
    order, reduced = tuple(reversed(layout.minor_to_major)), set(dims)
    dimensions = [
        Axis(n, (s,), d in reduced)
        for d, (n, s) in enumerate(zip(layout.shape, layout.strides, strict=True))
    ]
    several = len(dims) > 1 and layout.size > 0
    backwards = [several and d in reduced and s < 0 for d, s in enumerate(layout.strides)]
    axes = [dimensions[d].turned if backwards[d] else dimensions[d] for d in order]
    axes = merged(axes) if layout.size else [axis for axis in axes if axis.size != 1]
    return Walk(
        view_of(layout.shape, backwards, order, tuple([axis.size for axis in axes])),
        tuple([k for k, axis in enumerate(axes) if axis.tag]),
        tuple([1 if axis.tag else axis.size for axis in axes]),
    )


def blocks(shape: tuple[int, ...], room: int = BLOCK, whole: int = 0) -> Iterator[Key]:
    """Boxes of at most about `room` elements, in order; the last `whole` axes are never cut."""
    if math.prod(shape) <= room:
        return iter([(slice(None),) * len(shape)])
    cut = 0
    while cut < len(shape) - whole and math.prod(shape[cut + 1 :]) > room:
        cut += 1
    rest: list[list[slice]] = [[slice(None)]] * (len(shape) - cut)
    if cut < len(shape) - whole:
        step = max(1, room // max(1, math.prod(shape[cut + 1 :])))
        rest[0] = [slice(k, k + step) for k in range(0, shape[cut], step)]
    singles = [[slice(k, k + 1) for k in range(n)] for n in shape[:cut]]
    return product(*singles, *rest)


def kept_part(key: Key, axes: Sequence[int]) -> Key:
    """Where the result of a block belongs."""
    return tuple([slice(None) if k in axes else s for k, s in enumerate(key)])
