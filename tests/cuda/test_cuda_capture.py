"""Graphs captured of calls: what is kept, what they cannot hold; on a stand-in for CuPy."""

import gc
import importlib
import re
import threading
import weakref
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest
from fake_cupy import Stream
from simulated import on_gpu, stand_in

import tensorlayout as tl
from tensorlayout.cuda.engine import cublas, faults
from tensorlayout.cuda.engine.driver import driver
from tensorlayout.errors import CaptureError
from tensorlayout.functions import dispatch
from tensorlayout.functions.statistical import _CUMULATIVE_SUM


@pytest.fixture
def recorder(monkeypatch):
    names = "SetStream_v2", "GemmEx", "GemmStridedBatchedEx", "GetStatusString"
    library = SimpleNamespace(**{f"cublas{name}": MagicMock(return_value=0) for name in names})
    monkeypatch.setattr(cublas, "load_cublas", {12: library}.get)
    with stand_in() as recorder:
        cuda = importlib.import_module("cupy").cuda
        cuda.cublas, cuda.get_cublas_handle = MagicMock(), lambda: 77
        for name in ("CUDA_R_32F", "CUDA_R_64F"):
            setattr(cuda.runtime, name, 0)
        yield recorder


@pytest.fixture
def stream(recorder):
    with Stream(recorder, 7) as stream:
        yield stream


def on_cuda(values, dtype="float32"):
    return tl.asarray(np.asarray(values, dtype), device="cuda")


def zeros(*shape, dtype="float32", layout=None):
    return tl.zeros(shape, dtype=dtype, device="cuda", layout=layout)


def few_long():
    return zeros(2, 1 << 17)


# Each allocates more than its result. What they are given, made before the capture; the call.
NEW = {
    "sum": (lambda: (few_long(),), lambda x: tl.sum(x, axis=1)),
    "cumulative_sum": (lambda: (few_long(),), lambda x: tl.cumulative_sum(x, axis=1)),
    "sort": (lambda: (zeros(20_000),), tl.sort),
    "argsort": (lambda: (zeros(20_000),), tl.argsort),
    "a chain": (lambda: (zeros(1000),), lambda x: (x + 1) * 2),
    "median": (lambda: (zeros(3, 5000),), lambda x: tl.quantile(x, 0.5, axis=1)),
    "product": (
        lambda: (zeros(8, 8, dtype="int32"), zeros(8, 8, dtype="int8")),
        lambda x, y: tl.matmul(x, y),
    ),
    "product of floats": (
        lambda: (zeros(8, 8, dtype="float64"), zeros(8, 8)),
        lambda x, y: tl.matmul(x, y),
    ),
    "products of a stack": (
        lambda: (zeros(3, 8, 4, dtype="float64"), zeros(3, 4, 2)),
        lambda x, y: tl.matmul(x, y) + tl.vecdot(x[:, :2, :], x[:, 2:4, :])[:, :1, None],
    ),
}
IN_PLACE = {
    "overlap": (lambda: (zeros(1000),), lambda x: x.__iadd__(tl.flip(x))),
    "assign": (lambda: (zeros(1000),), lambda x: x.__setitem__(slice(None), x[::-1])),
    "positions": (
        lambda: (zeros(100, 4), zeros(50, dtype="int64"), zeros(50, 4)),
        lambda x, i, y: x.__setitem__(i, y),
    ),
    "into": (
        lambda: (few_long(), few_long()),
        lambda out, x: dispatch.call_into(out, _CUMULATIVE_SUM, (x.spec, 1, False, False), (x,)),
    ),
    "tiles": (
        lambda: (zeros(24, 24, layout="{1,0:T(4,6)}"), zeros(24, 24, layout="{1,0:T(6,4)}")),
        lambda x, y: x.__setitem__(..., y),
    ),
}


def captured(recorder, stream, actual, call, arguments):
    """The result of a warm call that is captured, and the memories that it allocated."""
    call(*actual())
    gc.collect()
    before = set(recorder.allocated)
    allocations = len(recorder.named("alloc"))
    stream.begin_capture()
    result = call(*arguments)
    stream.end_capture()
    gc.collect()
    alive = weakref.WeakSet(set(recorder.allocated) - before)
    assert len(alive) == len(recorder.named("alloc")) - allocations  # all of them
    return result, alive


def left(alive):
    """Count the memories that still exist after the end of the capture was noticed."""
    zeros(1)
    gc.collect()
    return len(alive)


@pytest.mark.parametrize("name", [*NEW, *IN_PLACE])
def test_what_a_call_allocates_lives_as_long_as_its_result(recorder, stream, name):
    """A view of the result keeps it, too; of a call in place the result is what it writes to."""
    actual, call = (NEW | IN_PLACE)[name]
    argument = list(actual())
    result, alive = captured(recorder, stream, actual, call, argument)
    count = len(alive)
    assert count >= (2 if name in NEW else 1), "nothing but the result"
    kept = result[:1] if name in NEW else argument[0]
    del result
    argument.clear()
    assert left(alive) == count
    del kept
    assert left(alive) == 0


def test_each_capture_keeps_its_own_and_no_stream(recorder):
    result, call = NEW["sum"]
    with Stream(recorder, 9) as stream:
        first, of_first = captured(recorder, stream, result, call, result())
        second, of_second = captured(recorder, stream, result, call, result())
    alive = weakref.ref(stream)
    assert not set(of_first) & set(of_second)
    del first, stream
    assert left(of_first) == 0
    assert left(of_second) == 2
    assert alive() is None
    del second
    assert left(of_second) == 0
    assert driver().captures == {}


def test_other_streams_and_threads_keep_nothing(recorder, stream):
    result, call = NEW["sum"]
    (x,) = result()
    call(x)
    gc.collect()
    before, results = len(recorder.allocated), []
    stream.begin_capture()
    with Stream(recorder, 8):
        results.append(call(x))
    thread = threading.Thread(target=lambda: results.append(call(x)))
    thread.start()
    thread.join()
    gc.collect()
    assert len(recorder.allocated) == before + 2  # the results
    assert driver().captures == {}
    stream.end_capture()


def test_what_a_call_asks_of_cuda(recorder):
    """An allocation asks once whether its stream captures; the default stream is never asked."""
    x = zeros(100)
    x + x
    with Stream(recorder, 7):
        for call, asked in ((lambda: x + x, 1), (lambda: x.__iadd__(1), 0), (lambda: x[1:], 0)):
            call()
            recorder.asked = 0
            call()
            assert recorder.asked == asked
    recorder.asked = 0
    x + x
    x.to_device("cpu")
    assert recorder.asked == 0


# ---- What no graph can hold

WAITS, UPLOADS, LIBRARY = (
    "it waits for the device",
    "it copies from the host",
    "it calls CuPy's libraries",
)
REFUSED = {
    "to_device": (WAITS, lambda x: x.to_device("cpu")),
    "__getitem__": (WAITS, lambda x: x[x > 0]),
    "nonzero": (WAITS, tl.nonzero),
    "to_device ": (UPLOADS, lambda x: tl.ones(3).to_device("cuda")),
    "__setitem__": (WAITS, lambda x: x.__setitem__(x > 0, tl.ones(2, device="cuda"))),
    "svdvals": (LIBRARY, tl.linalg.svdvals),
    "fft": (LIBRARY, lambda x: tl.fft.fft(tl.astype(x, "complex64"))),
    "unique_values": (LIBRARY, tl.unique_values),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_graph_cannot_hold_is_refused(recorder, stream, name):
    reason, call = REFUSED[name]
    x = zeros(4, 4)
    zeros(3)[on_cuda([0], "int64")]  # there are records of positions
    before = bytes(np.asarray(x.to_device("cpu")))
    recorder.calls.clear()
    stream.begin_capture()
    words = f"{name.strip()}: cannot be captured in a CUDA graph, for {reason}; call it before or"
    with pytest.raises(CaptureError, match=f"^{re.escape(words)} after$"):
        call(x)
    assert stream.ptr in recorder.capturing  # the capture goes on
    done = {item[0] for item in recorder.calls}
    assert done <= {"alloc", "launch", "load"}
    stream.end_capture()
    assert bytes(np.asarray(x.to_device("cpu"))) == before


def test_operations_by_kernels_are_held(recorder, stream):
    x, y = zeros(8, 8, dtype="int32"), zeros(100)
    searched = zeros(10)

    def calls():
        x @ x
        tl.searchsorted(y, searched)
        y.copy()
        y[y > 0] = 3.0

    calls()
    stream.begin_capture()
    calls()
    stream.end_capture()


def test_a_product_of_floats_is_cublas_on_the_stream_that_captures(recorder, stream):
    x = zeros(8, 8)
    library = cublas.load_cublas(12)
    x @ x
    library.cublasGemmEx.assert_not_called()  # CuPy's binding did it
    stream.begin_capture()
    result = x @ x
    assert library.cublasSetStream_v2.call_args.args == (77, stream.ptr)
    arguments = library.cublasGemmEx.call_args.args
    declared = library.cublasGemmEx.argtypes
    assert len(arguments) == len(declared) == 19
    assert arguments[0] == 77
    assert arguments[14] == result.memory.address
    library.cublasGemmEx.return_value = 13
    library.cublasGetStatusString.return_value = b"CUBLAS_STATUS_EXECUTION_FAILED"
    with pytest.raises(RuntimeError, match=r"^cublasGemmEx: CUBLAS_STATUS_EXECUTION_FAILED$"):
        x @ x
    stream.end_capture()


def test_the_first_read_at_positions_is_refused(recorder, stream):
    x, i = zeros(3), on_cuda([2], "int64")
    stream.begin_capture()
    with pytest.raises(CaptureError, match=r"^take: cannot be captured .* copies from the host"):
        tl.take(x, i)
    stream.end_capture()
    tl.take(x, i)
    stream.begin_capture()
    assert tl.take(x, i).shape == (1,)
    stream.end_capture()


# ---- Positions outside, in graphs


def leave(report, lowest, highest, size, name="take"):
    """Write the record that a kernel leaves for out-of-bounds positions."""
    result = faults._Record.from_address(report.pointer)
    result.owner = faults.new_launch_number(name)
    result.lowest[0], result.highest[0], result.size[0] = lowest, highest, size


@pytest.mark.parametrize("strict", [False, True])
def test_positions_outside_in_a_graph_are_told_after_each_replay(recorder, stream, strict):
    x, i = zeros(3), on_cuda([5], "int64")
    tl.take(x, i)
    with Stream(recorder, 9) as capturing, faults.strict_indexing(strict):
        capturing.begin_capture()
        result = tl.take(x, i)
        report, _ = faults.fault_records(0).record_of_current_stream(driver())
        x.__dlpack__(stream=9)  # no time to look
        capturing.end_capture()
    for replay in range(2):
        result.to_device("cpu")
        leave(report, 5 + replay, 5 + replay, 3)
        with pytest.raises(IndexError, match=f"^take: index {5 + replay} is out of bounds"):
            result.to_device("cpu")
    result.to_device("cpu")


@pytest.mark.gpu
def test_gpu_replays_write_to_memory_that_nobody_else_has():
    with on_gpu() as cupy:
        x, i = tl.ones((2, 1 << 22), device="cuda"), on_cuda([5], "int64")
        total, y = tl.sum(x, axis=1), zeros(1000)
        y += 1
        y += tl.flip(y)
        tl.take(y, i)
        with cupy.cuda.Stream(non_blocking=True) as stream:
            stream.begin_capture()
            total = tl.sum(x, axis=1)
            y += 1
            y += tl.flip(y)
            with pytest.raises(CaptureError):
                x @ x.mT
            graph = stream.end_capture()
            others = [tl.zeros(n, device="cuda") for n in range(100, 5000, 50)]
            for _ in range(3):
                graph.launch()
            assert [float(item) for item in total.to_device("cpu")] == [1 << 22] * 2
            assert float(y[0]) == 30
            assert not any(bool(tl.any(item)) for item in others)
