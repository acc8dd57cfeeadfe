"""Order of ``-m gpu`` runs: the most telling tests first; a lost context ends its process.

A plugin of pytest, which `conftest` takes in. ``TENSORLAYOUT_REQUIRE_GPU=1`` makes a run fail where
no GPU can be opened: its tests would skip.
"""

import os
import sys

import pytest

from tensorlayout.cuda.engine.cupy import open_driver

REQUIRED = "TENSORLAYOUT_REQUIRE_GPU"

# A launch; copies; streams, graphs; then a kernel of each kind.
FIRST = (
    "test_cupy_driver.py::test_gpu_right_kernels[gpu-increment 1000]",
    "test_cupy_driver.py::test_gpu_copies[gpu-1000]",
    "test_cupy_driver.py::test_gpu_the_source_may_change_after_a_copy[gpu-1000]",
    "test_cupy_driver.py::test_gpu_streams[gpu]",
    "test_cupy_driver.py::test_gpu_out_of_memory[gpu]",
    "test_cuda_dispatch.py::test_gpu_a_graph_of_calls[gpu]",
    "test_cuda_streams.py::test_gpu_arrays_go_from_stream_to_stream[gpu]",
    "test_cuda_library.py::test_gpu_failures_are_raised[gpu]",
    *(
        f"test_every_kernel.py::test_many_blocks[gpu-{case}]"
        for case in (
            *("copies", "copies_of_tiles", "fills", "elements", "gathers", "scatters", "masks"),
            *("reductions", "scans", "sorts"),
        )
    ),
)

# Numbers of errors after which CUDA refuses all that a process asks for.
LOST = {700, 702, 709, 710, 714, 715, 716, 717, 718, 719}


def pytest_configure(config):
    """One line, and no test, where a GPU is required and none can be opened."""
    if os.environ.get(REQUIRED) == "1":
        try:
            open_driver()
        except RuntimeError as error:
            msg = f"{REQUIRED}=1, and {error}"
            raise pytest.UsageError(msg) from None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    place = {name: number for number, name in enumerate(FIRST)}
    items.sort(key=lambda item: place.get(item.nodeid.rpartition("/")[2], len(place)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    error = _lost(call.excinfo and call.excinfo.value)
    if error is not None:
        line = f"{item.nodeid}: the CUDA context is lost: {error}"
        if not hasattr(item.config, "workerinput"):
            item.session.shouldstop = line
        else:  # xdist takes the test for failed, and starts another process for the others
            capture = item.config.pluginmanager.getplugin("capturemanager")
            with capture.global_and_fixture_disabled():
                print(line, report.longreprtext, sep="\n", file=sys.stderr, flush=True)
                os._exit(1)
    return report


def _lost(error):
    """The error of CUDA that ended the context, where one led to what was raised."""
    while error is not None:
        if getattr(error, "status", None) in LOST:
            return error
        error = error.__cause__ or error.__context__
    return None
