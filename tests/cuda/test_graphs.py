"""Graphs of calls, launched again and again: what they hold, on a GPU and on what stands for one.

In between, memory that nobody keeps is given to others.
"""

import numpy as np
import pytest
from simulated import GPUS, needs_compiler, opened
from test_cuda_capture import IN_PLACE, NEW

import tensorlayout as tl

pytestmark = needs_compiler


@pytest.fixture(params=GPUS)
def cupy(request):
    with opened(request.param) as found:
        yield found


def on_host(x):
    return np.asarray(x.to_device("cpu"))


def numbers(x, turn):
    """Others for each turn; as positions, they are inside of what the calls read."""
    found = np.random.default_rng(turn).permutation(x.size).reshape(x.shape) % 100
    return found.astype(x.dtype)


def filled(tensors, turn):
    for x in tensors:
        x[...] = tl.asarray(numbers(x, turn), device=x.device)


def others():
    """Those who get what is free."""
    return [tl.full((n,), 7, dtype="float32", device="cuda") for n in (10, 1000, 5000, 1 << 20)]


# These take the simulator seconds.
LONG = {"cumulative_sum", "into"}
NAMES = [pytest.param(n, marks=[pytest.mark.long] * (n in LONG)) for n in (*NEW, *IN_PLACE)]


@pytest.mark.parametrize("name", NAMES)
def test_a_graph_of_one_call(cupy, name):
    make, call = (NEW | IN_PLACE)[name]
    with cupy.cuda.Stream(non_blocking=True) as stream:
        given = make()
        filled(given, 0)
        call(*given)
        stream.synchronize()
        stream.begin_capture()
        kept = call(*given)
        graph = stream.end_capture()
        for turn in (1, 2, 3):
            filled(given, turn)
            before = others()
            graph.launch()
            after = others()
            host = [tl.asarray(numbers(x, turn)) for x in given]
            expected, found = call(*host), kept
            if name in IN_PLACE:
                expected, found = host[0], given[0]
            np.testing.assert_allclose(on_host(found), np.asarray(expected), 1e-6)
            for each in (*before, *after):
                assert (on_host(each) == 7).all()
