"""Conversion of tensors to a NumPy array of elements and a text of the form, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from tensorlayout.dtypes import computing_dtype, is_numpy_dtype
from tensorlayout.exchange.numpy import Array
from tensorlayout.functions.arguments import as_tensor, check_writable
from tensorlayout.functions.creation import asarray
from tensorlayout.functions.interchange import to_device, to_numpy
from tensorlayout.functions.layouts import to_layout
from tensorlayout.functions.transfers import move_to_cpu
from tensorlayout.layout import Layout
from tensorlayout.support.lazy_imports import import_lazily
from tensorlayout.tensor import Tensor

# Limits of the memory that layout texts in a file may require, which is otherwise unbounded:
# this factor of the elements, and so many additional bytes for all texts of the file.
_MAX_PADDING_BYTES, _MAX_PADDING_RATIO = 1 << 26, 1024


def import_optional_library(package_name: str, module_name: str) -> Any:
    """Return a module of an optional library; ImportError says what to install."""
    try:
        return import_lazily(module_name)
    except ImportError as error:
        msg = f"{package_name} reads and writes such files: pip install {package_name.lower()}"
        raise ImportError(msg) from error


def host_array(x: Tensor) -> Array:
    """Return the elements on the CPU, without a copy if strided; bools are 0 or 1."""
    # In a tensor, any non-zero byte is True. Other programs that read the file expect 0 or 1.
    array = to_numpy(move_to_cpu(x))
    return array.view(np.uint8) != 0 if array.dtype == np.bool_ else array


def layout_text_to_store(x: Tensor) -> str:
    """Return the text of the form; empty for row-major, which every format implies."""
    form = x.layout.form
    return "" if form == Layout.row_major(form.shape) else str(form)


def check_numpy_dtype(format_phrase: str, x: Tensor) -> None:
    """Raise ValueError for an ml_dtypes dtype in a format that has only NumPy's."""
    if not is_numpy_dtype(x.dtype):
        wider = computing_dtype(x.dtype)
        fix = f"use .safetensors where that has it, or astype(x, {wider}) first"
        raise ValueError(f"{format_phrase} no {x.dtype}; {fix}")


def restore_layouts(named_arrays: Iterable[tuple[str, Any, str]]) -> dict[str, Tensor]:
    """Return tensors, by name, for arrays read with the texts of their layouts.

    ValueError for a layout of another shape, one that is not a form, or one with far more padding
    than elements.
    """
    tensors, padding_left = {}, _MAX_PADDING_BYTES
    for name, array, text in named_arrays:
        x = asarray(array)
        if text:
            layout = Layout.parse(text)
            if layout.shape != x.shape:
                raise ValueError(f"layout {layout} is not of shape {x.shape}")
            # A form fills a block from slot 0 on, each slot once. So no text of a hostile file can
            # make elements overlap or lie outside of their memory.
            if layout.form != layout:
                raise ValueError(f"layout {layout} has gaps, overlaps or runs backwards")
            required_bytes = layout.required_size * x.dtype.itemsize
            # All texts share one allowance, so that many small tensors cannot add up.
            padding_left -= max(0, required_bytes - _MAX_PADDING_RATIO * array.nbytes)
            if padding_left < 0:
                msg = f"layout {layout} takes {required_bytes} bytes for {array.nbytes} of elements"
                raise ValueError(msg)
            x = to_layout(x, layout)
        tensors[name] = x
    return tensors


class Targets:
    """Destinations of a load: one tensor, or several by name."""

    def __init__(self, out: Tensor | Mapping[str, Tensor]) -> None:
        self.out = out
        # `load` takes other errors for damage of the file. This one is due to the argument.
        self.mismatch_error: ValueError | None = None
        if isinstance(out, Mapping):
            for name, x in out.items():
                check_writable(as_tensor(x, f"out[{name!r}]"))
        else:
            check_writable(as_tensor(out, "out"))

    def match_destinations(
        self, stored_specs: Mapping[str, tuple[tuple[int, ...], Any]], is_single: bool
    ) -> dict[str, Tensor]:
        """Return the destinations by name; the name of a single tensor is ``""``.

        ValueError, kept as `mismatch_error`, unless each has the shape and dtype in the file.
        """
        destinations = {"": self.out} if isinstance(self.out, Tensor) else dict(self.out)
        if is_single != isinstance(self.out, Tensor) or destinations.keys() != stored_specs.keys():
            names = "one tensor" if is_single else f"tensors by the names {sorted(stored_specs)}"
            raise self._keep_mismatch_error(f"out must be {names}, as the file holds")
        # All destinations are checked before the first is written.
        for name, x in destinations.items():
            shape, dtype = stored_specs[name]
            if (x.shape, x.dtype) != (tuple(shape), dtype.newbyteorder("=")):
                argument_name = f"out[{name!r}]" if name else "out"
                expected = f"of {dtype} and shape {tuple(shape)}, as the file"
                raise self._keep_mismatch_error(
                    f"{argument_name} must be {expected}, got {x.dtype} and {x.shape}"
                )
        return destinations

    def copy_into_destinations(self, contents: Tensor | dict[str, Tensor]) -> None:
        """Copy the contents of a file to the destinations."""
        is_single = isinstance(contents, Tensor)
        stored_tensors = {"": contents} if isinstance(contents, Tensor) else contents
        destinations = self.match_destinations(
            {name: (x.shape, x.dtype) for name, x in stored_tensors.items()}, is_single
        )
        for name, x in destinations.items():
            x[...] = to_device(stored_tensors[name], x.device)

    def _keep_mismatch_error(self, reason: str) -> ValueError:
        self.mismatch_error = ValueError(f"{reason}")
        return self.mismatch_error
