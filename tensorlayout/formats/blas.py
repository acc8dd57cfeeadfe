"""Matrices of BLAS: ``trans`` and the leading dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tensorlayout.errors import short_repr, truncate
from tensorlayout.formats.blocks import check_layout, raise_error
from tensorlayout.layout import Layout, check_integer, check_sizes

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
    """Return the layout of op(A) of `shape`, for `matrix`, a pair (trans, ld) or a `BlasMatrix`.

    ValueError for an `ld` below the length of a column of A, for a rank other than 2, and for
    ``"C"``, since a layout does not conjugate: of a real matrix it is ``"T"``.

    >>> from tensorlayout import formats
    >>> formats.blas.read((2, 3), ("T", 5))
    Layout.parse('(2,3):(5,1)')
    """
    sizes = check_sizes("shape", shape)
    if not isinstance(matrix, tuple) or len(matrix) not in (2, 3):
        raise_error(f"matrix must be a pair (trans, ld), got {short_repr(matrix)}", TypeError)
    trans, ld, offset = BlasMatrix(*matrix)
    if len(sizes) != 2:
        raise_error(f"a matrix has two dimensions, got shape {short_repr(sizes)}")
    word = trans.upper() if isinstance(trans, str) else trans
    if word not in ("N", "T"):
        raise_error(
            f"trans must be 'N' or 'T' ('C' of a real matrix is 'T'), got {short_repr(trans)}"
        )
    ld = check_integer("ld", ld)
    column = sizes[word == "T"]
    if ld < max(1, column):
        raise_error(
            f"ld must be at least {max(1, column)}, the length of a column, got {short_repr(ld)}"
        )
    strides = (1, ld) if word == "N" else (ld, 1)
    return Layout(sizes, strides, offset=offset)


def write(layout: Layout) -> BlasMatrix:
    """Return the `trans`, `ld` and offset of a matrix; of both that may be, that of its order.

    Padding is a gap for BLAS. ValueError where no elements of a row or a column are neighbours, and
    for a rank other than 2; TypeError for what is no layout.

    >>> from tensorlayout import Layout, formats
    >>> formats.blas.write(Layout.padded((2, 3), (2, 5)))
    BlasMatrix(trans='T', ld=5, offset=0)
    """
    if check_layout(layout).ndim != 2 or layout.is_tiled:
        raise_error(f"a matrix has two dimensions and no tiles, got {truncate(layout)}")
    trans_options = ("N", "T") if layout.minor_to_major[0] == 0 else ("T", "N")
    for trans in trans_options:
        if (ld := _leading_dimension(layout, int(trans == "T"))) is not None:
            return BlasMatrix(trans, ld, layout.offset)
    rule = "one stride must be 1 and the other at least the length of a column or row"
    return raise_error(f"{rule}, got {truncate(layout)}; to_layout() copies")


def _leading_dimension(layout: Layout, dim: int) -> int | None:
    """Return the stride across columns that run along `dim`; None where that is no column."""
    (size, column_count), (element_stride, ld) = (
        (numbers[dim], numbers[1 - dim]) for numbers in (layout.shape, layout.strides)
    )
    minimum = max(1, size)
    if size > 1 and column_count and element_stride != 1:
        return None
    if column_count > 1 and size:
        return ld if ld >= minimum else None
    return max(ld, minimum)
