"""Blocks that share a scale: ways of scaling, scales of all, layouts asked for, rounding, errors.

Values in every layout, format and dtype: `ops/quantize_cases.py`.
"""

import math
from typing import get_args

import ml_dtypes
import numpy as np
import pytest
from quantize_oracle import E2M1, F32, LARGEST, TABLES, expected, mixed, numbers_of
from tensors import asarray, host

import tensorlayout as tl
from tensorlayout.functions import extra_quantizing

pytestmark = pytest.mark.usefixtures("device")


MX = [name for name in TABLES if name != "nvfp4"]


def octets(x):
    return host(x).view(np.uint8)


def checked(x, values, name, axis, **options):
    """Check the result for a tensor against the oracle and return the result."""
    result = tl.quantize_blocks(x, name, axis=axis, **options)
    whole = None if name != "nvfp4" else host(result.global_scale)[()]
    options.pop("global_scale", None)
    data, scales = expected(values, name, axis % values.ndim, whole=whole, **options)
    np.testing.assert_array_equal(octets(result.data), data)
    np.testing.assert_array_equal(octets(result.scales), scales)
    assert result.data.dtype.name == TABLES[name][3]
    return result


def check_bounds(name, scaling):
    """At and beside every bound: the largest magnitude decides alone."""
    bounds = [1, 2, LARGEST[name], 2 - 2**-2, 2 - 2**-3, 2 - 2**-4, 2 - 2**-7, 1.75, 1.5, 1.9375]
    near = [np.nextafter(F32.type(b), F32.type(t)) for b in bounds for t in (0, b, 9e9)]
    sizes = [F32.type(float(v) * 2.0**e) for v in near for e in (-130, -126, -100, 0, 3, 100, 111)]
    sizes += [np.finfo(F32).max, np.inf, 1e-45]
    values = np.zeros((len(sizes), 32), F32)
    values[:, 7], values[:, 8] = sizes, np.array(sizes) / 3
    checked(asarray(values), values, name, 1, scaling=scaling)


SCALINGS = ["floor", "ceil", "even", "rceil"]


@pytest.mark.parametrize("scaling", SCALINGS)
def test_ways_of_scaling_on_devices(scaling):
    check_bounds("mxfp8_e4m3", scaling)


@pytest.mark.cpu
@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("name", MX)
def test_ways_of_scaling(name, scaling):
    check_bounds(name, scaling)


def test_results_where_they_are_asked_for():
    """In gaps, tiles, bits and the order of cuBLAS: the same elements and scales."""
    values = mixed(40 * 130).reshape(40, 130)
    x = asarray(values)
    plain = tl.quantize_blocks(x, "mxfp8_e4m3")
    turned = tl.quantize_blocks(tl.permute_dims(x, (1, 0)), "mxfp8_e4m3", axis=0)
    assert turned.scales.layout == tl.Layout.packed((5, 40), (0, 1))
    result = tl.quantize_blocks(
        x, "mxfp8_e4m3", layout="{0,1:T(8,16)}", scales_layout=tl.Layout.scale_factors(40, 5)
    )
    assert result.data.layout == tl.Layout.parse("[40,130]{0,1:T(8,16)}")
    assert result.scales.layout == tl.Layout.scale_factors(40, 5)
    for one, other in zip(plain[:2], result[:2], strict=True):
        np.testing.assert_array_equal(octets(one), octets(other))
    gaps = tl.Layout((40, 130), (140, 1))
    np.testing.assert_array_equal(
        octets(tl.quantize_blocks(x, "mxfp8_e4m3", layout=gaps).data), octets(plain.data)
    )
    back = tl.dequantize_blocks(*result, layout="F", dtype=tl.float16)
    assert back.strides == (1, 40)
    np.testing.assert_array_equal(
        host(back), numbers_of(*map(host, plain[:2]), None, 1).astype(np.float16)
    )


@pytest.mark.cpu
def test_elements_packed_below_a_byte():
    values = mixed(6 * 40).reshape(6, 40)
    plain = tl.quantize_blocks(asarray(values), "nvfp4")
    bits = tl.Layout.row_major((6, 40)).with_slot_bits(4)
    result = tl.quantize_blocks(asarray(values), "nvfp4", layout=bits)
    assert result.data.layout == bits
    np.testing.assert_array_equal(octets(result.data), octets(plain.data))
    back = tl.dequantize_blocks(*result)
    np.testing.assert_array_equal(host(back), numbers_of(*map(host, plain), 1))
    assert back.layout == tl.Layout.row_major((6, 40))


def test_global_scale():
    values = mixed(48)
    x = asarray(values)
    result = tl.quantize_blocks(x, "nvfp4")
    assert host(result.global_scale) == np.abs(values).max() / F32.type(2688)
    for given_scale in (0.25, tl.asarray([0.25], dtype=tl.float16), tl.asarray(0.25)):
        again = checked(x, values, "nvfp4", 0, global_scale=given_scale)
        assert (host(again.global_scale), again.global_scale.dtype) == (0.25, tl.float32)
    plain = tl.dequantize_blocks(again.data, again.scales)
    np.testing.assert_array_equal(host(plain) * 0.25, host(tl.dequantize_blocks(*again)))


@pytest.mark.cpu
def test_float64_is_rounded_once():
    """By way of float32, rounded to nearest, it would be a tie."""
    values = np.array([1.0, 1.0625 + 2**-40, 1e300, -1e-300, 448.0])
    result = tl.quantize_blocks(asarray(values[[0, 1, 3, 4]]), "mxfp8_e4m3")
    assert host(result.data).astype(float).tolist() == [1.0, 1.125, -0.0, 448.0]
    huge = tl.quantize_blocks(asarray(values), "mxfp8_e4m3")
    assert host(huge.data).astype(float)[2] == 448
    assert host(huge.scales).astype(float).tolist() == [2.0**119]


@pytest.mark.cpu
def test_nvfp4_is_within_the_rounding_of_the_exact_rule():
    """Three roundings of float32 move an element only beside the middle of two."""
    values = np.random.default_rng(5).normal(size=(64, 256)).astype(F32)
    result = tl.quantize_blocks(asarray(values), "nvfp4")
    scale = np.repeat(host(result.scales).astype(np.float64), 16, 1) * float(result.global_scale)
    exact = np.abs(values / scale)
    table = E2M1[0]
    chosen = table[octets(result.data) & 7]
    distance = np.abs(np.minimum(exact, 6)[..., None] - table).min(-1)
    assert (np.abs(np.minimum(exact, 6) - chosen) <= distance + 6 * 2.0**-21).all()


@pytest.mark.cpu
def test_formats_are_ml_dtypes():
    assert get_args(extra_quantizing.Format) == tuple(TABLES)
    for name, (table, sign, _, dtype) in TABLES.items():
        if sign is not None:
            known = np.arange(len(table)).astype(np.uint8).view(getattr(ml_dtypes, dtype))
            np.testing.assert_array_equal(known.astype(np.float64), table)
        assert table[-1] == LARGEST[name]


@pytest.mark.cpu
def test_threads_make_no_difference():
    values = mixed(700 * 400).reshape(700, 400)
    for name in ("mxfp6_e3m2", "nvfp4"):
        result = tl.quantize_blocks(asarray(values), name)
        part = tl.quantize_blocks(asarray(values[300:301]), name, global_scale=result.global_scale)
        np.testing.assert_array_equal(octets(result.data)[300:301], octets(part.data))
        for axis in (0, 1):
            turned = tl.permute_dims(asarray(values), (1, 0))
            other = tl.quantize_blocks(turned, name, axis=axis, global_scale=result.global_scale)
            again = tl.quantize_blocks(
                asarray(np.ascontiguousarray(values.T)),
                name,
                axis=axis,
                global_scale=result.global_scale,
            )
            np.testing.assert_array_equal(octets(other.data), octets(again.data))


X = tl.ones((2, 40), dtype=tl.float32)
NARROW, SCALES, _ = tl.quantize_blocks(X, "mxfp4")


@pytest.mark.cpu
@pytest.mark.parametrize(
    ("function", "arguments", "options", "message"),
    [
        ("quantize", (X, "nvfp4"), {"scaling": "ceil"}, "scaling is for scales that are powers of"),
        ("quantize", (X, "mxfp4"), {"global_scale": 1.0}, "global_scale is for nvfp4, and mxfp4"),
        *[
            ("quantize", (X, "nvfp4"), {"global_scale": wrong}, "must be finite and at least 2")
            for wrong in (0.0, -1.0, math.nan, math.inf, 2.0**-119, 1e39)
        ],
        ("quantize", (X, "nvfp4"), {"global_scale": tl.ones(2)}, "must have one element, got"),
        ("quantize", (X, "mxfp4"), {"layout": tl.Layout.row_major((2, 41))}, "shape"),
        ("dequantize", (NARROW, SCALES), {"axis": 0}, r"blocks of 32 .* have shape \(1, 40\)"),
        ("dequantize", (NARROW, SCALES, 2.0), {}, "global_scale is for scales of float8_e4m3fn"),
        ("dequantize", (NARROW, SCALES), {"dtype": tl.float64}, "dtype must be float32, float16"),
    ],
)
def test_refusals(function, arguments, options, message):
    """Refused values; wrong types are in `project/test_errors.py`."""
    with pytest.raises((ValueError, TypeError), match=f"^{function}_blocks: .*{message}"):
        getattr(tl, f"{function}_blocks")(*arguments, **options)


# ---- Products


def test_products_are_exact_where_float32_is():
    """Of small integers; global scales are applied to the sums, before one rounding."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(-6, 7, (5, 40)).astype(F32), rng.integers(-4, 5, (40, 3)).astype(F32)
    a[:, ::16] = 6  # so that scales are whole powers of two
    x = tl.quantize_blocks(asarray(a), "mxfp8_e4m3")
    y = tl.quantize_blocks(asarray(b), "mxint8", axis=0)
    np.testing.assert_array_equal(host(tl.dequantize_blocks(*x)), a)
    np.testing.assert_array_equal(host(tl.dequantize_blocks(*y, axis=0)), b)
    result = tl.scaled_matmul(x, y[:2])
    assert result.layout.is_row_major
    np.testing.assert_array_equal(host(result), a @ b)
    for dtype in ("float16", "bfloat16"):
        narrow = tl.scaled_matmul(x, y, dtype=dtype)
        np.testing.assert_array_equal(host(narrow), (a @ b).astype(narrow.dtype))
    levels = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], F32)[rng.integers(0, 8, (5, 40))]
    levels[:, ::16] = 6
    z = tl.quantize_blocks(asarray(levels), "nvfp4", global_scale=0.5)
    np.testing.assert_array_equal(host(z.data).astype(F32), levels)
    scaled = tl.scaled_matmul((z.data, z.scales, 0.1), y)
    # Scales of blocks are 2: 6 / 6 / 0.5.
    np.testing.assert_array_equal(host(scaled), (2 * levels @ b) * F32.type(0.1))
