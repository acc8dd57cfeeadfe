"""Plans carried out by kernels: specs become launches, tensors become addresses of lowest slots."""

from __future__ import annotations

import functools
import itertools
import operator
import struct
from collections.abc import Callable
from typing import Any

from tensorlayout.cuda import (
    copy_tiled,
    copying,
    elementwise,
    fill_plan,
    filling,
    join_plan,
    joining,
)
from tensorlayout.cuda.engine.driver import driver
from tensorlayout.cuda.engine.memory import copy_bytes, new_tensors, padding_of, per_alignment
from tensorlayout.cuda.engine.scalars import octets
from tensorlayout.cuda.spread_plan import plan_spread
from tensorlayout.layout import Layout
from tensorlayout.plan.base import Run, Write
from tensorlayout.plan.copy import AssignPlan, CopyPlan, ReshapePlan
from tensorlayout.plan.elementwise import ElementwisePlan
from tensorlayout.plan.join import JoinPlan, SplitPlan
from tensorlayout.plan.pad import SpreadPlan
from tensorlayout.tensor import Tensor, TensorSpec

# Operands of a join whose alignments are told apart; of more, the least one counts for all: each
# combination would have a plan of its own.
_APART = 4

_POINTERS = struct.Struct("<2Q")

# Moves elements, from one address to another.
Move = Callable[[int, int], None]


def prepare_copy(plan: CopyPlan) -> Run:
    """A new tensor in the planned layout and dtype; padding is written in the same launch."""
    source, spec = plan.source, plan.result
    same = source.dtype == spec.dtype and source.layout is spec.layout
    padding = padding_of(spec)
    # Bytes that stay as they lie need no kernel. What the source has for padding may be another's.
    move = copy_bytes if same and padding is None else _mover("copy", source, spec, padding)
    return _into_new(spec, move)


def prepare_reshape(plan: ReshapePlan) -> Run:
    """Row-major storage filled through the old shape."""
    spec = plan.result
    old = TensorSpec(spec.dtype, Layout.row_major(plan.source.layout.shape), spec.device)
    move = _mover("reshape", plan.source, old, None)
    return _into_new(spec, move)


def _into_new(spec: TensorSpec, move: Callable[[Tensor, Tensor], object]) -> Run:
    new_tensor = new_tensors(spec)

    def run(x: Tensor) -> Tensor:
        result = new_tensor()
        move(result, x)
        return result

    return run


def write_join(plan: JoinPlan) -> Write:
    """One launch for all operands, but those of another dtype or order, or tiled: one for each."""
    spec, axis = plan.result, plan.axis
    layouts = [source.layout for source in plan.sources]
    starts = [0, *itertools.accumulate([layout.shape[axis] for layout in layouts])]
    alike = [
        k
        for k, source in enumerate(plan.sources)
        if source.dtype == spec.dtype and not source.layout.is_tiled
    ]
    others = [k for k in range(len(layouts)) if k not in alike]

    def mover(k: int) -> Callable[..., None]:
        layout = join_plan.part_of(spec.layout, axis, starts[k], layouts[k].shape[axis])
        part = TensorSpec(spec.dtype, layout, spec.device)
        shift = layout.lowest * spec.dtype.itemsize if layout.size else 0
        move = _mover("concat", plan.sources[k], part, None)
        return lambda to, x: move(to, x, shift)

    movers = functools.cache(mover)

    def make(alignments: tuple[int, ...]) -> tuple[Callable[..., None], tuple[int, ...]]:
        if len(layouts) > _APART:
            alignments = (alignments[0], *alignments[1:] * len(layouts))
        joined = [layouts[k] if k in alike else None for k in range(len(layouts))]
        given = join_plan.plan_join(
            spec.layout, joined, starts, axis, spec.dtype.itemsize, alignments
        )
        return joining.prepare_join(given, driver()), (*given.copied, *others)

    at = per_alignment(make)

    def join(result: Tensor, *operands: Tensor) -> None:
        to, given = result._memory.address, [x._memory.address for x in operands]
        with driver().using(spec.device.number):
            few = given if len(given) <= _APART else [functools.reduce(operator.or_, given)]
            run, moved = at(to, *few)
            run(to, given)
        for k in moved:
            movers(k)(result, operands[k])

    return join


def prepare_split(plan: SplitPlan) -> Write:
    """The same the other way round: one launch for all results but those of another order."""
    spec, axis, results = plan.source, plan.axis, plan.results
    layouts = [result.layout for result in results]
    starts = [0, *itertools.accumulate([layout.shape[axis] for layout in layouts])]

    def mover(k: int) -> Callable[..., None]:
        layout = join_plan.part_of(spec.layout, axis, starts[k], layouts[k].shape[axis])
        part = TensorSpec(spec.dtype, layout.at_origin, spec.device)
        shift = layout.lowest * spec.dtype.itemsize
        at = per_alignment(_copier(part, results[k], None))

        def move(to: Tensor, x: Tensor) -> None:
            there, here = to._memory.address, x._memory.address + shift
            at(there, here)(there, here)

        return move

    movers = functools.cache(mover)

    def make(alignments: tuple[int, ...]) -> tuple[Callable[..., None], tuple[int, ...]]:
        if len(layouts) > _APART:
            alignments = (alignments[0], *alignments[1:] * len(layouts))
        itemsize = spec.dtype.itemsize
        given = join_plan.plan_join(
            spec.layout, layouts, starts, axis, itemsize, alignments, splits=True
        )
        return joining.prepare_join(given, driver()), given.copied

    at = per_alignment(make)

    def split(*tensors: Tensor) -> None:
        *outs, x = tensors
        from_, given = x._memory.address, [out._memory.address for out in outs]
        with driver().using(spec.device.number):
            few = given if len(given) <= _APART else [functools.reduce(operator.or_, given)]
            run, moved = at(from_, *few)
            run(from_, given)
            for k in moved:
                movers(k)(outs[k], x)

    return split


def prepare_spread(plan: SpreadPlan) -> Run:
    """One launch: each element of the result finds whether the tensor has one for it."""
    result, source, number = plan.result, plan.source, plan.result.device.number

    def make(alignments: tuple[int, ...]) -> Move:
        itemsize = result.dtype.itemsize
        to, from_ = alignments
        launch = plan_spread(result.layout, source.layout, plan.window, itemsize, (to, from_))
        ready, (there, here) = driver().launcher(launch.kernel), launch.firsts

        def move(to: int, from_: int) -> None:
            parameters = bytearray(launch.parameters)
            _POINTERS.pack_into(parameters, 0, to + there, from_ + here)
            ready(launch.grid, parameters)

        return move

    at = per_alignment(make)

    def spread(to: Tensor, x: Tensor) -> Tensor:
        addresses = to._memory.address, x._memory.address
        with driver().using(number):
            at(*addresses)(*addresses)
        return to

    return spread


def prepare_assign(plan: AssignPlan) -> Run:
    """A write into a tensor of a value that lies apart, or exactly there; padding is left alone."""
    if isinstance(plan.source, type):
        return _assign_scalar(plan)
    destination, source = plan.result, plan.source
    layout = source.layout.broadcast_to(destination.layout.shape)
    read = TensorSpec(source.dtype, layout, source.device)
    move = _mover(plan.name, read, destination, None)

    def assign(x: Tensor, value: Tensor) -> Tensor:
        move(x, value)
        return x

    return assign


def _assign_scalar(plan: AssignPlan) -> Run:
    """A kernel writes the number to every element."""
    spec = plan.result

    def make(alignments: tuple[int, ...]) -> Callable[[int, bytes], None]:
        fill = fill_plan.plan_fill(spec.layout, spec.dtype.itemsize, alignments[0])
        return filling.prepare_fill(fill, driver())

    at = per_alignment(make)

    def assign(x: Tensor, value: Any) -> Tensor:
        content = octets(plan.name, value, spec.dtype)
        with driver().using(spec.device.number):
            at(x._memory.address)(x._memory.address, content)
        return x

    return assign


def write_elementwise(plan: ElementwisePlan) -> Write:
    """One launch; operands lie apart from the destination, or exactly there."""
    spec, padding = plan.result, None if plan.given else padding_of(plan.result)
    scalars = any(isinstance(o, type) for o in plan.operands)

    def make(alignments: tuple[int, ...]) -> Callable[[int, list[Any]], None]:
        launch = elementwise.plan_elementwise(plan, alignments, padding)
        return _computing(launch, spec, alignments[0], padding)

    at, number = per_alignment(make), spec.device.number

    def launch(result: Tensor, *operands: Any) -> None:
        to = result._memory.address
        given = [x._memory.address if type(x) is Tensor else x for x in operands]
        addresses = given
        if scalars:  # they are no addresses, and as well aligned as can be
            addresses = [x._memory.address if type(x) is Tensor else 0 for x in operands]
        with driver().using(number):
            at(to, *addresses)(to, given)

    return launch


def _mover(
    name: str, source: TensorSpec, result: TensorSpec, padding: bytes | None
) -> Callable[..., None]:
    """``move(to, from, shift=0)``: the elements of a tensor into another, `shift` **bytes** on."""
    between = copy_tiled.between(source, result, padding)
    if between is not None:
        return _two_moves(name, source, between, result, padding)
    if source.dtype == result.dtype:
        make = _copier(source, result, padding)
    else:
        make = _converter(name, source, result, padding)
    at, number = per_alignment(make), result.device.number

    def move(to: Tensor, x: Tensor, shift: int = 0) -> None:
        there, here = to._memory.address + shift, x._memory.address
        with driver().using(number):
            at(there, here)(there, here)

    return move


def _two_moves(
    name: str, source: TensorSpec, between: TensorSpec, result: TensorSpec, padding: bytes | None
) -> Callable[..., None]:
    first, new_tensor = _mover(name, source, between, None), new_tensors(between)
    second = _mover(name, between, result, padding)

    def move(to: Tensor, x: Tensor, shift: int = 0) -> None:
        apart = new_tensor()
        first(apart, x)
        second(to, apart, shift)

    return move


def _copier(source: TensorSpec, result: TensorSpec, padding: bytes | None) -> Callable[..., Move]:
    def make(alignments: tuple[int, ...]) -> Move:
        to, here = alignments
        itemsize = result.dtype.itemsize
        plan = copy_tiled.plan_copy(result.layout, source.layout, itemsize, (to, here), padding)
        assert plan is not None, "tiles that do not divide each other take two moves"
        return copying.prepare_copy(plan, driver())

    return make


def _converter(
    name: str, source: TensorSpec, result: TensorSpec, padding: bytes | None
) -> Callable[..., Move]:
    def make(alignments: tuple[int, ...]) -> Move:
        launch = elementwise.plan_conversion(name, result, source, alignments, padding)
        run = _computing(launch, result, alignments[0], padding)
        return lambda to, here: run(to, [here])

    return make


def _computing(
    launch: elementwise.ElementwiseLaunch, spec: TensorSpec, alignment: int, padding: bytes | None
) -> Callable[[int, list[Any]], None]:
    """The launch, and behind it one of the padding where that is too much for the same."""
    run = elementwise.prepare_elementwise(launch, driver())
    if padding is None or launch.writes_padding:
        return run
    plan = fill_plan.plan_padding(spec.layout, spec.dtype.itemsize, alignment, padding)
    pad = filling.prepare_fill(plan, driver())

    def compute(to: int, operands: list[Any]) -> None:
        run(to, operands)
        pad(to, b"")

    return compute
