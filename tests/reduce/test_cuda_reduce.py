"""Reductions on CUDA: each kernel on long lines; accuracy; memory accesses.

Values in every layout and dtype: `ops/reducing_cases.py`.
"""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from cuda_memory import ARCHITECTURES
from reducing_oracle import REDUCTIONS, reduced_by_numpy
from simulated import needs_compiler, simulator
from tensors import BFLOAT16, DTYPES, as_dtype, same
from test_cuda_matmul import count_second_call
from waves import WAVES, wave

import tensorlayout as tl
from benchmarks import resources
from tensorlayout.cuda import reduce
from tensorlayout.cuda.engine.simulator import checking
from tensorlayout.cuda.engine.warm_up import reduction_kernels
from tensorlayout.cuda.reduce import plan_reduce
from tensorlayout.functions import statistical
from tensorlayout.layout import Layout
from tensorlayout.tensor import TensorSpec


@pytest.fixture(scope="module")
def driver():
    with simulator() as result:
        yield result


def number(x):
    """NumPy does not know the NaN of bfloat16."""
    return x.astype(np.float32) if x.dtype == BFLOAT16 else x


SKIPPING_NAN = {"nanmin": np.fmin, "nanmax": np.fmax}


def axes_of(ndim):
    """All sets of axes; of many dimensions some."""
    if ndim > 4:
        return [(), tuple(range(ndim)), (1,), tuple(range(0, ndim, 2)), (0, 1, 5, ndim - 1)]
    return [a for n in range(ndim + 1) for a in itertools.combinations(range(ndim), n)]


def check(name, x, a, axis, *, keepdims=False):
    """A function of a tensor on the device against its oracle."""
    ulps = 16 if name in ("var", "std") else 4
    message = f"{name} of {a.dtype} along {axis} of {x.layout}"
    result = getattr(tl, name)(x, axis=axis, keepdims=keepdims)
    if name in SKIPPING_NAN:
        expected = np.asarray(SKIPPING_NAN[name].reduce(number(a), axis)).astype(a.dtype)
    else:
        expected = reduced_by_numpy(name, a, axis=axis, keepdims=keepdims)
    dtype = expected.dtype
    assert str(result.device) == "cuda:0", message
    got = np.asarray(result.to_device("cpu"))
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape), message
    if dtype.kind in "biu":
        np.testing.assert_array_equal(got, expected, err_msg=message)
        return
    eps = float(tl.finfo(dtype).eps)
    # Of sums of any signs, the error is one of the magnitudes.
    size = float(np.nanmax(np.abs(number(a)), initial=0, where=np.isfinite(number(a))))
    room = eps * size * a.size if name in ("sum", "mean") else 0
    wide = np.complex128 if dtype.kind == "c" else np.float64
    got, expected = got.astype(wide), expected.astype(wide)
    if name in ("var", "std"):  # the error of a mean is one of the deviation from it
        room = eps * size
    if name == "var":
        got, expected = np.sqrt(got), np.sqrt(expected)
    np.testing.assert_allclose(got, expected, ulps * eps, room, err_msg=message)


# Shapes that take each kernel and its ends: in packs and not, in one chunk and many.
SHAPES = [
    (5,),
    (31000,),
    (70001,),
    (3, 40000),
    (1100, 3),
    (90, 33),
    (9001, 5),
    (600, 64),
    (70, 517),
    (101, 1031),
    (1500, 7, 3),
    (12, 50, 64),
    (40, 300, 3),
    (2, 3, 16, 24),
    (3, 2, 2, 2, 2, 2, 2, 3),
]


def numbers(shape, dtype, seed=0):
    """Normal numbers, the dtype's own limits not far."""
    drawn = np.random.default_rng(seed).standard_normal(shape)
    return (drawn * 50).astype(dtype)


@needs_compiler
@pytest.mark.parametrize("shape", SHAPES)
def test_every_kernel(driver, shape):
    a = numbers(shape, np.float32)
    x = tl.asarray(a).to_device("cuda")
    for axis in axes_of(a.ndim):
        for name in ("sum", "max", "var"):
            check(name, x, a, axis, keepdims=name == "max")
    for axis in (None, *range(a.ndim)):
        same(tl.argmax(x, axis=axis).to_device("cpu"), np.asarray(np.argmax(a, axis=axis)))


@needs_compiler
@pytest.mark.long
@pytest.mark.parametrize("dtype", DTYPES["any"])
def test_every_kernel_with_every_dtype(driver, dtype):
    """Positions too."""
    for shape in SHAPES:
        a = numbers(shape, as_dtype(dtype))
        x = tl.asarray(a).to_device("cuda")
        for axis in axes_of(a.ndim):
            for name, (_, words) in REDUCTIONS.items():
                if dtype in DTYPES[words] and name != "prod":
                    check(name, x, a, axis)
        if dtype in DTYPES["real numeric"]:
            result = tl.argmin(x, axis=0).to_device("cpu")
            same(result, np.asarray(np.argmin(number(a), axis=0)))


@needs_compiler
@pytest.mark.parametrize(
    ("shape", "offset"), [((3, 1000), 1), ((5000, 3), 2), ((4, 30, 20), 3), ((17, 64), 1)]
)
def test_any_address(driver, shape, offset):
    a = numbers((math.prod(shape) + 4,), np.float32)
    y = tl.asarray(a).to_device("cuda")[offset : offset + math.prod(shape)]
    y, a = tl.reshape(y, shape, copy=False), a[offset : offset + math.prod(shape)].reshape(shape)
    with checking("bounds"):
        for axis in axes_of(a.ndim):
            check("sum", y, a, axis)
        same(tl.argmin(y).to_device("cpu"), np.asarray(np.argmin(a)))


@needs_compiler
@pytest.mark.parametrize("shape", [(40, 79), (3, 30, 519), (3, 1999), (300, 60)])
def test_rows_cut_out_of_longer_ones_are_read_in_packs(driver, shape):
    values = numbers(shape, np.float32)
    a, x = values[..., 2:-1], tl.asarray(values).to_device("cuda")[..., 2:-1]
    axis = len(shape) - 1
    with checking("bounds", "races", "count") as record:
        check("sum", x, a, (axis,))
    same(tl.argmin(x, axis=axis).to_device("cpu"), np.asarray(np.argmin(a, axis=axis)))
    (kernel,) = record.counts
    assert (kernel.name, dict(kernel.shape)["LENGTH"]) == ("reduce_rows", "4")


@needs_compiler
@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "complex128"])
def test_results_of_few_elements(driver, dtype):
    """Rows, columns and windows, reversed too, with equal elements in most of them."""
    many, kernels = 4300, Counter()
    shapes = [
        (shape, (1 - shape.index(many),)) for n in range(1, 18) for shape in ((many, n), (n, many))
    ]
    for shape, axis in [*shapes, ((70, 3, 70, 4), (1, 3)), ((2, 2, 2200, 4), (0, 1, 3))]:
        a = np.random.default_rng(0).integers(1, 5, shape).astype(dtype)
        keys = [np.s_[...], np.s_[::-1, ::-1]]
        if dtype == "float16":
            a.ravel()[:: 7 * shape[-1]] = np.nan
            keys += [np.s_[:, 1:]] * (shape[1] > 1)
        for key in keys:
            part, x = a[key], tl.asarray(a).to_device("cuda")[key]
            with checking("bounds", "races", "count") as record:
                check("count_nonzero", x, part, axis)
            kernels.update(kernel.name for kernel in record.counts)
            check("sum", x, part, axis)
            if dtype != "complex128" and len(axis) == 1:
                expected = np.asarray(np.argmin(part, axis=axis[0]))
                same(tl.argmin(x, axis=axis[0]).to_device("cpu"), expected, f"{shape}, {key}")
    assert kernels["reduce_short"] > kernels.total() / 2


@needs_compiler
@pytest.mark.parametrize("count", [2, 3, 5, 8, 33, 64])
def test_variances_that_overflow_are_infinite(driver, count):
    a = np.tile(np.resize([1e200, -1e200, 1e200], count), (5000, 1))
    for x, axis in ((a, 1), (a.T.copy(), 0)):
        for function in (tl.var, tl.std):
            result = function(tl.asarray(x, device="cuda"), axis=axis).to_device("cpu")
            same(result, np.full(5000, np.inf))


@needs_compiler
def test_padding_is_never_read(driver):
    layout = Layout.padded((30, 50, 3), (32, 64, 4), None, tl.PaddingValue.UNSPECIFIED)
    a = numbers(layout.shape, np.float32)
    with checking("bounds", "initialized"):
        x = tl.empty(layout.shape, dtype=tl.float32, layout=layout, device="cuda")
        x[...] = tl.asarray(a).to_device("cuda")
        for axis in axes_of(3):
            check("sum", x, a, axis)


# --- values ------------------------------------------------------------------------------------


@needs_compiler
@pytest.mark.parametrize("place", [0, 40, 1030])
@pytest.mark.parametrize("shape", [(1031,), (1031, 2), (2, 1031)])
def test_nan_and_infinity_anywhere(driver, shape, place):
    axis = shape.index(1031)
    for special in (np.nan, np.inf, -np.inf):
        a = numbers(shape, np.float32)
        np.moveaxis(a, axis, 0)[place] = special
        x = tl.asarray(a).to_device("cuda")
        for name in ("sum", "mean", "min", "max", "var", "nanmin", "nanmax", "all", "any"):
            check(name, x, a, (axis,))
        for name in ("argmin", "argmax"):
            expected = np.asarray(getattr(np, name)(a, axis=axis))
            same(getattr(tl, name)(x, axis=axis).to_device("cpu"), expected, f"{special}")


@needs_compiler
def test_the_first_of_equal_elements_and_of_nan(driver):
    for shape in [(3000,), (50, 60), (60, 50, 3)]:
        a = np.zeros(shape, np.float32)
        a.ravel()[[17, 40, 1999]] = [1, 1, 1]
        b = a.copy()
        b.ravel()[[41, 1500]] = np.nan
        for operand in (a, b, -a):
            for key in (np.s_[...], np.s_[::-1]):
                part, x = operand[key], tl.asarray(operand).to_device("cuda")[key]
                for axis in (None, *range(part.ndim)):
                    for name in ("argmin", "argmax"):
                        expected = np.asarray(getattr(np, name)(part, axis=axis))
                        same(getattr(tl, name)(x, axis=axis).to_device("cpu"), expected)


@needs_compiler
@pytest.mark.parametrize("dtype", WAVES)
def test_products_stay_in_range_whatever_the_pieces(driver, dtype):
    for shape, axis in (
        ((20_001,), 0),
        ((7, 999), 1),
        ((100, 5), 1),
        ((5000, 40), 0),
        ((600, 3), 0),
    ):
        elements, products = wave(dtype, shape, axis)
        with checking("bounds", "barriers", "initialized", *["races"] * (len(shape) > 1)):
            result = tl.prod(tl.asarray(elements, device="cuda"), axis=axis).to_device("cpu")
        expected = products.take(-1, axis)
        np.testing.assert_array_equal(np.asarray(result), expected, f"{dtype}, {shape}")


@needs_compiler
@pytest.mark.parametrize("first", [0.0, -0.0, math.inf, -math.inf, math.nan])
def test_products_with_zeros_and_infinities(driver, first):
    for factor in (2.0, 0.5):
        for shape, axis in (((20_000,), 0), ((5, 2000), 1)):
            array = np.full(shape, factor)
            array[(slice(None),) * axis + (0,)] = first
            for device in ("cpu", "cuda"):
                result = tl.prod(tl.asarray(array, device=device), axis=axis).to_device("cpu")
                same(result, np.full(shape[:axis] + shape[axis + 1 :], first))


# --- memory and launches -----------------------------------------------------------------------

# shape, axes, the least sectors and lanes of reading kernels
EFFICIENT = [
    ((300000,), (0,)),
    ((64, 4096), (1,)),
    ((64, 4096), (0,)),
    ((1000, 1000), (0,)),
    ((1000, 128), (1,)),
    ((3000, 3), (1,)),
    ((100000, 3), (0,)),
    ((10001, 5), (0,)),
    ((16, 40, 500), (1,)),
    ((4, 64, 96, 3), (0, 1, 2)),
    ((4, 3, 64, 96), (0, 2, 3)),
    ((40, 64, 32), (0, 2)),
    ((1000, 517), (1,)),
    ((1000, 517), (0,)),
    ((4, 64, 28, 28), (2,)),
    ((4, 64, 28, 28), (0, 2, 3)),
]


@needs_compiler
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("shape", "axis"), EFFICIENT)
def test_memory_is_read_in_whole_sectors(driver, shape, axis, dtype):
    x = tl.ones(shape, dtype=dtype, device="cuda")
    with checking("bounds", "count") as record:
        tl.sum(x, axis=axis)
    for kernel, counts in record.counts.items():
        assert counts.bank_conflict_ratio <= 1.1, kernel
        if kernel.name != "reduce_partials":
            # A thread reads a row of 3, and the next access finds its sectors in the cache.
            least = 0.3 if (shape, axis) == ((3000, 3), (1,)) else 0.9
            assert counts.sector_efficiency_read >= least, kernel
            # Few threads read the elements before and after the packs of rows of 517.
            assert counts.lane_activity >= (0.7 if shape[1:] in ((517,), (3,)) else 0.85), kernel
            assert counts.loads.bytes == math.prod(shape) * x.itemsize, "each element once"


@needs_compiler
@pytest.mark.parametrize("shape", [(70000,), (20000, 3), (300, 4), (90, 33), (70, 64), (100, 1031)])
def test_no_races(driver, shape):
    x = tl.ones(shape, dtype=tl.float32, device="cuda")
    with checking("bounds", "initialized", "races", "barriers"):
        for axis in axes_of(len(shape)):
            for function in (tl.sum, tl.var, tl.max):
                function(x, axis=axis)
        for function in (tl.argmin, tl.any):
            function(x)


@needs_compiler
def test_launches_and_allocations(driver):
    x = tl.ones((500, 512), dtype=tl.float32, device="cuda")
    assert count_second_call(driver, lambda: tl.sum(x, axis=1)) == Counter(
        launches=1, allocations=1
    )
    assert count_second_call(driver, lambda: tl.sum(x)) == Counter(launches=2, allocations=2)
    assert count_second_call(driver, lambda: tl.argmax(x, axis=0)) == Counter(
        launches=2, allocations=2
    )
    assert count_second_call(driver, lambda: tl.sum(x[:0, ...])) == Counter(
        launches=1, allocations=1
    )


@needs_compiler
def test_in(driver):
    a = numbers((50, 60), np.float32)
    x = tl.asarray(a).to_device("cuda")
    assert tl.asarray(a[7]) in x  # on another device, broadcast: any of them
    expected = Counter(launches=2, allocations=2, synchronisations=1)
    assert count_second_call(driver, lambda: 1e9 in x) == expected


# --- plans -------------------------------------------------------------------------------------


def planned(layout, axis, dtype=np.float32, operation=statistical._SUM):
    spec = TensorSpec(np.dtype(dtype), layout, tl.ones(()).device)
    return plan_reduce(operation.plan(spec, axis, False, None), 256)


def shape_of(launches):
    return dict(launches.launches[0].kernel.shape)


def test_the_kernel_of_each_layout():
    def name(shape, axis):
        return planned(Layout.row_major(shape), axis).launches[0].kernel.name

    assert name((64, 4096), (1,)) == "reduce_rows"
    assert name((5000, 4), (1,)) == "reduce_short"
    assert name((5000, 12), (1,)) == name((12, 5000), (0,)) == "reduce_short"
    assert name((500, 13), (1,)) == "reduce_rows", "too few results for all multiprocessors"
    assert name((5000, 20), (1,)) == "reduce_rows"
    assert name((5000, 12), (0,)) == "reduce_columns"
    assert name((5000, 3), (0,)) == "reduce_columns"
    assert name((5000, 517), (0,)) == "reduce_columns"
    assert name((50, 517), (0,)) == "reduce_rows"
    assert name((5000, 517), (1,)) == "reduce_rows"
    assert name((5000, 7), (1,)) == "reduce_short"
    assert name((5000, 2**31 + 1), (0,)) == "reduce_rows"
    assert name((), None) == "reduce_short"


def test_indices_have_64_bits_only_where_the_furthest_offset_asks_for_it():
    assert shape_of(planned(Layout((2, 5), (2**31 - 8, 1)), (0,)))["INDEX"] == "int64_t"
    assert shape_of(planned(Layout((2, 5), (2**30, 1)), (0,)))["INDEX"] == "int32_t"
    wide = planned(Layout.row_major((2**17,)).broadcast_to((2**16, 2**17)), None)
    assert shape_of(wide)["INDEX"] == "int64_t"


def test_one_launch_or_two_cover_a_tebibyte():
    for shape, axis in [((2**40,), None), ((2**20, 2**20), (0,)), ((2**20, 2**20), (1,))]:
        result = planned(Layout.row_major(shape), axis, np.uint8)
        assert all(launch.grid < 2**31 for launch in result.launches)
        assert sum(result.scratch) < 2**34


@needs_compiler
def test_64_bit_indices(driver, monkeypatch):
    monkeypatch.setattr(reduce, "narrowest_index_type", lambda count, furthest: "int64_t")
    for shape in [(70000,), (300, 4), (9000, 3), (40, 1031), (12, 50, 64)]:
        a = numbers(shape, np.float32)
        x = tl.asarray(a[::-1]).to_device("cuda")
        for axis in axes_of(a.ndim):
            check("mean", x, a[::-1], axis)


def functors_of(dtype):
    """All functors that plans of `dtype` may ask for."""
    if dtype == np.bool_:
        return ["nonzero", "product"]
    if dtype.kind == "c":
        return ["sum", "product", "nonzero"] + ["wide_sum"] * (dtype.itemsize == 8)
    common = ["sum", "product", "nonzero", "least", "greatest", "first_least", "first_greatest"]
    if dtype.kind in "iu":
        return common
    common += ["least_number", "greatest_number", "variance"]
    return common + ["wide_sum"] * (dtype.itemsize < 8)


@pytest.mark.long
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("dtype", DTYPES["any"])
def test_every_kernel_compiled_for_a_gpu_without_spills(dtype, architecture):
    pytest.importorskip("cupy_backends.cuda.libs.nvrtc", reason="optional: cupy")
    kind = as_dtype(dtype)
    for kernel in (
        reduction for functor in functors_of(kind) for reduction in reduction_kernels(kind, functor)
    ):
        result = resources.compiled(kernel, int(architecture[3:])).resources[kernel.name]
        assert (kernel, result.spilled) == (kernel, 0)
