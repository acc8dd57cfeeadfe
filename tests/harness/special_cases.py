"""Every special case that the array API standard 2025.12 states in its text, as data.

A row says operands and the value that must come out; a tuple in the place of an operand stands for
each of its members, a tuple in the place of a result for the values allowed there, the one that the
text prefers first. Complex numbers are pairs. The sign of NaN counts only where `copysign` and
`signbit` speak of it; signs of zeros always do.

What the text states for one half plane and demands for the others by symmetry (conjugates, odd and
even functions), or through another function ("as if implemented as …"), is mirrored or turned here.
Where the text leaves a value open and this package promises one, the section says "ours".
"""

from __future__ import annotations

import cmath
import enum
import itertools
import math
from typing import Any, NamedTuple

import numpy as np

NAN, INF, PI = math.nan, math.inf, math.pi
MINUS_NAN = math.copysign(math.nan, -1.0)


class Limit(enum.Enum):
    """A value that each dtype has its own of."""

    MAX = "the greatest finite value"
    LOWEST = "the least finite value"
    TINY = "the least value above 0"
    MINUS_TINY = "the greatest value below 0"
    WIDTH = "the number of bits"

    def __neg__(self) -> Limit:
        return _NEGATIVE[self]


MAX, LOWEST, TINY, MINUS_TINY, WIDTH = Limit
_NEGATIVE = {MAX: LOWEST, LOWEST: MAX, TINY: MINUS_TINY, MINUS_TINY: TINY}


def limit(which: Limit, dtype: Any) -> Any:
    """Return the value of a `Limit` in a dtype of NumPy."""
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return {MAX: info.max, LOWEST: info.min, WIDTH: info.bits}[which]
    unsigned = f"u{dtype.itemsize}"
    sign = 1 << (8 * dtype.itemsize - 1)
    infinity = int(np.asarray(np.inf, dtype).view(unsigned))
    greatest = infinity - 1
    bits = {MAX: greatest, LOWEST: greatest + sign, TINY: 1, MINUS_TINY: 1 + sign}[which]
    return np.array(bits, unsigned).view(dtype)[()]


def numbers(values: Any, dtype: Any) -> Any:
    """Values of the table as an array: limits, and complex numbers as pairs."""
    if dtype.kind == "c":
        part = np.dtype(f"f{dtype.itemsize // 2}")
        parts = [[limit(p, part) if isinstance(p, Limit) else p for p in pair] for pair in values]
        return np.array(parts, part).view(dtype)[..., 0]
    resolved = [limit(v, dtype) if isinstance(v, Limit) else v for v in values]
    return np.array(resolved, dtype)


def array_of(elements: list[Any], dtype: str) -> Any:
    """The list of a call as an array of a real dtype, or the complex one of that precision."""
    if elements and isinstance(elements[0], bool):
        return np.array(elements)
    if elements and isinstance(elements[0], tuple):
        return numbers(elements, np.dtype("complex64" if dtype == "float32" else "complex128"))
    if elements and isinstance(elements[0], list):
        return np.array(elements, dtype)
    return numbers(elements, np.dtype(dtype))


def same(result: Any, expected: Any, nan_signs: bool = False) -> Any:
    """Equal within 4 units in the last place; zeros with their signs, NaN as NaN."""
    if result.dtype.kind == "c":
        return same(result.real, expected.real) & same(result.imag, expected.imag)
    if result.dtype.kind in "biu":
        return result == expected
    digits = {2: 10 if result.dtype.kind == "f" else 7, 4: 23, 8: 52}[result.dtype.itemsize]
    result, expected = result.astype(np.float64), expected.astype(np.float64)
    with np.errstate(all="ignore"):
        near = np.abs(result - expected) <= 4 * 2.0**-digits * np.abs(expected)
    near = (near & np.isfinite(expected)) | (result == expected)
    signs = np.signbit(result) == np.signbit(expected)
    nan = np.isnan(result) & np.isnan(expected)
    return (near & signs) | ((nan & signs) if nan_signs else nan)


class Case(NamedTuple):
    """One row: `function` of `operands` in dtypes of `kind` is one of `allowed`."""

    function: str
    kind: str  # "real", "complex", "integer", "signed" (integers), "bool"
    operands: tuple[Any, ...]
    allowed: tuple[Any, ...]  # or one function of the operands
    section: str


class Call(NamedTuple):
    """A call with elements and keywords, and what it gives."""

    function: str
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    expected: Any
    section: str


CASES: list[Case] = []

# What the text calls a positive finite number, a finite number, any value, ….
POSITIVE = (TINY, 0.5, 1.0, 3.0, MAX)
NEGATIVE = (MINUS_TINY, -0.5, -1.0, -3.0, LOWEST)
ZEROS = (0.0, -0.0)
NONZERO = POSITIVE + NEGATIVE
FINITE = ZEROS + NONZERO
INFS = (INF, -INF)
ABOVE_ZERO = (*POSITIVE, INF)
BELOW_ZERO = (*NEGATIVE, -INF)
NUMBERS = FINITE + INFS
ANY = (*NUMBERS, NAN)
SECTION = "special cases"
WRAPS = "ours: integer overflow wraps around"


def _each(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def real(name: str, *rows: tuple[Any, ...], section: str = SECTION, kind: str = "real") -> None:
    """Rows of (operand, …, result)."""
    for *operands, result in rows:
        for choice in itertools.product(*map(_each, operands)):
            _add(Case(name, kind, choice, _each(result), f"{name}: {section}"))


def integer(name: str, *rows: tuple[Any, ...], section: str) -> None:
    """Rows of (operand, …, result) in integer dtypes."""
    real(name, *rows, section=section, kind="integer")


def signed(name: str, *rows: tuple[Any, ...], section: str) -> None:
    """Rows of (operand, …, result) in signed integer dtypes."""
    real(name, *rows, section=section, kind="signed")


def plane(
    name: str,
    *rows: tuple[Any, ...],
    conj: bool = True,
    odd: bool = False,
    even: bool = False,
    section: str = SECTION,
) -> None:
    """Rows of (real part, imaginary part, real part of the result, its imaginary part)."""
    turns = [(1, 1, 1, 1)]
    if conj:
        turns += [(1, -1, 1, -1)]
    if odd:
        turns += [(-s, -t, -u, -v) for s, t, u, v in turns]
    if even:
        turns += [(-s, -t, u, v) for s, t, u, v in turns]
    for a, b, re, im in rows:
        for x, y in itertools.product(_each(a), _each(b)):
            for s, t, u, v in turns:
                operand = (_signed(x, s), _signed(y, t))
                allowed = itertools.product(
                    [_signed(r, u) for r in _each(re)], [_signed(i, v) for i in _each(im)]
                )
                _complex(name, (operand,), tuple(allowed), f"{name}: {section}")


def _signed(value: Any, sign: int) -> Any:
    return value if sign > 0 or value != value else -value


def _complex(name: str, operands: tuple[Any, ...], allowed: Any, section: str) -> None:
    _add(Case(name, "complex", operands, allowed, section))


def _add(case: Case) -> None:
    """Keep a case that is not there yet."""
    if (key := repr(case[:4])) not in _seen:
        _seen.add(key)
        CASES.append(case)


_seen: set[str] = set()


def add_rotated_cases(name: str, source: str, *, back: bool = True) -> None:
    """The rows of ``name(z)``, defined as ``source(z * 1j)``, times ``-1j`` if `back`."""
    for case in [c for c in CASES if c.function == source and c.kind == "complex"]:
        ((a, b),) = case.operands
        operand = (b, _signed(a, -1))
        allowed = tuple((im, _signed(re, -1)) if back else (re, im) for re, im in case.allowed)
        _complex(name, (operand,), allowed, case.section.replace(source, name, 1))


def scaled(name: str, source: str, factor: float) -> None:
    """The rows of ``name(z)``, defined as ``source(z) * factor``."""
    for case in [c for c in CASES if c.function == source and c.kind == "complex"]:
        allowed = tuple((re * factor, im * factor) for re, im in case.allowed)
        _complex(name, case.operands, allowed, case.section.replace(source, name, 1))


def first(x1: Any, *_: Any) -> Any:
    """The result is the first operand."""
    return x1


def second(_: Any, x2: Any) -> Any:
    """The result is the second operand."""
    return x2


# --- one operand, real ----------------------------------------------------------------------------

real("abs", (NAN, NAN), (-0.0, 0.0), (0.0, 0.0), (-INF, INF), (INF, INF), (LOWEST, MAX))
real("abs", (MINUS_TINY, TINY), (-3.0, 3.0), (3.0, 3.0), section="positive sign")
real("acos", (NAN, NAN), ((1.5, 3.0, MAX, INF), NAN), ((-1.5, -3.0, LOWEST, -INF), NAN), (1.0, 0.0))
real("acosh", (NAN, NAN), ((0.5, 0.0, -0.0, -1.0, LOWEST, -INF), NAN), (1.0, 0.0), (INF, INF))
real("asin", (NAN, NAN), ((1.5, 3.0, MAX, INF), NAN), ((-1.5, -3.0, LOWEST, -INF), NAN))
real("asin", (0.0, 0.0), (-0.0, -0.0))
real("asinh", (NAN, NAN), (0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF))
real("atan", (NAN, NAN), (0.0, 0.0), (-0.0, -0.0), (INF, PI / 2), (-INF, -PI / 2))
real("atanh", (NAN, NAN), ((-1.5, LOWEST, -INF), NAN), ((1.5, MAX, INF), NAN))
real("atanh", (-1.0, -INF), (1.0, INF), (0.0, 0.0), (-0.0, -0.0))
for _name in ("ceil", "floor", "round", "trunc"):
    real(_name, (NAN, NAN), (INF, INF), (-INF, -INF), (0.0, 0.0), (-0.0, -0.0))
    real(_name, ((1.0, -1.0, 3.0, -3.0, 64.0, MAX, LOWEST), first), section="already integer")
    integer(_name, ((0, 1, 3, MAX), first), section="already integer")
    signed(_name, ((-1, -3, LOWEST), first), section="already integer")
real("ceil", (-0.5, -0.0), (MINUS_TINY, -0.0), (TINY, 1.0), (1.5, 2.0), section="not below")
real("floor", (0.5, 0.0), (TINY, 0.0), (MINUS_TINY, -1.0), (-1.5, -2.0), section="not above")
real("trunc", (0.5, 0.0), (-0.5, -0.0), (1.5, 1.0), (-1.5, -1.0), (MINUS_TINY, -0.0))
real("round", (0.5, 0.0), (-0.5, -0.0), (1.5, 2.0), (2.5, 2.0), (-1.5, -2.0), (-2.5, -2.0))
real("round", (TINY, 0.0), (MINUS_TINY, -0.0), (3.5, 4.0), (4.5, 4.0))
real("cos", (NAN, NAN), (ZEROS, 1.0), (INFS, NAN))
real("cosh", (NAN, NAN), (ZEROS, 1.0), (INFS, INF))
real("exp", (NAN, NAN), (ZEROS, 1.0), (INF, INF), (-INF, 0.0))
real("expm1", ((TINY, MINUS_TINY), first), section="accurate near 0")
real("expm1", (NAN, NAN), (0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -1.0))
real("isfinite", (INFS, False), (NAN, False), (MINUS_NAN, False), (FINITE, True))
real("isinf", (INFS, True), (NAN, False), (FINITE, False))
real("isnan", (NAN, True), (MINUS_NAN, True), (NUMBERS, False))
for _name in ("log", "log2", "log10"):
    real(_name, (NAN, NAN), (BELOW_ZERO, NAN), (ZEROS, -INF), (1.0, 0.0), (INF, INF))
real("log1p", ((TINY, MINUS_TINY), first), section="accurate near 0")
real("log1p", (NAN, NAN), ((-1.5, LOWEST, -INF), NAN), (-1.0, -INF), (-0.0, -0.0), (0.0, 0.0))
real("log1p", (INF, INF))
real("reciprocal", (NAN, NAN), (0.0, INF), (-0.0, -INF), (INF, 0.0), (-INF, -0.0))
real("sign", (BELOW_ZERO, -1.0), (ZEROS, 0.0), (ABOVE_ZERO, 1.0), (NAN, NAN))
integer("sign", (0, 0), ((1, 3, MAX), 1), section=SECTION)
signed("sign", ((-1, -3, LOWEST), -1), section=SECTION)
real("signbit", (0.0, False), (-0.0, True), (INF, False), (-INF, True), (POSITIVE, False))
real("signbit", (NEGATIVE, True), (NAN, False), (MINUS_NAN, True))
real("sin", (NAN, NAN), (0.0, 0.0), (-0.0, -0.0), (INFS, NAN))
real("sinh", (NAN, NAN), (0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF))
real("sqrt", (NAN, NAN), (BELOW_ZERO, NAN), (0.0, 0.0), (-0.0, -0.0), (INF, INF), (4.0, 2.0))
real("square", (NAN, NAN), (INFS, INF), (ZEROS, 0.0), ((MAX, LOWEST), INF))
real("square", ((TINY, MINUS_TINY), 0.0))
real("tan", (NAN, NAN), (0.0, 0.0), (-0.0, -0.0), (INFS, NAN))
real("tanh", (NAN, NAN), (0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0))
real("negative", (NAN, NAN), (0.0, -0.0), (-0.0, 0.0), (INF, -INF), (-INF, INF), (MAX, LOWEST))
real("positive", (ANY, first), section="the value as it is")
real("conj", (ANY, first), section="a real value as it is")
real("real", (ANY, first), section="a real value as it is")
real("imag", (ANY, 0.0), section="ours: 0 for a real dtype")
signed("abs", (LOWEST, LOWEST), (-3, 3), section=WRAPS)
signed("negative", (LOWEST, LOWEST), (MAX, lambda x: -x), section=WRAPS)
signed("square", (LOWEST, 0), (MAX, 1), section=WRAPS)

# --- one operand, complex -------------------------------------------------------------------------

plane("abs", (INFS, ANY, INF, 0.0), (ANY, INFS, INF, 0.0), (NAN, (*FINITE, NAN), NAN, 0.0))
plane("abs", (FINITE, NAN, NAN, 0.0))
for _v in (0.5, 3.0, TINY, MAX):
    plane("abs", (ZEROS, (_v, -_v), _v, 0.0), ((_v, -_v), ZEROS, _v, 0.0), section="of a zero part")
plane("abs", (ZEROS, ZEROS, 0.0, 0.0))
CASES[:] = [  # results of `abs` are real
    c._replace(allowed=tuple(dict.fromkeys(re for re, _ in c.allowed)))
    if c.function == "abs" and c.kind == "complex"
    else c
    for c in CASES
]
plane("acos", (ZEROS, 0.0, PI / 2, -0.0), (ZEROS, NAN, PI / 2, NAN), (FINITE, INF, PI / 2, -INF))
plane("acos", (NONZERO, NAN, NAN, NAN), (-INF, POSITIVE, PI, -INF), (INF, POSITIVE, 0.0, -INF))
plane("acos", (-INF, INF, 3 * PI / 4, -INF), (INF, INF, PI / 4, -INF), (INFS, NAN, NAN, INFS))
plane("acos", (NAN, FINITE, NAN, NAN), (NAN, INF, NAN, -INF), (NAN, NAN, NAN, NAN))
plane(
    "acos",
    (2.0, 0.0, 0.0, -1.3169578969248168),
    (-2.0, 0.0, PI, -1.3169578969248168),
    section="branch cuts",
)
plane("acosh", (ZEROS, 0.0, 0.0, PI / 2), (FINITE, INF, INF, PI / 2), (NONZERO, NAN, NAN, NAN))
plane("acosh", (0.0, NAN, NAN, (PI / 2, -PI / 2)), (-INF, POSITIVE, INF, PI))
plane("acosh", (INF, POSITIVE, INF, 0.0), (-INF, INF, INF, 3 * PI / 4), (INF, INF, INF, PI / 4))
plane("acosh", (INFS, NAN, INF, NAN), (NAN, FINITE, NAN, NAN), (NAN, INF, INF, NAN))
plane("acosh", (NAN, NAN, NAN, NAN))
plane(
    "acosh",
    (0.5, 0.0, 0.0, PI / 3),
    (-0.5, 0.0, 0.0, 2 * PI / 3),
    (-2.0, 0.0, 1.3169578969248168, PI),
    section="branch cuts",
)
plane("asinh", (0.0, 0.0, 0.0, 0.0), (POSITIVE, INF, INF, PI / 2), odd=True)
plane("asinh", (FINITE, NAN, NAN, NAN), odd=True)
plane("asinh", (INF, POSITIVE, INF, 0.0), (INF, INF, INF, PI / 4), (NAN, 0.0, NAN, 0.0), odd=True)
plane("asinh", (NAN, NONZERO, NAN, NAN), (NAN, INF, INFS, NAN), (NAN, NAN, NAN, NAN), odd=True)
plane("asinh", (0.0, 2.0, 1.3169578969248168, PI / 2), odd=True, section="branch cuts")
plane("atanh", (0.0, 0.0, 0.0, 0.0), (0.0, NAN, 0.0, NAN), (1.0, 0.0, INF, 0.0), odd=True)
plane("atanh", (POSITIVE, INF, 0.0, PI / 2), (NONZERO, NAN, NAN, NAN), odd=True)
plane("atanh", (INF, (*POSITIVE, INF), 0.0, PI / 2), (INF, NAN, 0.0, NAN), odd=True)
plane("atanh", (NAN, FINITE, NAN, NAN), (NAN, INF, ZEROS, PI / 2), (NAN, NAN, NAN, NAN), odd=True)
plane("atanh", (2.0, 0.0, 0.5493061443340549, PI / 2), odd=True, section="branch cuts")
add_rotated_cases("asin", "asinh")
add_rotated_cases("atan", "atanh")
plane("cosh", (0.0, 0.0, 1.0, 0.0), (0.0, (INF, NAN), NAN, ZEROS), even=True)
plane("cosh", (NONZERO, (INF, NAN), NAN, NAN), (INF, 0.0, INF, 0.0), even=True)
plane("cosh", (INF, (TINY, 1.0), INF, INF), (INF, 2.0, -INF, INF), even=True)
plane(
    "cosh",
    (INF, 4.0, -INF, -INF),
    (INF, 5.0, INF, -INF),
    (INF, INF, INFS, NAN),
    (INF, NAN, INF, NAN),
    even=True,
)
plane("cosh", (NAN, ZEROS, NAN, ZEROS), (NAN, (*NONZERO, NAN), NAN, NAN), even=True)
add_rotated_cases("cos", "cosh", back=False)
plane("exp", (ZEROS, 0.0, 1.0, 0.0), (FINITE, (INF, NAN), NAN, NAN), (INF, 0.0, INF, 0.0))
plane("exp", (-INF, (0.0, TINY, 1.0), 0.0, 0.0), (-INF, 2.0, -0.0, 0.0), (-INF, 4.0, -0.0, -0.0))
plane("exp", (-INF, 5.0, 0.0, -0.0), (INF, (TINY, 1.0), INF, INF), (INF, 2.0, -INF, INF))
plane("exp", (INF, 4.0, -INF, -INF), (INF, 5.0, INF, -INF), (-INF, (INF, NAN), ZEROS, ZEROS))
plane("exp", (INF, (INF, NAN), INFS, NAN), (NAN, 0.0, NAN, 0.0))
plane("exp", (NAN, (*NONZERO, INF, NAN), NAN, NAN))
plane("expm1", (ZEROS, 0.0, 0.0, 0.0), (FINITE, (INF, NAN), NAN, NAN), (INF, 0.0, INF, 0.0))
plane("expm1", (-INF, (0.0, TINY, 1.0, 2.0), -1.0, 0.0), (-INF, (4.0, 5.0), -1.0, -0.0))
plane("expm1", (INF, (TINY, 1.0), INF, INF), (INF, 2.0, -INF, INF), (INF, 4.0, -INF, -INF))
plane("expm1", (INF, 5.0, INF, -INF), (-INF, (INF, NAN), -1.0, ZEROS), (NAN, 0.0, NAN, 0.0))
plane("expm1", (INF, (INF, NAN), INFS, NAN), (NAN, (*NONZERO, INF, NAN), NAN, NAN))
plane("log", (-0.0, 0.0, -INF, PI), (0.0, 0.0, -INF, 0.0), (FINITE, INF, INF, PI / 2))
plane("log", (-1.0, 0.0, 0.0, PI), (1.0, 0.0, 0.0, 0.0), section="branch cuts")
plane("log1p", (-1.0, 0.0, -INF, 0.0), (FINITE, INF, INF, PI / 2))
plane("log1p", (-2.0, 0.0, 0.0, PI), section="branch cuts")
plane(
    "log1p",
    (2.0**-60, 0.0, 2.0**-60, 0.0),
    (-(2.0**-30), 2.0**-14, 2.0**-30 - 2.0**-61, 6.103515623105219e-05),
    section="accurate near 0",
)
plane("log1p", (2.0**-20 - 1, 0.0, -13.862943611198906, 0.0), section="accurate near -1")
plane("log1p", (-1.0, 2.0**-20, -13.862943611198906, PI / 2), section="accurate near -1")
plane("expm1", (2.0**-60, 0.0, 2.0**-60, 0.0), section="accurate near 0")
for _name in ("log", "log1p"):
    plane(_name, (FINITE, NAN, NAN, NAN), (-INF, POSITIVE, INF, PI), (INF, POSITIVE, INF, 0.0))
    plane(_name, (-INF, INF, INF, 3 * PI / 4), (INF, INF, INF, PI / 4), (INFS, NAN, INF, NAN))
    plane(_name, (NAN, (*FINITE, NAN), NAN, NAN), (NAN, INF, INF, NAN))
scaled("log2", "log", 1 / math.log(2))
scaled("log10", "log", 1 / math.log(10))
for _name in ("isfinite", "isinf", "isnan"):
    for _a, _b in itertools.product((0.0, -3.0, MAX, INF, -INF, NAN), repeat=2):
        _parts = {_a, _b}
        _truth = {
            "isfinite": _parts.isdisjoint({INF, -INF, NAN}),
            "isinf": not _parts.isdisjoint({INF, -INF}),
            "isnan": NAN in _parts,
        }[_name]
        _complex(_name, ((_a, _b),), (_truth,), f"{_name}: {SECTION}")
for _name in ("round", "negative", "positive", "conj"):
    _parts_of = {
        "round": ((0.5, 0.0), (-2.5, -2.0), (-0.0, -0.0), (NAN, NAN), (-INF, -INF), (1.5, 2.0)),
        "negative": ((0.0, -0.0), (-0.0, 0.0), (NAN, NAN), (INF, -INF), (3.0, -3.0)),
        "positive": ((0.0, 0.0), (-0.0, -0.0), (NAN, NAN), (-INF, -INF), (3.0, 3.0)),
        "conj": ((0.0, 0.0), (-0.0, -0.0), (NAN, NAN), (-INF, -INF), (3.0, 3.0)),
    }[_name]
    for (_a, _re), (_b, _im) in itertools.product(_parts_of, repeat=2):
        _im = _signed(_im, -1) if _name == "conj" else _im
        plane(_name, (_a, _b, _re, _im), conj=False, section="each part by itself")
for _a, _b in itertools.product((0.0, -0.0, 3.0, -INF, NAN), repeat=2):
    _complex("real", ((_a, _b),), (_a,), "real: the part as it is")
    _complex("imag", ((_a, _b),), (_b,), "imag: the part as it is")
plane("reciprocal", (NAN, NAN, NAN, NAN), (2.0, 0.0, 0.5, ZEROS), (0.0, 4.0, 0.0, -0.25))
plane(
    "reciprocal",
    (ZEROS, ZEROS, INF, NAN),
    conj=False,
    section="ours: complex: the same as `divide(1, x)`",
)
plane("sign", (ZEROS, ZEROS, 0.0, 0.0), conj=False)
plane("sign", (NAN, ANY, NAN, NAN), (ANY, NAN, NAN, NAN), conj=False)
plane("sign", ((TINY, 3.0, MAX), 0.0, 1.0, 0.0), (0.0, (TINY, 3.0, MAX), 0.0, 1.0), odd=True)
plane("sign", (INF, (0.0, 1.0, MAX), NAN, 0.0), ((0.0, 1.0, MAX), INF, 0.0, NAN), odd=True)
plane("sign", (INF, INF, NAN, NAN), odd=True)
plane("sinh", (0.0, 0.0, 0.0, 0.0), (0.0, (INF, NAN), ZEROS, NAN), odd=True)
plane("sinh", (POSITIVE, (INF, NAN), NAN, NAN), (INF, 0.0, INF, 0.0), odd=True)
plane("sinh", (INF, (TINY, 1.0), INF, INF), (INF, 2.0, -INF, INF), (INF, 4.0, -INF, -INF), odd=True)
plane("sinh", (INF, 5.0, INF, -INF), (INF, (INF, NAN), INFS, NAN), (NAN, 0.0, NAN, 0.0), odd=True)
plane("sinh", (NAN, (*NONZERO, NAN), NAN, NAN), odd=True)
add_rotated_cases("sin", "sinh")
plane("sqrt", (ZEROS, 0.0, 0.0, 0.0), (ANY, INF, INF, INF), (FINITE, NAN, NAN, NAN))
plane("sqrt", (-INF, POSITIVE, 0.0, INF), (INF, POSITIVE, INF, 0.0), (-INF, NAN, NAN, INFS))
plane("sqrt", (INF, NAN, INF, NAN), (NAN, (*FINITE, NAN), NAN, NAN))
plane("sqrt", (-4.0, 0.0, 0.0, 2.0), (4.0, 0.0, 2.0, 0.0), section="branch cuts")
plane("square", (NAN, NAN, NAN, NAN), (3.0, 2.0, 5.0, 12.0), (-0.0, 3.0, -9.0, -0.0))
plane("square", (0.0, 0.0, 0.0, 0.0))
plane("tanh", (0.0, 0.0, 0.0, 0.0), (NONZERO, (INF, NAN), NAN, NAN), odd=True)
plane("tanh", (0.0, (INF, NAN), 0.0, NAN), odd=True)
plane("tanh", (INF, (TINY, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, MAX), 1.0, 0.0), odd=True)
plane("tanh", (INF, (INF, NAN), 1.0, ZEROS), (NAN, 0.0, NAN, 0.0), odd=True)
plane("tanh", (NAN, (*NONZERO, INF, NAN), NAN, NAN), odd=True)
add_rotated_cases("tan", "tanh")

# --- two operands, real ---------------------------------------------------------------------------

real("add", (NAN, ANY, NAN), (ANY, NAN, NAN), (INF, -INF, NAN), (-INF, INF, NAN))
real("add", (INF, INF, INF), (-INF, -INF, -INF), (INF, FINITE, INF), (-INF, FINITE, -INF))
real("add", (FINITE, INF, INF), (FINITE, -INF, -INF), (-0.0, -0.0, -0.0), (-0.0, 0.0, 0.0))
real("add", (0.0, -0.0, 0.0), (0.0, 0.0, 0.0), (ZEROS, NONZERO, second), (NONZERO, ZEROS, first))
real("add", *((v, -v, 0.0) for v in NONZERO), (MAX, MAX, INF), (LOWEST, LOWEST, -INF))
real("subtract", (NAN, ANY, NAN), (ANY, NAN, NAN), (INF, INF, NAN), (-INF, -INF, NAN))
real("subtract", (INF, -INF, INF), (-INF, INF, -INF), (INF, FINITE, INF), (-INF, FINITE, -INF))
real("subtract", (FINITE, -INF, INF), (FINITE, INF, -INF), (-0.0, 0.0, -0.0), (-0.0, -0.0, 0.0))
real("subtract", (0.0, 0.0, 0.0), (0.0, -0.0, 0.0), (NONZERO, ZEROS, first))
real("subtract", *((v, v, 0.0) for v in NONZERO), (MAX, LOWEST, INF), (LOWEST, MAX, -INF))
real("subtract", *((ZEROS, v, -v) for v in NONZERO))
real("atan2", (NAN, ANY, NAN), (ANY, NAN, NAN), (ABOVE_ZERO, ZEROS, PI / 2))
real("atan2", (0.0, ABOVE_ZERO, 0.0), (0.0, 0.0, 0.0), (0.0, -0.0, PI), (0.0, BELOW_ZERO, PI))
real("atan2", (-0.0, ABOVE_ZERO, -0.0), (-0.0, 0.0, -0.0), (-0.0, -0.0, -PI))
real("atan2", (-0.0, BELOW_ZERO, -PI), (BELOW_ZERO, ZEROS, -PI / 2), (POSITIVE, INF, 0.0))
real("atan2", (POSITIVE, -INF, PI), (NEGATIVE, INF, -0.0), (NEGATIVE, -INF, -PI))
real("atan2", (INF, FINITE, PI / 2), (-INF, FINITE, -PI / 2), (INF, INF, PI / 4))
real("atan2", (INF, -INF, 3 * PI / 4), (-INF, INF, -PI / 4), (-INF, -INF, -3 * PI / 4))
for _v in (0.0, TINY, 3.0, MAX, INF):
    real("copysign", ((_v, -_v), (*BELOW_ZERO, -0.0, MINUS_NAN), -_v))
    real("copysign", ((_v, -_v), (*ABOVE_ZERO, 0.0, NAN), _v))
real("copysign", ((NAN, MINUS_NAN), (*BELOW_ZERO, -0.0, MINUS_NAN), MINUS_NAN))
real("copysign", ((NAN, MINUS_NAN), (*ABOVE_ZERO, 0.0, NAN), NAN))
for _name in ("divide", "floor_divide"):
    real(_name, (NAN, ANY, NAN), (ANY, NAN, NAN), (INFS, INFS, NAN), (ZEROS, ZEROS, NAN))
    real(_name, (0.0, ABOVE_ZERO, 0.0), (-0.0, ABOVE_ZERO, -0.0), (0.0, BELOW_ZERO, -0.0))
    real(_name, (-0.0, BELOW_ZERO, 0.0), (ABOVE_ZERO, 0.0, INF), (ABOVE_ZERO, -0.0, -INF))
    real(_name, (BELOW_ZERO, 0.0, -INF), (BELOW_ZERO, -0.0, INF), (INF, POSITIVE, INF))
    real(_name, (INF, NEGATIVE, -INF), (-INF, POSITIVE, -INF), (-INF, NEGATIVE, INF))
    real(_name, (POSITIVE, INF, 0.0), (POSITIVE, -INF, -0.0), (NEGATIVE, INF, -0.0))
    real(_name, (NEGATIVE, -INF, 0.0), (MAX, TINY, INF), (MAX, MINUS_TINY, -INF))
    real(_name, (3.0, TINY, INF), (LOWEST, 0.5, -INF))
real("divide", (TINY, MAX, 0.0), (TINY, LOWEST, -0.0), (MINUS_TINY, 3.0, -0.0), (-6.0, 4.0, -1.5))
real("floor_divide", (TINY, MAX, 0.0), (MINUS_TINY, LOWEST, 0.0), (TINY, 3.0, 0.0), (0.5, 1.0, 0.0))
real("floor_divide", (-0.5, -1.0, 0.0), (7.0, 2.0, 3.0), (-7.0, 2.0, -4.0), (7.0, -2.0, -4.0))
real("floor_divide", (-7.0, -2.0, 3.0), (6.0, 2.0, 3.0), (-6.0, 2.0, -3.0), (MAX, MAX, 1.0))
real("floor_divide", ((-0.5, -1.0), 3.0, -1.0), ((0.5, 1.0), -3.0, -1.0))
real(
    "floor_divide",
    (MINUS_TINY, MAX, (-1.0, -0.0)),
    (TINY, LOWEST, (-1.0, -0.0)),
    section="a quotient too small to represent (the text names two results)",
)
real("remainder", (NAN, ANY, NAN), (ANY, NAN, NAN), (INFS, INFS, NAN), (ZEROS, ZEROS, NAN))
real("remainder", (ZEROS, ABOVE_ZERO, 0.0), (ZEROS, BELOW_ZERO, -0.0), (NONZERO, ZEROS, NAN))
real("remainder", (INFS, ZEROS, NAN), (INFS, NONZERO, NAN), (POSITIVE, INF, first))
real("remainder", (POSITIVE, -INF, second), (NEGATIVE, INF, second), (NEGATIVE, -INF, first))
real("remainder", (7.0, 2.0, 1.0), (-7.0, 2.0, 1.0), (7.0, -2.0, -1.0), (-7.0, -2.0, -1.0))
real("remainder", (6.0, 2.0, 0.0), (-6.0, 2.0, 0.0), (6.0, -2.0, -0.0), (-6.0, -2.0, -0.0))
real("remainder", (TINY, MAX, TINY), (MINUS_TINY, LOWEST, MINUS_TINY), (MAX, TINY, 0.0))
real("equal", (NAN, ANY, False), (ANY, NAN, False), (INF, INF, True), (-INF, -INF, True))
real("equal", (ZEROS, ZEROS, True), *((v, v, True) for v in NONZERO), (INF, -INF, False))
real("equal", (-INF, INF, False), (INFS, FINITE, False), (FINITE, INFS, False), (1.0, 3.0, False))
real("equal", (POSITIVE, NEGATIVE, False), (ZEROS, NONZERO, False))
real("not_equal", (NAN, ANY, True), (ANY, NAN, True), (INF, -INF, True), (-INF, INF, True))
real("not_equal", (ZEROS, ZEROS, False), *((v, v, False) for v in NONZERO), (INFS, FINITE, True))
real("not_equal", (POSITIVE, NEGATIVE, True), (INF, INF, False), (-INF, -INF, False))
real("not_equal", (ZEROS, NONZERO, True))
for _name in ("greater", "greater_equal", "less", "less_equal"):
    real(_name, (NAN, ANY, False), (ANY, NAN, False), section="comparison with NaN")
    real(_name, (ZEROS, ZEROS, _name.endswith("equal")), section="comparison of zeros")
    real(_name, (BELOW_ZERO, ABOVE_ZERO, _name.startswith("less")), section="comparison")
    real(_name, (INF, FINITE, _name.startswith("greater")), section="comparison")
real("hypot", (INFS, ANY, INF), (ANY, INFS, INF), (FINITE, NAN, NAN), (NAN, FINITE, NAN))
real("hypot", (NAN, NAN, NAN), (ZEROS, ZEROS, 0.0))
for _v in POSITIVE:
    real("hypot", (ZEROS, (_v, -_v), _v), ((_v, -_v), ZEROS, _v))
real("hypot", ((3.0, -3.0), (4.0, -4.0), 5.0), ((4.0, -4.0), (3.0, -3.0), 5.0))
real("hypot", (MAX, TINY, MAX), (TINY, MAX, MAX), (MAX, MAX, INF), section="no undue overflow")
real("logaddexp", (NAN, ANY, NAN), (ANY, NAN, NAN), (INF, NUMBERS, INF), (NUMBERS, INF, INF))
real("logaddexp", (-INF, NONZERO, second), (NONZERO, -INF, first), (-INF, -INF, -INF))
real("logaddexp", (-INF, ZEROS, 0.0), (ZEROS, -INF, 0.0), (MAX, MAX, MAX))
for _name in ("maximum", "minimum"):
    real(_name, (NAN, ANY, NAN), (ANY, NAN, NAN), (0.0, -0.0, ZEROS), (-0.0, 0.0, ZEROS))
real("maximum", (INF, NUMBERS, INF), (NUMBERS, INF, INF), (-INF, NUMBERS, second), (-3.0, 1.0, 1.0))
real("minimum", (-INF, NUMBERS, -INF), (NUMBERS, -INF, -INF), (INF, NUMBERS, second))
real("minimum", (-3.0, 1.0, -3.0), (0.0, 0.0, 0.0), (-0.0, -0.0, -0.0))
real("multiply", (NAN, ANY, NAN), (ANY, NAN, NAN), (INFS, ZEROS, NAN), (ZEROS, INFS, NAN))
real("multiply", (INF, ABOVE_ZERO, INF), (INF, BELOW_ZERO, -INF), (-INF, ABOVE_ZERO, -INF))
real("multiply", (-INF, BELOW_ZERO, INF), (ABOVE_ZERO, -INF, -INF), (BELOW_ZERO, INF, -INF))
real("multiply", (0.0, POSITIVE, 0.0), (0.0, NEGATIVE, -0.0), (-0.0, POSITIVE, -0.0))
real("multiply", (-0.0, NEGATIVE, 0.0), (POSITIVE, -0.0, -0.0), (NEGATIVE, -0.0, 0.0))
real("multiply", (0.0, 0.0, 0.0), (0.0, -0.0, -0.0), (-0.0, 0.0, -0.0), (-0.0, -0.0, 0.0))
real("multiply", (MAX, 3.0, INF), (LOWEST, 3.0, -INF), (TINY, TINY, 0.0), (MINUS_TINY, TINY, -0.0))
real("nextafter", (NAN, ANY, NAN), (ANY, NAN, NAN), (-0.0, 0.0, 0.0), (0.0, -0.0, -0.0))
real("nextafter", (ZEROS, (1.0, INF), TINY), (ZEROS, (-1.0, -INF), MINUS_TINY), (MAX, INF, INF))
real("nextafter", (INF, 0.0, MAX), (-INF, 0.0, LOWEST), (TINY, -1.0, 0.0), (MINUS_TINY, 1.0, -0.0))
real("nextafter", *((v, v, v) for v in (*NUMBERS,)))
real("pow", (tuple(v for v in ANY if v != 1.0), NAN, NAN), (ANY, ZEROS, 1.0))
real("pow", (NAN, (*ABOVE_ZERO, *BELOW_ZERO), NAN), ((1.5, -1.5, 3.0, -3.0, MAX, LOWEST), INF, INF))
real("pow", ((1.5, -1.5, 3.0, -3.0, MAX, LOWEST, *INFS), -INF, 0.0), (INFS, INF, INF))
real("pow", ((1.0, -1.0), INFS, 1.0), (1.0, NUMBERS, 1.0))
real("pow", ((TINY, MINUS_TINY, 0.5, -0.5, 0.0, -0.0), INF, 0.0))
real("pow", ((TINY, MINUS_TINY, 0.5, -0.5, 0.0, -0.0), -INF, INF))
real("pow", (INF, ABOVE_ZERO, INF), (INF, BELOW_ZERO, 0.0), (-INF, (1.0, 3.0, 5.0), -INF))
real("pow", (-INF, (0.5, 2.0, 4.0, TINY, MAX, INF), INF), (-INF, (-1.0, -3.0, -5.0), -0.0))
real("pow", (-INF, (-0.5, -2.0, -4.0, LOWEST, -INF), 0.0), (0.0, ABOVE_ZERO, 0.0))
real("pow", (0.0, BELOW_ZERO, INF), (-0.0, (1.0, 3.0, 5.0), -0.0))
real("pow", (-0.0, (0.5, 2.0, 4.0, TINY, MAX, INF), 0.0), (-0.0, (-1.0, -3.0, -5.0), -INF))
real("pow", (-0.0, (-0.5, -2.0, -4.0, LOWEST, -INF), INF))
real("pow", ((MINUS_TINY, -0.5, -3.0, LOWEST), (0.5, -0.5, 1.5, TINY), NAN))
real("pow", (-2.0, 3.0, -8.0), (-2.0, 2.0, 4.0), (-2.0, -1.0, -0.5), (MAX, 2.0, INF))

# --- two operands, complex ------------------------------------------------------------------------


def pairs(name: str, *rows: tuple[Any, ...], section: str = SECTION) -> None:
    """Rows of (first operand, second operand, result), or sets of results in a list."""
    for x1, x2, result in rows:
        allowed = tuple(result) if isinstance(result, list) else (result,)
        _complex(name, (x1, x2), allowed, f"{name}: {section}")


_NAN2 = (NAN, NAN)
pairs("add", ((-0.0, 0.0), (-0.0, -0.0), (-0.0, 0.0)), ((0.0, -0.0), (-0.0, -0.0), (0.0, -0.0)))
pairs("add", ((INF, 1.0), (-INF, 2.0), (NAN, 3.0)), ((NAN, 1.0), (1.0, INF), (NAN, INF)))
pairs("add", ((1.0, -INF), (2.0, INF), (3.0, NAN)), ((-INF, NAN), (1.0, 1.0), (-INF, NAN)))
pairs("subtract", ((-0.0, 0.0), (0.0, 0.0), (-0.0, 0.0)), ((-0.0, -0.0), (0.0, 0.0), (-0.0, -0.0)))
pairs("subtract", ((INF, 1.0), (INF, 2.0), (NAN, -1.0)), ((NAN, 1.0), (1.0, INF), (NAN, -INF)))
pairs("multiply", (_NAN2, _NAN2, _NAN2), ((3.0, 2.0), (1.0, -4.0), (11.0, -10.0)))
pairs("multiply", ((-0.0, 1.0), (0.0, 1.0), (-1.0, 0.0)), ((0.0, 2.0), (0.0, 3.0), (-6.0, 0.0)))
pairs("divide", (_NAN2, _NAN2, _NAN2), ((11.0, -10.0), (3.0, 2.0), (1.0, -4.0)))
pairs("divide", ((6.0, 4.0), (2.0, 0.0), (3.0, 2.0)), ((6.0, 4.0), (0.0, 2.0), (2.0, -3.0)))
pairs(
    "divide",
    ((1.0, -1.0), (0.0, 0.0), (INF, -INF)),
    ((0.0, 0.0), (0.0, 0.0), _NAN2),
    ((1.0, 0.0), (0.0, 0.0), (INF, NAN)),
    section="ours: complex: a divisor of 0 divides each part by 0",
)
for _name, _same in (("equal", True), ("not_equal", False)):
    for _parts in itertools.product((1.0, NAN), repeat=4):
        if NAN in _parts:
            pairs(_name, (_parts[:2], _parts[2:], not _same))
    pairs(_name, ((0.0, -0.0), (-0.0, 0.0), _same), ((INF, -INF), (INF, -INF), _same))
    pairs(_name, ((1.0, 2.0), (1.0, 3.0), not _same), ((1.0, 2.0), (3.0, 2.0), not _same))
    pairs(_name, ((INF, 0.0), (-INF, 0.0), not _same), ((1.0, 2.0), (1.0, 2.0), _same))
    pairs(_name, ((0.0, INF), (0.0, -INF), not _same))
for _x in ((0.0, 0.0), (3.0, -2.0), (INF, 0.0), (-INF, INF)):
    pairs(
        "pow", (_x, (0.0, 0.0), (1.0, 0.0)), section="ours: complex: any number to the power 0 is 1"
    )
pairs("pow", (_NAN2, (2.0, 0.0), _NAN2), ((2.0, 0.0), _NAN2, _NAN2))
pairs("pow", ((0.0, 0.0), (2.0, 0.0), [(0.0, 0.0), (0.0, -0.0)]))
pairs("pow", ((2.0, 0.0), (3.0, 0.0), (8.0, 0.0)))

# --- integers and booleans: what the text leaves open ---------------------------------------------

BY_ZERO = "ours: integers: a divisor of 0 gives 0"
BEYOND = "ours: a count that is negative, or *width* or more, shifts every bit out"
TRUNCATED = "ours: integers: a negative exponent gives the exact result, truncated"
integer("floor_divide", ((0, 1, 3, MAX), 0, 0), section=BY_ZERO)
signed("floor_divide", ((-1, LOWEST), 0, 0), section=BY_ZERO)
integer("remainder", ((0, 1, 3, MAX), 0, 0), section=BY_ZERO)
signed("remainder", ((-1, LOWEST), 0, 0), section=BY_ZERO)
signed("floor_divide", (LOWEST, -1, LOWEST), section=WRAPS)
signed("remainder", (LOWEST, -1, 0), section=WRAPS)
integer("floor_divide", (7, 2, 3), (MAX, 1, MAX), (MAX, MAX, 1), (0, 3, 0), section=SECTION)
signed("floor_divide", (-7, 2, -4), (7, -2, -4), (-7, -2, 3), (LOWEST, 1, LOWEST), section=SECTION)
integer("remainder", (7, 2, 1), (MAX, 1, 0), (0, 3, 0), section=SECTION)
signed("remainder", (-7, 2, 1), (7, -2, -1), (-7, -2, -1), (-6, 2, 0), section=SECTION)
integer("bitwise_left_shift", ((1, 3, MAX), WIDTH, 0), ((1, 3), (100, 127), 0), section=BEYOND)
integer("bitwise_right_shift", ((1, 3, MAX), WIDTH, 0), ((1, 3), (100, 127), 0), section=BEYOND)
_FAR = (WIDTH, 100, -1, LOWEST)
signed("bitwise_left_shift", ((1, -1, LOWEST, MAX), _FAR, 0), section=BEYOND)
signed("bitwise_right_shift", ((-1, -3, LOWEST), _FAR, -1), section=BEYOND)
signed("bitwise_right_shift", ((0, 3, MAX), _FAR, 0), section=BEYOND)
integer("bitwise_left_shift", (3, 2, 12), (3, 0, 3), (0, 3, 0), section="appended zeros")
signed("bitwise_left_shift", (-3, 2, -12), (1, 7, lambda x, _: x << 7), section="appended zeros")
signed("bitwise_right_shift", (-5, 1, -3), (-1, 1, -1), (LOWEST, 0, LOWEST), section="arithmetic")
integer(
    "pow",
    (0, 0, 1),
    (3, 0, 1),
    (MAX, 0, 1),
    (0, 3, 0),
    (3, 3, 27),
    section="ours: integers: 0 to the power 0 is 1",
)
signed("pow", (1, (-1, -2, LOWEST), 1), (-1, (-1, -3), -1), section=TRUNCATED)
signed("pow", (-1, (-2, LOWEST), 1), ((0, 2, -2, MAX), (-1, -2, LOWEST), 0), section=TRUNCATED)
signed("pow", (LOWEST, (-1, -2, LOWEST), 0), section=TRUNCATED)
signed("add", (MAX, 1, LOWEST), section=WRAPS)
signed("subtract", (LOWEST, 1, MAX), section=WRAPS)
signed("multiply", (LOWEST, -1, LOWEST), section=WRAPS)

# --- clip -----------------------------------------------------------------------------------------

real("clip", (NAN, -1.0, 1.0, NAN), (0.5, NAN, 1.0, NAN), (0.5, -1.0, NAN, NAN))
real("clip", (INF, -1.0, 1.0, 1.0), (-INF, -1.0, 1.0, -1.0), (0.5, -INF, INF, 0.5))
real("clip", (0.5, -1.0, 1.0, 0.5), (-0.0, -1.0, 1.0, -0.0), section="inside")
real("clip", (0.5, 3.0, 1.0, 1.0), section="ours: `max` if `min` is greater than `max`")

# --- ordinary values, one of each function: they fill the other lanes -----------------------------

ORDINARY: dict[tuple[str, str], tuple[tuple[Any, ...], Any]] = {}


def ordinary(kind: str, *operands: Any, **results: Any) -> None:
    """The results of functions, by name, for the same operands."""
    for name, result in results.items():
        ORDINARY[name, kind] = operands, result


Z = complex(0.5, 0.25)


def ordinary_of_z(name: str, result: complex) -> None:
    """The result of a function of one complex number."""
    ordinary("complex", (Z.real, Z.imag), **{name: (result.real, result.imag)})


for _name in ("acos", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "sin", "sinh"):
    ordinary("real", 0.5, **{_name: getattr(math, _name)(0.5)})
for _name in ("expm1", "log1p", "tan", "tanh"):
    ordinary("real", 0.5, **{_name: getattr(math, _name)(0.5)})
for _name in ("acosh", "log", "log10", "log2", "sqrt"):
    ordinary("real", 1.5, **{_name: getattr(math, _name)(1.5)})
ordinary("real", -1.75, abs=1.75, sign=-1.0, signbit=True, negative=1.75, positive=-1.75)
ordinary("real", -1.75, conj=-1.75, real=-1.75, imag=0.0, square=3.0625)
ordinary("real", -1.75, ceil=-1.0, floor=-2.0, round=-2.0, trunc=-1.0)
ordinary("real", -1.75, isfinite=True, isinf=False, isnan=False)
ordinary("real", 4.0, reciprocal=0.25)
ordinary("real", 7.5, 2.0, add=9.5, subtract=5.5, multiply=15.0, divide=3.75, pow=56.25)
ordinary("real", 7.5, 2.0, floor_divide=3.0, remainder=1.5, maximum=7.5, minimum=2.0)
ordinary("real", 7.5, 2.0, equal=False, not_equal=True, greater=True, greater_equal=True)
ordinary("real", 7.5, 2.0, less=False, less_equal=False)
ordinary("real", 3.0, 4.0, hypot=5.0, atan2=math.atan2(3.0, 4.0))
ordinary("real", 0.5, 1.5, logaddexp=math.log(math.exp(0.5) + math.exp(1.5)))
ordinary("real", 1.5, -2.0, copysign=-1.5)
ordinary("real", 1.5, 1.5, nextafter=1.5)
ordinary("real", 1.5, -1.0, 2.0, clip=1.5)

for _name in ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "sin"):
    ordinary_of_z(_name, getattr(cmath, _name)(Z))
for _name in ("log", "log10", "sinh", "sqrt", "tan", "tanh"):
    ordinary_of_z(_name, getattr(cmath, _name)(Z))
ordinary_of_z("expm1", cmath.exp(Z) - 1)
ordinary_of_z("log1p", cmath.log(Z + 1))
ordinary_of_z("log2", cmath.log(Z) / math.log(2))
ordinary("complex", (1.75, -2.25), round=(2.0, -2.0))
ordinary("complex", (3.0, -4.0), abs=5.0, sign=(0.6, -0.8), reciprocal=(0.12, 0.16), real=3.0)
ordinary("complex", (3.0, -4.0), negative=(-3.0, 4.0), positive=(3.0, -4.0), conj=(3.0, 4.0))
ordinary("complex", (3.0, -4.0), imag=-4.0, square=(-7.0, -24.0))
ordinary("complex", (3.0, -4.0), isfinite=True, isinf=False, isnan=False)
ordinary("complex", (11.0, -10.0), (3.0, 2.0), add=(14.0, -8.0), subtract=(8.0, -12.0))
ordinary("complex", (11.0, -10.0), (3.0, 2.0), multiply=(53.0, -8.0), divide=(1.0, -4.0))
ordinary("complex", (11.0, -10.0), (3.0, 2.0), equal=False, not_equal=True)
ordinary("complex", (1.5, 2.0), (2.0, 0.0), pow=(-1.75, 6.0))

ordinary("signed", -5, abs=5, square=25, negative=5)
ordinary("integer", 5, ceil=5, floor=5, round=5, trunc=5, sign=1)
ordinary("integer", 17, 5, add=22, subtract=12, multiply=85, floor_divide=3, remainder=2)
ordinary("integer", 5, 2, bitwise_left_shift=20, bitwise_right_shift=1, pow=25)

# --- calls with whole arrays: reductions, scans, searching, sets, creation ------------------------

CALLS: list[Call] = []


def call(
    function: str, *arguments: Any, gives: Any, section: str = SECTION, **keywords: Any
) -> None:
    """A call; lists become tensors, pairs in them complex numbers; an exception may be given."""
    CALLS.append(Call(function, arguments, keywords, gives, f"{function}: {section}"))


for _name in ("max", "min"):
    call(_name, [1.0, NAN, 3.0], gives=NAN)
    call(_name, [INF, NAN, -INF], gives=NAN)
    call(_name, [[1.0, 2.0], [NAN, 4.0]], axis=1, gives=[1.0 + (_name == "max"), NAN])
    call(_name, [], gives=ValueError, section="ours: an empty input raises ValueError")
call("max", [-INF, LOWEST], gives=LOWEST)
call("min", [INF, MAX], gives=MAX)
call("mean", [], gives=NAN)
call("mean", [1.0, NAN], gives=NAN)
call("mean", [INF, -INF], gives=NAN)
call("mean", [INF, 1.0], gives=INF)
call("mean", [[], []], axis=1, gives=[NAN, NAN])
call("mean", [(1.0, 2.0), (3.0, 6.0)], gives=(2.0, 4.0))
call("mean", [(NAN, 1.0), (2.0, 3.0)], gives=(NAN, 2.0), section="complex: each part by itself")
call("mean", [(1.0, NAN), (3.0, 2.0)], gives=(2.0, NAN), section="complex: each part by itself")
call("mean", [(INF, 1.0), (2.0, 3.0)], gives=(INF, 2.0), section="complex: each part by itself")
call("sum", [], gives=0.0)
call("sum", [[], []], axis=1, gives=[0.0, 0.0])
call("sum", [INF, -INF], gives=NAN, section="as by add")
call("sum", [NAN, 1.0], gives=NAN, section="as by add")
call("sum", [INF, 1.0, LOWEST], gives=INF, section="as by add")
call("sum", [(NAN, 1.0), (2.0, INF)], gives=(NAN, INF), section="as by add")
call("prod", [], gives=1.0)
call("prod", [[], []], axis=1, gives=[1.0, 1.0])
call("prod", [INF, 0.0], gives=NAN, section="as by multiply")
call("prod", [-0.0, 3.0], gives=-0.0, section="as by multiply")
call("prod", [-INF, -2.0], gives=INF, section="as by multiply")
call("prod", [NAN, 0.0], gives=NAN, section="as by multiply")
for _name in ("std", "var"):
    call(_name, [1.0], correction=1, gives=NAN)
    call(_name, [1.0, 2.0], correction=2, gives=NAN)
    call(_name, [1.0, 2.0], correction=3.5, gives=NAN)
    call(_name, [], gives=NAN)
    call(_name, [1.0, NAN, 2.0], gives=NAN)
    call(_name, [5.0], gives=0.0)
    call(_name, [2.0, 2.0], correction=1.5, gives=0.0)
    call(_name, [[1.0, 2.0], [NAN, 4.0]], axis=1, correction=2, gives=[NAN, NAN])
call("var", [1.0, 3.0], gives=1.0)
call("var", [1.0, 3.0], correction=1, gives=2.0)
call("var", [1.0, 3.0], correction=-2, gives=0.5)
call("std", [1.0, 5.0], gives=2.0)
call("cumulative_sum", [1.0, INF, -INF, 1.0], gives=[1.0, INF, NAN, NAN], section="as by add")
call("cumulative_sum", [-0.0, -0.0, 0.0], gives=[-0.0, -0.0, 0.0], section="as by add")
call("cumulative_sum", [], gives=[])
call("cumulative_sum", [], include_initial=True, gives=[0.0])
call("cumulative_prod", [2.0, INF, 0.0], gives=[2.0, INF, NAN], section="as by multiply")
call("cumulative_prod", [-0.0, 3.0], gives=[-0.0, -0.0], section="as by multiply")
call("cumulative_prod", [], include_initial=True, gives=[1.0])
call("argmax", [1.0, 3.0, 3.0], gives=1, section="the first occurrence")
call("argmin", [1.0, -3.0, -3.0], gives=1, section="the first occurrence")
call("argmax", [1.0, NAN, INF], gives=1, section="ours: the index of the first NaN")
call("argmin", [1.0, NAN, -INF, NAN], gives=1, section="ours: the index of the first NaN")
call("count_nonzero", [0.0, -0.0, NAN, TINY, -INF], gives=3)
call("count_nonzero", [(0.0, -0.0), (0.0, 1.0), (1.0, 0.0), (0.0, NAN)], gives=3)
call("nonzero", [0.0, -0.0, NAN, TINY, -INF], gives=([2, 3, 4],))
call("nonzero", [(0.0, -0.0), (0.0, 1.0), (-1.0, 0.0)], gives=([1, 2],))
for _name, _empty in (("any", False), ("all", True)):
    call(_name, [], gives=_empty)
    call(_name, [[], []], axis=1, gives=[_empty, _empty])
    call(_name, [NAN], gives=True)
    call(_name, [INF, -INF], gives=True)
    call(_name, [-0.0, 0.0], gives=False)
    call(_name, [(0.0, NAN), (1.0, 0.0)], gives=True)
    call(_name, [(0.0, -0.0)], gives=False)
call("sort", [NAN, 1.0, -INF, INF], gives=[-INF, 1.0, INF, NAN], section="ours: NaN is sorted last")
call("argsort", [NAN, 1.0, -INF, INF], gives=[2, 1, 3, 0], section="ours: NaN is sorted last")
call("argsort", [0.0, -0.0, 0.0], gives=[0, 1, 2], section="ours: -0 and 0 are equal")
call("searchsorted", [1.0, 2.0, NAN], [NAN, 1.5], gives=[2, 1], section="consistent with sort")
call("unique_values", [NAN, 1.0, NAN], gives=[1.0, NAN, NAN], section="NaN are distinct")
call("unique_counts", [NAN, NAN, 1.0], gives=([1.0, NAN, NAN], [1, 1, 1]), section="NaN distinct")
call("unique_counts", [0.0, -0.0], gives=([0.0], [2]), section="zeros are not distinct")
call(
    "unique_counts",
    [-0.0, 0.0, 0.0],
    gives=([-0.0], [3]),
    section="ours: of several zeros, the first is returned",
)
call("isin", [NAN, 1.0, -0.0], [NAN, 0.0], gives=[False, False, True], section="as by equal")
call("linspace", 0.0, 1.0, num=0, gives=[])
call("linspace", 5.0, 9.0, num=1, gives=[5.0])
call("linspace", 5.0, 9.0, num=1, endpoint=False, gives=[5.0])
call("linspace", 0.0, 1.0, num=2, endpoint=False, gives=[0.0, 0.5])
call("linspace", 3.0, 3.0, num=3, gives=[3.0, 3.0, 3.0])
call("linspace", 1.0, -1.0, num=3, gives=[1.0, 0.0, -1.0])
call("linspace", 0.0, 1.0, num=-1, gives=ValueError)
call("arange", 0, gives=[])
call("arange", -3.0, gives=[])
call("arange", 5.0, 1.0, gives=[])
call("arange", 1.0, 5.0, -1.0, gives=[])
call("arange", 2.0, 2.0, gives=[])
call("arange", 5.0, 1.0, -2.0, gives=[5.0, 3.0])
call("arange", 0.0, 1.0, 0.25, gives=[0.0, 0.25, 0.5, 0.75])
call("arange", 0.0, 1.0, 0.375, gives=[0.0, 0.375, 0.75], section="length ceil((stop-start)/step)")
call("arange", 0.0, 1.0, 0.0, gives=ValueError)
call("linalg.slogdet", [[1.0, 2.0], [2.0, 4.0]], gives=(0.0, -INF))
call("linalg.slogdet", [[0.0, 0.0], [0.0, 0.0]], gives=(0.0, -INF))
call("linalg.trace", [[INF, 0.0], [0.0, -INF]], gives=NAN, section="as by add")
call("linalg.trace", [[NAN, 0.0], [0.0, 1.0]], gives=NAN, section="as by add")
call("where", [True, False], [NAN, NAN], [-0.0, -0.0], gives=[NAN, -0.0])

# Python's numbers from tensors of rank 0: (the type, what the tensor holds, what comes out).
CONVERSIONS = [
    (bool, NAN, True),
    (bool, INF, True),
    (bool, -INF, True),
    (bool, 0.0, False),
    (bool, -0.0, False),
    (bool, complex(0.0, NAN), True),
    (bool, complex(0.0, -0.0), False),
    (bool, complex(0.0, 2.0), True),
    (int, True, 1),
    (int, False, 0),
    (int, -0.0, 0),
    (int, 2.75, 2),
    (int, -2.75, -2),
    (int, INF, OverflowError),
    (int, -INF, OverflowError),
    (int, NAN, ValueError),
    (float, True, 1.0),
    (float, False, 0.0),
    (float, -0.0, -0.0),
    (float, INF, INF),
    (float, NAN, NAN),
    (complex, True, 1 + 0j),
    (complex, False, 0j),
    (complex, INF, complex(INF, 0.0)),
    (complex, -INF, complex(-INF, 0.0)),
    (complex, NAN, complex(NAN, NAN)),
    (complex, 1.5, 1.5 + 0j),
    (complex, complex(-0.0, NAN), complex(-0.0, NAN)),
]
