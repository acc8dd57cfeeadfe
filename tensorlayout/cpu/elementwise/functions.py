"""NumPy function of each elementwise operation, and fixes where it departs from the standard."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tensorlayout import dtypes
from tensorlayout.cpu.engine.casting import normalize_bools
from tensorlayout.cpu.engine.memory import Array
from tensorlayout.dtypes import DType

Fix = Callable[..., None]  # fix(*operands, out)

# Keys are names of the dtype to which operands are converted. A suffix "*" restricts a fix to calls
# whose last operand is a scalar or broadcast, "<" to memory that NumPy's vector loops reject.
Fixes = Mapping[str, Fix]
_NONE: Fixes = {}


class ElementwiseFunction(NamedTuple):
    """NumPy function of an operation, with its fixes."""

    numpy_function: Callable[..., Any]  # a ufunc, or ``function(*operands, out)``
    fixes: Fixes = _NONE  # for dtypes in which it departs from the standard, or is slow
    is_usual_scalar: Callable[[Any], bool] | None = None  # True for last scalars that need no fix
    is_right_when_allocating: bool = False  # a fix is needed only with ``out``
    small_function: Callable[..., Any] | None = None  # faster for few packed elements, without out


@functools.cache
def elementwise_function(name: str) -> ElementwiseFunction:
    """Return the function of an operation; by default NumPy's of the same name."""
    entry = _FUNCTIONS.get(name)
    return ElementwiseFunction(getattr(np, name)) if entry is None else entry


# NumPy's loops for memory that runs backwards round these functions differently; for 16-bit floats
# and complex numbers, so do the loops for memory with gaps. All others have one exact result.
_INEXACT = {
    *("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "exp", "expm1"),
    *("hypot", "log", "log10", "log1p", "log2", "logaddexp", "pow", "sin", "sinh", "tan", "tanh"),
}


def has_same_result_in_all_loops(name: str, inputs: Sequence[DType]) -> bool:
    """Return whether all NumPy loops give the same, exact result of an operation."""
    return name not in _INEXACT and all(d.kind != "c" for d in inputs)


def _clip(x: Array, least: Array, most: Array, out: Array) -> None:
    if least.ndim or most.ndim or dtypes.is_bfloat16(x.dtype):
        np.minimum(np.maximum(x, least), most, out=out)
    else:  # in one pass
        x.clip(least, most, out)


def _round_to_integral(x: Array, out: Array) -> None:
    if x.dtype.kind in "iu":
        out[...] = x
    else:
        np.rint(x, out)


def _scale_bias(x: Array, scale: Array, bias: Array, out: Array) -> None:
    """Compute ``x * scale + bias`` in the dtype of `scale`; `out` may be `x`."""
    wide = np.multiply(x, scale, dtype=scale.dtype)
    np.add(wide, bias, out=out, dtype=wide.dtype, casting="unsafe")


# For `where`: NumPy's function has no ``out`` and branches on each element. Bit masks pay from
# `_SAMPLE` elements on; as many at the beginning are sampled for long runs.
_SAMPLE = 2048
_LONG_RUN = 64


def _where_by_copy(condition: Array, x1: Array, x2: Array, out: Array) -> None:
    """Write `x1` where the condition is true or non-zero, else `x2`; `out` must be disjoint."""
    out[...] = x2
    np.copyto(out, x1, where=condition if condition.dtype == np.bool_ else condition != 0)


def _has_long_runs(condition: Array) -> bool:
    sample = condition[:_SAMPLE]
    return bool(np.count_nonzero(sample[1:] != sample[:-1]) * _LONG_RUN < _SAMPLE)


def _where_by_bit_masks(condition: Array, x1: Array, x2: Array, out: Array) -> None:
    """Choose as `_where_by_copy` does, by bit masks if the condition has no long runs.

    A mispredicted branch costs 4 ns per element: 16 MB of float32 with a random condition take
    20 ms by `_where_by_copy`, 15 by ``np.where``, and 3.7 with masks.
    """
    if out.size < _SAMPLE:
        _where_by_copy(condition, x1, x2, out)
        return
    condition = normalize_bools(condition) if condition.dtype == np.bool_ else condition != 0
    if condition.ndim == 1 and _has_long_runs(condition):
        # Often a block is all true or all false: with a condition that is true in the first half,
        # 16 MB take 1.5 ms, and 2.5 without this test.
        count = np.count_nonzero(condition)
        if 0 < count < condition.size:
            _where_by_copy(condition, x1, x2, out)
        else:
            out[...] = x1 if count else x2
        return
    word = f"i{out.itemsize}"
    mask = np.empty_like(condition, word)
    np.copyto(mask, condition.view(np.int8))
    np.negative(mask, out=mask)
    first, second, result = x1.view(word), x2.view(word), out.view(word)
    np.bitwise_xor(first, second, out=result)
    np.bitwise_and(result, mask, out=result)
    np.bitwise_xor(result, second, out=result)


# --- fixes: where NumPy's functions depart from the standard's special cases ---------------------

# Each fix takes operands of the planned dtypes and writes ``out``. It calls NumPy, tests cheaply
# for special values, and recomputes only those, so that an element's result never depends on its
# neighbours. Large operands come in blocks that fit the cache, so that the test is cheap.
#
# Fixes of two operands also serve in-place operators, so ``out`` may overlap the operands: they
# test before they write, and write once. Other fixes get a separate ``out``.


def _is_all_finite(x: Array) -> bool:
    """Return whether there is no infinity and no NaN."""
    # The real and imaginary parts are tested faster than complex numbers.
    if x.dtype.kind == "c" and x.ndim and x.flags.c_contiguous:
        x = x.view(x.real.dtype)
    return _is_all_true(np.isfinite(x))


def _make_contiguous_fix(function: Any) -> Fix:
    """Return a fix for vector loops of NumPy 2.4.6 that ignore the strides of their output."""

    def compute_directly_if_contiguous(x: Array, out: Array) -> None:
        rows = x.flags.c_contiguous and out.flags.c_contiguous
        if rows or (x.flags.f_contiguous and out.flags.f_contiguous):
            function(x, out)
        else:
            out[...] = function(x)

    return compute_directly_if_contiguous


def _make_row_major_fix(function: Any) -> Fix:
    """Return a fix that computes on row-major copies, so that no layout changes the bits.

    NumPy's vector loops for complex products round once (``fma``), its scalar loop twice. NumPy
    uses the scalar loop for a single element in place or with operands of several ranks, and for
    complex64 memory that runs backwards or has large strides.
    """

    def compute_row_major(*operands: Array) -> None:
        *arrays, out = operands
        out[...] = function(*[np.array(np.broadcast_to(a, out.shape)) for a in arrays])

    return compute_row_major


def _make_bool_comparison(function: Any) -> Fix:
    """Return a comparison of bools: NumPy may compare bytes, but any non-zero byte is True.

    logical_not tests for 0, so it normalises the bytes.
    """

    def compare_bools(x: Array, y: Array, out: Array) -> None:
        function(np.logical_not(x), np.logical_not(y), out=out)

    return compare_bools


def _is_all_true(mask: Array) -> bool:
    """Return ``mask.all()``, a microsecond faster for a small array."""
    return bool(np.count_nonzero(mask) == mask.size)


def _make_first_quadrant_fix(function: Any) -> Fix:
    """Return a fix that computes a complex function in one quadrant and copies signs."""

    def compute_from_one_quadrant(x: Array, out: Array) -> None:
        quadrant = np.empty_like(x)
        np.abs(x.real, out=quadrant.real)
        np.abs(x.imag, out=quadrant.imag)
        function(quadrant, out=out)
        np.copysign(out.real, x.real, out=out.real)
        np.copysign(out.imag, x.imag, out=out.imag)

    return compute_from_one_quadrant


def _expm1_complex(x: Array, out: Array) -> None:
    """Compute expm1 with exp for infinities, which NumPy's expm1 multiplies by zeros.

    The real part of a result for -0 is +0.
    """
    np.expm1(x, out=out)
    np.add(out.real, 0, out=out.real)
    if not _is_all_finite(x):
        special = ~np.isfinite(x)
        out[special] = np.exp(x[special]) - 1


def _acosh_complex(x: Array, out: Array) -> None:
    """Compute arccosh; set the imaginary part of 0 + NaN j to pi / 2, as NumPy 2.3 does."""
    np.arccosh(x, out=out)
    if not _is_all_finite(x):
        special = (x.real == 0) & np.isnan(x.imag)
        out.imag[special] = np.pi / 2


def _floor_divide(x: Array, y: Array, out: Array) -> None:
    """Floor-divide; round the quotient of infinite operands down, unlike NumPy."""
    if _is_all_finite(x) and _is_all_finite(y):
        np.floor_divide(x, y, out=out)
        return
    quotient = np.floor_divide(x, y, out=np.empty_like(out))
    np.floor(np.divide(x, y), out=quotient, where=np.isinf(x) | np.isinf(y))
    out[...] = quotient


def _floor_divide_via_float64(x: Array, y: Array, out: Array) -> None:
    """Floor-divide in float64, which is ten times as fast.

    There, no quotient of narrower floats below 2**29 rounds up to an integer.
    """
    out[...] = np.floor(np.divide(x, y, dtype=np.float64, casting="unsafe"))


def _log1p_complex(x: Array, out: Array) -> None:
    """Compute ``log|1 + z|`` from its square, because NumPy's log1p loses precision near 0.

    Near -1, where this loses as much, and where squares overflow, NumPy's result is better.
    """
    wide = x.astype(np.complex128, copy=False)
    a, b = wide.real, wide.imag
    excess = a * (a + 2) + b * b
    out.real = np.log1p(excess) / 2
    out.imag = np.arctan2(b, a + 1)
    usual = (excess > -0.5) & (excess < np.inf)
    if not _is_all_true(usual):
        out[~usual] = np.log1p(x[~usual])


def _nextafter_half(x: Array, y: Array, out: Array) -> None:
    """Compute nextafter of 16-bit floats, corrected to give `y` for two zeros."""
    np.nextafter(x, y, out=out)
    if np.minimum.reduce(out.view(np.uint16) << 1, axis=None, initial=1) == 0:
        np.copyto(out, y, where=x == y)


def _pow_one_exponent(x: Array, y: Array, out: Array) -> None:
    """Compute powers with one exponent as NumPy does with many.

    For a single exponent 0.5 NumPy takes the root, which differs for -0 and -inf.
    """
    exponent = y.item() if y.ndim == 0 else None
    if exponent == 2:
        np.square(x, out=out)
    elif exponent == 0.5:
        root = np.add(x, 0, out=np.empty_like(out))
        np.sqrt(root, out=root)
        np.copyto(root, np.inf, where=x == -np.inf)
        out[...] = root
    else:
        np.power(x, np.array(np.broadcast_to(y, out.shape)), out=out)


def _is_numpy_power_correct_for(exponent: float) -> bool:
    """Return whether NumPy needs no fix for this Python scalar as exponent of all elements."""
    return exponent != 0.5 and (exponent >= 0 or isinstance(exponent, float))


def _pow_signed(x: Array, y: Array, out: Array) -> None:
    """Truncate the exact result for negative exponents, for which NumPy raises; 0 ** -1 is 0."""
    if np.minimum.reduce(y, axis=None, initial=0) == 0:
        np.power(x, y, out=out)
        return
    powers = np.power(x, np.maximum(y, 0), out=np.empty_like(out))
    inverse = np.where(np.abs(x) == 1, np.power(x, y & 1), 0)
    np.copyto(powers, inverse, where=y < 0, casting="unsafe")
    out[...] = powers


def _reciprocal_complex(x: Array, out: Array) -> None:
    """Use divide where NumPy's reciprocal is not finite, because it is wrong for zeros."""
    np.reciprocal(x, out=out)
    if not _is_all_finite(out):
        np.divide(1, x, out=out, where=~np.isfinite(out))


def _remainder(x: Array, y: Array, out: Array) -> None:
    """Compute remainders; one rounded up to the divisor is moved to the next towards 0."""
    remainder = np.remainder(x, y, out=np.empty_like(out))
    if np.count_nonzero(remainder == y):
        np.nextafter(y, np.zeros_like(y), out=remainder, where=(remainder == y) & np.isfinite(y))
    out[...] = remainder


def _sign_bfloat16(x: Array, out: Array) -> None:
    """Compute the sign, +0 for -0."""
    np.sign(x, out=out)
    bits = out.view(np.int16)  # as an integer, -0 is the minimum
    if np.minimum.reduce(bits, axis=None, initial=0) == -0x8000:
        np.copyto(bits, 0, where=bits == -0x8000)


def _sign_complex(x: Array, out: Array) -> None:
    """Divide each part by the magnitude, even if it is infinite; NaN if a part is NaN."""
    magnitude = np.abs(x)
    np.divide(x.real, magnitude, out=out.real)
    np.divide(x.imag, magnitude, out=out.imag)
    if not _is_all_true(magnitude != 0):
        np.copyto(out, 0, where=magnitude == 0)


def _tan_complex(x: Array, out: Array) -> None:
    """Take the tangent; correct the sign of zero real parts for infinite imaginary parts."""
    np.tan(x, out=out)
    if not _is_all_finite(x):
        flat = np.isinf(x.imag) & np.isfinite(x.real)
        np.copysign(0, x.real, out=out.real, where=flat)


def _tanh_complex(x: Array, out: Array) -> None:
    """Correct the sign of zero imaginary parts for infinite real parts, from x's imaginary part."""
    np.tanh(x, out=out)
    if not _is_all_finite(x):
        flat = np.isinf(x.real) & np.isfinite(x.imag)
        np.copysign(0, x.imag, out=out.imag, where=flat)


# --- the table -----------------------------------------------------------------------------------


def _same_fix_for_dtypes(function: Fix, *names: str) -> Fixes:
    return dict.fromkeys(names, function)


def _fixes_for_complex(function: Fix) -> Fixes:
    return _same_fix_for_dtypes(function, "complex64", "complex128")


def _layout_stable_complex_product(function: np.ufunc) -> ElementwiseFunction:
    """Return a function whose complex products round alike for every memory layout."""
    return ElementwiseFunction(
        function, _same_fix_for_dtypes(_make_row_major_fix(function), "complex64<", "complex128<")
    )


def _float_test_with_stride_fix(function: np.ufunc) -> ElementwiseFunction:
    """Return a test of floats, with a fix for vector loops that ignore output strides."""
    fixes = _same_fix_for_dtypes(_make_contiguous_fix(function), "float32", "float64")
    return ElementwiseFunction(function, fixes, is_right_when_allocating=True)


_UNEQUAL = _same_fix_for_dtypes(_make_bool_comparison(np.not_equal), "bool")
_OLD = np.lib.NumpyVersion(np.__version__) < "2.3.0"
_WORDS = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64"),
)

_FUNCTIONS = {
    "abs": _layout_stable_complex_product(np.abs),
    "acosh": ElementwiseFunction(np.acosh, _fixes_for_complex(_acosh_complex) if _OLD else _NONE),
    "atan": ElementwiseFunction(np.atan, _fixes_for_complex(_make_first_quadrant_fix(np.atan))),
    "atanh": ElementwiseFunction(np.atanh, _fixes_for_complex(_make_first_quadrant_fix(np.atanh))),
    "bitwise_xor": ElementwiseFunction(np.bitwise_xor, _UNEQUAL),
    "clip": ElementwiseFunction(_clip, small_function=np.ndarray.clip),
    "equal": ElementwiseFunction(
        np.equal, _same_fix_for_dtypes(_make_bool_comparison(np.equal), "bool")
    ),
    "expm1": ElementwiseFunction(np.expm1, _fixes_for_complex(_expm1_complex)),
    "floor_divide": ElementwiseFunction(
        np.floor_divide,
        {
            **_same_fix_for_dtypes(_floor_divide_via_float64, "float16", "bfloat16", "float32"),
            "float64": _floor_divide,
        },
    ),
    "imag": ElementwiseFunction(lambda x, out: out.fill(0)),  # of real numbers
    "isfinite": _float_test_with_stride_fix(np.isfinite),
    "isinf": _float_test_with_stride_fix(np.isinf),
    "isnan": _float_test_with_stride_fix(np.isnan),
    "log1p": ElementwiseFunction(np.log1p, _fixes_for_complex(_log1p_complex)),
    "logical_xor": ElementwiseFunction(np.logical_xor, _UNEQUAL),
    "multiply": _layout_stable_complex_product(np.multiply),
    "nextafter": ElementwiseFunction(np.nextafter, {"float16": _nextafter_half}),
    "not_equal": ElementwiseFunction(np.not_equal, _UNEQUAL),
    "pow": ElementwiseFunction(
        np.pow,
        {
            **_same_fix_for_dtypes(_pow_signed, "int8", "int16", "int32", "int64"),
            **_same_fix_for_dtypes(_pow_one_exponent, "float32*", "float64*"),
        },
        _is_numpy_power_correct_for,
    ),
    "reciprocal": ElementwiseFunction(np.reciprocal, _fixes_for_complex(_reciprocal_complex)),
    "remainder": ElementwiseFunction(
        np.remainder, _same_fix_for_dtypes(_remainder, "float16", "bfloat16", "float32", "float64")
    ),
    "round": ElementwiseFunction(_round_to_integral),
    "scale_bias": ElementwiseFunction(
        _scale_bias, _same_fix_for_dtypes(_scale_bias, "float32", "float64")
    ),  # by blocks
    "sign": ElementwiseFunction(
        np.sign, {**_fixes_for_complex(_sign_complex), "bfloat16": _sign_bfloat16}
    ),
    "signbit": _float_test_with_stride_fix(np.signbit),
    "square": _layout_stable_complex_product(np.square),
    "tan": ElementwiseFunction(np.tan, _fixes_for_complex(_tan_complex)),
    "tanh": ElementwiseFunction(np.tanh, _fixes_for_complex(_tanh_complex)),
    "where": ElementwiseFunction(
        _where_by_copy, _same_fix_for_dtypes(_where_by_bit_masks, *_WORDS), small_function=np.where
    ),
}
