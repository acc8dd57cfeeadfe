"""Our kernels without a device: a driver that only writes down what would be launched.

Everything above the driver runs as it is, so that what is listed is what a GPU would be given.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import tensorlayout as tl
from benchmarks.gpu_peers import bound
from benchmarks.gpu_row import Operand, Row
from benchmarks.measure import Call
from tensorlayout.cuda.engine import driver as seam
from tensorlayout.cuda.engine.driver import (
    LEGACY_STREAM,
    Buffer,
    Bytes,
    Counters,
    Kernel,
    Launcher,
    Stream,
)
from tensorlayout.cuda.engine.launch_log import launch_log

_SIMULATED = "TENSORLAYOUT_CUDA_SIMULATOR"


@dataclass(frozen=True)
class KernelUse:
    """A kernel of ours, and how often one call launches it."""

    kernel: Kernel
    launches: int

    def __str__(self) -> str:
        """As in ``elementwise_flat_4 add``, or ``2 x …``."""
        name = f"{self.kernel.symbol} {self.kernel.operation}".rstrip()
        return name if self.launches == 1 else f"{self.launches} x {name}"


def kernels_of(call: Call) -> tuple[KernelUse, ...]:
    """What a call of ours launches, found by a call."""
    with launch_log() as log:
        call()
    return tuple(KernelUse(kernel, counts.launches) for kernel, counts in log.items())


def planned(row: Row) -> tuple[KernelUse, ...]:
    """The kernels of a row, inside a block of `without_device`."""
    blocks = [_empty(operand) for operand in row.operands]
    return kernels_of(bound(row, blocks, _empty(row.out) if row.operation.into else None))


def _empty(operand: Operand) -> tl.Tensor:
    return tl.empty(operand.block, dtype=getattr(tl, operand.dtype), device="cuda")


@contextmanager
def without_device() -> Iterator[None]:
    """Inside the block, "cuda" is a device that does nothing."""
    from tensorlayout import devices, plan

    def forget() -> None:
        for found in (
            seam.driver,
            devices.available,
            devices._cuda,
            devices._named_by_the_variable,
        ):
            found.cache_clear()
        plan.run.cache_clear()

    before, variable = dict(seam._DRIVERS), os.environ.get(_SIMULATED)
    seam._DRIVERS.update(dict.fromkeys(before, __name__))
    os.environ[_SIMULATED] = "1"  # so that no CuPy is asked for
    forget()
    try:
        yield
    finally:
        seam._DRIVERS.update(before)
        os.environ.pop(_SIMULATED)
        if variable is not None:
            os.environ[_SIMULATED] = variable
        forget()


# ---- The driver


class _NoLauncher:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def __call__(self, grid: int | tuple[int, int, int], parameters: bytearray) -> None:
        """Nothing is launched."""


class NoDriver:
    """A driver of one device that has all memory and does nothing (`engine.driver.Driver`)."""

    name = "none"
    launcher_type = _NoLauncher

    def __init__(self) -> None:
        self.counters = Counters()
        self.captures: dict[int, object] = {}  # no stream captures a graph
        self._next = 1 << 40

    def device_count(self) -> int:
        """One."""
        return 1

    def current_device(self) -> int:
        """The one."""
        return 0

    def using(self, device: int) -> AbstractContextManager[Any]:
        """It is anyway."""
        return nullcontext()

    def allocate(self, nbytes: int, device: int) -> Buffer:
        """Addresses that nothing is behind; no two allocations overlap."""
        pointer, self._next = self._next, self._next + -(-nbytes // 512) * 512
        return Buffer(pointer, nbytes, device, None)

    def wrap(self, pointer: int, nbytes: int, device: int, owner: object) -> Buffer:
        """The addresses."""
        return Buffer(pointer, nbytes, device, owner)

    def to_device(self, pointer: int, source: Bytes) -> None:
        """Nothing is copied."""

    def to_host(self, destination: Bytes, pointer: int) -> None:
        """Zeros."""
        destination.fill(0)

    def on_device(self, destination: int, source: int, nbytes: int) -> None:
        """Nothing is copied."""

    def launcher(self, kernel: Kernel) -> Launcher:
        """Nothing is compiled."""
        return _NoLauncher(kernel)

    def synchronize(self) -> None:
        """Nothing is waited for."""

    def device_of(self, pointer: int) -> int:
        """The one."""
        return 0

    def current_stream(self, device: int) -> Stream:
        """The legacy default stream."""
        return Stream(device, LEGACY_STREAM)

    def is_done(self, stream: Stream) -> bool:
        """Nothing is ever under way."""
        return True

    def is_capturing(self, device: int) -> bool:
        """No stream captures a graph."""
        return False

    def captured(self, device: int) -> object | None:
        """So none has allocated anything."""
        return None

    def order(self, first: Stream, then: Stream) -> None:
        """Nothing has an order."""


def open_driver() -> NoDriver:
    """A new one, as `tensorlayout.cuda.engine.driver` asks for."""
    return NoDriver()
