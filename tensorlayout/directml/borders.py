"""PADDING and PADDING1: a border around a tensor, of a constant or of what lies inside."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
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
from tensorlayout.directml.outputs import target
from tensorlayout.directml.rules import check_count, check_unsigned, expected
from tensorlayout.directml.tables import HIGHEST
from tensorlayout.directml.tensor_desc import TensorDesc
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
    """The inside, then dimension after dimension what lies around, from what is written already."""
    result = target(out, desc.output, x)
    rows = list(zip(x.shape, desc.start_padding, desc.end_padding, strict=True))
    inside = [slice(before, before + n) for n, before, _ in rows]
    result[tuple(inside)] = x
    constant = desc.padding_mode == PaddingMode.CONSTANT
    value = desc._value() if constant else None
    for dim, (n, before, after) in enumerate(rows):
        head, tail = (slice(None),) * dim, tuple(inside[dim + 1 :])
        if value is not None:
            for cut in (slice(0, before), slice(before + n, before + n + after)):
                if cut.start != cut.stop:
                    result[(*head, cut, *tail)] = value
            continue
        for to, source in runs(desc.padding_mode, n, before, after):
            result[(*head, to, *tail)] = result[(*head, source, *tail)]
    return result


Run = tuple[slice, slice]


@functools.lru_cache(maxsize=1024)
def runs(mode: Mode, n: int, before: int, after: int) -> tuple[Run, ...]:
    """What of the border equals what inside, as slices of the padded dimension.

    A mirrored border is one run, a longer one than the data several, turn by turn.
    """
    if mode == PaddingMode.EDGE or n == 1:
        left, right = slice(before, before + 1), slice(before + n - 1, before + n)
        sides = (slice(0, before), left), (slice(before + n, before + n + after), right)
        return tuple((to, source) for to, source in sides if to.stop > to.start)
    periods: dict[Any, int] = {PaddingMode.REFLECTION: 2 * n - 2, PaddingMode.SYMMETRIC: 2 * n}
    period = periods.get(mode, n)
    border = chain(range(-before, 0), range(n, n + after))
    return _merged([(at + before, _inside(mode, at, n, period) + before) for at in border])


def _inside(mode: Mode, at: int, n: int, period: int) -> int:
    """The position of the data that a position of the border equals."""
    folded = at % period
    if folded < n:
        return folded
    return period - folded - (0 if mode == PaddingMode.REFLECTION else 1)


def _merged(pairs: Sequence[tuple[int, int]]) -> tuple[Run, ...]:
    """Pairs of positions as slices: neighbours that walk on in one direction together."""
    groups: list[tuple[int, int, int, int]] = []  # first and last to, first source, step
    for to, source in pairs:
        if groups:
            first, last, start, step = groups[-1]
            run = last - first
            if to == last + 1 and (
                (run == 0 and abs(source - start) == 1)
                or (run > 0 and source == start + step * (run + 1))
            ):
                groups[-1] = (first, to, start, source - start if run == 0 else step)
                continue
        groups.append((to, to, source, 1))
    return tuple(
        (slice(first, last + 1), _walk(start, step, last - first + 1))
        for first, last, start, step in groups
    )


def _walk(start: int, step: int, count: int) -> slice:
    stop = start + step * count
    return slice(start, stop if stop >= 0 else None, step)


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
