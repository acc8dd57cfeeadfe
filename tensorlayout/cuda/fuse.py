"""Fused functions on CUDA: the steps of a plan as the source text of one kernel.

``kernels/fuse.cu`` wraps the loops of elementwise functions around the text. For float32 operands
``lambda x, y: exp(x) + y`` becomes, with a name for each value::

    COMMON float chain(const Scalar* numbers, float v0, float v1) {
        const float v2(call<functions::exp, float>(v0));
        const float v3(call<functions::add, float>(v2, v1)); return v3; }

The text depends on the plan alone, so functions that do the same to the same dtypes share a kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from tensorlayout.cuda import reduce
from tensorlayout.cuda.elementwise import (
    Computation,
    TooManyAxesError,
    can_launch_efficiently,
    compute_type,
    plan_computation,
)
from tensorlayout.cuda.engine import (
    RANKS,
    SECTOR,
    WIDEST,
    Launch,
    Launches,
    NumberPacker,
    c_type,
    make_numbers_packer,
    make_writer_with_numbers,
    padding_element_bytes,
)
from tensorlayout.dtypes import DType
from tensorlayout.layout import Axis, Layout, Loop
from tensorlayout.plan import ElementwisePlan, ReducePlan, Write, compile_plan
from tensorlayout.plan.fuse import FusePlan, compile_call_by_call
from tensorlayout.tensor import Tensor, TensorSpec

# Limits of one kernel: steps (compile time), scalars, and tensors (registers). The second limit of
# tensors is for walks over many axes: their strides would not fit into the parameters of a launch.
MOST_STEPS, MOST_NUMBERS = 64, 24
MOST_TENSORS = (12, 4)

# Most bytes and elements that a fused reduction reads for a pack of 16 bytes; more would spill
# registers to memory.
MOST_BYTES, MOST_ELEMENTS = 64, 16


class TypedScalar(NamedTuple):
    """A Python scalar that becomes an element of a dtype."""

    value: int
    dtype: DType


class FusedChain:
    """Steps of a plan that one kernel runs; the value of the last one is written to memory.

    Attributes:
        steps: numbers of the steps.
        tensors: numbers of the plan's values that are read, in the order of first use.
        read_specs: their specs.
        numbers: Python scalars that are read.
        value: number of the plan's value that is written.
        result: its spec.

    """

    def __init__(self, plan: FusePlan, steps: Sequence[int]) -> None:
        self.plan, self.steps, count = plan, steps, len(plan.operands)
        operands = dict.fromkeys([operand for k in steps for operand in self._step_operands(k)])
        computed_values = {count + k for k in steps}
        specs = [*plan.all_value_specs[:-1], plan.result]
        self.tensors = [v for v in operands if isinstance(v, int) and v not in computed_values]
        self.numbers = [operand for operand in operands if isinstance(operand, TypedScalar)]
        self.value = count + steps[-1]
        self.read_specs: list[TensorSpec] = [specs[tensor] for tensor in self.tensors]
        self.result: TensorSpec = specs[self.value]

    def _step_operands(self, step_index: int) -> list[int | TypedScalar]:
        """Return the operands of a step: numbers of the plan's values, and typed scalars."""
        step, reads, *_ = self.plan.steps[step_index]
        if not isinstance(step, ElementwisePlan):
            return [*reads]
        return [
            TypedScalar(value, dtype) if isinstance(operand, type) else value
            for value, operand, dtype in zip(reads, step.operands, step.inputs, strict=True)
        ]

    @property
    def scalar_capacity(self) -> int:
        """Number of scalars in the struct, at least 1: C++ has no empty arrays."""
        return max(1, len(self.numbers))

    @property
    def kernel_macros(self) -> tuple[tuple[str, str], ...]:
        """Macros that describe the chain to a kernel."""
        types = [c_type(spec.dtype) for spec in self.read_specs]
        return (
            ("OPERANDS", str(len(types))),
            ("NUMBERS", str(self.scalar_capacity)),
            ("ELEMENTS", ", ".join(types)),
            ("CHAIN", self._chain_function_source(types)),
        )

    def _chain_function_source(self, c_types: Sequence[str]) -> str:
        """Return the C++ function of one element of each tensor.

        Intermediates are rounded to their own dtype, as if each had been stored.
        """
        names: dict[int | TypedScalar, str] = {}
        lines: list[str] = []

        def define_variable(operand: int | TypedScalar, type_name: str, expression: str) -> None:
            names[operand] = f"v{len(names)}"
            lines.append(f"const {type_name} {names[operand]}({expression});")

        for value in self.tensors:
            names[value] = f"v{len(names)}"
        parameters = [f"{kind} {name}" for kind, name in zip(c_types, names.values(), strict=True)]
        for n, number in enumerate(self.numbers):
            kind = c_type(number.dtype)
            define_variable(number, kind, f"scalar_as<{kind}>(numbers[{n}])")
        for k in self.steps:
            step: Any = self.plan.steps[k].plan
            text = ", ".join([names[v] for v in self._step_operands(k)])
            kind = c_type(step.result.dtype)
            if isinstance(step, ElementwisePlan):
                text = (
                    f"call<functions::{step.operation.function_name}, {compute_type(step)}>({text})"
                )
            elif step.source.dtype != step.result.dtype:  # a copy in the same dtype keeps the bits
                text = f"convert<{c_type(step.result.dtype, step.saturate)}>({text})"
            define_variable(len(self.plan.operands) + k, kind, text)
        takes = ", ".join(["[[maybe_unused]] const Scalar* numbers", *parameters])
        return f"COMMON {kind} chain({takes}) {{ {' '.join(lines)} return {names[self.value]}; }}"


def compile_fuse(plan: FusePlan) -> Write:
    """Compile a fused function: one launch, or more for many steps, operands or a reduction."""
    if plan.has_unstrided_layouts and not accepts_tiles(plan):
        return compile_call_by_call(plan)
    if plan.reduction is not None:
        return _compile_fused_reduction(plan, plan.reduction)
    padding = None if plan.destinations else padding_element_bytes(plan.result)
    return make_writer_with_numbers(
        plan.result.device.number, partial(plan_fuse, plan, padding=padding)
    )


def _compile_fused_reduction(plan: FusePlan, reduction: ReducePlan) -> Write:
    """Compile a reduction that computes its source as it is read.

    If operands do not allow it, the source is written to memory first.
    """
    values = plan.plan_before_reduction
    compute_values, write_result = compile_plan(values), reduce.compile_reduce(reduction)

    def write_in_two_steps(out: Tensor, *operands: Any) -> None:
        write_result(out, compute_values(*operands))

    chain, *others = split_into_chains(values, MOST_TENSORS[0])
    reads = (
        None
        if others or not reduce.is_done_by_plan_reduce(reduction)
        else _operand_read_modes(chain)
    )
    if reads is None:
        return write_in_two_steps
    planned = (
        _plan_fused_reduction(plan, reduction, chain, reads),
        make_numbers_packer(plan.operation.name, chain.numbers),
    )
    write_in_one_launch = make_writer_with_numbers(
        plan.result.device.number, lambda alignments: planned
    )
    longest = WIDEST // values.result.dtype.itemsize
    # Bytes to which each operand that is read in packs must be aligned; checked at each call.
    aligned = [
        (value, min(WIDEST, longest * o.dtype.itemsize))
        for value, o, mode in zip(chain.tensors, chain.read_specs, reads.modes, strict=True)
        if mode in ("SAME_SLOT", "WHOLE_PACKS")
    ]

    def launch_fused_reduction(out: Tensor, *operands: Any) -> None:
        is_aligned = not any(operands[value].memory.address % n for value, n in aligned)
        (write_in_one_launch if is_aligned else write_in_two_steps)(out, *operands)

    return launch_fused_reduction


def accepts_tiles(plan: FusePlan) -> bool:
    """Return whether a plan of tiled tensors runs without copies to untiled memory."""
    if plan.reduction is not None:
        return False
    padding = None if plan.destinations else padding_element_bytes(plan.result)
    return all(
        can_launch_efficiently(chain.result, chain.read_specs, padding)
        for max_tensors in MOST_TENSORS
        for chain in split_into_chains(plan, max_tensors)
    )


# ---- Launches


def plan_fuse(
    plan: FusePlan, alignments: Sequence[int], padding: bytes | None = None
) -> tuple[Launches, NumberPacker]:
    """Plan the launches of a fusion without a reduction; also return the packer of its numbers."""
    many, few = (split_into_chains(plan, max_tensors) for max_tensors in MOST_TENSORS)
    try:
        return _plan_chains(plan, many, alignments, padding)
    except TooManyAxesError:
        return _plan_chains(plan, few, alignments, padding)


def _plan_chains(
    plan: FusePlan,
    fused_chains: Sequence[FusedChain],
    alignments: Sequence[int],
    padding: bytes | None,
) -> tuple[Launches, NumberPacker]:
    """Plan a launch for each chain, with values between chains in scratch memory."""
    count = len(plan.operands)
    # Memories of the launches: the result, the operands, then the values between chains.
    memory_of_value = {value: value + 1 for value in range(count)}
    memory_of_value |= {chain.value: count + 1 + k for k, chain in enumerate(fused_chains[:-1])}
    memory_of_value[fused_chains[-1].value] = 0
    # Memory between the launches is new, so it is aligned for the widest access.
    aligned = [*alignments, *[SECTOR] * (len(fused_chains) - 1)]
    launches: list[Launch] = []
    numbers: list[TypedScalar] = []
    scratch: list[int] = []
    for chain in fused_chains:
        result = chain.result
        memories = [memory_of_value[value] for value in (chain.value, *chain.tensors)]
        types = (*chain.kernel_macros, ("RESULT", c_type(result.dtype)))
        chain_launches = plan_computation(
            Computation("fuse", types, scalar_count=chain.scalar_capacity),
            result,
            chain.read_specs,
            [aligned[memory] for memory in memories],
            None if memories[0] else padding,
        )
        scalar_range = 16 * len(numbers), 16 * (len(numbers) + len(chain.numbers))
        # Scalars follow the result's pointer and 24 bytes for each operand.
        scalar_offset = 8 + 24 * len(chain.read_specs)
        for launch in chain_launches.launches:
            placed_launch = launch.with_memories(memories)
            if launch.takes[1] is None:  # launches for padding alone have constant scalars
                placed_launch = replace(placed_launch, scalars_at=scalar_offset, takes=scalar_range)
            launches.append(placed_launch)
        numbers += chain.numbers
        if memories[0]:
            scratch.append(result.layout.nbytes(result.dtype))
    return Launches(tuple(launches), chain_launches.case, tuple(scratch)), make_numbers_packer(
        plan.operation.name, numbers
    )


class OperandReads(NamedTuple):
    """Read modes of the operands of a chain, for the kernels that reduce its result."""

    # Names of `Reads` in ``kernels/include/chained.cuh``; None for an unsupported operand.
    modes: list[str | None]
    axes: tuple[Axis, ...]  # with strides of all operands; empty if none is broadcast
    firsts: tuple[int, ...]  # **bytes** to their first elements


def _operand_read_modes(chain: FusedChain) -> OperandReads | None:
    """Return the read modes of the operands; None for too many operands, or unsupported layouts."""
    result, layout = chain.result, chain.result.layout
    longest = WIDEST // result.dtype.itemsize
    octets = sum([o.dtype.itemsize for o in chain.read_specs])
    if longest * octets > MOST_BYTES or longest * len(chain.read_specs) > MOST_ELEMENTS:
        return None
    modes = [_read_mode(o.layout, layout) for o in chain.read_specs]
    if layout.is_tiled or None in modes:
        return None
    if "BROADCAST" not in modes:
        return OperandReads(modes, (), (0,) * len(modes))
    specs = [result, *chain.read_specs]
    layouts = [o.layout.broadcast_to(layout.shape) for o in specs]
    loop = Loop.over_layouts(layouts, [o.dtype.itemsize for o in specs], [SECTOR] * len(specs))
    (*slower, last), firsts = loop.axes, tuple(loop.firsts[1:])
    for n, mode in enumerate(modes, 1):
        # A broadcast operand is read in packs if each pack of the result begins at one of its own
        # and runs along it.
        whole = last.size % longest == 0 and last.strides[n] == 1 and not loop.firsts[n]
        if mode == "BROADCAST" and whole and not any(a.strides[n] % longest for a in slower):
            modes[n - 1] = "WHOLE_PACKS"
    axes = tuple([axis._replace(strides=axis.strides[1:]) for axis in loop.axes])
    return OperandReads(modes, axes, firsts) if len(axes) <= RANKS[-1] else None


def _read_mode(operand: Layout, result: Layout) -> str | None:
    """Return the read mode of an operand; None if it is in another order and not much smaller."""
    if operand.size == 1:
        return "ONE_ELEMENT"
    if operand.same_placement(result):
        return "SAME_SLOT"
    # A broadcast operand is read element by element, whatever its order.
    is_packed = result.size == result.required_size < 2**31 and not operand.is_tiled
    return "BROADCAST" if is_packed and operand.size * 8 <= result.size else None


def _plan_fused_reduction(
    plan: FusePlan, reduction: ReducePlan, chain: FusedChain, reads: OperandReads
) -> Launches:
    """Plan the reduction of a fused chain; its result has the bits of a separate reduction."""
    macros = (*chain.kernel_macros, ("READ", ", ".join(map(str, reads.modes))))
    chained = reduce.FusedSource(macros, reads.firsts, chain.scalar_capacity, reads.axes)
    reduction_launches = reduce.plan_reduce(reduction, SECTOR, chained)
    scratch = len(plan.operands) + 1
    read, *join = reduction_launches.launches
    memories = [0, *[value + 1 for value in chain.tensors], scratch]
    launches = [read.with_memories(memories[: len(read.firsts)])]
    launches += [replace(launch.with_memories([0, 0, scratch]), takes=(0, 0)) for launch in join]
    return replace(reduction_launches, launches=tuple(launches))


# ---- Chains


def split_into_chains(plan: FusePlan, max_tensors: int) -> list[FusedChain]:
    """Split a plan into kernels with few steps and scalars and at most `max_tensors` tensors.

    If the chains that meet in a step exceed a limit, the longest is written to memory and read
    again. Steps that several chains need are computed in each.
    """
    chain_by_value: dict[int, FusedChain] = {}  # chains whose value is written to memory
    chain_of: dict[int, FusedChain] = {}
    for k, step in enumerate(plan.steps):
        while True:
            inner = [chain_of[v] for v in step.reads if v in chain_of and v not in chain_by_value]
            chain = FusedChain(
                plan, sorted({k, *[n for candidate in inner for n in candidate.steps]})
            )
            fits = len(chain.steps) <= MOST_STEPS and len(chain.numbers) <= MOST_NUMBERS
            if fits and len(chain.tensors) <= max_tensors:
                break
            # Each round stores one chain more, and a step whose operands are all stored fits.
            longest = max(
                inner, key=lambda candidate: (len(candidate.tensors), len(candidate.steps))
            )
            chain_by_value[longest.value] = longest
        chain_of[chain.value] = chain
    # Only stored values that the result depends on are computed: most chains have been absorbed by
    # later ones.
    needed, selected_chains = [chain], []
    while needed:
        chain = needed.pop()
        if chain not in selected_chains:
            selected_chains.append(chain)
            needed += [chain_by_value[value] for value in chain.tensors if value in chain_by_value]
    return sorted(selected_chains, key=lambda candidate: candidate.value)
