"""Plans of tensors in blocks of elements that share a scale, and of the way back; the formats."""

from __future__ import annotations

import functools
import math
from typing import Literal, get_args

from tensorlayout import dtypes
from tensorlayout.dtypes import DType
from tensorlayout.plan.base import DestinationPlan, plan_dataclass
from tensorlayout.support.lazy_imports import import_lazily
from tensorlayout.support.light_dataclasses import frozen_dataclass
from tensorlayout.tensor import TensorSpec

# How the largest magnitude of a block decides its power of two: see `BlockFormat.carries_from`.
Scaling = Literal["floor", "ceil", "even", "rceil"]
SCALINGS = get_args(Scaling)


@frozen_dataclass
class BlockFormat:
    """Element and scale types of a block format.

    Attributes:
        element: the name of the dtype of elements.
        scale: that of scales: powers of two, ``float8_e8m0fnu``; or ``float8_e4m3fn``, which one
            more scale of the whole tensor, of float32, goes with.
        block: how many elements, side by side along a dimension, share a scale; the last block of a
            line has what is left.
        unit: elements count in this power of two: exponents, 0 but for integers.

    """

    element: str
    scale: str = "float8_e8m0fnu"
    block: int = 32
    unit: int = 0

    @property
    def dtypes(self) -> tuple[DType, DType]:
        return dtypes.as_dtype(self.element), dtypes.as_dtype(self.scale)

    @property
    def has_power_of_two_scales(self) -> bool:
        return self.scale == "float8_e8m0fnu"

    @property
    def max_element(self) -> float:
        """The largest element, in its unit."""
        element = self.dtypes[0]
        if element.kind == "i":
            return math.ldexp(dtypes.integer_limits(element)[1], self.unit)
        return float(import_lazily("ml_dtypes").finfo(element).max)

    @property
    def max_exponent(self) -> int:
        """The exponent of the largest element, in its unit."""
        return math.frexp(self.max_element)[1] - 1

    @property
    def fraction_bits(self) -> int:
        """Bits of an element behind the point."""
        element = self.dtypes[0]
        return (
            -self.unit
            if element.kind == "i"
            else int(import_lazily("ml_dtypes").finfo(element).nmant)
        )

    def round_up_threshold(self, scaling: Scaling) -> int:
        """Return the fraction, in 2**-23, at which a magnitude counts as the next power of two.

        The scale is 2**(e - `max_exponent`), where e is the exponent of the largest magnitude: by
        ``floor`` always its own. ``ceil``: the next one for all but powers of two. ``even``: where
        rounding to the fraction of an element would reach it, ties up. ``rceil``: where the largest
        element would be less than that magnitude.
        """
        if scaling == "floor":
            return 1 << 23
        if scaling == "ceil":
            return 1
        if scaling == "even":
            return (1 << 23) - (1 << (22 - self.fraction_bits))
        return int(math.ldexp(self.max_element, 23 - self.max_exponent)) - (1 << 23) + 1


# Those of 32 elements: OCP Microscaling Formats (MX) 1.0, section 5.2; the other is NVIDIA's.
FORMATS = {
    "mxfp8_e4m3": BlockFormat("float8_e4m3fn"),
    "mxfp8_e5m2": BlockFormat("float8_e5m2"),
    "mxfp6_e2m3": BlockFormat("float6_e2m3fn"),
    "mxfp6_e3m2": BlockFormat("float6_e3m2fn"),
    "mxfp4": BlockFormat("float4_e2m1fn"),
    "mxint8": BlockFormat("int8", unit=-6),
    "nvfp4": BlockFormat("float4_e2m1fn", "float8_e4m3fn", 16),
}


@functools.cache
def find_block_format(element: DType, scale: DType) -> BlockFormat | None:
    """Return the format of elements and scales of these dtypes; None where there is none."""
    format_names = element.name, scale.name
    return next(
        (form for form in FORMATS.values() if (form.element, form.scale) == format_names), None
    )


def block_scales_shape(shape: tuple[int, ...], dim: int, block: int) -> tuple[int, ...]:
    """Return how many blocks there are along `dim`."""
    return tuple([-(-n // block) if d == dim else n for d, n in enumerate(shape)])


@plan_dataclass
class QuantizePlan(DestinationPlan):
    """Elements and scales of a tensor of floats, written into two tensors; no memory is shared.

    A call has both results, the tensor, and the scale of all of it, float32 of rank 0, where the
    format has one. Magnitudes are those of float32, to which float64 is
    rounded to odd.

    Powers of two: the exponent is at least -127 and at most 127; magnitudes below 2**-126 count as
    2**-127, infinity as 2**128. Elements are divided by the scale and rounded to nearest, ties to
    even, beyond the largest that one of their sign. Where a block has a NaN, its scale is NaN, and
    its elements are 0.

    Of the others the scale is the largest magnitude divided by the largest element, by the scale of
    all, and rounded to its dtype; elements are multiplied by 1 divided by the scale of all, by the
    scale: in float32 at each step. Where a scale is 0, elements are multiplied by 0.
    """

    kind = "quantize"
    destinations = 2

    scales: TensorSpec
    source: TensorSpec
    whole: TensorSpec | None
    format: BlockFormat
    dim: int
    scaling: Scaling


@plan_dataclass
class DequantizePlan(DestinationPlan):
    """The numbers that elements and scales stand for.

    A call has the result, elements, scales, and the scale of all, where there is one: they are
    multiplied in this order in float32, and rounded to the result's dtype.
    """

    kind = "dequantize"

    source: TensorSpec
    scales: TensorSpec
    whole: TensorSpec | None
    format: BlockFormat
    dim: int
