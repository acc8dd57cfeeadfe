"""Blocks that share a scale, on every device: by the rules of their sources, written out here.

The oracle goes element by element of the formats' own tables, in numbers that float64 holds.
"""

import math
from typing import get_args

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layouts import TENSORS
from tensors import BFLOAT16, asarray, fits, host, padding_of, tensor_in

import tensorlayout as tl
from tensorlayout.functions import extra_quantizing

pytestmark = pytest.mark.usefixtures("device")

F32 = np.dtype("float32")


def steps(exponent_bits, fraction_bits, bias, count):
    """The magnitudes of a narrow float by their codes."""
    found = []
    for code in range(count):
        exponent, fraction = code >> fraction_bits, code & (2**fraction_bits - 1)
        lead, power = (1, exponent) if exponent else (0, 1)
        found.append((lead + fraction / 2**fraction_bits) * 2.0 ** (power - bias))
    assert exponent_bits + fraction_bits >= math.log2(count)
    return np.array(found)


# OCP MX 1.0, section 5.3: magnitudes by code, the bit of the sign, the exponent of the largest.
E2M1 = steps(2, 1, 1, 8), 0x8
TABLES = {
    "mxfp8_e4m3": (steps(4, 3, 7, 127), 0x80, 8, "float8_e4m3fn"),
    "mxfp8_e5m2": (steps(5, 2, 15, 124), 0x80, 15, "float8_e5m2"),
    "mxfp6_e2m3": (steps(2, 3, 1, 32), 0x20, 2, "float6_e2m3fn"),
    "mxfp6_e3m2": (steps(3, 2, 3, 32), 0x20, 4, "float6_e3m2fn"),
    "mxfp4": (*E2M1, 2, "float4_e2m1fn"),
    "mxint8": (np.arange(128) / 64, None, 0, "int8"),
    "nvfp4": (*E2M1, None, "float4_e2m1fn"),
}
MX = [name for name in TABLES if name != "nvfp4"]
E4M3 = TABLES["mxfp8_e4m3"][0]

# The largest of each, as the specification prints them, and what is next to NaN or infinity.
LARGEST = {"mxfp8_e4m3": 448, "mxfp8_e5m2": 57344, "mxfp6_e2m3": 7.5, "mxfp6_e3m2": 28}
LARGEST |= {"mxfp4": 6, "mxint8": 1 + 63 / 64, "nvfp4": 6}


def nearest(magnitudes, table):
    """The codes of the nearest entries, the even one of two."""
    distance = np.abs(np.minimum(magnitudes, table[-1])[..., None] - table)
    near = distance == distance.min(-1, keepdims=True)
    even = np.arange(len(table)) % 2 == 0
    return np.where((near & even).any(-1), (near & even).argmax(-1), near.argmax(-1))


def codes_of(values, name):
    """The bytes of numbers in units of their scale."""
    table, sign, *_ = TABLES[name]
    found = nearest(np.abs(values), table)
    if sign is None:
        return np.where(np.signbit(values), -found, found).astype(np.int8).view(np.uint8)
    return (found | np.where(np.signbit(values), sign, 0)).astype(np.uint8)


def exponent_of(largest, name, scaling):
    """That of the scale of a block whose largest magnitude is finite, or infinite, and not 0."""
    emax = TABLES[name][2]
    if math.isinf(largest):
        return 128 - emax
    exponent = max(math.frexp(largest)[1] - 1, -127)
    above = {
        "floor": False,
        "ceil": largest > 2.0**exponent,
        "rceil": largest > LARGEST[name] * 2.0 ** (exponent - emax),
    }
    if scaling == "even":
        digits = {"mxfp8_e4m3": 3, "mxfp6_e2m3": 3, "mxfp4": 1, "mxint8": 6}.get(name, 2)
        above["even"] = largest / 2.0**exponent >= 2 - 2.0 ** -(digits + 1)
    return exponent - emax + (above[scaling] and largest >= 2.0**-126)


def of_powers(block, name, scaling):
    """A block in an MX format: the bytes of its elements, and of its scale."""
    wide = block.astype(np.float64)
    if np.isnan(wide).any():
        return np.zeros(len(block), np.uint8), 255
    largest = np.abs(wide).max()
    power = exponent_of(largest, name, scaling) if largest else -127
    power = min(max(power, -127), 127)
    return codes_of(np.clip(wide, -(2.0**200), 2.0**200) / 2.0**power, name), power + 127


def of_nvfp4(block, whole):
    """A block in NVFP4, float32 at each step."""
    singles = block.astype(np.float32)
    with np.errstate(all="ignore"):
        wanted = np.abs(singles).max() / np.float32(6) / whole
        if np.isnan(wanted):
            return np.zeros(len(block), np.uint8), 0x7F
        code = int(nearest(np.float64(wanted), E4M3))
        factor = np.float32(1) / whole / np.float32(E4M3[code]) if code else np.float32(0)
        return codes_of((singles * factor).astype(np.float64), "nvfp4"), code


def expected(values, name, axis, scaling="floor", whole=None):
    """The bytes of elements and scales, line by line."""
    size = 16 if name == "nvfp4" else 32
    lines = np.moveaxis(values, axis, -1)
    data = np.zeros(lines.shape, np.uint8)
    scales = np.zeros((*lines.shape[:-1], -(-lines.shape[-1] // size)), np.uint8)
    for line in np.ndindex(lines.shape[:-1]):
        for k in range(scales.shape[-1]):
            block = lines[line][k * size : k * size + size]
            found = of_nvfp4(block, whole) if whole is not None else of_powers(block, name, scaling)
            data[line][k * size : k * size + size], scales[line][k] = found
    return np.moveaxis(data, -1, axis), np.moveaxis(scales, -1, axis)


def octets(x):
    return host(x).view(np.uint8)


def checked(x, values, name, axis, **options):
    """What is found for a tensor is what the oracle says; gives it."""
    found = tl.quantize_blocks(x, name, axis=axis, **options)
    whole = None if name != "nvfp4" else host(found.global_scale)[()]
    options.pop("global_scale", None)
    data, scales = expected(values, name, axis % values.ndim, whole=whole, **options)
    np.testing.assert_array_equal(octets(found.data), data)
    np.testing.assert_array_equal(octets(found.scales), scales)
    assert found.data.dtype.name == TABLES[name][3]
    return found


def mixed(count, seed=0):
    """Numbers of many sizes, zeros, denormals, and those that are none."""
    rng = np.random.default_rng(seed)
    found = rng.normal(size=count) * 2.0 ** rng.integers(-12, 12, count)
    found[rng.random(count) < 0.1] = 0
    found = found.astype(F32)
    found[rng.random(count) < 0.05] = -0.0
    found[rng.random(count) < 0.05] = 1e-40
    return found


# Layouts that differ in kind: orders, gaps, padding, directions, repeated elements, none.
KINDS = [each for each in TENSORS if fits(each, F32) and each.ndim][::4]


@pytest.mark.parametrize("name", ["mxfp8_e4m3", "nvfp4"])
@pytest.mark.parametrize("layout", KINDS, ids=str)
def test_layouts(layout, name):
    x, values = tensor_in(layout, mixed(500))
    for axis in range(values.ndim):
        found = checked(x, values, name, axis)
        assert found.data.layout == tl.empty_like(x, dtype=found.data.dtype).layout
        assert found.scales.layout == tl.Layout.packed(found.scales.shape, layout.minor_to_major)
        back = tl.dequantize_blocks(*found, axis=axis)
        assert back.layout == tl.empty_like(found.data, dtype=tl.float32).layout
        np.testing.assert_array_equal(host(back), numbers_of(found, axis))
        if found.data.layout.padding_value != tl.PaddingValue.UNSPECIFIED:
            made = padding_of(tl.zeros_like(found.data))
            np.testing.assert_array_equal(
                padding_of(found.data).view(np.uint8), made.view(np.uint8)
            )


def numbers_of(found, axis):
    """What elements and scales stand for, by ml_dtypes."""
    size = 16 if found.global_scale is not None else 32
    data, scales = host(found.data), host(found.scales).astype(np.float64)
    unit = 1 / 64 if data.dtype == np.int8 else 1
    wide = np.take(scales, np.arange(data.shape[axis]) // size, axis)
    with np.errstate(all="ignore"):
        product = (data.astype(np.float64) * unit * wide).astype(np.float32)
        return product if found.global_scale is None else product * host(found.global_scale)


SIZES = [1, 16, 31, 33, 70]
DTYPES = ["float16", "bfloat16", "float32", "float64"]


def check_sizes(name, dtype):
    """Lines that end inside of blocks, at their ends and behind; there and back."""
    kind = BFLOAT16 if dtype == "bfloat16" else np.dtype(dtype)
    for size in SIZES:
        values = mixed(5 * size, size).reshape(5, size).astype(kind)
        for axis, array in ((1, values), (0, np.ascontiguousarray(values.T))):
            found = checked(asarray(array), array, name, axis)
            np.testing.assert_array_equal(
                host(tl.dequantize_blocks(*found, axis=axis)), numbers_of(found, axis)
            )


# Of kernels, each source and each kind of element once: of others than a few dtypes, as `long`.
@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("mxfp8_e4m3", "float32"),
        pytest.param("mxfp8_e5m2", "bfloat16", marks=pytest.mark.long),
        pytest.param("mxint8", "float16", marks=pytest.mark.long),
        pytest.param("mxfp6_e2m3", "float64", marks=pytest.mark.long),
    ],
)
def test_lengths(name, dtype):
    check_sizes(name, dtype)


@pytest.mark.cpu
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_lengths_and_dtypes(name, dtype):
    check_sizes(name, dtype)


@pytest.mark.cpu
@pytest.mark.parametrize("scaling", ["floor", "ceil", "even", "rceil"])
@pytest.mark.parametrize("name", MX)
def test_ways_of_scaling(name, scaling):
    """At and beside every bound: the largest magnitude decides alone."""
    bounds = [1, 2, LARGEST[name], 2 - 2**-2, 2 - 2**-3, 2 - 2**-4, 2 - 2**-7, 1.75, 1.5, 1.9375]
    near = [np.nextafter(F32.type(b), F32.type(t)) for b in bounds for t in (0, b, 9e9)]
    sizes = [F32.type(float(v) * 2.0**e) for v in near for e in (-130, -126, -100, 0, 3, 100, 111)]
    sizes += [np.finfo(F32).max, np.inf, 1e-45]
    values = np.zeros((len(sizes), 32), F32)
    values[:, 7], values[:, 8] = sizes, np.array(sizes) / 3
    checked(asarray(values), values, name, 1, scaling=scaling)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", ["mxfp8_e4m3", "nvfp4"])
def test_what_is_no_number(name, axis):
    values = mixed(70 * 70).reshape(70, 70)
    values[3, 40] = np.nan
    values[9, 69] = -np.nan
    values[20, ::2] = np.inf
    values[41, 2] = -np.inf
    whole = {} if name != "nvfp4" else {"global_scale": 0.5}
    found = checked(asarray(values), values, name, axis, **whole)
    back = host(tl.dequantize_blocks(*found, axis=axis))
    if name != "nvfp4":  # with its scale the largest element is beyond float32
        infinite = np.isinf(values) & ~np.isnan(back)
        np.testing.assert_array_equal(back[infinite], values[infinite])
    assert np.isnan(back[np.isnan(values)]).all()


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_nvfp4_of_all_with_what_is_no_number_is_nan(number):
    values = mixed(40)
    values[3] = number
    found = tl.quantize_blocks(asarray(values), "nvfp4")
    assert np.isnan(host(tl.dequantize_blocks(*found))).all()


def test_zeros():
    zeros = np.array([[0.0, -0.0] * 20], F32)
    for name in ("mxfp8_e4m3", "nvfp4"):
        found = checked(asarray(zeros), zeros, name, 1)
        assert set(octets(found.scales).ravel()) == {0}
        np.testing.assert_array_equal(host(tl.dequantize_blocks(*found)), zeros)


@pytest.mark.parametrize("name", ["mxfp8_e4m3", "nvfp4"])
@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 40)])
def test_empty(shape, name):
    for axis in range(len(shape)):
        found = tl.quantize_blocks(tl.empty(shape, dtype=tl.float32), name, axis=axis)
        size = 16 if name == "nvfp4" else 32
        blocks = [-(-n // size) if d == axis else n for d, n in enumerate(shape)]
        assert (found.data.shape, found.scales.shape) == (shape, tuple(blocks))
        assert tl.dequantize_blocks(*found, axis=axis).shape == shape


def test_results_where_they_are_asked_for():
    """In gaps, tiles, bits and the order of cuBLAS: the same elements and scales."""
    values = mixed(40 * 130).reshape(40, 130)
    x = asarray(values)
    plain = tl.quantize_blocks(x, "mxfp8_e4m3")
    found = tl.quantize_blocks(
        x, "mxfp8_e4m3", layout="{0,1:T(8,16)}", scales_layout=tl.Layout.scale_factors(40, 5)
    )
    assert found.data.layout == tl.Layout.parse("[40,130]{0,1:T(8,16)}")
    assert found.scales.layout == tl.Layout.scale_factors(40, 5)
    for one, other in zip(plain[:2], found[:2], strict=True):
        np.testing.assert_array_equal(octets(one), octets(other))
    gaps = tl.Layout((40, 130), (140, 1))
    np.testing.assert_array_equal(
        octets(tl.quantize_blocks(x, "mxfp8_e4m3", layout=gaps).data), octets(plain.data)
    )
    back = tl.dequantize_blocks(*found, layout="F", dtype=tl.float16)
    assert back.strides == (1, 40)
    np.testing.assert_array_equal(host(back), numbers_of(plain, 1).astype(np.float16))


@pytest.mark.cpu
def test_elements_packed_below_a_byte():
    values = mixed(6 * 40).reshape(6, 40)
    plain = tl.quantize_blocks(asarray(values), "nvfp4")
    bits = tl.Layout.row_major((6, 40)).with_slot_bits(4)
    found = tl.quantize_blocks(asarray(values), "nvfp4", layout=bits)
    assert found.data.layout == bits
    np.testing.assert_array_equal(octets(found.data), octets(plain.data))
    back = tl.dequantize_blocks(*found)
    np.testing.assert_array_equal(host(back), numbers_of(plain, 1))
    assert back.layout == tl.Layout.row_major((6, 40))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_results_of_16_bits(dtype):
    """Rounded once from float32; infinite where the dtype has no such number."""
    kind = BFLOAT16 if dtype == "bfloat16" else np.dtype(dtype)
    values = np.ldexp(mixed(64), np.arange(64) * 3 - 100).reshape(2, 32).astype(F32)
    found = tl.quantize_blocks(asarray(values), "mxfp8_e4m3")
    with np.errstate(all="ignore"):
        wanted = numbers_of(found, 1).astype(kind)
    back = tl.dequantize_blocks(*found, dtype=dtype)
    assert back.dtype == kind
    np.testing.assert_array_equal(host(back).view(np.uint16), wanted.view(np.uint16))


def test_global_scale():
    values = mixed(48)
    x = asarray(values)
    found = tl.quantize_blocks(x, "nvfp4")
    assert host(found.global_scale) == np.abs(values).max() / F32.type(2688)
    for given_scale in (0.25, tl.asarray([0.25], dtype=tl.float16), tl.asarray(0.25)):
        again = checked(x, values, "nvfp4", 0, global_scale=given_scale)
        assert (host(again.global_scale), again.global_scale.dtype) == (0.25, tl.float32)
    plain = tl.dequantize_blocks(again.data, again.scales)
    np.testing.assert_array_equal(host(plain) * 0.25, host(tl.dequantize_blocks(*again)))


@pytest.mark.cpu
@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(list(TABLES)),
    st.lists(st.floats(width=32), min_size=1, max_size=70),
    st.integers(-3, 3),
)
def test_any_numbers(name, numbers, power):
    values = np.array(numbers, F32)
    whole = {} if name != "nvfp4" else {"global_scale": 2.0**power}
    checked(asarray(values), values, name, 0, **whole)


@pytest.mark.cpu
def test_float64_is_rounded_once():
    """By way of float32, rounded to nearest, it would be a tie."""
    values = np.array([1.0, 1.0625 + 2**-40, 1e300, -1e-300, 448.0])
    found = tl.quantize_blocks(asarray(values[[0, 1, 3, 4]]), "mxfp8_e4m3")
    assert host(found.data).astype(float).tolist() == [1.0, 1.125, -0.0, 448.0]
    huge = tl.quantize_blocks(asarray(values), "mxfp8_e4m3")
    assert host(huge.data).astype(float)[2] == 448
    assert host(huge.scales).astype(float).tolist() == [2.0**119]


@pytest.mark.cpu
def test_nvfp4_is_within_the_rounding_of_the_exact_rule():
    """Three roundings of float32 move an element only beside the middle of two."""
    values = np.random.default_rng(5).normal(size=(64, 256)).astype(F32)
    found = tl.quantize_blocks(asarray(values), "nvfp4")
    scale = np.repeat(host(found.scales).astype(np.float64), 16, 1) * float(found.global_scale)
    exact = np.abs(values / scale)
    table = E2M1[0]
    chosen = table[octets(found.data) & 7]
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
        found = tl.quantize_blocks(asarray(values), name)
        part = tl.quantize_blocks(asarray(values[300:301]), name, global_scale=found.global_scale)
        np.testing.assert_array_equal(octets(found.data)[300:301], octets(part.data))
        for axis in (0, 1):
            turned = tl.permute_dims(asarray(values), (1, 0))
            other = tl.quantize_blocks(turned, name, axis=axis, global_scale=found.global_scale)
            again = tl.quantize_blocks(
                asarray(np.ascontiguousarray(values.T)),
                name,
                axis=axis,
                global_scale=found.global_scale,
            )
            np.testing.assert_array_equal(octets(other.data), octets(again.data))


@pytest.mark.cpu
def test_refusals():
    x = tl.ones((2, 40), dtype=tl.float32)
    with pytest.raises(TypeError, match="quantize_blocks: only real floating dtypes are allowed"):
        tl.quantize_blocks(tl.ones(3, dtype=tl.int32), "mxfp4")
    with pytest.raises(ValueError, match=r"format must be one of mxfp8_e4m3, .* got 'fp4'"):
        tl.quantize_blocks(x, "fp4")
    with pytest.raises(ValueError, match="scaling must be one of floor, ceil, even, rceil"):
        tl.quantize_blocks(x, "mxfp4", scaling="round")
    with pytest.raises(ValueError, match="scaling is for scales that are powers of two, and nvfp4"):
        tl.quantize_blocks(x, "nvfp4", scaling="ceil")
    with pytest.raises(ValueError, match="global_scale is for nvfp4, and mxfp4 has none"):
        tl.quantize_blocks(x, "mxfp4", global_scale=1.0)
    for wrong in (0.0, -1.0, math.nan, math.inf, 2.0**-119, 1e39):
        with pytest.raises(ValueError, match=r"global_scale must be finite and at least 2\*\*-118"):
            tl.quantize_blocks(x, "nvfp4", global_scale=wrong)
    with pytest.raises(ValueError, match="global_scale must have one element, got shape"):
        tl.quantize_blocks(x, "nvfp4", global_scale=tl.ones(2))
    with pytest.raises(ValueError, match=r"quantize_blocks: axis 0 is out of bounds|rank 0"):
        tl.quantize_blocks(tl.asarray(1.0), "mxfp4", axis=0)
    with pytest.raises(ValueError, match=r"quantize_blocks: .*shape"):
        tl.quantize_blocks(x, "mxfp4", layout=tl.Layout.row_major((2, 41)))
    found = tl.quantize_blocks(x, "mxfp4")
    with pytest.raises(ValueError, match=r"blocks of 32 along axis 0 .* must have shape \(1, 40\)"):
        tl.dequantize_blocks(*found, axis=0)
    with pytest.raises(TypeError, match=r"data and scales must be of a format .* got float32 with"):
        tl.dequantize_blocks(x, found.scales)
    with pytest.raises(ValueError, match="global_scale is for scales of float8_e4m3fn"):
        tl.dequantize_blocks(found.data, found.scales, 2.0)
    with pytest.raises(TypeError, match="dtype must be float32, float16 or bfloat16, got float64"):
        tl.dequantize_blocks(*found, dtype=tl.float64)
