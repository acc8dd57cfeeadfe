"""Operators that fill outputs: FILL_VALUE_…, DIAGONAL_MATRIX, DIAGONAL_MATRIX1 and ONE_HOT."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorlayout.directml import members
from tensorlayout.directml.constants import DataTypeLike, check_range
from tensorlayout.directml.operator_desc import OperatorDesc, check_tensor, replace_size
from tensorlayout.directml.operators import HIGHEST, run_operator
from tensorlayout.directml.tensor_desc import TensorDesc
from tensorlayout.functions import arguments, dispatch
from tensorlayout.plan import Create, DestinationOperation, DiagonalsPlan, OneHotPlan
from tensorlayout.tensor import Tensor
from tensorlayout.typing import DeviceLike

__all__ = [
    "DiagonalMatrix1OperatorDesc",
    "DiagonalMatrixOperatorDesc",
    "FillValueConstantOperatorDesc",
    "FillValueSequenceOperatorDesc",
    "OneHotOperatorDesc",
    "diagonal_matrix",
    "diagonal_matrix1",
    "fill_value_constant",
    "fill_value_sequence",
    "one_hot",
]


class FillValueConstantOperatorDesc(OperatorDesc, operator="FILL_VALUE_CONSTANT"):
    """DML_FILL_VALUE_CONSTANT_OPERATOR_DESC: what `fill_value_constant` takes.

    >>> from tensorlayout.directml import FillValueConstantOperatorDesc, TensorDesc
    >>> x = TensorDesc("FLOAT32", (4,))
    >>> FillValueConstantOperatorDesc(output=x, value=7.0).validate().output.sizes
    (4,)
    """

    output: TensorDesc
    value_data_type: members.AnyDataType | None = None
    value: members.Scalar

    def _execute(self, out: Tensor) -> None:
        out[...] = self._element_valued_attributes["value"]


def fill_value_constant(
    sizes: Sequence[int],
    value: float,
    data_type: DataTypeLike,
    *,
    device: DeviceLike | None = None,
    out: Tensor | None = None,
    feature_level: str | int = HIGHEST,
) -> Tensor:
    """Return a tensor of `sizes` filled with `value`, exactly for integers: FILL_VALUE_CONSTANT.

    `data_type`: data type of the result. Returns a row-major tensor on `device`, or `out`.

    Raises `TypeError` for data types, and `ValueError` for ranks and sizes, that `feature_level`
    does not allow or that do not fit each other.

    >>> from tensorlayout import directml
    >>> directml.fill_value_constant((2,), 2**63, "UINT64")
    Tensor([9223372036854775808, 9223372036854775808], dtype=uint64, device='cpu')
    """
    asking = {"sizes": sizes, "data_type": data_type, "device": device}
    return run_operator(FillValueConstantOperatorDesc, (value,), out, feature_level, asking)


class FillValueSequenceOperatorDesc(OperatorDesc, operator="FILL_VALUE_SEQUENCE"):
    """DML_FILL_VALUE_SEQUENCE_OPERATOR_DESC: what `fill_value_sequence` takes.

    An integer step may be negative for unsigned types, too: elements are those of the exact
    sequence modulo 2 to the power of the number of bits.

    >>> from tensorlayout.directml import FillValueSequenceOperatorDesc, TensorDesc
    >>> x = TensorDesc("FLOAT32", (4,))
    >>> desc = FillValueSequenceOperatorDesc(output=x, value_start=5.0, value_delta=-2.0)
    >>> desc.validate().output.sizes
    (4,)
    """

    output: TensorDesc
    value_data_type: members.AnyDataType | None = None
    value_start: members.Scalar
    value_delta: members.Delta
    _plan = Create("FILL_VALUE_SEQUENCE", "arange")

    def _execute(self, out: Tensor) -> None:
        start = self._element_valued_attributes["value_start"]
        delta = self._element_valued_attributes["value_delta"]
        # Modulo 2**64 both fit unsigned 64 bits. Sums then wrap there, and their lowest bits are
        # those of the exact sequence for every integer type.
        if not self.output.data_type.is_float:
            start, delta = int(start) % 2**64, int(delta) % 2**64
        key = (out.shape, out.dtype, None, out.device)
        dispatch.call_into(out, self._plan, key, (start, delta))


def fill_value_sequence(
    sizes: Sequence[int],
    start: float,
    delta: float,
    data_type: DataTypeLike,
    *,
    device: DeviceLike | None = None,
    out: Tensor | None = None,
    feature_level: str | int = HIGHEST,
) -> Tensor:
    """Return `sizes` elements ``start``, ``start + delta``, …: FILL_VALUE_SEQUENCE.

    `data_type`: data type of the result. Integers are exact and wrap. Floats are ``start + k *
    delta`` with both numbers rounded to the data type, computed in float64 and rounded once.

    Returns a row-major tensor on `device`, or `out`.

    Raises `TypeError` for data types, and `ValueError` for ranks and sizes, that `feature_level`
    does not allow or that do not fit each other.

    >>> from tensorlayout import directml
    >>> directml.fill_value_sequence((4,), 5, -2, "UINT8")
    Tensor([  5,   3,   1, 255], dtype=uint8, device='cpu')
    """
    asking = {"sizes": sizes, "data_type": data_type, "device": device}
    return run_operator(FillValueSequenceOperatorDesc, (start, delta), out, feature_level, asking)


# --- diagonals ----------------------------------------------------------------------------------


class DiagonalMatrixOperatorDesc(OperatorDesc, operator="DIAGONAL_MATRIX"):
    """DML_DIAGONAL_MATRIX_OPERATOR_DESC: what `diagonal_matrix` takes.

    >>> from tensorlayout.directml import DiagonalMatrixOperatorDesc, TensorDesc
    >>> x = TensorDesc("FLOAT32", (2, 3))
    >>> DiagonalMatrixOperatorDesc(output=x, offset=1, value=7.0).validate().output.sizes
    (2, 3)
    """

    output: TensorDesc
    offset: members.Signed
    value: members.Float
    _plan = DestinationOperation("DIAGONAL_MATRIX", DiagonalsPlan)

    def _execute(self, out: Tensor) -> None:
        # One diagonal is the range from its number to the next: begin, end, filled inside.
        key = (out.spec, None, self.offset, self.offset + 1, True)
        dispatch.call(self._plan, key, (out, self._element_valued_attributes["value"]))


class DiagonalMatrix1OperatorDesc(OperatorDesc, operator="DIAGONAL_MATRIX1"):
    """DML_DIAGONAL_MATRIX1_OPERATOR_DESC: what `diagonal_matrix1` takes.

    >>> from tensorlayout.directml import DiagonalMatrix1OperatorDesc, TensorDesc
    >>> x, span = TensorDesc("INT8", (2, 3)), {"diagonal_fill_begin": 1, "diagonal_fill_end": 2}
    >>> desc = DiagonalMatrix1OperatorDesc(input=x, value=7, **span)
    >>> desc.validate().output.sizes
    (2, 3)
    """

    input: TensorDesc | None = None
    output: TensorDesc | None = None
    value_data_type: members.AnyDataType | None = None
    value: members.Scalar
    diagonal_fill_begin: members.Signed
    diagonal_fill_end: members.Signed
    _plan = DiagonalMatrixOperatorDesc._plan

    def _execute(self, out: Tensor, *background: Tensor) -> None:
        begin, end = self.diagonal_fill_begin, self.diagonal_fill_end
        spec = background[0].spec if background else None
        # With begin > end the diagonals outside of [end, begin) are filled; equal bounds enclose
        # none.
        key = (out.spec, spec, min(begin, end), max(begin, end), begin <= end)
        dispatch.call(self._plan, key, (out, *background, self._element_valued_attributes["value"]))


def diagonal_matrix(
    sizes: Sequence[int],
    offset: int,
    value: float,
    data_type: DataTypeLike,
    *,
    device: DeviceLike | None = None,
    out: Tensor | None = None,
    feature_level: str | int = HIGHEST,
) -> Tensor:
    """Return matrices with `value` on one diagonal and 0 elsewhere: DIAGONAL_MATRIX.

    - `sizes`, `data_type`: sizes and data type of the result.
    - `offset`: number of the diagonal; positive ones are to the right of the main diagonal.
    - `value`: a FLOAT, truncated towards zero for integers.

    Returns a row-major tensor on `device`, or `out`.

    Raises `TypeError` for data types, and `ValueError` for ranks and sizes, that `feature_level`
    does not allow or that do not fit each other.

    >>> from tensorlayout import directml
    >>> directml.diagonal_matrix((2, 3), 1, 7, "INT8")
    Tensor([[0, 7, 0],
            [0, 0, 7]], dtype=int8, device='cpu')
    """
    asking = {"sizes": sizes, "data_type": data_type, "device": device}
    return run_operator(DiagonalMatrixOperatorDesc, (offset, value), out, feature_level, asking)


def diagonal_matrix1(
    x: Tensor | None,
    value: float,
    begin: int,
    end: int,
    sizes: Sequence[int] | None = None,
    data_type: DataTypeLike | None = None,
    *,
    device: DeviceLike | None = None,
    out: Tensor | None = None,
    feature_level: str | int = HIGHEST,
) -> Tensor:
    """Write `value` on the diagonals from `begin` to before `end`: DIAGONAL_MATRIX1.

    If `begin` exceeds `end`, all other diagonals are filled; if they are equal, none. Without `x`
    the other elements are 0, `sizes` and `data_type` are required, and `device` is allowed.

    Returns a tensor packed in the order of `x` (row-major without it), or `out`.

    Raises `TypeError` for data types, and `ValueError` for ranks and sizes, that `feature_level`
    does not allow or that do not fit each other.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> directml.diagonal_matrix1(tl.ones((2, 3), dtype=tl.int8), 0, 1, 3)
    Tensor([[1, 0, 0],
            [1, 1, 0]], dtype=int8, device='cpu')
    """
    asking = {"sizes": sizes, "data_type": data_type, "device": device}
    return run_operator(
        DiagonalMatrix1OperatorDesc, (x, value, begin, end), out, feature_level, asking
    )


class OneHotOperatorDesc(OperatorDesc, operator="ONE_HOT"):
    """DML_ONE_HOT_OPERATOR_DESC: what `one_hot` takes; the output gives the depth.

    >>> from tensorlayout.directml import OneHotOperatorDesc, TensorDesc
    >>> at, values = TensorDesc("UINT32", (2, 1)), TensorDesc("FLOAT32", (1, 2))
    >>> x = TensorDesc("FLOAT32", (2, 3))
    >>> desc = OneHotOperatorDesc(indices=at, values=values, output=x, axis=1)
    >>> desc.validate().output.sizes
    (2, 3)
    """

    indices: TensorDesc
    values: TensorDesc
    output: TensorDesc
    axis: members.Axis
    _plan = DestinationOperation("ONE_HOT", OneHotPlan)

    def _output_sizes(self) -> tuple[int, ...]:
        sizes = self.output.sizes
        check_tensor("IndicesTensor", self.indices, replace_size(sizes, self.axis, 1))
        check_tensor("ValuesTensor", self.values, (None,) * len(sizes), self.output.data_type)
        if max(self.values.sizes) < 2:
            raise ValueError(f"ValuesTensor: must have two elements, got Sizes {self.values.sizes}")
        return sizes

    def _execute(self, out: Tensor, indices: Tensor, values: Tensor) -> None:
        # The fastest dimension above 1; further elements are not used.
        value_axis = max(d for d, n in enumerate(values.shape) if n > 1)
        first_index = (0,) * values.ndim
        # Tensors of rank 0 on the device of `values`: reading them here would make the host wait on
        # CUDA.
        cold_value = values[first_index]
        hot_value = values[replace_size(first_index, value_axis, 1)]
        key = (out.spec, indices.spec, self.axis, cold_value.spec, hot_value.spec)
        dispatch.call(self._plan, key, (out, indices, cold_value, hot_value))

    @classmethod
    def _requested_outputs(cls, members_so_far: dict[str, Any], depth: Any) -> dict[str, Any]:
        sizes, depth = members_so_far["indices"].sizes, arguments.as_integer("depth", depth)
        axis = arguments.as_integer("Axis", members_so_far["axis"])
        check_range("Axis", axis, 0, len(sizes) - 1)
        sizes = replace_size(sizes, axis, depth)
        return super()._requested_outputs(
            members_so_far, sizes=sizes, data_type=members_so_far["values"].data_type
        )


def one_hot(
    indices: Tensor,
    values: Tensor,
    depth: int,
    axis: int,
    *,
    out: Tensor | None = None,
    feature_level: str | int = HIGHEST,
) -> Tensor:
    """Return lines of `depth` elements along `axis`, one of them hot: ONE_HOT.

    - `indices`: positions of the hot elements, of size 1 along `axis`. Negative ones count from the
      end; a position outside leaves its line cold.
    - `values`: the cold value and the hot one, along the fastest dimension of a size above 1.

    Returns a tensor packed in the order of `indices`, or `out`.

    Raises `TypeError` for data types, and `ValueError` for ranks and sizes, that `feature_level`
    does not allow or that do not fit each other.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> directml.one_hot(tl.asarray([[1], [-1]]), tl.asarray([[0, 9]]), 3, 1)
    Tensor([[0, 9, 0],
            [0, 0, 9]], dtype=int64, device='cpu')
    """
    return run_operator(
        OneHotOperatorDesc, (indices, values, axis), out, feature_level, {"depth": depth}
    )
