"""XLA's buffers, 64 MB: tiled and blocked memory to row-major and back.

Ours are `from_buffer`, `to_buffer` with ``out``, and `to_layout` between tensors. Beside them what
a user writes without us: reshape, transpose and copy, in NumPy and in PyTorch (on the CPU).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import ml_dtypes
import numpy as np

import tensorlayout as tl
from benchmarks.cpu import AS_FAST, HostRow
from benchmarks.measure import Call
from benchmarks.peers import OURS, Array, torch
from tensorlayout import xla


@dataclass(frozen=True)
class Format:
    """A tiled layout, and how an untiled array is reshaped and transposed to have it."""

    name: str
    text: str  # the shape
    split: tuple[int, ...]  # the array's sizes, cut
    axes: tuple[int, ...]  # their order in memory

    @property
    def back(self) -> tuple[int, ...]:
        """The order of the memory's axes in the array."""
        return tuple(int(axis) for axis in np.argsort(self.axes))

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """dtype that peers move: PyTorch takes no bfloat16 from NumPy, so its bits are moved."""
        kind = xla.parse_shape(self.text).element_type.dtype
        return np.dtype(np.uint16) if kind == np.dtype(ml_dtypes.bfloat16) else kind


FORMATS = (
    Format(
        "f32 T(8,128)",
        "f32[4096,4096]{1,0:T(8,128)}",
        (512, 8, 32, 128),
        (0, 2, 1, 3),
    ),
    Format(
        "bf16 T(8,128)(2,1)",
        "bf16[8192,4096]{1,0:T(8,128)(2,1)}",
        (1024, 4, 2, 32, 128),
        (0, 3, 1, 4, 2),
    ),
    Format(
        "f32 nChw16c",
        "f32[16,256,64,64]{3,2,1,0:T(16,1,1)}",
        (16, 16, 16, 64, 64),
        (0, 1, 3, 4, 2),
    ),
)


def rows(quick: bool) -> Iterator[HostRow]:
    """Each format, both ways; `quick`: through buffers alone."""
    for form in FORMATS:
        for name, make in _ways(form.name, quick).items():
            yield HostRow("xla", name, partial(make, form), AS_FAST)


def _ways(form: str, quick: bool) -> dict[str, Callable[[Format], Mapping[str, Call]]]:
    through_buffers: dict[str, Callable[[Format], Mapping[str, Call]]] = {
        f"{form} to row-major, from_buffer": _read,
        f"row-major to {form}, to_buffer": _write,
    }
    if quick:
        return through_buffers
    return through_buffers | {
        f"{form} to row-major, to_layout": _untile,
        f"row-major to {form}, to_layout": _tile,
    }


def _memory(form: Format) -> Array:
    count = int(np.prod(form.split))
    return np.random.default_rng(0).integers(0, 100, count).astype(form.dtype)


def _peers(memory: Array, sizes: Sequence[int], axes: Sequence[int]) -> dict[str, Call]:
    """New memory each time, as `from_buffer` and `to_layout` make it."""
    cut = memory.reshape(sizes)
    calls: dict[str, Call] = {"numpy": lambda: cut.transpose(axes).copy()}
    if torch is not None:
        seen = torch.from_numpy(memory.view(_known(memory))).reshape(tuple(sizes))
        calls["torch"] = lambda: seen.permute(tuple(axes)).contiguous()
    return calls


def _known(memory: Array) -> str:
    """A dtype of the same width that every release of PyTorch has."""
    return "int16" if memory.dtype == np.uint16 else memory.dtype.name


def _ours_first(ours: Call, peers: Mapping[str, Call]) -> Mapping[str, Call]:
    """PyTorch last, before the pause."""
    return {"numpy": peers["numpy"], OURS: ours, **peers}


def _tiled_sizes(form: Format) -> tuple[int, ...]:
    return tuple(form.split[axis] for axis in form.axes)


def _read(form: Format) -> Mapping[str, Call]:
    memory = _memory(form)
    peers = _peers(memory, _tiled_sizes(form), form.back)
    return _ours_first(lambda: xla.from_buffer(memory, form.text), peers)


def _untile(form: Format) -> Mapping[str, Call]:
    memory = _memory(form)
    shape = xla.parse_shape(form.text)
    layout = xla.layout_of(shape)
    x = tl.from_storage(memory, layout, dtype=shape.element_type.dtype, reinterpret=True)
    plain = tl.Layout.row_major(layout.shape)
    return _ours_first(
        lambda: tl.to_layout(x, plain), _peers(memory, _tiled_sizes(form), form.back)
    )


def _tensor(form: Format, memory: Array) -> tl.Tensor:
    shape = xla.parse_shape(form.text)
    plain = tl.Layout.row_major(shape.dimensions)
    # bfloat16 is in memory of uint16.
    return tl.from_storage(memory, plain, dtype=shape.element_type.dtype, reinterpret=True)


def _tile(form: Format) -> Mapping[str, Call]:
    memory = _memory(form)
    x, layout = _tensor(form, memory), xla.layout_of(form.text)
    return _ours_first(lambda: tl.to_layout(x, layout), _peers(memory, form.split, form.axes))


def _write(form: Format) -> Mapping[str, Call]:
    """Into memory that is there, for peers too: `out`."""
    memory = _memory(form)
    x, out = _tensor(form, memory), np.zeros_like(memory)
    cut, written = memory.reshape(form.split), out.reshape(_tiled_sizes(form))
    peers: dict[str, Call] = {"numpy": lambda: np.copyto(written, cut.transpose(form.axes))}
    if torch is not None:
        seen, to = (torch.from_numpy(a.view(_known(a))) for a in (cut, written))
        peers["torch"] = lambda: to.copy_(seen.permute(form.axes))
    return _ours_first(lambda: xla.to_buffer(x, form.text, out=out), peers)
