"""Record of one operation in a trace: calling line, memory effect, kernels.

The line is found by walking up the stack to the first frame outside of this package. This is done
only while a block is active.
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
# Lines in these folders belong to installed libraries, not to the user.
_INSTALLED = ("site-packages", "dist-packages")


class Line(NamedTuple):
    """Line of a file, and the function that contains it."""

    file: str
    number: int
    function: str

    def __str__(self) -> str:
        """Return the path relative to the current or the library's folder, and the line number."""
        path = _shorten_path(self.file).encode("utf-8", "backslashreplace").decode("utf-8")
        # Paths may contain undecodable bytes, which no stream could encode, and control characters,
        # which would break the line.
        path = "".join(c if c.isprintable() else repr(c)[1:-1] for c in path)
        return f"{path}:{self.number}"


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
    """Return the line that called this package, and if it is in a library, its callers.

    The last line is the first one outside of installed libraries, if there is one.
    """
    lines: list[Line] = []
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        # After the first line outside, frames of this package are callers like others: a library
        # may have been called by our code.
        if lines or not code.co_filename.startswith(_PACKAGE):
            lines.append(Line(code.co_filename, frame.f_lineno or 0, code.co_name))
            if not _is_package_or_stdlib_file(code.co_filename):
                return tuple(lines)
        frame = frame.f_back  # type: ignore[assignment]
    # All callers are libraries: one line is enough.
    return tuple(lines[:1])


@functools.lru_cache(maxsize=1024)
def _is_package_or_stdlib_file(file: str) -> bool:
    parts = file.split(os.sep)
    installed = any(folder in parts for folder in _INSTALLED)
    return installed or file.startswith((_PACKAGE, _STDLIB, "<frozen "))


def record_device_work(
    plan: Plan, operands: tuple[Any, ...]
) -> AbstractContextManager[DeviceWork | None]:
    """Return a block that records CUDA work; it gives None for calls without, such as views."""
    specs = [x.spec for x in operands if isinstance(x, Tensor)]
    moves_elements = plan.result_kind != "view" or not all(spec.layout.is_strided for spec in specs)
    device = next((s.device for s in (plan.result, *specs) if s.device.kind == "cuda"), None)
    if device is None or not moves_elements:
        return nullcontext()
    log = import_lazily("tensorlayout.cuda.engine.launch_log")  # only if CUDA is in use
    return log.observe_device_work(device.number)


@frozen_dataclass
class Record:
    """One operation: what it did, to which layouts, at what cost, and which line called it.

    - `kind`: ``view`` (no element moved), ``export`` (another library received the memory),
      ``copy`` (elements moved, each keeping its place in the layout), ``relayout`` (elements moved
      into another layout), or ``compute``.
    - `bytes_read`, `bytes_written`: bytes of distinct elements. `bytes_exported`: size of memory
      given to another library; a copy made there is not detected.
    - `seconds`: host time of the call. `start`: its beginning, by `time.perf_counter`.
    - `parts`: names of the operations that a fused function runs in one pass.
    - `stack`: the calling line; if it is in a library, also its callers up to the first file that
      is not installed.
    - `thread`: number of the thread.

    If an operation first copies an operand, for example one with strides that BLAS does not accept,
    that copy is a record before it with the same name. Its time and kernels are included in the
    record of the operation.
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
        """File of the calling line."""
        return self.stack[0].file if self.stack else ""

    @property
    def line(self) -> int:
        """Number of the calling line."""
        return self.stack[0].number if self.stack else 0

    @property
    def where(self) -> str:
        """``file:line`` of the call; in a library, followed by ``< file:line`` of the user."""
        # The first and last line of a short stack may be the same: the dict keeps one.
        ends = dict.fromkeys(map(str, (*self.stack[:1], *self.stack[-1:])))
        return " < ".join(ends)

    @property
    def bytes_copied(self) -> int:
        """**Bytes** written by a copy or change of layout; 0 for other kinds."""
        return self.bytes_written if self.kind in COPIES else 0

    @property
    def kernels(self) -> Mapping[Kernel, Counts]:
        """Launched kernels, with seconds on a GPU, or counts on the simulator.

        ``sector_efficiency_read`` and ``sector_efficiency_write`` divide the minimal number of
        sectors by the number used. Reading this property waits for the device.
        """
        return {} if self.work is None else self.work.kernels

    @property
    def device_seconds(self) -> float | None:
        """Seconds on a GPU, by events; None elsewhere. Reading it waits for the device."""
        return None if self.work is None else self.work.seconds

    @property
    def gigabytes_per_second(self) -> float:
        """Bytes read and written per second, in 10^9; by device time if known, else host time."""
        moved, took = self.bytes_read + self.bytes_written, self.device_seconds or self.seconds
        return moved / took / 1e9 if took else 0.0

    @property
    def called(self) -> str:
        """Name, and for a fused function the names of its parts."""
        return f"{self.name}({', '.join(self.parts)})" if self.parts else self.name

    @property
    def layouts(self) -> str:
        """Layouts before and after, in full; a trace's table abbreviates them."""
        return format_layout_change(self.inputs, self.output)


def format_layout_change(inputs: Iterable[Layout], output: Layout) -> str:
    """Return layouts before and after, separated by an arrow."""
    return f"{', '.join(map(str, inputs))} -> {output}".lstrip()


# --- CUDA kernels in tables ---


def kernel_counts_by_label(*kernel_maps: Mapping[Kernel, Counts]) -> dict[str, Counts]:
    """Return the counts of all kernels, added up per kernel name and operation.

    The label has the number of launches if it is not 1.
    """
    counts_by_name: dict[str, Counts] = {}
    for kernel, counts in [item for kernels in kernel_maps for item in kernels.items()]:
        name = f"{kernel.name} {kernel.operation}".rstrip()
        counts_by_name[name] = counts_by_name[name] + counts if name in counts_by_name else counts
    return {f"{n} x{c.launches}" if c.launches > 1 else n: c for n, c in counts_by_name.items()}


def format_kernel_cost(counts: Counts) -> str:
    """Return the time on a GPU, or the sector efficiency on the simulator."""
    if counts.seconds:
        return f"{counts.seconds * 1e6:.1f} us"
    efficiencies = []
    if counts.loads.accesses:
        efficiencies.append(f"read {counts.sector_efficiency_read:.2f}")
    if counts.stores.accesses:
        efficiencies.append(f"written {counts.sector_efficiency_write:.2f}")
    return f"sectors: {', '.join(efficiencies)}" if efficiencies else ""


def format_kernel_lines(*kernel_maps: Mapping[Kernel, Counts]) -> list[str]:
    """Return one line per kernel, to be printed below its operation."""
    return [
        f"{f'  {name}':<44}{format_kernel_cost(counts)}".rstrip()
        for name, counts in kernel_counts_by_label(*kernel_maps).items()
    ]
