"""Cases of blocks that share a scale: into each format, and back."""

import numpy as np
from case import Case, in_dtype, near
from draws import SIZES
from quantize_oracle import F32, TABLES, expected, mixed, numbers_of
from tensors import as_dtype, host

# Of other formats and dtypes the simulator would compile kernels of their own.
FEW = ("mxfp8_e4m3", "nvfp4")


def same_bytes(got, wanted):
    """Equal bit by bit: NaN too, and zeros of both signs."""
    array = host(got)
    assert (array.dtype.itemsize, array.shape) == (wanted.dtype.itemsize, wanted.shape)
    result, known = (
        np.ascontiguousarray(a).view(np.uint8) for a in (array.ravel(), wanted.ravel())
    )
    np.testing.assert_array_equal(result, known)


def _shape(draw):
    """Return the shape of the requested layout, or one with lines of several blocks."""
    if draw.chance(0.5):
        return draw.shape(1)
    length, size = draw.choice([16, 31, 33, 64, 70]), draw.choice(SIZES)
    return draw.choice([(length,), (size, length), (length, size), (2, size, length)])


def _values(draw, dtype, shape):
    """Any numbers that float32 has, or such as have blocks of several scales without NaN."""
    x = draw.operand(dtype, shape, "wild")
    if x.storage.size and (dtype == "float64" or draw.chance(0.5)):
        result = mixed(x.storage.size, draw.between(0, 99)).astype(x.dtype)
        x = draw.over(x.layout, result)
    return x


def quantized(draw):
    name = draw.choice(FEW if draw.few else list(TABLES))
    dtype = "float32" if draw.few else draw.dtype("real floating")
    shape = _shape(draw)
    x, axis = _values(draw, dtype, shape), draw.axis(len(shape))
    options, scaling, arguments = {}, "floor", 0.25
    if name != "nvfp4" and draw.chance(0.5):
        scaling = options["scaling"] = draw.choice(["floor", "ceil", "even", "rceil"])
    if name == "nvfp4" and (dtype == "float64" or draw.chance(0.5)):
        options["global_scale"] = arguments

    def expect(a):
        whole = None
        if name == "nvfp4":
            wide = np.abs(a.astype(F32))
            least = F32.type(2.0**-118)
            whole = np.maximum(wide.max() / F32.type(2688), least) if a.size else least
            whole = F32.type(options.get("global_scale", whole))
        data, scales = expected(a, name, axis % a.ndim, scaling, whole)
        return data, scales, None if whole is None else np.asarray(whole)

    more = "".join(f", {key}={value!r}" for key, value in options.items())
    text = f'tl.quantize_blocks(x, "{name}", axis={axis}{more})'
    layout = in_dtype(x.layout.form, TABLES[name][3])
    return Case("quantize_blocks", text, {"x": x}, expect, same_bytes, layout)


def dequantized(draw):
    name = draw.choice(FEW if draw.few else list(TABLES))
    shape = _shape(draw)
    axis = draw.axis(len(shape))
    x = draw.operand(TABLES[name][3], shape)
    size, of_scales = (16, "float8_e4m3fn") if name == "nvfp4" else (32, "float8_e8m0fnu")
    blocks = list(shape)
    blocks[axis] = -(-shape[axis] // size)
    s = draw.operand(of_scales, tuple(blocks))
    whole = 0.25 if name == "nvfp4" and draw.chance(0.5) else None
    dtype = "float32" if draw.few else draw.choice(["float32", "float16", "bfloat16"])

    def expect(a, b):
        with np.errstate(all="ignore"):
            return numbers_of(a, b, whole and F32.type(whole), axis).astype(as_dtype(dtype))

    text = f'tl.dequantize_blocks(x, s, {whole}, axis={axis}, dtype="{dtype}")'
    layout = in_dtype(x.layout.form, dtype)
    return Case("dequantize_blocks", text, {"x": x, "s": s}, expect, layout=layout)


def multiplied(draw):
    """Blocks of numbers around 1, so that float32 and float64 give nearly the same."""
    m, n, k = (draw.choice([1, 3, 33]) for _ in range(3))
    operands, wholes = {}, []
    for letters, shape, axis in (("xs", (m, k), 1), ("yt", (k, n), 0)):
        name = "mxfp8_e4m3" if draw.few else draw.choice(list(TABLES))
        values = np.random.default_rng(m + n).standard_normal(shape).astype(F32)
        blocks = expected(values, name, axis, "floor", F32.type(0.25))
        kinds = TABLES[name][3], "float8_e4m3fn" if name == "nvfp4" else "float8_e8m0fnu"
        for letter, array, kind in zip(letters, blocks, kinds, strict=True):
            operands[letter] = draw.holding(array.view(as_dtype(kind)))
        wholes.append(0.25 if name == "nvfp4" else None)

    def expect(*arrays):
        x, y = (
            numbers_of(data, scales, whole and F32.type(whole), axis).astype(np.float64)
            for data, scales, whole, axis in zip(
                arrays[::2], arrays[1::2], wholes, (1, 0), strict=True
            )
        )
        return (x @ y).astype(F32)

    text = f"tl.scaled_matmul((x, s, {wholes[0]}), (y, t, {wholes[1]}))"
    return Case("scaled_matmul", text, operands, expect, near(0, 1e-3), "row-major")


CASES = {
    "quantize_blocks": quantized,
    "dequantize_blocks": dequantized,
    "scaled_matmul": multiplied,
}
