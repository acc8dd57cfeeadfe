"""Extension: quantization in blocks that share a scale, as block-scaled products require.

The formats are OCP Microscaling Formats (MX) 1.0 and NVIDIA's NVFP4; ``docs/quantizing.md`` has
figures and the differences from other libraries.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, SupportsIndex

from tensorlayout import dtypes, plan
from tensorlayout.functions import arguments, dispatch
from tensorlayout.functions import basics as xp
from tensorlayout.plan.quantize import Scaling
from tensorlayout.tensor import Tensor
from tensorlayout.typing import DTypeLike, LayoutLike, Real

__all__ = ["dequantize_blocks", "quantize_blocks", "scaled_matmul"]

Format = Literal["mxfp8_e4m3", "mxfp8_e5m2", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp4", "mxint8", "nvfp4"]

_QUANTIZE = plan.DestinationOperation("quantize_blocks", plan.QuantizePlan)
_DEQUANTIZE = plan.DestinationOperation("dequantize_blocks", plan.DequantizePlan)
_SCALED_MATMUL = plan.ScaledMatmul()

# The least global scale: times 2**-9, the least block scale, it still has a finite reciprocal.
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

    - `x`: of rank at least 1; dtypes: real floating, float64 as float32, rounded to odd.
    - `format`: ``"mxfp8_e4m3"``, ``"mxfp8_e5m2"``, ``"mxfp6_e2m3"``, ``"mxfp6_e3m2"`` and
      ``"mxfp4"`` have blocks of 32 elements of that many bits and scales of float8_e8m0fnu;
      ``"mxint8"`` has int8 elements in units of 2**-6; ``"nvfp4"`` has 16 elements of
      float4_e2m1fn, scales of float8_e4m3fn, and a `global_scale`. The last block of a line may be
      shorter.
    - `scaling` (all but NVFP4): how the exponent of a scale follows from the exponent of the
      largest magnitude. ``"floor"`` subtracts the exponent of the largest element; the magnitude
      may saturate. ``"ceil"`` takes the next exponent, except for powers of two. ``"even"`` takes
      the next one if rounding to the fraction of an element reaches it, ``"rceil"`` if the
      magnitude would saturate.
    - `global_scale` (NVFP4): by default the largest magnitude of `x` divided by 2688 (448 * 6), at
      least 2**-118, which two reductions compute before the one pass over `x`. The value of a
      tensor is not checked.
    - `layout`, `scales_layout`: layouts of `data` and `scales`, as in `to_layout` (such as
      ``Layout.scale_factors(rows, columns)``); by default the form of `x`, and packed in its order.

    Returns a named tuple: `data`, of the shape of `x`; `scales`, whose size along `axis` is the
    number of blocks; `global_scale`, float32 of rank 0 for NVFP4, else None. They represent ``data
    * scales * global_scale``, with each scale applied to its block.

    Raises `TypeError` for any other dtype; `ValueError` for an unknown format, a `scaling` or
    `global_scale` that the format does not have, a number below 2**-118 for it, and (`AxisError`)
    if `axis` is out of bounds.

    Elements are rounded to nearest, ties to even. A scale is at least 2**-127, which is also the
    scale of a block of zeros. Infinity counts as 2**128 and saturates, which with its scale
    represents an infinity of float32 (in MXINT8 its largest number). A NaN makes the scale of its
    block NaN and the elements 0.

    An NVFP4 scale is the largest magnitude of its block divided by 6 and by `global_scale`, rounded
    to nearest, in float32. If a scale is 0, so are its elements. NaN or infinity in `x` makes
    everything NaN if no `global_scale` is passed.

    Sources: OCP Microscaling Formats (MX) 1.0, section 6.3; cuDNN, Block Scaling (``"rceil"``);
    torchao 0.18, ``mx_formats`` (``"ceil"``, ``"even"``); NVIDIA, Pretraining Large Language Models
    with NVFP4.

    >>> import tensorlayout as tl
    >>> x = tl.asarray([[0.3, -5.0, 40.0]], dtype=tl.float32)
    >>> found = tl.quantize_blocks(x, "mxfp4")
    >>> found.data.tolist(), found.scales.tolist()
    ([[0.0, -0.5, 4.0]], [[8.0]])
    """
    x = arguments.as_tensor(x)
    chosen = arguments.check_choice("format", format, plan.FORMATS)
    scaling_rule = arguments.check_choice("scaling", scaling, plan.SCALINGS)
    dim = arguments.normalize_axis(axis, x.ndim)
    plan.check_category("real floating", x.dtype)
    form = plan.FORMATS[chosen]
    if form.has_power_of_two_scales and global_scale is not None:
        raise ValueError(f"global_scale is for nvfp4, and {chosen} has none")
    if not form.has_power_of_two_scales and scaling_rule != "floor":
        rule = "scaling is for scales that are powers of two"
        raise ValueError(f"{rule}, which {chosen} does not have")
    whole = (
        None
        if form.has_power_of_two_scales
        else _choose_global_scale(x, form.max_element, global_scale)
    )
    element, scale = form.element_and_scale_dtypes
    sizes = plan.block_scales_shape(x.shape, dim, form.block)
    data: Tensor = xp.empty_like(x, dtype=element, layout=layout)
    # Scales have a smaller shape, for which tiles and padding of `x` mean nothing; its order does.
    placed = x.spec.layout.minor_to_major if scales_layout is None else scales_layout
    scales: Tensor = xp.empty_like(x, dtype=scale, layout=placed, shape=sizes)
    further = () if whole is None else (whole,)
    # The global scale is an operand, so that its value may stay on the device.
    specs = (data.spec, scales.spec, x.spec, None if whole is None else whole.spec)
    dispatch.call(_QUANTIZE, (*specs, form, dim, scaling_rule), (data, scales, x, *further))
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

    - `data`, `scales`: their dtypes determine the format. The shape of `scales` is the shape of
      `data` with the number of blocks along `axis`: blocks of 16 elements for scales of
      float8_e4m3fn, else 32.
    - `global_scale`: for float8_e4m3fn, a number or a tensor of one element (default: 1).
    - `dtype`: float32 (the default), float16 or bfloat16.
    - `layout`: as in `to_layout`; by default the form of `data`.

    Elements are multiplied by their scale, and by `global_scale`, in float32, and the product is
    rounded to `dtype`. Without a `global_scale` the product is exact, unless it is infinite. NaN
    and infinity follow the dtypes.

    Raises `TypeError` for dtypes that belong to no format; `ValueError` if shapes do not match, for
    a `global_scale` with scales that are powers of two, and (`AxisError`) if `axis` is out of
    bounds.

    >>> import tensorlayout as tl
    >>> x = tl.asarray([0.3, -19.0, 40.0], dtype=tl.float32)
    >>> tl.dequantize_blocks(*tl.quantize_blocks(x, "nvfp4")).round().tolist()
    [0.0, -20.0, 40.0]
    """
    data = arguments.as_tensor(data, "data")
    scales = arguments.as_tensor(scales, "scales")
    kind = _as_result_dtype(dtype)
    dim = arguments.normalize_axis(axis, data.ndim)
    form = plan.check_blocks(data.spec, scales.spec, dim)
    if global_scale is not None:
        _check_has_global_scale(scales)
    whole = None if global_scale is None else _as_global_scale(data, global_scale)
    result: Tensor = xp.empty_like(data, dtype=kind, layout=layout)
    further = () if whole is None else (whole,)
    specs = (result.spec, data.spec, scales.spec, None if whole is None else whole.spec)
    return dispatch.call(_DEQUANTIZE, (*specs, form, dim), (result, data, scales, *further))


def scaled_matmul(
    x1: tuple[Tensor, ...], x2: tuple[Tensor, ...], /, *, dtype: DTypeLike | None = None
) -> Tensor:
    """Multiply two matrices whose blocks along the summed dimension share scales.

    - `x1`, `x2`: results of `quantize_blocks`, of shape (m, k) with ``axis=-1``, and (k, n) with
      ``axis=-2``; or tuples of elements, scales and, for scales of float8_e4m3fn, a global scale
      (a tensor or a number, default: 1). The formats may differ.
    - `dtype`: float32 (the default), float16 or bfloat16.

    Returns a new tensor of shape (m, n): the matrix product of what both represent, added up in
    float32, multiplied by the global scales and rounded to `dtype`. Layout: row-major.

    On CUDA devices of compute capability 10.0 and later, cuBLASLt multiplies MXFP8 (not E5M2 by
    E5M2) and NVFP4 if k and n are multiples of 32. It reads elements that are contiguous along k
    and scales in ``Layout.scale_factors``; other layouts are copied. Otherwise both matrices are
    first converted to float32, which is exact.

    Raises `TypeError` for dtypes that belong to no format; `ValueError` if shapes do not match, for
    ranks other than 2, and for a global scale with scales that are powers of two.

    >>> import tensorlayout as tl
    >>> x = tl.quantize_blocks(tl.ones((2, 64)), "mxfp8_e4m3")
    >>> y = tl.quantize_blocks(tl.ones((64, 3)), "mxfp4", axis=-2)
    >>> tl.scaled_matmul(x, y).tolist()
    [[64.0, 64.0, 64.0], [64.0, 64.0, 64.0]]
    """
    kind = _as_result_dtype(dtype)
    operands, wholes = [], []
    for name, blocks in (("x1", x1), ("x2", x2)):
        if not isinstance(blocks, tuple) or len(blocks) not in (2, 3):
            rule = "a tuple of elements, scales and perhaps a global scale"
            raise TypeError(f"{name} must be {rule}, got {arguments.format_argument(blocks)}")
        data, scales = map(arguments.as_tensor, blocks[:2])
        operands += [data, scales]
        if len(blocks) == 3 and blocks[2] is not None:
            _check_has_global_scale(scales)
            wholes.append(_as_global_scale(data, blocks[2]))
    wide = dtypes.float32 if wholes else kind
    key = (*[x.spec for x in operands], wide)
    result: Tensor = dispatch.call(_SCALED_MATMUL, key, tuple(operands))
    for whole in wholes:
        result = xp.multiply(result, whole)
    return xp.astype(result, kind, copy=False)


def _as_result_dtype(dtype: DTypeLike | None) -> dtypes.DType:
    kind = dtypes.float32 if dtype is None else dtypes.as_dtype(dtype, "dtype")
    if kind not in (dtypes.float32, dtypes.float16) and not dtypes.is_bfloat16(kind):
        raise TypeError(f"dtype must be float32, float16 or bfloat16, got {kind}")
    return kind


def _check_has_global_scale(scales: Tensor) -> None:
    if scales.dtype.name != "float8_e4m3fn":
        raise ValueError(f"global_scale is for scales of float8_e4m3fn, got {scales.dtype}")


def _choose_global_scale(x: Tensor, largest_element: float, scale: Tensor | Real | None) -> Tensor:
    """Return `global_scale`, by default the scale that maps the largest block scale to 448."""
    if scale is not None:
        return _as_global_scale(x, scale)
    # Reductions to a maximum refuse empty tensors, but there is nothing to scale either.
    if not x.size:
        return xp.full((), _LEAST, dtype=dtypes.float32, device=x.device)
    # The largest magnitude without a tensor of magnitudes: two reductions only read `x`. NaN in `x`
    # is kept by both.
    most = xp.maximum(xp.max(x), xp.negative(xp.min(x)))
    most = xp.astype(most, dtypes.float32, copy=False)
    # 448 is the largest float8_e4m3fn, the dtype of the block scales.
    return xp.maximum(most / (448 * largest_element), _LEAST)


def _as_global_scale(like: Tensor, value: Tensor | Real) -> Tensor:
    """Convert a global scale to a float32 tensor of rank 0; ValueError if out of range."""
    if isinstance(value, Tensor):
        plan.check_category("real floating", value.dtype)
        # Only the shape is checked: reading the value would wait for the device.
        if value.size != 1:
            raise ValueError(f"global_scale must have one element, got shape {value.shape}")
        return xp.astype(xp.reshape(value, ()), dtypes.float32, copy=False)
    number = arguments.as_real_float("global_scale", value)
    # NaN fails the comparison, too.
    if not _LEAST <= number < 2.0**128:
        raise ValueError(f"global_scale must be finite and at least 2**-118, got {number}")
    return xp.full((), number, dtype=dtypes.float32, device=like.device)
