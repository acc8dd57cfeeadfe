"""FILL_VALUE_CONSTANT, FILL_VALUE_SEQUENCE, DIAGONAL_MATRIX, DIAGONAL_MATRIX1 and ONE_HOT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tensorlayout.directml.constants import data_type as as_data_type
from tensorlayout.directml.numbers import (
    check_value_type,
    limits,
    scalar,
    truncated,
    typed,
    whole,
)
from tensorlayout.directml.operator_desc import (
    AnyDataType,
    Expected,
    Given,
    Number,
    OperatorDesc,
)
from tensorlayout.directml.operators import call, desc_of, desc_of_out
from tensorlayout.directml.outputs import seen_as, target
from tensorlayout.directml.rules import (
    check_axis,
    check_rank,
    check_signed,
    check_sizes,
    check_type,
    expected,
    refuse,
    with_size,
)
from tensorlayout.directml.tables import HIGHEST
from tensorlayout.directml.tensor_desc import TensorDesc, asked
from tensorlayout.functions.creation import arange
from tensorlayout.functions.data_types import astype
from tensorlayout.functions.manipulation import reshape
from tensorlayout.functions.searching import where
from tensorlayout.tensor import Tensor


@dataclass(frozen=True, kw_only=True)
class FillValueConstantOperatorDesc(OperatorDesc):
    """DML_FILL_VALUE_CONSTANT_OPERATOR_DESC."""

    operator: ClassVar[str] = "FILL_VALUE_CONSTANT"
    output: TensorDesc
    value_data_type: AnyDataType | None = None
    value: Number

    def _rule(self) -> tuple[Expected, ...]:
        kind = self.output.data_type
        check_value_type(self.operator, "ValueDataType", self.value_data_type, kind)
        typed(self.operator, "Value", self.value, kind)
        return (expected(self.output),)

    def _run(self, inputs: Any, outs: Given) -> tuple[Tensor, ...]:
        result = target(outs[0], self.output)
        kind = self.output.data_type
        result[...] = scalar(typed(self.operator, "Value", self.value, kind), kind, result.device)
        return (result,)


@dataclass(frozen=True, kw_only=True)
class FillValueSequenceOperatorDesc(OperatorDesc):
    """DML_FILL_VALUE_SEQUENCE_OPERATOR_DESC.

    An integer step may be negative for unsigned types, too: the elements are then those of the
    exact sequence modulo 2 to the number of bits.
    """

    operator: ClassVar[str] = "FILL_VALUE_SEQUENCE"
    output: TensorDesc
    value_data_type: AnyDataType | None = None
    value_start: Number
    value_delta: Number

    def _rule(self) -> tuple[Expected, ...]:
        kind = self.output.data_type
        check_value_type(self.operator, "ValueDataType", self.value_data_type, kind)
        typed(self.operator, "ValueStart", self.value_start, kind)
        if not kind.is_float:
            delta = whole(self.operator, "ValueDelta", self.value_delta, kind)
            least, most = -(2 ** (kind.bits - 1)), limits(kind)[1]
            if not least <= delta <= most:
                rule = f"ValueDelta must be {least} to {most} for {kind.name}"
                refuse(self.operator, f"{rule}, got {delta}")
        return (expected(self.output),)

    def _run(self, inputs: Any, outs: Given) -> tuple[Tensor, ...]:
        result = target(outs[0], self.output)
        kind, where_to = self.output.data_type, result.device
        if kind.is_float:
            start, delta = (
                float(scalar(v, kind, None)) for v in (self.value_start, self.value_delta)
            )
            number = arange(result.size, dtype="float64", device=where_to)
        else:  # as unsigned integers of 64 bits, which wrap; their low bits are those of any width
            start, delta = (int(v) % 2**64 for v in (self.value_start, self.value_delta))
            number = arange(result.size, dtype="uint64", device=where_to)
        result[...] = reshape(astype(number * delta + start, kind.dtype), result.shape)
        return (result,)


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
            refuse(self.operator, "OutputTensor must be given without InputTensor")
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


@dataclass(frozen=True, kw_only=True)
class OneHotOperatorDesc(OperatorDesc):
    """DML_ONE_HOT_OPERATOR_DESC; the output says how long the lines are."""

    operator: ClassVar[str] = "ONE_HOT"
    indices: TensorDesc
    values: TensorDesc
    output: TensorDesc
    axis: int

    def _rule(self) -> tuple[Expected, ...]:
        name, rank = self.operator, self.output.rank
        check_axis(name, self.axis, rank)
        check_rank(name, "IndicesTensor", self.indices, rank)
        check_rank(name, "ValuesTensor", self.values, rank)
        check_type(name, "ValuesTensor", self.values, self.output.data_type)
        sizes = with_size(self.output.sizes, self.axis, 1)
        check_sizes(name, "IndicesTensor", self.indices, sizes)
        if max(self.values.sizes) < 2:
            refuse(name, f"ValuesTensor: must have two elements, got Sizes {self.values.sizes}")
        return (expected(self.values, self.output.sizes),)

    def _run(self, inputs: Any, outs: Given) -> tuple[Tensor, ...]:
        indices, values = inputs
        result = target(outs[0], self.output, indices)
        size = result.shape[self.axis]
        fastest = max(d for d, n in enumerate(values.shape) if n > 1)
        first = (0,) * values.ndim
        off, on = values[first], values[with_size(first, fastest, 1)]
        line = tuple(size if d == self.axis else 1 for d in range(result.ndim))
        place = seen_as(arange(size, dtype=indices.dtype, device=indices.device), line)
        hot = place == indices
        if indices.dtype.kind == "i":
            hot = hot | (place - size == indices)
        result[...] = where(hot, on, off)
        return (result,)


def _fill_band(
    result: Tensor, value: float, begin: int, end: int, background: Tensor | None
) -> None:
    """`value` on diagonals from `begin` up to `end`, the others where `begin` is above it."""
    height, width = result.shape[-2:]
    rows = seen_as(arange(height, device=result.device), (height, 1))
    diagonal = arange(width, device=result.device) - rows
    inside = (diagonal >= min(begin, end)) & (diagonal < max(begin, end))
    filled = inside if begin <= end else ~inside
    kind = as_data_type("Value", result.dtype)
    other = scalar(0, kind, result.device) if background is None else background
    result[...] = where(filled, scalar(value, kind, result.device), other)


def fill_value_constant(
    sizes: Sequence[int],
    value: float,
    data_type: Any,
    *,
    device: Any = None,
    out: Tensor | None = None,
    feature_level: Any = HIGHEST,
) -> Tensor:
    """A tensor of `sizes` full of `value`, exact for integers: FILL_VALUE_CONSTANT.

    Result: row-major on `device`, or `out`.

    >>> from tensorlayout import directml
    >>> directml.fill_value_constant((2,), 2**63, "UINT64")
    Tensor([9223372036854775808, 9223372036854775808], dtype=uint64, device='cpu')
    """
    output = _wanted("FILL_VALUE_CONSTANT", data_type, sizes, out)
    desc = FillValueConstantOperatorDesc(output=output, value=value)
    found: Tensor = call(desc, (), out, feature_level, device)
    return found


def fill_value_sequence(
    sizes: Sequence[int],
    start: float,
    delta: float,
    data_type: Any,
    *,
    device: Any = None,
    out: Tensor | None = None,
    feature_level: Any = HIGHEST,
) -> Tensor:
    """`start`, and `delta` more for each element in row-major order: FILL_VALUE_SEQUENCE.

    Integers are exact, and wrap; floats are ``start + k * delta`` of both rounded to the data type,
    worked out in float64 and rounded once. Result: row-major on `device`, or `out`.

    >>> from tensorlayout import directml
    >>> directml.fill_value_sequence((4,), 5, -2, "UINT8")
    Tensor([  5,   3,   1, 255], dtype=uint8, device='cpu')
    """
    output = _wanted("FILL_VALUE_SEQUENCE", data_type, sizes, out)
    desc = FillValueSequenceOperatorDesc(output=output, value_start=start, value_delta=delta)
    found: Tensor = call(desc, (), out, feature_level, device)
    return found


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
    output = _wanted("DIAGONAL_MATRIX", data_type, sizes, out)
    desc = DiagonalMatrixOperatorDesc(output=output, offset=offset, value=value)
    found: Tensor = call(desc, (), out, feature_level, device)
    return found


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
            refuse(name, "sizes and data_type must be given together without a tensor")
        output = _wanted(name, data_type, sizes, out)
    desc = DiagonalMatrix1OperatorDesc(
        input=source, output=output, value=value, diagonal_fill_begin=begin, diagonal_fill_end=end
    )
    found: Tensor = call(desc, (x,), out, feature_level, device)
    return found


def one_hot(
    indices: Tensor,
    values: Tensor,
    depth: int,
    axis: int,
    *,
    out: Tensor | None = None,
    feature_level: Any = HIGHEST,
) -> Tensor:
    """Lines of length `depth` along `axis`, hot at the element that `indices` names: ONE_HOT.

    `indices`: of size 1 along `axis`; negative ones count from the end, one outside leaves its line
    cold. `values`: the cold value, then the hot one, along the fastest dimension that has several.
    Result: packed in the order of `indices`, or `out`.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> directml.one_hot(tl.asarray([[1], [-1]]), tl.asarray([[0, 9]]), 3, 1)
    Tensor([[0, 9, 0],
            [0, 0, 9]], dtype=int64, device='cpu')
    """
    name = "ONE_HOT"
    positions = desc_of(name, "IndicesTensor", indices)
    pair = desc_of(name, "ValuesTensor", values)
    check_axis(name, axis, positions.rank)
    check_sizes(name, "IndicesTensor", positions, with_size(positions.sizes, axis, 1))
    output = _wanted(name, pair.data_type, with_size(positions.sizes, axis, depth), out)
    desc = OneHotOperatorDesc(indices=positions, values=pair, output=output, axis=axis)
    found: Tensor = call(desc, (indices, values), out, feature_level)
    return found


def _wanted(name: str, data_type: Any, sizes: Any, out: Tensor | None) -> TensorDesc:
    """The output that is asked for, which ``out=`` must be."""
    wanted = asked(f"{name}: OutputTensor", data_type, sizes)
    given = desc_of_out(name, out)
    if given is None:
        return wanted
    check_type(name, "OutputTensor", given, wanted.data_type)
    check_sizes(name, "OutputTensor", given, wanted.sizes)
    return given
