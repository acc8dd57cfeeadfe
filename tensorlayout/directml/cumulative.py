"""CUMULATIVE_SUMMATION and CUMULATIVE_PRODUCT: running values along an axis, in place if wanted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from tensorlayout.directml.constants import AxisDirection
from tensorlayout.directml.operator_desc import Direction, Expected, Given, OperatorDesc
from tensorlayout.directml.operators import call, desc_of, desc_of_out
from tensorlayout.directml.outputs import copied
from tensorlayout.directml.rules import check_axis, expected
from tensorlayout.directml.tables import HIGHEST
from tensorlayout.directml.tensor_desc import TensorDesc
from tensorlayout.functions.manipulation import flip
from tensorlayout.functions.statistical import cumulative_prod, cumulative_sum
from tensorlayout.tensor import Tensor


@dataclass(frozen=True, kw_only=True)
class CumulativeSummationOperatorDesc(OperatorDesc):
    """DML_CUMULATIVE_SUMMATION_OPERATOR_DESC."""

    operator: ClassVar[str] = "CUMULATIVE_SUMMATION"
    in_place: ClassVar[bool] = True
    input: TensorDesc
    output: TensorDesc | None = None
    axis: int
    axis_direction: Direction
    has_exclusive_sum: bool

    def _rule(self) -> tuple[Expected, ...]:
        check_axis(self.operator, self.axis, self.input.rank)
        return (expected(self.input),)

    def _run(self, inputs: Any, outs: Given) -> tuple[Tensor, ...]:
        way = cumulative_sum, self.axis, self.axis_direction, self.has_exclusive_sum
        return (copied(_running(inputs[0], *way), outs[0], self.output),)


@dataclass(frozen=True, kw_only=True)
class CumulativeProductOperatorDesc(OperatorDesc):
    """DML_CUMULATIVE_PRODUCT_OPERATOR_DESC."""

    operator: ClassVar[str] = "CUMULATIVE_PRODUCT"
    in_place: ClassVar[bool] = True
    input: TensorDesc
    output: TensorDesc | None = None
    axis: int
    axis_direction: Direction
    has_exclusive_product: bool

    def _rule(self) -> tuple[Expected, ...]:
        check_axis(self.operator, self.axis, self.input.rank)
        return (expected(self.input),)

    def _run(self, inputs: Any, outs: Given) -> tuple[Tensor, ...]:
        way = cumulative_prod, self.axis, self.axis_direction, self.has_exclusive_product
        return (copied(_running(inputs[0], *way), outs[0], self.output),)


def _running(x: Tensor, function: Any, axis: int, direction: Any, exclusive: bool) -> Tensor:
    """The running value; backwards by way of a flipped view."""
    turned = direction == AxisDirection.DECREASING
    line = flip(x, axis=axis) if turned else x
    found: Tensor = function(line, axis=axis, dtype=x.dtype, include_initial=exclusive)
    if exclusive:
        found = found[(*(slice(None),) * axis, slice(0, -1))]
    return flip(found, axis=axis) if turned else found


def cumulative_summation(
    x: Tensor,
    axis: int,
    axis_direction: Direction = AxisDirection.INCREASING,
    has_exclusive_sum: bool = False,
    *,
    out: Tensor | None = None,
    feature_level: Any = HIGHEST,
) -> Tensor:
    """The sum of all elements so far along `axis`: CUMULATIVE_SUMMATION.

    `axis_direction`: ``INCREASING`` or ``DECREASING`` index. `has_exclusive_sum`: without the
    element itself, from 0 on. Integers wrap. Result: packed in the order of `x`, or `out`, which
    may be `x` itself.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> directml.cumulative_summation(tl.asarray([1, 2, 3]), 0, "DECREASING")
    Tensor([6, 5, 3], dtype=int64, device='cpu')
    """
    desc = CumulativeSummationOperatorDesc(
        input=desc_of("CUMULATIVE_SUMMATION", "InputTensor", x),
        output=desc_of_out("CUMULATIVE_SUMMATION", out),
        axis=axis,
        axis_direction=axis_direction,
        has_exclusive_sum=has_exclusive_sum,
    )
    found: Tensor = call(desc, (x,), out, feature_level)
    return found


def cumulative_product(
    x: Tensor,
    axis: int,
    axis_direction: Direction = AxisDirection.INCREASING,
    has_exclusive_product: bool = False,
    *,
    out: Tensor | None = None,
    feature_level: Any = HIGHEST,
) -> Tensor:
    """The product of all elements so far along `axis`, from 1 on: CUMULATIVE_PRODUCT.

    Arguments and result as for `cumulative_summation`.
    """
    desc = CumulativeProductOperatorDesc(
        input=desc_of("CUMULATIVE_PRODUCT", "InputTensor", x),
        output=desc_of_out("CUMULATIVE_PRODUCT", out),
        axis=axis,
        axis_direction=axis_direction,
        has_exclusive_product=has_exclusive_product,
    )
    found: Tensor = call(desc, (x,), out, feature_level)
    return found
