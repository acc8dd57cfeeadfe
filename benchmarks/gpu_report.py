"""GPU results as a page of tables and as JSON."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.gpu_plans import KernelUse
from benchmarks.gpu_row import COPY, CUBLAS, FASTEST, FLAT, Row
from benchmarks.gpu_rows import GROUPS
from benchmarks.measure import Ratio, Timing
from benchmarks.peers import OURS
from benchmarks.report import duration, table
from tensorlayout.cuda.engine.driver import Kernel

_NO_LIBRARY = (COPY, FLAT, CUBLAS)

# A median of a few rounds may be off by so much.
NOISE = 1.03


@dataclass(frozen=True)
class Measured:
    """A row and what came of it.

    Attributes:
        sets: sets of memory by turns, so that the caches hold none of it.
        in_cache: whether the row is so small that it is meant to stay in L2.
        failed: by library, why it has no time or a wrong result.

    """

    row: Row
    timing: Timing
    kernels: tuple[KernelUse, ...] = ()
    sets: int = 1
    in_cache: bool = False
    failed: dict[str, str] = field(default_factory=dict)

    def ratio(self, over: str) -> Ratio | None:
        """Our time over that of a library or reference, None where one of the two is missing."""
        rounds = self.timing.rounds
        return self.timing.ratio(OURS, over) if OURS in rounds and over in rounds else None

    @property
    def reference(self) -> str:
        """Peer to compare with: of several libraries, the fastest in this row."""
        there = [n for n in self.timing.rounds if n in ("cupy", "numpy", "torch")]
        if self.row.reference != FASTEST or not there:
            return self.row.reference
        return min(there, key=self.timing.middle)

    @property
    def share(self) -> float | None:
        """Our speed over that of the row's reference."""
        ratio = self.ratio(self.reference)
        return None if ratio is None else 1 / ratio.middle

    @property
    def passed(self) -> bool | None:
        """True if the target is met; None without a target."""
        if self.row.target is None or self.share is None:
            return None
        return self.share >= self.row.target

    @property
    def ahead_of_us(self) -> list[str]:
        """The libraries that are faster by more than noise."""
        others = [name for name in self.timing.rounds if name not in (OURS, *_NO_LIBRARY)]
        return [n for n in others if (r := self.ratio(n)) is not None and r.middle > NOISE]


@dataclass(frozen=True)
class CompileTime:
    """Seconds to compile a kernel (None where that was not tried), and to load it from the disk."""

    kernel: Kernel
    cold: float | None
    warm: float


@dataclass
class Report:
    """All that was measured.

    Attributes:
        device: the name of the GPU.
        facts: lines about the machine and the settings.
        libraries: names and versions, ours first.
        left_out: rows without a figure, and why.
        meant: whether times mean anything, as they do not on the simulator.

    """

    device: str
    facts: list[str]
    libraries: dict[str, str]
    measured: list[Measured] = field(default_factory=list)
    compiled: list[CompileTime] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    meant: bool = True

    @property
    def faults(self) -> list[str]:
        """Faults of our results."""
        return [f"{m.row.name}: {m.failed[OURS]}" for m in self.measured if OURS in m.failed]

    def save(self, as_json: Path, as_markdown: Path) -> None:
        """Write both files; a reader sees the old ones or the new, never a part."""
        _replace(as_json, json.dumps(self.data(), indent=1))
        _replace(as_markdown, self.markdown())

    # ---- JSON

    def data(self) -> dict[str, Any]:
        """All rounds of all rows, in seconds."""
        return {
            "device": self.device,
            "machine": self.facts,
            "libraries": self.libraries,
            "rows": [_row_data(m) for m in self.measured],
            "compile": [
                {"kernel": c.kernel.symbol, "cold_s": c.cold, "warm_s": c.warm}
                for c in self.compiled
            ],
            "left_out": self.left_out,
        }

    # ---- Markdown

    def markdown(self) -> str:
        """The page."""
        lines = [f"# {self.device}", ""]
        libraries = ", ".join(f"{name} {version}" for name, version in self.libraries.items())
        lines += [f"{fact}  " for fact in (*self.facts, libraries)]
        lines += ["", *self.summary(), "", *_NOTES]
        for group in GROUPS:
            of_group = [m for m in self.measured if m.row.group == group]
            if of_group:
                lines += ["", f"## {group.capitalize()}", "", *self._table(of_group)]
        if self.compiled:
            lines += ["", "## Compile time", "", *_compile_table(self.compiled)]
        failed = [(m, name) for m in self.measured for name in m.failed]
        if failed:
            lines += ["", "## Without a figure, or wrong", ""]
            lines += [f"- {m.row.name}: {name}: {m.failed[name]}" for m, name in failed]
        if self.left_out:
            lines += ["", "## Rows left out", ""]
            lines += [f"- {name}: {why}" for name, why in self.left_out.items()]
        return "\n".join([*lines, ""])

    def summary(self) -> list[str]:
        """Return how many targets are met, which are missed, and where a peer is faster."""
        count = len(self.measured)
        faults = [f"- FAILED: {fault}" for fault in self.faults]
        end = f"{len(self.faults)} of {count} rows of ours failed; {len(self.left_out)} left out."
        if not self.meant:
            return [end, *faults]
        missed = [m for m in self.measured if m.passed is False]
        behind = [m for m in self.measured if m.ahead_of_us]
        targets = sum(m.passed is not None for m in self.measured)
        return [
            f"{targets - len(missed)} of {targets} targets met; another library is faster in"
            f" {len(behind)} of {count} rows; {end}",
            *[f"- below target: {m.row.name}: {m.share:.2f} of {m.row.target}" for m in missed],
            *[f"- {', '.join(m.ahead_of_us)} faster: {m.row.name}" for m in behind],
            *faults,
        ]

    def _table(self, measured: Sequence[Measured]) -> list[str]:
        others = [name for name in self.libraries if name != OURS]
        reference = measured[0].row.reference
        head = ["case", "MB", "sets", f"{reference}, us", "ours, us", "GB/s", f"of {reference}"]
        head += ["target", *others, "launches", "kernels"]
        return table(head, [_cells(m, others) for m in measured], last="---")


_NOTES = (
    "MB: the fewest that must move, each operand read and the result written once. copy: a copy"
    " within the device that moves as many; flat: the same operation on packed operands; of: our"
    " speed over that, in the same rounds. cuBLAS: called directly. Of a library: its time,"
    " and in brackets ours over it: the median of the rounds' ratios, least to greatest.",
    "",
    "sets: of memory, by turns, so that no cache holds them; L2: the row is meant to stay in the"
    " cache. launches: ours, and the fewest possible. Times are the device's, by events, while"
    " calls are queued ahead; those of JAX, whose streams no events of ours see, are the host's,"
    " until all is done. torch.sort gives positions too, and its time includes them. Small: the"
    " host's time of a call.",
)


def _cells(m: Measured, others: Sequence[str]) -> list[str]:
    rounds = m.timing.rounds
    ours = m.timing.middle(OURS) if OURS in rounds else None
    target = "-" if m.row.target is None else f"{m.row.target}"
    verdict = {True: " pass", False: " **FAIL**", None: ""}[m.passed]
    moved = m.row.nbytes / 1e6
    return [
        m.row.name,
        f"{moved:.4g}" if not m.row.on_host else "-",
        "L2" if m.in_cache else str(m.sets),
        f"{m.timing.middle(m.reference) * 1e6:.4g}" if m.reference in rounds else "-",
        f"{ours * 1e6:.4g}" if ours else "failed",
        f"{moved / 1e3 / ours:.4g}" if ours and not m.row.on_host else "-",
        f"{m.share:.2f}" if m.share is not None else "-",
        target + verdict,
        *[_peer(m, name) for name in others],
        f"{sum(use.launches for use in m.kernels)} ({m.row.floor})",
        "; ".join(map(str, m.kernels)) or "-",
    ]


def _peer(m: Measured, name: str) -> str:
    ratio = m.ratio(name)
    if ratio is None:
        return "-"
    spread = f"{ratio.middle:.2f}, {ratio.low:.2f} to {ratio.high:.2f}"
    return f"{duration(m.timing.middle(name))} ({spread})"


def _compile_table(compiled: Sequence[CompileTime]) -> list[str]:
    rows = []
    for c in compiled:
        cold = "-" if c.cold is None else f"{c.cold * 1e3:.0f}"
        rows.append([f"{c.kernel.symbol} {c.kernel.operation}", cold, f"{c.warm * 1e3:.2f}"])
    return table(["kernel", "compiled, ms", "from the disk, ms"], rows)


def _row_data(m: Measured) -> dict[str, Any]:
    return {
        "group": m.row.group,
        "name": m.row.name,
        "bytes": m.row.nbytes,
        "floor_launches": m.row.floor,
        "launches": sum(use.launches for use in m.kernels),
        "kernels": [str(use) for use in m.kernels],
        "sets": m.sets,
        "in_cache": m.in_cache,
        "target": m.row.target,
        "reference": m.reference,
        "share": m.share,
        "passed": m.passed,
        "ahead_of_us": m.ahead_of_us,
        "failed": m.failed,
        "rounds_s": {name: list(times) for name, times in m.timing.rounds.items()},
    }


def _replace(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, "utf-8")
    temporary.replace(path)


def stem_of(device: str) -> str:
    """The name of the files of a device.

    >>> stem_of("NVIDIA H100")
    'gpu-nvidia-h100'
    """
    return "gpu-" + re.sub(r"[^a-z0-9]+", "-", device.lower()).strip("-")
