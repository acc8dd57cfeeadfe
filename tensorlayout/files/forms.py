"""Tensors as files keep them, elements as a NumPy array and a form as a text; and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from tensorlayout.dtypes import is_numpys, wider
from tensorlayout.exchange.numpy import Array
from tensorlayout.functions.arguments import tensor, writable
from tensorlayout.functions.creation import asarray
from tensorlayout.functions.interchange import to_device, to_numpy
from tensorlayout.functions.layouts import to_layout
from tensorlayout.functions.transfers import on_host
from tensorlayout.layout import Layout
from tensorlayout.support.lazy_imports import loaded
from tensorlayout.tensor import Tensor

# Memory that a text may ask for: this many times that of the elements, and this many bytes more for
# all texts of a file.
_MOST, _TIMES = 1 << 26, 1024


def library(name: str, module: str) -> Any:
    """Import a module of an optional library; ImportError with what to install."""
    try:
        return loaded(module)
    except ImportError as error:
        msg = f"{name} reads and writes such files: pip install 'tensorlayout[files]'"
        raise ImportError(msg) from error


def array_of(x: Tensor) -> Array:
    """Return the elements on the CPU, of strided tensors no copy; bools are 0 or 1."""
    array = to_numpy(on_host(x))
    return array.view(np.uint8) != 0 if array.dtype == np.bool_ else array


def text_of(x: Tensor) -> str:
    """Return the text of the form, which is kept; nothing for what every file says, row-major."""
    form = x.layout.form
    return "" if form == Layout.row_major(form.shape) else str(form)


def refuse_foreign(who: str, x: Tensor) -> None:
    """Raise ValueError for a dtype that is ml_dtypes', where only NumPy's are known."""
    if not is_numpys(x.dtype):
        fix = f"use .safetensors where that has it, or astype(x, {wider(x.dtype)}) first"
        raise ValueError(f"{who} no {x.dtype}; {fix}")


def restored(members: Iterable[tuple[str, Any, str]]) -> dict[str, Tensor]:
    """Return tensors for arrays that were read, by name, in the layouts of their texts.

    ValueError for a layout of another shape, one that is no form, or with far more padding than
    elements.
    """
    found, room = {}, _MOST
    for name, array, text in members:
        x = asarray(array)
        if text:
            layout = Layout.parse(text)
            if layout.shape != x.shape:
                raise ValueError(f"layout {layout} is not of shape {x.shape}")
            if layout.form != layout:
                raise ValueError(f"layout {layout} has gaps, overlaps or runs backwards")
            needed = layout.required_size * x.dtype.itemsize
            room -= max(0, needed - _TIMES * array.nbytes)
            if room < 0:
                msg = f"layout {layout} takes {needed} bytes for {array.nbytes} of elements"
                raise ValueError(msg)
            x = to_layout(x, layout)
        found[name] = x
    return found


class Targets:
    """A tensor, or several by name, that may be written to."""

    def __init__(self, out: Tensor | Mapping[str, Tensor]) -> None:
        self.out = out
        self.refused: ValueError | None = None
        if isinstance(out, Mapping):
            for name, x in out.items():
                writable(tensor(x, f"out[{name!r}]"))
        else:
            writable(tensor(out, "out"))

    def fit(
        self, held: Mapping[str, tuple[tuple[int, ...], Any]], alone: bool
    ) -> dict[str, Tensor]:
        """Return the tensors by name, a file's only one by ``""``.

        ValueError, kept as `refused`, unless each is of the shape and dtype in the file.
        """
        given = {"": self.out} if isinstance(self.out, Tensor) else dict(self.out)
        if alone != isinstance(self.out, Tensor) or given.keys() != held.keys():
            names = "one tensor" if alone else f"tensors by the names {sorted(held)}"
            raise self._unfit(f"out must be {names}, as the file holds")
        for name, x in given.items():
            shape, dtype = held[name]
            if (x.shape, x.dtype) != (tuple(shape), dtype.newbyteorder("=")):
                which = f"out[{name!r}]" if name else "out"
                has = f"of {dtype} and shape {tuple(shape)}, as the file"
                raise self._unfit(f"{which} must be {has}, got {x.dtype} and {x.shape}")
        return given

    def put(self, found: Tensor | dict[str, Tensor]) -> None:
        """Write what a file gave."""
        alone = isinstance(found, Tensor)
        read = {"": found} if isinstance(found, Tensor) else found
        fitting = self.fit({name: (x.shape, x.dtype) for name, x in read.items()}, alone)
        for name, x in fitting.items():
            x[...] = to_device(read[name], x.device)

    def _unfit(self, reason: str) -> ValueError:
        self.refused = ValueError(f"{reason}")
        return self.refused
