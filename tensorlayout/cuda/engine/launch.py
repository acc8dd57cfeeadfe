"""How every kernel is launched: what is planned, bound to a driver, given addresses and scalars."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import add
from typing import Any

from tensorlayout.cuda.engine.driver import Kernel, driver
from tensorlayout.cuda.engine.memory import per_alignment
from tensorlayout.cuda.engine.structs import constant
from tensorlayout.plan.base import Write

THREADS = constant("platform.cuh", "THREADS")  # of a block

# Elements (or packs of them) that a thread moves, as in kernels/copy.cu and fill.cu.
PER_THREAD = 4

# Elements that a block of a kernel without tiles moves.
BLOCK = PER_THREAD * THREADS


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch, ready but for addresses and scalars.

    Attributes:
        kernel: what to compile.
        grid: how many blocks.
        parameters: the struct, which begins with the pointers; zeros where these and scalars go.
        firsts: for each pointer, in order, the bytes from the lowest slot to what it points to.
        memories: for each pointer the number of its memory in the call; empty: the first is of the
            first memory, and so on.
        scalars_at: where the scalars of the call go, in bytes; None: behind the pointers.

    """

    kernel: Kernel
    grid: int
    parameters: bytes = field(repr=False)
    firsts: tuple[int, ...]
    memories: tuple[int, ...] = ()
    scalars_at: int | None = None


@dataclass(frozen=True, slots=True)
class Launches:
    """Launches one after the other.

    Attributes:
        launches: in their order.
        scratch: **bytes** of memories that are needed in between: new at each call, and numbered
            behind those of the call. They go back to where they came from, which hands them out in
            the order of the stream.

    """

    launches: tuple[Launch, ...]
    scratch: tuple[int, ...] = ()


# ``run(addresses, scalars)``: addresses of lowest slots, in the order of the memories of a call.
Bound = Callable[[Sequence[int], bytes], None]


def bind(planned: Launch | Launches | None, device: int) -> Bound:
    """What launches, on the current stream of `device`, which must be the current device.

    Asynchronous, from any thread. None: nothing is launched.
    """
    if planned is None:
        return _nothing
    if isinstance(planned, Launch):
        return _bind(planned)
    steps, scratch, gpu = [_bind(each) for each in planned.launches], planned.scratch, driver()
    if not scratch:

        def run_all(addresses: Sequence[int], scalars: bytes = b"") -> None:
            for step in steps:
                step(addresses, scalars)

        return run_all

    def run_with_scratch(addresses: Sequence[int], scalars: bytes = b"") -> None:
        made = [gpu.allocate(nbytes, device) for nbytes in scratch]
        everything = [*addresses, *[each.pointer for each in made]]
        for step in steps:
            step(everything, scalars)

    return run_with_scratch


def _nothing(addresses: Sequence[int], scalars: bytes = b"") -> None:
    """What is launched for no elements."""


def _bind(launch: Launch) -> Bound:
    """One launch; what can be done before a call is done here: there it costs nothing."""
    ready, grid, template = driver().launcher(launch.kernel), launch.grid, launch.parameters
    firsts, memories = launch.firsts, launch.memories
    pack_into = struct.Struct(f"<{len(firsts)}Q").pack_into
    at = 8 * len(firsts) if launch.scalars_at is None else launch.scalars_at

    def run(addresses: Sequence[int], scalars: bytes = b"") -> None:
        parameters = bytearray(template)
        given = [addresses[number] for number in memories] if memories else addresses
        pack_into(parameters, 0, *map(add, given, firsts))
        if scalars:
            parameters[at : at + len(scalars)] = scalars
        ready(grid, parameters)

    return run


def writer(
    device: int,
    plan: Callable[[tuple[int, ...]], Launch | Launches | None],
    tensors: int | None = None,
    content: Callable[..., bytes] | None = None,
) -> Write:
    """``write(out, *operands)``: the launches of ``plan(alignments)``, asked for once for each.

    `alignments`: powers of two that divide the addresses of the tensors, in their order. `tensors`:
    how many operands, the first ones, are tensors; None: all. `content`: what the others become,
    octets for the struct.
    """
    at = per_alignment(lambda alignments: bind(plan(alignments), device))

    def write(*operands: Any) -> None:
        addresses = [x._memory.address for x in operands[:tensors]]
        scalars = content(*operands[tensors:]) if content is not None else b""
        with driver().using(device):
            at(*addresses)(addresses, scalars)

    return write


def blocks_for(count: int) -> int:
    """How many blocks move `count` elements."""
    return -(-count // BLOCK)


def blocks_of_packs(threads: int, pack: int) -> int:
    """How many blocks have `threads` in all, each with several turns where packs are small.

    As ``PACKS`` of kernels/elementwise.cu and kernels/band.cu.
    """
    return -(-threads // (THREADS * (4 // pack if pack < 4 else 1)))
