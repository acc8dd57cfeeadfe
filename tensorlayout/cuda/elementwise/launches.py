"""What elementwise kernels take, and the launches of those without tiles in shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

from tensorlayout.cuda.bounded import check_aligned, walk_struct
from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.engine.kernel_shapes import kernel, parameters
from tensorlayout.cuda.engine.launch import THREADS, Launch
from tensorlayout.cuda.engine.padding import bits_of, padding_struct
from tensorlayout.cuda.engine.parameters import divisor, index_type, pack_walk
from tensorlayout.cuda.engine.sectors import WIDEST
from tensorlayout.cuda.engine.structs import constant
from tensorlayout.cuda.fill.fill import Beside
from tensorlayout.layout import Layout
from tensorlayout.layout.digits import TiledLoop
from tensorlayout.layout.loop import Loop

# Bytes of packs, of the widest type.
WIDTHS = (16, 4)


class TooManyAxesError(Exception):
    """No kernel of so many operands walks so many axes."""


class Computed(NamedTuple):
    """What makes elements of the result.

    Attributes:
        name: of the function, for errors.
        file: whose kernels; prefix: of their names.
        types: macros that say what is computed from which types.
        functor: of kernels/functions.cuh, or "".
        numbers: how many scalars it is given beside the operands.

    """

    name: str
    file: str
    prefix: str
    types: tuple[tuple[str, str], ...]
    functor: str = ""
    numbers: int = 0


@dataclass(frozen=True, slots=True)
class Operands:
    """The result and the operands, as kernels see them.

    Attributes:
        computed: what makes elements of the one from those of the others.
        types: macros that name the types.
        layouts: of the result and of the operands; None for scalars.
        widths: bytes of an element of each; 0 for scalars.
        alignments: powers of two that divide the addresses of the lowest slots.
        beside: padding that is written in the same launch; of a tiled result, in its tails.

    """

    computed: Computed
    types: tuple[tuple[str, str], ...]
    layouts: tuple[Layout | None, ...]
    widths: tuple[int, ...]
    alignments: tuple[int, ...]
    beside: Beside

    @property
    def count(self) -> int:
        """How many operands there are."""
        return len(self.layouts) - 1

    @property
    def counts(self) -> dict[str, int]:
        """What kernels are told of operands and numbers."""
        return {"OPERANDS": self.count, "NUMBERS": self.computed.numbers}

    @property
    def name(self) -> str:
        """Of the function, for errors."""
        return self.computed.name

    @property
    def widest(self) -> int:
        """Bytes of the widest type."""
        return int(dict(self.types)["WIDEST"])

    def chosen(self, name: str, **shape: Any) -> tuple[Kernel, Any]:
        """A kernel, and the struct that it takes."""
        _, file, prefix, _, functor, _ = self.computed
        found = kernel(file, f"{prefix}_{name}", self.types, functor, **shape)
        return found, parameters(found, **self.counts)()

    def blocks(self, threads: int, pack: int) -> int:
        """How many blocks have `threads` in all, each with several turns where packs are small."""
        return -(-threads // (THREADS * self.constant(f"PACKS<{pack}>")))

    def constant(self, name: str) -> int:
        """One of kernels/include/elementwise.cuh, for so many operands."""
        return constant("include/elementwise.cuh", name, **self.counts)

    def pack_memories(self, made: Any, blocks: int, steps: Sequence[int]) -> int:
        """Fill in what all kernels take; how many blocks there are with those of padding."""
        made.padding, more = padding_struct(*self.beside, blocks, self.alignments[0])
        made.step[:] = steps
        return blocks + more


def flat(
    given: Operands, count: int, pack: int, steps: Sequence[int], firsts: tuple[int, ...]
) -> Launch:
    """One run."""
    blocks = given.blocks(count // pack + count % pack, pack)
    found, made = given.chosen("flat", PACK=pack)
    blocks = given.pack_memories(made.memories, blocks, steps)
    made.count = count
    return Launch(found, blocks, bytes(made), firsts)


def strided(given: Operands, loop: Loop, pack: int) -> Launch:
    """Rows of packs, where `pack` is more than 1; else elements one by one, with any strides."""
    *slower, last = loop.sizes
    rows, (packs, rest) = prod(slower), divmod(last, pack)
    sizes, count = (*slower, packs), rows * (packs + rest)
    blocks = given.blocks(count, pack)
    if len(sizes) > given.constant("MOST_WALKED"):
        raise TooManyAxesError
    index = index_type(count, loop.furthest)
    steps = loop.axes[-1].strides[1:] if pack > 1 else (0,) * given.count
    name = "rows" if pack > 1 else "strided"
    wide = {"PACK": pack} if pack > 1 else {}
    found, made = given.chosen(name, RANK=len(sizes), INDEX=index, **wide)
    blocks = given.pack_memories(made.memories, blocks, steps)
    made.threads, made.pack_threads, made.packs = count, rows * packs, packs
    made.rest = divisor(index, rest or 1)
    pack_walk(made.walk, sizes, loop.in_packs(pack, ()).strides)
    return Launch(found, blocks, bytes(made), loop.firsts)


def masked_tail(given: Operands, loop: TiledLoop) -> Launch:
    """Tiles with tails, in the result's order; ValueError for elements that are not aligned."""
    check_aligned(given.name, loop)
    # The most of the packs that there are kernels for.
    widest, most = given.widest, loop.pack(WIDEST)
    packs = [width // widest for width in WIDTHS if width > widest]
    pack = max([pack for pack in packs if pack <= most], default=1)
    threads, moves = loop.count // pack, loop.axes[-1].strides[1:]
    blocks = given.blocks(threads, pack)
    found, made = given.chosen("bounded", INDEX=loop.index, BOUNDED=pack)
    steps = moves if pack > 1 else [0] * len(moves)
    blocks = given.pack_memories(made.memories, blocks, steps)
    made.threads, made.bits[:] = threads, bits_of(given.beside[1])
    made.walk = walk_struct(loop, (), pack)
    return Launch(found, blocks, bytes(made), loop.firsts)
