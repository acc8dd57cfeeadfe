"""Fused functions beside their steps one by one, NumPy, PyTorch and numexpr."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

import tensorlayout as tl
from benchmarks.cpu import HostRow
from benchmarks.measure import Call
from benchmarks.peers import OURS, numexpr, share, torch

UNFUSED = "step by step"
COLUMNS = (UNFUSED, "numpy", "torch", "numexpr")

# Of a peer's time: what several passes over memory cost, and one; and a small call.
LARGE = {UNFUSED: 1.0, "numpy": 0.4, "torch": 0.4, "numexpr": 1.3}
SMALL = {UNFUSED: 1.0}
BY_LOOPS = {UNFUSED: 1.0, "numpy": 1.0}  # the loop takes the time, and NumPy's is the one there is

Function = Callable[..., Any]


def _affine(xp: Any) -> Function:
    return lambda x, m, s, g, b: (x - m) / s * g + b


def _bytes(xp: Any) -> Function:
    def normalise(x: Any, m: Any, s: Any) -> Any:
        x = x.to(xp.float32) if xp is torch else x.astype(xp.float32)
        return (x / 255 - m) / s

    return normalise


def _gate(xp: Any) -> Function:
    return lambda x, y: xp.where(x > 0, x * y, x) + y


def _sigmoid(xp: Any) -> Function:
    return lambda x: 1 / (1 + xp.exp(-x))


def _mixed(xp: Any) -> Function:
    return lambda x, y: (x + y.T) * 2 - x


def _distance(xp: Any) -> Function:
    return lambda x, y: ((x - y) * (x - y)).sum()


AFFINE = "(x - m) / s * g + b"


def rows(quick: bool) -> Iterator[HostRow]:
    """All rows, or those of one size."""
    for count in (1 << 22,) if quick else (1 << 10, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24):
        name = f"{AFFINE}, numbers, {count * 4 / 1024:g} KB float32"
        limits = LARGE if count >= 1 << 20 else SMALL
        yield _row(name, _affine, functools.partial(_with_numbers, count), AFFINE, limits)
    for name, x, others in (
        ("rows of 2048", (2048, 2048), (2048,)),
        ("channels, NHWC", (28, 224, 224, 3), (3,)),
        ("channels, NCHW", (28, 3, 224, 224), (3, 1, 1)),
    ):
        name = f"{AFFINE}, {name}, 16 MB float32"
        yield _row(name, _affine, functools.partial(_with_four, x, others), AFFINE)
    yield _row("(x.astype(float32) / 255 - m) / s, NHWC, 4 MB", _bytes, _picture)
    yield HostRow(
        "fuse", "standardise of the first page, 64 images, NHWC, 39 MB", _first_page, LARGE
    )
    yield _row("where(x > 0, x * y, x) + y, 16 MB", _gate, _pair, "where(x > 0, x * m, x) + m")
    yield _row("1 / (1 + exp(-x)), 16 MB", _sigmoid, _one, "1 / (1 + exp(-x))", BY_LOOPS)
    yield _row("(x + y.T) * 2 - x, 16 MB", _mixed, _pair, limits=SMALL)
    yield _row("((x - y) * (x - y)).sum(), 16 MB", _distance, _pair, limits=SMALL)


def _one() -> tuple[Any, ...]:
    return (_normal((2048, 2048)),)


def _pair() -> tuple[Any, ...]:
    return (*_one(), *_one())


def _with_numbers(count: int) -> tuple[Any, ...]:
    return (_normal(count), 0.5, 1.25, 2.0, 0.1)


def _normal(shape: Any) -> Any:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def _with_four(shape: tuple[int, ...], others: tuple[int, ...]) -> tuple[Any, ...]:
    return (_normal(shape), *[np.abs(_normal(others)) + k for k in (1, 2, 3, 4)])


def _picture() -> tuple[Any, ...]:
    octets = np.random.default_rng(0).integers(0, 256, (28, 224, 224, 3)).astype(np.uint8)
    mean, std = np.array([[0.485, 0.456, 0.406], [0.229, 0.224, 0.225]], np.float32)
    return octets, mean, std


def _standardise(images: Any) -> Any:
    """Return what the README computes first: `reshape` copies, of NHWC memory."""
    n, c, h, w = images.shape
    rows = images.reshape(n, c * h * w)
    mean = np.mean(rows, axis=1).reshape(n, 1, 1, 1)
    std = np.std(rows, axis=1).reshape(n, 1, 1, 1)
    return (images - mean) / std


def _first_page() -> Mapping[str, Call]:
    """Return the calls of the README: its last function, and its first in NumPy and PyTorch."""

    def scale(images: Any, mean: Any, std: Any) -> Any:
        return (images - mean) / std

    fused = tl.fuse(scale)

    def standardise(images: Any, last_step: Function) -> Any:
        axes = (1, 2, 3)
        mean, std = (f(images, axis=axes, keepdims=True) for f in (np.mean, np.std))
        return last_step(images, mean, std)

    pixels = np.random.default_rng(0).random((64, 224, 224, 3), np.float32)
    seen = share(pixels.transpose(0, 3, 1, 2))
    images, array = seen[OURS], seen["numpy"]
    calls: dict[str, Call] = {
        OURS: lambda: standardise(images, fused),
        UNFUSED: lambda: standardise(images, scale),
        "numpy": lambda: _standardise(array),
    }
    if torch is not None:
        theirs = seen["torch"]

        def torch_call() -> Any:
            rows = theirs.reshape(64, -1)
            mean, std = rows.mean(1)[:, None, None, None], rows.std(1, correction=0)
            return (theirs - mean) / std[:, None, None, None]

        calls["torch"] = torch_call
    return calls


def _row(
    name: str,
    function: Callable[[Any], Function],
    arguments: Callable[[], tuple[Any, ...]],
    expression: str = "",
    limits: Mapping[str, float] = LARGE,
) -> HostRow:
    def make() -> Mapping[str, Call]:
        operands = arguments()
        seen = [share(x) if isinstance(x, np.ndarray) else None for x in operands]

        def of(peer: str) -> list[Any]:
            return [x if s is None else s[peer] for x, s in zip(operands, seen, strict=True)]

        ours, arrays, plain, fused = of(OURS), of("numpy"), function(tl), tl.fuse(function(tl))
        calls: dict[str, Call] = {
            OURS: lambda: fused(*ours),
            UNFUSED: lambda: plain(*ours),
            "numpy": lambda: function(np)(*arrays),
        }
        if numexpr is not None and expression:
            names = dict(zip("xmsgb", arrays, strict=False))
            calls["numexpr"] = lambda: numexpr.evaluate(expression, names)
        if torch is not None:
            theirs = of("torch")
            calls["torch"] = lambda: function(torch)(*theirs)
        return calls

    return HostRow("fuse", name, make, limits)
