"""Atomic operations on global memory: results, order, bounds, and a GPU's compiler."""

import struct
from pathlib import Path

import numpy as np
import pytest
from cuda_memory import Storage, resources
from simulated import needs_compiler

from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.engine.simulator import KernelError, checking, open_driver

FILE = str(Path(__file__).parents[1] / "kernels" / "atomics.cu")


@pytest.fixture(scope="module")
def driver():
    return open_driver()


def run(driver, name, words, values):
    storages = [Storage(driver, a.nbytes, content=a.view(np.uint8)) for a in (words, values)]
    pointers = [storage.pointer for storage in storages]
    parameters = bytearray(struct.pack("<QQI4x", *pointers, values.size))
    driver.launcher(Kernel(FILE, name))(-(-values.size // 256), parameters)
    return storages[0].get().view(words.dtype)


def check(driver, dtype):
    """Let 700 threads change five words, in any order."""
    limits = np.iinfo(dtype)
    values = np.random.default_rng(0).integers(limits.min, limits.max, 700, dtype, endpoint=True)
    values[:2] = limits.max, limits.max  # sums wrap
    words = np.asarray([0, limits.max, limits.min, 0, limits.min], dtype)
    result = run(driver, f"change_{dtype}", words, values)
    even = values[values % 2 == 0]
    assert result.tolist() == [values.sum(dtype=dtype), min(values), max(values), 7, max(even)]


@needs_compiler
@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
def test_results_whatever_the_order(driver, dtype):
    with checking("bounds", "races", "count"):
        check(driver, dtype)


@needs_compiler
def test_a_change_that_is_overtaken_is_made_again(driver):
    values = np.arange(1, 301, dtype=np.int32)
    result = run(driver, "change_overtaken", np.zeros(5, np.int32), values)
    assert result.tolist() == [values.sum() + 300, 0, 0, 0, 0]


@needs_compiler
def test_out_of_bounds(driver):
    with pytest.raises(KernelError, match=r"atomics.cu:\d+: load of 4 bytes .* at byte 20 of"):
        run(driver, "change_outside", np.zeros(5, np.int32), np.zeros(1, np.int32))


def test_compiled_for_a_gpu():
    assert resources(Kernel(FILE, "change_int64"), "sm_75").spilled == 0
