"""GATHER, GATHER_ELEMENTS, GATHER_ND and GATHER_ND1: reads at positions that are data.

Positions outside raise IndexError, but for GATHER, which reads the nearest position instead.
Negative ones count from the end; signed indices begin at feature level 3_0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from tensorlayout.directml.operator_desc import Expected, Given, OperatorDesc
from tensorlayout.directml.operators import call, desc_of, desc_of_out, remembered
from tensorlayout.directml.outputs import seen_as
from tensorlayout.directml.rules import (
    check_away_from,
    check_axis,
    check_rank,
    effective_rank,
    expected,
    refuse,
)
from tensorlayout.directml.tables import HIGHEST
from tensorlayout.directml.tensor_desc import TensorDesc
from tensorlayout.directml.tuples import blocks, key_of, padded, positions_of
from tensorlayout.functions import calling
from tensorlayout.plan.gather import Gather, GatherAlong
from tensorlayout.tensor import Tensor


@dataclass(frozen=True, kw_only=True)
class GatherOperatorDesc(OperatorDesc):
    """DML_GATHER_OPERATOR_DESC."""

    operator: ClassVar[str] = "GATHER"
    input: TensorDesc
    indices: TensorDesc
    output: TensorDesc | None = None
    axis: int
    index_dimensions: int

    def _rule(self) -> tuple[Expected, ...]:
        name, rank, count = self.operator, self.input.rank, self.index_dimensions
        check_rank(name, "IndicesTensor", self.indices, rank)
        check_axis(name, self.axis, rank)
        if not 0 <= count <= rank:
            refuse(name, f"IndexDimensions must be 0 to {rank}, got {calling.shown(count)}")
        if any(n != 1 for n in self.indices.sizes[: rank - count]):
            rule = f"Sizes before the last {count}, IndexDimensions, must be 1"
            refuse(name, f"IndicesTensor: {rule}, got {self.indices.sizes}")
        own = effective_rank(self.input)
        if own + count - 1 > rank:
            rule = "the rank without leading ones + IndexDimensions - 1 must be at most"
            refuse(name, f"InputTensor: {rule} DimensionCount, {rank}, got {own} + {count} - 1")
        full = self._full()
        extra = max(len(full) - rank, 0)
        if any(n != 1 for n in full[:extra]):
            rule = f"sizes before the last {rank}, DimensionCount, must be 1"
            refuse(name, f"OutputTensor: {rule}, got {full}")
        return (expected(self.input, padded(full[extra:], rank)),)

    def _full(self) -> tuple[int, ...]:
        """The sizes of the result before it is brought to the rank."""
        sizes, axis = self.input.sizes, self.axis
        return sizes[:axis] + self._places() + sizes[axis + 1 :]

    def _places(self) -> tuple[int, ...]:
        return self.indices.sizes[self.indices.rank - self.index_dimensions :]

    def _run(self, inputs: Any, outs: Given) -> tuple[Tensor, ...]:
        x, indices = inputs
        assert self.output is not None
        places = self._places() or (1,)
        positions = seen_as(indices, places)
        sizes = (*x.shape[: self.axis], *places, *x.shape[self.axis + 1 :])
        out = None if outs[0] is None else seen_as(outs[0], sizes)
        key = (x._spec, (self.axis,), False, positions._spec)
        found = calling.call_into(out, _GATHER, key, (x, positions))
        return (seen_as(found, self.output.sizes) if outs[0] is None else outs[0],)


@dataclass(frozen=True, kw_only=True)
class GatherElementsOperatorDesc(OperatorDesc):
    """DML_GATHER_ELEMENTS_OPERATOR_DESC."""

    operator: ClassVar[str] = "GATHER_ELEMENTS"
    input: TensorDesc
    indices: TensorDesc
    output: TensorDesc | None = None
    axis: int

    def _rule(self) -> tuple[Expected, ...]:
        check_axis(self.operator, self.axis, self.input.rank)
        sizes = self.input.sizes
        check_away_from(self.operator, "IndicesTensor", self.indices, sizes, self.axis)
        return (expected(self.input, self.indices.sizes),)

    def _run(self, inputs: Any, outs: Given) -> tuple[Tensor, ...]:
        x, indices = inputs
        with positions_of(self.operator):
            key = (x._spec, self.axis, indices._spec)
            return (calling.call_into(outs[0], _GATHER_ELEMENTS, key, (x, indices)),)


@dataclass(frozen=True, kw_only=True)
class GatherNDOperatorDesc(OperatorDesc):
    """DML_GATHER_ND_OPERATOR_DESC."""

    operator: ClassVar[str] = "GATHER_ND"
    input: TensorDesc
    indices: TensorDesc
    output: TensorDesc | None = None
    input_dimension_count: int
    indices_dimension_count: int

    def _rule(self) -> tuple[Expected, ...]:
        return (_blocks_read(self),)

    def _run(self, inputs: Any, outs: Given) -> tuple[Tensor, ...]:
        return (_read(self, inputs, outs[0]),)


@dataclass(frozen=True, kw_only=True)
class GatherND1OperatorDesc(OperatorDesc):
    """DML_GATHER_ND1_OPERATOR_DESC."""

    operator: ClassVar[str] = "GATHER_ND1"
    input: TensorDesc
    indices: TensorDesc
    output: TensorDesc | None = None
    input_dimension_count: int
    indices_dimension_count: int
    batch_dimension_count: int

    def _rule(self) -> tuple[Expected, ...]:
        return (_blocks_read(self, self.batch_dimension_count),)

    def _run(self, inputs: Any, outs: Given) -> tuple[Tensor, ...]:
        return (_read(self, inputs, outs[0], self.batch_dimension_count),)


_ByTuples = GatherNDOperatorDesc | GatherND1OperatorDesc


def _blocks_read(desc: _ByTuples, batch: int = 0) -> Expected:
    counts = desc.input_dimension_count, desc.indices_dimension_count
    found = blocks(desc.operator, desc.input, desc.indices, counts, batch)
    return expected(desc.input, padded(found.spread, desc.input.rank))


def _read(desc: _ByTuples, inputs: Any, out: Tensor | None, batch: int = 0) -> Tensor:
    x, indices = inputs
    assert desc.output is not None
    counts = desc.input_dimension_count, desc.indices_dimension_count
    found = blocks(desc.operator, desc.input, desc.indices, counts, batch)
    source, positions = seen_as(x, found.source), key_of(indices, found)
    dims = tuple(range(len(positions)))
    into = None if out is None else seen_as(out, found.read)
    with positions_of(desc.operator):
        key = (source._spec, dims, False, *(p._spec for p in positions))
        read = calling.call_into(into, _BY_TUPLES[desc.operator], key, (source, *positions))
    return seen_as(read, desc.output.sizes) if out is None else out


_GATHER = Gather("GATHER", clamps=True)
_GATHER_ELEMENTS = GatherAlong("GATHER_ELEMENTS")
_BY_TUPLES = {name: Gather(name) for name in ("GATHER_ND", "GATHER_ND1")}


@remembered
def gather(
    x: Tensor,
    indices: Tensor,
    axis: int,
    index_dimensions: int,
    *,
    out: Tensor | None = None,
    feature_level: Any = HIGHEST,
) -> Tensor:
    """`x` with dimension `axis` replaced by what `indices` name there: GATHER.

    `indices`: of the rank of `x`, whose last `index_dimensions` count; the others have size 1. The
    result has the rank of `x`: surplus leading dimensions, of size 1, are dropped, missing ones
    added. A position outside reads the nearest one inside (DirectML promises no more than that
    nothing else is read). Result: packed in the order of `x`, or `out`.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> directml.gather(tl.asarray([[1, 2], [3, 4]]), tl.asarray([[1, 1, 0]]), 0, 1)
    Tensor([[3, 4],
            [3, 4],
            [1, 2]], dtype=int64, device='cpu')
    """
    desc = GatherOperatorDesc(
        input=desc_of("GATHER", "InputTensor", x),
        indices=desc_of("GATHER", "IndicesTensor", indices),
        output=desc_of_out("GATHER", out),
        axis=axis,
        index_dimensions=index_dimensions,
    )
    found: Tensor = call(desc, (x, indices), out, feature_level)
    return found


@remembered
def gather_elements(
    x: Tensor,
    indices: Tensor,
    axis: int,
    *,
    out: Tensor | None = None,
    feature_level: Any = HIGHEST,
) -> Tensor:
    """For each position in `indices`, the element there on its line along `axis`: GATHER_ELEMENTS.

    `indices` has the sizes of `x`, but for `axis`, where it is free. IndexError for a position
    outside. Result: packed in the order of `x`, or `out`.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> directml.gather_elements(tl.asarray([[1, 2], [3, 4]]), tl.asarray([[1, 0]]), 0)
    Tensor([[3, 2]], dtype=int64, device='cpu')
    """
    desc = GatherElementsOperatorDesc(
        input=desc_of("GATHER_ELEMENTS", "InputTensor", x),
        indices=desc_of("GATHER_ELEMENTS", "IndicesTensor", indices),
        output=desc_of_out("GATHER_ELEMENTS", out),
        axis=axis,
    )
    found: Tensor = call(desc, (x, indices), out, feature_level)
    return found


@remembered
def gather_nd(
    x: Tensor,
    indices: Tensor,
    input_dimension_count: int,
    indices_dimension_count: int,
    *,
    out: Tensor | None = None,
    feature_level: Any = HIGHEST,
) -> Tensor:
    """The blocks of `x` at coordinate tuples, the last dimension of `indices`: GATHER_ND.

    Both tensors have one rank; the counts say how many of their last dimensions count, the tuples
    included. IndexError for a coordinate outside. Result: packed in the order of `x`, or `out`.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> directml.gather_nd(tl.asarray([[1, 2], [3, 4]]), tl.asarray([[1, 0], [0, 1]]), 2, 2)
    Tensor([[3, 2]], dtype=int64, device='cpu')
    """
    desc = GatherNDOperatorDesc(
        input=desc_of("GATHER_ND", "InputTensor", x),
        indices=desc_of("GATHER_ND", "IndicesTensor", indices),
        output=desc_of_out("GATHER_ND", out),
        input_dimension_count=input_dimension_count,
        indices_dimension_count=indices_dimension_count,
    )
    found: Tensor = call(desc, (x, indices), out, feature_level)
    return found


@remembered
def gather_nd1(
    x: Tensor,
    indices: Tensor,
    input_dimension_count: int,
    indices_dimension_count: int,
    batch_dimension_count: int,
    *,
    out: Tensor | None = None,
    feature_level: Any = HIGHEST,
) -> Tensor:
    """As `gather_nd`, for each of the leading dimensions that both tensors share: GATHER_ND1.

    `batch_dimension_count`: how many of the dimensions that count are shared, from the left.
    """
    desc = GatherND1OperatorDesc(
        input=desc_of("GATHER_ND1", "InputTensor", x),
        indices=desc_of("GATHER_ND1", "IndicesTensor", indices),
        output=desc_of_out("GATHER_ND1", out),
        input_dimension_count=input_dimension_count,
        indices_dimension_count=indices_dimension_count,
        batch_dimension_count=batch_dimension_count,
    )
    found: Tensor = call(desc, (x, indices), out, feature_level)
    return found
