"""Plans of quantization in blocks that share a scale, its inverse, and products; block formats."""

from __future__ import annotations

import functools
import math
from typing import Literal, get_args

from tensorlayout import dtypes
from tensorlayout.dtypes import DType
from tensorlayout.layout import Layout
from tensorlayout.plan.base import DestinationPlan, Plan, Write, backend_of, plan_dataclass
from tensorlayout.plan.copy import AssignPlan
from tensorlayout.plan.matmul import Matmul, MatmulPlan
from tensorlayout.plan.rules import check_same_device
from tensorlayout.support.lazy_imports import import_lazily
from tensorlayout.support.light_dataclasses import frozen_dataclass
from tensorlayout.tensor import Tensor, TensorSpec

# Rounding of a block's largest magnitude to a power of two: see `BlockFormat.round_up_threshold`.
Scaling = Literal["floor", "ceil", "even", "rceil"]
SCALINGS = get_args(Scaling)


@frozen_dataclass
class BlockFormat:
    """Element and scale types of a block format.

    Attributes:
        element: name of the elements' dtype.
        scale: name of the scales' dtype: ``float8_e8m0fnu`` for powers of two, or
            ``float8_e4m3fn``, with one additional float32 scale for the whole tensor.
        block: number of consecutive elements along a dimension that share a scale; the last block
            of a line may have fewer.
        unit: exponent of the power of two in which elements count; 0 except for integers.

    """

    element: str
    scale: str = "float8_e8m0fnu"
    block: int = 32
    unit: int = 0

    @property
    def element_and_scale_dtypes(self) -> tuple[DType, DType]:
        return dtypes.as_dtype(self.element), dtypes.as_dtype(self.scale)

    @property
    def has_power_of_two_scales(self) -> bool:
        return self.scale == "float8_e8m0fnu"

    @property
    def max_element(self) -> float:
        """Largest element, in its unit."""
        element = self.element_and_scale_dtypes[0]
        if element.kind == "i":
            return math.ldexp(dtypes.integer_limits(element)[1], self.unit)
        return float(import_lazily("ml_dtypes").finfo(element).max)

    @property
    def max_exponent(self) -> int:
        """Exponent of the largest element, in its unit."""
        return math.frexp(self.max_element)[1] - 1

    @property
    def fraction_bits(self) -> int:
        """Number of fraction bits of an element."""
        element = self.element_and_scale_dtypes[0]
        return (
            -self.unit
            if element.kind == "i"
            else int(import_lazily("ml_dtypes").finfo(element).nmant)
        )

    def round_up_threshold(self, scaling: Scaling) -> int:
        """Return the fraction, in 2**-23, from which a magnitude counts as the next power of two.

        The scale is 2**(e - `max_exponent`), where e is the exponent of the largest magnitude, or
        the next one. ``floor``: never the next one. ``ceil``: the next one, except for powers of
        two. ``even``: the next one if rounding to the fraction of an element reaches it, ties up.
        ``rceil``: the next one if the largest element would be less than the scaled magnitude.
        """
        if scaling == "floor":
            return 1 << 23
        if scaling == "ceil":
            return 1
        if scaling == "even":
            # Half of an element's last place below 2: from there on, rounding gives 2.
            return (1 << 23) - (1 << (22 - self.fraction_bits))
        # One more than the fraction of the largest element, which itself needs no larger scale.
        return int(math.ldexp(self.max_element, 23 - self.max_exponent)) - (1 << 23) + 1


# Blocks of 32: OCP Microscaling Formats (MX) 1.0, section 5.2. ``nvfp4`` is NVIDIA's.
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
    """Return the format with these dtypes of elements and scales; None if there is none."""
    format_names = element.name, scale.name
    return next(
        (form for form in FORMATS.values() if (form.element, form.scale) == format_names), None
    )


def block_scales_shape(shape: tuple[int, ...], dim: int, block: int) -> tuple[int, ...]:
    """Return the shape of the scales: the number of blocks along `dim`."""
    return tuple([-(-n // block) if d == dim else n for d, n in enumerate(shape)])


def check_blocks(data: TensorSpec, scales: TensorSpec, dim: int) -> BlockFormat:
    """Return the format of elements and scales; raise an error if they do not fit each other."""
    form = find_block_format(data.dtype, scales.dtype)
    if form is None:
        pairs = ", ".join([f"{f.element} with {f.scale}" for f in FORMATS.values()])
        received = f"got {data.dtype} with {scales.dtype}"
        raise TypeError(f"data and scales must be of a format ({pairs}), {received}")
    shape, sizes = data.layout.shape, block_scales_shape(data.layout.shape, dim, form.block)
    if scales.layout.shape != sizes:
        rule = f"scales of blocks of {form.block} along axis {dim} of shape {shape}"
        raise ValueError(f"{rule} must have shape {sizes}, got {scales.layout.shape}")
    return form


@plan_dataclass
class QuantizePlan(DestinationPlan):
    """Quantization of a float tensor into two tensors, elements and scales; no memory is shared.

    Operands of a call: both results, the tensor, and if the format has one, the scale of the whole
    tensor, float32 of rank 0. Magnitudes are those of float32, to which float64 is rounded to odd.

    Scales that are powers of two: the exponent is from -127 to 127; magnitudes below 2**-126 count
    as 2**-127, infinity as 2**128. Elements are divided by the scale and rounded to nearest, ties
    to even; larger ones become the largest element of their sign. If a block has a NaN, its scale
    is NaN and its elements are 0.

    Other scales: the largest magnitude divided by the largest element, then by the whole tensor's
    scale, rounded to the scales' dtype. Elements are multiplied by 1 divided by the whole tensor's
    scale, divided by the scale; each step is in float32. If a scale is 0, elements are multiplied
    by 0.
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
    """The numbers that elements and scales represent.

    Operands of a call: the result, elements, scales, and the whole tensor's scale if there is one.
    They are multiplied in this order in float32, and rounded to the result's dtype.
    """

    kind = "dequantize"

    source: TensorSpec
    scales: TensorSpec
    whole: TensorSpec | None
    format: BlockFormat
    dim: int


@plan_dataclass
class ScaledMatmulPlan(Plan):
    """A product of two matrices in blocks along the summed dimension, into row-major memory.

    Operands of a call: elements and scales of the first matrix, then of the second one. Products
    are added up in float32.
    """

    kind = "scaled_matmul"

    name: str
    first: TensorSpec
    first_scales: TensorSpec
    second: TensorSpec
    second_scales: TensorSpec
    result: TensorSpec

    @property
    def dequantize_plans(self) -> list[DequantizePlan]:
        """Plans of both matrices in float32."""
        operands = self.first, self.first_scales, self.second, self.second_scales
        return _dequantize_plans(self.name, *operands)


def _dequantize_plans(
    name: str,
    first: TensorSpec,
    first_scales: TensorSpec,
    second: TensorSpec,
    second_scales: TensorSpec,
) -> list[DequantizePlan]:
    """Return plans of two matrices in float32, packed in the order of their elements."""
    plans = []
    for data, scales, dim in ((first, first_scales, 1), (second, second_scales, 0)):
        layout = Layout._packed(data.layout.shape, data.layout.minor_to_major)
        result = TensorSpec(dtypes.float32, layout, data.device)
        form = check_blocks(data, scales, dim)
        plans.append(DequantizePlan(name, result, data, scales, None, form, dim))
    return plans


@plan_dataclass
class ScaledMatmul:
    """`scaled_matmul`: a product of two matrices in blocks that share scales."""

    name: str = "scaled_matmul"

    def plan(
        self,
        first: TensorSpec,
        first_scales: TensorSpec,
        second: TensorSpec,
        second_scales: TensorSpec,
        dtype: DType,
    ) -> ScaledMatmulPlan:
        operands = first, first_scales, second, second_scales
        check_same_device(operands)
        shapes = [spec.layout.shape for spec in operands]
        if any(len(shape) != 2 for shape in shapes):
            raise ValueError(f"needs matrices, got shapes {shapes}")
        x, y = [plan.result for plan in _dequantize_plans(self.name, *operands)]
        result = TensorSpec(dtype, Matmul().plan(x, y).result.layout, first.device)
        return ScaledMatmulPlan(self.name, *operands, result)


def compile_dequantized_matmul(plan: ScaledMatmulPlan) -> Write:
    """Compile a product of the matrices that elements and scales represent, in float32."""
    backend, result = backend_of(plan.result.device), plan.result
    first, second = plan.dequantize_plans
    wide = TensorSpec(dtypes.float32, result.layout, result.device)
    multiply = backend.compile_plan(MatmulPlan(first.result, second.result, wide))
    narrow = backend.compile_plan(AssignPlan(plan.name, wide, result))
    new, new_first, new_second = map(backend.tensor_allocator, (wide, first.result, second.result))
    write_first, write_second = backend.compile_plan(first), backend.compile_plan(second)

    def write(out: Tensor, data1: Tensor, scales1: Tensor, data2: Tensor, scales2: Tensor) -> None:
        x, y = new_first(), new_second()
        write_first(x, data1, scales1)
        write_second(y, data2, scales2)
        if wide == result:
            multiply(out, x, y)
        else:
            product = new()
            multiply(product, x, y)
            narrow(out, product)

    return write
