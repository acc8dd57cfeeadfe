"""Tensors in any strided layout, what NumPy says they hold, and the dtypes that tests try.

All of it on the default device, and read by way of the host: see `on_devices`.
"""

import functools
import math

import layouts
import ml_dtypes
import numpy as np

import tensorlayout as tl
from tensorlayout import plan
from tensorlayout.tensor import TensorSpec

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)

BOOL = ["bool"]
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
REAL_FLOATING = ["float16", "bfloat16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
NARROW = ["float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz"]
NARROW += ["float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"]
NARROW += ["float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"]
NARROW += ["int1", "int2", "int4", "uint1", "uint2", "uint4"]

# The standard's words for sets of dtypes, and what else can be moved.
DTYPES = {
    "bool": BOOL,
    "integral": SIGNED + UNSIGNED,
    "integer or boolean": BOOL + SIGNED + UNSIGNED,
    "real floating": REAL_FLOATING,
    "floating-point": REAL_FLOATING + COMPLEX,
    "real numeric": SIGNED + UNSIGNED + REAL_FLOATING,
    "numeric": SIGNED + UNSIGNED + REAL_FLOATING + COMPLEX,
    "any": BOOL + SIGNED + UNSIGNED + REAL_FLOATING + COMPLEX,
    "movable": BOOL + SIGNED + UNSIGNED + REAL_FLOATING + COMPLEX + NARROW,
}

# Of functions that take narrow types, too, which `test_narrow` tries.
DTYPES["any or narrow"] = DTYPES["any"]

# But for types that do not hold 0, 1, 2 and 3.
_SMALL = {"int1", "int2", "uint1", "float8_e8m0fnu"}
DTYPES["holding small numbers"] = [n for n in DTYPES["movable"] if n not in _SMALL]

# Values at which functions are tried: some make NumPy warn, which we must not.
VALUES = {
    "b": [False, True],
    "i": [0, 1, 2, 3, 5, 7, 100, -1, -2, -7, "least", "most"],
    "u": [0, 1, 2, 3, 5, 7, 100, "most"],
    "f": [0.0, -0.0, 1.0, -2.5, 0.5, 1.5, 7.0, 0.001, -300.0, math.inf, -math.inf, math.nan],
    "c": [1 + 2j, -0.5j, 3 - 4j, -2.5 + 0.5j, 0.25 + 0.125j, 1.5 + 0j],
}


def as_dtype(name):
    late = isinstance(name, str) and (name == "bfloat16" or name in NARROW)
    return np.dtype(getattr(ml_dtypes, name) if late else name)


def kind(dtype):
    """NumPy's letter of a dtype; ``n`` for narrow ones."""
    if dtype.name in NARROW:
        return "n"
    return "f" if dtype == BFLOAT16 else dtype.kind


def values_of(dtype, finite=False):
    limits = np.iinfo(dtype) if dtype.kind in "iu" else None
    words = {"least": limits and limits.min, "most": limits and limits.max}
    values = [words.get(v, v) if isinstance(v, str) else v for v in VALUES[kind(dtype)]]
    return np.array([v for v in values if not finite or np.isfinite(v)], dtype)


@functools.cache
def slots(dtype, count, seed=0, finite=False):
    """`count` values of `dtype`, the same at each call."""
    return np.random.default_rng(seed).choice(values_of(dtype, finite), count)


def fits(layout, dtype):
    """Return True if `dtype` can hold the padding value: patterns have a dtype."""
    value = layout.padding_value
    if isinstance(value, tl.BitPattern):
        return value.dtype == dtype.name
    return dtype.kind != "c" or value.name not in ("LOWEST", "HIGHEST")


def tensor_in(layout, values):
    """A tensor whose slots hold `values` (at least as many), and the array of its elements.

    Padding that has a value gets that.
    """
    values = np.asarray(values)[: layout.required_size]
    return over(values, layout, fill_padding=layout.is_padded), elements(layout, values)


def over(values, layout, fill_padding=False):
    """A tensor of the default device whose slots hold a copy of `values`, in exactly `layout`."""
    storage = np.array(values)
    x = tl.from_storage(storage, layout, dtype=storage.dtype, fill_padding=fill_padding)
    device = tl.default_device()
    if device == "cpu":
        return x
    from tensorlayout.cuda.engine.memory import view_shifted_by_slots

    slots = tl.asarray(storage, device=device)
    return view_shifted_by_slots(slots, TensorSpec(x.dtype, x.layout, device), x.layout.lowest)


def placed(x, device="cuda"):
    """`x` on a device in exactly its layout; `to_device` packs what has gaps or repeats."""
    with tl.using_device(device):
        return over(slots_of(x), x.layout.at_origin, fill_padding=x.layout.is_padded)


def read_only(x):
    """The same elements, not to be written."""
    if x.device == "cpu":
        return tl.from_storage(slots_of(x).tobytes(), x.layout.at_origin, dtype=x.dtype)
    return tl.Tensor._from_memory(x.memory._replace(readonly=True), x.spec, x.home)


def asarray(obj, **options):
    """As `tl.asarray`, but arrays of NumPy, too, come to the default device."""
    return tl.asarray(obj, device=tl.default_device(), **options)


def elements(layout, values):
    """Return the elements at all indices, by brute force."""
    return (
        values[layouts.slot_array(layout)] if layout.size else np.empty(layout.shape, values.dtype)
    )


def host(x, dtype=None):
    """The elements of a tensor as an array; what is none, as NumPy takes it."""
    return np.asarray(x.to_device("cpu") if isinstance(x, tl.Tensor) else x, dtype)


def slots_of(x):
    """Return the contents of a tensor's slots, from the lowest to the last that it requires."""
    return plan.base.backend_of(x.device).read_bytes(x).view(x.dtype)


def padding_of(x):
    """Return the contents of the padding slots that a tensor owns, in storage order."""
    lowest = x.layout.lowest
    return slots_of(x)[[slot - lowest for slot in sorted(layouts.padding_of(x.layout))]]


def shared(x, y):
    """Return True if elements of two tensors share bytes, as those of a view do."""
    return x.device == y.device and not _bytes_of(x).isdisjoint(_bytes_of(y))


def _bytes_of(x):
    """The addresses of all bytes of all elements."""
    first = plan.base.backend_of(x.device).export_info(x).address
    starts = (first + (s - x.layout.offset) * x.itemsize for s in layouts.slots_of(x.layout))
    return {byte for start in starts for byte in range(start, start + x.itemsize)}


def same(x, expected, message=""):
    """Elements, signs of zeros, dtype and shape."""
    got, expected = _arrays(x, expected, message)
    np.testing.assert_array_equal(got, expected, strict=True, err_msg=message)
    _same_zeros(got, expected, message)


def close(x, expected, message="", ulps=8):
    """As `same`, but for a few units in the last place."""
    got, expected = _arrays(x, expected, message)
    if expected.dtype.kind in "biu":
        np.testing.assert_array_equal(got, expected, err_msg=message)
        return
    tolerance = ulps * float(tl.finfo(x.dtype).eps)
    np.testing.assert_allclose(got, expected, tolerance, err_msg=message)
    _same_zeros(got, expected, message)


def _arrays(x, expected, message):
    """Both as arrays of one dtype, bfloat16 as float32: NumPy does not know its NaN."""
    assert not isinstance(x, tl.Tensor) or x.device == tl.default_device(), message
    got, expected = host(x), np.asarray(expected)
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape), message
    if kind(expected.dtype) == "n":  # bit for bit
        return got.view(np.uint8), expected.view(np.uint8)
    if expected.dtype == BFLOAT16:
        return got.astype(np.float32), expected.astype(np.float32)
    return got, expected


def _same_zeros(got, expected, message):
    if expected.dtype.kind == "f":
        zero = expected == 0
        signs = np.signbit(got[zero]), np.signbit(expected[zero])
        np.testing.assert_array_equal(*signs, err_msg=f"{message}: signs of zeros")
