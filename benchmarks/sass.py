"""Machine code of sm_90 run by NumPy: how many instructions warps issue, and what they store.

A few blocks run together, all threads of them at the lowest address that any is at, which is how
warps that part come together again. Values are computed too, since addresses and branches depend on
them; what blocks store is compared with what the simulator left. `Unknown` is raised for
instructions that are not here. Divisions of floats may differ in the last bit.
"""

from __future__ import annotations

import ctypes
import operator
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[Any]
Jumps = list[tuple[int, Values]]

THREADS = 256
LANES = 32

# Of sm_90: where parameters are in constant bank 0, and shared memory in its own.
_PARAMETERS = 0x210
_SHARED, _SHARED_BYTES = 0x400, 48 * 1024 + 0x400

_U32, _U64, _LOW = np.uint32, np.uint64, np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)


class Unknown(Exception):  # noqa: N818
    """An instruction, or memory, that is not known here."""


@dataclass(frozen=True)
class Instruction:
    """One line of a disassembly; `guard` is its predicate, or ""."""

    address: int
    guard: str
    name: str
    operands: tuple[str, ...]

    @cached_property
    def parts(self) -> list[str]:
        return self.name.split(".")

    @cached_property
    def base(self) -> str:
        """The name alone; that of the uniform datapath is the same."""
        return self.parts[0].removeprefix("U")

    @cached_property
    def registers(self) -> frozenset[str]:
        """Names of the registers of threads among the operands."""
        return frozenset(re.findall(r"\bR\d+", " ".join(self.operands)))


_LINE = re.compile(r"^\s+/\*([0-9a-f]{4,})\*/\s+(?:@(!?U?P\w+) )?\s*([A-Z][\w.]*)\s*(.*?)\s*;")
_LABEL = re.compile(r"^\s*([$.\w]+):")


def parsed(text: str) -> tuple[list[Instruction], dict[str, int]]:
    """The instructions of ``nvdisasm -c``, of one section, and where each label is."""
    instructions: list[Instruction] = []
    waiting: list[str] = []
    labels: dict[str, int] = {}
    for line in text.splitlines():
        if label := _LABEL.match(line):
            waiting.append(label[1])
        elif match := _LINE.match(line):
            address, guard, name, rest = match.groups()
            rest = re.sub(r"\(\*.*", "", rest).replace(".reuse", "")
            operands = tuple(operand.strip() for operand in rest.split(",") if operand.strip())
            instructions.append(Instruction(int(address, 16), guard or "", name, operands))
            labels.update(dict.fromkeys(waiting, int(address, 16)))
            waiting = []
    return instructions, labels


def sections(cubin: bytes) -> dict[str, bytes]:
    """The sections of an ELF file, by name."""
    (first,) = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names = struct.unpack_from("<3H", cubin, 0x3A)
    rows = [struct.unpack_from("<2I4Q", cubin, first + n * size) for n in range(count)]
    strings = rows[names][4]
    by_name = {}
    for name, kind, _, _, offset, nbytes in rows:
        end = cubin.index(b"\0", strings + name)
        text = cubin[strings + name : end].decode()
        by_name[text] = b"" if kind == 8 else cubin[offset : offset + nbytes]
    return by_name


@dataclass
class Ran:
    """Counts of the blocks that were run.

    Attributes:
        issued: by warps, of each block.
        loads: from global memory, of a warp; `waits`: how often results of any were waited for.
        stores: addresses and words, as they were stored to global memory.

    """

    issued: Values
    loads: int = 0
    waits: int = 0
    stores: list[tuple[Values, Values]] = field(default_factory=list)


class Machine:
    """Blocks of one kernel, ready to run once."""

    def __init__(
        self,
        code: tuple[list[Instruction], dict[str, int]],
        constants: dict[int, bytes],
        blocks: Sequence[int],
        grid: int,
        memory: Sequence[tuple[int, int]],
    ) -> None:
        """`memory`: the first byte and the number of bytes of each allocation."""
        instructions, self.labels = code
        self.at = {instruction.address: instruction for instruction in instructions}
        self.threads = THREADS * len(blocks)
        self.mask = np.ones(self.threads, bool)  # the threads that take part in an instruction
        self.rows: dict[str, Values] = {}
        self.words: dict[tuple[str, int], Values] = {}
        self.block = np.repeat(np.array(blocks, _U32), THREADS)
        self.slot = np.repeat(np.arange(len(blocks), dtype=np.int64), THREADS)
        self.shared = np.zeros(len(blocks) * _SHARED_BYTES + 16, np.uint8)
        self.memory = sorted(memory)
        self.begins = np.array([begin for begin, _ in self.memory], _U64)
        first = struct.pack("<4I", THREADS, 1, 1, grid).ljust(_PARAMETERS, b"\0")
        self.banks = {n: np.frombuffer(b.ljust((len(b) // 16 + 2) * 16, b"\0"), np.uint8)
                      for n, b in (constants | {0: first + constants[0]}).items()}  # fmt: skip
        self.ran = Ran(np.zeros(len(blocks), np.int64))
        self.pending: set[str] = set()

    # ---- Running

    def run(self, most: int = 2_000_000) -> Ran:
        """All blocks, to their ends."""
        going = {0: np.ones(self.threads, bool)}
        waiting: dict[int, Values] = {}
        with np.errstate(all="ignore"):
            for _ in range(most):
                if not going:
                    if not waiting:
                        break
                    going, waiting = waiting, {}
                at = min(going)
                mask = going.pop(at)
                for target, those in self._step(self.at[at], mask):
                    into = waiting if target < 0 else going
                    place = abs(target)
                    into[place] = into[place] | those if place in into else those
            else:
                raise Unknown(f"no end within {most} steps")
        self.ran.waits += bool(self.pending)
        return self.ran

    def _step(self, i: Instruction, mask: Values) -> Iterator[tuple[int, Values]]:
        self.ran.issued += mask.reshape(len(self.ran.issued), -1, LANES).any(2).sum(1)
        jumps: Jumps | None = None
        if i.base not in _NOTHING:
            if self.pending & i.registers:
                self.pending.clear()
                self.ran.waits += 1
            method = getattr(self, f"_{i.base.lower()}", None)
            if method is None:
                raise Unknown(f"{i.name} {', '.join(i.operands)}")
            self.mask = mask & self.predicate(i.guard) if i.guard else mask
            jumps = method(i, *i.operands)
        for target, those in jumps or ():
            mask = mask & ~those
            if those.any() and target != _END:
                yield target, those
        if mask.any():
            yield i.address + 16, mask

    # ---- Operands

    def row(self, name: str) -> Values:
        """The values of a register or predicate, of each thread."""
        if name not in self.rows:
            kind = bool if "P" in name else _U32
            self.rows[name] = np.full(self.threads, name in ("PT", "UPT"), kind)
        return self.rows[name]

    def predicate(self, text: str) -> Values:
        return ~self.row(text[1:]) if text.startswith("!") else self.row(text)

    def word(self, text: str, part: int = 0) -> Values:
        """32 bits: a register (`part` further), a number, or a constant; negated, inverted."""
        if (text, part) in self.words:
            return self.words[text, part]
        if re.match(r"-[^\d]", text):
            return -self.word(text[1:], part)
        if text.startswith("~"):
            return ~self.word(text[1:], part)
        if text.startswith("|"):
            return np.abs(self.word(text.strip("|"), part).view(np.int32)).view(_U32)
        if text.startswith("c["):
            return self.constant(text, 4 * part)
        if re.fullmatch(r"U?R(\d+|Z)(\.64)?", text):
            value = self.row(_further(text.removesuffix(".64"), part))
        elif re.fullmatch(r"-?0x[0-9a-f]+|-?\d+", text):
            value = np.array([int(text, 0) >> 32 * part & 0xFFFFFFFF], _U32)
        else:
            raise Unknown(text)
        self.words[text, part] = value
        return value

    def constant(self, text: str, further: int = 0, width: int = 4) -> Values:
        match = re.fullmatch(r"c\[(0x\w+)\]\[(.*)\]", text)
        if not match or (bank := self.banks.get(int(match[1], 16))) is None:
            raise Unknown(text)
        terms = (self.word(term).astype(np.int64) for term in match[2].split("+"))
        at = sum(terms, np.zeros(1, np.int64)) & 0xFFFFFFFF
        at = np.minimum(at, len(bank) - 16) + further  # of threads that take no part
        return _gathered(bank, at, width)

    def wide(self, text: str) -> Values:
        """64 bits: two registers, or a number."""
        if text.startswith("-") and "R" in text:
            return -self.wide(text[1:])
        return self.word(text).astype(_U64) | self.word(text, 1).astype(_U64) << _32

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
        shift = _U32(16 if ".H1_H1" in text else 0)
        return (word >> shift & _U32(0xFFFF)).astype(np.uint16).view(np.float16)

    def address(self, text: str) -> Values:
        """An address of memory, as 64 bits."""
        match = re.search(r"\[([^\[\]]*)\]$", text)
        if not match:
            raise Unknown(text)
        total = np.zeros(self.threads, _U64)
        for term in match[1].split("+"):
            if term.endswith(".64") or "0x" in term:
                total = total + self.wide(term)
            else:
                register, _, scale = term.partition(".X")
                total = total + self.word(register).astype(_U64) * _U64(int(scale or 1))
        return total

    def set(self, text: str, value: Values) -> None:
        """Write a register of the threads that take part; a pair of 64 bits."""
        if text in ("RZ", "URZ", "PT", "UPT"):
            return
        if value.dtype.itemsize == 8:
            bits = value.view(_U64)
            self.set(text, (bits & _LOW).astype(_U32))
            self.set(_further(text, 1), (bits >> _32).astype(_U32))
            return
        row = self.row(text)
        np.copyto(row, value.view(row.dtype), where=self.mask)

    # ---- Instructions

    def _split(self, i: Instruction) -> tuple[str, list[str], list[str], list[str]]:
        """The result, predicates that follow it, sources, and predicates behind them."""
        to, *rest = i.operands
        out: list[str] = []
        while rest and _is_predicate(rest[0]):
            out.append(rest.pop(0))
        into: list[str] = []
        while rest and _is_predicate(rest[-1]):
            into.insert(0, rest.pop())
        return to, out, rest, into

    def _imad(self, i: Instruction, *_: str) -> None:
        to, out, (a, b, c), into = self._split(i)
        carry = self.predicate(into[0]).astype(_U32) if into else _U32(0)
        if not {"WIDE", "HI"} & set(i.parts):
            self.set(to, self.word(a) * self.word(b) + self.word(c) + carry)
            return
        kind, high = (_U32, _U64) if "U32" in i.parts else (np.int32, np.int64)
        x, y = (self.word(operand).view(kind).astype(high) for operand in (a, b))
        times = (x * y).astype(_U64)
        total = times + self.wide(c) + carry
        self.set(to, (total >> _32).astype(_U32) if "HI" in i.parts else total)
        for target in out[:1]:
            self.set(target, total < times)

    def _added(self, text: str) -> Values:
        """A term as a sum with carries takes it: a negative number is the inverse and 1."""
        if re.match(r"-(U?R|c\[)", text):
            return (~self.word(text[1:])).astype(_U64) + _U64(1)
        return self.word(text).astype(_U64)

    def _iadd3(self, i: Instruction, *_: str) -> None:
        to, out, sources, into = self._split(i)
        carries = into if "X" in i.parts else []
        terms = [*map(self._added, sources), *map(self.predicate, carries)]
        total = sum(terms, np.zeros(1, _U64))
        self.set(to, (total & _LOW).astype(_U32))
        for number, target in enumerate(out):
            self.set(target, total >> _32 > _U64(number))

    def _viadd(self, i: Instruction, to: str, a: str, b: str) -> None:
        self.set(to, self.word(a) + self.word(b))

    def _vimnmx(self, i: Instruction, to: str, a: str, b: str, least: str, *_: str) -> None:
        self._least(i, to, self.word(a), self.word(b), least)

    def _viaddmnmx(self, i: Instruction, to: str, a: str, b: str, c: str, least: str) -> None:
        self._least(i, to, self.word(a) + self.word(b), self.word(c), least)

    def _least(self, i: Instruction, to: str, x: Values, y: Values, least: str) -> None:
        kind: Any = _U32 if "U32" in i.parts else np.int32
        a, b = x.view(kind), y.view(kind)
        result = np.where(self.predicate(least), np.minimum(a, b), np.maximum(a, b))
        self.set(to, np.maximum(result, 0) if "RELU" in i.parts else result)

    def _iabs(self, i: Instruction, to: str, a: str) -> None:
        self.set(to, self.word(f"|{a}|"))

    def _lea(self, i: Instruction, *_: str) -> None:
        to, out, (a, b, *upper, shift), into = self._split(i)
        word = self.word(a.lstrip("-"))
        if "SX32" in i.parts:
            value = word.view(np.int32).astype(np.int64).view(_U64)
        else:
            value = word.astype(_U64)
            if "HI" in i.parts:
                value = value | self.word(upper[0]).astype(_U64) << _32
        shifted = value << _U64(int(shift, 0)) >> _U64(32 if "HI" in i.parts else 0) & _LOW
        if a.startswith("-"):
            shifted = (~shifted & _LOW) + _U64(1)
        total = shifted + self._added(b)
        if "X" in i.parts:
            total = total + self.predicate(into[0])
        self.set(to, (total & _LOW).astype(_U32))
        for target in out[:1]:
            self.set(target, total >> _32 > _U64(0))

    def _isetp(
        self, i: Instruction, to: str, other: str, a: str, b: str, also: str, lower: str = "PT"
    ) -> None:
        kind: Any = _U32 if "U32" in i.parts else np.int32
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
        if compare in ("NAN", "NUM"):
            result = unordered if compare == "NAN" else ~unordered
        elif compare.endswith("U"):
            result = _COMPARE[compare[:-1]](x, y) | unordered
        else:
            result = _COMPARE[compare](x, y) & ~unordered
        self._join(i, result, to, other, also)

    _dsetp = _fsetp

    def _lop3(self, i: Instruction, *operands: str) -> None:
        if not _is_predicate(operands[0]):
            operands = ("PT", *operands)
        out, to, a, b, c, table, *_ = operands
        result = _looked_up(int(table, 0), self.word(a), self.word(b), self.word(c))
        self.set(to, result)
        self.set(out, result != 0)

    def _plop3(self, i: Instruction, to: str, other: str, *rest: str) -> None:
        values = [self.predicate(name) for name in rest[:3]]
        results = [_looked_up(int(table, 0), *values) for table in rest[3:]]
        for target, value in zip((to, other), results, strict=True):
            self.set(target, value)

    def _shf(self, i: Instruction, to: str, low: str, by: str, high: str) -> None:
        _, way, kind, *_ = i.parts
        both = self.word(low).astype(_U64) | self.word(high).astype(_U64) << _32
        count = self.word(by) & _U32(31) if "W" in i.parts else self.word(by)
        count = np.minimum(count, 32 if kind.endswith("32") else 63).astype(_U64)
        if way == "L":
            moved = both << count
        elif kind.startswith("S"):
            moved = (both.view(np.int64) >> count.astype(np.int64)).view(_U64)
        else:
            moved = both >> count
        self.set(to, (moved >> _U64(32 if "HI" in i.parts else 0) & _LOW).astype(_U32))

    def _prmt(self, i: Instruction, to: str, a: str, selector: str, b: str) -> None:
        both = self.word(a).astype(_U64) | self.word(b).astype(_U64) << _32
        chosen, result = self.word(selector).astype(_U64), np.zeros(1, _U64)
        for byte in range(4):
            nibble = chosen >> _U64(4 * byte)
            value = both >> (nibble & _U64(7)) * _U64(8) & _U64(0xFF)
            spread = np.where(value & _U64(0x80), _U64(0xFF), _U64(0))
            value = np.where(nibble & _U64(8), spread, value)
            result = result | value << _U64(8 * byte)
        self.set(to, result.astype(_U32))

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
        self.set(to, np.zeros(1, _U32 if "32" in i.parts else _U64))

    def _s2r(self, i: Instruction, to: str, a: str) -> None:
        thread = np.arange(self.threads, dtype=_U32) % _U32(THREADS)
        known = {"SR_TID.X": thread, "SR_CTAID.X": self.block, "SR_LANEID": thread % _U32(LANES),
                 "SR_CgaCtaId": np.zeros(1, _U32)}  # fmt: skip
        if a not in known:
            raise Unknown(a)
        self.set(to, known[a])

    _s2ur = _s2r

    def _p2r(self, i: Instruction, to: str, _: str, a: str, mask: str) -> None:
        bits, first = int(mask, 0), 8 if "B1" in i.parts else 0
        result = self.word(a) & _U32(~(bits << first) & 0xFFFFFFFF)
        for n in range(7):
            if bits >> n & 1:
                result = result | self.row(f"P{n}").astype(_U32) << _U32(n + first)
        self.set(to, result)

    def _r2p(self, i: Instruction, _: str, a: str, bits: str) -> None:
        shifted = self.word(a.removesuffix(".B1")) >> _U32(8 if a.endswith(".B1") else 0)
        for n in range(7):
            if int(bits, 0) >> n & 1:
                self.set(f"P{n}", (shifted >> _U32(n) & _U32(1)).astype(bool))

    def _voteu(self, i: Instruction, to: str, a: str) -> None:
        if "ALL" not in i.parts:
            raise Unknown(i.name)
        fine = (self.predicate(a) | ~self.mask).reshape(-1, LANES).all(1)
        self.set(to, np.repeat(fine, LANES))

    # ---- Where to go on

    def _bra(self, i: Instruction, *operands: str) -> Jumps:
        *conditions, label = operands
        going = self.mask
        for condition in conditions:
            going = going & self.predicate(condition)
        return [(self.labels[label.strip("`()")], going)]

    _call = _bra

    def _exit(self, i: Instruction, *_: str) -> Jumps:
        return [(_END, self.mask)]

    def _ret(self, i: Instruction, register: str, label: str = "") -> Jumps:
        return self._jump(register.split()[0], 0)

    def _brx(self, i: Instruction, text: str) -> Jumps:
        register, offset = text.split()[:2]
        return self._jump(register, i.address + 16 + int(offset, 16))

    def _jump(self, register: str, further: int) -> Jumps:
        places = self.word(register).astype(np.int64) + further
        return [(int(p), self.mask & (places == p)) for p in np.unique(places[self.mask])]

    def _bar(self, i: Instruction, *_: str) -> Jumps:
        return [(-(i.address + 16), self.mask)]

    # ---- Floats

    def _fadd(self, i: Instruction, to: str, a: str, b: str) -> None:
        x, y = (self.real(operand, i.base[0] == "D") for operand in (a, b))
        self.set(to, x + y if i.base.endswith("ADD") else x * y)

    _fmul = _dadd = _dmul = _fadd

    def _ffma(self, i: Instruction, to: str, *factors: str) -> None:
        x, y, z = (self.real(factor).astype(np.float64) for factor in factors)
        self.set(to, (x * y + z).astype(np.float32))

    def _dfma(self, i: Instruction, to: str, *factors: str) -> None:
        x, y, z = (self.real(factor, double=True) for factor in factors)
        self.set(to, _fused(x, y, z))

    def _fmnmx(self, i: Instruction, to: str, a: str, b: str, least: str) -> None:
        x, y = self.real(a), self.real(b)
        self.set(to, np.where(self.predicate(least), np.fmin(x, y), np.fmax(x, y)))

    def _mufu(self, i: Instruction, to: str, a: str) -> None:
        special = _SPECIAL[i.parts[1].removesuffix("64H")]
        if i.parts[1].endswith("64H"):
            full = (self.word(a).astype(_U64) << _32).view(np.float64)
            self.set(to, (special(full).view(_U64) >> _32).astype(_U32))
        else:
            self.set(to, special(self.real(a).astype(np.float64)).astype(np.float32))

    def _fchk(self, i: Instruction, to: str, a: str, b: str) -> None:
        p, q = np.abs(self.real(a)), np.abs(self.real(b))
        quotient = p.astype(np.float64) / q
        easy = (q > 2.0**-126) & (q < 2.0**126) & (p > 2.0**-100)
        self.set(to, ~(easy & (quotient > 2.0**-100) & (quotient < 2.0**126)))

    def _f2f(self, i: Instruction, to: str, a: str) -> None:
        kinds = {"F64": np.float64, "F32": np.float32}
        if not set(i.parts[1:3]) <= set(kinds):
            raise Unknown(i.name)
        self.set(to, self.real(a, i.parts[2] == "F64").astype(kinds[i.parts[1]]))

    def _f2fp(self, i: Instruction, to: str, a: str, b: str) -> None:
        narrow = _bfloat16 if "BF16" in i.parts else _float16
        self.set(to, narrow(self.real(a)) << _U32(16) | narrow(self.real(b)))

    def _hadd2(self, i: Instruction, to: str, a: str, b: str) -> None:
        if "F32" not in i.parts or a != "-RZ":
            raise Unknown(i.name)
        self.set(to, self.half(b).astype(np.float32))

    def _hfma2(self, i: Instruction, to: str, a: str, b: str, c: str, d: str) -> None:
        if (a, b) != ("-RZ", "RZ"):
            raise Unknown(i.name)
        self.set(to, np.array([float(d), float(c)], np.float16).view(_U32))

    def _i2f(self, i: Instruction, to: str, a: str) -> None:
        kind = _integer(i.parts)
        whole = self.wide(a) if np.dtype(kind).itemsize == 8 else self.word(a)
        self.set(to, whole.view(kind).astype(np.float64 if "F64" in i.parts else np.float32))

    _i2fp = _i2f

    def _f2i(self, i: Instruction, to: str, a: str) -> None:
        kind = _integer(i.parts)
        whole = np.trunc(np.nan_to_num(self.real(a, "F64" in i.parts).astype(np.float64)))
        limits = np.iinfo(kind)
        top = np.nextafter(float(limits.max) + 1, 0)
        self.set(to, np.clip(whole, float(limits.min), top).astype(kind))

    # ---- Memory

    def _ldc(self, i: Instruction, to: str, text: str) -> None:
        width = _width(i.parts)
        self.set(to, self.wide(text) if width == 8 else self.constant(text, width=width))

    def _lds(self, i: Instruction, to: str, *rest: str) -> None:
        which, width = np.flatnonzero(self.mask), _width(i.parts)
        if not which.size:
            return
        names = [_further(to, n) for n in range(max(1, width // 4)) if to != "RZ"]
        at = self.address(rest[-1])[which]
        if i.base == "LDG":
            self.ran.loads += 1
            self.pending |= set(names)
            pieces = self._global(at, width)
        else:
            pieces = [(self.shared, slice(None), self._shared(at, which))]
        signed = {"S8": np.int8, "S16": np.int16}.get(i.parts[-1])
        for memory, those, offsets in pieces:
            for n, name in enumerate(names):
                result = _gathered(memory, offsets + 4 * n, min(width, 4))
                if signed is not None:
                    result = result.astype(signed).astype(np.int32).view(_U32)
                self.row(name)[which[those]] = result

    _ldg = _lds

    def _stg(self, i: Instruction, at: str, value: str) -> None:
        which, width = np.flatnonzero(self.mask), _width(i.parts)
        if not which.size:
            return
        kind, address = np.dtype(f"u{min(width, 4)}"), self.address(at)[which]
        for n in range(max(1, width // 4)):
            values = np.broadcast_to(self.word(value, n), self.mask.shape)[which].astype(kind)
            if i.base == "STG":
                self.ran.stores.append((address + _U64(4 * n), values))
            else:
                offsets = self._shared(address, which) + 4 * n
                self.shared.view(kind)[offsets // kind.itemsize] = values

    _sts = _stg

    def _atoms(self, i: Instruction, to: str, at: str) -> None:
        if (i.name, to) != ("ATOMS.POPC.INC.32", "RZ"):
            raise Unknown(f"{i.name} {to}")
        which = np.flatnonzero(self.mask)
        offsets = self._shared(self.address(at)[which], which)
        np.add.at(self.shared.view(_U32), offsets // 4, _U32(1))

    def _redg(self, i: Instruction, *_: str) -> None:
        """Leave global memory as it is."""

    def _atomg(self, i: Instruction, out: str, to: str, at: str, value: str, *_: str) -> None:
        if "CAS" not in i.parts:
            raise Unknown(i.name)
        # As if nobody else had been there.
        self.set(to, self.wide(value) if "64" in i.parts else self.word(value))

    def _global(self, address: Values, width: int) -> list[tuple[Values, Any, Values]]:
        """The allocations that these addresses are in: memory, which of them, and offsets."""
        index = np.searchsorted(self.begins, address, "right").astype(np.int64) - 1
        pieces = []
        for n in np.unique(index):
            those = index == n
            begin, nbytes = self.memory[n] if n >= 0 else (0, 0)
            offsets = (address[those] - _U64(begin)).astype(np.int64)
            if n < 0 or offsets.max() + width > nbytes:
                raise Unknown(f"a load of {width} bytes outside all memory")
            room = -(-nbytes // 16) * 16
            memory: Values = np.ctypeslib.as_array((ctypes.c_uint8 * room).from_address(begin))
            pieces.append((memory, those, offsets))
        return pieces

    def _shared(self, address: Values, which: Values) -> Values:
        """Return offsets into the shared memory of all blocks for these threads."""
        address = address & _LOW  # of 32 bits, so that registers may be negative
        if address.size and (address.min() < _SHARED or address.max() >= _SHARED_BYTES):
            raise Unknown("shared memory outside of a block's")
        offset: Values = self.slot[which] * _SHARED_BYTES + address.astype(np.int64)
        return offset


_END = -1
_NOTHING = frozenset(("BSSY", "BSYNC", "BREAK", "WARPSYNC", "NOP", "YIELD", "MEMBAR", "ERRBAR"))

_COMPARE: dict[str, Callable[[Values, Values], Values]] = {
    "EQ": operator.eq, "NE": operator.ne, "LT": operator.lt,
    "LE": operator.le, "GT": operator.gt, "GE": operator.ge,
}  # fmt: skip
_JOIN = {"AND": operator.and_, "OR": operator.or_, "XOR": operator.xor}
_SPECIAL: dict[str, Callable[[Values], Values]] = {
    "RCP": lambda x: 1 / x,
    "RSQ": lambda x: 1 / np.sqrt(x),
    "SQRT": np.sqrt,
    "EX2": np.exp2,
    "LG2": np.log2,
}


def _is_predicate(text: str) -> bool:
    return re.fullmatch(r"!?U?P(\d|T)", text) is not None


def _further(register: str, count: int) -> str:
    """The register that follows so many places behind."""
    kind = register.rstrip("0123456789")
    return register if kind == register else f"{kind}{int(register[len(kind) :]) + count}"


def _width(parts: Sequence[str]) -> int:
    widths = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}
    return next((widths[p] for p in parts[1:] if p in widths), 4)


def _integer(parts: Sequence[str]) -> Any:
    kinds = {"U32": _U32, "S32": np.int32, "U64": _U64, "S64": np.int64}
    return next((kinds[p] for p in parts if p in kinds), np.int32)


def _gathered(memory: Values, at: Values, width: int) -> Values:
    kind = np.dtype(f"u{width}")
    whole: Values = memory[: memory.size // width * width].view(kind)
    words: Values = whole[at // width].astype(_U32)
    return words


def _looked_up(code: int, x: Values, y: Values, z: Values) -> Values:
    """The bitwise function of three operands that a table of 8 bits says."""
    result = np.zeros(1, x.dtype)
    for n in range(8):
        if code >> n & 1:
            term = (x if n & 4 else ~x) & (y if n & 2 else ~y) & (z if n & 1 else ~z)
            result = result | term
    return result


def _fused(x: Values, y: Values, z: Values) -> Values:
    """``x * y + z`` with one rounding, nearly always."""
    product = x * y
    a, b = _halves(x), _halves(y)
    error = ((a[0] * b[0] - product) + a[0] * b[1] + a[1] * b[0]) + a[1] * b[1]
    total = product + z
    part = total - product
    error = error + ((product - (total - part)) + (z - part))
    return np.where(np.isfinite(error), total + error, total)


def _halves(x: Values) -> tuple[Values, Values]:
    scaled = 134217729.0 * x
    high = scaled - (scaled - x)
    return high, x - high


def _float16(x: Values) -> Values:
    return x.astype(np.float16).view(np.uint16).astype(_U32)


def _bfloat16(x: Values) -> Values:
    bits = x.view(_U32)
    even = (bits + _U32(0x7FFF) + (bits >> _U32(16) & _U32(1))) >> _U32(16)
    rounded: Values = np.where(np.isnan(x), _U32(0x7FFF), even)
    return rounded
