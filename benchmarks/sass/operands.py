"""Registers, constants and other operands of instructions, for all threads at once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.sass.code import Instruction, Unknown

Values = NDArray[Any]

LANES = 32
U32, U64, LOW = np.uint32, np.uint64, np.uint64(0xFFFFFFFF)
SHIFT32 = np.uint64(32)


class Operands:
    """Registers of all threads, and what instructions read and write.

    Attributes:
        threads: of all blocks, those that fill the last warp of each among them.
        mask: the threads that take part in the instruction that runs.
        rows: registers and predicates, by name.
        banks: constants, by the number of their bank.

    """

    def __init__(self, threads: int, banks: dict[int, bytes]) -> None:
        self.threads = threads
        self.mask = np.ones(threads, bool)
        self.rows: dict[str, Values] = {}
        self._words: dict[tuple[str, int], Values] = {}
        self.banks = {
            n: np.frombuffer(content.ljust((len(content) // 16 + 2) * 16, b"\0"), np.uint8)
            for n, content in banks.items()
        }

    def row(self, name: str) -> Values:
        """The values of a register or predicate, of each thread."""
        if name not in self.rows:
            kind = bool if "P" in name else U32
            self.rows[name] = np.full(self.threads, name in ("PT", "UPT"), kind)
        return self.rows[name]

    def predicate(self, text: str) -> Values:
        return ~self.row(text[1:]) if text.startswith("!") else self.row(text)

    def word(self, text: str, part: int = 0) -> Values:
        """32 bits: a register (`part` further), a number, or a constant; negated, inverted."""
        if (text, part) in self._words:
            return self._words[text, part]
        if re.match(r"-[^\d]", text):
            return -self.word(text[1:], part)
        if text.startswith("~"):
            return ~self.word(text[1:], part)
        if text.startswith("|"):
            return np.abs(self.word(text.strip("|"), part).view(np.int32)).view(U32)
        if text.startswith("c["):
            return self.constant(text, 4 * part)
        if re.fullmatch(r"U?R(\d+|Z)(\.64)?", text):
            value = self.row(further(text.removesuffix(".64"), part))
        elif re.fullmatch(r"-?0x[0-9a-f]+|-?\d+", text):
            value = np.array([int(text, 0) >> 32 * part & 0xFFFFFFFF], U32)
        else:
            raise Unknown(text)
        self._words[text, part] = value
        return value

    def constant(self, text: str, further: int = 0, width: int = 4) -> Values:
        match = re.fullmatch(r"c\[(0x\w+)\]\[(.*)\]", text)
        if not match or (bank := self.banks.get(int(match[1], 16))) is None:
            raise Unknown(text)
        terms = (self.word(term).astype(np.int64) for term in match[2].split("+"))
        at = sum(terms, np.zeros(1, np.int64)) & 0xFFFFFFFF
        at = np.minimum(at, len(bank) - 16) + further  # of threads that take no part
        return gathered(bank, at, width)

    def wide(self, text: str) -> Values:
        """64 bits: two registers, or a number."""
        if text.startswith("-") and "R" in text:
            return -self.wide(text[1:])
        return self.word(text).astype(U64) | self.word(text, 1).astype(U64) << SHIFT32

    def real(self, text: str, double: bool = False) -> Values:
        """A float."""
        kind: Any = np.float64 if double else np.float32
        if not re.match(r"-?\|?(R|UR|c\[)", text):
            return np.array([float(text.replace("QNAN", "nan").replace("INF", "inf"))], kind)
        if text.startswith("-"):
            return -self.real(text[1:], double)
        if text.startswith("|"):
            return np.abs(self.real(text.strip("|"), double))
        return (self.wide(text) if double else self.word(text)).view(kind)

    def half(self, text: str) -> Values:
        word = self.word(re.sub(r"\.H\d_H\d", "", text).lstrip("-"))
        shift = U32(16 if ".H1_H1" in text else 0)
        return (word >> shift & U32(0xFFFF)).astype(np.uint16).view(np.float16)

    def address(self, text: str) -> Values:
        """An address of memory, as 64 bits."""
        match = re.search(r"\[([^\[\]]*)\]$", text)
        if not match:
            raise Unknown(text)
        total = np.zeros(self.threads, U64)
        for term in match[1].split("+"):
            if term.endswith(".64") or "0x" in term:
                total = total + self.wide(term)
            else:
                register, _, scale = term.removesuffix(".U32").partition(".X")
                total = total + self.word(register).astype(U64) * U64(int(scale or 1))
        return total

    def set(self, text: str, value: Values) -> None:
        """Write a register of the threads that take part; a pair of 64 bits."""
        if text in ("RZ", "URZ", "PT", "UPT"):
            return
        if value.dtype.itemsize == 8:
            bits = value.view(U64)
            self.set(text, (bits & LOW).astype(U32))
            self.set(further(text, 1), (bits >> SHIFT32).astype(U32))
            return
        row = self.row(text)
        if text[0] == "U" and not self.mask.all():
            self._set_for_warps(row, value.view(row.dtype))
            return
        np.copyto(row, value.view(row.dtype), where=self.mask)

    def _set_for_warps(self, row: Values, value: Values) -> None:
        """Write a uniform register, which all lanes of a warp share, if any lane takes part."""
        taking = self.mask.reshape(-1, LANES)
        of_lanes = np.broadcast_to(value, row.shape).reshape(-1, LANES)
        first = of_lanes[np.arange(len(taking)), taking.argmax(1)]
        np.copyto(row, np.repeat(first, LANES), where=np.repeat(taking.any(1), LANES))

    def split(self, i: Instruction) -> tuple[str, list[str], list[str], list[str]]:
        """The result, predicates that follow it, sources, and predicates behind them."""
        to, *rest = i.operands
        out: list[str] = []
        while rest and is_predicate(rest[0]):
            out.append(rest.pop(0))
        into: list[str] = []
        while rest and is_predicate(rest[-1]):
            into.insert(0, rest.pop())
        return to, out, rest, into


def is_predicate(text: str) -> bool:
    return re.fullmatch(r"!?U?P(\d|T)", text) is not None


def further(register: str, count: int) -> str:
    """The register that follows so many places behind."""
    kind = register.rstrip("0123456789")
    return register if kind == register else f"{kind}{int(register[len(kind) :]) + count}"


def width_of(parts: Sequence[str]) -> int:
    widths = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}
    return next((widths[p] for p in parts[1:] if p in widths), 4)


def integer_type(parts: Sequence[str]) -> Any:
    kinds = {"U32": U32, "S32": np.int32, "U64": U64, "S64": np.int64}
    return next((kinds[p] for p in parts if p in kinds), np.int32)


def gathered(memory: Values, at: Values, width: int) -> Values:
    kind = np.dtype(f"u{width}")
    whole: Values = memory[: memory.size // width * width].view(kind)
    words: Values = whole[at // width].astype(U32)
    return words


def looked_up(code: int, x: Values, y: Values, z: Values) -> Values:
    """The bitwise function of three operands that a table of 8 bits says."""
    result = np.zeros(1, x.dtype)
    for n in range(8):
        if code >> n & 1:
            term = (x if n & 4 else ~x) & (y if n & 2 else ~y) & (z if n & 1 else ~z)
            result = result | term
    return result
