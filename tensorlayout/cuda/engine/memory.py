"""Tensors in CUDA memory: allocation, reads and writes, sharing with other libraries, streams."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from math import gcd
from typing import Any, NamedTuple, TypeVar

import numpy as np

from tensorlayout.cuda.engine import faults
from tensorlayout.cuda.engine.driver import LEGACY_STREAM, PER_THREAD_STREAM, Bytes, Stream, driver
from tensorlayout.devices import Device
from tensorlayout.dtypes import DType
from tensorlayout.errors import (
    prefix_operation_name,
    qualified_type_name,
    raise_named_error,
    short_repr,
)
from tensorlayout.plan import (
    ExportInfo,
    OverlapTest,
    Write,
    padding_bytes,
    spec_of_strides,
    whole_bytes_before_slot,
)
from tensorlayout.tensor import Tensor, TensorSpec

Made = TypeVar("Made")


class DeviceMemory(NamedTuple):
    """`Tensor.memory` on CUDA; the element at index (0, …, 0) is `layout.offset` slots further."""

    address: int  # of the lowest slot
    readonly: bool


def tensor_allocator(
    spec: TensorSpec, launch: Callable[[int, Sequence[Any]], None] | None = None
) -> Callable[..., Tensor]:
    """Return a function that creates tensors in new memory, uninitialised without `launch`.

    With ``launch(address, operands)``, the function takes operands and returns the result.
    """
    nbytes, number, gpu = spec.layout.nbytes(spec.dtype), spec.device.number, driver()
    new, new_place = object.__new__, tuple.__new__  # C functions, faster than the constructors

    def allocate_tensor(*operands: Any) -> Tensor:
        buffer = gpu.allocate(nbytes, number)
        pointer = buffer.pointer
        if launch is not None:
            launch(pointer, operands)
        tensor = new(Tensor)
        tensor.memory = new_place(DeviceMemory, (pointer, False))
        tensor.spec, tensor.home = spec, (buffer, 0)
        return tensor

    return allocate_tensor


# Bytes: memory moves in sectors, and alignment beyond a sector does not matter.
SECTOR = 32

# The greatest power of two that divides an address, by its last bits. The lookup takes half the
# time of the computation (2026-11, 2-core AMD EPYC (Zen 4)).
_ADDRESSES = 2**64  # addresses are less
_ALIGNMENTS = tuple((bits | SECTOR) & -(bits | SECTOR) for bits in range(SECTOR))
UNALIGNED = SECTOR - 1
low_bits, alignment_of = UNALIGNED.__and__, _ALIGNMENTS.__getitem__


class CacheByAlignment(dict[tuple[int, ...] | int, Made]):
    """Cache of ``make(alignments)``; a number of addresses stands for as many full alignments.

    Addresses are not part of a plan's key, but the best kernel may depend on their alignment.
    """

    def __init__(self, make: Callable[[tuple[int, ...]], Made]) -> None:
        self._make = make

    def __missing__(self, key: tuple[int, ...] | int) -> Made:
        result = self[key] = self._make((SECTOR,) * key if isinstance(key, int) else key)
        return result


def padding_element_bytes(spec: TensorSpec) -> bytes | None:
    """Return one element of a tensor's own padding; None without padding, or if it is undefined."""
    layout = spec.layout
    return padding_bytes(layout.padding_value, spec.dtype) if layout.is_padded else None


def view_shifted_by_slots(x: Tensor, spec: TensorSpec, slots: int) -> Tensor:
    """Return a view of `x` that begins `slots` slots further, counted in the result's dtype."""
    home, place = x.home, x.memory
    assert home is not None
    step, layout = slots * spec.dtype.itemsize, spec.layout
    if layout.slot_bits is not None:
        step = whole_bytes_before_slot(layout, home[1] + slots) - whole_bytes_before_slot(
            layout, home[1]
        )
    address = place.address + step
    return Tensor._from_memory(
        DeviceMemory(address, place.readonly), spec, (home[0], home[1] + slots)
    )


def wrap_external(
    address: int,
    dtype: DType,
    shape: tuple[int, ...],
    byte_strides: tuple[int, ...],
    device: Device,
    owner: object,
    *,
    readonly: bool,
) -> Tensor | None:
    """Return a tensor over memory of another library; None if strides are no whole elements.

    Raises BufferError if the memory is not aligned to elements.
    """
    spec = spec_of_strides(dtype, shape, byte_strides, device)
    if spec is None:
        return None
    if address % dtype.itemsize and spec.layout.size:
        msg = f"memory at {address:#x} is not aligned to {dtype}; copy it in its own library first"
        raise BufferError(msg)
    lowest = address - spec.layout.offset * dtype.itemsize
    return wrap_external_slots(lowest, spec, owner, readonly=readonly)


def wrap_external_slots(address: int, spec: TensorSpec, owner: object, *, readonly: bool) -> Tensor:
    """Return a tensor over memory of another library; its lowest slot begins at `address`."""
    octets = spec.layout.nbytes(spec.dtype)
    buffer = driver().wrap_memory(address, octets, spec.device.number, owner)
    return Tensor._from_memory(DeviceMemory(address, readonly), spec, (buffer, 0))


def device_of_address(address: int) -> Device | None:
    """Return the device whose memory contains an address; None if it is no device memory.

    Address 0, which empty arrays have, belongs to the current device.
    """
    number = driver().device_of(address) if address else driver().current_device()
    return None if number is None else Device("cuda", number)


def export_info(x: Tensor) -> ExportInfo:
    """Return the address of a tensor's first element, whether it is read-only, and the owner."""
    home, spec, (address, readonly) = x.home, x.spec, x.memory
    assert home is not None
    layout = spec.layout
    if layout.offset:
        address += layout._slots_to_bytes(layout.offset, spec.dtype.itemsize)
    # Overlapping elements are exported read-only: a write to one would change others.
    return ExportInfo(address, readonly or layout.is_overlapping, home[0])


def read_bytes(x: Tensor) -> Bytes:
    """Return a copy, on the host, of the bytes that the layout of `x` requires."""
    octets = np.empty(x.spec.layout.nbytes(x.dtype), np.uint8)
    if octets.size:
        with driver().using_device(x.device.number):
            driver().copy_to_host(octets, x.memory.address)
    faults.raise_pending_errors()
    # Spare bits of the last byte may belong to other elements of the storage.
    if x.spec.layout.spare_bits:
        octets[-1:] &= 255 >> x.spec.layout.spare_bits
    return octets


def write_bytes(x: Tensor, octets: Bytes) -> None:
    """Write bytes of the host to the slots of `x`, a tensor in memory of its own."""
    if octets.size:
        with driver().using_device(x.device.number):
            driver().copy_to_device(x.memory.address, np.ascontiguousarray(octets))


def copy_bytes(destination: Tensor, source: Tensor) -> None:
    """Copy the slots of `source` to those of `destination`, which are as many.

    The copy runs on the stream of the destination's device, after earlier work on the source's
    stream. The source's stream waits for the copy in turn, so that later writes cannot overtake it.
    """
    nbytes = source.spec.layout.nbytes(source.dtype)
    if not nbytes:
        return
    gpu, there = driver(), destination.device.number
    gpu.enable_peer_access(source.device.number, there)
    reading, writing = gpu.current_stream(source.device.number), gpu.current_stream(there)
    gpu.make_stream_wait(reading, writing)
    with gpu.using_device(there):
        gpu.copy_device_to_device(destination.memory.address, source.memory.address, nbytes)
    gpu.make_stream_wait(writing, reading)


def keep_capture_memory(write: Write) -> Write:
    """Make the destination of `write` keep the memory of a capture alive (see `Driver.allocate`).

    Each launch of a graph writes to all memory of its capture, including scratch memory.
    """
    gpu = driver()
    captures = gpu.captures

    def write_and_tie_out_to_capture(out: Tensor, *operands: Any) -> None:
        write(out, *operands)
        if captures:
            capture = gpu.current_capture_memory(out.device.number)
            if capture is not None and out.home is not None:
                out.home[0].keep_alive_with_buffer(capture)

    return write_and_tie_out_to_capture


# ---- Overlaps of operands with the destination, found by addresses
#
# Kernels read and write elements in any order. So an operand must not overlap the destination, or
# each of its elements must be exactly where the result's element is.


def overlap_test(plan: Any) -> OverlapTest | None:
    """Return a test for operands that a write may change before they are read; None if none can."""
    if not (plan.partial or plan.in_place):
        return None
    meet = _byte_ranges_overlap if plan.partial else overlaps_at_other_elements
    return lambda x, y: meet(x.spec, x.memory.address, y.spec, y.memory.address)


def _byte_ranges_overlap(
    first_spec: TensorSpec, first_address: int, second_spec: TensorSpec, second_address: int
) -> bool:
    """Return whether the bytes of two specs at these addresses overlap, including gaps."""
    lower, up = (
        (first_spec, second_address - first_address)
        if first_address < second_address
        else (second_spec, first_address - second_address)
    )
    return bool(up < lower.layout.required_size * lower.dtype.itemsize)


def overlaps_at_other_elements(
    destination: TensorSpec, destination_address: int, operand: TensorSpec, operand_address: int
) -> bool:
    """Return whether elements may overlap, other than each with its counterpart."""
    same = destination_address == operand_address and destination is operand
    if same or not _byte_ranges_overlap(destination, destination_address, operand, operand_address):
        return False
    if destination.layout.size == 0 or operand.layout.size == 0:
        return False
    if (
        destination_address == operand_address
        and destination.dtype.itemsize == operand.dtype.itemsize
        and operand.layout.shape == destination.layout.shape
        and operand.layout.same_placement(destination.layout)
    ):
        return False
    # Interleaved runs, such as two columns of a matrix: all runs begin at multiples of `grain` from
    # the first one, so they are disjoint if they are so within one `grain`.
    run, steps = _run_bytes_and_strides(destination)
    other_run, other_steps = _run_bytes_and_strides(operand)
    grain = gcd(*steps, *other_steps)
    shift = (operand_address - destination_address) % grain if grain else 0
    return not (grain and run <= shift <= grain - other_run)


def _run_bytes_and_strides(spec: TensorSpec) -> tuple[int, list[int]]:
    """Return the **bytes** of contiguous runs, and the byte strides at which they repeat."""
    run = spec.dtype.itemsize
    steps: list[int] = []
    # All digits of tiled dimensions count, too; those of size 1 or stride 0 reach no other memory.
    dims = [(s, n) for parts in spec.layout.parts for n, s in parts]
    for stride, size in sorted([(abs(s) * spec.dtype.itemsize, n) for s, n in dims if n > 1 and s]):
        if stride == run and not steps:
            run *= size
        else:
            steps.append(stride)
    return run, steps


# ---- Streams of other libraries, numbered as the array API standard numbers them
#
# Our stream is the current stream of the device in this thread. An exchange makes one stream wait
# for another by an event; the host does not wait. The exception is an exchange after a read or
# write at positions, where the host waits once to report positions out of bounds. CUDA refuses the
# event while one of the streams captures a graph without the other. Freeing memory does not wait:
# a consumer on another stream must have finished by then.

NO_WAIT = -1  # "Producer must not perform any synchronization."


def current_stream(device: Device) -> int:
    """Return the number of the current stream of a device."""
    return driver().current_stream(device.number).number


def stream_for_consumer(x: Tensor) -> int:
    """Return the number of our stream, for a consumer to wait for; `x` keeps the stream alive."""
    faults.raise_pending_errors()
    stream = driver().current_stream(x.device.number)
    # The default streams, 1 and 2, never end; any other is an address that its owner may free.
    if stream.number > PER_THREAD_STREAM and x.home is not None:
        x.home[0].keep_alive_with_buffer(stream)
    return stream.number


def make_external_stream_wait(name: str, stream: Any, device: Device) -> None:
    """Make work on `stream` wait for all work on our stream of `device`.

    `stream`: None or 1 is the legacy default stream, 2 the per-thread default stream, -1 none (the
    caller synchronises), and larger numbers are addresses of streams; or an object with
    ``__cuda_stream__``. `name`: prefix of errors.
    """
    if stream == NO_WAIT:
        faults.raise_pending_errors()
        return
    stream = LEGACY_STREAM if stream is None else stream
    gpu = driver()
    own_stream = gpu.current_stream(device.number)
    if type(stream) is int and stream == own_stream.number:  # the usual case, without checks
        faults.raise_pending_errors()
        return
    external_stream = as_stream(name, stream, device, "-1, ")
    faults.raise_pending_errors()
    gpu.make_stream_wait(own_stream, external_stream)


def make_current_stream_wait(name: str, stream: Any, device: Device) -> None:
    """Make the current stream of `device` wait for `stream`; None waits for nothing."""
    if stream is not None:
        driver().make_stream_wait(
            as_stream(name, stream, device), driver().current_stream(device.number)
        )


def as_stream(name: str, stream: Any, device: Device, others: str = "") -> Stream:
    """Return a stream of `device` from its number, or from an object with ``__cuda_stream__``.

    `name`: prefix of errors. `others`: numbers, other than streams, that errors mention. The result
    keeps the object alive. Raises ValueError for a stream that says that it is of another device.
    """
    if not hasattr(stream, "__cuda_stream__"):
        return Stream(device.number, _stream_number(name, stream, f"{others}1, 2"))
    number = device_of_stream(stream)
    if number not in (None, device.number):
        raise_named_error(name, f"stream must be of {device}, and is of cuda:{number}")
    protocol = stream.__cuda_stream__()
    match protocol:
        case [0, int() as address] if 0 <= address < _ADDRESSES:
            return Stream(device.number, address or LEGACY_STREAM, stream)
    msg = f"__cuda_stream__ must return (0, address), got {short_repr(protocol)}"
    raise prefix_operation_name(name, ValueError(msg))


def device_of_stream(stream: Any) -> int | None:
    """Return the number of the device that a stream of ours or of CuPy says; None for others."""
    named = getattr(getattr(stream, "device", None), "number", getattr(stream, "device_id", None))
    number = -1 if named is None or not hasattr(named, "__index__") else operator.index(named)
    return number if number >= 0 else None


def _stream_number(name: str, stream: Any, expected: str) -> int:
    """Return a stream's number, or raise an error that says what is `expected`."""
    if isinstance(stream, bool) or not hasattr(stream, "__index__"):
        received = qualified_type_name(stream)
        msg = f"stream must be a number or an object with __cuda_stream__, got {received}"
        raise_named_error(name, msg, TypeError)
    number = operator.index(stream)
    if not 1 <= number < _ADDRESSES:
        hint = "; 0 could mean several streams: 1 is the legacy default" if number == 0 else ""
        msg = (
            f"stream must be {expected} or the address of a stream, got {short_repr(number)}{hint}"
        )
        raise_named_error(name, msg)
    return number
