"""Fused functions on the CPU: all steps on one block after the other, which the cache holds.

Steps work in a block of the result, and in a few buffers of its size. Small results are worked out
step by step: there is no memory traffic to save.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from tensorlayout.cpu.copy.choose import Tuning, choose_copy, view_of
from tensorlayout.cpu.elementwise.functions import has_one_result
from tensorlayout.cpu.elementwise.writing import BlockCall, alone, block_call
from tensorlayout.cpu.engine.casting import WHOLE, converter, is_half, scalar_in
from tensorlayout.cpu.engine.memory import (
    ALIGNMENT,
    Array,
    home_of,
    new_tensors,
    padding_filler,
    quiet,
    run_of,
    taken_from,
    unbuffered,
)
from tensorlayout.cpu.engine.sharing import pieces_of_several
from tensorlayout.cpu.engine.threads import possible_threads, share
from tensorlayout.dtypes import DType
from tensorlayout.layout import Axis, Layout, merged
from tensorlayout.plan import CopyPlan, ElementwisePlan, Run, Write
from tensorlayout.plan.fuse import FusePlan, Step, step_by_step, write_call_by_call
from tensorlayout.plan.programs import getter, schedule
from tensorlayout.plan.run import allocating, carried_out
from tensorlayout.tensor import Tensor, TensorSpec

# Blocks pay from so many bytes on that steps one by one would write and read again. In one thread,
# time in blocks over that, 1, 2, 4 and 8 MB of float32: two steps 1.26, 1.28, 1.11, 0.91; three
# 1.09, 0.95, 0.95, 0.79.
LEAST = 1 << 22
THREADS = 1 << 20  # bytes of a result from which on threads share the blocks

# Bytes of a block of the result. Steps much shorter than 100 µs have threads hand the interpreter
# lock to and fro: four steps on 16 MB of float32 in blocks of 256 KB, 512 KB, 1 MB and 2 MB take
# 2.5, 1.0, 1.1 and 1.0 ms in two threads.
BLOCK = 1 << 19

_MOST = 1 << 12  # blocks, of whatever is too large for any memory

_ALONE = Tuning(threads=1)  # copies of blocks

# Of operands in another order, so many lines are read side by side.
_LINES = 128

# Shorter runs are made longer, where that is cheap: NumPy takes 10 ns for each.
_RUN = 128


def direct(plan: FusePlan) -> Run | None:
    """What works a small result out step by step, or reduces; None for the rest."""
    if plan.has_tiles and not plan.is_one_run:
        return None
    if plan.reduction is not None:
        steps = replace(plan, reduction=None, result=plan.steps[-1].result)
        values = direct(steps) or allocating(new_tensors(steps.result), write(steps))
        reduce = carried_out(plan.reduction)
        return lambda *operands: reduce(values(*operands))
    if _in_blocks(plan):
        return None
    # Whether a step gives the same bits where its result is to take an operand's place.
    may_overlap = lambda step: _is_sure(step) and block_call(step).exact  # noqa: E731
    return _at_once(plan) or step_by_step(plan, may_overlap)


def _at_once(plan: FusePlan) -> Run | None:
    """Memory from one ufunc to the next, where they alone do it: no tensors between."""
    steps: list[Any] = [isinstance(s, ElementwisePlan) and alone(s) for s in plan.steps]
    if len(steps) < 2 or not all(steps):
        return None
    count = len(plan.operands)
    takes, places, room = schedule(plan.sources, count)
    rows, empty = list(zip(steps, takes, places, strict=True)), [None] * (room - count)
    spec, copy, new, one_by_one = plan.result, quiet.copy, object.__new__, step_by_step(plan)
    integers = [i for i, operand in enumerate(plan.operands) if operand is int]

    def run(*operands: Any) -> Tensor:
        values = [x.memory if type(x) is Tensor else x for x in operands]
        values += empty
        try:
            for i in integers:
                if not -WHOLE <= values[i] <= WHOLE:
                    return one_by_one(*operands)
            memory = copy().run(compute, values)
        except OverflowError:  # says which step
            return one_by_one(*operands)
        result = new(Tensor)
        result.memory, result.spec, result.home = memory, spec, None
        return result

    def compute(values: list[Any]) -> Any:
        for function, take, place in rows:
            values[place] = function(*take(values))
        return values[places[-1]]

    return run


def write(plan: FusePlan) -> Write:
    """``write(out, *operands)``: these lie apart from `out`, or exactly there."""
    if plan.has_tiles and not plan.is_one_run:
        return write_call_by_call(plan)
    if _in_blocks(plan):
        return _blockwise(plan)
    return step_by_step(plan if plan.destinations else plan.into(plan.result))


def _in_blocks(plan: FusePlan) -> bool:
    """Return whether the steps work on blocks, and give there what they give by themselves."""
    shape = plan.result.layout.shape
    full = [step for step in plan.steps if step.result.layout.shape == shape]
    kept = sum([step.result.layout.size * step.result.dtype.itemsize for step in full[:-1]])
    return (
        len(full) > 1 < plan.result.layout.size
        and kept >= LEAST
        and all(_is_steady(step, plan.result.layout) for step in full)
    )


def _is_steady(step: Step, result: Layout) -> bool:
    """Whether a step gives the same bits wherever its operands are, in blocks of `result`."""
    if _is_sure(step):
        return True
    assert isinstance(step, ElementwisePlan), "copies are sure"
    layouts = [o.layout for o in step.operands if isinstance(o, TensorSpec) and o.layout.size > 1]
    if any(s < 0 for layout in layouts if not layout.is_tiled for s in layout.strides):
        return False
    return not any(d.kind == "c" or is_half(d) for d in step.inputs) or all(
        layout.is_packed if layout.shape != result.shape else _is_in_order(layout, result)
        for layout in (*layouts, step.result.layout)
    )


def _is_sure(step: Step) -> bool:
    """Return whether a step has one right result, which all of NumPy's loops give."""
    return isinstance(step, CopyPlan) or has_one_result(step.operation.function, step.inputs)


def _is_in_order(layout: Layout, result: Layout) -> bool:
    """Return whether elements of `layout` stand side by side, in the order of `result`."""
    order = layout.minor_to_major
    if layout.is_tiled or order != result.minor_to_major:
        return layout.is_tiled
    fastest = next((d for d in order if layout.shape[d] > 1), None)
    return fastest is None or layout.strides[fastest] == 1


# --- the loop over blocks ----------------------------------------------------------------------

Box = tuple[slice, ...]


class _Operand(NamedTuple):
    """A tensor that is read block by block, or the result, which is the last of all values."""

    value: int
    dtype: DType
    strides: tuple[int, ...]  # along the axes of the loop
    view: Callable[[Array], Array]  # gives its memory these axes


class _Loop(NamedTuple):
    """All operands, and the boxes that they are cut into, along axes with the slowest first."""

    operands: list[_Operand]  # what moves, and last the result
    boxes: list[tuple[tuple[int, ...], Box]]  # with their shapes; the first is one of the largest
    away: list[int]  # operands in another order than the result
    widened: list[int]  # operands that are the same in each box, in runs that are made long once
    in_runs: bool  # whether all others are walked in long runs


def _loop(plan: FusePlan, moving: Sequence[tuple[int, TensorSpec]], width: int) -> _Loop:
    """The loop for values `moving` by their numbers; `width`: **bytes** of the widest value."""
    layout = plan.result.layout
    see: Callable[[Array], Array] = lambda array: array  # noqa: E731
    away: list[int] = []
    if layout.is_tiled:
        axes = [Axis(layout.required_size, (1,) * (len(moving) + 1))]
    else:
        layouts = [*[s.layout.broadcast_to(layout.shape) for _, s in moving], layout]
        order = tuple(reversed(layout.minor_to_major))
        rows = list(zip(*[each.strides for each in layouts], strict=True))
        axes = merged([Axis(layout.shape[d], rows[d]) for d in order])
        see = view_of(layout.shape, [False], order, tuple([axis.size for axis in axes]))
        for i, (_, s) in enumerate(moving):
            steps = layout.strides, layouts[i].strides
            if choose_copy(layout.shape, *steps, s.dtype.itemsize).case == "tiles":
                away.append(i)

    def widely(array: Array) -> Array:
        return see(np.broadcast_to(array, layout.shape))

    sizes = tuple([axis.size for axis in axes])
    columns = list(zip(*[axis.strides for axis in axes], strict=True))
    operands = [
        _Operand(v, s.dtype, strides, see if s.layout.shape == layout.shape else widely)
        for (v, s), strides in zip([*moving, (-1, plan.result)], columns, strict=True)
    ]
    room = max(1, BLOCK // width, layout.size // _MOST)
    extents = _extents(sizes, [columns[i] for i in away], room)
    boxes = [
        (tuple([cut.stop - cut.start for cut in box]), box)
        for box in product(*map(pieces_of_several, sizes, extents))
    ]
    extents = boxes[0][0]
    short = [i for i, s in enumerate(columns) if i not in away and _is_short(s, extents)]
    widened = [
        i
        for i in short
        if i < len(moving)
        and all(not step or n == m for step, n, m in zip(columns[i], extents, sizes, strict=True))
    ]
    return _Loop(operands, boxes, away, widened, len(widened) == len(short))


def _extents(sizes: tuple[int, ...], away: list[tuple[int, ...]], room: int) -> tuple[int, ...]:
    """The sizes of a box of about `room` elements: long along the fastest axes of the result.

    If operands are `away`, four times as large, and some lines of theirs wide. 2048 x 2048 float32,
    ``(x + y.T) * 2 - x``: boxes of 256 x 256 11.9 ms, 256 x 1024 9.1, 128 x 2048 6.6.
    """
    extents = [1] * len(sizes)
    for strides in away:
        fastest = min([k for k, s in enumerate(strides) if s], key=lambda k: abs(strides[k]))
        extents[fastest] = min(sizes[fastest], _LINES)
    room = max(4 * room if away else room, prod(extents))
    for k in reversed(range(len(sizes))):
        extents[k] = max(extents[k], min(sizes[k], extents[k] * room // prod(extents)))
        if extents[k] < sizes[k]:
            break
    return tuple(extents)


def _is_dense(strides: Sequence[int], extents: Sequence[int]) -> bool:
    """Return whether a box of an array is one run."""
    step = 1
    for n, stride in zip(reversed(extents), reversed(strides), strict=True):
        if n > 1 and stride != step:
            return False
        step *= n
    return True


def _is_short(strides: Sequence[int], extents: Sequence[int]) -> bool:
    """Return whether NumPy would walk a box of an array in many short runs."""
    if _is_dense(strides, extents):
        return False
    long = [(n, s) for n, s in zip(extents, strides, strict=True) if n > 1]
    run, step = 1, None
    for n, stride in reversed(long):
        if step is not None and stride != step:
            break
        run, step = run * n, stride * n
    return run < _RUN and run < prod(extents)


_OUT = -1  # the buffer that is the block of the result


class _Action(NamedTuple):
    """A step on a block: the values that it reads by their numbers, the buffer that it writes."""

    call: BlockCall
    step: Step
    reads: tuple[int, ...]
    value: int
    buffer: int


def _converting(plan: CopyPlan) -> BlockCall:
    convert = converter(plan.source.dtype, plan.result.dtype, plan.saturate) or np.copyto

    def call(source: Array, out: Array) -> None:
        convert(out, source)

    return BlockCall(call, call, None, False)


def _actions(plan: FusePlan, full: list[int], inside: bool, directly: bool) -> list[_Action]:
    """The steps `full` by their numbers, each with a buffer.

    `inside`: whether intermediate values may stand in the block of the result; `directly`: whether
    the last step may write there, whatever operands it reads.
    """
    count = len(plan.operands)
    same: dict[int, int] = {}  # copies that change nothing are what they copy
    todo: list[tuple[int, Step, tuple[int, ...]]] = []
    for k in full:
        step, reads = plan.steps[k], tuple([same.get(v, v) for v in plan.sources[k]])
        if isinstance(step, CopyPlan) and step.source.dtype == step.result.dtype and k != full[-1]:
            same[count + k] = reads[0]
        else:
            todo.append((count + k, step, reads))
    last_use = {v: i for i, (_, _, reads) in enumerate(todo) for v in reads}
    held: dict[int, tuple[int, DType]] = {}  # the buffers of values that are still needed
    free, made = [_OUT] if inside else [], 0
    actions = []
    for i, (value, step, reads) in enumerate(todo):
        call = _converting(step) if isinstance(step, CopyPlan) else block_call(step)
        dtype = step.result.dtype
        dying = [held.pop(v) for v in dict.fromkeys(reads) if v in held and last_use[v] == i]
        overlaps = _OUT in [b for b, _ in dying]
        if directly and i == len(todo) - 1 and (call.exact or not overlaps):
            buffer = _OUT
        else:
            fits = [b for b, d in dying if call.exact and d.itemsize == dtype.itemsize] + free
            fits = [b for b in fits if b != _OUT or dtype == plan.result.dtype]
            buffer = fits[0] if fits else made
            made += not fits
        actions.append(_Action(call, step, reads, value, buffer))
        free = [b for b in (*free, *[b for b, _ in dying]) if b != buffer]
        held[value] = buffer, dtype
    return actions


class _Program:
    """Functions that are done with each block, and the *slots* of what they read and write.

    First come the blocks of what moves, then that of the result, buffers, each in a dtype that it
    is seen in, and what is the same in all blocks.
    """

    def __init__(self, plan: FusePlan, actions: list[_Action], loop: _Loop) -> None:
        slots = {operand.value: slot for slot, operand in enumerate(loop.operands)}
        out = slots[-1]
        keys = [(a.buffer, a.step.result.dtype) for a in actions if a.buffer != _OUT]
        self.buffers = list(dict.fromkeys(keys))
        places = {key: out + 1 + i for i, key in enumerate(self.buffers)}
        first = out + 1 + len(self.buffers)
        self.standing: list[Callable[[Sequence[Any]], Array]] = []
        self._steps: list[tuple[BlockCall, int, Any, int]] = []
        for action in actions:
            step, found = action.step, []
            inputs = (step.source.dtype,) if isinstance(step, CopyPlan) else step.inputs
            for v, dtype in zip(action.reads, inputs, strict=True):
                if v not in slots:
                    self.standing.append(_standing(plan, step, v, dtype))
                found.append(slots.get(v, first + len(self.standing) - 1))
            place = places.get((action.buffer, step.result.dtype), out)
            slots[action.value] = place
            self._steps.append((action.call, action.reads[-1], getter(tuple(found)), place))
        if place != out:
            copied = lambda source, out: np.copyto(out, source)  # noqa: E731
            self._steps.append((BlockCall(copied, copied, None, False), 0, getter((place,)), out))

    def of(self, values: Sequence[Any]) -> list[tuple[Callable[..., object], Any, int]]:
        """Each function for the values of a call, what takes its arrays, and where it writes."""
        return [
            (call.common if call.usual is None or call.usual(values[last]) else call.rare, *rest)
            for call, last, *rest in self._steps
        ]


def _standing(
    plan: FusePlan, step: Step, value: int, dtype: DType
) -> Callable[[Sequence[Any]], Array]:
    """From all values of a call, a number in `dtype`, or the memory of a tensor of rank 0."""
    if value < len(plan.operands) and isinstance(plan.operands[value], type):
        assert isinstance(step, ElementwisePlan), "conversions are of tensors"
        name = step.operation.name
        return lambda values: scalar_in(name, dtype, values[value])
    return lambda values: values[value].memory


def _blockwise(plan: FusePlan) -> Write:
    """``write(out, *operands)``, block by block."""
    count, spec = len(plan.operands), plan.result
    layout, tiled = spec.layout, spec.layout.is_tiled
    full = [k for k, s in enumerate(plan.steps) if s.result.layout.shape == layout.shape]
    early = [
        (carried_out(step), getter(plan.sources[k]), count + k)
        for k, step in enumerate(plan.steps)
        if k not in full
    ]
    specs: list[Any] = plan.values
    written = {count + k for k in full}
    moving = [
        (v, specs[v])
        for v in dict.fromkeys([v for k in full for v in plan.sources[k]])
        if v not in written and isinstance(specs[v], TensorSpec) and specs[v].layout.shape
    ]
    found = [*[plan.steps[k].result for k in full], *[each for _, each in moving]]
    width = max([each.dtype.itemsize for each in found])
    loop = _loop(plan, moving, width)
    strides = loop.operands[-1].strides
    forwards = loop.in_runs and strides[-1] == 1 and min(strides) >= 0
    last = plan.steps[full[-1]]
    reads_operands = any(v not in written for v in plan.sources[full[-1]])
    exact = isinstance(last, ElementwisePlan) and block_call(last).exact
    apart = not (plan.destinations and reads_operands)
    directly = (exact or apart) and (forwards or _is_sure(last))
    inside = not plan.destinations and _is_dense(strides, loop.boxes[0][0])
    walk = _Walk(loop, _Program(plan, _actions(plan, full, inside, directly), loop), width)
    threads = possible_threads() if layout.size * width >= THREADS else 1
    fill = padding_filler(spec) if tiled else None
    memory: Callable[[Tensor], Array] = run_of if tiled else attrgetter("memory")

    def write(out: Tensor, *operands: Any) -> None:
        values = [*operands, *[None] * len(plan.steps), out]
        for run, of, value in early:
            values[value] = run(*of(values))
        arrays = [op.view(memory(values[op.value])) for op in loop.operands]
        work = walk.context.copy().run(walk.of, arrays, values)
        share(work, loop.boxes, threads)
        if fill is not None:
            fill(*home_of(out))

    return write


# Memory fresh from the system costs its page faults.
_buffers: list[Array] = []


class _Walk:
    """Boxes one after the other, each taken through all steps."""

    def __init__(self, loop: _Loop, program: _Program, width: int) -> None:
        self.loop, self.program = loop, program
        self.context: Any = unbuffered if loop.in_runs else quiet
        room = prod(loop.boxes[0][0])
        self.parts: dict[int, slice] = {}  # of the memory that one thread needs
        self.octets = 0
        away = [(-2 - i, loop.operands[i].dtype.itemsize) for i in loop.away]
        for key, itemsize in dict([*[(b, width) for b, _ in program.buffers], *away]).items():
            end = self.octets + room * itemsize
            self.parts[key] = slice(self.octets, end)
            self.octets = -(-end // ALIGNMENT) * ALIGNMENT
        self.copiers = {}  # for each operand in another order, what brings a box of it in order
        for shape in {shape for shape, _ in loop.boxes}:
            steps, found = Layout.row_major(shape).strides, [loop.operands[i] for i in loop.away]
            self.copiers[shape] = [
                choose_copy(shape, steps, o.strides, o.dtype.itemsize, _ALONE).run for o in found
            ]

    def of(
        self, arrays: list[Array], values: Sequence[Any]
    ) -> Callable[[Iterator[tuple[tuple[int, ...], Box]]], None]:
        """``work(boxes)`` for the arrays of one call, that of the result last."""
        (largest, first), *_ = self.loop.boxes
        wide = {}
        for i in self.loop.widened:
            wide[i] = np.empty(largest, arrays[i].dtype)
            wide[i][...] = arrays[i][first]
        standing = [get(values) for get in self.program.standing]
        program, away = self.program.of(values), self.loop.away

        def work(boxes: Iterator[tuple[tuple[int, ...], Box]]) -> None:
            memory = taken_from(_buffers, self.octets)
            try:
                work_in({key: memory[part] for key, part in self.parts.items()}, boxes)
            finally:
                _buffers.append(memory)

        def work_in(raw: dict[int, Array], boxes: Iterator[tuple[tuple[int, ...], Box]]) -> None:
            shape: Any = None
            for box_shape, box in boxes:
                if box_shape != shape:
                    shape, start = box_shape, tuple([slice(0, n) for n in box_shape])
                    ready = {i: array[start] for i, array in wide.items()}
                    seen = [np.ndarray(shape, arrays[i].dtype, raw[-2 - i]) for i in away]
                    moves = list(zip(away, seen, self.copiers[shape], strict=True))
                    ready |= dict(zip(away, seen, strict=True))
                    buffers = [np.ndarray(shape, d, raw[b]) for b, d in self.program.buffers]
                    tail = [*buffers, *standing]
                for i, seen_as, move in moves:
                    move(seen_as, arrays[i][box])
                slots = [ready[i] if i in ready else a[box] for i, a in enumerate(arrays)]
                slots += tail
                for function, of, to in program:
                    function(*of(slots), out=slots[to])

        return lambda boxes: self.context.copy().run(work, boxes)
