"""The rows of the benchmark on a GPU, by importance; here those that move and compute elements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from math import isqrt, prod

from benchmarks import gpu_functions, gpu_positions, gpu_tiled
from benchmarks import gpu_operations as operations
from benchmarks.gpu_operations import Operation
from benchmarks.gpu_row import DTYPES, GB, KB, LARGE, MB, SMALL, WIDTH, Operand, Row, Shape, sized

# The table is in this order; the rows are timed in the order of their priority.
GROUPS = (
    *("flat copy", "layout", "flip", "padded rows", "elementwise", "mixed layouts", "broadcast"),
    *("reduction", "scan", "join", "slice", "gather", "scatter", "pad", "tiled", "matmul", "sort"),
    *("creation", "small"),
)


def rows() -> list[Row]:
    """All rows, the most important first; of equal ones, the groups take turns."""
    result = [*_flat_copies(), *_layouts(), *_elementwise(), *_mixed(), *_broadcast()]
    result += [*families(), *_creation(), *_small()]
    turns = Counter[tuple[int, str]]()
    places: list[tuple[int, int]] = []
    for row in result:
        places.append((row.priority, turns[row.priority, row.group]))
        turns[row.priority, row.group] += 1
    in_order = sorted(zip(places, result, strict=True), key=lambda pair: pair[0])
    return [row for _, row in in_order]


def tiny_rows() -> list[Row]:
    """Each kind of row once for each width, so small that the simulator takes little time."""
    size = 8 * KB
    result = [_flat_copy(size, width, 0) for width in DTYPES]
    for name, family in LAYOUTS.items():
        result += [_layout(name, family, size, width, 0) for width in DTYPES]
    result += [*_operated(size, 0), *_mixed(size), *_broadcast(size), *_creation(size), *_small()]
    return [*result, *families(size)]


def families(size: int = LARGE) -> Iterator[Row]:
    """The rows of functions, of about so many bytes."""
    for family in (gpu_functions, gpu_positions, gpu_tiled):
        yield from family.rows(size)


# ---- Copies


def _flat_copies() -> Iterator[Row]:
    for size in (LARGE, 4 * KB, 64 * KB, SMALL, 16 * MB, 2 * GB, 8 * GB):
        yield _flat_copy(size, 4, 0 if size == LARGE else 2)
    for width in (1, 2, 8):
        yield _flat_copy(LARGE, width, 1)


def _flat_copy(size: int, width: int, priority: int) -> Row:
    dtype = DTYPES[width]
    block = Operand((size // width,), dtype)
    name = f"{sized(size)} {dtype}"
    return Row("flat copy", name, operations.COPY, (block,), block, priority, 0.95)


def _layouts() -> Iterator[Row]:
    for name, family in LAYOUTS.items():
        for width in DTYPES:
            yield _layout(name, family, LARGE, width, 0 if width == 4 else 1)
        yield _layout(name, family, 16 * MB, 4, 2)
    for name in ("NCHW to NHWC, 3 channels", "NHWC to NCHW, 3 channels", "transpose, square"):
        for size in (4 * KB, 64 * KB, SMALL):
            yield _layout(name, LAYOUTS[name], size, 4, 2)
        yield _layout(name, LAYOUTS[name], 16 * MB, 1, 2)
        for width in (1, 4):
            yield _layout(name, LAYOUTS[name], 8 * GB, width, 3)


# Of bytes, and bytes of an element: what is copied, and where to.
Shapes = Callable[[int, int], tuple[Operand, Operand]]


def _layout(name: str, family: Shapes, size: int, width: int, priority: int) -> Row:
    from_, to = family(size, width)
    group, target = "layout", 0.9 if width >= 4 else 0.8
    if name.startswith("flip"):
        group, target = "flip", 0.95  # as contiguous
    elif "pitch" in name:
        group, target = "padded rows", 0.9
    title = f"{name}, {sized(size)} {DTYPES[width]}"
    return Row(group, title, operations.COPY, (from_,), to, priority, target)


def _permuted(block: Shape, axes: Shape, width: int) -> tuple[Operand, Operand]:
    from_ = Operand(block, DTYPES[width], axes=axes)
    return from_, Operand(from_.shape, DTYPES[width])


def _images(channels: int, side: int, *, to_nhwc: bool) -> Shapes:
    def family(size: int, width: int) -> tuple[Operand, Operand]:
        edge = side if size >= SMALL else 16
        batch = max(1, size // (width * channels * edge * edge))
        if to_nhwc:
            return _permuted((batch, channels, edge, edge), (0, 2, 3, 1), width)
        return _permuted((batch, edge, edge, channels), (0, 3, 1, 2), width)

    return family


def _square(size: int, width: int) -> tuple[Operand, Operand]:
    edge = isqrt(size // width) // 16 * 16
    return _permuted((edge, edge), (1, 0), width)


def _odd(size: int, width: int) -> tuple[Operand, Operand]:
    edge = isqrt(size // width) | 1
    return _permuted((edge - 2, edge + 2), (1, 0), width)


def _columns(count: int) -> Shapes:
    return lambda size, width: _permuted((size // width // count, count), (1, 0), width)


def _scaled(shape: Shape, axes: Shape) -> Shapes:
    """A permutation of a shape whose first size follows from the bytes."""

    def family(size: int, width: int) -> tuple[Operand, Operand]:
        rest = shape[1:] if size >= SMALL else tuple(min(n, 7 + k) for k, n in enumerate(shape[1:]))
        return _permuted((max(1, size // width // prod(rest)), *rest), axes, width)

    return family


def _flips(flipped: Shape) -> Shapes:
    def family(size: int, width: int) -> tuple[Operand, Operand]:
        columns = 1000 if size >= SMALL else 50
        block = (size // width // columns, columns)
        return Operand(block, DTYPES[width], flipped=flipped), Operand(block, DTYPES[width])

    return family


def _rows_of(pitch: int, row: int, *, to_packed: bool) -> Shapes:
    """Rows of `row` **bytes**, each beginning at a multiple of `pitch` bytes, and packed ones."""

    def family(size: int, width: int) -> tuple[Operand, Operand]:
        stride = -(-row // pitch) * pitch // width
        count, kept = max(1, size // row), row // width
        padded = Operand((count, stride), DTYPES[width], keep=kept)
        packed = Operand((count, kept), DTYPES[width])
        return (padded, packed) if to_packed else (packed, padded)

    return family


LAYOUTS: dict[str, Shapes] = {
    **{
        f"{way}, {channels} channels": _images(channels, side, to_nhwc=way == "NCHW to NHWC")
        for channels, side in ((3, 224), (4, 224), (64, 56))
        for way in ("NCHW to NHWC", "NHWC to NCHW")
    },
    "transpose, square": _square,
    "transpose, odd": _odd,
    "transpose, 3 columns": _columns(3),
    "permute (2,1,0)": _scaled((0, 480, 640), (2, 1, 0)),
    "permute (1,0,2), last 3": _scaled((0, 800, 3), (1, 0, 2)),
    "permute (0,2,1), odd": _scaled((0, 333, 257), (0, 2, 1)),
    "permute (3,2,1,0)": _scaled((0, 96, 80, 64), (3, 2, 1, 0)),
    "permute (0,2,1,3), heads": _scaled((0, 512, 12, 64), (0, 2, 1, 3)),
    "permute (4,3,2,1,0)": _scaled((0, 20, 36, 28, 48), (4, 3, 2, 1, 0)),
    "permute (0,2,1,4,3)": _scaled((0, 24, 32, 40, 64), (0, 2, 1, 4, 3)),
    "flip columns": _flips((1,)),
    "flip rows": _flips((0,)),
    "flip both": _flips((0, 1)),
    "pitch 256 to packed": _rows_of(256, 1000, to_packed=True),
    "packed to pitch 256": _rows_of(256, 1000, to_packed=False),
    "pitch 512 to packed": _rows_of(512, 3000, to_packed=True),
    "packed to pitch 512": _rows_of(512, 3000, to_packed=False),
}


# ---- Elementwise


def _elementwise() -> Iterator[Row]:
    yield from _operated(LARGE, 0)
    for size in (4 * KB, 64 * KB, SMALL, 16 * MB, 2 * GB, 8 * GB):
        yield _operation(operations.ADD, ["float32"] * 2, "float32", size, 2)


def _operated(size: int, priority: int) -> Iterator[Row]:
    """Each operation on packed operands of each dtype; those of float32 are the most important."""

    def later(dtype: str) -> int:
        return priority + (dtype != "float32")

    for dtype in DTYPES.values():
        yield _operation(operations.ADD, [dtype] * 2, dtype, size, later(dtype))
        yield _operation(operations.WHERE, ["bool", dtype, dtype], dtype, size, later(dtype))
        if dtype != "uint8":
            yield _operation(operations.EXP, [dtype], dtype, size, later(dtype))
            yield _operation(operations.CHAIN, [dtype] * 3, dtype, size, later(dtype))
            yield _operation(operations.DISTANCE, [dtype] * 3, dtype, size, later(dtype))
    yield _summed(size, priority)
    pairs = (
        *(("float32", "float16"), ("float16", "float32"), ("uint8", "float32")),
        *(("float32", "uint8"), ("float32", "float64"), ("float64", "float32")),
    )
    for source, dtype in pairs:
        yield _operation(operations.cast(dtype), [source], dtype, size, later(source))


def _operation(
    operation: Operation, dtypes: list[str], result: str, size: int, priority: int
) -> Row:
    """`size`: bytes of the result, or of the widest operand."""
    count = size // max(WIDTH[dtype] for dtype in (*dtypes, result))
    operands = tuple(Operand((count,), dtype) for dtype in dtypes)
    name = f"{operation.name}, {sized(size)} {dtypes[-1]}"
    # A chain of operations is launched one by one, and moves what lies between.
    target = None if operation is operations.CHAIN else 0.95
    out = Operand((count,), result)
    return Row("elementwise", name, operation, operands, out, priority, target)


def _summed(size: int, priority: int) -> Row:
    """A fused last reduction."""
    both = (Operand((size // 4,), "float32"),) * 2
    name = f"{operations.SQUARES.name}, {sized(size)} float32"
    out = Operand((), "float32")
    return Row("elementwise", name, operations.SQUARES, both, out, priority, target=0.95)


def _mixed(only: int | None = None) -> Iterator[Row]:
    for size in (only,) if only else (LARGE, 16 * MB):
        for width, dtype in DTYPES.items():
            priority = 2 if size == 16 * MB else int(width != 4)
            transposed, plain = _square(size, width)
            seen, _ = _images(64 if size >= SMALL else 3, 56, to_nhwc=False)(size, width)
            pairs = {
                "x + y.T": (plain, transposed),
                "NCHW + NHWC": (Operand(seen.shape, dtype), seen),
            }
            for name, operands in pairs.items():
                title = f"{name}, {sized(size)} {dtype}"
                out = Operand(operands[0].shape, dtype)
                yield Row(
                    "mixed layouts", title, operations.ADD, operands, out, priority, 0.9, "flat"
                )


def _broadcast(size: int = LARGE) -> Iterator[Row]:
    columns = 4000 if size >= SMALL else 40
    for width, dtype in DTYPES.items():
        shape = (size // width // columns, columns)
        whole, priority = Operand(shape, dtype), int(width != 4)
        others = {
            "x + row": Operand((1, columns), dtype, to=shape),
            "x + column": Operand((shape[0], 1), dtype, to=shape),
            "x + scalar tensor": Operand((1, 1), dtype, to=shape),
        }
        for name, other in others.items():
            title = f"{name}, {sized(size)} {dtype}"
            yield Row(
                "broadcast", title, operations.ADD, (whole, other), whole, priority, target=0.95
            )
        title = f"x + 2, {sized(size)} {dtype}"
        yield Row("broadcast", title, operations.ADD_SCALAR, (whole,), whole, priority, target=0.95)


# ---- Creation, and what small calls take


def _creation(size: int = LARGE) -> Iterator[Row]:
    for width, dtype in DTYPES.items():
        count = size // width
        created = [operations.full((count,), 0, dtype), operations.full((count,), 7, dtype)]
        if width >= 4:
            created.append(operations.arange(count, dtype))
        for operation in created:
            name = f"{operation.name}, {sized(size)} {dtype}"
            priority = 1 if width == 4 else 2
            yield Row("creation", name, operation, (), Operand((count,), dtype), priority)


def _small() -> Iterator[Row]:
    ten, square = Operand((10,), "float32"), Operand((4, 4), "float32")
    turned = Operand((4, 4), "float32", axes=(1, 0))
    for name, operation, operands, out in (
        ("x + y, 10 elements", operations.PLUS, (ten, ten), ten),
        ("x + 2, 10 elements", operations.ADD_SCALAR, (ten,), ten),
        ("y[...] = x.T, 4 x 4", operations.COPY, (turned,), square),
        ("x + y.T, 4 x 4", operations.PLUS, (square, turned), square),
    ):
        yield Row("small", name, operation, operands, out, 0, 1.0, "cupy", on_host=True)
