"""Upper bounds of kernel speed on an H100 from their machine code; no GPU is needed.

A kernel that the simulator launches is compiled by NVRTC for sm_90 and disassembled, and some of
its blocks are run by `benchmarks.sass` first.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import metadata, util
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.resources import Resources, compiled
from benchmarks.sass import (
    THREADS,
    Instruction,
    Machine,
    Ran,
    Unknown,
    Values,
    parsed,
    run_all_blocks,
    sections,
)
from tensorlayout.cuda.engine import simulator
from tensorlayout.cuda.engine.driver import Kernel, driver
from tensorlayout.cuda.engine.kernel_shapes import compiled_name


@dataclass(frozen=True)
class Chip:
    """A GPU of compute capability 9.0, by NVIDIA's data sheets.

    Attributes:
        clock: the highest, in hertz.
        bandwidth: peak of its memory, in bytes a second.

    """

    name: str
    multiprocessors: int
    clock: float
    bandwidth: float

    @property
    def instructions(self) -> float:
        """Instructions of warps that it issues in a second: one each clock and scheduler."""
        return self.multiprocessors * _SCHEDULERS * self.clock


_SCHEDULERS, _LANES = 4, 32

H100 = Chip("H100", 132, 1.98e9, 3.35e12)
H200 = Chip("H200", 132, 1.98e9, 4.8e12)

# Of a multiprocessor. A block takes a KiB of shared memory besides its own.
_REGISTERS, _SHARED, _RESIDENT, _RESERVED = 65536, 227 * 1024, 2048, 1024

_FLOAT = np.dtype(np.float32)

# Blocks of a launch that are run: both ends, and some evenly between.
_SAMPLED = 16


@dataclass(frozen=True)
class Code:
    """A kernel for sm_90."""

    instructions: tuple[list[Instruction], dict[str, int]]
    constants: dict[int, bytes]
    resources: Resources

    @property
    def blocks(self) -> int:
        """Return how many blocks one multiprocessor holds at once."""
        warps = THREADS // _LANES
        of_warp = -(-self.resources.registers * _LANES // 256) * 256
        shared = (_SHARED + _RESERVED) // (self.resources.shared + _RESERVED)
        return min(_REGISTERS // (warps * of_warp), shared, _RESIDENT // THREADS)


@dataclass(eq=False)
class Issued:
    """Instructions that the launches of a call issue.

    Attributes:
        instructions: of warps, over all blocks, by those that were run.
        loads: from global memory, of a thread; `waits`: how often it waited for any of them.
        loaded, stored_sectors: sectors of 32 bytes; one that a block touches again counts once.
        registers, blocks: of the kernel that issues most.
        stored, wrong: words that were stored by blocks that were run; not as by the simulator.
        unknown: why there is nothing to say, or "".
        lines: of the source, that were run.

    """

    instructions: float = 0.0
    loads: int = 0
    waits: int = 0
    loaded: float = 0.0
    stored_sectors: float = 0.0
    registers: int = 0
    blocks: int = 0
    stored: int = 0
    wrong: int = 0
    unknown: str = ""
    lines: set[str] = field(default_factory=set, repr=False)
    most: float = field(default=0.0, repr=False)

    @property
    def nbytes(self) -> float:
        """Bytes of all sectors."""
        return 32 * (self.loaded + self.stored_sectors)

    @property
    def in_flight(self) -> float:
        """Loads that a thread has under way when it waits for one."""
        return self.loads / self.waits if self.waits else 0.0

    def share(self, octets: float, chip: Chip = H100) -> float:
        """The share that issuing allows, of the speed at which memory moves so many bytes."""
        seconds = self.instructions / chip.instructions
        return min(1.0, octets / chip.bandwidth / seconds) if seconds else 1.0


UNKNOWN = Issued(unknown="not counted")


def available() -> bool:
    """Return True if CuPy and nvdisasm are installed."""
    return util.find_spec("cupy_backends") is not None and disassembler() is not None


def disassembler() -> str | None:
    for name in ("nvidia-cuda-nvdisasm", "nvidia-cuda-nvdisasm-cu12"):
        try:
            files = metadata.files(name) or []
        except metadata.PackageNotFoundError:
            continue
        for file in files:
            if file.stem == "nvdisasm":
                return str(file.locate())
    return shutil.which("nvdisasm")


_codes: dict[Kernel, Code] = {}


def code_of(kernel: Kernel) -> Code:
    """Compiled and disassembled once."""
    if kernel not in _codes:
        binary = compiled(kernel, 90, "--generate-line-info")
        name_of_code = compiled_name(kernel)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "kernel.cubin")
            file.write_bytes(binary.cubin)
            command = [str(disassembler()), "-c", "-g", "-ndf", str(file)]
            text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        banks = {
            int(match[1]): content
            for name, content in sections(binary.cubin).items()
            if (match := re.fullmatch(rf"\.nv\.constant(\d+)(\.{name_of_code})?", name))
        }
        own = section_of(text, name_of_code)
        _codes[kernel] = Code(parsed(own), banks, binary.resources[kernel.name])
    return _codes[kernel]


def section_of(text: str, name: str) -> str:
    """A kernel's part of the disassembly of a file that may have several."""
    own = [
        section for section in text.split(".section\t.text.")[1:] if section.startswith(f"{name},")
    ]
    if len(own) != 1:
        raise Unknown(f"{len(own)} sections of code of {name}")
    return own[0]


@contextmanager
def issuing(whole: bool = False, most: int | None = None) -> Iterator[Issued]:
    """Record what launches inside the block issue, on the simulator.

    - `whole`: whether all blocks are run, not some of them.
    - `most`: the launches of each kernel, by name and operation, that are run; None: all.
    """
    issued = Issued(unknown="" if available() else "CuPy or nvdisasm is missing")
    kind: Any = simulator.SimulatedLauncher
    plain = kind.__call__
    launches = Counter[tuple[str, str]]()

    def call(launcher: Any, grid: Any, parameters: bytearray) -> None:
        check = _check_nothing
        launches[name := (launcher._kernel.name, launcher._kernel.operation)] += 1
        if not issued.unknown and (most is None or launches[name] <= most):
            kernel, octets = launcher._kernel, bytes(parameters)
            try:
                run = _run_whole if whole or _takes_numbers(code_of(kernel)) else _run_some
                check = run(issued, kernel, grid, octets)
            except Unknown as error:
                issued.unknown = f"{kernel.symbol}: {error}"
        plain(launcher, grid, parameters)
        check()

    kind.__call__ = call
    try:
        yield issued
    finally:
        kind.__call__ = plain
    if 100 * issued.wrong > issued.stored:  # some divisions of floats differ in the last bit
        issued.unknown = f"{issued.wrong} of {issued.stored} words are not the simulator's"


def _takes_numbers(code: Code) -> bool:
    """Return whether blocks take numbers by atomic additions, and so wait for those before."""
    instructions, _ = code.instructions
    return any(i.name.startswith("ATOMG.E.ADD") and i.operands[1] != "RZ" for i in instructions)


def _check_nothing() -> None:
    """Compare nothing."""


def _prepared(kernel: Kernel, grid: Any, parameters: bytes) -> tuple[Code, dict[int, bytes]]:
    """The code of a kernel, and its constants with the parameters of a launch."""
    if not isinstance(grid, int):
        raise Unknown(f"a grid of {grid}")
    code = code_of(kernel)
    constants = {n: content for n, content in code.constants.items() if n}
    return code, constants | {0: parameters}


def _run_some(total: Issued, kernel: Kernel, grid: Any, parameters: bytes) -> Callable[[], None]:
    """Run some blocks of a launch that is to come; return how to check what they store."""
    code, constants = _prepared(kernel, grid, parameters)
    blocks, weights = _chosen(grid)
    ran = Machine(code.instructions, constants, blocks, grid, _memory()).run()
    _add(total, code, ran, np.array(weights))

    def check() -> None:
        for address, values in ran.stores:
            total.stored += values.size
            total.wrong += _differing(address, values)

    return check


def _run_whole(total: Issued, kernel: Kernel, grid: Any, parameters: bytes) -> Callable[[], None]:
    """Run a launch that is to come, and undo it; return how to check what it left."""
    code, constants = _prepared(kernel, grid, parameters)
    memory = _memory()
    before = _contents(memory)
    try:
        ran = run_all_blocks(code.instructions, constants, (grid, 1, 1), memory)
        own = _contents(memory)
    finally:
        for (begin, nbytes), words in zip(memory, before, strict=True):
            ctypes.memmove(begin, words.ctypes.data, nbytes)
    _add(total, code, ran, np.ones(grid))

    def check() -> None:
        for old, mine, other in zip(before, own, _contents(memory), strict=True):
            changed = (mine != old) | (other != old)
            total.stored += int(changed.sum())
            total.wrong += int((~_same(mine, other)).sum())

    return check


def _add(total: Issued, code: Code, ran: Ran, weights: Values) -> None:
    issued = float((ran.issued * weights).sum())
    total.instructions += issued
    total.loads += ran.loads
    total.loaded += float((ran.loaded * weights).sum())
    total.stored_sectors += float((ran.stored * weights).sum())
    total.waits += ran.waits
    total.lines |= ran.lines
    if issued > total.most:
        total.most, total.registers, total.blocks = issued, code.resources.registers, code.blocks


def _contents(memory: Sequence[tuple[int, int]]) -> list[Values]:
    """Copies of all allocations, as words."""
    return [
        np.frombuffer(ctypes.string_at(begin, n).ljust(-(-n // 4) * 4, b"\0"), np.uint32)
        for begin, n in memory
    ]


def _same(mine: Values, other: Values) -> Values:
    """Return which words are equal; approximations of a GPU differ in the last bits of floats."""
    same = mine == other
    if mine.itemsize == _FLOAT.itemsize and not same.all():
        with np.errstate(all="ignore"):
            same |= np.isclose(mine.view(_FLOAT), other.view(_FLOAT), rtol=1e-5, atol=0)
    return same


def _chosen(grid: int) -> tuple[list[int], list[float]]:
    """The blocks that are run, and for how many each stands."""
    count = min(grid - 2, _SAMPLED)
    inner = [1 + int((n + 0.5) * (grid - 2) / count) for n in range(count)]
    ends = [0] if grid == 1 else [0, grid - 1]
    return [*ends, *inner], [*[1.0] * len(ends), *[(grid - 2) / count for _ in inner]]


def _memory() -> list[tuple[int, int]]:
    """The first byte and the number of bytes of each allocation, in order."""
    opened: Any = driver()
    table, count = opened.ranges[0].sorted_range_table()
    return [(table[3 * n], table[3 * n + 1]) for n in range(count)]


def _differing(address: Values, values: Values) -> int:
    """Count the values that differ from memory at these addresses."""
    begins, sizes = np.array(_memory(), np.uint64).reshape(-1, 2).T
    at = np.searchsorted(begins, address, "right") - 1
    there = (at >= 0) & (address + np.uint64(values.itemsize) <= begins[at] + sizes[at])
    left = [ctypes.string_at(int(a), values.itemsize) for a in address[there]]
    same = _same(np.frombuffer(b"".join(left), values.dtype), values[there])
    return int(values.size - same.sum())
