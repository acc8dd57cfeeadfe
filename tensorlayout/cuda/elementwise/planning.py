"""Elementwise operations on CUDA: which kernel, decided once, by cost. Integers and names only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tensorlayout.cuda.bounded import fits_a_walk
from tensorlayout.cuda.elementwise.launches import flat, masked_tail, strided
from tensorlayout.cuda.elementwise.operands import Operands, has_rows, loop_of, pack_of
from tensorlayout.cuda.elementwise.tiles import TUNING, Tuning, box_of, tiles
from tensorlayout.cuda.engine.c_types import c_type
from tensorlayout.cuda.engine.launch import Launch
from tensorlayout.cuda.engine.memory import padding_of
from tensorlayout.cuda.engine.padding import padding_regions
from tensorlayout.cuda.engine.sectors import SECTOR, in_order_cost
from tensorlayout.dtypes import DType
from tensorlayout.layout.digits import TiledLoop, is_tiled, tiled_loop, written_sizes
from tensorlayout.layout.loop import Loop
from tensorlayout.plan.elementwise import ElementwisePlan
from tensorlayout.tensor import TensorSpec


@dataclass(frozen=True, slots=True)
class ElementwiseLaunch:
    """An elementwise operation that is ready to run.

    Attributes:
        case: the kind of walk, one of the names in `plan_elementwise`.
        launch: what to launch; None if there is nothing to do.
        writes_padding: whether the launch writes the padding that it was asked to write; if not,
            that is another launch's work.

    """

    case: str
    launch: Launch | None
    writes_padding: bool = True


def plan_elementwise(
    plan: ElementwisePlan,
    alignments: Sequence[int],
    padding: bytes | None = None,
    tuning: Tuning = TUNING,
) -> ElementwiseLaunch:
    """The cheapest way to carry out a plan, in one launch.

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
    functor = plan.operation.function
    mixed = plan.operation.result == "bool" and len(set(plan.inputs)) > 1
    # The factors of `scale_bias` may be wider than what it scales.
    kind = plan.inputs[0 if functor == "scale_bias" else -1]
    compute = "AnyInteger" if mixed else c_type(kind)
    dtypes = [
        i if isinstance(o, type) else o.dtype
        for o, i in zip(plan.operands, plan.inputs, strict=True)
    ]
    operands = [None if isinstance(o, type) else o for o in plan.operands]
    found = _operands(functor, compute, plan.result, operands, dtypes, alignments, padding)
    return _planned(plan.operation.name, found, tuning)


def plan_conversion(
    name: str,
    result: TensorSpec,
    source: TensorSpec,
    alignments: Sequence[int],
    padding: bytes | None = None,
    tuning: Tuning = TUNING,
) -> ElementwiseLaunch:
    """The copy of a tensor into another dtype.

    `name`: the function that asks; the rest is as in `plan_elementwise`.
    """
    given = ([source], [source.dtype], alignments, padding)
    return _planned(name, _operands("positive", c_type(result.dtype), result, *given), tuning)


def _operands(
    functor: str,
    compute: str,
    result: TensorSpec,
    operands: Sequence[TensorSpec | None],
    dtypes: Sequence[DType],
    alignments: Sequence[int],
    padding: bytes | None,
) -> Operands:
    macros = zip(("FIRST", "SECOND", "THIRD"), map(c_type, dtypes), strict=False)
    widest = max(result.dtype.itemsize, *[dtype.itemsize for dtype in dtypes])
    types = (
        *macros,
        ("COMPUTE", compute),
        ("RESULT", c_type(result.dtype)),
        ("WIDEST", str(widest)),
    )
    shape = result.layout.shape
    placed = tuple(
        None if o is None else (o.layout.broadcast_to(shape), o.dtype.itemsize) for o in operands
    )
    whole = (result.layout, result.dtype.itemsize)
    return Operands(functor, types, whole, placed, tuple(alignments), padding)


# ---- Which kernel

# Of operands that cost more bytes for each in the result's order, copies do better.
_COSTLY = 2.5
_SMALL_BYTES = 32 * 1024


def takes_tiles(plan: ElementwisePlan) -> bool:
    """Whether one launch computes a plan of tiled tensors, and reads them all well enough.

    If not, the tensors are better copied out of their tiles before.
    """
    result, shape = plan.result.layout, plan.result.layout.shape
    operands = [o for o in plan.operands if isinstance(o, TensorSpec)]
    layouts = [result, *[o.layout.broadcast_to(shape) for o in operands]]
    padding = None if plan.given else padding_of(plan.result)
    widths = [plan.result.dtype.itemsize, *[o.dtype.itemsize for o in operands]]
    loop = tiled_loop(layouts, widths, [SECTOR] * len(widths), written_sizes(result, padding))
    if loop is None or not loop.bounds:
        return loop is not None
    if not fits_a_walk(loop):
        return False
    large = [m for m in range(1, len(widths)) if loop.count * widths[m] >= _SMALL_BYTES]
    return all(in_order_cost(loop, memory) <= _COSTLY for memory in large)


def loop_over_tiles(given: Operands) -> TiledLoop:
    """The digits of the result and of the operands; NotImplementedError for none."""
    written = written_sizes(given.result[0], given.padding)
    loop = tiled_loop(given.layouts, given.widths, given.alignments, written)
    if loop is None or (loop.bounds and not fits_a_walk(loop)):
        found = ", ".join([str(layout) for layout in given.layouts if layout is not None])
        msg = f"no kernel walks tiles like those of {found} together; use to_layout() first"
        raise NotImplementedError(msg)
    return loop


def _planned(name: str, given: Operands, tuning: Tuning) -> ElementwiseLaunch:
    layout, digits = given.result[0], None
    if is_tiled(*given.layouts) and (layout.size or given.padding is not None):
        digits = loop_over_tiles(given)
        if digits.count and digits.bounds:
            fits = layout.is_tiled or given.padding is None
            fits = fits or (padding_regions(layout).fit_a_launch and not digits.firsts[0])
            inside = given if fits else replace(given, padding=None)
            return ElementwiseLaunch("bounded", masked_tail(inside, digits), fits)
    written = given.padding is not None and not layout.is_tiled
    regions = padding_regions(layout) if written else None
    fits = regions is None or regions.fit_a_launch
    if layout.size == 0:
        empty = regions is None or not regions.regions
        nothing = (0,) * given.count
        firsts = (0,) * (1 + len(nothing))
        launch = None if empty or not fits else flat(given, 0, 1, nothing, firsts)
        return ElementwiseLaunch("empty", launch, fits)
    if not fits:
        given = replace(given, padding=None)
    case, launch = _cheapest(given, loop_of(given, digits), tuning)
    return ElementwiseLaunch(case, launch, fits)


def _cheapest(given: Operands, loop: Loop, tuning: Tuning) -> tuple[str, Launch]:
    pack, rows = pack_of(loop, given.widest), has_rows(loop)
    if rows and len(loop.axes) == 1:
        return "flat", flat(given, loop.count, pack, loop.axes[0].strides[1:], loop.firsts)
    box = box_of(loop, given, pack, tuning)
    if box is not None:
        return "tiles", tiles(given, loop, box)
    return "rows" if rows else "strided", strided(given, loop, pack)
