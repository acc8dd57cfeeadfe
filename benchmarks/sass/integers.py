"""Instructions of integers, bits and predicates."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from benchmarks.sass.code import Instruction, Unknown
from benchmarks.sass.operands import (
    LOW,
    SHIFT32,
    U32,
    U64,
    Operands,
    Values,
    is_predicate,
    looked_up,
)


class Integers(Operands):
    """Instructions of integers, bits and predicates."""

    def _imad(self, i: Instruction, *_: str) -> None:
        to, out, (a, b, c), into = self.split(i)
        carry = self.predicate(into[0]).astype(U32) if into else U32(0)
        if not {"WIDE", "HI"} & set(i.parts):
            self.set(to, self.word(a) * self.word(b) + self.word(c) + carry)
            return
        kind, high = (U32, U64) if "U32" in i.parts else (np.int32, np.int64)
        x, y = (self.word(operand).view(kind).astype(high) for operand in (a, b))
        times = (x * y).astype(U64)
        total = times + self.wide(c) + carry
        self.set(to, (total >> SHIFT32).astype(U32) if "HI" in i.parts else total)
        for target in out[:1]:
            self.set(target, total < times)

    def _added(self, text: str) -> Values:
        """A term as a sum with carries takes it: a negative number is the inverse and 1."""
        if re.match(r"-(U?R|c\[)", text):
            return (~self.word(text[1:])).astype(U64) + U64(1)
        return self.word(text).astype(U64)

    def _iadd3(self, i: Instruction, *_: str) -> None:
        to, out, sources, into = self.split(i)
        if "64" in i.parts:
            self.set(to, sum(map(self.wide, sources), np.zeros(1, U64)))
            return
        carries = into if "X" in i.parts else []
        terms = [*map(self._added, sources), *map(self.predicate, carries)]
        total = sum(terms, np.zeros(1, U64))
        self.set(to, (total & LOW).astype(U32))
        for number, target in enumerate(out):
            self.set(target, total >> SHIFT32 > U64(number))

    def _viadd(self, i: Instruction, to: str, a: str, b: str) -> None:
        self.set(to, self.word(a) + self.word(b))

    def _vimnmx(self, i: Instruction, *_: str) -> None:
        to, out, sources, (least,) = self.split(i)
        if out:
            raise Unknown(i.name)
        self._least(i, to, least, *map(self.word, sources))

    _vimnmx3 = _vimnmx

    def _viaddmnmx(self, i: Instruction, to: str, a: str, b: str, c: str, least: str) -> None:
        if {"S16x2", "U16x2"} & set(i.parts):
            raise Unknown(i.name)
        self._least(i, to, least, self.word(a) + self.word(b), self.word(c))

    def _least(self, i: Instruction, to: str, least: str, *words: Values) -> None:
        """The least or greatest word, or that of the low and of the high halves of words."""
        kind = next((_LEAST[part] for part in i.parts if part in _LEAST), np.int32)
        values = [word.reshape(-1, 1).view(kind) for word in words]
        below, above = (reduce(function, values) for function in (np.minimum, np.maximum))
        result = np.where(self.predicate(least)[:, None], below, above)
        result = np.maximum(result, 0) if "RELU" in i.parts else result
        self.set(to, result.view(U32).ravel())

    def _iabs(self, i: Instruction, to: str, a: str) -> None:
        self.set(to, self.word(f"|{a}|"))

    def _lea(self, i: Instruction, *_: str) -> None:
        to, out, (a, b, *upper, shift), into = self.split(i)
        word = self.word(a.lstrip("-"))
        if "SX32" in i.parts:
            value = word.view(np.int32).astype(np.int64).view(U64)
        else:
            value = word.astype(U64)
            if "HI" in i.parts:
                value = value | self.word(upper[0]).astype(U64) << SHIFT32
        shifted = value << U64(int(shift, 0)) >> U64(32 if "HI" in i.parts else 0) & LOW
        if a.startswith("-"):
            shifted = (~shifted & LOW) + U64(1)
        total = shifted + self._added(b)
        if "X" in i.parts:
            total = total + self.predicate(into[0])
        self.set(to, (total & LOW).astype(U32))
        for target in out[:1]:
            self.set(target, total >> SHIFT32 > U64(0))

    def _isetp(
        self, i: Instruction, to: str, other: str, a: str, b: str, also: str, lower: str = "PT"
    ) -> None:
        kind: Any = U32 if "U32" in i.parts else np.int32
        x, y = self.word(a).view(kind), self.word(b).view(kind)
        result = _COMPARE[i.parts[1]](x, y)
        if "EX" in i.parts:
            result = np.where(x == y, self.predicate(lower), result)
        self._join(i, result, to, other, also)

    def _join(self, i: Instruction, result: Values, to: str, other: str, also: str) -> None:
        join = next(_JOIN[part] for part in i.parts if part in _JOIN)
        more = self.predicate(also)
        both = join(result, more), join(~result, more)
        self.set(to, both[0])
        self.set(other, both[1])

    def _fsetp(self, i: Instruction, to: str, other: str, a: str, b: str, also: str) -> None:
        x, y = (self.real(operand, i.base == "DSETP") for operand in (a, b))
        compare, unordered = i.parts[1], np.isnan(x) | np.isnan(y)
        if compare in ("MIN", "MAX"):  # whether to take the first, and whether there is none
            first = x < y if compare == "MIN" else x > y
            self.set(to, first | (np.isnan(y) & ~np.isnan(x)))
            self.set(other, np.isnan(x) & np.isnan(y))
            return
        if compare in ("NAN", "NUM"):
            result = unordered if compare == "NAN" else ~unordered
        elif compare.endswith("U"):
            result = _COMPARE[compare[:-1]](x, y) | unordered
        else:
            result = _COMPARE[compare](x, y) & ~unordered
        self._join(i, result, to, other, also)

    _dsetp = _fsetp

    def _lop3(self, i: Instruction, *operands: str) -> None:
        if not is_predicate(operands[0]):
            operands = ("PT", *operands)
        out, to, a, b, c, table, *_ = operands
        result = looked_up(int(table, 0), self.word(a), self.word(b), self.word(c))
        self.set(to, result)
        self.set(out, result != 0)

    def _plop3(self, i: Instruction, to: str, other: str, *rest: str) -> None:
        values = [self.predicate(name) for name in rest[:3]]
        results = [looked_up(int(table, 0), *values) for table in rest[3:]]
        for target, value in zip((to, other), results, strict=True):
            self.set(target, value)

    def _popc(self, i: Instruction, to: str, a: str) -> None:
        bits = np.unpackbits(_bytes_of(self.word(a)), axis=1)
        self.set(to, bits.sum(1, dtype=U32))

    def _flo(self, i: Instruction, to: str, a: str) -> None:
        word = self.word(a)
        if "U32" not in i.parts:  # the highest bit that is not the sign's
            word = np.where(word >> U32(31), ~word, word)
        highest = np.frexp(word.astype(np.float64))[1] - 1
        place = 31 - highest if "SH" in i.parts else highest
        self.set(to, np.where(word == 0, -1, place).astype(np.int32))

    def _brev(self, i: Instruction, to: str, a: str) -> None:
        bits = np.unpackbits(_bytes_of(self.word(a)), axis=1, bitorder="little")[:, ::-1]
        self.set(to, np.packbits(bits, axis=1, bitorder="little").view(U32)[:, 0])

    def _sgxt(self, i: Instruction, to: str, a: str, width: str) -> None:
        count = np.minimum(self.word(width), 32).astype(U64)
        shift = U64(64) - np.maximum(count, 1)
        up = self.word(a).astype(U64) << shift
        moved = up >> shift if "U32" in i.parts else (up.view(np.int64) >> shift.view(np.int64))
        self.set(to, np.where(count == 0, 0, moved.view(U64) & LOW).astype(U32))

    def _bmsk(self, i: Instruction, to: str, first: str, width: str) -> None:
        start, count = (np.minimum(self.word(x), 32).astype(U64) for x in (first, width))
        mask = ((U64(1) << count) - U64(1)) << start
        self.set(to, (mask & LOW).astype(U32))

    def _idp(self, i: Instruction, to: str, a: str, b: str, c: str) -> None:
        if "4A" not in i.parts:
            raise Unknown(i.name)
        kinds = [np.dtype("i1" if part == "S8" else "u1") for part in i.parts[2:4]]
        factors = (
            _bytes_of(self.word(x)).view(kind).astype(np.int64)
            for x, kind in zip((a, b), kinds, strict=True)
        )
        x, y = factors
        self.set(to, ((x * y).sum(1).astype(U64) + self.word(c) & LOW).astype(U32))

    def _shf(self, i: Instruction, to: str, low: str, by: str, high: str) -> None:
        _, way, kind, *_ = i.parts
        both = self.word(low).astype(U64) | self.word(high).astype(U64) << SHIFT32
        count = self.word(by) & U32(31) if "W" in i.parts else self.word(by)
        count = np.minimum(count, 32 if kind.endswith("32") else 63).astype(U64)
        if way == "L":
            moved = both << count
        elif kind.startswith("S"):
            moved = (both.view(np.int64) >> count.astype(np.int64)).view(U64)
        else:
            moved = both >> count
        self.set(to, (moved >> U64(32 if "HI" in i.parts else 0) & LOW).astype(U32))

    def _prmt(self, i: Instruction, to: str, a: str, selector: str, b: str) -> None:
        both = self.word(a).astype(U64) | self.word(b).astype(U64) << SHIFT32
        chosen, result = self.word(selector).astype(U64), np.zeros(1, U64)
        for byte in range(4):
            nibble = chosen >> U64(4 * byte)
            value = both >> (nibble & U64(7)) * U64(8) & U64(0xFF)
            spread = np.where(value & U64(0x80), U64(0xFF), U64(0))
            value = np.where(nibble & U64(8), spread, value)
            result = result | value << U64(8 * byte)
        self.set(to, result.astype(U32))

    def _sel(self, i: Instruction, to: str, a: str, b: str, which: str) -> None:
        of = self.real if i.base == "FSEL" else self.word
        self.set(to, np.where(self.predicate(which), of(a), of(b)))

    _fsel = _sel

    def _mov(self, i: Instruction, to: str, a: str, *_: str) -> None:
        self.set(to, self.word(a))

    _r2ur = _mov

    def _cs2r(self, i: Instruction, to: str, a: str) -> None:
        if a != "SRZ":
            raise Unknown(a)
        self.set(to, np.zeros(1, U32 if "32" in i.parts else U64))

    def _p2r(self, i: Instruction, to: str, _: str, a: str, mask: str) -> None:
        bits, first = int(mask, 0), 8 if "B1" in i.parts else 0
        result = self.word(a) & U32(~(bits << first) & 0xFFFFFFFF)
        for n in range(7):
            if bits >> n & 1:
                result = result | self.row(f"P{n}").astype(U32) << U32(n + first)
        self.set(to, result)

    def _r2p(self, i: Instruction, _: str, a: str, bits: str) -> None:
        shifted = self.word(a.removesuffix(".B1")) >> U32(8 if a.endswith(".B1") else 0)
        for n in range(7):
            if int(bits, 0) >> n & 1:
                self.set(f"P{n}", (shifted >> U32(n) & U32(1)).astype(bool))


_COMPARE: dict[str, Callable[[Values, Values], Values]] = {
    "EQ": operator.eq, "NE": operator.ne, "LT": operator.lt,
    "LE": operator.le, "GT": operator.gt, "GE": operator.ge,
}  # fmt: skip
_LEAST: dict[str, Any] = {"U32": U32, "S16x2": np.int16, "U16x2": np.uint16}
_JOIN = {"AND": operator.and_, "OR": operator.or_, "XOR": operator.xor}


def _bytes_of(words: Values) -> Values:
    """A row of four bytes for each word, the lowest first."""
    return np.ascontiguousarray(words, U32).view(np.uint8).reshape(-1, 4)
