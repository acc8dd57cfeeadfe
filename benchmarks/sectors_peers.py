"""``python -m benchmarks peers``: instructions and bytes of our kernels beside CuPy's and CUB's.

No GPU is needed. CuPy generates and launches its kernels on the host's memory
(`benchmarks.cupy_on_host`), CUB's algorithms are compiled by nvcc (`benchmarks.cub`); whole
launches of both are run by `benchmarks.sass`, and results are compared with ours.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

import numpy as np

from benchmarks import cub, report, roofline
from benchmarks.host_memory import LAUNCHED
from benchmarks.launches import Work
from benchmarks.peer_rows import PeerRow, rows
from benchmarks.progress import show_progress

Array = Any

# Above them, a row is listed first.
MOST_INSTRUCTIONS, MOST_BYTES = 1.2, 1.0

# Why rows are above a limit in bytes, or in instructions although issuing them takes longest.
_REASONS = {
    "x + y.T": "the peer, which reads `y.T` in its own order, moves three times the bytes",
    "sum(x, axis=0)": "few columns: blocks share them, and a second launch joins what they have",
    "argmax(x, axis=0)": "few columns: blocks share them, and a second launch joins what they have",
    "cumulative_sum(x)": "the totals of tiles, which are added in the same order each time",
    "x[m], at random": "the mask is read twice: its count is the size of the result, which is new",
    "nonzero(m)[0]": "the mask is read twice: its count is the size of the result, which is new",
    "sort(x)": "tiles publish their counts, and clear them before, 3 KB for 19 KB of elements",
    "argsort(x)": "tiles publish their counts, and clear them before, 3 KB for 19 KB of elements",
}


@dataclass
class Figures:
    """Costs of a call in one library; `unknown`: why they are not known, or ""."""

    instructions: float = 0.0
    nbytes: float = 0.0
    launches: int = 0
    names: Sequence[str] = ()
    unknown: str = ""


@dataclass
class Compared:
    """A row and its figures; `elements`: of the largest operand or result."""

    row: PeerRow
    shape: str
    dtype: str
    elements: int
    figures: dict[str, Figures] = field(default_factory=dict)

    def ratio(self, what: str) -> float | None:
        """Ours over the better peer's; None if one is not known."""
        ours, *peers = (self._value(name, what) for name in ("ours", "cupy", "cub"))
        known = [value for value in peers if value is not None]
        return ours / min(known) if known and ours is not None else None

    @property
    def name(self) -> str:
        return f"`{self.row.call}`, {self.shape}, {self.dtype}"

    @property
    def above(self) -> list[str]:
        """Ratios above their limits, as the table rounds them."""
        limits = {"instructions": MOST_INSTRUCTIONS, "nbytes": MOST_BYTES}
        ratios = {what: self.ratio(what) for what in limits}
        return [
            f"{'bytes' if what == 'nbytes' else what} {ratio:.2f}"
            for what, ratio in ratios.items()
            if ratio is not None and round(ratio, 2) > limits[what]
        ]

    @property
    def reason(self) -> str:
        """Why a row may be above a limit; "" if nothing is known."""
        ours = self.figures["ours"]
        issuing = ours.instructions / roofline.H100.instructions
        share = issuing / (ours.nbytes / roofline.H100.bandwidth)
        reasons = [_REASONS.get(self.row.call, "")]
        if any("instructions" in text for text in self.above) and share < 1:
            reasons.append(f"an H100 issues ours in {share:.0%} of the time that its memory takes")
        return "; ".join(filter(None, reasons))

    def _value(self, library: str, what: str) -> float | None:
        figures = self.figures.get(library)
        if figures is None:
            return None
        if figures.unknown and (library != "ours" or what == "instructions"):
            return None
        value: float = getattr(figures, what)
        return value or None


def compare(row: PeerRow) -> Compared:
    """Count one row in each library."""
    import cupy

    import tensorlayout as tl

    random = np.random.default_rng(0)
    space: dict[str, Any] = {"np": np, "random": random}
    operands = {name: eval(text, space) for name, text in row.operands.items()}
    first: Array = next(iter(operands.values()))
    mine = {name: tl.asarray(value, device="cuda") for name, value in operands.items()}
    result, figures = _ours(row.ours, vars(tl) | mine)
    expected = np.asarray(result.to_device("cpu"))
    elements = max(first.size, expected.size)
    shape = " x ".join(map(str, first.shape))
    compared = Compared(row, shape, first.dtype.name, elements, {"ours": figures})
    for name, peer_text in (("cupy", row.cupy), ("cub", row.cub)):
        if not peer_text or (name == "cub" and cub.toolkit() is None):
            continue
        theirs = {key: cupy.asarray(value) for key, value in operands.items()}
        others = {"cupy": cupy, "cp": cupy, "call": cub.call, "np": np}
        outcome: Array = np.empty(0)
        with LAUNCHED.counting() as work:
            try:
                outcome = eval(peer_text, others | theirs)
            except Exception as error:  # of any kind that CuPy or CUB may raise
                work.unknown = f"{type(error).__name__}: {error}"
        compared.figures[name] = _figures(work, np.asarray(cupy.asnumpy(outcome)), expected, row)
    return compared


def _ours(text: str, space: dict[str, Any]) -> tuple[Any, Figures]:
    from tensorlayout.cuda.engine.launch_log import checking

    code = compile(text, text, "eval")
    with checking("count") as record, roofline.issuing(whole=True) as issued:
        result = eval(code, space)
    counts = list(record.counts.values())
    names = [kernel.name for kernel in record.counts]
    nbytes = issued.nbytes
    if issued.unknown:
        nbytes = 32.0 * sum(c.loads.units + c.stores.units for c in counts)
    launches = sum(c.launches for c in counts)
    return result, Figures(issued.instructions, nbytes, launches, names, issued.unknown)


def _figures(work: Work, outcome: Array, expected: Array, row: PeerRow) -> Figures:
    unknown = work.unknown
    outcome = outcome.reshape(expected.shape) if outcome.size == expected.size else outcome
    same = outcome.shape == expected.shape and (
        np.array_equal(outcome, expected)
        if row.exact
        else np.allclose(outcome, expected, rtol=1e-3)
    )
    if not unknown and not same:
        unknown = "its result differs from ours"
    return Figures(work.instructions, work.nbytes, work.launches, work.names, unknown)


def run(only: str) -> str:
    """The page, of the rows whose call or dtype hold the text."""
    os.environ["TENSORLAYOUT_CUDA_SIMULATOR"] = "1"
    os.environ.setdefault("CUPY_CACHE_DIR", os.path.join(tempfile.gettempdir(), "cupy-on-host"))
    from benchmarks import cupy_on_host

    if cub.toolkit() is not None:
        cub.library()
    cupy_on_host.replace_device()
    chosen = [row for row in rows() if only in row.call]
    return markdown([compare(row) for row in show_progress(chosen)])


# ---- The page


def markdown(results: Sequence[Compared]) -> str:
    """The page: rows above a limit first, then all, then the kernels."""
    missed = [result for result in results if result.above]
    lines = [
        "# Instructions and bytes beside CuPy and CUB",
        "",
        "Counted by `python -m benchmarks peers`, without a GPU.",
        "",
        *[f"- {line}" for line in (*report.machine(), _versions())],
        "",
        *_NOTES,
        "",
        f"{len(missed)} of {len(results)} rows are above {MOST_INSTRUCTIONS} times the better"
        f" peer's instructions, or above {MOST_BYTES} times its bytes:",
        "",
        *[f"- {result.name}: {', '.join(result.above)} ({result.reason})" for result in missed],
        "",
        *_HEAD,
        *map(_line, results),
        "",
        "## Kernels",
        "",
        *dict.fromkeys(_kernels(results)),
        "",
    ]
    return "\n".join(lines)


_NOTES = (
    "Instructions: those of all warps on sm_90, times 32, for each element of the largest operand"
    " or result. Bytes: sectors of 32 bytes that are read and written, for each element; a sector"
    " that a block touches several times counts once. Ratio: ours over the better peer's."
    " All blocks of all launches are run, and results are equal. `?`: not counted, for a reason"
    " that is given below. `~`: without what is not counted; of ours, by the simulator.",
    "",
    "CuPy calls CUB for sums and largest elements along whole rows and for running sums of one"
    " dimension, and Thrust for sorts: these are its calls, on the same CUB. Blocks that wait for"
    " others run one after another, so nothing waits: on a GPU they issue more. cuBLAS loads its"
    " kernels from its own files, and PyTorch has them in its own; neither is counted.",
)

_HEAD = (
    "| call | shape | dtype | instructions | CuPy | CUB | ratio | bytes | CuPy | CUB | ratio |"
    " launches | CuPy | CUB |",
    "| --- | --- | --- |" + " ---: |" * 11,
)
_LIBRARIES = {"ours": "ours", "cupy": "CuPy", "cub": "CUB"}


def _versions() -> str:
    from tensorlayout.cuda.engine.nvrtc import nvrtc_version

    parts = [f"CuPy {metadata.version(_cupy_package())}", f"NVRTC {nvrtc_version()}"]
    if cub.toolkit() is not None:
        parts.append(f"nvcc {metadata.version('nvidia-cuda-nvcc')}")
        parts.append(f"CCCL {metadata.version('nvidia-cuda-cccl')}")
    return ", ".join(parts)


def _cupy_package() -> str:
    return next(iter(metadata.packages_distributions()["cupy"]))


def _line(result: Compared) -> str:
    cells = [f"`{result.row.call}`", result.shape, result.dtype]
    for what in ("instructions", "nbytes"):
        cells += [_cell(result, name, what) for name in _LIBRARIES]
        ratio = result.ratio(what)
        cells.append("" if ratio is None else f"{ratio:.2f}")
    for name in _LIBRARIES:
        cells.append(str(result.figures[name].launches) if name in result.figures else "")
    return f"| {' | '.join(cells)} |"


def _cell(result: Compared, name: str, what: str) -> str:
    figures = result.figures.get(name)
    if figures is None:
        return ""
    if figures.unknown and what == "instructions":
        return "?"
    value: float = getattr(figures, what) * (32 if what == "instructions" else 1)
    return f"{'~' if figures.unknown else ''}{value / result.elements:.2f}"


def _kernels(results: Sequence[Compared]) -> Iterator[str]:
    """The kernels of each call, with how often they are launched."""
    for result in results:
        for name, figures in result.figures.items():
            names = Counter(map(_short_name, figures.names))
            kernels = ", ".join(
                f"{count} {kernel}" if count > 1 else kernel for kernel, count in names.items()
            )
            why = f"; not counted: {figures.unknown}" if figures.unknown else ""
            yield f"- `{result.row.call}`, {_LIBRARIES[name]}: {kernels or 'no kernel'}{why}"
        if result.row.note:
            yield f"- `{result.row.call}`: {result.row.note}"


def _short_name(kernel: str) -> str:
    """The name of a kernel, without the templates and namespaces of CUB's."""
    match = re.search(r"\d((?:Device|Static)\w*?Kernel|[a-z]+_kernel)I", kernel)
    return match[1] if match else kernel
