"""Disassembled machine code of one kernel, and the sections of the file it is in."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property


class Unknown(Exception):  # noqa: N818
    """An instruction, or memory, that is not known here."""


@dataclass(frozen=True)
class Instruction:
    """One line of a disassembly.

    Attributes:
        guard: its predicate, or "".
        line: of the source, such as "copy.cu:118"; "" where the disassembly does not say it.

    """

    address: int
    guard: str
    name: str
    operands: tuple[str, ...]
    line: str = ""

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
_NO_CONTENT = 8  # a section that is only allocated
_LABEL = re.compile(r"^\s*([$.\w]+):")
_SOURCE = re.compile(r'^\s*//## File "(?:.*/)?([^/"]+)", line (\d+)')


def parsed(text: str) -> tuple[list[Instruction], dict[str, int]]:
    """The instructions of ``nvdisasm -c -g``, of one section, and where each label is."""
    instructions: list[Instruction] = []
    waiting: list[str] = []
    labels: dict[str, int] = {}
    source = ""
    for line in text.splitlines():
        if place := _SOURCE.match(line):
            source = ":".join(place.groups())
        elif label := _LABEL.match(line):
            waiting.append(label[1])
        elif match := _LINE.match(line):
            address, guard, name, rest = match.groups()
            rest = re.sub(r"\(\*.*", "", rest).replace(".reuse", "")
            operands = tuple(operand.strip() for operand in rest.split(",") if operand.strip())
            instructions.append(Instruction(int(address, 16), guard or "", name, operands, source))
            labels.update(dict.fromkeys(waiting, int(address, 16)))
            waiting = []
    return instructions, labels


def _section_rows(cubin: bytes) -> Iterator[tuple[str, int, int, int]]:
    """Name, kind, offset and size of each section of an ELF file."""
    (first,) = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names = struct.unpack_from("<3H", cubin, 0x3A)
    rows = [struct.unpack_from("<2I4Q", cubin, first + n * size) for n in range(count)]
    strings = rows[names][4]
    for name, kind, _, _, offset, nbytes in rows:
        end = cubin.index(b"\0", strings + name)
        yield cubin[strings + name : end].decode(), kind, offset, nbytes


def sections(cubin: bytes) -> dict[str, bytes]:
    """The sections of an ELF file, by name."""
    return {
        name: b"" if kind == _NO_CONTENT else cubin[offset : offset + nbytes]
        for name, kind, offset, nbytes in _section_rows(cubin)
    }


def section_sizes(cubin: bytes) -> dict[str, int]:
    """The bytes of each section, those that have no content in the file among them."""
    return {name: size for name, _, _, size in _section_rows(cubin)}
