"""Other libraries see the memory of the strict machine's GPU: addresses, shapes and strides.

Those that ask CUDA's driver cannot; docs/recipes/gpu-libraries.md says which.
"""

import numpy as np
import pytest
from simulated import hybrid, needs_compiler

import tensorlayout as tl

pytestmark = needs_compiler


@pytest.fixture(autouse=True)
def _machine():
    with hybrid():
        yield


def tensors():
    """Row-major, permuted, with padded rows, from the second row on."""
    x = tl.asarray(np.arange(24, dtype=np.float32).reshape(4, 6), device="cuda")
    padded = tl.to_layout(x, tl.Layout.padded((4, 6), (4, 8)))
    return x, x.T, padded, padded[1:]


def address(x):
    return x.__cuda_array_interface__["data"][0]


def test_views_of_cuda_core():
    utils = pytest.importorskip("cuda.core.utils", reason="optional: cuda-core")
    for x in tensors():
        view = utils.StridedMemoryView.from_dlpack(x, stream_ptr=1)
        assert (view.ptr, view.shape, view.strides) == (address(x), x.shape, x.strides)
        assert (view.is_device_accessible, view.device_id, view.readonly) == (True, 0, False)
        y = tl.asarray(view)
        assert (address(y), y.strides, y.device) == (address(x), x.strides, "cuda:0")


def test_streams_of_cuda_core():
    core = pytest.importorskip("cuda.core", reason="optional: cuda-core")
    ours = tl.cuda.Stream()
    theirs = core.Stream.from_handle(ours.__cuda_stream__()[1])
    assert tl.cuda.Stream.from_external(theirs) == ours


def test_tensors_of_tvm_ffi():
    tvm_ffi = pytest.importorskip("tvm_ffi", reason="optional: apache-tvm-ffi")
    for x in tensors():
        there = tvm_ffi.from_dlpack(x)
        assert (tuple(there.shape), tuple(there.strides)) == (x.shape, x.strides)
        assert (str(there.device), there.data_ptr()) == ("cuda:0", address(x))
        y = tl.asarray(there)
        assert (address(y), y.strides, y.device) == (address(x), x.strides, "cuda:0")


def test_tensors_of_cute():
    runtime = pytest.importorskip("cutlass.cute.runtime", reason="optional: nvidia-cutlass-dsl")
    for x in tensors():
        there = runtime.from_dlpack(x)
        assert (there.shape, there.stride) == (x.shape, x.strides)
        assert f"{address(x):#018x}@gmem" in str(there)
