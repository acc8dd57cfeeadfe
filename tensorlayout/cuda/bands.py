"""Bands of diagonals carried out: eye, tril, triu. A launch, into a new tensor."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np

from tensorlayout.cuda import band_plan, carrying, fill_plan, filling
from tensorlayout.cuda.engine.driver import driver
from tensorlayout.cuda.engine.memory import new_tensor, padding_of, per_alignment
from tensorlayout.layout import Layout
from tensorlayout.plan.base import Run
from tensorlayout.plan.copy import CopyPlan
from tensorlayout.plan.creating import CreatePlan
from tensorlayout.plan.triangles import TrianglePlan
from tensorlayout.tensor import Tensor, TensorSpec

_HEAD = struct.Struct("<2Q2q16s")

# A bound that no distance reaches.
_FAR = 2**62

# Addresses of the result and the source (0: none); bounds, as column - row; an element.
_Band = Callable[[int, int, tuple[int, int], bytes], None]


def prepare_eye(plan: CreatePlan) -> Run:
    """The function of the diagonal's number."""
    spec = plan.result
    if spec.layout.is_tiled:
        plain = TensorSpec(spec.dtype, Layout.row_major(spec.layout.shape), spec.device)
        make = prepare_eye(CreatePlan(plan.operation, plain))
        copy = carrying.prepare_copy(CopyPlan(plain, spec))
        return lambda k: copy(make(k))
    rows, columns = spec.layout.shape
    one = np.ones((), spec.dtype).tobytes()
    band = per_alignment(lambda alignments: _prepare(spec, None, alignments))

    def eye(k: int) -> Tensor:
        result = new_tensor(spec)
        to = result._memory.address
        diagonal = max(-rows, min(k, columns))
        with driver().using(spec.device.number):
            band(to)(to, 0, (diagonal, diagonal), one)
        return result

    return eye


def prepare_triangle(plan: TrianglePlan) -> Run:
    """The function of a tensor and of the number of the diagonal."""
    spec, layout = plan.result, plan.source.layout
    band = per_alignment(lambda alignments: _prepare(spec, layout, alignments))
    lower = plan.name == "tril"

    def triangle(x: Tensor, k: int) -> Tensor:
        result = new_tensor(spec)
        to, here = result._memory.address, x._memory.address
        with driver().using(spec.device.number):
            band(to, here)(to, here, (-_FAR, k) if lower else (k, _FAR), b"")
        return result

    return triangle


def _prepare(spec: TensorSpec, source: Layout | None, alignments: tuple[int, ...]) -> _Band:
    """The launch, and behind it one of the padding where that is too much for the same."""
    padding = padding_of(spec)
    itemsize = spec.dtype.itemsize
    plan = band_plan.plan_band(spec.layout, source, itemsize, alignments, padding)
    run = _run(plan)
    if padding is None or plan.writes_padding:
        return run
    pad = filling.prepare_fill(
        fill_plan.plan_padding(spec.layout, itemsize, alignments[0], padding), driver()
    )

    def compute(to: int, here: int, bounds: tuple[int, int], value: bytes) -> None:
        run(to, here, bounds, value)
        pad(to, b"")

    return compute


def _run(plan: band_plan.BandPlan) -> _Band:
    """What launches a plan. Asynchronous on the current stream, from any thread."""
    launch = plan.launch
    if launch is None:
        return lambda *_: None
    ready = driver().launcher(launch.kernel)
    first, second = (*launch.firsts, 0)[:2]

    def run(to: int, here: int, bounds: tuple[int, int], value: bytes) -> None:
        low, high = (bound - plan.first for bound in bounds)
        parameters = bytearray(launch.parameters)
        _HEAD.pack_into(parameters, 0, to + first, here and here + second, low, high, value)
        ready(launch.grid, parameters)

    return run
