"""UPSAMPLE_2D: height and width enlarged by whole factors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tensorlayout.directml.constants import UINT32_MAX, InterpolationMode, Size2D
from tensorlayout.directml.operator_desc import (
    Expected,
    Given,
    Integers,
    Interpolation,
    OperatorDesc,
)
from tensorlayout.directml.operators import call, desc_of, desc_of_out, remembered
from tensorlayout.directml.outputs import seen_as, target
from tensorlayout.directml.rules import expected, refuse
from tensorlayout.directml.tables import HIGHEST
from tensorlayout.directml.tensor_desc import TensorDesc
from tensorlayout.directml.texts import listed
from tensorlayout.functions import calling
from tensorlayout.plan.image import Upsample
from tensorlayout.tensor import Tensor


@dataclass(frozen=True, kw_only=True)
class Upsample2DOperatorDesc(OperatorDesc):
    """DML_UPSAMPLE_2D_OPERATOR_DESC; the scale is a `Size2D`: width, then height."""

    operator: ClassVar[str] = "UPSAMPLE_2D"
    input: TensorDesc
    output: TensorDesc | None = None
    scale_size: Integers
    interpolation_mode: Interpolation

    def _rule(self) -> tuple[Expected, ...]:
        if len(self.scale_size) != 2:
            came = listed(self.scale_size)
            refuse(self.operator, f"ScaleSize must be a width and a height, got {came}")
        *others, height, width = self.input.sizes
        scale = Size2D(*self.scale_size)
        for member, factor, size in ("Width", scale.width, width), ("Height", scale.height, height):
            most = UINT32_MAX // size
            if not 1 <= factor <= most:
                rule = f"ScaleSize: {member} must be 1 to {most}, 2**32 - 1 over the size {size}"
                refuse(self.operator, f"{rule}, got {calling.shown(factor)}")
        return (expected(self.input, (*others, height * scale.height, width * scale.width)),)

    def _run(self, inputs: Any, outs: Given) -> tuple[Tensor, ...]:
        (x,) = inputs
        scale = Size2D(*self.scale_size)
        result = target(outs[0], self.output, x)
        if self.interpolation_mode == InterpolationMode.LINEAR:
            key = (result._spec, x._spec, (scale.height, scale.width))
            return (calling.call(_LINEAR, key, (result, x)),)
        *others, height, width = x.shape
        blocks = seen_as(result, (*others, height, scale.height, width, scale.width))
        blocks[...] = seen_as(x, (*others, height, 1, width, 1))
        return (result,)


_LINEAR = Upsample("UPSAMPLE_2D")


@remembered
def upsample_2d(
    x: Tensor,
    scale_size: Sequence[int],
    mode: Interpolation = InterpolationMode.NEAREST_NEIGHBOR,
    *,
    out: Tensor | None = None,
    feature_level: Any = HIGHEST,
) -> Tensor:
    """Height and width, the last two dimensions, enlarged by whole factors: UPSAMPLE_2D.

    `scale_size`: (width, height), as in C. `mode`: ``NEAREST_NEIGHBOR`` repeats elements;
    ``LINEAR`` interpolates between their centres, and repeats the outermost beyond these. FLOAT16
    is worked out in FLOAT32 and rounded once. Result: packed in the order of `x`, or `out`.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> x = tl.asarray([[[[0.0, 4.0]]]], dtype=tl.float32)
    >>> directml.upsample_2d(x, (2, 1), "LINEAR")
    Tensor([[[[0., 1., 3., 4.]]]], dtype=float32, device='cpu')
    """
    desc = Upsample2DOperatorDesc(
        input=desc_of("UPSAMPLE_2D", "InputTensor", x),
        output=desc_of_out("UPSAMPLE_2D", out),
        scale_size=scale_size,
        interpolation_mode=mode,
    )
    found: Tensor = call(desc, (x,), out, feature_level)
    return found
