"""Layouts in the notation of other libraries, one module per library.

Each module has two functions: ``read(shape, notation)`` returns the `tensorlayout.Layout` that the
library's notation describes, and ``write(layout)`` returns the notation, or raises ValueError if
the library cannot express the layout. No library is imported: the notations are texts, integers and
tuples of them, in the form in which the library's own functions take them.

Above `directml` and `xla`; only the package imports it, at first use.
"""

from __future__ import annotations

import contextlib
from typing import Any

from tensorlayout import errors
from tensorlayout.formats import blas, cudnn, cute, directml, einops, jax, numpy, onednn, pytorch
from tensorlayout.formats.blocks import check_layout
from tensorlayout.layout import HasItemsize, Layout, check_itemsize
from tensorlayout.support import spellings

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

    `itemsize`: bytes of an element, or a dtype, for NumPy's strides; 1 by default. Returns a dict
    without the libraries that cannot express the layout; their ``write`` raises the reason.

    Raises `TypeError` if `layout` is not a Layout; `ValueError` if `itemsize` is below 1.

    >>> from tensorlayout import Layout, formats
    >>> formats.written(Layout.labelled((2, 8, 3, 3), "NHWC"))["onednn"]
    'acdb'
    """
    check_layout(layout, allow_bits=True)
    step = check_itemsize(itemsize)
    results = {}
    for name, library_format in _LIBRARY_FORMATS.items():
        # Only ValueError means that a library has no notation; any other error is a fault.
        with contextlib.suppress(ValueError):
            # `numpy` is the module of formats here, the only one whose strides count bytes.
            results[name] = library_format.write(layout, *[step] * (library_format is numpy))
    return results


for _library_format in _LIBRARY_FORMATS.values():
    errors.wrap_public_functions(vars(_library_format), ("read", "write"))
    vars(_library_format)["__dir__"] = spellings.make_module_dir(vars(_library_format))
errors.wrap_public_functions(globals(), ("written",))
__dir__ = spellings.make_module_dir(globals())
