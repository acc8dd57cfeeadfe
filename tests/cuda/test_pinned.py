"""Pinned memory and copies for which the host does not wait."""

import gc
import importlib

import numpy as np
import pytest
from simulated import GPUS, hybrid, needs_compiler, opened, simulator

import tensorlayout as tl
from tensorlayout.cuda.engine.driver import driver
from tensorlayout.errors import CaptureError

pytestmark = needs_compiler


@pytest.fixture(params=["simulator", *GPUS])
def name(request):
    with simulator(1) if request.param == "simulator" else opened(request.param):
        yield request.param


def numbers(shape, dtype="float32"):
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


def tensors(device):
    """Of several layouts: packed, permuted, padded, tiled, with gaps, empty, of bits."""
    rows = tl.Layout.padded((5, 6), (5, 8), padding_value=tl.PaddingValue.ZERO)
    x = tl.asarray(numbers((5, 6)), device=device)
    return {
        "packed": x,
        "permuted": x.T,
        "padded": tl.to_layout(x, rows),
        "tiled": tl.to_layout(x, "{1,0:T(2,4)}"),
        "gaps": x[:, ::2],
        "flipped": x[::-1],
        "empty": x[:0],
        "scalar": x[2, 3],
        "bits": tl.to_layout(tl.astype(x, tl.uint4), "{1,0:E(4)}"),
    }


def same(x, y):
    np.testing.assert_array_equal(np.asarray(x.to_device("cpu")), np.asarray(y.to_device("cpu")))
    assert x.dtype == y.dtype
    expected = y.spec.layout
    assert x.layout == (expected if expected.covers_block else expected.form)


def is_pinned(x):
    if driver().name == "simulator":
        return True
    return driver()._is_pinned(np.asarray(x))


@pytest.mark.parametrize("layout", tensors("cpu"))
def test_layouts(name, layout):
    x = tensors("cpu")[layout]
    pinned = tl.cuda.pin_memory(x)
    same(pinned, x)
    assert pinned.device == "cpu"
    to = tl.cuda.copy_async(pinned, "cuda")
    assert to.result().device == "cuda:0"
    same(to.result(), x)
    back = tl.cuda.copy_async(tensors("cuda")[layout], "cpu")
    same(back.result(), x)
    to.synchronize()
    assert to.done
    assert back.done


def test_memory_is_pinned_and_writable(name):
    x = tl.asarray(numbers((5, 6)))
    pinned = tl.cuda.pin_memory(x)
    assert is_pinned(pinned)
    assert is_pinned(tl.cuda.copy_async(x.to_device("cuda"), "cpu").result())
    pinned[1] = 0
    assert (np.asarray(x)[1] != 0).any(), "a copy"
    assert (np.asarray(pinned)[1] == 0).all()


@pytest.mark.parametrize("seed", range(6))
def test_a_result_on_the_host_is_there_when_it_can_be_read(seed):
    """The copy waits for its stream; until then, nobody has the tensor."""
    with hybrid(seed=seed):
        stream = tl.cuda.Stream(non_blocking=True)
        with stream:
            copies = [
                tl.cuda.copy_async(tl.full((1000,), n, dtype="int64", device="cuda"), "cpu")
                for n in range(4)
            ]
        assert [int(copy.result()[999]) for copy in copies] == [0, 1, 2, 3]
        assert not {int(x) for copy in copies for x in np.asarray(copy.result())[:5]} - {0, 1, 2, 3}


@pytest.mark.parametrize("seed", range(6))
def test_a_source_that_is_dropped_is_read_all_the_same(seed):
    with hybrid(seed=seed):
        x = tl.cuda.copy_async(tl.cuda.pin_memory(tl.asarray(numbers(1000))), "cuda").result()
        gc.collect()
        others = [tl.cuda.pin_memory(tl.zeros((1000,), dtype="float32")) for _ in range(4)]
        assert (np.asarray(x.to_device("cpu")) == numbers(1000)).all()
        assert len(others) == 4


@pytest.mark.parametrize("seed", range(6))
def test_a_result_that_nobody_wants(seed):
    """The pinned memory is kept until the copy has arrived, which would overwrite another one."""
    with hybrid(seed=seed):
        stream = tl.cuda.Stream(non_blocking=True)
        with stream:
            tl.cuda.copy_async(tl.ones((1000,), dtype="float32", device="cuda"), "cpu")
        assert tl.cuda.memory_stats() is not None  # the strict machine takes what was dropped
        others = [tl.cuda.pin_memory(tl.zeros((1000,), dtype="float32")) for _ in range(4)]
        stream.synchronize()
        assert not any(np.asarray(other).any() for other in others)


def sums_of_a_pipeline(waits, records):
    """As in docs/cuda.md, with and without what it needs."""
    batches = [tl.cuda.pin_memory(tl.full((4, 256), n, dtype=tl.float32)) for n in range(6)]
    working, copying, sums = tl.cuda.Stream.current(), tl.cuda.Stream(non_blocking=True), []
    for batch in batches:
        with copying:
            x = tl.cuda.copy_async(batch, "cuda").result()
        if waits:
            working.wait_stream(copying)
        if records:
            tl.cuda.record_stream(x, working)
        sums.append(tl.cuda.copy_async(tl.sum(x), "cpu"))
    return [float(total.result()) for total in sums]


@pytest.mark.parametrize("seed", range(8))
def test_a_pipeline(seed):
    with hybrid(seed=seed):
        assert sums_of_a_pipeline(waits=True, records=True) == [1024.0 * n for n in range(6)]


@pytest.mark.parametrize(("waits", "records"), [(False, True), (True, False)])
def test_a_pipeline_without_order(waits, records):
    faults = 0
    for seed in range(8):
        try:
            with hybrid(seed=seed):
                faults += sums_of_a_pipeline(waits, records) != [1024.0 * n for n in range(6)]
        except RuntimeError:  # an access to memory that nobody has
            faults += 1
    assert faults


def test_the_host_does_not_wait():
    with hybrid():
        x, y = tl.asarray(numbers(1000), device="cuda"), tl.cuda.pin_memory(tl.asarray(numbers(8)))
        waits = driver().counters.synchronisations
        copies = [tl.cuda.copy_async(x, "cpu"), tl.cuda.copy_async(y, "cuda")]
        copies[1].result()
        assert driver().counters.synchronisations == waits
        assert (np.asarray(copies[0].result()) == numbers(1000)).all()


def test_a_trace_shows_the_copy(name):
    x = tl.ones((8,), dtype="float32", device="cuda")
    with pytest.raises(tl.CopyError, match="copy_async"), tl.no_copies():
        tl.cuda.copy_async(x, "cpu")
    y = tl.ones((8, 2), dtype="float32", device="cpu")[::2]
    with tl.trace() as seen:
        tl.cuda.pin_memory(y)
    [record] = seen.records
    assert (record.name, record.kind, record.bytes_written) == ("pin_memory", "relayout", 32)
    with pytest.raises(tl.CopyError, match="pin it once, and use it again"), tl.no_copies():
        tl.cuda.pin_memory(y)


def test_a_position_outside_is_told(name):
    x = tl.take(tl.ones((8,), device="cuda"), tl.asarray([9], device="cuda"))
    copy = tl.cuda.copy_async(x, "cpu")
    with pytest.raises(IndexError, match=r"^take: index 9 is out of bounds for size 8$"):
        copy.result()


def test_errors(name):
    x = tl.ones((8,), device="cuda")
    for call, error, said in (
        (
            lambda: tl.cuda.pin_memory(x),
            ValueError,
            "pin_memory: x must be on the CPU, and is on c",
        ),
        (lambda: tl.cuda.pin_memory(1), TypeError, "pin_memory: x must be a tensor, got int"),
        (lambda: tl.cuda.copy_async(x, "cuda:0"), ValueError, "copy_async: copies between the CPU"),
        (lambda: tl.cuda.copy_async(1, "cpu"), TypeError, "copy_async: x must be a tensor, got in"),
        (lambda: tl.cuda.copy_async(x, None), TypeError, "copy_async: device must be a device or"),
        (lambda: tl.cuda.copy_async(x, "tpu"), ValueError, "copy_async: device must be one of th"),
    ):
        with pytest.raises(error, match=f"^{said}"):
            call()


def test_no_copy_is_captured():
    with hybrid():
        assert importlib.import_module("cupy") is not None
        x = tl.ones((8,), device="cuda")
        for device, source in (
            ("cpu", x),
            ("cuda", tl.cuda.pin_memory(tl.ones((8,), device="cpu"))),
        ):
            with pytest.raises(CaptureError), tl.cuda.capture():
                tl.cuda.copy_async(source, device)
