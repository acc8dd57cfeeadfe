"""Library calls on CUDA: on the simulator, and what CuPy is asked for, on NumPy in its place."""

import importlib
import inspect
import math
import pkgutil
import re
import sys
from collections import Counter
from dataclasses import replace
from types import ModuleType

import fake_cupy
import numpy as np
import pytest
from layouts import STRIDED
from on_devices import few_first
from simulated import needs_compiler, simulator
from stand_in import GPUS, on_gpu, opened, stand_in
from tensors import DTYPES, as_dtype, close, fits, kind, placed, slots, tensor_in
from test_cuda_products import copied, counted

import tensorlayout as tl
from tensorlayout import fft, linalg
from tensorlayout.cuda import library_linalg, library_sets, library_transforms
from tensorlayout.cuda.engine.arrays import array_of, tensor_of
from tensorlayout.cuda.engine.driver import Strided
from tensorlayout.cuda.engine.simulator import checking, enqueued
from tensorlayout.cuda.library_functions import TABLE, WAIT
from tensorlayout.plan.library import Library

FLOATS = DTYPES["floating-point"]
ANY = DTYPES["any"]


@pytest.fixture(scope="module")
def driver():
    with simulator() as found:
        yield found


def numbers(dtype, shape, seed=0):
    dtype = as_dtype(dtype)
    if kind(dtype) in "biu":
        return slots(dtype, 4096, seed)[: math.prod(shape)].reshape(shape)
    values = np.random.default_rng(seed).integers(-16, 17, (2, *shape)) / 8
    return (values[0] + 1j * values[1] if dtype.kind == "c" else values[0]).astype(dtype)


def all_of(found):
    return found if isinstance(found, tuple) else (found,)


def alike(found, expected, message=""):
    """Results on the device as those on the CPU: dtypes, shapes, row-major, values."""
    assert len(all_of(found)) == len(all_of(expected)), message
    for one, other in zip(all_of(found), all_of(expected), strict=True):
        assert (str(one.device), one.layout) == ("cuda:0", other.layout), message
        close(one.to_device("cpu"), np.asarray(other), message)


# ---- In every layout


def squares(dtype):
    """Square matrices that can be inverted, Hermitian ones too, in every layout that they fit."""
    for layout in STRIDED:
        if not 2 <= layout.ndim <= 4 or layout.is_overlapping or not fits(layout, as_dtype(dtype)):
            continue
        x, a = tensor_in(layout, numbers(dtype, (layout.required_size,)))
        k = min(x.shape[-2:])
        low = np.tril(a[..., :k, :k].astype(np.result_type(np.float64, a)), -1)
        x = x[..., :k, :k]
        x[...] = tl.asarray((low + np.swapaxes(low, -1, -2).conj() + 16 * np.eye(k)).astype(dtype))
        yield x


SQUARE = {
    "cholesky": lambda x: linalg.cholesky(x),
    "cholesky, upper": lambda x: linalg.cholesky(x, upper=True),
    "det": lambda x: linalg.det(x),
    "eig": lambda x: linalg.eig(x),
    "eigh": lambda x: linalg.eigh(x),
    "eigvals": lambda x: linalg.eigvals(x),
    "eigvalsh": lambda x: linalg.eigvalsh(x),
    "inv": lambda x: linalg.inv(x),
    "matrix_power": lambda x: linalg.matrix_power(x, 3),
    "matrix_power, 1": lambda x: linalg.matrix_power(x, 1),
    "slogdet": lambda x: linalg.slogdet(x),
    "solve": lambda x: linalg.solve(x, x),
    "solve, vector": lambda x: linalg.solve(x, x[(0,) * (x.ndim - 1)]) if x.size else x,
}


@needs_compiler
@pytest.mark.parametrize("name", SQUARE)
def test_square_matrices_in_every_layout(driver, name):
    for dtype in ("float32", "complex128"):
        for x in squares(dtype):
            if x.size:
                found = SQUARE[name](placed(x))
                alike(found, SQUARE[name](x), f"{name} of {dtype} in {x.layout}")


EVERY = {
    "matrix_norm": lambda x: linalg.matrix_norm(x),
    "matrix_norm, inf": lambda x: linalg.matrix_norm(x, ord=math.inf, keepdims=True),
    "matrix_rank": lambda x: linalg.matrix_rank(x),
    "pinv": lambda x: linalg.pinv(x),
    "qr": lambda x: linalg.qr(x),
    "qr, complete": lambda x: linalg.qr(x, mode="complete"),
    "svd": lambda x: linalg.svd(x),
    "svdvals": lambda x: linalg.svdvals(x),
    "vector_norm": lambda x: linalg.vector_norm(x, axis=0),
    "cross": lambda x: linalg.cross(x[..., :3], x[..., :3]) if x.shape[-1] >= 3 else x.copy(),
    "outer": lambda x: linalg.outer(x[..., 0, 0], x[..., 0, 0]) if x.ndim == 3 else x.copy(),
    "fft": lambda x: fft.fft(x, axis=0),
    "fftn": lambda x: fft.fftn(x),
    "ifft": lambda x: fft.ifft(x, n=5),
    "ifftn": lambda x: fft.ifftn(x, axes=(0,)),
    "hfft": lambda x: fft.hfft(x, n=4),
    "irfft": lambda x: fft.irfft(x, n=4),
    "irfftn": lambda x: fft.irfftn(x, s=(4, 3), axes=(0, -1)),
    "unique_all": lambda x: tl.unique_all(x),
    "unique_counts": lambda x: tl.unique_counts(x),
    "unique_inverse": lambda x: tl.unique_inverse(x),
    "unique_values": lambda x: tl.unique_values(x),
    "isin": lambda x: tl.isin(x, x[..., :1]),
    "nonzero": lambda x: tl.nonzero(x),
    "tensordot": lambda x: tl.tensordot(x, x, axes=((0, -1), (0, -1))),
    "tensordot, all": lambda x: tl.tensordot(x, x, axes=x.ndim),
    "tensordot, none": lambda x: tl.tensordot(x[..., 0], x[0], axes=0),
    "vecdot": lambda x: tl.vecdot(x, x),
    "vecdot, rows": lambda x: tl.vecdot(x, x[..., :1], axis=-2),
    "einsum": lambda x: tl.einsum("...ij->...ji", x),
}
REAL = {
    "rfft": lambda x: fft.rfft(x),
    "rfftn": lambda x: fft.rfftn(x),
    "ihfft": lambda x: fft.ihfft(x, axis=0),
    "gradient": lambda x: tl.gradient(x, axis=-1) if x.shape[-1] > 1 else x.copy(),
}


@needs_compiler
@pytest.mark.parametrize("name", [*EVERY, *REAL])
def test_every_layout(driver, name):
    call = (EVERY | REAL)[name]
    for dtype in ("float64", "complex64") if name in EVERY else ("float64",):
        for layout in STRIDED:
            if not 2 <= layout.ndim <= 4 or not layout.size or not fits(layout, as_dtype(dtype)):
                continue
            x, _ = tensor_in(layout, numbers(dtype, (layout.required_size,)))
            alike(call(placed(x)), call(x), f"{name} of {dtype} in {layout}")


@needs_compiler
def test_searchsorted_in_every_layout(driver):
    line = tl.asarray([-1.0, 0.5, 0.5, 1.0, math.nan])
    for layout in STRIDED:
        if fits(layout, as_dtype("float64")):
            x, _ = tensor_in(layout, numbers("float64", (layout.required_size,)))
            for side in ("left", "right"):
                found = tl.searchsorted(line.to_device("cuda"), placed(x), side=side)
                alike(found, tl.searchsorted(line, x, side=side), str(layout))


@needs_compiler
@pytest.mark.parametrize("dtype", few_first(ANY))
def test_every_dtype(driver, dtype):
    x = tl.asarray(numbers(dtype, (4, 4)))
    y = x.to_device("cuda")
    calls = [tl.unique_all, tl.nonzero, lambda x: tl.isin(x, x[0])]
    if dtype != "bool":
        calls += [
            lambda x: tl.tensordot(x, x.mT),
            lambda x: tl.vecdot(x, x),
            lambda x: linalg.outer(x[0], x[1]),
            lambda x: linalg.cross(x[:3], x[1:], axis=-2),
        ]
    if dtype in DTYPES["real numeric"]:
        calls.append(lambda x: tl.searchsorted(x[0, :1], x))
    if dtype in FLOATS:
        calls += [linalg.svd, linalg.vector_norm, linalg.pinv, fft.fft, fft.irfft]
    for call in calls:
        alike(call(y), call(x))
    if dtype in DTYPES["real floating"]:
        alike(linalg.solve(y, tl.astype(y, "float64")), linalg.solve(x, tl.astype(x, "float64")))


EMPTY = {
    "inv": lambda x: linalg.inv(x[:0, :0]),
    "det": lambda x: linalg.det(x[:0, :0]),
    "svd": lambda x: linalg.svd(x[:, :0]),
    "qr": lambda x: linalg.qr(x[:0], mode="complete"),
    "matrix_norm": lambda x: linalg.matrix_norm(x[:0]),
    "vector_norm": lambda x: linalg.vector_norm(x[:0], axis=0),
    "fft": lambda x: fft.fft(x[:0], axis=0, n=3),
    "fft of a batch of none": lambda x: fft.fft(x[:0]),
    "unique_all": lambda x: tl.unique_all(x[:0]),
    "isin": lambda x: tl.isin(x, x[:0]),
    "nonzero": lambda x: tl.nonzero(x[:0]),
    "tensordot": lambda x: tl.tensordot(x[:, :0], x[:0], axes=1),
    "vecdot": lambda x: tl.vecdot(x[:, :0], x[:, :0]),
    "searchsorted": lambda x: tl.searchsorted(x[0, :0], x),
}


@needs_compiler
@pytest.mark.parametrize("name", EMPTY)
def test_nothing(driver, name):
    x = tl.asarray(numbers("float32", (3, 3)))
    alike(EMPTY[name](x.to_device("cuda")), EMPTY[name](x), name)


@needs_compiler
def test_rank_0(driver):
    x = tl.asarray(2.5)
    for call in (tl.unique_all, linalg.vector_norm, fft.fftn, lambda x: tl.isin(x, 2.5)):
        if call is not fft.fftn:
            alike(call(x.to_device("cuda")), call(x))


# ---- What is moved, waited for, counted


@needs_compiler
def test_operands_go_in_and_results_come_out_without_a_copy(driver):
    x = tl.asarray(numbers("float32", (6, 4, 4)), device="cuda")
    for y in (x, tl.matrix_transpose(x), x[::2, ::-1, :], tl.broadcast_to(x[0], (2, 4, 4))):
        for call in (linalg.det, fft.fft, linalg.vector_norm):
            assert copied(lambda call=call, y=y: call(y)) == []
    assert counted(driver, lambda: fft.fft(x)) == Counter(library_calls=1)
    assert counted(driver, lambda: linalg.inv(x + x.mT)) >= Counter(library_calls=1)


@needs_compiler
def test_short_floats_are_converted_and_rounded_by_kernels(driver):
    x = tl.asarray(numbers("float16", (4, 4)), device="cuda")
    assert copied(lambda: fft.ifft(x)) == [("ifft", "copy", 64)]
    done = counted(driver, lambda: linalg.matrix_norm(x, ord="nuc"))
    assert done == Counter(launches=2, allocations=2, library_calls=1, synchronisations=2)
    wide = tl.broadcast_to(x[0], (1000, 4))
    assert copied(lambda: fft.fft(wide)) == [("fft", "copy", 16)]


SHAPED_BY_DATA = {
    "nonzero": tl.nonzero,
    "unique_all": tl.unique_all,
    "unique_counts": tl.unique_counts,
    "unique_inverse": tl.unique_inverse,
    "unique_values": tl.unique_values,
}


@needs_compiler
@pytest.mark.parametrize("name", [name for name in SHAPED_BY_DATA if name != "nonzero"])
def test_shapes_that_depend_on_data_wait_once(driver, name):
    x = tl.asarray(numbers("int32", (5, 7)), device="cuda")
    done = counted(driver, lambda: SHAPED_BY_DATA[name](x))
    assert done == Counter(library_calls=1, synchronisations=1)


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
        assert counted(driver, call) == expected, name
    assert copied(lambda: tl.tensordot(x, x, axes=((0, 2), (0, 2)))) == [
        ("tensordot", "layout", x.nbytes),
        ("tensordot", "layout", x.nbytes),
    ]
    with enqueued() as log:
        calls["padded"]()
    assert [each.what for each in log] == ["gemm"]


@needs_compiler
def test_vectors_of_complex_numbers_are_conjugated(driver):
    for shape, axis in (((3, 4), -1), ((3, 4), -2), ((4,), -1)):
        a, b = numbers("complex64", shape), numbers("complex64", shape, 1)
        x, y = tl.asarray(a, device="cuda"), tl.asarray(b, device="cuda")
        for u, v, c, d in ((x, y, a, b), (tl.flip(x), y, np.flip(a), b)):
            found = np.asarray(tl.vecdot(u, v, axis=axis).to_device("cpu"))
            np.testing.assert_allclose(found, np.sum(c.conj() * d, axis), 1e-5)


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
    array = array_of(x[:, ::-1])
    before = driver.ranges[1].total()
    del x
    assert driver.ranges[1].total() == before
    assert array.tolist() == [[2, 1, 0], [5, 4, 3]]
    assert tensor_of(array, tl.Device("cuda:1")).layout == tl.Layout((2, 3), (3, -1), offset=2)
    del array
    assert driver.ranges[1].total() < before
    none = Strided(0, (0, 3), (12, 4), np.dtype("f4"), 0)
    assert driver.array(none, None).shape == (0, 3)
    with pytest.raises(RuntimeError, match="a library call on 12 bytes at 0x40, which are not all"):
        driver.array(Strided(64, (3,), (4,), np.dtype("f4"), 0), None)


def test_how_far_an_array_reaches():
    assert Strided(100, (2, 3), (-12, 4), np.dtype("f4"), 0).extent == (88, 24)
    assert Strided(100, (2, 3), (0, -8), np.dtype("f8"), 0).extent == (84, 24)
    assert Strided(100, (), (), np.dtype("f8"), 0).extent == (100, 8)
    assert Strided(100, (2, 0), (4, 4), np.dtype("f4"), 0).extent == (100, 0)


@needs_compiler
def test_another_device(driver):
    x = tl.asarray(matrix("float32"), device="cuda:1")
    for call in (linalg.inv, fft.fft, tl.unique_values, lambda x: tl.tensordot(x, x, axes=3)):
        found = call(x)
        assert found.device == "cuda:1"
        close(found.to_device("cpu"), np.asarray(call(x.to_device("cpu"))))


@needs_compiler
def test_errors_have_the_name_of_the_function(driver):
    zero = tl.zeros((2, 2), device="cuda")
    nan = tl.full((2, 2), math.nan, device="cuda")
    for name, x in (("inv", zero), ("cholesky", zero), ("eigh", nan), ("svd", nan)):
        with pytest.raises(np.linalg.LinAlgError, match=f"^{name}: "):
            getattr(linalg, name)(x)


# ---- The table, on NumPy


def operations():
    """All that is planned as a library call, by the names of the table."""
    for info in pkgutil.walk_packages(tl.__path__, "tensorlayout."):
        if re.search(r"__main__|\.cuda|\.cli|\.demo", info.name):
            continue
        for value in vars(importlib.import_module(info.name)).values():
            if isinstance(value, Library):
                several = {"bincount": 1, "bincount_weighted": 2}.get(value.numpy.__name__)
                yield f"bincount of {several}" if several else value.name, value


OPERATIONS = dict(operations())


def test_the_table_has_every_operation():
    """But for `tensordot`, which always is a matrix product."""
    assert TABLE.keys() == OPERATIONS.keys() - {"tensordot"}
    assert {operation.name for operation in OPERATIONS.values()} >= WAIT


def matrix(dtype, shape=(3, 4, 4), seed=0):
    a = numbers(dtype, shape, seed)
    return (a + np.swapaxes(a, -1, -2).conj()) / 2 + 8 * np.eye(shape[-1], dtype=dtype)


def cases():
    """Of each line of the table: operands and options."""
    for dtype in ("float64", "complex128"):
        a, plain = matrix(dtype), numbers(dtype, (2, 4, 3))
        one = {"det", "eig", "eigvals", "eigh", "eigvalsh", "inv", "slogdet", "svdvals"}
        for name in sorted(one):
            yield name, (a,), {}
        for upper in (False, True):
            yield "cholesky", (a,), {"upper": upper}
            yield "svd", (plain,), {"full_matrices": upper}
        for n in (-2, 0, 1, 5):
            yield "matrix_power", (a,), {"n": n}
        for mode in ("reduced", "complete"):
            yield "qr", (plain,), {"mode": mode}
        for other in (a, a[0], plain[0], plain[0, :, 0], a[:, None]):
            yield "solve", (a, other), {}
        low = np.concatenate([plain, plain], -1)
        for b in (low, plain[:, :0], plain[:0]):
            for name in ("pinv", "matrix_rank"):
                yield name, (b, np.array(1e-8, dtype)), {}
        for ord in ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf):
            for keepdims in (False, True):
                yield "matrix_norm", (plain,), {"keepdims": keepdims, "ord": ord}
        broken = plain.copy()
        broken[0, 0, 0] = np.nan
        for ord in (0, 1, 2, 3.5, -1.0, math.inf, -math.inf):
            for axis in ((0,), (0, 2), (0, 1, 2), ()):
                for b in (plain, broken):
                    yield "vector_norm", (b,), {"axis": axis, "keepdims": False, "ord": ord}
        yield "vector_norm", (plain[:0],), {"axis": (0,), "keepdims": True, "ord": math.inf}
        yield "cross", (plain, plain[0]), {"axis": -1}
        yield "outer", (plain[0, 0], plain[0, :, 0]), {}
        yield "einsum", (plain, plain), {"subscripts": "bij,bkj->bik"}
        yield "einsum", (plain,), {"subscripts": "bij->ijb"}
        for axes, s in (((1,), (4,)), ((0, 1), (2, 6)), ((2, 0), (3, 3)), ((2, 0, 1), (2, 2, 5))):
            for norm in ("backward", "ortho", "forward"):
                options = {"s": s, "axes": axes, "norm": norm}
                for name in ("fftn", "ifftn", "irfftn", *["rfftn"] * (dtype == "float64")):
                    yield name, (plain,), options
                if len(axes) == 1:
                    for name in ("fft", "ifft", "irfft", "hfft"):
                        yield name, (plain,), options
                        yield name, (plain[:, :0],), options
        yield "fftn", (plain,), {"s": (), "axes": (), "norm": "ortho"}
    real = numbers("float64", (2, 4, 3))
    for name in ("rfft", "ihfft"):
        yield name, (real,), {"s": (5,), "axes": (1,), "norm": "ortho"}
    yield "gradient", (real,), {"axes": (0, 2), "numbers": (0.5, 2.0), "edge_order": 1}
    along = np.array([0.0, 1, 5, 7])
    yield "gradient", (real, along), {"axes": (1,), "numbers": (), "edge_order": 2}
    for dtype in ANY:
        if dtype == "bfloat16":
            continue
        a = slots(as_dtype(dtype), 60).reshape(3, 20)
        for b in (a, a[:, ::-3], a[:0], a[0, 0]):
            for name in SHAPED_BY_DATA.keys() - {"nonzero"}:  # np.unique shuffles NaN
                yield name, (np.where(b == b, b, 9).astype(b.dtype),), {}
            for invert in (False, True):
                yield "isin", (b, a[0, :5]), {"invert": invert}
                yield "isin", (a, b), {"invert": invert}
            if b.ndim:
                yield "nonzero", (b,), {}
        if kind(as_dtype(dtype)) in "iuf":
            for side in ("left", "right"):
                yield "searchsorted", (np.sort(a[0]), a), {"side": side}
        b = a if kind(as_dtype(dtype)) in "iu" else numbers(dtype, (3, 4))
        if dtype not in ("bool", "float16"):
            yield "vecdot", (b, b[1]), {"axis": -1}
            yield "vecdot", (b, b), {"axis": -2}
    counts = np.array([2, 0, 3, 1])
    for x in (counts, counts[:0]):
        yield "repeat", (x,), {}
        yield "bincount of 1", (x.astype(np.uint8),), {"minlength": 3}
        yield "bincount of 2", (x, x * 0.5), {"minlength": 6}
    yield "einsum", (np.eye(300, dtype=bool) | True,), {"subscripts": "ij->j"}


CASES = list(cases())


def test_every_line_of_the_table_is_tried():
    assert {name for name, _, _ in CASES} == TABLE.keys()


@pytest.mark.parametrize("name", TABLE)
def test_the_table_gives_what_the_cpu_gives(name):
    with np.errstate(all="ignore"):
        for line, arrays, options in CASES:
            if line != name:
                continue
            found = all_of(TABLE[name](np, *arrays, **options))
            expected = all_of(OPERATIONS[name].numpy(*arrays, **options))
            assert len(found) == len(expected)
            for one, other in zip(map(np.asarray, found), map(np.asarray, expected), strict=True):
                message = f"{[a.shape for a in arrays]} of {arrays[0].dtype}, {options}"
                assert one.shape == other.shape, message
                if other.dtype.kind in "biu":
                    np.testing.assert_array_equal(one, other, err_msg=message)
                else:
                    np.testing.assert_allclose(one, other, 1e-6, 1e-9, err_msg=message)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_every_nan_is_a_value_of_its_own_and_both_zeros_are_one(dtype):
    a = np.array([np.nan, 0.0, -0.0, 1, np.nan, -0.0, np.inf], dtype)
    values, first, inverse, counts = TABLE["unique_all"](np, a)
    np.testing.assert_array_equal(values, np.array([0, 1, np.inf, np.nan, np.nan], dtype))
    assert first.tolist() == [1, 3, 6, 0, 4]
    assert inverse.tolist() == [3, 0, 0, 1, 4, 0, 2]
    assert counts.tolist() == [3, 1, 1, 1, 1]
    found = TABLE["isin"](np, a, a[:3], invert=False)
    assert found.tolist() == [False, True, True, False, False, True, False]


def test_a_factor_with_nan_is_refused():
    library = ModuleType("cupy")
    library.linalg = ModuleType("linalg")
    library.linalg.cholesky = lambda x: np.full_like(x, np.nan)
    library.isnan = np.isnan
    with pytest.raises(np.linalg.LinAlgError):
        TABLE["cholesky"](library, np.eye(2), upper=False)


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
    found = linalg.inv(x)
    assert cupy_like.calls == [("errstate", "raise")]
    assert (str(found.device), found.layout) == ("cuda:0", tl.Layout.row_major((2, 3, 3)))
    cupy_like.calls.clear()
    np.testing.assert_allclose(np.asarray(found.to_device("cpu")), np.linalg.inv(a))
    for view, expected in ((x[:, ::-1, :], a[:, ::-1]), (x[0].mT, a[0].T)):
        found = np.asarray(linalg.det(view).to_device("cpu"))
        np.testing.assert_allclose(found, np.linalg.det(expected))


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
    for line, operation in list(vars(linalg).items()):
        if isinstance(operation, Library):
            monkeypatch.setattr(linalg, line, replace(operation, numpy=reports))
    call, words = FAILURES[case]
    name = case.partition(",")[0]
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
        found = linalg.eig(x)
    values = np.asarray(found.eigenvalues.to_device("cpu")) if not available else None
    steps = [(r.name, r.kind, r.bytes_read, r.bytes_written) for r in seen]
    assert steps[-1][:2] == ("eig", "run")
    if available:
        assert len(steps) == 1
    else:
        np.testing.assert_allclose(values, [1j, -1j])
        # The matrix there, eigenvalues and vectors back.
        assert [r[:3] for r in steps[:-1]] == [("eig", "copy", n) for n in (32, 32, 64)]


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
    assert callable(importlib.import_module("cupyx.cusolver").check_availability)


def test_the_fake_has_all_that_the_table_uses():
    """So that the test above looks at every name."""
    modules = (library_linalg, library_sets, library_transforms)
    source = "".join(map(inspect.getsource, modules))
    words = set(re.findall(r"xp\.(?:linalg\.|fft\.)?(\w+)", source))
    known = {*fake_cupy.FUNCTIONS, *fake_cupy.LINALG, *fake_cupy.FFT, "linalg", "fft", "__name__"}
    assert words <= known, words - known


# ---- On a GPU

# What is unique of a decomposition: its factors are up to signs, phases and order.
UNIQUE = {
    "eig": lambda a, values, vectors: (
        *(np.sort_complex(values), a @ vectors - vectors * values[..., None, :]),
    ),
    "eigh": lambda a, values, vectors: (values, vectors * values[..., None, :] @ dagger(vectors)),
    "eigvals": lambda a, values: (np.sort_complex(values),),
    "qr": lambda a, q, r: (q @ r, dagger(q) @ q, np.tril(r, -1)),
    "svd": lambda a, u, s, vh: (s, dagger(u) @ u, vh @ dagger(vh), put_together(u, s, vh)),
}


def dagger(a):
    return np.swapaxes(a, -1, -2).conj()


def put_together(u, s, vh):
    k = s.shape[-1]
    return u[..., :k] * s[..., None, :] @ vh[..., :k, :]


@pytest.mark.gpu
@pytest.mark.parametrize("name", TABLE)
def test_gpu_the_table(name):
    with on_gpu() as cupy, np.errstate(all="ignore"):
        for line, arrays, options in CASES:
            if line != name:
                continue
            expected = all_of(OPERATIONS[name].numpy(*arrays, **options))
            if not any(np.size(each) for each in expected):
                continue  # which CuPy is not asked for
            found = all_of(TABLE[name](cupy, *map(cupy.asarray, arrays), **options))
            found = tuple(cupy.asnumpy(each) for each in found)
            if name in UNIQUE:
                found = UNIQUE[name](arrays[0], *found)
                expected = UNIQUE[name](arrays[0], *map(np.asarray, expected))
            message = f"{[a.shape for a in arrays]} of {arrays[0].dtype}, {options}"
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_allclose(one, other, 1e-5, 1e-7, err_msg=message)


@pytest.mark.parametrize("gpu", GPUS)
def test_gpu_failures_are_raised(gpu):
    with opened(gpu):
        zero = tl.zeros((2, 2), device="cuda")
        stack = tl.zeros((3, 2, 2), device="cuda")
        nan = tl.full((2, 2), math.nan, device="cuda")
        given = {
            "inv": (zero, stack),
            "cholesky": (zero, stack, nan),
            "eigh": (nan,),
            "svd": (nan,),
        }
        for name, matrices in given.items():
            for x in matrices:
                with pytest.raises(np.linalg.LinAlgError, match=f"^{name}: "):
                    getattr(linalg, name)(x)
        with pytest.raises(np.linalg.LinAlgError, match=r"^solve: "):
            linalg.solve(zero, zero)
