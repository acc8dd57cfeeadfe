"""Arrays in the order of their storage: few axes, neighbours in memory one after the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from tensorlayout.cpu.engine.memory import Array
from tensorlayout.layout import Layout

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
    order = tuple(reversed(layout.minor_to_major))
    reduced = set(dims)
    backwards = [
        len(dims) > 1 and d in reduced and s < 0 and n > 0
        for d, (n, s) in enumerate(zip(layout.shape, layout.strides, strict=True))
    ]
    flips = tuple([slice(None, None, -1 if b else 1) for b in backwards])
    rows: list[tuple[int, int, bool]] = []  # size, stride, whether it is reduced
    for d in order:
        size, stride, gone = layout.shape[d], layout.strides[d], d in reduced
        stride = -stride if backwards[d] else stride
        if size == 1:
            continue
        if rows and layout.size and rows[-1][1:] == (size * stride, gone):
            size *= rows.pop()[0]
        rows.append((size, stride, gone))
    shape = tuple([size for size, _, _ in rows])
    return Walk(
        axes=tuple([k for k, (_, _, gone) in enumerate(rows) if gone]),
        view=_viewer(layout, flips if any(backwards) else None, order, shape),
        place=_placer(result),
    )


def _viewer(
    layout: Layout, flips: Key | None, order: tuple[int, ...], shape: tuple[int, ...]
) -> Callable[[Array], Array]:
    if flips is not None:
        return lambda array: array[flips].transpose(order).reshape(shape, copy=False)
    if order != tuple(range(layout.ndim)):
        return lambda array: array.transpose(order).reshape(shape, copy=False)
    if shape != layout.shape:
        return lambda array: array.reshape(shape, copy=False)
    return lambda array: array


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
