"""Blocks of one kernel of sm_90, run by NumPy instruction by instruction."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.sass.code import Instruction, Unknown
from benchmarks.sass.floats import Floats
from benchmarks.sass.integers import Integers
from benchmarks.sass.memory import LOCAL_WINDOW, Memory, Ran
from benchmarks.sass.operands import LANES, U32, Values
from benchmarks.sass.warps import Warps

Jumps = list[tuple[int, Values]]
Dimensions = tuple[int, int, int]

THREADS = 256

# Of sm_90: where constant bank 0 has parameters, the local window, and where the stack begins.
_PARAMETERS, _LOCAL_WINDOW, _STACK_POINTER = 0x210, 0x20, 0x28
STACK = 4096


class Machine(Integers, Floats, Memory, Warps):
    """Blocks of one kernel, ready to run once."""

    def __init__(
        self,
        code: tuple[list[Instruction], dict[str, int]],
        constants: dict[int, bytes],
        blocks: Sequence[int],
        grid: int | Dimensions,
        memory: Sequence[tuple[int, int]],
        *,
        block: Dimensions = (THREADS, 1, 1),
        shared: int = 48 * 1024,
        keeps: bool = False,
    ) -> None:
        """Prepare some `blocks` of a launch, by their numbers.

        - `memory`: the first byte and the number of bytes of each allocation.
        - `block`: the threads of a block; `shared`: bytes of its shared memory.
        - `keeps`: whether stores and atomics change memory, instead of being listed.
        """
        instructions, self.labels = code
        self.at = {instruction.address: instruction for instruction in instructions}
        grid = (grid, 1, 1) if isinstance(grid, int) else grid
        count = block[0] * block[1] * block[2]
        padded = -(-count // LANES) * LANES
        first = bytearray(struct.pack("<6I", *block, *grid).ljust(_PARAMETERS, b"\0"))
        struct.pack_into("<2I", first, _LOCAL_WINDOW, 0, LOCAL_WINDOW)
        struct.pack_into("<I", first, _STACK_POINTER, STACK)
        threads = padded * len(blocks)
        super().__init__(threads, constants | {0: bytes(first) + constants[0]})
        thread = np.tile(np.arange(padded, dtype=U32), len(blocks))
        self.place_threads(thread, np.repeat(np.array(blocks, U32), padded), block, grid)
        slot = np.repeat(np.arange(len(blocks), dtype=np.int64), padded)
        self.prepare_memory(memory, slot, shared, keeps)
        self.ran = Ran(np.zeros(len(blocks), np.int64))
        self.begin = thread < count
        self.exited |= ~self.begin

    def run(self, most: int = 2_000_000) -> Ran:
        """Run all blocks to their ends."""
        going = {0: self.begin}
        waiting: dict[int, Values] = {}
        with np.errstate(all="ignore"):
            for _ in range(most):
                if not going:
                    going = self.release_all()
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
        self.count_sectors()
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
            if self.mask.any():
                self.ran.lines.add(i.line)
            jumps = method(i, *i.operands)
        for target, those in jumps or ():
            mask = mask & ~those
            if target != _END and those.any():
                yield target, those
        if mask.any():
            yield i.address + 16, mask

    # ---- Where to go on

    def _bra(self, i: Instruction, *operands: str) -> Jumps:
        *conditions, label = operands
        if "DIV" in i.parts:  # only where lanes of a warp are apart
            return []
        going = self.mask
        for condition in conditions:
            going = going & self.predicate(condition)
        return [(self.labels[label.strip("`()")], going)]

    _call = _bra

    def _exit(self, i: Instruction, *_: str) -> Jumps:
        self.exited |= self.mask
        return [(_END, self.mask), *self.released()]

    def _bssy(self, i: Instruction, barrier: str, *_: str) -> None:
        self.begin_together(barrier)

    def _bsync(self, i: Instruction, *operands: str) -> Jumps:
        self._restrict(operands)
        self.wait_together(operands[-1], i.address + 16)
        return [(_END, self.mask), *self.released()]

    def _break(self, i: Instruction, *operands: str) -> Jumps:
        self._restrict(operands)
        self.set(operands[-1], np.zeros(1, U32))
        return self.released()

    def _warpsync(self, i: Instruction, *operands: str) -> Jumps | None:
        if "COLLECTIVE" in i.parts:
            return None
        named = None if "ALL" in i.parts else self.word(operands[-1])
        self.wait_for_warp(named, i.address + 16)
        return [(_END, self.mask), *self.released()]

    def _bmov(self, i: Instruction, to: str, source: str) -> None:
        """Save or restore which threads meet at a barrier."""
        self.set(to, self.row(source))
        if "CLEAR" in i.parts:
            self.set(source, np.zeros(1, U32))

    def _restrict(self, operands: Sequence[str]) -> None:
        """Leave out the threads for which the predicate before a barrier does not hold."""
        for predicate in operands[:-1]:
            self.mask = self.mask & self.predicate(predicate)

    def _ret(self, i: Instruction, register: str, label: str = "") -> Jumps:
        return self._jump(register.split()[0], 0)

    def _brx(self, i: Instruction, text: str) -> Jumps:
        register, offset = text.split()[:2]
        return self._jump(register, i.address + 16 + int(offset, 16))

    def _jump(self, register: str, further: int) -> Jumps:
        places = self.word(register).astype(np.int64) + further
        return [(int(p), self.mask & (places == p)) for p in np.unique(places[self.mask])]

    def _bar(self, i: Instruction, *operands: str) -> Jumps:
        if "RED" in i.parts:
            self.reduce_over_block(i, operands[-1])
        elif "SYNC" not in i.parts:
            raise Unknown(i.name)
        return [(-(i.address + 16), self.mask)]


_END = -1
_NOTHING = {"NOP", "YIELD", "MEMBAR", "ERRBAR", "NANOSLEEP", "DEPBAR", "LDGDEPBAR", "FENCE"}
_NOTHING |= {"CCTL", "CCTLL", "ACQBULK", "CGAERRBAR", "PREEXIT"}
