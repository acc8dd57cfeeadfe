"""CUMULATIVE_SUMMATION and CUMULATIVE_PRODUCT: running values along an axis, in place if wanted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from tensorlayout.directml.constants import AxisDirection
from tensorlayout.directml.operator_desc import Direction, Expected, Given, OperatorDesc
from tensorlayout.directml.operators import call, desc_of, desc_of_out, remembered, share_bytes
from tensorlayout.directml.outputs import delivered
from tensorlayout.directml.rules import check_axis, expected
from tensorlayout.directml.tables import HIGHEST
from tensorlayout.directml.tensor_desc import TensorDesc
from tensorlayout.functions import calling
from tensorlayout.functions.creation import empty
from tensorlayout.functions.manipulation import flip
from tensorlayout.plan.scan import Scan
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
        way = _SUM, self.axis, self.axis_direction, self.has_exclusive_sum
        return (_running(inputs[0], outs[0], *way),)


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
        way = _PRODUCT, self.axis, self.axis_direction, self.has_exclusive_product
        return (_running(inputs[0], outs[0], *way),)


_SUM = Scan("CUMULATIVE_SUMMATION", "numeric", "sum")
_PRODUCT = Scan("CUMULATIVE_PRODUCT", "numeric", "prod")


def _running(
    x: Tensor, out: Tensor | None, operation: Scan, axis: int, direction: Any, exclusive: bool
) -> Tensor:
    """The running value; backwards by way of flipped views."""
    turned = direction == AxisDirection.DECREASING
    if turned:
        result = (
            empty(x.shape, dtype=x.dtype, device=x.device, layout=x.layout.minor_to_major)
            if out is None
            else out
        )
        _running(flip(x, axis=axis), flip(result, axis=axis), operation, axis, None, exclusive)
        return result
    key = (x._spec, axis, exclusive, False)
    if out is None or not (share_bytes(out, x) and (exclusive or out.layout is not x.layout)):
        return calling.call_into(out, operation, key, (x,))
    # What is written would be read again, as an element after it.
    return delivered(calling.call(operation, key, (x,)), out)


@remembered
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


@remembered
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
