"""DirectML's operators on 64 MB, written into memory that is there, beside NumPy and PyTorch.

Each peer does it as its own documentation would; where it has no ``out``, it writes into a view, or
its result is new. At most 1.1 times the time of either is the target.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from benchmarks.cpu import HostRow
from benchmarks.measure import Call
from benchmarks.peers import OURS, Array, share, torch
from tensorlayout import directml

LIMITS = dict.fromkeys(("numpy", "torch"), 1.1 / 1.05)  # a row may be off by 1.05

# A row's calls, from arrays of NumPy: what NumPy does, what we do, what PyTorch does.
Calls = Mapping[str, Call]
Make = Callable[[], Calls]

N = 4096  # the side of a square of 64 MB of float32


def rows() -> Iterator[HostRow]:
    """All rows."""
    for name, make in _ROWS.items():
        yield HostRow("DirectML", name, make, LIMITS)


def _values(*shape: int) -> Array:
    return np.random.default_rng(0).random(shape, np.float32)


def _positions(size: int, *shape: int) -> Array:
    return np.random.default_rng(1).integers(0, size, shape)


def _calls(numpy: Call, ours: Call, torchs: Callable[[Any], Call]) -> Calls:
    calls = {"numpy": numpy, OURS: ours}
    if torch is not None:
        calls["torch"] = torchs(torch)
    return calls


def _seen(*arrays: Array) -> tuple[list[Any], list[Any]]:
    """The arrays as tensors of ours, and of PyTorch, in their memory."""
    exported = [share(array) for array in arrays]
    return [seen[OURS] for seen in exported], [seen.get("torch") for seen in exported]


def _join(axis: int) -> Make:
    def make() -> Calls:
        parts = [_values(N // 4, N) if axis == 0 else _values(N, N // 4) for _ in range(4)]
        out = np.zeros((N, N), np.float32)
        (to, *xs), (into, *others) = _seen(out, *parts)
        return _calls(
            lambda: np.concatenate(parts, axis, out=out),
            lambda: directml.join(xs, axis, out=to),
            lambda t: lambda: t.cat(others, axis, out=into),
        )

    return make


def _slice(steps: tuple[int, int]) -> Make:
    key = tuple(slice(None, None, step) for step in steps)

    def make() -> Calls:
        x = _values(*(N * abs(step) for step in steps))
        out = np.zeros((N, N), np.float32)
        (to, mine), (into, other) = _seen(out, x)
        offsets, sizes = [0, 0], list(x.shape)
        # A window that ends where the slice begins, if that runs backwards.
        sizes = [
            n if step > 0 else n - (n - 1) % -step for n, step in zip(sizes, steps, strict=True)
        ]
        offsets = [n - size for n, size in zip(x.shape, sizes, strict=True)]
        turned = [d for d, step in enumerate(steps) if step < 0]

        def torchs(t: Any) -> Call:
            whole = tuple(
                slice((n - 1) % -s if s < 0 else 0, None, abs(s))
                for n, s in zip(x.shape, steps, strict=True)
            )
            if not turned:
                return lambda: into.copy_(other[whole])
            return lambda: into.copy_(t.flip(other[whole], turned))

        return _calls(
            lambda: np.copyto(out, x[key]),
            lambda: directml.slice1(mine, offsets, sizes, list(steps), out=to),
            torchs,
        )

    return make


def _gather_elements(axis: int) -> Make:
    def make() -> Calls:
        x, index, out = _values(N, N), _positions(N, N, N), np.zeros((N, N), np.float32)
        (to, mine, at), (into, other, places) = _seen(out, x, index)
        return _calls(
            lambda: np.take_along_axis(x, index, axis),
            lambda: directml.gather_elements(mine, at, axis, out=to),
            lambda t: lambda: t.gather(other, axis, places, out=into),
        )

    return make


def _scatter_elements(axis: int) -> Make:
    def make() -> Calls:
        x, new, index = _values(N, N), _values(N, N), _positions(N, N, N)
        out = np.zeros((N, N), np.float32)
        (to, mine, at, values), (into, other, places, news) = _seen(out, x, index, new)

        def numpy() -> None:
            np.copyto(out, x)
            np.put_along_axis(out, index, new, axis)

        return _calls(
            numpy,
            lambda: directml.scatter(mine, at, values, axis, out=to),
            lambda t: lambda: t.scatter(other, axis, places, news, out=into),
        )

    return make


def _gather_nd(inner: int) -> Make:
    def make() -> Calls:
        count = N * N // inner
        x, out = (
            _values(1024, N * N // 1024 // inner, inner),
            np.zeros((1, count, inner), np.float32),
        )
        index = np.stack([_positions(n, count) for n in x.shape[:2]], -1)[None]
        (to, mine, at), (into, other, places) = _seen(out, x, index)
        return _calls(
            lambda: np.copyto(out[0], x[index[0, :, 0], index[0, :, 1]]),
            lambda: directml.gather_nd(mine, at, 3, 2, out=to),
            lambda t: (
                lambda: t.ops.aten.index.Tensor_out(
                    other, [places[0, :, 0], places[0, :, 1]], out=into[0]
                )
            ),
        )

    return make


def _scatter_nd(inner: int) -> Make:
    def make() -> Calls:
        count = N * N // inner
        x, new = _values(1024, N * N // 1024 // inner, inner), _values(1, count, inner)
        index = np.stack([_positions(n, count) for n in x.shape[:2]], -1)[None]
        out = np.zeros_like(x)
        (to, mine, at, values), (into, other, places, news) = _seen(out, x, index, new)

        def numpy() -> None:
            np.copyto(out, x)
            out[index[0, :, 0], index[0, :, 1]] = new[0]

        def torchs(_: Any) -> Call:
            def call() -> None:
                into.copy_(other)
                into[places[0, :, 0], places[0, :, 1]] = news[0]

            return call

        return _calls(numpy, lambda: directml.scatter_nd(mine, at, values, 3, 2, out=to), torchs)

    return make


def _pad(mode: str) -> Make:
    def make() -> Calls:
        x = _values(1, 16, 1024 - 6, 1024 - 6)
        out = np.zeros((1, 16, 1024, 1024), np.float32)
        (to, mine), (into, other) = _seen(out, x)
        before, inside = [0, 0, 3, 3], (..., slice(3, -3), slice(3, -3))

        def numpy() -> None:
            if mode == "CONSTANT":
                out[...] = 0
                out[inside] = x
            else:
                np.pad(x, [(n, n) for n in before], "reflect")

        def torchs(t: Any) -> Call:
            if mode == "CONSTANT":
                return lambda: t.ops.aten.constant_pad_nd.out(other, [3] * 4, 0.0, out=into)
            return lambda: t.ops.aten.reflection_pad2d.out(other, [3] * 4, out=into)

        return _calls(numpy, lambda: directml.padding(mine, before, before, mode, out=to), torchs)

    return make


def _blocks(s: int, *, to_depth: bool) -> Make:
    def make() -> Calls:
        space, depth = (
            np.zeros((4, 16, 512, 512), np.float32),
            np.zeros((4, 16 * s * s, 512 // s, 512 // s), np.float32),
        )
        x, out = (space, depth) if to_depth else (depth, space)
        x[...] = _values(*x.shape)
        (to, mine), (into, other) = _seen(out, x)

        def by_block(a: Any) -> Any:
            return a.reshape(4, 16, 512 // s, s, 512 // s, s)

        def by_channel(a: Any, permute: str) -> Any:
            split = a.reshape(4, s, s, 16, 512 // s, 512 // s)
            return getattr(split, permute)(0, 3, 4, 1, 5, 2)

        if to_depth:
            there, here = by_channel(out, "transpose"), by_block(x)
        else:
            there, here = by_block(out), by_channel(x, "transpose")

        def torchs(_: Any) -> Call:
            if to_depth:
                return lambda: by_channel(into, "permute").copy_(by_block(other))
            return lambda: by_block(into).copy_(by_channel(other, "permute"))

        ours = directml.space_to_depth if to_depth else directml.depth_to_space
        return _calls(lambda: np.copyto(there, here), lambda: ours(mine, s, out=to), torchs)

    return make


def _tile() -> Calls:
    x, out = _values(1, 16, 512, 512), np.zeros((1, 16, 1024, 1024), np.float32)
    (to, mine), (into, other) = _seen(out, x)
    tiles = out.reshape(1, 16, 2, 512, 2, 512)
    return _calls(
        lambda: np.copyto(tiles, x[:, :, None, :, None, :]),
        lambda: directml.tile(mine, (1, 1, 2, 2), out=to),
        lambda t: lambda: into.reshape(tiles.shape).copy_(other[:, :, None, :, None, :]),
    )


def _upsample() -> Calls:
    x, out = _values(1, 16, 512, 512), np.zeros((1, 16, 1024, 1024), np.float32)
    (to, mine), (into, other) = _seen(out, x)
    blocks = out.reshape(1, 16, 512, 2, 512, 2)
    return _calls(
        lambda: np.copyto(blocks, x[:, :, :, None, :, None]),
        lambda: directml.upsample_2d(mine, (2, 2), out=to),
        lambda t: lambda: t.ops.aten.upsample_nearest2d.out(other, [1024, 1024], out=into),
    )


_ROWS: dict[str, Make] = {
    "join of 4 along axis 0": _join(0),
    "join of 4 along axis 1": _join(1),
    "slice1, steps (2, 1)": _slice((2, 1)),
    "slice1, steps (-1, 1)": _slice((-1, 1)),
    "slice1, steps (1, -1)": _slice((1, -1)),
    "slice1, steps (1, 2)": _slice((1, 2)),
    "slice1, steps (-1, -2)": _slice((-1, -2)),
    "gather_elements along axis 1": _gather_elements(1),
    "gather_elements along axis 0": _gather_elements(0),
    "scatter_elements along axis 1": _scatter_elements(1),
    "scatter_elements along axis 0": _scatter_elements(0),
    "gather_nd, rows of 16": _gather_nd(16),
    "gather_nd, rows of 256": _gather_nd(256),
    "scatter_nd, rows of 16": _scatter_nd(16),
    "padding, constant": _pad("CONSTANT"),
    "padding, reflection": _pad("REFLECTION"),
    "space_to_depth, blocks of 2": _blocks(2, to_depth=True),
    "depth_to_space, blocks of 2": _blocks(2, to_depth=False),
    "tile (1, 1, 2, 2)": lambda: _tile(),
    "upsample_2d, nearest, 2": lambda: _upsample(),
}
