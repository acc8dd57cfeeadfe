"""Machine code of sm_90 run by NumPy: how many instructions warps issue, and what they store.

Blocks run together, all threads of them at the lowest address that any is at, which is how warps
that part come together again. Values are computed too, since addresses and branches depend on
them, so that what blocks store can be compared. `Unknown` is raised for instructions that are not
here. Divisions of floats may differ in the last bit.
"""

from __future__ import annotations

from benchmarks.sass.code import Instruction, Unknown, parsed, sections
from benchmarks.sass.machine import THREADS, Dimensions, Machine
from benchmarks.sass.memory import Ran
from benchmarks.sass.operands import Values
from benchmarks.sass.whole import run_all_blocks

__all__ = [
    "THREADS",
    "Dimensions",
    "Instruction",
    "Machine",
    "Ran",
    "Unknown",
    "Values",
    "parsed",
    "run_all_blocks",
    "sections",
]
