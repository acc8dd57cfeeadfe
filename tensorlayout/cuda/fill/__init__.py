"""Fills of a layout with one value, and writes of its padding, on CUDA.

The value is an argument of the call, so a plan serves every value of its size. The content of
padding is part of the plan.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import gcd
from typing import Any, NamedTuple

from tensorlayout.cuda.engine import (
    SECTOR,
    WIDEST,
    Launch,
    Launches,
    blocks_for_elements,
    bounded_walk_struct,
    constant_value,
    divisor32_struct,
    fits_bounded_walk,
    kernel_with_macros,
    make_writer,
    repeat_to_16_bytes,
    struct_type,
)
from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.errors import truncate
from tensorlayout.layout import Axis, Layout, Loop, PaddingValue, merge_axes
from tensorlayout.layout.digits import TiledLoop, make_tiled_loop, sizes_to_write, split_off_tails
from tensorlayout.plan import Write
from tensorlayout.tensor import TensorSpec

FILE, BOUNDED_FILE = "fill/fill.cu", "copy/tiled.cu"


def plan_fill(
    layout: Layout, itemsize: int, alignment: int = SECTOR, padding: bytes | None = None
) -> Launches:
    """Plan a fill of all elements with one value, and of the layout's own padding with `padding`.

    `layout` has its lowest slot at 0 and no two elements in one slot. `alignment` is a power of two
    that divides the address of that slot. `padding` is the content of one element; None leaves
    padding alone, except padding that may hold anything, which may be overwritten.
    """
    if not layout.is_tiled:
        if layout.size == 0:
            return plan_padding(layout, itemsize, alignment, padding)
        padding_write, padding_launches = fusable_padding_and_launches(
            layout, itemsize, alignment, padding
        )
        launch = _loop_fill_launch(
            Loop.over_layouts((layout,), (itemsize,), (alignment,)), padding_write
        )
        return Launches((launch, *padding_launches))
    anything = layout.covers_block and layout.padding_value is PaddingValue.UNSPECIFIED
    if anything and padding is None and layout.size:
        return plan_fill(Layout((layout.required_size,)), itemsize, alignment)
    loop = make_tiled_loop((layout,), (itemsize,), (alignment,), sizes_to_write(layout, padding))
    if loop is not None and loop.element_count == 0:
        return Launches(())
    if loop is not None and not loop.bounds:
        return Launches((_loop_fill_launch(loop, (None, b"")),))
    if loop is not None and fits_bounded_walk(loop):
        return Launches((_bounded_fill_launch(loop, padding or b"", writes_elements=True),))
    # More tails than the struct of a launch holds: one fill for each piece without tails.
    launches = (
        [] if padding is None else plan_whole_block_fill(layout, itemsize, alignment, padding)
    )
    for (piece,) in split_off_tails((layout,)):
        shift = piece.lowest * itemsize
        part = plan_fill(piece.at_origin, itemsize, gcd(alignment, shift, SECTOR))
        launches += [part_launch.with_memories((0,), shift) for part_launch in part.launches]
    return Launches(tuple(launches))


def plan_whole_block_fill(
    layout: Layout, itemsize: int, alignment: int, value: bytes
) -> list[Launch]:
    """Plan a fill of a whole block, padding and elements, to run before elements are written."""
    block = plan_fill(Layout((layout.required_size,)), itemsize, alignment)
    return [*bind_fill_value(block, value).launches]


def bind_fill_value(fill: Launches, value: bytes) -> Launches:
    """Return a fill of a constant, which needs no scalar from the call."""
    return replace(
        fill,
        launches=tuple([e.with_constant_scalars(repeat_to_16_bytes(value)) for e in fill.launches]),
    )


def fusable_padding_and_launches(
    layout: Layout,
    itemsize: int,
    alignment: int,
    padding: bytes | None,
    loop: TiledLoop | None = None,
) -> tuple[PaddingWrite, tuple[Launch, ...]]:
    """Return padding that another launch can write, and the launches for all other padding.

    The regions are None if there is no padding to write, or if it is in the tails of tiles, which
    kernels over `loop` (over digits of the tiles) write with the elements.
    """
    regions = padding_regions(layout) if padding is not None and not layout.is_tiled else None
    # Kernels count regions from the first digit, which may be below slot 0 in a flipped layout.
    if regions is None or (regions.fits_kernel_struct and (loop is None or not loop.firsts[0])):
        return (regions, padding or b""), ()
    return (None, b""), plan_padding(layout, itemsize, alignment, padding).launches


def plan_padding(layout: Layout, itemsize: int, alignment: int, padding: bytes | None) -> Launches:
    """Plan writes of `padding` to the padding that a layout owns; arguments as in `plan_fill`.

    Raises NotImplementedError for tiles with tails in more dimensions than a launch can take.
    """
    if padding is None:
        return Launches(())
    if layout.is_tiled:
        loop = make_tiled_loop(
            (layout,), (itemsize,), (alignment,), sizes_to_write(layout, padding)
        )
        if loop is not None and not loop.bounds:
            return Launches(())
        if loop is None or not fits_bounded_walk(loop):
            msg = (
                f"padding: layout {truncate(layout)} has tails in more dimensions than a "
                "kernel takes"
            )
            raise NotImplementedError(msg)
        tails = _bounded_fill_launch(loop, padding, writes_elements=False)
        return bind_fill_value(Launches((tails,)), padding)
    regions = padding_regions(layout)
    if not regions.regions:
        return Launches(())
    if regions.fits_kernel_struct:
        # A launch without elements, all of whose blocks write padding.
        nothing = Loop((Axis(1, (1,)),), (itemsize,), (0,), (alignment,))
        launch = _strided_fill_launch(nothing, 0, (regions, padding))
        return bind_fill_value(Launches((launch,)), padding)
    launches: list[Launch] = []
    for region in regions.regions:
        dims, shift = (*regions.dims[: region.depth], (region.run, 1)), region.start * itemsize
        box = Layout([size for size, _ in dims], [stride for _, stride in dims])
        fill = plan_fill(box, itemsize, gcd(alignment, shift, SECTOR))
        launches += [region_launch.with_memories((0,), shift) for region_launch in fill.launches]
    return bind_fill_value(Launches(tuple(launches)), padding)


def _loop_fill_launch(loop: Loop, padding_write: PaddingWrite) -> Launch:
    """Plan a fill of a loop's elements; memory is aligned to elements."""
    loop = loop.with_widest_elements(WIDEST)
    if not (loop.is_fastest_axis_contiguous and len(loop.axes) == 1):
        return _strided_fill_launch(loop, loop.element_count, padding_write)
    nbytes = loop.element_count * loop.width
    blocks = max(1, blocks_for_elements(nbytes // WIDEST))
    return launch_with_padding(
        kernel_with_macros(FILE, "fill_flat"), loop, blocks, padding_write, bytes=nbytes
    )


def _strided_fill_launch(loop: Loop, count: int, padding_write: PaddingWrite) -> Launch:
    shape = {"INDEX": loop.index_c_type, "WIDTH": loop.width, "RANK": len(loop.axes)}
    chosen = kernel_with_macros(FILE, "fill_strided", **shape)
    return launch_with_padding(
        chosen, loop, blocks_for_elements(count), padding_write, count=count, walk=loop.axes
    )


def _bounded_fill_launch(loop: TiledLoop, padding: bytes, *, writes_elements: bool) -> Launch:
    """Plan a fill over digits: of elements if `writes_elements`, and of padding in tails."""
    pack = loop.max_pack_size(WIDEST)
    count = loop.element_count // pack
    chosen = kernel_with_macros(
        BOUNDED_FILE, "fill_bounded", INDEX=loop.index_c_type, FILL=loop.width * pack
    )
    members = {
        "walk": bounded_walk_struct(loop, (0,), pack),
        "padding": repeat_to_two_uint64(padding),
    }
    grid = blocks_for_elements(count)
    return Launch.from_members(
        chosen, grid, loop.firsts, count=count, elements=writes_elements, **members
    )


# ---- Writes


def compile_fill(
    spec: TensorSpec,
    encode_value: Callable[[Any], bytes],
    padding: bytes | None = None,
    plan_launches: Callable[..., Launches] = plan_fill,
) -> Write:
    """Compile a fill; `encode_value` converts the value to one element. See `plan_fill`."""
    return make_writer(
        spec.device.number,
        lambda alignments: plan_launches(spec.layout, spec.dtype.itemsize, alignments[0], padding),
        tensor_count=1,
        pack_scalars=lambda value: repeat_to_16_bytes(encode_value(value)),
    )


# ---- Regions of padding, and the struct by which kernels write them

REGIONS = constant_value("include/padding.cuh", "PADDING_REGIONS")
# Elements of padding that a block writes.
BLOCK = constant_value("include/padding.cuh", "PADDING_PER_THREAD * THREADS")
# Lengths are 32-bit integers in the kernels, and an index may run a few blocks past the end.
_FEWER_THAN = 2**31 - 2**12


class PaddingRegion(NamedTuple):
    """Padding at the end of one dimension: a run of slots for each index of slower dimensions."""

    start: int
    run: int
    depth: int  # number of slower dimensions, which are the first of `PaddingRegions.dims`
    rows: int  # product of their sizes


class PaddingRegions(NamedTuple):
    """Regions that contain every slot of padding exactly once."""

    dims: tuple[tuple[int, int], ...]  # (size, stride), slowest first
    regions: tuple[PaddingRegion, ...]

    @property
    def max_outer_dim_count(self) -> int:
        """Largest number of outer dimensions of a region."""
        return max([region.depth for region in self.regions], default=0)

    @property
    def fits_kernel_struct(self) -> bool:
        """True if the struct can hold all regions."""
        longest = max([max(r.run, r.rows) for r in self.regions], default=0)
        return len(self.regions) <= REGIONS >= self.max_outer_dim_count and longest < _FEWER_THAN


# Padding that a launch writes in addition to elements: its regions, and the content of an element.
PaddingWrite = tuple[PaddingRegions | None, bytes]


def padding_regions(layout: Layout) -> PaddingRegions:
    """Return the padding that a layout owns; its lowest slot is 0.

    A padded layout is a packed block of padded sizes. After the elements of a dimension, all slots
    up to the next index of the next slower dimension are one run. Example: rows of 3 of 5 slots
    have the run of 2 slots from 3 on, once for each row.
    """
    axes: list[Axis] = []
    regions: list[PaddingRegion] = []
    rows = 1
    for d in reversed(layout.minor_to_major if layout.is_padded else ()):
        size, padded, stride = layout.shape[d], layout.padded_shape[d], abs(layout.strides[d])
        # An empty slower dimension is all padding, and its region contains this one.
        if rows and padded > size and stride:
            run = (padded - size) * stride
            regions.append(PaddingRegion(size * stride, run, len(merge_axes(axes)), rows))
        axes.append(Axis(size, (stride,)))
        rows *= size
    return PaddingRegions(
        tuple([(n, stride) for n, (stride,), _ in merge_axes(axes)]), tuple(regions)
    )


def repeat_to_two_uint64(value: bytes) -> tuple[int, int]:
    """Return an element repeated to 16 bytes, as two 64-bit numbers; zeros for an empty one."""
    repeated = repeat_to_16_bytes(value)
    return int.from_bytes(repeated[:8], "little"), int.from_bytes(repeated[8:], "little")


def padding_struct_and_block_count(
    padding_write: PaddingWrite, first_block: int, alignment: int
) -> tuple[Any, int]:
    """Return the struct, and the number of blocks that write padding, after `first_block`.

    `alignment`: the power of two that divides the address of the first slot. Accesses are as wide
    as it, and the ends of runs, allow.
    """
    regions, value = padding_write
    params = struct_type("include/padding.cuh", "Padding")()
    if regions is None or not regions.regions:
        params.first_block = 2**32 - 1  # no block writes padding
        return params, 0
    dims, itemsize = regions.dims[: regions.max_outer_dim_count], len(value)
    places = [n for region in regions.regions for n in (region.start, region.run)]
    places += [stride for _, stride in dims]
    width = gcd(WIDEST, alignment, *[n * itemsize for n in places])
    times = width // itemsize
    params.first_block = first_block
    params.itemsize = width
    params.bits[:] = repeat_to_two_uint64(value)
    for k, (size, stride) in enumerate(dims):
        params.stride[k], params.size[k] = stride // times, divisor32_struct(size)
    end = first_block
    for k, region in enumerate(regions.regions):
        run = region.run // times
        count = run * region.rows
        end += -(-count // BLOCK)
        params.start[k], params.run[k] = region.start // times, divisor32_struct(run)
        params.count[k], params.depth[k], params.end_block[k] = count, region.depth, end
    return params, end - first_block


def launch_with_padding(
    chosen: Kernel, loop: Loop, blocks: int, padding_write: PaddingWrite, **members: Any
) -> Launch:
    """Return the launch of a kernel over a loop, with more blocks that write the padding."""
    padded, more = padding_struct_and_block_count(padding_write, blocks, loop.alignments[0])
    return Launch.from_members(chosen, blocks + more, loop.firsts, padding=padded, **members)
