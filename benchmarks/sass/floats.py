"""Instructions of floats, and conversions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.sass.code import Instruction, Unknown
from benchmarks.sass.operands import (
    SHIFT32,
    U32,
    U64,
    Operands,
    Values,
    integer_type,
)


class Floats(Operands):
    """Instructions of floats, and conversions."""

    def _fadd(self, i: Instruction, to: str, a: str, b: str) -> None:
        x, y = (self.real(operand, i.base[0] == "D") for operand in (a, b))
        result = x + y if i.base.endswith("ADD") else x * y
        if i.base[0] == "F" and _MODES & set(i.parts):
            factors = (x, np.float32(1), y) if i.base == "FADD" else (x, y, np.float32(-0.0))
            result = _fused_single(i, *factors)
        self.set(to, result)

    _fmul = _dadd = _dmul = _fadd

    def _ffma(self, i: Instruction, to: str, *factors: str) -> None:
        self.set(to, _fused_single(i, *map(self.real, factors)))

    def _dfma(self, i: Instruction, to: str, *factors: str) -> None:
        x, y, z = (self.real(factor, double=True) for factor in factors)
        self.set(to, fused(x, y, z))

    def _fmnmx(self, i: Instruction, to: str, a: str, b: str, least: str) -> None:
        x, y = self.real(a), self.real(b)
        self.set(to, np.where(self.predicate(least), np.fmin(x, y), np.fmax(x, y)))

    def _mufu(self, i: Instruction, to: str, a: str) -> None:
        special = _SPECIAL[i.parts[1].removesuffix("64H")]
        if i.parts[1].endswith("64H"):
            full = (self.word(a).astype(U64) << SHIFT32).view(np.float64)
            self.set(to, (special(full).view(U64) >> SHIFT32).astype(U32))
        else:
            self.set(to, special(self.real(a).astype(np.float64)).astype(np.float32))

    def _fchk(self, i: Instruction, to: str, a: str, b: str) -> None:
        p, q = np.abs(self.real(a)), np.abs(self.real(b))
        quotient = p.astype(np.float64) / q
        easy = (q > 2.0**-126) & (q < 2.0**126) & (p > 2.0**-100)
        self.set(to, ~(easy & (quotient > 2.0**-100) & (quotient < 2.0**126)))

    def _f2f(self, i: Instruction, to: str, a: str) -> None:
        kinds = {"F64": np.float64, "F32": np.float32}
        if not set(i.parts[1:]) <= set(kinds):
            raise Unknown(i.name)
        self.set(to, self.real(a, i.parts[2] == "F64").astype(kinds[i.parts[1]]))

    def _frnd(self, i: Instruction, to: str, a: str) -> None:
        if "F16" in i.parts:
            raise Unknown(i.name)
        self.set(to, _rounded(i, self.real(a, "F64" in i.parts)))

    def _f2fp(self, i: Instruction, to: str, a: str, b: str) -> None:
        if not set(i.parts) <= {"F2FP", "F16", "BF16", "F32", "PACK_AB"}:  # to nearest
            raise Unknown(i.name)
        narrow = bfloat16_bits if "BF16" in i.parts else float16_bits
        self.set(to, narrow(self.real(a)) << U32(16) | narrow(self.real(b)))

    def _hadd2(self, i: Instruction, to: str, *sources: str) -> None:
        if "F32" in i.parts and sources[0].removesuffix(".H0_H0") == "-RZ":
            self.set(to, self.half(sources[1]).astype(np.float32))
            return
        (a, b), (c, d) = self._pairs(i, sources, 2)
        self.set(to, _packed(a + c, b + d))

    def _hmul2(self, i: Instruction, to: str, *sources: str) -> None:
        (a, b), (c, d) = self._pairs(i, sources, 2)
        self.set(to, _packed(a * c, b * d))

    def _hfma2(self, i: Instruction, to: str, *sources: str) -> None:
        pairs = self._pairs(i, sources, 3)
        low, high = zip(*pairs, strict=True)
        self.set(to, _packed(low[0] * low[1] + low[2], high[0] * high[1] + high[2]))

    def _pairs(
        self, i: Instruction, sources: Sequence[str], count: int
    ) -> list[tuple[Values, Values]]:
        """Both halves of each operand as doubles, the lower first; numbers stand in pairs."""
        if set(i.parts[1:]) - {"MMA"}:
            raise Unknown(i.name)
        rest, pairs = list(sources), []
        while rest:
            text = rest.pop(0)
            if re.match(r"-?(\d|\+?INF|QNAN)", text):
                low, high = (np.array([float(x)]) for x in (rest.pop(0), text))
            else:
                sign = -1.0 if text.startswith("-") else 1.0
                word = self.word(re.sub(r"\.H\d_H\d", "", text).strip("-|"))
                parts = [(word >> U32(shift) & U32(0xFFFF)).astype(np.uint16) for shift in (0, 16)]
                both = [part.view(np.float16).astype(np.float64) for part in parts]
                both = [np.abs(half) if "|" in text else half for half in both]
                chosen = re.search(r"\.H(\d)_H(\d)", text)
                low, high = (sign * both[int(n)] for n in (chosen.groups() if chosen else "01"))
            pairs.append((low, high))
        if len(pairs) != count:
            raise Unknown(f"{i.name} {', '.join(sources)}")
        return pairs

    def _i2f(self, i: Instruction, to: str, a: str) -> None:
        kind = integer_type(i.parts)
        whole = self.wide(a) if np.dtype(kind).itemsize == 8 else self.word(a)
        real = whole.view(kind).astype(np.float64)
        self.set(to, real if "F64" in i.parts else _narrowed(i, real, np.zeros(1)))

    _i2fp = _i2f

    def _f2i(self, i: Instruction, to: str, a: str) -> None:
        kind = integer_type(i.parts)
        real = self.real(a, "F64" in i.parts).astype(np.float64)
        whole = _rounded(i, np.nan_to_num(real))
        limits = np.iinfo(kind)
        top = np.nextafter(float(limits.max) + 1, 0)
        self.set(to, np.clip(whole, float(limits.min), top).astype(kind))


def fused(x: Values, y: Values, z: Values) -> Values:
    """``x * y + z`` with one rounding, nearly always."""
    product = x * y
    a, b = _halves(x), _halves(y)
    error = ((a[0] * b[0] - product) + a[0] * b[1] + a[1] * b[0]) + a[1] * b[1]
    total, lost = _sum(product, z)
    error = error + lost
    return np.where(np.isfinite(error), total + error, total)


def _sum(x: Values, y: Values) -> tuple[Values, Values]:
    """A rounded sum, and what its rounding has lost."""
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


def _fused_single(i: Instruction, x: Values, y: Values, z: Values) -> Values:
    return _narrowed(i, *_sum(x.astype(np.float64) * y, z))


def _narrowed(i: Instruction, total: Values, lost: Values) -> Values:
    """The float32 of ``total + lost``, rounded and limited as the instruction says."""
    result = total.astype(np.float32)
    ways: dict[str, Any] = {"RM": -np.inf, "RP": np.inf, "RZ": np.copysign(np.inf, -total)}
    for way in (ways[part] for part in i.parts if part in ways):
        behind = (result - total - lost) * np.sign(way) < 0
        result = np.where(behind, np.nextafter(result, way, dtype=np.float32), result)
    return np.clip(np.nan_to_num(result), 0, 1) if "SAT" in i.parts else result


def _rounded(i: Instruction, x: Values) -> Values:
    """Whole numbers: the nearest, or those that the instruction names."""
    function = next((_WHOLE[part] for part in i.parts if part in _WHOLE), np.rint)
    return function(x)


def _halves(x: Values) -> tuple[Values, Values]:
    scaled = 134217729.0 * x
    high = scaled - (scaled - x)
    return high, x - high


def _packed(low: Values, high: Values) -> Values:
    return float16_bits(high) << U32(16) | float16_bits(low)


def float16_bits(x: Values) -> Values:
    return x.astype(np.float16).view(np.uint16).astype(U32)


def bfloat16_bits(x: Values) -> Values:
    bits = x.view(U32)
    even = (bits + U32(0x7FFF) + (bits >> U32(16) & U32(1))) >> U32(16)
    rounded: Values = np.where(np.isnan(x), U32(0x7FFF), even)
    return rounded


_MODES = {"RM", "RP", "RZ", "SAT"}
_SPECIAL: dict[str, Callable[[Values], Values]] = {
    "RCP": lambda x: 1 / x,
    "RSQ": lambda x: 1 / np.sqrt(x),
    "SQRT": np.sqrt,
    "EX2": np.exp2,
    "LG2": np.log2,
    "TANH": np.tanh,
    "SIN": lambda x: np.sin(2 * np.pi * x),
    "COS": lambda x: np.cos(2 * np.pi * x),
}
_WHOLE: dict[str, Callable[[Values], Values]] = {
    "FLOOR": np.floor, "CEIL": np.ceil, "TRUNC": np.trunc,
}  # fmt: skip
