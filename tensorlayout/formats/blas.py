"""Matrices as BLAS describes them: ``trans`` and the leading dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tensorlayout.errors import short_repr, truncate
from tensorlayout.formats.blocks import check_layout, raise_error
from tensorlayout.layout import Layout, check_integer, check_sizes

__all__ = ["BlasMatrix", "read", "write"]


class BlasMatrix(NamedTuple):
    """An operand op(A) of a BLAS routine, counted in elements.

    - `trans`: ``"N"`` for A itself, which is column-major, ``"T"`` for its transpose.
    - `ld`: distance between neighbouring columns of A.
    - `offset`: position of the first element; BLAS takes it as part of the pointer.

    >>> from tensorlayout import Layout, formats
    >>> formats.blas.BlasMatrix("N", 2) == formats.blas.write(Layout.column_major((2, 3)))
    True
    """

    trans: str
    ld: int
    offset: int = 0


def read(shape: Sequence[int], matrix: tuple[str, int] | tuple[str, int, int]) -> Layout:
    """Return the layout of the matrix op(A) that a BLAS routine reads.

    `shape`: rows and columns of op(A). `matrix`: a pair (trans, ld) or a `BlasMatrix`.

    Raises `ValueError` if the rank is not 2, if `ld` is less than the length of a column of A, and
    for ``"C"``, because a layout does not conjugate (for a real matrix use ``"T"``); `TypeError` if
    `matrix` is not a tuple of 2 or 3 items, or `ld` is not an integer.

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
    # A column of A is as long as a column of op(A) for N, and as a row of op(A) for T.
    column = sizes[word == "T"]
    if ld < max(1, column):
        raise_error(
            f"ld must be at least {max(1, column)}, the length of a column, got {short_repr(ld)}"
        )
    strides = (1, ld) if word == "N" else (ld, 1)
    return Layout(sizes, strides, offset=offset)


def write(layout: Layout) -> BlasMatrix:
    """Return `trans`, the leading dimension and the offset of a matrix for BLAS.

    If both values of `trans` describe `layout`, its dimension order decides. Padding becomes a gap.

    Raises `ValueError` if the rank is not 2, for tiles, and if neither rows nor columns have
    neighbouring elements; `TypeError` if `layout` is not a Layout.

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
    """Return the leading dimension if columns run along `dim`; None if they cannot."""
    # `size` is the length of a column of A.
    (size, column_count), (element_stride, ld) = (
        (numbers[dim], numbers[1 - dim]) for numbers in (layout.shape, layout.strides)
    )
    minimum = max(1, size)
    # Strides of dimensions of size 0 or 1 are never used, so they may have any value.
    if size > 1 and column_count and element_stride != 1:
        return None
    if column_count > 1 and size:
        return ld if ld >= minimum else None
    # BLAS rejects an ld below the length of a column even if there is only one column.
    return max(ld, minimum)
