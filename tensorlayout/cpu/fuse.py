"""Fused functions on the CPU: all steps on one block after the other, which the cache holds.

Steps work in a block of the result, and in a few buffers of its size. Small results are worked out
step by step: there is no memory traffic to save.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import prod
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
from tensorlayout.plan import (
    AssignPlan,
    CopyPlan,
    ElementwisePlan,
    Plan,
    Program,
    Run,
    Step,
    Write,
    carried_out,
    compiled,
    getter,
    schedule,
)
from tensorlayout.plan.fuse import FusePlan, write_call_by_call
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
        values, reduce = carried_out(plan.unreduced), carried_out(plan.reduction)
        return lambda *operands: reduce(values(*operands))
    return None if _in_blocks(plan) else _at_once(plan) or _step_by_step(plan)


def _at_once(plan: FusePlan) -> Run | None:
    """Memory from one ufunc to the next, where they alone do it: no tensors between."""
    plans: list[Any] = [step.plan for step in plan.steps]
    steps: list[Any] = [isinstance(step, ElementwisePlan) and alone(step) for step in plans]
    if len(steps) < 2 or not all(steps):
        return None
    count = len(plan.operands)
    takes, places, room = schedule([step.reads for step in plan.steps], count)
    rows, empty = list(zip(steps, takes, places, strict=True)), [None] * (room - count)
    spec, copy, new, one_by_one = plan.result, quiet.copy, object.__new__, _step_by_step(plan)
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
        return _Blocks(plan).write
    return _step_by_step(plan)


def _step_by_step(plan: FusePlan) -> Run:
    """Return what gives each step a result of its own; a destination, if there is one, comes first.

    A step writes over what no later step reads, if that gives the same bits.
    """
    count, first, values = len(plan.operands), plan.destinations, plan.values
    found = Program(first + count)
    last_use = {v: i for i, (_, reads, *_) in enumerate(plan.steps) for v in reads}
    for i, (step, reads, *_) in enumerate(plan.steps):
        dying = [v for v in reads if v >= count and last_use[v] == i and values[v] is step.result]
        if dying and not first and _writes_over(step):
            step, reads = step.into(step.result), (dying[0], *reads)
        found.add(step, [v + first for v in reads])
    if first:  # what reads an operand may write before it has read, and elsewhere round otherwise
        (last, reads, *_), result = found.steps[-1], plan.result
        elementwise = isinstance(last, ElementwisePlan) and min(reads) >= found.count
        if elementwise and last.result.layout.same_placement(result.layout):
            found.steps[-1] = Step(last.into(result), (0, *reads))
        else:
            found.add(AssignPlan(plan.operation.name, last.result, result), (0, found.result))
    return compiled(found)


def _writes_over(step: Plan) -> bool:
    """Return whether a step gives the same bits where its result takes the place of an operand."""
    return isinstance(step, ElementwisePlan) and _is_sure(step) and block_call(step).exact


def _in_blocks(plan: FusePlan) -> bool:
    """Return whether the steps work on blocks, and give there what they give by themselves."""
    shape = plan.result.layout.shape
    steps = [step.plan for step in plan.steps]
    full = [step for step in steps if step.result.layout.shape == shape]
    kept = sum([step.result.layout.size * step.result.dtype.itemsize for step in full[:-1]])
    return (
        len(full) > 1 < plan.result.layout.size
        and kept >= LEAST
        and all(_is_steady(step, plan.result.layout) for step in full)
    )


def _is_steady(step: Plan, result: Layout) -> bool:
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


def _is_sure(step: Any) -> bool:
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


def _shape(box: Box) -> tuple[int, ...]:
    return tuple([cut.stop - cut.start for cut in box])


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


def _is_short(strides: Sequence[int], extents: Sequence[int]) -> bool:
    """Return whether NumPy would walk a box of an array in many short runs."""
    axes = merged([Axis(n, (stride,)) for n, stride in zip(extents, strides, strict=True)])
    return len(axes) > 1 and axes[-1].size < _RUN


class _Buffer(NamedTuple):
    """A slot: memory of a block's size, as it is seen in a dtype."""

    number: int
    dtype: DType


class _Standing(NamedTuple):
    """A slot that is the same in all boxes: a tensor of rank 0, or a number as a step takes it."""

    value: int
    dtype: DType | None = None
    name: str = ""  # of the step, for errors

    def of(self, values: Sequence[Any]) -> Array:
        """The memory, from all values of a call."""
        value = values[self.value]
        if self.dtype is None:
            return value.memory
        return scalar_in(self.name, self.dtype, value)


# Memory fresh from the system costs its page faults.
_buffers: list[Array] = []


class _Blocks:
    """The boxes of a result one after the other, each taken through all steps.

    Steps read and write *slots*: first come the boxes of what moves, the result last of these; then
    those that steps need besides.
    """

    def __init__(self, plan: FusePlan) -> None:
        spec, self.values = plan.result, plan.values
        shape, steps = spec.layout.shape, dict(enumerate(plan.steps, len(plan.operands)))
        full = {v: step for v, step in steps.items() if self.values[v].layout.shape == shape}
        rest = [(v, step) for v, step in steps.items() if v not in full]
        self.early = [(carried_out(step.plan), getter(step.reads), v) for v, step in rest]
        read = dict.fromkeys([v for step in full.values() for v in step.reads if v not in full])
        tensors = [v for v in read if isinstance(self.values[v], TensorSpec)]
        self.moving = [v for v in tensors if self.values[v].layout.shape]
        width = max([self.values[v].dtype.itemsize for v in (*full, *self.moving)])
        self.threads = possible_threads() if spec.layout.size * width >= THREADS else 1
        self.fill = padding_filler(spec) if spec.layout.is_tiled else None
        self._cut(spec.layout, width)
        self.slots = {value: slot for slot, value in enumerate(self.moving)}
        self.more: list[_Buffer | _Standing] = []
        self.calls: list[tuple[BlockCall, int, Any, int]] = []
        # Bytes of a buffer, and their number: the first hold boxes of what is in another order.
        self.octets = -(-prod(_shape(self.boxes[0])) * width // ALIGNMENT) * ALIGNMENT
        self.buffers = len(self.away)
        self._add(plan, full)

    def _cut(self, layout: Layout, width: int) -> None:
        """Cut the result into boxes, along axes with the slowest first, with all that moves.

        `width`: **bytes** of the widest value.
        """
        self.array: Callable[[Tensor], Array] = run_of  # gives the memory of a tensor these axes
        self.away: list[int] = []  # what is in another order than the result
        if layout.is_tiled:
            axes = [Axis(layout.required_size, (1,) * (len(self.moving) + 1))]
        else:
            specs = [self.values[v] for v in self.moving]
            layouts = [*[s.layout.broadcast_to(layout.shape) for s in specs], layout]
            order = tuple(reversed(layout.minor_to_major))
            rows = list(zip(*[each.strides for each in layouts], strict=True))
            axes = merged([Axis(layout.shape[d], rows[d]) for d in order])
            see = view_of(layout.shape, [False], order, tuple([axis.size for axis in axes]))

            def array(x: Tensor) -> Array:
                same = x.memory.shape == layout.shape
                return see(x.memory if same else np.broadcast_to(x.memory, layout.shape))

            self.array = array
            for i, s in enumerate(specs):
                steps = layout.strides, layouts[i].strides
                if choose_copy(layout.shape, *steps, s.dtype.itemsize).case == "tiles":
                    self.away.append(i)
        sizes = tuple([axis.size for axis in axes])
        self.strides = list(zip(*[axis.strides for axis in axes], strict=True))
        room = max(1, BLOCK // width, layout.size // _MOST)
        extents = _extents(sizes, [self.strides[i] for i in self.away], room)
        self.boxes = list(product(*map(pieces_of_several, sizes, extents)))  # the largest first
        extents = _shape(self.boxes[0])
        split = [k for k, size in enumerate(sizes) if extents[k] != size]
        long = [i in self.away or not _is_short(s, extents) for i, s in enumerate(self.strides)]
        # What is the same in each box, in short runs, is made long once.
        same = [not any(strides[k] for k in split) for strides in self.strides[:-1]]
        self.widened = [i for i, each in enumerate(same) if each and not long[i]]
        self.in_runs = len(self.widened) == long.count(False)
        row_major = {shape: Layout.row_major(shape).strides for shape in map(_shape, self.boxes)}
        away = [(self.strides[i], self.values[self.moving[i]].dtype.itemsize) for i in self.away]
        self.copiers = {  # what brings boxes of a shape in order
            shape: [choose_copy(shape, strides, *each, _ALONE).run for each in away]
            for shape, strides in row_major.items()
        }

    def _add(self, plan: FusePlan, full: dict[int, Step]) -> None:
        """Add these steps, by the numbers of their values, each with a buffer."""
        out = place = len(self.moving)
        strides = self.strides[-1]
        forwards = self.in_runs and strides[-1] == 1 and min(strides) >= 0
        last_use = {v: i for i, (_, reads, *_) in enumerate(full.values()) for v in reads}
        held: dict[int, _Buffer] = {}  # those of values that are still needed
        free: list[int] = []
        for i, (value, (step, reads, *_)) in enumerate(full.items()):
            call = block_call(step) if isinstance(step, ElementwisePlan) else _conversion(step)
            take = getter(tuple([self._read(plan, step, n, v) for n, v in enumerate(reads)]))
            apart = call.exact or not plan.destinations or all(v in full for v in reads)
            if i == len(full) - 1 and apart and (forwards or _is_sure(step)):
                place = out
            else:
                dying = [held.pop(v) for v in {*reads} if v in held and last_use[v] == i]
                dtype = step.result.dtype
                fits = [b for b, d in dying if call.exact and d.itemsize == dtype.itemsize] + free
                buffer = fits[0] if fits else self.buffers
                self.buffers += not fits
                free = [b for b in (*free, *[b for b, _ in dying]) if b != buffer]
                held[value] = _Buffer(buffer, dtype)
                place = self._slot(held[value])
            self.slots[value] = place
            self.calls.append((call, reads[-1], take, place))
        if place != out:
            self.calls.append((_copying(np.copyto), 0, getter((place,)), out))

    def _read(self, plan: FusePlan, step: Any, n: int, value: int) -> int:
        """The slot of operand `n` of a step, which is this value."""
        if value in self.slots:
            return self.slots[value]
        if isinstance(plan.values[value], type):
            return self._slot(_Standing(value, step.inputs[n], step.operation.name))
        return self._slot(_Standing(value))

    def _slot(self, what: _Buffer | _Standing) -> int:
        if what not in self.more:
            self.more.append(what)
        return len(self.moving) + 1 + self.more.index(what)

    def write(self, out: Tensor, *operands: Any) -> None:
        """Write into `out` what comes of the operands."""
        values = [*operands, *[None] * (len(self.values) - len(operands)), out]
        for run, take, value in self.early:
            values[value] = run(*take(values))
        arrays = [self.array(values[value]) for value in (*self.moving, -1)]
        context: Any = unbuffered if self.in_runs else quiet
        work = context.copy().run(self._worker, arrays, values)
        share(lambda boxes: context.copy().run(work, boxes), self.boxes, self.threads)
        if self.fill is not None:
            self.fill(*home_of(out))

    def _worker(
        self, arrays: list[Array], values: Sequence[Any]
    ) -> Callable[[Iterator[Box]], None]:
        """``work(boxes)`` for the arrays of one call, that of the result last."""
        wide = {}
        for i in self.widened:
            wide[i] = np.empty(_shape(self.boxes[0]), arrays[i].dtype)
            wide[i][...] = arrays[i][self.boxes[0]]
        more = [x.of(values) if isinstance(x, _Standing) else x for x in self.more]
        calls = [
            (call.common if call.usual is None or call.usual(values[last]) else call.rare, *rest)
            for call, last, *rest in self.calls
        ]

        def work(boxes: Iterator[Box]) -> None:
            memory = taken_from(_buffers, self.octets * self.buffers)
            try:
                work_in(memory, boxes)
            finally:
                _buffers.append(memory)

        def work_in(memory: Array, boxes: Iterator[Box]) -> None:
            def block(number: int, dtype: DType) -> Array:
                return np.ndarray(shape, dtype, memory, number * self.octets)

            shape: Any = None
            for box in boxes:
                extents = _shape(box)
                if extents != shape:
                    shape = extents
                    start = tuple([slice(0, n) for n in shape])
                    ready = {i: array[start] for i, array in wide.items()}
                    ready |= {i: block(n, arrays[i].dtype) for n, i in enumerate(self.away)}
                    tail = [block(*x) if isinstance(x, _Buffer) else x for x in more]
                for i, move in zip(self.away, self.copiers[shape], strict=True):
                    move(ready[i], arrays[i][box])
                slots = [ready[i] if i in ready else a[box] for i, a in enumerate(arrays)]
                slots += tail
                for function, take, to in calls:
                    function(*take(slots), out=slots[to])

        return work


def _copying(copy: Callable[[Array, Array], object]) -> BlockCall:
    """The function of a block that copies it."""

    def call(source: Array, out: Array) -> None:
        copy(out, source)

    return BlockCall(call, call, None, False)


def _conversion(plan: Any) -> BlockCall:
    return _copying(converter(plan.source.dtype, plan.result.dtype, plan.saturate) or np.copyto)
