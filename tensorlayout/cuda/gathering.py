"""Reads at positions carried out: the launches of a plan, given addresses."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import replace

from tensorlayout.cuda.engine import faults
from tensorlayout.cuda.engine.driver import Buffer, driver
from tensorlayout.cuda.engine.memory import new_tensors, per_alignment
from tensorlayout.cuda.gather_plan import plan_gather
from tensorlayout.cuda.reach_plan import ReachLaunch
from tensorlayout.plan.base import Run
from tensorlayout.plan.gathering import GatherPlan
from tensorlayout.tensor import Tensor

# What runs launches: the addresses of memories, those of positions, and more of the last struct.
Launches = Callable[..., None]


def prepare_gather(plan: GatherPlan) -> Run:
    """One launch. Positions outside give 0; `faults` raises the IndexError later."""
    new_tensor = new_tensors(plan.result)
    into = prepare_gather_into(plan)
    return lambda x, *positions: into(new_tensor(), x, *positions)


def prepare_gather_into(plan: GatherPlan) -> Run:
    """The same into a tensor given first."""
    spec = plan.result
    if plan.given:
        plan = replace(plan, reach=replace(plan.reach, order=spec.layout.minor_to_major))

    def make(alignments: tuple[int, ...]) -> Launches:
        to, source = alignments
        return prepare_launches(plan_gather(plan, (to, source)), spec.device.number)

    at = per_alignment(make)

    def gather(result: Tensor, x: Tensor, *positions: Tensor) -> Tensor:
        memories = result._memory.address, x._memory.address
        with driver().using(spec.device.number):
            at(*memories)(memories, [p._memory.address for p in positions])
        return result

    return gather


def prepare_launches(
    launches: Sequence[ReachLaunch], device: int, at: int | None = None
) -> Launches:
    """``run(memories, positions, more)``: the launches, on the current stream of `device`.

    That must be the current device. `more` are octets that go into the last struct, `at` bytes from
    its begin. A launch that makes positions writes them to memory of its own, given back at the
    end.
    """
    gpu = driver()
    ready = [(each, gpu.launcher(each.kernel), _pointers(each)) for each in launches]
    reports = faults.reports(device) if any(each.operands for each in launches) else None

    def run(memories: Sequence[int], positions: Sequence[int], more: bytes = b"") -> None:
        addresses = list(positions)
        report = None if reports is None else reports.current(gpu)
        record = report[0].pointer if report is not None else 0
        made: list[Buffer] = []
        for each, launch, pack in ready:
            if each.makes is not None:
                number, nbytes = each.makes
                assert number == len(addresses), "operands are numbered in the order of launches"
                made.append(gpu.allocate(nbytes, device))
            parameters = bytearray(each.parameters)
            own = made[-1].pointer if each.makes is not None else 0
            pack(parameters, memories, addresses, record, own)
            if at is not None and each is launches[-1]:
                parameters[at : at + len(more)] = more
            launch(each.grid, parameters)
            if own:
                addresses.append(own)
        if report is not None:
            faults.launched(*report)

    return run


def _pointers(launch: ReachLaunch) -> Callable[..., None]:
    """What writes the pointers, which open the struct: memories, positions, faults."""
    memories, operands = launch.memories, launch.operands
    empty = (0,) * (faults.MAX_POSITIONS - len(operands))
    count = len(memories) + (launch.makes is not None) + faults.MAX_POSITIONS + 1
    pack_into = struct.Struct(f"<{count}Q").pack_into

    def pack(
        parameters: bytearray,
        to: Sequence[int],
        positions: Sequence[int],
        record: int,
        own: int,
    ) -> None:
        moved = [to[number] + first for number, first in memories]
        if own:
            moved.append(own)
        moved += [positions[number] + first for number, first in operands]
        pack_into(parameters, 0, *moved, *empty, record)

    return pack
