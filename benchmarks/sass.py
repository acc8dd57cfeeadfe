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
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[Any]
Source = Callable[[], Values]
Step = Callable[[Values], "int | list[tuple[int, Values]] | None"]

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

    @property
    def parts(self) -> list[str]:
        return self.name.split(".")


_LINE = re.compile(r"^\s+/\*([0-9a-f]{4,})\*/\s+(?:@(!?U?P\w+) )?\s*([A-Z][\w.]*)\s*(.*?)\s*;")
_LABEL = re.compile(r"^\s*([$.\w]+):")


def parsed(text: str) -> tuple[list[Instruction], dict[str, int]]:
    """The instructions of ``nvdisasm -c``, of one section, and where each label is."""
    found: list[Instruction] = []
    waiting: list[str] = []
    labels: dict[str, int] = {}
    for line in text.splitlines():
        if label := _LABEL.match(line):
            waiting.append(label[1])
        elif match := _LINE.match(line):
            address, guard, name, rest = match.groups()
            rest = re.sub(r"\(\*.*", "", rest)
            operands = tuple(each.strip() for each in rest.split(",") if each.strip())
            found.append(Instruction(int(address, 16), guard or "", name, operands))
            labels.update(dict.fromkeys(waiting, int(address, 16)))
            waiting = []
    return found, labels


def sections(cubin: bytes) -> dict[str, bytes]:
    """The sections of an ELF file, by name."""
    (first,) = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names = struct.unpack_from("<3H", cubin, 0x3A)
    rows = [struct.unpack_from("<2I4Q", cubin, first + n * size) for n in range(count)]
    strings = rows[names][4]
    found = {}
    for name, kind, _, _, offset, nbytes in rows:
        end = cubin.index(b"\0", strings + name)
        text = cubin[strings + name : end].decode()
        found[text] = b"" if kind == 8 else cubin[offset : offset + nbytes]
    return found


@dataclass
class Ran:
    """What came of some blocks.

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
        self.instructions, self.labels = code
        self.threads = THREADS * len(blocks)
        self.rows: dict[str, Values] = {}
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
        self.index = {each.address: n for n, each in enumerate(self.instructions)}
        self.steps: dict[int, tuple[Step, str, frozenset[str]]] = {}

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
                for target, those in self._step(at, mask):
                    into = waiting if target < 0 else going
                    place = abs(target)
                    into[place] = into[place] | those if place in into else those
            else:
                raise Unknown(f"no end within {most} steps")
        self.ran.waits += bool(self.pending)
        return self.ran

    def _step(self, at: int, mask: Values) -> Iterator[tuple[int, Values]]:
        instruction = self.instructions[self.index[at]]
        if at not in self.steps:
            self.steps[at] = self._made(instruction)
        step, guard, touched = self.steps[at]
        warps = mask.reshape(len(self.ran.issued), -1, LANES).any(2)
        self.ran.issued += warps.sum(1)
        if self.pending & touched:
            self.pending.clear()
            self.ran.waits += 1
        active = mask & self.predicate(guard)() if guard else mask
        if instruction.name.startswith("LDG") and active.any():
            self.ran.loads += 1
            self.pending |= set(self._registers(instruction.operands[0], instruction))
        result = step(active)
        after = at + 16
        if isinstance(result, list):
            rest = mask
            for target, those in result:
                rest = rest & ~those
                if those.any() and target != _END:
                    yield target, those
            if rest.any():
                yield after, rest
        else:
            yield after, mask

    def _registers(self, operand: str, instruction: Instruction) -> list[str]:
        width = max(1, _width(instruction.parts) // 4)
        if not re.fullmatch(r"R\d+", operand):
            return []
        return [f"R{int(operand[1:]) + n}" for n in range(width)]

    # ---- Operands

    def row(self, name: str) -> Values:
        """The values of a register or predicate, of each thread."""
        if name not in self.rows:
            made = np.zeros(self.threads, bool if "P" in name else _U32)
            if name in ("PT", "UPT"):
                made[:] = True
            self.rows[name] = made
        return self.rows[name]

    def predicate(self, text: str) -> Source:
        if text.startswith("!"):
            row = self.row(text[1:])
            return lambda: ~row
        row = self.row(text)
        return lambda: row

    def word(self, text: str, part: int = 0) -> Source:
        """32 bits: a register (`part` further), a number, or a constant; negated, inverted."""
        text = text.replace(".reuse", "")
        if text.startswith("-") and not re.match(r"-(0x|\d)", text):
            of = self.word(text[1:], part)
            return lambda: (~of() + _U32(1)).astype(_U32)
        if text.startswith("~"):
            of = self.word(text[1:], part)
            return lambda: ~of()
        if text.startswith("|"):
            of = self.word(text.strip("|"), part)
            return lambda: np.abs(of().view(np.int32)).view(_U32)
        if text.startswith("c["):
            return self.constant(text, 4 * part)
        if match := re.fullmatch(r"(U?R)(\d+|Z)(?:\.64)?", text):
            kind, number = match.groups()
            row = self.row("RZ" if number == "Z" else f"{kind}{int(number) + part}")
            return lambda: row
        if re.fullmatch(r"-?0x[0-9a-f]+|-?\d+", text):
            value = np.array([int(text, 0) >> 32 * part & 0xFFFFFFFF], _U32)
            return lambda: value
        if text == "SRZ":
            return self.word("RZ")
        raise Unknown(text)

    def constant(self, text: str, further: int = 0, width: int = 4) -> Source:
        match = re.fullmatch(r"c\[(0x\w+)\]\[(.*)\]", text)
        if not match:
            raise Unknown(text)
        bank = self.banks.get(int(match[1], 16))
        if bank is None:
            raise Unknown(text)
        terms = [self.word(each) for each in re.sub(r"\+-", "+-", match[2]).split("+")]

        def read() -> Values:
            at = sum((t().astype(np.int64) for t in terms), np.zeros(1, np.int64)) & 0xFFFFFFFF
            at = np.minimum(at, len(bank) - 16) + further  # of threads that take no part
            return _gathered(bank, at, width)

        if all(re.fullmatch(r"-?0x\w+", each) for each in match[2].split("+")):
            kept = read()
            return lambda: kept
        return read

    def wide(self, text: str) -> Source:
        """64 bits: two registers, or a number."""
        text = text.replace(".reuse", "")
        if text.startswith("-") and "R" in text:
            of = self.wide(text[1:])
            return lambda: (~of() + _U64(1)).astype(_U64)
        low, high = self.word(text), self.word(text, 1)
        return lambda: low().astype(_U64) | high().astype(_U64) << _32

    def real(self, text: str, double: bool = False) -> Source:
        """A float."""
        kind: Any = np.float64 if double else np.float32
        text = text.replace(".reuse", "")
        if re.match(r"-?\|?(R|UR|c\[)", text):
            if text.startswith("-"):
                of = self.real(text[1:], double)
                return lambda: -of()
            if text.startswith("|"):
                of = self.real(text.strip("|"), double)
                return lambda: np.abs(of())
            bits = self.wide(text) if double else self.word(text)
            return lambda: bits().view(kind)
        value = np.array([float(text.replace("QNAN", "nan").replace("INF", "inf"))], kind)
        return lambda: value

    def half(self, text: str) -> Source:
        high = ".H1_H1" in text
        of = self.word(re.sub(r"\.H\d_H\d", "", text).lstrip("-"))
        shift = _U32(16 if high else 0)
        return lambda: (of() >> shift & _U32(0xFFFF)).astype(np.uint16).view(np.float16)

    def address(self, text: str) -> Source:
        """An address of memory, as 64 bits."""
        match = re.search(r"\[([^\[\]]*)\]$", text)
        if not match:
            raise Unknown(text)
        terms: list[Source] = []
        for each in match[1].split("+"):
            if each.endswith(".64"):
                terms.append(self.wide(each[:-3]))
            elif scaled := re.fullmatch(r"(R\w+)\.X(\d+)", each):
                terms.append(self._scaled(scaled[1], int(scaled[2])))
            else:
                terms.append(self._term(each))
        return lambda: sum((t() for t in terms), np.zeros(self.threads, _U64)).astype(_U64)

    def _scaled(self, text: str, by: int) -> Source:
        of = self.word(text)
        return lambda: of().astype(_U64) * _U64(by)

    def _term(self, text: str) -> Source:
        if re.fullmatch(r"-?0x\w+", text):
            number = np.array([int(text, 16) & 2**64 - 1], _U64)
            return lambda: number
        of = self.word(text)
        return lambda: of().astype(_U64)

    def set(self, text: str, mask: Values, value: Values) -> None:
        """Write a register of these threads; a pair of 64 bits."""
        text = text.replace(".reuse", "")
        if text in ("RZ", "URZ", "PT", "UPT"):
            return
        value = np.asarray(value)
        if value.dtype == bool:
            np.copyto(self.row(text), value, where=mask)
            return
        if value.dtype.itemsize == 8:
            bits = value.view(_U64)
            kind, number = ("UR", text[2:]) if text[0] == "U" else ("R", text[1:])
            high = (bits >> _32).astype(_U32)
            np.copyto(self.row(text), (bits & _LOW).astype(_U32), where=mask)
            np.copyto(self.row(f"{kind}{int(number) + 1}"), high, where=mask)
            return
        np.copyto(self.row(text), value.view(_U32), where=mask)

    # ---- Instructions

    def _made(self, i: Instruction) -> tuple[Step, str, frozenset[str]]:
        base = i.parts[0]
        base = base[1:] if base[0] == "U" and base not in ("UNKNOWN",) else base
        make = getattr(self, f"_{base.lower()}", None)
        touched = {f"R{int(n)}" for n in re.findall(r"\bR(\d+)", " ".join(i.operands))}
        if i.name in _NOTHING or base in _NOTHING:
            return (lambda _: None), i.guard, frozenset()
        if make is None:
            raise Unknown(f"{i.name} {', '.join(i.operands)}")
        step: Step = make(i, *i.operands)
        return step, i.guard, frozenset(touched)

    def _computed(self, to: str, compute: Source) -> Step:
        return lambda mask: self.set(to, mask, compute())

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

    def _imad(self, i: Instruction, *_: str) -> Step:
        to, out, (a, b, c), into = self._split(i)
        parts = i.parts
        if "WIDE" in parts or "HI" in parts:
            signed = "U32" not in parts
            kind: Any = np.int32 if signed else _U32
            x, y, z = self.word(a), self.word(b), self.wide(c)

            def product(mask: Values) -> None:
                high = np.int64 if signed else _U64
                times = (x().view(kind).astype(high) * y().view(kind).astype(high)).astype(_U64)
                total = times + z()
                if into:
                    total = total + self.predicate(into[0])().astype(_U64)
                carry = total < times
                self.set(to, mask, (total >> _32).astype(_U32) if "HI" in parts else total)
                for each in out[:1]:
                    self.set(each, mask, carry)

            return product
        x, y, z = self.word(a), self.word(b), self.word(c)
        carry = self.predicate(into[0]) if into else None
        if carry:
            return self._computed(to, lambda: x() * y() + z() + carry().astype(_U32))
        return self._computed(to, lambda: x() * y() + z())

    def _added(self, text: str) -> Source:
        """A term as a sum with carries takes it: a negative number is the inverse and 1."""
        if re.match(r"-(U?R|c\[)", text):
            of = self.word(text[1:])
            return lambda: (~of()).astype(_U64) + _U64(1)
        of = self.word(text)
        return lambda: of().astype(_U64)

    def _iadd3(self, i: Instruction, *_: str) -> Step:
        to, out, sources, into = self._split(i)
        terms = [self._added(each) for each in sources]
        carries = [self.predicate(each) for each in into] if "X" in i.parts else []

        def step(mask: Values) -> None:
            total = sum((t() for t in (*terms, *carries)), np.zeros(1, _U64))
            self.set(to, mask, (total & _LOW).astype(_U32))
            over = total >> _32
            for number, each in enumerate(out):
                self.set(each, mask, over > _U64(number))

        return step

    def _viadd(self, i: Instruction, to: str, a: str, b: str) -> Step:
        x, y = self.word(a), self.word(b)
        return self._computed(to, lambda: x() + y())

    def _vimnmx(self, i: Instruction, to: str, *rest: str) -> Step:
        return self._least(i, to, self.word(rest[0]), self.word(rest[1]), rest[2])

    def _viaddmnmx(self, i: Instruction, to: str, a: str, b: str, c: str, least: str) -> Step:
        x, y = self.word(a), self.word(b)
        return self._least(i, to, lambda: x() + y(), self.word(c), least)

    def _least(self, i: Instruction, to: str, x: Source, y: Source, least: str) -> Step:
        kind: Any = _U32 if "U32" in i.parts else np.int32
        which = self.predicate(least)

        def compute() -> Values:
            a, b = x().view(kind), y().view(kind)
            found = np.where(which(), np.minimum(a, b), np.maximum(a, b))
            return np.asarray(np.maximum(found, 0) if "RELU" in i.parts else found, kind)

        return self._computed(to, compute)

    def _iabs(self, i: Instruction, to: str, a: str) -> Step:
        x = self.word(a)
        return self._computed(to, lambda: np.abs(x().view(np.int32)))

    def _lea(self, i: Instruction, *_: str) -> Step:
        to, out, sources, into = self._split(i)
        a, b, *middle, shift = sources
        x, y, by = self.word(a.lstrip("-")), self._added(b), _U64(int(shift, 0))
        carry = self.predicate(into[0]) if "X" in i.parts else None
        if "SX32" in i.parts:
            high: Source = lambda: x().view(np.int32).astype(np.int64).view(_U64)  # noqa: E731
        elif "HI" in i.parts:
            upper = self.word(middle[0])
            high = lambda: x().astype(_U64) | upper().astype(_U64) << _32  # noqa: E731
        else:
            high = lambda: x().astype(_U64)  # noqa: E731

        def step(mask: Values) -> None:
            shifted = high() << by
            shifted = shifted >> _32 if "HI" in i.parts else shifted
            shifted = shifted & _LOW
            if a.startswith("-"):
                shifted = (~shifted & _LOW) + _U64(1)
            total = shifted + y() + (carry().astype(_U64) if carry else _U64(0))
            self.set(to, mask, (total & _LOW).astype(_U32))
            for each in out[:1]:
                self.set(each, mask, total >> _32 > _U64(0))

        return step

    def _isetp(self, i: Instruction, to: str, other: str, a: str, b: str, *preds: str) -> Step:
        compare, join = i.parts[1], next(p for p in i.parts if p in ("AND", "OR", "XOR"))
        kind: Any = _U32 if "U32" in i.parts else np.int32
        x, y, more = self.word(a), self.word(b), self.predicate(preds[0])
        lower = self.predicate(preds[1]) if "EX" in i.parts else None

        def step(mask: Values) -> None:
            p, q = x().view(kind), y().view(kind)
            found = _COMPARE[compare](p, q)
            if lower is not None:
                strict = {"GE": operator.gt, "LE": operator.lt}.get(compare, _COMPARE[compare])
                found = {"EQ": found & lower(), "NE": found | lower()}.get(
                    compare, strict(p, q) | (p == q) & lower()
                )
            self._join(join, found, more(), to, other, mask)

        return step

    def _join(self, how: str, found: Values, more: Values, to: str, other: str, m: Values) -> None:
        two = _JOIN[how](found, more), _JOIN[how](~found, more)
        self.set(to, m, two[0])
        self.set(other, m, two[1])

    def _fsetp(self, i: Instruction, to: str, other: str, a: str, b: str, more: str) -> Step:
        double = i.name.startswith("D")
        compare, join = i.parts[1], next(p for p in i.parts if p in ("AND", "OR", "XOR"))
        x, y, also = self.real(a, double), self.real(b, double), self.predicate(more)

        def step(mask: Values) -> None:
            p, q = x(), y()
            unordered = np.isnan(p) | np.isnan(q)
            if compare in ("NAN", "NUM"):
                found = unordered if compare == "NAN" else ~unordered
            elif compare.endswith("U"):
                found = _COMPARE[compare[:-1]](p, q) | unordered
            else:
                found = _COMPARE[compare](p, q) & ~unordered
            self._join(join, found, also(), to, other, mask)

        return step

    _dsetp = _fsetp

    def _lop3(self, i: Instruction, *_: str) -> Step:
        operands = list(i.operands)
        out = operands.pop(0) if _is_predicate(operands[0]) else ""
        to, a, b, c, table = operands[:5]
        x, y, z, code = self.word(a), self.word(b), self.word(c), int(table, 0)

        def step(mask: Values) -> None:
            found = _looked_up(code, x(), y(), z())
            self.set(to, mask, found)
            if out:
                self.set(out, mask, found != 0)

        return step

    def _plop3(self, i: Instruction, to: str, other: str, *rest: str) -> Step:
        sources, codes = [self.predicate(p) for p in rest[:3]], [int(t, 0) for t in rest[3:]]

        def step(mask: Values) -> None:
            values = [of() for of in sources]
            for each, code in zip((to, other), codes, strict=True):
                self.set(each, mask, _looked_up(code, *values))

        return step

    def _shf(self, i: Instruction, to: str, low: str, by: str, high: str) -> Step:
        x, s, y = self.word(low), self.word(by), self.word(high)
        signed, upper, left = i.parts[2].startswith("S"), "HI" in i.parts, i.parts[1] == "L"
        kind: Any = np.int64 if signed else _U64
        narrow = i.parts[2].endswith("32")

        def compute() -> Values:
            both = x().astype(_U64) | y().astype(_U64) << _32
            most = 32 if narrow else 63
            count = np.minimum(s() & _U32(31) if "W" in i.parts else s(), most).astype(_U64)
            moved = both << count if left else both.view(kind) >> count.astype(kind)
            return ((moved.view(_U64) >> _32 if upper else moved.view(_U64)) & _LOW).astype(_U32)

        return self._computed(to, compute)

    def _prmt(self, i: Instruction, to: str, a: str, selector: str, b: str) -> Step:
        x, s, y = self.word(a), self.word(selector), self.word(b)

        def compute() -> Values:
            both = x().astype(_U64) | y().astype(_U64) << _32
            chosen, found = s().astype(_U64), np.zeros(1, _U64)
            for byte in range(4):
                nibble = chosen >> _U64(4 * byte)
                value = both >> (nibble & _U64(7)) * _U64(8) & _U64(0xFF)
                spread = np.where(value & _U64(0x80), _U64(0xFF), _U64(0))
                value = np.where(nibble & _U64(8), spread, value)
                found = found | value << _U64(8 * byte)
            return found.astype(_U32)

        return self._computed(to, compute)

    def _sel(self, i: Instruction, to: str, a: str, b: str, which: str) -> Step:
        of = self.real if i.name.startswith("F") else self.word
        x, y, p = of(a), of(b), self.predicate(which)
        return self._computed(to, lambda: np.where(p(), x(), y()))

    _fsel = _sel

    def _mov(self, i: Instruction, to: str, a: str, *_: str) -> Step:
        return self._computed(to, self.word(a))

    _r2ur = _mov

    def _cs2r(self, i: Instruction, to: str, a: str) -> Step:
        if a != "SRZ":
            raise Unknown(a)
        zero = np.zeros(1, _U32 if "32" in i.parts else _U64)
        return self._computed(to, lambda: zero)

    def _s2r(self, i: Instruction, to: str, a: str) -> Step:
        thread = np.arange(self.threads, dtype=_U32) % _U32(THREADS)
        known = {"SR_TID.X": thread, "SR_CTAID.X": self.block, "SR_LANEID": thread % _U32(LANES),
                 "SR_CgaCtaId": np.zeros(1, _U32)}  # fmt: skip
        if a not in known:
            raise Unknown(a)
        return self._computed(to, lambda: known[a])

    _s2ur = _s2r

    def _p2r(self, i: Instruction, to: str, _: str, a: str, mask: str) -> Step:
        x, bits, first = self.word(a), int(mask, 0), 8 if "B1" in i.parts else 0

        def compute() -> Values:
            found = x() & _U32(~(bits << first) & 0xFFFFFFFF)
            for n in range(7):
                if bits >> n & 1:
                    found = found | self.row(f"P{n}").astype(_U32) << _U32(n + first)
            return found

        return self._computed(to, compute)

    def _r2p(self, i: Instruction, _: str, a: str, bits: str) -> Step:
        shift = _U32(8 if a.endswith(".B1") else 0)
        x, which = self.word(a.replace(".reuse", "").removesuffix(".B1")), int(bits, 0)

        def step(mask: Values) -> None:
            for n in range(7):
                if which >> n & 1:
                    self.set(f"P{n}", mask, (x() >> _U32(n) + shift & _U32(1)).astype(bool))

        return step

    def _voteu(self, i: Instruction, to: str, a: str) -> Step:
        if "ALL" not in i.parts:
            raise Unknown(i.name)
        x = self.predicate(a)

        def step(mask: Values) -> None:
            fine = (x() | ~mask).reshape(-1, LANES).all(1)
            self.set(to, mask, np.repeat(fine, LANES))

        return step

    # ---- Where to go on

    def _bra(self, i: Instruction, *operands: str) -> Step:
        *also, label = operands
        target = self.labels[label.strip("`()")]
        conditions = [self.predicate(each) for each in also]

        def step(mask: Values) -> list[tuple[int, Values]]:
            for each in conditions:
                mask = mask & each()
            return [(target, mask)]

        return step

    _call = _bra

    def _exit(self, i: Instruction, *operands: str) -> Step:
        return lambda mask: [(_END, mask)]

    def _ret(self, i: Instruction, register: str, label: str = "") -> Step:
        text, *_ = register.split()
        return self._jump(self.word(text), 0)

    def _brx(self, i: Instruction, text: str) -> Step:
        register, offset = text.split()[:2]
        return self._jump(self.word(register), i.address + 16 + int(offset, 16))

    def _jump(self, of: Source, further: int) -> Step:
        def step(mask: Values) -> list[tuple[int, Values]]:
            places = of().astype(np.int64) + further
            return [(int(p), mask & (places == p)) for p in np.unique(places[mask])]

        return step

    def _bar(self, i: Instruction, *operands: str) -> Step:
        return lambda mask: [(-(i.address + 16), mask)]

    # ---- Floats

    def _fadd(self, i: Instruction, to: str, a: str, b: str) -> Step:
        how = {"ADD": operator.add, "MUL": operator.mul}[i.parts[0][1:]]
        double = i.name[0] == "D"
        x, y = self.real(a, double), self.real(b, double)
        return self._computed(to, lambda: how(x(), y()))

    _fmul = _dadd = _dmul = _fadd

    def _ffma(self, i: Instruction, to: str, a: str, b: str, c: str) -> Step:
        x, y, z = self.real(a), self.real(b), self.real(c)
        wide = np.float64
        return self._computed(
            to, lambda: (x().astype(wide) * y() + z().astype(wide)).astype(np.float32)
        )

    def _dfma(self, i: Instruction, to: str, a: str, b: str, c: str) -> Step:
        x, y, z = (self.real(each, True) for each in (a, b, c))
        return self._computed(to, lambda: _fused(x(), y(), z()))

    def _fmnmx(self, i: Instruction, to: str, a: str, b: str, least: str) -> Step:
        x, y, which = self.real(a), self.real(b), self.predicate(least)
        return self._computed(to, lambda: np.where(which(), np.fmin(x(), y()), np.fmax(x(), y())))

    def _mufu(self, i: Instruction, to: str, a: str) -> Step:
        if (how := i.parts[1]).endswith("64H"):
            x = self.word(a)
            of = _SPECIAL[how[:3]]

            def upper() -> Values:
                full = (x().astype(_U64) << _32).view(np.float64)
                return (of(full).view(_U64) >> _32).astype(_U32)

            return self._computed(to, upper)
        y, special = self.real(a), _SPECIAL[how]
        return self._computed(to, lambda: special(y().astype(np.float64)).astype(np.float32))

    def _fchk(self, i: Instruction, to: str, a: str, b: str) -> Step:
        x, y = self.real(a), self.real(b)

        def hard() -> Values:
            p, q = np.abs(x()), np.abs(y())
            quotient = p.astype(np.float64) / q
            easy = (q > 2.0**-126) & (q < 2.0**126) & (p > 2.0**-100)
            return ~(easy & (quotient > 2.0**-100) & (quotient < 2.0**126))

        return self._computed(to, hard)

    def _f2f(self, i: Instruction, to: str, a: str) -> Step:
        kinds = {"F64": np.float64, "F32": np.float32}
        if not set(i.parts[1:3]) <= set(kinds):
            raise Unknown(i.name)
        x, kind = self.real(a, i.parts[2] == "F64"), kinds[i.parts[1]]
        return self._computed(to, lambda: x().astype(kind))

    def _f2fp(self, i: Instruction, to: str, a: str, b: str) -> Step:
        x, y = self.real(a), self.real(b)
        narrow = _bfloat16 if "BF16" in i.parts else _float16
        return self._computed(to, lambda: narrow(x()) << _U32(16) | narrow(y()))

    def _hadd2(self, i: Instruction, to: str, a: str, b: str) -> Step:
        if "F32" not in i.parts or a != "-RZ":
            raise Unknown(i.name)
        y = self.half(b)
        return self._computed(to, lambda: y().astype(np.float32))

    def _hfma2(self, i: Instruction, to: str, a: str, b: str, c: str, d: str) -> Step:
        if (a, b) != ("-RZ", "RZ"):
            raise Unknown(i.name)
        high, low = (np.array([float(x)], np.float16).view(np.uint16) for x in (c, d))
        value = high.astype(_U32) << _U32(16) | low
        return self._computed(to, lambda: value)

    def _i2f(self, i: Instruction, to: str, a: str) -> Step:
        kind = _integer(i.parts)
        x = self.wide(a) if np.dtype(kind).itemsize == 8 else self.word(a)
        into: Any = np.float64 if "F64" in i.parts else np.float32
        return self._computed(to, lambda: x().view(kind).astype(into))

    _i2fp = _i2f

    def _f2i(self, i: Instruction, to: str, a: str) -> Step:
        kind = _integer(i.parts)
        x = self.real(a, "F64" in i.parts)
        most = np.iinfo(kind)

        def compute() -> Values:
            whole = np.trunc(np.nan_to_num(x().astype(np.float64)))
            top = np.nextafter(float(most.max) + 1, 0)
            return np.clip(whole, float(most.min), top).astype(kind)

        return self._computed(to, compute)

    # ---- Memory

    def _ldc(self, i: Instruction, to: str, text: str) -> Step:
        width = _width(i.parts)
        if width == 8:
            low, high = self.constant(text), self.constant(text, 4)
            return self._computed(to, lambda: low().astype(_U64) | high().astype(_U64) << _32)
        return self._computed(to, self.constant(text, 0, width))

    def _ldg(self, i: Instruction, to: str, *rest: str) -> Step:
        return self._lds(i, to, rest[-1])

    def _lds(self, i: Instruction, to: str, at: str) -> Step:
        address, width, everywhere = self.address(at), _width(i.parts), i.parts[0] == "LDG"
        signed = {"S8": np.int8, "S16": np.int16}.get(i.parts[-1])
        first = 0 if to == "RZ" else int(to[1:])

        def step(mask: Values) -> None:
            which = np.flatnonzero(mask)
            at = address()[which]
            pieces = (
                self._global(at, width)
                if everywhere
                else ((self.shared, which, self._shared(at, which)),)
            )
            for memory, those, offsets in pieces:
                threads = which[those] if everywhere else which
                for word in range(max(1, width // 4)):
                    found = _gathered(memory, offsets + 4 * word, min(width, 4))
                    if signed is not None:
                        found = found.astype(signed).astype(np.int32).view(_U32)
                    self.row(f"R{first + word}")[threads] = found

        return step

    def _stg(self, i: Instruction, at: str, value: str) -> Step:
        address, width, everywhere = self.address(at), _width(i.parts), i.parts[0] == "STG"
        words = [self.word(value, n if value != "RZ" else 0) for n in range(max(1, width // 4))]
        kind = np.dtype(f"u{min(width, 4)}")

        def step(mask: Values) -> None:
            which = np.flatnonzero(mask)
            if not which.size:
                return
            to = address()[which]
            offsets = to if everywhere else self._shared(to, which)
            for n, word in enumerate(words):
                values = np.broadcast_to(word(), mask.shape)[which].astype(kind)
                if everywhere:
                    self.ran.stores.append((offsets + _U64(4 * n), values))
                else:
                    self.shared.view(kind)[(offsets + 4 * n) // kind.itemsize] = values

        return step

    _sts = _stg

    def _atoms(self, i: Instruction, to: str, at: str) -> Step:
        if (i.name, to) != ("ATOMS.POPC.INC.32", "RZ"):
            raise Unknown(f"{i.name} {to}")
        address = self.address(at)

        def step(mask: Values) -> None:
            which = np.flatnonzero(mask)
            offsets = self._shared(address()[which], which)
            np.add.at(self.shared.view(_U32), offsets // 4, _U32(1))

        return step

    def _redg(self, i: Instruction, *_: str) -> Step:
        return lambda mask: None

    def _atomg(self, i: Instruction, out: str, to: str, at: str, *values: str) -> Step:
        if "CAS" not in i.parts:
            raise Unknown(i.name)
        x = self.wide(values[0]) if "64" in i.parts else self.word(values[0])
        return self._computed(to, x)  # as if nobody else had been there

    def _global(self, address: Values, width: int) -> Iterator[tuple[Values, Any, Values]]:
        found = np.searchsorted(self.begins, address, "right").astype(np.int64) - 1
        for n in np.unique(found):
            those = found == n
            begin, nbytes = self.memory[n] if n >= 0 else (0, 0)
            offsets = (address[those] - _U64(begin)).astype(np.int64)
            if n < 0 or offsets.max() + width > nbytes:
                raise Unknown(f"a load of {width} bytes outside all memory")
            room = -(-nbytes // 16) * 16
            memory: Values = np.ctypeslib.as_array((ctypes.c_uint8 * room).from_address(begin))
            yield memory, those, offsets

    def _shared(self, address: Values, which: Values) -> Values:
        """Where in the memory of all blocks this is, for these threads."""
        address = address & _LOW  # of 32 bits, so that registers may be negative
        if address.size and (address.min() < _SHARED or address.max() >= _SHARED_BYTES):
            raise Unknown("shared memory outside of a block's")
        found: Values = self.slot[which] * _SHARED_BYTES + address.astype(np.int64)
        return found


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


def _width(parts: Sequence[str]) -> int:
    widths = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}
    return next((widths[p] for p in parts[1:] if p in widths), 4)


def _integer(parts: Sequence[str]) -> Any:
    kinds = {"U32": _U32, "S32": np.int32, "U64": _U64, "S64": np.int64}
    return next((kinds[p] for p in parts if p in kinds), np.int32)


def _gathered(memory: Values, at: Values, width: int) -> Values:
    kind = np.dtype(f"u{width}")
    whole: Values = memory[: memory.size // width * width].view(kind)
    found: Values = whole[at // width].astype(_U32)
    return found


def _looked_up(code: int, x: Values, y: Values, z: Values) -> Values:
    """The bitwise function of three operands that a table of 8 bits says."""
    found = np.zeros(1, x.dtype)
    for n in range(8):
        if code >> n & 1:
            term = (x if n & 4 else ~x) & (y if n & 2 else ~y) & (z if n & 1 else ~z)
            found = found | term
    return found


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
    found: Values = np.where(np.isnan(x), _U32(0x7FFF), even)
    return found
