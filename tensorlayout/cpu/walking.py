"""Arrays in the order of their storage: few axes, neighbours in memory one after the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from tensorlayout.cpu.copy.axes import view_of
from tensorlayout.cpu.engine.memory import Array
from tensorlayout.layout import Layout
from tensorlayout.layout.loop import Axis, merged

Key = tuple[slice, ...]

# Elements of a block that is converted before it is worked on. The variance of 2048 x 2048 float32
# takes 4.0 ms in blocks of 32768, 3.3 of 65536, 2.9 of 131072, 2.7 of 262144, which as float64 fill
# two second-level caches; float16 to float32 0.62 ns an element in blocks of 8192, 0.29 of 65536
# (2026-11-21, 2-core AMD EPYC (Zen 4), numpy 2.4.6).
BLOCK = 1 << 17


@dataclass(frozen=True, slots=True)
class Walk:
    """How to see an array of one layout slowest axis first, and how to give the result its place.

    `axes`: the reduced axes of the view; they stay, with size 1, until `place` drops them.
    """

    axes: tuple[int, ...]
    view: Callable[[Array], Array]
    place: Callable[[Array], Array]


def walk_of(layout: Layout, dims: Sequence[int], result: Layout) -> Walk:
    """The walk over a strided layout whose dimensions `dims` are reduced to give `result`.

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
        axes=tuple([k for k, axis in enumerate(axes) if axis.tag]),
        view=view_of(layout.shape, backwards, order, tuple([axis.size for axis in axes])),
        place=_placer(result),
    )


def _placer(result: Layout) -> Callable[[Array], Array]:
    """From a row-major array of the view's shape to the packed array of `result`."""
    order = tuple(reversed(result.minor_to_major))
    physical, shape = tuple(result.shape[d] for d in order), result.shape
    if order == tuple(range(result.ndim)):
        return lambda found: found.reshape(shape)
    back = tuple(order.index(d) for d in range(result.ndim))
    return lambda found: found.reshape(physical).transpose(back)


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
