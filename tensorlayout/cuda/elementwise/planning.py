"""Elementwise operations on CUDA: which kernel, decided once, by cost; then launches of it.

Plans are integers and names, and need no device.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import add
from typing import Any

from tensorlayout.cuda.bounded import fits_a_walk
from tensorlayout.cuda.elementwise.launches import flat, masked_tail, strided
from tensorlayout.cuda.elementwise.operands import Operands, has_rows, loop_of, pack_of
from tensorlayout.cuda.elementwise.tiles import TUNING, Tuning, box_of, tiles
from tensorlayout.cuda.engine.c_types import c_type
from tensorlayout.cuda.engine.driver import Driver
from tensorlayout.cuda.engine.launch import Launch
from tensorlayout.cuda.engine.memory import padding_of
from tensorlayout.cuda.engine.padding import padding_regions
from tensorlayout.cuda.engine.scalars import octets
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
        name: of the function, for errors.
        case: the kind of walk, one of the names in `plan_elementwise`.
        launch: what to launch; None if there is nothing to do.
        scalars: for each operand the dtype in which a Python scalar is taken; None for tensors.
        writes_padding: whether the launch writes the padding that it was asked to write; if not,
            that is another launch's work.

    """

    name: str
    case: str
    launch: Launch | None
    scalars: tuple[DType | None, ...]
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
    scalars = [
        i if isinstance(o, type) else None for o, i in zip(plan.operands, plan.inputs, strict=True)
    ]
    return _planned(plan.operation.name, found, tuple(scalars), tuning)


def plan_conversion(
    name: str,
    result: TensorSpec,
    source: TensorSpec | DType,
    alignments: Sequence[int],
    padding: bytes | None = None,
    tuning: Tuning = TUNING,
) -> ElementwiseLaunch:
    """The copy of a tensor into another dtype; `source` may be the dtype of a scalar instead.

    `name`: the function that asks; the rest is as in `plan_elementwise`.
    """
    spec = source if isinstance(source, TensorSpec) else None
    dtype = source.dtype if isinstance(source, TensorSpec) else source
    compute = c_type(result.dtype)
    found = _operands("positive", compute, result, [spec], [dtype], alignments, padding)
    return _planned(name, found, (None if spec else dtype,), tuning)


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


def loop_over_tiles(name: str, given: Operands) -> TiledLoop:
    """The digits of the result and of the operands; NotImplementedError for none.

    `name`: of the function, for errors.
    """
    written = written_sizes(given.result[0], given.padding)
    loop = tiled_loop(given.layouts, given.widths, given.alignments, written)
    if loop is None or (loop.bounds and not fits_a_walk(loop)):
        found = ", ".join([str(layout) for layout in given.layouts if layout is not None])
        msg = f"{name}: no kernel walks tiles like those of {found} together; use to_layout() first"
        raise NotImplementedError(msg)
    return loop


def _planned(
    name: str, given: Operands, scalars: tuple[DType | None, ...], tuning: Tuning
) -> ElementwiseLaunch:
    layout, digits = given.result[0], None
    if is_tiled(*given.layouts) and (layout.size or given.padding is not None):
        digits = loop_over_tiles(name, given)
        if digits.count and digits.bounds:
            fits = layout.is_tiled or given.padding is None
            fits = fits or (padding_regions(layout).fit_a_launch and not digits.firsts[0])
            inside = given if fits else replace(given, padding=None)
            return ElementwiseLaunch(name, "bounded", masked_tail(inside, digits), scalars, fits)
    written = given.padding is not None and not layout.is_tiled
    regions = padding_regions(layout) if written else None
    fits = regions is None or regions.fit_a_launch
    if layout.size == 0:
        empty = regions is None or not regions.regions
        nothing = (0,) * given.count
        firsts = (0,) * (1 + len(nothing))
        launch = None if empty or not fits else flat(given, 0, 1, nothing, firsts)
        return ElementwiseLaunch(name, "empty", launch, scalars, fits)
    if not fits:
        given = replace(given, padding=None)
    case, launch = _cheapest(given, loop_of(given, digits), tuning)
    return ElementwiseLaunch(name, case, launch, scalars, fits)


def _cheapest(given: Operands, loop: Loop, tuning: Tuning) -> tuple[str, Launch]:
    pack, rows = pack_of(loop, given.widest), has_rows(loop)
    if rows and len(loop.axes) == 1:
        return "flat", flat(given, loop.count, pack, loop.axes[0].strides[1:], loop.firsts)
    box = box_of(loop, given, pack, tuning)
    if box is not None:
        return "tiles", tiles(given, loop, box)
    return "rows" if rows else "strided", strided(given, loop, pack)


def prepare_elementwise(
    plan: ElementwiseLaunch, driver: Driver
) -> Callable[[int, Sequence[Any]], None]:
    """What computes: ``run(destination, operands)``.

    `destination` and the operands that are tensors are addresses of lowest slots, aligned as the
    plan was told; the others are Python scalars. OverflowError for integers that do not fit. No
    operand may overlap the destination, but exactly where that is (see `apart`).
    Asynchronous on the current stream, from any thread.
    """
    name, launch = plan.name, plan.launch
    scalars = [(n, dtype) for n, dtype in enumerate(plan.scalars) if dtype is not None]
    if launch is None:

        def check(_: int, operands: Sequence[Any]) -> None:
            for number, dtype in scalars:
                octets(name, operands[number], dtype)

        return check
    ready, grid, template = driver.launcher(launch.kernel), launch.grid, launch.parameters
    to, *froms = launch.firsts
    pack_pointers = struct.Struct("<" + "Q" * len(launch.firsts)).pack_into
    values_at = 8 * len(launch.firsts)

    # What can be done before a call is done above: there it costs nothing.
    def run(destination: int, operands: Sequence[Any]) -> None:
        parameters, addresses = bytearray(template), list(operands)
        for number, dtype in scalars:
            content = octets(name, operands[number], dtype)
            at = values_at + 16 * number
            parameters[at : at + len(content)] = content
            addresses[number] = 0
        pack_pointers(parameters, 0, destination + to, *map(add, addresses, froms))
        ready(grid, parameters)

    return run
