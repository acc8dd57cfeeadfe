"""The table of the demo: steps traced, compared with NumPy, timed beside it, and printed."""

from __future__ import annotations

import statistics
import time
import tomllib
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import tensorlayout as tl
from tensorlayout.cli.answers import CommandError
from tensorlayout.plan import KINDS
from tensorlayout.tracing.record import kernel_lines
from tensorlayout.typing import Array

TEXTS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("texts.toml").read_text("utf-8"))
LONG = 0.5  # seconds: a step that took so long in all is not timed again
WIDE = 0.2  # a time is marked if half of the runs differ from it by more than this part of it
ROW = "{:<28} {:<13} {:<14} {:<8} {:>7} {:>7} {:>7} {:>6}"
HEAD = ROW.format("step", "shape", "memory", "kind", "MB", "us", "NumPy", "ratio")


@dataclass(slots=True)
class Step:
    """A row of the table. What the step did to memory is read from its trace."""

    title: str
    layout: tl.Layout  # of the result
    dims: str  # a letter for each of its dimensions
    trace: tl.Trace
    within: float = 0.0  # the relative difference from NumPy that is allowed
    ours: Sequence[float] = ()  # seconds of each timed call
    numpy: Sequence[float] = ()

    @property
    def kind(self) -> str:
        """The kind of record that says most about the step."""
        # Memory that was only asked for is no computation.
        kinds = {r.kind for r in self.trace if r.kind != "compute" or r.bytes_written}
        return max(kinds, key=KINDS.index, default="view")

    @property
    def megabytes(self) -> float:
        """The bytes read and written, in units of 10**6 **bytes**, rounded as in the table."""
        return round((self.trace.bytes_read + self.trace.bytes_written) / 1e6, 2)

    @property
    def facts(self) -> dict[str, Any]:
        """All of it in what JSON has, sizes in **bytes** and times in seconds."""
        sizes = ("bytes_read", "bytes_written", "bytes_copied")
        return {
            "name": self.title,
            "kind": self.kind,
            "layout": str(self.layout),
            **{name: getattr(self.trace, name) for name in sizes},
            "seconds": {"tensorlayout": self.ours, "NumPy": self.numpy},
            "within": self.within,
        }

    @property
    def row(self) -> str:
        """The row of the step, with its kernels below."""
        (ours, ours_shown), (numpy, numpy_shown) = map(shown_time, (self.ours, self.numpy))
        row = ROW.format(
            self.title,
            "x".join(map(str, self.layout.shape)),
            in_memory(self.layout, self.dims),
            self.kind,
            f"{self.megabytes:.2f}" if self.kind != "view" else "-",
            ours_shown,
            numpy_shown,
            f"{ours / numpy:.2f}" if ours and numpy else "-",
        )
        kernels = [line for record in self.trace for line in kernel_lines(record.kernels)]
        return "\n".join([row, *kernels])


@dataclass(slots=True)
class Table:
    """The steps so far; `say` prints the row of each. Calls are timed `repeat` times."""

    say: Callable[[str], None] = print
    device: str = "cpu"
    repeat: int = 0
    steps: list[Step] = field(default_factory=list)

    def step(
        self,
        title: str,
        call: Callable[..., Any],
        *inputs: tl.Tensor,
        by_numpy: Callable[..., Array] | None = None,
        dims: str = "NCHW",
        order: str = "",
        kind: str = "",
        within: float = 0.0,
        read: Callable[[tl.Tensor], Array] | None = None,
    ) -> tl.Tensor:
        """Carry out a step, compare it with NumPy, time both, and print the row.

        `call` takes a namespace of the array API and the inputs; with `by_numpy`, which NumPy then
        does on the same memory, the inputs alone. `dims`, `within`: as in `Step`. `order`: these
        letters as they must lie in memory, slowest first. `kind`: what the trace must say, without
        copies. `read`: gets what is compared, by default all elements.
        """
        ours = partial(call, *inputs) if by_numpy else partial(call, tl, *inputs)
        numpy = partial(by_numpy or partial(call, np), *map(host, inputs))
        with tl.trace() as seen:
            result: tl.Tensor = ours()
        step = Step(title, result.layout, dims, seen, within)
        fault = difference((read or host)(result), numpy(), within)
        if order and not fault:
            fault = difference(storage(result), _memory(result, dims, order))
        if kind and (step.kind != kind or seen.bytes_copied):
            says = f"the trace says {step.kind}, {seen.bytes_copied} bytes copied"
            fault = fault or f"must only {kind}, {says}"
        if fault:
            raise CommandError(f"step {len(self.steps) + 1} ({title}) {fault}", status=1)
        if step.kind != "view":
            on_cpu = self.device == "cpu"
            step.ours = timed(ours, self.repeat, on_cpu)
            step.numpy = timed(numpy, self.repeat * on_cpu)
        self.steps.append(step)
        self.say(step.row)
        return result

    @property
    def total(self) -> str:
        """The row of the sums of what the rows show, and what all rows mean."""
        moved = sum(step.megabytes for step in self.steps)
        ours = sum(shown_time(step.ours)[0] for step in self.steps)
        numpy = sum(shown_time(step.numpy)[0] for step in self.steps)
        ratio = f"{ours / numpy:.2f}" if numpy else "-"
        names = f"total of {len(self.steps)} steps", "", "", ""
        row = ROW.format(*names, f"{moved:.2f}", ours or "-", numpy or "-", ratio)
        legend = TEXTS["legend"] + TEXTS["kernels"] * (self.device != "cpu")
        return f"{row}\n{legend.format(wide=WIDE, within=max(step.within for step in self.steps))}"


def difference(found: Array, expected: Array, within: float = 0.0) -> str:
    """Describe how arrays differ in values, dtype or shape, if they do."""
    try:
        np.testing.assert_allclose(found, expected, rtol=within, atol=0, strict=True)
    except AssertionError as error:
        return f"differs from NumPy: {' '.join(str(error).split()).partition(' ACTUAL: ')[0]}"
    return ""


def host(x: tl.Tensor) -> Array:
    """Return the elements as a NumPy array: the same memory on the CPU, a copy from elsewhere."""
    return np.asarray(x.to_device("cpu"))


def storage(x: tl.Tensor) -> Array:
    """Return the memory of `x` slot by slot, with its padding; its layout begins at slot 0."""
    array, slots = host(x), (x.layout.required_size,)
    return np.lib.stride_tricks.as_strided(array, slots, (array.itemsize,), writeable=False)


def _memory(x: tl.Tensor, dims: str, order: str) -> Array:
    """Return what the slots must hold: the elements in `order`, and zeros as padding."""
    axes, layout = [dims.index(letter) for letter in order], x.layout
    padding = [(0, layout.padded_shape[d] - layout.shape[d]) for d in axes]
    return np.pad(host(x).transpose(axes), padding).ravel()


def in_memory(layout: tl.Layout, dims: str) -> str:
    """Return the dimensions in memory order, slowest first, and what is not packed about them."""
    words = ["".join(dims[d] for d in reversed(layout.minor_to_major))]
    if not layout.is_strided:
        return f"{words[0]} in tiles"
    sizes = zip(dims, layout.shape, layout.padded_shape, strict=True)
    words += [f"{letter}+{padded - size}" for letter, size, padded in sizes if padded > size]
    return " ".join(words if layout.covers_block else [*words, "gaps"])


def timed(call: Callable[[], Any], repeat: int, on_host: bool = True) -> list[float]:
    """Return the seconds of `repeat` calls, or of fewer if they take long; on a GPU, its own."""
    found: list[float] = []
    while len(found) < repeat and sum(found) < LONG:
        with nullcontext(tl.Trace()) if on_host else tl.trace() as seen:
            start = time.perf_counter()
            call()
            seconds = time.perf_counter() - start
        found.append(seen.device_seconds or seconds)
    return found


def shown_time(seconds: Sequence[float]) -> tuple[int, str]:
    """Return the median in microseconds, and how the table shows it: marked if spread widely."""
    median = statistics.median(seconds or [0.0])
    spread = statistics.median([abs(each - median) for each in seconds or [0.0]])
    took = round(median * 1e6)
    return took, f"{'~' * (spread > WIDE * median)}{took or '-'}"
