"""Tensors on CUDA, as the simulator has it: devices, moves, views, and how they reach the host."""

import contextvars
import gc
import pickle
import threading

import numpy as np
import pytest
import tensors
from simulated import needs_compiler, simulator
from tensors import as_dtype, same, slots
from test_cuda_failures import run
from test_cuda_streams import Described

import tensorlayout as tl
from tensorlayout import cpu, cuda
from tensorlayout.cuda.engine import faults
from tensorlayout.cuda.engine.driver import driver

pytestmark = needs_compiler


@pytest.fixture(scope="module", autouse=True)
def _simulated():
    with simulator():
        yield


@pytest.fixture
def gpu():
    return driver()


class Copies:
    """Copies and allocations of a driver, in **bytes**."""

    def __init__(self, gpu, patch):
        self.moved, self.allocated = [], []
        for record, name, nbytes in (
            (self.moved, "copy_to_device", lambda pointer, source: source.nbytes),
            (self.moved, "copy_to_host", lambda destination, pointer: destination.nbytes),
            (self.moved, "copy_device_to_device", lambda destination, source, nbytes: nbytes),
            (self.allocated, "allocate", lambda nbytes, device: nbytes),
        ):
            patch.setattr(gpu, name, self.noting(record, name, nbytes, getattr(gpu, name)))

    @staticmethod
    def noting(record, name, nbytes, function):
        def call(*args):
            record.append((name, nbytes(*args)))
            return function(*args)

        return call


@pytest.fixture
def copies(gpu, monkeypatch):
    faults.raise_pending_errors()  # which else would happen in the midst of what is recorded
    return Copies(gpu, monkeypatch)


def on_cuda(values, **options):
    return tl.asarray(values, device="cuda", **options)


# --- devices -----------------------------------------------------------------------------------


def test_names_of_devices():
    assert tl.__array_namespace_info__().devices() == ("cpu", "cuda:0", "cuda:1")
    for name, number in [("cuda", 0), ("cuda:0", 0), ("cuda:1", 1), (tl.Device("cuda", 1), 1)]:
        x = tl.empty((2,), device=name)
        assert (x.device, x.device.kind, x.device.number) == (f"cuda:{number}", "cuda", number)


@pytest.mark.parametrize("name", ["cuda:2", "cuda:x", "cudaq", tl.Device("cuda", -1)])
def test_a_device_that_is_not_there(name):
    with pytest.raises(ValueError, match=r"^zeros: device must be .*\(cpu, cuda:0, cuda:1\), got"):
        tl.zeros((2,), device=name)


def test_cuda_is_not_imported_before_it_is_asked_for():
    code = """
import sys
import tensorlayout as tl
x = tl.zeros(2, device="cpu").to_device("cpu") + tl.ones(2)
print([name for name in sys.modules if name.startswith(("tensorlayout.cuda.", "cupy."))])
"""
    assert run(code, TENSORLAYOUT_CUDA_SIMULATOR="1") == ["[]"]


# --- the default device ------------------------------------------------------------------------


@pytest.fixture
def default():
    yield
    tl.set_default_device(None)


def device_of_another_thread():
    results = []
    thread = threading.Thread(target=lambda: results.append(tl.zeros(2).device))
    thread.start()
    thread.join()
    return results[0]


def test_the_default_is_that_of_the_innermost_block_and_then_of_the_process(default):
    assert tl.zeros(2).device == tl.default_device() == "cpu"
    tl.set_default_device("cuda:1")
    assert tl.__array_namespace_info__().default_device() == "cuda:1"
    assert tl.zeros(2).device == "cuda:1"  # the plan of the same call on the CPU is another
    with tl.using_device("cuda:0") as outer:
        assert tl.zeros(2).device == outer == "cuda:0"
        assert device_of_another_thread() == "cuda:1"
        with tl.using_device("cpu"):
            assert tl.zeros(2).device == "cpu"
        tl.set_default_device(None)
        assert tl.zeros(2).device == "cuda:0"
        assert device_of_another_thread() == "cpu"
    assert tl.zeros(2).device == "cpu"


def test_a_task_begun_in_a_block_keeps_the_device():
    with tl.using_device("cuda:1"):
        task = contextvars.copy_context()
    assert (task.run(tl.default_device), tl.default_device()) == ("cuda:1", "cpu")


def test_the_variable():
    with simulator(TENSORLAYOUT_DEFAULT_DEVICE="cuda:1"):
        assert tl.zeros(2).device == tl.default_device() == "cuda:1"


ABACUS = "device must be one of those available"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tl.set_default_device("abacus"), ValueError, f"set_default_device: {ABACUS}"),
        (lambda: tl.using_device("abacus").__enter__(), ValueError, f"using_device: {ABACUS}"),
        (lambda: tl.using_device(None).__enter__(), TypeError, "using_device: .* got None"),
        (
            lambda: tl.zeros(2),
            ValueError,
            "zeros: TENSORLAYOUT_DEFAULT_DEVICE must be .* got 'abacus'$",
        ),
    ],
)
def test_default_devices_that_are_not_there(call, error, message):
    with simulator(TENSORLAYOUT_DEFAULT_DEVICE="abacus"), pytest.raises(error, match=f"^{message}"):
        call()


def test_creation_on_the_device_asked_for_and_on_the_default_one():
    layout = tl.Layout.padded((3,), (5,), None, tl.PaddingValue.ONE)
    for make in (
        lambda **to: tl.full((3,), 2, layout=layout, **to),
        lambda **to: tl.asarray([[1, 2], [3, 4]], **to),
        lambda **to: tl.fft.fftfreq(4, **to),
    ):
        expected = make()
        with tl.using_device("cuda:1"):
            results = {"cuda:1": make(), "cuda:0": make(device="cuda")}
        for where, x in results.items():
            assert (x.device, x.layout) == (where, expected.layout)
            same(x.to_device("cpu"), np.asarray(expected))


def test_like_follows_its_tensor():
    x = on_cuda([[1, 2], [3, 4]], layout=(0, 1))
    for y in (tl.empty_like(x), tl.zeros_like(x), tl.ones_like(x), tl.full_like(x, 5)):
        assert (y.device, y.layout) == ("cuda:0", x.layout)
    assert tl.zeros_like(x, device="cpu").device == "cpu"
    assert tl.full_like(x, x[0, 1], device="cuda:1").to_device("cpu")[1, 1] == 2


def test_empty_writes_nothing(copies):
    x = tl.empty((4, 4), dtype="float32", layout=(0, 1), device="cuda")
    assert (copies.moved, copies.allocated) == ([], [("allocate", 64)])
    assert x.strides == (1, 4)


def test_arrays_stay_where_they_are():
    with tl.using_device("cuda"):
        assert tl.asarray(np.zeros(2)).device == "cpu"
        assert tl.asarray(tl.zeros(2, device="cuda:1")).device == "cuda:1"
        assert tl.from_storage(bytes(8), "(2):(1)", dtype="float32").device == "cpu"


# --- moves -------------------------------------------------------------------------------------


def test_between_devices():
    array = np.arange(60).reshape(4, 3, 5)
    for view in (np.s_[::-1], np.s_[:, 1], np.s_[..., ::4]):
        y = on_cuda(array)[view].to_device("cuda:1")
        same(y.to_device("cpu"), array[view])
        assert y.home[0].device == 1


def test_one_copy_and_one_allocation(copies):
    x = tl.reshape(tl.arange(6, dtype=tl.int32), (2, 3))
    y = x.to_device("cuda")
    assert (copies.moved, copies.allocated) == ([("copy_to_device", 24)], [("allocate", 24)])
    y.to_device("cuda:1")
    assert copies.moved[1:] == [("copy_device_to_device", 24)]
    assert copies.allocated[1:] == [("allocate", 24)]
    y.to_device("cpu")
    assert copies.moved[2:] == [("copy_to_host", 24)]
    assert y.to_device("cuda") is y
    assert (len(copies.moved), len(copies.allocated)) == (3, 2)


def test_asarray_and_astype_move():
    x, y = on_cuda([1, 2, 3]), tl.asarray([1, 2, 3])
    assert tl.asarray(x, device="cuda") is tl.asarray(x) is x
    for moved in (
        tl.asarray(x, device="cpu", dtype="float32"),
        tl.astype(x, "float32", device="cpu"),
        tl.asarray(y, device="cuda", dtype="float32").to_device("cpu"),
        tl.astype(y, "float32", device="cuda").to_device("cpu"),
    ):
        same(moved, np.array([1, 2, 3], "float32"))
    assert tl.astype(x, "int64", device="cuda:1", copy=False).device == "cuda:1"


def test_arrays_of_the_host_are_moved_or_refused():
    array = np.arange(6).reshape(2, 3)
    assert tl.asarray(array.T, device="cuda", copy=True).strides == (1, 3)
    for convert, error in ((tl.asarray, ValueError), (tl.from_dlpack, BufferError)):
        moved = convert(array, device="cuda")
        same(moved.to_device("cpu"), array)
        with pytest.raises(error, match=r": the memory is on cpu, not on cuda:0"):
            convert(array, device="cuda", copy=False)


# --- reaching the host -------------------------------------------------------------------------


def test_texts_are_those_of_the_cpu():
    for array in (
        np.arange(1000),  # as many as are shown
        np.arange(7 * 6 * 100).reshape(7, 6, 100),
        np.where(np.arange(2000) == 1000, 1e30, 1.0),
        np.arange(2000).astype(tensors.BFLOAT16),
    ):
        x = tl.asarray(array)
        there = x.to_device("cuda")
        assert repr(there) == repr(x).replace("device='cpu'", "device='cuda:0'")
        assert str(there) == str(x)


def test_the_text_of_a_large_tensor_moves_its_edges_only(copies):
    x = tl.zeros((100_000,), dtype="int8", device="cuda")
    del copies.moved[:]
    assert str(x) == "[0, 0, 0, ..., 0, 0, 0]"
    assert copies.moved == [("copy_to_host", 3), ("copy_to_host", 3)]


def test_pickles_come_back_where_they_were():
    x = on_cuda([[1, 2], [3, 4]], layout=(0, 1), dtype="int16")[1:]
    text = pickle.dumps(x)
    y = pickle.loads(text)
    assert (y.device, y.dtype) == ("cuda:0", "int16")
    same(y.to_device("cpu"), np.array([[3, 4]], "int16"))
    code = "import sys; sys.modules['cupy'] = None; import pickle"
    code = f"{code}; x = pickle.loads({text!r}); print(x.device, x)"
    assert run(code) == ["cpu [[3, 4]]"]
    assert pickle.loads(pickle.dumps(tl.zeros(2, device="cuda:1"))).device == "cuda:1"


def test_numpy_is_refused():
    x = on_cuda([1.0, 2.0])
    for call in (np.asarray, np.array, lambda x: np.asarray(x, "int8"), lambda x: np.array([x, x])):
        with pytest.raises(TypeError, match=r"^__array__: NumPy .* cuda:0; use x.to_device\('cpu"):
            call(x)
    with pytest.raises(TypeError, match=r"^numpy.spacing: not on cuda:0; use to_device\('cpu'\)"):
        np.spacing(x)


# --- other devices, and that nothing is missing -------------------------------------------------

MIXED = {
    "x + y": lambda x, y: x + y,
    "x += y": lambda x, y: x.__iadd__(y),
    "where": lambda x, y: tl.where(tl.asarray([True, False], device=x.device), x, y),
    "clip": lambda x, y: tl.clip(x, y),
    "concat": lambda x, y: tl.concat([x, y]),
    "x @ y": lambda x, y: x @ y,
    "x[y]": lambda x, y: x[y],
    "x[mask]": lambda x, y: x[tl.asarray(np.array([True, False]), device=y.device)],
    "x[...] = y": lambda x, y: x.__setitem__(..., y),
    "x[[0]] = y": lambda x, y: x.__setitem__([0], y[1]),
    "take_along_axis": lambda x, y: tl.take_along_axis(x, y),
    "isin": lambda x, y: tl.isin(x, y),
    "searchsorted": lambda x, y: tl.searchsorted(x, y),
    "tensordot": lambda x, y: tl.tensordot(x, y, axes=1),
    "scatter_add": lambda x, y: tl.scatter_add(x, x, y),
}


@pytest.mark.parametrize("call", MIXED.values(), ids=MIXED)
def test_operands_on_different_devices_are_refused(call):
    here, there, other = tl.asarray([0, 1]), on_cuda([0, 1]), tl.asarray([0, 1], device="cuda:1")
    for x, y in ((here, there), (there, other)):
        with pytest.raises(ValueError, match=r"^\w+: operands live on") as caught:
            call(x, y)
        words = f"operands live on {x.device} and {y.device}; move one with to_device()"
        back = f"operands live on {y.device} and {x.device}; move one with to_device()"
        assert words in str(caught.value) or back in str(caught.value), str(caught.value)


def test_numpy_scalars_and_arrays_are_no_other_device():
    x = on_cuda([1.0, 2.0], dtype="float32")
    for call in (
        lambda: np.float32(2) * x,
        lambda: x[[0]],
        lambda: x[np.array([True, False])],
        lambda: x.__setitem__(0, np.float32(1)),
        lambda: x.__setitem__(..., np.zeros(2, np.float32)),
    ):
        call()


def test_nothing_is_missing():
    assert cuda.PLAN_COMPILERS.keys() == cpu.PLAN_COMPILERS.keys() | cpu.ALLOCATING_COMPILERS.keys()


# --- DLPack ------------------------------------------------------------------------------------


def test_dlpack_shares_the_memory(copies):
    array = slots(as_dtype("bfloat16"), 12).reshape(3, 4)
    x = tl.asarray(array, device="cuda:1")
    assert x.__dlpack_device__() == (2, 1)
    del copies.moved[:]
    for view in (x, x.mT, x[1:, ::2], x[::-1], x[:0], tl.broadcast_to(x[0], (2, 4))):
        y = tl.from_dlpack(view)
        assert (y.device, y.dtype, y.shape) == ("cuda:1", view.dtype, view.shape)
        assert cuda.export_info(y).address == cuda.export_info(view).address or not view.size
        assert view.size == 0 or y.strides == view.strides
    assert copies.moved == []
    same(tl.from_dlpack(x[1:, ::2]).to_device("cpu"), array[1:, ::2])


def test_the_memory_is_kept_until_the_last_view_tensor_or_capsule(gpu):
    gc.collect()
    before = gpu.ranges[0].total_bytes()
    users = [tl.empty((512,), dtype="int8", device="cuda")]
    users += [users[0][10:20], tl.from_dlpack(users[0]), users[0].__dlpack__()]
    while users:
        gc.collect()
        assert gpu.ranges[0].total_bytes() >= before + 512
        del users[0]
    gc.collect()
    assert gpu.ranges[0].total_bytes() == before


def test_dlpack_to_the_host_copies():
    x = on_cuda([[1, 2], [3, 4]], layout=(0, 1))
    back = tl.from_dlpack(x, device="cpu")
    assert (back.device, back.strides) == ("cpu", (1, 2))
    same(back, np.array([[1, 2], [3, 4]]))
    np.testing.assert_array_equal(np.from_dlpack(x, device="cpu"), [[1, 2], [3, 4]])
    with pytest.raises(BufferError, match=r"copy=False"):
        tl.from_dlpack(x, device="cpu", copy=False)
    with pytest.raises(BufferError, match=r"__dlpack__: the tensor is on the cuda:0, \(2, 0\)"):
        x.__dlpack__(dl_device=(2, 1))


def test_read_only_memory_stays_read_only():
    x = on_cuda([1, 2, 3])
    frozen = tl.asarray(Described(x, data=(x.memory.address, True)))
    assert frozen.readonly
    assert frozen[1:].readonly
    assert tl.from_dlpack(frozen).readonly
    with pytest.raises(ValueError, match=r"^__setitem__: the tensor is read-only"):
        frozen[0] = 1
    with pytest.raises(BufferError, match=r"^__dlpack__: a read-only tensor needs"):
        frozen.__dlpack__()
    assert not frozen.copy().readonly


# --- the CUDA array interface ------------------------------------------------------------------


def test_the_interface():
    x = on_cuda(np.arange(6, dtype="float32").reshape(2, 3))
    assert x.__cuda_array_interface__ == {
        "version": 3,
        "shape": (2, 3),
        "typestr": "<f4",
        "data": (x.memory.address, False),
        "strides": None,
        "stream": 1,
    }
    turned = x.mT[::-1].__cuda_array_interface__
    assert turned["strides"] == (-4, 12)
    assert turned["data"] == (x.memory.address + 8, False)
    assert x[:0].__cuda_array_interface__["data"] == (0, False)


def test_elements_that_share_slots_are_exported_read_only():
    x = on_cuda(np.arange(6, dtype="float32").reshape(2, 3))
    for shared in (tl.broadcast_to(x[0], (4, 3)), tl.sliding_window(x[0], 2)):
        assert shared.__cuda_array_interface__["data"] == (x.memory.address, True)
        assert tl.from_dlpack(shared).readonly
        with pytest.raises(BufferError, match=r"share slots, .* needs a DLPack of version 1"):
            shared.__dlpack__()
        assert not shared.readonly
        assert shared[0].__cuda_array_interface__["data"][1] is False


def test_no_interface_on_the_cpu_nor_for_bfloat16():
    assert not hasattr(tl.zeros(2), "__cuda_array_interface__")
    assert not hasattr(tl.zeros(2, dtype="bfloat16", device="cuda"), "__cuda_array_interface__")


def test_what_is_described_is_shared_on_the_device_of_its_memory():
    x = tl.asarray(np.arange(12).reshape(3, 4), device="cuda:1")
    for view in (x, x.mT, x[1:, ::-2], x[1, 1]):
        y = tl.asarray(Described(view))
        assert (y.device, y.strides) == ("cuda:1", view.strides)
        assert cuda.export_info(y).address == cuda.export_info(view).address
        same(y.to_device("cpu"), np.asarray(view.to_device("cpu")))
    assert tl.asarray(Described(x[:0])).shape == (0, 4)


def test_what_cannot_be_described():
    x, on_host = on_cuda([1, 2]), np.arange(2)
    odd = (cuda.export_info(x).address + 1, False)
    for changes, error, message in (
        ({"mask": x}, TypeError, ".*: a masked element has no value"),
        ({"typestr": "<M8[s]"}, TypeError, ".*: 'typestr' must be"),
        ({"strides": (3,)}, BufferError, r"strides of \(3,\) bytes are no whole"),
        ({"data": odd, "shape": (1,)}, BufferError, r"memory at 0x\w+ is not aligned to int64;"),
        (
            {"data": (on_host.ctypes.data, False)},
            BufferError,
            r"the memory at 0x\w+ is not of a CUDA device",
        ),
    ):
        with pytest.raises(error, match=f"^asarray: {message}"):
            tl.asarray(Described(x, **changes))
