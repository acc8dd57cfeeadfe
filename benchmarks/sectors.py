"""``python -m benchmarks sectors``: how kernels use memory and issue slots, without a GPU.

What is counted does not depend on the machine: the 32-byte sectors that warps touch, the lanes
that take part, the wavefronts in shared memory; and, with CuPy and nvdisasm, the instructions.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
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
from tensorlayout.cuda.engine.simulator import compiler

Shape = tuple[int, ...]
Make = Callable[[str], Callable[[], Any]]
Operand = Callable[[str], tl.Tensor]

ALL = ("uint8", "float16", "float32", "float64")
WIDE = ("float32", "float64")

# Of sectors and lanes, and of wavefronts.
LEAST, MOST = 0.9, 1.1


@dataclass(frozen=True)
class Probe:
    """A line for each dtype.

    Attributes:
        file: whose section it is in.
        layout: how the operand lies, and the result where that differs.
        make: of a dtype, the call that is counted; what it needs is made before.
        held: whether it has targets: not where data says which sectors are touched.

    """

    file: str
    call: str
    shape: Shape
    layout: str
    make: Make
    dtypes: Sequence[str] = ALL
    held: bool = True


@dataclass(frozen=True)
class Counted:
    """What came of a case with one dtype.

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
        return None if self.issued.unknown else self.issued.share(self.octets)

    @property
    def short(self) -> list[str]:
        """What misses its target."""
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
        """Whether every target is; None without any."""
        return not self.short if self.case.held else None


def counted(cases: Iterable[Probe]) -> Iterator[Counted]:
    """Each case with each dtype, on the simulator."""
    for case in cases:
        for dtype in case.dtypes:
            yield _counted(case, dtype)


def _counted(case: Probe, dtype: str) -> Counted:
    before = _allocated()
    call = case.make(dtype)
    operands = _allocated() - before
    with checking("count") as record, roofline.issuing() as issued:
        result = call()
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
    found: Any = driver()
    gc.collect()
    return int(found.ranges[0].total())


def _least_share(case: Probe, octets: int) -> float:
    """The target of a case: 0.95 where elements stay in order."""
    if case.file == "scan.cu":
        return 0.8
    if case.file in (
        "sort/sort.cu",
        "sort/radix.cu",
    ):  # 1.5 times as long as digits of 8 bits: three moves for each
        return 1 / (1.5 * octets * 1.5)
    if case.file == "matmul.cu":
        return 0.0
    ordered = not any(word in case.layout for word in (" to ", "columns", ", NHWC"))
    return 0.95 if ordered else 0.9 if octets > 2 else 0.8


def run(only: str) -> str:
    """The page, of the cases whose file and call hold the text."""
    os.environ["TENSORLAYOUT_CUDA_SIMULATOR"] = "1"
    chosen = [case for case in cases() if only in f"{case.file}: {case.call}"]
    return markdown(list(counted(chosen)))


# ---- The page


def markdown(found: Sequence[Counted]) -> str:
    """A table for each file of kernels, those that miss a target first of all."""
    _, version = compiler()
    held = [each for each in found if each.met is not None]
    missed = [each for each in held if not each.met]
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
        *[f"- {_name(each)}: {', '.join(each.short)}" for each in missed],
    ]
    for file in dict.fromkeys(each.case.file for each in found):
        lines += ["", f"## {file}", "", *_HEAD]
        lines += [_line(each) for each in found if each.case.file == file]
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
    " instruction (`benchmarks/sass.py`), and stand for all. In flight: loads from global memory"
    " that a thread has under way when it first waits for one. Registers, blocks on a"
    " multiprocessor: of the kernel that issues most. Share: of a copy's speed in the device, what"
    " the issue slots of an H100 allow (132 multiprocessors, four instructions a clock of 1.98 GHz;"
    " 4.3 TB/s), for the bytes of operands and result. Targets: 0.95 where elements stay in order,"
    " 0.9 where they do not, of 1 and 2 bytes 0.8; scans 0.8; sorts two thirds of what digits of 8"
    " bits need.",
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


def _name(each: Counted) -> str:
    case = each.case
    return f"{case.call}, {_shape(case.shape)}, {case.layout}, {each.dtype}"


def _line(each: Counted) -> str:
    case, c = each.case, each.counts
    figures = [
        f"{c.sector_efficiency_read:.2f}" if c.loads.units else "",
        f"{c.sector_efficiency_write:.2f}" if c.stores.units else "",
        f"{c.lane_activity:.2f}",
        f"{c.bank_conflict_ratio:.2f}" if c.shared_loads.units else "",
        str(c.launches),
        *_issued(each),
        {True: "met", False: "**not met**", None: "-"}[each.met],
    ]
    names = ", ".join(f"`{name}`" for name in each.kernels)
    cells = [names, f"`{case.call}`", _shape(case.shape), case.layout, each.dtype, *figures]
    return f"| {' | '.join(cells)} |"


def _issued(each: Counted) -> list[str]:
    i, share = each.issued, each.share
    if share is None:
        return ["-"] * 5
    per_element = 32 * i.instructions / each.elements
    blocks, flight = str(i.blocks), f"{i.in_flight:.1f}"
    return [f"{per_element:.1f}", flight, str(i.registers), blocks, f"{share:.2f}"]


# ---- Operands


def _values(shape: Shape, dtype: str, seed: int = 0) -> tl.Tensor:
    values = np.random.default_rng(seed).integers(0, 100, shape).astype(dtype)
    return tl.asarray(values, device="cuda")


def _nhwc(shape: Shape, dtype: str) -> tl.Tensor:
    return tl.to_layout(_values(shape, dtype), "NHWC")


def _padded(x: tl.Tensor) -> tl.Layout:
    """Rows that begin at multiples of 256 bytes."""
    return tl.Layout.pitched(x.shape, 256, x.itemsize)


def _in_padded_rows(shape: Shape, dtype: str) -> tl.Tensor:
    x = _values(shape, dtype)
    return tl.to_layout(x, _padded(x))


def _turned(shape: Shape, dtype: str) -> tl.Tensor:
    return tl.permute_dims(_values(shape[::-1], dtype), range(len(shape))[::-1])


# ---- Cases


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


def _call(function: Callable[..., Any], *operands: Operand) -> Make:
    """What makes the operands in a dtype, then a call on them."""

    def make(dtype: str) -> Callable[[], Any]:
        made = [operand(dtype) for operand in operands]
        return lambda: function(*made)

    return make


def _copies() -> Iterator[Probe]:
    def case(call: str, shape: Shape, layout: str, make: Make) -> Probe:
        return Probe("copy/copy.cu", call, shape, layout, make)

    def plain(shape: Shape, function: Callable[[tl.Tensor], Any]) -> Make:
        return _call(function, partial(_values, shape))

    line = (300_007,)
    made = _call(_assign, partial(_values, line), partial(_values, line))
    yield case("y[...] = x", line, "packed", made)
    shapes: list[Shape] = [(256, 512), (1024, 1024), (1000, 1000), (1031, 513)]
    for shape in shapes:
        made = plain(shape, lambda x: tl.to_layout(x, (0, 1)))
        yield case("to_layout(x, (0, 1))", shape, "rows to columns", made)
    for c, h, w in ((3, 64, 96), (3, 101, 131), (4, 101, 131), (64, 32, 32)):
        shape = (2, c, h, w)
        made = plain(shape, lambda x: tl.to_layout(x, "NHWC"))
        yield case('to_layout(x, "NHWC")', shape, "NCHW to NHWC", made)
        made = _call(lambda x: tl.to_layout(x, "NCHW"), partial(_nhwc, shape))
        yield case('to_layout(x, "NCHW")', shape, "NHWC to NCHW", made)
    for shape in ((200, 1000), (200, 513), (200, 1024)):
        made = plain(shape, lambda x: tl.to_layout(x, _padded(x)))
        yield case("to_layout(x, padded)", shape, "to rows of whole 256 bytes", made)
        made = _call(_copied, partial(_in_padded_rows, shape))
        yield case("to_layout(x, packed)", shape, "from rows of whole 256 bytes", made)
    for text, key in _SLICES.items():
        shape = (401, 800)
        made = plain(shape, partial(_cut, key))
        yield case(f"copy of x[{text}]", shape, "rows", made)
    shapes = [(8, 8, 8, 8, 8), (8, 12, 97, 64), (5, 7, 9, 11, 13, 15)]
    for shape in shapes:
        made = plain(shape, lambda x: tl.to_layout(x, range(x.ndim)))
        yield case("to_layout(x, reversed)", shape, "rows to reversed", made)
    for shape in ((1024, 1024), (1031, 513)):
        made = plain(shape, lambda x: tl.to_layout(x, (0, 1)))
        call = "to_layout(x, (0, 1))"
        yield Probe("copy/copy.cu", call, shape, "rows to columns", made, ("complex128",))


_FEW_BITS = {"uint1": 1, "uint2": 2, "uint4": 4, "float6_e2m3fn": 6}


def _packed_copies() -> Iterator[Probe]:
    """From one byte an element to slots of few bits, and back."""

    def few(shape: Shape, order: str, dtype: str) -> tl.Tensor:
        return _packed(tl.to_layout(_values(shape, dtype), order))

    def case(call: str, shape: Shape, layout: str, make: Make) -> Probe:
        return Probe("copy/packed.cu", call, shape, layout, make, tuple(_FEW_BITS))

    for shape in ((300_007,), (1024, 1024)):
        made = _call(_packed, partial(_values, shape))
        yield case("packed(x)", shape, "packed", made)
        made = _call(lambda x: _unpacked(x, "C"), partial(few, shape, "C"))
        yield case("unpacked(x)", shape, "packed", made)
    for shape in ((1024, 1024), (1031, 513)):
        made = _call(lambda x: _packed(x, "F"), partial(_values, shape))
        yield case("packed(x)", shape, "rows to columns", made)
        made = _call(lambda x: _unpacked(x, "F"), partial(few, shape, "C"))
        yield case("unpacked(x)", shape, "rows to columns", made)
        made = _call(lambda x: _packed(x, "{1,0:T(8,128)}"), partial(_values, shape))
        yield case("packed(x)", shape, "rows to T(8,128)", made)
        made = _call(lambda x: _unpacked(x, "C"), partial(few, shape, "{1,0:T(8,128)}"))
        yield case("unpacked(x)", shape, "T(8,128) to rows", made)


_NARROW = ("float8_e4m3fn", "float6_e2m3fn", "float4_e2m1fn", "int4")


def _narrow() -> Iterator[Probe]:
    """From float32 to a narrow type and back, in order and turned; scale factors in their tiles."""

    def case(call: str, shape: Shape, layout: str, make: Make) -> Probe:
        return Probe("elementwise.cu", call, shape, layout, make, _NARROW)

    def narrowed(shape: Shape, dtype: str) -> tl.Tensor:
        return tl.astype(_values(shape, "float32"), dtype)

    def cast(shape: Shape, dtype: str, turned: bool) -> Callable[[], Any]:
        x = _values(shape, "float32")
        if not turned:
            return lambda: tl.astype(x, dtype)
        result = tl.zeros(shape[::-1], dtype=dtype, device="cuda")
        return lambda: _assign(x, result.T)

    def widened(shape: Shape, dtype: str, turned: bool) -> Callable[[], Any]:
        x = narrowed(shape, dtype)
        if not turned:
            return lambda: tl.astype(x, tl.float32)
        result = tl.zeros(shape[::-1], dtype=tl.float32, device="cuda")
        return lambda: _assign(x, result.T)

    for turned, layout in ((False, "packed"), (True, "rows to columns")):
        for shape in ((1024, 1024), (1031, 513)):
            made = partial(cast, shape, turned=turned)
            yield case("narrow from float32", shape, layout, made)
            made = partial(widened, shape, turned=turned)
            yield case("narrow to float32", shape, layout, made)
    for shape in ((4096, 512), (1000, 77)):
        placed = tl.Layout.scale_factors(*shape)
        move = _call(partial(tl.to_layout, layout=placed), partial(_values, shape))
        call = "to_layout(scales, scale_factors)"
        yield Probe("copy/tiled.cu", call, shape, "rows to scale factors", move, ("uint8",))
        in_tiles = partial(_in_layout, placed)
        move = _call(lambda x: _unpacked(x, "C"), in_tiles)
        call = "to_layout(scales, rows)"
        yield Probe("copy/tiled.cu", call, shape, "scale factors to rows", move, ("uint8",))


def _in_layout(layout: tl.Layout, dtype: str) -> tl.Tensor:
    return tl.to_layout(_values(layout.shape, dtype), layout)


def _scaled_blocks() -> Iterator[Probe]:
    """float32 in blocks that share a scale, and back, along either axis."""

    def made(
        name: Any, axis: int, bits: int | None, back: bool, tiled: bool, dtype: str
    ) -> Callable[[], Any]:
        x = _values((1024, 1024), dtype)
        layout = x.layout.with_slot_bits(bits)
        one = tl.ones((), dtype=tl.float32, device="cuda") if name == "nvfp4" else None
        placed = tl.Layout.scale_factors(1024, 1024 // (16 if one is not None else 32))
        given: Any = {"axis": axis, "layout": layout, "global_scale": one}
        given["scales_layout"] = placed if tiled else None
        if not back:
            return lambda: tl.quantize_blocks(x, name, **given)
        data, scales, _ = tl.quantize_blocks(x, name, **given)
        return lambda: tl.dequantize_blocks(data, scales, one, axis=axis)

    for back, call in ((False, "quantize_blocks"), (True, "dequantize_blocks")):
        for axis, layout in ((-1, "blocks along rows"), (0, "blocks along columns")):
            for name, bits in (("mxfp8_e4m3", None), ("mxfp4", 4), ("nvfp4", 4)):
                for tiled in (False, True) if axis else (False,):
                    make = partial(made, name, axis, bits, back, tiled)
                    text = f'{call}(x, "{name}")'
                    placed = f"{layout}, scale factors" if tiled else layout
                    yield Probe("quantize.cu", text, (1024, 1024), placed, make, ("float32",))


def _packed(x: tl.Tensor, order: str | None = None) -> tl.Tensor:
    layout = x.layout if order is None else _laid_out(x, order)
    return tl.to_layout(x, layout.with_slot_bits(_FEW_BITS[x.dtype.name]))


def _unpacked(x: tl.Tensor, order: str) -> tl.Tensor:
    return tl.to_layout(x, _laid_out(x, order))


def _laid_out(x: tl.Tensor, order: str) -> tl.Layout:
    sizes = ",".join(map(str, x.shape))
    if order.startswith("{"):
        return tl.Layout.parse(f"[{sizes}]{order}")
    return tl.Layout.labelled(x.shape, order)


_SLICES: dict[str, tuple[slice, ...]] = {
    "::2": (slice(None, None, 2),),
    "::-1, ::-1": (slice(None, None, -1), slice(None, None, -1)),
    "1:-1, 1:-1": (slice(1, -1), slice(1, -1)),
}


def _copied(x: tl.Tensor) -> tl.Tensor:
    return tl.to_layout(x, tl.Layout.row_major(x.shape), copy=True)


def _cut(key: tuple[slice, ...], x: tl.Tensor) -> tl.Tensor:
    return _copied(x[key])


def _assign(x: tl.Tensor, y: tl.Tensor) -> None:
    y[...] = x


def _creation() -> Iterator[Probe]:
    def case(file: str, call: str, shape: Shape, function: Callable[..., Any]) -> Probe:
        def make(dtype: str) -> Callable[[], Any]:
            return lambda: function(dtype=getattr(tl, dtype), device="cuda")

        return Probe(file, call, shape, "packed", make, ALL if file == "fill/fill.cu" else ALL[1:])

    yield case("fill/fill.cu", "zeros", (10_007,), partial(tl.zeros, (10_007,)))
    yield case("fill/sequence.cu", "arange", (10_007,), partial(tl.arange, 10_007))
    for n in (512, 513):
        yield case("fill/diagonals.cu", "eye", (n, n), partial(tl.eye, n))
        made = _call(tl.tril, partial(_values, (n, n)))
        yield Probe("fill/diagonals.cu", "tril(x)", (n, n), "rows", made)


def _elementwise() -> Iterator[Probe]:
    def case(call: str, shape: Shape, layout: str, *operands: Operand) -> Probe:
        return Probe("elementwise.cu", call, shape, layout, _call(tl.add, *operands))

    def same(shape: Shape, layout: str, make: Callable[[Shape, str], tl.Tensor]) -> Probe:
        return case("x + y", shape, layout, partial(make, shape), partial(make, shape))

    yield same((300_007,), "packed", _values)
    yield same((2, 3, 101, 131), "both NHWC", _nhwc)
    yield same((200, 1000), "rows of whole 256 bytes", _in_padded_rows)
    yield same((200, 1024), "rows of whole 256 bytes", _in_padded_rows)
    for shape in ((512, 512), (513, 1031)):
        yield case(
            "x + y.T", shape, "rows, columns", partial(_values, shape), partial(_turned, shape)
        )
    images: list[Shape] = [(2, 3, 64, 96), (2, 3, 101, 131)]
    for each in images:
        yield case("x + y", each, "NCHW, NHWC", partial(_values, each), partial(_nhwc, each))
    whole = (500, 1000)
    for name, other in (("row", (1, 1000)), ("column", (500, 1))):
        operands = partial(_values, whole), partial(_values, other)
        yield case(f"x + {name}", whole, "rows", *operands)


def _fused() -> Iterator[Probe]:
    def chain(x: tl.Tensor, y: tl.Tensor, z: tl.Tensor) -> tl.Tensor:
        return tl.where(x < y, x * y + z, z - x)

    def case(shape: Shape, layout: str, *operands: Operand) -> Probe:
        return Probe("fuse.cu", "where(x < y, x * y + z, z - x)", shape, layout,
                     _call(tl.fuse(chain), *operands))  # fmt: skip

    def same(shape: Shape, layout: str, make: Callable[[Shape, str], tl.Tensor]) -> Probe:
        return case(shape, layout, *[partial(make, shape)] * 3)

    yield same((300_007,), "packed", _values)
    yield same((2, 3, 101, 131), "all NHWC", _nhwc)
    yield same((200, 1000), "rows of whole 256 bytes", _in_padded_rows)
    shape: Shape = (512, 512)
    x, row = partial(_values, shape), partial(_values, shape[1:])
    yield case(shape, "rows, columns, rows", x, partial(_turned, shape), x)
    yield case(shape, "rows, one row, rows", x, row, x)
    images: Shape = (2, 3, 64, 96)
    yield case(images, "NCHW, NHWC, NCHW", *[partial(f, images) for f in (_values, _nhwc, _values)])
    for axis in (None, 0, 1):
        reduced = tl.fuse(partial(_summed, axis=axis))
        made, text = _call(reduced, x, x), f"sum(x * y + x, axis={axis}), fused"
        yield Probe("reduce/reduce.cu", text, shape, "rows", made, WIDE)


def _summed(x: tl.Tensor, y: tl.Tensor, axis: int | None) -> tl.Tensor:
    return tl.sum(x * y + x, axis=axis)


def _reductions() -> Iterator[Probe]:
    def case(shape: Shape, axis: Any, nhwc: bool = False, name: str = "sum") -> Probe:
        function = getattr(tl, name)

        def reduced(x: tl.Tensor) -> Any:
            return function(x, axis=axis)

        made = _call(reduced, partial(_nhwc if nhwc else _values, shape))
        layout = "NHWC" if nhwc else "NCHW" if len(shape) == 4 else "rows"
        dtypes = ALL[1:] if name == "var" else ALL
        return Probe("reduce/reduce.cu", f"{name}(x, axis={axis})", shape, layout, made, dtypes)

    yield case((300_000,), None)
    for rows in ((1000, 1000), (64, 4096), (700, 77), (1000, 517), (3000, 12), (3000, 3)):
        for axis in (1, 0):
            yield case(rows, axis)
    images: list[Shape] = [(4, 3, 64, 96), (4, 64, 28, 28)]
    for shape in images:
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
        made = _call(partial(tl.cumulative_sum, axis=axis), partial(_values, shape))
        yield Probe("scan.cu", f"cumulative_sum(x, axis={axis})", shape, "rows", made, WIDE)


def _joins() -> Iterator[Probe]:
    for sizes in ((128, 512, 256), (8,) * 8, (515, 1001)):
        rows = 2000 if sizes[0] == 8 else 200
        parts = [partial(_values, (rows, n)) for n in sizes]
        make = _call(lambda *xs: tl.concat(xs, axis=1), *parts)
        text = "8, 8 times" if len(set(sizes)) == 1 else ", ".join(map(str, sizes))
        shape = (rows, sum(sizes))
        yield Probe("join.cu", f"concat(…, axis=1) of {text}", shape, "rows", make, WIDE)


def _positions() -> Iterator[Probe]:
    random = np.random.default_rng(1)

    def at(n: int, below: int) -> Operand:
        return lambda _: tl.asarray(random.integers(0, below, n).astype("int32"), device="cuda")

    def case(call: str, shape: Shape, axis: int, count: int, held: bool = True) -> Probe:
        operands = partial(_values, shape), at(count, shape[axis])
        make = _call(partial(tl.take, axis=axis), *operands)
        return Probe("gather.cu", call, shape, "rows", make, WIDE, held)

    yield case("take(x, i, axis=0), 1500", (2000, 256), 0, 1500)
    yield case("take(x, i, axis=1), 256", (8, 300, 64), 1, 256)
    yield case("take(x, i, axis=0), 1500", (2000, 8), 0, 1500)
    yield case("take(x, i, axis=1), 512", (512, 512), 1, 512, held=False)

    x, y = partial(_values, (2000, 256)), partial(_values, (1500, 256))
    made = _call(tl.Tensor.__setitem__, x, at(1500, 2000), y)
    yield Probe("scatter/scatter.cu", "x[i] = y, 1500", (2000, 256), "rows", made, WIDE, held=False)
    made = _call(tl.scatter_add, x, at(1500, 3), y)
    call = "scatter_add(x, i, y), 1500 in 3 rows"
    yield Probe("scatter/scatter_reduce.cu", call, (2000, 256), "rows", made, WIDE, held=False)
    runs = np.repeat(random.integers(0, 2, 512 * 8), 64).reshape(512, 512).astype(bool)
    single = random.integers(0, 2, (512, 512)).astype(bool)
    for text, mask in (("runs of 64", runs), ("at random", single)):
        m = partial(lambda mask, _: tl.asarray(mask, device="cuda"), mask)
        made = _call(tl.Tensor.__getitem__, partial(_values, mask.shape), m)
        yield Probe("mask.cu", f"x[m], {text}", (512, 512), "rows", made, WIDE, held=False)


def _sorts() -> Iterator[Probe]:
    shapes: list[tuple[str, Shape, Sequence[str]]] = [
        *(("sort/sort.cu", (96, 700), WIDE), ("sort/sort.cu", (8 * 2304,), WIDE)),
        ("sort/radix.cu", (2**16,), ("uint8", "float32")),
    ]
    for file, shape, dtypes in shapes:
        for function in (tl.sort, tl.argsort):
            made = _call(function, partial(_values, shape))
            yield Probe(file, f"{function.__name__}(x)", shape, "rows", made, dtypes)

    call, many = "searchsorted(x, y), 1000", (10_000,)
    line, x = lambda dtype: tl.sort(_values((1000,), dtype)), partial(_values, many)
    made = _call(tl.searchsorted, line, x)
    yield Probe("sort/search.cu", call, many, "packed", made, WIDE, held=False)


def _products() -> Iterator[Probe]:
    square = partial(_values, (128, 128))
    for name, first in (("x @ y", square), ("x.T @ y", partial(_turned, (128, 128)))):
        made, dtypes = _call(tl.matmul, first, square), ("uint8", "int16", "int32", "int64")
        yield Probe("matmul.cu", name, (128, 128), "rows", made, dtypes)
