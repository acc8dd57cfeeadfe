"""Instructions that access memory, and counts of them."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.sass.code import Instruction, Unknown
from benchmarks.sass.operands import (
    LANES,
    LOW,
    U32,
    U64,
    Operands,
    Values,
    further,
    gathered,
    width_of,
)

# Where shared memory begins in its own address space; threads have so much local memory.
_SHARED = 0x400
_LOCAL_BYTES = 8192
# The upper halves of generic addresses of shared and local memory; no memory of the host is there.
SHARED_WINDOW, LOCAL_WINDOW = 0x700000, 0x700001
_SECTOR_BITS = U64(5)


@dataclass
class Ran:
    """Counts of the blocks that were run.

    Attributes:
        issued: by warps, of each block.
        loads: from global memory, of a warp; `waits`: how often results of any were waited for.
        stores: addresses and words, as they were stored to global memory.
        loaded, stored: sectors of 32 bytes, of all blocks; one that a block accesses several times
            counts once.
        lines: of the source, of all instructions in which any thread took part.

    """

    issued: Values
    loads: int = 0
    waits: int = 0
    stores: list[tuple[Values, Values]] = field(default_factory=list)
    loaded: Values = field(default_factory=lambda: np.zeros(1, np.int64))
    stored: Values = field(default_factory=lambda: np.zeros(1, np.int64))
    lines: set[str] = field(default_factory=set)


class Memory(Operands):
    """Instructions that access memory, and counts of them."""

    ran: Ran

    def prepare_memory(
        self, memory: Sequence[tuple[int, int]], slot: Values, shared: int, keeps: bool
    ) -> None:
        """Take the allocations of global memory, and the place of each thread's block."""
        self.memory = sorted(memory)
        self.begins = np.array([begin for begin, _ in self.memory], U64)
        self.slot, self.keeps = slot, keeps
        self.shared_bytes = -(-shared // 16) * 16 + _SHARED
        self.shared = np.zeros((int(slot[-1]) + 1) * self.shared_bytes + 16, np.uint8)
        self.local: Values | None = None
        self.pending: set[str] = set()
        self._touched: dict[str, list[Values]] = {"loaded": [], "stored": []}

    def _ldc(self, i: Instruction, to: str, text: str) -> None:
        width = width_of(i.parts)
        self.set(to, self.wide(text) if width == 8 else self.constant(text, width=width))

    def _lds(self, i: Instruction, to: str, *rest: str) -> None:
        which, width = np.flatnonzero(self.mask), width_of(i.parts)
        if not which.size:
            return
        names = [further(to, n) for n in range(max(1, width // 4)) if to != "RZ"]
        at = self.address(rest[-1])[which]
        if i.base in ("LDG", "LD"):
            self.ran.loads += 1
            self.pending |= set(names)
        pieces = self._pieces(i, at, which, width)
        signed = next((_SIGNED[part] for part in i.parts[1:] if part in _SIGNED), None)
        for memory, those, offsets in pieces:
            for n, name in enumerate(names):
                result = gathered(memory, offsets + 4 * n, min(width, 4))
                if signed is not None:
                    result = result.astype(signed).astype(np.int32).view(U32)
                self.row(name)[which[those]] = result

    _ldg = _ld = _ldl = _lds

    def _stg(self, i: Instruction, at: str, value: str) -> None:
        which, width = np.flatnonzero(self.mask), width_of(i.parts)
        if not which.size:
            return
        kind, address = np.dtype(f"u{min(width, 4)}"), self.address(at)[which]
        listed = i.base in ("STG", "ST") and not self.keeps
        pieces = [] if listed else self._pieces(i, address, which, width)
        if listed:
            self._touch("stored", address, which)
        for n in range(max(1, width // 4)):
            values = np.broadcast_to(self.word(value, n), self.mask.shape)[which].astype(kind)
            if listed:
                self.ran.stores.append((address + U64(4 * n), values))
            for memory, those, offsets in pieces:
                words = memory[: memory.size // kind.itemsize * kind.itemsize].view(kind)
                words[(offsets + 4 * n) // kind.itemsize] = values[those]

    _sts = _st = _stl = _stg

    def _ldgsts(self, i: Instruction, to: str, source: str, *_: str) -> None:
        """Copy from global to shared memory; bytes go through four words at most."""
        which, width = np.flatnonzero(self.mask), width_of(i.parts)
        if not which.size:
            return
        self.ran.loads += 1
        place = self._shared(self.address(to)[which], which)
        for memory, those, offsets in self._global(self.address(source)[which], width, which):
            for n in range(width):
                self.shared[place[those] + n] = memory[offsets + n]

    def _blkcp(self, i: Instruction, to: str, source: str, size: str) -> None:
        """Copy from global to shared memory in bulk, and at once: one copy of each warp."""
        if i.parts[1:] != ["S", "G"]:
            raise Unknown(i.name)
        taking = self.mask.reshape(-1, LANES)
        threads = np.flatnonzero(taking.any(1)) * LANES + taking.argmax(1)[taking.any(1)]
        places, begins, sizes = (
            np.broadcast_to(value, (self.threads,))[threads]
            for value in (self.word(to[1:-1]), self.wide(source[1:-1]), self.word(size))
        )
        for thread, place, begin, units in zip(threads, places, begins, sizes, strict=True):
            steps = np.arange(int(units) & 0xFFFF, dtype=U64) * U64(16)
            which = np.full(steps.size, thread)
            target = self._shared(U64(place) + steps, which)
            for memory, those, offsets in self._global(begin + steps, 16, which):
                for n in range(16):
                    self.shared[target[those] + n] = memory[offsets + n]
        self.ran.loads += bool(threads.size)

    def _syncs(self, i: Instruction, to: str, *_: str) -> None:
        """Find bulk copies complete, which they are at once."""
        if "PHASECHK" in i.parts:
            self.set(to, np.ones(1, bool))

    # ---- Atomics

    def _atoms(self, i: Instruction, to: str, at: str, *values: str) -> None:
        which = np.flatnonzero(self.mask)
        if which.size:
            offsets = self._shared(self.address(at)[which], which)
            old = self._updated(i, self.shared, offsets, which, values)
            self._put(to, which, old)

    def _redg(self, i: Instruction, at: str, value: str) -> None:
        self._atomg(i, "PT", "RZ", at, value)

    _red = _redg

    def _atomg(self, i: Instruction, out: str, to: str, at: str, *values: str) -> None:
        which = np.flatnonzero(self.mask)
        if not which.size:
            return
        # Comparing ones have 64 bits without saying so.
        address = self.address(re.sub(r"^\[(R\d+)(?!\.)", r"[\1.64", at))[which]
        if self.keeps:
            width = 8 if "64" in i.parts or "F64" in i.parts else 4
            for memory, those, offsets in self._global(address, width, which, "stored"):
                old = self._updated(i, memory, offsets, which[those], values)
                self._put(to, which[those], old)
            return
        self._touch("stored", address, which)
        # As if nobody else had been there.
        if "CAS" in i.parts:
            self.set(to, self.wide(values[0]) if "64" in i.parts else self.word(values[0]))
        elif to != "RZ":
            raise Unknown(i.name)

    _atom = _atomg

    def _put(self, to: str, which: Values, value: Values) -> None:
        if to == "RZ":
            return
        if value.dtype.itemsize == 8:
            self._put(further(to, 1), which, (value >> U64(32)).astype(U32))
            value = (value & LOW).astype(U32)
        self.row(to)[which] = value.astype(U32)

    def _updated(
        self, i: Instruction, memory: Values, offsets: Values, which: Values, texts: Sequence[str]
    ) -> Values:
        """Let threads change memory one after another; return what each found there."""
        kind = next((np.dtype(_ATOMIC[part]) for part in i.parts if part in _ATOMIC), np.dtype(U32))
        bits = np.dtype(f"u{kind.itemsize}")

        def operand(text: str) -> Values:
            value = self.wide(text) if kind.itemsize == 8 else self.word(text)
            return np.broadcast_to(value, (self.threads,))[which].astype(bits).view(kind)

        words = memory[: memory.size // kind.itemsize * kind.itemsize].view(kind)
        at = offsets // kind.itemsize
        if "CAS" in i.parts or "CAST" in i.parts:
            compare, new = map(operand, texts)
            old = np.empty(at.size, kind)
            for n, place in enumerate(at):
                old[n] = words[place]
                if old[n] == compare[n]:
                    words[place] = new[n]
            if "CAST" in i.parts:  # whether it was so, instead of what was there
                return (old == compare).astype(U32)
            return old.view(bits)
        value = np.ones(at.size, kind) if "POPC" in i.parts else operand(texts[0])
        name = next(part for part in i.parts[1:] if part in _FUNCTIONS)
        function = _FUNCTIONS[name]
        if np.unique(at).size == at.size:
            old = words[at]
            words[at] = function(old, value)
            return old.view(bits)
        old = np.empty(at.size, kind)
        for n, place in enumerate(at):
            old[n] = words[place]
            words[place] = function(old[n : n + 1], value[n : n + 1])[0]
        return old.view(bits)

    # ---- Where memory is

    def _pieces(
        self, i: Instruction, at: Values, which: Values, width: int
    ) -> list[tuple[Values, Any, Values]]:
        """The memories that an access goes to, which of its threads, and offsets."""
        if i.base in ("LDL", "STL"):
            return [self._local(at, which, width)]
        if i.base in ("LDS", "STS"):
            return [(self.shared, slice(None), self._shared(at, which))]
        side = "loaded" if i.base[0] == "L" else "stored"
        window = at >> U64(32)
        if i.base in ("LDG", "STG") or not np.isin(window, (SHARED_WINDOW, LOCAL_WINDOW)).any():
            return self._global(at, width, which, side)
        pieces = []
        for kind in np.unique(window):
            those = np.flatnonzero(window == kind)
            if kind == SHARED_WINDOW:
                pieces.append((self.shared, those, self._shared(at[those], which[those])))
                continue
            if kind == LOCAL_WINDOW:
                inner = [self._local(at[those], which[those], width)]
            else:
                inner = self._global(at[those], width, which[those], side)
            pieces += [(memory, those[chosen], offsets) for memory, chosen, offsets in inner]
        return pieces

    def _local(self, at: Values, which: Values, width: int) -> tuple[Values, Any, Values]:
        """The local memory of all threads, which is there once any uses it."""
        if self.local is None:
            self.local = np.zeros(self.threads * _LOCAL_BYTES, np.uint8)
        offsets = (at & LOW).astype(np.int64)
        if offsets.max() + width > _LOCAL_BYTES:
            raise Unknown("local memory outside of a thread's")
        return self.local, slice(None), which * _LOCAL_BYTES + offsets

    def _global(
        self, address: Values, width: int, which: Values, side: str = "loaded"
    ) -> list[tuple[Values, Any, Values]]:
        """The allocations that these addresses are in: memory, which of them, and offsets."""
        self._touch(side, address, which)
        index = np.searchsorted(self.begins, address, "right").astype(np.int64) - 1
        pieces = []
        same = index.size and (index[0] == index).all()
        for n in index[:1] if same else np.unique(index):
            those: Any = slice(None) if same else index == n
            begin, nbytes = self.memory[n] if n >= 0 else (0, 0)
            offsets = (address[those] - U64(begin)).astype(np.int64)
            if n < 0 or offsets.max() + width > nbytes:
                raise Unknown(f"an access of {width} bytes outside all memory")
            room = -(-nbytes // 16) * 16
            memory: Values = np.ctypeslib.as_array((ctypes.c_uint8 * room).from_address(begin))
            pieces.append((memory, those, offsets))
        return pieces

    def _shared(self, address: Values, which: Values) -> Values:
        """Return offsets into the shared memory of all blocks for these threads."""
        address = address & LOW  # of 32 bits, so that registers may be negative
        if address.size and (address.min() < _SHARED or address.max() >= self.shared_bytes):
            raise Unknown("shared memory outside of a block's")
        offset: Values = self.slot[which] * self.shared_bytes + address.astype(np.int64)
        return offset

    # ---- Counts

    def _touch(self, side: str, address: Values, which: Values) -> None:
        """Note the sectors of an access: the number of the block, and that of the sector."""
        keys = self.slot[which].astype(U64) << U64(43) | address >> _SECTOR_BITS
        lists = self._touched[side]
        lists.append(np.unique(keys) if keys.size > 4 * LANES else keys)
        if len(lists) > 256:
            lists[:] = [np.unique(np.concatenate(lists))]

    def count_sectors(self) -> None:
        """Put the sectors of each block into the counts."""
        count = self.ran.issued.size
        for side, keys in self._touched.items():
            unique = np.unique(np.concatenate(keys)) if keys else np.zeros(0, U64)
            slots = (unique >> U64(43)).astype(np.int64)
            setattr(self.ran, side, np.bincount(slots, minlength=count))


_SIGNED = {"S8": np.int8, "S16": np.int16}
_ATOMIC: dict[str, Any] = {
    "64": U64, "U64": U64, "S64": np.int64, "F64": np.float64,
    "F32": np.float32, "S32": np.int32, "32": U32,
}  # fmt: skip
_FUNCTIONS: dict[str, Callable[[Values, Values], Values]] = {
    "ADD": np.add, "INC": np.add, "MIN": np.fmin, "MAX": np.fmax, "AND": np.bitwise_and,
    "OR": np.bitwise_or, "XOR": np.bitwise_xor, "EXCH": lambda _, new: new,
}  # fmt: skip
