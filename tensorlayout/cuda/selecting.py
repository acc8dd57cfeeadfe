"""Reads and writes under a mask carried out.

How many elements a mask selects is data: the host waits for that number once where the shape of the
result, or the right shape of the values, depends on it.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorlayout.cuda import faults
from tensorlayout.cuda.driver import Buffer, driver
from tensorlayout.cuda.gather_plan import plan_read
from tensorlayout.cuda.gathering import prepare_launches
from tensorlayout.cuda.memory import new_tensor, per_alignment
from tensorlayout.cuda.padding_plan import bits_of
from tensorlayout.cuda.scatter_plan import Written, plan_write, values_in
from tensorlayout.cuda.scattering import apart, value_taker
from tensorlayout.cuda.select_plan import (
    SCAN,
    Selection,
    SelectLaunch,
    plan_selection,
    plan_store,
)
from tensorlayout.layout import Layout
from tensorlayout.plan import Run
from tensorlayout.plan.gathering import Reach, check_fits
from tensorlayout.plan.masking import MaskedPlan, SelectPlan
from tensorlayout.tensor import Spec, Tensor

_POINTERS = struct.Struct("<QQQQ")
_COUNTS = struct.Struct("<QQ")
_BITS = struct.Struct("<QQ")

# Masks of one plan, and numbers of elements, that are kept.
_KEPT = 16


def prepare_select(plan: SelectPlan) -> Run:
    """Count, wait for the number, and read; in row-major index order of the mask."""
    source, seen, reach = plan.result, plan.seen, plan.reach
    chosen = functools.lru_cache(_KEPT)(lambda mask: _Chosen(source, reach, mask.layout))
    mover = functools.lru_cache(_KEPT)(
        lambda selection, count: _reader(plan.name, seen, reach, selection, count)
    )

    def select(x: Tensor, mask: Tensor) -> Tensor:
        with driver().using(source.device.number):
            found = chosen(mask._spec).found(mask)
            result = new_tensor(_selected(seen, reach, found.count))
            if not result.size:
                return result
            if found.selection.elements is not None:
                found.run(found.selection.elements, result._memory.address, x._memory.address)
                return result
            positions = found.positions()
            memories = result._memory.address, x._memory.address
            mover(found.selection, found.count)(*memories)(memories, [positions.pointer])
        return result

    return select


def prepare_masked(plan: MaskedPlan) -> Run:
    """Write where the mask is true, as if value and mask had been copied first.

    One launch, without waiting, where one number or one slice is written everywhere; else the host
    waits for the number of elements, which the values must fit.
    """
    spec, reach = plan.result, plan.reach
    chosen = functools.lru_cache(_KEPT)(lambda mask: _Chosen(spec, reach, mask.layout))
    store = functools.lru_cache(_KEPT)(lambda mask, value: _storer(plan, mask.layout, value))
    mover = functools.lru_cache(_KEPT)(
        lambda selection, count, value: _writer(plan, selection, count, value)
    )
    take = value_taker(plan.name, spec, plan.value)
    same_for_all = plan.mask is not None and _stands_still(plan)

    def masked(x: Tensor, value: Any, mask: Tensor) -> Tensor:
        source, mask = take(x, value), apart(x, mask)
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
            found = chosen(mask._spec).found(mask)
            shape = _shape(plan.seen.layout, reach, found.count)
            check_fits(plan.name, kind.layout.shape if kind else (), shape)
            if 0 not in shape:
                positions = found.positions()
                write = mover(found.selection, found.count, kind)
                write(to, from_)((to, from_, 0), [positions.pointer], octets)
        return x

    return masked


def _shape(layout: Layout, reach: Reach, count: int) -> tuple[int, ...]:
    """The shape of `count` selected elements, or slices."""
    sizes = {result: layout.shape[d] for d, result in reach.kept} | {reach.span[0]: count}
    return tuple(sizes[d] for d in range(len(sizes)))


@functools.lru_cache(maxsize=256)
def _selected(seen: Spec, reach: Reach, count: int) -> Spec:
    layout = Layout.packed(_shape(seen.layout, reach, count), reach.order)
    return Spec(seen.dtype, layout, seen.device)


def _stands_still(plan: MaskedPlan) -> bool:
    """Whether the value is the same for all that is selected, whatever the number of that."""
    if not isinstance(plan.value, Spec):
        return True
    shape = _shape(plan.seen.layout, plan.reach, 1)
    try:
        check_fits(plan.name, plan.value.layout.shape, shape)
    except ValueError:
        return False  # said again, with the number, when that is known
    return True


# ---- Counting


class _Found:
    """A mask that has been counted: how many elements it selects, and where."""

    def __init__(self, chosen: _Chosen, mask: Tensor, counts: Buffer | None, count: int) -> None:
        self._chosen, self._mask, self._counts = chosen, mask, counts
        self.count = count

    @property
    def selection(self) -> Selection:
        found = self._chosen.selection(self._mask)
        assert found is not None
        return found

    def run(self, launch: SelectLaunch, to: int, source: int) -> None:
        """One of the launches of the selection that write."""
        assert self._counts is not None
        self._chosen.run(launch, self._mask, self._counts, to, source)

    def positions(self) -> Buffer:
        """The positions, written to memory of their own."""
        made = driver().allocate(8 * self.count, self._chosen.device)
        self.run(self.selection.positions, made.pointer, 0)
        return made


class _Chosen:
    """A mask's layout over a tensor's, ready to be counted."""

    def __init__(self, source: Spec, reach: Reach, mask: Layout) -> None:
        self.device = source.device.number

        def plan(alignments: tuple[int, ...]) -> Selection:
            return plan_selection(source, reach, mask, alignments[0])

        self._plan = per_alignment(plan) if mask.size else None

    def selection(self, mask: Tensor) -> Selection | None:
        """How it is counted; None for a mask without elements."""
        return self._plan(mask._memory.address) if self._plan else None

    def found(self, mask: Tensor) -> _Found:
        """The number of true elements, for which the host waits."""
        selection = self.selection(mask)
        if selection is None:
            return _Found(self, mask, None, 0)
        gpu, blocks = driver(), selection.blocks
        counts = gpu.allocate(8 * (blocks + 1), self.device)
        self.run(selection.count, mask, counts, 0, 0)
        gpu.launcher(SCAN)(1, bytearray(_COUNTS.pack(counts.pointer, blocks)))
        octets = np.empty(8, np.uint8)
        gpu.to_host(octets, counts.pointer + 8 * blocks)
        faults.check()
        return _Found(self, mask, counts, int(octets.view(np.int64)[0]))

    def run(self, launch: SelectLaunch, mask: Tensor, counts: Buffer, to: int, source: int) -> None:
        """A launch over all chunks of the mask."""
        selection = self.selection(mask)
        assert selection is not None
        parameters = bytearray(launch.parameters)
        where = mask._memory.address + launch.mask
        _POINTERS.pack_into(parameters, 0, to, where, counts.pointer, source + launch.source)
        driver().launcher(launch.kernel)(selection.blocks, parameters)


# ---- Moving

# Ready launches, found by the addresses of two memories.
_Ready = Callable[..., Callable[..., None]]


def _reader(name: str, seen: Spec, reach: Reach, selection: Selection, count: int) -> _Ready:
    """Reads of `count` slices at the positions of a selection."""
    spec, number = _selected(seen, reach, count), seen.device.number
    positions = [selection.placed(count, (0, 1))]

    def make(alignments: tuple[int, ...]) -> Callable[..., None]:
        to, source = alignments
        layout, shift = seen.layout, selection.shift
        launch = plan_read(name, layout, reach, spec, positions, (to, source), shift)
        return prepare_launches((launch,), number)

    return per_alignment(make)


def _writer(plan: MaskedPlan, selection: Selection, count: int, value: Spec | None) -> _Ready:
    """Writes of `count` elements or slices at the positions of a selection."""
    shape, number = _shape(plan.seen.layout, plan.reach, count), plan.result.device.number
    values = None if value is None else values_in(value.layout, shape)
    what = Written(plan.name, plan.seen, values, shape, plan.reach, ())
    positions = [selection.placed(count, (1, 0, 0))]

    def make(alignments: tuple[int, ...]) -> Callable[..., None]:
        to, source = alignments
        found = plan_write(what, positions, (to, source), selection.shift)
        return prepare_launches(found.launches, number, found.bits)

    return per_alignment(make)


def _storer(plan: MaskedPlan, mask: Layout, value: Spec | None) -> _Ready:
    """Writes of what is the same for all that the mask selects."""
    number, reach = plan.result.device.number, plan.reach
    values = None
    if value is not None:
        layout = values_in(value.layout, _shape(plan.seen.layout, reach, 1))
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
