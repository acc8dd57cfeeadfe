"""Quantization in blocks that share a scale, on CUDA: one launch each to quantize and dequantize.

No two elements of a result share a slot. Scales may be tiled and elements packed below a byte,
within the limits of `accepts_tiles`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod
from typing import Any

from tensorlayout.cuda.engine import (
    BLOCK,
    NOTHING,
    THREADS,
    WIDEST,
    Launch,
    blocks_for_walk,
    c_type,
    constant_value,
    fill_walk,
    kernel_with_macros,
    make_parameter_struct,
)
from tensorlayout.cuda.engine.cublaslt import BlockProduct, UnsupportedProductError
from tensorlayout.cuda.engine.driver import Kernel, driver, import_cupy_module
from tensorlayout.cuda.matmul import LARGEST
from tensorlayout.layout import (
    Axis,
    Layout,
    PaddingValue,
    max_offset_of_axes,
    merge_axes,
    narrowest_index_type,
    packed_strides,
)
from tensorlayout.plan import (
    DequantizePlan,
    QuantizePlan,
    ScaledMatmulPlan,
    Write,
    compile_dequantized_matmul,
    compile_traced_tensor_copy,
)
from tensorlayout.tensor import Tensor, TensorSpec

FILE = "quantize.cu"

# Ranks of the kernels with loops of known length; walks of fewer axes are filled up with size 1.
_RANKS = (2, 4)

# Capacity of the struct for tiled scales: mixed-radix digits of the number of a scale.
_DIGITS = constant_value(FILE, "DIGITS")


def accepts_tiles(plan: QuantizePlan | DequantizePlan | ScaledMatmulPlan) -> bool:
    """Return whether one launch can run a plan with tensors tiled or packed below a byte.

    Elements below a byte can only be written if each thread has whole bytes: along the fastest
    dimension of the source, or from two adjacent lines.
    """
    if isinstance(plan, ScaledMatmulPlan):
        return all(map(accepts_tiles, plan.dequantize_plans))
    scales = plan.scales.layout
    if scales.slot_bits is not None or len(_scale_digits(scales, scales)) > _DIGITS:
        return False
    if isinstance(plan, DequantizePlan):
        return plan.result.layout.is_strided and not plan.source.layout.is_tiled
    data, source, dim = plan.result.layout, plan.source.layout, plan.dim
    if data.is_tiled or not source.is_strided:
        return False
    if data.slot_bits is None:
        return True
    fastest = _fastest_dim(source)
    if fastest in (dim, None):
        return _has_byte_aligned_runs(data, dim, _slots_per_whole_bytes(data))
    return (
        data.slot_bits == 4
        and data.shape[fastest] % 2 == 0
        and _has_byte_aligned_runs(data, fastest, 2)
    )


def plan_quantize(plan: QuantizePlan, alignments: tuple[int, ...]) -> Launch | None:
    """Plan the launch for elements, scales, source, and global scale; None if empty."""
    data, source, form, dim = plan.result, plan.source, plan.format, plan.dim
    size = source.layout.shape[dim]
    if not source.layout.size:
        return None
    # A thread reads along the fastest dimension of the source, so that accesses are coalesced:
    # packs of one row if blocks lie along it, otherwise one column of a block.
    rows = _fastest_dim(source.layout) in (dim, None)
    aligned = ((data, alignments[0]), (source, alignments[2]))
    # A pack must fill whole bytes: two threads that write parts of one byte would race.
    min_pack = _slots_per_whole_bytes(data.layout)
    max_pack = max(WIDEST // source.dtype.itemsize, 2 * min_pack)
    pack = _pack_length(aligned, dim, min_pack, max_pack) if rows else 1
    axes = _block_axes(plan, (data, source), source.layout, pack if rows else form.block)
    steps = tuple(spec.layout.strides[dim] if size > 1 else 0 for spec in (data, source))
    rank, count = _kernel_rank(axes), prod([axis.size for axis in axes])
    # Threads also step along a block, which the axes do not cover.
    reach = max_offset_of_axes(axes) + form.block * max(map(abs, steps))
    # What an index counts: elements of a memory, positions along a line, slots of scales.
    ends = (reach, size + form.block, plan.scales.layout.required_size)
    index = narrowest_index_type(count + BLOCK, max(ends))
    types = (("SOURCE", c_type(source.dtype)), *_kernel_type_macros(data, plan.scales, max_pack))
    shape = {"RANK": rank, "INDEX": index} | ({"PACK": pack} if rows else {})
    name = "quantize_rows" if rows else "quantize_columns"
    chosen = kernel_with_macros(FILE, name, types, "", **shape)
    params = make_parameter_struct(
        chosen, walk=axes, count=count, size=size, largest_element=form.max_element
    )
    params.data_step, params.step = steps
    params.powers = form.max_exponent, form.round_up_threshold(plan.scaling)
    blocks = blocks_for_walk(count, rank, _RANKS) if rows else -(-count // THREADS)
    return _block_scale_launch(
        plan, (data, plan.scales, source), source.layout, chosen, blocks, params
    )


def plan_dequantize(plan: DequantizePlan, alignments: tuple[int, ...]) -> Launch | None:
    """Plan the launch for result, elements, scales, and global scale; None if empty."""
    result, data, form, dim = plan.result, plan.source, plan.format, plan.dim
    if not data.layout.size:
        return None
    rows = _fastest_dim(result.layout) in (dim, None)
    aligned = ((result, alignments[0]), (data, alignments[1]))
    max_pack = WIDEST // result.dtype.itemsize
    pack = _pack_length(aligned, dim, 1, max_pack) if rows else 1
    axes = _block_axes(plan, (result, data), result.layout, pack)
    rank, count = _kernel_rank(axes), prod([axis.size for axis in axes])
    size, first = data.layout.shape[dim], data.layout.offset % _slots_per_whole_bytes(data.layout)
    ends = (max_offset_of_axes(axes) + first, size + form.block, plan.scales.layout.required_size)
    index = narrowest_index_type(count + BLOCK, max(ends))
    types = (("RESULT", c_type(result.dtype)), *_kernel_type_macros(data, plan.scales, max_pack))
    chosen = kernel_with_macros(FILE, "dequantize", types, RANK=rank, INDEX=index, PACK=pack)
    params = make_parameter_struct(chosen, walk=axes, count=count, size=size, first=first)
    blocks = blocks_for_walk(count, rank, _RANKS)
    return _block_scale_launch(
        plan, (result, data, plan.scales), result.layout, chosen, blocks, params
    )


def _block_scale_launch(
    plan: QuantizePlan | DequantizePlan,
    specs: Sequence[TensorSpec],
    order_layout: Layout,
    chosen: Kernel,
    blocks: int,
    params: Any,
) -> Launch:
    fill_walk(params.tiles, _scale_digits(plan.scales.layout, order_layout))
    params.has_whole = plan.whole is not None
    # Pointers are byte addresses: below a byte, they start at the last slot that begins a byte.
    aligned_slots = [
        spec.layout.offset
        // _slots_per_whole_bytes(spec.layout)
        * _slots_per_whole_bytes(spec.layout)
        for spec in specs
    ]
    firsts = [
        slot * _storage_bits(spec) // 8 for slot, spec in zip(aligned_slots, specs, strict=True)
    ]
    memories = (0, 1, 2, NOTHING if plan.whole is None else 3)
    return Launch(chosen, blocks, bytes(params), (*firsts, 0), memories)


def _kernel_type_macros(
    data: TensorSpec, scales: TensorSpec, max_pack: int
) -> tuple[tuple[str, str], ...]:
    return (
        ("ELEMENT", c_type(data.dtype)),
        ("SCALE", c_type(scales.dtype)),
        ("BITS", str(_storage_bits(data))),
        ("TILED", str(int(scales.layout.is_tiled))),
        ("LONGEST", str(max_pack)),
    )


def _storage_bits(spec: TensorSpec) -> int:
    """Return the bits of an element in memory."""
    return spec.layout.slot_bits or 8 * spec.dtype.itemsize


def _slots_per_whole_bytes(layout: Layout) -> int:
    """Return the least number of slots that fill whole bytes: WHOLE of the kernels."""
    return 1 if layout.slot_bits is None else 8 // gcd(8, layout.slot_bits)


def _has_byte_aligned_runs(layout: Layout, dim: int, run_length: int) -> bool:
    """Return whether runs of `run_length` slots along `dim` fill whole bytes."""
    size = layout.shape[dim]
    others = [s for d, s in enumerate(layout.strides) if d != dim and layout.shape[d] > 1]
    # Padding with a defined value must survive, so it must not share a byte with elements.
    held = layout.is_padded and layout.padding_value is not PaddingValue.UNSPECIFIED
    is_contiguous = size == 1 or layout.strides[dim] == 1
    return (
        is_contiguous
        and gcd(layout.offset, *others) % run_length == 0
        and not (held and size % run_length)
    )


def _strides_of_untiled_scales(scales: Layout, order_layout: Layout) -> Sequence[int]:
    """Return the strides of the scales; for tiled ones, those of their packed numbers."""
    if not scales.is_tiled:
        return scales.strides
    whole = [prod([extent for extent, _ in parts]) for parts in scales.parts]
    return packed_strides(whole, order_layout.minor_to_major)


def _scale_digits(scales: Layout, order_layout: Layout) -> list[Axis]:
    """Return the digits that locate numbers in tiled scales, slowest first; none if not tiled."""
    if not scales.is_tiled:
        return []
    dims = [scales.parts[d] for d in reversed(order_layout.minor_to_major)]
    return merge_axes([Axis(extent, (stride,)) for parts in dims for extent, stride in parts])


def _fastest_dim(layout: Layout) -> int | None:
    """Return the fastest dimension of size above 1; None if there is none."""
    return next((d for d in layout.minor_to_major if layout.shape[d] > 1), None)


def _block_axes(
    plan: QuantizePlan | DequantizePlan,
    specs: Sequence[TensorSpec],
    order_layout: Layout,
    place_step: int,
) -> list[Axis]:
    """Return the axes of a walk over blocks and, in each block, every `place_step`-th element.

    Strides of an axis: in the two memories of elements (`specs`), in the scales, and in the index
    along the dimension of blocks. The last is 0 if all blocks are whole: no thread has to check
    for the end then, and more axes merge.
    """
    axes, block, size = [], plan.format.block, order_layout.shape[plan.dim]
    scales = _strides_of_untiled_scales(plan.scales.layout, order_layout)
    counted = size % block != 0
    for d in reversed(order_layout.minor_to_major):
        elements = [spec.layout.strides[d] for spec in specs]
        if d != plan.dim:
            axes.append(Axis(order_layout.shape[d], (*elements, scales[d], 0)))
            continue
        blocks = tuple(block * s for s in elements)
        axes.append(Axis(-(-size // block), (*blocks, scales[d], block * counted)))
        places = tuple(place_step * s for s in elements)
        axes.append(Axis(block // place_step, (*places, 0, place_step * counted)))
    return merge_axes(axes) or [Axis(1, (0, 0, 0, 0))]


def _pack_length(
    aligned_specs: Sequence[tuple[TensorSpec, int]], dim: int, min_length: int, max_length: int
) -> int:
    """Return the number of elements along `dim` that a thread moves at once."""
    for spec, alignment in aligned_specs:
        layout, octets = spec.layout, max_length * _storage_bits(spec) // 8
        others = [s for d, s in enumerate(layout.strides) if d != dim and layout.shape[d] > 1]
        together = layout.shape[dim] % max_length == 0 and layout.strides[dim] == 1
        # The power of two that divides the bytes of a pack: 16 elements of 6 bits have 12 bytes,
        # which are accessed 4 at a time.
        grain = min(octets & -octets, WIDEST)  # of an access
        if not together or gcd(layout.offset, *others) % max_length or alignment % grain:
            return min_length
    return max_length


def _kernel_rank(axes: Sequence[Axis]) -> int:
    """Return the least rank that a kernel has for these axes; 0 if there are too many."""
    return next((rank for rank in _RANKS if rank >= len(axes)), 0)


# ---- Products

# Pairs of elements that cuBLASLt multiplies, with scales of these dtypes.
_PRODUCTS = {
    ("float8_e4m3fn", "float8_e4m3fn", "float8_e8m0fnu"),
    ("float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu"),
    ("float8_e5m2", "float8_e4m3fn", "float8_e8m0fnu"),
    ("float4_e2m1fn", "float4_e2m1fn", "float8_e4m3fn"),
}

# From this compute capability on, tensor cores multiply by scales of blocks.
_CAPABILITY = 100

# cuBLASLt needs addresses, and so leading dimensions, in multiples of 16 bytes. Sizes in multiples
# of 32 elements are that in every dtype.
_ALIGNMENT, _SIZE_UNIT = 16, 32


def compile_scaled_matmul(plan: ScaledMatmulPlan) -> Write:
    """Compile a product of matrices in blocks: by cuBLASLt, or in float32 where it has none."""
    by_dequantizing = compile_dequantized_matmul(plan)
    gpu, device = driver(), plan.result.device
    if gpu.name == "simulator" or not _suits_cublaslt(plan):
        return by_dequantizing
    cuda = import_cupy_module("cupy").cuda
    if int(cuda.Device(device.number).compute_capability) < _CAPABILITY:
        return by_dequantizing
    (m, k), n = plan.first.layout.shape, plan.second.layout.shape[1]
    names = plan.first.dtype.name, plan.second.dtype.name, plan.result.dtype.name
    products = [BlockProduct(cuda, (m, n, k), names, plan.first_scales.dtype.name)]
    operands = plan.first, plan.first_scales, plan.second, plan.second_scales
    converters = []
    for spec, layout in zip(operands, _cublaslt_layouts(plan), strict=True):
        converted = TensorSpec(spec.dtype, layout, device)
        same = spec.layout == layout
        converters.append(None if same else compile_traced_tensor_copy(plan.name, spec, converted))

    def multiply(out: Tensor, *blocks: Tensor) -> None:
        if products:
            tensors = [
                x if convert is None else convert(x)
                for x, convert in zip(blocks, converters, strict=True)
            ]
            addresses = [x.memory.address for x in (*tensors, out)]
            if not any(address % _ALIGNMENT for address in addresses):
                try:
                    with gpu.using_device(device.number):
                        products[0](gpu, device.number, *addresses)
                except UnsupportedProductError:
                    products.clear()  # and none of the next calls asks again
                else:
                    return
        by_dequantizing(out, *blocks)

    return multiply


def _suits_cublaslt(plan: ScaledMatmulPlan) -> bool:
    """Return whether cuBLASLt multiplies these formats and sizes."""
    (m, k), n = plan.first.layout.shape, plan.second.layout.shape[1]
    return (
        plan.first_scales.dtype == plan.second_scales.dtype
        and (plan.first.dtype.name, plan.second.dtype.name, plan.first_scales.dtype.name)
        in _PRODUCTS
        and 0 < m <= LARGEST
        and 0 < n <= LARGEST
        and 0 < k <= LARGEST
        and not (n % _SIZE_UNIT or k % _SIZE_UNIT)
    )


def _cublaslt_layouts(plan: ScaledMatmulPlan) -> list[Layout]:
    """Return the layouts that cuBLASLt needs: of both matrices along the summed dimension."""
    layouts = []
    bits = 4 if plan.first.dtype.name == "float4_e2m1fn" else None
    for data, scales, order in (
        (plan.first, plan.first_scales, (0, 1)),
        (plan.second, plan.second_scales, (1, 0)),
    ):
        rows, k = data.layout.permute(order).shape
        blocks = scales.layout.permute(order).shape[1]
        layouts.append(Layout.row_major((rows, k)).with_slot_bits(bits).permute(order))
        layouts.append(Layout.scale_factors(rows, blocks).permute(order))
    return layouts
