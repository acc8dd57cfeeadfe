"""Fused functions on CUDA: the chain of functors that a plan says, as the text of one kernel.

``kernels/fuse.cu`` has the loops, those of elementwise functions, around the text. It is made of
the plan alone: functions that do the same to the same dtypes have one text, and so one kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from tensorlayout.cuda import reduce
from tensorlayout.cuda.elementwise import (
    Computed,
    TooManyAxesError,
    compute_type,
    plan_loops,
    walks_tiles,
)
from tensorlayout.cuda.engine import (
    RANKS,
    SECTOR,
    WIDEST,
    Launch,
    Launches,
    c_type,
    mixed_writer,
    octets_of_numbers,
    padding_of,
)
from tensorlayout.dtypes import DType
from tensorlayout.layout import Axis, Layout, Loop
from tensorlayout.plan import ElementwisePlan, ReducePlan, Write, carried_out
from tensorlayout.plan.fuse import FusePlan, write_call_by_call
from tensorlayout.tensor import Tensor, TensorSpec

# Of one kernel: steps, which bounds how long a compiler takes; scalars; and tensors, which bounds
# registers. Of many axes there are fewer tensors: all of them would be more than a launch takes.
MOST_STEPS, MOST_NUMBERS = 64, 24
MOST_TENSORS = (12, 4)

# Bytes, and elements, that a reduction reads at once for a pack of 16 bytes: more would be spilled.
MOST_BYTES, MOST_ELEMENTS = 64, 16

# A function of the operands of a call that packs the numbers among them.
Content = Callable[[Sequence[Any]], bytes]


class Number(NamedTuple):
    """A Python scalar, as an element of a dtype."""

    value: int
    dtype: DType


class Chain:
    """Some steps of a plan, as one kernel carries them out; the last of them is written.

    Attributes:
        steps: their numbers.
        tensors: values of the plan that are read, in the order in which steps ask for them.
        reads: their specs.
        numbers: those that are read.
        value: the value of the plan that is written.
        result: its spec.

    """

    def __init__(self, plan: FusePlan, steps: Sequence[int]) -> None:
        self.plan, self.steps, count = plan, steps, len(plan.operands)
        found = dict.fromkeys([each for k in steps for each in self._read_by(k)])
        inside, specs = {count + k for k in steps}, [*plan.values[:-1], plan.result]
        self.tensors = [v for v in found if isinstance(v, int) and v not in inside]
        self.numbers = [each for each in found if isinstance(each, Number)]
        self.value = count + steps[-1]
        self.reads: list[TensorSpec] = [specs[tensor] for tensor in self.tensors]
        self.result: TensorSpec = specs[self.value]

    def _read_by(self, k: int) -> list[int | Number]:
        """Return the operands of a step: values of the plan, and numbers."""
        step, reads, *_ = self.plan.steps[k]
        if not isinstance(step, ElementwisePlan):
            return [*reads]
        return [
            Number(value, dtype) if isinstance(operand, type) else value
            for value, operand, dtype in zip(reads, step.operands, step.inputs, strict=True)
        ]

    @property
    def room(self) -> int:
        """How many numbers a struct has room for: C++ has no arrays of none."""
        return max(1, len(self.numbers))

    @property
    def macros(self) -> tuple[tuple[str, str], ...]:
        """Return the macros that describe the chain to a kernel."""
        types = [c_type(each.dtype) for each in self.reads]
        return (
            ("OPERANDS", str(len(types))),
            ("NUMBERS", str(self.room)),
            ("ELEMENTS", ", ".join(types)),
            ("CHAIN", self._text(types)),
        )

    def _text(self, types: Sequence[str]) -> str:
        """The function of one element of each tensor; steps have the type that they would store."""
        names: dict[int | Number, str] = {}
        lines: list[str] = []

        def define(of: int | Number, kind: str, value: str) -> None:
            names[of] = f"v{len(names)}"
            lines.append(f"const {kind} {names[of]}({value});")

        for value in self.tensors:
            names[value] = f"v{len(names)}"
        given = [f"{kind} {name}" for kind, name in zip(types, names.values(), strict=True)]
        for n, number in enumerate(self.numbers):
            kind = c_type(number.dtype)
            define(number, kind, f"scalar_as<{kind}>(numbers[{n}])")
        for k in self.steps:
            step: Any = self.plan.steps[k].plan
            text, kind = ", ".join([names[v] for v in self._read_by(k)]), c_type(step.result.dtype)
            if isinstance(step, ElementwisePlan):
                text = f"call<functions::{step.operation.function}, {compute_type(step)}>({text})"
            elif step.source.dtype != step.result.dtype:  # a copy in the same dtype keeps the bits
                text = f"convert<{c_type(step.result.dtype, step.saturate)}>({text})"
            define(len(self.plan.operands) + k, kind, text)
        takes = ", ".join(["[[maybe_unused]] const Scalar* numbers", *given])
        return f"COMMON {kind} chain({takes}) {{ {' '.join(lines)} return {names[self.value]}; }}"


def write_fuse(plan: FusePlan) -> Write:
    """One launch; more for very many steps or operands, and for a reduction in chunks."""
    if plan.has_tiles and not takes_tiles(plan):
        return write_call_by_call(plan)
    if plan.reduction is not None:
        return _write_reduced(plan, plan.reduction)
    padding = None if plan.destinations else padding_of(plan.result)
    return mixed_writer(plan.result.device.number, partial(plan_fuse, plan, padding=padding))


def _write_reduced(plan: FusePlan, reduction: ReducePlan) -> Write:
    """A reduction of values that are worked out as they are read, or else written before."""
    values = plan.unreduced
    made, write_result = carried_out(values), reduce.write_reduce(reduction)

    def write_apart(out: Tensor, *operands: Any) -> None:
        write_result(out, made(*operands))

    chain, *others = chains(values, MOST_TENSORS[0])
    reads = None if others or not reduce.is_planned(reduction) else _reads(chain)
    if reads is None:
        return write_apart
    planned = _plan_reduced(plan, reduction, chain, reads), _content(plan, chain.numbers)
    write_at_once = mixed_writer(plan.result.device.number, lambda alignments: planned)
    longest = WIDEST // values.result.dtype.itemsize
    aligned = [
        (value, min(WIDEST, longest * o.dtype.itemsize))
        for value, o, how in zip(chain.tensors, chain.reads, reads.how, strict=True)
        if how in ("SAME_SLOT", "WHOLE_PACKS")
    ]

    def write(out: Tensor, *operands: Any) -> None:
        at_once = not any(operands[value].memory.address % n for value, n in aligned)
        (write_at_once if at_once else write_apart)(out, *operands)

    return write


def _content(plan: FusePlan, numbers: Sequence[Number]) -> Content:
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
) -> tuple[Launches, Content]:
    """Plan the launches of a fusion without a reduction, and what packs its numbers."""
    many, few = (chains(plan, most) for most in MOST_TENSORS)
    try:
        return _planned(plan, many, alignments, padding)
    except TooManyAxesError:
        return _planned(plan, few, alignments, padding)


def _planned(
    plan: FusePlan, parts: Sequence[Chain], alignments: Sequence[int], padding: bytes | None
) -> tuple[Launches, Content]:
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
        types = (*chain.macros, ("RESULT", c_type(result.dtype)))
        found = plan_loops(
            Computed("fuse", types, numbers=chain.room),
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
    return Launches(tuple(launches), found.case, tuple(scratch)), _content(plan, numbers)


class Reads(NamedTuple):
    """Read modes of the operands of a chain, for the kernels that reduce its result."""

    how: list[str | None]  # a name of `Reads` in ``kernels/include/chained.cuh``; None: not at all
    axes: tuple[Axis, ...]  # with the strides of all, where some are broadcast
    firsts: tuple[int, ...]  # bytes where they begin


def _reads(chain: Chain) -> Reads | None:
    """Return the read modes of the operands; None for too many, or for operands too far apart."""
    made, layout = chain.result, chain.result.layout
    longest = WIDEST // made.dtype.itemsize
    octets = sum([o.dtype.itemsize for o in chain.reads])
    if longest * octets > MOST_BYTES or longest * len(chain.reads) > MOST_ELEMENTS:
        return None
    how = [_how(o.layout, layout) for o in chain.reads]
    if layout.is_tiled or None in how:
        return None
    if "BROADCAST" not in how:
        return Reads(how, (), (0,) * len(how))
    specs = [made, *chain.reads]
    layouts = [o.layout.broadcast_to(layout.shape) for o in specs]
    loop = Loop.over(layouts, [o.dtype.itemsize for o in specs], [SECTOR] * len(specs))
    (*slower, last), firsts = loop.axes, tuple(loop.firsts[1:])
    for n, each in enumerate(how, 1):
        whole = last.size % longest == 0 and last.strides[n] == 1 and not loop.firsts[n]
        if each == "BROADCAST" and whole and not any(a.strides[n] % longest for a in slower):
            how[n - 1] = "WHOLE_PACKS"
    axes = tuple([axis._replace(strides=axis.strides[1:]) for axis in loop.axes])
    return Reads(how, axes, firsts) if len(axes) <= RANKS[-1] else None


def _how(operand: Layout, made: Layout) -> str | None:
    """Return how an operand is read; in another order only if it is much smaller."""
    if operand.size == 1:
        return "ONE_ELEMENT"
    if operand.same_placement(made):
        return "SAME_SLOT"
    is_packed = made.size == made.required_size < 2**31 and not operand.is_tiled
    return "BROADCAST" if is_packed and operand.size * 8 <= made.size else None


def _plan_reduced(plan: FusePlan, reduction: ReducePlan, chain: Chain, reads: Reads) -> Launches:
    """How to reduce what a chain makes, as it would be reduced in memory of its own."""
    macros = (*chain.macros, ("READ", ", ".join(map(str, reads.how))))
    chained = reduce.Chained(macros, reads.firsts, chain.room, reads.axes)
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
            chain = Chain(plan, sorted({k, *[n for each in inner for n in each.steps]}))
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
    return sorted(found, key=lambda each: each.value)
