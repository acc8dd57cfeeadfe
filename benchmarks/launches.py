"""Launches of any kernel for sm_90, run whole by `benchmarks.sass` on the host's memory."""

from __future__ import annotations

import ctypes
import re
import struct
import subprocess
import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.roofline import disassembler, section_of
from benchmarks.sass import Dimensions, Instruction, Ran, Unknown, parsed, run_all_blocks, sections
from benchmarks.sass.code import section_sizes

_PARAMETER_INFO = 0x17  # the attribute of a kernel that describes a parameter


@dataclass(frozen=True)
class Launch:
    """A kernel with its grid; `arguments`: the address of an array of their addresses."""

    cubin: bytes = field(repr=False)
    name: str
    grid: Dimensions
    block: Dimensions
    shared: int = 0
    arguments: int = 0
    filled: int = 0

    @classmethod
    def fill(cls, nbytes: int) -> Launch:
        """Return a launch that has filled so many bytes, by a kernel of the driver's."""
        return cls(b"", "memset", (1, 1, 1), (1, 1, 1), filled=nbytes)


@dataclass
class Work:
    """Instructions of warps that launches issue, and sectors of 32 bytes that they move."""

    instructions: float = 0.0
    loaded: float = 0.0
    stored: float = 0.0
    launches: int = 0
    names: list[str] = field(default_factory=list)

    unknown: str = ""

    @property
    def nbytes(self) -> float:
        """Bytes of all sectors."""
        return 32 * (self.loaded + self.stored)

    def run(self, launch: Launch, memory: list[tuple[int, int]]) -> None:
        """Run a launch and add what it did; or why that is not known."""
        self.launches += 1
        self.names.append(launch.name)
        self.stored += launch.filled / 32
        if not launch.cubin or self.unknown:
            return
        try:
            ran = run_launch(launch, memory)
        except Unknown as error:
            self.unknown = str(error)
            return
        self.instructions += float(ran.issued.sum())
        self.loaded += float(ran.loaded.sum())
        self.stored += float(ran.stored.sum())


@dataclass(frozen=True)
class KernelCode:
    """Machine code of one kernel.

    Attributes:
        constants: by the number of their bank.
        shared: bytes of a block that its declarations take.
        parameters: offset and size of each.

    """

    instructions: tuple[list[Instruction], dict[str, int]]
    constants: dict[int, bytes]
    shared: int
    parameters: list[tuple[int, int]]


@cache
def _disassembly(cubin: bytes) -> str:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "kernel.cubin")
        file.write_bytes(cubin)
        command = [str(disassembler()), "-c", str(file)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@cache
def kernel_code(cubin: bytes, name: str) -> KernelCode:
    """Return the code of a kernel, disassembled once."""
    contents = sections(cubin)
    constants = {
        int(match[1]): content
        for section, content in contents.items()
        if (match := re.fullmatch(rf"\.nv\.constant(\d+)(\.{re.escape(name)})?", section))
    }
    own = section_of(_disassembly(cubin), name)
    shared = section_sizes(cubin).get(f".nv.shared.{name}", 0)
    parameters = list(_parameters(contents[f".nv.info.{name}"]))
    return KernelCode(parsed(own), constants, shared, sorted(parameters))


def _parameters(info: bytes) -> Any:
    """Offset and size of each parameter, from a kernel's attributes."""
    at = 0
    while at + 4 <= len(info):
        kind, attribute, value = struct.unpack_from("<BBH", info, at)
        at += 4
        if kind == 4:  # with so many bytes behind it
            if attribute == _PARAMETER_INFO:
                _, _, offset, packed = struct.unpack_from("<IHHI", info, at)
                yield offset, packed >> 18
            at += value


def run_launch(launch: Launch, memory: list[tuple[int, int]]) -> Ran:
    """Run all blocks of a launch, whose stores change memory; return what they issued."""
    code = kernel_code(launch.cubin, launch.name)
    size = max((offset + n for offset, n in code.parameters), default=0)
    parameters = bytearray(size)
    addresses = (
        (ctypes.c_void_p * len(code.parameters)).from_address(launch.arguments or 1)
        if code.parameters
        else ()
    )
    for (offset, n), address in zip(code.parameters, addresses, strict=True):
        parameters[offset : offset + n] = ctypes.string_at(address, n)
    constants = {n: content for n, content in code.constants.items() if n} | {0: bytes(parameters)}
    shared = code.shared + launch.shared
    return run_all_blocks(code.instructions, constants, launch.grid, memory, launch.block, shared)
