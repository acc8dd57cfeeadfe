"""One row of the benchmark on a GPU: memory, views of it, an operation, and what is asked."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from benchmarks.gpu_operations import Operation

Shape = tuple[int, ...]

DTYPES = {1: "uint8", 2: "float16", 4: "float32", 8: "float64"}
WIDTH = {"bool": 1, "int32": 4, "int64": 8} | {name: width for width, name in DTYPES.items()}

KB, MB, GB = 2**10, 2**20, 2**30
SMALL, LARGE = 1 * MB, 256 * MB

# What a row is held against: a copy of as many bytes within the device, the same operation on
# packed operands, cuBLAS called directly, or the faster of CuPy and PyTorch.
COPY, FLAT, CUBLAS, FASTEST = "copy", "flat", "cuBLAS", "CuPy or PyTorch"


@dataclass(frozen=True)
class Operand:
    """Memory, row-major and packed, and the view of it that is an operand.

    Attributes:
        block: the shape of the memory.
        keep: how many elements of each row belong to the view; those behind are padding.
        axes: the permutation of the dimensions, then.
        flipped: dimensions that run backwards, then.
        to: the shape it is broadcast to, last.
        positions: "" for elements; for positions from 0 to below `below`, "any" at random, "sorted"
            along rows, each once in any "order", "numbers" in order, or each once in every row
            ("orders").

    """

    block: Shape
    dtype: str
    keep: int | None = None
    axes: Shape | None = None
    flipped: Shape = ()
    to: Shape | None = None
    positions: str = ""
    below: int = 0

    @property
    def kept(self) -> Shape:
        """The shape of the elements as they lie in memory."""
        return self.block if self.keep is None else (*self.block[:-1], self.keep)

    @property
    def shape(self) -> Shape:
        """The shape of the view."""
        if self.to is not None:
            return self.to
        return self.kept if self.axes is None else tuple(self.kept[d] for d in self.axes)

    @property
    def nbytes(self) -> int:
        """Bytes of its elements, each counted once."""
        return prod(self.kept) * WIDTH[self.dtype]

    @property
    def storage(self) -> int:
        """Bytes of the memory."""
        return prod(self.block) * WIDTH[self.dtype]


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes:
        target: the least share of the reference's speed, None without a target.
        reference: `COPY`, `FLAT`, `CUBLAS`, `FASTEST`, or the name of a library.
        on_host: whether the time of a call on the host is meant, not that on the device.
        floor: the fewest launches that can do it.
        moved: the fewest bytes that must move, where not all of the operands have to.

    """

    group: str
    name: str
    operation: Operation
    operands: tuple[Operand, ...]
    out: Operand
    priority: int
    target: float | None = None
    reference: str = COPY
    on_host: bool = False
    floor: int = 1
    moved: int | None = None

    @property
    def nbytes(self) -> int:
        """The fewest bytes that must move: each operand read once, the result written once."""
        if self.moved is not None:
            return self.moved
        return sum(x.nbytes for x in self.operands) + self.out.nbytes

    @property
    def storage(self) -> int:
        """Bytes of one set of operands and a result."""
        return sum(x.storage for x in self.operands) + self.out.storage


def sized(nbytes: int) -> str:
    """A size in words.

    >>> sized(64 * 1024), sized(8 * 2**30)
    ('64 KB', '8 GB')
    """
    for unit, scale in (("GB", GB), ("MB", MB), ("KB", KB)):
        if nbytes >= scale:
            return f"{nbytes / scale:.3g} {unit}"
    return f"{nbytes} B"
