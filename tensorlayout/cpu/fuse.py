"""Fused functions on the CPU: all steps run on one cache-sized block after the other.

Steps compute in a block of the result and in a few buffers of its size. Small results are computed
step by step, because there is no memory traffic to save.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from tensorlayout.cpu.copy.choose import Tuning, choose_copy, make_axis_view
from tensorlayout.cpu.elementwise.functions import has_same_result_in_all_loops
from tensorlayout.cpu.elementwise.writing import BlockCall, make_block_call, standalone_ufunc
from tensorlayout.cpu.engine.casting import WHOLE, is_half_float, make_converter, scalar_as_array
from tensorlayout.cpu.engine.memory import (
    ALIGNMENT,
    Array,
    make_padding_filler,
    padded_slots,
    quiet,
    storage_and_slot,
    take_buffer,
    unbuffered,
)
from tensorlayout.cpu.engine.sharing import axis_slices_without_singles
from tensorlayout.cpu.engine.threads import available_threads, run_in_threads
from tensorlayout.dtypes import DType
from tensorlayout.layout import Axis, Layout, merge_axes
from tensorlayout.plan import (
    AssignPlan,
    CopyPlan,
    ElementwisePlan,
    Plan,
    Program,
    Run,
    Step,
    Write,
    assign_value_places,
    compile_plan,
    compile_program,
    make_items_getter,
)
from tensorlayout.plan.fuse import FusePlan, compile_call_by_call
from tensorlayout.tensor import Tensor, TensorSpec

# Bytes of intermediate results from which on blocks pay. Time in blocks relative to step by step,
# in one thread, for 1, 2, 4 and 8 MB of float32: two steps 1.26, 1.28, 1.11, 0.91; three steps
# 1.09, 0.95, 0.95, 0.79.
LEAST = 1 << 22
THREADS = 1 << 20  # bytes of a result from which on threads share the blocks

# Bytes of a block of the result. If steps are much shorter than 100 µs, threads spend their time
# exchanging the interpreter lock: four steps on 16 MB of float32 in blocks of 256 KB, 512 KB, 1 MB
# and 2 MB take 2.5, 1.0, 1.1 and 1.0 ms in two threads.
BLOCK = 1 << 19

_MOST = 1 << 12  # maximum number of blocks, so that huge results do not need endless lists

_ALONE = Tuning(threads=1)  # for copies of blocks, which run inside our threads

# Number of neighbouring lines read together from operands in another order.
_LINES = 128

# Operands with shorter runs are expanded if that is cheap: NumPy takes 10 ns per run.
_RUN = 128


def compile_allocating(plan: FusePlan) -> Run | None:
    """Compile a function that allocates a small or reduced result; None for other plans."""
    if plan.has_unstrided_layouts and not plan.is_contiguous_loop:
        return None
    if plan.reduction is not None:
        values, reduce = compile_plan(plan.plan_before_reduction), compile_plan(plan.reduction)
        return lambda *operands: reduce(values(*operands))
    return (
        None
        if _should_run_in_blocks(plan)
        else _compile_ufunc_chain(plan) or _compile_step_by_step(plan)
    )


def _compile_ufunc_chain(plan: FusePlan) -> Run | None:
    """Compile steps that are all plain ufuncs to calls on arrays, without tensors between them."""
    plans: list[Any] = [step.plan for step in plan.steps]
    steps: list[Any] = [
        isinstance(step, ElementwisePlan) and standalone_ufunc(step) for step in plans
    ]
    if len(steps) < 2 or not all(steps):
        return None
    count = len(plan.operands)
    takes, places, room = assign_value_places([step.reads for step in plan.steps], count)
    step_rows, empty = list(zip(steps, takes, places, strict=True)), [None] * (room - count)
    spec = plan.result
    copy = quiet.copy
    new = object.__new__
    one_by_one = _compile_step_by_step(plan)
    integers = [i for i, operand in enumerate(plan.operands) if operand is int]

    def call_ufunc_chain(*operands: Any) -> Tensor:
        values = [x.memory if type(x) is Tensor else x for x in operands]
        values += empty
        try:
            for i in integers:
                if not -WHOLE <= values[i] <= WHOLE:
                    return one_by_one(*operands)
            memory = copy().run(call_each_ufunc, values)
        except OverflowError:  # step by step, so that the error names the step
            return one_by_one(*operands)
        result = new(Tensor)
        result.memory, result.spec, result.home = memory, spec, None
        return result

    def call_each_ufunc(values: list[Any]) -> Any:
        for function, take, place in step_rows:
            values[place] = function(*take(values))
        return values[places[-1]]

    return call_ufunc_chain


def compile_fuse(plan: FusePlan) -> Write:
    """Compile ``write(out, *operands)``; each operand is disjoint from `out` or exactly there."""
    if plan.has_unstrided_layouts and not plan.is_contiguous_loop:
        return compile_call_by_call(plan)
    if _should_run_in_blocks(plan):
        return _BlockLoop(plan).run_blocks
    return _compile_step_by_step(plan)


def _compile_step_by_step(plan: FusePlan) -> Run:
    """Compile a program of single steps; steps may overwrite operands that expire.

    A step overwrites an intermediate result that no later step reads, if that gives the same bits.
    """
    count, first, values = len(plan.operands), plan.destinations, plan.all_value_specs
    program = Program(first + count)
    last_use = {v: i for i, (_, reads, *_) in enumerate(plan.steps) for v in reads}
    for i, (step, reads, *_) in enumerate(plan.steps):
        expiring = [
            v for v in reads if v >= count and last_use[v] == i and values[v] is step.result
        ]
        if expiring and not first and _may_overwrite_operand(step):
            step, reads = step.with_destination(step.result), (expiring[0], *reads)
        program.append_step(step, [v + first for v in reads])
    # A step that reads an operand must not write to the destination directly: it could overwrite
    # the operand before reading it, or round differently there.
    if first:
        (last, reads, *_), result = program.steps[-1], plan.result
        elementwise = isinstance(last, ElementwisePlan) and min(reads) >= program.count
        if elementwise and last.result.layout.same_placement(result.layout):
            program.steps[-1] = Step(last.with_destination(result), (0, *reads))
        else:
            program.append_step(
                AssignPlan(plan.operation.name, last.result, result), (0, program.result)
            )
    return compile_program(program)


def _may_overwrite_operand(step: Plan) -> bool:
    """Return whether a step gives the same bits if it overwrites an operand."""
    return (
        isinstance(step, ElementwisePlan)
        and _has_exact_result(step)
        and make_block_call(step).may_overwrite
    )


def _should_run_in_blocks(plan: FusePlan) -> bool:
    """Return whether running in blocks pays and gives the same bits as step by step."""
    shape = plan.result.layout.shape
    steps = [step.plan for step in plan.steps]
    full = [step for step in steps if step.result.layout.shape == shape]
    intermediate_bytes = sum(
        [step.result.layout.size * step.result.dtype.itemsize for step in full[:-1]]
    )
    return (
        len(full) > 1 < plan.result.layout.size
        and intermediate_bytes >= LEAST
        and all(_is_bitwise_equal_in_blocks(step, plan.result.layout) for step in full)
    )


def _is_bitwise_equal_in_blocks(step: Plan, result: Layout) -> bool:
    """Return whether a step gives the same bits in blocks of `result` as on whole arrays."""
    if _has_exact_result(step):
        return True
    assert isinstance(step, ElementwisePlan), "copies are sure"
    layouts = [o.layout for o in step.operands if isinstance(o, TensorSpec) and o.layout.size > 1]
    if any(s < 0 for layout in layouts if not layout.is_tiled for s in layout.strides):
        return False
    return not any(d.kind == "c" or is_half_float(d) for d in step.inputs) or all(
        layout.is_packed
        if layout.shape != result.shape
        else _is_tiled_or_contiguous_in_order(layout, result)
        for layout in (*layouts, step.result.layout)
    )


def _has_exact_result(step: Any) -> bool:
    """Return whether all NumPy loops give the same, exact result for a step."""
    return isinstance(step, CopyPlan) or has_same_result_in_all_loops(
        step.operation.function_name, step.inputs
    )


def _is_tiled_or_contiguous_in_order(layout: Layout, result: Layout) -> bool:
    """Return whether a layout is tiled, or in the result's order and contiguous there."""
    order = layout.minor_to_major
    if layout.is_tiled or order != result.minor_to_major:
        return layout.is_tiled
    fastest = next((d for d in order if layout.shape[d] > 1), None)
    return fastest is None or layout.strides[fastest] == 1


# --- the loop over blocks ----------------------------------------------------------------------

Box = tuple[slice, ...]


def _box_shape(box: Box) -> tuple[int, ...]:
    return tuple([cut.stop - cut.start for cut in box])


def _box_extents(
    sizes: tuple[int, ...], reordered_strides: list[tuple[int, ...]], max_elements: int
) -> tuple[int, ...]:
    """Return the extents of a box of about `max_elements`, long along the result's fastest axes.

    With operands in another order, boxes are four times as large and `_LINES` of their lines wide.
    ``(x + y.T) * 2 - x`` of 2048 x 2048 float32 takes 11.9 ms in boxes of 256 x 256, 9.1 in
    256 x 1024, 6.6 in 128 x 2048.
    """
    extents = [1] * len(sizes)
    for strides in reordered_strides:
        fastest = min([k for k, s in enumerate(strides) if s], key=lambda k: abs(strides[k]))
        extents[fastest] = min(sizes[fastest], _LINES)
    max_elements = max(4 * max_elements if reordered_strides else max_elements, prod(extents))
    for k in reversed(range(len(sizes))):
        extents[k] = max(extents[k], min(sizes[k], extents[k] * max_elements // prod(extents)))
        if extents[k] < sizes[k]:
            break
    return tuple(extents)


def _has_short_runs(strides: Sequence[int], extents: Sequence[int]) -> bool:
    """Return whether NumPy would walk a box of an array in many short runs."""
    axes = merge_axes([Axis(n, (stride,)) for n, stride in zip(extents, strides, strict=True)])
    return len(axes) > 1 and axes[-1].size < _RUN


class _BlockBuffer(NamedTuple):
    """Slot for a temporary buffer of a block's size, seen in a dtype."""

    number: int
    dtype: DType


class _ConstantSlot(NamedTuple):
    """Slot with the same content in all boxes: a rank-0 tensor or a Python scalar."""

    value: int
    dtype: DType | None = None
    name: str = ""  # of the step, for errors

    def array_of_call_argument(self, call_arguments: Sequence[Any]) -> Array:
        """Return the array, given all values of a call."""
        value = call_arguments[self.value]
        if self.dtype is None:
            return value.memory
        return scalar_as_array(self.name, self.dtype, value)


# Buffers are reused between calls: newly allocated memory costs page faults.
_buffers: list[Array] = []


class _BlockLoop:
    """Loop over the boxes of a result that runs all steps on each box.

    Steps read and write *slots*. The first slots are the boxes of tensors, the result's box last;
    then come the extra slots: buffers and constants.
    """

    def __init__(self, plan: FusePlan) -> None:
        spec, self.values = plan.result, plan.all_value_specs
        shape, steps = spec.layout.shape, dict(enumerate(plan.steps, len(plan.operands)))
        full = {v: step for v, step in steps.items() if self.values[v].layout.shape == shape}
        rest = [(v, step) for v, step in steps.items() if v not in full]
        self.early_steps = [
            (compile_plan(step.plan), make_items_getter(step.reads), v) for v, step in rest
        ]
        read = dict.fromkeys([v for step in full.values() for v in step.reads if v not in full])
        tensors = [v for v in read if isinstance(self.values[v], TensorSpec)]
        self.moving_values = [v for v in tensors if self.values[v].layout.shape]
        width = max([self.values[v].dtype.itemsize for v in (*full, *self.moving_values)])
        self.threads = available_threads() if spec.layout.size * width >= THREADS else 1
        self.fill_padding = make_padding_filler(spec) if spec.layout.is_tiled else None
        self._cut_into_boxes(spec.layout, width)
        self.slots = {value: slot for slot, value in enumerate(self.moving_values)}
        self.extra_slots: list[_BlockBuffer | _ConstantSlot] = []
        self.step_calls: list[tuple[BlockCall, int, Any, int]] = []
        # The first buffers hold boxes of the operands in another order.
        self.buffer_bytes = -(-prod(_box_shape(self.boxes[0])) * width // ALIGNMENT) * ALIGNMENT
        self.buffer_count = len(self.reordered_values)
        self._add_steps(plan, full)

    def _cut_into_boxes(self, layout: Layout, width: int) -> None:
        """Cut the result and its operands into boxes along merged axes, slowest first.

        `width`: **bytes** of the widest value.
        """
        # Gives the memory of a tensor these axes.
        self.reordered_array: Callable[[Tensor], Array] = padded_slots
        self.reordered_values: list[int] = []  # operands in another order than the result
        if layout.is_tiled:
            axes = [Axis(layout.required_size, (1,) * (len(self.moving_values) + 1))]
        else:
            specs = [self.values[v] for v in self.moving_values]
            layouts = [*[s.layout.broadcast_to(layout.shape) for s in specs], layout]
            order = tuple(reversed(layout.minor_to_major))
            rows = list(zip(*[item.strides for item in layouts], strict=True))
            axes = merge_axes([Axis(layout.shape[d], rows[d]) for d in order])
            view_axes = make_axis_view(
                layout.shape, [False], order, tuple([axis.size for axis in axes])
            )

            def reordered_array(x: Tensor) -> Array:
                same = x.memory.shape == layout.shape
                return view_axes(x.memory if same else np.broadcast_to(x.memory, layout.shape))

            self.reordered_array = reordered_array
            for i, s in enumerate(specs):
                steps = layout.strides, layouts[i].strides
                if choose_copy(layout.shape, *steps, s.dtype.itemsize).case == "tiles":
                    self.reordered_values.append(i)
        sizes = tuple([axis.size for axis in axes])
        self.strides = list(zip(*[axis.strides for axis in axes], strict=True))
        room = max(1, BLOCK // width, layout.size // _MOST)
        extents = _box_extents(sizes, [self.strides[i] for i in self.reordered_values], room)
        # The first box is one of the largest.
        self.boxes = list(product(*map(axis_slices_without_singles, sizes, extents)))
        extents = _box_shape(self.boxes[0])
        split = [k for k, size in enumerate(sizes) if extents[k] != size]
        long = [
            i in self.reordered_values or not _has_short_runs(s, extents)
            for i, s in enumerate(self.strides)
        ]
        # Arrays that are the same in every box, with short runs, are expanded once per call.
        same = [not any(strides[k] for k in split) for strides in self.strides[:-1]]
        self.widened_arrays = [i for i, item in enumerate(same) if item and not long[i]]
        self.has_long_runs = len(self.widened_arrays) == long.count(False)
        row_major = {
            shape: Layout.row_major(shape).strides for shape in map(_box_shape, self.boxes)
        }
        away = [
            (self.strides[i], self.values[self.moving_values[i]].dtype.itemsize)
            for i in self.reordered_values
        ]
        self.copiers = {  # by box shape: the copies of operands in another order
            shape: [choose_copy(shape, strides, *item, _ALONE).run for item in away]
            for shape, strides in row_major.items()
        }

    def _add_steps(self, plan: FusePlan, step_of_full_value: dict[int, Step]) -> None:
        """Assign a slot to the result of each step and append the steps' calls.

        `step_of_full_value`: the steps whose results have the shape of the result, by value number.
        A buffer is reused once no later step reads its value.
        """
        out = place = len(self.moving_values)
        strides = self.strides[-1]
        forwards = self.has_long_runs and strides[-1] == 1 and min(strides) >= 0
        last_use = {
            v: i for i, (_, reads, *_) in enumerate(step_of_full_value.values()) for v in reads
        }
        live_buffers: dict[int, _BlockBuffer] = {}  # buffers of values that are still needed
        free: list[int] = []
        for i, (value, (step, reads, *_)) in enumerate(step_of_full_value.items()):
            call = (
                make_block_call(step)
                if isinstance(step, ElementwisePlan)
                else _make_conversion_call(step)
            )
            take = make_items_getter(
                tuple([self._operand_slot(plan, step, n, v) for n, v in enumerate(reads)])
            )
            apart = (
                call.may_overwrite
                or not plan.destinations
                or all(v in step_of_full_value for v in reads)
            )
            # The last step writes to the result itself only if that gives the same bits.
            if i == len(step_of_full_value) - 1 and apart and (forwards or _has_exact_result(step)):
                place = out
            else:
                dying = [
                    live_buffers.pop(v) for v in {*reads} if v in live_buffers and last_use[v] == i
                ]
                dtype = step.result.dtype
                fits = [
                    b for b, d in dying if call.may_overwrite and d.itemsize == dtype.itemsize
                ] + free
                buffer = fits[0] if fits else self.buffer_count
                self.buffer_count += not fits
                free = [b for b in (*free, *[b for b, _ in dying]) if b != buffer]
                live_buffers[value] = _BlockBuffer(buffer, dtype)
                place = self._register_slot(live_buffers[value])
            self.slots[value] = place
            self.step_calls.append((call, reads[-1], take, place))
        if place != out:
            self.step_calls.append(
                (_make_copy_call(np.copyto), 0, make_items_getter((place,)), out)
            )

    def _operand_slot(self, plan: FusePlan, step: Any, n: int, value: int) -> int:
        """Return the slot of operand `n` of a step, whose value number is `value`."""
        if value in self.slots:
            return self.slots[value]
        if isinstance(plan.all_value_specs[value], type):
            return self._register_slot(_ConstantSlot(value, step.inputs[n], step.operation.name))
        return self._register_slot(_ConstantSlot(value))

    def _register_slot(self, slot: _BlockBuffer | _ConstantSlot) -> int:
        if slot not in self.extra_slots:
            self.extra_slots.append(slot)
        return len(self.moving_values) + 1 + self.extra_slots.index(slot)

    def run_blocks(self, out: Tensor, *operands: Any) -> None:
        """Compute the result of the operands, box by box, into `out`."""
        values = [*operands, *[None] * (len(self.values) - len(operands)), out]
        for run, take, value in self.early_steps:
            values[value] = run(*take(values))
        arrays = [self.reordered_array(values[value]) for value in (*self.moving_values, -1)]
        context: Any = unbuffered if self.has_long_runs else quiet
        work = context.copy().run(self._make_box_worker, arrays, values)
        run_in_threads(lambda boxes: context.copy().run(work, boxes), self.boxes, self.threads)
        if self.fill_padding is not None:
            self.fill_padding(*storage_and_slot(out))

    def _make_box_worker(
        self, arrays: list[Array], values: Sequence[Any]
    ) -> Callable[[Iterator[Box]], None]:
        """Return ``work(boxes)`` for the arrays of one call; the result's array is the last."""
        wide = {}
        for i in self.widened_arrays:
            wide[i] = np.empty(_box_shape(self.boxes[0]), arrays[i].dtype)
            wide[i][...] = arrays[i][self.boxes[0]]
        more = [
            x.array_of_call_argument(values) if isinstance(x, _ConstantSlot) else x
            for x in self.extra_slots
        ]
        calls = [
            (
                call.common
                if call.is_usual_scalar is None or call.is_usual_scalar(values[last])
                else call.rare,
                *rest,
            )
            for call, last, *rest in self.step_calls
        ]

        def run_boxes(boxes: Iterator[Box]) -> None:
            memory = take_buffer(_buffers, self.buffer_bytes * self.buffer_count)
            try:
                run_boxes_in_buffer(memory, boxes)
            finally:
                _buffers.append(memory)

        def run_boxes_in_buffer(memory: Array, boxes: Iterator[Box]) -> None:
            def block_buffer(number: int, dtype: DType) -> Array:
                return np.ndarray(shape, dtype, memory, number * self.buffer_bytes)

            shape: Any = None
            for box in boxes:
                extents = _box_shape(box)
                if extents != shape:
                    shape = extents
                    start = tuple([slice(0, n) for n in shape])
                    ready = {i: array_of[start] for i, array_of in wide.items()}
                    ready |= {
                        i: block_buffer(n, arrays[i].dtype)
                        for n, i in enumerate(self.reordered_values)
                    }
                    tail = [block_buffer(*x) if isinstance(x, _BlockBuffer) else x for x in more]
                for i, move in zip(self.reordered_values, self.copiers[shape], strict=True):
                    move(ready[i], arrays[i][box])
                slots = [ready[i] if i in ready else a[box] for i, a in enumerate(arrays)]
                slots += tail
                for function, take, target_slot in calls:
                    function(*take(slots), out=slots[target_slot])

        return run_boxes


def _make_copy_call(copy: Callable[[Array, Array], object]) -> BlockCall:
    """Return a copy as the call of a step on blocks."""

    def copy_into_out(source: Array, out: Array) -> None:
        copy(out, source)

    return BlockCall(copy_into_out, copy_into_out, None, False)


def _make_conversion_call(plan: Any) -> BlockCall:
    return _make_copy_call(
        make_converter(plan.source.dtype, plan.result.dtype, plan.saturate) or np.copyto
    )
