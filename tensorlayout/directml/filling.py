"""FILL_VALUE_CONSTANT, FILL_VALUE_SEQUENCE and ONE_HOT: outputs full of given values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tensorlayout.directml.numbers import (
    check_value_type,
    limits,
    rounded,
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
from tensorlayout.directml.operators import call, desc_of, remembered, wanted_output
from tensorlayout.directml.outputs import target
from tensorlayout.directml.rules import (
    check_axis,
    check_rank,
    check_sizes,
    check_type,
    expected,
    refuse,
    with_size,
)
from tensorlayout.directml.tables import HIGHEST
from tensorlayout.directml.tensor_desc import TensorDesc
from tensorlayout.functions import calling
from tensorlayout.plan.fill import Create, OneHot
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
        result[...] = typed(self.operator, "Value", self.value, kind)
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
        if kind.is_float:
            rounded(self.operator, "ValueDelta", self.value_delta, kind)
        else:
            delta = whole(self.operator, "ValueDelta", self.value_delta, kind)
            least, most = -(2 ** (kind.bits - 1)), limits(kind)[1]
            if not least <= delta <= most:
                rule = f"ValueDelta must be {least} to {most} for {kind.name}"
                refuse(self.operator, f"{rule}, got {calling.shown(delta)}")
        return (expected(self.output),)

    def _run(self, inputs: Any, outs: Given) -> tuple[Tensor, ...]:
        result = target(outs[0], self.output)
        kind, name = self.output.data_type, self.operator
        members = {"ValueStart": self.value_start, "ValueDelta": self.value_delta}
        if kind.is_float:
            numbers: list[Any] = [rounded(name, m, v, kind) for m, v in members.items()]
        else:
            numbers = [int(v) % 2**64 for v in members.values()]
        key = (result.shape, result.dtype, None, result.device)
        return (calling.call_into(result, _SEQUENCE, key, tuple(numbers)),)


_SEQUENCE = Create("FILL_VALUE_SEQUENCE", "arange")


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
        fastest = max(d for d, n in enumerate(values.shape) if n > 1)
        first = (0,) * values.ndim
        off, on = values[first], values[with_size(first, fastest, 1)]
        key = (result._spec, indices._spec, self.axis, off._spec, on._spec)
        return (calling.call(_HOT, key, (result, indices, off, on)),)


_HOT = OneHot("ONE_HOT")


@remembered
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
    output = wanted_output("FILL_VALUE_CONSTANT", data_type, sizes, out)
    desc = FillValueConstantOperatorDesc(output=output, value=value)
    found: Tensor = call(desc, (), out, feature_level, device)
    return found


@remembered
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
    output = wanted_output("FILL_VALUE_SEQUENCE", data_type, sizes, out)
    desc = FillValueSequenceOperatorDesc(output=output, value_start=start, value_delta=delta)
    found: Tensor = call(desc, (), out, feature_level, device)
    return found


@remembered
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
    axis = calling.integer(name, "Axis", axis)
    check_axis(name, axis, positions.rank)
    depth = calling.integer(name, "depth", depth)
    output = wanted_output(name, pair.data_type, with_size(positions.sizes, axis, depth), out)
    desc = OneHotOperatorDesc(indices=positions, values=pair, output=output, axis=axis)
    found: Tensor = call(desc, (indices, values), out, feature_level)
    return found
