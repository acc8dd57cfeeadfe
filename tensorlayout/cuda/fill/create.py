"""New tensors whose values follow from the arguments of the call and the positions of elements.

Sequences (arange, linspace, frequencies) in one run of memory have kernels of their own, which
repeat NumPy's formulas with every rounding. All values are scalars of the call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from tensorlayout.cuda.engine import (
    THREADS,
    WIDEST,
    Launch,
    c_type,
    c_type_with_unsigned_integers,
    kernel_with_macros,
    make_writer,
    padding_element_bytes,
    scalar_bytes,
    struct_type,
)
from tensorlayout.cuda.fill import compile_fill, plan_padding
from tensorlayout.cuda.fill.diagonals import block_count_of_packs, compile_eye
from tensorlayout.dtypes import SCALARS, DType
from tensorlayout.layout import Layout, Loop, narrowest_index_type
from tensorlayout.plan import CreatePlan, OneHotPlan, Write
from tensorlayout.tensor import TensorSpec


def compile_create(plan: CreatePlan) -> Write:
    """Compile the creation of a tensor from the operation's values, padding included."""
    spec, values = plan.result, plan.operation.values
    if accepts_tiles(plan):
        return lambda out: None
    padding = None if plan.destinations else padding_element_bytes(spec)
    if values == "nothing":
        layout, itemsize = spec.layout, spec.dtype.itemsize
        return make_writer(
            spec.device.number, lambda aligned: plan_padding(layout, itemsize, aligned[0], padding)
        )
    if values == "value":
        return compile_fill(spec, partial(_encode_scalar, plan.operation.name, spec.dtype), padding)
    if values == "eye":
        return compile_eye(spec, padding)
    # Results of linspace and frequencies are row-major, of rank 1; arange accepts any layout.
    sequences = {
        "arange": compile_arange,
        "frequencies": compile_frequencies,
        "linspace": compile_linspace,
    }
    return sequences[values](spec)


def accepts_tiles(plan: CreatePlan) -> bool:
    """Return whether nothing has to be written: elements and padding may hold anything."""
    if plan.operation.values != "nothing":
        return False
    return plan.destinations > 0 or padding_element_bytes(plan.result) is None


def _encode_scalar(operation_name: str, dtype: DType, value: Any) -> bytes:
    """Return the bytes of a number, or of an array of rank 0, as an element of `dtype`."""
    if type(value) in SCALARS:
        return scalar_bytes(operation_name, value, dtype)
    return np.asarray(value, dtype).tobytes()


# ---- In one run of memory

SEQUENCE_FILE = "fill/sequence.cu"


def plan_sequence(dtype: DType, count: int, kind: str) -> Launch | None:
    """Plan a sequence of `kind` ``integers``, ``real`` or ``complex``; None if it is empty."""
    if not count:
        return None
    element = c_type(dtype)
    if dtype.kind == "c":
        element = dtype.name  # the bare name, as it is part of a symbol
    elif kind == "integers":
        element = f"uint{8 * dtype.itemsize}_t"
    macro = {"integers": "INTEGER", "real": "REAL", "complex": "COMPLEX"}[kind]
    chosen = kernel_with_macros(SEQUENCE_FILE, f"sequence_{kind}", **{macro: element})
    length = WIDEST // dtype.itemsize  # of a pack, which a thread writes at once
    blocks = block_count_of_packs(count // length, length)
    return Launch.from_members(chosen, max(blocks, 1), (0,))


def compile_arange(spec: TensorSpec) -> Write:
    """Compile a sequence from a first value and a step, in row-major index order of any layout."""
    count, kind = spec.layout.size, "integers" if spec.dtype.kind in "iu" else "real"

    def pack_integer_scalars(start: int, step: int) -> bytes:
        # The kernel counts modulo 2**64, which is right for negative numbers and for uint64.
        return _pack_struct_scalars("Integers", start=start % 2**64, step=step % 2**64, count=count)

    def pack_real_scalars(start: float, step: float) -> bytes:
        return _pack_real_scalars(count, float(start), float(step))

    def plan_arange(alignments: tuple[int, ...]) -> Launch | None:
        if spec.layout.is_row_major and alignments[0] >= WIDEST:
            return plan_sequence(spec.dtype, count, kind)
        launch = plan_arange_in_index_order(spec)
        # Of the scalars, this kernel takes start and step, the first 16 bytes.
        return launch and replace(launch, takes=(0, 16))

    return make_writer(
        spec.device.number,
        plan_arange,
        1,
        pack_integer_scalars if kind == "integers" else pack_real_scalars,
    )


def compile_linspace(spec: TensorSpec) -> Write:
    """Compile a sequence between two ends, the last one optional, with NumPy's values."""
    count = spec.layout.size

    def pack_real_linspace_scalars(start: float, stop: float, endpoint: bool) -> bytes:
        step, divisor = _step_and_divisor(float(stop) - float(start), count, endpoint)
        # Like NumPy, which overwrites the last element: start + steps * step may miss `stop`.
        last = {"last": stop, "end": count - 1} if endpoint and count > 1 else {}
        return _pack_real_scalars(count, float(start), step, divisor=divisor, **last)

    def pack_complex_scalars(start: complex, stop: complex, endpoint: bool) -> bytes:
        first, last = np.complex128(start), np.complex128(stop)
        with np.errstate(all="ignore"):  # NumPy's division is not rounded as Python's
            step, divisor = _step_and_divisor(last - first, count, endpoint)
        ends = {"start": first, "step": step, "last": last}
        members = {name: (number.real, number.imag) for name, number in ends.items()}
        end = count - 1 if endpoint and count > 1 else -1
        return _pack_struct_scalars("Complex", **members, factor=1 / divisor, end=end, count=count)

    write = _sequence_writer(spec, "real", pack_real_linspace_scalars)
    if spec.dtype.kind != "c":
        return write
    write_pairs = _sequence_writer(spec, "complex", pack_complex_scalars)

    def write_linspace(out: Any, start: complex, stop: complex, endpoint: bool) -> None:
        is_complex = isinstance(start, complex) or isinstance(stop, complex)
        (write_pairs if is_complex else write)(out, start, stop, endpoint)

    return write_linspace


def compile_frequencies(spec: TensorSpec) -> Write:
    """Compile sample frequencies ``k / (size * spacing)``; `negative`: k < 0 in the last half."""
    count = spec.layout.size

    def pack_scalars(size: int, spacing: float, negative: bool) -> bytes:
        turn = (size + 1) // 2 if negative else count
        # The kernel computes ``k * step + start``, too: a factor of 1 and -0.0 added change no
        # bit of the quotient, not even the sign of a zero.
        return _pack_real_scalars(
            count, -0.0, 1.0, divisor=size * spacing, back=float(size), turn=turn
        )

    return _sequence_writer(spec, "real", pack_scalars)


def _sequence_writer(spec: TensorSpec, kind: str, pack_scalars: Callable[..., bytes]) -> Write:
    """Return a function that writes a sequence; `spec` is row-major, of rank 1, in new memory."""
    launch = plan_sequence(spec.dtype, spec.layout.size, kind)
    return make_writer(spec.device.number, lambda alignments: launch, 1, pack_scalars)


def _step_and_divisor(delta: Any, count: int, endpoint: bool) -> tuple[Any, float]:
    """Return the step and divisor of NumPy's linspace, which divides last if steps underflow."""
    steps = count - 1 if endpoint else count
    if steps <= 0:
        return delta, 1.0
    step = delta / steps
    return (step, 1.0) if step != 0 else (delta, float(steps))


def _pack_real_scalars(count: int, start: float, step: float, **others: float) -> bytes:
    usual = {"divisor": 1.0, "turn": count, "end": -1}
    return _pack_struct_scalars("Real", start=start, step=step, count=count, **usual | others)


def _pack_struct_scalars(struct_name: str, **members: Any) -> bytes:
    """Return the members after the address in a struct of kernels/fill/sequence.cu, as bytes."""
    return bytes(struct_type(SEQUENCE_FILE, struct_name)(**members))[8:]


# ---- Values by coordinates, in any layout

# Codes of index dtypes in the kernel.
_KINDS = {"int32": 0, "int64": 1, "uint32": 2, "uint64": 3}


def plan_one_hot(plan: OneHotPlan, alignments: tuple[int, ...]) -> Launch:
    """Plan the launch; memories: a non-empty result, indices, cold value, hot value."""
    layout, itemsize = plan.result.layout, plan.result.dtype.itemsize
    places = Layout(layout.shape, [int(d == plan.dim) for d in range(layout.ndim)])
    tables = (plan.indices.layout.broadcast_to(layout.shape), places)
    loop = Loop.over_elements_and_tables(
        (layout,), tables, itemsize, (itemsize,)
    ).with_wider_elements(WIDEST)
    to, indices, first = loop.firsts
    firsts = (to, indices * plan.indices.dtype.itemsize, 0, 0)
    members = {"first": first, "size": layout.shape[plan.dim]}
    members["kind"] = _KINDS[plan.indices.dtype.name]
    return _pattern_launch("one_hot", loop, layout, firsts, {"HOT": itemsize}, **members)


def plan_arange_in_index_order(result: TensorSpec) -> Launch | None:
    """Plan the launch; memory: the result; scalars: 64 bits each of start and step."""
    layout, dtype = result.layout, result.dtype
    if not layout.size:
        return None
    loop = Loop.over_elements_and_tables(
        (layout,), (Layout.row_major(layout.shape),), dtype.itemsize, (dtype.itemsize,)
    ).with_wider_elements(WIDEST)
    to, first = loop.firsts
    return _pattern_launch(
        "count_up",
        loop,
        layout,
        (to,),
        {"COUNTED": c_type_with_unsigned_integers(dtype)},
        first=first,
    )


def _pattern_launch(
    kernel_name: str,
    loop: Loop,
    layout: Layout,
    firsts: tuple[int, ...],
    macros: dict[str, Any],
    **members: Any,
) -> Launch:
    index = narrowest_index_type(
        loop.element_count, max(loop.max_offset, 2 * max(layout.shape, default=1))
    )
    rank = max(len(loop.axes), 2)  # the kernel of two dimensions takes one, too
    chosen = kernel_with_macros("fill/patterns.cu", kernel_name, RANK=rank, INDEX=index, **macros)
    members |= {"count": loop.element_count, "walk": loop.axes}
    return Launch.from_members(chosen, -(-loop.element_count // THREADS), firsts, **members)
