"""Rows of functions on a GPU: reductions, running sums, sorts, products of matrices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import isqrt
from typing import Any

import tensorlayout as tl
from benchmarks.gpu_operations import Operation
from benchmarks.gpu_row import CUBLAS, DTYPES, FASTEST, LARGE, MB, Operand, Row, Shape, sized

Axes = int | tuple[int, ...] | None


def rows(size: int = LARGE) -> Iterator[Row]:
    """All rows of functions, of about so many bytes of operands."""
    yield from _reductions(size)
    yield from _scans(size)
    yield from _products(4096 if size >= LARGE else 64)
    yield from _sorts(size)


# ---- Reductions

# What the reference is computed in; libraries add up single precision in another order.
_PRECISE = ("sum", "mean", "var")
_NEAR = {"float16": 1e-2, "float32": 1e-4, "float64": 1e-12}
_TORCH = {"max": "amax"}


def reduction(name: str, axis: Axes, dtype: str) -> Operation:
    """A reduction of the axes, None for all."""

    def array(xp: Any, out: Any, x: Any) -> Any:
        precise = {"dtype": "float64"} if out is None and name in _PRECISE else {}
        return getattr(xp, name)(x, axis=axis, out=out, **precise)

    def in_torch(torch: Any, out: Any, x: Any) -> Any:
        if name == "argmax":
            return torch.argmax(x, axis)
        more = {"correction": 0} if name == "var" else {}
        axes = tuple(range(x.ndim)) if axis is None else axis
        return getattr(torch, _TORCH.get(name, name))(x, dim=axes, out=out, **more)

    return Operation(
        name,
        lambda out, x: getattr(tl, name)(x, axis=axis),
        array,
        in_torch,
        lambda jnp, x: getattr(jnp, name)(x, axis=axis),
        exact=name not in _PRECISE,
        near=_NEAR.get(dtype),
        whole=True,
        judged=_greatest(axis) if name == "argmax" else None,
    )


def _greatest(axis: Axes) -> Any:
    """Return a check that positions belong to a greatest element; any of several may be chosen."""

    def judged(xp: Any, result: Any, x: Any) -> Any:
        if axis is None:
            return x.reshape(-1)[result], x.max()
        at = xp.take_along_axis(x, xp.expand_dims(result, axis), axis)
        return at.reshape(result.shape), x.max(axis=axis)

    return judged


def _reduced(x: Operand, name: str, axis: Axes, title: str, priority: int) -> Row:
    rank = len(x.shape)
    axes = range(rank) if axis is None else (axis,) if isinstance(axis, int) else axis
    kept = tuple(n for d, n in enumerate(x.shape) if d not in axes)
    out = Operand(kept, "int64" if name == "argmax" else x.dtype)
    title = f"{name} {title}, {sized(x.nbytes)} {x.dtype}"
    return Row("reduction", title, reduction(name, axis, x.dtype), (x,), out, priority, target=0.85)


def _square(size: int, dtype: str, width: int) -> Operand:
    edge = isqrt(size // width) // 16 * 16
    return Operand((edge, edge), dtype)


def _images(size: int, channels: int, side: int, *, nhwc: bool) -> Operand:
    """NCHW in shape, either way in memory."""
    edge = side if size >= MB else 8
    n = max(2, size // (4 * channels * edge * edge))
    if nhwc:
        return Operand((n, edge, edge, channels), "float32", axes=(0, 3, 1, 2))
    return Operand((n, channels, edge, edge), "float32")


def _reductions(size: int) -> Iterator[Row]:
    plain = _square(size, "float32", 4)
    for axis, title in ((1, "of rows"), (0, "of columns"), (None, "of all")):
        yield _reduced(plain, "sum", axis, title, 0)
    for nhwc, order in ((False, "NCHW"), (True, "NHWC")):
        for channels, side in ((64, 128), (3, 224)):
            x, whole = _images(size, channels, side, nhwc=nhwc), (0, 2, 3)
            name = f"{order}, {channels} channels"
            for axes in (whole, (1,), (3,), (0,), (2,)) if channels == 64 else (whole, (1,)):
                letters = "".join("NCHW"[d] for d in axes)
                priority = int(axes not in (whole, (1,)))
                yield _reduced(x, "sum", axes, f"over {letters} of {name}", priority)
            for function in ("mean", "var"):
                yield _reduced(x, function, whole, f"over NHW of {name}", int(channels == 64))
    for function in ("max", "argmax", "mean", "var"):
        for axis, title in ((1, "of rows"), (0, "of columns"), (None, "of all")):
            yield _reduced(plain, function, axis, title, 1 + (axis is None))
    for width, function in ((8, "sum"), (2, "mean"), (1, "max")):
        for axis, title in ((1, "of rows"), (0, "of columns")):
            yield _reduced(_square(size, DTYPES[width], width), function, axis, title, 2)


# ---- Running sums


def running_sum(axis: int) -> Operation:
    """Along an axis."""

    return Operation(
        "cumulative_sum",
        lambda out, x: tl.cumulative_sum(x, axis=axis),
        lambda xp, out, x: xp.cumsum(x, axis, "float64" if out is None else None, out),
        lambda torch, out, x: torch.cumsum(x, axis, out=out),
        lambda jnp, x: jnp.cumsum(x, axis=axis),
        exact=False,
        near=1e-3,  # of what adds up one by one in single precision
        whole=True,
    )


def _scans(size: int) -> Iterator[Row]:
    for width, priority in ((4, 0), (8, 2)):
        dtype = DTYPES[width]
        square = _square(size, dtype, width)
        cases: list[tuple[str, Operand, int]] = [
            ("of one line", Operand((size // width,), dtype), 0),
            ("along rows", square, 1),
            ("along columns", square, 0),
        ]
        if width == 4:
            images = _images(size, 3, 224, nhwc=True)
            cases.append(("along W of NHWC, 3 channels", images, 3))
        for title, x, axis in cases:
            name = f"cumulative_sum {title}, {sized(x.nbytes)} {dtype}"
            yield Row("scan", name, running_sum(axis), (x,), x, priority, target=0.8)


# ---- Sorts


def sorting(axis: int) -> Operation:
    """A sort of values."""
    return Operation(
        "sort",
        lambda out, x: tl.sort(x, axis=axis),
        lambda xp, out, x: xp.sort(x, axis=axis),
        lambda torch, out, x: torch.sort(x, axis)[0],
        lambda jnp, x: jnp.sort(x, axis=axis),
        whole=True,
    )


def sorting_positions(axis: int) -> Operation:
    """A sort of positions: those of equal elements come in any order."""
    return Operation(
        "argsort",
        lambda out, x: tl.argsort(x, axis=axis),
        lambda xp, out, x: xp.argsort(x, axis=axis),
        lambda torch, out, x: torch.argsort(x, axis),
        lambda jnp, x: jnp.argsort(x, axis=axis),
        whole=True,
        judged=lambda xp, result, x: (xp.take_along_axis(x, result, axis), xp.sort(x, axis=axis)),
    )


def _sorts(size: int) -> Iterator[Row]:
    size //= 4
    square, line = _square(size, "float32", 4), Operand((size // 4,), "float32")
    for x, axis, title, priority in (
        (square, 1, "of rows", 0),
        (line, 0, "of one line", 0),
        (square, 0, "of columns", 1),
        (Operand((size // 8,), "float64"), 0, "of one line", 2),
    ):
        name = f"{title}, {sized(x.nbytes)} {x.dtype}"
        yield Row("sort", f"sort {name}", sorting(axis), (x,), x, priority, None, FASTEST)
        out = replace(x, dtype="int64")
        operation = sorting_positions(axis)
        yield Row("sort", f"argsort {name}", operation, (x,), out, priority, None, FASTEST)


# ---- Products


def product(dtype: str) -> Operation:
    """A product of matrices; the reference is CuPy's, whose sums are rounded in another order."""

    return Operation(
        "matmul",
        lambda out, x, y: tl.matmul(x, y),
        lambda xp, out, x, y: xp.matmul(x, y, out=out),
        lambda torch, out, x, y: torch.matmul(x, y, out=out),
        lambda jnp, x, y: jnp.matmul(x, y, precision="highest"),
        exact=False,
        near=_NEAR[dtype],
        whole=True,
    )


def _products(edge: int) -> Iterator[Row]:
    for dtype, priority in (("float32", 0), ("float16", 1), ("float64", 2)):
        square = Operand((edge, edge), dtype)
        turned = replace(square, axes=(1, 0))
        padded = Operand((edge, edge), dtype, keep=edge // 16 * 15)
        lower = Operand((padded.kept[1], edge), dtype)
        stack = Operand((64, edge // 8, edge // 8), dtype)
        cases = {
            "x y": (square, square),
            "x.T y": (turned, square),
            "x y.T": (square, turned),
            "padded rows of x": (padded, lower),
            "stack of 64": (stack, stack),
        }
        for title, (x, y) in cases.items():
            yield _product(title, x, y, priority)


def _product(title: str, x: Operand, y: Operand, priority: int) -> Row:
    shape: Shape = (*x.shape[:-1], y.shape[-1])
    sizes = " x ".join(map(str, (*shape, x.shape[-1])))
    out = Operand(shape, x.dtype)
    name = f"matmul {title}, {sizes} {x.dtype}"
    return Row("matmul", name, product(x.dtype), (x, y), out, priority, 0.97, CUBLAS)
