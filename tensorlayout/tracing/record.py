"""One operation, as a trace has it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tensorlayout.layout import Layout
from tensorlayout.plan.steps import COPIES, Kind
from tensorlayout.records import frozen
from tensorlayout.tracing.caller import Line

if TYPE_CHECKING:
    from tensorlayout.cuda.engine.counting import Counts
    from tensorlayout.cuda.engine.driver import Kernel
    from tensorlayout.cuda.engine.launch_log import DeviceWork

_NONE: Mapping[Any, Any] = MappingProxyType({})


@frozen
class Record:
    """One operation: what it did, to which layouts, at what cost, and which line called it.

    `kind`: ``view`` (no element moved), ``export`` (another library got the memory), ``copy``
    (elements moved, each keeping its place in the layout), ``relayout`` (elements moved into
    another layout), or ``compute`` (worked out). Bytes are those of distinct elements; `seconds` is
    the time of the call as the host saw it, `start` when that began, by `time.perf_counter`. What
    an operation had to move first, such as an operand that BLAS cannot be told of, is a record
    before its own, under its name; the time and the kernels of that are the operation's. `parts`:
    of a fused function, the names of what it does in one pass.

    `bytes_exported`: the size of memory that another library got. Whether that copies it is not
    seen.

    `stack`: the line that called, and, where that is a library's, those that led to it, the last
    one in a file that is not installed. `thread`: the number of the thread.
    """

    name: str
    kind: Kind
    inputs: tuple[Layout, ...]
    output: Layout
    dtype: str
    bytes_read: int
    bytes_written: int
    seconds: float
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
        """What was launched on CUDA: seconds on a GPU, what is counted on the simulator.

        Of each, ``sector_efficiency_read`` and ``sector_efficiency_write`` are the fewest sectors
        that could have brought the bytes over those that did. To read it waits for the device.
        """
        return _NONE if self.work is None else self.work.kernels

    @property
    def device_seconds(self) -> float | None:
        """How long a GPU took, by events; None elsewhere. To read it waits for the device."""
        return None if self.work is None else self.work.seconds

    @property
    def gigabytes_per_second(self) -> float:
        """Bytes read and written by second, in 10^9: of the device, where its time is known."""
        moved, took = self.bytes_read + self.bytes_written, self.device_seconds or self.seconds
        return moved / took / 1e9 if took else 0.0

    @property
    def called(self) -> str:
        """The name, with those of the parts of a fused function."""
        return f"{self.name}({', '.join(self.parts)})" if self.parts else self.name

    @property
    def layouts(self) -> str:
        """The layouts before and after, as a table has them."""
        before = ", ".join(map(str, self.inputs))
        return f"{before} -> {self.output}" if before else f"-> {self.output}"
