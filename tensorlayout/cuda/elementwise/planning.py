"""Elementwise operations on CUDA: which kernel, decided once, by cost. Integers and names only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tensorlayout.cuda.bounded import fits_a_walk
from tensorlayout.cuda.elementwise.launches import (
    WIDTHS,
    Computed,
    Operands,
    flat,
    masked_tail,
    strided,
)
from tensorlayout.cuda.elementwise.tiles import box_of, tiles
from tensorlayout.cuda.engine.c_types import c_type
from tensorlayout.cuda.engine.launch import Launch, Launches
from tensorlayout.cuda.engine.memory import padding_of
from tensorlayout.cuda.engine.sectors import SECTOR, in_order_cost
from tensorlayout.cuda.engine.shared_tiles.problem import TUNING, TileTuning
from tensorlayout.cuda.fill.fill import padding_beside
from tensorlayout.dtypes import DType, is_narrow, uint8
from tensorlayout.layout import Layout
from tensorlayout.layout.digits import TiledLoop, is_tiled, tiled_loop, written_sizes
from tensorlayout.layout.loop import Axis, Loop
from tensorlayout.plan.elementwise import ElementwisePlan
from tensorlayout.tensor import TensorSpec


def plan_elementwise(
    plan: ElementwisePlan,
    alignments: Sequence[int],
    padding: bytes | None = None,
    tuning: TileTuning = TUNING,
) -> Launches:
    """The cheapest way to carry out a plan: in one launch, and others for much padding.

    `alignments`: powers of two that divide the addresses of the lowest slots, of the result and of
    each operand (of scalars any); `padding`: the content of one element of the padding that the
    result owns, None to leave it alone, as a write in place does, which never touches it.
    ValueError for memory whose alignment is less than an element. The cases, in the order of their
    cost:

    1. ``empty``: no element.
    2. ``flat``: the result is one run; each operand runs with it, or is one value.
    3. ``rows``: the fastest dimension is contiguous in the result, and in each operand contiguous
       or of stride 0.
    4. ``tiles``: operands are in another order than the result's, or in rows that begin elsewhere
       in sectors: boxes of them go through shared memory.
    5. ``strided``: everything else, in the result's order.
    6. ``bounded``: layouts that are tiled, with tails, in the result's order.

    NotImplementedError for tails in more than four dimensions, and for tiles that do not divide
    each other.
    """
    if plan.operation.function == "where" and is_narrow(plan.result.dtype):
        plan = _of_bytes(plan)
    dtypes = [
        i if isinstance(o, type) else o.dtype
        for o, i in zip(plan.operands, plan.inputs, strict=True)
    ]
    layouts = [None if isinstance(o, type) else o.layout for o in plan.operands]
    kinds = compute_type(plan), c_type(plan.result.dtype)
    computed = _by_functor(plan.operation.function, *kinds, dtypes)
    return plan_loops(computed, plan.result, layouts, dtypes, alignments, padding, tuning)


def plan_conversion(
    result: TensorSpec,
    source: TensorSpec,
    alignments: Sequence[int],
    padding: bytes | None = None,
    tuning: TileTuning = TUNING,
    saturate: bool = False,
) -> Launches:
    """The copy of a tensor into another dtype; arguments as of `plan_elementwise`.

    `saturate`: what is beyond a narrow dtype becomes its nearest limit.
    """
    kind = c_type(result.dtype, saturate)
    computed = _by_functor("positive", kind, kind, [source.dtype])
    given = [source.layout], [source.dtype]
    return plan_loops(computed, result, *given, alignments, padding, tuning)


def compute_type(plan: ElementwisePlan) -> str:
    """What kernels call the type that a plan's operands become."""
    if plan.operation.result == "bool" and len(set(plan.inputs)) > 1:
        return "AnyInteger"
    # The factors of `scale_bias` may be wider than what it scales.
    return c_type(plan.inputs[0 if plan.operation.function == "scale_bias" else -1])


def _of_bytes(plan: ElementwisePlan) -> ElementwisePlan:
    """A choice among elements of a narrow dtype, as one of uint8: it moves bits."""

    def spec(given: TensorSpec) -> TensorSpec:
        return TensorSpec(byte(given.dtype), given.layout, given.device)

    def byte(dtype: DType) -> DType:
        return uint8 if is_narrow(dtype) else dtype

    operands = tuple([spec(o) if isinstance(o, TensorSpec) else o for o in plan.operands])
    inputs = tuple([byte(dtype) for dtype in plan.inputs])
    return replace(plan, operands=operands, inputs=inputs, result=spec(plan.result))


def _by_functor(functor: str, compute: str, result: str, dtypes: Sequence[DType]) -> Computed:
    macros = zip(("FIRST", "SECOND", "THIRD"), map(c_type, dtypes), strict=False)
    types = (*macros, ("COMPUTE", compute), ("RESULT", result))
    return Computed(functor, "elementwise.cu", "elementwise", types, functor)


def plan_loops(
    computed: Computed,
    result: TensorSpec,
    operands: Sequence[Layout | None],
    dtypes: Sequence[DType],
    alignments: Sequence[int],
    padding: bytes | None,
    tuning: TileTuning = TUNING,
) -> Launches:
    """The cheapest way to compute every element of a result; arguments as of `plan_elementwise`.

    `operands`: their layouts, which are broadcast, or None for scalars; `dtypes`: as they are
    stored.
    """
    layout, digits = result.layout, None
    itemsize = result.dtype.itemsize
    widest = max(itemsize, *[dtype.itemsize for dtype in dtypes])
    types = (*computed.types, ("WIDEST", str(widest)))
    layouts = (layout, *[None if o is None else o.broadcast_to(layout.shape) for o in operands])
    pairs = zip(operands, dtypes, strict=True)
    widths = (itemsize, *[0 if o is None else dtype.itemsize for o, dtype in pairs])
    if is_tiled(*layouts) and (layout.size or padding is not None):
        digits = _digits(layouts, widths, alignments, padding)
        if digits is None:
            found = ", ".join([str(each) for each in layouts if each is not None])
            msg = f"no kernel walks tiles like those of {found} together; use to_layout() first"
            raise NotImplementedError(msg)
    beside, apart = padding_beside(layout, itemsize, alignments[0], padding, digits)
    given = Operands(computed, types, layouts, widths, tuple(alignments), beside)
    if digits is not None and digits.count and digits.bounds:
        return Launches((masked_tail(given, digits), *apart), "bounded")
    if layout.size:
        case, launch = _cheapest(given, _loop_of(given, digits), tuning)
        return Launches((launch, *apart), case)
    if beside[0] is None or not beside[0].regions:
        return Launches(apart, "empty")
    nothing = (0,) * given.count
    return Launches((flat(given, 0, 1, nothing, (0, *nothing)), *apart), "empty")


# ---- Which kernel

# Of operands that cost more bytes for each in the result's order, copies do better.
_COSTLY = 2.5


def takes_tiles(plan: ElementwisePlan) -> bool:
    """Whether one launch computes a plan of tiled tensors, and reads them all well enough.

    If not, the tensors are better copied out of their tiles before.
    """
    operands = [o for o in plan.operands if isinstance(o, TensorSpec)]
    return walks_tiles(plan.result, operands, None if plan.given else padding_of(plan.result))


def walks_tiles(result: TensorSpec, operands: Sequence[TensorSpec], padding: bytes | None) -> bool:
    """The same of any result and operands; `padding` as of `plan_elementwise`."""
    shape = result.layout.shape
    layouts = [result.layout, *[o.layout.broadcast_to(shape) for o in operands]]
    widths = [result.dtype.itemsize, *[o.dtype.itemsize for o in operands]]
    loop = _digits(layouts, widths, [SECTOR] * len(widths), padding)
    return loop is not None and (not loop.bounds or reads_well(loop))


def reads_well(loop: TiledLoop) -> bool:
    """Whether one launch reads operands in tiles with tails well enough."""
    widths = loop.widths
    large = [m for m in range(1, len(widths)) if loop.count * widths[m] >= TUNING.small_bytes]
    return all(in_order_cost(loop, memory) <= _COSTLY for memory in large)


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


def _loop_of(given: Operands, digits: TiledLoop | None) -> Loop:
    """All elements, with as few axes as can be. ValueError for elements not aligned.

    `digits`: of tiled layouts, without tails.
    """
    for number, (width, alignment) in enumerate(zip(given.widths, given.alignments, strict=True)):
        if width and alignment % width:
            which = f"operand {number}" if number else "the result"
            msg = (
                f"{given.name}: {which} begins at an address that is no multiple of its"
                f" {width} bytes an element; copy it first"
            )
            raise ValueError(msg)
    loop = digits or Loop.over(given.layouts, given.widths, given.alignments)
    if loop.count > 1:
        return loop
    return replace(loop, axes=(Axis(1, (1,) + (0,) * given.count),))


def _cheapest(given: Operands, loop: Loop, tuning: TileTuning) -> tuple[str, Launch]:
    to, *steps = loop.axes[-1].strides
    # Whether the fastest axis is contiguous in all memories, or repeated in operands.
    rows = to == 1 and all(step in (0, 1) for step in steps)
    pack = _pack_of(loop, given.widest) if rows else 1
    if rows and len(loop.axes) == 1:
        return "flat", flat(given, loop.count, pack, steps, loop.firsts)
    box = box_of(loop, given, pack, tuning)
    if box is not None:
        return "tiles", tiles(given, loop, box)
    return "rows" if rows else "strided", strided(given, loop, pack)


# Rows of fewer packs are not worth the access that their last elements take.
_FULL_PACKS = 8


def _pack_of(loop: Loop, widest: int) -> int:
    """How many elements of rows move at once: the most that alignment and their length allow.

    `widest`: bytes of the widest type. Rows may end with single elements.
    """
    row, strides = loop.axes[-1][:2]
    for pack in [width // widest for width in WIDTHS if width > widest]:
        aligned = all(
            stride == 0 or loop.grain(memory) % (pack * loop.widths[memory]) == 0
            for memory, stride in enumerate(strides)
        )
        whole = len(loop.axes) == 1 or row % pack == 0 or row >= _FULL_PACKS * pack
        if aligned and whole:
            return pack
    return 1
