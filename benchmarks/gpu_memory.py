"""Memory of the benchmark's arrays: on a GPU, or on the host for the simulator."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np

import tensorlayout as tl
from benchmarks.gpu_row import Operand
from benchmarks.measure import Call
from tensorlayout.cuda.engine import nvrtc

Array = Any  # CuPy's, or NumPy's

POISON = 0xCB  # bytes of memory that a result has not written
_AT_ONCE = 1 << 22  # random numbers


class Gpu:
    """The memory of a GPU, allocated by CuPy.

    `xp`: the module of its arrays. `l2`: bytes of the cache that all of the device shares. `facts`:
    lines about the device.
    """

    def __init__(self, cupy: Any) -> None:
        self.xp = cupy
        runtime = cupy.cuda.runtime
        properties = runtime.getDeviceProperties(runtime.getDevice())
        self.l2 = int(properties["l2CacheSize"])
        self.name = properties["name"].decode()
        self.architecture = nvrtc.newest_runnable_architecture(
            10 * properties["major"] + properties["minor"]
        )
        self.facts = [
            f"{self.name}: {properties['multiProcessorCount']} multiprocessors,"
            f" {properties['totalGlobalMem'] / 2**30:.0f} GB, L2 {self.l2 / 2**20:.0f} MB",
            f"CUDA driver {runtime.driverGetVersion()}, runtime {runtime.runtimeGetVersion()},"
            f" NVRTC {nvrtc.nvrtc_version()}",
        ]

    def free(self) -> int:
        """Bytes that the device has, those that CuPy's pool keeps included."""
        free: int = self.xp.cuda.runtime.memGetInfo()[0]
        return free + int(self.xp.get_default_memory_pool().free_bytes())

    def wait(self) -> None:
        """Until the device is idle."""
        self.xp.cuda.runtime.deviceSynchronize()

    def copy(self, to: Array, from_: Array) -> Call:
        """CUDA's own copy, on the stream that all libraries but JAX use."""
        runtime = self.xp.cuda.runtime
        kind = runtime.memcpyDeviceToDevice

        def call() -> None:  # it keeps both arrays alive
            runtime.memcpyAsync(to.data.ptr, from_.data.ptr, to.nbytes, kind, 0)

        return call

    def tensor(self, block: Array) -> tl.Tensor:
        """Our view of an array: the same memory."""
        return tl.asarray(block, copy=False)

    def array(self, x: tl.Tensor) -> Array:
        """An array over our tensor: the same memory."""
        return self.xp.asarray(x)

    def stored(self, x: tl.Tensor, operand: Operand) -> Array:
        """An array over the memory of our tensor, whatever its layout."""
        cuda = self.xp.cuda
        memory = cuda.UnownedMemory(x.memory.address, operand.storage, x)
        return self.xp.ndarray(operand.block, operand.dtype, cuda.MemoryPointer(memory, 0))

    def release(self) -> None:
        """Give back what the pools of CuPy and PyTorch keep; JAX keeps what it has."""
        self.wait()
        self.xp.get_default_memory_pool().free_all_blocks()
        if "torch" in sys.modules:
            sys.modules["torch"].cuda.empty_cache()


class Simulated:
    """The host's memory, and beside it that of the simulated device, in the part of `Gpu`."""

    xp: Any = np
    l2 = 16 * 1024  # so small that small rows rotate
    name = "simulator"
    facts: tuple[str, ...] = ("The simulator: no figure of time means anything.",)

    def free(self) -> int:
        """As if there were a gigabyte."""
        return 1 << 30

    def wait(self) -> None:
        """Launches are over when they return."""

    def copy(self, to: Array, from_: Array) -> Call:
        """NumPy's."""
        return lambda: np.copyto(to, from_)

    def tensor(self, block: Array) -> tl.Tensor:
        """A copy on the simulated device."""
        return tl.asarray(block).to_device("cuda")

    def array(self, x: tl.Tensor) -> Array:
        """A copy on the host."""
        return np.asarray(x.to_device("cpu"))

    def stored(self, x: tl.Tensor, operand: Operand) -> Array:
        """A copy of the memory, which is the host's."""
        octets = (ctypes.c_char * operand.storage).from_address(x.memory.address)
        return np.frombuffer(bytes(octets), operand.dtype).reshape(operand.block)

    def release(self) -> None:
        """Nothing is kept."""


Space = Gpu | Simulated


def random(space: Space, operand: Operand) -> Array:
    """Memory for an operand, filled at random: floats below 8, integers of all values."""
    xp = space.xp
    if operand.positions:
        return _positions(xp, operand)
    block = xp.empty(operand.block, operand.dtype)
    flat = block.reshape(-1)
    scale = {"uint8": 256, "bool": 2}.get(operand.dtype, 8)
    for start in range(0, flat.size, _AT_ONCE):
        part = flat[start : start + _AT_ONCE]
        part[...] = (xp.random.random_sample(part.size) * scale).astype(
            "uint8" if operand.dtype == "bool" else operand.dtype
        )
    return block


def _positions(xp: Any, operand: Operand) -> Array:
    shape, below, kind = operand.block, operand.below, operand.positions
    if kind == "numbers":
        positions = xp.arange(below)
    elif kind == "order":
        positions = xp.random.permutation(below)
    elif kind == "orders":
        positions = xp.argsort(xp.random.random_sample(shape), axis=-1)
    else:
        positions = xp.random.randint(0, below, shape)
        if kind == "sorted":
            positions = xp.sort(positions, axis=-1)
    return xp.ascontiguousarray(positions.reshape(shape).astype(operand.dtype))


def poisoned(space: Space, operand: Operand) -> Array:
    """Memory for a result, which holds what no result holds."""
    xp = space.xp
    block = xp.empty(operand.block, operand.dtype)
    poison(block)
    return block


def poison(block: Array) -> None:
    """Overwrite all of it."""
    block.reshape(-1).view("uint8").fill(POISON)
