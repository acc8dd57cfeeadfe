"""What elementwise kernels walk over: the memories of a call, and their merged dimensions."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from tensorlayout.layout import Layout, coalesce

# Bytes of packs, of the widest type.
WIDTHS = (16, 4)

# Rows of fewer packs are not worth the access that their last elements take.
_FULL_PACKS = 8


@dataclass(frozen=True, slots=True)
class Memories:
    """The result and the operands, as kernels see them.

    Attributes:
        functor: of kernels/functions.cuh.
        types: the macros that name the types.
        result: its layout, and bytes of an element.
        operands: the same of each; None for scalars.
        alignments: powers of two that divide the addresses of the lowest slots, the result's first.
        padding: the content of one element of the result's padding, None to leave it alone.
        block: the result's layout as it is, if `result` is another for the same slots.

    """

    functor: str
    types: tuple[tuple[str, str], ...]
    result: tuple[Layout, int]
    operands: tuple[tuple[Layout, int] | None, ...]
    alignments: tuple[int, ...]
    padding: bytes | None
    block: Layout | None = None

    @property
    def padded(self) -> Layout:
        """The layout whose padding is written."""
        return self.result[0] if self.block is None else self.block

    @property
    def widest(self) -> int:
        """Bytes of the widest type."""
        return int(dict(self.types)["WIDEST"])


@dataclass(frozen=True, slots=True)
class Walk:
    """All elements: sizes, slowest in the result first, and for each memory strides in elements.

    Attributes:
        sizes: at least one; the result runs forwards along each.
        strides: of the result and of each operand; of scalars zeros.
        firsts: bytes from the lowest slot to the first element.
        alignments: powers of two that divide the addresses of the lowest slots.
        grains: what divides the addresses of all rows' first elements; of scalars 0.
        itemsizes: bytes of an element; of scalars 0.

    """

    sizes: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]
    firsts: tuple[int, ...]
    alignments: tuple[int, ...]
    grains: tuple[int, ...]
    itemsizes: tuple[int, ...]

    @property
    def furthest(self) -> int:
        """The largest distance from the first element that any memory has, in elements."""
        spans = [
            sum((n - 1) * abs(s) for n, s in zip(self.sizes, steps, strict=True))
            for steps in self.strides
        ]
        return max(spans)

    @property
    def steps(self) -> tuple[int, ...]:
        """Of the operands, along the fastest dimension."""
        return tuple([steps[-1] for steps in self.strides[1:]])

    @property
    def has_rows(self) -> bool:
        """Whether the fastest dimension is contiguous in all memories, or repeated in operands."""
        return self.strides[0][-1] == 1 and all(step in (0, 1) for step in self.steps)

    def pack(self, widest: int) -> int:
        """How many elements move at once: the most that alignment and the length of rows allow."""
        if not self.has_rows:
            return 1
        row = self.sizes[-1]
        for pack in [width // widest for width in WIDTHS if width > widest]:
            aligned = all(
                steps[-1] == 0 or grain % (pack * itemsize) == 0
                for steps, grain, itemsize in zip(
                    self.strides, self.grains, self.itemsizes, strict=True
                )
            )
            whole = len(self.sizes) == 1 or row % pack == 0 or row >= _FULL_PACKS * pack
            if aligned and whole:
                return pack
        return 1


def walk_of(memories: Memories) -> Walk:
    """All elements, with as few dimensions as can be. ValueError for elements not aligned."""
    backwards = [d for d, stride in enumerate(memories.result[0].strides) if stride < 0]
    present = [memories.result, *[o for o in memories.operands if o is not None]]
    turned = [layout.flip(backwards) for layout, _ in present]
    merged = iter(coalesce(*[layout for layout in turned if layout is not None]))
    sizes: tuple[int, ...] = ()
    strides, firsts, grains, itemsizes = [], [], [], []
    everything = zip((memories.result, *memories.operands), memories.alignments, strict=True)
    for number, (each, alignment) in enumerate(everything):
        if each is None:
            steps, first, itemsize, grain = (0,) * len(sizes), 0, 0, 0
        else:
            layout, itemsize = next(merged), each[1]
            sizes, steps = layout.shape, layout.strides
            first = layout.offset * itemsize
            grain = gcd(alignment, first, *[s * itemsize for s in steps[:-1]])
            if alignment % itemsize:
                which = f"operand {number}" if number else "the result"
                msg = (
                    f"{memories.functor}: {which} begins at an address that is no multiple of its"
                    f" {itemsize} bytes an element; copy it first"
                )
                raise ValueError(msg)
        if not sizes:  # one element
            steps = (int(number == 0),)
        strides.append(steps)
        firsts.append(first)
        grains.append(grain)
        itemsizes.append(itemsize)
    made = (tuple(strides), tuple(firsts), memories.alignments, tuple(grains), tuple(itemsizes))
    return Walk(sizes or (1,), *made)
