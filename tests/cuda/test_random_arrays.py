"""Random numbers of CuPy become tensors without a copy: by DLPack and by CUDA's array interface."""

import importlib

import numpy as np
import pytest
from simulated import GPUS, needs_compiler, opened

import tensorlayout as tl
from tensorlayout.cuda.engine.driver import driver

pytestmark = needs_compiler


class RandomArray:
    """An array on the device under the protocols that CuPy's arrays have, one or both."""

    def __init__(self, tensor, protocols):
        self._tensor = tensor
        if "interface" in protocols:
            self.__cuda_array_interface__ = tensor.__cuda_array_interface__
        if "dlpack" in protocols:
            self.__dlpack__ = tensor.__dlpack__
            self.__dlpack_device__ = tensor.__dlpack_device__


def random_arrays(name):
    """Address and contents of random arrays, and the arrays."""
    numbers = np.random.default_rng(0).random((64, 64), dtype=np.float32)
    for protocols in (["dlpack"], ["interface"], ["dlpack", "interface"]):
        if name == "gpu":
            cupy = importlib.import_module("cupy")
            array = cupy.random.default_rng(0).random((64, 64), dtype=cupy.float32)
            yield array.data.ptr, cupy.asnumpy(array), array
        else:
            tensor = tl.asarray(numbers, device="cuda")
            yield tensor.memory.address, numbers, RandomArray(tensor, protocols)


@pytest.mark.parametrize("name", GPUS)
def test_random_arrays_are_shared(name):
    with opened(name):
        for address, numbers, array in random_arrays(name):
            counters = driver().counters
            before = counters.allocations, counters.launches, counters.synchronisations
            with tl.no_copies():
                x = tl.asarray(array)
            after = counters.allocations, counters.launches, counters.synchronisations
            assert after == before
            assert x.memory.address == address
            assert (x.device, x.dtype, x.shape) == ("cuda:0", np.float32, (64, 64))
            np.testing.assert_array_equal(np.asarray(x.to_device("cpu")), numbers)
