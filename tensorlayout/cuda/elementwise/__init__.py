"""Elementwise operations on CUDA: which kernel, decided once, by cost. Integers and names only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from tensorlayout.cuda.elementwise.launches import (
    Computed,
    Operands,
    box_of,
    flat,
    masked_tail,
    packs_of,
    strided,
    tiles,
)
from tensorlayout.cuda.engine import (
    SECTOR,
    SMALL_BYTES,
    Launch,
    Launches,
    c_type,
    fits_a_walk,
    in_order_cost,
    mixed_writer,
    octets_of_numbers,
    padding_of,
    writer,
)
from tensorlayout.cuda.fill import padding_beside
from tensorlayout.dtypes import DType, is_narrow, uint8
from tensorlayout.layout import Axis, Layout, Loop
from tensorlayout.layout.digits import TiledLoop, is_tiled, tiled_loop, written_sizes
from tensorlayout.plan import ElementwisePlan, Write
from tensorlayout.tensor import TensorSpec


def write_elementwise(plan: ElementwisePlan) -> Write:
    """The function of the result and the operands, which lie apart from it, or exactly there."""
    number, padding = plan.result.device.number, _padding(plan)
    content = scalars_of(plan)

    def planned(alignments: Sequence[int]) -> Launches:
        return plan_elementwise(plan, alignments, padding)

    if content is None:
        return writer(number, planned)
    return mixed_writer(number, lambda alignments: (planned(alignments), content))


def scalars_of(plan: ElementwisePlan) -> Callable[[Sequence[Any]], bytes] | None:
    """What makes octets of the numbers among the tensors of a call; None without numbers."""
    pairs = zip(plan.operands, plan.inputs, strict=True)
    kinds = [kind if isinstance(operand, type) else None for operand, kind in pairs]
    if not any(kind is not None for kind in kinds):
        return None
    return octets_of_numbers(plan.operation.name, list(enumerate(kinds, 1)))


def plan_elementwise(
    plan: ElementwisePlan,
    alignments: Sequence[int],
    padding: bytes | None = None,
) -> Launches:
    """The cheapest way to carry out a plan: in one launch, and others for much padding.

    `alignments`: powers of two that divide the addresses of the lowest slots, of the result and of
    each operand (of scalars any); `padding`: the content of one element of the padding that the
    result owns, None to leave it alone, as a write in place does, which never touches it.
    ValueError for memory whose alignment is less than an element. NotImplementedError for tails in
    more than four dimensions, and for tiles that do not divide each other.
    """
    if plan.operation.function == "where" and is_narrow(plan.result.dtype):
        plan = _of_bytes(plan)
    pairs = zip(plan.operands, plan.inputs, strict=True)
    operands = [dtype if isinstance(operand, type) else operand for operand, dtype in pairs]
    kinds = compute_type(plan), c_type(plan.result.dtype)
    computed = _by_functor(plan.operation.function, *kinds, operands)
    return plan_loops(computed, plan.result, operands, alignments, padding)


def plan_conversion(
    result: TensorSpec,
    source: TensorSpec,
    alignments: Sequence[int],
    padding: bytes | None = None,
    saturate: bool = False,
) -> Launches:
    """The copy into another dtype; `saturate`: what is beyond a narrow one becomes its limit."""
    kind = c_type(result.dtype, saturate)
    computed = _by_functor("positive", kind, kind, [source])
    return plan_loops(computed, result, [source], alignments, padding)


def compute_type(plan: ElementwisePlan) -> str:
    """What kernels call the type that a plan's operands become."""
    if plan.operation.result == "bool" and len(set(plan.inputs)) > 1:
        return "AnyInteger"
    # The factors of `scale_bias` may be wider than what it scales.
    return c_type(plan.inputs[0 if plan.operation.function == "scale_bias" else -1])


def _of_bytes(plan: ElementwisePlan) -> ElementwisePlan:
    """A choice among elements of a narrow dtype, as one of uint8: it moves bits."""

    def spec(given: TensorSpec) -> TensorSpec:
        dtype = uint8 if is_narrow(given.dtype) else given.dtype
        return TensorSpec(dtype, given.layout, given.device)

    operands = tuple([spec(o) if isinstance(o, TensorSpec) else o for o in plan.operands])
    inputs = tuple([uint8 if is_narrow(dtype) else dtype for dtype in plan.inputs])
    return replace(plan, operands=operands, inputs=inputs, result=spec(plan.result))


Operand = TensorSpec | DType  # a tensor, or a scalar


def _dtype_of(operand: Operand) -> DType:
    return operand.dtype if isinstance(operand, TensorSpec) else operand


def _by_functor(functor: str, compute: str, result: str, operands: Sequence[Operand]) -> Computed:
    types = [c_type(_dtype_of(operand)) for operand in operands]
    macros = zip(("FIRST", "SECOND", "THIRD"), types, strict=False)
    kinds = (*macros, ("COMPUTE", compute), ("RESULT", result))
    return Computed(functor, "elementwise", kinds, functor)


def plan_loops(
    computed: Computed,
    result: TensorSpec,
    operands: Sequence[Operand],
    alignments: Sequence[int],
    padding: bytes | None,
) -> Launches:
    """The cheapest way to compute a result of broadcast operands; as `plan_elementwise`."""
    layout, digits = result.layout, None
    widest = max(result.dtype.itemsize, *[_dtype_of(operand).itemsize for operand in operands])
    memories = [o if isinstance(o, TensorSpec) else None for o in (result, *operands)]
    layouts = tuple([None if o is None else o.layout.broadcast_to(layout.shape) for o in memories])
    widths = tuple([0 if o is None else o.dtype.itemsize for o in memories])
    if is_tiled(*layouts) and (layout.size or padding is not None):
        digits = _digits(layouts, widths, alignments, padding)
        if digits is None:
            found = ", ".join([str(each) for each in layouts if each is not None])
            msg = f"no kernel walks tiles like those of {found} together; use to_layout() first"
            raise NotImplementedError(msg)
    beside, apart = padding_beside(layout, widths[0], alignments[0], padding, digits)
    given = Operands(computed, len(operands), widest, alignments[0], beside)
    loop: Loop | None = digits
    if loop is None and layout.size:
        loop = Loop.over(layouts, widths, alignments)
    if loop is not None and loop.count:
        case, launch = _cheapest(given, loop)
        return Launches((launch, *apart), case)
    if beside[0] is None or not beside[0].regions:
        return Launches(apart, "empty")
    nothing = (0,) * given.count
    return Launches((flat(given, 0, 1, nothing, (0, *nothing)), *apart), "empty")


# ---- Which kernel

# Of operands that cost more bytes for each in the result's order, copies do better.
_COSTLY = 2.5


def takes_tiles(plan: ElementwisePlan) -> bool:
    """Return whether one launch computes a plan of tiled tensors, and reads all well enough."""
    operands = [o for o in plan.operands if isinstance(o, TensorSpec)]
    return walks_tiles(plan.result, operands, _padding(plan))


def _padding(plan: ElementwisePlan) -> bytes | None:
    return None if plan.destinations else padding_of(plan.result)


def walks_tiles(result: TensorSpec, operands: Sequence[TensorSpec], padding: bytes | None) -> bool:
    """The same of any result and operands; `padding` as of `plan_elementwise`."""
    shape = result.layout.shape
    layouts = [result.layout, *[o.layout.broadcast_to(shape) for o in operands]]
    widths = [result.dtype.itemsize, *[o.dtype.itemsize for o in operands]]
    loop = _digits(layouts, widths, [SECTOR] * len(widths), padding)
    return loop is not None and (not loop.bounds or reads_well(loop))


def reads_well(loop: TiledLoop) -> bool:
    """Return whether one launch reads operands in tiles with tails well enough."""
    return all(
        loop.count * width < SMALL_BYTES or in_order_cost(loop, memory) <= _COSTLY
        for memory, width in enumerate(loop.widths[1:], 1)
    )


def _digits(
    layouts: Sequence[Layout | None],
    widths: Sequence[int],
    alignments: Sequence[int],
    padding: bytes | None,
) -> TiledLoop | None:
    """The digits of the result and of the operands; None where no kernel walks them together."""
    assert layouts[0] is not None, "the result is no scalar"
    loop = tiled_loop(layouts, widths, alignments, written_sizes(layouts[0], padding))
    return None if loop is None or (loop.bounds and not fits_a_walk(loop)) else loop


def _cheapest(given: Operands, loop: Loop) -> tuple[str, Launch]:
    if isinstance(loop, TiledLoop) and loop.bounds:
        return "bounded", masked_tail(given, loop)
    if loop.count == 1:
        loop = replace(loop, axes=(Axis(1, (1,) + (0,) * given.count),))
    to, *steps = loop.axes[-1].strides
    # Whether the fastest axis is contiguous in all memories, or repeated in operands.
    rows = to == 1 and all(step in (0, 1) for step in steps)
    pack = _pack_of(loop, given.widest) if rows else 1
    if rows and len(loop.axes) == 1:
        return "flat", flat(given, loop.count, pack, steps, loop.firsts)
    box = box_of(loop, given, pack)
    if box is not None:
        return "tiles", tiles(given, loop, box)
    return "rows" if rows else "strided", strided(given, loop, pack)


# Rows of fewer packs are not worth the access that their last elements take.
_FULL_PACKS = 8


def _pack_of(loop: Loop, widest: int) -> int:
    """Count the elements of rows that move at once. Rows may end with single elements."""
    row, strides = loop.axes[-1][:2]
    for pack in packs_of(widest):
        aligned = all(
            stride == 0 or loop.grain(memory) % (pack * loop.widths[memory]) == 0
            for memory, stride in enumerate(strides)
        )
        whole = len(loop.axes) == 1 or row % pack == 0 or row >= _FULL_PACKS * pack
        if aligned and whole:
            return pack
    return 1
