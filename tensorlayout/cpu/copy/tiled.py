"""Copies from and to tiled layouts: box by box, each between strided arrays.

Whole tiles are one box, of more dimensions than the tensor has; the rests behind them are a few
more. Each is a copy like any other, for which `copy` finds the best way.
"""

from __future__ import annotations

from collections.abc import Callable

from tensorlayout.cpu.copy.choose import choose_copy
from tensorlayout.cpu.engine.memory import Array, box_viewer, home_of
from tensorlayout.layout import Layout, boxes
from tensorlayout.plan.run import noted_copy
from tensorlayout.tensor import Tensor, TensorSpec

Move = Callable[[Tensor, Tensor], None]  # to, from
Convert = Callable[[Array, Array], None]


def mover(source: TensorSpec, result: TensorSpec, convert: Convert | None) -> Move:
    """``move(to, x)`` for tensors of these specs, of one shape, of which one or both are tiled.

    `convert`: what moves elements of one dtype into another; None where they have one.
    """
    here, there = source.layout, result.layout
    if not here.size:
        return lambda to, x: None
    found = boxes.boxes(boxes.whole(here), here, there)
    if found is None:
        return _in_two_steps(source, result, convert)
    jobs = []
    for box in found:
        run = convert
        if run is None:
            steps = box.strides_in(there), box.strides_in(here)
            run = choose_copy(box.shape, *steps, source.dtype.itemsize).run
        written = box_viewer(there, box, result.dtype)
        jobs.append((written, box_viewer(here, box, source.dtype), run))

    def move(to: Tensor, x: Tensor) -> None:
        target, origin = home_of(to), home_of(x)
        for written, read, run in jobs:
            run(written(*target), read(*origin))

    return move


def _in_two_steps(source: TensorSpec, result: TensorSpec, convert: Convert | None) -> Move:
    """By way of a packed layout, where the tiles of the two have no common units."""
    layout = Layout.packed(source.layout.shape, result.layout.minor_to_major)
    between = TensorSpec(source.dtype, layout, source.device)
    copied = noted_copy("to_layout", source, between)
    move = mover(between, result, convert)
    return lambda to, x: move(to, copied(x))
