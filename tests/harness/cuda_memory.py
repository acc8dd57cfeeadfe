"""Device memory in tests: storages of layouts, and what brute force says they hold afterwards."""

import math
from contextlib import contextmanager

import layouts
import numpy as np
import pytest

from benchmarks.resources import compiled
from tensorlayout.cuda.engine import nvrtc, shared_tiles

UNTOUCHED = 0xA5

# Costs with which elements in another order go through tiles; and small tensors like large ones.
TILES = {"SMALL_BYTES": 0, "THROUGH_TILE": -math.inf, "STAGED_FROM": -math.inf}
NEVER_SMALL = {"SMALL_BYTES": 0}

ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120")


@contextmanager
def planned_with(costs):
    """Plan a block's launches with other costs of tiles."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in costs.items():
            patch.setattr(shared_tiles, name, value)
        yield


class Storage:
    """The bytes of a storage on the device, the lowest slot of a layout at `shift` bytes."""

    def __init__(self, device, nbytes, shift=0, content=None):
        self.device, self.shift, self.nbytes = device, shift, nbytes
        self.buffer = device.allocate(nbytes + shift, 0)
        filled = np.full(nbytes, UNTOUCHED, np.uint8) if content is None else content
        if nbytes:
            device.copy_to_device(self.pointer, filled)

    @property
    def pointer(self):
        return self.buffer.pointer + self.shift

    def get(self):
        back = np.empty(self.nbytes, np.uint8)
        if self.nbytes:
            self.device.copy_to_host(back, self.pointer)
        return back


def elements(storage, itemsize):
    """The bytes of a storage, one row an element."""
    return storage[: len(storage) // itemsize * itemsize].reshape(-1, itemsize)


def numbered(count):
    """Bytes among which a wrong place is likely to show."""
    return np.random.default_rng(count).integers(0, 256, count, dtype=np.uint8)


def alignment_of(shift):
    """The power of two that divides an address `shift` bytes into an allocation."""
    return min(32, shift & -shift) if shift else 32


def padding_slots(layout):
    return sorted(layouts.padding_of(layout))


def resources(kernel, architecture):
    """Compile a kernel for a GPU, which need not be there: the `Resources` of a thread of it."""
    pytest.importorskip("cupy_backends.cuda.libs.nvrtc", reason="optional: cupy")
    return compiled(kernel, int(architecture.removeprefix("sm_"))).resources[kernel.name]


def ptx_of(kernel):
    """Return the PTX of a kernel as text: NVRTC has not chosen instructions of a GPU yet."""
    compiler = pytest.importorskip("cupy_backends.cuda.libs.nvrtc", reason="optional: cupy")
    options, names, texts = nvrtc._program_sources(kernel, 90)
    headers = [name.encode() for name in names[1:]]
    program = compiler.createProgram(texts[0].decode(), names[0], list(texts[1:]), headers)
    compiler.compileProgram(program, tuple(o.replace("=sm_", "=compute_") for o in options))
    result = compiler.getPTX(program).decode()
    compiler.destroyProgram(program)
    return result


def assert_no_spills(kernels, architecture, registers=255):
    """Compile kernels for a GPU, which need not be there: no warnings, and they fit it."""
    pytest.importorskip("cupy_backends.cuda.libs.nvrtc", reason="optional: NVRTC comes with cupy")
    for kernel in kernels:
        result = compiled(kernel, architecture)
        resources = result.resources[kernel.name]
        assert (result.warnings, resources.spilled) == ("", 0), kernel
        assert resources.registers <= registers, kernel
        assert resources.shared <= 49152, kernel


def assert_coalesced(counts, case="tiles", lanes=0.9, conflicts=1.1):
    """Nine of ten bytes of sectors are used, nine of ten lanes, and few accesses meet in a bank.

    Kernels without tiles leave more of a sector to the next warp, which finds it in the cache.
    """
    sectors = 0.25 if case in ("strided", "rows", "bounded") else 0.9
    assert min(counts.sector_efficiency_read, counts.sector_efficiency_write) >= sectors
    assert counts.lane_activity >= lanes
    assert counts.bank_conflict_ratio <= conflicts
