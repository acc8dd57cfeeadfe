"""The ledger of a pipeline: each step traced, compared with NumPy, and written in a table."""

from __future__ import annotations

import functools
import inspect
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

import tensorlayout as tl
from tensorlayout.demo.beside import LONG, Array, Library, median
from tensorlayout.demo.errors import DifferenceError
from tensorlayout.plan.steps import KINDS
from tensorlayout.tracing.record import kernel_lines

if TYPE_CHECKING:
    from tensorlayout.cuda.engine.counting import Counts
    from tensorlayout.cuda.engine.driver import Kernel

OURS = "tensorlayout"
LEGEND = (
    "layout: dimensions as they lie in memory, slowest first. W+112: each row padded by 112 slots;",
    "  -W: W runs backwards; gaps: a part of something larger.",
    "kind: view, nothing moved; copy, moved; relayout, moved into another layout; compute.",
    "MB: 10**6 bytes of distinct elements, read and written by all operations of the step.",
    "GB/s: that over the time; more than memory gives where it stays in the caches.",
)
LEGEND_OF_KERNELS = (
    "below a step: the kernels that it launched (x2: twice). On a GPU their time, of which that of",
    "  the step is the sum. On the simulator, where time says nothing, the fewest 32-byte sectors",
    "  that could have brought what was read and written, over those that did: 1.00 is best.",
    "  A matrix product has no line: it is cuBLAS's, whose kernels have names of their own.",
)


class Known(NamedTuple):
    """A tensor, its elements as NumPy has them, and a letter for each of its dimensions."""

    tensor: tl.Tensor
    array: Array
    dims: str

    @property
    def brief(self) -> str:
        """How it lies in memory."""
        return brief(self.tensor.layout, self.dims)

    def lying(self, order: str, row: int = 0) -> Array:
        """The array slot by slot in the `order` of its letters, rows padded by zeros to `row`."""
        array = self.array.transpose([self.dims.index(letter) for letter in order])
        padding = [(0, 0)] * (array.ndim - 1) + [(0, max(0, row - array.shape[-1]))]
        return np.pad(array, padding).ravel()


@dataclass(frozen=True, slots=True)
class Entry:
    """One step of a pipeline, and what its calls cost together."""

    title: str
    shape: tuple[int, ...]
    before: str
    after: str
    kind: str
    bytes_read: int
    bytes_written: int
    bytes_copied: int
    cold: float | None  # the seconds of the first call; None where they would be the simulator's
    layout: tl.Layout  # of the result
    trace: tl.Trace  # of the first call
    kernels: Mapping[Kernel, Counts] = field(default_factory=dict)
    within: float = 0.0  # the relative difference from NumPy that was allowed
    part: str = ""  # the heading that it stands under
    where: str = ""  # the line that does it
    warm: Mapping[str, float] = field(default_factory=dict)  # seconds by who did it, us first
    runs: int = 0  # of which those are the medians

    @property
    def bytes_moved(self) -> int:
        """**Bytes** read and written."""
        return self.bytes_read + self.bytes_written

    @property
    def gigabytes_per_second(self) -> float | None:
        """What is moved over the time of a warm call of ours; None of views and without a time."""
        return self.bytes_moved / self.warm[OURS] / 1e9 if self.bytes_moved and self.warm else None


@dataclass(slots=True)
class Ledger:
    """The steps so far; `announce` is called with each line of the table as it is known.

    `device`: where the steps are done. On CUDA their kernels are written down too. `repeat`: how
    often a step is done again, for its time. `libraries`: who does it too, on the CPU.
    """

    announce: Callable[[str], None] = print
    device: str = "cpu"
    repeat: int = 0
    libraries: Sequence[Library] = ()
    done: Callable[[], None] = lambda: None  # called after each step
    steps: list[Entry] = field(default_factory=list)
    part: str = ""

    def step(
        self,
        title: str,
        call: Callable[..., Any],
        *inputs: Known,
        dims: str | None = None,
        expected: Array | None = None,
        stored: str | None = None,
        row: int = 0,
        within: float = 0.0,
        must: Literal["view", "compute"] | None = None,
        beside: Callable[..., Any] | Mapping[str, Callable[..., Any] | None] | None = None,
    ) -> Known:
        """Do a step and compare it with NumPy; DifferenceError at the first difference.

        `call` takes a namespace of the array API, then what is in `inputs`: this package and its
        tensors first, then NumPy and its arrays, unless the elements are `expected`. `dims`: the
        letters of the result's dimensions, by default the first input's. `stored`: the same as they
        must lie in memory, slowest first, with rows padded by zeros to `row` slots. `within`: the
        relative difference that the order of a sum may make. `must`: "view", nothing may be moved;
        "compute", nothing may be copied on the way. `beside`: how other libraries do the step, all
        or by their names, None for who cannot; by default as `call` does.
        """
        with _kernel_log(self.device) as kernels, tl.trace() as seen:
            start = time.perf_counter()
            result = call(tl, *(x.tensor for x in inputs))
            seconds = time.perf_counter() - start
        array = call(np, *(x.array for x in inputs)) if expected is None else expected
        known = Known(result, array, inputs[0].dims if dims is None else dims)
        step = _summed(title, inputs, known, seen, seconds, kernels, within)
        step = replace(step, part=self.part, where=_line_of(call))
        self.steps.append(step)
        memory = None if stored is None else known.lying(stored, row)
        for words in _faults(step, inputs, known, memory, must):
            msg = f"step {len(self.steps)} ({title}){words}"
            raise DifferenceError(msg)
        if self.repeat:
            calls = beside if isinstance(beside, Mapping) else {}
            usual = call if beside is None else beside
            others = {each.name: calls.get(each.name, usual) for each in self.libraries}
            self.steps[-1] = step = self._timed(step, call, inputs, known, others)
        self.announce("\n".join([self.line(step), *kernel_lines(step.kernels)]))
        self.done()
        return known

    def _timed(
        self,
        step: Entry,
        call: Callable[..., Any],
        inputs: Sequence[Known],
        known: Known,
        others: Mapping[str, Any],
    ) -> Entry:
        """The step with the times of warm calls, ours and those of `others`, whose result it is."""
        tensors = [x.tensor for x in inputs]
        took, runs = self._warm(lambda: call(tl, *tensors))
        warm = {OURS: took}
        for each in self.libraries:
            if (theirs := others[each.name]) is None:
                continue
            arrays = [each.array(host(x)) for x in tensors]  # over the same memory
            found = each.host(theirs(each.names, *arrays))
            near = 10 * step.within  # theirs may be summed in another order than ours
            for words in _differences("element", found, known.array, near):
                msg = f"step {len(self.steps)} ({step.title}) by {each.name}{words}"
                raise DifferenceError(msg)
            again = functools.partial(theirs, each.names, *arrays)
            warm[each.name], _ = median(again, self.repeat)
        return replace(step, warm=warm, runs=runs)

    def _warm(self, call: Callable[[], Any]) -> tuple[float, int]:
        if self.device == "cpu":
            return median(call, self.repeat)
        found = []
        for _ in range(self.repeat):
            with _kernel_log(self.device) as kernels:
                start = time.perf_counter()
                call()
                on_host = time.perf_counter() - start
            found.append(_seconds(kernels, on_host) or on_host)
        return statistics.median(found), self.repeat

    def view(self, *arguments: Any, **named: Any) -> Known:
        """A step that must be a view."""
        return self.step(*arguments, must="view", **named)

    def compute(self, *arguments: Any, **named: Any) -> Known:
        """A step that must only compute."""
        return self.step(*arguments, must="compute", **named)

    def heading(self, title: str) -> None:
        """A line over the steps that follow."""
        self.part = title
        self.announce(f"\n{title}")

    def total(self) -> Entry | None:
        """All steps that everybody did as one; None where nothing was timed."""
        names = [OURS, *(each.name for each in self.libraries)]
        steps = [step for step in self.steps if all(name in step.warm for name in names)]
        if not steps:
            return None
        done = " steps" if len(steps) == len(self.steps) else " that all did"
        return replace(
            steps[0],
            title=f"total of {len(steps)}{done}",
            before="",
            after="",
            kind="",
            bytes_read=sum(step.bytes_read for step in steps),
            bytes_written=sum(step.bytes_written for step in steps),
            bytes_copied=sum(step.bytes_copied for step in steps),
            cold=sum(step.cold or 0.0 for step in steps),
            warm={name: sum(step.warm[name] for step in steps) for name in names},
        )

    def summary(self) -> str:
        """Counts of steps by kind, the bytes that copies wrote, and what they took together."""
        kinds = [step.kind for step in self.steps]
        copied = sum(step.bytes_copied for step in self.steps)
        copies = kinds.count("copy") + kinds.count("relayout")
        near = [step.within for step in self.steps if step.within]
        but = f", {len(near)} of them to within {max(near):g}" if near else ""
        return (
            f"{len(self.steps)} steps, each equal to NumPy's own result{but}:"
            f"\n{kinds.count('view')} views, {copies} copies,"
            f" {kinds.count('compute')} computations; {copied:,} bytes copied"
        )

    def legend(self) -> list[str]:
        """What the columns say, and what was timed."""
        lines = list(LEGEND)
        if self.repeat:
            lines += [
                f"us: a warm call with the memory for its result, in 10**-6 s; the median of"
                f" {self.repeat} runs,",
                f"  fewer where they take more than {LONG:g} s.",
            ]
        if total := self.total():
            lines[-1] += f" First calls took {(total.cold or 0) * 1e3:.1f} ms in all."
        if names := " and ".join(each.name for each in self.libraries):
            lines.append(
                f"{names}: the same step on the same memory, its result compared with ours."
            )
        return [*lines, *(LEGEND_OF_KERNELS if self.device.startswith("cuda") else ())]

    def head(self) -> str:
        """The first line of the table."""
        return self._row("step", "layout", "kind", "MB", "us", self.others, "GB/s")

    def line(self, step: Entry) -> str:
        """The line of a step."""
        rate = step.gigabytes_per_second
        return self._row(
            step.title,
            arrow(step),
            step.kind,
            f"{step.bytes_moved / 1e6:.2f}" if step.bytes_moved else "-",
            microseconds(step, OURS),
            [microseconds(step, name) for name in self.others],
            "-" if rate is None else f"{rate:.1f}",
        )

    @property
    def others(self) -> list[str]:
        """The names of those who do the steps too."""
        return [each.name for each in self.libraries]

    def _row(self, title: str, *words: Any) -> str:
        layout, kind, moved, took, others, rate = words
        row = f"{title:<28} {layout:<25} {kind:<8} {moved:>6} {took:>7}"
        return f"{row}{''.join(f' {each:>7}' for each in others)} {rate:>5}"


def arrow(step: Entry) -> str:
    """How the first input lies in memory, and how the result."""
    return f"{step.before} -> {step.after}".lstrip() if step.after else ""


def microseconds(step: Entry, name: str) -> str:
    """The time of a warm call, or a dash.

    >>> import tensorlayout as tl
    >>> layout, trace = tl.Layout((), ()), tl.Trace()
    >>> step = Entry("x", (), "", "", "", 0, 0, 0, 0.0, layout, trace, warm={"a": 2e-6})
    >>> microseconds(step, "a"), microseconds(step, "b")
    ('2.0', '-')
    """
    if name not in step.warm:
        return "-"
    took = step.warm[name] * 1e6
    return f"{took:.1f}" if took < 100 else f"{took:.0f}"


def _line_of(call: Callable[..., Any]) -> str:
    """Where a step is written."""
    code = inspect.unwrap(call).__code__
    return f"{Path(code.co_filename).name}:{code.co_firstlineno}"


def _faults(
    step: Entry, inputs: Sequence[Known], found: Known, memory: Array | None, must: str | None
) -> Iterator[str]:
    """What is wrong with a step, the first of it first."""
    yield from _differences("element", host(found.tensor), found.array, step.within)
    if memory is not None:
        yield from _differences("slot", storage(found.tensor), memory)
    says = f"the trace says {step.kind}"
    if must == "compute" and (step.kind != "compute" or step.bytes_copied):
        yield f" must only compute, {says} and {step.bytes_copied} bytes copied"
    if must == "view" and step.kind != "view":
        yield f" must be a view, {says}"
    if step.kind == "view" and step.kernels:
        names = ", ".join(each.symbol for each in step.kernels)
        yield f": {says}, but kernels were launched: {names}"
    if step.kind == "view" and not all(_within(found.tensor, x.tensor) for x in inputs):
        yield f": {says}, but the memory is not shared"


def _differences(what: str, found: Array, expected: Array, within: float = 0.0) -> Iterator[str]:
    kinds = [f"{array.dtype} of shape {array.shape}" for array in (found, expected)]
    if kinds[0] != kinds[1]:
        yield f" differs from NumPy: {kinds[0]} instead of {kinds[1]}"
    wrong = ~np.isclose(found, expected, within, 0) if within else found != expected
    if wrong.any():
        at = tuple(int(i) for i in np.unravel_index(int(wrong.argmax()), wrong.shape))
        yield (
            f" differs from NumPy: {int(wrong.sum())} of {wrong.size} {what}s,"
            f" the first at {at}: {found[at]} instead of {expected[at]}"
        )


def address(x: tl.Tensor) -> int:
    """Where the first element is, as the array interfaces tell it."""
    on_host = np.asarray(x).__array_interface__ if x.device == "cpu" else None
    interface = x.__cuda_array_interface__ if on_host is None else on_host
    return int(interface["data"][0])


def _within(part: tl.Tensor, whole: tl.Tensor) -> bool:
    """Whether the memory of `part` lies inside that of `whole`."""
    if part.size == 0:
        return True
    (first, last), (begin, end) = _extent(part), _extent(whole)
    return part.device == whole.device and begin <= first and last <= end


def _extent(x: tl.Tensor) -> tuple[int, int]:
    """The addresses of the first slot that is used, and behind the last one."""
    start, layout = address(x) - x.layout.offset * x.itemsize, x.layout
    return start + layout.lowest * x.itemsize, start + layout.required_size * x.itemsize


def _kernel_log(device: str) -> AbstractContextManager[Mapping[Kernel, Counts]]:
    """What the block launches, if that is where kernels are."""
    if not device.startswith("cuda"):
        return nullcontext({})
    from tensorlayout.cuda.engine.launch_log import launch_log

    return launch_log()


def host(x: tl.Tensor) -> Array:
    """The elements as a NumPy array: the same memory on the CPU, a copy from elsewhere."""
    return np.asarray(x.to_device("cpu"))


def storage(x: tl.Tensor) -> Array:
    """The memory of `x` slot by slot, padding included; for layouts that begin at slot 0."""
    array = host(x)
    slots = (x.layout.required_size,)
    return np.lib.stride_tricks.as_strided(array, slots, (array.itemsize,), writeable=False)


def _summed(
    title: str,
    inputs: Sequence[Known],
    result: Known,
    seen: tl.Trace,
    seconds: float,
    kernels: Mapping[Kernel, Counts],
    within: float,
) -> Entry:
    # Memory that was only asked for is no computation.
    kinds = {record.kind for record in seen if record.kind != "compute" or record.bytes_written}
    return Entry(
        title,
        result.array.shape,
        inputs[0].brief if inputs else "",
        result.brief,
        max(kinds, key=KINDS.index, default="view"),
        sum(record.bytes_read for record in seen),
        sum(record.bytes_written for record in seen),
        seen.bytes_copied,
        _seconds(kernels, sum(record.seconds for record in seen) if len(seen) else seconds),
        result.tensor.layout,
        seen,
        kernels,
        within,
    )


def _seconds(kernels: Mapping[Kernel, Counts], on_host: float) -> float | None:
    """What a step took: its kernels, or else what the host saw; None for what was simulated."""
    took = sum(each.seconds for each in kernels.values())
    return (took or None) if kernels else on_host


def brief(layout: tl.Layout, letters: str) -> str:
    """The dimensions in memory order, slowest first, and what is not packed about them.

    >>> brief(tl.Layout.pitched((3, 4, 100), 256, 1), "CHW")
    'CHW W+156'
    >>> brief(tl.Layout((4, 5), (10, -2), offset=8), "HW")
    'HW -W gaps'
    """
    words = ["".join(letters[d] for d in reversed(layout.minor_to_major))]
    for d, letter in enumerate(letters):
        if layout.padded_shape[d] != layout.shape[d]:
            words.append(f"{letter}+{layout.padded_shape[d] - layout.shape[d]}")
        if layout.strides[d] < 0:
            words.append(f"-{letter}")
    if not layout.covers_block:
        words.append("gaps")
    return " ".join(words)
