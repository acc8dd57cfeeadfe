"""PADDING and PADDING1: a border around a tensor, of a constant or of what lies inside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tensorlayout.directml.constants import PaddingMode
from tensorlayout.directml.numbers import check_value_type, truncated, typed
from tensorlayout.directml.operator_desc import (
    AnyDataType,
    Expected,
    Given,
    Integers,
    Mode,
    Number,
    OperatorDesc,
)
from tensorlayout.directml.operators import call, desc_of, desc_of_out, remembered
from tensorlayout.directml.rules import check_count, check_unsigned, expected
from tensorlayout.directml.tables import HIGHEST
from tensorlayout.directml.tensor_desc import TensorDesc
from tensorlayout.functions import calling
from tensorlayout.plan.pad import Pad
from tensorlayout.tensor import Tensor


@dataclass(frozen=True, kw_only=True)
class PaddingOperatorDesc(OperatorDesc):
    """DML_PADDING_OPERATOR_DESC. The value is FLOAT: towards zero for integers."""

    operator: ClassVar[str] = "PADDING"
    input: TensorDesc
    output: TensorDesc | None = None
    padding_mode: Mode
    padding_value: Number = 0.0
    start_padding: Integers
    end_padding: Integers

    def _rule(self) -> tuple[Expected, ...]:
        if self.padding_mode == PaddingMode.CONSTANT:
            self._value()
        return (_grown(self),)

    def _value(self) -> int | float:
        name, kind = self.operator, self.input.data_type
        return truncated(name, "PaddingValue", self.padding_value, kind)

    def _run(self, inputs: Any, outs: Given) -> tuple[Tensor, ...]:
        return (_padded(self, inputs[0], outs[0]),)


@dataclass(frozen=True, kw_only=True)
class Padding1OperatorDesc(OperatorDesc):
    """DML_PADDING1_OPERATOR_DESC. The value has the data type of the tensors."""

    operator: ClassVar[str] = "PADDING1"
    input: TensorDesc
    output: TensorDesc | None = None
    padding_mode: Mode
    padding_value_data_type: AnyDataType | None = None
    padding_value: Number = 0
    start_padding: Integers
    end_padding: Integers

    def _rule(self) -> tuple[Expected, ...]:
        kind = self.input.data_type
        member = "PaddingValueDataType"
        check_value_type(self.operator, member, self.padding_value_data_type, kind)
        if self.padding_mode == PaddingMode.CONSTANT:
            self._value()
        return (_grown(self),)

    def _value(self) -> int | float:
        return typed(self.operator, "PaddingValue", self.padding_value, self.input.data_type)

    def _run(self, inputs: Any, outs: Given) -> tuple[Tensor, ...]:
        return (_padded(self, inputs[0], outs[0]),)


_Padding = PaddingOperatorDesc | Padding1OperatorDesc


def _grown(desc: _Padding) -> Expected:
    rank = desc.input.rank
    for member, values in ("StartPadding", desc.start_padding), ("EndPadding", desc.end_padding):
        check_count(desc.operator, member, values, rank)
        check_unsigned(desc.operator, member, values)
    rows = zip(desc.input.sizes, desc.start_padding, desc.end_padding, strict=True)
    return expected(desc.input, [n + before + after for n, before, after in rows])


def _padded(desc: _Padding, x: Tensor, out: Tensor | None) -> Tensor:
    borders = tuple(zip(desc.start_padding, desc.end_padding, strict=True))
    mode: Any = desc.padding_mode
    value = desc._value() if mode == PaddingMode.CONSTANT else 0
    key = (x._spec, borders, mode.name.lower())
    return calling.call_into(out, _PAD[desc.operator], key, (x, value))


_PAD = {name: Pad(name) for name in ("PADDING", "PADDING1")}


@remembered
def padding(
    x: Tensor,
    start_padding: Sequence[int],
    end_padding: Sequence[int],
    mode: Mode = PaddingMode.CONSTANT,
    value: float = 0.0,
    *,
    out: Tensor | None = None,
    feature_level: Any = HIGHEST,
) -> Tensor:
    """`x` with so many more elements before and after each dimension: PADDING.

    `mode`: ``CONSTANT`` fills with `value` (a FLOAT; towards zero for integers), ``EDGE`` repeats
    the outermost elements, ``REFLECTION`` mirrors without them and ``SYMMETRIC`` with them, again
    and again if need be, ``WRAP`` goes on at the other end. Result: packed in the order of `x`, or
    `out`.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> directml.padding(tl.asarray([1, 2, 3]), [2], [4], "REFLECTION")
    Tensor([3, 2, 1, 2, 3, 2, 1, 2, 3], dtype=int64, device='cpu')
    """
    desc = PaddingOperatorDesc(
        input=desc_of("PADDING", "InputTensor", x),
        output=desc_of_out("PADDING", out),
        padding_mode=mode,
        padding_value=value,
        start_padding=start_padding,
        end_padding=end_padding,
    )
    found: Tensor = call(desc, (x,), out, feature_level)
    return found


@remembered
def padding1(
    x: Tensor,
    start_padding: Sequence[int],
    end_padding: Sequence[int],
    mode: Mode = PaddingMode.CONSTANT,
    value: float = 0,
    *,
    out: Tensor | None = None,
    feature_level: Any = HIGHEST,
) -> Tensor:
    """As `padding`, the value being of the data type of `x`, exact for integers: PADDING1."""
    desc = Padding1OperatorDesc(
        input=desc_of("PADDING1", "InputTensor", x),
        output=desc_of_out("PADDING1", out),
        padding_mode=mode,
        padding_value=value,
        start_padding=start_padding,
        end_padding=end_padding,
    )
    found: Tensor = call(desc, (x,), out, feature_level)
    return found
