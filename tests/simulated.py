"""CUDA devices for tests: the simulator or a GPU for this process, while a block lasts."""

import shutil
from contextlib import contextmanager

import pytest

from tensorlayout import devices, plan
from tensorlayout.cuda.driver import driver

needs_compiler = pytest.mark.skipif(
    not any(map(shutil.which, ("g++", "clang++"))), reason="optional: a C++ compiler"
)

# What is found out once per process, and would outlive the block.
_KEPT = (driver, devices.available, devices._cuda, devices._named_by_the_variable)


def forget():
    for found in _KEPT:
        found.cache_clear()
    plan.cache_clear()


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
    """The GPU of this machine; the test is skipped where there is none."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("TENSORLAYOUT_CUDA_SIMULATOR", raising=False)
        patch.delenv(devices.VARIABLE, raising=False)
        with _found_anew():
            if len(devices.available()) == 1:
                pytest.skip("needs an NVIDIA GPU and CuPy")
            yield driver()


@contextmanager
def _found_anew():
    forget()
    try:
        yield
    finally:
        forget()
