"""Image operators on the CPU: col2im, upsampling, and reversal of sequences."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from tensorlayout.cpu.engine.memory import Array
from tensorlayout.layout import Layout
from tensorlayout.plan import (
    Col2ImPlan,
    Gather,
    ReverseSequencePlan,
    UpsamplePlan,
    Write,
    compile_plan,
)
from tensorlayout.tensor import Tensor, TensorSpec


def compile_col2im(plan: Col2ImPlan) -> Write:
    """Compile col2im: add one element of all windows at a time, a strided part of the image."""
    windows = plan.windows
    batch, channels, *spatial = plan.result.layout.shape
    window_shape = (batch, channels, *(w.size for w in windows), *(w.count for w in windows))
    sum_dtype = np.dtype(np.float32) if plan.result.dtype == np.float16 else plan.result.dtype
    window_sizes = list(zip(windows, spatial, strict=True))
    reached_sizes = [w.dilation * (w.size - 1) + w.step * (w.count - 1) + 1 for w in windows]
    padded_sizes = [
        max(r, w.before + n) for (w, n), r in zip(window_sizes, reached_sizes, strict=True)
    ]
    inside: Any = (..., *(slice(w.before, w.before + n) for w, n in window_sizes))
    # For each element of a window: where it lies in the image, for all windows at once, and its
    # index in the columns.
    taps: list[tuple[Any, Any]] = []
    for tap in product(*(range(w.size) for w in windows)):
        starts = zip(
            (tap_index * w.dilation for tap_index, w in zip(tap, windows, strict=True)),
            windows,
            strict=True,
        )
        cut = (slice(start, start + w.step * (w.count - 1) + 1, w.step) for start, w in starts)
        taps.append(((..., *cut), (slice(None), slice(None), *tap)))

    def write_col2im(result: Tensor, x: Tensor) -> None:
        columns = x.memory.reshape(window_shape)
        image = np.zeros((batch, channels, *padded_sizes), sum_dtype)
        with np.errstate(all="ignore"):
            for cut, tap in taps:
                image[cut] += columns[tap]
            result.memory[...] = image[inside]

    return write_col2im


def compile_upsample(plan: UpsamplePlan) -> Write:
    """Compile linear upsampling ``write(out, x)``, one dimension and one phase at a time."""
    order = plan.source.layout.minor_to_major[::-1]
    rank, (height, width) = len(order), plan.scales

    def write_upsampled(result: Tensor, x: Tensor) -> None:
        with np.errstate(all="ignore"):
            wide = x.memory.astype(np.float32, copy=False)
            if height > 1:
                wide = _upsample_dim_linearly(wide, rank - 2, height, order)
            if width > 1:
                wide = _upsample_dim_linearly(wide, rank - 1, width, order)
            result.memory[...] = wide

    return write_upsampled


def _upsample_dim_linearly(x: Array, dim: int, scale: int, order: tuple[int, ...]) -> Array:
    """Return `x` enlarged along `dim`, in float32; `order` is the memory order, slowest first."""
    n = x.shape[dim]
    sizes = [m * scale if d == dim else m for d, m in enumerate(x.shape)]
    result = np.empty([sizes[d] for d in order], np.float32).transpose(np.argsort(order))
    head = (slice(None),) * dim
    for phase in range(scale):
        shift = 2 * phase + 1 - scale  # from the source element's centre, in half result elements
        part = result[(*head, slice(phase, None, scale))]
        if shift == 0:
            part[...] = x
            continue
        near, far = (slice(0, -1), slice(1, None)) if shift < 0 else (slice(1, None), slice(0, -1))
        edge = slice(0, 1) if shift < 0 else slice(n - 1, n)
        part[(*head, edge)] = x[(*head, edge)]
        # `far` selects the element that contains the result's centre, `near` its neighbour on the
        # side of that centre.
        weight, keep = abs(shift) / (2 * scale), (2 * scale - abs(shift)) / (2 * scale)
        part[(*head, far)] = x[(*head, far)] * keep + x[(*head, near)] * weight
    return result


def compile_reverse_sequence(plan: ReverseSequencePlan) -> Write:
    """Compile the reversal of each sequence up to its length, as a gather."""
    shape, dim = plan.source.layout.shape, plan.dim
    size = shape[dim]
    place = np.arange(size).reshape([size if d == dim else 1 for d in range(len(shape))])
    positions = TensorSpec(np.dtype(np.int64), Layout.row_major(shape), plan.source.device)
    gather = Gather(plan.name).plan(plan.source, (dim,), None, positions)
    read = compile_plan(gather.with_destination(plan.result))

    def write_reversed_sequences(result: Tensor, x: Tensor, lengths: Tensor) -> None:
        length = np.minimum(lengths.memory, size).astype(np.int64)
        source = np.where(place < length, length - 1 - place, place)
        read(result, x, Tensor._from_memory(source, positions))

    return write_reversed_sequences
