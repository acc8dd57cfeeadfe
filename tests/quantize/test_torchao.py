"""Blocks that share a scale as torchao makes them, to the bit, but for what is listed here."""

import numpy as np
import pytest

import tensorlayout as tl

torch = pytest.importorskip("torch", reason="optional: torch")
mx_tensor = pytest.importorskip(
    "torchao.prototype.mx_formats.mx_tensor", reason="optional: torchao", exc_type=ImportError
)
nvfp4_tensor = pytest.importorskip(
    "torchao.prototype.mx_formats.nvfp4_tensor", reason="optional: torchao", exc_type=ImportError
)

F32 = np.dtype("float32")
ELEMENTS = {
    "mxfp8_e4m3": "float8_e4m3fn",
    "mxfp8_e5m2": "float8_e5m2",
    "mxfp6_e2m3": "fp6_e2m3",
    "mxfp6_e3m2": "fp6_e3m2",
    "mxfp4": "float4_e2m1fn_x2",
}


def inputs():
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 2**32, (64, 256), np.uint32).view(F32)
    finite = np.where(np.isfinite(bits), bits, 1).astype(F32)
    normal = rng.normal(size=(64, 256)).astype(F32)
    infinite = normal.copy()
    infinite[::3, 5], infinite[::5, 77] = np.inf, -np.inf
    none = infinite.copy()
    none[::4, 100], none[1::4, 130] = np.nan, -np.nan
    by_block = np.ldexp(normal, rng.integers(-140, 120, (64, 8)).repeat(32, 1)).astype(F32)
    return {
        "normal": normal,
        "any bits": bits,
        "finite bits": finite,
        "blocks of many sizes": by_block,
        "denormals": rng.integers(0, 2**23, (64, 256), np.uint32).view(F32),
        "zeros": np.zeros((4, 64), F32),
        "infinities": infinite,
        "NaN": none,
    }


INPUTS = inputs()


def octets(data, columns):
    """Elements of torch, of which two may be in a byte, the first in its low half."""
    result = data.view(torch.uint8).numpy()
    if result.shape[1] == columns:
        return result
    return np.stack([result & 15, result >> 4], -1).reshape(len(result), columns)


@pytest.mark.parametrize("scaling", ["floor", "ceil", "even", "rceil"])
@pytest.mark.parametrize("name", ELEMENTS)
@pytest.mark.parametrize("kind", INPUTS)
def test_mx(kind, name, scaling):
    values = INPUTS[kind]
    element = getattr(torch, ELEMENTS[name], ELEMENTS[name])
    way = mx_tensor.ScaleCalculationMode[scaling.upper()]
    scales, data = mx_tensor.to_mx(torch.from_numpy(values), element, 32, way)
    result = tl.quantize_blocks(tl.asarray(values), name, scaling=scaling)
    known = scales.view(torch.uint8).numpy()
    mine = np.asarray(result.scales).view(np.uint8)
    # RCEIL there has the largest scale for infinity; here infinity counts as 2**128.
    infinite = np.isinf(np.abs(values).reshape(*known.shape, 32).max(-1))
    other = infinite & (scaling == "rceil")
    np.testing.assert_array_equal(mine[~other], known[~other])
    assert set(known[other]) <= {254}
    # There elements beside 2**-127 are divided by 2**-126, in RCEIL by 1, which is not their scale.
    # Beside NaN, what elements are says nothing.
    same = ((mine > 0) & (mine < 255) & ~other).repeat(32, 1)
    np.testing.assert_array_equal(
        np.asarray(result.data).view(np.uint8)[same], octets(data, values.shape[1])[same]
    )


@pytest.mark.parametrize("name", ELEMENTS)
def test_mx_and_back(name):
    values = INPUTS["normal"]
    element = getattr(torch, ELEMENTS[name], ELEMENTS[name])
    scales, data = mx_tensor.to_mx(torch.from_numpy(values), element, 32)
    known = mx_tensor.to_dtype(data, scales, element, 32, torch.float32)
    result = tl.dequantize_blocks(*tl.quantize_blocks(tl.asarray(values), name))
    np.testing.assert_array_equal(np.asarray(result), known.numpy())


@pytest.mark.parametrize("kind", ["normal", "blocks of many sizes", "finite bits", "infinities"])
def test_nvfp4(kind):
    values = INPUTS[kind]
    argument = torch.from_numpy(values)
    whole = torch.tensor(0.001)
    if kind != "infinities":
        whole = nvfp4_tensor.per_tensor_amax_to_scale(argument.abs().amax())
        mine = tl.quantize_blocks(tl.asarray(values), "nvfp4").global_scale
        assert np.asarray(mine) == whole.numpy()
    scales, data = nvfp4_tensor.nvfp4_quantize(argument, 16, whole)
    result = tl.quantize_blocks(tl.asarray(values), "nvfp4", global_scale=float(whole))
    known = scales.view(torch.uint8).numpy()
    mine = np.asarray(result.scales)
    # There scales are at least the least normal number, 2**-6.
    same = mine.astype(F32) >= 2.0**-6
    assert same.any()
    np.testing.assert_array_equal(mine.view(np.uint8)[same], known[same])
    assert (known[~same].view(mine.dtype).astype(F32) == 2.0**-6).all()
    wide = same.repeat(16, 1)
    np.testing.assert_array_equal(
        np.asarray(result.data).view(np.uint8)[wide], octets(data, values.shape[1])[wide]
    )


@pytest.mark.parametrize("rows", [128, 40])
def test_scales_in_the_order_of_cublas(rows):
    """The bytes that `to_blocked` of torchao makes are those of the layout, padding too."""
    from torchao.prototype.mx_formats.utils import to_blocked

    values = np.random.default_rng(2).normal(size=(rows, 160)).astype(F32)
    placed = tl.Layout.scale_factors(rows, 10)
    result = tl.quantize_blocks(tl.asarray(values), "nvfp4", scales_layout=placed)
    plain = np.asarray(result.scales).view(np.uint8)
    known = to_blocked(torch.from_numpy(plain)).numpy()
    memory = tl.plan.base.backend_of(result.scales.device).read_bytes(result.scales)
    np.testing.assert_array_equal(memory, known)
