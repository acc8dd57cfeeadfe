"""Reads at positions carried out: the launches of a plan, given addresses."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from tensorlayout.cuda import faults
from tensorlayout.cuda.driver import Buffer, driver
from tensorlayout.cuda.gather_plan import ReachLaunch, plan_gather
from tensorlayout.cuda.memory import new_tensor, per_alignment
from tensorlayout.plan import Run
from tensorlayout.plan.gathering import GatherPlan
from tensorlayout.tensor import Tensor

# What runs launches: the addresses of memories, and those of positions.
Launches = Callable[[Sequence[int], Sequence[int]], None]


def prepare_gather(plan: GatherPlan) -> Run:
    """One launch. Positions outside give 0; `faults` raises the IndexError later."""
    spec = plan.result

    def make(alignments: tuple[int, ...]) -> Launches:
        to, source = alignments
        return prepare_launches(plan_gather(plan, (to, source)), spec.device.number)

    at = per_alignment(make)

    def gather(x: Tensor, *positions: Tensor) -> Tensor:
        result = new_tensor(spec)
        memories = result._memory.address, x._memory.address
        with driver().using(spec.device.number):
            at(*memories)(memories, [p._memory.address for p in positions])
        return result

    return gather


def prepare_launches(launches: Sequence[ReachLaunch], device: int) -> Launches:
    """What runs `launches` on the current stream of `device`, the current device.

    A launch that makes positions writes them to memory of its own, given back when all are done.
    """
    gpu = driver()
    ready = [(each, gpu.launcher(each.kernel), _pointers(each)) for each in launches]
    record = faults.address(device)

    def run(memories: Sequence[int], positions: Sequence[int]) -> None:
        addresses = list(positions)
        kept: list[Buffer] = []
        for each, launch, pack in ready:
            to = memories
            if each.makes is not None:
                number, nbytes = each.makes
                kept.append(gpu.allocate(nbytes, device))
                to = (kept[-1].pointer,)
                assert number == len(addresses)
            parameters = bytearray(each.parameters)
            pack(parameters, to, addresses, record)
            launch(each.grid, parameters)
            if each.makes is not None:
                addresses.append(kept[-1].pointer)
        if ready:
            faults.launched(device)

    return run


def _pointers(launch: ReachLaunch) -> Callable[..., None]:
    """What writes the pointers, which open the struct: memories, positions, faults."""
    memories = len(launch.firsts)
    empty = faults.MAX_POSITIONS - len(launch.operands)
    pack_into = struct.Struct(f"<{memories + faults.MAX_POSITIONS + 1}Q").pack_into
    firsts, operands = launch.firsts, launch.operands

    def pack(
        parameters: bytearray, to: Sequence[int], positions: Sequence[int], record: int
    ) -> None:
        moved = [address + first for address, first in zip(to, firsts, strict=True)]
        moved += [positions[number] + first for number, first in operands]
        pack_into(parameters, 0, *moved, *(0,) * empty, record)

    return pack
