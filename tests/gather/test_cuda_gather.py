"""Reads at positions on CUDA: index and element widths, positions outside, memory accesses.

Values in every layout: `ops/indexing_cases.py`.
"""

import io
import threading
from collections import Counter

import numpy as np
import pytest
from simulated import needs_compiler, simulator
from tensors import placed, same, tensor_in
from test_cuda_matmul import count_second_call

import tensorlayout as tl
from tensorlayout.cuda import gather
from tensorlayout.cuda.engine import faults
from tensorlayout.cuda.engine.simulator import checking
from tensorlayout.cuda.gather import plan_gather
from tensorlayout.functions import dispatch
from tensorlayout.plan.gather import Gather
from tensorlayout.tensor import TensorSpec

pytestmark = needs_compiler


@pytest.fixture(scope="module", autouse=True)
def gpu():
    with simulator() as result:
        yield result


def on_cuda(values, dtype=None):
    return tl.asarray(np.asarray(values, dtype)).to_device("cuda")


def rng():
    return np.random.default_rng(0)


# --- Values --------------------------------------------------------------------------------------


def test_more_positions_and_dimensions_than_a_kernel_is_made_for(gpu):
    layout = tl.Layout((2,) * 9, [3**k for k in range(9)])
    x, array = tensor_in(layout, np.arange(layout.required_size, dtype=np.uint8))
    x, i = placed(x), np.asarray([1, 0, 0, -1])
    for count in (1, 4, 5, 7):
        key = (i, -1 - i, i, i, -1 - i, i, i)[:count]
        on_device = tuple(map(on_cuda, key))
        same(x[on_device].to_device("cpu"), array[key])
        same(x[:, :, *on_device].to_device("cpu"), array[:, :, *key])
        assert count_second_call(gpu, lambda key=on_device: x[key])["launches"] == 1 + (count > 4)


def test_indices_of_64_bits(monkeypatch):
    monkeypatch.setattr(gather, "narrowest_index_type", lambda count, furthest: "int64_t")
    values = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
    i = np.asarray([2, 0, -3, 1])
    with checking("bounds", "races"):
        for axis in range(3):
            x = on_cuda(values)
            key = (slice(None),) * axis + (i % values.shape[axis],)
            same(x[(slice(None),) * axis + (on_cuda(key[axis]),)].to_device("cpu"), values[key])
    tl.plan.run.cache_clear()


def plan_of(x, dims, *positions):
    plan = Gather("take").plan(x, dims, False, *positions)
    return plan_gather(plan, (32, 32)).launches


def spec(layout, dtype=tl.float32):
    return TensorSpec(dtype, layout, tl.Device("cuda"))


def test_64_bits_only_where_offsets_ask_for_it():
    i = spec(tl.Layout.row_major((5,)), tl.int32)
    for rows, index in ((2**29, "int32_t"), (2**29 + 8, "int64_t")):
        (launch,) = plan_of(spec(tl.Layout.row_major((rows, 16))), (0,), i)
        assert dict(launch.kernel.shape) == {"RANK": "2", "INDEX": index, "WIDTH": "16"}


_CLAMPS = Gather("nearest", clamps=True)


def call(out, operation, operands, axis):
    key = (operands[0].spec, (axis,), False, operands[1].spec)
    return dispatch.call_into(out, operation, key, operands)


# --- Positions outside ---------------------------------------------------------------------------

BAD = [
    ("int64", 4), ("int64", -5), ("int64", 2**63 - 1), ("int64", -(2**63)), ("int32", -(2**31)),
    ("int32", 2**31 - 1), ("int8", -128), ("int8", 127), ("uint8", 255), ("uint16", 2**16 - 1),
    ("uint32", 2**32 - 1), ("uint64", 2**63 - 1),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "bad"), BAD)
@pytest.mark.parametrize("axis", [0, 1])
def test_a_position_outside(dtype, bad, axis):
    values = np.arange(1, 17, dtype=np.float32).reshape(4, 4)
    x, i = on_cuda(values), np.asarray([1, bad, 3, bad], dtype)
    with checking("bounds", "initialized", "races"):
        result = tl.take(x, on_cuda(i), axis=axis)
    text = f"take: index {bad} is out of bounds for size 4"
    with pytest.raises(IndexError) as caught:
        result.to_device("cpu")
    assert str(caught.value) == text
    expected = np.take(values, [1, 0, 3, 0], axis)
    np.moveaxis(expected, axis, 0)[[1, 3]] = 0
    same(result.to_device("cpu"), expected)  # once is enough
    same((x + 1).to_device("cpu"), values + 1)


@pytest.mark.parametrize(("dtype", "far"), [*BAD, ("uint64", 2**64 - 1)])
def test_the_nearest_position_for_one_outside(gpu, dtype, far):
    values = np.arange(1, 129, dtype=np.float32).reshape(8, 16)[::2, 3:7]
    x, i = on_cuda(np.arange(1, 129, dtype=np.float32).reshape(8, 16))[::2, 3:7], [1, far, 3, 0]
    nearest = np.asarray([1, 3 if far > 0 else 0, 3, 0])
    at = on_cuda(i, dtype)
    out = tl.zeros((4, 4), dtype=tl.float32, device="cuda")
    call(out, _CLAMPS, (x, at), 0)  # the first call allocates memory for faults
    for axis in (0, 1):
        out = tl.zeros((4, 8), dtype=tl.float32, device="cuda")[:, ::2]
        for view in (out, out.T, tl.flip(out, axis=axis)):
            before = gpu.counters.launches, gpu.counters.allocations
            with checking("bounds", "initialized", "races"):
                result = call(view, _CLAMPS, (x, at), axis)
            after = gpu.counters.launches, gpu.counters.allocations
            assert (after[0] - before[0], after[1] - before[1]) == (1, 0)
            same(result.to_device("cpu"), np.take(values, nearest, axis))


@pytest.mark.parametrize("bad", [2**63, 2**64 - 1])
def test_the_greatest_positions_are_outside(bad):
    result = on_cuda([1.0, 2.0])[on_cuda([bad], "uint64")]
    with pytest.raises(IndexError, match="index 9223372036854775807 is out of bounds"):
        result.to_device("cpu")
    same(result.to_device("cpu"), np.zeros(1))


WAITING = {
    "nonzero": tl.nonzero,
    "histogram": tl.histogram,
    "item": lambda x: x.item(0),
    "mask": lambda x: x[x > 1],
    "repeat": lambda x: tl.repeat(x, on_cuda([1, 2, 3, 4])),
    "delete": lambda x: tl.delete(x, on_cuda([0])),
    "save": lambda x: tl.save(io.BytesIO(), x),
}


@pytest.mark.parametrize("waits", WAITING.values(), ids=WAITING)
def test_an_error_keeps_the_name_of_the_call_that_caused_it(waits):
    x = on_cuda(np.arange(4.0))
    tl.take(x, on_cuda([7]))
    with pytest.raises(IndexError, match=r"^take: index 7 is out of bounds for size 4$"):
        waits(x)


@pytest.mark.parametrize("kind", ["int8", "uint8", "int64", "uint64"])
@pytest.mark.parametrize("size", [5, 300])
def test_delete_checks_positions_at_once(kind, size):
    x = tl.zeros((size,), device="cuda")
    assert tl.delete(x, on_cuda([4, 0], kind)).shape == (size - 2,)
    far = int(np.iinfo(kind).max)
    if far < size:
        assert tl.delete(x, on_cuda([far], kind)).shape == (size - 1,)
        return
    with pytest.raises(IndexError, match=f"^delete: index {far} is out of bounds for axis 0"):
        tl.delete(x, on_cuda([0, far], kind))


def test_arguments_beside_tensors_on_a_device():
    x = on_cuda(np.arange(6.0))
    for at in (
        [1],
        (1, 2),
        (),
        [],
        1,
        np.array([1]),
        np.int64(1),
        on_cuda([1]),
        on_cuda(np.arange(6) < 2),
    ):
        there = at.to_device("cpu").memory if isinstance(at, tl.Tensor) else at
        same(tl.delete(x, at).to_device("cpu"), np.delete(np.arange(6.0), there))
    with pytest.raises(IndexError, match="out of bounds"):
        tl.delete(x, 2**70)
    counts, _ = tl.histogram(x, 3, (tl.min(x), tl.max(x)))
    assert counts.tolist() == [2, 2, 2]


def test_some_outside_among_many():
    values = np.arange(1000, dtype=np.int32)
    i = rng().integers(-1500, 1500, 5000)
    good = (i >= -1000) & (i < 1000)
    with checking("bounds", "races"):
        result = on_cuda(values)[on_cuda(i)]
    with pytest.raises(IndexError, match=f"__getitem__: index {i.min()} is out of bounds"):
        result.to_device("cpu")
    same(result.to_device("cpu"), np.where(good, values[np.where(good, i, 0)], 0).astype("int32"))


def test_the_second_of_two_and_the_seventh_of_seven():
    x = tl.zeros((2, 3), device="cuda")
    with pytest.raises(IndexError, match="__getitem__: index 3 is out of bounds for size 3"):
        x[on_cuda([0, 1]), on_cuda([3, 2])].to_device("cpu")
    x = tl.zeros((2,) * 6 + (3,), device="cuda")
    i = on_cuda([0, 1])
    with pytest.raises(IndexError, match="index -4 is out of bounds for size 3"):
        x[i, i, i, i, i, i, on_cuda([0, -4])].to_device("cpu")
    with pytest.raises(IndexError, match="index 7 is out of bounds for size 2"):
        x[i, on_cuda([7, 0]), i, i, i, i, i].to_device("cpu")


def test_positions_of_an_empty_result_are_checked():
    result = tl.take(tl.zeros((3, 0), device="cuda"), on_cuda([3]), axis=0)
    with pytest.raises(IndexError, match="take: index 3 is out of bounds for size 3"):
        result.to_device("cpu")
    result = tl.take(tl.zeros((0, 2), device="cuda"), on_cuda([0]), axis=0)
    with pytest.raises(IndexError, match="take: index 0 is out of bounds for size 0"):
        result.to_device("cpu")
    same(result.to_device("cpu"), np.zeros((1, 2)))
    assert tl.take(tl.zeros((0, 2), device="cuda"), on_cuda([], "int64"), axis=0).shape == (0, 2)


def test_positions_that_meet_none_are_not_checked():
    x, none = on_cuda(np.ones((2, 3))), on_cuda([], "int64")
    for use in (lambda: x[on_cuda([2]), none], lambda: x.__setitem__((none, on_cuda([-4])), 1)):
        use()
        assert x.to_device("cpu").tolist() == [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
    assert x[on_cuda([1]), none].to_device("cpu").shape == (0,)


def bad_take():
    return tl.take(on_cuda([1.0, 2.0]), on_cuda([9]), axis=0)


MESSAGE = "take: index 9 is out of bounds for size 2"
EXPORTS = {
    "to the CPU": lambda x: x.to_device("cpu"),
    "a number": lambda x: float(tl.sum(x.to_device("cpu"))),
    "text": str,
    "DLPack": lambda x: x.__dlpack__(),
    "DLPack, no wait": lambda x: x.__dlpack__(stream=-1),
    "another device": lambda x: x.to_device("cuda:1"),
    "CUDA's array interface": lambda x: x.__cuda_array_interface__,
    "a stream": lambda x: x.to_device("cuda", stream=1),
    "another tensor": lambda x: tl.ones((2,), device="cuda").to_device("cpu"),
    "from_dlpack": tl.from_dlpack,
}


@pytest.mark.parametrize("name", EXPORTS)
def test_where_the_error_comes(name):
    x = bad_take()
    with pytest.raises(IndexError, match=MESSAGE):
        EXPORTS[name](x)
    EXPORTS[name](x)


def test_strict_indexing_raises_at_once():
    with tl.cuda.strict_indexing(), pytest.raises(IndexError, match=MESSAGE):
        bad_take()
    tl.cuda.set_strict_indexing(True)
    with pytest.raises(IndexError, match=MESSAGE):
        bad_take()
    with tl.cuda.strict_indexing(False):
        x = bad_take()
    tl.cuda.set_strict_indexing(None)
    with pytest.raises(IndexError, match=MESSAGE):
        x.to_device("cpu")


def test_the_variable_of_strict_indexing(monkeypatch):
    faults._is_strict_by_environment.cache_clear()
    monkeypatch.setenv("TENSORLAYOUT_STRICT_INDEXING", "1")
    with pytest.raises(IndexError, match=MESSAGE):
        bad_take()
    faults._is_strict_by_environment.cache_clear()
    monkeypatch.setenv("TENSORLAYOUT_STRICT_INDEXING", "on")
    with pytest.raises(ValueError, match="TENSORLAYOUT_STRICT_INDEXING must be 0 or 1, got 'on'"):
        tl.take(on_cuda([1.0]), on_cuda([0]), axis=0)
    faults._is_strict_by_environment.cache_clear()


def test_of_two_operations_the_first_is_named():
    x = on_cuda([1.0, 2.0])
    x[on_cuda([5])]
    bad_take()
    with pytest.raises(IndexError, match="__getitem__: index 5"):
        x.to_device("cpu")
    same(x.to_device("cpu"), np.asarray([1.0, 2.0]))


def test_each_device_has_its_own_record():
    x = tl.asarray([1.0, 2.0], device="cuda:1")
    result = tl.take(x, tl.asarray([9], device="cuda:1"), axis=0)
    with pytest.raises(IndexError, match=MESSAGE):
        result.to_device("cpu")


def test_another_thread_is_told_too():
    bad_take()
    caught = []

    def read():
        try:
            on_cuda([1.0]).to_device("cpu")
        except IndexError as error:
            caught.append(str(error))

    thread = threading.Thread(target=read)
    thread.start()
    thread.join()
    assert caught == [MESSAGE]


# --- What it costs -------------------------------------------------------------------------------


def test_one_launch_and_no_waiting(gpu):
    x, i = tl.ones((100, 100), device="cuda"), on_cuda([3, 5])
    assert count_second_call(gpu, lambda: x[i]) == Counter(launches=1, allocations=1)


SHAPES = [
    # rows, which move 16 bytes a thread
    ((400, 256), 0, 300, 16),
    # rows of one sector
    ((1000, 8), 0, 1000, 16),
    # rows behind a batch
    ((8, 100, 64), 1, 128, 16),
    # rows of an odd number of elements: each begins anywhere in a sector
    ((400, 257), 0, 300, 4),
]


@pytest.mark.parametrize(("shape", "axis", "count", "width"), SHAPES)
def test_rows_are_coalesced(shape, axis, count, width):
    x = tl.zeros(shape, dtype=tl.float32, device="cuda")
    i = on_cuda(rng().integers(0, shape[axis], count), "int32")
    with checking("bounds", "count") as record:
        tl.take(x, i, axis=axis)
    result = record.total_of_kernel("gather_elements")
    assert result.sector_efficiency_write >= 0.99
    assert result.sector_efficiency_read >= (0.9 if width == 16 else 0.8)
    assert result.lane_activity >= 0.9
    ((kernel, _),) = record.counts.items()
    assert dict(kernel.shape)["WIDTH"] == str(width)


@pytest.mark.parametrize("axis", [0, 1])
def test_writes_are_coalesced_along_the_fastest_dimension(axis):
    x = tl.zeros((256, 512), dtype=tl.float32, device="cuda")
    i = on_cuda(rng().integers(0, 256, (256, 512)), "int32")
    with checking("count") as record:
        tl.take_along_axis(x, i, axis=axis)
    result = record.total_of_kernel("gather_elements")
    assert result.sector_efficiency_write == 1.0
    assert result.lane_activity == 1.0
