"""One operation, as a trace has it: which line called it, what it did, and by which kernels.

The line is found among the frames outside of this package, while somebody asks.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tensorlayout.layout import Layout
from tensorlayout.plan import COPIES, Kind, Plan
from tensorlayout.support.lazy_imports import import_lazily
from tensorlayout.support.light_dataclasses import frozen_dataclass
from tensorlayout.tensor import Tensor

if TYPE_CHECKING:
    from tensorlayout.cuda.engine.driver import Kernel
    from tensorlayout.cuda.engine.launch_log import Counts, DeviceWork

_PACKAGE = f"{Path(__file__).parents[1]}{os.sep}"
_STDLIB = f"{Path(os.__file__).parent}{os.sep}"
# Folders of installed libraries: their lines are not the user's.
_INSTALLED = ("site-packages", "dist-packages")


class Line(NamedTuple):
    """A line of a file, and the function that it is in."""

    file: str
    number: int
    function: str

    def __str__(self) -> str:
        """Return the path below the current or a library's folder, and the line's number."""
        path = _shorten_path(self.file)
        # What is no Unicode is escaped, so that the text can be written anywhere.
        return f"{path.encode('utf-8', 'backslashreplace').decode('utf-8')}:{self.number}"


def _shorten_path(path: str) -> str:
    for folder in _INSTALLED:
        _, separator, relative_path = path.rpartition(f"{os.sep}{folder}{os.sep}")
        if separator:
            return relative_path
    try:
        return path.removeprefix(_STDLIB).removeprefix(f"{Path.cwd()}{os.sep}")
    except OSError:  # the folder has been removed
        return path


def calling_lines() -> tuple[Line, ...]:
    """Return the line that called this package, then its callers up to the user's line.

    The last one is the first outside of installed libraries, where there is one.
    """
    lines: list[Line] = []
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if lines or not code.co_filename.startswith(_PACKAGE):
            lines.append(Line(code.co_filename, frame.f_lineno or 0, code.co_name))
            if not _is_library_file(code.co_filename):
                return tuple(lines)
        frame = frame.f_back  # type: ignore[assignment]
    return tuple(lines[:1])


@functools.lru_cache(maxsize=1024)
def _is_library_file(file: str) -> bool:
    parts = file.split(os.sep)
    installed = any(folder in parts for folder in _INSTALLED)
    return installed or file.startswith((_PACKAGE, _STDLIB, "<frozen "))


def record_device_work(
    plan: Plan, operands: tuple[Any, ...]
) -> AbstractContextManager[DeviceWork | None]:
    """Record CUDA work inside the block; None for calls without any, such as views."""
    specs = [x.spec for x in operands if isinstance(x, Tensor)]
    moves_elements = plan.result_kind != "view" or not all(spec.layout.is_strided for spec in specs)
    device = next((s.device for s in (plan.result, *specs) if s.device.kind == "cuda"), None)
    if device is None or not moves_elements:
        return nullcontext()
    log = import_lazily("tensorlayout.cuda.engine.launch_log")  # only where there is one
    return log.observe_device_work(device.number)


@frozen_dataclass
class Record:
    """One operation: what it did, to which layouts, at what cost, and which line called it.

    `kind`: ``view`` (no element moved), ``export`` (another library got the memory), ``copy``
    (elements moved, each keeping its place in the layout), ``relayout`` (elements moved into
    another layout), or ``compute`` (worked out). Bytes are those of distinct elements; `seconds` is
    the time of the call as the host saw it, `start` when that began, by `time.perf_counter`. What
    an operation had to move first, such as an operand that BLAS cannot be told of, is a record
    before its own, under its name; the time and the kernels of that are the operation's. `parts`:
    of a fused function, the names of what it does in one pass.

    `bytes_exported`: the size of memory that another library got; whether it is copied there is not
    seen. `stack`: the line that called, and, where that is a library's, those that led to it, the
    last one in a file that is not installed. `thread`: the number of the thread.
    """

    name: str
    kind: Kind
    inputs: tuple[Layout, ...]
    output: Layout
    dtype: str
    bytes_read: int
    bytes_written: int
    seconds: float = 0.0
    parts: tuple[str, ...] = ()
    stack: tuple[Line, ...] = ()
    start: float = 0.0
    thread: int = 0
    work: DeviceWork | None = None
    bytes_exported: int = 0

    @property
    def file(self) -> str:
        """The file of the line that called."""
        return self.stack[0].file if self.stack else ""

    @property
    def line(self) -> int:
        """The number of the line that called."""
        return self.stack[0].number if self.stack else 0

    @property
    def where(self) -> str:
        """``file:line`` that called; where that is a library's, ``< file:line`` of the user's."""
        ends = dict.fromkeys(map(str, (*self.stack[:1], *self.stack[-1:])))
        return " < ".join(ends)

    @property
    def bytes_copied(self) -> int:
        """**Bytes** written by a copy or a change of layout; 0 of all else."""
        return self.bytes_written if self.kind in COPIES else 0

    @property
    def kernels(self) -> Mapping[Kernel, Counts]:
        """Launched kernels: seconds on a GPU, counts on the simulator.

        Of each, ``sector_efficiency_read`` and ``sector_efficiency_write`` are the fewest sectors
        that could have brought the bytes over those that did. To read it waits for the device.
        """
        return {} if self.work is None else self.work.kernels

    @property
    def device_seconds(self) -> float | None:
        """Seconds on a GPU, by events; None elsewhere. Reading it waits for the device."""
        return None if self.work is None else self.work.seconds

    @property
    def gigabytes_per_second(self) -> float:
        """10^9 bytes read and written per second, in device time where that is known."""
        moved, took = self.bytes_read + self.bytes_written, self.device_seconds or self.seconds
        return moved / took / 1e9 if took else 0.0

    @property
    def called(self) -> str:
        """The name, with those of the parts of a fused function."""
        return f"{self.name}({', '.join(self.parts)})" if self.parts else self.name

    @property
    def layouts(self) -> str:
        """The layouts of the inputs and the output as text, as a table shows them."""
        return format_layout_change(self.inputs, self.output)


def format_layout_change(inputs: Iterable[Layout], output: Layout) -> str:
    """Return layouts before and after, apart by an arrow."""
    return f"{', '.join(map(str, inputs))} -> {output}".lstrip()


# --- kernels of CUDA, as tables show them ---


def kernel_counts_by_name(kernels: Mapping[Kernel, Counts]) -> dict[str, Counts]:
    """Kernels of one name and operation counted together, by these and their number, if not 1."""
    counts_by_name: dict[str, Counts] = {}
    for kernel, counts in kernels.items():
        name = f"{kernel.name} {kernel.operation}".rstrip()
        counts_by_name[name] = counts_by_name[name] + counts if name in counts_by_name else counts
    return {f"{n} x{c.launches}" if c.launches > 1 else n: c for n, c in counts_by_name.items()}


def format_kernel_cost(counts: Counts) -> str:
    """Return the time on a GPU; on the simulator how few sectors would have done."""
    if counts.seconds:
        return f"{counts.seconds * 1e6:.1f} us"
    efficiencies = []
    if counts.loads.accesses:
        efficiencies.append(f"read {counts.sector_efficiency_read:.2f}")
    if counts.stores.accesses:
        efficiencies.append(f"written {counts.sector_efficiency_write:.2f}")
    return f"sectors: {', '.join(efficiencies)}" if efficiencies else ""


def format_kernel_lines(kernels: Mapping[Kernel, Counts]) -> list[str]:
    """Return an indented line with the cost of each kernel."""
    return [
        f"{f'  {name}':<44}{format_kernel_cost(counts)}".rstrip()
        for name, counts in kernel_counts_by_name(kernels).items()
    ]
