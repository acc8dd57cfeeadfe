"""The simulator with the kernels that a GPU is given: each in its own text, compiled by g++.

    python -m pytest -p as_on_gpu tests/copy/test_cuda_copy.py

runs tests with them, where ``tests/harness`` is on the path. Accesses are not seen: the only checks
are those of barriers, and tests that ask for counts end there.
"""

from pathlib import Path

import pytest

from tensorlayout.cuda.engine import disk_cache, launch_log
from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.engine.simulator import SimulatorDriver
from tensorlayout.support.kernel_sources import header_directory, kernel_directory

HARNESS = Path(__file__).parents[1] / "kernels" / "as_on_gpu.cpp"


def harnessed(kernel):
    """The harness around a kernel, with the macros that NVRTC gets."""
    texts = disk_cache.read_with_includes(
        kernel_directory() / kernel.file, header_directory()
    ).values()
    macros = {
        **dict((*kernel.types, *kernel.shape)),
        "KERNEL_FILE": f'"{kernel.file}"',
        "KERNEL_NAME": kernel.name,
        "KERNEL_TEXT": disk_cache.cache_key(*texts),  # so that a change of it compiles anew
    }
    if kernel.operation:
        macros["OPERATION"] = kernel.operation
    return Kernel(str(HARNESS), "on_gpu", types=tuple(macros.items()))


new_launcher = SimulatorDriver._new_launcher


def launcher(self, kernel):
    """For `SimulatorDriver._new_launcher`."""
    launcher = new_launcher(self, harnessed(kernel))
    launcher._kernel = kernel
    return launcher


def pytest_configure():
    SimulatorDriver._new_launcher = launcher
    launch_log._ratio_or_one = lambda part, whole: pytest.skip(
        "optional: accesses are not counted here"
    )
