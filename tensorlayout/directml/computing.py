"""Operators that compute: ELEMENT_WISE_IDENTITY, CAST, ELEMENT_WISE_IF, and cumulative ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tensorlayout.directml import members
from tensorlayout.directml.constants import AxisDirection, DataTypeLike
from tensorlayout.directml.operator_desc import ExpectedOutput, OneToOne, OperatorDesc, check_tensor
from tensorlayout.directml.operators import (
    HIGHEST,
    allocate_output,
    has_overlapping_bytes,
    run_operator,
)
from tensorlayout.directml.tensor_desc import TensorDesc
from tensorlayout.functions import dispatch
from tensorlayout.functions.manipulation import flip
from tensorlayout.plan import Elementwise, Scaling, Scan
from tensorlayout.tensor import Tensor

__all__ = [
    "CastOperatorDesc",
    "CumulativeProductOperatorDesc",
    "CumulativeSummationOperatorDesc",
    "ElementWiseIdentityOperatorDesc",
    "ElementWiseIfOperatorDesc",
    "cast",
    "cumulative_product",
    "cumulative_summation",
    "element_wise_identity",
    "element_wise_if",
]


class ElementWiseIdentityOperatorDesc(OneToOne, operator="ELEMENT_WISE_IDENTITY", in_place=True):
    """DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC: what `element_wise_identity` takes.

    >>> from tensorlayout.directml import ElementWiseIdentityOperatorDesc, TensorDesc
    >>> x = TensorDesc("FLOAT32", (2, 3))
    >>> ElementWiseIdentityOperatorDesc(input=x, scale_bias=(2.0, 0.5)).validate().output.sizes
    (2, 3)
    """

    scale_bias: members.Pair | None = None
    _plan = Scaling("scale_bias", "real floating")

    def _output_sizes(self) -> tuple[int, ...]:
        kind = self.input.data_type
        if self.scale_bias is not None and not kind.is_float:
            raise TypeError(f"ScaleBias is for floating-point tensors, got {kind.name}")
        return self.input.sizes

    def _execute(self, out: Tensor, x: Tensor) -> None:
        if self.scale_bias is None:
            out[...] = x
        else:
            key, operands = (x.spec, float, float), (x, *self.scale_bias)
            # DirectML allows an output over exactly the input's bytes. With equal layouts each
            # element is read just before it is written. With other strides, such as a transpose in
            # place, a write would change elements not yet read, so the result is computed elsewhere
            # first.
            if out.spec.layout is x.spec.layout or not has_overlapping_bytes(out, x):
                dispatch.call_into(out, self._plan, key, operands)
            else:
                out[...] = dispatch.call(self._plan, key, operands)


def element_wise_identity(
    x: Tensor,
    scale_bias: Sequence[float] | None = None,
    *,
    out: Tensor | None = None,
    feature_level: str | int = HIGHEST,
) -> Tensor:
    """Return a copy of `x`, or ``x * scale + bias``: ELEMENT_WISE_IDENTITY.

    `scale_bias`: two numbers, rounded to FLOAT32; only for floating-point tensors. FLOAT16 is
    computed in FLOAT32 and rounded once.

    Returns a tensor packed in the order of `x`, or `out`, which may be `x` itself.

    Raises `TypeError` for data types, and `ValueError` for ranks and sizes, that `feature_level`
    does not allow or that do not fit each other.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> directml.element_wise_identity(tl.asarray([1.0, 2.0]), (2, 0.5))
    Tensor([2.5, 4.5], dtype=float64, device='cpu')
    """
    return run_operator(ElementWiseIdentityOperatorDesc, (x, scale_bias), out, feature_level)


class CastOperatorDesc(OperatorDesc, operator="CAST"):
    """DML_CAST_OPERATOR_DESC: what `cast` takes; the output has the target data type.

    >>> from tensorlayout.directml import CastOperatorDesc, TensorDesc
    >>> x = TensorDesc("FLOAT32", (2, 3))
    >>> CastOperatorDesc(input=x, output=TensorDesc("INT8", (2, 3))).validate().output.data_type
    <DataType.INT8: 8>
    """

    input: TensorDesc
    output: TensorDesc

    def _output_sizes(self) -> tuple[int, ...]:
        return self.input.sizes

    def _execute(self, out: Tensor, x: Tensor) -> None:
        out[...] = x


def cast(
    x: Tensor,
    data_type: DataTypeLike,
    *,
    out: Tensor | None = None,
    feature_level: str | int = HIGHEST,
) -> Tensor:
    """Return the elements of `x` converted to `data_type`: CAST.

    Converts as `astype`: floats are truncated towards zero to integers, integers keep their lowest
    bits, and floats are rounded to the nearest.

    Returns a tensor packed in the order of `x`, or `out`.

    Raises `TypeError` for data types, and `ValueError` for ranks and sizes, that `feature_level`
    does not allow or that do not fit each other.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> directml.cast(tl.asarray([1.75, -1.75]), "INT32")
    Tensor([ 1, -1], dtype=int32, device='cpu')
    """
    return run_operator(CastOperatorDesc, (x,), out, feature_level, {"data_type": data_type})


class ElementWiseIfOperatorDesc(OperatorDesc, operator="ELEMENT_WISE_IF"):
    """DML_ELEMENT_WISE_IF_OPERATOR_DESC: what `element_wise_if` takes.

    >>> from tensorlayout.directml import ElementWiseIfOperatorDesc, TensorDesc
    >>> x = TensorDesc("FLOAT32", (2, 3))
    >>> desc = ElementWiseIfOperatorDesc(condition=TensorDesc("UINT8", (2, 3)), a=x, b=x)
    >>> desc.validate().output.sizes
    (2, 3)
    """

    condition: TensorDesc
    a: TensorDesc
    b: TensorDesc
    output: TensorDesc | None = None
    # The condition, operand 0, has no say in promotion and layout.
    _plan = Elementwise("where", "any", abstain=(0,))
    _allocates_output = True

    def _expected_outputs(self) -> list[ExpectedOutput]:
        check_tensor("BTensor", self.b, self.a.sizes, self.a.data_type)
        check_tensor("ConditionTensor", self.condition, self.a.sizes)
        return [(self.a.data_type, self.a.sizes)]

    def _execute(self, out: Tensor | None, *operands: Tensor) -> Tensor:
        return dispatch.call_into(out, self._plan, tuple(x.spec for x in operands), operands)


def element_wise_if(
    condition: Tensor,
    a: Tensor,
    b: Tensor,
    *,
    out: Tensor | None = None,
    feature_level: str | int = HIGHEST,
) -> Tensor:
    """Return elements of `a` where `condition` is not 0, and of `b` elsewhere: ELEMENT_WISE_IF.

    `condition`, of UINT8, `a` and `b` must have equal sizes; broadcast them first, which copies
    nothing.

    Returns a tensor in the form of `a` and `b`, or `out`.

    Raises `TypeError` for data types, and `ValueError` for ranks and sizes, that `feature_level`
    does not allow or that do not fit each other.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> mask = tl.asarray([1, 0], dtype=tl.uint8)
    >>> directml.element_wise_if(mask, tl.asarray([1, 2]), tl.asarray([8, 9]))
    Tensor([1, 9], dtype=int64, device='cpu')
    """
    return run_operator(ElementWiseIfOperatorDesc, (condition, a, b), out, feature_level)


# --- cumulative operators -----------------------------------------------------------------------


class _CumulativeOperator(OneToOne):
    axis: members.Axis
    axis_direction: members.Direction
    _plan: ClassVar[Scan]
    _allocates_output = True

    def _execute(self, out: Tensor | None, x: Tensor) -> Tensor:
        if self.axis_direction == AxisDirection.INCREASING:
            return self._scan_forward_into(out, x)
        if out is None:
            assert self.output is not None
            out = allocate_output(self.output, x)
        # Flipped views copy nothing and turn a decreasing scan into an increasing one.
        self._scan_forward_into(flip(out, axis=self.axis), flip(x, axis=self.axis))
        return out

    def _scan_forward_into(self, out: Tensor | None, x: Tensor) -> Tensor:
        # The last member: has_exclusive_sum or has_exclusive_product.
        exclusive = getattr(self, self._members[-1].name)
        key = (x.spec, self.axis, exclusive, False)
        # In place an inclusive scan reads each element before it writes there. An exclusive one
        # writes each sum one element further on, over an element that it has yet to read.
        if out is None or not (
            has_overlapping_bytes(out, x) and (exclusive or out.layout is not x.layout)
        ):
            return dispatch.call_into(out, self._plan, key, (x,))
        out[...] = dispatch.call(self._plan, key, (x,))
        return out


class CumulativeSummationOperatorDesc(
    _CumulativeOperator, operator="CUMULATIVE_SUMMATION", in_place=True
):
    """DML_CUMULATIVE_SUMMATION_OPERATOR_DESC: what `cumulative_summation` takes.

    >>> from tensorlayout.directml import CumulativeSummationOperatorDesc, TensorDesc
    >>> x = TensorDesc("FLOAT32", (2, 3))
    >>> running = {"axis": 1, "axis_direction": "DECREASING", "has_exclusive_sum": False}
    >>> desc = CumulativeSummationOperatorDesc(input=x, **running)
    >>> desc.validate().output.sizes
    (2, 3)
    """

    has_exclusive_sum: bool
    _plan = Scan("CUMULATIVE_SUMMATION", "numeric", "sum")


class CumulativeProductOperatorDesc(
    _CumulativeOperator, operator="CUMULATIVE_PRODUCT", in_place=True
):
    """DML_CUMULATIVE_PRODUCT_OPERATOR_DESC: what `cumulative_product` takes.

    >>> from tensorlayout.directml import CumulativeProductOperatorDesc, TensorDesc
    >>> x = TensorDesc("FLOAT32", (2, 3))
    >>> running = {"axis": 1, "axis_direction": "INCREASING", "has_exclusive_product": True}
    >>> desc = CumulativeProductOperatorDesc(input=x, **running)
    >>> desc.validate().output.sizes
    (2, 3)
    """

    has_exclusive_product: bool
    _plan = Scan("CUMULATIVE_PRODUCT", "numeric", "prod")


def cumulative_summation(
    x: Tensor,
    axis: int,
    axis_direction: members.Direction = AxisDirection.INCREASING,
    has_exclusive_sum: bool = False,
    *,
    out: Tensor | None = None,
    feature_level: str | int = HIGHEST,
) -> Tensor:
    """Return the cumulative sum of the elements along `axis`: CUMULATIVE_SUMMATION.

    - `axis_direction`: ``INCREASING`` or ``DECREASING`` index.
    - `has_exclusive_sum`: exclude the element itself, so that sums begin with 0.

    Integers wrap. Returns a tensor packed in the order of `x`, or `out`, which may be `x` itself.

    Raises `TypeError` for data types, and `ValueError` for ranks and sizes, that `feature_level`
    does not allow or that do not fit each other.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> directml.cumulative_summation(tl.asarray([1, 2, 3]), 0, "DECREASING")
    Tensor([6, 5, 3], dtype=int64, device='cpu')
    """
    values = (x, axis, axis_direction, has_exclusive_sum)
    return run_operator(CumulativeSummationOperatorDesc, values, out, feature_level)


def cumulative_product(
    x: Tensor,
    axis: int,
    axis_direction: members.Direction = AxisDirection.INCREASING,
    has_exclusive_product: bool = False,
    *,
    out: Tensor | None = None,
    feature_level: str | int = HIGHEST,
) -> Tensor:
    """Return the cumulative product of the elements along `axis`: CUMULATIVE_PRODUCT.

    - `axis_direction`: ``INCREASING`` or ``DECREASING`` index.
    - `has_exclusive_product`: exclude the element itself, so that products begin with 1.

    Returns a tensor packed in the order of `x`, or `out`.

    Raises `TypeError` for data types, and `ValueError` for ranks and sizes, that `feature_level`
    does not allow or that do not fit each other.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> directml.cumulative_product(tl.asarray([2, 3, 4]), 0, has_exclusive_product=True)
    Tensor([1, 2, 6], dtype=int64, device='cpu')
    """
    values = (x, axis, axis_direction, has_exclusive_product)
    return run_operator(CumulativeProductOperatorDesc, values, out, feature_level)
