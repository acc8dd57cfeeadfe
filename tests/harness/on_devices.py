"""The same tests on the CPU, on the simulator, on a GPU and on the hybrid.

The hybrid is the driver of GPUs on a strict stand-in for CuPy (`simulated.hybrid`): it runs what
``-m gpu`` does, some modules by default and the others as `long` tests.

A module opts in by ``pytestmark = pytest.mark.usefixtures("device")``, a test in it opts out by
``@pytest.mark.cpu``. The device is the default while a test runs: whatever makes tensors makes them
there.

Each set of dtypes has the simulator compile a kernel, which takes a second or two, and a GPU one
for each function: tests that are parametrised by others than a few are `long` there. So ``-m gpu``
runs on a GPU what runs on the simulator by default, and ``-m long`` the rest, on all that is there.
"""

from contextlib import contextmanager

import pytest
import tensors
from simulated import hybrid, needs_compiler, on_gpu, simulator

import tensorlayout as tl
from tensorlayout import cuda

DEVICES = [
    pytest.param("cpu"),
    pytest.param("simulator", marks=needs_compiler),
    pytest.param("gpu", marks=pytest.mark.gpu),
    pytest.param("hybrid", marks=needs_compiler),
]

# Modules whose tests are on the hybrid by default; those of others are `long` there.
ON_HYBRID = {
    "test_every_kernel",
    "test_indexing",
    "test_ops",
    "test_plan",
    "test_sets",
    "test_sort",
    "test_tensor",
    "test_tracing",
}


def devices_of(module, long):
    """Return the devices that a module's tests are for; `long`: long tests are collected too."""
    if module in ON_HYBRID:
        return DEVICES
    late = [pytest.param("hybrid", marks=(needs_compiler, pytest.mark.long))]
    return DEVICES[:-1] + (late if long else [])


# One of each kind; and those of which any two meet.
FEW = {"bool", "int64", "bfloat16", "float32", "complex64", "float8_e4m3fn"}
MIXED = {"bool", "int64", "float32"}


def is_long(parameters):
    """Return True for a test of one of many dtypes on a device that compiles for each dtype."""
    values = list(parameters.values())
    values += [v for value in values if isinstance(value, tuple) for v in value]
    dtypes = {v for v in values if isinstance(v, str)} & set(tensors.DTYPES["movable"])
    short = dtypes <= (MIXED if len(dtypes) > 1 else FEW)
    return parameters.get("device", "cpu") != "cpu" and not short


@contextmanager
def entered(name):
    """The device `name` as the default, while the block lasts."""
    if name == "cpu":
        yield tl.default_device()
        return
    opened = {"simulator": lambda: simulator(1), "gpu": on_gpu, "hybrid": hybrid}[name]
    # Positions outside raise where they are used, as on the CPU.
    with opened(), cuda.strict_indexing(), tl.using_device("cuda") as result:
        yield result
