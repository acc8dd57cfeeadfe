"""Reads and writes under a mask carried out.

How many elements a mask selects is data: the host waits for that number once where the shape of the
result, or the right shape of the values, depends on it.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tensorlayout import dtypes
from tensorlayout.cuda.engine import faults
from tensorlayout.cuda.engine.driver import Buffer, driver
from tensorlayout.cuda.engine.memory import new_tensor, per_alignment
from tensorlayout.cuda.engine.padding import bits_of
from tensorlayout.cuda.gather_plan import plan_read
from tensorlayout.cuda.gathering import prepare_launches
from tensorlayout.cuda.scatter_plan import Written, plan_write, values_in
from tensorlayout.cuda.scattering import packed, value_taker
from tensorlayout.cuda.select_plan import (
    SCAN,
    Selection,
    SelectLaunch,
    plan_coordinates,
    plan_selection,
    plan_store,
)
from tensorlayout.layout import Layout
from tensorlayout.plan.base import Run
from tensorlayout.plan.copy import CopyPlan
from tensorlayout.plan.gathering import Reach, check_fits
from tensorlayout.plan.library import LibraryPlan
from tensorlayout.plan.masking import MaskedPlan, SelectPlan, selected_shape, selected_spec
from tensorlayout.plan.run import carried_out
from tensorlayout.tensor import Tensor, TensorSpec

_POINTERS = struct.Struct("<QQQQ")
_COUNTS = struct.Struct("<QQ")
_BITS = struct.Struct("<QQ")

# Masks of one plan, and numbers of elements, that are kept.
_KEPT = 16


def prepare_select(plan: SelectPlan) -> Run:
    """Count, wait for the number, and read; in row-major index order of the mask."""
    source, seen, reach = plan.result, plan.seen, plan.reach
    finder = functools.lru_cache(_KEPT)(lambda mask: _finder(source, reach, mask.layout))
    mover = functools.lru_cache(_KEPT)(
        lambda selection, count: _reader(plan.name, seen, reach, selection, count)
    )

    def select(x: Tensor, mask: Tensor) -> Tensor:
        with driver().using(source.device.number):
            found = finder(mask._spec)(mask)
            result = new_tensor(selected_spec(seen, reach, found.size))
            if not result.size or found.elements(result, x):
                return result
            positions = found.positions()
            memories = result._memory.address, x._memory.address
            mover(found.selection, found.size)(*memories)(memories, [positions.pointer])
        return result

    return select


def prepare_masked(plan: MaskedPlan) -> Run:
    """Write where the mask is true; value and mask lie apart from what is written.

    One launch, without waiting, where one number or one slice is written everywhere; else the host
    waits for the number of elements, which the values must fit.
    """
    spec, reach = plan.result, plan.reach
    finder = functools.lru_cache(_KEPT)(lambda mask: _finder(spec, reach, mask.layout))
    store = functools.lru_cache(_KEPT)(lambda mask, value: _storer(plan, mask.layout, value))
    mover = functools.lru_cache(_KEPT)(
        lambda selection, count, value: _writer(plan, selection, count, value)
    )
    take = value_taker(plan.name, spec, plan.value)
    same_for_all = plan.mask is not None and _stands_still(plan)

    def masked(x: Tensor, value: Any, mask: Tensor) -> Tensor:
        source = take(value)
        many = isinstance(source, Tensor)
        kind, from_ = (source._spec, source._memory.address) if many else (None, 0)
        octets = b"" if many else _BITS.pack(*bits_of(source))
        to = x._memory.address
        with driver().using(spec.device.number):
            if same_for_all:
                if x.size:
                    memories = to, from_, mask._memory.address
                    store(mask._spec, kind)(to, from_)(memories, (), octets)
                return x
            found = finder(mask._spec)(mask)
            shape = selected_shape(plan.seen.layout, reach, found.size)
            check_fits(plan.name, kind.layout.shape if kind else (), shape)
            if 0 not in shape:
                positions = found.positions()
                write = mover(found.selection, found.size, kind)
                write(to, from_)((to, from_, 0), [positions.pointer], octets)
        return x

    return masked


def _stands_still(plan: MaskedPlan) -> bool:
    """Whether the value is the same for all that is selected, whatever the number of that."""
    if not isinstance(plan.value, TensorSpec):
        return True
    shape = selected_shape(plan.seen.layout, plan.reach, 1)
    try:
        check_fits(plan.name, plan.value.layout.shape, shape)
    except ValueError:
        return False  # said again, with the number, when that is known
    return True


def prepare_nonzero(plan: LibraryPlan) -> Callable[..., tuple[Tensor, ...]]:
    """The indices of what is not zero, a tensor a dimension; the host waits for their number."""
    spec = plan.result
    as_mask = packed(spec, dtypes.bool)
    convert = None if spec.dtype == dtypes.bool else carried_out(CopyPlan(spec, as_mask))
    mask_layout, number = as_mask.layout if convert else spec.layout, spec.device.number
    at = per_alignment(lambda alignments: plan_coordinates(mask_layout, alignments[0]))

    def nonzero(x: Tensor) -> tuple[Tensor, ...]:
        mask = x if convert is None else convert(x)
        with driver().using(number):
            counted = None
            if mask.size:
                blocks, count, launches = at(mask._memory.address)
                counted = _Counted(mask, blocks, count)
            layout = Layout.row_major((counted.count if counted else 0,))
            made = [
                new_tensor(TensorSpec(dtypes.int64, layout, spec.device)) for _ in range(x.ndim)
            ]
            if counted is not None and counted.count:
                for each, launch in zip(made, launches, strict=True):
                    counted.run(launch, each._memory.address)
        return tuple(made)

    return nonzero


# ---- Counting


class _Counted:
    """A mask whose true elements have been counted, for which the host has waited."""

    def __init__(self, mask: Tensor, blocks: int, count: SelectLaunch) -> None:
        gpu = driver()
        self._mask, self._blocks = mask, blocks
        self._counts = gpu.allocate(8 * (blocks + 1), mask.device.number)
        self.run(count)
        gpu.launcher(SCAN)(1, bytearray(_COUNTS.pack(self._counts.pointer, blocks)))
        octets = np.empty(8, np.uint8)
        gpu.to_host(octets, self._counts.pointer + 8 * blocks)
        faults.check()
        self.count = int(octets.view(np.int64)[0])

    def run(self, launch: SelectLaunch, to: int = 0, source: int = 0) -> None:
        """A launch over all chunks of the mask."""
        parameters = bytearray(launch.parameters)
        mask = self._mask._memory.address + launch.mask
        _POINTERS.pack_into(parameters, 0, to, mask, self._counts.pointer, source + launch.source)
        driver().launcher(launch.kernel)(self._blocks, parameters)


class _Found(NamedTuple):
    """What a mask selects: how many elements, and how they are found, unless there is none."""

    size: int
    selection: Selection | None = None
    counted: _Counted | None = None

    def elements(self, to: Tensor, source: Tensor) -> bool:
        """Write the elements, if the mask covers all dimensions."""
        assert self.selection is not None
        assert self.counted is not None
        launch = self.selection.elements
        if launch is not None:
            self.counted.run(launch, to._memory.address, source._memory.address)
        return launch is not None

    def positions(self) -> Buffer:
        """The positions, written to memory of their own."""
        assert self.selection is not None
        assert self.counted is not None
        gpu = driver()
        made = gpu.allocate(8 * self.size, gpu.current_device())
        self.counted.run(self.selection.positions, made.pointer)
        return made


def _finder(source: TensorSpec, reach: Reach, mask: Layout) -> Callable[[Tensor], _Found]:
    """What counts a mask of this layout over a tensor."""
    if not mask.size:
        return lambda given: _Found(0)
    at = per_alignment(lambda alignments: plan_selection(source, reach, mask, alignments[0]))

    def found(given: Tensor) -> _Found:
        selection = at(given._memory.address)
        counted = _Counted(given, selection.blocks, selection.count)
        return _Found(counted.count, selection, counted)

    return found


# ---- Moving

# Ready launches, found by the addresses of two memories.
_Ready = Callable[..., Callable[..., None]]


def _reader(name: str, seen: TensorSpec, reach: Reach, selection: Selection, count: int) -> _Ready:
    """Reads of `count` slices at the positions of a selection."""
    spec, number = selected_spec(seen, reach, count), seen.device.number
    positions = [selection.placed(count, (0, 1))]

    def make(alignments: tuple[int, ...]) -> Callable[..., None]:
        to, source = alignments
        layout, shift = seen.layout, selection.shift
        launch = plan_read(name, layout, reach, spec, positions, (to, source), shift)
        return prepare_launches((launch,), number)

    return per_alignment(make)


def _writer(plan: MaskedPlan, selection: Selection, count: int, value: TensorSpec | None) -> _Ready:
    """Writes of `count` elements or slices at the positions of a selection."""
    shape, number = selected_shape(plan.seen.layout, plan.reach, count), plan.result.device.number
    values = None if value is None else values_in(value.layout, shape)
    what = Written(plan.name, plan.seen, values, shape, plan.reach, ())
    positions = [selection.placed(count, (1, 0, 0))]

    def make(alignments: tuple[int, ...]) -> Callable[..., None]:
        to, source = alignments
        found = plan_write(what, positions, (to, source), selection.shift)
        return prepare_launches(found.launches, number, found.bits)

    return per_alignment(make)


def _storer(plan: MaskedPlan, mask: Layout, value: TensorSpec | None) -> _Ready:
    """Writes of what is the same for all that the mask selects."""
    number, reach = plan.result.device.number, plan.reach
    values = None
    if value is not None:
        layout = values_in(value.layout, selected_shape(plan.seen.layout, reach, 1))
        # The dimensions under a mask of several are one in `seen`, or not.
        first, merged = reach.dims[0], mask.ndim - 1 if len(reach.dims) == 1 else 0
        dims = [-1] * plan.result.layout.ndim
        for d, at in reach.kept:
            dims[d if d < first else d + merged] = at
        values = layout, tuple(dims)

    def make(alignments: tuple[int, ...]) -> Callable[..., None]:
        to, source = alignments
        launches, bits = plan_store(plan.result, reach, mask, values, (to, source))
        return prepare_launches(launches, number, bits)

    return per_alignment(make)
