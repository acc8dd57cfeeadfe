"""Borders, and tensors spread over larger ones, on CUDA: windows, launches, accesses."""

from collections import Counter

import numpy as np
import pytest
from simulated import needs_compiler, simulator
from tensors import same
from test_cuda_matmul import count_second_call

import tensorlayout as tl
from tensorlayout.cuda import pad
from tensorlayout.cuda.engine.simulator import checking
from tensorlayout.functions import dispatch
from tensorlayout.plan.base import DestinationOperation
from tensorlayout.plan.pad import SliceGradPlan

SPREAD = DestinationOperation("SLICE_GRAD", SliceGradPlan)
# Where the window begins, beyond its end, its step: by how much sizes grow.
WINDOWS = [(0, 0, 1), (2, 1, 1), (1, 0, 2), (0, 3, -1), (1, 1, -3)]


@pytest.fixture(scope="module", autouse=True)
def gpu():
    with simulator() as result:
        yield result


def on_cuda(values):
    return tl.asarray(np.asarray(values)).to_device("cuda")


def spread(out, x, window):
    with checking("bounds", "initialized", "races", "count") as record:
        assert dispatch.call(SPREAD, (out.spec, x.spec, window), (out, x)) is out
    ((kernel, counts),) = record.counts.items()
    assert (kernel.name, counts.launches) == ("spread_elements", 1)
    return counts


def placed(sizes, window, before, after):
    """The sizes of a result that a window fits into, and the places of the first elements."""
    large, first = [], []
    for n, (_, step), b, a in zip(sizes, window, before, after, strict=True):
        span = 1 + (n - 1) * abs(step)
        large.append(b + span + a)
        first.append(b if step > 0 else b + span - 1)
    return tuple(large), tuple((f, step) for f, (_, step) in zip(first, window, strict=True))


def check(x, array, outs, turn=0):
    """In windows that differ from dimension to dimension."""
    chosen = [WINDOWS[(d + turn) % len(WINDOWS) if d < 3 else 0] for d in range(array.ndim)]
    before, after, steps = zip(*chosen, strict=True) if chosen else ((), (), ())
    sizes, window = placed(array.shape, [(0, s) for s in steps], before, after)
    expected = np.zeros(sizes, array.dtype)
    places = [f + s * np.arange(n) for n, (f, s) in zip(array.shape, window, strict=True)]
    if array.ndim:
        expected[np.ix_(*places)] = array
    else:
        expected[()] = array
    for make in outs:
        out = make(sizes, array.dtype.name)
        spread(out, x, window)
        same(out.to_device("cpu"), expected, f"{x.layout} {window}")


def packed(sizes, dtype):
    return tl.empty(sizes, dtype=dtype, device="cuda")


def column_major(sizes, dtype):
    return tl.empty(sizes, dtype=dtype, device="cuda", layout=tuple(range(len(sizes))))


@needs_compiler
def test_indices_of_64_bits_and_many_dimensions(monkeypatch):
    monkeypatch.setattr(pad, "narrowest_index_type", lambda count, furthest: "int64_t")
    for shape in ((5,), (3, 4), (2, 3, 4), (2, 1, 2, 3, 2, 2)):
        values = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        check(on_cuda(values), values, (packed, column_major))
    tl.plan.run.cache_clear()


@needs_compiler
def test_nothing_else_is_touched():
    large = tl.full((7, 9), 77, dtype="float32", device="cuda")
    spread(large[1:6:2, 2:8], on_cuda(np.ones((2, 3), np.float32)), ((0, 2), (5, -2)))
    expected = np.full((7, 9), 77, np.float32)
    expected[1:6:2, 2:8] = [[0, 1, 0, 1, 0, 1], [0] * 6, [0, 1, 0, 1, 0, 1]]
    same(large.to_device("cpu"), expected)


@needs_compiler
@pytest.mark.parametrize("dtype", ["int16", "float32", "int64"])
@pytest.mark.parametrize(
    ("shape", "window"), [((64, 192), ((0, 2), (0, 1))), ((64, 128), ((3, 1), (32, 1)))]
)
def test_accesses_fill_sectors(dtype, shape, window):
    x, out = tl.ones(shape, dtype=dtype, device="cuda"), packed((128, 192), dtype)
    counts = spread(out, x, window)
    assert counts.sector_efficiency_read == counts.sector_efficiency_write == 1.0
    assert counts.stores.lanes == 32 * counts.stores.accesses


@needs_compiler
@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric", "wrap"])
def test_a_border_is_one_launch_and_one_allocation(gpu, mode):
    x = on_cuda(np.arange(12).reshape(3, 4))
    done = count_second_call(gpu, lambda: tl.pad(x, ((2, 1), (0, 3)), mode))
    assert done == Counter(launches=1, allocations=1)
