"""Beyond the standard: tensors in blocks that share a scale, as block scaled products take them.

The formats are those of OCP Microscaling Formats (MX) 1.0, and NVIDIA's NVFP4; figures and what
other libraries do differently are in ``docs/quantizing.md``.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, SupportsIndex

from tensorlayout import dtypes, plan
from tensorlayout.functions import arguments, dispatch
from tensorlayout.functions import basics as xp
from tensorlayout.plan.quantize import Scaling
from tensorlayout.tensor import Tensor
from tensorlayout.typing import DTypeLike, LayoutLike, Real

__all__ = ["dequantize_blocks", "quantize_blocks"]

Format = Literal["mxfp8_e4m3", "mxfp8_e5m2", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp4", "mxint8", "nvfp4"]

_QUANTIZE = plan.DestinationOperation("quantize_blocks", plan.QuantizePlan)
_DEQUANTIZE = plan.DestinationOperation("dequantize_blocks", plan.DequantizePlan)

# The least scale of a whole tensor: by 2**-9, the least of a block, its reciprocal is finite.
_LEAST = 2.0**-118


class QuantizedBlocks(NamedTuple):
    """Result of `quantize_blocks`: elements, scales, global scale (None except for NVFP4)."""

    data: Tensor
    scales: Tensor
    global_scale: Tensor | None


def quantize_blocks(
    x: Tensor,
    format: Format,
    /,
    *,
    axis: SupportsIndex = -1,
    scaling: Scaling = "floor",
    global_scale: Tensor | Real | None = None,
    layout: LayoutLike | None = None,
    scales_layout: LayoutLike | None = None,
) -> QuantizedBlocks:
    """Quantize `x` to narrow elements with one scale for each block along `axis`.

    `x`: of rank 1 at least; dtypes: real floating, float64 as float32, rounded to odd.
    `format`: ``"mxfp8_e4m3"``, ``"mxfp8_e5m2"``, ``"mxfp6_e2m3"``, ``"mxfp6_e3m2"``, ``"mxfp4"``:
    blocks of 32 elements of that many bits, a scale of float8_e8m0fnu; ``"mxint8"``: int8 that
    counts 2**-6; ``"nvfp4"``: 16 elements of float4_e2m1fn, a scale of float8_e4m3fn, and
    `global_scale`. The last block of a line has what is left.

    The result is a named tuple: `data`, of the shape of `x`; `scales`, whose size along `axis` is
    the number of blocks; `global_scale`, float32 of rank 0 for NVFP4, else None. What `data` stands
    for is ``data * scales * global_scale``, each scale for its block.

    `scaling`, of all but NVFP4: how the exponent of a scale follows from that of the largest
    magnitude. ``"floor"``: less the exponent of the largest element, which so may be too small: the
    magnitude saturates. ``"ceil"``: the next exponent, but for powers of two. ``"even"``: the next
    one where rounding to the fraction of an element reaches it. ``"rceil"``: where the magnitude
    would saturate. Elements are rounded to nearest, ties to even. A scale is 2**-127 at least, as
    it is for a block of zeros. Infinity counts as 2**128 and saturates, which with its scale stands
    for an infinity of float32 (in MXINT8 for its largest number). A NaN makes the scale of its
    block NaN and the elements 0.

    NVFP4: `global_scale` is the largest magnitude of `x` divided by 2688 (448 * 6), at least
    2**-118, if none is given: found by two reductions before the one pass over `x`. A scale is the
    largest magnitude of its block divided by 6 and by that, rounded to nearest, in float32. Where a
    scale is 0, so are elements. NaN or infinity in `x` makes all NaN if no `global_scale` is given.
    Of a tensor given for it the value is not looked at.

    Layouts: `layout` and `scales_layout` for `data` and `scales`, as `to_layout` takes them (such
    as ``Layout.scale_factors(rows, columns)``); by default the form of `x`, and packed in its
    order. TypeError for other dtypes; ValueError for an unknown format, `scaling` or `global_scale`
    of a format without, a number for it below 2**-118, and (AxisError) for an axis outside the
    rank. Sources: OCP Microscaling Formats (MX) 1.0, section 6.3; cuDNN, Block Scaling
    (``"rceil"``); torchao 0.18, ``mx_formats`` (``"ceil"``, ``"even"``); NVIDIA, Pretraining Large
    Language Models with NVFP4.

    >>> import tensorlayout as tl
    >>> x = tl.asarray([[0.3, -5.0, 40.0]], dtype=tl.float32)
    >>> found = tl.quantize_blocks(x, "mxfp4")
    >>> found.data.tolist(), found.scales.tolist()
    ([[0.0, -0.5, 4.0]], [[8.0]])
    """
    x = arguments.as_tensor(x)
    chosen = arguments.check_choice("format", format, plan.FORMATS)
    way = arguments.check_choice("scaling", scaling, plan.SCALINGS)
    dim = arguments.normalize_axis(axis, x.ndim)
    plan.check_category("real floating", x.dtype)
    form = plan.FORMATS[chosen]
    if form.has_power_of_two_scales and global_scale is not None:
        raise ValueError(f"global_scale is for nvfp4, and {chosen} has none")
    if not form.has_power_of_two_scales and way != "floor":
        raise ValueError(f"scaling is for scales that are powers of two, and {chosen} has others")
    whole = (
        None
        if form.has_power_of_two_scales
        else _scale_of_whole_tensor(x, form.max_element, global_scale)
    )
    element, scale = form.dtypes
    sizes = plan.block_scales_shape(x.shape, dim, form.block)
    data: Tensor = xp.empty_like(x, dtype=element, layout=layout)
    placed = x.spec.layout.minor_to_major if scales_layout is None else scales_layout
    scales: Tensor = xp.empty_like(x, dtype=scale, layout=placed, shape=sizes)
    further = () if whole is None else (whole,)
    specs = (data.spec, scales.spec, x.spec, None if whole is None else whole.spec)
    dispatch.call(_QUANTIZE, (*specs, form, dim, way), (data, scales, x, *further))
    return QuantizedBlocks(data, scales, whole)


def dequantize_blocks(
    data: Tensor,
    scales: Tensor,
    global_scale: Tensor | Real | None = None,
    /,
    *,
    axis: SupportsIndex = -1,
    dtype: DTypeLike | None = None,
    layout: LayoutLike | None = None,
) -> Tensor:
    """Convert the result of `quantize_blocks` back to floating-point numbers.

    `data`, `scales`: of the dtypes of a format, which these tell; the shape of `scales` is that of
    `data` with the number of blocks along `axis`, of 32 elements, or of 16 where scales are
    float8_e4m3fn. `global_scale`: for these a number or a tensor of one element, by default 1.
    `dtype`: float32 (the default), float16 or bfloat16.

    Elements are multiplied by their scale, and by `global_scale`, in float32, and the product is
    rounded to `dtype`: without a `global_scale` the product is exact, unless it is infinite. NaN
    and infinity are as the types say. Layout: the form of `data`, or `layout` as `to_layout` takes
    it. TypeError for dtypes that are of no format; ValueError for shapes that do not fit, a
    `global_scale` for scales that are powers of two, and (AxisError) for an axis outside the rank.

    >>> import tensorlayout as tl
    >>> x = tl.asarray([0.3, -19.0, 40.0], dtype=tl.float32)
    >>> tl.dequantize_blocks(*tl.quantize_blocks(x, "nvfp4")).round().tolist()
    [0.0, -20.0, 40.0]
    """
    data = arguments.as_tensor(data, "data")
    scales = arguments.as_tensor(scales, "scales")
    kind = dtypes.float32 if dtype is None else dtypes.as_dtype(dtype, "dtype")
    if kind not in (dtypes.float32, dtypes.float16) and not dtypes.is_bfloat16(kind):
        raise TypeError(f"dtype must be float32, float16 or bfloat16, got {kind}")
    form = plan.find_block_format(data.dtype, scales.dtype)
    if form is None:
        received = f"got {data.dtype} with {scales.dtype}"
        pairs = ", ".join([f"{f.element} with {f.scale}" for f in plan.FORMATS.values()])
        raise TypeError(f"data and scales must be of a format ({pairs}), {received}")
    dim = arguments.normalize_axis(axis, data.ndim)
    sizes = plan.block_scales_shape(data.shape, dim, form.block)
    if scales.shape != sizes:
        rule = f"scales of blocks of {form.block} along axis {dim} of shape {data.shape}"
        raise ValueError(f"{rule} must have shape {sizes}, got {scales.shape}")
    if form.has_power_of_two_scales and global_scale is not None:
        raise ValueError(f"global_scale is for scales of float8_e4m3fn, got {scales.dtype}")
    whole = None if global_scale is None else _as_scalar_tensor(data, global_scale)
    result: Tensor = xp.empty_like(data, dtype=kind, layout=layout)
    further = () if whole is None else (whole,)
    specs = (result.spec, data.spec, scales.spec, None if whole is None else whole.spec)
    return dispatch.call(_DEQUANTIZE, (*specs, form, dim), (result, data, scales, *further))


def _scale_of_whole_tensor(x: Tensor, largest: float, scale: Tensor | Real | None) -> Tensor:
    """Return the global scale: the given one, or one that maps the largest block scale to 448."""
    if scale is not None:
        return _as_scalar_tensor(x, scale)
    if not x.size:
        return xp.full((), _LEAST, dtype=dtypes.float32, device=x.device)
    most = xp.maximum(xp.max(x), xp.negative(xp.min(x)))
    most = xp.astype(most, dtypes.float32, copy=False)
    return xp.maximum(most / (448 * largest), _LEAST)


def _as_scalar_tensor(like: Tensor, value: Tensor | Real) -> Tensor:
    """Return a number or a tensor of one element, as float32 of rank 0."""
    if isinstance(value, Tensor):
        plan.check_category("real floating", value.dtype)
        if value.size != 1:
            raise ValueError(f"global_scale must have one element, got shape {value.shape}")
        return xp.astype(xp.reshape(value, ()), dtypes.float32, copy=False)
    number = arguments.as_real_float("global_scale", value)
    if not _LEAST <= number < 2.0**128:
        raise ValueError(f"global_scale must be finite and at least 2**-118, got {number}")
    return xp.full((), number, dtype=dtypes.float32, device=like.device)
