"""What elementwise kernels walk over: the result and the operands, and the loop over them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tensorlayout.layout import Layout
from tensorlayout.layout.digits import TiledLoop
from tensorlayout.layout.loop import Axis, Loop

# Bytes of packs, of the widest type.
WIDTHS = (16, 4)

# Rows of fewer packs are not worth the access that their last elements take.
_FULL_PACKS = 8


@dataclass(frozen=True, slots=True)
class Operands:
    """The result and the operands, as kernels see them.

    Attributes:
        functor: of kernels/include/functions.cuh.
        types: the macros that name the types.
        result: its layout, and bytes of an element.
        operands: the same of each; None for scalars.
        alignments: powers of two that divide the addresses of the lowest slots, the result's first.
        padding: the content of one element of the result's padding, None to leave it alone.

    """

    functor: str
    types: tuple[tuple[str, str], ...]
    result: tuple[Layout, int]
    operands: tuple[tuple[Layout, int] | None, ...]
    alignments: tuple[int, ...]
    padding: bytes | None

    @property
    def count(self) -> int:
        """How many operands there are."""
        return len(self.operands)

    @property
    def layouts(self) -> list[Layout | None]:
        """Those of the result and of the operands."""
        return [self.result[0], *[None if o is None else o[0] for o in self.operands]]

    @property
    def widths(self) -> list[int]:
        """Bytes of an element of the result and of the operands; of scalars 0."""
        return [self.result[1], *[0 if o is None else o[1] for o in self.operands]]

    @property
    def widest(self) -> int:
        """Bytes of the widest type."""
        return int(dict(self.types)["WIDEST"])


def has_rows(loop: Loop) -> bool:
    """Whether the fastest axis is contiguous in all memories, or repeated in operands."""
    to, *steps = loop.axes[-1].strides
    return to == 1 and all(step in (0, 1) for step in steps)


def pack_of(loop: Loop, widest: int) -> int:
    """How many elements move at once: the most that alignment and the length of rows allow.

    `widest`: bytes of the widest type. Rows may end with single elements.
    """
    if not has_rows(loop):
        return 1
    row, strides = loop.axes[-1][:2]
    for pack in [width // widest for width in WIDTHS if width > widest]:
        aligned = all(
            stride == 0 or loop.grain(memory) % (pack * loop.widths[memory]) == 0
            for memory, stride in enumerate(strides)
        )
        whole = len(loop.axes) == 1 or row % pack == 0 or row >= _FULL_PACKS * pack
        if aligned and whole:
            return pack
    return 1


def loop_of(given: Operands, digits: TiledLoop | None) -> Loop:
    """All elements, with as few axes as can be. ValueError for elements not aligned.

    `digits`: of tiled layouts, without tails.
    """
    widths = given.widths
    for number, (width, alignment) in enumerate(zip(widths, given.alignments, strict=True)):
        if width and alignment % width:
            which = f"operand {number}" if number else "the result"
            msg = (
                f"{given.functor}: {which} begins at an address that is no multiple of its"
                f" {width} bytes an element; copy it first"
            )
            raise ValueError(msg)
    loop = digits or Loop.over(given.layouts, widths, given.alignments)
    if loop.count > 1:
        return loop
    return replace(loop, axes=(Axis(1, (1,) + (0,) * given.count),))
