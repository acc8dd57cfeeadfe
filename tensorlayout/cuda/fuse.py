"""Fused functions on CUDA: the chain of functors that a plan says, as the text of one kernel.

``kernels/fuse.cu`` has the loops, those of elementwise functions, around the text. It is made of
the plan alone: functions that do the same to the same dtypes have one text, and so one kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from tensorlayout.cuda import reduce
from tensorlayout.cuda.elementwise.launches import Computed
from tensorlayout.cuda.elementwise.planning import compute_type, plan_loops, walks_tiles
from tensorlayout.cuda.engine.c_types import c_type
from tensorlayout.cuda.engine.driver import PARAMETER_BYTES, driver
from tensorlayout.cuda.engine.launch import Bound, Launches, bind
from tensorlayout.cuda.engine.memory import new_tensors, padding_of, per_alignment
from tensorlayout.cuda.engine.scalars import octets
from tensorlayout.cuda.engine.sectors import SECTOR
from tensorlayout.cuda.engine.shared_tiles.problem import TUNING, TileTuning
from tensorlayout.dtypes import DType
from tensorlayout.plan.base import Write
from tensorlayout.plan.copy import CopyPlan
from tensorlayout.plan.elementwise import ElementwisePlan
from tensorlayout.plan.fuse import FusePlan
from tensorlayout.tensor import Tensor, TensorSpec

# Steps of one kernel, which bounds what a compiler takes, and its operands, which bounds registers.
# Where a struct would exceed what a launch takes, there are fewer.
MOST_STEPS = 64
MOST_OPERANDS = (16, 5)


class Leaf(NamedTuple):
    """What a kernel reads: a value of the plan; of a number, as an element of `scalar`."""

    value: int
    scalar: DType | None = None


class Chain(NamedTuple):
    """The steps of one kernel, by their numbers, the last of which it writes; and what it reads."""

    steps: tuple[int, ...]
    leaves: tuple[Leaf, ...]


def write_fuse(plan: FusePlan) -> Write:
    """One launch; more for very many steps or operands.

    A reduction reads what the steps before it have written.
    """
    if plan.reduction is not None:
        values = replace(plan, reduction=None, result=plan.steps[-1].result)
        new, write_values = new_tensors(values.result), write_fuse(values)
        write_result = reduce.write_reduce(plan.reduction)

        def write_both(out: Tensor, *operands: Any) -> None:
            made = new()
            write_values(made, *operands)
            write_result(out, made)

        return write_both
    padding = None if plan.given else padding_of(plan.result)
    number = plan.result.device.number

    def make(alignments: tuple[int, ...]) -> tuple[Bound, Callable[..., bytes]]:
        launches, numbers = plan_fuse(plan, alignments, padding)
        return bind(launches, number), _content(plan, numbers)

    at = per_alignment(make)

    def write(*tensors: Any) -> None:
        # Numbers have no addresses, and are as well aligned as can be.
        addresses = [x._memory.address if type(x) is Tensor else 0 for x in tensors]
        with driver().using(number):
            run, content = at(*addresses)
            run(addresses, content(tensors))

    return write


def _content(plan: FusePlan, leaves: Sequence[Leaf]) -> Callable[[Sequence[Any]], bytes]:
    """What makes the tensors and numbers of a call octets, 16 for each leaf; none without numbers.

    OverflowError for integers that do not fit.
    """
    name = plan.operation.name
    if all(dtype is None for _, dtype in leaves):
        return lambda tensors: b""

    def content(tensors: Sequence[Any]) -> bytes:
        each = [b"" if d is None else octets(name, tensors[v + 1], d) for v, d in leaves]
        return b"".join([one.ljust(16, b"\0") for one in each])

    return content


def takes_tiles(plan: FusePlan) -> bool:
    """Whether a plan of tiled tensors is carried out without copies out of their tiles."""
    if plan.reduction is not None:
        return False
    padding = None if plan.given else padding_of(plan.result)
    return all(
        walks_tiles(
            _written(plan, chain),
            [o for o in _read(plan, chain) if isinstance(o, TensorSpec)],
            padding,
        )
        for most in MOST_OPERANDS
        for chain in chains(plan, most)
    )


# ---- Launches


def plan_fuse(
    plan: FusePlan,
    alignments: Sequence[int],
    padding: bytes | None = None,
    tuning: TileTuning = TUNING,
) -> tuple[Launches, list[Leaf]]:
    """How to carry out a plan without a reduction, and what the launches read, one after the other.

    Arguments, errors and cases as of `plan_elementwise`; the case is that of the last launch.
    """
    for most in MOST_OPERANDS:
        found, leaves = _planned(plan, chains(plan, most), alignments, padding, tuning)
        if all(len(launch.parameters) <= PARAMETER_BYTES for launch in found.launches):
            break
    return found, leaves


def _planned(
    plan: FusePlan,
    parts: Sequence[Chain],
    alignments: Sequence[int],
    padding: bytes | None,
    tuning: TileTuning,
) -> tuple[Launches, list[Leaf]]:
    """A launch for each chain; what is in between is in scratch memory."""
    count = len(plan.operands)
    places = {value: value + 1 for value in range(count)}
    places |= {count + chain.steps[-1]: count + 1 + k for k, chain in enumerate(parts[:-1])}
    aligned = [*alignments, *[SECTOR] * (len(parts) - 1)]  # new memory is, of the widest access
    launches, leaves, scratch = [], [], []
    for chain in parts:
        result, operands = _written(plan, chain), _read(plan, chain)
        is_last = chain is parts[-1]
        to = 0 if is_last else places[count + chain.steps[-1]]
        memories = [to, *[places[leaf.value] for leaf in chain.leaves]]
        layouts = [o.layout if isinstance(o, TensorSpec) else None for o in operands]
        dtypes = [o.dtype if isinstance(o, TensorSpec) else o for o in operands]
        found = plan_loops(
            Computed(plan.operation.name, "fuse.cu", "fuse", _macros(plan, chain)),
            result,
            layouts,
            dtypes,
            [aligned[m] for m in memories],
            padding if is_last else None,
            tuning,
        )
        takes = 16 * len(leaves), 16 * (len(leaves) + len(chain.leaves))
        for each in found.launches:
            placed = each.placed(memories)
            launches.append(replace(placed, takes=takes) if each.takes[1] is None else placed)
        leaves += chain.leaves
        if not is_last:
            scratch.append(result.layout.nbytes(result.dtype))
    return Launches(tuple(launches), found.case, tuple(scratch)), leaves


def _written(plan: FusePlan, chain: Chain) -> TensorSpec:
    last = chain.steps[-1]
    return plan.result if last == len(plan.steps) - 1 else plan.steps[last].result


def _read(plan: FusePlan, chain: Chain) -> list[TensorSpec | DType]:
    """What a chain reads; of numbers, the dtype."""
    values = [*plan.operands, *[step.result for step in plan.steps]]
    return [values[value] if scalar is None else scalar for value, scalar in chain.leaves]


# ---- Chains


def chains(plan: FusePlan, most: int) -> list[Chain]:
    """The kernels of a plan: one that does all, if that has few enough steps and at most `most` leaves.

    Else the longest of the chains that meet in a step is written to memory, and read again. Steps
    that are needed by several chains are carried out in each.
    """
    count = len(plan.operands)
    made: dict[int, Chain] = {}  # by the number of the value
    chain_of: dict[int, Chain] = {}
    for k, sources in enumerate(plan.sources):
        while True:
            inner = [chain_of[v] for v in sources if v in chain_of and v not in made]
            steps = sorted({k, *[step for chain in inner for step in chain.steps]})
            chain = Chain(tuple(steps), _leaves(plan, steps))
            if len(chain.leaves) <= most and len(steps) <= MOST_STEPS:
                break
            longest = max(inner, key=lambda chain: (len(chain.leaves) + len(chain.steps)))
            made[count + longest.steps[-1]] = longest
        chain_of[count + k] = chain
    needed, found = [chain], []
    while needed:
        chain = needed.pop()
        if chain not in found:
            found.append(chain)
            needed += [made[leaf.value] for leaf in chain.leaves if leaf.value in made]
    return sorted(found, key=lambda chain: chain.steps[-1])


def _leaves(plan: FusePlan, steps: Sequence[int]) -> tuple[Leaf, ...]:
    """What steps read that none of them gives, in the order in which they ask for it."""
    inside = {len(plan.operands) + k for k in steps}
    found = [leaf for k in steps for leaf in _sources(plan, k) if leaf.value not in inside]
    return tuple(dict.fromkeys(found))


def _sources(plan: FusePlan, k: int) -> list[Leaf]:
    step, sources = plan.steps[k], plan.sources[k]
    if not isinstance(step, ElementwisePlan):
        return [Leaf(sources[0])]
    return [
        Leaf(value, dtype if isinstance(operand, type) else None)
        for value, operand, dtype in zip(sources, step.operands, step.inputs, strict=True)
    ]


def _macros(plan: FusePlan, chain: Chain) -> tuple[tuple[str, str], ...]:
    """What ``kernels/fuse.cu`` is told."""
    types = [c_type(o.dtype if isinstance(o, TensorSpec) else o) for o in _read(plan, chain)]
    return (
        ("OPERANDS", str(len(types))),
        ("ELEMENTS", ", ".join(types)),
        ("CHAIN", _text(plan, chain, types)),
    )


def _text(plan: FusePlan, chain: Chain, types: Sequence[str]) -> str:
    """The function of one element of each operand, whose every step has the type that it stores."""
    names = {leaf: f"v{n}" for n, leaf in enumerate(chain.leaves)}
    given = ", ".join([f"{kind} {name}" for kind, name in zip(types, names.values(), strict=True)])
    lines = []
    for k in chain.steps:
        step, operands = plan.steps[k], [names[leaf] for leaf in _sources(plan, k)]
        value, name = _value(step, ", ".join(operands)), f"v{len(names)}"
        lines.append(f"const {c_type(step.result.dtype)} {name}({value});")
        names[Leaf(len(plan.operands) + k)] = name
    kind = c_type(plan.steps[chain.steps[-1]].result.dtype)
    return f"COMMON {kind} chain({given}) {{ {' '.join(lines)} return {name}; }}"


def _value(step: ElementwisePlan | CopyPlan, operands: str) -> str:
    """What a step makes of its operands; a copy in the same dtype keeps the bits."""
    if isinstance(step, ElementwisePlan):
        return f"call<functions::{step.operation.function}, {compute_type(step)}>({operands})"
    if step.source.dtype == step.result.dtype:
        return operands
    return f"convert<{c_type(step.result.dtype)}>({operands})"
