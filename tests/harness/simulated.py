"""CUDA devices for tests, for this process, while a block lasts: the simulator, or what has CuPy.

That is a GPU; a stand-in that only writes calls down; or the hybrid: the driver of GPUs on a strict
stand-in, whose kernels are the simulator's.
"""

import importlib
import os
import random
import shutil
import sys
from contextlib import contextmanager

import numpy as np
import pytest
from fake_cupy import Recorder, fake_cupy, fake_cupyx
from strict_cuda import Machine
from strict_cupy import installed, note_kernel

from tensorlayout import devices, plan
from tensorlayout.cuda.engine import nvrtc
from tensorlayout.cuda.engine.cupy import CupyDriver, open_driver
from tensorlayout.cuda.engine.driver import driver

needs_compiler = pytest.mark.skipif(
    sys.platform == "win32"
    or not any(map(shutil.which, (os.environ.get("CXX", ""), "g++", "clang++"))),
    reason="optional: a C++ compiler",
)

# What is found out once per process, and would outlive the block.
_KEPT = (
    driver,
    devices.available_devices,
    devices._detect_cuda_devices,
    devices._device_from_environment,
)


def forget():
    for item in _KEPT:
        item.cache_clear()
    plan.run.cache_clear()


@contextmanager
def simulator(count=2, **variables):
    """The simulator with `count` devices; `variables`: others of the environment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TENSORLAYOUT_CUDA_SIMULATOR", "1")
        patch.setenv("TENSORLAYOUT_SIMULATOR_DEVICES", str(count))
        patch.delenv(devices.VARIABLE, raising=False)
        for name, value in variables.items():
            patch.setenv(name, value)
        with _found_anew():
            yield driver()


@contextmanager
def on_gpu():
    """CuPy on the GPU of this machine; the test is skipped where there is none."""
    try:
        open_driver()
    except RuntimeError as error:
        pytest.skip(f"no GPU: {error}")
    with simulator(TENSORLAYOUT_CUDA_SIMULATOR="0"):
        yield importlib.import_module("cupy")


@contextmanager
def stand_in(device_count=1, limit=None):
    """Replace CuPy by a recorder whose kernels are not compiled and compute nothing."""
    recorder = Recorder(device_count, limit)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "cupy", fake_cupy(recorder))
        patch.setitem(sys.modules, "cupyx", fake_cupyx(recorder))
        patch.setattr(nvrtc, "newest_runnable_architecture", lambda capability: capability)
        patch.setattr(nvrtc, "read_cubin", lambda *_: b"machine code")
        with simulator(TENSORLAYOUT_CUDA_SIMULATOR="0"):
            yield recorder


SEED = "TENSORLAYOUT_HYBRID_SEED"

last_seed = []  # of the last hybrid that was opened


@contextmanager
def hybrid(count=1, **options):
    """CuPy's driver on a strict machine with `count` devices, which is given."""
    arguments = {"seed": int(os.environ.get(SEED) or random.randrange(1 << 32)), **options}
    print(f"{SEED}={arguments['seed']}")  # which a failure shows
    last_seed[:] = [arguments["seed"]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TENSORLAYOUT_CUDA_SIMULATOR", "0")
        patch.setenv("TENSORLAYOUT_SIMULATOR_DEVICES", str(count))
        patch.delenv(devices.VARIABLE, raising=False)
        machine = Machine(count, **arguments)
        installed(patch, machine)
        _hand_over(patch, machine)
        with _found_anew():
            yield machine


# Of fixtures: a GPU under its marker, and what stands for one.
GPUS = [pytest.param("gpu", marks=pytest.mark.gpu), pytest.param("hybrid", marks=needs_compiler)]


@contextmanager
def opened(name):
    """CuPy on a GPU, or on the strict machine that stands for one."""
    with on_gpu() if name == "gpu" else hybrid():
        yield importlib.import_module("cupy")


def _hand_over(patch, machine):
    """The machine is told which kernels are asked for, and of memory that a library made."""
    launcher, wrap = CupyDriver.launcher, CupyDriver.wrap_memory

    def noted(driver, kernel):
        note_kernel(kernel)
        return launcher(driver, kernel)

    def adopted(driver, pointer, nbytes, device, owner):
        buffer = wrap(driver, pointer, nbytes, device, owner)
        assert not isinstance(owner, np.generic), "the library has arrays alone"
        if isinstance(owner, np.ndarray):
            buffer.keep_alive_with_buffer(machine.adopt(pointer, nbytes, owner))
        return buffer

    patch.setattr(CupyDriver, "launcher", noted)
    patch.setattr(CupyDriver, "wrap_memory", adopted)


@contextmanager
def _found_anew():
    forget()
    try:
        yield
    finally:
        forget()
