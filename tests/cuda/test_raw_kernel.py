"""Kernels launched alone by `raw_kernel`, on the simulator, a GPU, and what stands for one."""

import ctypes
import re

import numpy as np
import pytest
from simulated import GPUS, needs_compiler, opened, simulator

import tensorlayout as tl
from tensorlayout.cuda.engine.driver import driver
from tensorlayout.cuda.engine.simulator import KernelError
from tensorlayout.support.kernel_sources import kernel_directory

pytestmark = needs_compiler


@pytest.fixture(scope="module", params=["simulator", *GPUS])
def name(request):
    with simulator() if request.param == "simulator" else opened(request.param):
        yield request.param


@pytest.fixture
def copied(name):
    """A copy between layouts: its source, its result, its kernel, and the log."""
    x = tl.asarray(np.arange(2 * 3 * 16 * 24, dtype=np.float32).reshape(2, 3, 16, 24))
    x = x.to_device("cuda")
    with tl.cuda.launch_log() as log:
        y = tl.to_layout(x, "NHWC")
    (kernel,) = log
    return x, y, kernel, log


def on_host(x):
    return np.asarray(x.to_device("cpu"))


def test_a_launch_again(copied):
    x, y, kernel, log = copied
    y[...] = 0
    assert repr(log) == f"<KernelCounts of launches, {kernel.symbol}: 1>"
    launches = driver().counters.launches
    tl.cuda.raw_kernel(kernel)(*log.last_launch(kernel))
    assert driver().counters.launches == launches + 1
    np.testing.assert_array_equal(on_host(y), on_host(x))


def test_an_argument_of_ones_own(copied):
    """The struct is that of the kernel's source, so another destination can be given."""
    x, y, kernel, log = copied
    copy = tl.cuda.raw_kernel(kernel)
    grid, block, (content,) = log.last_launch(kernel)
    argument = copy.parameters.from_buffer_copy(content)
    destination = tl.zeros_like(y)
    argument.to += destination.memory.address - y.memory.address
    y[...] = 0
    copy(grid, block, (argument,))
    np.testing.assert_array_equal(on_host(destination), on_host(x))
    assert not on_host(y).any()


def test_what_it_says(copied, name):
    kernel = copied[2]
    copy = tl.cuda.raw_kernel(kernel)
    assert (copy.name, copy.kernel) == (kernel.name, kernel)
    assert copy.source == kernel_directory() / "copy" / "copy.cu"
    assert repr(copy) == f"<RawKernel {kernel.symbol} of copy.cu>"
    attributes = copy.attributes
    assert attributes["max_threads_per_block"] >= 256
    if name != "simulator":
        assert attributes["num_regs"] > 0
        assert attributes["binary_version"] >= 75


def test_names(copied):
    """By what a log has, by what a trace prints, and by the source where that is enough."""
    x, kernel = copied[0], copied[2]
    assert tl.cuda.raw_kernel(kernel.symbol).kernel == kernel
    assert x + x is not None
    added = tl.cuda.raw_kernel("elementwise_flat add").kernel
    assert tl.cuda.raw_kernel("elementwise_flat_add_float32_4").kernel == added
    assert dict(added.types)["FIRST"] == "float"
    assert tl.cuda.raw_kernel("matmul_uint64_t").kernel.file == "matmul.cu"  # not loaded before
    assert x * x is not None
    names = "elementwise_flat_add_float32_4, elementwise_flat_multiply_float32_4; "
    with pytest.raises(ValueError, match=rf"^raw_kernel: 2 kernels are .*flat': {names}"):
        tl.cuda.raw_kernel("elementwise_flat")
    with pytest.raises(ValueError, match=r"^raw_kernel: no known kernel is called 'copy_nothing'"):
        tl.cuda.raw_kernel("copy_nothing")
    with pytest.raises(TypeError, match=r"^raw_kernel: kernel must be a Kernel or a name, got in"):
        tl.cuda.raw_kernel(1)


def test_arguments_that_no_launch_takes(copied):
    _, _, kernel, log = copied
    copy, (grid, block, args) = tl.cuda.raw_kernel(kernel), log.last_launch(kernel)
    launches = driver().counters.launches
    for call, error, said in (
        ((grid, (128,), args), ValueError, r"block must be \(256,\), got \(128,\)"),
        ((grid, (256, 2), args), ValueError, r"block must be \(256,\), got \(256, 2\)"),
        ((grid, 256, args), TypeError, "block must be a tuple of integers, got 256"),
        (((1.5,), block, args), TypeError, r"grid must be a tuple of integers, got \(1.5,\)"),
        (((1,) * 4, block, args), ValueError, "grid must have one to three dimensions"),
        ((grid, block, args[0]), TypeError, "args must be a tuple of one structure, got bytes"),
        ((grid, block, (320,)), TypeError, "args must hold a structure or its bytes, got int"),
        ((grid, block, ([0] * 320,)), TypeError, "args must hold a structure or its bytes"),
        ((grid, block, (args[0][1:],)), ValueError, r"the argument has \d+ bytes, and the k"),
    ):
        with pytest.raises(error, match=f"^{copy.name}: {said}"):
            copy(*call)
    assert driver().counters.launches == launches
    with pytest.raises(ValueError, match=r"^last_launch: no launch of .* was logged"):
        log.last_launch("copy")


CALLS = {
    "where": lambda x: tl.where(x > 3, x, 2 * x),
    "fuse": tl.fuse(lambda x: tl.exp(x) * x + 1.5),
    "fused sum": tl.fuse(lambda x: tl.sum(x * x + 1.5, axis=1)),
    "sum": lambda x: tl.sum(x, axis=0),
    "running sum": lambda x: tl.cumulative_sum(x, axis=1),
    "take": lambda x: tl.take(x, tl.asarray([1, 2], device=x.device), axis=0),
}


@pytest.mark.parametrize("call", CALLS)
def test_the_size_of_the_argument(call):
    """The kernels themselves say it, on the simulator."""
    with simulator():
        x = tl.ones((4, 6), dtype=tl.float32, device="cuda")
        with tl.cuda.launch_log() as log:
            CALLS[call](x)
        for kernel in log:
            with pytest.raises(KernelError) as raised:
                driver().launcher(kernel)(1, bytearray(8192))
            said = re.search(r"takes (\d+) bytes of parameters, got 8192", str(raised.value))
            assert ctypes.sizeof(tl.cuda.raw_kernel(kernel).parameters) == int(said[1])
