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
from operator import add, itemgetter, or_
from typing import Any

from tensorlayout.cuda.engine import faults
from tensorlayout.cuda.engine.driver import Kernel, driver
from tensorlayout.cuda.engine.kernel_shapes import make_parameter_struct
from tensorlayout.cuda.engine.memory import UNALIGNED, CacheByAlignment, alignment_of, low_bits
from tensorlayout.cuda.engine.scalars import NumberPacker
from tensorlayout.cuda.engine.structs import constant_value
from tensorlayout.tensor import Tensor

THREADS = constant_value("include/platform.cuh", "THREADS")  # of a block

# Elements, or packs, that a thread moves, as in kernels/copy/copy.cu and fill/fill.cu.
PER_THREAD = 4
BLOCK = PER_THREAD * THREADS  # elements that a block of a kernel without tiles moves

WIDEST = 16  # bytes of the widest access of a thread

# Least packs in a row of which the last elements are moved one by one: in shorter rows these extra
# accesses outweigh what packs save.
FULL_PACKS = 8

_ALIGNMENT = 256  # bytes; each scratch memory begins at a multiple, as `Driver.allocate` does

# Numbers of memories that are no operands: a null pointer, and the record of faults, which follows
# all other memories.
NOTHING, FAULTS = -2, -1


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch of `grid` blocks, complete except for addresses and scalars.

    Attributes:
        parameters: bytes of the struct, which begins with the pointers; zeros in their place and in
            that of scalars.
        firsts: for each pointer, the bytes from the lowest slot of its memory to its target.
        memories: for each pointer, the number of its memory in the call, `NOTHING` or `FAULTS`; if
            empty, pointer k belongs to memory k.
        scalars_at: byte of the struct at which scalars of the call go; None: after the pointers.
        takes: range of bytes of the call's scalars that this launch takes; None: to the end.

    """

    kernel: Kernel
    grid: int
    parameters: bytes = field(repr=False)
    firsts: tuple[int, ...]
    memories: tuple[int, ...] = ()
    scalars_at: int | None = None
    takes: tuple[int, int | None] = (0, None)

    @classmethod
    def from_members(
        cls,
        kernel: Kernel,
        grid: int,
        firsts: tuple[int, ...],
        memories: tuple[int, ...] = (),
        /,
        **members: Any,
    ) -> Launch:
        """Return a launch with a struct of these members; the value of a walk is its axes."""
        return cls(kernel, grid, bytes(make_parameter_struct(kernel, **members)), firsts, memories)

    def with_memories(self, memories: Sequence[int], *shifts: int) -> Launch:
        """Return the launch with memory k replaced by ``memories[k]``, ``shifts[k]`` bytes on."""
        own = self.memories or range(len(self.firsts))
        by = (*shifts, *[0] * len(memories))
        firsts = tuple([first + by[m] for first, m in zip(self.firsts, own, strict=True)])
        return replace(self, firsts=firsts, memories=tuple([memories[m] for m in own]))

    def with_constant_scalars(self, content: bytes) -> Launch:
        """Return the launch with `content` as its scalars, which ignores those of a call."""
        at = 8 * len(self.firsts) if self.scalars_at is None else self.scalars_at
        scalars = content[slice(*self.takes)]
        head, tail = self.parameters[:at], self.parameters[at + len(scalars) :]
        return replace(self, parameters=head + scalars + tail, takes=(0, 0))


@dataclass(frozen=True, slots=True)
class Launches:
    """Launches in sequence.

    Attributes:
        case: kind of work, for tests; the function that planned it defines the names.
        scratch: **bytes** of each scratch memory. They are numbered after the memories of the call,
            and are parts of one allocation per call. It can be freed before the launches have
            finished, because the allocator reuses memory in the order of the stream.

    """

    launches: tuple[Launch, ...]
    case: str = ""
    scratch: tuple[int, ...] = ()


# ``run(addresses, scalars)``: addresses of lowest slots, in the order of the memories of a call.
Bound = Callable[[Sequence[int], bytes], None]


def bind_launches(planned: Launch | Launches | None, device: int) -> Bound:
    """Return a function that launches on the current stream of `device`, the current device."""
    if not isinstance(planned, Launches):
        planned = Launches(() if planned is None else (planned,))
    steps = [_bind_launch(launch) for launch in planned.launches]

    def launch_all(addresses: Sequence[int], scalars: bytes = b"") -> None:
        for step in steps:
            step(addresses, scalars)

    run = steps[0] if len(steps) == 1 else launch_all
    # Most calls need neither of these.
    if any(FAULTS in launch.memories for launch in planned.launches):
        run = _with_fault_record(run, device)
    return _with_scratch(run, planned.scratch, device) if planned.scratch else run


def _with_scratch(run: Bound, scratch: Sequence[int], device: int) -> Bound:
    """Return `run` with addresses of scratch memories behind those of the call."""
    gpu = driver()
    # All scratch memories of a call are parts of one allocation.
    *starts, room = accumulate([-(-n // _ALIGNMENT) * _ALIGNMENT for n in scratch], initial=0)

    def run_with_scratch(addresses: Sequence[int], scalars: bytes = b"") -> None:
        allocated = gpu.allocate(room, device) if room else None
        first = 0 if allocated is None else allocated.pointer
        run([*addresses, *map(first.__add__, starts)], scalars)

    return run_with_scratch


def _with_fault_record(run: Bound, device: int) -> Bound:
    """Return `run` with the address of the record of faults behind all others."""
    gpu, records = driver(), faults.fault_records(device)

    def run_and_note(addresses: Sequence[int], scalars: bytes = b"") -> None:
        # The record belongs to the stream that is current now, not when the launch was bound.
        record, stream = records.record_of_current_stream(gpu)
        if not faults.is_strict():
            run([*addresses, record.pointer], scalars)
            faults.note_launches(gpu, record, stream)
            return
        with faults.checks_in_turn():  # so that no other thread takes the error
            run([*addresses, record.pointer], scalars)
            faults.note_launches(gpu, record, stream)
            faults.raise_pending_errors()

    return run_and_note


def _bind_launch(launch: Launch) -> Bound:
    """Bind one launch; everything that does not depend on a call is done here."""
    ready, grid, template = driver().launcher(launch.kernel), launch.grid, launch.parameters
    # Null pointers are zeros in the template.
    numbers = launch.memories or range(len(launch.firsts))
    form = "".join(["8x" if number == NOTHING else "Q" for number in numbers])
    pack_into = struct.Struct(f"<{form}").pack_into
    memories = tuple([number for number in launch.memories if number != NOTHING])
    firsts = [
        first for first, number in zip(launch.firsts, numbers, strict=True) if number != NOTHING
    ]
    count, shifts = len(firsts), any(firsts)
    # An itemgetter of one number would return an address, not a tuple.
    select_addresses: Any = itemgetter(*memories) if len(memories) > 1 else None
    at = 8 * len(launch.firsts) if launch.scalars_at is None else launch.scalars_at
    takes = slice(*launch.takes)

    def launch_kernel(addresses: Sequence[int], scalars: bytes = b"") -> None:
        parameters = bytearray(template)  # a copy for this call, because other threads may launch
        pointers: Any = addresses
        if memories:
            pointers = (
                select_addresses(addresses) if select_addresses else (addresses[memories[0]],)
            )
        if shifts or len(pointers) != count:
            pointers = map(add, pointers, firsts)
        pack_into(parameters, 0, *pointers)
        if scalars:
            own_scalars = scalars[takes]
            parameters[at : at + len(own_scalars)] = own_scalars
        ready(grid, parameters)

    return launch_kernel


class LaunchWriter:
    """A `Write` that needs addresses only, so that the call allocates its result itself.

    `launch` takes the address of the result, and the operands.
    """

    __slots__ = ("launch",)

    def __init__(self, launch: Callable[[int, Sequence[Any]], None]) -> None:
        self.launch = launch

    def __call__(self, out: Tensor, *operands: Any) -> None:
        """Write the result into `out`."""
        self.launch(out.memory[0], operands)


def make_bytes_writer(nbytes: int, device: int) -> LaunchWriter:
    """Return ``write(out, x)``, which copies the bytes of `x` on its device."""
    gpu = driver()

    def copy(address: int, operands: Sequence[Tensor]) -> None:
        source = operands[0].memory[0]
        if device == gpu.only:
            gpu.copy_device_to_device(address, source, nbytes)
        else:
            with gpu.using_device(device):
                gpu.copy_device_to_device(address, source, nbytes)

    return LaunchWriter(copy if nbytes else lambda address, operands: None)


def make_writer(
    device: int,
    plan: Callable[[tuple[int, ...]], Launch | Launches | None],
    tensor_count: int | None = None,
    pack_scalars: Callable[..., bytes] | None = None,
    same_alignment: slice | None = None,
    aligned_count: int | None = None,
) -> LaunchWriter:
    """Return ``write(out, *operands)``, which runs ``plan(alignments)``.

    A plan is made once per tuple of alignments: powers of two that divide the tensors' addresses.

    - `tensor_count`: number of leading operands that are tensors, with `out`; None for all.
    - `pack_scalars`: function that encodes the other operands as bytes of the struct.
    - `same_alignment`: tensors whose least alignment counts for all of them, so that there are
      fewer plans.
    - `aligned_count`: number of leading alignments that the plan needs; None for all.
    """
    last = None if tensor_count is None else tensor_count - 1
    pack = None if pack_scalars is None else lambda operands: pack_scalars(*operands[last:])
    return make_writer_with_numbers(
        device,
        lambda alignments: (plan(alignments), pack),
        tensor_count,
        same_alignment,
        aligned_count,
    )


def make_writer_with_numbers(
    device: int,
    plan: Callable[[tuple[int, ...]], tuple[Launch | Launches | None, NumberPacker | None]],
    tensor_count: int | None = None,
    same_alignment: slice | None = None,
    aligned_count: int | None = None,
) -> LaunchWriter:
    """Return ``write(out, *operands)`` for operands that are tensors or numbers, in any order.

    ``plan(alignments)`` returns the launches, and a function that encodes the numbers among the
    operands. Numbers before `tensor_count` count as memories, too; the rest as in `make_writer`.
    """
    gpu, last = driver(), None if tensor_count is None else tensor_count - 1

    def bind_for_alignments(alignments: tuple[int, ...]) -> tuple[Bound, NumberPacker | None]:
        launches, pack_numbers = plan(alignments[:aligned_count])
        return bind_launches(launches, device), pack_numbers

    at = CacheByAlignment(bind_for_alignments)

    def launch(address: int, operands: Sequence[Any]) -> None:
        # The loop takes half the time of maps over the operands.
        addresses, bits = [address], address
        for x in operands[:last]:
            # A number has address 0, which counts as fully aligned.
            address = x.memory[0] if type(x) is Tensor else 0
            addresses.append(address)
            bits |= address
        key: Any = len(addresses)
        if bits & UNALIGNED:
            seen = addresses
            if same_alignment is not None:
                # The lowest bit of all addresses together is their least alignment.
                seen = addresses.copy()
                group = addresses[same_alignment]
                seen[same_alignment] = [reduce(or_, group)] * len(group)
            key = tuple(map(alignment_of, map(low_bits, seen[:aligned_count])))
        if device == gpu.only:
            run, pack_numbers = at[key]
            run(addresses, b"" if pack_numbers is None else pack_numbers(operands))
            return
        with gpu.using_device(device):
            run, pack_numbers = at[key]
            run(addresses, b"" if pack_numbers is None else pack_numbers(operands))

    return LaunchWriter(launch)


def blocks_for_elements(count: int) -> int:
    """Return the number of blocks that move `count` elements."""
    return -(-count // BLOCK)


def blocks_for_walk(count: int, rank: int, multi_element_ranks: tuple[int, ...]) -> int:
    """Return the blocks that walk `count` elements.

    In `multi_element_ranks`, threads move PER_THREAD of them.
    """
    return blocks_for_elements(count if rank in multi_element_ranks else count * PER_THREAD)
