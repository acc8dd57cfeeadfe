"""TOP_K, TOP_K1 and NONZERO_COORDINATES: elements chosen by what they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from tensorlayout.directml.constants import AxisDirection, DataType
from tensorlayout.directml.constants import data_type as as_data_type
from tensorlayout.directml.operator_desc import Direction, Expected, Given, OperatorDesc
from tensorlayout.directml.operators import call, desc_of, remembered, tensors_of
from tensorlayout.directml.outputs import target
from tensorlayout.directml.rules import (
    check_axis,
    effective_rank,
    expected,
    refuse,
    with_size,
)
from tensorlayout.directml.tables import HIGHEST
from tensorlayout.directml.tensor_desc import TensorDesc, asked
from tensorlayout.functions import calling
from tensorlayout.functions.searching import nonzero
from tensorlayout.plan.sort import TopK
from tensorlayout.tensor import Tensor


@dataclass(frozen=True, kw_only=True)
class TopKOperatorDesc(OperatorDesc):
    """DML_TOP_K_OPERATOR_DESC: the largest first."""

    operator: ClassVar[str] = "TOP_K"
    input: TensorDesc
    output_value: TensorDesc | None = None
    output_index: TensorDesc | None = None
    axis: int
    k: int

    def _rule(self) -> tuple[Expected, ...]:
        return _selected(self)

    def _run(self, inputs: Any, outs: Given) -> tuple[Tensor, ...]:
        return _select(self, inputs[0], outs, AxisDirection.DECREASING)


@dataclass(frozen=True, kw_only=True)
class TopK1OperatorDesc(OperatorDesc):
    """DML_TOP_K1_OPERATOR_DESC."""

    operator: ClassVar[str] = "TOP_K1"
    input: TensorDesc
    output_value: TensorDesc | None = None
    output_index: TensorDesc | None = None
    axis: int
    k: int
    axis_direction: Direction

    def _rule(self) -> tuple[Expected, ...]:
        return _selected(self)

    def _run(self, inputs: Any, outs: Given) -> tuple[Tensor, ...]:
        return _select(self, inputs[0], outs, self.axis_direction)


_TopK = TopKOperatorDesc | TopK1OperatorDesc


def _selected(desc: _TopK) -> tuple[Expected, ...]:
    source = desc.input
    check_axis(desc.operator, desc.axis, source.rank)
    size = source.sizes[desc.axis]
    if not 1 <= desc.k <= size:
        refuse(
            desc.operator,
            f"K must be 1 to {size}, the size along Axis, got {calling.shown(desc.k)}",
        )
    sizes = with_size(source.sizes, desc.axis, desc.k)
    kind = DataType.UINT32 if desc.output_index is None else desc.output_index.data_type
    return expected(source, sizes), Expected(kind, sizes)


def _select(desc: _TopK, x: Tensor, outs: Given, direction: Any) -> tuple[Tensor, ...]:
    values = target(outs[0], desc.output_value, x)
    positions = target(outs[1], desc.output_index, x)
    down = direction == AxisDirection.DECREASING
    key = (values._spec, positions._spec, x._spec, desc.axis, down)
    calling.call(_TOP_K[desc.operator], key, (values, positions, x))
    return values, positions


_TOP_K = {name: TopK(name) for name in ("TOP_K", "TOP_K1")}


@dataclass(frozen=True, kw_only=True)
class NonzeroCoordinatesOperatorDesc(OperatorDesc):
    """DML_NONZERO_COORDINATES_OPERATOR_DESC.

    The coordinates, left out, have as many columns as the input has dimensions without leading
    ones, at least one.
    """

    operator: ClassVar[str] = "NONZERO_COORDINATES"
    input: TensorDesc
    output_count: TensorDesc | None = None
    output_coordinates: TensorDesc | None = None

    def _rule(self) -> tuple[Expected, ...]:
        source, table = self.input, self.output_coordinates
        rows, least = math.prod(source.sizes), max(effective_rank(source), 1)
        rank = max(source.rank, 2)
        columns = least
        if table is not None:
            columns = table.sizes[-1]
        if not least <= columns <= source.rank:
            rule = f"the last size must be {least} to {source.rank}"
            refuse(self.operator, f"OutputCoordinatesTensor: {rule}, got {columns}")
        sizes = (1,) * (rank - 2) + (rows, columns)
        return Expected(DataType.UINT32, (1,) * source.rank), Expected(DataType.UINT32, sizes)

    def _run(self, inputs: Any, outs: Given) -> tuple[Tensor, ...]:
        (x,) = inputs
        assert self.output_coordinates is not None
        found = nonzero(x)
        count = target(outs[0], self.output_count, x)
        table = target(outs[1], self.output_coordinates, x)
        rows, columns = found[0].shape[0], table.shape[-1]
        count[...] = rows
        table[..., slice(rows, None), :] = 0
        for column, coordinates in enumerate(found[x.ndim - columns :]):
            table[..., slice(0, rows), column] = coordinates
        return count, table


@remembered
def top_k(
    x: Tensor,
    axis: int,
    k: int,
    *,
    index_data_type: Any = DataType.UINT32,
    out: Sequence[Tensor] | None = None,
    feature_level: Any = HIGHEST,
) -> tuple[Tensor, Tensor]:
    """The `k` largest elements of each line along `axis`, and their positions: TOP_K.

    The largest first, equal ones by rising position; NaN counts as the largest. `k` may be the size
    of the line. `index_data_type`: UINT32 or UINT64. Results: packed in the order of `x`, or the
    two of `out`.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> directml.top_k(tl.asarray([3, 1, 3, 2]), 0, 3)[1]
    Tensor([0, 2, 3], dtype=uint32, device='cpu')
    """
    desc = TopKOperatorDesc(
        input=desc_of("TOP_K", "InputTensor", x), axis=axis, k=k, **_outputs("TOP_K", out)
    )
    found: tuple[Tensor, Tensor] = _top(desc, x, index_data_type, out, feature_level)
    return found


@remembered
def top_k1(
    x: Tensor,
    axis: int,
    k: int,
    axis_direction: Direction,
    *,
    index_data_type: Any = DataType.UINT32,
    out: Sequence[Tensor] | None = None,
    feature_level: Any = HIGHEST,
) -> tuple[Tensor, Tensor]:
    """As `top_k` with ``DECREASING``, the smallest first with ``INCREASING``: TOP_K1.

    Equal elements come by rising position in both directions; NaN counts as the largest.
    """
    desc = TopK1OperatorDesc(
        input=desc_of("TOP_K1", "InputTensor", x),
        axis=axis,
        k=k,
        axis_direction=axis_direction,
        **_outputs("TOP_K1", out),
    )
    found: tuple[Tensor, Tensor] = _top(desc, x, index_data_type, out, feature_level)
    return found


def _outputs(name: str, out: Any) -> dict[str, Any]:
    if out is None:
        return {}
    _, descs = tensors_of(name, "out", out)
    if len(descs) != 2:
        refuse(name, f"out must be 2 tensors, got {len(descs)}")
    return {"output_value": descs[0], "output_index": descs[1]}


def _top(desc: Any, x: Tensor, kind: Any, out: Any, feature_level: Any) -> Any:
    if out is None:
        wanted = as_data_type(f"{desc.operator}: index_data_type", kind)
        _selected(desc)
        sizes = with_size(desc.input.sizes, desc.axis, desc.k)
        index = asked(f"{desc.operator}: OutputIndexTensor", wanted, sizes)
        desc = replace(desc, output_index=index)
    return call(desc, (x,), out, feature_level)


@remembered
def nonzero_coordinates(
    x: Tensor,
    columns: int | None = None,
    *,
    out: Sequence[Tensor] | None = None,
    feature_level: Any = HIGHEST,
) -> tuple[Tensor, Tensor]:
    """How many elements are not 0, and a table of their coordinates: NONZERO_COORDINATES.

    The table has a row for every element of `x`: those after the count are 0 (DirectML leaves them
    open). `columns`: how many of the last coordinates, by default those of the dimensions without
    leading ones. Both zeros are 0, NaN is not. Results: of UINT32, row-major, or the two of `out`.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> x = tl.asarray([0, 5, 7], dtype=tl.int32)
    >>> count, table = directml.nonzero_coordinates(x)
    >>> count, table
    (Tensor([2], dtype=uint32, device='cpu'), Tensor([[1],
            [2],
            [0]], dtype=uint32, device='cpu'))
    """
    name = "NONZERO_COORDINATES"
    source = desc_of(name, "InputTensor", x)
    members: dict[str, Any] = {}
    columns = None if columns is None else calling.integer(name, "columns", columns)
    if out is not None:
        _, descs = tensors_of(name, "out", out)
        if len(descs) != 2:
            refuse(name, f"out must be 2 tensors, got {len(descs)}")
        members = {"output_count": descs[0], "output_coordinates": descs[1]}
        if columns is not None and descs[1].sizes[-1] != columns:
            came = f"got {descs[1].sizes[-1]}"
            refuse(
                name, f"OutputCoordinatesTensor: the last size must be columns, {columns}, {came}"
            )
    elif columns is not None:
        sizes = (1,) * (source.rank - 2) + (math.prod(source.sizes), columns)
        where = f"{name}: OutputCoordinatesTensor"
        members = {"output_coordinates": asked(where, DataType.UINT32, sizes)}
    desc = NonzeroCoordinatesOperatorDesc(input=source, **members)
    found: tuple[Tensor, Tensor] = call(desc, (x,), out, feature_level)
    return found
