"""Rows that pick, place and join elements on a GPU: joins, slices, gathers, scatters, pads.

The functions of `tensorlayout.directml` write into results that are there, as DirectML's operators.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isqrt
from typing import Any

import tensorlayout as tl
from benchmarks.gpu_operations import Function, Operation, assigned, copied
from benchmarks.gpu_row import DTYPES, FASTEST, LARGE, MB, Operand, Row, Shape, sized
from tensorlayout import directml

Key = tuple[slice, ...]


def rows(size: int = LARGE) -> Iterator[Row]:
    """The rows of positions, with results of about so many bytes; of DirectML a quarter of it."""
    yield from _joins(size)
    yield from _slices(size)
    yield from _gathers(size)
    yield from _scatters(size)
    yield from _pads(size // 4)


# ---- Joins


def joining(axis: int, *, by_directml: bool = False) -> Operation:
    """A join of any number of tensors along an axis."""

    ours: Function = lambda out, *xs: tl.concat(xs, axis=axis)  # noqa: E731
    if by_directml:
        ours = lambda out, *xs: directml.join(xs, axis, out=out)  # noqa: E731
    return Operation(
        "directml.join" if by_directml else "concat",
        ours,
        lambda xp, out, *xs: xp.concatenate(xs, axis, out=out),
        lambda torch, out, *xs: torch.cat(xs, axis, out=out),
        lambda jnp, *xs: jnp.concatenate(xs, axis),
        into=by_directml,
        whole=True,
    )


def _joined(title: str, xs: Sequence[Operand], axis: int, priority: int, dml: bool = False) -> Row:
    sizes = list(xs[0].shape)
    sizes[axis] = sum(x.shape[axis] for x in xs)
    operation, out = joining(axis, by_directml=dml), Operand(tuple(sizes), xs[0].dtype)
    name = f"{operation.name}, {title}, {sized(out.nbytes)} {out.dtype}"
    return Row("join", name, operation, tuple(xs), out, priority, 0.85)


def _joins(size: int) -> Iterator[Row]:
    large = size >= LARGE
    for width, dtype in DTYPES.items():
        count = size // width

        def part(n: int, dtype: str = dtype, count: int = count, of: int = 1) -> Operand:
            return Operand((max(2, count // n // of), n), dtype)

        priority = 0 if width == 4 else 2
        wide = (1024, 3072) if large else (64, 32)
        rows = count // sum(wide)
        parts = [Operand((rows, n), dtype) for n in wide]
        yield _joined("2 along the last axis", parts, 1, priority)
        yield _joined("2 along the first axis", [Operand((rows // 2, 4096), dtype)] * 2, 0, 2)
        if width == 4:
            odd = (1001, 515, 2580) if large else (7, 13, 5)
            parts = [Operand((count // sum(odd), n), dtype) for n in odd]
            yield _joined("3 of odd sizes along the last axis", parts, 1, 0)
            parts = [Operand((count // 64 // 64, 64), dtype)] * 64
            yield _joined("64 along the last axis", parts, 1, 0)
            n = max(1, count // (2 * 64 * 3136))
            edge = 56 if large else 4
            seen = Operand((n, edge, edge, 64), dtype, axes=(0, 3, 1, 2))
            parts = [Operand(seen.shape, dtype), seen]
            yield _joined("NCHW and NHWC along C", parts, 1, 1)
    quarter = size // 16
    side = isqrt(quarter) // 4
    parts = [Operand((4 * side, n * side), "float32") for n in (1, 1, 2)]
    yield _joined("3 along the last axis", parts, 1, 0, dml=True)


# ---- Slices


def slicing(key: Key, ours: Function, name: str) -> Operation:
    """`key`: a slice for each dimension; ones that run backwards begin at the end."""
    flipped = tuple(d for d, part in enumerate(key) if (part.step or 1) < 0)

    def in_torch(torch: Any, out: Any, x: Any) -> Any:
        if not flipped:
            return out.copy_(x[key])
        # There are no views backwards: those elements forwards, then a flip.
        forwards = tuple(
            slice((n - 1) % -part.step, None, -part.step) if (part.step or 1) < 0 else part
            for part, n in zip(key, x.shape, strict=True)
        )
        return torch.flip(x[forwards], flipped)

    return Operation(
        name,
        ours,
        lambda xp, out, x: copied(xp, out, x[key]),
        in_torch,
        lambda jnp, x: jnp.copy(x[key]),
        into=True,
        whole=True,
    )


def _by_slice1(key: Key, shape: Shape) -> Function:
    """Windows of whole dimensions, but for what a first slice cuts off."""
    parts = [part.indices(n) for part, n in zip(key, shape, strict=True)]
    offsets = [0 if step < 0 else start for start, _, step in parts]
    sizes = [
        n if step < 0 else stop - start for (start, stop, step), n in zip(parts, shape, strict=True)
    ]
    strides = [step for *_, step in parts]

    def ours(out: Any, x: Any) -> Any:
        return directml.slice1(x, offsets, sizes, strides, out=out)

    return ours


_ALL = slice(None)
_SLICES: dict[str, Key] = {
    "every second row": (slice(None, None, 2), _ALL),
    "every second column": (_ALL, slice(None, None, 2)),
    "every third column, backwards": (_ALL, slice(None, None, -3)),
    "both backwards": (slice(None, None, -1), slice(None, None, -1)),
    "without a border of 1": (slice(1, -1), slice(1, -1)),
}


def _sliced(title: str, size: int, width: int, priority: int, dml: bool) -> Row:
    key, dtype = _SLICES[title], DTYPES[width]
    edge = isqrt(size // width)
    x = Operand((edge, edge), dtype)
    shape = tuple(len(range(*part.indices(n))) for part, n in zip(key, (edge, edge), strict=True))
    out = Operand(shape, dtype)
    # Columns left out lie in sectors that are read.
    read = shape[0] * (edge if abs(key[1].step or 1) > 1 else shape[1])
    moved = read * width + out.nbytes
    name = "directml.slice1" if dml else "slice"
    ours = _by_slice1(key, (edge, edge)) if dml else lambda out, x: assigned(out, x[key])
    title = f"{name} {title}, {sized(x.nbytes)} {dtype}"
    operation = slicing(key, ours, name)
    return Row("slice", title, operation, (x,), out, priority, 0.85, moved=moved)


def _slices(size: int) -> Iterator[Row]:
    for title in _SLICES:
        yield _sliced(title, size, 4, 0, dml=False)
        yield _sliced(title, size // 4, 4, 0 if "third" in title else 1, dml=True)
    for width in (1, 2, 8):
        for title in ("every third column, backwards", "both backwards"):
            yield _sliced(title, size, width, 2, dml=False)


# ---- Gathers


def taking(axis: int) -> Operation:
    """Slices at positions along an axis."""

    return Operation(
        "take",
        lambda out, x, i: tl.take(x, i, axis=axis),
        lambda xp, out, x, i: xp.take(x, i, axis=axis, out=out),
        lambda torch, out, x, i: torch.index_select(x, axis, i, out=out),
        lambda jnp, x, i: jnp.take(x, i, axis=axis, mode="clip"),
        whole=True,
    )


def taking_along(axis: int, *, by_directml: bool) -> Operation:
    """An element for each position."""
    ours: Function = lambda out, x, i: tl.take_along_axis(x, i, axis=axis)  # noqa: E731
    if by_directml:
        ours = lambda out, x, i: directml.gather_elements(x, i, axis, out=out)  # noqa: E731
    return Operation(
        "directml.gather_elements" if by_directml else "take_along_axis",
        ours,
        lambda xp, out, x, i: xp.take_along_axis(x, i, axis),
        lambda torch, out, x, i: torch.gather(x, axis, i, out=out),
        lambda jnp, x, i: jnp.take_along_axis(x, i, axis),
        into=by_directml,
        whole=True,
    )


GATHER_ND = Operation(
    "directml.gather_nd",
    lambda out, x, i: directml.gather_nd(x, i, 3, 2, out=out),
    lambda xp, out, x, i: x[i[0, :, 0], i[0, :, 1]][None],
    lambda torch, out, x, i: x[i[0, :, 0], i[0, :, 1]][None],
    lambda jnp, x, i: x[i[0, :, 0], i[0, :, 1]][None],
    into=True,
    whole=True,
)


def _gather(
    operation: Operation, title: str, xs: tuple[Operand, Operand], shape: Shape, priority: int
) -> Row:
    x, i = xs
    out = Operand(shape, x.dtype)
    moved = 2 * out.nbytes + i.nbytes
    order = "sorted" if i.positions == "sorted" else "at random"
    name = f"{operation.name} {title}, {order}, {sized(out.nbytes)} {x.dtype}"
    return Row("gather", name, operation, xs, out, priority, 1.0, FASTEST, moved=moved)


def _gathers(size: int) -> Iterator[Row]:
    for order, width in (("any", 4), ("sorted", 4), ("any", 8), ("any", 2)):
        dtype, priority = DTYPES[width], 0 if width == 4 else 2
        count = size // width

        def positions(*shape: int, below: int, order: str = order) -> Operand:
            return Operand(shape, "int64", positions=order, below=below)

        columns = 256 if size >= LARGE else 16
        x = Operand((count // columns, columns), dtype)
        n, edge = x.block[0], isqrt(count)
        title = f"of rows of {columns * width} bytes"
        yield _gather(taking(0), title, (x, positions(n, below=n)), x.shape, priority)
        line = Operand((count,), dtype)
        i = positions(count // 2, below=count)
        yield _gather(taking(0), "of elements", (line, i), i.shape, priority)
        square = Operand((edge, edge), dtype)
        i = positions(edge, below=edge)
        yield _gather(taking(1), "of columns", (square, i), square.shape, priority + 1)
        if width == 4:
            edge = isqrt(count // 4)
            square, i = Operand((edge, edge), dtype), positions(edge, edge, below=edge)
            for axis, way in ((1, "rows"), (0, "columns")):
                for dml in (False, True):
                    operation = taking_along(axis, by_directml=dml)
                    later = int(axis == 0 or not dml)
                    yield _gather(operation, f"along {way}", (square, i), square.shape, later)
    columns = 64 if size >= LARGE else 8
    edge = isqrt(size // 16 // columns)
    x = Operand((edge, edge, columns), "float32")
    i = Operand((1, edge * edge, 2), "int64", positions="any", below=edge)
    title = f"of rows of {4 * columns} bytes"
    yield _gather(GATHER_ND, title, (x, i), (1, edge * edge, columns), 0)


# ---- Scatters


def _put(out: Any, i: Any, y: Any) -> Any:
    out[i] = y
    return out


ASSIGN_ROWS = Operation(
    "x[i] = y",
    lambda out, i, y: _put(out, i, y),
    lambda xp, out, i, y: _put(xp.empty_like(y) if out is None else out, i, y),
    lambda torch, out, i, y: out.index_copy_(0, i, y),
    lambda jnp, i, y: jnp.zeros(y.shape, y.dtype).at[i].set(y, unique_indices=True),
    into=True,
    whole=True,
)


def _put_along(xp: Any, out: Any, x: Any, i: Any, y: Any) -> Any:
    out = x.copy() if out is None else copied(xp, out, x)
    out[xp.arange(len(x))[:, None], i] = y
    return out


SCATTER_ELEMENTS = Operation(
    "directml.scatter_elements",
    lambda out, x, i, y: directml.scatter_elements(x, i, y, 1, out=out),
    _put_along,
    lambda torch, out, x, i, y: torch.scatter(x, 1, i, y, out=out),
    lambda jnp, x, i, y: x.at[jnp.arange(len(x))[:, None], i].set(y, unique_indices=True),
    into=True,
    whole=True,
)


def _scatter(operation: Operation, title: str, xs: tuple[Operand, ...], priority: int) -> Row:
    out = Operand(xs[-1].shape, xs[-1].dtype)
    order = "sorted" if xs[-2].positions == "numbers" else "at random"
    name = f"{operation.name} {title}, {order}, {sized(out.nbytes)} {out.dtype}"
    return Row("scatter", name, operation, xs, out, priority, 1.0, FASTEST)


def _scatters(size: int) -> Iterator[Row]:
    for width in (4, 8, 2):
        dtype, priority = DTYPES[width], 0 if width == 4 else 2
        count = size // width
        columns = 256 if size >= LARGE else 16
        block = Operand((count // columns, columns), dtype)
        line = Operand((count // 4,), dtype)
        for order in ("order", "numbers"):
            for x, title in ((block, f"of rows of {columns * width} bytes"), (line, "of elements")):
                n = x.block[0]
                i = Operand((n,), "int64", positions=order, below=n)
                yield _scatter(ASSIGN_ROWS, title, (i, x), priority)
    edge = isqrt(size // 16)
    x = Operand((edge, edge), "float32")
    i = Operand((edge, edge), "int64", positions="orders", below=edge)
    yield _scatter(SCATTER_ELEMENTS, "along rows", (x, i, x), 0)


# ---- Pads, and space to depth


def padding(widths: Sequence[tuple[int, int]], mode: str) -> Operation:
    """`mode`: DirectML's word."""
    before, after = [list(x) for x in zip(*widths, strict=True)]
    of_numpy, of_torch = {
        "CONSTANT": ("constant", "constant"),
        "REFLECTION": ("reflect", "reflect"),
        "EDGE": ("edge", "replicate"),
    }[mode]

    def in_torch(torch: Any, out: Any, x: Any) -> Any:
        last_first = [n for pair in reversed(widths[2:]) for n in pair]
        return torch.nn.functional.pad(x, last_first, of_torch)

    return Operation(
        "directml.padding",
        lambda out, x: directml.padding(x, before, after, mode, out=out),
        lambda xp, out, x: xp.pad(x, list(widths), of_numpy),
        in_torch,
        lambda jnp, x: jnp.pad(x, list(widths), of_numpy),
        into=True,
        whole=True,
    )


def _blocks(x: Any, s: int) -> Any:
    n, c, h, w = x.shape
    return x.reshape(n, c, h // s, s, w // s, s)


def _in_channels(seen: Any, x: Any, s: int) -> Any:
    n, c, h, w = x.shape
    return seen.reshape(n, c * s * s, h // s, w // s)


def to_depth(s: int) -> Operation:
    """Blocks of s x s pixels into channels."""
    order = (0, 3, 5, 1, 2, 4)

    def array(xp: Any, out: Any, x: Any) -> Any:
        seen = _blocks(x, s).transpose(order)
        if out is None:
            return _in_channels(seen, x, s)
        xp.copyto(out.reshape(seen.shape), seen)
        return out

    def in_torch(torch: Any, out: Any, x: Any) -> Any:
        seen = _blocks(x, s).permute(order)
        out.view(seen.shape).copy_(seen)
        return out

    return Operation(
        "directml.space_to_depth",
        lambda out, x: directml.space_to_depth(x, s, out=out),
        array,
        in_torch,
        lambda jnp, x: _in_channels(_blocks(x, s).transpose(order), x, s),
        into=True,
        whole=True,
    )


def _pads(size: int) -> Iterator[Row]:
    channels, edge = (16, 256) if size >= MB else (2, 16)
    n = max(1, size // (4 * channels * edge * edge))
    x = Operand((n, channels, edge, edge), "float32")
    border = ((0, 0), (0, 0), (3, 3), (3, 3))
    grown = Operand((n, channels, edge + 6, edge + 6), "float32")
    for mode in ("CONSTANT", "REFLECTION", "EDGE"):
        operation = padding(border, mode)
        name = f"{operation.name}, {mode.lower()}, {sized(x.nbytes)} float32"
        yield Row("pad", name, operation, (x,), grown, int(mode == "EDGE"), 0.85)
    for s in (2, 4):
        out = Operand((n, channels * s * s, edge // s, edge // s), "float32")
        operation = to_depth(s)
        name = f"{operation.name}, {s} x {s}, {sized(x.nbytes)} float32"
        yield Row("pad", name, operation, (x,), out, int(s == 4), 0.85)
