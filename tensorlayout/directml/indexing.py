"""Operators at positions given by data: reads (GATHER_…) and writes (SCATTER_…).

A position outside raises IndexError, and nothing is read or written there; only GATHER reads the
nearest position instead. Negative positions count from the end; signed indices require feature
level 3_0. If several updates have the same position, the last one in index order wins, or
``duplicates="error"`` rejects them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tensorlayout.directml import members
from tensorlayout.directml.constants import check_range
from tensorlayout.directml.operator_desc import (
    OperatorDesc,
    check_tensor,
    last_sizes,
    rank_without_leading_ones,
    replace_size,
)
from tensorlayout.directml.operators import HIGHEST, run_operator, spec_of, view_reshaped
from tensorlayout.directml.tensor_desc import TensorDesc
from tensorlayout.functions import dispatch
from tensorlayout.functions.creation import arange
from tensorlayout.functions.manipulation import reshape
from tensorlayout.functions.searching import where
from tensorlayout.functions.sorting import sort
from tensorlayout.plan import CopyScatter, Gather
from tensorlayout.support.interning import cached_property
from tensorlayout.tensor import Tensor

__all__ = [
    "GatherElementsOperatorDesc",
    "GatherND1OperatorDesc",
    "GatherNDOperatorDesc",
    "GatherOperatorDesc",
    "ScatterElementsOperatorDesc",
    "ScatterNDOperatorDesc",
    "ScatterOperatorDesc",
    "gather",
    "gather_elements",
    "gather_nd",
    "gather_nd1",
    "scatter",
    "scatter_elements",
    "scatter_nd",
]


class GatherOperatorDesc(OperatorDesc, operator="GATHER"):
    """DML_GATHER_OPERATOR_DESC: what `gather` takes.

    >>> from tensorlayout.directml import GatherOperatorDesc, TensorDesc
    >>> x, at = TensorDesc("FLOAT32", (4, 3)), TensorDesc("UINT32", (1, 2))
    >>> desc = GatherOperatorDesc(input=x, indices=at, axis=0, index_dimensions=1)
    >>> desc.validate().output.sizes
    (2, 3)
    """

    input: TensorDesc
    indices: TensorDesc
    output: TensorDesc | None = None
    axis: members.Axis
    index_dimensions: int
    _plan = Gather("GATHER", clamps=True)
    _allocates_output = True

    def _output_sizes(self) -> tuple[int, ...]:
        rank, count = self.input.rank, self.index_dimensions
        check_tensor("IndicesTensor", self.indices, (None,) * rank)
        check_range("IndexDimensions", count, 0, rank)
        unpadded_sizes = self._unpadded_result_sizes(
            last_sizes("IndicesTensor", self.indices.sizes, count, "IndexDimensions")
        )
        # The result has input rank - 1 + IndexDimensions dimensions; leading ones of the input do
        # not count, since they can be dropped.
        input_rank = rank_without_leading_ones(self.input)
        member = "InputTensor: the rank without leading ones + IndexDimensions"
        check_range(member, input_rank + count, 0, rank + 1, ", DimensionCount + 1")
        return _pad_rank(last_sizes("OutputTensor", unpadded_sizes, rank, "DimensionCount"), rank)

    def _unpadded_result_sizes(self, index_sizes: tuple[int, ...]) -> tuple[int, ...]:
        """Return the sizes of the result before its rank is adjusted."""
        sizes, axis = self.input.sizes, self.axis
        return sizes[:axis] + index_sizes + sizes[axis + 1 :]

    def _execute(self, out: Tensor | None, x: Tensor, indices: Tensor) -> Tensor:
        assert self.output is not None
        # Without index dimensions there is one position; it is kept as a list of one.
        index_sizes = indices.shape[indices.ndim - self.index_dimensions :] or (1,)
        positions = view_reshaped(indices, index_sizes)
        destination = (
            None if out is None else view_reshaped(out, self._unpadded_result_sizes(index_sizes))
        )
        # False: the dimensions of the positions take the place of the axis.
        key = (x.spec, (self.axis,), False, positions.spec)
        gathered = dispatch.call_into(destination, self._plan, key, (x, positions))
        return view_reshaped(gathered, self.output.sizes) if out is None else out


def gather(
    x: Tensor,
    indices: Tensor,
    axis: int,
    index_dimensions: int,
    *,
    out: Tensor | None = None,
    feature_level: str | int = HIGHEST,
) -> Tensor:
    """Return `x` with dimension `axis` replaced by the elements at `indices`: GATHER.

    - `indices`: has the rank of `x`. Its last `index_dimensions` dimensions replace `axis`; the
      others must have size 1.

    The result has the rank of `x`: surplus leading dimensions, of size 1, are removed, and missing
    ones added. A position outside reads the nearest one inside (DirectML only guarantees that
    nothing outside is read).

    Returns a tensor packed in the order of `x`, or `out`.

    Raises `TypeError` for data types, and `ValueError` for ranks and sizes, that `feature_level`
    does not allow or that do not fit each other.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> directml.gather(tl.asarray([[1, 2], [3, 4]]), tl.asarray([[1, 1, 0]]), 0, 1)
    Tensor([[3, 4],
            [3, 4],
            [1, 2]], dtype=int64, device='cpu')
    """
    return run_operator(
        GatherOperatorDesc, (x, indices, axis, index_dimensions), out, feature_level
    )


class GatherElementsOperatorDesc(OperatorDesc, operator="GATHER_ELEMENTS"):
    """DML_GATHER_ELEMENTS_OPERATOR_DESC: what `gather_elements` takes.

    >>> from tensorlayout.directml import GatherElementsOperatorDesc, TensorDesc
    >>> x = TensorDesc("FLOAT32", (2, 3))
    >>> desc = GatherElementsOperatorDesc(input=x, indices=TensorDesc("UINT32", (1, 3)), axis=0)
    >>> desc.validate().output.sizes
    (1, 3)
    """

    input: TensorDesc
    indices: TensorDesc
    output: TensorDesc | None = None
    axis: members.Axis
    _plan = Gather("GATHER_ELEMENTS")
    _allocates_output = True

    def _output_sizes(self) -> tuple[int, ...]:
        check_tensor("IndicesTensor", self.indices, replace_size(self.input.sizes, self.axis, None))
        return self.indices.sizes

    def _execute(self, out: Tensor | None, x: Tensor, indices: Tensor) -> Tensor:
        # None: each line along the axis has positions of its own.
        key = (x.spec, (self.axis,), None, indices.spec)
        return dispatch.call_into(out, self._plan, key, (x, indices))


def gather_elements(
    x: Tensor,
    indices: Tensor,
    axis: int,
    *,
    out: Tensor | None = None,
    feature_level: str | int = HIGHEST,
) -> Tensor:
    """Return the element of `x` at each position of `indices` along `axis`: GATHER_ELEMENTS.

    `indices` has the sizes of `x` except along `axis`, where any size is allowed.

    Returns a tensor packed in the order of `x`, or `out`.

    Raises `IndexError` for a position outside; `TypeError` for data types, and `ValueError` for
    ranks and sizes, that `feature_level` does not allow or that do not fit each other.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> directml.gather_elements(tl.asarray([[1, 2], [3, 4]]), tl.asarray([[1, 0]]), 0)
    Tensor([[3, 2]], dtype=int64, device='cpu')
    """
    return run_operator(GatherElementsOperatorDesc, (x, indices, axis), out, feature_level)


class ScatterOperatorDesc(OperatorDesc, operator="SCATTER"):
    """DML_SCATTER_OPERATOR_DESC, or DML_SCATTER_ELEMENTS_OPERATOR_DESC: what `scatter` takes.

    `duplicates`, how to handle equal positions, is an addition to DirectML.

    >>> from tensorlayout.directml import ScatterOperatorDesc, TensorDesc
    >>> x, y, at = TensorDesc("INT8", (4,)), TensorDesc("INT8", (2,)), TensorDesc("UINT32", (2,))
    >>> desc = ScatterOperatorDesc(input=x, indices=at, updates=y, axis=0)
    >>> desc.validate().output.sizes
    (4,)
    """

    input: TensorDesc
    indices: TensorDesc
    updates: TensorDesc
    output: TensorDesc | None = None
    axis: members.Axis
    duplicates: members.Duplicates = "last"
    _plan = CopyScatter("SCATTER")
    _allocates_output = True

    def _output_sizes(self) -> tuple[int, ...]:
        check_tensor("IndicesTensor", self.indices, replace_size(self.input.sizes, self.axis, None))
        check_tensor("UpdatesTensor", self.updates, self.indices.sizes, self.input.data_type)
        return self.input.sizes

    def _execute(self, out: Tensor | None, x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
        if self.duplicates == "error":
            _check_distinct_positions((indices,), (x.shape[self.axis],), self.axis)
        key = (x.spec, updates.spec, (self.axis,), None, indices.spec)
        return dispatch.call_into(out, self._plan, key, (x, updates, indices))


def scatter(
    x: Tensor,
    indices: Tensor,
    updates: Tensor,
    axis: int,
    *,
    duplicates: members.Duplicates = "last",
    out: Tensor | None = None,
    feature_level: str | int = HIGHEST,
) -> Tensor:
    """Return a copy of `x` with `updates` written at `indices` along `axis`: SCATTER.

    - `indices`, `updates`: have the sizes of `x` except along `axis`, where any size is allowed.
    - `duplicates`: of equal positions the last one in index order wins; ``"error"`` raises
      ValueError for them, because DirectML calls them invalid.

    Returns a tensor packed in the order of `x`, or `out`.

    Raises `IndexError` for a position outside; `out` may have been changed by then. Also raises
    `TypeError` for data types, and `ValueError` for ranks and sizes, that `feature_level` does not
    allow or that do not fit each other.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> directml.scatter(tl.zeros(4), tl.asarray([2, 0]), tl.asarray([7.0, 8.0]), 0)
    Tensor([8., 0., 7., 0.], dtype=float64, device='cpu')
    """
    return run_operator(
        ScatterOperatorDesc, (x, indices, updates, axis, duplicates), out, feature_level
    )


scatter_elements = scatter
ScatterElementsOperatorDesc = ScatterOperatorDesc


# --- coordinate tuples --------------------------------------------------------------------------


class _TupleAddressing(NamedTuple):
    """Relevant sizes of the tensor and of the indices, and dimensions that the tuples address."""

    source_sizes: tuple[int, ...]
    index_sizes: tuple[int, ...]
    batch_count: int

    @property
    def sizes_of_tuples_then_block(self) -> tuple[int, ...]:
        """Sizes of all blocks together; a single tuple counts as a list of one."""
        return (self.index_sizes[:-1] or (1,)) + self.source_sizes[
            self.batch_count + self.index_sizes[-1] :
        ]

    def index_arrays(self, indices: Tensor) -> tuple[Any, ...]:
        """Return one index array per coordinate, without the irrelevant dimensions."""
        index_sizes = self.index_sizes
        # A single tuple becomes a list of one, because integers would return views.
        leading_rank = max(len(index_sizes) - 1, 1)
        tuples = view_reshaped(indices, (1,) * (leading_rank + 1 - len(index_sizes)) + index_sizes)
        # A batch dimension is addressed by its own numbers: arange along that dimension of the
        # indices, which broadcasts against the coordinates from the tuples. Positions are then
        # (batch…, coordinates…).
        lines = []
        for d, n in enumerate(index_sizes[: self.batch_count]):
            batch_numbers = arange(n, device=indices.device)
            lines.append(view_reshaped(batch_numbers, replace_size((1,) * leading_rank, d, n)))
        return (*lines, *(tuples[..., i] for i in range(index_sizes[-1])))


class _CoordinateOperator(OperatorDesc):
    input: TensorDesc
    indices: TensorDesc
    input_dimension_count: int
    indices_dimension_count: int

    @cached_property
    def _addressing(self) -> _TupleAddressing:
        """Rules of coordinate tuples for this operator."""
        rank, batch = self.input.rank, getattr(self, "batch_dimension_count", 0)
        check_tensor("IndicesTensor", self.indices, (None,) * rank)
        sizes: list[tuple[int, ...]] = []
        for prefix, desc in ("Input", self.input), ("Indices", self.indices):
            count = getattr(self, f"{prefix.lower()}_dimension_count")
            check_range(f"{prefix}DimensionCount", count, 1, rank)
            sizes.append(
                last_sizes(f"{prefix}Tensor", desc.sizes, count, f"{prefix}DimensionCount")
            )
        addressing = _TupleAddressing(sizes[0], sizes[1], batch)
        check_range("BatchDimensionCount", batch, 0, min(map(len, sizes)) - 1)
        member = "IndicesTensor: the last size, of coordinate tuples,"
        check_range(member, addressing.index_sizes[-1], 1, len(addressing.source_sizes) - batch)
        if addressing.source_sizes[:batch] != addressing.index_sizes[:batch]:
            rule = f"batch sizes must be {addressing.source_sizes[:batch]}"
            raise ValueError(f"IndicesTensor: {rule}, got {addressing.index_sizes[:batch]}")
        member = "IndicesTensor: the number of dimensions of all blocks"
        check_range(member, len(addressing.sizes_of_tuples_then_block), 1, rank, ", DimensionCount")
        return addressing


class GatherNDOperatorDesc(_CoordinateOperator, operator="GATHER_ND"):
    """DML_GATHER_ND_OPERATOR_DESC: what `gather_nd` takes.

    >>> from tensorlayout.directml import GatherNDOperatorDesc, TensorDesc
    >>> x, at = TensorDesc("FLOAT32", (2, 3)), TensorDesc("UINT32", (4, 2))
    >>> counts = {"input_dimension_count": 2, "indices_dimension_count": 2}
    >>> desc = GatherNDOperatorDesc(input=x, indices=at, **counts)
    >>> desc.validate().output.sizes
    (1, 4)
    """

    output: TensorDesc | None = None
    _plan = Gather("GATHER_ND")
    _allocates_output = True

    def _output_sizes(self) -> tuple[int, ...]:
        return _pad_rank(self._addressing.sizes_of_tuples_then_block, self.input.rank)

    def _execute(self, out: Tensor | None, x: Tensor, indices: Tensor) -> Tensor:
        assert self.output is not None
        addressing = self._addressing
        source = view_reshaped(x, addressing.source_sizes)
        positions = addressing.index_arrays(indices)
        destination = (
            None if out is None else view_reshaped(out, addressing.sizes_of_tuples_then_block)
        )
        # Each of the first dimensions of the source has one array of positions.
        key = (source.spec, tuple(range(len(positions))), False, *map(spec_of, positions))
        gathered = dispatch.call_into(destination, self._plan, key, (source, *positions))
        return view_reshaped(gathered, self.output.sizes) if out is None else out


class GatherND1OperatorDesc(GatherNDOperatorDesc, operator="GATHER_ND1"):
    """DML_GATHER_ND1_OPERATOR_DESC: what `gather_nd1` takes.

    >>> from tensorlayout.directml import GatherND1OperatorDesc, TensorDesc
    >>> x, at = TensorDesc("FLOAT32", (2, 3)), TensorDesc("UINT32", (2, 1))
    >>> counts = {"input_dimension_count": 2, "indices_dimension_count": 2}
    >>> desc = GatherND1OperatorDesc(input=x, indices=at, **counts, batch_dimension_count=1)
    >>> desc.validate().output.sizes
    (1, 2)
    """

    batch_dimension_count: int
    _plan = Gather("GATHER_ND1")


def gather_nd(
    x: Tensor,
    indices: Tensor,
    input_dimension_count: int,
    indices_dimension_count: int,
    *,
    out: Tensor | None = None,
    feature_level: str | int = HIGHEST,
) -> Tensor:
    """Return the blocks of `x` at coordinate tuples, the last dimension of `indices`: GATHER_ND.

    `input_dimension_count`, `indices_dimension_count`: how many of the last dimensions of `x` and
    `indices`, which have equal ranks, are used, including that of the tuples.

    Returns a tensor packed in the order of `x`, or `out`.

    Raises `IndexError` for a coordinate outside; `TypeError` for data types, and `ValueError` for
    ranks and sizes, that `feature_level` does not allow or that do not fit each other.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> directml.gather_nd(tl.asarray([[1, 2], [3, 4]]), tl.asarray([[1, 0], [0, 1]]), 2, 2)
    Tensor([[3, 2]], dtype=int64, device='cpu')
    """
    values = (x, indices, input_dimension_count, indices_dimension_count)
    return run_operator(GatherNDOperatorDesc, values, out, feature_level)


def gather_nd1(
    x: Tensor,
    indices: Tensor,
    input_dimension_count: int,
    indices_dimension_count: int,
    batch_dimension_count: int,
    *,
    out: Tensor | None = None,
    feature_level: str | int = HIGHEST,
) -> Tensor:
    """Return the blocks of `x` at coordinate tuples, separately per batch: GATHER_ND1.

    - `indices`, `input_dimension_count`, `indices_dimension_count`: as for `gather_nd`, batches
      included.
    - `batch_dimension_count`: number of those dimensions, from the left, that are batches.

    Returns a tensor packed in the order of `x`, or `out`.

    Raises `IndexError` for a coordinate outside; `TypeError` for data types, and `ValueError` for
    ranks and sizes, that `feature_level` does not allow or that do not fit each other.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> x = tl.asarray([[10, 11], [20, 21]])
    >>> directml.gather_nd1(x, tl.asarray([[1], [0]]), 2, 2, 1)
    Tensor([[11, 20]], dtype=int64, device='cpu')
    """
    values = (x, indices, input_dimension_count, indices_dimension_count, batch_dimension_count)
    return run_operator(GatherND1OperatorDesc, values, out, feature_level)


class ScatterNDOperatorDesc(_CoordinateOperator, operator="SCATTER_ND"):
    """DML_SCATTER_ND_OPERATOR_DESC: what `scatter_nd` takes, and `duplicates`, an addition.

    >>> from tensorlayout.directml import ScatterNDOperatorDesc, TensorDesc
    >>> x, y = TensorDesc("INT8", (2, 3)), TensorDesc("INT8", (1, 4))
    >>> at = TensorDesc("UINT32", (4, 2))
    >>> counts = {"input_dimension_count": 2, "indices_dimension_count": 2}
    >>> desc = ScatterNDOperatorDesc(input=x, indices=at, updates=y, **counts)
    >>> desc.validate().output.sizes
    (2, 3)
    """

    updates: TensorDesc
    output: TensorDesc | None = None
    duplicates: members.Duplicates = "last"
    _plan = CopyScatter("SCATTER_ND")

    def _output_sizes(self) -> tuple[int, ...]:
        sizes = _pad_rank(self._addressing.sizes_of_tuples_then_block, self.input.rank)
        check_tensor("UpdatesTensor", self.updates, sizes, self.input.data_type)
        return self.input.sizes

    def _execute(self, out: Tensor, x: Tensor, indices: Tensor, updates: Tensor) -> None:
        addressing = self._addressing
        key = addressing.index_arrays(indices)
        # Before anything is written, so that `out` is unchanged by the error.
        if self.duplicates == "error":
            _check_distinct_positions(key, addressing.source_sizes[: len(key)])
        source = view_reshaped(x, addressing.source_sizes)
        destination = view_reshaped(out, addressing.source_sizes)
        values = view_reshaped(updates, addressing.sizes_of_tuples_then_block)
        plan_key = (source.spec, values.spec, tuple(range(len(key))), False, *map(spec_of, key))
        dispatch.call_into(destination, self._plan, plan_key, (source, values, *key))


def scatter_nd(
    x: Tensor,
    indices: Tensor,
    updates: Tensor,
    input_dimension_count: int,
    indices_dimension_count: int,
    *,
    duplicates: members.Duplicates = "last",
    out: Tensor | None = None,
    feature_level: str | int = HIGHEST,
) -> Tensor:
    """Return a copy of `x` with blocks of `updates` written at coordinate tuples: SCATTER_ND.

    - `indices`, `input_dimension_count`, `indices_dimension_count`: as for `gather_nd`.
    - `updates`: has the sizes that `gather_nd` would return.
    - `duplicates`: of equal tuples the last one in index order wins; ``"error"`` raises ValueError.

    Returns a tensor packed in the order of `x`, or `out`.

    Raises `IndexError` for a coordinate outside; `TypeError` for data types, and `ValueError` for
    ranks and sizes, that `feature_level` does not allow or that do not fit each other.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> x, tuples = tl.asarray([[1, 2], [3, 4]]), tl.asarray([[1, 0], [0, 1]])
    >>> directml.scatter_nd(x, tuples, tl.asarray([[8, 9]]), 2, 2)
    Tensor([[1, 9],
            [8, 4]], dtype=int64, device='cpu')
    """
    values = (x, indices, input_dimension_count, indices_dimension_count, updates, duplicates)
    return run_operator(ScatterNDOperatorDesc, values, out, feature_level)


def _pad_rank(sizes: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """Return sizes with leading ones, up to a rank."""
    return (1,) * (rank - len(sizes)) + sizes


def _nonnegative_positions(indices: Tensor, size: int) -> Tensor:
    """Return positions inside the dimension, with negative ones counted from the front."""
    if indices.dtype.kind == "u":
        return indices.astype("uint64")
    signed = indices.astype("int64")
    return where(signed < 0, signed + size, signed)


def _check_distinct_positions(
    index_arrays: Sequence[Tensor], sizes: Sequence[int], axis: int | None = None
) -> None:
    """Raise ValueError for repeated positions along `axis`, or repeated tuples without an axis.

    Positions outside are left to the write, which raises IndexError.
    """
    # Negative positions must become what they stand for: -1 and n - 1 are the same element.
    positions = [
        _nonnegative_positions(p, size) for p, size in zip(index_arrays, sizes, strict=True)
    ]
    if not all(((p >= 0) & (p < n)).all() for p, n in zip(positions, sizes, strict=True)):
        return
    # The row-major number of each tuple, so that equal tuples are equal numbers. Sorted, equal
    # numbers are neighbours. Along an axis each line is sorted by itself, because lines do not
    # meet.
    number: Any = 0
    for position, size in zip(positions, sizes, strict=True):
        number = number * size + position
    sorted_numbers = (
        sort(reshape(number, (-1,)), axis=0) if axis is None else sort(number, axis=axis)
    )
    leading_slices = (slice(None),) * (axis or 0)
    successors = sorted_numbers[(*leading_slices, slice(1, None))]
    is_repeated = successors == sorted_numbers[(*leading_slices, slice(0, -1))]
    if is_repeated.any():
        repeated_number = int(successors[is_repeated][0])
        repeated = (
            repeated_number
            if axis is not None
            else tuple(map(int, np.unravel_index(repeated_number, sizes)))
        )
        rule = "positions must differ with duplicates='error'"
        raise ValueError(f"IndicesTensor: {rule}, got {repeated} again")
