"""Layouts as other libraries write them: a row for each library, which reads and writes.

``read(shape, written)`` gives the `tensorlayout.Layout` of a shape that a library writes so, and
``write(layout)`` what `read` takes, or a ValueError that says what the library cannot. No library
is imported; what is written are texts, numbers and tuples of them, as its functions take them.

Above `directml` and `xla`; only the package imports it, at first use.
"""

from __future__ import annotations

import contextlib
from typing import Any

from tensorlayout import errors
from tensorlayout.formats import blas, cudnn, cute, directml, einops, jax, numpy, onednn, pytorch
from tensorlayout.formats.blocks import check_layout
from tensorlayout.layout import HasItemsize, Layout, check_itemsize

__all__ = [
    "blas",
    "cudnn",
    "cute",
    "directml",
    "einops",
    "jax",
    "numpy",
    "onednn",
    "pytorch",
    "written",
]

_LIBRARY_FORMATS = {name: globals()[name] for name in __all__ if name != "written"}


def written(layout: Layout, itemsize: int | HasItemsize = 1) -> dict[str, Any]:
    """Return `layout` in the notation of each library that can express it, by name.

    `itemsize`: the bytes of an element, or a dtype, for NumPy's strides. Those that are missing
    cannot; their ``write`` says why. TypeError for what is no layout, ValueError for an itemsize
    below 1.

    >>> from tensorlayout import Layout, formats
    >>> formats.written(Layout.labelled((2, 8, 3, 3), "NHWC"))["onednn"]
    'acdb'
    """
    check_layout(layout, allow_bits=True)
    step = check_itemsize(itemsize)
    results = {}
    for name, library_format in _LIBRARY_FORMATS.items():
        with contextlib.suppress(ValueError):
            results[name] = library_format.write(layout, *[step] * (library_format is numpy))
    return results


for _library_format in _LIBRARY_FORMATS.values():
    errors.wrap_public_functions(vars(_library_format), ("read", "write"))
errors.wrap_public_functions(globals(), ("written",))
