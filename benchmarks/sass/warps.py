"""Instructions in which the threads of a warp or a block take part together."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.sass.code import Instruction, Unknown
from benchmarks.sass.memory import SHARED_WINDOW
from benchmarks.sass.operands import LANES, U32, Operands, Values

Dimensions = tuple[int, int, int]
_BITS = U32(1) << np.arange(LANES, dtype=U32)


class Warps(Operands):
    """Instructions in which the threads of a warp or a block take part together."""

    def place_threads(
        self, thread: Values, block: Values, sizes: Dimensions, grid: Dimensions
    ) -> None:
        """Give each thread its number in its block, and its block's number."""
        self.lane = thread % U32(LANES)
        self.blocks = int(block.size // (int(thread.max()) + 1))
        self.prepare_barriers()
        self.special = {
            "SR_TID.X": thread % U32(sizes[0]),
            "SR_TID.Y": thread // U32(sizes[0]) % U32(sizes[1]),
            "SR_TID.Z": thread // U32(sizes[0] * sizes[1]),
            "SR_CTAID.X": block % U32(grid[0]),
            "SR_CTAID.Y": block // U32(grid[0]) % U32(grid[1]),
            "SR_CTAID.Z": block // U32(grid[0] * grid[1]),
            "SR_LANEID": self.lane,
            "SR_CgaCtaId": np.zeros(1, U32),
            "SR_SWINHI": np.array([SHARED_WINDOW], U32),
            "SR_VIRTID": np.zeros(1, U32),
            "SR_EQMASK": U32(1) << self.lane,
            "SR_LTMASK": (U32(1) << self.lane) - U32(1),
            "SR_LEMASK": (U32(2) << self.lane) - U32(1),
            "SR_GTMASK": ~((U32(2) << self.lane) - U32(1)),
            "SR_GEMASK": ~((U32(1) << self.lane) - U32(1)),
        }

    # ---- Where lanes that parted meet again

    def prepare_barriers(self) -> None:
        """Begin without any thread that waits."""
        self.exited = np.zeros(self.threads, bool)
        # By the address behind the barrier: its group of each thread, and the threads that wait.
        self._held: dict[int, tuple[Values, Values]] = {}
        self._groups = 0

    def begin_together(self, barrier: str) -> None:
        """Make the lanes of each warp that take part one group, which a barrier waits for.

        A barrier is a row of numbers of groups; 0 is none.
        """
        self._groups += 1
        self.set(barrier, np.array([self._groups], U32))

    def wait_together(self, barrier: str, behind: int) -> None:
        """Hold threads until all of their warp and group are there."""
        self._hold(self.row(barrier), behind)

    def wait_for_warp(self, named: Values | None, behind: int) -> None:
        """Hold threads until the lanes of their warp that a mask names are there; None is all."""
        if named is None:
            self._hold(np.ones(self.threads, U32), behind)
            return
        taking = self._warps(self.mask)
        bits = self._warps(named)[np.arange(len(taking)), taking.argmax(1)]
        group = np.repeat(bits, LANES) >> self.lane & U32(1)
        old, _ = self._held.get(behind, (group, None))
        self._hold(np.where(np.repeat(taking.any(1), LANES), group, old), behind)

    def _hold(self, group: Values, behind: int) -> None:
        _, waiting = self._held.get(behind, (None, np.zeros(self.threads, bool)))
        self._held[behind] = group, waiting | self.mask

    def released(self) -> list[tuple[int, Values]]:
        """The threads that wait no longer, by where they go on."""
        results = []
        for behind, (group, waiting) in list(self._held.items()):
            missing = (group != 0) & ~waiting & ~self.exited
            free = waiting
            if missing.any():
                groups, absent = self._warps(group), self._warps(missing)
                apart = np.flatnonzero(absent.any(1) & self._warps(waiting).any(1))
                own, other = groups[apart], absent[apart]
                blocked = ((own[:, :, None] == own[:, None, :]) & other[:, None, :]).any(2)
                free = waiting.copy()
                free.reshape(-1, LANES)[apart] &= ~(blocked & (own != 0))
            if free.any():
                results.append((behind, free))
                self._held[behind] = group, waiting & ~free
            if not self._held[behind][1].any():
                del self._held[behind]
        return results

    def release_all(self) -> dict[int, Values]:
        """Let all go on that wait for lanes that will not come."""
        held, self._held = self._held, {}
        return {behind: waiting for behind, (_, waiting) in held.items()}

    # ---- Registers of threads, votes and shuffles

    def _s2r(self, i: Instruction, to: str, a: str) -> None:
        if a not in self.special:
            raise Unknown(a)
        self.set(to, self.special[a])

    _s2ur = _s2r

    def _warps(self, value: Values) -> Values:
        """A row for each warp."""
        return np.broadcast_to(value, (self.threads,)).reshape(-1, LANES)

    def _ballot(self, value: Values) -> Values:
        """Bits of the lanes that take part and have True, in each lane."""
        bits = np.where(self._warps(value & self.mask), _BITS, U32(0)).sum(1, dtype=U32)
        return np.repeat(bits, LANES)

    def _vote(self, i: Instruction, *operands: str) -> None:
        *to, source = operands
        value = np.broadcast_to(self.predicate(source), (self.threads,))
        taking = self._warps(self.mask)
        for target in to:
            if "P" not in target:
                self.set(target, self._ballot(value))
                continue
            some = (self._warps(value) & taking).any(1)
            every = (self._warps(value) | ~taking).all(1)
            result = {"ANY": some, "ALL": every, "EQ": every | ~some}[i.parts[1]]
            self.set(target, np.repeat(result, LANES))

    _voteu = _vote

    def _shfl(self, i: Instruction, out: str, to: str, a: str, by: str, limit: str) -> None:
        lane = self.lane.astype(np.int64)
        distance = (self.word(by) & U32(31)).astype(np.int64)
        clamp = (self.word(limit) & U32(31)).astype(np.int64)
        segment = (self.word(limit) >> U32(8) & U32(31)).astype(np.int64)
        last = (lane & segment) | (clamp & ~segment)
        way = i.parts[1]
        if way == "UP":
            source = lane - distance
            inside = source >= last
        else:
            source = {
                "DOWN": lane + distance,
                "BFLY": lane ^ distance,
                "IDX": (lane & segment) | (distance & ~segment),
            }[way]
            inside = source <= last
        source = np.where(inside, source, lane) + np.arange(self.threads) // LANES * LANES
        value = np.broadcast_to(self.word(a), (self.threads,))[source]
        self.set(to, value)
        self.set(out, inside)

    def _match(self, i: Instruction, *operands: str) -> None:
        value = self.wide(operands[-1]) if "U64" in i.parts else self.word(operands[-1])
        rows, taking = self._warps(value), self._warps(self.mask)
        equal = (rows[:, :, None] == rows[:, None, :]) & taking[:, None, :]
        bits = np.where(equal, _BITS, U32(0)).sum(2, dtype=U32)
        if "ALL" in i.parts:
            all_bits = self._warps(self._ballot(np.ones(1, bool)))
            same = (bits == all_bits) | ~taking
            every = np.repeat(same.all(1), LANES)
            self.set(operands[0], every)
            self.set(operands[1], np.where(every, all_bits.ravel(), U32(0)).astype(U32))
        else:
            self.set(operands[0], bits.ravel())

    def _redux(self, i: Instruction, to: str, a: str) -> None:
        kind: Any = np.int32 if "S32" in i.parts else U32
        name = next((part for part in i.parts[1:] if part in _REDUCTIONS), "ADD")
        function, neutral = _REDUCTIONS[name]
        start = neutral(kind)
        rows = self._warps(np.where(self.mask, self.word(a).view(kind), kind(start)))
        result = function.reduce(rows, axis=1).astype(kind).view(U32)
        self.set(to, np.repeat(result, LANES))

    def reduce_over_block(self, i: Instruction, source: str) -> None:
        """Reduce a predicate over each block, for `B2R.RESULT`."""
        value = np.broadcast_to(self.predicate(source), (self.threads,))
        rows, taking = (x.reshape(self.blocks, -1) for x in (value, self.mask))
        if "POPC" in i.parts:
            result = (rows & taking).sum(1).astype(U32)
        elif "AND" in i.parts:
            result = (rows | ~taking).all(1).astype(U32)
        else:
            result = (rows & taking).any(1).astype(U32)
        self.result = np.repeat(result, self.threads // self.blocks)

    def _b2r(self, i: Instruction, to: str, *out: str) -> None:
        if "RESULT" not in i.parts:
            raise Unknown(i.name)
        self.set(to, self.result)
        for target in out:
            self.set(target, self.result != 0)

    def _elect(self, i: Instruction, out: str, *to: str) -> None:
        taking = self._warps(self.mask)
        first = np.repeat(taking.argmax(1), LANES).astype(U32)
        self.set(out, first == self.lane)
        for target in to:
            self.set(target, first)


_REDUCTIONS: dict[str, tuple[Any, Any]] = {
    "SUM": (np.add, lambda _: 0), "ADD": (np.add, lambda _: 0),
    "AND": (np.bitwise_and, lambda kind: -1 if kind is np.int32 else 0xFFFFFFFF),
    "OR": (np.bitwise_or, lambda _: 0), "XOR": (np.bitwise_xor, lambda _: 0),
    "MIN": (np.minimum, lambda kind: np.iinfo(kind).max),
    "MAX": (np.maximum, lambda kind: np.iinfo(kind).min),
}  # fmt: skip
