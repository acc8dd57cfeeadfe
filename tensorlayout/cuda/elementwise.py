"""Elementwise operations on CUDA: choice of the cheapest kernel, once per plan.

Kernels, by what the merged loop over all operands looks like: *flat* (one contiguous run), *rows*
(contiguous along the fastest axis), *strided*, *bounded* (tiles with masked tails), and *tiles*,
which stages operands of another dimension order in shared memory. Costs are times of accesses over
those of moving the bytes requested (`access_cost`); memories with wide elements weigh more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, NamedTuple

from tensorlayout.cuda.engine import (
    FULL_PACKS,
    SECTOR,
    SMALL_BYTES,
    THREADS,
    WIDEST,
    WRITE,
    Launch,
    Launches,
    NumberPacker,
    SharedTile,
    TileProblem,
    access_cost,
    bounded_walk_struct,
    c_type,
    choose_tile,
    constant_value,
    divisor_struct,
    fill_walk,
    fits_bounded_walk,
    kernel_with_macros,
    make_numbers_packer,
    make_writer_with_numbers,
    narrow_access_cost,
    padding_element_bytes,
    parameter_struct_type,
    shared_tiles,
)
from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.fill import (
    PaddingWrite,
    fusable_padding_and_launches,
    padding_struct_and_block_count,
    repeat_to_two_uint64,
)
from tensorlayout.dtypes import DType, is_narrow_dtype, uint8
from tensorlayout.layout import Axis, Layout, Loop, narrowest_index_type
from tensorlayout.layout.digits import TiledLoop, is_tiled, make_tiled_loop, sizes_to_write
from tensorlayout.plan import ElementwisePlan, Write
from tensorlayout.tensor import TensorSpec


def compile_elementwise(plan: ElementwisePlan) -> Write:
    """Compile an operation; operands do not overlap the result, or coincide with it."""
    number, padding = plan.result.device.number, _padding_to_write(plan)
    pack_scalars = make_scalar_packer(plan)
    return make_writer_with_numbers(
        number, lambda alignments: (plan_elementwise(plan, alignments, padding), pack_scalars)
    )


def make_scalar_packer(plan: ElementwisePlan) -> NumberPacker | None:
    """Return a function that packs the numbers among a call's operands; None without numbers."""
    pairs = zip(plan.operands, plan.inputs, strict=True)
    kinds = [kind if isinstance(operand, type) else None for operand, kind in pairs]
    if not any(kind is not None for kind in kinds):
        return None
    return make_numbers_packer(plan.operation.name, list(enumerate(kinds)))


def plan_elementwise(
    plan: ElementwisePlan, alignments: Sequence[int], padding: bytes | None = None
) -> Launches:
    """Plan the cheapest launch for a plan, and further launches for much padding.

    - `alignments`: powers of two that divide the addresses of the lowest slots, of the result and
      of each operand (any number for scalars).
    - `padding`: content of one element of the result's own padding; None leaves padding alone, as
      writes in place always do.
    """
    pairs = zip(plan.operands, plan.inputs, strict=True)
    operands = [dtype if isinstance(operand, type) else operand for operand, dtype in pairs]
    function, compute = plan.operation.function_name, compute_type(plan)
    dtypes = [_operand_dtype(item) for item in (plan.result, *operands)]
    if function == "where" and is_narrow_dtype(plan.result.dtype):  # moves bytes, computes nothing
        compute = c_type(uint8)
        dtypes = [uint8 if is_narrow_dtype(item) else item for item in dtypes]
    computed = _functor_computation(function, compute, *map(c_type, dtypes))
    return plan_computation(computed, plan.result, operands, alignments, padding)


def plan_conversion(
    result: TensorSpec,
    source: TensorSpec,
    alignments: Sequence[int],
    padding: bytes | None = None,
    saturate: bool = False,
) -> Launches:
    """Plan a conversion to another dtype; with `saturate`, clip to its limits."""
    kind = c_type(result.dtype, saturate)
    computed = _functor_computation("positive", kind, kind, c_type(source.dtype))
    return plan_computation(computed, result, [source], alignments, padding)


def compute_type(plan: ElementwisePlan) -> str:
    """Return the C++ type to which a plan's operands are converted."""
    # Comparisons of signed with unsigned integers are exact, though no common type holds both.
    if plan.operation.result == "bool" and len(set(plan.inputs)) > 1:
        return "AnyInteger"
    # The factors of `scale_bias` may be wider than what it scales.
    return c_type(plan.inputs[0 if plan.operation.function_name == "scale_bias" else -1])


Operand = TensorSpec | DType  # a tensor, or a scalar


def _operand_dtype(operand: Operand) -> DType:
    return operand.dtype if isinstance(operand, TensorSpec) else operand


def _functor_computation(
    functor: str, compute_type_name: str, result_type_name: str, *operand_type_names: str
) -> Computation:
    macros = zip(("FIRST", "SECOND", "THIRD"), operand_type_names, strict=False)
    kinds = (*macros, ("COMPUTE", compute_type_name), ("RESULT", result_type_name))
    return Computation("elementwise", kinds, functor)


def plan_computation(
    computation: Computation,
    result: TensorSpec,
    operands: Sequence[Operand],
    alignments: Sequence[int],
    padding: bytes | None,
) -> Launches:
    """Plan the cheapest computation with broadcast operands; arguments as in `plan_elementwise`."""
    layout, tiled = result.layout, None
    widest = max(result.dtype.itemsize, *[_operand_dtype(operand).itemsize for operand in operands])
    # Memory 0 is the result. A scalar is in no memory: it has neither layout nor width.
    memories = [o if isinstance(o, TensorSpec) else None for o in (result, *operands)]
    layouts = tuple([None if o is None else o.layout.broadcast_to(layout.shape) for o in memories])
    widths = tuple([0 if o is None else o.dtype.itemsize for o in memories])
    if is_tiled(*layouts) and (layout.size or padding is not None):
        tiled = _common_tiled_loop(layouts, widths, alignments, padding)
        assert tiled is not None, "tiles that no kernel walks together are copied before"
    padding_write, padding_launches = fusable_padding_and_launches(
        layout, widths[0], alignments[0], padding, tiled
    )
    kernel_operands = KernelOperands(
        computation, len(operands), widest, alignments[0], padding_write
    )
    loop: Loop | None = tiled
    if loop is None and layout.size:
        loop = Loop.over_layouts(layouts, widths, alignments)
    if loop is not None and loop.element_count:
        case, launch = _cheapest_launch(kernel_operands, loop)
        return Launches((launch, *padding_launches), case)
    if padding_write[0] is None or not padding_write[0].regions:
        return Launches(padding_launches, "empty")
    # The result has no elements, but owns padding: all blocks of this launch write padding.
    nothing = (0,) * kernel_operands.operand_count
    return Launches(
        (flat_launch(kernel_operands, 0, 1, nothing, (0, *nothing)), *padding_launches), "empty"
    )


# ---- Which kernel

# Operands whose reads in the result's order move more bytes than this per byte requested are
# copied first, which is cheaper.
_COSTLY = 2.5


def accepts_tiles(plan: ElementwisePlan) -> bool:
    """Return whether one launch can compute a plan with tiled tensors and read efficiently."""
    operands = [o for o in plan.operands if isinstance(o, TensorSpec)]
    return can_launch_efficiently(plan.result, operands, _padding_to_write(plan))


def _padding_to_write(plan: ElementwisePlan) -> bytes | None:
    return None if plan.destinations else padding_element_bytes(plan.result)


def can_launch_efficiently(
    result: TensorSpec, operands: Sequence[TensorSpec], padding: bytes | None
) -> bool:
    """Return whether one launch computes any operation with efficient reads of these tensors.

    `padding`: see `plan_elementwise`.
    """
    shape = result.layout.shape
    layouts = [result.layout, *[o.layout.broadcast_to(shape) for o in operands]]
    widths = [result.dtype.itemsize, *[o.dtype.itemsize for o in operands]]
    loop = _common_tiled_loop(layouts, widths, [SECTOR] * len(widths), padding)
    return loop is not None and (not loop.bounds or reads_tiles_efficiently(loop))


def reads_tiles_efficiently(loop: TiledLoop) -> bool:
    """Return whether one launch reads operands in tiles with tails efficiently."""
    return all(
        loop.element_count * width < SMALL_BYTES or access_cost(loop, memory) <= _COSTLY
        for memory, width in enumerate(loop.widths[1:], 1)
    )


def _common_tiled_loop(
    layouts: Sequence[Layout | None],
    widths: Sequence[int],
    alignments: Sequence[int],
    padding: bytes | None,
) -> TiledLoop | None:
    """Return the loop over the digits of all tensors; None if no kernel can walk them together."""
    assert layouts[0] is not None, "the result is no scalar"
    loop = make_tiled_loop(layouts, widths, alignments, sizes_to_write(layouts[0], padding))
    return None if loop is None or (loop.bounds and not fits_bounded_walk(loop)) else loop


def _cheapest_launch(kernel_operands: KernelOperands, loop: Loop) -> tuple[str, Launch]:
    if isinstance(loop, TiledLoop) and loop.bounds:
        return "bounded", launch_with_masked_tile_tails(kernel_operands, loop)
    # Strides of sizes 1 are arbitrary; those of a contiguous run select the flat kernel.
    if loop.element_count == 1:
        loop = replace(loop, axes=(Axis(1, (1,) + (0,) * kernel_operands.operand_count),))
    to, *steps = loop.axes[-1].strides
    # Packs need the fastest axis contiguous in all memories, or repeated (step 0) in operands.
    rows = to == 1 and all(step in (0, 1) for step in steps)
    pack = _row_pack_length(loop, kernel_operands.widest_itemsize) if rows else 1
    if rows and len(loop.axes) == 1:
        return "flat", flat_launch(kernel_operands, loop.element_count, pack, steps, loop.firsts)
    box = choose_staging_tile(loop, kernel_operands, pack)
    if box is not None:
        return "tiles", shared_tile_launch(kernel_operands, loop, box)
    return "rows" if rows else "strided", strided_launch(kernel_operands, loop, pack)


def _row_pack_length(loop: Loop, widest_itemsize: int) -> int:
    """Return the number of elements of rows to move at once; rows may end with single elements."""
    row, strides = loop.axes[-1][:2]
    for pack in pack_lengths(widest_itemsize):
        # A repeated operand (stride 0) is read once for each pack, so its alignment is irrelevant.
        aligned = all(
            stride == 0 or loop.row_alignment(memory) % (pack * loop.widths[memory]) == 0
            for memory, stride in enumerate(strides)
        )
        whole = len(loop.axes) == 1 or row % pack == 0 or row >= FULL_PACKS * pack
        if aligned and whole:
            return pack
    return 1


# ---- Launches


class TooManyAxesError(Exception):
    """The operands' strides along all axes do not fit into the parameters of a launch."""


def pack_lengths(widest_itemsize: int) -> list[int]:
    """Return the possible lengths of packs, in elements: 16 and 4 bytes of the widest type."""
    return [width // widest_itemsize for width in (16, 4) if width > widest_itemsize]


class Computation(NamedTuple):
    """Function that computes elements of the result."""

    kernel_family: str  # file of the kernels, and prefix of their names
    type_macros: tuple[tuple[str, str], ...]  # macros for the types of operands and result
    functor: str = ""  # of kernels/include/functions.cuh
    scalar_count: int = 0  # scalars that are passed in addition to the operands


@dataclass(frozen=True, slots=True)
class KernelOperands:
    """Result and operands, as kernels see them."""

    computation: Computation
    operand_count: int
    widest_itemsize: int  # bytes of the widest type, scalars included
    alignment: int  # of the result: a power of two that divides the address of the lowest slot
    padding_write: PaddingWrite  # padding written in the same launch; for tiles, in their tails

    @property
    def count_macros(self) -> dict[str, int]:
        """Constants of kernel structs: the numbers of operands and scalars."""
        return {"OPERANDS": self.operand_count, "NUMBERS": self.computation.scalar_count}

    def prepare_kernel(
        self, kernel_name: str, blocks: int, steps: Sequence[int], **shape: Any
    ) -> tuple[Kernel, Any, int]:
        """Return a kernel, its struct and its blocks; `steps`: of operands along a pack."""
        kernels, types, functor, _ = self.computation
        types = (*types, ("WIDEST", str(self.widest_itemsize)))
        selected_kernel = kernel_with_macros(
            f"{kernels}.cu", f"{kernels}_{kernel_name}", types, functor, **shape
        )
        params = parameter_struct_type(selected_kernel, **self.count_macros)()
        params.memories.padding, more = padding_struct_and_block_count(
            self.padding_write, blocks, self.alignment
        )
        params.memories.step[:] = steps
        return selected_kernel, params, blocks + more

    def block_count(self, pack_count: int, pack: int) -> int:
        """Return the blocks for `pack_count` packs; a thread takes ``PACKS`` of them."""
        return -(-pack_count // (THREADS * self.header_constant(f"PACKS<{pack}>")))

    def header_constant(self, name: str) -> int:
        """Return a constant of kernels/include/elementwise.cuh for this number of operands."""
        return constant_value("include/elementwise.cuh", name, **self.count_macros)


def flat_launch(
    kernel_operands: KernelOperands,
    count: int,
    pack_length: int,
    steps: Sequence[int],
    firsts: tuple[int, ...],
) -> Launch:
    """Plan a launch over one contiguous run."""
    blocks = kernel_operands.block_count(count // pack_length + count % pack_length, pack_length)
    selected_kernel, params, blocks = kernel_operands.prepare_kernel(
        "flat", blocks, steps, PACK=pack_length
    )
    params.count = count
    return Launch(selected_kernel, blocks, bytes(params), firsts)


def strided_launch(kernel_operands: KernelOperands, loop: Loop, pack_length: int) -> Launch:
    """Plan a launch over rows of packs, or with `pack_length` 1 over elements of any strides."""
    *slower, last = loop.loop_over_packs(pack_length, ()).axes
    packs, rest = last.size, loop.sizes[-1] % pack_length
    rows, rank = prod([axis.size for axis in slower]), len(loop.axes)
    count = rows * (packs + rest)
    blocks = kernel_operands.block_count(count, pack_length)
    if rank > kernel_operands.header_constant("MOST_WALKED"):
        raise TooManyAxesError
    index = narrowest_index_type(count, loop.max_offset)
    steps = loop.axes[-1].strides[1:] if pack_length > 1 else (0,) * kernel_operands.operand_count
    name = "rows" if pack_length > 1 else "strided"
    shape = {"RANK": rank, "INDEX": index} | ({"PACK": pack_length} if pack_length > 1 else {})
    selected_kernel, params, blocks = kernel_operands.prepare_kernel(name, blocks, steps, **shape)
    # The first threads have a pack each, the others one element behind the last pack of a row. Rows
    # of 10 in packs of 4 have 2 + 2 threads.
    params.threads, params.pack_threads, params.packs = count, rows * packs, packs
    params.rest = divisor_struct(index, rest or 1)
    fill_walk(params.walk, [*slower, last])
    return Launch(selected_kernel, blocks, bytes(params), loop.firsts)


def launch_with_masked_tile_tails(kernel_operands: KernelOperands, loop: TiledLoop) -> Launch:
    """Plan a launch over tiles with masked tails, in the result's order."""
    max_pack = loop.max_pack_size(WIDEST)
    pack = max(
        [pack for pack in pack_lengths(kernel_operands.widest_itemsize) if pack <= max_pack],
        default=1,
    )
    threads, moves = loop.element_count // pack, loop.axes[-1].strides[1:]
    steps = moves if pack > 1 else [0] * len(moves)
    blocks = kernel_operands.block_count(threads, pack)
    shape = {"INDEX": loop.index_c_type, "BOUNDED": pack}
    selected_kernel, params, blocks = kernel_operands.prepare_kernel(
        "bounded", blocks, steps, **shape
    )
    params.threads, params.bits[:] = threads, repeat_to_two_uint64(kernel_operands.padding_write[1])
    params.walk = bounded_walk_struct(loop, (), pack)
    return Launch(selected_kernel, blocks, bytes(params), loop.firsts)


# ---- Boxes in shared memory

# Most axes of a box: structs of elementwise kernels have room for this many.
_AXES = 3


def choose_staging_tile(
    loop: Loop, kernel_operands: KernelOperands, pack: int
) -> SharedTile | None:
    """Return the shared tile that stages operands of other orders; None if not worth it.

    `pack`: elements that a thread would move at once without staging. Operands with the result's
    strides are never staged. This includes an operand that coincides with the result: each thread
    reads its element where it then writes.
    """
    widths = loop.widths
    if loop.element_count * max(widths) < shared_tiles.SMALL_BYTES:
        return None
    tensors = [m for m in range(len(widths)) if widths[m]]  # the others are scalars
    costs = {memory: access_cost(loop, memory, pack) for memory in tensors}
    staged = tuple([m for m in tensors if m and _is_worth_staging(loop, m, costs[m])])
    if not staged:
        return None
    unstaged = tuple(m for m in tensors if m and m not in staged)
    # The same rule as `tiles_in` in kernels/include/elementwise.cuh.
    pack_in_box = max(1, 4 // kernel_operands.widest_itemsize)
    followers = tuple(sorted((*staged, *unstaged)))
    problem = TileProblem.from_loop(loop, staged, unstaged, pack_in_box, followers)
    box = choose_tile(problem, _AXES)
    if box is None or len(loop.axes) > kernel_operands.header_constant("MOST_OUTER") + len(
        box.axes
    ):
        return None
    # Both costs are in bytes moved for one element in all memories: without staging, and with it.
    # Operands that are not staged are then read in the packs in which a box is written.
    before = sum([widths[m] * (costs[m] + narrow_access_cost(widths[m] * pack)) for m in tensors])
    unit = box.access_by_memory[WRITE].unit // widths[WRITE]
    after = sum([widths[m] * shared_tiles.THROUGH_TILE for m in staged])
    for m in tensors:
        is_unstaged = m not in box.access_by_memory
        cost = (
            costs[m] + narrow_access_cost(widths[m] * unit)
            if is_unstaged
            else box.cost_of_memory(m)
        )
        after += widths[m] * cost
    return box if after < before else None


def _is_worth_staging(loop: Loop, memory: int, cost: float) -> bool:
    strides, width = loop.strides[memory], loop.widths[memory]
    # A small operand, such as one row for all, stays in the caches.
    distinct = prod([n for n, stride in zip(loop.sizes, strides, strict=True) if stride])
    is_small = strides[-1] in (0, 1) and distinct * width < shared_tiles.SMALL_BYTES
    return strides != loop.strides[WRITE] and not is_small and cost > shared_tiles.STAGED_FROM


def shared_tile_launch(kernel_operands: KernelOperands, loop: Loop, box: SharedTile) -> Launch:
    """Plan a launch with one block for each box in shared memory."""
    side = box.access_by_memory[WRITE]
    packed = side.unit > box.problem.widths[WRITE]
    moves = [box.problem.axes[box.axes[k]].strides[1:] for k in side.order[: side.run]]
    # Along a pack an operand moves by 1 element, or by 0 if it is repeated along the whole run.
    steps = [int(any(strides)) for strides in zip(*moves, strict=True)]
    shape = {"PACKED": int(packed), "ROOM": box.allocated_shared_bytes}
    selected_kernel, params, blocks = kernel_operands.prepare_kernel(
        "tiles", box.block_count, steps, **shape
    )
    box.fill_boxes_struct(params.boxes)
    params.write = box.side_struct(WRITE, [0] * len(box.axes), _AXES)
    begins, period = box.memory_offsets.tiles, box.run_period(WRITE)
    last = side.order[side.run - 1]
    periods = max(1, period // box.inner_run_elements(side.order, side.run))
    for n in range(kernel_operands.operand_count):
        memory, follower = n + 1, params.followers[n]
        params.tile[n] = begins.get(memory, -1)
        strides: Sequence[int] = params.boxes.stride[memory]
        if memory in begins:
            strides = box.tile_strides[memory]
            params.read[n] = box.side_struct(memory, strides, _AXES)
            params.narrow[n] = box.access_by_memory[memory].unit < 4
        if memory in box.memory_offsets.followers:
            follower.stride[: len(box.axes)] = strides[: len(box.axes)]
            follower.step = strides[last] * periods
            follower.rows, follower.places = box.memory_offsets.followers[memory]
    return Launch(selected_kernel, blocks, bytes(params), loop.firsts)
