"""``python -m benchmarks peers``: instructions and bytes of our kernels beside CuPy's and CUB's.

No GPU is needed. CuPy generates and launches its kernels on the host's memory
(`benchmarks.cupy_on_host`), CUB's algorithms are compiled by nvcc (`benchmarks.cub`); whole
launches of both are run by `benchmarks.sass`, and results are compared with ours.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks import cub, roofline
from benchmarks.host_memory import LAUNCHED
from benchmarks.launches import Work

Array = Any

# Above them, a row is listed first.
MOST_INSTRUCTIONS, MOST_BYTES = 1.2, 1.0


@dataclass(frozen=True)
class PeerRow:
    """One call in each library.

    Attributes:
        operands: NumPy's arrays, or text that makes them from `random`.
        ours, cupy, cub: Python text; `cupy` is `ours` if it is "", and there is no such call if it
            is "-".
        exact: whether results agree to the last bit.

    """

    call: str
    operands: Mapping[str, str]
    ours: str = ""
    cupy: str = ""
    cub: str = "-"
    exact: bool = True


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

    def _value(self, library: str, what: str) -> float | None:
        figures = self.figures.get(library)
        if figures is None or (figures.unknown and what == "instructions"):
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
    text = row.ours or row.call
    result, figures = _ours(text, vars(tl) | {"tl": tl} | mine)
    expected = np.asarray(result.to_device("cpu"))
    elements = max(first.size, expected.size)
    shape = " x ".join(map(str, first.shape))
    compared = Compared(row, shape, first.dtype.name, elements, {"ours": figures})
    for name, peer_text in (("cupy", row.cupy or row.call), ("cub", row.cub)):
        if peer_text == "-" or (name == "cub" and cub.toolkit() is None):
            continue
        theirs = {key: cupy.asarray(value) for key, value in operands.items()}
        others = {"cupy": cupy, "cp": cupy, "call": cub.call, "np": np}
        with LAUNCHED.counting() as work:
            outcome = eval(peer_text, others | theirs)
        compared.figures[name] = _figures(work, np.asarray(cupy.asnumpy(outcome)), expected, row)
    return compared


def _ours(text: str, space: dict[str, Any]) -> tuple[Any, Figures]:
    from tensorlayout.cuda.engine.launch_log import checking

    code = compile(text, text, "eval")
    with checking("count") as record, roofline.issuing() as issued:
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
    return markdown([compare(row) for row in rows() if only in row.call])


# ---- The page


def markdown(results: Sequence[Compared]) -> str:
    lines = [
        "| call | shape | dtype | instructions | CuPy | CUB | ratio | bytes | CuPy | CUB | ratio |"
        " launches | CuPy | CUB |",
        "| --- | --- | --- |" + " ---: |" * 11,
        *map(_line, results),
        "",
    ]
    for result in results:
        for name, figures in result.figures.items():
            kernels = ", ".join(map(_short_name, figures.names)) or "no kernel"
            why = f"; not counted: {figures.unknown}" if figures.unknown else ""
            lines.append(f"- `{result.row.call}`, {name}: {kernels}{why}")
    return "\n".join(lines)


def _line(result: Compared) -> str:
    cells = [f"`{result.row.call}`", result.shape, result.dtype]
    for what in ("instructions", "nbytes"):
        for name in ("ours", "cupy", "cub"):
            cells.append(_cell(result, name, what))
        ratio = result.ratio(what)
        cells.append("" if ratio is None else f"{ratio:.2f}")
    for name in ("ours", "cupy", "cub"):
        cells.append(str(result.figures[name].launches) if name in result.figures else "")
    return f"| {' | '.join(cells)} |"


def _cell(result: Compared, name: str, what: str) -> str:
    figures = result.figures.get(name)
    if figures is None:
        return ""
    value: float = getattr(figures, what) * (32 if what == "instructions" else 1)
    if figures.unknown and what == "instructions":
        return "?"
    return f"{'~' if figures.unknown else ''}{value / result.elements:.2f}"


def _short_name(kernel: str) -> str:
    """The name of a kernel, without the templates and namespaces of CUB's."""
    match = re.search(r"\d((?:Device|Static)\w*?Kernel)I", kernel)
    return match[1] if match else kernel


# ---- Rows


def _whole(*shape: int, dtype: str = "float32") -> str:
    return f"random.integers(0, 100, {shape}).astype('{dtype}')"


def rows() -> Iterator[PeerRow]:
    """All rows."""
    square, line = _whole(1000, 1000), _whole(1_000_000)
    x = {"x": square}
    yield PeerRow("x + y", {"x": line, "y": line})
    yield PeerRow("x + y.T", {"x": square, "y": square})
    yield PeerRow("x[:, 1:] - x[:, :-1]", x)
    crop = "x[1:-1, 1:-1]"
    yield PeerRow(f"copy of {crop}", x, f"tl.to_layout({crop}, 'C')", f"{crop}.copy()")
    yield PeerRow("copy of x.T", x, "tl.to_layout(x.T, 'C')", "x.T.copy()")
    yield PeerRow("argmax(x, axis=1)", x, cupy="x.argmax(axis=1)")
    run = "[y := cp.empty({}, 'float32'), call('{}_float32', x, y, x.size)][0]"
    cubs = run.format(1, "sum"), run.format("x.size", "cumsum")
    yield PeerRow("sum(x)", {"x": line}, cupy="-", cub=cubs[0], exact=False)
    yield PeerRow("cumulative_sum(x)", {"x": _whole(2**18)}, cupy="-", cub=cubs[1], exact=False)
