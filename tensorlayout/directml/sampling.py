"""UPSAMPLE_2D: height and width enlarged by whole factors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tensorlayout.directml.constants import InterpolationMode, Size2D
from tensorlayout.directml.operator_desc import (
    Expected,
    Given,
    Integers,
    Interpolation,
    OperatorDesc,
)
from tensorlayout.directml.operators import call, desc_of, desc_of_out, remembered
from tensorlayout.directml.outputs import copied, seen_as, target
from tensorlayout.directml.rules import check_unsigned, expected, refuse
from tensorlayout.directml.tables import HIGHEST
from tensorlayout.directml.tensor_desc import TensorDesc
from tensorlayout.functions.creation import empty
from tensorlayout.functions.data_types import astype
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
            refuse(self.operator, f"ScaleSize must be a width and a height, got {self.scale_size}")
        check_unsigned(self.operator, "ScaleSize", self.scale_size, 1)
        *others, height, width = self.input.sizes
        scale = Size2D(*self.scale_size)
        return (expected(self.input, (*others, height * scale.height, width * scale.width)),)

    def _run(self, inputs: Any, outs: Given) -> tuple[Tensor, ...]:
        (x,) = inputs
        scale = Size2D(*self.scale_size)
        if self.interpolation_mode == InterpolationMode.LINEAR:
            wide = astype(x, "float32", copy=False)
            wide = _stretched(wide, x.ndim - 2, scale.height)
            wide = _stretched(wide, x.ndim - 1, scale.width)
            return (copied(wide, outs[0], self.output),)
        result = target(outs[0], self.output, x)
        *others, height, width = x.shape
        blocks = seen_as(result, (*others, height, scale.height, width, scale.width))
        blocks[...] = seen_as(x, (*others, height, 1, width, 1))
        return (result,)


def _stretched(x: Tensor, dim: int, scale: int) -> Tensor:
    """Linear interpolation between the centres of elements; beyond the outermost, these."""
    if scale == 1:
        return x
    n = x.shape[dim]
    head = (slice(None),) * dim
    sizes = (*x.shape[:dim], n * scale, *x.shape[dim + 1 :])
    result = empty(sizes, dtype=x.dtype, device=x.device, layout=x.layout.minor_to_major)
    for phase in range(scale):
        shift = (phase + 0.5) / scale - 0.5  # from the centre of the element, in elements
        part = result[(*head, slice(phase, None, scale))]
        near, far = (slice(0, -1), slice(1, None)) if shift < 0 else (slice(1, None), slice(0, -1))
        edge = slice(0, 1) if shift < 0 else slice(n - 1, n)
        part[(*head, edge)] = x[(*head, edge)]
        weight = abs(shift)
        # `far` is where the result stands, `near` the neighbour on the side of the centre.
        part[(*head, far)] = x[(*head, far)] * (1 - weight) + x[(*head, near)] * weight
    return result


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
