"""Driver calls of a warm call on CUDA: one launch, one allocation, and nothing else."""

import os
from pathlib import Path

import numpy as np
import pytest
from processes import python
from simulated import GPUS, needs_compiler, opened, stand_in

import tensorlayout as tl
from benchmarks.measure import python_calls
from tensorlayout.cuda.engine.driver import driver
from tensorlayout.cuda.engine.memory import alignment_of, low_bits
from tensorlayout.cuda.engine.scalars import scalar_bytes


def add_in_place(x, y):
    x += y


def assign(x, y):
    x[...] = y


# Each with the calls that CuPy gets for it.
WARM = {
    "x + y": (lambda x, y: x + y, ["alloc", "launch"]),
    "x + y.mT": (lambda x, y: x + y.mT, ["alloc", "launch"]),
    "x + 1.5": (lambda x, y: x + 1.5, ["alloc", "launch"]),
    "where": (lambda x, y: tl.where(x < y, x, y), ["alloc", "launch"] * 2),
    "astype": (lambda x, y: tl.astype(x, tl.int16), ["alloc", "launch"]),
    "to_layout": (lambda x, y: tl.to_layout(x, (0, 1)), ["alloc", "launch"]),
    "reshape": (lambda x, y: tl.reshape(x.mT, (16,)), ["alloc", "launch"]),
    "concat": (lambda x, y: tl.concat([x, y]), ["alloc", "launch"]),
    "copy": (lambda x, y: x.copy(), ["alloc", "memcpy"]),
    "x += y": (add_in_place, ["launch"]),
    "x += 1": (lambda x, y: add_in_place(x, 1.0), ["launch"]),
    "x[...] = y.mT": (lambda x, y: assign(x, y.mT), ["launch"]),
    "x[1:] = 7": (lambda x, y: x.__setitem__(slice(1, None), 7), ["launch"]),
    "views": (lambda x, y: x.mT[1:, ::-1], []),
    "__dlpack__": (lambda x, y: x.__dlpack__(), []),
}


# How many functions of the package a warm call enters at most, all of them in Python.
FUNCTIONS = {
    "x + y": 7, "x + 1.5": 8, "astype": 11, "to_layout": 12, "concat": 10, "copy": 7, "x += y": 16,
    "__dlpack__": 8,
}  # fmt: skip


def operands(device):
    return [tl.asarray(np.ones((4, 4), np.float32), device=device) for _ in range(2)]


@pytest.mark.parametrize("name", WARM)
def test_the_calls_of_cupy(name):
    """None of them is one that a stream under capture refuses, or that makes the host wait."""
    call, expected = WARM[name]
    for count in (1, 2):
        with stand_in(count) as recorder:
            x, y = operands("cuda")
            call(x, y)
            recorder.calls.clear()
            call(x, y)
            assert [item[0] for item in recorder.calls] == expected


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_a_warm_call(name):
    call, _ = WARM[name]
    with stand_in(1):
        x, y = operands("cuda")
        folder = os.path.join(os.path.dirname(tl.__file__), "")
        assert python_calls(lambda: call(x, y), folder) <= FUNCTIONS[name]


def test_another_device_is_made_current_for_the_call():
    with stand_in(2) as recorder:
        x, y = operands("cuda:1")
        x + y
        recorder.calls.clear()
        x + y
        calls = ["device", "alloc", "device", "launch"]
        assert [call[0] for call in recorder.calls] == calls
        recorder.calls.clear()
        with driver().using_device(1):
            x + y
        assert [call[0] for call in recorder.calls] == ["device", "alloc", "launch"]


FLOATS = [0.0, -0.0, 1.5, -1e-40, 7e-46, 1e39, -65519.9, 65520.0, 1e-7, np.inf, -np.inf, np.nan]
INTEGERS = [0, 1, -1, 127, 128, -129, 2**24 + 1, 2**31, 2**53 + 1, 2**63 - 1, 2**64 - 1, 2**64]
INTEGERS += [True]


NUMBERS = {
    ("bool", "int8", "int64", "uint64"): INTEGERS,
    ("float16", "float32", "float64", "complex64"): [*FLOATS, *INTEGERS],
}


@pytest.mark.parametrize(
    ("name", "values"), [(name, values) for names, values in NUMBERS.items() for name in names]
)
def test_python_numbers_become_bytes_as_numpy_has_it(name, values):
    for value in values:
        try:
            with np.errstate(all="ignore"):
                expected = np.asarray(value, name).tobytes()
        except OverflowError:
            with pytest.raises(OverflowError, match=r"^Python integer -?\d+ out of bounds for"):
                scalar_bytes("add", value, np.dtype(name))
        else:
            assert scalar_bytes("add", value, np.dtype(name)) == expected, value


def test_alignments():
    results = [alignment_of(low_bits(4096 + n)) for n in (0, 1, 2, 4, 6, 8, 12, 16)]
    assert results == [32, 1, 2, 4, 2, 8, 4, 16]


@pytest.mark.ci
@needs_compiler
def test_the_benchmark():
    pytest.importorskip("tqdm", reason="optional: tqdm")
    result = python("-m", "benchmarks", "dispatch", "--quick", cwd=Path(__file__).parents[2])
    rows = [line for line in result.splitlines() if line.startswith("| `x + y` |")]
    (figures,) = ([float(part) for part in row.split("|")[2:-1]] for row in rows)
    assert len(figures) == 5
    assert all(0 < figure < 1000 for figure in figures)


# ---- On a GPU, and on what stands for one


@pytest.fixture(params=GPUS)
def cupy(request):
    with opened(request.param) as result:
        yield result


def test_gpu_a_graph_of_calls(cupy):
    x, y = operands("cuda")
    z = tl.zeros((4, 4), dtype="float32", device="cuda")
    driver().synchronize()

    def step():
        add_in_place(x, y)
        assign(z, x.mT)
        return x + 1  # its memory is the graph's, while this is kept

    with cupy.cuda.Stream(non_blocking=True) as stream:
        step()
        stream.begin_capture()
        kept = step()
        graph = stream.end_capture()
        for _ in range(10):
            graph.launch()
        assert (np.asarray(z.to_device("cpu")) == 12).all()
        assert (np.asarray(kept.to_device("cpu")) == 13).all()
