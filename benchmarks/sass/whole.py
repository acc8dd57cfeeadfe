"""All blocks of a launch, some at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.sass.code import Instruction
from benchmarks.sass.machine import THREADS, Dimensions, Machine
from benchmarks.sass.memory import Ran

# Threads that run together: more would not fit the caches of the host.
_TOGETHER = 16384


def run_all_blocks(
    code: tuple[list[Instruction], dict[str, int]],
    constants: dict[int, bytes],
    grid: Dimensions,
    memory: Sequence[tuple[int, int]],
    block: Dimensions = (THREADS, 1, 1),
    shared: int = 48 * 1024,
) -> Ran:
    """Run a launch, which changes memory, and return the counts of all its blocks.

    Blocks run one after another if they may wait for others: if they load what is not cached.
    """
    count = grid[0] * grid[1] * grid[2]
    waits = any(i.base in ("LDG", "LD") and "STRONG" in i.parts for i in code[0])
    step = 1 if waits else max(1, _TOGETHER // (block[0] * block[1] * block[2]))
    parts = [
        Machine(
            code, constants, range(first, min(count, first + step)), grid, memory,
            block=block, shared=shared, keeps=True,
        ).run()
        for first in range(0, count, step)
    ]  # fmt: skip
    return Ran(
        np.concatenate([ran.issued for ran in parts]),
        sum(ran.loads for ran in parts),
        sum(ran.waits for ran in parts),
        [],
        np.concatenate([ran.loaded for ran in parts]),
        np.concatenate([ran.stored for ran in parts]),
    )
