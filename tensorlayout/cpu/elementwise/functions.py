"""What NumPy does for each elementwise operation, found by the name of the operation."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tensorlayout import dtypes
from tensorlayout.cpu.elementwise import standard_fixes as fixes
from tensorlayout.cpu.elementwise.standard_fixes import Fix
from tensorlayout.cpu.engine.casting import truths
from tensorlayout.cpu.engine.memory import Array
from tensorlayout.dtypes import DType

# By name of the dtype to which the operands are converted; names with a star stand for calls whose
# last operand is a scalar or broadcast, those with a "<" for memory that vector loops refuse.
Fixes = Mapping[str, Fix]

_NONE: Fixes = {}


class Function(NamedTuple):
    """What the CPU runs for an operation.

    Attributes:
        numpy: a ufunc, or ``function(*operands, out)``.
        fixes: what runs in its place where it departs from the standard, or is slow.
        usual: whether a Python scalar as last operand needs no fix; None: a fix looks itself.
        right_alone: whether only what it writes into a given array needs a fix.
        few: what gives the result of few packed elements, and of scalars, in memory of its own.

    """

    numpy: Callable[..., Any]
    fixes: Fixes = _NONE
    usual: Callable[[Any], bool] | None = None
    right_alone: bool = False
    few: Callable[..., Any] | None = None


@functools.cache
def function_of(name: str) -> Function:
    """The function of an operation; NumPy's of the same name, if no other is in the table."""
    found = _FUNCTIONS.get(name)
    return Function(getattr(np, name)) if found is None else found


# These round differently, or not at all, in NumPy's loops for memory that runs backwards; those of
# 16-bit floats and complex numbers in those for any gaps. All others have one right result.
_INEXACT = {
    *("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "exp", "expm1"),
    *("hypot", "log", "log10", "log1p", "log2", "logaddexp", "pow", "sin", "sinh", "tan", "tanh"),
}


def has_one_result(name: str, inputs: Sequence[DType]) -> bool:
    """Return whether an operation has one right result, which all of NumPy's loops give."""
    return name not in _INEXACT and all(d.kind != "c" for d in inputs)


def _clip(x: Array, least: Array, most: Array, out: Array) -> None:
    if least.ndim or most.ndim or dtypes.is_bfloat16(x.dtype):
        np.minimum(np.maximum(x, least), most, out=out)
    else:  # in one pass
        x.clip(least, most, out)


def _round(x: Array, out: Array) -> None:
    if x.dtype.kind in "iu":
        out[...] = x
    else:
        np.rint(x, out)


def _scale_bias(x: Array, scale: Array, bias: Array, out: Array) -> None:
    """``x * scale + bias`` in the dtype of `scale`, rounded to that of `out`; which may be `x`.

    `out` is written last, when nothing more is allocated; large tensors come block by block.
    """
    wide = np.multiply(x, scale, dtype=scale.dtype)
    np.add(wide, bias, out=out, dtype=wide.dtype, casting="unsafe")


# Of `where`: NumPy's has no ``out``, and a branch for each element. From `_SAMPLE` elements on, the
# masks pay; so many at the beginning are looked at.
_SAMPLE = 2048
_LONG_RUN = 64


def _choose(condition: Array, x1: Array, x2: Array, out: Array) -> None:
    """`x1` where the condition holds, or a number is not 0, else `x2`.

    `out` shares no memory with them.
    """
    out[...] = x2
    np.copyto(out, x1, where=condition if condition.dtype == np.bool_ else condition != 0)


def _choose_by_bits(condition: Array, x1: Array, x2: Array, out: Array) -> None:
    """`choose` for a block in the cache, with masks where the condition has no long runs.

    A branch that nobody can foresee costs 4 ns an element: 16 MB of float32 by a random condition
    took 20 ms by `choose` and 15 by ``np.where``; so 3.7. By a condition of long runs masks would
    take as long, where `choose` takes 2.5.
    """
    if out.size < _SAMPLE:
        _choose(condition, x1, x2, out)
        return
    condition = truths(condition) if condition.dtype == np.bool_ else condition != 0
    if condition.ndim == 1 and _has_long_runs(condition):
        _choose_runs(condition, x1, x2, out)
        return
    word = f"i{out.itemsize}"
    mask = np.empty_like(condition, word)
    np.copyto(mask, condition.view(np.int8))
    np.negative(mask, out=mask)
    first, second, result = x1.view(word), x2.view(word), out.view(word)
    np.bitwise_xor(first, second, out=result)
    np.bitwise_and(result, mask, out=result)
    np.bitwise_xor(result, second, out=result)


def _choose_runs(condition: Array, x1: Array, x2: Array, out: Array) -> None:
    """`choose` where neighbours are mostly alike: often a whole block is.

    16 MB of float32 by a condition that is true in the first half: 1.5 ms, `choose` alone 2.5.
    """
    count = np.count_nonzero(condition)
    if count == condition.size:
        out[...] = x1
    elif count == 0:
        out[...] = x2
    else:
        _choose(condition, x1, x2, out)


def _has_long_runs(condition: Array) -> bool:
    """Return whether neighbours are mostly alike at the beginning of the condition."""
    sample = condition[:_SAMPLE]
    return bool(np.count_nonzero(sample[1:] != sample[:-1]) * _LONG_RUN < _SAMPLE)


def _in(function: Fix, *names: str) -> Fixes:
    return dict.fromkeys(names, function)


def _complex(function: Fix) -> Fixes:
    return _in(function, "complex64", "complex128")


def _rounded_once(function: np.ufunc) -> Function:
    """A function of complex numbers whose products are rounded once, in memory of any kind."""
    return Function(function, _in(fixes.forwards(function), "complex64<", "complex128<"))


def _test(function: np.ufunc) -> Function:
    """A test of floats, whose loops for vectors write side by side wherever they are to."""
    found = _in(fixes.side_by_side(function), "float32", "float64")
    return Function(function, found, right_alone=True)


_UNEQUAL = _in(fixes.by_truth(np.not_equal), "bool")
_OLD = np.lib.NumpyVersion(np.__version__) < "2.3.0"
_WORDS = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64"),
)

_FUNCTIONS = {
    "abs": _rounded_once(np.abs),
    "acosh": Function(np.acosh, _complex(fixes.acosh) if _OLD else _NONE),
    "atan": Function(np.atan, _complex(fixes.folded(np.atan))),
    "atanh": Function(np.atanh, _complex(fixes.folded(np.atanh))),
    "bitwise_xor": Function(np.bitwise_xor, _UNEQUAL),
    "clip": Function(_clip, few=np.ndarray.clip),
    "equal": Function(np.equal, _in(fixes.by_truth(np.equal), "bool")),
    "expm1": Function(np.expm1, _complex(fixes.expm1)),
    "floor_divide": Function(
        np.floor_divide,
        {
            **_in(fixes.floor_divide_narrow, "float16", "bfloat16", "float32"),
            "float64": fixes.floor_divide,
        },
    ),
    "imag": Function(lambda x, out: out.fill(0)),  # of real numbers
    "isfinite": _test(np.isfinite),
    "isinf": _test(np.isinf),
    "isnan": _test(np.isnan),
    "log1p": Function(np.log1p, _complex(fixes.log1p)),
    "logical_xor": Function(np.logical_xor, _UNEQUAL),
    "multiply": _rounded_once(np.multiply),
    "nextafter": Function(np.nextafter, {"float16": fixes.nextafter_half}),
    "not_equal": Function(np.not_equal, _UNEQUAL),
    "pow": Function(
        np.pow,
        {
            **_in(fixes.pow_signed, "int8", "int16", "int32", "int64"),
            **_in(fixes.pow_one_exponent, "float32*", "float64*"),
        },
        fixes.usual_exponent,
    ),
    "reciprocal": Function(np.reciprocal, _complex(fixes.reciprocal)),
    "remainder": Function(
        np.remainder, _in(fixes.remainder, "float16", "bfloat16", "float32", "float64")
    ),
    "round": Function(_round),
    "scale_bias": Function(_scale_bias, _in(_scale_bias, "float32", "float64")),  # by blocks
    "sign": Function(np.sign, {**_complex(fixes.sign_complex), "bfloat16": fixes.sign_bfloat16}),
    "signbit": _test(np.signbit),
    "square": _rounded_once(np.square),
    "tan": Function(np.tan, _complex(fixes.tan)),
    "tanh": Function(np.tanh, _complex(fixes.tanh)),
    "where": Function(_choose, _in(_choose_by_bits, *_WORDS), few=np.where),
}
