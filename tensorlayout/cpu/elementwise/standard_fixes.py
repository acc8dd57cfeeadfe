"""Where NumPy's functions depart from the standard's special cases: the fixes.

Each takes operands of the planned dtypes and writes ``out``. It lets NumPy work, looks by a cheap
test whether something special was there, and only then computes the special elements anew: what an
element gives never depends on its neighbours. `functions` says which dtypes need which; all others
go to NumPy as they are.

Those of two operands have an operator that works in place, so ``out`` may overlap the operands:
they test before they write, and write once. The others get an ``out`` of its own.

Large operands come in blocks that fit the cache (`blocks`), so that the test reads what is still
there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorlayout.cpu.engine.memory import Array

Fix = Callable[..., None]  # fix(*operands, out)


def _all_finite(x: Array) -> bool:
    """Whether there is neither an infinity nor a NaN; parts of complex numbers are looked at as
    real numbers where they can be, which is five times faster.
    """
    if x.dtype.kind == "c" and x.ndim and x.flags.c_contiguous:
        x = x.view(x.real.dtype)
    return _all(np.isfinite(x))


def side_by_side(function: Any) -> Fix:
    """`function`, whose loops for vectors put their results side by side wherever they are to go.

    So do those of NumPy 2.4.6: ``np.signbit(-np.ones(16), np.zeros(32, bool)[::2])`` sets two.
    """

    def fix(x: Array, out: Array) -> None:
        rows = x.flags.c_contiguous and out.flags.c_contiguous
        if rows or (x.flags.f_contiguous and out.flags.f_contiguous):
            function(x, out)
        else:
            out[...] = function(x)

    return fix


def forwards(function: Any) -> Fix:
    """Return `function` for memory of any kind, with the bits that it gives for most.

    NumPy's vector loops for complex products round once (``fma``) where its scalar loop rounds
    twice. It takes the scalar one for a single element in place or of operands of several ranks,
    and for complex64 that runs backwards or is far apart.
    """

    def fix(*operands: Array) -> None:
        *arrays, out = operands
        out[...] = function(*[np.array(np.broadcast_to(a, out.shape)) for a in arrays])

    return fix


# Whether NumPy's loops for vectors of bool look for zeros, on this processor.
_ONES, _ODD = np.ones(200, np.bool_), np.full(200, 255, np.uint8).view(np.bool_)
_VECTORS_OF_TRUTHS = bool(np.equal(_ONES, _ODD).all() and not np.not_equal(_ONES, _ODD).any())


def by_truth(function: Any) -> Fix:
    """Return whether bool operands are (un)equal, which both turned are, too.

    Every byte but 0 is True, and NumPy may compare bytes; to turn them it looks for 0. Its loops
    for vectors look for 0 too, unless one operand is the same all along.
    """

    def fix(x: Array, y: Array, out: Array) -> None:
        vectors = _VECTORS_OF_TRUTHS and x.shape == y.shape == out.shape
        if vectors and x.flags.c_contiguous and y.flags.c_contiguous and out.flags.c_contiguous:
            function(x, y, out=out)
        else:
            function(np.logical_not(x), np.logical_not(y), out=out)

    return fix


def _all(mask: Array) -> bool:
    """``mask.all()``, which takes a microsecond more for a small array."""
    return bool(np.count_nonzero(mask) == mask.size)


def folded(function: Any) -> Fix:
    """A function odd in each part, computed for one quadrant: it may round elsewhere otherwise."""

    def fix(x: Array, out: Array) -> None:
        quadrant = np.empty_like(x)
        np.abs(x.real, out=quadrant.real)
        np.abs(x.imag, out=quadrant.imag)
        function(quadrant, out=out)
        np.copysign(out.real, x.real, out=out.real)
        np.copysign(out.imag, x.imag, out=out.imag)

    return fix


def expm1(x: Array, out: Array) -> None:
    """NumPy multiplies infinities by zeros; `exp` has the same special cases, one greater.

    Of -0 the real part is +0, unlike that of real numbers.
    """
    np.expm1(x, out=out)
    np.add(out.real, 0, out=out.real)
    if not _all_finite(x):
        special = ~np.isfinite(x)
        out[special] = np.exp(x[special]) - 1


def acosh(x: Array, out: Array) -> None:
    """NumPy before 2.3 gives NaN for both parts of 0 + NaN j; the imaginary one is pi / 2."""
    np.arccosh(x, out=out)
    if not _all_finite(x):
        special = (x.real == 0) & np.isnan(x.imag)
        out.imag[special] = np.pi / 2


def floor_divide(x: Array, y: Array, out: Array) -> None:
    """NumPy takes the result from the remainder; with infinities the quotient is meant."""
    if _all_finite(x) and _all_finite(y):
        np.floor_divide(x, y, out=out)
        return
    found = np.floor_divide(x, y, out=np.empty_like(out))
    np.floor(np.divide(x, y), out=found, where=np.isinf(x) | np.isinf(y))
    out[...] = found


def floor_divide_narrow(x: Array, y: Array, out: Array) -> None:
    """In float64, where the quotient of narrower floats cannot round up to the next integer.

    That holds below 2**29; greater quotients are rounded to 24 bits in any case. Infinities need no
    second look, and it takes a tenth of NumPy's time.
    """
    out[...] = np.floor(np.divide(x, y, dtype=np.float64, casting="unsafe"))


def log1p(x: Array, out: Array) -> None:
    """What the function is for, NumPy loses near 0; here ``log|1 + z|`` is found from its square.

    Near -1, where that loses as much, and where squares overflow, NumPy's way is the better one.
    """
    wide = x.astype(np.complex128, copy=False)
    a, b = wide.real, wide.imag
    excess = a * (a + 2) + b * b
    out.real = np.log1p(excess) / 2
    out.imag = np.arctan2(b, a + 1)
    usual = (excess > -0.5) & (excess < np.inf)
    if not _all(usual):
        out[~usual] = np.log1p(x[~usual])


def nextafter_half(x: Array, y: Array, out: Array) -> None:
    """From one zero to the other NumPy stays where it is."""
    np.nextafter(x, y, out=out)
    if np.minimum.reduce(out.view(np.uint16) << 1, axis=None, initial=1) == 0:
        np.copyto(out, y, where=x == y)


def pow_one_exponent(x: Array, y: Array, out: Array) -> None:
    """NumPy takes x ** 0.5 for the root, where -0 and -inf differ; with many exponents it is right.

    With many it is faster too, except for the powers it knows: 2 and 0.5.
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


def usual_exponent(exponent: float) -> bool:
    """Whether NumPy needs no help with this Python scalar as the exponent of all elements."""
    return exponent != 0.5 and (exponent >= 0 or isinstance(exponent, float))


def pow_signed(x: Array, y: Array, out: Array) -> None:
    """NumPy raises for negative exponents; here the exact result is truncated, as 0 ** -1 is."""
    if np.minimum.reduce(y, axis=None, initial=0) == 0:
        np.power(x, y, out=out)
        return
    found = np.power(x, np.maximum(y, 0), out=np.empty_like(out))
    inverse = np.where(np.abs(x) == 1, np.power(x, y & 1), 0)
    np.copyto(found, inverse, where=y < 0, casting="unsafe")
    out[...] = found


def reciprocal(x: Array, out: Array) -> None:
    """NumPy is wrong for zeros; wherever it finds nothing finite, `divide` is asked."""
    np.reciprocal(x, out=out)
    if not _all_finite(out):
        np.divide(1, x, out=out, where=~np.isfinite(out))


def remainder(x: Array, y: Array, out: Array) -> None:
    """Rounding must not take a remainder to the divisor: it is the number before that."""
    found = np.remainder(x, y, out=np.empty_like(out))
    if np.count_nonzero(found == y):
        np.nextafter(y, np.zeros_like(y), out=found, where=(found == y) & np.isfinite(y))
    out[...] = found


def sign_bfloat16(x: Array, out: Array) -> None:
    """The sign of -0 is +0. Taken for an integer, -0 is the least of all numbers."""
    np.sign(x, out=out)
    bits = out.view(np.int16)
    if np.minimum.reduce(bits, axis=None, initial=0) == -0x8000:
        np.copyto(bits, 0, where=bits == -0x8000)


def sign_complex(x: Array, out: Array) -> None:
    """Each part divided by the magnitude, an infinite one too; NaN wherever one part is NaN."""
    magnitude = np.abs(x)
    np.divide(x.real, magnitude, out=out.real)
    np.divide(x.imag, magnitude, out=out.imag)
    if not _all(magnitude != 0):
        np.copyto(out, 0, where=magnitude == 0)


def tan(x: Array, out: Array) -> None:
    """At infinite imaginary parts the real part of the result has the sign of that of `x`."""
    np.tan(x, out=out)
    if not _all_finite(x):
        flat = np.isinf(x.imag) & np.isfinite(x.real)
        np.copysign(0, x.real, out=out.real, where=flat)


def tanh(x: Array, out: Array) -> None:
    """At infinite real parts the imaginary part of the result has the sign of that of `x`."""
    np.tanh(x, out=out)
    if not _all_finite(x):
        flat = np.isinf(x.real) & np.isfinite(x.imag)
        np.copysign(0, x.imag, out=out.imag, where=flat)
