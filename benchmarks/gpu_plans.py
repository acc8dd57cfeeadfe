"""Our kernels without a device: a driver that only writes down what would be launched.

Everything above the driver runs as it is, so that what is listed is what a GPU would be given.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from unittest.mock import patch

import tensorlayout as tl
from benchmarks.gpu_peers import bound
from benchmarks.gpu_row import Operand, Row
from benchmarks.measure import Call
from tensorlayout.cuda.engine import driver as seam
from tensorlayout.cuda.engine.driver import Buffer, Bytes, Driver, Kernel, Launcher
from tensorlayout.cuda.engine.launch_log import launch_log
from tensorlayout.cuda.engine.ranges import LiveRanges
from tensorlayout.cuda.engine.simulator import SimulatorDriver


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
    """Return the kernels that a call launches, by calling it once."""
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
def reopened(simulator: str) -> Iterator[None]:
    """A driver of its own for the block: with "1" that of the simulator, with "0" CuPy's."""
    from tensorlayout import devices, plan

    kept = (
        seam.driver,
        devices.available_devices,
        devices._detect_cuda_devices,
        devices._device_from_environment,
        plan.run,
    )
    for launcher in kept:
        launcher.cache_clear()
    try:
        with patch.dict(os.environ, TENSORLAYOUT_CUDA_SIMULATOR=simulator):
            yield
    finally:
        for launcher in kept:
            launcher.cache_clear()


@contextmanager
def without_device() -> Iterator[None]:
    """Inside the block, "cuda" is a device that does nothing."""
    with patch.dict(seam._DRIVERS, simulator=__name__), reopened(simulator="1"):
        yield


# ---- The driver


class _NoLauncher:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def __call__(self, grid: int | tuple[int, int, int], parameters: bytearray) -> None:
        """Nothing is launched."""


class NoDriver(SimulatorDriver):
    """A driver of one device that has all memory and does nothing; no compiler is asked for."""

    name = "none"
    launcher_type = _NoLauncher

    def __init__(self) -> None:
        Driver.__init__(self, device_count=1)
        self.ranges = (LiveRanges(),)
        self._next = 1 << 40

    def allocate(self, nbytes: int, device: int) -> Buffer:
        """Addresses that nothing is behind; no two allocations overlap."""
        pointer, self._next = self._next, self._next + -(-nbytes // 512) * 512
        return Buffer(pointer, nbytes, device, None)

    def copy_to_device(self, pointer: int, source: Bytes, *, wait: bool = True) -> None:
        """Nothing is copied."""

    def copy_to_host(self, destination: Bytes, pointer: int, *, wait: bool = True) -> None:
        """Zeros."""
        destination.fill(0)

    def copy_device_to_device(self, destination: int, source: int, nbytes: int) -> None:
        """Nothing is copied."""

    def launcher(self, kernel: Kernel) -> Launcher:
        """Nothing is compiled."""
        return _NoLauncher(kernel)


def open_driver() -> NoDriver:
    """A new one, as `tensorlayout.cuda.engine.driver` asks for."""
    return NoDriver()
