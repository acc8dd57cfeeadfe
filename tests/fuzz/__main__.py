"""Try functions of the namespace on random operands in random layouts, against NumPy.

    python tests/fuzz --minutes 30 --seed 1 --device cpu
    python tests/fuzz --seed 1 --case 12345 --device cpu

Each case is a call: a function, dtypes, shapes with sizes 0 and 1, layouts of every kind, tiled
ones too, values with NaN, infinities and limits; operands that are read-only, at odd addresses, in
the memory that is written, or booleans of any bytes. Compared are values, dtype, shape, the layout
that docs/layouts.md promises, shared memory, what padding holds, that operands are unchanged, that
nothing warns, and what a trace shows; on CUDA also layouts, views and errors with those of the same
case on the CPU. A case follows from the seed and its number alone. Every second thousand runs with
internal blocks of a few elements. Exit status 1: something differs.

--isolated runs the cases in a process of its own: one that dies or hangs is a finding, and the next
goes on. --guard does so with operands, and NumPy's new arrays, beside pages of no access.
--shortage lets each allocation of a call fail in turn, in a process of its own too. --table says
which dtypes, kinds of keys and kinds of values met in writes, how often.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.extend(
    str(Path(__file__).parents[1] / name)
    for name in ("harness", "ops", "elementwise", "functions", "scan")
)

import guard
import isolated
import running
import shortage
import simulated
import write_table
from case import judge

import tensorlayout as tl
from tensorlayout import cuda

PRELUDE = """\
import numpy as np; from numpy import inf, nan; import tensorlayout as tl
from tensors import as_dtype  # of the folder tests/harness
from guard import stored; from shared_memory import seen  # of the folder tests/ops
from comparing import *; to_layout = tl.to_layout"""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python tests/fuzz", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--minutes", type=float, help="how long (default: 1)")
    parser.add_argument("--seed", type=int, help="of the cases (default: another each time)")
    parser.add_argument("--first", type=int, default=0, help="the first case's number")
    parser.add_argument("--case", type=int, help="this case alone, printed")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="where")
    parser.add_argument("--gpu", action="store_true", help="cuda is a GPU, not the simulator")
    parser.add_argument("--all-dtypes", action="store_true", help="on cuda too: compiles for each")
    parser.add_argument("--threads", type=int, default=1, help="several at once (default: 1)")
    parser.add_argument(
        "--only", nargs="+", default=(), choices=tuple(running.CASES), metavar="NAME"
    )
    parser.add_argument("--cases", type=int, help="how many (default: as many as there is time)")
    parser.add_argument("--isolated", action="store_true", help="in a process of their own")
    parser.add_argument("--guard", action="store_true", help="and operands beside guard pages")
    parser.add_argument("--shortage", action="store_true", help="memory runs out in each call")
    parser.add_argument("--progress", help=argparse.SUPPRESS)  # of a process that is watched
    parser.add_argument("--counts", action="store_true", help="cases by function")
    parser.add_argument("--table", action="store_true", help="what writes combined, how often")
    options = parser.parse_args()
    if options.minutes is None:
        options.minutes = 1.0 if options.cases is None else float("inf")
    if options.cases is None:
        options.cases = float("inf")
    if options.seed is None:
        options.seed = random.randrange(2**32)
    return options


@contextmanager
def entered(options: argparse.Namespace) -> Iterator[None]:
    """The device as the default; positions outside raise at once there, as on the CPU."""
    if options.device == "cpu":
        yield
        return
    result = simulated.on_gpu() if options.gpu else simulated.simulator(1)
    with result, cuda.strict_indexing(), tl.using_device("cuda"):
        yield


def report(options, findings, seconds) -> None:
    total = sum(findings.counts.values())
    rate = f"{total / seconds:.0f} per second"
    print(f"seed {options.seed}, {options.device}: {total} cases in {seconds:.0f} s, {rate}")
    widest = max(map(len, findings.counts), default=0)
    for name, count in sorted(findings.counts.items()) if options.counts else ():
        print(f"  {name.ljust(widest)} {count:7}")
    if options.table:
        print(write_table.table(findings.drawn))
    print(f"{len(findings.differences)} kinds of differences")
    for kind, result in sorted(findings.differences.items()):
        print(
            f"\n{result.name}: {result.times} times, first in case {findings.first[kind]},", end=""
        )
        print(f" smallest in case {result.number}")
        print(f"  {result.source}")
        print(f"  {result.said}")


def search(options: argparse.Namespace, few: bool, findings: running.Findings) -> None:
    """As the options say, in the process itself, on the device that is the default."""
    seconds = options.minutes * 60
    if options.threads > 1:
        findings.merge(running.search_in_threads(options.threads, options.seed, few, seconds))
    else:
        task = options.seed, few, seconds, options.cases, options.first, tuple(options.only)
        check = shortage.judge_short if options.shortage else judge
        running.search(*task, findings, check)


def in_processes(options: argparse.Namespace, few: bool) -> running.Findings:
    """The same, where a process that dies is a finding."""
    operands = ["--device", options.device, "--seed", options.seed]
    operands += [f"--{n}" for n in ("gpu", "guard", "shortage") if getattr(options, n)]
    operands += ["--all-dtypes"] if options.all_dtypes else []
    operands += ["--only", *options.only] if options.only else []
    times = options.cases, options.first, options.minutes * 60
    return isolated.search(operands, lambda number: describe_case(options, few, number), *times)


def describe_case(options: argparse.Namespace, few: bool, number: int) -> tuple[str, str]:
    """The name of a case, and Python that runs it."""
    with entered(options):
        case, _ = running.case_of(options.seed, number, few, tuple(options.only))
        return case.name, case.source()


def main() -> int:
    options = arguments()
    few = options.device == "cuda" and not options.all_dtypes
    findings, start = running.Findings(), time.monotonic()
    if options.case is not None:
        options.first, options.cases = options.case, 1
        print(f"{PRELUDE}\n{describe_case(options, few, options.case)[1]}", flush=True)
    apart = options.guard or options.isolated or options.shortage
    if apart and not options.progress:
        findings = in_processes(options, few)
    else:
        with entered(options), guard.guarded(options.guard):
            if options.progress:
                isolated.work(options.progress, lambda report: search(options, few, report))
                return 0
            search(options, few, findings)
    report(options, findings, time.monotonic() - start)
    return 1 if findings.differences else 0


if __name__ == "__main__":
    sys.exit(main())
