"""``python -m benchmarks cpu``: ours against NumPy, array-api-strict and PyTorch.

``python -m benchmarks functions``: every function in every layout, against NumPy.

``python -m benchmarks fuse``: fused functions, against their steps, NumPy, PyTorch and numexpr.

``python -m benchmarks directml``: DirectML's operators, against NumPy and PyTorch.

``python -m benchmarks dispatch``: what a small call costs the host, on the CPU and on CUDA.

``python -m benchmarks first``: first calls on CUDA, with and without kernels on disk.

``python -m benchmarks small``: calls on 8 x 8 float32, beside NumPy and PyTorch.

``python -m benchmarks import``: how long a first import takes, beside NumPy's.

``python -m benchmarks distributed``: memory on its way to another process, beside NumPy's.

``python -m benchmarks transposes``: copies of transposed arrays over sizes.

``python -m benchmarks xla``: tiled and blocked memory to row-major and back.

``python -m benchmarks sectors``: how our kernels use memory, counted on the simulator.

``python -m benchmarks peers``: instructions and bytes of our kernels beside CuPy's and CUB's.

``python -m benchmarks gpu``: ours against CuPy, PyTorch and JAX on an NVIDIA GPU.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import (
    cpu,
    directml,
    dispatch,
    distributed,
    first_calls,
    function_report,
    functions,
    fuse,
    gpu,
    imports,
    report,
    sectors,
    sectors_peers,
    small,
    transposes,
    xla,
)
from benchmarks.measure import Timing, measure, rounds_within
from benchmarks.progress import show_progress


def main() -> None:
    """Time the rows and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    run = {
        "cpu": lambda asked: _rows(cpu.rows(asked.quick), asked, "CPU"),
        "functions": _functions,
        "fuse": lambda asked: _rows(fuse.rows(asked.quick), asked, "Fused functions", fuse.COLUMNS),
        "directml": lambda asked: _rows(directml.rows(), asked, "DirectML's operators"),
        "dispatch": _dispatch,
        "first": _first,
        "small": _small,
        "import": _import,
        "distributed": _distributed,
        "transposes": _transposes,
        "xla": lambda asked: _rows(xla.rows(asked.quick), asked, "XLA's buffers"),
        "sectors": _sectors,
        "peers": _peers,
        "gpu": gpu.run,
    }
    parser.add_argument("what", choices=list(run))
    parser.add_argument("--quick", action="store_true", help="fewer rows and rounds")
    parser.add_argument("--only", default="", metavar="TEXT", help="rows whose name holds TEXT")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all rounds as JSON")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table as Markdown")
    parser.add_argument(
        "--results",
        type=Path,
        metavar="DIR",
        help=f"gpu: for both files (default: ${gpu.VARIABLE}); transposes: for all rows",
    )
    of_gpu = parser.add_argument_group("gpu")
    of_gpu.add_argument("--seconds", type=float, default=500, help="for all rows (default: 500)")
    of_gpu.add_argument("--dry-run", action="store_true", help="list the rows and our kernels")
    of_gpu.add_argument("--simulator", action="store_true", help="the harness alone, tiny rows")
    asked = parser.parse_args()
    sys.exit(run[asked.what](asked))


def _rows(
    rows: Iterable[cpu.HostRow],
    asked: argparse.Namespace,
    title: str,
    columns: Sequence[str] = report.COLUMNS,
) -> None:
    rounds = 5 if asked.quick else 7
    results = [
        report.Result(row, measure(row.make(), rounds, batch=0.003, pause=0.005))
        for row in _chosen(rows, asked.only)
    ]
    print(report.text(results, columns))
    if asked.json:
        report.save_json(results, asked.json, "group", "name")
    if asked.markdown:
        page = report.markdown(results, columns).replace("# CPU", f"# {title}", 1)
        asked.markdown.write_text(page, "utf-8")


def _functions(asked: argparse.Namespace) -> None:
    warnings.simplefilter("ignore")  # NumPy's, of divisions and overflows
    seconds = 0.0 if asked.quick else SECONDS
    floors = {name: _within(calls, seconds) for name, calls in functions.floors().items()}
    results = [
        report.Result(case, _within(case.make(), seconds))
        for case in _chosen(functions.cases(asked.quick), asked.only)
    ]
    page = function_report.markdown(results, floors)
    print(page)
    if asked.json:
        report.save_json(results, asked.json, "function", "dtype", "layout")
    if asked.markdown:
        asked.markdown.write_text(page, "utf-8")


def _dispatch(asked: argparse.Namespace) -> None:
    _page(dispatch.markdown(dispatch.timings(asked.quick), report.machine()), asked)


def _first(asked: argparse.Namespace) -> None:
    timed = first_calls.timings(1 if asked.quick else 5)
    _page(first_calls.markdown(*timed, report.machine()), asked)


def _small(asked: argparse.Namespace) -> None:
    _page(small.markdown(list(small.timed(asked.only, asked.quick)), report.machine()), asked)


def _import(asked: argparse.Namespace) -> None:
    _page(imports.markdown(*imports.timings(2 if asked.quick else 21), report.machine()), asked)


def _distributed(asked: argparse.Namespace) -> None:
    results = distributed.timings(asked.only, 2 if asked.quick else 7)
    _page(distributed.markdown(results, report.machine()), asked)


def _transposes(asked: argparse.Namespace) -> None:
    chosen = _chosen(transposes.rows(asked.quick), asked.only)
    results = list(transposes.timed(chosen, asked.quick))
    picture = asked.markdown.with_suffix(".png") if asked.markdown else Path("transposes.png")
    machine = report.machine()
    _page(transposes.markdown(results, machine, picture.name), asked)
    if asked.markdown:
        transposes.draw(results, picture)
    if asked.results:
        page = transposes.rows_markdown(results, machine)
        (asked.results / "transposes.md").write_text(page, "utf-8")


def _page(page: str, asked: argparse.Namespace) -> None:
    print(page)
    if asked.markdown:
        asked.markdown.write_text(page, "utf-8")


def _sectors(asked: argparse.Namespace) -> None:
    page = sectors.run(asked.only)
    if asked.markdown or not asked.only:
        (asked.markdown or gpu.RESULTS / "sectors.md").write_text(page, "utf-8")
    print(page)


def _peers(asked: argparse.Namespace) -> None:
    page = sectors_peers.run(asked.only)
    if asked.markdown or not asked.only:
        (asked.markdown or gpu.RESULTS / "sectors_peers.md").write_text(page, "utf-8")
    print(page)


# A case of `functions`: about so long, in 3 to 15 rounds.
SECONDS = 0.2


def _within(calls: Any, seconds: float) -> Timing:
    rounds = rounds_within(calls, seconds, 3, 15)
    return measure(calls, rounds, batch=0.0005, pause=0, warm=False)


def _chosen(rows: Iterable[Any], only: str) -> Iterable[Any]:
    """The rows whose name holds the text, with a bar where stderr is a terminal."""
    chosen = [row for row in rows if only in row.name]
    return show_progress(chosen)


if __name__ == "__main__":
    main()
