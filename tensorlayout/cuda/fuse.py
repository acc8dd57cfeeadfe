"""Fused functions on CUDA: the chain of functors that a plan says, as the text of one kernel.

``kernels/fuse.cu`` has the loops, those of elementwise functions, around the text. It is made of
the plan alone: functions that do the same to the same dtypes have one text, and so one kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from tensorlayout.cuda import reduce
from tensorlayout.cuda.elementwise import compute_type, plan_loops, walks_tiles
from tensorlayout.cuda.elementwise.launches import Computed, TooManyAxesError
from tensorlayout.cuda.engine.kernel_shapes import c_type
from tensorlayout.cuda.engine.launch import SECTOR, WIDEST, Launch, Launches, mixed_writer
from tensorlayout.cuda.engine.memory import new_tensors, padding_of
from tensorlayout.cuda.engine.scalars import octets_of_numbers
from tensorlayout.cuda.engine.structs import RANKS
from tensorlayout.dtypes import DType
from tensorlayout.layout import Axis, Layout, Loop
from tensorlayout.plan import ElementwisePlan, ReducePlan, Write
from tensorlayout.plan.fuse import FusePlan, write_call_by_call
from tensorlayout.tensor import Tensor, TensorSpec

# Of one kernel: steps, which bounds how long a compiler takes; scalars; and tensors, which bounds
# registers. Of many axes there are fewer tensors: all of them would be more than a launch takes.
MOST_STEPS, MOST_NUMBERS = 64, 24
MOST_TENSORS = (12, 4)

# Bytes, and elements, that a reduction reads at once for a pack of 16 bytes: more would be spilled.
MOST_BYTES, MOST_ELEMENTS = 64, 16


class Number(NamedTuple):
    """A Python scalar, as an element of a dtype."""

    value: int
    dtype: DType


class Chain(NamedTuple):
    """The steps of one kernel, by their numbers, the last of which it writes; and what it reads."""

    steps: tuple[int, ...]
    tensors: tuple[int, ...]  # values of the plan that are read
    reads: tuple[TensorSpec, ...]  # their specs
    numbers: tuple[Number, ...]
    value: int  # of the plan, which is written
    result: TensorSpec  # its spec

    @property
    def room(self) -> int:
        """How many numbers a struct has room for: C++ has no arrays of none."""
        return max(1, len(self.numbers))


def write_fuse(plan: FusePlan) -> Write:
    """One launch; more for very many steps or operands, and for a reduction in chunks."""
    if plan.has_tiles and not takes_tiles(plan):
        return write_call_by_call(plan)
    if plan.reduction is not None:
        return _write_reduced(plan, plan.reduction)
    padding = None if plan.destinations else padding_of(plan.result)

    def planned(alignments: tuple[int, ...]) -> tuple[Launches, Callable[..., bytes]]:
        launches, numbers = plan_fuse(plan, alignments, padding)
        return launches, _content(plan, numbers)

    return mixed_writer(plan.result.device.number, planned)


def _write_reduced(plan: FusePlan, reduction: ReducePlan) -> Write:
    """A reduction of values that are worked out as they are read, or else written before."""
    values = plan.unreduced
    new, write_values = new_tensors(values.result), write_fuse(values)
    write_result = reduce.write_reduce(reduction)

    def write_apart(out: Tensor, *operands: Any) -> None:
        made = new()
        write_values(made, *operands)
        write_result(out, made)

    chain = _read_at_once(values, reduction)
    if chain is None:
        return write_apart
    planned = plan_reduced(plan, reduction, chain), _content(plan, chain.numbers)
    write_at_once = mixed_writer(plan.result.device.number, lambda alignments: planned)
    longest = WIDEST // values.result.dtype.itemsize
    how, *_ = _reads(chain.reads, values.result)
    aligned = [
        (value, min(WIDEST, longest * o.dtype.itemsize))
        for value, o, each in zip(chain.tensors, chain.reads, how, strict=True)
        if each in ("SAME_SLOT", "WHOLE_PACKS")
    ]

    def write(out: Tensor, *operands: Any) -> None:
        at_once = not any(operands[value].memory.address % n for value, n in aligned)
        (write_at_once if at_once else write_apart)(out, *operands)

    return write


def _content(plan: FusePlan, numbers: Sequence[Number]) -> Callable[[Sequence[Any]], bytes]:
    """What makes octets of the numbers among the operands."""
    return octets_of_numbers(plan.operation.name, [(value + 1, dtype) for value, dtype in numbers])


def takes_tiles(plan: FusePlan) -> bool:
    """Return whether a plan of tiled tensors is carried out without copies out of their tiles."""
    if plan.reduction is not None:
        return False
    padding = None if plan.destinations else padding_of(plan.result)
    return all(
        walks_tiles(chain.result, chain.reads, padding)
        for most in MOST_TENSORS
        for chain in chains(plan, most)
    )


# ---- Launches


def plan_fuse(
    plan: FusePlan, alignments: Sequence[int], padding: bytes | None = None
) -> tuple[Launches, list[Number]]:
    """How to carry out a plan without a reduction, and the numbers for that; see `plan_loops`."""
    many, few = (chains(plan, most) for most in MOST_TENSORS)
    try:
        return _planned(plan, many, alignments, padding)
    except TooManyAxesError:
        return _planned(plan, few, alignments, padding)


def _planned(
    plan: FusePlan, parts: Sequence[Chain], alignments: Sequence[int], padding: bytes | None
) -> tuple[Launches, list[Number]]:
    """A launch for each chain; what is in between is in scratch memory."""
    count = len(plan.operands)
    place = {value: value + 1 for value in range(count)}
    place |= {chain.value: count + 1 + k for k, chain in enumerate(parts[:-1])}
    place[parts[-1].value] = 0
    aligned = [*alignments, *[SECTOR] * (len(parts) - 1)]  # new memory is, of the widest access
    launches: list[Launch] = []
    numbers: list[Number] = []
    scratch: list[int] = []
    for chain in parts:
        result, memories = chain.result, [place[value] for value in (chain.value, *chain.tensors)]
        types = (*_macros(plan, chain), ("RESULT", c_type(result.dtype)))
        found = plan_loops(
            Computed(plan.operation.name, "fuse", types, numbers=chain.room),
            result,
            chain.reads,
            [aligned[memory] for memory in memories],
            None if memories[0] else padding,
        )
        takes = 16 * len(numbers), 16 * (len(numbers) + len(chain.numbers))
        at = 8 + 24 * len(chain.reads)  # behind the pointers, and what may stand for each
        for each in found.launches:
            placed = each.placed(memories)
            if each.takes[1] is None:  # no launch for padding alone
                placed = replace(placed, scalars_at=at, takes=takes)
            launches.append(placed)
        numbers += chain.numbers
        if memories[0]:
            scratch.append(result.layout.nbytes(result.dtype))
    return Launches(tuple(launches), found.case, tuple(scratch)), numbers


def _read_at_once(values: FusePlan, reduction: ReducePlan) -> Chain | None:
    """The chain that makes what is reduced, if kernels that reduce it can read its operands."""
    made, (chain, *others) = values.result, chains(values, MOST_TENSORS[0])
    if others or made.layout.is_tiled or not reduce.is_planned(reduction):
        return None
    longest, octets = WIDEST // made.dtype.itemsize, sum([o.dtype.itemsize for o in chain.reads])
    if longest * octets > MOST_BYTES or longest * len(chain.reads) > MOST_ELEMENTS:
        return None
    how, axes, _ = _reads(chain.reads, made)
    return chain if None not in how and len(axes) <= RANKS[-1] else None


def _reads(
    operands: Sequence[TensorSpec], made: TensorSpec
) -> tuple[list[str | None], tuple[Axis, ...], tuple[int, ...]]:
    """How operands are read, as `Reads` in ``kernels/include/chained.cuh``; None for not at all.

    And, where some are broadcast, axes with the strides of all, and the bytes where they begin.
    """
    layout = made.layout
    how = [_how(o.layout, layout) for o in operands]
    if "BROADCAST" not in how:
        return how, (), (0,) * len(operands)
    specs = [made, *operands]
    layouts = [o.layout.broadcast_to(layout.shape) for o in specs]
    loop = Loop.over(layouts, [o.dtype.itemsize for o in specs], [SECTOR] * len(specs))
    (*slower, last), longest = loop.axes, WIDEST // made.dtype.itemsize
    for n, each in enumerate(how, 1):
        whole = last.size % longest == 0 and last.strides[n] == 1 and not loop.firsts[n]
        if each == "BROADCAST" and whole and not any(a.strides[n] % longest for a in slower):
            how[n - 1] = "WHOLE_PACKS"
    axes = tuple([axis._replace(strides=axis.strides[1:]) for axis in loop.axes])
    return how, axes, tuple(loop.firsts[1:])


def _how(operand: Layout, made: Layout) -> str | None:
    """Return how an operand is read; in another order only if it is much smaller."""
    if operand.size == 1:
        return "ONE_ELEMENT"
    if operand.same_placement(made):
        return "SAME_SLOT"
    is_packed = made.size == made.required_size < 2**31 and not operand.is_tiled
    return "BROADCAST" if is_packed and operand.size * 8 <= made.size else None


def plan_reduced(plan: FusePlan, reduction: ReducePlan, chain: Chain) -> Launches:
    """How to reduce what a chain makes, as it would be reduced in memory of its own."""
    how, axes, firsts = _reads(chain.reads, reduction.source)
    macros = (*_macros(plan, chain), ("READ", ", ".join(map(str, how))))
    chained = reduce.Chained(macros, firsts, chain.room, axes)
    found = reduce.plan_reduce(reduction, SECTOR, chained)
    scratch = len(plan.operands) + 1
    read, *join = found.launches
    memories = [0, *[value + 1 for value in chain.tensors], scratch]
    launches = [read.placed(memories[: len(read.firsts)])]
    launches += [replace(each.placed([0, 0, scratch]), takes=(0, 0)) for each in join]
    return replace(found, launches=tuple(launches))


# ---- Chains


def chains(plan: FusePlan, most: int) -> list[Chain]:
    """The kernels of a plan: one, if few enough steps, scalars and at most `most` tensors do all.

    Else the longest of the chains that meet in a step is written to memory, and read again. Steps
    that are needed by several chains are carried out in each.
    """
    made: dict[int, Chain] = {}  # by the value that is written
    chain_of: dict[int, Chain] = {}
    for k, step in enumerate(plan.steps):
        while True:
            inner = [chain_of[v] for v in step.reads if v in chain_of and v not in made]
            chain = _chain(plan, sorted({k, *[n for each in inner for n in each.steps]}))
            fits = len(chain.steps) <= MOST_STEPS and len(chain.numbers) <= MOST_NUMBERS
            if fits and len(chain.tensors) <= most:
                break
            longest = max(inner, key=lambda each: (len(each.tensors), len(each.steps)))
            made[longest.value] = longest
        chain_of[chain.value] = chain
    needed, found = [chain], []
    while needed:
        chain = needed.pop()
        if chain not in found:
            found.append(chain)
            needed += [made[value] for value in chain.tensors if value in made]
    return sorted(found, key=lambda each: each.steps[-1])


def _chain(plan: FusePlan, steps: Sequence[int]) -> Chain:
    """What steps read that none of them gives, in the order in which they ask for it."""
    inside = {len(plan.operands) + k for k in steps}
    found = dict.fromkeys([each for k in steps for each in _sources(plan, k)])
    tensors = [each for each in found if isinstance(each, int) and each not in inside]
    numbers = [each for each in found if isinstance(each, Number)]
    specs = [*plan.values[:-1], plan.result]
    value = len(plan.operands) + steps[-1]
    reads = tuple([specs[tensor] for tensor in tensors])
    return Chain(tuple(steps), tuple(tensors), reads, tuple(numbers), value, specs[value])


def _sources(plan: FusePlan, k: int) -> list[int | Number]:
    """What a step reads: values of the plan, and numbers."""
    step, reads, *_ = plan.steps[k]
    if not isinstance(step, ElementwisePlan):
        return [*reads]
    return [
        Number(value, dtype) if isinstance(operand, type) else value
        for value, operand, dtype in zip(reads, step.operands, step.inputs, strict=True)
    ]


# ---- Text


def _macros(plan: FusePlan, chain: Chain) -> tuple[tuple[str, str], ...]:
    types = [c_type(each.dtype) for each in chain.reads]
    return (
        ("OPERANDS", str(len(types))),
        ("NUMBERS", str(chain.room)),
        ("ELEMENTS", ", ".join(types)),
        ("CHAIN", _text(plan, chain, types)),
    )


def _text(plan: FusePlan, chain: Chain, types: Sequence[str]) -> str:
    """The function of one element of each tensor; every step has the type that it would store."""
    names: dict[int | Number, str] = {}
    lines: list[str] = []

    def define(of: int | Number, kind: str, value: str) -> None:
        names[of] = f"v{len(names)}"
        lines.append(f"const {kind} {names[of]}({value});")

    for value in chain.tensors:
        names[value] = f"v{len(names)}"
    given = [f"{kind} {name}" for kind, name in zip(types, names.values(), strict=True)]
    for n, number in enumerate(chain.numbers):
        kind = c_type(number.dtype)
        define(number, kind, f"scalar_as<{kind}>(numbers[{n}])")
    for k in chain.steps:
        step: Any = plan.steps[k].plan
        text = ", ".join([names[each] for each in _sources(plan, k)])
        kind = c_type(step.result.dtype)
        if isinstance(step, ElementwisePlan):
            text = f"call<functions::{step.operation.function}, {compute_type(step)}>({text})"
        elif step.source.dtype != step.result.dtype:  # a copy in the same dtype keeps the bits
            text = f"convert<{c_type(step.result.dtype, step.saturate)}>({text})"
        define(len(plan.operands) + k, kind, text)
    takes = ", ".join(["[[maybe_unused]] const Scalar* numbers", *given])
    return f"COMMON {kind} chain({takes}) {{ {' '.join(lines)} return {names.popitem()[1]}; }}"
