"""How blocks that share a scale are launched, here on the simulator: kernels, packs, sectors."""

import numpy as np
import pytest
from cuda_memory import NEEDS_COMPILER
from simulated import simulator

import tensorlayout as tl
from tensorlayout import plan
from tensorlayout.cuda import quantize
from tensorlayout.cuda.engine.counting import Counts, checking

F32 = np.dtype("float32")


@pytest.fixture(scope="module", name="driver")
def _driver():
    with simulator(1) as found:
        yield found


def some(*shape):
    return np.random.default_rng(len(shape)).normal(size=shape).astype(F32)


def launched(call):
    """The symbols of the kernels of a call, what it counted, and its result."""
    with checking("count") as record:
        found = call()
    return [k.symbol for k in record.counts], sum(record.counts.values(), Counts("")), found


def same(found, values, name, **options):
    """Whether elements and scales are those of the CPU, whose bytes have an oracle of their own."""
    known = tl.quantize_blocks(tl.asarray(values), name, **options)
    for one, other in zip(found[:2], known[:2], strict=True):
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


@NEEDS_COMPILER
@pytest.mark.parametrize(("shape", "axis", "order", "symbol"), CASES)
def test_one_launch(driver, shape, axis, order, symbol):
    values = some(*shape)
    x = tl.to_layout(tl.asarray(values, device="cuda"), order)
    symbols, _, found = launched(lambda: tl.quantize_blocks(x, "mxfp8_e4m3", axis=axis))
    assert symbols == [symbol]
    same(found, values, "mxfp8_e4m3", axis=axis)
    symbols, _, _ = launched(lambda: tl.dequantize_blocks(*found, axis=axis))
    assert len(symbols) == 1


@NEEDS_COMPILER
def test_a_global_scale_is_found_by_reductions_unless_it_is_given(driver):
    x = tl.asarray(some(8, 64), device="cuda")
    whole = tl.asarray(0.01, dtype=tl.float32, device="cuda")
    given, _, _ = launched(lambda: tl.quantize_blocks(x, "nvfp4", global_scale=whole))
    assert given == ["quantize_rows_2_int32_t_4"]
    found, _, _ = launched(lambda: tl.quantize_blocks(x, "nvfp4"))
    assert [symbol for symbol in found if "reduce" in symbol]
    assert found[-1] == given[0]


@NEEDS_COMPILER
def test_no_thread_depends_on_another(driver):
    for shape, axis in (((8, 96), 1), ((70, 33), 0), ((5, 37), 1)):
        values = some(*shape)
        x = tl.asarray(values, device="cuda")
        with checking("bounds", "races", "barriers", "initialized"):
            found = tl.quantize_blocks(x, "mxfp8_e4m3", axis=axis)
            tl.dequantize_blocks(*found, axis=axis)
        same(found, values, "mxfp8_e4m3", axis=axis)


@NEEDS_COMPILER
def test_what_is_between_elements_stays(driver):
    values = some(6, 70)
    gaps = tl.Layout((6, 70), (75, 1))
    x = tl.to_layout(tl.asarray(values, device="cuda"), gaps)
    with checking("bounds", "initialized"):
        found = tl.quantize_blocks(x, "mxfp8_e4m3", layout=gaps)
    same(found, values, "mxfp8_e4m3")
    padded = tl.Layout.padded((6, 70), (6, 80), None, tl.PaddingValue.ONE)
    found = tl.quantize_blocks(x, "mxfp8_e4m3", layout=padded)
    same(found, values, "mxfp8_e4m3")
    rows = plan.base.backend(found.data.device).read(found.data).reshape(6, 80)
    assert set(rows[:, 70:].ravel()) == {0x38}  # 1 in e4m3fn


@NEEDS_COMPILER
def test_backwards_and_repeated(driver):
    values = some(4, 80)
    x = tl.asarray(values, device="cuda")
    for view, array in (
        (x[:, ::-1], values[:, ::-1]),
        (x[::-1, 1::3], values[::-1, 1::3]),
        (tl.broadcast_to(x[:1], (3, 80)), np.broadcast_to(values[:1], (3, 80))),
    ):
        for axis in (0, 1):
            with checking("bounds", "initialized"):
                found = tl.quantize_blocks(view, "mxfp8_e4m3", axis=axis)
            same(found, array, "mxfp8_e4m3", axis=axis)


@NEEDS_COMPILER
def test_many_dimensions_and_indices_of_64_bits(driver, monkeypatch):
    values = some(2, 3, 2, 5, 2, 3)
    gaps = tl.Layout(values.shape, (3000, 700, 300, 50, 20, 3))
    x = tl.to_layout(tl.asarray(values, device="cuda"), gaps)
    for index in ("int32_t", "int64_t"):
        monkeypatch.setattr(quantize, "index_type", lambda *numbers, index=index: index)
        plan.run.cache_clear()
        for axis, name in ((5, "rows"), (2, "columns")):
            call = lambda axis=axis: tl.quantize_blocks(x, "mxfp8_e4m3", axis=axis)  # noqa: E731
            symbols, _, found = launched(call)
            assert symbols[-1].startswith(f"quantize_{name}_0_{index}")
            same(found, values, "mxfp8_e4m3", axis=axis)
            back = tl.dequantize_blocks(*found, axis=axis)
            known = tl.quantize_blocks(tl.asarray(values), "mxfp8_e4m3", axis=axis)
            np.testing.assert_array_equal(
                np.asarray(back.to_device("cpu")), tl.dequantize_blocks(*known, axis=axis)
            )
    plan.run.cache_clear()


# ---- Cost


@NEEDS_COMPILER
@pytest.mark.parametrize(("axis", "scales"), [(1, 32 / 4), (0, 1)])
def test_sectors(driver, axis, scales):
    """The least there are, but for scales of rows: those of a warp fill an eighth of a sector."""
    values = some(256, 256)
    x = tl.asarray(values, device="cuda")
    count = values.size
    _, counts, found = launched(lambda: tl.quantize_blocks(x, "mxfp8_e4m3", axis=axis))
    assert counts.loads.units == 4 * count / 32
    assert counts.stores.units == count / 32 + count / 32 / 32 * scales
    assert counts.bank_conflict_ratio == 1
    _, counts, _ = launched(lambda: tl.dequantize_blocks(*found, axis=axis))
    assert counts.stores.units == 4 * count / 32
