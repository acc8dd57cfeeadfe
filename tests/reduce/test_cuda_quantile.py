"""Medians and quantiles on CUDA, here the simulator: bit for bit as on the CPU, and their cost."""

import numpy as np
import pytest
from cuda_memory import ARCHITECTURES
from simulated import needs_compiler, simulator
from tensors import DTYPES, as_dtype, placed, same, slots
from test_cuda_matmul import copied, count_second_call

import tensorlayout as tl
from benchmarks import resources
from tensorlayout.cuda import reduce
from tensorlayout.cuda.engine.kernel_shapes import c_type, kernels_in_file
from tensorlayout.cuda.engine.simulator import checking
from tensorlayout.devices import Device
from tensorlayout.tensor import TensorSpec

METHODS = ["linear", "hazen", "weibull", "lower", "higher", "nearest", "midpoint"]
FRACTIONS = [[0.0, 0.3, 0.5], [0.7, 0.999, 1.0]]


@pytest.fixture(scope="module", name="driver")
def _driver():
    with simulator() as result:
        yield result


def numbers(shape, dtype="float32", nan=True):
    result = np.random.default_rng(0).integers(-99, 99, shape).astype(dtype)
    result = result + np.asarray(result == 0).astype(dtype)  # sorts may take either of two zeros
    if nan and result.dtype.kind == "f":
        result.reshape(-1)[:: max(result.size // 4, 3)] = np.nan
    return result


def alike(call, x, message=""):
    """The same bits and layout on both devices."""
    expected = call(x)
    with checking("bounds", "initialized", "races"):
        result = call(placed(x))
    assert (result.layout, str(result.device)) == (expected.layout, "cuda:0"), message
    same(result.to_device("cpu"), np.asarray(expected), message)


@needs_compiler
@pytest.mark.parametrize("method", METHODS)
def test_every_method(driver, method):
    for length in (1, 5):
        x = tl.asarray(numbers((6, length)))
        for name in ("quantile", "nanquantile"):
            call = getattr(tl, name)
            alike(lambda x, f=call: f(x, FRACTIONS, axis=1, method=method, keepdims=True), x)


@needs_compiler
@pytest.mark.long
@pytest.mark.parametrize("dtype", DTYPES["real numeric"])
def test_every_dtype(driver, dtype):
    x = tl.asarray(slots(as_dtype(dtype), 24).reshape(4, 6))
    for axis in (None, 0, 1):
        alike(lambda x, a=axis: tl.nanquantile(x, FRACTIONS, axis=a), x, dtype)
        alike(lambda x, a=axis: tl.median(x, axis=a), x, dtype)


@needs_compiler
def test_lines_of_nan_and_of_nothing(driver):
    x = tl.asarray(np.full((3, 4), np.nan, np.float32))
    for call in (tl.median, tl.nanmedian):
        for part in (x, x[:, :0], x[:0], x[0, 0]):
            alike(lambda x, f=call: f(x, axis=-1 if x.ndim else None), part)
    alike(lambda x: tl.quantile(x, []), x)


@needs_compiler
def test_long_lines(driver):
    x = tl.asarray(numbers((3, 5000)))
    alike(lambda x: tl.nanquantile(x, FRACTIONS, axis=1), x)
    alike(lambda x: tl.quantile(x, FRACTIONS), x)


@needs_compiler
def test_more_fractions_than_a_launch_takes(driver):
    fractions = np.linspace(0, 1, 37)
    alike(lambda x: tl.nanquantile(x, fractions, axis=0), tl.asarray(numbers((9, 5))))


@needs_compiler
def test_indices_of_64_bits(driver, monkeypatch):
    monkeypatch.setattr(reduce, "narrowest_index_type", lambda count, furthest: "int64_t")
    y = tl.asarray(numbers((300, 7)), device="cuda")
    with checking("bounds", "count") as record:
        result = tl.nanmedian(y, axis=1)
    assert record.total_of_kernel("read_quantiles").lane_activity > 0.5
    assert "read_quantiles_int64_t" in [kernel.symbol for kernel in record.counts]
    same(result.to_device("cpu"), np.asarray(tl.nanmedian(tl.asarray(numbers((300, 7))), axis=1)))


@needs_compiler
def test_what_is_moved_and_launched(driver):
    x = tl.asarray(numbers((64, 32)), device="cuda")
    for axis, moved, launches in ((1, 0, 2), (0, 1, 3), (None, 0, 2)):
        done = count_second_call(driver, lambda d=axis: tl.median(x, axis=d))
        assert (done["launches"], done["synchronisations"]) == (launches, 0)
        kinds = copied(lambda d=axis: tl.median(x, axis=d))
        assert [(name, nbytes) for name, _, nbytes in kinds] == [("median", x.nbytes)] * moved


@needs_compiler
def test_cost(driver):
    x = tl.asarray(numbers((1024, 16), nan=False), device="cuda")
    with checking("bounds", "count") as record:
        tl.quantile(x, [0.25, 0.5], axis=1)
    counts = record.total_of_kernel("read_quantiles")
    assert counts.sector_efficiency_write == counts.lane_activity == 1.0


# ---- Plans


def test_huge_lines_and_many_fractions():
    def planned(dtype, shape, *arguments):
        lines = TensorSpec(dtype, tl.Layout.row_major(shape), Device("cuda", 0))
        return reduce.plan_quantiles(lines, *arguments).launches

    (one,) = planned(tl.float32, (2, 2**31), tl.float32, (0.5,), "linear", False)
    assert dict(one.kernel.shape)["INDEX"] == "int64_t"
    some = planned(tl.int8, (300, 8), tl.float64, (0.5,) * 33, "weibull", True)
    assert [launch.firsts for launch in some] == [(0, 0), (38400, 0), (76800, 0)]
    assert [launch.grid for launch in some] == [2, 2, 2]


def kernels(dtype, result):
    return kernels_in_file(
        "reduce/quantile.cu", (("ELEMENT", c_type(dtype)), ("RESULT", c_type(result)))
    )


@pytest.mark.parametrize(
    "architecture",
    ["sm_90", *[pytest.param(a, marks=pytest.mark.long) for a in ARCHITECTURES if a != "sm_90"]],
)
def test_compiled_for_a_gpu_without_spills(architecture):
    pytest.importorskip("cupy_backends.cuda.libs.nvrtc", reason="optional: cupy")
    for dtype, result in ((tl.int8, tl.float64), (tl.bfloat16, tl.bfloat16)):
        for kernel in kernels(dtype, result):
            actual = resources.compiled(kernel, int(architecture[3:])).resources[kernel.name]
            assert (kernel, actual.stack, actual.spilled, actual.registers <= 64) == (
                kernel,
                0,
                0,
                True,
            )


@needs_compiler
@pytest.mark.parametrize("method", ["lower", "higher", "nearest"])
def test_large_integers_stay_numbers_of_the_data(driver, method):
    array = 2**53 + np.array([1, 3, 5, 9])
    result = np.quantile(tl.asarray(array, device="cuda"), [0.2, 0.5, 0.9], method=method)
    same(result.to_device("cpu"), np.quantile(array, [0.2, 0.5, 0.9], method=method))
