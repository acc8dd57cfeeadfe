"""Operators that select elements by value: TOP_K, TOP_K1 and NONZERO_COORDINATES."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tensorlayout.directml import constants, members
from tensorlayout.directml.constants import AxisDirection, DataType, DataTypeLike
from tensorlayout.directml.operator_desc import (
    ExpectedOutput,
    OperatorDesc,
    rank_without_leading_ones,
    replace_size,
)
from tensorlayout.directml.operators import HIGHEST, run_operator_pair, spec_of
from tensorlayout.directml.tensor_desc import TensorDesc
from tensorlayout.functions import arguments, dispatch
from tensorlayout.functions.searching import nonzero
from tensorlayout.plan import DestinationOperation, TopKPlan
from tensorlayout.tensor import Tensor

__all__ = [
    "NonzeroCoordinatesOperatorDesc",
    "TopK1OperatorDesc",
    "TopKOperatorDesc",
    "nonzero_coordinates",
    "top_k",
    "top_k1",
]


class TopKOperatorDesc(OperatorDesc, operator="TOP_K"):
    """DML_TOP_K_OPERATOR_DESC: what `top_k` takes.

    >>> from tensorlayout.directml import TopKOperatorDesc, TensorDesc
    >>> x = TensorDesc("FLOAT32", (5,))
    >>> TopKOperatorDesc(input=x, axis=0, k=2).validate().output_index.sizes
    (2,)
    """

    input: TensorDesc
    output_value: TensorDesc | None = None
    output_index: TensorDesc | None = None
    axis: members.Axis
    k: int
    _plan = DestinationOperation("TOP_K", TopKPlan)

    def _expected_outputs(self) -> list[ExpectedOutput]:
        # The page wants K below the size but gives no reason; a whole sorted line is allowed here.
        size = self.input.sizes[self.axis]
        constants.check_range("K", self.k, 1, size, ", the size along Axis")
        sizes = replace_size(self.input.sizes, self.axis, self.k)
        index_type = DataType.UINT32 if self.output_index is None else self.output_index.data_type
        return [(self.input.data_type, sizes), (index_type, sizes)]

    def _execute(self, outputs: tuple[Tensor, ...], x: Tensor) -> None:
        # TOP_K has no such member and always takes the largest.
        direction = getattr(self, "axis_direction", AxisDirection.DECREASING)
        is_descending = direction == AxisDirection.DECREASING
        dispatch.call(
            self._plan, (*map(spec_of, (*outputs, x)), self.axis, is_descending), (*outputs, x)
        )

    @classmethod
    def _requested_outputs(
        cls, members_so_far: dict[str, Any], index_data_type: Any
    ) -> dict[str, Any]:
        if "output_index" in members_so_far:
            return {}
        data_type = constants.parse_data_type("index_data_type", index_data_type)
        # A descriptor without the index output, made only to compute the sizes.
        desc = cls(**members_so_far)
        desc._check_members()
        _, (_, sizes) = desc._expected_outputs()
        return {
            "output_index": constants.call_with_error_prefix(
                "OutputIndexTensor", TensorDesc, data_type, sizes
            )
        }


class TopK1OperatorDesc(TopKOperatorDesc, operator="TOP_K1"):
    """DML_TOP_K1_OPERATOR_DESC: what `top_k1` takes.

    >>> from tensorlayout.directml import TopK1OperatorDesc, TensorDesc
    >>> x = TensorDesc("FLOAT32", (5,))
    >>> desc = TopK1OperatorDesc(input=x, axis=0, k=2, axis_direction="INCREASING")
    >>> desc.validate().output_index.sizes
    (2,)
    """

    axis_direction: members.Direction
    _plan = DestinationOperation("TOP_K1", TopKPlan)


def top_k(
    x: Tensor,
    axis: int,
    k: int,
    *,
    index_data_type: DataTypeLike = DataType.UINT32,
    out: Sequence[Tensor] | None = None,
    feature_level: str | int = HIGHEST,
) -> tuple[Tensor, Tensor]:
    """Return the `k` largest elements of each line along `axis`, and their positions: TOP_K.

    The largest comes first, equal ones by increasing position; NaN counts as the largest. `k` is at
    most the size of the line. `index_data_type`: UINT32 or UINT64.

    Returns two tensors packed in the order of `x`, or those of `out`.

    Raises `TypeError` for data types, and `ValueError` for ranks and sizes, that `feature_level`
    does not allow or that do not fit each other.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> directml.top_k(tl.asarray([3, 1, 3, 2]), 0, 3)[1]
    Tensor([0, 2, 3], dtype=uint32, device='cpu')
    """
    asking = {"index_data_type": index_data_type}
    return run_operator_pair(TopKOperatorDesc, (x, axis, k), out, feature_level, asking)


def top_k1(
    x: Tensor,
    axis: int,
    k: int,
    axis_direction: members.Direction,
    *,
    index_data_type: DataTypeLike = DataType.UINT32,
    out: Sequence[Tensor] | None = None,
    feature_level: str | int = HIGHEST,
) -> tuple[Tensor, Tensor]:
    """Return the first `k` elements of each sorted line along `axis`, and positions: TOP_K1.

    - `axis_direction`: largest first with ``DECREASING``, smallest first with ``INCREASING``; equal
      elements by increasing position in both. NaN counts as the largest.
    - `index_data_type`: UINT32 or UINT64.

    Returns two tensors packed in the order of `x`, or those of `out`.

    Raises `TypeError` for data types, and `ValueError` for ranks and sizes, that `feature_level`
    does not allow or that do not fit each other.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> directml.top_k1(tl.asarray([3, 1, 2]), 0, 2, "INCREASING")[1]
    Tensor([1, 2], dtype=uint32, device='cpu')
    """
    asking = {"index_data_type": index_data_type}
    return run_operator_pair(
        TopK1OperatorDesc, (x, axis, k, axis_direction), out, feature_level, asking
    )


class NonzeroCoordinatesOperatorDesc(OperatorDesc, operator="NONZERO_COORDINATES"):
    """DML_NONZERO_COORDINATES_OPERATOR_DESC: what `nonzero_coordinates` takes.

    By default the coordinates have as many columns as the input has dimensions without leading
    ones, but at least one.

    >>> from tensorlayout.directml import NonzeroCoordinatesOperatorDesc, TensorDesc
    >>> x = TensorDesc("FLOAT32", (2, 3))
    >>> NonzeroCoordinatesOperatorDesc(input=x).validate().output_coordinates.sizes
    (6, 2)
    """

    input: TensorDesc
    output_count: TensorDesc | None = None
    output_coordinates: TensorDesc | None = None

    def _expected_outputs(self) -> list[ExpectedOutput]:
        source, table = self.input, self.output_coordinates
        rows, least = math.prod(source.sizes), max(rank_without_leading_ones(source), 1)
        columns = least if table is None else table.sizes[-1]
        member = "OutputCoordinatesTensor: the last size"
        constants.check_range(member, columns, least, source.rank)
        # All tensors have one rank, except that an input of rank 1 has coordinates of rank 2.
        sizes = (1,) * (source.rank - 2) + (rows, columns)
        return [(DataType.UINT32, (1,) * source.rank), (DataType.UINT32, sizes)]

    def _execute(self, outs: tuple[Tensor, ...], x: Tensor) -> None:
        coordinate_arrays, (count, table) = nonzero(x), outs
        rows, columns = coordinate_arrays[0].shape[0], table.shape[-1]
        count[...] = rows
        # DirectML leaves these rows undefined.
        table[..., slice(rows, None), :] = 0
        # The dimensions left out in front have size 1, so their coordinate is always 0.
        for column, coordinates in enumerate(coordinate_arrays[x.ndim - columns :]):
            table[..., slice(0, rows), column] = coordinates

    @classmethod
    def _requested_outputs(cls, members_so_far: dict[str, Any], columns: Any) -> dict[str, Any]:
        if columns is None:
            return {}
        source, columns = members_so_far["input"], arguments.as_integer("columns", columns)
        # The same sizes as in `_expected_outputs`, which checks `columns` afterwards.
        sizes = (1,) * (source.rank - 2) + (math.prod(source.sizes), columns)
        table = constants.call_with_error_prefix(
            "OutputCoordinatesTensor", TensorDesc, DataType.UINT32, sizes
        )
        return {"output_coordinates": table}


def nonzero_coordinates(
    x: Tensor,
    columns: int | None = None,
    *,
    out: Sequence[Tensor] | None = None,
    feature_level: str | int = HIGHEST,
) -> tuple[Tensor, Tensor]:
    """Return the number of non-zero elements, and a table of coordinates: NONZERO_COORDINATES.

    `columns`: number of trailing coordinates; by default dimensions without leading ones. The table
    has a row per element of `x`; rows after the count are 0 (DirectML leaves them undefined). Both
    zeros count as 0, NaN does not.

    Returns two row-major tensors of UINT32, or those of `out`.

    Raises `TypeError` for data types, and `ValueError` for ranks and sizes, that `feature_level`
    does not allow or that do not fit each other.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> x = tl.asarray([0, 5, 7], dtype=tl.int32)
    >>> count, table = directml.nonzero_coordinates(x)
    >>> count, table
    (Tensor([2], dtype=uint32, device='cpu'), Tensor([[1],
            [2],
            [0]], dtype=uint32, device='cpu'))
    """
    return run_operator_pair(
        NonzeroCoordinatesOperatorDesc, (x,), out, feature_level, {"columns": columns}
    )
