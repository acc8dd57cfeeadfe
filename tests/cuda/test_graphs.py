"""Graphs of calls, launched again and again: what they hold, on a GPU and on what stands for one.

In between, memory that nobody keeps is given to others.
"""

import numpy as np
import pytest
from simulated import GPUS, needs_compiler, opened
from test_cuda_capture import IN_PLACE, NEW

import tensorlayout as tl
from tensorlayout.errors import CaptureError

pytestmark = needs_compiler


@pytest.fixture(params=GPUS)
def cupy(request):
    with opened(request.param) as result:
        yield result


def on_host(x):
    return np.asarray(x.to_device("cpu"))


def numbers(x, turn):
    """Others for each turn; as positions, they are inside of what the calls read."""
    result = np.random.default_rng(turn).permutation(x.size).reshape(x.shape) % 100
    return result.astype(x.dtype)


def filled(tensors, turn):
    for x in tensors:
        x[...] = tl.asarray(numbers(x, turn), device=x.device)


def others():
    """Other allocations, which take memory that is free."""
    return [tl.full((n,), 7, dtype="float32", device="cuda") for n in (10, 1000, 5000, 1 << 20)]


# These take the simulator seconds.
LONG = {"cumulative_sum", "into"}
NAMES = [pytest.param(n, marks=[pytest.mark.long] * (n in LONG)) for n in (*NEW, *IN_PLACE)]


@pytest.mark.parametrize("name", NAMES)
def test_a_graph_of_one_call(cupy, name):
    make, call = (NEW | IN_PLACE)[name]
    with cupy.cuda.Stream(non_blocking=True) as stream:
        argument = make()
        filled(argument, 0)
        call(*argument)
        stream.synchronize()
        stream.begin_capture()
        kept = call(*argument)
        graph = stream.end_capture()
        for turn in (1, 2, 3):
            filled(argument, turn)
            before = others()
            graph.launch()
            after = others()
            host = [tl.asarray(numbers(x, turn)) for x in argument]
            expected, results = call(*host), kept
            if name in IN_PLACE:
                expected, results = host[0], argument[0]
            np.testing.assert_allclose(on_host(results), np.asarray(expected), 1e-6)
            for item in (*before, *after):
                assert (on_host(item) == 7).all()


MODES = ("streamCaptureModeGlobal", "streamCaptureModeThreadLocal", "streamCaptureModeRelaxed")
NEEDS_RELAXED = (
    r"^add: memory cannot be allocated while a CUDA graph is captured in global or thread-local"
    r" mode; capture it in relaxed mode, as by torch\.cuda\.graph\(.*='relaxed'\)$"
)


@pytest.mark.parametrize("mode", MODES)
def test_a_graph_in_each_mode_uses_memory_that_the_pool_has(cupy, mode):
    with cupy.cuda.Stream(non_blocking=True) as stream:
        x = tl.ones((1000,), device="cuda")
        x + x  # whose result goes back to the pool
        stream.synchronize()
        stream.begin_capture(getattr(cupy.cuda.runtime, mode))
        y = x + x
        graph = stream.end_capture()
        y[...] = 0
        graph.launch()
        assert (on_host(y) == 2).all()


@pytest.mark.parametrize("mode", MODES)
def test_new_memory_in_a_graph_needs_the_relaxed_mode(cupy, mode):
    with cupy.cuda.Stream(non_blocking=True) as stream:
        x = tl.ones((1000,), device="cuda")
        kept = x + x
        stream.synchronize()
        stream.begin_capture(getattr(cupy.cuda.runtime, mode))
        if mode == "streamCaptureModeRelaxed":
            y = x + x
            stream.end_capture().launch()
            assert (on_host(y) == 2).all()
            return
        with pytest.raises(CaptureError, match=NEEDS_RELAXED):
            x + x
        with pytest.raises(cupy.cuda.runtime.CUDARuntimeError):
            stream.end_capture()
        assert (on_host(kept) == 2).all()
