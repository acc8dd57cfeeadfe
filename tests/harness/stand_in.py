"""CuPy's stand-in, or CuPy, as the CUDA driver of this process, to call public functions on."""

import importlib
import sys
from contextlib import contextmanager

import pytest
from fake_cupy import Recorder, fake_cupy, fake_cupyx
from simulated import hybrid, needs_compiler, simulator

from tensorlayout.cuda.engine import nvrtc
from tensorlayout.cuda.engine.cupy import open_driver


@contextmanager
def stand_in(device_count=1, limit=None):
    """What was called; kernels are loaded from nowhere, and compute nothing."""
    recorder = Recorder(device_count, limit)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "cupy", fake_cupy(recorder))
        patch.setitem(sys.modules, "cupyx", fake_cupyx(recorder))
        patch.setattr(nvrtc, "architecture_for", lambda capability: capability)
        patch.setattr(nvrtc, "cubin", lambda *_: b"machine code")
        with simulator(TENSORLAYOUT_CUDA_SIMULATOR="0"):
            yield recorder


@contextmanager
def on_gpu():
    """CuPy on a GPU; the test is skipped where there is none."""
    try:
        open_driver()
    except RuntimeError as error:
        pytest.skip(f"no GPU: {error}")
    with simulator(TENSORLAYOUT_CUDA_SIMULATOR="0"):
        yield importlib.import_module("cupy")


# Of fixtures: a GPU under its marker, and what stands for one.
GPUS = [pytest.param("gpu", marks=pytest.mark.gpu), pytest.param("hybrid", marks=needs_compiler)]


@contextmanager
def opened(name):
    """CuPy on a GPU, or on the strict machine that stands for one."""
    if name == "gpu":
        with on_gpu() as cupy:
            yield cupy
    else:
        with hybrid():
            yield importlib.import_module("cupy")
