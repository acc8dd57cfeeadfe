"""``python -m benchmarks gpu``: ours against CuPy, PyTorch and JAX on an NVIDIA GPU."""

from __future__ import annotations

import os
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import Any

from benchmarks import gpu_cublas, gpu_memory, gpu_peers, gpu_plans, gpu_report, gpu_row, gpu_rows
from benchmarks.gpu_memory import Array, Gpu, Simulated, Space
from benchmarks.gpu_peers import Library
from benchmarks.gpu_plans import KernelUse
from benchmarks.gpu_report import CompileTime, Measured, Report
from benchmarks.gpu_row import COPY, CUBLAS, FLAT, Operand, Row
from benchmarks.gpu_timing import Clock, EventClock, Turns, clock_of, in_rounds
from benchmarks.measure import Call, Timing
from benchmarks.peers import OURS
from benchmarks.progress import show_progress
from benchmarks.report import machine
from tensorlayout.cuda.engine import nvrtc
from tensorlayout.cuda.engine.driver import Kernel, driver

RESULTS = Path(__file__).parent / "results"

# The folder for results where the command does not name one.
VARIABLE = "TENSORLAYOUT_BENCHMARK_RESULTS"

# Of the seconds that are given, so many are kept for compile times, and at most a tenth.
COMPILING = 20.0

# A row: about so long in its rounds.
ROUNDS = 0.5


def run(asked: Namespace) -> int:
    """The whole command; its exit status."""
    started = time.perf_counter()
    if asked.dry_run:
        print("\n".join(listed(asked.only, asked.quick)))
        return 0
    if asked.simulator:
        os.environ["TENSORLAYOUT_CUDA_SIMULATOR"] = "1"
        space: Space = Simulated()
        events, rows = None, gpu_rows.tiny_rows()
    else:
        try:
            opened: Any = driver()
            if opened.name == "simulator":
                return _refused("this is the simulator, which has no speed; add --simulator")
        except (RuntimeError, ValueError) as error:
            return _refused(str(error))
        import cupy

        space, events, rows = Gpu(cupy), EventClock(cupy), gpu_rows.rows()
    bench = Bench(space, events, *gpu_peers.libraries(space))
    folder = Path(asked.results or os.environ.get(VARIABLE) or RESULTS)
    stem = gpu_report.stem_of(space.name)
    bench.paths = asked.json or folder / f"{stem}.json", asked.markdown or folder / f"{stem}.md"
    bench.until = started + asked.seconds
    bench.reserve = min(COMPILING, asked.seconds / 10)
    report = bench.all(_chosen(rows, asked.only, asked.quick))
    print(report.markdown())
    print("\n".join([*report.summary(), f"written: {', '.join(map(str, bench.paths))}"]))
    return 1 if report.faults else 0


def _refused(why: str) -> int:
    print(f"python -m benchmarks gpu: {' '.join(why.split())}", file=sys.stderr)
    return 2


def _chosen(rows: Iterable[Row], only: str, quick: bool) -> list[Row]:
    """The rows whose group and name hold the text; if it has to be quick, the most important."""
    return [
        row for row in rows if only in f"{row.group}: {row.name}" and not (quick and row.priority)
    ]


def listed(only: str = "", quick: bool = False) -> list[str]:
    """A line for each row: its bytes and our kernels, which are planned without a device."""
    lines = []
    with gpu_plans.without_device():
        for row in _chosen(gpu_rows.rows(), only, quick):
            if row.reference == CUBLAS:  # which only a GPU has
                uses = CUBLAS
            else:
                uses = "; ".join(map(str, gpu_plans.planned(row)))
            size = gpu_row.sized(row.nbytes)
            lines.append(
                f"{row.priority}  {row.group:<14} {row.name:<44} {size:>8}  {uses or 'none'}"
            )
    return lines


@dataclass
class Bench:
    """The harness: takes rows, gives a report."""

    space: Space
    events: Clock | None
    libraries: Sequence[Library]
    absent: Sequence[str] = ()
    until: float = float("inf")  # of the clock time.perf_counter
    reserve: float = 0.0  # seconds of it for compile times
    paths: tuple[Path, Path] | None = None

    def all(self, rows: Sequence[Row]) -> Report:
        """Every row that fits the time and the memory.

        Both files are written before each, so that whatever ends the run leaves all rows before,
        and the name of the one that was under way.
        """
        versions = {library.name: library.version for library in self.libraries}
        facts = [machine()[0], *self.space.facts, *self.absent]
        report = Report(self.space.name, facts, versions, meant=isinstance(self.space, Gpu))
        report.left_out = {row.name: "the run ended before" for row in rows}
        try:
            for row in show_progress(rows):
                self._add(report, row)
            uses = [use for measurement in report.measured for use in measurement.kernels]
            for kernel in _some(use.kernel for use in uses):
                if time.perf_counter() < self.until:
                    report.compiled.append(self.compile_time(kernel))
        finally:
            self._save(report)
        return report

    def _add(self, report: Report, row: Row) -> None:
        why = self._why_not(row)
        if why:
            report.left_out[row.name] = why
            return
        report.left_out[row.name] = "begun, and the run ended"
        self._save(report)
        try:
            report.measured.append(self.measured(row))
            del report.left_out[row.name]
        except Exception as error:  # as when the memory is not there after all
            report.left_out[row.name] = _in_short(error)
        self.space.release()

    def _save(self, report: Report) -> None:
        if self.paths is not None:
            report.save(*self.paths)

    def _why_not(self, row: Row) -> str:
        if time.perf_counter() > self.until - self.reserve:
            return "no time was left"
        needed, free = self._needed(row), self.space.free()
        if needed > free:
            return f"needs {gpu_row.sized(needed)}, {gpu_row.sized(free)} are free"
        return ""

    def _needed(self, row: Row) -> int:
        """Memory, with results of those libraries that allocate them, and some to spare."""
        of_libraries = len(self.libraries) * row.out.storage
        other = row.storage if row.reference == FLAT else 0
        return int(1.1 * self._sets(row) * (row.storage + other + of_libraries + row.nbytes))

    def _sets(self, row: Row) -> int:
        enough = 4 * self.space.l2
        if row.on_host or self._in_cache(row) or row.storage >= enough:
            return 1
        return ceil(enough / row.storage)

    def _in_cache(self, row: Row) -> bool:
        return row.storage < self.space.l2 // 8

    # ---- One row

    def measured(self, row: Row) -> Measured:
        """The row checked and timed in each library that can do it."""
        sets = self._sets(row)
        blocks = [[gpu_memory.random(self.space, o) for o in row.operands] for _ in range(sets)]
        outs = [gpu_memory.poisoned(self.space, row.out) for _ in range(sets)]
        failed: dict[str, str] = {}
        kernels: tuple[KernelUse, ...] = ()
        turns = {} if row.on_host else {COPY: self._turns_of_copies(row, sets)}
        for library in self.libraries:
            try:
                prepared = [
                    library.prepare(row, *operands) for operands in zip(blocks, outs, strict=True)
                ]
                wrong = self._wrong(library, row, blocks[0], outs[0])
                if library.name == OURS:
                    kernels = gpu_plans.kernels_of(prepared[0].call)
            except Exception as error:  # one library's trouble is not the end
                wrong, prepared = _in_short(error), []
            if wrong:
                failed[library.name] = wrong
            else:
                clock = clock_of(library, self.events, on_host=row.on_host)
                turns[library.name] = Turns([call.call for call in prepared], clock)
        if row.reference == FLAT and OURS in turns:
            turns[FLAT] = self._turns_of_flat(row, sets)
        if row.reference == CUBLAS and OURS in turns:
            turns[CUBLAS] = Turns(
                [
                    gpu_cublas.product(self.space, row, *arrays)
                    for arrays in zip(blocks, outs, strict=True)
                ],
                self._device_clock(),
            )
        timing = in_rounds(turns, ROUNDS, self.space.wait) if turns else Timing({})
        return Measured(row, timing, kernels, sets, self._in_cache(row), failed)

    def _wrong(self, library: Library, row: Row, blocks: Sequence[Array], out: Array) -> str:
        """Describe what is wrong with the result, written into poisoned memory, or return ""."""
        gpu_memory.poison(out)
        if not row.operation.into:  # what the pool gives next is poisoned too
            gpu_memory.poisoned(self.space, row.out)
        self.space.wait()
        prepared = library.prepare(row, blocks, out)
        result = prepared.call()
        library.wait(result)
        return gpu_peers.difference(self.space, row, blocks, prepared.array(result))

    def _turns_of_copies(self, row: Row, sets: int) -> Turns:
        half = Operand((max(1, row.nbytes // 2 // 4),), "float32")
        calls = [
            self.space.copy(
                gpu_memory.poisoned(self.space, half), gpu_memory.random(self.space, half)
            )
            for _ in range(sets)
        ]
        return Turns(calls, self._device_clock())

    def _turns_of_flat(self, row: Row, sets: int) -> Turns:
        """Ours, of operands that all lie as the first one's shape says."""
        flat = replace(row, operands=tuple(Operand(o.shape, o.dtype) for o in row.operands))
        calls: list[Call] = []
        for _ in range(sets):
            blocks = [gpu_memory.random(self.space, operand) for operand in flat.operands]
            calls.append(gpu_peers.bound(flat, [self.space.tensor(x) for x in blocks], None))
        return Turns(calls, self._device_clock())

    def _device_clock(self) -> Clock:
        return clock_of(self.libraries[0], self.events, on_host=False)

    # ---- Compile times

    def compile_time(self, kernel: Kernel) -> CompileTime:
        """Compiled anew, and by a new driver that finds it on the disk."""
        opened: Any = driver()
        open_driver: Callable[[], Any] = sys.modules[type(opened).__module__].open_driver
        cold = None
        if isinstance(self.space, Gpu):
            start = time.perf_counter()
            nvrtc.compile_cubin(kernel, self.space.architecture)
            cold = time.perf_counter() - start
        fresh = open_driver()
        start = time.perf_counter()
        fresh.launcher(kernel)
        return CompileTime(kernel, cold, time.perf_counter() - start)


def _some(kernels: Iterable[Kernel]) -> list[Kernel]:
    """The first of each name, and of elementwise ones the first of each operation."""
    by_kernel: dict[tuple[str, str], Kernel] = {}
    for kernel in kernels:
        by_kernel.setdefault((kernel.name, kernel.operation), kernel)
    return list(by_kernel.values())


def _in_short(error: Exception) -> str:
    first = (str(error).strip().splitlines() or [""])[0]
    return f"{type(error).__name__}: {first}"[:200]
