"""CuPy's stand-in as the CUDA driver of this process, for tests that call public functions."""

import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from fake_cupy import Recorder, fake_cupy, fake_cupyx
from simulated import simulator

from tensorlayout.cuda import nvrtc


@contextmanager
def stand_in(device_count=1, limit=None):
    """What was called; kernels are loaded from nowhere, and compute nothing."""
    recorder = Recorder(device_count, limit)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "cupy", fake_cupy(recorder))
        patch.setitem(sys.modules, "cupyx", fake_cupyx(recorder))
        patch.setattr(nvrtc, "architecture_for", lambda capability: capability)
        patch.setattr(nvrtc, "cubin_file", lambda *_: Path("/cache/kernel.cubin"))
        with simulator(TENSORLAYOUT_CUDA_SIMULATOR="0"):
            yield recorder
