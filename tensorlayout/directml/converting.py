"""ELEMENT_WISE_IDENTITY, CAST and ELEMENT_WISE_IF: element by element, sizes as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tensorlayout.directml.constants import ScaleBias
from tensorlayout.directml.numbers import single
from tensorlayout.directml.operator_desc import Expected, Given, OperatorDesc
from tensorlayout.directml.operators import call, desc_of, desc_of_out, remembered, share_bytes
from tensorlayout.directml.outputs import copied, delivered, target
from tensorlayout.directml.rules import check_rank, check_same, check_sizes, expected
from tensorlayout.directml.tables import HIGHEST
from tensorlayout.directml.tensor_desc import TensorDesc, asked
from tensorlayout.functions import calling
from tensorlayout.plan.elementwise import Elementwise, Scaling
from tensorlayout.tensor import Tensor


@dataclass(frozen=True, kw_only=True)
class ElementWiseIdentityOperatorDesc(OperatorDesc):
    """DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC; a scale and bias are for floats only."""

    operator: ClassVar[str] = "ELEMENT_WISE_IDENTITY"
    in_place: ClassVar[bool] = True
    input: TensorDesc
    output: TensorDesc | None = None
    scale_bias: Sequence[float] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scale_bias is not None:
            object.__setattr__(self, "scale_bias", _scale_bias(self.operator, self.scale_bias))

    def _rule(self) -> tuple[Expected, ...]:
        kind = self.input.data_type
        if self.scale_bias is not None and not kind.is_float:
            msg = f"{self.operator}: ScaleBias is for floating-point tensors, got {kind.name}"
            raise TypeError(msg)
        return (expected(self.input),)

    def _run(self, inputs: Any, outs: Given) -> tuple[Tensor, ...]:
        (x,) = inputs
        if self.scale_bias is None:
            return (copied(x, outs[0], self.output),)
        scale, bias = self.scale_bias
        key, operands = (x._spec, float, float), (x, scale, bias)
        result = target(outs[0], self.output, x)
        if outs[0] is None or result.layout is x.layout or not share_bytes(result, x):
            return (calling.call_into(result, _SCALED, key, operands),)
        return (delivered(calling.call(_SCALED, key, operands), result),)


@dataclass(frozen=True, kw_only=True)
class CastOperatorDesc(OperatorDesc):
    """DML_CAST_OPERATOR_DESC; the output says into what."""

    operator: ClassVar[str] = "CAST"
    input: TensorDesc
    output: TensorDesc

    def _rule(self) -> tuple[Expected, ...]:
        return (expected(self.output, self.input.sizes),)

    def _run(self, inputs: Any, outs: Given) -> tuple[Tensor, ...]:
        result = target(outs[0], self.output, inputs[0])
        result[...] = inputs[0]
        return (result,)


@dataclass(frozen=True, kw_only=True)
class ElementWiseIfOperatorDesc(OperatorDesc):
    """DML_ELEMENT_WISE_IF_OPERATOR_DESC."""

    operator: ClassVar[str] = "ELEMENT_WISE_IF"
    condition: TensorDesc
    a: TensorDesc
    b: TensorDesc
    output: TensorDesc | None = None

    def _rule(self) -> tuple[Expected, ...]:
        check_same(self.operator, "BTensor", self.b, self.a)
        check_rank(self.operator, "ConditionTensor", self.condition, self.a.rank)
        check_sizes(self.operator, "ConditionTensor", self.condition, self.a.sizes)
        return (expected(self.a),)

    def _run(self, inputs: Any, outs: Given) -> tuple[Tensor, ...]:
        key = tuple(x._spec for x in inputs)
        return (calling.call_into(outs[0], _IF, key, inputs),)


_SCALED = Scaling("scale_bias", "real floating")
_IF = Elementwise("where", "any", abstain=(0,))


def _scale_bias(name: str, given: Any) -> ScaleBias:
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        msg = f"{name}: ScaleBias must be two numbers, got {calling.shown(given)}"
        raise TypeError(msg)
    members = zip(ScaleBias._fields, given, strict=True)
    parts = [(f"ScaleBias: {part.capitalize()}", x) for part, x in members]
    return ScaleBias(*(single(name, part, calling.real(name, part, x)) for part, x in parts))


@remembered
def element_wise_identity(
    x: Tensor,
    scale_bias: Sequence[float] | None = None,
    *,
    out: Tensor | None = None,
    feature_level: Any = HIGHEST,
) -> Tensor:
    """A copy of `x`, or ``x * scale + bias``: ELEMENT_WISE_IDENTITY.

    `scale_bias`: two numbers, rounded to FLOAT32, for floating-point tensors only. FLOAT16 is
    worked out in FLOAT32 and rounded once. Result: packed in the order of `x`, or `out`, which may
    be `x` itself.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> directml.element_wise_identity(tl.asarray([1.0, 2.0]), (2, 0.5))
    Tensor([2.5, 4.5], dtype=float64, device='cpu')
    """
    desc = ElementWiseIdentityOperatorDesc(
        input=desc_of("ELEMENT_WISE_IDENTITY", "InputTensor", x),
        output=desc_of_out("ELEMENT_WISE_IDENTITY", out),
        scale_bias=scale_bias,
    )
    found: Tensor = call(desc, (x,), out, feature_level)
    return found


@remembered
def cast(
    x: Tensor, data_type: Any, *, out: Tensor | None = None, feature_level: Any = HIGHEST
) -> Tensor:
    """The elements of `x` converted to another data type: CAST.

    As `astype` converts: floats towards zero to integers, integers by their lowest bits, floats
    rounded to the nearest. Result: packed in the order of `x`, or `out`.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> directml.cast(tl.asarray([1.75, -1.75]), "INT32")
    Tensor([ 1, -1], dtype=int32, device='cpu')
    """
    source = desc_of("CAST", "InputTensor", x)
    wanted = asked("CAST: OutputTensor", data_type, source.sizes)
    output = desc_of_out("CAST", out)
    if output is not None and output.data_type != wanted.data_type:
        kinds = f"must be {wanted.data_type.name}, got {output.data_type.name}"
        msg = f"CAST: OutputTensor: DataType {kinds}"
        raise TypeError(msg)
    desc = CastOperatorDesc(input=source, output=output or wanted)
    found: Tensor = call(desc, (x,), out, feature_level)
    return found


@remembered
def element_wise_if(
    condition: Tensor,
    a: Tensor,
    b: Tensor,
    *,
    out: Tensor | None = None,
    feature_level: Any = HIGHEST,
) -> Tensor:
    """Elements of `a` where `condition`, UINT8, is not 0, else of `b`: ELEMENT_WISE_IF.

    All of one size: broadcast before, which copies nothing. Result: as `where` gives it, or `out`.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> mask = tl.asarray([1, 0], dtype=tl.uint8)
    >>> directml.element_wise_if(mask, tl.asarray([1, 2]), tl.asarray([8, 9]))
    Tensor([1, 9], dtype=int64, device='cpu')
    """
    desc = ElementWiseIfOperatorDesc(
        condition=desc_of("ELEMENT_WISE_IF", "ConditionTensor", condition),
        a=desc_of("ELEMENT_WISE_IF", "ATensor", a),
        b=desc_of("ELEMENT_WISE_IF", "BTensor", b),
        output=desc_of_out("ELEMENT_WISE_IF", out),
    )
    found: Tensor = call(desc, (condition, a, b), out, feature_level)
    return found
