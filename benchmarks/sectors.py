"""``python -m benchmarks sectors``: how kernels use memory and issue slots, without a GPU.

What is counted does not depend on the machine: the 32-byte sectors that warps touch, the lanes
that take part, the wavefronts in shared memory; and, with CuPy and nvdisasm, the instructions.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial, reduce
from math import prod
from operator import add
from typing import Any

import numpy as np

import tensorlayout as tl
from benchmarks import roofline
from tensorlayout.cuda.engine.driver import driver
from tensorlayout.cuda.engine.launch_log import Counts, Tally, checking
from tensorlayout.cuda.engine.simulator import find_compiler

Shape = tuple[int, ...]

ALL = ("uint8", "float16", "float32", "float64")
WIDE = ("float32", "float64")

_CHIP = roofline.H100

# Of sectors and lanes, and of wavefronts.
LEAST, MOST = 0.9, 1.1


@dataclass(frozen=True)
class Probe:
    """A line for each dtype.

    Attributes:
        file: whose section it is in.
        layout: how the operand lies, and the result where that differs.
        operands: by the names that `run` has for them; text is Python for it, evaluated before.
        held: whether it has targets: not where data says which sectors are touched.
        run: the Python text that is counted; `call` unless that says it for people.

    """

    file: str
    call: str
    shape: Shape
    layout: str
    operands: Mapping[str, Any] = field(default_factory=lambda: {"x": _X})
    dtypes: Sequence[str] = ALL
    held: bool = True
    run: str = ""


@dataclass(frozen=True)
class Counted:
    """Counts of one case with one dtype.

    Attributes:
        elements: by which instructions are divided.
        octets: that the call has to read and to write.

    """

    case: Probe
    dtype: str
    kernels: tuple[str, ...]
    counts: Counts
    issued: roofline.Issued = roofline.UNKNOWN
    elements: int = 1
    octets: int = 0

    @property
    def share(self) -> float | None:
        """The share that issuing allows, of the speed of a copy; None where it is not known."""
        return None if self.issued.unknown else self.issued.share(self.octets, _CHIP)

    @property
    def short(self) -> list[str]:
        """Counts that miss their target."""
        c = self.counts
        parts = {
            "read": (c.sector_efficiency_read, self._counts(c.loads)),
            "written": (c.sector_efficiency_write, self._counts(c.stores)),
            "lanes": (c.lane_activity, True),
        }
        words = [f"{w} {value:.3f}" for w, (value, it) in parts.items() if it and value < LEAST]
        if c.bank_conflict_ratio > MOST:
            words.append(f"banks {c.bank_conflict_ratio:.3f}")
        least = _least_share(self.case, np.dtype(self.dtype).itemsize)
        if self.share is not None and self.share < least:
            words.append(f"share {self.share:.3f} of {least:.2f}")
        return words

    def _counts(self, side: Tally) -> bool:
        return 10 * side.bytes >= self.counts.loads.bytes + self.counts.stores.bytes

    @property
    def met(self) -> bool | None:
        """True if all targets are met; None without targets."""
        return not self.short if self.case.held else None


def count_accesses(case: Probe, dtype: str) -> Counted:
    """A case with a dtype, on the simulator."""
    before = _allocated()
    space = vars(tl) | {"tl": tl, "values": _values, "shape": case.shape, "dtype": dtype}
    for name, operand in case.operands.items():
        space[name] = eval(operand, space) if isinstance(operand, str) else operand
    text = case.run or case.call
    call = compile(text, text, "exec" if "] = " in text else "eval")
    operands = _allocated() - before
    with checking("count") as record, roofline.issuing() as issued:
        result = eval(call, space)
    counts = reduce(add, record.counts.values(), Counts(""))
    names = dict.fromkeys(kernel.name for kernel in record.counts)
    tensor = isinstance(result, tl.Tensor)
    moves = tensor and case.file not in ("reduce/reduce.cu", "sort/search.cu")
    elements = result.size if moves else prod(case.shape)
    written = result.nbytes if tensor else 2**62
    octets = min(operands, 32 * counts.loads.ideal) + min(written, 32 * counts.stores.ideal)
    return Counted(case, dtype, tuple(names), counts, issued, elements, octets)


def _allocated() -> int:
    """Bytes of all tensors on the simulator."""
    cuda_driver: Any = driver()
    gc.collect()
    return int(cuda_driver.ranges[0].total_bytes())


def _least_share(case: Probe, octets: int) -> float:
    """The target of a case: 0.95 where elements stay in order."""
    if case.file == "scan.cu":
        return 0.8
    # 1.5 times as long as digits of 8 bits: three moves for each.
    if case.file in ("sort/sort.cu", "sort/radix.cu"):
        return 1 / (1.5 * octets * 1.5)
    if case.file == "matmul.cu":
        return 0.0
    ordered = not any(word in case.layout for word in (" to ", "columns", ", NHWC"))
    return 0.95 if ordered else 0.9 if octets > 2 else 0.8


def run(only: str) -> str:
    """The page, of the cases whose file and call hold the text."""
    os.environ["TENSORLAYOUT_CUDA_SIMULATOR"] = "1"
    chosen = [case for case in cases() if only in f"{case.file}: {case.call}"]
    return markdown([count_accesses(case, dtype) for case in chosen for dtype in case.dtypes])


# ---- The page


def markdown(results: Sequence[Counted]) -> str:
    """A table for each file of kernels, those that miss a target first of all."""
    _, version = find_compiler()
    held = [result for result in results if result.met is not None]
    missed = [row for row in held if not row.met]
    lines = [
        "# How kernels use memory",
        "",
        f"Counted on the simulator by `python -m benchmarks sectors`, {_today()},"
        f" {version.splitlines()[0]}.",
        "",
        *_NOTES,
        "",
        f"{len(held) - len(missed)} of {len(held)} lines with targets meet them. Not:",
        "",
        *[f"- {_name(row)}: {', '.join(row.short)}" for row in missed],
    ]
    for file in dict.fromkeys(row.case.file for row in results):
        lines += ["", f"## {file}", "", *_HEAD]
        lines += [_line(row) for row in results if row.case.file == file]
    return "\n".join([*lines, ""])


_NOTES = (
    "Read and written: the fewest 32-byte sectors that could hold what is moved, over those that"
    " warps touch. Lanes: those that take part in accesses. Banks: wavefronts in shared memory over"
    " the fewest possible. Launches: of one call, all of whose kernels are counted together.",
    "",
    f"Targets: read, written and lanes at least {LEAST}, banks at most {MOST}; none for a side that"
    " moves less than a tenth of the bytes, as results of reductions. Lines with `-` have none:"
    " which sectors they touch is for their data to say.",
    "",
    "Instructions: those of all warps on sm_90, times 32, for each element of the result (of the"
    " operand, where results are fewer); up to 18 blocks of each launch are run instruction by"
    " instruction (`benchmarks/sass`), and stand for all. In flight: loads from global memory"
    " that a thread has under way when it first waits for one. Registers, blocks on a"
    " multiprocessor: of the kernel that issues most. Share: of the speed of memory, what the issue"
    f" slots of an H100 allow ({_CHIP.multiprocessors} multiprocessors, 4 instructions a clock of"
    f" {_CHIP.clock / 1e9} GHz; {_CHIP.bandwidth / 1e12} TB/s), for the bytes of operands and"
    " result. Targets: 0.95 where elements stay in order, 0.9 where they do not, of 1 and 2 bytes"
    " 0.8; scans 0.8; sorts two thirds of what digits of 8 bits need.",
)

_HEAD = (
    "| kernel | call | shape | layout | dtype | read | written | lanes | banks | launches |"
    " instructions | in flight | registers | blocks | share | target |",
    "| --- | --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    " ---: | --- |",
)


def _today() -> str:
    return datetime.now(tz=UTC).strftime("%Y-%m-%d")


def _shape(shape: Shape) -> str:
    return " x ".join(map(str, shape))


def _name(result: Counted) -> str:
    case = result.case
    return f"{case.call}, {_shape(case.shape)}, {case.layout}, {result.dtype}"


def _line(result: Counted) -> str:
    case, c = result.case, result.counts
    figures = [
        f"{c.sector_efficiency_read:.2f}" if c.loads.units else "",
        f"{c.sector_efficiency_write:.2f}" if c.stores.units else "",
        f"{c.lane_activity:.2f}",
        f"{c.bank_conflict_ratio:.2f}" if c.shared_loads.units else "",
        str(c.launches),
        *_issued(result),
        {True: "met", False: "**not met**", None: "-"}[result.met],
    ]
    names = ", ".join(f"`{name}`" for name in result.kernels)
    cells = [names, f"`{case.call}`", _shape(case.shape), case.layout, result.dtype, *figures]
    return f"| {' | '.join(cells)} |"


def _issued(result: Counted) -> list[str]:
    i, share = result.issued, result.share
    if share is None:
        return ["-"] * 5
    per_element = 32 * i.instructions / result.elements
    blocks, flight = str(i.blocks), f"{i.in_flight:.1f}"
    return [f"{per_element:.1f}", flight, str(i.registers), blocks, f"{share:.2f}"]


# ---- Cases


def _values(shape: Shape, dtype: str) -> tl.Tensor:
    values = np.random.default_rng(0).integers(0, 100, shape).astype(dtype)
    return tl.asarray(values, device="cuda")


# Operands.
_X = "values(shape, dtype)"
_NHWC = f'to_layout({_X}, "NHWC")'
_PITCHED = "Layout.pitched(shape, 256, getattr(tl, dtype))"  # rows begin at multiples of 256 bytes
_IN_PADDED_ROWS = f"to_layout({_X}, {_PITCHED})"


def cases() -> Iterator[Probe]:
    """All cases, file by file."""
    yield from _copies()
    yield from _creation()
    yield from _packed_copies()
    yield from _narrow()
    yield from _scaled_blocks()
    yield from _elementwise()
    yield from _fused()
    yield from _reductions()
    yield from _scans()
    yield from _joins()
    yield from _positions()
    yield from _sorts()
    yield from _products()


def _copies() -> Iterator[Probe]:
    case = partial(Probe, "copy/copy.cu")
    yield case("y[...] = x", (300_007,), "packed", {"x": _X, "y": _X})
    for shape in ((256, 512), (1024, 1024), (1000, 1000), (1031, 513)):
        yield case("to_layout(x, (0, 1))", shape, "rows to columns")
    for c, h, w in ((3, 64, 96), (3, 101, 131), (4, 101, 131), (64, 32, 32)):
        yield case('to_layout(x, "NHWC")', (2, c, h, w), "NCHW to NHWC")
        yield case('to_layout(x, "NCHW")', (2, c, h, w), "NHWC to NCHW", {"x": _NHWC})
    for shape in ((200, 1000), (200, 513), (200, 1024)):
        operands = {"x": _X, "padded": _PITCHED}
        yield case("to_layout(x, padded)", shape, "to rows of whole 256 bytes", operands)
        operands = {"x": _IN_PADDED_ROWS, "packed": "Layout.row_major(shape)"}
        yield case("to_layout(x, packed)", shape, "from rows of whole 256 bytes", operands)
    for part in ("x[::2]", "x[::-1, ::-1]", "x[1:-1, 1:-1]"):
        yield case(f"copy of {part}", (401, 800), "rows", run=f'to_layout({part}, "C")')
    for sizes in ((8, 8, 8, 8, 8), (8, 12, 97, 64), (5, 7, 9, 11, 13, 15)):
        operands = {"x": _X, "reversed": "range(len(shape))"}
        yield case("to_layout(x, reversed)", sizes, "rows to reversed", operands)
    for shape in ((1024, 1024), (1031, 513)):
        yield case("to_layout(x, (0, 1))", shape, "rows to columns", dtypes=("complex128",))


def _packed_copies() -> Iterator[Probe]:
    """From one byte an element to slots of few bits, and back."""
    few_bits = {"uint1": 1, "uint2": 2, "uint4": 4, "float6_e2m3fn": 6}
    rows, columns = "Layout.row_major(shape)", 'Layout.labelled(shape, "F")'
    tiles = 'Layout.parse(f"[{shape[0]},{shape[1]}]{{1,0:T(8,128)}}")'

    def case(call: str, shape: Shape, layout: str, source: str, result: str) -> Probe:
        slots = ".with_slot_bits(few_bits[dtype])"
        packs = call == "packed(x)"
        to = result + slots * packs
        x = _X if packs else f"to_layout({_X}, {source}{slots})"
        operands = {"few_bits": few_bits, "x": x, "to": to}
        dtypes = tuple(few_bits)
        return Probe(
            "copy/packed.cu", call, shape, layout, operands, dtypes, run="to_layout(x, to)"
        )

    for shape in ((300_007,), (1024, 1024)):
        for call in ("packed(x)", "unpacked(x)"):
            yield case(call, shape, "packed", rows, rows)
    for shape in ((1024, 1024), (1031, 513)):
        for call in ("packed(x)", "unpacked(x)"):
            yield case(call, shape, "rows to columns", rows, columns)
        yield case("packed(x)", shape, "rows to T(8,128)", rows, tiles)
        yield case("unpacked(x)", shape, "T(8,128) to rows", tiles, rows)


def _narrow() -> Iterator[Probe]:
    """From float32 to a narrow type and back, in order and turned; scale factors in their tiles."""
    dtypes = ("float8_e4m3fn", "float6_e2m3fn", "float4_e2m1fn", "int4")
    wide = 'values(shape, "float32")'
    for turned, layout in ((False, "packed"), (True, "rows to columns")):
        for shape in ((1024, 1024), (1031, 513)):
            for call, x, to in (
                ("narrow from float32", wide, "dtype"),
                ("narrow to float32", f"astype({wide}, dtype)", "float32"),
            ):
                y = f'zeros(shape[::-1], dtype={to}, device="cuda").T' if turned else to
                run = "y[...] = x" if turned else "astype(x, y)"
                operands = {"x": x, "y": y}
                yield Probe("elementwise.cu", call, shape, layout, operands, dtypes, run=run)
    case = partial(Probe, "copy/tiled.cu", dtypes=("uint8",))
    factors = "Layout.scale_factors(*shape)"
    for shape in ((4096, 512), (1000, 77)):
        operands = {"scales": _X, "scale_factors": factors}
        yield case("to_layout(scales, scale_factors)", shape, "rows to scale factors", operands)
        operands = {"scales": f"to_layout({_X}, {factors})", "rows": "Layout.row_major(shape)"}
        yield case("to_layout(scales, rows)", shape, "scale factors to rows", operands)


def _scaled_blocks() -> Iterator[Probe]:
    """float32 in blocks that share a scale, and back, along either axis."""
    for back, call in ((False, "quantize_blocks"), (True, "dequantize_blocks")):
        for axis, layout in ((-1, "blocks along rows"), (0, "blocks along columns")):
            for name, bits, size in (("mxfp8_e4m3", None, 32), ("mxfp4", 4, 32), ("nvfp4", 4, 16)):
                for tiled in (False, True) if axis else (False,):
                    scaled = name == "nvfp4"
                    one = 'ones((), dtype=float32, device="cuda")' if scaled else "None"
                    factors = f"Layout.scale_factors(1024, {1024 // size})" if tiled else "None"
                    form = f"Layout.row_major(shape).with_slot_bits({bits})"
                    options = f"axis={axis}, layout={form}, global_scale=one"
                    source = f'quantize_blocks({{}}, "{name}", {options}, scales_layout={factors})'
                    operands = {"one": one, "x": f"{source.format(_X)}[:2]" if back else _X}
                    run = f"dequantize_blocks(*x, one, axis={axis})" if back else source.format("x")
                    text = f'{call}(x, "{name}")'
                    placed = f"{layout}, scale factors" if tiled else layout
                    yield Probe("quantize.cu", text, (1024, 1024), placed, operands, ("float32",),
                                run=run)  # fmt: skip


def _creation() -> Iterator[Probe]:
    def case(file: str, call: str, shape: Shape, dtypes: Sequence[str]) -> Probe:
        run = f'{call}({shape[0]}, dtype=dtype, device="cuda")'
        return Probe(file, call, shape, "packed", {}, dtypes, run=run)

    yield case("fill/fill.cu", "zeros", (10_007,), ALL)
    yield case("fill/sequence.cu", "arange", (10_007,), ALL[1:])
    for n in (512, 513):
        yield case("fill/diagonals.cu", "eye", (n, n), ALL[1:])
        yield Probe("fill/diagonals.cu", "tril(x)", (n, n), "rows")


def _elementwise() -> Iterator[Probe]:
    case = partial(Probe, "elementwise.cu")
    for shape, layout, expression in (
        ((300_007,), "packed", _X),
        ((2, 3, 101, 131), "both NHWC", _NHWC),
        ((200, 1000), "rows of whole 256 bytes", _IN_PADDED_ROWS),
        ((200, 1024), "rows of whole 256 bytes", _IN_PADDED_ROWS),
    ):
        yield case("x + y", shape, layout, {"x": expression, "y": expression})
    for shape in ((512, 512), (513, 1031)):
        operands = {"x": _X, "y": "values(shape[::-1], dtype)"}
        yield case("x + y.T", shape, "rows, columns", operands)
    for shape in ((2, 3, 64, 96), (2, 3, 101, 131)):
        yield case("x + y", shape, "NCHW, NHWC", {"x": _X, "y": _NHWC})
    for name, other in (("row", (1, 1000)), ("column", (500, 1))):
        operands = {"x": _X, name: f"values({other}, dtype)"}
        yield case(f"x + {name}", (500, 1000), "rows", operands)


def _fused() -> Iterator[Probe]:
    for shape, layout, x, y in (
        ((300_007,), "packed", _X, _X),
        ((2, 3, 101, 131), "all NHWC", _NHWC, _NHWC),
        ((200, 1000), "rows of whole 256 bytes", _IN_PADDED_ROWS, _IN_PADDED_ROWS),
        ((512, 512), "rows, columns, rows", _X, f"{_X}.T"),
        ((512, 512), "rows, one row, rows", _X, "values(shape[1:], dtype)"),
        ((2, 3, 64, 96), "NCHW, NHWC, NCHW", _X, _NHWC),
    ):
        call, operands = "where(x < y, x * y + z, z - x)", {"x": x, "y": y, "z": x}
        run = f"fuse(lambda x, y, z: {call})(x, y, z)"
        yield Probe("fuse.cu", call, shape, layout, operands, run=run)
    for axis in (None, 0, 1):
        call, operands = f"sum(x * y + x, axis={axis})", {"x": _X, "y": _X}
        run = f"fuse(lambda x, y: {call})(x, y)"
        text = f"{call}, fused"
        yield Probe("reduce/reduce.cu", text, (512, 512), "rows", operands, WIDE, run=run)


def _reductions() -> Iterator[Probe]:
    def case(shape: Shape, axis: Any, nhwc: bool = False, name: str = "sum") -> Probe:
        layout = "NHWC" if nhwc else "NCHW" if len(shape) == 4 else "rows"
        operands = {"x": _NHWC if nhwc else _X}
        dtypes = ALL[1:] if name == "var" else ALL
        call = f"{name}(x, axis={axis})"
        return Probe("reduce/reduce.cu", call, shape, layout, operands, dtypes)

    yield case((300_000,), None)
    for rows in ((1000, 1000), (64, 4096), (700, 77), (1000, 517), (3000, 12), (3000, 3)):
        for axis in (1, 0):
            yield case(rows, axis)
    for shape in ((4, 3, 64, 96), (4, 64, 28, 28)):
        for nhwc in (False, True):
            for axes in (0, 1, 2, 3, (0, 2, 3)):
                yield case(shape, axes, nhwc)
    yield case((32, 50, 64), 1)
    yield case((40, 64, 32), (0, 2))
    for name in ("argmax", "var"):
        for axis in (1, 0):
            yield case((1000, 1000), axis, name=name)


def _scans() -> Iterator[Probe]:
    shapes: list[tuple[Shape, int]] = [
        *(((64, 1000), 1), ((16, 1001), 1), ((40_000,), 0), ((20, 100, 3), 1), ((5000, 3), 0)),
        *(((64, 1024), 0), ((1024, 64), 0), ((10, 30, 104), 1), ((64, 100), 0)),
    ]
    for shape, axis in shapes:
        yield Probe("scan.cu", f"cumulative_sum(x, axis={axis})", shape, "rows", dtypes=WIDE)


def _joins() -> Iterator[Probe]:
    for text, rows, sizes in (
        ("128, 512, 256", 200, (128, 512, 256)),
        ("8, 8 times", 2000, (8,) * 8),
        ("515, 1001", 200, (515, 1001)),
    ):
        parts = ", ".join(f"values(({rows}, {n}), dtype)" for n in sizes)
        call, shape = f"concat(…, axis=1) of {text}", (rows, sum(sizes))
        run, operands = "concat(parts, axis=1)", {"parts": f"[{parts}]"}
        yield Probe("join.cu", call, shape, "rows", operands, WIDE, run=run)


def _positions() -> Iterator[Probe]:
    random = np.random.default_rng(1)

    def at(n: int, below: int) -> str:
        return f'asarray(random.integers(0, {below}, {n}).astype("int32"), device="cuda")'

    def case(
        file: str, run: str, note: str, shape: Shape, held: bool = False, **operands: Any
    ) -> Probe:
        operands = {"x": _X, "random": random, **operands}
        return Probe(file, f"{run}, {note}", shape, "rows", operands, WIDE, held, run)

    for shape, axis, count, held in (
        ((2000, 256), 0, 1500, True),
        ((8, 300, 64), 1, 256, True),
        ((2000, 8), 0, 1500, True),
        ((512, 512), 1, 512, False),
    ):
        call, i = f"take(x, i, axis={axis})", at(count, shape[axis])
        yield case("gather.cu", call, str(count), shape, held, i=i)

    shape, y = (2000, 256), "values((1500, 256), dtype)"
    yield case("scatter/scatter.cu", "x[i] = y", "1500", shape, i=at(1500, 2000), y=y)
    file, call = "scatter/scatter_reduce.cu", "scatter_add(x, i, y)"
    yield case(file, call, "1500 in 3 rows", shape, i=at(1500, 3), y=y)
    runs = np.repeat(random.integers(0, 2, 512 * 8), 64).reshape(512, 512).astype(bool)
    single = random.integers(0, 2, (512, 512)).astype(bool)
    for note, mask in (("runs of 64", runs), ("at random", single)):
        m = 'asarray(mask, device="cuda")'
        yield case("mask.cu", "x[m]", note, (512, 512), mask=mask, m=m)


def _sorts() -> Iterator[Probe]:
    shapes: list[tuple[str, Shape, Sequence[str]]] = [
        *(("sort/sort.cu", (96, 700), WIDE), ("sort/sort.cu", (8 * 2304,), WIDE)),
        ("sort/radix.cu", (2**16,), ("uint8", "float32")),
    ]
    for file, shape, dtypes in shapes:
        for call in ("sort(x)", "argsort(x)"):
            yield Probe(file, call, shape, "rows", dtypes=dtypes)
    operands = {"x": "sort(values((1000,), dtype))", "y": _X}
    run, shape = "searchsorted(x, y)", (10_000,)
    yield Probe("sort/search.cu", f"{run}, 1000", shape, "packed", operands, WIDE, False, run)


def _products() -> Iterator[Probe]:
    operands, dtypes = {"x": _X, "y": _X}, ("uint8", "int16", "int32", "int64")
    for call in ("x @ y", "x.T @ y"):
        yield Probe("matmul.cu", call, (128, 128), "rows", operands, dtypes)
