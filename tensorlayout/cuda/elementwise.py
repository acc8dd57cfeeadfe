"""Elementwise operations on CUDA: which kernel, decided once, by cost. Integers and names only.

Operands in other dimension orders go through boxes in shared memory. Costs are bytes that accesses
move, over bytes that are asked for; those of memories with wide elements weigh more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Any, NamedTuple

from tensorlayout.cuda.engine import (
    SECTOR,
    SMALL_BYTES,
    THREADS,
    WIDEST,
    WRITE,
    Launch,
    Launches,
    SharedTile,
    TileProblem,
    c_type,
    choose_tile,
    constant,
    divisor,
    fits_a_walk,
    in_order_cost,
    kernel,
    mixed_writer,
    narrowness,
    octets_of_numbers,
    pack_axes,
    padding_of,
    parameters,
    shared_tiles,
    walk_struct,
    writer,
)
from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.fill import Beside, bits_of, padding_beside, padding_struct
from tensorlayout.dtypes import DType, is_narrow, uint8
from tensorlayout.layout import Axis, Layout, Loop, index_type
from tensorlayout.layout.digits import TiledLoop, is_tiled, tiled_loop, written_sizes
from tensorlayout.plan import ElementwisePlan, Write
from tensorlayout.tensor import TensorSpec


def write_elementwise(plan: ElementwisePlan) -> Write:
    """The function of the result and the operands, which lie apart from it, or exactly there."""
    number, padding = plan.result.device.number, _padding(plan)
    content, planned = scalars_of(plan), partial(plan_elementwise, plan, padding=padding)
    if content is None:
        return writer(number, planned)
    return mixed_writer(number, lambda alignments: (planned(alignments), content))


def scalars_of(plan: ElementwisePlan) -> Callable[[Sequence[Any]], bytes] | None:
    """Return a function that packs the numbers among the operands of a call; None without any."""
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
    """
    pairs = zip(plan.operands, plan.inputs, strict=True)
    operands = [dtype if isinstance(operand, type) else operand for operand, dtype in pairs]
    function, compute = plan.operation.function, compute_type(plan)
    dtypes = [_dtype_of(each) for each in (plan.result, *operands)]
    if function == "where" and is_narrow(plan.result.dtype):  # bits are moved
        compute, dtypes = c_type(uint8), [uint8 if is_narrow(each) else each for each in dtypes]
    computed = _by_functor(function, compute, *map(c_type, dtypes))
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
    computed = _by_functor("positive", kind, kind, c_type(source.dtype))
    return plan_loops(computed, result, [source], alignments, padding)


def compute_type(plan: ElementwisePlan) -> str:
    """Return the name in kernels of the type that a plan's operands become."""
    if plan.operation.result == "bool" and len(set(plan.inputs)) > 1:
        return "AnyInteger"
    # The factors of `scale_bias` may be wider than what it scales.
    return c_type(plan.inputs[0 if plan.operation.function == "scale_bias" else -1])


Operand = TensorSpec | DType  # a tensor, or a scalar


def _dtype_of(operand: Operand) -> DType:
    return operand.dtype if isinstance(operand, TensorSpec) else operand


def _by_functor(functor: str, compute: str, result: str, *operands: str) -> Computed:
    macros = zip(("FIRST", "SECOND", "THIRD"), operands, strict=False)
    kinds = (*macros, ("COMPUTE", compute), ("RESULT", result))
    return Computed("elementwise", kinds, functor)


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
        assert digits is not None, "tiles that no kernel walks together are copied before"
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


# ---- Launches


class TooManyAxesError(Exception):
    """No kernel of so many operands walks so many axes."""


def packs_of(widest: int) -> list[int]:
    """Return sizes of packs, in elements: 16 and 4 bytes of the widest type."""
    return [width // widest for width in (16, 4) if width > widest]


class Computed(NamedTuple):
    """The function that makes elements of the result."""

    kernels: str  # name of their file, and with what their names begin
    types: tuple[tuple[str, str], ...]  # macros that say what is computed from which types
    functor: str = ""  # of kernels/functions.cuh
    numbers: int = 0  # how many scalars it is given beside the operands


@dataclass(frozen=True, slots=True)
class Operands:
    """The result and the operands, as kernels see them."""

    computed: Computed  # what makes elements of the one from those of the others
    count: int  # how many operands there are
    widest: int  # bytes of the widest type, of scalars too
    alignment: int  # of the result: a power of two that divides the address of the lowest slot
    beside: Beside  # padding that is written in the same launch; of a tiled result, in its tails

    @property
    def counts(self) -> dict[str, int]:
        """Return the arguments of kernels for operands and numbers."""
        return {"OPERANDS": self.count, "NUMBERS": self.computed.numbers}

    def ready(
        self, name: str, blocks: int, steps: Sequence[int], **shape: Any
    ) -> tuple[Kernel, Any, int]:
        """A kernel, its struct, and how many blocks it takes; `steps`: of operands along a pack."""
        kernels, types, functor, _ = self.computed
        types = (*types, ("WIDEST", str(self.widest)))
        found = kernel(f"{kernels}.cu", f"{kernels}_{name}", types, functor, **shape)
        made = parameters(found, **self.counts)()
        made.memories.padding, more = padding_struct(self.beside, blocks, self.alignment)
        made.memories.step[:] = steps
        return found, made, blocks + more

    def blocks(self, threads: int, pack: int) -> int:
        """Return the blocks of `threads` in all, each with several turns where packs are small."""
        return -(-threads // (THREADS * self.constant(f"PACKS<{pack}>")))

    def constant(self, name: str) -> int:
        """One of kernels/include/elementwise.cuh, for so many operands."""
        return constant("include/elementwise.cuh", name, **self.counts)


def flat(
    given: Operands, count: int, pack: int, steps: Sequence[int], firsts: tuple[int, ...]
) -> Launch:
    """One run."""
    blocks = given.blocks(count // pack + count % pack, pack)
    found, made, blocks = given.ready("flat", blocks, steps, PACK=pack)
    made.count = count
    return Launch(found, blocks, bytes(made), firsts)


def strided(given: Operands, loop: Loop, pack: int) -> Launch:
    """Rows of packs, where `pack` is more than 1; else elements one by one, with any strides."""
    *slower, last = loop.in_packs(pack, ()).axes
    packs, rest = last.size, loop.sizes[-1] % pack
    rows, rank = prod([axis.size for axis in slower]), len(loop.axes)
    count = rows * (packs + rest)
    blocks = given.blocks(count, pack)
    if rank > given.constant("MOST_WALKED"):
        raise TooManyAxesError
    index = index_type(count, loop.furthest)
    steps = loop.axes[-1].strides[1:] if pack > 1 else (0,) * given.count
    name = "rows" if pack > 1 else "strided"
    shape = {"RANK": rank, "INDEX": index} | ({"PACK": pack} if pack > 1 else {})
    found, made, blocks = given.ready(name, blocks, steps, **shape)
    made.threads, made.pack_threads, made.packs = count, rows * packs, packs
    made.rest = divisor(index, rest or 1)
    pack_axes(made.walk, [*slower, last])
    return Launch(found, blocks, bytes(made), loop.firsts)


def masked_tail(given: Operands, loop: TiledLoop) -> Launch:
    """Tiles with tails, in the result's order."""
    most = loop.pack(WIDEST)
    pack = max([pack for pack in packs_of(given.widest) if pack <= most], default=1)
    threads, moves = loop.count // pack, loop.axes[-1].strides[1:]
    steps, blocks = moves if pack > 1 else [0] * len(moves), given.blocks(threads, pack)
    shape = {"INDEX": loop.index, "BOUNDED": pack}
    found, made, blocks = given.ready("bounded", blocks, steps, **shape)
    made.threads, made.bits[:] = threads, bits_of(given.beside[1])
    made.walk = walk_struct(loop, (), pack)
    return Launch(found, blocks, bytes(made), loop.firsts)


# ---- Boxes in shared memory

# Axes of a box, at most.
_AXES = 3


def box_of(loop: Loop, given: Operands, pack: int) -> SharedTile | None:
    """The box in which operands of other orders are staged; None if that is worth nothing.

    `pack`: how many elements a thread would move at once without.
    An operand with the strides of the result never is, one that is where the result is among them:
    each thread reads such an element where it writes.
    """
    widths = loop.widths
    if loop.count * max(widths) < shared_tiles.SMALL_BYTES:
        return None
    tensors = [m for m in range(len(widths)) if widths[m]]  # the others are scalars
    sectors = {memory: in_order_cost(loop, memory, pack) for memory in tensors}
    staged = tuple([m for m in tensors if m and _is_staged(loop, m, sectors[m])])
    if not staged:
        return None
    beside = tuple(m for m in tensors if m and m not in staged)
    pack_in_box = max(1, 4 // given.widest)  # as `tiles_in` of kernels/include/elementwise.cuh
    followers = tuple(sorted((*staged, *beside)))
    problem = TileProblem.over(loop, staged, beside, pack_in_box, followers)
    box = choose_tile(problem, _AXES)
    if box is None or len(loop.axes) > given.constant("MOST_OUTER") + len(box.axes):
        return None
    before = sum([widths[m] * (sectors[m] + narrowness(widths[m] * pack)) for m in tensors])
    unit = box.sides[WRITE].unit // widths[WRITE]
    after = sum([widths[m] * shared_tiles.THROUGH_TILE for m in staged])
    for m in tensors:
        aside = m not in box.sides
        cost = sectors[m] + narrowness(widths[m] * unit) if aside else box.side_cost(m)
        after += widths[m] * cost
    return box if after < before else None


def _is_staged(loop: Loop, memory: int, sectors: float) -> bool:
    strides, width = loop.strides[memory], loop.widths[memory]
    if strides == loop.strides[WRITE]:
        return False
    if strides[-1] not in (0, 1):  # its elements do not follow each other as the result's do
        return sectors + narrowness(width) > shared_tiles.STAGED_FROM
    # One row for all, say, stays in the caches.
    distinct = prod([n for n, stride in zip(loop.sizes, strides, strict=True) if stride])
    return distinct * width >= shared_tiles.SMALL_BYTES and sectors > shared_tiles.STAGED_FROM


def tiles(given: Operands, loop: Loop, box: SharedTile) -> Launch:
    """One block for each box."""
    side = box.sides[WRITE]
    packed = side.unit > box.problem.widths[WRITE]
    moves = [box.problem.axes[box.axes[k]].strides[1:] for k in side.order[: side.run]]
    steps = [int(any(strides)) for strides in zip(*moves, strict=True)]
    shape = {"PACKED": int(packed), "ROOM": box.room}
    found, made, blocks = given.ready("tiles", box.blocks, steps, **shape)
    box.pack_boxes(made.boxes)
    made.write = box.side_struct(WRITE, [0] * len(box.axes), _AXES)
    begins, period = box.places.tiles, box.period(WRITE)
    last = side.order[side.run - 1]
    periods = max(1, period // box.inner(side.order, side.run))
    for n in range(given.count):
        memory, follower = n + 1, made.followers[n]
        made.tile[n] = begins.get(memory, -1)
        strides: Sequence[int] = made.boxes.stride[memory]
        if memory in begins:
            strides = box.pitches[memory]
            made.read[n] = box.side_struct(memory, strides, _AXES)
            made.narrow[n] = box.sides[memory].unit < 4
        if memory in box.places.followers:
            follower.stride[: len(box.axes)] = strides[: len(box.axes)]
            follower.step = strides[last] * periods
            follower.rows, follower.places = box.places.followers[memory]
    return Launch(found, blocks, bytes(made), loop.firsts)
