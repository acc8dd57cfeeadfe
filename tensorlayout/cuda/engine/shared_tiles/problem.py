"""What is to go through shared memory: axes, and the memories that are walked along them."""

from __future__ import annotations

from dataclasses import dataclass

from tensorlayout.cuda.engine.structs import constant
from tensorlayout.layout.digits import Bound
from tensorlayout.layout.loop import Axis

# Bytes of shared memory that a box may take: with the first, eight blocks of 256 threads share a
# multiprocessor of 228 KB; the second is all that a block gets without asking.
ROOMS = (24 * 1024, 48 * 1024)

WRITE, READ = 0, 1
# Axes of a box; and of a deep one.
USUAL = 3

DEEPEST = constant("include/tiles.cuh", "MOST_AXES")
NARROWEST = 4  # bytes of an access, where rows allow it


@dataclass(frozen=True, slots=True)
class TileProblem:
    """Axes to be boxed, and the memories that are walked along them; the first one is written.

    Attributes:
        axes: from the slowest in the destination to the fastest; its strides are positive.
        widths: for each memory bytes of an element.
        alignments: for each memory the power of two, at most `SECTOR`, that divides the address of
            its lowest slot.
        staged: numbers of the memories that come through shared memory.
        beside: numbers of others that are read where the destination is written.
        pack: how many elements an access to the destination may have.
        deepest: how many axes a box may have.
        bounds: of dimensions whose axes reach beyond their last index.
        weights: for each bound and each axis, how far that index moves.
        followers: numbers of memories with tables of their own along the destination.
        across: 0, or what is between the rows of a *square*, in elements of the source, of less
            than 4 bytes: a word of the destination has one of each.

    """

    axes: tuple[Axis, ...]
    widths: tuple[int, ...]
    alignments: tuple[int, ...]
    staged: tuple[int, ...]
    beside: tuple[int, ...]
    pack: int
    deepest: int = USUAL
    bounds: tuple[Bound, ...] = ()
    weights: tuple[tuple[int, ...], ...] = ()
    followers: tuple[int, ...] = ()
    across: int = 0

    @property
    def walked(self) -> tuple[int, ...]:
        """Numbers of the memories whose places in a box are worked out."""
        return (WRITE, *self.staged, *self.beside)

    def unit(self, memory: int) -> int:
        """Bytes of an access, if rows allow it."""
        width = self.widths[memory]
        return self.pack * width if memory == WRITE else max(width, NARROWEST)

    def tile_width(self, memory: int) -> int:
        """Bytes of an element in the memory's tile."""
        return self.widths[WRITE if self.across else memory]

    @property
    def staged_bytes(self) -> int:
        """Of an element, in shared memory."""
        return sum([self.tile_width(memory) for memory in self.staged])


def rounded_up(number: int, step: int) -> int:
    """The least multiple of `step` that is not below a number."""
    return -(-number // step) * step
