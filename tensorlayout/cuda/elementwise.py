"""Elementwise operations on CUDA: which kernel, decided once, by cost; then launches of it.

Plans are integers and names, and need no device.
"""

from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import gcd, prod
from typing import Any

import numpy as np

from tensorlayout import dtypes
from tensorlayout.cuda.driver import Driver, Kernel
from tensorlayout.cuda.launches import THREADS, Launch, struct_type
from tensorlayout.cuda.padding_plan import PaddingStruct, padding_regions, padding_struct
from tensorlayout.cuda.parameters import index_type, rank_macro, walk, walk_type
from tensorlayout.dtypes import DType
from tensorlayout.layout import Layout, coalesce
from tensorlayout.plan.elementwise import ElementwisePlan
from tensorlayout.tensor import Spec

__all__ = [
    "ElementwiseLaunch",
    "operands_to_copy",
    "plan_conversion",
    "plan_elementwise",
    "prepare_elementwise",
]

FILE = "elementwise.cu"

# Bytes of packs, of the widest type.
WIDTHS = (16, 4)

# Rows of fewer packs are not worth the access that their last elements take.
_FULL_PACKS = 8

_TYPES = {
    "bool": "bool8",
    "float16": "half",
    "bfloat16": "bfloat16",
    "float32": "float",
    "float64": "double",
    "complex64": "complex<float>",
    "complex128": "complex<double>",
}


@dataclass(frozen=True, slots=True)
class ElementwiseLaunch:
    """An elementwise operation that is ready to run.

    Attributes:
        name: of the function, for errors.
        case: the kind of walk, one of the names in `plan_elementwise`.
        launch: what to launch; None if there is nothing to do.
        scalars: for each operand the dtype in which a Python scalar is taken; None for tensors.
        writes_padding: whether the launch writes the padding that it was asked to write; if not,
            that is another launch's work.

    """

    name: str
    case: str
    launch: Launch | None
    scalars: tuple[DType | None, ...]
    writes_padding: bool = True


@dataclass(frozen=True, slots=True)
class _Memories:
    """The result and the operands, as kernels see them.

    Attributes:
        functor: of kernels/functions.cuh.
        types: the macros that name the types.
        result: its layout, and bytes of an element.
        operands: the same of each; None for scalars.
        alignments: powers of two that divide the addresses of the lowest slots, the result's first.
        padding: the content of one element of the result's padding, None to leave it alone.

    """

    functor: str
    types: tuple[tuple[str, str], ...]
    result: tuple[Layout, int]
    operands: tuple[tuple[Layout, int] | None, ...]
    alignments: tuple[int, ...]
    padding: bytes | None

    @property
    def widest(self) -> int:
        """Bytes of the widest type."""
        return int(dict(self.types)["WIDEST"])


def plan_elementwise(
    plan: ElementwisePlan, alignments: Sequence[int], padding: bytes | None = None
) -> ElementwiseLaunch:
    """The cheapest way to carry out a plan, in one launch.

    `alignments`: powers of two that divide the addresses of the lowest slots, of the result and of
    each operand (of scalars any); `padding`: the content of one element of the padding that the
    result owns, None to leave it alone, as a write in place does, which never touches it.
    ValueError for tiled layouts, and for memory whose alignment is less than an element. The cases,
    in the order of their cost:

    1. ``empty``: no element.
    2. ``flat``: the result is one run; each operand runs with it, or is one value.
    3. ``rows``: the fastest dimension is contiguous in the result, and in each operand contiguous
       or of stride 0.
    4. ``strided``: everything else, in the result's order.
    """
    functor = plan.operation.name
    if functor == "clip" and len(plan.operands) < 3:
        functor = plan.operation.numpy.__name__  # with one bound, or none
    mixed = plan.operation.result == "bool" and len(set(plan.inputs)) > 1
    compute = "AnyInteger" if mixed else _type_of(plan.inputs[-1])
    given = [
        i if isinstance(o, type) else o.dtype
        for o, i in zip(plan.operands, plan.inputs, strict=True)
    ]
    operands = [None if isinstance(o, type) else o for o in plan.operands]
    memories = _memories(functor, compute, plan.result, operands, given, alignments, padding)
    scalars = [
        i if isinstance(o, type) else None for o, i in zip(plan.operands, plan.inputs, strict=True)
    ]
    return _planned(plan.operation.name, memories, tuple(scalars))


def plan_conversion(
    name: str,
    result: Spec,
    source: Spec | DType,
    alignments: Sequence[int],
    padding: bytes | None = None,
) -> ElementwiseLaunch:
    """The copy of a tensor into another dtype; `source` may be the dtype of a scalar instead.

    `name`: the function that asks; the rest is as in `plan_elementwise`.
    """
    spec = source if isinstance(source, Spec) else None
    dtype = source.dtype if isinstance(source, Spec) else source
    compute = _type_of(result.dtype)
    memories = _memories("positive", compute, result, [spec], [dtype], alignments, padding)
    return _planned(name, memories, (None if spec else dtype,))


def _type_of(dtype: DType) -> str:
    """What the kernels call a dtype."""
    return _TYPES.get(dtype.name, f"{dtype.name}_t")


def _memories(
    functor: str,
    compute: str,
    result: Spec,
    operands: Sequence[Spec | None],
    given: Sequence[DType],
    alignments: Sequence[int],
    padding: bytes | None,
) -> _Memories:
    macros = zip(("FIRST", "SECOND", "THIRD"), map(_type_of, given), strict=False)
    widest = max(result.dtype.itemsize, *[dtype.itemsize for dtype in given])
    types = (
        *macros,
        ("COMPUTE", compute),
        ("RESULT", _type_of(result.dtype)),
        ("WIDEST", str(widest)),
    )
    shape = result.layout.shape
    placed = tuple(
        None if o is None else (o.layout.broadcast_to(shape), o.dtype.itemsize) for o in operands
    )
    whole = (result.layout, result.dtype.itemsize)
    return _Memories(functor, types, whole, placed, tuple(alignments), padding)


# ---- Which kernel


@dataclass(frozen=True, slots=True)
class _Walk:
    """All elements: sizes, slowest in the result first, and for each memory strides in elements.

    Attributes:
        sizes: at least one; the result runs forwards along each.
        strides: of the result and of each operand; of scalars zeros.
        firsts: bytes from the lowest slot to the first element.
        grains: what divides the addresses of all rows' first elements; of scalars 0.
        itemsizes: bytes of an element; of scalars 0.

    """

    sizes: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]
    firsts: tuple[int, ...]
    grains: tuple[int, ...]
    itemsizes: tuple[int, ...]

    @property
    def furthest(self) -> int:
        """The largest distance from the first element that any memory has, in elements."""
        spans = [
            sum((n - 1) * abs(s) for n, s in zip(self.sizes, steps, strict=True))
            for steps in self.strides
        ]
        return max(spans)

    @property
    def steps(self) -> tuple[int, ...]:
        """Of the operands, along the fastest dimension."""
        return tuple([steps[-1] for steps in self.strides[1:]])

    @property
    def has_rows(self) -> bool:
        """Whether the fastest dimension is contiguous in all memories, or repeated in operands."""
        return self.strides[0][-1] == 1 and all(step in (0, 1) for step in self.steps)

    def pack(self, widest: int) -> int:
        """How many elements move at once: the most that alignment and the length of rows allow."""
        if not self.has_rows:
            return 1
        row = self.sizes[-1]
        for pack in [width // widest for width in WIDTHS if width > widest]:
            aligned = all(
                steps[-1] == 0 or grain % (pack * itemsize) == 0
                for steps, grain, itemsize in zip(
                    self.strides, self.grains, self.itemsizes, strict=True
                )
            )
            whole = len(self.sizes) == 1 or row % pack == 0 or row >= _FULL_PACKS * pack
            if aligned and whole:
                return pack
        return 1


def _walk(memories: _Memories) -> _Walk:
    backwards = [d for d, stride in enumerate(memories.result[0].strides) if stride < 0]
    present = [memories.result, *[o for o in memories.operands if o is not None]]
    turned = [layout.flip(backwards) for layout, _ in present]
    merged = iter(coalesce(*[layout for layout in turned if layout is not None]))
    sizes: tuple[int, ...] = ()
    strides, firsts, grains, itemsizes = [], [], [], []
    everything = zip((memories.result, *memories.operands), memories.alignments, strict=True)
    for number, (each, alignment) in enumerate(everything):
        if each is None:
            steps, first, itemsize, grain = (0,) * len(sizes), 0, 0, 0
        else:
            layout, itemsize = next(merged), each[1]
            sizes, steps = layout.shape, layout.strides
            first = layout.offset * itemsize
            grain = gcd(alignment, first, *[s * itemsize for s in steps[:-1]])
            if alignment % itemsize:
                which = f"operand {number}" if number else "the result"
                msg = (
                    f"{memories.functor}: {which} begins at an address that is no multiple of its"
                    f" {itemsize} bytes an element; copy it first"
                )
                raise ValueError(msg)
        if not sizes:  # one element
            steps = (int(number == 0),)
        strides.append(steps)
        firsts.append(first)
        grains.append(grain)
        itemsizes.append(itemsize)
    made = (tuple(strides), tuple(firsts), tuple(grains), tuple(itemsizes))
    return _Walk(sizes or (1,), *made)


def _planned(
    name: str, memories: _Memories, scalars: tuple[DType | None, ...]
) -> ElementwiseLaunch:
    layout = memories.result[0]
    regions = padding_regions(layout) if memories.padding is not None else None
    fits = regions is None or regions.fit_a_launch
    if layout.size == 0:
        empty = regions is None or not regions.regions
        nothing = (0,) * len(memories.operands)
        firsts = (0,) * (1 + len(nothing))
        launch = None if empty or not fits else _flat(memories, 0, 1, nothing, firsts)
        return ElementwiseLaunch(name, "empty", launch, scalars, fits)
    if not fits:
        memories = replace(memories, padding=None)
    found = _walk(memories)
    pack = found.pack(memories.widest)
    if found.has_rows and len(found.sizes) == 1:
        case = "flat"
        launch = _flat(memories, found.sizes[0], pack, found.steps, found.firsts)
    else:
        case = "rows" if found.has_rows else "strided"
        launch = _strided(memories, found, pack)
    return ElementwiseLaunch(name, case, launch, scalars, fits)


# ---- Launches


def _row_threads(row: int, pack: int) -> int:
    """How many threads a row takes: one for each pack, and for each element behind the last."""
    return row // pack + row % pack


def _blocks(threads: int, pack: int) -> int:
    """How many blocks they make, where each thread has several turns if packs are small.

    As ``PACKS`` of kernels/elementwise.cu.
    """
    return -(-threads // (THREADS * (4 // pack if pack < 4 else 1)))


def _common(memories: _Memories, blocks: int, steps: Sequence[int]) -> tuple[Any, int]:
    """The struct that all kernels have, and how many blocks write padding."""
    padding = memories.padding
    regions = None if padding is None else padding_regions(memories.result[0])
    padded, more = padding_struct(regions, padding or b"", blocks)
    made = memories_type(len(memories.operands))(padding=padded)
    made.step[:] = steps
    return made, more


def _flat(
    memories: _Memories, count: int, pack: int, steps: Sequence[int], firsts: tuple[int, ...]
) -> Launch:
    blocks = _blocks(_row_threads(count, pack), pack)
    common, more = _common(memories, blocks, steps)
    made = flat_type(len(memories.operands))(memories=common, count=count)
    kernel = Kernel(
        FILE, "elementwise_flat", memories.types, (("PACK", str(pack)),), memories.functor
    )
    return Launch(kernel, blocks + more, bytes(made), firsts)


def _strided(memories: _Memories, found: _Walk, pack: int) -> Launch:
    row = found.sizes[-1]
    sizes = (*found.sizes[:-1], _row_threads(row, pack))
    strides = [(*steps[:-1], steps[-1] * pack) for steps in found.strides]
    count = prod(sizes)
    blocks = _blocks(count, pack)
    index = index_type(count, found.furthest + pack * pack)  # which the walk may go too far
    common, more = _common(memories, blocks, found.steps if pack > 1 else (0,) * len(found.steps))
    made = strided_type(len(sizes), index, len(memories.operands))(memories=common)
    made.threads, made.packs = count, row // pack
    made.walk = walk(index, sizes, strides)
    name = "elementwise_rows" if pack > 1 else "elementwise_strided"
    packs = (("PACK", str(pack)),) if pack > 1 else ()
    shape = (rank_macro(len(sizes)), ("INDEX", index), *packs)
    kernel = Kernel(FILE, name, memories.types, shape, memories.functor)
    return Launch(kernel, blocks + more, bytes(made), found.firsts)


@functools.cache
def memories_type(operands: int) -> Any:
    """``Memories`` of kernels/elementwise.cu."""
    return struct_type(
        "Memories",
        to=ctypes.c_uint64,
        from_=ctypes.c_uint64 * operands,
        scalar=(ctypes.c_uint64 * 2) * operands,
        padding=PaddingStruct,
        step=ctypes.c_int32 * operands,
    )


@functools.cache
def flat_type(operands: int) -> Any:
    """``FlatElementwise``."""
    return struct_type("FlatElementwise", memories=memories_type(operands), count=ctypes.c_int64)


@functools.cache
def strided_type(rank: int, index: str, operands: int) -> Any:
    """``StridedElementwise<rank, index>``; a rank without a kernel of its own is any rank."""
    number = ctypes.c_int32 if index == "int32_t" else ctypes.c_int64
    return struct_type(
        "StridedElementwise",
        memories=memories_type(operands),
        threads=number,
        packs=number,
        walk=walk_type(int(rank_macro(rank)[1]), index, operands + 1),
    )


def prepare_elementwise(
    plan: ElementwiseLaunch, driver: Driver
) -> Callable[[int, Sequence[Any]], None]:
    """What computes: ``run(destination, operands)``.

    `destination` and the operands that are tensors are addresses of lowest slots, aligned as the
    plan was told; the others are Python scalars. OverflowError for integers that do not fit. No
    operand may overlap the destination, but exactly where that is (see `operands_to_copy`).
    Asynchronous on the current stream, from any thread.
    """
    launch = plan.launch
    ready = driver.launcher(launch.kernel) if launch is not None else None
    scalars, name = plan.scalars, plan.name
    head = struct.Struct("<" + "Q" * (1 + len(scalars)) + "16s" * len(scalars))

    def run(destination: int, operands: Sequence[Any]) -> None:
        values = [
            b"" if dtype is None else scalar_bytes(name, value, dtype)
            for value, dtype in zip(operands, scalars, strict=True)
        ]
        if launch is None or ready is None:
            return
        to, *froms = launch.firsts
        pointers = [
            value + first if dtype is None else 0
            for value, dtype, first in zip(operands, scalars, froms, strict=True)
        ]
        parameters = bytearray(launch.parameters)
        head.pack_into(parameters, 0, destination + to, *pointers, *values)
        ready(launch.grid, parameters)

    return run


def scalar_bytes(name: str, value: Any, dtype: DType) -> bytes:
    r"""A Python scalar as one element of `dtype`. OverflowError for integers that do not fit.

    >>> scalar_bytes("add", 1, np.dtype("int16"))
    b'\x01\x00'
    """
    try:
        # ml_dtypes takes no integers beyond int64
        number = float(value) if dtypes.is_bfloat16(dtype) else value
        with np.errstate(all="ignore"):
            return np.asarray(number, dtype).tobytes()
    except OverflowError:
        raise dtypes.misfit(name, value, dtype) from None


# ---- Overlap


def operands_to_copy(plan: ElementwisePlan, addresses: Sequence[int]) -> tuple[int, ...]:
    """Which operands of a write in place have to be copied before it, by their numbers.

    `addresses`: of the lowest slots, of scalars any. Those operands have bytes that the write may
    change before it has read them: they overlap the destination, which is the first operand, and
    are not exactly where it is, element by element.
    """
    destination = plan.result
    operands = zip(plan.operands, addresses, strict=True)
    return tuple(
        number
        for number, (operand, address) in enumerate(operands)
        if number > 0
        and isinstance(operand, Spec)
        and conflicts(destination, addresses[0], operand, address)
    )


def conflicts(destination: Spec, to: int, operand: Spec, from_: int) -> bool:
    """Whether a write may change what is to be read from `operand` before it is read."""
    size, other_size = destination.dtype.itemsize, operand.dtype.itemsize
    if destination.layout.size == 0 or operand.layout.size == 0:
        return False
    if (
        to == from_
        and size == other_size
        and operand.layout.shape == destination.layout.shape
        and operand.layout.same_placement(destination.layout)
    ):
        return False
    to_end = to + destination.layout.required_size * size
    from_end = from_ + operand.layout.required_size * other_size
    if from_end <= to or to_end <= from_:
        return False
    # Runs that interleave: those of each start at multiples of `grain` away from each other.
    run, steps = _run_and_steps(destination)
    other_run, other_steps = _run_and_steps(operand)
    grain = gcd(*steps, *other_steps)
    apart = (from_ - to) % grain if grain else 0
    return not (grain and run <= apart <= grain - other_run)


def _run_and_steps(spec: Spec) -> tuple[int, list[int]]:
    """Bytes of the runs that a layout consists of, and the distances at which they repeat."""
    run = spec.dtype.itemsize
    steps: list[int] = []
    dims = zip(spec.layout.strides, spec.layout.shape, strict=True)
    for stride, size in sorted([(abs(s) * spec.dtype.itemsize, n) for s, n in dims if n > 1 and s]):
        if stride == run and not steps:
            run *= size
        else:
            steps.append(stride)
    return run, steps
