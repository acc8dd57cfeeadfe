"""Disassembled machine code of one kernel, and the sections of the file it is in."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from functools import cached_property


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
