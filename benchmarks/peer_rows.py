"""Calls whose kernels are counted beside CuPy's and CUB's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class PeerRow:
    """One call in each library.

    Attributes:
        operands: Python text that makes NumPy's arrays with `random`, by name.
        ours, cupy, cub: Python text; there is no such call if it is "".
        exact: whether results agree to the last bit.
        note: why a library has no call.

    """

    call: str
    operands: Mapping[str, str]
    ours: str
    cupy: str = ""
    cub: str = ""
    exact: bool = True
    note: str = ""


def rows() -> Iterator[PeerRow]:
    """All rows."""
    yield from _elementwise()
    yield from _copies()
    yield from _joins()
    yield from _reductions()
    yield from _scans()
    yield from _positions()
    yield from _sorts()
    yield _product()


def _whole(*shape: int, dtype: str = "float32") -> str:
    return f"random.integers(0, 100, {shape}).astype('{dtype}')"


def _at(count: int, below: int) -> str:
    return f"random.integers(0, {below}, {count}).astype('int32')"


_LINE, _SQUARE = (1_000_000,), (1000, 1000)


def _elementwise() -> Iterator[PeerRow]:
    def row(call: str, shape: Sequence[int], dtype: str, names: str = "xy") -> PeerRow:
        operands = dict.fromkeys(names, _whole(*shape, dtype=dtype))
        return PeerRow(call, operands, call, call)

    for dtype in ("float32", "float64", "float16", "uint8", "int64"):
        cub = f"[z := cp.empty_like(x), call('add_{dtype}', x, y, z, x.size)][0]"
        yield replace(row("x + y", _LINE, dtype), cub=cub)
    for dtype in ("float32", "float16", "uint8"):
        yield row("x + y.T", _SQUARE, dtype)
    for dtype in ("float32", "float16", "uint8"):
        yield row("x[:, 1:] - x[:, :-1]", _SQUARE, dtype, "x")
    yield row("x[1:] - x[:-1]", _LINE, "float32", "x")
    for name, other in (("row", (1000,)), ("column", (1000, 1))):
        operands = {"x": _whole(*_SQUARE), name: _whole(*other)}
        yield PeerRow(f"x + {name}", operands, f"x + {name}", f"x + {name}")
    x, y = _whole(*_LINE), _whole(*_LINE)
    yield PeerRow("x**2", {"x": x}, "x**2", "x**2")
    yield PeerRow("exp(x)", {"x": f"{x} / 100"}, "exp(x)", "cp.exp(x)", exact=False)
    operands = {"x": x, "y": y, "m": f"{x} > 50"}
    cub = "[z := cp.empty_like(x), call('where_float32', m, x, y, z, x.size)][0]"
    yield PeerRow("where(m, x, y)", operands, "where(m, x, y)", "cp.where(m, x, y)", cub)
    for to, source in (("float16", "float32"), ("float32", "uint8"), ("int32", "float32")):
        operands = {"x": _whole(*_LINE, dtype=source)}
        ours, theirs = f"astype(x, {to})", f"x.astype('{to}')"
        cub = _cub(f"{to}_of_{source}", "x", "y", "x.size", size="x.size", dtype=to)
        yield PeerRow(f"astype(x, {to})", operands, ours, theirs, cub)
    call = "where(x < y, x * y + x, y - x)"
    theirs = f"cp.fuse(kernel_name='fused')(lambda x, y: {call.replace('where', 'cp.where')})(x, y)"
    yield PeerRow(f"fused {call}", {"x": x, "y": y}, f"fuse(lambda x, y: {call})(x, y)", theirs)


def _copies() -> Iterator[PeerRow]:
    def row(view: str, shape: Sequence[int], dtype: str = "float32", name: str = "") -> PeerRow:
        ours, theirs = f"to_layout({view}, 'C')", f"{view}.copy()"
        return PeerRow(f"copy of {name or view}", {"x": _whole(*shape, dtype=dtype)}, ours, theirs)

    for dtype in ("float32", "uint8"):
        yield row("x[1:-1, 1:-1]", _SQUARE, dtype)
    for dtype in ("float32", "float64", "float16", "uint8"):
        yield row("x.T", _SQUARE, dtype)
    yield row("x.T", (1024, 1024))
    yield row("x[::-1, ::-1]", _SQUARE)
    yield row("x[:, ::2]", _SQUARE)
    for n, c, h, w, dtype in (
        (8, 3, 200, 200, "float32"), (8, 3, 200, 200, "uint8"), (4, 64, 56, 56, "float32"),
    ):  # fmt: skip
        x = {"x": _whole(n, c, h, w, dtype=dtype)}
        theirs = "x.transpose(0, 2, 3, 1).copy().transpose(0, 3, 1, 2)"
        yield PeerRow("NCHW to NHWC", x, "to_layout(x, 'NHWC')", theirs)
        x = {"x": _whole(n, h, w, c, dtype=dtype)}
        ours = "to_layout(permute_dims(x, (0, 3, 1, 2)), 'C')"
        yield PeerRow("NHWC to NCHW", x, ours, "x.transpose(0, 3, 1, 2).copy()")
    x = {"x": _whole(16, 20, 30, 100)}
    ours = "to_layout(permute_dims(x, (3, 2, 1, 0)), 'C')"
    yield PeerRow("copy of 4 dimensions, reversed", x, ours, "x.transpose(3, 2, 1, 0).copy()")


def _joins() -> Iterator[PeerRow]:
    operands = {"x": _whole(1000, 512), "y": _whole(1000, 256)}
    for axis, text in ((1, "x, y"), (0, "x, x")):
        call = f"concat(({text}), axis={axis})"
        yield PeerRow(call, operands, call, f"cp.concatenate(({text}), axis={axis})")
    operands = {"x": _whole(500_000), "y": _whole(500_000)}
    call = "stack((x, y), axis=1)"
    yield PeerRow(call, operands, call, f"cp.{call}")
    operands = {"x": _whole(*_SQUARE)}
    yield PeerRow("roll(x, 3, axis=1)", operands, "roll(x, 3, axis=1)", "cp.roll(x, 3, axis=1)")
    yield PeerRow("tril(x)", operands, "tril(x)", "cp.tril(x)")


def _cub(function: str, *arguments: str, size: str = "1", dtype: str = "float32") -> str:
    """Text that calls an algorithm with new memory `y` for its result."""
    return f"[y := cp.empty({size}, '{dtype}'), call('{function}', {', '.join(arguments)})][0]"


def _reductions() -> Iterator[PeerRow]:
    x = {"x": _whole(*_LINE)}
    for name in ("sum", "max"):
        yield PeerRow(f"{name}(x)", x, f"{name}(x)", f"x.{name}()",
                      _cub(f"{name}_float32", "x", "y", "x.size"), exact=False)  # fmt: skip
    x = {"x": _whole(*_LINE, dtype="float64")}
    cub = _cub("sum_float64", "x", "y", "x.size", dtype="float64")
    yield PeerRow("sum(x)", x, "sum(x)", "x.sum()", cub, exact=False)
    for shape in ((100_000, 3), (50_000, 8), (50_000, 13), (30_000, 33), (10_000, 100), _SQUARE,
                  (500, 2040)):  # fmt: skip
        cub = _cub("rows_sum_float32", "x", "y", "*x.shape", size="x.shape[0]")
        operands = {"x": _whole(*shape)}
        yield PeerRow("sum(x, axis=1)", operands, "sum(x, axis=1)", "x.sum(axis=1)", cub,
                      exact=False)  # fmt: skip
    for shape in ((3, 300_000), _SQUARE):
        x = {"x": _whole(*shape)}
        yield PeerRow("sum(x, axis=0)", x, "sum(x, axis=0)", "x.sum(axis=0)", exact=False)
    cub = _cub("rows_max_float32", "x", "y", "*x.shape", size="x.shape[0]")
    yield PeerRow("max(x, axis=1)", x, "max(x, axis=1)", "x.max(axis=1)", cub)
    rows_argmax = _cub(
        "rows_argmax_float32", "x", "y", "*x.shape", size="(x.shape[0], 2)", dtype="int32"
    )
    for shape in ((50_000, 7), _SQUARE, (10_000, 100)):
        operands = {"x": _whole(*shape)}
        yield PeerRow("argmax(x, axis=1)", operands, "argmax(x, axis=1)", "x.argmax(axis=1)",
                      f"{rows_argmax}[:, 0]")  # fmt: skip
    yield PeerRow("argmax(x, axis=0)", x, "argmax(x, axis=0)", "x.argmax(axis=0)")
    cub = _cub("argmax_float32", "x", "y", "x.size", size="2", dtype="int32")
    yield PeerRow("argmax(x)", {"x": _whole(*_LINE)}, "argmax(x)", "x.argmax()", f"{cub}[0]")
    for axis in (1, 0):
        call = f"var(x, axis={axis})"
        yield PeerRow(call, x, call, f"x.var(axis={axis})", exact=False)
    x = {"x": _whole(8, 32, 56, 56)}
    call = "mean(x, axis=(2, 3))"
    yield PeerRow(call, x, call, "x.mean(axis=(2, 3))", exact=False)


def _scans() -> Iterator[PeerRow]:
    for dtype in ("float32", "int64"):
        x = {"x": _whole(2**18, dtype=dtype)}
        cub = _cub(f"cumsum_{dtype}", "x", "y", "x.size", size="x.size", dtype=dtype)
        call = "cumulative_sum(x)"
        yield PeerRow(call, x, call, "cp.cumsum(x)", cub, exact=False)
    for axis, shape in ((1, (512, 512)), (0, (512, 512)), (0, (8, 40_000))):
        call, theirs = f"cumulative_sum(x, axis={axis})", f"cp.cumsum(x, axis={axis})"
        yield PeerRow(call, {"x": _whole(*shape)}, call, theirs, exact=False)


def _positions() -> Iterator[PeerRow]:
    x = _whole(512, 512)
    single = "random.integers(0, 2, (512, 512)).astype(bool)"
    runs = "np.repeat(random.integers(0, 2, 512 * 8), 64).reshape(512, 512).astype(bool)"
    for note, mask in (("at random", single), ("in runs of 64", runs)):
        cub = (
            "[y := cp.empty(x.size, 'float32'), c := cp.empty(1, 'int32'),"
            " call('select_float32', x, m, y, c, x.size), y[:int(c[0])]][-1]"
        )
        yield PeerRow(f"x[m], {note}", {"x": x, "m": mask}, "x[m]", "x[m]", cub)
    yield PeerRow("nonzero(m)[0]", {"m": single}, "nonzero(m)[0]", "cp.nonzero(m)[0]")
    for shape, axis, count in (((2000, 256), 0, 1500), ((512, 512), 1, 512), (_LINE, 0, 500_000)):
        operands = {"x": _whole(*shape), "i": _at(count, shape[axis])}
        call = f"take(x, i, axis={axis})"
        yield PeerRow(call, operands, call, f"cp.{call}")
    operands = {"x": _whole(2000, 256), "i": "random.permutation(2000)[:1500].astype('int32')",
                "y": _whole(1500, 256)}  # fmt: skip
    text = "(x.__setitem__(i, y), x)[1]"
    yield PeerRow("x[i] = y", operands, text, text)
    for note, below in (("at random", 2000), ("to 3 rows", 3)):
        operands = {"x": _whole(2000, 256), "i": _at(1500, below), "y": _whole(1500, 256)}
        theirs = "[z := x.copy(), cp.add.at(z, i, y)][0]"
        yield PeerRow(f"scatter_add(x, i, y), {note}", operands, "scatter_add(x, i, y)", theirs)
    operands = {"x": "np.sort(random.random(1000)).astype('float32')",
                "y": "random.random(200_000).astype('float32')"}  # fmt: skip
    text = "searchsorted(x, y)"
    yield PeerRow(text, operands, text, f"cp.{text}")


def _sorts() -> Iterator[PeerRow]:
    x = {"x": "random.random(2**17).astype('float32')"}
    cub = _cub("sort_float32", "x", "y", "x.size", size="x.size")
    yield PeerRow("sort(x)", x, "sort(x)", "cp.sort(x)", cub)
    operands = {**x, "i": "np.arange(2**17, dtype='int32')"}
    cub = (
        "[z := cp.empty_like(x), y := cp.empty_like(i),"
        " call('argsort_float32', x, z, i, y, x.size)][1]"
    )
    yield PeerRow("argsort(x)", operands, "argsort(x)", "cp.argsort(x)", cub)
    cub = _cub("sort_uint8", "x", "y", "x.size", size="x.size", dtype="uint8")
    yield PeerRow("sort(x)", {"x": _whole(2**17, dtype="uint8")}, "sort(x)", "", cub)
    operands = {"x": "random.random((96, 700)).astype('float32')",
                "b": "(np.arange(97) * 700).astype('int32')"}  # fmt: skip
    cub = _cub("rows_sort_float32", "x", "y", "b", "*x.shape", size="x.shape")
    yield PeerRow("sort(x, axis=1)", operands, "sort(x, axis=1)", "cp.sort(x, axis=1)", cub)


def _product() -> PeerRow:
    operands = {"x": "random.integers(-8, 8, (128, 128)).astype('int8')"}
    note = "cuBLAS loads its kernels itself, and has none for int8 results"
    return PeerRow("x @ x", operands, "x @ x", note=note)
