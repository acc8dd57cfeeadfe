"""Rows of the CPU benchmark and the time that each may take."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from benchmarks.measure import Call
from benchmarks.peers import Array, share

TYPES = {1: "uint8", 2: "int16", 4: "float32", 8: "float64", 16: "complex128"}

# At most a peer's time; and what a median of a few rounds may be off by.
AS_FAST = {"numpy": 1.0, "torch": 1.0}
NOISE = 1.05

Pair = Callable[[str], tuple[Array, Array]]


@dataclass(frozen=True)
class HostRow:
    """One row: its calls are made when its turn comes, for they hold the memory."""

    group: str
    name: str
    make: Callable[[], Mapping[str, Call]]
    limits: Mapping[str, float]

    def above(self, ratios: Mapping[str, float]) -> list[str]:
        """The peers whose time ours exceeds by more than it may."""
        return [p for p, r in ratios.items() if r > self.limits.get(p, np.inf) * NOISE]


def rows(quick: bool) -> Iterator[HostRow]:
    """All rows, or those that take half a minute."""
    yield HostRow("small", "x + y, 10 float32", _small_add, {"numpy": 3.0, "torch": 1.0})
    widths = (4,) if quick else tuple(TYPES)
    for name, pair in _layout_changes(quick).items():
        for width in widths:
            yield _copy_row(name, pair, TYPES[width])
    yield from _elementwise()


def _random(shape: tuple[int, ...], dtype: str) -> Array:
    return np.random.default_rng(0).integers(0, 100, shape).astype(dtype)


# --- layout changes: dst[...] = src, into memory that is already there ---


def _copy_row(name: str, pair: Pair, dtype: str) -> HostRow:
    def make() -> Mapping[str, Call]:
        to, from_ = map(share, pair(dtype))
        calls: dict[str, Call] = {"numpy": lambda: np.copyto(to["numpy"], from_["numpy"])}
        for peer in to:
            if peer in from_ and peer not in ("numpy", "torch"):
                calls[peer] = _assign(to[peer], from_[peer])
        if "torch" in to and "torch" in from_:
            calls["torch"] = lambda: to["torch"].copy_(from_["torch"])
        return calls

    return HostRow("layout", f"{name}, {dtype}", make, AS_FAST)


def _assign(destination: Any, source: Any) -> Call:
    return lambda: destination.__setitem__(..., source)


def _permuted(shape: tuple[int, ...], axes: tuple[int, ...]) -> Pair:
    def pair(dtype: str) -> tuple[Array, Array]:
        source = _random(shape, dtype).transpose(axes)
        return np.zeros(source.shape, dtype), source

    return pair


def _sliced(shape: tuple[int, ...], *cut: slice, padded: bool = False) -> Pair:
    """A part of a larger block into a packed one; `padded`: a packed one into such a part."""

    def pair(dtype: str) -> tuple[Array, Array]:
        part = _random(shape, dtype)[cut]
        block = np.zeros(part.shape, dtype)
        return (part, block) if padded else (block, part)

    return pair


def _broadcast(shape: tuple[int, ...], full: tuple[int, ...]) -> Pair:
    def pair(dtype: str) -> tuple[Array, Array]:
        source = _random(shape, dtype)
        steps = [0 if n == 1 else step for n, step in zip(shape, source.strides, strict=True)]
        # Not np.broadcast_to, which is read-only: PyTorch takes no read-only memory.
        return np.zeros(full, dtype), as_strided(source, full, steps)

    return pair


def _layout_changes(quick: bool) -> dict[str, Pair]:
    to_nhwc, to_nchw = (0, 2, 3, 1), (0, 3, 1, 2)
    some = {
        "transpose 512 x 512": _permuted((512, 512), (1, 0)),
        "transpose 2048 x 2048": _permuted((2048, 2048), (1, 0)),
        "transpose 1000 x 3000": _permuted((1000, 3000), (1, 0)),
        "transpose 3 x 1000000": _permuted((3, 10**6), (1, 0)),
        "transpose 1000000 x 3": _permuted((10**6, 3), (1, 0)),
        "NCHW to NHWC, 8 x 3 x 224 x 224": _permuted((8, 3, 224, 224), to_nhwc),
        "NHWC to NCHW, 8 x 3 x 224 x 224": _permuted((8, 224, 224, 3), to_nchw),
        "NCHW to NHWC, 32 x 256 x 14 x 14": _permuted((32, 256, 14, 14), to_nhwc),
        "NHWC to NCHW, 32 x 256 x 14 x 14": _permuted((32, 14, 14, 256), to_nchw),
        "permute (2,1,0), 96 x 128 x 160": _permuted((96, 128, 160), (2, 1, 0)),
        "permute (0,2,1,3), 8 x 128 x 12 x 64": _permuted((8, 128, 12, 64), (0, 2, 1, 3)),
        "packed to rows of pitch 1024, 2000 x 1000": _sliced(
            (2000, 1024), slice(None), slice(0, 1000), padded=True
        ),
        "crop 1000 x 1000 of 2000 x 2000": _sliced(
            (2000, 2000), slice(500, 1500), slice(500, 1500)
        ),
        "flip rows and columns, 1500 x 1000": _sliced(
            (1500, 1000), slice(None, None, -1), slice(None, None, -1)
        ),
        "broadcast a row, 2000 x 1000": _broadcast((1, 1000), (2000, 1000)),
    }
    if quick:
        return some
    return some | {
        "transpose 1024 x 1024": _permuted((1024, 1024), (1, 0)),
        "transpose 4096 x 4096": _permuted((4096, 4096), (1, 0)),
        "transpose 100000 x 20": _permuted((100000, 20), (1, 0)),
        "transpose 20 x 100000": _permuted((20, 100000), (1, 0)),
        "NCHW to NHWC, 1 x 3 x 224 x 224": _permuted((1, 3, 224, 224), to_nhwc),
        "NHWC to NCHW, 1 x 3 x 224 x 224": _permuted((1, 224, 224, 3), to_nchw),
        "NCHW to NHWC, 8 x 4 x 224 x 224": _permuted((8, 4, 224, 224), to_nhwc),
        "NHWC to NCHW, 8 x 4 x 224 x 224": _permuted((8, 224, 224, 4), to_nchw),
        "NCHW to NHWC, 8 x 64 x 56 x 56": _permuted((8, 64, 56, 56), to_nhwc),
        "NHWC to NCHW, 8 x 64 x 56 x 56": _permuted((8, 56, 56, 64), to_nchw),
        "permute (1,0,2), 256 x 256 x 32": _permuted((256, 256, 32), (1, 0, 2)),
        "permute (1,0,2), 1000 x 800 x 3": _permuted((1000, 800, 3), (1, 0, 2)),
        "permute (2,0,1), 128 x 128 x 128": _permuted((128, 128, 128), (2, 0, 1)),
        "permute (3,2,1,0), 32 x 48 x 40 x 36": _permuted((32, 48, 40, 36), (3, 2, 1, 0)),
        "permute (4,3,2,1,0), 16 x 20 x 18 x 14 x 24": _permuted(
            (16, 20, 18, 14, 24), (4, 3, 2, 1, 0)
        ),
        "permute (0,2,1,4,3), 8 x 12 x 16 x 20 x 32": _permuted(
            (8, 12, 16, 20, 32), (0, 2, 1, 4, 3)
        ),
        "rows of pitch 1024 to packed, 2000 x 1000": _sliced(
            (2000, 1024), slice(None), slice(0, 1000)
        ),
        "flip columns, 1500 x 1000": _sliced((1500, 1000), slice(None), slice(None, None, -1)),
        "flip rows, 1500 x 1000": _sliced((1500, 1000), slice(None, None, -1)),
        "broadcast a column, 2000 x 1000": _broadcast((2000, 1), (2000, 1000)),
        "same order, 2000 x 2000": _permuted((2000, 2000), (0, 1)),
    }


# --- elementwise ---


def _operate(function: Callable[..., object], *operands: Array) -> Mapping[str, Call]:
    seen = [share(x) for x in operands]
    return {peer: _bind(function, [x[peer] for x in seen]) for peer in seen[0]}


def _bind(function: Callable[..., object], operands: list[Any]) -> Call:
    if len(operands) == 1:
        (x,) = operands
        return lambda: function(x)
    x, y = operands
    return lambda: function(x, y)


def _small_add() -> Mapping[str, Call]:
    return _operate(operator.add, _random((10,), "float32"), _random((10,), "float32"))


def _elementwise() -> Iterator[HostRow]:
    """16 MB a tensor: 2048 x 2048 float32, in the layouts that users have."""
    shape, wide = (2048, 2048), (2048, 2112)

    def ordinary() -> Array:
        return _random(shape, "float32")

    def padded() -> Array:
        return _random(wide, "float32")[:, :2048]

    def images() -> Array:
        return _random((32, 128, 128, 8), "float32").transpose(0, 3, 1, 2)

    table: dict[str, Callable[[], Mapping[str, Call]]] = {
        "x + y": lambda: _operate(operator.add, ordinary(), ordinary()),
        "x += y": lambda: _operate(operator.iadd, ordinary(), ordinary()),
        "x * 2.0": lambda: _operate(lambda x: x * 2.0, ordinary()),
        "x + y, both NHWC": lambda: _operate(operator.add, images(), images()),
        "x += y, both NHWC": lambda: _operate(operator.iadd, images(), images()),
        "x + y.T": lambda: _operate(operator.add, ordinary(), ordinary().T),
        "x + y, padded rows": lambda: _operate(operator.add, padded(), padded()),
        "x += y, padded rows": lambda: _operate(operator.iadd, padded(), padded()),
        "x + row": lambda: _operate(operator.add, ordinary(), _random((2048,), "float32")),
    }
    for name, make in table.items():
        yield HostRow("elementwise", f"{name}, 16 MB float32", make, AS_FAST)
