"""Tensors on CUDA, as the simulator has it: devices, moves, views, and how they reach the host."""

import copy
import gc
import os
import pickle
import subprocess
import sys
import threading

import layouts
import numpy as np
import pytest
import tensors
from simulated import needs_compiler, simulator
from tensors import as_dtype, fits, same, slots, tensor_in

import tensorlayout as tl
from tensorlayout import cpu, cuda
from tensorlayout.cpu.engine.memory import storage_of
from tensorlayout.cuda.engine import faults
from tensorlayout.cuda.engine.driver import driver

pytestmark = needs_compiler

ANY = tensors.DTYPES["any"]


@pytest.fixture(scope="module", autouse=True)
def _simulated():
    with simulator():
        yield


@pytest.fixture
def gpu():
    return driver()


class Copies:
    """What a driver was asked to move and to allocate, in **bytes**."""

    def __init__(self, gpu, patch):
        self.moved, self.allocated = [], []
        for name, size in (
            ("to_device", lambda pointer, source: source.nbytes),
            ("to_host", lambda destination, pointer: destination.nbytes),
            ("on_device", lambda destination, source, nbytes: nbytes),
        ):
            patch.setattr(gpu, name, self.seen(self.moved, name, size, getattr(gpu, name)))
        size = lambda nbytes, device: nbytes  # noqa: E731
        allocate = self.seen(self.allocated, "allocate", size, gpu.allocate)
        patch.setattr(gpu, "allocate", allocate)

    @staticmethod
    def seen(record, name, size, function):
        def wrapped(*args):
            record.append((name, size(*args)))
            return function(*args)

        return wrapped


@pytest.fixture
def copies(gpu, monkeypatch):
    faults.check()  # which else would happen in the midst of what is recorded
    return Copies(gpu, monkeypatch)


def on_cuda(values, **options):
    return tl.asarray(values, device="cuda", **options)


def run(code, **environment):
    """The output of a new process, without CUDA unless `environment` says so."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("TENSORLAYOUT_")}
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.modules['cupy'] = None\n{code}"],
        check=False,
        capture_output=True,
        text=True,
        env=inherited | environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr


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


def test_without_cuda_one_line_says_what_to_install():
    code = """
import tensorlayout as tl
print(tl.__array_namespace_info__().devices())
try:
    tl.zeros(2, device="cuda")
except ValueError as error:
    print(error)
"""
    out, err = run(code)
    assert out.splitlines() == [
        "(Device('cpu'),)",
        "zeros: device must be one of those available (cpu), got 'cuda';"
        " cuda needs an NVIDIA GPU and CuPy: pip install tensorlayout[cuda12];"
        " TENSORLAYOUT_CUDA_SIMULATOR=1 simulates one",
    ]
    assert err == ""


def test_a_driver_that_fails_says_why():
    code = """
import tensorlayout as tl
try:
    tl.zeros(2, device="cuda:0")
except ValueError as error:
    print(error)
"""
    out, _ = run(code, TENSORLAYOUT_CUDA_SIMULATOR="1", CXX="no-such-compiler")
    assert out.startswith("zeros: device must be one of those available (cpu), got 'cuda:0'; cuda:")
    assert "CXX=no-such-compiler" in out


def test_cuda_is_not_imported_before_it_is_asked_for():
    code = """
import tensorlayout as tl
x = tl.zeros(2, device="cpu").to_device("cpu") + tl.ones(2)
print([name for name in sys.modules if name.startswith(("tensorlayout.cuda.", "cupy."))])
"""
    assert run(code, TENSORLAYOUT_CUDA_SIMULATOR="1")[0] == "[]"


# --- the default device ------------------------------------------------------------------------


@pytest.fixture
def default():
    yield
    tl.set_default_device(None)


def test_the_default_is_the_cpu():
    assert tl.default_device() == tl.__array_namespace_info__().default_device() == "cpu"


def test_the_default_set_for_the_process(default):
    assert tl.zeros(2).device == "cpu"
    tl.set_default_device("cuda:1")
    assert tl.__array_namespace_info__().default_device() == "cuda:1"
    assert tl.zeros(2).device == "cuda:1"  # the plan of the same call on the CPU is another
    tl.set_default_device(None)
    assert tl.zeros(2).device == "cpu"
    with pytest.raises(ValueError, match=r"^set_default_device: device must be one of"):
        tl.set_default_device("abacus")


def test_the_default_inside_a_block(default):
    tl.set_default_device("cuda:1")
    with tl.using_device("cuda:0") as outer:
        assert tl.zeros(2).device == outer == "cuda:0"
        with tl.using_device("cpu"):
            assert tl.zeros(2).device == "cpu"
        assert tl.zeros(2).device == "cuda:0"
        tl.set_default_device("cpu")
        assert tl.zeros(2).device == "cuda:0"
    assert tl.zeros(2).device == "cpu"
    with pytest.raises(ValueError, match=r"^using_device: device must be"), tl.using_device("no"):
        pass
    with pytest.raises(TypeError, match=r"^using_device: .* got None"), tl.using_device(None):
        pass


def test_a_block_is_of_its_thread_and_the_process_of_all(default):
    seen = []
    with tl.using_device("cuda:1"):
        thread = threading.Thread(target=lambda: seen.append(tl.zeros(2).device))
        thread.start()
        thread.join()
    tl.set_default_device("cuda:0")
    thread = threading.Thread(target=lambda: seen.append(tl.zeros(2).device))
    thread.start()
    thread.join()
    assert seen == ["cpu", "cuda:0"]


def test_the_variable():
    with simulator(TENSORLAYOUT_DEFAULT_DEVICE="cuda:1"):
        assert tl.zeros(2).device == tl.default_device() == "cuda:1"
    with (
        simulator(TENSORLAYOUT_DEFAULT_DEVICE="abacus"),
        pytest.raises(ValueError, match=r"^TENSORLAYOUT_DEFAULT_DEVICE must be .* got 'abacus'$"),
    ):
        tl.zeros(2)


PADDED = tl.Layout.padded((3,), (5,), None, tl.PaddingValue.ONE)
CREATIONS = {
    "zeros": lambda **to: tl.zeros((2, 3), **to),
    "ones": lambda **to: tl.ones((2, 3), dtype="int8", **to),
    "full": lambda **to: tl.full((2, 3), 7, **to),
    "full, bfloat16": lambda **to: tl.full((2,), 1.5, dtype="bfloat16", **to),
    "arange": lambda **to: tl.arange(5, **to),
    "linspace": lambda **to: tl.linspace(0, 1, 5, **to),
    "eye": lambda **to: tl.eye(3, 4, k=1, **to),
    "asarray of a list": lambda **to: tl.asarray([[1, 2], [3, 4]], **to),
    "asarray of a number": lambda **to: tl.asarray(2.5, **to),
    "asarray of no numbers": lambda **to: tl.asarray([], **to),
    "asarray of a NumPy scalar": lambda **to: tl.asarray(np.float32(2.5), **to),
    "fftfreq": lambda **to: tl.fft.fftfreq(4, **to),
    "a layout with padding": lambda **to: tl.full((3,), 2, layout=PADDED, **to),
    "a layout with gaps": lambda **to: tl.zeros((2, 3), layout=tl.Layout((2, 3), (7, 2)), **to),
}


@pytest.mark.parametrize("make", CREATIONS.values(), ids=CREATIONS)
def test_creation_on_the_device_asked_for_and_on_the_default_one(make):
    expected = make()
    assert expected.device == "cpu"
    with tl.using_device("cuda:1"):
        default = make()
    for x, where in [(default, "cuda:1"), (make(device="cuda"), "cuda:0")]:
        assert (x.device, x.layout) == (where, expected.layout)
        same(x.to_device("cpu"), np.asarray(expected))


def test_padding_is_written_by_creation():
    for make in (tl.empty, tl.zeros):
        x = make((3,), dtype="int16", layout=PADDED, device="cuda")
        assert x.layout == PADDED
        assert tensors.padding_of(x.to_device("cpu")).tolist() == [1, 1]


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


@pytest.mark.parametrize("name", ANY)
def test_round_trip(name):
    dtype = as_dtype(name)
    for number, layout in enumerate(layouts.STRIDED):
        if not fits(layout, dtype):
            continue
        x, expected = tensor_in(layout, slots(dtype, layout.required_size, number))
        y = x.to_device("cuda:1")
        kept = layout.covers_block
        assert y.device == "cuda:1"
        assert y.layout == (layout.moved(-layout.lowest) if kept else layout.form), layout
        back = y.to_device("cpu")
        assert (back.layout, back.device) == (y.layout, "cpu")
        same(back, expected, str(layout))
        if kept:
            count = layout.required_size - layout.lowest
            at = layout.lowest * dtype.itemsize
            slots_of_x = storage_of(x)[at : at + count * dtype.itemsize]
            assert storage_of(back).tobytes() == slots_of_x.tobytes(), layout


@pytest.mark.parametrize("layout", layouts.STRIDED, ids=str)
def test_a_view_on_cuda_comes_to_the_host_in_its_form(layout):
    dtype = as_dtype("int32")
    values = slots(dtype, layout.required_size)
    whole = on_cuda(values)
    placed = tl.asarray(values)._spec
    spec = type(placed)(dtype, layout, whole.device)
    place = cuda.engine.memory.Place(whole._memory.address + layout.lowest * 4, False)
    x = tl.Tensor._new(place, spec, (whole._home[0], layout.lowest))
    assert x.layout == layout
    back = x.to_device("cpu")
    same(back, tensors.elements(layout, values))
    assert back.layout == (layout.moved(-layout.lowest) if layout.covers_block else layout.form)


def test_between_devices():
    array = np.arange(60).reshape(4, 3, 5)
    x = on_cuda(array)
    for view in (lambda x: x, lambda x: x[::-1], lambda x: x[:, 1], lambda x: x[..., ::4]):
        y = view(x).to_device("cuda:1")
        same(y.to_device("cpu"), view(array))
        assert y._home[0].device == 1


def test_one_copy_and_one_allocation(copies):
    x = tl.reshape(tl.arange(6, dtype=tl.int32), (2, 3))
    y = x.to_device("cuda")
    assert (copies.moved, copies.allocated) == ([("to_device", 24)], [("allocate", 24)])
    y.to_device("cuda:1")
    assert copies.moved[1:] == [("on_device", 24)]
    assert copies.allocated[1:] == [("allocate", 24)]
    y.to_device("cpu")
    assert copies.moved[2:] == [("to_host", 24)]
    assert y.to_device("cuda") is y
    assert (len(copies.moved), len(copies.allocated)) == (3, 2)


def test_a_move_is_traced():
    with tl.trace() as seen:
        tl.ones((2, 3), dtype=tl.int8).to_device("cuda")
    assert [(r.name, r.kind, r.bytes_written) for r in seen][1:] == [("to_device", "copy", 6)]


def test_what_moved_is_new():
    x = tl.zeros(3)
    y = x.to_device("cuda").to_device("cpu")
    x[0] = 5
    assert y[0] == 0
    assert not y.readonly
    frozen = tl.from_storage(bytes(8), "(2):(1)", dtype="int32")
    assert frozen.readonly
    assert not frozen.to_device("cuda").readonly


def test_asarray_and_astype_move():
    x = on_cuda([1, 2, 3])
    assert tl.asarray(x) is x
    assert tl.asarray(x, device="cuda") is x
    for y in (
        tl.asarray(x, device="cpu", dtype="float32"),
        tl.astype(x, "float32", device="cpu"),
        tl.asarray(tl.asarray([1, 2, 3]), device="cuda", dtype="float32").to_device("cpu"),
        tl.astype(tl.asarray([1, 2, 3]), "float32", device="cuda").to_device("cpu"),
    ):
        same(y, np.array([1, 2, 3], "float32"))
    assert tl.astype(x, "int64", device="cuda:1", copy=False).device == "cuda:1"
    array = np.arange(6).reshape(2, 3)
    y = tl.asarray(array.T, device="cuda", copy=True)
    assert y.strides == (1, 3)
    with pytest.raises(ValueError, match=r"^asarray: the memory is on cpu, not on cuda:0, and"):
        tl.asarray(array, device="cuda", copy=False)


def test_a_stream_to_move_on():
    x = tl.zeros(2)
    for stream in (None, 1, 2, -1, 2**40):
        assert x.to_device("cuda", stream=stream).to_device("cpu", stream=stream).device == "cpu"
    with pytest.raises(ValueError, match=r"^to_device: stream must be -1, 1, 2 .* got 0; 0 could"):
        x.to_device("cuda", stream=0)
    with pytest.raises(ValueError, match=r"^to_device: the cpu has no streams, got stream=1"):
        x.to_device("cpu", stream=1)
    with pytest.raises(TypeError, match=r"^to_device: device must be .* got None"):
        x.to_device(None)


# --- views -------------------------------------------------------------------------------------

VIEWS = {
    "row": lambda x: x[1],
    "last row": lambda x: x[-1],
    "every second": lambda x: x[:, ::2],
    "backwards": lambda x: x[::-1, 1:],
    "new dimension": lambda x: x[None, ..., 0],
    "nothing": lambda x: x[2:2],
    "one element": lambda x: x[1, 2, 3],
    "iterated": lambda x: list(x)[2],
}
MANIPULATIONS = {
    "permute_dims": (lambda xp, x: xp.permute_dims(x, (2, 0, 1))),
    "flip": (lambda xp, x: xp.flip(x, axis=1)),
    "expand_dims": (lambda xp, x: xp.expand_dims(x, axis=1)),
    "squeeze": (lambda xp, x: xp.squeeze(x[:, :1], axis=1)),
    "broadcast_to": (lambda xp, x: xp.broadcast_to(x, (2, *x.shape))),
    "reshape": (lambda xp, x: xp.reshape(x, (4, 15))),
    "unstack": (lambda xp, x: xp.unstack(x)[3]),
    "mT": (lambda xp, x: x.mT),
}
ALL_VIEWS = {
    **{name: (lambda xp, x, view=view: view(x)) for name, view in VIEWS.items()},
    **MANIPULATIONS,
}


@pytest.mark.parametrize("view", ALL_VIEWS.values(), ids=ALL_VIEWS)
def test_views_move_nothing(view, copies, gpu):
    array = np.arange(60).reshape(4, 3, 5)
    x, there = tl.asarray(array), on_cuda(array)
    before = gpu.counters.launches, len(copies.moved), len(copies.allocated)
    y = view(tl, there)
    assert (gpu.counters.launches, len(copies.moved), len(copies.allocated)) == before
    assert y._home[0] is there._home[0]
    assert y.layout == view(tl, x).layout
    back = y.to_device("cpu")
    same(back, view(np, array))


def test_parts_of_complex_numbers_are_views():
    x = on_cuda([[1 + 2j, 3 - 4j], [5j, -6]])[1:, ::-1]
    for part, expected in ((tl.real(x), [[-6.0, 0.0]]), (tl.imag(x), [[0.0, 5.0]])):
        assert part._home[0] is x._home[0]
        assert part.to_device("cpu").layout.size == 2
        same(part.to_device("cpu"), np.array(expected))
        assert float(part[0, 1]) == expected[0][1]


def test_rows_outside():
    for key in (3, -4):
        with pytest.raises(
            IndexError, match=r"^__getitem__: index .* is out of bounds for dimension 0"
        ):
            on_cuda([1, 2, 3])[key]


def test_views_keep_the_memory_and_give_it_back(gpu):
    gc.collect()
    before = gpu.ranges[0].total()
    x = tl.empty((1000,), dtype="int8", device="cuda")
    row = x[10:20]
    assert gpu.ranges[0].total() == before + 1000
    del x
    assert gpu.ranges[0].total() == before + 1000
    del row
    assert gpu.ranges[0].total() == before


def test_a_flat_copy_is_one_copy_of_bytes(copies):
    x = on_cuda([[1, 2], [3, 4]], layout=(0, 1))
    y = copy.deepcopy(x)
    assert copies.moved[1:] == [("on_device", 32)]
    assert (y.layout, y.device) == (x.layout, x.device)
    assert y._home[0] is not x._home[0]
    same(y.to_device("cpu"), np.array([[1, 2], [3, 4]]))


# --- reaching the host -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ANY)
def test_numbers(name):
    dtype = as_dtype(name)
    x = on_cuda(np.array([0, 1], dtype))
    assert [bool(v) for v in x] == [False, True]
    assert [complex(v) for v in x] == [0j, 1 + 0j]
    if dtype.kind != "c":
        assert [int(v) for v in x] == [0, 1]
        assert [float(v) for v in x] == [0.0, 1.0]
    if dtype.kind in "iu":
        assert "ab"[x[1]] == "b"
        assert format(x[1], "03d") == "001"


def test_in_and_iteration():
    x = on_cuda([[1.0, 2.0], [3.0, np.nan]])
    assert 3 in x
    assert 4 not in x
    assert x[0, 1] in x
    assert [[float(v) for v in row] for row in x[:1]] == [[1.0, 2.0]]
    assert len(x) == 2


TEXTS = {
    "rank 0": np.float32(2.5),
    "empty": np.zeros((0, 3)),
    "small": np.arange(6, dtype=np.int8).reshape(2, 3),
    "at the limit": np.arange(1000),
    "rank 1": np.arange(1001) * 1000,
    "rank 2": np.arange(4000).reshape(50, 80) / 7,
    "rank 3, some short": np.arange(7 * 6 * 100).reshape(7, 6, 100),
    "rank 4": np.arange(4096).reshape(8, 8, 8, 8),
    "sizes 1": np.arange(2000).reshape(1, 2000, 1),
    "short rows": np.arange(2002).reshape(286, 7),
    "complex": np.arange(2000) * (1 + 2j),
    "wide in the middle": np.where(np.arange(2000) == 1000, 1e30, 1.0),
    "bfloat16": np.arange(2000).astype(tensors.BFLOAT16),
}


@pytest.mark.parametrize("array", TEXTS.values(), ids=TEXTS)
def test_texts_are_those_of_the_cpu(array):
    x = tl.asarray(array)
    there = x.to_device("cuda")
    assert repr(there) == repr(x).replace("device='cpu'", "device='cuda:0'")
    assert str(there) == str(x)
    assert f"{there}" == f"{x}"
    if array.ndim > 1 and array.size:
        assert str(there.mT) == str(x.mT)


def test_the_text_of_a_large_tensor_moves_its_edges_only(copies):
    x = tl.zeros((100_000,), dtype="int8", device="cuda")
    del copies.moved[:]
    assert str(x) == "[0, 0, 0, ..., 0, 0, 0]"
    assert copies.moved == [("to_host", 3), ("to_host", 3)]


def test_pickles_come_back_where_they_were():
    x = on_cuda([[1, 2], [3, 4]], layout=(0, 1), dtype="int16")[1:]
    text = pickle.dumps(x)
    y = pickle.loads(text)
    assert (y.device, y.dtype) == ("cuda:0", "int16")
    same(y.to_device("cpu"), np.array([[3, 4]], "int16"))
    elsewhere = f"import pickle; x = pickle.loads({text!r}); print(x.device, x)"
    assert run(elsewhere)[0] == "cpu [[3, 4]]"
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
    "x < y": lambda x, y: x < y,
    "where": lambda x, y: tl.where(tl.asarray([True, False], device=x.device), x, y),
    "clip": lambda x, y: tl.clip(x, y),
    "concat": lambda x, y: tl.concat([x, y]),
    "stack": lambda x, y: tl.stack([x, y]),
    "x @ y": lambda x, y: x @ y,
    "x[y]": lambda x, y: x[y],
    "x[mask]": lambda x, y: x[tl.asarray(np.array([True, False]), device=y.device)],
    "x[...] = y": lambda x, y: x.__setitem__(..., y),
    "x[0] = y": lambda x, y: x.__setitem__(0, y[1]),
    "x[[0]] = y": lambda x, y: x.__setitem__([0], y[1]),
    "take": lambda x, y: tl.take(x, y),
    "take_along_axis": lambda x, y: tl.take_along_axis(x, y),
    "isin": lambda x, y: tl.isin(x, y),
    "searchsorted": lambda x, y: tl.searchsorted(x, y),
    "vecdot": lambda x, y: tl.vecdot(x, y),
    "tensordot": lambda x, y: tl.tensordot(x, y, axes=1),
    "diff": lambda x, y: tl.diff(x, prepend=y),
    "scatter_add": lambda x, y: tl.scatter_add(x, x, y),
    "scatter_max": lambda x, y: tl.scatter_max(x, y, 1),
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
    x = on_cuda([1.0, 2.0])
    for call in (
        lambda: np.float32(2) * x,
        lambda: x + np.int8(1),
        lambda: tl.clip(on_cuda([1, 2]), 0.5),
        lambda: tl.tril(on_cuda([[1, 2], [3, 4]])),
        lambda: x[[0]],
        lambda: x[np.array([0])],
        lambda: x[np.array([True, False])],
        lambda: x.__setitem__(0, np.float64(1)),
        lambda: x.__setitem__(..., np.zeros(2)),
        lambda: x.__setitem__(..., [1, 2]),
        lambda: tl.searchsorted(x, 1.5),
        lambda: tl.isin(x, 1),
    ):
        call()


def test_nothing_is_missing():
    assert cuda.CARRY_OUT.keys() == cpu.CARRY_OUT.keys() | cpu.DIRECT.keys()


# --- DLPack ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ANY)
def test_dlpack_shares_the_memory(name, copies):
    x = tl.asarray(slots(as_dtype(name), 12).reshape(3, 4), device="cuda:1")
    assert x.__dlpack_device__() == (2, 1)
    del copies.moved[:]
    for view in (x, x.mT, x[1:, ::2], x[::-1], x[:0], tl.broadcast_to(x[0], (2, 4))):
        y = tl.from_dlpack(view)
        assert (y.device, y.dtype, y.shape) == ("cuda:1", view.dtype, view.shape)
        assert cuda.exposed(y).address == cuda.exposed(view).address or not view.size
        assert view.size == 0 or y.strides == view.strides
    assert copies.moved == []
    y = tl.from_dlpack(x[1:, ::2])
    expected = np.asarray(x.to_device("cpu"))[1:, ::2]
    same(y.to_device("cpu"), expected)


def test_dlpack_keeps_the_memory_until_the_last(gpu):
    gc.collect()
    before = gpu.ranges[0].total()
    x = tl.empty((512,), dtype="int8", device="cuda")
    y = tl.from_dlpack(x)
    capsule = x.__dlpack__()
    del x
    gc.collect()
    assert gpu.ranges[0].total() >= before + 512
    del y
    gc.collect()
    assert gpu.ranges[0].total() == before + 512
    del capsule
    gc.collect()
    assert gpu.ranges[0].total() == before


def test_dlpack_to_the_host_copies():
    x = on_cuda([[1, 2], [3, 4]], layout=(0, 1))
    back = tl.from_dlpack(x, device="cpu")
    assert (back.device, back.strides) == ("cpu", (1, 2))
    same(back, np.array([[1, 2], [3, 4]]))
    array = np.from_dlpack(x, device="cpu")
    np.testing.assert_array_equal(array, [[1, 2], [3, 4]])
    with pytest.raises(BufferError, match=r"copy=False"):
        tl.from_dlpack(x, device="cpu", copy=False)
    with pytest.raises(BufferError, match=r"__dlpack__: the tensor is on the cuda:0, \(2, 0\)"):
        x.__dlpack__(dl_device=(2, 1))


def test_dlpack_from_the_host_moves():
    array = np.arange(3)
    x = tl.from_dlpack(array, device="cuda")
    array[0] = 7
    assert x.device == "cuda:0"
    same(x.to_device("cpu"), np.arange(3))
    with pytest.raises(BufferError, match=r"^from_dlpack: the memory is on cpu, not on cuda:0, a"):
        tl.from_dlpack(array, device="cuda", copy=False)


def test_dlpack_streams(gpu):
    x = on_cuda([1, 2])
    before = gpu.counters.synchronisations
    for stream in (None, 1, 2, 2**40, -1):
        x.__dlpack__(stream=stream)
    assert gpu.counters.synchronisations == before
    for stream in (0, -2):
        with pytest.raises(ValueError, match=r"^__dlpack__: stream must be -1, 1, 2 or the"):
            x.__dlpack__(stream=stream)
    for stream in ("1", 1.0, True):
        with pytest.raises(TypeError, match=r"^__dlpack__: stream must be an integer or None"):
            x.__dlpack__(stream=stream)
    with pytest.raises(ValueError, match=r"^__dlpack__: the cpu has no streams"):
        x.__dlpack__(stream=1, dl_device=(1, 0))


class Exporter:
    """Another library's CUDA array; remembers how it was asked."""

    def __init__(self, tensor):
        self.tensor = tensor
        self.asked = {}

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, **asked):
        self.asked = asked
        return self.tensor.__dlpack__(**asked)


class OldExporter(Exporter):
    """One from before DLPack 1."""

    def __dlpack__(self, *, stream=None):
        self.asked = {"stream": stream}
        return self.tensor.__dlpack__(stream=stream)


def test_exporters_are_told_our_stream():
    for kind in (Exporter, OldExporter):
        exporter = kind(on_cuda([1, 2]))
        for y in (tl.from_dlpack(exporter), tl.asarray(exporter)):
            assert exporter.asked["stream"] == 1
            assert y._memory.address == exporter.tensor._memory.address
    exporter = Exporter(on_cuda([1, 2]))
    tl.from_dlpack(exporter, device="cpu")
    assert "stream" not in exporter.asked


def test_read_only_memory_stays_read_only():
    x = on_cuda([1, 2, 3])
    frozen = tl.asarray(Interface(x, readonly=True))
    assert frozen.readonly
    assert frozen[1:].readonly
    assert tl.from_dlpack(frozen).readonly
    with pytest.raises(ValueError, match=r"^__setitem__: the tensor is read-only"):
        frozen[0] = 1
    with pytest.raises(BufferError, match=r"^__dlpack__: a read-only tensor needs"):
        frozen.__dlpack__()
    assert not frozen.copy().readonly


# --- the CUDA array interface ------------------------------------------------------------------


class Interface:
    """An array that is described and nothing else."""

    def __init__(self, tensor, readonly=False, **changes):
        found = tensor.__cuda_array_interface__
        found["data"] = (found["data"][0], readonly)
        self.__cuda_array_interface__ = found | changes
        self.tensor = tensor


def test_the_interface():
    x = on_cuda(np.arange(6, dtype="float32").reshape(2, 3))
    assert x.__cuda_array_interface__ == {
        "version": 3,
        "shape": (2, 3),
        "typestr": "<f4",
        "data": (x._memory.address, False),
        "strides": None,
        "stream": 1,
    }
    turned = x.mT[::-1].__cuda_array_interface__
    assert turned["strides"] == (-4, 12)
    assert turned["data"] == (x._memory.address + 8, False)
    assert x[:0].__cuda_array_interface__["data"] == (0, False)


def test_elements_that_share_slots_are_exported_read_only():
    x = on_cuda(np.arange(6, dtype="float32").reshape(2, 3))
    for shared in (tl.broadcast_to(x[0], (4, 3)), tl.sliding_window(x[0], 2)):
        assert shared.__cuda_array_interface__["data"] == (x._memory.address, True)
        assert tl.from_dlpack(shared).readonly
        with pytest.raises(BufferError, match=r"share slots, .* needs a DLPack of version 1"):
            shared.__dlpack__()
        assert not shared.readonly
        assert shared[0].__cuda_array_interface__["data"][1] is False


def test_no_interface_on_the_cpu_nor_for_bfloat16():
    assert not hasattr(tl.zeros(2), "__cuda_array_interface__")
    assert not hasattr(tl.zeros(2, dtype="bfloat16", device="cuda"), "__cuda_array_interface__")


def test_what_is_described_is_shared():
    x = on_cuda(np.arange(12).reshape(3, 4))
    for view in (x, x.mT, x[1:, ::-2], x[1, 1]):
        y = tl.asarray(Interface(view))
        assert (y.device, y.strides) == ("cuda:0", view.strides)
        assert cuda.exposed(y).address == cuda.exposed(view).address
        same(y.to_device("cpu"), np.asarray(view.to_device("cpu")))
    assert tl.asarray(Interface(x[:0])).shape == (0, 4)


def test_what_cannot_be_described():
    x = on_cuda([1, 2])
    with pytest.raises(TypeError, match=r"^asarray: .*: a masked element has no value"):
        tl.asarray(Interface(x, mask=x))
    with pytest.raises(TypeError, match=r"^asarray: .*: 'typestr' must be"):
        tl.asarray(Interface(x, typestr="<M8[s]"))
    with pytest.raises(BufferError, match=r"^asarray: strides of \(3,\) bytes are no whole"):
        tl.asarray(Interface(x, strides=(3,)))
    with pytest.raises(BufferError, match=r"^asarray: memory at 0x\w+ is not aligned to int64;"):
        tl.asarray(Interface(x, data=(cuda.exposed(x).address + 1, False), shape=(1,)))


# --- memory ------------------------------------------------------------------------------------


def test_out_of_memory():
    with simulator(TENSORLAYOUT_SIMULATOR_MEMORY="1000"):
        x = tl.empty((600,), dtype="int8", device="cuda")
        words = r"cuda:0: asked for 800 bytes, and 400 bytes are free$"
        with pytest.raises(MemoryError, match=rf"^zeros: {words}"):
            tl.zeros((100,), device="cuda")
        with pytest.raises(MemoryError, match=rf"^to_device: {words}"):
            tl.zeros((100,)).to_device("cuda")
        del x
        assert tl.zeros((100,), device="cuda").device == "cuda:0"


def test_sizes_beyond_any_memory():
    with pytest.raises(MemoryError, match=r"^empty: "):
        tl.empty((2**40,), device="cuda")
