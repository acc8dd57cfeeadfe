"""Matrices of BLAS: ``trans`` and the leading dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tensorlayout.errors import cut, shown
from tensorlayout.formats.blocks import checked, refuse
from tensorlayout.layout import Layout, checked_integer, checked_sizes

__all__ = ["BlasMatrix", "read", "write"]


class BlasMatrix(NamedTuple):
    """An operand op(A) of a routine of BLAS; all numbers count elements.

    `trans`: ``"N"`` for A itself, which is column-major, ``"T"`` for its transpose. `ld`: from one
    column of A to the next. `offset`: from where the pointer points, which is no argument.

    >>> from tensorlayout import Layout, formats
    >>> formats.blas.BlasMatrix("N", 2) == formats.blas.write(Layout.column_major((2, 3)))
    True
    """

    trans: str
    ld: int
    offset: int = 0


def read(shape: Sequence[int], matrix: tuple[str, int] | tuple[str, int, int]) -> Layout:
    """The layout of op(A) of `shape`, for `matrix`, a pair (trans, ld) or a `BlasMatrix`.

    ValueError for an `ld` below the length of a column of A, for a rank other than 2, and for
    ``"C"``, since a layout does not conjugate: of a real matrix it is ``"T"``.

    >>> from tensorlayout import formats
    >>> formats.blas.read((2, 3), ("T", 5))
    Layout.parse('(2,3):(5,1)')
    """
    sizes = checked_sizes("shape", shape)
    if not isinstance(matrix, tuple) or len(matrix) not in (2, 3):
        refuse(f"matrix must be a pair (trans, ld), got {shown(matrix)}", TypeError)
    trans, ld, offset = BlasMatrix(*matrix)
    if len(sizes) != 2:
        refuse(f"a matrix has two dimensions, got shape {shown(sizes)}")
    word = trans.upper() if isinstance(trans, str) else trans
    if word not in ("N", "T"):
        refuse(f"trans must be 'N' or 'T' ('C' of a real matrix is 'T'), got {shown(trans)}")
    ld = checked_integer("ld", ld)
    column = sizes[word == "T"]
    if ld < max(1, column):
        refuse(f"ld must be at least {max(1, column)}, the length of a column, got {shown(ld)}")
    strides = (1, ld) if word == "N" else (ld, 1)
    return Layout(sizes, strides, offset=offset)


def write(layout: Layout) -> BlasMatrix:
    """The `trans`, `ld` and offset of a matrix; of both that may be, that of its order.

    Padding is a gap for BLAS. ValueError where no elements of a row or a column are neighbours, and
    for a rank other than 2; TypeError for what is no layout.

    >>> from tensorlayout import Layout, formats
    >>> formats.blas.write(Layout.padded((2, 3), (2, 5)))
    BlasMatrix(trans='T', ld=5, offset=0)
    """
    if checked(layout).ndim != 2 or layout.is_tiled:
        refuse(f"a matrix has two dimensions and no tiles, got {cut(layout)}")
    ways = ("N", "T") if layout.minor_to_major[0] == 0 else ("T", "N")
    for trans in ways:
        if (ld := _leading_dimension(layout, int(trans == "T"))) is not None:
            return BlasMatrix(trans, ld, layout.offset)
    rule = "one stride must be 1 and the other at least the length of a column or row"
    return refuse(f"{rule}, got {cut(layout)}; to_layout() copies")


def _leading_dimension(layout: Layout, dim: int) -> int | None:
    """The stride across columns that run along `dim`; None where that is no column."""
    (size, across), (step, ld) = (
        (numbers[dim], numbers[1 - dim]) for numbers in (layout.shape, layout.strides)
    )
    least = max(1, size)
    if size > 1 and across and step != 1:
        return None
    if across > 1 and size:
        return ld if ld >= least else None
    return max(ld, least)
