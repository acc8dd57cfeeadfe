"""Blocks that share a scale, by the rules of their sources, element by element in float64."""

import math

import numpy as np
from narrow_values import value_of

F32 = np.dtype("float32")


def magnitudes(dtype, count):
    """The numbers of a narrow float by their codes, up to the sign or to what is no number."""
    return np.array([value_of(dtype, code) for code in range(count)], np.float64)


# OCP MX 1.0, section 5.3: magnitudes by code, the bit of the sign, the exponent of the largest.
E2M1 = magnitudes("float4_e2m1fn", 8), 0x8
E4M3 = magnitudes("float8_e4m3fn", 127)
TABLES = {
    "mxfp8_e4m3": (E4M3, 0x80, 8, "float8_e4m3fn"),
    "mxfp8_e5m2": (magnitudes("float8_e5m2", 124), 0x80, 15, "float8_e5m2"),
    "mxfp6_e2m3": (magnitudes("float6_e2m3fn", 32), 0x20, 2, "float6_e2m3fn"),
    "mxfp6_e3m2": (magnitudes("float6_e3m2fn", 32), 0x20, 4, "float6_e3m2fn"),
    "mxfp4": (*E2M1, 2, "float4_e2m1fn"),
    "mxint8": (np.arange(128) / 64, None, 0, "int8"),
    "nvfp4": (*E2M1, None, "float4_e2m1fn"),
}

# The largest of each, as the specification prints them, and what is next to NaN or infinity.
LARGEST = {"mxfp8_e4m3": 448, "mxfp8_e5m2": 57344, "mxfp6_e2m3": 7.5, "mxfp6_e3m2": 28}
LARGEST |= {"mxfp4": 6, "mxint8": 1 + 63 / 64, "nvfp4": 6}


def nearest(sizes, table):
    """The codes of the nearest entries, the even one of two."""
    distance = np.abs(np.minimum(sizes, table[-1])[..., None] - table)
    near = distance == distance.min(-1, keepdims=True)
    even = np.arange(len(table)) % 2 == 0
    return np.where((near & even).any(-1), (near & even).argmax(-1), near.argmax(-1))


def codes_of(values, name):
    """The bytes of numbers in units of their scale."""
    table, sign, *_ = TABLES[name]
    result = nearest(np.abs(values), table)
    if sign is None:
        return np.where(np.signbit(values), -result, result).astype(np.int8).view(np.uint8)
    return (result | np.where(np.signbit(values), sign, 0)).astype(np.uint8)


def exponent_of(largest, name, scaling):
    """Return the exponent of the scale of a block with this largest magnitude, which is not 0."""
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
            result = (
                of_nvfp4(block, whole) if whole is not None else of_powers(block, name, scaling)
            )
            data[line][k * size : k * size + size], scales[line][k] = result
    return np.moveaxis(data, -1, axis), np.moveaxis(scales, -1, axis)


def numbers_of(data, scales, whole, axis):
    """Return what elements and scales stand for, by ml_dtypes."""
    size = 32 if scales.dtype.name == "float8_e8m0fnu" else 16
    unit = 1 / 64 if data.dtype == np.int8 else 1
    factors = np.take(scales.astype(np.float64), np.arange(data.shape[axis]) // size, axis)
    with np.errstate(all="ignore"):
        product = (data.astype(np.float64) * unit * factors).astype(F32)
        return product if whole is None else product * whole


def mixed(count, seed=0):
    """Numbers of many sizes, zeros of both signs, and denormals."""
    rng = np.random.default_rng(seed)
    result = rng.normal(size=count) * 2.0 ** rng.integers(-12, 12, count)
    result[rng.random(count) < 0.1] = 0
    result = result.astype(F32)
    result[rng.random(count) < 0.05] = -0.0
    result[rng.random(count) < 0.05] = 1e-40
    return result
