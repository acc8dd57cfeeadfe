"""Operators at positions that are data: reads (GATHER_…) and writes (SCATTER_…).

Positions outside raise IndexError, and nothing is read or written there, but for GATHER, which
reads the nearest position instead. Negative ones count from the end; signed indices begin at
feature level 3_0. Where several updates go to one position, the last one in index order wins;
``duplicates="error"`` refuses them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tensorlayout.directml import members
from tensorlayout.directml.constants import check_between
from tensorlayout.directml.operator_desc import OperatorDesc, check, effective_rank, last, with_size
from tensorlayout.directml.operators import HIGHEST, run, seen_as, specs_of
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
    _makes_output = True

    def _sizes(self) -> tuple[int, ...]:
        rank, count = self.input.rank, self.index_dimensions
        check("IndicesTensor", self.indices, (None,) * rank)
        check_between("IndexDimensions", count, 0, rank)
        full = self._spread(last("IndicesTensor", self.indices.sizes, count, "IndexDimensions"))
        own = effective_rank(self.input)
        member = "InputTensor: the rank without leading ones + IndexDimensions"
        check_between(member, own + count, 0, rank + 1, ", DimensionCount + 1")
        return _padded(last("OutputTensor", full, rank, "DimensionCount"), rank)

    def _spread(self, places: tuple[int, ...]) -> tuple[int, ...]:
        """The sizes of the result before it is brought to the rank."""
        sizes, axis = self.input.sizes, self.axis
        return sizes[:axis] + places + sizes[axis + 1 :]

    def _run(self, out: Tensor | None, x: Tensor, indices: Tensor) -> Tensor:
        assert self.output is not None
        places = indices.shape[indices.ndim - self.index_dimensions :] or (1,)
        positions = seen_as(indices, places)
        into = None if out is None else seen_as(out, self._spread(places))
        key = (x.spec, (self.axis,), False, positions.spec)
        found = dispatch.call_into(into, self._plan, key, (x, positions))
        return seen_as(found, self.output.sizes) if out is None else out


def gather(
    x: Tensor,
    indices: Tensor,
    axis: int,
    index_dimensions: int,
    *,
    out: Tensor | None = None,
    feature_level: str | int = HIGHEST,
) -> Tensor:
    """`x` with dimension `axis` replaced by what `indices` name there: GATHER.

    `indices`: of the rank of `x`, whose last `index_dimensions` count; the others have size 1. The
    result has the rank of `x`: surplus leading dimensions, of size 1, are dropped, missing ones
    added. A position outside reads the nearest one inside (DirectML promises no more than that
    nothing else is read). Result: packed in the order of `x`, or `out`. TypeError and ValueError
    for data types and sizes that `feature_level` does not allow.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> directml.gather(tl.asarray([[1, 2], [3, 4]]), tl.asarray([[1, 1, 0]]), 0, 1)
    Tensor([[3, 4],
            [3, 4],
            [1, 2]], dtype=int64, device='cpu')
    """
    return run(GatherOperatorDesc, (x, indices, axis, index_dimensions), out, feature_level)


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
    _makes_output = True

    def _sizes(self) -> tuple[int, ...]:
        check("IndicesTensor", self.indices, with_size(self.input.sizes, self.axis, None))
        return self.indices.sizes

    def _run(self, out: Tensor | None, x: Tensor, indices: Tensor) -> Tensor:
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
    """For each position in `indices`, the element there on its line along `axis`: GATHER_ELEMENTS.

    `indices` has the sizes of `x`, but for `axis`, where it is free. IndexError for a position
    outside. Result: packed in the order of `x`, or `out`. TypeError and ValueError for data types
    and sizes that `feature_level` does not allow.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> directml.gather_elements(tl.asarray([[1, 2], [3, 4]]), tl.asarray([[1, 0]]), 0)
    Tensor([[3, 2]], dtype=int64, device='cpu')
    """
    return run(GatherElementsOperatorDesc, (x, indices, axis), out, feature_level)


class ScatterOperatorDesc(OperatorDesc, operator="SCATTER"):
    """DML_SCATTER_OPERATOR_DESC, or DML_SCATTER_ELEMENTS_OPERATOR_DESC: what `scatter` takes.

    `duplicates` is ours: what becomes of equal positions.

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
    _makes_output = True

    def _sizes(self) -> tuple[int, ...]:
        check("IndicesTensor", self.indices, with_size(self.input.sizes, self.axis, None))
        check("UpdatesTensor", self.updates, self.indices.sizes, self.input.data_type)
        return self.input.sizes

    def _run(self, out: Tensor | None, x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
        if self.duplicates == "error":
            _refuse_equal((indices,), (x.shape[self.axis],), self.axis)
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
    """A copy of `x` with `updates` written at `indices`, on their line along `axis`: SCATTER.

    `indices`, `updates`: of the sizes of `x`, but for `axis`, where they are free. Of equal
    positions the last one in index order wins; ``duplicates="error"`` raises ValueError for them,
    since DirectML calls them invalid. IndexError for a position outside; `out` may have been
    written to by then. Result: packed in the order of `x`, or `out`. TypeError and ValueError for
    data types and sizes that `feature_level` does not allow.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> directml.scatter(tl.zeros(4), tl.asarray([2, 0]), tl.asarray([7.0, 8.0]), 0)
    Tensor([8., 0., 7., 0.], dtype=float64, device='cpu')
    """
    return run(ScatterOperatorDesc, (x, indices, updates, axis, duplicates), out, feature_level)


scatter_elements = scatter
ScatterElementsOperatorDesc = ScatterOperatorDesc


# --- coordinate tuples --------------------------------------------------------------------------


class _Addressed(NamedTuple):
    """The sizes that count: of the tensor, of the indices, and of what the tuples address."""

    source: tuple[int, ...]
    indices: tuple[int, ...]
    batch: int

    @property
    def blocks(self) -> tuple[int, ...]:
        """The sizes of all blocks together: one tuple is a list of one."""
        return (self.indices[:-1] or (1,)) + self.source[self.batch + self.indices[-1] :]

    def key_of(self, indices: Tensor) -> tuple[Any, ...]:
        """What to index the tensor with, cut to the sizes that count: one for each coordinate."""
        own = self.indices
        lead = max(len(own) - 1, 1)  # one tuple is a list of one: integers would make views
        tuples = seen_as(indices, (1,) * (lead + 1 - len(own)) + own)
        lines = []
        for d, n in enumerate(own[: self.batch]):
            line = arange(n, device=indices.device)
            lines.append(seen_as(line, with_size((1,) * lead, d, n)))
        return (*lines, *(tuples[..., i] for i in range(own[-1])))


class _ByTuples(OperatorDesc):
    input: TensorDesc
    indices: TensorDesc
    input_dimension_count: int
    indices_dimension_count: int

    @cached_property
    def _addressed(self) -> _Addressed:
        """The rules of coordinate tuples."""
        rank, batch = self.input.rank, getattr(self, "batch_dimension_count", 0)
        check("IndicesTensor", self.indices, (None,) * rank)
        sizes: list[tuple[int, ...]] = []
        for kind, desc in ("Input", self.input), ("Indices", self.indices):
            count = getattr(self, f"{kind.lower()}_dimension_count")
            check_between(f"{kind}DimensionCount", count, 1, rank)
            sizes.append(last(f"{kind}Tensor", desc.sizes, count, f"{kind}DimensionCount"))
        found = _Addressed(sizes[0], sizes[1], batch)
        check_between("BatchDimensionCount", batch, 0, min(map(len, sizes)) - 1)
        member = "IndicesTensor: the last size, of coordinate tuples,"
        check_between(member, found.indices[-1], 1, len(found.source) - batch)
        if found.source[:batch] != found.indices[:batch]:
            rule = f"batch sizes must be {found.source[:batch]}"
            raise ValueError(f"IndicesTensor: {rule}, got {found.indices[:batch]}")
        member = "IndicesTensor: the number of dimensions of all blocks"
        check_between(member, len(found.blocks), 1, rank, ", DimensionCount")
        return found


class GatherNDOperatorDesc(_ByTuples, operator="GATHER_ND"):
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
    _makes_output = True

    def _sizes(self) -> tuple[int, ...]:
        return _padded(self._addressed.blocks, self.input.rank)

    def _run(self, out: Tensor | None, x: Tensor, indices: Tensor) -> Tensor:
        assert self.output is not None
        found = self._addressed
        source, positions = seen_as(x, found.source), found.key_of(indices)
        into = None if out is None else seen_as(out, found.blocks)
        key = (source.spec, tuple(range(len(positions))), False, *map(specs_of, positions))
        read = dispatch.call_into(into, self._plan, key, (source, *positions))
        return seen_as(read, self.output.sizes) if out is None else out


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
    """The blocks of `x` at coordinate tuples, the last dimension of `indices`: GATHER_ND.

    Both tensors have one rank; `input_dimension_count` and `indices_dimension_count` say how many
    of their last dimensions count, the tuples included. IndexError for a coordinate outside.
    Result: packed in the order of `x`, or `out`. TypeError and ValueError for data types and sizes
    that `feature_level` does not allow.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> directml.gather_nd(tl.asarray([[1, 2], [3, 4]]), tl.asarray([[1, 0], [0, 1]]), 2, 2)
    Tensor([[3, 2]], dtype=int64, device='cpu')
    """
    values = (x, indices, input_dimension_count, indices_dimension_count)
    return run(GatherNDOperatorDesc, values, out, feature_level)


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
    """The blocks of `x` at coordinate tuples, apart for each batch that both share: GATHER_ND1.

    `indices`, `input_dimension_count`, `indices_dimension_count`: as of `gather_nd`, with batches;
    `batch_dimension_count`: how many of those, from the left, are batches. IndexError for a
    coordinate outside. Result: packed in the order of `x`, or `out`. TypeError and ValueError for
    data types and sizes that `feature_level` does not allow.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> x = tl.asarray([[10, 11], [20, 21]])
    >>> directml.gather_nd1(x, tl.asarray([[1], [0]]), 2, 2, 1)
    Tensor([[11, 20]], dtype=int64, device='cpu')
    """
    values = (x, indices, input_dimension_count, indices_dimension_count, batch_dimension_count)
    return run(GatherND1OperatorDesc, values, out, feature_level)


class ScatterNDOperatorDesc(_ByTuples, operator="SCATTER_ND"):
    """DML_SCATTER_ND_OPERATOR_DESC: what `scatter_nd` takes; `duplicates` is ours.

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

    def _sizes(self) -> tuple[int, ...]:
        sizes = _padded(self._addressed.blocks, self.input.rank)
        check("UpdatesTensor", self.updates, sizes, self.input.data_type)
        return self.input.sizes

    def _run(self, out: Tensor, x: Tensor, indices: Tensor, updates: Tensor) -> None:
        found = self._addressed
        key = found.key_of(indices)
        if self.duplicates == "error":
            _refuse_equal(key, found.source[: len(key)])
        source, into = seen_as(x, found.source), seen_as(out, found.source)
        values = seen_as(updates, found.blocks)
        plan_key = (source.spec, values.spec, tuple(range(len(key))), False, *map(specs_of, key))
        dispatch.call_into(into, self._plan, plan_key, (source, values, *key))


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
    """A copy of `x` with blocks of `updates` written at coordinate tuples: SCATTER_ND.

    `indices`, `input_dimension_count`, `indices_dimension_count`: as of `gather_nd`. `updates`: of
    the sizes that it reads. The last of equal tuples in index order wins; ``duplicates="error"``
    raises ValueError for them. IndexError for a coordinate outside. Result: packed in the order of
    `x`, or `out`. TypeError and ValueError for data types and sizes that `feature_level` does not
    allow.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> x, tuples = tl.asarray([[1, 2], [3, 4]]), tl.asarray([[1, 0], [0, 1]])
    >>> directml.scatter_nd(x, tuples, tl.asarray([[8, 9]]), 2, 2)
    Tensor([[1, 9],
            [8, 4]], dtype=int64, device='cpu')
    """
    values = (x, indices, input_dimension_count, indices_dimension_count, updates, duplicates)
    return run(ScatterNDOperatorDesc, values, out, feature_level)


def _padded(sizes: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """Ones in front up to a rank."""
    return (1,) * (rank - len(sizes)) + sizes


def _from_front(indices: Tensor, size: int) -> Tensor:
    """Positions inside, counted from the front."""
    if indices.dtype.kind == "u":
        return indices.astype("uint64")
    whole = indices.astype("int64")
    return where(whole < 0, whole + size, whole)


def _refuse_equal(key: Sequence[Tensor], sizes: Sequence[int], axis: int | None = None) -> None:
    """Refuse positions that occur again: along `axis`, or tuples of positions without one.

    Where one is outside, nothing is refused here: the write does that.
    """
    places = [_from_front(p, size) for p, size in zip(key, sizes, strict=True)]
    if not all(((p >= 0) & (p < n)).all() for p, n in zip(places, sizes, strict=True)):
        return
    number: Any = 0
    for place, size in zip(places, sizes, strict=True):
        number = number * size + place
    ordered = sort(reshape(number, (-1,)), axis=0) if axis is None else sort(number, axis=axis)
    before = (slice(None),) * (axis or 0)
    later = ordered[(*before, slice(1, None))]
    equal = later == ordered[(*before, slice(0, -1))]
    if equal.any():
        first = int(later[equal][0])
        came = first if axis is not None else tuple(map(int, np.unravel_index(first, sizes)))
        rule = "positions must differ with duplicates='error'"
        raise ValueError(f"IndicesTensor: {rule}, got {came} again")
