"""Creation and triangles on CUDA: the same bits as on the CPU, one launch, coalesced stores."""

import itertools
from collections import Counter
from math import inf, nan

import numpy as np
import pytest
from simulated import needs_compiler, simulator
from tensors import as_dtype, slots
from test_cuda_matmul import count_second_call

import tensorlayout as tl
from tensorlayout import plan
from tensorlayout.cpu.engine.casting import round_before_bfloat16
from tensorlayout.cuda.engine.simulator import checking
from tensorlayout.cuda.fill import diagonals, plan_padding
from tensorlayout.cuda.fill.create import plan_sequence
from tensorlayout.cuda.fill.diagonals import plan_diagonal_band
from tensorlayout.layout import Layout, PaddingValue

pytestmark = needs_compiler

ONE = PaddingValue.ONE


@pytest.fixture(scope="module", name="driver")
def _driver():
    with simulator() as result:
        yield result


def identical(result, expected, message=""):
    """Every bit, signs of zeros too, but for those of NaN, and the device."""
    assert str(result.device) == "cuda:0", message
    got, expected = np.asarray(result.to_device("cpu")), np.asarray(expected)
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape), message
    got, expected = (np.ascontiguousarray(a).reshape(-1) for a in (got, expected))
    octets = got.dtype.itemsize
    equal = got.view(np.uint8) == expected.view(np.uint8)
    equal = equal.reshape(-1, octets).all(axis=1) | ((got != got) & (expected != expected))
    assert equal.all(), f"{message}: {got[~equal][:3]} for {expected[~equal][:3]}"


# ---- Sequences


def once(numbers, dtype):
    """Numbers in double as `dtype`, rounded once."""
    with np.errstate(all="ignore"):
        return round_before_bfloat16(numbers, dtype).astype(dtype)


EXTREMES = [
    ("int64", (2**63 - 3, 2**63), [2**63 - 3, 2**63 - 2, 2**63 - 1]),
    ("int64", (-(2**63), -(2**63) + 2), [-(2**63), -(2**63) + 1]),
    # steps that no int64 holds, from end to end
    ("int64", (-(2**63), 2**63, 2**64 - 1), [-(2**63), 2**63 - 1]),
    ("int64", (2**63 - 1, -(2**63) - 1, -(2**63)), [2**63 - 1, -1]),
    ("uint64", (2**64 - 2, 2**64), [2**64 - 2, 2**64 - 1]),
    ("uint64", (2**64 - 1, -1, -(2**63)), [2**64 - 1, 2**63 - 1]),
    ("uint64", (0, 2**64, 2**63), [0, 2**63]),
    ("int8", (-128, 128, 85), [-128, -43, 42, 127]),
    ("uint8", (255, -1, -100), [255, 155, 55]),
    # beyond 2**53, where double has no odd numbers
    ("int64", (2**53, 2**53 + 3), [2**53, 2**53 + 1, 2**53 + 2]),
]


@pytest.mark.parametrize(("name", "arguments", "expected"), EXTREMES)
def test_arange_of_integers_at_their_limits(driver, name, arguments, expected):
    result = tl.arange(*arguments, dtype=name, device="cuda")
    identical(result, np.array(expected, name))


@pytest.mark.parametrize("where", ["cpu", "cuda"])
def test_numbers_are_rounded_once(driver, where):
    # Above the middle of two neighbours, by less than the next wider float shows.
    for bfloat16 in (
        tl.arange(1 + 2**-8 + 2**-40, 2, dtype=tl.bfloat16, device=where),
        tl.linspace(1 + 2**-8 + 2**-40, 2, 3, dtype=tl.bfloat16, device=where),
    ):
        assert float(bfloat16[0].to_device("cpu")) == 1 + 2**-7
    half = tl.linspace(1 + 2**-11 + 2**-40, 2, 3, dtype=tl.float16, device=where)
    assert np.asarray(half.to_device("cpu")).tolist() == [1 + 2**-10, 1.5, 2.0]


REAL_ENDS = ([0, -1.5, 300, -0.0, 5e-324, -1.7e308, inf], [1, -7.3, 1e-320, 2.0**70, -0.0, nan])
COMPLEX_ENDS = (
    [0, -1.5j, 1e-3 - 0.0j, complex(0, inf), complex(5e-324, 0), complex(-0.0, -0.0)],
    [1j, 5e-324j, 2.0**60 + 2j, 3.3 - 7.1j, complex(-0.0, -0.0)],
)


@pytest.mark.parametrize("name", ["int8", "uint64", "bfloat16", "float32", "complex64"])
def test_linspace(driver, name):
    ends = COMPLEX_ENDS if name == "complex64" else REAL_ENDS
    for start, stop, num, endpoint in itertools.product(*ends, (0, 1, 2, 103), (True, False)):
        asked = {"endpoint": endpoint, "dtype": as_dtype(name)}
        result = tl.linspace(start, stop, num, **asked, device="cuda")
        if name == "bfloat16":
            asked["dtype"] = tl.float64
        expected = np.asarray(tl.linspace(start, stop, num, **asked))
        if name != "complex64":
            expected = once(expected, as_dtype(name))
        identical(result, expected, f"{start} to {stop} in {num}, {asked}")


# ---- Fills, bands, triangles. Values in every layout: `ops/moving_cases.py`


TRIANGLES = [(tl.tril, np.tril), (tl.triu, np.triu)]


SHAPES = [(1, 50), (50, 1), (33, 35), (3, 1003), (64, 64), (3, 3, 3, 3, 4, 5)]

VIEWS = [
    lambda x: x,
    # column-major
    lambda x: x.mT,
    # backwards: another direction than the result's
    lambda x: x[..., ::-1],
    # rows that begin anywhere
    lambda x: x[..., 1:],
    # matrices between which something is left out
    lambda x: x[..., 1:, :],
    # dimensions of which no two are one
    lambda x: x[(slice(None, None, 2),) * x.ndim],
]


@pytest.mark.parametrize(("name", "index"), [("float32", "int32_t"), ("int64", "int64_t")])
def test_triangles_of_every_shape(driver, name, index, monkeypatch):
    monkeypatch.setattr(diagonals, "narrowest_index_type", lambda *_: index)
    plan.run.cache_clear()
    with checking("bounds", "count") as record:
        for shape, view in itertools.product(SHAPES, VIEWS):
            array = slots(as_dtype(name), int(np.prod(shape))).reshape(shape)
            x = view(tl.asarray(array, device="cuda"))
            for k, (function, oracle) in itertools.product((-1, 1), TRIANGLES):
                identical(function(x, k=k), oracle(view(array), k), f"{shape} {k}")
    plan.run.cache_clear()
    used = [dict(kernel.shape) for kernel in record.counts if kernel.file == diagonals.FILE]
    assert {shape["INDEX"] for shape in used} == {index}
    assert {shape["RANK"] for shape in used} >= set("1230")


def test_triangles_do_not_read_what_they_leave_out(driver):
    with checking("bounds", "initialized"):
        x = tl.empty((64, 64), dtype=tl.float32, device="cuda")
        x[32:, :32] = 1  # nothing else is ever written
        result = tl.tril(x, k=-33)
    expected = np.zeros((64, 64), np.float32)
    expected[32:, :32] = 1
    identical(result, np.tril(expected, -33))


# ---- Cost

PADDED = Layout.padded((30, 40), (32, 48), None, ONE)
CALLS = {
    "zeros": lambda: tl.zeros((30, 40), layout=PADDED, device="cuda"),
    "ones": lambda: tl.ones((30, 40), layout=PADDED, device="cuda"),
    "full": lambda: tl.full((30, 40), 3.5, layout=PADDED, device="cuda"),
    "empty": lambda: tl.empty((30, 40), layout=PADDED, device="cuda"),
    "eye": lambda: tl.eye(30, 40, layout=PADDED, device="cuda"),
    "arange": lambda: tl.arange(1000, device="cuda"),
    "linspace": lambda: tl.linspace(0, 1, 1000, device="cuda"),
    "linspace, complex": lambda: tl.linspace(0, 1j, 1000, device="cuda"),
    "fftfreq": lambda: tl.fft.fftfreq(1000, device="cuda"),
    "rfftfreq": lambda: tl.fft.rfftfreq(1000, device="cuda"),
}


@pytest.mark.parametrize("name", CALLS)
def test_one_launch_and_one_allocation(driver, name):
    assert count_second_call(driver, CALLS[name]) == Counter(launches=1, allocations=1)


WIDE = Layout.pitched((256, 500), 512 * 4, 4, None, ONE)
EFFICIENT = {
    # kernel, call, bytes of an access at least
    "arange": ("sequence_integers", lambda: tl.arange(2**14, device="cuda"), 16),
    "arange, bfloat16": (
        "sequence_real",
        lambda: tl.arange(2**14, dtype="bfloat16", device="cuda"),
        16,
    ),
    "linspace": ("sequence_real", lambda: tl.linspace(0, 1, 10007, device="cuda"), 15.9),
    "linspace, complex": (
        "sequence_complex",
        lambda: tl.linspace(0, 1j, 2**13, dtype="complex64", device="cuda"),
        16,
    ),
    "eye": ("band_flat", lambda: tl.eye(256, device="cuda"), 16),
    "eye, odd": ("band_flat", lambda: tl.eye(255, 257, dtype="int8", device="cuda"), 15.9),
    "eye, column-major": ("band_flat", lambda: tl.eye(255, 257, layout="WH", device="cuda"), 15.9),
    "eye, pitched": (
        "band_strided",
        lambda: tl.eye(256, 500, dtype="float32", layout=WIDE, device="cuda"),
        14.9,  # that of padding is 4
    ),
}


@pytest.mark.parametrize("name", EFFICIENT)
def test_stores_are_coalesced(driver, name):
    kernel, call, width = EFFICIENT[name]
    with checking("bounds", "count") as record:
        call()
    counts = record.total_of_kernel(kernel)
    assert counts.launches == 1
    assert counts.sector_efficiency_write >= 0.95
    assert counts.lane_activity >= 0.9
    assert counts.bytes_per_access >= width


@pytest.mark.parametrize(
    ("kernel", "make"),
    [
        ("band_flat", lambda x: x),
        ("band_flat", lambda x: x.mT),
        ("band_strided", lambda x: x[:, :480]),
        ("band_strided", lambda x: tl.to_layout(x[:, :500], WIDE)),
    ],
)
def test_triangles_are_coalesced_and_read_half(driver, kernel, make):
    x = make(tl.ones((256, 512), dtype=tl.float32, device="cuda"))
    with checking("bounds", "count") as record:
        tl.triu(x, k=128)
    counts = record.total_of_kernel(kernel)
    assert counts.sector_efficiency_write >= 0.95
    assert counts.sector_efficiency_read >= 0.95
    # Of a load that the diagonal crosses, the lanes outside the band have nothing to read.
    assert counts.stores.lanes >= 0.9 * 32 * counts.stores.accesses
    assert counts.loads.units < 0.6 * counts.stores.units


# ---- Plans


def bands(*arguments):
    """The kernels that write a band, and how many elements one of their threads moves at once."""
    kernels = [launch.kernel for launch in plan_diagonal_band(*arguments).launches]
    return [(kernel.name, dict(kernel.shape).get("PACK")) for kernel in kernels]


def test_the_kernel_of_each_layout():
    rows = Layout.row_major((64, 128))
    pitched = Layout((64, 128), (256, 1))
    flat, single = [("band_flat", None)], [("band_strided", "1")]
    for expected, result, source, itemsize in [
        ([], Layout.row_major((0, 3)), None, 4),
        (flat, rows, None, 4),
        (flat, rows, rows, 4),
        (flat, rows.permute((1, 0)), rows.permute((1, 0)), 8),
        (flat, Layout.row_major((3, 5, 7)), None, 1),
        ([("band_strided", "4")], pitched, None, 4),
        ([("band_strided", "8")], rows, pitched, 2),
        # rows that do not begin at multiples of 16 bytes
        (single, Layout((64, 128), (131, 1)), None, 4),
        # a source that is repeated, or runs backwards
        (single, rows, Layout((64, 128), (1, 0)), 4),
        (single, rows, rows.flip((1,)).at_origin, 4),
    ]:
        alignments = (32,) if source is None else (32, 32)
        assert bands(result, source, itemsize, alignments) == expected, (result, source)


def test_what_alignment_allows():
    rows = Layout.row_major((64, 128))
    assert bands(rows, rows, 4, (32, 16)) == [("band_flat", None)]
    assert bands(rows, rows, 4, (32, 8)) == [("band_strided", "1")]


def test_a_launch_covers_tensors_of_any_size():
    for layout in (Layout.row_major((2**20, 2**20)), Layout((2**20, 2**20), (2**21, 1))):
        (launch,) = plan_diagonal_band(layout, None, 1, (32,)).launches
        assert launch.grid < 2**31
        assert dict(launch.kernel.shape)["INDEX"] == "int64_t"
    (small,) = plan_diagonal_band(Layout.row_major((2**10, 2**10)), None, 1, (32,)).launches
    assert dict(small.kernel.shape)["INDEX"] == "int32_t"
    for dtype, kind in ((tl.int8, "integers"), (tl.complex128, "real")):
        assert plan_sequence(dtype, 2**40, kind).grid < 2**31


def test_padding_alone_is_one_launch():
    assert len(plan_padding(PADDED, 8, 32, bytes(8)).launches) == 1
    assert plan_padding(Layout.row_major((3,)), 8, 32, bytes(8)).launches == ()


# ---- Sequences of tensors


def test_numbers_of_the_device_in_sequences(driver):
    """Sequences of tensors alone: `ops/moving_cases.py`."""
    a = np.arange(6, dtype=np.int64).reshape(2, 3)
    x = tl.asarray(a, device="cuda")
    identical(tl.asarray((x[0], [7, 8, 9])), [[0, 1, 2], [7, 8, 9]])
    identical(tl.asarray([x, a]), np.stack([a, a]))
    assert tl.asarray([x, x], device="cpu").device == "cpu"
    identical(x[[x[0, 1], x[0, 0]]], a[[1, 0]])
    x[0] = [x[1, 2], 7, 8]
    identical(x, [[5, 7, 8], [3, 4, 5]])


def test_sequences_of_tensors_on_several_devices(driver):
    x = tl.ones((2, 3), device="cuda")
    for sequence, words in (
        ([x, x.to_device("cpu")], "asarray: the tensors in a sequence live on cuda:0 and cpu;"),
        ([x, x.to_device("cuda:1")], "live on cuda:0 and cuda:1; move some with to_device"),
    ):
        with pytest.raises(ValueError, match=words):
            tl.asarray(sequence)
