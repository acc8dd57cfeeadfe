"""``python -m benchmarks transposes``: copies of transposed arrays, from 16 kB to 256 MB."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import pow, prod
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.cpu import TYPES
from benchmarks.measure import Call, Timing, measure
from benchmarks.peers import OURS, share
from benchmarks.report import table

MEMCPY = "memcpy"
PEERS = (MEMCPY, "numpy", "torch", OURS)
COLOURS = {
    MEMCPY: (150, 150, 156),
    "numpy": (214, 100, 30),
    "torch": (58, 150, 74),
    OURS: (40, 80, 200),
}

# From 16 kB to 256 MB.
SIZES = tuple(4**k for k in range(7, 15))
TICKS = {16e3: "16 kB", 256e3: "256 kB", 4e6: "4 MB", 64e6: "64 MB"}
QUICK = 100_000  # bytes of the largest row


@dataclass(frozen=True)
class Change:
    """A copy of an array whose dimensions are permuted: ``y[...] = x.transpose(axes)``."""

    group: str
    shape: tuple[int, ...]
    axes: tuple[int, ...]
    dtype: str

    @property
    def name(self) -> str:
        """Name by which rows are chosen."""
        return f"{self.group}, {' x '.join(map(str, self.shape))}, {self.dtype}"

    @property
    def nbytes(self) -> int:
        """The bytes of the array."""
        return prod(self.shape) * np.dtype(self.dtype).itemsize

    def calls(self) -> Mapping[str, Call]:
        """The copy by each library, into memory that is there; what they give was compared."""
        memory = np.random.default_rng(0).integers(0, 100, self.shape).astype(self.dtype)
        source = memory.transpose(self.axes)
        copied = np.empty(source.shape, self.dtype)
        to, from_ = share(copied), share(source)
        calls: dict[str, Call] = {
            MEMCPY: lambda: np.copyto(copied.reshape(-1), memory.reshape(-1)),
            "numpy": lambda: np.copyto(copied, source),
            OURS: lambda: operator.setitem(to[OURS], ..., from_[OURS]),
        }
        if "torch" in to:
            calls["torch"] = lambda: to["torch"].copy_(from_["torch"])
        for peer in calls.keys() - {MEMCPY}:
            copied[...] = 0
            calls[peer]()
            if not np.array_equal(copied, source):
                msg = f"{self.name}: {peer} gives another result"
                raise RuntimeError(msg)
        return calls


def _side(nbytes: int, itemsize: int, rank: int) -> int:
    return round(pow(nbytes / itemsize, 1 / rank))


def _images(nbytes: int) -> tuple[int, int]:
    """Return the number of float32 images with 3 channels, and their side of at most 224 pixels."""
    count = round(nbytes / (3 * 224 * 224 * 4))
    return (count, 224) if count else (1, _side(nbytes // 3, 4, 2))


def over_sizes() -> Iterator[Change]:
    """Return the rows that the picture shows."""
    for nbytes in SIZES:
        side, wide, cube = (_side(nbytes, *ratio) for ratio in ((4, 2), (8, 2), (4, 3)))
        count, pixels = _images(nbytes)
        square, to_nhwc, to_nchw = (1, 0), (0, 2, 3, 1), (0, 3, 1, 2)
        nchw, nhwc = (count, 3, pixels, pixels), (count, pixels, pixels, 3)
        yield Change("2-D, 8 bytes an element", (wide, wide), square, "float64")
        yield Change("2-D, sides a power of two", (side, side), square, "float32")
        yield Change("2-D, odd sides", (side + 1, side + 1), square, "float32")
        yield Change("Fortran to C order, 3-D", (cube,) * 3, (2, 1, 0), "float32")
        yield Change("NCHW to NHWC, 3 channels", nchw, to_nhwc, "float32")
        yield Change("NHWC to NCHW, 3 channels", nhwc, to_nchw, "float32")


def at_sizes() -> Iterator[Change]:
    """Return the rows of the tables: element widths, permutations, other image shapes."""
    for side in (1000, 1001, 1024, 4096):
        for dtype in TYPES.values():
            yield Change("2-D, by side and type", (side, side), (1, 0), dtype)
    for shape in (160, 161, 162), (256, 256, 64):
        for axes in (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1):
            yield Change(f"3-D, {axes}", shape, axes, "float32")
    for count, channels, side in (32, 64, 56), (32, 256, 14), (8, 4, 224):
        for dtype in ("uint8", "float32"):
            nchw, nhwc = (count, channels, side, side), (count, side, side, channels)
            yield Change("NCHW to NHWC", nchw, (0, 2, 3, 1), dtype)
            yield Change("NHWC to NCHW", nhwc, (0, 3, 1, 2), dtype)


def rows(quick: bool) -> list[Change]:
    """All rows, or the small ones."""
    groups: dict[str, list[Change]] = {}
    for row in (*over_sizes(), *at_sizes()):
        if row.nbytes < QUICK or not quick:
            groups.setdefault(row.group, []).append(row)
    return [row for group in groups.values() for row in group]


@dataclass(frozen=True)
class CopyResult:
    """A row and what it took."""

    row: Change
    timing: Timing

    def speed(self, peer: str) -> float:
        """GB/s: bytes of the array by the median time."""
        return self.row.nbytes / self.timing.middle(peer) / 1e9


def timed(chosen: Iterable[Change], quick: bool) -> Iterator[CopyResult]:
    """The rows, one after the other."""
    take = functools.partial(measure, rounds=2 if quick else 7, batch=0.003, pause=0.005)
    for row in chosen:
        yield CopyResult(row, take(row.calls()))


PAGE = """# Copies of transposed arrays

`y[...] = x.T`, like every copy that changes the order of dimensions, reads or writes elements that
lie far apart in memory. A loop in the order of `y` uses one element of each cache line of `x`. In a
large array, that line has left the cache before the loop needs its next element
([numpy/numpy#32453](https://github.com/numpy/numpy/issues/32453)). When a copy is unavoidable,
tensorlayout does it tile by tile, so that both sides are read and written along rows:

![A transposition through tiles, step by step](assets/transposition.svg)

The tiles of a large copy are shared between threads.

## Results

![GB/s over the size of the array]({picture})

{machine}

The table shows the speed of tensorlayout divided by the speed of the other library: the median of
the rows, with the least and the greatest in brackets. Above 1, tensorlayout is faster. memcpy moves
the same bytes without changing their order. The speed of every row is in
[`benchmarks/results/transposes.md`](https://github.com/tensorlayout/tensorlayout/blob/main/benchmarks/results/transposes.md).

{summary}

## How it is measured

- Speed is the number of bytes of the array, which are read once and written once, divided by the
  median time of {rounds} rounds. In each round, each library copies for at least 3 ms.
- The copies are `y[...] = x.T` in tensorlayout, `np.copyto(y, x.T)` in NumPy, `y.copy_(x.T)` in
  PyTorch, and `np.copyto` between contiguous arrays for memcpy.
- All libraries use the same memory, filled with random values. It was written before, so the times
  contain no page faults. Results are compared before they are timed.
- NumPy and memcpy use one thread; tensorlayout and PyTorch use one thread per processor.

## Run it

```sh
pip install -e '.[bench]' torch
python -m benchmarks transposes --markdown docs/transposes.md --results benchmarks/results
```

The command writes this page, the picture beside it, and the table of all rows. Without these
options it prints the page. PyTorch is optional. `--only "NCHW to NHWC"` selects the rows whose name
contains the text. `taskset -c 0` before the command limits all libraries to one processor.
"""

ROWS = """# Copies of transposed arrays

{machine}

GB/s of `y[...] = x.transpose(...)`; the shape is that of `x`.
[The page](../../docs/transposes.md) explains the method.

{rows}
"""


def _peers(results: Sequence[CopyResult]) -> list[str]:
    return [p for p in PEERS if any(p in r.timing.rounds for r in results)]


def markdown(results: Sequence[CopyResult], machine: list[str], picture: str) -> str:
    """Return the page: method, picture and summary."""
    groups: dict[str, list[CopyResult]] = {}
    for result in results:
        groups.setdefault(result.row.group, []).append(result)
    others = [p for p in _peers(results) if p != OURS]
    summary = [
        [group, *(_ratios(of, p) for p in others)]
        for group, of in (*groups.items(), ("all", list(results)))
    ]
    return PAGE.format(
        picture=picture,
        rounds=len(results[0].timing.rounds[OURS]) if results else 0,
        machine="  \n".join(machine),
        summary="\n".join(table(["copy", *(f"vs. {p}" for p in others)], summary)),
    )


def rows_markdown(results: Sequence[CopyResult], machine: list[str]) -> str:
    """Return the table of all rows."""
    peers = _peers(results)
    lines = [
        [
            r.row.name,
            _size(r.row.nbytes),
            *(f"{r.speed(p):.2f}" for p in peers),
            f"{r.speed(OURS) / r.speed('numpy'):.1f}",
        ]
        for r in results
    ]
    return ROWS.format(
        machine="  \n".join(machine),
        rows="\n".join(table(["x", "size", *peers, f"{OURS} / numpy"], lines)),
    )


def _ratios(results: Sequence[CopyResult], peer: str) -> str:
    ratios = [r.speed(OURS) / r.speed(peer) for r in results]
    return f"{median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})" if ratios else "-"


def _size(nbytes: int) -> str:
    return f"{nbytes / 1e6:.3g} MB" if nbytes >= 1e6 else f"{nbytes / 1e3:.3g} kB"


def draw(results: Sequence[CopyResult], path: Path) -> None:
    """Write the picture of the rows over sizes."""
    from benchmarks import chart  # needs Pillow

    shown: dict[str, list[CopyResult]] = {row.group: [] for row in over_sizes()}
    for result in results:
        if result.row.group in shown:
            shown[result.row.group].append(result)
    panels = [
        chart.Lines(
            group, {p: [(r.row.nbytes, r.speed(p)) for r in of] for p in of[0].timing.rounds}
        )
        for group, of in shown.items()
        if of
    ]
    if panels:
        title = "y[...] = x.transpose(…): GB/s over the size of the array"
        chart.save(path, title, panels, COLOURS, TICKS)
