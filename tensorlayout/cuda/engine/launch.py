"""Kernel launches: planned once in integers, bound to a device, and called with addresses.

1. A family such as ``cuda/copy`` plans a `Launch`: the kernel, the number of blocks, and the bytes
   of the kernel's one struct, with zeros in place of pointers and scalars.
2. `bind_launches` loads the kernel on a device and prepares all that does not depend on a call.
3. A call copies the struct, writes addresses and scalars into it, and launches.

Example: a copy of ``x[1:]``, float32, into a new tensor. The struct begins with the pointers `to`
and `from`, so memory 0 is the destination and memory 1 is `x`. `firsts` is (0, 4): the first
element read is 4 bytes behind the lowest slot of `x`. A call with the addresses 0x1000 and 0x2000
writes 0x1000 and 0x2004. Accesses of 16 bytes need aligned addresses, so `make_writer` keeps one
bound launch for each combination of the operands' alignments.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import accumulate
from operator import add, attrgetter, itemgetter, or_
from typing import Any

from tensorlayout.cuda.engine import faults
from tensorlayout.cuda.engine.driver import Kernel, driver
from tensorlayout.cuda.engine.kernel_shapes import make_parameter_struct
from tensorlayout.cuda.engine.memory import CacheByAlignment, alignment_of, low_bits
from tensorlayout.cuda.engine.structs import constant_value
from tensorlayout.plan import Write
from tensorlayout.tensor import Tensor

THREADS = constant_value("include/platform.cuh", "THREADS")  # of a block

# Elements (or packs of them) that a thread moves, as in kernels/copy/copy.cu and fill/fill.cu.
PER_THREAD = 4
BLOCK = PER_THREAD * THREADS  # elements that a block of a kernel without tiles moves

WIDEST = 16  # bytes that a thread moves at once
_ALIGNMENT = 256  # of memories in between

_address = attrgetter("memory.address")

# Numbers of what no call gives: no memory, whose address is 0; and the record of faults.
NOTHING, FAULTS = -2, -1


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch of `grid` blocks, ready but for addresses and scalars.

    Attributes:
        parameters: the struct, which begins with the pointers; zeros where these and scalars go.
        firsts: for each pointer, in order, the bytes from the lowest slot to what it points to.
        memories: for each pointer the number of its memory in the call, `NOTHING` or `FAULTS`;
            empty: the first is of the first memory, and so on.
        scalars_at: where the scalars of the call go, in bytes; None: behind the pointers.
        takes: from which byte on, and up to which, it takes these scalars; None: to the end.

    """

    kernel: Kernel
    grid: int
    parameters: bytes = field(repr=False)
    firsts: tuple[int, ...]
    memories: tuple[int, ...] = ()
    scalars_at: int | None = None
    takes: tuple[int, int | None] = (0, None)

    @classmethod
    def with_members(
        cls,
        kernel: Kernel,
        grid: int,
        firsts: tuple[int, ...],
        memories: tuple[int, ...] = (),
        /,
        **members: Any,
    ) -> Launch:
        """Launch with a struct of these members; a walk is given as its axes."""
        return cls(kernel, grid, bytes(make_parameter_struct(kernel, **members)), firsts, memories)

    def with_memories(self, memories: Sequence[int], *shifts: int) -> Launch:
        """Launch where memory k is number ``memories[k]`` of a call, ``shifts[k]`` bytes on."""
        own = self.memories or range(len(self.firsts))
        by = (*shifts, *[0] * len(memories))
        firsts = tuple([first + by[m] for first, m in zip(self.firsts, own, strict=True)])
        return replace(self, firsts=firsts, memories=tuple([memories[m] for m in own]))

    def with_constant_scalars(self, content: bytes) -> Launch:
        """Launch with `content` as the scalars, whatever the scalars of a call are."""
        at = 8 * len(self.firsts) if self.scalars_at is None else self.scalars_at
        scalars = content[slice(*self.takes)]
        head, tail = self.parameters[:at], self.parameters[at + len(scalars) :]
        return replace(self, parameters=head + scalars + tail, takes=(0, 0))


@dataclass(frozen=True, slots=True)
class Launches:
    """Launches one after the other.

    Attributes:
        case: the kind of work, one of the names in the function that planned it.
        scratch: **bytes** of memories that are needed in between: new at each call, parts of one,
            and numbered behind those of the call. It goes back to where it came from, which hands
            it out in the order of the stream.

    """

    launches: tuple[Launch, ...]
    case: str = ""
    scratch: tuple[int, ...] = ()


# ``run(addresses, scalars)``: addresses of lowest slots, in the order of the memories of a call.
Bound = Callable[[Sequence[int], bytes], None]


def bind_launches(planned: Launch | Launches | None, device: int) -> Bound:
    """Return what launches, on the current stream of `device`, which must be the current device."""
    if not isinstance(planned, Launches):
        planned = Launches(() if planned is None else (planned,))
    steps, gpu = [_bind_launch(launch) for launch in planned.launches], driver()
    numbers = {number for launch in planned.launches for number in launch.memories}
    # One launch without scratch memory and faults needs nothing else in a call.
    if len(steps) == 1 and not planned.scratch and not numbers & {NOTHING, FAULTS}:
        return steps[0]
    reports = faults.fault_records(device) if FAULTS in numbers else None
    # All scratch memories of a call are parts of one allocation.
    *starts, room = accumulate(
        [-(-n // _ALIGNMENT) * _ALIGNMENT for n in planned.scratch], initial=0
    )

    def launch_all(addresses: Sequence[int], scalars: bytes = b"") -> None:
        scratch = gpu.allocate(room, device) if room else None
        first = 0 if scratch is None else scratch.pointer
        # The record belongs to the stream that is current now, not when the launch was bound.
        report = None if reports is None else reports.record_of_current_stream(gpu)
        record = 0 if report is None else report[0].pointer
        everything = [*addresses, *map(first.__add__, starts), 0, record]
        for step in steps:
            step(everything, scalars)
        if report is not None:
            faults.note_launches(*report)

    return launch_all


def _bind_launch(launch: Launch) -> Bound:
    """Bind one launch; do here what can be done before a call."""
    ready, grid, template = driver().launcher(launch.kernel), launch.grid, launch.parameters
    firsts, memories = launch.firsts, launch.memories
    pack_into = struct.Struct(f"<{len(firsts)}Q").pack_into
    # An itemgetter of one number would return an address, not a tuple.
    select_addresses: Any = itemgetter(*memories) if len(memories) > 1 else None
    at = 8 * len(firsts) if launch.scalars_at is None else launch.scalars_at
    takes = slice(*launch.takes)

    def launch_kernel(addresses: Sequence[int], scalars: bytes = b"") -> None:
        parameters = bytearray(template)  # of this call alone: other threads may launch, too
        call_addresses = addresses
        if memories:
            call_addresses = (
                select_addresses(addresses) if select_addresses else (addresses[memories[0]],)
            )
        pack_into(parameters, 0, *map(add, call_addresses, firsts))
        if scalars:
            own_scalars = scalars[takes]
            parameters[at : at + len(own_scalars)] = own_scalars
        ready(grid, parameters)

    return launch_kernel


def make_writer(
    device: int,
    plan: Callable[[tuple[int, ...]], Launch | Launches | None],
    tensors: int | None = None,
    content: Callable[..., bytes] | None = None,
    alike: slice | None = None,
    aligned: int | None = None,
) -> Write:
    """Return ``write(out, *operands)``: the launches of ``plan(alignments)``, made once for each.

    `alignments`: powers of two that divide the addresses of the tensors, in their order. `tensors`:
    how many operands, the first ones, are tensors; None: all. `content`: what makes octets for the
    struct of the others. `alike`: tensors of which the least alignment counts for all: each
    combination would have a plan of its own. `aligned`: how many alignments, the first ones, the
    plan asks for; None: all.
    """
    at = CacheByAlignment(lambda alignments: bind_launches(plan(alignments), device))

    def launch_on_operands(*operands: Any) -> None:
        addresses = [*map(_address, operands[:tensors])]
        scalars = content(*operands[tensors:]) if content is not None else b""
        seen = addresses
        if alike is not None:
            seen = addresses.copy()
            seen[alike] = [reduce(or_, addresses[alike])] * len(addresses[alike])
        alignments, gpu = tuple(map(alignment_of, map(low_bits, seen[:aligned]))), driver()
        if device == gpu.only:
            at[alignments](addresses, scalars)
            return
        with gpu.using_device(device):
            at[alignments](addresses, scalars)

    return launch_on_operands


def make_writer_with_numbers(
    device: int,
    plan: Callable[[tuple[int, ...]], tuple[Launches, Callable[[Sequence[Any]], bytes]]],
) -> Write:
    """Return ``write(out, *operands)`` of operands some of which are numbers, with memories, too.

    `plan(alignments)` gives, with the launches, what makes octets of all the operands.
    """

    def bind_for_alignments(
        alignments: tuple[int, ...],
    ) -> tuple[Bound, Callable[[Sequence[Any]], bytes]]:
        launches, content = plan(alignments)
        return bind_launches(launches, device), content

    at = CacheByAlignment(bind_for_alignments)

    def launch_with_numbers(*operands: Any) -> None:
        # Numbers have no addresses, and are as well aligned as can be.
        addresses = [x.memory.address if type(x) is Tensor else 0 for x in operands]
        with driver().using_device(device):
            run, content = at[tuple(map(alignment_of, map(low_bits, addresses)))]
            run(addresses, content(operands))

    return launch_with_numbers


def blocks_for_elements(count: int) -> int:
    """Return how many blocks move `count` elements."""
    return -(-count // BLOCK)


def blocks_for_walk(count: int, rank: int, multi_element_ranks: tuple[int, ...]) -> int:
    """Return how many blocks walk `count` elements; threads take several in kernels of `ranks`."""
    return blocks_for_elements(count if rank in multi_element_ranks else count * PER_THREAD)
