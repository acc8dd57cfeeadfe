"""DIAGONAL_MATRIX and DIAGONAL_MATRIX1: a value on diagonals of each matrix of a stack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tensorlayout.directml.numbers import (
    check_value_type,
    truncated,
    typed,
)
from tensorlayout.directml.operator_desc import (
    AnyDataType,
    Expected,
    Given,
    Number,
    OperatorDesc,
)
from tensorlayout.directml.operators import call, desc_of, desc_of_out, remembered, wanted_output
from tensorlayout.directml.outputs import target
from tensorlayout.directml.rules import (
    check_signed,
    expected,
    refuse,
)
from tensorlayout.directml.tables import HIGHEST
from tensorlayout.directml.tensor_desc import TensorDesc
from tensorlayout.functions import calling
from tensorlayout.plan.fill import Diagonals
from tensorlayout.tensor import Tensor


@dataclass(frozen=True, kw_only=True)
class DiagonalMatrixOperatorDesc(OperatorDesc):
    """DML_DIAGONAL_MATRIX_OPERATOR_DESC. The value is FLOAT: towards zero for integers."""

    operator: ClassVar[str] = "DIAGONAL_MATRIX"
    output: TensorDesc
    offset: int
    value: Number

    def _rule(self) -> tuple[Expected, ...]:
        check_signed(self.operator, "Offset", [self.offset])
        truncated(self.operator, "Value", self.value, self.output.data_type)
        return (expected(self.output),)

    def _run(self, inputs: Any, outs: Given) -> tuple[Tensor, ...]:
        result = target(outs[0], self.output)
        value = truncated(self.operator, "Value", self.value, self.output.data_type)
        _fill_band(result, value, self.offset, self.offset + 1, None)
        return (result,)


@dataclass(frozen=True, kw_only=True)
class DiagonalMatrix1OperatorDesc(OperatorDesc):
    """DML_DIAGONAL_MATRIX1_OPERATOR_DESC."""

    operator: ClassVar[str] = "DIAGONAL_MATRIX1"
    input: TensorDesc | None = None
    output: TensorDesc | None = None
    value_data_type: AnyDataType | None = None
    value: Number
    diagonal_fill_begin: int
    diagonal_fill_end: int

    def _rule(self) -> tuple[Expected, ...]:
        given = self.input or self.output
        if given is None:
            refuse(self.operator, "OutputTensor must be given without InputTensor, got None")
        kind = given.data_type
        check_value_type(self.operator, "ValueDataType", self.value_data_type, kind)
        typed(self.operator, "Value", self.value, kind)
        check_signed(self.operator, "DiagonalFillBegin", [self.diagonal_fill_begin])
        check_signed(self.operator, "DiagonalFillEnd", [self.diagonal_fill_end])
        return (expected(given),)

    def _run(self, inputs: Any, outs: Given) -> tuple[Tensor, ...]:
        (background,) = inputs
        assert self.output is not None
        result = target(outs[0], self.output, background)
        value = typed(self.operator, "Value", self.value, self.output.data_type)
        band = self.diagonal_fill_begin, self.diagonal_fill_end
        _fill_band(result, value, *band, background)
        return (result,)


def _fill_band(
    result: Tensor, value: float, begin: int, end: int, background: Tensor | None
) -> None:
    """`value` on diagonals from `begin` up to `end`, the others where `begin` is above it."""
    others = () if background is None else (background,)
    spec = None if background is None else background._spec
    key = (result._spec, spec, min(begin, end), max(begin, end), begin <= end)
    calling.call(_DIAGONALS, key, (result, *others, value))


_DIAGONALS = Diagonals("DIAGONAL_MATRIX")


@remembered
def diagonal_matrix(
    sizes: Sequence[int],
    offset: int,
    value: float,
    data_type: Any,
    *,
    device: Any = None,
    out: Tensor | None = None,
    feature_level: Any = HIGHEST,
) -> Tensor:
    """Matrices with `value` on the diagonal `offset`, positive to the right: DIAGONAL_MATRIX.

    `value`: a FLOAT, towards zero for integers. Result: row-major on `device`, or `out`.

    >>> from tensorlayout import directml
    >>> directml.diagonal_matrix((2, 3), 1, 7, "INT8")
    Tensor([[0, 7, 0],
            [0, 0, 7]], dtype=int8, device='cpu')
    """
    output = wanted_output("DIAGONAL_MATRIX", data_type, sizes, out)
    desc = DiagonalMatrixOperatorDesc(output=output, offset=offset, value=value)
    found: Tensor = call(desc, (), out, feature_level, device)
    return found


@remembered
def diagonal_matrix1(
    x: Tensor | None,
    value: float,
    begin: int,
    end: int,
    sizes: Sequence[int] | None = None,
    data_type: Any = None,
    *,
    device: Any = None,
    out: Tensor | None = None,
    feature_level: Any = HIGHEST,
) -> Tensor:
    """`x` with `value` on the diagonals from `begin` up to, not with, `end`: DIAGONAL_MATRIX1.

    With `begin` above `end` all others are filled, with both equal none. Without `x` the rest is 0,
    and `sizes` and `data_type` are needed. Result: packed in the order of `x`, or `out`.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> directml.diagonal_matrix1(tl.ones((2, 3), dtype=tl.int8), 0, 1, 3)
    Tensor([[1, 0, 0],
            [1, 1, 0]], dtype=int8, device='cpu')
    """
    name = "DIAGONAL_MATRIX1"
    source = None if x is None else desc_of(name, "InputTensor", x)
    output = desc_of_out(name, out)
    if sizes is not None or data_type is not None or (source is None and output is None):
        if sizes is None or data_type is None:
            came = f"{calling.shown(sizes)} and {calling.shown(data_type)}"
            refuse(name, f"sizes and data_type must be given together without a tensor, got {came}")
        output = wanted_output(name, data_type, sizes, out)
    desc = DiagonalMatrix1OperatorDesc(
        input=source, output=output, value=value, diagonal_fill_begin=begin, diagonal_fill_end=end
    )
    found: Tensor = call(desc, (x,), out, feature_level, device)
    return found
