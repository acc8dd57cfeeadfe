"""Library calls on CUDA: on the simulator, and what CuPy is asked for, on NumPy in its place."""

import importlib
import inspect
import math
import pkgutil
import re
import sys
from collections import Counter
from types import ModuleType

import fake_cupy
import numpy as np
import pytest
from enqueued import enqueued
from simulated import GPUS, needs_compiler, opened, simulator, stand_in
from tensors import as_dtype, close, kind, slots
from test_cuda_matmul import copied, count_second_call

import tensorlayout as tl
from tensorlayout import fft, linalg
from tensorlayout.cpu.library import FUNCTIONS
from tensorlayout.cuda.engine.driver import StridedMemory
from tensorlayout.cuda.engine.simulator import checking
from tensorlayout.cuda.library import WAITING_CALLS, array_to_tensor, tensor_to_array
from tensorlayout.plan.library import Library
from tensorlayout.support import array_library as array_functions
from tensorlayout.support.array_library import ARRAY_FUNCTIONS


@pytest.fixture(scope="module")
def driver():
    with simulator() as result:
        yield result


def numbers(dtype, shape, seed=0):
    dtype = as_dtype(dtype)
    if kind(dtype) in "biu":
        return slots(dtype, 4096, seed)[: math.prod(shape)].reshape(shape)
    values = np.random.default_rng(seed).integers(-16, 17, (2, *shape)) / 8
    return (values[0] + 1j * values[1] if dtype.kind == "c" else values[0]).astype(dtype)


# ---- What is moved, waited for, counted


@needs_compiler
def test_operands_go_in_and_results_come_out_without_a_copy(driver):
    x = tl.asarray(numbers("float32", (6, 4, 4)), device="cuda")
    for y in (x, tl.matrix_transpose(x), x[::2, ::-1, :], tl.broadcast_to(x[0], (2, 4, 4))):
        for call in (linalg.det, fft.fft, linalg.vector_norm):
            assert copied(lambda call=call, y=y: call(y)) == []
    assert count_second_call(driver, lambda: fft.fft(x)) == Counter(library_calls=1)
    assert count_second_call(driver, lambda: linalg.inv(x + x.mT)) >= Counter(library_calls=1)


@needs_compiler
def test_short_floats_are_converted_and_rounded_by_kernels(driver):
    x = tl.asarray(numbers("float16", (4, 4)), device="cuda")
    assert copied(lambda: fft.ifft(x)) == [("ifft", "copy", 64)]
    done = count_second_call(driver, lambda: linalg.matrix_norm(x, ord="nuc"))
    assert done == Counter(launches=2, allocations=2, library_calls=1, synchronisations=2)
    wide = tl.broadcast_to(x[0], (1000, 4))
    assert copied(lambda: fft.fft(wide)) == [("fft", "copy", 16)]


@needs_compiler
def test_what_is_repeated_is_converted_once_and_stays_repeated(driver):
    x = tl.broadcast_to(tl.asarray([[1], [2]], dtype=tl.bfloat16, device="cuda"), (2, 3))
    assert tl.vecdot(x, x).tolist() == [3, 12]


@needs_compiler
def test_shapes_that_depend_on_data_wait_once(driver):
    x = tl.asarray(numbers("int32", (5, 7)), device="cuda")
    for call in (tl.unique_all, tl.unique_counts, tl.unique_inverse, tl.unique_values):
        done = count_second_call(driver, lambda call=call: call(x))
        assert done == Counter(library_calls=1, synchronisations=1), call


@needs_compiler
def test_sums_of_products_are_matrix_products(driver):
    x = tl.asarray(numbers("float64", (4, 5, 6)), device="cuda")
    y = x[0]
    calls = {
        "the last axes": lambda: tl.tensordot(x, y.mT, axes=1),
        "the first axes": lambda: tl.tensordot(x, x, axes=((0, 1), (0, 1))),
        "padded": lambda: tl.tensordot(x[:, :, :3], y[:, :3].mT, axes=1),
        "vectors": lambda: tl.vecdot(x, x),
        "columns": lambda: tl.vecdot(tl.matrix_transpose(x), tl.matrix_transpose(x), axis=-2),
    }
    for name, call in calls.items():
        assert copied(call) == [], name
        expected = Counter(library_calls=1, allocations=1)
        assert count_second_call(driver, call) == expected, name
    assert copied(lambda: tl.tensordot(x, x, axes=((0, 2), (0, 2)))) == [
        ("tensordot", "relayout", x.nbytes),
        ("tensordot", "relayout", x.nbytes),
    ]
    with enqueued() as log:
        calls["padded"]()
    assert [item.what for item in log] == ["gemm"]


@needs_compiler
def test_vectors_of_complex_numbers_are_conjugated(driver):
    for shape, axis in (((3, 4), -1), ((3, 4), -2), ((4,), -1)):
        a, b = numbers("complex64", shape), numbers("complex64", shape, 1)
        x, y = tl.asarray(a, device="cuda"), tl.asarray(b, device="cuda")
        for u, v, c, d in ((x, y, a, b), (tl.flip(x), y, np.flip(a), b)):
            result = np.asarray(tl.vecdot(u, v, axis=axis).to_device("cpu"))
            np.testing.assert_allclose(result, np.sum(c.conj() * d, axis), 1e-5)


@needs_compiler
def test_memory_that_was_never_written_is_not_read(driver):
    with checking("bounds", "initialized"):
        x = tl.empty((3, 3), dtype="float64", device="cuda")
        with pytest.raises(RuntimeError, match="a library call reads memory"):
            linalg.det(x)
        assert float(linalg.det(tl.eye(3, device="cuda"))) == 1


@needs_compiler
def test_arrays_over_the_memory_of_the_device(driver):
    x = tl.asarray(np.arange(6, dtype=np.float32).reshape(2, 3), device="cuda:1")
    array = tensor_to_array(x[:, ::-1])
    before = driver.ranges[1].total_bytes()
    del x
    assert driver.ranges[1].total_bytes() == before
    assert array.tolist() == [[2, 1, 0], [5, 4, 3]]
    assert array_to_tensor(array, tl.Device("cuda:1")).layout == tl.Layout(
        (2, 3), (3, -1), offset=2
    )
    del array
    assert driver.ranges[1].total_bytes() < before
    none = StridedMemory(0, (0, 3), (12, 4), np.dtype("f4"), 0)
    assert driver.array_over_memory(none, None).shape == (0, 3)
    with pytest.raises(RuntimeError, match="a library call on 12 bytes at 0x40, which are not all"):
        driver.array_over_memory(StridedMemory(64, (3,), (4,), np.dtype("f4"), 0), None)


def test_how_far_an_array_reaches():
    assert StridedMemory(100, (2, 3), (-12, 4), np.dtype("f4"), 0).lowest_address_and_nbytes == (
        88,
        24,
    )
    assert StridedMemory(100, (2, 3), (0, -8), np.dtype("f8"), 0).lowest_address_and_nbytes == (
        84,
        24,
    )
    assert StridedMemory(100, (), (), np.dtype("f8"), 0).lowest_address_and_nbytes == (100, 8)
    assert StridedMemory(100, (2, 0), (4, 4), np.dtype("f4"), 0).lowest_address_and_nbytes == (
        100,
        0,
    )


@needs_compiler
def test_another_device():
    x = tl.asarray(numbers("float32", (3, 4, 4)), device="cuda:1")
    y = tl.astype(x, tl.int16)
    for call in (lambda: linalg.pinv(x), lambda: tl.unique_values(y), lambda: x @ x, lambda: y @ y):
        assert call().device == "cuda:1"
    result = tl.tensordot(x, x, axes=3)
    expected = np.asarray(tl.sum(x * x).to_device("cpu"))
    close(result.to_device("cpu"), expected)


# ---- The table, on NumPy


def operations():
    """The names of all that is planned as a library call."""
    for info in pkgutil.walk_packages(tl.__path__, "tensorlayout."):
        if not re.search(r"__main__|\.cuda|\.cli|\.demo", info.name):
            for value in vars(importlib.import_module(info.name)).values():
                if isinstance(value, Library):
                    yield value.name


# Of which CUDA has kernels, or matrix products.
OURS = {"searchsorted", "tensordot"}


def test_the_tables_have_every_operation():
    names = set(operations())
    assert FUNCTIONS.keys() == names
    assert ARRAY_FUNCTIONS.keys() == names - OURS
    assert names >= WAITING_CALLS


def matrix(dtype, shape=(3, 4, 4), seed=0):
    a = numbers(dtype, shape, seed)
    return (a + np.swapaxes(a, -1, -2).conj()) / 2 + 8 * np.eye(shape[-1], dtype=dtype)


def test_a_factor_with_nan_is_refused():
    library = ModuleType("cupy")
    library.linalg = ModuleType("linalg")
    library.linalg.cholesky = lambda x: np.full_like(x, np.nan)
    library.isnan = np.isnan
    with pytest.raises(np.linalg.LinAlgError):
        ARRAY_FUNCTIONS["cholesky"](library, np.eye(2), upper=False)


# ---- The calls of CuPy


@pytest.fixture
def cupy_like():
    with stand_in() as recorder:
        yield recorder


def on_stand_in(a):
    return tl.asarray(np.ascontiguousarray(a), device="cuda")


def test_cupy_is_asked_on_the_operands_memory(cupy_like):
    a = matrix("float64", (2, 3, 3))
    x = on_stand_in(a)
    linalg.inv(x)
    cupy_like.calls.clear()
    result = linalg.inv(x)
    assert cupy_like.calls == [("errstate", "raise")]
    assert (str(result.device), result.layout) == ("cuda:0", tl.Layout.row_major((2, 3, 3)))
    cupy_like.calls.clear()
    np.testing.assert_allclose(np.asarray(result.to_device("cpu")), np.linalg.inv(a))
    for view, expected in ((x[:, ::-1, :], a[:, ::-1]), (x[0].mT, a[0].T)):
        result = np.asarray(linalg.det(view).to_device("cpu"))
        np.testing.assert_allclose(result, np.linalg.det(expected))


SINGULAR, EIGENVALUES = "Singular matrix", "Eigenvalues did not converge"
SINGULAR_VALUES = "SVD did not converge"
FAILURES = {
    "cholesky": (linalg.cholesky, "Matrix is not positive definite"),
    "inv": (linalg.inv, SINGULAR),
    "matrix_power": (lambda x: linalg.matrix_power(x, -2), SINGULAR),
    "solve": (lambda x: linalg.solve(x, x), SINGULAR),
    "eig": (linalg.eig, EIGENVALUES),
    "eigh": (linalg.eigh, EIGENVALUES),
    "eigvals": (linalg.eigvals, EIGENVALUES),
    "eigvalsh": (linalg.eigvalsh, EIGENVALUES),
    "svd": (linalg.svd, SINGULAR_VALUES),
    "svdvals": (linalg.svdvals, SINGULAR_VALUES),
    "matrix_rank": (linalg.matrix_rank, SINGULAR_VALUES),
    "pinv": (linalg.pinv, SINGULAR_VALUES),
    "matrix_norm, nuc": (lambda x: linalg.matrix_norm(x, ord="nuc"), SINGULAR_VALUES),
    "matrix_norm, 2": (lambda x: linalg.matrix_norm(x, ord=2), SINGULAR_VALUES),
    "matrix_norm, -2": (lambda x: linalg.matrix_norm(x, ord=-2), SINGULAR_VALUES),
}


@pytest.mark.parametrize("where", ["cpu", "cuda"])
@pytest.mark.parametrize("case", FAILURES)
def test_failures_are_told_in_our_words(cupy_like, monkeypatch, case, where):
    """Whatever a library says; and of elements that are not finite it is not asked."""

    def reports(*_, **__):
        raise np.linalg.LinAlgError("Error reported by a routine")

    cusolver = ModuleType("cupyx.cusolver")
    cusolver.check_availability = lambda name: {"geev": True}[name]
    monkeypatch.setitem(sys.modules, "cupyx.cusolver", cusolver)
    for name in FAILURES.keys() & {*fake_cupy.LINALG}:
        monkeypatch.setattr(sys.modules["cupy"].linalg, name, reports)
    name = case.partition(",")[0]
    monkeypatch.setitem(FUNCTIONS, name, reports)
    tl.plan.run.cache_clear()
    call, words = FAILURES[case]
    for value in (1, math.nan, -math.inf):
        refused = words in (EIGENVALUES, SINGULAR_VALUES) and not math.isfinite(value)
        expected = "elements must be finite" if refused else words
        with pytest.raises(np.linalg.LinAlgError, match=f"^{name}: {expected}$"):
            call(tl.asarray([[1.0, 0.0], [0.0, value]], device=where))


def test_what_the_library_gives_is_kept_as_long_as_the_tensor(cupy_like):
    x = on_stand_in(np.array([3.0, 1.0, 3.0]))
    values, counts = tl.unique_counts(x)
    del x
    assert np.asarray(values.to_device("cpu")).tolist() == [1, 3]
    assert np.asarray(counts.to_device("cpu")).tolist() == [1, 2]


@pytest.mark.parametrize("available", [True, False])
def test_without_a_routine_the_host_takes_over(cupy_like, monkeypatch, available):
    cusolver = ModuleType("cupyx.cusolver")
    cusolver.check_availability = lambda name: {"geev": available}[name]
    monkeypatch.setitem(sys.modules, "cupyx.cusolver", cusolver)
    a = np.array([[0.0, -1.0], [1.0, 0.0]])
    x = on_stand_in(a)
    with tl.trace() as seen:
        result = linalg.eig(x)
    values = np.asarray(result.eigenvalues.to_device("cpu")) if not available else None
    steps = [(r.name, r.kind, r.bytes_read, r.bytes_written) for r in seen]
    assert steps[-1][:2] == ("eig", "compute")
    if available:
        assert len(steps) == 1
    else:
        np.testing.assert_allclose(values, [1j, -1j])
        # The matrix there, eigenvalues and vectors back.
        assert [r[:3] for r in steps[:-1]] == [("eig", "copy", n) for n in (32, 32, 64)]


@pytest.mark.ci
def test_cupy_has_what_is_called():
    cupy = pytest.importorskip("cupy", reason="optional: cupy")
    cupyx = importlib.import_module("cupyx")
    for name in fake_cupy.FUNCTIONS:
        assert callable(getattr(cupy, name)), name
    for name in fake_cupy.LINALG:
        assert callable(getattr(cupy.linalg, name)), name
    for name in fake_cupy.FFT:
        first = list(inspect.signature(getattr(cupy.fft, name)).parameters)
        several = name.endswith("fftn")
        assert first[1:4] == (["s", "axes", "norm"] if several else ["n", "axis", "norm"]), name
    called = {
        cupy.argsort: ["a", "axis", "kind"],
        cupy.bincount: ["x", "weights", "minlength"],
        cupy.cross: ["a", "b", "axisa", "axisb", "axisc", "axis"],
        cupy.cumsum: ["a", "axis", "dtype", "out"],
        cupy.gradient: ["f", "varargs", "axis", "edge_order"],
        cupy.linalg.svd: ["a", "full_matrices", "compute_uv"],
        cupy.linalg.qr: ["a", "mode"],
        cupy.max: ["a", "axis", "out", "keepdims"],
        cupy.searchsorted: ["a", "v", "side", "sorter"],
        cupy.sum: ["a", "axis", "dtype", "out", "keepdims"],
        cupyx.errstate: ["divide", "over", "under", "invalid", "linalg"],
    }
    for function, names in called.items():
        assert list(inspect.signature(function).parameters) == names, function
    for ours, theirs in (
        (fake_cupy.ndarray, cupy.ndarray.__init__),
        (fake_cupy.UnownedMemory.__init__, cupy.cuda.UnownedMemory),
        (fake_cupy.MemoryPointer.__init__, cupy.cuda.MemoryPointer),
    ):
        text = f"{cupy.ndarray.__doc__} {theirs.__doc__}"
        for name in list(inspect.signature(ours).parameters):
            assert name in ("self", "*_") or name in text, (ours, name)


def test_cupy_tells_what_cusolver_can_do():
    pytest.importorskip("cupy", reason="optional: cupy")
    # An ImportError of another kind where NVIDIA's library is missing.
    library = pytest.importorskip(
        "cupyx.cusolver", reason="optional: cuSOLVER", exc_type=ImportError
    )
    assert callable(library.check_availability)


def test_the_fake_has_all_that_the_table_uses():
    """So that the test above looks at every name."""
    source = inspect.getsource(array_functions)
    words = set(re.findall(r"xp\.(?:linalg\.|fft\.)?(\w+)", source))
    words |= {
        name for name in ARRAY_FUNCTIONS if ARRAY_FUNCTIONS[name].__name__ in ("<lambda>", "call")
    }
    known = {*fake_cupy.FUNCTIONS, *fake_cupy.LINALG, *fake_cupy.FFT, "linalg", "fft", "__name__"}
    assert words <= known, words - known


# ---- On a GPU


@pytest.mark.parametrize("gpu", GPUS)
def test_gpu_failures_are_raised(gpu):
    with opened(gpu):
        zero = tl.zeros((2, 2), device="cuda")
        stack, nan = tl.zeros((3, 2, 2), device="cuda"), tl.full((2, 2), math.nan, device="cuda")
        arguments = {
            "inv": (zero, stack),
            "cholesky": (zero, stack, nan),
            "eigh": (nan,),
            "svd": (nan,),
        }
        for name, matrices in arguments.items():
            for x in matrices:
                with pytest.raises(np.linalg.LinAlgError, match=f"^{name}: "):
                    getattr(linalg, name)(x)
        with pytest.raises(np.linalg.LinAlgError, match=r"^solve: "):
            linalg.solve(zero, zero)
