"""Table of the demo: runs steps, traces them, compares with NumPy, times and prints them."""

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
from tensorlayout.tracing.record import format_kernel_lines
from tensorlayout.typing import Array

TEXTS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("texts.toml").read_text("utf-8"))
# Seconds of all timed calls of a step, after which it is not timed again.
TIMING_LIMIT = 0.5
# A time is marked if its median absolute deviation exceeds this fraction of the median.
WIDE_SPREAD = 0.2
ROW_FORMAT = "{:<28} {:<13} {:<14} {:<8} {:>7} {:>7} {:>7} {:>6}"
HEADER_ROW = ROW_FORMAT.format("step", "shape", "memory", "kind", "MB", "us", "NumPy", "ratio")


@dataclass(slots=True)
class Step:
    """Row of the table. The trace says what the step did to memory."""

    title: str
    layout: tl.Layout  # of the result
    dims: str  # one letter per dimension of the result
    trace: tl.Trace
    tolerance: float = 0.0  # allowed relative difference from NumPy
    our_call: Sequence[float] = ()  # seconds of each timed call
    numpy_call: Sequence[float] = ()

    @property
    def most_significant_record_kind(self) -> str:
        """Most significant kind among the records of the step."""
        # Allocating memory is recorded as "compute" without bytes; it is not a computation.
        kinds = {r.kind for r in self.trace if r.kind != "compute" or r.bytes_written}
        return max(kinds, key=KINDS.index, default="view")

    @property
    def megabytes(self) -> float:
        """Bytes read and written in units of 10**6 **bytes**, rounded as in the table."""
        return round((self.trace.bytes_read + self.trace.bytes_written) / 1e6, 2)

    @property
    def json_facts(self) -> dict[str, Any]:
        """Facts of the step as JSON values, sizes in **bytes** and times in seconds."""
        sizes = ("bytes_read", "bytes_written", "bytes_copied")
        return {
            "name": self.title,
            "kind": self.most_significant_record_kind,
            "layout": str(self.layout),
            **{name: getattr(self.trace, name) for name in sizes},
            "seconds": {"tensorlayout": self.our_call, "NumPy": self.numpy_call},
            "within": self.tolerance,
        }

    @property
    def table_row(self) -> str:
        """Row of the step, and its kernels below."""
        (our_seconds, ours_shown), (numpy_seconds, numpy_shown) = map(
            median_time_and_text, (self.our_call, self.numpy_call)
        )
        row = ROW_FORMAT.format(
            self.title,
            "x".join(map(str, self.layout.shape)),
            describe_memory_order(self.layout, self.dims),
            self.most_significant_record_kind,
            f"{self.megabytes:.2f}" if self.most_significant_record_kind != "view" else "-",
            ours_shown,
            numpy_shown,
            f"{our_seconds / numpy_seconds:.2f}" if our_seconds and numpy_seconds else "-",
        )
        kernels = [line for record in self.trace for line in format_kernel_lines(record.kernels)]
        return "\n".join([row, *kernels])


@dataclass(slots=True)
class Table:
    """Steps so far.

    - `print_line`: receives each row.
    - `device`: device of the tensors.
    - `repeat`: number of timed calls per step.
    """

    print_line: Callable[[str], None] = print
    device: str = "cpu"
    repeat: int = 0
    steps: list[Step] = field(default_factory=list)

    def run_step(
        self,
        title: str,
        call: Callable[..., Any],
        *inputs: tl.Tensor,
        numpy_reference: Callable[..., Array] | None = None,
        dims: str = "NCHW",
        memory_order: str = "",
        expected_kind: str = "",
        tolerance: float = 0.0,
        read_elements: Callable[[tl.Tensor], Array] | None = None,
    ) -> tl.Tensor:
        """Run a step, compare its result with NumPy's, time both, and print the row.

        - `call`: takes an array-API namespace and the inputs; with `numpy_reference`, only the
          inputs.
        - `numpy_reference`: function that does the same on NumPy arrays over the same memory.
        - `dims`, `tolerance`: as in `Step`.
        - `memory_order`: the letters of `dims` in the required memory order, slowest first.
        - `expected_kind`: required kind in the trace, without copies.
        - `read_elements`: returns the array to compare; by default all elements.

        CommandError if a requirement is not met.
        """
        our_call = partial(call, *inputs) if numpy_reference else partial(call, tl, *inputs)
        numpy_call = partial(numpy_reference or partial(call, np), *map(to_numpy, inputs))
        with tl.trace() as trace:
            result: tl.Tensor = our_call()
        step = Step(title, result.layout, dims, trace, tolerance)
        difference_text = describe_difference(
            (read_elements or to_numpy)(result), numpy_call(), tolerance
        )
        if memory_order and not difference_text:
            difference_text = describe_difference(
                memory_slots(result), _expected_memory(result, dims, memory_order)
            )
        if expected_kind and (
            step.most_significant_record_kind != expected_kind or trace.bytes_copied
        ):
            kind = step.most_significant_record_kind
            trace_text = (
                f"the trace says {kind}, {trace.bytes_copied} bytes in copies and relayouts"
            )
            difference_text = difference_text or f"must only {expected_kind}, {trace_text}"
        if difference_text:
            raise CommandError(f"step {len(self.steps) + 1} ({title}) {difference_text}", status=1)
        if step.most_significant_record_kind != "view":
            on_cpu = self.device == "cpu"
            step.our_call = time_calls(our_call, self.repeat, on_cpu)
            step.numpy_call = time_calls(numpy_call, self.repeat * on_cpu)
        self.steps.append(step)
        self.print_line(step.table_row)
        return result

    @property
    def total_row_and_legend(self) -> str:
        """Row with the sums of the rows as shown, and the legend."""
        megabytes = sum(step.megabytes for step in self.steps)
        total_time = sum(median_time_and_text(step.our_call)[0] for step in self.steps)
        numpy = sum(median_time_and_text(step.numpy_call)[0] for step in self.steps)
        ratio = f"{total_time / numpy:.2f}" if numpy else "-"
        title_cells = f"total of {len(self.steps)} steps", "", "", ""
        row = ROW_FORMAT.format(
            *title_cells, f"{megabytes:.2f}", total_time or "-", numpy or "-", ratio
        )
        legend = TEXTS["legend"] + TEXTS["kernels"] * (self.device != "cpu")
        tolerance = max(step.tolerance for step in self.steps)
        return f"{row}\n{legend.format(wide=WIDE_SPREAD, within=tolerance)}"


def describe_difference(actual: Array, expected: Array, tolerance: float = 0.0) -> str:
    """Describe how arrays differ in values, dtype or shape; empty if they are equal."""
    try:
        np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=0, strict=True)
    except AssertionError as error:
        return f"differs from NumPy: {' '.join(str(error).split()).partition(' ACTUAL: ')[0]}"
    return ""


def to_numpy(x: tl.Tensor) -> Array:
    """Return the elements as a NumPy array: shared memory on the CPU, a copy from a GPU."""
    return np.asarray(x.to_device("cpu"))


def memory_slots(x: tl.Tensor) -> Array:
    """Return the memory of `x` slot by slot, padding included; its layout must begin at slot 0."""
    array, slots = to_numpy(x), (x.layout.required_size,)
    return np.lib.stride_tricks.as_strided(array, slots, (array.itemsize,), writeable=False)


def _expected_memory(x: tl.Tensor, dims: str, memory_order: str) -> Array:
    """Return the expected slots: the elements in `memory_order`, with zeros as padding."""
    axes, layout = [dims.index(letter) for letter in memory_order], x.layout
    padding = [(0, layout.padded_shape[d] - layout.shape[d]) for d in axes]
    return np.pad(to_numpy(x).transpose(axes), padding).ravel()


def describe_memory_order(layout: tl.Layout, dims: str) -> str:
    """Return the dimensions in memory order, slowest first, with notes on padding and gaps."""
    notes = ["".join(dims[d] for d in reversed(layout.minor_to_major))]
    if not layout.is_strided:
        return f"{notes[0]} in tiles"
    sizes = zip(dims, layout.shape, layout.padded_shape, strict=True)
    notes += [f"{letter}+{padded - size}" for letter, size, padded in sizes if padded > size]
    return " ".join(notes if layout.covers_block else [*notes, "gaps"])


def time_calls(call: Callable[[], Any], max_calls: int, on_cpu: bool = True) -> list[float]:
    """Return the seconds of up to `max_calls` calls; on a GPU, the device's own time."""
    times: list[float] = []
    while len(times) < max_calls and sum(times) < TIMING_LIMIT:
        with nullcontext(tl.Trace()) if on_cpu else tl.trace() as trace:
            start = time.perf_counter()
            call()
            seconds = time.perf_counter() - start
        times.append(trace.device_seconds or seconds)
    return times


def median_time_and_text(seconds: Sequence[float]) -> tuple[int, str]:
    """Return the median in microseconds, and its text, marked if the runs differ widely."""
    median = statistics.median(seconds or [0.0])
    spread = statistics.median([abs(time_taken - median) for time_taken in seconds or [0.0]])
    microseconds = round(median * 1e6)
    return microseconds, f"{'~' * (spread > WIDE_SPREAD * median)}{microseconds or '-'}"
