"""Launches for blocks that share a scale, on the simulator: kernels, packs, sectors."""

import gc
from unittest import mock

import numpy as np
import pytest
from simulated import GPUS, hybrid, needs_compiler, opened, simulator

import tensorlayout as tl
from tensorlayout import plan
from tensorlayout.cuda import quantize
from tensorlayout.cuda.engine.launch_log import Counts, checking

F32 = np.dtype("float32")


@pytest.fixture(scope="module", name="driver")
def _driver():
    with simulator(1) as result:
        yield result


def some(*shape):
    return np.random.default_rng(len(shape)).normal(size=shape).astype(F32)


def launched(call):
    """The symbols of the kernels of a call, what it counted, and its result."""
    with checking("count") as record:
        result = call()
    return [k.symbol for k in record.counts], sum(record.counts.values(), Counts("")), result


def same(result, values, name, **options):
    """Return True if elements and scales equal the CPU's, whose bytes have their own oracle."""
    known = tl.quantize_blocks(tl.asarray(values), name, **options)
    for one, other in zip(result[:2], known[:2], strict=True):
        np.testing.assert_array_equal(
            np.asarray(one.to_device("cpu")).view(np.uint8), np.asarray(other).view(np.uint8)
        )


CASES = [
    # shape, axis, order of the source, kernel
    ((8, 96), 1, (1, 0), "quantize_rows_2_int32_t_4"),
    ((96, 8), 0, (0, 1), "quantize_rows_2_int32_t_4"),
    ((8, 100), 1, (1, 0), "quantize_rows_4_int32_t_4"),  # the last block is short
    ((8, 99), 1, (1, 0), "quantize_rows_4_int32_t_1"),  # rows begin inside packs
    ((96, 8), 0, (1, 0), "quantize_columns_2_int32_t"),
    ((4, 70, 8), 1, (2, 1, 0), "quantize_columns_4_int32_t"),
    ((1, 40), 1, (1, 0), "quantize_rows_2_int32_t_4"),
    ((1, 1), 0, (1, 0), "quantize_rows_2_int32_t_1"),
]


@needs_compiler
@pytest.mark.parametrize(("shape", "axis", "order", "symbol"), CASES)
def test_one_launch(driver, shape, axis, order, symbol):
    values = some(*shape)
    x = tl.to_layout(tl.asarray(values, device="cuda"), order)
    symbols, _, result = launched(lambda: tl.quantize_blocks(x, "mxfp8_e4m3", axis=axis))
    assert symbols == [symbol]
    same(result, values, "mxfp8_e4m3", axis=axis)
    symbols, _, _ = launched(lambda: tl.dequantize_blocks(*result, axis=axis))
    assert len(symbols) == 1


@needs_compiler
def test_a_global_scale_is_found_by_reductions_unless_it_is_given(driver):
    x = tl.asarray(some(8, 64), device="cuda")
    whole = tl.asarray(0.01, dtype=tl.float32, device="cuda")
    argument, _, _ = launched(lambda: tl.quantize_blocks(x, "nvfp4", global_scale=whole))
    assert argument == ["quantize_rows_2_int32_t_4"]
    result, _, _ = launched(lambda: tl.quantize_blocks(x, "nvfp4"))
    assert [symbol for symbol in result if "reduce" in symbol]
    assert result[-1] == argument[0]


@needs_compiler
def test_no_thread_depends_on_another(driver):
    for shape, axis in (((8, 96), 1), ((70, 33), 0), ((5, 37), 1)):
        values = some(*shape)
        x = tl.asarray(values, device="cuda")
        with checking("bounds", "races", "barriers", "initialized"):
            result = tl.quantize_blocks(x, "mxfp8_e4m3", axis=axis)
            tl.dequantize_blocks(*result, axis=axis)
        same(result, values, "mxfp8_e4m3", axis=axis)


@needs_compiler
def test_what_is_between_elements_stays(driver):
    values = some(6, 70)
    gaps = tl.Layout((6, 70), (75, 1))
    x = tl.to_layout(tl.asarray(values, device="cuda"), gaps)
    with checking("bounds", "initialized"):
        result = tl.quantize_blocks(x, "mxfp8_e4m3", layout=gaps)
    same(result, values, "mxfp8_e4m3")
    padded = tl.Layout.padded((6, 70), (6, 80), None, tl.PaddingValue.ONE)
    result = tl.quantize_blocks(x, "mxfp8_e4m3", layout=padded)
    same(result, values, "mxfp8_e4m3")
    rows = plan.base.backend_of(result.data.device).read_bytes(result.data).reshape(6, 80)
    assert set(rows[:, 70:].ravel()) == {0x38}  # 1 in e4m3fn


@needs_compiler
def test_many_dimensions_and_indices_of_64_bits(driver, monkeypatch):
    values = some(2, 3, 2, 5, 2, 3)
    gaps = tl.Layout(values.shape, (3000, 700, 300, 50, 20, 3))
    x = tl.to_layout(tl.asarray(values, device="cuda"), gaps)
    for index in ("int32_t", "int64_t"):
        monkeypatch.setattr(quantize, "narrowest_index_type", lambda *numbers, index=index: index)
        plan.run.cache_clear()
        for axis, name in ((5, "rows"), (2, "columns")):
            call = lambda axis=axis: tl.quantize_blocks(x, "mxfp8_e4m3", axis=axis)  # noqa: E731
            symbols, _, result = launched(call)
            assert symbols[-1].startswith(f"quantize_{name}_0_{index}")
            same(result, values, "mxfp8_e4m3", axis=axis)
            back = tl.dequantize_blocks(*result, axis=axis)
            known = tl.quantize_blocks(tl.asarray(values), "mxfp8_e4m3", axis=axis)
            np.testing.assert_array_equal(
                np.asarray(back.to_device("cpu")), tl.dequantize_blocks(*known, axis=axis)
            )
    plan.run.cache_clear()


# ---- Elements below a byte, scales in tiles


BITS = {"mxfp4": 4, "nvfp4": 4, "mxfp6_e2m3": 6, "mxfp6_e3m2": 6}
PITCHED = tl.Layout((6, 45), (48, 1), slot_bits=4)
PACKED = [
    # shape, axis, slots, format, dtype, kernel
    ((8, 96), 1, None, "mxfp4", "float32", "quantize_rows_2_int32_t_4"),
    ((8, 96), 1, None, "nvfp4", "float32", "quantize_rows_2_int32_t_4"),
    ((8, 96), 1, None, "nvfp4", "float16", "quantize_rows_2_int32_t_8"),
    ((8, 96), 1, None, "mxfp6_e2m3", "float32", "quantize_rows_2_int32_t_8"),
    ((8, 100), 1, None, "mxfp6_e2m3", "float32", "quantize_rows_4_int32_t_4"),
    ((8, 98), 1, None, "mxfp4", "float32", "quantize_rows_4_int32_t_2"),
    ((99,), 0, None, "nvfp4", "float32", "quantize_rows_2_int32_t_2"),  # half of the last byte
    ((33,), 0, None, "mxfp6_e2m3", "float32", "quantize_rows_2_int32_t_4"),  # one of 3 bytes
    ((1,), 0, None, "mxfp4", "float32", "quantize_rows_2_int32_t_2"),
    ((6, 45), 1, PITCHED, "mxfp4", "float32", "quantize_rows_4_int32_t_2"),
    ((96, 8), 0, None, "mxfp4", "float32", "quantize_columns_2_int32_t"),
    ((70, 34), 0, None, "nvfp4", "float32", "quantize_columns_2_int32_t"),
    ((3, 41, 310), 1, None, "mxfp4", "float32", "quantize_columns_4_int32_t"),
]


def bits_like(shape, name):
    return tl.Layout.row_major(shape).with_slot_bits(BITS.get(name))


@needs_compiler
@pytest.mark.parametrize(("shape", "axis", "slots", "name", "dtype", "symbol"), PACKED)
def test_one_launch_packs(driver, shape, axis, slots, name, dtype, symbol):
    values = some(*shape).astype(dtype)
    one = {"global_scale": 0.01} if name == "nvfp4" else {}
    x = tl.asarray(values, device="cuda")
    arguments = {"axis": axis, "layout": slots or bits_like(shape, name), **one}
    tl.quantize_blocks(x, name, **arguments)
    with checking("bounds", "races", "barriers", "initialized"):
        tl.quantize_blocks(x, name, **arguments)
    symbols, _, result = launched(lambda: tl.quantize_blocks(x, name, **arguments))
    assert [item for item in symbols if "fill" not in item] == [symbol]  # and a given scale
    same(result, values, name, axis=axis, **one)
    unpacked = (tl.to_layout(result[0], tl.Layout.row_major(shape)), *result[1:])
    expected = np.asarray(tl.dequantize_blocks(*unpacked, axis=axis).to_device("cpu"))
    with checking("bounds", "races", "barriers", "initialized"):
        tl.dequantize_blocks(*result, axis=axis)
    symbols, _, back = launched(lambda: tl.dequantize_blocks(*result, axis=axis))
    assert len(symbols) == 1
    np.testing.assert_array_equal(np.asarray(back.to_device("cpu")), expected)


# Bytes that two lines share, and dimensions in other orders, are copies behind the kernel.
@needs_compiler
@pytest.mark.parametrize(
    ("shape", "axis", "layout"),
    [
        ((8, 33), 1, bits_like((8, 33), "mxfp4")),
        ((40, 33), 0, bits_like((40, 33), "mxfp4")),
        ((40, 34), 1, tl.Layout.packed((40, 34), (0, 1)).with_slot_bits(4)),
        ((40, 34), 0, tl.Layout.packed((40, 34), (0, 1)).with_slot_bits(4)),
        ((5, 1), 1, bits_like((5, 1), "mxfp4")),
        ((4, 7), 1, tl.Layout.padded((4, 7), (4, 8), None, "ONE").with_slot_bits(4)),
    ],
)
def test_other_bytes_are_copied(driver, shape, axis, layout):
    values = some(*shape)
    x = tl.asarray(values, device="cuda")
    symbols, _, result = launched(lambda: tl.quantize_blocks(x, "mxfp4", axis=axis, layout=layout))
    assert len(symbols) > 1
    assert result.data.layout == layout
    same(result, values, "mxfp4", axis=axis)
    symbols, _, back = launched(lambda: tl.dequantize_blocks(*result, axis=axis))
    assert len([symbol for symbol in symbols if "fill" not in symbol]) == 1  # padding of the result
    known = tl.quantize_blocks(tl.asarray(values), "mxfp4", axis=axis)
    np.testing.assert_array_equal(
        np.asarray(back.to_device("cpu")), tl.dequantize_blocks(*known, axis=axis)
    )


@needs_compiler
def test_lines_of_packed_elements_begin_inside_bytes(driver):
    values = some(6, 99)
    x = tl.asarray(values, device="cuda")
    for name in ("mxfp4", "mxfp6_e2m3"):
        result = tl.quantize_blocks(x, name, layout=bits_like((6, 99), name))
        known = np.asarray(tl.dequantize_blocks(*tl.quantize_blocks(tl.asarray(values), name)))
        for rows in (slice(4, None), slice(None, None, -1), slice(None, None, -5)):
            data, scales = result.data[rows], result.scales[rows]
            with checking("bounds", "initialized"):
                back = tl.dequantize_blocks(data, scales)
            np.testing.assert_array_equal(np.asarray(back.to_device("cpu")), known[rows])


TILED = [
    # shape, axis, format, launches for padding
    ((128, 256), 1, "mxfp8_e4m3", 0),
    ((256, 130), 0, "mxfp8_e4m3", 1),
    ((130, 96), 1, "mxfp4", 1),
    ((130, 100), 1, "nvfp4", 1),
    ((37, 39), 1, "mxfp8_e4m3", 1),
    ((300, 130), 1, "mxfp4", 1),
    ((130, 300), 0, "mxfp4", 1),
]


@needs_compiler
@pytest.mark.parametrize(("shape", "axis", "name", "fills"), TILED)
def test_one_launch_writes_scales_in_tiles(driver, shape, axis, name, fills):
    values = some(*shape)
    one = {"global_scale": tl.asarray(0.01, dtype=tl.float32)} if name == "nvfp4" else {}
    there = {key: scale.to_device("cuda") for key, scale in one.items()}
    known = tl.quantize_blocks(tl.asarray(values), name, axis=axis, **one)
    placed = tl.Layout.scale_factors(*known.scales.shape)
    x = tl.asarray(values, device="cuda")
    arguments = {"axis": axis, "layout": bits_like(shape, name), "scales_layout": placed, **there}
    with checking("bounds", "races", "barriers", "initialized"):
        tl.quantize_blocks(x, name, **arguments)
    symbols, _, result = launched(lambda: tl.quantize_blocks(x, name, **arguments))
    assert len(symbols) == 1 + fills
    assert symbols[-1].startswith("quantize")
    same(result, values, name, axis=axis, **one)
    slots = plan.base.backend_of(result.scales.device).read_bytes(result.scales)
    expected = np.zeros(placed.required_size, np.uint8)
    for (r, c), scale in np.ndenumerate(np.asarray(known.scales).view(np.uint8)):
        across = -(-known.scales.shape[1] // 4)
        tile = (r // 128 * across + c // 4) * 512  # cuBLAS, 1D Block Scaling Factors Layout
        expected[tile + r % 32 * 16 + r % 128 // 32 * 4 + c % 4] = scale
    np.testing.assert_array_equal(slots, expected)
    with checking("bounds", "races", "barriers", "initialized"):
        tl.dequantize_blocks(*result, axis=axis)
    symbols, _, back = launched(lambda: tl.dequantize_blocks(*result, axis=axis))
    assert len(symbols) == 1
    np.testing.assert_array_equal(
        np.asarray(back.to_device("cpu")), tl.dequantize_blocks(*known, axis=axis)
    )


@needs_compiler
def test_tiles_of_any_rank_and_indices_of_64_bits(driver, monkeypatch):
    values = some(3, 5, 70)
    placed = tl.Layout.tiled((3, 5, 3), [(2, 2, 2)], (1, 2, 0))
    for index in ("int32_t", "int64_t"):
        monkeypatch.setattr(quantize, "narrowest_index_type", lambda *numbers, index=index: index)
        plan.run.cache_clear()
        for order in ((2, 1, 0), (2, 0, 1)):
            x = tl.to_layout(tl.asarray(values, device="cuda"), order)
            call = lambda x=x: tl.quantize_blocks(x, "mxfp8_e4m3", scales_layout=placed)  # noqa: E731
            symbols, _, result = launched(call)
            assert symbols == [f"quantize_rows_4_{index}_1"]
            same(result, values, "mxfp8_e4m3")
    plan.run.cache_clear()


# ---- Cost


@needs_compiler
@pytest.mark.parametrize("axis", [1, 0])
@pytest.mark.parametrize(("name", "bits"), [("mxfp8_e4m3", 8), ("mxfp4", 4)])
def test_sectors(driver, name, bits, axis):
    """The least there are."""
    values = some(256, 1024)
    x = tl.asarray(values, device="cuda")
    arguments = {"axis": axis, "layout": bits_like(values.shape, name)}
    _, counts, result = launched(lambda: tl.quantize_blocks(x, name, **arguments))
    assert counts.loads.units == 4 * values.size / 32
    assert counts.stores.units == values.size * bits / 8 / 32 + values.size / 32 / 32
    assert counts.bank_conflict_ratio == 1
    _, counts, _ = launched(lambda: tl.dequantize_blocks(*result, axis=axis))
    assert counts.stores.units == 4 * values.size / 32


@needs_compiler
def test_a_product_reads_blocks_as_they_lie(driver):
    """Two launches of one kernel: of packed elements, and of scales in the order of cuBLAS."""
    m, n, k = 130, 6, 160
    placed = [tl.Layout.scale_factors(rows, k // 16) for rows in (m, n)]
    x, w = (
        tl.quantize_blocks(
            tl.asarray(some(rows, k), device="cuda"),
            "nvfp4",
            global_scale=0.25,
            layout=bits_like((rows, k), "nvfp4"),
            scales_layout=layout,
        )
        for rows, layout in zip((m, n), placed, strict=True)
    )
    y = w.data.mT, w.scales.mT, w.global_scale
    with tl.trace() as seen:
        result = tl.scaled_matmul(x[:2], y[:2])
    assert [(record.name, record.kind) for record in seen] == [("scaled_matmul", "compute")]
    assert [kernel.name for kernel in seen[0].kernels] == ["dequantize"]
    known = tl.scaled_matmul(*[tuple(t.to_device("cpu") for t in item[:2]) for item in (x, y)])
    np.testing.assert_allclose(np.asarray(result.to_device("cpu")), np.asarray(known), 1e-5, 1e-4)


# ---- Products by cuBLASLt, on what stands for it

FORMATS = [("mxfp8_e4m3", "mxfp8_e4m3"), ("mxfp8_e5m2", "mxfp8_e4m3"), ("nvfp4", "nvfp4")]
SIZES = [(33, 32, 64), (130, 160, 96), (1, 32, 32), (128, 64, 512)]


def blocks_of(name, rows, k, seed, *, placed):
    """Rows in blocks; if `placed`, in the layouts that cuBLASLt takes."""
    values = np.random.default_rng(seed).normal(size=(rows, k)).astype(F32)
    block = 16 if name == "nvfp4" else 32
    options = {"global_scale": 0.25} if name == "nvfp4" else {}
    if placed:
        options["layout"] = bits_like((rows, k), name)
        options["scales_layout"] = tl.Layout.scale_factors(rows, k // block)
    return tl.quantize_blocks(tl.asarray(values, device="cuda"), name, **options)[:2]


def product_of(sizes, names, dtype="float32", *, placed=True):
    """A product, and the one of the CPU, of the same blocks."""
    m, n, k = sizes
    x = blocks_of(names[0], m, k, 0, placed=placed)
    w = blocks_of(names[1], n, k, 1, placed=placed)
    call = lambda: tl.scaled_matmul(x, tuple(t.mT for t in w), dtype=dtype)  # noqa: E731
    host = [[t.to_device("cpu") for t in item] for item in (x, w)]
    known = tl.scaled_matmul(tuple(host[0]), tuple(t.mT for t in host[1]), dtype=dtype)
    return call, np.asarray(known).astype(F32)


def close_to(result, known, dtype="float32"):
    tolerance = {"float32": 1e-5, "float16": 1e-3, "bfloat16": 8e-3}[dtype]
    assert result.dtype.name == dtype
    got = np.asarray(result.to_device("cpu")).astype(F32)
    np.testing.assert_allclose(got, known, tolerance, 1e-4)


@needs_compiler
@pytest.mark.parametrize("names", FORMATS)
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_products_of_blackwell_are_cublaslts(names, dtype):
    with hybrid(capability=100) as machine:
        for number, sizes in enumerate(SIZES, 1):
            call, known = product_of(sizes, names, dtype)
            with tl.trace() as seen, tl.no_copies():
                result = call()
            close_to(result, known, dtype)
            assert machine.cublaslt.calls == number
            assert {record.kind for record in seen} == {"view", "compute"}


@needs_compiler
@pytest.mark.parametrize("names", FORMATS)
def test_other_layouts_are_copied_for_cublaslt(names):
    with hybrid(capability=100) as machine:
        call, known = product_of((130, 160, 96), names, placed=False)
        with tl.trace() as seen:
            result = call()
        close_to(result, known)
        assert machine.cublaslt.calls == 1
        copies = [record for record in seen if record.kind == "relayout"]
        assert len(copies) == (4 if names[0] == "nvfp4" else 2)  # scales, and elements of 4 bits


@needs_compiler
def test_what_cublaslt_does_not_multiply_becomes_float32():
    for capability, sizes, names in (
        (90, (32, 32, 64), ("nvfp4", "nvfp4")),
        (100, (32, 33, 64), ("nvfp4", "nvfp4")),
        (100, (32, 32, 48), ("nvfp4", "nvfp4")),
        (100, (32, 32, 64), ("mxfp8_e5m2", "mxfp8_e5m2")),
        (100, (32, 32, 64), ("mxfp4", "mxfp4")),
        (100, (32, 32, 64), ("mxfp6_e2m3", "mxfp8_e4m3")),
    ):
        with hybrid(capability=capability) as machine:
            call, known = product_of(sizes, names, placed=False)
            close_to(call(), known)
            assert machine.cublaslt.calls == 0, (capability, sizes, names)


@needs_compiler
def test_a_device_without_an_algorithm_is_asked_once():
    with hybrid(capability=120) as machine:
        machine.cublaslt.supported = False
        call, known = product_of((32, 32, 64), FORMATS[0])
        close_to(call(), known)
        with mock.patch.object(machine.cublaslt, "cublasLtMatmulAlgoGetHeuristic", None):
            close_to(call(), known)
        assert machine.cublaslt.calls == 0


@needs_compiler
def test_addresses_that_are_no_multiples_of_16_are_not_for_cublaslt():
    with hybrid(capability=100) as machine:
        memory = tl.zeros((32 * 64 + 1,), dtype=tl.uint8, device="cuda")
        shifted = tl.reshape(memory[1:], (32, 64), copy=False).view("float8_e4m3fn")
        data, scales = blocks_of("mxfp8_e4m3", 32, 64, 0, placed=True)
        shifted[...] = data
        y = data.mT, scales.mT
        close_to(
            tl.scaled_matmul((shifted, scales), y), on_host(tl.scaled_matmul((data, scales), y))
        )
        assert machine.cublaslt.calls == 1  # of the second one


@needs_compiler
def test_a_graph_holds_a_product_in_blocks():
    with hybrid(capability=100):
        import cupy

        call, known = product_of((33, 32, 64), FORMATS[2])
        with cupy.cuda.Stream(non_blocking=True) as stream:
            call()
            stream.synchronize()
            stream.begin_capture()
            result = call()
            graph = stream.end_capture()
            graph.launch()
            close_to(result, known)


@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize("names", FORMATS)
def test_gpu_products(names, gpu):
    """By cuBLASLt on Blackwell, whose tensor cores add up in fewer bits than float32 has."""
    with opened(gpu):
        for sizes in SIZES:
            call, known = product_of(sizes, names)
            np.testing.assert_allclose(on_host(call()), known, 1e-2, 1e-2 * sizes[2] ** 0.5)


@needs_compiler
def test_descriptors_are_given_back():
    with hybrid(capability=100) as machine:
        call, _ = product_of((33, 32, 64), FORMATS[0])
        call()
        assert len(machine.cublaslt.made) == 5
        plan.run.cache_clear()
        gc.collect()
        assert machine.cublaslt.made == {}


def on_host(x):
    return np.asarray(x.to_device("cpu"))
